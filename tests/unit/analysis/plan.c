/*
 * plan.c - any two of keys, error and size give the third.
 */
#include "support/test.h"

#include "filter/addressing/addressing.h"
#include "filter/kind.h"

#include <umbel/plan.h>

#include <math.h>
#include <string.h>

static umbel_size_plan plan(const umbel_params *p, uint64_t bytes)
{
    umbel_size_plan out = {0};

    assert_ok(umbel_plan_size(NULL, p, bytes, &out, &test_refusal));
    return out;
}

static double bits_per_key(const char *addressing)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.capacity = 1000000;
    p.fpr = 0.01;
    return plan(&p, 0).bits_per_key;
}

/* ln(1/p) / ln(2)^2 is the minimum with one bit per cell: 9.585 at 1 %. */
static void a_million_keys_at_one_per_cent_take_the_known_bits(void **state)
{
    (void)state;
    assert_near(bits_per_key("classic"), 9.585, 0.01 * 9.585);
    assert_near(bits_per_key("partitioned"), 9.585, 0.01 * 9.585);
    assert_true(bits_per_key("blocked512") <= 10.2);
    assert_true(bits_per_key("blocked256") <= 10.6);
}

/* Plans a size from keys and error, and from that size keys and error again. */
static void check_circle(const char *addressing, uint64_t keys, double fpr)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.capacity = keys;
    p.fpr = fpr;
    umbel_size_plan size = plan(&p, 0);
    assert_int_equal(size.keys, keys);
    assert_true(size.error <= fpr);

    p.capacity = 0;
    p.cells = size.cells;
    umbel_size_plan most = plan(&p, 0);
    assert_true(most.keys >= keys);
    assert_true(most.error <= fpr);

    p.capacity = keys;
    umbel_size_plan error = plan(&p, 0);
    assert_true(error.error <= size.error * (1 + 1e-9));
    assert_int_equal(error.keys, keys);
}

static void plans_agree_with_each_other_backwards(void **state)
{
    static const uint64_t keys[] = {10, 1000, 30000};
    static const double errors[] = {0.05, 0.01, 0.0001};

    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        for (size_t n = 0; n < TEST_COUNT(keys); n++)
            for (size_t e = 0; e < TEST_COUNT(errors); e++)
                check_circle(test_own_addressing(i), keys[n], errors[e]);
    check_circle("universal", 1000, 0.01);
    check_circle("chunks-md5", 1000, 0.01);
}

/*
 * Checks that a plan for a number of bytes does not exceed it and wastes less
 * than 1/16.
 */
static void check_bytes(const char *addressing, uint64_t bytes, uint64_t keys)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.capacity = keys;
    p.fpr = keys ? 0 : 0.01;
    umbel_size_plan out = plan(&p, bytes);
    assert_true(out.bytes <= bytes);
    assert_true(out.bytes > bytes - bytes / 16 - 64);
    assert_true(out.error < (keys ? 0.5 : 0.01 * (1 + 1e-9)));
    if (keys)
        assert_int_equal(out.keys, keys);
    else
        assert_true(out.keys > 0);
}

static void bytes_are_respected(void **state)
{
    static const uint64_t sizes[] = {1024, 4000, 4097, 100000};

    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        for (size_t j = 0; j < TEST_COUNT(sizes); j++) {
            /*
             * 16-bit chunks address only 65,536 cells, so it uses fewer hashes
             */
            check_bytes(um_addressing_row(i)->name, sizes[j], 0);
            check_bytes(um_addressing_row(i)->name, sizes[j], sizes[j] / 2);
        }
}

/* The number of keys is known last, and its length in the head varies. */
static void keys_that_lengthen_the_head_are_within_the_bytes(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    uint64_t bytes = (UINT64_C(1) << 39) + 1000;

    (void)state;
    p.addressing = "classic";
    p.seed = 1 << 20;
    p.fpr = 0.0100000000001;
    umbel_size_plan out = plan(&p, bytes);
    assert_true(out.bytes <= bytes && out.bytes > bytes - 192);
}

static void given_hashes_are_kept(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.capacity = 1000;
    p.fpr = 0.01;
    for (p.hashes = 3; p.hashes <= 12; p.hashes++)
        for (uint64_t bytes = 0; bytes <= 4096; bytes += 4096) {
            umbel_size_plan out = plan(&p, bytes);
            assert_int_equal(out.hashes, p.hashes);
        }
}

/* Checks that a created filter matches its plan. */
static void opening_gives_what_was_planned(void **state)
{
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        umbel_params p = test_combo_params(&c);
        p.capacity = 100;
        p.fpr = 0.02;
        umbel_size_plan want = plan(&p, 0);
        umbel_filter *f = test_open(&p);
        assert_int_equal(umbel_cells(f), want.cells);
        assert_int_equal(umbel_hashes(f), want.hashes);
        assert_int_equal(umbel_encoded_len(f), want.bytes);
        assert_near(umbel_fpr_at(f, 100), want.error, 0);
        assert_near(want.bits_per_key, (double)want.cells / 100, 1e-12);
        umbel_close(f);
    }
}

static void the_digests_part_of_the_error_is_stated(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.capacity = 1000000;
    assert_near(plan(&p, 0).digest_error, ldexp(1e6, -64), 1e-30);
    p.hash = "xxh3-128";
    assert_near(plan(&p, 0).digest_error, ldexp(1e6, -128), 1e-50);
}

static void plans_that_cannot_be_say_why(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_size_plan out = {.keys = 42};

    (void)state;
    assert_refused(umbel_plan_size(NULL, &p, 0, &out, &test_refusal),
                   UMBEL_E_RANGE, "capacity");
    assert_refused(umbel_plan_size(NULL, &p, 100, &out, &test_refusal),
                   UMBEL_E_RANGE, "100 bytes");
    assert_refused(umbel_plan_size(NULL, NULL, 0, &out, &test_refusal),
                   UMBEL_E_RANGE, "capacity");
    p.cells = 1000;
    assert_refused(umbel_plan_size(NULL, &p, 1000, &out, &test_refusal),
                   UMBEL_E_RANGE, "give the size once");
    assert_refused(umbel_plan_size("bloo", &p, 0, &out, &test_refusal),
                   UMBEL_E_UNKNOWN, "bloo");
    assert_int_equal(out.keys, 42);
}

/* Covers few keys in much memory, many in little, and absurd limits. */
static void plans_for_the_wire_keep_their_bounds(void **state)
{
    static const uint64_t keys[] = {1, 10, 1000, 50000, 1000000000000};
    static const uint64_t bytes[] = {1, 192, 1000, 100000, UINT64_MAX};
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(keys) * TEST_COUNT(bytes); i++)
        for (int huge = 0; huge < 2; huge++) {
            umbel_params p = UMBEL_PARAMS_INIT;
            uint64_t wire = bytes[i % TEST_COUNT(bytes)];
            umbel_wire_plan out = {.wire_bytes = 42};
            p.capacity = keys[i / TEST_COUNT(bytes)];
            if (umbel_plan_wire(NULL, &p, wire, huge ? UINT64_MAX : 0, &out,
                                &test_refusal) != UMBEL_OK) {
                assert_int_equal(out.wire_bytes, 42);
                continue;
            }
            n++;
            assert_in_range(out.wire_bytes, 64, wire);
            assert_true(out.wire_bytes <= out.plan.bytes + 64);
            assert_true(huge || out.plan.bytes <= 1u << 28);
            assert_true(out.fill > 0 && out.fill <= 0.5);
        }
    assert_true(n > 20);
}

static void plans_for_the_wire_take_the_callers_memory(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    test_memory m = {.fail_at = 1};
    umbel_alloc alloc = test_alloc(&m);
    umbel_wire_plan out;

    (void)state;
    p.capacity = 1000;
    p.alloc = &alloc;
    assert_refused(umbel_plan_wire(NULL, &p, 5000, 0, &out, &test_refusal),
                   UMBEL_E_NOMEM, "memory");
    m.fail_at = 0;
    assert_ok(umbel_plan_wire(NULL, &p, 5000, 0, &out, &test_refusal));
    assert_true(m.calls > 1);
    assert_int_equal(m.live_blocks, 0);
}

TEST_GROUP(plan)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_keys_at_one_per_cent_take_the_known_bits),
        cmocka_unit_test(plans_agree_with_each_other_backwards),
        cmocka_unit_test(bytes_are_respected),
        cmocka_unit_test(keys_that_lengthen_the_head_are_within_the_bytes),
        cmocka_unit_test(given_hashes_are_kept),
        cmocka_unit_test(opening_gives_what_was_planned),
        cmocka_unit_test(the_digests_part_of_the_error_is_stated),
        cmocka_unit_test(plans_that_cannot_be_say_why),
        cmocka_unit_test(plans_for_the_wire_keep_their_bounds),
        cmocka_unit_test(plans_for_the_wire_take_the_callers_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
