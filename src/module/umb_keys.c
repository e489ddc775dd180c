/*
 * umb_keys.c - UMB.CHECK, MCHECK: keys of a filter.
 */
#include "module/keys.h"
#include "module/stats.h"
#include "module/umb.h"

int um_umb_check(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_error err;
    umbel_slice item;
    um_body *b;
    bool hit;

    if (argc != 3)
        return um_api.WrongArity(ctx);
    if (!um_find_body(ctx, argv[1], &b))
        return UM_DONE;
    item.data = um_api.StringPtrLen(argv[2], &item.len);
    if (umbel_query(b->filter, item.data, item.len, &hit, &err) != UMBEL_OK)
        return um_reply_error(ctx, &err);
    um_stats.queries++;
    return um_api.ReplyWithBool(ctx, hit);
}

int um_umb_mcheck(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_error err;
    um_items items;
    um_body *b;

    if (argc < 3)
        return um_api.WrongArity(ctx);
    if (!um_find_body(ctx, argv[1], &b) ||
        !um_items_init(ctx, &items, argv + 2, argc - 2))
        return UM_DONE;
    if (umbel_query_many(b->filter, items.key, items.n, items.flag, &err) !=
        UMBEL_OK) {
        um_reply_error(ctx, &err);
    } else {
        um_stats.queries += items.n;
        um_api.ReplyWithArray(ctx, (long)items.n);
        for (size_t i = 0; i < items.n; i++)
            um_api.ReplyWithBool(ctx, items.flag[i]);
    }
    um_items_fini(&items);
    return UM_DONE;
}
