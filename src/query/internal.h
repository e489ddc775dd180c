/*
 * internal.h - single forms of keys, which questions take apart.
 */
#ifndef UM_QUERY_INTERNAL_H
#define UM_QUERY_INTERNAL_H

#include "filter/handle.h"
#include "query/query.h"

enum { UM_NAME_MAX = 253, UM_LABELS_MAX = 127 }; /* of a domain */

enum { UM_NAME_SPACE = 256, UM_DOT_WORDS = UM_NAME_SPACE / 64 };
/* Sets a bit for each dot of a name of at most UM_NAME_MAX bytes. */
void um_find_dots(umbel_slice name, uint64_t dots[UM_DOT_WORDS]);

/* Clears the bits of a stored network after its prefix. */
void um_mask_prefix(uint8_t *key, size_t key_len);
/* Returns the bytes of a digest; 0 if the form has none. */
size_t um_form_digest_len(umbel_key_form form);

#endif
