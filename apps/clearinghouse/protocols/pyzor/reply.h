/*
 * pyzor_reply.h - the answer to a Pyzor client, with its fields in pyzord's
 * order.
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_REPLY_H
#define UM_CLEARINGHOUSE_PYZOR_REPLY_H

#include <umbel/base.h>

enum {
    UM_PYZOR_THREAD_MAX = 32, /* bytes of Thread that are sent back */
    UM_PYZOR_REPLY_MAX = 512
};

/* Which fields follow those that every reply has. */
typedef enum um_pyzor_body {
    UM_PYZOR_NOTHING,
    UM_PYZOR_COUNTS,
    UM_PYZOR_TIMES_AND_COUNTS
} um_pyzor_body;

/* Times in seconds since 1970; 0: never. */
typedef struct um_pyzor_times {
    uint64_t entered, updated, wl_entered, wl_updated;
} um_pyzor_times;

typedef struct um_pyzor_reply {
    unsigned code;
    const char *diag;
    umbel_slice thread; /* of the request */
    um_pyzor_body body;
    uint64_t count, wl_count;
    um_pyzor_times times;
} um_pyzor_reply;

/* Writes the datagram; returns its length. A Thread that is not short and
 * printable is left empty: strangers do not choose what we send. */
size_t um_pyzor_print(const um_pyzor_reply *r, char out[UM_PYZOR_REPLY_MAX]);

#endif
