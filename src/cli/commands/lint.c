/*
 * lint.c - umbel lint: what is wrong with filters, of umbel or of another
 * program.
 */
#include "lint/lint.h"
#include "base/error.h"
#include "base/text.h"
#include "build/build.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/report.h"
#include "filter/content.h"

#include <umbel/foreign.h>

#include <math.h>
#include <string.h>

typedef struct lint_args {
    um_list files, members;
    bool fix;
    const char *output;
    um_open_args open;
    um_key_args keys;
} lint_args;

static const um_option options[] = {
    {"members", 0, "LIST", "keys that must match; may be repeated",
     UM_TARGET(lint_args, members), .role = UM_INPUT},
    {"fix", 0, NULL, "build the filter again from --members, without findings",
     UM_TARGET(lint_args, fix), .needs = "members"},
    {"output", 'o', "FILE", "write the repaired filter to FILE",
     UM_TARGET(lint_args, output), .role = UM_OUTPUT, .needs = "fix"},
    {0}};

/* A file, and what was found in it. */
typedef struct checking {
    const um_args *args;
    const char *path;
    const char *format; /* of another program; NULL: umbel's */
    umbel_filter *f;
    unsigned alarms, notes;
} checking;

/* --- reading -------------------------------------------------------------- */

/* Imports a file of the first format whose rules it follows entirely. */
static bool import_any(const lint_args *a, checking *c)
{
    uint64_t limit = a->open.max_memory.n;
    const char *format;
    um_content content;
    bool found = false;

    if (um_content_read_within(&content, c->path,
                               limit ? (size_t)limit : UM_IMPORT_LIMIT, NULL))
        return false;
    for (size_t i = 0; !found && umbel_foreign_at(i, &format, NULL); i++)
        if (um_import(format, content.bytes, content.len, limit, &c->f, NULL) ==
            UMBEL_OK) {
            c->format = format;
            found = true;
        }
    um_content_fini(&content);
    return found;
}

static umbel_status open_file(const lint_args *a, checking *c, umbel_error *err)
{
    umbel_status status = um_open_filter(&a->open, c->path, &c->f, err);

    if (status == UMBEL_E_FORMAT && import_any(a, c))
        return UMBEL_OK;
    return status;
}

/* --- printing ------------------------------------------------------------- */

static void write_value(char *out, size_t cap, const um_lint_finding *f,
                        double x)
{
    switch (f->code) {
    case UM_LINT_DENIES_MEMBERS:
        snprintf(out, cap, "%s", um_grouped((uint64_t)x).text);
        return;
    case UM_LINT_WASTED_SPACE:
        snprintf(out, cap, "%.40s bytes", um_grouped((uint64_t)x).text);
        return;
    case UM_LINT_OVERFULL:
    case UM_LINT_ERROR:
    case UM_LINT_DEPENDENT_CELLS:
    case UM_LINT_WEAK_HASH:
    case UM_LINT_HOSTILE_SHAPE:
    case UM_LINT_NO_CHECKSUM:
        break;
    }
    snprintf(out, cap, "%s", um_rate(x).text);
}

static void print_text(const checking *c, const um_lint_finding *f)
{
    char promised[64], measured[64], values[160] = "";

    write_value(promised, sizeof promised, f, f->promised);
    write_value(measured, sizeof measured, f, f->measured);
    if (!isnan(f->promised) && !isnan(f->measured))
        snprintf(values, sizeof values, " (promised %s, measured %s)", promised,
                 measured);
    fprintf(um_report_stream(c->args), "%s%s: %s: %s%s: %s\n",
            um_path_dots(c->path), um_path_tail(c->path),
            um_severity_name(f->severity), um_lint_name(f->code), values,
            f->advice);
}

static void append_number(um_report *r, const char *name,
                          const um_lint_finding *f, double x)
{
    bool whole =
        f->code == UM_LINT_DENIES_MEMBERS || f->code == UM_LINT_WASTED_SPACE;

    if (whole && !isnan(x))
        um_report_count(r, name, NULL, NULL, (uint64_t)x);
    else
        um_report_rate(r, name, NULL, x);
}

static void print_json(const checking *c, const um_lint_finding *f)
{
    um_report r = {0};

    um_report_file(&r, "file", NULL, c->path);
    um_report_text(&r, "part", NULL, f->part ? f->part : "");
    um_report_text(&r, "finding", NULL, um_lint_name(f->code));
    um_report_text(&r, "severity", NULL, um_severity_name(f->severity));
    append_number(&r, "promised", f, f->promised);
    append_number(&r, "measured", f, f->measured);
    um_report_text(&r, "advice", NULL, f->advice);
    um_report_print(c->args, &r);
    um_report_fini(&r);
}

static void take(void *ctx, const um_lint_finding *f)
{
    checking *c = ctx;

    if (f->severity == UM_SEVERITY_NOTE)
        c->notes++;
    else
        c->alarms++;
    if (c->args->common.quiet)
        return;
    if (c->args->common.json)
        print_json(c, f);
    else
        print_text(c, f);
}

/* --- checking ------------------------------------------------------------- */

/* Checks c->f, of path. */
static umbel_status lint(checking *c, um_key_source *members,
                         const umbel_filter *f, umbel_error *err)
{
    um_lint_job job = {.filter = f,
                       .format = c->format,
                       .members = members->npaths ? members : NULL,
                       .take = take,
                       .ctx = c};

    UM_TRY(um_lint(&job, err));
    if (!c->alarms && !c->notes && !c->args->common.json &&
        !c->args->common.quiet)
        fprintf(um_report_stream(c->args), "%s%s: no finding\n",
                um_path_dots(c->path), um_path_tail(c->path));
    return UMBEL_OK;
}

/* Writes the repaired filter, and checks it in turn. */
static umbel_status repair(checking *c, um_key_source *members,
                           umbel_error *err)
{
    const lint_args *a = c->args->values;
    um_lint_job job = {.filter = c->f, .format = c->format, .members = members};
    umbel_filter *made;

    UM_TRY(um_lint_rebuild(&job, &made, err));
    umbel_status status = c->format
                              ? umbel_export(made, c->format, a->output, err)
                              : um_save_filter(made, a->output, err);
    if (!status) {
        c->path = a->output;
        c->alarms = c->notes = 0;
        status = lint(c, members, made, err);
    }
    umbel_close(made);
    return status;
}

/* Returns the exit code for a file. */
static int check_file(const um_args *args, const char *path)
{
    const lint_args *a = args->values;
    checking c = {.args = args, .path = path};
    um_key_source members;
    umbel_error err;

    umbel_status status = um_key_source_from_args(args, &a->keys, NULL,
                                                  a->members, &members, &err);
    if (!status)
        status = open_file(a, &c, &err);
    if (!status && a->members.n)
        status = um_obey_key_form(c.f, &members.format, &err);
    if (!status)
        status = lint(&c, &members, c.f, &err);
    if (!status && a->fix && c.alarms)
        status = repair(&c, &members, &err);
    umbel_close(c.f);
    if (status) {
        um_trouble(args, &err);
        return UM_EXIT_TROUBLE;
    }
    return c.alarms ? UM_EXIT_NO : UM_EXIT_FINE;
}

static int run(const um_args *args)
{
    const lint_args *a = args->values;
    int worst = UM_EXIT_FINE;

    if (a->fix && (!a->output || a->files.n != 1))
        return um_misuse(args, "--fix repairs one FILE, and writes it to -o "
                               "FILE");
    for (size_t i = 0; i < a->files.n; i++) {
        int code = check_file(args, a->files.item[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}

const um_command um_cmd_lint = {
    .name = "lint",
    .summary = "find what is wrong with filters of any format",
    .section = UM_EXCHANGE,
    .values_len = sizeof(lint_args),
    .operands = {{"FILE", UM_LIST, offsetof(lint_args, files), UM_REPLACEABLE,
                  .min = 1}},
    .options = {{.rows = options},
                {.rows = um_key_options, .base = offsetof(lint_args, keys)},
                {.rows = um_open_options, .base = offsetof(lint_args, open)}},
    .run = run,
    .example = "words.umb --members words",
    .details =
        "Files may be umbel's, or of any format that convert --from reads. "
        "Prints a line for each finding. The exit code is 0 if there is "
        "none, or only notes, 1 if there are warnings or errors, 2 if a file "
        "cannot be read. With --fix it is that of the repaired filter.",
};
