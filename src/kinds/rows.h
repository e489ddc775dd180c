/*
 * rows.h - the table of kinds. To add a kind, add a line here.
 */
#ifndef UM_KINDS_ROWS_H
#define UM_KINDS_ROWS_H

#include "filter/addressing/redisbloom.h"
#include "filter/kind.h"

/* In the order of --help. X(name) stands for the row um_kind_name. */
#define UM_KINDS(X)                                                            \
    X(bloom)                                                                   \
    X(scalable)                                                                \
    X(aging)                                                                   \
    X(counting)                                                                \
    X(tally)                                                                   \
    X(countmin)                                                                \
    X(generalized)                                                             \
    X(ribbon)                                                                  \
    X(table)

#define UM_KIND_DECLARE(name) extern const um_kind um_kind_##name;
UM_KINDS(UM_KIND_DECLARE)

/* Internal kinds, for one program or for files of others: found by name, but
 * not listed. */
#define UM_INNER_KINDS(X) X(near) X(chain)
UM_INNER_KINDS(UM_KIND_DECLARE)

/* --- kind chain: the sub-filters of a RedisBloom filter that has grown ---- */

#define UM_CHAIN_KIND "chain" /* on the wire */

enum {
    UM_CHAIN_MAX_LINKS = 1024,
    UM_CHAIN_MAX_HASHES = 1100 /* as in foreign/redisbloom.h */
};

typedef struct um_chain_link {
    uint64_t first; /* offset of its bits among those of all links */
    uint64_t nbits, items, capacity;
    double error, bits_per_item;
    uint32_t hashes;
    uint8_t log2;
} um_chain_link;

/* Encodes how a chain grows as a number for the head; part of the format. 0 is
 * the most common value: expansion 2, and growing. */
static inline uint64_t um_chain_growth(uint32_t expansion, bool fixed)
{
    return um_redisbloom_growth(expansion, fixed) ^ 1;
}

static inline bool um_chain_is_fixed(uint64_t growth)
{
    return um_redisbloom_is_fixed(growth ^ 1);
}

/* The following functions take the kind's part of a filter of kind chain. */
size_t um_chain_links(const void *self);
/* Returns link i, where 0 is the oldest; false if the numbers of the chain are
 * inconsistent. */
bool um_chain_link_at(const void *self, size_t i, um_chain_link *out);
/* Sets the numbers of link i; its offset follows from those of all links. */
void um_chain_set_link(void *self, size_t i, const um_chain_link *l);
uint8_t *um_chain_cells(void *self);

#endif
