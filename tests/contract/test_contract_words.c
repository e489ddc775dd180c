/*
 * test_contract_words.c - promises of filter.h about what a filter reports
 * about itself, over every row of the tables: see support/contract.h.
 */
#include "support/contract.h"

#include "filter/kind.h"

#include <umbel/estimate.h>
#include <umbel/file.h>
#include <umbel/verify.h>

#include <math.h>
#include <stdlib.h>

static void it_says_what_it_is(void **state)
{
    const subject *s = *state;
    umbel_filter *f = subject_open(s);

    assert_string_equal(umbel_kind(f), s->combo.kind);
    if (s->params.cells) {
        assert_int_equal(umbel_cells(f), s->params.cells);
        assert_int_equal(umbel_hashes(f), s->params.hashes);
    }
    umbel_close(f);
}

static void its_prediction_is_what_is_measured(void **state)
{
    enum { OUTSIDE = 40000 };
    umbel_filter *f = subject_filled(*state, 0, KEYS);
    double p = umbel_predict(f);
    double rate = (double)test_hits(f, KEYS, OUTSIDE) / OUTSIDE;

    assert_true(p > 0 && p < 0.05);
    assert_near(rate, p, 5 * sqrt(p * (1 - p) / OUTSIDE));
    umbel_close(f);
}

static void its_error_at_capacity_is_within_what_was_asked(void **state)
{
    const subject *s = *state;
    umbel_filter *f = subject_filled(s, 0, s->abilities & ADD ? 0 : KEYS);

    assert_true(umbel_target_fpr(f) == 0.01);
    assert_true(umbel_fpr_at(f, KEYS) <= 0.01);
    assert_true(umbel_fpr_at(f, KEYS) > 0);
    assert_true(umbel_fpr_at(f, 2 * KEYS) >= umbel_fpr_at(f, KEYS));
    /* Kinds that neither forget nor grow fill up. */
    if (s->abilities & ADD && !umbel_has_false_negatives(f) &&
        !um_kind_find(s->combo.kind)->growing)
        assert_near(umbel_fpr_at(f, 1e7), 1, 1e-4);
    umbel_close(f);
}

static void assert_text(const umbel_info *info, const char *name,
                        const char *want)
{
    assert_string_equal(test_field(info, name, UMBEL_FIELD_TEXT)->value.text,
                        want);
}

static void assert_count(const umbel_info *info, const char *name,
                         uint64_t want)
{
    assert_int_equal(test_field(info, name, UMBEL_FIELD_COUNT)->value.count,
                     want);
}

static void it_describes_itself(void **state)
{
    const subject *s = *state;
    umbel_filter *f = subject_filled(s, 0, KEYS);
    umbel_interval keys;
    umbel_info info;

    umbel_describe(f, &info);
    assert_text(&info, "kind", s->combo.kind);
    assert_text(&info, "addressing", s->combo.addressing);
    assert_text(&info, "hash", s->combo.hash);
    assert_count(&info, "seed", s->params.seed);
    assert_count(&info, "bits", umbel_cells(f));
    assert_count(&info, "hashes", umbel_hashes(f));
    assert_count(&info, "capacity", KEYS);
    assert_count(&info, "bytes", umbel_encoded_len(f));
    assert_count(&info, "added", umbel_added(f));
    assert_near(
        test_field(&info, "predicted_error", UMBEL_FIELD_REAL)->value.real,
        umbel_predict(f), 0);
    assert_int_equal(
        test_field(&info, "payload_checksum", UMBEL_FIELD_HEX)->value.count,
        umbel_payload_checksum(f));
    if (umbel_estimate_keys(f, &keys, NULL) != UMBEL_E_UNSUPPORTED) {
        double fill = test_field(&info, "fill", UMBEL_FIELD_REAL)->value.real;
        assert_true(fill > 0 && fill < 1);
    }
    umbel_close(f);
}

static void field_names_are_said_once(void **state)
{
    umbel_filter *f = subject_open(*state);
    umbel_info info;

    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(info.field[i].name, info.field[j].name);
    assert_true(info.n < UMBEL_MAX_FIELDS);
    umbel_close(f);
}

/* A filter estimates its keys from its cells, or returns an error. */
static void it_estimates_its_keys_or_says_it_cannot(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS);
    umbel_interval keys;
    umbel_status status = umbel_estimate_keys(f, &keys, &test_refusal);

    if (status != UMBEL_E_UNSUPPORTED) {
        assert_ok(status);
        assert_true(keys.low <= keys.value && keys.value <= keys.high);
        assert_near(keys.value, KEYS, 2 * (keys.high - keys.value));
    }
    umbel_close(f);
}

static void it_verifies_itself(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS);
    char *keys = test_keys(0, 2 * KEYS);
    umbel_slice *slices = test_slices(keys, 2 * KEYS);
    umbel_verifier *v = NULL;
    umbel_verdict x;

    assert_ok(umbel_verify_open(f, &v, &test_refusal));
    assert_ok(umbel_verify_members(v, slices, KEYS, &test_refusal));
    assert_ok(umbel_verify_outside(v, slices, 2 * KEYS, NULL, &test_refusal));
    umbel_verify_result(v, &x);
    assert_int_equal(x.false_negatives, 0);
    assert_int_equal(x.dropped, KEYS);
    assert_int_equal(x.false_positives, test_hits(f, KEYS, KEYS));
    umbel_verify_close(v);
    umbel_close(f);
    free(slices);
    free(keys);
}

static const test_promise promises[] = {
    TEST_PROMISE(it_says_what_it_is, 0),
    TEST_PROMISE(its_prediction_is_what_is_measured, FILL | QUERY),
    TEST_PROMISE(its_error_at_capacity_is_within_what_was_asked, 0),
    TEST_PROMISE(it_describes_itself, FILL),
    TEST_PROMISE(field_names_are_said_once, 0),
    TEST_PROMISE(it_estimates_its_keys_or_says_it_cannot, FILL),
    TEST_PROMISE(it_verifies_itself, FILL | QUERY | REMEMBERS),
};

int main(void)
{
    return test_run_promises("contract: words", promises, TEST_COUNT(promises));
}
