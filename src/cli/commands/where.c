/*
 * where.c - umbel where: which of many filters contain a key.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/text.h"
#include "build/build.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "query/query.h"
#include "sync/directory.h"
#include "trust/key_file.h"

#include <umbel/experimental/index.h>

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct where_args {
    const char *index;
    um_list operands, remove;
    bool add, tokens, fold_case, all, any, print0;
    um_share share, fpr;
    um_open_args open;
} where_args;

enum { ASK = UM_MODE(0), ADD = UM_MODE(1), REMOVE = UM_MODE(2) };

/* Labels of an index. */
enum { OF_FILTERS = 0, OF_WORDS = 1, OF_FOLDED_WORDS = 2 };

static const um_option options[] = {
    {"index", 0, "DIR", "the directory of the index",
     UM_TARGET(where_args, index), .required = true},
    {"add", 0, NULL,
     "add the filters to the index, or replace those of the same names",
     UM_TARGET(where_args, add), .excludes = "remove", .modes = ADD},
    {"remove", 0, "NAME", "remove a filter; may be repeated",
     UM_TARGET(where_args, remove), .modes = REMOVE},
    {"tokens", 0, NULL, "add text files by their words; they may be compressed",
     UM_TARGET(where_args, tokens), .needs = "add", .modes = ADD},
    {"fold-case", 0, NULL, "words in upper and lower case are the same",
     UM_TARGET(where_args, fold_case), .needs = "tokens", .modes = ADD},
    {"fpr", 0, "RATE", "false positive rate of a word; default 0.001",
     UM_TARGET(where_args, fpr), .needs = "tokens", .modes = ADD},
    {"all", 0, NULL, "print filters that contain all keys; the default",
     UM_TARGET(where_args, all), .excludes = "any share", .modes = ASK},
    {"any", 0, NULL, "print filters that contain any of the keys",
     UM_TARGET(where_args, any), .excludes = "share", .modes = ASK},
    {"share", 0, "P", "print filters that contain at least this share of them",
     UM_TARGET(where_args, share), .modes = ASK},
    {"print0", 0, NULL, "print names, each followed by a NUL",
     UM_TARGET(where_args, print0), .excludes = "json quiet", .modes = ASK},
    {0}};

static unsigned mode(const void *values)
{
    const where_args *a = values;

    return a->add ? ADD : a->remove.n ? REMOVE : ASK;
}

/* --- updates -------------------------------------------------------------- */

/* What is added, and the names that it replaces. */
typedef struct addition_list {
    um_texts names, gone;
    umbel_index_entry *entry;
    umbel_filter **filter;
    size_t n;
} addition_list;

static void list_fini(addition_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        umbel_close(l->filter[i]);
    free(l->filter);
    free(l->entry);
    um_texts_fini(&l->names);
    um_texts_fini(&l->gone);
}

static uint64_t label_of(const where_args *a)
{
    return !a->tokens ? OF_FILTERS : a->fold_case ? OF_FOLDED_WORDS : OF_WORDS;
}

static umbel_status check_label(const where_args *a, const umbel_index *x,
                                umbel_error *err)
{
    static const char *const made[] = {"without --tokens", "with --tokens",
                                       "with --tokens --fold-case"};
    uint64_t label = umbel_index_label(x);

    if (label == label_of(a))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_MISMATCH,
                   "%s%s was made %s: do the same here, "
                   "or use another directory",
                   um_path_dots(a->index), um_path_tail(a->index),
                   made[label < UM_COUNT(made) ? label : 0]);
}

/* Lists the filters of a directory of umbel sync, one for each origin, and
 * those that were added from it and are no longer there. */
static umbel_status list_sync_dir(const where_args *a, const char *dir,
                                  addition_list *l, umbel_error *err)
{
    size_t len = strlen(dir);
    um_texts files;
    umbel_index *x = NULL;
    umbel_index_slot slot;
    bool fine = true;

    UM_TRY(um_sync_dir_files(dir, (uint64_t)time(NULL), &files, err));
    for (size_t i = 0; i < files.n; i++)
        fine &= um_texts_add(&l->names, files.item[i]);
    umbel_status status = umbel_index_open(a->index, NULL, &x, err);
    size_t n = status ? 0 : umbel_index_slots(x);
    if (status == UMBEL_E_UNKNOWN)
        status = UMBEL_OK;
    for (size_t i = 0; !status && i < n; i++) {
        status = umbel_index_slot_at(x, i, &slot, err);
        if (!status && slot.name && strncmp(slot.name, dir, len) == 0 &&
            strncmp(slot.name + len, "/copy-", 6) == 0 &&
            !um_texts_has(&files, slot.name))
            fine &= um_texts_add(&l->gone, slot.name);
    }
    umbel_index_close(x);
    um_texts_fini(&files);
    if (!status && !fine)
        status = um_no_memory(err, len);
    return status;
}

static umbel_status open_entry(const where_args *a, const char *path,
                               umbel_filter **out, umbel_error *err)
{
    umbel_params params = UMBEL_PARAMS_INIT;

    if (!a->tokens)
        return um_open_filter(&a->open, path, out, err);
    params.fpr = a->fpr.given ? a->fpr.x : 0;
    return um_tokens_build(path, &params, a->fold_case, out, err);
}

static umbel_status collect(const where_args *a, addition_list *l,
                            umbel_error *err)
{
    for (size_t i = 0; i < a->operands.n; i++) {
        const char *path = a->operands.item[i];
        if (!a->tokens && um_is_sync_dir(path))
            UM_TRY(list_sync_dir(a, path, l, err));
        else if (!um_texts_add(&l->names, path))
            return um_no_memory(err, strlen(path));
    }
    size_t n = l->names.n;
    l->filter = calloc(n + 1, sizeof(umbel_filter *));
    l->entry = calloc(n + 1, sizeof *l->entry);
    if (!l->filter || !l->entry)
        return um_no_memory(err, n * sizeof *l->entry);
    for (; l->n < n; l->n++) {
        const char *path = l->names.item[l->n];
        umbel_status status = open_entry(a, path, &l->filter[l->n], err);
        if (status && strncmp(err->text, path, strlen(path)) != 0)
            um_name_file(status, path, err);
        if (status)
            return status;
        l->entry[l->n] = (umbel_index_entry){path, l->filter[l->n]};
        um_progress_steps("reading", l->n + 1, n, "files");
    }
    return UMBEL_OK;
}

static umbel_status update(const um_args *args, umbel_index_changes *done,
                           umbel_error *err)
{
    const where_args *a = args->values;
    addition_list l = {.n = 0};
    umbel_index *x;
    um_list gone = a->remove;
    uint64_t label = label_of(a);

    umbel_status status = umbel_index_open(a->index, NULL, &x, err);
    if (!status) {
        if (a->add)
            status = check_label(a, x, err);
        label = umbel_index_label(x);
        umbel_index_close(x);
    } else if (status == UMBEL_E_UNKNOWN && a->add) {
        status = UMBEL_OK;
    }
    um_progress_begin(args);
    if (!status && a->add) {
        status = collect(a, &l, err);
        gone.item = (const char *const *)l.gone.item;
        gone.n = l.gone.n;
    }
    um_progress_end();
    if (!status)
        status = umbel_index_update(a->index, label, l.entry, l.n, gone.item,
                                    gone.n, done, err);
    list_fini(&l);
    return status;
}

static void print_changes(const um_args *args, const umbel_index_changes *c)
{
    um_report r = {0};

    um_report_count(&r, "added", NULL, NULL, c->added);
    um_report_count(&r, "replaced", NULL, NULL, c->replaced);
    um_report_count(&r, "unchanged", NULL, NULL, c->unchanged);
    um_report_count(&r, "removed", NULL, NULL, c->removed);
    um_report_count(&r, "filters", NULL, NULL, c->filters);
    um_report_count(&r, "bytes", NULL, "bytes", c->bytes);
    um_report_print(args, &r);
    um_report_fini(&r);
}

/* --- questions ------------------------------------------------------------ */

typedef struct where_ctx {
    const um_args *args;
    const where_args *a;
    umbel_index *x;
    uint8_t *hits, *word; /* UMBEL_INDEX_HITS bytes for each key; for a word */
    size_t len;           /* bytes of hits for one key */
    unsigned *lookups;    /* of each key */
    bool any_word;        /* the key that is asked has a word */
    uint64_t printed;
} where_ctx;

/* Intersects the hits of a key with those of one of its words. */
static umbel_status ask_word(void *ctx, umbel_slice word, umbel_error *err)
{
    where_ctx *c = ctx;
    uint8_t *all = c->hits;

    UM_TRY(umbel_index_ask(c->x, word.data, word.len, c->word, NULL, err));
    for (size_t b = 0; b < c->len; b++)
        all[b] = c->any_word ? all[b] & c->word[b] : c->word[b];
    c->any_word = true;
    return UMBEL_OK;
}

static umbel_status ask_words(where_ctx *c, const char *text, umbel_error *err)
{
    size_t len = strlen(text);
    char *copy = strdup(text);

    if (!copy)
        return um_no_memory(err, len);
    if (umbel_index_label(c->x) == OF_FOLDED_WORDS)
        um_fold_case((uint8_t *)copy, len, (uint8_t *)copy);
    c->any_word = false;
    umbel_status status =
        um_tokens_each((umbel_slice){copy, len}, ask_word, c, err);
    free(copy);
    if (!status && !c->any_word)
        status = um_fail(err, UMBEL_E_KEY,
                         "\"%s\" has no word: every file may "
                         "contain it",
                         text);
    return status;
}

static umbel_status ask_all(where_ctx *c, umbel_error *err)
{
    uint8_t *hits = c->hits;

    for (size_t k = 0; k < c->a->operands.n; k++, c->hits += c->len) {
        const char *key = c->a->operands.item[k];
        c->lookups[k] = 1;
        if (umbel_index_label(c->x) != OF_FILTERS)
            UM_TRY(ask_words(c, key, err));
        else
            UM_TRY(umbel_index_ask(c->x, key, strlen(key), c->hits,
                                   &c->lookups[k], err));
    }
    c->hits = hits;
    return UMBEL_OK;
}

static bool matches(const where_ctx *c, size_t key, size_t slot)
{
    return um_bit(c->hits + key * c->len, slot);
}

static void print_name(where_ctx *c, size_t slot, const umbel_index_slot *s)
{
    const um_list *keys = &c->a->operands;

    if (c->args->common.quiet)
        return;
    if (c->a->print0) {
        fwrite(s->name, 1, strlen(s->name) + 1, stdout);
        return;
    }
    if (!c->args->common.json) {
        char *shown = strdup(s->name);
        if (shown)
            um_disarm(shown);
        puts(shown ? shown : "?");
        free(shown);
        return;
    }
    for (size_t k = 0; k < keys->n; k++) {
        if (!matches(c, k, slot))
            continue;
        putchar('{');
        um_json_key(stdout,
                    &(umbel_slice){keys->item[k], strlen(keys->item[k])});
        um_json_field(stdout, 1, "name", s->name);
        um_json_name(stdout, 1, "probability");
        um_json_real(stdout, um_question_error(s->error, c->lookups[k]));
        puts("}");
    }
}

static umbel_status print_all(where_ctx *c, umbel_error *err)
{
    size_t keys = c->a->operands.n, need = keys;
    umbel_index_slot slot;

    if (c->a->any)
        need = 1;
    else if (c->a->share.given)
        need = (size_t)ceil(c->a->share.x * (double)keys);
    for (size_t i = 0; i < umbel_index_slots(c->x); i++) {
        size_t found = 0;
        for (size_t k = 0; k < keys; k++)
            found += matches(c, k, i);
        if (found < need)
            continue;
        UM_TRY(umbel_index_slot_at(c->x, i, &slot, err));
        print_name(c, i, &slot);
        c->printed++;
    }
    return UMBEL_OK;
}

static umbel_status open_index(const where_args *a, umbel_index **out,
                               umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];

    if (!a->open.key_file)
        return umbel_index_open(a->index, NULL, out, err);
    UM_TRY(um_secret_load(a->open.key_file, secret, err));
    umbel_status status = umbel_index_open(a->index, secret, out, err);
    sodium_memzero(secret, sizeof secret);
    return status;
}

static umbel_status where(where_ctx *c, umbel_error *err)
{
    size_t n = c->a->operands.n;

    UM_TRY(open_index(c->a, &c->x, err));
    c->len = UMBEL_INDEX_HITS(umbel_index_slots(c->x));
    c->hits = calloc(n, c->len);
    c->word = malloc(c->len);
    c->lookups = calloc(n, sizeof *c->lookups);
    umbel_status status = c->hits && c->word && c->lookups
                              ? UMBEL_OK
                              : um_no_memory(err, n * c->len);
    if (!status)
        status = ask_all(c, err);
    if (!status)
        status = print_all(c, err);
    umbel_index_close(c->x);
    free(c->hits);
    free(c->word);
    free(c->lookups);
    return status;
}

static int run(const um_args *args)
{
    where_ctx c = {.args = args, .a = args->values};
    umbel_index_changes done;
    umbel_error err;
    bool asks = mode(c.a) == ASK;

    if (mode(c.a) != REMOVE && !c.a->operands.n)
        return um_misuse(args, asks ? "give a key" : "give a filter to add");
    umbel_status status = asks ? where(&c, &err) : update(args, &done, &err);
    if (status)
        return um_trouble(args, &err);
    if (!asks)
        print_changes(args, &done);
    return !asks || c.printed ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_where = {
    .name = "where",
    .summary = "print which of many filters contain a key",
    .section = UM_EVERYDAY,
    .values_len = sizeof(where_args),
    .operands = {{"KEY|FILTER", UM_LIST, offsetof(where_args, operands),
                  .modes = ASK | ADD}},
    .options = {{.rows = options},
                {.rows = um_open_options,
                 .base = offsetof(where_args, open),
                 .modes = ASK | ADD}},
    .modes = {{"to ask", "--index DIR KEY"},
              {"to add filters", "--index DIR --add FILTER"},
              {"to remove filters", "--index DIR --remove NAME"}},
    .mode = mode,
    .run = run,
    .example = "--index peers.idx 500",
    .details =
        "The index is a directory with the bits of all filters, arranged so "
        "that a question reads a few kilobytes for each thousand of them. Its "
        "answers are those of the filters. Exit codes: 0 if a filter is "
        "printed, 1 if none is, 2 for an error.",
};
