/*
 * reader.c - a publisher, its server and a reader, all in memory.
 */
#include "support/reader.h"

#include <stdlib.h>
#include <string.h>

void open_puller(fixture *s)
{
    umbel_pull_close(s->puller);
    s->puller = NULL;
    assert_ok(umbel_pull_open(&s->params, &s->fetcher, &s->place_ops,
                              &s->puller, &test_refusal));
}

fixture *fixture_open(void)
{
    fixture *s = calloc(1, sizeof *s);

    assert_non_null(s);
    test_publisher_open(&s->pub);
    s->pub.what.sign_key = test_sign_key;
    s->server.site = &s->pub.site;
    s->place_ops = test_store_ops(&s->place);
    s->fetcher = test_server_fetcher(&s->server);
    s->wants = (umbel_admission)UMBEL_ADMISSION_INIT;
    s->params = (umbel_pull_params)UMBEL_PULL_INIT;
    s->params.url = "https://example.org/lists/words";
    s->params.wants = &s->wants;
    s->params.trust_key = test_trust_key;
    assert_ok(test_publish(&s->pub));
    open_puller(s);
    return s;
}

void fixture_close(fixture *s)
{
    umbel_pull_close(s->puller);
    test_publisher_close(&s->pub);
    test_store_fini(&s->place);
    free(s);
}

int fixture_set_up(void **state)
{
    *state = fixture_open();
    return 0;
}

int fixture_tear_down(void **state)
{
    fixture_close(*state);
    return 0;
}

umbel_status pull(fixture *s)
{
    return umbel_pull_round(s->puller, TEST_NOW, &s->pulled, &test_refusal);
}

void assert_current(fixture *s)
{
    test_file *f = test_store_find(&s->place, "");
    size_t len;
    uint8_t *bytes = test_encode(s->pub.filter, &len);

    assert_non_null(f);
    assert_int_equal(f->len, len);
    assert_memory_equal(f->bytes, bytes, len);
    assert_int_equal(s->place.n, 2); /* the filter and its state */
    free(bytes);
}

void assert_pulls(fixture *s, umbel_pull_route route)
{
    assert_ok(pull(s));
    assert_int_equal(s->pulled.route, route);
    assert_int_equal(s->pulled.serial, s->pub.done.serial);
    assert_int_equal(s->pulled.bytes, s->pub.done.bytes);
    assert_current(s);
}

void assert_refuses(fixture *s, umbel_status status, const char *word)
{
    test_file *f = test_store_find(&s->place, "");
    size_t len = f ? f->len : 0;
    uint8_t *before = malloc(len + 1);

    assert_non_null(before);
    memcpy(before, f ? f->bytes : before, len);
    assert_refused(pull(s), status, word);
    test_file *now = test_store_find(&s->place, "");
    assert_true(!f == !now);
    if (now) {
        assert_int_equal(now->len, len);
        assert_memory_equal(now->bytes, before, len);
    }
    free(before);
}

const char manifest[] = "words.manifest";

test_file *manifest_of(fixture *s)
{
    return test_store_find(&s->pub.site, manifest);
}
