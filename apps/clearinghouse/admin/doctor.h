/*
 * doctor.h - tries the addresses of a configuration as clients do, and reports
 * what works, what does not, and what to type.
 *
 * A protocol's row names its probes (protocol.h). Nothing that they send is
 * counted: look-ups that do not count, a report of the empty text, a
 * registration that cannot succeed.
 */
#ifndef UM_CLEARINGHOUSE_DOCTOR_H
#define UM_CLEARINGHOUSE_DOCTOR_H

#include "clearinghouse/server/server.h"
#include "net/server/address.h"

enum { UM_FINDINGS = 96, UM_FINDING_TEXT = 320, UM_DOCTOR_MS = 5000 };

typedef enum um_health { UM_WORKS, UM_LIMITED, UM_BROKEN } um_health;

/* One line of the table. */
typedef struct um_finding {
    um_health health;
    char name[24], address[UM_ADDRESS_TEXT];
    char text[UM_FINDING_TEXT];   /* what works, or does not */
    char advice[UM_FINDING_TEXT]; /* what to do, or "" */
} um_finding;

/* Where the running server listens, with real ports. */
typedef struct um_doctor_address {
    char protocol[24], address[UM_ADDRESS_TEXT];
} um_doctor_address;

typedef enum um_doctor_server {
    UM_SERVER_ANSWERS,
    UM_SERVER_FORBIDDEN, /* its control socket is not for us */
    UM_SERVER_AWAY
} um_doctor_server;

typedef struct um_doctor {
    const um_config *config;
    const char *path; /* of the configuration; NULL means the defaults */
    um_doctor_server server;
    um_doctor_address listening[UM_MAX_ADDRESSES];
    size_t nlistening;
    size_t razor_accounts;
    um_finding finding[UM_FINDINGS];
    size_t n;
} um_doctor;

/*
 * Tries an address. Sets the text of what works, and health and advice if
 * something does not. A failure is a finding, too: its text is the error's.
 */
typedef umbel_status um_doctor_probe(const um_doctor *d, const um_address *at,
                                     um_finding *out, umbel_error *err);

/* A row of a protocol: how the addresses of one of its settings are tried. */
typedef struct um_doctor_row {
    const char *name; /* in the table; NULL ends the rows */
    size_t listen;    /* offset of a um_texts in the protocol's settings */
    int type;         /* SOCK_STREAM, SOCK_DGRAM */
    um_doctor_probe *probe;
    /* Instead of probe, where the address is not a um_texts. */
    void (*run)(um_doctor *d);
} um_doctor_row;

/* Asks the server, and tries all protocols. */
void um_doctor_run(um_doctor *d, const um_config *c, const char *path);
/* Returns true if nothing is broken. */
bool um_doctor_is_well(const um_doctor *d);
void um_doctor_print_text(FILE *out, const um_doctor *d);
void um_doctor_print_json(FILE *out, const um_doctor *d);

/* Writes the server's reply to the request of the doctor. */
void um_doctor_describe(FILE *out, const um_status *s);

/* --- for probes ----------------------------------------------------------- */

/* The mail that is sent, and its Pyzor digest. */
extern const char um_doctor_mail[];
extern const char um_doctor_digest[];

/* Appends a finding, to be filled; the last one if there is no space. */
um_finding *um_doctor_add(um_doctor *d, const char *name, const char *address);
/* Tries an address that the server should have, and adds the finding. */
void um_doctor_try(um_doctor *d, const um_doctor_row *row, const char *address);
#define UM_SAY(to, ...) (void)snprintf(to, UM_FINDING_TEXT, __VA_ARGS__)

/* Sends bytes on a new connection, ends it, and receives up to cap - 1 bytes,
 * to which a NUL is appended. */
umbel_status um_doctor_exchange(const um_address *at, umbel_slice bytes,
                                char *out, size_t cap, umbel_error *err);

#endif
