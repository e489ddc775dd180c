/*
 * puller.h - a reader of what somebody publishes: one round at a time.
 */
#ifndef UM_CLI_PULLER_H
#define UM_CLI_PULLER_H

#include "exchange/pull.h"
#include "net/fetch.h"

#include <umbel/umbel.h>

#include <limits.h>

enum { UM_URL_MAX = 2048 };

/* A reader and its place; zeroed, then set up by um_puller_init. */
typedef struct um_puller {
    char manifest_url[UM_URL_MAX], base_url[UM_URL_MAX];
    const char *path;
    char memory_path[PATH_MAX]; /* PATH.pull: what we remember, and our lock */
    const uint8_t *trust;       /* NULL: as before, or anyone */
    umbel_admission wants;      /* with max_bytes */

    /* Of the last round. */
    um_memory last;
    um_manifest manifest;
    um_route route;
    uint64_t moved; /* bytes that came over the network */
    char tag[UM_FETCH_TAG];
    bool unchanged; /* says the server: manifest and route are not set */
} um_puller;

/* Where from and where to. */
umbel_status um_puller_init(um_puller *p, const char *url, const char *path,
                            umbel_error *err);

/*
 * Bring the file up to date. E_REFUSED when what was found is not to be
 * believed; whatever fails, the file is as it was.
 */
umbel_status um_puller_round(um_puller *p, umbel_error *err);

#endif
