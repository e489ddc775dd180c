/*
 * commands.h - the commands of umbel-clearinghouse. A new one is a row in
 * commands.c, or in a file of its own, and a line here.
 */
#ifndef UM_CLEARINGHOUSE_COMMANDS_H
#define UM_CLEARINGHOUSE_COMMANDS_H

#include "cli/framework/command.h"

#define UM_CLEARINGHOUSE_COMMANDS(X)                                           \
    X(status)                                                                  \
    X(doctor)                                                                  \
    X(why)                                                                     \
    X(report)                                                                  \
    X(revoke)                                                                  \
    X(import)                                                                  \
    X(backup)                                                                  \
    X(forget)                                                                  \
    X(welcome)                                                                 \
    X(peers)                                                                   \
    X(drop)                                                                    \
    X(mute)                                                                    \
    X(allow)                                                                   \
    X(shape)

#define UM_CLEARINGHOUSE_COMMAND_DECLARE(name)                                 \
    extern const um_command um_clearinghouse_cmd_##name;
UM_CLEARINGHOUSE_COMMANDS(UM_CLEARINGHOUSE_COMMAND_DECLARE)

/* Serves, or checks the settings: umbel-clearinghouse without a command. */
extern const um_command um_cmd_clearinghouse;

/* All commands; NULL ends the array. */
extern const um_command *const um_clearinghouse_commands[];

/* The option --config, which every command has. */
#define UM_SERVER_CONFIG(args)                                                 \
    {                                                                          \
        "config", 'c', "FILE",                                                 \
            "read settings from FILE; see umbel-clearinghouse.conf(5)",        \
            UM_TARGET(args, config), .role = UM_INPUT                          \
    }

#endif
