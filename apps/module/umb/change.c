/*
 * change.c - UMB.MERGE, FOLD, CLEAR, TURN: commands that replace a filter.
 */
#include "module/runtime/keys.h"
#include "module/runtime/memory.h"
#include "module/runtime/type.h"
#include "module/runtime/write.h"
#include "module/umb/umb.h"

#include "base/error.h"

#include <inttypes.h>

static int answer_error(um_ctx *ctx, const um_change *c)
{
    return um_api.ReplyWithDouble(ctx, c->error);
}

static int answer_ok(um_ctx *ctx, const um_change *c)
{
    (void)c;
    return um_api.ReplyWithSimpleString(ctx, "OK");
}

/* --- merge ---------------------------------------------------------------- */

/* Merges all sources into a copy of the first one. */
static umbel_status create_merged(um_change *c, umbel_error *err)
{
    size_t first = c->from[0] ? 0 : 1;

    UM_TRY(umbel_copy(c->from[first]->filter, &c->made, err));
    for (size_t i = first + 1; i < c->n; i++)
        UM_TRY(umbel_merge(c->made, c->from[i]->filter, c->op, err));
    return UMBEL_OK;
}

static bool parse_op(um_ctx *ctx, const um_str *word, umbel_merge_op *out)
{
    static const char *const names[] = {"or", "and", "add", "max", "minus"};

    for (size_t i = 0; i < UM_COUNT(names); i++)
        if (um_is_word(word, names[i])) {
            *out = (umbel_merge_op)i;
            return true;
        }
    um_reply_text(ctx, "OP must be or, and, add, max or minus");
    return false;
}

static bool parse_merge(um_ctx *ctx, um_change *c, um_str **argv, int argc)
{
    int first = (int)c->n + 2;

    for (int i = first; i < argc; i += 2) {
        if (i + 1 == argc) {
            um_api.WrongArity(ctx);
            return false;
        }
        if (um_is_repeated(ctx, argv, first, i))
            return false;
        if (um_is_word(argv[i], "op") ? !parse_op(ctx, argv[i + 1], &c->op)
            : um_is_word(argv[i], "maxerror")
                ? !um_share_arg(ctx, "MAXERROR", argv[i + 1], &c->max_error)
                : (um_reply_text(ctx, "OP or MAXERROR is expected after "
                                      "numkeys keys"),
                   true))
            return false;
    }
    return true;
}

static bool find_sources(um_ctx *ctx, um_change *c, um_str **argv)
{
    for (size_t i = 1; i < c->n; i++) {
        um_body *b;
        if (!um_find_body(ctx, argv[i + 2], &b))
            return false;
        c->from[i] = um_body_hold(b);
    }
    return true;
}

/* Checks the memory: merging into a new key takes one more filter. */
static bool may_merge(um_ctx *ctx, const um_change *c)
{
    umbel_error err;

    if (c->from[0] ||
        um_memory_check(ctx, um_body_bytes(c->from[1]), &err) == UMBEL_OK)
        return true;
    um_reply_error(ctx, &err);
    return false;
}

int um_umb_merge(um_ctx *ctx, um_str **argv, int argc)
{
    um_change *c;
    uint64_t n;
    void *into;

    if (um_report_keys(ctx, um_keys_merge, argv, argc))
        return UM_DONE;
    if (argc < 4)
        return um_api.WrongArity(ctx);
    if (!um_whole_arg(ctx, "numkeys", argv[2], INT32_MAX, &n))
        return UM_DONE;
    if (n == 0 || n > (uint64_t)argc - 3)
        return um_reply_text(ctx, "numkeys: %" PRIu64 " keys do not follow", n);
    if (!um_find_value(ctx, argv[1], um_filter_type, &into))
        return UM_DONE;
    c = um_change_open(into, (size_t)n + 1);
    c->event = "umb.merge";
    c->again = um_umb_merge;
    c->make = create_merged;
    c->answer = answer_error;
    if (parse_merge(ctx, c, argv, argc) && find_sources(ctx, c, argv) &&
        may_merge(ctx, c))
        return um_change_run(c, ctx, argv, argc);
    um_change_close(c);
    return UM_DONE;
}

/* --- fold ----------------------------------------------------------------- */

static umbel_status create_folded(um_change *c, umbel_error *err)
{
    return umbel_fold(c->from[0]->filter, c->by, &c->made, err);
}

/* Parses a factor, or FPR p, which means the largest factor that keeps the
 * error rate below p. */
static bool parse_fold(um_ctx *ctx, um_str **argv, int argc,
                       const umbel_filter *f, uint64_t *by)
{
    double fpr;

    if (argc == 3)
        return um_whole_arg(ctx, "by", argv[2], UINT32_MAX, by);
    if (!um_is_word(argv[2], "fpr")) {
        um_reply_text(ctx, "a factor or FPR is expected");
        return false;
    }
    if (!um_share_arg(ctx, "FPR", argv[3], &fpr))
        return false;
    *by = umbel_fold_best(f, umbel_added(f), fpr);
    if (*by == 0)
        um_reply_text(ctx, "FPR: the filter's error is higher already");
    return *by > 0;
}

int um_umb_fold(um_ctx *ctx, um_str **argv, int argc)
{
    um_change *c;
    um_body *b;
    uint64_t by;

    if (argc < 3 || argc > 4)
        return um_api.WrongArity(ctx);
    if (!um_find_body(ctx, argv[1], &b) ||
        !parse_fold(ctx, argv, argc, b->filter, &by))
        return UM_DONE;
    c = um_change_open(b, 1);
    c->event = "umb.fold";
    c->again = um_umb_fold;
    c->make = create_folded;
    c->answer = answer_error;
    c->by = by;
    return um_change_run(c, ctx, argv, argc);
}

/* --- clear, turn ---------------------------------------------------------- */

static umbel_status create_cleared(um_change *c, umbel_error *err)
{
    UM_TRY(umbel_copy(c->from[0]->filter, &c->made, err));
    return umbel_clear(c->made, err);
}

static umbel_status create_rotated(um_change *c, umbel_error *err)
{
    UM_TRY(umbel_copy(c->from[0]->filter, &c->made, err));
    return umbel_rotate(c->made, err);
}

static int change_one(um_ctx *ctx, um_str **argv, int argc, const char *event,
                      um_command_run *again,
                      umbel_status (*make)(um_change *, umbel_error *))
{
    um_change *c;
    um_body *b;

    if (argc != 2)
        return um_api.WrongArity(ctx);
    if (!um_find_body(ctx, argv[1], &b))
        return UM_DONE;
    c = um_change_open(b, 1);
    c->event = event;
    c->again = again;
    c->make = make;
    c->answer = answer_ok;
    return um_change_run(c, ctx, argv, argc);
}

int um_umb_clear(um_ctx *ctx, um_str **argv, int argc)
{
    return change_one(ctx, argv, argc, "umb.clear", um_umb_clear,
                      create_cleared);
}

int um_umb_rotate(um_ctx *ctx, um_str **argv, int argc)
{
    return change_one(ctx, argv, argc, "umb.turn", um_umb_rotate,
                      create_rotated);
}
