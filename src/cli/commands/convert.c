/*
 * convert.c - umbel convert: converts a filter to another form with the same
 * keys.
 */
#include "base/error.h"
#include "base/text.h"
#include "build/build.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/overfull.h"
#include "cli/framework/report.h"
#include "filter/content.h"
#include "filter/handle.h"

#include <umbel/counting.h>

#include <string.h>
#include <unistd.h>

typedef struct convert_args {
    const char *file, *output, *from, *data;
    um_choice to, strategy;
    um_whole fold;
    um_share fpr;
    bool coded, raw;
    um_open_args open;
} convert_args;

enum {
    OURS = UM_MODE(0),
    IMPORT = UM_MODE(1),
    EXPORT = UM_MODE(2),
    FOREIGN = UM_MODE(3)
};

/* Target forms: a kind, or a format of another program. */
enum { TO_BLOOM };
static const char *const forms[] = {
    [TO_BLOOM] = "bloom", "dcso", "redisbloom", "guava", "squid", NULL};

/* Guava's strategies, and the addressings that they are. */
static const char *const strategies[] = {"32", "64", NULL};
static const char *const strategy_rows[] = {"guava32", "guava"};

static const um_option options[] = {
    {"output", 'o', "FILE", "write the result to FILE; - is standard output",
     UM_TARGET(convert_args, output), .role = UM_OUTPUT, .required = true},
    {"fold", 0, "D", "make it D times smaller", UM_TARGET(convert_args, fold),
     .excludes = "fpr to", .modes = OURS | IMPORT},
    {"fpr", 0, "P", "make it as small as this false positive rate allows",
     UM_TARGET(convert_args, fpr), .excludes = "fold to",
     .modes = OURS | IMPORT},
    {"to", 0, "FORM",
     "bloom: a plain Bloom filter of the same keys; dcso: a file for DCSO's "
     "bloom and flor; redisbloom: for BF.LOADCHUNK; guava: for Guava and "
     "Keycloak; squid: a cache digest",
     UM_TARGET(convert_args, to), .choices = forms},
    {"from", 0, "FORMAT",
     "FILE was written by another program: dcso, redisbloom, guava or "
     "squid, also gzipped",
     UM_TARGET(convert_args, from)},
    {"strategy", 0, "N",
     "with guava: refuse a filter of the other strategy, 32 or 64",
     UM_TARGET(convert_args, strategy), .choices = strategies,
     .modes = IMPORT | EXPORT | FOREIGN},
    {"coded", 0, NULL, "compress the file; it is decoded when it is read",
     UM_TARGET(convert_args, coded), .excludes = "raw", .modes = OURS | IMPORT},
    {"raw", 0, NULL, "write it uncompressed, to be mapped into memory",
     UM_TARGET(convert_args, raw), .modes = OURS | IMPORT},
    {"data", 0, "FILE",
     "let the filter carry the bytes of FILE; those of an empty one: none",
     UM_TARGET(convert_args, data), .role = UM_INPUT},
    {0}};

static bool is_exported(const convert_args *a)
{
    return a->to.name && a->to.index != TO_BLOOM;
}

static unsigned mode(const void *values)
{
    const convert_args *a = values;

    if (is_exported(a))
        return a->from ? FOREIGN : EXPORT;
    return a->from ? IMPORT : OURS;
}

static bool is_idle(const convert_args *a)
{
    return !a->fold.given && !a->fpr.given && !a->to.name && !a->from &&
           !a->coded && !a->raw && !a->data;
}

/* --- reading -------------------------------------------------------------- */

static umbel_status advise_memory(umbel_status status, umbel_error *err)
{
    umbel_error inner = *err;

    return um_fail(err, status, "%.200s, or allow more with --max-memory",
                   inner.text);
}

/* Reads a file of another program, from a pipe or compressed, up to a limit. */
static umbel_status import_file(const convert_args *a, umbel_filter **out,
                                umbel_error *err)
{
    uint64_t limit = a->open.max_memory.n;
    umbel_error inner;
    um_content c;

    umbel_status status = um_content_read_within(
        &c, a->file, limit ? (size_t)limit : (size_t)UM_IMPORT_LIMIT, err);
    if (status)
        return status == UMBEL_E_LIMIT ? advise_memory(status, err) : status;
    status = um_import(a->from, c.bytes, c.len, limit, out, &inner);
    um_content_fini(&c);
    if (!status)
        return UMBEL_OK;
    um_set_error(err, status, "%s%s: %s", um_path_dots(a->file),
                 um_path_tail(a->file), inner.text);
    return inner.detail == UMBEL_D_COMPRESSED ? advise_memory(status, err)
                                              : status;
}

/* Opens the input. The output may replace it only with the same type of file: a
 * filter by a filter, a file of another program by one. */
static umbel_status open_input(const convert_args *a, umbel_filter **out,
                               umbel_error *err)
{
    if (mode(a) & (IMPORT | EXPORT))
        UM_TRY(um_refuse_overwrite(a->output, a->file, err));
    if (a->from)
        return import_file(a, out, err);
    return (a->data ? um_load_filter : um_open_filter)(&a->open, a->file, out,
                                                       err);
}

/* Refuses a filter of another strategy than the given one. */
static umbel_status check_strategy(const convert_args *a, const umbel_filter *f,
                                   umbel_error *err)
{
    const char *is = um_shape_of(f)->addressing->name;

    if (!a->strategy.name || strcmp(is, strategy_rows[a->strategy.index]) == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_MISMATCH,
                   "its addressing is %s, and strategy %s is %s: build the "
                   "filter of its keys with --addressing %s",
                   is, a->strategy.name, strategy_rows[a->strategy.index],
                   strategy_rows[a->strategy.index]);
}

/* --- converting ----------------------------------------------------------- */

/* Counts or estimates the keys that the result must hold. */
static umbel_status count_keys(const umbel_filter *f, uint64_t *keys,
                               umbel_error *err)
{
    umbel_interval guess;

    UM_TRY(umbel_estimate_keys(f, &guess, err));
    *keys = guess.value < 1e15 ? (uint64_t)guess.value + 1 : UINT64_MAX;
    return UMBEL_OK;
}

static umbel_status choose_fold(const convert_args *a, const umbel_filter *f,
                                uint64_t *by, umbel_error *err)
{
    uint64_t keys;

    *by = a->fold.n;
    if (a->fold.given)
        return UMBEL_OK;
    UM_TRY(count_keys(f, &keys, err));
    *by = keys < UINT64_MAX ? umbel_fold_best(f, keys, a->fpr.x) : 0;
    if (*by == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "the error of this filter is %s at its full size: "
                       "folding cannot reach %s; build it from its keys with "
                       "--fpr %g",
                       um_rate(umbel_predict(f)).text, um_rate(a->fpr.x).text,
                       a->fpr.x);
    return UMBEL_OK;
}

/* Converts f; *out is f itself or a new filter. */
static umbel_status transform(const convert_args *a, umbel_filter *f,
                              uint64_t *by, umbel_filter **out,
                              umbel_error *err)
{
    *by = 1;
    *out = f;
    if (a->to.name && !is_exported(a))
        return umbel_to_bloom(f, out, err);
    if (!a->fold.given && !a->fpr.given)
        return UMBEL_OK;
    UM_TRY(choose_fold(a, f, by, err));
    return umbel_fold(f, *by, out, err);
}

static umbel_status attach_data(const convert_args *a, umbel_filter *f,
                                umbel_error *err)
{
    um_content c;

    UM_TRY(um_content_read_within(&c, a->data, UM_IMPORT_LIMIT, err));
    umbel_status status = umbel_set_data(f, c.bytes, c.len, err);
    um_content_fini(&c);
    return status;
}

static umbel_status save(const convert_args *a, const umbel_filter *f,
                         umbel_error *err)
{
    if (!is_exported(a))
        return um_save_filter(f, a->output, err);
    if (strcmp(a->output, "-") != 0)
        return umbel_export(f, a->to.name, a->output, err);
    UM_TRY(um_check_pipe(err));
    return umbel_export_to(f, a->to.name, STDOUT_FILENO, err);
}

static bool is_not_shrunk(const convert_args *a, uint64_t by)
{
    return a->fpr.given && by == 1;
}

static void note_not_shrunk(um_report *r, const convert_args *a,
                            const umbel_filter *f)
{
    uint64_t keys = 0, by;
    double error;

    count_keys(f, &keys, NULL);
    by = um_fold_least(f, keys, &error);
    if (by)
        um_report_note(r,
                       "It cannot be smaller at that error: its %s parts can "
                       "be folded by %s at least, which gives an error of %s.",
                       um_grouped(umbel_fold_parts(f)).text,
                       um_grouped(by).text, um_rate(error).text);
    else
        um_report_note(r, "It cannot be smaller: it has a single part.");
    um_report_note(
        r, "To make it smaller, %sbuild it from its keys with --fpr %g.",
        umbel_coded(f) ? "" : "compress it with --coded, or ", a->fpr.x);
}

static void fill_report(const convert_args *a, const umbel_filter *f,
                        uint64_t by, um_report *r)
{
    uint64_t len = umbel_encoded_len(f);

    if (is_exported(a))
        umbel_export_len(f, a->to.name, &len, NULL);
    um_report_file(r, "file", NULL, a->output);
    um_report_count(r, "fold", "folded by", NULL, by);
    um_report_count(r, "bits", "cells", NULL, umbel_cells(f));
    um_report_count(r, "bytes", NULL, NULL, len);
    um_report_flag(r, "coded", "compressed", umbel_coded(f));
    um_report_rate(r, "predicted_error", NULL, umbel_predict(f));
    um_report_hex(r, "payload_checksum", NULL, umbel_payload_checksum(f));
    um_report_text(r, "format", NULL, is_exported(a) ? a->to.name : "umbel");
    if (a->data)
        um_report_count(r, "data_bytes", NULL, NULL, umbel_data(f).len);
    um_note_retouched(r, f,
                      by > 1 ? "folding may bring back keys that were removed"
                      : is_exported(a) ? "the file cannot record that"
                                       : "that is unchanged");
    if (is_not_shrunk(a, by))
        note_not_shrunk(r, a, f);
}

/* Warns, also with --quiet, of a filter that was folded until it is of no use.
 */
static void warn_useless(const um_args *args, const umbel_filter *before,
                         const umbel_filter *f, um_report *r)
{
    char text[200];

    if (um_is_useless(before) || !um_is_useless(f))
        return;
    snprintf(text, sizeof text,
             "error is %s, above the 50 %% that readers allow: fold it less, "
             "or give the error with --fpr P instead of --fold",
             um_rate(umbel_predict(f)).text);
    um_warn(args, "the %s", text);
    if (args->common.json)
        um_report_note(r, "The %s.", text);
}

static umbel_status convert(const um_args *args, umbel_filter *f, bool *missed,
                            umbel_error *err)
{
    const convert_args *a = args->values;
    um_report report = {0};
    umbel_filter *made;
    umbel_status status;
    uint64_t by;

    UM_TRY(transform(a, f, &by, &made, err));
    if (a->coded || a->raw)
        umbel_set_coded(made, a->coded);
    status = a->data ? attach_data(a, made, err) : UMBEL_OK;
    if (status)
        goto done;
    status = save(a, made, err);
    if (status)
        goto done;
    *missed = is_not_shrunk(a, by);
    fill_report(a, made, by, &report);
    warn_useless(args, f, made, &report);
    um_report_print(args, &report);
done:
    um_report_fini(&report);
    if (made != f)
        umbel_close(made);
    return status;
}

static int run(const um_args *args)
{
    const convert_args *a = args->values;
    umbel_filter *f;
    umbel_error err;
    bool missed = false;
    bool foreign = is_exported(a) || a->from; /* may replace foreign files */

    if (is_idle(a))
        return um_misuse(args,
                         "nothing to do: give --fold D, --fpr P, --to "
                         "FORM, --from FORMAT, --coded, --raw or --data FILE");
    if ((!foreign && um_check_replaceable(a->output, UM_UMBEL_OUTPUT, &err)) ||
        open_input(a, &f, &err))
        return um_trouble(args, &err);
    umbel_status status = check_strategy(a, f, &err);
    if (!status)
        status = convert(args, f, &missed, &err);
    umbel_close(f);
    return status ? um_trouble(args, &err) : missed ? UM_EXIT_NO : UM_EXIT_FINE;
}

const um_command um_cmd_convert = {
    .name = "convert",
    .summary = "fold, compress or export a filter",
    .section = UM_OTHER,
    .values_len = sizeof(convert_args),
    .operands = {{"FILE", UM_TEXT, offsetof(convert_args, file), UM_REPLACEABLE,
                  .min = 1}},
    .options = {{.rows = options},
                {um_open_options, offsetof(convert_args, open), OURS | EXPORT,
                 "max-memory"},
                {um_open_options, offsetof(convert_args, open), 0,
                 "key-file no-checksum"}},
    .modes = {{"to convert a filter to another one", ""},
              {"to import a file (--from)", "--from dcso"},
              {"to export a file (--to dcso)", "--to dcso"},
              {"with both --from and --to dcso", "--from dcso --to dcso"}},
    .mode = mode,
    .run = run,
    .example = "words.umb --coded -o small.umb",
    .details =
        "--coded and --raw can be combined with --fold, --fpr, --from and --to "
        "bloom. Without them the result is compressed if FILE is. Compression "
        "gains little for a filter that is as full as planned, and much for "
        "one with room left or planned with 'umbel plan --wire'. FILE may be "
        "the output, too: it is replaced when the result is complete. The exit "
        "code is 1 if the result cannot be smaller at the error of --fpr; it "
        "is written all the same.",
};
