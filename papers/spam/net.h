/*
 * net.h - which key owns which cells, and the small part of it that can err.
 *
 * A key with a cell of its own is always counted exactly, under both updates:
 * that cell is raised only by the key's own insertions, by one each, and no
 * cell of a key is ever below its count. So only keys that share every cell
 * with somebody can be miscounted, and what they read depends on their cells
 * and on the keys that own one of these. um_net_reduce keeps just those; for a
 * key with a cell of its own one such cell stands for all. A reduced net gives
 * the same errors as the whole one, after any sequence of insertions, and is
 * twenty times smaller or more (tests/unit/test_spam.c compares them).
 */
#ifndef UM_SPAM_NET_H
#define UM_SPAM_NET_H

#include "base/rng.h"
#include "papers/spam/cells.h"

#include <umbel/umbel.h>

enum {
    SPAM_PRIME = 2100000011, /* of the universal hash functions, section V */
    SPAM_MAX_HASHES = 8
};

typedef struct um_net {
    size_t nkeys, ncells;
    uint32_t *key;   /* their numbers in the list that the net was made from */
    uint32_t *first; /* of key i: cell[first[i]] up to cell[first[i + 1] - 1] */
    uint32_t *cell;
} um_net;

/* Both nets of a filter, and what it takes to make them; one for many filters
 * in turn. */
typedef struct um_net_space {
    um_net whole, reduced;
    size_t suspects;   /* keys without a cell of their own */
    uint32_t *suspect; /* their numbers */
    uint8_t *state;    /* of each cell */
    uint32_t *number;  /* of a cell in the reduced net */
} um_net_space;

umbel_status um_net_init(um_net_space *s, size_t nkeys, size_t ncells,
                         umbel_error *err);
void um_net_fini(um_net_space *s);

static inline um_spam_list um_net_list(const um_net *n, size_t i)
{
    return (um_spam_list){n->cell + n->first[i], n->first[i + 1] - n->first[i]};
}

/* k hash functions h(x) = ((c x + d) mod p) mod m, drawn from rng, applied to
 * those of n keys that have a count: s->whole. */
void um_net_hash(um_net_space *s, const uint32_t *keys, const uint8_t *count,
                 size_t n, unsigned k, uint32_t m, um_rng *rng);
/* s->suspects and s->reduced, from s->whole. */
void um_net_reduce(um_net_space *s);

#endif
