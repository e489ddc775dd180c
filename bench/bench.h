/*
 * bench.h - measures the time per key, on noisy machines.
 *
 * Keys come in chunks; every chunk is timed several times, and its best time
 * counts. Only ratios within one run are reliable.
 */
#ifndef UM_BENCH_BENCH_H
#define UM_BENCH_BENCH_H

#include "bench/pair.h"

#include <umbel/umbel.h>

#define UM_BENCH_FPR 0.01

enum { UM_BENCH_CHUNK = 50000, UM_BENCH_SPARE = 256, UM_BENCH_STRING = 16 };

/* What the cases work on: a filter of n keys with 1 % error, and other keys. */
typedef struct um_bench {
    umbel_filter *filter;
    umbel_filter *shared; /* a shared filter with the same keys */
    umbel_filter *other;  /* the same keys in the filter to compare with */
    um_pair *pair;        /* NULL if the case needs no second thread */
    bool renew;           /* reset the shared filter before every pass */
    size_t nkeys;         /* a multiple of the chunk */
    uint64_t *keys;       /* random, UM_BENCH_SPARE more than nkeys */
    uint64_t *mixed;      /* half of them members, half not; as many as keys */
    char *strings;        /* the same keys as text of 16 digits, or NULL */
    bool *hit;            /* answers of one chunk */
    uint8_t *memory;      /* as large as the filter's cells, for the limit */
    size_t lines;         /* of 64 bytes */
    size_t ahead;         /* prefetch distance of the limit's loops */
    uint64_t sink;        /* prevents the compiler from removing loops */
} um_bench;

/* Processes keys from .. from + n - 1. */
typedef void um_bench_run(um_bench *b, size_t from, size_t n);

/* Returns nanoseconds per key. */
double um_bench_time(um_bench *b, um_bench_run *run);

/*
 * Measures the limit: random 64-byte lines read completely, or read and written
 * back, with the best of several prefetch distances.
 */
double um_bench_raw_read(um_bench *b);
double um_bench_raw_write(um_bench *b);

/*
 * Measures the most that threads can gain: random lines of one memory, read, or
 * changed by one atomic operation each; by two threads if there is a pair.
 */
double um_bench_raw_shared(um_bench *b, bool writes);

/* Builds a static filter of n random keys. */
umbel_status um_bench_build(const char *kind, const umbel_params *params,
                            uint64_t n, uint64_t seed, umbel_filter **out,
                            umbel_error *err);

#endif
