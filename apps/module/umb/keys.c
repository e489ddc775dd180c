/*
 * keys.c - single keys of a filter: add, check, count, remove.
 */
#include "module/runtime/keys.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/handle.h"
#include "module/runtime/command.h"
#include "module/runtime/hint.h"
#include "module/runtime/memory.h"
#include "module/runtime/write.h"
#include "module/umb/umb.h"
#include "query/query.h"

#include <string.h>
#include <umbel/counting.h>
#include <umbel/describe.h>

/* --- items ---------------------------------------------------------------- */

/*
 * Returns 1 if the word RAW comes before the only item. Commands with several
 * items do not take it: there, whoever may choose an item could switch off the
 * conversion of the others. The primary replicates stored keys without it, and
 * filters whose items are not converted do not need it: there it is an item.
 */
static int has_raw(um_ctx *ctx, const umbel_filter *f, um_str **argv, int argc)
{
    return argc == 4 && um_items_convert(f) && !um_from_primary(ctx) &&
           um_is_word(argv[2], "raw");
}

/* Reads the items from argv[2 + raw] on as they are; false after an error
 * reply. */
static bool read_texts(um_ctx *ctx, um_str **argv, int argc, int raw,
                       um_items *items)
{
    if (!um_items_init(ctx, items, argv + 2 + raw, argc - 2 - raw))
        return false;
    items->raw = raw;
    return true;
}

/* Reads them as the keys that f stores. */
static bool read_items(um_ctx *ctx, const umbel_filter *f, um_str **argv,
                       int argc, int raw, um_items *items)
{
    if (!read_texts(ctx, argv, argc, raw, items))
        return false;
    if (um_items_form(ctx, items, f))
        return true;
    um_items_fini(items);
    return false;
}

/* Replicates the command's first argc words, with the items, which are step
 * words apart, as they are stored. */
static void replicate_items(um_ctx *ctx, const char *command, um_str **argv,
                            size_t argc, const um_items *items, size_t step)
{
    size_t len = argc * sizeof(um_str *); /* NOLINT(bugprone-sizeof-expression):
                                             pointers are meant */
    um_str **words = um_api.Alloc(len);

    memcpy(words, argv, len);
    bool stored = items->formed || items->raw;

    for (size_t i = 0, at = 2; stored && at < argc; i++, at += step)
        words[at] =
            um_api.CreateString(NULL, items->key[i].data, items->key[i].len);
    um_api.Replicate(ctx, command, "v", words + 1, argc - 1);
    for (size_t at = 2; stored && at < argc; at += step)
        um_api.FreeString(NULL, words[at]);
    um_api.Free(words);
}

/* Replicates and notifies after a change; command is in lower case. */
static void end_change(um_ctx *ctx, const char *command, um_str **argv,
                       int argc, const um_items *items, size_t step)
{
    if (!items->formed && !items->raw) {
        um_end_change(ctx, argv[1], command);
        return;
    }
    replicate_items(ctx, command, argv, (size_t)argc, items, step);
    um_api.NotifyKeyspaceEvent(ctx, UM_NOTIFY_MODULE, command, argv[1]);
}

/* --- questions ------------------------------------------------------------ */

/* Returns true if items stand for several keys each: they are not stored
 * keys. */
static bool asks_several(const umbel_filter *f, const um_items *items)
{
    return !items->raw && !items->formed &&
           um_form_asks_several(umbel_key_form_of(f));
}

/* Asks one item by the form that f records: whether it matches, and its largest
 * count; either may be NULL. Commands run in one thread. */
static umbel_status ask_item(const umbel_filter *f, umbel_slice item, bool *hit,
                             uint64_t *count, umbel_error *err)
{
    static um_question q;
    uint64_t counts[UM_MAX_CANDIDATES];
    um_question_answer answer;
    umbel_error why;

    if (um_question_set(&q, f, item, &why))
        return um_refuse_key(item, &why, err);
    if (hit) {
        UM_TRY(um_question_ask(&q, f, &answer, err));
        *hit = answer.hit;
    }
    if (count) {
        UM_TRY(umbel_count_many(f, q.key, q.n, counts, err));
        *count = 0;
        for (size_t i = 0; i < q.n; i++)
            *count = counts[i] > *count ? counts[i] : *count;
    }
    return UMBEL_OK;
}

/* Asks all items; hit or count may be NULL. */
static umbel_status ask_items(const umbel_filter *f, const um_items *items,
                              bool *hit, uint64_t *count, umbel_error *err)
{
    if (!asks_several(f, items))
        return count ? umbel_count_many(f, items->key, items->n, count, err)
                     : umbel_query_many(f, items->key, items->n, hit, err);
    for (size_t i = 0; i < items->n; i++)
        UM_TRY(ask_item(f, items->key[i], hit ? &hit[i] : NULL,
                        count ? &count[i] : NULL, err));
    return UMBEL_OK;
}

/* Reads the items of a question, converted unless they stand for several
 * keys. */
static bool read_questions(um_ctx *ctx, const umbel_filter *f, um_str **argv,
                           int argc, int raw, um_items *items)
{
    return um_form_asks_several(umbel_key_form_of(f))
               ? read_texts(ctx, argv, argc, raw, items)
               : read_items(ctx, f, argv, argc, raw, items);
}

/* --- check ---------------------------------------------------------------- */

/* Prefetches the block of an item, which the first half of its digest
 * selects. */
static void fetch_block(const um_hint *h, umbel_slice item)
{
    uint64_t lo = um_xxh3(item.data, item.len, h->seed);

    __builtin_prefetch((const uint8_t *)h->cells +
                       um_scale(lo, h->places) * h->more);
}

um_look_up um_look_up_check = {.name = "umb.check", .fetch = fetch_block};

static void set_hint(um_ctx *ctx, const um_str *name, const umbel_filter *f)
{
    const um_hint *h = um_hint_now(&um_look_up_check, name);

    if (um_is_hint(h, f->payload, f->payload_len))
        return;
    bool far = f->payload_len >= UM_HINT_FROM && f->layout.blocks > 1 &&
               f->hasher.row->fused && um_has_bits(f->kind);
    if (far)
        um_set_hint(ctx, &um_look_up_check, name,
                    (um_hint){.cells = f->payload,
                              .len = f->payload_len,
                              .places = f->layout.blocks,
                              .more = f->layout.row->block / 8,
                              .seed = f->hasher.seed});
}

int um_umb_check(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_status status;
    umbel_error err;
    um_items items;
    um_body *b;
    bool hit;

    if (!um_find_body(ctx, argv[1], &b))
        return UM_DONE;
    int raw = has_raw(ctx, b->filter, argv, argc);
    if (argc != 3 + raw)
        return um_api.WrongArity(ctx);
    if (!read_questions(ctx, b->filter, argv, argc, raw, &items))
        return UM_DONE;
    bool several = asks_several(b->filter, &items);
    do
        status = several ? ask_item(b->filter, *items.key, &hit, NULL, &err)
                         : umbel_query(b->filter, items.key->data,
                                       items.key->len, &hit, &err);
    while (status && um_unlocked_now(b, status));
    um_items_fini(&items);
    if (status)
        return um_reply_error(ctx, &err);
    if (!several)
        set_hint(ctx, argv[1], b->filter);
    um_stats.queries++;
    return um_api.ReplyWithBool(ctx, hit);
}

static int reply_flags(um_ctx *ctx, const um_items *items)
{
    um_api.ReplyWithArray(ctx, (long)items->n);
    for (size_t i = 0; i < items->n; i++)
        um_api.ReplyWithBool(ctx, items->flag[i]);
    return UM_DONE;
}

int um_umb_mcheck(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_status status;
    umbel_error err;
    um_items items;
    um_body *b;

    if (argc < 3)
        return um_api.WrongArity(ctx);
    if (!um_find_body(ctx, argv[1], &b) ||
        !read_questions(ctx, b->filter, argv, argc, 0, &items))
        return UM_DONE;
    do
        status = ask_items(b->filter, &items, items.flag, NULL, &err);
    while (um_unlocked_now(b, status));
    um_stats.queries += items.n;
    if (status)
        um_reply_error(ctx, &err);
    else
        reply_flags(ctx, &items);
    um_items_fini(&items);
    return UM_DONE;
}

/* --- add ------------------------------------------------------------------ */

/* Replies with an error. Only a filter that grows needs memory for an item. */
static int refuse_add(um_ctx *ctx, umbel_status status, const umbel_error *err)
{
    if (status != UMBEL_E_NOMEM)
        return um_reply_error(ctx, err);
    return um_reply_text(ctx,
                         "key: the filter cannot grow: %s, or "
                         "umbel.max-filter-bytes is reached",
                         err->text);
}

int um_umb_add(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_status status;
    umbel_error err;
    um_items items;
    um_body *b;
    bool fresh;

    b = um_begin_change(ctx, argv, argc, um_umb_add);
    if (!b)
        return UM_DONE;
    int raw = has_raw(ctx, b->filter, argv, argc);
    if (argc != 3 + raw)
        return um_api.WrongArity(ctx);
    if (!read_items(ctx, b->filter, argv, argc, raw, &items))
        return UM_DONE;
    um_memory_growing(!um_from_primary(ctx));
    do
        status =
            umbel_add(b->filter, items.key->data, items.key->len, &fresh, &err);
    while (um_unlocked_now(b, status));
    um_memory_growing(false);
    um_stats.adds += !status;
    if (!status)
        end_change(ctx, "umb.add", argv, 3, &items, 1);
    um_items_fini(&items);
    return status ? refuse_add(ctx, status, &err)
                  : um_api.ReplyWithBool(ctx, fresh);
}

/*
 * Replicates UMB.MADD. Kind table may become full after some keys, and kind
 * scalable may have no memory to grow; keys added before stay, also on
 * replicas. A replica might have memory for the rest, so it gets the items up
 * to the last new one.
 */
static void replicate_madd(um_ctx *ctx, um_str **argv, const um_items *items,
                           umbel_status status)
{
    size_t n = items->n;

    if (!status || status == UMBEL_E_FULL) {
        end_change(ctx, "umb.madd", argv, (int)n + 2, items, 1);
        return;
    }
    while (n > 0 && !items->flag[n - 1])
        n--;
    if (n == 0)
        return;
    replicate_items(ctx, "umb.madd", argv, n + 2, items, 1);
    um_api.NotifyKeyspaceEvent(ctx, UM_NOTIFY_MODULE, "umb.madd", argv[1]);
}

int um_umb_madd(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_status status;
    umbel_error err;
    um_items items;
    um_body *b;

    if (argc < 3)
        return um_api.WrongArity(ctx);
    b = um_begin_change(ctx, argv, argc, um_umb_madd);
    if (!b || !read_items(ctx, b->filter, argv, argc, 0, &items))
        return UM_DONE;
    memset(items.flag, 0, items.n);
    um_memory_growing(!um_from_primary(ctx));
    do
        status =
            umbel_add_many(b->filter, items.key, items.n, items.flag, &err);
    while (um_unlocked_now(b, status));
    um_memory_growing(false);
    um_stats.adds += items.n;
    replicate_madd(ctx, argv, &items, status);
    if (status)
        refuse_add(ctx, status, &err);
    else
        reply_flags(ctx, &items);
    um_items_fini(&items);
    return UM_DONE;
}

/* --- count ---------------------------------------------------------------- */

/* Replies with one number, or with an array of them. */
static int reply_counts(um_ctx *ctx, um_body *b, const um_items *items,
                        bool single)
{
    uint64_t few[UM_INLINE_ITEMS] = {0}, *count = few;
    umbel_status status;
    umbel_error err;

    if (items->n > UM_INLINE_ITEMS)
        count = um_api.Alloc(items->n * sizeof *count);
    do
        status = ask_items(b->filter, items, NULL, count, &err);
    while (um_unlocked_now(b, status));
    if (status)
        um_reply_error(ctx, &err);
    if (!status && !single)
        um_api.ReplyWithArray(ctx, (long)items->n);
    for (size_t i = 0; !status && i < items->n; i++)
        um_api.ReplyWithLongLong(ctx, (long long)count[i]);
    if (count != few)
        um_api.Free(count);
    return UM_DONE;
}

static int count_items(um_ctx *ctx, um_str **argv, int argc, bool single)
{
    um_items items;
    um_body *b;

    if (!um_find_body(ctx, argv[1], &b))
        return UM_DONE;
    int raw = single ? has_raw(ctx, b->filter, argv, argc) : 0;
    if (!read_questions(ctx, b->filter, argv, argc, raw, &items))
        return UM_DONE;
    if (single && items.n != 1) {
        um_items_fini(&items);
        return um_api.WrongArity(ctx);
    }
    um_stats.queries += items.n;
    reply_counts(ctx, b, &items, single);
    um_items_fini(&items);
    return UM_DONE;
}

int um_umb_count(um_ctx *ctx, um_str **argv, int argc)
{
    return argc >= 3 ? count_items(ctx, argv, argc, true)
                     : um_api.WrongArity(ctx);
}

int um_umb_mcount(um_ctx *ctx, um_str **argv, int argc)
{
    return argc >= 3 ? count_items(ctx, argv, argc, false)
                     : um_api.WrongArity(ctx);
}

/* --- amounts -------------------------------------------------------------- */

/* Adds the pairs of item and amount from argv[2] on. */
static int add_pairs(um_ctx *ctx, um_body *b, um_str **argv, int argc,
                     um_items *items)
{
    um_str **pair = argv + 2;
    uint64_t *amount = um_api.Alloc(items->n * sizeof *amount);
    umbel_status status = UMBEL_OK;
    umbel_error err;
    bool good = true;

    for (size_t i = 0; good && i < items->n; i++) {
        items->key[i].data =
            um_api.StringPtrLen(pair[2 * i], &items->key[i].len);
        good = um_whole_arg(ctx, "increment", pair[2 * i + 1],
                            umbel_count_limit(b->filter)
                                ? umbel_count_limit(b->filter)
                                : UINT64_MAX,
                            &amount[i]);
    }
    good = good && um_items_form(ctx, items, b->filter);
    if (good)
        do
            status = umbel_add_amounts(b->filter, items->key, amount, items->n,
                                       NULL, &err);
        while (um_unlocked_now(b, status));
    um_api.Free(amount);
    if (!good)
        return UM_DONE;
    if (!status || status == UMBEL_E_FULL) {
        um_stats.adds += items->n;
        end_change(ctx, "umb.incrby", argv, argc, items, 2);
    }
    return status ? um_reply_error(ctx, &err)
                  : reply_counts(ctx, b, items, false);
}

int um_umb_incrby(um_ctx *ctx, um_str **argv, int argc)
{
    um_items items;
    um_body *b;

    if (argc < 4 || argc % 2 != 0)
        return um_api.WrongArity(ctx);
    b = um_begin_change(ctx, argv, argc, um_umb_incrby);
    if (!b || !um_items_init(ctx, &items, argv + 2, (argc - 2) / 2))
        return UM_DONE;
    add_pairs(ctx, b, argv, argc, &items);
    um_items_fini(&items);
    return UM_DONE;
}

int um_umb_remove(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_status status;
    umbel_error err;
    um_items items;
    um_body *b;

    if (argc < 3)
        return um_api.WrongArity(ctx);
    b = um_begin_change(ctx, argv, argc, um_umb_remove);
    if (!b || !read_items(ctx, b->filter, argv, argc, 0, &items))
        return UM_DONE;
    do
        status = umbel_remove_many(b->filter, items.key, items.n, &err);
    while (um_unlocked_now(b, status));
    if (!status)
        end_change(ctx, "umb.remove", argv, (int)items.n + 2, &items, 1);
    um_items_fini(&items);
    if (status)
        return um_reply_error(ctx, &err);
    return um_api.ReplyWithLongLong(ctx, (long long)items.n);
}
