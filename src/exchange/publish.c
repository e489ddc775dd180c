/*
 * publish.c - a publisher's side: the next manifest.
 */
#include "exchange/publish.h"

#include <string.h>

static bool same(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, UM_DIGEST_LEN) == 0;
}

static void drop_first(um_manifest *m, size_t n)
{
    m->nsteps -= n;
    memmove(m->step, m->step + n, m->nsteps * sizeof m->step[0]);
}

/* Steps before and from the place where the filter was already. */
static void drop_loop(um_manifest *m, const uint8_t *digest)
{
    for (size_t i = 0; i < m->nsteps; i++)
        if (same(m->step[i].from, digest)) {
            drop_first(m, i + 1);
            return;
        }
}

static void append_step(um_manifest *m, const uint8_t *from,
                        const um_blob *step, size_t keep)
{
    if (m->nsteps >= keep)
        drop_first(m, m->nsteps - keep + 1);
    um_step *next = &m->step[m->nsteps++];
    memcpy(next->from, from, UM_DIGEST_LEN);
    next->file = *step;
}

void um_manifest_next(const um_manifest *last, const um_edition *e,
                      um_manifest *out)
{
    size_t keep = e->keep < UM_STEPS_MAX ? e->keep : UM_STEPS_MAX;
    bool first = last->serial == 0;

    *out = *last;
    out->serial++;
    out->made = e->now;
    out->expires = e->valid ? e->now + e->valid : 0;
    out->filter = e->filter;
    if (!first && same(last->filter.digest, e->filter.digest)) {
        if (out->nsteps > keep)
            drop_first(out, out->nsteps - keep);
        return;
    }
    drop_loop(out, e->filter.digest);
    if (e->step && keep && !first)
        append_step(out, last->filter.digest, e->step, keep);
    else
        out->nsteps = 0;
}
