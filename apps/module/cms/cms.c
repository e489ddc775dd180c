/*
 * cms.c - CMS.*: count-min sketches, as RedisBloom. cms_merge.c has CMS.MERGE
 * and the rows.
 */
#include "module/cms/cms.h"

#include "base/murmur.h"
#include "module/runtime/hint.h"
#include "module/runtime/stats.h"

#include <math.h>
#include <string.h>

um_cms *um_cms_find(um_ctx *ctx, um_str *name)
{
    void *value;

    if (!um_find_value(ctx, name, um_cms_type, &value))
        return NULL;
    if (!value)
        um_api.ReplyWithError(ctx, "CMS: key does not exist");
    return value;
}

/* --- making -----------------------------------------------------------------
 */

/* Any key that exists is in the way, whatever its type. */
static int init_sketch(um_ctx *ctx, um_str *name, uint64_t width,
                       uint64_t depth)
{
    um_key *key = um_api.OpenKey(ctx, name, UM_READ | UM_WRITE);
    um_cms *c = NULL;

    if (um_api.KeyType(key) != UM_KEY_EMPTY)
        um_api.ReplyWithError(ctx, "CMS: key already exists");
    else if (depth > INT64_MAX / sizeof *c->cells / width)
        um_api.ReplyWithError(ctx, "CMS: invalid init arguments");
    else if (!um_may_parse(ctx, width * depth * sizeof *c->cells) ||
             um_cms_open(width, depth, &c, NULL) != UMBEL_OK)
        um_api.ReplyWithError(ctx, "CMS: Insufficient memory to create the "
                                   "key");
    else {
        um_api.ModuleTypeSetValue(key, um_cms_type, c);
        um_changed(ctx, name, "cms.init");
        um_api.ReplyWithSimpleString(ctx, "OK");
    }
    um_api.CloseKey(key);
    return UM_DONE;
}

int um_cms_initbydim(um_ctx *ctx, um_str **argv, int argc)
{
    long long width, depth;

    if (argc != 4)
        return um_api.WrongArity(ctx);
    if (um_api.StringToLongLong(argv[2], &width) != UM_DONE || width < 1)
        return um_api.ReplyWithError(ctx, "CMS: invalid width");
    if (um_api.StringToLongLong(argv[3], &depth) != UM_DONE || depth < 1)
        return um_api.ReplyWithError(ctx, "CMS: invalid depth");
    return init_sketch(ctx, argv[1], (uint64_t)width, (uint64_t)depth);
}

static bool parse_share(const um_str *text, double *out)
{
    return um_api.StringToDouble(text, out) == UM_DONE && *out > 0 && *out < 1;
}

/* In single precision, as there: the depth is the same in corner cases. */
int um_cms_initbyprob(um_ctx *ctx, um_str **argv, int argc)
{
    double error, chance;

    if (argc != 4)
        return um_api.WrongArity(ctx);
    if (!parse_share(argv[2], &error))
        return um_api.ReplyWithError(ctx, "CMS: invalid overestimation value");
    if (!parse_share(argv[3], &chance) || (float)chance >= 1 ||
        (float)chance <= 0)
        return um_api.ReplyWithError(ctx, "CMS: invalid prob value");
    double width = ceil(2 / error);
    double depth = ceil((double)(log10f((float)chance) / log10f(0.5F)));
    if (!(width < 0x1p62))
        return um_api.ReplyWithError(ctx, "CMS: invalid init arguments");
    return init_sketch(ctx, argv[1], (uint64_t)width, (uint64_t)depth);
}

/* --- counting ---------------------------------------------------------------
 */

enum { ROWS = 16 };

/* Finds the item's counters in up to ROWS rows, and has them fetched: hashing
 * the next row takes less time than memory does. Returns how many. */
static uint64_t find_cells(const um_cms *c, uint64_t row, umbel_slice item,
                           uint32_t *cell[ROWS])
{
    uint64_t n = c->depth - row < ROWS ? c->depth - row : ROWS;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t hash = um_murmur32(item.data, item.len, (uint32_t)(row + i));
        /* A division of 32 bits takes half of the time. */
        if (c->width <= UINT32_MAX)
            hash %= (uint32_t)c->width;
        cell[i] = c->cells + (row + i) * c->width + hash;
        __builtin_prefetch(cell[i]);
    }
    return n;
}

static uint32_t add_saturating(uint32_t x, uint64_t amount)
{
    return amount > UINT32_MAX - x ? UINT32_MAX : x + (uint32_t)amount;
}

/* Returns the least counter of the item; one that overflows sticks. */
static uint32_t add_item(um_cms *c, umbel_slice item, uint64_t amount)
{
    uint32_t least = UINT32_MAX, *cell[ROWS];

    for (uint64_t row = 0, n; row < c->depth; row += n) {
        n = find_cells(c, row, item, cell);
        for (uint64_t i = 0; i < n; i++) {
            uint32_t x = add_saturating(um_cms_le(*cell[i]), amount);
            *cell[i] = um_cms_le(x);
            least = x < least ? x : least;
        }
    }
    c->count = amount > (uint64_t)(INT64_MAX - c->count)
                   ? INT64_MAX
                   : c->count + (int64_t)amount;
    return least;
}

static uint32_t least_of(uint32_t *const cell[ROWS], uint64_t n)
{
    uint32_t least = UINT32_MAX;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t x = um_cms_le(*cell[i]);
        least = x < least ? x : least;
    }
    return least;
}

static uint32_t count_item(const um_cms *c, umbel_slice item)
{
    uint32_t least = UINT32_MAX, *cell[ROWS];

    for (uint64_t row = 0, n; row < c->depth; row += n) {
        n = find_cells(c, row, item, cell);
        uint32_t some = least_of(cell, n);
        least = some < least ? some : least;
    }
    return least;
}

/* The counters of the item that was fetched last. */
static struct {
    um_last_item item;
    um_hint hint;
    uint32_t *cell[ROWS];
    uint64_t n;
} last;

static void fetch_counters(const um_hint *h, umbel_slice item)
{
    um_cms guess = {.width = h->places, .depth = h->more, .cells = h->cells};

    last.n = find_cells(&guess, 0, item, last.cell);
    um_retain_item(&last.item, item);
    last.hint = *h;
}

um_look_up um_look_up_query = {.name = "cms.query", .fetch = fetch_counters};

static void parse_hint(um_ctx *ctx, const um_str *name, const um_cms *c)
{
    uint64_t len = um_cms_bytes(c);
    bool far = len >= UM_HINT_FROM && c->depth <= ROWS;
    const um_hint *h = um_hint_now(&um_look_up_query, name);

    if ((!um_is_hint(h, c->cells, len) || h->more != c->depth) && far)
        um_write_hint(ctx, &um_look_up_query, name,
                      (um_hint){.cells = c->cells,
                                .len = len,
                                .places = c->width,
                                .more = c->depth});
}

/* Returns the count of an item whose counters may have been found already: of a
 * sketch with these cells, this width and this depth they are the same. */
static uint32_t count_fetched(const um_cms *c, umbel_slice item)
{
    if (last.hint.cells == c->cells && last.hint.places == c->width &&
        last.hint.more == c->depth && um_is_last(&last.item, item))
        return least_of(last.cell, last.n);
    return count_item(c, item);
}

static umbel_slice slice_of(const um_str *s)
{
    umbel_slice slice;

    slice.data = um_api.StringPtrLen(s, &slice.len);
    return slice;
}

/* All numbers are looked at before the first counts. */
static const char *check_amounts(um_str **argv, int argc)
{
    for (int i = 3; i < argc; i += 2) {
        long long n;
        if (um_api.StringToLongLong(argv[i], &n) != UM_DONE)
            return "CMS: Cannot parse number";
        if (n < 0)
            return "CMS: Number cannot be negative";
    }
    return NULL;
}

int um_cms_incrby(um_ctx *ctx, um_str **argv, int argc)
{
    const char *wrong;
    um_key *key;
    void *value;

    if (argc < 4 || argc % 2)
        return um_api.WrongArity(ctx);
    if (!um_open_write(ctx, argv[1], um_cms_type, &key, &value))
        return UM_DONE;
    wrong = value ? check_amounts(argv, argc) : "CMS: key does not exist";
    if (wrong) {
        um_api.CloseKey(key);
        return um_api.ReplyWithError(ctx, wrong);
    }
    um_api.ReplyWithArray(ctx, (argc - 2) / 2);
    for (int i = 2; i < argc; i += 2) {
        long long n = 0;
        um_api.StringToLongLong(argv[i + 1], &n);
        uint32_t count = add_item(value, slice_of(argv[i]), (uint64_t)n);
        if (count == UINT32_MAX)
            um_api.ReplyWithError(ctx, "CMS: INCRBY overflow");
        else
            um_api.ReplyWithLongLong(ctx, count);
    }
    um_stats.adds += (uint64_t)(argc - 2) / 2;
    um_changed(ctx, argv[1], "cms.incrby");
    um_api.CloseKey(key);
    return UM_DONE;
}

int um_cms_query(um_ctx *ctx, um_str **argv, int argc)
{
    if (argc < 3)
        return um_api.WrongArity(ctx);
    const um_cms *c = um_cms_find(ctx, argv[1]);
    if (!c)
        return UM_DONE;
    um_api.ReplyWithArray(ctx, argc - 2);
    um_api.ReplyWithLongLong(ctx, count_fetched(c, slice_of(argv[2])));
    for (int i = 3; i < argc; i++)
        um_api.ReplyWithLongLong(ctx, count_item(c, slice_of(argv[i])));
    if (argc == 3)
        parse_hint(ctx, argv[1], c);
    um_stats.queries += (uint64_t)(argc - 2);
    return UM_DONE;
}

int um_cms_info(um_ctx *ctx, um_str **argv, int argc)
{
    if (argc != 2)
        return um_api.WrongArity(ctx);
    const um_cms *c = um_cms_find(ctx, argv[1]);
    if (!c)
        return UM_DONE;
    um_api.ReplyWithMap(ctx, 3);
    um_api.ReplyWithSimpleString(ctx, "width");
    um_api.ReplyWithLongLong(ctx, (long long)c->width);
    um_api.ReplyWithSimpleString(ctx, "depth");
    um_api.ReplyWithLongLong(ctx, (long long)c->depth);
    um_api.ReplyWithSimpleString(ctx, "count");
    um_api.ReplyWithLongLong(ctx, c->count);
    return UM_DONE;
}

/* CMS.LOADCHUNK key offset count bytes: what an AOF rewrite writes. */
int um_cms_loadchunk(um_ctx *ctx, um_str **argv, int argc)
{
    long long at, count;

    if (argc != 5)
        return um_api.WrongArity(ctx);
    um_cms *c = um_cms_find(ctx, argv[1]);
    if (!c)
        return UM_DONE;
    umbel_slice bytes = slice_of(argv[4]);
    if (um_api.StringToLongLong(argv[2], &at) != UM_DONE || at < 0 ||
        (uint64_t)at > um_cms_bytes(c) ||
        bytes.len > um_cms_bytes(c) - (uint64_t)at)
        return um_api.ReplyWithError(ctx, "CMS: invalid offset");
    if (um_api.StringToLongLong(argv[3], &count) != UM_DONE || count < 0)
        return um_api.ReplyWithError(ctx, "CMS: invalid count");
    memcpy((uint8_t *)c->cells + at, bytes.data, bytes.len);
    c->count = count;
    um_api.SignalModifiedKey(ctx, argv[1]);
    um_changed(ctx, argv[1], "cms.loadchunk");
    return um_api.ReplyWithSimpleString(ctx, "OK");
}
