/*
 * commands.h - the commands of umbel-packets. A new one is a line here.
 */
#ifndef UM_PACKETS_COMMANDS_H
#define UM_PACKETS_COMMANDS_H

#include "cli/framework/command.h"

#define PK_COMMANDS(X) X(flows) X(witness) X(did) X(mark) X(trace_back)

#define PK_COMMAND_DECLARE(name) extern const um_command pk_cmd_##name;
PK_COMMANDS(PK_COMMAND_DECLARE)

/* All commands, up to NULL. */
extern const um_command *const pk_commands[];

#endif
