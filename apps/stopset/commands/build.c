/*
 * build.c - umbel stopset build: builds a stop set from a table.
 */
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/framework/report.h"
#include "stopset/commands/commands.h"
#include "stopset/sets/build_set.h"

#include <stdlib.h>

typedef struct build_args {
    const char *table, *output;
    um_choice set, key, form;
    um_whole prefix, prefix6;
    um_whole bytes, bits, hashes, seed;
    um_share success, fpr;
    const char *method;
    um_share beta;
    bool compare, without_passed;
} build_args;

/* Modes of the command. */
enum { BUILD, COMPARE };

static const um_option options[] = {
    {"output", 'o', "FILE", "write the set to FILE",
     UM_TARGET(build_args, output), .role = UM_OUTPUT, .required = true,
     .modes = UM_MODE(BUILD)},
    {"set", 0, "SET", "red (penultimate nodes, default) or global (Doubletree)",
     UM_TARGET(build_args, set), .choices = ss_kind_names},
    {"key", 0, "KEY", "hop (default), hop+prefix or hop+destination",
     UM_TARGET(build_args, key), .choices = ss_key_names},
    {"form", 0, "FORM", "list (default), bloom, retouched, groups or exact",
     UM_TARGET(build_args, form), .choices = ss_form_names,
     .modes = UM_MODE(BUILD)},
    {"prefix", 0, "BITS", "of IPv4 destinations, for hop+prefix (24)",
     UM_TARGET(build_args, prefix), .low = 1, .high = 32},
    {"prefix6", 0, "BITS", "of IPv6 destinations, for hop+prefix (48)",
     UM_TARGET(build_args, prefix6), .low = 1, .high = 128},
    {"bytes", 0, "N", "the file has at most N bytes",
     UM_TARGET(build_args, bytes), .low = 1, .high = 1 << 30,
     .excludes = "bits success"},
    {"bits", 0, "N", "the filter has N bits", UM_TARGET(build_args, bits),
     .low = 64, .high = 8e9, .excludes = "success", .modes = UM_MODE(BUILD)},
    {"success", 0, "P",
     "the smallest file that stops that share of the traces where it should",
     UM_TARGET(build_args, success), .modes = UM_MODE(BUILD)},
    {"fpr", 0, "P",
     "of form exact: the share of unknown nodes that match, at most (0.001)",
     UM_TARGET(build_args, fpr), .modes = UM_MODE(BUILD)},
    {"hashes", 0, "K", "hash functions of bloom, retouched and groups (best)",
     UM_TARGET(build_args, hashes), .low = 1, .high = 64},
    {"seed", 0, "S", "seed of the hash functions (0)",
     UM_TARGET(build_args, seed)},
    {"method", 0, "METHOD", "of retouching (greedy)",
     UM_TARGET(build_args, method), .names = "methods"},
    {"beta", 0, "P", "remove that share of the false positives, heaviest first",
     UM_TARGET(build_args, beta)},
    {"without-passed", 0, NULL,
     "leave out nodes that more traces pass than end at",
     UM_TARGET(build_args, without_passed)},
    {"compare", 0, NULL,
     "build every form at equal bytes and show what it does",
     UM_TARGET(build_args, compare), .needs = "bytes"},
    {0}};

static unsigned build_mode(const void *values)
{
    return ((const build_args *)values)->compare ? UM_MODE(COMPARE)
                                                 : UM_MODE(BUILD);
}

static ss_set_info info_from_args(const build_args *a)
{
    ss_key key = (ss_key)a->key.index;

    return (ss_set_info){.kind = (ss_kind)a->set.index,
                         .key = key,
                         .prefix = ss_key_prefix(key, (uint8_t)a->prefix.n,
                                                 (uint8_t)a->prefix6.n),
                         .form = (ss_form)a->form.index,
                         .without_passed = a->without_passed};
}

static ss_build_params params_from_args(const build_args *a)
{
    return (ss_build_params){.bytes = a->bytes.n,
                             .bits = a->bits.n,
                             .fpr = a->fpr.x,
                             .hashes = (uint32_t)a->hashes.n,
                             .seed = a->seed.n,
                             .method = a->method,
                             .beta = a->beta.x};
}

/* Checks combinations of options that the table of options cannot express. */
static umbel_status check_args(const build_args *a, umbel_error *err)
{
    bool list = !a->compare && a->form.index == SS_LIST;
    bool retouched = a->compare || a->form.index == SS_RETOUCHED;
    bool static_form = !a->compare && a->form.index == SS_EXACT;

    if (list && (a->bytes.given || a->bits.given || a->success.given))
        return um_fail(err, UMBEL_E_RANGE,
                       "a list has the size of its members: leave out --bytes, "
                       "--bits and --success, or give a --form");
    if (a->hashes.given && (list || static_form))
        return um_fail(err, UMBEL_E_RANGE, "form %s has no --hashes",
                       ss_form_names[a->form.index]);
    if (a->fpr.given && !static_form)
        return um_fail(err, UMBEL_E_RANGE,
                       "--fpr is for --form exact: the error of other forms "
                       "follows from --bytes, --bits or --success");
    if (a->without_passed && a->set.index == SS_GLOBAL)
        return um_fail(err, UMBEL_E_RANGE,
                       "--without-passed is for --set red: a global set has "
                       "every node that was seen");
    if (list && a->seed.given)
        return um_fail(err, UMBEL_E_RANGE, "form list has no --seed");
    if (!retouched && (a->method || a->beta.given))
        return um_fail(err, UMBEL_E_RANGE,
                       "--method and --beta are for --form retouched");
    if (a->key.index != SS_HOP_PREFIX && (a->prefix.given || a->prefix6.given))
        return um_fail(err, UMBEL_E_RANGE,
                       "--prefix and --prefix6 are for --key hop+prefix");
    return UMBEL_OK;
}

static void report_set(um_report *r, const ss_task *t, ss_form form)
{
    um_report_text(r, "set", NULL, ss_kind_names[t->info.kind]);
    um_report_text(r, "key", NULL, ss_key_names[t->info.key]);
    um_report_text(r, "form", NULL, ss_form_names[form]);
}

static void report_made(um_report *r, const ss_task *t,
                        const ss_build_result *made)
{
    um_report_count(r, "bytes", NULL, NULL, made->bytes);
    um_report_count(r, "members", NULL, NULL, t->nmembers);
    um_report_count(r, "lost", "members lost", NULL, made->lost);
    um_report_count(r, "others", "other keys", NULL, t->nnever);
    um_report_count(r, "matched", "of these match", NULL, made->matched);
    um_report_real(r, "traces_lost", "traces lost", NULL, made->lost_weight);
    um_report_real(r, "traces_short", "traces short", NULL,
                   made->matched_weight);
    um_report_rate(r, "success", "success, at least", made->success);
    um_report_rate(r, "unknown_error", "error on unknown", made->unknown_error);
}

static umbel_status build_one(const um_args *args, const ss_task *t,
                              um_report *r, umbel_error *err)
{
    const build_args *a = args->values;
    ss_form form = t->info.form;
    ss_build_params p = params_from_args(a);
    ss_build_result made;
    char *bytes;
    size_t len;

    if (a->success.given)
        UM_TRY(ss_build_set_for(t, form, a->success.x, &p, &bytes, &len, &made,
                                err));
    else
        UM_TRY(ss_build_set(t, form, &p, &bytes, &len, &made, err));
    umbel_status status = um_save_bytes(bytes, len, a->output, err);
    free(bytes);
    UM_TRY(status);
    um_report_file(r, "file", NULL, a->output);
    report_set(r, t, form);
    report_made(r, t, &made);
    um_report_print(args, r);
    if (form == SS_EXACT && !(p.fpr > 0) && made.unknown_error > SS_DEFAULT_FPR)
        um_warn(args,
                "%.3g %% of the nodes that the table does not have match, and "
                "traces stop short there: allow more bytes, or give --fpr "
                "instead of a size",
                100 * made.unknown_error);
    return UMBEL_OK;
}

/* Compares all forms. A form that is impossible at that size has a note instead
 * of numbers. */
static umbel_status compare_forms(const um_args *args, const ss_task *t,
                                  umbel_error *err)
{
    ss_build_params p = params_from_args(args->values);
    um_report *rows = calloc(SS_FORMS, sizeof *rows);
    umbel_status status = UMBEL_OK;
    size_t n = 0;

    if (!rows)
        return um_no_memory(err, SS_FORMS * sizeof *rows);

    for (size_t form = 0; form < SS_FORMS && status == UMBEL_OK; form++) {
        char *bytes = NULL;
        size_t len;
        ss_build_result made;
        umbel_error why;
        status = ss_build_set(t, (ss_form)form, &p, &bytes, &len, &made, &why);
        if (status == UMBEL_OK) {
            report_set(&rows[n], t, (ss_form)form);
            report_made(&rows[n++], t, &made);
            free(bytes);
        } else if (status == UMBEL_E_RANGE) {
            um_report_note(&rows[0], "%s: %s.", ss_form_names[form], why.text);
            status = UMBEL_OK;
        } else {
            *err = why;
        }
    }
    if (status == UMBEL_OK)
        um_report_print_table(args, rows, n);
    for (size_t i = 0; i < n; i++)
        um_report_fini(&rows[i]);
    free(rows);
    return status;
}

static int run(const um_args *args)
{
    const build_args *a = args->values;
    ss_set_info info = info_from_args(a);
    um_report report = {0};
    ss_table table = {0};
    ss_task task = {0};
    umbel_error err;
    umbel_status status = check_args(a, &err);

    if (status)
        goto done;
    status = ss_table_load(&table, a->table, &err);
    if (status)
        goto done;
    status = um_name_file(ss_task_init(&task, &table, &info, a->seed.n, &err),
                          a->table, &err);
    if (status)
        goto done;
    status = a->compare ? compare_forms(args, &task, &err)
                        : build_one(args, &task, &report, &err);
done:
    um_report_fini(&report);
    ss_task_fini(&task);
    ss_table_fini(&table);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command ss_cmd_build = {
    .name = "stopset build",
    .summary = "make a stop set from a table",
    .values_len = sizeof(build_args),
    .operands = {{"TABLE", UM_TEXT, offsetof(build_args, table), UM_INPUT,
                  .min = 1}},
    .modes = {[BUILD] = {"without --compare", ""},
              [COMPARE] = {"with --compare", "--compare --bytes 4096"}},
    .mode = build_mode,
    .options = {{.rows = options}},
    .run = run,
    .example = "day1.table --key hop+prefix --form exact -o red.umb",
    .details =
        "Forms but list are filters of umbel, and can be merged (bloom), "
        "published, pulled and admitted. 'umbel info --data' prints what "
        "they are.",
};
