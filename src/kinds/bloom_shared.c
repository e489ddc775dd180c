/*
 * bloom_shared.c - bloom for threads that add and ask together.
 *
 * Bits are only ever turned on, so nothing needs an order: adds are relaxed
 * fetch-ors of 64-bit words, queries relaxed loads. A word is loaded first and
 * written only when a bit is missing; most adds to a filter in use change
 * little, and lines that nobody writes stay in the caches of all cores.
 *
 * A word is little-endian, as in the file: its bits are those of bits.h.
 */
#include "kinds/bloom.h"

enum {
    BATCH = 512,   /* positions that are made at a time */
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

/* Tells whether this call turned on a bit: no other thread hears of it. */
static bool turn_on(uint64_t *word, uint64_t mask)
{
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) == mask)
        return false;
    return ~__atomic_fetch_or(word, mask, __ATOMIC_RELAXED) & mask;
}

/* Neighbours in pos that share a word are set at once. */
static bool set_all(const um_bloom *b, const uint64_t *pos)
{
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
 * Where a key that is not in meets its first clear cell nobody can predict, so
 * several are looked at before there is a branch.
 */
static bool all_set(const um_bloom *b, const uint64_t *pos)
{
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

/* Positions of the next few of left digests; tells how many those are. */
static size_t locate(const um_bloom *b, const umbel_digest *d, size_t left,
                     uint64_t pos[BATCH])
{
    size_t room = BATCH / b->layout->hashes;
    size_t n = left < room ? left : room;

    b->layout->row->positions(b->layout, d, n, pos);
    if (b->layout->cells > FAR)
        fetch(b, pos, n * b->layout->hashes);
    return n;
}

size_t um_bloom_add_shared(void *self, const umbel_digest *d, size_t n,
                           bool *fresh)
{
    const um_bloom *b = self;
    uint64_t pos[BATCH];
    size_t added = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = locate(b, d + done, n - done, pos);
        for (size_t i = 0; i < some; i++) {
            bool new_key = set_all(b, pos + i * b->layout->hashes);
            added += new_key;
            if (fresh)
                fresh[done + i] = new_key;
        }
    }
    return added;
}

void um_bloom_query_shared(const void *self, const umbel_digest *d, size_t n,
                           bool *hit)
{
    const um_bloom *b = self;
    uint64_t pos[BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        some = locate(b, d + done, n - done, pos);
        for (size_t i = 0; i < some; i++)
            hit[done + i] = all_set(b, pos + i * b->layout->hashes);
    }
}
