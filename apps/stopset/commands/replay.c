/*
 * replay.c - umbel stopset replay: tries sets on recorded traces.
 */
#include "stopset/replay/replay.h"
#include "base/error.h"
#include "cli/framework/report.h"
#include "stopset/commands/commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct replay_args {
    um_list sets, on;
    const char *table, *red, *first_hop;
    bool local, doubletree;
    um_choice key;
} replay_args;

static const um_option options[] = {
    {"on", 0, "TRACES", "replay these traces; may be given again",
     UM_TARGET(replay_args, on), .role = UM_INPUT, .required = true},
    {"table", 0, "TABLE",
     "the table of the sets: tells genuine stops from lucky ones",
     UM_TARGET(replay_args, table), .role = UM_INPUT},
    {"red", 0, "FILE", "use this red set beside each of the sets",
     UM_TARGET(replay_args, red), .role = UM_INPUT},
    {"doubletree", 0, NULL,
     "a global set of what the traces before found, without a file",
     UM_TARGET(replay_args, doubletree)},
    {"key", 0, "KEY", "of that set: hop, hop+prefix (default) ...",
     UM_TARGET(replay_args, key), .choices = ss_key_names,
     .needs = "doubletree"},
    {"local", 0, NULL, "a local set for each monitor, to stop backwards",
     UM_TARGET(replay_args, local), .needs = "first-hop"},
    {"first-hop", 0, "N",
     "begin at TTL N, then go backwards; auto: 5 % of the table's are nearer",
     UM_TARGET(replay_args, first_hop)},
    {0}};

static umbel_status parse_first_hop(const replay_args *a, const ss_table *table,
                                    uint8_t *out, umbel_error *err)
{
    uint64_t n;

    *out = 1;
    if (!a->first_hop)
        return UMBEL_OK;
    if (strcmp(a->first_hop, "auto") == 0) {
        if (!a->table)
            return um_fail(err, UMBEL_E_RANGE,
                           "--first-hop auto needs path lengths: give --table");
        *out = ss_table_first_hop(table, 0.05);
        return UMBEL_OK;
    }
    if (!um_parse_whole(a->first_hop, &n) || n < 1 || n > SS_MAX_TTL)
        return um_fail(err, UMBEL_E_RANGE,
                       "--first-hop is a number from 1 to %d, or auto",
                       SS_MAX_TTL);
    *out = (uint8_t)n;
    return UMBEL_OK;
}

static void report_rates(um_report *r, const ss_outcome *o)
{
    static const char *const names[][3] = {
        {"success", "success_low", "success_high"},
        {"short_rate", "short_rate_low", "short_rate_high"},
        {"collision_rate", "collision_rate_low", "collision_rate_high"}};
    const uint64_t hits[] = {o->genuine + o->lucky, o->shorter, o->collision};

    for (size_t i = 0; i < UM_COUNT(hits); i++) {
        umbel_interval rate = umbel_rate_interval(hits[i], o->traces);
        um_report_interval(r, names[i], NULL, &rate, UM_OF_RATE);
    }
}

/* Reports how traces ended that the table was not learned from. */
static void report_unlearned(um_report *r, const ss_result *x)
{
    static const struct {
        const char *name, *label;
    } names[] = {{"unlearned", "not learned from"},
                 {"unlearned_success", "of these, success"},
                 {"unlearned_short", "of these, short"}};
    const ss_outcome *o = &x->outcome;
    const uint64_t counts[] = {o->unlearned, o->unlearned_success,
                               o->unlearned_short};

    for (size_t i = 0; i < UM_COUNT(counts); i++)
        um_report_real(r, names[i].name, names[i].label, NULL,
                       x->learned_known ? (double)counts[i] : NAN);
    if (x->learned_known && !o->unlearned)
        um_report_note(r, "The table has every node of these traces, so they "
                          "do not show what unknown nodes do: replay traces "
                          "that it was not learned from.");
}

/* Reports which sets were tried: "red", "red+global", "none". */
static void report_set(um_report *r, const ss_set *red, const ss_set *global,
                       bool doubletree, const ss_set_info *growing)
{
    const ss_set *main_set = global ? global : red;
    const ss_set_info *info = main_set ? &main_set->info : growing;
    bool both = red && (global || doubletree);
    bool any_global = global || doubletree;

    um_report_text(r, "set", NULL,
                   both         ? "red+global"
                   : red        ? "red"
                   : any_global ? "global"
                                : "none");
    um_report_text(r, "key", NULL,
                   red || any_global ? ss_key_names[info->key] : "");
    um_report_text(r, "form", NULL, main_set ? ss_form_names[info->form] : "");
    um_report_count(r, "bytes", NULL, NULL,
                    (red ? red->bytes : 0) + (global ? global->bytes : 0));
}

static void report_outcome(um_report *r, const ss_result *x, bool rates)
{
    const ss_outcome *o = &x->outcome;

    um_report_count(r, "traces", NULL, NULL, o->traces);
    um_report_count(r, "genuine", NULL, NULL, o->genuine);
    um_report_real(r, "lucky", NULL, NULL,
                   x->members_known ? (double)o->lucky : NAN);
    um_report_count(r, "short", NULL, NULL, o->shorter);
    um_report_count(r, "collision", NULL, NULL, o->collision);
    um_report_count(r, "never", NULL, NULL, o->never);
    um_report_count(r, "probes", NULL, NULL, o->probes);
    um_report_count(r, "probes_full", NULL, NULL, o->probes_full);
    um_report_count(r, "destination_probes", NULL, NULL, o->destination_probes);
    um_report_rate(r, "nodes_missed", NULL, x->nodes_missed);
    um_report_rate(r, "links_missed", NULL, x->links_missed);
    if (!rates)
        return;
    report_rates(r, o);
    report_unlearned(r, x);
}

/* Tries a set. A red set on the command line is used alone; a global one is
 * combined with the set of --red. */
static umbel_status try_set(ss_trials *t, const ss_set *given,
                            const ss_set *beside, bool rates, um_report *r,
                            umbel_error *err)
{
    bool is_red = given && given->info.kind == SS_RED;
    const ss_set *red = is_red ? given : beside;
    const ss_set *global = given && !is_red ? given : NULL;
    ss_result result = {.nodes_missed = 0};

    if (is_red && beside)
        return um_fail(err, UMBEL_E_RANGE,
                       "two red sets: --red is used beside global sets");
    UM_TRY(ss_try(t, red, global, &result, err));
    report_set(r, red, global, t->doubletree, &t->growing);
    report_outcome(r, &result, rates);
    return UMBEL_OK;
}

static umbel_status try_file(ss_trials *t, const char *path,
                             const ss_set *beside, bool rates, um_report *r,
                             umbel_error *err)
{
    ss_set set = {0};

    if (path)
        UM_TRY(ss_set_open(&set, path, err));
    umbel_status status = try_set(t, path ? &set : NULL, beside, rates, r, err);
    ss_set_fini(&set);
    return path ? um_name_file(status, path, err) : status;
}

static umbel_status try_all(const um_args *args, ss_trials *t,
                            const ss_set *beside, umbel_error *err)
{
    const replay_args *a = args->values;
    size_t n = a->sets.n ? a->sets.n : 1;
    um_report *rows = calloc(n, sizeof *rows);
    umbel_status status = rows ? UMBEL_OK : um_no_memory(err, n * sizeof *rows);

    for (size_t i = 0; status == UMBEL_OK && i < n; i++)
        status = try_file(t, a->sets.n ? a->sets.item[i] : NULL, beside,
                          args->common.json || n == 1, &rows[i], err);
    if (status == UMBEL_OK && n == 1)
        um_report_print(args, rows);
    else if (status == UMBEL_OK)
        um_report_print_table(args, rows, n);
    for (size_t i = 0; rows && i < n; i++)
        um_report_fini(&rows[i]);
    free(rows);
    return status;
}

static umbel_status replay(const um_args *args, ss_trials *t, ss_table *table,
                           ss_set *red, umbel_error *err)
{
    const replay_args *a = args->values;
    ss_input_counts counts = {0};

    if (a->table)
        UM_TRY(ss_table_load(table, a->table, err));
    t->table = a->table ? table : NULL;
    UM_TRY(parse_first_hop(a, table, &t->policy.first, err));
    if (a->red)
        UM_TRY(ss_set_open(red, a->red, err));
    if (a->red && red->info.kind != SS_RED)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "%s is a global set, --red needs "
                       "a red one",
                       a->red);
    t->doubletree = a->doubletree;
    t->local = a->local;
    t->growing.kind = SS_GLOBAL;
    t->growing.key = a->key.name ? (ss_key)a->key.index : SS_HOP_PREFIX;
    t->growing.prefix = ss_key_prefix(t->growing.key, 0, 0);
    UM_TRY(ss_trials_read(t, a->on.item, a->on.n, &counts, err));
    return try_all(args, t, a->red ? red : NULL, err);
}

static int run(const um_args *args)
{
    ss_trials trials = {0};
    ss_table table = {0};
    ss_set red = {0};
    umbel_error err;
    umbel_status status = replay(args, &trials, &table, &red, &err);

    ss_trials_fini(&trials);
    ss_table_fini(&table);
    ss_set_fini(&red);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command ss_cmd_replay = {
    .name = "stopset replay",
    .summary =
        "show what sets would have spared and missed, on recorded traces",
    .values_len = sizeof(replay_args),
    .operands = {{"SETS", UM_LIST, offsetof(replay_args, sets), UM_INPUT,
                  .min = 0}},
    .options = {{.rows = options}},
    .run = run,
    .example = "red.umb --on day2.warts --table day1.table",
    .details = "Each set is a row of its own. Without sets: full traces, or "
               "what --red, --doubletree and --local make of them.",
};
