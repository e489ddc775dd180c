/*
 * changes.h - cells, given the cells that were there before.
 *
 * Cells that held the same before are alike, so each old value has streams of
 * its own: where, as the number of such cells between two that changed, and,
 * for cells of more than one bit, what became of them. For bits that comes near
 * the sum over old values v of m_v H(flips_v / m_v), which is the least that
 * flips at random take. With all alike before (old->at is NULL) these are the
 * cells that are not so, and there is one context.
 *
 * For each context in order: where, a stream of values.h; and what.
 */
#ifndef UM_CODING_CHANGES_H
#define UM_CODING_CHANGES_H

#include "coding/cells.h"
#include "coding/values.h"

/*
 * Append to w what makes now of old, which has the same number and width; a
 * writer without memory counts, as um_values_encode. old->at may be NULL.
 */
bool um_changes_encode(um_writer *w, const um_packed *old, const um_packed *now,
                       uint64_t *len);

/*
 * Read it; now holds what old does. False when it is not what the encoder
 * writes; now may then hold anything, and nothing outside of it was touched.
 */
bool um_changes_decode(um_reader *r, const um_packed *old,
                       const um_packed *now);

#endif
