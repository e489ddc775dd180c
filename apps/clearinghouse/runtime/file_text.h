/*
 * file_text.h - a small text file, whole, in memory.
 */
#ifndef UM_CLEARINGHOUSE_FILE_TEXT_H
#define UM_CLEARINGHOUSE_FILE_TEXT_H

#include "base/text.h"

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

#endif
