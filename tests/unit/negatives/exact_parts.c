/*
 * exact_parts.c - exact sets of keys in partitions.
 */
#include "support/test.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "filter/handle.h"
#include "filter/sizing.h"
#include "kinds/ribbon/ribbon.h"
#include "negatives/exact/exact.h"

#include <umbel/admit.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 40, KEY_LEN = 48 };

/* Keys "P<part>\t<number>"; members come first. */
typedef struct fixture {
    umbel_params params;
    umbel_filter *empty;
    char (*keys)[KEY_LEN];
    umbel_digest *digests;
    size_t n, all;
    umbel_alloc alloc;
    um_part_counts counts;
    double least; /* bits: the sum of the entropies */
} fixture;

static double log2_choose(double n, double k)
{
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2);
}

/*
 * Returns the members of a part: none of the first, all of the second, half of
 * the third, and fewer and fewer of the others.
 */
static size_t members_of(size_t part, size_t size)
{
    if (part < 2)
        return part ? size : 0;
    size_t few = (size >> part / 4) + 1;
    return part == 2 ? size / 2 : few < size ? few : size;
}

static void write_key(fixture *s, size_t part, size_t number)
{
    snprintf(s->keys[s->all++], KEY_LEN, "P%zu\t%zu", part, number);
}

static void create_keys(fixture *s, size_t size)
{
    for (size_t part = 0; part < PARTS; part++)
        for (size_t i = 0; i < members_of(part, size); i++)
            write_key(s, part, i);
    s->n = s->all;
    for (size_t part = 0; part < PARTS; part++) {
        size_t members = members_of(part, size);
        for (size_t i = members; i < size; i++)
            write_key(s, part, i);
        s->least += log2_choose((double)size, (double)members);
    }
}

static void digest_keys(fixture *s)
{
    for (size_t i = 0; i < s->all; i++) {
        umbel_slice key = {s->keys[i], strlen(s->keys[i])};
        assert_ok(umbel_digest_many(s->empty, &key, 1, &s->digests[i],
                                    &test_refusal));
    }
}

/*
 * Creates members and listed keys in parts; without a hash the filter is not
 * partitioned.
 */
static void fixture_init(fixture *s, const char *hash, size_t size)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.hash = hash;
    *s = (fixture){.params = p, .alloc = um_alloc_or_default(NULL)};
    s->counts.alloc = &s->alloc;
    assert_ok(umbel_build("ribbon", &p, NULL, NULL, &s->empty, &test_refusal));
    s->keys = malloc(PARTS * size * sizeof *s->keys);
    s->digests = malloc(PARTS * size * sizeof *s->digests);
    assert_true(s->keys && s->digests);
    create_keys(s, size);
    digest_keys(s);
    assert_true(um_part_counts_add(&s->counts, s->digests, s->all));
    um_part_counts_sort(&s->counts);
}

static void fixture_fini(fixture *s)
{
    umbel_close(s->empty);
    um_part_counts_fini(&s->counts);
    free(s->keys);
    free(s->digests);
}

static umbel_status try_build(const fixture *s, umbel_filter **out,
                              umbel_exact_result *bill)
{
    umbel_key_list m = UMBEL_KEY_LIST(s->digests, s->n);
    umbel_exact *x = NULL;
    umbel_status status =
        s->params.hash
            ? umbel_exact_open_parts(&s->params, &m, NULL, s->counts.slots,
                                     s->counts.n, &x, &test_refusal)
            : umbel_exact_open(&s->params, &m, NULL, s->all - s->n, &x,
                               &test_refusal);

    if (status == UMBEL_OK)
        status = umbel_exact_never(x, TEST_LIST(s->digests, NULL, s->all), NULL,
                                   &test_refusal);
    if (status == UMBEL_OK)
        assert_int_equal(umbel_exact_unlisted(x, NULL, 0), 0);
    if (status == UMBEL_OK)
        status = umbel_exact_finish(x, out, bill, &test_refusal);
    umbel_exact_close(x);
    return status;
}

static umbel_filter *build(const fixture *s, umbel_exact_result *bill)
{
    umbel_filter *f = NULL;

    assert_ok(try_build(s, &f, bill));
    return f;
}

static void assert_exact(const umbel_filter *f, const fixture *s)
{
    for (size_t i = 0; i < s->all; i++) {
        bool hit;
        assert_ok(umbel_query(f, s->keys[i], strlen(s->keys[i]), &hit,
                              &test_refusal));
        assert_int_equal(hit, i < s->n);
    }
}

static void every_answer_is_right_in_few_bits(void **state)
{
    static const size_t sizes[] = {1, 7, 100, 1000, 20000};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        umbel_exact_result bill;
        fixture s;
        fixture_init(&s, "xxh3-field1", sizes[i]);
        umbel_filter *f = build(&s, &bill);
        assert_exact(f, &s);
        assert_int_equal(bill.lost, 0);
        assert_int_equal(bill.matched, 0);
        assert_int_equal(bill.partitions, PARTS);
        if (sizes[i] == 20000)
            assert_true(8 * (double)umbel_encoded_len(f) <= 1.12 * s.least);
        umbel_close(f);
        fixture_fini(&s);
    }
}

static void partitions_of_different_shares_take_less(void **state)
{
    umbel_exact_result bill;
    fixture with, without;

    (void)state;
    fixture_init(&with, "xxh3-field1", 5000);
    fixture_init(&without, NULL, 5000);
    umbel_filter *a = build(&with, &bill), *b = build(&without, &bill);
    assert_int_equal(bill.partitions, 0);
    assert_true(umbel_encoded_len(a) < umbel_encoded_len(b) * 7 / 10);
    umbel_close(a);
    umbel_close(b);
    fixture_fini(&with);
    fixture_fini(&without);
}

static void a_prefix_is_a_partition_too(void **state)
{
    umbel_exact_result bill;
    fixture s;

    (void)state;
    fixture_init(&s, "xxh3-first2", 300); /* P0 to P9; P1 to P3 have many */
    umbel_filter *f = build(&s, &bill);
    assert_int_equal(bill.partitions, 10);
    assert_exact(f, &s);
    umbel_close(f);
    fixture_fini(&s);
}

static void a_file_answers_like_its_filter(void **state)
{
    umbel_exact_result bill;
    umbel_filter *back = NULL;
    size_t len;
    fixture s;

    (void)state;
    fixture_init(&s, "xxh3-field1", 500);
    umbel_filter *f = build(&s, &bill);
    uint8_t *bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    assert_exact(back, &s);
    umbel_close(back);
    umbel_close(f);
    free(bytes);
    fixture_fini(&s);
}

static void parts_of_keys_decide_on_hi(void **state)
{
    static const struct {
        const char *hash, *key, *part;
    } rows[] = {
        {"xxh3-field1", "a\tb\tc", "a"}, {"xxh3-field2", "a\tb\tc", "b"},
        {"xxh3-field3", "a\tb\tc", "c"}, {"xxh3-field4", "a\tb\tc", ""},
        {"xxh3-field1", "abc", "abc"},   {"xxh3-field2", "abc", ""},
        {"xxh3-field2", "a\t\tc", ""},   {"xxh3-field2", "a\t", ""},
        {"xxh3-first2", "abc", "ab"},    {"xxh3-first16", "abc", "abc"},
        {"xxh3-first1", "", ""}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        const um_hash *plain = um_hash_find("xxh3-64");
        const um_hash *row = um_hash_find(rows[i].hash);
        umbel_slice key = {rows[i].key, strlen(rows[i].key)};
        umbel_slice part = {rows[i].part, strlen(rows[i].part)};
        umbel_digest got, whole, of_part;
        um_hasher a, b;
        assert_non_null(row);
        assert_ptr_equal(um_hash_of_part(row->part), row);
        um_hasher_init(&a, row, 5, NULL);
        um_hasher_init(&b, plain, 5, NULL);
        row->digest(&a, &key, 1, &got);
        plain->digest(&b, &key, 1, &whole);
        plain->digest(&b, &part, 1, &of_part);
        assert_int_equal(got.lo, whole.lo);
        assert_int_equal(got.hi, of_part.lo);
    }
    assert_null(um_hash_find("xxh3-field0"));
    assert_null(um_hash_of_part(0));
    assert_null(um_hash_of_part(10));
}

/* --- refusals --------------------------------------------------------------
 */

static void what_does_not_go_together_is_refused(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_exact *x = NULL;
    umbel_filter *f = NULL;
    fixture s;

    (void)state;
    fixture_init(&s, "xxh3-field1", 20);
    umbel_key_list m = UMBEL_KEY_LIST(s.digests, s.n);
#define OPEN(params, parts, n)                                                 \
    umbel_exact_open_parts(params, &m, NULL, parts, n, &x, &test_refusal)
    assert_refused(OPEN(&p, s.counts.slots, s.counts.n), UMBEL_E_RANGE,
                   "xxh3-field1");
    assert_refused(umbel_exact_open(&s.params, &m, NULL, 9, &x, &test_refusal),
                   UMBEL_E_RANGE, "go together");
    assert_refused(OPEN(&s.params, NULL, 0), UMBEL_E_KEY, "39 partitions");
    assert_refused(OPEN(&s.params, s.counts.slots + 5, 35), UMBEL_E_KEY,
                   "universe has no keys");
    p = s.params;
    p.fpr = 0.01;
    assert_refused(OPEN(&p, s.counts.slots, s.counts.n), UMBEL_E_RANGE,
                   "leave them out");
    umbel_exact_part wrong[2] = {{5, 1}, {5, 1}};
    assert_refused(OPEN(&s.params, wrong, 2), UMBEL_E_RANGE, "ascend");
    assert_refused(
        umbel_build("ribbon", &s.params, &m, NULL, &f, &test_refusal),
        UMBEL_E_RANGE, "universe");
    p = s.params;
    p.capacity = 10;
    assert_refused(umbel_create("bloom", &p, &f, &test_refusal), UMBEL_E_RANGE,
                   "partitions");
    fixture_fini(&s);
}

/* Numbers of settings, as in docs/FORMAT.md. */
enum { FINER = 1, STEPS = 10, INDEX_BITS = 13, INDEX_TAIL = 16, INDEX_SALT };

static umbel_status fits(um_shape s, int setting, uint64_t value)
{
    s.setting[setting] = value;
    return um_kind_ribbon.built->fits(&s, &test_refusal);
}

static void a_head_whose_numbers_disagree_is_refused(void **state)
{
    umbel_exact_result bill;
    fixture s;

    (void)state;
    fixture_init(&s, "xxh3-field1", 500);
    umbel_filter *f = build(&s, &bill);
    um_shape good = *um_shape_of(f);
    assert_ok(fits(good, FINER, good.setting[FINER]));
    assert_int_equal(fits(good, INDEX_BITS, 0), UMBEL_E_RANGE);
    assert_int_equal(fits(good, INDEX_TAIL, 0), UMBEL_E_RANGE);
    assert_int_equal(fits(good, INDEX_TAIL, 4000), UMBEL_E_RANGE);
    assert_int_equal(fits(good, INDEX_SALT, UM_RIBBON_SALTS), UMBEL_E_RANGE);
    assert_int_equal(fits(good, FINER, 1), UMBEL_E_RANGE); /* below next */
    assert_int_equal(fits(good, STEPS, good.setting[STEPS] | 0xFFFF),
                     UMBEL_E_RANGE);
    assert_int_equal(fits(good, 18, 1), UMBEL_E_RANGE); /* wide alone */
    good.hash = um_hash_find("xxh3-64");
    assert_int_equal(fits(good, FINER, good.setting[FINER]), UMBEL_E_RANGE);
    umbel_close(f);
    fixture_fini(&s);
}

/* Tries any index and levels. */
static void any_payload_is_safe_to_ask(void **state)
{
    umbel_exact_result bill;
    um_rng rng = {4};
    size_t len;
    fixture s;

    (void)state;
    fixture_init(&s, "xxh3-field1", 700);
    umbel_filter *f = build(&s, &bill), *evil = NULL;
    uint8_t *bytes = test_encode(f, &len);
    size_t head = len - f->payload_len;
    for (int round = 0; round < 20; round++) {
        bool hit;
        for (size_t k = 0; k < umbel_cells(f) / 8; k++)
            bytes[head + k] = round ? (uint8_t)um_random(&rng) : 0xFF;
        assert_ok(umbel_decode(bytes, len, NULL, &evil, &test_refusal));
        for (size_t i = 0; i < s.all; i += 7)
            assert_ok(umbel_query(evil, s.keys[i], strlen(s.keys[i]), &hit,
                                  &test_refusal));
        double says = umbel_predict(evil);
        assert_true(says >= 0 && says <= 1);
        umbel_close(evil);
    }
    umbel_close(f);
    free(bytes);
    fixture_fini(&s);
}

/* Returns the share of strangers that match; whole: each is a partition. */
static double share_of_strangers(const umbel_filter *f, size_t n, bool whole)
{
    um_rng rng = {5};
    size_t hits = 0;

    for (size_t i = 0; i < n; i++) {
        umbel_digest d = {um_random(&rng), um_random(&rng)};
        bool hit;
        if (whole)
            d.hi = d.lo;
        assert_ok(umbel_query_digests(f, &d, 1, &hit, &test_refusal));
        hits += hit;
    }
    return (double)hits / (double)n;
}

/* The places with the fewest columns of each entry count, which is a little
 * more than what strangers meet. */
static void the_error_is_at_most_a_tenth_above_that_of_strangers(void **state)
{
    enum { ASKED = 100000 };
    static const size_t sizes[] = {7, 100, 1000, 5000};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        umbel_exact_result bill;
        umbel_ruling ruling;
        fixture s;
        fixture_init(&s, "xxh3-field1", sizes[i]);
        umbel_filter *f = build(&s, &bill);
        double p = umbel_predict(f), spread = 5 * sqrt(p * (1 - p) / ASKED);
        for (int whole = 0; whole < 2; whole++) {
            double share = share_of_strangers(f, ASKED, whole);
            assert_true(share <= p + spread);
            assert_true(share >= p / 1.1 - spread);
        }
        assert_ok(umbel_admit(f, NULL, &ruling, &test_refusal));
        assert_true(ruling.admitted);
        umbel_close(f);
        fixture_fini(&s);
    }
}

static void every_allocation_may_fail(void **state)
{
    umbel_status status;
    size_t n = 0;
    fixture s;

    (void)state;
    fixture_init(&s, "xxh3-field1", 200);
    do {
        test_memory c = {.fail_at = ++n};
        umbel_alloc a = test_alloc(&c);
        umbel_exact_result bill;
        umbel_filter *f = NULL;
        s.params.alloc = &a;
        status = try_build(&s, &f, &bill);
        if (status != UMBEL_OK)
            assert_refused(status, UMBEL_E_NOMEM, "no memory");
        assert_int_equal(f != NULL, status == UMBEL_OK);
        umbel_close(f);
        assert_int_equal(c.live_blocks, 0);
    } while (status != UMBEL_OK);
    assert_true(n > 15);
    fixture_fini(&s);
}

TEST_GROUP(exact_parts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_right_in_few_bits),
        cmocka_unit_test(partitions_of_different_shares_take_less),
        cmocka_unit_test(a_prefix_is_a_partition_too),
        cmocka_unit_test(a_file_answers_like_its_filter),
        cmocka_unit_test(parts_of_keys_decide_on_hi),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(a_head_whose_numbers_disagree_is_refused),
        cmocka_unit_test(any_payload_is_safe_to_ask),
        cmocka_unit_test(the_error_is_at_most_a_tenth_above_that_of_strangers),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
