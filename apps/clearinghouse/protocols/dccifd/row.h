/*
 * dccifd_front.h - the running dccifd front, for its own files.
 *
 *     front_dccifd.c    the row: settings, opening, reload
 *     dccifd_request.c  the envelope
 *     dccifd_job.c      a connection: envelope, mail, facts, answer
 *     dccifd_count.c    facts of a mail: what is counted, and the counts
 *     dccifd_reply.c    the bytes of an answer
 */
#ifndef UM_CLEARINGHOUSE_DCCIFD_FRONT_H
#define UM_CLEARINGHOUSE_DCCIFD_FRONT_H

#include "clearinghouse/protocols/dccifd/protocol.h"
#include "clearinghouse/protocols/dccifd/reply.h"
#include "clearinghouse/protocols/mail_in.h"
#include "clearinghouse/protocols/stream.h"
#include "mail/pool.h"

/* Operations in metrics. */
typedef enum um_dccifd_op {
    UM_DCCIFD_OP_LOOKUP, /* counts, too */
    UM_DCCIFD_OP_QUERY,
    UM_DCCIFD_OP_REPORT,     /* as spam */
    UM_DCCIFD_OP_CONNECTION, /* without a request */
    UM_DCCIFD_OPS
} um_dccifd_op;

/* Outcomes of requests; then ends of connections, from UM_DCCIFD_ENDS on. */
typedef enum um_dccifd_outcome {
    UM_DCCIFD_OK,
    UM_DCCIFD_MALFORMED,
    UM_DCCIFD_ENVELOPE,
    UM_DCCIFD_LARGE,
    UM_DCCIFD_RATE_LIMIT,
    UM_DCCIFD_UNREADABLE,
    UM_DCCIFD_BUSY,
    UM_DCCIFD_NOT_STORED,
    UM_DCCIFD_LIST_FULL, /* a digest was left out; answered with counts */
    UM_DCCIFD_ENDS
} um_dccifd_outcome;

typedef struct um_dccifd_service um_dccifd_service;

/* A connection, and the mail that came by it. It outlives the connection while
 * a worker reads the mail. */
typedef struct um_dccifd_job {
    um_dccifd_service *front;
    um_stream *stream; /* NULL: the client is gone */
    um_address client; /* of the connection */
    um_dccifd_envelope envelope;
    um_dccifd_outcome outcome;
    um_mail_in mail;
    uint8_t *copy; /* for the word body */
    size_t copied;
    bool reading, waiting; /* a worker reads, the store writes */
    um_dccifd_reply reply;
    uint64_t ticket; /* that the store has to commit before the answer */
    struct um_dccifd_job *next; /* that waits for the store */
} um_dccifd_job;

struct um_dccifd_service {
    um_server *house;
    um_protocol_stats *stats;
    unsigned list; /* the first of its lists in the store */
    uint64_t many; /* a setting that a reload does not change */
    um_protocol_stream streams;
    um_mail_room room; /* of mails that are being received, and copies */
    size_t reading;    /* jobs */
    um_dccifd_job *first, *last; /* that wait for the store, oldest first */
    um_log_topic answers;        /* of the word log */
    char host[UM_DCCIFD_HOST];
};

/* As they are after a reload, for those that are live. */
const um_dccifd_settings *um_dccifd_settings_of(const um_dccifd_service *f);

extern const um_verdict um_dccifd_verdicts[];
extern const um_stream_protocol um_dccifd_protocol;

static inline um_dccifd_op um_dccifd_op_of(const um_dccifd_envelope *e)
{
    return um_dccifd_is_query(e)       ? UM_DCCIFD_OP_QUERY
           : e->words & UM_DCCIFD_SPAM ? UM_DCCIFD_OP_REPORT
                                       : UM_DCCIFD_OP_LOOKUP;
}

/*
 * Counts a mail, unless it is only looked up, and fills job->reply. The store
 * has to commit job->ticket before the client is answered.
 */
um_dccifd_outcome um_dccifd_count_mail(um_dccifd_job *job,
                                       const um_mail_facts *facts);

/* Answers jobs that the store has committed, or cannot. */
void um_dccifd_answer_pending(um_dccifd_service *f);

#endif
