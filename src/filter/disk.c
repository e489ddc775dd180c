/*
 * disk.c - load and map.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/coded.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static umbel_status open_to_read(const char *path, int *fd, struct stat *st,
                                 umbel_error *err)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return um_fail_path(err, path);
    if (fstat(*fd, st) == 0 && !S_ISDIR(st->st_mode))
        return UMBEL_OK;
    if (S_ISDIR(st->st_mode))
        errno = EISDIR;
    umbel_status status = um_fail_path(err, path);
    close(*fd);
    return status;
}

/* Up to len bytes; fewer only at the end of the file. */
static ssize_t read_fully(int fd, uint8_t *out, size_t len)
{
    size_t have = 0;

    while (have < len) {
        ssize_t got = read(fd, out + have, len - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static umbel_status read_head(int fd, um_head *head, umbel_error *err)
{
    uint8_t bytes[UM_HEAD_MAX];
    size_t want;

    ssize_t have = read_fully(fd, bytes, UM_HEAD_START);
    if (have < 0)
        return um_fail_errno(err, "cannot read");
    UM_TRY(um_head_len(bytes, (size_t)have, &want, err));
    ssize_t more = read_fully(fd, bytes + have, want - (size_t)have);
    if (more < 0)
        return um_fail_errno(err, "cannot read");
    return um_head_decode(bytes, (size_t)(have + more), head, err);
}

/* Refuses before anything is allocated. */
static umbel_status check_room(const um_head *head, const struct stat *st,
                               const umbel_source *source, umbel_error *err)
{
    if (S_ISREG(st->st_mode))
        UM_TRY(um_check_len(head, (uint64_t)st->st_size, err));
    return um_check_limit(head, source, !S_ISREG(st->st_mode), err);
}

static umbel_status read_stored(int fd, const um_head *head, uint8_t *out,
                                umbel_error *err)
{
    uint8_t extra;
    ssize_t got = read_fully(fd, out, head->stored_len);
    if (got < 0)
        return um_fail_errno(err, "cannot read");
    ssize_t behind = read_fully(fd, &extra, 1);
    if (behind < 0)
        return um_fail_errno(err, "cannot read");
    return um_check_len(head, head->len + (size_t)got + (size_t)behind, err);
}

static umbel_status load(int fd, const struct stat *st,
                         const umbel_source *source, umbel_filter **out,
                         umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(source->alloc);
    um_head head;

    UM_TRY(read_head(fd, &head, err));
    UM_TRY(check_room(&head, st, source, err));
    um_memory memory = {um_get(&alloc, head.stored_len), head.stored_len,
                        false};
    if (!memory.base)
        return um_no_memory(err, memory.len);
    umbel_status status = read_stored(fd, &head, memory.base, err);
    if (status == UMBEL_OK)
        return um_filter_open(&head, memory.base, memory, source, out, err);
    um_memory_free(&memory, &alloc);
    return status;
}

umbel_status umbel_read(int fd, const umbel_source *source, umbel_filter **out,
                        umbel_error *err)
{
    struct stat st;

    UM_TRY(um_check_source(&source, err));
    if (fstat(fd, &st) != 0)
        return um_fail_errno(err, "cannot read");
    if (S_ISREG(st.st_mode)) {
        off_t at = lseek(fd, 0, SEEK_CUR);
        st.st_size = at < 0 || at > st.st_size ? 0 : st.st_size - at;
    }
    return load(fd, &st, source, out, err);
}

umbel_status umbel_load(const char *path, const umbel_source *source,
                        umbel_filter **out, umbel_error *err)
{
    struct stat st = {0};
    int fd;

    UM_TRY(um_check_source(&source, err));
    UM_TRY(open_to_read(path, &fd, &st, err));
    umbel_status status = load(fd, &st, source, out, err);
    close(fd);
    return um_name_file(status, path, err);
}

static umbel_status map_fd(int fd, const struct stat *st,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err)
{
    if (!S_ISREG(st->st_mode))
        return um_fail(err, UMBEL_E_IO,
                       "only a regular file can be mapped: load it");
    if (st->st_size == 0)
        return um_fail(err, UMBEL_E_FORMAT, "not an umbel file: it is empty");
    size_t len = (size_t)st->st_size;
    void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return um_fail_errno(err, "cannot map");
    um_memory memory = {map, len, true};
    return um_filter_from_file(map, len, memory, source, out, err);
}

umbel_status umbel_map(const char *path, const umbel_source *source,
                       umbel_filter **out, umbel_error *err)
{
    struct stat st = {0};
    int fd;

    UM_TRY(um_check_source(&source, err));
    UM_TRY(open_to_read(path, &fd, &st, err));
    umbel_status status = map_fd(fd, &st, source, out, err);
    close(fd);
    return um_name_file(status, path, err);
}
