/*
 * clashes.h - keys that must not match, but are members.
 */
#ifndef UM_KEYS_CLASHES_H
#define UM_KEYS_CLASHES_H

#include "keylist/list.h"

/* Keys that a message names, and bytes of each. */
enum { UM_MAX_NAMED = 4, UM_NAME_LEN = 24 };

/* "a, b, c": the first few keys of which something is said. Zeroed: none. */
typedef struct um_key_names {
    size_t n;
    char text[UM_MAX_NAMED * (UM_NAME_LEN + 6)];
} um_key_names;

/* Appends a key, shortened; does nothing when there are UM_MAX_NAMED. */
void um_name_key(um_key_names *names, const umbel_slice *key);

/*
 * Finds the keys of never that are members. both[i] becomes true for the first
 * key of each digest; *n is the number of these. f provides the memory.
 */
umbel_status um_find_clashes(const umbel_filter *f,
                             const umbel_key_list *members,
                             const um_key_list *never, bool *both, size_t *n,
                             umbel_error *err);

/* Fails with E_KEY: n keys of --never are members. Names some, and says what to
 * do. */
umbel_status um_fail_members(size_t n, const um_key_names *names,
                             const char *what_to_do, umbel_error *err);

/* The same for the marked keys of never, whose lines are kept. */
umbel_status um_fail_marked(const um_key_list *never, const bool *member,
                            const char *what_to_do, umbel_error *err);

/* The same if any key of never, whose lines are kept, is a member. */
umbel_status um_refuse_members(const umbel_filter *f,
                               const umbel_key_list *members,
                               const um_key_list *never, const char *what_to_do,
                               umbel_error *err);

#endif
