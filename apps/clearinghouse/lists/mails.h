/*
 * mails.h - the signatures of a mail: the keys that lists count, their counts
 * in dccifd's lists, and mails that the operator reports or revokes.
 */
#ifndef UM_CLEARINGHOUSE_MAILS_H
#define UM_CLEARINGHOUSE_MAILS_H

#include "clearinghouse/lists/lists.h"
#include "clearinghouse/runtime/digest_text.h"
#include "mail/mail.h"

#include <stdio.h>

/* --- keys ----------------------------------------------------------------- */

/* What a key was computed from, in the order of dccifd's lists. */
typedef enum um_mail_key {
    UM_KEY_EXACT,
    UM_KEY_PYZOR,
    UM_KEY_SHINGLE,
    UM_MAIL_KEY_KINDS
} um_mail_key;

enum { UM_MAIL_KEYS = UM_KEY_SHINGLE + UM_SHINGLES }; /* of one mail, at most */

typedef struct um_mail_keys {
    size_t n;
    um_mail_key kind[UM_MAIL_KEYS]; /* keys of the same kind are adjacent */
    umbel_slice key[UM_MAIL_KEYS];
    char text[UM_MAIL_KEYS][UM_DIGEST_TEXT];
} um_mail_keys;

/* Fills *out, which must not be moved: key points into it. */
void um_mail_keys_read(um_mail_keys *out, const um_mail_facts *facts);

/* Returns "exact", "pyzor" or "shingle". */
const char *um_mail_key_name(um_mail_key kind);

/* --- counts --------------------------------------------------------------- */

/* The counts of a mail in dccifd's lists: a key of kind k is counted in
 * UM_LIST_BODY + k. */
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
/* Looks the keys up for a verdict only: counts of at least `many` become
 * `many`, all others 0. */
void um_mail_counts_ask_many(um_mail_counts *c, const um_lists *l,
                             uint64_t many);

/*
 * Returns the count of the mail in the list of that kind. A near copy shares
 * some of the eight super-shingles, and one of them may be common by chance, so
 * the mail's count is the second largest.
 */
uint64_t um_mail_counts_of(const um_mail_counts *c, um_mail_key kind);

/* Returns true if a rule welcomes the mail. sender and client of the envelope
 * may be empty; then the client is taken from Received:. */
bool um_mail_is_welcome(const um_lists *l, const um_mail_facts *facts,
                        const um_mail_keys *keys, const char *sender,
                        const char *client, um_welcome_rule *which);

/* --- changes -------------------------------------------------------------- */

/* The result of a report or revocation by the operator: from a junk folder, a
 * spam trap, or a script. The server computes the signatures, and changes all
 * lists that count them. */
typedef struct um_mail_change {
    size_t signatures;          /* of the mail */
    size_t changed;             /* counts or exceptions */
    bool in_list[UM_MAX_LISTS]; /* the lists that were changed */
    unsigned notes;             /* of um_mail_facts */
    uint64_t ticket;            /* the change is safe when it is committed */
} um_mail_change;

/*
 * Counts a mail: once in Pyzor's list, and in dccifd's lists often enough to be
 * bulk, as when clients report spam. Forgotten signatures are left out. Returns
 * E_RANGE if the mail has no signature, E_REFUSED if it is welcome, E_IO if the
 * store has failed.
 */
umbel_status um_mail_report(um_lists *l, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err);
/* Forgets all signatures of a mail that have a count. */
umbel_status um_mail_revoke(um_lists *l, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err);

/* Prints "reported in pyzor-reports, body"; done is "reported" or "revoked". */
void um_mail_change_print(FILE *out, const um_mail_change *r, const char *done,
                          bool json);

#endif
