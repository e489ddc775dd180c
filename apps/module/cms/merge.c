/*
 * cms_merge.c - CMS.MERGE, and the rows of all CMS commands.
 *
 * The destination becomes the weighted sum of the sources; it may be one of
 * them. All sums are computed before the first counter is written.
 */
#include "module/cms/cms.h"

#include <string.h>

typedef struct merge_source {
    const um_cms *from;
    long long weight;
} merge_source;

typedef struct merge_job {
    um_cms *into;
    merge_source *source;
    long long n;
} merge_job;

/* Returns the text of an error, or NULL. */
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

/* Adds weight times x; false: overflow. */
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
        j->source[i].from = um_cms_find(ctx, argv[3 + i]);
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
    j.into = um_cms_find(ctx, argv[1]);
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

/* --- rows -------------------------------------------------------------------
 */

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
    {"cms.initbydim", um_cms_initbydim, 4, "write deny-oom", um_keys_create,
     "Creates a count-min sketch of that size", "O(counters)", dim_args},
    {"cms.initbyprob", um_cms_initbyprob, 4, "write deny-oom", um_keys_create,
     "Creates a count-min sketch for an error and its probability",
     "O(counters)", prob_args},
    {"cms.incrby", um_cms_incrby, -4, "write deny-oom", um_keys_change,
     "Adds to the counts of items", "O(items)", incrby_args},
    {"cms.query", um_cms_query, -3, "readonly", um_keys_read,
     "Returns the counts of items", "O(items)", query_args},
    {"cms.merge", cms_merge, -4, "write deny-oom getkeys-api", um_keys_merge,
     "Replaces a sketch by the weighted sum of sketches",
     "O(counters x sources)", merge_args},
    {"cms.info", um_cms_info, 2, "readonly", um_keys_read,
     "Describes the sketch", "O(1)", key_args},
    {"cms.loadchunk", um_cms_loadchunk, 5, "write deny-oom", um_keys_change,
     "Restores counters, from an append-only file", "O(bytes)", load_args},
    {0}};
