/*
 * main.c - umbel-bench: measures how far filters are from the limit set by
 * memory.
 */
#include "base/error.h"
#include "bench/report.h"
#include "cli/framework/program.h"
#include "cli/framework/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench_args {
    um_list cases;
    bool all, list, bars;
    um_whole rounds, seed;
} bench_args;

/* Modes of the command. */
enum { RUN, LIST };

static const um_option options[] = {
    {"all", 0, NULL, "also measure filters of 100 million keys",
     UM_TARGET(bench_args, all), .modes = UM_MODE(RUN)},
    {"bars", 0, NULL, "measure what has a bar, and say if it is met",
     UM_TARGET(bench_args, bars), .modes = UM_MODE(RUN)},
    {"list", 0, NULL, "print the names of the cases",
     UM_TARGET(bench_args, list)},
    {"rounds", 0, "N", "measure everything N times (default 10)",
     UM_TARGET(bench_args, rounds), .low = 1, .high = 1000,
     .modes = UM_MODE(RUN)},
    {"seed", 0, "S", "seed of the random keys (default 1)",
     UM_TARGET(bench_args, seed), .modes = UM_MODE(RUN)},
    {0}};

/* What to measure. */
typedef struct plan {
    const um_args *args;
    const um_list *cases; /* if empty, all */
    uint64_t rounds, seed;
    bool all;  /* include the largest sizes */
    bool bars; /* only cases that have a bar */
} plan;

static const um_times unknown = {
    INFINITY, INFINITY, INFINITY, {INFINITY, INFINITY},
    INFINITY, INFINITY, NULL};

static bool wanted(const plan *p, const um_bench_case *c)
{
    if (p->bars && !um_bench_has_bar(c))
        return false;
    for (size_t i = 0; i < p->cases->n; i++)
        if (strcmp(p->cases->item[i], c->name) == 0)
            return true;
    return p->cases->n == 0;
}

static void retain_best(double *best, double t)
{
    *best = t < *best ? t : *best;
}

/* --- cases of a subject --------------------------------------------------- */

/* Does the same with the other filter in its place. */
static double time_other(um_bench *b, um_bench_run *run)
{
    umbel_filter *own = b->filter;

    b->filter = b->other;
    double ns = um_bench_time(b, run);
    b->filter = own;
    return ns;
}

static umbel_status time_case(um_bench *b, const um_bench_case *c,
                              um_times *best, umbel_error *err)
{
    b->renew = false;
    if (c->one) {
        retain_best(&best->lines[0], um_bench_raw_shared(b, c->writes));
        b->pair = um_pair_open();
        if (!b->pair)
            return um_fail(err, UMBEL_E_NOMEM, "no second thread to be had");
        retain_best(&best->lines[1], um_bench_raw_shared(b, c->writes));
    }
    b->renew = c->writes && b->shared;
    if (c->one)
        retain_best(&best->one, um_bench_time(b, c->one));
    retain_best(&best->ns, um_bench_time(b, c->run));
    if (b->other)
        retain_best(&best->plain, time_other(b, c->run));
    um_pair_close(b->pair);
    b->pair = NULL;
    return UMBEL_OK;
}

/* The cases of one subject, and their times. */
typedef struct group {
    const um_bench_case *cases;
    um_times *best;
    size_t n;
} group;

/*
 * Runs rounds, each with the limit and all cases: other users of the machine
 * disturb a round, but seldom the same part of all of them.
 */
static umbel_status time_group(um_bench *b, const group *g, bool writes,
                               const plan *p, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    double limit = INFINITY;

    for (uint64_t i = 0; i < p->rounds; i++) {
        retain_best(&limit,
                    writes ? um_bench_raw_write(b) : um_bench_raw_read(b));
        for (size_t j = 0; status == UMBEL_OK && j < g->n; j++)
            if (g->cases[j].writes == writes && wanted(p, &g->cases[j]))
                status = time_case(b, &g->cases[j], &g->best[j], err);
    }
    for (size_t j = 0; j < g->n; j++)
        if (g->cases[j].writes == writes)
            g->best[j].limit = limit;
    return status;
}

/* Runs all cases of one subject at one size; adds come last, because they
 * change the filter. */
static umbel_status run_group(const plan *p, const group *g, uint64_t n,
                              umbel_error *err)
{
    um_bench b;
    umbel_status status = um_bench_init(&b, g->cases->subject, n, p->seed, err);

    for (size_t i = 0; i < g->n; i++)
        g->best[i] = unknown;
    if (status == UMBEL_OK)
        status = time_group(&b, g, false, p, err);
    if (status == UMBEL_OK)
        status = time_group(&b, g, true, p, err);
    for (size_t i = 0; status == UMBEL_OK && i < g->n; i++)
        if (wanted(p, &g->cases[i])) {
            g->best[i].path = umbel_fast_path(b.filter);
            um_bench_report(p->args, &g->cases[i], n, &g->best[i], p->seed);
        }
    um_bench_fini(&b);
    return status;
}

/* Returns the number of cases from here on that have the same subject; *any is
 * true if one of them is wanted. */
static size_t together(const plan *p, size_t from, bool *any)
{
    const um_bench_case *c = &um_bench_cases[from];
    size_t n = 0;

    *any = false;
    for (; from + n < um_bench_ncases && c[n].subject == c->subject; n++)
        *any |= wanted(p, &c[n]);
    return n;
}

static umbel_status run_subjects(const plan *p, umbel_error *err)
{
    static const uint64_t sizes[] = {10000, 1000000, 100000000};
    um_times *best = calloc(um_bench_ncases, sizeof *best);
    umbel_status status = UMBEL_OK;

    if (!best)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the times");
    for (size_t s = 0; s < (p->all ? 3 : 2); s++)
        for (size_t i = 0, n; status == UMBEL_OK && i < um_bench_ncases;
             i += n) {
            bool any;
            n = together(p, i, &any);
            group g = {&um_bench_cases[i], best, n};
            if (any && g.cases->subject)
                status = run_group(p, &g, sizes[s], err);
        }
    free(best);
    return status;
}

/* --- cases that measure themselves ---------------------------------------- */

static umbel_status run_alone(const plan *p, const um_bench_case *c,
                              umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && i < UM_BENCH_SIZES; i++) {
        um_times best = unknown;
        if (c->sizes[i] == 0 || (i == UM_BENCH_SIZES - 1 && !p->all))
            break;
        status = c->alone(c->sizes[i], p->rounds, p->seed, &best, err);
        if (status == UMBEL_OK)
            um_bench_report(p->args, c, c->sizes[i], &best, p->seed);
    }
    return status;
}

static umbel_status run_cases(const plan *p, umbel_error *err)
{
    umbel_status status = run_subjects(p, err);

    for (size_t i = 0; status == UMBEL_OK && i < um_bench_ncases; i++)
        if (um_bench_cases[i].alone && wanted(p, &um_bench_cases[i]))
            status = run_alone(p, &um_bench_cases[i], err);
    return status;
}

/* --- the command ---------------------------------------------------------- */

static int list_cases(const um_args *args)
{
    for (size_t i = 0; i < um_bench_ncases; i++) {
        um_report r = {0};
        if (!args->common.json) {
            puts(um_bench_cases[i].name);
            continue;
        }
        um_report_text(&r, "case", NULL, um_bench_cases[i].name);
        um_report_print(args, &r);
        um_report_fini(&r);
    }
    return UM_EXIT_FINE;
}

static const char *unknown_case(const um_list *cases)
{
    for (size_t i = 0; i < cases->n; i++) {
        size_t j = 0;
        while (j < um_bench_ncases &&
               strcmp(um_bench_cases[j].name, cases->item[i]) != 0)
            j++;
        if (j == um_bench_ncases)
            return cases->item[i];
    }
    return NULL;
}

static unsigned bench_mode(const void *values)
{
    return ((const bench_args *)values)->list ? UM_MODE(LIST) : UM_MODE(RUN);
}

static int run(const um_args *args)
{
    const bench_args *a = args->values;
    plan p = {.args = args,
              .cases = &a->cases,
              .seed = a->seed.given ? a->seed.n : 1,
              .rounds = a->rounds.given ? a->rounds.n : 10,
              .all = a->all,
              .bars = a->bars};
    umbel_error err;

    if (a->list)
        return list_cases(args);
    if (unknown_case(&a->cases))
        return um_misuse(args, "there is no case \"%s\"; --list prints them",
                         unknown_case(&a->cases));
    um_bench_head(args, p.seed);
    return run_cases(&p, &err) ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_bench = {
    .name = "bench",
    .values_len = sizeof(bench_args),
    .operands = {{"CASE", UM_LIST, offsetof(bench_args, cases),
                  .modes = UM_MODE(RUN)}},
    .modes = {[RUN] = {"without --list", "blocked512-query-batch"},
              [LIST] = {"with --list", "--list"}},
    .mode = bench_mode,
    .summary = "measure speed, compared with the limit set by memory",
    .options = {{.rows = options}},
    .run = run,
    .example = "blocked512-query-batch --rounds 3",
    .details =
        "Keys have 8 bytes (string16: 16 bytes), the error is 1 %, and there "
        "is one thread. The limit is the time to read one random line of 64 "
        "bytes, or for adds to read and write it, in memory of the filter's "
        "size. shared: a shared blocked512 filter. two: two threads, "
        "wall-clock time per key. generalized: 4 + 4 and 8 + 8 hash functions, "
        "compared with the plain blocked512 filter of the same size. tally: a "
        "stream of frequent and rare keys, compared with kind counting. "
        "ribbon-build: hashing and building; beside it, adding the same "
        "keys to a bloom filter with classic addressing. mixed: half of the "
        "keys are in. A bar is what a case shall reach, in times the limit, "
        "or of one thread. Beside two threads stands what they gain where each "
        "only "
        "reads random lines of one memory, or changes them by one atomic "
        "operation. hash: the hash of a key and its block's address, without "
        "looking there. Machines are noisy: "
        "trust the ratios of one run.",
};

int main(int argc, char **argv)
{
    (void)argc;
    return um_program_main(&um_cmd_bench, argv);
}
