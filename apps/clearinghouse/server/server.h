/*
 * server.h - the process: umbel-clearinghouse without a command.
 */
#ifndef UM_CLEARINGHOUSE_SERVER_H
#define UM_CLEARINGHOUSE_SERVER_H

#include "cli/framework/command.h"

/* Serves, or checks the settings. */
extern const um_command um_cmd_clearinghouse;

/* Prints "section.name", type and initial value of every setting: for
 * tools/docs-match. */
void um_server_list_settings(void);

#endif
