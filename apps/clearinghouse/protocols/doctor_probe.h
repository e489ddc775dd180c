/*
 * doctor_probe.h - how `doctor` tries an address as a client does.
 *
 * Each probe belongs to its protocol, whose row names it. Nothing that probes
 * send is counted: look-ups that do not count, a report of the empty text, a
 * registration that cannot succeed.
 */
#ifndef UM_CLEARINGHOUSE_DOCTOR_PROBE_H
#define UM_CLEARINGHOUSE_DOCTOR_PROBE_H

#include "clearinghouse/config/config.h"
#include "net/server/address.h"

#include <stdio.h>

enum { UM_FINDING_TEXT = 320, UM_DOCTOR_MS = 5000 };

typedef enum um_health { UM_WORKS, UM_LIMITED, UM_BROKEN } um_health;

/* What was found at an address. */
typedef struct um_finding {
    um_health health;
    char name[24], address[UM_ADDRESS_TEXT];
    char text[UM_FINDING_TEXT];   /* what works, or does not */
    char advice[UM_FINDING_TEXT]; /* what to do, or "" */
} um_finding;

#define UM_SAY(to, ...) (void)snprintf(to, UM_FINDING_TEXT, __VA_ARGS__)

/* What probes know of the server. */
typedef struct um_doctor_context {
    const um_config *config;
    bool server_answers; /* to its commands */
    uint64_t razor_accounts;
} um_doctor_context;

/*
 * Tries an address. Sets the text of what works, and the health and the advice
 * if that is not all. A failure is a finding, too: its text is the error's.
 */
typedef umbel_status um_doctor_probe(const um_doctor_context *d,
                                     const um_address *at, um_finding *out,
                                     umbel_error *err);

/* How the addresses of one setting are tried. */
typedef struct um_doctor_row {
    const char *name; /* in the table of findings; NULL ends the rows */
    size_t listen;    /* offset of a um_texts in the protocol's settings */
    int type;         /* SOCK_STREAM, SOCK_DGRAM */
    um_doctor_probe *probe;
    /* Instead of listen: writes the only address. *configured is what the
     * setting says; NULL: it is not set. */
    umbel_status (*address)(const um_config *c, const char **configured,
                            char out[UM_ADDRESS_TEXT], umbel_error *err);
} um_doctor_row;

/* The mail that is sent, and Pyzor's digest of it. */
umbel_slice um_doctor_mail(void);
extern const char um_doctor_digest[];

/* Sends bytes on a new connection, ends it, and receives up to cap - 1 bytes,
 * to which a NUL is appended. */
umbel_status um_doctor_exchange(const um_address *at, umbel_slice bytes,
                                char *out, size_t cap, umbel_error *err);

#endif
