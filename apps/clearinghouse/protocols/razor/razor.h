/*
 * razor.h - the interface of the Razor2 protocol for other modules.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_H
#define UM_CLEARINGHOUSE_RAZOR_H

#include "clearinghouse/protocols/protocol.h"

/* The lists of the protocol: spam is what is in the first and not in the
 * second. */
enum { UM_RAZOR_SPAM, UM_RAZOR_REVOKED, UM_RAZOR_LISTS };

/* Which of them is asked first. */
typedef enum um_razor_order {
    UM_RAZOR_SPAM_FIRST,
    UM_RAZOR_REVOKED_FIRST,
    UM_RAZOR_ORDERS
} um_razor_order;

/* Look-ups, for status: each list that is asked for a signature is one. */
typedef struct um_razor_lookups {
    uint64_t signatures, done;
    /* Of some requests both lists were asked, so that what either order would
     * have cost is known. */
    uint64_t sampled, cost[UM_RAZOR_ORDERS];
    size_t accounts, shared; /* registered here, and at peers */
} um_razor_lookups;

/* Fills in the look-ups of the protocol's state; NULL: it is not open. */
void um_razor_get_lookups(const void *state, um_razor_lookups *out);

/* Returns true if an account of that name was registered, or may be at a
 * peer. */
bool um_razor_knows(const um_environment *env, const char *name);

#endif
