/*
 * key_log.c - check --confirm.
 */
#include "cli/key_log.h"

#include "base/error.h"
#include "filter/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static umbel_status append(const um_key_log *n, const char *bytes, size_t len,
                           umbel_error *err)
{
    umbel_slice part = {bytes, len};
    umbel_error inner;

    return um_write_parts(n->fd, &part, 1, &inner) == UMBEL_OK
               ? UMBEL_OK
               : um_fail_path(err, n->path);
}

static bool is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/*
 * While another writes, the file seems to end in the middle of a line: nobody
 * looks until it is whole. What is no file has no end to look at, and whoever
 * locks /dev/null is not waited for.
 */
static void set_lock(const um_key_log *n, int type)
{
    struct flock all = {.l_type = (short)type, .l_whence = SEEK_SET};

    while (is_file(n->fd) && fcntl(n->fd, F_SETLKW, &all) != 0 &&
           errno == EINTR)
        ;
}

/* What a person wrote may lack its last end, and would grow into the next key.
 */
static umbel_status finish_line(const um_key_log *n, umbel_error *err)
{
    struct stat st;
    char last;

    if (fstat(n->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
        pread(n->fd, &last, 1, st.st_size - 1) != 1 || last == n->end)
        return UMBEL_OK;
    return append(n, &n->end, 1, err);
}

umbel_status um_key_log_open(um_key_log *n, const char *path, char end,
                             umbel_error *err)
{
    *n = (um_key_log){path, -1, end};
    if (!path)
        return UMBEL_OK;
    n->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (n->fd < 0) {
        umbel_status status = um_fail_path(err, path);
        n->path = NULL;
        return status;
    }
    set_lock(n, F_WRLCK);
    umbel_status status = finish_line(n, err);
    set_lock(n, F_UNLCK);
    return status;
}

umbel_status um_key_log_add(const um_key_log *n, const umbel_slice *texts,
                            const bool *hit, size_t ntexts, umbel_error *err)
{
    size_t len = 0, at = 0;

    for (size_t i = 0; n->path && i < ntexts; i++)
        len += hit[i] ? texts[i].len + 1 : 0;
    if (len == 0)
        return UMBEL_OK;
    char *all = malloc(len);
    if (!all)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", len);
    for (size_t i = 0; i < ntexts; i++)
        if (hit[i]) {
            memcpy(all + at, texts[i].data, texts[i].len);
            at += texts[i].len;
            all[at++] = n->end;
        }
    set_lock(n, F_WRLCK);
    umbel_status status = append(n, all, len, err);
    set_lock(n, F_UNLCK);
    free(all);
    return status;
}

umbel_status um_key_log_close(um_key_log *n, umbel_status status,
                              umbel_error *err)
{
    const char *path = n->path;

    n->path = NULL;
    if (path && close(n->fd) != 0 && status == UMBEL_OK)
        return um_fail_path(err, path);
    return status;
}
