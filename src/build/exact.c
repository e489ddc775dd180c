/*
 * build_exact.c - static filters that exclude the keys of lists and universes.
 *
 * The lists are not kept in memory: they are read once to count their keys, and
 * once more to keep the few that the first level of the filter lets pass.
 */
#include "build/static.h"

#include "base/alloc.h"
#include "base/error.h"
#include "negatives/exact/parts.h"
#include "negatives/exact/size.h"
#include "query/distinct.h"

#include <stdlib.h>
#include <string.h>

/* --- counting ---------------------------------------------------------------
 */

/* All keys of the lists, the members before them. */
typedef struct listed {
    um_distinct all;
    um_weight_counts weights; /* of the lists alone */
} listed;

static umbel_status count_batch(void *ctx, const um_key_batch *batch,
                                const umbel_digest *digests, umbel_error *err)
{
    listed *c = ctx;

    um_weight_counts_add(&c->weights, batch->weights, batch->n);
    return um_distinct_add(&c->all, digests, batch->n)
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_NOMEM, "no memory to count keys");
}

static umbel_status count_list(const um_static_build *x,
                               const um_key_source *list, const char *option,
                               listed *c, umbel_error *err)
{
    if (!list->npaths)
        return UMBEL_OK;
    if (!um_keys_rereadable(list))
        return um_fail(err, UMBEL_E_RANGE,
                       "--%s is read twice, to count its keys first: give a "
                       "file, not a pipe",
                       option);
    um_key_source source = *list;
    source.pass = "counting keys that must not match";
    return um_keys_each_digest(&source, x->empty, count_batch, c, err);
}

/* Counts the different keys of both lists that are not members, about. */
static umbel_status count_listed(const um_static_build *x, listed *c,
                                 uint64_t *out, umbel_error *err)
{
    if (!um_distinct_add(&c->all, x->list.digests, x->list.n))
        return um_fail(err, UMBEL_E_NOMEM, "no memory to count keys");
    uint64_t members = um_distinct_count(&c->all);
    UM_TRY(count_list(x, &x->job->never, "never", c, err));
    UM_TRY(count_list(x, &x->job->universe, "universe", c, err));
    uint64_t n = um_distinct_count(&c->all);
    *out = n > members ? n - members : 0;
    return UMBEL_OK;
}

/* --- partitions -------------------------------------------------------------
 */

/* Keys of the universe by partition, and whether one of them has tabs up to the
 * field that names its partition. */
typedef struct counted_parts {
    um_part_counts parts;
    int tabs;
    bool has_field;
} counted_parts;

static bool has_tabs(const umbel_slice *key, int tabs)
{
    const char *at = key->data, *end = at + key->len;

    while (tabs && at < end) {
        at = memchr(at, '\t', (size_t)(end - at));
        if (!at)
            return false;
        at++;
        tabs--;
    }
    return !tabs;
}

static umbel_status count_parts(void *ctx, const um_key_batch *batch,
                                const umbel_digest *digests, umbel_error *err)
{
    counted_parts *c = ctx;

    for (size_t i = 0; !c->has_field && i < batch->n; i++)
        c->has_field = has_tabs(&batch->keys[i], c->tabs);
    return um_part_counts_add(&c->parts, digests, batch->n)
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_NOMEM, "no memory to count keys");
}

/* A prefix needs no tabs. */
static int tabs_of(int partition)
{
    return partition < 0 ? 0 : partition == 1 ? 1 : partition - 1;
}

/* Without fields every key would be a partition, or all be one. */
static umbel_status want_field(const um_static_build *x, const counted_parts *c,
                               umbel_error *err)
{
    if (c->has_field || !c->parts.n)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_KEY,
                   "--partition %d would make %s, because no key of --universe "
                   "has %s: separate fields by tabs, or use "
                   "--partition-prefix",
                   x->job->partition,
                   x->job->partition == 1 ? "each key a partition"
                                          : "all keys one partition",
                   x->job->partition == 1 ? "a tab" : "that field");
}

/* Lines of the universe are counted by partition; repeated ones more than once.
 */
static umbel_status open_parts(um_static_build *x, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    counted_parts c = {.parts = {.alloc = &alloc},
                       .tabs = tabs_of(x->job->partition)};
    um_key_source source = x->job->universe;
    umbel_status status;

    if (!source.npaths || x->job->never.npaths)
        return um_fail(err, UMBEL_E_RANGE,
                       "--partition needs --universe, and not --never: the "
                       "keys of each partition are counted");
    if (!um_keys_rereadable(&source))
        return um_fail(err, UMBEL_E_RANGE,
                       "--universe is read twice, to count its keys first: "
                       "give a file, not a pipe");
    source.pass = "counting keys of partitions";
    status = um_keys_each_digest(&source, x->empty, count_parts, &c, err);
    um_part_counts_sort(&c.parts);
    if (!status)
        status = want_field(x, &c, err);
    if (!status)
        status =
            umbel_exact_open_parts(&x->params, &x->members, &x->how,
                                   c.parts.slots, c.parts.n, &x->exact, err);
    um_part_counts_fini(&c.parts);
    return status;
}

static umbel_status open_listed(um_static_build *x, listed *c,
                                umbel_exact_class *classes, umbel_error *err)
{
    uint64_t n = 0;

    UM_TRY(count_listed(x, c, &n, err));
    return umbel_exact_open_classes(&x->params, &x->members, &x->how, classes,
                                    um_weight_classes(&c->weights, n, classes),
                                    x->job->max_bytes, &x->exact, err);
}

static umbel_status open_plain(um_static_build *x, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    umbel_exact_class *classes = malloc(UM_WEIGHT_CLASSES * sizeof *classes);
    listed *c = calloc(1, sizeof *c);
    umbel_status status = UMBEL_E_NOMEM;

    if (classes && c) {
        c->all.alloc = &alloc;
        status = open_listed(x, c, classes, err);
        um_distinct_fini(&c->all);
    } else {
        um_set_error(err, status, "no memory to count keys");
    }
    free(classes);
    free(c);
    return status;
}

/* --- the lists --------------------------------------------------------------
 */

/* Names a key, once, that is in the list and a member. */
static void name_clash(um_static_build *x, const umbel_digest *d,
                       const umbel_slice *key)
{
    for (size_t i = 0; i < x->names.n; i++)
        if (um_same_digest(&x->named[i], d))
            return;
    if (x->names.n == UM_MAX_NAMED)
        return;
    x->named[x->names.n] = *d;
    um_name_key(&x->names, key);
}

static umbel_status consume_never(void *ctx, const um_key_batch *batch,
                                  const umbel_digest *digests, umbel_error *err)
{
    um_static_build *x = ctx;
    umbel_key_list never = UMBEL_KEY_LIST(digests, batch->n);
    bool *member = malloc(batch->n * sizeof *member);
    umbel_status status;

    if (!member)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", batch->n);
    never.weights = batch->weights;
    status = umbel_exact_never(x->exact, &never, member, err);
    for (size_t i = 0; !status && i < batch->n; i++)
        if (member[i])
            name_clash(x, &digests[i], &batch->keys[i]);
    free(member);
    return status;
}

static umbel_status read_never(um_static_build *x, umbel_error *err)
{
    size_t before = umbel_exact_unlisted(x->exact, NULL, 0);

    if (!x->job->never.npaths)
        return UMBEL_OK;
    UM_TRY(
        um_keys_each_digest(&x->job->never, x->empty, consume_never, x, err));
    if (!x->names.n || x->job->allow_members)
        return UMBEL_OK;
    return um_fail_members(
        before - umbel_exact_unlisted(x->exact, NULL, 0), &x->names,
        "take members out of the list, or use --allow-members", err);
}

static umbel_status consume_universe(void *ctx, const um_key_batch *batch,
                                     const umbel_digest *digests,
                                     umbel_error *err)
{
    umbel_key_list others = UMBEL_KEY_LIST(digests, batch->n);

    return umbel_exact_never(ctx, &others, NULL, err);
}

static umbel_status read_universe(um_static_build *x, umbel_error *err)
{
    umbel_digest missing[UM_MAX_NAMED];

    if (!x->job->universe.npaths)
        return UMBEL_OK;
    UM_TRY(um_keys_each_digest(&x->job->universe, x->empty, consume_universe,
                               x->exact, err));
    size_t n = umbel_exact_unlisted(x->exact, missing, UM_MAX_NAMED);
    if (!n)
        return UMBEL_OK;
    um_name_members(x, missing, n);
    return um_fail(err, UMBEL_E_KEY,
                   "the universe lacks %zu of the members: %s%s: add them to "
                   "it, or list keys that must not match with --never",
                   n, x->names.text, n > UM_MAX_NAMED ? ", ..." : "");
}

umbel_status um_build_exact(um_static_build *x, um_build_result *out,
                            umbel_error *err)
{
    umbel_status status;

    UM_TRY(x->job->partition ? open_parts(x, err) : open_plain(x, err));
    status = read_never(x, err);
    if (status)
        goto done;
    status = read_universe(x, err);
    if (status)
        goto done;
    um_key_compute(&x->source, "solving");
    status = umbel_exact_finish(x->exact, &out->filter, &out->exclusion, err);
    out->exact = true;
done:
    umbel_exact_close(x->exact);
    return status;
}
