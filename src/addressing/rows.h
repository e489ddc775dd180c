/*
 * rows.h - the addressings, for their table.
 */
#ifndef UM_ADDRESSING_ROWS_H
#define UM_ADDRESSING_ROWS_H

#include "filter/addressing.h"

extern const um_addressing um_addressing_blocked512;
extern const um_addressing um_addressing_blocked256;
extern const um_addressing um_addressing_classic;
extern const um_addressing um_addressing_partitioned;
extern const um_addressing um_addressing_universal;
extern const um_addressing um_addressing_chunks_md5;

#endif
