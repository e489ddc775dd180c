/*
 * top_reporters.h - the accounts and client networks that report the most.
 *
 * Space-Saving (Metwally, Agrawal, El Abbadi 2005): a fixed number of counters.
 * A reporter without a counter takes over the smallest one, with its count. So
 * a count is never too small, and it is too large by at most the surplus that
 * was taken over. Every reporter of more than 1 in UM_TOP_COUNTED reports has a
 * counter, however many networks there are.
 */
#ifndef UM_CLEARINGHOUSE_TOP_REPORTERS_H
#define UM_CLEARINGHOUSE_TOP_REPORTERS_H

#include "clearinghouse/runtime/clock.h"
#include "clearinghouse/runtime/limits.h"
#include "clearinghouse/runtime/statistics.h"

enum {
    UM_TOP_COUNTED = 128,
    UM_TOP_SHOWN = 10 /* in status documents */
};

/* A reporter: an account, or the network of a client without one. */
typedef struct um_reporter_key {
    const um_service *service;
    uint64_t account; /* checksum of the name; 0 if none */
    um_network network;
} um_reporter_key;

typedef struct um_top_reporter {
    um_reporter_key key;
    char name[UM_ADDRESS_TEXT]; /* no control characters; may be truncated */
    uint64_t reports;           /* digests since the start, an upper bound */
    uint64_t surplus;           /* how many of these may be reports of others */
    uint64_t last;              /* time of the last report, in milliseconds */
} um_top_reporter;

/* Starts zeroed. */
typedef struct um_top_reporters {
    um_top_reporter counted[UM_TOP_COUNTED];
    size_t n;
} um_top_reporters;

/* Counts digests of a reporter: of account, or of the network if account is
 * NULL. */
void um_top_reporters_add(um_top_reporters *t, const um_service *service,
                          const char *account, um_network network,
                          const um_prefixes *prefixes, uint64_t reports,
                          uint64_t now);

/* Writes up to cap top reporters in descending order; returns their number. */
size_t um_top_reporters_read(const um_top_reporters *t, um_top_reporter *out,
                             size_t cap);

#endif
