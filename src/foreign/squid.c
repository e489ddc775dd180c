/*
 * squid.c - Squid's cache digests: the objects that a cache holds.
 *
 *     0  u16 version 5  u16 required version 3
 *     4  u32 capacity  u32 entries  u32 deleted entries
 *    16  u32 bytes of the mask: (capacity * bits per entry + 7) / 8
 *    20  u8 bits per entry  u8 hash functions, always 4  u16 reserved
 *    24  104 bytes reserved, zero
 *   128  mask; cell i is bit i % 8 of byte i / 8
 *
 * all big-endian. A key is a byte for the method (1: GET) and the URL; its MD5
 * gives four numbers of 32 bits, each modulo the number of cells: addressing
 * chunks-md5 with 4 functions. Deleted entries leave their cells set; if there
 * are any, their number is kept as data of 4 bytes.
 */
#include "base/error.h"
#include "filter/envelope.h"
#include "foreign/internal.h"

#include <inttypes.h>
#include <string.h>

enum {
    HEAD_LEN = 128,
    VERSION = 5,
    REQUIRED = 3,
    FUNCTIONS = 4,
    USUAL_BITS = 5, /* per entry, Squid's default */
    DELETED_LEN = 4
};

typedef struct digest_head {
    uint32_t version, required, capacity, entries, deleted, mask;
    uint8_t bits, functions;
    bool reserved; /* bytes that must be 0 are not */
} digest_head;

static uint32_t load_be(const uint8_t *at, size_t len)
{
    uint32_t x = 0;

    for (size_t i = 0; i < len; i++)
        x = x << 8 | at[i];
    return x;
}

static void store_be(uint8_t *at, size_t len, uint64_t x)
{
    for (size_t i = 0; i < len; i++)
        at[i] = (uint8_t)(x >> 8 * (len - 1 - i));
}

static uint64_t mask_len(uint64_t capacity, uint64_t bits)
{
    return (capacity * bits + 7) / 8;
}

static umbel_status read_head(const uint8_t *bytes, size_t len, digest_head *h,
                              umbel_error *err)
{
    if (len < HEAD_LEN)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a cache digest of Squid: its head has %d bytes",
                       HEAD_LEN);
    *h = (digest_head){.version = load_be(bytes, 2),
                       .required = load_be(bytes + 2, 2),
                       .capacity = load_be(bytes + 4, 4),
                       .entries = load_be(bytes + 8, 4),
                       .deleted = load_be(bytes + 12, 4),
                       .mask = load_be(bytes + 16, 4),
                       .bits = bytes[20],
                       .functions = bytes[21]};
    for (size_t i = 22; i < HEAD_LEN; i++)
        h->reserved |= bytes[i] != 0;
    if (h->version != VERSION || h->required != REQUIRED || h->reserved)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a cache digest of Squid, or of another version "
                       "than %d",
                       VERSION);
    if (h->functions != FUNCTIONS || !h->bits || !h->capacity ||
        h->mask != mask_len(h->capacity, h->bits))
        return um_fail(err, UMBEL_E_FORMAT,
                       "a damaged cache digest: a mask of %" PRIu32
                       " bytes for %" PRIu32
                       " entries of %u bits and %u hashes: Squid's has "
                       "(entries * bits + 7) / 8 bytes and %d hashes",
                       h->mask, h->capacity, h->bits, h->functions, FUNCTIONS);
    return UMBEL_OK;
}

static umbel_status least(const uint8_t *bytes, size_t len, uint64_t *out,
                          umbel_error *err)
{
    digest_head h;

    UM_TRY(read_head(bytes, len, &h, err));
    *out = HEAD_LEN + (uint64_t)h.mask;
    return UMBEL_OK;
}

static umbel_status import(const uint8_t *bytes, size_t len,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_status status = UMBEL_OK;
    umbel_filter *f;
    digest_head h;

    UM_TRY(read_head(bytes, len, &h, err));
    uint64_t want = HEAD_LEN + (uint64_t)h.mask;
    if (len != want)
        return um_fail(
            err, UMBEL_E_FORMAT,
            "%s: %zu bytes, and its head promises %" PRIu64 ": fetch it again",
            len < want ? "cut short" : "something follows its mask", len, want);
    UM_TRY(um_foreign_limit(len, source, err));
    p.addressing = "chunks-md5";
    p.key_form = UMBEL_KEYS_UNRECORDED; /* a method and a URL */
    p.hashes = FUNCTIONS;
    p.cells = 8 * (uint64_t)h.mask;
    p.capacity = h.capacity;
    p.alloc = source->alloc;
    UM_TRY(umbel_create("bloom", &p, &f, err));
    memcpy(f->payload, bytes + HEAD_LEN, h.mask);
    f->added = h.entries;
    f->estimated = true; /* entries may have come back, or be deleted */
    if (h.deleted)
        status = umbel_set_data(f, bytes + 12, DELETED_LEN, err);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}

/* Finds the bits per entry that give this mask, Squid's default if it does; 0:
 * none do. */
static uint64_t bits_per_entry(uint64_t capacity, uint64_t cells)
{
    if (mask_len(capacity, USUAL_BITS) * 8 == cells)
        return USUAL_BITS;
    for (uint64_t bits = 1; bits <= UINT8_MAX; bits++)
        if (mask_len(capacity, bits) * 8 == cells)
            return bits;
    return 0;
}

static umbel_status part(const umbel_filter *f, uint8_t head[UM_FOREIGN_HEAD],
                         umbel_slice parts[UM_FOREIGN_PARTS], size_t *n,
                         umbel_error *err)
{
    const um_shape *s = um_shape_of(f);
    umbel_slice data = umbel_data(f);
    uint64_t capacity = s->capacity ? s->capacity : s->added;

    if (!um_has_bits(s->kind) || s->hashes != FUNCTIONS ||
        strcmp(s->addressing->name, "chunks-md5") != 0)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "Squid has other cells: build the filter with --kind "
                       "bloom --addressing chunks-md5 --hashes 4 (this is %s, "
                       "%s, %" PRIu32 " hashes)",
                       s->kind->name, s->addressing->name, s->hashes);
    uint64_t bits = bits_per_entry(capacity, s->cells);
    if (!bits || capacity > UINT32_MAX || s->added > UINT32_MAX)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a cache digest for %" PRIu64 " entries has a whole "
                       "number of bits for each: build the filter with "
                       "--capacity %" PRIu64 " --bits %" PRIu64,
                       capacity, capacity, 8 * mask_len(capacity, USUAL_BITS));
    if (data.len && data.len != DELETED_LEN)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "Squid has no place for the data that the filter "
                       "carries: remove it with convert --data /dev/null");
    memset(head, 0, HEAD_LEN);
    store_be(head, 2, VERSION);
    store_be(head + 2, 2, REQUIRED);
    store_be(head + 4, 4, capacity);
    store_be(head + 8, 4, s->added);
    if (data.len)
        memcpy(head + 12, data.data, DELETED_LEN);
    store_be(head + 16, 4, s->cells / 8);
    head[20] = (uint8_t)bits;
    head[21] = FUNCTIONS;
    parts[0] = (umbel_slice){head, HEAD_LEN};
    parts[1] = (umbel_slice){f->payload, (size_t)s->cells / 8};
    *n = 2;
    return UMBEL_OK;
}

const um_foreign um_foreign_squid = {
    .name = "squid",
    .summary =
        "cache digests of Squid, which tell siblings what a cache has: a Bloom "
        "filter of 4 functions with capacity and number of entries; read and "
        "written, compared byte for byte with Squid 5.7",
    .least = least,
    .import = import,
    .part = part,
};
