/*
 * signature.h - the three signatures of a mail.
 *
 *     exact    SHA-1 of all parts without white space
 *     pyzor    as the Pyzor client computes it
 *     shingle  eight keys of the words of its text parts, for near copies
 *
 * A text that is too short says little, and thousands of mails that have
 * nothing to do with each other share it ("see attachment"): it has no
 * signature, is never counted and never a hit.
 */
#ifndef UM_MAIL_SIGNATURE_H
#define UM_MAIL_SIGNATURE_H

#include "mail/text.h"

enum {
    UM_EXACT_CHARS = 40,  /* that are not white space, at least */
    UM_PYZOR_CHARS = 40,  /* in the lines that Pyzor samples, at least */
    UM_SHINGLE_WORDS = 24 /* at least */
};

/* Fills the signatures of *out, and nothing else. */
void um_mail_sign(const um_mail *m, um_mail_facts *out);

#endif
