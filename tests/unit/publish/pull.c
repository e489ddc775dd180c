/*
 * pull.c - a reader, with stores in memory and a server that misbehaves on
 * request.
 */
#include "support/reader.h"

#include "publish/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the routes -------------------------------------------------------------
 */

static void a_fresh_reader_takes_the_whole_file(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_int_equal(s->pulled.moved, s->server.sent);
    assert_int_equal(s->pulled.moved, s->pub.done.bytes + manifest_of(s)->len);
    assert_true(s->pulled.is_signed && !s->pulled.new_key);
    assert_memory_equal(s->pulled.key, test_trust_key, sizeof test_trust_key);
}

static void a_current_reader_fetches_the_manifest_only(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_pulls(s, UMBEL_PULL_CURRENT);
    assert_int_equal(s->pulled.moved, manifest_of(s)->len);
    s->server.tags = true;
    assert_pulls(s, UMBEL_PULL_CURRENT);
    assert_pulls(s, UMBEL_PULL_CURRENT);
    assert_int_equal(s->pulled.moved, 0);
}

static void a_chain_of_differences_is_taken_when_it_is_cheaper(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    for (uint64_t i = 0; i < 3; i++)
        test_publish_more(&s->pub, 5000 + i, 1);
    assert_pulls(s, UMBEL_PULL_STEPS);
    assert_int_equal(s->server.requests, 2 + 1 + 3);
    assert_true(s->pulled.moved < s->pub.done.bytes);
}

static void the_whole_file_is_taken_when_it_is_cheaper(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    for (uint64_t i = 0; i < 4; i++)
        test_publish_more(&s->pub, 10000 + 1000 * i, 250);
    assert_true(s->pub.done.steps == 4);
    assert_pulls(s, UMBEL_PULL_WHOLE);
}

static void a_coded_filter_comes_by_differences_too(void **state)
{
    fixture *s = *state;

    umbel_set_coded(s->pub.filter, true);
    assert_ok(test_publish(&s->pub));
    assert_pulls(s, UMBEL_PULL_WHOLE);
    test_publish_more(&s->pub, 5000, 1);
    assert_pulls(s, UMBEL_PULL_STEPS);
}

static void a_file_from_elsewhere_is_a_base_for_differences(void **state)
{
    fixture *s = *state;
    size_t len;
    uint8_t *bytes = test_encode(s->pub.filter, &len);

    test_store_write(&s->place, "", bytes, len);
    test_publish_more(&s->pub, 5000, 1);
    assert_pulls(s, UMBEL_PULL_STEPS);
    test_store_write(&s->place, "", "something else", 14);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    free(bytes);
}

static void a_file_that_is_no_filter_is_not_replaced(void **state)
{
    static const char notes[] = "my notes";
    fixture *s = *state;

    test_store_write(&s->place, "", notes, sizeof notes);
    assert_refuses(s, UMBEL_E_IO, "not a filter");
    assert_null(test_store_find(&s->place, ".pull"));
    test_store_write(&s->place, "", notes, 0); /* nothing would be lost */
    assert_pulls(s, UMBEL_PULL_WHOLE);
    test_store_write(&s->place, "", notes, sizeof notes); /* was a filter */
    assert_pulls(s, UMBEL_PULL_WHOLE);
}

/* --- server behaviour -------------------------------------------------------
 */

static void a_missing_manifest_doubts_the_address(void **state)
{
    fixture *s = *state;

    test_store_remove(&s->pub.site, manifest);
    assert_refuses(s, UMBEL_E_IO, "an address ends with");
    assert_int_equal(s->place.n, 0);
}

static void a_broken_difference_is_no_matter(void **state)
{
    static const char junk[2000];
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    for (uint64_t i = 0; i < 3; i++) {
        char wrong[80];
        test_publish_more(&s->pub, 5000 + 2 * i, 1);
        test_publish_more(&s->pub, 5001 + 2 * i, 1);
        /* One step does not match its digest: damaged, too long, or missing. */
        um_manifest m;
        assert_ok(um_manifest_read((char *)manifest_of(s)->bytes,
                                   manifest_of(s)->len, &m, &test_refusal));
        um_blob_name(&m.step[m.nsteps - 1 - i % 2].file, UM_BLOB_STEP, wrong);
        test_file *step = test_store_find(&s->pub.site, wrong);
        if (i == 0)
            step->bytes[step->len / 2] ^= 1;
        else if (i == 1)
            test_store_write(&s->pub.site, wrong, junk, sizeof junk);
        else
            test_store_remove(&s->pub.site, wrong);
        assert_pulls(s, UMBEL_PULL_WHOLE);
    }
}

/* Publishes a filter, and an arbitrary step to it. */
static void publish_step(fixture *s, const uint8_t *from, umbel_slice step)
{
    char name[UM_BLOB_NAME], text[UM_MANIFEST_MAX];
    um_manifest m;

    test_publish_more(&s->pub, 9000, 1);
    assert_ok(um_manifest_read((char *)manifest_of(s)->bytes,
                               manifest_of(s)->len, &m, &test_refusal));
    m.nsteps = 1;
    memcpy(m.step[0].from, from, UM_DIGEST_LEN);
    um_digest_parts(&step, 1, m.step[0].file.digest);
    m.step[0].file.len = step.len;
    um_blob_name(&m.step[0].file, UM_BLOB_STEP, name);
    test_store_write(&s->pub.site, name, step.data, step.len);
    test_store_write(&s->pub.site, manifest, text,
                     um_manifest_write(&m, test_sign_key, text));
}

static void a_step_that_leads_elsewhere_is_no_matter(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    umbel_published first = s->pub.done;
    /* The difference leads to another filter, or is not one. */
    test_publish_more(&s->pub, 8000, 1);
    test_file *f = test_store_ending(&s->pub.site, ".umd");
    uint8_t *step = malloc(f->len);
    assert_non_null(step);
    memcpy(step, f->bytes, f->len);
    publish_step(s, first.digest, (umbel_slice){step, f->len});
    assert_pulls(s, UMBEL_PULL_WHOLE);
    first = s->pub.done;
    test_add(s->pub.filter, 8500, 1);
    publish_step(s, first.digest, (umbel_slice){"no step", 7});
    assert_pulls(s, UMBEL_PULL_WHOLE);
    free(step);
}

static void a_whole_file_of_another_digest_is_refused(void **state)
{
    fixture *s = *state;

    s->server.only = ".umb";
    s->server.flips = true;
    assert_refuses(s, UMBEL_E_REFUSED, "not what was published");
    assert_int_equal(s->server.requests, 2); /* not requested again */
    assert_int_equal(s->place.n, 1); /* the state: no partial file is kept */
    s->server.flips = false;
    s->server.longer = true;
    assert_refuses(s, UMBEL_E_LIMIT, "sends more than");
    assert_int_equal(s->place.n, 1);
    s->server.longer = false;
    test_store_ending(&s->pub.site, ".umb")->len -= 10;
    assert_refuses(s, UMBEL_E_REFUSED, "not what was published");
    test_store_ending(&s->pub.site, ".umb")->len += 10;
    assert_pulls(s, UMBEL_PULL_WHOLE);
}

/* Breaks off a download after that many bytes of the filter. */
static void break_off(fixture *s, uint64_t at)
{
    s->server.only = ".umb";
    s->server.cut = at;
    assert_refuses(s, UMBEL_E_IO, "broke");
    s->server.cut = 0;
    assert_int_equal(test_store_ending(&s->place, "")->len > 0, 1);
}

static test_file *part_of(fixture *s)
{
    for (size_t i = 0; i < s->place.n; i++)
        if (strncmp(s->place.file[i].name, ".part-", 6) == 0)
            return &s->place.file[i];
    return NULL;
}

static void a_part_is_resumed(void **state)
{
    fixture *s = *state;

    break_off(s, 300);
    break_off(s, 200);
    assert_int_equal(s->server.requests, 4);
    assert_int_equal(part_of(s)->len, 500);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_int_equal(s->pulled.moved,
                     manifest_of(s)->len + s->pub.done.bytes - 500);
}

static void a_part_that_is_whole_is_not_fetched_again(void **state)
{
    fixture *s = *state;
    test_file *whole = test_store_ending(&s->pub.site, ".umb");

    break_off(s, 100);
    test_store_write(&s->place, part_of(s)->name, whole->bytes, whole->len);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_int_equal(s->pulled.moved, manifest_of(s)->len);
}

static void a_part_of_something_else_is_fetched_anew(void **state)
{
    static const size_t lens[] = {1, 500, 100000};
    static const char *const others[] = {
        ".part-of-mine", ".part-0123456789abcdeX", "xpart-0123456789abcdef",
        ".part-0123456789abcdef0"};

    (void)state;
    for (size_t i = 0; i <= TEST_COUNT(lens); i++) {
        fixture *s = fixture_open();
        size_t len = i < TEST_COUNT(lens) ? lens[i] : (size_t)s->pub.done.bytes;
        uint8_t *junk = calloc(1, len);
        assert_non_null(junk);
        break_off(s, 100);
        test_store_write(&s->place, part_of(s)->name, junk, len);
        test_store_write(&s->place, ".part-0123456789abcdef", junk, len);
        for (size_t j = 0; j < TEST_COUNT(others); j++)
            test_store_write(&s->place, others[j], junk, 1);
        assert_ok(pull(s));
        assert_int_equal(s->pulled.route, UMBEL_PULL_WHOLE);
        if (len > s->pub.done.bytes)
            assert_int_equal(s->pulled.moved,
                             manifest_of(s)->len + s->pub.done.bytes);
        for (size_t j = 0; j < TEST_COUNT(others); j++) {
            assert_non_null(test_store_find(&s->place, others[j]));
            test_store_remove(&s->place, others[j]);
        }
        assert_current(s);
        free(junk);
        fixture_close(s);
    }
}

static void a_server_may_start_over(void **state)
{
    fixture *s = *state;

    break_off(s, 500);
    s->server.from_start = true;
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_int_equal(s->pulled.moved, manifest_of(s)->len + s->pub.done.bytes);
}

static void a_server_that_cannot_resume_is_asked_for_all(void **state)
{
    fixture *s = *state;

    break_off(s, 500);
    s->server.bad_range = true;
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_int_equal(s->pulled.moved, manifest_of(s)->len + s->pub.done.bytes);
}

static void bytes_at_wrong_places_are_refused(void **state)
{
    fixture *s = *state;

    s->server.shift = 1 << 20;
    assert_refuses(s, UMBEL_E_LIMIT, "more than");
    s->server.shift = UINT64_MAX - 10;
    assert_refuses(s, UMBEL_E_LIMIT, "more than");
    s->server.only = ".umb";
    assert_refuses(s, UMBEL_E_LIMIT, "more than");
}

static void a_server_that_goes_away_leaves_a_part(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    test_publish_more(&s->pub, 5000, 1);
    s->server.only = ".umd";
    s->server.cut = 100;
    assert_refuses(s, UMBEL_E_IO, "broke"); /* does not try the full file */
    assert_non_null(part_of(s));
    s->server.cut = 0;
    assert_pulls(s, UMBEL_PULL_STEPS);
}

/*
 * Publishes a newer filter when the first one is requested, and removes the
 * first.
 */
static void replace_filter(test_server *server, const char *name)
{
    fixture *s = server->ctx;

    if (!strstr(name, ".umb") || server->requests > 2)
        return;
    test_publish_more(&s->pub, 7000, 500);
    assert_ok(umbel_publish_tidy(&s->pub.ops, NULL, 0, &test_refusal));
}

static void a_filter_that_was_just_replaced_sends_the_reader_back(void **state)
{
    fixture *s = *state;

    s->params.trust_key = NULL;
    open_puller(s);
    s->server.before = replace_filter;
    s->server.ctx = s;
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_int_equal(s->pulled.serial, 2);
    assert_int_equal(s->server.requests, 4);
    assert_true(s->pulled.new_key);
}

static void a_filter_that_is_not_there_is_trouble(void **state)
{
    fixture *s = *state;

    test_store_remove(&s->pub.site,
                      test_store_ending(&s->pub.site, ".umb")->name);
    assert_refuses(s, UMBEL_E_IO, "not there");
    assert_int_equal(s->server.requests, 4); /* twice */
}

/* --- the store --------------------------------------------------------------
 */

static uint64_t serial_of(fixture *s)
{
    test_file *f = test_store_find(&s->place, ".pull");
    um_manifest state = {.serial = 0};
    char tag[UMBEL_MAX_TAG];
    bool due;

    if (f)
        assert_ok(um_pull_state_read((char *)f->bytes, f->len, &state, tag,
                                     &due, &test_refusal));
    return state.serial;
}

/*
 * Returns true if the failed call need not be reported: tidying, or reading for
 * a step, after which the full file is fetched.
 */
static bool may_fail_unseen(const fixture *s, bool by_steps)
{
    const char *call = s->place.failed;

    return !call || strcmp(call, "list") == 0 || strcmp(call, "remove") == 0 ||
           (by_steps && strcmp(call, "get") == 0 &&
            s->pulled.route == UMBEL_PULL_WHOLE);
}

/*
 * Fails the nth store call of a round; checks what it leaves, and the next
 * round.
 */
static bool fails_at(umbel_pull_route route, size_t n, bool dead)
{
    fixture *s = fixture_open();
    size_t old_len = 0;
    uint8_t *old = NULL;

    if (route == UMBEL_PULL_STEPS) {
        assert_pulls(s, UMBEL_PULL_WHOLE);
        old = test_encode(s->pub.filter, &old_len);
        test_publish_more(&s->pub, 5000, 1);
    }
    uint64_t serial = serial_of(s);
    s->place.calls = 0;
    s->place.failed = NULL;
    s->place.fail_at = n;
    s->place.dead = dead;
    umbel_status status = pull(s);
    bool reached = s->place.calls >= n;
    s->place.fail_at = 0;
    assert_false(s->place.locked);
    assert_true(serial_of(s) >= serial);
    test_file *f = test_store_find(&s->place, "");
    size_t len;
    uint8_t *now = test_encode(s->pub.filter, &len);
    bool is_new = f && f->len == len && memcmp(f->bytes, now, len) == 0;
    bool is_old =
        old ? f && f->len == old_len && memcmp(f->bytes, old, old_len) == 0
            : !f;
    assert_true(is_new || is_old);
    if (status == UMBEL_OK)
        assert_true(is_new && serial_of(s) == s->pub.done.serial);
    assert_true(status == UMBEL_OK ? may_fail_unseen(s, old != NULL)
                                   : status == UMBEL_E_IO);
    assert_ok(pull(s));
    assert_current(s);
    free(old);
    free(now);
    fixture_close(s);
    return reached;
}

static void a_store_may_fail_at_any_call(void **state)
{
    static const umbel_pull_route routes[] = {UMBEL_PULL_WHOLE,
                                              UMBEL_PULL_STEPS};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(routes); i++)
        for (int dead = 0; dead < 2; dead++) {
            size_t n = 1;
            while (fails_at(routes[i], n, dead))
                n++;
            assert_true(n > 9);
        }
}

static void a_state_that_nobody_wrote_is_refused(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    test_file *f = test_store_find(&s->place, ".pull");
    for (size_t i = 1; i < f->len; i++) {
        f->len -= i;
        assert_refuses(s, UMBEL_E_FORMAT, ".pull: not the state");
        f->len += i;
    }
    f->len = 0; /* as after the first lock */
    assert_pulls(s, UMBEL_PULL_CURRENT);
    test_store_remove(&s->place, ".pull");
    assert_pulls(s, UMBEL_PULL_CURRENT);
    uint8_t *junk = calloc(1, 1 << 20);
    test_store_write(&s->place, ".pull", junk, 1 << 20);
    assert_refuses(s, UMBEL_E_FORMAT, "remove it");
    free(junk);
}

static void a_state_that_did_not_change_is_not_written(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    s->place.last_put[0] = '\0';
    assert_pulls(s, UMBEL_PULL_CURRENT);
    assert_string_equal(s->place.last_put, "");
}

/* --- parameters -------------------------------------------------------------
 */

static umbel_status open_url(fixture *s, const char *url)
{
    umbel_puller *p = NULL;

    s->params.url = url;
    umbel_status status = umbel_pull_open(&s->params, &s->fetcher,
                                          &s->place_ops, &p, &test_refusal);
    umbel_pull_close(p);
    return status;
}

static void an_address_ends_with_a_name(void **state)
{
    static const char *const wrong[] = {"",
                                        "words",
                                        "https://example.org",
                                        "https://words",
                                        "https://example.org/lists/",
                                        "https://example.org/.words",
                                        "https://example.org/.manifest",
                                        "https://example.org/a b"};
    fixture *s = *state;
    char *far = malloc(4096);

    for (size_t i = 0; i < TEST_COUNT(wrong); i++)
        assert_refused(open_url(s, wrong[i]), UMBEL_E_RANGE,
                       "name of a filter");
    assert_refused(open_url(s, NULL), UMBEL_E_RANGE, "name of a filter");
    assert_ok(open_url(s, "site/words"));
    assert_ok(open_url(s, "file:///words"));
    assert_non_null(far);
    for (size_t len = 2040; len < 2060; len++) {
        memset(far, 'a', len);
        memcpy(far + len - 6, "/words", 7);
        umbel_status status = open_url(s, far);
        assert_int_equal(status, len < 2048 ? UMBEL_OK : UMBEL_E_RANGE);
        if (status)
            assert_refused(status, UMBEL_E_RANGE, "too long");
    }
    free(far);
}

static void parameters_have_a_size_and_calls(void **state)
{
    fixture *s = *state;
    umbel_puller *p = NULL;
    umbel_pull_params params = s->params;
    umbel_fetcher fetcher = s->fetcher;
    umbel_store store = s->place_ops;

    params.size = 0;
    assert_refused(
        umbel_pull_open(&params, &fetcher, &store, &p, &test_refusal),
        UMBEL_E_RANGE, "params.size");
    assert_refused(umbel_pull_open(NULL, &fetcher, &store, &p, &test_refusal),
                   UMBEL_E_RANGE, "params.size");
    assert_refused(umbel_pull_open(&s->params, NULL, &store, &p, &test_refusal),
                   UMBEL_E_RANGE, "fetcher");
    assert_refused(
        umbel_pull_open(&s->params, &fetcher, NULL, &p, &test_refusal),
        UMBEL_E_RANGE, "store");
    fetcher.get = NULL;
    assert_refused(
        umbel_pull_open(&s->params, &fetcher, &store, &p, &test_refusal),
        UMBEL_E_RANGE, "fetcher");
    store.move = NULL;
    assert_refused(
        umbel_pull_open(&s->params, &s->fetcher, &store, &p, &test_refusal),
        UMBEL_E_RANGE, "store");
    assert_null(p);
}

TEST_GROUP(pull)
{
    const struct CMUnitTest tests[] = {
        on_a_fixture(a_fresh_reader_takes_the_whole_file),
        on_a_fixture(a_current_reader_fetches_the_manifest_only),
        on_a_fixture(a_chain_of_differences_is_taken_when_it_is_cheaper),
        on_a_fixture(the_whole_file_is_taken_when_it_is_cheaper),
        on_a_fixture(a_coded_filter_comes_by_differences_too),
        on_a_fixture(a_file_from_elsewhere_is_a_base_for_differences),
        on_a_fixture(a_file_that_is_no_filter_is_not_replaced),
        on_a_fixture(a_missing_manifest_doubts_the_address),
        on_a_fixture(a_broken_difference_is_no_matter),
        on_a_fixture(a_step_that_leads_elsewhere_is_no_matter),
        on_a_fixture(a_whole_file_of_another_digest_is_refused),
        on_a_fixture(a_part_is_resumed),
        on_a_fixture(a_part_that_is_whole_is_not_fetched_again),
        cmocka_unit_test(a_part_of_something_else_is_fetched_anew),
        on_a_fixture(a_server_may_start_over),
        on_a_fixture(a_server_that_cannot_resume_is_asked_for_all),
        on_a_fixture(bytes_at_wrong_places_are_refused),
        on_a_fixture(a_server_that_goes_away_leaves_a_part),
        on_a_fixture(a_filter_that_was_just_replaced_sends_the_reader_back),
        on_a_fixture(a_filter_that_is_not_there_is_trouble),
        cmocka_unit_test(a_store_may_fail_at_any_call),
        on_a_fixture(a_state_that_nobody_wrote_is_refused),
        on_a_fixture(a_state_that_did_not_change_is_not_written),
        on_a_fixture(an_address_ends_with_a_name),
        on_a_fixture(parameters_have_a_size_and_calls),
    };

    return cmocka_run_group_tests(tests, test_create_keys, NULL);
}
