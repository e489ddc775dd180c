/*
 * mail_in.h - a mail that a client is sending, within a limit per mail and one
 * for all mails of the protocol.
 */
#ifndef UM_CLEARINGHOUSE_MAIL_IN_H
#define UM_CLEARINGHOUSE_MAIL_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Buffer bytes of all mails of a protocol. */
typedef struct um_mail_budget {
    uint64_t used, max;
} um_mail_budget;

typedef struct um_mail_in {
    um_mail_budget *budget;
    uint8_t *bytes;
    size_t len, cap;
    uint64_t received; /* bytes, buffered or not */
} um_mail_in;

typedef enum um_mail_in_state {
    UM_MAIL_IN_FINE,
    UM_MAIL_IN_LARGE, /* longer than largest */
    UM_MAIL_IN_BUSY   /* the budget is used up, or there is no memory */
} um_mail_in_state;

/* Appends the next bytes; only the first `keep` bytes of the mail are
 * stored. */
um_mail_in_state um_mail_in_append(um_mail_in *m, const uint8_t *bytes,
                                   size_t len, size_t keep, uint64_t largest);
/* Passes the bytes to the caller, which frees them. */
uint8_t *um_mail_in_release(um_mail_in *m, size_t *len);
void um_mail_in_drop(um_mail_in *m);

#endif
