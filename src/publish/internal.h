/*
 * internal.h - stores and downloads, shared by the files of this directory.
 */
#ifndef UM_PUBLISH_INTERNAL_H
#define UM_PUBLISH_INTERNAL_H

#include "publish/manifest.h"

/* Checks that a store has the calls that a publisher or a reader needs. */
umbel_status um_store_check(const umbel_store *s, bool for_reader,
                            umbel_error *err);

/* Computes the digest and the length of the stored bytes of name. */
umbel_status um_store_object_digest(const umbel_store *s, const char *name,
                                    um_blob *out, umbel_error *err);

/* Returns the text by which messages refer to a name. */
const char *um_store_where(const umbel_store *s, const char *name);

enum { UM_PULL_MAX_BYTES = 1 << 30 }; /* of a filter, unless a reader sets it */

#endif
