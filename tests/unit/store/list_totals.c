/* list_totals.c - totals: upper bounds from the ended epochs. */
#include "support/test.h"

#include "base/rng.h"
#include "store/list.h"

#include <umbel/counting.h>
#include <umbel/describe.h>

enum { DAY = 86400, T0 = 12 * DAY, KEYS = 400, FAR = 1 << 30, STEP = 700 };

static um_list_config config_of(const char *kind)
{
    return (um_list_config){.name = "spam",
                            .kind = kind,
                            .capacity = 200,
                            .error = 0.2, /* so that keys share cells */
                            .epoch_seconds = DAY,
                            .epochs = 4};
}

typedef struct world {
    um_list *list;
    umbel_digest digest[KEYS];
    um_rng rng;
    uint64_t now;
} world;

static void open_world(world *w, const um_list_config *c, uint64_t seed)
{
    w->rng = (um_rng){seed};
    w->now = T0;
    assert_ok(um_list_open(c, test_secret, T0, &w->list, &test_refusal));
    for (uint64_t i = 0; i < KEYS; i++) {
        char key[TEST_KEY_LEN];
        umbel_slice slice = {key, sizeof key};
        test_key(i, key);
        um_list_digest(w->list, &slice, 1, &w->digest[i]);
    }
}

/* Adds a random amount of a key; a few keys are frequent. */
static void add_some(world *w)
{
    uint64_t key = um_random_below(&w->rng, KEYS);
    uint32_t amount = (uint32_t)um_random_below(&w->rng, key % 7 ? 3 : 200);

    if (um_list_space(w->list))
        assert_ok(
            um_list_add(w->list, &w->digest[key], &amount, 1, &test_refusal));
}

static void advance(world *w)
{
    w->now += DAY;
    assert_ok(um_list_advance(w->list, w->now, &test_refusal));
}

static void sum_all(um_list *l)
{
    while (um_list_build_totals(l, FAR, STEP))
        continue;
}

static void fill(world *w, unsigned epochs)
{
    for (unsigned e = 0; e < epochs; e++) {
        if (e)
            advance(w);
        for (int i = 0; i < 150; i++)
            add_some(w);
    }
}

/*
 * Returns how many bounds equal the counts; *exact if the list reports that all
 * do.
 */
static unsigned check_bounds(const world *w, bool *exact)
{
    uint64_t count[KEYS], bound[KEYS];
    unsigned same = 0;

    um_list_count(w->list, w->digest, KEYS, count);
    *exact = um_list_upper_bound(w->list, w->digest, KEYS, bound);
    for (size_t i = 0; i < KEYS; i++) {
        assert_true(bound[i] >= count[i]);
        same += bound[i] == count[i];
    }
    if (*exact)
        assert_int_equal(same, KEYS);
    return same;
}

static const char *const kinds[] = {"counting", "table"};

static void bounds_are_never_below_counts(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        um_list_config c = config_of(kinds[seed % 2]);
        world w;
        unsigned by_sums = 0;
        bool exact;
        c.cell_bits = seed % 2 ? 0 : seed % 3 ? 8 : 4;
        c.refined = seed % 2 == 0 && seed % 5;
        open_world(&w, &c, seed);
        for (int i = 0; i < 1500; i++) {
            uint64_t what = um_random_below(&w.rng, 100);
            if (what < 60)
                add_some(&w);
            else if (what < 99)
                um_list_build_totals(w.list, FAR, STEP);
            else
                advance(&w);
            check_bounds(&w, &exact);
            by_sums += !exact;
        }
        assert_true(by_sums > 100);
        um_list_close(w.list);
    }
}

static void most_bounds_are_counts(void **state)
{
    (void)state;

    for (size_t k = 0; k < 2; k++) {
        um_list_config c = config_of(kinds[k]);
        world w;
        bool exact;
        c.error = 1e-4;
        open_world(&w, &c, 7);
        fill(&w, 4);
        check_bounds(&w, &exact);
        assert_true(exact);
        sum_all(w.list);
        /* Sums of 255 or more are not stored: at most a seventh of the keys. */
        assert_true(check_bounds(&w, &exact) >= KEYS * 3 / 4);
        assert_false(exact);
        um_list_close(w.list);
    }
}

static void what_is_added_is_seen_at_once(void **state)
{
    (void)state;
    um_list_config c = config_of("table");
    world w;
    uint64_t before, after;
    uint32_t amount = 5;

    open_world(&w, &c, 7);
    fill(&w, 4);
    sum_all(w.list);
    for (size_t i = 0; i < KEYS && um_list_space(w.list); i++) {
        assert_false(um_list_upper_bound(w.list, &w.digest[i], 1, &before));
        assert_ok(um_list_add(w.list, &w.digest[i], &amount, 1, &test_refusal));
        assert_false(um_list_upper_bound(w.list, &w.digest[i], 1, &after));
        assert_true(after >= before + 5 || after == UINT64_MAX);
    }
    um_list_close(w.list);
}

/* Two epochs need no totals: querying the older one is as fast. */
static void sums_are_made_of_two_epochs_that_have_ended(void **state)
{
    (void)state;
    um_list_config c = config_of("table");
    world w;

    open_world(&w, &c, 7);
    fill(&w, 2);
    assert_false(um_list_build_totals(w.list, FAR, STEP));
    assert_int_equal(um_list_totals_bytes(w.list), 0);
    advance(&w);
    assert_true(um_list_build_totals(w.list, FAR, STEP));
    assert_true(um_list_totals_bytes(w.list) > 0);
    um_list_close(w.list);
}

static void sums_take_no_more_memory_than_given(void **state)
{
    (void)state;
    um_list_config c = config_of("counting");
    um_list_stats before, after;
    world w;
    bool exact;

    open_world(&w, &c, 7);
    fill(&w, 4);
    um_list_stats_get(w.list, &before);
    sum_all(w.list);
    size_t need = um_list_totals_bytes(w.list);
    um_list_stats_get(w.list, &after);
    assert_int_equal(after.bytes, before.bytes + need);
    um_list_close(w.list);

    open_world(&w, &c, 7);
    fill(&w, 4);
    assert_false(um_list_build_totals(w.list, need - 1, STEP));
    assert_int_equal(um_list_totals_bytes(w.list), 0);
    check_bounds(&w, &exact);
    assert_true(exact);
    assert_true(um_list_build_totals(w.list, need, STEP));
    advance(&w); /* starts over, in the same memory */
    while (um_list_build_totals(w.list, 0, STEP))
        continue;
    check_bounds(&w, &exact);
    assert_false(exact);
    um_list_close(w.list);
}

static void without_memory_epochs_are_asked(void **state)
{
    (void)state;
    test_memory m = {.fail_at = 0};
    umbel_alloc alloc = test_alloc(&m);
    um_list_config c = config_of("counting");
    world w;
    bool exact;

    c.alloc = &alloc;
    open_world(&w, &c, 7);
    fill(&w, 4);
    m.calls = 0;
    m.fail_at = 1;
    assert_false(um_list_build_totals(w.list, FAR, STEP));
    check_bounds(&w, &exact);
    assert_true(exact);
    m.fail_at = 0;
    sum_all(w.list);
    check_bounds(&w, &exact);
    assert_false(exact);
    um_list_close(w.list);
    assert_int_equal(m.live_blocks, 0);
}

/* A mail is not a count, and its kind has no totals. */
static void kinds_without_sums_are_counted(void **state)
{
    (void)state;
    const char *name;

    for (size_t i = 0; umbel_kind_at(i, &name, NULL); i++) {
        um_list_config c = config_of(name);
        world w;
        if (!umbel_is_counting(name))
            continue;
        open_world(&w, &c, 7);
        fill(&w, 4);
        sum_all(w.list);
        bool exact;
        check_bounds(&w, &exact);
        um_list_close(w.list);
    }
}

TEST_GROUP(list_totals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_never_below_counts),
        cmocka_unit_test(most_bounds_are_counts),
        cmocka_unit_test(what_is_added_is_seen_at_once),
        cmocka_unit_test(sums_are_made_of_two_epochs_that_have_ended),
        cmocka_unit_test(sums_take_no_more_memory_than_given),
        cmocka_unit_test(without_memory_epochs_are_asked),
        cmocka_unit_test(kinds_without_sums_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
