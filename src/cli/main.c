/*
 * main.c - umbel COMMAND ...
 *
 * A name that is not built in runs the program umbel-NAME: see launch.h.
 */
#include "base/error.h"
#include "cli/framework/command.h"
#include "cli/framework/program.h"
#include "cli/help.h"

#include <errno.h>
#include <string.h>

static int refuse_command(const char *name)
{
    umbel_error err;
    um_suggestion near = {0};

    for (size_t i = 0; um_program_row(i); i++)
        um_suggest(&near, name, strlen(name), um_program_row(i)->name);
    for (size_t i = 0; um_command_row(i); i++)
        um_suggest(&near, name, strlen(name), um_command_row(i)->name);
    um_set_error(&err, UMBEL_E_UNKNOWN,
                 "umbel: there is no command \"%s\"%s%s%s 'umbel --help' lists "
                 "them",
                 name, near.name ? ": did you mean " : "",
                 near.name ? near.name : "", near.name ? "?" : ";");
    fprintf(stderr, "%s\n", err.text);
    return UM_EXIT_TROUBLE;
}

/* A directory of the PATH that cannot be searched hides nothing of ours. */
static bool is_absent(int error)
{
    return error == ENOENT || error == EACCES || error == ENOTDIR;
}

static int run_program(const char *name, char **argv)
{
    um_launch(name, argv);
    if (is_absent(errno) && !um_program_find(name))
        return refuse_command(name);
    if (errno == ENOENT)
        fprintf(stderr,
                "umbel: umbel-%s is not installed: 'make programs' builds it "
                "beside umbel\n",
                name);
    else
        fprintf(stderr, "umbel: cannot run umbel-%s: %s\n", name,
                strerror(errno));
    return UM_EXIT_TROUBLE;
}

static int dispatch(char **argv)
{
    const um_command *command = um_command_find(argv[0]);

    if (!command)
        return run_program(argv[0], argv);
    if (argv[1] && um_print_man(stdout, command, argv[1]))
        return um_program_end(UM_EXIT_FINE);
    return um_program_end(um_run_command(command, argv + 1));
}

/* 'umbel help', of a topic or a command. */
static int help(char **argv)
{
    char option[] = "--help";

    if (argv[0] && argv[1] && !argv[2] && um_program_find(argv[0]))
        return dispatch((char *[]){argv[0], argv[1], option, NULL});
    if (argv[0] && argv[1]) {
        fprintf(stderr,
                "umbel: 'umbel help' takes one name; \"%.100s\" is too "
                "many\n",
                argv[1]);
        return UM_EXIT_TROUBLE;
    }
    if (!argv[0])
        um_print_help(stdout);
    else if (!um_print_topic(stdout, argv[0]))
        return dispatch((char *[]){argv[0], option, NULL});
    return um_program_end(UM_EXIT_FINE);
}

/* Lists for completion and the tests of the manual: of all options, or of the
 * names in a table. */
static int list(char **argv)
{
    if (!argv[0])
        for (size_t i = 0; um_command_row(i); i++)
            um_list_options(um_command_row(i));
    else if (!um_list_names(stdout, argv[0]))
        return UM_EXIT_NO;
    return um_program_end(UM_EXIT_FINE);
}

int main(int argc, char **argv)
{
    um_program_begin();
    um_other_command = um_command_row;
    if (argc < 2) {
        um_print_help(stderr);
        return UM_EXIT_TROUBLE;
    }
    if (strcmp(argv[1], "help") == 0)
        return help(argv + 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(argv + argc);
    if (strcmp(argv[1], "--version") == 0) {
        printf("umbel %s\n", umbel_version());
        return um_program_end(UM_EXIT_FINE);
    }
    if (strcmp(argv[1], "--list") == 0)
        return list(argv + 2);
    return dispatch(argv + 1);
}
