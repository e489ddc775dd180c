/*
 * welcome.h - rules for welcome mail, which is neither counted nor a hit.
 *
 * The welcome file has one rule per line, a type and a value; # begins a
 * comment.
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
 * Rules are checked before a mail is counted and before the verdict. Case does
 * not matter. There are no patterns: the error for a star suggests what to
 * write instead.
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
    UM_WELCOME_WARNINGS = 20  /* that are printed; more are only counted */
};

typedef struct um_welcome_rule {
    um_welcome_type type;
    char value[UM_WELCOME_VALUE]; /* in lower case; a client's network */
    um_network network;           /* of a client rule */
    unsigned bits;                /* prefix length of network, as IPv6 */
    size_t line;                  /* 0 if it is not from a file */
} um_welcome_rule;

/* Returns "sender", "from", ...; NULL past the end. */
const char *um_welcome_type_name(size_t type);

/*
 * Parses a rule; *given is false for an empty line or a comment. An error says
 * what is wrong and what is allowed, but names no file.
 */
umbel_status um_welcome_rule_read(umbel_slice line, um_welcome_rule *out,
                                  bool *given, umbel_error *err);
/* Returns why a rule matches more than anybody can intend, or NULL. */
const char *um_welcome_too_wide(const um_welcome_rule *r);
/* Returns true if both have the same type and value. */
bool um_welcome_rule_equal(const um_welcome_rule *a, const um_welcome_rule *b);

typedef struct um_welcome um_welcome;

/*
 * Parses the rules of a text; path is for messages. An error names file and
 * line. warn, which may be NULL, is called for rules that are too wide or occur
 * twice.
 */
umbel_status um_welcome_parse(umbel_slice text, const char *path,
                              um_warn_line *warn, void *ctx, um_welcome **out,
                              umbel_error *err);
/* Does the same for a file. If it does not exist, there are no rules, and a
 * warning. If path is NULL, there are no rules. */
umbel_status um_welcome_read(const char *path, um_warn_line *warn, void *ctx,
                             um_welcome **out, umbel_error *err);
/* Accepts NULL. */
void um_welcome_close(um_welcome *w);

size_t um_welcome_rules(const um_welcome *w);
/* Returns true if there are rules of a type. */
bool um_welcome_has(const um_welcome *w, um_welcome_type type);
uint64_t um_welcome_bytes(const um_welcome *w);

/* What is known about a mail, in upper or lower case; unknown values are
 * empty. */
typedef struct um_welcome_mail {
    umbel_slice sender; /* of the envelope, with or without <> */
    umbel_slice from_domain, list_id;
    umbel_slice client;        /* its address, as text */
    const umbel_slice *digest; /* as printed by runtime/digest_text.h */
    size_t ndigests;
} um_welcome_mail;

/* Returns true if a rule matches, and copies it to *which, which may be NULL.
 * Without rules w is NULL. */
bool um_welcome_match(const um_welcome *w, const um_welcome_mail *m,
                      um_welcome_rule *which);

/* --- changes to the file -------------------------------------------------- */

/* Changes the file, completely or not at all; comments stay. */
typedef umbel_status um_welcome_edit(const char *path, const um_welcome_rule *r,
                                     umbel_error *err);

/* Appends a rule; creates the file if it does not exist. Returns E_REFUSED if
 * the rule is there already. A file with an error is not changed. */
um_welcome_edit um_welcome_add;
/* Removes a rule, with the comment on its line. Returns E_UNKNOWN if it is not
 * there. */
um_welcome_edit um_welcome_remove;

/* Calls each for every rule, in the order of the file. */
umbel_status um_welcome_each(const char *path,
                             void (*each)(void *ctx, const um_welcome_rule *r),
                             void *ctx, umbel_error *err);

#endif
