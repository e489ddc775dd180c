/*
 * internal.h - the Razor2 protocol, for its own files.
 *
 *     protocol.c   the row: settings, opening, reload, the probe of doctor
 *     session.c    a connection: greeting, requests, mails
 *     reports.c    checks, reports and revocations of a request
 *     login.c      registration, challenge and answer
 *     reply.c      what clients are sent, now or once the store has committed
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
 * Lines end with CR LF; LF is taken as well, except at the end of a mail, whose
 * own lines may have it. Values are URI-escaped.
 *
 * Parsers hold no socket and allocate nothing. Slices point into the bytes that
 * they were given.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_INTERNAL_H
#define UM_CLEARINGHOUSE_RAZOR_INTERNAL_H

#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/duplicates.h"
#include "clearinghouse/protocols/razor/razor.h"
#include "clearinghouse/protocols/stream_service.h"
#include "clearinghouse/runtime/digest_text.h"

#include <string.h>

/* --- settings ---------------------------------------------------------------
 */

typedef struct um_razor_settings {
    um_texts listen, announce;
    char *seed;
    unsigned order;        /* um_razor_order */
    unsigned registration; /* 0: open */
    unsigned accounts;     /* 0: own, 1: shared with peers */
    uint64_t weight;       /* of accounts without a section, in hundredths */
    uint64_t registrations, connections, confidence;
    bool mails;
} um_razor_settings;

/* --- requests ---------------------------------------------------------------
 */

enum {
    UM_RAZOR_REQUEST = 8192, /* bytes of a line or a batch */
    UM_RAZOR_BATCH = 50      /* queries of a batch: their answers fit a reply */
};

/* Keys that mean something. */
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

/* A query: its values, still escaped. data NULL: the key is absent. */
typedef struct um_razor_query {
    umbel_slice value[UM_RAZOR_KEYS];
    bool malformed; /* a key without "=", a broken escape, no key at all */
} um_razor_query;

typedef enum um_razor_form {
    UM_RAZOR_MORE, /* it is not whole */
    UM_RAZOR_LINE,
    UM_RAZOR_BATCHED,
    UM_RAZOR_MAIL /* the first line; the mail follows */
} um_razor_form;

typedef struct um_razor_request {
    um_razor_form form;
    size_t len;       /* bytes that belong to it */
    umbel_slice text; /* without "-", the end of the line and the last "." */
} um_razor_request;

/* Finds the request at the begin of a stream. */
um_razor_request um_razor_find(const uint8_t *bytes, size_t len);

/* Walks the queries of a line or batch. */
typedef struct um_razor_walk {
    umbel_slice left;
    um_razor_query first;
    um_razor_key open[UM_RAZOR_KEYS]; /* that a template leaves to its lines */
    size_t nopen;
    bool begun;
} um_razor_walk;

um_razor_walk um_razor_begin(const um_razor_request *r);
/* Returns false past the end. */
bool um_razor_next(um_razor_walk *w, um_razor_query *out);

/* Returns true if a value is that text. */
bool um_razor_is(umbel_slice value, const char *text);
/* Unescapes a value; false: it has more than cap bytes. Malformed escapes do
 * not occur in a query that is not malformed. */
bool um_razor_unescape(umbel_slice value, char *out, size_t cap, size_t *len);
/* Escapes a text; out has room for 3 * len + 1. Returns the length. */
size_t um_razor_escape(umbel_slice text, char *out);

/*
 * Looks for the end of a mail, the line "." after CR LF. *matched is how much
 * of that the bytes before these ended with, UM_RAZOR_MAIL_BEGIN at first.
 * Returns the bytes that belong to the mail; *over: they end it.
 */
enum { UM_RAZOR_MAIL_BEGIN = 2 };
size_t um_razor_skip_mail(const uint8_t *bytes, size_t len, unsigned *matched,
                          bool *over);

/* --- challenges -------------------------------------------------------------
 */

enum { UM_RAZOR_PASSWORD = 64 }; /* bytes, at most: a block of the MAC */

/*
 * Writes what a client with that password answers to a challenge: an HMAC of
 * SHA-1 whose pads are exchanged, and whose inner hash is hexadecimal text.
 */
void um_razor_mac(umbel_slice password, umbel_slice challenge,
                  char out[UM_RAZOR_TEXT + 1]);

/* --- accounts ---------------------------------------------------------------
 */

/*
 * Names and passwords that Razor2 clients registered.
 *
 * They are notes of the store, so they survive whatever reports survive, and
 * lie in files that only the server's user can read. The protocol needs the
 * password in clear: the server computes the same MAC as the client.
 */
enum {
    UM_RAZOR_NAME = 64, /* bytes of a name, at most */
    UM_RAZOR_ACCOUNTS = 20000,
    UM_RAZOR_CHALLENGE = 16, /* hexadecimal digits */
    UM_RAZOR_INVENTED = 16   /* characters of an invented name or password */
};

/* Returns true if a name, or a password, is one: 1 to 64 printable characters,
 * without blanks. */
bool um_razor_is_name(umbel_slice text);

/* Finds the password of an account; it is valid until the store changes. */
bool um_razor_account_find(const um_store *s, umbel_slice name,
                           umbel_slice *password);
umbel_status um_razor_account_append(um_store *s, umbel_slice name,
                                     umbel_slice password, uint64_t now,
                                     uint64_t *ticket, umbel_error *err);
size_t um_razor_account_count(const um_store *s);
/* Walks them; *at is 0 at first. */
bool um_razor_account_next(const um_store *s, size_t *at, umbel_slice *name,
                           umbel_slice *password);

/* Writes random characters that nobody guesses. */
void um_razor_invent(char out[UM_RAZOR_INVENTED + 1]);
void um_razor_invent_challenge(char out[UM_RAZOR_CHALLENGE + 1]);

/*
 * Clients ask for the state of a server when its serial has grown. Returns the
 * serial of a state: the one it has in the store, or the present time, which is
 * larger, if the state is another than the last.
 */
umbel_status um_razor_serial(um_store *s, umbel_slice state, uint64_t now,
                             uint64_t *serial, umbel_error *err);

/* --- accounts of peers ------------------------------------------------------
 */

/*
 * Accounts that servers share, as entries of their signed
 * logs.
 *
 *   type 17   when it was made (8 bytes, little-endian), the length of the name
 *             (1), the name, the password
 *
 * A server with accounts = "shared" appends its own accounts, those that it had
 * before too, and knows those of the others. Its own come first; of others with
 * the same name the oldest counts, of these the one of the smallest origin, so
 * that all servers take the same.
 */
enum { UM_LOG_RAZOR_ACCOUNT = UMBEL_SYNC_LOG_FIRST + 1 };

typedef struct um_razor_shared um_razor_shared;

/* NULL: no memory. */
um_razor_shared *um_razor_shared_create(void);
void um_razor_shared_free(um_razor_shared *s);

/* Finds an account in the logs; the password is valid until they change. */
bool um_razor_shared_find(um_razor_shared *s, const um_environment *env,
                          umbel_slice name, umbel_slice *password);
/* Returns the number of names in the logs of other servers. */
size_t um_razor_shared_count(um_razor_shared *s, const um_environment *env);

/* Appends an account of our own; *ticket is what the store has to commit. */
umbel_status um_razor_shared_append(const um_environment *env, umbel_slice name,
                                    umbel_slice password, uint64_t *ticket,
                                    umbel_error *err);
/*
 * Appends some of our own accounts that our log lacks: at a start, and after
 * our log has begun anew. Fails if the log takes none, or not all of these; the
 * next call goes on there.
 */
umbel_status um_razor_shared_publish(um_razor_shared *s,
                                     const um_environment *env,
                                     umbel_error *err);
/* Makes the next publish look again: an entry could not be appended. */
void um_razor_shared_again(um_razor_shared *s);

/* --- replies ----------------------------------------------------------------
 */

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
    UM_RAZOR_LIST_FULL,
    UM_RAZOR_ENDS
} um_razor_outcome;

/* What a query about a signature is answered. */
typedef struct um_razor_answer {
    um_razor_outcome outcome;
    bool is_check;
    uint8_t confidence; /* of a check: 0 is not spam, 100 the most */
} um_razor_answer;

/* Prints a line, with its end; returns the length. */
size_t um_razor_print(const um_razor_answer *a, char *out);

/* What clients cache of a server. */
typedef struct um_razor_state {
    const char *seed;
    uint64_t serial, confidence;
    const char *const *address; /* that discovery names */
    size_t naddresses;
} um_razor_state;

size_t um_razor_print_greeting(const um_razor_state *s,
                               char out[UM_RAZOR_REPLY]);
size_t um_razor_print_state(const um_razor_state *s, char out[UM_RAZOR_REPLY]);
/* key is csl or nsl; places that do not fit are left out. */
size_t um_razor_print_addresses(const um_razor_state *s, const char *key,
                                char out[UM_RAZOR_REPLY]);

/* --- the running protocol ---------------------------------------------------
 */

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
    um_razor_service *service;
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
    const um_environment *env;
    const um_protocol_section *section;
    um_service_stats *stats;
    uint64_t unit;               /* what a report of weight 1 adds to a count */
    const char *seed;            /* of engine 4, which no reload changes */
    uint64_t serial, confidence; /* of what clients cache */
    size_t accounts;             /* registered ones */
    um_razor_shared *shared;     /* of peers; NULL: it does not listen */
    uint64_t share_at;           /* milliseconds */
    uint64_t share_wait;         /* grows while the log takes no account */
    uint64_t share_tell_at;      /* the log line about it comes then */
    um_limits *signup;           /* registrations of a network */
    um_duplicates
        *once; /* which account has reported what; NULL: counts stop at 1 */
    um_razor_lookups lookups;
    uint64_t requests; /* that checked, for the sample */
    um_protocol_stream streams;
    um_razor_pending *first, *last; /* that wait for the store, oldest first */
    um_razor_job job;               /* of the request that is being answered */
};

/* Returns the settings, those that are live as a reload left them. */
static inline const um_razor_settings *
um_razor_settings_of(const um_razor_service *f)
{
    return um_config_get(f->env->config, f->section);
}

extern const um_verdict um_razor_verdicts[];
extern const um_stream_protocol um_razor_protocol;

/* --- reports.c -------------------------------------------------------- */

/* Adds a query to a job; its signature is looked up or counted later. */
void um_razor_add(const um_razor_session *s, const um_razor_query *q,
                  um_razor_job *job);
/* Looks up and counts the signatures of a job, and fills their answers. */
void um_razor_run(um_razor_session *s, um_razor_job *job);
/* Counts the reports of a job whose mail has come. */
void um_razor_count_reports(um_razor_session *s, um_razor_job *job);

/* --- login.c -------------------------------------------------------- */

void um_razor_register(um_razor_session *s, const um_razor_query *q);
void um_razor_challenge(um_razor_session *s, const um_razor_query *q);
void um_razor_authenticate(um_razor_session *s, const um_razor_query *q);

/* --- reply.c ------------------------------------------------------ */

/* Returns the name that the client gave; "": none yet. */
static inline umbel_slice um_razor_user_of(const um_razor_session *s)
{
    return (umbel_slice){s->user, strlen(s->user)};
}

/* Sends a reply. */
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
