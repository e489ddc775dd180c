/*
 * block_collisions.h - cells of a key that other keys of its block hold.
 */
#ifndef UM_OPS_BLOCK_COLLISIONS_H
#define UM_OPS_BLOCK_COLLISIONS_H

#include "filter/addressing.h"

/* Cells that a key has, on average: two of its hashes may give the same. */
double um_cells_of_key(const um_layout *l);

/*
 * spare[u] becomes the chance that u cells of a key are held by none of the
 * other keys in its block, of which there are mean, Poisson distributed.
 */
void um_cells_spare(const um_layout *l, double mean,
                    double spare[UM_MAX_HASHES + 1]);

#endif
