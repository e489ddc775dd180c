/*
 * internal.h - the dccifd protocol, for its own files.
 *
 *     protocol.c   the row: settings, opening, the probe of doctor
 *     session.c    a connection: envelope, mail, facts, counts, answer
 *     request.c    the bytes of the envelope and of an answer
 *     same_mail.c  mails that several programs of a host send
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
 * The last line is sent for the words header, cksums and body. For cksums a
 * line with "reported:" and one for each checksum follow; for body, the mail.
 * The server never rejects a mail: the client decides which count is too high.
 */
#ifndef UM_CLEARINGHOUSE_DCCIFD_INTERNAL_H
#define UM_CLEARINGHOUSE_DCCIFD_INTERNAL_H

#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/mail_in.h"
#include "clearinghouse/protocols/stream_service.h"
#include "mail/pool.h"
#include "net/dccifd.h"

/* --- settings ------------------------------------------------------------- */

/* What one look-up adds to the counts. */
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

/* --- the envelope --------------------------------------------------------- */

/* Words of the first line; others are ignored. */
#define UM_DCCIFD_WORD_LIST(X)                                                 \
    X(QUERY, "query")   /* look up, do not count */                            \
    X(SPAM, "spam")     /* it is spam: many at once */                         \
    X(HEADER, "header") /* answer with the X-DCC line */                       \
    X(CKSUMS, "cksums") /* and the checksums */                                \
    X(BODY, "body")     /* and the mail, with the X-DCC line */                \
    X(LOG, "log")       /* log the answer */                                   \
    X(MILTER, "milter") /* sent by umbel-milter */                             \
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
    UM_DCCIFD_RECIPIENTS = 1000, /* lines */
    UM_DCCIFD_CLIENT = 64,
    UM_DCCIFD_SENDER = 328
};

typedef enum um_dccifd_state {
    UM_DCCIFD_MORE,
    UM_DCCIFD_DONE,     /* the mail follows */
    UM_DCCIFD_TOO_LONG, /* a line, or too many lines */
    UM_DCCIFD_NO_TEXT   /* a byte that envelopes never contain */
} um_dccifd_state;

/* Starts zeroed. */
typedef struct um_dccifd_envelope {
    um_dccifd_state state;
    unsigned line;  /* number of the next line */
    unsigned words; /* bits, UM_DCCIFD_QUERY ... */
    unsigned recipients;
    char client[UM_DCCIFD_CLIENT]; /* "" if missing or too long */
    char sender[UM_DCCIFD_SENDER];
} um_dccifd_envelope;

/*
 * Parses whole lines while state is UM_DCCIFD_MORE. Returns the number of bytes
 * used: fewer than len if state has changed, or if the rest is not a whole
 * line.
 */
size_t um_dccifd_parse(um_dccifd_envelope *e, const uint8_t *bytes, size_t len);

/* Returns true if the mail is only looked up: on request, or because it has no
 * recipients. */
static inline bool um_dccifd_is_query(const um_dccifd_envelope *e)
{
    return e->words & UM_DCCIFD_QUERY || e->recipients == 0;
}

/* --- answers -------------------------------------------------------------- */

/* Signatures by the names that clients use, in the order of the lists. */
typedef enum um_dccifd_sum {
    UM_DCCIFD_SUM_BODY, /* exact */
    UM_DCCIFD_SUM_FUZ1, /* pyzor */
    UM_DCCIFD_SUM_FUZ2, /* shingle */
    UM_DCCIFD_SUMS
} um_dccifd_sum;

enum {
    UM_DCCIFD_HOST = 64,
    UM_DCCIFD_CHECKSUM = 16, /* bytes that are printed */
    UM_DCCIFD_REPLY = UM_DCCIFD_RECIPIENTS + 1024
};

typedef struct um_dccifd_count {
    bool present; /* the text is long enough for this signature */
    uint64_t count;
    uint8_t checksum[UM_DCCIFD_CHECKSUM];
} um_dccifd_count;

typedef struct um_dccifd_reply {
    bool failed;       /* temporarily; the answer is T */
    bool welcome;      /* by a welcome rule: no counts */
    uint64_t many;     /* counts of at least this are printed as "many" */
    uint64_t reported; /* how often the mail was counted now */
    um_dccifd_count sum[UM_DCCIFD_SUMS];
} um_dccifd_reply;

/* Returns true if a count is printed as "many". */
bool um_dccifd_is_bulk(const um_dccifd_reply *r);

/* Prints the answer without the mail; returns its length. */
size_t um_dccifd_print(const um_dccifd_reply *r, const um_dccifd_envelope *e,
                       const char *host, char out[UM_DCCIFD_REPLY]);

/* --- the running protocol ------------------------------------------------- */

/* Operations in metrics. */
typedef enum um_dccifd_op {
    UM_DCCIFD_OP_LOOKUP, /* looks up and counts */
    UM_DCCIFD_OP_QUERY,
    UM_DCCIFD_OP_REPORT,     /* as spam */
    UM_DCCIFD_OP_CONNECTION, /* that ended without a request */
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
    /* A digest was left out; answered with counts: */
    UM_DCCIFD_NEW_LIMIT,
    UM_DCCIFD_SHARE_FULL,
    UM_DCCIFD_LIST_FULL,
    UM_DCCIFD_ENDS
} um_dccifd_outcome;

/* Operations of the milter, and its verdict on mails. */
enum { UM_MILTER_OP_MAIL, UM_MILTER_OP_START };
enum { UM_MILTER_FINE, UM_MILTER_ENDED };

typedef struct um_dccifd_service um_dccifd_service;
typedef struct um_same_mail um_same_mail;

/* A connection and its mail. It outlives the connection while a worker reads
 * the mail. */
typedef struct um_dccifd_job {
    um_dccifd_service *service;
    um_stream *stream; /* NULL if the client is gone */
    um_address client; /* of the connection */
    um_dccifd_envelope envelope;
    um_dccifd_outcome outcome;
    um_mail_in mail;
    uint8_t *copy; /* of the mail, for the word body */
    size_t copied;
    bool reading, waiting; /* a worker reads, the store writes */
    um_dccifd_reply reply;
    uint64_t ticket;            /* sent when it is committed */
    struct um_dccifd_job *next; /* the next one that waits for the store */
} um_dccifd_job;

struct um_dccifd_service {
    const um_environment *env;
    const um_protocol_section *section;
    um_service_stats *stats;
    uint64_t many; /* setting that a reload does not change */
    um_same_mail *same;
    const um_service *milter; /* counts the mails of umbel-milter */
    um_protocol_stream streams;
    um_mail_budget budget;       /* for mails being received, and copies */
    size_t reading;              /* jobs that workers have */
    um_dccifd_job *first, *last; /* waiting for the store, oldest first */
    um_log_topic answers;        /* log lines of the word log */
    char host[UM_DCCIFD_HOST];
};

/* Returns the current settings; a reload changes live ones. */
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

/* Answers jobs whose ticket the store has committed, or cannot commit. */
void um_dccifd_answer_pending(um_dccifd_service *f);

/* --- mails that several programs of a host send (same_mail.c) --------------
 */

umbel_status um_same_mail_open(um_same_mail **out, umbel_error *err);
/* Returns the memory that it needs. */
uint64_t um_same_mail_bytes(void);
/* Accepts NULL. */
void um_same_mail_close(um_same_mail *s);
/*
 * Returns how often an entry of a mail counts: 0 if another program of the
 * client's host has asked about this copy within a minute. now is in
 * milliseconds.
 */
uint64_t um_same_mail_amount(const um_same_mail *s, const um_dccifd_job *job,
                             const um_entry *e, uint64_t now);
/* Records that the program has asked; call it once the entry is counted. */
void um_same_mail_record(um_same_mail *s, const um_dccifd_job *job,
                         const um_entry *e, uint64_t now);

#endif
