/*
 * pieces.h - a filter's file in pieces: in RDB, AOF, EXPORT and IMPORT.
 */
#ifndef UM_MODULE_PIECES_H
#define UM_MODULE_PIECES_H

#include "module/runtime/api.h"

#include <umbel/file.h>

/* The largest piece: copying it takes well below a millisecond. */
enum { UM_PIECE = 1 << 20 };

typedef bool um_piece_emit(void *ctx, uint64_t offset, uint64_t total,
                           const void *bytes, size_t len);
/*
 * Calls emit with each piece of the file, in order. Returns false when there is
 * no memory, or emit returned false.
 */
bool um_pieces_write(const umbel_filter *f, um_piece_emit *emit, void *ctx);

/* Opens a decoder with the server's memory, limits and checks. */
umbel_status um_pieces_open(uint64_t total, umbel_decoder **out,
                            umbel_error *err);

/* Unlocks a keyed filter that was made with the server's secret. */
void um_try_unlock(umbel_filter *f);

#endif
