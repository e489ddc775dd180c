/* draw.c - SVG, HTML and CSV: hostile text, odd numbers, no data. */
#include "support/markup.h"

#include "draw/document.h"
#include "draw/internal.h"
#include "draw/svg.h"

#include <umbel/umbel.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char HOSTILE[] =
    "</text><script>x</script> & \"q\" 'a' \x01\x1b[2J";
static const char HARMLESS[] =
    "&lt;/text&gt;&lt;script&gt;x&lt;/script&gt; &amp; &quot;q&quot; "
    "&#39;a&#39; [2J";

/*
 * Number of realloc calls that still succeed, if not negative; see
 * CMakeLists.txt.
 */
static int calls_left = -1;
void *__real_realloc(void *old, size_t len);
void *__wrap_realloc(void *old, size_t len);
void *__wrap_realloc(void *old, size_t len)
{
    if (calls_left == 0)
        return NULL;
    calls_left -= calls_left > 0;
    return __real_realloc(old, len);
}

static void create_figure(um_figure *f, bool log)
{
    um_figure_init(f, "id", HOSTILE, HOSTILE, HOSTILE);
    um_series *s = um_figure_series(f, HOSTILE);

    f->log_x = f->log_y = log;
    um_series_point(s, 1, 0.5, 0.1);
    um_series_point(s, 10, 20, NAN);
    um_series_point(s, 100, 0, 3);        /* not on a log axis */
    um_series_point(s, NAN, INFINITY, 0); /* has no position */
}

/* --- text ------------------------------------------------------------------
 */

static void hostile_text_is_escaped_in_markup(void **state)
{
    test_stream s;

    (void)state;
    test_stream_open(&s);
    um_write_escaped(s.file, HOSTILE);
    assert_string_equal(test_stream_text(&s), HARMLESS);
    free(s.text);
}

static void assert_csv(const char *text, const char *want)
{
    test_stream s;

    test_stream_open(&s);
    um_write_csv(s.file, text);
    assert_string_equal(test_stream_text(&s), want);
    free(s.text);
}

static void csv_quotes_only_what_needs_it(void **state)
{
    (void)state;
    assert_csv("", "");
    assert_csv("plain text", "plain text");
    assert_csv("a,b", "\"a,b\"");
    assert_csv("say \"yes\"", "\"say \"\"yes\"\"\"");
    assert_csv("two\nlines", "\"two\nlines\"");
    assert_csv("two\r", "\"two\r\"");
    assert_csv("\"", "\"\"\"\"");
}

static void numbers_are_shown_as_people_read_them(void **state)
{
    (void)state;
    assert_string_equal(um_show(0).text, "0");
    assert_string_equal(um_show(-12).text, "-12");
    assert_string_equal(um_show(1234567).text, "1234567");
    assert_string_equal(um_show(12345678).text, "1.2346e+07");
    assert_string_equal(um_show(0.123456).text, "0.12346");
    assert_string_equal(um_show(NAN).text, "");
    assert_string_equal(um_show(INFINITY).text, "inf");
    assert_string_equal(um_show(-DBL_MAX).text, "-1.7977e+308");
}

/* --- axes ------------------------------------------------------------------
 */

static um_axis axis_of(bool log, double low, double high)
{
    um_axis a;

    um_axis_init(&a, log, 100, 200);
    um_axis_include(&a, low);
    um_axis_include(&a, high);
    um_axis_settle(&a);
    return a;
}

/* Asserts that both ends are on the axis, and that it has ticks. */
static void assert_axis_holds(bool log, double low, double high)
{
    um_axis a = axis_of(log, low, high);

    assert_true(um_axis_at(&a, low) >= 100 - 1e-6);
    assert_true(um_axis_at(&a, high) <= 200 + 1e-6);
    assert_true(a.nticks >= 2);
    assert_true(a.nticks <= UM_MAX_TICKS);
    for (size_t i = 1; i < a.nticks; i++)
        assert_true(a.tick[i] > a.tick[i - 1]);
}

static void axes_hold_their_data(void **state)
{
    (void)state;
    assert_axis_holds(false, 0, 1);
    assert_axis_holds(false, -3, 17);
    assert_axis_holds(false, 5, 5);
    assert_axis_holds(false, 1e12, 1e12 + 1e-3);
    assert_axis_holds(false, -1e300, 1e300);
    assert_axis_holds(false, 1e-300, 2e-300);
    assert_axis_holds(true, 1, 1);
    assert_axis_holds(true, 1e-9, 0.5);
    assert_axis_holds(true, 1e-300, 1e300);
}

static void axes_end_at_round_numbers(void **state)
{
    um_axis a = axis_of(false, 3, 97);

    (void)state;
    assert_near(a.low, 0, 0);
    assert_near(a.high, 100, 1e-9);
    a = axis_of(true, 0.003, 40);
    assert_near(a.tick[0], 0.001, 1e-12);
    assert_near(a.tick[a.nticks - 1], 100, 1e-9);
}

static void what_is_not_a_number_has_no_place(void **state)
{
    um_axis a = axis_of(false, NAN, INFINITY);

    (void)state;
    assert_near(a.low, 0, 0);
    assert_near(a.high, 1, 0);
    assert_false(um_axis_takes(&a, NAN));
    assert_false(um_axis_takes(&a, -INFINITY));
    assert_false(um_axis_takes(&a, DBL_MAX));
    assert_true(um_axis_takes(&a, -1));
    a = axis_of(true, 0, -1);
    assert_false(um_axis_takes(&a, 0));
}

/* --- figures ---------------------------------------------------------------
 */

static void assert_sound_svg(const um_figure *f)
{
    test_stream s;

    test_stream_open(&s);
    um_svg_figure(s.file, f);
    const char *text = test_stream_text(&s);
    test_assert_well_formed(text);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, "<script"));
    free(s.text);
}

static void hostile_figures_are_well_formed(void **state)
{
    (void)state;
    for (int log = 0; log < 2; log++) {
        um_figure f;
        create_figure(&f, log);
        assert_sound_svg(&f);
        um_figure_fini(&f);
    }
}

static void figures_without_series_or_points_are_well_formed(void **state)
{
    um_figure f;

    (void)state;
    um_figure_init(&f, "id", "empty", "x", "y");
    assert_sound_svg(&f);
    um_figure_series(&f, "no points");
    assert_sound_svg(&f);
    f.log_x = f.log_y = true;
    assert_sound_svg(&f);
    um_figure_fini(&f);
}

/*
 * Checks that dots have the colour of the series before them, and no line of
 * their own.
 */
static void dots_belong_to_the_series_before(void **state)
{
    um_figure f;
    test_stream s;

    (void)state;
    create_figure(&f, false);
    um_series *dots = um_figure_series(&f, "dots");
    dots->dots = true;
    um_series_point(dots, 2, 3, NAN);
    um_series_point(um_figure_series(&f, "other"), 2, 4, NAN);
    test_stream_open(&s);
    um_svg_figure(s.file, &f);
    const char *text = test_stream_text(&s);
    assert_int_equal(test_count_of(text, "<polyline"), 2);
    assert_int_equal(test_count_of(text, "<path class=\"f0\""), 3 + 1 + 2);
    assert_int_equal(test_count_of(text, "<path class=\"f1\""), 1 + 1);
    assert_int_equal(test_count_of(text, "f2\""), 0);
    free(s.text);
    um_figure_fini(&f);
}

static void csv_leaves_out_what_is_not_finite(void **state)
{
    um_figure f;
    test_stream s;

    (void)state;
    um_figure_init(&f, "id", "title", "x, mm", "y");
    test_stream_open(&s);
    um_csv_figure(s.file, &f);
    um_series *one = um_figure_series(&f, "a \"b\"");
    um_series_point(one, 1, 0.1, NAN);
    um_series_point(one, INFINITY, NAN, 1e-30);
    um_csv_figure(s.file, &f);
    assert_string_equal(test_stream_text(&s),
                        "curve,\"x, mm\",y,standard error\n"
                        "curve,\"x, mm\",y,standard error\n"
                        "\"a \"\"b\"\"\",1,0.1,\n"
                        "\"a \"\"b\"\"\",,,1e-30\n");
    free(s.text);
    um_figure_fini(&f);
}

/* --- tables and pages ------------------------------------------------------
 */

static void tables_escape_their_cells(void **state)
{
    static const char *const heads[] = {"a", HOSTILE, NULL};
    um_sheet sheet;
    test_stream s;

    (void)state;
    um_sheet_init(&sheet, "id", HOSTILE, heads);
    um_sheet_cell(&sheet, "%d", 7);
    um_sheet_cell(&sheet, "%s", HOSTILE);
    test_stream_open(&s);
    um_html_sheet(s.file, &sheet);
    const char *text = test_stream_text(&s);
    test_assert_well_formed(text);
    assert_int_equal(test_count_of(text, HARMLESS), 3);
    assert_int_equal(test_count_of(text, "<tr>"), 2);
    free(s.text);
    um_sheet_fini(&sheet);
}

static void tables_without_columns_are_left_out(void **state)
{
    static const char *const heads[] = {NULL};
    um_sheet sheet;
    test_stream s;

    (void)state;
    um_sheet_init(&sheet, "id", "title", heads);
    um_sheet_cell(&sheet, "lost");
    test_stream_open(&s);
    um_html_sheet(s.file, &sheet);
    um_csv_sheet(s.file, &sheet);
    assert_string_equal(test_stream_text(&s), "");
    free(s.text);
    um_sheet_fini(&sheet);
}

static void pages_escape_names_of_files(void **state)
{
    test_stream s;

    (void)state;
    test_stream_open(&s);
    um_html_begin(s.file, "a \"generator\"", "<heading>");
    um_html_image(s.file, "\"><script>", "a & b");
    um_html_end(s.file);
    const char *text = test_stream_text(&s);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "content=\"a &quot;generator&quot;\""));
    assert_non_null(strstr(text, "<h1>&lt;heading&gt;</h1>"));
    assert_non_null(strstr(text, "alt=\"a &amp; b\""));
    free(s.text);
}

static void long_texts_are_cut(void **state)
{
    char text[3 * UM_TEXT_LEN];
    static const char *const heads[] = {"a", NULL};
    um_sheet sheet;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    um_sheet_init(&sheet, "id", text, heads);
    um_sheet_cell(&sheet, "%s", text);
    assert_int_equal(strlen(sheet.title), UM_TEXT_LEN - 1);
    assert_int_equal(strlen(sheet.cell[1].text), UM_TEXT_LEN - 1);
    um_sheet_fini(&sheet);
}

/* --- out of memory ---------------------------------------------------------
 */

static void missing_memory_is_remembered(void **state)
{
    static const char *const heads[] = {"a", NULL};
    um_figure f;
    um_sheet sheet;

    (void)state;
    for (calls_left = 0; calls_left < 2;) {
        int before = calls_left;
        create_figure(&f, false);
        assert_true(um_figure_bad(&f));
        um_figure_fini(&f);
        calls_left = before + 1;
    }
    create_figure(&f, false);
    assert_false(um_figure_bad(&f));
    um_figure_fini(&f);
    calls_left = 0;
    um_sheet_init(&sheet, "id", "title", heads);
    um_sheet_cell(&sheet, "1");
    assert_true(sheet.bad);
    assert_int_equal(sheet.n, 0);
    um_sheet_fini(&sheet);
    calls_left = -1;
}

static void nothing_to_fill_is_accepted(void **state)
{
    (void)state;
    assert_null(um_figure_series(NULL, "name"));
    um_series_point(NULL, 1, 2, 3);
    um_sheet_cell(NULL, "%d", 1);
}

/* --- filters ---------------------------------------------------------------
 */

/* The figure's two distributions differ by no more than chance allows: five
 * times the deviation of a share at one place. */
static void honest_blocks_are_as_full_as_expected(void **state)
{
    static const struct {
        const char *kind, *addressing;
        uint64_t keys, blocks;
    } rows[] = {{"bloom", "blocked512", 200000, 3000},
                {"bloom", "blocked256", 200000, 6000},
                {"bloom", "classic", 200000, 3000},
                {"bloom", "partitioned", 200000, 3000},
                {"counting", "blocked512", 200000, 3000}};

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        umbel_params params = UMBEL_PARAMS_INIT;
        um_filter_picture p;
        umbel_filter *f;
        double seen = 0, expected = 0, furthest = 0;

        params.capacity = rows[r].keys;
        params.fpr = 0.01;
        params.addressing = rows[r].addressing;
        assert_int_equal(umbel_create(rows[r].kind, &params, &f, NULL), 0);
        for (uint64_t key = 0; key < rows[r].keys; key++)
            assert_int_equal(umbel_add(f, &key, sizeof key, NULL, NULL), 0);
        assert_int_equal(um_filter_picture_init(&p, f, NULL), 0);
        assert_int_equal(p.n, 2);
        assert_float_equal(p.capacity, (double)rows[r].keys, 0);
        const um_series *s = p.figure[1].series;
        for (size_t i = 0; i < s[0].n; i++) {
            seen += s[0].point[i].y / 100;
            expected += s[1].point[i].y / 100;
            furthest = fmax(furthest, fabs(seen - expected));
        }
        assert_float_equal(seen, 1, 1e-9);
        assert_true(furthest < 5 * 0.5 / sqrt((double)rows[r].blocks));
        um_filter_picture_fini(&p);
        umbel_close(f);
    }
}

TEST_GROUP(draw)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_text_is_escaped_in_markup),
        cmocka_unit_test(csv_quotes_only_what_needs_it),
        cmocka_unit_test(numbers_are_shown_as_people_read_them),
        cmocka_unit_test(axes_hold_their_data),
        cmocka_unit_test(axes_end_at_round_numbers),
        cmocka_unit_test(what_is_not_a_number_has_no_place),
        cmocka_unit_test(hostile_figures_are_well_formed),
        cmocka_unit_test(figures_without_series_or_points_are_well_formed),
        cmocka_unit_test(dots_belong_to_the_series_before),
        cmocka_unit_test(csv_leaves_out_what_is_not_finite),
        cmocka_unit_test(tables_escape_their_cells),
        cmocka_unit_test(tables_without_columns_are_left_out),
        cmocka_unit_test(pages_escape_names_of_files),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(missing_memory_is_remembered),
        cmocka_unit_test(nothing_to_fill_is_accepted),
        cmocka_unit_test(honest_blocks_are_as_full_as_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
