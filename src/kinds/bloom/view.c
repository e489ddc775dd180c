/*
 * bloom_view.c - what an inlined query needs to know of a filter
 * (umbel/inline.h).
 */
#include <umbel/inline.h>

#include "base/error.h"
#include "base/xxh3.h"
#include "filter/addressing/rows.h"
#include "filter/handle.h"
#include "kinds/blocked/lanes.h"
#include "kinds/bloom/bloom.h"
#include "kinds/rows.h"

enum { MAX_HASHES = 16 };

static umbel_status refuse(const char *what, const char *name, umbel_error *err)
{
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "a view serves bloom filters on blocked256 and blocked512 "
                   "with hash xxh3-64 only; this one has %s%s: use umbel_query",
                   what, name);
}

static const void *lanes_of(const um_shape *s, uint32_t at)
{
    if (s->addressing == &um_addressing_blocked256)
        return um_lanes32 + at;
    return s->addressing == &um_addressing_blocked512 ? um_lanes64 + at : NULL;
}

umbel_status umbel_view_init(umbel_view *v, const umbel_filter *f,
                             umbel_error *err)
{
    const um_shape *s = um_shape_of(f);

    if (s->kind != &um_kind_bloom)
        return refuse("kind ", s->kind->name, err);
    const um_bloom *b = f->self;
    const void *lanes = lanes_of(s, b->lanes);
    if (!lanes)
        return refuse("addressing ", s->addressing->name, err);
    if (!s->hash->fused)
        return refuse("hash ", s->hash->name, err);
    if (b->groups > 1)
        return refuse("groups", "", err);
    if (s->hashes > MAX_HASHES)
        return refuse("more than 16 hash functions", "", err);
    if (f->gate)
        return refuse("other threads that add to it (umbel_share)", "", err);
    *v = (umbel_view){.bits = b->bits,
                      .blocks = f->layout.blocks,
                      .seed = f->hasher.seed,
                      .flip = f->hasher.flip,
                      .lanes = lanes,
                      .hashes = s->hashes,
                      .block_cells = s->addressing->block};
    return UMBEL_OK;
}

uint64_t umbel_view_hash(const umbel_view *v, const void *key, size_t len)
{
    return um_xxh3(key, len, v->seed);
}
