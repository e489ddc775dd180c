/*
 * main.c - umbel-stopset: route tracing with stop sets.
 */
#include "cli/framework/program.h"
#include "stopset/commands/commands.h"

int main(int argc, char **argv)
{
    static const um_program_group group = {
        .name = "stopset",
        .summary =
            "route tracing that stops where others have been, and the sets "
            "for it",
        .rows = ss_commands};

    (void)argc;
    return um_program_group_main(&group, argv);
}
