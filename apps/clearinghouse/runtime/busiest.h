/*
 * busiest.h - the accounts and client networks that report the most.
 *
 * Space-Saving (Metwally, Agrawal, El Abbadi 2005): a fixed number of counters.
 * A reporter without one takes over the smallest, and its count with it. So a
 * count is never too small, and too large by at most the surplus that was taken
 * over; every reporter of more than 1 in UM_BUSIEST_KEPT reports has a counter,
 * however many networks there are.
 */
#ifndef UM_CLEARINGHOUSE_BUSIEST_H
#define UM_CLEARINGHOUSE_BUSIEST_H

#include "clearinghouse/protocols/protocol.h"
#include "net/server/address.h"

enum {
    UM_BUSIEST_KEPT = 128,
    UM_BUSIEST_SHOWN = 10 /* in status documents */
};

/* Who reported: an account, or the network of a client that has none. */
typedef struct um_busy_key {
    const um_protocol *front;
    uint64_t account; /* checksum of the name; 0: none */
    um_network network;
} um_busy_key;

typedef struct um_busy_reporter {
    um_busy_key key;
    char name[UM_ADDRESS_TEXT]; /* without control characters; may be cut */
    uint64_t reports;           /* digests, since the start: at most */
    uint64_t surplus;           /* of these may be others' */
    uint64_t last;              /* when it reported last, in milliseconds */
} um_busy_reporter;

/* Zero to begin. */
typedef struct um_busiest {
    um_busy_reporter kept[UM_BUSIEST_KEPT];
    size_t n;
} um_busiest;

/* Counts digests of a reporter. account NULL: a client of that network. */
void um_busiest_count(um_busiest *b, const um_protocol *f, const char *account,
                      um_network network, const um_prefixes *prefixes,
                      uint64_t reports, uint64_t now);

/* Writes the busiest reporters, the busiest first; returns how many. */
size_t um_busiest_read(const um_busiest *b,
                       um_busy_reporter out[UM_BUSIEST_SHOWN]);

#endif
