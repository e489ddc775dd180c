/*
 * text.h - the text of a mail: its leaf parts, decoded to UTF-8.
 *
 * GMime divides the mail into parts. Transfer encodings, charsets and HTML are
 * decoded as the Pyzor client decodes them, so that digests are equal. In this
 * process, without any protection: a server asks a pool of workers (pool.h).
 */
#ifndef UM_MAIL_TEXT_H
#define UM_MAIL_TEXT_H

#include "mail/facts.h"

/* Notes of a mail: bits, and words for people. */
#define UM_MAIL_NOTE_LIST(X)                                                   \
    X(CHARSET, "a charset is unknown: its text was read as ASCII")             \
    X(CUT, "the mail is longer than the limit: the rest was not read")         \
    X(PARTS, "the mail has more parts than the limit: others were left out")   \
    X(DEPTH, "the mail is nested deeper than the limit: parts were left out")  \
    X(NO_BODY, "the mail has no part that could be read")

typedef enum um_mail_note {
#define UM_MAIL_NOTE_BIT(name, words) UM_MAIL_NOTE_INDEX_##name,
    UM_MAIL_NOTE_LIST(UM_MAIL_NOTE_BIT)
#undef UM_MAIL_NOTE_BIT
        UM_MAIL_NOTES
} um_mail_note;

enum {
#define UM_MAIL_NOTE_ENUM(name, words)                                         \
    UM_MAIL_##name = 1 << UM_MAIL_NOTE_INDEX_##name,
    UM_MAIL_NOTE_LIST(UM_MAIL_NOTE_ENUM)
#undef UM_MAIL_NOTE_ENUM
};

/* The words of note i, which is bit 1 << i; NULL past the last. */
const char *um_mail_note_text(unsigned i);

/* What a mail may cost; 0 is the default. */
typedef struct um_mail_limits {
    uint64_t bytes; /* of the mail that are read: 1 MB */
    unsigned parts; /* leaf parts that are read: 1000 */
    unsigned depth; /* of parts in parts: 64 */
} um_mail_limits;

/* Puts the defaults in place of zeroes. */
um_mail_limits um_mail_limits_or_default(const um_mail_limits *l);

/* The text lies in the mail or in the reader: both must stay as they are. */
typedef struct um_mail {
    /* Leaf parts in the order of the mail, all of them UTF-8: text/... decoded,
     * with HTML reduced to its text, others as they stand in the mail. */
    const umbel_slice *leaves;
    size_t nleaves;
    const umbel_slice *texts; /* those of them that are text/... */
    size_t ntexts;
    /* As in um_mail_facts. */
    char from_domain[UM_MAIL_NAME], list_id[UM_MAIL_NAME];
    char received[UM_MAIL_CLIENT];
    unsigned notes;
} um_mail;

/* What is needed to read mails: charsets, and memory that is used again. */
typedef struct um_mail_reader um_mail_reader;

/* Opens every charset, so that reading opens no file. */
umbel_status um_mail_reader_open(um_mail_reader **out, umbel_error *err);
/* NULL is fine. */
void um_mail_reader_close(um_mail_reader *r);

/*
 * Reads a mail; l NULL: default limits. Whatever the bytes are, there is an
 * answer; only memory may be missing (E_NOMEM), and GLib aborts if it is the
 * one that asks. *out is good until the next call.
 */
umbel_status um_mail_read(um_mail_reader *r, const uint8_t *mail, size_t len,
                          const um_mail_limits *l, um_mail *out,
                          umbel_error *err);

/* Fills what needs no signature: names, sample, numbers and notes. */
void um_mail_describe(const um_mail *m, um_mail_facts *out);

#endif
