/*
 * power.c - the store on a simulated disk that loses power, fails and fills up:
 * nothing acknowledged is lost, nothing is counted twice.
 *
 *     test_store_power [CUTS [ERRORS]]     numbers for the long test
 */
#include "support/store_load.h"
#include "support/test.h"

#include "store/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHAIN = 50 }; /* crashes per disk */

static uint64_t cuts = 400, errors = 200;

typedef struct totals {
    uint64_t crashes, power, reports, acknowledged, refused, recoveries,
        snapshots, torn, injected;
    uint64_t writes_lost, writes_torn, names_lost;
} totals;

static void add_up(totals *t, const load *l)
{
    sim_stats s = sim_stats_of(l->disk);

    t->power += s.cuts;
    t->crashes += s.cuts + s.kills;
    t->injected += s.failed;
    t->writes_lost += s.lost;
    t->writes_torn += s.torn;
    t->names_lost += s.names_lost;
    t->reports += l->reports;
    t->acknowledged += l->acknowledged;
    t->refused += l->refused;
    t->recoveries += l->recoveries;
    t->snapshots += l->snapshots;
    t->torn += l->torn;
}

static void print_totals(const char *what, const totals *t)
{
    print_message("%s: %" PRIu64 " crashes (%" PRIu64 " of power), %" PRIu64
                  " reports, %" PRIu64 " changes acknowledged, %" PRIu64
                  " refused, %" PRIu64 " snapshots, %" PRIu64
                  " errors, %" PRIu64 " recoveries; writes lost %" PRIu64
                  ", torn %" PRIu64 ", names lost %" PRIu64
                  ", torn ends %" PRIu64 "\n",
                  what, t->crashes, t->power, t->reports, t->acknowledged,
                  t->refused, t->snapshots, t->injected, t->recoveries,
                  t->writes_lost, t->writes_torn, t->names_lost, t->torn);
}

/* Restarts; the power may fail meanwhile, at any operation. */
static void restart(load *l, bool power)
{
    do {
        load_kill(l, power);
        if (power && sim_below(l->disk, 4) == 0)
            sim_cut_after(l->disk, 1 + sim_below(l->disk, 25));
    } while (!load_start(l) && !*l->wrong);
    sim_cut_after(l->disk, 0);
}

/* Runs from a start to a crash, and checks what is left. */
static void live_and_crash(load *l, bool power)
{
    if (power)
        sim_cut_after(l->disk, 1 + sim_below(l->disk, 300));
    for (uint64_t n = sim_below(l->disk, 200); !sim_is_off(l->disk) && n > 0;
         n--)
        load_step(l);
    restart(l, power);
    if (!*l->wrong)
        load_check(l, power && l->durability != UM_DURABILITY_ALWAYS);
}

/*
 * Runs until that many power cuts were survived, with a kill for every third.
 */
static void survives(um_durability d, uint64_t want)
{
    totals t = {0};

    for (uint64_t seed = 1; t.power < want; seed++) {
        load *l = load_open(seed + 100000 * d, d);
        assert_true(load_start(l));
        for (int i = 0; i < CHAIN && !*l->wrong; i++)
            live_and_crash(l, sim_below(l->disk, 4) > 0);
        if (*l->wrong)
            fail_msg("seed %" PRIu64 ": %s", seed, l->wrong);
        add_up(&t, l);
        load_close(l);
    }
    print_totals(um_durability_name(d), &t);
    assert_true(t.acknowledged > t.crashes && t.snapshots > 0 && t.torn > 0);
}

static void power_cuts_lose_nothing_acknowledged(void **state)
{
    (void)state;
    survives(UM_DURABILITY_ALWAYS, cuts);
}

static void without_sync_power_cuts_still_leave_a_store(void **state)
{
    (void)state;
    survives(UM_DURABILITY_INTERVAL, cuts / 4);
    survives(UM_DURABILITY_NONE, cuts / 4);
}

/* Ticks until the store recovers. Returns false if it does not. */
static bool recovers(load *l)
{
    for (int i = 0; i < 400 && um_store_failure(l->store); i++) {
        l->now++;
        um_store_tick(l->store, l->now);
    }
    return !um_store_failure(l->store);
}

/*
 * Errors begin; queries and refusals continue; errors end; the store must
 * recover.
 */
static void suffer(load *l, bool full)
{
    if (full)
        sim_limit(l->disk, sim_bytes(l->disk) + sim_below(l->disk, 3000));
    else
        sim_fail(l->disk, 3 + sim_below(l->disk, 30));
    for (int i = 0; i < 200; i++) {
        load_step(l);
        l->now += i % 20 == 0;
    }
    for (int key = 0; key < LOAD_KEYS; key++) {
        uint64_t got;
        um_store_count(l->store, 0, &l->digest[key], 1, &got);
        assert_true(got >= l->acked[0][key] && got <= l->sent[0][key]);
    }
    sim_fail(l->disk, 0);
    sim_limit(l->disk, 0);
    if (!recovers(l))
        fail_msg("no recovery: %s", um_store_failure(l->store));
    uint64_t refused = l->refused;
    for (int i = 0; i < 50; i++)
        load_step(l);
    assert_int_equal(l->refused, refused);
}

static void disk_errors_refuse_changes_until_the_disk_is_well(void **state)
{
    (void)state;
    totals t = {0};

    for (uint64_t seed = 1; t.injected < errors || t.recoveries < errors / 20;
         seed++) {
        load *l = load_open(seed, (um_durability)(seed % 3));
        assert_true(load_start(l));
        for (int i = 0; i < 4; i++) {
            suffer(l, i % 2);
            load_kill(l, l->durability == UM_DURABILITY_ALWAYS && i == 3);
            if (!load_start(l) || !load_check(l, false))
                fail_msg("seed %" PRIu64 ": %s", seed, l->wrong);
        }
        add_up(&t, l);
        load_close(l);
    }
    print_totals("errors", &t);
    assert_true(t.refused > 0);
}

static void tick(load *l, uint64_t seconds)
{
    l->now += seconds;
    um_store_tick(l->store, l->now);
}

/*
 * Makes the store fail, and continues until a child writes the snapshot that
 * ends the failure.
 */
static void fail_and_write_snapshot(load *l)
{
    um_entry e = {0, 1, l->digest[0], 0, 0};
    uint64_t ticket;

    for (int i = 0; i < 5; i++)
        tick(l, 1);
    assert_ok(um_store_add(l->store, &e, 1, l->now, &ticket, &test_refusal));
    sim_fail(l->disk, 1);
    assert_int_equal(um_store_flush(l->store, NULL), UMBEL_E_IO);
    while (l->store->lacks_space) /* until it is another error */
        tick(l, 1);
    sim_fail(l->disk, 0);
    for (int i = 0; i < 100 && l->store->phase != UM_WRITING; i++)
        tick(l, 1);
    assert_int_equal(l->store->phase, UM_WRITING);
    assert_non_null(um_store_failure(l->store));
}

static void add_digest(load *l, int i, umbel_status flushed)
{
    um_entry e = {0, 1, l->digest[i], 0, 0};
    uint64_t ticket;

    assert_ok(um_store_add(l->store, &e, 1, l->now, &ticket, &test_refusal));
    assert_int_equal(um_store_flush(l->store, NULL), flushed);
}

static uint64_t count_digest(const load *l, int i)
{
    uint64_t count;

    um_store_count(l->store, 0, &l->digest[i], 1, &count);
    return count;
}

/* A block, and not a snapshot. Epochs that end meanwhile end afterwards, where
 * the journal records it. */
static void a_full_disk_needs_space_for_the_journal_only(void **state)
{
    (void)state;
    load *l = load_open(1, UM_DURABILITY_ALWAYS);
    um_store_stats st;
    um_entry e = {0, 1, l->digest[2], 0, 0};
    uint64_t ticket;

    assert_true(load_start(l));
    for (int i = 0; i < 3; i++)
        tick(l, 1);
    add_digest(l, 0, UMBEL_OK);
    sim_limit(l->disk, sim_bytes(l->disk));
    add_digest(l, 1, UMBEL_E_IO);
    assert_refused(
        um_store_add(l->store, &e, 1, l->now, &ticket, &test_refusal),
        UMBEL_E_IO, "No space left");
    for (int i = 0; i < 100; i++)
        tick(l, 7); /* also past the end of the epoch */
    um_store_stats_get(l->store, &st);
    assert_true(st.failed && st.lacks_space && st.failures == 1);
    assert_in_range(st.snapshot_need, 500, 100000);
    sim_limit(l->disk, sim_bytes(l->disk) + 200);
    assert_true(recovers(l));
    um_store_stats_get(l->store, &st);
    assert_int_equal(st.snapshots, 0);
    tick(l, 1);
    assert_int_equal(um_list_epochs(um_store_list(l->store, 0)), 2);
    sim_limit(l->disk, 0);
    add_digest(l, 2, UMBEL_OK);
    load_kill(l, false);
    assert_true(load_start(l));
    for (int i = 0; i < 3; i++)
        assert_int_equal(count_digest(l, i), 1);
    assert_int_equal(um_list_epochs(um_store_list(l->store, 0)), 2);
    load_close(l);
}

/* The block that does not fit belongs to the old journal, not behind the
 * snapshot. */
static void a_disk_may_be_full_when_a_snapshot_begins(void **state)
{
    (void)state;
    load *l = load_open(1, UM_DURABILITY_NONE);
    um_entry e = {0, 1, l->digest[1], 0, 0};
    uint64_t ticket;

    assert_true(load_start(l));
    tick(l, 1);
    add_digest(l, 0, UMBEL_OK);
    um_store_request_snapshot(l->store);
    tick(l, 1);
    assert_int_equal(l->store->phase, UM_PREPARING);
    assert_ok(um_store_add(l->store, &e, 1, l->now, &ticket, &test_refusal));
    sim_limit(l->disk, sim_bytes(l->disk) + UM_JOURNAL_HEAD + 10);
    tick(l, 0);
    assert_true(l->store->lacks_space);
    sim_limit(l->disk, 0);
    assert_true(recovers(l));
    add_digest(l, 2, UMBEL_OK);
    load_kill(l, false);
    assert_true(load_start(l));
    for (int i = 0; i < 3; i++)
        assert_int_equal(count_digest(l, i), 1);
    load_close(l);
}

/* The first journal is created as soon as there is space for it. */
static void a_start_on_a_full_disk_needs_no_snapshot(void **state)
{
    (void)state;
    load *l = load_open(1, UM_DURABILITY_ALWAYS);
    um_store_stats st;

    assert_true(load_start(l));
    tick(l, 1);
    add_digest(l, 0, UMBEL_OK);
    tick(l, 1);
    load_kill(l, false);
    sim_limit(l->disk, sim_bytes(l->disk));
    assert_true(load_start(l));
    for (int i = 0; i < 100; i++)
        tick(l, 1);
    assert_non_null(um_store_failure(l->store));
    assert_int_equal(count_digest(l, 0), 1);
    sim_limit(l->disk, sim_bytes(l->disk) + 1000);
    assert_true(recovers(l));
    um_store_stats_get(l->store, &st);
    assert_int_equal(st.snapshots, 0);
    add_digest(l, 1, UMBEL_OK);
    load_kill(l, false);
    sim_limit(l->disk, 0);
    assert_true(load_start(l));
    assert_int_equal(count_digest(l, 0) + count_digest(l, 1), 2);
    load_close(l);
}

/* Neither that snapshot nor its journal would contain the advance. */
static void epochs_that_end_during_a_failure_end_after_a_restart(void **state)
{
    (void)state;
    load *l = load_open(1, UM_DURABILITY_ALWAYS);
    um_list_stats before, after;

    assert_true(load_start(l));
    fail_and_write_snapshot(l);
    tick(l, 500);
    assert_true(recovers(l));
    tick(l, 1);
    um_list_stats_get(um_store_list(l->store, 0), &before);
    assert_int_equal(before.n, 2);
    load_kill(l, false);
    assert_true(load_start(l));
    um_list_stats_get(um_store_list(l->store, 0), &after);
    assert_int_equal(after.n, before.n);
    assert_int_equal(after.epoch[0].begin, before.epoch[0].begin);
    load_close(l);
}

/* Retries and syncs continue, although the time of records stands still. */
static void a_clock_that_is_set_back_stops_no_compaction(void **state)
{
    (void)state;
    load *l = load_open(1, UM_DURABILITY_INTERVAL);
    um_store_stats before, after;

    assert_true(load_start(l));
    tick(l, 5000);
    l->now -= 4000;
    um_store_tick(l->store, l->now);
    um_store_stats_get(l->store, &before);
    assert_int_equal(before.ahead, 4000);
    fail_and_write_snapshot(l);
    assert_true(recovers(l));
    um_store_stats_get(l->store, &before);
    for (int i = 0; i < 5; i++) {
        load_step(l);
        tick(l, 1);
    }
    um_store_stats_get(l->store, &after);
    assert_true(after.syncs >= before.syncs + 3);
    load_close(l);
}

/* At most two snapshots, and a journal until the next one. */
static void the_disk_does_not_fill_up(void **state)
{
    (void)state;
    load *l = load_open(1, UM_DURABILITY_INTERVAL);
    um_store_stats st;

    assert_true(load_start(l));
    for (int i = 0; i < 20000; i++) {
        load_step(l);
        um_store_stats_get(l->store, &st);
        assert_true(sim_bytes(l->disk) <=
                    3 * st.snapshot_bytes + 4 * st.journal_limit);
    }
    assert_true(st.snapshots > 10);
    assert_string_equal(l->wrong, "");
    load_close(l);
}

TEST_GROUP(power)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_cuts_lose_nothing_acknowledged),
        cmocka_unit_test(without_sync_power_cuts_still_leave_a_store),
        cmocka_unit_test(disk_errors_refuse_changes_until_the_disk_is_well),
        cmocka_unit_test(a_full_disk_needs_space_for_the_journal_only),
        cmocka_unit_test(a_disk_may_be_full_when_a_snapshot_begins),
        cmocka_unit_test(a_start_on_a_full_disk_needs_no_snapshot),
        cmocka_unit_test(epochs_that_end_during_a_failure_end_after_a_restart),
        cmocka_unit_test(a_clock_that_is_set_back_stops_no_compaction),
        cmocka_unit_test(the_disk_does_not_fill_up),
    };

    if (argc > 1)
        cuts = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        errors = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests_name("store_power", tests, NULL, NULL);
}
