/*
 * compare_sample.c - a way that takes long, estimated from a sample.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/key_list.h"
#include "filter/sizing.h"
#include "negatives/compare/compare.h"

#include <umbel/plan.h>

enum {
    SAMPLED = 1 << 16, /* negatives of a sample */
    MAX_SAMPLED = 3 * SAMPLED,
    LEAST_MEMBERS = 300
};

/*
 * A scene of each n-th member and negative, in the n-th part of the cells, has
 * cells as full, and as many negatives near each of them: n times what it
 * leaves is what the whole leaves. Negatives are taken by weight.
 */
typedef struct sample {
    um_scene scene;
    umbel_key_list members, never;
    double every; /* n */
    umbel_digest *digests;
    double *weights;
} sample;

static bool sample_get(sample *x, const um_scene *s)
{
    size_t members = (size_t)((double)s->members->n / x->every);
    size_t never = (size_t)((double)s->never->n / x->every);

    x->members = (umbel_key_list)UMBEL_KEY_LIST(NULL, members);
    x->never = (umbel_key_list)UMBEL_KEY_LIST(NULL, never);
    x->digests = um_get(&s->alloc, (members + never) * sizeof *x->digests);
    x->weights = um_get(&s->alloc, never * sizeof *x->weights);
    if (!x->digests || !x->weights)
        return false;
    for (size_t i = 0; i < members; i++)
        x->digests[i] = s->members->digests[(size_t)((double)i * x->every)];
    for (size_t i = 0; i < never; i++) {
        size_t at = (size_t)(((double)i + 0.5) * x->every);
        at = s->by_weight ? s->by_weight[at] : at;
        x->digests[members + i] = s->never->digests[at];
        x->weights[i] = um_list_weight(s->never, at);
    }
    x->members.digests = x->digests;
    x->never.digests = x->digests + members;
    x->never.weights = x->weights;
    return true;
}

static void sample_put(sample *x, const umbel_alloc *alloc)
{
    um_put(alloc, x->digests, (x->members.n + x->never.n) * sizeof *x->digests);
    um_put(alloc, x->weights, x->never.n * sizeof *x->weights);
    um_digest_index_fini(&x->scene.held);
    um_digest_index_fini(&x->scene.listed);
}

static umbel_status sample_index(sample *x, umbel_error *err)
{
    um_scene *s = &x->scene;

    s->members = &x->members;
    s->never = &x->never;
    s->capacity = x->members.n;
    s->by_weight = NULL;
    UM_TRY(um_digest_index_init(&s->held, &s->alloc, x->members.digests,
                                x->members.n, err));
    return um_digest_index_init(&s->listed, &s->alloc, x->never.digests,
                                x->never.n, err);
}

static umbel_status plan_whole(const um_scene *s, const um_strategy_row *row,
                               umbel_plan *out, umbel_error *err)
{
    umbel_setting groups = {"groups", row->groups};
    umbel_params p = s->params;

    if (row->addressing)
        p.addressing = row->addressing;
    p.fpr = 0;
    p.capacity = s->capacity;
    p.settings = &groups;
    p.nsettings = 1;
    return umbel_make_plan("bloom", &p, s->bytes, out, err);
}

/* The shape and size of the whole, the rest from the sample. Groups lose no
 * member. */
static void scale_up(const um_strategy_row *row, const umbel_plan *whole,
                     double every, umbel_strategy *w)
{
    w->bytes = whole->bytes;
    w->cells = whole->cells;
    w->hashes = whole->hashes;
    w->probes = whole->hashes * row->groups;
    w->weight_left *= every;
    w->sample = (uint32_t)(every + 0.5);
}

/* A sample in whole lines of cells, so that they are as full. */
umbel_status um_strategy_estimate(const um_scene *s, const um_strategy_row *row,
                                  uint64_t every, umbel_strategy *out,
                                  umbel_error *err)
{
    sample x = {.scene = *s};
    umbel_plan whole;
    umbel_status status;

    if (plan_whole(s, row, &whole, NULL) != UMBEL_OK || whole.bytes > s->bytes)
        return um_strategy_try(s, row, true, out, err); /* which says why */
    x.scene.held = x.scene.listed = (um_digest_index){0};
    uint64_t line = 8 * (uint64_t)UM_SECTION_ALIGN;
    uint64_t lines = (whole.cells + line * every - 1) / (line * every);
    x.every = (double)whole.cells / (double)(line * lines);
    x.scene.bytes = whole.bytes - whole.cells / 8 + lines * UM_SECTION_ALIGN;
    if (!sample_get(&x, s))
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for a sample");
    else
        status = sample_index(&x, err);
    if (status == UMBEL_OK)
        status = um_strategy_try(&x.scene, row, false, out, err);
    if (status == UMBEL_OK && out->status == UMBEL_OK)
        scale_up(row, &whole, x.every, out);
    sample_put(&x, &s->alloc);
    return status;
}

/* Samples keep enough members for their rates to hold. */
uint64_t um_strategy_sample(const um_scene *s, const um_strategy_row *row)
{
    size_t every = s->never->n / SAMPLED, most = s->members->n / LEAST_MEMBERS;

    if (!row->slow || s->never->n <= 2 * (size_t)SAMPLED)
        return 1;
    every = every < most ? every : most;
    every = every > 1 ? every : 1;
    return s->never->n / every <= MAX_SAMPLED ? every : 0;
}
