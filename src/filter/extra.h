/*
 * extra.h - exact error of layouts with extra throws.
 */
#ifndef UM_FILTER_EXTRA_H
#define UM_FILTER_EXTRA_H

#include "filter/addressing.h"

/* Returns true if the sum below is short enough: up to 15 hashes in 8 lanes. */
bool um_extra_can(const um_layout *l);
/*
 * As um_model_error, which it approximates by about. Absolute precision 1e-11
 * for errors from 1e-6 on, 1e-14 below.
 */
double um_extra_error(const um_layout *l, double keys, double about);

#endif
