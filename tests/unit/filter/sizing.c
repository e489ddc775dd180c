/* sizing.c - parameters lead to a shape, or to an error with a reason. */
#include "support/test.h"

#include "filter/sizing.h"

#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parameters, and the expected status and words. */
typedef struct refusal {
    const char *kind;
    umbel_params params;
    umbel_status status;
    const char *word;
} refusal;

#define ASK(...)                                                               \
    {                                                                          \
        .size = sizeof(umbel_params), __VA_ARGS__                              \
    }

static const umbel_setting wheels = {"wheels", 4};

static const refusal refusals[] = {
    {NULL, ASK(.addressing = NULL), UMBEL_E_RANGE, "capacity"},
    {NULL, {.capacity = 10}, UMBEL_E_RANGE, "UMBEL_PARAMS_INIT"},
    {NULL, ASK(.capacity = 10, .fpr = 1), UMBEL_E_RANGE, "fpr"},
    {NULL, ASK(.capacity = 10, .fpr = -1), UMBEL_E_RANGE, "fpr"},
    {NULL, ASK(.capacity = 10, .fpr = NAN), UMBEL_E_RANGE, "fpr"},
    {NULL, ASK(.capacity = 10, .fpr = INFINITY), UMBEL_E_RANGE, "fpr"},
    {NULL, ASK(.capacity = 10, .hashes = 65), UMBEL_E_RANGE, "hashes"},
    {NULL, ASK(.capacity = 10, .hashes = UINT32_MAX), UMBEL_E_RANGE, "hashes"},
    {NULL, ASK(.cells = UINT64_C(1) << 60), UMBEL_E_RANGE, "cells"},
    {NULL, ASK(.cells = (UINT64_C(1) << 48) + 1), UMBEL_E_RANGE, "cells"},
    {NULL, ASK(.capacity = UINT64_MAX), UMBEL_E_RANGE, "capacity"},
    {NULL, ASK(.capacity = UINT64_C(1) << 48), UMBEL_E_RANGE, "keys"},
    {"blume", ASK(.capacity = 10), UMBEL_E_UNKNOWN, "kind \"blume\""},
    {"", ASK(.capacity = 10), UMBEL_E_UNKNOWN, "kind \"\""},
    {NULL, ASK(.capacity = 10, .addressing = "street"), UMBEL_E_UNKNOWN,
     "addressing \"street\""},
    {NULL, ASK(.capacity = 10, .hash = "browns"), UMBEL_E_UNKNOWN,
     "hash \"browns\""},
    {NULL, ASK(.capacity = 10, .settings = &wheels, .nsettings = 1),
     UMBEL_E_UNKNOWN, "setting \"wheels\""},
    {NULL, ASK(.capacity = 10, .hash = "md5"), UMBEL_E_RANGE, "hash md5"},
    {NULL, ASK(.capacity = 10, .hash = "integer"), UMBEL_E_RANGE,
     "hash integer"},
    {NULL, ASK(.capacity = 10, .addressing = "universal", .hash = "xxh3-64"),
     UMBEL_E_RANGE, "integer"},
    {NULL, ASK(.capacity = 10, .addressing = "chunks-md5", .seed = 1),
     UMBEL_E_RANGE, "seed"},
    {NULL, ASK(.capacity = 10, .hash = "sip"), UMBEL_E_SECRET, "secret"},
    {NULL, ASK(.capacity = 10, .secret = test_secret), UMBEL_E_SECRET,
     "secret"},
    {NULL, ASK(.capacity = 10, .addressing = "chunks-md5", .hashes = 3),
     UMBEL_E_RANGE, "3 hashes"},
    {NULL, ASK(.cells = 100, .addressing = "chunks-md5", .hashes = 3),
     UMBEL_E_RANGE, "3 hashes"},
    {NULL, ASK(.cells = 70000, .addressing = "chunks-md5", .hashes = 8),
     UMBEL_E_RANGE, "65536"},
    {NULL, ASK(.cells = 2100000012, .addressing = "universal", .hashes = 2),
     UMBEL_E_RANGE, "2100000011"},
    {NULL, ASK(.cells = 1, .addressing = "classic", .hashes = 1), UMBEL_E_RANGE,
     "cells"},
    {NULL, ASK(.cells = 5, .addressing = "partitioned", .hashes = 5),
     UMBEL_E_RANGE, "cells"},
    {NULL, ASK(.capacity = 1000000, .fpr = 1e-15), UMBEL_E_RANGE,
     "choose another addressing or hash"},
};

static void every_refusal_names_what_was_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        umbel_filter *f = NULL;
        assert_refused(umbel_create(r->kind, &r->params, &f, &test_refusal),
                       r->status, r->word);
        assert_null(f);
        assert_int_equal(umbel_create(r->kind, &r->params, &f, NULL),
                         r->status);
    }
}

static void every_number_of_hashes_from_1_to_64_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        for (uint32_t k = 1; k <= 64; k++) {
            umbel_params p = ASK(.addressing = test_own_addressing(i),
                                 .cells = 10000, .hashes = k);
            umbel_filter *f = test_open(&p);
            assert_int_equal(umbel_hashes(f), k);
            assert_true(umbel_cells(f) >= 10000);
            assert_true(umbel_cells(f) < 10000 + 512);
            umbel_close(f);
        }
}

/* MD5 is split into equal chunks, so their number divides 128. */
static void
an_impossible_number_of_hashes_is_answered_with_the_nearest(void **s)
{
    static const struct {
        const char *addressing;
        uint32_t hashes;
        const char *text;
    } row[] = {
        {"chunks-md5", 3, "cannot have 3 hashes; the nearest are 2 and 4"},
        {"chunks-md5", 7, "cannot have 7 hashes; the nearest are 4 and 8"},
        {"chunks-md5", 33, "the nearest are 32 and 64"},
        {"chunks-md5", 0, "cannot have 0 hashes; the nearest is 1"},
        {"blocked512", 0, "cannot have 0 hashes; the nearest is 1"},
        {"blocked512", 65, "cannot have 65 hashes; the nearest is 64"},
        {"classic", UINT32_MAX, "hashes; the nearest is 64"},
    };

    (void)s;
    for (size_t i = 0; i < TEST_COUNT(row); i++) {
        umbel_params p = ASK(.addressing = row[i].addressing, .cells = 512);
        um_shape shape;
        assert_ok(um_shape_from_params(NULL, &p, &shape, &test_refusal));
        shape.hashes = row[i].hashes;
        assert_refused(um_check_shape(&shape, &test_refusal), UMBEL_E_RANGE,
                       row[i].text);
    }
}

static void cells_and_keys_go_up_to_2_to_the_48(void **state)
{
    umbel_params p = ASK(.cells = (uint64_t)1 << 48, .hashes = 1,
                         .capacity = (uint64_t)1 << 48);
    um_shape s;

    (void)state;
    assert_ok(um_shape_from_params(NULL, &p, &s, &test_refusal));
    assert_ok(um_solve_size(&s, &test_refusal));
    p.cells++;
    assert_refused(um_shape_from_params(NULL, &p, &s, &test_refusal),
                   UMBEL_E_RANGE, "2^48");
    p.cells--;
    p.capacity++;
    assert_refused(um_shape_from_params(NULL, &p, &s, &test_refusal),
                   UMBEL_E_RANGE, "2^48");
}

static void zero_means_the_default(void **state)
{
    umbel_params p = ASK(.capacity = 1000);
    um_shape s;

    (void)state;
    assert_ok(um_shape_from_params(NULL, &p, &s, &test_refusal));
    assert_ok(um_solve_size(&s, &test_refusal));
    assert_string_equal(s.kind->name, "bloom");
    assert_string_equal(s.addressing->name, "blocked512");
    assert_string_equal(s.hash->name, "xxh3-64");
    assert_true(s.fpr == UM_DEFAULT_FPR);
    assert_true(s.cells > 0 && s.hashes > 0);
    assert_ok(um_check_shape(&s, &test_refusal));
}

static void addressings_of_papers_bring_their_hash(void **state)
{
    umbel_params p = ASK(.capacity = 10, .addressing = "chunks-md5");
    um_shape s;

    (void)state;
    assert_ok(um_shape_from_params(NULL, &p, &s, &test_refusal));
    assert_string_equal(s.hash->name, "md5");
    p.hash = "md5"; /* naming it is allowed */
    assert_ok(um_shape_from_params(NULL, &p, &s, &test_refusal));
}

/* Asserts that the size suffices, and that one granule less does not. */
static void check_least(const char *addressing, uint64_t keys, double fpr)
{
    umbel_params p = ASK(.addressing = addressing, .capacity = keys, .fpr = fpr,
                         .exact_size = true);
    um_shape s;

    assert_ok(um_shape_from_params(NULL, &p, &s, &test_refusal));
    assert_ok(um_solve_size(&s, &test_refusal));
    assert_true(um_shape_error(&s, (double)keys) <= fpr);
    s.cells -= um_granule(s.addressing, s.hashes);
    if (um_check_shape(&s, NULL) == UMBEL_OK)
        assert_true(um_shape_error(&s, (double)keys) > fpr);
}

static void sizes_are_the_smallest_that_suffice(void **state)
{
    static const uint64_t keys[] = {1, 2, 10, 1000, 50000};
    static const double errors[] = {0.5, 0.05, 0.01, 0.001, 1e-6};

    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        for (size_t n = 0; n < TEST_COUNT(keys); n++)
            for (size_t e = 0; e < TEST_COUNT(errors); e++)
                check_least(test_own_addressing(i), keys[n], errors[e]);
}

static um_shape solve_for(const char *kind, umbel_params p)
{
    um_shape s;

    assert_ok(um_shape_from_params(kind, &p, &s, &test_refusal));
    assert_ok(um_solve_size(&s, &test_refusal));
    return s;
}

static uint64_t parts_of(const um_shape *s)
{
    um_layout l;

    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    return um_fold_parts(&l);
}

/* Where 0.5 % are 12 parts, one of the sizes can be folded by 2, 3, 4 and 6. */
static void sizes_can_be_folded(void **state)
{
    static const char *const addressings[] = {"blocked512", "classic",
                                              "partitioned"};
    static const char *const kinds[] = {"bloom", "counting"};

    (void)state;
    for (uint64_t i = 0; i < 60; i++) {
        umbel_params p = ASK(.addressing = addressings[i % 3],
                             .capacity = 1 + i * i * i * 97);
        um_shape s = solve_for(kinds[i % 2], p);
        p.exact_size = true;
        um_shape exact = solve_for(kinds[i % 2], p);
        assert_in_range(s.cells, exact.cells, exact.cells + exact.cells / 200);
        assert_int_equal(s.hashes, exact.hashes);
        assert_true(um_shape_error(&s, (double)p.capacity) <= UM_DEFAULT_FPR);
        if (parts_of(&exact) >= 12 * 200) {
            assert_int_equal(parts_of(&s) % 2, 0);
            assert_true(parts_of(&s) % 3 == 0 || parts_of(&s) % 4 == 0);
        }
    }
}

/* Addressings of papers and of other programs use the sizes these prescribe. */
static void foreign_sizes_are_not_rounded(void **state)
{
    static const char *const addressings[] = {"universal", "chunks-md5",
                                              "dcso"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(addressings); i++) {
        umbel_params p =
            ASK(.addressing = addressings[i], .capacity = 40000, .fpr = 0.01);
        um_shape s = solve_for("bloom", p);
        p.exact_size = true;
        assert_int_equal(s.cells, solve_for("bloom", p).cells);
    }
}

static void every_addressing_can_be_sized_by_error(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        umbel_params p = ASK(.addressing = um_addressing_row(i)->name,
                             .capacity = 500, .fpr = 0.01);
        umbel_filter *f = test_open(&p);
        /* A prescribed size may miss the error slightly. */
        bool sought = !um_addressing_row(i)->size;
        assert_true(umbel_fpr_at(f, 500) <= (sought ? 0.01 : 0.0102));
        umbel_close(f);
    }
}

/* Checks that the number of hashes is the best one for a given size. */
static void a_given_size_gets_the_best_hashes(void **state)
{
    umbel_params p =
        ASK(.addressing = "classic", .cells = 9586, .capacity = 1000);
    umbel_filter *best = test_open(&p);

    (void)state;
    assert_int_equal(umbel_cells(best), 9586);
    assert_in_range(umbel_hashes(best), 6, 7);
    for (p.hashes = 1; p.hashes <= 20; p.hashes++) {
        umbel_filter *f = test_open(&p);
        assert_true(umbel_fpr_at(best, 1000) <= umbel_fpr_at(f, 1000));
        umbel_close(f);
    }
    umbel_close(best);
}

static void
a_size_without_capacity_takes_hashes_that_suit_the_error(void **state)
{
    umbel_params p = ASK(.addressing = "classic", .cells = 5000, .fpr = 0.01);
    umbel_filter *f = test_open(&p);

    (void)state;
    assert_in_range(umbel_hashes(f), 6, 7);
    umbel_close(f);
}

/* With a size but no error, the target is the error of that size. */
static void a_size_for_a_capacity_aims_at_its_own_error(void **state)
{
    umbel_params p = ASK(.cells = 8192, .capacity = 1000);
    umbel_filter *own = test_open(&p);

    (void)state;
    assert_near(umbel_target_fpr(own), umbel_fpr_at(own, 1000), 0);
    p.fpr = 0.2;
    umbel_filter *asked = test_open(&p);
    assert_near(umbel_target_fpr(asked), 0.2, 0);
    umbel_close(own);
    umbel_close(asked);
}

static void sizes_are_rounded_up_to_whole_granules(void **state)
{
    static const struct {
        const char *addressing;
        uint64_t cells;
    } want[] = {{"classic", 1000},
                {"partitioned", 1001},
                {"blocked256", 1024},
                {"blocked512", 1024}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(want); i++) {
        umbel_params p =
            ASK(.addressing = want[i].addressing, .cells = 1000, .hashes = 7);
        umbel_filter *f = test_open(&p);
        assert_int_equal(umbel_cells(f), want[i].cells);
        umbel_close(f);
    }
}

/* Collisions of digests limit the error at any size. */
static void short_digests_put_a_floor_under_the_error(void **state)
{
    umbel_params p = ASK(.capacity = 1 << 20, .hash = "xxh3-64");
    um_shape s;

    (void)state;
    assert_ok(um_shape_from_params(NULL, &p, &s, &test_refusal));
    assert_true(um_digest_error(&s, 1 << 20) == ldexp(1, 20 - 64));
    p.hash = "xxh3-128";
    p.fpr = 1e-15; /* refused above, with 64 bits */
    assert_ok(um_shape_from_params(NULL, &p, &s, &test_refusal));
    assert_true(um_digest_error(&s, 1 << 20) == ldexp(1, 20 - 128));
    assert_ok(um_solve_size(&s, &test_refusal));
}

static void most_keys_are_the_most(void **state)
{
    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++) {
        umbel_params p = ASK(.addressing = test_own_addressing(i),
                             .cells = 65536 * 7, .hashes = 7);
        um_shape s;
        assert_ok(um_shape_from_params(NULL, &p, &s, &test_refusal));
        double most = (double)um_max_keys(&s, 0.01);
        assert_true(um_shape_error(&s, most) <= 0.01);
        assert_true(um_shape_error(&s, most + 1) > 0.01);
    }
}

/* Simulates a program compiled with a later header. */
static void later_params_are_taken_when_they_ask_for_nothing_new(void **state)
{
    struct {
        umbel_params p;
        uint64_t later[2];
    } x = {.p = UMBEL_PARAMS_INIT};
    umbel_filter *f = NULL;

    (void)state;
    x.p.size = sizeof x;
    x.p.capacity = 10;
    assert_ok(umbel_create(NULL, &x.p, &f, &test_refusal));
    umbel_close(f);
    for (size_t i = 0; i < TEST_COUNT(x.later); i++) {
        x.later[i] = 1;
        assert_refused(umbel_create(NULL, &x.p, &f, &test_refusal),
                       UMBEL_E_UNSUPPORTED, "use a newer umbel");
        x.later[i] = 0;
    }
}

static void an_unknown_setting_is_answered_with_the_known_ones(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.capacity = 10;
    p.settings = &wheels;
    p.nsettings = 1;
    assert_refused(umbel_create("counting", &p, &f, &test_refusal),
                   UMBEL_E_UNKNOWN, "; it has cell_bits, update");
    assert_refused(umbel_create("bloom", &p, &f, &test_refusal),
                   UMBEL_E_UNKNOWN, "; it has groups");
}

/* A filter whose error is 1 at its capacity has no target. */
static void a_size_that_errs_always_can_be_saved(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *back = NULL;
    size_t len;

    (void)state;
    p.cells = 512;
    p.hashes = 4;
    p.capacity = 1000000000;
    umbel_filter *f = test_open(&p);
    uint8_t *bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    test_assert_same_file(f, back);
    umbel_close(back);
    umbel_close(f);
    free(bytes);
}

/* 64 cells and one hash: one key already gives an error of 1/64. */
static void a_filter_may_have_room_for_no_key_at_all(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_size_plan plan;

    (void)state;
    p.addressing = "classic";
    p.cells = 64;
    p.hashes = 1;
    p.fpr = 0.01;
    assert_ok(umbel_plan_size("bloom", &p, 0, &plan, &test_refusal));
    assert_int_equal(plan.keys, 0);
    p.fpr = 0.02;
    assert_ok(umbel_plan_size("bloom", &p, 0, &plan, &test_refusal));
    assert_int_equal(plan.keys, 1);
}

TEST_GROUP(sizing)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_params_are_taken_when_they_ask_for_nothing_new),
        cmocka_unit_test(an_unknown_setting_is_answered_with_the_known_ones),
        cmocka_unit_test(a_size_that_errs_always_can_be_saved),
        cmocka_unit_test(a_filter_may_have_room_for_no_key_at_all),
        cmocka_unit_test(every_refusal_names_what_was_wrong),
        cmocka_unit_test(every_number_of_hashes_from_1_to_64_is_taken),
        cmocka_unit_test(
            an_impossible_number_of_hashes_is_answered_with_the_nearest),
        cmocka_unit_test(cells_and_keys_go_up_to_2_to_the_48),
        cmocka_unit_test(zero_means_the_default),
        cmocka_unit_test(addressings_of_papers_bring_their_hash),
        cmocka_unit_test(sizes_are_the_smallest_that_suffice),
        cmocka_unit_test(sizes_can_be_folded),
        cmocka_unit_test(foreign_sizes_are_not_rounded),
        cmocka_unit_test(every_addressing_can_be_sized_by_error),
        cmocka_unit_test(a_given_size_gets_the_best_hashes),
        cmocka_unit_test(
            a_size_without_capacity_takes_hashes_that_suit_the_error),
        cmocka_unit_test(a_size_for_a_capacity_aims_at_its_own_error),
        cmocka_unit_test(sizes_are_rounded_up_to_whole_granules),
        cmocka_unit_test(short_digests_put_a_floor_under_the_error),
        cmocka_unit_test(most_keys_are_the_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
