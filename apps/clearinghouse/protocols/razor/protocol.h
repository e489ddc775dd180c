/*
 * front_razor.h - the settings of the Razor2 front, and its lists.
 */
#ifndef UM_CLEARINGHOUSE_FRONT_RAZOR_H
#define UM_CLEARINGHOUSE_FRONT_RAZOR_H

#include "clearinghouse/protocols/protocol.h"

/* The lists of the front: spam is what is in the first and not in the
 * second. */
enum { UM_RAZOR_SPAM, UM_RAZOR_REVOKED, UM_RAZOR_LISTS };

/* Which of them is asked first. */
typedef enum um_razor_order {
    UM_RAZOR_SPAM_FIRST,
    UM_RAZOR_REVOKED_FIRST,
    UM_RAZOR_ORDERS
} um_razor_order;

typedef struct um_razor_settings {
    um_texts listen, announce;
    char *seed;
    unsigned order;        /* um_razor_order */
    unsigned registration; /* 0: open */
    unsigned accounts;     /* 0: own, 1: shared with peers */
    uint64_t weight;       /* of accounts without a section, in hundredths */
    uint64_t registrations, connections, confidence;
    bool mails;
} um_razor_settings;

/* Look-ups, for status: each list that is asked for a signature is one. */
typedef struct um_razor_lookups {
    uint64_t signatures, done;
    /* Of some requests both lists were asked, so that what either order would
     * have cost is known. */
    uint64_t sampled, cost[UM_RAZOR_ORDERS];
    size_t accounts, shared; /* registered here, and at peers */
} um_razor_lookups;

/* Returns true if an account of that name was registered, or may be at a
 * peer. */
bool um_razor_knows(const um_server *h, const char *name);

#endif
