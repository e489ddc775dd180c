/*
 * redisbloom.h - RedisBloom's filter (BF.* commands): a chain of sub-filters.
 *
 * When the last link is full, a new one is appended, with its capacity
 * multiplied by the expansion and half its error. A key matches if it matches
 * in any link. Links use the addressing redisbloom.
 *
 * A dump (BF.SCANDUMP) is a header and the bits of the links:
 *
 *     0  u64 items  u32 links  u32 options  u32 expansion
 *    20  for each link, 53 bytes: u64 bytes  u64 bits  u64 items  f64 error
 *        f64 bits per item  u32 hashes  u64 capacity  u8 log2 of bits, or 0
 *
 * all little-endian, without gaps.
 */
#ifndef UM_OPS_REDISBLOOM_H
#define UM_OPS_REDISBLOOM_H

#include "base/bytes.h"

#include <umbel/base.h>

enum {
    UM_BF_HEAD = 20,        /* bytes of a header before its links */
    UM_BF_LINK = 53,        /* bytes of a link in it */
    UM_BF_CHUNK = 16 << 20, /* maximum bytes of bits in a chunk of a dump */
    UM_BF_MAX_LINKS = 4096, /* a query visits them all; growing halves the
                               error, which is possible 1,074 times */
    UM_BF_MAX_HASHES = 1100 /* the smallest double that is an error needs
                               1,075 */
};

/* Options; all others are refused. */
enum {
    UM_BF_NOT_ROUNDED = 1, /* the number of bits is not a power of two */
    UM_BF_ENTRIES_ARE_BITS = 2,
    UM_BF_HASH64 = 4,
    UM_BF_FIXED = 8, /* does not grow */
    UM_BF_OPTIONS = 15
};

typedef struct um_bf_link {
    uint8_t *bits; /* NULL: sized, but not allocated */
    uint64_t bytes, nbits, items, capacity;
    double error, bits_per_item;
    uint32_t hashes;
    uint8_t log2;
} um_bf_link;

typedef struct um_bf {
    um_bf_link *links;
    uint64_t items;
    uint32_t nlinks, cap, options, expansion;
    uint64_t limit; /* maximum bytes of bits in all links */
    umbel_alloc alloc;
} um_bf;

/* Computes the size of a link; allocates nothing. Returns false when no filter
 * has this error, or the number of bits overflows. */
bool um_bf_plan(um_bf_link *link, uint64_t capacity, double error);

/* Arguments of BF.RESERVE. */
typedef struct um_bf_params {
    uint64_t capacity;
    double error;
    uint32_t expansion;
    bool fixed; /* does not grow; otherwise the first link gets half of the
                   error */
} um_bf_params;

/* Opens an empty filter. E_LIMIT if its bits exceed the limit, in bytes. */
umbel_status um_bf_open(const um_bf_params *p, uint64_t limit,
                        const umbel_alloc *alloc, um_bf **out,
                        umbel_error *err);
void um_bf_close(um_bf *b);
/* Creates a copy. */
umbel_status um_bf_copy(const um_bf *b, um_bf **out, umbel_error *err);

/*
 * Adds keys in order; fresh[i] becomes true if key i was new. *done is n, or
 * the number of keys before the one that failed: E_FULL when the filter is full
 * and does not grow, E_LIMIT or E_NOMEM when it cannot grow.
 */
umbel_status um_bf_add(um_bf *b, const umbel_slice *keys, size_t n, bool *fresh,
                       size_t *done, umbel_error *err);
/* Returns true if a key with this digest (base/hash.h) matches. */
bool um_bf_has(const um_bf *b, umbel_digest d);
void um_bf_query(const um_bf *b, const umbel_slice *keys, size_t n, bool *hit);

/*
 * Adds the keys of another filter: each link of from is merged into a link of
 * the same size that already contains its keys or has space for its items;
 * otherwise it is appended. E_FULL for a filter that does not grow. After a
 * failure some links may have been merged, so merge into a copy.
 */
umbel_status um_bf_merge(um_bf *into, const um_bf *from, umbel_error *err);

/* Return totals over the links; size is what BF.INFO calls Size. */
uint64_t um_bf_capacity(const um_bf *b);
uint64_t um_bf_bytes(const um_bf *b);
uint64_t um_bf_size(const um_bf *b);
/* Returns the memory used by b. */
size_t um_bf_memory(const um_bf *b);

size_t um_bf_header_len(const um_bf *b);
/* Writes um_bf_header_len bytes. */
void um_bf_append_header(const um_bf *b, uint8_t *out);
/*
 * Creates a filter from a header, which may come from anyone. With bits false,
 * allocates no bits; that is for reading its sizes.
 */
umbel_status um_bf_from_header(const void *bytes, size_t len, uint64_t limit,
                               bool bits, const umbel_alloc *alloc, um_bf **out,
                               umbel_error *err);
/* Computes the length of a header from its first UM_BF_HEAD bytes. */
umbel_status um_bf_header_says(const uint8_t *bytes, size_t len, uint64_t *out,
                               umbel_error *err);

/* Steps of loading, in this order: create an empty chain, reserve its links,
 * check and allocate each link, append it, then check the whole chain. */
umbel_status um_bf_blank(uint64_t limit, const umbel_alloc *alloc, um_bf **out,
                         umbel_error *err);
umbel_status um_bf_hold(um_bf *b, uint32_t nlinks, umbel_error *err);
/* Returns false if the numbers of a link contradict each other. */
bool um_bf_link_fits(const um_bf_link *l);
umbel_status um_bf_check_limit(const um_bf *b, const um_bf_link *link,
                               umbel_error *err);
/* Allocates the bits of a link, within the limit. */
umbel_status um_bf_link_bits(const um_bf *b, um_bf_link *link,
                             umbel_error *err);
umbel_status um_bf_append(um_bf *b, const um_bf_link *link, umbel_error *err);
/* Refuses unknown options, and items that do not add up. */
umbel_status um_bf_check(const um_bf *b, umbel_error *err);

/*
 * Returns the chunk of bits at an offset into all bits: to the end of its link,
 * at most UM_BF_CHUNK; an empty slice past the end.
 */
umbel_slice um_bf_chunk(const um_bf *b, uint64_t offset);
/* Overwrites bits at an offset, within one link. E_RANGE: the offset is in no
 * link. E_LIMIT: the chunk is longer than the rest of its link. */
umbel_status um_bf_load(um_bf *b, uint64_t offset, const void *bytes,
                        size_t len, umbel_error *err);

#endif
