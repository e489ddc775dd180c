/* filters.c - keys, filters that hold them, and all combinations of rows. */
#include "support/test.h"

#include "base/hash.h"
#include "filter/envelope.h"
#include "filter/sizing.h"

#include <umbel/counting.h>

#include <stdlib.h>
#include <string.h>

const uint8_t test_secret[UMBEL_SECRET_LEN] = "sixteen letters";
const uint8_t test_other_secret[UMBEL_SECRET_LEN] = "another secret.";

/* Maps 30-bit numbers one-to-one: each step can be undone. */
static uint32_t scramble(uint64_t i)
{
    const uint32_t mask = (1u << 30) - 1;
    uint32_t x = (uint32_t)i & mask;

    for (int round = 0; round < 3; round++) {
        x = x * 0x2C1B3C6Du & mask;
        x ^= x >> 15;
    }
    return x;
}

void test_key(uint64_t i, char out[TEST_KEY_LEN])
{
    uint32_t x = scramble(i);

    for (size_t at = TEST_KEY_LEN; at-- > 0; x /= 10)
        out[at] = (char)('0' + x % 10);
}

char *test_keys(uint64_t from, size_t n)
{
    char *keys = malloc(n * TEST_KEY_LEN + 1);

    assert_non_null(keys);
    for (size_t i = 0; i < n; i++)
        test_key(from + i, keys + i * TEST_KEY_LEN);
    return keys;
}

umbel_slice *test_slices(const char *keys, size_t n)
{
    umbel_slice *slices = malloc((n + 1) * sizeof *slices);

    assert_non_null(slices);
    for (size_t i = 0; i < n; i++)
        slices[i] = (umbel_slice){keys + i * TEST_KEY_LEN, TEST_KEY_LEN};
    return slices;
}

umbel_filter *test_open(const umbel_params *params)
{
    umbel_filter *f = NULL;

    assert_ok(umbel_create(NULL, params, &f, &test_refusal));
    return f;
}

void test_add(umbel_filter *f, uint64_t from, size_t n)
{
    char *keys = test_keys(from, n);

    assert_ok(umbel_add_fixed(f, keys, TEST_KEY_LEN, n, NULL, &test_refusal));
    free(keys);
}

umbel_filter *test_build(const char *kind, const umbel_params *params,
                         uint64_t from, size_t n)
{
    char *keys = test_keys(from, n);
    umbel_slice *slices = test_slices(keys, n);
    umbel_filter *f = NULL;

    assert_ok(
        umbel_build_keys(kind, params, slices, NULL, n, &f, &test_refusal));
    free(slices);
    free(keys);
    return f;
}

void test_add_times(umbel_filter *f, uint64_t i, uint64_t amount)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};

    test_key(i, key);
    assert_ok(umbel_add_amounts(f, &slice, &amount, 1, NULL, &test_refusal));
}

uint64_t test_count(const umbel_filter *f, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    uint64_t n = UINT64_MAX;

    test_key(i, key);
    assert_ok(umbel_count_many(f, &slice, 1, &n, &test_refusal));
    return n;
}

size_t test_hits(const umbel_filter *f, uint64_t from, size_t n)
{
    char *keys = test_keys(from, n);
    bool *hit = malloc(n + 1);
    size_t hits = 0;

    assert_non_null(hit);
    assert_ok(umbel_query_fixed(f, keys, TEST_KEY_LEN, n, hit, &test_refusal));
    for (size_t i = 0; i < n; i++)
        hits += hit[i];
    free(hit);
    free(keys);
    return hits;
}

bool test_has(const umbel_filter *f, uint64_t i)
{
    return test_hits(f, i, 1) == 1;
}

uint8_t *test_encode(const umbel_filter *f, size_t *len)
{
    size_t cap = umbel_encoded_len(f);
    uint8_t *bytes = malloc(cap);

    assert_non_null(bytes);
    assert_ok(umbel_encode(f, bytes, cap, len, &test_refusal));
    assert_int_equal(*len, cap);
    return bytes;
}

void test_assert_same_file(const umbel_filter *a, const umbel_filter *b)
{
    size_t a_len, b_len;
    uint8_t *x = test_encode(a, &a_len), *y = test_encode(b, &b_len);

    assert_int_equal(a_len, b_len);
    assert_memory_equal(x, y, a_len);
    free(x);
    free(y);
}

void test_assert_same_payload(const umbel_filter *a, const umbel_filter *b)
{
    assert_int_equal(a->layout.cells, b->layout.cells);
    assert_int_equal(a->payload_len, b->payload_len);
    assert_memory_equal(a->payload, b->payload, a->payload_len);
    assert_int_equal(umbel_payload_checksum(a), umbel_payload_checksum(b));
}

size_t test_head_len(const uint8_t *file)
{
    size_t len;

    assert_ok(um_head_len(file, UM_HEAD_START, &len, &test_refusal));
    return len;
}

void test_reseal(uint8_t *file)
{
    size_t len = test_head_len(file) - UM_HEAD_CHECKSUM_LEN;

    um_store64(file + len, um_checksum(file, len));
}

uint8_t *test_forge(const umbel_filter *f, const um_shape *shape, size_t *len)
{
    um_parts parts;

    assert_ok(um_parts_init(&parts, f, &test_refusal));
    const umbel_slice *payload = &parts.part[1];
    size_t head =
        um_head_encode(shape, umbel_payload_checksum(f),
                       f->coded ? parts.coded.section : NULL, parts.head);
    uint8_t *bytes = malloc(head + payload->len);
    assert_non_null(bytes);
    memcpy(bytes, parts.head, head);
    memcpy(bytes + head, payload->data, payload->len);
    *len = head + payload->len;
    um_parts_fini(&parts, f);
    return bytes;
}

/*
 * Returns true if a works with h: an addressing with a hash of its own takes no
 * other, and no other addressing takes that hash.
 */
static bool fit(const um_addressing *a, const um_hash *h)
{
    return a->hash ? strcmp(a->hash, h->name) == 0 : !h->implied && !h->former;
}

/* Returns true if kind k works on a; other tests check which ones and why. */
static bool goes_on(const um_kind *k, const um_addressing *a)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    um_shape s;

    p.addressing = a->name;
    p.capacity = 1000;
    return um_shape_from_params(k->name, &p, &s, NULL) == UMBEL_OK;
}

static void name_combo(const um_kind *k, const um_addressing *a,
                       const um_hash *h, test_combo *out)
{
    *out = (test_combo){k->name, a->name, h->name, h->keyed, h->seeded};
}

/* Returns the y-th addressing that a kind works on. */
static const um_addressing *addressing_of(const um_kind *k, size_t y)
{
    return k->fixed_addressing ? (y ? NULL : k->fixed_addressing)
                               : um_addressing_row(y);
}

bool test_combo_at(size_t i, test_combo *out)
{
    const um_kind *k;
    const um_addressing *a;

    for (size_t x = 0; (k = um_kind_row(x)); x++)
        for (size_t y = 0; (a = addressing_of(k, y)); y++)
            for (size_t z = 0; um_hash_row(z); z++) {
                if (!fit(a, um_hash_row(z)) || !goes_on(k, a) || i--)
                    continue;
                name_combo(k, a, um_hash_row(z), out);
                return true;
            }
    return false;
}

umbel_params test_combo_params(const test_combo *c)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    if (!um_kind_find(c->kind)->fixed_addressing)
        p.addressing = c->addressing;
    p.hash = c->hash;
    p.seed = c->seeded ? 7 : 0;
    p.secret = c->keyed ? test_secret : NULL;
    return p;
}

const char *test_own_addressing(size_t i)
{
    for (size_t row = 0; um_addressing_row(row); row++)
        if (!um_addressing_row(row)->hash && i-- == 0)
            return um_addressing_row(row)->name;
    return NULL;
}
