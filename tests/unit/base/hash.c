/* hash.c - digests equal those of the named functions, for ever. */
#include "support/test.h"

#include "base/hash.h"

#include <umbel/file.h>

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const uint64_t seeds[] = {0, 1, 7, UINT64_MAX};
static const size_t lengths[] = {0,  1,  3,  4,  7,   8,   9,   10,  13,
                                 15, 16, 17, 64, 100, 240, 241, 5000};

static void fill_key(uint8_t *key, size_t len)
{
    for (size_t i = 0; i < len; i++)
        key[i] = (uint8_t)(i * 37 + len);
}

static umbel_digest digest_of(const char *family, uint64_t seed,
                              const void *key, size_t len)
{
    um_hasher h;
    um_secret secret;
    umbel_slice slice = {key, len};
    umbel_digest d;
    const um_hash *row = um_hash_find(family);

    assert_non_null(row);
    um_hasher_init(&h, row, seed, &secret);
    if (row->keyed)
        um_hasher_unlock(&h, test_secret);
    if (row->accept)
        assert_ok(row->accept(&slice, 1, &test_refusal));
    row->digest(&h, &slice, 1, &d);
    um_hasher_fini(&h);
    return d;
}

static void xxh3_is_the_seeded_64_bit_function(void **state)
{
    uint8_t key[5000];

    (void)state;
    for (size_t s = 0; s < TEST_COUNT(seeds); s++)
        for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
            fill_key(key, lengths[i]);
            umbel_digest d = digest_of("xxh3", seeds[s], key, lengths[i]);
            assert_int_equal(d.lo,
                             XXH3_64bits_withSeed(key, lengths[i], seeds[s]));
            assert_int_equal(d.hi, um_remix(d.lo));
        }
}

static void xxh128_is_the_seeded_128_bit_function(void **state)
{
    uint8_t key[5000];

    (void)state;
    for (size_t s = 0; s < TEST_COUNT(seeds); s++)
        for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
            fill_key(key, lengths[i]);
            umbel_digest d = digest_of("xxh128", seeds[s], key, lengths[i]);
            XXH128_hash_t x = XXH3_128bits_withSeed(key, lengths[i], seeds[s]);
            assert_int_equal(d.lo, x.low64);
            assert_int_equal(d.hi, x.high64);
        }
}

/* Mixes a seed as in docs/FORMAT.md. */
static uint64_t mixed(uint64_t seed)
{
    seed = (seed ^ seed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    seed = (seed ^ seed >> 27) * UINT64_C(0x94D049BB133111EB);
    return seed ^ seed >> 31;
}

static void the_default_mixes_the_seed_first(void **state)
{
    uint8_t key[5000];

    (void)state;
    for (size_t s = 0; s < TEST_COUNT(seeds); s++)
        for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
            uint64_t seed = mixed(seeds[s]);
            fill_key(key, lengths[i]);
            umbel_digest d = digest_of("xxh3-64", seeds[s], key, lengths[i]);
            assert_int_equal(d.lo, XXH3_64bits_withSeed(key, lengths[i], seed));
            assert_int_equal(d.hi, um_remix(d.lo));
            d = digest_of("xxh3-128", seeds[s], key, lengths[i]);
            XXH128_hash_t x = XXH3_128bits_withSeed(key, lengths[i], seed);
            assert_int_equal(d.lo, x.low64);
            assert_int_equal(d.hi, x.high64);
        }
}

/* --- seeds ------------------------------------------------------------------
 */

enum { SEEDS = 64, LONGEST = 32, FEW = 256 };

/*
 * Writes all keys that differ only in their last byte. XOR maps this set to
 * itself, and so does a seed that is only XORed to the keys.
 */
static size_t few_keys(size_t len, uint8_t *out)
{
    size_t n = len ? FEW : 1;

    for (size_t i = 0; i < n; i++) {
        memset(out + i * len, 'a', len);
        if (len)
            out[i * len + len - 1] = (uint8_t)i;
    }
    return n;
}

/*
 * Returns the number of different filters of the same keys under SEEDS seeds.
 */
static size_t different(const char *hash, size_t len)
{
    static uint8_t keys[FEW * LONGEST];
    size_t n = few_keys(len, keys), found = 0;
    uint64_t sums[SEEDS];

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        bool known = false;
        p.hash = hash;
        p.cells = 1 << 15;
        p.hashes = 4;
        p.seed = seed;
        umbel_filter *f = test_open(&p);
        assert_ok(umbel_add_fixed(f, keys, len, n, NULL, &test_refusal));
        sums[seed] = umbel_payload_checksum(f);
        umbel_close(f);
        for (uint64_t i = 0; i < seed; i++)
            known |= sums[i] == sums[seed];
        found += !known;
    }
    return found;
}

static void every_seed_gives_another_filter_for_every_length(void **state)
{
    (void)state;
    assert_true(different("xxh3", 3) <= SEEDS / 2); /* its known flaw */
    for (size_t len = 0; len <= LONGEST; len++) {
        assert_int_equal(different("xxh3-64", len), SEEDS);
        assert_int_equal(different("xxh3-128", len), SEEDS);
    }
}

/*
 * Checks that positions under one seed are independent of those under the next:
 * chi-square of the pairs in a table of SIDE * SIDE, five sigma.
 */
static void expect_independent(const char *hash, size_t len, bool high)
{
    enum { SIDE = 16, SAMPLES = FEW * 64 };
    static uint8_t keys[FEW * LONGEST];
    size_t n = few_keys(len, keys), seen[SIDE][SIDE] = {{0}};
    double expected = (double)SAMPLES / (SIDE * SIDE), chi = 0;

    for (uint64_t seed = 0; seed < SAMPLES / n; seed++)
        for (size_t i = 0; i < n; i++) {
            umbel_digest a = digest_of(hash, seed, keys + i * len, len);
            umbel_digest b = digest_of(hash, seed + 1, keys + i * len, len);
            seen[(high ? a.hi : a.lo) >> 60][(high ? b.hi : b.lo) >> 60]++;
        }
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) {
        double off = (double)seen[i / SIDE][i % SIDE] - expected;
        chi += off * off / expected;
    }
    const double freedom = SIDE * SIDE - 1;
    assert_true(fabs(chi - freedom) < 5 * sqrt(2 * freedom));
}

static void positions_under_two_seeds_are_independent(void **state)
{
    (void)state;
    for (size_t len = 0; len <= LONGEST; len++)
        for (int high = 0; high < 2; high++) {
            expect_independent("xxh3-64", len, high);
            expect_independent("xxh3-128", len, high);
        }
}

/* Derives the key from the secret and the seed as eight little-endian bytes. */
static void bind_seed(uint64_t seed, uint8_t key[16])
{
    uint8_t message[8];

    for (int i = 0; i < 8; i++)
        message[i] = (uint8_t)(seed >> 8 * i);
    assert_int_equal(crypto_generichash(key, 16, message, sizeof message,
                                        test_secret, sizeof test_secret),
                     0);
}

static void sip_is_siphash_under_the_bound_key(void **state)
{
    uint8_t key[5000], bound[16], mac[16];

    (void)state;
    for (size_t s = 0; s < TEST_COUNT(seeds); s++)
        for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
            fill_key(key, lengths[i]);
            bind_seed(seeds[s], bound);
            crypto_shorthash_siphashx24(mac, key, lengths[i], bound);
            umbel_digest d = digest_of("sip", seeds[s], key, lengths[i]);
            assert_int_equal(d.lo, um_load64(mac));
            assert_int_equal(d.hi, um_load64(mac + 8));
        }
}

/* RFC 1321: MD5 ("abc") = 900150983cd24fb0d6963f7d28e17f72. */
static void md5_is_one_big_endian_number(void **state)
{
    umbel_digest d = digest_of("md5", 0, "abc", 3);

    (void)state;
    assert_int_equal(d.hi, UINT64_C(0x900150983CD24FB0));
    assert_int_equal(d.lo, UINT64_C(0xD6963F7D28E17F72));
    d = digest_of("md5", 0, NULL, 0);
    assert_int_equal(d.hi, UINT64_C(0xD41D8CD98F00B204));
    assert_int_equal(d.lo, UINT64_C(0xE9800998ECF8427E));
}

/* As Guava's Hashing.murmur3_128(0) computes it. */
static void murmur3_is_the_128_bit_function(void **state)
{
    static const struct {
        const char *key;
        uint64_t lo, hi;
    } known[] = {
        {"", 0x0000000000000000, 0x0000000000000000},
        {"a", 0x85555565F6597889, 0xE6B53A48510E895A},
        {"hello", 0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19},
        {"12345678", 0x3B4A640638B1419C, 0x913B0E676BD42557},
        {"123456789", 0x3C84645EDB66CCA4, 0x99F8FAC73A1EA105},
        {"0123456789abcdef", 0x4BE06D94CF4AD1A7, 0x87C35B5C63A708DA},
        {"The quick brown fox jumps over the lazy dog", 0xE34BBC7BBC071B6C,
         0x7A433CA9C49A9347},
        {"0123456789abcdef0123456789abcde", 0x9AFBAC977E4DAF00,
         0x89FE4CDA7EFD8251},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(known); i++) {
        umbel_digest d =
            digest_of("murmur3", 0, known[i].key, strlen(known[i].key));
        assert_int_equal(d.lo, known[i].lo);
        assert_int_equal(d.hi, known[i].hi);
    }
    assert_int_equal(digest_of("murmur3", 0, NULL, 0).lo, 0);
}

static void integers_are_their_own_digests(void **state)
{
    static const struct {
        const char *key;
        uint64_t want;
    } good[] = {{"0", 0},
                {"7", 7},
                {"0000000000000000000000000000042", 42},
                {"2100000010", 2100000010}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(good); i++) {
        umbel_digest d =
            digest_of("integer", 3, good[i].key, strlen(good[i].key));
        assert_int_equal(d.lo, good[i].want);
        assert_int_equal(d.hi, 0);
    }
}

static umbel_status accept_integer(const void *key, size_t len)
{
    umbel_slice slice = {key, len};
    return um_hash_find("integer")->accept(&slice, 1, &test_refusal);
}

static void what_is_no_small_integer_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "0x1",
        "12a",
        "1.0",
        "1e3",
        "2100000011",
        "18446744073709551617",
        "100000000000000000000000000000000000000000000000000000000000",
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_refused(accept_integer(bad[i], strlen(bad[i])), UMBEL_E_KEY,
                       "decimal integers below 2100000011");
    assert_refused(accept_integer(NULL, 0), UMBEL_E_KEY, "\"\"");
    assert_refused(accept_integer("1\0002", 3), UMBEL_E_KEY, "integers");
}

static void refusals_quote_the_key_but_no_novel(void **state)
{
    char key[200];

    (void)state;
    memset(key, 'x', sizeof key);
    assert_refused(accept_integer(key, sizeof key), UMBEL_E_KEY,
                   "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"");
}

static void a_keyed_hash_waits_for_its_secret_and_forgets_it(void **state)
{
    static const uint8_t zeros[UM_SECRET_LEN] = {0};
    um_secret secret = {.ready = false};
    um_hasher h;

    (void)state;
    um_hasher_init(&h, um_hash_find("sip"), 1, &secret);
    assert_false(um_hasher_ready(&h));
    um_hasher_unlock(&h, test_secret);
    assert_true(um_hasher_ready(&h));
    um_hasher_fini(&h);
    assert_false(um_hasher_ready(&h));
    assert_memory_equal(secret.bytes, zeros, sizeof zeros);
}

/* Files contain this id: BLAKE2b-128 of a fixed text under the secret. */
static void the_name_of_a_secret_never_changes(void **state)
{
    static const char purpose[] = "umbel secret id";
    uint8_t sum[16];

    (void)state;
    crypto_generichash(sum, sizeof sum, (const uint8_t *)purpose,
                       strlen(purpose), test_secret, sizeof test_secret);
    assert_int_equal(um_secret_id(test_secret), um_load64(sum));
    assert_true(um_secret_id(test_secret) != um_secret_id(test_other_secret));
}

static void the_remix_never_changes(void **state)
{
    (void)state;
    assert_int_equal(um_remix(0), 0);
    assert_int_equal(um_remix(1), UINT64_C(0xD6E8FEB8B0B1032B));
}

static void checksums_are_xxh3(void **state)
{
    (void)state;
    assert_int_equal(um_checksum("umbel", 5), XXH3_64bits("umbel", 5));
    assert_int_equal(um_checksum("", 0), UINT64_C(0x2D06800538D394C2));
}

static void the_table_finds_each_name_and_no_other(void **state)
{
    (void)state;
    assert_null(um_hash_find("sha1"));
    assert_null(um_hash_find(""));
    for (size_t i = 0; um_hash_row(i); i++)
        assert_ptr_equal(um_hash_find(um_hash_row(i)->name), um_hash_row(i));
}

TEST_GROUP(hash)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xxh3_is_the_seeded_64_bit_function),
        cmocka_unit_test(xxh128_is_the_seeded_128_bit_function),
        cmocka_unit_test(the_default_mixes_the_seed_first),
        cmocka_unit_test(every_seed_gives_another_filter_for_every_length),
        cmocka_unit_test(positions_under_two_seeds_are_independent),
        cmocka_unit_test(sip_is_siphash_under_the_bound_key),
        cmocka_unit_test(md5_is_one_big_endian_number),
        cmocka_unit_test(murmur3_is_the_128_bit_function),
        cmocka_unit_test(integers_are_their_own_digests),
        cmocka_unit_test(what_is_no_small_integer_is_refused),
        cmocka_unit_test(refusals_quote_the_key_but_no_novel),
        cmocka_unit_test(a_keyed_hash_waits_for_its_secret_and_forgets_it),
        cmocka_unit_test(the_name_of_a_secret_never_changes),
        cmocka_unit_test(the_remix_never_changes),
        cmocka_unit_test(checksums_are_xxh3),
        cmocka_unit_test(the_table_finds_each_name_and_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
