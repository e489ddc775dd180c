/*
 * merge.c - umbel merge: computes the union or intersection of filters.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/overfull.h"
#include "cli/framework/report.h"
#include "query/stop_set.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <string.h>

typedef struct merge_args {
    um_list filters;
    const char *output;
    um_choice op;
    bool as_counts;
    um_open_args open;
    um_strict_args strict;
} merge_args;

/* In the same order as ops. */
static const char *const op_names[] = {"or",  "and",   "add",
                                       "max", "minus", NULL};
static const umbel_merge_op ops[] = {UMBEL_OR, UMBEL_AND, UMBEL_ADD, UMBEL_MAX,
                                     UMBEL_MINUS};

static const um_option options[] = {
    {"output", 'o', "FILE", "write the result to FILE; - is standard output",
     UM_TARGET(merge_args, output), .role = UM_UMBEL_OUTPUT, .required = true},
    {"op", 0, "OP", "or (default), and; counts need one: add, max, minus ...",
     UM_TARGET(merge_args, op), .choices = op_names},
    {"as-counts", 0, NULL,
     "differences are plain counts: add them to any, or make one",
     UM_TARGET(merge_args, as_counts), .needs = "op"},
    {0}};

/* --- data ----------------------------------------------------------------- */

/* Merges the descriptions of stop sets. */
static umbel_status merge_descriptions(umbel_filter *into,
                                       const umbel_filter *f, umbel_error *err)
{
    umbel_slice kept = umbel_data(into), other = umbel_data(f);
    char text[UM_STOP_SET_TEXT];
    um_stop_set a, b;
    size_t used;

    if (!um_stop_set_parse(kept, &used, &a) || used != kept.len)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the description of the first stop set is damaged, or "
                       "of another version: build it again");
    if (!um_stop_set_parse(other, &used, &b) || used != other.len)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the description of the stop set is damaged, or of "
                       "another version: build it again");
    UM_TRY(um_stop_set_merge(&a, &b, umbel_added(into), err));
    return umbel_set_data(into, text, um_stop_set_format(&a, text), err);
}

/* Merges the data of a filter that was merged. Only that of stop sets is
 * understood here; of others, that of the first filter stays, with a warning if
 * something is left out. */
static umbel_status merge_data(const um_args *args, umbel_filter *into,
                               const umbel_filter *f, const char *path,
                               umbel_error *err)
{
    umbel_slice kept = umbel_data(into), lost = umbel_data(f);

    if (um_is_stop_set(kept) && um_is_stop_set(lost))
        return merge_descriptions(into, f, err);
    if (lost.len &&
        (lost.len != kept.len || memcmp(kept.data, lost.data, kept.len) != 0))
        um_warn(args, "the data in %s%s, %s, is left out", um_path_dots(path),
                um_path_tail(path), um_counted(lost.len, "byte", "bytes").text);
    return UMBEL_OK;
}

/* --- filters -------------------------------------------------------------- */

/* A merge, and the filter that it changes. */
typedef struct merging {
    const um_args *args;
    const merge_args *a;
    umbel_filter *into;
    uint64_t keys; /* of all filters so far, common ones counted repeatedly */
    um_report report;
} merging;

/* Returns the sum of the keys of all filters; 0 if one cannot be opened. */
static uint64_t sum_keys(const merge_args *a)
{
    uint64_t sum = 0;
    umbel_filter *f;

    for (size_t i = 0; i < a->filters.n; i++) {
        if (um_open_filter(&a->open, a->filters.item[i], &f, NULL))
            return 0;
        sum += umbel_added(f);
        umbel_close(f);
    }
    return sum;
}

/* Reports why path cannot be merged. If the sizes differ, names the capacity
 * that suffices for all. */
static umbel_status explain(const merge_args *a, const char *path,
                            const umbel_error *why, umbel_error *err)
{
    uint64_t keys = why->detail == UMBEL_D_CELLS ? sum_keys(a) : 0;
    char capacity[48] = "";

    if (why->status == UMBEL_E_UNSUPPORTED) /* by the kind of the first one */
        path = a->filters.item[0];
    if (keys)
        snprintf(capacity, sizeof capacity, ", with --capacity %" PRIu64, keys);
    return um_fail_detail(err, why->status, why->detail, "%s%s: %s%s",
                          um_path_dots(path), um_path_tail(path), why->text,
                          capacity);
}

static umbel_status merge_one(merging *m, const char *path, umbel_error *err)
{
    const merge_args *a = m->a;
    umbel_error why;
    umbel_filter *f;

    UM_TRY(um_open_filter(&a->open, path, &f, err));
    if (a->as_counts) {
        umbel_to_counting(m->into);
        umbel_to_counting(f);
    }
    bool alike = umbel_key_form_of(m->into) == umbel_key_form_of(f);
    umbel_status status = umbel_merge(m->into, f, ops[a->op.index], &why);
    if (!status)
        status = merge_data(m->args, m->into, f, path, &why);
    if (!status && !alike)
        um_report_note(&m->report, "How the keys of one were read is not "
                                   "recorded, so it is not in the result.");
    m->keys += umbel_added(f);
    umbel_close(f);
    return status ? explain(a, path, &why, err) : UMBEL_OK;
}

/* Requires --op for counts: both ways are common, and the wrong one silently
 * gives wrong counts. Checked last, so that a kind that cannot be merged is
 * refused for that reason. */
static umbel_status check_op(const merge_args *a, const umbel_filter *f,
                             umbel_error *err)
{
    if (a->op.name || a->filters.n == 1 || !umbel_count_limit(f))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "counts can be merged in several ways: give --op add for "
                   "what different servers counted, or --op max for copies of "
                   "the same counts");
}

/* Checks the error of the result. Filters that were each sized for their own
 * keys have to be built for all keys. */
static umbel_status check_error(merging *m, umbel_error *err)
{
    umbel_merge_op op = ops[m->a->op.index];
    bool united = op == UMBEL_OR || op == UMBEL_ADD || op == UMBEL_MAX;
    const um_new_filter written = {.filter = m->into,
                                   .strict = m->a->strict.strict,
                                   .keys =
                                       united ? m->keys : umbel_added(m->into),
                                   .build = "build each of the filters"};

    return um_check_overfull(m->args, &written, &m->report, err);
}

static umbel_status merge_all(merging *m, umbel_error *err)
{
    const merge_args *a = m->a;

    m->keys = umbel_added(m->into);
    for (size_t i = 1; i < a->filters.n; i++)
        UM_TRY(merge_one(m, a->filters.item[i], err));
    UM_TRY(check_op(a, m->into, err));
    if (a->as_counts)
        umbel_to_counting(m->into);
    UM_TRY(check_error(m, err));
    return um_save_filter(m->into, a->output, err);
}

static void note_difference(um_report *r, const umbel_filter *f)
{
    umbel_field from, to;

    if (umbel_info_get(f, "difference_from", &from, NULL) ||
        umbel_info_get(f, "difference_to", &to, NULL))
        return;
    um_report_note(
        r,
        "It is a difference: added to cells with checksum %016" PRIx64
        " it gives %016" PRIx64 ".",
        from.value.count, to.value.count);
}

static void fill_report(const merge_args *a, const umbel_filter *f,
                        um_report *r)
{
    um_report_file(r, "file", NULL, a->output);
    um_report_count(r, "merged", NULL, "filters", a->filters.n);
    um_report_count(r, "keys", "keys, about", NULL, umbel_added(f));
    um_report_count(r, "bytes", NULL, NULL, umbel_encoded_len(f));
    um_report_rate(r, "predicted_error", NULL, umbel_predict(f));
    um_report_hex(r, "payload_checksum", NULL, umbel_payload_checksum(f));
    um_note_counts(r, f);
    note_difference(r, f);
    um_note_retouched(r, f, "merging may bring back keys that were removed");
}

static int run(const um_args *args)
{
    merging m = {.args = args, .a = args->values};
    umbel_error err;
    umbel_status status;

    status = um_load_filter(&m.a->open, m.a->filters.item[0], &m.into, &err);
    if (status)
        goto done;
    status = merge_all(&m, &err);
    if (status)
        goto done;
    fill_report(m.a, m.into, &m.report);
    um_report_print(args, &m.report);
done:
    um_report_fini(&m.report);
    umbel_close(m.into);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_merge = {
    .name = "merge",
    .summary = "combine filters with the same parameters",
    .section = UM_EVERYDAY,
    .values_len = sizeof(merge_args),
    .operands = {{"FILE", UM_LIST, offsetof(merge_args, filters),
                  UM_REPLACEABLE, .min = 1}},
    .options = {{.rows = options},
                {.rows = um_open_options, .base = offsetof(merge_args, open)},
                {.rows = um_strict_options,
                 .base = offsetof(merge_args, strict)}},
    .run = run,
    .example = "words.umb other.umb -o both.umb",
    .details = "The output may be one of the filters: it is replaced when the "
               "result is complete.",
};
