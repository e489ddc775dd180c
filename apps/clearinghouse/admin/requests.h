/*
 * house_requests.h - requests of the operator that bring bytes, or that change
 * something: rows, answered once they are done.
 */
#ifndef UM_CLEARINGHOUSE_HOUSE_REQUESTS_H
#define UM_CLEARINGHOUSE_HOUSE_REQUESTS_H

#include "clearinghouse/protocols/protocol.h"
#include "net/server/control_socket.h"

enum {
    UM_REQUEST_MAIL = 8 << 20,    /* bytes of a mail: more than workers read */
    UM_REQUEST_DIGESTS = 1 << 16, /* bytes of digests, blanks between them */
    UM_REQUEST_ORIGIN = 128       /* bytes of a name, or of a key's digits */
};

/* A reply that begins so is an error: the rest is for standard error. */
#define UM_REPLY_ERROR "error: "

/* Why there are no origins, and what to do. */
#define UM_NO_PEERS                                                            \
    "the server has no peers: set origin and peer \"NAME\" { } in its "        \
    "configuration, see umbel-clearinghouse.conf(5)"

typedef struct um_requests um_requests;

umbel_status um_requests_open(const um_environment *env, um_requests **out,
                              umbel_error *err);
/* Answers those that wait. NULL is fine. */
void um_requests_close(um_requests *q);

/* As um_control_config.follow and .take. */
size_t um_requests_follow(const char *line);
void um_requests_parse(um_requests *q, um_control_request *r, const char *line,
                       uint8_t *bytes, size_t len);

/* Answers what the store has committed, or cannot. */
void um_requests_committed(um_requests *q);

/* Writes which digests are forgotten, and since when. */
void um_requests_list_forgotten(const um_environment *env, FILE *out);
void um_requests_list_forgotten_json(const um_environment *env, FILE *out);

#endif
