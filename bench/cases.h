/*
 * cases.h - the cases that umbel bench can measure.
 */
#ifndef UM_BENCH_CASES_H
#define UM_BENCH_CASES_H

#include "bench/bench.h"

#include <umbel/base.h>
#include <umbel/umbel.h>

/* The best times, in nanoseconds per key; INFINITY if not measured. */
typedef struct um_times {
    double ns;        /* of the case */
    double limit;     /* of memory, or of the closest thing to a limit */
    double one;       /* of one thread, for cases with two */
    double lines[2];  /* the same for memory alone: one thread, two threads */
    double plain;     /* of the plain filter to compare with */
    double rival;     /* of another kind doing the same work */
    const char *path; /* umbel_fast_path, or NULL */
} um_times;

/* The filter that cases work on; cases of one subject share it. */
typedef struct um_bench_subject um_bench_subject;
struct um_bench_subject {
    const char *kind, *addressing;
    umbel_setting set[2]; /* entries with a NULL name are unused */
    bool shares;          /* has cases with a shared copy */
    /* A subject to compare with, given as many cells; or NULL. */
    const um_bench_subject *beside;
};

/* Measures a case in its own way. Replaces times in *best only by smaller
 * ones. */
typedef umbel_status um_bench_alone(uint64_t keys, uint64_t rounds,
                                    uint64_t seed, um_times *best,
                                    umbel_error *err);

enum { UM_BENCH_SIZES = 3 };

/*
 * The bar of a case, at 10^4 and at 10^6 keys: at most this many times the
 * limit, and two threads at least this many times as fast as one. 0 means no
 * bar.
 */
typedef struct um_bench_bar {
    double times_limit[2];
    double times_one;
} um_bench_bar;

/* A case, named SUBJECT-VERB-MODE. Cases of a subject are adjacent. */
typedef struct um_bench_case {
    const char *name;
    const um_bench_subject *subject;
    um_bench_run *run;
    bool writes;       /* its limit is reading and writing */
    um_bench_run *one; /* the same work with one thread, for cases with two */

    um_bench_alone *alone;          /* used instead of all that */
    const char *rival;              /* what it is compared with, or NULL */
    uint64_t sizes[UM_BENCH_SIZES]; /* in keys; 0 ends the list */
    um_bench_bar bar;
} um_bench_case;

extern const um_bench_case um_bench_cases[];
extern const size_t um_bench_ncases;

/* Returns true if the case has a bar. */
bool um_bench_has_bar(const um_bench_case *c);
/* Returns how many times the limit it may take with n keys; 0 if there is no
 * bar. */
double um_bench_bar_at(const um_bench_case *c, uint64_t n);

/* Creates a filter of n keys of that subject, and keys for it; um_bench_fini
 * accepts a half-built one. */
umbel_status um_bench_init(um_bench *b, const um_bench_subject *subject,
                           uint64_t n, uint64_t seed, umbel_error *err);
void um_bench_fini(um_bench *b);

um_bench_alone um_bench_tally_adds, um_bench_tally_counts; /* duel.c */
um_bench_alone um_bench_fill_batch, um_bench_fill_batch_two,
    um_bench_fill_single, um_bench_fill_single_two; /* fill.c */
um_bench_alone um_bench_ribbon_builds;              /* build.c */

#endif
