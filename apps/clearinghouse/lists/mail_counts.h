/*
 * mail_counts.h - what the lists of dccifd say about a mail: each of its keys
 * has a list by its kind (body, fuz1, fuz2).
 */
#ifndef UM_CLEARINGHOUSE_MAIL_COUNTS_H
#define UM_CLEARINGHOUSE_MAIL_COUNTS_H

#include "clearinghouse/lists/mail_keys.h"
#include "clearinghouse/server/server.h"

typedef struct um_mail_counts {
    um_mail_keys keys;
    umbel_digest digest[UM_MAIL_KEYS];
    uint64_t count[UM_MAIL_KEYS];
} um_mail_counts;

/* Fills in keys and digests. */
void um_mail_counts_init(um_mail_counts *c, const um_server *h,
                         const um_mail_facts *facts);
/* Looks the keys up. */
void um_mail_counts_ask(um_mail_counts *c, const um_server *h);
/* The same for a verdict: a count is `many` if it is at least that, or 0. */
void um_mail_counts_ask_many(um_mail_counts *c, const um_server *h,
                             uint64_t many);

/*
 * The count of the mail in the list of that kind. A near copy shares some of
 * the eight super-shingles, and one of them may be common by chance, so the
 * second largest count is that of the mail.
 */
uint64_t um_mail_counts_of(const um_mail_counts *c, um_mail_key kind);

/* The list of that kind. */
unsigned um_mail_list(um_mail_key kind);

/* Returns true if a rule welcomes the mail. sender and client of the envelope
 * may be empty: then the client is the one in Received:. */
bool um_mail_is_welcome(const um_server *h, const um_mail_facts *facts,
                        const um_mail_keys *keys, const char *sender,
                        const char *client, um_welcome_rule *which);

#endif
