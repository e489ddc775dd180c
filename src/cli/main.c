/*
 * main.c - runs umbel COMMAND ..., and prints help and lists for completion.
 *
 * A name that is not built in runs the program umbel-NAME.
 */
#include "base/error.h"
#include "cli/commands/internal.h"
#include "cli/framework/command.h"
#include "cli/framework/program.h"

#include <umbel/foreign.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Separate programs that 'umbel NAME' runs, like git.
 *
 * A program that was built or installed together with this one is in the same
 * directory. It is preferred, so that build/release/umbel never runs the
 * programs of another version.
 */

/* A program that comes with umbel: umbel-NAME. */
typedef struct program {
    const char *name;
    const char *summary; /* one line for --help */
} program;

static const program programs[] = {
    {"reproduce", "rerun figures and tables of the papers"},
    {"bench", "measure speed, compared with the limit set by memory"},
    {"clearinghouse",
     "count mail that others report, for Pyzor, dccifd and Razor2"},
    {"stopset", "stop sets for route tracing: learn, build, replay"},
    {"serve", "answer questions about filters: HTTP and a unix socket"},
    {"packets", "heavy flows and paths of packets, on captures and interfaces"},
};

static const program *program_row(size_t i)
{
    return i < UM_COUNT(programs) ? &programs[i] : NULL;
}

static const program *find_program(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(programs); i++)
        if (strcmp(programs[i].name, name) == 0)
            return &programs[i];
    return NULL;
}

/* Executes the program of that file name in the directory of this one. */
static void launch_beside(const char *file, char **argv)
{
    char path[PATH_MAX + NAME_MAX + 1];
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);

    if (len <= 0)
        return;
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return;
    snprintf(slash + 1, NAME_MAX + 1, "%s", file);
    execv(path, argv);
}

/*
 * Executes the program umbel-NAME: the one in the directory of this one,
 * otherwise the first in the PATH. argv begins with the name. Returns only if
 * it was not found or cannot be started; errno is set.
 */
static void launch(const char *name, char **argv)
{
    char file[NAME_MAX + 1];

    errno = ENOENT;
    if (strchr(name, '/') ||
        snprintf(file, sizeof file, "umbel-%s", name) >= (int)sizeof file)
        return;
    launch_beside(file, argv);
    execvp(file, argv);
}

/*
 * Help.
 */

/* Titles of the sections; everyday commands come first, without one. */
static const char *const sections[] = {
    [UM_EVERYDAY] = "",
    [UM_EXCHANGE] = "publish and receive\n",
    [UM_OTHER] = "other\n",
};

/* A table of names for 'umbel help TOPIC'. */
typedef struct topic {
    const char *name;
    const char *title;
    bool (*row)(size_t i, const char **name, const char **summary);
} topic;

static bool hash_at(size_t i, const char **name, const char **summary)
{
    return umbel_hash_at(i, name, summary, NULL);
}

static const topic topics[] = {
    {"kinds", "kinds of filters (--kind); details: docs/KINDS.md",
     umbel_kind_at},
    {"addressings", "which cells a key owns (--addressing)",
     umbel_addressing_at},
    {"hashes", "hash families (--hash)", hash_at},
    {"methods", "methods of retouching (--method)", umbel_retouch_method_at},
    {"formats",
     "formats of other programs (convert --from, --to); none has a checksum",
     umbel_foreign_at},
};

static void print_row(FILE *out, const char *name, const char *summary)
{
    int at = fprintf(out, "  %-10s ", name);

    um_print_words(out, summary, at, at);
}

/* Prints all commands, on one screen. */
static void print_help(FILE *out)
{
    fputs("usage: umbel COMMAND [options] | --version    details: umbel help "
          "COMMAND\n"
          "Turns a list of keys into a small file that answers \"is this key "
          "in the list?\".\n",
          out);
    for (size_t s = 0; s < UM_COUNT(sections); s++) {
        fputs(sections[s], out);
        for (size_t i = 0; um_command_row(i); i++)
            if (um_command_row(i)->section == s)
                print_row(out, um_command_row(i)->name,
                          um_command_row(i)->summary);
    }
    for (size_t i = 0; program_row(i); i++)
        print_row(out, program_row(i)->name, program_row(i)->summary);
    fputs("lists of names: umbel help kinds, addressings, hashes, methods, "
          "formats\n",
          out);
}

/* Prints the names of a topic. Returns false for other topics. */
static bool print_topic(FILE *out, const char *name)
{
    for (size_t i = 0; i < UM_COUNT(topics); i++) {
        const char *row, *summary;
        if (strcmp(topics[i].name, name) != 0)
            continue;
        fprintf(out, "%s\n\n", topics[i].title);
        for (size_t j = 0; topics[i].row(j, &row, &summary); j++) {
            int at = fprintf(out, "  %-14s ", row);
            um_print_words(out, summary, at, at);
        }
        return true;
    }
    return false;
}

/* Prints the names of commands or of a topic, one per line. Returns false if
 * there is no such table. */
static bool list_names(FILE *out, const char *name)
{
    const char *row, *summary;

    if (strcmp(name, "commands") == 0) {
        for (size_t i = 0; um_command_row(i); i++)
            fprintf(out, "%s\n", um_command_row(i)->name);
        for (size_t i = 0; program_row(i); i++)
            fprintf(out, "%s\n", program_row(i)->name);
        return true;
    }
    for (size_t i = 0; i < UM_COUNT(topics); i++)
        if (strcmp(topics[i].name, name) == 0) {
            for (size_t j = 0; topics[i].row(j, &row, &summary); j++)
                fprintf(out, "%s\n", row);
            return true;
        }
    return false;
}

/*
 * Running a command.
 */

static int refuse_command(const char *name)
{
    umbel_error err;
    um_suggestion near = {0};

    for (size_t i = 0; program_row(i); i++)
        um_suggest(&near, name, strlen(name), program_row(i)->name);
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

/* Returns true if the error means that the program does not exist: execvp also
 * fails with EACCES or ENOTDIR if a directory of the PATH cannot be
 * searched. */
static bool is_absent(int error)
{
    return error == ENOENT || error == EACCES || error == ENOTDIR;
}

static int run_program(const char *name, char **argv)
{
    launch(name, argv);
    if (is_absent(errno) && !find_program(name))
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

/* Runs 'umbel help', for a topic or a command. */
static int help(char **argv)
{
    char option[] = "--help";

    if (argv[0] && argv[1] && !argv[2] && find_program(argv[0]))
        return dispatch((char *[]){argv[0], argv[1], option, NULL});
    if (argv[0] && argv[1]) {
        fprintf(stderr,
                "umbel: 'umbel help' takes one name; \"%.100s\" is too "
                "many\n",
                argv[1]);
        return UM_EXIT_TROUBLE;
    }
    if (!argv[0])
        print_help(stdout);
    else if (!print_topic(stdout, argv[0]))
        return dispatch((char *[]){argv[0], option, NULL});
    return um_program_end(UM_EXIT_FINE);
}

/* Prints lists for completion and the tests of the manual: all options, or the
 * names in a table. */
static int list(char **argv)
{
    if (!argv[0])
        for (size_t i = 0; um_command_row(i); i++)
            um_list_options(um_command_row(i));
    else if (!list_names(stdout, argv[0]))
        return UM_EXIT_NO;
    return um_program_end(UM_EXIT_FINE);
}

int main(int argc, char **argv)
{
    um_program_begin();
    um_other_command = um_command_row;
    if (argc < 2) {
        print_help(stderr);
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
