/*
 * load.c - loading from a file, a descriptor or a pipe gives the same result as
 * decoding the bytes.
 *
 * umbel_load and umbel_map of a file must agree with umbel_decode of its bytes,
 * in status and in the filter. Where the length is not known beforehand
 * (umbel_read, a pipe), both succeed or both fail, but the status may differ.
 */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include "base/error.h"
#include "filter/handle.h"

#include <umbel/build.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIPE_ROOM = 16384 }; /* fits into any pipe, so writing does not wait */

/* Sources that differ in what they reject. */
typedef struct way {
    bool verify, secret;
    uint64_t limit;
} way;

static const way ways[] = {
    {.verify = false},
    {.verify = true},
    {.limit = 128},
    {.secret = true, .verify = true},
};

static umbel_source source_of(const way *w)
{
    umbel_source source = UMBEL_SOURCE_INIT;

    source.verify = w->verify;
    source.memory_limit = w->limit;
    source.secret = w->secret ? um_fuzz_secret : NULL;
    return source;
}

static void path_of(int fd, char path[64])
{
    snprintf(path, 64, "/proc/self/fd/%d", fd);
}

static void expect_equal(const umbel_filter *f, const umbel_filter *decoded)
{
    size_t len, decoded_len;
    uint8_t *a = um_fuzz_encode(f, &len);
    uint8_t *b = um_fuzz_encode(decoded, &decoded_len);

    UM_WANT(len == decoded_len && memcmp(a, b, len) == 0);
    free(a);
    free(b);
}

typedef umbel_status opener(const char *path, const umbel_source *source,
                            umbel_filter **out, umbel_error *err);

static umbel_status compare(opener *open_it, const char *path,
                            const umbel_source *source,
                            const umbel_filter *decoded)
{
    umbel_filter *f = NULL;
    umbel_error err;
    umbel_status status = open_it(path, source, &f, &err);

    UM_WANT((status == UMBEL_OK) == (f != NULL));
    if (status != UMBEL_OK)
        um_fuzz_check_error(status, &err);
    else if (decoded)
        expect_equal(f, decoded);
    umbel_close(f);
    return status;
}

/*
 * Checks that a mapped filter gives the same answers as a copy and rejects
 * changes.
 */
static void use_mapping(const char *path, const umbel_filter *decoded)
{
    umbel_filter *f = NULL;
    bool mapped, copied;

    UM_WANT(umbel_map(path, NULL, &f, NULL) == UMBEL_OK);
    umbel_status refusal =
        umbel_is_static(umbel_kind(f)) ? UMBEL_E_UNSUPPORTED : UMBEL_E_READONLY;
    umbel_status no_merge =
        f->kind->merge ? UMBEL_E_READONLY : UMBEL_E_UNSUPPORTED;
    if (!umbel_coded(f)) { /* otherwise it is a copy in memory */
        UM_WANT(umbel_add(f, "1", 1, NULL, NULL) ==
                (f->kind->add ? refusal : UMBEL_E_UNSUPPORTED));
        UM_WANT(umbel_clear(f, NULL) == refusal);
        UM_WANT(umbel_merge(f, decoded, UMBEL_OR, NULL) == no_merge);
    }
    umbel_status status = umbel_query(f, "1", 1, &mapped, NULL);
    UM_WANT(umbel_query(decoded, "1", 1, &copied, NULL) == status);
    UM_WANT(status != UMBEL_OK || mapped == copied);
    um_fuzz_use(f, UM_FUZZ_LITTLE);
    umbel_close(f);
}

/* Checks that admission from a descriptor and from bytes agree. */
static void admit_descriptor(int fd, const umbel_source *source,
                             const uint8_t *data, size_t len)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_filter *f = NULL, *g = NULL;
    umbel_ruling a, b;

    UM_WANT(umbel_admit_bytes(data, len, source, &wants, &f, &a, NULL) ==
            UMBEL_OK);
    for (int to_end = 0; to_end < 2; to_end++) {
        uint64_t n = to_end ? UMBEL_TO_END : len;
        UM_WANT(lseek(fd, 0, SEEK_SET) == 0);
        UM_WANT(umbel_admit_read(fd, n, source, &wants, &g, &b, NULL) ==
                UMBEL_OK);
        UM_WANT(a.admitted == b.admitted && (f != NULL) == (g != NULL));
        umbel_close(g);
        g = NULL;
    }
    umbel_close(f);
}

/* Checks that reading a descriptor to its end gives the decoded filter. */
static void try_descriptor(int fd, const umbel_source *source,
                           const umbel_filter *decoded)
{
    umbel_filter *f = NULL;

    if (lseek(fd, 0, SEEK_SET) != 0)
        abort();
    umbel_status status = umbel_read(fd, UMBEL_TO_END, source, &f, NULL);
    UM_WANT((status == UMBEL_OK) == (f != NULL));
    UM_WANT((f != NULL) == (decoded != NULL));
    if (f)
        expect_equal(f, decoded);
    umbel_close(f);
}

/* Replaces the content of the one file of this process. */
static int rewrite(const uint8_t *data, size_t len)
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("umbel", MFD_CLOEXEC);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, len, 0) != (ssize_t)len)
        abort();
    return fd;
}

static void try_way(int fd, const way *w, const uint8_t *data, size_t len)
{
    umbel_source source = source_of(w);
    umbel_filter *decoded = NULL;
    char path[64];

    path_of(fd, path);
    umbel_status want = umbel_decode(data, len, &source, &decoded, NULL);
    UM_WANT(compare(umbel_load, path, &source, decoded) == want);
    if (!w->limit) /* a mapping ignores the memory limit */
        UM_WANT(compare(umbel_map, path, &source, decoded) == want);
    if (um_fuzz_one_in(4, data, len)) {
        try_descriptor(fd, &source, decoded);
        if (w == ways && want == UMBEL_OK)
            use_mapping(path, decoded);
        if (um_fuzz_one_in(16, data, len))
            admit_descriptor(fd, &source, data, len);
    }
    umbel_close(decoded);
}

static void try_file(const uint8_t *data, size_t len)
{
    int fd = rewrite(data, len);
    size_t n = um_fuzz_one_in(8, data, len) ? UM_COUNT(ways) : 1;

    for (size_t i = 0; i < n; i++)
        try_way(fd, &ways[i], data, len);
}

static void try_pipe(const uint8_t *data, size_t len)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *decoded = NULL;
    int fd[2];
    char path[64];

    if (pipe(fd) != 0 || write(fd[1], data, len) != (ssize_t)len)
        abort();
    close(fd[1]);
    path_of(fd[0], path);
    umbel_status want = umbel_decode(data, len, &source, &decoded, NULL);
    umbel_status found = compare(umbel_load, path, &source, decoded);
    UM_WANT((want == UMBEL_OK) == (found == UMBEL_OK));
    umbel_close(decoded);
    close(fd[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    try_file(data, len);
    if (len <= PIPE_ROOM && um_fuzz_one_in(8, data, len))
        try_pipe(data, len);
    return 0;
}
