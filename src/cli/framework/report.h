/*
 * report.h - what commands print, for people and for programs.
 *
 * A report is a list of named values. Text and JSON are printed from the same
 * list, so both contain the same values. Notes are sentences: warnings, and
 * what to type next.
 */
#ifndef UM_CLI_REPORT_H
#define UM_CLI_REPORT_H

#include "cli/framework/command.h"
#include "cli/framework/numbers.h"

#include <umbel/describe.h>
#include <umbel/estimate.h>

enum { UM_MAX_REPORT = 64, UM_MAX_NOTES = 12, UM_REPORT_NOTE_LEN = 1024 };

typedef enum um_value_type {
    UM_VALUE_TEXT,
    UM_VALUE_COUNT,
    UM_VALUE_REAL,
    UM_VALUE_RATE, /* a share: an error, a fill */
    UM_VALUE_HEX,
    UM_VALUE_FLAG,
    UM_VALUE_TIME, /* seconds since 1970; 0: never */
    UM_VALUE_TEXTS,
    UM_VALUE_NONE /* null: unknown, or not applicable */
} um_value_type;

typedef struct um_value {
    const char *name;  /* in JSON: lower case, _ */
    const char *label; /* in text; NULL: the name, with blanks for _ */
    const char *unit;  /* after a count or real; NULL: none */
    um_value_type type;
    const char *text; /* owned by the report */
    uint64_t count;
    double real;
    const char *const *texts;
    bool is_file;  /* a text that names a file */
    bool interval; /* the next two values are its ends */
} um_value;

typedef struct um_report {
    um_value value[UM_MAX_REPORT];
    size_t n;
    char *memory[UM_MAX_REPORT]; /* copies of texts */
    size_t nmemory;
    char notes[UM_MAX_NOTES][UM_REPORT_NOTE_LEN];
    size_t nnotes;
} um_report;

/* Frees the copies. Zero-initialise a report. */
void um_report_fini(um_report *r);

/* Append a value. label may be NULL (the name). Texts are copied; printing
 * replaces or escapes control characters. */
void um_report_text(um_report *r, const char *name, const char *label,
                    const char *text);
void um_report_count(um_report *r, const char *name, const char *label,
                     const char *unit, uint64_t n);
void um_report_real(um_report *r, const char *name, const char *label,
                    const char *unit, double x);
void um_report_rate(um_report *r, const char *name, const char *label,
                    double share);
void um_report_hex(um_report *r, const char *name, const char *label,
                   uint64_t n);
void um_report_time(um_report *r, const char *name, const char *label,
                    uint64_t seconds);
void um_report_flag(um_report *r, const char *name, const char *label,
                    bool flag);
/* Appends a list of texts, which must outlive the report. */
void um_report_texts(um_report *r, const char *name, const char *label,
                     const char *const *texts, size_t n);
/* Appends a file that was written or read; "-" is standard output. */
void um_report_file(um_report *r, const char *name, const char *label,
                    const char *path);
/* Appends a value and its 99 % interval: names[0] to names[2] in JSON, one line
 * in text. Whole numbers are rounded, the interval outwards. */
typedef enum um_interval_of {
    UM_OF_WHOLE,
    UM_OF_REAL,
    UM_OF_RATE
} um_interval_of;
void um_report_interval(um_report *r, const char *const names[3],
                        const char *label, const umbel_interval *i,
                        um_interval_of what);
/* Appends every field of a description. */
void um_report_info(um_report *r, const umbel_info *info);

/* Appends a sentence: a line of its own in text, an item of "notes" in JSON. */
void um_report_note(um_report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append notes on a filter, each only if it applies. */
void um_note_counts(um_report *r, const umbel_filter *f);
void um_note_retouched(um_report *r, const umbel_filter *f, const char *what);
void um_note_rounding(um_report *r, uint64_t asked, uint64_t got);

/* Prints a report as the arguments request: JSON, text, or nothing with
 * --quiet; to standard output, unless an output of the command goes there. */
void um_report_print(const um_args *args, const um_report *r);
/* Prints several reports with the same names: a JSON object each, or a
 * table. */
void um_report_print_table(const um_args *args, const um_report *rows,
                           size_t n);
/* Returns the stream that reports are printed to. */
FILE *um_report_stream(const um_args *args);

/* The printers. In a table, columns with texts of more than UM_TABLE_TEXT
 * characters are printed as lines below it. */
enum { UM_TABLE_TEXT = 40 };
void um_report_to_json(FILE *out, const um_report *r);
void um_report_to_text(FILE *out, const um_report *r);
void um_report_to_table(FILE *out, const um_report *rows, size_t n);

/* Reports how many keys a usual question of that form asks, and its error; does
 * nothing for forms with one key. */
void um_report_question(um_report *r, umbel_key_form form, unsigned lookups,
                        double key_error);

#endif
