/*
 * origins.c - what the filters of other origins cost.
 *
 * bench_origins [KEYS]: the CPU time of a look-up where five origins with four
 * epochs each took the reports, beside one origin. Each of KEYS keys (a
 * million) came as often as a Pareto law says, P(c >= x) = 1 / x. 99 of 100
 * look-ups are for keys that came fewer than 20 times; or for keys that never
 * came. Filters are half full, and then full.
 *
 * There are two baselines: one origin that took all reports in as many epochs
 * ("all at one"), and one of the five alone, with a fifth of them ("one of
 * five"). Asked for verdicts, whether a key came 20 times or more:
 *   five     a machine that has the filters of all five
 *   server   one that has those of four, and beside it a list with the epochs
 *            of the fifth: a server with four peers, as in counts.c of the
 *            clearinghouse
 * and for counts, which are exact sums:
 *   five counted, server counted, and "not indexed": the five without an index.
 * Verdicts are to cost at most 1.3 times either baseline; MISSED says where
 * they do not, and the exit status is 1 then.
 *
 * Times are CPU time, the best of many chunks; sides take turns.
 */
#include "base/rng.h"
#include "store/list.h"

#include <umbel/experimental/sync.h>
#include <umbel/umbel.h>

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ORIGINS = 5,
    EPOCHS = 4,
    THRESHOLD = 20,
    SEED = 7,
    MOST = 10000, /* of a key's counts */
    EPOCH_SECONDS = 1000,
    BATCH = 256,
    CHUNK = 64 * BATCH,
    CHUNKS = 40
};

#define MAX_COST 1.3 /* of a verdict, beside a baseline */

static void want(umbel_status status, const umbel_error *err)
{
    if (status == UMBEL_OK)
        return;
    fprintf(stderr, "bench_origins: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static void *need(void *memory)
{
    if (memory)
        return memory;
    fputs("bench_origins: no memory\n", stderr);
    exit(EXIT_FAILURE);
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Digests of a keyed hash look like this. */
static umbel_digest digest_of(uint64_t key)
{
    um_rng rng = {key * 2 + 1};

    return (umbel_digest){.lo = um_random(&rng), .hi = um_random(&rng)};
}

static uint32_t pareto(um_rng *rng)
{
    double u = ((double)um_random_below(rng, 1 << 30) + 1) / (1 << 30);

    return u < 1.0 / MOST ? MOST : (uint32_t)(1 / u);
}

static const uint8_t secret_bytes[UMBEL_SECRET_LEN] = {7};

/* A list whose epochs have that capacity and error each. */
static um_list_config list_config(const char *kind, uint64_t capacity,
                                  double fpr)
{
    bool counting = strcmp(kind, "counting") == 0;

    return (um_list_config){.name = "bench",
                            .kind = kind,
                            .capacity = capacity,
                            .error = fpr * EPOCHS,
                            .epoch_seconds = EPOCH_SECONDS,
                            .epochs = EPOCHS,
                            .cell_bits = counting ? 8 : 0,
                            .refined = counting};
}

/* --- look-ups -------------------------------------------------------------
 */

/* Origins with filters of one shape. */
typedef struct network {
    int origins;
    uint64_t capacity;     /* of a filter */
    um_list_config config; /* of a list that has such filters */
    umbel_filter *shape;
    umbel_filter *filter[ORIGINS][EPOCHS];
} network;

/* The same reports, spread over five origins, and all at one. */
typedef struct reports {
    network five, one;
    uint64_t keys;
    uint32_t *times;
    um_list *list; /* the first of the five */
} reports;

static void add_report(network *n, int origin, int epoch, umbel_digest d)
{
    umbel_error err;

    want(umbel_add_digests(n->filter[origin][epoch], &d, 1, NULL, &err), &err);
}

/* Keys of the fullest filter. */
typedef struct max_keys {
    uint64_t five, one;
} max_keys;

/* Returns origin * EPOCHS + epoch. */
static int draw_place(um_rng *rng)
{
    return (int)um_random_below(rng, (uint64_t)ORIGINS * EPOCHS);
}

/* Draws the reports, the same ones each time. */
static max_keys create_reports(reports *r, bool add)
{
    um_rng rng = {SEED};
    uint64_t five[ORIGINS * EPOCHS] = {0}, one[EPOCHS] = {0};
    max_keys most = {0, 0};

    for (uint64_t i = 0; i < r->keys; i++) {
        umbel_digest d = digest_of(i);
        bool in[ORIGINS * EPOCHS] = {false}, in_one[EPOCHS] = {false};
        r->times[i] = pareto(&rng);
        for (uint32_t t = 0; t < r->times[i]; t++) {
            int where = draw_place(&rng);
            five[where] += !in[where];
            one[where % EPOCHS] += !in_one[where % EPOCHS];
            in[where] = in_one[where % EPOCHS] = true;
            if (!add)
                continue;
            add_report(&r->five, where / EPOCHS, where % EPOCHS, d);
            add_report(&r->one, 0, where % EPOCHS, d);
        }
    }
    for (int i = 0; i < ORIGINS * EPOCHS; i++)
        most.five = five[i] > most.five ? five[i] : most.five;
    for (int i = 0; i < EPOCHS; i++)
        most.one = one[i] > most.one ? one[i] : most.one;
    return most;
}

static void open_network(network *n, int origins, uint64_t capacity,
                         const char *kind, double fpr)
{
    umbel_error err;

    n->origins = origins;
    n->capacity = capacity;
    n->config = list_config(kind, capacity, fpr);
    want(um_list_config_filter(&n->config, secret_bytes, &n->shape, &err),
         &err);
    for (int o = 0; o < origins; o++)
        for (int e = 0; e < EPOCHS; e++)
            want(umbel_copy(n->shape, &n->filter[o][e], &err), &err);
}

static void close_network(network *n)
{
    for (int o = 0; o < n->origins; o++)
        for (int e = 0; e < EPOCHS; e++)
            umbel_close(n->filter[o][e]);
    umbel_close(n->shape);
}

/* Draws the same reports again, for one epoch of the list. */
static void fill_epoch(reports *r, int epoch)
{
    static const uint32_t once = 1;
    um_rng rng = {SEED};
    umbel_error err;

    for (uint64_t i = 0; i < r->keys; i++) {
        umbel_digest d = digest_of(i);
        for (uint32_t left = pareto(&rng); left; left--)
            if (draw_place(&rng) == epoch) /* of the first origin */
                want(um_list_add(r->list, &d, &once, 1, &err), &err);
    }
}

/* Makes the list of a server, ready to be asked. */
static void open_list(reports *r)
{
    umbel_error err;

    want(um_list_open(&r->five.config, secret_bytes, 0, &r->list, &err), &err);
    for (int e = 0; e < EPOCHS; e++) {
        if (e)
            want(um_list_advance(r->list, (uint64_t)e * EPOCH_SECONDS, &err),
                 &err);
        fill_epoch(r, e);
    }
    while (um_list_build_totals(r->list, UINT64_MAX, 1 << 20))
        continue;
}

/* The fullest filters become full to that many percent. */
static void open_reports(reports *r, const char *kind, double fpr,
                         uint64_t keys, unsigned percent)
{
    r->keys = keys;
    r->times = need(malloc(keys * sizeof *r->times));
    max_keys most = create_reports(r, false);
    open_network(&r->five, ORIGINS, most.five * 100 / percent + 1, kind, fpr);
    open_network(&r->one, 1, most.one * 100 / percent + 1, kind, fpr);
    create_reports(r, true);
    open_list(r);
}

static void close_reports(reports *r)
{
    um_list_close(r->list);
    close_network(&r->five);
    close_network(&r->one);
    free(r->times);
}

static double fill_of(const network *n)
{
    return (double)umbel_added(n->filter[0][0]) / (double)n->capacity;
}

static umbel_sync *open_machine(const network *n, const uint8_t *key,
                                bool indexed)
{
    umbel_sync_list list = {.name = "bench",
                            .shape = n->shape,
                            .epoch_seconds = EPOCH_SECONDS,
                            .epochs = EPOCHS,
                            .page_bytes = 4096,
                            .max_error = 1,
                            .indexed = indexed};
    umbel_sync_params p = UMBEL_SYNC_INIT;
    umbel_sync *s;
    umbel_error err;

    p.lists = &list;
    p.nlists = 1;
    p.sign_key = key;
    p.incarnation = p.session = 1;
    p.limits.memory = UINT64_C(1) << 36;
    want(umbel_sync_open(&p, &s, &err), &err);
    umbel_sync_tick(s, (uint64_t)(EPOCHS - 1) * EPOCH_SECONDS);
    return s;
}

/* Gives a machine all that an origin says. */
static void pass_origin(const network *n, int origin, umbel_sync *to)
{
    uint8_t seed[crypto_sign_SEEDBYTES] = {(uint8_t)(origin + 1)},
            public[UMBEL_ORIGIN_LEN], secret[UMBEL_ORIGIN_SECRET_LEN];
    umbel_sync_replica c;
    umbel_filter *saved;
    umbel_error err;

    crypto_sign_seed_keypair(public, secret, seed);
    umbel_sync *from = open_machine(n, secret, false);
    for (int e = 0; e < EPOCHS; e++)
        want(umbel_sync_publish(from, 0, (uint64_t)e, n->filter[origin][e],
                                &err),
             &err);
    for (size_t at = 0; umbel_sync_next_replica(from, &at, &c);) {
        want(umbel_sync_export(from, at, &saved, &err), &err);
        want(umbel_sync_import(to, saved, &err), &err);
        umbel_close(saved);
    }
    umbel_sync_close(from);
}

static umbel_sync *machine_of(const network *n, int first, int end,
                              bool indexed)
{
    umbel_sync *s = open_machine(n, NULL, indexed);

    for (int o = first; o < end; o++)
        pass_origin(n, o, s);
    for (int i = 0; i < 4000; i++) /* until the index is complete */
        umbel_sync_tick(s, (uint64_t)(EPOCHS - 1) * EPOCH_SECONDS);
    return s;
}

typedef struct side {
    const char *name;
    umbel_sync *machine;
    const um_list *own; /* NULL: it has no store */
    bool verdicts;      /* it is asked for these, and held to the bar */
    double best;        /* seconds of a chunk */
    uint64_t reached;   /* keys that reached the threshold */
} side;

/* As um_lists_reaches: what a bound lets reach the threshold is counted. */
static void reach_own(const side *s, const umbel_digest *d, bool *reached)
{
    uint64_t own[BATCH];
    umbel_digest some[BATCH];
    bool again[BATCH];
    size_t n = 0;
    umbel_error err;

    bool exact = um_list_upper_bound(s->own, d, BATCH, own);
    want(umbel_sync_reaches(s->machine, 0, d, BATCH, own, THRESHOLD, reached,
                            &err),
         &err);
    for (size_t i = 0; i < BATCH && !exact; i++)
        if (reached[i])
            some[n++] = d[i];
    um_list_count(s->own, some, n, own);
    want(
        umbel_sync_reaches(s->machine, 0, some, n, own, THRESHOLD, again, &err),
        &err);
    for (size_t i = BATCH; i-- > 0 && !exact;)
        if (reached[i])
            reached[i] = again[--n];
}

static void reach_batch(const side *s, const umbel_digest *d, bool *reached)
{
    umbel_error err;

    if (s->own)
        reach_own(s, d, reached);
    else
        want(umbel_sync_reaches(s->machine, 0, d, BATCH, NULL, THRESHOLD,
                                reached, &err),
             &err);
}

static void count_batch(const side *s, const umbel_digest *d, bool *reached)
{
    uint64_t own[BATCH], counts[BATCH];
    umbel_error err;

    if (s->own)
        um_list_count(s->own, d, BATCH, own);
    want(umbel_sync_count_with(s->machine, 0, d, BATCH, s->own ? own : NULL,
                               counts, &err),
         &err);
    for (size_t i = 0; i < BATCH; i++)
        reached[i] = counts[i] >= THRESHOLD;
}

static void measure_chunk(side *s, const umbel_digest *d)
{
    bool reached[BATCH];
    double begin = cpu_seconds();

    for (size_t i = 0; i < CHUNK; i += BATCH) {
        if (s->verdicts)
            reach_batch(s, d + i, reached);
        else
            count_batch(s, d + i, reached);
        for (size_t j = 0; j < BATCH; j++)
            s->reached += reached[j];
    }
    double took = cpu_seconds() - begin;
    s->best = took < s->best ? took : s->best;
}

/* A key to look up: one in a hundred is of the other sort. */
static uint64_t draw_key(const reports *n, bool never, um_rng *rng)
{
    bool usual = um_random_below(rng, 100) > 0;

    if (never && usual)
        return n->keys + um_random_below(rng, UINT64_C(1) << 40);
    for (;;) {
        uint64_t key = um_random_below(rng, n->keys);
        if (never || usual == (n->times[key] < THRESHOLD))
            return key;
    }
}

/* The first two sides are the baselines. */
enum { ALL_AT_ONE, ONE_OF_FIVE, FIVE };

static bool print_side(const side *all, const side *s)
{
    double beside_all = s->best / all[ALL_AT_ONE].best,
           beside_one = s->best / all[ONE_OF_FIVE].best;
    bool missed =
        s->verdicts && (beside_all > MAX_COST || beside_one > MAX_COST);

    printf("    %-15s %5.0f ns  %.2f  %.2f%s\n", s->name, s->best / CHUNK * 1e9,
           beside_all, beside_one, missed ? "  MISSED" : "");
    return !missed;
}

static void check_answers(const side *s, size_t nsides)
{
    for (size_t i = FIVE; i < nsides; i++)
        if (s[i].reached != s[FIVE].reached) {
            fprintf(stderr, "bench_origins: %s answers otherwise\n", s[i].name);
            exit(EXIT_FAILURE);
        }
}

static bool compare_sides(const reports *r, bool never, side *s, size_t nsides)
{
    umbel_digest *d = need(malloc(CHUNK * sizeof *d));
    um_rng rng = {never + UINT64_C(1)};
    bool met = true;

    for (size_t i = 0; i < nsides; i++) {
        s[i].best = INFINITY;
        s[i].reached = 0;
    }
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        for (size_t i = 0; i < CHUNK; i++)
            d[i] = digest_of(draw_key(r, never, &rng));
        for (size_t i = 0; i < nsides; i++)
            measure_chunk(&s[i], d);
    }
    printf("  %s\n", never ? "99 % never came" : "99 % below 20");
    for (size_t i = 0; i < nsides; i++)
        met = print_side(s, &s[i]) && met;
    check_answers(s, nsides);
    free(d);
    return met;
}

static bool bench_lookups(uint64_t keys, unsigned percent)
{
    static const struct {
        const char *kind;
        double fpr; /* of a filter: a list's, over its epochs */
    } kinds[] = {{"table", 5e-6 / EPOCHS}, {"counting", 0.001}};
    bool met = true;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        reports r;
        open_reports(&r, kinds[k].kind, kinds[k].fpr, keys, percent);
        umbel_sync *five = machine_of(&r.five, 0, ORIGINS, true),
                   *four = machine_of(&r.five, 1, ORIGINS, true),
                   *plain = machine_of(&r.five, 0, ORIGINS, false),
                   *all = machine_of(&r.one, 0, 1, false),
                   *one = machine_of(&r.five, 0, 1, false);
        side sides[] = {
            [ALL_AT_ONE] = {.name = "all at one", .machine = all},
            [ONE_OF_FIVE] = {.name = "one of five", .machine = one},
            [FIVE] = {.name = "five", .machine = five, .verdicts = true},
            {.name = "server",
             .machine = four,
             .own = r.list,
             .verdicts = true},
            {.name = "five counted", .machine = five},
            {.name = "server counted", .machine = four, .own = r.list},
            {.name = "not indexed", .machine = plain},
        };
        size_t nsides = sizeof sides / sizeof *sides;
        printf("%s, %" PRIu64 " keys, filters %.0f %% and %.0f %% full; CPU "
               "time beside all at one, one of five\n",
               kinds[k].kind, keys, 100 * fill_of(&r.one),
               100 * fill_of(&r.five));
        met = compare_sides(&r, false, sides, nsides) && met;
        met = compare_sides(&r, true, sides, nsides) && met;
        umbel_sync_close(five);
        umbel_sync_close(four);
        umbel_sync_close(plain);
        umbel_sync_close(all);
        umbel_sync_close(one);
        close_reports(&r);
    }
    return met;
}

int main(int argc, char **argv)
{
    static const unsigned percent[] = {50, 99};

    bool met = true;

    for (size_t i = 0; i < sizeof percent / sizeof *percent; i++)
        met = bench_lookups(argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000,
                            percent[i]) &&
              met;
    return met ? EXIT_SUCCESS : EXIT_FAILURE;
}
