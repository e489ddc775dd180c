/*
 * clashes.c - keys that must not match, but are members.
 */
#include "build/clashes.h"

#include "base/alloc.h"
#include "base/error.h"
#include "query/digest_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void um_name_key(um_key_names *names, const umbel_slice *key)
{
    size_t len = strlen(names->text);
    bool cut = key->len > UM_NAME_LEN;

    if (names->n == UM_MAX_NAMED)
        return;
    snprintf(names->text + len, sizeof names->text - len, "%s%.*s%s",
             names->n ? ", " : "", cut ? UM_NAME_LEN : (int)key->len,
             (const char *)key->data, cut ? "..." : "");
    names->n++;
}

/* Leaves only the first of equal digests. */
static umbel_status retain_first(const umbel_key_list *never, bool *both,
                                 size_t *n, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_digest_index index = {0};

    UM_TRY(um_digest_index_init(&index, &alloc, never->digests, never->n, err));
    for (size_t i = 0; i < never->n; i++)
        if (both[i] &&
            um_digest_index_find(&index, &never->digests[i]) != i + 1) {
            both[i] = false;
            --*n;
        }
    um_digest_index_fini(&index);
    return UMBEL_OK;
}

umbel_status um_find_clashes(const umbel_filter *f,
                             const umbel_key_list *members,
                             const um_key_list *never, bool *both, size_t *n,
                             umbel_error *err)
{
    umbel_key_list set = um_key_list_view(never);

    UM_TRY(umbel_in_both(f, members, &set, both, n, err));
    return retain_first(&set, both, n, err);
}

umbel_status um_fail_members(size_t n, const um_key_names *names,
                             const char *what_to_do, umbel_error *err)
{
    return um_fail(err, UMBEL_E_KEY, "%zu key%s of --never %s: %s%s; %s", n,
                   n == 1 ? "" : "s",
                   n == 1 ? "is a member, which always matches"
                          : "are members, which always match",
                   names->text, n > names->n ? ", ..." : "", what_to_do);
}

umbel_status um_fail_marked(const um_key_list *never, const bool *member,
                            const char *what_to_do, umbel_error *err)
{
    um_key_names names = {0};
    size_t n = 0;

    for (size_t i = 0; i < never->n; i++)
        if (member[i]) {
            umbel_slice line = um_key_list_line(never, i);
            um_name_key(&names, &line);
            n++;
        }
    return um_fail_members(n, &names, what_to_do, err);
}

umbel_status um_refuse_members(const umbel_filter *f,
                               const umbel_key_list *members,
                               const um_key_list *never, const char *what_to_do,
                               umbel_error *err)
{
    bool *both = malloc(never->n + 1);
    umbel_status status;
    size_t n = 0;

    if (!both)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", never->n);
    status = um_find_clashes(f, members, never, both, &n, err);
    if (!status && n)
        status = um_fail_marked(never, both, what_to_do, err);
    free(both);
    return status;
}
