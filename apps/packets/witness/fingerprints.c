/*
 * fingerprints.c - the digests of the open slice: a filter that can be listed.
 *
 * A closed slice becomes a static filter, which needs every key again. A Bloom
 * filter cannot list its keys, and keeping the digests beside it costs 8 bytes
 * a packet. So the open slice is a compressed set of fingerprints: numbers
 * below a universe of 8 capacity / fpr, so that at most fpr / 8 of the foreign
 * digests hit one. Sorted, their gaps take about log2(8 e / fpr) bits in a Rice
 * code: 14.5 bits at 0.1 %, where a Bloom filter takes 14.4 and cannot be
 * listed.
 *
 *   universe   | part 0 | part 1 | ...      each for TARGET fingerprints
 *   part       pages of Rice-coded gaps, and a short sorted array of new ones
 *
 * When the array of a part is full, it is merged: the part is decoded, merged
 * and coded again. That decodes TARGET / PENDING numbers for each one added.
 * All parts take pages from one pool, which is allocated when the set is
 * opened; a page is not touched before it is needed.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "packets/witness/witness.h"

#include <math.h>
#include <stdlib.h>

enum {
    TARGET = 4096, /* fingerprints of a part when the set is full */
    PENDING = 64,
    PAGE = 256,
    NO_PAGE = -1
};

typedef struct part {
    int32_t first;  /* page */
    uint32_t pages; /* in its list */
    uint32_t count; /* coded fingerprints */
    uint16_t npending;
    uint8_t shift; /* of its Rice code */
} part;

struct pk_set {
    uint64_t universe, seed, capacity, count;
    uint64_t width; /* of a part, below 2^32 */
    uint32_t nparts;
    uint32_t max; /* fingerprints of a part */
    part *parts;
    uint32_t *pending; /* PENDING for each part, sorted */
    uint8_t *pages;
    int32_t *next; /* the page after each, or the next free one */
    int32_t free;
    uint32_t npages, fresh, in_use; /* pages from fresh on were never used */
    /* Scratch space. Codes are read by words, so 8 bytes follow them. */
    uint32_t *before, *after;
    uint8_t *code;
    size_t code_cap;
};

uint64_t pk_fingerprint(uint64_t digest, uint64_t universe, uint64_t seed)
{
    return um_scale(um_xxh3_8(digest, um_xxh3_flip(seed)), universe);
}

/* --- the code ------------------------------------------------------------- */

/* Chooses the shift of a Rice code: the expected length of a gap is smallest,
 * where the mean gap is given. */
static uint8_t best_shift(double mean)
{
    uint8_t best = 0;
    double least = INFINITY;

    for (uint8_t s = 0; s < 32; s++) {
        double unary = 1 / -expm1(-ldexp(1, s) / (mean + 1));
        if (s + unary < least) {
            least = s + unary;
            best = s;
        }
    }
    return best;
}

/* Writes gaps: the low bits, then a one after as many zeros as the rest.
 * Returns the length in bytes. The code is zeroed first. */
static size_t encode(const uint32_t *v, size_t n, unsigned shift, uint8_t *code,
                     size_t cap)
{
    uint64_t bit = 0, from = 0;
    uint64_t mask = (UINT64_C(1) << shift) - 1;

    memset(code, 0, cap);
    for (size_t i = 0; i < n; i++) {
        uint64_t gap = v[i] - from;
        if (shift)
            um_set_field(code, bit, shift, mask, gap & mask);
        bit += shift + (gap >> shift);
        um_set_bit(code, bit++);
        from = (uint64_t)v[i] + 1;
    }
    return (size_t)((bit + 7) / 8);
}

/* Returns 57 bits or more of the code, from a bit on. */
static inline uint64_t peek(const uint8_t *code, uint64_t bit)
{
    return um_load64(code + (bit >> 3)) >> (bit & 7);
}

static void decode(const uint8_t *code, size_t n, unsigned shift, uint32_t *v)
{
    uint64_t bit = 0, from = 0;
    uint64_t mask = (UINT64_C(1) << shift) - 1;

    for (size_t i = 0; i < n; i++) {
        uint64_t low = peek(code, bit) & mask, rest = 0, next;
        bit += shift;
        while (!(next = peek(code, bit))) {
            rest += 56;
            bit += 56;
        }
        unsigned zeros = (unsigned)__builtin_ctzll(next);
        rest += zeros;
        bit += zeros + 1;
        v[i] = (uint32_t)(from + (rest << shift) + low);
        from = (uint64_t)v[i] + 1;
    }
}

/* Returns the most bytes that n fingerprints of a part take. */
static size_t code_limit(uint64_t width, size_t n)
{
    uint8_t shift = best_shift((double)width / (double)(n + 1));
    uint64_t bits = n * (shift + UINT64_C(1)) + (width >> shift);

    return (size_t)(bits / 8 + 16);
}

/* --- pages ---------------------------------------------------------------- */

static void read_pages(const pk_set *s, const part *p, uint8_t *code)
{
    int32_t at = p->first;

    for (uint32_t i = 0; i < p->pages; i++, at = s->next[at])
        memcpy(code + (size_t)i * PAGE, s->pages + (size_t)at * PAGE, PAGE);
    memset(code + (size_t)p->pages * PAGE, 0, 8);
}

static int32_t acquire_page(pk_set *s)
{
    int32_t at = s->free;

    s->in_use++;
    if (at != NO_PAGE) {
        s->free = s->next[at];
        return at;
    }
    return (int32_t)s->fresh++;
}

/* Makes the list of a part as long as its code. A part only grows, but a better
 * shift may save a page. */
static void fit_pages(pk_set *s, part *p, uint32_t pages)
{
    for (; p->pages < pages; p->pages++) {
        int32_t at = acquire_page(s);
        s->next[at] = p->first;
        p->first = at;
    }
    for (; p->pages > pages; p->pages--) {
        int32_t at = p->first;
        p->first = s->next[at];
        s->next[at] = s->free;
        s->free = at;
        s->in_use--;
    }
}

static void write_pages(pk_set *s, const part *p, const uint8_t *code)
{
    int32_t at = p->first;

    for (uint32_t i = 0; i < p->pages; i++, at = s->next[at])
        memcpy(s->pages + (size_t)at * PAGE, code + (size_t)i * PAGE, PAGE);
}

/* --- parts ---------------------------------------------------------------- */

/* Merges two sorted lists without duplicates; returns the length. */
static size_t merge_sorted(const uint32_t *a, size_t na, const uint32_t *b,
                           size_t nb, uint32_t *out)
{
    size_t i = 0, j = 0, n = 0;

    while (i < na && j < nb) {
        uint32_t x = a[i], y = b[j];
        out[n++] = x < y ? x : y;
        i += x <= y;
        j += y <= x;
    }
    memcpy(out + n, a + i, (na - i) * sizeof *out);
    n += na - i;
    memcpy(out + n, b + j, (nb - j) * sizeof *out);
    return n + nb - j;
}

/* Codes the pending fingerprints of a part. Returns false, and changes nothing,
 * if there is no space. */
static bool merge(pk_set *s, part *p, uint32_t *pending)
{
    if (p->count + p->npending > s->max)
        return false;
    read_pages(s, p, s->code);
    decode(s->code, p->count, p->shift, s->before);
    size_t n =
        merge_sorted(s->before, p->count, pending, p->npending, s->after);
    uint8_t shift = best_shift((double)s->width / (double)(n + 1));
    size_t len = encode(s->after, n, shift, s->code, s->code_cap);
    uint32_t pages = (uint32_t)((len + PAGE - 1) / PAGE);
    if (pages > p->pages && pages - p->pages > s->npages - s->in_use)
        return false;
    fit_pages(s, p, pages);
    write_pages(s, p, s->code);
    s->count += n;
    s->count -= p->count + p->npending;
    p->count = (uint32_t)n;
    p->shift = shift;
    p->npending = 0;
    return true;
}

/* Returns the first index at which a sorted list has x or more. */
static size_t lower_bound(const uint32_t *v, size_t n, uint32_t x)
{
    size_t low = 0;

    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (v[mid] < x)
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

bool pk_set_add(pk_set *s, uint64_t digest)
{
    uint64_t fp = pk_fingerprint(digest, s->universe, s->seed);
    uint32_t x = (uint32_t)(fp % s->width);
    part *p = &s->parts[fp / s->width];
    uint32_t *pending = s->pending + (size_t)(p - s->parts) * PENDING;
    size_t at = lower_bound(pending, p->npending, x);

    if (at < p->npending && pending[at] == x)
        return true;
    if (s->count >= s->capacity)
        return false;
    if (p->npending == PENDING) {
        if (!merge(s, p, pending))
            return false;
        at = 0;
    }
    memmove(pending + at + 1, pending + at,
            (p->npending - at) * sizeof *pending);
    pending[at] = x;
    p->npending++;
    s->count++;
    return true;
}

size_t pk_set_read(const pk_set *s, uint32_t i, uint64_t *out)
{
    const part *p = &s->parts[i];

    read_pages(s, p, s->code);
    decode(s->code, p->count, p->shift, s->before);
    size_t n =
        merge_sorted(s->before, p->count, s->pending + (size_t)i * PENDING,
                     p->npending, s->after);
    for (size_t j = 0; j < n; j++)
        out[j] = i * s->width + s->after[j];
    return n;
}

/* --- the set -------------------------------------------------------------- */

/* Chooses parts of TARGET fingerprints, or less if they would be wider than 32
 * bits. */
static void lay_out(pk_set *s, uint64_t capacity, double fpr)
{
    double spread = 8 / fpr, target = TARGET;

    if (target * spread > 0.9 * UINT32_MAX)
        target = floor(0.9 * UINT32_MAX / spread);
    s->capacity = capacity;
    s->nparts = (uint32_t)ceil((double)capacity / target);
    s->width = (uint64_t)ceil((double)capacity * spread / s->nparts);
    s->universe = s->width * s->nparts;
    target = (double)capacity / s->nparts;
    s->max = (uint32_t)(target + 16 * sqrt(target)) + PENDING;
    /* A gap takes 0.1 bits more than the entropy at most, and a part half a
     * page more than its code. */
    double bytes = target * (log2(spread * 2.7182818) + 0.1) / 8;
    s->npages = (uint32_t)(s->nparts * (bytes / PAGE + 0.6)) + 32;
    s->code_cap = code_limit(s->width, s->max) + PAGE + 8;
}

static bool allocate(pk_set *s)
{
    s->parts = calloc(s->nparts, sizeof *s->parts);
    s->pending = malloc((size_t)s->nparts * PENDING * sizeof *s->pending);
    s->pages = malloc((size_t)s->npages * PAGE);
    s->next = malloc(s->npages * sizeof *s->next);
    s->before = malloc((s->max + PENDING) * sizeof *s->before);
    s->after = malloc((s->max + PENDING) * sizeof *s->after);
    s->code = malloc(s->code_cap);
    return s->parts && s->pending && s->pages && s->next && s->before &&
           s->after && s->code;
}

umbel_status pk_set_open(uint64_t capacity, double fpr, pk_set **out,
                         umbel_error *err)
{
    if (capacity < PK_CAPACITY_MIN || capacity > PK_CAPACITY_MAX ||
        !(fpr >= PK_FPR_MIN && fpr <= PK_FPR_MAX))
        return um_fail(err, UMBEL_E_RANGE,
                       "a slice has space for %d to %d packets, and an error "
                       "rate of %g to %g",
                       PK_CAPACITY_MIN, PK_CAPACITY_MAX, PK_FPR_MIN,
                       PK_FPR_MAX);
    pk_set *s = calloc(1, sizeof *s);
    if (!s)
        return um_no_memory(err, sizeof *s);
    lay_out(s, capacity, fpr);
    if (!allocate(s)) {
        pk_set_close(s);
        return um_fail(err, UMBEL_E_NOMEM,
                       "no memory for the digests of a slice: choose a "
                       "smaller --capacity");
    }
    pk_set_clear(s, 0);
    *out = s;
    return UMBEL_OK;
}

void pk_set_close(pk_set *s)
{
    if (!s)
        return;
    free(s->parts);
    free(s->pending);
    free(s->pages);
    free(s->next);
    free(s->before);
    free(s->after);
    free(s->code);
    free(s);
}

void pk_set_clear(pk_set *s, uint64_t seed)
{
    for (uint32_t i = 0; i < s->nparts; i++)
        s->parts[i] = (part){.first = NO_PAGE};
    s->seed = seed;
    s->count = 0;
    s->free = NO_PAGE;
    s->fresh = s->in_use = 0;
}

uint64_t pk_set_count(const pk_set *s)
{
    return s->count;
}

static size_t fixed_memory(const pk_set *s)
{
    return sizeof *s +
           s->nparts * (sizeof *s->parts + PENDING * sizeof *s->pending) +
           2 * pk_set_part_max(s) * sizeof *s->before + s->code_cap;
}

size_t pk_set_memory(const pk_set *s)
{
    return fixed_memory(s) + s->npages * (PAGE + sizeof *s->next);
}

size_t pk_set_used(const pk_set *s)
{
    return fixed_memory(s) + s->in_use * (PAGE + sizeof *s->next);
}

uint32_t pk_set_parts(const pk_set *s)
{
    return s->nparts;
}

size_t pk_set_part_max(const pk_set *s)
{
    return (size_t)s->max + PENDING;
}

uint64_t pk_set_universe(const pk_set *s)
{
    return s->universe;
}
