/*
 * main.c - umbel COMMAND ...
 *
 * A name that is not built in runs the program umbel-NAME: see launch.h.
 */
#include "base/error.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/launch.h"
#include "cli/program.h"
#include "cli/suggest.h"

#include <errno.h>
#include <string.h>

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

static bool program_at(size_t i, const char **name, const char **summary)
{
    const um_program *p = um_program_row(i);

    if (p) {
        *name = p->name;
        *summary = p->summary;
    }
    return p != NULL;
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
    print_table(out, "programs", program_at);
    print_table(out, "kinds (--kind)", umbel_kind_at);
    print_table(out, "addressings (--addressing)", umbel_addressing_at);
    print_table(out, "hashes (--hash)", hash_at);
    print_table(out, "methods of retouching (--method)",
                umbel_retouch_method_at);
    fputs("\n'umbel COMMAND --help' explains one; 'man umbel' says it all.\n",
          out);
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
        return um_program_end(UM_EXIT_FINE);
    }
    bool fine = spare_secret(&args, &err) == UMBEL_OK;
    int code = fine ? command->run(&args) : um_trouble(&args, &err);
    um_args_fini(&args);
    return um_program_end(code);
}

static int no_command(const char *name)
{
    umbel_error err;
    um_suggestion near = {0};

    for (size_t i = 0; um_program_row(i); i++)
        um_suggest(&near, name, strlen(name), um_program_row(i)->name);
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

/* A directory of the PATH that cannot be searched hides nothing of ours. */
static bool is_absent(int error)
{
    return error == ENOENT || error == EACCES || error == ENOTDIR;
}

static int run_other(const char *name, char **argv)
{
    um_launch(name, argv);
    if (is_absent(errno) && !um_program_find(name))
        return no_command(name);
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

static int help_on(char *name)
{
    const um_command *command = um_command_find(name);
    char help_option[] = "--help";

    if (!command)
        return run_other(name, (char *[]){name, help_option, NULL});
    um_print_usage(stdout, command);
    return um_program_end(UM_EXIT_FINE);
}

int main(int argc, char **argv)
{
    um_program_begin();
    if (argc < 2) {
        help(stderr);
        return UM_EXIT_TROUBLE;
    }
    if (argc > 2 && strcmp(argv[1], "help") == 0)
        return help_on(argv[2]);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help(stdout);
        return um_program_end(UM_EXIT_FINE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("umbel %s\n", umbel_version());
        return um_program_end(UM_EXIT_FINE);
    }
    if (strcmp(argv[1], "--list-options") == 0) {
        for (size_t i = 0; um_command_row(i); i++)
            um_list_options(um_command_row(i));
        return um_program_end(UM_EXIT_FINE);
    }
    const um_command *command = um_command_find(argv[1]);
    return command ? run(command, argv + 2) : run_other(argv[1], argv + 1);
}
