/*
 * download.h - fetch a file of a shelf into a store, resuming where the last
 * try broke off.
 */
#ifndef UM_EXCHANGE_DOWNLOAD_H
#define UM_EXCHANGE_DOWNLOAD_H

#include "publish/manifest.h"

enum { UM_PART_NAME = 32 };

typedef struct um_download {
    const umbel_fetcher *fetcher;
    const umbel_store *store;
    const char *url;
    const um_blob *blob;
    char part[UM_PART_NAME]; /* its name in the store: .part-DIGITS */
    uint64_t moved;          /* bytes that were fetched */
    bool missing;            /* the server will not give it */
    /* Of the present try. */
    bool restarted;    /* the server began at byte 0 */
    bool too_long;     /* it sent more than the file has */
    bool store_failed; /* the bytes could not be kept */
} um_download;

/*
 * Fetches the blob into a part, from where an earlier try broke off; from the
 * beginning when that leads nowhere. Bytes that do not match the digest are
 * removed and refused (E_REFUSED). A part that broke off stays for the next
 * try; parts of other blobs are removed.
 */
umbel_status um_download_run(um_download *d, umbel_error *err);

/* Removes every part of a store but keep, which may be NULL. */
void um_download_clear(const umbel_store *store, const char *keep);

#endif
