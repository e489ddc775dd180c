/*
 * cmd_patch.c - umbel patch: the new filter, from the old one and a difference.
 */
#include "base/error.h"
#include "base/text.h"
#include "exchange/content.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

enum { LIMIT = 1 << 30 }; /* bytes of a difference that comes by a pipe */

static const um_option options[] = {
    {"output", 'o', "FILE", "write the new filter there; - is standard output"},
    {0}};

static void report(const um_args *args, const umbel_filter *now, size_t len)
{
    FILE *out = um_report_to(args);
    const char *path = um_value(args, "output");
    um_name_text name = um_name_of(now);
    umbel_info info = {0};

    if (um_has(args, "json")) {
        um_info_text(&info, "file", path);
        um_info_count(&info, "bytes", umbel_encoded_len(now));
        um_info_count(&info, "difference_bytes", len);
        um_info_text(&info, "new", name.text);
        um_print_json(out, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(out, path);
        fprintf(out, "%s bytes", um_grouped(umbel_encoded_len(now)).text);
        fprintf(out, " from %s, the new filter byte for byte\n",
                um_grouped(len).text);
    }
}

static umbel_status patch(const um_args *args, const umbel_filter *old,
                          umbel_error *err)
{
    const char *path = args->operands[1];
    um_content difference;
    umbel_filter *now;
    umbel_error inner;

    umbel_status status = um_content_read_within(&difference, path, LIMIT, err);
    if (status != UMBEL_OK)
        return status;
    size_t len = difference.len;
    status = umbel_patch(old, difference.bytes, len, &now, &inner);
    um_content_fini(&difference);
    if (status != UMBEL_OK)
        return um_fail(err, status, "%s%s: %s", um_path_dots(path),
                       um_path_tail(path), inner.text);
    status = um_save_filter(now, um_value(args, "output"), err);
    if (status == UMBEL_OK)
        report(args, now, len);
    umbel_close(now);
    return status;
}

static int run(const um_args *args)
{
    umbel_filter *old;
    umbel_error err;

    if (!um_has(args, "output") || args->noperands != 2)
        return um_misuse(args, "give the old filter, the difference, and where "
                               "to: -o FILE");
    if (um_stdin_among(args->operands, args->noperands) > 1)
        return um_misuse(args, "standard input can be read only once");
    if (um_refuse_overwrite(um_value(args, "output"), args->operands[1],
                            &err) != UMBEL_OK ||
        um_open_filter(args, args->operands[0], &old, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    umbel_status status = patch(args, old, &err);
    umbel_close(old);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_patch = {
    .name = "patch",
    .args = "OLD DIFFERENCE -o FILE",
    .summary = "make the new filter of the old one and a difference",
    .options = {options, um_filter_options},
    .run = run,
    .example = "words.umb words.diff -o new.umb",
    .details = "FILE becomes what 'umbel diff' was given as NEW, byte for "
               "byte. FILE may be OLD.",
};
