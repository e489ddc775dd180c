/*
 * pyzor_once.h - which reporter has reported which digest lately.
 *
 * An aging filter: it remembers at least the latest `capacity` reports, and
 * takes another report for a remembered one with a chance of 1 in a million. It
 * is empty after a restart.
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_ONCE_H
#define UM_CLEARINGHOUSE_PYZOR_ONCE_H

#include "net/server/address.h"

typedef struct um_pyzor_once um_pyzor_once;

/* A reporter: an account, or a network if account is NULL. */
typedef struct um_reporter {
    const char *account;
    um_network network;
    unsigned list; /* that it reports to */
} um_reporter;

umbel_status um_pyzor_once_open(uint64_t capacity, um_pyzor_once **out,
                                umbel_error *err);
/* Returns the bytes of memory that it takes. */
uint64_t um_pyzor_once_bytes(const um_pyzor_once *o);
/* NULL is fine. */
void um_pyzor_once_close(um_pyzor_once *o);

bool um_pyzor_once_seen(const um_pyzor_once *o, const um_reporter *r,
                        const umbel_digest *d);
void um_pyzor_once_add(um_pyzor_once *o, const um_reporter *r,
                       const umbel_digest *d);

#endif
