/*
 * foreign.c - arbitrary files in other programs' filter formats, plain or
 * compressed.
 *
 * The input is such a file. It is imported as it is, and once more after
 * compressing it here, because a fuzzer cannot guess gzip's checksum. Exporting
 * an imported filter must give the same bytes.
 */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include "build/build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { LIMIT = 1 << 20 }; /* of memory */

static umbel_status import(const char *format, const void *bytes, size_t len,
                           umbel_filter **out)
{
    umbel_error err;
    umbel_status status = um_import(format, bytes, len, LIMIT, out, &err);

    UM_WANT((status == UMBEL_OK) == (*out != NULL));
    if (status != UMBEL_OK)
        um_fuzz_check_error(status, &err);
    return status;
}

/* Checks that exporting gives the bytes that were imported. */
static void expect_same_bytes(const umbel_filter *f, const char *format,
                              const uint8_t *data, size_t len)
{
    uint8_t *again = malloc(len);
    int fd = memfd_create("umbel", MFD_CLOEXEC);
    uint64_t again_len, least;

    if (!again || fd < 0)
        abort();
    UM_WANT(umbel_import_len(format, data, len, &least, NULL) == UMBEL_OK);
    UM_WANT(umbel_export_len(f, format, &again_len, NULL) == UMBEL_OK);
    UM_WANT(again_len == len && least <= len);
    UM_WANT(umbel_export_to(f, format, fd, NULL) == UMBEL_OK);
    UM_WANT(pread(fd, again, len, 0) == (ssize_t)len);
    UM_WANT(memcmp(again, data, len) == 0);
    close(fd);
    free(again);
}

static size_t compress_input(const uint8_t *data, size_t len, uint8_t **out)
{
    enum { GZIP = 15 + 16, LEVEL = 1, MEMORY = 1 };
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len};

    if (deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP, MEMORY, 0) != Z_OK)
        abort();
    z.avail_out = (uInt)deflateBound(&z, len);
    z.next_out = *out = malloc(z.avail_out);
    if (!*out || deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    size_t n = z.total_out;
    deflateEnd(&z);
    return n;
}

/*
 * Checks that the compressed file imports as the same filter, or is rejected
 * like the plain one.
 */
static void expect_unpacked(const char *format, const uint8_t *data, size_t len,
                            const umbel_filter *plain)
{
    umbel_filter *f = NULL;
    uint8_t *packed;
    size_t n = compress_input(data, len, &packed);

    import(format, packed, n, &f);
    UM_WANT((f != NULL) == (plain != NULL));
    if (f)
        UM_WANT(umbel_payload_checksum(f) == umbel_payload_checksum(plain));
    umbel_close(f);
    free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    bool packed = len >= 2 && data[0] == 0x1F && data[1] == 0x8B;
    const char *format;

    for (size_t i = 0; umbel_foreign_at(i, &format, NULL); i++) {
        umbel_filter *f = NULL;
        import(format, len ? data : (const uint8_t *)"", len, &f);
        if (f && !packed && um_fuzz_one_in(4, data, len))
            expect_same_bytes(f, format, data, len);
        if (!packed && um_fuzz_one_in(16, data, len))
            expect_unpacked(format, data, len, f);
        if (f)
            um_fuzz_use(f, um_fuzz_effort_for(data, len));
        umbel_close(f);
    }
    return 0;
}
