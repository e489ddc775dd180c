/*
 * own.c - our own filters in a machine: published in slices of pages, and
 * restored at a start.
 */
#include "support/sync.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 512, KEYS = 400, MARKS = 12 };

static void open_paged(test_sync_server *s, uint64_t session)
{
    s->list.page_bytes = PAGE;
    s->params.session = session;
    test_sync_open(s, 1);
}

static void add_keys(test_sync_server *s, uint64_t from, uint64_t end)
{
    for (uint64_t i = from; i < end; i++)
        test_sync_add(s, i, 1 + i % 5);
}

static umbel_sync_slice publish_range(test_sync_server *s,
                                      const umbel_filter *f, uint64_t first,
                                      uint64_t end)
{
    umbel_sync_slice out = {0};

    assert_ok(umbel_sync_publish_pages(s->machine, 0, 0, f, first, end, &out,
                                       &test_refusal));
    return out;
}

static uint64_t publish_slice(test_sync_server *s, const umbel_filter *f,
                              uint64_t first, uint64_t end)
{
    return publish_range(s, f, first, end).version;
}

static const um_replica *only_replica(const test_sync_server *s)
{
    assert_int_equal(s->machine->norder, 1);
    return s->machine->replica[s->machine->order[0]];
}

static void slices_in_any_order_give_the_root_of_one_publish(void **state)
{
    test_sync_server whole = {0}, up = {0}, down = {0};
    (void)state;

    open_paged(&whole, 1);
    open_paged(&up, 2);
    open_paged(&down, 3);
    uint64_t pages = umbel_sync_pages(whole.machine, 0), version = 0;
    assert_true(pages > 10);
    for (uint64_t round = 0; round < 3; round++) {
        add_keys(&whole, round * KEYS / 3, (round + 1) * KEYS / 3);
        test_sync_publish(&whole);
        for (uint64_t i = 0; i < pages; i++) {
            publish_slice(&up, whole.own, i, i + 1);
            version = publish_slice(&down, whole.own, pages - 1 - i, pages - i);
        }
        assert_true(test_sync_word(&up) == test_sync_word(&whole));
        assert_true(test_sync_word(&down) == test_sync_word(&whole));
        /* Unchanged pages make no new version. */
        assert_int_equal(publish_slice(&down, whole.own, 0, pages), version);
    }
    test_sync_close(&whole);
    test_sync_close(&up);
    test_sync_close(&down);
}

static void a_slice_outside_the_filter_is_refused(void **state)
{
    test_sync_server s = {0};
    umbel_sync_slice out = {.version = 7};
    (void)state;

    open_paged(&s, 1);
    uint64_t pages = umbel_sync_pages(s.machine, 0);
    assert_refused(umbel_sync_publish_pages(s.machine, 0, 0, s.own, 0,
                                            pages + 1, &out, &test_refusal),
                   UMBEL_E_RANGE, "outside");
    assert_refused(umbel_sync_publish_pages(s.machine, 0, 0, s.own, 2, 1, &out,
                                            &test_refusal),
                   UMBEL_E_RANGE, "outside");
    assert_int_equal(out.version, 7);
    assert_int_equal(publish_slice(&s, s.own, 0, pages), 0);
    assert_int_equal(umbel_sync_pages(s.machine, 1), 0);
    test_sync_close(&s);
}

static bool page_is_same(const test_sync_server *s, uint64_t number,
                         const umbel_filter *a, const umbel_filter *b)
{
    um_page p = um_page_of(&s->machine->list[0].pages, number);
    return memcmp(a->payload + p.offset, b->payload + p.offset, p.len) == 0;
}

/* A restart then compares only these pages. */
static void a_publish_names_the_pages_that_changed(void **state)
{
    test_sync_server s = {0};
    umbel_filter *before;
    uint64_t narrow = 0;
    (void)state;

    open_paged(&s, 1);
    uint64_t pages = umbel_sync_pages(s.machine, 0);
    for (uint64_t i = 0; i < 20; i++) {
        assert_ok(umbel_copy(s.own, &before, &test_refusal));
        add_keys(&s, i, i + 1);
        umbel_sync_slice at = publish_range(&s, s.own, 0, pages);
        assert_int_equal(at.version, i + 1);
        assert_false(page_is_same(&s, at.first, before, s.own));
        assert_false(page_is_same(&s, at.end - 1, before, s.own));
        for (uint64_t k = 0; k < pages; k++)
            assert_true((k >= at.first && k < at.end) ||
                        page_is_same(&s, k, before, s.own));
        narrow += at.end - at.first < pages;
        umbel_close(before);
    }
    assert_true(narrow > 0);
    umbel_sync_slice none = publish_range(&s, s.own, 2, pages - 1);
    assert_int_equal(none.version, 20);
    assert_int_equal(none.first, 2);
    assert_int_equal(none.end, pages - 1);
    test_sync_close(&s);
}

/*
 * Keys whose cells are all in unpublished slices must not make peers reject the
 * published ones.
 */
static void others_take_a_filter_slice_by_slice(void **state)
{
    static const char *const kinds[] = {"bloom", "counting", "tally", "table"};
    (void)state;

    for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
        test_sync_server a = {0}, b = {0};
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *shape;
        test_sync_link l;

        p.capacity = 5000;
        assert_ok(umbel_create(kinds[k], &p, &shape, &test_refusal));
        a.list.shape = b.list.shape = shape;
        b.list.page_bytes = PAGE;
        open_paged(&a, 1);
        test_sync_open(&b, 2);
        test_sync_connect(&l, &a, &b);
        add_keys(&a, 0, 5000);
        uint64_t pages = umbel_sync_pages(a.machine, 0), slices = 7;
        for (uint64_t i = 0; i < slices; i++) {
            publish_slice(&a, a.own, i * pages / slices,
                          (i + 1) * pages / slices);
            test_sync_run(&l, 1000 + i);
            assert_int_equal(b.events[UMBEL_SYNC_REFUSED], 0);
        }
        assert_true(test_sync_word(&a) == test_sync_word(&b));
        assert_true(test_sync_count(&b, 4) >= 1);
        test_sync_close(&a);
        test_sync_close(&b);
        umbel_close(shape);
    }
}

/* The journal's record of one publish. */
typedef struct mark {
    umbel_filter *then;
    umbel_sync_slice at;
    um_statement signed_as;
} mark;

/*
 * Publishes slices while keys are added; mark 0 covers all pages: the snapshot.
 */
static void live_and_mark(test_sync_server *s, mark *m)
{
    uint64_t pages = umbel_sync_pages(s->machine, 0);

    add_keys(s, 0, KEYS / 2);
    publish_slice(s, s->own, 0, pages / 2);
    for (size_t i = 0; i < MARKS; i++) {
        add_keys(s, KEYS / 2 + i, KEYS / 2 + i + 1);
        m[i].at = publish_range(s, s->own, i ? i * 5 % (pages / 2) : 0,
                                pages - i % 4);
        assert_true(m[i].at.first < m[i].at.end && m[i].at.end <= pages);
        m[i].signed_as = only_replica(s)->now;
        assert_ok(umbel_copy(s->own, &m[i].then, &test_refusal));
    }
}

static void replay(test_sync_server *s, const mark *m)
{
    assert_ok(umbel_sync_restore(s->machine, 0, 0, m[0].at.version, m[0].then,
                                 &test_refusal));
    for (size_t i = 0; i < MARKS; i++) {
        if (i)
            assert_int_equal(
                publish_slice(s, m[i].then, m[i].at.first, m[i].at.end),
                m[i].at.version);
        const um_statement *now = &only_replica(s)->now;
        assert_int_equal(now->version, m[i].signed_as.version);
        assert_int_equal(now->keys, m[i].signed_as.keys);
        assert_memory_equal(now->root, m[i].signed_as.root, UM_HASH_LEN);
        assert_memory_equal(now->signature, m[i].signed_as.signature,
                            UM_SIGNATURE_LEN);
    }
}

static void close_marks(mark *m)
{
    for (size_t i = 0; i < MARKS; i++)
        umbel_close(m[i].then);
}

static void restore_and_replay_sign_the_same_statements(void **state)
{
    test_sync_server a = {0}, again = {0};
    mark m[MARKS];
    (void)state;

    open_paged(&a, 1);
    live_and_mark(&a, m);
    open_paged(&again, 2);
    replay(&again, m);
    assert_true(test_sync_word(&a) == test_sync_word(&again));
    assert_refused(
        umbel_sync_restore(again.machine, 0, 0, 3, m[0].then, &test_refusal),
        UMBEL_E_RANGE, "first");
    close_marks(m);
    test_sync_close(&a);
    test_sync_close(&again);
}

static void a_claim_that_grew_alone_is_published_with_all_pages(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    (void)state;

    open_paged(&a, 1);
    b.list.page_bytes = PAGE;
    test_sync_open(&b, 2);
    add_keys(&a, 0, 50);
    uint64_t pages = umbel_sync_pages(a.machine, 0);
    assert_int_equal(publish_slice(&a, a.own, 0, pages), 1);
    a.own->added++;
    assert_int_equal(publish_slice(&a, a.own, 0, pages - 1), 1);
    assert_int_equal(publish_slice(&a, a.own, 0, pages), 2);
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 1000);
    assert_int_equal(only_replica(&b)->now.keys, 51);
    test_sync_close(&a);
    test_sync_close(&b);
}

/*
 * A peer has everything that was published; the server is killed, restarts and
 * replays.
 */
static void a_restored_machine_goes_on_where_its_peers_are(void **state)
{
    test_sync_server a = {0}, b = {0}, again = {0};
    test_sync_link l;
    mark m[MARKS];
    (void)state;

    open_paged(&a, 1);
    b.list.page_bytes = PAGE;
    test_sync_open(&b, 2);
    live_and_mark(&a, m);
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 1000);
    umbel_sync_disconnect(b.machine, l.peer[1]);
    open_paged(&again, 3);
    replay(&again, m);
    add_keys(&a, 0, 1); /* in the journal after the last mark */
    publish_slice(&again, a.own, 0, umbel_sync_pages(a.machine, 0));
    test_sync_connect(&l, &again, &b);
    test_sync_run(&l, 2000);
    assert_true(test_sync_word(&again) == test_sync_word(&b));
    assert_true(l.bytes[0] < 1000); /* a difference */
    assert_int_equal(b.events[UMBEL_SYNC_CONTRADICTED], 0);
    assert_int_equal(again.events[UMBEL_SYNC_CONTRADICTED], 0);
    assert_int_equal(again.events[UMBEL_SYNC_RENEWED], 0);
    assert_int_equal(umbel_sync_incarnation(again.machine), 1);
    close_marks(m);
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&again);
}

/*
 * Restores a backup of 100 keys of which a peer has 150, after adding `alone`
 * other keys without connection.
 */
static void restore_backup(uint64_t alone, uint64_t *lost, uint64_t *word)
{
    test_sync_server a = {0}, b = {0}, again = {0}, c = {0};
    test_sync_link l, bc;
    umbel_filter *backup;

    open_paged(&a, 1);
    b.list.page_bytes = c.list.page_bytes = PAGE;
    test_sync_open(&b, 2);
    test_sync_open(&c, 3);
    add_keys(&a, 0, 100);
    test_sync_publish(&a);
    assert_ok(umbel_copy(a.own, &backup, &test_refusal));
    test_sync_connect(&l, &a, &b);
    for (uint64_t i = 100; i < 150; i += 10) {
        add_keys(&a, i, i + 10);
        test_sync_publish(&a);
        test_sync_run(&l, 1000 + i);
    }
    umbel_sync_disconnect(b.machine, l.peer[1]);
    open_paged(&again, 3);
    assert_ok(
        umbel_sync_restore(again.machine, 0, 0, 1, backup, &test_refusal));
    umbel_close(again.own);
    again.own = backup;
    for (uint64_t i = 0; i < alone; i++) {
        add_keys(&again, 500 + i, 501 + i);
        test_sync_publish(&again);
    }
    test_sync_connect(&l, &again, &b);
    test_sync_connect(&bc, &b, &c);
    for (uint64_t round = 0; round < 4; round++) {
        test_sync_run(&l, 2000 + 40 * round);
        test_sync_run(&bc, 2000 + 40 * round);
    }
    assert_int_equal(again.events[UMBEL_SYNC_RENEWED], 1);
    assert_int_equal(again.events[UMBEL_SYNC_CONTRADICTED] +
                         b.events[UMBEL_SYNC_CONTRADICTED] +
                         c.events[UMBEL_SYNC_CONTRADICTED],
                     0);
    assert_true(umbel_sync_incarnation(again.machine) > 1);
    assert_true(test_sync_word(&again) == test_sync_word(&b));
    assert_true(test_sync_word(&c) == test_sync_word(&b));
    *lost = 0;
    for (uint64_t i = 0; i < 150; i++)
        *lost += test_sync_count(&c, i) < 1 + i % 5;
    for (uint64_t i = 500; i < 500 + alone; i++)
        *lost += test_sync_count(&c, i) < 1 + i % 5;
    /* It continues, empty. */
    assert_ok(umbel_clear(again.own, &test_refusal));
    add_keys(&again, 900, 901);
    test_sync_publish(&again);
    test_sync_run(&l, 3000);
    *word = test_sync_word(&again) ^ test_sync_word(&b);
    assert_true(test_sync_count(&b, 900) >= 1);
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&c);
    test_sync_close(&again);
}

static void a_backup_is_renewed_and_nothing_is_lost(void **state)
{
    static const uint64_t alone[] = {0, 1, 3, 20};
    (void)state;

    for (size_t i = 0; i < TEST_COUNT(alone); i++) {
        uint64_t lost, word;
        restore_backup(alone[i], &lost, &word);
        assert_int_equal(lost, 0);
        assert_int_equal(word, 0);
    }
}

/* Earlier versions saved no statements before the steps: their files end where
 * the number of these is now. */
static void replicas_of_earlier_versions_are_read(void **state)
{
    test_sync_server a = {0}, again = {0};
    umbel_filter *f;
    size_t at = 0;
    umbel_sync_replica c;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&again, 1);
    test_sync_add(&a, 7, 2);
    test_sync_publish(&a);
    assert_true(umbel_sync_next_replica(a.machine, &at, &c));
    assert_ok(umbel_sync_export(a.machine, at, &f, &test_refusal));
    umbel_slice data = umbel_data(f);
    uint8_t *bytes = malloc(data.len);
    assert_non_null(bytes);
    memcpy(bytes, data.data, data.len);
    assert_int_equal(bytes[data.len - 1], 0); /* none */
    assert_ok(umbel_set_data(f, bytes, data.len - 1, &test_refusal));
    assert_ok(umbel_sync_import(again.machine, f, &test_refusal));
    assert_int_equal(test_sync_count(&again, 7), 2);
    free(bytes);
    umbel_close(f);
    test_sync_close(&a);
    test_sync_close(&again);
}

TEST_GROUP(own)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_of_earlier_versions_are_read),
        cmocka_unit_test(slices_in_any_order_give_the_root_of_one_publish),
        cmocka_unit_test(a_slice_outside_the_filter_is_refused),
        cmocka_unit_test(a_publish_names_the_pages_that_changed),
        cmocka_unit_test(others_take_a_filter_slice_by_slice),
        cmocka_unit_test(restore_and_replay_sign_the_same_statements),
        cmocka_unit_test(a_claim_that_grew_alone_is_published_with_all_pages),
        cmocka_unit_test(a_restored_machine_goes_on_where_its_peers_are),
        cmocka_unit_test(a_backup_is_renewed_and_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
