/* scalable.c - the kind that grows: its error, its memory, what it refuses. */
#include "support/test.h"

#include "filter/handle.h"
#include "filter/head.h"

#include <umbel/file.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static umbel_filter *grown(double fpr, uint64_t capacity, size_t keys)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.fpr = fpr;
    p.capacity = capacity;
    assert_ok(umbel_create("scalable", &p, &f, &test_refusal));
    test_add(f, 0, keys);
    return f;
}

static void it_keeps_its_error_and_its_keys_while_it_grows(void **state)
{
    enum { OUTSIDE = 20000 };
    umbel_filter *f = grown(0.01, 0, 0);
    size_t keys = 0;

    (void)state;
    for (size_t next = 512; next <= 1 << 16; next *= 2) {
        test_add(f, keys, next - keys);
        keys = next;
        double p = umbel_predict(f);
        double rate = (double)test_hits(f, 1 << 20, OUTSIDE) / OUTSIDE;
        assert_true(p < 0.01 && umbel_fpr_at(f, (double)keys) < 0.01);
        assert_near(rate, p, 5 * sqrt(p / OUTSIDE));
        assert_near(umbel_fpr_at(f, (double)keys) / p, 1, 0.25);
        assert_int_equal(test_hits(f, 0, keys), keys);
        /* At most twice the minimum, just after growing. */
        assert_true(keys < 4096 ||
                    (double)umbel_encoded_len(f) < 4.4 * (double)keys);
    }
    umbel_close(f);
}

static void smaller_errors_take_longer_entries(void **state)
{
    static const struct {
        double fpr;
        uint64_t hashes;
    } row[] = {{0.3, 15}, {0.01, 15}, {0.005, 23}, {1e-4, 23}, {1e-6, 31}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(row); i++) {
        umbel_filter *f = grown(row[i].fpr, 100, 20000);
        assert_int_equal(umbel_hashes(f), row[i].hashes);
        assert_int_equal(test_hits(f, 0, 20000), 20000);
        double p = umbel_predict(f), n = 50000;
        assert_true(p < row[i].fpr);
        double hits = (double)test_hits(f, 1 << 20, (size_t)n);
        assert_near(hits, n * p, 5 * sqrt(n * p) + 1);
        umbel_close(f);
    }
}

static void an_error_that_entries_are_too_short_for_is_refused(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.fpr = 1e-12;
    assert_refused(umbel_create("scalable", &p, &f, &test_refusal),
                   UMBEL_E_RANGE, "allow more error");
    p.fpr = 0.01;
    p.capacity = 1000;
    p.cells = 256;
    assert_refused(umbel_create("scalable", &p, &f, &test_refusal),
                   UMBEL_E_RANGE, "too few");
}

/*
 * After fifteen doublings all fifteen fingerprint bits are used up; keys must
 * still match.
 */
static void entries_without_a_fingerprint_are_still_found(void **state)
{
    umbel_filter *f = grown(0.3, 1, 0);

    (void)state;
    test_add(f, 0, 600000);
    assert_int_equal(test_hits(f, 0, 1000), 1000);
    assert_int_equal(test_hits(f, 599000, 1000), 1000);
    assert_true(umbel_predict(f) < 0.3);
    umbel_close(f);
}

static void data_and_file_survive_growth(void **state)
{
    umbel_filter *f = grown(0.01, 100, 50), *back = NULL;
    size_t len;

    (void)state;
    assert_ok(umbel_set_data(f, "origin", 6, &test_refusal));
    test_add(f, 50, 5000);
    assert_memory_equal(umbel_data(f).data, "origin", 6);
    uint8_t *bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    test_add(f, 5050, 5000);
    test_add(back, 5050, 5000);
    test_assert_same_file(f, back);
    free(bytes);
    umbel_close(f);
    umbel_close(back);
}

static void growth_without_memory_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t fail = 3; fail < 12; fail++) {
        test_memory memory = {.fail_at = fail};
        umbel_alloc alloc = test_alloc(&memory);
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *f = NULL;
        uint64_t i = 0;
        char key[TEST_KEY_LEN];
        umbel_status status = UMBEL_OK;

        p.capacity = 100;
        p.alloc = &alloc;
        assert_ok(umbel_create("scalable", &p, &f, &test_refusal));
        for (; i < 3000 && !status; i += !status) {
            test_key(i, key);
            status = umbel_add(f, key, sizeof key, NULL, &test_refusal);
        }
        assert_refused(status, UMBEL_E_NOMEM, "memory");
        assert_int_equal(test_hits(f, 0, (size_t)i), i);
        test_add(f, i, 1000); /* memory is available again */
        assert_int_equal(test_hits(f, 0, (size_t)i + 1000), i + 1000);
        umbel_close(f);
        assert_int_equal(memory.live_bytes, 0);
    }
}

/* An attacker who chooses digests fills one bucket; memory must stay linear. */
static void chosen_digests_do_not_take_memory_without_end(void **state)
{
    umbel_filter *f = grown(0.01, 0, 0);
    umbel_status status = UMBEL_OK;
    uint64_t i = 1;

    (void)state;
    for (; i <= 20000 && !status; i += !status) {
        umbel_digest d = {i << 20, 0};
        status = umbel_add_digests(f, &d, 1, NULL, &test_refusal);
    }
    assert_true(status == UMBEL_OK || status == UMBEL_E_FULL);
    assert_true(umbel_encoded_len(f) < 200 * i + 100000);
    umbel_close(f);
}

static void any_content_is_safe(void **state)
{
    static const uint8_t fill[] = {0xFF, 0x80, 0x01, 0xA5};

    (void)state;
    for (size_t i = 0; i < sizeof fill; i++) {
        umbel_filter *f = grown(i % 2 ? 0.01 : 1e-4, 200, 100);
        memset(f->payload, fill[i], f->payload_len);
        test_hits(f, 0, 1000);
        umbel_predict(f);
        char key[TEST_KEY_LEN];
        for (uint64_t k = 0; k < 50; k++) {
            test_key(k, key);
            umbel_add(f, key, sizeof key, NULL, NULL);
        }
        assert_true(f->payload_len < 1 << 20);
        umbel_close(f);
    }
}

/* Checks that it is refused before anything is computed from it. */
static void a_spill_out_of_range_is_refused(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL, *decoded = NULL;
    uint8_t bytes[UM_HEAD_MAX];
    um_shape shape;

    (void)state;
    p.capacity = 1000;
    assert_ok(umbel_create("scalable", &p, &f, &test_refusal));
    shape = *um_shape_of(f);
    for (uint64_t spill = 16; spill; spill *= 2) { /* up to 2^63 */
        shape.setting[0] = spill;
        size_t len = um_head_encode(&shape, 0, NULL, bytes);
        assert_refused(umbel_decode(bytes, len, NULL, &decoded, &test_refusal),
                       UMBEL_E_FORMAT, "spill must be 0..15");
    }
    umbel_close(f);
}

TEST_GROUP(scalable)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_keeps_its_error_and_its_keys_while_it_grows),
        cmocka_unit_test(smaller_errors_take_longer_entries),
        cmocka_unit_test(an_error_that_entries_are_too_short_for_is_refused),
        cmocka_unit_test(entries_without_a_fingerprint_are_still_found),
        cmocka_unit_test(data_and_file_survive_growth),
        cmocka_unit_test(growth_without_memory_is_refused_and_changes_nothing),
        cmocka_unit_test(chosen_digests_do_not_take_memory_without_end),
        cmocka_unit_test(any_content_is_safe),
        cmocka_unit_test(a_spill_out_of_range_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
