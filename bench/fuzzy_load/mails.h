/*
 * mails.h - texts of mails, and their shingles as rspamd computes them: of each
 * run of three words a hash under 32 functions, and of each function the least.
 */
#ifndef UM_BENCH_FUZZY_MAILS_H
#define UM_BENCH_FUZZY_MAILS_H

#include <stdint.h>

enum { UM_MAIL_SHINGLES = 32, UM_MAIL_DIGEST = 64 };

/* Which mails. */
typedef enum um_mail_set {
    UM_MAIL_STORED, /* every tenth has the greeting and footer of a sender */
    UM_MAIL_NEAR,   /* the same, with one to three other words */
    UM_MAIL_FOOTER, /* another body, between greeting and footer of a sender */
    UM_MAIL_OTHER   /* nothing in common but single words */
} um_mail_set;

typedef struct um_fuzzy_letter {
    uint8_t digest[UM_MAIL_DIGEST];
    uint64_t shingle[UM_MAIL_SHINGLES];
} um_fuzzy_letter;

/* Mail i of a set, the same each time. */
void um_make_letter(um_mail_set set, uint64_t i, um_fuzzy_letter *out);

#endif
