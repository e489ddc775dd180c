/*
 * adaptive.h - cells one binary decision at a time, by what came before.
 *
 * An arithmetic coder whose chances are learnt on the way: no table, no lanes.
 * It comes within some bytes of the entropy where rans.h spends a hundred, and
 * takes ten times as long; so it is for small sections.
 *
 * A cell is the number of its bits, in unary, up to the width of cells; then
 * the bits below the highest, from the top: three for numbers below 16, two for
 * others, as values.h splits them; then the rest, with an even chance. A
 * decision in unary has a context for each number of bits so far, the others
 * have one for each number of bits and each bit string before them.
 */
#ifndef UM_CODING_ADAPTIVE_H
#define UM_CODING_ADAPTIVE_H

#include "base/bytes.h"
#include "coding/cells.h"

enum {
    UM_ADAPTIVE_CELLS = 1 << 21, /* of a section, or more: rans.h codes it */
    UM_ADAPTIVE_DENSE = 1 << 17, /* ... if they are bits, and neither is rare */
    UM_ADAPTIVE_USED = 1 << 18   /* cells that are not zero, likewise */
};

/*
 * Append cells to w; a writer without memory counts. *len grows by the bytes it
 * takes; false when there is no room.
 */
bool um_adaptive_encode(um_writer *w, const um_packed *cells, uint64_t *len);

/*
 * Decode all that r has into cells, which are zero; false when it is not what
 * the encoder writes, or wide cells are not few.
 */
bool um_adaptive_decode(um_reader *r, const um_packed *cells);

#endif
