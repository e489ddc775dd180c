/*
 * download.h - a piece of a shelf, fetched to a file that can be gone on with.
 */
#ifndef UM_CLI_DOWNLOAD_H
#define UM_CLI_DOWNLOAD_H

#include "exchange/manifest.h"

#include <umbel/umbel.h>

/*
 * Fetch url to path, which is piece or a beginning of it that an earlier try
 * left; *moved grows by the bytes that came. What does not match its digest is
 * removed and refused (E_REFUSED). What broke off stays, for the next try.
 */
umbel_status um_download(const char *url, const um_blob *piece,
                         const char *path, uint64_t *moved, umbel_error *err);

#endif
