/*
 * cmd_diff.c - umbel diff: what makes a new filter of an old one.
 */
#include "exchange/content.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

#include <math.h>

static const um_option options[] = {
    {"output", 'o', "FILE", "write the difference there; - is standard output"},
    {0}};

static umbel_status make(const umbel_filter *old, const umbel_filter *now,
                         const char *path, umbel_diff_result *bill,
                         umbel_error *err)
{
    um_content c;
    umbel_status status = um_content_diff(&c, old, now, bill, err);

    if (status == UMBEL_OK)
        status = um_save_bytes(c.bytes, c.len, path, err);
    um_content_fini(&c);
    return status;
}

static void report_json(const um_args *args, const umbel_filter *old,
                        const umbel_filter *now, const umbel_diff_result *bill)
{
    um_name_text from = um_name_of(old), to = um_name_of(now);
    umbel_info info = {0};

    um_info_text(&info, "file", um_value(args, "output"));
    um_info_count(&info, "bytes", bill->bytes);
    um_info_count(&info, "new_bytes", umbel_encoded_len(now));
    um_info_count(&info, "changed", bill->changed);
    um_info_count(&info, "shannon_bytes", (uint64_t)ceil(bill->shannon_bytes));
    um_info_text(&info, "old", from.text);
    um_info_text(&info, "new", to.text);
    um_print_json(um_report_to(args), &info);
}

static void report(const um_args *args, const umbel_filter *now,
                   const umbel_diff_result *bill)
{
    FILE *out = um_report_to(args);

    um_print_path(out, um_value(args, "output"));
    fprintf(out, "%s bytes instead of %s\n", um_grouped(bill->bytes).text,
            um_grouped(umbel_encoded_len(now)).text);
    fprintf(out, "%s cells changed; random ones would take %s bytes to tell\n",
            um_grouped(bill->changed).text,
            um_grouped((uint64_t)ceil(bill->shannon_bytes)).text);
}

static umbel_status diff(const um_args *args, umbel_error *err)
{
    umbel_diff_result bill;
    umbel_filter *old, *now;

    umbel_status status = um_open_filter(args, args->operands[0], &old, err);
    if (status != UMBEL_OK)
        return status;
    status = um_open_filter(args, args->operands[1], &now, err);
    if (status == UMBEL_OK) {
        status = make(old, now, um_value(args, "output"), &bill, err);
        if (status == UMBEL_OK && um_has(args, "json"))
            report_json(args, old, now, &bill);
        else if (status == UMBEL_OK && !um_has(args, "quiet"))
            report(args, now, &bill);
        umbel_close(now);
    }
    umbel_close(old);
    return status;
}

static int run(const um_args *args)
{
    const char *path = um_value(args, "output");
    umbel_error err;

    if (!path || args->noperands != 2)
        return um_misuse(args, "give the old filter, the new one, and where "
                               "to: -o FILE");
    if (um_stdin_among(args->operands, args->noperands) > 1)
        return um_misuse(args, "standard input can be read only once");
    if (um_refuse_overwrite(path, args->operands[0], &err) != UMBEL_OK ||
        um_refuse_overwrite(path, args->operands[1], &err) != UMBEL_OK ||
        diff(args, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    return UM_EXIT_FINE;
}

const um_command um_cmd_diff = {
    .name = "diff",
    .args = "OLD NEW -o FILE",
    .summary = "what changed, for readers who have the old filter",
    .options = {options, um_filter_options},
    .run = run,
    .example = "words.umb new.umb -o words.diff",
    .details = "Both must have the same shape, the same kind, size, hashes and "
               "seed: build both with the same --capacity. 'umbel patch' makes "
               "NEW of OLD and FILE. Keyed filters "
               "need no key here.",
};
