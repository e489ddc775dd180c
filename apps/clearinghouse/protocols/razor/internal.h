/*
 * internal.h - the Razor2 protocol, for its own files.
 *
 *     protocol.c   the row: settings, opening, reload, the probe of doctor
 *     session.c    a connection: greeting, requests, mails
 *     reports.c    checks, reports and revocations of a request
 *     login.c      registration, challenge and answer
 *     reply.c      replies, sent now or after the commit
 *     request.c    lines, batches and mails as clients send them
 *     accounts.c   names and passwords; shared.c those of peers
 *
 * Requests:
 *
 *     a=c&e=4&s=SIGNATURE             a line: keys and values, a later key wins
 *     -a=c&e=4&s=S1 / a=c&e=4&s=S2 / .     a batch, up to a line "."
 *     -a=c&e=4&s=? / S1 / S2 / .           one with a template
 *     -a=r&message=* / ... / .             one that is a mail
 *
 * Lines end with CR LF; LF alone is accepted, too, except at the end of a mail,
 * whose lines may contain it. Values are URI-escaped.
 *
 * Parsers use no socket and allocate nothing. Slices point into the input.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_INTERNAL_H
#define UM_CLEARINGHOUSE_RAZOR_INTERNAL_H

#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/duplicates.h"
#include "clearinghouse/protocols/razor/razor.h"
#include "clearinghouse/protocols/stream_service.h"
#include "clearinghouse/runtime/digest_text.h"

#include <string.h>

/* --- settings ------------------------------------------------------------- */

typedef struct um_razor_settings {
    um_texts listen, announce;
    char *seed;
    unsigned order;        /* um_razor_order */
    unsigned registration; /* 0 if open */
    unsigned accounts;     /* 0: our own only; 1: shared with peers */
    uint64_t weight;       /* of accounts without a section, in hundredths */
    uint64_t registrations, connections, confidence;
    bool mails;
} um_razor_settings;

/* --- requests ------------------------------------------------------------- */

enum {
    UM_RAZOR_REQUEST = 8192, /* bytes of a line or a batch */
    UM_RAZOR_BATCH = 50      /* queries of a batch: their answers fit a reply */
};

/* The keys that the server uses. */
typedef enum um_razor_key {
    UM_RAZOR_A,
    UM_RAZOR_E,
    UM_RAZOR_EP4,
    UM_RAZOR_S,
    UM_RAZOR_USER,
    UM_RAZOR_PASS,
    UM_RAZOR_ARESP,
    UM_RAZOR_PM,
    UM_RAZOR_CN,
    UM_RAZOR_MESSAGE,
    UM_RAZOR_KEYS
} um_razor_key;

/* The values of a query, still escaped; data is NULL for an absent key. */
typedef struct um_razor_query {
    umbel_slice value[UM_RAZOR_KEYS];
    bool malformed; /* a key without "=", a broken escape, no key at all */
} um_razor_query;

typedef enum um_razor_form {
    UM_RAZOR_MORE, /* it is incomplete */
    UM_RAZOR_LINE,
    UM_RAZOR_BATCHED,
    UM_RAZOR_MAIL /* the first line; the mail follows */
} um_razor_form;

typedef struct um_razor_request {
    um_razor_form form;
    size_t len;       /* bytes that belong to it */
    umbel_slice text; /* without "-", the end of the line and the last "." */
} um_razor_request;

/* Finds the request at the start of a stream. */
um_razor_request um_razor_find(const uint8_t *bytes, size_t len);

/* Position of an iteration over the queries of a line or batch. */
typedef struct um_razor_walk {
    umbel_slice left;
    um_razor_query first;
    um_razor_key open[UM_RAZOR_KEYS]; /* keys left to a template's lines */
    size_t nopen;
    bool begun;
} um_razor_walk;

um_razor_walk um_razor_begin(const um_razor_request *r);
/* Parses the next query; false past the end. */
bool um_razor_next(um_razor_walk *w, um_razor_query *out);

/* Returns true if a value equals that text. */
bool um_razor_is(umbel_slice value, const char *text);
/* Unescapes a value; false if it has more than cap bytes. The query must not be
 * malformed. */
bool um_razor_unescape(umbel_slice value, char *out, size_t cap, size_t *len);
/* Escapes a text; out needs 3 * len + 1 bytes. Returns the length. */
size_t um_razor_escape(umbel_slice text, char *out);

/*
 * Looks for the end of a mail, the line "." after CR LF. *matched is the length
 * of the end marker's prefix with which the previous bytes ended,
 * UM_RAZOR_MAIL_BEGIN at first. Returns the number of bytes that belong to the
 * mail; *over is true if they end it.
 */
enum { UM_RAZOR_MAIL_BEGIN = 2 };
size_t um_razor_skip_mail(const uint8_t *bytes, size_t len, unsigned *matched,
                          bool *over);

/* --- challenges ----------------------------------------------------------- */

enum { UM_RAZOR_PASSWORD = 64 }; /* bytes at most: a block of the MAC */

/*
 * Computes a client's answer to a challenge: HMAC-SHA-1 with swapped pads,
 * whose inner hash is hexadecimal text.
 */
void um_razor_mac(umbel_slice password, umbel_slice challenge,
                  char out[UM_RAZOR_TEXT + 1]);

/* --- accounts ------------------------------------------------------------- */

/*
 * Names and passwords that Razor2 clients registered.
 *
 * They are records of the store, so they are as durable as reports, in files
 * that only the server's user can read. The server computes the same MAC as the
 * client, so it needs the password in clear text.
 */
enum {
    UM_RAZOR_NAME = 64, /* bytes of a name, at most */
    UM_RAZOR_ACCOUNTS = 20000,
    UM_RAZOR_CHALLENGE = 16, /* hexadecimal digits */
    UM_RAZOR_INVENTED = 16   /* characters of a generated name or password */
};

/* Returns true for a valid name or password: 1 to 64 printable characters
 * without blanks. */
bool um_razor_is_name(umbel_slice text);

/* Finds the password of an account; valid until the store changes. */
bool um_razor_account_find(const um_store *s, umbel_slice name,
                           umbel_slice *password);
umbel_status um_razor_account_append(um_store *s, umbel_slice name,
                                     umbel_slice password, uint64_t now,
                                     uint64_t *ticket, umbel_error *err);
size_t um_razor_account_count(const um_store *s);
/* Iterates over the accounts; *at starts with 0. */
bool um_razor_account_next(const um_store *s, size_t *at, umbel_slice *name,
                           umbel_slice *password);

/* Writes random characters from a cryptographic generator. */
void um_razor_invent(char out[UM_RAZOR_INVENTED + 1]);
void um_razor_invent_challenge(char out[UM_RAZOR_CHALLENGE + 1]);

/*
 * Returns the serial of a state: the stored one, or the current time, which is
 * larger, if the state has changed. Clients request the state again when the
 * serial has grown.
 */
umbel_status um_razor_serial(um_store *s, umbel_slice state, uint64_t now,
                             uint64_t *serial, umbel_error *err);

/* --- accounts of peers ---------------------------------------------------- */

/*
 * Accounts that servers share, as entries of their signed logs.
 *
 *   type 17   when it was made (8 bytes, little-endian), the length of the name
 *             (1), the name, the password
 *
 * A server with accounts = "shared" appends all its own accounts, and accepts
 * those of other servers. Its own come first. If other servers have accounts
 * with the same name, the oldest counts, or of equally old ones that of the
 * smallest origin, so that all servers choose the same one.
 */
enum { UM_LOG_RAZOR_ACCOUNT = UMBEL_SYNC_LOG_FIRST + 1 };

typedef struct um_razor_shared um_razor_shared;

/* Creates an empty set; NULL without memory. */
um_razor_shared *um_razor_shared_create(void);
void um_razor_shared_free(um_razor_shared *s);

/* Finds an account in the logs; the password is valid until they change. */
bool um_razor_shared_find(um_razor_shared *s, const um_environment *env,
                          umbel_slice name, umbel_slice *password);
/* Returns the number of names in the logs of other servers. */
size_t um_razor_shared_count(um_razor_shared *s, const um_environment *env);

/* Appends an account of our own, which is safe when *ticket is committed. */
umbel_status um_razor_shared_append(const um_environment *env, umbel_slice name,
                                    umbel_slice password, uint64_t *ticket,
                                    umbel_error *err);
/*
 * Appends some of our own accounts that our log lacks: at a start, and after
 * our log was restarted. Fails if the log does not accept all of them; the next
 * call continues there.
 */
umbel_status um_razor_shared_publish(um_razor_shared *s,
                                     const um_environment *env,
                                     umbel_error *err);
/* Makes the next publish start again, because an entry could not be
 * appended. */
void um_razor_shared_again(um_razor_shared *s);

/* --- replies -------------------------------------------------------------- */

enum { UM_RAZOR_REPLY = 1024 };

/* Outcomes of requests; then ends of connections, from UM_RAZOR_ENDS on. */
typedef enum um_razor_outcome {
    UM_RAZOR_OK,
    UM_RAZOR_WANTS_MAIL,
    UM_RAZOR_NAME_TAKEN,
    UM_RAZOR_UNKNOWN_USER,
    UM_RAZOR_MALFORMED,
    UM_RAZOR_NOT_AUTHENTICATED,
    UM_RAZOR_WRONG_PASSWORD,
    UM_RAZOR_LOGIN_LIMIT,
    UM_RAZOR_CLOSED,
    UM_RAZOR_NO_ENGINE,
    UM_RAZOR_NO_SIGNATURE,
    UM_RAZOR_WRONG_SEED,
    UM_RAZOR_TOO_MANY,
    UM_RAZOR_RATE_LIMIT,
    UM_RAZOR_SIGNUP_LIMIT,
    UM_RAZOR_NO_ACTION,
    UM_RAZOR_NOT_STORED,
    UM_RAZOR_ACCOUNTS_FULL,
    UM_RAZOR_NEW_LIMIT,
    UM_RAZOR_SHARE_FULL,
    UM_RAZOR_LIST_FULL,
    UM_RAZOR_ENDS
} um_razor_outcome;

/* The answer to a query about a signature. */
typedef struct um_razor_answer {
    um_razor_outcome outcome;
    bool is_check;
    uint8_t confidence; /* of a check: from 0, not spam, to 100 */
} um_razor_answer;

/* Prints a line with its CR LF; returns the length. */
size_t um_razor_print(const um_razor_answer *a, char *out);

/* What clients cache about a server. */
typedef struct um_razor_state {
    const char *seed;
    uint64_t serial, confidence;
    const char *const *address; /* sent for discovery */
    size_t naddresses;
} um_razor_state;

size_t um_razor_print_greeting(const um_razor_state *s,
                               char out[UM_RAZOR_REPLY]);
size_t um_razor_print_state(const um_razor_state *s, char out[UM_RAZOR_REPLY]);
/* Prints the addresses for discovery; key is csl or nsl. Addresses that do not
 * fit are left out. */
size_t um_razor_print_addresses(const um_razor_state *s, const char *key,
                                char out[UM_RAZOR_REPLY]);

/* --- the running protocol ------------------------------------------------- */

/* Operations in metrics. */
typedef enum um_razor_op {
    UM_RAZOR_OP_CHECK,
    UM_RAZOR_OP_REPORT,
    UM_RAZOR_OP_REVOKE,
    UM_RAZOR_OP_REGISTER,
    UM_RAZOR_OP_LOGIN,
    UM_RAZOR_OP_STATE,
    UM_RAZOR_OP_OTHER,
    UM_RAZOR_OP_CONNECTION, /* that ended without a request */
    UM_RAZOR_OPS
} um_razor_op;

enum {
    UM_RAZOR_SIGNUP_SECONDS = 3600,
    /* Wrong passwords: ten a minute for an account from one network, sixty for
     * all accounts. A try takes that many seconds of the minute. */
    UM_RAZOR_LOGIN_SECONDS = 60,
    UM_RAZOR_ACCOUNT_TRY = 6,
    UM_RAZOR_NETWORK_TRY = 1,
    UM_RAZOR_MALFORMED_MAX = 32 /* requests in a row, then it is closed */
};

/* Returns true for the outcome of a request that no client sends. */
static inline bool um_razor_is_malformed(um_razor_outcome outcome)
{
    return outcome == UM_RAZOR_MALFORMED || outcome == UM_RAZOR_NO_ACTION;
}

/* A signature of the current request. */
typedef struct um_razor_item {
    um_razor_op op;
    um_razor_answer answer;
    bool counted; /* answered after the commit */
} um_razor_item;

/* The signatures of one request: key[i] and digest[i] belong to item[i]. */
typedef struct um_razor_job {
    size_t n;
    um_razor_item item[UM_RAZOR_BATCH];
    char text[UM_RAZOR_BATCH][UM_DIGEST_TEXT];
    umbel_slice key[UM_RAZOR_BATCH];
    umbel_digest digest[UM_RAZOR_BATCH];
    uint64_t ticket; /* to be committed before the reply; 0 if none */
} um_razor_job;

typedef struct um_razor_service um_razor_service;

/* A reply that waits for the store, in two versions: for success and for
 * failure. */
typedef struct um_razor_pending {
    struct um_razor_session *session; /* NULL if the client is gone */
    struct um_razor_pending *next;
    uint64_t ticket;
    uint8_t counted[UM_RAZOR_OPS]; /* operations that it answers, by kind */
    um_address client;
    size_t len, failed_len;
    char text[]; /* both replies */
} um_razor_pending;

typedef struct um_razor_session {
    um_razor_service *service;
    um_stream *stream;
    um_razor_pending *pending; /* nothing is read until it is sent */
    char user[UM_RAZOR_NAME + 1];
    char challenge[UM_RAZOR_CHALLENGE + 1]; /* "" if not set */
    bool authenticated;
    bool malformed;      /* the present request is */
    unsigned nmalformed; /* requests in a row */
    bool in_mail;
    unsigned matched; /* bytes of the end marker that were received */
    uint64_t mail_bytes;
    um_razor_job *asked; /* reports that count once their mail has arrived */
} um_razor_session;

struct um_razor_service {
    const um_environment *env;
    const um_protocol_section *section;
    um_service_stats *stats;
    uint64_t unit;               /* what a report of weight 1 adds to a count */
    const char *seed;            /* of engine 4; no reload changes it */
    uint64_t serial, confidence; /* of the state that clients cache */
    size_t accounts;             /* registered ones */
    um_razor_shared *shared;     /* of peers; NULL if it does not listen */
    uint64_t share_at;           /* next publish, in milliseconds */
    uint64_t share_wait;         /* grows while the log accepts no account */
    uint64_t share_tell_at;      /* when the next log line about it is due */
    um_limits *signup;           /* limit on registrations per network */
    um_limits *tries;            /* wrong passwords */
    um_duplicates *once; /* which account has reported which signature; NULL if
                            counts stop at 1 */
    um_razor_lookups lookups;
    uint64_t requests; /* checks so far, for sampling */
    um_protocol_stream streams;
    um_razor_pending *first, *last; /* waiting for the store, oldest first */
    um_razor_job job;               /* of the current request */
};

/* Returns the current settings; a reload changes live ones. */
static inline const um_razor_settings *
um_razor_settings_of(const um_razor_service *f)
{
    return um_config_get(f->env->config, f->section);
}

extern const um_verdict um_razor_verdicts[];
extern const um_stream_protocol um_razor_protocol;

/* --- reports.c -------------------------------------------------------- */

/* Adds a query to a job; um_razor_run looks up or counts its signature. */
void um_razor_add(const um_razor_session *s, const um_razor_query *q,
                  um_razor_job *job);
/* Looks up and counts the signatures of a job, and fills their answers. */
void um_razor_run(um_razor_session *s, um_razor_job *job);
/* Counts the reports of a job whose mail has arrived. */
void um_razor_count_reports(um_razor_session *s, um_razor_job *job);

/* --- login.c -------------------------------------------------------- */

void um_razor_register(um_razor_session *s, const um_razor_query *q);
void um_razor_challenge(um_razor_session *s, const um_razor_query *q);
void um_razor_authenticate(um_razor_session *s, const um_razor_query *q);

/* --- reply.c ------------------------------------------------------ */

/* Returns the name that the client gave, or "". */
static inline umbel_slice um_razor_user_of(const um_razor_session *s)
{
    return (umbel_slice){s->user, strlen(s->user)};
}

/* Sends a reply. */
void um_razor_send(um_razor_session *s, umbel_slice text);
/* Sends a verdict that is not about a signature, and counts it. */
void um_razor_refuse(um_razor_session *s, um_razor_op op,
                     um_razor_outcome outcome);
/* Counts an operation and its outcome, and logs refusals. */
void um_razor_note(um_razor_service *f, um_razor_op op,
                   um_razor_outcome outcome, const um_address *client,
                   umbel_slice user);
/*
 * Sends text once the store has committed a ticket, or failed if that fails;
 * until then the session does not read. Returns false without memory.
 */
bool um_razor_send_committed(um_razor_session *s, uint64_t ticket,
                             const uint8_t counted[UM_RAZOR_OPS],
                             umbel_slice text, umbel_slice failed);
/* Sends the replies that the store has committed, or cannot commit. */
void um_razor_answer_pending(um_razor_service *f);

#endif
