/*
 * clashes.h - keys that must not match, but are members.
 */
#ifndef UM_KEYS_CLASHES_H
#define UM_KEYS_CLASHES_H

#include "keys/list.h"

/*
 * Finds the keys of never that are members, each once although the list may
 * repeat it: both[i] is true for the first of equal keys. *n is their number.
 */
umbel_status um_find_clashes(const umbel_filter *f, const umbel_keyset *members,
                             const um_key_list *never, bool *both, size_t *n,
                             umbel_error *err);

/*
 * E_KEY if keys of never, whose lines are kept, are members: names the first of
 * them, and says what to do.
 */
umbel_status um_refuse_members(const umbel_filter *f,
                               const umbel_keyset *members,
                               const um_key_list *never, const char *what_to_do,
                               umbel_error *err);

#endif
