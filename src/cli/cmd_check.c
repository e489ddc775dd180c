/*
 * cmd_check.c - umbel check: which keys match, with grep's manners.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/keys.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>

static const um_option options[] = {
    {"from", 'f', "FILE", "read keys from FILE; - is standard input"},
    {"count", 'c', NULL, "print only how many match"},
    {"invert", 'v', NULL, "print keys that do not match"},
    {0}};

enum { OUT = 1 << 16 };

/* What has been asked and answered so far. */
typedef struct asking {
    const um_args *args;
    const umbel_filter *filter;
    bool json, count, invert, quiet;
    char end;
    uint64_t selected;
    bool decided;  /* no further key can change the exit code */
    char out[OUT]; /* lines on their way to standard output */
    size_t nout;
} asking;

static void flush(asking *a)
{
    fwrite(a->out, 1, a->nout, stdout);
    a->nout = 0;
}

static void print_line(asking *a, const umbel_slice *line)
{
    if (line->len >= OUT - a->nout)
        flush(a);
    if (line->len >= OUT) {
        fwrite(line->data, 1, line->len, stdout);
        putc(a->end, stdout);
        return;
    }
    memcpy(a->out + a->nout, line->data, line->len);
    a->out[a->nout + line->len] = a->end;
    a->nout += line->len + 1;
}

static void print_key(asking *a, const umbel_slice *line, bool hit)
{
    if (a->json) {
        putc('{', stdout);
        um_print_json_key(stdout, line);
        printf(", \"match\": %s}\n", hit ? "true" : "false");
    } else {
        print_line(a, line);
    }
}

static umbel_status ask(asking *a, const umbel_slice *keys,
                        const umbel_slice *lines, size_t n, umbel_error *err)
{
    enum { SOME = 4096 };
    bool hit[SOME];

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < SOME ? n - done : SOME;
        umbel_status status =
            umbel_query_many(a->filter, keys + done, some, hit, err);
        if (status != UMBEL_OK)
            return status;
        for (size_t i = 0; i < some; i++) {
            bool selected = hit[i] != a->invert;
            a->selected += selected;
            if (!a->count && !a->quiet && (selected || a->json))
                print_key(a, &lines[done + i], hit[i]);
        }
    }
    flush(a);
    return UMBEL_OK;
}

static umbel_status ask_batch(void *ctx, const um_batch *batch,
                              umbel_error *err)
{
    asking *a = ctx;
    umbel_status status = ask(a, batch->keys, batch->lines, batch->n, err);

    if (status == UMBEL_OK && ferror(stdout))
        status = um_fail_errno(err, "standard output");
    a->decided = a->quiet && a->selected;
    return status;
}

static umbel_status ask_stream(asking *a, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    const char *path = um_value_at(a->args, "from", 0);

    if (!path)
        path = "-";
    for (size_t i = 1; status == UMBEL_OK && path && !a->decided; i++) {
        status =
            um_each_batch(a->args, &path, 1, ask_batch, a, &a->decided, err);
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
        return um_fail(err, UMBEL_E_KEY, "\"%.40s\" is not hexadecimal",
                       (const char *)text->data);
    return ask(a, &key, text, 1, err);
}

static umbel_status ask_operands(asking *a, umbel_error *err)
{
    bool hex = um_has(a->args, "hex");
    umbel_status status = UMBEL_OK;

    for (size_t i = 1; status == UMBEL_OK && i < a->args->noperands; i++) {
        const char *text = a->args->operands[i];
        umbel_slice key = {text, strlen(text)};
        status = hex ? ask_hex(a, &key, err) : ask(a, &key, &key, 1, err);
    }
    return status;
}

/* Keys on the command line; a lone "-" is standard input. */
static bool literal_keys(const um_args *args)
{
    return args->noperands > 2 ||
           (args->noperands == 2 && strcmp(args->operands[1], "-") != 0);
}

/* The filter, and what the keys come from. */
static bool stdin_twice(const um_args *args)
{
    size_t uses = strcmp(args->operands[0], "-") == 0;
    const char *from;

    uses += !literal_keys(args) && !um_has(args, "from");
    for (size_t i = 0; (from = um_value_at(args, "from", i)); i++)
        uses += strcmp(from, "-") == 0;
    return uses > 1;
}

static void print_count(const asking *a)
{
    if (!a->count || a->quiet)
        return;
    if (a->json)
        printf("{\"count\": %" PRIu64 "}\n", a->selected);
    else
        printf("%" PRIu64 "\n", a->selected);
}

static int run(const um_args *args)
{
    asking a = {.args = args,
                .json = um_has(args, "json"),
                .count = um_has(args, "count"),
                .invert = um_has(args, "invert"),
                .quiet = um_has(args, "quiet"),
                .end = um_has(args, "null") ? '\0' : '\n'};
    umbel_filter *f;
    umbel_error err;

    if (args->noperands < 1)
        return um_misuse(args, "say which filter: umbel check FILE [KEY...]");
    if (args->noperands > 1 && um_has(args, "from"))
        return um_misuse(args, "give keys, or a file of keys, not both");
    if (literal_keys(args) && um_has(args, "field"))
        return um_misuse(args, "--field is for keys from files");
    if (stdin_twice(args))
        return um_misuse(args, "standard input can be read only once");
    if (um_open_filter(args, args->operands[0], &f, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    a.filter = f;
    umbel_status status =
        literal_keys(args) ? ask_operands(&a, &err) : ask_stream(&a, &err);
    if (status == UMBEL_OK)
        print_count(&a);
    umbel_close(f);
    if (status != UMBEL_OK)
        return um_trouble(args, &err);
    return a.selected ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_check = {
    .name = "check",
    .args = "FILE [KEY...]",
    .summary = "print the keys that match",
    .options = {options, um_keys_options, um_filter_options},
    .run = run,
    .details = "Without KEY, keys come a line each from standard input. Exit "
               "code as grep: 0 some\nmatch, 1 none, 2 trouble.\n",
};
