/* observer.c - observed keys, and emptied lists: what a start reports. */
#include "support/sim_disk.h"
#include "support/test.h"

#include "base/hash.h"
#include "base/rng.h"
#include "filter/envelope.h"
#include "store/internal.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T0 = 1000000, KEYS = 300, LISTS = 2 };

/* Values are checksums of list 0, so that the observer can check them. */
typedef struct fixture {
    um_store_config config;
    sim_disk *disk;
    um_store *store;
    uint64_t now;
    um_rng rng;
    unsigned shown, dropped, resets, snapshots, asked;
    uint64_t amounts;     /* that were counted */
    char reset_value[16]; /* the last one reported */
    uint64_t counted;     /* in list 1 at the last report */
} fixture;

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

static umbel_status check_value(void *ctx, const um_list *const *lists,
                                size_t nlists, umbel_slice name,
                                umbel_slice value, umbel_error *err)
{
    fixture *w = ctx;
    uint64_t sum;

    (void)err;
    assert_int_equal(nlists, w->config.nlists);
    if (memcmp(name.data, "head", 4) == 0) {
        um_list_stats st;
        um_list_stats_get(lists[1], &st);
        snprintf(w->reset_value, sizeof w->reset_value, "%.*s", (int)value.len,
                 (const char *)value.data);
        w->resets++;
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

static uint64_t set_sum(fixture *w, um_store *s)
{
    uint64_t sum = sum_of(um_store_list(s, 0)), ticket = 0;

    assert_ok(um_store_set(s, text("sum/a"), (umbel_slice){&sum, sizeof sum},
                           w->now, &ticket, &test_refusal));
    return ticket;
}

static void set_before(void *ctx, um_store *s)
{
    fixture *w = ctx;

    w->snapshots++;
    set_sum(w, s);
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

static void start(fixture *w)
{
    w->config.disk = sim_ops(w->disk);
    assert_ok(um_store_open(&w->config, w->now, &w->store, &test_refusal));
}

static fixture *open_fixture(uint64_t seed, um_list_config *lists)
{
    fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->disk = sim_open(seed);
    w->now = T0;
    w->rng.state = seed;
    w->config = (um_store_config){.secret_bytes = test_secret,
                                  .durability = UM_DURABILITY_ALWAYS,
                                  .lists = lists,
                                  .nlists = LISTS,
                                  .observer = {.reset_key = "head",
                                               .prefix = "sum/",
                                               .on_value = check_value,
                                               .before_snapshot = set_before,
                                               .ctx = w}};
    start(w);
    return w;
}

static void kill_and_start(fixture *w)
{
    um_store_tick(w->store, w->now); /* a new store waits for its journal */
    sim_off(w->disk, false);
    um_store_close(w->store);
    sim_power_on(w->disk);
    w->shown = w->dropped = w->resets = 0;
    start(w);
}

static void close_fixture(fixture *w)
{
    um_store_close(w->store);
    sim_close(w->disk);
    free(w);
}

static void report(fixture *w, unsigned list)
{
    um_entry e[5];
    size_t n = 1 + (size_t)um_random(&w->rng) % 5;
    uint64_t ticket;

    for (size_t i = 0; i < n; i++) {
        uint64_t key = um_random(&w->rng) % KEYS;
        e[i] = (um_entry){list, 1 + (uint32_t)key % 3,
                          (umbel_digest){um_remix(key), um_remix(~key)}, 0, 0};
    }
    assert_ok(um_store_add(w->store, e, n, w->now, &ticket, &test_refusal));
}

static void tick(fixture *w, uint64_t seconds)
{
    w->now += seconds;
    um_store_tick(w->store, w->now);
}

/* --- keys and lists ------------------------------------------------------ */

/* Adds reports between setting keys, more and fewer than the replay's batch. */
static unsigned report_and_set(fixture *w, unsigned keys)
{
    for (unsigned i = 0; i < keys; i++) {
        for (uint64_t n = um_random(&w->rng) % 200; n > 0; n--)
            report(w, (unsigned)(um_random(&w->rng) % LISTS));
        set_sum(w, w->store);
        tick(w, um_random(&w->rng) % 40);
    }
    return keys;
}

static void
an_observed_key_is_reported_with_the_lists_of_its_moment(void **state)
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
            fixture *w = open_fixture(7, lists);
            unsigned keys = report_and_set(w, 40);
            kill_and_start(w);
            assert_int_equal(w->shown, keys);
            close_fixture(w);
        }
    }
}

static void a_snapshot_has_the_keys_that_belong_to_its_lists(void **state)
{
    (void)state;
    fixture *w = open_fixture(1, some_lists);

    report_and_set(w, 3);
    report(w, 0); /* after the last key */
    um_store_request_snapshot(w->store);
    for (int i = 0; i < 5; i++)
        tick(w, 1);
    assert_int_equal(w->snapshots, 1);
    kill_and_start(w);
    assert_int_equal(w->shown, 1);
    report_and_set(w, 3);
    kill_and_start(w);
    assert_int_equal(w->shown, 4);
    close_fixture(w);
}

static void a_snapshot_that_ends_a_failure_has_them_too(void **state)
{
    (void)state;
    fixture *w = open_fixture(2, some_lists);

    tick(w, 1);
    report_and_set(w, 2);
    report(w, 0);
    sim_fail(w->disk, 1);
    assert_int_equal(um_store_flush(w->store, NULL), UMBEL_E_IO);
    sim_fail(w->disk, 0);
    uint64_t ticket, sum = 0;
    assert_int_equal(um_store_set(w->store, text("sum/a"),
                                  (umbel_slice){&sum, sizeof sum}, w->now,
                                  &ticket, NULL),
                     UMBEL_E_IO);
    for (int i = 0; i < 100 && um_store_failure(w->store); i++)
        tick(w, 1);
    assert_null(um_store_failure(w->store));
    assert_int_equal(w->snapshots, 1);
    kill_and_start(w);
    assert_int_equal(w->shown, 1);
    close_fixture(w);
}

/* The new list needs a snapshot before um_store_open returns. */
static void a_list_that_is_new_changes_no_key(void **state)
{
    (void)state;
    fixture *w = open_fixture(3, some_lists);
    um_list_config more[LISTS + 1] = {some_lists[0], some_lists[1],
                                      some_lists[1]};

    more[2].name = "c";
    report_and_set(w, 3);
    report(w, 0);
    um_store_close(w->store);
    w->shown = 0;
    w->config.lists = more;
    w->config.nlists = LISTS + 1;
    start(w);
    assert_int_equal(w->shown, 3);
    assert_int_equal(w->snapshots, 1);
    report_and_set(w, 1);
    kill_and_start(w);
    assert_int_equal(w->shown, 2);
    close_fixture(w);
}

static umbel_status refuse_value(void *ctx, const um_list *const *lists,
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

/*
 * What a killed process wrote need not be durable before the next journal is.
 */
static void what_was_replayed_is_committed_after_a_tick(void **state)
{
    (void)state;
    fixture *w = open_fixture(10, some_lists);

    report_and_set(w, 1);
    kill_and_start(w);
    assert_true(um_store_last_ticket(w->store) > 0);
    assert_true(um_store_committed(w->store) < um_store_last_ticket(w->store));
    tick(w, 0);
    assert_true(um_store_committed(w->store) >= um_store_last_ticket(w->store));
    close_fixture(w);
}

static void a_start_fails_with_the_status_of_the_observer(void **state)
{
    (void)state;
    fixture *w = open_fixture(4, some_lists);

    report_and_set(w, 1);
    um_store_close(w->store);
    w->store = NULL;
    w->config.observer.on_value = refuse_value;
    w->config.disk = sim_ops(w->disk);
    assert_refused(um_store_open(&w->config, w->now, &w->store, &test_refusal),
                   UMBEL_E_MISMATCH, "no such version");
    w->store = NULL;
    close_fixture(w);
}

static bool count_question(void *ctx)
{
    ((fixture *)ctx)->asked++;
    return false;
}

/* The observer may no longer exist by then. */
static void a_close_right_after_a_start_calls_no_observer(void **state)
{
    (void)state;
    fixture *w = open_fixture(5, some_lists);

    w->config.journal_bytes = 1;
    w->config.observer.is_ready = count_question;
    for (unsigned i = 0; i < 20; i++)
        report_and_set(w, 5);
    kill_and_start(w);
    um_store_close(w->store);
    w->store = NULL;
    assert_int_equal(w->asked, 0);
    start(w);
    tick(w, 1);
    assert_true(w->asked > 0); /* a snapshot was due all the time */
    close_fixture(w);
}

static void add_amount(void *ctx, const um_entry *e)
{
    ((fixture *)ctx)->amounts += e->amount;
}

static void counts_are_reported_now_and_by_a_start(void **state)
{
    (void)state;
    fixture *w = open_fixture(6, some_lists);

    w->config.observer.on_count = add_amount;
    kill_and_start(w);
    report_and_set(w, 50);
    uint64_t amounts = w->amounts;
    assert_true(amounts >= 50);
    w->amounts = 0;
    kill_and_start(w);
    assert_true(w->amounts == amounts);
    close_fixture(w);
}

/* --- held lists ----------------------------------------------------------- */

static umbel_status append_key(fixture *w, uint64_t key, uint64_t other)
{
    um_entry e[] = {{0, 1, {um_remix(key), um_remix(~key)}, 0, 0},
                    {0, 1, {um_remix(other), um_remix(~other)}, 0, 0}};
    uint64_t ticket;

    return um_store_add(w->store, e, TEST_COUNT(e), w->now, &ticket,
                        &test_refusal);
}

/*
 * Adds many more reports than the list has space for digests: a replay collects
 * them, and must not count them as new digests.
 */
static void a_held_list_is_the_same_after_a_replay(void **state)
{
    (void)state;
    um_list_config lists[LISTS] = {some_lists[0], some_lists[1]};
    um_list_stats before, after;

    lists[0].capacity = 20;
    lists[0].hold = true;
    fixture *w = open_fixture(9, lists);
    w->now = T0 / 500 * 500;
    for (uint64_t i = 0; i < 19; i++)
        assert_ok(append_key(w, i, i));
    um_entry e[UM_STORE_BATCH]; /* one more digest, then a batch of new ones */
    uint64_t ticket;
    for (uint64_t i = 0; i < UM_STORE_BATCH; i++)
        e[i] = (um_entry){0, 1, {um_remix(i), um_remix(~i)}, 0, 0};
    assert_ok(um_store_add(w->store, e, UM_STORE_BATCH, w->now, &ticket,
                           &test_refusal));
    for (uint64_t i = 0; i < 5 * UM_STORE_BATCH; i++)
        assert_ok(append_key(w, i % UM_STORE_BATCH, (7 * i) % UM_STORE_BATCH));
    assert_refused(append_key(w, 3, 1000), UMBEL_E_FULL, "list a is full");
    set_sum(w, w->store);
    um_list_stats_get(um_store_list(w->store, 0), &before);
    assert_true(before.held);
    kill_and_start(w);
    assert_int_equal(w->shown, 1);
    um_list_stats_get(um_store_list(w->store, 0), &after);
    assert_int_equal(after.n, before.n);
    assert_int_equal(after.digests, before.digests);
    w->now = before.epoch_end;
    assert_ok(append_key(w, 3, 1000));
    close_fixture(w);
}

/* --- reset --------------------------------------------------------------- */

static void assert_empty(const um_store *s)
{
    for (unsigned i = 0; i < LISTS; i++) {
        um_list_stats st;
        um_list_stats_get(um_store_list(s, i), &st);
        assert_int_equal(st.n, 1);
        assert_int_equal(st.digests, 0);
    }
}

static void a_reset_empties_all_lists_and_removes_observed_keys(void **state)
{
    (void)state;
    fixture *w = open_fixture(5, some_lists);
    umbel_slice value;
    uint64_t ticket;

    report_and_set(w, 2);
    assert_ok(um_store_set(w->store, text("other"), text("stays"), w->now,
                           &ticket, &test_refusal));
    tick(w, 0);
    uint64_t before = um_store_last_ticket(w->store);
    assert_ok(um_store_reset(w->store, text("second"), w->now, &ticket,
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
    assert_int_equal(w->resets, 1);
    assert_string_equal(w->reset_value, "second");
    assert_int_equal(w->counted, 0);
    report_and_set(w, 2);
    kill_and_start(w);
    assert_int_equal(w->shown, 2);
    close_fixture(w);
}

static void a_reset_without_an_observer_is_refused(void **state)
{
    (void)state;
    fixture *w = open_fixture(6, some_lists);
    uint64_t ticket = 0;

    w->store->observer.reset_key = NULL;
    assert_refused(
        um_store_reset(w->store, text("x"), w->now, &ticket, &test_refusal),
        UMBEL_E_UNSUPPORTED, "no observer");
    close_fixture(w);
}

static void the_secret_makes_the_filters_of_a_list(void **state)
{
    (void)state;
    fixture *w = open_fixture(8, some_lists);
    const um_list *l = um_store_list(w->store, 0);
    umbel_filter *f = NULL;

    assert_ok(um_list_config_filter(&some_lists[0], um_store_secret(w->store),
                                    &f, &test_refusal));
    const umbel_filter *live = um_list_filter(l, 0);
    assert_int_equal(um_secret_of(f), um_secret_of(live));
    assert_int_equal(f->payload_len, live->payload_len);
    assert_memory_equal(f->payload, live->payload, f->payload_len);
    assert_int_equal(um_list_epoch_number(l, 0), T0 / 500);
    umbel_close(f);
    close_fixture(w);
}

TEST_GROUP(observer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            an_observed_key_is_reported_with_the_lists_of_its_moment),
        cmocka_unit_test(a_snapshot_has_the_keys_that_belong_to_its_lists),
        cmocka_unit_test(a_snapshot_that_ends_a_failure_has_them_too),
        cmocka_unit_test(a_list_that_is_new_changes_no_key),
        cmocka_unit_test(what_was_replayed_is_committed_after_a_tick),
        cmocka_unit_test(a_start_fails_with_the_status_of_the_observer),
        cmocka_unit_test(a_close_right_after_a_start_calls_no_observer),
        cmocka_unit_test(counts_are_reported_now_and_by_a_start),
        cmocka_unit_test(a_held_list_is_the_same_after_a_replay),
        cmocka_unit_test(a_reset_empties_all_lists_and_removes_observed_keys),
        cmocka_unit_test(a_reset_without_an_observer_is_refused),
        cmocka_unit_test(the_secret_makes_the_filters_of_a_list),
    };
    return cmocka_run_group_tests_name("store_observer", tests, NULL, NULL);
}
