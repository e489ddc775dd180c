/*
 * table.h - the commands. A new one is a line here.
 */
#ifndef UM_CLI_TABLE_H
#define UM_CLI_TABLE_H

#include "cli/framework/command.h"

/* In the order of a first session. X(name) stands for the row um_cmd_name. */
#define UM_COMMANDS(X)                                                         \
    X(plan)                                                                    \
    X(build)                                                                   \
    X(add)                                                                     \
    X(check)                                                                   \
    X(info)                                                                    \
    X(verify)                                                                  \
    X(admit)                                                                   \
    X(retouch)                                                                 \
    X(merge)                                                                   \
    X(convert)                                                                 \
    X(diff)                                                                    \
    X(patch)                                                                   \
    X(publish)                                                                 \
    X(pull)                                                                    \
    X(sync)                                                                    \
    X(keygen)

#define UM_COMMAND_DECLARE(name) extern const um_command um_cmd_##name;
UM_COMMANDS(UM_COMMAND_DECLARE)

#endif
