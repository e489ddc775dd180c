/*
 * extra.h - exact error of layouts with extra throws.
 */
#ifndef UM_ADDRESSING_EXTRA_H
#define UM_ADDRESSING_EXTRA_H

#include "filter/addressing.h"

/* Whether the sum below is short enough: up to 15 hashes in 8 lanes. */
bool um_extra_can(const um_layout *l);
/* As um_model_error; absolute precision about 1e-14. */
double um_extra_error(const um_layout *l, double keys);

#endif
