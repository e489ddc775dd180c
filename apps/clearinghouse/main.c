/*
 * main.c - umbel-clearinghouse.
 */
#include "clearinghouse/serve.h"
#include "cli/program.h"
#include "mail/worker.h"

#include <string.h>

typedef struct house_args {
    const char *action, *config;
    bool check;
} house_args;

/* Modes of the command. */
enum { SERVE, STATUS };

static const um_option options[] = {
    {"config", 'c', "FILE",
     "read settings from FILE; see "
     "umbel-clearinghouse.conf(5)",
     UM_TARGET(house_args, config), .role = UM_INPUT},
    {"check", 0, NULL,
     "check the settings, the files they name, the data directory and its "
     "secret, then exit; ports are not tried",
     UM_TARGET(house_args, check), .modes = UM_MODE(SERVE)},
    {0}};

static unsigned house_mode(const void *values)
{
    return ((const house_args *)values)->action ? UM_MODE(STATUS)
                                                : UM_MODE(SERVE);
}

static int run(const um_args *args)
{
    const house_args *a = args->values;
    umbel_error err;
    umbel_status status;

    if (a->action)
        status = um_serve_status(a->config, a->action, args->common.json, &err);
    else if (a->check)
        status = um_serve_check(a->config, &err);
    else
        status = um_serve(a->config, &err);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_clearinghouse = {
    .name = "clearinghouse",
    .summary = "count mail that others report, for Pyzor clients",
    .details =
        "Without status it serves, in the foreground, until it is terminated; "
        "a line that begins with \"ready\" is printed once it listens. With "
        "status it asks the server of the same configuration how it does.",
    .example = "--config umbel-clearinghouse.conf --check",
    .manual = "8 System Administration",
    .values_len = sizeof(house_args),
    .options = {{options, .base = 0}},
    .operands = {{"status", UM_TEXT, offsetof(house_args, action),
                  .example = "status"}},
    .modes = {{"without status", "--check"}, {"with status", "status"}},
    .mode = house_mode,
    .run = run,
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], UM_MAIL_WORKER_ARGUMENT) == 0)
        return um_mail_worker_main(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--list-settings") == 0) {
        um_serve_list_settings();
        return UM_EXIT_FINE;
    }
    return um_program_main(&um_cmd_clearinghouse, argv);
}
