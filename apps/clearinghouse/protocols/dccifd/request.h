/*
 * dccifd_request.h - the envelope that a client of dccifd sends before the
 * mail.
 *
 *     words, separated by blanks         LF
 *     client's address [CR its name]     LF
 *     HELO                               LF
 *     sender                             LF
 *     recipient [CR user]                LF    any number of them
 *                                        LF
 *     the mail, up to the end of the stream
 */
#ifndef UM_CLEARINGHOUSE_DCCIFD_REQUEST_H
#define UM_CLEARINGHOUSE_DCCIFD_REQUEST_H

#include "net/dccifd.h"

#include <umbel/base.h>

/* Words of the first line; others are ignored. */
#define UM_DCCIFD_WORD_LIST(X)                                                 \
    X(QUERY, "query")   /* look up, do not count */                            \
    X(SPAM, "spam")     /* it is spam: many at once */                         \
    X(HEADER, "header") /* answer with the X-DCC line */                       \
    X(CKSUMS, "cksums") /* and the checksums */                                \
    X(BODY, "body")     /* and the mail, with the X-DCC line */                \
    X(LOG, "log")       /* log the answer */                                   \
    X(GREY_OFF, "grey-off")                                                    \
    X(NO_GREY, "no-grey")                                                      \
    X(NO_REJECT, "no-reject")

enum {
#define UM_DCCIFD_WORD_INDEX(name, word) UM_DCCIFD_INDEX_##name,
    UM_DCCIFD_WORD_LIST(UM_DCCIFD_WORD_INDEX)
#undef UM_DCCIFD_WORD_INDEX
};

enum {
#define UM_DCCIFD_WORD_BIT(name, word)                                         \
    UM_DCCIFD_##name = 1 << UM_DCCIFD_INDEX_##name,
    UM_DCCIFD_WORD_LIST(UM_DCCIFD_WORD_BIT)
#undef UM_DCCIFD_WORD_BIT
};

enum {
    UM_DCCIFD_RECIPIENTS = 1000, /* lines of them */
    UM_DCCIFD_CLIENT = 64,
    UM_DCCIFD_SENDER = 328
};

typedef enum um_dccifd_state {
    UM_DCCIFD_MORE,
    UM_DCCIFD_DONE,     /* the mail follows */
    UM_DCCIFD_TOO_LONG, /* a line, or their number */
    UM_DCCIFD_NO_TEXT   /* a byte that no envelope has */
} um_dccifd_state;

/* Zero to begin. */
typedef struct um_dccifd_envelope {
    um_dccifd_state state;
    unsigned line;  /* number of the next one */
    unsigned words; /* bits */
    unsigned recipients;
    char client[UM_DCCIFD_CLIENT]; /* "": not given, or longer */
    char sender[UM_DCCIFD_SENDER];
} um_dccifd_envelope;

/*
 * Takes whole lines while state is UM_DCCIFD_MORE; returns the number of bytes.
 * Fewer than len: state has changed, or the rest is no whole line.
 */
size_t um_dccifd_parse(um_dccifd_envelope *e, const uint8_t *bytes, size_t len);

/* Without a recipient nobody receives the mail, so it is only looked up. */
static inline bool um_dccifd_is_query(const um_dccifd_envelope *e)
{
    return e->words & UM_DCCIFD_QUERY || e->recipients == 0;
}

#endif
