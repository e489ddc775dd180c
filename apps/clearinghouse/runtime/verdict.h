/*
 * verdict.h - how a front answers a request: a row each, with the code in the
 * protocol and in metrics, and the reason if the request is refused.
 */
#ifndef UM_CLEARINGHOUSE_VERDICT_H
#define UM_CLEARINGHOUSE_VERDICT_H

typedef struct um_verdict {
    unsigned code;
    const char *diag; /* for the client: nothing that a stranger may not know */
    const char *reason; /* in metrics and log; NULL: not refused */
} um_verdict;

#endif
