/*
 * internal.h - single forms of keys, which questions take apart.
 */
#ifndef UM_QUERY_INTERNAL_H
#define UM_QUERY_INTERNAL_H

#include "filter/handle.h"
#include "query/query.h"

enum { UM_NAME_MAX = 253, UM_LABELS_MAX = 127 }; /* of a domain */

/* Clears the bits of a stored network after its prefix. */
void um_mask_prefix(uint8_t *key, size_t key_len);
/* Returns the bytes of a digest; 0 if the form has none. */
size_t um_form_digest_len(umbel_key_form form);

#endif
