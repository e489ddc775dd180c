/*
 * cmd_check.c - umbel check: which keys match; options and exit codes as grep.
 */
#include "base/error.h"
#include "cli/check_answers.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>

typedef struct check_args {
    const char *file;
    um_list operands, lists;
    bool count, invert, values, unless_first, line_buffered;
    um_whole threshold;
    const char *unless, *unless_key_file, *confirm;
    um_open_args open;
    um_key_args keys;
    um_thread_args threads;
} check_args;

enum { FROM_FILES = UM_MODE(0), TYPED = UM_MODE(1) };

static const um_option options[] = {
    {"keys", 'f', "FILE", "read keys from FILE; - is standard input",
     UM_TARGET(check_args, lists), .role = UM_INPUT, .formerly = "from"},
    {"count", 'c', NULL, "print only how many match",
     UM_TARGET(check_args, count)},
    {"invert", 'v', NULL, "print keys that do not match",
     UM_TARGET(check_args, invert)},
    {"values", 0, NULL, "print a tab and the count, or value, after each key",
     UM_TARGET(check_args, values), .excludes = "count"},
    {"threshold", 0, "T",
     "counting kinds: keys match if they were added T times or more",
     UM_TARGET(check_args, threshold), .low = 1, .formerly = "at-least"},
    {"unless", 0, "FILE",
     "a second filter: keys that match it, too, do not match",
     UM_TARGET(check_args, unless), .role = UM_INPUT},
    {"unless-first", 0, NULL, "query the filter of --unless first",
     UM_TARGET(check_args, unless_first), .needs = "unless",
     .excludes = "values threshold"},
    {"unless-key-file", 0, "FILE",
     "secret of --unless, if it is not that of --key-file",
     UM_TARGET(check_args, unless_key_file), .role = UM_INPUT,
     .needs = "unless"},
    {"confirm", 0, "FILE",
     "append keys that match to FILE, a list for build --never",
     UM_TARGET(check_args, confirm), .role = UM_OUTPUT},
    {"line-buffered", 0, NULL,
     "accepted as by grep: each line is answered at once, anyway",
     UM_TARGET(check_args, line_buffered)},
    {0}};

/* Keys on the command line; a lone "-" is standard input. */
static bool are_typed(const check_args *a)
{
    return a->operands.n > 1 ||
           (a->operands.n == 1 && strcmp(a->operands.item[0], "-") != 0);
}

static unsigned mode(const void *values)
{
    return are_typed(values) ? TYPED : FROM_FILES;
}

/* Returns what is wrong with the options, that rows cannot say; or NULL. */
static const char *find_misuse(const check_args *a)
{
    if (a->operands.n && a->lists.n)
        return "give keys, or files of keys with -f, not both";
    if (a->confirm && strcmp(a->confirm, "-") == 0)
        return "--confirm appends to a file, not to standard output";
    if (a->confirm && a->keys.hex && a->keys.field.given)
        return "--confirm writes whole lines of --hex keys: leave out --field";
    return NULL;
}

/* Keys come from standard input if nothing else is named. A list that grows
 * while it is read never ends. */
static umbel_status check_stdin(const um_args *args, umbel_error *err)
{
    const check_args *a = args->values;
    bool implied = !are_typed(a) && !a->lists.n;

    if (implied)
        UM_TRY(um_claim_stdin(args, err));
    if (a->confirm && (implied || args->stdin_uses))
        UM_TRY(um_refuse_overwrite(a->confirm, "/dev/stdin", err));
    return UMBEL_OK;
}

static umbel_status check_hex(um_check_ctx *c, const umbel_slice *text,
                              umbel_error *err)
{
    uint8_t bytes[4096];
    umbel_slice key = {bytes, text->len / 2};

    if (key.len > sizeof bytes)
        return um_fail(err, UMBEL_E_KEY,
                       "a key of more than %zu digits: give it with -f FILE",
                       2 * sizeof bytes);
    if (!um_hex_decode(text->data, text->len, bytes))
        return um_fail(err, UMBEL_E_KEY, "\"%.40s\" %s",
                       (const char *)text->data,
                       text->len % 2 ? "has an odd number of digits"
                                     : "is not hexadecimal");
    return um_check_one(c, &key, text, err);
}

static umbel_status check_typed(um_check_ctx *c, const check_args *a,
                                umbel_error *err)
{
    for (size_t i = 0; i < a->operands.n; i++) {
        umbel_slice key = {a->operands.item[i], strlen(a->operands.item[i])};
        UM_TRY(a->keys.hex ? check_hex(c, &key, err)
                           : um_check_one(c, &key, &key, err));
    }
    return UMBEL_OK;
}

/* A failure is found when the next answer is printed. */
static void flush_answers(void *out)
{
    fflush(out);
}

static umbel_status check_keys(um_check_ctx *c, const um_args *args,
                               umbel_error *err)
{
    const check_args *a = args->values;
    um_key_job job = um_check_job(c);
    um_key_source source;

    if (are_typed(a))
        return check_typed(c, a, err);
    UM_TRY(um_key_source_from_args(args, &a->keys, &a->threads, a->lists,
                                   &source, err));
    source.pass = "checking keys";
    source.stop = &c->decided;
    source.flush = flush_answers;
    source.flush_ctx = c->out;
    return um_keys_each(&source, &job, err);
}

static umbel_status open_filters(const check_args *a, umbel_filter *out[2],
                                 umbel_error *err)
{
    UM_TRY(um_open_filter(&a->open, a->file, &out[0], err));
    return a->unless ? um_open_second(&a->open, a->unless, a->unless_key_file,
                                      "unless-key-file", &out[1], err)
                     : UMBEL_OK;
}

static umbel_status start(um_check_ctx *c, const um_args *args,
                          umbel_filter *const filters[2], umbel_error *err)
{
    const check_args *a = args->values;

    *c = (um_check_ctx){.query = {.filter = filters[0],
                                  .except = filters[1],
                                  .order = a->unless_first ? UMBEL_REVOKED_FIRST
                                                           : UMBEL_FILTER_FIRST,
                                  .values = a->values,
                                  .threshold = a->threshold.n},
                        .out = stdout,
                        .json = args->common.json,
                        .count = a->count,
                        .invert = a->invert,
                        .quiet = args->common.quiet,
                        .on_terminal = um_progress_shares_stdout(),
                        .log_keys = a->keys.field.given,
                        .end = a->keys.null ? '\0' : '\n'};
    UM_TRY(um_query_init(&c->query, err));
    c->count_limit = c->query.map ? 0 : umbel_count_limit(filters[0]);
    c->print_all = c->json || (a->values && !c->query.map &&
                               !a->threshold.given && !a->invert && !a->unless);
    return a->confirm ? um_key_log_init(&c->log, a->confirm, c->end, err)
                      : UMBEL_OK;
}

/* The text of --count is a bare number, as that of grep. */
static void print_count(const um_args *args, const um_check_ctx *c)
{
    um_report report = {0};

    um_progress_end();
    if (!c->json) {
        printf("%" PRIu64 "\n", c->selected);
        return;
    }
    um_report_count(&report, "count", NULL, NULL, c->selected);
    if (c->query.except) {
        um_report_count(&report, "keys", NULL, NULL, c->cost.keys);
        um_report_count(&report, "asked_file", NULL, NULL,
                        c->cost.asked_filter);
        um_report_count(&report, "asked_unless", NULL, NULL,
                        c->cost.asked_revoked);
    }
    um_report_print(args, &report);
    um_report_fini(&report);
}

static umbel_status check(um_check_ctx *c, const um_args *args,
                          umbel_filter *filters[2], umbel_error *err)
{
    const check_args *a = args->values;
    umbel_status status, closed;
    umbel_error late;

    UM_TRY(check_stdin(args, err));
    UM_TRY(open_filters(a, filters, err));
    UM_TRY(start(c, args, filters, err));
    status = check_keys(c, args, err);
    closed = um_key_log_fini(&c->log, &late);
    if (status || closed) {
        if (!status)
            *err = late;
        return status ? status : closed;
    }
    if (c->count && !c->quiet)
        print_count(args, c);
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    const char *misuse = find_misuse(args->values);
    umbel_filter *filters[2] = {NULL, NULL};
    um_check_ctx c = {.selected = 0};
    umbel_error err;

    if (misuse)
        return um_misuse(args, "%s", misuse);
    umbel_status status = check(&c, args, filters, &err);
    umbel_close(filters[0]);
    umbel_close(filters[1]);
    if (status)
        return um_trouble(args, &err);
    return c.selected ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_check = {
    .name = "check",
    .summary = "print the keys that match",
    .section = UM_EVERYDAY,
    .values_len = sizeof(check_args),
    .operands = {{"FILE", UM_TEXT, offsetof(check_args, file), UM_INPUT,
                  .min = 1},
                 {"KEY", UM_LIST, .target = offsetof(check_args, operands)}},
    .options = {{.rows = options},
                {um_key_options, offsetof(check_args, keys), 0,
                 "field delimiter"},
                {um_key_options, offsetof(check_args, keys), FROM_FILES,
                 "null hex"},
                {um_thread_options, offsetof(check_args, threads),
                 .modes = FROM_FILES},
                {.rows = um_open_options, .base = offsetof(check_args, open)}},
    .modes = {{"for keys from files or standard input", ""},
              {"for keys on the command line", "FILE KEY"}},
    .mode = mode,
    .run = run,
    .example = "words.umb -f lines",
    .details = "Without KEY, keys come from standard input, one per line. Exit "
               "codes are those of grep: 0 if some keys match, 1 if none does, "
               "2 for an error.",
};
