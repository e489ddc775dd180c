/*
 * generalized.h - filters whose keys clear some cells and set others.
 *
 * Kind "generalized" has settings reset (k0, 2 unless set) and set (k1, 2), the
 * numbers of functions that clear a cell and that set one, and start, the share
 * of ones before the first key in billionths (0). Whatever its bits are, a key
 * that their author could not foresee matches with a bounded chance; the price
 * is that keys are forgotten as others come. Laufer, Velloso, Duarte, "A
 * generalized Bloom filter to secure distributed network applications", 2011.
 */
#ifndef UMBEL_GENERALIZED_H
#define UMBEL_GENERALIZED_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The equations of the paper. A filter of bits m has k0 = reset and k1 = set
 * functions, which may coincide; zeros is the share of zeros before the first
 * key (their p_0), keys is n. Of any arguments that make no filter the answer
 * is NAN.
 */
typedef struct umbel_generalized {
    double bits;
    uint32_t reset, set;
    double zeros;
    double keys;
} umbel_generalized;

/* (7): share of zeros after the keys. */
UMBEL_API double umbel_generalized_zeros(const umbel_generalized *g);
/* (16): chance that a key never added matches. */
UMBEL_API double umbel_generalized_fp(const umbel_generalized *g);
/* (11), with exponents k0 and k1: chance that the key added as number position
 * (1 to keys; 0: before the first) is denied. */
UMBEL_API double umbel_generalized_fn_at(const umbel_generalized *g,
                                         double position);
/* (12): the mean of that over all keys. */
UMBEL_API double umbel_generalized_fn(const umbel_generalized *g);
/* (19): F_p, no content gives more. */
UMBEL_API double umbel_generalized_fp_bound(uint32_t reset, uint32_t set);
/* (24): F_n, from bits a key alone. */
UMBEL_API double umbel_generalized_fn_bound(uint32_t reset, uint32_t set,
                                            double bits_per_key);
/*
 * F_p where the functions of a key never coincide: the most, over numbers z of
 * zeros among the cells, of z(z-1).. (cells-z)(cells-z-1).. / cells(cells-1)..,
 * with k0 factors, k1 and k0 + k1. 0 when they do not fit.
 */
UMBEL_API double umbel_generalized_distinct_bound(uint64_t cells,
                                                  uint32_t reset, uint32_t set);

/* The least space for two bounds, and what another way would need. */
typedef struct umbel_bounds_plan {
    uint32_t reset, set;
    double bits_per_key; /* from (24), without rounding */
    double fp_bound;     /* (19) of these, at most what was asked */
    double fn_bound;     /* (24) of these */
    uint32_t plain_hashes;
    double plain_bits_per_key; /* a plain filter that is refused when more than
                                  UMBEL_PLAIN_FILL of its bits are set has
                                  this fp bound, and forgets nothing */
} umbel_bounds_plan;

/* Six standard deviations above a half, for honest filters of 8,192 bits. */
#define UMBEL_PLAIN_FILL 0.52

/*
 * The (k0, k1) of at most 32 each that need the fewest bits a key so that
 * neither bound is passed. E_RANGE when a bound is not between 0 and 1, or no
 * number of functions reaches it.
 */
UMBEL_API umbel_status umbel_plan_bounds(double fp_bound, double fn_bound,
                                         umbel_bounds_plan *out,
                                         umbel_error *err);

/* What a generalized filter promises, whatever its bits. */
typedef struct umbel_bounds {
    double fp_bound; /* for keys that its author could not foresee, exact for
                        its addressing */
    double fn_bound; /* of the oldest of the keys it was given, (24) */
} umbel_bounds;
UMBEL_API umbel_status umbel_bounds_of(const umbel_filter *f, umbel_bounds *out,
                                       umbel_error *err);

/*
 * Start from given bits instead: bit i of the filter is bit i % 8 of bits[i /
 * 8]. len is (umbel_cells + 7) / 8; bits past the last cell are left out. The
 * filter forgets its keys.
 */
UMBEL_API umbel_status umbel_start_from(umbel_filter *f, const void *bits,
                                        size_t len, umbel_error *err);

/*
 * In packets: a generalized filter that is nothing but its bits, in memory of
 * the caller's, whatever they hold. Bit i is bit i % 8 of byte i / 8; bits past
 * the last are neither read nor written.
 */
typedef struct umbel_packet umbel_packet;

enum { UMBEL_PACKET_LEAST = 64, UMBEL_PACKET_MOST = 304 };

typedef struct umbel_packet_params {
    size_t size; /* sizeof(umbel_packet_params) */
    uint32_t bits;
    uint32_t reset, set;   /* 1 to 32 each */
    uint64_t seed;         /* on which all who share packets agree */
    const uint8_t *secret; /* UMBEL_SECRET_LEN bytes for hash sip; NULL: xxh3 */
    const umbel_alloc *alloc; /* NULL means the C library's */
} umbel_packet_params;

/* What all packets have in common. Release it with umbel_packet_close. */
UMBEL_API umbel_status umbel_packet_open(const umbel_packet_params *params,
                                         umbel_packet **out, umbel_error *err);
UMBEL_API void umbel_packet_close(umbel_packet *p); /* NULL is fine */
/* Put a key into a packet's bits, (bits + 7) / 8 bytes. */
UMBEL_API void umbel_packet_add(const umbel_packet *p, void *bits,
                                const void *key, size_t len);
/* Whether it seems to be in them. */
UMBEL_API bool umbel_packet_query(const umbel_packet *p, const void *bits,
                                  const void *key, size_t len);

#ifdef __cplusplus
}
#endif
#endif
