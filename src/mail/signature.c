/*
 * signature.c - the three signatures of a mail.
 */
#include "mail/signature.h"

#include "mail/exact.h"
#include "mail/pyzor_digest.h"
#include "mail/shingle.h"

void um_mail_sign(const um_mail *m, um_mail_facts *out)
{
    size_t words = um_shingle(m->texts, m->ntexts, out->shingle);

    out->exact.present = um_exact_digest(m->leaves, m->nleaves,
                                         out->exact.digest) >= UM_EXACT_CHARS;
    out->pyzor.present = um_pyzor_digest(m->leaves, m->nleaves,
                                         out->pyzor.digest) >= UM_PYZOR_CHARS;
    out->nshingles = words >= UM_SHINGLE_WORDS ? UM_SHINGLES : 0;
}
