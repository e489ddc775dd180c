/*
 * main.c - umbel COMMAND ...
 *
 * A command that is a program of its own (umbel-bench), or not ours at all, is
 * run as umbel-NAME: from the directory of this program, else from the PATH, as
 * git does.
 */
#include "base/error.h"
#include "cli/help.h"
#include "cli/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A mapped file that somebody truncates ends the program here. */
static void on_bus_error(int number)
{
    static const char text[] =
        "umbel: a file was cut short while it was being read\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);

    (void)number, (void)ignored;
    _exit(UM_EXIT_TROUBLE);
}

/* Output that never reached its reader is trouble, not success. */
static int finish(int code)
{
    if (code == UM_EXIT_TROUBLE)
        return code;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "umbel: cannot write: %s\n", strerror(errno));
    return UM_EXIT_TROUBLE;
}

static int run_command(const um_command *command, char **argv)
{
    um_args args;
    umbel_error err;
    int code = UM_EXIT_FINE;

    if (!um_args_init(&args, command, argv, &err))
        return um_misuse(&args, "%s", err.text);
    if (args.common.help)
        um_print_usage(stdout, command);
    else
        code = command->run(&args);
    um_args_fini(&args);
    return finish(code);
}

static int refuse_command(const char *name)
{
    umbel_error err;
    um_suggestion near = {0};

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

/* The directory of this program, with a slash at its end; "" if unknown. */
static void own_directory(char *out, size_t cap)
{
    ssize_t len = readlink("/proc/self/exe", out, cap - 1);

    out[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(out, '/');
    out[slash ? slash - out + 1 : 0] = '\0';
}

/* Becomes the program umbel-NAME; returns only if there is none. */
static void exec_program(const char *name, char **argv)
{
    char dir[PATH_MAX], program[PATH_MAX + 256];

    if (strchr(name, '/') || strlen(name) > 200)
        return;
    own_directory(dir, sizeof dir);
    snprintf(program, sizeof program, "%sumbel-%s", dir, name);
    if (*dir)
        execv(program, argv);
    execvp(program + strlen(dir), argv);
}

/* A row without run is a program of its own. */
static int run_program(const um_command *command, char **argv)
{
    exec_program(command->name, argv);
    fprintf(stderr,
            "umbel %s: the program umbel-%s is not installed: 'make programs' "
            "builds it, 'make install' installs it\n",
            command->name, command->name);
    return UM_EXIT_TROUBLE;
}

static int dispatch(char **argv)
{
    const um_command *command = um_command_find(argv[0]);

    if (command)
        return command->run ? run_command(command, argv + 1)
                            : run_program(command, argv);
    exec_program(argv[0], argv);
    return refuse_command(argv[0]);
}

/* 'umbel help', of a topic or a command. */
static int help(char **argv)
{
    char option[] = "--help";

    if (!argv[0]) {
        um_print_help(stdout);
        return finish(UM_EXIT_FINE);
    }
    if (um_print_topic(stdout, argv[0]))
        return finish(UM_EXIT_FINE);
    char *command[] = {argv[0], option, NULL};
    return dispatch(command);
}

/* Parts of manual pages: tools/manpages puts them together. */
static bool print_man(const char *part, const char *name)
{
    const um_command *command = name ? um_command_find(name) : NULL;
    bool head = strcmp(part, "man-head") == 0;

    if (!command || (!head && strcmp(part, "man-options") != 0))
        return false;
    (head ? um_print_man_head : um_print_man_options)(stdout, command);
    return true;
}

/* Lists for completion, the manual, and the tests of both. */
static int list(char **argv)
{
    if (!argv[0])
        um_list_options(stdout);
    else if (!um_list_names(stdout, argv[0]) && !print_man(argv[0], argv[1]))
        return UM_EXIT_NO;
    return finish(UM_EXIT_FINE);
}

/*
 * A file that we open must not become standard input or output because somebody
 * closed those. What takes their place cannot be read, or written.
 */
static void guard_standard_files(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            _exit(UM_EXIT_TROUBLE);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_bus_error};

    guard_standard_files();
    sigaction(SIGBUS, &action, NULL);
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
        return finish(UM_EXIT_FINE);
    }
    if (strcmp(argv[1], "--list") == 0)
        return list(argv + 2);
    return dispatch(argv + 1);
}
