/*
 * pending.h - answers to reports that wait until the store has them:
 * first in, first out, in bounded memory.
 */
#ifndef UM_CLEARINGHOUSE_PENDING_H
#define UM_CLEARINGHOUSE_PENDING_H

#include "net/server/datagram.h"

enum {
    UM_PENDING = 1 << 16, /* answers; a power of two */
    UM_ANSWER_NOTE = 96   /* bytes that a front keeps of a request */
};

typedef struct um_answer {
    um_datagrams *to;
    um_address client;
    uint64_t ticket;
    unsigned op;
    unsigned note_len;
    uint8_t note[UM_ANSWER_NOTE];
} um_answer;

typedef struct um_pending {
    um_answer *ring;
    uint64_t first, last; /* counts of answers taken and put */
} um_pending;

umbel_status um_pending_init(um_pending *p, umbel_error *err);
void um_pending_fini(um_pending *p);

bool um_pending_full(const um_pending *p);
/* A note that is too long is left out. The queue must not be full; tickets
 * never decrease. */
void um_pending_append(um_pending *p, const um_answer *a, umbel_slice note);
/* The oldest; NULL: none. */
const um_answer *um_pending_first(const um_pending *p);
void um_pending_drop(um_pending *p);

#endif
