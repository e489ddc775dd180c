/*
 * cmd_convert.c - umbel convert: the same keys in another form.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/foreign.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>

static const um_option options[] = {
    {"output", 'o', "FILE", "write the result there; - is standard output"},
    {"fold", 0, "D", "make it D times smaller"},
    {"fpr", 0, "P", "make it as small as this error allows"},
    {"to", 0, "FORM",
     "bloom: the bloom filter of the same keys; dcso: a file "
     "for DCSO's bloom and flor"},
    {"from", 0, "dcso", "the filter is such a file, perhaps gzipped"},
    {"coded", 0, NULL, "write it in few bytes, to be decoded when it is read"},
    {"raw", 0, NULL, "write it as it is in memory, to be used in place"},
    {0}};

static umbel_status choose(const um_args *args, const umbel_filter *f,
                           uint64_t *by, umbel_error *err)
{
    double fpr = 0;
    umbel_interval keys;

    if (um_has(args, "fold"))
        return um_value_count(args, "fold", by, err);
    umbel_status status = um_value_share(args, "fpr", &fpr, err);
    if (status == UMBEL_OK)
        status = umbel_estimate_keys(f, &keys, err);
    if (status != UMBEL_OK)
        return status;
    *by = keys.value < 1e15 ? umbel_fold_best(f, (uint64_t)keys.value + 1, fpr)
                            : 0;
    if (*by == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "the filter errs by %s already, at its full size: "
                       "folding cannot reach %s",
                       um_percent(umbel_predict(f)).text, um_percent(fpr).text);
    return UMBEL_OK;
}

/* What became of it, in the report's words. */
static void tell_form(const um_args *args, FILE *out, uint64_t by)
{
    const char *to = um_value(args, "to"), *from = um_value(args, "from");

    if (to && um_is_format(to))
        fprintf(out, "a %s file of", to);
    else if (to)
        fputs("a bloom filter of", out);
    else if (um_has(args, "fold") || um_has(args, "fpr"))
        fprintf(out, "folded by %" PRIu64 " to", by);
    else if (from)
        fprintf(out, "the filter of a %s file in", from);
    else
        fputs(um_has(args, "coded") ? "coded in" : "raw in", out);
}

static bool becomes_foreign(const um_args *args)
{
    const char *to = um_value(args, "to");

    return to && um_is_format(to);
}

/* Bytes of what was written. */
static uint64_t written_len(const um_args *args, const umbel_filter *f)
{
    uint64_t len = umbel_encoded_len(f);

    if (becomes_foreign(args))
        umbel_export_len(f, um_value(args, "to"), &len, NULL);
    return len;
}

static void report(const um_args *args, const umbel_filter *f, uint64_t by)
{
    FILE *out = um_report_to(args);
    const char *path = um_value(args, "output");
    umbel_info info = {0};

    if (um_has(args, "json")) {
        um_info_text(&info, "file", path);
        um_info_count(&info, "fold", by);
        um_info_count(&info, "bits", umbel_cells(f));
        um_info_count(&info, "bytes", written_len(args, f));
        um_info_flag(&info, "coded", umbel_coded(f));
        um_info_real(&info, "predicted_error", umbel_predict(f));
        um_info_hex(&info, "payload_checksum", umbel_payload_checksum(f));
        um_print_json(out, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(out, path);
        tell_form(args, out, by);
        fprintf(out, " %s bytes, predicted error %s\n",
                um_grouped(written_len(args, f)).text,
                um_percent(umbel_predict(f)).text);
        um_tell_retouched(
            out, f,
            by > 1 ? "folding may bring back keys that were removed"
            : becomes_foreign(args) ? "the file has no place to say so"
                                    : "that is unchanged");
        if (by == 1 && um_has(args, "fpr"))
            fprintf(out,
                    "no divisor of its %s parts keeps that error: it stays as "
                    "it is\n",
                    um_grouped(umbel_fold_parts(f)).text);
    }
}

/* *out = f itself, or what becomes of it. */
static umbel_status transform(const um_args *args, umbel_filter *f,
                              uint64_t *by, umbel_filter **out,
                              umbel_error *err)
{
    const char *to = um_value(args, "to");

    *by = 1;
    *out = f;
    if (to && !um_is_format(to))
        return umbel_to_bloom(f, out, err);
    if (!um_has(args, "fold") && !um_has(args, "fpr"))
        return UMBEL_OK;
    umbel_status status = choose(args, f, by, err);
    return status == UMBEL_OK ? umbel_fold(f, *by, out, err) : status;
}

static umbel_status save(const um_args *args, const umbel_filter *f,
                         umbel_error *err)
{
    const char *to = um_value(args, "to"), *path = um_value(args, "output");

    return to && um_is_format(to) ? um_export_file(f, to, path, err)
                                  : um_save_filter(f, path, err);
}

static umbel_status convert(const um_args *args, umbel_filter *f,
                            umbel_error *err)
{
    umbel_filter *made;
    uint64_t by;
    umbel_status status = transform(args, f, &by, &made, err);

    if (status != UMBEL_OK)
        return status;
    if (um_has(args, "coded") || um_has(args, "raw"))
        umbel_set_coded(made, um_has(args, "coded"));
    status = save(args, made, err);
    if (status == UMBEL_OK)
        report(args, made, by);
    if (made != f)
        umbel_close(made);
    return status;
}

/* A file of others is not replaced by ours, nor the other way round. */
static umbel_status open_input(const um_args *args, umbel_filter **out,
                               umbel_error *err)
{
    const char *from = um_value(args, "from"), *to = um_value(args, "to");
    const char *path = args->operands[0];
    bool stays = to && um_is_format(to) ? from != NULL : from == NULL;
    uint64_t limit = 0;
    umbel_status status = UMBEL_OK;

    if (!stays)
        status = um_refuse_overwrite(um_value(args, "output"), path, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "max-memory", &limit, err);
    if (status != UMBEL_OK)
        return status;
    return from ? um_import_file(from, path, limit, out, err)
                : um_open_filter(args, path, out, err);
}

static int run(const um_args *args)
{
    umbel_filter *f;
    umbel_error err;

    if (args->noperands != 1 || !um_has(args, "output"))
        return um_misuse(args, "give one filter, and where to: -o FILE");
    const char *to = um_value(args, "to"), *from = um_value(args, "from");
    int ways = um_has(args, "fold") + um_has(args, "fpr") + (to != NULL);
    bool form = um_has(args, "coded") || um_has(args, "raw");
    if (um_has(args, "coded") && um_has(args, "raw"))
        return um_misuse(args, "--coded and --raw exclude each other");
    if (form && to && um_is_format(to))
        return um_misuse(args, "files of others are what they are: --coded "
                               "and --raw are for ours");
    if (ways > 1)
        return um_misuse(args, "--fold, --fpr and --to exclude each other: "
                               "convert twice");
    if (ways == 0 && !from && !form)
        return um_misuse(args, "say how: --fold D, --fpr P, --to FORM, --from "
                               "FORMAT, --coded or --raw");
    if (to && strcmp(to, "bloom") != 0 && !um_is_format(to))
        return um_misuse(args, "--to is bloom or dcso, got \"%s\"", to);
    if (open_input(args, &f, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    umbel_status status = convert(args, f, &err);
    umbel_close(f);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_convert = {
    .name = "convert",
    .args = "FILE [--from FORMAT] [--fold D | --fpr P | --to FORM] "
            "[--coded | --raw] -o FILE",
    .summary = "the same keys in another form",
    .options = {options, um_filter_options},
    .run = run,
    .example = "words.umb --coded -o small.umb",
    .details = "--coded and --raw go with the others, or alone. Without them, "
               "the result has the form of FILE. A filter as full as it was "
               "planned is hardly smaller coded: one with room left is, or one "
               "of 'umbel plan --wire'.",
};
