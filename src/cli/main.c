/*
 * main.c - umbel COMMAND ...
 *
 * A name that is no command of ours runs umbel-NAME from the PATH, as git does.
 */
#include "base/error.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_table(FILE *out, const char *title,
                        bool (*row)(size_t i, const char **name,
                                    const char **summary))
{
    const char *name, *summary;

    fprintf(out, "\n%s:\n", title);
    for (size_t i = 0; row(i, &name, &summary); i++) {
        int at = fprintf(out, "  %-14s ", name);
        um_print_words(out, summary, at, at);
    }
}

static bool command_at(size_t i, const char **name, const char **summary)
{
    const um_command *c = um_command_row(i);

    if (c) {
        *name = c->name;
        *summary = c->summary;
    }
    return c != NULL;
}

static bool hash_at(size_t i, const char **name, const char **summary)
{
    return umbel_hash_at(i, name, summary, NULL);
}

static void help(FILE *out)
{
    fputs("usage: umbel COMMAND ...\n"
          "Ship a set of keys as a small file with an error you can state.\n",
          out);
    print_table(out, "commands", command_at);
    print_table(out, "kinds (--kind)", umbel_kind_at);
    print_table(out, "addressings (--addressing)", umbel_addressing_at);
    print_table(out, "hashes (--hash)", hash_at);
    print_table(out, "methods of retouching (--method)",
                umbel_retouch_method_at);
    fputs("\n'umbel COMMAND --help' explains one; 'man umbel' says it all.\n",
          out);
}

/* Lines "COMMAND OPTION" for the shell's completion. */
static void list_options(void)
{
    for (size_t i = 0; um_command_row(i); i++) {
        const um_command *c = um_command_row(i);
        for (size_t g = 0; g <= UM_MAX_GROUPS; g++) {
            const um_option *o = g < UM_MAX_GROUPS && c->options[g]
                                     ? c->options[g]
                                     : um_common_options;
            for (const um_option *p = o; p->name; p++)
                printf("%s --%s%s\n", c->name, p->name, p->arg ? "=" : "");
            if (o == um_common_options)
                break;
        }
    }
}

/* A mapped file that somebody truncates under us ends here. */
static void on_bus_error(int number)
{
    static const char text[] =
        "umbel: a file was cut short while it was being read\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);

    (void)number, (void)ignored;
    _exit(UM_EXIT_TROUBLE);
}

/* Answers that never reached their reader are trouble, not success. */
static int finish(int code)
{
    if (code == UM_EXIT_TROUBLE)
        return code;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "umbel: cannot write: %s\n", strerror(errno));
    return UM_EXIT_TROUBLE;
}

/* A secret that is written over makes all its filters useless. */
static umbel_status spare_secret(const um_args *args, umbel_error *err)
{
    static const char *const outputs[] = {"output", "list", "lost", "curve"};
    const char *secret = um_value(args, "key-file");
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; secret && i < UM_COUNT(outputs); i++)
        if (status == UMBEL_OK && um_value(args, outputs[i]))
            status =
                um_refuse_overwrite(um_value(args, outputs[i]), secret, err);
    return status;
}

static int run(const um_command *command, char **argv)
{
    um_args args = {.command = command};
    umbel_error err;

    if (!um_args_init(&args, command, argv, &err))
        return um_misuse(&args, "%s", err.text);
    if (um_has(&args, "help")) {
        um_print_usage(stdout, command);
        um_args_fini(&args);
        return finish(UM_EXIT_FINE);
    }
    bool fine = spare_secret(&args, &err) == UMBEL_OK;
    int code = fine ? command->run(&args) : um_trouble(&args, &err);
    um_args_fini(&args);
    return finish(code);
}

static int no_command(const char *name)
{
    umbel_error err;
    um_suggestion near = {0};

    for (size_t i = 0; um_command_row(i); i++)
        um_suggest(&near, name, strlen(name), um_command_row(i)->name);
    um_set_error(
        &err, UMBEL_E_UNKNOWN,
        "umbel: there is no command \"%s\"%s%s%s 'umbel --help' lists them",
        name, near.name ? ": did you mean " : "", near.name ? near.name : "",
        near.name ? "?" : ";");
    fprintf(stderr, "%s\n", err.text);
    return UM_EXIT_TROUBLE;
}

static int run_other(const char *name, char **argv)
{
    char program[256];

    if (!strchr(name, '/') && snprintf(program, sizeof program, "umbel-%s",
                                       name) < (int)sizeof program)
        execvp(program, argv);
    return no_command(name);
}

/*
 * A file that we open must not become standard input or output because
 * somebody closed those. What takes their place cannot be read, or written.
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
        help(stderr);
        return UM_EXIT_TROUBLE;
    }
    if (argc > 2 && strcmp(argv[1], "help") == 0) {
        const um_command *asked = um_command_find(argv[2]);
        if (!asked)
            return no_command(argv[2]);
        um_print_usage(stdout, asked);
        return finish(UM_EXIT_FINE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help(stdout);
        return finish(UM_EXIT_FINE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("umbel %s\n", umbel_version());
        return finish(UM_EXIT_FINE);
    }
    if (strcmp(argv[1], "--list-options") == 0) {
        list_options();
        return finish(UM_EXIT_FINE);
    }
    const um_command *command = um_command_find(argv[1]);
    return command ? run(command, argv + 2) : run_other(argv[1], argv + 1);
}
