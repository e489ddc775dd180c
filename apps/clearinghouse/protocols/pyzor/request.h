/*
 * pyzor_request.h - a request of a Pyzor client: one datagram of "Name: value"
 * lines.
 *
 * A parsed request points into the bytes that were received. Nothing is
 * allocated, and no bytes are refused: a request without fields is judged like
 * any other (pyzor_rules.h).
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_REQUEST_H
#define UM_CLEARINGHOUSE_PYZOR_REQUEST_H

#include <umbel/base.h>

enum { UM_PYZOR_MAX = 8192 }; /* bytes of a request, as in pyzord */

/* Fields that are absent have data NULL. The first of several is kept. */
typedef struct um_pyzor_request {
    umbel_slice text; /* as it was received */
    umbel_slice op, thread, pv, user, time, sig;
    umbel_slice digest; /* the first Op-Digest */
    umbel_slice code;   /* which only answers have */
    size_t ndigests;
} um_pyzor_request;

void um_pyzor_parse(const void *bytes, size_t len, um_pyzor_request *out);

/* Walks over the fields of a request, in their order. */
typedef struct um_pyzor_walk {
    const char *at, *end;
} um_pyzor_walk;

typedef struct um_pyzor_field {
    umbel_slice name, value;
} um_pyzor_field;

um_pyzor_walk um_pyzor_begin(umbel_slice text);
bool um_pyzor_next(um_pyzor_walk *w, um_pyzor_field *out);
/* The same, and skips all fields but Op-Digest. */
bool um_pyzor_next_digest(um_pyzor_walk *w, umbel_slice *out);

/* Compares the name of a field, in any case. */
bool um_pyzor_is_named(const um_pyzor_field *f, const char *name);
bool um_pyzor_is(umbel_slice s, const char *text);

#endif
