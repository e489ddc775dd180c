/*
 * memo.c - the file that a reader remembers in.
 *
 * It is replaced, not written over: a reader that is ended between two writes
 * would not understand it any more. The lock goes along: the new file is locked
 * before it gets the name.
 */
#include "cli/memo.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool name(char out[PATH_MAX], const char *path, const char *ending)
{
    int len = snprintf(out, PATH_MAX, "%s%s", path, ending);
    return len >= 0 && len < PATH_MAX;
}

bool um_memo_init(um_memo *m, const char *path)
{
    m->fd = -1;
    return name(m->path, path, ".pull") && name(m->next, path, ".pull.new");
}

umbel_status um_memo_open(um_memo *m, umbel_error *err)
{
    return um_lock(m->path, O_RDWR | O_CREAT, &m->fd, err);
}

/* A reader that never got anything leaves nothing behind. */
static void remove_empty(const um_memo *m)
{
    struct stat st;

    if (fstat(m->fd, &st) == 0 && st.st_size == 0)
        unlink(m->path);
}

void um_memo_close(um_memo *m)
{
    if (m->fd < 0)
        return;
    remove_empty(m);
    close(m->fd);
    m->fd = -1;
}

umbel_status um_memo_read(const um_memo *m, um_memory *out, umbel_error *err)
{
    char text[UM_MEMORY_MAX];
    umbel_error inner;
    ssize_t len = pread(m->fd, text, sizeof text, 0);

    *out = (um_memory){.serial = 0};
    if (len < 0)
        return um_fail_path(err, m->path);
    if (len == 0)
        return UMBEL_OK;
    umbel_status status = um_memory_read(text, (size_t)len, out, &inner);
    if (status != UMBEL_OK)
        return um_fail(err, status, "%s%s: %s", um_path_dots(m->path),
                       um_path_tail(m->path), inner.text);
    return UMBEL_OK;
}

/* A rename that is lost with the power leaves the old text: no more is wanted
 * than that it is one of the two. */
static bool replace(const um_memo *m, int fd, const char *text, size_t len)
{
    return flock(fd, LOCK_EX) == 0 && write(fd, text, len) == (ssize_t)len &&
           fsync(fd) == 0 && rename(m->next, m->path) == 0;
}

static bool is_written(const um_memo *m, const char *text, size_t len)
{
    char now[UM_MEMORY_MAX];
    return pread(m->fd, now, sizeof now, 0) == (ssize_t)len &&
           memcmp(now, text, len) == 0;
}

umbel_status um_memo_write(um_memo *m, const um_memory *memory,
                           umbel_error *err)
{
    char text[UM_MEMORY_MAX];
    size_t len = um_memory_write(memory, text);

    if (is_written(m, text, len))
        return UMBEL_OK;
    int fd = open(m->next, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                  0666);

    if (fd < 0)
        return um_fail_path(err, m->next);
    if (!replace(m, fd, text, len)) {
        um_note_path(err, m->path);
        unlink(m->next);
        close(fd);
        return UMBEL_E_IO;
    }
    close(m->fd);
    m->fd = fd;
    return UMBEL_OK;
}
