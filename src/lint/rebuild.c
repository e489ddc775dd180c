/*
 * rebuild.c - repairs a filter: builds it anew from its members, with the
 * parameters that it has, but for those that lint found fault with.
 */
#include "lint/lint.h"

#include "base/error.h"
#include "build/build.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <math.h>

static umbel_status count_batch(void *ctx, const um_key_batch *batch,
                                umbel_error *err)
{
    (void)err;
    *(uint64_t *)ctx += batch->n;
    return UMBEL_OK;
}

umbel_status um_lint_rebuild(const um_lint_job *job, umbel_filter **out,
                             umbel_error *err)
{
    const um_shape *s = um_shape_of(job->filter);
    um_build_job b = {.kind = s->kind->name, .params = UMBEL_PARAMS_INIT};
    um_build_result result = {0};
    umbel_setting settings[UM_MAX_SETTINGS];
    uint64_t keys = 0;

    if (s->kind->built || s->hash->keyed || s->kind->links)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "%s cannot be repaired here: build it again with umbel "
                       "build",
                       s->hash->keyed ? "a filter with a secret"
                                      : "a filter of this kind");
    if (!um_keys_rereadable(job->members))
        return um_fail(err, UMBEL_E_IO,
                       "members are read more than once: give them as a file");
    double capacity, promise = um_lint_promise(job->filter, &capacity);

    UM_TRY(um_keys_each_batch(job->members, count_batch, &keys, err));
    b.params.addressing = s->addressing->name;
    b.params.hash = s->hash->implied || s->hash->former ? NULL : s->hash->name;
    b.params.seed = s->hash->former ? 0 : s->seed;
    b.params.seed += s->addressing == &um_addressing_universal;
    b.params.key_form = umbel_key_form_of(job->filter);
    if (promise > 0 && promise < 0.5)
        b.params.fpr = s->capacity ? s->fpr : ldexp(1, -(int)s->hashes);
    b.params.capacity = keys > s->capacity ? keys : s->capacity;
    for (size_t i = 0; i < um_count_settings(s->kind) && !s->kind->growing; i++)
        if (s->setting[i] != s->kind->settings[i].standard)
            settings[b.params.nsettings++] =
                (umbel_setting){s->kind->settings[i].name, s->setting[i]};
    b.params.settings = settings;
    b.members = *job->members;
    UM_TRY(um_build(&b, &result, err));
    *out = result.filter;
    return UMBEL_OK;
}
