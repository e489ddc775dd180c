/*
 * learn.c - umbel stopset learn: builds a table from traces.
 */
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/framework/report.h"
#include "stopset/commands/commands.h"
#include "stopset/sets/node_table.h"

#include <stdlib.h>

#define SS_COMMAND_ROW(name) &ss_cmd_##name,
const um_command *const ss_commands[] = {SS_COMMANDS(SS_COMMAND_ROW) NULL};

typedef struct learn_args {
    um_list files;
    const char *output;
    um_whole prefix, prefix6;
    bool destinations;
} learn_args;

static const um_option options[] = {
    {"output", 'o', "TABLE", "write the table to TABLE; - is standard output",
     UM_TARGET(learn_args, output), .role = UM_OUTPUT, .required = true},
    {"prefix", 0, "BITS", "group IPv4 destinations by that many bits (24)",
     UM_TARGET(learn_args, prefix), .low = 1, .high = 32},
    {"prefix6", 0, "BITS", "group IPv6 destinations by that many bits (48)",
     UM_TARGET(learn_args, prefix6), .low = 1, .high = 128},
    {"destinations", 0, NULL,
     "keep every destination, for build --key hop+destination",
     UM_TARGET(learn_args, destinations), .excludes = "prefix prefix6"},
    {0}};

static void begin_table(const learn_args *a, ss_table *t)
{
    ss_prefix_len p = {SS_PREFIX4, SS_PREFIX6};

    if (a->prefix.given)
        p.v4 = (uint8_t)a->prefix.n;
    if (a->prefix6.given)
        p.v6 = (uint8_t)a->prefix6.n;
    if (a->destinations)
        p = (ss_prefix_len){32, 128};
    ss_table_init(t, p);
    t->prefix_fixed = a->prefix.given || a->prefix6.given || a->destinations;
}

static umbel_status save_table(const ss_table *t, const char *path,
                               umbel_error *err)
{
    um_draft draft;
    FILE *out = um_draft_open(&draft, err);

    if (!out)
        return UMBEL_E_NOMEM;
    if (!ss_table_write(t, out)) {
        fclose(out);
        free(draft.bytes);
        return um_fail(err, UMBEL_E_NOMEM, "no memory to sort the table");
    }
    return um_draft_save(&draft, path, err);
}

static void fill_report(const learn_args *a, const ss_table *t,
                        const ss_input_counts *c, um_report *r)
{
    um_report_file(r, "file", NULL, a->output);
    um_report_count(r, "traces", NULL, NULL, t->traces);
    um_report_count(r, "reached", NULL, NULL, t->reached);
    um_report_count(r, "monitors", NULL, NULL, t->monitors.n);
    um_report_count(r, "hops", NULL, NULL, t->hops.n);
    um_report_count(r, "penultimate", "penultimate hops", NULL,
                    ss_table_red(t));
    um_report_count(r, "pairs", NULL, NULL, t->pairs.n);
    um_report_count(r, "tables", NULL, NULL, c->tables);
    um_report_count(r, "skipped", "other objects", NULL, c->others);
    um_report_count(r, "too_long", "traces too long", NULL, c->too_long);
    um_report_count(r, "unusable", "traces unusable", NULL, c->bad);
    if (c->too_long)
        um_report_note(r, "%s with more than %d replies: left out.",
                       um_counted(c->too_long, "trace", "traces").text,
                       SS_MAX_REPLIES);
    if (c->bad)
        um_report_note(r, "%s without an IPv4 or IPv6 destination: left out.",
                       um_counted(c->bad, "trace", "traces").text);
}

static int run(const um_args *args)
{
    const learn_args *a = args->values;
    ss_input_counts counts = {0};
    um_report report = {0};
    ss_table table;
    umbel_error err;
    umbel_status status;

    begin_table(a, &table);
    status = ss_table_read(&table, a->files.item, a->files.n, &counts, &err);
    if (status)
        goto done;
    status = save_table(&table, a->output, &err);
    if (status)
        goto done;
    fill_report(a, &table, &counts, &report);
    um_report_print(args, &report);
done:
    um_report_fini(&report);
    ss_table_fini(&table);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command ss_cmd_learn = {
    .name = "stopset learn",
    .summary = "read traces, and write a table of what they show",
    .values_len = sizeof(learn_args),
    .operands = {{"TRACES", UM_LIST, offsetof(learn_args, files),
                  UM_REPLACEABLE, .min = 1}},
    .options = {{.rows = options}},
    .run = run,
    .example = "day1.warts day1.json.gz -o day1.table",
    .details = "TRACES are warts or JSON of scamper, JSON of RIPE Atlas, and "
               "tables, which are joined; each is recognised by its content "
               "and may be compressed with gzip.",
};
