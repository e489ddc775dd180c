/*
 * strangers.c - clients without an account fill a part of an epoch, and erase
 * nothing; a full epoch gets further filters.
 */
#include "support/test.h"

#include "base/hash.h"
#include "store/store.h"

#include <stdlib.h>

enum { T0 = 1000000, EPOCH = 86400, CAPACITY = 400, HERE = 7, THERE = 9 };
#define SHARE 0.25

typedef struct fixture {
    char *dir;
    um_store *store;
    um_list_config list;
    um_store_config config;
    uint64_t now;
} fixture;

static void start(fixture *f)
{
    f->config = (um_store_config){.dir = f->dir,
                                  .durability = UM_DURABILITY_NONE,
                                  .lists = &f->list,
                                  .nlists = 1,
                                  .extra_bytes = f->config.extra_bytes,
                                  .secret_bytes = test_secret};
    assert_ok(um_store_open(&f->config, f->now, &f->store, &test_refusal));
}

static fixture open_fixture(uint64_t extra_bytes, bool hold)
{
    fixture f = {.dir = test_dir_make(),
                 .list = {.name = "reports",
                          .kind = "table",
                          .capacity = CAPACITY,
                          .error = 1e-6,
                          .epoch_seconds = EPOCH,
                          .epochs = 4,
                          .hold = hold},
                 .config = {.extra_bytes = extra_bytes},
                 .now = T0};

    start(&f);
    return f;
}

static void close_fixture(fixture *f)
{
    um_store_close(f->store);
    test_dir_remove(f->dir);
}

static void restart(fixture *f)
{
    um_store_close(f->store);
    start(f);
}

static umbel_digest digest_of(uint64_t key)
{
    return (umbel_digest){um_remix(key), um_remix(~key)};
}

/* Reports a digest as a server does; returns what became of it. */
static um_store_admission report_within(fixture *f, uint64_t key,
                                        uint16_t reporter, double share)
{
    um_entry e = {.amount = 1, .digest = digest_of(key), .reporter = reporter};
    um_store_admission a =
        um_store_admits(f->store, 0, &e.digest, reporter, share, f->now);
    uint64_t ticket;

    if (a <= UM_ADMIT_SHARED)
        assert_ok(
            um_store_add(f->store, &e, 1, f->now, &ticket, &test_refusal));
    return a;
}

static um_store_admission report(fixture *f, uint64_t key, uint16_t reporter)
{
    return report_within(f, key, reporter, SHARE);
}

static um_list_stats stats_of(const fixture *f)
{
    um_list_stats s;

    um_store_list_stats(f->store, 0, &s);
    return s;
}

static void assert_counted(const fixture *f, uint64_t from, uint64_t n)
{
    for (uint64_t i = from; i < from + n; i++) {
        umbel_digest d = digest_of(i);
        uint64_t count;
        um_store_count(f->store, 0, &d, 1, &count);
        assert_true(count >= 1);
    }
}

static void strangers_fill_their_part_and_no_more(void **state)
{
    (void)state;
    fixture f = open_fixture(1 << 20, false);
    enum { MINE = 100, INVENTED = 20000, LATE = 2000000 };

    for (uint64_t i = 0; i < MINE; i++)
        assert_int_equal(report(&f, i, 0), UM_ADMIT);
    for (uint64_t i = 0; i < INVENTED; i++) {
        um_store_admission a = report(&f, 1000 + i, (uint16_t)(1 + i % 1000));
        assert_int_equal(a, (double)i < SHARE * CAPACITY ? UM_ADMIT_SHARED
                                                         : UM_REFUSE_SHARE);
        /* Each from a second network, too: known, or refused again. */
        a = report(&f, 1000 + i, (uint16_t)(2000 + i % 1000));
        assert_int_equal(a, (double)i < SHARE * CAPACITY ? UM_ADMIT
                                                         : UM_REFUSE_SHARE);
    }
    for (int i = 0; i < 2; i++) {
        assert_counted(&f, 0, MINE);
        assert_int_equal(stats_of(&f).anonymous, SHARE * CAPACITY);
        assert_int_equal(stats_of(&f).ended_early, 0);
        assert_int_equal(report(&f, 3, HERE), UM_ADMIT); /* it is known */
        assert_int_equal(report(&f, LATE, HERE), UM_REFUSE_SHARE);
        assert_int_equal(report(&f, LATE + 1, 0), UM_ADMIT);
        restart(&f);
    }
    /* The next epoch has a part of its own. */
    f.now += EPOCH;
    assert_int_equal(report(&f, LATE, HERE), UM_ADMIT_SHARED);
    assert_counted(&f, 0, MINE);
    close_fixture(&f);
}

static void a_network_that_is_alone_is_not_held_to_its_part(void **state)
{
    (void)state;
    fixture f = open_fixture(1 << 20, false);
    enum { N = 5 * CAPACITY, LATE = 1000000 };

    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(report(&f, i, HERE), UM_ADMIT);
    restart(&f);
    assert_counted(&f, 0, N);
    um_list_stats s = stats_of(&f);
    assert_true(s.sole && s.extra >= 4);
    assert_int_equal(s.anonymous, N);
    /* Not any more, once somebody else has reported. */
    assert_int_equal(report(&f, LATE, THERE), UM_REFUSE_SHARE);
    assert_int_equal(report(&f, LATE, 0), UM_ADMIT);
    assert_int_equal(report(&f, LATE + 1, HERE), UM_REFUSE_SHARE);
    assert_counted(&f, 0, N);
    close_fixture(&f);
}

/* Without memory for filters only those with an account end an epoch early. */
static void strangers_end_no_epoch(void **state)
{
    (void)state;
    fixture f = open_fixture(0, false);
    uint64_t key = 0;

    for (; key < CAPACITY; key++)
        assert_int_equal(report(&f, key, 0), UM_ADMIT);
    assert_int_equal(report(&f, 1000000, HERE), UM_REFUSE_FULL);
    assert_int_equal(report(&f, 3, HERE), UM_ADMIT);
    assert_int_equal(stats_of(&f).ended_early, 0);
    for (; key < 4 * CAPACITY; key++)
        assert_int_equal(report(&f, key, 0), UM_ADMIT);
    assert_int_equal(stats_of(&f).ended_early, 3);
    assert_counted(&f, 0, key);
    assert_int_equal(report(&f, key++, 0), UM_ADMIT);
    assert_int_equal(stats_of(&f).ended_early, 4);
    assert_counted(&f, CAPACITY, key - CAPACITY);
    restart(&f);
    assert_int_equal(stats_of(&f).ended_early, 4);
    assert_counted(&f, CAPACITY, key - CAPACITY);
    close_fixture(&f);
}

/* A site of one network without an account ends its own epochs. */
static void a_network_that_is_alone_loses_only_its_own_counts(void **state)
{
    (void)state;
    fixture f = open_fixture(0, false);

    for (uint64_t i = 0; i < 5 * CAPACITY; i++)
        assert_int_equal(report(&f, i, HERE), UM_ADMIT);
    assert_true(stats_of(&f).ended_early >= 4);
    assert_counted(&f, 2 * CAPACITY, 3 * CAPACITY);
    close_fixture(&f);
}

static void a_full_epoch_gets_filters_up_to_the_limit_of_memory(void **state)
{
    (void)state;
    for (int hold = 0; hold < 2; hold++) {
        fixture f = open_fixture(1, hold);
        uint64_t each = um_list_newest_bytes(um_store_list(f.store, 0));
        uint64_t key = 0;
        um_store_admission a = UM_ADMIT;

        f.config.extra_bytes = 6 * each;
        restart(&f);
        while (stats_of(&f).ended_early == 0 && a == UM_ADMIT)
            a = report(&f, key++, 0);
        um_list_stats s = stats_of(&f);
        assert_in_range(s.extra, 4, 5);
        assert_true(um_list_extra_bytes(um_store_list(f.store, 0)) <= 6 * each);
        assert_int_equal(a, hold ? UM_REFUSE_FULL : UM_ADMIT);
        assert_int_equal(s.held, hold);
        assert_counted(&f, 0, hold ? key - 1 : key);
        restart(&f);
        assert_counted(&f, 0, hold ? key - 1 : key);
        assert_int_equal(stats_of(&f).held, hold);
        close_fixture(&f);
    }
}

/* Lists share the memory; a network that is alone uses half of it at most. */
static void some_memory_is_left_for_those_with_an_account(void **state)
{
    (void)state;
    fixture f = open_fixture(1, true);
    uint64_t each = um_list_newest_bytes(um_store_list(f.store, 0)), key = 0;

    f.config.extra_bytes = 12 * each;
    restart(&f);
    while (report(&f, key, HERE) == UM_ADMIT)
        key++;
    assert_in_range(stats_of(&f).extra, 4, 5);
    assert_int_equal(report(&f, key, HERE), UM_REFUSE_SHARE);
    assert_false(stats_of(&f).held);
    assert_int_equal(report(&f, key, 0), UM_ADMIT);
    assert_counted(&f, 0, key + 1);
    close_fixture(&f);
}

/* A case of the table below. */
typedef struct flood {
    bool hold;         /* as with peers */
    bool used;         /* an account has reported before */
    unsigned networks; /* that report invented digests */
    unsigned spare;    /* memory for that many further filters */
    double share;
} flood;

enum { MINE = 50, FLOOD = 3 * CAPACITY, INVENTED = 1000, LATER = 2000000 };

static fixture open_flooded(const flood *c, uint64_t each, uint64_t *admitted)
{
    fixture f = open_fixture(c->spare * each, c->hold);

    for (uint64_t i = 0; c->used && i < MINE; i++)
        assert_int_equal(report(&f, i, 0), UM_ADMIT);
    *admitted = 0;
    for (uint64_t i = 0; i < FLOOD; i++)
        *admitted +=
            report_within(&f, INVENTED + i, (uint16_t)(HERE + i % c->networks),
                          c->share) <= UM_ADMIT_SHARED;
    return f;
}

/* Returns how many new digests an account can report after a flood. */
static uint64_t report_later(fixture *f)
{
    uint64_t n = 0;

    while (n < CAPACITY && report(f, LATER + n, 0) == UM_ADMIT)
        n++;
    return n;
}

static void check_flood(const flood *c, uint64_t each)
{
    uint64_t admitted, part = (uint64_t)(c->share * CAPACITY);
    fixture f = open_flooded(c, each, &admitted);
    bool alone = c->networks == 1 && !c->used;
    um_list_stats s = stats_of(&f);

    if (c->share <= 0)
        assert_int_equal(admitted, 0);
    else if (alone && !c->hold) /* it pushes out its own counts only */
        assert_int_equal(admitted, FLOOD);
    else if (c->share < 1 && (!alone || c->spare < 4))
        assert_int_equal(admitted, part);
    else if (c->spare >= 4)
        assert_true(admitted > part);
    /* A part that is full is visible, even if one network filled it. */
    if (c->share > 0 && c->share < 1)
        assert_int_equal(!s.sole && s.anonymous >= part, admitted < FLOOD);
    /* Accounts lose nothing that they reported, and are counted. */
    uint64_t later = report_later(&f);
    if (c->share < 1)
        assert_true(later >= CAPACITY - part - (c->used ? MINE : 0));
    assert_counted(&f, LATER, later);
    if (c->used)
        assert_counted(&f, 0, MINE);
    close_fixture(&f);
}

static void a_flood_leaves_accounts_what_the_share_leaves(void **state)
{
    (void)state;
    static const double share[] = {0, SHARE, 1};
    static const unsigned spare[] = {0, 4, 12};
    fixture f = open_fixture(0, false);
    uint64_t each = um_list_newest_bytes(um_store_list(f.store, 0));

    for (unsigned i = 0; i < 8; i++)
        for (size_t k = 0; k < TEST_COUNT(share); k++)
            for (size_t j = 0; j < TEST_COUNT(spare); j++)
                check_flood(&(flood){.hold = i & 1,
                                     .used = i & 2,
                                     .networks = i & 4 ? 2 : 1,
                                     .spare = spare[j],
                                     .share = share[k]},
                            each);
    close_fixture(&f);
}

/* Both lists are full, and there is memory for one more filter. */
static void one_report_does_not_end_the_epoch_of_a_held_list(void **state)
{
    (void)state;
    fixture f = open_fixture(1, true);
    uint64_t each = um_list_newest_bytes(um_store_list(f.store, 0));
    um_list_config both[2] = {f.list, f.list};
    um_list_stats stats;
    uint64_t ticket, refused = 0;

    both[1].name = "others";
    um_store_close(f.store);
    test_dir_remove(f.dir);
    f.dir = test_dir_make();
    f.config.lists = both;
    f.config.nlists = 2;
    f.config.dir = f.dir;
    f.config.extra_bytes = 2 * each;
    assert_ok(um_store_open(&f.config, f.now, &f.store, &test_refusal));
    for (uint64_t i = 0; i < 3 * CAPACITY; i++) {
        um_entry e[2] = {{.amount = 1, .digest = digest_of(i)},
                         {.amount = 1, .list = 1, .digest = digest_of(i)}};
        refused +=
            um_store_add(f.store, e, 2, f.now, &ticket, NULL) == UMBEL_E_FULL;
    }
    assert_true(refused >= CAPACITY);
    for (unsigned list = 0; list < 2; list++) {
        um_store_list_stats(f.store, list, &stats);
        assert_int_equal(stats.ended_early, 0);
    }
    close_fixture(&f);
}

/* For a port that only machines of the operator reach. */
static void a_share_of_1_is_no_limit_but_memory(void **state)
{
    (void)state;
    fixture f = open_fixture(1 << 20, false);
    enum { N = 3 * CAPACITY };

    assert_int_equal(report(&f, 1000000, 0), UM_ADMIT);
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(report_within(&f, i, (uint16_t)(HERE + i % 2), 1),
                         UM_ADMIT_SHARED);
    assert_counted(&f, 0, N);
    assert_int_equal(report_within(&f, N, HERE, 0), UM_REFUSE_SHARE);
    f.config.extra_bytes = 0;
    restart(&f);
    uint64_t key = N;
    while (report_within(&f, key, HERE, 1) == UM_ADMIT_SHARED)
        key++;
    assert_int_equal(report_within(&f, key, HERE, 1), UM_REFUSE_FULL);
    assert_int_equal(stats_of(&f).ended_early, 0);
    assert_counted(&f, 0, key);
    close_fixture(&f);
}

static void tags_of_networks_are_never_0_and_differ(void **state)
{
    (void)state;
    fixture f = open_fixture(0, false);
    unsigned same = 0;

    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t next = i + 1;
        uint16_t tag = um_store_network_tag(f.store, &i, sizeof i);
        assert_true(tag);
        same += tag == um_store_network_tag(f.store, &next, sizeof next);
    }
    assert_true(same <= 4); /* 0.15 are expected */
    close_fixture(&f);
}

TEST_GROUP(strangers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_fill_their_part_and_no_more),
        cmocka_unit_test(a_network_that_is_alone_is_not_held_to_its_part),
        cmocka_unit_test(strangers_end_no_epoch),
        cmocka_unit_test(a_network_that_is_alone_loses_only_its_own_counts),
        cmocka_unit_test(a_full_epoch_gets_filters_up_to_the_limit_of_memory),
        cmocka_unit_test(some_memory_is_left_for_those_with_an_account),
        cmocka_unit_test(a_flood_leaves_accounts_what_the_share_leaves),
        cmocka_unit_test(one_report_does_not_end_the_epoch_of_a_held_list),
        cmocka_unit_test(a_share_of_1_is_no_limit_but_memory),
        cmocka_unit_test(tags_of_networks_are_never_0_and_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
