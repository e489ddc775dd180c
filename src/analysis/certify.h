/*
 * certify.h - a false positive rate that is certain, by asking random keys.
 *
 * What the fill says holds if the cells of a key are independent of each other.
 * Where they are not, the maker of a filter can choose cells that keys find
 * together. Random keys do not depend on how cells are chosen.
 */
#ifndef UM_OPS_CERTIFY_H
#define UM_OPS_CERTIFY_H

#include "filter/handle.h"

typedef struct um_sample {
    uint64_t asked, hits;
    bool certain; /* the rate is at most what um_max_error allows */
} um_sample;

/*
 * Returns the largest error that is admitted where max_error is demanded:
 * twice that, and never near 1.
 */
double um_max_error(double max_error);

/*
 * Asks 400 / max_error random digests, at most 2^24, or fewer where that
 * suffices. A filter that matches more keys than um_max_error allows is
 * certified with probability at most 1e-10; one that keeps max_error is not,
 * with about the same, from 1 in 40,000 on. The digests follow from a
 * cryptographic hash of the filter: the same for everybody, and its maker
 * cannot choose the cells after them.
 */
um_sample um_certify(const umbel_filter *f, double max_error);

#endif
