/* inline.c - inlined queries give the same answers as umbel_query. */
#include "support/inline_query.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "filter/handle.h"

#include <string.h>

enum { TEXT = 40 };

static bool has_avx2(void)
{
#ifdef __x86_64__
    return um_has_avx2();
#else
    return false;
#endif
}

static void same_answer(const umbel_filter *f, const umbel_view *v,
                        const void *key, size_t len)
{
    bool hit;

    assert_ok(umbel_query(f, key, len, &hit, &test_refusal));
    assert_int_equal(test_inline_plain(v, key, len), hit);
    if (has_avx2())
        assert_int_equal(test_inline_avx2(v, key, len), hit);
}

/* Compares members and others, of every length that is hashed differently. */
static void same_answers(umbel_filter *f, um_rng *rng)
{
    umbel_view v;
    uint8_t text[TEXT];

    assert_ok(umbel_view_init(&v, f, &test_refusal));
    for (int round = 0; round < 400; round++) {
        for (size_t i = 0; i < TEXT; i++)
            text[i] = (uint8_t)um_random(rng);
        size_t len = (size_t)round % (TEXT + 1);
        same_answer(f, &v, text, len);
        same_answer(f, &v, text, 8);
        if (round % 3 == 0)
            assert_ok(umbel_add(f, text, len, NULL, &test_refusal));
        same_answer(f, &v, text, len);
    }
}

static umbel_status open_filter(const char *kind, const char *addressing,
                                uint32_t hashes, uint64_t seed,
                                umbel_filter **out)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.cells = 512 * 13;
    p.hashes = hashes;
    p.seed = seed;
    return umbel_create(kind, &p, out, &test_refusal);
}

static void views_answer_as_umbel_query_does(void **state)
{
    static const char *const addressings[] = {"blocked256", "blocked512"};
    um_rng rng = {1};

    (void)state;
    for (size_t a = 0; a < TEST_COUNT(addressings); a++)
        for (uint32_t hashes = 1; hashes <= 16; hashes++) {
            umbel_filter *f = NULL;
            assert_ok(open_filter("bloom", addressings[a], hashes,
                                  hashes % 3 ? um_random(&rng) : 0, &f));
            same_answers(f, &rng);
            umbel_close(f);
        }
}

/* Returns true if the header promises to support such a filter. */
static bool is_served(const umbel_filter *f)
{
    const um_shape *s = um_shape_of(f);

    return strcmp(s->kind->name, "bloom") == 0 && s->hashes <= 16 &&
           (strcmp(s->addressing->name, "blocked256") == 0 ||
            strcmp(s->addressing->name, "blocked512") == 0);
}

static void every_pair_is_served_or_refused(void **state)
{
    const um_kind *kind;
    const um_addressing *row;
    size_t served = 0, refused = 0;

    (void)state;
    for (size_t k = 0; (kind = um_kind_row(k)); k++)
        for (size_t a = 0; (row = um_addressing_row(a)); a++) {
            umbel_filter *f = NULL;
            umbel_view v;
            if (open_filter(kind->name, row->name, 0, 1, &f) != UMBEL_OK)
                continue;
            umbel_status got = umbel_view_init(&v, f, &test_refusal);
            assert_int_equal(got,
                             is_served(f) ? UMBEL_OK : UMBEL_E_UNSUPPORTED);
            *(got ? &refused : &served) += 1;
            umbel_close(f);
        }
    assert_int_equal(served, 2);
    assert_true(refused > 10);
}

static void expect_refusal(const umbel_filter *f, const char *word)
{
    umbel_view v = {.hashes = 99};

    assert_int_equal(umbel_view_init(&v, f, &test_refusal),
                     UMBEL_E_UNSUPPORTED);
    assert_non_null(strstr(test_refusal.text, word));
    assert_non_null(strstr(test_refusal.text, "use umbel_query"));
    assert_int_equal(v.hashes, 99);
}

static void other_settings_are_refused_by_name(void **state)
{
    static const uint8_t secret[UMBEL_SECRET_LEN] = {1};
    umbel_setting groups = {"groups", 2};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.capacity = 100;
    p.hash = "sip";
    p.secret = secret;
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    expect_refusal(f, "hash sip");
    umbel_close(f);
    p.hash = "xxh3-128";
    p.secret = NULL;
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    expect_refusal(f, "hash xxh3-128");
    umbel_close(f);
    p.hash = NULL;
    p.settings = &groups;
    p.nsettings = 1;
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    expect_refusal(f, "groups");
    umbel_close(f);
    assert_ok(open_filter("bloom", "blocked512", 17, 0, &f));
    expect_refusal(f, "more than 16");
    umbel_close(f);
    assert_ok(open_filter("bloom", "blocked512", 6, 0, &f));
    assert_ok(umbel_share(f, &test_refusal));
    expect_refusal(f, "umbel_share");
    umbel_close(f);
}

TEST_GROUP(inline)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_answer_as_umbel_query_does),
        cmocka_unit_test(every_pair_is_served_or_refused),
        cmocka_unit_test(other_settings_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
