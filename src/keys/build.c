/*
 * build.c - filters that keys are added to: of a known size, or from a pipe.
 */
#include "keys/build.h"

#include "base/alloc.h"
#include "base/error.h"
#include "keys/clashes.h"
#include "keys/digests.h"
#include "ops/choose.h"
#include "ops/distinct.h"

#include <stdlib.h>

static umbel_status refuse_empty(umbel_error *err)
{
    return um_fail(err, UMBEL_E_RANGE,
                   "there is no key in the input; for an empty filter use "
                   "--capacity N");
}

/* Returns true if the size of the filter is known before keys are added. */
static bool is_sized(const um_build_job *job)
{
    if (umbel_is_growing(job->kind))
        return true;
    return job->params.capacity || job->params.cells || job->like ||
           um_keys_rereadable(&job->members);
}

/* --- members that avoid other keys ------------------------------------------
 */

static umbel_status choose_groups(const um_build_job *job, umbel_filter *f,
                                  um_build_result *out, umbel_error *err)
{
    umbel_choose_params params = UMBEL_CHOOSE_INIT;
    um_key_list_params keep = {.filter = f, .keep_lines = true};
    um_key_digests members = {0};
    um_key_list never = {0};
    um_digest_source source;
    bool *member = NULL;
    umbel_status status;

    params.allow_members = job->allow_members;
    params.like = job->like;
    status = um_key_digests_init(&members, &job->members, f, &source, err);
    if (status)
        goto done;
    status = um_key_list_read(&never, &job->never, &keep, err);
    if (status)
        goto done;
    umbel_key_list negatives = um_key_list_view(&never);
    member = calloc(never.n + 1, sizeof *member);
    if (!member) {
        status = UMBEL_E_NOMEM;
        um_set_error(err, status, "no memory for %zu keys", never.n);
        goto done;
    }
    status =
        um_choose(f, &source, &negatives, &params, member, &out->choice, err);
    if (status == UMBEL_E_KEY)
        status = um_fail_marked(
            &never, member,
            "take members out of the list, or use --allow-members", err);
    out->keys = source.n;
    out->chosen = true;
done:
    free(member);
    um_key_list_fini(&never);
    um_key_digests_fini(&members);
    return status;
}

/* --- sized and unsized ------------------------------------------------------
 */

static umbel_status add_keys(const um_build_job *job, umbel_filter *f,
                             um_build_result *out, umbel_error *err)
{
    if (job->never.npaths)
        UM_TRY(choose_groups(job, f, out, err));
    else
        UM_TRY(um_keys_add(&job->members, f, &out->keys, err));
    return out->keys || job->params.capacity ? UMBEL_OK : refuse_empty(err);
}

static umbel_status take_distinct(void *ctx, const um_key_batch *batch,
                                  const umbel_digest *digests, umbel_error *err)
{
    return um_distinct_add(ctx, digests, batch->n)
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_NOMEM, "no memory to count the keys");
}

/* Counts different keys: in a list of events most lines repeat another. */
static umbel_status count_distinct(const um_key_source *s, uint64_t *n,
                                   umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_distinct seen = {.alloc = &alloc};
    umbel_filter *hashing;
    umbel_status status;

    p.capacity = 1;
    UM_TRY(umbel_create("bloom", &p, &hashing, err));
    status = um_keys_each_digest(s, hashing, take_distinct, &seen, err);
    if (!status)
        *n = um_distinct_count(&seen);
    um_distinct_fini(&seen);
    umbel_close(hashing);
    return status;
}

/* Digits are decoded once: when they are added, which a bad line ends. Where
 * bad lines are skipped, they do not count. */
static umbel_status count_members(const um_key_source *members, uint64_t *n,
                                  umbel_error *err)
{
    um_key_source lines = *members;

    lines.format.hex &= lines.format.skip_bad;
    return um_keys_count(&lines, n, err);
}

/* Counts the keys, unless the capacity is given or not needed, or they cannot
 * be read twice. */
static umbel_status count_capacity(const um_build_job *job, umbel_params *p,
                                   um_build_result *out, umbel_error *err)
{
    if (p->capacity || umbel_is_growing(job->kind) ||
        !um_keys_rereadable(&job->members))
        return UMBEL_OK;
    if (umbel_is_counting(job->kind)) {
        UM_TRY(count_distinct(&job->members, &out->distinct, err));
        p->capacity = out->distinct;
    } else {
        UM_TRY(count_members(&job->members, &p->capacity, err));
    }
    return p->capacity ? UMBEL_OK : refuse_empty(err);
}

static umbel_status build_sized(const um_build_job *job, um_build_result *out,
                                umbel_error *err)
{
    static const umbel_setting two_groups = {"groups", 2};
    umbel_params p = job->params;

    if (job->like) {
        UM_TRY(umbel_copy(job->like, &out->filter, err));
        UM_TRY(umbel_clear(out->filter, err));
        return add_keys(job, out->filter, out, err);
    }
    if (job->never.npaths && !p.nsettings) {
        p.settings = &two_groups;
        p.nsettings = 1;
    }
    UM_TRY(count_capacity(job, &p, out, err));
    UM_TRY(umbel_create(job->kind, &p, &out->filter, err));
    return add_keys(job, out->filter, out, err);
}

static umbel_status build_unsized(const um_build_job *job, um_build_result *out,
                                  umbel_error *err)
{
    uint64_t memory = job->max_memory ? job->max_memory : UM_PIPE_MEMORY;
    umbel_filter *large = NULL;
    umbel_status status;

    if (job->never.npaths)
        return um_fail(err, UMBEL_E_RANGE,
                       "--never needs the size of the filter before keys are "
                       "read: give files, or --capacity, or --bits");
    UM_TRY(umbel_create_unsized(job->kind, &job->params, memory, &large, err));
    status = add_keys(job, large, out, err);
    if (status)
        goto done;
    status = umbel_fit(large, &out->filter, err);
done:
    umbel_close(large);
    return status;
}

static umbel_status check_memory(const um_build_job *job, umbel_error *err)
{
    bool heard = umbel_is_static(job->kind) ? !um_keys_rereadable(&job->members)
                                            : !is_sized(job);

    return heard || !job->max_memory
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_RANGE,
                         "--max-memory has no effect here: it limits the "
                         "memory for keys of a pipe whose number is not known");
}

umbel_status um_build(const um_build_job *job, um_build_result *out,
                      umbel_error *err)
{
    um_build_result result = {0};
    umbel_status status;

    UM_TRY(check_memory(job, err));
    if (umbel_is_static(job->kind))
        status = um_build_static(job, &result, err);
    else if (is_sized(job))
        status = build_sized(job, &result, err);
    else
        status = build_unsized(job, &result, err);
    if (status)
        umbel_close(result.filter);
    else
        *out = result;
    return status;
}
