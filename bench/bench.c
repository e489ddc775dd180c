/*
 * bench.c - timing, and the limit set by memory.
 *
 * The limit is a loop that no filter can beat: for each random key, a 64-byte
 * line chosen by a multiplication is loaded with two vector loads and folded
 * into a sum (or changed and stored). Filters are reported as multiples of it.
 */
#include "bench/bench.h"

#include "base/bits.h"
#include "base/cpu.h"

#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>

typedef uint64_t vector __attribute__((vector_size(32), aligned(32)));

static double time_chunk(um_bench *b, um_bench_run *run, size_t from)
{
    double start = um_seconds();
    run(b, from, UM_BENCH_CHUNK);
    return um_seconds() - start;
}

/* Resets the shared filter: adding keys that it already contains would write
 * nothing. */
static void begin_pass(um_bench *b)
{
    if (b->renew &&
        (umbel_clear(b->shared, NULL) != UMBEL_OK ||
         umbel_merge(b->shared, b->filter, UMBEL_OR, NULL) != UMBEL_OK))
        abort(); /* cannot fail: filters of one shape, in our own memory */
}

/* Times all chunks. A pass covers all keys, so that caches behave as in real
 * work. */
double um_bench_time(um_bench *b, um_bench_run *run)
{
    enum { WORK = 4000000, LEAST = 5, MAX_CHUNKS = 128 };
    size_t chunks = b->nkeys / UM_BENCH_CHUNK;
    size_t passes = WORK / b->nkeys > LEAST ? WORK / b->nkeys : LEAST;
    double best[MAX_CHUNKS], sum = 0;

    for (size_t c = 0; c < chunks; c++)
        best[c] = INFINITY;
    for (size_t p = 0; p < passes; p++) {
        begin_pass(b);
        for (size_t c = 0; c < chunks; c++) {
            double t = time_chunk(b, run, c * UM_BENCH_CHUNK);
            best[c] = t < best[c] ? t : best[c];
        }
    }
    for (size_t c = 0; c < chunks; c++)
        sum += best[c];
    return sum / (double)b->nkeys * 1e9;
}

static inline vector *line_of(const um_bench *b, uint64_t key)
{
    uint64_t line = um_scale(key * UINT64_C(0x9E3779B97F4A7C15), b->lines);
    return (vector *)(void *)(b->memory + line * 64);
}

#ifdef __x86_64__
#define VECTORS __attribute__((target("avx2")))
#else
#define VECTORS
#endif

VECTORS static void read_lines(um_bench *b, size_t from, size_t n)
{
    vector sum = {0};

    for (size_t i = from; i < from + n; i++) {
        if (b->ahead)
            __builtin_prefetch(line_of(b, b->keys[i + b->ahead]));
        const vector *line = line_of(b, b->keys[i]);
        sum ^= line[0] ^ line[1];
    }
    b->sink ^= sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
}

VECTORS static void write_lines(um_bench *b, size_t from, size_t n)
{
    const vector change = {5, 5, 5, 5};

    for (size_t i = from; i < from + n; i++) {
        if (b->ahead)
            __builtin_prefetch(line_of(b, b->keys[i + b->ahead]));
        vector *line = line_of(b, b->keys[i]);
        line[0] ^= change;
        line[1] ^= change;
    }
}

/* Does the same as read_lines, for one of two threads. */
VECTORS static void read_part(void *bench, size_t from, size_t n)
{
    um_bench *b = bench;
    vector sum = {0};

    for (size_t i = from; i < from + n; i++) {
        const vector *line = line_of(b, b->keys[i]);
        sum ^= line[0] ^ line[1];
    }
    __atomic_fetch_xor(&b->sink, sum[0] ^ sum[1] ^ sum[2] ^ sum[3],
                       __ATOMIC_RELAXED);
}

static void change_part(void *bench, size_t from, size_t n)
{
    um_bench *b = bench;

    for (size_t i = from; i < from + n; i++) {
        uint64_t *word = (uint64_t *)(void *)line_of(b, b->keys[i]);
        __atomic_fetch_or(word, b->keys[i], __ATOMIC_RELAXED);
    }
}

static void share_out(um_bench *b, um_pair_work *work, size_t from, size_t n)
{
    if (b->pair)
        um_pair_run(b->pair, work, b, from, n);
    else
        work(b, from, n);
}

static void read_shared(um_bench *b, size_t from, size_t n)
{
    share_out(b, read_part, from, n);
}

static void change_shared(um_bench *b, size_t from, size_t n)
{
    share_out(b, change_part, from, n);
}

double um_bench_raw_shared(um_bench *b, bool writes)
{
    return um_bench_time(b, writes ? change_shared : read_shared);
}

static double best_distance(um_bench *b, um_bench_run *run)
{
    static const size_t distances[] = {0, 16, 32, 64, 128};
    double best = 0;

    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        b->ahead = distances[i];
        double t = um_bench_time(b, run);
        if (i == 0 || t < best)
            best = t;
    }
    return best;
}

double um_bench_raw_read(um_bench *b)
{
    return best_distance(b, read_lines);
}

double um_bench_raw_write(um_bench *b)
{
    return best_distance(b, write_lines);
}
