/*
 * shelf.h - a directory of published files: manifests by name, pieces by
 * digest.
 *
 * Any web server can serve it as it is. Pieces never change; they come first,
 * the manifest last, and what no manifest names any more goes.
 */
#ifndef UM_CLI_SHELF_H
#define UM_CLI_SHELF_H

#include "cli/content.h"
#include "exchange/manifest.h"

#include <umbel/umbel.h>

typedef enum um_blob_kind { UM_BLOB_FILTER, UM_BLOB_STEP } um_blob_kind;

/* What a piece is called: its digest, .umb or .umd. */
enum { UM_BLOB_NAME = UM_DIGEST_HEX + 4 };
void um_blob_name(const uint8_t digest[UM_DIGEST_LEN], um_blob_kind kind,
                  char out[UM_BLOB_NAME]);

typedef struct um_shelf {
    const char *dir;
    int fd; /* holds the lock */
} um_shelf;

/* Make dir if it is not there, and lock it against other publishers. */
umbel_status um_shelf_open(um_shelf *s, const char *dir, umbel_error *err);
void um_shelf_close(um_shelf *s);

/* The manifest of a name; serial 0 when there is none yet. E_FORMAT when it is
 * another's. */
umbel_status um_shelf_manifest(const um_shelf *s, const char *name,
                               um_manifest *out, umbel_error *err);
/* The bytes of a piece, to be released with um_content_fini; E_CHECKSUM when
 * they are not what its name says. */
umbel_status um_shelf_get(const um_shelf *s, const um_blob *piece,
                          um_blob_kind kind, um_content *out, umbel_error *err);
/* Put a piece there, unless it is there already and right. */
umbel_status um_shelf_put(const um_shelf *s, const um_blob *piece,
                          um_blob_kind kind, const void *bytes,
                          umbel_error *err);
umbel_status um_shelf_put_manifest(const um_shelf *s, const char *name,
                                   const char *text, size_t len,
                                   umbel_error *err);
/*
 * Remove pieces that no manifest of the directory names: files whose name is
 * right. Readers may still be fetching the filters until now: these stay.
 */
umbel_status um_shelf_tidy(const um_shelf *s, const um_blob *until_now,
                           size_t n, umbel_error *err);

#endif
