/*
 * bench.h - time per key of many keys, on noisy machines.
 *
 * Keys come in chunks; every chunk is timed several times, and its best time
 * counts. Ratios within one run are what can be trusted.
 */
#ifndef UM_BENCH_BENCH_H
#define UM_BENCH_BENCH_H

#include "bench/pair.h"

#include <umbel/umbel.h>

#define UM_BENCH_FPR 0.01

enum { UM_BENCH_CHUNK = 50000, UM_BENCH_SPARE = 256, UM_BENCH_STRING = 16 };

/* What the cases work on: a filter of n keys at 1 % error, and other keys. */
typedef struct um_bench {
    umbel_filter *filter;
    umbel_filter *shared; /* its keys in a shared filter */
    umbel_filter
        *other;    /* ... in one of the subject it stands beside; or NULL */
    um_pair *pair; /* NULL while a case needs no second thread */
    bool renew;    /* before every pass the shared filter forgets what it got */
    size_t nkeys;  /* a multiple of the chunk */
    uint64_t *keys;  /* random, UM_BENCH_SPARE more than nkeys */
    uint64_t *mixed; /* half of them in the filter, half not; as many */
    char *strings;   /* the same keys as text of 16 digits, or NULL */
    bool *hit;       /* a chunk of answers */
    uint8_t *memory; /* as large as the filter's cells, for the limit */
    size_t lines;    /* of 64 bytes */
    size_t ahead;    /* how far the limit's loops fetch */
    uint64_t sink;   /* so that nothing is optimised away */
} um_bench;

/* Serve keys from .. from + n - 1. */
typedef void um_bench_run(um_bench *b, size_t from, size_t n);

/* Nanoseconds a key. */
double um_bench_time(um_bench *b, um_bench_run *run);

/*
 * The limit: random lines of 64 bytes read whole, or read and written back,
 * with the best of several distances to fetch ahead.
 */
double um_bench_raw_read(um_bench *b);
double um_bench_raw_write(um_bench *b);

/*
 * What threads can gain at most: random lines of one memory, read, or changed
 * by one atomic operation each; by two threads if there is a pair.
 */
double um_bench_raw_shared(um_bench *b, bool writes);

/* A static filter of n random keys. */
umbel_status um_bench_build(const char *kind, const umbel_params *params,
                            uint64_t n, uint64_t seed, umbel_filter **out,
                            umbel_error *err);

#endif
