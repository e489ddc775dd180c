/*
 * test_contract.c - every promise of filter.h, over every row of the tables.
 *
 * A promise is a test; it runs for each kind on each addressing with each hash
 * that fits, unless the kind's row lacks a slot the promise needs. New rows are
 * covered by being rows: nothing here knows their names. Each setting of a kind
 * makes it a subject once more, at the end of the setting's range.
 */
#include "support/test.h"

#include "filter/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 1000, MOST_SUBJECTS = 512, NAME_LEN = 128 };

/* What a promise is about, and so what a row must have for it. */
enum {
    ADD = 1 << 0,
    QUERY = 1 << 1,
    MERGE = 1 << 2,
    FOLD = 1 << 3,
    REMEMBERS = 1 << 4, /* the kind never denies a member */
    KEYED = 1 << 5,
    SEEDED = 1 << 6,
    INTERSECTS = 1 << 7,
    FILL = 1 << 8 /* it gets keys, one by one or at once */
};

/* One filter to hold the promises against: rows, and a shape for KEYS keys. */
typedef struct subject {
    test_combo combo;
    umbel_params params;
    umbel_setting setting; /* without a name: all are standard */
    unsigned abilities;
} subject;

static umbel_filter *open_subject(const subject *s)
{
    umbel_filter *f = NULL;

    if (um_kind_find(s->combo.kind)->build)
        return test_build(s->combo.kind, &s->params, 0, 0);
    assert_ok(umbel_open(s->combo.kind, &s->params, &f, &test_refusal));
    return f;
}

static umbel_filter *filled(const subject *s, uint64_t from, size_t n)
{
    if (um_kind_find(s->combo.kind)->build)
        return test_build(s->combo.kind, &s->params, from, n);
    umbel_filter *f = open_subject(s);

    test_add(f, from, n);
    return f;
}

static void finds_everything_added(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS);

    assert_int_equal(test_hits(f, 0, KEYS), KEYS);
    assert_false(umbel_may_deny(f));
    umbel_close(f);
}

static void matches_nothing_while_empty(void **state)
{
    umbel_filter *f = open_subject(*state);

    assert_int_equal(test_hits(f, 0, KEYS), 0);
    assert_int_equal(umbel_added(f), 0);
    assert_true(umbel_predict(f) == 0);
    umbel_close(f);
}

static bool add_one(umbel_filter *f, uint64_t i)
{
    char key[TEST_KEY_LEN];
    bool fresh;

    test_key(i, key);
    assert_ok(umbel_add(f, key, sizeof key, &fresh, &test_refusal));
    return fresh;
}

/* A key that matched before by chance is not certainly new. */
static void a_key_is_fresh_once(void **state)
{
    umbel_filter *f = open_subject(*state);
    uint64_t fresh = 0;

    assert_true(add_one(f, 0));
    for (uint64_t i = 1; i < KEYS; i++) {
        bool before = test_has(f, i);
        bool now = add_one(f, i);
        assert_int_equal(now, !before);
        fresh += now;
    }
    for (uint64_t i = 0; i < KEYS; i++)
        assert_false(add_one(f, i));
    assert_int_equal(umbel_added(f), fresh + 1);
    assert_true(fresh > KEYS * 9 / 10);
    umbel_close(f);
}

/* Past two batches, so that their seams are crossed. */
enum { FEW = 150 };

static void all_ways_to_add_agree(void **state)
{
    umbel_filter *one = open_subject(*state), *many = open_subject(*state);
    umbel_filter *fixed = open_subject(*state), *digests = open_subject(*state);
    char *keys = test_keys(0, FEW);
    umbel_slice *slices = test_slices(keys, FEW);
    umbel_digest d[FEW], e[FEW];
    bool a[FEW], b[FEW], c[FEW];

    assert_ok(umbel_add_many(many, slices, FEW, a, &test_refusal));
    assert_ok(
        umbel_add_fixed(fixed, keys, TEST_KEY_LEN, FEW, b, &test_refusal));
    assert_ok(umbel_digest_many(one, slices, FEW, d, &test_refusal));
    assert_ok(
        umbel_digest_fixed(one, keys, TEST_KEY_LEN, FEW, e, &test_refusal));
    assert_memory_equal(d, e, sizeof d);
    assert_ok(umbel_add_digests(digests, d, FEW, c, &test_refusal));
    for (uint64_t i = 0; i < FEW; i++)
        assert_int_equal(add_one(one, i), a[i]);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(a, c, sizeof a);
    test_assert_same_file(one, many);
    test_assert_same_file(one, fixed);
    test_assert_same_file(one, digests);
    free(slices);
    free(keys);
    umbel_close(one);
    umbel_close(many);
    umbel_close(fixed);
    umbel_close(digests);
}

static void all_ways_to_ask_agree(void **state)
{
    umbel_filter *f = filled(*state, FEW / 2, KEYS);
    char *keys = test_keys(0, FEW);
    umbel_slice *slices = test_slices(keys, FEW);
    umbel_digest d[FEW];
    bool a[FEW], b[FEW], c[FEW], one;

    assert_ok(umbel_query_many(f, slices, FEW, a, &test_refusal));
    assert_ok(umbel_query_fixed(f, keys, TEST_KEY_LEN, FEW, b, &test_refusal));
    assert_ok(umbel_digest_many(f, slices, FEW, d, &test_refusal));
    assert_ok(umbel_query_digests(f, d, FEW, c, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(a, c, sizeof a);
    for (size_t i = 0; i < FEW; i++) {
        assert_ok(
            umbel_query(f, slices[i].data, slices[i].len, &one, &test_refusal));
        assert_int_equal(one, a[i]);
    }
    free(slices);
    free(keys);
    umbel_close(f);
}

static void clearing_gives_a_new_filter(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS), *new = open_subject(*state);

    assert_ok(umbel_clear(f, &test_refusal));
    test_assert_same_file(f, new);
    test_add(f, 5, KEYS);
    test_add(new, 5, KEYS);
    test_assert_same_file(f, new);
    umbel_close(f);
    umbel_close(new);
}

static void a_copy_is_equal_and_independent(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS / 2), *copy = NULL;

    assert_ok(umbel_copy(f, &copy, &test_refusal));
    test_assert_same_file(f, copy);
    uint64_t before = umbel_payload_checksum(f);
    test_add(copy, KEYS / 2, KEYS / 2);
    assert_int_equal(umbel_payload_checksum(f), before);
    before = umbel_payload_checksum(copy);
    assert_ok(umbel_clear(f, &test_refusal));
    assert_int_equal(umbel_payload_checksum(copy), before);
    umbel_close(f);
    test_add(copy, 0, 10); /* the original's memory is gone */
    umbel_close(copy);
}

static void a_union_holds_the_keys_of_both(void **state)
{
    umbel_filter *a = filled(*state, 0, KEYS / 2);
    umbel_filter *b = filled(*state, KEYS / 2, KEYS / 2);
    uint64_t before = umbel_payload_checksum(b);

    assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
    assert_int_equal(test_hits(a, 0, KEYS), KEYS);
    assert_int_equal(umbel_payload_checksum(b), before);
    umbel_close(a);
    umbel_close(b);
}

static void an_intersection_holds_the_keys_of_both(void **state)
{
    umbel_filter *a = filled(*state, 0, KEYS * 3 / 4);
    umbel_filter *b = filled(*state, KEYS / 4, KEYS * 3 / 4);

    assert_ok(umbel_merge(a, b, UMBEL_AND, &test_refusal));
    assert_int_equal(test_hits(a, KEYS / 4, KEYS / 2), KEYS / 2);
    assert_true(umbel_predict(a) <= umbel_predict(b));
    umbel_close(a);
    umbel_close(b);
}

static void merging_with_an_equal_changes_no_cell(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS), *copy = NULL;

    assert_ok(umbel_copy(f, &copy, &test_refusal));
    assert_ok(umbel_merge(f, copy, UMBEL_OR, &test_refusal));
    test_assert_same_payload(f, copy);
    assert_ok(umbel_merge(f, copy, UMBEL_AND, &test_refusal));
    test_assert_same_payload(f, copy);
    assert_ok(umbel_merge(f, f, UMBEL_OR, &test_refusal));
    test_assert_same_payload(f, copy);
    umbel_close(f);
    umbel_close(copy);
}

static void filters_built_alike_have_the_same_shape(void **state)
{
    umbel_filter *a = open_subject(*state), *b = open_subject(*state);

    assert_ok(umbel_same_shape(a, b, &test_refusal));
    umbel_close(a);
    umbel_close(b);
}

static void the_same_input_gives_the_same_bytes(void **state)
{
    umbel_filter *a = filled(*state, 0, KEYS), *b = filled(*state, 0, KEYS);

    test_assert_same_file(a, b);
    umbel_close(a);
    umbel_close(b);
}

static void another_seed_sets_other_cells(void **state)
{
    subject other = *(subject *)*state;
    umbel_filter *a = filled(*state, 0, KEYS);

    other.params.seed++;
    umbel_filter *b = filled(&other, 0, KEYS);
    assert_true(umbel_payload_checksum(a) != umbel_payload_checksum(b));
    assert_refused(umbel_same_shape(a, b, &test_refusal), UMBEL_E_MISMATCH,
                   "seed");
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
    umbel_filter *f = filled(s, 0, KEYS);
    umbel_filter *back = decoded(f, s->params.secret);

    test_assert_same_file(f, back);
    assert_int_equal(umbel_added(back), umbel_added(f));
    assert_ok(umbel_same_shape(f, back, &test_refusal));
    assert_int_equal(test_hits(back, 0, 2 * KEYS), test_hits(f, 0, 2 * KEYS));
    if (s->abilities & ADD) {
        test_add(f, KEYS, 50);
        test_add(back, KEYS, 50);
        test_assert_same_file(f, back);
    }
    umbel_close(f);
    umbel_close(back);
}

/* A fold by 1 changes nothing; others keep all members. */
static void folding_keeps_every_member(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS), *fold = NULL;
    uint64_t parts = umbel_fold_parts(f), folds = 0;

    assert_ok(umbel_fold(f, 1, &fold, &test_refusal));
    test_assert_same_file(f, fold);
    umbel_close(fold);
    for (uint64_t by = 2; by <= parts && by < 40; by++) {
        if (parts % by || umbel_fold(f, by, &fold, NULL) != UMBEL_OK)
            continue;
        assert_int_equal(umbel_cells(fold), umbel_cells(f) / by);
        assert_int_equal(umbel_hashes(fold), umbel_hashes(f));
        assert_int_equal(test_hits(fold, 0, KEYS), KEYS);
        umbel_close(fold);
        folds++;
    }
    assert_true(folds > 0);
    umbel_close(f);
}

/* A key is taken, and found, and so is asked for; or refused, both times. */
static void check_key(umbel_filter *f, const void *key, size_t len)
{
    bool hit = false;
    umbel_status added = umbel_add(f, key, len, NULL, &test_refusal);
    umbel_status asked = umbel_query(f, key, len, &hit, &test_refusal);

    assert_int_equal(added, asked);
    if (added == UMBEL_OK)
        assert_true(hit);
    else
        assert_int_equal(added, UMBEL_E_KEY);
}

static void keys_have_any_length(void **state)
{
    enum { LONG = 1 << 20 };
    umbel_filter *f = open_subject(*state);
    char *key = malloc(LONG);

    assert_non_null(key);
    memset(key, '0', LONG); /* a number, too */
    check_key(f, NULL, 0);
    check_key(f, "", 0);
    check_key(f, "5", 1);
    assert_true(umbel_added(f) >= 1);
    check_key(f, key, LONG);
    memset(key, 0, LONG);
    check_key(f, key, LONG);
    check_key(f, key, 1);
    free(key);
    umbel_close(f);
}

static void refused_keys_change_nothing(void **state)
{
    umbel_filter *f = open_subject(*state);
    bool fresh = true;
    umbel_status status = umbel_add(f, "a b", 3, &fresh, &test_refusal);

    if (status != UMBEL_OK) {
        assert_int_equal(status, UMBEL_E_KEY);
        assert_int_equal(umbel_added(f), 0);
        assert_true(umbel_predict(f) == 0);
        assert_true(fresh);
    }
    umbel_close(f);
}

static void its_prediction_is_what_is_measured(void **state)
{
    enum { OUTSIDE = 100000 };
    umbel_filter *f = filled(*state, 0, KEYS);
    double p = umbel_predict(f);
    double rate = (double)test_hits(f, KEYS, OUTSIDE) / OUTSIDE;

    assert_true(p > 0 && p < 0.05);
    assert_near(rate, p, 5 * sqrt(p * (1 - p) / OUTSIDE));
    umbel_close(f);
}

static void its_error_at_capacity_is_within_what_was_asked(void **state)
{
    const subject *s = *state;
    umbel_filter *f = filled(s, 0, s->abilities & ADD ? 0 : KEYS);

    assert_true(umbel_target_fpr(f) == 0.01);
    assert_true(umbel_error_at(f, KEYS) <= 0.01);
    assert_true(umbel_error_at(f, KEYS) > 0);
    assert_true(umbel_error_at(f, 2 * KEYS) >= umbel_error_at(f, KEYS));
    /* Who never forgets fills up, choosing or not. */
    if (s->abilities & ADD && !umbel_may_deny(f))
        assert_near(umbel_error_at(f, 1e7), 1, 1e-4);
    umbel_close(f);
}

static const umbel_field *field(const umbel_info *info, const char *name,
                                umbel_field_type type)
{
    for (size_t i = 0; i < info->n; i++)
        if (strcmp(info->field[i].name, name) == 0) {
            assert_int_equal(info->field[i].type, type);
            return &info->field[i];
        }
    fail_msg("the description lacks %s", name);
    return NULL;
}

static void assert_text(const umbel_info *info, const char *name,
                        const char *want)
{
    assert_string_equal(field(info, name, UMBEL_FIELD_TEXT)->value.text, want);
}

static void assert_count(const umbel_info *info, const char *name,
                         uint64_t want)
{
    assert_int_equal(field(info, name, UMBEL_FIELD_COUNT)->value.count, want);
}

static void it_describes_itself(void **state)
{
    const subject *s = *state;
    umbel_filter *f = filled(s, 0, KEYS);
    umbel_interval keys;
    umbel_info info;

    umbel_describe(f, &info);
    assert_text(&info, "kind", s->combo.kind);
    assert_text(&info, "addressing", s->combo.addressing);
    assert_text(&info, "hash", s->combo.hash);
    assert_count(&info, "seed", s->params.seed);
    assert_count(&info, "bits", umbel_cells(f));
    assert_count(&info, "hashes", umbel_hashes(f));
    assert_count(&info, "capacity", KEYS);
    assert_count(&info, "bytes", umbel_encoded_len(f));
    assert_count(&info, "added", umbel_added(f));
    assert_near(field(&info, "predicted_error", UMBEL_FIELD_REAL)->value.real,
                umbel_predict(f), 0);
    assert_int_equal(
        field(&info, "payload_checksum", UMBEL_FIELD_HEX)->value.count,
        umbel_payload_checksum(f));
    if (umbel_estimate_keys(f, &keys, NULL) != UMBEL_E_UNSUPPORTED) {
        double fill = field(&info, "fill", UMBEL_FIELD_REAL)->value.real;
        assert_true(fill > 0 && fill < 1);
    }
    umbel_close(f);
}

static void field_names_are_said_once(void **state)
{
    umbel_filter *f = open_subject(*state);
    umbel_info info;

    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(info.field[i].name, info.field[j].name);
    assert_true(info.n < UMBEL_MAX_FIELDS);
    umbel_close(f);
}

/* Keys from the cells, or a clear no. */
static void it_estimates_its_keys_or_says_it_cannot(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS);
    umbel_interval keys;
    umbel_status status = umbel_estimate_keys(f, &keys, &test_refusal);

    if (status != UMBEL_E_UNSUPPORTED) {
        assert_ok(status);
        assert_true(keys.low <= keys.value && keys.value <= keys.high);
        assert_near(keys.value, KEYS, 2 * (keys.high - keys.value));
    }
    umbel_close(f);
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
    umbel_filter *f = filled(*state, 0, KEYS), *locked = decoded(f, NULL);
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

static void coded_it_is_the_same_filter(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS), *back = NULL;
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
    umbel_filter *old = filled(*state, 0, KEYS), *back = NULL;
    umbel_filter *now = filled(*state, 10, KEYS);
    umbel_diff_bill bill;
    size_t len;

    assert_ok(umbel_diff_measure(old, now, &bill, &test_refusal));
    uint8_t *bytes = malloc((size_t)bill.bytes);
    assert_ok(
        umbel_diff(old, now, bytes, (size_t)bill.bytes, &len, &test_refusal));
    assert_ok(umbel_patch(old, bytes, len, &back, &test_refusal));
    test_assert_same_file(now, back);
    free(bytes);
    umbel_close(old);
    umbel_close(now);
    umbel_close(back);
}

static void without_its_secret_it_is_described_merged_and_encoded(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS / 2);
    umbel_filter *more = filled(*state, KEYS / 2, KEYS / 2);
    umbel_filter *locked = decoded(f, NULL);
    umbel_info info;

    umbel_describe(locked, &info);
    assert_int_not_equal(
        field(&info, "secret_id", UMBEL_FIELD_HEX)->value.count, 0);
    test_assert_same_file(f, locked);
    assert_ok(umbel_merge(locked, more, UMBEL_OR, &test_refusal));
    assert_ok(umbel_unlock(locked, test_secret, &test_refusal));
    assert_int_equal(test_hits(locked, 0, KEYS), KEYS);
    umbel_close(f);
    umbel_close(more);
    umbel_close(locked);
}

static void failures_leave_the_output_alone(void **state)
{
    const subject *s = *state;
    umbel_filter *f = open_subject(s), *out = f;
    umbel_params p = s->params;

    p.hashes = 65;
    assert_int_equal(umbel_open(s->combo.kind, &p, &out, NULL), UMBEL_E_RANGE);
    assert_ptr_equal(out, f);
    assert_int_not_equal(umbel_fold(f, 0, &out, NULL), UMBEL_OK);
    assert_ptr_equal(out, f);
    assert_int_not_equal(umbel_decode("x", 1, NULL, &out, NULL), UMBEL_OK);
    assert_ptr_equal(out, f);
    umbel_close(f);
}

static void errors_are_filled_only_by_failures(void **state)
{
    umbel_error err = {UMBEL_OK, "untouched"};
    umbel_filter *f = open_subject(*state), *copy = NULL;

    assert_int_equal(umbel_copy(f, &copy, &err), UMBEL_OK);
    if (!um_kind_find(umbel_kind(f))->build)
        assert_int_equal(umbel_clear(f, &err), UMBEL_OK);
    assert_int_equal(umbel_same_shape(f, copy, &err), UMBEL_OK);
    assert_string_equal(err.text, "untouched");
    umbel_close(f);
    umbel_close(copy);
}

static void it_says_what_it_is(void **state)
{
    const subject *s = *state;
    umbel_filter *f = open_subject(s);

    assert_string_equal(umbel_kind(f), s->combo.kind);
    if (s->params.cells) {
        assert_int_equal(umbel_cells(f), s->params.cells);
        assert_int_equal(umbel_hashes(f), s->params.hashes);
    }
    umbel_close(f);
}

/* An empty slot of the row is a plain no, never a crash. */
static void what_it_cannot_do_it_refuses(void **state)
{
    const subject *s = *state;
    umbel_filter *f = open_subject(s), *out = NULL;
    bool hit;

    if (!(s->abilities & ADD)) {
        assert_refused(umbel_add(f, "1", 1, NULL, &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
        assert_refused(umbel_clear(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                       s->combo.kind);
        assert_refused(
            umbel_open(s->combo.kind, &s->params, &out, &test_refusal),
            UMBEL_E_UNSUPPORTED, s->combo.kind);
    } else {
        assert_refused(
            umbel_build(s->combo.kind, &s->params, NULL, &out, &test_refusal),
            UMBEL_E_UNSUPPORTED, s->combo.kind);
    }
    if (!(s->abilities & QUERY))
        assert_refused(umbel_query(f, "1", 1, &hit, &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
    if (!(s->abilities & MERGE))
        assert_refused(umbel_merge(f, f, UMBEL_OR, &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
    if (!(s->abilities & FOLD)) {
        assert_refused(umbel_fold(f, 1, &out, &test_refusal),
                       UMBEL_E_UNSUPPORTED, s->combo.kind);
        assert_int_equal(umbel_fold_best(f, 1, 0.5), 0);
    }
    umbel_close(f);
}

static void it_verifies_itself(void **state)
{
    umbel_filter *f = filled(*state, 0, KEYS);
    char *keys = test_keys(0, 2 * KEYS);
    umbel_slice *slices = test_slices(keys, 2 * KEYS);
    umbel_verifier *v = NULL;
    umbel_verdict x;

    assert_ok(umbel_verify_open(f, &v, &test_refusal));
    assert_ok(umbel_verify_members(v, slices, KEYS, &test_refusal));
    assert_ok(umbel_verify_outside(v, slices, 2 * KEYS, NULL, &test_refusal));
    umbel_verify_result(v, &x);
    assert_int_equal(x.false_negatives, 0);
    assert_int_equal(x.dropped, KEYS);
    assert_int_equal(x.false_positives, test_hits(f, KEYS, KEYS));
    umbel_verify_close(v);
    umbel_close(f);
    free(slices);
    free(keys);
}

typedef struct promise {
    const char *name;
    CMUnitTestFunction run;
    unsigned needs;
} promise;

#define PROMISE(test, needs)                                                   \
    {                                                                          \
#test, test, needs                                                     \
    }

static const promise promises[] = {
    PROMISE(it_says_what_it_is, 0),
    PROMISE(matches_nothing_while_empty, QUERY),
    PROMISE(finds_everything_added, FILL | QUERY | REMEMBERS),
    PROMISE(a_key_is_fresh_once, ADD | QUERY | REMEMBERS),
    PROMISE(all_ways_to_add_agree, ADD),
    PROMISE(all_ways_to_ask_agree, FILL | QUERY),
    PROMISE(clearing_gives_a_new_filter, ADD),
    PROMISE(a_copy_is_equal_and_independent, ADD),
    PROMISE(coded_it_is_the_same_filter, ADD),
    PROMISE(a_difference_gives_the_new_filter, ADD),
    PROMISE(a_union_holds_the_keys_of_both, ADD | QUERY | MERGE | REMEMBERS),
    PROMISE(an_intersection_holds_the_keys_of_both,
            ADD | QUERY | MERGE | INTERSECTS | REMEMBERS),
    PROMISE(merging_with_an_equal_changes_no_cell, ADD | MERGE | INTERSECTS),
    PROMISE(filters_built_alike_have_the_same_shape, 0),
    PROMISE(the_same_input_gives_the_same_bytes, FILL),
    PROMISE(another_seed_sets_other_cells, FILL | SEEDED),
    PROMISE(decoding_undoes_encoding, FILL | QUERY),
    PROMISE(folding_keeps_every_member, ADD | QUERY | FOLD | REMEMBERS),
    PROMISE(keys_have_any_length, ADD | QUERY | REMEMBERS),
    PROMISE(refused_keys_change_nothing, ADD),
    PROMISE(its_prediction_is_what_is_measured, FILL | QUERY),
    PROMISE(its_error_at_capacity_is_within_what_was_asked, 0),
    PROMISE(it_describes_itself, FILL),
    PROMISE(field_names_are_said_once, 0),
    PROMISE(it_estimates_its_keys_or_says_it_cannot, FILL),
    PROMISE(without_its_secret_it_neither_adds_nor_answers,
            FILL | QUERY | KEYED | REMEMBERS),
    PROMISE(without_its_secret_it_is_described_merged_and_encoded,
            ADD | QUERY | MERGE | KEYED | REMEMBERS),
    PROMISE(failures_leave_the_output_alone, 0),
    PROMISE(errors_are_filled_only_by_failures, 0),
    PROMISE(what_it_cannot_do_it_refuses, 0),
    PROMISE(it_verifies_itself, FILL | QUERY | REMEMBERS),
};

static unsigned abilities_of(const test_combo *c)
{
    const um_kind *row = um_kind_find(c->kind);

    return (row->add ? ADD : 0u) | (row->add || row->build ? FILL : 0u) |
           (row->query ? QUERY : 0u) | (row->merge ? MERGE : 0u) |
           (row->fold ? FOLD : 0u) |
           (row->traits & UM_FORGETS ? 0u : REMEMBERS) |
           (c->keyed ? KEYED : 0u) | (c->seeded ? SEEDED : 0u);
}

/* Which ways to merge there are may depend on settings. */
static bool intersects(const subject *s)
{
    umbel_filter *f = open_subject(s);
    umbel_status status = umbel_merge(f, f, UMBEL_AND, NULL);

    umbel_close(f);
    return status == UMBEL_OK;
}

/*
 * What sizes are rounded up to, so that folding has a divisor. Cells of dcso
 * are a walk mod 2^64, mod m: powers of two in m let only low bits of the hash
 * pass.
 */
static uint64_t unit_of(const test_combo *c, uint32_t hashes)
{
    return strcmp(c->addressing, "dcso") == 0 ? 342 : (uint64_t)1024 * hashes;
}

/*
 * Plan once, a little up to where folding has a divisor: planning for each of
 * some hundred tests would take most of their time.
 */
static bool make_subject(const test_combo *c, const umbel_setting *setting,
                         subject *out)
{
    umbel_params p = test_combo_params(c);
    umbel_plan plan = {0};

    out->setting = *setting;
    p.settings = &out->setting;
    p.nsettings = setting->name != NULL;
    p.capacity = KEYS;
    p.fpr = 0.01;
    out->combo = *c;
    out->params = p;
    out->abilities = abilities_of(c);
    if (um_kind_find(c->kind)->build)
        return true; /* its size follows from the keys */
    umbel_status status = umbel_make_plan(c->kind, &p, 0, &plan, &test_refusal);
    if (status == UMBEL_E_UNSUPPORTED && setting->name)
        return false; /* no such setting on that addressing */
    if (status != UMBEL_OK)
        print_error("%s on %s: %s\n", c->kind, c->addressing,
                    test_refusal.text);
    p.hashes = plan.hashes;
    p.cells = plan.cells;
    if (plan.hashes)
        p.cells +=
            unit_of(c, plan.hashes) - plan.cells % unit_of(c, plan.hashes);
    out->params = p;
    if (out->abilities & MERGE && intersects(out))
        out->abilities |= INTERSECTS;
    return true;
}

static size_t add_tests(subject *s, struct CMUnitTest *tests,
                        char (*names)[NAME_LEN])
{
    size_t n = 0;

    for (size_t i = 0; i < TEST_COUNT(promises); i++) {
        if ((promises[i].needs & s->abilities) != promises[i].needs)
            continue;
        snprintf(names[n], NAME_LEN, "%s/%s/%s%s%s: %s", s->combo.kind,
                 s->combo.addressing, s->combo.hash, s->setting.name ? "/" : "",
                 s->setting.name ? s->setting.name : "", promises[i].name);
        tests[n] = (struct CMUnitTest){
            .name = names[n], .test_func = promises[i].run, .initial_state = s};
        n++;
    }
    return n;
}

/* The combination as it is, and once for each of its settings. */
static size_t make_subjects(const test_combo *c, subject *out)
{
    umbel_setting_info info;
    size_t n = 0;

    make_subject(c, &(umbel_setting){NULL, 0}, &out[n++]);
    if (um_kind_find(c->kind)->build)
        return n; /* so do its settings */
    for (size_t i = 0; umbel_kind_setting(c->kind, i, &info); i++)
        n += make_subject(c, &(umbel_setting){info.name, info.max}, &out[n]);
    return n;
}

int main(void)
{
    static subject subjects[MOST_SUBJECTS];
    static struct CMUnitTest tests[MOST_SUBJECTS * TEST_COUNT(promises)];
    static char names[MOST_SUBJECTS * TEST_COUNT(promises)][NAME_LEN];
    size_t n = 0, ntests = 0;
    test_combo c;

    for (size_t i = 0;
         n + UM_MAX_SETTINGS < MOST_SUBJECTS && test_combo_at(i, &c); i++) {
        size_t made = make_subjects(&c, subjects + n);
        for (; made; made--, n++)
            ntests += add_tests(&subjects[n], tests + ntests, names + ntests);
    }
    return _cmocka_run_group_tests("contract", tests, ntests, NULL, NULL);
}
