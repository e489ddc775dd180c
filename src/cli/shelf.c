/*
 * shelf.c - a directory of published files.
 */
#include "cli/shelf.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/lock.h"
#include "filter/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const endings[] = {
    [UM_BLOB_FILTER] = ".umb", [UM_BLOB_STEP] = ".umd"};
static const char manifest_ending[] = ".manifest";

void um_blob_name(const uint8_t digest[UM_DIGEST_LEN], um_blob_kind kind,
                  char out[UM_BLOB_NAME])
{
    char hex[UM_DIGEST_HEX];

    um_digest_text(digest, hex);
    snprintf(out, UM_BLOB_NAME, "%s%s", hex, endings[kind]);
}

/* A shelf that is lost would begin anew with serial 1, which readers refuse. */
static bool make(const char *dir)
{
    char above[PATH_MAX];

    if (mkdir(dir, 0777) != 0)
        return errno == EEXIST;
    snprintf(above, sizeof above, "%s/..", dir);
    return um_sync_directory(above);
}

umbel_status um_shelf_open(um_shelf *s, const char *dir, umbel_error *err)
{
    *s = (um_shelf){dir, -1};
    if (!make(dir))
        return um_fail_path(err, dir);
    return um_lock(dir, O_RDONLY | O_DIRECTORY, &s->fd, err);
}

void um_shelf_close(um_shelf *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static umbel_status path_of(const um_shelf *s, const char *file,
                            char out[PATH_MAX], umbel_error *err)
{
    int len = snprintf(out, PATH_MAX, "%s/%s", s->dir, file);

    return len > 0 && len < PATH_MAX
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_IO, "the name of %.40s is too long",
                         file);
}

static umbel_status manifest_path(const um_shelf *s, const char *name,
                                  char out[PATH_MAX], umbel_error *err)
{
    char file[UM_NAME_MAX + sizeof manifest_ending];

    snprintf(file, sizeof file, "%s%s", name, manifest_ending);
    return path_of(s, file, out, err);
}

static umbel_status read_manifest(const char *path, um_manifest *out,
                                  umbel_error *err)
{
    um_content c;
    umbel_error inner;
    umbel_status status = um_content_read(&c, path, err);

    if (status != UMBEL_OK)
        return status;
    status = um_manifest_read((const char *)c.bytes, c.len, out, &inner);
    um_content_fini(&c);
    if (status != UMBEL_OK)
        return um_fail(err, status, "%s%s: %s", um_path_dots(path),
                       um_path_tail(path), inner.text);
    return UMBEL_OK;
}

/* Only what is certainly not there begins with serial 1. */
umbel_status um_shelf_manifest(const um_shelf *s, const char *name,
                               um_manifest *out, umbel_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    umbel_status status = manifest_path(s, name, path, err);

    if (status != UMBEL_OK)
        return status;
    if (stat(path, &st) != 0 && errno == ENOENT) {
        *out = (um_manifest){.serial = 0};
        snprintf(out->name, sizeof out->name, "%s", name);
        return UMBEL_OK;
    }
    status = read_manifest(path, out, err);
    if (status == UMBEL_OK && strcmp(out->name, name) != 0)
        status = um_fail(err, UMBEL_E_FORMAT,
                         "%s%s is the manifest of \"%s\": remove it",
                         um_path_dots(path), um_path_tail(path), out->name);
    return status;
}

static umbel_status piece_path(const um_shelf *s, const um_blob *piece,
                               um_blob_kind kind, char out[PATH_MAX],
                               umbel_error *err)
{
    char name[UM_BLOB_NAME];

    um_blob_name(piece->digest, kind, name);
    return path_of(s, name, out, err);
}

umbel_status um_shelf_get(const um_shelf *s, const um_blob *piece,
                          um_blob_kind kind, um_content *out, umbel_error *err)
{
    char path[PATH_MAX];
    uint8_t digest[UM_DIGEST_LEN];
    umbel_status status = piece_path(s, piece, kind, path, err);

    if (status == UMBEL_OK)
        status = um_content_read(out, path, err);
    if (status != UMBEL_OK)
        return status;
    um_digest_of(out->bytes, out->len, digest);
    if (memcmp(digest, piece->digest, sizeof digest) == 0)
        return UMBEL_OK;
    um_content_fini(out);
    return um_fail(err, UMBEL_E_CHECKSUM, "%s%s is not what its name says",
                   um_path_dots(path), um_path_tail(path));
}

/* What somebody damaged since is mended: no reader would take it. */
umbel_status um_shelf_put(const um_shelf *s, const um_blob *piece,
                          um_blob_kind kind, const void *bytes,
                          umbel_error *err)
{
    char path[PATH_MAX];
    um_content there;
    umbel_slice part = {bytes, (size_t)piece->len};

    if (um_shelf_get(s, piece, kind, &there, NULL) == UMBEL_OK) {
        um_content_fini(&there);
        return UMBEL_OK;
    }
    umbel_status status = piece_path(s, piece, kind, path, err);
    return status == UMBEL_OK ? um_save_parts(&part, 1, path, err) : status;
}

umbel_status um_shelf_put_manifest(const um_shelf *s, const char *name,
                                   const char *text, size_t len,
                                   umbel_error *err)
{
    char path[PATH_MAX];
    umbel_slice part = {text, len};
    umbel_status status = manifest_path(s, name, path, err);

    return status == UMBEL_OK ? um_save_parts(&part, 1, path, err) : status;
}

/* --- what is named no more --------------------------------------------------
 */

typedef struct names {
    char (*name)[UM_BLOB_NAME];
    size_t n, cap;
} names;

static bool note_piece(names *all, const uint8_t *digest, um_blob_kind kind)
{
    if (all->n == all->cap) {
        size_t cap = all->cap ? 2 * all->cap : 64;
        void *more = realloc(all->name, cap * sizeof *all->name);
        if (!more)
            return false;
        all->name = more;
        all->cap = cap;
    }
    um_blob_name(digest, kind, all->name[all->n++]);
    return true;
}

static bool note_manifest(names *all, const um_manifest *m)
{
    bool fine = note_piece(all, m->filter.digest, UM_BLOB_FILTER);

    for (size_t i = 0; fine && i < m->nsteps; i++)
        fine = note_piece(all, m->step[i].file.digest, UM_BLOB_STEP);
    return fine;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a > b && strcmp(text + a - b, end) == 0;
}

/*
 * A file whose name tells what it holds: other tools name by other digests, and
 * a link may lead to what never ends.
 */
static bool is_piece(const um_shelf *s, const char *name)
{
    uint8_t wanted[UM_DIGEST_LEN], digest[UM_DIGEST_LEN];
    char path[PATH_MAX];
    struct stat st;
    uint64_t len;

    return strlen(name) == UM_BLOB_NAME - 1 &&
           um_hex_read(name, wanted, sizeof wanted) &&
           (ends_with(name, endings[0]) || ends_with(name, endings[1])) &&
           path_of(s, name, path, NULL) == UMBEL_OK && lstat(path, &st) == 0 &&
           S_ISREG(st.st_mode) &&
           um_content_digest(path, digest, &len, NULL) == UMBEL_OK &&
           memcmp(wanted, digest, sizeof digest) == 0;
}

static bool is_named(const names *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->name[i], name) == 0)
            return true;
    return false;
}

static umbel_status note_file(const um_shelf *s, const char *file, names *all,
                              umbel_error *err)
{
    char path[PATH_MAX];
    um_manifest m;
    umbel_status status = path_of(s, file, path, err);

    if (status == UMBEL_OK)
        status = read_manifest(path, &m, err);
    if (status == UMBEL_OK && !note_manifest(all, &m))
        status = um_fail(err, UMBEL_E_NOMEM, "no memory to tidy up");
    return status;
}

/*
 * A manifest that cannot be read, or is not even found because the directory
 * cannot be, may name anything: then nothing goes.
 */
static umbel_status note_all(const um_shelf *s, DIR *dir, names *all,
                             umbel_error *err)
{
    struct dirent *entry;
    umbel_status status = UMBEL_OK;

    while (status == UMBEL_OK && (errno = 0, entry = readdir(dir)))
        if (ends_with(entry->d_name, manifest_ending))
            status = note_file(s, entry->d_name, all, err);
    if (status == UMBEL_OK && errno)
        return um_fail_path(err, s->dir);
    return status;
}

static void remove_others(const um_shelf *s, DIR *dir, const names *all)
{
    struct dirent *entry;

    rewinddir(dir);
    while ((entry = readdir(dir)))
        if (!is_named(all, entry->d_name) && is_piece(s, entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
}

umbel_status um_shelf_tidy(const um_shelf *s, const um_blob *until_now,
                           size_t n, umbel_error *err)
{
    names all = {0};
    DIR *dir = opendir(s->dir);

    if (!dir)
        return um_fail_path(err, s->dir);
    umbel_status status = note_all(s, dir, &all, err);
    for (size_t i = 0; status == UMBEL_OK && i < n; i++)
        if (!note_piece(&all, until_now[i].digest, UM_BLOB_FILTER))
            status = um_fail(err, UMBEL_E_NOMEM, "no memory to tidy up");
    if (status == UMBEL_OK)
        remove_others(s, dir, &all);
    closedir(dir);
    free(all.name);
    return status;
}
