/*
 * bloom_shared.c - bloom for threads that add and ask together.
 *
 * Bits are only ever turned on, so nothing needs an order: adds are relaxed
 * fetch-ors of 64-bit words, queries relaxed loads. A word is loaded first and
 * written only when a bit is missing; most adds to a filter in use change
 * little, and lines that are not written stay in the caches of all cores.
 *
 * A word is little-endian, as in the file: its bits are those of bits.h.
 */
#include "base/error.h"
#include "kinds/blocked/each.h"
#include "kinds/bloom/bloom.h"

enum {
    LINE = 512,    /* cells of a cache line */
    FAR = 1 << 21, /* cells past which memory is worth fetching ahead */
    WORD = 64,     /* cells of a word */
    AT_ONCE = 8    /* cells of a key that are asked without a branch */
};

/* The payload is aligned to 64 bytes, and its room is a multiple of that. */
static uint64_t *word_of(const um_bloom *b, uint64_t cell)
{
    return (uint64_t *)(void *)b->bits + cell / WORD;
}

static uint64_t mask_of(uint64_t cell)
{
    return um_le64((uint64_t)1 << cell % WORD);
}

/* Returns true if this call turned on a bit; no other thread gets that. */
static bool turn_on(uint64_t *word, uint64_t mask)
{
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) == mask)
        return false;
    return ~__atomic_fetch_or(word, mask, __ATOMIC_RELAXED) & mask;
}

/* Neighbours in pos that share a word are set at once. */
UM_INLINE bool set_all(void *self, um_each_key key)
{
    const um_bloom *b = self;
    const uint64_t *pos = key.pos;
    uint32_t hashes = b->layout->hashes;
    bool fresh = false;

    for (uint32_t j = 0; j < hashes;) {
        uint64_t *word = word_of(b, pos[j]);
        uint64_t mask = 0;
        for (; j < hashes && word_of(b, pos[j]) == word; j++)
            mask |= mask_of(pos[j]);
        fresh |= turn_on(word, mask);
    }
    return fresh;
}

/*
 * Where a non-member meets its first clear cell cannot be predicted, so several
 * are looked at before there is a branch.
 */
UM_INLINE bool all_set(const void *self, const uint64_t *pos)
{
    const um_bloom *b = self;
    uint32_t hashes = b->layout->hashes;
    uint64_t clear = 0;

    for (uint32_t j = 0; j < hashes && !clear;) {
        uint32_t stop = hashes - j < AT_ONCE ? hashes : j + AT_ONCE;
        for (; j < stop; j++)
            clear |= ~__atomic_load_n(word_of(b, pos[j]), __ATOMIC_RELAXED) &
                     mask_of(pos[j]);
    }
    return !clear;
}

/* Every line once where the cells of a key lie side by side. */
static void fetch(const um_bloom *b, const uint64_t *pos, size_t n)
{
    uint64_t last = UINT64_MAX;

    for (size_t i = 0; i < n; i++)
        if (pos[i] / LINE != last) {
            last = pos[i] / LINE;
            __builtin_prefetch(word_of(b, pos[i]));
        }
}

static void locate(const void *self, const umbel_digest *d, size_t n,
                   uint64_t *pos)
{
    const um_bloom *b = self;

    b->layout->row->positions(b->layout, d, n, pos);
    if (b->layout->cells > FAR)
        fetch(b, pos, n * b->layout->hashes);
}

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    const um_bloom *b = self;

    (void)amounts;
    return um_each_add(self, b->layout, locate, set_all, d, NULL, n, fresh);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    const um_bloom *b = self;
    um_each_query(self, b->layout, locate, all_set, d, n, hit);
}

static umbel_status may_share(const um_shape *s, umbel_error *err)
{
    if (s->setting[UM_BLOOM_GROUPS] > 1)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a bloom filter with groups cannot be shared: where a "
                       "key goes depends on what is there");
    return UMBEL_OK;
}

const um_row_shared um_bloom_shared = {
    .may_share = may_share, .add = add, .query = query};
