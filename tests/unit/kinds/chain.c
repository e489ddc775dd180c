/* chain.c - grown RedisBloom filters, as filters of ours. */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"
#include "foreign/redisbloom.h"
#include "kinds/rows.h"

#include <umbel/experimental/retouch.h>
#include <umbel/foreign.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OTHERS = 2000 };

/*
 * Made by RedisBloom (tests/redisbloom): items, sub-filters, its count, and how
 * many of other:0 .. other:1999 matched.
 */
static const struct grown {
    const char *name;
    unsigned items;
    uint64_t links, inserted, false_positives;
} grown[] = {{"bf-grown-100-to-5000", 5000, 6, 4961, 23},
             {"bf-expansion-4", 2000, 4, 1975, 38},
             {"bf-default", 300, 2, 300, 18}};

static uint8_t *read_sample(const char *name, const char *end, size_t *len)
{
    char file[64];

    snprintf(file, sizeof file, "../redisbloom/%s%s", name, end);
    char *path = test_path(UM_GOLDEN_DIR, file);
    uint8_t *bytes = test_read_file(path, len);
    free(path);
    return bytes;
}

static umbel_filter *import_sample(const char *name)
{
    umbel_filter *f = NULL;
    size_t len;
    uint8_t *bytes = read_sample(name, ".bf", &len);

    assert_ok(umbel_import("redisbloom", bytes, len, NULL, &f, &test_refusal));
    free(bytes);
    return f;
}

static uint8_t *export_bytes(const umbel_filter *f, size_t *len)
{
    char *dir = test_dir_make(), *path = test_path(dir, "f.bf");

    assert_ok(umbel_export(f, "redisbloom", path, &test_refusal));
    uint8_t *bytes = test_read_file(path, len);
    free(path);
    test_dir_remove(dir);
    return bytes;
}

static bool has(const umbel_filter *f, const char *name, unsigned i)
{
    char text[32];
    bool hit;

    snprintf(text, sizeof text, "%s:%u", name, i);
    assert_ok(umbel_query(f, text, strlen(text), &hit, &test_refusal));
    return hit;
}

static unsigned count_hits(const umbel_filter *f, const char *name, unsigned n)
{
    unsigned hits = 0;

    for (unsigned i = 0; i < n; i++)
        hits += has(f, name, i);
    return hits;
}

static void add_items(umbel_filter *f, const char *name, unsigned from,
                      unsigned to)
{
    char text[32];
    bool fresh;

    for (unsigned i = from; i < to; i++) {
        snprintf(text, sizeof text, "%s:%u", name, i);
        assert_ok(umbel_add(f, text, strlen(text), &fresh, &test_refusal));
    }
}

static void a_grown_filter_answers_alike_and_goes_back_unchanged(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(grown); i++) {
        size_t len, again;
        umbel_filter *f = import_sample(grown[i].name);
        uint8_t *bytes = read_sample(grown[i].name, ".bf", &len);
        assert_int_equal(um_chain_links(f->self), grown[i].links);
        assert_int_equal(umbel_added(f), grown[i].inserted);
        assert_int_equal(count_hits(f, "item", grown[i].items), grown[i].items);
        assert_int_equal(count_hits(f, "other", OTHERS),
                         grown[i].false_positives);
        uint8_t *back = export_bytes(f, &again);
        assert_int_equal(again, len);
        assert_memory_equal(back, bytes, len);
        free(back);
        free(bytes);
        umbel_close(f);
    }
}

/* Checks a golden file made by convert --from redisbloom. */
static void its_file_is_what_it_was(void **state)
{
    size_t len, file_len;
    umbel_filter *f = import_sample(grown[0].name), *old = NULL;
    uint8_t *file = read_sample(grown[0].name, "-v2.umb", &file_len);
    uint8_t *bytes = malloc(umbel_encoded_len(f));

    (void)state;
    assert_non_null(bytes);
    assert_ok(umbel_decode(file, file_len, NULL, &old, &test_refusal));
    assert_int_equal(count_hits(old, "other", OTHERS),
                     grown[0].false_positives);
    assert_int_equal(umbel_encoded_len(f), file_len);
    assert_ok(umbel_encode(f, bytes, file_len, &len, &test_refusal));
    assert_memory_equal(bytes, file, file_len);
    free(bytes);
    free(file);
    umbel_close(old);
    umbel_close(f);
}

static void the_same_items_give_the_dump_that_redisbloom_gave(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    size_t len, again;
    uint8_t *theirs = read_sample(grown[0].name, ".bf", &len);

    (void)state;
    p.capacity = 100;
    p.fpr = 0.01;
    assert_ok(umbel_create(UM_CHAIN_KIND, &p, &f, &test_refusal));
    add_items(f, "item", 0, grown[0].items);
    uint8_t *ours = export_bytes(f, &again);
    assert_int_equal(again, len);
    assert_memory_equal(ours, theirs, len);
    free(ours);
    free(theirs);
    umbel_close(f);
}

static void it_grows_further_and_keeps_its_error(void **state)
{
    umbel_filter *f = import_sample(grown[0].name);
    enum { ITEMS = 30000, ASKED = 20000 };

    (void)state;
    add_items(f, "item", grown[0].items, ITEMS);
    assert_int_equal(um_chain_links(f->self), 9);
    assert_int_equal(count_hits(f, "item", ITEMS), ITEMS);
    unsigned hits = count_hits(f, "other", ASKED);
    double rate = hits / (double)ASKED, p = umbel_predict(f);
    assert_true(rate < 0.012);
    assert_near(rate, p, 5 * sqrt(p * (1 - p) / ASKED) + 0.1 * p);
    umbel_close(f);
}

static void a_full_filter_that_does_not_grow_refuses(void **state)
{
    size_t len;
    uint8_t *bytes = read_sample(grown[2].name, ".bf", &len);
    umbel_filter *f = NULL;
    char text[32];
    umbel_status status = UMBEL_OK;
    bool fresh;

    (void)state;
    bytes[12] |= UM_BF_FIXED;
    assert_ok(umbel_import("redisbloom", bytes, len, NULL, &f, &test_refusal));
    for (unsigned i = 0; i < 1000 && !status; i++) {
        snprintf(text, sizeof text, "more:%u", i);
        status = umbel_add(f, text, strlen(text), &fresh, NULL);
    }
    assert_int_equal(status, UMBEL_E_FULL);
    uint8_t *back = export_bytes(f, &len);
    assert_true(back[12] & UM_BF_FIXED);
    free(back);
    free(bytes);
    umbel_close(f);
}

/* --- merging ----------------------------------------------------------------
 */

static void a_merged_filter_has_the_items_of_both(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(grown); i++)
        for (size_t j = 0; j < TEST_COUNT(grown); j++) {
            umbel_filter *a = import_sample(grown[i].name);
            umbel_filter *b = import_sample(grown[j].name);
            add_items(b, "more", 0, 700);
            assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
            assert_int_equal(count_hits(a, "item", grown[i].items),
                             grown[i].items);
            assert_int_equal(count_hits(a, "item", grown[j].items),
                             grown[j].items);
            assert_int_equal(count_hits(a, "more", 700), 700);
            /* at most the sum of the requested errors, 0.02 each */
            assert_true(umbel_predict(a) < 0.04);
            uint64_t links = um_chain_links(a->self);
            assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
            assert_int_equal(um_chain_links(a->self), links);
            umbel_close(a);
            umbel_close(b);
        }
}

static void other_merges_are_refused(void **state)
{
    umbel_filter *a = import_sample(grown[0].name);
    umbel_filter *b = import_sample("bf-reserved-1pct-1000");

    (void)state;
    assert_int_equal(umbel_merge(a, b, UMBEL_OR, NULL), UMBEL_E_MISMATCH);
    assert_int_equal(umbel_merge(b, a, UMBEL_OR, NULL), UMBEL_E_MISMATCH);
    assert_int_equal(umbel_merge(a, a, UMBEL_AND, NULL), UMBEL_E_UNSUPPORTED);
    umbel_close(a);
    umbel_close(b);
}

/* --- retouching -------------------------------------------------------------
 */

typedef struct key_list {
    umbel_digest *digest;
    umbel_key_list list;
} key_list;

/* Returns those of name:0 .. name:n-1 that match. */
static key_list matching(const umbel_filter *f, const char *name, unsigned n)
{
    key_list k = {.digest = calloc(n, sizeof *k.digest)};
    char text[32];

    assert_non_null(k.digest);
    for (unsigned i = 0; i < n; i++)
        if (has(f, name, i)) {
            snprintf(text, sizeof text, "%s:%u", name, i);
            umbel_slice key = {text, strlen(text)};
            assert_ok(umbel_digest_many(f, &key, 1, &k.digest[k.list.n++],
                                        &test_refusal));
        }
    k.list.size = sizeof k.list;
    k.list.digests = k.digest;
    return k;
}

static void retouching_removes_keys_from_all_links(void **state)
{
    enum { NEGATIVES = 20000 };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(grown); i++) {
        umbel_filter *f = import_sample(grown[i].name);
        key_list members = matching(f, "item", grown[i].items);
        key_list never = matching(f, "other", NEGATIVES);
        umbel_retouch_params p = UMBEL_RETOUCH_INIT;
        umbel_retouch_result r;
        bool *lost = calloc(grown[i].items, sizeof *lost);
        size_t told = 0;

        p.max_fn = 1;
        assert_non_null(lost);
        assert_ok(umbel_retouch(f, &members.list, &never.list, &p, &r, lost,
                                &test_refusal));
        assert_int_equal(r.matched, never.list.n);
        assert_int_equal(r.removed, never.list.n);
        assert_int_equal(count_hits(f, "other", NEGATIVES), 0);
        assert_int_equal(count_hits(f, "item", grown[i].items),
                         grown[i].items - r.lost);
        for (size_t j = 0; j < members.list.n; j++)
            told += lost[j];
        assert_int_equal(told, r.lost);
        assert_int_equal(umbel_known_false_negatives(f), r.lost);
        assert_true(r.lost > 0 && r.lost < members.list.n / 2);
        free(lost);
        free(members.digest);
        free(never.digest);
        umbel_close(f);
    }
}

/* --- untrusted bytes --------------------------------------------------------
 */

static void numbers_that_contradict_each_other_are_harmless(void **state)
{
    umbel_filter *whole = import_sample(grown[1].name);
    uint64_t hard[] = {0, 1, 7, 8, 64, UINT64_MAX, (uint64_t)1 << 63};
    size_t table = (size_t)grown[1].links * 6 * 8;
    umbel_filter *f = NULL;
    um_rng rng = {7};

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        assert_ok(umbel_copy(whole, &f, &test_refusal));
        uint8_t *at = f->payload + f->payload_len - UM_SECTION_ALIGN;
        at -= (table - 1) / UM_SECTION_ALIGN * UM_SECTION_ALIGN;
        for (unsigned j = 0; j < 1 + i % 3; j++)
            um_store64(at + 8 * um_random_below(&rng, table / 8),
                       i % 2 ? um_random(&rng)
                             : hard[um_random_below(&rng, TEST_COUNT(hard))]);
        has(f, "item", i);
        double p = umbel_predict(f);
        assert_true(p >= 0 && p <= 1);
        uint64_t len;
        (void)umbel_export_len(f, "redisbloom", &len, NULL);
        umbel_filter *copy = NULL;
        assert_ok(umbel_copy(f, &copy, &test_refusal));
        umbel_merge(copy, whole, UMBEL_OR, NULL);
        bool fresh;
        umbel_add(copy, "x", 1, &fresh, NULL);
        umbel_close(copy);
        umbel_close(f);
    }
    umbel_close(whole);
}

TEST_GROUP(chain)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grown_filter_answers_alike_and_goes_back_unchanged),
        cmocka_unit_test(its_file_is_what_it_was),
        cmocka_unit_test(the_same_items_give_the_dump_that_redisbloom_gave),
        cmocka_unit_test(it_grows_further_and_keeps_its_error),
        cmocka_unit_test(a_full_filter_that_does_not_grow_refuses),
        cmocka_unit_test(a_merged_filter_has_the_items_of_both),
        cmocka_unit_test(other_merges_are_refused),
        cmocka_unit_test(retouching_removes_keys_from_all_links),
        cmocka_unit_test(numbers_that_contradict_each_other_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
