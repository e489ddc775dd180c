/*
 * cmd_origin.c - umbel clearinghouse drop, mute and allow: whose reports count.
 */
#include "clearinghouse/admin/ask.h"
#include "clearinghouse/admin/commands.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

typedef struct origin_args {
    const char *config, *origin;
    bool notice;
} origin_args;

static const um_option options[] = {UM_SERVER_CONFIG(origin_args), {0}};

static const um_option drop_options[] = {
    UM_SERVER_CONFIG(origin_args),
    {"notice", 0, NULL,
     "tell the other servers, too; they follow if their drop_quorum says so",
     UM_TARGET(origin_args, notice)},
    {0}};

static umbel_status ask_change(const um_args *args, const char *verb,
                               umbel_error *err)
{
    const origin_args *a = args->values;
    char line[64];

    if (!a->origin)
        return um_fail(err, UMBEL_E_RANGE,
                       "name an origin, as umbel clearinghouse peers lists "
                       "them");
    snprintf(line, sizeof line, "%s%s%s", verb,
             args->common.json ? " --json" : "", a->notice ? " --notice" : "");
    return um_ask(a->config, line, (umbel_slice){a->origin, strlen(a->origin)},
                  args->common.quiet ? NULL : stdout, err);
}

static int change(const um_args *args, const char *verb)
{
    umbel_error err;

    return ask_change(args, verb, &err) == UMBEL_OK ? UM_EXIT_FINE
                                                    : um_trouble(args, &err);
}

static int run_drop(const um_args *args)
{
    return change(args, "drop");
}

static int run_mute(const um_args *args)
{
    return change(args, "mute");
}

static int run_allow(const um_args *args)
{
    return change(args, "allow");
}

#define ORIGIN                                                                 \
    {                                                                          \
        {                                                                      \
            "ORIGIN", UM_TEXT, offsetof(origin_args, origin),                  \
                .example = "north"                                             \
        }                                                                      \
    }

const um_command um_clearinghouse_cmd_drop = {
    .name = "clearinghouse drop",
    .summary = "remove all that an origin said, and refuse it from now on",
    .details = "ORIGIN is the name of a peer, a public key, or the first "
               "digits of one. Counts are then as if it had never reported. "
               "umbel clearinghouse allow takes it back; peers then send again "
               "what it said.",
    .example = "north",
    .manual = "8 System Administration",
    .values_len = sizeof(origin_args),
    .options = {{drop_options, .base = 0}},
    .operands = ORIGIN,
    .run = run_drop,
};

const um_command um_clearinghouse_cmd_mute = {
    .name = "clearinghouse mute",
    .summary = "leave an origin out of all answers, and keep what it says",
    .details = "ORIGIN is the name of a peer, a public key, or the first "
               "digits of one. Its reports are still taken and forwarded.",
    .example = "north",
    .manual = "8 System Administration",
    .values_len = sizeof(origin_args),
    .options = {{options, .base = 0}},
    .operands = ORIGIN,
    .run = run_mute,
};

const um_command um_clearinghouse_cmd_allow = {
    .name = "clearinghouse allow",
    .summary = "count an origin that was dropped or muted again",
    .details = "ORIGIN is the name of a peer, a public key, or the first "
               "digits of one. With the setting strict, only such origins and "
               "peers count.",
    .example = "north",
    .manual = "8 System Administration",
    .values_len = sizeof(origin_args),
    .options = {{options, .base = 0}},
    .operands = ORIGIN,
    .run = run_allow,
};
