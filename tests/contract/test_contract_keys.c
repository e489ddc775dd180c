/*
 * test_contract_keys.c - promises of filter.h about adding and querying keys,
 * over every row of the tables: see support/contract.h.
 */
#include "support/contract.h"

#include "base/batch.h"
#include "filter/kind.h"

#include <stdlib.h>
#include <string.h>

static void matches_nothing_while_empty(void **state)
{
    umbel_filter *f = subject_open(*state);

    assert_int_equal(test_hits(f, 0, KEYS), 0);
    assert_int_equal(umbel_added(f), 0);
    assert_true(umbel_predict(f) == 0);
    umbel_close(f);
}

static void finds_everything_added(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS);

    assert_int_equal(test_hits(f, 0, KEYS), KEYS);
    assert_false(umbel_has_false_negatives(f));
    umbel_close(f);
}

static bool add_one(umbel_filter *f, uint64_t i)
{
    char key[TEST_KEY_LEN];
    bool fresh;

    test_key(i, key);
    assert_ok(umbel_add(f, key, sizeof key, &fresh, &test_refusal));
    return fresh;
}

/* A key that is a false positive when added does not count as new. */
static void a_key_is_fresh_once(void **state)
{
    umbel_filter *f = subject_open(*state);
    uint64_t fresh = 0;

    assert_true(add_one(f, 0));
    for (uint64_t i = 1; i < KEYS; i++) {
        bool before = test_has(f, i);
        bool now = add_one(f, i);
        assert_int_equal(now, !before);
        fresh += now;
    }
    for (uint64_t i = 0; i < KEYS; i++)
        assert_false(add_one(f, i));
    assert_int_equal(umbel_added(f), fresh + 1);
    assert_true(fresh > KEYS * 9 / 10);
    umbel_close(f);
}

/* Two full batches and part of a third. */
enum { FEW = 3 * UM_BATCH - 1 };

static void all_ways_to_add_agree(void **state)
{
    umbel_filter *one = subject_open(*state), *many = subject_open(*state);
    umbel_filter *fixed = subject_open(*state), *digests = subject_open(*state);
    char *keys = test_keys(0, FEW);
    umbel_slice *slices = test_slices(keys, FEW);
    umbel_digest d[FEW], e[FEW];
    bool a[FEW], b[FEW], c[FEW];

    assert_ok(umbel_add_many(many, slices, FEW, a, &test_refusal));
    assert_ok(
        umbel_add_fixed(fixed, keys, TEST_KEY_LEN, FEW, b, &test_refusal));
    assert_ok(umbel_digest_many(one, slices, FEW, d, &test_refusal));
    assert_ok(
        umbel_digest_fixed(one, keys, TEST_KEY_LEN, FEW, e, &test_refusal));
    assert_memory_equal(d, e, sizeof d);
    assert_ok(umbel_add_digests(digests, d, FEW, c, &test_refusal));
    for (uint64_t i = 0; i < FEW; i++)
        assert_int_equal(add_one(one, i), a[i]);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(a, c, sizeof a);
    test_assert_same_file(one, many);
    test_assert_same_file(one, fixed);
    test_assert_same_file(one, digests);
    free(slices);
    free(keys);
    umbel_close(one);
    umbel_close(many);
    umbel_close(fixed);
    umbel_close(digests);
}

static void all_ways_to_ask_agree(void **state)
{
    umbel_filter *f = subject_filled(*state, FEW / 2, KEYS);
    char *keys = test_keys(0, FEW);
    umbel_slice *slices = test_slices(keys, FEW);
    umbel_digest d[FEW];
    bool a[FEW], b[FEW], c[FEW], one;

    assert_ok(umbel_query_many(f, slices, FEW, a, &test_refusal));
    assert_ok(umbel_query_fixed(f, keys, TEST_KEY_LEN, FEW, b, &test_refusal));
    assert_ok(umbel_digest_many(f, slices, FEW, d, &test_refusal));
    assert_ok(umbel_query_digests(f, d, FEW, c, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(a, c, sizeof a);
    for (size_t i = 0; i < FEW; i++) {
        assert_ok(
            umbel_query(f, slices[i].data, slices[i].len, &one, &test_refusal));
        assert_int_equal(one, a[i]);
    }
    free(slices);
    free(keys);
    umbel_close(f);
}

static void clearing_gives_a_new_filter(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS),
                 *new = subject_open(*state);

    assert_ok(umbel_clear(f, &test_refusal));
    test_assert_same_file(f, new);
    test_add(f, 5, KEYS);
    test_add(new, 5, KEYS);
    test_assert_same_file(f, new);
    umbel_close(f);
    umbel_close(new);
}

/* Checks that a key is accepted and then found, or rejected by both calls. */
static void check_key(umbel_filter *f, const void *key, size_t len)
{
    bool hit = false;
    umbel_status added = umbel_add(f, key, len, NULL, &test_refusal);
    umbel_status asked = umbel_query(f, key, len, &hit, &test_refusal);

    assert_int_equal(added, asked);
    if (added == UMBEL_OK)
        assert_true(hit);
    else
        assert_int_equal(added, UMBEL_E_KEY);
}

static void keys_have_any_length(void **state)
{
    enum { LONG = 1 << 20 };
    umbel_filter *f = subject_open(*state);
    char *key = malloc(LONG);

    assert_non_null(key);
    memset(key, '0', LONG); /* also a valid number */
    check_key(f, NULL, 0);
    check_key(f, "", 0);
    check_key(f, "5", 1);
    assert_true(umbel_added(f) >= 1);
    check_key(f, key, LONG);
    memset(key, 0, LONG);
    check_key(f, key, LONG);
    check_key(f, key, 1);
    free(key);
    umbel_close(f);
}

static void refused_keys_change_nothing(void **state)
{
    umbel_filter *f = subject_open(*state);
    bool fresh = true;
    umbel_status status = umbel_add(f, "a b", 3, &fresh, &test_refusal);

    if (status != UMBEL_OK) {
        assert_int_equal(status, UMBEL_E_KEY);
        assert_int_equal(umbel_added(f), 0);
        assert_true(umbel_predict(f) == 0);
        assert_true(fresh);
    }
    umbel_close(f);
}

static void failures_leave_the_output_alone(void **state)
{
    const subject *s = *state;
    umbel_filter *f = subject_open(s), *out = f;
    umbel_params p = s->params;

    p.hashes = 65;
    assert_int_equal(umbel_create(s->combo.kind, &p, &out, NULL),
                     UMBEL_E_RANGE);
    assert_ptr_equal(out, f);
    assert_int_not_equal(umbel_fold(f, 0, &out, NULL), UMBEL_OK);
    assert_ptr_equal(out, f);
    assert_int_not_equal(umbel_decode("x", 1, NULL, &out, NULL), UMBEL_OK);
    assert_ptr_equal(out, f);
    umbel_close(f);
}

static void errors_are_filled_only_by_failures(void **state)
{
    umbel_error err = {.status = UMBEL_OK, .text = "untouched"};
    umbel_filter *f = subject_open(*state), *copy = NULL;

    assert_int_equal(umbel_copy(f, &copy, &err), UMBEL_OK);
    if (!um_kind_find(umbel_kind(f))->built)
        assert_int_equal(umbel_clear(f, &err), UMBEL_OK);
    assert_int_equal(umbel_same_shape(f, copy, &err), UMBEL_OK);
    assert_string_equal(err.text, "untouched");
    umbel_close(f);
    umbel_close(copy);
}

/* A slot that is empty in the row gives an error, not a crash. */
static void what_it_cannot_do_it_refuses(void **state)
{
    const subject *s = *state;
    umbel_filter *f = subject_open(s), *out = NULL;
    bool hit;

    if (!(s->abilities & ADD)) {
        assert_refused(umbel_add(f, "1", 1, NULL, &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
        assert_refused(umbel_clear(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                       s->combo.kind);
        assert_refused(
            umbel_create(s->combo.kind, &s->params, &out, &test_refusal),
            UMBEL_E_UNSUPPORTED, s->combo.kind);
    } else {
        assert_refused(umbel_build(s->combo.kind, &s->params, NULL, NULL, &out,
                                   &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
    }
    if (!(s->abilities & QUERY))
        assert_refused(umbel_query(f, "1", 1, &hit, &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
    if (!(s->abilities & MERGE))
        assert_refused(umbel_merge(f, f, UMBEL_OR, &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
    if (!(s->abilities & FOLD)) {
        assert_refused(umbel_fold(f, 1, &out, &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
        assert_int_equal(umbel_fold_best(f, 1, 0.5), 0);
    }
    umbel_close(f);
}

static const test_promise promises[] = {
    TEST_PROMISE(matches_nothing_while_empty, QUERY),
    TEST_PROMISE(finds_everything_added, FILL | QUERY | REMEMBERS),
    TEST_PROMISE(a_key_is_fresh_once, ADD | QUERY | REMEMBERS),
    TEST_PROMISE(all_ways_to_add_agree, ADD),
    TEST_PROMISE(all_ways_to_ask_agree, FILL | QUERY),
    TEST_PROMISE(clearing_gives_a_new_filter, ADD),
    TEST_PROMISE(keys_have_any_length, ADD | QUERY | REMEMBERS),
    TEST_PROMISE(refused_keys_change_nothing, ADD),
    TEST_PROMISE(failures_leave_the_output_alone, 0),
    TEST_PROMISE(errors_are_filled_only_by_failures, 0),
    TEST_PROMISE(what_it_cannot_do_it_refuses, 0),
};

int main(void)
{
    return test_run_promises("contract: keys", promises, TEST_COUNT(promises));
}
