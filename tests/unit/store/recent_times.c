/* recent_times.c - times of the last hour, over simulated time. */
#include "support/bytes.h"

#include "base/rng.h"
#include "store/internal.h"

#include <stdlib.h>

enum { T0 = 1700000000, HOUR = 3600, REPORTS = 0, WHITE = 1 };

static um_recent_times *open_recent(uint64_t capacity)
{
    um_recent_times *r = NULL;
    assert_ok(um_recent_times_open(capacity, NULL, &r, &test_refusal));
    return r;
}

static umbel_digest digest_of(uint64_t i)
{
    um_rng rng = {i * 2 + 1};
    umbel_digest d;

    d.lo = um_random(&rng);
    d.hi = um_random(&rng);
    return d;
}

static void append(um_recent_times *r, unsigned column, uint64_t i,
                   uint64_t count, uint64_t now)
{
    umbel_digest d = digest_of(i);
    um_recent_times_add(r, column, &d, &count, 1, now);
}

typedef struct times {
    bool known;
    uint64_t entered, updated;
} times;

static times times_at(const um_recent_times *r, unsigned column, uint64_t i,
                      uint64_t now)
{
    times t = {false, 0, 0};
    umbel_digest d = digest_of(i);

    t.known = um_recent_times_find(r, column, &d, now, &t.entered, &t.updated);
    return t;
}

static void assert_times(times t, uint64_t entered, uint64_t updated)
{
    assert_true(t.known);
    assert_int_equal(t.entered, entered / 10 * 10);
    assert_int_equal(t.updated, updated / 10 * 10);
}

static um_recent_times_stats stats_of(const um_recent_times *r)
{
    um_recent_times_stats s;
    um_recent_times_stats_get(r, &s);
    return s;
}

/* --- times --- */

static void a_new_digest_has_its_times_for_an_hour(void **state)
{
    (void)state;
    um_recent_times *r = open_recent(100);

    assert_false(times_at(r, REPORTS, 1, T0).known);
    append(r, REPORTS, 1, 0, T0);
    assert_times(times_at(r, REPORTS, 1, T0), T0, T0);
    append(r, REPORTS, 1, 1, T0 + 1234);
    append(r, REPORTS, 1, 2, T0 + 2345);
    assert_times(times_at(r, REPORTS, 1, T0 + 3000), T0, T0 + 2345);
    assert_times(times_at(r, REPORTS, 1, T0 + HOUR - 10), T0, T0 + 2345);
    assert_false(times_at(r, REPORTS, 1, T0 + HOUR + 10).known);
    assert_false(times_at(r, REPORTS, 1, T0 + 100 * HOUR).known);
    um_recent_times_close(r);
}

/* It was counted before, so only its epoch knows when. */
static void a_known_digest_is_not_entered(void **state)
{
    (void)state;
    um_recent_times *r = open_recent(100);

    append(r, REPORTS, 1, 7, T0);
    assert_false(times_at(r, REPORTS, 1, T0).known);
    append(r, REPORTS, 2, 0, T0);
    append(r, REPORTS, 2, 1, T0 + HOUR + 10);
    assert_false(times_at(r, REPORTS, 2, T0 + HOUR + 10).known);
    um_recent_times_close(r);
}

static void columns_have_times_of_their_own(void **state)
{
    (void)state;
    um_recent_times *r = open_recent(100);

    append(r, REPORTS, 1, 0, T0);
    append(r, WHITE, 1, 0, T0 + 500);
    append(r, WHITE, 1, 1, T0 + 700);
    append(r, REPORTS, 1, 1, T0 + 800);
    assert_times(times_at(r, REPORTS, 1, T0 + 900), T0, T0 + 800);
    assert_times(times_at(r, WHITE, 1, T0 + 900), T0 + 500, T0 + 700);
    assert_int_equal(stats_of(r).digests, 1);
    /* One column has expired, the other has not. */
    append(r, REPORTS, 99, 0, T0 + HOUR + 100);
    assert_false(times_at(r, REPORTS, 1, T0 + HOUR + 100).known);
    assert_times(times_at(r, WHITE, 1, T0 + HOUR + 100), T0 + 500, T0 + 700);
    um_recent_times_close(r);
}

static void a_clock_set_back_stands_still(void **state)
{
    (void)state;
    um_recent_times *r = open_recent(100);

    append(r, REPORTS, 1, 0, T0);
    append(r, REPORTS, 2, 0, T0 - 2 * HOUR);
    assert_times(times_at(r, REPORTS, 1, T0 - 2 * HOUR), T0, T0);
    assert_times(times_at(r, REPORTS, 2, T0), T0, T0);
    um_recent_times_close(r);
}

/* Compares with an exact record over days in which digests come and go. */
static void times_are_right_over_days(void **state)
{
    (void)state;
    enum { DIGESTS = 600, STEPS = 40000 };
    static const uint64_t pauses[] = {0, 3, 40, 9, 700, 1, 12, 6000, 30, 4};
    um_recent_times *r = open_recent(2 * DIGESTS);
    uint64_t entered[2][DIGESTS] = {{0}}, updated[2][DIGESTS] = {{0}};
    um_rng rng = {5};
    uint64_t now = T0;

    for (size_t s = 0; s < STEPS; s++) {
        uint64_t i = um_random_below(&rng, DIGESTS);
        unsigned c = (unsigned)um_random_below(&rng, 2);
        if (s % 40 == 0)
            now += pauses[um_random_below(&rng, TEST_COUNT(pauses))];
        bool known = entered[c][i] && um_random_below(&rng, 50);
        if (!known) /* all of its epochs are gone, though that is rare */
            entered[c][i] = entered[c][i] && now / 10 - entered[c][i] / 10 < 360
                                ? entered[c][i]
                                : now;
        append(r, c, i, known, now);
        updated[c][i] = now;

        uint64_t j = um_random_below(&rng, DIGESTS);
        bool recent = entered[c][j] && now / 10 - entered[c][j] / 10 < 360;
        times t = times_at(r, c, j, now);
        assert_int_equal(t.known, recent);
        if (recent)
            assert_times(t, entered[c][j], updated[c][j]);
    }
    assert_int_equal(stats_of(r).pushed, 0);
    um_recent_times_close(r);
}

/* --- capacity --- */

static void what_is_over_makes_room(void **state)
{
    (void)state;
    um_recent_times *r = open_recent(1000);

    for (uint64_t hour = 0; hour < 20; hour++)
        for (uint64_t i = 0; i < 600; i++)
            append(r, REPORTS, hour * 600 + i, 0, T0 + hour * HOUR + 6 * i);
    assert_int_equal(stats_of(r).pushed, 0);
    /* A digest is gone 128 ticks after its hour. */
    assert_true(stats_of(r).digests <= 600 + 600 * 1280 / HOUR + 5);
    um_recent_times_close(r);
}

static void a_full_table_keeps_the_latest(void **state)
{
    (void)state;
    enum { CAPACITY = 20000 };
    um_recent_times *r = open_recent(CAPACITY);
    size_t kept = 0, late = 0;

    for (uint64_t i = 0; i < CAPACITY; i++)
        append(r, REPORTS, i, 0, T0 + i / 100);
    /* The capacity suffices: hardly any was displaced. */
    assert_true(stats_of(r).pushed < CAPACITY / 1000);
    assert_true((double)stats_of(r).bytes < 8.95 * CAPACITY);
    for (uint64_t i = CAPACITY; i < 3 * CAPACITY; i++)
        append(r, REPORTS, i, 0, T0 + i / 100);
    for (uint64_t i = 0; i < CAPACITY; i++)
        kept += times_at(r, REPORTS, i, T0 + 600).known;
    for (uint64_t i = 5 * CAPACITY / 2; i < 3 * CAPACITY; i++)
        late += times_at(r, REPORTS, i, T0 + 600).known;
    assert_true(kept < CAPACITY / 20);
    assert_true(late > CAPACITY / 2 - CAPACITY / 100);
    assert_true(stats_of(r).digests <= stats_of(r).slots);
    um_recent_times_close(r);
}

static void capacities_without_sense_are_refused(void **state)
{
    (void)state;
    um_recent_times *r = NULL;

    assert_refused(um_recent_times_open(0, NULL, &r, &test_refusal),
                   UMBEL_E_RANGE, "got 0");
    assert_refused(um_recent_times_open(UINT64_MAX, NULL, &r, &test_refusal),
                   UMBEL_E_RANGE, "2^32");
    r = open_recent(1);
    append(r, REPORTS, 1, 0, T0);
    assert_true(times_at(r, REPORTS, 1, T0).known);
    um_recent_times_close(r);
}

static void missing_memory_is_reported(void **state)
{
    (void)state;
    for (size_t i = 1; i <= 2; i++) {
        test_memory m = {.fail_at = i};
        umbel_alloc alloc = test_alloc(&m);
        um_recent_times *r = NULL;
        assert_refused(um_recent_times_open(100, &alloc, &r, &test_refusal),
                       UMBEL_E_NOMEM, "memory");
        assert_int_equal(m.live_blocks, 0);
    }
}

/* --- bytes --- */

static bytes encoded(const um_recent_times *r)
{
    bytes b = {.at = malloc(1 << 20), .cap = 1 << 20};
    um_sink sink = {&b, write_bytes};

    assert_ok(um_recent_times_encode(r, &sink, &test_refusal));
    return b;
}

static umbel_status decode(um_recent_times *r, const bytes *b)
{
    bytes from = {.at = b->at, .len = b->len};
    um_feed feed = {&from, read_bytes, b->len, false};
    return um_recent_times_decode(r, &feed, &test_refusal);
}

static um_recent_times *some_digests(size_t n)
{
    um_recent_times *r = open_recent(1000);

    for (uint64_t i = 0; i < n; i++) {
        append(r, REPORTS, i, 0, T0 + i);
        if (i % 3 == 0)
            append(r, WHITE, i, 0, T0 + i);
    }
    return r;
}

static void decoding_gives_the_same_times(void **state)
{
    (void)state;
    um_recent_times *r = some_digests(800), *again = open_recent(1000);
    bytes b = encoded(r);

    assert_true(b.len < 800 * 8 + 200);
    append(again, REPORTS, 5000, 0, T0); /* removed */
    assert_ok(decode(again, &b));
    assert_false(times_at(again, REPORTS, 5000, T0 + 800).known);
    for (uint64_t i = 0; i < 800; i++) {
        assert_times(times_at(again, REPORTS, i, T0 + 800), T0 + i, T0 + i);
        assert_int_equal(times_at(again, WHITE, i, T0 + 800).known, i % 3 == 0);
    }
    bytes twice = encoded(again);
    assert_int_equal(b.len, twice.len);
    assert_memory_equal(b.at, twice.at, b.len);
    /* Time continues from there. */
    for (uint64_t t = 800; t < 3 * HOUR; t += 50)
        append(again, REPORTS, 6000 + t, 0, T0 + t);
    assert_false(times_at(again, REPORTS, 1, T0 + 3 * HOUR).known);
    assert_true(stats_of(again).digests <= (HOUR + 1280) / 50 + 2);
    free(b.at);
    free(twice.at);
    um_recent_times_close(r);
    um_recent_times_close(again);
}

static void another_capacity_starts_empty(void **state)
{
    (void)state;
    um_recent_times *r = some_digests(100), *other = open_recent(2000);
    bytes b = encoded(r);

    assert_ok(decode(other, &b));
    assert_int_equal(stats_of(other).digests, 0);
    append(other, REPORTS, 1, 0, T0 + 100);
    assert_times(times_at(other, REPORTS, 1, T0 + 100), T0 + 100, T0 + 100);
    free(b.at);
    um_recent_times_close(r);
    um_recent_times_close(other);
}

static void damaged_bytes_are_refused_or_safe(void **state)
{
    (void)state;
    um_recent_times *r = some_digests(60), *again = open_recent(1000);
    bytes b = encoded(r), cut = b;

    for (cut.len = 0; cut.len < b.len; cut.len++) {
        assert_int_not_equal(decode(again, &cut), UMBEL_OK);
        assert_int_equal(stats_of(again).digests, 0);
    }
    for (size_t i = 0; i < b.len; i++) {
        b.at[i] ^= 0xFF;
        decode(again, &b);
        for (uint64_t j = 0; j < 5; j++) {
            append(again, WHITE, j, 0, T0 + 61);
            times_at(again, REPORTS, j, T0 + 61);
        }
        assert_true(stats_of(again).digests <= stats_of(again).slots);
        b.at[i] ^= 0xFF;
    }
    b.at[0] = 2;
    assert_refused(decode(again, &b), UMBEL_E_VERSION, "version 2");
    free(b.at);
    um_recent_times_close(r);
    um_recent_times_close(again);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    um_recent_times *r = some_digests(900);
    bytes whole = encoded(r);

    for (size_t cap = 0; cap < whole.len; cap += whole.len / 5) {
        bytes b = {.at = malloc(whole.len), .cap = cap};
        um_sink sink = {&b, write_bytes};
        assert_refused(um_recent_times_encode(r, &sink, &test_refusal),
                       UMBEL_E_IO, "full");
        free(b.at);
    }
    free(whole.at);
    um_recent_times_close(r);
}

TEST_GROUP(recent_times)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_digest_has_its_times_for_an_hour),
        cmocka_unit_test(a_known_digest_is_not_entered),
        cmocka_unit_test(columns_have_times_of_their_own),
        cmocka_unit_test(a_clock_set_back_stands_still),
        cmocka_unit_test(times_are_right_over_days),
        cmocka_unit_test(what_is_over_makes_room),
        cmocka_unit_test(a_full_table_keeps_the_latest),
        cmocka_unit_test(capacities_without_sense_are_refused),
        cmocka_unit_test(missing_memory_is_reported),
        cmocka_unit_test(decoding_gives_the_same_times),
        cmocka_unit_test(another_capacity_starts_empty),
        cmocka_unit_test(damaged_bytes_are_refused_or_safe),
        cmocka_unit_test(a_full_disk_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
