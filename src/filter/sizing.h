/*
 * sizing.h - from what was asked to a settled shape.
 */
#ifndef UM_FILTER_SIZING_H
#define UM_FILTER_SIZING_H

#include "filter/kind.h"

#include <umbel/build.h>

#define UM_DEFAULT_FPR 0.001
#define UM_DEFAULT_ADDRESSING "blocked512"

/* Returns the default addressing of a kind, which may be NULL or unknown. */
const char *um_default_addressing(const char *kind);

/*
 * Params as this version knows them, from a caller that may have been compiled
 * with another: fields that it lacks are 0, fields that we lack must be.
 */
umbel_status um_params_normalize(const umbel_params *given, umbel_params *out,
                                 umbel_error *err);

/* Checks how to build a static filter; given may be NULL. threads becomes 1 or
 * more. */
umbel_status um_build_params_normalize(const umbel_build_params *given,
                                       umbel_build_params *out,
                                       umbel_error *err);

/*
 * Look up names (params NULL: all defaults), copy settings, check ranges. cells
 * and hashes may still be 0.
 */
umbel_status um_shape_from_params(const char *kind, const umbel_params *given,
                                  um_shape *out, umbel_error *err);

/*
 * Fill in cells and hashes: capacity and fpr give both; cells alone are kept,
 * rounded up to whole granules, with the best hashes for the capacity.
 */
umbel_status um_solve_size(um_shape *s, umbel_error *err);

/* Checks that a shape, wherever it came from, can be made into a filter. */
umbel_status um_check_shape(const um_shape *s, umbel_error *err);

/* Returns the error of a shape with n keys, digest collisions included. */
double um_shape_error(const um_shape *s, double keys);
/* The part that comes from equal digests alone. */
double um_digest_error(const um_shape *s, double keys);

/*
 * Most keys that a settled size holds at error fpr, with the best hashes when
 * s->hashes is 0; fills s->hashes. 0 when not even one fits.
 */
uint64_t um_max_keys(um_shape *s, double fpr);

#endif
