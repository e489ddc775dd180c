/*
 * stats.c - INFO section umbel_stats.
 */
#include "module/runtime/stats.h"

#include "base/error.h"
#include "module/runtime/memory.h"
#include "module/runtime/type.h"

um_module_stats um_stats;

/* The server puts "umbel_" before names of sections. */
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
        return; /* not asked for */
    for (size_t i = 0; i < UM_COUNT(rows); i++)
        um_api.InfoAddFieldULongLong(info, rows[i].name, rows[i].value);
}

void um_stats_register(um_ctx *ctx)
{
    um_api.RegisterInfoFunc(ctx, add_info);
}
