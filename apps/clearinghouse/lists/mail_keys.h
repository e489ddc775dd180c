/*
 * mail_keys.h - the signatures of a mail as keys: the texts that lists count.
 */
#ifndef UM_CLEARINGHOUSE_MAIL_KEYS_H
#define UM_CLEARINGHOUSE_MAIL_KEYS_H

#include "clearinghouse/runtime/digest_text.h"
#include "mail/mail.h"

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

#endif
