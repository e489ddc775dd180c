/* publish.c - output of reproductions: checks, pages, the directory. */
#include "support/markup.h"

#include "draw/document.h"
#include "papers/frame/expected.h"
#include "papers/frame/publish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add_figure(um_record *r)
{
    um_figure *f = um_record_figure(r, "id", "a title", "x", "y");

    um_series_point(um_figure_series(f, "one & only"), 1, 0.5, 0.1);
}

static const um_paper paper = {.name = "some-paper",
                               .source = "a <script> of \"theirs\"",
                               .claim = "1 < 2 & 3"};

/* Returns a study with checks that pass, fail and are not numbers. */
static um_study some_study(void)
{
    um_study s = {.paper = &paper, .rounds = 3, .seed = 4};
    const um_check checks[] = {
        {.item = "in",
         .paper = 1,
         .ours = 1,
         .error = 0.1,
         .low = 0.8,
         .high = 1.2},
        {.item = "out,\"side\"",
         .paper = NAN,
         .ours = 9,
         .error = NAN,
         .low = -INFINITY,
         .high = 2,
         .note = "<i>"},
        {.item = "at least",
         .paper = NAN,
         .ours = 9,
         .error = NAN,
         .low = 5,
         .high = INFINITY},
        {.item = "nothing", .paper = NAN, .ours = NAN, .low = 0, .high = 1}};
    static const char *const heads[] = {"a", "b", NULL};

    for (size_t i = 0; i < TEST_COUNT(checks); i++)
        um_record_check(&s.record, checks[i]);
    add_figure(&s.record);
    um_sheet *sheet = um_record_sheet(&s.record, "table", "T <1>", heads);
    um_sheet_cell(sheet, "%d", 7);
    um_sheet_cell(sheet, "x,y");
    um_record_note(&s.record, "Our reading: %s", "a & b");
    return s;
}

static void pages_escape_what_they_show(void **state)
{
    um_study study = some_study();
    test_stream s;

    (void)state;
    test_stream_open(&s);
    um_html_study(s.file, &study);
    const char *text = test_stream_text(&s);
    assert_null(strstr(text, "<script>"));
    assert_null(strstr(text, "<i>"));
    assert_non_null(strstr(text, "a &lt;script&gt; of &quot;theirs&quot;"));
    assert_non_null(strstr(text, "Our reading: a &amp; b"));
    assert_non_null(strstr(text, "umbel reproduce some-paper --rounds 3 "
                                 "--seed 4</code>"));
    assert_non_null(strstr(text, "2 of 4 values"));
    free(s.text);
    um_study_fini(&study);
}

/* An interval that accepts twice the value, or half of it, checks nothing. */
static void a_bar_that_a_wrong_value_passes_is_weak(void **state)
{
    static const struct {
        double low, high, paper, ours;
        bool weak;
    } rows[] = {{0.8, 1.2, 1, 1, false},        {0.4, 1.2, 1, 1, true},
                {0.8, 2, 1, 1, true},           {-1, 1, 0, 0.1, true},
                {-1, 1, 0, 0, false},           {2, INFINITY, NAN, 3, false},
                {2, INFINITY, NAN, 9, true},    {-INFINITY, 2, NAN, 1.5, false},
                {-INFINITY, 2, NAN, 0.5, true}, {0, 0, NAN, 0, false},
                {0, INFINITY, NAN, 3, false},   {-INFINITY, 0, NAN, -3, false}};
    um_record r = {0};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        um_record_check(&r, (um_check){.item = "a",
                                       .low = rows[i].low,
                                       .high = rows[i].high,
                                       .paper = rows[i].paper,
                                       .ours = rows[i].ours,
                                       .is_signed = true});
        assert_true(r.check[i].pass);
        assert_int_equal(r.check[i].weak, rows[i].weak);
    }
    assert_int_equal(um_record_verdicts(&r).weak, 5);
    assert_int_equal(um_record_outcome(&r), UM_HOLDS_WITH_REMARKS);
    um_record_fini(&r);
}

static void outcomes_follow_from_the_checks(void **state)
{
    um_record r = {0};
    um_check c = {.item = "a", .low = 0.9, .high = 1.1, .paper = 1, .ours = 1};

    (void)state;
    assert_int_equal(um_record_outcome(&r), UM_NOT_CHECKED);
    um_record_check(&r, c);
    assert_int_equal(um_record_outcome(&r), UM_HOLDS);
    um_record_note(&r, "Our reading: none");
    assert_int_equal(um_record_outcome(&r), UM_HOLDS);
    um_record_note(&r, "Errata: one");
    assert_int_equal(um_record_outcome(&r), UM_HOLDS_WITH_REMARKS);
    c.ours = 2;
    um_record_check(&r, c);
    assert_string_equal(um_outcome_name(um_record_outcome(&r)),
                        "does not come out");
    um_record_fini(&r);
}

static void checks_pass_inside_their_bars_only(void **state)
{
    um_study study = some_study();
    const um_check *c = study.record.check;
    test_stream s;

    (void)state;
    assert_true(c[0].pass && !c[1].pass && c[2].pass && !c[3].pass);
    assert_int_equal(um_record_verdicts(&study.record).failed, 2);
    assert_string_equal(um_show_bar(&c[0]).text, "0.8 to 1.2");
    assert_string_equal(um_show_bar(&c[1]).text, "at most 2");
    assert_string_equal(um_show_bar(&c[2]).text, "at least 5");
    test_stream_open(&s);
    um_svg_checks(s.file, &study.record);
    test_assert_well_formed(test_stream_text(&s));
    free(s.text);
    um_study_fini(&study);
}

static void csv_quotes_where_it_must(void **state)
{
    um_study study = some_study();
    test_stream s;

    (void)state;
    test_stream_open(&s);
    um_csv_checks(s.file, &study.record);
    um_csv_sheet(s.file, &study.record.sheet[0]);
    um_csv_figure(s.file, &study.record.figure[0]);
    const char *text = test_stream_text(&s);
    assert_non_null(strstr(text, "\"out,\"\"side\"\"\",,9,,,2,no,no,<i>\n"));
    assert_non_null(strstr(text, "a,b\n7,\"x,y\"\n"));
    assert_non_null(strstr(text, "one & only,1,0.5,0.1\n"));
    free(s.text);
    um_study_fini(&study);
}

static void files_are_written_and_replaced(void **state)
{
    um_study study = some_study();
    char *dir = test_dir_make(), *inner = test_path(dir, "new");

    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        assert_ok(um_publish_begin(inner, &test_refusal));
        assert_ok(um_publish_study(inner, &study, &test_refusal));
        assert_ok(um_publish_page(inner, &study, 1, &test_refusal));
        assert_int_equal(test_dir_count(inner), 7);
    }
    test_dir_remove(inner);
    test_dir_remove(dir);
    um_study_fini(&study);
}

static void foreign_pages_and_files_are_spared(void **state)
{
    char *dir = test_dir_make(), *page = test_path(dir, "index.html");
    char *deep = test_path(dir, "a/b");

    (void)state;
    test_write_file(page, "<html>mine", 10);
    assert_refused(um_publish_begin(dir, &test_refusal), UMBEL_E_IO,
                   "something else");
    assert_refused(um_publish_begin(page, &test_refusal), UMBEL_E_IO,
                   "Not a directory");
    assert_refused(um_publish_begin(deep, &test_refusal), UMBEL_E_IO, "a/b");
    free(page);
    free(deep);
    test_dir_remove(dir);
}

/* --- the front page ------------------------------------------------------- */

/* Returns a study of that name, with a figure that has one curve for every item
 * of curves. */
static um_study study_with(const char *name, const char *figure,
                           const char *const *curves)
{
    um_study s = {.paper = um_paper_find(name), .rounds = 1, .seed = 1};
    um_figure *f = um_record_figure(&s.record, figure, "a figure", "x", "y");

    for (; *curves; curves++)
        um_series_point(um_figure_series(f, *curves), 1, 1, NAN);
    return s;
}

static char *read_page(const char *dir, const char *name)
{
    char *path = test_path(dir, name), *text = NULL;
    size_t len = 0;
    FILE *in = fopen(path, "r");

    assert_non_null(in);
    assert_true(getdelim(&text, &len, '\0', in) > 0);
    fclose(in);
    free(path);
    return text;
}

/* Returns true if a row of the study's expected.csv has the number as the
 * paper's. */
static bool is_printed(const char *study, double y)
{
    const char *text = um_expected_text(study);
    um_expected e;

    while (um_expected_next(&text, &e))
        if (fabs(e.paper - y) <= 1e-9 * y)
            return true;
    return y == 0;
}

/* Rings over a curve are values that the paper prints: those that the study is
 * compared with. */
static void check_rings(const char *csv, const char *study, size_t expected)
{
    size_t rings = 0;
    double x, y;

    for (const char *at = csv; (at = strstr(at, ", printed")); rings++) {
        at += strcspn(at, "0123456789");
        assert_int_equal(sscanf(at, "%lf,%lf", &x, &y), 2);
        if (!is_printed(study, y))
            fail_msg("%s: the paper does not print %g", study, y);
    }
    assert_int_equal(rings, expected);
}

static void the_front_page_shows_what_papers_print(void **state)
{
    static const char *const spam[] = {"intuitive, k = 4", "refined, k = 8",
                                       NULL},
                             *const gbf[] = {"m/n = 32", "m/n = 128", NULL},
                             *const rbf[] = {"success", "stopping short",
                                             "collision", NULL},
                             *const survey[] = {"measured by queries", NULL},
                             *const tracked[] = {"Ratio", NULL};
    um_study s[] = {study_with("rbf-case-study", "fig13", rbf),
                    study_with("spam-table3", "rates", spam),
                    study_with("gbf-fig11", "curves", gbf),
                    study_with("survey-table1", "error", survey),
                    study_with("rbf-2010", "gains", tracked),
                    study_with("forgeries", "none", survey)};
    static const struct {
        const char *file;
        size_t rings;
    } pages[] = {{"front-rbf.csv", 12},
                 {"front-spam.csv", 6},
                 {"front-gbf.csv", 5},
                 {"front-survey.csv", 3},
                 {"front-2010.csv", 0}};
    char *dir = test_dir_make();

    (void)state;
    assert_ok(um_publish_page(dir, s, TEST_COUNT(s), &test_refusal));
    for (size_t i = 0; i < TEST_COUNT(pages); i++) {
        char *csv = read_page(dir, pages[i].file);
        check_rings(csv, s[i].paper->name, pages[i].rings);
        free(csv);
    }
    char *page = read_page(dir, "index.html"),
         *all = read_page(dir, "all.html");
    assert_non_null(strstr(
        page, "<code><span>umbel</span> <span>admit</span></code> refuses"));
    assert_non_null(strstr(page, "not checked: 1</span>"));
    assert_non_null(strstr(page, "all.html#paper-front-spam"));
    assert_null(strstr(page, "front-ours.svg")); /* attacks was not run */
    assert_null(strchr(page, '`'));
    assert_non_null(strstr(all, "<h2 id=\"paper-front-spam\">"));
    free(page);
    free(all);
    test_dir_remove(dir);
    for (size_t i = 0; i < TEST_COUNT(s); i++)
        um_study_fini(&s[i]);
}

TEST_GROUP(publish)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_escape_what_they_show),
        cmocka_unit_test(a_bar_that_a_wrong_value_passes_is_weak),
        cmocka_unit_test(outcomes_follow_from_the_checks),
        cmocka_unit_test(checks_pass_inside_their_bars_only),
        cmocka_unit_test(csv_quotes_where_it_must),
        cmocka_unit_test(files_are_written_and_replaced),
        cmocka_unit_test(foreign_pages_and_files_are_spared),
        cmocka_unit_test(the_front_page_shows_what_papers_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
