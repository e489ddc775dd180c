/*
 * build.h - kinds that are made of all their keys at once, such as "ribbon".
 *
 * A static filter takes no further keys, and has no merge: whatever is to be
 * in it is there when it is built. In return it is as small as can be.
 *
 * Settings of kind "ribbon" that may be given: value_bits (1 to 32): a map, not
 * a set. Its addressing is its own, and is left out of params.
 */
#ifndef UMBEL_BUILD_H
#define UMBEL_BUILD_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keys as digests, and what they stand for; start with UMBEL_MEMBERS_INIT. */
typedef struct umbel_members {
    size_t size; /* sizeof(umbel_members): lets it grow */
    const umbel_digest *digests;
    const uint64_t *values; /* one each, below 2^value_bits; NULL: a set */
    size_t n;
    unsigned threads; /* the result is the same for any; 0 means 1 */
    /* Gets the key, when the call fails with E_KEY because it has two values.
     */
    umbel_digest *clash;
} umbel_members;

#ifdef __cplusplus
#define UMBEL_MEMBERS_INIT                                                     \
    {                                                                          \
        sizeof(umbel_members), 0, 0, 0, 0, 0                                   \
    }
#else
#define UMBEL_MEMBERS_INIT                                                     \
    {                                                                          \
        .size = sizeof(umbel_members)                                          \
    }
#endif

/* Whether filters of that kind are built, not opened. */
UMBEL_API bool umbel_is_static(const char *kind);

/*
 * The static filter of these members, in any order; a key that stands twice
 * counts once. params tell the error (fpr), or instead of it the most bits that
 * the payload may take (cells); hash, seed and secret; capacity and hashes are
 * not wanted. Digests are those of a filter of the same hash, seed and secret:
 * one of no members will do. Memory: 24 bytes a key, and the filter twice.
 *
 * On success *out owns the filter; release it with umbel_close.
 */
UMBEL_API umbel_status umbel_build(const char *kind, const umbel_params *params,
                                   const umbel_members *members,
                                   umbel_filter **out, umbel_error *err);

/* The same from keys. values may be NULL: a set. */
UMBEL_API umbel_status umbel_build_keys(const char *kind,
                                        const umbel_params *params,
                                        const umbel_slice *keys,
                                        const uint64_t *values, size_t n,
                                        umbel_filter **out, umbel_error *err);

/*
 * values[i] is what keys[i] stands for; for a key that is no member, anything.
 * Whether it is one umbel_query_many tells, with the error that was asked for;
 * a map without fpr takes every key for a member. E_UNSUPPORTED when f has no
 * values.
 */
UMBEL_API umbel_status umbel_values_many(const umbel_filter *f,
                                         const umbel_slice *keys, size_t n,
                                         uint64_t *values, umbel_error *err);
/* Bits of a value; 0 when f has none. */
UMBEL_API uint32_t umbel_value_bits(const umbel_filter *f);

#ifdef __cplusplus
}
#endif
#endif
