/*
 * content.c - all bytes of a file: mapped, read from a pipe, or made.
 */
#include "cli/content.h"

#include "base/error.h"
#include "base/text.h"

#include <umbel/umbel.h>

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void um_content_fini(um_content *c)
{
    if (c->mapped)
        munmap(c->bytes, c->len);
    else
        free(c->bytes);
    *c = (um_content){0};
}

umbel_status um_content_grow(um_content *c, umbel_error *err)
{
    size_t cap = c->cap ? 2 * c->cap : (size_t)1 << 20;

    if (c->len < c->cap)
        return UMBEL_OK;
    if (c->cap > c->limit)
        return um_fail_detail(
            err, UMBEL_E_LIMIT, UMBEL_D_COMPRESSED,
            "more than %zu bytes come out of it: make it a plain "
            "file first",
            c->limit);
    cap = cap <= c->limit ? cap : c->limit + 1; /* the one that is too much */
    uint8_t *bytes = realloc(c->bytes, cap);
    if (!bytes)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", cap);
    c->bytes = bytes;
    c->cap = cap;
    return UMBEL_OK;
}

static umbel_status read_all(int fd, um_content *c, umbel_error *err)
{
    for (;;) {
        umbel_status status = um_content_grow(c, err);
        if (status != UMBEL_OK)
            return status;
        ssize_t got = read(fd, c->bytes + c->len, c->cap - c->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return um_fail_errno(err, "cannot read");
        if (got == 0)
            return UMBEL_OK;
        c->len += (size_t)got;
    }
}

/* What is empty cannot be mapped, and need not be. */
static umbel_status map_all(int fd, const struct stat *st, um_content *c,
                            umbel_error *err)
{
    size_t len = (size_t)st->st_size;
    void *map = len ? mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;

    if (map == MAP_FAILED)
        return um_fail_errno(err, "cannot map");
    c->bytes = map;
    c->len = len;
    c->mapped = len > 0;
    return UMBEL_OK;
}

static umbel_status take_file(int fd, um_content *c, umbel_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return um_fail_errno(err, "cannot read");
    if (!S_ISREG(st.st_mode))
        return um_fail(err, UMBEL_E_IO,
                       "not a regular file: keep it in one first");
    return map_all(fd, &st, c, err);
}

/* Files whose length is not known before they are read say 0. */
static umbel_status take_any(int fd, um_content *c, umbel_error *err)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        return map_all(fd, &st, c, err);
    return read_all(fd, c, err);
}

static umbel_status conclude(um_content *c, umbel_status status,
                             const char *path, const umbel_error *inner,
                             umbel_error *err)
{
    if (status == UMBEL_OK)
        return UMBEL_OK;
    um_content_fini(c);
    return um_fail(err, status, "%s%s: %s", um_path_dots(path),
                   um_path_tail(path), inner->text);
}

/* Opening a pipe would wait for somebody who writes to it. */
umbel_status um_content_read(um_content *c, const char *path, umbel_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    umbel_error inner;

    *c = (um_content){.len = 0};
    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = take_file(fd, c, &inner);
    close(fd);
    return conclude(c, status, path, &inner, err);
}

umbel_status um_content_read_within(um_content *c, const char *path,
                                    size_t limit, umbel_error *err)
{
    bool piped = strcmp(path, "-") == 0;
    int fd = piped ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    umbel_error inner;

    *c = (um_content){.limit = limit};
    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = take_any(fd, c, &inner);
    if (!piped)
        close(fd);
    return conclude(c, status, path, &inner, err);
}

/* Room for what is made here. */
static umbel_status begin(um_content *c, size_t room, umbel_error *err)
{
    *c = (um_content){.bytes = malloc(room), .cap = room};
    if (!c->bytes)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", room);
    return UMBEL_OK;
}

umbel_status um_content_encode(um_content *c, const umbel_filter *f,
                               umbel_error *err)
{
    umbel_status status = begin(c, umbel_encoded_len(f), err);

    if (status == UMBEL_OK)
        status = umbel_encode(f, c->bytes, c->cap, &c->len, err);
    if (status != UMBEL_OK)
        um_content_fini(c);
    return status;
}

umbel_status um_content_diff(um_content *c, const umbel_filter *old,
                             const umbel_filter *now, umbel_diff_result *bill,
                             umbel_error *err)
{
    umbel_status status = begin(c, umbel_diff_room(now), err);

    if (status == UMBEL_OK)
        status = umbel_diff(old, now, c->bytes, c->cap, bill, err);
    if (status == UMBEL_OK)
        c->len = (size_t)bill->bytes;
    else
        um_content_fini(c);
    return status;
}

static umbel_status digest_all(int fd, const char *path,
                               uint8_t out[UM_DIGEST_LEN], uint64_t *len,
                               umbel_error *err)
{
    uint8_t part[1 << 16];
    crypto_generichash_state state; /* as of um_digest_of */
    ssize_t got;

    *len = 0;
    crypto_generichash_init(&state, NULL, 0, UM_DIGEST_LEN);
    while ((got = read(fd, part, sizeof part)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return um_fail_path(err, path);
        crypto_generichash_update(&state, part, (size_t)got);
        *len += (uint64_t)got;
    }
    crypto_generichash_final(&state, out, UM_DIGEST_LEN);
    return UMBEL_OK;
}

umbel_status um_content_digest(const char *path, uint8_t out[UM_DIGEST_LEN],
                               uint64_t *len, umbel_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = digest_all(fd, path, out, len, err);
    close(fd);
    return status;
}

um_name_text um_name_of(const umbel_filter *f)
{
    uint8_t name[UMBEL_CONTENT_LEN];
    um_name_text out = {""};

    umbel_content_name(f, name);
    um_digest_text(name, out.text);
    return out;
}
