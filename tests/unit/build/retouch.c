/*
 * retouch.c - retouching with lists in files, its curve, and the parameters
 * that methods use.
 */
#include "support/retouching.h"

#include "build/negatives.h"
#include "negatives/retouch/retouch.h"

#include <umbel/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 1000, OTHERS = 30000 };

/* A filter, and two lists in files. */
typedef struct fixture {
    char *dir, *paths[2];
    um_key_source members, never;
    um_retouch_job job;
    umbel_filter *f;
    um_retouched out;
} fixture;

static void write_list(const char *path, uint64_t from, size_t n)
{
    char *text = test_keys(from, n), *lines = malloc(n * 11 + 1);

    assert_non_null(lines);
    for (size_t i = 0; i < n; i++) {
        memcpy(lines + 11 * i, text + TEST_KEY_LEN * i, TEST_KEY_LEN);
        lines[11 * i + TEST_KEY_LEN] = '\n';
    }
    test_write_file(path, lines, 11 * n);
    free(lines);
    free(text);
}

static void fixture_init(fixture *s)
{
    umbel_params p = test_classic(8000, 5, 3);

    *s = (fixture){.dir = test_dir_make()};
    s->paths[0] = test_path(s->dir, "members");
    s->paths[1] = test_path(s->dir, "never");
    s->members = (um_key_source){
        .paths = (const char *const *)&s->paths[0], .npaths = 1, .threads = 1};
    s->never = (um_key_source){
        .paths = (const char *const *)&s->paths[1], .npaths = 1, .threads = 1};
    s->job = (um_retouch_job){.members = &s->members,
                              .never = &s->never,
                              .params = UMBEL_RETOUCH_INIT};
    s->f = test_open(&p);
    test_add(s->f, 0, MEMBERS);
    write_list(s->paths[0], 0, MEMBERS);
    write_list(s->paths[1], MEMBERS, OTHERS);
}

static void fixture_fini(fixture *s)
{
    um_retouched_fini(&s->out);
    umbel_close(s->f);
    free(s->paths[0]);
    free(s->paths[1]);
    test_dir_remove(s->dir);
}

static void run(fixture *s)
{
    assert_ok(um_retouch_read(s->f, &s->job, &s->out, &test_refusal));
    assert_ok(um_retouch_run_lists(s->f, &s->job, &s->out, &test_refusal));
}

static void lists_are_read_and_the_lost_are_named(void **state)
{
    fixture s;
    size_t lost = 0;

    (void)state;
    fixture_init(&s);
    s.job.find_lost = true;
    run(&s);
    assert_int_equal(s.out.members.n, MEMBERS);
    assert_int_equal(s.out.never.n, OTHERS);
    for (size_t i = 0; i < MEMBERS; i++) {
        umbel_slice line = um_key_list_line(&s.out.members, i);
        char key[TEST_KEY_LEN];
        test_key(i, key);
        assert_int_equal(line.len, TEST_KEY_LEN);
        assert_memory_equal(line.data, key, TEST_KEY_LEN);
        assert_int_equal(s.out.lost[i], !test_has(s.f, i));
        lost += s.out.lost[i];
    }
    assert_int_equal(lost, s.out.result.lost);
    assert_int_equal(s.out.curve.n + s.out.more.n, 0);
    fixture_fini(&s);
}

static void the_curve_ends_at_the_result(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    s.job.record = true;
    s.job.params.method = "ratio";
    s.job.params.max_fn = 1;
    run(&s);
    const um_curve *c = &s.out.curve;
    const umbel_retouch_result *r = &s.out.result;
    assert_true(c->n > 1);
    for (size_t i = 1; i < c->n; i++)
        assert_true(c->steps[i].removed > c->steps[i - 1].removed);
    assert_int_equal(c->steps[c->n - 1].removed, r->removed);
    assert_int_equal(c->steps[c->n - 1].lost, r->lost);
    assert_true(um_weight_left(r, &c->steps[c->n - 1]) == 0);
    assert_int_equal(um_curve_at(c, r->lost).removed, r->removed);
    assert_int_equal(um_curve_at(c, c->steps[0].lost - 1).removed, 0);
    fixture_fini(&s);
}

/*
 * Exploring loses the same members for the same keys, but continues to the end.
 */
static void exploring_changes_nothing_and_goes_to_the_end(void **state)
{
    fixture s, t;

    (void)state;
    fixture_init(&s);
    fixture_init(&t);
    t.job.explore = true;
    run(&s);
    run(&t);
    test_assert_same_file(s.f, t.f);
    const um_curve *more = &t.out.more;
    assert_true(t.out.result.left > 0);
    assert_int_equal(more->steps[more->n - 1].removed, t.out.result.matched);
    assert_true(more->steps[more->n - 1].lost > t.out.result.lost);
    fixture_fini(&t);
    fixture_fini(&s);
}

static void nothing_is_explored_when_no_key_is_left(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    s.job.explore = true;
    s.job.params.max_fn = 1;
    run(&s);
    assert_int_equal(s.out.result.left, 0);
    assert_int_equal(s.out.more.n, 0);
    fixture_fini(&s);
}

static bool stop_at_once(void *ctx, const umbel_retouch_step *step)
{
    size_t *calls = ctx;

    (void)step;
    ++*calls;
    return false;
}

static void a_watcher_stops_it_with_a_curve_too(void **state)
{
    size_t calls = 0;
    fixture s;

    (void)state;
    fixture_init(&s);
    s.job.record = true;
    s.job.params.watch = stop_at_once;
    s.job.params.ctx = &calls;
    run(&s);
    assert_true(s.out.result.stopped);
    assert_int_equal(calls, 1);
    fixture_fini(&s);
}

static void refuse_members(fixture *s, const char *words)
{
    assert_refused(um_retouch_read(s->f, &s->job, &s->out, &test_refusal),
                   UMBEL_E_KEY, words);
    um_retouched_fini(&s->out);
}

static void members_in_never_are_refused_by_name(void **state)
{
    fixture s;
    char key[TEST_KEY_LEN + 1] = "", text[2 * 11 + 1], words[80];

    (void)state;
    fixture_init(&s);
    test_key(7, key);
    snprintf(text, sizeof text, "%s\n%s\n", key, key);
    test_write_file(s.paths[1], text, strlen(text));
    snprintf(words, sizeof words, "is a member, which always matches: %s;",
             key);
    refuse_members(&s, words);
    write_list(s.paths[1], MEMBERS - 5, 10);
    refuse_members(&s, "5 keys of --never are members");
    refuse_members(&s, ", ...;");

    s.job.params.allow_members = true;
    s.job.params.max_fn = 1;
    run(&s);
    assert_int_equal(test_hits(s.f, MEMBERS - 5, 10), 0);
    fixture_fini(&s);
}

static void other_members_are_refused(void **state)
{
    fixture s;

    (void)state;
    fixture_init(&s);
    write_list(s.paths[0], 0, MEMBERS / 2);
    assert_ok(um_retouch_read(s.f, &s.job, &s.out, &test_refusal));
    assert_refused(um_retouch_run_lists(s.f, &s.job, &s.out, &test_refusal),
                   UMBEL_E_MISMATCH, "only 500 members");
    fixture_fini(&s);
}

/* --- the parameters that methods use ----------------------------------------
 */

static void set_param(umbel_retouch_params *p, unsigned param)
{
    p->moves = param == UM_USES_MOVES ? 40 : 0;
    p->seconds = param == UM_USES_SECONDS ? 1e-6 : 0;
    p->closure = param == UM_USES_CLOSURE;
    p->count_outside = param == UM_USES_OUTSIDE;
    p->seed = param == UM_USES_SEED ? 77 : 0;
}

/* Returns a checksum of the cells after a method ran. */
static uint64_t retouched(test_fixture *s, const umbel_retouch_params *p)
{
    umbel_retouch_result result;

    test_fixture_again(s);
    assert_ok(umbel_retouch(s->f, &s->members, &s->never, p, &result, NULL,
                            &test_refusal));
    return umbel_payload_checksum(s->f);
}

/* Keys are ordered by weight, so the only randomness is what a method draws. */
static void a_method_uses_what_its_row_says_and_nothing_else(void **state)
{
    static const unsigned params[] = {UM_USES_MOVES, UM_USES_SECONDS,
                                      UM_USES_CLOSURE, UM_USES_OUTSIDE,
                                      UM_USES_SEED};
    umbel_params shape = test_classic(4000, 5, 3);
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    test_fixture s;

    (void)state;
    test_fixture_init(&s, &shape, 400, 20000, 0);
    p.max_fn = 1;
    p.beta = 0.3;
    p.heaviest = true;
    for (size_t i = 0; umbel_retouch_method_at(i, &p.method, NULL); i++) {
        set_param(&p, 0);
        uint64_t plain = retouched(&s, &p);
        for (size_t j = 0; j < TEST_COUNT(params); j++) {
            set_param(&p, params[j]);
            bool uses = um_method_uses(p.method, params[j]);
            if ((retouched(&s, &p) != plain) != uses)
                fail_msg("%s and parameter %#x", p.method, params[j]);
        }
    }
    assert_false(um_method_uses("no-such-method", UM_USES_MOVES));
    assert_true(um_method_uses(NULL, UM_USES_OUTSIDE));
    test_fixture_fini(&s);
}

TEST_GROUP(retouch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_and_the_lost_are_named),
        cmocka_unit_test(the_curve_ends_at_the_result),
        cmocka_unit_test(exploring_changes_nothing_and_goes_to_the_end),
        cmocka_unit_test(nothing_is_explored_when_no_key_is_left),
        cmocka_unit_test(a_watcher_stops_it_with_a_curve_too),
        cmocka_unit_test(members_in_never_are_refused_by_name),
        cmocka_unit_test(other_members_are_refused),
        cmocka_unit_test(a_method_uses_what_its_row_says_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
