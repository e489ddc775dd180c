/*
 * exact.h - a static filter with no false positive among listed negatives.
 *
 * Experimental: this header may change in any release.
 *
 * A filter of kind "ribbon" with a second level: every member matches, no
 * negative of the list does, and any other key matches at the false positive
 * rate of the filter. If the negatives are all other keys of a universe, the
 * filter is an exact set. Readers do not need the list.
 */
#ifndef UMBEL_EXPERIMENTAL_EXACT_H
#define UMBEL_EXPERIMENTAL_EXACT_H

#include <umbel/build.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A filter that is being built. */
typedef struct umbel_exact umbel_exact;

/*
 * Begins with the members, which are copied; about `listed` different negatives
 * will follow. By default the file becomes as small as possible. With
 * params.cells, as few negatives match as that many bits allow, and the error
 * is as low as possible; params.fpr is the rate for keys in neither list. how
 * may be NULL. Release *out with umbel_exact_close.
 */
UMBEL_API umbel_status umbel_exact_open(const umbel_params *params,
                                        const umbel_key_list *members,
                                        const umbel_build_params *how,
                                        uint64_t listed, umbel_exact **out,
                                        umbel_error *err);

/* A number of different negatives of about the same weight. */
typedef struct umbel_exact_class {
    double weight;
    uint64_t keys;
} umbel_exact_class;

/*
 * Like umbel_exact_open, for a list with weights and a limit on the whole file.
 * classes, by descending weight, give the approximate numbers of keys that will
 * follow. bytes is the maximum size of the file; 0: no limit. Within
 * params.cells or bytes, the filter leaves as little weight as possible; if it
 * leaves less without a second level, it has none.
 */
UMBEL_API umbel_status umbel_exact_open_classes(
    const umbel_params *params, const umbel_key_list *members,
    const umbel_build_params *how, const umbel_exact_class *classes, size_t n,
    uint64_t bytes, umbel_exact **out, umbel_error *err);

/* A partition of a universe and its number of keys, members included; part is
 * hi of their digests. */
typedef struct umbel_exact_part {
    uint64_t part, keys;
} umbel_exact_part;

/*
 * Like umbel_exact_open, for keys in partitions: params.hash is "xxh3-fieldN"
 * (keys with the same field N, 1 to 9; fields end at tabs) or "xxh3-firstN"
 * (keys with the same first N bytes). Every partition gets as many columns as
 * its members and other keys need, so the file is smaller where the share of
 * members differs. parts lists each partition of the universe once, by
 * ascending part; pass the keys of the universe as negatives. params must set
 * neither cells nor fpr.
 */
UMBEL_API umbel_status umbel_exact_open_parts(const umbel_params *params,
                                              const umbel_key_list *members,
                                              const umbel_build_params *how,
                                              const umbel_exact_part *parts,
                                              size_t n, umbel_exact **out,
                                              umbel_error *err);
/* Frees a filter that is being built. NULL is accepted. */
UMBEL_API void umbel_exact_close(umbel_exact *x);

/*
 * Adds negatives; may be called repeatedly, all calls form one list. Only keys
 * that pass the first level are stored, so a universe takes little memory.
 * Members among them are ignored; member[i], when member is given, is set to
 * true for those.
 */
UMBEL_API umbel_status umbel_exact_never(umbel_exact *x,
                                         const umbel_key_list *never,
                                         bool *member, umbel_error *err);

/*
 * Returns the number of members that were not among the keys passed so far, and
 * stores up to cap of them in unlisted. After a complete universe it is 0.
 */
UMBEL_API size_t umbel_exact_unlisted(const umbel_exact *x,
                                      umbel_digest *unlisted, size_t cap);

typedef struct umbel_exact_result {
    uint64_t members; /* different members */
    uint64_t lost;    /* of them do not match, as measured: always 0 */
    uint64_t listed;  /* different negatives, without members; above a million
                         an estimate if some are listed twice */
    uint64_t passed;  /* of them passed the first level */
    uint64_t matched; /* of them still match, for lack of bits */
    double weight, weight_left; /* of the negatives; of those that match */
    double error;               /* rate at which other keys match */
    uint64_t partitions;        /* 0: keys are not in partitions */
} umbel_exact_result;

/*
 * Creates the filter within the limit of bits or bytes: if that is too low, the
 * lightest negatives still match. E_RANGE when there are too few bits even for
 * the members. Release *out with umbel_close.
 */
UMBEL_API umbel_status umbel_exact_finish(umbel_exact *x, umbel_filter **out,
                                          umbel_exact_result *result,
                                          umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
