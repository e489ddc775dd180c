/*
 * cmd_bench.c - umbel bench: how far from the memory's own limit.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "cli/bench.h"
#include "cli/bench_duel.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const um_option options[] = {
    {"all", 0, NULL, "also filters of 100 million keys"},
    {"list", 0, NULL, "name the cases"},
    {"rounds", 0, "N", "measure everything N times (default 10)"},
    {"seed", 0, "S", "of the random keys (default 1)"},
    {0}};

/* --- what is timed ---------------------------------------------------------
 */

static void query_batch(um_bench *b, size_t from, size_t n)
{
    umbel_query_fixed(b->filter, b->keys + from, 8, n, b->hit, NULL);
}

static void add_batch(um_bench *b, size_t from, size_t n)
{
    umbel_add_fixed(b->filter, b->keys + from, 8, n, NULL, NULL);
}

static void query_single(um_bench *b, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        umbel_query(b->filter, b->keys + i, 8, b->hit, NULL);
}

static void string_single(um_bench *b, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        umbel_query(b->filter, b->strings + i * UM_BENCH_STRING,
                    UM_BENCH_STRING, b->hit, NULL);
}

static void string_batch(um_bench *b, size_t from, size_t n)
{
    umbel_query_fixed(b->filter, b->strings + from * UM_BENCH_STRING,
                      UM_BENCH_STRING, n, b->hit, NULL);
}

static void shared_query(void *bench, size_t from, size_t n)
{
    um_bench *b = bench;
    umbel_query_fixed(b->shared, b->keys + from, 8, n,
                      b->hit + from % UM_BENCH_CHUNK, NULL);
}

static void shared_add(void *bench, size_t from, size_t n)
{
    um_bench *b = bench;
    umbel_add_fixed(b->shared, b->keys + from, 8, n, NULL, NULL);
}

static void shared_query_batch(um_bench *b, size_t from, size_t n)
{
    shared_query(b, from, n);
}

static void shared_add_batch(um_bench *b, size_t from, size_t n)
{
    shared_add(b, from, n);
}

static void shared_query_two(um_bench *b, size_t from, size_t n)
{
    um_pair_run(b->pair, shared_query, b, from, n);
}

static void shared_add_two(um_bench *b, size_t from, size_t n)
{
    um_pair_run(b->pair, shared_add, b, from, n);
}

/* What cases work on; those of one thing share a filter. */
typedef struct bench_thing {
    const char *kind, *addressing;
    umbel_setting set[2]; /* those that have a name */
    bool shares;          /* has cases of a shared copy */
    /* Timed beside it, at the same things, with as many cells; or NULL. */
    const struct bench_thing *beside;
} bench_thing;

static const bench_thing blocked256 = {.kind = "bloom",
                                       .addressing = "blocked256"};
static const bench_thing blocked512 = {
    .kind = "bloom", .addressing = "blocked512", .shares = true};
static const bench_thing classic = {.kind = "bloom", .addressing = "classic"};
#define COUNTS(bits, way)                                                      \
    {                                                                          \
        .kind = "counting", .addressing = "blocked128", .set = {               \
            {"cell_bits", bits},                                               \
            {"update", way}                                                    \
        }                                                                      \
    }
static const bench_thing plain4 = COUNTS(4, 0), refined4 = COUNTS(4, 1);
static const bench_thing plain8 = COUNTS(8, 0), refined8 = COUNTS(8, 1);
#define GENERALIZED(k)                                                         \
    {                                                                          \
        .kind = "generalized", .addressing = "blocked512",                     \
        .set = {{"reset", k}, {"set", k}}, .beside = &blocked512               \
    }
static const bench_thing four = GENERALIZED(4), eight = GENERALIZED(8);
static const bench_thing ribbon = {.kind = "ribbon"};

/*
 * THING-VERB-MODE. Adds change the filter, so they come last of their thing;
 * those to the shared copy are undone. Counts may well reach their limit: no
 * loop over lines of counts branches on what they hold.
 */
typedef struct bench_case {
    const char *name;
    const bench_thing *thing;
    um_bench_run *run;
    bool writes;       /* its limit is reading and writing */
    um_bench_run *one; /* what this does with one thread, for two */
} bench_case;

static const bench_case cases[] = {
    {"blocked256-query-batch", &blocked256, query_batch, false, NULL},
    {"blocked256-query-single", &blocked256, query_single, false, NULL},
    {"blocked256-add-batch", &blocked256, add_batch, true, NULL},
    {"blocked512-query-batch", &blocked512, query_batch, false, NULL},
    {"blocked512-query-single", &blocked512, query_single, false, NULL},
    {"string16-query-batch", &blocked512, string_batch, false, NULL},
    {"string16-query-single", &blocked512, string_single, false, NULL},
    {"shared-query-batch", &blocked512, shared_query_batch, false, NULL},
    {"shared-query-two", &blocked512, shared_query_two, false,
     shared_query_batch},
    {"shared-add-batch", &blocked512, shared_add_batch, true, NULL},
    {"shared-add-two", &blocked512, shared_add_two, true, shared_add_batch},
    {"blocked512-add-batch", &blocked512, add_batch, true, NULL},
    {"classic-query-miss", &classic, query_batch, false, NULL},
    {"classic-add-batch", &classic, add_batch, true, NULL},
    {"counting4-query-batch", &plain4, query_batch, false, NULL},
    {"counting4-query-single", &plain4, query_single, false, NULL},
    {"counting4-plain-add-batch", &plain4, add_batch, true, NULL},
    {"counting4-refined-add-batch", &refined4, add_batch, true, NULL},
    {"counting8-query-batch", &plain8, query_batch, false, NULL},
    {"counting8-plain-add-batch", &plain8, add_batch, true, NULL},
    {"counting8-refined-add-batch", &refined8, add_batch, true, NULL},
    {"generalized4-query-batch", &four, query_batch, false, NULL},
    {"generalized4-add-batch", &four, add_batch, true, NULL},
    {"generalized8-query-batch", &eight, query_batch, false, NULL},
    {"generalized8-add-batch", &eight, add_batch, true, NULL},
    {"ribbon-query-batch", &ribbon, query_batch, false, NULL},
};

/* --- what it is timed on ---------------------------------------------------
 */

enum { HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20, MOST_KEYS = 4000000 };

static size_t keys_for(size_t lines)
{
    size_t n = lines * 4 / UM_BENCH_CHUNK * UM_BENCH_CHUNK;

    if (n < UM_BENCH_CHUNK)
        return UM_BENCH_CHUNK;
    return n < MOST_KEYS ? n : MOST_KEYS;
}

static void fill_keys(um_bench *b, uint64_t seed)
{
    um_rng rng = {seed};
    size_t n = b->nkeys + UM_BENCH_SPARE;

    for (size_t i = 0; i < n; i++) {
        char text[UM_BENCH_STRING + 1];
        b->keys[i] = um_random(&rng);
        snprintf(text, sizeof text, "%016" PRIx64, b->keys[i]);
        memcpy(b->strings + i * UM_BENCH_STRING, text, UM_BENCH_STRING);
    }
}

static void bench_fini(um_bench *b)
{
    umbel_close(b->filter);
    umbel_close(b->shared);
    umbel_close(b->other);
    free(b->keys);
    free(b->strings);
    free(b->hit);
    free(b->memory);
}

static bool get_memory(um_bench *b)
{
    size_t bytes = b->lines * 64, n = b->nkeys + UM_BENCH_SPARE;
    void *memory = NULL;

    b->keys = malloc(n * sizeof *b->keys);
    b->strings = malloc(n * UM_BENCH_STRING);
    b->hit = malloc(UM_BENCH_CHUNK * sizeof *b->hit);
    if (posix_memalign(&memory, HUGE_PAGE, bytes) != 0)
        memory = NULL;
    b->memory = memory;
    if (!b->keys || !b->strings || !b->hit || !b->memory)
        return false;
    if (bytes >= HUGE_FROM)
        um_use_huge_pages(memory, bytes);
    memset(memory, 1, bytes);
    return true;
}

/* Other keys than those that will be asked, drawn and added piece by piece. */
static umbel_status fill_filter(um_bench *b, umbel_filter *f, uint64_t n,
                                uint64_t seed, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    um_rng rng = {~seed};

    for (uint64_t done = 0, some; status == UMBEL_OK && done < n;
         done += some) {
        some = n - done < b->nkeys ? n - done : b->nkeys;
        for (uint64_t i = 0; i < some; i++)
            b->keys[i] = um_random(&rng);
        status = umbel_add_fixed(f, b->keys, 8, some, NULL, err);
    }
    return status;
}

/* cells 0: as many as n keys take. */
static umbel_status open_thing(const bench_thing *thing, uint64_t n,
                               uint64_t cells, umbel_filter **out,
                               umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = thing->addressing;
    p.capacity = n;
    p.cells = cells;
    p.fpr = UM_BENCH_FPR;
    p.settings = thing->set;
    while (p.nsettings < UM_COUNT(thing->set) && thing->set[p.nsettings].name)
        p.nsettings++;
    return umbel_open(thing->kind, &p, out, err);
}

static umbel_status open_both(um_bench *b, const bench_thing *thing, uint64_t n,
                              uint64_t seed, umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    uint64_t cells = 0;
    umbel_status status = UMBEL_OK;

    p.fpr = UM_BENCH_FPR;
    if (umbel_is_static(thing->kind))
        return um_bench_build(thing->kind, &p, n, ~seed, &b->filter, err);
    if (thing->beside) {
        status = open_thing(thing->beside, n, 0, &b->other, err);
        cells = status == UMBEL_OK ? umbel_cells(b->other) : 0;
    }
    if (status == UMBEL_OK)
        status = open_thing(thing, n, cells, &b->filter, err);
    return status;
}

static umbel_status share_copy(um_bench *b, umbel_error *err)
{
    umbel_status status = umbel_copy(b->filter, &b->shared, err);
    return status == UMBEL_OK ? umbel_share(b->shared, err) : status;
}

static umbel_status bench_init(um_bench *b, const bench_thing *thing,
                               uint64_t n, uint64_t seed, umbel_error *err)
{
    *b = (um_bench){.filter = NULL};
    umbel_status status = open_both(b, thing, n, seed, err);
    if (status != UMBEL_OK)
        return status;
    b->lines = umbel_encoded_len(b->filter) / 64;
    b->nkeys = keys_for(b->lines);
    if (!get_memory(b))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu lines", b->lines);
    if (!umbel_is_static(thing->kind))
        status = fill_filter(b, b->filter, n, seed, err);
    if (status == UMBEL_OK && thing->beside)
        status = fill_filter(b, b->other, n, seed, err);
    if (status == UMBEL_OK && thing->shares)
        status = share_copy(b, err);
    if (status == UMBEL_OK)
        fill_keys(b, seed);
    return status;
}

/* --- the report ------------------------------------------------------------
 */

static void machine_name(char *out, size_t cap)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    snprintf(out, cap, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            snprintf(out, cap, "%s", colon + 2);
            out[strcspn(out, "\n")] = '\0';
            break;
        }
    }
    if (f)
        fclose(f);
}

/* Nanoseconds a key: of the case and the limit; of one thread and of what
 * stands beside, or INFINITY. */
typedef struct times {
    double ns, limit, one, other;
} times;

static void report(const um_args *args, const char *name, uint64_t n,
                   const times *t, uint64_t seed)
{
    char machine[128];
    umbel_info info = {0};

    if (!um_has(args, "json")) {
        printf("%-27s %11s %9.2f ns %9.2f ns %7.2f x", name, um_grouped(n).text,
               t->ns, t->limit, t->ns / t->limit);
        if (!isinf(t->one))
            printf("   %.2f x as fast as one thread", t->one / t->ns);
        if (!isinf(t->other))
            printf("   %.2f x the plain filter beside it", t->ns / t->other);
        putchar('\n');
        fflush(stdout);
        return;
    }
    machine_name(machine, sizeof machine);
    um_info_text(&info, "case", name);
    um_info_count(&info, "keys", n);
    um_info_real(&info, "ns", t->ns);
    um_info_real(&info, "limit_ns", t->limit);
    um_info_real(&info, "times_limit", t->ns / t->limit);
    um_info_real(&info, "times_one_thread",
                 isinf(t->one) ? NAN : t->one / t->ns);
    um_info_real(&info, "times_plain",
                 isinf(t->other) ? NAN : t->ns / t->other);
    um_info_count(&info, "seed", seed);
    um_info_text(&info, "machine", machine);
    um_info_text(&info, "commit", UM_COMMIT);
    um_print_json(stdout, &info);
}

static bool named(const um_args *args, const char *name)
{
    for (size_t i = 0; i < args->noperands; i++)
        if (strcmp(args->operands[i], name) == 0)
            return true;
    return args->noperands == 0;
}

static bool wanted(const um_args *args, const bench_case *c)
{
    return named(args, c->name);
}

static void keep_best(double *best, double t)
{
    *best = t < *best ? t : *best;
}

/* The same with the other filter in its place. */
static double time_other(um_bench *b, um_bench_run *run)
{
    umbel_filter *own = b->filter;

    b->filter = b->other;
    double ns = um_bench_time(b, run);
    b->filter = own;
    return ns;
}

static umbel_status time_case(um_bench *b, const bench_case *c, times *best,
                              umbel_error *err)
{
    b->renew = c->writes && b->shared;
    if (c->one) {
        keep_best(&best->one, um_bench_time(b, c->one));
        b->pair = um_pair_open();
        if (!b->pair)
            return um_fail(err, UMBEL_E_NOMEM, "no second thread to be had");
    }
    keep_best(&best->ns, um_bench_time(b, c->run));
    if (b->other)
        keep_best(&best->other, time_other(b, c->run));
    um_pair_close(b->pair);
    b->pair = NULL;
    return UMBEL_OK;
}

/*
 * Rounds, each with the limit and all cases: who else uses the machine spoils a
 * round, and seldom the same part of all.
 */
static umbel_status time_cases(um_bench *b, const bool *chosen, bool writes,
                               uint64_t rounds, times *best, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    double limit = INFINITY;

    for (uint64_t i = 0; i < rounds; i++) {
        keep_best(&limit,
                  writes ? um_bench_raw_write(b) : um_bench_raw_read(b));
        for (size_t j = 0; status == UMBEL_OK && j < UM_COUNT(cases); j++)
            if (chosen[j] && cases[j].writes == writes)
                status = time_case(b, &cases[j], &best[j], err);
    }
    for (size_t i = 0; i < UM_COUNT(cases); i++)
        if (cases[i].writes == writes)
            best[i].limit = limit;
    return status;
}

static umbel_status rounds_of(const um_args *args, uint64_t *out,
                              umbel_error *err)
{
    *out = 10;
    umbel_status status = um_value_count(args, "rounds", out, err);
    if (status == UMBEL_OK && (*out == 0 || *out > 1000))
        status = um_fail(err, UMBEL_E_RANGE, "--rounds must be 1..1000");
    return status;
}

/* All cases of one thing at one size; adds last, they change the filter. */
static umbel_status run_group(const um_args *args, const bench_thing *thing,
                              uint64_t n, uint64_t seed, umbel_error *err)
{
    um_bench b;
    bool chosen[UM_COUNT(cases)];
    times best[UM_COUNT(cases)];
    uint64_t rounds;
    umbel_status status = bench_init(&b, thing, n, seed, err);

    for (size_t i = 0; i < UM_COUNT(cases); i++) {
        chosen[i] = cases[i].thing == thing && wanted(args, &cases[i]);
        best[i] = (times){INFINITY, INFINITY, INFINITY, INFINITY};
    }
    if (status == UMBEL_OK)
        status = rounds_of(args, &rounds, err);
    if (status == UMBEL_OK)
        status = time_cases(&b, chosen, false, rounds, best, err);
    if (status == UMBEL_OK)
        status = time_cases(&b, chosen, true, rounds, best, err);
    for (size_t i = 0; status == UMBEL_OK && i < UM_COUNT(cases); i++)
        if (chosen[i])
            report(args, cases[i].name, n, &best[i], seed);
    bench_fini(&b);
    return status;
}

static umbel_status run_size(const um_args *args, uint64_t n, uint64_t seed,
                             umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    const bench_thing *last = NULL;

    for (size_t i = 0; status == UMBEL_OK && i < UM_COUNT(cases); i++)
        if (wanted(args, &cases[i]) && cases[i].thing != last) {
            last = cases[i].thing;
            status = run_group(args, last, n, seed, err);
        }
    return status;
}

/* --- against another kind ---------------------------------------------------
 */

static void report_duel(const um_args *args, const um_duel *duel, uint64_t n,
                        const um_duel_times *t, uint64_t seed)
{
    char machine[128];
    umbel_info info = {0};

    if (!um_has(args, "json")) {
        printf("%-26s %11s %9.2f ns %9.2f ns %7.2f x   %s\n", duel->name,
               um_grouped(n).text, t->ns, t->other, t->ns / t->other,
               duel->other);
        fflush(stdout);
        return;
    }
    machine_name(machine, sizeof machine);
    um_info_text(&info, "case", duel->name);
    um_info_count(&info, "keys", n);
    um_info_real(&info, "ns", t->ns);
    um_info_real(&info, "other_ns", t->other);
    um_info_real(&info, "times_other", t->ns / t->other);
    um_info_count(&info, "seed", seed);
    um_info_text(&info, "machine", machine);
    um_info_text(&info, "commit", UM_COMMIT);
    um_print_json(stdout, &info);
}

static umbel_status run_duels(const um_args *args, uint64_t rounds,
                              uint64_t seed, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    const um_duel *duel;
    um_duel_times t;
    uint64_t n;

    for (size_t s = 0; (n = um_duel_size(s)); s++) {
        if (s >= UM_DUEL_USUAL && !um_has(args, "all"))
            break;
        for (size_t i = 0; status == UMBEL_OK && (duel = um_duel_at(i)); i++) {
            if (!named(args, duel->name))
                continue;
            status = um_duel_run(duel, n, rounds, seed, &t, err);
            if (status == UMBEL_OK)
                report_duel(args, duel, n, &t, seed);
        }
    }
    return status;
}

/* --- static kinds -----------------------------------------------------------
 */

static const char build_case[] = "ribbon-build";

/* Held against adding the same keys to a bloom filter. */
static umbel_status run_builds(const um_args *args, uint64_t rounds,
                               uint64_t seed, umbel_error *err)
{
    enum { LEAST = 1000000, MOST = 10000000, MOST_ROUNDS = 3 };
    umbel_status status = UMBEL_OK;

    if (!named(args, build_case))
        return UMBEL_OK;
    for (uint64_t n = LEAST; status == UMBEL_OK && n <= MOST; n *= 10) {
        times best = {INFINITY, INFINITY, INFINITY, INFINITY};
        for (uint64_t i = 0;
             status == UMBEL_OK && i < rounds && i < MOST_ROUNDS; i++)
            status = um_bench_builds(ribbon.kind, n, seed, &best.ns,
                                     &best.limit, err);
        if (status == UMBEL_OK)
            report(args, build_case, n, &best, seed);
    }
    return status;
}

static int list_cases(void)
{
    for (size_t i = 0; i < UM_COUNT(cases); i++)
        puts(cases[i].name);
    for (size_t i = 0; um_duel_at(i); i++)
        puts(um_duel_at(i)->name);
    puts(build_case);
    return UM_EXIT_FINE;
}

static bool is_duel(const char *name)
{
    for (size_t i = 0; um_duel_at(i); i++)
        if (strcmp(um_duel_at(i)->name, name) == 0)
            return true;
    return false;
}

static const char *unknown_case(const um_args *args)
{
    for (size_t i = 0; i < args->noperands; i++) {
        size_t j = 0;
        while (j < UM_COUNT(cases) &&
               strcmp(cases[j].name, args->operands[i]) != 0)
            j++;
        if (j == UM_COUNT(cases) && !is_duel(args->operands[i]) &&
            strcmp(args->operands[i], build_case) != 0)
            return args->operands[i];
    }
    return NULL;
}

static int run(const um_args *args)
{
    static const uint64_t sizes[] = {10000, 1000000, 100000000};
    size_t nsizes = um_has(args, "all") ? 3 : 2;
    uint64_t seed = 1, rounds;
    umbel_error err;
    char machine[128];

    if (um_has(args, "list"))
        return list_cases();
    if (unknown_case(args))
        return um_misuse(args, "there is no case \"%s\"; --list names them",
                         unknown_case(args));
    umbel_status status = um_value_count(args, "seed", &seed, &err);
    if (status == UMBEL_OK)
        status = rounds_of(args, &rounds, &err);
    if (status == UMBEL_OK && !um_has(args, "json")) {
        machine_name(machine, sizeof machine);
        printf("%s, umbel %s (%s), seed %" PRIu64 "\n", machine,
               umbel_version(), UM_COMMIT, seed);
        printf("%-27s %11s %12s %12s\n", "case", "keys", "a key", "limit");
    }
    for (size_t i = 0; status == UMBEL_OK && i < nsizes; i++)
        status = run_size(args, sizes[i], seed, &err);
    if (status == UMBEL_OK)
        status = run_duels(args, rounds, seed, &err);
    if (status == UMBEL_OK)
        status = run_builds(args, rounds, seed, &err);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_bench = {
    .name = "bench",
    .args = "[CASE...]",
    .summary = "measure speed against the memory's own limit",
    .options = {options},
    .run = run,
    .details =
        "Keys of 8 bytes (string16: of 16), 1 % error, one thread. The "
        "limit is one\nrandom line of 64 bytes read, or for adds read "
        "and written, in memory of the\nfilter's size. shared: a shared "
        "blocked512 filter; two: by two threads, time a\nkey by the "
        "clock on the wall. generalized: 4 + 4 and 8 + 8 functions, "
        "beside the plain\nblocked512 filter of the same size. tally: a "
        "stream of frequent and rare keys,\nbeside kind counting instead "
        "of a limit. ribbon-build: hashing and building,\nagainst adding the "
        "same keys to a bloom filter, classic. Machines are noisy: trust\nthe "
        "ratios of one run.\n",
};
