/*
 * doctor_probe.h - how `doctor` tries an address, acting as a client.
 *
 * Each probe belongs to its protocol and is named in its row. The server counts
 * nothing that probes send: look-ups that do not count, a report of the empty
 * text, a registration that cannot succeed.
 */
#ifndef UM_CLEARINGHOUSE_DOCTOR_PROBE_H
#define UM_CLEARINGHOUSE_DOCTOR_PROBE_H

#include "clearinghouse/config/config.h"
#include "net/server/address.h"

#include <stdio.h>

enum { UM_FINDING_TEXT = 320, UM_DOCTOR_MS = 5000 };

typedef enum um_health { UM_WORKS, UM_LIMITED, UM_BROKEN } um_health;

/* The result for an address. */
typedef struct um_finding {
    um_health health;
    char name[24], address[UM_ADDRESS_TEXT];
    char text[UM_FINDING_TEXT];   /* what works or fails */
    char advice[UM_FINDING_TEXT]; /* what to do, or "" */
} um_finding;

#define UM_SAY(to, ...) (void)snprintf(to, UM_FINDING_TEXT, __VA_ARGS__)

/* What probes know about the server. */
typedef struct um_doctor_context {
    const um_config *config;
    bool server_answers; /* to its commands */
    uint64_t razor_accounts;
} um_doctor_context;

/*
 * Tries an address. Sets the text to what works, and if something does not,
 * health and advice. An error is a finding, too, with the error's text.
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
    /* Used instead of listen: writes the only address. *configured is the value
     * of the setting, or NULL if it is not set. */
    umbel_status (*address)(const um_config *c, const char **configured,
                            char out[UM_ADDRESS_TEXT], umbel_error *err);
} um_doctor_row;

/* Returns the mail that probes send; its Pyzor digest is below. */
umbel_slice um_doctor_mail(void);
extern const char um_doctor_digest[];

/* Sends bytes on a new connection, shuts down its sending side, and receives up
 * to cap - 1 bytes, to which it appends a NUL. */
umbel_status um_doctor_exchange(const um_address *at, umbel_slice bytes,
                                char *out, size_t cap, umbel_error *err);

#endif
