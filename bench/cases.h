/*
 * cases.h - what umbel bench can measure: one table.
 */
#ifndef UM_BENCH_CASES_H
#define UM_BENCH_CASES_H

#include "bench/bench.h"

#include <umbel/base.h>
#include <umbel/umbel.h>

/* Nanoseconds a key, the best seen; INFINITY: not measured. */
typedef struct um_times {
    double ns;        /* of the case */
    double limit;     /* of the memory, or of what comes nearest to a limit */
    double one;       /* of one thread, for cases of two */
    double lines[2];  /* the same of memory alone: one thread, two */
    double plain;     /* of the plain filter beside it */
    double rival;     /* of another kind at the same work */
    const char *path; /* umbel_fast_path; or NULL */
} um_times;

/* What cases work on; those of one subject share a filter. */
typedef struct um_bench_subject um_bench_subject;
struct um_bench_subject {
    const char *kind, *addressing;
    umbel_setting set[2]; /* those that have a name */
    bool shares;          /* has cases of a shared copy */
    /* Timed beside it, at the same subjects, with as many cells; or NULL. */
    const um_bench_subject *beside;
};

/* Measures by itself; what is there already stays where it is less. */
typedef umbel_status um_bench_alone(uint64_t keys, uint64_t rounds,
                                    uint64_t seed, um_times *best,
                                    umbel_error *err);

enum { UM_BENCH_SIZES = 3 };

/*
 * What a case shall reach, at 10^4 keys and at 10^6: at most that many times
 * the limit, and two threads at least that many times as fast as one. 0: no
 * bar.
 */
typedef struct um_bench_bar {
    double times_limit[2];
    double times_one;
} um_bench_bar;

/* SUBJECT-VERB-MODE. Those of a subject stand together. */
typedef struct um_bench_case {
    const char *name;
    const um_bench_subject *subject;
    um_bench_run *run;
    bool writes;       /* its limit is reading and writing */
    um_bench_run *one; /* what this does with one thread, for two */

    um_bench_alone *alone; /* instead of all that */
    const char *rival;     /* in words: what it is held against; or NULL */
    uint64_t sizes[UM_BENCH_SIZES]; /* in keys; 0: no further ones */
    um_bench_bar bar;
} um_bench_case;

extern const um_bench_case um_bench_cases[];
extern const size_t um_bench_ncases;

/* Returns true if the case has a bar. */
bool um_bench_has_bar(const um_bench_case *c);
/* How many times the limit it may take with n keys; 0: no bar. */
double um_bench_bar_at(const um_bench_case *c, uint64_t n);

/* A filter of n keys of that subject, and keys for it; fini takes what is half
 * made, too. */
umbel_status um_bench_init(um_bench *b, const um_bench_subject *subject,
                           uint64_t n, uint64_t seed, umbel_error *err);
void um_bench_fini(um_bench *b);

um_bench_alone um_bench_tally_adds, um_bench_tally_counts; /* duel.c */
um_bench_alone um_bench_fill_batch, um_bench_fill_batch_two,
    um_bench_fill_single, um_bench_fill_single_two; /* fill.c */
um_bench_alone um_bench_ribbon_builds;              /* build.c */

#endif
