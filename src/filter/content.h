/*
 * content.h - all bytes of a file: mapped, read from a pipe, or computed.
 */
#ifndef UM_FILTER_CONTENT_H
#define UM_FILTER_CONTENT_H

#include <umbel/filter.h>

/* Bytes in allocated memory or in a mapping. */
typedef struct um_content {
    uint8_t *bytes;
    size_t len, cap;
    bool mapped;
    size_t limit; /* maximum length */
} um_content;

/*
 * Maps a regular file; E_IO when it is something else, E_UNKNOWN when it does
 * not exist. Release with um_content_fini.
 */
umbel_status um_content_read(um_content *c, const char *path, umbel_error *err);
/* Like um_content_read, but also reads up to limit bytes from a pipe. "-" is
 * standard input. */
umbel_status um_content_read_within(um_content *c, const char *path,
                                    size_t limit, umbel_error *err);
void um_content_fini(um_content *c);

/* Fills *err with errno and the path: E_UNKNOWN when it does not exist. */
umbel_status um_fail_open(umbel_error *err, const char *path);

/* Makes space for at least one more byte. */
umbel_status um_content_grow(um_content *c, umbel_error *err);

#endif
