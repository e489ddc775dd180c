/*
 * retouch.c - what retouching reaches, and in what time.
 *
 * bench_retouch [RUNS]: the experiment of the paper of 2006 (10,000
 * members of a universe of 2,000,000, 100,000 bits, 5 hashes), RUNS times, and
 * one of a million members. Means, and times as multiples of "ratio" in the
 * same run. Times start from positions: no reading, no hashing; they include
 * every index that a method makes.
 */
#include "negatives/retouch/retouch.h"
#include "base/alloc.h"
#include "filter/handle.h"

#include <umbel/experimental.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 10000, UNIVERSE = 2000000, BITS = 100000, HASHES = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *get(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory) {
        fputs("no memory\n", stderr);
        exit(2);
    }
    return memory;
}

static void want(umbel_status status, const umbel_error *err)
{
    if (status != UMBEL_OK) {
        fprintf(stderr, "bench_retouch: %s\n", err->text);
        exit(2);
    }
}

/* A filter, its members, and keys that match falsely, as positions. */
typedef struct experiment {
    umbel_filter *filter;
    uint8_t *bits;
    um_retouch_problem problem;
    double *zipf; /* weights of the keys */
} experiment;

static uint64_t *place(const umbel_filter *f, const uint64_t *keys, size_t n)
{
    umbel_digest *d = get(n, sizeof *d);
    uint64_t *pos = get(n * f->layout.hashes, sizeof *pos);
    umbel_error err;

    want(umbel_digest_fixed(f, keys, 8, n, d, &err), &err);
    f->layout.row->positions(&f->layout, d, n, pos);
    free(d);
    return pos;
}

static umbel_filter *empty(uint64_t bits, uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;
    umbel_error err;

    p.addressing = "classic";
    p.cells = bits;
    p.hashes = HASHES;
    p.seed = seed;
    want(umbel_create("bloom", &p, &f, &err), &err);
    return f;
}

/* The first n of a random order are members, all others are asked. */
static void experiment_make(experiment *e, size_t n, size_t universe,
                            uint64_t bits, size_t most, uint64_t seed)
{
    uint64_t *keys = get(universe, sizeof *keys);
    bool *hit = get(universe, 1);
    um_rng rng = {seed};
    umbel_error err;
    size_t found = n;

    e->filter = empty(bits, seed);
    for (size_t i = 0; i < universe; i++)
        keys[i] = i;
    for (size_t i = 0; i < universe; i++) {
        size_t j = i + (size_t)um_random_below(&rng, universe - i);
        uint64_t key = keys[j];
        keys[j] = keys[i];
        keys[i] = key;
    }
    want(umbel_add_fixed(e->filter, keys, 8, n, NULL, &err), &err);
    want(umbel_query_fixed(e->filter, keys, 8, universe, hit, &err), &err);
    for (size_t i = n; i < universe && found - n < most; i++)
        if (hit[i])
            keys[found++] = keys[i];
    e->bits = e->filter->kind->bits->cells(e->filter->self);
    e->problem = (um_retouch_problem){
        .cells = bits,
        .hashes = HASHES,
        .members = {place(e->filter, keys, n), NULL, n},
        .keys = {place(e->filter, keys + n, found - n), NULL, found - n}};
    e->zipf = get(found - n, sizeof *e->zipf);
    for (size_t i = 0; i < found - n; i++)
        e->zipf[i] = fmin(10000, 90000 / (double)(i + 1));
    free(keys);
    free(hit);
}

/* The experiment made the positions that the problem only reads. */
static void free_positions(const um_placed *s)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the constness goes */
    free((uint64_t *)(uintptr_t)s->pos);
}

static void experiment_free(experiment *e)
{
    free_positions(&e->problem.members);
    free_positions(&e->problem.keys);
    free(e->zipf);
    umbel_close(e->filter);
}

typedef struct result {
    double chi, lost, cleared, left_weight, left, seconds;
} result;

static result judge(const um_retouch_problem *p, const um_outcome *o,
                    double seconds)
{
    result r = {.cleared = (double)o->cleared, .seconds = seconds};
    double gone = 0, weight = 0;

    for (size_t i = 0; i < p->members.n; i++)
        r.lost += o->lost[i];
    for (size_t i = 0; i < p->keys.n; i++) {
        gone += o->gone[i];
        r.left += i < p->ntargets && !o->gone[i];
        if (p->keys.weights) {
            weight += p->keys.weights[i];
            r.left_weight += o->gone[i] ? 0 : p->keys.weights[i];
        }
    }
    r.lost /= (double)p->members.n;
    r.chi = gone / (double)p->keys.n / r.lost;
    r.left_weight /= weight;
    return r;
}

static result retouch(const experiment *e, double beta,
                      const umbel_retouch_params *given, bool weighted)
{
    size_t len = (size_t)(e->problem.cells + 7) / 8;
    um_retouch_problem p = e->problem;
    umbel_retouch_params params;
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_outcome o = {.lost = get(p.members.n, 1), .gone = get(p.keys.n, 1)};
    umbel_error err;

    want(um_retouch_settle(given, &params, &err), &err);
    p.bits = get(len + 8, 1);
    memcpy(p.bits, e->bits, len);
    p.ntargets = (size_t)llround(beta * (double)p.keys.n);
    p.keys.weights = weighted ? e->zipf : NULL;
    double begun = now();
    want(um_retouch_run(&p, &params, &alloc, &o, &err), &err);
    result r = judge(&p, &o, now() - begun);
    free(p.bits);
    free(o.lost);
    free(o.gone);
    return r;
}

/* Mean, and the 95 % half width for large runs. */
typedef struct mean {
    double n, sum, squares, least;
} mean;

static void mean_add(mean *m, double x)
{
    m->least = m->n == 0 || x < m->least ? x : m->least;
    m->n++;
    m->sum += x;
    m->squares += x * x;
}

static double value(const mean *m)
{
    return m->sum / m->n;
}

static double width(const mean *m)
{
    double v = m->squares / m->n - value(m) * value(m);
    return m->n > 1 ? 1.96 * sqrt(fmax(v, 0) / (m->n - 1)) : 0;
}

typedef struct row {
    const char *label, *method;
    double beta;
    bool outside, weighted;
    double max_fn;
    uint64_t moves;
    const char *bar;
} row;

static const row rows[] = {
    {"ratio, B", "ratio", 1, false, false, 1, 0, "the clock"},
    {"random", "random", .01, true, false, 1, 0, "chi 1.43"},
    {"random", "random", 1, true, false, 1, 0, "chi 1.36"},
    {"min-fn", "min-fn", .01, true, false, 1, 0, "chi 1.81"},
    {"min-fn", "min-fn", 1, true, false, 1, 0, "chi 1.56"},
    {"max-fp, F_P", "max-fp", .01, true, false, 1, 0, "chi 2.20"},
    {"max-fp, F_P", "max-fp", 1, true, false, 1, 0, "chi 1.60"},
    {"ratio, F_P", "ratio", .01, true, false, 1, 0, "chi 2.60 +- 0.12"},
    {"ratio, F_P", "ratio", .02, true, false, 1, 0, ""},
    {"ratio, F_P", "ratio", .05, true, false, 1, 0, ""},
    {"ratio, F_P", "ratio", .10, true, false, 1, 0, ""},
    {"ratio, F_P", "ratio", .25, true, false, 1, 0, ""},
    {"ratio, F_P", "ratio", .50, true, false, 1, 0, ""},
    {"ratio, F_P", "ratio", .75, true, false, 1, 0, ""},
    {"ratio, F_P", "ratio", 1, true, false, 1, 0, "chi 1.79 +- 0.045"},
    {"tracked, F_P", "ratio-tracked", .01, true, false, 1, 0, ""},
    {"tracked, F_P", "ratio-tracked", .02, true, false, 1, 0, ""},
    {"tracked, F_P", "ratio-tracked", .05, true, false, 1, 0, ""},
    {"tracked, F_P", "ratio-tracked", .10, true, false, 1, 0, ""},
    {"tracked, F_P", "ratio-tracked", .25, true, false, 1, 0, ""},
    {"tracked, F_P", "ratio-tracked", .50, true, false, 1, 0, ""},
    {"tracked, F_P", "ratio-tracked", .75, true, false, 1, 0, ""},
    {"tracked, F_P", "ratio-tracked", 1, true, false, 1, 0, "chi >= 2.53"},
    {"greedy", "greedy", .01, false, false, 1, 0, "chi >= 4.8, lost <= 1.66 %"},
    {"greedy", "greedy", 1, false, false, 1, 0, "chi >= 3.14 within 20 x"},
    {"anneal 2.5M", "anneal", 1, false, false, 1, 2500000,
     "chi >= 3.40 within 600 x"},
    {"anneal 5M", "anneal", 1, false, false, 1, 5000000, ""},
    {"anneal 20M", "anneal", 1, false, false, 1, 20000000, ""},
    {"anneal 40M", "anneal", 1, false, false, 1, 40000000,
     "chi >= 3.48 within 3,000 x"},
    {"Zipf", "greedy", 1, false, true, .01, 0, "weight left <= 0.55"},
    {"Zipf", "greedy", 1, false, true, .05, 0, "weight left <= 0.27"},
    {"Zipf", "greedy", 1, false, true, .10, 0, "weight left <= 0.14"},
    {"Zipf, anneal", "anneal", 1, false, true, .01, 5000000, ""},
    {"Zipf, anneal", "anneal", 1, false, true, .05, 5000000, ""},
    {"Zipf, anneal", "anneal", 1, false, true, .10, 5000000, ""},
};

enum { NROWS = sizeof rows / sizeof rows[0] };

typedef struct means {
    mean chi, lost, cleared, weight, left, seconds;
} means;

static void measure(const experiment *e, const row *r, uint64_t seed, means *m)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;

    p.method = r->method;
    p.max_fn = r->max_fn;
    p.count_outside = r->outside;
    p.moves = r->moves;
    p.seed = seed;
    result x = retouch(e, r->beta, &p, r->weighted);
    mean_add(&m->chi, x.chi);
    mean_add(&m->lost, x.lost);
    mean_add(&m->cleared, x.cleared);
    mean_add(&m->weight, x.left_weight);
    mean_add(&m->left, x.left);
    mean_add(&m->seconds, x.seconds);
}

static void print_row(const row *r, const means *m, double clock)
{
    printf("%-14s beta %4.0f %%  chi %.3f +- %.3f  lost %6.2f %%  bits %6.0f  "
           "left %5.0f",
           r->label, r->beta * 100, value(&m->chi), width(&m->chi),
           value(&m->lost) * 100, value(&m->cleared), value(&m->left));
    if (r->weighted)
        printf("  weight left %.4f +- %.4f", value(&m->weight),
               width(&m->weight));
    printf("  %8.2f ms = %7.1f x  %s\n", m->seconds.least * 1e3,
           m->seconds.least / clock, r->bar);
}

static void the_paper(int runs)
{
    means *m = get(NROWS, sizeof *m);
    double ratio[8] = {0}, gain = 0;

    for (int run = 0; run < runs; run++) {
        experiment e;
        experiment_make(&e, N, UNIVERSE, BITS, UNIVERSE, (uint64_t)run + 1);
        for (size_t i = 0; i < NROWS; i++)
            measure(&e, &rows[i], (uint64_t)run + 1, &m[i]);
        experiment_free(&e);
        fprintf(stderr, "\rrun %d of %d", run + 1, runs);
    }
    fputs("\r\033[K", stderr);
    for (size_t i = 0; i < NROWS; i++)
        print_row(&rows[i], &m[i], m[0].seconds.least);
    for (size_t i = 0; i < 8; i++) {
        ratio[i] = value(&m[15 + i].chi) / value(&m[7 + i].chi) - 1;
        gain += ratio[i] / 8;
    }
    printf("tracked gains %.1f %% on average (bar 19 %%); ratio falls by "
           "%.1f %% (31 +- 3.5)\n",
           gain * 100, (1 - value(&m[14].chi) / value(&m[7].chi)) * 100);
    free(m);
}

/* The best of some builds of the same filter. */
static double time_build(size_t n, uint64_t bits)
{
    uint64_t *keys = get(n, sizeof *keys);
    umbel_error err;
    double best = INFINITY;

    for (size_t i = 0; i < n; i++)
        keys[i] = i;
    for (int i = 0; i < 5; i++) {
        double begun = now();
        umbel_filter *f = empty(bits, 7);
        want(umbel_add_fixed(f, keys, 8, n, NULL, &err), &err);
        best = fmin(best, now() - begun);
        umbel_close(f);
    }
    free(keys);
    return best;
}

static void a_million(void)
{
    static const char *const methods[] = {"ratio", "ratio-tracked", "greedy"};
    size_t n = 1000000;
    uint64_t bits = 10000000;
    double build = time_build(n, bits);
    experiment e;

    experiment_make(&e, n, 120 * n, bits, n, 7);
    printf("a million members, %zu keys, plain build %.1f ms\n",
           e.problem.keys.n, build * 1e3);
    for (size_t i = 0; i < 3; i++) {
        umbel_retouch_params p = UMBEL_RETOUCH_INIT;
        p.method = methods[i];
        p.max_fn = 1;
        result r = retouch(&e, 1, &p, false);
        printf("%-14s lost %.2f %%  left %.0f  %.2f s = %.0f x the build%s\n",
               methods[i], r.lost * 100, r.left, r.seconds, r.seconds / build,
               i == 2 ? "  lost <= 24.9 % within 150 x" : "");
    }
    experiment_free(&e);
}

int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 15;

    if (runs > 0)
        the_paper(runs);
    a_million();
    return 0;
}
