/*
 * clashes.c - keys that must not match, but are members.
 */
#include "keys/clashes.h"

#include "base/alloc.h"
#include "base/error.h"
#include "ops/digest_index.h"

#include <stdio.h>
#include <stdlib.h>

enum { LISTED = 4, LISTED_LEN = 24 }; /* keys in a refusal, bytes of each */

static void drop_repeated(const umbel_keyset *never,
                          const um_digest_index *index, bool *both, size_t *n)
{
    for (size_t i = 0; i < never->n; i++)
        if (both[i] &&
            um_digest_index_find(index, &never->digests[i]) != i + 1) {
            both[i] = false;
            --*n;
        }
}

umbel_status um_find_clashes(const umbel_filter *f, const umbel_keyset *members,
                             const um_key_list *never, bool *both, size_t *n,
                             umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    umbel_keyset set = um_key_list_set(never);
    um_digest_index index = {0};

    UM_TRY(umbel_in_both(f, members, &set, both, n, err));
    umbel_status status =
        um_digest_index_init(&index, &alloc, set.digests, set.n, err);
    if (status == UMBEL_OK)
        drop_repeated(&set, &index, both, n);
    um_digest_index_fini(&index);
    return status;
}

/* Writes the first few of them: "991, 992". */
static void list_clashes(const um_key_list *never, const bool *both, char *out,
                         size_t cap)
{
    size_t len = 0, listed = 0;

    *out = '\0';
    for (size_t i = 0; i < never->n && listed < LISTED && len < cap; i++) {
        if (!both[i])
            continue;
        umbel_slice key = um_key_list_line(never, i);
        int shown = key.len < LISTED_LEN ? (int)key.len : LISTED_LEN;
        int added = snprintf(
            out + len, cap - len, "%s%.*s%s", listed++ ? ", " : "", shown,
            (const char *)key.data, key.len > LISTED_LEN ? "..." : "");
        len += added > 0 ? (size_t)added : 0;
    }
}

umbel_status um_refuse_members(const umbel_filter *f,
                               const umbel_keyset *members,
                               const um_key_list *never, const char *what_to_do,
                               umbel_error *err)
{
    char names[LISTED * (LISTED_LEN + 6)];
    bool *both = malloc(never->n + 1);
    umbel_status status;
    size_t n = 0;

    if (!both)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", never->n);
    status = um_find_clashes(f, members, never, both, &n, err);
    if (status || n == 0)
        goto done;
    list_clashes(never, both, names, sizeof names);
    status = um_fail(err, UMBEL_E_KEY, "%zu %s: %s%s; %s", n,
                     n == 1 ? "key of --never is a member"
                            : "keys of --never are members",
                     names, n > LISTED ? ", ..." : "", what_to_do);
done:
    free(both);
    return status;
}
