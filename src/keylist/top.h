/*
 * top.h - the keys of a stream with the largest counts.
 *
 * A filter answers the same count whenever a key comes, so a key that was left
 * out never comes back, and memory is bounded by the keys that are wanted.
 */
#ifndef UM_KEYS_TOP_H
#define UM_KEYS_TOP_H

#include <umbel/umbel.h>

enum { UM_MAX_TOP = 1000 }; /* each new key is compared with all of them */

typedef struct um_top_key {
    umbel_digest digest;
    uint64_t count, order; /* order: the how-manieth it was */
    char *text;
    size_t len;
} um_top_key;

/* Zeroed, but for room: how many keys are wanted, up to UM_MAX_TOP. */
typedef struct um_top {
    size_t room, n, weakest;
    uint64_t seen;
    um_top_key key[UM_MAX_TOP];
} um_top;

void um_top_fini(um_top *t);

/* Takes one more key of the stream; text is how it is printed. Of equal counts
 * the first key stays. */
umbel_status um_top_parse(um_top *t, const umbel_filter *f,
                          const umbel_slice *key, const umbel_slice *text,
                          uint64_t count, umbel_error *err);

/* Puts the largest count first, and equal ones in the order of the stream. */
void um_top_sort(um_top *t);

#endif
