/*
 * duplicates.h - remembers which reporter recently reported which digest.
 *
 * An aging filter: it remembers at least the latest `capacity` reports. A new
 * report is mistaken for a remembered one with probability 1 in a million. It
 * is empty after a restart.
 */
#ifndef UM_CLEARINGHOUSE_DUPLICATES_H
#define UM_CLEARINGHOUSE_DUPLICATES_H

#include "net/server/address.h"

typedef struct um_duplicates um_duplicates;

/* A reporter: an account, or a network if account is NULL. */
typedef struct um_reporter {
    const char *account;
    um_network network;
    unsigned list; /* that it reports to */
} um_reporter;

umbel_status um_duplicates_open(uint64_t capacity, um_duplicates **out,
                                umbel_error *err);
/* Returns its memory in bytes. */
uint64_t um_duplicates_bytes(const um_duplicates *o);
/* Accepts NULL. */
void um_duplicates_close(um_duplicates *o);

bool um_duplicates_seen(const um_duplicates *o, const um_reporter *r,
                        const umbel_digest *d);
void um_duplicates_add(um_duplicates *o, const um_reporter *r,
                       const umbel_digest *d);

#endif
