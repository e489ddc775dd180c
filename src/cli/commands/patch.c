/*
 * patch.c - umbel patch: creates the new filter from the old one and a
 * difference.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/report.h"
#include "publish/publish.h"

enum { LIMIT = 1 << 30 }; /* bytes of a difference from a pipe */

typedef struct patch_args {
    const char *old, *difference, *output;
    um_open_args open;
} patch_args;

static const um_option options[] = {
    {"output", 'o', "FILE",
     "write the new filter to FILE; - is standard output",
     UM_TARGET(patch_args, output), .role = UM_UMBEL_OUTPUT, .required = true},
    {0}};

static void print_result(const um_args *args, const umbel_filter *now,
                         size_t len)
{
    const patch_args *a = args->values;
    um_report r = {0};

    um_report_file(&r, "file", NULL, a->output);
    um_report_count(&r, "bytes", NULL, NULL, umbel_encoded_len(now));
    um_report_count(&r, "difference_bytes", "difference", "bytes", len);
    um_report_text(&r, "new", "new content", um_name_of(now).text);
    um_report_print(args, &r);
    um_report_fini(&r);
}

/* Applies the difference in a file to old. */
static umbel_status apply(const umbel_filter *old, const char *path,
                          umbel_filter **out, size_t *len, umbel_error *err)
{
    um_content c;
    umbel_error inner;

    UM_TRY(um_content_read_within(&c, path, LIMIT, err));
    *len = c.len;
    umbel_status status = umbel_patch(old, c.bytes, c.len, out, &inner);
    um_content_fini(&c);
    if (status)
        um_set_error(err, status, "%s%s: %s", um_path_dots(path),
                     um_path_tail(path), inner.text);
    return status;
}

static int run(const um_args *args)
{
    const patch_args *a = args->values;
    umbel_filter *old = NULL, *now = NULL;
    umbel_error err;
    umbel_status status;
    size_t len;

    status = um_open_filter(&a->open, a->old, &old, &err);
    if (status)
        goto done;
    status = apply(old, a->difference, &now, &len, &err);
    if (status)
        goto done;
    status = um_save_filter(now, a->output, &err);
    if (status)
        goto done;
    print_result(args, now, len);
done:
    umbel_close(now);
    umbel_close(old);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_patch = {
    .name = "patch",
    .summary = "make the new filter from the old one and a difference",
    .section = UM_OTHER,
    .values_len = sizeof(patch_args),
    .operands = {{"OLD", UM_TEXT, offsetof(patch_args, old), UM_REPLACEABLE,
                  .min = 1},
                 {"DIFFERENCE", UM_TEXT, offsetof(patch_args, difference),
                  UM_INPUT, .min = 1}},
    .options = {{.rows = options},
                {.rows = um_open_options, .base = offsetof(patch_args, open)}},
    .run = run,
    .example = "words.umb words.diff -o new.umb",
    .details = "FILE becomes the filter that 'umbel diff' was given as NEW, "
               "byte for byte. FILE may be OLD.",
};
