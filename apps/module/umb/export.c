/*
 * export.c - UMB.EXPORT key [offset]: sends the file of a filter in pieces.
 *
 * All pieces of a file must show the same state of the filter. So the
 * connection that begins an export holds the body until it has read the last
 * piece, or has read nothing for a minute. If the filter is changed meanwhile,
 * the key gets a copy. The first piece contains the checksum of all cells, so a
 * thread computes it.
 */
#include "module/runtime/jobs.h"
#include "module/runtime/keys.h"
#include "module/runtime/type.h"
#include "module/umb/umb.h"

#include "base/error.h"

#include <string.h>
#include <time.h>

enum { IDLE_SECONDS = 60 };
/* The server's thread copies and sends a piece while others wait: 0.1 ms. */
enum { EXPORT_PIECE = 256 << 10 };

/* An export in progress; in a list, used only on the main thread. */
typedef struct export
{
    struct export *next;
    uint64_t client;
    int db;
    um_str *key;
    um_body *body;
    time_t used;
}
export;

static export *exports;
static bool timer_runs;

/* --- exports in progress -------------------------------------------------- */

static void close_export(export **at)
{
    export *e = *at;

    *at = e->next;
    um_body_release(e->body);
    um_api.FreeString(NULL, e->key);
    um_api.Free(e);
}

static void close_idle(um_ctx *ctx, void *unused)
{
    time_t now = time(NULL);

    (void)unused;
    timer_runs = false;
    for (export **at = &exports; *at;)
        if (now - (*at)->used > IDLE_SECONDS || now < (*at)->used)
            close_export(at);
        else
            at = &(*at)->next;
    if (exports && ctx) {
        um_api.CreateTimer(ctx, 1000LL * IDLE_SECONDS / 4, close_idle, NULL);
        timer_runs = true;
    }
}

static bool same_text(const um_str *a, const um_str *b)
{
    size_t n, m;
    const char *s = um_api.StringPtrLen(a, &n), *t = um_api.StringPtrLen(b, &m);

    return n == m && memcmp(s, t, n) == 0;
}

static export **find_export(um_ctx *ctx, const um_str *key)
{
    uint64_t client = um_api.GetClientId(ctx);
    int db = um_api.GetSelectedDb(ctx);

    for (export **at = &exports; *at; at = &(*at)->next)
        if ((*at)->client == client && (*at)->db == db &&
            same_text((*at)->key, key))
            return at;
    return NULL;
}

static void open_export(um_ctx *ctx, const um_str *key, um_body *b)
{
    export *e = um_api.Alloc(sizeof *e);
    size_t len;
    const char *text = um_api.StringPtrLen(key, &len);

    *e = (export){.next = exports,
                  .client = um_api.GetClientId(ctx),
                  .db = um_api.GetSelectedDb(ctx),
                  .key = um_api.CreateString(NULL, text, len),
                  .body = um_body_hold(b),
                  .used = time(NULL)};
    exports = e;
    if (!timer_runs)
        close_idle(ctx, NULL);
}

/* --- pieces --------------------------------------------------------------- */

typedef struct export_job {
    um_job job;
    um_body *body;
    uint64_t offset, total;
    size_t len;
    char *piece;
} export_job;

static void work(um_job *job)
{
    export_job *j = (export_job *)job;

    job->status = umbel_encode_part(j->body->filter, j->offset, j->piece,
                                    j->len, &job->err);
}

static int reply(um_job *job, um_ctx *ctx, um_str **argv, int argc)
{
    const export_job *j = (const export_job *)job;
    uint64_t end = j->offset + j->len;
    export **at;

    (void)argc;
    if (job->status)
        return um_reply_error(ctx, &job->err);
    at = find_export(ctx, argv[1]);
    if (at && end == j->total)
        close_export(at);
    else if (at)
        (*at)->used = time(NULL);
    um_api.ReplyWithArray(ctx, 3);
    um_api.ReplyWithLongLong(ctx, end == j->total ? 0 : (long long)end);
    um_api.ReplyWithLongLong(ctx, (long long)j->total);
    return um_api.ReplyWithStringBuffer(ctx, j->piece, j->len);
}

static void free_job(um_job *job)
{
    export_job *j = (export_job *)job;

    um_body_release(j->body);
    if (j->piece)
        um_api.Free(j->piece);
    um_api.Free(j);
}

/* Returns the body to read from; NULL after an error reply. */
static um_body *body_at(um_ctx *ctx, um_str *key, uint64_t offset)
{
    export **at = find_export(ctx, key);
    um_body *b;

    if (offset > 0 && at)
        return (*at)->body;
    if (!um_find_body(ctx, key, &b))
        return NULL;
    if (offset > 0) {
        um_reply_text(ctx, "offset: this connection has begun no export of the "
                           "key: begin with offset 0");
        return NULL;
    }
    if (at)
        close_export(at);
    if (umbel_raw_len(b->filter) > EXPORT_PIECE)
        open_export(ctx, key, b);
    return b;
}

int um_umb_export(um_ctx *ctx, um_str **argv, int argc)
{
    uint64_t offset = 0, total;
    export_job *j;
    um_body *b;

    if (argc < 2 || argc > 3)
        return um_api.WrongArity(ctx);
    if (argc == 3 && !um_whole_arg(ctx, "offset", argv[2], INT64_MAX, &offset))
        return UM_DONE;
    b = body_at(ctx, argv[1], offset);
    if (!b)
        return UM_DONE;
    total = umbel_raw_len(b->filter);
    if (offset >= total)
        return um_reply_text(ctx,
                             "offset must be below %llu, the bytes of the "
                             "file",
                             (unsigned long long)total);
    j = um_api.Alloc(sizeof *j);
    *j = (export_job){.job = {work, reply, free_job, .client = NULL},
                      .body = um_body_hold(b),
                      .offset = offset,
                      .total = total};
    j->len =
        total - offset < EXPORT_PIECE ? (size_t)(total - offset) : EXPORT_PIECE;
    j->piece = um_api.Alloc(j->len);
    return um_job_run(&j->job, ctx, argv, argc, offset ? 0 : total);
}
