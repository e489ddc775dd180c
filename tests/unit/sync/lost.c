/* lost.c - late and lost messages: the engine recovers without a reconnect. */
#include "support/sync.h"

#include <stdlib.h>
#include <string.h>

enum { RETRY = 30, KEPT = 8 };

/* Messages that one side sent. */
typedef struct kept {
    uint8_t *bytes[KEPT];
    size_t len[KEPT], n;
} kept;

static void retain(kept *k, umbel_slice m)
{
    assert_true(k->n < KEPT);
    k->bytes[k->n] = malloc(m.len);
    assert_non_null(k->bytes[k->n]);
    memcpy(k->bytes[k->n], m.data, m.len);
    k->len[k->n++] = m.len;
}

static void free_kept(kept *k)
{
    while (k->n)
        free(k->bytes[--k->n]);
}

/*
 * Delivers messages until neither side has any left; stores those of end 0, and
 * loses those of one type.
 */
static void carry(test_sync_link *l, uint64_t now, kept *k, int lost)
{
    umbel_slice m;

    for (bool quiet = false; !quiet;) {
        quiet = true;
        for (int i = 0; i < 2; i++)
            while (umbel_sync_next(l->end[i]->machine, l->peer[i], now, &m)) {
                quiet = false;
                if (k && i == 0)
                    retain(k, m);
                if (((const uint8_t *)m.data)[0] != lost)
                    umbel_sync_receive(l->end[!i]->machine, l->peer[!i], m.data,
                                       m.len, now, NULL);
            }
    }
}

static void disconnect(const test_sync_link *l)
{
    for (int i = 0; i < 2; i++)
        umbel_sync_disconnect(l->end[i]->machine, l->peer[i]);
}

static void messages_of_an_old_connection_say_nothing(void **state)
{
    test_sync_server a = {.seed = 0}, b = {.seed = 0};
    test_sync_link l;
    kept old = {.n = 0};

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_add(&b, 7, 3);
    test_sync_publish(&b);
    test_sync_connect(&l, &a, &b);
    carry(&l, 10, NULL, UM_MSG_HAVE);
    carry(&l, 10 + RETRY, &old, 0); /* from a greeting that knows B */
    assert_int_equal(test_sync_count(&a, 7), 3);
    /*
     * A loses everything; what B sends again is lost; then A's old messages
     * arrive once more.
     */
    disconnect(&l);
    test_sync_close(&a);
    a.incarnation = 2;
    a.params.session = 99;
    test_sync_open(&a, 1);
    test_sync_connect(&l, &a, &b);
    carry(&l, 101, NULL, UM_MSG_UPDATE);
    for (size_t i = 0; i < old.n; i++)
        umbel_sync_receive(b.machine, l.peer[1], old.bytes[i], old.len[i], 101,
                           NULL);
    carry(&l, 101 + RETRY, NULL, 0);
    assert_int_equal(test_sync_count(&a, 7), 3);
    free_kept(&old);
    test_sync_close(&a);
    test_sync_close(&b);
}

/*
 * Opens two machines with the key of one origin, as after restoring a backup.
 */
static void open_twins(test_sync_server *a, test_sync_server *b)
{
    *a = *b = (test_sync_server){.seed = 0};
    a->params.session = 11;
    b->params.session = 12;
    test_sync_open(a, 1);
    test_sync_open(b, 1);
}

static void a_lost_statement_comes_again(void **state)
{
    test_sync_server one, other, a = {.seed = 0}, b = {.seed = 0};
    test_sync_link l, m, between;

    (void)state;
    open_twins(&one, &other);
    test_sync_open(&a, 2);
    test_sync_open(&b, 3);
    test_sync_add(&one, 1, 1);
    test_sync_add(&other, 2, 2);
    test_sync_publish(&one);
    test_sync_publish(&other);
    test_sync_connect(&l, &one, &a);
    test_sync_connect(&m, &other, &b);
    carry(&l, 100, NULL, 0);
    carry(&m, 100, NULL, 0);
    test_sync_connect(&between, &a, &b);
    carry(&between, 100, NULL, UM_MSG_STATEMENT);
    assert_int_equal(a.events[UMBEL_SYNC_CONTRADICTED], 0);
    carry(&between, 100 + RETRY, NULL, 0);
    assert_int_equal(a.events[UMBEL_SYNC_CONTRADICTED], 1);
    assert_int_equal(b.events[UMBEL_SYNC_CONTRADICTED], 1);
    assert_true(test_sync_word(&a) == test_sync_word(&b));
    test_sync_close(&one);
    test_sync_close(&other);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void append(test_sync_server *s, const char *text)
{
    assert_ok(umbel_sync_log_append(s->machine, UMBEL_SYNC_LOG_FIRST,
                                    (umbel_slice){text, strlen(text)}, NULL,
                                    &test_refusal));
}

static size_t entries_of(const test_sync_server *s)
{
    umbel_sync_entry e;
    size_t n = 0;

    for (size_t at = 0; umbel_sync_next_entry(s->machine, &at, &e);)
        n++;
    return n;
}

static void of_two_entries_with_one_number_all_keep_the_same(void **state)
{
    test_sync_server one, other, a = {.seed = 0}, b = {.seed = 0};
    test_sync_link l, m, between;

    (void)state;
    open_twins(&one, &other);
    test_sync_open(&a, 2);
    test_sync_open(&b, 3);
    append(&one, "spam");
    append(&other, "ham");
    append(&other, "eggs");
    test_sync_connect(&l, &one, &a);
    test_sync_connect(&m, &other, &b);
    carry(&l, 100, NULL, 0);
    carry(&m, 100, NULL, 0);
    test_sync_connect(&between, &a, &b);
    carry(&between, 100, NULL, 0);
    carry(&between, 100 + RETRY, NULL, 0);
    assert_int_equal(entries_of(&a), 2);
    assert_int_equal(entries_of(&b), 2);
    assert_true(test_sync_word(&a) == test_sync_word(&b));
    assert_true(umbel_sync_settled(a.machine, between.peer[0]));
    test_sync_close(&one);
    test_sync_close(&other);
    test_sync_close(&a);
    test_sync_close(&b);
}

TEST_GROUP(lost)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_an_old_connection_say_nothing),
        cmocka_unit_test(a_lost_statement_comes_again),
        cmocka_unit_test(of_two_entries_with_one_number_all_keep_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
