/*
 * head.h - the head of a file: a shape as bytes, and back.
 */
#ifndef UM_FILTER_HEAD_H
#define UM_FILTER_HEAD_H

#include "filter/handle.h"

enum {
    UM_HEAD_START = 16, /* bytes that give the length of the head */
    UM_HEAD_MAX = 4096
};

/* What a head says of the file around it. */
typedef struct um_head {
    um_shape shape;
    size_t len;                       /* of the head: the payload starts here */
    size_t payload_len;               /* in memory: raw */
    size_t stored_len;                /* in the file, which ends behind it */
    uint64_t stored[UM_MAX_SECTIONS]; /* bytes of each section */
    uint64_t payload_checksum;
} um_head;

/* Bytes of a head for s. */
size_t um_head_room(const um_shape *s);

/*
 * The head of f, into UM_HEAD_MAX bytes; returns its length. code has the
 * length of each section's code; NULL: they are raw.
 */
size_t um_head_encode(const umbel_filter *f, const uint64_t *code,
                      uint8_t out[UM_HEAD_MAX]);

/* Returns true if bytes begin like a file of umbel: a filter, a difference. */
bool um_is_umbel_file(const void *bytes, size_t len);

/* The head's length, from its first UM_HEAD_START bytes. */
umbel_status um_head_len(const uint8_t *bytes, size_t len, size_t *head_len,
                         umbel_error *err);
/* The whole head, from a private copy of its bytes: believe, then use. */
umbel_status um_head_decode(const uint8_t *bytes, size_t len, um_head *out,
                            umbel_error *err);

#endif
