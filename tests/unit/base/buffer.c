/* buffer.c - growing arrays and byte buffers. */
#include "support/test.h"

#include "base/buffer.h"

static void arrays_hold_what_is_asked_for(void **state)
{
    uint32_t *numbers = NULL;
    size_t cap = 0, grown = 0;

    (void)state;
    for (uint32_t i = 0; i < 10000; i++) {
        size_t before = cap;
        assert_true(um_array_reserve(&numbers, &cap, i + 1, sizeof *numbers));
        grown += cap != before;
        numbers[i] = i;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(numbers[i], i);
    assert_true(grown < 20);
    assert_true(um_array_reserve(&numbers, &cap, 1000000, sizeof *numbers));
    assert_true(cap >= 1000000);
    free(numbers);
}

static void an_array_stays_when_memory_is_short(void **state)
{
    uint64_t *numbers = NULL;
    size_t cap = 0;
    volatile size_t huge = SIZE_MAX / 8; /* gcc rejects a constant */

    (void)state;
    assert_true(um_array_reserve(&numbers, &cap, 4, sizeof *numbers));
    uint64_t *before = numbers;
    size_t had = cap;
    assert_false(um_array_reserve(&numbers, &cap, huge, 8));
    assert_false(um_array_resize(&numbers, 2 * huge, 8));
    assert_ptr_equal(numbers, before);
    assert_int_equal(cap, had);
    free(numbers);
}

static void bytes_are_appended_and_removed_at_the_front(void **state)
{
    um_buffer b = {.len = 0};

    (void)state;
    um_buffer_append(&b, "", 0);
    assert_int_equal(b.len, 0);
    for (unsigned i = 0; i < 1000; i++)
        um_buffer_append(&b, "abc", 3);
    assert_int_equal(b.len, 3000);
    assert_memory_equal(b.data + 2997, "abc", 3);
    um_buffer_discard(&b, 2998);
    assert_int_equal(b.len, 2);
    assert_memory_equal(b.data, "bc", 2);
    um_buffer_discard(&b, 2);
    assert_int_equal(b.len, 0);
    um_buffer_fini(&b);
    assert_null(b.data);
}

/* Decoders write into reserved space, even for an empty text. */
static void reserved_space_is_never_null(void **state)
{
    um_buffer b = {.len = 0};

    (void)state;
    assert_non_null(um_buffer_reserve(&b, 0));
    assert_int_equal(b.len, 0);
    um_buffer_fini(&b);
}

static void a_buffer_that_failed_stays_failed_until_it_is_cleared(void **state)
{
    um_buffer b = {.len = 0};
    volatile size_t huge = SIZE_MAX; /* gcc warns about a constant */

    (void)state;
    um_buffer_append(&b, "kept", 4);
    assert_null(um_buffer_reserve(&b, huge));
    assert_true(b.failed);
    assert_null(um_buffer_reserve(&b, 100));
    assert_int_equal(b.len, 4);
    um_buffer_clear(&b, 1000);
    assert_non_null(b.data);
    um_buffer_append(&b, "new", 3);
    assert_memory_equal(b.data, "new", 3);
    um_buffer_clear(&b, 2);
    assert_null(b.data);
    um_buffer_fini(&b);
}

TEST_GROUP(buffer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_hold_what_is_asked_for),
        cmocka_unit_test(an_array_stays_when_memory_is_short),
        cmocka_unit_test(bytes_are_appended_and_removed_at_the_front),
        cmocka_unit_test(reserved_space_is_never_null),
        cmocka_unit_test(a_buffer_that_failed_stays_failed_until_it_is_cleared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
