/*
 * pieces.c - a filter's file in pieces.
 */
#include "module/pieces.h"

#include "base/alloc.h"
#include "base/error.h"
#include "module/memory.h"
#include "module/settings.h"

#include <inttypes.h>
#include <string.h>
#include <umbel/file.h>

bool um_pieces_write(const umbel_filter *f, um_piece_emit *emit, void *ctx)
{
    size_t total = umbel_encoded_len(f);
    uint8_t *bytes = um_get(&um_module_alloc, total);
    bool good =
        bytes && umbel_encode(f, bytes, total, &total, NULL) == UMBEL_OK;

    for (size_t at = 0; good && at < total; at += UM_PIECE) {
        size_t left = total - at;
        good =
            emit(ctx, at, total, bytes + at, left < UM_PIECE ? left : UM_PIECE);
    }
    um_put(&um_module_alloc, bytes, total);
    return good;
}

struct um_pieces {
    uint64_t total, fed;
    uint64_t most;
    uint8_t *bytes;
};

umbel_status um_pieces_open(uint64_t total, uint64_t most, um_pieces **out,
                            umbel_error *err)
{
    um_pieces *p;

    if (total > most)
        return um_fail(err, UMBEL_E_LIMIT,
                       "total: %" PRIu64 " bytes are more than the limit of "
                       "%" PRIu64,
                       total, most);
    p = um_get(&um_module_alloc, sizeof *p);
    if (!p)
        return um_no_memory(err, sizeof *p);
    *p = (um_pieces){.total = total, .most = most};
    p->bytes = um_get(&um_module_alloc, total ? total : 1);
    if (!p->bytes) {
        um_pieces_close(p);
        return um_no_memory(err, total);
    }
    *out = p;
    return UMBEL_OK;
}

umbel_status um_pieces_feed(um_pieces *p, const void *bytes, size_t len,
                            umbel_error *err)
{
    if (len > p->total - p->fed)
        return um_fail(err, UMBEL_E_FORMAT,
                       "bytes: %zu bytes at offset %" PRIu64
                       " go beyond the total of %" PRIu64,
                       len, p->fed, p->total);
    memcpy(p->bytes + p->fed, bytes, len);
    p->fed += len;
    return UMBEL_OK;
}

umbel_status um_pieces_finish(um_pieces *p, umbel_filter **out,
                              umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;

    if (p->fed < p->total)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the file ends after %" PRIu64 " of %" PRIu64 " bytes",
                       p->fed, p->total);
    source.verify = true;
    source.alloc = &um_module_alloc;
    source.memory_limit = p->most;
    UM_TRY(umbel_decode(p->bytes, p->total, &source, out, err));
    if (um_settings.has_secret)
        umbel_unlock(*out, um_settings.secret, NULL); /* or it stays locked */
    return UMBEL_OK;
}

void um_pieces_close(um_pieces *p)
{
    if (!p)
        return;
    um_put(&um_module_alloc, p->bytes, p->total ? p->total : 1);
    um_put(&um_module_alloc, p, sizeof *p);
}

uint64_t um_pieces_fed(const um_pieces *p)
{
    return p->fed;
}

uint64_t um_pieces_total(const um_pieces *p)
{
    return p->total;
}
