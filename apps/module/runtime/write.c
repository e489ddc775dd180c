/*
 * write.c - changes to keys, made at once or by a thread.
 */
#include "module/runtime/write.h"

#include "base/alloc.h"
#include "module/runtime/jobs.h"
#include "module/runtime/keys.h"
#include "module/runtime/memory.h"
#include "module/runtime/type.h"

#include <string.h>

/* --- keys that a command changes ----------------------------------------- */

typedef struct copy_job {
    um_job job;
    um_body *from, *copy;
    um_command_run *again;
} copy_job;

bool um_peek_body(um_ctx *ctx, um_str *name, um_body **out)
{
    um_key *key = um_api.OpenKey(ctx, name, UM_READ);
    bool ours;

    *out = NULL;
    if (!key)
        return true;
    ours = um_api.ModuleTypeGetType(key) == um_filter_type;
    if (ours)
        *out = um_api.ModuleTypeGetValue(key);
    um_api.CloseKey(key);
    return ours;
}

void um_write_body(um_ctx *ctx, um_str *name, um_body *b)
{
    um_key *key = um_api.OpenKey(ctx, name, UM_READ | UM_WRITE);
    void *old = NULL;

    if (um_api.ModuleTypeGetType(key) == um_filter_type)
        um_api.ModuleTypeReplaceValue(key, um_filter_type, b, &old);
    else
        um_api.ModuleTypeSetValue(key, um_filter_type, b);
    um_api.CloseKey(key);
    um_body_release(old);
}

void um_end_change(um_ctx *ctx, um_str *name, const char *event)
{
    um_api.ReplicateVerbatim(ctx);
    um_api.NotifyKeyspaceEvent(ctx, UM_NOTIFY_MODULE, event, name);
}

/* --- copies before a change ----------------------------------------------- */

static void work_copy(um_job *job)
{
    copy_job *c = (copy_job *)job;

    job->status = um_body_copy(c->from, &c->copy, &job->err);
}

static int reply_copy(um_job *job, um_ctx *ctx, um_str **argv, int argc)
{
    copy_job *c = (copy_job *)job;
    um_body *now;

    if (job->status)
        return um_reply_error(ctx, &job->err);
    if (um_peek_body(ctx, argv[1], &now) && now == c->from) {
        um_write_body(ctx, argv[1], c->copy);
        c->copy = NULL;
    }
    return c->again(ctx, argv, argc);
}

static void free_copy(um_job *job)
{
    copy_job *c = (copy_job *)job;

    um_body_release(c->from);
    um_body_release(c->copy);
    um_api.Free(c);
}

static void copy_in_thread(um_ctx *ctx, um_str **argv, int argc,
                           um_command_run *again, um_body *b)
{
    copy_job *c = um_api.Alloc(sizeof *c);

    *c = (copy_job){.job = {work_copy, reply_copy, free_copy, .writes = true},
                    .from = um_body_hold(b),
                    .again = again};
    um_job_run(&c->job, ctx, argv, argc, UINT64_MAX);
}

static um_body *copy_at_once(um_ctx *ctx, um_str *name, const um_body *b)
{
    um_body *copy;
    umbel_error err;

    if (um_body_copy(b, &copy, &err) != UMBEL_OK) {
        um_reply_error(ctx, &err);
        return NULL;
    }
    um_write_body(ctx, name, copy);
    return copy;
}

um_body *um_begin_change(um_ctx *ctx, um_str **argv, int argc,
                         um_command_run *again)
{
    um_key *key = um_api.OpenKey(ctx, argv[1], UM_READ | UM_WRITE);
    um_body *b = NULL;

    if (um_api.ModuleTypeGetType(key) == um_filter_type)
        b = um_api.ModuleTypeGetValue(key);
    else if (um_api.KeyType(key) != UM_KEY_EMPTY)
        um_api.ReplyWithError(ctx, UM_WRONG_TYPE);
    else
        um_reply_text(ctx, UM_NO_FILTER);
    um_api.CloseKey(key);
    if (!b || b->holders == 1)
        return b;
    if (!um_may_wait(ctx, um_body_bytes(b)))
        return copy_at_once(ctx, argv[1], b);
    copy_in_thread(ctx, argv, argc, again, b);
    return NULL;
}

/* --- a new filter from those of several keys, made in a thread ------------ */

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
