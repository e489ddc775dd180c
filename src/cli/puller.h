/*
 * puller.h - a reader of what somebody publishes: one round at a time.
 */
#ifndef UM_CLI_PULLER_H
#define UM_CLI_PULLER_H

#include "cli/pull_state.h"
#include "exchange/pull.h"
#include "net/fetch.h"

#include <umbel/umbel.h>

#include <sys/stat.h>
#include <time.h>

enum { UM_URL_MAX = 2048 };

/* A reader and its place; zeroed, then set up by um_puller_init. */
typedef struct um_puller {
    char manifest_url[UM_URL_MAX], base_url[UM_URL_MAX];
    char name[UM_NAME_MAX + 1]; /* of what is asked for */
    const char *path;
    const char *ca; /* who vouches for https; NULL: whom the system trusts */
    um_pull_state memo;
    const uint8_t *trust;  /* NULL: as before, or anyone */
    umbel_admission wants; /* with max_bytes */
    umbel_source source;   /* memory that it may take */

    /* Of the last round. */
    um_memory last;
    um_manifest manifest;
    um_route route;
    uint64_t moved; /* bytes that came over the network */
    char tag[UM_FETCH_TAG];
    bool gone; /* what the manifest names: there may be a newer one */

    uint8_t admitted[UM_DIGEST_LEN]; /* the filter that was admitted last */
    bool has_admitted;

    /* The file as it was when its digest was taken; 0: never. */
    struct stat seen;
    time_t seen_at;
    uint8_t seen_digest[UM_DIGEST_LEN];
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
