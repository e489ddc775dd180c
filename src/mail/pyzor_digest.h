/*
 * pyzor_digest.h - the digest of the Pyzor client (version 1.0.0).
 */
#ifndef UM_MAIL_PYZOR_DIGEST_H
#define UM_MAIL_PYZOR_DIGEST_H

#include "mail/facts.h"

/*
 * Digests the leaf parts of a mail, in order: UTF-8 text, HTML reduced to its
 * text, anything else as it stands in the mail. Returns the number of
 * characters that went into the digest. 0: it is the SHA-1 of nothing, which
 * all mails without text share.
 */
size_t um_pyzor_digest(const umbel_slice *parts, size_t n,
                       uint8_t out[UM_SIGNATURE_LEN]);

#endif
