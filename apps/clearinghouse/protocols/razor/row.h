/*
 * razor_front.h - the running Razor2 front, for its own files.
 *
 *     front_razor.c     the row: settings, opening, reload
 *     razor_request.c   lines, batches and mails as clients send them
 *     razor_code.c      signatures and MACs as clients write them
 *     razor_session.c   a connection: greeting, requests, replies that wait
 *     razor_login.c     registration, challenge and answer
 *     razor_count.c     checks, reports and revocations of a request
 *     razor_accounts.c  names and passwords
 *     razor_shared.c    those of peers
 *     razor_reply.c     the bytes of replies
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_FRONT_H
#define UM_CLEARINGHOUSE_RAZOR_FRONT_H

#include "clearinghouse/protocols/pyzor/once.h"
#include "clearinghouse/protocols/razor/accounts.h"
#include "clearinghouse/protocols/razor/protocol.h"
#include "clearinghouse/protocols/razor/reply.h"
#include "clearinghouse/protocols/razor/request.h"
#include "clearinghouse/protocols/razor/shared.h"
#include "clearinghouse/protocols/stream.h"
#include "clearinghouse/runtime/digest_text.h"

/* Operations in metrics. */
typedef enum um_razor_op {
    UM_RAZOR_OP_CHECK,
    UM_RAZOR_OP_REPORT,
    UM_RAZOR_OP_REVOKE,
    UM_RAZOR_OP_REGISTER,
    UM_RAZOR_OP_LOGIN,
    UM_RAZOR_OP_STATE,
    UM_RAZOR_OP_OTHER,
    UM_RAZOR_OP_CONNECTION, /* without a request */
    UM_RAZOR_OPS
} um_razor_op;

enum { UM_RAZOR_SIGNUP_SECONDS = 3600 };

/* A signature of a request on its way. */
typedef struct um_razor_item {
    um_razor_op op;
    um_razor_answer answer;
    bool counted; /* the store has to commit it */
} um_razor_item;

/* The signatures of one request: key[i] and digest[i] belong to item[i]. */
typedef struct um_razor_job {
    size_t n;
    um_razor_item item[UM_RAZOR_BATCH];
    char text[UM_RAZOR_BATCH][UM_DIGEST_TEXT];
    umbel_slice key[UM_RAZOR_BATCH];
    umbel_digest digest[UM_RAZOR_BATCH];
    uint64_t ticket; /* that the store has to commit; 0: none */
} um_razor_job;

typedef struct um_razor_service um_razor_service;

/* A reply that waits for the store: what is said when it has committed, and
 * what if it has failed. */
typedef struct um_razor_pending {
    struct um_razor_session *session; /* NULL: the client is gone */
    struct um_razor_pending *next;
    uint64_t ticket;
    uint8_t counted[UM_RAZOR_OPS]; /* operations that it answers */
    um_address client;
    size_t len, failed_len;
    char text[]; /* both replies */
} um_razor_pending;

typedef struct um_razor_session {
    um_razor_service *front;
    um_stream *stream;
    um_razor_pending *pending; /* until it is sent nothing is read */
    char user[UM_RAZOR_NAME + 1];
    char challenge[UM_RAZOR_CHALLENGE + 1]; /* "": none is open */
    bool authenticated;
    bool in_mail;
    unsigned matched; /* of the end of the mail */
    uint64_t mail_bytes;
    um_razor_job *asked; /* reports that count when their mail has come */
} um_razor_session;

struct um_razor_service {
    um_server *house;
    um_protocol_stats *stats;
    unsigned list;               /* the first of its lists in the store */
    uint64_t unit;               /* what a report of weight 1 adds to a count */
    const char *seed;            /* of engine 4, which no reload changes */
    uint64_t serial, confidence; /* of what clients cache */
    size_t accounts;             /* registered ones */
    um_razor_shared *shared;     /* of peers; NULL: it does not listen */
    uint64_t share_at;           /* milliseconds */
    uint64_t share_wait;         /* grows while the log takes no account */
    uint64_t share_tell_at;      /* the log line about it comes then */
    um_limits *signup;           /* registrations of a network */
    um_pyzor_once *once; /* who has reported what; NULL: counts stop at 1 */
    um_razor_lookups lookups;
    uint64_t requests; /* that checked, for the sample */
    um_protocol_stream streams;
    um_razor_pending *first, *last; /* that wait for the store, oldest first */
    um_razor_job job;               /* of the request that is being answered */
};

/* Finds an account of our own, or with accounts = "shared" one of peers. */
bool um_razor_find_account(const um_razor_service *f, umbel_slice name,
                           umbel_slice *password);

/* As they are after a reload, for those that are live. */
const um_razor_settings *um_razor_settings_of(const um_razor_service *f);

extern const um_verdict um_razor_verdicts[];
extern const um_stream_protocol um_razor_protocol;

/* --- razor_count.c -------------------------------------------------------- */

/* Adds a query to a job; its signature is looked up or counted later. */
void um_razor_add(const um_razor_session *s, const um_razor_query *q,
                  um_razor_job *job);
/* Looks up and counts the signatures of a job, and fills their answers. */
void um_razor_run(um_razor_session *s, um_razor_job *job);
/* Counts the reports of a job whose mail has come. */
void um_razor_count_reports(um_razor_session *s, um_razor_job *job);

/* --- razor_login.c -------------------------------------------------------- */

void um_razor_register(um_razor_session *s, const um_razor_query *q);
void um_razor_challenge(um_razor_session *s, const um_razor_query *q);
void um_razor_authenticate(um_razor_session *s, const um_razor_query *q);

/* --- razor_session.c ------------------------------------------------------ */

/* Sends a reply, and counts it. */
void um_razor_send(um_razor_session *s, umbel_slice text);
/* Sends a verdict that is not about a signature, and counts it. */
void um_razor_refuse(um_razor_session *s, um_razor_op op,
                     um_razor_outcome outcome);
/* Counts an operation and its outcome; logs refusals. */
void um_razor_note(um_razor_service *f, um_razor_op op,
                   um_razor_outcome outcome, const um_address *client,
                   umbel_slice user);
/*
 * Sends a reply once the store has committed a ticket, or the other if it
 * fails; the session reads on afterwards. Returns false if there is no memory.
 */
bool um_razor_send_committed(um_razor_session *s, uint64_t ticket,
                             const uint8_t counted[UM_RAZOR_OPS],
                             umbel_slice text, umbel_slice failed);
/* Sends what the store has committed, or cannot. */
void um_razor_answer_pending(um_razor_service *f);

#endif
