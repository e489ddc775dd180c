/*
 * pyzor_pending.c - a ring of answers that wait for the store.
 */
#include "clearinghouse/pyzor_pending.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

umbel_status um_pyzor_pending_init(um_pyzor_pending *p, umbel_error *err)
{
    *p = (um_pyzor_pending){0};
    p->ring = calloc(UM_PYZOR_PENDING, sizeof *p->ring);
    return p->ring ? UMBEL_OK
                   : um_no_memory(err, UM_PYZOR_PENDING * sizeof *p->ring);
}

void um_pyzor_pending_fini(um_pyzor_pending *p)
{
    free(p->ring);
    *p = (um_pyzor_pending){0};
}

bool um_pyzor_pending_full(const um_pyzor_pending *p)
{
    return p->last - p->first == UM_PYZOR_PENDING;
}

void um_pyzor_pending_put(um_pyzor_pending *p, const um_pyzor_answer *a,
                          umbel_slice thread)
{
    um_pyzor_answer *to = &p->ring[p->last++ % UM_PYZOR_PENDING];

    *to = *a;
    if (thread.len && thread.len <= sizeof to->thread) {
        to->thread_len = (unsigned)thread.len;
        memcpy(to->thread, thread.data, thread.len);
    }
}

const um_pyzor_answer *um_pyzor_pending_first(const um_pyzor_pending *p)
{
    return p->first == p->last ? NULL : &p->ring[p->first % UM_PYZOR_PENDING];
}

void um_pyzor_pending_drop(um_pyzor_pending *p)
{
    /* A queue that is empty begins again, and so touches little memory. */
    if (++p->first == p->last)
        p->first = p->last = 0;
}
