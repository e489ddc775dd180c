/*
 * file_text.h - a small text file, whole, in memory.
 */
#ifndef UM_CLEARINGHOUSE_FILE_TEXT_H
#define UM_CLEARINGHOUSE_FILE_TEXT_H

#include <umbel/base.h>

enum { UM_FILE_TEXT_MAX = 16 << 20 };

typedef struct um_file_text {
    char *data; /* NULL: there is no such file */
    size_t len;
} um_file_text;

/* Reads a file of at most UM_FILE_TEXT_MAX bytes; out->data is to be freed. */
umbel_status um_file_text_read(um_file_text *out, const char *path,
                               umbel_error *err);

/* Called for what is ignored or doubtful in a file; line 0: in all of it. */
typedef void um_warn_line(void *ctx, const char *file, size_t line,
                          const char *what);
/* One that prints to a FILE, its ctx. */
void um_print_warning(void *ctx, const char *file, size_t line,
                      const char *what);

/* Takes the next line off text, without its newline. False at the end. */
bool um_next_line(umbel_slice *text, umbel_slice *line);
/* Cuts the next word off text: blanks separate them. */
bool um_next_word(umbel_slice *text, umbel_slice *word);
/* Without blanks at either end. */
umbel_slice um_trim(umbel_slice s);
/* Splits at each colon into n parts, trimmed. False: there are more or fewer.
 */
bool um_split_colons(umbel_slice line, umbel_slice *part, size_t n);

#endif
