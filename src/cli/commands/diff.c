/*
 * diff.c - umbel diff: writes the difference between an old filter and a new
 * one.
 */
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/report.h"
#include "publish/publish.h"

#include <math.h>

typedef struct diff_args {
    const char *old, *new, *output;
    um_open_args open;
} diff_args;

static const um_option options[] = {
    {"output", 'o', "FILE",
     "write the difference to FILE; - is standard output",
     UM_TARGET(diff_args, output), .role = UM_UMBEL_OUTPUT, .required = true},
    {0}};

static void fill_report(const diff_args *a, const umbel_filter *old,
                        const umbel_filter *now, const umbel_diff_result *d,
                        um_report *r)
{
    um_report_file(r, "file", NULL, a->output);
    um_report_count(r, "bytes", "difference", "bytes", d->bytes);
    um_report_count(r, "new_bytes", "new filter", "bytes",
                    umbel_encoded_len(now));
    um_report_count(r, "changed", "changed", "cells", d->changed);
    um_report_count(r, "shannon_bytes", "entropy", "bytes",
                    (uint64_t)ceil(d->shannon_bytes));
    um_report_text(r, "old", "from content", um_name_of(old).text);
    um_report_text(r, "new", "to content", um_name_of(now).text);
}

static umbel_status write_difference(const um_args *args,
                                     const umbel_filter *old,
                                     const umbel_filter *now, umbel_error *err)
{
    const diff_args *a = args->values;
    umbel_diff_result result;
    um_report report = {0};
    um_content c;

    UM_TRY(um_content_diff(&c, old, now, &result, err));
    umbel_status status = um_save_bytes(c.bytes, c.len, a->output, err);
    um_content_fini(&c);
    UM_TRY(status);
    fill_report(a, old, now, &result, &report);
    um_report_print(args, &report);
    um_report_fini(&report);
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    const diff_args *a = args->values;
    umbel_filter *old = NULL, *now = NULL;
    umbel_error err;
    umbel_status status;

    status = um_open_filter(&a->open, a->old, &old, &err);
    if (status)
        goto done;
    status = um_open_filter(&a->open, a->new, &now, &err);
    if (status)
        goto done;
    status = write_difference(args, old, now, &err);
done:
    umbel_close(now);
    umbel_close(old);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_diff = {
    .name = "diff",
    .summary = "write the difference between an old filter and a new one",
    .section = UM_OTHER,
    .values_len = sizeof(diff_args),
    .operands = {{"OLD", UM_TEXT, offsetof(diff_args, old), UM_INPUT, .min = 1},
                 {"NEW", UM_TEXT, offsetof(diff_args, new), UM_INPUT,
                  .min = 1}},
    .options = {{.rows = options},
                {.rows = um_open_options, .base = offsetof(diff_args, open)}},
    .run = run,
    .example = "words.umb new.umb -o words.diff",
    .details = "Both filters must have the same kind, size, hash functions and "
               "seed: build both with the same --capacity. 'umbel patch' makes "
               "NEW from OLD and the difference. Keyed filters need no secret "
               "here.",
};
