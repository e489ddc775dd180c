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

enum { PIPE_LIMIT = 256 << 20 };

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
    umbel_status status = um_head_len(bytes, (size_t)have, &want, err);
    if (status != UMBEL_OK)
        return status;
    ssize_t more = read_fully(fd, bytes + have, want - (size_t)have);
    if (more < 0)
        return um_fail_errno(err, "cannot read");
    return um_head_decode(bytes, (size_t)(have + more), head, err);
}

/* Refuse before allocating: by the file's length, or by a limit. */
static umbel_status check_room(const um_head *head, const struct stat *st,
                               const umbel_source *source, umbel_error *err)
{
    uint64_t limit = source->memory_limit;
    umbel_status status = UMBEL_OK;

    if (S_ISREG(st->st_mode))
        status = um_check_len(head, (uint64_t)st->st_size, err);
    else if (!limit)
        limit = PIPE_LIMIT;
    if (status != UMBEL_OK)
        return status;
    if (head->shape.coded)
        return um_check_coded_room(head, source, err);
    if (limit && head->payload_len > limit)
        return um_fail_detail(
            err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
            "the filter takes %zu bytes, the limit is %" PRIu64,
            head->payload_len, limit);
    return UMBEL_OK;
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

    umbel_status status = read_head(fd, &head, err);
    if (status == UMBEL_OK)
        status = check_room(&head, st, source, err);
    if (status != UMBEL_OK)
        return status;
    uint8_t *stored = um_get(&alloc, head.stored_len);
    if (!stored)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes",
                       head.stored_len);
    status = read_stored(fd, &head, stored, err);
    if (status == UMBEL_OK)
        status = head.shape.coded
                     ? um_filter_from_coded(&head, source, stored, out, err)
                     : um_filter_from_payload(&head, source, stored, NULL, 0,
                                              out, err);
    if (status != UMBEL_OK || head.shape.coded)
        um_put(&alloc, stored, head.stored_len);
    return status;
}

umbel_status umbel_read(int fd, const umbel_source *source, umbel_filter **out,
                        umbel_error *err)
{
    struct stat st;
    umbel_status status = um_check_source(&source, err);

    if (status != UMBEL_OK)
        return status;
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

    umbel_status status = um_check_source(&source, err);
    if (status == UMBEL_OK)
        status = open_to_read(path, &fd, &st, err);
    if (status != UMBEL_OK)
        return status;
    status = load(fd, &st, source, out, err);
    close(fd);
    return um_name_file(status, path, err);
}

/*
 * The head is copied before it is believed: the file may change meanwhile. What
 * is coded does not stay mapped.
 */
static umbel_status enclose_mapping(uint8_t *map, size_t len,
                                    const umbel_source *source,
                                    umbel_filter **out, bool *stays,
                                    umbel_error *err)
{
    uint8_t copy[UM_HEAD_MAX];
    size_t part = len < sizeof copy ? len : sizeof copy;
    um_head head;

    memcpy(copy, map, part);
    umbel_status status = um_head_decode(copy, part, &head, err);
    if (status == UMBEL_OK)
        status = um_check_len(&head, len, err);
    if (status != UMBEL_OK)
        return status;
    *stays = !head.shape.coded;
    if (head.shape.coded)
        return um_filter_from_coded(&head, source, map + head.len, out, err);
    return um_filter_from_payload(&head, source, map + head.len, map, len, out,
                                  err);
}

static umbel_status map_fd(int fd, const struct stat *st,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err)
{
    bool stays = false;

    if (!S_ISREG(st->st_mode))
        return um_fail(err, UMBEL_E_IO,
                       "only a regular file can be mapped: load it");
    if (st->st_size == 0)
        return um_fail(err, UMBEL_E_FORMAT, "not an umbel file: it is empty");
    size_t len = (size_t)st->st_size;
    void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return um_fail_errno(err, "cannot map");
    umbel_status status = enclose_mapping(map, len, source, out, &stays, err);
    if (status != UMBEL_OK || !stays)
        munmap(map, len);
    return status;
}

umbel_status umbel_map(const char *path, const umbel_source *source,
                       umbel_filter **out, umbel_error *err)
{
    struct stat st = {0};
    int fd;

    umbel_status status = um_check_source(&source, err);
    if (status == UMBEL_OK)
        status = open_to_read(path, &fd, &st, err);
    if (status != UMBEL_OK)
        return status;
    status = map_fd(fd, &st, source, out, err);
    close(fd);
    return um_name_file(status, path, err);
}
