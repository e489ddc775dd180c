/*
 * mail_keys.c - the signatures of a mail as keys.
 */
#include "clearinghouse/lists/mail_keys.h"

_Static_assert((int)UM_DIGEST_BYTES == (int)UM_SIGNATURE_LEN, "a SHA-1");

static void add_signature(um_mail_keys *k, um_mail_key kind,
                          const um_signature *s)
{
    if (!s->present)
        return;
    k->kind[k->n] = kind;
    k->key[k->n] = um_signature_print(s->digest, k->text[k->n]);
    k->n++;
}

void um_mail_keys_read(um_mail_keys *k, const um_mail_facts *facts)
{
    k->n = 0;
    add_signature(k, UM_KEY_EXACT, &facts->exact);
    add_signature(k, UM_KEY_PYZOR, &facts->pyzor);
    for (unsigned i = 0; i < facts->nshingles && i < UM_SHINGLES; i++) {
        k->kind[k->n] = UM_KEY_SHINGLE;
        k->key[k->n] = um_shingle_print(i, facts->shingle[i], k->text[k->n]);
        k->n++;
    }
}

const char *um_mail_key_name(um_mail_key kind)
{
    static const char *const names[] = {[UM_KEY_EXACT] = "exact",
                                        [UM_KEY_PYZOR] = "pyzor",
                                        [UM_KEY_SHINGLE] = "shingle"};

    return names[kind];
}
