/*
 * stats.h - INFO section umbel_stats.
 */
#ifndef UM_MODULE_STATS_H
#define UM_MODULE_STATS_H

#include "module/runtime/api.h"

/* Keys that commands added and asked for, since the module was loaded. Changed
 * on the server's main thread only. */
typedef struct um_module_stats {
    uint64_t adds, queries;
} um_module_stats;

extern um_module_stats um_stats;

void um_stats_register(um_ctx *ctx);

#endif
