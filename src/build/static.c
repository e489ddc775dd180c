/*
 * build_static.c - filters of static kinds: all members are read, then the
 * filter is made.
 *
 * To name a key of which only the digest is known, the input is read again
 * where that is possible.
 */
#include "build/spilled.h"

#include "base/error.h"
#include "base/pipeline.h"

#include <inttypes.h>
#include <stdio.h>

/* --- names of members -------------------------------------------------------
 */

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

/* Returns quotes for the name of a key, none for its number. */
static const char *quote(const um_static_build *x)
{
    return um_keys_rereadable(&x->source) ? "\"" : "";
}

/* --- members ----------------------------------------------------------------
 */

/* Returns how many keys of a pipe are kept; 0: any number. */
static size_t most_keys(const um_static_build *x)
{
    size_t each =
        sizeof *x->list.digests + (x->value_bits ? sizeof *x->list.amounts : 0);

    return um_keys_rereadable(&x->source) ? 0 : UM_PIPE_MEMORY / each;
}

static umbel_status read_list(um_static_build *x, umbel_error *err)
{
    um_key_list_params keep = {.filter = x->empty, .max_keys = most_keys(x)};
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

/* --- all of it --------------------------------------------------------------
 */

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

/* Turns a size in bytes into one in cells, which is the same for any keys. */
static umbel_status limit_bytes(um_static_build *x, umbel_error *err)
{
    umbel_params p = x->params;
    umbel_plan plan;

    if (!x->job->max_bytes || has_lists(x->job))
        return UMBEL_OK; /* lists have more in the head: negatives/exact/exact.c
                          */
    p.capacity = 1;
    p.fpr = 0;
    UM_TRY(umbel_make_plan(x->job->kind, &p, x->job->max_bytes, &plan, err));
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
    status = has_lists(job) ? um_build_exact(&x, out, err)
                            : build_plain(&x, out, err);
    out->keys = x.list.n;
done:
    umbel_close(x.empty);
    um_key_list_fini(&x.list);
    return status;
}
