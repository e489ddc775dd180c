/*
 * liars.c - lying origins and peers: refused or bounded, and named. With
 * Ed25519.
 */
#include "base/hash.h"
#include "support/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <umbel/counting.h>

static void assert_named(const test_sync_server *s, umbel_sync_reason reason,
                         const test_sync_server *who)
{
    assert_true(s->events[UMBEL_SYNC_REFUSED] > 0);
    assert_string_equal(umbel_sync_reason_name(s->last_reason),
                        umbel_sync_reason_name(reason));
    assert_memory_equal(s->last_origin, umbel_sync_origin(who->machine),
                        UMBEL_ORIGIN_LEN);
}

/* Returns the next update from end 0, so that a test can change it. Free it. */
static uint8_t *catch_update(test_sync_link *l, uint64_t now, size_t *len)
{
    umbel_slice m;

    for (;;) {
        while (umbel_sync_next(l->end[1]->machine, l->peer[1], now, &m))
            umbel_sync_receive(l->end[0]->machine, l->peer[0], m.data, m.len,
                               now, NULL);
        assert_true(umbel_sync_next(l->end[0]->machine, l->peer[0], now, &m));
        if (((const uint8_t *)m.data)[0] == UM_MSG_UPDATE)
            break;
        umbel_sync_receive(l->end[1]->machine, l->peer[1], m.data, m.len, now,
                           NULL);
    }
    uint8_t *copy = malloc(m.len);
    assert_non_null(copy);
    memcpy(copy, m.data, *len = m.len);
    return copy;
}

static void an_origin_that_sets_all_its_cells_is_refused(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_add(&b, 7, 1);
    test_sync_publish(&b);
    memset(a.own->payload, 0xFF, (size_t)umbel_cells(a.own));
    a.own->added = 900;
    test_sync_publish(&a);
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 10);
    assert_named(&b, UMBEL_SYNC_ADMISSION, &a);
    assert_int_equal(test_sync_count(&b, 7), 1);
    assert_int_equal(test_sync_count(&b, 8), 0);
    uint64_t bytes = l.bytes[0];
    test_sync_run(&l, 100000);
    assert_true(l.bytes[0] == bytes); /* not sent again and again */
    test_sync_close(&a);
    test_sync_close(&b);
}

/* The cells are not checked for each of its messages. */
static void one_that_was_refused_waits_a_minute(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    uint64_t looks = 0;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    memset(a.own->payload, 0xFF, (size_t)umbel_cells(a.own) / 2);
    test_sync_connect(&l, &a, &b);
    for (uint64_t now = 100; now < 200; now++) {
        a.own->added++;
        test_sync_publish(&a);
        test_sync_run(&l, now);
        looks += b.machine->replica[0]->not_admitted == now + 1;
    }
    assert_named(&b, UMBEL_SYNC_ADMISSION, &a);
    assert_int_equal(looks, 2);
    test_sync_close(&a);
    test_sync_close(&b);
}

/*
 * Detected before the peer sends them: anything published meanwhile would
 * contradict them.
 */
static void a_peer_that_has_more_of_ours_is_seen(void **state)
{
    test_sync_server a = {0}, restored = {0}, b = {0};
    test_sync_link l;
    umbel_sync_peer_stats stats;
    size_t len;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&restored, 1);
    test_sync_open(&b, 2);
    test_sync_connect(&l, &a, &b);
    for (uint64_t i = 0; i < 3; i++) {
        test_sync_add(&a, i, 1);
        test_sync_publish(&a);
        test_sync_run(&l, 10 + i);
    }
    test_sync_add(&restored, 0, 1);
    test_sync_publish(&restored);
    test_sync_connect(&l, &b, &restored);
    free(catch_update(&l, 20, &len));
    umbel_sync_peer_stats_get(restored.machine, l.peer[1], &stats);
    assert_true(stats.known && stats.ahead);
    umbel_sync_peer_stats_get(b.machine, l.peer[0], &stats);
    assert_false(stats.ahead);
    test_sync_close(&a);
    test_sync_close(&restored);
    test_sync_close(&b);
}

static void pages_of_others_cannot_be_raised(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    size_t len;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_connect(&l, &a, &b);
    for (uint64_t i = 0; i < 200; i++)
        test_sync_add(&a, i, 1);
    test_sync_publish(&a);
    test_sync_run(&l, 10);
    uint64_t word = test_sync_word(&b);
    test_sync_add(&a, 1000, 1);
    test_sync_publish(&a);
    uint8_t *update = catch_update(&l, 20, &len);
    for (size_t i = 60; i < len - 8; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            update[i] ^= (uint8_t)(1u << bit);
            um_store64(update + len - 8, um_checksum(update, len - 8));
            umbel_sync_receive(b.machine, l.peer[1], update, len, 20, NULL);
            assert_true(test_sync_word(&b) == word);
            update[i] ^= (uint8_t)(1u << bit);
        }
    free(update);
    assert_true(b.events[UMBEL_SYNC_REFUSED] > 0);
    test_sync_run(&l, 100);
    assert_true(test_sync_word(&a) == test_sync_word(&b));
    assert_int_equal(test_sync_count(&b, 1000), 1);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void an_epoch_that_is_over_cannot_come_back(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    size_t len;
    umbel_sync_replica c;

    (void)state;
    a.list.epoch_seconds = b.list.epoch_seconds = 100;
    a.list.epochs = b.list.epochs = 2;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    umbel_sync_tick(a.machine, 1000);
    test_sync_add(&a, 5, 3);
    test_sync_publish(&a);
    test_sync_connect(&l, &a, &b);
    uint8_t *update = catch_update(&l, 1000, &len);
    assert_ok(umbel_sync_receive(b.machine, l.peer[1], update, len, 1000,
                                 &test_refusal));
    assert_int_equal(test_sync_count(&b, 5), 3);
    umbel_sync_tick(b.machine, 1199);
    assert_int_equal(test_sync_count(&b, 5), 3);
    umbel_sync_tick(b.machine, 1200);
    assert_int_equal(test_sync_count(&b, 5), 0);
    umbel_sync_receive(b.machine, l.peer[1], update, len, 1200, NULL);
    assert_named(&b, UMBEL_SYNC_EPOCH, &a);
    umbel_sync_receive(b.machine, l.peer[1], update, len, 900, NULL);
    assert_int_equal(test_sync_count(&b, 5), 0);
    size_t at = 0;
    assert_false(umbel_sync_next_replica(b.machine, &at, &c));
    free(update);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void an_epoch_years_ahead_is_refused(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;

    (void)state;
    a.list.epoch_seconds = b.list.epoch_seconds = 100000;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    umbel_sync_tick(a.machine, 1000000000);
    test_sync_add(&a, 5, 3);
    test_sync_publish(&a);
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 1000);
    assert_named(&b, UMBEL_SYNC_EPOCH, &a);
    assert_int_equal(test_sync_count(&b, 5), 0);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void one_that_says_two_things_is_out(void **state)
{
    test_sync_server a = {0}, twin = {0}, b = {0}, c = {0};
    test_sync_link ab, tc, bc;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&twin, 1);
    test_sync_open(&b, 2);
    test_sync_open(&c, 3);
    test_sync_add(&a, 1, 5);
    test_sync_add(&twin, 2, 5);
    test_sync_add(&b, 3, 1);
    test_sync_publish(&a);
    test_sync_publish(&twin);
    test_sync_publish(&b);
    test_sync_connect(&ab, &a, &b);
    test_sync_connect(&tc, &twin, &c);
    test_sync_run(&ab, 10);
    test_sync_run(&tc, 10);
    assert_int_equal(test_sync_count(&b, 1), 5);
    assert_int_equal(test_sync_count(&c, 2), 5);
    test_sync_connect(&bc, &b, &c);
    test_sync_run(&bc, 20);
    assert_int_equal(b.events[UMBEL_SYNC_CONTRADICTED], 1);
    assert_int_equal(c.events[UMBEL_SYNC_CONTRADICTED], 1);
    assert_memory_equal(c.last_origin, umbel_sync_origin(a.machine),
                        UMBEL_ORIGIN_LEN);
    assert_int_equal(test_sync_count(&b, 1), 0);
    assert_int_equal(test_sync_count(&c, 2), 0);
    assert_int_equal(test_sync_count(&c, 3), 1);
    assert_true(test_sync_word(&b) == test_sync_word(&c));
    test_sync_close(&a);
    test_sync_close(&twin);
    test_sync_close(&b);
    test_sync_close(&c);
}

static void one_that_floods_is_held_at_its_capacity(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_connect(&l, &a, &b);
    for (uint64_t i = 0; i < 1000; i++)
        test_sync_add(&a, i, 1);
    test_sync_publish(&a);
    test_sync_run(&l, 10);
    for (uint64_t i = 1000; i < 1300; i++)
        test_sync_add(&a, i, 1);
    assert_refused(umbel_sync_publish(a.machine, 0, 0, a.own, &test_refusal),
                   UMBEL_E_FULL, "capacity");
    /* A machine that ignores its limit. */
    a.machine->list[0].shape->capacity = 0;
    test_sync_publish(&a);
    test_sync_run(&l, 20);
    assert_named(&b, UMBEL_SYNC_CAPACITY, &a);
    assert_int_equal(b.events[UMBEL_SYNC_HELD], 1);
    assert_int_equal(test_sync_count(&b, 1200), 0);
    assert_int_equal(test_sync_count(&b, 7), 1);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void after_a_drop_answers_are_as_if_it_never_was(void **state)
{
    test_sync_server a = {0}, b = {0}, c = {0}, alone = {0};
    test_sync_link ab, bc;

    (void)state;
    b.params.drop_quorum = c.params.drop_quorum = 1;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_open(&c, 3);
    test_sync_open(&alone, 2);
    for (uint64_t i = 0; i < 50; i++) {
        test_sync_add(&a, i, 9);
        test_sync_add(&b, i + 25, 1);
        test_sync_add(&alone, i + 25, 1);
    }
    test_sync_publish(&a);
    test_sync_publish(&b);
    test_sync_publish(&alone);
    test_sync_connect(&ab, &a, &b);
    test_sync_connect(&bc, &b, &c);
    test_sync_run(&ab, 10);
    test_sync_run(&bc, 10);
    assert_int_equal(test_sync_count(&c, 30), 10);
    assert_ok(umbel_sync_drop(b.machine, umbel_sync_origin(a.machine), true,
                              &test_refusal));
    test_sync_run(&bc, 20);
    test_sync_run(&ab, 20);
    assert_int_equal(c.events[UMBEL_SYNC_DROPPED], 1);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(test_sync_count(&c, i), test_sync_count(&alone, i));
    assert_true(test_sync_word(&b) == test_sync_word(&c));
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&c);
    test_sync_close(&alone);
}

static void one_that_is_allowed_again_is_sent_again(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link ab;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_connect(&ab, &a, &b);
    for (uint64_t rounds = 0; rounds < 3; rounds++) {
        test_sync_add(&a, 1, 1);
        test_sync_publish(&a);
        test_sync_run(&ab, 10);
        assert_int_equal(test_sync_count(&b, 1), rounds + 1);
        assert_ok(umbel_sync_drop(b.machine, umbel_sync_origin(a.machine),
                                  false, &test_refusal));
        if (rounds) /* the other side may learn of it */
            test_sync_run(&ab, 10);
        assert_int_equal(test_sync_count(&b, 1), 0);
        assert_ok(umbel_sync_allow(b.machine, umbel_sync_origin(a.machine),
                                   &test_refusal));
        test_sync_run(&ab, 10);
        assert_int_equal(test_sync_count(&b, 1), rounds + 1);
    }
    assert_true(test_sync_word(&a) == test_sync_word(&b));
    test_sync_close(&a);
    test_sync_close(&b);
}

static void origins_have_a_limit_and_a_cap(void **state)
{
    test_sync_server b = {0}, a[3] = {{0}};
    test_sync_link l;

    (void)state;
    b.params.limits.origins = 2;
    b.list.origin_cap = 4;
    test_sync_open(&b, 9);
    for (uint64_t i = 0; i < 3; i++) {
        test_sync_open(&a[i], 20 + i);
        test_sync_add(&a[i], 1, 100);
        test_sync_publish(&a[i]);
        test_sync_connect(&l, &a[i], &b);
        test_sync_run(&l, 10);
    }
    assert_named(&b, UMBEL_SYNC_LIMIT, &a[2]);
    assert_int_equal(test_sync_count(&b, 1), 8);
    for (int i = 0; i < 3; i++)
        test_sync_close(&a[i]);
    test_sync_close(&b);
}

static void another_shape_is_refused_with_the_field(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    test_sync_server a = {0}, b = {0};
    umbel_filter *shape;
    test_sync_link l;

    (void)state;
    p.capacity = 1000;
    p.seed = 5;
    assert_ok(umbel_create("counting", &p, &shape, &test_refusal));
    a.list.shape = shape;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_add(&a, 1, 1);
    test_sync_publish(&a);
    test_sync_connect(&l, &a, &b);
    umbel_slice m;
    assert_true(umbel_sync_next(a.machine, l.peer[0], 1, &m));
    umbel_sync_receive(b.machine, l.peer[1], m.data, m.len, 1, NULL);
    assert_string_equal(umbel_sync_reason_name(b.last_reason), "shape");
    assert_non_null(strstr(b.last_text, "seed"));
    test_sync_run(&l, 1);
    umbel_sync_peer_stats stats; /* nothing of that list is sent */
    umbel_sync_peer_stats_get(b.machine, l.peer[1], &stats);
    assert_int_equal(stats.refused[UMBEL_SYNC_LIST], 0);
    umbel_sync_peer_stats_get(a.machine, l.peer[0], &stats);
    assert_int_equal(stats.changed_out, 0);
    assert_int_equal(stats.behind, 0);
    test_sync_close(&a);
    test_sync_close(&b);
    umbel_close(shape);
}

/* Returns b's error about a greeting of a. */
static const char *greeted_with(const char *at_a, const char *at_b)
{
    static char text[256];
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    umbel_slice m;

    a.list.agree = at_a;
    b.list.agree = at_b;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_add(&a, 1, 1);
    test_sync_publish(&a);
    test_sync_connect(&l, &a, &b);
    assert_true(umbel_sync_next(a.machine, l.peer[0], 1, &m));
    umbel_sync_receive(b.machine, l.peer[1], m.data, m.len, 1, NULL);
    snprintf(text, sizeof text, "%s", b.last_text);
    test_sync_run(&l, 1);
    umbel_sync_peer_stats stats;
    umbel_sync_peer_stats_get(b.machine, l.peer[1], &stats);
    assert_int_equal(stats.refused[UMBEL_SYNC_LIST], 0);
    assert_true((stats.changed_in > 0) == !text[0]);
    test_sync_close(&a);
    test_sync_close(&b);
    return text;
}

/*
 * Checks that list settings besides the shape are compared, and differences
 * named.
 */
static void lists_that_do_not_agree_are_refused_with_the_field(void **state)
{
    static const struct {
        const char *a, *b, *says; /* NULL: they exchange */
    } rows[] = {
        {NULL, NULL, NULL},
        {"seed=1-2", "seed=1-2", NULL},
        {"seed=1-2", "seed=1-3",
         "differ in seed of the list: seed=1-3 here, "
         "seed=1-2 at the peer"},
        {"seed=1-2", NULL, "differ in seed of the list: none here"},
        {NULL, "seed=1-2", "none at the peer"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *said = greeted_with(rows[i].a, rows[i].b);
        if (rows[i].says ? !strstr(said, rows[i].says) : *said != 0)
            fail_msg("row %zu: \"%s\"", i, said);
    }
}

/* Checks that a greeting with a damaged last part is refused entirely. */
static void what_lists_agree_on_may_be_damaged(void **state)
{
    static const char good[] = "seed=1-2";
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    umbel_slice m;
    uint8_t bytes[4096];

    (void)state;
    a.list.agree = b.list.agree = good;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_connect(&l, &a, &b);
    assert_true(umbel_sync_next(a.machine, l.peer[0], 1, &m));
    assert_true(m.len < sizeof bytes);
    for (size_t i = 0; i < sizeof good + 2; i++)
        for (unsigned value = 0; value < 256; value += 15) {
            umbel_sync_peer_stats stats;
            memcpy(bytes, m.data, m.len);
            bytes[m.len - 8 - sizeof good - 2 + i] = (uint8_t)value;
            um_store64(bytes + m.len - 8, um_checksum(bytes, m.len - 8));
            umbel_sync_receive(b.machine, l.peer[1], bytes, m.len, 1, NULL);
            umbel_sync_peer_stats_get(b.machine, l.peer[1], &stats);
            assert_int_equal(stats.refused[UMBEL_SYNC_CHECKSUM], 0);
        }
    test_sync_close(&a);
    test_sync_close(&b);
}

static void append_drop(test_sync_server *by, const test_sync_server *of)
{
    umbel_slice body = {umbel_sync_origin(of->machine), UMBEL_ORIGIN_LEN};

    assert_ok(umbel_sync_log_append(by->machine, UMBEL_SYNC_LOG_DROP, body,
                                    NULL, &test_refusal));
}

static void one_origin_alone_is_no_quorum_of_notices(void **state)
{
    test_sync_server a = {0}, b = {0}, c = {0}, d = {0};
    test_sync_link l;

    (void)state;
    c.params.drop_quorum = 2;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_open(&c, 3);
    test_sync_open(&d, 4);
    for (int i = 0; i < 3; i++)
        append_drop(&b, &a);
    test_sync_connect(&l, &b, &c);
    test_sync_run(&l, 10);
    assert_int_equal(c.events[UMBEL_SYNC_LOGGED], 3);
    assert_int_equal(c.events[UMBEL_SYNC_DROPPED], 0);
    append_drop(&d, &a);
    test_sync_connect(&l, &d, &c);
    test_sync_run(&l, 20);
    assert_int_equal(c.events[UMBEL_SYNC_DROPPED], 1);
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&c);
    test_sync_close(&d);
}

static void one_that_asks_to_be_dropped_is_named(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;

    (void)state;
    b.params.drop_quorum = 1;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    append_drop(&a, &a);
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 10);
    assert_int_equal(b.events[UMBEL_SYNC_DROPPED], 1);
    assert_memory_equal(b.last_origin, umbel_sync_origin(a.machine),
                        UMBEL_ORIGIN_LEN);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void restart_with_state(test_sync_server *s, uint64_t seed)
{
    test_sync_server again = {.params.drop_quorum = s->params.drop_quorum};
    size_t len;

    umbel_sync_export_state(s->machine, NULL, 0, &len, NULL);
    uint8_t *bytes = malloc(len);
    assert_non_null(bytes);
    assert_ok(
        umbel_sync_export_state(s->machine, bytes, len, &len, &test_refusal));
    test_sync_close(s);
    *s = again;
    test_sync_open(s, seed);
    assert_ok(umbel_sync_import_state(s->machine, bytes, len, &test_refusal));
    free(bytes);
}

static void one_that_was_allowed_again_stays_so_after_a_restart(void **state)
{
    test_sync_server a = {0}, b = {0}, c = {0};
    test_sync_link l;

    (void)state;
    c.params.drop_quorum = 1;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_open(&c, 3);
    append_drop(&b, &a);
    test_sync_connect(&l, &b, &c);
    test_sync_run(&l, 10);
    assert_int_equal(c.events[UMBEL_SYNC_DROPPED], 1);
    restart_with_state(&c, 3);
    assert_int_equal(
        um_origin_status_of(c.machine, umbel_sync_origin(a.machine)),
        UM_DROPPED);
    assert_ok(umbel_sync_allow(c.machine, umbel_sync_origin(a.machine),
                               &test_refusal));
    restart_with_state(&c, 3);
    assert_int_equal(c.events[UMBEL_SYNC_DROPPED], 0);
    assert_int_equal(
        um_origin_status_of(c.machine, umbel_sync_origin(a.machine)),
        UM_ALLOWED);
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&c);
}

enum { LOG_ROOM = 16384, LOG_TYPE = UMBEL_SYNC_LOG_FIRST };

/* Entries without a body use memory, too. */
static void a_log_of_others_is_bounded_and_leaves_room_for_ours(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    umbel_slice none = {"", 0}, body = {"0123456789", 10};

    (void)state;
    b.params.limits.log_bytes = LOG_ROOM;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    for (size_t i = 0; i < 2 * LOG_ROOM / sizeof(um_log_entry); i++)
        assert_ok(umbel_sync_log_append(a.machine, LOG_TYPE, none, NULL,
                                        &test_refusal));
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 10);
    assert_named(&b, UMBEL_SYNC_LOG, &a);
    assert_true(b.events[UMBEL_SYNC_LOGGED] <= LOG_ROOM / sizeof(um_log_entry));
    assert_ok(
        umbel_sync_log_append(b.machine, LOG_TYPE, body, NULL, &test_refusal));
    test_sync_close(&a);
    test_sync_close(&b);
}

/* Returns the only replica of an origin. */
static um_replica *replica_of(const test_sync_server *s, const uint8_t *origin)
{
    for (size_t i = 0; i < s->machine->nreplicas; i++) {
        um_replica *c = s->machine->replica[i];
        if (c && memcmp(c->id.origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return c;
    }
    fail_msg("no replica");
    abort();
}

/* A directory and a peer that says that it is a copy of it, and has another
 * version. Its signatures are right or wrong, its session larger or smaller.
 * Returns how often the directory continued as a new incarnation. */
static uint64_t renewed_by_copy(bool is_signed, bool larger)
{
    test_sync_server a = {0}, copy = {0};
    test_sync_link l;

    a.params.session = 50;
    copy.params.session = larger ? 90 : 10;
    a.params.announce = copy.params.announce = true;
    test_sync_open(&a, 1);
    test_sync_open(&copy, 1);
    test_sync_add(&a, 1, 1);
    test_sync_add(&copy, 2, 1);
    test_sync_publish(&a);
    test_sync_publish(&copy);
    if (!is_signed)
        replica_of(&copy, umbel_sync_origin(a.machine))->now.signature[3] ^= 1;
    test_sync_connect(&l, &a, &copy);
    test_sync_run(&l, 10);
    uint64_t n = a.events[UMBEL_SYNC_RENEWED],
             both = n + copy.events[UMBEL_SYNC_RENEWED];
    if (is_signed) { /* one of them acts, and both have all */
        assert_int_equal(both, 1);
        assert_int_equal(test_sync_count(&a, 2), 1);
        assert_int_equal(test_sync_count(&copy, 1), 1);
        assert_true(test_sync_word(&a) == test_sync_word(&copy));
    }
    test_sync_close(&a);
    test_sync_close(&copy);
    return n;
}

static void one_that_says_it_is_a_copy_of_us_has_to_prove_it(void **state)
{
    (void)state;
    assert_int_equal(renewed_by_copy(true, true) + renewed_by_copy(true, false),
                     1);
    assert_int_equal(renewed_by_copy(false, true), 0);
    assert_int_equal(renewed_by_copy(false, false), 0);
}

/* A peer that refuses our filter and claims to have an earlier version, of
 * which we have no history. With proof it is one that we signed. */
static uint64_t renewed_by_refusal(bool proof)
{
    test_sync_server a = {0}, b = {0}, fork = {0};
    test_sync_link l;

    a.params.announce = b.params.announce = true;
    a.params.limits.history_bytes = 1;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_open(&fork, 1);
    test_sync_add(&fork, 99, 1);
    test_sync_publish(&fork);
    test_sync_add(&fork, 98, 1);
    test_sync_publish(&fork);
    for (uint64_t i = 0; i < 5; i++) {
        test_sync_add(&a, i, 1);
        test_sync_publish(&a);
    }
    if (proof) {
        test_sync_connect(&l, &fork, &b);
    } else {
        test_sync_connect(&l, &a, &b);
        test_sync_run(&l, 10);
        um_replica *c = replica_of(&b, umbel_sync_origin(a.machine));
        c->now.version = 2;
        c->now.root[0] ^= 1;
        c->refused = 1000;
        test_sync_connect(&l, &a, &b);
    }
    test_sync_run(&l, 10);
    if (proof) {
        test_sync_connect(&l, &a, &b);
        test_sync_run(&l, 10);
        assert_int_equal(test_sync_count(&a, 99), 1);
        assert_int_equal(test_sync_count(&b, 4), 1);
    }
    uint64_t n = a.events[UMBEL_SYNC_RENEWED];
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&fork);
    return n;
}

static void one_that_refuses_our_filter_has_to_prove_the_other(void **state)
{
    (void)state;
    assert_int_equal(renewed_by_refusal(true), 1);
    assert_int_equal(renewed_by_refusal(false), 0);
}

/* A claim about a version that nobody can prove any more is reported. */
static void a_claim_that_cannot_be_proved_is_named(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;

    (void)state;
    a.params.announce = b.params.announce = true;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    for (uint64_t i = 0; i < 5; i++) {
        test_sync_add(&a, i, 1);
        test_sync_publish(&a);
    }
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 10);
    um_replica_forget_past(replica_of(&a, umbel_sync_origin(a.machine)));
    um_replica *c = replica_of(&b, umbel_sync_origin(a.machine));
    c->now.version = 2;
    c->refused = 1000;
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 10);
    assert_named(&a, UMBEL_SYNC_DISPUTED, &a);
    assert_int_equal(a.events[UMBEL_SYNC_RENEWED], 0);
    test_sync_close(&a);
    test_sync_close(&b);
}

/* One incarnation too many of an origin is no matter of the origins. */
static void incarnations_have_a_limit_of_their_own(void **state)
{
    test_sync_server b = {0}, a[3] = {{0}};
    test_sync_link l;

    (void)state;
    b.params.limits.incarnations = 2;
    test_sync_open(&b, 9);
    for (uint64_t i = 0; i < 3; i++) {
        a[i].incarnation = 1 + i;
        test_sync_open(&a[i], 20);
        test_sync_add(&a[i], i, 1);
        test_sync_publish(&a[i]);
        test_sync_connect(&l, &a[i], &b);
        test_sync_run(&l, 10);
    }
    assert_named(&b, UMBEL_SYNC_INCARNATIONS, &a[2]);
    assert_int_equal(test_sync_count(&b, 1), 1);
    for (int i = 0; i < 3; i++)
        test_sync_close(&a[i]);
    test_sync_close(&b);
}

TEST_GROUP(liars)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_origin_that_sets_all_its_cells_is_refused),
        cmocka_unit_test(one_that_was_refused_waits_a_minute),
        cmocka_unit_test(a_peer_that_has_more_of_ours_is_seen),
        cmocka_unit_test(pages_of_others_cannot_be_raised),
        cmocka_unit_test(an_epoch_that_is_over_cannot_come_back),
        cmocka_unit_test(an_epoch_years_ahead_is_refused),
        cmocka_unit_test(one_that_says_two_things_is_out),
        cmocka_unit_test(one_that_floods_is_held_at_its_capacity),
        cmocka_unit_test(after_a_drop_answers_are_as_if_it_never_was),
        cmocka_unit_test(one_that_is_allowed_again_is_sent_again),
        cmocka_unit_test(origins_have_a_limit_and_a_cap),
        cmocka_unit_test(another_shape_is_refused_with_the_field),
        cmocka_unit_test(lists_that_do_not_agree_are_refused_with_the_field),
        cmocka_unit_test(what_lists_agree_on_may_be_damaged),
        cmocka_unit_test(one_origin_alone_is_no_quorum_of_notices),
        cmocka_unit_test(one_that_asks_to_be_dropped_is_named),
        cmocka_unit_test(one_that_was_allowed_again_stays_so_after_a_restart),
        cmocka_unit_test(a_log_of_others_is_bounded_and_leaves_room_for_ours),
        cmocka_unit_test(one_that_says_it_is_a_copy_of_us_has_to_prove_it),
        cmocka_unit_test(one_that_refuses_our_filter_has_to_prove_the_other),
        cmocka_unit_test(a_claim_that_cannot_be_proved_is_named),
        cmocka_unit_test(incarnations_have_a_limit_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
