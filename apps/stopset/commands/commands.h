/*
 * commands.h - the commands of umbel-stopset. A new one is a line here.
 */
#ifndef UM_STOPSET_COMMANDS_H
#define UM_STOPSET_COMMANDS_H

#include "cli/framework/command.h"

/* In the order of a first session. */
#define SS_COMMANDS(X)                                                         \
    X(learn)                                                                   \
    X(build)                                                                   \
    X(trace)                                                                   \
    X(replay)                                                                  \
    X(report)

#define SS_COMMAND_DECLARE(name) extern const um_command ss_cmd_##name;
SS_COMMANDS(SS_COMMAND_DECLARE)

/* All commands, up to NULL. */
extern const um_command *const ss_commands[];

#endif
