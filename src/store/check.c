/*
 * check.c - would a data directory open? Nothing is made, locked or changed.
 */
#include "base/error.h"
#include "store/recover.h"
#include "store/secret.h"

#include <errno.h>
#include <unistd.h>

/* A running server may replace the snapshot between listing and reading. */
enum { TRIES = 3 };

static umbel_status check_found(const um_store_config *c, um_disk *disk,
                                umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    um_found found;
    bool has_secret = false;
    umbel_status status = um_found_init(&found, disk, c->dir, err);

    if (status == UMBEL_OK)
        status = um_secret_check(c->dir, c->secret, found.snapshot != 0,
                                 &has_secret, secret, err);
    if (status == UMBEL_OK && has_secret)
        status = um_found_check(&found, secret, err);
    um_found_fini(&found);
    return status;
}

static umbel_status check_new(const um_store_config *c, umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    bool has_secret;

    UM_TRY(um_check_makeable(c->dir, err));
    return um_secret_check(c->dir, c->secret, false, &has_secret, secret, err);
}

umbel_status um_store_examine(const um_store_config *c, umbel_error *err)
{
    um_disk *disk;
    umbel_status status = UMBEL_E_IO;

    if (access(c->dir, F_OK) != 0 && errno == ENOENT)
        return check_new(c, err);
    UM_TRY(um_disk_open(c->dir, &disk, err));
    for (int i = 0; status == UMBEL_E_IO && i < TRIES; i++)
        status = check_found(c, disk, err);
    um_disk_close(disk);
    if (status == UMBEL_OK && access(c->dir, W_OK | X_OK) != 0)
        return um_fail_path(err, c->dir);
    return status;
}
