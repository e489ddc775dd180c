/*
 * snapshot.c - arbitrary snapshots.
 *
 * If the first byte of the input is 1, the checksums of the head and of the
 * pieces are corrected. The rest is a file. It is rejected with a line of plain
 * text, or read as a state that does not change when written and read again.
 */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A read-only disk with one file. */
typedef struct one_file {
    um_disk base;
    const uint8_t *bytes;
    size_t len;
} one_file;

static int open_one(um_disk *d, const char *name, um_disk_mode mode, int *file)
{
    (void)d;
    (void)name;
    *file = 0;
    return mode == UM_DISK_READ ? 0 : EROFS;
}

static int size_one(um_disk *d, int file, uint64_t *size)
{
    (void)file;
    *size = ((one_file *)d)->len;
    return 0;
}

static int read_one(um_disk *d, int file, uint64_t at, void *out, size_t len,
                    size_t *got)
{
    const one_file *f = (const one_file *)d;

    (void)file;
    *got = at < f->len ? (len < f->len - at ? len : (size_t)(f->len - at)) : 0;
    if (*got)
        memcpy(out, f->bytes + at, *got);
    return 0;
}

static void close_one(um_disk *d, int file)
{
    (void)d;
    (void)file;
}

static const um_disk_ops ops = {
    .open = open_one, .size = size_one, .read = read_one, .close = close_one};

static void repair(uint8_t *bytes, size_t len)
{
    if (len < UM_SNAPSHOT_HEAD)
        return;
    um_store64(bytes + UM_SNAPSHOT_HEAD - 8,
               um_checksum(bytes, UM_SNAPSHOT_HEAD - 8));
    uint64_t piece = 0;
    for (size_t at = UM_SNAPSHOT_HEAD; len - at >= UM_PIECE_HEAD;) {
        um_reader r = {bytes + at, bytes + len, false};
        size_t n = um_get_u32(&r);
        at += UM_PIECE_HEAD;
        if (n > len - at)
            return;
        um_store64(bytes + at - 8, um_xxh3_any(bytes + at, n, piece++));
        at += n;
    }
}

/* Length and checksum of a written state. */
typedef struct sum {
    uint64_t len, sum;
} sum;

static umbel_status add_sum(void *ctx, const void *bytes, size_t len,
                            umbel_error *err)
{
    sum *s = ctx;

    (void)err;
    for (size_t i = 0; i < len; i++)
        s->sum += um_remix(((const uint8_t *)bytes)[i] + 1);
    s->len += len;
    return UMBEL_OK;
}

static const um_list_config list = {
    .name = "l", .kind = "countmin", .capacity = 1, .error = 0.5, .epochs = 2};

static void read_file(const uint8_t *bytes, size_t len)
{
    one_file file = {{&ops}, bytes, len};
    um_store_config c = {.lists = &list, .nlists = 1};
    uint8_t order[UM_STORE_MAX_LISTS];
    um_state state = {0};
    um_snapshot_reader r;
    umbel_error err;
    sum s = {0, 0};
    um_sink sink = {&s, add_sum};

    umbel_status status = um_snapshot_open(&r, &file.base, "s", &err);
    if (status == UMBEL_OK)
        status = um_state_decode(&state, &c, um_fuzz_secret, &r.feed, &r.head,
                                 order, &err);
    if (status == UMBEL_OK)
        status = um_snapshot_check_end(&r, &err);
    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
    } else {
        state.nlists = state.list[0] != NULL;
        memcpy(state.name[0], list.name, 2);
        UM_WANT(um_state_encode(&state, &sink, &err) == UMBEL_OK);
        UM_WANT(s.len <= len);
    }
    um_snapshot_reader_fini(&r);
    um_state_fini(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 1)
        return 0;
    uint8_t *bytes = malloc(len);
    if (!bytes)
        abort();
    memcpy(bytes, data + 1, len - 1);
    if (data[0] == 1)
        repair(bytes, len - 1);
    read_file(bytes, len - 1);
    free(bytes);
    return 0;
}
