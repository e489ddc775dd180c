/*
 * razor.h - the interface of the Razor2 protocol for other modules.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_H
#define UM_CLEARINGHOUSE_RAZOR_H

#include "clearinghouse/protocols/protocol.h"

/* The lists of the protocol. A signature is spam if it is in the first and not
 * in the second. */
enum { UM_RAZOR_SPAM, UM_RAZOR_REVOKED, UM_RAZOR_LISTS };

/* Which list is looked up first. */
typedef enum um_razor_order {
    UM_RAZOR_SPAM_FIRST,
    UM_RAZOR_REVOKED_FIRST,
    UM_RAZOR_ORDERS
} um_razor_order;

/* Look-ups, for status; each look-up of a signature in one list counts. */
typedef struct um_razor_lookups {
    uint64_t signatures, done;
    /* For a sample of requests both lists are looked up, to learn what either
     * order would have cost. */
    uint64_t sampled, cost[UM_RAZOR_ORDERS];
    size_t accounts, shared; /* registered here, and on peers */
} um_razor_lookups;

/* Copies the statistics from the protocol's state, which is NULL if it is not
 * open. */
void um_razor_get_lookups(const void *state, um_razor_lookups *out);

/* Returns true if an account of that name is registered here, or may be on a
 * peer. */
bool um_razor_knows(const um_environment *env, const char *name);

#endif
