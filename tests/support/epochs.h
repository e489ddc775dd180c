/*
 * epochs.h - a list with epochs of a day, and keys by number.
 */
#ifndef UM_TESTS_EPOCHS_H
#define UM_TESTS_EPOCHS_H

#include "support/test.h"

#include "store/list.h"

enum { DAY = 86400, T0 = 12 * DAY };

static const um_list_config usual = {.name = "spam",
                                     .kind = "counting",
                                     .capacity = 1000,
                                     .error = 1e-4,
                                     .epoch_seconds = DAY,
                                     .epochs = 3,
                                     .cell_bits = 8};

static inline um_list *open_list(const um_list_config *c)
{
    um_list *l = NULL;
    assert_ok(um_list_open(c, test_secret, T0, &l, &test_refusal));
    return l;
}

/* Returns the digest of key number i. */
static inline umbel_digest digest_of(const um_list *l, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    umbel_digest d;

    test_key(i, key);
    um_list_digest(l, &slice, 1, &d);
    return d;
}

static inline void add_key(um_list *l, uint64_t i, uint32_t amount)
{
    umbel_digest d = digest_of(l, i);
    assert_ok(um_list_add(l, &d, &amount, 1, &test_refusal));
}

static inline uint64_t count_key(const um_list *l, uint64_t i)
{
    umbel_digest d = digest_of(l, i);
    uint64_t count;

    um_list_count(l, &d, 1, &count);
    return count;
}

static inline um_list_stats stats_of(const um_list *l)
{
    um_list_stats s;
    um_list_stats_get(l, &s);
    return s;
}

static inline void advance(um_list *l, uint64_t now)
{
    assert_ok(um_list_advance(l, now, &test_refusal));
}

#endif
