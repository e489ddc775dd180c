/*
 * generalized.h - the generalized Bloom filter: bounds, equations, packets.
 *
 * Experimental: this header may change in any release.
 *
 * Kind "generalized" has the settings reset (k0, default 2) and set (k1,
 * default 2), the numbers of hash functions that clear a cell and that set one,
 * and start, the share of ones before the first key in billionths (default 0).
 * Cells of a key are distinct, unless the setting collide is 1 (addressings
 * classic and universal): then they may coincide, as in the paper, where a key
 * whose cells coincide never matches. Whatever the bits are, a key that their
 * author could not predict matches with bounded probability. The price is that
 * old keys are forgotten as new ones are added. Laufer, Velloso, Duarte, "A
 * generalized Bloom filter to secure distributed network applications", 2011.
 */
#ifndef UMBEL_EXPERIMENTAL_GENERALIZED_H
#define UMBEL_EXPERIMENTAL_GENERALIZED_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the equations of the paper ------------------------------------------- */

/*
 * The arguments of the equations. The hash functions of a key may coincide. All
 * functions return NAN for arguments that do not describe a filter.
 */
typedef struct umbel_generalized {
    double bits;         /* m */
    uint32_t reset, set; /* k0, k1 */
    double zeros;        /* p_0: share of zeros before the first key */
    double keys;         /* n */
} umbel_generalized;

/* Returns the share of zeros after all keys, (7). */
UMBEL_API double umbel_generalized_zeros(const umbel_generalized *g);
/* Returns the false positive rate, (16). */
UMBEL_API double umbel_generalized_fp(const umbel_generalized *g);
/*
 * Returns the probability that the key added at this position (1 to keys; 0: a
 * key before the first) no longer matches, (11) with exponents k0 and k1.
 */
UMBEL_API double umbel_generalized_fn_at(const umbel_generalized *g,
                                         double position);
/* Returns the false negative rate, the mean of umbel_generalized_fn_at over all
 * keys, (12). */
UMBEL_API double umbel_generalized_fn(const umbel_generalized *g);
/* Returns F_p, the maximum false positive rate for any content, (19). */
UMBEL_API double umbel_generalized_fp_bound(uint32_t reset, uint32_t set);
/* Returns F_n, the bound on false negatives, from the bits per key, (24). */
UMBEL_API double umbel_generalized_fn_bound(uint32_t reset, uint32_t set,
                                            double bits_per_key);
/*
 * Returns F_p if the cells of a key are distinct: the maximum, over numbers z
 * of zeros among the cells, of z(z-1).. (cells-z)(cells-z-1).. /
 * cells(cells-1).., with k0, k1 and k0 + k1 factors. 0 if there are fewer cells
 * than k0 + k1.
 */
UMBEL_API double umbel_generalized_distinct_bound(uint64_t cells,
                                                  uint32_t reset, uint32_t set);

/* --- bounds of filters ---------------------------------------------------- */

/* The smallest filter that keeps two bounds, and a plain filter for
 * comparison. */
typedef struct umbel_bounds_plan {
    uint32_t reset, set;
    double bits_per_key; /* from (24), not rounded */
    double fp_bound;     /* (19) of these, at most the bound requested */
    double fn_bound;     /* (24) of these */
    uint32_t plain_hashes;
    double plain_bits_per_key; /* of a plain filter with the same fp_bound,
                                  achieved by refusing it when more than
                                  UMBEL_PLAIN_FILL of its bits are set; it never
                                  forgets a key */
} umbel_bounds_plan;

/* Six standard deviations above one half, for honest filters of 8,192 bits. */
#define UMBEL_PLAIN_FILL 0.52

/*
 * Finds the k0 and k1, at most 32 each, that need the fewest bits per key to
 * keep both bounds. E_RANGE when a bound is not between 0 and 1, or cannot be
 * reached.
 */
UMBEL_API umbel_status umbel_plan_bounds(double fp_bound, double fn_bound,
                                         umbel_bounds_plan *out,
                                         umbel_error *err);

/* What a generalized filter guarantees, whatever its bits are. */
typedef struct umbel_bounds {
    double fp_bound; /* for keys that its author could not predict; exact for
                        its addressing */
    double fn_bound; /* for the oldest of its keys, (24) */
} umbel_bounds;

/* Computes the bounds of f. E_UNSUPPORTED for other kinds. */
UMBEL_API umbel_status umbel_bounds_of(const umbel_filter *f, umbel_bounds *out,
                                       umbel_error *err);

/*
 * Replaces the cells of f by the given bits and resets its number of keys: cell
 * i is bit i % 8 of bits[i / 8]. len is (umbel_cells + 7) / 8; bits past the
 * last cell are ignored.
 */
UMBEL_API umbel_status umbel_set_cells(umbel_filter *f, const void *bits,
                                       size_t len, umbel_error *err);

/* --- packets -------------------------------------------------------------- */

/*
 * A generalized filter that consists only of its bits, in the caller's memory,
 * for packet headers. Bit i is bit i % 8 of byte i / 8; bits past the last are
 * neither read nor written. Any content is valid.
 */
typedef struct umbel_packet umbel_packet;

enum { UMBEL_PACKET_MIN = 64, UMBEL_PACKET_MAX = 304 }; /* bits */

typedef struct umbel_packet_params {
    size_t size; /* sizeof(umbel_packet_params): lets it grow */
    uint32_t bits;
    uint32_t reset, set; /* reset 0 to 32, set 1 to 32 */
    uint64_t seed;       /* must be the same for everyone that shares packets */
    const uint8_t
        *secret; /* UMBEL_SECRET_LEN bytes for hash sip; NULL: xxh3-64 */
    const umbel_alloc *alloc; /* NULL means the C library's */
    bool collide; /* cells of a key may coincide, as in the paper; such a key
                     never matches */
} umbel_packet_params;

/* Creates the parameters that all packets share. Release them with
 * umbel_packet_close. */
UMBEL_API umbel_status umbel_packet_open(const umbel_packet_params *params,
                                         umbel_packet **out, umbel_error *err);
/* Frees the parameters. NULL is accepted. */
UMBEL_API void umbel_packet_close(umbel_packet *p);
/*
 * Adds a key to a packet's bits, (bits + 7) / 8 bytes. Returns true if it
 * changed them. With reset 0 this detects loops: if a router's key changes
 * nothing, the packet passed it before, or other routers set its cells (Icarus,
 * survey 7.1).
 */
UMBEL_API bool umbel_packet_add(const umbel_packet *p, void *bits,
                                const void *key, size_t len);
/* Returns true if the key matches a packet's bits. */
UMBEL_API bool umbel_packet_query(const umbel_packet *p, const void *bits,
                                  const void *key, size_t len);
/*
 * Returns the number of the key's cells that differ from what adding the key
 * leaves: 0 if it matches. Cells that are set in unknown, which may be NULL,
 * are wildcards and not counted. Accepting a key with a few inverted cells
 * lowers the false negative rate and raises the false positive rate (2011,
 * footnote 1).
 */
UMBEL_API uint32_t umbel_packet_inverted(const umbel_packet *p,
                                         const void *bits, const void *unknown,
                                         const void *key, size_t len);
/*
 * Sets the key's cells in unknown, which has as many bits as a packet: there,
 * this key may have overwritten keys that were added before it. Tracing a path
 * back treats the cells of the routers already found as wildcards.
 */
UMBEL_API void umbel_packet_cover(const umbel_packet *p, void *unknown,
                                  const void *key, size_t len);

#ifdef __cplusplus
}
#endif
#endif
