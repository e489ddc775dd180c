/*
 * help.c - 'umbel --help', 'umbel help TOPIC', and lists for completion.
 */
#include "cli/framework/help.h"

#include "base/error.h"
#include "cli/framework/launch.h"

#include <string.h>

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
