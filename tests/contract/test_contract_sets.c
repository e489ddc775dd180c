/*
 * test_contract_sets.c - promises of filter.h about copies, unions,
 * intersections and folds, over every row of the tables: see
 * support/contract.h.
 */
#include "support/contract.h"

#include <umbel/file.h>

static void filters_built_alike_have_the_same_shape(void **state)
{
    umbel_filter *a = subject_open(*state), *b = subject_open(*state);

    assert_ok(umbel_same_shape(a, b, &test_refusal));
    umbel_close(a);
    umbel_close(b);
}

static void another_seed_sets_other_cells(void **state)
{
    subject other = *(subject *)*state;
    umbel_filter *a = subject_filled(*state, 0, KEYS);

    other.params.seed++;
    umbel_filter *b = subject_filled(&other, 0, KEYS);
    assert_true(umbel_payload_checksum(a) != umbel_payload_checksum(b));
    assert_refused(umbel_same_shape(a, b, &test_refusal), UMBEL_E_MISMATCH,
                   "seed");
    umbel_close(a);
    umbel_close(b);
}

static void a_copy_is_equal_and_independent(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS / 2), *copy = NULL;

    assert_ok(umbel_copy(f, &copy, &test_refusal));
    test_assert_same_file(f, copy);
    uint64_t before = umbel_payload_checksum(f);
    test_add(copy, KEYS / 2, KEYS / 2);
    assert_int_equal(umbel_payload_checksum(f), before);
    before = umbel_payload_checksum(copy);
    assert_ok(umbel_clear(f, &test_refusal));
    assert_int_equal(umbel_payload_checksum(copy), before);
    umbel_close(f);
    test_add(copy, 0, 10); /* the original was freed */
    umbel_close(copy);
}

static void a_union_holds_the_keys_of_both(void **state)
{
    umbel_filter *a = subject_filled(*state, 0, KEYS / 2);
    umbel_filter *b = subject_filled(*state, KEYS / 2, KEYS / 2);
    uint64_t before = umbel_payload_checksum(b);

    assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
    assert_int_equal(test_hits(a, 0, KEYS), KEYS);
    assert_int_equal(umbel_payload_checksum(b), before);
    umbel_close(a);
    umbel_close(b);
}

static void an_intersection_holds_the_keys_of_both(void **state)
{
    umbel_filter *a = subject_filled(*state, 0, KEYS * 3 / 4);
    umbel_filter *b = subject_filled(*state, KEYS / 4, KEYS * 3 / 4);

    assert_ok(umbel_merge(a, b, UMBEL_AND, &test_refusal));
    assert_int_equal(test_hits(a, KEYS / 4, KEYS / 2), KEYS / 2);
    assert_true(umbel_predict(a) <= umbel_predict(b));
    umbel_close(a);
    umbel_close(b);
}

static void merging_with_an_equal_changes_no_cell(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS), *copy = NULL;

    assert_ok(umbel_copy(f, &copy, &test_refusal));
    assert_ok(umbel_merge(f, copy, UMBEL_OR, &test_refusal));
    test_assert_same_payload(f, copy);
    assert_ok(umbel_merge(f, copy, UMBEL_AND, &test_refusal));
    test_assert_same_payload(f, copy);
    assert_ok(umbel_merge(f, f, UMBEL_OR, &test_refusal));
    test_assert_same_payload(f, copy);
    umbel_close(f);
    umbel_close(copy);
}

/* Folding by 1 changes nothing; other folds keep all members. */
static void folding_keeps_every_member(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS), *fold = NULL;
    uint64_t parts = umbel_fold_parts(f), folds = 0;

    assert_ok(umbel_fold(f, 1, &fold, &test_refusal));
    test_assert_same_file(f, fold);
    umbel_close(fold);
    for (uint64_t by = 2; by <= parts && by < 40; by++) {
        if (parts % by || umbel_fold(f, by, &fold, NULL) != UMBEL_OK)
            continue;
        assert_int_equal(umbel_cells(fold), umbel_cells(f) / by);
        assert_int_equal(umbel_hashes(fold), umbel_hashes(f));
        assert_int_equal(test_hits(fold, 0, KEYS), KEYS);
        umbel_close(fold);
        folds++;
    }
    assert_true(folds > 0);
    umbel_close(f);
}

static const test_promise promises[] = {
    TEST_PROMISE(a_copy_is_equal_and_independent, ADD),
    TEST_PROMISE(a_union_holds_the_keys_of_both,
                 ADD | QUERY | MERGE | REMEMBERS),
    TEST_PROMISE(an_intersection_holds_the_keys_of_both,
                 ADD | QUERY | MERGE | INTERSECTS | REMEMBERS),
    TEST_PROMISE(merging_with_an_equal_changes_no_cell,
                 ADD | MERGE | INTERSECTS),
    TEST_PROMISE(filters_built_alike_have_the_same_shape, 0),
    TEST_PROMISE(another_seed_sets_other_cells, FILL | SEEDED),
    TEST_PROMISE(folding_keeps_every_member, ADD | QUERY | FOLD | REMEMBERS),
};

int main(void)
{
    return test_run_promises("contract: sets", promises, TEST_COUNT(promises));
}
