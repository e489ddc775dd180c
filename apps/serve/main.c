/*
 * main.c - umbel-serve: a query server for filters.
 */
#include "cli/framework/program.h"

int main(int argc, char **argv)
{
    (void)argc;
    return um_program_main(&um_cmd_serve, argv);
}
