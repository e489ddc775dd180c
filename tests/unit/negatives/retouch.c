/* retouch.c - removed keys, lost members, and the reported result. */
#include "support/retouching.h"

#include "filter/handle.h"

#include <math.h>
#include <stdlib.h>

/*
 * Removes everything: greedy methods must lose no more members than the others.
 */
static void check_method(test_fixture *s, const char *method)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;

    p.method = method;
    p.max_fn = 1;
    p.moves = strcmp(method, "anneal") == 0 ? 20000 : 0;
    test_fixture_again(s);
    umbel_retouch_result b = test_retouch(s, &p);
    test_check_bill(s, &b);
    assert_true(b.matched > 20);
    assert_int_equal(b.left, 0);

    p.max_fn = 0.02;
    p.closure = true;
    p.beta = 0.5;
    p.count_outside = true;
    test_fixture_again(s);
    b = test_retouch(s, &p);
    test_check_bill(s, &b);
    assert_true(b.lost <= b.members / 50);

    p.max_fn = 1;
    p.cost = 1;
    test_fixture_again(s);
    b = test_retouch(s, &p);
    test_check_bill(s, &b);
}

static void check_addressing(const test_combo *c)
{
    umbel_params p = test_combo_params(c);
    const char *method;
    test_fixture s;

    p.capacity = 500;
    p.fpr = 0.05;
    test_fixture_init(&s, &p, 500, 2000, 1);
    for (size_t i = 0; umbel_retouch_method_at(i, &method, NULL); i++)
        check_method(&s, method);
    test_fixture_fini(&s);
}

static void every_method_keeps_its_word_on_every_addressing(void **state)
{
    (void)state;
    test_combo c;
    size_t tried = 0;

    for (size_t i = 0; test_combo_at(i, &c); i++)
        if (strcmp(c.kind, "bloom") == 0) {
            check_addressing(&c);
            tried++;
        }
    assert_true(tried >= 6);
}

/*
 * Returns the minimum number of lost members, by trying all sets of those kept.
 */
static size_t optimum(const test_fixture *s)
{
    uint64_t bits = umbel_cells(s->f);
    uint64_t pos[64], member[16], key[512];
    size_t nkeys = 0, least = s->members.n;
    bool hit[512];

    assert_true(bits <= 64 && s->members.n <= 16 && s->never.n <= 512);
    test_hits_of(s->before, &s->never, hit);
    for (size_t i = 0; i < s->members.n + s->never.n; i++) {
        uint64_t mask = 0;
        s->f->layout.row->positions(&s->f->layout, &s->digests[i], 1, pos);
        for (uint32_t j = 0; j < umbel_hashes(s->f); j++)
            mask |= (uint64_t)1 << pos[j];
        if (i < s->members.n)
            member[i] = mask;
        else if (hit[i - s->members.n])
            key[nkeys++] = mask;
    }
    for (size_t set = 0; set < (size_t)1 << s->members.n; set++) {
        uint64_t filter = 0;
        bool fine = true;
        size_t lost = 0;
        for (size_t i = 0; i < s->members.n; i++)
            filter |= set >> i & 1 ? member[i] : 0;
        for (size_t i = 0; i < s->members.n; i++)
            lost += (member[i] & ~filter) != 0;
        for (size_t i = 0; fine && i < nkeys; i++)
            fine = (key[i] & ~filter) != 0;
        if (fine && lost < least)
            least = lost;
    }
    return least;
}

static void no_method_beats_the_optimum_and_annealing_finds_it(void **state)
{
    (void)state;
    enum { TRIES = 60 };
    size_t equal = 0, greedy_more = 0, anneal_more = 0;

    for (uint64_t i = 0; i < TRIES; i++) {
        umbel_retouch_params p = UMBEL_RETOUCH_INIT;
        umbel_params shape = test_classic(60, 3, i + 1);
        test_fixture s;
        test_fixture_init(&s, &shape, 12, 300, i * 1000);
        size_t best = optimum(&s);
        p.max_fn = 1;
        umbel_retouch_result greedy = test_retouch(&s, &p);
        assert_int_equal(greedy.left, 0);
        test_fixture_again(&s);
        p.method = "anneal";
        p.moves = 20000;
        umbel_retouch_result anneal = test_retouch(&s, &p);
        assert_int_equal(anneal.left, 0);
        assert_true(greedy.lost >= best);
        assert_true(anneal.lost >= best);
        assert_true(anneal.lost <= greedy.lost);
        equal += anneal.lost == best;
        greedy_more += greedy.lost - best;
        anneal_more += anneal.lost - best;
        test_fixture_fini(&s);
    }
    assert_true(equal >= TRIES * 9 / 10);
    assert_true(anneal_more <= greedy_more);
}

/* The figures of the paper and of ours, at a fifth of the size. */
enum { RUNS = 5, N = 2000, UNIVERSE = 400000, BITS = 20000 };

static void consume_false_positives(test_fixture *s)
{
    bool *hit = malloc(s->never.n + 1);
    umbel_digest *d = s->digests + s->members.n;
    size_t n = 0;

    assert_non_null(hit);
    test_hits_of(s->before, &s->never, hit);
    for (size_t i = 0; i < s->never.n; i++)
        if (hit[i])
            d[n++] = d[i];
    s->never.n = n;
    free(hit);
}

typedef struct figure {
    const char *method;
    double beta;
    double low, high; /* of chi; if equal, within five sigma of it */
} figure;

static const figure figures[] = {
    {"random", 1, 1.36, 1.36},        {"min-fn", 1, 1.56, 1.56},
    {"max-fp", 1, 1.60, 1.60},        {"ratio", 1, 1.79, 1.79},
    {"ratio", 0.1, 2.40, 2.40},       {"max-fp", 0.1, 2.06, 2.06},
    {"min-fn", 0.1, 1.76, 1.76},      {"random", 0.1, 1.41, 1.41},
    {"ratio-tracked", 1, 2.45, 2.65}, {"greedy", 1, 3.05, 4.13},
    {"greedy", 0.01, 4.8, 9},         {"anneal", 1, 3.35, 4.13},
};

enum { NFIGURES = sizeof figures / sizeof figures[0] };

static double chi_of(test_fixture *s, const figure *f, uint64_t seed)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;

    p.method = f->method;
    p.beta = f->beta;
    p.max_fn = 1;
    p.count_outside = strcmp(f->method, "greedy") != 0;
    p.moves = 1000000;
    p.seed = seed;
    test_fixture_again(s);
    umbel_retouch_result b = test_retouch(s, &p);
    assert_int_equal(b.left, 0);
    return b.chi;
}

static void figures_of_the_papers_and_ours(void **state)
{
    (void)state;
    test_spread spread[NFIGURES] = {{0}};

    for (uint64_t run = 0; run < RUNS; run++) {
        umbel_params p = test_classic(BITS, 5, run + 1);
        test_fixture s;
        test_fixture_init(&s, &p, N, UNIVERSE, 0);
        consume_false_positives(&s);
        for (size_t i = 0; i < NFIGURES; i++)
            test_spread_add(&spread[i], chi_of(&s, &figures[i], run));
        test_fixture_fini(&s);
    }
    for (size_t i = 0; i < NFIGURES; i++) {
        const figure *f = &figures[i];
        double sigma = sqrt(test_variance(&spread[i]) / RUNS);
        if (f->low == f->high) {
            /*
             * The figure is rounded to 0.01, and five runs estimate sigma
             * poorly.
             */
            assert_near(spread[i].mean, f->low, 5 * sigma + 0.02);
        } else {
            assert_true(spread[i].mean > f->low);
            assert_true(spread[i].mean < f->high);
        }
    }
}

/* Section III of 2006: clearing random bits removes as much as it loses. */
static void random_bits_trade_one_for_one(void **state)
{
    (void)state;
    test_spread chi = {0};

    for (uint64_t run = 0; run < 10; run++) {
        umbel_retouch_params p = UMBEL_RETOUCH_INIT;
        umbel_params shape = test_classic(BITS, 5, run + 1);
        test_fixture s;
        test_fixture_init(&s, &shape, N, UNIVERSE / 4, 0);
        p.method = "random-bits";
        p.max_fn = 1;
        p.moves = 500;
        p.seed = run;
        umbel_retouch_result b = test_retouch(&s, &p);
        assert_int_equal(b.bits_cleared, 500);
        test_spread_add(&chi, b.chi);
        test_fixture_fini(&s);
    }
    double sigma = sqrt(test_variance(&chi) / 10);
    assert_near(chi.mean, 1, 5 * sigma);
    assert_true(sigma < 0.05);
}

static void heavy_keys_go_first(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(BITS, 5, 3);
    double weights[N * 2];
    test_fixture s;

    test_fixture_init(&s, &shape, N, N * 200, 0);
    consume_false_positives(&s);
    assert_in_range(s.never.n, 1000, N * 2);
    for (size_t i = 0; i < s.never.n; i++)
        weights[i] = i % 100 == 0 ? 1000.5 : 1;
    s.never.weights = weights;
    p.max_fn = 0.05;
    umbel_retouch_result b = test_retouch(&s, &p);
    test_check_bill(&s, &b);
    bool *hit = malloc(s.never.n);
    assert_non_null(hit);
    test_hits_of(s.f, &s.never, hit);
    for (size_t i = 0; i < s.never.n; i += 100)
        assert_false(hit[i]);
    assert_true(b.left > 0);
    assert_near(b.left_weight, (double)b.left, 1e-6);
    free(hit);
    test_fixture_fini(&s);
}

/* Theory (2006, section III): random bits lose as large a share of the members
 * as of the false positives. Going on with bits that cost nothing would remove
 * four times as many. */
static void random_bits_stop_at_the_budget(void **state)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(BITS, 5, 3);
    test_fixture s;

    (void)state;
    test_fixture_init(&s, &shape, N, N * 200, 0);
    consume_false_positives(&s);
    p.method = "random-bits";
    p.max_fn = 0.05;
    umbel_retouch_result b = test_retouch(&s, &p);
    test_check_bill(&s, &b);
    assert_in_range(b.lost, N / 20 - N / 100, N / 20);
    if (b.chi < 0.7 || b.chi > 1.4)
        fail_msg("chi %g", b.chi);
    test_fixture_fini(&s);
}

static void dear_members_stay(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(4000, 5, 3);
    double weights[400];
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    p.max_fn = 1;
    umbel_retouch_result plain = test_retouch(&s, &p);
    size_t odd = 0, odd_now = 0;
    for (size_t i = 1; i < 400; i += 2)
        odd += s.lost[i];
    for (size_t i = 0; i < 400; i++)
        weights[i] = i % 2 ? 1000 : 1;
    s.members.weights = weights;
    test_fixture_again(&s);
    umbel_retouch_result b = test_retouch(&s, &p);
    for (size_t i = 1; i < 400; i += 2)
        odd_now += s.lost[i];
    assert_int_equal(b.left, 0);
    assert_true(plain.lost > 20);
    assert_true(odd_now * 2 < odd); /* some keys have only dear bits */
    assert_near(b.lost_weight, (double)(odd_now * 1000 + b.lost - odd_now),
                1e-6);
    test_fixture_fini(&s);
}

/* Checks that with a cost limit of L at most L times the gain is lost. */
static void cost_bounds_the_price(void **state)
{
    (void)state;
    umbel_params shape = test_classic(BITS, 5, 3);
    uint64_t lost = 0;
    test_fixture s;

    test_fixture_init(&s, &shape, N, UNIVERSE, 0);
    for (double cost = 0.1; cost < 1.3; cost += 0.3) {
        umbel_retouch_params p = UMBEL_RETOUCH_INIT;
        p.cost = cost;
        test_fixture_again(&s);
        umbel_retouch_result b = test_retouch(&s, &p);
        test_check_bill(&s, &b);
        assert_true((double)b.lost <= cost * (double)b.removed);
        assert_true(b.lost >= lost);
        lost = b.lost;
    }
    assert_true(lost > 0);
    test_fixture_fini(&s);
}

typedef struct stopper {
    uint64_t calls, stop_at;
    umbel_retouch_step last;
} stopper;

static bool count_calls(void *ctx, const umbel_retouch_step *step)
{
    stopper *s = ctx;

    s->last = *step;
    return ++s->calls < s->stop_at;
}

static void stopped_runs_leave_what_they_reached(void **state)
{
    (void)state;
    static const char *const methods[] = {"greedy", "ratio", "ratio-tracked",
                                          "random-bits", "anneal"};
    umbel_params shape = test_classic(4000, 5, 3);
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    for (size_t i = 0; i < TEST_COUNT(methods); i++)
        for (uint64_t at = 1; at < 200; at += 40) {
            stopper stop = {.stop_at = at};
            umbel_retouch_params p = UMBEL_RETOUCH_INIT;
            p.method = methods[i];
            p.max_fn = 1;
            p.moves = strcmp(methods[i], "anneal") == 0 ? 1 << 24 : 0;
            p.watch = count_calls;
            p.ctx = &stop;
            test_fixture_again(&s);
            umbel_retouch_result b = test_retouch(&s, &p);
            test_check_bill(&s, &b);
            assert_true(at > 1 || b.stopped);
            assert_int_equal(b.stopped, stop.calls == at);
            /* A stopped annealing is no worse than greedy. */
            if (strcmp(methods[i], "anneal") == 0)
                assert_int_equal(b.left, 0);
        }
    test_fixture_fini(&s);
}

static void annealing_for_a_time_ends(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(4000, 5, 3);
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    p.method = "anneal";
    p.max_fn = 1;
    p.seconds = 0.01;
    umbel_retouch_result b = test_retouch(&s, &p);
    test_check_bill(&s, &b);
    assert_int_equal(b.left, 0);
    test_fixture_fini(&s);
}

static void same_seed_same_bits(void **state)
{
    (void)state;
    umbel_params shape = test_classic(4000, 5, 3);
    const char *method;
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    for (size_t i = 0; umbel_retouch_method_at(i, &method, NULL); i++) {
        umbel_retouch_params p = UMBEL_RETOUCH_INIT;
        umbel_filter *first;
        p.method = method;
        p.max_fn = 0.5;
        p.moves = 5000;
        p.beta = 0.3;
        p.seed = 9;
        test_fixture_again(&s);
        test_retouch(&s, &p);
        assert_ok(umbel_copy(s.f, &first, &test_refusal));
        test_fixture_again(&s);
        test_retouch(&s, &p);
        test_assert_same_file(first, s.f);
        umbel_close(first);
    }
    test_fixture_fini(&s);
}

TEST_GROUP(retouch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_keeps_its_word_on_every_addressing),
        cmocka_unit_test(no_method_beats_the_optimum_and_annealing_finds_it),
        cmocka_unit_test(figures_of_the_papers_and_ours),
        cmocka_unit_test(random_bits_trade_one_for_one),
        cmocka_unit_test(heavy_keys_go_first),
        cmocka_unit_test(random_bits_stop_at_the_budget),
        cmocka_unit_test(dear_members_stay),
        cmocka_unit_test(cost_bounds_the_price),
        cmocka_unit_test(stopped_runs_leave_what_they_reached),
        cmocka_unit_test(annealing_for_a_time_ends),
        cmocka_unit_test(same_seed_same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
