/* admit.c - which filters are admitted, which are refused, and the reasons. */
#include "support/rulings.h"

#include "filter/handle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- demands ----------------------------------------------------------------
 */

static void every_row_admits_what_was_added_to_it(void **state)
{
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        umbel_params p = test_combo_params(&c);
        umbel_admission wants = test_no_demand;
        umbel_filter *f =
            test_made(c.kind, &p, TEST_RULED_KEYS, TEST_RULED_KEYS);
        wants.kind = c.kind;
        wants.addressing = c.addressing;
        wants.hash = c.hash;
        wants.secret_id = um_secret_of(f);
        wants.max_bytes = umbel_encoded_len(f);
        wants.max_error = 2 * umbel_target_fpr(f);
        if (f->kind->bits)
            wants.claimed = TEST_RULED_KEYS;
        test_expect_admitted(f, &wants);
        test_expect_admitted(f, &test_no_demand);
        umbel_close(f);
    }
}

static void every_demand_is_held(void **state)
{
    umbel_filter *f = test_plain("classic");
    umbel_admission w = test_no_demand;

    (void)state;
    w.max_bytes = umbel_encoded_len(f) - 1;
    test_expect_refused(f, &w, UMBEL_REFUSED_BYTES, "allowed");
    w = test_no_demand, w.kind = "counting";
    test_expect_refused(f, &w, UMBEL_REFUSED_KIND,
                        "kind is bloom, not counting");
    w = test_no_demand, w.addressing = "blocked512";
    test_expect_refused(f, &w, UMBEL_REFUSED_ADDRESSING, "classic");
    w = test_no_demand, w.hash = "sip";
    test_expect_refused(f, &w, UMBEL_REFUSED_HASH, "xxh3-64");
    w = test_no_demand, w.secret_id = 7;
    test_expect_refused(f, &w, UMBEL_REFUSED_SECRET, "0000000000000007");
    w = test_no_demand, w.max_error = 1e-4;
    test_expect_refused(f, &w, UMBEL_REFUSED_ERROR, "allowed");
    umbel_close(f);
}

static void another_secret_is_refused_locked_or_not(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_admission w = test_no_demand;
    umbel_filter *locked = NULL;
    size_t len;

    (void)state;
    p.hash = "sip";
    p.secret = test_secret;
    umbel_filter *f = test_made("bloom", &p, TEST_RULED_KEYS, TEST_RULED_KEYS);
    uint8_t *bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &locked, &test_refusal));
    w.secret_id = um_secret_of(f);
    test_expect_admitted(f, &w);
    test_expect_admitted(locked, &w);
    w.secret_id ^= 1;
    test_expect_refused(f, &w, UMBEL_REFUSED_SECRET, "secret key");
    test_expect_refused(locked, &w, UMBEL_REFUSED_SECRET, "secret key");
    umbel_close(locked);
    umbel_close(f);
    free(bytes);
}

static void all_reasons_are_reported(void **state)
{
    umbel_filter *f = test_plain("classic");
    umbel_admission w = {.size = sizeof w,
                         .max_bytes = 1,
                         .kind = "aging",
                         .addressing = "blocked256",
                         .hash = "md5",
                         .secret_id = 1,
                         .claimed = 1,
                         .max_error = 1e-9};
    umbel_ruling r = test_ruled(f, &w);

    (void)state;
    assert_int_equal(r.n, 7);
    assert_true(test_refused_for(&r, UMBEL_REFUSED_TOO_FULL));
    umbel_close(f);
}

static void demands_without_sense_are_errors(void **state)
{
    umbel_filter *f = test_plain("classic");
    umbel_admission w = test_no_demand;
    umbel_ruling r = {.n = 77};

    (void)state;
    w.size = 1;
    assert_refused(umbel_admit(f, &w, &r, &test_refusal), UMBEL_E_RANGE,
                   "size");
    w = test_no_demand, w.max_error = 1.5;
    assert_refused(umbel_admit(f, &w, &r, &test_refusal), UMBEL_E_RANGE, "1.5");
    w = test_no_demand, w.max_error = NAN;
    assert_refused(umbel_admit(f, &w, &r, &test_refusal), UMBEL_E_RANGE, "nan");
    w = test_no_demand, w.kind = "blume";
    assert_refused(umbel_admit(f, &w, &r, &test_refusal), UMBEL_E_UNKNOWN,
                   "blume");
    w = test_no_demand, w.addressing = "there";
    assert_refused(umbel_admit(f, &w, &r, &test_refusal), UMBEL_E_UNKNOWN,
                   "there");
    w = test_no_demand, w.hash = "xxh4";
    assert_refused(umbel_admit(f, &w, &r, &test_refusal), UMBEL_E_UNKNOWN,
                   "xxh4");
    assert_int_equal(r.n, 77);
    assert_ok(umbel_admit(f, NULL, &r, &test_refusal));
    assert_true(r.admitted);
    umbel_close(f);
}

/* --- claims -----------------------------------------------------------------
 */

/*
 * Covers every combination; kinds whose cells do not reveal their keys are
 * refused as unconfirmed.
 */
static void more_cells_than_its_keys_use_are_refused(void **state)
{
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        umbel_params p = test_combo_params(&c);
        umbel_filter *f =
            test_made(c.kind, &p, TEST_RULED_KEYS, TEST_RULED_KEYS);
        umbel_admission w = test_no_demand;
        w.claimed = TEST_RULED_KEYS / 3;
        umbel_ruling r = test_ruled(f, &w);
        bool told = f->kind->bits || f->kind->entries;
        assert_true(test_refused_for(&r, told ? UMBEL_REFUSED_TOO_FULL
                                              : UMBEL_REFUSED_UNCONFIRMED));
        umbel_close(f);
    }
}

static void fewer_cells_than_its_keys_use_are_refused(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; (name = test_own_addressing(i)); i++) {
        umbel_filter *f = test_plain(name);
        umbel_admission w = test_no_demand;
        w.claimed = 2 * TEST_RULED_KEYS;
        test_expect_refused(f, &w, UMBEL_REFUSED_TOO_EMPTY, "too few");
        w.claimed = UINT64_MAX;
        test_expect_refused(f, &w, UMBEL_REFUSED_TOO_EMPTY, "too few");
        umbel_close(f);
    }
}

/* The number in the head is checked like any other claim. */
static void a_lying_head_is_refused(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; (name = test_own_addressing(i)); i++) {
        umbel_filter *f = test_plain(name);
        f->added = TEST_RULED_KEYS / 2;
        umbel_ruling r = test_ruled(f, NULL);
        assert_true(test_refused_for(&r, UMBEL_REFUSED_TOO_FULL));
        assert_non_null(strstr(r.reason[0].text, "in its head"));
        f->added = 2 * TEST_RULED_KEYS;
        test_expect_refused(f, NULL, UMBEL_REFUSED_TOO_EMPTY, "in its head");
        f->added = 0;
        test_expect_refused(f, NULL, UMBEL_REFUSED_TOO_FULL, "in its head");
        umbel_close(f);
    }
}

/* Checks how far a claim may be off, in a filter of many keys. */
static void claims_are_held_within_a_percent(void **state)
{
    const char *name;
    enum { MANY = 100000 };

    (void)state;
    for (size_t i = 0; (name = test_own_addressing(i)); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_admission w = test_no_demand;
        p.addressing = name;
        umbel_filter *f = test_made("bloom", &p, MANY, MANY);
        w.claimed = MANY;
        test_expect_admitted(f, &w);
        w.claimed = MANY * 98 / 100;
        test_expect_refused(f, &w, UMBEL_REFUSED_TOO_FULL, "too many");
        w.claimed = MANY * 105 / 100;
        test_expect_refused(f, &w, UMBEL_REFUSED_TOO_EMPTY, "too few");
        umbel_close(f);
    }
}

static void an_empty_filter_is_admitted(void **state)
{
    umbel_filter *f = test_plain("blocked512");

    (void)state;
    assert_ok(umbel_clear(f, &test_refusal));
    test_expect_admitted(f, &test_no_demand);
    um_set_bit(f->payload, 9);
    test_expect_refused(f, &test_no_demand, UMBEL_REFUSED_TOO_FULL,
                        "0 keys in its head");
    umbel_close(f);
}

/* Keys may be any integers, so their cells need not look random. */
static void linear_hashes_are_held_by_what_is_certain(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_admission w = test_no_demand;
    umbel_filter *f = NULL;
    char key[8];

    (void)state;
    p.addressing = "universal";
    p.cells = 8192;
    p.hashes = 4;
    assert_ok(umbel_create(NULL, &p, &f, &test_refusal));
    for (unsigned i = 1000; i < 2000; i++) {
        size_t len = (size_t)snprintf(key, sizeof key, "%u", i);
        assert_ok(umbel_add(f, key, len, NULL, &test_refusal));
    }
    test_expect_admitted(f, &test_no_demand);
    w.claimed = f->kind->bits->used(f->self, NULL) / 4 - 1;
    test_expect_refused(f, &w, UMBEL_REFUSED_TOO_FULL, "claimed");
    umbel_close(f);
}

static void cells_that_do_not_tell_are_no_proof(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_admission w = test_no_demand;
    umbel_filter *f = test_made("aging", &p, TEST_RULED_KEYS, TEST_RULED_KEYS);

    (void)state;
    assert_false(test_ruled(f, &test_no_demand).claim_checked);
    w.claimed = TEST_RULED_KEYS;
    test_expect_refused(f, &w, UMBEL_REFUSED_UNCONFIRMED, "aging");
    umbel_close(f);
}

/*
 * The cells of a union are those of its keys, but the number of keys in its
 * head is an estimate.
 */
static void unions_and_intersections_are_held_by_what_they_tell(void **state)
{
    umbel_filter *a = test_plain("blocked512"), *b = test_plain("blocked512");
    umbel_admission w = test_no_demand;

    (void)state;
    assert_ok(umbel_clear(b, &test_refusal));
    test_add(b, TEST_RULED_KEYS / 2, TEST_RULED_KEYS);
    assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
    test_expect_admitted(a, &test_no_demand);
    assert_false(test_ruled(a, &test_no_demand).claim_checked);
    w.claimed = TEST_RULED_KEYS * 3 / 2;
    test_expect_admitted(a, &w);
    w.claimed = TEST_RULED_KEYS;
    assert_true(test_refused_for(&(umbel_ruling[]){test_ruled(a, &w)}[0],
                                 UMBEL_REFUSED_TOO_FULL));

    umbel_filter *c = test_plain("blocked512");
    assert_ok(umbel_merge(c, b, UMBEL_AND, &test_refusal));
    w.claimed = TEST_RULED_KEYS / 2; /* false positives: no upper limit */
    test_expect_admitted(c, &w);
    w.claimed = TEST_RULED_KEYS;
    test_expect_refused(c, &w, UMBEL_REFUSED_TOO_EMPTY, "too few");
    umbel_close(c);
    umbel_close(b);
    umbel_close(a);
}

static void retouched_filters_may_be_too_empty(void **state)
{
    umbel_filter *f = test_plain("classic");

    (void)state;
    memset(f->payload, 0, f->payload_len / 2);
    test_expect_refused(f, &test_no_demand, UMBEL_REFUSED_TOO_EMPTY, "too few");
    assert_false(test_ruled(f, &test_no_demand).has_false_negatives);
    f->false_negatives = TEST_RULED_KEYS;
    test_expect_admitted(f, &test_no_demand);
    assert_true(test_ruled(f, &test_no_demand).has_false_negatives);
    assert_int_equal(test_ruled(f, &test_no_demand).known_false_negatives,
                     TEST_RULED_KEYS);
    umbel_close(f);
}

static void folded_filters_are_admitted(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    const char *name;

    (void)state;
    p.cells = 1 << 16;
    p.hashes = 4;
    for (size_t i = 0; (name = test_own_addressing(i)); i++) {
        umbel_filter *small = NULL;
        p.addressing = name;
        umbel_filter *f = test_made("bloom", &p, 0, TEST_RULED_KEYS);
        assert_ok(umbel_fold(f, 4, &small, &test_refusal));
        test_expect_admitted(small, &test_no_demand);
        umbel_close(small);
        umbel_close(f);
    }
}

static void groups_are_held_by_what_is_certain(void **state)
{
    umbel_setting groups = {"groups", 2};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_admission w = test_no_demand;

    (void)state;
    p.settings = &groups;
    p.nsettings = 1;
    umbel_filter *f = test_made("bloom", &p, TEST_RULED_KEYS, TEST_RULED_KEYS);
    test_expect_admitted(f, &test_no_demand);
    w.claimed = 100;
    test_expect_refused(f, &w, UMBEL_REFUSED_TOO_FULL, "claimed");
    umbel_close(f);
}

/* --- the budget -------------------------------------------------------------
 */

/*
 * Checks filters planned for exactly the allowed error, half of which exceed it
 * by chance.
 */
static void filters_made_for_the_budget_are_admitted(void **state)
{
    const char *name;
    size_t above = 0;

    (void)state;
    for (size_t i = 0; (name = test_own_addressing(i)); i++)
        for (uint64_t from = 0; from < 20; from++) {
            umbel_params p = UMBEL_PARAMS_INIT;
            umbel_admission w = test_no_demand;
            umbel_filter *f = NULL;
            p.addressing = name;
            p.capacity = TEST_RULED_KEYS;
            p.fpr = w.max_error = 0.01;
            assert_ok(umbel_create(NULL, &p, &f, &test_refusal));
            test_add(f, from * TEST_RULED_KEYS, TEST_RULED_KEYS);
            above += umbel_predict(f) > 0.01;
            test_expect_admitted(f, &w);
            umbel_close(f);
        }
    assert_in_range(above, 15, 65); /* of 80 */
}

/* Checks that the same filters with more keys are refused. */
static void filters_that_hold_too_many_are_refused(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; (name = test_own_addressing(i)); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_admission w = test_no_demand;
        p.addressing = name;
        umbel_filter *f =
            test_made("bloom", &p, TEST_RULED_KEYS, TEST_RULED_KEYS * 6 / 5);
        test_expect_admitted(f, &test_no_demand);
        w.max_error = 0.001;
        test_expect_refused(f, &w, UMBEL_REFUSED_ERROR, "0.1 % allowed");
        umbel_close(f);
    }
}

/* Returns the cells in use of the fullest block, counted one by one. */
static uint64_t fullest_of(const umbel_filter *f)
{
    uint64_t size = f->layout.cells / f->layout.blocks, most = 0;
    const um_row_bits *bits = f->kind->bits;
    uint8_t *copy = calloc(1, (size_t)f->layout.cells / 8 + 64);

    assert_non_null(copy);
    if (bits->copy)
        bits->copy(f->self, copy);
    for (uint64_t i = 0; i < f->layout.blocks; i++) {
        uint64_t used = um_popcount(bits->copy ? copy : bits->cells(f->self),
                                    i * size, size);
        most = used > most ? used : most;
    }
    free(copy);
    return most;
}

static void one_look_finds_what_several_counts_do(void **state)
{
    static const char *const kinds[] = {"bloom", "counting", "tally"};
    const char *name;
    um_bits_look found;
    umbel_filter *f;

    (void)state;
    for (size_t k = 0; k < TEST_COUNT(kinds); k++)
        for (size_t i = 0; (name = test_own_addressing(i)); i++) {
            umbel_params p = UMBEL_PARAMS_INIT;
            p.addressing = name;
            p.capacity = 3000;
            if (umbel_create(kinds[k], &p, &f, NULL))
                continue;
            test_add(f, 0, 3000);
            f->kind->bits->look(f->self, &found);
            assert_int_equal(found.used, f->kind->bits->used(f->self, NULL));
            assert_int_equal(found.in_block, fullest_of(f));
            assert_near(found.error, umbel_predict(f), 1e-12);
            umbel_close(f);
        }
}

TEST_GROUP(admit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_admits_what_was_added_to_it),
        cmocka_unit_test(every_demand_is_held),
        cmocka_unit_test(another_secret_is_refused_locked_or_not),
        cmocka_unit_test(all_reasons_are_reported),
        cmocka_unit_test(demands_without_sense_are_errors),
        cmocka_unit_test(more_cells_than_its_keys_use_are_refused),
        cmocka_unit_test(fewer_cells_than_its_keys_use_are_refused),
        cmocka_unit_test(a_lying_head_is_refused),
        cmocka_unit_test(claims_are_held_within_a_percent),
        cmocka_unit_test(an_empty_filter_is_admitted),
        cmocka_unit_test(linear_hashes_are_held_by_what_is_certain),
        cmocka_unit_test(cells_that_do_not_tell_are_no_proof),
        cmocka_unit_test(unions_and_intersections_are_held_by_what_they_tell),
        cmocka_unit_test(retouched_filters_may_be_too_empty),
        cmocka_unit_test(folded_filters_are_admitted),
        cmocka_unit_test(groups_are_held_by_what_is_certain),
        cmocka_unit_test(filters_made_for_the_budget_are_admitted),
        cmocka_unit_test(filters_that_hold_too_many_are_refused),
        cmocka_unit_test(one_look_finds_what_several_counts_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
