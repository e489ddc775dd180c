/*
 * pyzor_rules.h - decides how a request is answered: checks in pyzord's order.
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_RULES_H
#define UM_CLEARINGHOUSE_PYZOR_RULES_H

#include "clearinghouse/protocols/pyzor/accounts.h"
#include "clearinghouse/runtime/verdict.h"

/* Seconds that the time of a signed request may differ from ours. */
enum { UM_PYZOR_WINDOW = 300 };

/* Rows of um_pyzor_verdicts. */
typedef enum um_pyzor_outcome {
    UM_PYZOR_OK,
    UM_PYZOR_TOO_LONG,
    UM_PYZOR_UNKNOWN_USER,
    UM_PYZOR_BAD_TIME,
    UM_PYZOR_BAD_SIGNATURE,
    UM_PYZOR_BAD_VERSION,
    UM_PYZOR_OTHER_VERSION,
    UM_PYZOR_FORBIDDEN,
    UM_PYZOR_NOT_IMPLEMENTED,
    UM_PYZOR_NOT_STORED,
    UM_PYZOR_LIST_FULL,  /* a digest was left out */
    UM_PYZOR_ANSWER,     /* of another server; not answered */
    UM_PYZOR_RATE_LIMIT, /* not answered */
    UM_PYZOR_OUTCOMES
} um_pyzor_outcome;

extern const um_verdict um_pyzor_verdicts[UM_PYZOR_OUTCOMES + 1];

/* The account and the operation of a request; set as far as it was believed. */
typedef struct um_pyzor_judged {
    const um_pyzor_account *account; /* NULL: not believed */
    unsigned op;                     /* UM_PYZOR_OPS: none of the protocol's */
    bool is_signed;
} um_pyzor_judged;

um_pyzor_outcome um_pyzor_judge(const um_pyzor_request *r,
                                const um_pyzor_accounts *accounts, uint64_t now,
                                um_pyzor_judged *out);

/* Returns true for the digest of an empty text, which mails without text share:
 * it is never counted. */
bool um_pyzor_is_empty_text(umbel_slice digest);

#endif
