/*
 * fetch.h - get what an address names: http, https, file.
 *
 * Has never heard of filters. Follows a few redirects, gives up on a server
 * that is silent, and takes no more bytes than it was told to.
 */
#ifndef UM_NET_FETCH_H
#define UM_NET_FETCH_H

#include <umbel/base.h>

enum { UM_FETCH_TAG = 256 };

typedef struct um_fetch {
    const char *url;
    uint64_t from;   /* begin at this byte, if the server can */
    uint64_t max;    /* of the whole; more is refused */
    const char *tag; /* only if it changed since; NULL: in any case */
    /* Gets the bytes; false: give up (err is set by it). */
    bool (*take)(void *ctx, const void *bytes, size_t len, umbel_error *err);
    void *ctx;
} um_fetch;

typedef struct um_fetched {
    bool unchanged;         /* since tag: nothing was taken */
    bool missing;           /* the server says there is none */
    bool whole;             /* from was asked for, and the server began at 0 */
    uint64_t bytes;         /* that came */
    char tag[UM_FETCH_TAG]; /* what the server calls this state; "" */
} um_fetched;

/*
 * E_IO when it fails on the way; what was taken until then stays taken. When
 * the server begins at 0 although from was asked for, out->whole is set before
 * the first take.
 */
umbel_status um_fetch_run(const um_fetch *f, um_fetched *out, umbel_error *err);

/* Whether it is an address that can be fetched. */
bool um_is_url(const char *text);

#endif
