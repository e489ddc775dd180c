/*
 * answers.c - counts over origins: our own live filter, quorum, caps, and the
 * index.
 */
#include "base/rng.h"
#include "support/sync.h"

#include <stdlib.h>
#include <umbel/counting.h>

static umbel_digest digest_of(const test_sync_server *s, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    umbel_digest d;

    test_key(i, key);
    assert_ok(umbel_digest_many(s->shape, &slice, 1, &d, &test_refusal));
    return d;
}

static uint64_t count_with(const test_sync_server *s, uint64_t i, uint64_t own)
{
    umbel_digest d = digest_of(s, i);
    uint64_t count;

    assert_ok(umbel_sync_count_with(s->machine, 0, &d, 1, &own, &count,
                                    &test_refusal));
    return count;
}

static void exchange(test_sync_server *a, test_sync_server *b, uint64_t now)
{
    test_sync_link l;

    test_sync_connect(&l, a, b);
    test_sync_run(&l, now);
    umbel_sync_disconnect(a->machine, l.peer[0]);
    umbel_sync_disconnect(b->machine, l.peer[1]);
}

static void our_own_filter_counts_as_it_is_and_not_as_published(void **state)
{
    test_sync_server a = {0}, b = {0};
    umbel_digest d;
    uint64_t count;
    bool reached;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    assert_int_equal(count_with(&a, 7, 4), 4); /* nothing is published */
    test_sync_add(&a, 7, 2);
    test_sync_publish(&a);
    test_sync_add(&b, 7, 3);
    test_sync_publish(&b);
    exchange(&a, &b, 1);
    assert_int_equal(count_with(&a, 7, 5), 5 + 3);
    assert_int_equal(count_with(&a, 7, 0), 3);
    d = digest_of(&a, 7);
    assert_ok(umbel_sync_count_with(a.machine, 0, &d, 1, NULL, &count,
                                    &test_refusal));
    assert_int_equal(count, 2 + 3);
    assert_refused(
        umbel_sync_count_with(a.machine, 1, &d, 1, NULL, &count, &test_refusal),
        UMBEL_E_RANGE, "no such list");
    assert_refused(umbel_sync_reaches(a.machine, 1, &d, 1, NULL, 1, &reached,
                                      &test_refusal),
                   UMBEL_E_RANGE, "no such list");
    test_sync_close(&a);
    test_sync_close(&b);
}

static void what_an_older_incarnation_of_ours_said_counts_with_us(void **state)
{
    test_sync_server old = {0}, b = {0}, a = {.incarnation = 2};

    (void)state;
    test_sync_open(&old, 1);
    test_sync_open(&b, 2);
    test_sync_add(&old, 7, 2);
    test_sync_publish(&old);
    exchange(&old, &b, 1);
    test_sync_close(&old);
    test_sync_open(&a, 1);
    exchange(&a, &b, 2);
    assert_int_equal(count_with(&a, 7, 3), 2 + 3);
    umbel_sync_set_trust(a.machine, 0, 1, 4); /* one origin, one cap */
    assert_int_equal(count_with(&a, 7, 3), 4);
    umbel_sync_set_trust(a.machine, 0, 2, 0);
    assert_int_equal(count_with(&a, 7, 3), 0);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void quorum_and_cap_are_of_origins(void **state)
{
    test_sync_server a = {0}, b = {0}, c = {0};
    uint64_t word;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_open(&c, 3);
    test_sync_add(&b, 7, 30);
    test_sync_add(&c, 7, 2);
    test_sync_add(&c, 8, 9);
    test_sync_publish(&b);
    test_sync_publish(&c);
    exchange(&b, &c, 1);
    exchange(&a, &c, 1);
    word = test_sync_word(&a);
    umbel_sync_set_trust(a.machine, 0, 2, 5);
    assert_true(test_sync_word(&a) != word);
    assert_int_equal(count_with(&a, 7, 0), 5 + 2);
    assert_int_equal(count_with(&a, 7, 8), 5 + 2 + 5);
    assert_int_equal(count_with(&a, 8, 0), 0); /* one origin only */
    assert_int_equal(count_with(&a, 8, 1), 5 + 1);
    assert_ok(umbel_sync_mute(a.machine, umbel_sync_origin(c.machine),
                              &test_refusal));
    assert_int_equal(count_with(&a, 8, 1), 0);
    assert_int_equal(count_with(&a, 7, 1), 5 + 1);
    umbel_sync_set_trust(a.machine, 0, 0, 0); /* the defaults */
    assert_int_equal(count_with(&a, 7, 1), 30 + 1);
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&c);
}

/* --- the index ------------------------------------------------------------
 */

enum { ORIGINS = 18, KEYS = 100, EPOCHS = 4, EPOCH_SECONDS = 100 };

static umbel_filter *small_shape(const char *kind)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *shape;

    p.capacity = 400;
    p.fpr = 0.01;
    assert_ok(umbel_create(kind, &p, &shape, &test_refusal));
    return shape;
}

/* Returns the sum over all replicas, queried one by one. */
static uint64_t plain_sum(const umbel_sync *s, const umbel_digest *d,
                          uint32_t *origins)
{
    const uint8_t *last = NULL;
    uint64_t sum = 0, one;
    bool counted = false;
    umbel_sync_replica c;

    *origins = 0;
    for (size_t at = 0; umbel_sync_next_replica(s, &at, &c);) {
        if (c.muted || !c.version)
            continue;
        if (!last || memcmp(last, c.origin, UMBEL_ORIGIN_LEN) != 0)
            counted = false;
        last = c.origin;
        assert_ok(umbel_count_digests(c.filter, d, 1, &one, &test_refusal));
        sum += one;
        *origins += one && !counted;
        counted = counted || one;
    }
    return sum;
}

/* Asserts that verdicts agree with counts, for any threshold. */
static void compare_verdicts(const umbel_sync *s, const umbel_digest *d,
                             const uint64_t *own)
{
    static const uint64_t thresholds[] = {0, 1, 2, 5, 20, 255, 256, 1000};
    uint64_t counts[KEYS];
    bool reached[KEYS];

    assert_ok(umbel_sync_count_with(s, 0, d, KEYS, own, counts, &test_refusal));
    for (size_t t = 0; t < TEST_COUNT(thresholds); t++) {
        assert_ok(umbel_sync_reaches(s, 0, d, KEYS, own, thresholds[t], reached,
                                     &test_refusal));
        for (size_t i = 0; i < KEYS; i++)
            assert_int_equal(reached[i], counts[i] >= thresholds[t]);
    }
}

static void compare_counts(const test_sync_server *s)
{
    umbel_digest d[KEYS];
    uint64_t counts[KEYS], own[KEYS];
    uint32_t origins[KEYS], expected;

    for (size_t i = 0; i < KEYS; i++)
        d[i] = digest_of(s, i);
    assert_ok(umbel_sync_count(s->machine, 0, d, KEYS, counts, origins,
                               &test_refusal));
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(counts[i], plain_sum(s->machine, &d[i], &expected));
        assert_int_equal(origins[i], expected);
        own[i] = i % 7;
    }
    compare_verdicts(s->machine, d, NULL);
    compare_verdicts(s->machine, d, own);
    umbel_sync_set_trust(s->machine, 0, 2, 3);
    compare_verdicts(s->machine, d, own);
    umbel_sync_set_trust(s->machine, 0, 0, 0);
}

typedef struct crowd {
    test_sync_server one[ORIGINS], all; /* all: receives from each */
    test_sync_link link[ORIGINS];
    uint64_t now;
    um_rng rng;
} crowd;

static void set_up(test_sync_server *s, umbel_filter *shape, uint64_t seed)
{
    *s = (test_sync_server){.seed = 0};
    s->list.shape = shape;
    s->list.epochs = EPOCHS;
    s->list.epoch_seconds = EPOCH_SECONDS;
    s->list.page_bytes = 512;
    s->list.indexed = true;
    s->params.strict = seed < 1000; /* writers accept nothing */
    s->params.limits.message_bytes = 16384;
    test_sync_open(s, seed);
}

static void report_at(crowd *c, size_t which)
{
    test_sync_server *s = &c->one[which];
    uint64_t before = umbel_sync_epoch(s->machine, 0);

    umbel_sync_tick(s->machine, c->now);
    if (umbel_sync_epoch(s->machine, 0) != before)
        assert_ok(umbel_clear(s->own, &test_refusal));
    for (uint64_t i = um_random_below(&c->rng, 10) + 1; i--;)
        test_sync_add(s, um_random_below(&c->rng, KEYS / 2), 1);
    test_sync_publish(s);
    test_sync_run(&c->link[which], c->now);
}

static void begin_epoch(crowd *c)
{
    c->now += EPOCH_SECONDS;
    for (size_t i = 0; i < ORIGINS; i++)
        report_at(c, i);
}

static void random_event(crowd *c)
{
    const uint8_t *origin = /* one of three */
        umbel_sync_origin(c->one[um_random_below(&c->rng, 3)].machine);

    switch (um_random_below(&c->rng, 25)) {
    case 0:
        assert_ok(umbel_sync_mute(c->all.machine, origin, &test_refusal));
        break;
    case 1:
        assert_ok(
            umbel_sync_drop(c->all.machine, origin, false, &test_refusal));
        break;
    case 2:
    case 3:
        assert_ok(umbel_sync_allow(c->all.machine, origin, &test_refusal));
        break;
    default:
        report_at(c, (size_t)um_random_below(&c->rng, ORIGINS));
    }
}

static size_t known_copies(const umbel_sync *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nreplicas; i++)
        n += s->replica[i] && um_index_covers(s, s->replica[i]);
    return n;
}

static void the_index_never_changes_an_answer(void **state)
{
    static const char *const kinds[] = {"table", "counting", "countmin"};
    crowd *c = calloc(1, sizeof *c);

    (void)state;
    assert_non_null(c);
    for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
        umbel_filter *shape = small_shape(kinds[k]);
        size_t max_known = 0, by_sums = 0;
        c->now = 1000;
        c->rng = (um_rng){k + 1};
        set_up(&c->all, shape, 1000);
        for (size_t i = 0; i < ORIGINS; i++) {
            set_up(&c->one[i], shape, 1 + i);
            test_sync_connect(&c->link[i], &c->one[i], &c->all);
        }
        for (int event = 0; event < 80; event++) {
            if (event % 12 == 0)
                begin_epoch(c);
            random_event(c);
            if (event % 8 == 0) {
                compare_counts(&c->all);
                by_sums += um_totals_cover(c->all.machine, 0);
            }
            size_t known = known_copies(c->all.machine);
            max_known = known > max_known ? known : max_known;
        }
        assert_true(max_known > UM_INDEX_MAX); /* some share a column */
        assert_true(by_sums > 0);
        for (size_t i = 0; i < ORIGINS; i++)
            test_sync_close(&c->one[i]);
        test_sync_close(&c->all);
        umbel_close(shape);
    }
    free(c);
}

/*
 * Totals are never below counts, cell by cell, after a replica grew, was
 * dropped, or was added. Once rebuilt they are exact where no two keys collide.
 */
static void totals_bound_what_replicas_count(void **state)
{
    static const char *const kinds[] = {"table", "counting", "countmin"};

    (void)state;
    for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
        umbel_filter *shape = small_shape(kinds[k]);
        test_sync_server all, one[3];
        uint8_t most;

        set_up(&all, shape, 1000);
        for (size_t i = 0; i < TEST_COUNT(one); i++)
            set_up(&one[i], shape, 1 + i);
        for (size_t turn = 0; turn < 3; turn++)
            for (size_t i = 0; i < TEST_COUNT(one); i++) {
                test_sync_add(&one[i], 7, 1 + i);
                test_sync_publish(&one[i]);
                exchange(&one[i], &all, 1000);
                umbel_sync_tick(all.machine, 1000);
                umbel_sync_tick(all.machine, 1000);
            }
        umbel_digest d = digest_of(&all, 7);
        assert_true(um_totals_cover(all.machine, 0));
        um_totals_bound(&all.machine->list[0], &d, 1, &most);
        assert_int_equal(most, 3 * (1 + 2 + 3));
        assert_ok(umbel_sync_drop(all.machine,
                                  umbel_sync_origin(one[1].machine), false,
                                  &test_refusal));
        um_totals_bound(&all.machine->list[0], &d, 1, &most);
        assert_int_equal(most, 3 * (1 + 2 + 3)); /* too large, never less */
        umbel_sync_tick(all.machine, 1001);
        assert_true(um_totals_cover(all.machine, 0));
        um_totals_bound(&all.machine->list[0], &d, 1, &most);
        assert_int_equal(most, 3 * (1 + 3));
        test_sync_add(&one[0], 7, 1000);
        test_sync_publish(&one[0]);
        exchange(&one[0], &all, 1001);
        um_totals_bound(&all.machine->list[0], &d, 1, &most);
        uint64_t count = test_sync_count(&all, 7); /* cells may saturate */
        assert_int_equal(most, count < UM_TOTAL_MAX ? count : UM_TOTAL_MAX);
        for (size_t i = 0; i < TEST_COUNT(one); i++)
            test_sync_close(&one[i]);
        test_sync_close(&all);
        umbel_close(shape);
    }
}

/* Adds replicas of as many origins as memory has space for. */
static void an_index_gives_its_memory_to_copies(void **state)
{
    enum { ROOM = 14 };
    umbel_filter *shape = small_shape("table");
    test_sync_server all = {0};
    size_t max_known = 0;

    (void)state;
    all.list.shape = shape;
    all.list.indexed = true;
    all.list.page_bytes = 512;
    all.params.limits.memory = 1;
    test_sync_open(&all, 1000);
    all.machine->limit.memory = all.params.limits.memory =
        ROOM * um_replica_full_bytes(&all.machine->list[0].pages);
    for (uint64_t i = 0; i < ROOM - 1; i++) {
        test_sync_server a = {.list = {.shape = shape, .page_bytes = 512}};
        test_sync_open(&a, 1 + i);
        test_sync_add(&a, 7, 3);
        test_sync_publish(&a);
        exchange(&a, &all, 1);
        test_sync_close(&a);
        assert_int_equal(test_sync_count(&all, 7), 3 * (i + 1));
        assert_true(all.machine->memory <= all.params.limits.memory);
        umbel_sync_tick(all.machine, 2);
        size_t known = known_copies(all.machine);
        max_known = known > max_known ? known : max_known;
    }
    assert_true(max_known > 0);
    assert_int_equal(known_copies(all.machine), 0);
    assert_false(um_totals_cover(all.machine, 0));
    test_sync_close(&all);
    umbel_close(shape);
}

TEST_GROUP(answers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_filter_counts_as_it_is_and_not_as_published),
        cmocka_unit_test(what_an_older_incarnation_of_ours_said_counts_with_us),
        cmocka_unit_test(quorum_and_cap_are_of_origins),
        cmocka_unit_test(the_index_never_changes_an_answer),
        cmocka_unit_test(totals_bound_what_replicas_count),
        cmocka_unit_test(an_index_gives_its_memory_to_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
