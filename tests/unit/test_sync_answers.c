/*
 * test_sync_answers.c - counts over origins: our own live filter, quorum, caps.
 */
#include "support/sync.h"

#include <sodium.h>

static umbel_digest digest_of(const test_sync_server *s, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    umbel_digest d;

    test_key(i, key);
    assert_ok(umbel_digest_many(s->shape, &slice, 1, &d, &test_refusal));
    return d;
}

static uint64_t count_with(const test_sync_server *s, uint64_t i, uint64_t own)
{
    umbel_digest d = digest_of(s, i);
    uint64_t count;

    assert_ok(umbel_sync_count_with(s->machine, 0, &d, 1, &own, &count,
                                    &test_refusal));
    return count;
}

static void exchange(test_sync_server *a, test_sync_server *b, uint64_t now)
{
    test_sync_link l;

    test_sync_connect(&l, a, b);
    test_sync_run(&l, now);
    umbel_sync_disconnect(a->machine, l.peer[0]);
    umbel_sync_disconnect(b->machine, l.peer[1]);
}

static void our_own_filter_counts_as_it_is_and_not_as_published(void **state)
{
    test_sync_server a = {0}, b = {0};
    umbel_digest d;
    uint64_t count;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    assert_int_equal(count_with(&a, 7, 4), 4); /* nothing is published */
    test_sync_add(&a, 7, 2);
    test_sync_publish(&a);
    test_sync_add(&b, 7, 3);
    test_sync_publish(&b);
    exchange(&a, &b, 1);
    assert_int_equal(count_with(&a, 7, 5), 5 + 3);
    assert_int_equal(count_with(&a, 7, 0), 3);
    d = digest_of(&a, 7);
    assert_ok(umbel_sync_count_with(a.machine, 0, &d, 1, NULL, &count,
                                    &test_refusal));
    assert_int_equal(count, 2 + 3);
    assert_refused(
        umbel_sync_count_with(a.machine, 1, &d, 1, NULL, &count, &test_refusal),
        UMBEL_E_RANGE, "no such list");
    test_sync_close(&a);
    test_sync_close(&b);
}

static void what_an_older_incarnation_of_ours_said_counts_with_us(void **state)
{
    test_sync_server old = {0}, b = {0}, a = {.incarnation = 2};

    (void)state;
    test_sync_open(&old, 1);
    test_sync_open(&b, 2);
    test_sync_add(&old, 7, 2);
    test_sync_publish(&old);
    exchange(&old, &b, 1);
    test_sync_close(&old);
    test_sync_open(&a, 1);
    exchange(&a, &b, 2);
    assert_int_equal(count_with(&a, 7, 3), 2 + 3);
    umbel_sync_set_trust(a.machine, 0, 1, 4); /* one origin, one cap */
    assert_int_equal(count_with(&a, 7, 3), 4);
    umbel_sync_set_trust(a.machine, 0, 2, 0);
    assert_int_equal(count_with(&a, 7, 3), 0);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void quorum_and_cap_are_of_origins(void **state)
{
    test_sync_server a = {0}, b = {0}, c = {0};
    uint64_t word;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_open(&c, 3);
    test_sync_add(&b, 7, 30);
    test_sync_add(&c, 7, 2);
    test_sync_add(&c, 8, 9);
    test_sync_publish(&b);
    test_sync_publish(&c);
    exchange(&b, &c, 1);
    exchange(&a, &c, 1);
    word = test_sync_word(&a);
    umbel_sync_set_trust(a.machine, 0, 2, 5);
    assert_true(test_sync_word(&a) != word);
    assert_int_equal(count_with(&a, 7, 0), 5 + 2);
    assert_int_equal(count_with(&a, 7, 8), 5 + 2 + 5);
    assert_int_equal(count_with(&a, 8, 0), 0); /* one says so */
    assert_int_equal(count_with(&a, 8, 1), 5 + 1);
    assert_ok(umbel_sync_mute(a.machine, umbel_sync_origin(c.machine),
                              &test_refusal));
    assert_int_equal(count_with(&a, 8, 1), 0);
    assert_int_equal(count_with(&a, 7, 1), 5 + 1);
    umbel_sync_set_trust(a.machine, 0, 0, 0); /* the defaults */
    assert_int_equal(count_with(&a, 7, 1), 30 + 1);
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_filter_counts_as_it_is_and_not_as_published),
        cmocka_unit_test(what_an_older_incarnation_of_ours_said_counts_with_us),
        cmocka_unit_test(quorum_and_cap_are_of_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
