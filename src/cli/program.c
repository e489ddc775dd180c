/*
 * program.c - what every program of the shell does around its command.
 */
#include "cli/program.h"

#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void on_bus_error(int number)
{
    static const char text[] =
        "umbel: a file was cut short while it was being read\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);

    (void)number, (void)ignored;
    _exit(UM_EXIT_TROUBLE);
}

/* What takes the place of a closed file cannot be read, or written. */
static void guard_standard_files(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            _exit(UM_EXIT_TROUBLE);
}

void um_program_begin(void)
{
    struct sigaction action = {.sa_handler = on_bus_error};

    guard_standard_files();
    sigaction(SIGBUS, &action, NULL);
}

int um_program_end(int code)
{
    if (code == UM_EXIT_TROUBLE)
        return code;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "umbel: cannot write: %s\n", strerror(errno));
    return UM_EXIT_TROUBLE;
}

void um_list_options(const um_command *command)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    for (size_t i = 0; (o = um_option_at(command, i, &base, &modes)); i++) {
        printf("%s --%s%s", command->name, o->name, o->arg ? "=" : "");
        for (size_t j = 0; o->choices && o->choices[j]; j++)
            printf(" %s", o->choices[j]);
        if (o->names)
            printf(" @%s", o->names);
        putchar('\n');
    }
}

int um_run_command(const um_command *command, char **argv)
{
    um_args args;
    umbel_error err;
    int code = UM_EXIT_FINE;

    if (!um_args_init(&args, command, argv, &err))
        return um_misuse(&args, "%s", err.text);
    if (args.common.help) {
        um_print_usage(stdout, command);
    } else {
        um_progress_begin(&args);
        code = command->run(&args);
        um_progress_end();
    }
    um_args_fini(&args);
    return code;
}

/* What completion and tools/manpages ask of every program. */
static bool answer_list(const um_command *command, const char *word)
{
    if (strcmp(word, "--version") == 0)
        printf("umbel-%s %s\n", command->name, umbel_version());
    else if (strcmp(word, "--list-options") == 0)
        um_list_options(command);
    else
        return um_print_man(stdout, command, word);
    return true;
}

int um_program_main(const um_command *command, char **argv)
{
    int code = UM_EXIT_FINE;

    um_program_begin();
    if (!argv[0] || !argv[1] || !answer_list(command, argv[1]))
        code = um_run_command(command, argv + (argv[0] != NULL));
    return um_program_end(code);
}
