/*
 * main.c - umbel-packets: flows and paths of real packets.
 */
#include "cli/framework/program.h"
#include "packets/commands.h"

#define PK_COMMAND_ROW(name) &pk_cmd_##name,
const um_command *const pk_commands[] = {PK_COMMANDS(PK_COMMAND_ROW) NULL};

int main(int argc, char **argv)
{
    static const um_program_group group = {
        .name = "packets",
        .summary = "heavy flows, paths and loops of packets, from captures and "
                   "interfaces",
        .rows = pk_commands};

    (void)argc;
    return um_program_group_main(&group, argv);
}
