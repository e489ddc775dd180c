/*
 * cmd_build.c - umbel build: a filter from lists of keys.
 *
 * Files are read twice, to count and to add. What can be read only once (a
 * pipe) fills a large filter that is folded to size at the end.
 */
#include "base/error.h"
#include "cli/amounts.h"
#include "cli/build_static.h"
#include "cli/choose_groups.h"
#include "cli/files.h"
#include "cli/keys.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>

static const um_option options[] = {
    {"output", 'o', "FILE", "write the filter there; - is standard output"},
    {"capacity", 'n', "N", "room for N keys (default: as many as there are)"},
    {"max-memory", 0, "N", "bytes to fill from a pipe (default 256MB)"},
    {"universe", 0, "FILE", "ribbon: of all these keys only members match"},
    {"values", 0, "W", "ribbon: lines are key, tab, value of W bits"},
    {"bytes", 0, "N", "ribbon: most bytes of the whole file"},
    {"coded", 0, NULL, "write it in few bytes, to be decoded when it is read"},
    {0}};

/* What was built, for the report. */
typedef struct built {
    umbel_filter *filter;
    uint64_t n; /* keys in the input */
    umbel_choose_bill bill;
    um_static_result fixed; /* of static kinds */
} built;

static umbel_status add_keys(const um_args *args, umbel_filter *f, built *out,
                             umbel_error *err)
{
    if (um_has(args, "never"))
        return um_choose_all(args, f, &out->n, &out->bill, err);
    return um_add_amounts(args, args->operands, args->noperands, f, &out->n,
                          err);
}

static umbel_status no_keys(umbel_error *err)
{
    return um_fail(err, UMBEL_E_RANGE,
                   "there is no key in the input; for an empty filter say "
                   "--capacity N");
}

/* The size is known, or can be counted. */
static umbel_status build_sized(const um_args *args, um_filter_args *asked,
                                built *out, umbel_error *err)
{
    umbel_params *p = &asked->params;
    umbel_status status = UMBEL_OK;
    umbel_filter *f;

    if (!p->capacity && um_keys_again(args->operands, args->noperands)) {
        status = um_count_all(args, args->operands, args->noperands,
                              &p->capacity, err);
        if (status == UMBEL_OK && !p->capacity)
            return no_keys(err);
    }
    if (status == UMBEL_OK)
        status = umbel_open(asked->kind, p, &f, err);
    if (status != UMBEL_OK)
        return status;
    status = add_keys(args, f, out, err);
    if (status == UMBEL_OK && out->n == 0 && !um_has(args, "capacity"))
        status = no_keys(err);
    if (status == UMBEL_OK)
        out->filter = f;
    else
        umbel_close(f);
    return status;
}

static umbel_status build_unsized(const um_args *args, um_filter_args *asked,
                                  built *out, umbel_error *err)
{
    uint64_t memory = UM_PIPE_MEMORY;
    umbel_filter *large;
    umbel_status status = um_value_count(args, "max-memory", &memory, err);

    if (status == UMBEL_OK && memory < 1024)
        status =
            um_fail(err, UMBEL_E_RANGE, "--max-memory must be 1 KB at least");
    if (status == UMBEL_OK)
        status = umbel_open_unsized(asked->kind, &asked->params, memory, &large,
                                    err);
    if (status != UMBEL_OK)
        return status;
    status = add_keys(args, large, out, err);
    if (status == UMBEL_OK && out->n == 0)
        status = no_keys(err);
    if (status == UMBEL_OK)
        status = umbel_fit(large, &out->filter, err);
    umbel_close(large);
    return status;
}

static uint64_t asked_bits(const um_args *args)
{
    uint64_t bits = 0;
    um_value_count(args, um_size_option(args), &bits, NULL);
    return bits;
}

/* The command to type next, with what made the keys of the input keys. */
static void suggest(const um_args *args, const char *path)
{
    bool again = um_keys_again(args->operands, args->noperands);

    fputs("next: umbel ", stdout);
    fputs(again ? "verify " : "check ", stdout);
    um_print_quoted(stdout, path);
    um_print_given(stdout, args, um_keys_options);
    bool fields = um_has(args, "values") || um_has(args, "amount-field");
    if (fields && !um_has(args, "field"))
        fputs(" --field 1", stdout);
    um_print_given(stdout, args, um_secret_options);
    if (again) {
        fputs(" --members ", stdout);
        um_print_quoted(stdout, args->operands[0]);
        putchar('\n');
    } else {
        puts(" -f KEYS");
    }
}

static void report(const um_args *args, const built *b)
{
    const umbel_filter *f = b->filter;
    FILE *out = um_report_to(args);
    const char *path = um_value(args, "output");
    size_t len = umbel_encoded_len(f);
    double bits = umbel_coded(f) ? 8 * (double)len : (double)umbel_cells(f);
    uint64_t added = umbel_added(f);

    um_print_path(out, path);
    fprintf(out, "%s, %s new, in %s bytes",
            um_counted(b->n, "key", "keys").text, um_grouped(added).text,
            um_grouped(len).text);
    if (added && !umbel_may_deny(f))
        fprintf(out, " (%.2f %s a key)", bits / (double)added,
                umbel_count_limit(f) && !umbel_coded(f) ? "cells" : "bits");
    if (umbel_value_bits(f))
        fprintf(out, "\nvalues of %" PRIu32 " bits", umbel_value_bits(f));
    fprintf(out, "\n%s, predicted error %s",
            um_counted(umbel_hashes(f), "hash", "hashes").text,
            um_percent(umbel_predict(f)).text);
    if ((um_has(args, um_size_option(args)) || b->fixed.exact ||
         um_has(args, "bytes") || umbel_value_bits(f)) &&
        !um_has(args, "fpr")) {
        putc('\n', out);
    } else {
        fprintf(out, " (asked: %s)\n", um_percent(umbel_target_fpr(f)).text);
        um_tell_overfull(out, f);
    }
    um_tell_uncounted(out, f);
    if (b->fixed.filter)
        um_print_static(out, args, &b->fixed);
    else
        um_tell_rounding(out, asked_bits(args), umbel_cells(f));
    if (um_has(args, "never") && !b->fixed.filter)
        um_print_bill(out, &b->bill);
    if (out == stdout)
        suggest(args, path);
}

static void report_json(const um_args *args, const built *b)
{
    const umbel_filter *f = b->filter;
    umbel_info info = {0};

    um_info_text(&info, "file", um_value(args, "output"));
    um_info_count(&info, "keys", b->n);
    um_info_count(&info, "new", umbel_added(f));
    um_info_count(&info, "bits", umbel_cells(f));
    um_info_count(&info, "hashes", umbel_hashes(f));
    um_info_count(&info, "bytes", umbel_encoded_len(f));
    um_info_real(&info, "predicted_error", umbel_predict(f));
    um_info_hex(&info, "payload_checksum", umbel_payload_checksum(f));
    if (b->fixed.filter)
        um_static_to_info(&b->fixed, &info);
    else if (um_has(args, "never"))
        um_bill_to_info(&b->bill, &info);
    um_print_json(um_report_to(args), &info);
}

static bool has_groups(const char *kind)
{
    umbel_setting_info setting;

    for (size_t i = 0; umbel_kind_setting(kind ? kind : "bloom", i, &setting);
         i++)
        if (strcmp(setting.name, "groups") == 0)
            return true;
    return false;
}

/* Who names keys that shall not match wants a choice. */
static umbel_status want_groups(const um_args *args, um_filter_args *asked,
                                umbel_error *err)
{
    umbel_params *p = &asked->params;

    if (!um_has(args, "never"))
        return UMBEL_OK;
    if (!has_groups(asked->kind))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "--never wants a kind whose keys can go by several "
                       "groups, such as bloom; kind %s has none",
                       asked->kind);
    if (p->nsettings == 0)
        asked->settings[p->nsettings++] = (umbel_setting){"groups", 2};
    return UMBEL_OK;
}

static umbel_status build(const um_args *args, built *out, umbel_error *err)
{
    um_filter_args asked;
    unsigned threads;
    umbel_status status = um_ask(args, &asked, err);

    if (status == UMBEL_OK && umbel_is_static(asked.kind)) {
        status = um_build_static(args, &asked, &out->fixed, err);
        out->filter = out->fixed.filter;
        out->n = out->fixed.n;
        um_forget(&asked);
        return status;
    }
    if (status == UMBEL_OK)
        status = um_threads(args, &threads, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "capacity", &asked.params.capacity, err);
    if (status == UMBEL_OK && um_has(args, "capacity") &&
        !asked.params.capacity)
        status = um_fail(err, UMBEL_E_RANGE, "--capacity must be at least 1");
    bool sized = asked.params.capacity || asked.params.cells ||
                 um_keys_again(args->operands, args->noperands);
    if (status == UMBEL_OK && !sized && um_has(args, "never"))
        status = um_fail(err, UMBEL_E_RANGE,
                         "--never wants a size before the keys come: give "
                         "files, or --capacity, or --bits");
    if (status == UMBEL_OK)
        status = want_groups(args, &asked, err);
    if (status == UMBEL_OK)
        status = sized ? build_sized(args, &asked, out, err)
                       : build_unsized(args, &asked, out, err);
    um_forget(&asked);
    return status;
}

static bool stdin_twice(const um_args *args)
{
    size_t keys = um_stdin_among(args->operands, args->noperands);
    return (args->noperands ? keys : 1) + um_stdin_uses(args, "never") +
               um_stdin_uses(args, "universe") >
           1;
}

/* The filter must not go where keys come from. */
static umbel_status spare_inputs(const um_args *args, umbel_error *err)
{
    const char *out = um_value(args, "output"), *path;
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && i < args->noperands; i++)
        status = um_refuse_overwrite(out, args->operands[i], err);
    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(args, "never", i)); i++)
        status = um_refuse_overwrite(out, path, err);
    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(args, "universe", i)); i++)
        status = um_refuse_overwrite(out, path, err);
    return status;
}

/* What is wrong with the combination of options; NULL: nothing. */
static const char *misuse(const um_args *args)
{
    const char *kind = um_value(args, "kind");
    bool fixed = umbel_is_static(kind);

    if (stdin_twice(args))
        return "standard input can be read only once";
    if (!fixed && (um_has(args, "universe") || um_has(args, "values") ||
                   um_has(args, "bytes")))
        return "--universe, --values and --bytes are for static kinds: say "
               "--kind ribbon";
    if (um_has(args, "allow-members") && !um_has(args, "never"))
        return "--allow-members wants --never";
    if (um_has(args, "weights") && !um_has(args, "never"))
        return "--weights wants --never";
    if (fixed)
        return um_static_misuse(args);
    if (um_has(args, "never") && um_has_amounts(args))
        return "--never is for sets, which count nothing";
    return NULL;
}

static int run(const um_args *args)
{
    const char *path = um_value(args, "output");
    built b = {0};
    umbel_error err;

    if (!path)
        return um_misuse(args, "say where the filter goes: -o FILE");
    if (misuse(args))
        return um_misuse(args, "%s", misuse(args));
    if (spare_inputs(args, &err) != UMBEL_OK ||
        build(args, &b, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    umbel_set_coded(b.filter, um_has(args, "coded"));
    umbel_status status = um_save_filter(b.filter, path, &err);
    if (status == UMBEL_OK && um_has(args, "json"))
        report_json(args, &b);
    else if (status == UMBEL_OK && !um_has(args, "quiet"))
        report(args, &b);
    umbel_close(b.filter);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_build = {
    .name = "build",
    .args = "[KEYS...] -o FILE",
    .summary = "make a filter from lists of keys",
    .options = {options, um_amount_options, um_choosing_options,
                um_threads_options, um_shape_options, um_keys_options,
                um_secret_options},
    .run = run,
    .example = "words -o words.umb",
    .details =
        "KEYS are files with a key a line; none, or -, is standard input. "
        "Files are counted first; a pipe is read once, into --max-memory, and "
        "the filter folded to size. --never takes 2 groups unless --groups or "
        "--set say otherwise; kind ribbon makes it exact, in the smallest "
        "file, or one of --bits or --bytes.",
};
