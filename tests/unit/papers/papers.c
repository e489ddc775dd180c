/* papers.c - the framework of reproductions: rounds, tests, expected values. */
#include "support/test.h"

#include "base/error.h"
#include "papers/frame/expected.h"
#include "papers/frame/paper.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* --- numbers ---------------------------------------------------------------
 */

static void means_carry_their_error(void **state)
{
    static const double x[] = {1, 9, 2, 9, 3, 9, 4, 9}; /* every other one */
    um_mean m = um_mean_of(x, 4, 2);

    (void)state;
    assert_near(m.value, 2.5, 1e-12);
    assert_near(m.sd, sqrt(5.0 / 3), 1e-12);
    assert_near(m.error, sqrt(5.0 / 12), 1e-12);
    assert_true(isnan(um_mean_of(x, 1, 1).error));
    assert_true(isnan(um_mean_of(x, 0, 1).value));
}

static void z_is_the_distance_in_joint_errors(void **state)
{
    (void)state;
    assert_near(um_z(1.5, 0.3, 1, 0.4), 1, 1e-12);
    assert_near(um_z(1, 0.3, 1.5, 0.4), -1, 1e-12);
    assert_true(um_z(2, 0, 2, 0) == 0);
    assert_true(isinf(um_z(3, 0, 2, 0)));
}

static void poisson_sums_are_exact(void **state)
{
    static const double means[] = {0.01, 0.5, 3, 19.5, 400};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(means); i++) {
        double term = exp(-means[i]), sum = 0;
        for (int k = 0; k < 1000; k++) {
            sum += term;
            assert_near(um_poisson_cdf(k, means[i]), sum, 1e-11);
            term *= means[i] / (k + 1);
        }
    }
    assert_true(um_poisson_cdf(-1, 3) == 0);
    assert_true(um_poisson_cdf(0, 0) == 1);
}

/* By hand: P(X = 0 | 10.5) is 2.7536e-5, and twice that exceeds 2.7e-5. */
static void rare_events_pass_up_to_the_level(void **state)
{
    double low, high;

    (void)state;
    assert_near(um_poisson_test(0, 10.5), 2 * exp(-10.5), 1e-15);
    assert_near(um_poisson_test(3, 3), 1, 1e-12);
    um_poisson_accept(10.5, 2.7e-5, &low, &high);
    assert_true(low == 0);
    um_poisson_accept(11.3, 2.7e-5, &low, &high); /* 2 exp(-11.3) < 2.7e-5 */
    assert_true(low == 1);
    assert_true(um_poisson_test(high, 11.3) >= 2.7e-5);
    assert_true(um_poisson_test(high + 1, 11.3) < 2.7e-5);
}

/*
 * By hand: 16 events against none have probability 2 / 2^16 = 3.05e-5, 17 half
 * of that.
 */
static void two_rare_counts_are_compared(void **state)
{
    double low, high;

    (void)state;
    assert_near(um_poisson_pair_test(16, 0, 1), 2 / 65536., 1e-12);
    um_poisson_pair_accept(0, 1, 2.7e-5, &low, &high);
    assert_true(low == 0 && high == 16);
    /* Of 4 events in all, 3 or fewer are in ten elevenths of the time. */
    assert_near(um_poisson_pair_test(3, 1, 10), 2 * (1 - pow(10 / 11., 4)),
                1e-12);
    assert_near(um_poisson_pair_test(5, 5, 1), 1, 1e-12);
    um_poisson_pair_accept(15, 0.1, 2.7e-5, &low, &high);
    assert_true(low == 0);
    assert_true(um_poisson_pair_test(high, 15, 0.1) >= 2.7e-5);
    assert_true(um_poisson_pair_test(high + 1, 15, 0.1) < 2.7e-5);
}

/* By hand: of 6 events in all, the one of the sort is in either half of them.
 */
static void two_shares_are_compared(void **state)
{
    double low, high;

    (void)state;
    assert_near(um_share_test(1, 3, 0, 3), 1, 1e-12);
    assert_near(um_share_test(3, 3, 0, 3), 2. / 20, 1e-12); /* 1 of C(6, 3) */
    assert_near(um_share_test(0, 3, 3, 3), 2. / 20, 1e-12);
    um_share_accept(26, 76, 260, 2.7e-5, &low, &high);
    assert_true(low == 0 && high < 26);
    assert_true(um_share_test(high, 26, 76, 260) >= 2.7e-5);
    assert_true(um_share_test(high + 1, 26, 76, 260) < 2.7e-5);
    um_share_accept(0, 0, 0, 2.7e-5, &low, &high);
    assert_true(low == 0 && high == 0);
}

/* From a table of t: 2.093 for 19 degrees of freedom, 2.306 for 8. */
static void single_numbers_spread_by_student(void **state)
{
    um_mean m = {.n = 20, .value = 7, .sd = 2};

    (void)state;
    assert_near(um_single_spread(&m), 2.093 * 2 * sqrt(1.05), 0.005);
    m.n = 9;
    assert_near(um_single_spread(&m), 2.306 * 2 * sqrt(10. / 9), 0.02);
    m = (um_mean){.n = 1, .sd = NAN};
    assert_true(isnan(um_single_spread(&m)));
}

/* --- expected values -------------------------------------------------------
 */

static const char sheet[] =
    "# a comment, with commas\n"
    "item,paper,reference,sd,rounds,slack,low,high,mark,note\n"
    "joint,,2,0.3,9,0.1,,,,\n"
    "\"a, \"\"quoted\"\" one\",4,,,,0.5,,,fitted,\"with, comma\"\n"
    "\n"
    "bar,7,,,,,,9,timed,\n"
    "printed,2.019e-2,,1.734e-3,1000,,,,,\n"
    "marks,0.98,,,,0.05,,,share errata,\n"
    "below,0.02,,,,0.05,,,signed,\n"
    "zero,0,,,,0.05,,,,\n"
    "short,1,2\n"
    "bad number,x,,,,,,,,\n"
    "bad mark,1,,,,,,,differs,\n"
    "long,1,,,,,,,,note,more\n";

static void rows_of_expected_values_are_read(void **state)
{
    um_expected e;

    (void)state;
    assert_true(um_expected_find(sheet, "a, \"quoted\" one", &e));
    assert_near(e.paper, 4, 0);
    assert_true(isnan(e.reference) && isnan(e.low) && e.fitted && !e.timed);
    assert_string_equal(e.note, "with, comma");
    assert_true(um_expected_find(sheet, "bar", &e));
    assert_true(e.timed && !e.fitted);
    assert_true(um_expected_find(sheet, "marks", &e));
    assert_true(e.share && e.errata && !e.is_signed && !e.timed);
    assert_false(um_expected_find(sheet, "absent", &e));
    assert_false(um_expected_find(NULL, "joint", &e));
}

static void rows_that_cannot_be_read_are_found_by_no_item(void **state)
{
    static const char *const bad[] = {"short", "bad number", "bad mark",
                                      "long"};
    const char *text = sheet;
    um_expected e;
    size_t lines = 0;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_false(um_expected_find(sheet, bad[i], &e));
    while (um_expected_next(&text, &e))
        lines += strncmp(e.item, "line ", 5) == 0;
    assert_int_equal(lines, TEST_COUNT(bad));
}

static void bars_of_rounding_end_where_values_end(void **state)
{
    static const struct {
        const char *item;
        double low, high;
    } rows[] = {{"marks", 0.93, 1}, {"below", -0.03, 0.07}, {"zero", 0, 0.05}};
    um_expected e;
    double low, high;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        assert_true(um_expected_find(sheet, rows[i].item, &e));
        um_expected_bar(&e, NAN, 16, 0, &low, &high);
        assert_near(low, rows[i].low, 1e-12);
        assert_near(high, rows[i].high, 1e-12);
    }
}

/* An interval with impossible values fails; with few rounds it is weak. Where
 * the paper contradicts itself, a value outside fails nothing. */
static void bars_of_impossible_values_are_refused(void **state)
{
    static const um_check checks[] = {
        {.item = "rate", .ours = 1, .low = -0.1, .high = 1.1},
        {.item = "share", .ours = 0.9, .low = 0.8, .high = 1.1, .share = true},
        {.item = "gain", .ours = 1, .low = 0.8, .high = 1.1},
        {.item = "rise", .ours = 1, .low = -1, .high = 1.1, .is_signed = true},
        {.item = "most", .ours = 1, .low = -INFINITY, .high = 1.1},
        {.item = "sum", .ours = 1, .low = 2, .high = 3, .errata = true},
        {.item = "f_p, %",
         .ours = 99,
         .low = 98,
         .high = 101,
         .percent = true}};

    (void)state;
    for (int few = 0; few < 2; few++) {
        um_record r = {.few = few};
        for (size_t i = 0; i < TEST_COUNT(checks); i++)
            um_record_check(&r, checks[i]);
        for (size_t i = 0; i < 2; i++)
            assert_true(r.check[i].impossible && r.check[i].weak &&
                        r.check[i].pass == few);
        for (size_t i = 2; i < 5; i++)
            assert_true(!r.check[i].impossible && r.check[i].pass);
        um_verdicts v = um_record_verdicts(&r);
        assert_true(r.check[6].impossible);
        assert_int_equal(v.failed, few ? 0 : 3);
        assert_int_equal(v.errata, 1);
        um_record_fini(&r);
    }
}

static const um_paper *real; /* the study that two_rounds shortens */

/* Runs two rounds, and repeats their numbers. */
static umbel_status two_rounds(um_round *r, double *out, umbel_error *err)
{
    size_t width = real->width;

    if (r->index < 2)
        return real->round(r, out, err);
    memcpy(out, r->study->numbers + r->index % 2 * width, width * sizeof *out);
    return UMBEL_OK;
}

/* Returns true if an interval contains 1, or 100 %, and its row does not say
 * whether values above that are possible. */
static bool lacks_limit(const um_check *c)
{
    double limit = strchr(c->item, '%') ? 100 : 1;

    return !c->share && !c->percent && !c->ratio && c->low > 0 &&
           c->low < limit && c->high > limit && isfinite(c->high);
}

/*
 * Every interval of every study, as wide as the default number of rounds makes
 * it. Four studies take long for a round; tools/test-long runs them. With a
 * sanitizer all of them would.
 */
static void no_bar_has_impossible_values(void **state)
{
    static const char *const slow[] = {"rbf-case-study", "rbf-ours",
                                       "survey-table1", "forgeries"};
    size_t bad = 0;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return;
#endif
    for (size_t i = 0; (real = um_paper_row(i)); i++) {
        bool skip = false;
        for (size_t j = 0; j < TEST_COUNT(slow); j++)
            skip |= strcmp(real->name, slow[j]) == 0;
        if (skip)
            continue;
        um_paper row = *real;
        row.round = two_rounds;
        um_study s = {
            .paper = &row, .rounds = real->rounds, .seed = 1, .threads = 1};
        assert_ok(um_study_run(&s, &test_refusal));
        for (size_t j = 0; j < s.record.nchecks; j++) {
            const um_check *c = &s.record.check[j];
            if (!c->impossible && !lacks_limit(c))
                continue;
            print_error("%s: %s: %g to %g\n", real->name, c->item, c->low,
                        c->high);
            bad++;
        }
        um_study_fini(&s);
    }
    assert_int_equal(bad, 0);
}

static void bars_span_five_joint_errors_and_the_slack(void **state)
{
    um_expected e;
    double low, high;

    (void)state;
    assert_true(um_expected_find(sheet, "joint", &e));
    um_expected_bar(&e, NAN, 16, 0, &low, &high);
    double width = 0.1 + 5 * hypot(0.3 / 3, 0.3 / 4);
    assert_near(low, 2 - width, 1e-12);
    assert_near(high, 2 + width, 1e-12);
    assert_true(um_expected_find(sheet, "a, \"quoted\" one", &e));
    um_expected_bar(&e, 0.2, 16, 0, &low, &high); /* no sd: our own error */
    assert_near(high, 4.5 + 5 * 0.2, 1e-12);
    assert_true(um_expected_find(sheet, "bar", &e));
    um_expected_bar(&e, 0.2, 16, 0, &low, &high);
    assert_true(isinf(low) && high == 9);
}

static void printed_numbers_are_rounded_in_their_last_digit(void **state)
{
    static const struct {
        const char *text;
        double half;
    } rows[] = {{"2.019e-2", 5e-6}, {"0.7812", 5e-5}, {"17.733", 5e-4},
                {"8006", 0.5},      {"-1.5e+3", 50},  {"0.000e+0", 5e-4}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++)
        assert_near(um_half_unit(rows[i].text), rows[i].half,
                    1e-9 * rows[i].half);
}

/*
 * The interval of a printed mean includes its 1000 rounds, our 1000, and its
 * rounding; what is drawn only once adds to the variance, not to the width.
 */
static void bars_of_printed_means_follow_from_their_statistics(void **state)
{
    um_expected e;
    double low, high, error = 1.734e-3 * sqrt(2. / 1000);

    (void)state;
    assert_true(um_expected_find(sheet, "printed", &e));
    um_expected_bar(&e, 0.1, 1000, 0, &low, &high);
    assert_near(high - low, 2 * (5 * error + 5e-6), 1e-12);
    um_expected_bar(&e, 0.1, 1000, error, &low, &high);
    assert_near(high - low, 2 * (5 * sqrt(2) * error + 5e-6), 1e-12);
}

/* --- rounds ----------------------------------------------------------------
 */

static umbel_status draw(um_round *r, double *out, umbel_error *err)
{
    (void)err;
    out[0] = (double)(um_random(&r->rng) >> 40);
    out[1] = (double)r->index;
    return UMBEL_OK;
}

static void see(um_study *s)
{
    um_mean m = um_column(s, 0), sum = um_column_sum(s, 1, 1);

    um_check_mean(s, "drawn", &m);
    um_check_mean(s, "twice the round", &sum);
}

static umbel_status fail_late(um_round *r, double *out, umbel_error *err)
{
    (void)out;
    if (r->index < 3)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_KEY, "round %u failed", (unsigned)r->index);
}

static const um_paper drawing = {
    .name = "no-such-directory", .width = 2, .round = draw, .conclude = see};
static const um_paper failing = {
    .name = "failing", .width = 2, .round = fail_late, .conclude = see};

static um_study study_of(const um_paper *paper, unsigned threads)
{
    um_study s = {.paper = paper, .rounds = 37, .seed = 5, .threads = threads};
    return s;
}

static void any_number_of_threads_gives_the_same(void **state)
{
    static const unsigned threads[] = {2, 5, UM_MAX_THREADS};
    um_study one = study_of(&drawing, 1);

    (void)state;
    assert_ok(um_study_run(&one, &test_refusal));
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        um_study many = study_of(&drawing, threads[i]);
        assert_ok(um_study_run(&many, &test_refusal));
        assert_memory_equal(one.numbers, many.numbers,
                            37 * 2 * sizeof *one.numbers);
        um_study_fini(&many);
    }
    assert_near(one.record.check[1].ours, 36, 1e-12);
    um_study_fini(&one);
}

static void values_without_a_row_fail(void **state)
{
    um_study s = study_of(&drawing, 2);

    (void)state;
    assert_ok(um_study_run(&s, &test_refusal));
    assert_int_equal(s.record.nchecks, 2);
    assert_int_equal(um_record_verdicts(&s.record).failed, 2);
    um_study_fini(&s);
}

static void the_first_round_that_failed_is_reported(void **state)
{
    um_study s = study_of(&failing, 1);

    (void)state;
    assert_refused(um_study_run(&s, &test_refusal), UMBEL_E_KEY, "round 3");
    um_study_fini(&s);
}

/* Checks that every row of the table has readable expected values. */
static void every_paper_has_readable_values(void **state)
{
    const um_paper *p;

    (void)state;
    for (size_t i = 0; (p = um_paper_row(i)); i++) {
        const char *text = um_expected_text(p->name);
        um_expected e;
        assert_non_null(text);
        assert_ptr_equal(um_paper_find(p->name), p);
        while (um_expected_next(&text, &e))
            assert_true(strncmp(e.item, "line ", 5) != 0);
    }
    assert_null(um_paper_find("rbf"));
}

/* --- falsified runs --------------------------------------------------------
 */

static const um_paper *spoiled; /* the row whose numbers are falsified */

static umbel_status spoil(um_round *r, double *out, umbel_error *err)
{
    umbel_status status = spoiled->round(r, out, err);

    for (size_t i = 0; i < spoiled->width; i++)
        out[i] = 3 * out[i] + 1e-3;
    return status;
}

static um_verdicts verdicts_of(const um_paper *row, uint64_t rounds)
{
    um_study s = {.paper = row, .rounds = rounds, .seed = 1, .threads = 2};

    assert_ok(um_study_run(&s, &test_refusal));
    um_verdicts v = um_record_verdicts(&s.record);
    um_study_fini(&s);
    return v;
}

/*
 * Checks that a study with every number three times too large fails, and that
 * the unchanged rounds pass.
 */
static void wrong_runs_fail(void **state)
{
    static const struct {
        const char *name;
        uint64_t rounds;
    } rows[] = {{"rbf-fig3", 8},     {"spam-table2", 1}, {"spam-table3", 40},
                {"spam-table6", 40}, {"gbf-table1", 40}, {"survey-fig2", 4}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        spoiled = um_paper_find(rows[i].name);
        um_paper wrong = *spoiled;
        wrong.round = spoil;
        um_verdicts good = verdicts_of(spoiled, rows[i].rounds);
        um_verdicts bad = verdicts_of(&wrong, rows[i].rounds);
        assert_int_equal(good.failed, 0);
        assert_true(good.passed > 0);
        assert_true(bad.failed > 0);
    }
}

/*
 * Checks that every interval rejects at least one of the wrong results, for the
 * quick studies in full. papers/verdicts tries all of them.
 */
static void no_wrong_result_passes_a_bar(void **state)
{
    static const char *const rows[] = {"rbf-fig3", "spam-table1", "spam-table2",
                                       "survey-edits"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        const um_paper *p = um_paper_find(rows[i]);
        um_study s = {.paper = p,
                      .rounds = p->rounds,
                      .seed = 1,
                      .threads = 2,
                      .wrong = true};
        assert_ok(um_study_run(&s, &test_refusal));
        assert_true(um_record_verdicts(&s.record).passed > 0);
        for (size_t j = 0; j < s.record.nchecks; j++)
            assert_false(um_check_is_blind(&s.record.check[j]));
        um_study_fini(&s);
    }
}

static umbel_status one_and_two(um_round *r, double *out, umbel_error *err)
{
    (void)r;
    (void)err;
    out[0] = 1;
    out[1] = 2;
    return UMBEL_OK;
}

/* Checks an order, a ratio, and an interval that accepts anything. */
static void hold_bars(um_study *s)
{
    double a = um_column(s, 0).value, b = um_column(s, 1).value;
    um_check c = {.item = "order", .paper = NAN, .ours = b - a, .high = 9};

    um_record_check(&s->record, c);
    c = (um_check){.item = "ratio", .ours = b / a, .low = 1.9, .high = 2.1};
    um_record_check(&s->record, c);
    c = (um_check){.item = "none",
                   .paper = 0,
                   .low = -1e9,
                   .high = 1e9,
                   .is_signed = true};
    um_record_check(&s->record, c);
    c = (um_check){.item = "rise", .ours = 0.1, .low = 0, .high = INFINITY};
    um_record_check(&s->record, c);
}

static void bars_that_refuse_nothing_are_blind(void **state)
{
    static const um_paper row = {.name = "no-such-directory",
                                 .width = 2,
                                 .round = one_and_two,
                                 .conclude = hold_bars};
    um_study s = {
        .paper = &row, .rounds = 3, .seed = 1, .threads = 1, .wrong = true};

    (void)state;
    assert_ok(um_study_run(&s, &test_refusal));
    const um_check *c = s.record.check;
    assert_int_equal(c[0].refuses, 3u << 4); /* only the reversed order */
    assert_int_equal(c[1].refuses, 3u << 4 | 3);
    assert_true(c[2].pass && c[2].refuses == 0 && um_check_is_blind(&c[2]));
    assert_int_equal(c[3].refuses, 1u << 6); /* one that an equation raises */
    assert_string_equal(um_wrong_name(5), "settings in reverse order");
    um_study_fini(&s);
}

static void streams_differ_by_seed_name_and_round(void **state)
{
    um_rng base = um_round_stream(1, "a", 0),
           again = um_round_stream(1, "a", 0);
    um_rng other[] = {um_round_stream(2, "a", 0), um_round_stream(1, "b", 0),
                      um_round_stream(1, "a", 1)};

    (void)state;
    assert_true(base.state == again.state);
    for (size_t i = 0; i < TEST_COUNT(other); i++)
        assert_true(base.state != other[i].state);
}

TEST_GROUP(papers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_carry_their_error),
        cmocka_unit_test(z_is_the_distance_in_joint_errors),
        cmocka_unit_test(poisson_sums_are_exact),
        cmocka_unit_test(rare_events_pass_up_to_the_level),
        cmocka_unit_test(two_rare_counts_are_compared),
        cmocka_unit_test(two_shares_are_compared),
        cmocka_unit_test(single_numbers_spread_by_student),
        cmocka_unit_test(rows_of_expected_values_are_read),
        cmocka_unit_test(bars_of_rounding_end_where_values_end),
        cmocka_unit_test(bars_of_impossible_values_are_refused),
        cmocka_unit_test(no_bar_has_impossible_values),
        cmocka_unit_test(rows_that_cannot_be_read_are_found_by_no_item),
        cmocka_unit_test(bars_span_five_joint_errors_and_the_slack),
        cmocka_unit_test(any_number_of_threads_gives_the_same),
        cmocka_unit_test(values_without_a_row_fail),
        cmocka_unit_test(the_first_round_that_failed_is_reported),
        cmocka_unit_test(every_paper_has_readable_values),
        cmocka_unit_test(wrong_runs_fail),
        cmocka_unit_test(no_wrong_result_passes_a_bar),
        cmocka_unit_test(bars_that_refuse_nothing_are_blind),
        cmocka_unit_test(printed_numbers_are_rounded_in_their_last_digit),
        cmocka_unit_test(bars_of_printed_means_follow_from_their_statistics),
        cmocka_unit_test(streams_differ_by_seed_name_and_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
