/*
 * spooled.h - filters larger than memory while they are built: their payload is
 * a temporary file, of which little is in memory at a time.
 */
#ifndef UM_FILTER_SPOOLED_H
#define UM_FILTER_SPOOLED_H

#include "filter/handle.h"

enum { UM_SPOOL_PIECE = 1 << 22 }; /* bytes that are dealt with at a time */

static inline bool um_is_spooled(const umbel_filter *f)
{
    return f->owner == UM_SPOOLED;
}

/* Returns true if keys of that shape can be added block after block. */
bool um_is_local(const um_shape *s);

/* Gives up the pages before a block, which is a multiple of 8. */
void um_spool_done_before(const umbel_filter *f, uint64_t block);

/*
 * Calls see with filters that have the blocks of f, some of them each, and the
 * share that they are of f; or with f itself, where it is in memory or its
 * blocks are not apart.
 */
typedef void um_see_slice(void *ctx, const umbel_filter *slice, double share);
umbel_status um_each_slice(const umbel_filter *f, um_see_slice *see, void *ctx,
                           umbel_error *err);

/* As umbel_build, of members in a temporary file; alloc of in is not used. */
umbel_status um_build_spilled(const char *kind, const umbel_params *params,
                              const um_spilled_members *in, umbel_filter **out,
                              umbel_error *err);

#endif
