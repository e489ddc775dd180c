/* envelope.c - the decoder accepts what the encoder wrote, and nothing else. */
#include "support/test.h"

#include "base/hash.h"
#include "base/rng.h"
#include "filter/envelope.h"
#include "filter/head.h"
#include "filter/sizing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_LEN = 64 }; /* of the sample */

/*
 * Creates a filter of 1,001 cells: neither bytes nor cache lines are full, so
 * there is padding.
 */
static umbel_filter *sample(const uint8_t *secret)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = "classic";
    p.hash = secret ? "sip" : NULL;
    p.secret = secret;
    p.cells = 1001;
    p.hashes = 5;
    p.seed = 3;
    p.fpr = 0.025;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, 100);
    return f;
}

static uint8_t *sample_bytes(const uint8_t *secret, size_t *len)
{
    umbel_filter *f = sample(secret);
    uint8_t *bytes = test_encode(f, len);

    umbel_close(f);
    return bytes;
}

/*
 * Decodes a heap copy of exactly len bytes, so that sanitizers detect reads
 * past its end.
 */
static umbel_status decode_exactly(const uint8_t *bytes, size_t len,
                                   const umbel_source *source)
{
    umbel_filter *f = NULL;
    uint8_t *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    umbel_status status = umbel_decode(copy, len, source, &f, &test_refusal);
    assert_true((status == UMBEL_OK) == (f != NULL));
    umbel_close(f);
    free(copy);
    return status;
}

static void a_round_trip_is_identical(void **state)
{
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        umbel_params p = test_combo_params(&c);
        umbel_filter *back = NULL;
        size_t len;
        p.cells = 1001;
        p.hashes = 4;
        p.capacity = 90;
        umbel_filter *f = test_open(&p);
        test_add(f, 0, 100);
        uint8_t *bytes = test_encode(f, &len);
        assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
        test_assert_same_file(f, back);
        assert_int_equal(umbel_added(back), umbel_added(f));
        free(bytes);
        umbel_close(f);
        umbel_close(back);
    }
}

static void a_merged_filter_keeps_that_its_count_is_a_guess(void **state)
{
    umbel_filter *a = sample(NULL), *back = NULL;
    size_t len;

    (void)state;
    assert_ok(umbel_merge(a, a, UMBEL_OR, &test_refusal));
    uint8_t *bytes = test_encode(a, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    test_assert_same_file(a, back);
    free(bytes);
    umbel_close(a);
    umbel_close(back);
}

/* Checks the bytes of the head that FORMAT.md documents. */
static void the_head_is_written_as_promised(void **state)
{
    static const uint8_t start[] = {0x89, 'U', 'M', 'B', '\r', '\n',     0x1A,
                                    '\n', 2,   0,   0,   0,    HEAD_LEN, 0};
    static const uint8_t fields[HEAD_LEN - UM_HEAD_NAMES_AT - 8] = {
        1,    8,    17,      /* bloom, classic, xxh3-64 */
        0xE9, 0x07, 5,       /* 1,001 cells, 5 hashes */
        0,    100,  0,       /* no capacity, 100 keys, no settings */
        1,    1,    3,       /* seed 3 */
        7,    2,    0x93, 1, /* fpr 25 / 10^3: 16 * 25 + 3 */
    };
    umbel_filter *f = sample(NULL);
    size_t len;

    (void)state;
    f->added = 100;
    uint8_t *b = test_encode(f, &len);
    assert_memory_equal(b, start, sizeof start);
    assert_int_equal(um_load64(b + UM_HEAD_SUM_AT), umbel_payload_checksum(f));
    assert_memory_equal(b + UM_HEAD_NAMES_AT, fields, sizeof fields);
    assert_int_equal(len, HEAD_LEN + 128);
    free(b);
    umbel_close(f);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(decode_exactly(bytes, cut, NULL), UMBEL_E_FORMAT);
    free(bytes);
}

static void an_appended_byte_is_refused(void **state)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);
    uint8_t *longer = realloc(bytes, len + 1);

    (void)state;
    assert_non_null(longer);
    longer[len] = 0;
    assert_refused(decode_exactly(longer, len + 1, NULL), UMBEL_E_FORMAT,
                   "appended");
    free(longer);
}

static void any_flipped_bit_of_the_head_is_refused(void **state)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    for (size_t at = 0; at < HEAD_LEN; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1 << bit);
            assert_int_not_equal(decode_exactly(bytes, len, NULL), UMBEL_OK);
            bytes[at] ^= (uint8_t)(1 << bit);
        }
    assert_ok(decode_exactly(bytes, len, NULL));
    free(bytes);
}

/*
 * Uses bytes with a corrected head checksum, as an attacker would send them.
 * Most bit flips change a field that may have any value (seed, capacity, ...).
 * Accepted bytes must give a usable filter; and as there is one encoding, they
 * must encode to the same bytes, unless the payload checksum is wrong, which is
 * not verified by default.
 */
static void use(const uint8_t *bytes, size_t len)
{
    umbel_filter *f = NULL;
    size_t again;
    umbel_info info;

    if (umbel_decode(bytes, len, NULL, &f, NULL) != UMBEL_OK) {
        assert_null(f);
        return;
    }
    uint8_t *out = test_encode(f, &again);
    assert_int_equal(again, len);
    if (um_load64(bytes + UM_HEAD_SUM_AT) == umbel_payload_checksum(f))
        assert_memory_equal(out, bytes, len);
    umbel_describe(f, &info);
    test_hits(f, 0, 10);
    test_add(f, 0, 10);
    free(out);
    umbel_close(f);
}

static void a_resealed_head_is_refused_or_a_whole_filter(void **state)
{
    size_t len;
    uint8_t *good = sample_bytes(NULL, &len), *bad = malloc(len);

    (void)state;
    assert_non_null(bad);
    /*
     * The bytes before give the position of the checksum, so they cannot be
     * resealed.
     */
    for (size_t at = UM_HEAD_SUM_AT; at < HEAD_LEN - 8; at++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bad, good, len);
            bad[at] ^= (uint8_t)(1 << bit);
            test_reseal(bad);
            use(bad, len);
        }
    free(good);
    free(bad);
}

/* A changed number in the head, and the expected result. */
typedef struct forgery {
    size_t at; /* in um_shape */
    uint64_t value;
    umbel_status status;
    const char *word;
} forgery;

#define NUMBER(field) offsetof(um_shape, field)

static const forgery forgeries[] = {
    {NUMBER(cells), UINT64_C(1) << 60, UMBEL_E_FORMAT, "out of range"},
    {NUMBER(cells), (UINT64_C(1) << 48) + 1, UMBEL_E_FORMAT, "out of range"},
    {NUMBER(cells), UINT64_MAX, UMBEL_E_FORMAT, "out of range"},
    {NUMBER(cells), 0, UMBEL_E_FORMAT, "cells"},
    {NUMBER(cells), 1, UMBEL_E_FORMAT, "cells"},
    {NUMBER(cells), 1025, UMBEL_E_FORMAT, "cut short"},
    {NUMBER(cells), 512, UMBEL_E_FORMAT, "appended"},
    {NUMBER(hashes), 0, UMBEL_E_FORMAT, "hashes"},
    {NUMBER(hashes), 65, UMBEL_E_FORMAT, "hashes"},
    {NUMBER(hashes), UINT32_MAX, UMBEL_E_FORMAT, "hashes"},
    {NUMBER(joined), 1, UMBEL_E_FORMAT, "range"}, /* for counts only */
    {NUMBER(difference), 1, UMBEL_E_FORMAT, "range"},
    {NUMBER(capacity), UINT64_MAX, UMBEL_E_FORMAT, "out of range"},
    {NUMBER(fpr), 0, UMBEL_E_FORMAT, "out of range"},
    {NUMBER(fpr), UINT64_C(0x3FF0000000000000), UMBEL_E_FORMAT, "range"},
    {NUMBER(fpr), UINT64_C(0x7FF8000000000000), UMBEL_E_FORMAT, "range"},
    {NUMBER(secret_id), 1, UMBEL_E_FORMAT, "secret"},
    {NUMBER(setting), 0, UMBEL_E_FORMAT, "groups must be 1..8"},
    {NUMBER(key_form), 11, UMBEL_E_VERSION, "form of a later version"},
    {NUMBER(prefixes.word[0]), 1, UMBEL_E_FORMAT, "out of range"},
    {NUMBER(prefixes.word[2]), 1, UMBEL_E_FORMAT, "out of range"},
    {NUMBER(prefixes.word[0]), UINT64_MAX, UMBEL_E_FORMAT, "out of range"},
    {NUMBER(key_form), UINT64_MAX, UMBEL_E_VERSION, "form"},
};

static size_t width_of(size_t at)
{
    return at == NUMBER(hashes)                               ? 4
           : at == NUMBER(joined) || at == NUMBER(difference) ? 1
                                                              : 8;
}

static void append(uint8_t *at, size_t width, uint64_t value)
{
    for (size_t i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Sets a number of the shape, in the byte order of this machine. */
static void set_number(um_shape *s, size_t at, uint64_t value)
{
    uint32_t half = (uint32_t)value;
    uint8_t byte = (uint8_t)value;
    size_t width = width_of(at);
    const void *from = width == 8   ? (const void *)&value
                       : width == 4 ? (const void *)&half
                                    : &byte;

    memcpy((uint8_t *)s + at, from, width);
}

static void forged_numbers_are_refused_by_name(void **state)
{
    umbel_filter *f = sample(NULL);
    size_t len;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(forgeries); i++) {
        const forgery *x = &forgeries[i];
        um_shape s = *um_shape_of(f);
        set_number(&s, x->at, x->value);
        uint8_t *bad = test_forge(f, &s, &len);
        assert_refused(decode_exactly(bad, len, NULL), x->status, x->word);
        free(bad);
    }
    umbel_close(f);
}

/* Fields appended to those of the sample, and the expected result. */
static const struct {
    uint8_t len;
    uint8_t bytes[12];
    umbel_status status;
    const char *word;
} appended[] = {
    {3, {2, 1, 9}, UMBEL_OK, NULL}, /* may be ignored */
    {5, {2, 0, 200, 1, 0}, UMBEL_OK, NULL},
    {3, {21, 1, 9}, UMBEL_E_VERSION, "field of a later version"},
    {5, {4, 0, 21, 1, 9}, UMBEL_E_VERSION, "field of a later version"},
    {4, {4, 0, 2, 0}, UMBEL_E_FORMAT, "a field"},      /* out of order */
    {4, {2, 0, 2, 0}, UMBEL_E_FORMAT, "a field"},      /* twice */
    {2, {2, 60}, UMBEL_E_FORMAT, "a field"},           /* past the end */
    {3, {0x82, 0, 0}, UMBEL_E_FORMAT, "a field"},      /* an overlong varint */
    {3, {1, 1, 4}, UMBEL_E_FORMAT, "as umbel writes"}, /* the seed twice */
    {3, {9, 1, 0}, UMBEL_E_FORMAT, "as umbel writes"}, /* a default, stated */
    {4, {9, 2, 5, 0}, UMBEL_E_FORMAT, "as umbel writes"}, /* overlong number */
    {11, {9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1}, UMBEL_E_FORMAT, "as umbel writes"},
    {3, {5, 1, 16}, UMBEL_E_VERSION, "flags"},
    {4, {5, 2, 0, 128}, UMBEL_E_VERSION, "flags"},
    {3, {15, 1, 1}, UMBEL_E_FORMAT, "out of range"}, /* not for this kind */
    {4, {19, 2, 2, 60}, UMBEL_E_FORMAT, "as umbel writes"}, /* with padding */
    {4, {19, 2, 3, 60}, UMBEL_E_VERSION, "coded"},
    {3, {19, 1, 2}, UMBEL_E_FORMAT, "sections"},
    {4, {19, 2, 2, 0}, UMBEL_E_FORMAT, "sections"},
    {5, {19, 3, 2, 0xFF, 1}, UMBEL_E_FORMAT, "sections"},
    {5, {19, 3, 2, 60, 60}, UMBEL_E_FORMAT, "as umbel writes"},
    {3, {0, 1, 0}, UMBEL_E_FORMAT, "as umbel writes"}, /* after the end */
};

static void appended_fields_are_kept_or_refused(void **state)
{
    umbel_filter *f = sample(NULL);
    size_t len;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(appended); i++) {
        um_shape s = *um_shape_of(f);
        s.spare_len = appended[i].len;
        memcpy(s.spare, appended[i].bytes, appended[i].len);
        uint8_t *bytes = test_forge(f, &s, &len);
        if (appended[i].status == UMBEL_OK)
            use(bytes, len); /* encodes it again */
        umbel_status status = decode_exactly(bytes, len, NULL);
        if (appended[i].status == UMBEL_OK)
            assert_ok(status);
        else
            assert_refused(status, appended[i].status, appended[i].word);
        free(bytes);
    }
    umbel_close(f);
}

/* A handle stores unknown fields up to its spare space; more are refused. */
static void many_fields_of_a_later_version_are_refused(void **state)
{
    umbel_filter *f = sample(NULL);
    um_shape s = *um_shape_of(f);
    size_t len;

    (void)state;
    s.spare_len = UM_SPARE_MAX;
    memset(s.spare, 'x', sizeof s.spare);
    memcpy(s.spare, (uint8_t[]){2, UM_SPARE_MAX - 2}, 2);
    uint8_t *bytes = test_forge(f, &s, &len);
    assert_ok(decode_exactly(bytes, len, NULL));
    size_t head = test_head_len(bytes);
    uint8_t *end = bytes + UM_HEAD_NAMES_AT;
    while (memcmp(end, s.spare, 3) != 0)
        end++;
    end[1]++; /* one byte longer, with a zero */
    test_reseal(bytes);
    assert_true(end + UM_SPARE_MAX + 1 < bytes + head);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_VERSION,
                   "field of a later version");
    free(bytes);
    umbel_close(f);
}

/* Checks that what a file records about its keys is read back. */
static void optional_fields_come_back(void **state)
{
    umbel_filter *f = sample(NULL), *back = NULL;
    size_t len;

    (void)state;
    f->key_form = UMBEL_KEYS_HEX;
    f->false_negatives = UINT64_MAX;
    uint8_t *bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    assert_int_equal(back->key_form, UMBEL_KEYS_HEX);
    assert_int_equal(back->false_negatives, UINT64_MAX);
    test_assert_same_file(f, back);
    free(bytes);
    umbel_close(f);
    umbel_close(back);
}

/*
 * Checks that rates are read back exactly, whether they are short decimals or
 * not.
 */
static void any_rate_comes_back(void **state)
{
    static const double rates[] = {
        0.5,    0.1,   0.01,  0.001,  0.0001, 0.025,         0.4095,
        0.4096, 1e-15, 1e-16, 5e-324, 1. / 3, 1 - 1. / 1024, 0.99999999};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rates); i++) {
        umbel_filter *f = sample(NULL), *back = NULL;
        size_t len;
        f->fpr = rates[i];
        uint8_t *bytes = test_encode(f, &len);
        assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
        assert_memory_equal(&back->fpr, &rates[i], sizeof rates[i]);
        free(bytes);
        umbel_close(f);
        umbel_close(back);
    }
}

/* Encodes heads of typical filters, up to millions of keys. */
static void common_heads_take_64_bytes(void **state)
{
    static const char *const kinds[] = {"bloom",    "aging",       "counting",
                                        "countmin", "generalized", "tally"};
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.key_form = UMBEL_KEYS_TEXT;
    p.fpr = 0.01;
    for (size_t i = 0; i < TEST_COUNT(kinds); i++)
        for (p.capacity = 10; p.capacity < 1000000000; p.capacity *= 10) {
            um_shape s;
            assert_ok(um_shape_from_params(kinds[i], &p, &s, &test_refusal));
            assert_ok(um_solve_size(&s, &test_refusal));
            s.added = s.capacity;
            assert_int_equal(um_head_size(&s, NULL), 64);
        }
    for (size_t n = 10; n < 100000; n *= 10) {
        umbel_filter *f = test_build("ribbon", &p, 0, n);
        assert_int_equal(um_head_size(um_shape_of(f), NULL), 64);
        umbel_close(f);
    }
}

/* Claims a terabit that the file does not contain. */
static void a_claim_of_more_cells_than_bytes_allocates_nothing(void **state)
{
    umbel_filter *f = sample(NULL);
    um_shape s = *um_shape_of(f);
    size_t len;

    (void)state;
    s.cells = UINT64_C(1) << 47;
    uint8_t *bytes = test_forge(f, &s, &len);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_FORMAT,
                   "cut short");
    free(bytes);
    umbel_close(f);
}

static void other_versions_are_refused_as_such(void **state)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    append(bytes + UM_HEAD_VERSION_AT, 4, 3);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_VERSION,
                   "version 3");
    append(bytes + UM_HEAD_VERSION_AT, 4, 0);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_VERSION,
                   "version 0");
    free(bytes);
}

static void impossible_head_lengths_are_refused(void **state)
{
    static const uint16_t lengths[] = {0,  8,   29,   63,   65,
                                       72, 128, 4095, 4097, UINT16_MAX};
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
        append(bytes + UM_HEAD_LEN_AT, 2, lengths[i]);
        assert_int_not_equal(decode_exactly(bytes, len, NULL), UMBEL_OK);
    }
    free(bytes);
}

/* Tries other head lengths, with the checksum at their end. */
static void a_raw_head_ends_at_the_next_multiple_of_64(void **state)
{
    size_t len;
    uint8_t *good = sample_bytes(NULL, &len), *bytes = calloc(1, len);

    (void)state;
    assert_non_null(bytes);
    for (uint16_t head = 40; head < len; head++) {
        memset(bytes, 0, len);
        memcpy(bytes, good, HEAD_LEN - UM_HEAD_CHECKSUM_LEN);
        append(bytes + UM_HEAD_LEN_AT, 2, head);
        test_reseal(bytes);
        umbel_status status = decode_exactly(bytes, len, NULL);
        assert_int_equal(status, head == HEAD_LEN ? UMBEL_OK : UMBEL_E_FORMAT);
    }
    free(bytes);
    free(good);
}

static void what_does_not_begin_like_a_file_is_not_one(void **state)
{
    static const char *const others[] = {"GIF89a", "{\"kind\": \"bloom\"}",
                                         "\x89PNG\r\n\x1A\n", "\x89UMC"};

    (void)state;
    assert_refused(decode_exactly((const uint8_t *)"", 0, NULL), UMBEL_E_FORMAT,
                   "empty");
    for (size_t i = 0; i < TEST_COUNT(others); i++)
        assert_refused(
            decode_exactly((const uint8_t *)others[i], strlen(others[i]), NULL),
            UMBEL_E_FORMAT, "does not begin like one");
}

static void no_bytes_at_all_are_no_file(void **state)
{
    umbel_filter *f = NULL;

    (void)state;
    assert_refused(umbel_decode(NULL, 0, NULL, &f, &test_refusal),
                   UMBEL_E_FORMAT, "empty");
}

/* Decodes the sample's file with these names and numbers. */
static umbel_status decode_with(const void *fields, size_t n)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    memset(bytes + UM_HEAD_NAMES_AT, 0, HEAD_LEN - UM_HEAD_NAMES_AT);
    memcpy(bytes + UM_HEAD_NAMES_AT, fields, n);
    test_reseal(bytes);
    umbel_status status = decode_exactly(bytes, len, NULL);
    free(bytes);
    return status;
}

/* Decodes it with other names, and the numbers of the sample. */
static umbel_status decode_named(const char *names, size_t n)
{
    uint8_t fields[32];

    memcpy(fields, names, n);
    memcpy(fields + n, "\xE9\7\5\0\144", 6);
    return decode_with(fields, n + 6);
}

static void unknown_names_ask_for_a_newer_library(void **state)
{
    (void)state;
    assert_ok(decode_named("\1\10\21", 3));
    assert_refused(decode_named("\0\10tomorrow\10\21", 12), UMBEL_E_UNKNOWN,
                   "a tomorrow filter");
    assert_refused(decode_named("\1\0\10tomorrow\21", 12), UMBEL_E_UNKNOWN,
                   "addressing tomorrow");
    assert_refused(decode_named("\1\10\0\1q", 5), UMBEL_E_UNKNOWN, "hash q");
    assert_refused(decode_named("\21\10\21", 3), UMBEL_E_UNKNOWN,
                   "a xxh3-64 filter");
}

/* A filter has one encoding: default settings at the end are omitted. */
static void a_standard_setting_at_the_end_is_refused(void **state)
{
    (void)state;
    assert_ok(decode_with("\1\10\21\xE9\7\5\0\144\1\2", 10));
    assert_refused(decode_with("\1\10\21\xE9\7\5\0\144\1\1", 10),
                   UMBEL_E_FORMAT, "as umbel writes");
    assert_refused(decode_with("\1\10\21\xE9\7\5\0\144\2", 9), UMBEL_E_VERSION,
                   "settings of a later");
}

static void names_are_names(void **state)
{
    (void)state;
    assert_refused(decode_named("\1\10\0\0", 4), UMBEL_E_FORMAT, "name");
    assert_refused(decode_named("\1\10\0\3a\0b", 7), UMBEL_E_FORMAT, "name");
    assert_refused(decode_named("\1\10\0\20sixteen letters.", 20),
                   UMBEL_E_FORMAT, "name");
    assert_refused(decode_named("\1\10\31", 3), UMBEL_E_FORMAT, "name");
    assert_refused(decode_named("\1\10\377\177", 4), UMBEL_E_FORMAT, "name");
    assert_refused(decode_named("\0\5bloom\10\21", 9), UMBEL_E_FORMAT,
                   "as umbel writes");
}

/* Cells end at bit 1,001 of 1,024: all later bits must be zero. */
static void anything_in_the_padding_is_refused(void **state)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    for (uint64_t bit = 1001; bit < 1024; bit++) {
        um_set_bit(bytes + HEAD_LEN, bit);
        assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_FORMAT,
                       "between the sections");
        bytes[HEAD_LEN + bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_ok(decode_exactly(bytes, len, NULL));
    free(bytes);
}

static void a_damaged_payload_is_found_by_whom_asks(void **state)
{
    umbel_source verify = UMBEL_SOURCE_INIT;
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    verify.verify = true;
    assert_ok(decode_exactly(bytes, len, &verify));
    bytes[HEAD_LEN + 50] ^= 4;
    assert_refused(decode_exactly(bytes, len, &verify), UMBEL_E_CHECKSUM,
                   "payload");
    assert_ok(decode_exactly(bytes, len, NULL));
    free(bytes);
}

static void the_memory_limit_is_kept(void **state)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    source.memory_limit = 128;
    assert_ok(decode_exactly(bytes, len, &source));
    source.memory_limit = 127;
    assert_refused(decode_exactly(bytes, len, &source), UMBEL_E_LIMIT, "127");
    free(bytes);
}

static void a_keyed_file_answers_only_with_its_secret(void **state)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f = NULL;
    size_t len;
    uint8_t *bytes = sample_bytes(test_secret, &len);
    bool hit = false;

    (void)state;
    assert_ok(umbel_decode(bytes, len, NULL, &f, &test_refusal));
    assert_refused(umbel_query(f, "x", 1, &hit, &test_refusal), UMBEL_E_SECRET,
                   "secret key");
    umbel_close(f);
    source.secret = test_other_secret;
    assert_refused(decode_exactly(bytes, len, &source), UMBEL_E_SECRET,
                   "wrong secret");
    source.secret = test_secret;
    assert_ok(umbel_decode(bytes, len, &source, &f, &test_refusal));
    assert_int_equal(test_hits(f, 0, 100), 100);
    umbel_close(f);
    free(bytes);
}

static void a_secret_for_an_unkeyed_file_is_refused(void **state)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    source.secret = test_secret;
    assert_refused(decode_exactly(bytes, len, &source), UMBEL_E_SECRET,
                   "takes no secret");
    free(bytes);
}

static void a_source_must_say_its_size(void **state)
{
    umbel_source source = {.size = 0};
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    assert_refused(decode_exactly(bytes, len, &source), UMBEL_E_RANGE,
                   "UMBEL_SOURCE_INIT");
    free(bytes);
}

static void encoding_needs_room_for_all_of_it(void **state)
{
    umbel_filter *f = sample(NULL);
    size_t cap = umbel_encoded_len(f), len = 77;
    uint8_t *out = calloc(1, cap);

    (void)state;
    assert_non_null(out);
    assert_refused(umbel_encode(f, out, cap - 1, &len, &test_refusal),
                   UMBEL_E_RANGE, "room");
    assert_int_equal(len, 77);
    assert_int_equal(out[0], 0);
    assert_ok(umbel_encode(f, out, cap, &len, &test_refusal));
    assert_int_equal(len, cap);
    free(out);
    umbel_close(f);
}

/* Equal cells have equal checksums, whatever the head contains. */
static void the_payload_checksum_is_of_the_payload_alone(void **state)
{
    umbel_filter *f = sample(NULL);
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    assert_int_equal(umbel_payload_checksum(f),
                     um_checksum(bytes + HEAD_LEN, len - HEAD_LEN));
    free(bytes);
    umbel_close(f);
}

static void rates_are_rounded_up_to_what_a_head_tells_shortly(void **state)
{
    umbel_filter *f = sample(NULL);
    um_shape s = *um_shape_of(f);
    um_rng rng = {1};

    (void)state;
    s.fpr = 0.025;
    size_t len = um_head_size(&s, (uint64_t[]){1});
    for (int i = 0; i < 10000; i++) {
        double fpr = ldexp((double)um_random(&rng), -64 - i % 40);
        s.fpr = um_round_fpr(fpr);
        assert_true(s.fpr >= fpr && s.fpr <= fpr * 1.0025);
        assert_true(fpr < 4.2e-13 || um_head_size(&s, (uint64_t[]){1}) <= len);
        assert_true(um_round_fpr(s.fpr) == s.fpr);
    }
    assert_true(um_round_fpr(0x1p-8) == 0.003907);
    umbel_close(f);
}

TEST_GROUP(envelope)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_trip_is_identical),
        cmocka_unit_test(a_merged_filter_keeps_that_its_count_is_a_guess),
        cmocka_unit_test(the_head_is_written_as_promised),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(an_appended_byte_is_refused),
        cmocka_unit_test(any_flipped_bit_of_the_head_is_refused),
        cmocka_unit_test(a_resealed_head_is_refused_or_a_whole_filter),
        cmocka_unit_test(forged_numbers_are_refused_by_name),
        cmocka_unit_test(appended_fields_are_kept_or_refused),
        cmocka_unit_test(many_fields_of_a_later_version_are_refused),
        cmocka_unit_test(optional_fields_come_back),
        cmocka_unit_test(any_rate_comes_back),
        cmocka_unit_test(common_heads_take_64_bytes),
        cmocka_unit_test(a_claim_of_more_cells_than_bytes_allocates_nothing),
        cmocka_unit_test(other_versions_are_refused_as_such),
        cmocka_unit_test(impossible_head_lengths_are_refused),
        cmocka_unit_test(a_raw_head_ends_at_the_next_multiple_of_64),
        cmocka_unit_test(what_does_not_begin_like_a_file_is_not_one),
        cmocka_unit_test(no_bytes_at_all_are_no_file),
        cmocka_unit_test(unknown_names_ask_for_a_newer_library),
        cmocka_unit_test(a_standard_setting_at_the_end_is_refused),
        cmocka_unit_test(names_are_names),
        cmocka_unit_test(anything_in_the_padding_is_refused),
        cmocka_unit_test(a_damaged_payload_is_found_by_whom_asks),
        cmocka_unit_test(the_memory_limit_is_kept),
        cmocka_unit_test(a_keyed_file_answers_only_with_its_secret),
        cmocka_unit_test(a_secret_for_an_unkeyed_file_is_refused),
        cmocka_unit_test(a_source_must_say_its_size),
        cmocka_unit_test(encoding_needs_room_for_all_of_it),
        cmocka_unit_test(the_payload_checksum_is_of_the_payload_alone),
        cmocka_unit_test(rates_are_rounded_up_to_what_a_head_tells_shortly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
