/*
 * pieces.h - a filter's file in pieces: in RDB, AOF, EXPORT and IMPORT.
 */
#ifndef UM_MODULE_PIECES_H
#define UM_MODULE_PIECES_H

#include "module/api.h"

#include <umbel/filter.h>

/* The largest piece: copying it takes well below a millisecond. */
enum { UM_PIECE = 1 << 20 };

/*
 * Calls emit with each piece of the file, in order. Returns false when there is
 * no memory, or emit returned false.
 */
typedef bool um_piece_emit(void *ctx, uint64_t offset, uint64_t total,
                           const void *bytes, size_t len);
bool um_pieces_write(const umbel_filter *f, um_piece_emit *emit, void *ctx);

/* A file of total bytes that comes in pieces. */
typedef struct um_pieces um_pieces;

/* E_LIMIT when total is above most. */
umbel_status um_pieces_open(uint64_t total, uint64_t most, um_pieces **out,
                            umbel_error *err);
umbel_status um_pieces_feed(um_pieces *p, const void *bytes, size_t len,
                            umbel_error *err);
/* Makes the filter; unlocked if it is keyed with the server's secret. */
umbel_status um_pieces_finish(um_pieces *p, umbel_filter **out,
                              umbel_error *err);
void um_pieces_close(um_pieces *p);
/* Bytes so far, and in all. */
uint64_t um_pieces_fed(const um_pieces *p);
uint64_t um_pieces_total(const um_pieces *p);

#endif
