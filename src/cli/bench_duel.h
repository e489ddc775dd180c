/*
 * bench_duel.h - two kinds at the same work: cases that are measured against
 * each other, not against the memory.
 */
#ifndef UM_CLI_BENCH_DUEL_H
#define UM_CLI_BENCH_DUEL_H

#include <umbel/base.h>

typedef struct um_duel {
    const char *name;
    const char *other; /* in words: what it is held against */
    bool counts;       /* asks; otherwise it adds */
} um_duel;

/* NULL when i is past the end. */
const um_duel *um_duel_at(size_t i);
/* The i-th size, in different keys; 0: past the end. The last are for --all. */
enum { UM_DUEL_USUAL = 2 };
uint64_t um_duel_size(size_t i);

/* Nanoseconds a key, best of so many rounds. */
typedef struct um_duel_times {
    double ns, other;
} um_duel_times;

umbel_status um_duel_run(const um_duel *duel, uint64_t keys, uint64_t rounds,
                         uint64_t seed, um_duel_times *out, umbel_error *err);

#endif
