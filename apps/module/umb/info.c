/*
 * info.c - UMB.INFO, ESTIMATE: properties of a filter.
 */
#include "module/runtime/jobs.h"
#include "module/runtime/keys.h"
#include "module/umb/umb.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <umbel/describe.h>
#include <umbel/estimate.h>

typedef struct info_job {
    um_job job;
    um_body *body, *other; /* if other is NULL, only body is used */
    bool full;
    bool has_keys;
    umbel_info info;
    double expected_error; /* with as many keys as were added */
    umbel_interval keys;
    umbel_overlap overlap;
} info_job;

static void free_job(um_job *job)
{
    info_job *j = (info_job *)job;

    um_body_release(j->body);
    um_body_release(j->other);
    um_api.Free(j);
}

static info_job *open_job(um_body *b, void (*work)(um_job *),
                          int (*reply)(um_job *, um_ctx *, um_str **, int))
{
    info_job *j = um_api.Alloc(sizeof *j);

    *j = (info_job){.job = {work, reply, free_job, .client = NULL},
                    .body = um_body_hold(b)};
    return j;
}

static void reply_real(um_ctx *ctx, double x)
{
    if (isfinite(x))
        um_api.ReplyWithDouble(ctx, x);
    else
        um_api.ReplyWithNull(ctx);
}

static void reply_interval(um_ctx *ctx, const char *name,
                           const umbel_interval *i)
{
    const char *const ends[] = {"", "_low", "_high"};
    const double values[] = {i->value, i->low, i->high};
    char text[64];

    for (size_t k = 0; k < UM_COUNT(ends); k++) {
        snprintf(text, sizeof text, "%s%s", name, ends[k]);
        um_api.ReplyWithCString(ctx, text);
        reply_real(ctx, values[k]);
    }
}

/* --- info ----------------------------------------------------------------- */

static void reply_hex(um_ctx *ctx, uint64_t n)
{
    char text[20];

    snprintf(text, sizeof text, "%016" PRIx64, n);
    um_api.ReplyWithCString(ctx, text);
}

/* Replies with a number, or as text if it is too large for the server's signed
 * numbers. */
static void reply_count(um_ctx *ctx, uint64_t n)
{
    char text[24];

    if (n <= INT64_MAX) {
        um_api.ReplyWithLongLong(ctx, (long long)n);
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64, n);
    um_api.ReplyWithCString(ctx, text);
}

static void reply_field(um_ctx *ctx, const umbel_field *f)
{
    um_api.ReplyWithCString(ctx, f->name);
    switch (f->type) {
    case UMBEL_FIELD_TEXT:
        um_api.ReplyWithCString(ctx, f->value.text);
        break;
    case UMBEL_FIELD_COUNT:
        reply_count(ctx, f->value.count);
        break;
    case UMBEL_FIELD_REAL:
        reply_real(ctx, f->value.real);
        break;
    case UMBEL_FIELD_HEX:
        reply_hex(ctx, f->value.count);
        break;
    case UMBEL_FIELD_FLAG:
        um_api.ReplyWithBool(ctx, f->value.count != 0);
        break;
    }
}

static void describe(um_job *job)
{
    info_job *j = (info_job *)job;
    const umbel_filter *f = j->body->filter;

    j->expected_error = umbel_fpr_at(f, (double)umbel_added(f));
    if (!j->full) {
        umbel_describe_shape(f, &j->info);
        return;
    }
    umbel_describe(f, &j->info);
    j->has_keys = umbel_estimate_keys(f, &j->keys, NULL) == UMBEL_OK;
}

static int reply_info(um_job *job, um_ctx *ctx, um_str **argv, int argc)
{
    const info_job *j = (const info_job *)job;

    (void)argv;
    (void)argc;
    um_api.ReplyWithMap(ctx, (long)j->info.n + 1 + (j->has_keys ? 3 : 0));
    um_api.ReplyWithCString(ctx, "expected_error");
    reply_real(ctx, j->expected_error);
    for (size_t i = 0; i < j->info.n; i++)
        reply_field(ctx, &j->info.field[i]);
    if (j->has_keys)
        reply_interval(ctx, "keys", &j->keys);
    return UM_DONE;
}

int um_umb_info(um_ctx *ctx, um_str **argv, int argc)
{
    info_job *j;
    um_body *b;

    if (argc < 2 || argc > 3)
        return um_api.WrongArity(ctx);
    if (argc == 3 && !um_is_word(argv[2], "full"))
        return um_reply_text(ctx, "FULL or nothing is expected after key");
    if (!um_find_body(ctx, argv[1], &b))
        return UM_DONE;
    j = open_job(b, describe, reply_info);
    j->full = argc == 3;
    return um_job_run(&j->job, ctx, argv, argc, j->full ? um_body_bytes(b) : 0);
}

/* --- estimate ------------------------------------------------------------- */

static void estimate(um_job *job)
{
    info_job *j = (info_job *)job;

    job->status = umbel_estimate_keys(j->body->filter, &j->keys, &job->err);
    if (!job->status && j->other)
        job->status = umbel_estimate_overlap(j->body->filter, j->other->filter,
                                             &j->overlap, &job->err);
}

static int reply_estimate(um_job *job, um_ctx *ctx, um_str **argv, int argc)
{
    const info_job *j = (const info_job *)job;

    (void)argv;
    (void)argc;
    if (job->status)
        return um_reply_error(ctx, &job->err);
    um_api.ReplyWithMap(ctx, j->other ? 9 : 3);
    if (!j->other) {
        reply_interval(ctx, "keys", &j->keys);
        return UM_DONE;
    }
    reply_interval(ctx, "union", &j->overlap.both_or_one);
    reply_interval(ctx, "intersection", &j->overlap.both);
    reply_interval(ctx, "jaccard", &j->overlap.jaccard);
    return UM_DONE;
}

int um_umb_estimate(um_ctx *ctx, um_str **argv, int argc)
{
    um_body *b, *other = NULL;
    info_job *j;

    if (argc < 2 || argc > 3)
        return um_api.WrongArity(ctx);
    if (!um_find_body(ctx, argv[1], &b) ||
        (argc == 3 && !um_find_body(ctx, argv[2], &other)))
        return UM_DONE;
    j = open_job(b, estimate, reply_estimate);
    if (other)
        j->other = um_body_hold(other);
    return um_job_run(&j->job, ctx, argv, argc, 2 * um_body_bytes(b));
}
