/*
 * file_text.h - reads a small text file into memory.
 */
#ifndef UM_CLEARINGHOUSE_FILE_TEXT_H
#define UM_CLEARINGHOUSE_FILE_TEXT_H

#include "base/text.h"

#include <umbel/base.h>

enum { UM_FILE_TEXT_MAX = 16 << 20 };

typedef struct um_file_text {
    char *data; /* NULL if the file does not exist */
    size_t len;
} um_file_text;

/* Reads a file of at most UM_FILE_TEXT_MAX bytes; the caller frees
 * out->data. */
umbel_status um_file_text_read(um_file_text *out, const char *path,
                               umbel_error *err);

/* Called for each line that is ignored or doubtful; line is 0 if the whole file
 * is meant. */
typedef void um_warn_line(void *ctx, const char *file, size_t line,
                          const char *what);
/* Prints a warning to the FILE in ctx: a um_warn_line. */
void um_print_warning(void *ctx, const char *file, size_t line,
                      const char *what);

#endif
