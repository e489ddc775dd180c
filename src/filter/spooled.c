/*
 * spooled.c - a filter in a temporary file, slice by slice.
 */
#include "filter/spooled.h"

#include "base/error.h"

bool um_is_local(const um_shape *s)
{
    um_layout l;

    if (!s->kind->local || !s->kind->local(s))
        return false;
    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    return l.blocks > 1;
}

/* Returns the bytes of blocks, whose number is a multiple of 8. */
static size_t blocks_len(const umbel_filter *f, uint64_t blocks)
{
    um_section section[UM_MAX_SECTIONS];

    um_sections(um_shape_of(f), section);
    return (size_t)(f->layout.cells / f->layout.blocks * blocks *
                    section[0].cell_bits / 8);
}

void um_spool_done_before(const umbel_filter *f, uint64_t block)
{
    if (block > f->layout.blocks)
        block = f->layout.blocks;
    if (block)
        um_spool_drop(f->payload, blocks_len(f, block));
}

static umbel_status see_blocks(const umbel_filter *f, uint64_t from, uint64_t n,
                               um_see_slice *see, void *ctx, umbel_error *err)
{
    um_memory lent = {NULL, 0, false};
    um_shape shape = *um_shape_of(f);
    uint8_t *at = f->payload + blocks_len(f, from);
    umbel_filter *slice;

    shape.cells = f->layout.cells / f->layout.blocks * n;
    UM_TRY(um_filter_around(&shape, &f->alloc, at, lent, &slice, err));
    see(ctx, slice, (double)n / (double)f->layout.blocks);
    um_spool_drop(at, slice->payload_len);
    umbel_close(slice);
    return UMBEL_OK;
}

umbel_status um_each_slice(const umbel_filter *f, um_see_slice *see, void *ctx,
                           umbel_error *err)
{
    const uint64_t most = 1 << 14; /* blocks: about a MB */

    if (!um_is_spooled(f) || !um_is_local(um_shape_of(f))) {
        see(ctx, f, 1);
        return UMBEL_OK;
    }
    for (uint64_t at = 0, some; at < f->layout.blocks; at += some) {
        some = f->layout.blocks - at < most ? f->layout.blocks - at : most;
        UM_TRY(see_blocks(f, at, some, see, ctx, err));
    }
    return UMBEL_OK;
}
