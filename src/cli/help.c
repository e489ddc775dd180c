/*
 * help.c - 'umbel --help', 'umbel help TOPIC', and lists for completion.
 */
#include "cli/help.h"

#include "base/error.h"
#include "cli/commands/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Programs of their own that 'umbel NAME' runs, as git does.
 *
 * A program that was built, or installed, together with this one lies in the
 * same directory. It comes first, so that build/release/umbel never runs the
 * programs of another version.
 */

static const um_program programs[] = {
    {"reproduce", "rerun figures and tables of the papers"},
    {"bench", "measure speed, compared with the limit set by memory"},
    {"clearinghouse",
     "count mail that others report, for Pyzor, dccifd and Razor2"},
    {"stopset", "stop sets for route tracing: learn, build, replay"},
};

const um_program *um_program_row(size_t i)
{
    return i < UM_COUNT(programs) ? &programs[i] : NULL;
}

const um_program *um_program_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(programs); i++)
        if (strcmp(programs[i].name, name) == 0)
            return &programs[i];
    return NULL;
}

/* Becomes the program of that file name in the directory of this one. */
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

void um_launch(const char *name, char **argv)
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
 * Look up commands.
 */

#define ROW(name) &um_cmd_##name,
static const um_command *const table[] = {UM_COMMANDS(ROW)};

const um_command *um_command_row(size_t i)
{
    return i < UM_COUNT(table) ? table[i] : NULL;
}

const um_command *um_command_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(table); i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

/* Everyday commands come first, without a title. */
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
};

static void print_row(FILE *out, const char *name, const char *summary)
{
    int at = fprintf(out, "  %-10s ", name);

    um_print_words(out, summary, at, at);
}

/* Fits on a terminal of 24 lines. */
void um_print_help(FILE *out)
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
    for (size_t i = 0; um_program_row(i); i++)
        print_row(out, um_program_row(i)->name, um_program_row(i)->summary);
    fputs("lists of names: umbel help kinds, addressings, hashes or methods\n",
          out);
}

bool um_print_topic(FILE *out, const char *name)
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

bool um_list_names(FILE *out, const char *name)
{
    const char *row, *summary;

    if (strcmp(name, "commands") == 0) {
        for (size_t i = 0; um_command_row(i); i++)
            fprintf(out, "%s\n", um_command_row(i)->name);
        for (size_t i = 0; um_program_row(i); i++)
            fprintf(out, "%s\n", um_program_row(i)->name);
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
