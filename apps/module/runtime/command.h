/*
 * command.h - rows that describe commands, and counts of how often they run.
 */
#ifndef UM_MODULE_COMMAND_H
#define UM_MODULE_COMMAND_H

#include "module/runtime/api.h"

#include <umbel/base.h>

/* --- the row of a command, and what every command needs ------------------ */

/*
 * A family is a list of rows that ends with a row of zeros; load.c has the
 * table of families. A row has everything that the server needs to know: flags,
 * the positions of keys, and the documentation.
 */

typedef struct um_module_command {
    const char *name; /* "umb.add" */
    um_command_run *run;
    int arity;               /* words with the name; -3: at least three */
    const char *flags;       /* "write deny-oom fast" */
    const um_key_spec *keys; /* um_keys_* below, or a list of its own */
    const char *summary;
    const char *complexity;
    const um_arg *args;
} um_module_command;

extern const um_module_command um_module_umb[];

/* Keys of commands with one key, which they read, change or create. */
extern const um_key_spec um_keys_read[], um_keys_change[], um_keys_create[];
/* dest numkeys key ...: dest is written, the other keys are read. */
extern const um_key_spec um_keys_merge[];

/*
 * Returns true if the call was not meant to run, but to report its keys.
 * Clusters of Redis 7.0 use only the first key spec; a command with more has
 * the flag getkeys-api, and calls this first.
 */
bool um_report_keys(um_ctx *ctx, const um_key_spec *specs, um_str **argv,
                    int argc);

/* The first argument, for um_module_command.args. */
#define UM_ARG_THE_KEY                                                         \
    {                                                                          \
        .name = "key", .type = UM_ARG_KEY                                      \
    }

/* Registers a family under an ACL category. On failure logs the name of the
 * command and returns false. */
bool um_register_commands(um_ctx *ctx, const um_module_command *rows,
                          const char *category);

/* --- INFO section umbel_stats -------------------------------------------- */

/* Keys that commands added and looked up since the module was loaded. Changed
 * only on the server's main thread. */
typedef struct um_module_stats {
    uint64_t adds, queries;
} um_module_stats;

extern um_module_stats um_stats;

void um_stats_register(um_ctx *ctx);

#endif
