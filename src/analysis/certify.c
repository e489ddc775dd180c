/*
 * certify.c - a false positive rate that is certain, by asking random keys.
 */
#include "analysis/certify.h"

#include "base/batch.h"
#include "base/rng.h"

#include <umbel/diff.h>

#include <math.h>

#define DOUBT (1e-10 / STAGES)
enum { EXPECTED = 400, MAX_ASKED = 1 << 24, STAGES = 5 };

double um_max_error(double max_error)
{
    return fmin(2 * max_error, (1 + max_error) / 2);
}

static um_rng rng_of(const umbel_filter *f)
{
    uint8_t name[UMBEL_CONTENT_LEN];

    umbel_content_name(f, name);
    return (um_rng){um_load64(name)};
}

/* As keys have them that nobody chose; integers are their own digests. */
static umbel_digest random_digest(const um_hash *hash, um_rng *rng)
{
    if (hash->identity)
        return (umbel_digest){um_random_below(rng, UM_INTEGER_PRIME), 0};
    uint64_t lo = um_random(rng);
    return (umbel_digest){lo,
                          hash->entropy > 64 ? um_random(rng) : um_remix(lo)};
}

/*
 * Drops keys whose first cells are not all in use: most of them, and the
 * positions of the other hashes take the most time. Addressings that are
 * sampled go from cell to cell, so fewer hashes give the first of them.
 */
static size_t retain_likely(const umbel_filter *f, umbel_digest d[UM_BATCH],
                            size_t n)
{
    enum { FIRST = 2 };
    const um_row_bits *bits = f->kind->bits;
    um_layout l = f->layout;
    uint64_t pos[UM_BATCH * FIRST];
    size_t kept = 0;

    if (!um_has_bits(f->kind) || bits->groups(f->self) > 1 || l.hashes <= FIRST)
        return n;
    l.hashes = FIRST;
    l.row->positions(&l, d, n, pos);
    const uint8_t *cells = bits->cells(f->self);
    for (size_t i = 0; i < n; i++)
        if (um_bit(cells, pos[FIRST * i]) && um_bit(cells, pos[FIRST * i + 1]))
            d[kept++] = d[i];
    return kept;
}

static uint64_t count_hits(const umbel_filter *f, um_rng *rng, size_t n)
{
    umbel_digest d[UM_BATCH] = {{0, 0}};
    bool hit[UM_BATCH];
    uint64_t hits = 0;

    for (size_t i = 0; i < n; i++)
        d[i] = random_digest(f->hasher.row, rng);
    n = retain_likely(f, d, n);
    f->kind->query(f->self, d, n, hit);
    for (size_t i = 0; i < n; i++)
        hits += hit[i];
    return hits;
}

/* P(X <= hits), where mean were expected, is too small (Chernoff). */
static bool is_certain(double hits, double mean)
{
    double rest = hits > 0 ? hits * log(hits / mean) : 0;

    return hits < mean && mean - hits + rest >= -log(DOUBT);
}

/* Asks until want keys have been asked. */
static void ask_more(const umbel_filter *f, um_rng *rng, uint64_t want,
                     um_sample *s)
{
    for (size_t some; s->asked < want; s->asked += some) {
        some = um_next_batch((size_t)(want - s->asked));
        s->hits += count_hits(f, rng, some);
    }
}

/* A part of the sample often says enough, one way or the other. */
um_sample um_certify(const umbel_filter *f, double max_error)
{
    um_sample s = {.asked = 0};
    um_rng rng = rng_of(f);
    double most = um_max_error(max_error), room = most - max_error;
    double enough = EXPECTED * max_error / (room * room);
    uint64_t all = (uint64_t)fmin(enough, MAX_ASKED);

    for (int i = STAGES - 1; i >= 0 && !s.certain; i--) {
        ask_more(f, &rng, all >> i, &s);
        s.certain = is_certain((double)s.hits, (double)s.asked * most);
        if (!is_certain((double)s.hits, (double)all * most))
            break;
    }
    return s;
}
