/*
 * cmd_status.c - umbel clearinghouse status.
 */
#include "clearinghouse/admin/ask.h"
#include "clearinghouse/admin/commands.h"

typedef struct status_args {
    const char *config;
} status_args;

static const um_option options[] = {UM_SERVER_CONFIG(status_args), {0}};

static int run(const um_args *args)
{
    const status_args *a = args->values;
    umbel_error err;
    umbel_status status = um_ask(
        a->config, args->common.json ? "status --json" : "status",
        (umbel_slice){NULL, 0}, args->common.quiet ? NULL : stdout, &err);

    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_clearinghouse_cmd_status = {
    .name = "clearinghouse status",
    .summary = "ask the running server how it does",
    .example = "--json",
    .manual = "8 System Administration",
    .values_len = sizeof(status_args),
    .options = {{options, .base = 0}},
    .run = run,
};
