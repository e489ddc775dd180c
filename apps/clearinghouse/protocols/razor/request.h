/*
 * razor_request.h - what Razor2 clients send: lines, batches and mails.
 *
 *     a=c&e=4&s=SIGNATURE             a line: keys and values, a later key wins
 *     -a=c&e=4&s=S1 / a=c&e=4&s=S2 / .     a batch, up to a line "."
 *     -a=c&e=4&s=? / S1 / S2 / .           one with a template
 *     -a=r&message=* / ... / .             one that is a mail
 *
 * Lines end with CR LF; LF is taken as well, except at the end of a mail, whose
 * own lines may have it. Values are URI-escaped.
 *
 * Parsers hold no socket and allocate nothing. Slices point into the bytes that
 * they were given.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_REQUEST_H
#define UM_CLEARINGHOUSE_RAZOR_REQUEST_H

#include <umbel/base.h>

enum {
    UM_RAZOR_REQUEST = 8192, /* bytes of a line or a batch */
    UM_RAZOR_BATCH = 50      /* queries of a batch: their answers fit a reply */
};

/* Keys that mean something. */
typedef enum um_razor_key {
    UM_RAZOR_A,
    UM_RAZOR_E,
    UM_RAZOR_EP4,
    UM_RAZOR_S,
    UM_RAZOR_USER,
    UM_RAZOR_PASS,
    UM_RAZOR_ARESP,
    UM_RAZOR_PM,
    UM_RAZOR_CN,
    UM_RAZOR_MESSAGE,
    UM_RAZOR_KEYS
} um_razor_key;

/* A query: its values, still escaped. data NULL: the key is absent. */
typedef struct um_razor_query {
    umbel_slice value[UM_RAZOR_KEYS];
    bool malformed; /* a key without "=", a broken escape, no key at all */
} um_razor_query;

typedef enum um_razor_form {
    UM_RAZOR_MORE, /* it is not whole */
    UM_RAZOR_LINE,
    UM_RAZOR_BATCHED,
    UM_RAZOR_MAIL /* the first line; the mail follows */
} um_razor_form;

typedef struct um_razor_request {
    um_razor_form form;
    size_t len;       /* bytes that belong to it */
    umbel_slice text; /* without "-", the end of the line and the last "." */
} um_razor_request;

/* Finds the request at the front of a stream. */
um_razor_request um_razor_find(const uint8_t *bytes, size_t len);

/* Walks the queries of a line or batch. */
typedef struct um_razor_walk {
    umbel_slice left;
    um_razor_query first;
    um_razor_key open[UM_RAZOR_KEYS]; /* that a template leaves to its lines */
    size_t nopen;
    bool begun;
} um_razor_walk;

um_razor_walk um_razor_begin(const um_razor_request *r);
/* Returns false past the end. */
bool um_razor_next(um_razor_walk *w, um_razor_query *out);

/* Returns true if a value is that text. */
bool um_razor_is(umbel_slice value, const char *text);
/* Unescapes a value; false: it has more than cap bytes. Malformed escapes do
 * not occur in a query that is not malformed. */
bool um_razor_unescape(umbel_slice value, char *out, size_t cap, size_t *len);
/* Escapes a text; out has room for 3 * len + 1. Returns the length. */
size_t um_razor_escape(umbel_slice text, char *out);

/*
 * Looks for the end of a mail, the line "." after CR LF. *matched is how much
 * of that the bytes before these ended with, UM_RAZOR_MAIL_BEGIN at first.
 * Returns the bytes that belong to the mail; *over: they end it.
 */
enum { UM_RAZOR_MAIL_BEGIN = 2 };
size_t um_razor_skip_mail(const uint8_t *bytes, size_t len, unsigned *matched,
                          bool *over);

#endif
