/*
 * check.c - umbel check: prints the keys that match; options and exit codes are
 * like grep's.
 */
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"
#include "keylist/key_log.h"
#include "keylist/sniff.h"
#include "query/query.h"
#include "sync/directory.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct check_args {
    const char *file;
    um_list operands, lists, also;
    bool count, invert, values, unless_first, line_buffered, answer;
    um_whole threshold, top, edits;
    const char *unless, *unless_key_file, *confirm;
    um_open_args open;
    um_key_args keys;
    um_thread_args threads;
} check_args;

enum { FROM_FILES = UM_MODE(0), TYPED = UM_MODE(1) };

static const um_option options[] = {
    {"keys", 'f', "FILE", "read keys from FILE; - is standard input",
     UM_TARGET(check_args, lists), .role = UM_INPUT, .formerly = "from file"},
    {"count", 'c', NULL, "print only how many match",
     UM_TARGET(check_args, count)},
    {"invert", 'v', NULL, "print keys that do not match",
     UM_TARGET(check_args, invert)},
    {"values", 0, NULL, "print a tab and the count, or value, after each key",
     UM_TARGET(check_args, values), .excludes = "count"},
    {"threshold", 0, "T",
     "counting kinds: keys match if they were added T times or more",
     UM_TARGET(check_args, threshold), .low = 1, .formerly = "at-least"},
    {"top", 0, "N",
     "counting kinds: print the N keys of the input with the largest counts",
     UM_TARGET(check_args, top), .low = 1, .high = UM_MAX_TOP,
     .excludes = "count invert values"},
    {"also", 0, "FILE",
     "check this filter, too, and print which filter a key matches; may be "
     "repeated",
     UM_TARGET(check_args, also), .role = UM_INPUT,
     .excludes = "values threshold top unless"},
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
    {"edits", 0, "1",
     "keys match, too, if one edit (a character deleted, replaced or "
     "inserted) makes a member of them",
     UM_TARGET(check_args, edits), .low = 1, .high = 1,
     .excludes = "values threshold top unless also"},
    {"answer", 0, NULL,
     "answer every line at once: 1, 0 or - (refused), a tab, the key, a tab, "
     "and what matched or the reason",
     UM_TARGET(check_args, answer),
     .excludes = "keys count invert values threshold top also unless confirm "
                 "edits field delimiter csv column json-field list-format "
                 "threads"},
    {"line-buffered", 0, NULL,
     "accepted as by grep: each line is answered at once, anyway",
     UM_TARGET(check_args, line_buffered)},
    {0}};

/* Returns true if keys are on the command line; a lone "-" is standard input,
 * unless it follows "--". */
static bool are_typed(const check_args *a)
{
    return a->operands.n > 1 ||
           (a->operands.n == 1 &&
            (a->operands.literal || strcmp(a->operands.item[0], "-") != 0));
}

static unsigned mode(const void *values)
{
    return are_typed(values) ? TYPED : FROM_FILES;
}

/* Returns what is wrong with the options if the rows cannot express it;
 * otherwise NULL. */
static const char *find_misuse(const um_args *args)
{
    const check_args *a = args->values;

    if (a->operands.n && a->lists.n)
        return "give keys, or files of keys with -f, not both";
    if (a->confirm && strcmp(a->confirm, "-") == 0)
        return "--confirm appends to a file, not to standard output";
    if (a->answer && args->common.quiet)
        return "--answer prints a line for every key: leave out --quiet";
    if (a->also.n >= UM_MAX_FILTERS)
        return "at most 63 filters can be given with --also";
    return NULL;
}

/* Checks the use of standard input, which is read if no keys or files are
 * named. Refuses to append to a list that is being read, which would never
 * end. */
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

/* Converts a typed key to its form, and queries it. */
static umbel_status check_word(um_check_ctx *c, const um_key_format *format,
                               const umbel_slice *text, umbel_error *err)
{
    umbel_error why;
    umbel_slice key;
    uint8_t *space = malloc(UM_FORM_SPACE(text->len));

    if (!space)
        return um_no_memory(err, text->len);
    umbel_status status = um_form_key(um_format_form(format), format->hex,
                                      *text, space, &key, &why);
    if (status)
        um_refuse_key(*text, &why, err);
    else
        status = um_check_one(c, &key, text, err);
    free(space);
    return status;
}

/* Warns about a key that is the name of a file, which is rarely intended. */
static void hint_at_file(const um_args *args, const char *word)
{
    umbel_error err;
    bool filter;

    if (args->common.quiet || !um_is_file(word, &filter))
        return;
    um_set_error(&err, UMBEL_E_KEY,
                 "\"%.100s\" was checked as a key, but is a %s: did you mean "
                 "%s %.100s?",
                 word, filter ? "filter" : "file", filter ? "--also" : "-f",
                 word);
    um_trouble(args, &err);
}

/* Checks that all filters use the same key form, since a key is read in one
 * form only. */
static umbel_status check_forms_agree(const umbel_filter *f, const char *name,
                                      const um_check_ctx *c, umbel_error *err)
{
    umbel_key_form first = umbel_key_form_of(c->filters[0]),
                   form = umbel_key_form_of(f);

    if (form == first || form == UMBEL_KEYS_UNRECORDED ||
        first == UMBEL_KEYS_UNRECORDED)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_MISMATCH,
                   "the keys of %.100s are %s, those of %.100s %s: check them "
                   "one after the other, or build both alike",
                   c->names[0], umbel_key_form_name(first), name,
                   umbel_key_form_name(form));
}

static umbel_status obey_key_forms(um_check_ctx *c, const check_args *a,
                                   um_key_format *format, umbel_error *err)
{
    for (size_t i = 1; i < c->nfilters; i++)
        UM_TRY(check_forms_agree(c->filters[i], c->names[i], c, err));
    if (c->query.exceptions)
        UM_TRY(check_forms_agree(c->query.exceptions, a->unless, c, err));
    for (size_t i = 0; i < c->nfilters; i++)
        UM_TRY(um_obey_key_form(c->filters[i], format, err));
    c->form = umbel_key_form_of(c->filters[0]);
    if (c->form == UMBEL_KEYS_UNRECORDED)
        c->form = um_format_form(format);
    c->query.digests = format->hex;
    return UMBEL_OK;
}

enum { SHOWN = 10 }; /* bad lines that are reported individually */

/* A line without a valid key does not stop the command, but determines the exit
 * code, like a file that grep cannot read. */
typedef struct bad_lines {
    const um_args *args;
    um_check_ctx *c;
} bad_lines;

static void report_bad_line(void *ctx, const char *where, umbel_slice line,
                            const char *what)
{
    const bad_lines *b = ctx;
    umbel_error err;

    um_set_error(&err, UMBEL_E_KEY, "%s: %s", where, what);
    if (b->c->bad++ < SHOWN)
        um_trouble(b->args, &err);
    um_check_print_bad(b->c, &line, what);
}

static umbel_status check_typed(um_check_ctx *c, const um_args *args,
                                umbel_error *err)
{
    const check_args *a = args->values;
    um_key_format format = {.hex = a->keys.hex, .fold_case = a->keys.fold_case};

    UM_TRY(obey_key_forms(c, a, &format, err));
    for (size_t i = 0; i < a->operands.n; i++) {
        umbel_slice key = {a->operands.item[i], strlen(a->operands.item[i])};
        uint64_t before = c->selected;
        umbel_status status = check_word(c, &format, &key, err);
        if (status || (c->selected > before) == c->invert)
            hint_at_file(args, key.data);
        if (status == UMBEL_E_KEY) {
            c->bad++;
            um_trouble(args, err);
            um_check_print_bad(c, &key, err->text);
        } else {
            UM_TRY(status);
        }
    }
    return UMBEL_OK;
}

/* Flushes the output. A failure is noticed when the next answer is printed. */
static void flush_answers(void *out)
{
    fflush(out);
}

/* Answers the keys on the command line, or every line of standard input. */
static umbel_status answer_all(um_check_ctx *c, const um_args *args,
                               umbel_error *err)
{
    const check_args *a = args->values;
    um_key_format format = {.hex = a->keys.hex, .fold_case = a->keys.fold_case};
    umbel_status status = UMBEL_OK;

    UM_TRY(obey_key_forms(c, a, &format, err));
    um_question q = {.digests = a->keys.hex,
                     .unrecorded = a->keys.hex         ? UMBEL_KEYS_HEX
                                   : a->keys.fold_case ? UMBEL_KEYS_FOLDED_TEXT
                                                       : UMBEL_KEYS_TEXT};
    for (size_t i = 0; i < a->operands.n && are_typed(a); i++)
        um_check_answer(
            c, &q,
            (umbel_slice){a->operands.item[i], strlen(a->operands.item[i])});
    if (!are_typed(a))
        status = um_check_answer_lines(c, &q, err);
    um_question_fini(&q);
    return status;
}

static umbel_status check_keys(um_check_ctx *c, const um_args *args,
                               umbel_error *err)
{
    const check_args *a = args->values;
    um_key_job job = um_check_job(c);
    bad_lines bad = {args, c};
    um_key_source source;

    if (a->answer)
        return answer_all(c, args, err);
    if (are_typed(a))
        return check_typed(c, args, err);
    UM_TRY(um_key_source_from_args(args, &a->keys, &a->threads, a->lists,
                                   &source, err));
    UM_TRY(obey_key_forms(c, a, &source.format, err));
    source.pass = "checking keys";
    source.stop = &c->decided;
    source.flush = flush_answers;
    source.flush_ctx = c->out;
    source.format.skip_bad = true;
    source.bad_line = report_bad_line;
    source.bad_ctx = &bad;
    return um_keys_each(&source, &job, err);
}

/* The filters that a command has open. */
typedef struct check_filters {
    umbel_filter *filter[UM_MAX_FILTERS];
    const char *name[UM_MAX_FILTERS];
    umbel_filter *unless;
    umbel_filter **origin; /* other origins of a directory of 'umbel sync' */
    size_t norigins;
} check_filters;

/* Opens the filters of all origins; the first is an empty filter of their
 * shape. */
static umbel_status open_origins(const check_args *a, check_filters *out,
                                 umbel_error *err)
{
    char shape[4200];
    um_texts files;
    size_t opened = 0;
    umbel_status status = UMBEL_OK;

    UM_TRY(um_sync_dir_files(a->file, (uint64_t)time(NULL), &files, err));
    out->origin = calloc(files.n + 1, sizeof(umbel_filter *));
    if (!out->origin)
        status =
            um_fail(err, UMBEL_E_NOMEM, "no memory for %zu filters", files.n);
    for (; !status && opened < files.n; opened++)
        status = um_open_filter(&a->open, files.item[opened],
                                &out->origin[opened], err);
    um_texts_fini(&files);
    out->norigins = opened;
    UM_TRY(status);
    snprintf(shape, sizeof shape, "%.4095s/shape.umb", a->file);
    return um_open_filter(&a->open, shape, &out->filter[0], err);
}

/* Keys of an origin that was banned do not match any more. */
static umbel_status warn_banned(const um_args *args, umbel_error *err)
{
    const check_args *a = args->values;
    size_t n = 0;

    if (!a->also.n && um_is_sync_dir(a->file))
        UM_TRY(um_sync_dir_count_missing(a->file, &n, err));
    if (n)
        um_warn(args,
                "keys of %s in %s%s do not match, because it was banned; its "
                "filters are kept. To use them: umbel sync DIR --restore "
                "ORIGIN; to end this warning, remove the files kept-*",
                um_counted(n, "origin", "origins").text, um_path_dots(a->file),
                um_path_tail(a->file));
    return UMBEL_OK;
}

static umbel_status open_filters(const check_args *a, check_filters *out,
                                 umbel_error *err)
{
    out->name[0] = a->file;
    for (size_t i = 0; i < a->also.n; i++)
        out->name[i + 1] = a->also.item[i];
    if (!a->also.n && !a->answer && um_is_sync_dir(a->file))
        UM_TRY(open_origins(a, out, err));
    else if (!a->also.n)
        UM_TRY(um_open_filter(&a->open, a->file, &out->filter[0], err));
    for (size_t i = 0; a->also.n && i <= a->also.n; i++) /* some may be keyed */
        UM_TRY(um_open_second(&a->open, out->name[i], NULL, "key-file",
                              &out->filter[i], err));
    return a->unless ? um_open_second(&a->open, a->unless, a->unless_key_file,
                                      "unless-key-file", &out->unless, err)
                     : UMBEL_OK;
}

static void close_filters(check_filters *filters)
{
    for (size_t i = 0; i < UM_MAX_FILTERS; i++)
        umbel_close(filters->filter[i]);
    umbel_close(filters->unless);
    for (size_t i = 0; i < filters->norigins; i++)
        umbel_close(filters->origin[i]);
    free(filters->origin);
}

/* Checks the filter for --edits: keys must be text, and thousands of lookups
 * per key need a low error rate. */
static umbel_status prepare_edits(const um_args *args,
                                  const check_filters *filters,
                                  umbel_error *err)
{
    enum { LETTERS = 8 };
    const umbel_filter *f = filters->filter[0];
    umbel_key_form form = umbel_key_form_of(f);
    double lookups = (double)um_edits_lookups(LETTERS);
    double f_p = umbel_predict(f);

    if (filters->norigins)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "--edits takes one filter, not a directory");
    if (((const check_args *)args->values)->keys.hex)
        form = UMBEL_KEYS_HEX;
    if (form == UMBEL_KEYS_HEX || form == UMBEL_KEYS_INTEGER ||
        um_form_asks_several(form))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "--edits is for keys that are text; those of this "
                       "filter are %s",
                       umbel_key_form_name(form));
    if (f_p * lookups > 0.01)
        um_warn(
            args,
            "a key of %d letters takes %.0f look-ups, so about %.2g of other "
            "keys match: build the filter with --fpr %.1g",
            LETTERS, lookups, 1 - exp(-f_p * lookups), 0.001 / lookups);
    return UMBEL_OK;
}

static umbel_status start(um_check_ctx *c, const um_args *args,
                          const check_filters *filters, umbel_error *err)
{
    const check_args *a = args->values;
    um_top *top = a->top.given ? c->top : NULL;

    if (filters->norigins && filters->unless)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "--unless takes one filter, not a directory");
    *c = (um_check_ctx){
        .query = {.filter = filters->filter[0],
                  .more = filters->origin,
                  .nmore = filters->norigins,
                  .exceptions = filters->unless,
                  .order = a->unless_first ? UMBEL_EXCEPTIONS_FIRST
                                           : UMBEL_FILTER_FIRST,
                  .values = a->values,
                  .threshold =
                      a->top.given && !a->threshold.n ? 1 : a->threshold.n},
        .filters = filters->filter,
        .names = filters->name,
        .nfilters = 1 + a->also.n,
        .top = top,
        .out = stdout,
        .json = args->common.json,
        .count = a->count,
        .invert = a->invert,
        .quiet = args->common.quiet,
        .on_terminal = um_progress_shares_stdout(),
        .log_keys = a->keys.field.given,
        .end = a->keys.null ? '\0' : '\n'};
    if (a->edits.given)
        UM_TRY(prepare_edits(args, filters, err));
    c->query.edits = a->edits.given;
    UM_TRY(um_query_init(&c->query, err));
    c->query.values |= a->top.given;
    c->count_limit = c->query.map ? 0 : umbel_count_limit(filters->filter[0]);
    c->print_all = c->json || (a->values && !c->query.map &&
                               !a->threshold.given && !a->invert && !a->unless);
    return a->confirm ? um_key_log_init(&c->log, a->confirm, c->end, err)
                      : UMBEL_OK;
}

/* Prints --count: a bare number as text, like grep. */
static void print_count(const um_args *args, const um_check_ctx *c)
{
    um_report report = {0};

    um_progress_end();
    if (!c->json) {
        printf("%" PRIu64 "\n", c->selected);
        return;
    }
    um_report_count(&report, "count", NULL, NULL, c->selected);
    if (c->query.exceptions) {
        um_report_count(&report, "keys", NULL, NULL, c->cost.keys);
        um_report_count(&report, "asked_file", NULL, NULL,
                        c->cost.asked_filter);
        um_report_count(&report, "asked_unless", NULL, NULL,
                        c->cost.asked_exceptions);
    }
    um_report_print(args, &report);
    um_report_fini(&report);
}

static umbel_status check(um_check_ctx *c, const um_args *args,
                          check_filters *filters, umbel_error *err)
{
    const check_args *a = args->values;
    umbel_status status, closed;
    umbel_error late;

    UM_TRY(check_stdin(args, err));
    UM_TRY(open_filters(a, filters, err));
    UM_TRY(warn_banned(args, err));
    UM_TRY(start(c, args, filters, err));
    status = check_keys(c, args, err);
    closed = um_key_log_fini(&c->log, &late);
    if (status || closed) {
        if (!status)
            *err = late;
        return status ? status : closed;
    }
    if (c->bad > SHOWN && !are_typed(a) && !a->answer)
        um_warn(args, "%s no key, and were not checked",
                um_counted(c->bad, "line has", "lines have").text);
    if (c->count && !c->quiet)
        print_count(args, c);
    if (c->top)
        um_check_print_top(c);
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    const char *misuse = find_misuse(args);
    check_filters filters = {.unless = NULL};
    um_top top = {.cap = ((const check_args *)args->values)->top.n};
    um_check_ctx c = {.top = &top};
    umbel_error err;

    if (misuse)
        return um_misuse(args, "%s", misuse);
    umbel_status status = check(&c, args, &filters, &err);
    close_filters(&filters);
    um_top_fini(&top);
    if (status)
        return um_trouble(args, &err);
    if (c.bad && !c.decided)
        return UM_EXIT_TROUBLE;
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
                 "list-format csv column json-field field delimiter"},
                {um_key_options, offsetof(check_args, keys), FROM_FILES,
                 "null hex fold-case"},
                {um_thread_options, offsetof(check_args, threads),
                 .modes = FROM_FILES},
                {.rows = um_open_options, .base = offsetof(check_args, open)}},
    .modes = {{"for keys from files or standard input", ""},
              {"for keys on the command line", "FILE KEY"}},
    .mode = mode,
    .run = run,
    .example = "words.umb -f lines",
    .details =
        "Without KEY, keys come from standard input, one per line. Exit "
        "codes are those of grep: 0 if some keys match, 1 if none does, "
        "2 for an error. A line that has no key (not hexadecimal, too few "
        "fields) is reported, and the others are answered.",
};
