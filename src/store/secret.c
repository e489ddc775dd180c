/*
 * secret.c - the file with the secret that keys are hashed with.
 */
#include "base/error.h"
#include "filter/save.h"
#include "store/internal.h"
#include "trust/key_file.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

/* Creates the secret under a temporary name and renames it, so that a file of
 * this name is always complete. */
static umbel_status
create_secret(const char *path, uint8_t out[UMBEL_SECRET_LEN], umbel_error *err)
{
    char new[PATH_MAX];
    uint8_t secret[UMBEL_SECRET_LEN];

    if (snprintf(new, sizeof new, "%s.new", path) >= PATH_MAX)
        return um_fail(err, UMBEL_E_IO, "the path of the secret is too long");
    if (sodium_init() < 0)
        return um_fail(err, UMBEL_E_IO, "no random numbers from the system");
    randombytes_buf(secret, sizeof secret);
    unlink(new);
    UM_TRY(um_secret_save(secret, new, err));
    /* The name must be durable: without their secret, acknowledged counts would
     * be useless. */
    if (rename(new, path) != 0 || !um_sync_name(path))
        return um_fail_path(err, path);
    UM_TRY(um_secret_load(path, out, err));
    return UMBEL_OK;
}

/* Fails, naming the file to restore: the data may have their own secret. */
static umbel_status refuse_missing(const char *dir, const char *path,
                                   const char *usual, umbel_error *err)
{
    if (path != usual && access(usual, F_OK) == 0)
        return um_fail_detail(
            err, UMBEL_E_SECRET, UMBEL_D_SECRET_MISSING,
            "%.80s does not exist, and the data in %.60s have their own "
            "secret, %.80s: leave out the setting, or name that file",
            path, dir, usual);
    return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_MISSING,
                          "%.100s is missing, and %.80s has data made with a "
                          "secret: restore the file",
                          path, dir);
}

/* Reads the file; *found is false if one may be created as *path. */
static umbel_status find_secret(const char *dir, const char **path,
                                char usual[PATH_MAX], bool has_data,
                                bool *found, uint8_t out[UMBEL_SECRET_LEN],
                                umbel_error *err)
{
    if (snprintf(usual, PATH_MAX, "%s/secret", dir) >= PATH_MAX)
        return um_fail(err, UMBEL_E_IO,
                       "the path of the directory is too long");
    if (!*path)
        *path = usual;
    *found = access(*path, F_OK) == 0 || errno != ENOENT;
    if (*found)
        return um_secret_load(*path, out, err);
    return has_data ? refuse_missing(dir, *path, usual, err) : UMBEL_OK;
}

umbel_status um_secret_find(const char *dir, const char *path, bool has_data,
                            uint8_t out[UMBEL_SECRET_LEN], umbel_error *err)
{
    char usual[PATH_MAX];
    bool found;

    UM_TRY(find_secret(dir, &path, usual, has_data, &found, out, err));
    return found ? UMBEL_OK : create_secret(path, out, err);
}

umbel_status um_secret_check(const char *dir, const char *path, bool has_data,
                             bool *found, uint8_t out[UMBEL_SECRET_LEN],
                             umbel_error *err)
{
    char usual[PATH_MAX];

    UM_TRY(find_secret(dir, &path, usual, has_data, found, out, err));
    /* The store creates its own directory before the secret. */
    return *found || path == usual ? UMBEL_OK : um_check_creatable(path, err);
}
