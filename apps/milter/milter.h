/*
 * milter.h - umbel-milter: a mail server's filter that asks a clearinghouse.
 */
#ifndef UM_MILTER_MILTER_H
#define UM_MILTER_MILTER_H

#include "clearinghouse/protocols/dccifd/ask.h"
#include "net/server/address.h"

enum {
    UM_MILTER_NETWORKS = 64,
    UM_MILTER_KEPT = 1 << 20 /* bytes of a mail that the server is sent */
};

#define UM_MILTER_HEADER "X-Umbel"

typedef struct um_milter_settings {
    const char *socket; /* as libmilter takes it */
    um_address server;
    uint64_t timeout_ms;
    uint64_t reject_at;  /* a count; 0: never */
    const char *contact; /* whom a sender may ask */
    struct {
        um_network network;
        unsigned bits;
    } own[UM_MILTER_NETWORKS]; /* whose mail passes */
    size_t nown;
} um_milter_settings;

extern um_milter_settings um_milter;

/* --- verdict.c -------------------------------------------------------------
 */

/* What the server says about a mail. */
typedef struct um_milter_verdict {
    char header[128]; /* value of X-Umbel */
    bool reject;
    char why[256]; /* ... in words for the sender */
} um_milter_verdict;

/* Reads an answer with header and checksums. E_FORMAT: it is not one. */
umbel_status um_milter_judge(const um_dccifd_answer *answer, uint64_t reject_at,
                             const char *contact, um_milter_verdict *out,
                             umbel_error *err);

/* --- mail.c ----------------------------------------------------------------
 */

/* Registers the callbacks; false: libmilter refuses. */
bool um_milter_register(void);

#endif
