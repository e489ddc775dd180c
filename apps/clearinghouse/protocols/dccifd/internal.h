/*
 * internal.h - the dccifd protocol, for its own files.
 *
 *     protocol.c   the row: settings, opening, the probe of doctor
 *     session.c    a connection: envelope, mail, facts, counts, answer
 *     request.c    the bytes of the envelope and of an answer
 *     milter.c     umbel-milter, a client that the server starts
 *
 * The envelope that a client sends before the mail:
 *
 *     words, separated by blanks         LF
 *     client's address [CR its name]     LF
 *     HELO                               LF
 *     sender                             LF
 *     recipient [CR user]                LF    any number of them
 *                                        LF
 *     the mail, up to the end of the stream
 *
 * The answer:
 *
 *     A                                          accept
 *     AA                                         one for each recipient
 *     X-DCC-umbel-Metrics: HOST 1; bulk Body=many Fuz1=7 Fuz2=many
 *
 * The last line for the words header, cksums and body. For cksums a line with
 * "reported:" and one for each checksum follow, for body the mail. The server
 * never rejects: whether a count is too many is the client's business.
 */
#ifndef UM_CLEARINGHOUSE_DCCIFD_INTERNAL_H
#define UM_CLEARINGHOUSE_DCCIFD_INTERNAL_H

#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/mail_in.h"
#include "clearinghouse/protocols/stream_service.h"
#include "mail/pool.h"
#include "net/dccifd.h"

/* --- settings ---------------------------------------------------------------
 */

/* What a look-up counts. */
typedef enum um_dccifd_counting {
    UM_DCCIFD_PER_MAIL,
    UM_DCCIFD_PER_RECIPIENT
} um_dccifd_counting;

typedef struct um_dccifd_settings {
    um_texts listen;
    uint64_t many;
    unsigned count; /* um_dccifd_counting */
    uint64_t connections;
    uint64_t largest; /* bytes of a mail */
    uint64_t mails;   /* bytes of all mails that are being received */
} um_dccifd_settings;

/* --- the envelope -----------------------------------------------------------
 */

/* Words of the first line; others are ignored. */
#define UM_DCCIFD_WORD_LIST(X)                                                 \
    X(QUERY, "query")   /* look up, do not count */                            \
    X(SPAM, "spam")     /* it is spam: many at once */                         \
    X(HEADER, "header") /* answer with the X-DCC line */                       \
    X(CKSUMS, "cksums") /* and the checksums */                                \
    X(BODY, "body")     /* and the mail, with the X-DCC line */                \
    X(LOG, "log")       /* log the answer */                                   \
    X(GREY_OFF, "grey-off")                                                    \
    X(NO_GREY, "no-grey")                                                      \
    X(NO_REJECT, "no-reject")

enum {
#define UM_DCCIFD_WORD_INDEX(name, word) UM_DCCIFD_INDEX_##name,
    UM_DCCIFD_WORD_LIST(UM_DCCIFD_WORD_INDEX)
#undef UM_DCCIFD_WORD_INDEX
};

enum {
#define UM_DCCIFD_WORD_BIT(name, word)                                         \
    UM_DCCIFD_##name = 1 << UM_DCCIFD_INDEX_##name,
    UM_DCCIFD_WORD_LIST(UM_DCCIFD_WORD_BIT)
#undef UM_DCCIFD_WORD_BIT
};

enum {
    UM_DCCIFD_RECIPIENTS = 1000, /* lines of them */
    UM_DCCIFD_CLIENT = 64,
    UM_DCCIFD_SENDER = 328
};

typedef enum um_dccifd_state {
    UM_DCCIFD_MORE,
    UM_DCCIFD_DONE,     /* the mail follows */
    UM_DCCIFD_TOO_LONG, /* a line, or their number */
    UM_DCCIFD_NO_TEXT   /* a byte that no envelope has */
} um_dccifd_state;

/* Zero to begin. */
typedef struct um_dccifd_envelope {
    um_dccifd_state state;
    unsigned line;  /* number of the next one */
    unsigned words; /* bits */
    unsigned recipients;
    char client[UM_DCCIFD_CLIENT]; /* "": not given, or longer */
    char sender[UM_DCCIFD_SENDER];
} um_dccifd_envelope;

/*
 * Takes whole lines while state is UM_DCCIFD_MORE; returns the number of bytes.
 * Fewer than len: state has changed, or the rest is no whole line.
 */
size_t um_dccifd_parse(um_dccifd_envelope *e, const uint8_t *bytes, size_t len);

/* Without a recipient nobody receives the mail, so it is only looked up. */
static inline bool um_dccifd_is_query(const um_dccifd_envelope *e)
{
    return e->words & UM_DCCIFD_QUERY || e->recipients == 0;
}

/* --- answers ----------------------------------------------------------------
 */

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

/* --- the running protocol ---------------------------------------------------
 */

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
    um_dccifd_service *service;
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
    const um_environment *env;
    const um_protocol_section *section;
    um_service_stats *stats;
    uint64_t many; /* a setting that a reload does not change */
    um_protocol_stream streams;
    um_mail_budget budget; /* of mails that are being received, and copies */
    size_t reading;        /* jobs */
    um_dccifd_job *first, *last; /* that wait for the store, oldest first */
    um_log_topic answers;        /* of the word log */
    char host[UM_DCCIFD_HOST];
};

/* Returns the settings, those that are live as a reload left them. */
static inline const um_dccifd_settings *
um_dccifd_settings_of(const um_dccifd_service *f)
{
    return um_config_get(f->env->config, f->section);
}

extern const um_stream_protocol um_dccifd_protocol;

static inline um_dccifd_op um_dccifd_op_of(const um_dccifd_envelope *e)
{
    return um_dccifd_is_query(e)       ? UM_DCCIFD_OP_QUERY
           : e->words & UM_DCCIFD_SPAM ? UM_DCCIFD_OP_REPORT
                                       : UM_DCCIFD_OP_LOOKUP;
}

/* Answers jobs that the store has committed, or cannot. */
void um_dccifd_answer_pending(um_dccifd_service *f);

#endif
