/*
 * exact.h - the signature of a text without its white space.
 */
#ifndef UM_MAIL_EXACT_H
#define UM_MAIL_EXACT_H

#include "mail/facts.h"

/* Digests the parts of a mail, in order; returns the number of characters that
 * are not white space. */
size_t um_exact_digest(const umbel_slice *parts, size_t n,
                       uint8_t out[UM_SIGNATURE_LEN]);

#endif
