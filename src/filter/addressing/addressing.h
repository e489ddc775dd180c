/*
 * addressing.h - maps digests to cells: one row per addressing.
 */
#ifndef UM_FILTER_ADDRESSING_H
#define UM_FILTER_ADDRESSING_H

#include "base/hash.h"

enum { UM_MAX_HASHES = 64 };
#define UM_MAX_CELLS ((uint64_t)1 << 48)

typedef struct um_addressing um_addressing;

/*
 * An addressing prepared for a size. Cells are divided into equal blocks, a
 * block into equal lanes. A key selects one block, hits `throws` cells in every
 * lane, and one more in each of `extra` consecutive lanes that it chooses. The
 * formulas of the model need only these numbers:
 *
 *     classic       1 block,  1 lane  of m cells,     k throws
 *     partitioned   1 block,  k lanes of m/k cells,   1 throw
 *     blocked512    m/512,    8 lanes of 64 cells,    k/8 throws, k%8 extra
 *
 * If there are several blocks, they are ordered by lo.
 */
typedef struct um_layout {
    const um_addressing *row;
    uint64_t cells, seed;
    uint64_t blocks;
    uint64_t width; /* cells of a lane */
    uint32_t hashes;
    uint32_t lanes, throws;
    uint16_t extra;
    bool far;        /* the cells exceed the L2 cache: prefetch */
    bool hi_follows; /* hi of each digest is um_remix(lo) */
} um_layout;

/* How cells move when a filter shrinks by a divisor D. */
typedef enum um_fold_rule {
    UM_FOLD_NEIGHBOURS, /* D neighbouring cells become one: umbel's own
                           addressings */
    UM_FOLD_PARTS       /* D equal parts are overlaid: cells modulo m */
} um_fold_rule;

struct um_addressing {
    const char *name; /* in settings, commands, on the wire; never reused */
    const char *summary;
    const char *hash;  /* the hash family it implies; NULL: any */
    bool foreign;      /* from another program: cannot have groups */
    bool dependent;    /* an attacker can choose cells that the same keys use:
                          admission samples, see analysis/analysis.h */
    bool permutes;     /* different keys have different numbers below range */
    uint32_t distinct; /* keys with up to this many hashes have distinct
                          cells */
    um_fold_rule fold;
    /* Sizes are multiples of this many cells, which stay together when
     * folding. */
    uint32_t block;

    /* Implement um_granule and um_limit. NULL: block for 1 to UM_MAX_HASHES
     * hashes, and UM_MAX_CELLS. */
    uint64_t (*granule)(uint32_t hashes);
    uint64_t (*limit)(uint32_t hashes);
    /* Computes cells and hashes as the other program does; NULL: by search. */
    void (*size)(double keys, double fpr, double *cells, double *hashes);
    /* Sets blocks .. extra from cells, seed and hashes. NULL: all cells are one
     * lane in which hashes fall anywhere. */
    void (*prepare)(um_layout *l);
    /* Implement um_range and um_classes; NULL: 0. */
    uint64_t (*range)(const um_layout *l);
    uint64_t (*classes)(const um_layout *l, uint64_t *step);
    /* Stores the j-th cell of digest i in pos[i * hashes + j]. */
    void (*positions)(const um_layout *l, const umbel_digest *d, size_t n,
                      uint64_t *pos);
};

/* Initialises l. cells must be a multiple of the granule, within the limit. */
void um_layout_init(um_layout *l, const um_addressing *row, uint64_t cells,
                    uint32_t hashes, uint64_t seed);

/* Returns the number that sizes are multiples of; 0 if the number of hashes is
 * impossible. */
uint64_t um_granule(const um_addressing *row, uint32_t hashes);
/* Returns the largest possible size. */
uint64_t um_limit(const um_addressing *row, uint32_t hashes);

/* Returns the range if a cell is a uniform number below range, mod width; 0 if
 * there is no bias. */
static inline uint64_t um_range(const um_layout *l)
{
    return l->row->range ? l->row->range(l) : 0;
}
/*
 * Returns the number of classes, a power of 2: cells whose numbers are equal
 * mod that number are a class. The class of a key's next cell is that of the
 * previous one times *step; within its class a cell is random. 0: cells do not
 * depend on each other. step may be NULL.
 */
static inline uint64_t um_classes(const um_layout *l, uint64_t *step)
{
    return l->row->classes ? l->row->classes(l, step) : 0;
}

/* Returns the number that a fold must divide. */
uint64_t um_fold_parts(const um_layout *l);
/* Returns a number at most 0.5 % larger that has more small divisors. */
uint64_t um_foldable_parts(uint64_t parts);
/* Returns the new position of a cell when l is folded by by. */
uint64_t um_fold_cell(const um_layout *l, uint64_t by, uint64_t cell);

/*
 * The model: predictions from the numbers above (model.c).
 */

/* Returns the probability that all cells of a new key are in use after this
 * many keys. */
double um_model_error(const um_layout *l, double keys);
/* Returns the expected share of cells in use after this many keys. */
double um_model_fill(const um_layout *l, double keys);
/*
 * um_model_hit returns the probability that a throw into a lane hits one of
 * used cells, used_hot of them among its first um_model_hot cells, which some
 * addressings prefer.
 */
uint64_t um_model_hot(const um_layout *l);
double um_model_hit(const um_layout *l, uint64_t used_hot, uint64_t used);
/* Estimates the number of keys from the number of used cells; INFINITY when all
 * are used. */
double um_model_keys(const um_layout *l, uint64_t used);
/*
 * Returns the covariance of the numbers of unused cells of two filters with a
 * and b keys, of which shared are in both. With a = b = shared: the variance.
 */
double um_model_covariance(const um_layout *l, double a, double b,
                           double shared);
/* Returns d(keys) / d(unused cells) at keys, the slope of um_model_keys. */
double um_model_slope(const um_layout *l, double keys);

/* Returns true if um_extra_error's sum is short enough: up to 15 hashes in 8
 * lanes. */
bool um_extra_can(const um_layout *l);
/*
 * Computes the exact error of a layout with extra throws, which um_model_error
 * estimates as about. Absolute precision 1e-11 for errors from 1e-6 on, 1e-14
 * below.
 */
double um_extra_error(const um_layout *l, double keys, double about);

/* --- the rows. A new addressing is a line here. --------------------------- */

/* In the order of --help. X(name) stands for the row um_addressing_name. */
#define UM_ADDRESSINGS(X)                                                      \
    X(blocked512)                                                              \
    X(blocked256)                                                              \
    X(classic)                                                                 \
    X(partitioned)                                                             \
    X(universal)                                                               \
    X(chunks_md5)                                                              \
    X(blocked128)                                                              \
    X(dcso)                                                                    \
    X(redisbloom)                                                              \
    X(guava)                                                                   \
    X(guava32)

#define UM_ADDRESSING_DECLARE(name)                                            \
    extern const um_addressing um_addressing_##name;
UM_ADDRESSINGS(UM_ADDRESSING_DECLARE)

/* The parameters of a universal hash function, ((c x + d) mod p) mod m. */
typedef struct um_universal {
    uint32_t c, d;
} um_universal;

/* Draws the parameters of all functions from the seed. */
void um_draw_universal(const um_layout *l, um_universal h[UM_MAX_HASHES]);

/* --- for loops that inline an addressing ---------------------------------- */

/* The sequence of classic and partitioned. */
#define UM_CLASSIC_FACTOR UINT64_C(0xD1342543DE82EF95) /* on the wire */

/* Advances the sequence, which starts at lo; the high half of x * m is a
 * cell. */
static inline uint64_t um_classic_step(uint64_t x, uint64_t hi)
{
    return x * UM_CLASSIC_FACTOR + hi;
}

/* The lanes of a block that the last hashes of a key use. */
/* A row of 16 entries for each number of hashes mod 8. An entry is as wide as a
 * lane: 32 bits for blocks of 256 cells, 64 for 512. */
enum { UM_LANES = 8 * 16 };
extern const uint32_t um_lanes32[UM_LANES];
extern const uint64_t um_lanes64[UM_LANES];

/*
 * Returns the index of the eight entries for a key whose last word starts at
 * lane 0; for lane i, subtract i.
 */
static inline uint32_t um_lanes_at(const um_layout *l)
{
    return l->hashes % 8 * 16 + 8;
}

#endif
