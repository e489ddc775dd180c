/*
 * mail_change.h - mails that the operator's own means reported, or took back: a
 * folder for junk, a spam trap, a script. The signatures are the server's own;
 * one report counts in the lists of every front that has them.
 */
#ifndef UM_CLEARINGHOUSE_MAIL_CHANGE_H
#define UM_CLEARINGHOUSE_MAIL_CHANGE_H

#include "clearinghouse/server/server.h"
#include "mail/mail.h"

#include <stdio.h>

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
umbel_status um_mail_report(um_server *h, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err);
/* Forgets all signatures of a mail that have a count. */
umbel_status um_mail_revoke(um_server *h, const um_mail_facts *facts,
                            um_mail_change *out, umbel_error *err);

/* "reported in pyzor, body"; done is "reported" or "revoked". */
void um_mail_change_print(FILE *out, const um_mail_change *r, const char *done,
                          bool json);

#endif
