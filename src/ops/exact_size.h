/*
 * exact_size.h - how many columns the first of two levels has.
 */
#ifndef UM_OPS_EXACT_SIZE_H
#define UM_OPS_EXACT_SIZE_H

#include <umbel/base.h>

/* Returns the columns that give the smallest file. */
uint32_t um_exact_smallest(double n, double listed);

/*
 * Sets *out to the most columns that fit into bits; where none do, to those
 * that leave the fewest listed keys. Returns false when not even the members
 * fit.
 */
bool um_exact_within(double n, double listed, double bits, uint32_t *out);
/* Returns the fewest bits that hold the members. */
double um_exact_least(double n);

#endif
