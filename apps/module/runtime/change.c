/*
 * change.c - a new filter made from those of several keys, in a thread.
 */
#include "module/runtime/change.h"

#include "module/runtime/keys.h"
#include "module/runtime/write.h"

#include <string.h>

um_change *um_change_open(um_body *first, size_t n)
{
    size_t len = sizeof(um_change) + n * sizeof(um_body *);
    um_change *c = um_api.Alloc(len);

    memset(c, 0, len);
    c->n = n;
    if (first)
        c->from[0] = um_body_hold(first);
    return c;
}

void um_change_close(um_change *c)
{
    for (size_t i = 0; i < c->n; i++)
        um_body_release(c->from[i]);
    umbel_close(c->made);
    if (c->members)
        um_api.Free(c->members);
    if (c->never)
        um_api.Free(c->never);
    um_api.Free(c);
}

static void work(um_job *job)
{
    um_change *c = (um_change *)job;

    job->status = c->make(c, &job->err);
    if (!job->status)
        c->error = umbel_predict(c->made);
}

static bool keys_unchanged(const um_change *c, um_ctx *ctx, um_str **argv)
{
    um_body *now;

    for (size_t i = 0; i < c->n; i++)
        if (!um_peek_body(ctx, argv[i ? i + 2 : 1], &now) || now != c->from[i])
            return false;
    return !c->unchanged || c->unchanged(ctx, c, argv);
}

static int reply(um_job *job, um_ctx *ctx, um_str **argv, int argc)
{
    um_change *c = (um_change *)job;
    umbel_filter *f = c->made;
    um_body *b;

    if (job->client && !keys_unchanged(c, ctx, argv))
        return c->again(ctx, argv, argc);
    if (job->status)
        return um_reply_error(ctx, &job->err);
    if (c->max_error > 0 && c->error > c->max_error)
        return um_reply_text(ctx, "MAXERROR: the error would be %.3g",
                             c->error);
    c->made = NULL;
    if (um_body_open(f, &b, &job->err) != UMBEL_OK)
        return um_reply_error(ctx, &job->err);
    um_write_body(ctx, argv[1], b);
    um_end_change(ctx, argv[1], c->event);
    return c->answer(ctx, c);
}

static void free_job(um_job *job)
{
    um_change_close((um_change *)job);
}

int um_change_run(um_change *c, um_ctx *ctx, um_str **argv, int argc)
{
    uint64_t bytes = 16 * (c->nmembers + c->nnever);

    for (size_t i = 0; i < c->n; i++)
        bytes += c->from[i] ? um_body_bytes(c->from[i]) : 0;
    c->job.work = work;
    c->job.reply = reply;
    c->job.free = free_job;
    c->job.writes = true;
    return um_job_run(&c->job, ctx, argv, argc, bytes);
}
