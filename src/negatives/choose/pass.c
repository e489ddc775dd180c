/*
 * choose_pass.c - going through the members, and two things at once.
 */
#include "base/pipeline.h"
#include "negatives/choose/state.h"

/* --- going through the members --- */

static umbel_status fail_changed(const choosing *c, umbel_error *err)
{
    return um_fail(err, UMBEL_E_MISMATCH,
                   "the list of %zu members changed while it was read",
                   c->members->n);
}

typedef struct pass {
    choosing *c;
    choose_step *step;
    size_t at;    /* the next member */
    uint64_t sum; /* of digests */
} pass;

static umbel_status consume_some(void *ctx, const umbel_digest *d, size_t n,
                                 umbel_error *err)
{
    pass *p = ctx;

    if (n > p->c->members->n - p->at)
        return fail_changed(p->c, err);
    UM_TRY(p->step(p->c, p->at, d, n, err));
    for (size_t i = 0; !p->c->members->kept && i < n; i++)
        p->sum += um_remix(d[i].lo) + d[i].hi;
    p->at += n;
    return UMBEL_OK;
}

static umbel_status go_on(pass *p, size_t to, umbel_error *err)
{
    const um_digest_source *members = p->c->members;

    UM_TRY(members->each(members->ctx, p->at, to, consume_some, p, err));
    return p->at == to ? UMBEL_OK : fail_changed(p->c, err);
}

umbel_status um_go_through_some(choosing *c, size_t from, size_t to,
                                choose_step *step, umbel_error *err)
{
    pass p = {c, step, from, 0};

    return go_on(&p, to, err);
}

/* Members that are read again are the same in every pass, or it fails. */
umbel_status um_go_through(choosing *c, choose_step *step, umbel_error *err)
{
    pass p = {c, step, 0, 0};

    UM_TRY(go_on(&p, c->members->n, err));
    if (c->members->kept)
        return UMBEL_OK;
    if (!c->first_sum)
        c->first_sum = p.sum;
    return p.sum == c->first_sum ? UMBEL_OK : fail_changed(c, err);
}

/* --- two things at once --- */

typedef struct side {
    choose_side *run;
    umbel_status status;
    umbel_error err;
} side;

typedef struct sides {
    choosing *c;
    side both[2];
    size_t begun;
} sides;

static bool next_side(void *ctx, void *piece)
{
    sides *s = ctx;

    if (s->begun == UM_COUNT(s->both))
        return false;
    *(side **)piece = &s->both[s->begun++];
    return true;
}

static void run_side(void *ctx, void *piece)
{
    side *one = *(side **)piece;

    one->status = one->run(((sides *)ctx)->c, &one->err);
}

static bool retain_on(void *ctx, void *piece)
{
    (void)ctx;
    (void)piece;
    return true;
}

/* Members that are read again are read by one at a time. */
umbel_status um_run_both(choosing *c, choose_side *first, choose_side *second,
                         umbel_error *err)
{
    sides s = {.c = c, .both = {{.run = first}, {.run = second}}};
    side *slot[2] = {NULL};
    void *pieces[] = {&slot[0], &slot[1]};
    um_pipeline crew = {.threads = c->members->kept ? c->threads : 1,
                        .pieces = pieces,
                        .npieces = UM_COUNT(pieces),
                        .ctx = &s,
                        .fill = next_side,
                        .work = run_side,
                        .drain = retain_on};

    um_pipeline_run(&crew);
    const side *failed = s.both[0].status ? &s.both[0] : &s.both[1];
    if (failed->status && err)
        *err = failed->err;
    return failed->status;
}
