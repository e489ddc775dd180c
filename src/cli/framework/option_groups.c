/*
 * option_groups.c - options that several commands share.
 */
#include "cli/framework/option_groups.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/threads.h"
#include "cli/framework/numbers.h"
#include "cli/framework/progress.h"
#include "filter/kind.h"
#include "query/query.h"
#include "trust/key_file.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

/* --- keys ----------------------------------------------------------------- */

/* In the order of um_list_format. */
static const char *const list_formats[] = {"lines",   "hibp",    "hosts",
                                           "adblock", "domains", NULL};

const um_option um_key_options[] = {
    {"list-format", 0, "F",
     "what lines are: lines (keys, the default), hibp (HASH:COUNT, and range "
     "files), hosts, adblock, domains",
     UM_TARGET(um_key_args, list_format), .choices = list_formats,
     .excludes = "null field csv json-field"},
    {"csv", 0, NULL, "files are comma-separated values (RFC 4180)",
     UM_TARGET(um_key_args, csv), .needs = "column",
     .excludes = "null field json-field"},
    {"column", 0, "C",
     "with --csv: the key is this column, a name in the first line or a number",
     UM_TARGET(um_key_args, column), .needs = "csv"},
    {"json-field", 0, "NAME",
     "lines are JSON objects, and the key is the member NAME",
     UM_TARGET(um_key_args, json_field), .excludes = "null field"},
    {"null", '0', NULL, "keys end with a NUL byte instead of a newline",
     UM_TARGET(um_key_args, null)},
    {"hex", 0, NULL, "keys are written in hexadecimal",
     UM_TARGET(um_key_args, hex)},
    {"fold-case", 0, NULL, "make the ASCII letters of keys lower case",
     UM_TARGET(um_key_args, fold_case), .excludes = "hex"},
    {"field", 0, "N", "the key is the N-th field of a line",
     UM_TARGET(um_key_args, field), .low = 1},
    {"delimiter", 0, "C", "fields are separated by C (default: tab)",
     UM_TARGET(um_key_args, delimiter),
     .needs = "field csv weights never amount-field value-bits counts"},
    {0}};

static const char *const forms[] = {"text",   "hex",     "folded", "integer",
                                    "sha1",   "sha256",  "md5",    "ntlm",
                                    "domain", "network", NULL};

const um_option um_form_options[] = {
    {"key-form", 0, "F",
     "what keys are, and how they are asked (default text): sha1, sha256, md5 "
     "and ntlm store digests, domain also finds subdomains, network addresses",
     UM_TARGET(um_key_args, form), .choices = forms},
    {0}};

const um_option um_thread_options[] = {
    {"threads", 0, "N", "use N threads; 0: one per core (default 1)",
     UM_TARGET(um_thread_args, threads), .high = UM_MAX_THREADS},
    {0}};

const um_option um_amount_options[] = {
    {"times", 0, "N", "counting kinds: add every key N times",
     UM_TARGET(um_amount_args, times), .low = 1, .excludes = "amount-field"},
    {"amount-field", 0, "N",
     "counting kinds: add a key as often as the N-th field of its line says",
     UM_TARGET(um_amount_args, amount_field), .low = 1},
    {0}};

static umbel_status parse_delimiter(const char *text, char *out,
                                    umbel_error *err)
{
    *out = '\0'; /* that of the format */
    if (!text)
        return UMBEL_OK;
    *out = '\t';
    if (strcmp(text, "\\t") == 0)
        return UMBEL_OK;
    if (strlen(text) != 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "--delimiter is one byte, or \\t for a tab, got \"%s\"",
                       text);
    *out = text[0];
    return UMBEL_OK;
}

/* Returns the field number; the value that means "last" is reduced by one, as
 * no line has that many fields. */
static uint64_t field_number(const um_whole *field)
{
    return field->n == UM_LAST_FIELD ? field->n - 1 : field->n;
}

/* Warns only once of the same, since some lists are read repeatedly. */
static void warn_once(const void *ctx, const char *file, const char *text)
{
    enum { MAX_WARNINGS = 16 };
    static uint64_t warned[MAX_WARNINGS];
    static size_t n;
    uint64_t hash = um_checksum(text, strlen(text)) ^ (uintptr_t)file;

    for (size_t i = 0; i < n; i++)
        if (warned[i] == hash)
            return;
    if (n == MAX_WARNINGS)
        return;
    warned[n++] = hash;
    um_warn(ctx, "%s%s: %s", um_path_dots(file), um_path_tail(file), text);
}

/* Returns the form that a format stores; hex and fold_case stand for two. */
static umbel_key_form form_of_format(umbel_key_form form)
{
    return um_form_asks_several(form) ? form : UMBEL_KEYS_TEXT;
}

/* Returns true if --hex is for keys of that form. */
static bool takes_hex(umbel_key_form form)
{
    return form == UMBEL_KEYS_HEX ||
           (form >= UMBEL_KEYS_SHA1 && form <= UMBEL_KEYS_NTLM);
}

umbel_status um_key_form_from_args(const um_key_args *k, umbel_key_form *out,
                                   umbel_error *err)
{
    static const umbel_key_form of_choice[] = {
        UMBEL_KEYS_TEXT,    UMBEL_KEYS_HEX,  UMBEL_KEYS_FOLDED_TEXT,
        UMBEL_KEYS_INTEGER, UMBEL_KEYS_SHA1, UMBEL_KEYS_SHA256,
        UMBEL_KEYS_MD5,     UMBEL_KEYS_NTLM, UMBEL_KEYS_DOMAIN,
        UMBEL_KEYS_NETWORK};
    bool hibp = k->list_format.index == UM_LIST_HIBP;
    umbel_key_form form = k->form.name   ? of_choice[k->form.index]
                          : hibp         ? UMBEL_KEYS_SHA1
                          : k->hex       ? UMBEL_KEYS_HEX
                          : k->fold_case ? UMBEL_KEYS_FOLDED_TEXT
                                         : UMBEL_KEYS_TEXT;

    if (hibp && (k->fold_case || !takes_hex(form)))
        return um_fail(err, UMBEL_E_RANGE,
                       "--list-format hibp has digests: leave out %s",
                       k->fold_case ? "--fold-case" : "--key-form");
    if ((k->hex && !takes_hex(form)) ||
        (k->fold_case && form != UMBEL_KEYS_FOLDED_TEXT))
        return um_fail(err, UMBEL_E_RANGE,
                       "--key-form %s and --%s contradict each other: leave "
                       "one out",
                       um_form_option(form), k->hex ? "hex" : "fold-case");
    *out = form;
    return UMBEL_OK;
}

umbel_status um_key_source_from_args(const um_args *args, const um_key_args *k,
                                     const um_thread_args *threads,
                                     um_list paths, um_key_source *out,
                                     umbel_error *err)
{
    um_list_format list = (um_list_format)k->list_format.index;
    uint64_t column = 0;
    bool named = k->column && !um_parse_whole(k->column, &column);
    umbel_key_form form;
    char delimiter;

    UM_TRY(parse_delimiter(k->delimiter, &delimiter, err));
    UM_TRY(um_key_form_from_args(k, &form, err));
    if (k->column && !named && (column == 0 || column == UM_LAST_FIELD))
        return um_fail(err, UMBEL_E_RANGE, "--column begins at 1");
    *out = (um_key_source){
        .paths = paths.item,
        .npaths = paths.n,
        .format = {.list = list,
                   .csv = k->csv,
                   .column = named ? k->column : NULL,
                   .json_field = k->json_field,
                   .null_ended = k->null,
                   .hex =
                       k->hex || list == UM_LIST_HIBP || form == UMBEL_KEYS_HEX,
                   .fold_case = form == UMBEL_KEYS_FOLDED_TEXT,
                   .form = form_of_format(form),
                   .delimiter = delimiter,
                   .field = column ? column : field_number(&k->field)},
        .threads = threads && threads->threads.given
                       ? (unsigned)(threads->threads.n)
                       : 1,
        .progress = um_progress_read,
        .warn = warn_once,
        .warn_ctx = args};
    return UMBEL_OK;
}

/* Refuses an option that contradicts the file. */
static umbel_status check_form(umbel_key_form form, umbel_key_form asked,
                               const char *option, umbel_error *err)
{
    if (form == asked || form == UMBEL_KEYS_UNRECORDED)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "the keys of this filter are %s: leave %s out, or build "
                   "the filter with it",
                   umbel_key_form_name(form), option);
}

umbel_status um_obey_key_form(const umbel_filter *f, um_key_format *format,
                              umbel_error *err)
{
    umbel_key_form form = umbel_key_form_of(f);

    if (format->hex && !takes_hex(form))
        UM_TRY(check_form(form, UMBEL_KEYS_HEX, "--hex", err));
    if (format->fold_case)
        UM_TRY(check_form(form, UMBEL_KEYS_FOLDED_TEXT, "--fold-case", err));
    format->hex |= form == UMBEL_KEYS_HEX;
    format->fold_case |= form == UMBEL_KEYS_FOLDED_TEXT;
    format->form = form_of_format(form);
    return UMBEL_OK;
}

void um_set_amounts(const um_amount_args *a, um_key_format *format)
{
    format->times = a->times.n;
    format->amount_field = field_number(&a->amount_field);
}

/* --- opening -------------------------------------------------------------- */

#define KEY_FILE(args)                                                         \
    {                                                                          \
        "key-file", 0, "FILE", "secret of a keyed filter (umbel keygen)",      \
            UM_TARGET(args, key_file), .role = UM_INPUT                        \
    }
#define MAX_MEMORY(args)                                                       \
    {                                                                          \
        "max-memory", 0, "N",                                                  \
            "use at most N bytes of memory for a compressed filter",           \
            UM_TARGET(args, max_memory), .low = 1, .formerly = "memory"        \
    }

const um_option um_secret_options[] = {KEY_FILE(um_secret_args), {0}};
const um_option um_memory_options[] = {MAX_MEMORY(um_memory_args), {0}};
const um_option um_open_options[] = {KEY_FILE(um_open_args),
                                     {"no-checksum", 0, NULL,
                                      "do not check the filter's payload first",
                                      UM_TARGET(um_open_args, no_checksum)},
                                     MAX_MEMORY(um_open_args),
                                     {0}};

/* --- shapes --------------------------------------------------------------- */

static const char *const updates[] = {"plain", "refined", NULL};

const um_option um_shape_options[] = {
    {"kind", 0, "K", "kind of filter (default bloom; umbel help kinds)",
     UM_TARGET(um_shape_args, kind), .names = "kinds"},
    {"addressing", 0, "A", "which cells a key owns (umbel help addressings)",
     UM_TARGET(um_shape_args, addressing), .names = "addressings"},
    {"hash", 0, "H", "hash family (default xxh3-64; umbel help hashes)",
     UM_TARGET(um_shape_args, hash), .names = "hashes"},
    {"seed", 0, "S",
     "seed of the hash: changes the false positives (default 0)",
     UM_TARGET(um_shape_args, seed)},
    {"fpr", 0, "P", "false positive rate: 0.001 or 0.1% (the default)",
     UM_TARGET(um_shape_args, fpr)},
    {"bits", 0, "M", "size in bits (default: from the capacity and --fpr)",
     UM_TARGET(um_shape_args, bits), .low = 1, .excludes = "cells"},
    {"cells", 0, "M", "size in cells, for kinds that count, instead of --bits",
     UM_TARGET(um_shape_args, cells), .low = 1},
    {"exact-size", 0, NULL,
     "the smallest size; not up to 0.5% more so that it can be folded",
     UM_TARGET(um_shape_args, exact_size), .excludes = "bits cells"},
    {"hashes", 0, "K", "hash functions (default: the best number)",
     UM_TARGET(um_shape_args, hashes), .low = 1, .high = 64},
    {"groups", 0, "D", "bloom: groups of hash functions to choose from (1)",
     UM_TARGET(um_shape_args, groups)},
    {"cell-bits", 0, "W",
     "bits of a counter: 2-32 for counting (4), 32 or 64 for countmin (32), "
     "1-32 for table (14)",
     UM_TARGET(um_shape_args, cell_bits)},
    {"update", 0, "U", "counting: plain (default) or refined",
     UM_TARGET(um_shape_args, update), .choices = updates},
    {"reset", 0, "K0", "generalized: hash functions that clear a bit (2)",
     UM_TARGET(um_shape_args, reset)},
    {"set", 0, "K1", "generalized: hash functions that set a bit (2)",
     UM_TARGET(um_shape_args, set),
     .advice = "parameters of a kind are --param NAME=N"},
    {"fill", 0, "P0", "generalized: share of ones before the first key (0)",
     UM_TARGET(um_shape_args, fill), .low = 0, .high = 1},
    {"param", 0, "NAME=N", "a parameter of the kind; may be repeated",
     UM_TARGET(um_shape_args, param), .formerly = "setting"},
    {0}};

um_whole um_size_asked(const um_shape_args *s)
{
    return s->cells.given ? s->cells : s->bits;
}

bool um_kind_has(const char *kind, const char *setting)
{
    umbel_setting_info row;

    for (size_t i = 0; umbel_kind_setting(kind ? kind : "bloom", i, &row); i++)
        if (strcmp(row.name, setting) == 0)
            return true;
    return false;
}

umbel_status um_params_add(um_filter_params *p, const char *name,
                           uint64_t value, umbel_error *err)
{
    size_t i = p->params.nsettings;

    if (i == UM_MAX_PARAMS || strlen(name) >= sizeof p->names[i])
        return um_fail(err, UMBEL_E_RANGE,
                       "--param: too many, or the name is too long");
    memcpy(p->names[i], name, strlen(name) + 1);
    p->settings[i] = (umbel_setting){p->names[i], value};
    p->params.nsettings++;
    return UMBEL_OK;
}

/* Parses --param NAME=N. */
static umbel_status add_text(um_filter_params *p, const char *text,
                             umbel_error *err)
{
    const char *equals = strchr(text, '=');
    char name[32];
    uint64_t value;

    if (!equals || equals == text || (size_t)(equals - text) >= sizeof name ||
        !um_parse_whole(equals + 1, &value))
        return um_fail(err, UMBEL_E_RANGE,
                       "--param needs NAME=NUMBER, got \"%s\"", text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    return um_params_add(p, name, value, err);
}

static umbel_status add_settings(const um_shape_args *s, um_filter_params *p,
                                 umbel_error *err)
{
    const struct {
        const char *name;
        um_whole value;
    } rows[] = {
        {"groups", s->groups},
        {"cell_bits", s->cell_bits},
        {"update", {s->update.index, s->update.name != NULL}},
        {"reset", s->reset},
        {"set", s->set},
        /* the library takes shares in billionths */
        {"start", {(uint64_t)(s->fill.x * 1e9 + 0.5), s->fill.given}},
    };

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (rows[i].value.given)
            UM_TRY(um_params_add(p, rows[i].name, rows[i].value.n, err));
    for (size_t i = 0; i < s->param.n; i++)
        UM_TRY(add_text(p, s->param.item[i], err));
    return UMBEL_OK;
}

/* Refuses --bits for counting kinds and --cells for others, since the number
 * would mean another size; and --exact-size if it has no effect. */
static umbel_status check_size_args(const um_shape_args *s, umbel_error *err)
{
    const um_kind *kind = um_kind_find(s->kind);

    if (kind && s->cells.given && !kind->counting)
        return um_fail(err, UMBEL_E_RANGE,
                       "--cells is for kinds that count: the cells of kind %s "
                       "are bits, so give --bits %" PRIu64,
                       kind->name, s->cells.n);
    if (kind && s->bits.given && kind->counting)
        return um_fail(err, UMBEL_E_RANGE,
                       "kind %s has cells of several bits: give their number "
                       "with --cells",
                       kind->name);
    if (kind && s->exact_size && !kind->fold)
        return um_fail(err, UMBEL_E_RANGE,
                       "--exact-size has no effect: kind %s cannot be folded, "
                       "so its size is exact",
                       kind->name);
    return UMBEL_OK;
}

umbel_status um_params_from_args(const um_shape_args *s, const char *key_file,
                                 um_filter_params *out, umbel_error *err)
{
    UM_TRY(check_size_args(s, err));
    *out = (um_filter_params){.kind = s->kind};
    out->params = (umbel_params)UMBEL_PARAMS_INIT;
    out->params.addressing = s->addressing;
    out->params.hash = s->hash;
    out->params.seed = s->seed.n;
    out->params.fpr = s->fpr.x;
    out->params.cells = um_size_asked(s).n;
    out->params.exact_size = s->exact_size;
    out->params.hashes = (uint32_t)s->hashes.n;
    out->params.settings = out->settings;
    UM_TRY(add_settings(s, out, err));
    if (key_file) {
        UM_TRY(um_secret_load(key_file, out->secret, err));
        out->params.secret = out->secret;
    }
    return UMBEL_OK;
}

void um_filter_params_fini(um_filter_params *p)
{
    sodium_memzero(p->secret, sizeof p->secret);
}
