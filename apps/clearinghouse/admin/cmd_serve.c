/*
 * cmd_serve.c - umbel clearinghouse: serve, or check the settings.
 */
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/server/serve.h"

typedef struct serve_args {
    const char *config;
    bool check;
} serve_args;

static const um_option options[] = {
    UM_SERVER_CONFIG(serve_args),
    {"check", 0, NULL,
     "check the settings, the files they name, the data directory and its "
     "secret, then exit; ports are not tried",
     UM_TARGET(serve_args, check)},
    {0}};

static int run(const um_args *args)
{
    const serve_args *a = args->values;
    umbel_error err;
    umbel_status status =
        a->check ? um_serve_check(a->config, args->common.quiet, &err)
                 : um_serve(a->config, &err);

    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_clearinghouse = {
    .name = "clearinghouse",
    .summary = "count mail that others report, for Pyzor, dccifd and Razor2",
    .details =
        "Without a command it serves, in the foreground, until it is "
        "terminated; a line that begins with \"ready\" is printed once it "
        "listens. The commands ask the running server of the same "
        "configuration.",
    .example = "--config umbel-clearinghouse.conf --check",
    .manual = "8 System Administration",
    .values_len = sizeof(serve_args),
    .options = {{options, .base = 0}},
    .run = run,
};
