/*
 * test_contract_bytes.c - promises of filter.h about filters as bytes: raw,
 * coded, as a difference, without their secret, over every row of the tables:
 * see support/contract.h.
 */
#include "support/contract.h"

#include "filter/kind.h"

#include <umbel/diff.h>
#include <umbel/file.h>

#include <stdlib.h>

static void the_same_input_gives_the_same_bytes(void **state)
{
    umbel_filter *a = subject_filled(*state, 0, KEYS),
                 *b = subject_filled(*state, 0, KEYS);

    test_assert_same_file(a, b);
    umbel_close(a);
    umbel_close(b);
}

static umbel_filter *decoded(const umbel_filter *f, const uint8_t *secret)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *back = NULL;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    source.verify = true;
    source.secret = secret;
    assert_ok(umbel_decode(bytes, len, &source, &back, &test_refusal));
    free(bytes);
    return back;
}

static void decoding_undoes_encoding(void **state)
{
    const subject *s = *state;
    umbel_filter *f = subject_filled(s, 0, KEYS - 50);
    umbel_filter *back = decoded(f, s->params.secret);

    test_assert_same_file(f, back);
    assert_int_equal(umbel_added(back), umbel_added(f));
    assert_ok(umbel_same_shape(f, back, &test_refusal));
    assert_int_equal(test_hits(back, 0, 2 * KEYS), test_hits(f, 0, 2 * KEYS));
    if (s->abilities & ADD) {
        test_add(f, KEYS - 50, 50);
        test_add(back, KEYS - 50, 50);
        test_assert_same_file(f, back);
    }
    umbel_close(f);
    umbel_close(back);
}

/* Copies the pieces of the encoded file one by one into a decoder. */
static void parts_give_the_same_filter(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS), *back = NULL;
    uint64_t len = umbel_raw_len(f);
    umbel_decoder *d = NULL;
    uint8_t piece[1000];

    assert_int_equal(len, umbel_encoded_len(f));
    assert_ok(umbel_decoder_open(NULL, len, &d, &test_refusal));
    for (uint64_t at = 0, some; at < len; at += some) {
        some = len - at < sizeof piece ? len - at : sizeof piece;
        assert_ok(umbel_encode_part(f, at, piece, (size_t)some, &test_refusal));
        assert_ok(umbel_decoder_feed(d, piece, (size_t)some, &test_refusal));
    }
    assert_ok(umbel_decoder_finish(d, &back, &test_refusal));
    test_assert_same_file(f, back);
    umbel_decoder_close(d);
    umbel_close(f);
    umbel_close(back);
}

static void coded_it_is_the_same_filter(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS), *back = NULL;
    size_t len;

    umbel_set_coded(f, true);
    uint8_t *bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    assert_true(umbel_coded(back));
    test_assert_same_file(f, back);
    umbel_set_coded(f, false);
    umbel_set_coded(back, false);
    test_assert_same_file(f, back);
    free(bytes);
    umbel_close(f);
    umbel_close(back);
}

static void a_difference_gives_the_new_filter(void **state)
{
    umbel_filter *old = subject_filled(*state, 0, KEYS), *back = NULL;
    umbel_filter *now = subject_filled(*state, 10, KEYS);
    size_t room = umbel_diff_bound(now);
    uint8_t *bytes = malloc(room);
    umbel_diff_result bill;

    assert_ok(umbel_diff(old, now, bytes, room, &bill, &test_refusal));
    assert_ok(
        umbel_patch(old, bytes, (size_t)bill.bytes, &back, &test_refusal));
    test_assert_same_file(now, back);
    free(bytes);
    umbel_close(old);
    umbel_close(now);
    umbel_close(back);
}

static void assert_locked(umbel_filter *f)
{
    umbel_slice key = {"1", 1};
    umbel_digest d = {0, 0};
    bool hit = false;
    umbel_status want =
        um_kind_find(umbel_kind(f))->add ? UMBEL_E_SECRET : UMBEL_E_UNSUPPORTED;

    assert_refused(umbel_add(f, "1", 1, NULL, &test_refusal), want, "");
    assert_refused(umbel_add_many(f, &key, 1, NULL, &test_refusal), want, "");
    assert_refused(umbel_add_fixed(f, "1", 1, 1, NULL, &test_refusal), want,
                   "");
    assert_refused(umbel_add_digests(f, &d, 1, NULL, &test_refusal), want, "");
    assert_refused(umbel_query(f, "1", 1, &hit, &test_refusal), UMBEL_E_SECRET,
                   "secret");
    assert_refused(umbel_query_many(f, &key, 1, &hit, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_query_fixed(f, "1", 1, 1, &hit, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_query_digests(f, &d, 1, &hit, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_digest_many(f, &key, 1, &d, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_digest_fixed(f, "1", 1, 1, &d, &test_refusal),
                   UMBEL_E_SECRET, "secret");
}

static void without_its_secret_it_neither_adds_nor_answers(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS),
                 *locked = decoded(f, NULL);
    umbel_filter *copy = NULL;

    assert_locked(locked);
    assert_ok(umbel_copy(locked, &copy, &test_refusal));
    assert_locked(copy);
    assert_ok(umbel_unlock(copy, test_secret, &test_refusal));
    assert_int_equal(test_hits(copy, 0, KEYS), KEYS);
    umbel_close(f);
    umbel_close(locked);
    umbel_close(copy);
}

static void without_its_secret_it_is_described_merged_and_encoded(void **state)
{
    umbel_filter *f = subject_filled(*state, 0, KEYS / 2);
    umbel_filter *more = subject_filled(*state, KEYS / 2, KEYS / 2);
    umbel_filter *locked = decoded(f, NULL);
    umbel_info info;

    umbel_describe(locked, &info);
    assert_int_not_equal(
        test_field(&info, "secret_id", UMBEL_FIELD_HEX)->value.count, 0);
    test_assert_same_file(f, locked);
    assert_ok(umbel_merge(locked, more, UMBEL_OR, &test_refusal));
    assert_ok(umbel_unlock(locked, test_secret, &test_refusal));
    assert_int_equal(test_hits(locked, 0, KEYS), KEYS);
    umbel_close(f);
    umbel_close(more);
    umbel_close(locked);
}

static const test_promise promises[] = {
    TEST_PROMISE(parts_give_the_same_filter, FILL),
    TEST_PROMISE(coded_it_is_the_same_filter, FILL),
    TEST_PROMISE(a_difference_gives_the_new_filter, ADD),
    TEST_PROMISE(the_same_input_gives_the_same_bytes, FILL),
    TEST_PROMISE(decoding_undoes_encoding, FILL | QUERY),
    TEST_PROMISE(without_its_secret_it_neither_adds_nor_answers,
                 FILL | QUERY | KEYED | REMEMBERS),
    TEST_PROMISE(without_its_secret_it_is_described_merged_and_encoded,
                 ADD | QUERY | MERGE | KEYED | REMEMBERS),
};

int main(void)
{
    return test_run_promises("contract: bytes", promises, TEST_COUNT(promises));
}
