/*
 * edits.h - keys that are one edit away from a member.
 *
 * Every key that one deleted, replaced or inserted character makes is queried:
 * Manber and Wu's question about passwords (survey 3.1), asked of a filter of
 * any kind. Characters are the printable ones of ASCII; a character of several
 * bytes can be deleted byte by byte only. A key of n bytes takes n + 94 n + 95
 * (n + 1) look-ups at most, and each of them may be a false positive.
 */
#ifndef UM_OPS_EDITS_H
#define UM_OPS_EDITS_H

#include <umbel/filter.h>

enum { UM_EDITS_LONGEST = 256 }; /* bytes of a key */

/* Returns how many keys are asked for one of that many bytes. */
uint64_t um_edits_lookups(size_t len);

/*
 * Sets *hit to true if f matches a key that one edit makes of key; the key
 * itself is not asked. E_KEY if it is too long, or f refuses the keys.
 */
umbel_status um_query_edits(const umbel_filter *f, const umbel_slice *key,
                            bool *hit, umbel_error *err);

#endif
