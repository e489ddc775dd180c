/*
 * static.c - builds filters of static kinds: reads all members, then builds.
 *
 * To name a key whose digest alone is known, the input is read again if
 * possible.
 */
#include "build/internal.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"
#include "negatives/exact/exact.h"
#include "query/digest_set.h"

#include <umbel/plan.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Static filters that exclude the keys of lists and universes.
 *
 * The lists are not kept in memory: they are read once to count their keys, and
 * again to keep the few that pass the first level of the filter.
 */

/* --- counting ------------------------------------------------------------- */

/* The distinct keys of the members and the lists. */
typedef struct listed {
    um_distinct all;
    um_weight_counts weights; /* of the lists only */
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

/* Estimates the number of distinct keys of both lists that are not members. */
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

/* --- partitions ----------------------------------------------------------- */

/* The keys of the universe by partition; has_field: one of them has enough tabs
 * for the field that names its partition. */
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

/* Returns the number of tabs that a key needs; a prefix needs none. */
static int tabs_of(int partition)
{
    return partition < 0 ? 0 : partition == 1 ? 1 : partition - 1;
}

/* Refuses a universe without such fields: every key would be a partition, or
 * all would be one. */
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

/* Counts the lines of the universe by partition, including repeated ones. */
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

/* --- the lists ------------------------------------------------------------ */

/* Names a key, once, that is in a list and a member. */
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

/* Builds with never and universe, after the members were read. */
static umbel_status build_exact(um_static_build *x, um_build_result *out,
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

/* --- names of members ----------------------------------------------------- */

typedef struct search {
    um_key_names *names;
    const umbel_digest *wanted;
    size_t n;
    bool found[UM_MAX_NAMED];
} search;

static umbel_status find_names(void *ctx, const um_key_batch *batch,
                               const umbel_digest *digests, umbel_error *err)
{
    search *s = ctx;

    (void)err;
    for (size_t i = 0; i < batch->n; i++)
        for (size_t j = 0; j < s->n; j++)
            if (!s->found[j] && um_same_digest(&digests[i], &s->wanted[j])) {
                s->found[j] = true;
                um_name_key(s->names, &batch->keys[i]);
            }
    return UMBEL_OK;
}

/* Returns the number of the first member with that digest, from 0. */
static size_t member_at(const um_static_build *x, const umbel_digest *d)
{
    size_t i = 0;

    while (i + 1 < x->list.n && !um_same_digest(&x->list.digests[i], d))
        i++;
    return i;
}

static void number_members(um_static_build *x, const umbel_digest *wanted,
                           size_t n)
{
    char name[UM_NAME_LEN + 1];

    for (size_t i = 0; i < n; i++) {
        int len = snprintf(name, sizeof name, "key %zu of the input",
                           member_at(x, &wanted[i]) + 1);
        um_name_key(&x->names, &(umbel_slice){name, len > 0 ? (size_t)len : 0});
    }
}

void um_name_members(um_static_build *x, const umbel_digest *wanted, size_t n)
{
    search s = {.names = &x->names,
                .wanted = wanted,
                .n = n < UM_MAX_NAMED ? n : UM_MAX_NAMED};

    x->names = (um_key_names){0};
    if (um_keys_rereadable(&x->source))
        um_keys_each_digest(&x->source, x->empty, find_names, &s, NULL);
    else
        number_members(x, wanted, s.n);
}

/* Returns the quotation mark for the name of a key; "" for its number. */
static const char *quote(const um_static_build *x)
{
    return um_keys_rereadable(&x->source) ? "\"" : "";
}

/* --- members -------------------------------------------------------------- */

/* Returns how many keys of a pipe may be stored; 0: any number. */
static size_t max_keys(const um_static_build *x)
{
    size_t each =
        sizeof *x->list.digests + (x->value_bits ? sizeof *x->list.amounts : 0);

    return um_keys_rereadable(&x->source) ? 0 : UM_PIPE_MEMORY / each;
}

static umbel_status read_list(um_static_build *x, umbel_error *err)
{
    um_key_list_params keep = {.filter = x->empty, .max_keys = max_keys(x)};
    umbel_error reason = {0};
    umbel_status status =
        um_key_list_read(&x->list, &x->source, &keep, &reason);

    if (reason.detail == UMBEL_D_MEMORY_LIMIT)
        return um_fail(err, status,
                       "more than %zu keys come from a pipe: give --max-memory "
                       "N, for more in temporary files, or give files",
                       keep.max_keys);
    if (status && err)
        *err = reason;
    return status;
}

static umbel_status check_values(um_static_build *x, umbel_error *err)
{
    for (size_t i = 0; x->list.amounts && i < x->list.n; i++) {
        if (x->list.amounts[i] >> x->value_bits == 0)
            continue;
        um_name_members(x, &x->list.digests[i], 1);
        return um_fail(err, UMBEL_E_KEY,
                       "%s%s%s has the value %" PRIu64
                       ", which takes more than %" PRIu32 " bits",
                       quote(x), x->names.text, quote(x), x->list.amounts[i],
                       x->value_bits);
    }
    return UMBEL_OK;
}

static umbel_status begin_members(um_static_build *x, umbel_error *err)
{
    x->source = x->job->members;
    if (x->value_bits && x->source.format.field == UM_VALUE_FIELD)
        return um_fail(err, UMBEL_E_RANGE,
                       "the second field is the value: use another one as the "
                       "key, such as --field 1");
    if (x->value_bits)
        x->source.format.amount_field = UM_VALUE_FIELD;
    x->how = (umbel_build_params)UMBEL_BUILD_INIT;
    x->how.threads = x->source.threads ? x->source.threads : um_cores();
    return UMBEL_OK;
}

static umbel_status read_members(um_static_build *x, umbel_error *err)
{
    UM_TRY(read_list(x, err));
    UM_TRY(check_values(x, err));
    x->members = um_key_list_view(&x->list);
    x->members.values = x->list.amounts;
    return UMBEL_OK;
}

/* --- the build ------------------------------------------------------------ */

static umbel_status refuse_two_values(um_static_build *x,
                                      const umbel_digest *clash,
                                      umbel_error *err)
{
    const um_key_list *k = &x->list;
    size_t first = member_at(x, clash), other = first;

    while (other + 1 < k->n && !(um_same_digest(&k->digests[other], clash) &&
                                 k->amounts[other] != k->amounts[first]))
        other++;
    um_name_members(x, clash, 1);
    return um_fail(err, UMBEL_E_KEY,
                   "%s%s%s has two different values, %" PRIu64 " and %" PRIu64
                   ": give it one",
                   quote(x), x->names.text, quote(x), k->amounts[first],
                   k->amounts[other]);
}

static umbel_status build_plain(um_static_build *x, um_build_result *out,
                                umbel_error *err)
{
    umbel_build_params how = x->how;
    umbel_digest clash = {0, 0};
    umbel_status status;

    how.clash = &clash;
    um_key_compute(&x->source, "solving");
    status = umbel_build(x->job->kind, &x->params, &x->members, &how,
                         &out->filter, err);
    return status == UMBEL_E_KEY && x->list.amounts
               ? refuse_two_values(x, &clash, err)
               : status;
}

static umbel_status open_empty(um_static_build *x, umbel_error *err)
{
    umbel_params p = x->params;

    p.cells = 0;
    UM_TRY(umbel_build(x->job->kind, &p, NULL, NULL, &x->empty, err));
    x->value_bits = umbel_value_bits(x->empty);
    return UMBEL_OK;
}

static bool has_lists(const um_build_job *job)
{
    return job->never.npaths || job->universe.npaths || job->partition;
}

/* Converts a size in bytes to cells, which is the same for any keys. */
static umbel_status limit_bytes(um_static_build *x, umbel_error *err)
{
    umbel_params p = x->params;
    umbel_size_plan plan;

    if (!x->job->max_bytes || has_lists(x->job))
        return UMBEL_OK; /* lists make the head longer: negatives/exact/exact.c
                          */
    p.capacity = 1;
    p.fpr = 0;
    UM_TRY(umbel_plan_size(x->job->kind, &p, x->job->max_bytes, &plan, err));
    x->params.cells = plan.cells;
    return UMBEL_OK;
}

umbel_status um_build_static(const um_build_job *job, um_build_result *out,
                             umbel_error *err)
{
    um_static_build x = {.job = job, .params = job->params};
    umbel_status status;

    status = open_empty(&x, err);
    if (status)
        goto done;
    status = limit_bytes(&x, err);
    if (status)
        goto done;
    status = begin_members(&x, err);
    if (status)
        goto done;
    if (job->max_memory) {
        status = um_build_static_within(&x, out, err);
        goto done;
    }
    status = read_members(&x, err);
    if (status)
        goto done;
    status =
        has_lists(job) ? build_exact(&x, out, err) : build_plain(&x, out, err);
    out->keys = x.list.n;
done:
    umbel_close(x.empty);
    um_key_list_fini(&x.list);
    return status;
}
