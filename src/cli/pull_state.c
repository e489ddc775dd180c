/*
 * pull_state.c - the file that a reader remembers in.
 *
 * It is replaced, not written over: a reader that is ended between two writes
 * would not understand it any more. It is there for good before anything else
 * is fetched: who cuts the power cannot return to an older manifest either.
 */
#include "cli/pull_state.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/lock.h"
#include "filter/save.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool um_pull_state_init(um_pull_state *m, const char *path)
{
    int len = snprintf(m->path, sizeof m->path, "%s.pull", path);

    m->fd = -1;
    return len >= 0 && (size_t)len < sizeof m->path;
}

umbel_status um_pull_state_open(um_pull_state *m, umbel_error *err)
{
    return um_lock(m->path, O_RDWR | O_CREAT, &m->fd, err);
}

/* A reader that never got anything leaves nothing behind. */
static void remove_empty(const um_pull_state *m)
{
    struct stat st;

    if (fstat(m->fd, &st) == 0 && st.st_size == 0 && um_is_at(m->fd, m->path))
        unlink(m->path);
}

void um_pull_state_close(um_pull_state *m)
{
    if (m->fd < 0)
        return;
    remove_empty(m);
    close(m->fd);
    m->fd = -1;
}

umbel_status um_pull_state_read(const um_pull_state *m, um_memory *out,
                                umbel_error *err)
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

static bool is_written(const um_pull_state *m, const char *text, size_t len)
{
    char now[UM_MEMORY_MAX];
    return pread(m->fd, now, sizeof now, 0) == (ssize_t)len &&
           memcmp(now, text, len) == 0;
}

umbel_status um_pull_state_write(um_pull_state *m, const um_memory *memory,
                                 umbel_error *err)
{
    char text[UM_MEMORY_MAX];
    umbel_slice part = {text, um_memory_write(memory, text)};
    int fd;

    if (is_written(m, text, part.len))
        return UMBEL_OK;
    umbel_status status = um_save_held(&part, m->path, &fd, err);
    if (status != UMBEL_OK)
        return status;
    close(m->fd);
    m->fd = fd;
    return UMBEL_OK;
}
