/*
 * content.h - all bytes of a file: mapped, read from a pipe, or computed.
 */
#ifndef UM_FILTER_CONTENT_H
#define UM_FILTER_CONTENT_H

#include <umbel/filter.h>

/* Bytes in memory of their own, or in a mapping. */
typedef struct um_content {
    uint8_t *bytes;
    size_t len, cap;
    bool mapped;
    size_t limit; /* that it may grow to */
} um_content;

/*
 * Maps a regular file; E_IO when it is something else, E_UNKNOWN when it does
 * not exist. Release with um_content_fini.
 */
umbel_status um_content_read(um_content *c, const char *path, umbel_error *err);
/* The same, but a pipe may bring up to limit bytes. "-" is standard input. */
umbel_status um_content_read_within(um_content *c, const char *path,
                                    size_t limit, umbel_error *err);
void um_content_fini(um_content *c);

/* Fills *err with errno and the path: E_UNKNOWN when it does not exist. */
umbel_status um_fail_open(umbel_error *err, const char *path);

/* Makes room for at least one byte more. */
umbel_status um_content_grow(um_content *c, umbel_error *err);

#endif
