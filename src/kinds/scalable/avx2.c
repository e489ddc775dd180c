/*
 * avx2.c - the functions of internal.h, compiled for AVX2: all entries of a
 * bucket are compared at once.
 */
#include "base/cpu.h"
#include "kinds/scalable/internal.h"

static size_t add(void *self, const umbel_digest *d, size_t n, bool *fresh)
{
    return add_keys(self, d, n, fresh);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    query_keys(self, d, n, hit);
}

static bool usable(const um_layout *l)
{
    (void)l;
    return um_use_avx2();
}

static bool takes(const um_shape *s)
{
    (void)s;
    return true;
}

const um_fast um_fast_scalable_avx2 = {
    .name = "avx2",
    .kind = "scalable",
    .addressing = "buckets16",
    .usable = usable,
    .takes = takes,
    .add = add,
    .query = query,
};
