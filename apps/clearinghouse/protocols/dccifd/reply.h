/*
 * dccifd_reply.h - what a client of dccifd is answered.
 *
 *     A                                          accept
 *     AA                                         one for each recipient
 *     X-DCC-umbel-Metrics: HOST 1; bulk Body=many Fuz1=7 Fuz2=many
 *
 * The last line for the words header, cksums and body. For cksums a line with
 * "reported:" and one for each checksum follow, for body the mail. The server
 * never rejects: whether a count is too many is the client's business.
 */
#ifndef UM_CLEARINGHOUSE_DCCIFD_REPLY_H
#define UM_CLEARINGHOUSE_DCCIFD_REPLY_H

#include "clearinghouse/protocols/dccifd/request.h"

/* Signatures by the names that clients know; lists in the same order. */
typedef enum um_dccifd_sum {
    UM_DCCIFD_SUM_BODY, /* exact */
    UM_DCCIFD_SUM_FUZ1, /* pyzor */
    UM_DCCIFD_SUM_FUZ2, /* shingle */
    UM_DCCIFD_SUMS
} um_dccifd_sum;

enum {
    UM_DCCIFD_HOST = 64,
    UM_DCCIFD_CHECKSUM = 16, /* bytes that are shown */
    UM_DCCIFD_REPLY = UM_DCCIFD_RECIPIENTS + 1024
};

typedef struct um_dccifd_count {
    bool present; /* the text is long enough for this signature */
    uint64_t count;
    uint8_t checksum[UM_DCCIFD_CHECKSUM];
} um_dccifd_count;

typedef struct um_dccifd_reply {
    bool failed;       /* temporarily: T */
    bool welcome;      /* by a rule of the operator: no counts */
    uint64_t many;     /* counts from which on the word is shown */
    uint64_t reported; /* how often it was counted now */
    um_dccifd_count sum[UM_DCCIFD_SUMS];
} um_dccifd_reply;

/* Returns true if a count is shown as many. */
bool um_dccifd_is_bulk(const um_dccifd_reply *r);

/* Prints all but the mail; returns the length. */
size_t um_dccifd_print(const um_dccifd_reply *r, const um_dccifd_envelope *e,
                       const char *host, char out[UM_DCCIFD_REPLY]);

#endif
