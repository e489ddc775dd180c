/*
 * mails.h - the signatures of a mail: the texts that lists count, what the
 * lists of dccifd say about them, and mails that the operator reports or takes
 * back.
 */
#ifndef UM_CLEARINGHOUSE_MAILS_H
#define UM_CLEARINGHOUSE_MAILS_H

#include "clearinghouse/lists/lists.h"
#include "clearinghouse/runtime/digest_text.h"
#include "mail/mail.h"

#include <stdio.h>

/* --- keys -------------------------------------------------------------------
 */

/* What a key was made from; dccifd's lists have the same order. */
typedef enum um_mail_key {
    UM_KEY_EXACT,
    UM_KEY_PYZOR,
    UM_KEY_SHINGLE,
    UM_MAIL_KEY_KINDS
} um_mail_key;

enum { UM_MAIL_KEYS = UM_KEY_SHINGLE + UM_SHINGLES }; /* the most of a mail */

typedef struct um_mail_keys {
    size_t n;
    um_mail_key kind[UM_MAIL_KEYS]; /* those of a kind follow each other */
    umbel_slice key[UM_MAIL_KEYS];
    char text[UM_MAIL_KEYS][UM_DIGEST_TEXT];
} um_mail_keys;

/* key points into *out, which is not to be moved. */
void um_mail_keys_read(um_mail_keys *out, const um_mail_facts *facts);

/* "exact", "pyzor", "shingle" */
const char *um_mail_key_name(um_mail_key kind);

/* --- counts -----------------------------------------------------------------
 */

/* What the lists of dccifd say about a mail: each of its keys has a list by its
 * kind, UM_LIST_BODY + kind. */
typedef struct um_mail_counts {
    um_mail_keys keys;
    umbel_digest digest[UM_MAIL_KEYS];
    uint64_t count[UM_MAIL_KEYS];
} um_mail_counts;

/* Fills in keys and digests. */
void um_mail_counts_init(um_mail_counts *c, const um_lists *l,
                         const um_mail_facts *facts);
/* Looks the keys up. */
void um_mail_counts_ask(um_mail_counts *c, const um_lists *l);
/* Looks the keys up for a verdict: a count is `many` if it is at least that, or
 * 0. */
void um_mail_counts_ask_many(um_mail_counts *c, const um_lists *l,
                             uint64_t many);

/*
 * The count of the mail in the list of that kind. A near copy shares some of
 * the eight super-shingles, and one of them may be common by chance, so the
 * second largest count is that of the mail.
 */
uint64_t um_mail_counts_of(const um_mail_counts *c, um_mail_key kind);

/* Returns true if a rule welcomes the mail. sender and client of the envelope
 * may be empty: then the client is the one in Received:. */
bool um_mail_is_welcome(const um_lists *l, const um_mail_facts *facts,
                        const um_mail_keys *keys, const char *sender,
                        const char *client, um_welcome_rule *which);

/* --- changes ----------------------------------------------------------------
 */

/* A mail that the operator's own means reported, or took back: a folder for
 * junk, a spam trap, a script. The signatures are the server's own; one report
 * counts in all lists that have them. */
typedef struct um_mail_change {
    size_t signatures;          /* of the mail */
    size_t changed;             /* counts, or exceptions, that were made */
    bool in_list[UM_MAX_LISTS]; /* where */
    uint64_t ticket;            /* that the store has to commit */
} um_mail_change;

/*
 * Counts a mail: once in Pyzor's list, in those of dccifd as often as makes it
 * bulk, as its clients report spam. Signatures that were forgotten are left
 * out. E_RANGE: the mail has no signature; E_REFUSED: it is welcome; E_IO: the
 * store has failed.
 */
umbel_status um_mail_report(um_lists *l, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err);
/* Forgets all signatures of a mail that have a count. */
umbel_status um_mail_revoke(um_lists *l, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err);

/* "reported in pyzor, body"; done is "reported" or "revoked". */
void um_mail_change_print(FILE *out, const um_mail_change *r, const char *done,
                          bool json);

#endif
