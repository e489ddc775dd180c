/*
 * reserve.c - UMB.RESERVE: creates an empty filter, with the parameters of
 * 'umbel build'.
 */
#include "module/runtime/jobs.h"
#include "module/runtime/keys.h"
#include "module/runtime/memory.h"
#include "module/runtime/settings.h"
#include "module/runtime/write.h"
#include "module/umb/umb.h"

#include "base/error.h"
#include "cli/framework/numbers.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <umbel/describe.h>
#include <umbel/file.h>
#include <umbel/plan.h>

enum { MAX_SETTINGS = 8, NAME_LEN = 32 };

typedef struct reserve_job {
    um_job job;
    char kind[NAME_LEN], addressing[NAME_LEN], hash[NAME_LEN];
    char names[MAX_SETTINGS][NAME_LEN];
    umbel_setting settings[MAX_SETTINGS];
    uint8_t secret[UMBEL_SECRET_LEN];
    umbel_params params;
    bool keyed;
    bool copied;     /* made is a copy of the template */
    int random_seed; /* index of the word for a random seed; 0 if none */
    umbel_filter *made;
} reserve_job;

/* --- arguments ------------------------------------------------------------ */

/* Copies a name in lower case, with _ for -: "CELL-BITS" is the setting
 * cell_bits. */
static bool copy_name(char out[NAME_LEN], const um_str *word)
{
    size_t len;
    const char *text = um_api.StringPtrLen(word, &len);

    if (len >= NAME_LEN)
        return false;
    for (size_t i = 0; i < len; i++)
        out[i] = (char)(text[i] == '-' ? '_' : tolower((uint8_t)text[i]));
    out[len] = '\0';
    return strlen(out) == len;
}

/* Copies a value unchanged: names of kinds, addressings and hashes contain
 * "-". */
static bool copy_value(char out[NAME_LEN], const um_str *word)
{
    size_t len;
    const char *text = um_api.StringPtrLen(word, &len);

    if (len >= NAME_LEN)
        return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return strlen(out) == len;
}

/* Sets the kind; false after an error reply that lists the kinds. */
static bool set_kind(um_ctx *ctx, reserve_job *r, const um_str *word)
{
    char list[200] = "";
    const char *name;

    for (size_t i = 0; umbel_kind_at(i, &name, NULL); i++) {
        size_t len = strlen(list);
        if (um_is_word(word, name))
            return copy_name(r->kind, word);
        snprintf(list + len, sizeof list - len, "%s%s", len ? ", " : "", name);
    }
    um_reply_text(ctx, "KIND: there is no kind \"%.40s\"; there are %s",
                  um_api.StringPtrLen(word, NULL), list);
    return false;
}

static bool is_setting(const char *name)
{
    umbel_setting_info info;
    const char *kind;

    for (size_t i = 0; umbel_kind_at(i, &kind, NULL); i++)
        for (size_t j = 0; umbel_kind_setting(kind, j, &info); j++)
            if (strcmp(info.name, name) == 0)
                return true;
    return false;
}

/* Returns true for the name of a parameter; any other word after the key is
 * taken as a kind. */
static bool is_parameter(const um_str *word)
{
    static const char *const names[] = {
        "capacity", "fpr",    "bits",       "cells", "seed",
        "hash",     "hashes", "addressing", "keyed", "exact-size"};
    char name[NAME_LEN];

    for (size_t i = 0; i < UM_COUNT(names); i++)
        if (um_is_word(word, names[i]))
            return true;
    return copy_name(name, word) && is_setting(name);
}

static bool set_seed(um_ctx *ctx, reserve_job *r, um_str **argv, int i)
{
    if (!um_is_word(argv[i], "random"))
        return um_whole_arg(ctx, "SEED", argv[i], UINT64_MAX, &r->params.seed);
    um_api.GetRandomBytes((unsigned char *)&r->params.seed,
                          sizeof r->params.seed);
    r->params.seed >>= 1; /* the server's numbers have 63 bits */
    r->random_seed = i;
    return true;
}

static bool set_text(um_ctx *ctx, const char *name, char out[NAME_LEN],
                     const char **target, const um_str *word)
{
    if (!copy_value(out, word)) {
        um_reply_text(ctx, "%s is no name", name);
        return false;
    }
    *target = out;
    return true;
}

/* Adds a parameter of the kind; the library checks names and ranges. */
static bool set_setting(um_ctx *ctx, reserve_job *r, const um_str *name,
                        const um_str *word)
{
    size_t n = r->params.nsettings;
    uint64_t value;

    if (n == MAX_SETTINGS || !copy_name(r->names[n], name)) {
        um_reply_text(ctx, "too many parameters, or too long a name");
        return false;
    }
    if (um_is_word(word, "plain") || um_is_word(word, "refined"))
        value = um_is_word(word, "refined");
    else if (!um_whole_arg(ctx, r->names[n], word, UINT64_MAX, &value))
        return false;
    r->settings[n] = (umbel_setting){r->names[n], value};
    r->params.nsettings = n + 1;
    return true;
}

static bool set_option(um_ctx *ctx, reserve_job *r, um_str **argv, int i)
{
    const um_str *name = argv[i], *word = argv[i + 1];
    umbel_params *p = &r->params;
    uint64_t hashes;

    if (um_is_word(name, "capacity"))
        return um_whole_arg(ctx, "CAPACITY", word, INT64_MAX, &p->capacity);
    if (um_is_word(name, "fpr"))
        return um_share_arg(ctx, "FPR", word, &p->fpr);
    if (um_is_word(name, "bits") || um_is_word(name, "cells"))
        return um_whole_arg(ctx, "BITS", word, INT64_MAX, &p->cells);
    if (um_is_word(name, "seed"))
        return set_seed(ctx, r, argv, i + 1);
    if (um_is_word(name, "addressing"))
        return set_text(ctx, "ADDRESSING", r->addressing, &p->addressing, word);
    if (um_is_word(name, "hash"))
        return set_text(ctx, "HASH", r->hash, &p->hash, word);
    if (!um_is_word(name, "hashes"))
        return set_setting(ctx, r, name, word);
    if (!um_whole_arg(ctx, "HASHES", word, 64, &hashes))
        return false;
    p->hashes = (uint32_t)hashes;
    return true;
}

static bool set_keyed(um_ctx *ctx, reserve_job *r)
{
    if (!um_settings.has_secret) {
        um_reply_text(ctx, "KEYED: set umbel.secret-file to a file of 'umbel "
                           "keygen' first");
        return false;
    }
    memcpy(r->secret, um_settings.secret, sizeof r->secret);
    r->params.secret = r->secret;
    r->keyed = true;
    return true;
}

/* Returns true for an option that has no value. */
static bool is_flag(const um_str *word)
{
    return um_is_word(word, "keyed") || um_is_word(word, "exact-size");
}

static bool set_flag(um_ctx *ctx, reserve_job *r, const um_str *word)
{
    if (um_is_word(word, "keyed"))
        return set_keyed(ctx, r);
    r->params.exact_size = true;
    return true;
}

/* Copies the name of an option; BITS and CELLS are synonyms. */
static void name_option(char out[NAME_LEN], const um_str *word)
{
    if (!copy_name(out, word))
        out[0] = '\0';
    else if (strcmp(out, "cells") == 0)
        memcpy(out, "bits", sizeof "bits");
}

/* Refuses an option that occurs twice. Commands from a primary are accepted:
 * the last value wins, as it did there. */
static bool is_repeated(um_ctx *ctx, um_str **argv, int first, int at)
{
    char name[NAME_LEN], other[NAME_LEN];

    name_option(name, argv[at]);
    for (int i = first; name[0] && i < at && !um_from_primary(ctx); i++) {
        name_option(other, argv[i]);
        if (strcmp(name, other) == 0) {
            um_reply_text(ctx, "%s is given twice",
                          um_api.StringPtrLen(argv[at], NULL));
            return true;
        }
        i += !is_flag(argv[i]);
    }
    return false;
}

static bool parse(um_ctx *ctx, reserve_job *r, um_str **argv, int argc)
{
    int i = 2, first;

    if (argc > 2 && !is_parameter(argv[2]) && !set_kind(ctx, r, argv[i++]))
        return false;
    first = i;
    while (i < argc) {
        bool good;

        if (is_repeated(ctx, argv, first, i)) {
            good = false;
        } else if (is_flag(argv[i])) {
            good = set_flag(ctx, r, argv[i]);
        } else if (i + 1 == argc) {
            um_reply_text(ctx, "%s needs a value",
                          um_api.StringPtrLen(argv[i], NULL));
            good = false;
        } else {
            good = set_option(ctx, r, argv, i++);
        }
        if (!good)
            return false;
        i++;
    }
    return true;
}

/* --- the last filter ---------------------------------------------------------
 *
 * Computing the size of a filter takes a millisecond. Applications with one
 * filter per user repeat the same command, so the last empty filter is kept as
 * a template and copied.
 */

enum { TEMPLATE_BYTES = 64 << 10 };

static struct {
    char words[256];
    size_t len; /* 0 if not set */
    umbel_filter *empty;
} template;

/* Joins the words after the key, each with a zero byte; 0 if they are too long
 * to be compared. */
static size_t join_words(um_str **argv, int argc,
                         char out[sizeof template.words])
{
    size_t used = 0;

    for (int i = 2; i < argc; i++) {
        size_t len;
        const char *text = um_api.StringPtrLen(argv[i], &len);
        if (len >= sizeof template.words - used)
            return 0;
        memcpy(out + used, text, len);
        used += len;
        out[used++] = '\0';
    }
    return used;
}

static bool is_template(um_str **argv, int argc)
{
    char words[sizeof template.words];
    size_t len = join_words(argv, argc, words);

    return len > 0 && len == template.len &&
           memcmp(words, template.words, len) == 0;
}

static void retain_template(um_str **argv, int argc, const umbel_filter *f)
{
    umbel_close(template.empty);
    template.empty = NULL;
    template.len = 0;
    if (umbel_raw_len(f) <= TEMPLATE_BYTES &&
        umbel_copy(f, &template.empty, NULL) == UMBEL_OK)
        template.len = join_words(argv, argc, template.words);
}

/* --- creating ------------------------------------------------------------- */

static void work(um_job *job)
{
    reserve_job *r = (reserve_job *)job;

    if (r->copied)
        job->status = umbel_copy(template.empty, &r->made, &job->err);
    else
        job->status = umbel_create(r->kind, &r->params, &r->made, &job->err);
    sodium_memzero(r->secret, sizeof r->secret);
}

/* Replicates the command, with the random seed that the primary chose. */
static void replicate(const reserve_job *r, um_ctx *ctx, um_str **argv,
                      int argc)
{
    char text[24];
    um_str *seed, *word;
    int i = r->random_seed;

    if (i == 0) {
        um_api.ReplicateVerbatim(ctx);
        return;
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)r->params.seed);
    seed = um_api.CreateString(ctx, text, strlen(text));
    word = argv[i];
    argv[i] = seed;
    um_api.Replicate(ctx, "UMB.RESERVE", "v", argv + 1, (size_t)argc - 1);
    argv[i] = word;
    um_api.FreeString(ctx, seed);
}

static bool key_is_free(um_ctx *ctx, um_str *name)
{
    um_key *key = um_api.OpenKey(ctx, name, UM_READ);

    if (!key)
        return true;
    um_api.CloseKey(key);
    um_reply_text(ctx, "key: exists already");
    return false;
}

static int reply(um_job *job, um_ctx *ctx, um_str **argv, int argc)
{
    reserve_job *r = (reserve_job *)job;
    umbel_filter *f = r->made;
    um_body *b;

    if (job->status)
        return um_reply_error(ctx, &job->err);
    if (!key_is_free(ctx, argv[1]))
        return UM_DONE;
    r->made = NULL;
    if (!r->random_seed && !r->keyed && !r->copied)
        retain_template(argv, argc, f);
    if (um_body_open(f, &b, &job->err) != UMBEL_OK)
        return um_reply_error(ctx, &job->err);
    um_write_body(ctx, argv[1], b);
    replicate(r, ctx, argv, argc);
    um_api.NotifyKeyspaceEvent(ctx, UM_NOTIFY_MODULE, "umb.reserve", argv[1]);
    return um_api.ReplyWithSimpleString(ctx, "OK");
}

static void free_job(um_job *job)
{
    reserve_job *r = (reserve_job *)job;

    umbel_close(r->made);
    sodium_memzero(r->secret, sizeof r->secret);
    um_api.Free(r);
}

/* Chooses the default kind: without a size, the only kind that needs none. */
static void choose_kind(reserve_job *r)
{
    bool sized = r->params.capacity || r->params.cells;

    if (!r->kind[0])
        snprintf(r->kind, sizeof r->kind, "%s", sized ? "bloom" : "scalable");
    if (r->keyed && !r->params.hash)
        r->params.hash = "sip";
}

int um_umb_reserve(um_ctx *ctx, um_str **argv, int argc)
{
    reserve_job *r;
    umbel_size_plan plan = {0};
    umbel_error err;

    if (argc < 2)
        return um_api.WrongArity(ctx);
    if (!key_is_free(ctx, argv[1]))
        return UM_DONE;
    r = um_api.Alloc(sizeof *r);
    *r = (reserve_job){.job = {work, reply, free_job, .writes = true}};
    r->params = (umbel_params)UMBEL_PARAMS_INIT;
    r->params.settings = r->settings;
    r->params.alloc = &um_module_alloc;
    if (!parse(ctx, r, argv, argc))
        return free_job(&r->job), UM_DONE;
    choose_kind(r);
    r->copied = is_template(argv, argc); /* small: needs no thread */
    if (!r->copied &&
        umbel_plan_size(r->kind, &r->params, 0, &plan, NULL) == UMBEL_OK &&
        um_memory_check(ctx, plan.bytes, &err) != UMBEL_OK)
        return free_job(&r->job), um_reply_error(ctx, &err);
    return um_job_run(&r->job, ctx, argv, argc, plan.bytes);
}
