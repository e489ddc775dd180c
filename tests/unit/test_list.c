/*
 * test_list.c - lists: sums over epochs, turns, bytes and back.
 */
#include "support/test.h"

#include "base/bits.h"
#include "store/list.h"

#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DAY = 86400, T0 = 12 * DAY };

static const um_list_config usual = {.name = "spam",
                                     .kind = "counting",
                                     .capacity = 1000,
                                     .error = 1e-4,
                                     .epoch_seconds = DAY,
                                     .epochs = 3,
                                     .cell_bits = 8};

static um_list *open_list(const um_list_config *c)
{
    um_list *l = NULL;
    assert_ok(um_list_open(c, test_secret, T0, &l, &test_refusal));
    return l;
}

/* The digest of key number i. */
static umbel_digest digest_of(const um_list *l, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    umbel_digest d;

    test_key(i, key);
    um_list_digest(l, &slice, 1, &d);
    return d;
}

static void add_key(um_list *l, uint64_t i, uint32_t amount)
{
    umbel_digest d = digest_of(l, i);
    assert_ok(um_list_add(l, &d, &amount, 1, &test_refusal));
}

static uint64_t count_key(const um_list *l, uint64_t i)
{
    umbel_digest d = digest_of(l, i);
    uint64_t count;

    um_list_count(l, &d, 1, &count);
    return count;
}

static um_list_stats stats_of(const um_list *l)
{
    um_list_stats s;
    um_list_stats_get(l, &s);
    return s;
}

static void turn(um_list *l, uint64_t now)
{
    assert_ok(um_list_turn(l, now, &test_refusal));
}

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
    turn(l, T0 + DAY);
    add_key(l, 1, 7);
    turn(l, T0 + 2 * DAY);
    add_key(l, 1, 11);
    add_key(l, 2, 1);
    assert_int_equal(count_key(l, 1), 23);
    turn(l, T0 + 3 * DAY);
    assert_int_equal(count_key(l, 1), 18);
    assert_int_equal(count_key(l, 2), 1);
    turn(l, T0 + 4 * DAY);
    turn(l, T0 + 5 * DAY);
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
    turn(l, T0 + DAY);
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

    assert_false(um_list_due(l, T0));
    assert_false(um_list_due(l, T0 + DAY - 1));
    assert_true(um_list_due(l, T0 + DAY));
    assert_false(um_list_due(l, T0 - 1)); /* a clock that was set back */
    turn(l, T0 + DAY + 5);
    assert_int_equal(um_list_epoch(l, 0), 13);
    assert_false(um_list_due(l, T0 + 2 * DAY - 1));
    assert_true(um_list_due(l, T0 + 2 * DAY));
    um_list_close(l);

    c.epoch_seconds = 0;
    l = open_list(&c);
    assert_false(um_list_due(l, UINT64_MAX - 1));
    um_list_close(l);
}

static void an_epoch_ends_when_it_is_full(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.capacity = 10;
    um_list *l = open_list(&c);

    for (uint64_t i = 0; i < 10; i++) {
        assert_false(um_list_due(l, T0));
        add_key(l, i, 1);
        add_key(l, i, 1); /* not another digest */
    }
    assert_true(um_list_due(l, T0));
    turn(l, T0 + 1);
    assert_false(um_list_due(l, T0 + 1));
    assert_int_equal(count_key(l, 3), 2);
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
            assert_true(um_list_takes(l, &other));
            add_key(l, i, 1);
        }
        assert_true(um_list_is_held(l) && stats_of(l).held);
        assert_int_equal(stats_of(l).over_at, T0 + DAY);
        assert_false(um_list_due(l, T0 + DAY - 1));
        assert_false(um_list_takes(l, &other));
        assert_true(um_list_takes(l, &third));
        for (int i = 0; i < 2 * UM_LIST_BATCH; i++)
            add_key(l, 3, 1);
        assert_true(count_key(l, 3) > 1);
        assert_int_equal(stats_of(l).epoch[0].digests, 10);
        assert_true(um_list_due(l, T0 + DAY));
        turn(l, T0 + DAY);
        assert_true(um_list_takes(l, &other));
        um_list_close(l);
    }
}

/* Wherever a server begins, at whatever second it looks at its clock. */
static void epochs_have_the_same_numbers_everywhere(void **state)
{
    (void)state;
    um_list *a = open_list(&usual), *b = NULL;

    assert_ok(
        um_list_open(&usual, test_secret, T0 + DAY - 1, &b, &test_refusal));
    assert_int_equal(um_list_epoch(a, 0), um_list_epoch(b, 0));
    for (uint64_t day = 1; day < 6; day++) {
        turn(a, T0 + day * DAY);
        assert_true(um_list_due(b, T0 + day * DAY + 77));
        turn(b, T0 + day * DAY + 77);
        assert_int_equal(stats_of(a).n, stats_of(b).n);
        for (unsigned i = 0; i < stats_of(a).n; i++)
            assert_int_equal(um_list_epoch(a, i), um_list_epoch(b, i));
    }
    um_list_close(a);
    um_list_close(b);
}

/* An hour too early, an hour too late: only the end moves by that. */
static void a_clock_that_is_set_back_brings_no_epoch_back(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);

    add_key(l, 1, 1);
    turn(l, T0 + DAY);
    add_key(l, 2, 1);
    assert_false(um_list_due(l, T0 + DAY - 3600));
    assert_false(um_list_due(l, 0));
    turn(l, T0 + DAY - 3600); /* full, say */
    assert_int_equal(um_list_epoch(l, 0), T0 / DAY + 1);
    assert_int_equal(um_list_epoch(l, 1), T0 / DAY + 1);
    assert_int_equal(count_key(l, 1) + count_key(l, 2), 2);
    um_list_close(l);
}

/* A full batch after the last look at um_list_due. */
static void a_list_that_is_not_due_has_room_for_a_batch(void **state)
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
        assert_false(um_list_due(l, T0));
        for (uint64_t i = 0; i < UM_LIST_BATCH; i++) {
            d[i] = digest_of(l, i);
            one[i] = 1;
        }
        assert_ok(um_list_add(l, d, one, UM_LIST_BATCH, &test_refusal));
        assert_true(um_list_due(l, T0));
        assert_int_equal(um_list_room(l), 1);
        assert_true(stats_of(l).error <= c.error / c.epochs);
        um_list_close(l);
    }
}

/* The server was off for longer than counts may live. */
static void epochs_expire_although_nobody_turned(void **state)
{
    (void)state;
    um_list *l = open_list(&usual);

    add_key(l, 1, 1);
    turn(l, T0 + DAY);
    add_key(l, 2, 1);
    /* The first epoch ended at DAY, the second at 2 DAY. */
    turn(l, T0 + 3 * DAY);
    assert_int_equal(count_key(l, 1), 0);
    assert_int_equal(count_key(l, 2), 1);
    turn(l, T0 + 100 * DAY);
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
    turn(l, T0 + 1);
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
    turn(l, T0 + DAY);
    turn(l, T0 + 2 * DAY);
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
    turn(l, T0 + 7);
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

/* Full epochs, and digests that were never added. */
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
            turn(l, T0 + 1 + e);
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

/* --- bytes --- */

typedef struct bytes {
    uint8_t *at;
    size_t len, cap; /* of a sink: full at cap */
    size_t pos;      /* of a feed */
} bytes;

static umbel_status write_bytes(void *ctx, const void *data, size_t len,
                                umbel_error *err)
{
    bytes *b = ctx;

    if (len > b->cap - b->len) {
        err->status = UMBEL_E_IO;
        strcpy(err->text, "disk full");
        return UMBEL_E_IO;
    }
    memcpy(b->at + b->len, data, len);
    b->len += len;
    return UMBEL_OK;
}

static umbel_status read_bytes(void *ctx, void *out, size_t len,
                               umbel_error *err)
{
    bytes *b = ctx;

    (void)err;
    assert_true(len <= b->len - b->pos);
    memcpy(out, b->at + b->pos, len);
    b->pos += len;
    return UMBEL_OK;
}

static bytes encoded(const um_list *l)
{
    bytes b = {.cap = 1 << 20};

    b.at = malloc(b.cap);
    um_sink sink = {&b, write_bytes};
    assert_ok(um_list_encode(l, &sink, &test_refusal));
    return b;
}

static umbel_status decode_from(const um_list_config *c, const uint8_t *secret,
                                const bytes *b, bool checked, um_list **out)
{
    bytes from = {.at = b->at, .len = b->len};
    um_feed feed = {&from, read_bytes, b->len, checked};
    return um_list_decode(c, secret, &feed, out, &test_refusal);
}

static umbel_status decode(const um_list_config *c, const uint8_t *secret,
                           const bytes *b, um_list **out)
{
    return decode_from(c, secret, b, false, out);
}

/* Two epochs, with keys 0 .. 99 in the first and 50 .. 149 in the second. */
static um_list *two_epochs(const um_list_config *c)
{
    um_list *l = open_list(c);

    for (uint64_t i = 0; i < 100; i++)
        add_key(l, i, 2);
    turn(l, T0 + DAY);
    for (uint64_t i = 50; i < 150; i++)
        add_key(l, i, 3);
    return l;
}

static void decoding_gives_the_same_list(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    bytes b = encoded(l);

    assert_ok(decode(&usual, test_secret, &b, &again));
    um_list_stats s = stats_of(l), t = stats_of(again);
    assert_int_equal(s.digests, t.digests);
    assert_int_equal(s.n, t.n);
    assert_int_equal(s.bytes, t.bytes);
    assert_memory_equal(s.epoch, t.epoch, s.n * sizeof *s.epoch);
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(count_key(again, i), count_key(l, i));
    bytes twice = encoded(again);
    assert_int_equal(b.len, twice.len);
    assert_memory_equal(b.at, twice.at, b.len);
    turn(again, T0 + 2 * DAY);
    add_key(again, 60, 1);
    assert_int_equal(count_key(again, 60), 6);
    free(b.at);
    free(twice.at);
    um_list_close(l);
    um_list_close(again);
}

/* The paper's structure: five bits, refined, verdicts from 20 on. */
static const um_list_config paper = {.name = "body",
                                     .kind = "counting",
                                     .addressing = "classic",
                                     .capacity = 2000,
                                     .error = 0.02,
                                     .epochs = 1,
                                     .cell_bits = 5,
                                     .refined = true,
                                     .threshold = 20};

/* Key i comes i % 7 + 1 times, and every 50th of them 40 times. */
static uint64_t times_of(uint64_t i)
{
    return i % 50 == 0 ? 40 : i % 7 + 1;
}

static void a_threshold_predicts_wrong_verdicts(void **state)
{
    enum { N = 2000 };
    uint64_t counts[N];
    um_list *l = open_list(&paper), *again = NULL;
    umbel_setting settings[] = {{"cell_bits", 5}, {"update", 1}};
    umbel_params p = {.size = sizeof p,
                      .addressing = "classic",
                      .capacity = paper.capacity + UM_LIST_BATCH,
                      .fpr = paper.error,
                      .settings = settings,
                      .nsettings = 2,
                      .exact_size = true};
    umbel_count_plan plan;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        counts[i] = times_of(i);
        add_key(l, i, 1);
        add_key(l, i, (uint32_t)counts[i] - 1);
    }
    assert_int_equal(
        umbel_plan_counts("counting", &p, 20, counts, N, &plan, NULL),
        UMBEL_OK);
    um_list_stats s = stats_of(l);
    assert_int_equal(s.count_limit, 31);
    assert_int_equal(s.threshold, 20);
    /* A few keys of 2,000 are taken for others: 2 % is all that differs. */
    assert_true(s.f_compound > 0.8 * plan.f_compound &&
                s.f_compound < 1.25 * plan.f_compound);
    assert_true(s.f_paper > 0 && s.f_paper <= plan.f_paper);
    bytes b = encoded(l);
    assert_int_equal(decode(&paper, test_secret, &b, &again), UMBEL_OK);
    um_list_stats t = stats_of(again);
    assert_true(t.f_compound >= s.f_compound && t.f_compound <= s.f_compound);
    um_list_close(l);
    um_list_close(again);
    free(b.at);
}

static void another_configuration_holds_from_the_next_epoch_on(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    bytes b = encoded(l);
    um_list_config c = usual;

    c.kind = "tally";
    c.cell_bits = 0;
    c.capacity = 5000;
    assert_ok(decode(&c, test_secret, &b, &again));
    assert_int_equal(stats_of(again).epoch[0].capacity, 1000);
    assert_int_equal(count_key(again, 60), 5);
    turn(again, T0 + 2 * DAY);
    assert_int_equal(stats_of(again).epoch[0].capacity, 5000);
    add_key(again, 60, 1);
    assert_int_equal(count_key(again, 60), 6);
    um_list_close(again);

    c = usual;
    c.epochs = 1;
    assert_ok(decode(&c, test_secret, &b, &again));
    assert_int_equal(count_key(again, 60), 3);
    um_list_close(again);
    free(b.at);
    um_list_close(l);
}

/* The length of the filter stands before it: here after the version, the
 * number of epochs, two times and a threshold of 0. */
static void another_layout_is_another_version_and_not_cut_short(void **state)
{
    enum { LEN_AT = 8 + 16 + 4 };
    um_list_config c = usual;
    c.threshold = 0;
    um_list *l = open_list(&c), *again = NULL;
    bytes b = encoded(l);

    (void)state;
    b.at[LEN_AT] ^= 64;
    assert_refused(decode_from(&c, test_secret, &b, false, &again),
                   UMBEL_E_FORMAT, "bytes");
    assert_refused(decode_from(&c, test_secret, &b, true, &again),
                   UMBEL_E_VERSION, "another version of this program");
    assert_null(again);
    free(b.at);
    um_list_close(l);
}

static void epochs_of_two_shapes_are_not_added_up(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    bytes b = encoded(l);
    um_list_config c = usual;
    umbel_digest d = digest_of(l, 60);
    uint64_t most;

    c.capacity = 5000;
    c.epochs = 4;
    assert_ok(decode(&c, test_secret, &b, &again));
    turn(again, T0 + 2 * DAY);
    while (um_list_sum(again, 1 << 20, 1 << 10))
        continue;
    assert_false(um_list_bound(again, &d, 1, &most)); /* two are alike */
    assert_in_range(most, 5, 10);
    add_key(again, 60, 7);
    turn(again, T0 + 3 * DAY);
    assert_false(um_list_sum(again, 1 << 20, 1 << 10));
    assert_true(um_list_bound(again, &d, 1, &most));
    assert_int_equal(most, 12);
    um_list_close(again);
    free(b.at);
    um_list_close(l);
}

static void another_secret_is_refused(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    bytes b = encoded(l);

    assert_refused_as(decode(&usual, test_other_secret, &b, &again),
                      UMBEL_E_SECRET, UMBEL_D_SECRET_WRONG, "secret");
    assert_null(again);
    free(b.at);
    um_list_close(l);
}

static void a_list_cut_short_is_refused(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.capacity = 20;
    c.error = 0.1;
    um_list *l = open_list(&c), *again = NULL;
    bytes b = encoded(l), cut = b;

    for (cut.len = 0; cut.len < b.len; cut.len++)
        assert_int_not_equal(decode(&c, test_secret, &cut, &again), UMBEL_OK);
    assert_null(again);
    free(b.at);
    um_list_close(l);
}

/* No byte can change unnoticed, except the epochs' times. */
static void a_changed_byte_is_refused_or_harmless(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.capacity = 20;
    c.error = 0.1;
    um_list *l = open_list(&c), *again;
    bytes b = encoded(l);

    for (size_t i = 0; i < b.len; i++) {
        bool time = i >= 8 && i < 16;
        b.at[i] ^= 0x41;
        umbel_status status = decode(&c, test_secret, &b, &again);
        b.at[i] ^= 0x41;
        assert_int_equal(status == UMBEL_OK, time);
        if (status == UMBEL_OK)
            um_list_close(again);
    }
    free(b.at);
    um_list_close(l);
}

static void another_version_is_refused_by_name(void **state)
{
    (void)state;
    um_list *l = open_list(&usual), *again = NULL;
    bytes b = encoded(l);

    b.at[0] = 9;
    assert_refused(decode(&usual, test_secret, &b, &again), UMBEL_E_VERSION,
                   "version 9");
    b.at[0] = 2;
    b.at[4] = 65;
    assert_refused(decode(&usual, test_secret, &b, &again), UMBEL_E_FORMAT,
                   "65 epochs");
    b.at[4] = 0;
    assert_refused(decode(&usual, test_secret, &b, &again), UMBEL_E_FORMAT,
                   "0 epochs");
    free(b.at);
    um_list_close(l);
}

/* A filter of another origin where an epoch should be. */
static void filters_that_are_no_epoch_are_refused(void **state)
{
    (void)state;
    umbel_setting bits = {"cell_bits", 8};
    umbel_params plain = {.size = sizeof plain, .capacity = 1000};
    umbel_params sip = {.size = sizeof sip,
                        .capacity = 1000,
                        .hash = "sip",
                        .secret = test_secret};
    umbel_params few = sip;
    few.capacity = UM_LIST_BATCH;
    const struct {
        const char *kind;
        const umbel_params *p;
        bool coded;
        const char *word;
    } bad[] = {{"counting", &plain, false, "hash xxh3-64"},
               {"bloom", &sip, false, "no epoch"},
               {"counting", &few, false, "no epoch"},
               {"counting", &sip, true, "no epoch"}};

    plain.settings = &bits;
    plain.nsettings = 1;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        umbel_filter *f;
        um_list *l = NULL;
        size_t len;

        assert_ok(umbel_create(bad[i].kind, bad[i].p, &f, &test_refusal));
        umbel_set_coded(f, bad[i].coded);
        uint8_t *file = test_encode(f, &len);
        bytes b = {.at = calloc(1, len + 36), .len = len + 36};
        b.at[0] = 2;
        b.at[4] = 1;
        um_store64(b.at + 28, len); /* behind a threshold of 0 */
        memcpy(b.at + 36, file, len);
        assert_refused(decode(&usual, test_secret, &b, &l), UMBEL_E_FORMAT,
                       bad[i].word);
        free(file);
        free(b.at);
        umbel_close(f);
    }
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual);
    bytes whole = encoded(l);

    for (size_t cap = 0; cap < whole.len; cap += whole.len / 7 + 1) {
        bytes b = {.at = malloc(whole.len), .cap = cap};
        um_sink sink = {&b, write_bytes};
        assert_refused(um_list_encode(l, &sink, &test_refusal), UMBEL_E_IO,
                       "full");
        free(b.at);
    }
    free(whole.at);
    um_list_close(l);
}

/* --- memory --- */

static void missing_memory_changes_nothing(void **state)
{
    (void)state;
    test_memory m = {0};
    umbel_alloc alloc = test_alloc(&m);
    um_list_config c = usual;
    um_list *l = NULL;

    c.alloc = &alloc;
    for (m.fail_at = 1; !l; m.fail_at++, m.calls = 0) {
        if (um_list_open(&c, test_secret, T0, &l, &test_refusal) == UMBEL_OK)
            break;
        assert_int_equal(test_refusal.status, UMBEL_E_NOMEM);
        assert_int_equal(m.live_blocks, 0);
    }
    assert_true(m.fail_at > 2);
    m.fail_at = 0;
    add_key(l, 1, 4);
    bool turned = false;
    for (m.fail_at = 1, m.calls = 0; !turned; m.fail_at++, m.calls = 0) {
        turned = um_list_turn(l, T0 + 1, &test_refusal) == UMBEL_OK;
        assert_int_equal(stats_of(l).n, turned ? 2 : 1);
        assert_int_equal(count_key(l, 1), 4);
    }
    assert_true(m.fail_at > 2);
    m.fail_at = 0;
    bytes b = encoded(l);
    um_list_close(l);
    assert_int_equal(m.live_blocks, 0);

    um_list *again = NULL;
    for (m.fail_at = 1, m.calls = 0; !again; m.fail_at++, m.calls = 0) {
        if (decode(&c, test_secret, &b, &again) == UMBEL_OK)
            break;
        assert_int_equal(test_refusal.status, UMBEL_E_NOMEM);
        assert_int_equal(m.live_blocks, 0);
    }
    m.fail_at = 0;
    assert_int_equal(count_key(again, 1), 4);
    um_list_close(again);
    assert_int_equal(m.live_blocks, 0);
    free(b.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_counting_kind_is_a_list),
        cmocka_unit_test(counts_are_summed_over_live_epochs),
        cmocka_unit_test(many_digests_count_as_one_by_one),
        cmocka_unit_test(an_add_takes_a_batch_at_most),
        cmocka_unit_test(an_epoch_ends_by_time),
        cmocka_unit_test(an_epoch_ends_when_it_is_full),
        cmocka_unit_test(a_held_epoch_goes_on_with_the_digests_that_it_has),
        cmocka_unit_test(epochs_have_the_same_numbers_everywhere),
        cmocka_unit_test(a_clock_that_is_set_back_brings_no_epoch_back),
        cmocka_unit_test(a_list_that_is_not_due_has_room_for_a_batch),
        cmocka_unit_test(epochs_expire_although_nobody_turned),
        cmocka_unit_test(a_single_epoch_forgets_at_its_turn),
        cmocka_unit_test(times_are_those_of_epochs),
        cmocka_unit_test(senseless_configurations_are_refused),
        cmocka_unit_test(statistics_tell_what_epochs_hold),
        cmocka_unit_test(the_error_of_all_epochs_together_is_kept),
        cmocka_unit_test(decoding_gives_the_same_list),
        cmocka_unit_test(a_threshold_predicts_wrong_verdicts),
        cmocka_unit_test(another_configuration_holds_from_the_next_epoch_on),
        cmocka_unit_test(another_layout_is_another_version_and_not_cut_short),
        cmocka_unit_test(epochs_of_two_shapes_are_not_added_up),
        cmocka_unit_test(another_secret_is_refused),
        cmocka_unit_test(a_list_cut_short_is_refused),
        cmocka_unit_test(a_changed_byte_is_refused_or_harmless),
        cmocka_unit_test(another_version_is_refused_by_name),
        cmocka_unit_test(filters_that_are_no_epoch_are_refused),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(missing_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
