/*
 * editions.c - files change in every way, and the last valid edition is served.
 */
#include "serve/internal.h"
#include "support/test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fixture {
    char *dir;
    char path[300], other[300];
    um_open_args open;
    um_editions *editions;
    um_site site;
} fixture;

/* Writes a filter with one key, and renames it to path. */
static void write_edition(const char *path, const char *key,
                          umbel_key_form form)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.capacity = 100;
    p.fpr = 1e-9;
    p.key_form = form;
    umbel_filter *f = test_open(&p);
    assert_ok(umbel_add(f, key, strlen(key), NULL, &test_refusal));
    assert_ok(umbel_save(f, path, &test_refusal));
    umbel_close(f);
}

static void open_editions(fixture *x, const char *path)
{
    const char *paths[] = {path};
    um_editions_config c = {
        .paths = {.item = paths, .n = 1}, .open = &x->open, .sweep_ms = 50};

    assert_ok(um_editions_open(&c, &x->editions, &test_refusal));
}

static void apply(fixture *x)
{
    um_edition_news *e = um_editions_take(x->editions);

    for (um_edition_news *next; e; e = next) {
        next = e->next;
        um_editions_retire(x->editions, um_site_apply(&x->site, e, 1));
        um_edition_news_free(e);
    }
}

/* Waits for news, and applies them. */
static void wait_for_news(fixture *x)
{
    struct pollfd fd = {.fd = um_editions_fd(x->editions), .events = POLLIN};

    assert_int_equal(poll(&fd, 1, 60000), 1);
    apply(x);
}

static bool matches(fixture *x, const char *key)
{
    umbel_slice text = {key, strlen(key)};
    um_question_answer a;
    const umbel_filter *f = x->site.served[0]->filter;

    assert_ok(um_question_set(&x->site.question, f, text, &test_refusal));
    assert_ok(um_question_ask(&x->site.question, f, &a, &test_refusal));
    return a.hit;
}

static int set_up(void **state)
{
    fixture *x = calloc(1, sizeof *x);

    assert_non_null(x);
    x->dir = test_dir_make();
    snprintf(x->path, sizeof x->path, "%s/a.umb", x->dir);
    snprintf(x->other, sizeof x->other, "%s/b.umb", x->dir);
    write_edition(x->path, "one", UMBEL_KEYS_TEXT);
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    fixture *x = *state;

    um_site_fini(&x->site);
    um_editions_close(x->editions);
    test_dir_remove(x->dir);
    free(x);
    return 0;
}

static void a_new_edition_replaces_the_old_one(void **state)
{
    fixture *x = *state;

    open_editions(x, x->path);
    apply(x);
    assert_true(um_editions_single(x->editions));
    assert_string_equal(x->site.served[0]->name, "a");
    assert_true(matches(x, "one") && !matches(x, "two"));
    assert_ok(um_editions_start(x->editions, &test_refusal));
    write_edition(x->path, "two", UMBEL_KEYS_TEXT);
    while (!matches(x, "two"))
        wait_for_news(x);
    assert_false(matches(x, "one"));
    assert_int_equal(x->site.served[0]->refused, 0);
}

static void a_file_that_cannot_be_used_leaves_the_old_edition(void **state)
{
    fixture *x = *state;
    um_served *s;

    open_editions(x, x->path);
    apply(x);
    s = x->site.served[0];
    assert_ok(um_editions_start(x->editions, &test_refusal));
    write_edition(x->path, "\xC0\xFF", UMBEL_KEYS_HEX);
    while (!s->problem)
        wait_for_news(x);
    assert_non_null(strstr(s->problem, "its keys are"));
    assert_true(matches(x, "one"));
    assert_int_equal(truncate(x->path, 10), 0);
    while (s->refused < 2)
        wait_for_news(x);
    assert_true(matches(x, "one"));
    assert_int_equal(unlink(x->path), 0);
    while (!strstr(s->problem, "No such file"))
        wait_for_news(x);
    assert_true(matches(x, "one"));
    write_edition(x->path, "two", UMBEL_KEYS_TEXT);
    while (s->problem)
        wait_for_news(x);
    assert_true(matches(x, "two") && !matches(x, "one"));
}

static void a_directory_gets_more_filters(void **state)
{
    fixture *x = *state;

    open_editions(x, x->dir);
    apply(x);
    assert_false(um_editions_single(x->editions));
    assert_int_equal(x->site.n, 1);
    assert_ok(um_editions_start(x->editions, &test_refusal));
    write_edition(x->other, "two", UMBEL_KEYS_TEXT);
    while (x->site.n < 2)
        wait_for_news(x);
    assert_string_equal(x->site.served[1]->name, "b");
    assert_non_null(x->site.served[1]->filter);
}

static void files_must_be_valid_and_have_different_names(void **state)
{
    fixture *x = *state;
    const char *paths[] = {x->path, x->path};
    um_editions_config c = {.paths = {.item = paths, .n = 2}, .open = &x->open};

    assert_refused(um_editions_open(&c, &x->editions, &test_refusal),
                   UMBEL_E_RANGE, "both named a");
    c.paths.n = 1;
    assert_int_equal(truncate(x->path, 10), 0);
    assert_refused(um_editions_open(&c, &x->editions, &test_refusal),
                   UMBEL_E_FORMAT, "");
    paths[0] = x->other;
    assert_refused(um_editions_open(&c, &x->editions, &test_refusal),
                   UMBEL_E_IO, "No such file");
}

TEST_GROUP(editions)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(a_new_edition_replaces_the_old_one),
        ROW(a_file_that_cannot_be_used_leaves_the_old_edition),
        ROW(a_directory_gets_more_filters),
        ROW(files_must_be_valid_and_have_different_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
