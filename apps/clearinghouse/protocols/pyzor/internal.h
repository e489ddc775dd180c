/*
 * internal.h - the Pyzor protocol, for its own files.
 *
 *     protocol.c   the row: settings, opening, reload, the probe of doctor
 *     request.c    requests and replies: one datagram of "Name: value" lines
 *     accounts.c   who may do what, and how a request is answered
 *     reports.c    a batch of requests: reports and look-ups
 *
 * A parsed request points into the bytes that were received. Parsing allocates
 * nothing and never fails: a request without fields gets its verdict like any
 * other.
 *
 * Signatures of requests by accounts:
 *
 *   K    the account's key, hashed: hex SHA-1 of "user:" and the key in lower
 *        case
 *   M    the request without Sig, outer white space trimmed
 *   Sig  hex SHA-1 of SHA-1(M) (20 bytes) and ":TIME:K"
 *
 * The files of pyzord:
 *
 *   passwd   user : key
 *   access   operations : users : allow|deny
 *
 * In the access file the last matching line wins; operations that no line
 * allows are denied. "all" operations are the six of the protocol; "all" users
 * are those of the passwd file, so not anonymous. Lines of the access file are
 * converted to lower case, user names in requests are not.
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_INTERNAL_H
#define UM_CLEARINGHOUSE_PYZOR_INTERNAL_H

#include "clearinghouse/protocols/datagram_service.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/duplicates.h"
#include "clearinghouse/runtime/file_text.h"
#include "net/server/datagram.h"

/* --- settings ------------------------------------------------------------- */

typedef struct um_pyzor_settings {
    um_texts listen;
    char *passwd, *access;
    bool once_per_reporter;
    uint64_t once_capacity;
} um_pyzor_settings;

/* --- requests ------------------------------------------------------------- */

enum { UM_PYZOR_MAX = 8192 }; /* bytes of a request, as in pyzord */

/* Absent fields have data NULL. If a field occurs twice, the first one
 * counts. */
typedef struct um_pyzor_request {
    umbel_slice text; /* as received */
    umbel_slice op, thread, pv, user, time, sig;
    umbel_slice digest; /* the first Op-Digest */
    umbel_slice code;   /* only answers have it */
    size_t ndigests;
} um_pyzor_request;

void um_pyzor_parse(const void *bytes, size_t len, um_pyzor_request *out);

/* Position of an iteration over the fields of a request, in order. */
typedef struct um_pyzor_walk {
    const char *at, *end;
} um_pyzor_walk;

typedef struct um_pyzor_field {
    umbel_slice name, value;
} um_pyzor_field;

um_pyzor_walk um_pyzor_begin(umbel_slice text);
bool um_pyzor_next(um_pyzor_walk *w, um_pyzor_field *out);
/* Finds the next field Op-Digest. */
bool um_pyzor_next_digest(um_pyzor_walk *w, umbel_slice *out);

/* Compares the name of a field, ignoring case. */
bool um_pyzor_is_named(const um_pyzor_field *f, const char *name);
bool um_pyzor_is(umbel_slice s, const char *text);

/* --- replies -------------------------------------------------------------- */

enum {
    UM_PYZOR_THREAD_MAX = 32, /* bytes of Thread that are sent back */
    UM_PYZOR_REPLY_MAX = 512
};

/* The fields after those that every reply has. */
typedef enum um_pyzor_body {
    UM_PYZOR_NOTHING,
    UM_PYZOR_COUNTS,
    UM_PYZOR_TIMES_AND_COUNTS
} um_pyzor_body;

/* Times in seconds since 1970; 0 if never. */
typedef struct um_pyzor_times {
    uint64_t entered, updated, wl_entered, wl_updated;
} um_pyzor_times;

typedef struct um_pyzor_reply {
    unsigned code;
    const char *diag;
    umbel_slice thread; /* of the request */
    um_pyzor_body body;
    uint64_t count, wl_count;
    um_pyzor_times times;
} um_pyzor_reply;

/* Writes the datagram; returns its length. A Thread that is not short and
 * printable is left empty, so that strangers do not choose what we send. */
size_t um_pyzor_print(const um_pyzor_reply *r, char out[UM_PYZOR_REPLY_MAX]);

/* --- signatures ----------------------------------------------------------- */

enum { UM_SHA1_HEX = 40 };

/* Writes K as NUL-terminated hexadecimal text. */
void um_pyzor_hash_key(umbel_slice user, umbel_slice key,
                       char out[UM_SHA1_HEX + 1]);

/* Writes the signature that the request should have. The text must not be
 * longer than UM_PYZOR_MAX. */
void um_pyzor_sign(umbel_slice text, uint64_t time,
                   const char hashed_key[UM_SHA1_HEX + 1],
                   char out[UM_SHA1_HEX + 1]);

/* Parses the value of Time: digits only. */
bool um_pyzor_time(umbel_slice value, uint64_t *out);

/* --- accounts ------------------------------------------------------------- */

/* The operations of the protocol. */
typedef enum um_pyzor_op {
    UM_PYZOR_PING,
    UM_PYZOR_PONG,
    UM_PYZOR_CHECK,
    UM_PYZOR_INFO,
    UM_PYZOR_REPORT,
    UM_PYZOR_WHITELIST,
    UM_PYZOR_OPS, /* and above: other names in an access file */
    UM_PYZOR_MAX_OPS = 64
} um_pyzor_op;

extern const char *const um_pyzor_op_names[UM_PYZOR_OPS];

#define UM_PYZOR_ANONYMOUS "anonymous"

typedef struct um_pyzor_account {
    char *name;
    char hashed_key[UM_SHA1_HEX + 1];
    uint64_t granted; /* bit i: operation i */
    uint32_t weight;  /* of each of its reports */
    bool listed;      /* in the passwd file */
} um_pyzor_account;

typedef struct um_pyzor_accounts {
    um_pyzor_account *account; /* sorted by name; anonymous is one of them */
    size_t n;
    char *op[UM_PYZOR_MAX_OPS]; /* names; NULL after the last */
} um_pyzor_accounts;

/* Called for each line that is ignored because it is not a rule, for each
 * unknown operation or user in a rule, and for a missing file. */
typedef struct um_line_warning {
    um_warn_line *warn;
    void *ctx;
    const char *passwd, *access; /* names of the files */
} um_line_warning;

/*
 * Reads both files. If a path is NULL or a file does not exist, there are no
 * accounts, and anonymous may check, report, ping, pong and info.
 */
umbel_status um_pyzor_accounts_init(um_pyzor_accounts *a, const char *passwd,
                                    const char *access, um_warn_line *warn,
                                    void *ctx, umbel_error *err);
/* Parses the texts of both files; data is NULL for a missing file. */
umbel_status um_pyzor_accounts_read(um_pyzor_accounts *a, umbel_slice passwd,
                                    umbel_slice access,
                                    const um_line_warning *w, umbel_error *err);
/* Frees the accounts; accepts half-built and zeroed ones. */
void um_pyzor_accounts_fini(um_pyzor_accounts *a);

/* Returns the account of that name, or NULL. */
um_pyzor_account *um_pyzor_account_find(const um_pyzor_accounts *a,
                                        umbel_slice name);
/* Returns the number of an operation, or UM_PYZOR_MAX_OPS. */
unsigned um_pyzor_op_find(const um_pyzor_accounts *a, umbel_slice name);

/* --- verdicts ------------------------------------------------------------- */

/* Seconds by which the time of a signed request may differ from ours. */
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
    UM_PYZOR_SHARE_FULL, /* the same, for a client without an account */
    UM_PYZOR_NEW_LIMIT,  /* the same: limits.new_digests */
    UM_PYZOR_ANSWER,     /* sent by another server; not answered */
    UM_PYZOR_RATE_LIMIT, /* not answered */
    UM_PYZOR_OUTCOMES
} um_pyzor_outcome;

extern const um_verdict um_pyzor_verdicts[UM_PYZOR_OUTCOMES + 1];

/* The account and the operation of a request, as far as it was
 * authenticated. */
typedef struct um_pyzor_decision {
    const um_pyzor_account *account; /* NULL if not authenticated */
    unsigned op;                     /* UM_PYZOR_OPS if unknown */
    bool is_signed;
} um_pyzor_decision;

um_pyzor_outcome um_pyzor_decide(const um_pyzor_request *r,
                                 const um_pyzor_accounts *accounts,
                                 uint64_t now, um_pyzor_decision *out);

/* --- the running protocol ------------------------------------------------- */

/* A request of a batch. */
typedef struct um_pyzor_job {
    const um_datagram *datagram;
    um_pyzor_request request;
    um_pyzor_decision decision;
    um_pyzor_outcome outcome;
} um_pyzor_job;

typedef struct um_pyzor_service {
    um_protocol_datagram net; /* must be first */
    const um_environment *env;
    um_service_stats *stats;
    um_pyzor_accounts accounts;
    um_duplicates *once; /* NULL if every report counts */
    uint64_t last_ticket;
    um_pyzor_job job[UM_DATAGRAM_BATCH];
} um_pyzor_service;

/* Handles a batch: um_datagrams_config.take, with a um_protocol_socket as
 * context. */
void um_pyzor_handle_batch(void *ctx, const um_datagram *d, size_t n);

/* Answers reports that the store has committed, or cannot commit. */
void um_pyzor_answer_pending(void *state);

#endif
