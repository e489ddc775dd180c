/* list.c - lists: sums over epochs, and advancing them. */
#include "support/epochs.h"

#include <umbel/counting.h>
#include <umbel/describe.h>

#include <math.h>
#include <stdlib.h>

/* --- counts --- */

static void every_counting_kind_is_a_list(void **state)
{
    (void)state;
    const char *name;

    for (size_t i = 0; umbel_kind_at(i, &name, NULL); i++) {
        um_list_config c = usual;
        um_list *l;

        c.kind = name;
        c.cell_bits = 0;
        if (!umbel_is_counting(name)) {
            assert_refused(um_list_open(&c, test_secret, T0, &l, &test_refusal),
                           UMBEL_E_UNKNOWN, name);
            continue;
        }
        l = open_list(&c);
        add_key(l, 1, 3);
        add_key(l, 1, 4);
        add_key(l, 2, 1);
        assert_int_equal(count_key(l, 1), 7);
        assert_int_equal(count_key(l, 2), 1);
        assert_int_equal(count_key(l, 3), 0);
        um_list_close(l);
    }
}

static void counts_are_summed_over_live_epochs(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);

    add_key(l, 1, 5);
    advance(l, T0 + DAY);
    add_key(l, 1, 7);
    advance(l, T0 + 2 * DAY);
    add_key(l, 1, 11);
    add_key(l, 2, 1);
    assert_int_equal(count_key(l, 1), 23);
    advance(l, T0 + 3 * DAY);
    assert_int_equal(count_key(l, 1), 18);
    assert_int_equal(count_key(l, 2), 1);
    advance(l, T0 + 4 * DAY);
    advance(l, T0 + 5 * DAY);
    assert_int_equal(count_key(l, 1), 0);
    assert_int_equal(count_key(l, 2), 0);
    um_list_close(l);
}

static void many_digests_count_as_one_by_one(void **state)
{
    (void)state;
    enum { N = 3 * UM_LIST_BATCH - 1 };
    um_list_config c = usual;
    c.capacity = 2 * N;
    um_list *l = open_list(&c);
    umbel_digest d[N];
    uint64_t count[N];

    for (uint64_t i = 0; i < N; i++) {
        d[i] = digest_of(l, i);
        if (i % 2)
            add_key(l, i, (uint32_t)(i % 100));
    }
    advance(l, T0 + DAY);
    for (uint64_t i = 0; i < N; i += 3)
        add_key(l, i, 1);
    um_list_fetch(l, d, N);
    um_list_count(l, d, N, count);
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(count[i], (i % 2 ? i % 100 : 0) + (i % 3 == 0));
        assert_int_equal(count[i], count_key(l, i));
    }
    um_list_close(l);
}

static void an_add_takes_a_batch_at_most(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);
    umbel_digest d[UM_LIST_BATCH + 1] = {{0, 0}};
    uint32_t amount[UM_LIST_BATCH + 1] = {0};

    assert_refused(um_list_add(l, d, amount, UM_LIST_BATCH + 1, &test_refusal),
                   UMBEL_E_RANGE, "at most 256");
    assert_ok(um_list_add(l, d, amount, UM_LIST_BATCH, &test_refusal));
    um_list_close(l);
}

/* --- epochs --- */

static void an_epoch_ends_by_time(void **state)
{
    (void)state;
    um_list_config c = usual;
    um_list *l = open_list(&c);

    assert_false(um_list_is_over(l, T0));
    assert_false(um_list_is_over(l, T0 + DAY - 1));
    assert_true(um_list_is_over(l, T0 + DAY));
    assert_false(um_list_is_over(l, T0 - 1)); /* the clock was set back */
    advance(l, T0 + DAY + 5);
    assert_int_equal(um_list_epoch_number(l, 0), 13);
    assert_false(um_list_is_over(l, T0 + 2 * DAY - 1));
    assert_true(um_list_is_over(l, T0 + 2 * DAY));
    um_list_close(l);

    c.epoch_seconds = 0;
    l = open_list(&c);
    assert_false(um_list_is_over(l, UINT64_MAX - 1));
    um_list_close(l);
}

static void an_epoch_ends_when_it_is_full(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.capacity = 10;
    um_list *l = open_list(&c);

    for (uint64_t i = 0; i < 10; i++) {
        assert_false(um_list_is_full(l));
        add_key(l, i, 1);
        add_key(l, i, 1); /* not a new digest */
    }
    assert_true(um_list_is_full(l));
    advance(l, T0 + 1);
    assert_false(um_list_is_full(l));
    assert_int_equal(count_key(l, 3), 2);
    assert_int_equal(stats_of(l).ended_early, 1);
    assert_int_equal(stats_of(l).ended_at, T0 + 1);
    advance(l, T0 + DAY);
    assert_int_equal(stats_of(l).ended_early, 1);
    um_list_close(l);
}

static void a_held_epoch_goes_on_with_the_digests_that_it_has(void **state)
{
    (void)state;
    const char *name;

    for (size_t k = 0; umbel_kind_at(k, &name, NULL); k++) {
        um_list_config c = usual;
        c.capacity = 10;
        c.error = 1e-6;
        c.hold = true;
        c.kind = name;
        c.cell_bits = 0;
        if (!umbel_is_counting(name))
            continue;
        um_list *l = open_list(&c);
        umbel_digest other = digest_of(l, 99), third = digest_of(l, 3);
        for (uint64_t i = 0; i < 10; i++) {
            assert_false(um_list_is_held(l));
            add_key(l, i, 1);
        }
        assert_true(um_list_is_held(l) && stats_of(l).held);
        assert_int_equal(stats_of(l).epoch_end, T0 + DAY);
        assert_false(um_list_is_over(l, T0 + DAY - 1));
        assert_false(um_list_newest_contains(l, &other));
        assert_true(um_list_newest_contains(l, &third));
        for (int i = 0; i < 2 * UM_LIST_BATCH; i++)
            add_key(l, 3, 1);
        assert_true(count_key(l, 3) > 1);
        assert_int_equal(stats_of(l).epoch[0].digests, 10);
        assert_true(um_list_is_over(l, T0 + DAY));
        advance(l, T0 + DAY);
        assert_false(um_list_is_held(l));
        um_list_close(l);
    }
}

/* --- filters of a full epoch, and who reported --- */

static void extend(um_list *l, uint64_t now)
{
    assert_ok(um_list_extend(l, now, &test_refusal));
}

static void a_full_epoch_gets_filters_within_its_error(void **state)
{
    (void)state;
    enum { FILTERS = 9, EACH = 50 };
    um_list_config c = usual;
    c.capacity = EACH;
    um_list *l = open_list(&c);

    for (uint64_t j = 0; j < FILTERS; j++) {
        if (j)
            extend(l, T0 + j);
        for (uint64_t i = 0; i < EACH; i++)
            add_key(l, j * EACH + i, 1);
        assert_true(um_list_is_full(l));
    }
    um_list_stats s = stats_of(l);
    assert_int_equal(s.n, FILTERS);
    assert_int_equal(s.extra, FILTERS - 1);
    assert_int_equal(s.capacity, EACH);
    assert_near(s.fill, FILTERS, 0.01);
    assert_true(s.error <= 1.65 * c.error / c.epochs);
    assert_int_equal(s.ended_early, 0);
    /* A known digest goes to the filter that has it. */
    add_key(l, 3, 4);
    assert_int_equal(count_key(l, 3), 5);
    assert_int_equal(stats_of(l).digests, s.digests);
    /* The epoch ends and expires as a whole. */
    for (unsigned i = 0; i < FILTERS; i++) {
        assert_int_equal(um_list_epoch_number(l, i), T0 / DAY);
        assert_int_equal(um_list_is_extra(l, i), i != FILTERS - 1);
    }
    advance(l, T0 + DAY);
    advance(l, T0 + 2 * DAY);
    assert_int_equal(count_key(l, 3), 5);
    assert_int_equal(count_key(l, FILTERS * EACH - 1), 1);
    advance(l, T0 + 3 * DAY);
    assert_int_equal(stats_of(l).n, 3);
    assert_int_equal(um_list_extra_bytes(l), 0);
    um_list_close(l);
}

static void an_epoch_that_ends_early_drops_one_filter(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.capacity = 10;
    um_list *l = open_list(&c);

    add_key(l, 1, 1);
    advance(l, T0 + DAY);
    add_key(l, 2, 1);
    advance(l, T0 + 2 * DAY);
    extend(l, T0 + 2 * DAY);
    extend(l, T0 + 2 * DAY);
    assert_int_equal(stats_of(l).n, 5);
    advance(l, T0 + 2 * DAY + 1);
    assert_int_equal(stats_of(l).n, 5);
    assert_int_equal(count_key(l, 1), 0);
    assert_int_equal(count_key(l, 2), 1);
    um_list_close(l);
}

static void filters_of_a_list_are_bounded(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.capacity = 10;
    um_list *l = open_list(&c);
    unsigned n = 1;

    for (; um_list_can_extend(l); n++)
        extend(l, T0);
    assert_int_equal(n + c.epochs, UM_LIST_MAX_FILTERS + 1);
    for (unsigned i = 0; i < 2 * UM_LIST_MAX_FILTERS; i++)
        extend(l, T0); /* a journal may contain anything */
    assert_int_equal(stats_of(l).n, UM_LIST_MAX_FILTERS);
    assert_true(stats_of(l).most_filters);
    advance(l, T0 + DAY);
    assert_int_equal(stats_of(l).n, UM_LIST_MAX_FILTERS);
    advance(l, T0 + 3 * DAY);
    um_list_close(l);
}

static void a_list_of_any_number_of_epochs_gets_another_filter(void **state)
{
    (void)state;
    um_list_config c = usual;

    c.capacity = 10;
    for (c.epochs = 1; c.epochs <= UM_LIST_MAX_EPOCHS; c.epochs++) {
        um_list *l = open_list(&c);
        for (unsigned i = 1; i < c.epochs; i++)
            advance(l, T0 + i * DAY);
        assert_int_equal(um_list_epochs(l), c.epochs);
        assert_true(um_list_can_extend(l) && !stats_of(l).most_filters);
        um_list_close(l);
    }
}

static void report(um_list *l, uint64_t key, uint16_t reporter)
{
    umbel_digest d = digest_of(l, key);
    uint32_t one = 1;

    assert_ok(um_list_add_reports(l, &d, &one, &reporter, 1, &test_refusal));
}

static void a_list_knows_whether_one_network_reported_all(void **state)
{
    (void)state;
    enum { HERE = 7, THERE = 65535, ACCOUNT = 0 };
    um_list *l = open_list(&usual);

    assert_true(um_list_is_sole(l, HERE, true));
    report(l, 1, HERE);
    report(l, 1, HERE);
    report(l, 2, HERE);
    assert_int_equal(um_list_anonymous(l), 2);
    assert_true(um_list_is_sole(l, HERE, true));
    assert_false(um_list_is_sole(l, THERE, false));
    assert_true(stats_of(l).sole);
    advance(l, T0 + DAY);
    assert_int_equal(um_list_anonymous(l), 0);
    report(l, 1, THERE);
    assert_false(um_list_is_sole(l, HERE, false));
    assert_false(um_list_is_sole(l, THERE, false));
    assert_false(stats_of(l).sole);
    advance(l, T0 + 3 * DAY); /* the first epoch is over */
    assert_true(um_list_is_sole(l, THERE, true));
    report(l, 3, ACCOUNT);
    assert_int_equal(um_list_anonymous(l), 0);
    assert_false(um_list_is_sole(l, THERE, false));
    extend(l, T0 + 3 * DAY);
    report(l, 4, THERE);
    assert_int_equal(um_list_anonymous(l), 1);
    um_list_close(l);
}

/* Peers have no extra filters, so a server that renews its incarnation keeps
 * them. */
static void a_reset_keeps_extra_filters(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);
    umbel_filter *fresh;

    add_key(l, 1, 1);
    extend(l, T0);
    add_key(l, 2, 1);
    advance(l, T0 + DAY);
    add_key(l, 3, 1);
    assert_ok(um_list_create_filter(l, &fresh, &test_refusal));
    um_list_reset(l, fresh, T0 + DAY);
    assert_int_equal(count_key(l, 1) + count_key(l, 3), 0);
    assert_int_equal(count_key(l, 2), 1);
    assert_int_equal(stats_of(l).n, 2);
    advance(l, T0 + 3 * DAY);
    assert_int_equal(count_key(l, 2), 0);
    um_list_close(l);
}

/* Epoch numbers do not depend on when a server starts or reads its clock. */
static void epochs_have_the_same_numbers_everywhere(void **state)
{
    (void)state;
    um_list *a = open_list(&usual), *b = NULL;

    assert_ok(
        um_list_open(&usual, test_secret, T0 + DAY - 1, &b, &test_refusal));
    assert_int_equal(um_list_epoch_number(a, 0), um_list_epoch_number(b, 0));
    for (uint64_t day = 1; day < 6; day++) {
        advance(a, T0 + day * DAY);
        assert_true(um_list_is_over(b, T0 + day * DAY + 77));
        advance(b, T0 + day * DAY + 77);
        assert_int_equal(stats_of(a).n, stats_of(b).n);
        for (unsigned i = 0; i < stats_of(a).n; i++)
            assert_int_equal(um_list_epoch_number(a, i),
                             um_list_epoch_number(b, i));
    }
    um_list_close(a);
    um_list_close(b);
}

/*
 * With the clock an hour too early or too late, only the end of the epoch
 * moves.
 */
static void a_clock_that_is_set_back_brings_no_epoch_back(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);

    add_key(l, 1, 1);
    advance(l, T0 + DAY);
    add_key(l, 2, 1);
    assert_false(um_list_is_over(l, T0 + DAY - 3600));
    assert_false(um_list_is_over(l, 0));
    advance(l, T0 + DAY - 3600); /* as if it were full */
    assert_int_equal(um_list_epoch_number(l, 0), T0 / DAY + 1);
    assert_int_equal(um_list_epoch_number(l, 1), T0 / DAY + 1);
    assert_int_equal(count_key(l, 1) + count_key(l, 2), 2);
    um_list_close(l);
}

/* Adds a full batch after the last call of um_list_is_full. */
static void a_list_that_is_not_full_has_space_for_a_batch(void **state)
{
    (void)state;
    const char *name;

    for (size_t k = 0; umbel_kind_at(k, &name, NULL); k++) {
        um_list_config c = usual;
        umbel_digest d[UM_LIST_BATCH];
        uint32_t one[UM_LIST_BATCH];

        c.capacity = 100;
        c.kind = name;
        c.cell_bits = 0;
        if (!umbel_is_counting(name))
            continue;
        um_list *l = open_list(&c);
        for (uint64_t i = 0; i < 99; i++)
            add_key(l, 1000 + i, 1);
        assert_false(um_list_is_full(l));
        for (uint64_t i = 0; i < UM_LIST_BATCH; i++) {
            d[i] = digest_of(l, i);
            one[i] = 1;
        }
        assert_ok(um_list_add(l, d, one, UM_LIST_BATCH, &test_refusal));
        assert_true(um_list_is_full(l));
        assert_int_equal(um_list_space(l), 1);
        assert_true(stats_of(l).error <= c.error / c.epochs);
        um_list_close(l);
    }
}

/* The server was off for longer than counts are kept. */
static void epochs_expire_although_nobody_turned(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);

    add_key(l, 1, 1);
    advance(l, T0 + DAY);
    add_key(l, 2, 1);
    /* The first epoch ended at DAY, the second at 2 DAY. */
    advance(l, T0 + 3 * DAY);
    assert_int_equal(count_key(l, 1), 0);
    assert_int_equal(count_key(l, 2), 1);
    advance(l, T0 + 100 * DAY);
    assert_int_equal(count_key(l, 2), 0);
    assert_int_equal(stats_of(l).n, 1);
    um_list_close(l);
}

static void a_single_epoch_forgets_at_its_turn(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.epochs = 1;
    um_list *l = open_list(&c);

    add_key(l, 1, 1);
    advance(l, T0 + 1);
    assert_int_equal(count_key(l, 1), 0);
    assert_int_equal(stats_of(l).n, 1);
    um_list_close(l);
}

static void times_are_those_of_epochs(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);
    uint64_t entered = 1, updated = 2, now = T0 + 2 * DAY + 9;
    umbel_digest both = digest_of(l, 1), old = digest_of(l, 2);
    umbel_digest none = digest_of(l, 3);

    add_key(l, 1, 1);
    add_key(l, 2, 1);
    advance(l, T0 + DAY);
    advance(l, T0 + 2 * DAY);
    add_key(l, 1, 1);
    assert_true(um_list_times(l, &both, now, &entered, &updated));
    assert_int_equal(entered, T0);
    assert_int_equal(updated, now);
    assert_true(um_list_times(l, &old, now, &entered, &updated));
    assert_int_equal(entered, T0);
    assert_int_equal(updated, T0 + DAY);
    assert_false(um_list_times(l, &none, now, &entered, &updated));
    um_list_close(l);
}

/* --- configuration and statistics --- */

static void senseless_configurations_are_refused(void **state)
{
    (void)state;
    static const struct {
        um_list_config c;
        umbel_status status;
        const char *word;
    } bad[] = {
        {{.name = "x",
          .kind = "counting",
          .capacity = 0,
          .error = 1e-4,
          .epochs = 3,
          .cell_bits = 0},
         UMBEL_E_RANGE,
         "capacity"},
        {{.name = "x",
          .kind = "counting",
          .capacity = UINT64_MAX,
          .error = 1e-4,
          .epochs = 3,
          .cell_bits = 0},
         UMBEL_E_RANGE,
         "capacity"},
        {{.name = "x",
          .kind = "counting",
          .capacity = 9,
          .error = 0,
          .epochs = 3,
          .cell_bits = 0},
         UMBEL_E_RANGE,
         "error"},
        {{.name = "x",
          .kind = "counting",
          .capacity = 9,
          .error = 1,
          .epochs = 3,
          .cell_bits = 0},
         UMBEL_E_RANGE,
         "error"},
        {{.name = "x",
          .kind = "counting",
          .capacity = 9,
          .error = 0.1,
          .epochs = 0,
          .cell_bits = 0},
         UMBEL_E_RANGE,
         "epochs"},
        {{.name = "x",
          .kind = "counting",
          .capacity = 9,
          .error = 0.1,
          .epochs = 65,
          .cell_bits = 0},
         UMBEL_E_RANGE,
         "epochs"},
        {{.name = "x",
          .kind = "bloom",
          .capacity = 9,
          .error = 0.1,
          .epochs = 3,
          .cell_bits = 0},
         UMBEL_E_UNKNOWN,
         "bloom"},
        {{.name = "x",
          .kind = "tally",
          .capacity = 9,
          .error = 0.1,
          .epochs = 3,
          .cell_bits = 8},
         UMBEL_E_UNKNOWN,
         "cell_bits"},
        {{.name = "x",
          .kind = "counting",
          .capacity = 9,
          .error = 0.1,
          .epochs = 3,
          .cell_bits = 40},
         UMBEL_E_RANGE,
         "cell_bits"},
        {{.name = "x",
          .kind = "counting",
          .capacity = 9,
          .error = 0.1,
          .epochs = 1,
          .threshold = UM_LIST_MAX_THRESHOLD + 1},
         UMBEL_E_RANGE,
         "threshold"},
    };
    um_list *l = NULL;

    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_refused(
            um_list_open(&bad[i].c, test_secret, T0, &l, &test_refusal),
            bad[i].status, bad[i].word);
    assert_null(l);
}

static void statistics_tell_what_epochs_hold(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);

    for (uint64_t i = 0; i < 500; i++)
        add_key(l, i, 2);
    advance(l, T0 + 7);
    for (uint64_t i = 0; i < 250; i++)
        add_key(l, i, 1);
    um_list_stats s = stats_of(l);
    assert_string_equal(s.name, "spam");
    assert_string_equal(s.kind, "counting");
    assert_int_equal(s.digests, 750);
    assert_near(s.fill, 0.25, 1e-9);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.count_limit, 255);
    assert_int_equal(s.epoch[0].begin, T0 + 7);
    assert_int_equal(s.epoch[0].end, 0);
    assert_int_equal(s.epoch[0].digests, 250);
    assert_int_equal(s.epoch[1].begin, T0);
    assert_int_equal(s.epoch[1].end, T0 + 7);
    assert_int_equal(s.epoch[1].digests, 500);
    assert_int_equal(s.epoch[1].capacity, 1000);
    assert_true(s.epoch[0].error > 0);
    assert_true(s.epoch[0].error < s.epoch[1].error);
    assert_near(s.error, s.epoch[0].error + s.epoch[1].error, 1e-12);
    assert_true(s.error <= s.max_error);
    um_list_close(l);
}

/* Queries digests that were never added, with full epochs. */
static void the_error_of_all_epochs_together_is_kept(void **state)
{
    (void)state;
    enum { KEYS = 2000, TRIALS = 60000 };
    um_list_config c = usual;
    umbel_digest *d = calloc(TRIALS, sizeof *d);
    uint64_t *count = calloc(TRIALS, sizeof *count);
    size_t wrong = 0;

    c.capacity = KEYS;
    c.error = 0.01;
    um_list *l = open_list(&c);
    for (uint64_t e = 0; e < c.epochs; e++) {
        for (uint64_t i = 0; i < KEYS; i++)
            add_key(l, e * KEYS + i, 1);
        if (e + 1 < c.epochs)
            advance(l, T0 + 1 + e);
    }
    for (uint64_t i = 0; i < TRIALS; i++)
        d[i] = digest_of(l, 1000000 + i);
    um_list_count(l, d, TRIALS, count);
    for (size_t i = 0; i < TRIALS; i++)
        wrong += count[i] != 0;
    double want = stats_of(l).error * TRIALS;
    assert_near((double)wrong, want, 5 * 1.2 * sqrt(want));
    assert_true(stats_of(l).error <= c.error);
    free(d);
    free(count);
    um_list_close(l);
}
TEST_GROUP(list)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_counting_kind_is_a_list),
        cmocka_unit_test(counts_are_summed_over_live_epochs),
        cmocka_unit_test(many_digests_count_as_one_by_one),
        cmocka_unit_test(an_add_takes_a_batch_at_most),
        cmocka_unit_test(an_epoch_ends_by_time),
        cmocka_unit_test(an_epoch_ends_when_it_is_full),
        cmocka_unit_test(a_held_epoch_goes_on_with_the_digests_that_it_has),
        cmocka_unit_test(a_full_epoch_gets_filters_within_its_error),
        cmocka_unit_test(an_epoch_that_ends_early_drops_one_filter),
        cmocka_unit_test(filters_of_a_list_are_bounded),
        cmocka_unit_test(a_list_of_any_number_of_epochs_gets_another_filter),
        cmocka_unit_test(a_list_knows_whether_one_network_reported_all),
        cmocka_unit_test(a_reset_keeps_extra_filters),
        cmocka_unit_test(epochs_have_the_same_numbers_everywhere),
        cmocka_unit_test(a_clock_that_is_set_back_brings_no_epoch_back),
        cmocka_unit_test(a_list_that_is_not_full_has_space_for_a_batch),
        cmocka_unit_test(epochs_expire_although_nobody_turned),
        cmocka_unit_test(a_single_epoch_forgets_at_its_turn),
        cmocka_unit_test(times_are_those_of_epochs),
        cmocka_unit_test(senseless_configurations_are_refused),
        cmocka_unit_test(statistics_tell_what_epochs_hold),
        cmocka_unit_test(the_error_of_all_epochs_together_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
