/*
 * whole.c - BF.INFO, DEBUG, SCANDUMP, LOADCHUNK, MERGE: commands on whole
 * filters; and the rows of all BF commands.
 */
#include "base/error.h"
#include "module/runtime/compat.h"
#include "module/runtime/memory.h"

#include <inttypes.h>
#include <stdio.h>

static um_bf *find_or_reply(um_ctx *ctx, um_str *name)
{
    void *value;

    if (!um_find_value(ctx, name, um_bf_type, &value))
        return NULL;
    if (!value)
        um_api.ReplyWithError(ctx, "ERR not found");
    return value;
}

/* --- INFO, DEBUG ---------------------------------------------------------- */

static uint64_t links_of(const um_bf *b)
{
    return b->nlinks;
}

static uint64_t items_of(const um_bf *b)
{
    return b->items;
}

static uint64_t expansion_of(const um_bf *b)
{
    return b->expansion;
}

static const struct info_field {
    const char *word, *name;
    uint64_t (*value)(const um_bf *b);
    bool growing; /* null if the filter does not grow */
} fields[] = {
    {"capacity", "Capacity", um_bf_capacity, false},
    {"size", "Size", um_bf_size, false},
    {"filters", "Number of filters", links_of, false},
    {"items", "Number of items inserted", items_of, false},
    {"expansion", "Expansion rate", expansion_of, true},
};

static void reply_field(um_ctx *ctx, const um_bf *b, const struct info_field *f)
{
    if (f->growing && b->options & UM_BF_FIXED)
        um_api.ReplyWithNull(ctx);
    else
        um_api.ReplyWithLongLong(ctx, (long long)f->value(b));
}

static int reply_one(um_ctx *ctx, const um_bf *b, const um_str *word)
{
    for (size_t i = 0; i < UM_COUNT(fields); i++) {
        if (!um_is_word(word, fields[i].word))
            continue;
        if (um_api.GetContextFlags(ctx) & UM_RESP3) {
            um_api.ReplyWithMap(ctx, 1);
            um_api.ReplyWithSimpleString(ctx, fields[i].name);
        } else {
            um_api.ReplyWithArray(ctx, 1);
        }
        reply_field(ctx, b, &fields[i]);
        return UM_DONE;
    }
    return um_api.ReplyWithError(ctx, "Invalid information value");
}

int um_bf_info_run(um_ctx *ctx, um_str **argv, int argc)
{
    if (argc < 2 || argc > 3)
        return um_api.WrongArity(ctx);
    const um_bf *b = find_or_reply(ctx, argv[1]);
    if (!b)
        return UM_DONE;
    if (argc == 3)
        return reply_one(ctx, b, argv[2]);
    um_api.ReplyWithMap(ctx, UM_COUNT(fields));
    for (size_t i = 0; i < UM_COUNT(fields); i++) {
        um_api.ReplyWithSimpleString(ctx, fields[i].name);
        reply_field(ctx, b, &fields[i]);
    }
    return UM_DONE;
}

int um_bf_debug_run(um_ctx *ctx, um_str **argv, int argc)
{
    char text[256];

    if (argc != 2)
        return um_api.WrongArity(ctx);
    const um_bf *b = find_or_reply(ctx, argv[1]);
    if (!b)
        return UM_DONE;
    um_api.ReplyWithArray(ctx, (long)b->nlinks + 1);
    snprintf(text, sizeof text, "size:%" PRIu64, b->items);
    um_api.ReplyWithCString(ctx, text);
    for (uint32_t i = 0; i < b->nlinks; i++) {
        const um_bf_link *l = &b->links[i];
        snprintf(text, sizeof text,
                 "bytes:%" PRIu64 " bits:%" PRIu64 " hashes:%" PRIu32
                 " hashwidth:64 capacity:%" PRIu64 " size:%" PRIu64 " ratio:%g",
                 l->bytes, l->nbits, l->hashes, l->capacity, l->items,
                 l->error);
        um_api.ReplyWithCString(ctx, text);
    }
    return UM_DONE;
}

/* --- SCANDUMP, LOADCHUNK ----------------------------------------------------
 *
 * Iterator 0 requests the header, 1 + offset the bits from that offset on.
 */

static int reply_header(um_ctx *ctx, const um_bf *b)
{
    size_t len = um_bf_header_len(b);
    uint8_t *header = um_api.TryAlloc(len);

    if (!header)
        return um_reply_text(ctx, "no memory for the header");
    um_bf_append_header(b, header);
    um_api.ReplyWithArray(ctx, 2);
    um_api.ReplyWithLongLong(ctx, 1);
    um_api.ReplyWithStringBuffer(ctx, (const char *)header, len);
    um_api.Free(header);
    return UM_DONE;
}

int um_bf_scandump_run(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_slice chunk = {"", 0};
    long long at;

    if (argc != 3)
        return um_api.WrongArity(ctx);
    const um_bf *b = find_or_reply(ctx, argv[1]);
    if (!b)
        return UM_DONE;
    if (um_api.StringToLongLong(argv[2], &at) != UM_DONE)
        return um_api.ReplyWithError(ctx, "Second argument must be numeric");
    if (at == 0)
        return reply_header(ctx, b);
    if (at > 0)
        chunk = um_bf_chunk(b, (uint64_t)at - 1);
    um_api.ReplyWithArray(ctx, 2);
    um_api.ReplyWithLongLong(ctx, chunk.len ? at + (long long)chunk.len : 0);
    um_api.ReplyWithStringBuffer(ctx, chunk.data, chunk.len);
    return UM_DONE;
}

static const char *load_header(um_ctx *ctx, um_key *key, const um_str *data)
{
    size_t len;
    const char *bytes = um_api.StringPtrLen(data, &len);
    uint64_t limit = um_memory_limit(ctx);
    um_bf *b = NULL;

    if (um_bf_from_header(bytes, len, limit, false, &um_module_alloc, &b,
                          NULL) != UMBEL_OK)
        return "ERR received bad data";
    uint64_t all = um_bf_bytes(b);
    um_bf_close(b);
    if (!um_may_allocate(ctx, all) ||
        um_bf_from_header(bytes, len, limit, true, &um_module_alloc, &b,
                          NULL) != UMBEL_OK)
        return "ERR Insufficient memory to create filter";
    um_api.ModuleTypeSetValue(key, um_bf_type, b);
    return NULL;
}

/* Loads a chunk; the iterator is the position where the chunk ends. */
static const char *load_chunk(um_bf *b, long long end, const um_str *data)
{
    size_t len;
    const char *bytes = um_api.StringPtrLen(data, &len);

    if (end < 1 || (uint64_t)end - 1 < len)
        return "ERR invalid offset - no link found";
    umbel_status status =
        um_bf_load(b, (uint64_t)end - 1 - len, bytes, len, NULL);
    if (status == UMBEL_E_LIMIT)
        return "ERR invalid chunk - Too big for current filter";
    return status ? "ERR invalid offset - no link found" : NULL;
}

int um_bf_loadchunk_run(um_ctx *ctx, um_str **argv, int argc)
{
    const char *wrong;
    long long at;
    um_key *key;
    void *value;

    if (argc != 4)
        return um_api.WrongArity(ctx);
    if (um_api.StringToLongLong(argv[2], &at) != UM_DONE)
        return um_api.ReplyWithError(ctx,
                                     "ERR Second argument must be numeric");
    if (!um_open_write(ctx, argv[1], um_bf_type, &key, &value))
        return UM_DONE;
    if (value)
        wrong = load_chunk(value, at, argv[3]);
    else
        wrong = at == 1 ? load_header(ctx, key, argv[3]) : "ERR not found";
    if (wrong) {
        um_api.ReplyWithError(ctx, wrong);
    } else {
        um_changed(ctx, argv[1], "bf.loadchunk");
        um_api.ReplyWithSimpleString(ctx, "OK");
    }
    um_api.CloseKey(key);
    return UM_DONE;
}

/* --- MERGE ---------------------------------------------------------------- */

/* Computes the union of base, if it is not NULL, and the n filters. Returns
 * false after an error reply. */
static bool unite(um_ctx *ctx, const um_bf *base, um_str **names, long long n,
                  um_bf **out)
{
    umbel_status status = UMBEL_OK;
    umbel_error err;
    um_bf *made = NULL;

    if (base)
        status = um_bf_copy(base, &made, &err);
    if (made)
        made->limit = um_memory_limit(ctx);
    for (long long i = 0; i < n && status == UMBEL_OK; i++) {
        const um_bf *from = find_or_reply(ctx, names[i]);
        if (!from)
            return um_bf_close(made), false;
        status = made ? um_bf_merge(made, from, &err)
                      : um_bf_copy(from, &made, &err);
        if (made)
            made->limit = um_memory_limit(ctx);
    }
    if (status == UMBEL_OK) {
        *out = made;
        return true;
    }
    um_bf_close(made);
    um_reply_error(ctx, &err);
    return false;
}

int um_bf_merge_run(um_ctx *ctx, um_str **argv, int argc)
{
    long long n;
    um_bf *made;
    um_key *key;
    void *value, *old = NULL;

    if (um_report_keys(ctx, um_keys_merge, argv, argc))
        return UM_DONE;
    if (argc < 4)
        return um_api.WrongArity(ctx);
    if (um_api.StringToLongLong(argv[2], &n) != UM_DONE || n != argc - 3)
        return um_reply_text(ctx, "numkeys is not the number of keys");
    if (!um_open_write(ctx, argv[1], um_bf_type, &key, &value))
        return UM_DONE;
    if (unite(ctx, value, argv + 3, n, &made)) {
        if (value)
            um_api.ModuleTypeReplaceValue(key, um_bf_type, made, &old);
        else
            um_api.ModuleTypeSetValue(key, um_bf_type, made);
        um_bf_close(old);
        um_changed(ctx, argv[1], "bf.merge");
        um_api.ReplyWithSimpleString(ctx, "OK");
    }
    um_api.CloseKey(key);
    return UM_DONE;
}

/* --- rows ----------------------------------------------------------------- */

#define KEY                                                                    \
    {                                                                          \
        .name = "key", .type = UM_ARG_KEY                                      \
    }
#define ITEM                                                                   \
    {                                                                          \
        .name = "item", .type = UM_ARG_STRING                                  \
    }
#define ITEMS                                                                  \
    {                                                                          \
        .name = "item", .type = UM_ARG_STRING, .flags = UM_ARG_MULTIPLE        \
    }

static const um_arg key_args[] = {KEY, {0}};
static const um_arg item_args[] = {KEY, ITEM, {0}};
static const um_arg items_args[] = {KEY, ITEMS, {0}};
static const um_arg reserve_args[] = {
    KEY,
    {.name = "error_rate", .type = UM_ARG_DOUBLE},
    {.name = "capacity", .type = UM_ARG_INTEGER},
    {.name = "expansion",
     .type = UM_ARG_INTEGER,
     .token = "EXPANSION",
     .flags = UM_ARG_OPTIONAL},
    {.name = "nonscaling",
     .type = UM_ARG_TOKEN,
     .token = "NONSCALING",
     .flags = UM_ARG_OPTIONAL},
    {0}};
static const um_arg insert_args[] = {
    KEY,
    {.name = "capacity",
     .type = UM_ARG_INTEGER,
     .token = "CAPACITY",
     .flags = UM_ARG_OPTIONAL},
    {.name = "error",
     .type = UM_ARG_DOUBLE,
     .token = "ERROR",
     .flags = UM_ARG_OPTIONAL},
    {.name = "expansion",
     .type = UM_ARG_INTEGER,
     .token = "EXPANSION",
     .flags = UM_ARG_OPTIONAL},
    {.name = "nocreate",
     .type = UM_ARG_TOKEN,
     .token = "NOCREATE",
     .flags = UM_ARG_OPTIONAL},
    {.name = "nonscaling",
     .type = UM_ARG_TOKEN,
     .token = "NONSCALING",
     .flags = UM_ARG_OPTIONAL},
    {.name = "items", .type = UM_ARG_TOKEN, .token = "ITEMS"},
    ITEMS,
    {0}};
static const um_arg info_args[] = {
    KEY,
    {.name = "field", .type = UM_ARG_STRING, .flags = UM_ARG_OPTIONAL},
    {0}};
static const um_arg dump_args[] = {
    KEY, {.name = "iterator", .type = UM_ARG_INTEGER}, {0}};
static const um_arg load_args[] = {KEY,
                                   {.name = "iterator", .type = UM_ARG_INTEGER},
                                   {.name = "data", .type = UM_ARG_STRING},
                                   {0}};
static const um_arg merge_args[] = {{.name = "destination", .type = UM_ARG_KEY},
                                    {.name = "numkeys", .type = UM_ARG_INTEGER},
                                    {.name = "source",
                                     .type = UM_ARG_KEY,
                                     .key_spec_index = 1,
                                     .flags = UM_ARG_MULTIPLE},
                                    {0}};

const um_module_command um_module_bf[] = {
    {"bf.reserve", um_bf_reserve_run, -4, "write deny-oom", um_keys_create,
     "Creates an empty Bloom filter", "O(bytes of the filter)", reserve_args},
    {"bf.add", um_bf_add_run, 3, "write deny-oom", um_keys_change,
     "Adds an item, and creates the filter", "O(1)", item_args},
    {"bf.madd", um_bf_madd_run, -3, "write deny-oom", um_keys_change,
     "Adds items, and creates the filter", "O(items)", items_args},
    {"bf.insert", um_bf_insert_run, -4, "write deny-oom", um_keys_change,
     "Adds items, and creates the filter with parameters", "O(items)",
     insert_args},
    {"bf.exists", um_bf_exists_run, 3, "readonly fast", um_keys_read,
     "Returns whether an item may be in the filter", "O(1)", item_args},
    {"bf.mexists", um_bf_mexists_run, -3, "readonly fast", um_keys_read,
     "Returns whether items may be in the filter", "O(items)", items_args},
    {"bf.card", um_bf_card_run, 2, "readonly fast", um_keys_read,
     "Returns the number of items that were new when they were added", "O(1)",
     key_args},
    {"bf.info", um_bf_info_run, -2, "readonly fast", um_keys_read,
     "Describes the filter", "O(1)", info_args},
    {"bf.debug", um_bf_debug_run, 2, "readonly fast", um_keys_read,
     "Describes the sub-filters", "O(sub-filters)", key_args},
    {"bf.scandump", um_bf_scandump_run, 3, "readonly fast", um_keys_read,
     "Returns the next chunk of the filter's bytes", "O(bytes of the chunk)",
     dump_args},
    {"bf.loadchunk", um_bf_loadchunk_run, 4, "write deny-oom", um_keys_create,
     "Restores a chunk that BF.SCANDUMP returned", "O(bytes of the chunk)",
     load_args},
    {"bf.merge", um_bf_merge_run, -4, "write deny-oom getkeys-api",
     um_keys_merge, "Adds the items of other filters",
     "O(bytes of the filters)", merge_args},
    {0}};
