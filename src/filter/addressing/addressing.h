/*
 * addressing.h - which cells a digest owns: one row per way.
 */
#ifndef UM_FILTER_ADDRESSING_H
#define UM_FILTER_ADDRESSING_H

#include "base/hash.h"

enum { UM_MAX_HASHES = 64 };
#define UM_MAX_CELLS ((uint64_t)1 << 48)

typedef struct um_addressing um_addressing;

/*
 * An addressing made ready for a size. Cells lie in equal blocks, a block in
 * equal lanes. A key goes to one block and there throws `throws` times into
 * every lane, and once more into `extra` neighbouring lanes that it chooses.
 * Everything that formulas need to know is in these numbers:
 *
 *     classic       1 block,  1 lane  of m cells,     k throws
 *     partitioned   1 block,  k lanes of m/k cells,   1 throw
 *     blocked512    m/512,    8 lanes of 64 cells,    k/8 throws, k%8 extra
 *
 * Where there are several blocks, keys go to them in the order of lo.
 */
typedef struct um_layout {
    const um_addressing *row;
    uint64_t cells, seed;
    uint64_t blocks;
    uint64_t width; /* cells of a lane */
    uint32_t hashes;
    uint32_t lanes, throws;
    uint16_t extra;
    bool far; /* the cells take more than the second cache: fetch ahead */
} um_layout;

/* How cells move when a filter shrinks by a divisor D. */
typedef enum um_fold_rule {
    UM_FOLD_NEIGHBOURS, /* D neighbours become one: own addressings */
    UM_FOLD_PARTS       /* D equal parts are laid over each other: mod m */
} um_fold_rule;

struct um_addressing {
    const char *name; /* in settings, commands, on the wire; never reused */
    const char *summary;
    const char *hash;  /* the family it implies, or NULL: any */
    bool foreign;      /* as others have it: takes no groups */
    bool dependent;    /* a maker can choose cells that keys find together:
                          admission samples, see analysis/analysis.h */
    uint32_t distinct; /* a key of up to this many hashes owns distinct cells */
    um_fold_rule fold;
    /* Cells that sizes are multiples of, and that stay side by side when
     * folding. */
    uint32_t block;

    /* What um_granule and um_limit return; NULL: block for 1 to UM_MAX_HASHES
     * hashes, and UM_MAX_CELLS. */
    uint64_t (*granule)(uint32_t hashes);
    uint64_t (*limit)(uint32_t hashes);
    /* Computes cells and hashes as others prescribe them; NULL: by search. */
    void (*size)(double keys, double fpr, double *cells, double *hashes);
    /* Fills in blocks .. extra from cells, seed and hashes, where not all
     * cells are one lane in which hashes fall anywhere. */
    void (*prepare)(um_layout *l);
    /* What um_range and um_classes return; NULL: 0. */
    uint64_t (*range)(const um_layout *l);
    uint64_t (*classes)(const um_layout *l, uint64_t *step);
    /* pos[i * hashes + j] is the j-th cell of digest i. */
    void (*positions)(const um_layout *l, const umbel_digest *d, size_t n,
                      uint64_t *pos);
};

/* Initialises l. cells must be a multiple of the granule, within the limit. */
void um_layout_init(um_layout *l, const um_addressing *row, uint64_t cells,
                    uint32_t hashes, uint64_t seed);

/* Returns what sizes are multiples of; 0 when the number of hashes is
 * impossible. */
uint64_t um_granule(const um_addressing *row, uint32_t hashes);
/* Returns the largest size. */
uint64_t um_limit(const um_addressing *row, uint32_t hashes);

/* A cell is a uniform number below range, mod width; 0: there is no bias. */
static inline uint64_t um_range(const um_layout *l)
{
    return l->row->range ? l->row->range(l) : 0;
}
/*
 * Cells whose numbers agree mod classes, a power of 2, are a class. The class
 * of a key's next cell is that of its last one times *step; within its class a
 * cell is any. 0: cells do not follow from each other. step may be NULL.
 */
static inline uint64_t um_classes(const um_layout *l, uint64_t *step)
{
    return l->row->classes ? l->row->classes(l, step) : 0;
}

/* Returns the number that a fold must divide. */
uint64_t um_fold_parts(const um_layout *l);
/* Returns a number with more small divisors, at most 0.5 % larger. */
uint64_t um_foldable_parts(uint64_t parts);
/* Returns the new position of a cell when l is folded by by. */
uint64_t um_fold_cell(const um_layout *l, uint64_t by, uint64_t cell);

/*
 * The model: what follows from the numbers above (model.c).
 */

/* Chance that all cells of a fresh key are in use after keys others. */
double um_model_error(const um_layout *l, double keys);
/* Expected share of cells in use after keys keys. */
double um_model_fill(const um_layout *l, double keys);
/*
 * Chance that a throw into a lane meets one of used cells, used_hot of them
 * among its first um_model_hot cells, which some addressings prefer.
 */
uint64_t um_model_hot(const um_layout *l);
double um_model_hit(const um_layout *l, uint64_t used_hot, uint64_t used);
/* Keys that explain used cells in use; INFINITY when all are. */
double um_model_keys(const um_layout *l, uint64_t used);
/*
 * Covariance of the numbers of unused cells of two filters holding a and b
 * keys, shared of them in both. With a = b = shared: the variance.
 */
double um_model_covariance(const um_layout *l, double a, double b,
                           double shared);
/* d(keys) / d(unused cells) at keys: the slope of um_model_keys. */
double um_model_slope(const um_layout *l, double keys);

/* Returns true if um_extra_error's sum is short enough: up to 15 hashes in 8
 * lanes. */
bool um_extra_can(const um_layout *l);
/*
 * The exact error of a layout with extra throws, for which um_model_error is
 * about. Absolute precision 1e-11 for errors from 1e-6 on, 1e-14 below.
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
    X(redisbloom)

#define UM_ADDRESSING_DECLARE(name)                                            \
    extern const um_addressing um_addressing_##name;
UM_ADDRESSINGS(UM_ADDRESSING_DECLARE)

/* The numbers of a function of universal, ((c x + d) mod p) mod m. */
typedef struct um_universal {
    uint32_t c, d;
} um_universal;

/* Draws those of all functions from the seed. */
void um_draw_universal(const um_layout *l, um_universal h[UM_MAX_HASHES]);

/* --- for loops that fuse an addressing with the rest ---------------------- */

/* The walk of classic and partitioned. */
#define UM_CLASSIC_FACTOR UINT64_C(0xD1342543DE82EF95) /* on the wire */

/* From lo on, each step's high half of its product with m is a cell. */
static inline uint64_t um_classic_step(uint64_t x, uint64_t hi)
{
    return x * UM_CLASSIC_FACTOR + hi;
}

/* The lanes of a block that the last hashes of a key use. */
/* A row of 16 for each number of last hashes mod 8. An entry has the bits of a
 * lane: 32 for blocks of 256 cells, 64 for 512. */
enum { UM_LANES = 8 * 16 };
extern const uint32_t um_lanes32[UM_LANES];
extern const uint64_t um_lanes64[UM_LANES];

/*
 * Returns the entry where the eight lanes are for a key whose last word begins
 * at lane 0; at lane i, they are i entries before.
 */
static inline uint32_t um_lanes_at(const um_layout *l)
{
    return l->hashes % 8 * 16 + 8;
}

#endif
