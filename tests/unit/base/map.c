/*
 * map.c - hash tables with open addressing and linear probing.
 */
#include "support/test.h"

#include "base/map.h"
#include "base/rng.h"

#include <stdlib.h>

enum { CAP = 64 };

typedef struct row {
    uint32_t key; /* 0: free */
    uint32_t value;
} row;

static bool is_free(const void *slot)
{
    return ((const row *)slot)->key == 0;
}

static bool has_key(const void *ctx, const void *slot, const void *key)
{
    (void)ctx;
    return ((const row *)slot)->key == *(const uint32_t *)key;
}

/*
 * Returns few different values, so that slots collide and probes wrap around.
 */
static uint64_t hash_key(uint32_t key)
{
    return key % 7 * 10;
}

static uint64_t hash_slot(const void *ctx, const void *slot)
{
    (void)ctx;
    return hash_key(((const row *)slot)->key);
}

static const um_map_rule rule = {sizeof(row), is_free, has_key, hash_slot};

static row *find(row *rows, size_t cap, uint32_t key)
{
    return um_map_find(&rule, NULL, rows, cap, hash_key(key), &key);
}

static void keys_are_found_after_they_moved(void **state)
{
    row rows[CAP] = {{0}}, more[4 * CAP] = {{0}};

    (void)state;
    for (uint32_t key = 1; key <= CAP / 2; key++)
        *find(rows, CAP, key) = (row){key, key * key};
    um_map_move(&rule, NULL, rows, CAP, more, 4 * CAP);
    for (uint32_t key = 1; key <= CAP; key++) {
        assert_int_equal(find(rows, CAP, key)->key, key <= CAP / 2 ? key : 0);
        assert_int_equal(find(more, 4 * CAP, key)->value,
                         key <= CAP / 2 ? key * key : 0);
    }
}

/* Compares random additions and removals with an array indexed by key. */
static void removing_leaves_all_others(void **state)
{
    row rows[CAP] = {{0}};
    bool has[CAP] = {false};
    um_rng rng = {7};

    (void)state;
    for (int step = 0; step < 20000; step++) {
        uint32_t key = 1 + (uint32_t)(um_random_below(&rng, CAP - 2));
        row *r = find(rows, CAP, key);
        assert_int_equal(r->key == key, has[key]);
        if (r->key)
            um_map_remove(&rule, NULL, rows, CAP, r);
        else
            *r = (row){key, key};
        has[key] = !has[key];
        if (step % 100)
            continue;
        for (uint32_t k = 1; k < CAP - 1; k++)
            assert_int_equal(find(rows, CAP, k)->key == k, has[k]);
    }
}

static void tables_are_at_most_half_full(void **state)
{
    (void)state;
    assert_int_equal(um_map_cap(0, 16), 16);
    assert_int_equal(um_map_cap(8, 16), 16);
    assert_int_equal(um_map_cap(9, 16), 32);
    assert_int_equal(um_map_cap(1000, 4), 2048);
}

TEST_GROUP(map)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_found_after_they_moved),
        cmocka_unit_test(removing_leaves_all_others),
        cmocka_unit_test(tables_are_at_most_half_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
