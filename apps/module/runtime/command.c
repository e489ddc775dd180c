/*
 * command.c - registers commands, and counts how often they run.
 */
#include "module/runtime/command.h"

#include "base/error.h"
#include "module/runtime/memory.h"
#include "module/runtime/type.h"

#include <stdio.h>
#include <string.h>

/* --- registering commands ------------------------------------------------- */

#define FIRST_KEY(what)                                                        \
    {                                                                          \
        .flags = (what), .begin_search = UM_BEGIN_INDEX, .begin.index.pos = 1, \
        .find_keys = UM_FIND_RANGE, .find.range = {                            \
            0,                                                                 \
            1,                                                                 \
            0                                                                  \
        }                                                                      \
    }

const um_key_spec um_keys_read[] = {FIRST_KEY(UM_SPEC_RO | UM_SPEC_ACCESS),
                                    {0}};
const um_key_spec um_keys_change[] = {
    FIRST_KEY(UM_SPEC_RW | UM_SPEC_ACCESS | UM_SPEC_UPDATE), {0}};
const um_key_spec um_keys_create[] = {FIRST_KEY(UM_SPEC_RW | UM_SPEC_INSERT),
                                      {0}};
const um_key_spec um_keys_merge[] = {
    FIRST_KEY(UM_SPEC_RW | UM_SPEC_ACCESS | UM_SPEC_UPDATE),
    {.flags = UM_SPEC_RO | UM_SPEC_ACCESS,
     .begin_search = UM_BEGIN_INDEX,
     .begin.index.pos = 2,
     .find_keys = UM_FIND_KEYNUM,
     .find.keynum = {0, 1, 1}},
    {0}};

static const um_docs_version docs_version = {
    1, sizeof(um_history), sizeof(um_key_spec), sizeof(um_arg)};

static bool describe(um_handle *command, const um_module_command *row)
{
    um_docs docs = {.version = &docs_version,
                    .summary = row->summary,
                    .complexity = row->complexity,
                    .since = "0.1.0",
                    .arity = row->arity,
                    .key_specs = row->keys,
                    .args = row->args};

    return um_api.SetCommandInfo(command, &docs) == UM_DONE;
}

/* Sets our own ACL category, and those that the server gives its own
 * commands. */
static void set_categories(um_handle *command, const um_module_command *row,
                           const char *category)
{
    char text[64];

    if (!um_api.AddACLCategory || !um_api.SetCommandACLCategories)
        return;
    snprintf(text, sizeof text, "%s %s %s", category,
             strstr(row->flags, "write") ? "write" : "read",
             strstr(row->flags, "fast") ? "fast" : "slow");
    um_api.SetCommandACLCategories(command, text);
}

static bool register_command(um_ctx *ctx, const um_module_command *row,
                             const char *category)
{
    um_handle *command;

    if (um_api.CreateCommand(ctx, row->name, row->run, row->flags, 1, 1, 1) !=
        UM_DONE) {
        um_api.Log(ctx, "warning",
                   "umbel: command %s cannot be registered: another module "
                   "has it",
                   row->name);
        return false;
    }
    command = um_api.GetCommand(ctx, row->name);
    if (!command || !describe(command, row)) {
        um_api.Log(ctx, "warning",
                   "umbel: the server refuses the description of %s",
                   row->name);
        return false;
    }
    set_categories(command, row, category);
    return true;
}

bool um_register_commands(um_ctx *ctx, const um_module_command *rows,
                          const char *category)
{
    if (um_api.AddACLCategory)
        um_api.AddACLCategory(ctx, category);
    for (; rows->name; rows++)
        if (!register_command(ctx, rows, category))
            return false;
    return true;
}

/* Reports up to n words from argv[first] on as keys. */
static void report_range(um_ctx *ctx, const um_key_spec *spec, int first,
                         long long n, int argc)
{
    for (int i = first; i < argc && i - first < n; i++)
        um_api.KeyAtPosWithFlags(ctx, i, (int)spec->flags);
}

bool um_report_keys(um_ctx *ctx, const um_key_spec *specs, um_str **argv,
                    int argc)
{
    if (!um_api.IsKeysPositionRequest(ctx))
        return false;
    for (; specs->flags; specs++) {
        int at = specs->begin.index.pos;
        long long n = 1;

        if (specs->find_keys == UM_FIND_KEYNUM &&
            (at >= argc || um_api.StringToLongLong(argv[at++], &n) != UM_DONE))
            continue;
        report_range(ctx, specs, at, n, argc);
    }
    return true;
}

/* --- INFO section umbel_stats -------------------------------------------- */

um_module_stats um_stats;

/* Adds the section to INFO; the server puts "umbel_" before its name. */
static void add_info(um_info_ctx *info, int for_crash)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"filters", um_body_count()},
                {"bytes", um_memory_used()},
                {"adds", um_stats.adds},
                {"queries", um_stats.queries},
                {"refused_loads", um_refused_loads}};

    (void)for_crash;
    if (um_api.InfoAddSection(info, "stats") != UM_DONE)
        return; /* not requested */
    for (size_t i = 0; i < UM_COUNT(rows); i++)
        um_api.InfoAddFieldULongLong(info, rows[i].name, rows[i].value);
}

void um_stats_register(um_ctx *ctx)
{
    um_api.RegisterInfoFunc(ctx, add_info);
}
