/*
 * cmd_doctor.c - umbel clearinghouse doctor: does every front work?
 */
#include "clearinghouse/admin/ask.h"
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/admin/doctor.h"

#include "base/error.h"

#include <stdlib.h>

typedef struct doctor_args {
    const char *config;
} doctor_args;

static const um_option options[] = {UM_SERVER_CONFIG(doctor_args), {0}};

static int examine(const um_args *args, um_doctor *d, const um_config *c)
{
    const doctor_args *a = args->values;

    um_doctor_run(d, c, a->config);
    if (args->common.json)
        um_doctor_print_json(stdout, d);
    else if (!args->common.quiet)
        um_doctor_print_text(stdout, d);
    return um_doctor_is_well(d) ? UM_EXIT_FINE : UM_EXIT_TROUBLE;
}

static int run(const um_args *args)
{
    const doctor_args *a = args->values;
    um_doctor *d = malloc(sizeof *d);
    umbel_error err = {.text = "no memory"};
    um_config c;

    if (!d || um_load_config(&c, a->config, &err) != UMBEL_OK) {
        free(d);
        return um_trouble(args, &err);
    }
    int code = examine(args, d, &c);
    um_config_fini(&c);
    free(d);
    return code;
}

const um_command um_clearinghouse_cmd_doctor = {
    .name = "clearinghouse doctor",
    .summary = "try every front as a client does, and say what is broken",
    .details =
        "One line for each address of the configuration: works, limited or "
        "broken, why, and what to do. Nothing that it sends is counted. The "
        "exit status is 2 if something is broken.",
    .example = "--config /etc/umbel-clearinghouse.conf",
    .manual = "8 System Administration",
    .values_len = sizeof(doctor_args),
    .options = {{options, .base = 0}},
    .run = run,
};
