/*
 * cmd_convert.c - umbel convert: the same keys in another form.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>

static const um_option options[] = {
    {"output", 'o', "FILE", "write the result there; - is standard output"},
    {"fold", 0, "D", "make it D times smaller"},
    {"fpr", 0, "P", "make it as small as this error allows"},
    {"to", 0, "bloom", "make it the bloom filter of the same keys"},
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

static void report(const um_args *args, const umbel_filter *f, uint64_t by)
{
    FILE *out = um_report_to(args);
    const char *path = um_value(args, "output");
    umbel_info info = {0};

    if (um_has(args, "json")) {
        um_info_text(&info, "file", path);
        um_info_count(&info, "fold", by);
        um_info_count(&info, "bits", umbel_cells(f));
        um_info_count(&info, "bytes", umbel_encoded_len(f));
        um_info_real(&info, "predicted_error", umbel_predict(f));
        um_info_hex(&info, "payload_checksum", umbel_payload_checksum(f));
        um_print_json(out, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(out, path);
        if (um_has(args, "to"))
            fputs("a bloom filter", out);
        else
            fprintf(out, "folded by %" PRIu64, by);
        fprintf(out, " %s %s bytes, predicted error %s\n",
                um_has(args, "to") ? "of" : "to",
                um_grouped(umbel_encoded_len(f)).text,
                um_percent(umbel_predict(f)).text);
        um_tell_retouched(
            out, f,
            by == 1 ? "as before"
                    : "folding may bring back keys that were removed");
        if (by == 1 && !um_has(args, "to"))
            fprintf(out,
                    "no divisor of its %s parts keeps that error: it stays as "
                    "it is\n",
                    um_grouped(umbel_fold_parts(f)).text);
    }
}

static umbel_status convert(const um_args *args, umbel_filter *f,
                            umbel_error *err)
{
    umbel_filter *small = NULL;
    uint64_t by = 1;

    umbel_status status = UMBEL_OK;
    if (um_has(args, "to"))
        status = umbel_to_bloom(f, &small, err);
    else
        status = choose(args, f, &by, err);
    if (status == UMBEL_OK && !um_has(args, "to"))
        status = umbel_fold(f, by, &small, err);
    if (status != UMBEL_OK)
        return status;
    status = um_save_filter(small, um_value(args, "output"), err);
    if (status == UMBEL_OK)
        report(args, small, by);
    umbel_close(small);
    return status;
}

static int run(const um_args *args)
{
    umbel_filter *f;
    umbel_error err;

    if (args->noperands != 1 || !um_has(args, "output"))
        return um_misuse(args, "give one filter, and where to: -o FILE");
    const char *to = um_value(args, "to");
    if (um_has(args, "fold") + um_has(args, "fpr") + (to != NULL) != 1)
        return um_misuse(args, "say how: --fold D, --fpr P or --to bloom");
    if (to && strcmp(to, "bloom") != 0)
        return um_misuse(args, "--to is bloom, got \"%s\"", to);
    if (um_open_filter(args, args->operands[0], &f, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    umbel_status status = convert(args, f, &err);
    umbel_close(f);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_convert = {
    .name = "convert",
    .args = "FILE (--fold D | --fpr P | --to bloom) -o FILE",
    .summary = "the same keys in a smaller filter",
    .options = {options, um_filter_options},
    .run = run,
};
