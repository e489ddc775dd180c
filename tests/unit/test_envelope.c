/*
 * test_envelope.c - the decoder takes what the encoder wrote, and nothing else.
 */
#include "support/test.h"

#include "base/hash.h"
#include "filter/envelope.h"

#include <stdlib.h>
#include <string.h>

/* Offsets in the head: docs/FORMAT.md. */
enum {
    AT_VERSION = 8,
    AT_LEN = 12,
    AT_KIND = 16,
    AT_ADDRESSING = 32,
    AT_HASH = 48,
    AT_SEED = 64,
    AT_SECRET_ID = 72,
    AT_CELLS = 80,
    AT_HASHES = 88,
    AT_FLAGS = 92,
    AT_CAPACITY = 96,
    AT_FPR = 104,
    AT_SETTINGS = 128,
    AT_SECTIONS = 132,
    AT_CHECKSUM = 136,
    AT_SECTION_CELLS = 144,
    AT_SECTION_BITS = 152,
    AT_CODING = 156,
    AT_SECTION_LEN = 160,
    HEAD_LEN = 192
};

/* 1,001 cells: neither bytes nor lines are full, so padding exists. */
static umbel_filter *sample(const uint8_t *secret)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = "classic";
    p.hash = secret ? "sip" : NULL;
    p.secret = secret;
    p.cells = 1001;
    p.hashes = 5;
    p.seed = 3;
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

/* A heap copy of exactly len bytes: reading past them is seen. */
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
    assert_int_equal(bytes[AT_FLAGS], 1);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    test_assert_same_file(a, back);
    free(bytes);
    umbel_close(a);
    umbel_close(back);
}

/* A picture of the head: FORMAT.md promises these places. */
static void the_head_has_its_fields_where_they_are_promised(void **state)
{
    static const uint8_t magic[8] = "\x89UMB\r\n\x1A\n";
    size_t len;
    uint8_t *b = sample_bytes(NULL, &len);

    (void)state;
    assert_memory_equal(b, magic, sizeof magic);
    assert_int_equal(b[AT_VERSION], 1);
    assert_int_equal(b[AT_LEN], HEAD_LEN);
    assert_string_equal((char *)b + AT_KIND, "bloom");
    assert_string_equal((char *)b + AT_ADDRESSING, "classic");
    assert_string_equal((char *)b + AT_HASH, "xxh3");
    assert_int_equal(um_load64(b + AT_SEED), 3);
    assert_int_equal(um_load64(b + AT_SECRET_ID), 0);
    assert_int_equal(um_load64(b + AT_CELLS), 1001);
    assert_int_equal(b[AT_HASHES], 5);
    assert_int_equal(um_load64(b + AT_SECTION_CELLS), 1001);
    assert_int_equal(um_load64(b + AT_SECTION_LEN), 126);
    assert_int_equal(len, HEAD_LEN + 128);
    free(b);
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
 * The same with the checksum made right: an enemy can count, too. Most flips
 * change a field that may be anything (seed, capacity, ...). What is accepted
 * must be a filter, so it is used; and there is one encoding, so it comes out
 * as it came in, unless it lied about the payload, which nobody asked to
 * verify.
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
    if (memcmp(out + AT_CHECKSUM, bytes + AT_CHECKSUM, 8) == 0)
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
    /* The first 16 bytes tell where the checksum is: they cannot be resealed */
    for (size_t at = UM_HEAD_START; at < HEAD_LEN - 8; at++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bad, good, len);
            bad[at] ^= (uint8_t)(1 << bit);
            test_reseal(bad);
            use(bad, len);
        }
    free(good);
    free(bad);
}

/* One change of a field, resealed, and what the decoder says to it. */
typedef struct forgery {
    size_t at;
    size_t width;
    uint64_t value;
    umbel_status status;
    const char *word;
} forgery;

static const forgery forgeries[] = {
    {AT_CELLS, 8, UINT64_C(1) << 60, UMBEL_E_FORMAT, "out of range"},
    {AT_CELLS, 8, (UINT64_C(1) << 48) + 1, UMBEL_E_FORMAT, "out of range"},
    {AT_CELLS, 8, UINT64_MAX, UMBEL_E_FORMAT, "out of range"},
    {AT_CELLS, 8, 0, UMBEL_E_FORMAT, "cells"},
    {AT_CELLS, 8, 1, UMBEL_E_FORMAT, "cells"},
    {AT_CELLS, 8, 1002, UMBEL_E_FORMAT, "sections"},
    {AT_HASHES, 4, 0, UMBEL_E_FORMAT, "hashes"},
    {AT_HASHES, 4, 65, UMBEL_E_FORMAT, "hashes"},
    {AT_HASHES, 4, UINT32_MAX, UMBEL_E_FORMAT, "hashes"},
    {AT_FLAGS, 4, 4, UMBEL_E_FORMAT, "range"}, /* only of counts */
    {AT_FLAGS, 4, 8, UMBEL_E_FORMAT, "range"},
    {AT_FLAGS, 4, 32, UMBEL_E_VERSION, "flags"},
    {AT_FLAGS, 4, 0x8000, UMBEL_E_VERSION, "flags"},
    {AT_CAPACITY, 8, UINT64_MAX, UMBEL_E_FORMAT, "out of range"},
    {AT_FPR, 8, 0, UMBEL_E_FORMAT, "out of range"},
    {AT_FPR, 8, UINT64_C(0x3FF0000000000000), UMBEL_E_FORMAT, "out of range"},
    {AT_FPR, 8, UINT64_C(0x7FF8000000000000), UMBEL_E_FORMAT, "out of range"},
    {AT_SECRET_ID, 8, 1, UMBEL_E_FORMAT, "secret"},
    {AT_SETTINGS, 4, 1, UMBEL_E_FORMAT, "groups must be 1..8"},
    {AT_SETTINGS, 4, 2, UMBEL_E_VERSION, "settings"},
    {AT_SETTINGS, 4, 9, UMBEL_E_FORMAT, "out of range"},
    {AT_SECTIONS, 4, 0, UMBEL_E_FORMAT, "sections"},
    {AT_SECTIONS, 4, 2, UMBEL_E_FORMAT, "out of range"},
    {AT_SECTIONS, 4, UINT32_MAX, UMBEL_E_FORMAT, "out of range"},
    {AT_SECTION_CELLS, 8, 1000, UMBEL_E_FORMAT, "sections"},
    {AT_SECTION_BITS, 4, 2, UMBEL_E_FORMAT, "sections"},
    {AT_CODING, 4, 1, UMBEL_E_FORMAT, "code of section 0"},
    {AT_CODING, 4, 2, UMBEL_E_VERSION, "coded"},
    {AT_SECTION_LEN, 8, 127, UMBEL_E_FORMAT, "sections"},
    {AT_SECTION_LEN, 8, 125, UMBEL_E_FORMAT, "sections"},
    {HEAD_LEN - 9, 1, 1, UMBEL_E_FORMAT, "head's end"},
    {AT_SECTION_LEN + 8, 1, 1, UMBEL_E_FORMAT, "head's end"},
};

/* The same of a coded file: lengths that no code of 1,001 bits has. */
static const forgery coded_forgeries[] = {
    {AT_SECTION_LEN, 8, 0, UMBEL_E_FORMAT, "sections"},
    {AT_SECTION_LEN, 8, 4096, UMBEL_E_FORMAT, "sections"},
    {AT_SECTION_LEN, 8, UINT64_MAX, UMBEL_E_FORMAT, "sections"},
    {AT_SECTION_LEN, 8, 1, UMBEL_E_FORMAT, ""},
    {AT_CODING, 4, 0, UMBEL_E_FORMAT, "sections"},
    {AT_CODING, 4, 3, UMBEL_E_VERSION, "coded"},
};

static void put(uint8_t *at, size_t width, uint64_t value)
{
    for (size_t i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void refuse_forgeries(const umbel_filter *f, const forgery *x, size_t n)
{
    size_t len;
    uint8_t *good = test_encode(f, &len), *bad = malloc(len);

    assert_non_null(bad);
    for (; n-- > 0; x++) {
        memcpy(bad, good, len);
        put(bad + x->at, x->width, x->value);
        test_reseal(bad);
        assert_refused(decode_exactly(bad, len, NULL), x->status, x->word);
    }
    free(good);
    free(bad);
}

static void forged_fields_are_refused_by_name(void **state)
{
    umbel_filter *f = sample(NULL);

    (void)state;
    refuse_forgeries(f, forgeries, TEST_COUNT(forgeries));
    umbel_set_coded(f, true);
    refuse_forgeries(f, coded_forgeries, TEST_COUNT(coded_forgeries));
    umbel_close(f);
}

/* A filter has one encoding: what is standard at the end is left out. */
static void a_standard_setting_at_the_end_is_refused(void **state)
{
    static const forgery standard = {144, 8, 1, UMBEL_E_FORMAT, "out of range"};
    umbel_setting setting = {"groups", 3};
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.addressing = "classic";
    p.cells = 1001;
    p.hashes = 5;
    p.settings = &setting;
    p.nsettings = 1;
    umbel_filter *f = test_open(&p);
    refuse_forgeries(f, &standard, 1);
    umbel_close(f);
}

/* One section raw and the other coded. */
static void sections_are_all_coded_or_all_raw(void **state)
{
    enum { NEXT = 24 };
    umbel_filter *f = sample(NULL);
    size_t len;

    (void)state;
    assert_ok(umbel_set_data(f, "data", 4, &test_refusal));
    uint8_t *bytes = test_encode(f, &len);
    put(bytes + AT_CODING + NEXT, 4, 1);
    test_reseal(bytes);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_FORMAT,
                   "sections");
    free(bytes);
    umbel_close(f);
}

static void names_of_one_letter_are_names(void **state)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    memcpy(bytes + AT_KIND, "q\0\0\0\0\0\0", 8);
    test_reseal(bytes);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_UNKNOWN,
                   "a q filter");
    free(bytes);
}

/* What a later version remarks in the high flags is kept, not understood. */
static void remarks_of_later_versions_are_kept(void **state)
{
    size_t len, again_len;
    uint8_t *bytes = sample_bytes(NULL, &len);
    umbel_filter *f = NULL;

    (void)state;
    put(bytes + AT_FLAGS, 4, 0x80010000);
    test_reseal(bytes);
    assert_ok(umbel_decode(bytes, len, NULL, &f, &test_refusal));
    uint8_t *again = test_encode(f, &again_len);
    assert_int_equal(again_len, len);
    assert_memory_equal(again, bytes, len);
    umbel_close(f);
    free(again);
    free(bytes);
}

/* All fields agree on a terabit that the file does not have. */
static void a_claim_of_more_cells_than_bytes_allocates_nothing(void **state)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    put(bytes + AT_CELLS, 8, UINT64_C(1) << 47);
    put(bytes + AT_SECTION_CELLS, 8, UINT64_C(1) << 47);
    put(bytes + AT_SECTION_LEN, 8, UINT64_C(1) << 44);
    test_reseal(bytes);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_FORMAT,
                   "cut short");
    free(bytes);
}

static void other_versions_are_refused_as_such(void **state)
{
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    put(bytes + AT_VERSION, 4, 2);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_VERSION,
                   "version 2");
    put(bytes + AT_VERSION, 4, 0);
    assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_VERSION,
                   "version 0");
    free(bytes);
}

static void impossible_head_lengths_are_refused(void **state)
{
    static const uint32_t lengths[] = {0,   64,  128,  191,       193,
                                       512, 576, 1024, UINT32_MAX};
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
        put(bytes + AT_LEN, 4, lengths[i]);
        assert_int_not_equal(decode_exactly(bytes, len, NULL), UMBEL_OK);
    }
    free(bytes);
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

static void unknown_names_ask_for_a_newer_library(void **state)
{
    static const size_t places[] = {AT_KIND, AT_ADDRESSING, AT_HASH};
    size_t len;
    uint8_t *good = sample_bytes(NULL, &len), *bad = malloc(len);

    (void)state;
    assert_non_null(bad);
    for (size_t i = 0; i < TEST_COUNT(places); i++) {
        memcpy(bad, good, len);
        memcpy(bad + places[i], "tomorrow\0\0\0\0\0\0\0", 16);
        test_reseal(bad);
        assert_refused(decode_exactly(bad, len, NULL), UMBEL_E_UNKNOWN,
                       "tomorrow");
    }
    free(good);
    free(bad);
}

static void names_must_be_padded_with_zeros(void **state)
{
    static const char *const names[] = {"\0bloom\0\0\0\0\0\0\0\0\0",
                                        "bloom\0x\0\0\0\0\0\0\0\0",
                                        "bloombloombloombl"};
    size_t len;
    uint8_t *bytes = sample_bytes(NULL, &len);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        memcpy(bytes + AT_KIND, names[i], 16);
        test_reseal(bytes);
        assert_refused(decode_exactly(bytes, len, NULL), UMBEL_E_FORMAT,
                       "name");
    }
    free(bytes);
}

/* Cells end at bit 1,001 of 1,024: everything behind must be zero. */
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

/* Equal cells, equal checksum, whatever the head says. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_trip_is_identical),
        cmocka_unit_test(a_merged_filter_keeps_that_its_count_is_a_guess),
        cmocka_unit_test(the_head_has_its_fields_where_they_are_promised),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(an_appended_byte_is_refused),
        cmocka_unit_test(any_flipped_bit_of_the_head_is_refused),
        cmocka_unit_test(a_resealed_head_is_refused_or_a_whole_filter),
        cmocka_unit_test(forged_fields_are_refused_by_name),
        cmocka_unit_test(a_standard_setting_at_the_end_is_refused),
        cmocka_unit_test(sections_are_all_coded_or_all_raw),
        cmocka_unit_test(names_of_one_letter_are_names),
        cmocka_unit_test(remarks_of_later_versions_are_kept),
        cmocka_unit_test(a_claim_of_more_cells_than_bytes_allocates_nothing),
        cmocka_unit_test(other_versions_are_refused_as_such),
        cmocka_unit_test(impossible_head_lengths_are_refused),
        cmocka_unit_test(what_does_not_begin_like_a_file_is_not_one),
        cmocka_unit_test(no_bytes_at_all_are_no_file),
        cmocka_unit_test(unknown_names_ask_for_a_newer_library),
        cmocka_unit_test(names_must_be_padded_with_zeros),
        cmocka_unit_test(anything_in_the_padding_is_refused),
        cmocka_unit_test(a_damaged_payload_is_found_by_whom_asks),
        cmocka_unit_test(the_memory_limit_is_kept),
        cmocka_unit_test(a_keyed_file_answers_only_with_its_secret),
        cmocka_unit_test(a_secret_for_an_unkeyed_file_is_refused),
        cmocka_unit_test(a_source_must_say_its_size),
        cmocka_unit_test(encoding_needs_room_for_all_of_it),
        cmocka_unit_test(the_payload_checksum_is_of_the_payload_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
