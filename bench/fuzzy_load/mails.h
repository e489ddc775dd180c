/*
 * mails.h - texts of mails, and their shingles as rspamd computes them: every
 * three consecutive words are hashed by 32 functions, and for each function the
 * smallest hash is a shingle.
 */
#ifndef UM_BENCH_FUZZY_MAILS_H
#define UM_BENCH_FUZZY_MAILS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    UM_MAIL_SHINGLES = 32,
    UM_MAIL_DIGEST = 64,
    UM_MAIL_SEED = 20 /* every 2^20 mails, the senders change */
};

/* The lengths of mails, and how many have the greeting (8 words) and the footer
 * (25 words) of one of 20 senders. */
typedef struct um_mail_texts {
    const char *name;
    unsigned least, more; /* words of a body: least .. least + more - 1 */
    unsigned every;       /* one in `every` has a sender's greeting and
                             footer */
} um_mail_texts;

/* Returns the texts of that name, or NULL. */
const um_mail_texts *um_mail_texts_find(const char *name);

/* Sets of mails. */
typedef enum um_mail_set {
    UM_MAIL_STORED,
    UM_MAIL_NEAR,   /* the same, with one to three words changed */
    UM_MAIL_FOOTER, /* another body between a sender's greeting and footer */
    UM_MAIL_OTHER   /* only single words in common */
} um_mail_set;

/* Returns false if there is no set of that name. */
bool um_mail_set_find(const char *name, um_mail_set *out);

typedef struct um_fuzzy_letter {
    uint8_t digest[UM_MAIL_DIGEST];
    uint64_t shingle[UM_MAIL_SHINGLES];
} um_fuzzy_letter;

/* Creates mail i of a set, the same each time. */
void um_create_letter(const um_mail_texts *t, um_mail_set set, uint64_t i,
                      um_fuzzy_letter *out);

#endif
