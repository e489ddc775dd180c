/*
 * test_reads.c - admission makes no more reads of cells than it charges,
 * whatever the cells are.
 *
 *   test_reads [ROUNDS SEED]
 *
 * forges ROUNDS filters of every target of papers/forgeries. This program has a
 * copy of the code of filters that was compiled with a call for every load and
 * store (-fsanitize=thread, without its runtime): the functions below count
 * them.
 */
#include "support/rulings.h"

#include "analysis/analysis.h"
#include "filter/handle.h"
#include "papers/forgeries/forge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- counting loads ------------------------------------------------------- */

static struct {
    uintptr_t from, end; /* the payload */
    uint64_t cells, all; /* loads from there; loads and stores anywhere */
} counted;

static void count_load(const void *at)
{
    uintptr_t where = (uintptr_t)at;

    counted.all++;
    counted.cells += where >= counted.from && where < counted.end;
}

#define LOAD(name)                                                             \
    void name(const void *at);                                                 \
    void name(const void *at)                                                  \
    {                                                                          \
        count_load(at);                                                        \
    }
#define STORE(name)                                                            \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
        counted.all++;                                                         \
    }
#define NEVER(name)                                                            \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
        abort();                                                               \
    }
#define CALL(name)                                                             \
    void name(void);                                                           \
    void name(void)                                                            \
    {                                                                          \
    }

LOAD(__tsan_read1)
LOAD(__tsan_read2)
LOAD(__tsan_read4)
LOAD(__tsan_read8)
LOAD(__tsan_read16)
LOAD(__tsan_unaligned_read2)
LOAD(__tsan_unaligned_read4)
LOAD(__tsan_unaligned_read8)
LOAD(__tsan_unaligned_read16)
LOAD(__tsan_read_range)
STORE(__tsan_write1)
STORE(__tsan_write2)
STORE(__tsan_write4)
STORE(__tsan_write8)
STORE(__tsan_write16)
STORE(__tsan_unaligned_write2)
STORE(__tsan_unaligned_write4)
STORE(__tsan_unaligned_write8)
STORE(__tsan_unaligned_write16)
STORE(__tsan_write_range)
/* Filters are not shared here. */
NEVER(__tsan_atomic64_load)
NEVER(__tsan_atomic64_fetch_or)
NEVER(__tsan_atomic64_compare_exchange_weak)
NEVER(__tsan_atomic8_exchange)
NEVER(__tsan_atomic8_store)
CALL(__tsan_init)
CALL(__tsan_func_entry)
CALL(__tsan_func_exit)

/* --- admission ------------------------------------------------------------ */

static struct {
    uint64_t rounds, seed;
} asked = {40, 1};

/* The most of any filter: loads of cells for each read that was charged; loads
 * and stores, for each read that is allowed. */
static struct {
    double cells, all;
} most;

enum { ALL_PER_READ = 8 }; /* at most 2.25 were seen */

static void expect_charged(const umbel_filter *f, const char *name,
                           double max_error)
{
    umbel_admission w = test_no_demand;
    umbel_ruling r;
    uint64_t reads;

    w.max_error = max_error;
    counted.from = (uintptr_t)f->payload;
    counted.end = counted.from + f->payload_len;
    counted.cells = counted.all = 0;
    assert_ok(um_admit_counted(f, &w, &r, &reads, &test_refusal));
    uint64_t cells = counted.cells, all = counted.all;
    uint64_t limit = um_max_reads(f);
    if (cells > reads || cells > limit || all > ALL_PER_READ * limit)
        print_error("%s, %zu bytes: %llu loads of cells, %llu charged, %llu "
                    "loads and stores\n",
                    name, f->payload_len, (unsigned long long)cells,
                    (unsigned long long)reads, (unsigned long long)all);
    assert_true(cells <= reads);
    assert_true(cells <= limit);
    assert_true(all <= ALL_PER_READ * limit);
    most.cells = fmax(most.cells, (double)cells / (double)reads);
    most.all = fmax(most.all, (double)all / (double)limit);
}

/* The filter that a target makes of these random numbers. */
static void expect_forged_charged(const target *t, uint64_t random)
{
    um_rng rng = {random};
    umbel_filter *f = NULL;

    assert_ok(t->forge(t, &rng, &f, &test_refusal));
    expect_charged(f, t->name, t->budget);
    umbel_close(f);
}

/* Its last windows are read byte by byte: 1,560 loads of 64 bytes. */
static void the_ends_of_a_small_ribbon_are_charged(void **state)
{
    size_t t = 0;

    (void)state;
    while (strcmp(targets[t].name, "ribbon in partitions") != 0)
        assert_true(++t < TARGETS);
    expect_forged_charged(&targets[t], um_mix(um_mix(7) + 21) + 304);
}

static void forged_filters_cost_no_more_than_is_charged(void **state)
{
    (void)state;
    for (size_t t = 0; t < TARGETS; t++)
        for (uint64_t i = 0; i < asked.rounds; i++)
            expect_forged_charged(&targets[t],
                                  um_mix(um_mix(asked.seed) + t) + i);
    print_message("at most %.4f loads for each read charged, %.3g loads and "
                  "stores for each allowed\n",
                  most.cells, most.all);
    assert_true(most.cells > 0.9); /* they are counted, and charges are tight */
}

/* An honest filter, and one of ones. */
static void expect_both_charged(umbel_filter *f)
{
    expect_charged(f, umbel_kind(f), 0.01);
    memset(f->payload, 0xFF, f->payload_len);
    um_clear_padding(f);
    expect_charged(f, umbel_kind(f), 0.01);
    umbel_close(f);
}

/* The second size shows what grows faster than the payload. */
static void no_shape_costs_more_than_is_charged(void **state)
{
    static const size_t sizes[] = {1000, 100000};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *near = NULL;
    test_combo c;

    (void)state;
    for (size_t k = 0; k < TEST_COUNT(sizes); k++) {
        for (size_t i = 0; test_combo_at(i, &c); i++) {
            umbel_params combo = test_combo_params(&c);
            expect_both_charged(test_made(c.kind, &combo, sizes[k], 1000));
        }
        p.cells = sizes[k];
        assert_ok(umbel_create("near", &p, &near, &test_refusal));
        expect_both_charged(near);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ends_of_a_small_ribbon_are_charged),
        cmocka_unit_test(forged_filters_cost_no_more_than_is_charged),
        cmocka_unit_test(no_shape_costs_more_than_is_charged),
    };

    if (argc > 2) {
        asked.rounds = strtoull(argv[1], NULL, 10);
        asked.seed = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
