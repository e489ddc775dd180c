/*
 * settings.c - the table of settings.
 */
#include "module/runtime/settings.h"

#include "base/error.h"
#include "base/threads.h"
#include "cli/framework/numbers.h"
#include "trust/key_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

um_module_settings um_settings = {
    .max_filter_bytes = 2LL << 30, .max_import_bytes = 2LL << 30, .threads = 2};

typedef enum setting_type { NUMBER, FLAG, TEXT } setting_type;

typedef struct setting {
    const char *name;
    void *value;
    setting_type type;
    unsigned flags;
    long long min, max;
} setting;

static setting rows[] = {
    {"max-filter-bytes", &um_settings.max_filter_bytes, NUMBER,
     UM_SETTING_MEMORY, 1024, LLONG_MAX},
    {"max-import-bytes", &um_settings.max_import_bytes, NUMBER,
     UM_SETTING_MEMORY, 1024, LLONG_MAX},
    {"threads", &um_settings.threads, NUMBER, 0, 1, UM_MAX_THREADS},
    {"compat", &um_settings.compat, FLAG, UM_SETTING_IMMUTABLE, 0, 1},
    {"admission", &um_settings.admission, FLAG, 0, 0, 1},
    {"secret-file", um_settings.secret_file, TEXT, UM_SETTING_SENSITIVE, 0,
     sizeof um_settings.secret_file - 1},
};

/* --- the server's callbacks ----------------------------------------------- */

static long long get_number(const char *name, void *row)
{
    (void)name;
    return *(long long *)((const setting *)row)->value;
}

static int set_number(const char *name, long long n, void *row, um_str **why)
{
    (void)name;
    (void)why;
    *(long long *)((const setting *)row)->value = n;
    return UM_DONE;
}

static int get_flag(const char *name, void *row)
{
    (void)name;
    return *(int *)((const setting *)row)->value;
}

static int set_flag(const char *name, int n, void *row, um_str **why)
{
    (void)name;
    (void)why;
    *(int *)((const setting *)row)->value = n;
    return UM_DONE;
}

/* Returns a setting as text. The server does not free strings that it gets
 * here, so the last one is retained and freed by the next call. */
static um_str *get_text(const char *name, void *row)
{
    static um_str *last;
    const char *text = ((const setting *)row)->value;

    (void)name;
    if (last)
        um_api.FreeString(NULL, last);
    last = um_api.CreateString(NULL, text, strlen(text));
    return last;
}

/* Loads the secret: the only text setting is its path. */
static umbel_status load_secret(const char *path, size_t len, umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN] = {0};

    if (len >= sizeof um_settings.secret_file || memchr(path, 0, len))
        return um_fail(err, UMBEL_E_RANGE,
                       "secret-file: a path has at most %zu bytes",
                       sizeof um_settings.secret_file - 1);
    if (len)
        UM_TRY(um_secret_load(path, secret, err));
    um_settings.has_secret = len > 0;
    memcpy(um_settings.secret, secret, sizeof secret);
    memcpy(um_settings.secret_file, path, len);
    um_settings.secret_file[len] = '\0';
    return UMBEL_OK;
}

static int set_text(const char *name, um_str *text, void *row, um_str **why)
{
    size_t len;
    const char *path = um_api.StringPtrLen(text, &len);
    umbel_error err;

    (void)name;
    (void)row;
    if (load_secret(path, len, &err) == UMBEL_OK)
        return UM_DONE;
    *why = um_api.CreateString(NULL, err.text, strlen(err.text));
    return UM_ERR;
}

static int register_setting(um_ctx *ctx, setting *row)
{
    void *self = row;

    switch (row->type) {
    case NUMBER:
        return um_api.RegisterNumericConfig(
            ctx, row->name, *(long long *)row->value, row->flags, row->min,
            row->max, get_number, set_number, NULL, self);
    case FLAG:
        return um_api.RegisterBoolConfig(ctx, row->name, *(int *)row->value,
                                         row->flags, get_flag, set_flag, NULL,
                                         self);
    case TEXT:
        return um_api.RegisterStringConfig(ctx, row->name, row->value,
                                           row->flags, get_text, set_text, NULL,
                                           self);
    }
    return UM_ERR;
}

/* --- module arguments ----------------------------------------------------- */

static umbel_status parse_number(const setting *row, const char *text,
                                 umbel_error *err)
{
    uint64_t n;

    if (!um_parse_whole(text, &n) || n < (uint64_t)row->min ||
        n > (uint64_t)row->max)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s must be a number from %lld to %lld, got \"%s\"",
                       row->name, row->min, row->max, text);
    *(long long *)row->value = (long long)n;
    return UMBEL_OK;
}

static umbel_status parse_flag(const setting *row, const char *text,
                               umbel_error *err)
{
    bool yes = strcasecmp(text, "yes") == 0;

    if (!yes && strcasecmp(text, "no") != 0)
        return um_fail(err, UMBEL_E_RANGE, "%s must be yes or no, got \"%s\"",
                       row->name, text);
    *(int *)row->value = yes;
    return UMBEL_OK;
}

static umbel_status parse_argument(const char *name, const char *text,
                                   umbel_error *err)
{
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        if (strcasecmp(rows[i].name, name) != 0)
            continue;
        return rows[i].type == NUMBER ? parse_number(&rows[i], text, err)
               : rows[i].type == FLAG ? parse_flag(&rows[i], text, err)
                                      : load_secret(text, strlen(text), err);
    }
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "no setting \"%s\": max-filter-bytes, max-import-bytes, "
                   "threads, secret-file, compat or admission",
                   name);
}

static umbel_status parse_arguments(um_str **argv, int argc, umbel_error *err)
{
    for (int i = 0; i < argc; i += 2) {
        const char *name = um_api.StringPtrLen(argv[i], NULL);
        if (i + 1 == argc)
            return um_fail(err, UMBEL_E_RANGE, "%s needs a value", name);
        UM_TRY(
            parse_argument(name, um_api.StringPtrLen(argv[i + 1], NULL), err));
    }
    return UMBEL_OK;
}

bool um_settings_load(um_ctx *ctx, um_str **argv, int argc)
{
    umbel_error err;

    if (parse_arguments(argv, argc, &err) != UMBEL_OK) {
        um_api.Log(ctx, "warning", "umbel: %s", err.text);
        return false;
    }
    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (register_setting(ctx, &rows[i]) != UM_DONE) {
            um_api.Log(ctx, "warning", "umbel: the server refuses setting %s",
                       rows[i].name);
            return false;
        }
    return um_api.LoadConfigs(ctx) == UM_DONE;
}
