/*
 * fetch.h - get what an address names: http, https, file.
 *
 * Has never heard of filters. Follows a few redirects, never from https to
 * http; gives up on a server that is silent, slow without end or tells more
 * than it was asked, and takes no more bytes than it was told to.
 */
#ifndef UM_NET_FETCH_H
#define UM_NET_FETCH_H

#include <umbel/base.h>

enum { UM_FETCH_TAG = 256 };

typedef struct um_fetch {
    const char *url;
    const char *ca;  /* who vouches for https: a file; NULL: the system's */
    uint64_t from;   /* begin at this byte, if the server can */
    uint64_t max;    /* of the whole; more is refused */
    const char *tag; /* only if it changed since; NULL or "": in any case */
    bool fresh;      /* caches on the way have to ask the server */
    /* Gets the bytes; false: give up (err is set by it). */
    bool (*take)(void *ctx, const void *bytes, size_t len, umbel_error *err);
    void *ctx;
} um_fetch;

typedef struct um_fetched {
    bool unchanged; /* since tag: nothing was taken */
    bool missing;   /* the server answers that it will not give it */
    bool whole;     /* from was asked for, and the server began at 0 */
    bool odd_range; /* from was asked for, and something else came */
    uint64_t bytes; /* that came */
    /* What the server calls this state, if it calls no other so; "". */
    char tag[UM_FETCH_TAG];
} um_fetched;

/*
 * E_IO when it fails on the way, E_LIMIT when more comes than max; what was
 * taken until then stays taken. When the server begins at 0 although from was
 * asked for, out->whole is set before the first take.
 */
umbel_status um_fetch_run(const um_fetch *f, um_fetched *out, umbel_error *err);

/* Whether it is an address that can be fetched. */
bool um_is_url(const char *text);

/* For messages: without a name and a password that stand in it. */
const char *um_url_shown(const char *url);

#endif
