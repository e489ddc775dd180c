/*
 * build.h - static filters: kinds that are built from all keys at once.
 *
 * A static filter (kind "ribbon") takes no further keys and cannot be merged.
 * In return it is about as small as a filter can be. With the setting
 * value_bits (1 to 32) it is a map: each key has a value of that many bits.
 *
 * A static kind has its own addressing: leave params.addressing NULL.
 */
#ifndef UMBEL_BUILD_H
#define UMBEL_BUILD_H

#include <umbel/filter.h>
#include <umbel/keys.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to build. Zero means the default; start with UMBEL_BUILD_INIT. */
typedef struct umbel_build_params {
    size_t size;         /* sizeof(umbel_build_params): lets it grow */
    unsigned threads;    /* 0 means 1; the filter is the same for any number */
    umbel_digest *clash; /* receives the key that has two values, when the call
                            fails with E_KEY; may be NULL */
} umbel_build_params;

#ifdef __cplusplus
#define UMBEL_BUILD_INIT                                                       \
    {                                                                          \
        sizeof(umbel_build_params), 0, 0                                       \
    }
#else
#define UMBEL_BUILD_INIT                                                       \
    {                                                                          \
        .size = sizeof(umbel_build_params)                                     \
    }
#endif

/* Returns true if filters of that kind are static: built, not created empty. */
UMBEL_API bool umbel_is_static(const char *kind);

/*
 * Builds the static filter of these members; NULL builds the empty one, which
 * serves to hash keys. params say the false positive rate (fpr) or the largest
 * payload in bits (cells), and hash, seed and secret; leave capacity and hashes
 * 0. how may be NULL. Takes 24 bytes of memory per key, and the filter twice.
 *
 * On success *out owns the filter; release it with umbel_close.
 */
UMBEL_API umbel_status umbel_build(const char *kind, const umbel_params *params,
                                   const umbel_key_list *members,
                                   const umbel_build_params *how,
                                   umbel_filter **out, umbel_error *err);

/* Builds the same from n keys. values may be NULL: a set. */
UMBEL_API umbel_status umbel_build_keys(const char *kind,
                                        const umbel_params *params,
                                        const umbel_slice *keys,
                                        const uint64_t *values, size_t n,
                                        umbel_filter **out, umbel_error *err);

/*
 * Looks up values: values[i] becomes the value of keys[i] if that is a member,
 * and any number otherwise. umbel_query_many finds the members; a map that was
 * built without fpr matches every key. E_UNSUPPORTED when f has no values.
 */
UMBEL_API umbel_status umbel_values_many(const umbel_filter *f,
                                         const umbel_slice *keys, size_t n,
                                         uint64_t *values, umbel_error *err);
/* Returns the bits of a value; 0 when f has no values. */
UMBEL_API uint32_t umbel_value_bits(const umbel_filter *f);

#ifdef __cplusplus
}
#endif
#endif
