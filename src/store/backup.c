/*
 * backup.c - copies the files of a data directory while a server uses it.
 *
 * The newest snapshot is copied first, then the journals from there on, the
 * newest one first: a journal gets its first block when the one before it is
 * complete, so there is no gap between copies. A journal only grows, and its
 * head is copied before its blocks. So the copy of one that is being written
 * looks like one that a power failure ended: a start drops an incomplete block
 * at its end. Everything that was acknowledged before the copy began is in it.
 *
 * When a newer snapshot is complete, the server removes the files that it
 * replaces. If it removes one before it is copied, the copy begins again.
 */
#include "base/error.h"
#include "store/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 20 };

int um_disk_copy(um_disk *from, um_disk *to, const char *name, uint64_t *bytes)
{
    int in, out, number = from->ops->open(from, name, UM_DISK_READ, &in);

    if (number)
        return number;
    number = to->ops->open(to, name, UM_DISK_CREATE, &out);
    if (number == 0) {
        uint64_t copied = UINT64_MAX;
        number = um_disk_copy_bytes(from, in, to, out, &copied);
        *bytes += copied;
        if (number == 0)
            number = to->ops->sync(to, out);
        to->ops->close(to, out);
    }
    from->ops->close(from, in);
    return number;
}

/* Copies one file; ENOENT is returned, and not an error yet. */
static umbel_status copy_data(const um_data_files *f, um_disk *to,
                              const char *kind, uint64_t number, um_backup *out,
                              bool *gone, umbel_error *err)
{
    char name[UM_DISK_NAME];

    snprintf(name, sizeof name, "%s-%" PRIu64, kind, number);
    int code = um_disk_copy(f->disk, to, name, &out->bytes);
    *gone = code == ENOENT;
    out->files += code == 0;
    return *gone ? UMBEL_OK : um_disk_status(code, name, err);
}

static umbel_status copy_all(const um_data_files *f, um_disk *to,
                             um_backup *out, bool *gone, umbel_error *err)
{
    *out = (um_backup){.snapshot = f->snapshot};
    UM_TRY(copy_data(f, to, "snapshot", f->snapshot, out, gone, err));
    for (size_t i = f->n; i > 0 && !*gone; i--)
        UM_TRY(copy_data(f, to, "journal", f->journal[i - 1], out, gone, err));
    return UMBEL_OK;
}

static umbel_status try_to_copy(um_disk *from, const char *dir, um_disk *to,
                                um_backup *out, bool *gone, umbel_error *err)
{
    um_data_files f;
    umbel_status status = um_data_files_scan(&f, from, dir, err);

    if (status == UMBEL_OK && !f.snapshot)
        status =
            um_fail(err, UMBEL_E_IO,
                    "%s contains no snapshot: there is nothing to copy", dir);
    if (status == UMBEL_OK)
        status = copy_all(&f, to, out, gone, err);
    um_data_files_fini(&f);
    return status;
}

umbel_status um_store_backup(um_disk *from, const char *dir, um_disk *to,
                             um_backup *out, umbel_error *err)
{
    bool gone = true;

    for (unsigned i = 0; gone && i < TRIES; i++) {
        UM_TRY(um_disk_status(um_data_files_remove(to, UINT64_MAX, true),
                              "the copy", err));
        UM_TRY(try_to_copy(from, dir, to, out, &gone, err));
    }
    if (gone)
        return um_fail(err, UMBEL_E_IO,
                       "%s: a newer snapshot replaced the files before they "
                       "were copied, %d times; try again when the server has "
                       "less to do",
                       dir, TRIES);
    return um_disk_status(to->ops->sync_names(to), "the copy", err);
}
