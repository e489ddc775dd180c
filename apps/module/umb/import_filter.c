/*
 * import_filter.c - UMB.IMPORT key offset total bytes: receives the file of a
 * filter in pieces.
 *
 * The key is created or replaced when the last piece has arrived and a thread
 * has decoded and admitted the filter. Every accepted piece is sent to replicas
 * and the AOF. If the server forks meanwhile (for a full resynchronization or
 * an AOF rewrite), the child's copy would get only the pieces that follow. So a
 * fork ends an import of several pieces, and its client starts again.
 */
#include "module/runtime/jobs.h"
#include "module/runtime/keys.h"
#include "module/runtime/memory.h"
#include "module/runtime/settings.h"
#include "module/runtime/type.h"
#include "module/runtime/write.h"
#include "module/umb/umb.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <umbel/admit.h>

enum { IDLE_SECONDS = 60, FORK_EVENT = 13 };

/* An import in progress; in a list, used only on the main thread. */
typedef struct import {
    struct import *next;
    uint64_t client;
    int db;
    um_str *key;
    umbel_decoder *decoder;
    uint64_t fed, total;
    bool replaces; /* the key had a filter when it began */
    bool busy;     /* a thread is working on it */
    bool primary;  /* its pieces come from the primary or the AOF */
    bool forked;
    time_t used;
} import;

static import *imports;
static bool timer_runs;

typedef struct import_args {
    uint64_t offset, total, max_bytes;
    double max_error;
    umbel_slice bytes;
} import_args;

/* --- imports in progress -------------------------------------------------- */

static void close_import(import *i)
{
    import **at = &imports;

    while (*at != i)
        at = &(*at)->next;
    *at = i->next;
    umbel_decoder_close(i->decoder);
    um_api.FreeString(NULL, i->key);
    um_api.Free(i);
}

/* Drops an import, here and on replicas that have pieces of it. */
static void abort_import(um_ctx *ctx, import *i)
{
    if (i->fed > 0 && !um_from_primary(ctx))
        um_api.Replicate(ctx, "UMB.IMPORT", "sc", i->key, "ABORT");
    close_import(i);
}

static import *find_import(um_ctx *ctx, const um_str *key)
{
    int db = um_api.GetSelectedDb(ctx);
    size_t len, other;
    const char *text = um_api.StringPtrLen(key, &len);

    for (import *i = imports; i; i = i->next) {
        const char *name = um_api.StringPtrLen(i->key, &other);
        if (i->db == db && len == other && memcmp(text, name, len) == 0)
            return i;
    }
    return NULL;
}

static bool is_idle(const import *i)
{
    time_t now = time(NULL);

    return !i->busy && (now - i->used > IDLE_SECONDS || now < i->used);
}

static um_timer_run abort_idle;

static void start_timer(um_ctx *ctx)
{
    if (timer_runs)
        return;
    um_api.CreateTimer(ctx, 1000LL * IDLE_SECONDS / 4, abort_idle, NULL);
    timer_runs = true;
}

/* Aborts imports that their clients gave up. A replica waits for its primary to
 * do that. */
static void abort_idle(um_ctx *ctx, void *unused)
{
    (void)unused;
    for (import *i = imports, *next; i; i = next) {
        next = i->next;
        if (!is_idle(i) || um_api.AvoidReplicaTraffic() ||
            um_api.GetContextFlags(ctx) & UM_IS_REPLICA)
            continue;
        um_api.SelectDb(ctx, i->db);
        abort_import(ctx, i);
    }
    timer_runs = false;
    if (imports)
        start_timer(ctx);
}

static void on_fork(um_ctx *ctx, um_server_event event, uint64_t sub,
                    void *data)
{
    (void)ctx;
    (void)event;
    (void)data;
    if (sub != 0)
        return; /* the child ended */
    for (import *i = imports; i; i = i->next)
        i->forked |= i->fed > 0 && !i->primary;
}

void um_import_init(um_ctx *ctx)
{
    um_server_event fork = {FORK_EVENT, 1};

    um_api.SubscribeToServerEvent(ctx, fork, on_fork);
}

static umbel_status open_import(um_ctx *ctx, const um_str *key,
                                const import_args *a, bool replaces,
                                import **out, umbel_error *err)
{
    umbel_decoder *d;
    size_t len;
    const char *text = um_api.StringPtrLen(key, &len);
    import *i;

    UM_TRY(um_pieces_open(a->total, um_memory_limit(ctx), &d, err));
    i = um_api.Alloc(sizeof *i);
    *i = (import){.next = imports,
                  .client = um_api.GetClientId(ctx),
                  .db = um_api.GetSelectedDb(ctx),
                  .key = um_api.CreateString(NULL, text, len),
                  .decoder = d,
                  .total = a->total,
                  .replaces = replaces,
                  .primary = um_from_primary(ctx),
                  .used = time(NULL)};
    imports = i;
    if (a->bytes.len < a->total)
        start_timer(ctx);
    *out = i;
    return UMBEL_OK;
}

/* --- arguments ------------------------------------------------------------ */

static bool parse(um_ctx *ctx, um_str **argv, int argc, import_args *a)
{
    *a = (import_args){.max_bytes = (uint64_t)um_settings.max_import_bytes};
    if (!um_whole_arg(ctx, "offset", argv[2], INT64_MAX, &a->offset) ||
        !um_whole_arg(ctx, "total", argv[3], INT64_MAX, &a->total))
        return false;
    a->bytes.data = um_api.StringPtrLen(argv[4], &a->bytes.len);
    for (int i = 5; i < argc; i += 2) {
        uint64_t most;
        if (i + 1 == argc)
            return um_api.WrongArity(ctx), false;
        if (um_is_repeated(ctx, argv, 5, i))
            return false;
        if (um_is_word(argv[i], "maxbytes")) {
            if (!um_whole_arg(ctx, "MAXBYTES", argv[i + 1], INT64_MAX, &most))
                return false;
            a->max_bytes = most < a->max_bytes ? most : a->max_bytes;
        } else if (!um_is_word(argv[i], "maxerror")) {
            um_reply_text(ctx, "MAXBYTES or MAXERROR is expected after bytes");
            return false;
        } else if (!um_share_arg(ctx, "MAXERROR", argv[i + 1], &a->max_error)) {
            return false;
        }
    }
    return true;
}

/* Returns true if another client feeds the import. Imports from a former
 * primary or an earlier role belong to nobody. */
static bool is_taken(um_ctx *ctx, const import *i)
{
    return !i->primary && !um_from_primary(ctx) && !is_idle(i) &&
           i->client != um_api.GetClientId(ctx);
}

/* Checks the first piece; nothing of a refused piece is stored. */
static umbel_status check_first(um_ctx *ctx, const import_args *a,
                                const import *running, umbel_error *err)
{
    if (running && (running->busy || is_taken(ctx, running)))
        return um_fail(err, UMBEL_E_REFUSED,
                       "key: another import of this key is running");
    if (a->total > a->max_bytes && !um_from_primary(ctx))
        return um_fail(err, UMBEL_E_LIMIT,
                       "total: %" PRIu64 " bytes, at most %" PRIu64
                       " are allowed",
                       a->total, a->max_bytes);
    if (a->total == 0)
        return um_fail(err, UMBEL_E_FORMAT, "total must not be 0");
    return um_from_primary(ctx) ? UMBEL_OK
                                : um_memory_check(ctx, a->total, err);
}

static umbel_status check_next(um_ctx *ctx, const import_args *a,
                               const import *i, umbel_error *err)
{
    if (!i)
        return um_fail(err, UMBEL_E_REFUSED,
                       "offset: no import of this key has begun: begin with "
                       "offset 0");
    if (i->busy ||
        (!um_from_primary(ctx) && i->client != um_api.GetClientId(ctx)))
        return um_fail(err, UMBEL_E_REFUSED,
                       "key: another import of this key is running");
    if (a->total != i->total)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "total: the import began with %" PRIu64, i->total);
    if (a->offset != i->fed)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "offset: the next piece begins at %" PRIu64, i->fed);
    return UMBEL_OK;
}

static umbel_status check_piece(const import_args *a, umbel_error *err)
{
    if (a->offset > a->total || a->bytes.len > a->total - a->offset)
        return um_fail(err, UMBEL_E_FORMAT,
                       "bytes: %zu bytes at offset %" PRIu64
                       " go beyond the total of %" PRIu64,
                       a->bytes.len, a->offset, a->total);
    if (a->bytes.len == 0)
        return um_fail(err, UMBEL_E_FORMAT, "bytes: none");
    return UMBEL_OK;
}

/* --- a piece -----------------------------------------------------------------
 *
 * The first piece allocates the memory of the filter, and the last one decodes
 * and admits it; both are done by a thread. The client may disconnect before
 * the thread ends, so the piece is retained.
 */

typedef struct piece_job {
    um_job job;
    import *import; /* busy, so nobody else frees it; NULL after the reply */
    umbel_decoder *decoder;
    um_str *piece;
    bool last, admit;
    double max_error;
    umbel_filter *made;
} piece_job;

static umbel_status check_admission(const piece_job *j, umbel_error *err)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling ruling;

    wants.max_error = j->max_error;
    UM_TRY(umbel_admit(j->made, &wants, &ruling, err));
    if (ruling.admitted)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED, "bytes: not admitted: %s",
                   ruling.reason[0].text);
}

static void work(um_job *job)
{
    piece_job *j = (piece_job *)job;
    size_t len;
    const char *bytes = um_api.StringPtrLen(j->piece, &len);

    job->status = umbel_decoder_feed(j->decoder, bytes, len, &job->err);
    if (!job->status && j->last)
        job->status = umbel_decoder_finish(j->decoder, &j->made, &job->err);
    if (!job->status && j->last && j->admit)
        job->status = check_admission(j, &job->err);
}

static int refuse(um_ctx *ctx, const umbel_error *err)
{
    um_refused_loads++;
    return um_reply_error(ctx, err);
}

static umbel_status store_filter(piece_job *j, um_ctx *ctx, um_str **argv,
                                 const import *i, umbel_error *err)
{
    umbel_filter *f = j->made;
    um_body *b;

    if (i->forked)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the server saved its data meanwhile: begin again with "
                       "offset 0");
    if (!um_peek_body(ctx, argv[1], &b) || (b != NULL) != i->replaces)
        return um_fail(err, UMBEL_E_REFUSED,
                       "key: it was %s while the import ran",
                       i->replaces ? "deleted" : "made");
    if (um_memory_is_over(ctx))
        return um_fail(err, UMBEL_E_LIMIT,
                       "bytes: decoded, the filter does not fit into "
                       "maxmemory");
    j->made = NULL;
    um_try_unlock(f);
    UM_TRY(um_body_open(f, &b, err));
    um_write_body(ctx, argv[1], b);
    return UMBEL_OK;
}

static int reply(um_job *job, um_ctx *ctx, um_str **argv, int argc)
{
    piece_job *j = (piece_job *)job;
    import *i = j->import;
    size_t len;

    (void)argc;
    j->import = NULL;
    i->busy = false;
    um_api.StringPtrLen(j->piece, &len);
    if (!job->status && j->last)
        job->status = store_filter(j, ctx, argv, i, &job->err);
    if (job->status) {
        abort_import(ctx, i);
        return refuse(ctx, &job->err);
    }
    i->fed += len;
    i->used = time(NULL);
    um_api.Replicate(ctx, "UMB.IMPORT", "ssss", argv[1], argv[2], argv[3],
                     argv[4]);
    if (!j->last)
        return um_api.ReplyWithLongLong(ctx, (long long)i->fed);
    close_import(i);
    um_api.NotifyKeyspaceEvent(ctx, UM_NOTIFY_MODULE, "umb.import", argv[1]);
    return um_api.ReplyWithSimpleString(ctx, "OK");
}

/* Frees a job. If its reply did not run, because the client is gone or writes
 * are paused, marks the import as idle and unable to continue. */
static void free_job(um_job *job)
{
    piece_job *j = (piece_job *)job;

    if (j->import) {
        j->import->busy = false;
        j->import->forked = true;
        j->import->used = 0;
    }
    umbel_close(j->made);
    um_api.FreeString(NULL, j->piece);
    um_api.Free(j);
}

static int start_piece(um_ctx *ctx, um_str **argv, int argc, import *i,
                       const import_args *a)
{
    piece_job *j = um_api.Alloc(sizeof *j);
    bool first = a->offset == 0;
    bool last = a->offset + a->bytes.len == a->total;

    i->busy = true;
    *j = (piece_job){.job = {work, reply, free_job, .writes = true},
                     .import = i,
                     .decoder = i->decoder,
                     .piece = um_api.HoldString(NULL, argv[4]),
                     .last = last,
                     .admit = !um_from_primary(ctx),
                     .max_error = a->max_error};
    return um_job_run(&j->job, ctx, argv, argc, first || last ? i->total : 0);
}

/* --- the command ---------------------------------------------------------- */

static int import_abort(um_ctx *ctx, um_str *key)
{
    import *i = find_import(ctx, key);

    if (i && i->busy)
        return um_reply_text(ctx, "key: a piece of it is being checked");
    if (i)
        abort_import(ctx, i);
    return um_api.ReplyWithSimpleString(ctx, "OK");
}

static int begin(um_ctx *ctx, um_str **argv, int argc, const import_args *a)
{
    import *i = find_import(ctx, argv[1]);
    umbel_error err;
    void *value;

    if (check_first(ctx, a, i, &err) != UMBEL_OK)
        return refuse(ctx, &err);
    if (!um_find_value(ctx, argv[1], um_filter_type, &value))
        return UM_DONE;
    if (i)
        abort_import(ctx, i);
    if (open_import(ctx, argv[1], a, value, &i, &err) != UMBEL_OK)
        return refuse(ctx, &err);
    return start_piece(ctx, argv, argc, i, a);
}

int um_umb_import(um_ctx *ctx, um_str **argv, int argc)
{
    import_args a;
    umbel_error err;
    import *i;

    if (argc == 3 && um_is_word(argv[2], "abort"))
        return import_abort(ctx, argv[1]);
    if (argc < 5)
        return um_api.WrongArity(ctx);
    if (!parse(ctx, argv, argc, &a))
        return UM_DONE;
    if (check_piece(&a, &err) != UMBEL_OK)
        return refuse(ctx, &err);
    if (a.offset == 0)
        return begin(ctx, argv, argc, &a);
    i = find_import(ctx, argv[1]);
    if (check_next(ctx, &a, i, &err) != UMBEL_OK)
        return refuse(ctx, &err);
    if (i->forked) {
        abort_import(ctx, i);
        return um_reply_text(ctx, "offset: the server saved its data or "
                                  "paused meanwhile: begin again with offset "
                                  "0");
    }
    return start_piece(ctx, argv, argc, i, &a);
}
