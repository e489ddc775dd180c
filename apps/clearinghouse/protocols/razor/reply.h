/*
 * razor_reply.h - what Razor2 clients are told.
 *
 * A client reads once, at most 1,024 bytes, and takes what it got for the whole
 * reply: each is one write, and fits.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_REPLY_H
#define UM_CLEARINGHOUSE_RAZOR_REPLY_H

#include "clearinghouse/config/setting.h"

enum { UM_RAZOR_REPLY = 1024 };

/* Outcomes of requests; then ends of connections, from UM_RAZOR_ENDS on. */
typedef enum um_razor_outcome {
    UM_RAZOR_OK,
    UM_RAZOR_WANTS_MAIL,
    UM_RAZOR_NAME_TAKEN,
    UM_RAZOR_UNKNOWN_USER,
    UM_RAZOR_MALFORMED,
    UM_RAZOR_NOT_AUTHENTICATED,
    UM_RAZOR_WRONG_PASSWORD,
    UM_RAZOR_CLOSED,
    UM_RAZOR_NO_ENGINE,
    UM_RAZOR_NO_SIGNATURE,
    UM_RAZOR_WRONG_SEED,
    UM_RAZOR_TOO_MANY,
    UM_RAZOR_RATE_LIMIT,
    UM_RAZOR_SIGNUP_LIMIT,
    UM_RAZOR_NO_ACTION,
    UM_RAZOR_NOT_STORED,
    UM_RAZOR_ACCOUNTS_FULL,
    UM_RAZOR_LIST_FULL,
    UM_RAZOR_ENDS
} um_razor_outcome;

/* What a query about a signature is answered. */
typedef struct um_razor_answer {
    um_razor_outcome outcome;
    bool is_check;
    uint8_t confidence; /* of a check: 0 is not spam, 100 the most */
} um_razor_answer;

/* Prints a line, with its end; returns the length. */
size_t um_razor_print(const um_razor_answer *a, char *out);

/* What clients cache of a server. */
typedef struct um_razor_state {
    const char *seed;
    uint64_t serial, confidence;
    const char *const *place; /* that discovery names */
    size_t nplaces;
} um_razor_state;

size_t um_razor_print_greeting(const um_razor_state *s,
                               char out[UM_RAZOR_REPLY]);
size_t um_razor_print_state(const um_razor_state *s, char out[UM_RAZOR_REPLY]);
/* key is csl or nsl; places that do not fit are left out. */
size_t um_razor_print_places(const um_razor_state *s, const char *key,
                             char out[UM_RAZOR_REPLY]);

#endif
