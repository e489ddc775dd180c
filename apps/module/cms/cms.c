/*
 * cms.c - CMS.* of RedisBloom, on Count-Min sketches.
 */
#include "module/runtime/compat.h"

#include "base/hash.h"
#include "module/runtime/command.h"
#include "module/runtime/hint.h"
#include "module/runtime/memory.h"

#include <math.h>
#include <string.h>

static um_cms *find_sketch(um_ctx *ctx, um_str *name)
{
    void *value;

    if (!um_find_value(ctx, name, um_cms_type, &value))
        return NULL;
    if (!value)
        um_api.ReplyWithError(ctx, "CMS: key does not exist");
    return value;
}

/* --- creating ------------------------------------------------------------- */

/* Creates a sketch. Refuses any existing key, whatever its type. */
static int init_sketch(um_ctx *ctx, um_str *name, uint64_t width,
                       uint64_t depth)
{
    um_key *key = um_api.OpenKey(ctx, name, UM_READ | UM_WRITE);
    um_cms *c = NULL;

    if (um_api.KeyType(key) != UM_KEY_EMPTY)
        um_api.ReplyWithError(ctx, "CMS: key already exists");
    else if (depth > INT64_MAX / sizeof *c->cells / width)
        um_api.ReplyWithError(ctx, "CMS: invalid init arguments");
    else if (!um_may_allocate(ctx, width * depth * sizeof *c->cells) ||
             um_cms_open(width, depth, um_memory_limit(ctx), &c, NULL) !=
                 UMBEL_OK)
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

static int init_by_dim(um_ctx *ctx, um_str **argv, int argc)
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

/* Computes in single precision like RedisBloom, so that the depth is the same
 * in corner cases. */
static int init_by_prob(um_ctx *ctx, um_str **argv, int argc)
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

/* --- counting ------------------------------------------------------------- */

enum { ROWS = 16 };

/* Finds the item's counters in up to ROWS rows, and prefetches them: hashing
 * the next row is faster than memory. Returns their number. */
static uint64_t find_cells(const um_cms *c, uint64_t row, umbel_slice item,
                           uint32_t *cell[ROWS])
{
    uint64_t n = c->depth - row < ROWS ? c->depth - row : ROWS;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t hash = um_murmur32(item.data, item.len, (uint32_t)(row + i));
        /* A 32-bit division takes half the time. */
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

/* Adds an amount to the item's counters, which saturate. Returns the
 * smallest. */
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

/* The counters of the item that was prefetched last. */
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

static void set_hint(um_ctx *ctx, const um_str *name, const um_cms *c)
{
    uint64_t len = um_cms_bytes(c);
    bool far = len >= UM_HINT_FROM && c->depth <= ROWS;
    const um_hint *h = um_hint_now(&um_look_up_query, name);

    if ((!um_is_hint(h, c->cells, len) || h->more != c->depth) && far)
        um_set_hint(ctx, &um_look_up_query, name,
                    (um_hint){.cells = c->cells,
                              .len = len,
                              .places = c->width,
                              .more = c->depth});
}

/* Returns the count of an item. Its prefetched counters are used if the sketch
 * has the same cells, width and depth. */
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

/* Checks all numbers before the first one is added. Returns the text of an
 * error, or NULL. */
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

static int increment(um_ctx *ctx, um_str **argv, int argc)
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

static int query_keys(um_ctx *ctx, um_str **argv, int argc)
{
    if (argc < 3)
        return um_api.WrongArity(ctx);
    const um_cms *c = find_sketch(ctx, argv[1]);
    if (!c)
        return UM_DONE;
    um_api.ReplyWithArray(ctx, argc - 2);
    um_api.ReplyWithLongLong(ctx, count_fetched(c, slice_of(argv[2])));
    for (int i = 3; i < argc; i++)
        um_api.ReplyWithLongLong(ctx, count_item(c, slice_of(argv[i])));
    if (argc == 3)
        set_hint(ctx, argv[1], c);
    um_stats.queries += (uint64_t)(argc - 2);
    return UM_DONE;
}

static int reply_info(um_ctx *ctx, um_str **argv, int argc)
{
    if (argc != 2)
        return um_api.WrongArity(ctx);
    const um_cms *c = find_sketch(ctx, argv[1]);
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

/* Runs CMS.LOADCHUNK key offset count bytes, which an AOF rewrite writes. */
static int load_chunk(um_ctx *ctx, um_str **argv, int argc)
{
    long long at, count;

    if (argc != 5)
        return um_api.WrongArity(ctx);
    um_cms *c = find_sketch(ctx, argv[1]);
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

/* --- CMS.MERGE, and the rows of all CMS commands ------------------------- */

/*
 * CMS.MERGE sets the destination to the weighted sum of the sources, of which
 * it may be one. All sums are computed before the first counter is written.
 */

typedef struct merge_source {
    const um_cms *from;
    long long weight;
} merge_source;

typedef struct merge_job {
    um_cms *into;
    merge_source *source;
    long long n;
} merge_job;

/* Parses the number of keys. Returns the text of an error, or NULL. */
static const char *parse_keys(um_str **argv, int argc, long long *n)
{
    bool words = false;

    if (um_api.StringToLongLong(argv[2], n) != UM_DONE)
        return "CMS: invalid numkeys";
    if (*n < 1)
        return "CMS: Number of keys must be positive";
    if (*n == argc - 3)
        return NULL;
    for (int i = 3; i < argc; i++)
        words |= um_is_word(argv[i], "weights");
    if (!words)
        return "CMS: wrong number of keys";
    if (*n > argc || argc != 4 + 2 * *n || !um_is_word(argv[3 + *n], "weights"))
        return "CMS: wrong number of keys/weights";
    return NULL;
}

static const char *parse_weights(const merge_job *j, um_str **argv, int argc)
{
    for (long long i = 0; i < j->n; i++) {
        j->source[i].weight = 1;
        if (argc > 3 + j->n &&
            um_api.StringToLongLong(argv[4 + j->n + i], &j->source[i].weight) !=
                UM_DONE)
            return "CMS: invalid weight value";
    }
    return NULL;
}

/* Adds weight times x; false on overflow. */
static bool add_weighted(int64_t *sum, long long weight, int64_t x)
{
    int64_t product;

    return !__builtin_mul_overflow((int64_t)weight, x, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

static bool sum_cell(const merge_job *j, size_t cell, int64_t *sum)
{
    *sum = 0;
    for (long long i = 0; i < j->n; i++)
        if (!add_weighted(sum, j->source[i].weight,
                          um_cms_le(j->source[i].from->cells[cell])))
            return false;
    return *sum >= 0 && *sum <= UINT32_MAX;
}

static bool sum_counts(const merge_job *j, int64_t *sum)
{
    *sum = 0;
    for (long long i = 0; i < j->n; i++)
        if (!add_weighted(sum, j->source[i].weight, j->source[i].from->count))
            return false;
    return *sum >= 0;
}

static const char *merge_cells(const merge_job *j)
{
    size_t cells = (size_t)(j->into->width * j->into->depth);
    int64_t count, sum;

    for (long long i = 0; i < j->n; i++)
        if (j->source[i].from->width != j->into->width ||
            j->source[i].from->depth != j->into->depth)
            return "CMS: width/depth is not equal";
    if (!sum_counts(j, &count))
        return "CMS: MERGE overflow";
    for (size_t i = 0; i < cells; i++)
        if (!sum_cell(j, i, &sum))
            return "CMS: MERGE overflow";
    for (size_t i = 0; i < cells; i++) {
        sum_cell(j, i, &sum);
        j->into->cells[i] = um_cms_le((uint32_t)sum);
    }
    j->into->count = count;
    return NULL;
}

static int run_merge(um_ctx *ctx, merge_job *j, um_str **argv, int argc)
{
    const char *wrong = parse_weights(j, argv, argc);

    if (wrong)
        return um_api.ReplyWithError(ctx, wrong);
    for (long long i = 0; i < j->n; i++) {
        j->source[i].from = find_sketch(ctx, argv[3 + i]);
        if (!j->source[i].from)
            return UM_DONE;
    }
    wrong = merge_cells(j);
    if (wrong)
        return um_api.ReplyWithError(ctx, wrong);
    um_api.SignalModifiedKey(ctx, argv[1]);
    um_changed(ctx, argv[1], "cms.merge");
    return um_api.ReplyWithSimpleString(ctx, "OK");
}

static int cms_merge(um_ctx *ctx, um_str **argv, int argc)
{
    merge_job j = {0};
    const char *wrong;

    if (um_report_keys(ctx, um_keys_merge, argv, argc))
        return UM_DONE;
    if (argc < 4)
        return um_api.WrongArity(ctx);
    j.into = find_sketch(ctx, argv[1]);
    if (!j.into)
        return UM_DONE;
    wrong = parse_keys(argv, argc, &j.n);
    if (wrong)
        return um_api.ReplyWithError(ctx, wrong);
    j.source = um_api.Alloc((size_t)j.n * sizeof *j.source);
    run_merge(ctx, &j, argv, argc);
    um_api.Free(j.source);
    return UM_DONE;
}

/* --- rows ----------------------------------------------------------------- */

#define KEY                                                                    \
    {                                                                          \
        .name = "key", .type = UM_ARG_KEY                                      \
    }

static const um_arg key_args[] = {KEY, {0}};
static const um_arg dim_args[] = {KEY,
                                  {.name = "width", .type = UM_ARG_INTEGER},
                                  {.name = "depth", .type = UM_ARG_INTEGER},
                                  {0}};
static const um_arg prob_args[] = {
    KEY,
    {.name = "error", .type = UM_ARG_DOUBLE},
    {.name = "probability", .type = UM_ARG_DOUBLE},
    {0}};
static const um_arg pair[] = {{.name = "item", .type = UM_ARG_STRING},
                              {.name = "increment", .type = UM_ARG_INTEGER},
                              {0}};
static const um_arg incrby_args[] = {KEY,
                                     {.name = "pair",
                                      .type = UM_ARG_BLOCK,
                                      .flags = UM_ARG_MULTIPLE,
                                      .subargs = pair},
                                     {0}};
static const um_arg query_args[] = {
    KEY,
    {.name = "item", .type = UM_ARG_STRING, .flags = UM_ARG_MULTIPLE},
    {0}};
static const um_arg merge_args[] = {
    {.name = "destination", .type = UM_ARG_KEY},
    {.name = "numkeys", .type = UM_ARG_INTEGER},
    {.name = "source",
     .type = UM_ARG_KEY,
     .key_spec_index = 1,
     .flags = UM_ARG_MULTIPLE},
    {.name = "weight",
     .type = UM_ARG_INTEGER,
     .token = "WEIGHTS",
     .flags = UM_ARG_OPTIONAL | UM_ARG_MULTIPLE},
    {0}};
static const um_arg load_args[] = {KEY,
                                   {.name = "offset", .type = UM_ARG_INTEGER},
                                   {.name = "count", .type = UM_ARG_INTEGER},
                                   {.name = "data", .type = UM_ARG_STRING},
                                   {0}};

const um_module_command um_module_cms[] = {
    {"cms.initbydim", init_by_dim, 4, "write deny-oom", um_keys_create,
     "Creates a count-min sketch of that size", "O(counters)", dim_args},
    {"cms.initbyprob", init_by_prob, 4, "write deny-oom", um_keys_create,
     "Creates a count-min sketch for an error and its probability",
     "O(counters)", prob_args},
    {"cms.incrby", increment, -4, "write deny-oom", um_keys_change,
     "Adds to the counts of items", "O(items)", incrby_args},
    {"cms.query", query_keys, -3, "readonly", um_keys_read,
     "Returns the counts of items", "O(items)", query_args},
    {"cms.merge", cms_merge, -4, "write deny-oom getkeys-api", um_keys_merge,
     "Replaces a sketch by the weighted sum of sketches",
     "O(counters x sources)", merge_args},
    {"cms.info", reply_info, 2, "readonly", um_keys_read,
     "Describes the sketch", "O(1)", key_args},
    {"cms.loadchunk", load_chunk, 5, "write deny-oom", um_keys_change,
     "Restores counters, from an append-only file", "O(bytes)", load_args},
    {0}};
