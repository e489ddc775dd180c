/*
 * launch.c - programs of their own that 'umbel NAME' runs, as git does.
 *
 * A program that was built, or installed, together with this one lies in the
 * same directory. It comes first, so that build/release/umbel never runs the
 * programs of another version.
 */
#include "cli/framework/launch.h"

#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
