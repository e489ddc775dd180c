/*
 * build.c - builds filters by adding keys, of known number or from a pipe.
 */
#include "build/build.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"
#include "build/internal.h"
#include "build/negatives.h"
#include "filter/handle.h"
#include "keylist/key_list.h"
#include "keylist/source.h"
#include "negatives/choose/choose.h"
#include "query/digest_set.h"

#include <umbel/counting.h>
#include <umbel/describe.h>
#include <umbel/plan.h>

#include <inttypes.h>
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

/* Creates a small filter with the hash of the result. */
static umbel_status open_hashing(const um_build_job *job, umbel_filter **out,
                                 umbel_error *err)
{
    umbel_params small = job->params;

    if (!small.capacity)
        small.capacity = 1;
    small.settings = NULL; /* groups take time, and do not affect the hash */
    small.nsettings = 0;
    return umbel_create(job->kind, &small, out, err);
}

/* --- members that avoid negatives ----------------------------------------- */

/* The members as digests, read before the size of the filter is known. */
typedef struct chosen_members {
    umbel_filter *hashing; /* has the hash of the result */
    um_key_digests digests;
    um_digest_source source;
} chosen_members;

static void chosen_members_fini(chosen_members *m)
{
    um_key_digests_fini(&m->digests);
    umbel_close(m->hashing);
}

static umbel_status read_members(const um_build_job *job, chosen_members *m,
                                 umbel_error *err)
{
    if (job->like)
        UM_TRY(umbel_copy(job->like, &m->hashing, err));
    else
        UM_TRY(open_hashing(job, &m->hashing, err));
    return um_key_digests_init(&m->digests, &job->members, m->hashing,
                               UM_KEPT_DIGESTS, &m->source, err);
}

static umbel_status choose_groups(const um_build_job *job,
                                  const um_digest_source *members,
                                  umbel_filter *f, um_build_result *out,
                                  umbel_error *err)
{
    unsigned threads = job->members.threads ? job->members.threads : um_cores();
    umbel_choose_params params = UMBEL_CHOOSE_INIT;
    um_key_list_params keep = {.filter = f, .keep_lines = true};
    um_key_list never = {0};
    bool *member = NULL;
    umbel_status status;

    params.allow_members = job->allow_members;
    params.like = job->like;
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
    um_key_compute(&job->members, "choosing cells of members");
    status = um_choose(f, members, &negatives, &params, threads, member,
                       &out->choice, err);
    if (status == UMBEL_E_KEY)
        status = um_fail_marked(
            &never, member,
            "take members out of the list, or use --allow-members", err);
    out->keys = members->n;
    out->chosen = true;
done:
    free(member);
    um_key_list_fini(&never);
    return status;
}

static umbel_status refuse_no_member(const um_build_job *job, uint64_t n,
                                     umbel_error *err)
{
    return n || job->params.capacity ? UMBEL_OK : refuse_empty(err);
}

static umbel_status open_like(const um_build_job *job, umbel_filter **out,
                              umbel_error *err)
{
    UM_TRY(umbel_copy(job->like, out, err));
    return umbel_clear(*out, err);
}

static umbel_status build_chosen(const um_build_job *job, um_build_result *out,
                                 umbel_error *err)
{
    static const umbel_setting two_groups = {"groups", 2};
    umbel_params p = job->params;
    chosen_members m = {0};
    umbel_status status;

    if (!p.nsettings) {
        p.settings = &two_groups;
        p.nsettings = 1;
    }
    status = read_members(job, &m, err);
    if (status)
        goto done;
    status = refuse_no_member(job, m.source.n, err);
    if (status)
        goto done;
    if (!p.capacity && um_keys_rereadable(&job->members))
        p.capacity = m.source.n;
    status = job->like ? open_like(job, &out->filter, err)
                       : umbel_create(job->kind, &p, &out->filter, err);
    if (status)
        goto done;
    status = choose_groups(job, &m.source, out->filter, out, err);
done:
    chosen_members_fini(&m);
    return status;
}

/* --- known and unknown sizes ---------------------------------------------- */

static umbel_status add_keys(const um_build_job *job, umbel_filter *f,
                             um_build_result *out, umbel_error *err)
{
    UM_TRY(um_keys_add(&job->members, f, &out->keys, err));
    return refuse_no_member(job, out->keys, err);
}

/* Keys of a list that is read twice, counted in the first pass. */
typedef struct first_pass {
    uint64_t keys;
    um_distinct seen;
} first_pass;

static umbel_status consume_distinct(void *ctx, const um_key_batch *batch,
                                     const umbel_digest *digests,
                                     umbel_error *err)
{
    first_pass *p = ctx;

    p->keys += batch->n;
    return um_distinct_add(&p->seen, digests, batch->n)
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_NOMEM, "no memory to count the keys");
}

/* Counts keys and distinct keys: in a list of events most lines are
 * repeated. */
static umbel_status count_distinct(const um_key_source *s, uint64_t *keys,
                                   uint64_t *distinct, umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_alloc alloc = um_alloc_or_default(NULL);
    first_pass pass = {.seen.alloc = &alloc};
    umbel_filter *hashing;
    umbel_status status;

    p.capacity = 1;
    UM_TRY(umbel_create("bloom", &p, &hashing, err));
    status = um_keys_each_digest(s, hashing, consume_distinct, &pass, err);
    if (!status) {
        *keys = pass.keys;
        *distinct = um_distinct_count(&pass.seen);
    }
    um_distinct_fini(&pass.seen);
    umbel_close(hashing);
    return status;
}

/* Counts members, without decoding hexadecimal digits: they are decoded when
 * added, where a bad line is an error. If bad lines are skipped, digits are
 * decoded, and bad lines not counted. */
static umbel_status count_members(const um_key_source *members, uint64_t *n,
                                  umbel_error *err)
{
    um_key_source lines = *members;

    lines.format.hex &= lines.format.skip_bad;
    return um_keys_count(&lines, n, err);
}

/* Counts the keys, unless the capacity is set or not needed, or they cannot be
 * read twice. Sets *keys to their number; 0: not counted. */
static umbel_status count_capacity(const um_build_job *job, umbel_params *p,
                                   uint64_t *keys, um_build_result *out,
                                   umbel_error *err)
{
    *keys = 0;
    if (p->capacity || umbel_is_growing(job->kind) ||
        !um_keys_rereadable(&job->members))
        return UMBEL_OK;
    if (umbel_is_counting(job->kind)) {
        UM_TRY(count_distinct(&job->members, keys, &out->distinct, err));
        p->capacity = out->distinct;
    } else {
        UM_TRY(count_members(&job->members, keys, err));
        p->capacity = *keys;
    }
    return p->capacity ? UMBEL_OK : refuse_empty(err);
}

/* Refuses a list that changed between the two passes: the filter has the wrong
 * size, and may lack keys. */
static umbel_status check_second_pass(uint64_t counted, uint64_t added,
                                      umbel_error *err)
{
    if (!counted || counted == added)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO,
                   "the list changed while it was read: %" PRIu64
                   " keys were counted, then %" PRIu64
                   " were added. Build from a copy of it, or give the capacity",
                   counted, added);
}

static umbel_status build_sized(const um_build_job *job, um_build_result *out,
                                umbel_error *err)
{
    umbel_params p = job->params;
    uint64_t counted;

    if (job->never.npaths)
        return build_chosen(job, out, err);
    if (job->like) {
        UM_TRY(open_like(job, &out->filter, err));
        return add_keys(job, out->filter, out, err);
    }
    UM_TRY(count_capacity(job, &p, &counted, out, err));
    if (job->max_memory) {
        UM_TRY(um_build_sized_within(job, &p, out, err));
        UM_TRY(refuse_no_member(job, out->keys, err));
    } else {
        UM_TRY(umbel_create(job->kind, &p, &out->filter, err));
        UM_TRY(add_keys(job, out->filter, out, err));
    }
    return check_second_pass(counted, out->keys, err);
}

static umbel_status build_unsized(const um_build_job *job, um_build_result *out,
                                  umbel_error *err)
{
    umbel_filter *large = NULL;
    umbel_status status;

    if (job->never.npaths)
        return um_fail(err, UMBEL_E_RANGE,
                       "--never needs the size of the filter before keys are "
                       "read: give files, or --capacity, or --bits");
    UM_TRY(umbel_create_unsized(job->kind, &job->params, UM_PIPE_MEMORY, &large,
                                err));
    status = add_keys(job, large, out, err);
    if (status)
        goto done;
    status = umbel_fit(large, &out->filter, err);
done:
    umbel_close(large);
    return status;
}

static umbel_status build_piped(const um_build_job *job, um_build_result *out,
                                umbel_error *err)
{
    umbel_filter *hashing;
    umbel_status status;

    UM_TRY(open_hashing(job, &hashing, err));
    status = um_build_piped_within(job, hashing, out, err);
    umbel_close(hashing);
    return status ? status : refuse_no_member(job, out->keys, err);
}

umbel_status um_build(const um_build_job *given, um_build_result *out,
                      umbel_error *err)
{
    um_prefix_lengths prefixes = {{UM_PREFIXES_RECORDED}};
    um_build_job with_prefixes = *given;
    const um_build_job *job = &with_prefixes;
    um_build_result result = {0};
    umbel_status status;

    if (given->params.key_form == UMBEL_KEYS_NETWORK)
        with_prefixes.members.prefixes = &prefixes;

    UM_TRY(um_check_memory(job, err));
    if (umbel_is_static(job->kind))
        status = um_build_static(job, &result, err);
    else if (is_sized(job))
        status = build_sized(job, &result, err);
    else if (job->max_memory)
        status = build_piped(job, &result, err);
    else
        status = build_unsized(job, &result, err);
    if (!status && um_prefixes_of(result.filter))
        *um_prefixes_of(result.filter) = prefixes;
    if (status)
        umbel_close(result.filter);
    else
        *out = result;
    return status;
}
