/*
 * negatives.c - retouches a filter with lists of keys in files.
 */
#include "build/negatives.h"
#include "base/alloc.h"
#include "base/error.h"
#include "negatives/retouch/retouch.h"
#include "query/digest_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Keys of never that are members.
 */

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

/* Clears both[i] except for the first of equal digests, and counts these. */
static umbel_status retain_first(const umbel_key_list *never, bool *both,
                                 size_t *n, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_digest_set index = {0};

    UM_TRY(um_digest_set_init(&index, &alloc, never->digests, never->n, err));
    for (size_t i = 0; i < never->n; i++)
        if (both[i] &&
            um_digest_set_find(&index, &never->digests[i]) != i + 1) {
            both[i] = false;
            --*n;
        }
    um_digest_set_fini(&index);
    return UMBEL_OK;
}

umbel_status um_find_conflicts(const umbel_filter *f,
                               const umbel_key_list *members,
                               const um_key_list *never, bool *both, size_t *n,
                               umbel_error *err)
{
    umbel_key_list set = um_key_list_view(never);

    UM_TRY(umbel_find_conflicts(f, members, &set, both, n, err));
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
    status = um_find_conflicts(f, members, never, both, &n, err);
    if (!status && n)
        status = um_fail_marked(never, both, what_to_do, err);
    free(both);
    return status;
}

/* A curve, and the params with the caller's own watch. */
typedef struct recorder {
    um_curve *curve;
    const umbel_retouch_params *params;
} recorder;

static bool record_step(void *ctx, const umbel_retouch_step *step)
{
    recorder *r = ctx;

    um_curve_add(r->curve, step);
    return !r->params->watch || r->params->watch(r->params->ctx, step);
}

/* Retouches f. curve may be NULL, since watching every step takes time. */
static umbel_status retouch(umbel_filter *f, const um_retouched *lists,
                            const umbel_retouch_params *params, um_curve *curve,
                            umbel_retouch_result *result, bool *lost,
                            umbel_error *err)
{
    umbel_key_list members = um_key_list_view(&lists->members);
    umbel_key_list never = um_key_list_view(&lists->never);
    recorder r = {curve, params};
    umbel_retouch_params p = *params;

    if (curve) {
        p.watch = record_step;
        p.ctx = &r;
    }
    return umbel_retouch(f, &members, &never, &p, result, lost, err);
}

/* Reads both lists; never with its lines, to name keys in refusals. */
umbel_status um_retouch_read(const umbel_filter *f, const um_retouch_job *job,
                             um_retouched *out, umbel_error *err)
{
    um_key_list_params keep = {.filter = f, .keep_lines = job->find_lost};
    umbel_key_list members;

    UM_TRY(um_key_list_read(&out->members, job->members, &keep, err));
    keep.keep_lines = true;
    UM_TRY(um_key_list_read(&out->never, job->never, &keep, err));
    members = um_key_list_view(&out->members);
    if (!job->params.allow_members)
        UM_TRY(um_refuse_members(f, &members, &out->never,
                                 "take members off the list, or say "
                                 "--allow-members to lose them",
                                 err));
    if (job->find_lost && !(out->lost = calloc(out->members.n + 1, 1)))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu members",
                       out->members.n);
    return UMBEL_OK;
}

/* Retouches a copy of the original filter with the default method and without a
 * limit, to record the curve. */
static umbel_status explore(umbel_filter *before, const um_retouch_job *job,
                            um_retouched *out, umbel_error *err)
{
    umbel_retouch_params params = job->params;
    umbel_retouch_result ignored;

    params.method = NULL;
    params.cost = 0;
    params.max_fn = 1 - 1e-9; /* almost no limit, but weights count */
    return retouch(before, out, &params, &out->more, &ignored, NULL, err);
}

umbel_status um_retouch_run_lists(umbel_filter *f, const um_retouch_job *job,
                                  um_retouched *out, umbel_error *err)
{
    umbel_filter *before = NULL;
    umbel_status status;

    if (job->explore)
        UM_TRY(umbel_copy(f, &before, err));
    status = retouch(f, out, &job->params, job->record ? &out->curve : NULL,
                     &out->result, out->lost, err);
    if (status)
        goto done;
    if (before && out->result.left && !out->result.stopped)
        status = explore(before, job, out, err);
done:
    umbel_close(before);
    return status;
}

void um_retouched_fini(um_retouched *r)
{
    um_key_list_fini(&r->members);
    um_key_list_fini(&r->never);
    um_curve_fini(&r->curve);
    um_curve_fini(&r->more);
    free(r->lost);
    *r = (um_retouched){0};
}

bool um_method_uses(const char *method, unsigned param)
{
    const um_method *row =
        method ? um_method_find(method) : um_method_row(0); /* the default */

    return row && row->uses & param;
}
