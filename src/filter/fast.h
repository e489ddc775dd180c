/*
 * fast.h - faster ways to do what a pair of kind and addressing does.
 *
 * Optional: the kind's own functions are the definition, and a row here gives
 * the same answers and the same cells, sooner. The first usable row is taken
 * when a filter is made.
 */
#ifndef UM_FILTER_FAST_H
#define UM_FILTER_FAST_H

#include "filter/kind.h"

/* As umbel_query and umbel_add, which jump here. */
typedef umbel_status um_query_key(const umbel_filter *f, const void *key,
                                  size_t len, bool *hit, umbel_error *err);
typedef umbel_status um_add_key(umbel_filter *f, const void *key, size_t len,
                                bool *fresh, umbel_error *err);

/* Functions for one key. */
typedef struct um_one_key {
    um_query_key *query;
    um_add_key *add;
} um_one_key;

/* They are compiled for up to 8 hashes, and for more. */
enum { UM_FAST_WORDS = 2 };

typedef struct um_fast {
    const char *name; /* of the instructions it needs */
    const char *kind, *addressing;
    /* Returns true if this machine, and this size, can use it. */
    bool (*usable)(const um_layout *l);
    /* With which settings of the kind; NULL: with nothing set. */
    bool (*takes)(const um_shape *s);

    /* As the kind's add, without amounts, and query; add NULL: none faster. */
    size_t (*add)(void *self, const umbel_digest *d, size_t n, bool *fresh);
    void (*query)(const void *self, const umbel_digest *d, size_t n, bool *hit);
    /* As the kind's count; NULL: it has none, or none faster. */
    void (*count)(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out);
    /*
     * The rest is fused with XXH3-64 (um_hash.fused), and may be NULL. seed is
     * the hasher's.
     */
    /* One key, without the frame of a batch, for filters that are not shared.
     * Both or none. */
    um_one_key one[UM_FAST_WORDS];
    /*
     * For filters that are shared (shared.c); NULL: not with this row. Adds and
     * queries by set_hash, has_hash, add and query may run together as long as
     * no two threads add to one pair of neighbouring blocks. set_hash returns
     * true if the key was new; neither counts it.
     */
    um_one_key shared[UM_FAST_WORDS];
    bool (*set_hash[UM_FAST_WORDS])(umbel_filter *f, uint64_t lo);
    bool (*has_hash[UM_FAST_WORDS])(const umbel_filter *f, uint64_t lo);
    /* Keys of 8 bytes each. */
    size_t (*add_keys8)(void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *fresh);
    void (*query_keys8)(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit);
} um_fast;

/* Returns true if the row takes such settings. */
bool um_fast_takes(const um_fast *row, const um_shape *s);
/* NULL when none is usable. */
const um_fast *um_fast_pick(const um_shape *s, const um_layout *l);
/* The i-th row; NULL when past the end. */
const um_fast *um_fast_row(size_t i);

#endif
