/*
 * pyzor_pending.h - answers to reports that wait until the store has them:
 * first in, first out, in bounded memory.
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_PENDING_H
#define UM_CLEARINGHOUSE_PYZOR_PENDING_H

#include "clearinghouse/pyzor_reply.h"
#include "net/datagram.h"

enum { UM_PYZOR_PENDING = 1 << 16 }; /* answers; a power of two */

typedef struct um_pyzor_answer {
    um_datagrams *to;
    um_address client;
    uint64_t ticket;
    unsigned op;
    unsigned thread_len;
    char thread[UM_PYZOR_THREAD_MAX];
} um_pyzor_answer;

typedef struct um_pyzor_pending {
    um_pyzor_answer *ring;
    uint64_t first, last; /* counts of answers taken and put */
} um_pyzor_pending;

umbel_status um_pyzor_pending_init(um_pyzor_pending *p, umbel_error *err);
void um_pyzor_pending_fini(um_pyzor_pending *p);

bool um_pyzor_pending_full(const um_pyzor_pending *p);
/* A thread that is too long is left out, as in a reply. The queue must not be
 * full; tickets never decrease. */
void um_pyzor_pending_put(um_pyzor_pending *p, const um_pyzor_answer *a,
                          umbel_slice thread);
/* The oldest; NULL: none. */
const um_pyzor_answer *um_pyzor_pending_first(const um_pyzor_pending *p);
void um_pyzor_pending_drop(um_pyzor_pending *p);

#endif
