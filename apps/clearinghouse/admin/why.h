/*
 * why.h - why a mail is a hit, or is not: its signatures, their counts, the
 * rule that welcomes it, and the command that takes it back.
 */
#ifndef UM_CLEARINGHOUSE_WHY_H
#define UM_CLEARINGHOUSE_WHY_H

#include "clearinghouse/protocols/protocol.h"
#include "clearinghouse/runtime/digest_text.h"
#include "mail/mail.h"

#include <stdio.h>

enum { UM_WHY_SIGNATURES = 64 };

/* The counts of a signature in one list. */
typedef struct um_why_counts {
    uint64_t total; /* of all epochs and servers, as clients are told */
    bool forgotten;
    unsigned epochs; /* newest first */
    uint64_t count[UM_LIST_MAX_EPOCHS];
} um_why_counts;

typedef struct um_why_signature {
    const char *name; /* exact, pyzor, shingle, digest */
    char digest[UM_DIGEST_TEXT];
    umbel_digest hashed;
    um_why_counts list[UM_MAX_LISTS];
} um_why_signature;

typedef struct um_why {
    const um_environment *env;
    const um_mail_facts *facts; /* NULL: digests without a mail */
    um_why_signature *signature;
    size_t n;
    const char *sender, *client; /* of the mail; NULL: not known */
    bool welcome;
    um_welcome_rule rule; /* that welcomes it */
    /* Pyzor and Razor clients send nothing but digests. */
    bool pyzor_welcome;
    /* The list that makes it a hit, how often it counts, and what it takes. */
    bool hit, revoked; /* revoked: by the second list of the front */
    unsigned list;
    uint64_t count, threshold;
    const char *config; /* of the commands that are printed; NULL: none */
} um_why;

/* What is asked: a mail, or n digests that people typed. */
typedef struct um_why_question {
    const um_mail_facts *facts;
    const umbel_slice *digest;
    size_t n;
    const char *sender,
        *client; /* of the mail; NULL: not known, or as it says */
    const char *config;
} um_why_question;

/* Looks everything up. Release with um_why_fini. E_RANGE: a text that is not a
 * digest. */
umbel_status um_why_init(um_why *w, const um_environment *env,
                         const um_why_question *q, umbel_error *err);
void um_why_fini(um_why *w);

/* Returns true if it is a hit for clients that send nothing but digests. */
bool um_why_hits_digest(const um_why *w);
/* How often clients whitelisted or revoked it, and the list that says so; 0:
 * they did not. */
uint64_t um_why_revocations(const um_why *w, unsigned *list);

void um_why_print_text(FILE *out, const um_why *w);
/* An object: signatures{name, digest, counts}, welcome, text, ... */
void um_why_print_json(FILE *out, const um_why *w);

#endif
