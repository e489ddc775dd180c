/*
 * cmd_check.c - umbel check: which keys match, with grep's manners.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/keys.h"
#include "cli/notes.h"
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

/* What is asked, and what was answered so far. */
typedef struct asking {
    const um_args *args;
    const umbel_filter *filter;
    const umbel_filter *revoked; /* NULL: no exceptions */
    umbel_unless_order order;
    umbel_unless_cost cost;
    bool json, count, invert, quiet;
    bool values;       /* print counts */
    bool map;          /* ... or what keys stand for */
    uint64_t at_least; /* count that matches; 0: no counts were asked for */
    char end;
    um_notes confirmed; /* where keys that match go */
    uint64_t selected;
    bool decided; /* no further key can change the exit code */
} asking;

/* The answers to a batch, and what is to be printed. */
typedef struct answers {
    bool *hit;
    uint64_t *counts; /* where they were asked for */
    size_t n, room;   /* of hit and counts */
    uint64_t selected;
    umbel_unless_cost cost;
    char *out;
    size_t nout, cap;
    size_t told; /* lines that are in out; the others come after it */
} answers;

static bool prints(const asking *a, bool hit)
{
    bool all =
        a->json || (a->values && !a->map && !um_has(a->args, "at-least") &&
                    !a->invert && !a->revoked);

    return !a->count && !a->quiet && (all || hit != a->invert);
}

static void print_json(const asking *a, FILE *out, const umbel_slice *line,
                       const answers *in, size_t i)
{
    putc('{', out);
    um_print_json_key(out, line);
    fprintf(out, ", \"match\": %s", in->hit[i] ? "true" : "false");
    if (a->values)
        fprintf(out, ", \"%s\": %" PRIu64, a->map ? "value" : "count",
                in->counts[i]);
    fputs("}\n", out);
}

/* Those that came often enough and are no exceptions. */
static umbel_status count_keys(const asking *a, const umbel_slice *keys,
                               size_t n, bool *hit, uint64_t *counts,
                               umbel_unless_cost *cost, umbel_error *err)
{
    umbel_status status = umbel_count_many(a->filter, keys, n, counts, err);

    if (status == UMBEL_OK && a->revoked)
        status = umbel_query_many(a->revoked, keys, n, hit, err);
    if (status != UMBEL_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        hit[i] = counts[i] >= a->at_least && !(a->revoked && hit[i]);
    cost->keys += n;
    cost->asked_filter += n;
    cost->asked_revoked += a->revoked ? n : 0;
    return UMBEL_OK;
}

static umbel_status query_keys(const asking *a, const um_batch *b, size_t from,
                               size_t n, answers *out, umbel_error *err)
{
    const umbel_slice *keys = b->keys + from;
    bool *hit = out->hit + from;

    if (a->at_least)
        return count_keys(a, keys, n, hit, out->counts + from, &out->cost, err);
    if (a->map) {
        umbel_status status =
            umbel_values_many(a->filter, keys, n, out->counts + from, err);
        if (status != UMBEL_OK)
            return status;
    }
    if (a->revoked)
        return umbel_query_unless(a->filter, a->revoked, a->order, keys, n, hit,
                                  &out->cost, err);
    return umbel_query_many(a->filter, keys, n, hit, err);
}

/* All keys of a batch; where one is refused, those before it. */
static umbel_status query(const asking *a, const um_batch *b, answers *out,
                          umbel_error *err)
{
    umbel_status status = query_keys(a, b, 0, b->n, out, err);

    out->n = status == UMBEL_OK ? b->n : 0;
    while (status == UMBEL_E_KEY && out->n < b->n &&
           query_keys(a, b, out->n, 1, out, err) == UMBEL_OK)
        out->n++;
    return status;
}

static umbel_status format_lines(const asking *a, const um_batch *b,
                                 answers *out, umbel_error *err)
{
    enum { LONGEST = 24 }; /* a tab, a count, and the end that sprintf adds */
    size_t need = 0, tail = a->values ? LONGEST : 0;

    for (size_t i = 0; i < out->n; i++)
        need += prints(a, out->hit[i]) ? b->lines[i].len + 1 + tail : 0;
    out->told = out->n;
    if (need == 0)
        return UMBEL_OK;
    if (need > out->cap) {
        free(out->out);
        out->out = malloc(need);
        out->cap = out->out ? need : 0;
    }
    if (!out->out)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", need);
    char *at = out->out;
    for (size_t i = 0; i < out->n; i++)
        if (prints(a, out->hit[i])) {
            memcpy(at, b->lines[i].data, b->lines[i].len);
            at += b->lines[i].len;
            if (a->values)
                at += snprintf(at, LONGEST, "\t%" PRIu64, out->counts[i]);
            *at++ = a->end;
        }
    out->nout = (size_t)(at - out->out);
    return UMBEL_OK;
}

/*
 * JSON may be six times as long as the keys. What is past the limit is made
 * when it is printed, so that answers which wait do not fill the memory.
 */
static umbel_status format_json(const asking *a, const um_batch *b,
                                answers *out, umbel_error *err)
{
    enum { LIMIT = 1 << 20, LONGEST_BYTE = 6, AROUND = 72 };
    size_t most = 0;

    free(out->out);
    out->out = NULL;
    out->cap = 0;
    FILE *memory = open_memstream(&out->out, &out->nout);
    if (!memory)
        return um_fail_errno(err, "no memory for answers");
    for (; out->told < out->n; out->told++) {
        most += LONGEST_BYTE * b->lines[out->told].len + AROUND;
        if (most > LIMIT)
            break;
        print_json(a, memory, &b->lines[out->told], out, out->told);
    }
    if (fclose(memory) != 0)
        return um_fail_errno(err, "no memory for answers");
    return UMBEL_OK;
}

static umbel_status want_hits(answers *out, size_t n, umbel_error *err)
{
    if (n <= out->room)
        return UMBEL_OK;
    free(out->hit);
    free(out->counts);
    out->hit = malloc(n * sizeof *out->hit);
    out->counts = malloc(n * sizeof *out->counts);
    bool fine = out->hit && out->counts;
    out->room = fine ? n : 0;
    return fine ? UMBEL_OK
                : um_fail(err, UMBEL_E_NOMEM, "no memory for answers");
}

/* Ask, and put into words: any thread, any batch. */
static umbel_status answer(const void *ctx, const um_batch *batch, void *result,
                           umbel_error *err)
{
    const asking *a = ctx;
    answers *out = result;
    umbel_error late;

    out->n = out->nout = out->told = 0;
    out->selected = 0;
    out->cost = (umbel_unless_cost){0};
    umbel_status status = want_hits(out, batch->n, err);
    if (status == UMBEL_OK)
        status = query(a, batch, out, err);
    for (size_t i = 0; i < out->n; i++)
        out->selected += out->hit[i] != a->invert;
    if (a->count || a->quiet)
        return status;
    umbel_status formatted = a->json ? format_json(a, batch, out, &late)
                                     : format_lines(a, batch, out, &late);
    if (formatted != UMBEL_OK)
        *err = late;
    return formatted != UMBEL_OK ? formatted : status;
}

/* What a user found to match falsely, for the next 'umbel build --never'. */
static umbel_status confirm(const asking *a, const um_batch *batch,
                            const answers *in, umbel_error *err)
{
    const umbel_slice *text =
        um_has(a->args, "field") ? batch->keys : batch->lines;

    return um_notes_add(&a->confirmed, text, in->hit, in->n, err);
}

/* Print, in the order of the input. */
static umbel_status tell(void *ctx, const um_batch *batch, void *result,
                         umbel_error *err)
{
    asking *a = ctx;
    const answers *in = result;

    a->selected += in->selected;
    a->cost.keys += in->cost.keys;
    a->cost.asked_filter += in->cost.asked_filter;
    a->cost.asked_revoked += in->cost.asked_revoked;
    a->decided = a->quiet && a->selected && !a->confirmed.path;
    umbel_status status = confirm(a, batch, in, err);
    if (status != UMBEL_OK)
        return status;
    if (in->nout)
        fwrite(in->out, 1, in->nout, stdout);
    for (size_t i = in->told; a->json && i < in->n; i++)
        if (prints(a, in->hit[i]))
            print_json(a, stdout, &batch->lines[i], in, i);
    return ferror(stdout) ? um_fail_errno(err, "standard output") : UMBEL_OK;
}

static void free_answers(void *result)
{
    free(((answers *)result)->hit);
    free(((answers *)result)->counts);
    free(((answers *)result)->out);
}

/* A key of the command line. */
static umbel_status ask(asking *a, const umbel_slice *key,
                        const umbel_slice *line, umbel_error *err)
{
    um_batch batch = {.n = 1, .keys = key, .lines = line};
    answers out = {0};
    umbel_status status = answer(a, &batch, &out, err);

    if (status == UMBEL_OK)
        status = tell(a, &batch, &out, err);
    free_answers(&out);
    return status;
}

static umbel_status ask_stream(asking *a, umbel_error *err)
{
    um_key_job job = {.ctx = a,
                      .result_len = sizeof(answers),
                      .work = answer,
                      .use = tell,
                      .fini = free_answers};
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

static umbel_status ask_hex(asking *a, const umbel_slice *text,
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
    return ask(a, &key, text, err);
}

static umbel_status ask_operands(asking *a, umbel_error *err)
{
    bool hex = um_has(a->args, "hex");
    umbel_status status = UMBEL_OK;

    for (size_t i = 1; status == UMBEL_OK && i < a->args->noperands; i++) {
        const char *text = a->args->operands[i];
        umbel_slice key = {text, strlen(text)};
        status = hex ? ask_hex(a, &key, err) : ask(a, &key, &key, err);
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

static void print_count(const asking *a)
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
    umbel_status status = um_spare(path, args->operands[0], err);

    if (status == UMBEL_OK && stdin_uses(args))
        status = um_spare(path, "/dev/stdin", err);
    for (size_t i = 0; i < UM_COUNT(read); i++) {
        const char *input = um_value(args, read[i]);
        if (status == UMBEL_OK && input)
            status = um_spare(path, input, err);
    }
    return status;
}

static umbel_status open_confirmed(asking *a, umbel_error *err)
{
    const char *path = um_value(a->args, "confirm");

    if (!path)
        return UMBEL_OK;
    umbel_status status = spare_inputs(a->args, path, err);
    return status == UMBEL_OK ? um_notes_open(&a->confirmed, path, a->end, err)
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
static umbel_status take_threshold(asking *a, umbel_error *err)
{
    uint64_t limit = umbel_count_limit(a->filter);

    if (!um_has(a->args, "values") && !um_has(a->args, "at-least"))
        return UMBEL_OK;
    a->values = um_has(a->args, "values");
    a->map = umbel_value_bits(a->filter) && !um_has(a->args, "at-least");
    if (a->map)
        return UMBEL_OK;
    a->at_least = 1;
    if (!limit)
        return um_fail(err, UMBEL_E_UNSUPPORTED, "kind %s cannot count",
                       umbel_kind(a->filter));
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
    asking a = {.args = args,
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
    status = um_notes_close(&a.confirmed, status, &err);
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
    .details = "Without KEY, keys come a line each from standard input. Exit "
               "code as grep: 0 some match, 1 none, 2 trouble.",
};
