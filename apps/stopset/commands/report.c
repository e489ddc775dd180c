/*
 * report.c - umbel stopset report: prints what each form of a set saves and
 * misses.
 */
#include "cli/framework/report.h"
#include "base/error.h"
#include "draw/folder.h"
#include "stopset/commands/commands.h"
#include "stopset/replay/replay.h"

#include <stdlib.h>
#include <string.h>

typedef struct report_args {
    const char *table, *output;
    um_list on;
    um_choice set, key;
    um_whole prefix, prefix6, seed;
} report_args;

static const um_option options[] = {
    {"output", 'o', "DIR", "write CSV, SVG and index.html into DIR",
     UM_TARGET(report_args, output), .required = true},
    {"on", 0, "TRACES", "replay these traces; may be given again",
     UM_TARGET(report_args, on), .role = UM_INPUT, .required = true},
    {"set", 0, "SET", "red (penultimate nodes, default) or global (Doubletree)",
     UM_TARGET(report_args, set), .choices = ss_kind_names},
    {"key", 0, "KEY", "hop (default), hop+prefix or hop+destination",
     UM_TARGET(report_args, key), .choices = ss_key_names},
    {"prefix", 0, "BITS", "of IPv4 destinations, for hop+prefix (24)",
     UM_TARGET(report_args, prefix), .low = 1, .high = 32},
    {"prefix6", 0, "BITS", "of IPv6 destinations, for hop+prefix (48)",
     UM_TARGET(report_args, prefix6), .low = 1, .high = 128},
    {"seed", 0, "S", "seed of the hash functions (0)",
     UM_TARGET(report_args, seed)},
    {0}};

static umbel_status info_from_args(const report_args *a, ss_set_info *out,
                                   umbel_error *err)
{
    *out = (ss_set_info){.kind = (ss_kind)a->set.index,
                         .key = (ss_key)a->key.index};
    if (out->key != SS_HOP_PREFIX && (a->prefix.given || a->prefix6.given))
        return um_fail(err, UMBEL_E_RANGE,
                       "--prefix and --prefix6 are for --key hop+prefix");
    out->prefix =
        ss_key_prefix(out->key, (uint8_t)a->prefix.n, (uint8_t)a->prefix6.n);
    return UMBEL_OK;
}

static void fill_report(const report_args *a, const ss_tradeoff *x,
                        um_report *r)
{
    const ss_attempt *list = &x->attempt[0];

    um_report_file(r, "directory", NULL, a->output);
    um_report_text(r, "set", NULL, ss_kind_names[x->info.kind]);
    um_report_text(r, "key", NULL, ss_key_names[x->info.key]);
    um_report_count(r, "members", NULL, NULL, x->info.members);
    um_report_count(r, "traces", NULL, NULL, list->result.outcome.traces);
    um_report_count(r, "tried", NULL, "sets", x->n);
    um_report_count(r, "list_bytes", NULL, NULL, list->bytes);
}

/* Chooses the first hop: Doubletree probes forwards and backwards from a hop at
 * which few destinations are. */
static void choose_policy(ss_trials *t, const ss_set_info *info,
                          const ss_table *table)
{
    if (info->kind == SS_GLOBAL) {
        t->policy.first = ss_table_first_hop(table, 0.05);
        t->local = true;
    }
}

static umbel_status create_tradeoff(const report_args *a, ss_trials *trials,
                                    ss_table *table, ss_task *task,
                                    ss_tradeoff *x, umbel_error *err)
{
    ss_input_counts counts = {0};
    ss_set_info info;

    UM_TRY(info_from_args(a, &info, err));
    UM_TRY(um_folder_begin(a->output, SS_TRADEOFF_GENERATOR, err));
    UM_TRY(ss_table_load(table, a->table, err));
    UM_TRY(um_name_file(ss_task_init(task, table, &info, a->seed.n, err),
                        a->table, err));
    UM_TRY(ss_trials_read(trials, a->on.item, a->on.n, &counts, err));
    trials->table = table;
    choose_policy(trials, &info, table);
    UM_TRY(ss_tradeoff_run(x, task, trials, a->seed.n, err));
    return ss_tradeoff_publish(x, a->output, err);
}

static int run(const um_args *args)
{
    const report_args *a = args->values;
    ss_trials trials = {0};
    ss_table table = {0};
    ss_task task = {0};
    ss_tradeoff x;
    um_report report = {0};
    umbel_error err;
    umbel_status status = create_tradeoff(a, &trials, &table, &task, &x, &err);

    if (status == UMBEL_OK) {
        fill_report(a, &x, &report);
        um_report_print(args, &report);
    }
    um_report_fini(&report);
    ss_trials_fini(&trials);
    ss_task_fini(&task);
    ss_table_fini(&table);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command ss_cmd_report = {
    .name = "stopset report",
    .summary = "draw what every form and size of a set spares and misses",
    .values_len = sizeof(report_args),
    .operands = {{"TABLE", UM_TEXT, offsetof(report_args, table), UM_INPUT,
                  .min = 1}},
    .options = {{.rows = options}},
    .run = run,
    .example = "day1.table --on day2.warts -o tradeoff",
    .details = "Sets are made from TABLE, in sizes from 1 to 16 bits a member, "
               "and replayed on other traces.",
};
