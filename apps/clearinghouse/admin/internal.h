/*
 * internal.h - what the modules of admin share.
 *
 *     commands.c        the operator's commands; import_command.c,
 *                       backup_command.c and shape.c have one each
 *     pyzord_dump.c, rspamd_db.c
 *                       files that the import command reads (import_files.h)
 *     doctor.c          tries the addresses of a configuration
 *     client.c          sends requests of the commands to the running server
 *     control.c         the server's side: answers them
 *     why.c, import_pieces.c
 *                       what control.c does for `why` and `import`
 */
#ifndef UM_CLEARINGHOUSE_ADMIN_INTERNAL_H
#define UM_CLEARINGHOUSE_ADMIN_INTERNAL_H

#include "clearinghouse/admin/control.h"
#include "clearinghouse/runtime/digest_text.h"
#include "mail/mail.h"
#include "net/server/control_socket.h"

/* --- requests ------------------------------------------------------------- */

enum {
    UM_REQUEST_MAIL = 8 << 20,    /* bytes of a mail: more than workers read */
    UM_REQUEST_DIGESTS = 1 << 16, /* bytes of digests, separated by blanks */
    UM_REQUEST_ORIGIN = 128       /* bytes of a name, or of a key's digits */
};

/* Begins a reply that is an error; the rest of it goes to standard error. */
#define UM_REPLY_ERROR "error: "

/* --- import_pieces.c ------------------------------------------------------ */

enum {
    UM_IMPORT_LINES = 100, /* in a piece: both counts of each fit one append */
    UM_IMPORT_MAILS = 50   /* in a piece: they fit one block */
};

typedef struct um_import_result {
    bool again;       /* the piece was counted before */
    size_t counted;   /* digests */
    size_t left_out;  /* welcome, forgotten, empty text, or the list is full */
    size_t saturated; /* counts above the limit of a list */
    uint64_t ticket;
} um_import_result;

/* Imports a piece: counts of pyzord, or mails of rspamd. Returns E_FORMAT for
 * malformed lines, E_IO if the store has failed. */
umbel_status um_import_pyzor(const um_environment *env, const char *name,
                             umbel_slice lines, um_import_result *out,
                             umbel_error *err);
umbel_status um_import_fuzzy(const um_environment *env, const char *name,
                             umbel_slice lines, um_import_result *out,
                             umbel_error *err);

/* --- why.c: why a mail is a hit ------------------------------------------- */

enum { UM_WHY_SIGNATURES = 64 };

/* The counts of a signature in one list. */
typedef struct um_why_counts {
    uint64_t total; /* over all epochs and servers, as sent to clients */
    bool forgotten;
    unsigned epochs; /* newest first */
    uint64_t count[UM_LIST_MAX_FILTERS];
} um_why_counts;

typedef struct um_why_signature {
    const char *name; /* exact, pyzor, shingle, digest */
    char digest[UM_DIGEST_TEXT];
    umbel_digest hashed;
    um_why_counts list[UM_LISTS];
} um_why_signature;

typedef struct um_why {
    const um_environment *env;
    const um_mail_facts *facts; /* NULL for digests without a mail */
    um_why_signature *signature;
    size_t n;
    const char *sender, *client; /* of the mail; NULL if unknown */
    bool welcome;
    um_welcome_rule rule; /* the rule that matched */
    /* Pyzor and Razor clients send only digests, so other rules do not
     * apply. */
    bool pyzor_welcome;
    /* The list that makes the mail a hit, its count there, and the
     * threshold. */
    bool hit, revoked; /* revoked: by the second list of the protocol */
    unsigned list;
    uint64_t count, threshold;
    const char *config; /* file name for printed commands, or NULL */
} um_why;

/* The question: a mail, or n digests that the operator typed. */
typedef struct um_why_question {
    const um_mail_facts *facts;
    const umbel_slice *digest;
    size_t n;
    const char *sender,
        *client; /* of the mail; NULL if unknown, or as in its header */
    const char *config;
} um_why_question;

/* Looks up all signatures in all lists. Release with um_why_fini. Returns
 * E_RANGE if a text is not a digest. */
umbel_status um_why_init(um_why *w, const um_environment *env,
                         const um_why_question *q, umbel_error *err);
void um_why_fini(um_why *w);

void um_why_print_text(FILE *out, const um_why *w);
/* Prints an object: signatures{name, digest, counts}, welcome, text, ... */
void um_why_print_json(FILE *out, const um_why *w);

#endif
