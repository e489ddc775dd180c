/*
 * backup_command.c - umbel clearinghouse backup: copies the data directory,
 * whether the server runs or not, to a directory that a server can be started
 * with.
 *
 * The copy is made as DIR.new, and renamed when it is complete and synced.
 */
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/admin/control.h"
#include "clearinghouse/runtime/file_text.h"
#include "clearinghouse/runtime/format.h"

#include "base/buffer.h"
#include "base/error.h"
#include "cli/framework/report.h"
#include "store/disk.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names in the copy. */
#define SECRET "secret"
#define ORIGIN "origin.key"
#define PEERS "peers"

typedef struct backup_args {
    const char *config, *dir;
} backup_args;

static const um_option options[] = {UM_SERVER_CONFIG(backup_args), {0}};

static umbel_status join_path(char out[PATH_MAX], const char *dir,
                              const char *name, umbel_error *err)
{
    if (snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE, "%.200s...: the path is too long", dir);
}

/* --- removing an incomplete copy ------------------------------------------ */

/* Removes the files of a directory, and the directory. */
static void remove_dir(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(path);
}

static void remove_copy(const char *path)
{
    char peers[PATH_MAX];

    if (join_path(peers, path, PEERS, NULL) == UMBEL_OK)
        remove_dir(peers);
    remove_dir(path);
}

/* --- what is copied ------------------------------------------------------- */

static umbel_status open_existing(const char *path, um_disk **out,
                                  umbel_error *err)
{
    if (access(path, R_OK) != 0)
        return um_fail_path(err, path);
    return um_disk_open(path, out, err);
}

static umbel_status copy_store(const char *data, const char *to,
                               um_backup *result, umbel_error *err)
{
    um_disk *from = NULL, *copy = NULL;
    umbel_status status = open_existing(data, &from, err);

    if (status == UMBEL_OK)
        status = um_disk_open(to, &copy, err);
    if (status == UMBEL_OK)
        status = um_store_backup(from, data, copy, result, err);
    um_disk_close(from);
    um_disk_close(copy);
    return status;
}

typedef struct name_list {
    um_texts names;
    bool failed;
} name_list;

static void add_name(void *ctx, const char *name)
{
    name_list *l = ctx;
    size_t len = strlen(name);

    if (name[0] != '.' && (len < 4 || strcmp(name + len - 4, ".new") != 0))
        l->failed |= !um_texts_add(&l->names, name);
}

/* A file that the server replaces meanwhile is left out: peers send it
 * again. */
static int copy_names(um_disk *from, um_disk *to, um_backup *result)
{
    name_list l = {.failed = false};
    int number = from->ops->names(from, add_name, &l);

    if (l.failed)
        number = ENOMEM;
    for (size_t i = 0; number == 0 && i < l.names.n; i++) {
        number = um_disk_copy(from, to, l.names.item[i], &result->bytes);
        result->files += number == 0;
        number = number == ENOENT ? 0 : number;
    }
    um_texts_fini(&l.names);
    return number ? number : to->ops->sync_names(to);
}

static umbel_status copy_peers(const char *data, const char *to,
                               um_backup *result, umbel_error *err)
{
    char in[PATH_MAX], out[PATH_MAX];
    um_disk *from = NULL, *copy = NULL;

    UM_TRY(join_path(in, data, PEERS, err));
    UM_TRY(join_path(out, to, PEERS, err));
    if (access(in, F_OK) != 0)
        return UMBEL_OK; /* a server without peers */
    umbel_status status = open_existing(in, &from, err);
    if (status == UMBEL_OK)
        status = um_disk_open(out, &copy, err);
    if (status == UMBEL_OK)
        status = um_disk_status(copy_names(from, copy, result), in, err);
    um_disk_close(from);
    um_disk_close(copy);
    return status;
}

/* Copies a key file; it exists, and only its owner may read the copy. */
static umbel_status copy_key(const char *from, const char *dir,
                             const char *name, um_backup *result,
                             umbel_error *err)
{
    char path[PATH_MAX];
    um_file_text text = {0};

    UM_TRY(join_path(path, dir, name, err));
    UM_TRY(um_file_text_read(&text, from, err));
    if (!text.data)
        return um_fail(err, UMBEL_E_IO, "%s: %s", from, strerror(ENOENT));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool fine = fd >= 0 &&
                write(fd, text.data, text.len) == (ssize_t)text.len &&
                fsync(fd) == 0;
    umbel_status status = fine ? UMBEL_OK : um_fail_path(err, path);
    if (fd >= 0)
        close(fd);
    free(text.data);
    result->bytes += text.len;
    result->files++;
    return status;
}

/* Copies the data, and the keys without which they are useless. */
static umbel_status copy_everything(const um_config *c, const char *to,
                                    um_backup *result, umbel_error *err)
{
    um_store_config copy = {.dir = to};
    char secret[PATH_MAX];

    UM_TRY(copy_store(c->data, to, result, err));
    UM_TRY(copy_peers(c->data, to, result, err));
    UM_TRY(join_path(secret, c->data, SECRET, err));
    UM_TRY(copy_key(c->secret ? c->secret : secret, to, SECRET, result, err));
    if (c->origin)
        UM_TRY(copy_key(c->origin, to, ORIGIN, result, err));
    return um_store_check_dir(&copy, err);
}

/* --- the directory -------------------------------------------------------- */

/* Syncs the directory that contains path. */
static bool sync_parent(const char *path)
{
    char copy[PATH_MAX];

    snprintf(copy, sizeof copy, "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool fine = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return fine;
}

/* Neither the directory nor an incomplete one may exist. */
static umbel_status check_new(const char *dir, const char *incomplete,
                              umbel_error *err)
{
    if (access(dir, F_OK) == 0)
        return um_fail(err, UMBEL_E_REFUSED,
                       "%s exists: a backup needs a new directory", dir);
    if (access(incomplete, F_OK) == 0)
        return um_fail(err, UMBEL_E_REFUSED,
                       "%s exists: a backup runs, or one was interrupted; then "
                       "remove it with rm -r",
                       incomplete);
    return UMBEL_OK;
}

static umbel_status write_backup(const um_config *c, const char *dir,
                                 um_backup *result, umbel_error *err)
{
    char incomplete[PATH_MAX];

    if (snprintf(incomplete, sizeof incomplete, "%s.new", dir) >= PATH_MAX)
        return um_fail(err, UMBEL_E_RANGE, "the path of DIR is too long");
    UM_TRY(check_new(dir, incomplete, err));
    umbel_status status = copy_everything(c, incomplete, result, err);
    if (status == UMBEL_OK &&
        (rename(incomplete, dir) != 0 || !sync_parent(dir)))
        status = um_fail_path(err, dir);
    if (status != UMBEL_OK)
        remove_copy(incomplete);
    return status;
}

static int run(const um_args *args)
{
    const backup_args *a = args->values;
    um_backup result = {0};
    umbel_error err;
    um_config c;
    umbel_status status = um_load_config(&c, a->config, &err);

    if (status == UMBEL_OK) {
        char dir[PATH_MAX];
        snprintf(dir, sizeof dir, "%s", a->dir);
        for (size_t len = strlen(dir); len > 1 && dir[len - 1] == '/'; len--)
            dir[len - 1] = '\0';
        status = write_backup(&c, dir, &result, &err);
        um_config_fini(&c);
    }
    if (status != UMBEL_OK)
        return um_trouble(args, &err);
    um_report r = {0};
    um_report_file(&r, "directory", NULL, a->dir);
    um_report_count(&r, "files", NULL, NULL, result.files);
    um_report_count(&r, "bytes", NULL, "bytes", result.bytes);
    um_report_count(&r, "snapshot", NULL, NULL, result.snapshot);
    um_report_print(args, &r);
    um_report_fini(&r);
    return UM_EXIT_FINE;
}

const um_command um_clearinghouse_cmd_backup = {
    .name = "clearinghouse backup",
    .summary = "copy the data directory, also while the server runs",
    .details =
        "DIR is created. It gets all that was acknowledged before, with the "
        "secret and the key of origin; a server can be started with it. Keep "
        "it as secret as the data directory.",
    .example = "/var/backups/clearinghouse",
    .manual = "8 System Administration",
    .values_len = sizeof(backup_args),
    .options = {{options, .base = 0}},
    .operands = {{"DIR", UM_TEXT, offsetof(backup_args, dir), UM_PLAIN_TEXT,
                  .min = 1}},
    .run = run,
};
