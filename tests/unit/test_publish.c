/*
 * test_publish.c - what reproductions write: SVG, HTML, CSV, the directory.
 */
#define _DEFAULT_SOURCE /* open_memstream beside cmocka */
#include "support/test.h"

#include "papers/frame/publish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a function writes, as text to be freed. */
typedef struct stream {
    FILE *file;
    char *text;
    size_t len;
} stream;

static void stream_open(stream *s)
{
    s->file = open_memstream(&s->text, &s->len);
    assert_non_null(s->file);
}

static const char *stream_text(stream *s)
{
    assert_int_equal(fclose(s->file), 0);
    return s->text;
}

/* The text without quoted attributes ends every tag that it begins. */
static void assert_well_formed(const char *text)
{
    const char *open[64];
    size_t depth = 0;

    for (const char *p = strchr(text, '<'); p; p = strchr(p, '<')) {
        const char *end = strchr(p, '>');
        assert_non_null(end);
        if (p[1] == '/') {
            assert_true(depth > 0);
            const char *name = open[--depth];
            size_t len = strcspn(name, " >\n");
            assert_true(strncmp(p + 2, name, len) == 0 && p[2 + len] == '>');
        } else if (end[-1] != '/') {
            assert_true(depth < TEST_COUNT(open));
            open[depth++] = p + 1;
        }
        p = end;
    }
    assert_int_equal(depth, 0);
}

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

static um_figure *some_figure(um_record *r, bool log)
{
    um_figure *f = um_record_figure(r, "id", "a <b> & \"c\"", "x", "y");
    um_curve *c = um_figure_curve(r, f, "one & only");

    f->log_x = f->log_y = log;
    um_curve_point(r, c, 1, 0.5, 0.1);
    um_curve_point(r, c, 10, 20, NAN);
    um_curve_point(r, c, 100, 0, 3);        /* not on a log axis */
    um_curve_point(r, c, NAN, INFINITY, 0); /* nowhere */
    return f;
}

static void figures_are_well_formed(void **state)
{
    (void)state;
    for (int log = 0; log < 2; log++) {
        um_record r = {0};
        stream s;
        stream_open(&s);
        um_svg_figure(s.file, some_figure(&r, log));
        const char *text = stream_text(&s);
        assert_well_formed(text);
        assert_non_null(strstr(text, "a &lt;b&gt; &amp; &quot;c&quot;"));
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        free(s.text);
        um_record_fini(&r);
    }
}

/* Marks of the colour of the curve before, without a line of their own. */
static void dots_belong_to_the_curve_before(void **state)
{
    um_record r = {0};
    stream s;
    um_figure *f = some_figure(&r, false);
    um_curve *c = um_figure_curve(&r, f, "dots");

    (void)state;
    c->dots = true;
    um_curve_point(&r, c, 2, 3, NAN);
    um_curve_point(&r, um_figure_curve(&r, f, "other"), 2, 4, NAN);
    stream_open(&s);
    um_svg_figure(s.file, f);
    const char *text = stream_text(&s);
    assert_int_equal(count_of(text, "<polyline"), 2);
    assert_int_equal(count_of(text, "<path class=\"f0\""), 3 + 1 + 2);
    assert_int_equal(count_of(text, "<path class=\"f1\""), 1 + 1);
    assert_int_equal(count_of(text, "f2\""), 0);
    free(s.text);
    um_record_fini(&r);
}

static void a_figure_without_points_is_one_all_the_same(void **state)
{
    um_record r = {0};
    stream s;

    (void)state;
    stream_open(&s);
    um_svg_figure(s.file, um_record_figure(&r, "id", "empty", "x", "y"));
    assert_well_formed(stream_text(&s));
    free(s.text);
    um_record_fini(&r);
}

static const um_paper paper = {.name = "some-paper",
                               .source = "a <script> of \"theirs\"",
                               .claim = "1 < 2 & 3"};

/* A study with checks that pass, fail and are not numbers. */
static um_study some_study(void)
{
    um_study s = {.paper = &paper, .rounds = 3, .seed = 4};
    const um_check checks[] = {
        {.item = "in",
         .paper = 1,
         .ours = 1,
         .error = 0.1,
         .low = 0,
         .high = 2},
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
         .low = 2,
         .high = INFINITY},
        {.item = "nothing", .paper = NAN, .ours = NAN, .low = 0, .high = 1}};
    static const char *const heads[] = {"a", "b", NULL};

    for (size_t i = 0; i < TEST_COUNT(checks); i++)
        um_record_check(&s.record, checks[i]);
    some_figure(&s.record, false);
    um_sheet *sheet = um_record_sheet(&s.record, "table", "T <1>", heads);
    um_sheet_cell(&s.record, sheet, "%d", 7);
    um_sheet_cell(&s.record, sheet, "x,y");
    um_record_note(&s.record, "Our reading: %s", "a & b");
    return s;
}

static void pages_escape_what_they_show(void **state)
{
    um_study study = some_study();
    stream s;

    (void)state;
    stream_open(&s);
    um_html_study(s.file, &study);
    const char *text = stream_text(&s);
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

static void checks_pass_inside_their_bars_only(void **state)
{
    um_study study = some_study();
    const um_check *c = study.record.check;
    stream s;

    (void)state;
    assert_true(c[0].pass && !c[1].pass && c[2].pass && !c[3].pass);
    assert_int_equal(um_record_failed(&study.record), 2);
    assert_string_equal(um_show_bar(&c[0]).text, "0 to 2");
    assert_string_equal(um_show_bar(&c[1]).text, "at most 2");
    assert_string_equal(um_show_bar(&c[2]).text, "at least 2");
    stream_open(&s);
    um_svg_checks(s.file, &study.record);
    assert_well_formed(stream_text(&s));
    free(s.text);
    um_study_fini(&study);
}

static void csv_quotes_where_it_must(void **state)
{
    um_study study = some_study();
    stream s;

    (void)state;
    stream_open(&s);
    um_csv_checks(s.file, &study.record);
    um_csv_sheet(s.file, &study.record.sheet[0]);
    um_csv_figure(s.file, &study.record.figure[0]);
    const char *text = stream_text(&s);
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
        assert_int_equal(test_dir_count(inner), 6);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_well_formed),
        cmocka_unit_test(dots_belong_to_the_curve_before),
        cmocka_unit_test(a_figure_without_points_is_one_all_the_same),
        cmocka_unit_test(pages_escape_what_they_show),
        cmocka_unit_test(checks_pass_inside_their_bars_only),
        cmocka_unit_test(csv_quotes_where_it_must),
        cmocka_unit_test(files_are_written_and_replaced),
        cmocka_unit_test(foreign_pages_and_files_are_spared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
