/*
 * bf.c - BF.RESERVE, ADD, MADD, INSERT, EXISTS, MEXISTS, CARD: as RedisBloom.
 */
#include "base/error.h"
#include "base/hash.h"
#include "filter/addressing/redisbloom.h"
#include "module/runtime/command.h"
#include "module/runtime/compat.h"
#include "module/runtime/hint.h"
#include "module/runtime/memory.h"

#include <stdio.h>

/* RedisBloom's defaults and limits. */
static const um_bf_params standard = {100, 0.01, 2, false};
enum { MAX_ITEMS = 1 << 30, MAX_EXPANSION = 32768 };
static const double max_error = 0.25; /* larger values are lowered to this */

/* --- creating a filter ---------------------------------------------------- */

typedef enum number_kind { CAPACITY, ERROR, EXPANSION, KINDS } number_kind;

/* Error texts for a number: not a number, in RESERVE and in INSERT; out of
 * range. */
static const struct number_texts {
    const char *bad, *bad_insert, *range;
} texts[KINDS] = {
    [CAPACITY] = {"ERR bad capacity", "Bad capacity",
                  "ERR capacity must be in the range [1, 1073741824]"},
    [ERROR] = {"ERR bad error rate", "Bad error rate",
               "ERR error rate must be in the range (0.000000, 1.000000)"},
    [EXPANSION] = {"ERR bad expansion", "Bad expansion",
                   "ERR expansion must be in the range [0, 32768]"},
};

/* Parses an error rate. Returns the text of an error, or NULL. */
static const char *parse_error(um_bf_params *p, const um_str *text, bool insert)
{
    double x;

    if (um_api.StringToDouble(text, &x) != UM_DONE)
        return insert ? texts[ERROR].bad_insert : texts[ERROR].bad;
    if (!(x > 0 && x < 1))
        return texts[ERROR].range;
    p->error = x < max_error ? x : max_error;
    return NULL;
}

static const char *parse_whole(um_bf_params *p, number_kind kind,
                               const um_str *text, bool insert)
{
    long long low = kind == CAPACITY ? 1 : 0;
    long long high = kind == CAPACITY ? MAX_ITEMS : MAX_EXPANSION;
    long long x;

    if (um_api.StringToLongLong(text, &x) != UM_DONE)
        return insert ? texts[kind].bad_insert : texts[kind].bad;
    if (x < low || x > high)
        return texts[kind].range;
    if (kind == CAPACITY)
        p->capacity = (uint64_t)x;
    else
        p->expansion = (uint32_t)x;
    return NULL;
}

/* Creates the value of a key that is open and empty; NULL after an error
 * reply. */
static um_bf *create_filter(um_ctx *ctx, um_key *key, const um_bf_params *p)
{
    um_bf_link plan;
    um_bf *b = NULL;

    if (!um_bf_plan(&plan, p->capacity, p->fixed ? p->error : p->error / 2) ||
        !um_may_allocate(ctx, plan.bytes) ||
        um_bf_open(p, um_memory_limit(ctx), &um_module_alloc, &b, NULL) !=
            UMBEL_OK) {
        um_api.ReplyWithError(ctx, "ERR Insufficient memory to create filter");
        return NULL;
    }
    um_api.ModuleTypeSetValue(key, um_bf_type, b);
    return b;
}

/* Parses EXPANSION n and NONSCALING, and ignores other words, as RedisBloom
 * does. Returns the text of an error, or NULL. */
static const char *parse_growth(um_bf_params *p, um_str **argv, int argc)
{
    bool expands = false;

    for (int i = 0; i < argc; i++) {
        const char *wrong = NULL;
        if (um_is_word(argv[i], "nonscaling"))
            p->fixed = true;
        if (!um_is_word(argv[i], "expansion"))
            continue;
        if (++i == argc)
            return "ERR no expansion";
        wrong = parse_whole(p, EXPANSION, argv[i], false);
        if (wrong)
            return wrong;
        expands = p->expansion > 0;
    }
    if (p->fixed && expands)
        return "Nonscaling filters cannot expand";
    p->fixed |= p->expansion == 0;
    return NULL;
}

int um_bf_reserve_run(um_ctx *ctx, um_str **argv, int argc)
{
    um_bf_params p = standard;
    const char *wrong;
    um_key *key;
    void *value;

    if (argc < 4 || argc > 7)
        return um_api.WrongArity(ctx);
    wrong = parse_error(&p, argv[2], false);
    if (!wrong)
        wrong = parse_whole(&p, CAPACITY, argv[3], false);
    if (!wrong)
        wrong = parse_growth(&p, argv + 4, argc - 4);
    if (wrong)
        return um_api.ReplyWithError(ctx, wrong);
    if (!um_open_write(ctx, argv[1], um_bf_type, &key, &value))
        return UM_DONE;
    if (value) {
        um_api.ReplyWithError(ctx, "ERR item exists");
    } else if (create_filter(ctx, key, &p)) {
        um_changed(ctx, argv[1], "bf.reserve");
        um_api.ReplyWithSimpleString(ctx, "OK");
    }
    um_api.CloseKey(key);
    return UM_DONE;
}

/* --- adding --------------------------------------------------------------- */

static const char *text_of_failure(umbel_status status)
{
    return status == UMBEL_E_FULL ? "ERR non scaling filter is full"
                                  : "ERR problem inserting into filter";
}

/* Replicates only the items that were added: a replica might have memory for
 * the others. */
static void replicate_adds(um_ctx *ctx, um_str **argv, int before, size_t done,
                           umbel_status status)
{
    size_t len;
    const char *name = um_api.StringPtrLen(argv[0], &len);

    if (status == UMBEL_OK || status == UMBEL_E_FULL)
        um_api.ReplicateVerbatim(ctx);
    else if (done)
        um_api.Replicate(ctx, name, "v", argv + 1, (size_t)before - 1 + done);
}

/* Adds argv[first..argc), and replies with an array or a single answer. */
static int add_items(um_ctx *ctx, um_bf *b, um_str **argv, int first, int argc,
                     bool array)
{
    umbel_status status;
    um_items items;
    size_t done;

    if (!um_items_init(ctx, &items, argv + first, argc - first))
        return UM_DONE;
    b->limit = um_memory_limit(ctx);
    status = um_bf_add(b, items.key, items.n, items.flag, &done, NULL);
    um_stats.adds += done;
    if (array)
        um_api.ReplyWithArray(ctx, (long)done + (status != UMBEL_OK));
    for (size_t i = 0; i < done; i++)
        um_api.ReplyWithBool(ctx, items.flag[i]);
    if (status)
        um_api.ReplyWithError(ctx, text_of_failure(status));
    replicate_adds(ctx, argv, first, done, status);
    um_items_fini(&items);
    um_api.NotifyKeyspaceEvent(ctx, UM_NOTIFY_MODULE, "bf.add", argv[1]);
    return UM_DONE;
}

/* Opens the key, creates the filter if there is none, and adds. */
static int open_and_add(um_ctx *ctx, const um_bf_params *p, um_str **argv,
                        int first, int argc, bool array)
{
    um_key *key;
    void *value;

    if (!um_open_write(ctx, argv[1], um_bf_type, &key, &value))
        return UM_DONE;
    if (!value)
        value = create_filter(ctx, key, p);
    if (value)
        add_items(ctx, value, argv, first, argc, array);
    um_api.CloseKey(key);
    return UM_DONE;
}

int um_bf_add_run(um_ctx *ctx, um_str **argv, int argc)
{
    if (argc != 3)
        return um_api.WrongArity(ctx);
    return open_and_add(ctx, &standard, argv, 2, argc, false);
}

int um_bf_madd_run(um_ctx *ctx, um_str **argv, int argc)
{
    if (argc < 3)
        return um_api.WrongArity(ctx);
    return open_and_add(ctx, &standard, argv, 2, argc, true);
}

typedef struct insert_args {
    um_bf_params params;
    bool nocreate;
    int items; /* index of the first item; 0 if there are none */
} insert_args;

/* Parses the option at *i, and leaves *i at its last word. Returns the text of
 * an error, "" for wrong arity, or NULL. */
static const char *parse_option(insert_args *a, um_str **argv, int argc, int *i)
{
    static const struct {
        const char *word;
        number_kind kind;
    } numbers[] = {
        {"capacity", CAPACITY}, {"error", ERROR}, {"expansion", EXPANSION}};

    for (size_t j = 0; j < UM_COUNT(numbers); j++) {
        if (!um_is_word(argv[*i], numbers[j].word))
            continue;
        if (++*i == argc)
            return "";
        return numbers[j].kind == ERROR
                   ? parse_error(&a->params, argv[*i], true)
                   : parse_whole(&a->params, numbers[j].kind, argv[*i], true);
    }
    if (um_is_word(argv[*i], "nocreate"))
        a->nocreate = true;
    else if (um_is_word(argv[*i], "nonscaling"))
        a->params.fixed = true;
    else
        return "Unknown argument received";
    return NULL;
}

int um_bf_insert_run(um_ctx *ctx, um_str **argv, int argc)
{
    insert_args a = {.params = standard};
    const char *wrong = NULL;
    void *value;

    for (int i = 2; i < argc && !wrong && !a.items; i++) {
        if (um_is_word(argv[i], "items"))
            a.items = i + 1;
        else
            wrong = parse_option(&a, argv, argc, &i);
    }
    if (wrong && *wrong)
        return um_api.ReplyWithError(ctx, wrong);
    if (wrong || !a.items || a.items >= argc)
        return um_api.WrongArity(ctx);
    a.params.fixed |= a.params.expansion == 0;
    if (a.nocreate) {
        if (!um_find_value(ctx, argv[1], um_bf_type, &value))
            return UM_DONE;
        if (!value)
            return um_api.ReplyWithError(ctx, "ERR not found");
    }
    return open_and_add(ctx, &a.params, argv, a.items, argc, true);
}

/* --- queries -------------------------------------------------------------- */

/* Returns the filter of a key; NULL if the key does not exist or has another
 * type. */
static const um_bf *find_filter(um_ctx *ctx, um_str *name)
{
    um_key *key = um_api.OpenKey(ctx, name, UM_READ);
    const um_bf *b = NULL;

    if (key && um_api.ModuleTypeGetType(key) == um_bf_type)
        b = um_api.ModuleTypeGetValue(key);
    um_api.CloseKey(key);
    return b;
}

static um_last_item last_item;
static umbel_digest last_digest;

/* Prefetches cells of the newest sub-filter, which is looked up first. For an
 * item that is not there, the first two cells show that at least three times
 * out of four. */
static void fetch_cells(const um_hint *h, umbel_slice item)
{
    umbel_digest d = um_murmur_digest(item.data, item.len);

    for (uint32_t i = 0; i < 2; i++) {
        uint64_t cell = um_redisbloom_cell(d, i, h->places);
        __builtin_prefetch((const uint8_t *)h->cells + cell / 8);
    }
    um_retain_item(&last_item, item);
    last_digest = d;
}

um_look_up um_look_up_exists = {.name = "bf.exists", .fetch = fetch_cells};

static void set_hint(um_ctx *ctx, const um_str *name, const um_bf *b)
{
    const um_bf_link *l = &b->links[b->nlinks - 1];
    const um_hint *h = um_hint_now(&um_look_up_exists, name);

    if (!um_is_hint(h, l->bits, l->bytes) && l->bytes >= UM_HINT_FROM)
        um_set_hint(
            ctx, &um_look_up_exists, name,
            (um_hint){.cells = l->bits, .len = l->bytes, .places = l->nbits});
}

static umbel_digest digest_of(umbel_slice item)
{
    return um_is_last(&last_item, item) ? last_digest
                                        : um_murmur_digest(item.data, item.len);
}

int um_bf_exists_run(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_slice item;
    bool hit = false;

    if (argc != 3)
        return um_api.WrongArity(ctx);
    const um_bf *b = find_filter(ctx, argv[1]);
    if (b) {
        item.data = um_api.StringPtrLen(argv[2], &item.len);
        hit = um_bf_has(b, digest_of(item));
        set_hint(ctx, argv[1], b);
    }
    um_stats.queries++;
    return um_api.ReplyWithBool(ctx, hit);
}

int um_bf_mexists_run(um_ctx *ctx, um_str **argv, int argc)
{
    um_items items;

    if (argc < 3)
        return um_api.WrongArity(ctx);
    const um_bf *b = find_filter(ctx, argv[1]);
    if (!um_items_init(ctx, &items, argv + 2, argc - 2))
        return UM_DONE;
    if (b)
        um_bf_query(b, items.key, items.n, items.flag);
    um_stats.queries += items.n;
    um_api.ReplyWithArray(ctx, (long)items.n);
    for (size_t i = 0; i < items.n; i++)
        um_api.ReplyWithBool(ctx, b && items.flag[i]);
    um_items_fini(&items);
    return UM_DONE;
}

int um_bf_card_run(um_ctx *ctx, um_str **argv, int argc)
{
    void *value;

    if (argc != 2)
        return um_api.WrongArity(ctx);
    if (!um_find_value(ctx, argv[1], um_bf_type, &value))
        return UM_DONE;
    return um_api.ReplyWithLongLong(
        ctx, value ? (long long)((um_bf *)value)->items : 0);
}
