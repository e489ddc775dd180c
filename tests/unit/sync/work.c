/*
 * work.c - updates that take several calls: nothing is visible before the last
 * one, and events in between are handled.
 */
#include "support/sync.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { EPOCH = 1000, NOW = 10 * EPOCH, KEYS = 200 };

typedef struct fixture {
    test_sync_server a, b;
    test_sync_link l;
} fixture;

static void open_both(fixture *f)
{
    *f = (fixture){0};
    for (int i = 0; i < 2; i++) {
        test_sync_server *s = i ? &f->b : &f->a;
        s->list.page_bytes = 512;
        s->list.epoch_seconds = EPOCH;
        s->params.limits.slice_pages = 1;
        test_sync_open(s, 1 + (uint64_t)i);
        umbel_sync_tick(s->machine, NOW);
    }
    test_sync_connect(&f->l, &f->a, &f->b);
    test_sync_run(&f->l, NOW);
}

static void close_both(fixture *f)
{
    test_sync_close(&f->a);
    test_sync_close(&f->b);
}

static void publish_keys(test_sync_server *s, uint64_t first)
{
    for (uint64_t i = first; i < first + KEYS; i++)
        test_sync_add(s, i, 1);
    test_sync_publish(s);
}

/*
 * Returns the next message of a for b, which may take the machine several
 * calls.
 */
static umbel_slice next_of(fixture *f)
{
    umbel_slice m = {NULL, 0};

    while (!umbel_sync_next(f->a.machine, f->l.peer[0], NOW, &m)) {
        assert_true(umbel_sync_busy(f->a.machine));
        while (umbel_sync_work(f->a.machine))
            ;
    }
    return m;
}

/* Delivers a's messages to b until it is busy with one. */
static void create_busy(fixture *f)
{
    for (int i = 0; i < 10 && !umbel_sync_busy(f->b.machine); i++) {
        umbel_slice m = next_of(f);
        assert_ok(umbel_sync_receive(f->b.machine, f->l.peer[1], m.data, m.len,
                                     NOW, &test_refusal));
    }
    assert_true(umbel_sync_busy(f->b.machine));
}

static unsigned finish(test_sync_server *s)
{
    unsigned calls = 1;

    while (umbel_sync_work(s->machine))
        calls++;
    return calls;
}

static void an_update_is_seen_when_its_last_page_is_read(void **state)
{
    fixture f;

    (void)state;
    open_both(&f);
    publish_keys(&f.a, 0);
    create_busy(&f);
    assert_int_equal(test_sync_count(&f.b, 7), 0);
    assert_int_equal(f.b.events[UMBEL_SYNC_APPLIED], 0);
    assert_true(finish(&f.b) > 2);
    assert_int_equal(f.b.events[UMBEL_SYNC_APPLIED], 1);
    assert_int_equal(test_sync_count(&f.b, 7), 1);
    test_sync_run(&f.l, NOW);
    publish_keys(&f.a, KEYS); /* a difference */
    create_busy(&f);
    assert_int_equal(test_sync_count(&f.b, KEYS + 7), 0);
    assert_true(finish(&f.b) > 2);
    assert_int_equal(test_sync_count(&f.b, KEYS + 7), 1);
    assert_true(test_sync_word(&f.a) == test_sync_word(&f.b));
    close_both(&f);
}

static void no_message_is_given_out_while_the_machine_is_busy(void **state)
{
    fixture f;
    umbel_slice m;

    (void)state;
    open_both(&f);
    publish_keys(&f.a, 0);
    create_busy(&f);
    assert_false(umbel_sync_next(f.b.machine, f.l.peer[1], NOW, &m));
    finish(&f.b);
    assert_true(umbel_sync_next(f.b.machine, f.l.peer[1], NOW, &m));
    close_both(&f);
}

static void the_next_message_finishes_the_one_before(void **state)
{
    fixture f;

    (void)state;
    open_both(&f);
    publish_keys(&f.a, 0);
    create_busy(&f);
    umbel_sync_receive(f.b.machine, f.l.peer[1], "x", 1, NOW, NULL);
    assert_false(umbel_sync_busy(f.b.machine));
    assert_int_equal(test_sync_count(&f.b, 7), 1);
    close_both(&f);
}

static void what_ends_meanwhile_does_not_come_back(void **state)
{
    for (int how = 0; how < 3; how++) {
        fixture f;
        (void)state;
        open_both(&f);
        publish_keys(&f.a, 0);
        create_busy(&f);
        if (how == 0)
            umbel_sync_tick(f.b.machine, NOW + 5 * EPOCH);
        else if (how == 1)
            assert_ok(umbel_sync_drop(f.b.machine,
                                      umbel_sync_origin(f.a.machine), false,
                                      &test_refusal));
        else
            umbel_sync_disconnect(f.b.machine, f.l.peer[1]);
        finish(&f.b);
        assert_int_equal(f.b.events[UMBEL_SYNC_APPLIED], 0);
        assert_int_equal(test_sync_count(&f.b, 7), 0);
        close_both(&f);
    }
}

static void a_damaged_page_behind_the_first_slice_is_refused(void **state)
{
    fixture f;

    (void)state;
    open_both(&f);
    publish_keys(&f.a, 0);
    test_sync_run(&f.l, NOW);
    publish_keys(&f.a, KEYS);
    umbel_slice m = next_of(&f);
    uint8_t *bytes = malloc(m.len);
    assert_non_null(bytes);
    memcpy(bytes, m.data, m.len);
    assert_int_equal(bytes[0], UM_MSG_UPDATE);
    bytes[m.len - 20] ^= 1;
    um_store64(bytes + m.len - 8, um_checksum(bytes, m.len - 8));
    umbel_sync_receive(f.b.machine, f.l.peer[1], bytes, m.len, NOW, NULL);
    finish(&f.b);
    free(bytes);
    assert_int_equal(f.b.events[UMBEL_SYNC_REFUSED], 1);
    assert_int_equal(test_sync_count(&f.b, KEYS + 7), 0);
    close_both(&f);
}

/* Requests a message for c while one for b is in progress: b gets it later. */
static void a_message_that_is_given_up_comes_again(void **state)
{
    fixture f;
    test_sync_server c = {0};
    test_sync_link to_c;
    umbel_slice m;

    (void)state;
    open_both(&f);
    c.list = f.b.list;
    c.list.shape = f.b.shape;
    test_sync_open(&c, 3);
    umbel_sync_tick(c.machine, NOW);
    test_sync_connect(&to_c, &f.a, &c);
    test_sync_run(&to_c, NOW);
    publish_keys(&f.a, 0);
    test_sync_run(&f.l, NOW);
    test_sync_run(&to_c, NOW);
    publish_keys(&f.a, KEYS);
    assert_false(umbel_sync_next(f.a.machine, f.l.peer[0], NOW, &m));
    assert_true(umbel_sync_busy(f.a.machine));
    finish(&f.a);
    test_sync_run(&to_c, NOW);
    test_sync_run(&f.l, NOW);
    assert_true(test_sync_word(&f.a) == test_sync_word(&c));
    assert_true(test_sync_word(&f.a) == test_sync_word(&f.b));
    test_sync_close(&c);
    close_both(&f);
}

TEST_GROUP(work)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_is_seen_when_its_last_page_is_read),
        cmocka_unit_test(no_message_is_given_out_while_the_machine_is_busy),
        cmocka_unit_test(the_next_message_finishes_the_one_before),
        cmocka_unit_test(what_ends_meanwhile_does_not_come_back),
        cmocka_unit_test(a_damaged_page_behind_the_first_slice_is_refused),
        cmocka_unit_test(a_message_that_is_given_up_comes_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
