/*
 * cmd_info.c - umbel info: describe one filter, or compare two.
 */
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

static void print(const um_args *args, const umbel_info *info)
{
    if (um_has(args, "json"))
        um_print_json(stdout, info);
    else if (!um_has(args, "quiet"))
        um_print_fields(stdout, info);
}

static umbel_status describe(const um_args *args, const char *path,
                             umbel_error *err)
{
    static const char *names[] = {"keys", "keys_low", "keys_high"};
    umbel_info info = {0};
    umbel_interval keys;
    umbel_filter *f;

    umbel_status status = um_open_filter(args, path, &f, err);
    if (status != UMBEL_OK)
        return status;
    umbel_describe(f, &info);
    if (umbel_estimate_keys(f, &keys, NULL) == UMBEL_OK)
        um_info_interval(&info, names, &keys, true);
    print(args, &info);
    if (!um_has(args, "json") && !um_has(args, "quiet"))
        um_tell_retouched(stdout, f,
                          "its cells do not tell how many keys it "
                          "has");
    umbel_close(f);
    return UMBEL_OK;
}

static umbel_status compare(const um_args *args, const umbel_filter *a,
                            const umbel_filter *b, umbel_error *err)
{
    static const char *both_or_one[] = {"union", "union_low", "union_high"};
    static const char *both[] = {"intersection", "intersection_low",
                                 "intersection_high"};
    static const char *jaccard[] = {"jaccard", "jaccard_low", "jaccard_high"};
    umbel_overlap overlap;
    umbel_info info = {0};

    umbel_status status = umbel_estimate_overlap(a, b, &overlap, err);
    if (status != UMBEL_OK)
        return status;
    um_info_interval(&info, both_or_one, &overlap.both_or_one, true);
    um_info_interval(&info, both, &overlap.both, true);
    um_info_interval(&info, jaccard, &overlap.jaccard, false);
    print(args, &info);
    return UMBEL_OK;
}

static umbel_status compare_files(const um_args *args, umbel_error *err)
{
    umbel_filter *a, *b;

    umbel_status status = um_open_filter(args, args->operands[0], &a, err);
    if (status != UMBEL_OK)
        return status;
    status = um_open_filter(args, args->operands[1], &b, err);
    if (status == UMBEL_OK) {
        status = compare(args, a, b, err);
        umbel_close(b);
    }
    umbel_close(a);
    return status;
}

static int run(const um_args *args)
{
    umbel_error err;

    if (args->noperands < 1 || args->noperands > 2)
        return um_misuse(args, "give one filter, or two to compare");
    if (um_stdin_among(args->operands, args->noperands) > 1)
        return um_misuse(args, "standard input can be read only once");
    umbel_status status = args->noperands == 1
                              ? describe(args, args->operands[0], &err)
                              : compare_files(args, &err);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_info = {
    .name = "info",
    .args = "FILE [FILE]",
    .summary = "describe a filter, or compare two",
    .options = {um_filter_options},
    .run = run,
    .example = "words.umb",
    .details = "All intervals are 99 %.",
};
