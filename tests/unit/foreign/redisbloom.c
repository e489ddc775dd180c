/*
 * redisbloom.c - filters made by RedisBloom (tests/redisbloom), rebuilt here.
 */
#include "support/test.h"

#include "base/hash.h"
#include "foreign/redisbloom.h"

#include <umbel/file.h>
#include <umbel/foreign.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_LIMIT UINT64_MAX

/*
 * Arguments of BF.RESERVE, the number of items added one by one, and the answer
 * of BF.INFO.
 */
typedef struct sample {
    const char *name;
    um_bf_params params;
    unsigned items;
    uint64_t capacity, size, inserted;
    uint32_t links;
    unsigned false_positives; /* among other:0 .. other:1999 */
    const char *first;        /* the first of these */
} sample;

static const sample samples[] = {
    {"bf-reserved-1pct-1000",
     {1000, 0.01, 2, false},
     1000,
     1000,
     1480,
     1000,
     1,
     8,
     "other:396"},
    {"bf-nonscaling",
     {500, 0.001, 2, true},
     500,
     500,
     1000,
     500,
     1,
     3,
     "other:367"},
    {"bf-grown-100-to-5000",
     {100, 0.01, 2, false},
     5000,
     6300,
     13768,
     4961,
     6,
     23,
     "other:134"},
    {"bf-expansion-4",
     {50, 0.02, 4, false},
     2000,
     4250,
     7448,
     1975,
     4,
     38,
     "other:27"},
    {"bf-default",
     {100, 0.01, 2, false},
     300,
     300,
     616,
     300,
     2,
     18,
     "other:134"},
};

static um_bf *open_bf(const um_bf_params *p)
{
    um_bf *b = NULL;

    assert_ok(um_bf_open(p, NO_LIMIT, NULL, &b, &test_refusal));
    return b;
}

/* Adds name:from .. name:from+n-1 in calls of several items. */
static void add_items(um_bf *b, const char *name, unsigned from, unsigned n)
{
    enum { AT_ONCE = 100 };
    char text[AT_ONCE][32];
    umbel_slice keys[AT_ONCE];
    bool fresh[AT_ONCE];
    size_t done;

    for (unsigned i = 0; i < n; i += AT_ONCE) {
        unsigned some = n - i < AT_ONCE ? n - i : AT_ONCE;
        for (unsigned j = 0; j < some; j++) {
            snprintf(text[j], sizeof text[j], "%s:%u", name, from + i + j);
            keys[j] = (umbel_slice){text[j], strlen(text[j])};
        }
        assert_ok(um_bf_add(b, keys, some, fresh, &done, &test_refusal));
        assert_int_equal(done, some);
    }
}

static bool has(const um_bf *b, const char *key)
{
    umbel_slice slice = {key, strlen(key)};
    bool hit;

    um_bf_query(b, &slice, 1, &hit);
    return hit;
}

static unsigned count_hits(const um_bf *b, const char *name, unsigned n)
{
    char(*text)[32] = calloc(n, sizeof *text);
    umbel_slice *keys = calloc(n, sizeof *keys);
    bool *hit = calloc(n, sizeof *hit);
    unsigned hits = 0;

    for (unsigned i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "%s:%u", name, i);
        keys[i] = (umbel_slice){text[i], strlen(text[i])};
    }
    um_bf_query(b, keys, n, hit);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(hit[i], has(b, text[i]));
        hits += hit[i];
    }
    free(text);
    free(keys);
    free(hit);
    return hits;
}

static uint8_t *read_sample(const sample *s, size_t *len)
{
    char name[64];

    snprintf(name, sizeof name, "../redisbloom/%s.bf", s->name);
    char *path = test_path(UM_GOLDEN_DIR, name);
    uint8_t *bytes = test_read_file(path, len);
    free(path);
    return bytes;
}

/* Returns the bytes of a dump. */
static uint8_t *dump(const um_bf *b, size_t *len)
{
    size_t at = um_bf_header_len(b);
    umbel_slice chunk;

    *len = at + (size_t)um_bf_bytes(b);
    uint8_t *bytes = malloc(*len);
    assert_non_null(bytes);
    um_bf_append_header(b, bytes);
    for (uint64_t offset = 0; (chunk = um_bf_chunk(b, offset)).len;
         offset += chunk.len, at += chunk.len)
        memcpy(bytes + at, chunk.data, chunk.len);
    assert_int_equal(at, *len);
    return bytes;
}

static um_bf *undump(const uint8_t *bytes, size_t len)
{
    um_bf *b = NULL;
    uint64_t header, offset = 0;

    assert_ok(um_bf_header_says(bytes, len, &header, &test_refusal));
    assert_ok(um_bf_from_header(bytes, (size_t)header, NO_LIMIT, true, NULL, &b,
                                &test_refusal));
    for (uint32_t i = 0; i < b->nlinks; i++) {
        size_t some = (size_t)b->links[i].bytes;
        assert_ok(um_bf_load(b, offset, bytes + header + offset, some,
                             &test_refusal));
        offset += some;
    }
    assert_int_equal(header + offset, len);
    return b;
}

static void the_same_items_give_the_dumps_that_redisbloom_gave(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(samples); i++) {
        size_t len, theirs_len;
        um_bf *b = open_bf(&samples[i].params);
        add_items(b, "item", 0, samples[i].items);
        uint8_t *ours = dump(b, &len);
        uint8_t *theirs = read_sample(&samples[i], &theirs_len);
        assert_int_equal(len, theirs_len);
        assert_memory_equal(ours, theirs, len);
        free(ours);
        free(theirs);
        um_bf_close(b);
    }
}

static void dumps_of_redisbloom_answer_as_they_did_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(samples); i++) {
        const sample *s = &samples[i];
        size_t len;
        uint8_t *bytes = read_sample(s, &len);
        um_bf *b = undump(bytes, len);
        assert_int_equal(um_bf_capacity(b), s->capacity);
        assert_int_equal(um_bf_size(b), s->size);
        assert_int_equal(b->items, s->inserted);
        assert_int_equal(b->nlinks, s->links);
        assert_int_equal(count_hits(b, "item", s->items), s->items);
        assert_int_equal(count_hits(b, "other", 2000), s->false_positives);
        assert_true(has(b, s->first));
        um_bf_close(b);
        free(bytes);
    }
}

static void sizes_are_those_of_bf_info(void **state)
{
    static const struct {
        um_bf_params params;
        uint64_t size;
    } sizes[] = {{{100, 0.001, 2, false}, 296},
                 {{100, 0.01, 2, false}, 240},
                 {{100, 0.01, 2, true}, 216}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        um_bf *b = open_bf(&sizes[i].params);
        assert_int_equal(um_bf_size(b), sizes[i].size);
        um_bf_close(b);
    }
}

static void a_filter_that_does_not_grow_refuses_when_it_is_full(void **state)
{
    um_bf *b = open_bf(&(um_bf_params){10, 0.001, 2, true});
    umbel_slice keys[3] = {{"item:1", 6}, {"new", 3}, {"newer", 5}};
    bool fresh[3];
    size_t done;

    (void)state;
    add_items(b, "item", 0, 10);
    assert_refused(um_bf_add(b, keys, 3, fresh, &done, &test_refusal),
                   UMBEL_E_FULL, "grow");
    assert_int_equal(done, 1); /* it was already in */
    assert_false(fresh[0]);
    assert_int_equal(b->items, 10);
    um_bf_close(b);
}

static void growing_stops_at_the_limit(void **state)
{
    um_bf *b = NULL;
    um_bf_params p = {100, 0.01, 2, false}, large = {1u << 30, 0.01, 2, false};
    size_t done = 0;
    bool fresh;

    (void)state;
    assert_refused(um_bf_open(&large, 1 << 20, NULL, &b, &test_refusal),
                   UMBEL_E_LIMIT, "limit");
    assert_ok(um_bf_open(&p, 1000, NULL, &b, &test_refusal));
    add_items(b, "item", 0, 300); /* 144 + 312 bytes; the next would be 696 */
    umbel_slice key = {"one more", 8};
    assert_refused(um_bf_add(b, &key, 1, &fresh, &done, &test_refusal),
                   UMBEL_E_LIMIT, "limit");
    assert_int_equal(b->nlinks, 2);
    assert_int_equal(count_hits(b, "item", 300), 300);
    um_bf_close(b);
}

static void a_merged_filter_has_the_items_of_both(void **state)
{
    um_bf_params p = {1000, 0.01, 2, false}, other = {700, 0.001, 2, false};
    um_bf *a = open_bf(&p), *b = open_bf(&p), *c = open_bf(&other);

    (void)state;
    add_items(a, "item", 0, 400);
    add_items(b, "item", 400, 400);
    add_items(c, "item", 800, 400);
    assert_ok(um_bf_merge(a, b, &test_refusal)); /* has space: the same link */
    assert_int_equal(a->nlinks, 1);
    assert_ok(um_bf_merge(a, c, &test_refusal));
    assert_int_equal(a->nlinks, 2);
    assert_int_equal(a->items, a->links[0].items + a->links[1].items);
    assert_int_equal(count_hits(a, "item", 1200), 1200);
    for (int i = 0; i < 3; i++) { /* repeating changes nothing */
        assert_ok(um_bf_merge(a, c, &test_refusal));
        assert_ok(um_bf_merge(a, b, &test_refusal));
        assert_ok(um_bf_merge(a, a, &test_refusal));
    }
    assert_int_equal(a->nlinks, 2);
    add_items(c, "item", 1200, 100);
    assert_ok(um_bf_merge(a, c, &test_refusal)); /* a newer state of a link */
    assert_int_equal(a->nlinks, 2);
    assert_int_equal(count_hits(a, "item", 1300), 1300);
    um_bf_close(a);
    um_bf_close(b);
    um_bf_close(c);
}

static void filters_that_do_not_grow_merge_up_to_their_capacity(void **state)
{
    um_bf_params p = {1000, 0.01, 2, true};
    um_bf *a = open_bf(&p), *b = open_bf(&p);

    (void)state;
    add_items(a, "item", 0, 600);
    add_items(b, "item", 600, 600);
    assert_refused(um_bf_merge(a, b, &test_refusal), UMBEL_E_FULL, "grow");
    um_bf_close(a);
    um_bf_close(b);
}

/*
 * Checks that a header with any byte changed is refused, or gives a usable
 * filter.
 */
static void changed_headers_are_refused_or_harmless(void **state)
{
    size_t len;
    uint8_t *bytes = read_sample(&samples[4], &len);
    umbel_slice key = {"item", 4};
    size_t done;
    bool fresh;
    enum { HEADER = UM_BF_HEAD + 2 * UM_BF_LINK };

    (void)state;
    for (size_t i = 0; i < (size_t)HEADER * 8; i++) {
        um_bf *b = NULL;
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
        if (um_bf_from_header(bytes, HEADER, 1 << 20, true, NULL, &b,
                              &test_refusal) == UMBEL_OK) {
            assert_true(um_bf_bytes(b) <= 1 << 20);
            um_bf_add(b, &key, 1, &fresh, &done, NULL);
            assert_true(um_bf_bytes(b) <= 1 << 20);
            um_bf_close(b);
        }
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t i = 0; i < HEADER; i++) {
        um_bf *b = NULL;
        assert_int_not_equal(
            um_bf_from_header(bytes, i, 1 << 20, true, NULL, &b, &test_refusal),
            UMBEL_OK);
    }
    free(bytes);
}

/* Each link costs time in every query, although a header is short. */
static void headers_with_very_many_sub_filters_are_refused(void **state)
{
    const um_bf_params p = {1, 0.01, 1, false};
    um_bf *b = open_bf(&p), *many = NULL;
    umbel_status status = UMBEL_OK;

    (void)state;
    while (b->nlinks < UM_BF_MAX_LINKS && !status) {
        um_bf_link link = b->links[0];
        assert_ok(um_bf_link_bits(b, &link, &test_refusal));
        status = um_bf_append(b, &link, &test_refusal);
    }
    assert_ok(status);
    assert_int_equal(um_bf_append(b, &b->links[0], &test_refusal),
                     UMBEL_E_LIMIT);
    size_t len = um_bf_header_len(b) + UM_BF_LINK;
    uint8_t *header = calloc(1, len);
    assert_non_null(header);
    um_bf_append_header(b, header);
    assert_ok(um_bf_from_header(header, len - UM_BF_LINK, NO_LIMIT, true, NULL,
                                &many, &test_refusal));
    um_bf_close(many);
    memcpy(header + len - UM_BF_LINK, header + UM_BF_HEAD, UM_BF_LINK);
    um_write_u32(&(um_writer){header + 8, header + 12, false},
                 UM_BF_MAX_LINKS + 1);
    assert_int_equal(um_bf_from_header(header, len, NO_LIMIT, true, NULL, &many,
                                       &test_refusal),
                     UMBEL_E_LIMIT);
    free(header);
    um_bf_close(b);
}

static void chunks_stay_inside_their_sub_filter(void **state)
{
    um_bf *b = open_bf(&(um_bf_params){100, 0.01, 2, false});
    uint8_t bytes[200] = {0};

    (void)state;
    assert_ok(um_bf_load(b, 0, bytes, 144, &test_refusal));
    assert_refused(um_bf_load(b, 1, bytes, 144, &test_refusal), UMBEL_E_LIMIT,
                   "longer");
    assert_refused(um_bf_load(b, 144, bytes, 1, &test_refusal), UMBEL_E_RANGE,
                   "end");
    assert_refused(um_bf_load(b, UINT64_MAX, bytes, 1, &test_refusal),
                   UMBEL_E_RANGE, "end");
    um_bf_close(b);
}

/* --- as umbel filters -------------------------------------------------------
 */

static void
an_imported_filter_answers_alike_and_goes_back_unchanged(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) { /* with one sub-filter */
        size_t len, again;
        uint8_t *bytes = read_sample(&samples[i], &len);
        umbel_filter *f = NULL;
        char *dir = test_dir_make(), *path = test_path(dir, "f.bf");
        bool hit;

        assert_ok(
            umbel_import("redisbloom", bytes, len, NULL, &f, &test_refusal));
        assert_int_equal(umbel_added(f), samples[i].inserted);
        assert_ok(umbel_query(f, samples[i].first, strlen(samples[i].first),
                              &hit, &test_refusal));
        assert_true(hit);
        assert_ok(umbel_export(f, "redisbloom", path, &test_refusal));
        uint8_t *back = test_read_file(path, &again);
        assert_int_equal(again, len);
        assert_memory_equal(back, bytes, len);
        free(back);
        free(path);
        test_dir_remove(dir);
        umbel_close(f);
        free(bytes);
    }
}

/* Checks that each file is refused or exported unchanged. */
static void options_that_are_imported_go_back_unchanged(void **state)
{
    size_t len, again, kept = 0;
    uint8_t *bytes = read_sample(&samples[0], &len);

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        umbel_filter *f = NULL;
        char *dir = test_dir_make(), *path = test_path(dir, "f.bf");
        bytes[12] = (uint8_t)(i & 15);
        bytes[16] = (uint8_t)(i >> 4);
        if (umbel_import("redisbloom", bytes, len, NULL, &f, NULL) ==
            UMBEL_OK) {
            assert_ok(umbel_export(f, "redisbloom", path, &test_refusal));
            uint8_t *back = test_read_file(path, &again);
            assert_memory_equal(back, bytes, len);
            free(back);
            umbel_close(f);
            kept++;
        }
        free(path);
        test_dir_remove(dir);
    }
    assert_int_equal(kept, 8); /* four expansions, growing or not */
    free(bytes);
}

static void an_imported_filter_keeps_its_expansion_in_a_file(void **state)
{
    size_t len, file_len, again;
    uint8_t *bytes = read_sample(&samples[0], &len), *file;
    umbel_filter *f = NULL, *back = NULL;
    char *dir = test_dir_make(), *path = test_path(dir, "f");

    (void)state;
    assert_ok(umbel_import("redisbloom", bytes, len, NULL, &f, &test_refusal));
    umbel_set_coded(f, true);
    assert_ok(umbel_save(f, path, &test_refusal));
    file = test_read_file(path, &file_len);
    assert_ok(umbel_decode(file, file_len, NULL, &back, &test_refusal));
    assert_ok(umbel_export(back, "redisbloom", path, &test_refusal));
    uint8_t *theirs = test_read_file(path, &again);
    assert_int_equal(again, len);
    assert_memory_equal(theirs, bytes, len);
    free(theirs);
    free(file);
    free(path);
    test_dir_remove(dir);
    umbel_close(f);
    umbel_close(back);
    free(bytes);
}

static void murmur_gives_the_published_numbers(void **state)
{
    (void)state;
    assert_int_equal(um_murmur64a("", 0, 0), 0);
    assert_int_equal(um_murmur32("", 0, 0), 0);
    assert_int_equal(um_murmur64a("hello", 5, 0), UINT64_C(0x1E68D17C457BF117));
    assert_int_equal(um_murmur32("hello", 5, 0), 0xE56129CB);
}

TEST_GROUP(redisbloom)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(murmur_gives_the_published_numbers),
        cmocka_unit_test(the_same_items_give_the_dumps_that_redisbloom_gave),
        cmocka_unit_test(dumps_of_redisbloom_answer_as_they_did_there),
        cmocka_unit_test(sizes_are_those_of_bf_info),
        cmocka_unit_test(a_filter_that_does_not_grow_refuses_when_it_is_full),
        cmocka_unit_test(growing_stops_at_the_limit),
        cmocka_unit_test(a_merged_filter_has_the_items_of_both),
        cmocka_unit_test(filters_that_do_not_grow_merge_up_to_their_capacity),
        cmocka_unit_test(changed_headers_are_refused_or_harmless),
        cmocka_unit_test(headers_with_very_many_sub_filters_are_refused),
        cmocka_unit_test(chunks_stay_inside_their_sub_filter),
        cmocka_unit_test(
            an_imported_filter_answers_alike_and_goes_back_unchanged),
        cmocka_unit_test(options_that_are_imported_go_back_unchanged),
        cmocka_unit_test(an_imported_filter_keeps_its_expansion_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
