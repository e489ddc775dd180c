/*
 * exact_size.h - how many columns the first of two levels has.
 */
#ifndef UM_OPS_EXACT_SIZE_H
#define UM_OPS_EXACT_SIZE_H

#include <umbel/base.h>

/* For the smallest file of n members and so many listed keys. */
uint32_t um_exact_smallest(double n, double listed);

/*
 * The most that fit into so many bits; where none do, those that leave the
 * fewest listed keys. False when not even the members fit.
 */
bool um_exact_within(double n, double listed, double bits, uint32_t *out);
/* Bits that hold the members. */
double um_exact_least(double n);

#endif
