/*
 * welcome.h - mail that is welcome: neither counted nor a hit.
 *
 * The welcome file has one rule a line, a word and a value; # begins a comment.
 *
 *     sender  news@example.org     this envelope sender
 *     sender  @example.org         any sender of the domain
 *     sender  @.example.org        and of the domains below it
 *     from    example.org          the domain in From:
 *     from    .example.org         and the domains below it
 *     list-id news.example.org     the List-Id; with "." as above
 *     client  192.0.2.0/24         the mail's client: a network or an address
 *     digest  39ea73d8...          a signature, as `why` prints it
 *
 * Rules are asked before a mail is counted and before the verdict. Case does
 * not matter. There are no patterns: a star is refused, with what to write
 * instead.
 */
#ifndef UM_CLEARINGHOUSE_WELCOME_H
#define UM_CLEARINGHOUSE_WELCOME_H

#include "clearinghouse/runtime/file_text.h"
#include "net/server/address.h"

typedef enum um_welcome_type {
    UM_WELCOME_SENDER,
    UM_WELCOME_FROM,
    UM_WELCOME_LIST_ID,
    UM_WELCOME_CLIENT,
    UM_WELCOME_DIGEST,
    UM_WELCOME_TYPES
} um_welcome_type;

enum {
    UM_WELCOME_VALUE = 328,   /* bytes of a value, with its NUL */
    UM_WELCOME_LINE = 1024,   /* bytes of a line */
    UM_WELCOME_MAX = 1 << 20, /* rules */
    UM_WELCOME_WARNINGS = 20  /* that are reported one by one */
};

typedef struct um_welcome_rule {
    um_welcome_type type;
    char value[UM_WELCOME_VALUE]; /* in lower case; of a client the network */
    um_network network;           /* of a client */
    unsigned bits;                /* of network, IPv4 mapped */
    size_t line;                  /* 0: it comes from no file */
} um_welcome_rule;

/* "sender", "from", ...; NULL past the end. */
const char *um_welcome_type_name(size_t type);

/*
 * Reads a rule; *given is false for an empty line or a comment. A refusal names
 * what is wrong and what is allowed, but no file.
 */
umbel_status um_welcome_rule_read(umbel_slice line, um_welcome_rule *out,
                                  bool *given, umbel_error *err);
/* Returns why a rule welcomes more than anybody means; NULL: it does not. */
const char *um_welcome_too_wide(const um_welcome_rule *r);
/* Returns true if both say the same. */
bool um_welcome_rule_equal(const um_welcome_rule *a, const um_welcome_rule *b);

typedef struct um_welcome um_welcome;

/*
 * Makes rules of a text; path is for messages. A refusal has file and line.
 * warn (or NULL) is called for rules that are too wide or occur twice.
 */
umbel_status um_welcome_parse(umbel_slice text, const char *path,
                              um_warn_line *warn, void *ctx, um_welcome **out,
                              umbel_error *err);
/* The same from a file; one that does not exist has no rules, with a warning.
 * path NULL: no rules. */
umbel_status um_welcome_read(const char *path, um_warn_line *warn, void *ctx,
                             um_welcome **out, umbel_error *err);
/* NULL is fine. */
void um_welcome_close(um_welcome *w);

size_t um_welcome_rules(const um_welcome *w);
/* Returns true if there are rules of a type. */
bool um_welcome_has(const um_welcome *w, um_welcome_type type);
uint64_t um_welcome_bytes(const um_welcome *w);

/* What is known about a mail, in any case; empty: nothing. */
typedef struct um_welcome_mail {
    umbel_slice sender; /* of the envelope, with or without <> */
    umbel_slice from_domain, list_id;
    umbel_slice client;        /* its address, as text */
    const umbel_slice *digest; /* as runtime/digest_text.h prints them */
    size_t ndigests;
} um_welcome_mail;

/* Returns true if a rule matches, and which in *which (may be NULL). w NULL:
 * there are no rules. */
bool um_welcome_match(const um_welcome *w, const um_welcome_mail *m,
                      um_welcome_rule *which);

/* --- changes of the file ----------------------------------------------------
 */

/* A change is whole or not made at all, and comments stay. */
typedef umbel_status um_welcome_edit(const char *path, const um_welcome_rule *r,
                                     umbel_error *err);

/* Appends a rule; makes the file if it does not exist. E_REFUSED: it is there
 * already. A file with a mistake is not changed. */
um_welcome_edit um_welcome_add;
/* Removes a rule, with the comment on its line. E_UNKNOWN: it is not there. */
um_welcome_edit um_welcome_remove;

/* Calls each for every rule, in the order of the file. */
umbel_status um_welcome_each(const char *path,
                             void (*each)(void *ctx, const um_welcome_rule *r),
                             void *ctx, umbel_error *err);

#endif
