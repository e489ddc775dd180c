/*
 * mails.h - texts of mails, and their shingles as rspamd computes them: of each
 * run of three words a hash under 32 functions, and of each function the least.
 */
#ifndef UM_BENCH_FUZZY_MAILS_H
#define UM_BENCH_FUZZY_MAILS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    UM_MAIL_SHINGLES = 32,
    UM_MAIL_DIGEST = 64,
    UM_MAIL_SEED = 20 /* mails have other senders from each 2^20-th on */
};

/* How long mails are, and how many have the greeting (8 words) and the footer
 * (25 words) of one of 20 senders. */
typedef struct um_mail_texts {
    const char *name;
    unsigned least, more; /* words of a body: least, and up to more - 1 more */
    unsigned every;       /* mail has the greeting and footer of a sender */
} um_mail_texts;

/* NULL: there are none of that name. */
const um_mail_texts *um_mail_texts_find(const char *name);

/* Which mails. */
typedef enum um_mail_set {
    UM_MAIL_STORED,
    UM_MAIL_NEAR,   /* the same, with one to three other words */
    UM_MAIL_FOOTER, /* another body, between greeting and footer of a sender */
    UM_MAIL_OTHER   /* nothing in common but single words */
} um_mail_set;

/* Returns false if there is no set of that name. */
bool um_mail_set_find(const char *name, um_mail_set *out);

typedef struct um_fuzzy_letter {
    uint8_t digest[UM_MAIL_DIGEST];
    uint64_t shingle[UM_MAIL_SHINGLES];
} um_fuzzy_letter;

/* Mail i of a set, the same each time. */
void um_create_letter(const um_mail_texts *t, um_mail_set set, uint64_t i,
                      um_fuzzy_letter *out);

#endif
