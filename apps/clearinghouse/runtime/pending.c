/*
 * pending.c - a ring of answers that wait for the store.
 */
#include "clearinghouse/runtime/pending.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

umbel_status um_pending_init(um_pending *p, umbel_error *err)
{
    *p = (um_pending){0};
    p->ring = calloc(UM_PENDING, sizeof *p->ring);
    return p->ring ? UMBEL_OK : um_no_memory(err, UM_PENDING * sizeof *p->ring);
}

void um_pending_fini(um_pending *p)
{
    free(p->ring);
    *p = (um_pending){0};
}

bool um_pending_full(const um_pending *p)
{
    return p->last - p->first == UM_PENDING;
}

void um_pending_append(um_pending *p, const um_answer *a, umbel_slice note)
{
    um_answer *to = &p->ring[p->last++ % UM_PENDING];

    *to = *a;
    if (note.len && note.len <= sizeof to->note) {
        to->note_len = (unsigned)note.len;
        memcpy(to->note, note.data, note.len);
    }
}

const um_answer *um_pending_first(const um_pending *p)
{
    return p->first == p->last ? NULL : &p->ring[p->first % UM_PENDING];
}

void um_pending_drop(um_pending *p)
{
    /* A queue that is empty begins again, and so touches little memory. */
    if (++p->first == p->last)
        p->first = p->last = 0;
}
