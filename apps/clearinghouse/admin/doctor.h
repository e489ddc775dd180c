/*
 * doctor.h - tries the addresses of a configuration as clients do, and reports
 * what works, what does not, and what to type.
 *
 * A protocol's row names its probes (protocols/doctor_probe.h).
 */
#ifndef UM_CLEARINGHOUSE_DOCTOR_H
#define UM_CLEARINGHOUSE_DOCTOR_H

#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/protocol.h"
#include "clearinghouse/status/status.h"

enum { UM_FINDINGS = 96 };

/* An address on which the running server listens, with its real port. */
typedef struct um_doctor_address {
    char protocol[24], address[UM_ADDRESS_TEXT];
} um_doctor_address;

typedef enum um_doctor_server {
    UM_SERVER_ANSWERS,
    UM_SERVER_FORBIDDEN, /* we may not open its control socket */
    UM_SERVER_AWAY
} um_doctor_server;

typedef struct um_doctor {
    um_doctor_context context;
    const char *path; /* of the configuration; NULL means the defaults */
    um_doctor_server server;
    um_doctor_address listening[UM_MAX_ADDRESSES];
    size_t nlistening;
    char silent[UM_MAX_SERVICES][24]; /* protocols that no client has used */
    size_t nsilent;
    uint64_t uptime; /* of the server, in seconds */
    um_finding finding[UM_FINDINGS];
    size_t n;
} um_doctor;

/* Appends an empty finding and returns it; if there is no space, returns the
 * last one. */
um_finding *um_doctor_add(um_doctor *d, const char *name, const char *address);
/* Queries the server, and tries all protocols. */
void um_doctor_run(um_doctor *d, const um_config *c, const char *path);
/* Returns true if nothing is broken. */
bool um_doctor_is_well(const um_doctor *d);
void um_doctor_print_text(FILE *out, const um_doctor *d);
void um_doctor_print_json(FILE *out, const um_doctor *d);

/* Writes the server's reply to the doctor request. */
void um_doctor_describe(FILE *out, const um_status *s);

#endif
