/* compare.c - strategies to keep listed keys from matching, side by side. */
#include "support/test.h"

#include <umbel/plan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 3000, LISTED = 6000, OUTSIDE = 200000 };

/* Members, then listed keys, then keys of neither list; Zipf weights. */
typedef struct fixture {
    umbel_params params;
    char *keys;
    umbel_slice *slices;
    umbel_digest *digests;
    double *weights;
    umbel_key_list members, never;
} fixture;

static void fixture_init(fixture *s)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    size_t all = MEMBERS + LISTED + OUTSIDE;

    *s = (fixture){.params = p};
    s->keys = test_keys(0, all);
    s->slices = test_slices(s->keys, all);
    s->digests = malloc(all * sizeof *s->digests);
    s->weights = malloc(LISTED * sizeof *s->weights);
    assert_true(s->digests && s->weights);
    p.capacity = 1;
    umbel_filter *f = test_open(&p);
    assert_ok(umbel_digest_many(f, s->slices, all, s->digests, &test_refusal));
    umbel_close(f);
    for (size_t i = 0; i < LISTED; i++)
        s->weights[i] = 1.0 / (double)(i + 1);
    s->members = (umbel_key_list)UMBEL_KEY_LIST(s->digests, MEMBERS);
    s->never = (umbel_key_list)UMBEL_KEY_LIST(s->digests + MEMBERS, LISTED);
    s->never.weights = s->weights;
}

static void fixture_fini(fixture *s)
{
    free(s->keys);
    free(s->slices);
    free(s->digests);
    free(s->weights);
}

static umbel_comparison compared(const fixture *s, uint64_t bytes)
{
    umbel_comparison c;

    assert_ok(umbel_compare_strategies(&s->params, bytes, &s->members,
                                       &s->never, &c, &test_refusal));
    return c;
}

static const umbel_strategy *way_of(const umbel_comparison *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->way[i].name, name) == 0)
            return &c->way[i];
    fail_msg("there is no way %s", name);
    return NULL;
}

static void no_way_takes_more_bytes_than_allowed(void **state)
{
    static const uint64_t budgets[] = {700, 1000, 1600, 2400, 3800, 9000};
    fixture s;

    (void)state;
    fixture_init(&s);
    for (size_t i = 0; i < TEST_COUNT(budgets); i++) {
        umbel_comparison c = compared(&s, budgets[i]);
        assert_int_equal(c.bytes, budgets[i]);
        for (size_t j = 0; j < c.n; j++)
            if (c.way[j].status == UMBEL_OK)
                assert_in_range(c.way[j].bytes, 1, budgets[i]);
    }
    fixture_fini(&s);
}

static void the_table_names_the_ways_in_their_order(void **state)
{
    const char *name, *summary;
    fixture s;

    (void)state;
    fixture_init(&s);
    umbel_comparison c = compared(&s, 2400);
    for (size_t i = 0; i < c.n; i++) {
        assert_true(umbel_strategy_at(i, &name, &summary));
        assert_string_equal(name, c.way[i].name);
        assert_true(strlen(summary) > 0);
    }
    assert_false(umbel_strategy_at(c.n, &name, NULL));
    fixture_fini(&s);
}

static void without_bytes_a_plain_filter_sets_the_size(void **state)
{
    umbel_size_plan plan;
    fixture s;

    (void)state;
    fixture_init(&s);
    s.params.fpr = 0.02;
    umbel_comparison c = compared(&s, 0);
    umbel_params p = s.params;
    p.capacity = MEMBERS;
    assert_ok(umbel_plan_size("bloom", &p, 0, &plan, &test_refusal));
    assert_int_equal(c.bytes, plan.bytes);
    assert_int_equal(way_of(&c, "retouch")->bytes, plan.bytes);
    assert_near(c.plain_unseen, 0.02, 0.002);
    fixture_fini(&s);
}

/* Groups keep their choices; a static set is fetched whole. */
static void the_next_edition_is_measured(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    umbel_comparison c = compared(&s, 2400);
    const umbel_strategy *groups = way_of(&c, "groups");
    const umbel_strategy *ribbon = way_of(&c, "ribbon");
    assert_in_range(c.plain_next_bytes, 1, 2000);
    assert_in_range(groups->next_bytes, 1, c.plain_next_bytes * 5 / 2);
    assert_int_equal(ribbon->next_bytes, ribbon->bytes);
    fixture_fini(&s);
}

static void the_best_loses_no_member_and_leaves_the_least(void **state)
{
    static const uint64_t budgets[] = {300, 1600, 2400, 3800};
    fixture s;

    (void)state;
    fixture_init(&s);
    for (size_t i = 0; i < TEST_COUNT(budgets); i++) {
        umbel_comparison c = compared(&s, budgets[i]);
        const umbel_strategy *best = &c.way[c.best];
        assert_in_range(c.best, 0, c.n - 1);
        assert_int_equal(best->status, UMBEL_OK);
        assert_int_equal(best->lost, 0);
        for (size_t j = 0; j < c.n; j++) {
            const umbel_strategy *w = &c.way[j];
            if (w->status != UMBEL_OK || w->lost)
                continue;
            assert_true(best->weight_left <= w->weight_left);
            if (best->weight_left >= w->weight_left)
                assert_true(best->unseen <= w->unseen);
        }
    }
    fixture_fini(&s);
}

static void a_ribbon_that_has_room_leaves_nothing(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    umbel_comparison c = compared(&s, 2600);
    const umbel_strategy *w = way_of(&c, "ribbon");
    assert_ok(w->status);
    assert_int_equal(w->lost, 0);
    assert_true(w->weight_left <= 0);
    assert_true(w->unseen < c.plain_unseen);
    assert_true(w->readers_change);
    assert_false(way_of(&c, "retouch")->readers_change);
    assert_true(way_of(&c, "retouch")->weight_left < c.plain_left);
    assert_true(way_of(&c, "groups")->weight_left < c.plain_left);
    assert_int_equal(way_of(&c, "groups")->lost, 0);
    assert_int_equal(way_of(&c, "groups")->probes,
                     2 * way_of(&c, "groups")->hashes);
    fixture_fini(&s);
}

/* Returns a filter of the shape that a strategy reports. */
static umbel_filter *like(const fixture *s, uint64_t cells, uint32_t hashes,
                          uint64_t keys)
{
    umbel_params p = s->params;

    p.cells = cells;
    p.hashes = hashes;
    p.capacity = keys ? keys : 1;
    return test_open(&p);
}

/*
 * Asserts that hits of n keys agree with p within five sigma. p may be measured
 * with 2^17 keys.
 */
static void assert_rate(double p, size_t hits, size_t n)
{
    double sigma = sqrt(p * (1 - p) * (1 / (double)n + 1 / 131072.0));
    assert_near((double)hits / (double)n, p, 5 * sigma);
}

static void what_retouching_comes_to_can_be_built_again(void **state)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_retouch_result bill;
    fixture s;

    (void)state;
    fixture_init(&s);
    umbel_comparison c = compared(&s, 2400);
    const umbel_strategy *w = way_of(&c, "retouch");
    umbel_filter *f = like(&s, w->cells, w->hashes, MEMBERS);
    test_add(f, 0, MEMBERS);
    assert_ok(
        umbel_retouch(f, &s.members, &s.never, &p, &bill, NULL, &test_refusal));
    assert_int_equal(umbel_encoded_len(f), w->bytes);
    assert_true(w->lost > 0);
    assert_int_equal(bill.lost, w->lost);
    assert_near(w->weight_left, bill.left_weight, 1e-9);
    assert_near(c.plain_left, bill.matched_weight, 1e-9);
    assert_rate(w->unseen, test_hits(f, MEMBERS + LISTED, OUTSIDE), OUTSIDE);
    umbel_close(f);
    fixture_fini(&s);
}

static size_t hits_unless(const fixture *s, const umbel_filter *f,
                          const umbel_filter *revoked, size_t from, size_t n)
{
    bool *hit = malloc(n);
    size_t sum = 0;

    assert_non_null(hit);
    assert_ok(umbel_query_unless(f, revoked, UMBEL_FILTER_FIRST,
                                 s->slices + from, n, hit, NULL,
                                 &test_refusal));
    for (size_t i = 0; i < n; i++)
        sum += hit[i];
    free(hit);
    return sum;
}

/*
 * Rebuilds a filter with exceptions. The list is sorted by weight: its first
 * matching keys are the heaviest.
 */
static void rebuild_exceptions(uint64_t bytes)
{
    size_t revoked = 0;
    double left = 0;
    fixture s;

    fixture_init(&s);
    umbel_comparison c = compared(&s, bytes);
    const umbel_strategy *w = way_of(&c, "anti-filter");
    assert_ok(w->status);
    umbel_filter *f = like(&s, w->cells, w->hashes, MEMBERS);
    umbel_filter *g =
        like(&s, w->second_cells, w->second_hashes, w->second_keys);
    test_add(f, 0, MEMBERS);
    for (size_t i = MEMBERS; i < MEMBERS + LISTED; i++)
        if (test_has(f, i)) {
            if (w->second_lines == 0 || revoked < w->second_lines)
                test_add(g, i, 1);
            revoked++;
        }
    assert_true(revoked >= w->second_keys);
    for (size_t i = MEMBERS; i < MEMBERS + LISTED; i++)
        if (test_has(f, i) && !test_has(g, i))
            left += s.weights[i - MEMBERS];
    assert_int_equal(umbel_encoded_len(f) + umbel_encoded_len(g), w->bytes);
    assert_int_equal(hits_unless(&s, f, g, 0, MEMBERS), MEMBERS);
    assert_int_equal(w->lost, 0);
    assert_near(w->weight_left, left, 1e-9);
    assert_true(w->weight_left < c.plain_left);
    assert_rate(w->unseen, hits_unless(&s, f, g, MEMBERS + LISTED, OUTSIDE),
                OUTSIDE);
    umbel_close(f);
    umbel_close(g);
    fixture_fini(&s);
}

static void what_exceptions_come_to_can_be_built_again(void **state)
{
    (void)state;
    rebuild_exceptions(5000);
    rebuild_exceptions(1600);
}

static void a_way_without_room_says_so_alone(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    umbel_comparison c = compared(&s, 130);
    assert_int_equal(way_of(&c, "anti-filter")->status, UMBEL_E_RANGE);
    assert_non_null(strstr(way_of(&c, "anti-filter")->reason.text, "130"));
    assert_ok(way_of(&c, "groups")->status);
    assert_ok(way_of(&c, "ribbon")->status);
    assert_int_equal(way_of(&c, "ribbon")->bytes, 128);
    assert_int_equal(way_of(&c, "ribbon")->lost, 0);
    assert_true(way_of(&c, "ribbon")->weight_left < c.weight);
    c = compared(&s, 10);
    assert_int_equal(c.best, c.n);
    assert_true(isnan(c.plain_left));
    for (size_t i = 0; i < c.n; i++) {
        assert_int_equal(c.way[i].status, UMBEL_E_RANGE);
        assert_true(strlen(c.way[i].reason.text) > 0);
    }
    fixture_fini(&s);
}

/*
 * Checks that the rows for classic equal the strategies run with that
 * addressing.
 */
static void ways_on_classic_are_those_of_that_addressing(void **state)
{
    static const char *const names[] = {"retouch", "groups", "anti-filter"};
    char name[32];
    fixture s;

    (void)state;
    fixture_init(&s);
    umbel_comparison c = compared(&s, 1600);
    s.params.addressing = "classic";
    umbel_comparison d = compared(&s, 1600);
    assert_int_equal(d.n, c.n - TEST_COUNT(names));
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        snprintf(name, sizeof name, "%s-classic", names[i]);
        const umbel_strategy *a = way_of(&c, name), *b = way_of(&d, names[i]);
        assert_string_equal(a->addressing, "classic");
        assert_null(b->addressing);
        assert_ok(a->status);
        assert_ok(b->status);
        assert_int_equal(a->bytes, b->bytes);
        assert_int_equal(a->lost, b->lost);
        assert_near(a->weight_left, b->weight_left, 0);
        assert_near(a->unseen, b->unseen, 0);
    }
    fixture_fini(&s);
}

/* It ignores the list, so the fraction left is its error. */
static void a_plain_ribbon_leaves_its_error(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    s.never.weights = NULL;
    umbel_comparison c = compared(&s, 1600);
    const umbel_strategy *w = way_of(&c, "ribbon-plain");
    assert_ok(w->status);
    assert_int_equal(w->lost, 0);
    assert_in_range(w->bytes, 1600 - 127, 1600);
    assert_near(w->weight_left, LISTED * w->unseen,
                5 * sqrt(LISTED * w->unseen * (1 - w->unseen)));
    assert_true(c.way[c.best].weight_left <= w->weight_left);
    fixture_fini(&s);
}

/*
 * For a list too long for groups the results are estimates, which are never
 * recommended.
 */
static void a_long_list_is_sampled_for_groups(void **state)
{
    enum { LONG = OUTSIDE };
    fixture s;

    (void)state;
    fixture_init(&s);
    s.never = (umbel_key_list)UMBEL_KEY_LIST(s.digests + MEMBERS, LONG);
    umbel_comparison c = compared(&s, 2400);
    const umbel_strategy *w = way_of(&c, "groups");
    assert_ok(w->status);
    assert_in_range(w->sample, 2, 4);
    assert_int_equal(w->next_bytes, 0);
    assert_int_equal(w->lost, 0);
    assert_in_range(w->bytes, 1, 2400);
    assert_true(w->weight_left > 1.5 * c.way[c.best].weight_left);
    assert_true(w->weight_left < c.plain_left);
    for (size_t i = 0; i < c.n; i++)
        if (!strstr(c.way[i].name, "groups"))
            assert_in_range(c.way[i].sample, 1, 1);
    assert_int_equal(c.way[c.best].sample, 1);
    umbel_choose_params p = UMBEL_CHOOSE_INIT;
    umbel_setting two = {"groups", 2};
    umbel_choose_result whole;
    s.params.settings = &two;
    s.params.nsettings = 1;
    umbel_filter *f = like(&s, w->cells, w->hashes, MEMBERS);
    assert_ok(umbel_choose(f, &s.members, &s.never, &p, &whole, &test_refusal));
    assert_true(w->weight_left * 1.5 > (double)test_hits(f, MEMBERS, LONG));
    assert_true(w->weight_left < 1.5 * (double)test_hits(f, MEMBERS, LONG));
    umbel_close(f);
    fixture_fini(&s);
}

/* With few members, even the smallest sample is too long. */
static void groups_that_would_take_minutes_are_left_out(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    s.members.n = 200;
    s.never = (umbel_key_list)UMBEL_KEY_LIST(s.digests + MEMBERS, OUTSIDE);
    umbel_comparison c = compared(&s, 500);
    const umbel_strategy *w = way_of(&c, "groups");
    assert_int_equal(w->status, UMBEL_E_LIMIT);
    assert_non_null(strstr(w->reason.text, "200 members are too few"));
    assert_ok(way_of(&c, "ribbon-plain")->status);
    fixture_fini(&s);
}

static void ribbons_do_not_hash_as_foreign_addressings(void **state)
{
    umbel_filter *f;
    fixture s;

    (void)state;
    fixture_init(&s);
    s.params.addressing = "universal";
    umbel_params p = s.params;
    p.capacity = 1;
    f = test_open(&p);
    assert_ok(umbel_digest_many(f, s.slices, MEMBERS + LISTED, s.digests,
                                &test_refusal));
    umbel_close(f);
    umbel_comparison c = compared(&s, 3000);
    assert_int_equal(way_of(&c, "ribbon")->status, UMBEL_E_UNSUPPORTED);
    assert_ok(way_of(&c, "retouch")->status);
    fixture_fini(&s);
}

static void a_key_listed_twice_weighs_twice_and_is_lost_once(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    umbel_digest *d = malloc(2 * MEMBERS * sizeof *d);
    assert_non_null(d);
    memcpy(d, s.digests, MEMBERS * sizeof *d);
    memcpy(d + MEMBERS, s.digests, MEMBERS * sizeof *d);
    s.members = (umbel_key_list)UMBEL_KEY_LIST(d, 2 * MEMBERS);
    umbel_comparison c = compared(&s, 2400);
    assert_int_equal(c.members, MEMBERS);
    assert_in_range(way_of(&c, "retouch")->lost, 1, MEMBERS / 100);
    s.members = (umbel_key_list)UMBEL_KEY_LIST(s.digests, MEMBERS);
    memcpy(d, s.never.digests, 100 * sizeof *d);
    memcpy(d + 100, s.never.digests, 100 * sizeof *d);
    s.never = (umbel_key_list)UMBEL_KEY_LIST(d, 200);
    c = compared(&s, 2400);
    assert_near(c.weight, 200, 0);
    free(d);
    fixture_fini(&s);
}

static umbel_status refusal(const fixture *s, uint64_t bytes)
{
    umbel_comparison c;
    return umbel_compare_strategies(&s->params, bytes, &s->members, &s->never,
                                    &c, &test_refusal);
}

static void bad_questions_are_refused(void **state)
{
    fixture s, t;

    (void)state;
    fixture_init(&s);
    t = s;
    t.members.n = MEMBERS + 2;
    assert_refused(refusal(&t, 2000), UMBEL_E_KEY, "2 of the keys");
    t = s;
    t.members.n = 0;
    assert_refused(refusal(&t, 2000), UMBEL_E_RANGE, "member");
    t = s;
    t.never.n = 0;
    assert_refused(refusal(&t, 2000), UMBEL_E_RANGE, "negatives");
    t = s;
    t.params.cells = 1000;
    assert_refused(refusal(&t, 2000), UMBEL_E_RANGE, "cells");
    t = s;
    t.params.fpr = 0.01;
    assert_refused(refusal(&t, 2000), UMBEL_E_RANGE, "not both");
    t = s;
    t.params.addressing = "nowhere";
    assert_refused(refusal(&t, 2000), UMBEL_E_UNKNOWN, "nowhere");
    s.weights[5] = -1;
    assert_refused(refusal(&s, 2000), UMBEL_E_RANGE, "weights are 0");
    s.weights[5] = NAN;
    assert_refused(refusal(&s, 2000), UMBEL_E_RANGE, "weights are 0");
    fixture_fini(&s);
}

/* An allocator that fails the n-th request, and counts live bytes. */
typedef struct scarce {
    size_t fail_at, asked, live;
} scarce;

static void *scarce_get(void *ctx, size_t align, size_t len)
{
    scarce *m = ctx;
    void *memory;

    if (++m->asked == m->fail_at || posix_memalign(&memory, align, len) != 0)
        return NULL;
    m->live += len;
    return memory;
}

static void scarce_put(void *ctx, void *memory, size_t len)
{
    ((scarce *)ctx)->live -= memory ? len : 0;
    free(memory);
}

static void any_allocation_may_fail(void **state)
{
    umbel_status status = UMBEL_E_NOMEM;
    size_t n = 0;
    fixture s;

    (void)state;
    fixture_init(&s);
    s.members.n = 200;
    s.never.n = 100;
    for (; status != UMBEL_OK; n++) {
        scarce m = {.fail_at = n + 1};
        umbel_alloc alloc = {&m, scarce_get, scarce_put};
        s.params.alloc = &alloc;
        status = refusal(&s, 900);
        if (status != UMBEL_OK)
            assert_refused(status, UMBEL_E_NOMEM, "memory");
        assert_int_equal(m.live, 0);
    }
    assert_true(n > 15);
    fixture_fini(&s);
}

TEST_GROUP(compare)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_way_takes_more_bytes_than_allowed),
        cmocka_unit_test(the_table_names_the_ways_in_their_order),
        cmocka_unit_test(without_bytes_a_plain_filter_sets_the_size),
        cmocka_unit_test(the_next_edition_is_measured),
        cmocka_unit_test(the_best_loses_no_member_and_leaves_the_least),
        cmocka_unit_test(a_ribbon_that_has_room_leaves_nothing),
        cmocka_unit_test(what_retouching_comes_to_can_be_built_again),
        cmocka_unit_test(what_exceptions_come_to_can_be_built_again),
        cmocka_unit_test(a_way_without_room_says_so_alone),
        cmocka_unit_test(ways_on_classic_are_those_of_that_addressing),
        cmocka_unit_test(a_plain_ribbon_leaves_its_error),
        cmocka_unit_test(a_long_list_is_sampled_for_groups),
        cmocka_unit_test(groups_that_would_take_minutes_are_left_out),
        cmocka_unit_test(ribbons_do_not_hash_as_foreign_addressings),
        cmocka_unit_test(a_key_listed_twice_weighs_twice_and_is_lost_once),
        cmocka_unit_test(bad_questions_are_refused),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
