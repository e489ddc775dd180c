/*
 * coded.h - the payload of a filter in few bytes, and back.
 *
 * Each section becomes a code (coding/code.h), one after the other. (In files
 * of version 1 each begins at a multiple of 64.)
 */
#ifndef UM_FILTER_CODED_H
#define UM_FILTER_CODED_H

#include "filter/envelope.h"

/* A payload's code. */
typedef struct um_coded {
    uint8_t *bytes; /* NULL: none; from f's allocator */
    size_t cap, len;
    uint64_t section[UM_MAX_SECTIONS]; /* bytes of each code */
} um_coded;

umbel_status um_coded_init(um_coded *c, const umbel_filter *f,
                           umbel_error *err);
void um_coded_fini(um_coded *c, const umbel_filter *f);

/* A filter as the bytes of its file: the head, and the payload behind it. */
typedef struct um_parts {
    uint8_t head[UM_HEAD_MAX];
    um_coded coded;
    umbel_slice part[2];
} um_parts;

umbel_status um_parts_init(um_parts *p, const umbel_filter *f,
                           umbel_error *err);
void um_parts_fini(um_parts *p, const umbel_filter *f);

/* How long it is, and each of its sections: as much work as coding. */
size_t um_coded_len(const umbel_filter *f, uint64_t section[UM_MAX_SECTIONS]);

/*
 * The payload of head from its stored bytes, into zeroed memory. Everything is
 * checked; the checksum is not.
 */
umbel_status um_uncode(const um_head *head, const uint8_t *stored,
                       uint8_t *payload, umbel_error *err);

/*
 * Bytes that the cells take at least when each is coded for itself: of bits the
 * entropy of their density. Values of 16 and more go by their highest three
 * bits.
 */
double um_shannon_bytes(const umbel_filter *f);

#endif
