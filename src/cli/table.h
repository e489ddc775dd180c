/*
 * table.h - the commands, for their table.
 */
#ifndef UM_CLI_TABLE_H
#define UM_CLI_TABLE_H

#include "cli/command.h"

extern const um_command um_cmd_plan;
extern const um_command um_cmd_build;
extern const um_command um_cmd_add;
extern const um_command um_cmd_check;
extern const um_command um_cmd_info;
extern const um_command um_cmd_verify;
extern const um_command um_cmd_merge;
extern const um_command um_cmd_convert;
extern const um_command um_cmd_keygen;

#endif
