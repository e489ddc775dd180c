/*
 * dccifd_ask.h - a client of dccifd, for the programs beside the server.
 */
#ifndef UM_CLEARINGHOUSE_DCCIFD_ASK_H
#define UM_CLEARINGHOUSE_DCCIFD_ASK_H

#include "net/server/address.h"

typedef struct um_dccifd_question {
    um_address server;
    uint64_t timeout_ms;
    const char *words;            /* "header query" */
    const char *client;           /* address; "": not known */
    const char *helo, *sender;    /* "": not known */
    const char *const *recipient; /* up to NULL */
} um_dccifd_question;

/* An answer, without the two lines of results. */
typedef struct um_dccifd_answer {
    char text[4096]; /* the X-DCC line, and checksums if they were asked for */
    size_t len;
} um_dccifd_answer;

/*
 * Asks about a mail. E_RANGE: a line of the envelope has a byte that none may
 * have; E_IO: no server, or no answer in time; E_REFUSED: it answers that it
 * cannot now; E_FORMAT: that is no answer.
 */
umbel_status um_dccifd_ask(const um_dccifd_question *q, umbel_slice mail,
                           um_dccifd_answer *out, umbel_error *err);

#endif
