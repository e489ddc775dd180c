/*
 * content.h - all bytes of a file: mapped, read from a pipe, or made.
 */
#ifndef UM_CLI_CONTENT_H
#define UM_CLI_CONTENT_H

#include "exchange/manifest.h"

#include <umbel/diff.h>

/* Bytes in memory that grew, or in a mapping. */
typedef struct um_content {
    uint8_t *bytes;
    size_t len, cap;
    bool mapped;
    size_t limit; /* that it may grow to */
} um_content;

/* A regular file; E_IO when it is none. Release with um_content_fini. */
umbel_status um_content_read(um_content *c, const char *path, umbel_error *err);
/* The same, but a pipe may bring limit bytes: only its end tells its length. -
 * is standard input. */
umbel_status um_content_read_within(um_content *c, const char *path,
                                    size_t limit, umbel_error *err);
/* The file that a filter is. */
umbel_status um_content_encode(um_content *c, const umbel_filter *f,
                               umbel_error *err);
/* The difference that makes one filter of another. */
umbel_status um_content_diff(um_content *c, const umbel_filter *old,
                             const umbel_filter *now, umbel_diff_result *bill,
                             umbel_error *err);
void um_content_fini(um_content *c);

/*
 * The digest of a file's bytes, and how many they are. It is read and not
 * mapped: who cuts it short meanwhile ends nobody.
 */
umbel_status um_content_digest(const char *path, uint8_t out[UM_DIGEST_LEN],
                               uint64_t *len, umbel_error *err);

/* The content name of a filter, in digits. */
typedef struct um_name_text {
    char text[UM_DIGEST_HEX];
} um_name_text;
um_name_text um_name_of(const umbel_filter *f);

/* Make room for at least one byte more. */
umbel_status um_content_grow(um_content *c, umbel_error *err);

#endif
