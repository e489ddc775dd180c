/*
 * folder.c - a directory that figures, tables and a page are written to.
 */
#include "draw/folder.h"

#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static umbel_status path_of(char out[PATH_MAX], const char *dir,
                            const char *name, umbel_error *err)
{
    if (snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE, "the name of the directory is too long");
}

umbel_status um_folder_write(const char *dir, const char *name,
                             const um_folder_page *p, umbel_error *err)
{
    char path[PATH_MAX];

    UM_TRY(path_of(path, dir, name, err));
    FILE *out = fopen(path, "w");
    if (!out)
        return um_fail_path(err, path);
    p->write(out, p->what);
    bool bad = ferror(out);
    if (fclose(out) != 0 || bad)
        return um_fail_path(err, path);
    return UMBEL_OK;
}

/* Refuses to replace an index.html that this program did not write. */
static umbel_status check_page(const char *dir, const char *generator,
                               umbel_error *err)
{
    char path[PATH_MAX], start[512], mark[64];

    UM_TRY(path_of(path, dir, "index.html", err));
    FILE *in = fopen(path, "r");
    if (!in)
        return errno == ENOENT ? UMBEL_OK : um_fail_path(err, path);
    size_t len = fread(start, 1, sizeof start - 1, in);
    start[len] = '\0';
    fclose(in);
    snprintf(mark, sizeof mark, "content=\"%s\"", generator);
    if (len && !strstr(start, mark))
        return um_fail(err, UMBEL_E_IO,
                       "there is an index.html of something else: name "
                       "another directory");
    return UMBEL_OK;
}

umbel_status um_folder_begin(const char *dir, const char *generator,
                             umbel_error *err)
{
    struct stat st;

    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return um_fail_path(err, dir);
    if (stat(dir, &st) != 0)
        return um_fail_path(err, dir);
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return um_fail_path(err, dir);
    }
    if (access(dir, W_OK | X_OK) != 0)
        return um_fail_path(err, dir);
    return check_page(dir, generator, err);
}
