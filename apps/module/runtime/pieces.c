/*
 * pieces.c - a filter's file in pieces.
 */
#include "module/runtime/pieces.h"

#include "module/runtime/memory.h"
#include "module/runtime/settings.h"

#include <umbel/file.h>

bool um_pieces_write(const umbel_filter *f, um_piece_emit *emit, void *ctx)
{
    uint64_t total = umbel_raw_len(f);
    uint8_t *piece = um_api.TryAlloc(UM_PIECE);
    bool good = piece;

    for (uint64_t at = 0; good && at < total; at += UM_PIECE) {
        size_t len = total - at < UM_PIECE ? (size_t)(total - at) : UM_PIECE;
        good = umbel_encode_part(f, at, piece, len, NULL) == UMBEL_OK &&
               emit(ctx, at, total, piece, len);
    }
    if (piece)
        um_api.Free(piece);
    return good;
}

umbel_status um_pieces_open(uint64_t total, umbel_decoder **out,
                            umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;

    source.verify = true;
    source.alloc = &um_module_alloc;
    source.memory_limit = (uint64_t)um_settings.max_filter_bytes;
    return umbel_decoder_open(&source, total, out, err);
}

void um_try_unlock(umbel_filter *f)
{
    if (um_settings.has_secret)
        umbel_unlock(f, um_settings.secret, NULL); /* or it stays locked */
}
