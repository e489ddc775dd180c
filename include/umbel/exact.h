/*
 * exact.h - a static set that errs on no key of a list.
 *
 * A filter of kind "ribbon" with a second level: members match, keys of the
 * list do not, and a key of neither matches with the error that the filter
 * states. Where the list is all the rest of a universe the set is exact. The
 * readers need no list.
 */
#ifndef UMBEL_EXACT_H
#define UMBEL_EXACT_H

#include <umbel/build.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One that is being built. */
typedef struct umbel_exact umbel_exact;

/*
 * Begin with the members, which are copied; about listed different keys will
 * follow. They choose the size: the smallest file. With params.cells, the least
 * error that so many bits allow instead; with params.fpr, that error of keys of
 * neither. Release *out with umbel_exact_close.
 */
UMBEL_API umbel_status umbel_exact_open(const umbel_params *params,
                                        const umbel_members *members,
                                        uint64_t listed, umbel_exact **out,
                                        umbel_error *err);
/* NULL is fine. */
UMBEL_API void umbel_exact_close(umbel_exact *x);

/*
 * Keys that must not match; again and again. Only those that the first level
 * lets pass are kept: memory for few of a universe. weights may be NULL: 1
 * each; finite, not negative. Members among them are left alone, and told where
 * member is given.
 */
UMBEL_API umbel_status umbel_exact_never(umbel_exact *x,
                                         const umbel_digest *digests,
                                         const double *weights, size_t n,
                                         bool *member, umbel_error *err);

/* How many members were not among the keys so far; unlisted gets up to cap of
 * them. A universe has them all. */
UMBEL_API size_t umbel_exact_unlisted(const umbel_exact *x,
                                      umbel_digest *unlisted, size_t cap);

/* What came of it. */
typedef struct umbel_exact_bill {
    uint64_t members; /* each once */
    uint64_t lost;    /* of them denied, when asked: none */
    uint64_t listed;  /* different keys that must not, without members; of
                         more than a million about, where some stand twice */
    uint64_t passed;  /* ... of which the first level let so many pass */
    uint64_t matched; /* ... of which the bits did not suffice for so many */
    double weight, weight_left; /* of those listed; of those that match */
    double error;               /* chance that a key of neither matches */
} umbel_exact_bill;

/*
 * The filter. With params.cells it takes no more bits: where they do not
 * suffice the lightest keys of the list are left, and match. E_RANGE when there
 * are too few bits even for the members. Release *out with umbel_close.
 */
UMBEL_API umbel_status umbel_exact_finish(umbel_exact *x, umbel_filter **out,
                                          umbel_exact_bill *bill,
                                          umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
