/*
 * keys.h - a list of keys, for calls that need all keys at once.
 */
#ifndef UMBEL_KEYS_H
#define UMBEL_KEYS_H

#include <umbel/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A list of keys in the caller's memory: members of a filter, or negatives
 * (keys that must not match). Keys are digests made with the filter that the
 * list is used with (umbel_digest_many).
 *
 * In every call the order does not matter, and a key that is listed more than
 * once is one key. Its weights add up. Its values must agree, or the call fails
 * with E_KEY.
 *
 * Calls ignore weights or values that they do not need.
 */
typedef struct umbel_key_list {
    size_t size; /* sizeof(umbel_key_list): lets it grow */
    const umbel_digest *digests;
    size_t n;
    /* The weight of each key: 0, or from 1e-100 to 1e100. NULL: 1 each. */
    const double *weights;
    /* The value of each key, for filters with values. NULL: none. */
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
