/* delta.c - differences of counts apply to the right state, and only once. */
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/counting.h>
#include <umbel/file.h>

#include <stdlib.h>
#include <string.h>

enum { STATES = 3 };

static const char note[] = "from server 7";

/* Three states of one server, and the differences between successive ones. */
typedef struct fixture {
    umbel_filter *state[STATES], *delta[STATES - 1];
} fixture;

static umbel_filter *copy_of(const umbel_filter *f)
{
    umbel_filter *copy = NULL;

    assert_ok(umbel_copy(f, &copy, &test_refusal));
    return copy;
}

static int set_up(void **state)
{
    fixture *x = calloc(1, sizeof *x);
    umbel_params p = UMBEL_PARAMS_INIT;

    p.cells = 4096;
    p.hashes = 4;
    assert_ok(umbel_create("counting", &p, &x->state[0], &test_refusal));
    test_add(x->state[0], 0, 100);
    for (size_t i = 1; i < STATES; i++) {
        x->state[i] = copy_of(x->state[i - 1]);
        test_add(x->state[i], 50 * i, 100);
        x->delta[i - 1] = copy_of(x->state[i]);
        assert_ok(umbel_merge(x->delta[i - 1], x->state[i - 1], UMBEL_MINUS,
                              &test_refusal));
    }
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = *state;

    for (size_t i = 0; i < STATES; i++)
        umbel_close(x->state[i]);
    for (size_t i = 0; i < STATES - 1; i++)
        umbel_close(x->delta[i]);
    free(x);
    return 0;
}

static umbel_status add(umbel_filter *into, const umbel_filter *from)
{
    return umbel_merge(into, from, UMBEL_ADD, &test_refusal);
}

/* Asserts that adding is refused and changes nothing. */
static void assert_unfit(umbel_filter *into, const umbel_filter *from,
                         const char *why)
{
    umbel_filter *before = copy_of(into);
    umbel_error err;

    assert_int_equal(umbel_merge(into, from, UMBEL_ADD, &err),
                     UMBEL_E_MISMATCH);
    assert_int_equal(err.detail, UMBEL_D_DIFFERENCE);
    assert_non_null(strstr(err.text, why));
    test_assert_same_file(into, before);
    umbel_close(before);
}

static void added_to_its_state_it_gives_the_next(void **state)
{
    fixture *x = *state;

    assert_ok(add(x->state[0], x->delta[0]));
    test_assert_same_payload(x->state[0], x->state[1]);
    assert_false(um_is_delta(um_delta_of(x->state[0])));
    assert_ok(add(x->state[0], x->delta[1]));
    test_assert_same_payload(x->state[0], x->state[2]);
    assert_ok(add(x->delta[1], x->state[1])); /* the order does not matter */
    test_assert_same_payload(x->delta[1], x->state[2]);
}

static void it_is_not_added_twice_or_elsewhere(void **state)
{
    fixture *x = *state;

    assert_unfit(x->state[1], x->delta[0], "hold this difference already");
    assert_unfit(x->state[0], x->delta[1], "is to be added to cells");
    assert_unfit(x->state[2], x->delta[0], "is to be added to cells");
    assert_unfit(x->delta[1], x->state[0], "is to be added to cells");
}

static void differences_in_a_row_are_one(void **state)
{
    fixture *x = *state;
    umbel_filter *both = copy_of(x->delta[1]);

    assert_ok(add(both, x->delta[0]));
    assert_ok(add(x->delta[0], x->delta[1]));
    test_assert_same_payload(both, x->delta[0]);
    assert_unfit(x->state[1], both, "is to be added to cells");
    assert_ok(add(x->state[0], both));
    test_assert_same_payload(x->state[0], x->state[2]);
    assert_unfit(both, both, "neither difference");
    umbel_close(both);
}

static void one_that_was_changed_is_found_out(void **state)
{
    fixture *x = *state;

    test_add(x->delta[0], 500, 1);
    assert_unfit(x->state[0], x->delta[0], "was changed");
}

static void as_plain_counts_it_goes_anywhere(void **state)
{
    fixture *x = *state;

    umbel_to_counting(x->delta[0]);
    assert_ok(add(x->state[1], x->delta[0]));
    assert_ok(add(x->state[1], x->delta[0]));
    assert_unfit(x->delta[0], x->delta[1], "is to be added to cells");
}

static void data_does_not_matter(void **state)
{
    fixture *x = *state;

    assert_ok(umbel_set_data(x->state[0], note, sizeof note, &test_refusal));
    assert_ok(umbel_set_data(x->delta[0], note, 3, &test_refusal));
    assert_ok(add(x->state[0], x->delta[0]));
    assert_int_equal(umbel_data(x->state[0]).len, sizeof note);
    assert_ok(umbel_set_data(x->state[0], NULL, 0, &test_refusal));
    test_assert_same_payload(x->state[0], x->state[1]);
}

/* The results of other operations with a difference are not differences. */
static void it_ends_with_other_operations(void **state)
{
    fixture *x = *state;
    umbel_filter *small = NULL;

    assert_ok(umbel_fold(x->delta[0], 2, &small, &test_refusal));
    assert_false(um_is_delta(um_delta_of(small)));
    umbel_close(small);
    assert_ok(
        umbel_merge(x->state[1], x->delta[0], UMBEL_MINUS, &test_refusal));
    test_assert_same_payload(x->state[1], x->state[0]);
    assert_false(um_is_delta(um_delta_of(x->state[1])));
    assert_ok(umbel_clear(x->delta[0], &test_refusal));
    assert_ok(add(x->state[2], x->delta[0]));
}

static void a_file_keeps_its_states(void **state)
{
    fixture *x = *state;
    umbel_filter *back = NULL;
    umbel_field from, to;
    size_t len;
    uint8_t *bytes = test_encode(x->delta[0], &len);

    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    assert_ok(umbel_info_get(back, "difference_from", &from, &test_refusal));
    assert_ok(umbel_info_get(back, "difference_to", &to, &test_refusal));
    assert_true(from.value.count == umbel_payload_checksum(x->state[0]));
    assert_true(to.value.count == umbel_payload_checksum(x->state[1]));
    assert_unfit(x->state[1], back, "already");
    assert_ok(add(x->state[0], back));
    umbel_close(back);
    free(bytes);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

TEST_GROUP(delta)
{
    const struct CMUnitTest tests[] = {
        EACH(added_to_its_state_it_gives_the_next),
        EACH(it_is_not_added_twice_or_elsewhere),
        EACH(differences_in_a_row_are_one),
        EACH(one_that_was_changed_is_found_out),
        EACH(as_plain_counts_it_goes_anywhere),
        EACH(data_does_not_matter),
        EACH(it_ends_with_other_operations),
        EACH(a_file_keeps_its_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
