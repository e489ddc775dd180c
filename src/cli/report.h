/*
 * report.h - what commands print, for people and for programs.
 *
 * A report is a umbel_info: named fields, appended with um_info_text and its
 * siblings (filter/kind.h), printed the same way by every command.
 */
#ifndef UM_CLI_REPORT_H
#define UM_CLI_REPORT_H

#include "cli/command.h"
#include "filter/kind.h"

/* One JSON object on one line, or a line per field. */
void um_print_json(FILE *out, const umbel_info *info);
void um_print_fields(FILE *out, const umbel_info *info);
/* The same JSON with one name more, which has a list of texts. */
void um_print_json_list(FILE *out, const umbel_info *info, const char *name,
                        const char *const *texts, size_t n);

/* JSON's spelling of bytes; such as are not UTF-8 come as hexadecimal. */
void um_print_json_key(FILE *out, const umbel_slice *key);

/* A share as people read it: "0.0998 %". */
typedef struct um_text {
    char text[40];
} um_text;
um_text um_percent(double share);
/* 1,234,567 */
um_text um_grouped(uint64_t n);
/* "1 key", "1,234 keys" */
um_text um_counted(uint64_t n, const char *one, const char *many);

/* "PATH: " before a report; a name cannot steer the terminal. */
void um_print_path(FILE *out, const char *path);
/* A word as the shell wants it. */
void um_print_quoted(FILE *out, const char *word);
/* The options of a group that were given, as they can be typed again. */
void um_print_given(FILE *out, const um_args *args, const um_option *group);
/* All values of an option, as they can be typed again behind before. */
void um_print_values(FILE *out, const um_args *args, const char *option,
                     const char *before);

/* One line when the filter errs more than was asked for. */
void um_tell_overfull(FILE *out, const umbel_filter *f);
/* A line when counts were lost because a table is full. */
void um_tell_uncounted(FILE *out, const umbel_filter *f);

/* One line when the filter was retouched: how many it denies, and what. */
void um_tell_retouched(FILE *out, const umbel_filter *f, const char *what);

/* Sizes go up to whole blocks or slices; who asked for another learns it. */
void um_tell_rounding(FILE *out, uint64_t asked, uint64_t got);

/* value, value_low, value_high. whole: rounded, the interval outwards. */
void um_info_interval(umbel_info *out, const char *names[3],
                      const umbel_interval *i, bool whole);

#endif
