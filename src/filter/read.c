/*
 * read.c - reads filters from files: load and map.
 */
#include "base/error.h"
#include "base/text.h"
#include "filter/envelope.h"

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

/* Reads up to len bytes; fewer only at the end of the file. */
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

/* The source of a filter. */
typedef struct stream {
    int fd;
    bool is_file; /* regular: it cannot grow while it is read */
    uint64_t len; /* bytes of the filter, or UMBEL_TO_END */
} stream;

/* Reads all that the decoder wants; with UMBEL_TO_END, also checks that nothing
 * follows. */
static umbel_status read_into(umbel_decoder *d, const stream *s,
                              umbel_error *err)
{
    uint8_t *at, extra;
    size_t room;
    ssize_t got;

    while ((room = um_decoder_space(d, &at))) {
        got = read_fully(s->fd, at, room);
        if (got < 0)
            return um_fail_errno(err, "cannot read");
        UM_TRY(um_decoder_took(d, (size_t)got, err));
        if ((size_t)got < room)
            return UMBEL_OK; /* finishing reports what is missing */
    }
    bool ends = s->is_file || s->len == UMBEL_TO_END;
    got = ends ? read_fully(s->fd, &extra, 1) : 0;
    if (got < 0)
        return um_fail_errno(err, "cannot read");
    return umbel_decoder_feed(d, &extra, (size_t)got, err);
}

static umbel_status load(const stream *s, const umbel_source *source,
                         umbel_filter **out, umbel_error *err)
{
    umbel_decoder d;

    um_decoder_init(&d, source, s->len, !s->is_file);
    umbel_status status = read_into(&d, s, err);
    if (status == UMBEL_OK)
        status = umbel_decoder_finish(&d, out, err);
    um_decoder_fini(&d);
    return status;
}

/* Describes a descriptor from its current position on. */
static stream from_here(int fd, const struct stat *st, uint64_t len)
{
    stream s = {.fd = fd, .len = len};

    if (!S_ISREG(st->st_mode) || len != UMBEL_TO_END)
        return s;
    off_t at = lseek(fd, 0, SEEK_CUR);
    s.is_file = true;
    s.len = at < 0 || at > st->st_size ? 0 : (uint64_t)(st->st_size - at);
    return s;
}

umbel_status umbel_read(int fd, uint64_t len, const umbel_source *source,
                        umbel_filter **out, umbel_error *err)
{
    struct stat st;

    UM_TRY(um_check_source(&source, err));
    if (fstat(fd, &st) != 0)
        return um_fail_errno(err, "cannot read");
    stream s = from_here(fd, &st, len);
    return load(&s, source, out, err);
}

umbel_status umbel_load(const char *path, const umbel_source *source,
                        umbel_filter **out, umbel_error *err)
{
    struct stat st = {0};
    int fd;

    UM_TRY(um_check_source(&source, err));
    UM_TRY(open_to_read(path, &fd, &st, err));
    stream s = from_here(fd, &st, UMBEL_TO_END);
    umbel_status status = load(&s, source, out, err);
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
