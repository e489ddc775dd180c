/*
 * cases.c - the table of cases.
 *
 * Adds change the filter, so they come last for each subject; those to the
 * shared copy are undone. Counters may saturate: no loop over lines of counters
 * branches on their values.
 */
#include "bench/cases.h"

#include "base/cpu.h"
#include "base/error.h"
#include "bench/inlined.h"

#include <umbel/filter.h>
#include <umbel/inline.h>
#include <umbel/umbel.h>

static void query_batch(um_bench *b, size_t from, size_t n)
{
    umbel_query_fixed(b->filter, b->keys + from, 8, n, b->hit, NULL);
}

static void query_mixed(um_bench *b, size_t from, size_t n)
{
    umbel_query_fixed(b->filter, b->mixed + from, 8, n, b->hit, NULL);
}

static void add_batch(um_bench *b, size_t from, size_t n)
{
    umbel_add_fixed(b->filter, b->keys + from, 8, n, NULL, NULL);
}

static void query_single(um_bench *b, size_t from, size_t n)
{
    const umbel_filter *f = b->filter;
    const uint64_t *key = b->keys + from;
    bool *hit = b->hit;

    for (size_t i = 0; i < n; i++)
        umbel_query(f, key + i, 8, hit, NULL);
}

static void add_single(um_bench *b, size_t from, size_t n)
{
    umbel_filter *f = b->filter;
    const uint64_t *key = b->keys + from;

    for (size_t i = 0; i < n; i++)
        umbel_add(f, key + i, 8, NULL, NULL);
}

static void string_single(um_bench *b, size_t from, size_t n)
{
    const umbel_filter *f = b->filter;
    const char *text = b->strings + from * UM_BENCH_STRING;
    bool *hit = b->hit;

    for (size_t i = 0; i < n; i++)
        umbel_query(f, text + i * UM_BENCH_STRING, UM_BENCH_STRING, hit, NULL);
}

/* A loop compiled for AVX2, and a plain one. */
typedef struct loops {
    um_bench_inlined *avx2, *plain;
} loops;

static const loops queries = {um_bench_inlined_avx2, um_bench_inlined_plain};
static const loops hashes = {um_bench_hashed_avx2, um_bench_hashed_plain};

/* Runs a loop on a view, which stays valid as long as no keys are added. */
static void run_inlined(um_bench *b, const loops *l, const void *keys,
                        size_t len, size_t n)
{
    umbel_view view;

    if (umbel_view_init(&view, b->filter, NULL) != UMBEL_OK)
        return;
#ifdef __x86_64__
    if (um_has_avx2()) {
        l->avx2(&view, keys, len, n, b->hit);
        return;
    }
#endif
    l->plain(&view, keys, len, n, b->hit);
}

static void query_inline(um_bench *b, size_t from, size_t n)
{
    run_inlined(b, &queries, b->keys + from, 8, n);
}

static void string_inline(um_bench *b, size_t from, size_t n)
{
    run_inlined(b, &queries, b->strings + from * UM_BENCH_STRING,
                UM_BENCH_STRING, n);
}

static void hash_single(um_bench *b, size_t from, size_t n)
{
    run_inlined(b, &hashes, b->keys + from, 8, n);
}

static void hash_string(um_bench *b, size_t from, size_t n)
{
    run_inlined(b, &hashes, b->strings + from * UM_BENCH_STRING,
                UM_BENCH_STRING, n);
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

static const um_bench_subject blocked256 = {.kind = "bloom",
                                            .addressing = "blocked256"};
static const um_bench_subject blocked512 = {
    .kind = "bloom", .addressing = "blocked512", .shares = true};
static const um_bench_subject classic = {.kind = "bloom",
                                         .addressing = "classic"};
#define COUNTS(bits, way)                                                      \
    {                                                                          \
        .kind = "counting", .addressing = "blocked128", .set = {               \
            {"cell_bits", bits},                                               \
            {"update", way}                                                    \
        }                                                                      \
    }
static const um_bench_subject plain4 = COUNTS(4, 0), refined4 = COUNTS(4, 1);
static const um_bench_subject plain8 = COUNTS(8, 0), refined8 = COUNTS(8, 1);
#define GENERALIZED(k)                                                         \
    {                                                                          \
        .kind = "generalized", .addressing = "blocked512",                     \
        .set = {{"reset", k}, {"set", k}}, .beside = &blocked512               \
    }
static const um_bench_subject four = GENERALIZED(4), eight = GENERALIZED(8);
static const um_bench_subject ribbon = {.kind = "ribbon"};

#define STREAM                                                                 \
    .rival = "of counting, 8 bits, plain, classic",                            \
    .sizes = {10000, 1000000, 6000000}

#define FILL_SIZES .sizes = {10000, 1000000}

/*
 * Bars were set in nanoseconds on another machine, where reading a line took
 * 0.86 ns at 10^4 keys and 2.14 ns at 10^6, and reading and writing one 1.11
 * and 2.45. They are used as multiples of these times. 0 means no bar at that
 * size.
 */
#define BAR_READ(small, large)                                                 \
    .bar = {.times_limit = {(small) / 0.86, (large) / 2.14}}
#define BAR_WRITE(small, large)                                                \
    .bar = {.times_limit = {(small) / 1.11, (large) / 2.45}}
#define BAR_TWO .bar = {.times_one = 1.7}

const um_bench_case um_bench_cases[] = {
    {"blocked256-query-batch", &blocked256, .run = query_batch},
    {"blocked256-query-single", &blocked256, .run = query_single,
     BAR_READ(3.0, 5.0)},
    {"blocked256-query-inline", &blocked256, .run = query_inline,
     BAR_READ(2.0, 3.6)},
    {"blocked256-add-batch", &blocked256, .run = add_batch, .writes = true,
     BAR_WRITE(0, 2.8)},
    {"blocked256-add-single", &blocked256, .run = add_single, .writes = true,
     BAR_WRITE(5, 8)},
    {"blocked512-query-batch", &blocked512, .run = query_batch},
    {"blocked512-query-single", &blocked512, .run = query_single,
     BAR_READ(3.0, 5.0)},
    {"blocked512-query-inline", &blocked512, .run = query_inline,
     BAR_READ(2.0, 3.6)},
    {"blocked512-hash-single", &blocked512, .run = hash_single},
    {"string16-query-batch", &blocked512, .run = string_batch},
    {"string16-query-single", &blocked512, .run = string_single,
     BAR_READ(4.0, 7.0)},
    {"string16-query-inline", &blocked512, .run = string_inline},
    {"string16-hash-single", &blocked512, .run = hash_string},
    {"shared-query-batch", &blocked512, .run = shared_query_batch,
     BAR_READ(2.8, 4.2)},
    {"shared-query-two", &blocked512, .run = shared_query_two,
     .one = shared_query_batch},
    {"shared-add-batch", &blocked512, .run = shared_add_batch, .writes = true},
    {"shared-add-two", &blocked512, .run = shared_add_two, .writes = true,
     .one = shared_add_batch},
    {"blocked512-add-batch", &blocked512, .run = add_batch, .writes = true},
    {"blocked512-add-single", &blocked512, .run = add_single, .writes = true,
     BAR_WRITE(5, 8)},
    {"classic-query-miss", &classic, .run = query_batch},
    {"classic-query-mixed", &classic, .run = query_mixed, BAR_READ(10, 13)},
    {"classic-add-batch", &classic, .run = add_batch, .writes = true,
     BAR_WRITE(9, 12)},
    {"counting4-query-batch", &plain4, .run = query_batch},
    {"counting4-query-single", &plain4, .run = query_single},
    {"counting4-plain-add-batch", &plain4, .run = add_batch, .writes = true},
    {"counting4-refined-add-batch", &refined4, .run = add_batch,
     .writes = true},
    {"counting8-query-batch", &plain8, .run = query_batch},
    {"counting8-plain-add-batch", &plain8, .run = add_batch, .writes = true},
    {"counting8-refined-add-batch", &refined8, .run = add_batch,
     .writes = true},
    {"generalized4-query-batch", &four, .run = query_batch},
    {"generalized4-add-batch", &four, .run = add_batch, .writes = true},
    {"generalized8-query-batch", &eight, .run = query_batch},
    {"generalized8-add-batch", &eight, .run = add_batch, .writes = true},
    {"ribbon-query-batch", &ribbon, .run = query_batch, BAR_READ(9, 0)},
    {"tally-add-stream", .alone = um_bench_tally_adds, STREAM},
    {"tally-count-stream", .alone = um_bench_tally_counts, STREAM},
    {"shared-fill-batch", .alone = um_bench_fill_batch, FILL_SIZES,
     BAR_WRITE(10, 16)},
    {"shared-fill-batch-two", .alone = um_bench_fill_batch_two, FILL_SIZES,
     BAR_TWO},
    {"shared-fill-single", .alone = um_bench_fill_single, FILL_SIZES},
    {"shared-fill-single-two", .alone = um_bench_fill_single_two, FILL_SIZES,
     BAR_TWO},
    {"ribbon-build", .alone = um_bench_ribbon_builds,
     .sizes = {10000, 1000000, 10000000}, BAR_WRITE(250, 130)},
};

const size_t um_bench_ncases = UM_COUNT(um_bench_cases);

bool um_bench_has_bar(const um_bench_case *c)
{
    const um_bench_bar *bar = &c->bar;
    return bar->times_limit[0] > 0 || bar->times_limit[1] > 0 ||
           bar->times_one > 0;
}

double um_bench_bar_at(const um_bench_case *c, uint64_t n)
{
    if (n == 10000)
        return c->bar.times_limit[0];
    return n == 1000000 ? c->bar.times_limit[1] : 0;
}
