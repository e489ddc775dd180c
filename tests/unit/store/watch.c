/*
 * watch.c - notes that are watched, and lists that are emptied: what
 * a start shows of them.
 */
#include "support/sim_disk.h"
#include "support/test.h"

#include "base/hash.h"
#include "base/rng.h"
#include "filter/envelope.h"
#include "store/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T0 = 1000000, KEYS = 300, LISTS = 2 };

/* Notes are checksums of list 0, and so checked by whoever sees them. */
typedef struct watcher {
    um_store_config config;
    sim_disk *disk;
    um_store *store;
    uint64_t now;
    um_rng rng;
    unsigned shown, dropped, leaders, snapshots, asked;
    uint64_t amounts; /* that were counted */
    char leader[16];  /* what was shown last */
    uint64_t counted; /* in list 1 when the leader was shown last */
} watcher;

static umbel_slice text(const char *s)
{
    return (umbel_slice){s, strlen(s)};
}

static uint64_t sum_of(const um_list *l)
{
    um_list_stats st;
    uint64_t sum = 0;

    um_list_stats_get(l, &st);
    for (unsigned i = 0; i < st.n; i++) {
        const umbel_filter *f = um_list_filter(l, i);
        sum = um_remix(sum ^ um_checksum(f->payload, f->payload_len));
    }
    return sum;
}

static umbel_status check_note(void *ctx, const um_list *const *lists,
                               size_t nlists, umbel_slice name,
                               umbel_slice value, umbel_error *err)
{
    watcher *w = ctx;
    uint64_t sum;

    (void)err;
    assert_int_equal(nlists, w->config.nlists);
    if (memcmp(name.data, "head", 4) == 0) {
        um_list_stats st;
        um_list_stats_get(lists[1], &st);
        snprintf(w->leader, sizeof w->leader, "%.*s", (int)value.len,
                 (const char *)value.data);
        w->leaders++;
        w->counted = st.digests;
        w->shown = w->dropped = 0;
        return UMBEL_OK;
    }
    assert_memory_equal(name.data, "sum/", 4);
    if (!value.data) {
        w->dropped++;
        return UMBEL_OK;
    }
    assert_int_equal(value.len, sizeof sum);
    memcpy(&sum, value.data, sizeof sum);
    if (lists[0])
        assert_int_equal(sum_of(lists[0]), sum);
    w->shown++;
    return UMBEL_OK;
}

static uint64_t note_sum(watcher *w, um_store *s)
{
    uint64_t sum = sum_of(um_store_list(s, 0)), ticket = 0;

    assert_ok(um_store_put(s, text("sum/a"), (umbel_slice){&sum, sizeof sum},
                           w->now, &ticket, &test_refusal));
    return ticket;
}

static void note_before(void *ctx, um_store *s)
{
    watcher *w = ctx;

    w->snapshots++;
    note_sum(w, s);
}

static um_list_config some_lists[LISTS] = {{.name = "a",
                                            .kind = "table",
                                            .capacity = 250,
                                            .error = 1e-3,
                                            .epoch_seconds = 500,
                                            .epochs = 3,
                                            .threshold = 3},
                                           {.name = "b",
                                            .kind = "countmin",
                                            .capacity = 1000,
                                            .error = 1e-3,
                                            .epochs = 2}};

static void start(watcher *w)
{
    w->config.disk = sim_ops(w->disk);
    assert_ok(um_store_open(&w->config, w->now, &w->store, &test_refusal));
}

static watcher *open_watcher(uint64_t seed, um_list_config *lists)
{
    watcher *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->disk = sim_open(seed);
    w->now = T0;
    w->rng.state = seed;
    w->config = (um_store_config){.secret_bytes = test_secret,
                                  .durability = UM_DURABILITY_ALWAYS,
                                  .lists = lists,
                                  .nlists = LISTS,
                                  .watch = {.leader = "head",
                                            .prefix = "sum/",
                                            .note = check_note,
                                            .before_snapshot = note_before,
                                            .ctx = w}};
    start(w);
    return w;
}

static void kill_and_start(watcher *w)
{
    um_store_tick(w->store, w->now); /* a new store waits for its journal */
    sim_off(w->disk, false);
    um_store_close(w->store);
    sim_power_on(w->disk);
    w->shown = w->dropped = w->leaders = 0;
    start(w);
}

static void close_watcher(watcher *w)
{
    um_store_close(w->store);
    sim_close(w->disk);
    free(w);
}

static void report(watcher *w, unsigned list)
{
    um_entry e[5];
    size_t n = 1 + (size_t)um_random(&w->rng) % 5;
    uint64_t ticket;

    for (size_t i = 0; i < n; i++) {
        uint64_t key = um_random(&w->rng) % KEYS;
        e[i] = (um_entry){list, 1 + (uint32_t)key % 3,
                          (umbel_digest){um_remix(key), um_remix(~key)}, 0};
    }
    assert_ok(um_store_append(w->store, e, n, w->now, &ticket, &test_refusal));
}

static void tick(watcher *w, uint64_t seconds)
{
    w->now += seconds;
    um_store_tick(w->store, w->now);
}

/* --- notes and lists ----------------------------------------------------- */

/* Reports between marks, more than a batch of the replay and less. */
static unsigned report_and_note(watcher *w, unsigned marks)
{
    for (unsigned i = 0; i < marks; i++) {
        for (uint64_t n = um_random(&w->rng) % 200; n > 0; n--)
            report(w, (unsigned)(um_random(&w->rng) % LISTS));
        note_sum(w, w->store);
        tick(w, um_random(&w->rng) % 40);
    }
    return marks;
}

static void a_watched_note_sees_the_lists_as_they_were(void **state)
{
    (void)state;
    const char *kind;

    for (size_t i = 0; umbel_kind_at(i, &kind, NULL); i++) {
        um_list_config lists[LISTS] = {some_lists[0], some_lists[1]};
        lists[0].kind = kind;
        if (!umbel_is_counting(kind))
            continue;
        for (unsigned refined = 0; refined <= (strcmp(kind, "counting") == 0);
             refined++) {
            lists[0].refined = refined;
            watcher *w = open_watcher(7, lists);
            unsigned marks = report_and_note(w, 40);
            kill_and_start(w);
            assert_int_equal(w->shown, marks);
            close_watcher(w);
        }
    }
}

static void a_snapshot_has_the_notes_that_belong_to_its_lists(void **state)
{
    (void)state;
    watcher *w = open_watcher(1, some_lists);

    report_and_note(w, 3);
    report(w, 0); /* after the last note */
    um_store_snapshot(w->store);
    for (int i = 0; i < 5; i++)
        tick(w, 1);
    assert_int_equal(w->snapshots, 1);
    kill_and_start(w);
    assert_int_equal(w->shown, 1);
    report_and_note(w, 3);
    kill_and_start(w);
    assert_int_equal(w->shown, 4);
    close_watcher(w);
}

static void a_snapshot_that_ends_a_failure_has_them_too(void **state)
{
    (void)state;
    watcher *w = open_watcher(2, some_lists);

    tick(w, 1);
    report_and_note(w, 2);
    report(w, 0);
    sim_fail(w->disk, 1);
    assert_int_equal(um_store_flush(w->store, NULL), UMBEL_E_IO);
    sim_fail(w->disk, 0);
    uint64_t ticket, sum = 0;
    assert_int_equal(um_store_put(w->store, text("sum/a"),
                                  (umbel_slice){&sum, sizeof sum}, w->now,
                                  &ticket, NULL),
                     UMBEL_E_IO);
    for (int i = 0; i < 100 && um_store_failed(w->store); i++)
        tick(w, 1);
    assert_null(um_store_failed(w->store));
    assert_int_equal(w->snapshots, 1);
    kill_and_start(w);
    assert_int_equal(w->shown, 1);
    close_watcher(w);
}

/* The new list needs a snapshot before um_store_open returns. */
static void a_list_that_is_new_changes_no_note(void **state)
{
    (void)state;
    watcher *w = open_watcher(3, some_lists);
    um_list_config more[LISTS + 1] = {some_lists[0], some_lists[1],
                                      some_lists[1]};

    more[2].name = "c";
    report_and_note(w, 3);
    report(w, 0);
    um_store_close(w->store);
    w->shown = 0;
    w->config.lists = more;
    w->config.nlists = LISTS + 1;
    start(w);
    assert_int_equal(w->shown, 3);
    assert_int_equal(w->snapshots, 1);
    report_and_note(w, 1);
    kill_and_start(w);
    assert_int_equal(w->shown, 2);
    close_watcher(w);
}

static umbel_status refuse_note(void *ctx, const um_list *const *lists,
                                size_t nlists, umbel_slice name,
                                umbel_slice value, umbel_error *err)
{
    (void)ctx;
    (void)lists;
    (void)nlists;
    (void)name;
    (void)value;
    if (err)
        snprintf(err->text, sizeof err->text, "no such version");
    return UMBEL_E_MISMATCH;
}

/* What a killed process wrote may not be durable before the next journal is. */
static void what_was_replayed_is_committed_after_a_tick(void **state)
{
    (void)state;
    watcher *w = open_watcher(10, some_lists);

    report_and_note(w, 1);
    kill_and_start(w);
    assert_true(um_store_last_ticket(w->store) > 0);
    assert_true(um_store_committed(w->store) < um_store_last_ticket(w->store));
    tick(w, 0);
    assert_true(um_store_committed(w->store) >= um_store_last_ticket(w->store));
    close_watcher(w);
}

static void a_refusal_of_a_note_is_that_of_the_start(void **state)
{
    (void)state;
    watcher *w = open_watcher(4, some_lists);

    report_and_note(w, 1);
    um_store_close(w->store);
    w->store = NULL;
    w->config.watch.note = refuse_note;
    w->config.disk = sim_ops(w->disk);
    assert_refused(um_store_open(&w->config, w->now, &w->store, &test_refusal),
                   UMBEL_E_MISMATCH, "no such version");
    w->store = NULL;
    close_watcher(w);
}

static bool note_question(void *ctx)
{
    ((watcher *)ctx)->asked++;
    return false;
}

/* The watcher may be gone by then. */
static void a_close_right_after_a_start_asks_nobody(void **state)
{
    (void)state;
    watcher *w = open_watcher(5, some_lists);

    w->config.journal_bytes = 1;
    w->config.watch.ready = note_question;
    for (unsigned i = 0; i < 20; i++)
        report_and_note(w, 5);
    kill_and_start(w);
    um_store_close(w->store);
    w->store = NULL;
    assert_int_equal(w->asked, 0);
    start(w);
    tick(w, 1);
    assert_true(w->asked > 0); /* a snapshot was due all the time */
    close_watcher(w);
}

static void add_amount(void *ctx, const um_entry *e)
{
    ((watcher *)ctx)->amounts += e->amount;
}

static void counts_are_shown_now_and_by_a_start(void **state)
{
    (void)state;
    watcher *w = open_watcher(6, some_lists);

    w->config.watch.counted = add_amount;
    kill_and_start(w);
    report_and_note(w, 50);
    uint64_t amounts = w->amounts;
    assert_true(amounts >= 50);
    w->amounts = 0;
    kill_and_start(w);
    assert_true(w->amounts == amounts);
    close_watcher(w);
}

/* --- lists that are held -------------------------------------------------- */

static umbel_status append_key(watcher *w, uint64_t key, uint64_t other)
{
    um_entry e[] = {{0, 1, {um_remix(key), um_remix(~key)}, 0},
                    {0, 1, {um_remix(other), um_remix(~other)}, 0}};
    uint64_t ticket;

    return um_store_append(w->store, e, TEST_COUNT(e), w->now, &ticket,
                           &test_refusal);
}

/* Also with many more reports than the list has room for digests: a replay
 * collects them, and must not take them for new ones. */
static void a_held_list_is_the_same_after_a_replay(void **state)
{
    (void)state;
    um_list_config lists[LISTS] = {some_lists[0], some_lists[1]};
    um_list_stats before, after;

    lists[0].capacity = 20;
    lists[0].hold = true;
    watcher *w = open_watcher(9, lists);
    w->now = T0 / 500 * 500;
    for (uint64_t i = 0; i < 19; i++)
        assert_ok(append_key(w, i, i));
    um_entry e[UM_STORE_BATCH]; /* one more digest, and then a batch of new */
    uint64_t ticket;
    for (uint64_t i = 0; i < UM_STORE_BATCH; i++)
        e[i] = (um_entry){0, 1, {um_remix(i), um_remix(~i)}, 0};
    assert_ok(um_store_append(w->store, e, UM_STORE_BATCH, w->now, &ticket,
                              &test_refusal));
    for (uint64_t i = 0; i < 5 * UM_STORE_BATCH; i++)
        assert_ok(append_key(w, i % UM_STORE_BATCH, (7 * i) % UM_STORE_BATCH));
    assert_refused(append_key(w, 3, 1000), UMBEL_E_FULL, "list a is full");
    note_sum(w, w->store);
    um_list_stats_get(um_store_list(w->store, 0), &before);
    assert_true(before.held);
    kill_and_start(w);
    assert_int_equal(w->shown, 1);
    um_list_stats_get(um_store_list(w->store, 0), &after);
    assert_int_equal(after.n, before.n);
    assert_int_equal(after.digests, before.digests);
    w->now = before.over_at;
    assert_ok(append_key(w, 3, 1000));
    close_watcher(w);
}

/* --- renewal ------------------------------------------------------------- */

static void assert_empty(const um_store *s)
{
    for (unsigned i = 0; i < LISTS; i++) {
        um_list_stats st;
        um_list_stats_get(um_store_list(s, i), &st);
        assert_int_equal(st.n, 1);
        assert_int_equal(st.digests, 0);
    }
}

static void a_renewal_empties_all_lists_and_removes_watched_notes(void **state)
{
    (void)state;
    watcher *w = open_watcher(5, some_lists);
    umbel_slice value;
    uint64_t ticket;

    report_and_note(w, 2);
    assert_ok(um_store_put(w->store, text("other"), text("stays"), w->now,
                           &ticket, &test_refusal));
    tick(w, 0);
    uint64_t before = um_store_last_ticket(w->store);
    assert_ok(um_store_renew(w->store, text("second"), w->now, &ticket,
                             &test_refusal));
    assert_int_equal(um_store_last_ticket(w->store), before + 1); /* a block */
    for (int i = 0; i < 2; i++) {
        assert_empty(w->store);
        assert_false(um_store_get(w->store, text("sum/a"), &value));
        assert_true(um_store_get(w->store, text("other"), &value));
        assert_true(um_store_get(w->store, text("head"), &value));
        assert_memory_equal(value.data, "second", value.len);
        kill_and_start(w);
    }
    assert_int_equal(w->leaders, 1);
    assert_string_equal(w->leader, "second");
    assert_int_equal(w->counted, 0);
    report_and_note(w, 2);
    kill_and_start(w);
    assert_int_equal(w->shown, 2);
    close_watcher(w);
}

static void a_renewal_without_a_watch_is_refused(void **state)
{
    (void)state;
    watcher *w = open_watcher(6, some_lists);
    uint64_t ticket = 0;

    w->store->watch.leader = NULL;
    assert_refused(
        um_store_renew(w->store, text("x"), w->now, &ticket, &test_refusal),
        UMBEL_E_UNSUPPORTED, "no watch");
    close_watcher(w);
}

static void the_secret_makes_the_filters_of_a_list(void **state)
{
    (void)state;
    watcher *w = open_watcher(8, some_lists);
    const um_list *l = um_store_list(w->store, 0);
    umbel_filter *f = NULL;

    assert_ok(um_list_shape(&some_lists[0], um_store_secret(w->store), &f,
                            &test_refusal));
    const umbel_filter *live = um_list_filter(l, 0);
    assert_int_equal(um_secret_of(f), um_secret_of(live));
    assert_int_equal(f->payload_len, live->payload_len);
    assert_memory_equal(f->payload, live->payload, f->payload_len);
    assert_int_equal(um_list_epoch(l, 0), T0 / 500);
    umbel_close(f);
    close_watcher(w);
}

TEST_GROUP(watch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watched_note_sees_the_lists_as_they_were),
        cmocka_unit_test(a_snapshot_has_the_notes_that_belong_to_its_lists),
        cmocka_unit_test(a_snapshot_that_ends_a_failure_has_them_too),
        cmocka_unit_test(a_list_that_is_new_changes_no_note),
        cmocka_unit_test(what_was_replayed_is_committed_after_a_tick),
        cmocka_unit_test(a_refusal_of_a_note_is_that_of_the_start),
        cmocka_unit_test(a_close_right_after_a_start_asks_nobody),
        cmocka_unit_test(counts_are_shown_now_and_by_a_start),
        cmocka_unit_test(a_held_list_is_the_same_after_a_replay),
        cmocka_unit_test(a_renewal_empties_all_lists_and_removes_watched_notes),
        cmocka_unit_test(a_renewal_without_a_watch_is_refused),
        cmocka_unit_test(the_secret_makes_the_filters_of_a_list),
    };
    return cmocka_run_group_tests_name("store_watch", tests, NULL, NULL);
}
