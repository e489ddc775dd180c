/*
 * cmd_merge.c - umbel merge: the union, or intersection, of filters.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

#include <string.h>

static const um_option options[] = {
    {"output", 'o', "FILE", "write the result there; - is standard output"},
    {"op", 0, "OP", "or (default), and; of counts also add, max, minus"},
    {0}};

static const struct {
    const char *name;
    umbel_merge_op op;
} ops[] = {{"or", UMBEL_OR},
           {"and", UMBEL_AND},
           {"add", UMBEL_ADD},
           {"max", UMBEL_MAX},
           {"minus", UMBEL_MINUS}};

static umbel_status parse_op(const um_args *args, umbel_merge_op *out,
                             umbel_error *err)
{
    const char *name = um_value(args, "op");

    for (size_t i = 0; i < UM_COUNT(ops); i++)
        if (strcmp(name ? name : "or", ops[i].name) == 0) {
            *out = ops[i].op;
            return UMBEL_OK;
        }
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "--op is or, and, add, max or minus, got \"%s\"", name);
}

/* The first filter's data stays; who loses other data should know. */
static void tell_data(const um_args *args, const umbel_filter *into,
                      const umbel_filter *f, const char *path)
{
    umbel_slice kept = umbel_data(into), lost = umbel_data(f);
    bool same = lost.len == 0 || (lost.len == kept.len &&
                                  memcmp(kept.data, lost.data, kept.len) == 0);

    if (same || um_has(args, "quiet"))
        return;
    um_print_path(stderr, path);
    fprintf(stderr, "its data, %s, is left out\n",
            um_counted(lost.len, "byte", "bytes").text);
}

static umbel_status merge_one(const um_args *args, umbel_filter *into,
                              const char *path, umbel_merge_op op,
                              umbel_error *err)
{
    umbel_error inner;
    umbel_filter *f;

    umbel_status status = um_open_filter(args, path, &f, err);
    if (status != UMBEL_OK)
        return status;
    status = umbel_merge(into, f, op, &inner);
    if (status == UMBEL_OK)
        tell_data(args, into, f, path);
    umbel_close(f);
    if (status != UMBEL_OK)
        return um_fail(err, status, "%s%s: %s", um_path_dots(path),
                       um_path_tail(path), inner.text);
    return UMBEL_OK;
}

static umbel_status merge_all(const um_args *args, umbel_filter **out,
                              umbel_error *err)
{
    umbel_merge_op op;
    umbel_filter *f;

    umbel_status status = parse_op(args, &op, err);
    if (status == UMBEL_OK)
        status = um_load_filter(args, args->operands[0], &f, err);
    if (status != UMBEL_OK)
        return status;
    for (size_t i = 1; status == UMBEL_OK && i < args->noperands; i++)
        status = merge_one(args, f, args->operands[i], op, err);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}

static void report(const um_args *args, const umbel_filter *f)
{
    FILE *out = um_report_to(args);
    const char *path = um_value(args, "output");
    umbel_info info = {0};

    if (um_has(args, "json")) {
        um_info_text(&info, "file", path);
        um_info_count(&info, "merged", args->noperands);
        um_info_count(&info, "keys", umbel_added(f));
        um_info_count(&info, "bytes", umbel_encoded_len(f));
        um_info_real(&info, "predicted_error", umbel_predict(f));
        um_info_hex(&info, "payload_checksum", umbel_payload_checksum(f));
        um_print_json(out, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(out, path);
        fprintf(out, "%s merged, about %s, predicted error %s\n",
                um_counted(args->noperands, "filter", "filters").text,
                um_counted(umbel_added(f), "key", "keys").text,
                um_percent(umbel_predict(f)).text);
        um_tell_overfull(out, f);
        um_tell_retouched(out, f,
                          "merging may bring back keys that were removed");
    }
}

static int run(const um_args *args)
{
    const char *path = um_value(args, "output");
    umbel_filter *f;
    umbel_error err;

    if (!path || args->noperands < 1)
        return um_misuse(args, "give filters, and where to: -o FILE");
    if (um_stdin_among(args->operands, args->noperands) > 1)
        return um_misuse(args, "standard input can be read only once");
    if (merge_all(args, &f, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    umbel_status status = um_save_filter(f, path, &err);
    if (status == UMBEL_OK)
        report(args, f);
    umbel_close(f);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_merge = {
    .name = "merge",
    .args = "FILE... -o FILE",
    .summary = "unite filters that were built alike",
    .options = {options, um_filter_options},
    .run = run,
    .example = "words.umb other.umb -o both.umb",
};
