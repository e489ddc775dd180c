/*
 * program.c - what every program does before and after its command.
 */
#include "cli/framework/program.h"

#include "base/cpu.h"
#include "cli/framework/command.h"
#include "cli/framework/progress.h"

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

/* Opens /dev/null for closed standard files, in the opposite mode, so that
 * using them fails. */
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

static void list_option(const char *command, const um_option *o)
{
    printf("%s --%s%s", command, o->name, o->arg ? "=" : "");
    for (size_t j = 0; o->choices && o->choices[j]; j++)
        printf(" %s", o->choices[j]);
    if (o->names)
        printf(" @%s", o->names);
    putchar('\n');
}

void um_list_options(const um_command *command)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    for (size_t i = 0; (o = um_option_at(command, i, &base, &modes)); i++)
        list_option(command->name, o);
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
        code =
            um_cpu_check(&err) ? um_trouble(&args, &err) : command->run(&args);
        um_progress_end();
    }
    um_args_fini(&args);
    return code;
}

/* Answers the requests of completion and tools/manpages, which every program
 * supports. */
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

/* --- programs with several commands --------------------------------------- */

/* Returns the part of a row's name after that of the program. */
static const char *own_name(const um_program_group *g, const um_command *c)
{
    return c->name + strlen(g->name) + 1;
}

static void print_group_help(FILE *out, const um_program_group *g)
{
    if (g->plain) {
        um_print_usage(out, g->plain);
        fprintf(out, "\ncommands: umbel %s COMMAND --help\n", g->name);
    } else {
        fprintf(out,
                "usage: umbel %s COMMAND [options] | --version\n%s\n"
                "details: umbel help %s COMMAND\n\n",
                g->name, g->summary, g->name);
    }
    for (size_t i = 0; g->rows[i]; i++) {
        int at = fprintf(out, "  %-10s ", own_name(g, g->rows[i]));
        um_print_words(out, g->rows[i]->summary, at, at);
    }
}

static bool has_option(const um_command *c, const char *name)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    for (size_t i = 0; (o = um_option_at(c, i, &base, &modes)); i++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* Lists the options under the name of the program, each once, since completion
 * and the manual use that name. */
static void list_group_options(const um_program_group *g)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    if (g->plain)
        um_list_options(g->plain);
    for (size_t row = 0; g->rows[row]; row++)
        for (size_t i = 0; (o = um_option_at(g->rows[row], i, &base, &modes));
             i++) {
            size_t first = 0;
            while (!has_option(g->rows[first], o->name))
                first++;
            if (first == row && !(g->plain && has_option(g->plain, o->name)))
                list_option(g->name, o);
        }
}

static void list_group(const um_program_group *g)
{
    for (size_t i = 0; g->rows[i]; i++)
        puts(own_name(g, g->rows[i]));
}

static bool answer_group(const um_program_group *g, const char *word)
{
    if (strcmp(word, "--version") == 0)
        printf("umbel-%s %s\n", g->name, umbel_version());
    else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        print_group_help(stdout, g);
    else if (strcmp(word, "--list-options") == 0)
        list_group_options(g);
    else if (strcmp(word, "--list") == 0)
        list_group(g);
    else
        return um_print_group_man(stdout, g, word);
    return true;
}

static int run_in_group(const um_program_group *g, char **argv)
{
    um_suggestion near = {0};

    for (size_t i = 0; g->rows[i]; i++) {
        if (strcmp(own_name(g, g->rows[i]), argv[0]) == 0)
            return um_run_command(g->rows[i], argv + 1);
        um_suggest(&near, argv[0], strlen(argv[0]), own_name(g, g->rows[i]));
    }
    fprintf(stderr,
            "umbel %s: there is no command \"%.60s\"%s%s%s 'umbel help "
            "%s' lists them\n",
            g->name, argv[0], near.name ? ": did you mean " : "",
            near.name ? near.name : "", near.name ? "?" : ";", g->name);
    return UM_EXIT_TROUBLE;
}

static const um_option *find_option(const um_command *c, const char *word)
{
    const um_option *o;
    size_t base, len = strlen(word);
    unsigned modes;

    for (size_t i = 0; (o = um_option_at(c, i, &base, &modes)); i++)
        if (len == 2 ? word[1] == o->letter : strcmp(word + 2, o->name) == 0)
            return o;
    return NULL;
}

/* Moves the name of a command before the program's own options: --config FILE
 * status. */
static void move_command_first(const um_program_group *g, char **argv)
{
    size_t i = 0;

    while (argv[i] && argv[i][0] == '-' && argv[i][1]) {
        const um_option *o = find_option(g->plain, argv[i]);
        i += o && o->arg && argv[i + 1] ? 2 : 1;
    }
    char *command = argv[i];
    if (!command)
        return;
    memmove(argv + 1, argv, i * sizeof *argv);
    argv[0] = command;
}

static int run_group(const um_program_group *g, char **argv)
{
    if (g->plain)
        move_command_first(g, argv);
    if (g->plain && (!argv[0] || argv[0][0] == '-'))
        return um_run_command(g->plain, argv);
    if (argv[0])
        return run_in_group(g, argv);
    print_group_help(stderr, g);
    return UM_EXIT_TROUBLE;
}

int um_program_group_main(const um_program_group *group, char **argv)
{
    int code = UM_EXIT_FINE;

    um_program_begin();
    if (!argv[0] || !argv[1] || !answer_group(group, argv[1]))
        code = run_group(group, argv[0] ? argv + 1 : argv);
    return um_program_end(code);
}
