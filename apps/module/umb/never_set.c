/*
 * never_set.c - UMB.RETOUCH: members of a set NEVER no longer match.
 */
#include "module/runtime/keys.h"
#include "module/runtime/write.h"
#include "module/umb/umb.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <umbel/filter.h>

/* Digests of a set's members. */
typedef struct gathering {
    const umbel_filter *f;
    bool accepted; /* by the primary */
    umbel_digest *digest;
    size_t n, cap;
    umbel_status status;
    umbel_error err;
} gathering;

/* Hashes a member, which is written as items of commands are. An older primary
 * accepted stored keys. */
static umbel_status digest_member(const gathering *g, umbel_slice item,
                                  umbel_digest *out, umbel_error *err)
{
    uint8_t few[512], *space = few;

    if (UMBEL_FORM_SPACE(item.len) > sizeof few)
        space = um_api.TryAlloc(UMBEL_FORM_SPACE(item.len));
    if (!space)
        return um_no_memory(err, item.len);
    umbel_status status =
        umbel_form_key(g->f, item.data, item.len, space, &item, err);
    if (!status || g->accepted)
        status = umbel_digest_many(g->f, &item, 1, out, err);
    if (space != few)
        um_api.Free(space);
    return status;
}

static void gather_member(um_key *key, um_str *member, um_str *value, void *ctx)
{
    gathering *g = ctx;
    umbel_slice item;

    (void)key;
    (void)value;
    if (g->status || g->n == g->cap)
        return;
    item.data = um_api.StringPtrLen(member, &item.len);
    g->status = digest_member(g, item, &g->digest[g->n], &g->err);
    g->n++;
}

/* Reads a set of the server. On failure replies with an error, unless what is
 * NULL, and returns false. */
static bool gather(um_ctx *ctx, um_str *name, const char *what, gathering *g)
{
    um_key *key = um_api.OpenKey(ctx, name, UM_READ);
    void *cursor;

    if (!key || um_api.KeyType(key) != UM_KEY_SET) {
        if (key)
            um_api.CloseKey(key);
        if (what)
            um_reply_text(ctx, "%s: no set of that name", what);
        return false;
    }
    g->accepted = um_from_primary(ctx);
    g->cap = um_api.ValueLength(key);
    g->digest = um_api.TryAlloc((g->cap + 1) * sizeof *g->digest);
    if (!g->digest) {
        um_api.CloseKey(key);
        if (what)
            um_reply_text(ctx, "%s: no memory for its members", what);
        return false;
    }
    cursor = um_api.ScanCursorCreate();
    while (um_api.ScanKey(key, cursor, gather_member, g))
        ;
    um_api.ScanCursorDestroy(cursor);
    um_api.CloseKey(key);
    if (g->status && what)
        um_reply_text(ctx, "%s: %s", what, g->err.text);
    return !g->status;
}

static int by_digest(const void *a, const void *b)
{
    const umbel_digest *x = a, *y = b;

    return x->lo != y->lo ? (x->lo > y->lo) - (x->lo < y->lo)
                          : (x->hi > y->hi) - (x->hi < y->hi);
}

/* Retouches a copy of the filter. The digests are sorted, because sets have a
 * different order on each replica, and the order affects which bits are
 * cleared. */
static umbel_status create_retouched(um_change *c, umbel_error *err)
{
    umbel_key_list members = UMBEL_KEY_LIST(c->members, c->nmembers);
    umbel_key_list never = UMBEL_KEY_LIST(c->never, c->nnever);
    umbel_retouch_params params = UMBEL_RETOUCH_INIT;

    qsort(c->members, c->nmembers, sizeof *c->members, by_digest);
    qsort(c->never, c->nnever, sizeof *c->never, by_digest);
    params.max_fn = c->max_fn;
    UM_TRY(umbel_copy(c->from[0]->filter, &c->made, err));
    return umbel_retouch(c->made, &members, &never, &params, &c->bill, NULL,
                         err);
}

static int answer_bill(um_ctx *ctx, const um_change *c)
{
    const umbel_retouch_result *r = &c->bill;
    const struct {
        const char *name;
        uint64_t n;
    } rows[] = {{"never", r->never},
                {"matched", r->matched},
                {"removed", r->removed},
                {"left", r->left},
                {"members", r->members},
                {"lost", r->lost},
                {"bits_cleared", r->bits_cleared}};

    um_api.ReplyWithMap(ctx, (long)UM_COUNT(rows) + 1);
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        um_api.ReplyWithCString(ctx, rows[i].name);
        um_api.ReplyWithLongLong(ctx, (long long)rows[i].n);
    }
    um_api.ReplyWithCString(ctx, "predicted_error");
    return um_api.ReplyWithDouble(ctx, c->error);
}

static bool gather_both(um_ctx *ctx, um_change *c, um_str **argv)
{
    gathering members = {.f = c->from[0]->filter};
    gathering never = {.f = c->from[0]->filter};
    bool good = gather(ctx, argv[3], "MEMBERS", &members) &&
                gather(ctx, argv[5], "NEVER", &never);

    c->members = members.digest;
    c->never = never.digest;
    c->nmembers = members.n;
    c->nnever = never.n;
    return good;
}

static umbel_digest sum_of(const umbel_digest *d, size_t n)
{
    umbel_digest sum = {0, 0};

    for (size_t i = 0; i < n; i++) {
        sum.lo += d[i].lo;
        sum.hi += d[i].hi;
    }
    return sum;
}

/* Returns true if a set still has the same members. Replicas run the command at
 * the time when it ends here, so with the sets of that time. */
static bool set_unchanged(um_ctx *ctx, um_str *name, const umbel_filter *f,
                          const umbel_digest *d, size_t n)
{
    gathering g = {.f = f};
    umbel_digest then = sum_of(d, n), now = {0, 0};
    bool found = gather(ctx, name, NULL, &g);

    if (found)
        now = sum_of(g.digest, g.n);
    if (g.digest)
        um_api.Free(g.digest);
    return found && g.n == n && now.lo == then.lo && now.hi == then.hi;
}

static bool sets_unchanged(um_ctx *ctx, const um_change *c, um_str **argv)
{
    const umbel_filter *f = c->from[0]->filter;

    return set_unchanged(ctx, argv[3], f, c->members, c->nmembers) &&
           set_unchanged(ctx, argv[5], f, c->never, c->nnever);
}

int um_umb_retouch(um_ctx *ctx, um_str **argv, int argc)
{
    um_change *c;
    um_body *b;
    double max_fn = 0.01;

    if (um_report_keys(ctx, um_keys_retouch, argv, argc))
        return UM_DONE;
    if (argc != 6 && argc != 8)
        return um_api.WrongArity(ctx);
    if (!um_is_word(argv[2], "members") || !um_is_word(argv[4], "never") ||
        (argc == 8 && !um_is_word(argv[6], "maxfn")))
        return um_reply_text(ctx, "MEMBERS set NEVER set [MAXFN p] is expected "
                                  "after key");
    if ((argc == 8 && !um_share_arg(ctx, "MAXFN", argv[7], &max_fn)) ||
        !um_find_body(ctx, argv[1], &b))
        return UM_DONE;
    c = um_change_open(b, 1);
    c->event = "umb.retouch";
    c->again = um_umb_retouch;
    c->make = create_retouched;
    c->answer = answer_bill;
    c->unchanged = sets_unchanged;
    c->max_fn = max_fn;
    if (gather_both(ctx, c, argv))
        return um_change_run(c, ctx, argv, argc);
    um_change_close(c);
    return UM_DONE;
}
