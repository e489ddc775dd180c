/*
 * shelf.h - a publisher's store: manifests by name, blobs by digest.
 *
 * Blobs never change. They are put first, the manifest last, and blobs that no
 * manifest names any more are removed.
 */
#ifndef UM_EXCHANGE_SHELF_H
#define UM_EXCHANGE_SHELF_H

#include "publish/manifest.h"

/*
 * Reads the manifest of a name; serial 0 when there is none yet. E_FORMAT when
 * it is the manifest of another name.
 */
umbel_status um_shelf_manifest(const umbel_store *shelf, const char *name,
                               um_manifest *out, umbel_error *err);
/* Writes the manifest, signed when there is a secret key. */
umbel_status um_shelf_append_manifest(const umbel_store *shelf, um_manifest *m,
                                      const uint8_t *secret, umbel_error *err);

/* Decodes a filter of the shelf; E_CHECKSUM when its digest is another. */
umbel_status um_shelf_load(const umbel_store *shelf, const um_blob *blob,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err);
/* Puts a blob there, unless it is there already and whole. */
umbel_status um_shelf_append(const umbel_store *shelf, const um_blob *blob,
                             um_blob_kind kind, const umbel_slice *parts,
                             size_t n, umbel_error *err);

#endif
