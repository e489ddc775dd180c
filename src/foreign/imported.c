/*
 * imported.c - what formats share when they take cells from a file: the memory
 * limit, the order of bytes, and the number of keys.
 */
#include "base/bits.h"
#include "base/error.h"
#include "foreign/internal.h"

#include <inttypes.h>
#include <math.h>

umbel_status um_foreign_limit(size_t len, const umbel_source *source,
                              umbel_error *err)
{
    if (source->memory_limit && len > source->memory_limit)
        return um_fail_detail(
            err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
            "the filter takes %zu bytes, the limit is %" PRIu64, len,
            source->memory_limit);
    return UMBEL_OK;
}

void um_swap_words(uint8_t *to, const uint8_t *from, size_t len)
{
    for (size_t i = 0; i + 8 <= len; i += 8)
        um_store64(to + i, __builtin_bswap64(um_load64(from + i)));
}

void um_foreign_estimate(umbel_filter *f)
{
    double keys = um_keys_behind(f, f->kind->bits->used(f->self, NULL));

    /* A full filter gives no estimate. */
    f->added =
        keys < (double)UM_MAX_CELLS ? (uint64_t)llround(keys) : f->layout.cells;
    f->estimated = true;
}
