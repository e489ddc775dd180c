/*
 * whole.h - files of bytes that are no filter: read and written whole.
 */
#ifndef UM_CLI_WHOLE_H
#define UM_CLI_WHOLE_H

#include "cli/command.h"

/* All of path, - is standard input, at most limit bytes; *out is for free. */
umbel_status um_read_whole(const char *path, size_t limit, uint8_t **out,
                           size_t *len, umbel_error *err);

/* To path, there whole or not at all, or to standard output for "-". */
umbel_status um_write_whole(const char *path, const void *bytes, size_t len,
                            umbel_error *err);

/* A content name as 64 hexadecimal digits. */
typedef struct um_name_text {
    char text[2 * UMBEL_CONTENT_LEN + 1];
} um_name_text;
um_name_text um_name_of(const umbel_filter *f);

#endif
