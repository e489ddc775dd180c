/*
 * dccifd.h - a client of the dccifd protocol (docs of DCC: dccifd(8)).
 *
 * It is in src/net because umbel-milter and umbel-dccproc need it without the
 * rest of the clearinghouse; the server shares only UM_DCCIFD_LINE with it.
 */
#ifndef UM_NET_DCCIFD_H
#define UM_NET_DCCIFD_H

#include "net/server/address.h"

enum { UM_DCCIFD_LINE = 1024 }; /* bytes of an envelope line, with its LF */

typedef struct um_dccifd_query {
    um_address server;
    uint64_t timeout_ms;
    const char *words;            /* "header query" */
    const char *client;           /* address; "" if unknown */
    const char *helo, *sender;    /* "" if unknown */
    const char *const *recipient; /* ends with NULL */
} um_dccifd_query;

/* A reply, without the two lines of results. */
typedef struct um_dccifd_response {
    char text[4096]; /* the X-DCC line, and checksums if they were asked for */
    size_t len;
} um_dccifd_response;

/*
 * Sends a mail and waits for the reply. Returns E_RANGE if an envelope line is
 * too long or contains a newline, E_IO if no server answers in time, E_REFUSED
 * if the server cannot answer now, E_FORMAT if the reply is malformed.
 */
umbel_status um_dccifd_call(const um_dccifd_query *q, umbel_slice mail,
                            um_dccifd_response *out, umbel_error *err);

#endif
