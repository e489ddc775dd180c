/* packet.c - filters in packets: they use the caller's bits, and no others. */
#include "support/test.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { MAX_BYTES = (UMBEL_PACKET_MAX + 7) / 8 };

static umbel_packet *open_packet(uint32_t bits, uint32_t reset, uint32_t set,
                                 const uint8_t *secret)
{
    umbel_packet_params p = {.size = sizeof p,
                             .bits = bits,
                             .reset = reset,
                             .set = set,
                             .seed = 3,
                             .secret = secret};
    umbel_packet *out = NULL;

    assert_ok(umbel_packet_open(&p, &out, &test_refusal));
    return out;
}

static void scribble(um_rng *rng, uint8_t *bits, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bits[i] = (uint8_t)um_random(rng);
}

/* The key added last always matches, whatever the bits were before. */
static void the_last_key_is_known(void **state)
{
    um_rng rng = {1};
    uint8_t bits[MAX_BYTES];

    (void)state;
    for (uint32_t n = UMBEL_PACKET_MIN; n <= UMBEL_PACKET_MAX; n += 8)
        for (uint32_t k = 1; k <= 32; k = k * 2 + 1) {
            umbel_packet *p = open_packet(n, k, k + (k < 32), NULL);
            for (int i = 0; i < 50; i++) {
                uint64_t key = um_random(&rng);
                scribble(&rng, bits, sizeof bits);
                umbel_packet_add(p, bits, &key, sizeof key);
                assert_true(umbel_packet_query(p, bits, &key, sizeof key));
            }
            umbel_packet_close(p);
        }
}

/* 100 bits are 12 bytes and half of another. */
static void no_other_bit_is_touched_or_looked_at(void **state)
{
    umbel_packet *p = open_packet(100, 4, 4, NULL);
    uint8_t zeros[MAX_BYTES] = {0}, ones[MAX_BYTES];

    (void)state;
    memset(ones, 0xFF, sizeof ones);
    for (uint64_t key = 0; key < 1000; key++) {
        umbel_packet_add(p, zeros, &key, sizeof key);
        umbel_packet_add(p, ones, &key, sizeof key);
        assert_int_equal(zeros[12] & 0xF0, 0);
        assert_int_equal(ones[12] & 0xF0, 0xF0);
        for (size_t i = 13; i < MAX_BYTES; i++)
            assert_true(zeros[i] == 0 && ones[i] == 0xFF);
    }
    memcpy(ones, zeros, 12);
    ones[12] = (uint8_t)(0xF0 | zeros[12]);
    for (uint64_t key = 0; key < 2000; key++)
        assert_int_equal(umbel_packet_query(p, ones, &key, sizeof key),
                         umbel_packet_query(p, zeros, &key, sizeof key));
    umbel_packet_close(p);
}

static double accepted(const umbel_packet *p, const uint8_t *bits, uint64_t n,
                       uint64_t seed)
{
    um_rng rng = {seed};
    uint64_t hits = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = um_random(&rng);
        hits += umbel_packet_query(p, bits, &key, sizeof key);
    }
    return (double)hits / (double)n;
}

static void check_bound(uint32_t n, uint32_t reset, uint32_t set)
{
    enum { ASKED = 40000 };
    umbel_packet *p = open_packet(n, reset, set, NULL);
    double bound = umbel_generalized_distinct_bound(n, reset, set);
    double over = 5 * sqrt(bound * (1 - bound) / ASKED);
    um_rng rng = {n};
    uint8_t bits[MAX_BYTES];

    static const int fill[] = {0x00, 0xFF, 0x55, 0x0F, 0x01, 0x7F};
    for (size_t i = 0; i < TEST_COUNT(fill); i++) {
        memset(bits, fill[i], sizeof bits);
        assert_true(accepted(p, bits, ASKED, i) <= bound + over);
    }
    scribble(&rng, bits, sizeof bits);
    assert_true(accepted(p, bits, ASKED, 50) <= bound + over);
    memset(bits, 0xFF, sizeof bits); /* the worst number of zeros */
    for (uint32_t i = 0; i < n * reset / (reset + set); i++)
        bits[i / 8] &= (uint8_t) ~(1u << i % 8);
    assert_near(accepted(p, bits, ASKED, 51), bound, over + 0.02 * bound);
    umbel_packet_close(p);
}

static void no_bits_pass_the_bound(void **state)
{
    (void)state;
    check_bound(64, 2, 2);
    check_bound(64, 4, 4);
    check_bound(128, 1, 3);
    check_bound(256, 2, 2);
    check_bound(256, 4, 4);
    check_bound(304, 3, 4);
}

/* Cells are distinct: the paper's functions would lose 6 % of the last keys. */
static void a_path_is_remembered_as_the_formula_says(void **state)
{
    enum { HOPS = 16, ROUNDS = 4000 };
    umbel_packet *p = open_packet(256, 2, 2, NULL);
    umbel_generalized g = {256, 2, 2, 0.5, HOPS};
    test_spread first = {0};
    um_rng rng = {5};
    uint8_t bits[32];

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t path[HOPS];
        scribble(&rng, bits, sizeof bits);
        for (int i = 0; i < HOPS; i++) {
            path[i] = um_random(&rng);
            umbel_packet_add(p, bits, &path[i], sizeof path[i]);
        }
        test_spread_add(&first,
                        !umbel_packet_query(p, bits, &path[0], sizeof path[0]));
    }
    double want = umbel_generalized_fn_at(&g, 1);
    assert_near(first.mean, want, 5 * sqrt(want * (1 - want) / ROUNDS));
    umbel_packet_close(p);
}

/* Icarus: hosts that a looping packet passed before do not change it again. */
static void a_key_that_changes_nothing_was_there_before(void **state)
{
    umbel_packet *p = open_packet(256, 0, 4, NULL);
    um_rng rng = {6};

    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint8_t bits[32] = {0}, before[32];
        uint64_t ring[6];
        for (int i = 0; i < 6; i++) {
            ring[i] = um_random(&rng);
            memcpy(before, bits, sizeof bits);
            bool changed = umbel_packet_add(p, bits, &ring[i], sizeof ring[i]);
            assert_int_equal(changed, memcmp(before, bits, sizeof bits) != 0);
        }
        for (int i = 0; i < 6; i++)
            assert_false(umbel_packet_add(p, bits, &ring[i], sizeof ring[i]));
    }
    umbel_packet_close(p);
}

/*
 * 4 + 4 cells in 256 bits: the paper's functions collide for 6 % of the keys,
 * which are lost at once.
 */
static void colliding_cells_deny_as_the_paper_s_do(void **state)
{
    enum { KEYS = 100000 };
    umbel_packet_params params = {.size = sizeof params,
                                  .bits = 256,
                                  .reset = 4,
                                  .set = 4,
                                  .collide = true};
    umbel_packet *p = NULL;
    um_rng rng = {7};
    double lost = 0, hole = 1 - pow(1 - 4 / 256., 4);

    (void)state;
    assert_ok(umbel_packet_open(&params, &p, &test_refusal));
    for (int i = 0; i < KEYS; i++) {
        uint8_t bits[32] = {0};
        uint64_t key = um_random(&rng);
        umbel_packet_add(p, bits, &key, sizeof key);
        lost += !umbel_packet_query(p, bits, &key, sizeof key);
    }
    assert_near(lost / KEYS, hole, 5 * sqrt(hole * (1 - hole) / KEYS) + 1e-3);
    umbel_packet_close(p);
}

/*
 * Only cells of later keys can make a key fail: with these as wildcards none
 * fails, and an inverted cell is counted once.
 */
static void wildcards_bring_overwritten_keys_back(void **state)
{
    enum { HOPS = 16 };
    umbel_packet *p = open_packet(256, 4, 4, NULL);
    um_rng rng = {8};
    size_t denied = 0;

    (void)state;
    for (int round = 0; round < 500; round++) {
        uint8_t bits[32], unknown[32] = {0};
        uint64_t path[HOPS];
        scribble(&rng, bits, sizeof bits);
        for (int i = 0; i < HOPS; i++) {
            path[i] = um_random(&rng);
            umbel_packet_add(p, bits, &path[i], sizeof path[i]);
        }
        for (int i = HOPS; i-- > 0;) {
            const uint64_t *key = &path[i];
            uint32_t wrong =
                umbel_packet_inverted(p, bits, NULL, key, sizeof *key);
            assert_int_equal(wrong == 0,
                             umbel_packet_query(p, bits, key, sizeof *key));
            assert_int_equal(
                umbel_packet_inverted(p, bits, unknown, key, sizeof *key), 0);
            umbel_packet_cover(p, unknown, key, sizeof *key);
            denied += wrong > 0;
        }
    }
    assert_true(denied > 1000);
    umbel_packet_close(p);
}

static void a_secret_makes_other_cells(void **state)
{
    umbel_packet *plain = open_packet(256, 4, 4, NULL);
    umbel_packet *keyed = open_packet(256, 4, 4, test_secret);
    umbel_packet *other = open_packet(256, 4, 4, test_other_secret);
    uint8_t a[32] = {0}, b[32] = {0}, c[32] = {0};

    (void)state;
    umbel_packet_add(plain, a, "router", 6);
    umbel_packet_add(keyed, b, "router", 6);
    umbel_packet_add(other, c, "router", 6);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(b, c, sizeof b);
    assert_true(umbel_packet_query(keyed, b, "router", 6));
    umbel_packet_close(plain);
    umbel_packet_close(keyed);
    umbel_packet_close(other);
    umbel_packet_close(NULL);
}

static void shapes_that_cannot_be_are_refused(void **state)
{
    umbel_packet_params good = {
        .size = sizeof good, .bits = 256, .reset = 4, .set = 4};
    umbel_packet_params p = good;
    umbel_packet *out = NULL;

    (void)state;
    p.bits = 63;
    assert_refused(umbel_packet_open(&p, &out, &test_refusal), UMBEL_E_RANGE,
                   "64 to 304");
    p.bits = 305;
    assert_refused(umbel_packet_open(&p, &out, &test_refusal), UMBEL_E_RANGE,
                   "kind generalized");
    p = good;
    p.reset = 33;
    assert_refused(umbel_packet_open(&p, &out, &test_refusal), UMBEL_E_RANGE,
                   "0..32");
    p.reset = 4;
    p.set = 0;
    assert_refused(umbel_packet_open(&p, &out, &test_refusal), UMBEL_E_RANGE,
                   "1..32");
    p.set = 33;
    assert_refused(umbel_packet_open(&p, &out, &test_refusal), UMBEL_E_RANGE,
                   "1..32");
    p = good;
    p.size = 3;
    assert_refused(umbel_packet_open(&p, &out, &test_refusal), UMBEL_E_RANGE,
                   "size");
    assert_refused(umbel_packet_open(NULL, &out, &test_refusal), UMBEL_E_RANGE,
                   "size");
    assert_null(out);
}

TEST_GROUP(packet)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_key_is_known),
        cmocka_unit_test(no_other_bit_is_touched_or_looked_at),
        cmocka_unit_test(no_bits_pass_the_bound),
        cmocka_unit_test(a_path_is_remembered_as_the_formula_says),
        cmocka_unit_test(a_key_that_changes_nothing_was_there_before),
        cmocka_unit_test(colliding_cells_deny_as_the_paper_s_do),
        cmocka_unit_test(wildcards_bring_overwritten_keys_back),
        cmocka_unit_test(a_secret_makes_other_cells),
        cmocka_unit_test(shapes_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
