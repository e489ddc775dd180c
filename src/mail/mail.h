/*
 * mail.h - the text of a mail, and its signatures.
 *
 * GMime divides the mail into parts. Transfer encodings, charsets and HTML are
 * decoded as the Pyzor client decodes them, so that digests are equal. This
 * happens in the calling process, without any protection: a server uses a pool
 * of workers (pool.h).
 */
#ifndef UM_MAIL_MAIL_H
#define UM_MAIL_MAIL_H

#include <umbel/base.h>

enum {
    UM_SIGNATURE_LEN = 20, /* SHA-1 */
    UM_SHINGLES = 8,
    UM_MAIL_SAMPLE = 512,
    UM_MAIL_NAME = 256,
    UM_MAIL_CLIENT = 64
};

typedef struct um_signature {
    bool present; /* false: the text is too short */
    uint8_t digest[UM_SIGNATURE_LEN];
} um_signature;

/*
 * What a worker found in a mail. It has a fixed size and no pointers, because a
 * worker sends it as bytes, which the server checks like any untrusted input.
 */
typedef struct um_mail_facts {
    um_signature exact, pyzor;
    unsigned nshingles; /* 0 (too short) or UM_SHINGLES */
    uint64_t shingle[UM_SHINGLES];
    char from_domain[UM_MAIL_NAME], list_id[UM_MAIL_NAME]; /* lower case, "" */
    char received[UM_MAIL_CLIENT]; /* client address of the first Received
                                      line; "": none */
    char sample[UM_MAIL_SAMPLE];   /* UTF-8 text of the signatures, cut at a
                                      character */
    uint32_t parts;
    uint64_t text_bytes;
    unsigned notes; /* bits: charset unknown, cut at a limit, ... */
} um_mail_facts;

/* Notes about a mail: bits, and texts for people. */
#define UM_MAIL_NOTE_LIST(X)                                                   \
    X(CHARSET, "a charset is unknown: its text was read as ASCII")             \
    X(CUT, "the mail is longer than the limit: the rest was not read")         \
    X(PARTS, "the mail has more parts than the limit: others were left out")   \
    X(DEPTH, "the mail is nested deeper than the limit: parts were left out")  \
    X(NO_BODY, "the mail has no part that could be read")                      \
    X(WRAPPED, "SpamAssassin had wrapped the mail: the original was read")     \
    X(UNMARKED, "the mail looks like a wrapper of SpamAssassin, but its "      \
                "header lacks X-Spam-Checker-Version, or yes in X-Spam-Flag "  \
                "and X-Spam-Status: the wrapper itself was read")

typedef enum um_mail_note {
#define UM_MAIL_NOTE_BIT(name, text) UM_MAIL_NOTE_INDEX_##name,
    UM_MAIL_NOTE_LIST(UM_MAIL_NOTE_BIT)
#undef UM_MAIL_NOTE_BIT
        UM_MAIL_NOTES
} um_mail_note;

enum {
#define UM_MAIL_NOTE_ENUM(name, text)                                          \
    UM_MAIL_##name = 1 << UM_MAIL_NOTE_INDEX_##name,
    UM_MAIL_NOTE_LIST(UM_MAIL_NOTE_ENUM)
#undef UM_MAIL_NOTE_ENUM
};

/* Returns the text of note i, which is bit 1 << i; NULL after the last. */
const char *um_mail_note_text(unsigned i);

/* Limits on the work for a mail; 0 is the default. */
typedef struct um_mail_limits {
    uint64_t bytes; /* of the mail: 1 MB; the rest is not read */
    unsigned parts; /* leaf parts: 1000 */
    unsigned depth; /* of nested parts: 64 */
} um_mail_limits;

/* Replaces zeroes by the defaults. */
um_mail_limits um_mail_limits_or_default(const um_mail_limits *l);

/* A mail that was read. Its text points into the mail or the reader, which must
 * not change meanwhile. */
typedef struct um_mail {
    /* Leaf parts in the order of the mail, as UTF-8: text/... is decoded, and
     * HTML reduced to its text; others are as in the mail. */
    const umbel_slice *leaves;
    size_t nleaves;
    const umbel_slice *texts; /* those of them that are text/... */
    size_t ntexts;
    /* As in um_mail_facts. */
    char from_domain[UM_MAIL_NAME], list_id[UM_MAIL_NAME];
    char received[UM_MAIL_CLIENT];
    unsigned notes;
} um_mail;

/* Reads mails; holds charsets and reusable memory. */
typedef struct um_mail_reader um_mail_reader;

/* Opens all charsets, so that reading opens no file. */
umbel_status um_mail_reader_open(um_mail_reader **out, umbel_error *err);
/* Frees the reader; NULL is accepted. */
void um_mail_reader_close(um_mail_reader *r);

/*
 * Reads a mail; l may be NULL (default limits). Any bytes are accepted. Fails
 * only if memory runs out (E_NOMEM); GLib aborts if its own allocation fails.
 * *out is valid until the next call.
 */
umbel_status um_mail_read(um_mail_reader *r, const uint8_t *mail, size_t len,
                          const um_mail_limits *l, um_mail *out,
                          umbel_error *err);

/* Sets all of *out but the signatures: names, sample, numbers and notes. */
void um_mail_describe(const um_mail *m, um_mail_facts *out);

/*
 * Signatures:
 *
 *     exact    SHA-1 of all parts without white space
 *     pyzor    as the Pyzor client computes it
 *     shingle  eight keys of the words of its text parts, for near copies
 *
 * A short text ("see attachment") is shared by thousands of unrelated mails. So
 * it has no signature, and is never counted or matched.
 */
enum {
    UM_EXACT_CHARS = 40,  /* minimum without white space */
    UM_PYZOR_CHARS = 40,  /* minimum in the lines that Pyzor samples */
    UM_SHINGLE_WORDS = 24 /* minimum */
};

/* Sets only the signatures of *out. */
void um_mail_sign(const um_mail *m, um_mail_facts *out);

#endif
