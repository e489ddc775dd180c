/*
 * keys.h - a list of keys, as every call takes it that needs all of them.
 */
#ifndef UMBEL_KEYS_H
#define UMBEL_KEYS_H

#include <umbel/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A list of keys in the caller's memory: members of a filter, or negatives
 * (keys that must not match). Keys are digests of the filter that the list is
 * used with (umbel_digest_many).
 *
 * One rule holds for every call: the order does not matter, and a key that is
 * listed more than once is one key. Its weights add up. Its values must agree,
 * or the call fails with E_KEY.
 *
 * A call ignores weights or values that it has no use for.
 */
typedef struct umbel_key_list {
    size_t size; /* sizeof(umbel_key_list): lets it grow */
    const umbel_digest *digests;
    size_t n;
    /* What each key is worth: 0, or from 1e-100 to 1e100. NULL: 1 each. */
    const double *weights;
    /* What each key stands for, for filters with values. NULL: nothing. */
    const uint64_t *values;
} umbel_key_list;

/* Initializes a list of n digests without weights and values. */
#define UMBEL_KEY_LIST(digests, n)                                             \
    {                                                                          \
        sizeof(umbel_key_list), (digests), (n), 0, 0                           \
    }

#ifdef __cplusplus
}
#endif
#endif
