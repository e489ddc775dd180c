/*
 * key_log.c - appends keys to a file that other processes append to, too.
 *
 * While another process writes, the file seems to end in the middle of a line.
 * So each process locks it to look at its end and to append. Pipes and devices
 * have no end to look at, and are not locked.
 */
#include "keylist/key_log.h"

#include "base/error.h"
#include "filter/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static umbel_status append_bytes(const um_key_log *log, const char *bytes,
                                 size_t len, umbel_error *err)
{
    umbel_slice part = {bytes, len};

    if (um_write_parts(log->fd, &part, 1, NULL) != UMBEL_OK)
        return um_fail_path(err, log->path);
    return UMBEL_OK;
}

static void set_lock(const um_key_log *log, int type)
{
    struct flock whole = {.l_type = (short)type, .l_whence = SEEK_SET};
    struct stat st;

    if (fstat(log->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    while (fcntl(log->fd, F_SETLKW, &whole) != 0 && errno == EINTR)
        ;
}

/* Appends the missing newline of the last line; files written by hand may lack
 * it. */
static umbel_status complete_line(const um_key_log *log, umbel_error *err)
{
    struct stat st;
    char last;

    if (fstat(log->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
        pread(log->fd, &last, 1, st.st_size - 1) != 1 || last == log->end)
        return UMBEL_OK;
    return append_bytes(log, &log->end, 1, err);
}

umbel_status um_key_log_init(um_key_log *log, const char *path, char end,
                             umbel_error *err)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    *log = (um_key_log){0};
    if (fd < 0)
        return um_fail_path(err, path);
    *log = (um_key_log){path, fd, end};
    set_lock(log, F_WRLCK);
    umbel_status status = complete_line(log, err);
    set_lock(log, F_UNLCK);
    return status;
}

umbel_status um_key_log_append(const um_key_log *log, const umbel_slice *keys,
                               const bool *hit, size_t n, umbel_error *err)
{
    size_t len = 0, at = 0;

    for (size_t i = 0; log->path && i < n; i++)
        len += hit[i] ? keys[i].len + 1 : 0;
    if (len == 0)
        return UMBEL_OK;
    char *bytes = malloc(len);
    if (!bytes)
        return um_no_memory(err, len);
    for (size_t i = 0; i < n; i++)
        if (hit[i]) {
            memcpy(bytes + at, keys[i].data, keys[i].len);
            at += keys[i].len;
            bytes[at++] = log->end;
        }
    set_lock(log, F_WRLCK);
    umbel_status status = append_bytes(log, bytes, len, err);
    set_lock(log, F_UNLCK);
    free(bytes);
    return status;
}

umbel_status um_key_log_fini(um_key_log *log, umbel_error *err)
{
    um_key_log old = *log;

    *log = (um_key_log){0};
    if (old.path && close(old.fd) != 0)
        return um_fail_path(err, old.path);
    return UMBEL_OK;
}
