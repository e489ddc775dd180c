/*
 * sizing.h - from params to a complete shape.
 */
#ifndef UM_FILTER_SIZING_H
#define UM_FILTER_SIZING_H

#include "filter/kind.h"

#include <umbel/build.h>

#define UM_DEFAULT_FPR 0.001
#define UM_DEFAULT_ADDRESSING "blocked512"

/* Returns the default addressing of a kind; kind may be NULL or unknown. */
const char *um_default_addressing(const char *kind);

/*
 * Converts params of a caller that may have been compiled with another version:
 * fields that it lacks are 0, fields that we lack must be 0.
 */
umbel_status um_params_normalize(const umbel_params *given, umbel_params *out,
                                 umbel_error *err);

/* Checks the parameters of a static build; given may be NULL. threads becomes
 * at least 1. */
umbel_status um_build_params_normalize(const umbel_build_params *given,
                                       umbel_build_params *out,
                                       umbel_error *err);

/*
 * Looks up names (params NULL: all defaults), copies settings, checks ranges.
 * cells and hashes may still be 0.
 */
umbel_status um_shape_from_params(const char *kind, const umbel_params *given,
                                  um_shape *out, umbel_error *err);

/*
 * Computes cells and hashes: capacity and fpr give both; given cells are
 * rounded up to whole granules, with the best hashes for the capacity.
 */
umbel_status um_solve_size(um_shape *s, umbel_error *err);

/* Checks that a shape of any origin can become a filter. */
umbel_status um_check_shape(const um_shape *s, umbel_error *err);

/* Returns the error of a shape with this many keys, including digest
 * collisions. */
double um_shape_error(const um_shape *s, double keys);
/* Returns the part of the error that comes from digest collisions. */
double um_digest_error(const um_shape *s, double keys);

/*
 * Returns the maximum number of keys for a given size at error fpr, with the
 * best hashes if s->hashes is 0, which it sets. 0 when not even one key fits.
 */
uint64_t um_max_keys(um_shape *s, double fpr);

#endif
