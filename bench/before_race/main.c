/*
 * main.c - compares two versions of the library in each case of umbel-bench.
 *
 * bench_before OLD.so NEW.so [-n KEYS] [-r ROUNDS] [CASE...]
 *
 * Both have filters of the same keys, and process the same keys in turns of
 * some milliseconds; for every chunk of keys the best time counts. If the new
 * version seems slower, both get new memory and are measured again: a real
 * difference persists. The exit status is 1 if some case is slower.
 */
#include "base/cpu.h"
#include "base/error.h"
#include "base/rng.h"
#include "bench/before_race/subject.h"
#include "bench/cases.h"

#include <umbel/build.h>
#include <umbel/describe.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OLD,
    NEW,
    BOTH,
    TURN_KEYS = 1000000, /* per turn of a side */
    ATTEMPTS = 4,        /* if the new version seems slower */
    MAX_CHUNKS = 128
};
#define SLOWER 1.05

/* A case of umbel-bench. */
typedef struct row {
    const char *name;
    int work;
    enum { OTHERS, MIXED, STRINGS, MEMBERS } keys; /* that are processed */
    bool shared; /* works on a shared copy, which is renewed after adds */
    bool two;    /* ... with two threads */
    bool builds; /* the work is to build the filter */
} row;

static const row rows[] = {
    {"blocked256-query-batch", .work = SUBJECT_QUERY},
    {"blocked256-query-single", .work = SUBJECT_QUERY_ONE},
    {"blocked256-query-inline", .work = SUBJECT_QUERY_INLINE},
    {"blocked256-add-batch", .work = SUBJECT_ADD},
    {"blocked256-add-single", .work = SUBJECT_ADD_ONE},
    {"blocked512-query-batch", .work = SUBJECT_QUERY},
    {"blocked512-query-single", .work = SUBJECT_QUERY_ONE},
    {"blocked512-query-inline", .work = SUBJECT_QUERY_INLINE},
    {"string16-query-batch", .work = SUBJECT_QUERY, .keys = STRINGS},
    {"string16-query-single", .work = SUBJECT_QUERY_ONE, .keys = STRINGS},
    {"string16-query-inline", .work = SUBJECT_QUERY_INLINE, .keys = STRINGS},
    {"shared-query-batch", .work = SUBJECT_QUERY, .shared = true},
    {"shared-query-two", .work = SUBJECT_QUERY, .shared = true, .two = true},
    {"shared-add-batch", .work = SUBJECT_ADD, .shared = true},
    {"shared-add-two", .work = SUBJECT_ADD, .shared = true, .two = true},
    {"blocked512-add-batch", .work = SUBJECT_ADD},
    {"blocked512-add-single", .work = SUBJECT_ADD_ONE},
    {"classic-query-miss", .work = SUBJECT_QUERY},
    {"classic-query-mixed", .work = SUBJECT_QUERY, .keys = MIXED},
    {"classic-add-batch", .work = SUBJECT_ADD},
    {"counting4-query-batch", .work = SUBJECT_QUERY},
    {"counting4-query-single", .work = SUBJECT_QUERY_ONE},
    {"counting4-plain-add-batch", .work = SUBJECT_ADD},
    {"counting4-refined-add-batch", .work = SUBJECT_ADD},
    {"counting8-query-batch", .work = SUBJECT_QUERY},
    {"counting8-plain-add-batch", .work = SUBJECT_ADD},
    {"counting8-refined-add-batch", .work = SUBJECT_ADD},
    {"generalized4-query-batch", .work = SUBJECT_QUERY},
    {"generalized4-add-batch", .work = SUBJECT_ADD},
    {"generalized8-query-batch", .work = SUBJECT_QUERY},
    {"generalized8-add-batch", .work = SUBJECT_ADD},
    {"ribbon-query-batch", .work = SUBJECT_QUERY},
    {"shared-fill-batch", .work = SUBJECT_ADD, .keys = MEMBERS, .shared = true},
    {"shared-fill-batch-two", .work = SUBJECT_ADD, .keys = MEMBERS,
     .shared = true, .two = true},
    {"shared-fill-single", .work = SUBJECT_ADD_ONE, .keys = MEMBERS,
     .shared = true},
    {"shared-fill-single-two", .work = SUBJECT_ADD_ONE, .keys = MEMBERS,
     .shared = true, .two = true},
    {"ribbon-build", .builds = true},
};

/* A version of the library, with its filters. */
typedef struct side {
    const subject *lib;
    void *filter, *shared;
    double best[MAX_CHUNKS]; /* seconds of each chunk */
    double one[MAX_CHUNKS];  /* the same with one thread, for cases of two */
} side;

/* A case at a size. */
typedef struct race {
    um_bench bench; /* keys, and the memory limit */
    const um_bench_case *c;
    const row *row;
    size_t n; /* keys in the filters */
    uint64_t rounds;
    uint64_t *members;
    side sides[BOTH];
    double limit;
} race;

/* --- filters and keys ----------------------------------------------------- */

/* Fill cases use a shared blocked512 filter, build cases a ribbon. */
static const um_bench_subject filled = {
    .kind = "bloom", .addressing = "blocked512", .shares = true};
static const um_bench_subject built = {.kind = "ribbon"};

static const um_bench_subject *thing_of(const race *r)
{
    if (r->c->subject)
        return r->c->subject;
    return r->row->builds ? &built : &filled;
}

static bool is_static(const race *r)
{
    return umbel_is_static(thing_of(r)->kind);
}

static subject_shape shape_of(const race *r)
{
    const um_bench_subject *t = thing_of(r);

    return (subject_shape){.kind = t->kind,
                           .addressing = t->addressing,
                           .name = {t->set[0].name, t->set[1].name},
                           .value = {t->set[0].value, t->set[1].value},
                           .capacity = is_static(r) ? 0 : r->n,
                           .cells =
                               t->beside ? umbel_cells(r->bench.filter) : 0,
                           .fpr = UM_BENCH_FPR};
}

/* Creates the filters of a side; false if that fails. */
static bool create_filters(const race *r, side *s)
{
    const subject_shape shape = shape_of(r);

    if (r->row->builds)
        return true;
    s->filter = is_static(r) ? s->lib->build(&shape, r->members, r->n)
                             : s->lib->create(&shape);
    if (s->filter && !is_static(r))
        s->lib->work[SUBJECT_ADD](s->filter, r->members, 8, r->n, NULL);
    if (s->filter && r->row->shared)
        s->shared = s->lib->copy_shared(s->filter);
    return s->filter && (s->shared || !r->row->shared);
}

static void close_filters(side *s)
{
    s->lib->close(s->filter);
    s->lib->close(s->shared);
    s->filter = s->shared = NULL;
}

/* Returns false if this version does not support the case. */
static bool able(const race *r, const side *s)
{
    return r->row->builds || s->lib->work[r->row->work];
}

/* Returns the keys to process, and sets *width to their length. */
static const uint8_t *keys_of(const race *r, size_t *width)
{
    *width = r->row->keys == STRINGS ? UM_BENCH_STRING : 8;
    switch (r->row->keys) {
    case MIXED:
        return (const uint8_t *)r->bench.mixed;
    case STRINGS:
        return (const uint8_t *)r->bench.strings;
    case MEMBERS:
        return (const uint8_t *)r->members;
    case OTHERS:
    default:
        return (const uint8_t *)r->bench.keys;
    }
}

static bool writes(const race *r)
{
    return r->row->builds || r->row->work == SUBJECT_ADD ||
           r->row->work == SUBJECT_ADD_ONE;
}

static size_t nkeys_of(const race *r)
{
    return r->row->keys == MEMBERS || r->row->builds ? r->n : r->bench.nkeys;
}

/* --- the clock ------------------------------------------------------------ */

/* A side, for one of two threads, which processes half of a chunk. */
typedef struct part {
    const race *race;
    const side *side;
} part;

static void serve(void *ctx, size_t from, size_t n)
{
    const part *p = ctx;
    size_t width;
    const uint8_t *keys = keys_of(p->race, &width);
    void *filter = p->race->row->shared ? p->side->shared : p->side->filter;

    p->side->lib->work[p->race->row->work](
        filter, keys + from * width, width, n,
        p->race->bench.hit + from % UM_BENCH_CHUNK);
}

static void retain_best(double *best, double t)
{
    *best = t < *best ? t : *best;
}

/* Processes all keys once, chunk by chunk. */
static void pass(const race *r, side *s, um_pair *pair, double *best)
{
    part p = {r, s};
    size_t n = nkeys_of(r);

    if (r->row->shared && writes(r) &&
        !s->lib->renew(s->shared, r->row->keys == MEMBERS ? NULL : s->filter))
        abort(); /* cannot fail: filters of one shape, in our own memory */
    for (size_t from = 0; from < n; from += UM_BENCH_CHUNK) {
        size_t some = n - from < UM_BENCH_CHUNK ? n - from : UM_BENCH_CHUNK;
        double start = um_seconds();
        if (pair)
            um_pair_run(pair, serve, &p, from, some);
        else
            serve(&p, from, some);
        retain_best(&best[from / UM_BENCH_CHUNK], um_seconds() - start);
    }
}

static void build_once(const race *r, side *s)
{
    const subject_shape shape = shape_of(r);
    double start = um_seconds();
    void *f = s->lib->build(&shape, r->members, r->n);

    if (f)
        retain_best(&s->best[0], um_seconds() - start);
    s->lib->close(f);
}

static void turn(const race *r, side *s, um_pair *pair)
{
    for (size_t done = 0; done < TURN_KEYS; done += nkeys_of(r))
        if (r->row->builds)
            build_once(r, s);
        else {
            if (pair)
                pass(r, s, NULL, s->one);
            pass(r, s, pair, s->best);
        }
}

/* Returns nanoseconds per key; INFINITY if nothing was measured. */
static double ns_of(const race *r, const double *best)
{
    size_t n = nkeys_of(r), chunks = (n + UM_BENCH_CHUNK - 1) / UM_BENCH_CHUNK;
    double sum = 0;

    for (size_t i = 0; i < (r->row->builds ? 1 : chunks); i++)
        sum += best[i];
    return sum / (double)n * 1e9;
}

static double times_before(const race *r)
{
    return ns_of(r, r->sides[NEW].best) / ns_of(r, r->sides[OLD].best);
}

/* Measures both sides in turns, with new filters. */
static bool attempt(race *r)
{
    um_pair *pair = r->row->two ? um_pair_open() : NULL;
    bool fine = pair || !r->row->two;

    for (size_t i = 0; fine && i < BOTH; i++)
        fine = !able(r, &r->sides[i]) || create_filters(r, &r->sides[i]);
    for (uint64_t i = 0; fine && i < r->rounds; i++) {
        for (size_t j = 0; j < BOTH; j++)
            if (able(r, &r->sides[j]))
                turn(r, &r->sides[j], pair);
        if (i % 3 == 0)
            retain_best(&r->limit, writes(r) ? um_bench_raw_write(&r->bench)
                                             : um_bench_raw_read(&r->bench));
    }
    for (size_t i = 0; i < BOTH; i++)
        close_filters(&r->sides[i]);
    um_pair_close(pair);
    return fine;
}

/* --- cases ---------------------------------------------------------------- */

static void print_number(double x)
{
    if (isfinite(x))
        printf(" %9.2f", x);
    else
        printf(" %9s", "-");
}

static void print_bar(const race *r)
{
    const side *new = &r->sides[NEW];
    double ns = ns_of(r, new->best), at_most = um_bench_bar_at(r->c, r->n);

    if (r->row->two)
        printf("  two threads %.2f x one, before %.2f x",
               ns_of(r, new->one) / ns,
               ns_of(r, r->sides[OLD].one) / ns_of(r, r->sides[OLD].best));
    if (r->c->bar.times_one > 0)
        printf("  bar %.2f: %s", r->c->bar.times_one,
               ns_of(r, new->one) / ns >= r->c->bar.times_one ? "met"
                                                              : "MISSED");
    else if (at_most > 0)
        printf("  bar %.2f: %s", at_most,
               ns / r->limit <= at_most ? "met" : "MISSED");
    putchar('\n');
    fflush(stdout);
}

static void print_race(const race *r)
{
    double old = ns_of(r, r->sides[OLD].best);
    double new = ns_of(r, r->sides[NEW].best);

    printf("%-27s %9zu", r->c->name, r->n);
    print_number(old);
    print_number(new);
    print_number(isfinite(old) ? new / old : INFINITY);
    print_number(r->limit);
    print_number(old / r->limit);
    print_number(new / r->limit);
    print_bar(r);
}

static bool open_race(race *r)
{
    um_rng rng = {~(uint64_t)1}; /* seed 1, as in subjects.c */

    r->limit = INFINITY;
    for (size_t i = 0; i < BOTH; i++)
        for (size_t j = 0; j < MAX_CHUNKS; j++)
            r->sides[i].best[j] = r->sides[i].one[j] = INFINITY;
    r->members = malloc(r->n * sizeof *r->members);
    for (size_t i = 0; r->members && i < r->n; i++)
        r->members[i] = um_random(&rng);
    return r->members &&
           um_bench_init(&r->bench, thing_of(r), r->n, 1, NULL) == UMBEL_OK;
}

/* Measures a case; returns true if it is slower than before. */
static bool run_race(race *r, bool *failed)
{
    bool slower = true, broken = !open_race(r);

    for (size_t i = 0; !broken && slower && i < ATTEMPTS; i++) {
        broken = !attempt(r);
        slower = times_before(r) > SLOWER;
    }
    if (broken)
        fprintf(stderr, "%s: cannot be measured\n", r->c->name);
    else
        print_race(r);
    um_bench_fini(&r->bench);
    free(r->members);
    *failed |= broken;
    return slower && !broken;
}

static const um_bench_case *case_of(const char *name)
{
    for (size_t i = 0; i < um_bench_ncases; i++)
        if (strcmp(um_bench_cases[i].name, name) == 0)
            return &um_bench_cases[i];
    return NULL;
}

static bool named(char *const *names, const char *name)
{
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return !names[0];
}

static bool fits(const row *w, uint64_t n)
{
    return w->keys != MEMBERS || n <= (uint64_t)MAX_CHUNKS * UM_BENCH_CHUNK;
}

static int run_all(const subject *const libs[BOTH], const uint64_t *sizes,
                   uint64_t rounds, char *const *names)
{
    char slow[64 * UM_COUNT(rows)] = "";
    bool failed = false;

    printf("%-27s %9s %9s %9s %9s %9s %9s %9s\n", "case", "keys", "old ns",
           "new ns", "new/old", "limit ns", "old x", "new x");
    for (; *sizes; sizes++)
        for (size_t i = 0; i < UM_COUNT(rows); i++) {
            race r = {.c = case_of(rows[i].name),
                      .row = &rows[i],
                      .n = (size_t)*sizes,
                      .rounds = rows[i].builds && *sizes > 100000 ? 3 : rounds,
                      .sides = {{.lib = libs[OLD]}, {.lib = libs[NEW]}}};
            size_t at = strlen(slow);
            if (named(names, rows[i].name) && fits(&rows[i], *sizes) &&
                run_race(&r, &failed))
                snprintf(slow + at, sizeof slow - at, "%s %s at %" PRIu64,
                         at ? "," : "", rows[i].name, *sizes);
        }
    if (failed)
        return 2;
    printf("more than 5 %% slower than before:%s\n", *slow ? slow : " none");
    return *slow ? 1 : 0;
}

static const subject *load(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const subject *lib = object ? dlsym(object, SUBJECT_SYMBOL) : NULL;

    if (!lib)
        fprintf(stderr, "%s\n", dlerror());
    return lib;
}

/* Returns true if every case of umbel-bench has a row; a missing one would go
 * unnoticed. Excepted are streams of kind tally, which bench/before runs in
 * umbel-bench itself, and hashing alone, which calls no function of the
 * library. */
static bool complete(void)
{
    size_t others = 0;

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (!case_of(rows[i].name))
            return false;
    for (size_t i = 0; i < um_bench_ncases; i++)
        others += strncmp(um_bench_cases[i].name, "tally-", 6) == 0 ||
                  strstr(um_bench_cases[i].name, "-hash-");
    return UM_COUNT(rows) + others == um_bench_ncases;
}

int main(int argc, char **argv)
{
    uint64_t sizes[] = {10000, 1000000, 0}, rounds = 40;
    int opt;

    while ((opt = getopt(argc, argv, "n:r:")) != -1)
        if (opt == 'n') {
            sizes[0] = strtoull(optarg, NULL, 10);
            sizes[1] = 0;
        } else if (opt == 'r')
            rounds = strtoull(optarg, NULL, 10);
        else
            return 2;
    if (argc - optind < 2 || !complete()) {
        fprintf(stderr, "%s",
                complete() ? "usage: bench_before OLD.so NEW.so "
                             "[-n KEYS] [-r ROUNDS] [CASE...]\n"
                           : "a case of umbel-bench has no row\n");
        return 2;
    }
    const subject *const libs[BOTH] = {load(argv[optind]),
                                       load(argv[optind + 1])};
    if (!libs[OLD] || !libs[NEW])
        return 2;
    return run_all(libs, sizes, rounds, argv + optind + 2);
}
