/*
 * ribbon_sort.c - keys in the order of their starts, each once.
 *
 * In place, by the bytes of the digest from the highest on (McIlroy, Bostic,
 * McIlroy 1993): digests are evenly spread, so a few passes leave heaps of a
 * few keys. Heaps of the first byte are sorted by threads.
 */
#include "base/pipeline.h"
#include "kinds/ribbon/level.h"

enum { HEAPS = 256, FEW = 40, BYTES = 16, MAX_PIECES = 64 };

/* Byte number at, from the highest of lo to the lowest of hi. */
static inline unsigned byte_of(const um_ribbon_item *x, unsigned at)
{
    uint64_t word = at < 8 ? x->lo : x->hi;
    return (unsigned)(word >> (56 - 8 * (at & 7))) & 0xFF;
}

static inline bool before(const um_ribbon_item *a, const um_ribbon_item *b)
{
    return a->lo != b->lo ? a->lo < b->lo : a->hi < b->hi;
}

static inline bool same(const um_ribbon_item *a, const um_ribbon_item *b)
{
    return a->lo == b->lo && a->hi == b->hi;
}

static void sort_few(um_ribbon_item *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        um_ribbon_item moved = x[i];
        size_t j = i;
        for (; j > 0 && before(&moved, &x[j - 1]); j--)
            x[j] = x[j - 1];
        x[j] = moved;
    }
}

/* Into heaps by a byte; end[b] becomes where heap b ends. */
static void deal(um_ribbon_item *x, size_t n, unsigned at, size_t end[HEAPS])
{
    size_t next[HEAPS], sum = 0, count[HEAPS] = {0};

    for (size_t i = 0; i < n; i++)
        count[byte_of(&x[i], at)]++;
    for (size_t b = 0; b < HEAPS; b++) {
        next[b] = sum;
        sum += count[b];
        end[b] = sum;
    }
    for (size_t b = 0; b < HEAPS; b++)
        while (next[b] < end[b]) {
            um_ribbon_item moved = x[next[b]];
            unsigned to = byte_of(&moved, at);
            while (to != b) {
                um_ribbon_item other = x[next[to]];
                x[next[to]++] = moved;
                moved = other;
                to = byte_of(&moved, at);
            }
            x[next[b]++] = moved;
        }
}

/* Depth is bounded by the bytes of a digest. */
static void sort_from(um_ribbon_item *x, size_t n, unsigned at)
{
    size_t end[HEAPS], from = 0;

    if (n <= FEW) {
        sort_few(x, n);
        return;
    }
    if (at == BYTES)
        return; /* all the same */
    deal(x, n, at, end);
    for (size_t b = 0; b < HEAPS; b++) {
        if (end[b] - from > 1)
            sort_from(x + from, end[b] - from, at + 1);
        from = end[b];
    }
}

/* --- heaps for a crew ---------------------------------------------------- */

typedef struct heaps {
    um_ribbon_item *items;
    size_t end[HEAPS];
    size_t next;
} heaps;

static bool consume_heap(void *ctx, void *piece)
{
    heaps *h = ctx;

    *(size_t *)piece = h->next;
    return h->next++ < HEAPS;
}

static void sort_heap(void *ctx, void *piece)
{
    const heaps *h = ctx;
    size_t b = *(const size_t *)piece, from = b ? h->end[b - 1] : 0;

    sort_from(h->items + from, h->end[b] - from, 1);
}

static bool heap_done(void *ctx, void *piece)
{
    (void)ctx;
    (void)piece;
    return true;
}

static void sort_together(um_ribbon_item *items, size_t n, unsigned threads)
{
    size_t number[MAX_PIECES];
    void *pieces[MAX_PIECES];
    heaps h = {.items = items};
    um_pipeline crew = {.threads = threads,
                        .pieces = pieces,
                        .npieces = threads < MAX_PIECES ? threads : MAX_PIECES,
                        .ctx = &h,
                        .fill = consume_heap,
                        .work = sort_heap,
                        .drain = heap_done};

    for (size_t i = 0; i < crew.npieces; i++)
        pieces[i] = &number[i];
    deal(items, n, 0, h.end);
    um_pipeline_run(&crew);
}

void um_ribbon_sort(um_ribbon_item *items, size_t *n, unsigned threads,
                    const um_ribbon_item **clash)
{
    size_t kept = 0;

    *clash = NULL;
    if (threads > 1 && *n > HEAPS)
        sort_together(items, *n, threads);
    else
        sort_from(items, *n, 0);
    for (size_t i = 0; i < *n; i++) {
        if (kept && same(&items[i], &items[kept - 1])) {
            if (items[i].value != items[kept - 1].value && !*clash)
                *clash = &items[kept - 1];
        } else {
            items[kept++] = items[i];
        }
    }
    *n = kept;
}
