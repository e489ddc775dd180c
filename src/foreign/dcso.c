/*
 * dcso.c - files of DCSO's bloom, flor and fleur.
 *
 *     0  version 1  n  p  k  m  N       8 bytes each, little-endian; p a double
 *    48  m bits in words of 8 bytes, the rest of the last one zero
 *    --  user data, to the end
 *
 * n and p are the requested number of keys and error, N is the number of new
 * keys. Bit i of the file is bit i % 64 of word i / 64, which is our bit i.
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "filter/envelope.h"
#include "filter/sizing.h"
#include "foreign/internal.h"

#include <inttypes.h>
#include <string.h>

enum { VERSION = 1, HEAD_LEN = 48 };

static uint64_t words_len(uint64_t bits)
{
    return (bits + 63) / 64 * 8;
}

/* Reads the parameters from the head, before anything is allocated. */
static umbel_status read_head(const uint8_t *bytes, size_t len, umbel_params *p,
                              uint64_t *added, umbel_error *err)
{
    um_reader r = {bytes, bytes + len, false};
    uint64_t version = um_get_u64(&r);

    p->capacity = um_get_u64(&r);
    p->fpr = um_get_f64(&r);
    uint64_t hashes = um_get_u64(&r);
    p->cells = um_get_u64(&r);
    *added = um_get_u64(&r);
    if (r.bad || version != VERSION)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a DCSO file: it does not begin like one");
    if (hashes < 1 || hashes > UM_MAX_HASHES || p->cells < 2 ||
        p->cells > UM_MAX_CELLS || p->capacity > UM_MAX_CELLS ||
        !(p->fpr > 0 && p->fpr < 1))
        return um_fail(err, UMBEL_E_FORMAT,
                       "a DCSO file of %" PRIu64 " bits, %" PRIu64
                       " hashes, %" PRIu64 " keys and error %g: umbel takes "
                       "2 to 2^48 bits, 1 to 64 hashes, up to 2^48 keys and an "
                       "error between 0 and 1",
                       p->cells, hashes, p->capacity, p->fpr);
    p->hashes = (uint32_t)hashes;
    return UMBEL_OK;
}

static umbel_status least(const uint8_t *bytes, size_t len, uint64_t *out,
                          umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    uint64_t added;

    UM_TRY(read_head(bytes, len, &p, &added, err));
    *out = HEAD_LEN + words_len(p.cells);
    return UMBEL_OK;
}

static umbel_status fill(umbel_filter *f, const uint8_t *bytes, size_t len,
                         umbel_error *err)
{
    uint64_t words = words_len(f->layout.cells), over = f->layout.cells % 64;
    const uint8_t *data = bytes + words;

    if (over && um_load64(data - 8) >> over)
        return um_fail(err, UMBEL_E_FORMAT,
                       "damaged: bits are set behind the last one");
    memcpy(f->payload, bytes, (size_t)words);
    if (len == words)
        return UMBEL_OK;
    return umbel_set_data(f, data, len - (size_t)words, err);
}

static umbel_status import(const uint8_t *bytes, size_t len,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;
    uint64_t added = 0;

    UM_TRY(read_head(bytes, len, &p, &added, err));
    if (len - HEAD_LEN < words_len(p.cells))
        return um_fail(err, UMBEL_E_FORMAT,
                       "cut short: %zu of at least %" PRIu64 " bytes", len,
                       HEAD_LEN + words_len(p.cells));
    UM_TRY(um_foreign_limit(len, source, err));
    p.addressing = "dcso";
    p.key_form = UMBEL_KEYS_UNRECORDED; /* the format does not record it */
    p.alloc = source->alloc;
    UM_TRY(umbel_create("bloom", &p, &f, err));
    f->added = added;
    umbel_status status = fill(f, bytes + HEAD_LEN, len - HEAD_LEN, err);
    if (status == UMBEL_OK)
        *out = f;
    else
        umbel_close(f);
    return status;
}

static umbel_status check(const um_shape *s, umbel_error *err)
{
    if (!um_has_bits(s->kind) || strcmp(s->addressing->name, "dcso") != 0)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a DCSO file has other cells: build the filter with "
                       "--kind bloom --addressing dcso (this is %s, %s)",
                       s->kind->name, s->addressing->name);
    return UMBEL_OK;
}

static umbel_status part(const umbel_filter *f, uint8_t head[UM_FOREIGN_HEAD],
                         umbel_slice parts[UM_FOREIGN_PARTS], size_t *n,
                         umbel_error *err)
{
    const um_shape *s = um_shape_of(f);
    um_writer w = {head, head + HEAD_LEN, false};

    UM_TRY(check(s, err));
    um_write_u64(&w, VERSION);
    um_write_u64(&w, s->capacity);
    um_write_f64(&w, s->fpr);
    um_write_u64(&w, s->hashes);
    um_write_u64(&w, s->cells);
    um_write_u64(&w, s->added);
    parts[0] = (umbel_slice){head, HEAD_LEN};
    parts[1] = (umbel_slice){f->payload, (size_t)words_len(s->cells)};
    parts[2] = umbel_data(f);
    *n = 3;
    return UMBEL_OK;
}

const um_foreign um_foreign_dcso = {
    .name = "dcso",
    .summary =
        "files of DCSO's bloom, flor and fleur: a Bloom filter with capacity, "
        "error, number of keys and data; read and written, compared byte for "
        "byte with bloom and flor",
    .least = least,
    .import = import,
    .part = part,
};
