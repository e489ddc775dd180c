/*
 * pieces.c - bytes that are written, and read back, a piece at a time.
 */
#include "store/pieces.h"

#include "base/error.h"

#include <inttypes.h>

umbel_status um_sink_append(const um_sink *to, const void *bytes, size_t len,
                            umbel_error *err)
{
    return len ? to->write(to->ctx, bytes, len, err) : UMBEL_OK;
}

umbel_status um_feed_get(um_feed *from, void *out, size_t len, umbel_error *err)
{
    if (len > from->left)
        return um_fail(err, UMBEL_E_FORMAT,
                       "cut short: %zu bytes needed, %" PRIu64 " left", len,
                       from->left);
    if (len)
        UM_TRY(from->read(from->ctx, out, len, err));
    from->left -= len;
    return UMBEL_OK;
}
