/* diff.c - differences restore exactly the new filter. */
#include "support/test.h"

#include "base/hash.h"
#include "filter/head.h"

#include <umbel/diff.h>
#include <umbel/file.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static umbel_filter *create(const char *kind, uint64_t cells, uint64_t from,
                            size_t n)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = "classic";
    p.cells = cells;
    p.hashes = 5;
    p.capacity = 5000;
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    test_add(f, from, n);
    return f;
}

static uint8_t *diff(const umbel_filter *old, const umbel_filter *now,
                     umbel_diff_result *bill)
{
    size_t room = umbel_diff_bound(now);
    uint8_t *bytes = malloc(room);

    assert_non_null(bytes);
    assert_ok(umbel_diff(old, now, bytes, room, bill, &test_refusal));
    return bytes;
}

static void the_new_filter_comes_back_byte_for_byte(void **state)
{
    static const char *const kinds[] = {"bloom", "counting", "aging"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(kinds); i++)
        for (int round = 0; round < 4; round++) {
            umbel_filter *old = create(kinds[i], 60000, 0, 4000);
            umbel_filter *now = create(kinds[i], 60000, round == 3 ? 90000 : 30,
                                       round == 0 ? 3970 : 4030);
            umbel_filter *back = NULL;
            umbel_diff_result bill;
            umbel_set_coded(now, round == 1);
            umbel_set_coded(old, round == 2);
            uint8_t *bytes = diff(old, now, &bill);
            assert_ok(umbel_patch(old, bytes, (size_t)bill.bytes, &back,
                                  &test_refusal));
            test_assert_same_file(now, back);
            free(bytes);
            umbel_close(old);
            umbel_close(now);
            umbel_close(back);
        }
}

/* Covers data that is added, removed, longer, shorter, changed, or equal. */
static void data_comes_back_with_the_filter(void **state)
{
    static const char *const notes[] = {"", "monday", "sunday", "the 3rd week"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(notes) * TEST_COUNT(notes); i++) {
        const char *was = notes[i % TEST_COUNT(notes)];
        const char *is = notes[i / TEST_COUNT(notes)];
        umbel_filter *old = create("aging", 60000, 0, 4000), *back = NULL;
        umbel_filter *now = create("aging", 60000, 0, 4010);
        umbel_diff_result bill, bare;
        free(diff(old, now, &bare));
        assert_ok(umbel_set_data(old, was, strlen(was), &test_refusal));
        assert_ok(umbel_set_data(now, is, strlen(is), &test_refusal));
        uint8_t *bytes = diff(old, now, &bill);
        assert_int_equal(bill.changed, bare.changed);
        assert_ok(
            umbel_patch(old, bytes, (size_t)bill.bytes, &back, &test_refusal));
        test_assert_same_file(now, back);
        free(bytes);
        umbel_close(old);
        umbel_close(now);
        umbel_close(back);
    }
}

/* Replaces the head inside the difference by one of that shape. Frees bytes. */
static uint8_t *with_head(uint8_t *bytes, const um_shape *s, size_t *len)
{
    enum { HEAD = 96, HEAD_LEN_AT = 12, TOTAL_AT = 88 };
    uint8_t head[UM_HEAD_MAX], *sections = bytes + HEAD;
    size_t was = test_head_len(sections), n = um_head_encode(s, 0, NULL, head);
    uint8_t *out = malloc(*len - was + n);

    assert_non_null(out);
    memcpy(out, bytes, HEAD);
    memcpy(out + HEAD, head, n);
    memcpy(out + HEAD + n, sections + was, *len - HEAD - was);
    *len += n - was;
    um_store64(out + TOTAL_AT, *len);
    out[HEAD_LEN_AT] = (uint8_t)n;
    um_store64(out + *len - 8, um_checksum(out, *len - 8));
    free(bytes);
    return out;
}

/*
 * Checks that a difference that claims a terabyte of data is refused by its
 * head.
 */
static void data_cannot_ask_for_much_memory(void **state)
{
    umbel_filter *old = create("bloom", 60000, 0, 40), *back = NULL;
    umbel_filter *now = create("bloom", 60000, 0, 41);
    umbel_diff_result bill;

    (void)state;
    assert_ok(umbel_set_data(now, "x", 1, &test_refusal));
    uint8_t *bytes = diff(old, now, &bill);
    size_t len = (size_t)bill.bytes;
    um_shape s = *um_shape_of(now);
    s.attached = UINT64_C(1) << 40;
    bytes = with_head(bytes, &s, &len);
    assert_refused(umbel_patch(old, bytes, len, &back, &test_refusal),
                   UMBEL_E_LIMIT, "1099511627776 bytes of data");
    assert_null(back);
    free(bytes);
    umbel_close(old);
    umbel_close(now);
}

static void a_wrong_base_is_refused(void **state)
{
    umbel_filter *old = create("bloom", 60000, 0, 4000);
    umbel_filter *now = create("bloom", 60000, 0, 4100);
    umbel_filter *other = create("bloom", 60000, 1, 4000), *back = NULL;
    umbel_diff_result bill;
    uint8_t *bytes = diff(old, now, &bill);
    size_t len = (size_t)bill.bytes;

    (void)state;
    assert_refused(umbel_patch(other, bytes, len, &back, &test_refusal),
                   UMBEL_E_MISMATCH, "for another filter");
    assert_refused(umbel_patch(now, bytes, len, &back, &test_refusal),
                   UMBEL_E_MISMATCH, "for another filter");
    assert_null(back);
    free(bytes);
    umbel_close(old);
    umbel_close(now);
    umbel_close(other);
}

static void filters_of_different_shape_are_refused(void **state)
{
    umbel_filter *a = create("bloom", 60000, 0, 10);
    umbel_filter *b = create("bloom", 60001, 0, 10);
    umbel_diff_result bill;
    uint8_t out[1 << 15];

    (void)state;
    assert_true(umbel_diff_bound(a) <= sizeof out);
    assert_refused(umbel_diff(a, b, out, sizeof out, &bill, &test_refusal),
                   UMBEL_E_MISMATCH, "cells");
    assert_refused(umbel_diff(a, a, out, 10, &bill, &test_refusal),
                   UMBEL_E_RANGE, "room for 10");
    umbel_close(a);
    umbel_close(b);
}

/* Checks that flipping any bit is noticed. */
static void a_damaged_difference_is_refused(void **state)
{
    umbel_filter *old = create("bloom", 6000, 0, 400), *back = NULL;
    umbel_filter *now = create("bloom", 6000, 0, 410);
    umbel_diff_result bill;
    uint8_t *bytes = diff(old, now, &bill);
    size_t len = (size_t)bill.bytes;

    (void)state;
    for (size_t bit = 0; bit < 8 * len; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(umbel_patch(old, bytes, len, &back, &test_refusal),
                             UMBEL_OK);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *part = malloc(cut + !cut);
        memcpy(part, bytes, cut);
        assert_int_equal(umbel_patch(old, part, cut, &back, &test_refusal),
                         UMBEL_E_FORMAT);
        free(part);
    }
    assert_ok(umbel_patch(old, bytes, len, &back, &test_refusal));
    umbel_close(back);
    free(bytes);
    umbel_close(old);
    umbel_close(now);
}

/* Offsets in a difference: docs/FORMAT.md. */
enum {
    AT_HEAD_LEN = 12,
    AT_NEW_NAME = 48,
    AT_FLAGS = 80,
    AT_ZERO = 84,
    AT_TOTAL = 88,
    AT_HEAD = 96
};

/* A difference to tamper with; its length and checksum are corrected. */
typedef struct forgery {
    umbel_filter *old;
    uint8_t *bytes;
    size_t len, sections; /* length; offset of the sections */
} forgery;

static forgery forge(const umbel_filter *old, const umbel_filter *now)
{
    umbel_diff_result bill;
    forgery x = {.bytes = diff(old, now, &bill)};

    assert_ok(umbel_copy(old, &x.old, &test_refusal));
    x.len = (size_t)bill.bytes;
    x.sections =
        AT_HEAD + x.bytes[AT_HEAD_LEN] + 256u * x.bytes[AT_HEAD_LEN + 1];
    x.bytes = realloc(x.bytes, x.len + 64);
    assert_non_null(x.bytes);
    return x;
}

static umbel_status use_forged(forgery *x)
{
    umbel_filter *back = NULL;

    um_store64(x->bytes + AT_TOTAL, x->len);
    um_store64(x->bytes + x->len - 8, um_checksum(x->bytes, x->len - 8));
    umbel_status status =
        umbel_patch(x->old, x->bytes, x->len, &back, &test_refusal);
    assert_true((status == UMBEL_OK) == (back != NULL));
    umbel_close(back);
    return status;
}

static void forgery_free(forgery *x)
{
    free(x->bytes);
    umbel_close(x->old);
}

/* Changes one byte, expects a refusal, and changes it back. */
static void refuses_byte(forgery *x, size_t at, uint8_t value,
                         umbel_status status, const char *word)
{
    uint8_t was = x->bytes[at];

    x->bytes[at] = value;
    if (at >= AT_HEAD && at < x->sections)
        test_reseal(x->bytes + AT_HEAD);
    assert_refused(use_forged(x), status, word);
    x->bytes[at] = was;
    if (at >= AT_HEAD && at < x->sections)
        test_reseal(x->bytes + AT_HEAD);
    assert_ok(use_forged(x));
}

static void forged_fields_are_refused_by_name(void **state)
{
    umbel_filter *old = create("bloom", 6000, 0, 400);
    umbel_filter *now = create("bloom", 6000, 0, 410);
    forgery x = forge(old, now);

    (void)state;
    assert_ok(use_forged(&x));
    refuses_byte(&x, AT_FLAGS, 2, UMBEL_E_VERSION, "flags of a later");
    refuses_byte(&x, AT_ZERO, 1, UMBEL_E_FORMAT, "out of range");
    refuses_byte(&x, AT_HEAD_LEN + 1, 0xFF, UMBEL_E_FORMAT, "out of range");
    refuses_byte(&x, AT_HEAD_LEN, (uint8_t)(x.bytes[AT_HEAD_LEN] + 1),
                 UMBEL_E_FORMAT, "its head");
    refuses_byte(&x, AT_HEAD_LEN, 0, UMBEL_E_FORMAT, "empty");
    refuses_byte(&x, AT_HEAD_LEN + 1, 15, UMBEL_E_FORMAT, "begin like one");
    refuses_byte(&x, AT_NEW_NAME, (uint8_t)(x.bytes[AT_NEW_NAME] + 1),
                 UMBEL_E_CHECKSUM, "the filter it names");
    refuses_byte(&x, x.sections, 2, UMBEL_E_FORMAT, "its changes");
    refuses_byte(&x, x.sections, 1, UMBEL_E_FORMAT, "its changes");
    forgery_free(&x);
    umbel_close(old);
    umbel_close(now);
}

/* Fails every allocation of a patch once; nothing may be leaked. */
static void a_patch_without_memory_leaves_nothing(void **state)
{
    test_memory m = {0};
    umbel_alloc alloc = test_alloc(&m);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_diff_result bill;
    umbel_filter *old, *back = NULL;
    umbel_status status = UMBEL_E_NOMEM;
    unsigned failed = 0;

    (void)state;
    p.cells = 6000;
    p.capacity = 5000;
    p.alloc = &alloc;
    p.addressing = "classic";
    old = test_open(&p);
    test_add(old, 0, 400);
    p.alloc = NULL;
    umbel_filter *now = test_open(&p);
    test_add(now, 0, 410);
    uint8_t *bytes = diff(old, now, &bill);
    size_t live = m.live_blocks;
    for (; status == UMBEL_E_NOMEM; failed++) {
        m.fail_at = m.calls + 1 + failed;
        status =
            umbel_patch(old, bytes, (size_t)bill.bytes, &back, &test_refusal);
        assert_int_equal(m.live_blocks > live, status == UMBEL_OK);
    }
    assert_ok(status);
    assert_true(failed > 2);
    test_assert_same_file(now, back);
    free(bytes);
    umbel_close(back);
    umbel_close(old);
    umbel_close(now);
}

/* Changes the payload checksum in the new filter's head. */
static void a_head_of_another_payload_is_refused(void **state)
{
    enum { AT_CHECKSUM = AT_HEAD + UM_HEAD_SUM_AT };
    umbel_filter *old = create("bloom", 6000, 0, 400);
    umbel_filter *now = create("bloom", 6000, 0, 410);
    forgery x = forge(old, now);

    (void)state;
    refuses_byte(&x, AT_CHECKSUM, (uint8_t)(x.bytes[AT_CHECKSUM] + 1),
                 UMBEL_E_CHECKSUM, "payload");
    forgery_free(&x);
    umbel_close(old);
    umbel_close(now);
}

/* Makes the sections end too early or too late, or claim more than there is. */
static void sections_fill_a_difference_exactly(void **state)
{
    umbel_filter *old = create("bloom", 6000, 0, 400);
    umbel_filter *now = create("bloom", 6000, 5000, 400);
    forgery x = forge(old, now);

    (void)state;
    size_t len = x.len;
    x.len = x.sections + 8; /* no sections */
    assert_refused(use_forged(&x), UMBEL_E_FORMAT, "its changes");
    x.len++; /* only the form and the type */
    assert_refused(use_forged(&x), UMBEL_E_FORMAT, "its changes");
    forgery_free(&x);
    x = forge(old, now);
    assert_int_equal(x.bytes[x.sections], 1); /* stored whole */
    x.len = len + 1;
    assert_refused(use_forged(&x), UMBEL_E_FORMAT, "its changes");
    x.len = len - 1;
    assert_refused(use_forged(&x), UMBEL_E_FORMAT, "its changes");
    forgery_free(&x);
    umbel_close(old);
    umbel_close(now);
}

/* Checks that new data cannot be encoded as changes, only as a whole. */
static void new_data_has_nothing_to_change(void **state)
{
    umbel_filter *old = create("bloom", 6000, 0, 400);
    umbel_filter *now = create("bloom", 6000, 0, 400);

    (void)state;
    assert_ok(umbel_set_data(now, "data", 4, &test_refusal));
    forgery x = forge(old, now);
    size_t at = x.len - 8;
    while (x.bytes[--at] != 1) /* the data's form: whole */
        assert_true(at > x.sections);
    while (at > x.sections) { /* tries every byte that may be it */
        if (x.bytes[at] == 1) {
            x.bytes[at] = 0;
            assert_int_equal(use_forged(&x), UMBEL_E_FORMAT);
            x.bytes[at] = 1;
        }
        at--;
    }
    assert_ok(use_forged(&x));
    forgery_free(&x);
    umbel_close(old);
    umbel_close(now);
}

static void static_filters_of_other_keys_have_no_difference(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *a = test_build("ribbon", &p, 0, 1000);
    umbel_filter *b = test_build("ribbon", &p, 0, 5000);
    umbel_diff_result bill;
    uint8_t out[1 << 15];

    (void)state;
    assert_true(umbel_diff_bound(b) <= sizeof out);
    assert_refused(umbel_diff(a, b, out, sizeof out, &bill, &test_refusal),
                   UMBEL_E_MISMATCH, "hand out the new one whole");
    umbel_close(b);
    p.seed = 9; /* the error names the seed */
    b = test_build("ribbon", &p, 0, 5000);
    assert_refused(umbel_diff(a, b, out, sizeof out, &bill, &test_refusal),
                   UMBEL_E_MISMATCH, "seed");
    umbel_close(b);
    p.seed = 0;
    p.hash = "xxh3-128";
    b = test_build("ribbon", &p, 0, 5000);
    assert_refused(umbel_diff(a, b, out, sizeof out, &bill, &test_refusal),
                   UMBEL_E_MISMATCH, "hash");
    umbel_close(a);
    umbel_close(b);
}

/*
 * Checks the size of a difference with 1 % of 100,000 keys added and 1 %
 * replaced.
 */
static void small_changes_take_few_bytes(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_diff_result bill;

    (void)state;
    p.addressing = "classic";
    p.capacity = 101000;
    umbel_filter *old = test_open(&p), *now = test_open(&p);
    test_add(old, 0, 100000);
    test_add(now, 1000, 101000);
    uint8_t *bytes = diff(old, now, &bill);
    assert_true((double)bill.bytes <= 1.05 * bill.shannon_bytes + 512);
    assert_true(bill.changed > 10000 && bill.changed < 30000);
    free(bytes);
    umbel_close(old);
    umbel_close(now);
}

/* Checks that a filter without common keys is stored whole. */
static void
what_has_nothing_in_common_costs_no_more_than_the_filter(void **state)
{
    umbel_filter *old = create("bloom", 100000, 0, 5000);
    umbel_filter *now = create("bloom", 100000, 50000, 5000);
    umbel_diff_result bill;

    (void)state;
    free(diff(old, now, &bill));
    umbel_set_coded(now, true);
    assert_true(bill.bytes <= umbel_encoded_len(now) + 200);
    umbel_close(old);
    umbel_close(now);
}

static void a_name_tells_filters_not_forms(void **state)
{
    umbel_filter *f = create("bloom", 60000, 0, 4000);
    uint8_t raw[UMBEL_CONTENT_LEN], coded[UMBEL_CONTENT_LEN];

    (void)state;
    umbel_content_name(f, raw);
    umbel_set_coded(f, true);
    umbel_content_name(f, coded);
    assert_memory_equal(raw, coded, sizeof raw);
    test_add(f, 4000, 1);
    umbel_content_name(f, coded);
    assert_memory_not_equal(raw, coded, sizeof raw);
    umbel_close(f);
}

TEST_GROUP(diff)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_new_filter_comes_back_byte_for_byte),
        cmocka_unit_test(data_comes_back_with_the_filter),
        cmocka_unit_test(forged_fields_are_refused_by_name),
        cmocka_unit_test(sections_fill_a_difference_exactly),
        cmocka_unit_test(new_data_has_nothing_to_change),
        cmocka_unit_test(static_filters_of_other_keys_have_no_difference),
        cmocka_unit_test(data_cannot_ask_for_much_memory),
        cmocka_unit_test(a_wrong_base_is_refused),
        cmocka_unit_test(filters_of_different_shape_are_refused),
        cmocka_unit_test(a_damaged_difference_is_refused),
        cmocka_unit_test(small_changes_take_few_bytes),
        cmocka_unit_test(
            what_has_nothing_in_common_costs_no_more_than_the_filter),
        cmocka_unit_test(a_name_tells_filters_not_forms),
        cmocka_unit_test(a_patch_without_memory_leaves_nothing),
        cmocka_unit_test(a_head_of_another_payload_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
