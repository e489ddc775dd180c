/*
 * attacks.c - the attack laboratory: what is filled, placed, refused and
 * accepted.
 */
#include "support/test.h"

#include "papers/attacks/attack.h"

static void contents_are_even_in_every_block(void **state)
{
    static lab l;

    (void)state;
    for (int share = 0; share <= 4; share++) {
        lab_fill(&l, share / 4.);
        for (uint64_t at = 0; at < BITS; at += BLOCK)
            assert_int_equal(um_popcount(l.bits, at, BLOCK),
                             (uint64_t)share * BLOCK / 4);
    }
}

static void a_check_refuses_six_sigma_above_a_half(void **state)
{
    static lab l;
    um_rng rng = {1};

    (void)state;
    assert_near(lab_limit(&defences[1]), 0.50649, 1e-5);
    for (size_t i = 0; i < DEFENCES; i++) {
        assert_ok(lab_open(&l, &defences[i], &rng, &test_refusal));
        lab_fill(&l, 0.506);
        lab_arrive(&l);
        assert_false(l.refused);
        lab_fill(&l, 0.507);
        lab_arrive(&l);
        assert_int_equal(l.refused, defences[i].checked);
        lab_close(&l);
    }
}

/* Checks that the model's cells are those that the library sets. */
static void places_are_the_librarys(void **state)
{
    static lab l;
    um_rng rng = {2};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint64_t key[100];
        uint32_t place[100 * MAX_PLACES];
        double share;
        assert_ok(lab_open(&l, &defences[i], &rng, &test_refusal));
        for (size_t j = 0; j < 100; j++)
            key[j] = um_random(&rng);
        assert_ok(lab_places(&l, l.ours, key, 100, place, &test_refusal));
        for (size_t j = 0; j < 60; j++)
            lab_insert(&l, place + j * MAX_PLACES);
        lab_arrive(&l);
        assert_ok(lab_ask(&l, key, 60, &share, &test_refusal));
        assert_near(share, 1, 0);
        assert_ok(lab_ask(&l, key + 60, 40, &share, &test_refusal));
        assert_near(share, 0, 0);
        lab_close(&l);
    }
}

static void blocked_places_share_a_block_and_differ(void **state)
{
    static lab l;
    um_rng rng = {3};

    (void)state;
    assert_ok(lab_open(&l, &defences[4], &rng, &test_refusal));
    assert_true(l.row->blocked);
    for (int i = 0; i < 1000; i++) {
        uint32_t place[MAX_PLACES];
        uint64_t key = um_random(&rng);
        assert_ok(lab_places(&l, l.ours, &key, 1, place, &test_refusal));
        for (size_t a = 0; a < MAX_PLACES; a++)
            for (size_t b = 0; b < a; b++) {
                assert_int_equal(place[a] / BLOCK, place[b] / BLOCK);
                assert_int_not_equal(place[a], place[b]);
            }
    }
    lab_close(&l);
}

/* Without a secret the attacker computes the same hashes, with one not. */
static void guessing_secrets_fails(void **state)
{
    static lab l;
    um_rng rng = {4};

    (void)state;
    for (size_t i = 0; i < DEFENCES; i++) {
        uint32_t ours[MAX_PLACES], guess[MAX_PLACES];
        uint64_t key = um_random(&rng);
        assert_ok(lab_open(&l, &defences[i], &rng, &test_refusal));
        assert_ok(lab_places(&l, l.ours, &key, 1, ours, &test_refusal));
        assert_ok(lab_places(&l, l.guess, &key, 1, guess, &test_refusal));
        if (defences[i].keyed)
            assert_memory_not_equal(ours, guess, sizeof ours);
        else
            assert_memory_equal(ours, guess, sizeof ours);
        lab_close(&l);
    }
}

TEST_GROUP(attacks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_are_even_in_every_block),
        cmocka_unit_test(a_check_refuses_six_sigma_above_a_half),
        cmocka_unit_test(places_are_the_librarys),
        cmocka_unit_test(blocked_places_share_a_block_and_differ),
        cmocka_unit_test(guessing_secrets_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
