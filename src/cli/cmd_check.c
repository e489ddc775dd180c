/*
 * cmd_check.c - umbel check: which keys match, with grep's manners.
 */
#include "base/error.h"
#include "cli/answers.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const um_option options[] = {
    {"from", 'f', "FILE", "read keys from FILE; - is standard input"},
    {"count", 'c', NULL, "print only how many match"},
    {"invert", 'v', NULL, "print keys that do not match"},
    {"values", 0, NULL, "print a tab and the count, or value, behind keys"},
    {"at-least", 0, "T", "counting: keys match that came T times or more"},
    {"unless", 0, "FILE", "keys that match this filter too do not match"},
    {"unless-first", 0, NULL, "ask the filter of --unless first"},
    {"unless-key-file", 0, "FILE", "its secret, when that is another"},
    {"confirm", 0, "FILE", "also append keys that match, found to be false"},
    {0}};

static umbel_status ask_stream(um_check_ctx *a, umbel_error *err)
{
    um_key_job job = um_check_job(a);
    umbel_status status = UMBEL_OK;
    const char *path = um_value_at(a->args, "from", 0);

    if (!path)
        path = "-";
    for (size_t i = 1; status == UMBEL_OK && path && !a->decided; i++) {
        status = um_each_key(a->args, &path, 1, &job, &a->decided, err);
        path = um_value_at(a->args, "from", i);
    }
    return status;
}

static umbel_status ask_hex(um_check_ctx *a, const umbel_slice *text,
                            umbel_error *err)
{
    uint8_t bytes[4096];
    umbel_slice key = {bytes, text->len / 2};

    if (key.len > sizeof bytes)
        return um_fail(err, UMBEL_E_KEY,
                       "a key of more than 8192 digits: give it with -f FILE");
    if (!um_decode_hex(text->data, text->len, bytes))
        return um_fail(err, UMBEL_E_KEY, "\"%.40s\" %s",
                       (const char *)text->data,
                       text->len % 2 ? "has an odd number of digits"
                                     : "is not hexadecimal");
    return um_check_one(a, &key, text, err);
}

static umbel_status ask_operands(um_check_ctx *a, umbel_error *err)
{
    bool hex = um_has(a->args, "hex");
    umbel_status status = UMBEL_OK;

    for (size_t i = 1; status == UMBEL_OK && i < a->args->noperands; i++) {
        const char *text = a->args->operands[i];
        umbel_slice key = {text, strlen(text)};
        status = hex ? ask_hex(a, &key, err) : um_check_one(a, &key, &key, err);
    }
    return status;
}

/* Keys on the command line; a lone "-" is standard input. */
static bool literal_keys(const um_args *args)
{
    return args->noperands > 2 ||
           (args->noperands == 2 && strcmp(args->operands[1], "-") != 0);
}

/* The filters, and what the keys come from. */
static size_t stdin_uses(const um_args *args)
{
    bool keys = !literal_keys(args) && !um_has(args, "from");
    return um_stdin_among(args->operands, 1) + um_stdin_uses(args, "unless") +
           um_stdin_uses(args, "from") + keys;
}

static void print_count(const um_check_ctx *a)
{
    if (!a->count || a->quiet)
        return;
    if (!a->json) {
        printf("%" PRIu64 "\n", a->selected);
        return;
    }
    umbel_info info = {0};
    um_info_count(&info, "count", a->selected);
    if (a->revoked) {
        um_info_count(&info, "keys", a->cost.keys);
        um_info_count(&info, "asked_file", a->cost.asked_filter);
        um_info_count(&info, "asked_unless", a->cost.asked_revoked);
    }
    um_print_json(stdout, &info);
}

/* Both filters; NULL for the second when none was asked for. */
static umbel_status open_filters(const um_args *args, umbel_filter *out[2],
                                 umbel_error *err)
{
    const char *unless = um_value(args, "unless");

    out[1] = NULL;
    umbel_status status = um_open_filter(args, args->operands[0], &out[0], err);
    if (status != UMBEL_OK || !unless)
        return status;
    status = um_open_second(args, unless, "unless-key-file", &out[1], err);
    if (status != UMBEL_OK)
        umbel_close(out[0]);
    return status;
}

/* A list that grows while it is read never ends. */
static umbel_status spare_inputs(const um_args *args, const char *path,
                                 umbel_error *err)
{
    static const char *const read[] = {"from", "unless"};
    umbel_status status = um_refuse_overwrite(path, args->operands[0], err);

    if (status == UMBEL_OK && stdin_uses(args))
        status = um_refuse_overwrite(path, "/dev/stdin", err);
    for (size_t i = 0; i < UM_COUNT(read); i++) {
        const char *input = um_value(args, read[i]);
        if (status == UMBEL_OK && input)
            status = um_refuse_overwrite(path, input, err);
    }
    return status;
}

static umbel_status open_confirmed(um_check_ctx *a, umbel_error *err)
{
    const char *path = um_value(a->args, "confirm");

    if (!path)
        return UMBEL_OK;
    umbel_status status = spare_inputs(a->args, path, err);
    return status == UMBEL_OK
               ? um_key_log_open(&a->confirmed, path, a->end, err)
               : status;
}

/* What is wrong with the combination of options; NULL: nothing. */
static const char *misuse(const um_args *args)
{
    bool unless = um_has(args, "unless");

    if (args->noperands < 1)
        return "say which filter: umbel check FILE [KEY...]";
    if (args->noperands > 1 && um_has(args, "from"))
        return "give keys, or a file of keys, not both";
    if (literal_keys(args) && um_has(args, "field"))
        return "--field is for keys from files";
    if (um_has(args, "unless-first") &&
        (um_has(args, "values") || um_has(args, "at-least")))
        return "--unless-first is not for counts";
    if (um_has(args, "confirm") && strcmp(um_value(args, "confirm"), "-") == 0)
        return "--confirm appends to a file";
    if (um_has(args, "confirm") && um_has(args, "hex") && um_has(args, "field"))
        return "--confirm notes whole lines of --hex keys: leave --field out";
    if (um_has(args, "unless-first") && !unless)
        return "--unless-first wants --unless";
    if (um_has(args, "unless-key-file") && !unless)
        return "--unless-key-file wants --unless";
    if (stdin_uses(args) > 1)
        return "standard input can be read only once";
    return NULL;
}

/* A threshold that no count can reach is a mistake. */
static umbel_status take_threshold(um_check_ctx *a, umbel_error *err)
{
    uint64_t limit = umbel_count_limit(a->filter);

    if (!um_has(a->args, "values") && !um_has(a->args, "at-least"))
        return UMBEL_OK;
    a->values = um_has(a->args, "values");
    a->map = umbel_value_bits(a->filter) && !um_has(a->args, "at-least");
    if (a->map)
        return UMBEL_OK;
    a->at_least = 1;
    if (!limit && a->values && umbel_is_static(umbel_kind(a->filter)))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "this filter has no values: a map is made by umbel "
                       "build --kind %s --values W",
                       umbel_kind(a->filter));
    if (!limit)
        return umbel_count_many(a->filter, NULL, 0, NULL, err);
    umbel_status status =
        um_value_count(a->args, "at-least", &a->at_least, err);
    if (status == UMBEL_OK && (a->at_least == 0 || a->at_least > limit))
        return um_fail(err, UMBEL_E_RANGE,
                       "--at-least must be 1..%" PRIu64 ": the cells of this "
                       "filter count no further; got %s",
                       limit, um_value(a->args, "at-least"));
    return status;
}

static int run(const um_args *args)
{
    um_check_ctx a = {.args = args,
                      .json = um_has(args, "json"),
                      .count = um_has(args, "count"),
                      .invert = um_has(args, "invert"),
                      .quiet = um_has(args, "quiet"),
                      .end = um_has(args, "null") ? '\0' : '\n'};
    const char *wrong = misuse(args);
    umbel_filter *f[2];
    umbel_error err;
    unsigned threads;

    if (wrong)
        return um_misuse(args, "%s", wrong);
    if (um_threads(args, &threads, &err) != UMBEL_OK ||
        open_filters(args, f, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    a.filter = f[0];
    a.revoked = f[1];
    a.order =
        um_has(args, "unless-first") ? UMBEL_REVOKED_FIRST : UMBEL_FILTER_FIRST;
    umbel_status status = take_threshold(&a, &err);
    if (status == UMBEL_OK)
        status = open_confirmed(&a, &err);
    if (status == UMBEL_OK)
        status =
            literal_keys(args) ? ask_operands(&a, &err) : ask_stream(&a, &err);
    status = um_key_log_close(&a.confirmed, status, &err);
    if (status == UMBEL_OK)
        print_count(&a);
    umbel_close(f[0]);
    umbel_close(f[1]);
    if (status != UMBEL_OK)
        return um_trouble(args, &err);
    return a.selected ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_check = {
    .name = "check",
    .args = "FILE [KEY...]",
    .summary = "print the keys that match",
    .options = {options, um_threads_options, um_keys_options,
                um_filter_options},
    .run = run,
    .example = "words.umb -f lines",
    .details = "Without KEY, keys come a line each from standard input. Exit "
               "code as grep: 0 some match, 1 none, 2 trouble.",
};
