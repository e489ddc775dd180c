/*
 * build_static_lists.c - lists and universes of static kinds, and names of
 * their keys.
 *
 * To name a key whose digest is in trouble, the input is read again, where it
 * can be.
 */
#include "cli/build_static_job.h"

#include "base/alloc.h"
#include "base/error.h"
#include "cli/choose_groups.h"
#include "ops/distinct.h"

#include <stdlib.h>
#include <string.h>

/* --- names of keys ----------------------------------------------------------
 */

static void add_name(char *list, size_t cap, const umbel_slice *key)
{
    size_t len = strlen(list);
    int shown = key->len < UM_NAME_LEN ? (int)key->len : UM_NAME_LEN;

    if (len < cap)
        snprintf(list + len, cap - len, "%s%.*s%s", len ? ", " : "", shown,
                 (const char *)key->data, key->len > UM_NAME_LEN ? "..." : "");
}

typedef struct search {
    const um_static_build *fixing;
    const umbel_digest *wanted;
    bool found[UM_NAMED];
    size_t n;
    char *list;
    size_t cap;
} search;

static umbel_status look(void *ctx, const um_batch *batch, umbel_error *err)
{
    search *s = ctx;

    for (size_t i = 0; i < batch->n; i++) {
        umbel_digest d;
        umbel_status status =
            umbel_digest_many(s->fixing->empty, &batch->keys[i], 1, &d, err);
        if (status != UMBEL_OK)
            return status;
        for (size_t j = 0; j < s->n; j++)
            if (!s->found[j] && um_same_digest(&d, &s->wanted[j])) {
                s->found[j] = true;
                add_name(s->list, s->cap, &batch->keys[i]);
            }
    }
    return UMBEL_OK;
}

/* A pipe is gone; which of its keys they were is known. */
static void number_members(um_static_build *x, const umbel_digest *wanted,
                           size_t n)
{
    for (size_t j = 0; j < n && j < UM_NAMED; j++) {
        char name[UM_NAME_LEN + 1];
        size_t at = 0;
        while (at < x->n && !um_same_digest(&x->digests[at], &wanted[j]))
            at++;
        int len = snprintf(name, sizeof name, "key %zu of the input", at + 1);
        add_name(x->names, sizeof x->names,
                 &(umbel_slice){name, len > 0 ? (size_t)len : 0});
    }
}

void um_name_members(um_static_build *x, const umbel_digest *wanted, size_t n)
{
    const um_args *args = x->args;
    search s = {.fixing = x,
                .wanted = wanted,
                .n = n < UM_NAMED ? n : UM_NAMED,
                .list = x->names,
                .cap = sizeof x->names};
    umbel_error ignored;

    x->names[0] = '\0';
    if (um_keys_again(args->operands, args->noperands))
        um_each_amount(args, args->operands, args->noperands,
                       x->value_bits ? UM_VALUE_FIELD : 0, look, &s, &ignored);
    else
        number_members(x, wanted, n);
}

/* --- lists ------------------------------------------------------------------
 */

/* Some thousand keys at a time; free what it gives. */
static umbel_digest *hash_batch(const um_static_build *x, const um_batch *batch,
                                umbel_status *status, umbel_error *err)
{
    umbel_digest *d = malloc(batch->n * sizeof *d);

    if (d)
        *status = umbel_digest_many(x->empty, batch->keys, batch->n, d, err);
    else
        *status = um_fail(err, UMBEL_E_NOMEM, "no memory to hash keys");
    return d;
}

/* One that stands twice is named once. */
static void name_clash(um_static_build *x, const umbel_digest *d,
                       const umbel_slice *key)
{
    for (size_t i = 0; i < x->nclashes; i++)
        if (um_same_digest(&x->clash[i], d))
            return;
    if (x->nclashes == UM_NAMED)
        return;
    x->clash[x->nclashes++] = *d;
    add_name(x->names, sizeof x->names, key);
}

static umbel_status take_never(void *ctx, const um_batch *batch,
                               umbel_error *err)
{
    um_static_build *x = ctx;
    umbel_status status;
    umbel_digest *d = hash_batch(x, batch, &status, err);
    bool *member = malloc(batch->n * sizeof *member);

    if (!member)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for answers");
    if (status == UMBEL_OK)
        status = umbel_exact_never(x->exact, d, batch->weights, batch->n,
                                   member, err);
    for (size_t i = 0; status == UMBEL_OK && i < batch->n; i++)
        if (member[i])
            name_clash(x, &d[i], &batch->keys[i]);
    free(member);
    free(d);
    return status;
}

static umbel_status take_universe(void *ctx, const um_batch *batch,
                                  umbel_error *err)
{
    um_static_build *x = ctx;
    umbel_status status;
    umbel_digest *d = hash_batch(x, batch, &status, err);

    if (status == UMBEL_OK)
        status = umbel_exact_never(x->exact, d, NULL, batch->n, NULL, err);
    free(d);
    return status;
}

static umbel_status read_never(um_static_build *x, umbel_error *err)
{
    size_t before = umbel_exact_unlisted(x->exact, NULL, 0);
    umbel_status status = UMBEL_OK;
    const char *path;

    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(x->args, "never", i)); i++)
        status = um_each_weighed(x->args, &path, 1, take_never, x, err);
    if (status != UMBEL_OK || !x->nclashes || um_has(x->args, "allow-members"))
        return status;
    size_t n = before - umbel_exact_unlisted(x->exact, NULL, 0);
    return um_fail_members(n, x->names, n > UM_NAMED,
                           "take members out, or say --allow-members", err);
}

static umbel_status read_universe(um_static_build *x, umbel_error *err)
{
    umbel_digest lacking[UM_NAMED];
    umbel_status status = UMBEL_OK;
    const char *path;

    if (!um_has(x->args, "universe"))
        return UMBEL_OK;
    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(x->args, "universe", i));
         i++)
        status = um_each_batch(x->args, &path, 1, take_universe, x, err);
    if (status != UMBEL_OK)
        return status;
    size_t n = umbel_exact_unlisted(x->exact, lacking, UM_NAMED);
    if (!n)
        return UMBEL_OK;
    um_name_members(x, lacking, n);
    return um_fail(err, UMBEL_E_KEY,
                   "the universe lacks %zu of the members%s%s%s: add them to "
                   "it, or list keys that must not match with --never",
                   n, x->names[0] ? ": " : "", x->names,
                   n > UM_NAMED && x->names[0] ? ", ..." : "");
}

/* --- how many ---------------------------------------------------------------
 */

typedef struct counting {
    const um_static_build *fixing;
    um_distinct all; /* members, then what is listed */
} counting;

static umbel_status count_batch(void *ctx, const um_batch *batch,
                                umbel_error *err)
{
    counting *c = ctx;
    umbel_status status;
    umbel_digest *d = hash_batch(c->fixing, batch, &status, err);

    if (status == UMBEL_OK && !um_distinct_add(&c->all, d, batch->n))
        status = um_fail(err, UMBEL_E_NOMEM, "no memory to count keys");
    free(d);
    return status;
}

typedef umbel_status each(const um_args *args, const char *const *paths,
                          size_t npaths, um_take_batch *take, void *ctx,
                          umbel_error *err);

static umbel_status count_files(counting *c, const char *option, each *walk,
                                umbel_error *err)
{
    const um_args *args = c->fixing->args;
    umbel_status status = UMBEL_OK;
    const char *path;

    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(args, option, i)); i++) {
        if (!um_keys_again(&path, 1))
            return um_fail(err, UMBEL_E_RANGE,
                           "--%s is counted first, then read: give a file, "
                           "not a pipe",
                           option);
        status = walk(args, &path, 1, count_batch, c, err);
    }
    return status;
}

/* Different keys of both options that are no members, about. */
static umbel_status count_listed(const um_static_build *x, uint64_t *out,
                                 umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    counting c = {.fixing = x, .all = {.alloc = &alloc}};
    umbel_status status = UMBEL_OK;

    if (!um_distinct_add(&c.all, x->digests, x->n))
        status = um_fail(err, UMBEL_E_NOMEM, "no memory to count keys");
    uint64_t members = um_distinct_count(&c.all);
    if (status == UMBEL_OK)
        status = count_files(&c, "never", um_each_weighed, err);
    if (status == UMBEL_OK)
        status = count_files(&c, "universe", um_each_batch, err);
    uint64_t all = um_distinct_count(&c.all);
    *out = all > members ? all - members : 0;
    um_distinct_fini(&c.all);
    return status;
}

umbel_status um_build_exact(um_static_build *x, const umbel_params *p,
                            um_static_result *out, umbel_error *err)
{
    uint64_t listed = 0;
    umbel_status status = count_listed(x, &listed, err);

    if (status == UMBEL_OK)
        status = umbel_exact_open(p, &x->members, listed, &x->exact, err);
    if (status == UMBEL_OK)
        status = read_never(x, err);
    if (status == UMBEL_OK)
        status = read_universe(x, err);
    if (status == UMBEL_OK)
        status = umbel_exact_finish(x->exact, &out->filter, &out->bill, err);
    umbel_exact_close(x->exact);
    out->exact = true;
    return status;
}
