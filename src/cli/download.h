/*
 * download.h - a piece of a shelf, fetched to a file that can be gone on with.
 */
#ifndef UM_CLI_DOWNLOAD_H
#define UM_CLI_DOWNLOAD_H

#include "exchange/manifest.h"

#include <umbel/umbel.h>

#include <limits.h>

typedef struct um_download {
    const char *url;
    const char *ca; /* as um_fetch has it */
    const um_blob *piece;
    char path[PATH_MAX]; /* where it comes to be */
    uint64_t moved;      /* grows by the bytes that came */
    bool missing;        /* the server will not give it */
} um_download;

/*
 * The file that a piece for path comes to be in: path.part-DIGITS. Files of
 * that name for other pieces, which nobody will go on with, are removed. False:
 * the name is too long.
 */
bool um_download_to(um_download *d, const char *path);

/*
 * Fetch it to its file, which may be a beginning that an earlier try left; when
 * going on with it leads nowhere, anew. What does not match its digest is
 * removed and refused (E_REFUSED). What broke off stays, for the next try.
 */
umbel_status um_download_run(um_download *d, umbel_error *err);

/* Remove every file that um_download_to may have named for path. */
void um_download_clear(const char *path);

#endif
