/*
 * spill.c - temporary files without a name.
 *
 * All heaps share one file. It grows by chunks; each belongs to one heap, and
 * next[] links it to the heap's next chunk. The last chunk of a heap stays in
 * memory until it is full.
 */
#define _GNU_SOURCE /* O_TMPFILE, mremap */
#include "base/spill.h"
#include "base/buffer.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- files ------------------------------------------------------------------
 */

static umbel_status fail_in(const char *dir, umbel_error *err)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return um_fail(err, UMBEL_E_IO,
                       "no room for temporary files in %.200s: choose another "
                       "directory with TMPDIR, or allow more memory",
                       dir);
    return um_fail_errno(err, "temporary files in %.200s", dir);
}

/* Opens an unnamed file. On file systems without O_TMPFILE, creates a named one
 * and unlinks it at once. */
static int open_unnamed(const char *dir)
{
    char name[PATH_MAX];
    int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    int len = snprintf(name, sizeof name, "%s/.umbel-XXXXXX", dir);
    if (len < 0 || (size_t)len >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static bool write_at(int fd, const void *data, size_t len, off_t at)
{
    const uint8_t *from = data;

    while (len) {
        ssize_t put = pwrite(fd, from, len, at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        from += put;
        at += put;
        len -= (size_t)put;
    }
    return true;
}

static bool read_at(int fd, void *data, size_t len, off_t at)
{
    uint8_t *to = data;

    while (len) {
        ssize_t got = pread(fd, to, len, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO;
        if (got <= 0)
            return false;
        to += got;
        at += got;
        len -= (size_t)got;
    }
    return true;
}

/* --- records in heaps -------------------------------------------------------
 */

static size_t record_len(const um_spill *s)
{
    return s->words * sizeof(uint64_t);
}

static off_t place_of(const um_spill *s, uint32_t chunk)
{
    return (off_t)(chunk - 1) * (off_t)(s->per_chunk * record_len(s));
}

size_t um_spill_buffers(const um_spill *s)
{
    return s->buffer ? UM_SPILL_HEAPS * s->per_chunk * record_len(s) : 0;
}

umbel_status um_spill_open(um_spill *s, const char *dir, unsigned words,
                           uint64_t memory, umbel_error *err)
{
    uint64_t chunk = memory / UM_SPILL_HEAPS;

    *s = (um_spill){.dir = dir, .words = words};
    if (chunk > UM_SPILL_CHUNK)
        chunk = UM_SPILL_CHUNK;
    if (chunk < UM_SPILL_LEAST_CHUNK)
        chunk = UM_SPILL_LEAST_CHUNK;
    s->per_chunk = (size_t)chunk / record_len(s);
    s->fd = open_unnamed(dir);
    if (s->fd < 0)
        return fail_in(dir, err);
    s->buffer = malloc(UM_SPILL_HEAPS * s->per_chunk * record_len(s));
    if (s->buffer)
        return UMBEL_OK;
    close(s->fd);
    *s = (um_spill){.dir = NULL};
    return um_no_memory(err, memory);
}

void um_spill_close(um_spill *s)
{
    if (!s->dir)
        return;
    close(s->fd);
    free(s->buffer);
    free(s->next);
    *s = (um_spill){.dir = NULL};
}

static uint64_t *buffer_of(const um_spill *s, unsigned heap)
{
    return s->buffer + heap * s->per_chunk * s->words;
}

/* Appends a chunk to the file as the next one of this heap. */
static bool append_chunk(um_spill *s, unsigned heap)
{
    if (s->nchunks == UINT32_MAX - 1) {
        errno = EFBIG;
        return false;
    }
    if (!um_array_reserve(&s->next, &s->cap, s->nchunks + 1, sizeof *s->next))
        return false;
    s->next[s->nchunks++] = 0;
    uint32_t chunk = (uint32_t)s->nchunks;
    if (s->last[heap])
        s->next[s->last[heap] - 1] = chunk;
    else
        s->first[heap] = chunk;
    s->last[heap] = chunk;
    return true;
}

static umbel_status write_buffer(um_spill *s, unsigned heap, size_t n,
                                 umbel_error *err)
{
    if (!append_chunk(s, heap) ||
        !write_at(s->fd, buffer_of(s, heap), n * record_len(s),
                  place_of(s, s->last[heap])))
        return fail_in(s->dir, err);
    return UMBEL_OK;
}

umbel_status um_spill_add(um_spill *s, unsigned heap, const uint64_t *record,
                          umbel_error *err)
{
    size_t at = (size_t)(s->count[heap] % s->per_chunk);
    uint64_t *to = buffer_of(s, heap) + at * s->words;

    for (unsigned i = 0; i < s->words; i++)
        to[i] = record[i];
    s->count[heap]++;
    s->n++;
    return at + 1 < s->per_chunk ? UMBEL_OK
                                 : write_buffer(s, heap, s->per_chunk, err);
}

umbel_status um_spill_end(um_spill *s, umbel_error *err)
{
    for (unsigned heap = 0; heap < UM_SPILL_HEAPS; heap++) {
        size_t some = (size_t)(s->count[heap] % s->per_chunk);
        if (some)
            UM_TRY(write_buffer(s, heap, some, err));
    }
    free(s->buffer);
    s->buffer = NULL;
    return UMBEL_OK;
}

uint64_t um_spill_largest(const um_spill *s)
{
    uint64_t most = 0;

    for (unsigned heap = 0; heap < UM_SPILL_HEAPS; heap++)
        most = s->count[heap] > most ? s->count[heap] : most;
    return most;
}

um_spill_walk um_spill_begin(um_spill *s, unsigned heap)
{
    return (um_spill_walk){s, heap, s->first[heap], s->count[heap]};
}

umbel_status um_spill_read(um_spill_walk *w, uint64_t *records, size_t *n,
                           umbel_error *err)
{
    const um_spill *s = w->spill;

    *n = w->left < s->per_chunk ? (size_t)w->left : s->per_chunk;
    if (!*n)
        return UMBEL_OK;
    if (!read_at(s->fd, records, *n * record_len(s), place_of(s, w->chunk)))
        return fail_in(s->dir, err);
    w->chunk = s->next[w->chunk - 1];
    w->left -= *n;
    return UMBEL_OK;
}

umbel_status um_spill_write(um_spill_walk *w, const uint64_t *records, size_t n,
                            umbel_error *err)
{
    const um_spill *s = w->spill;

    if (!write_at(s->fd, records, n * record_len(s), place_of(s, w->chunk)))
        return fail_in(s->dir, err);
    w->chunk = s->next[w->chunk - 1];
    w->left -= n;
    return UMBEL_OK;
}

void um_spill_cut(um_spill_walk *w)
{
    w->spill->count[w->heap] -= w->left;
    w->spill->n -= w->left;
    w->left = 0;
}

/* --- memory in a file -------------------------------------------------------
 */

umbel_status um_spool_open(um_spool *s, const char *dir, umbel_error *err)
{
    int fd = open_unnamed(dir);

    if (fd < 0)
        return fail_in(dir, err);
    *s = (um_spool){.dir = dir, .fd = fd};
    return UMBEL_OK;
}

umbel_status um_spool_resize(um_spool *s, size_t len, umbel_error *err)
{
    void *memory;

    if (len > s->len) {
        errno = posix_fallocate(s->fd, 0, (off_t)len);
        if (errno)
            return fail_in(s->dir, err);
    }
    if (s->memory)
        memory = mremap(s->memory, s->len, len, MREMAP_MAYMOVE);
    else
        memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (memory == MAP_FAILED)
        return um_no_memory(err, len);
    s->memory = memory;
    s->len = len;
    return UMBEL_OK;
}

void um_spool_drop(const void *at, size_t len)
{
    uintptr_t past = (uintptr_t)at % (uintptr_t)sysconf(_SC_PAGESIZE);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is written there */
    void *from = (void *)((uintptr_t)at - past);

    (void)madvise(from, len + past, MADV_DONTNEED); /* a hint: may be refused */
}

uint8_t *um_spool_detach(um_spool *s)
{
    uint8_t *memory = s->memory;

    s->memory = NULL;
    return memory;
}

void um_spool_release(uint8_t *memory, size_t len)
{
    munmap(memory, len);
}

void um_spool_close(um_spool *s)
{
    if (!s->dir)
        return;
    if (s->memory)
        munmap(s->memory, s->len);
    close(s->fd);
    *s = (um_spool){.dir = NULL};
}
