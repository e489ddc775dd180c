/*
 * facts.h - what a worker found in a mail: signatures, and what rules ask for.
 *
 * Fixed size, no pointers: a worker sends it as bytes, and the server checks
 * them like any bytes from outside.
 */
#ifndef UM_MAIL_FACTS_H
#define UM_MAIL_FACTS_H

#include <umbel/base.h>

enum {
    UM_SIGNATURE_LEN = 20, /* SHA-1 */
    UM_SHINGLES = 8,
    UM_MAIL_SAMPLE = 512,
    UM_MAIL_NAME = 256,
    UM_MAIL_CLIENT = 64
};

typedef struct um_signature {
    bool present; /* false: the text is too short to mean anything */
    uint8_t digest[UM_SIGNATURE_LEN];
} um_signature;

typedef struct um_mail_facts {
    um_signature exact, pyzor;
    unsigned nshingles; /* 0 (too short) or UM_SHINGLES */
    uint64_t shingle[UM_SHINGLES];
    char from_domain[UM_MAIL_NAME], list_id[UM_MAIL_NAME]; /* lower case, "" */
    char received[UM_MAIL_CLIENT]; /* client address of the first Received
                                      line; "": none */
    char sample[UM_MAIL_SAMPLE]; /* UTF-8 text that the signatures saw, cut at a
                                    character */
    uint32_t parts;
    uint64_t text_bytes;
    unsigned notes; /* bits: charset unknown, cut at a limit, ... */
} um_mail_facts;

#endif
