/*
 * lock.c - lock a file that is about to be replaced.
 *
 * A lock belongs to the file and not to its name. After waiting, a process may
 * hold a file that was replaced in the meantime; it then locks the new one.
 */
#include "filter/lock.h"

#include "base/error.h"
#include "filter/save.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

umbel_status um_lock(const char *path, int flags, int *fd, umbel_error *err)
{
    for (;;) {
        *fd = open(path, flags | O_CLOEXEC, 0666);
        if (*fd < 0)
            return um_fail_path(err, path);
        while (flock(*fd, LOCK_EX) != 0)
            if (errno != EINTR) {
                um_set_errno(err, "%s: cannot lock", path);
                close(*fd);
                return UMBEL_E_IO;
            }
        if (um_is_at(*fd, path))
            return UMBEL_OK;
        close(*fd);
    }
}
