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
    umbel_digest *clash; /* when the call fails with E_KEY, receives the key
                            that has two values; may be NULL */
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

/* Returns true if filters of this kind are static: built, not created empty. */
UMBEL_API bool umbel_is_static(const char *kind);

/*
 * Builds the static filter of these members; NULL builds an empty one, which
 * can be used to hash keys. params give the false positive rate (fpr) or the
 * largest payload in bits (cells), and hash, seed and secret; leave capacity
 * and hashes 0. how may be NULL. Takes 24 bytes of memory per key plus twice
 * the size of the filter.
 *
 * On success *out owns the filter; release it with umbel_close.
 */
UMBEL_API umbel_status umbel_build(const char *kind, const umbel_params *params,
                                   const umbel_key_list *members,
                                   const umbel_build_params *how,
                                   umbel_filter **out, umbel_error *err);

/* Builds a static filter from n keys, as umbel_build does. With values NULL the
 * filter is a set. */
UMBEL_API umbel_status umbel_build_keys(const char *kind,
                                        const umbel_params *params,
                                        const umbel_slice *keys,
                                        const uint64_t *values, size_t n,
                                        umbel_filter **out, umbel_error *err);

/*
 * Looks up values: values[i] becomes the value of keys[i] if the key is a
 * member, and an arbitrary number otherwise. Use umbel_query_many to find the
 * members; a map built without fpr matches every key. E_UNSUPPORTED when f has
 * no values.
 */
UMBEL_API umbel_status umbel_values_many(const umbel_filter *f,
                                         const umbel_slice *keys, size_t n,
                                         uint64_t *values, umbel_error *err);
/* Returns the number of bits of a value; 0 when f has no values. */
UMBEL_API uint32_t umbel_value_bits(const umbel_filter *f);

#ifdef __cplusplus
}
#endif
#endif
