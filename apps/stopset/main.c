/*
 * main.c - umbel-stopset: route tracing that stops where others have been.
 */
#include "cli/program.h"
#include "stopset/commands.h"

int main(int argc, char **argv)
{
    static const um_program_group group = {
        .name = "stopset",
        .summary =
            "stop sets for route tracing: made from recorded traces, and "
            "replayed on others",
        .rows = ss_commands};

    (void)argc;
    return um_program_group_main(&group, argv);
}
