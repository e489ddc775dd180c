/*
 * journal.c - records, heads, blocks, and the walk over a file of them.
 *
 *     head    magic 8, version 4, length 4, number 8, secret's id 8,
 *             lists' id 8, checksum of these 40 bytes 8
 *             durable_end: offset 8, its checksum 8
 *     block   magic 4, length of records 4, number 8, durable number 8, time 8,
 *             checksum of the records 8, checksum of these 40 bytes 8
 *             records
 *
 * The head of a block has its own checksum, so that a block can be found in the
 * rest of a damaged file without reading the records that it announces.
 *
 * Records are multiples of 8 bytes:
 *
 *     type 1, list 1, reporter 2, amount 4, digest 16  a count
 *     type 1, zero 7, request id 8                     a signed request
 *     type 1, list 1, zero 6                           a new epoch of a list,
 *                                                      or another filter
 *     type 1, list 1, bits 1, flag 1, amount 4,
 *         stamp 4, zero 4, digest 16, name 64,
 *         32 shingles of 8, if bit 2 is set            a mail
 *     type 1, zero 1, key length 2, value length 4,
 *         key, value, zeroes up to a multiple of 8     a key that was set or
 *                                                      removed, or set while
 *                                                      all lists were reset
 */
#include "store/journal.h"

#include "base/error.h"
#include "base/hash.h"
#include "store/disk.h"

#include <stdlib.h>
#include <string.h>

/* --- records -------------------------------------------------------------- */

static void write_first(um_writer *w, const um_record *r, unsigned low,
                        uint32_t high)
{
    um_write_u32(w, (uint32_t)r->type | r->list << 8 | low << 16);
    um_write_u32(w, high);
}

static size_t padding(size_t len)
{
    return -len & 7;
}

size_t um_record_kv_len(size_t key_len, size_t value_len)
{
    return 8 + key_len + value_len + padding(key_len + value_len);
}

static void write_kv(um_writer *w, const um_record *r)
{
    static const uint8_t zeroes[8];

    write_first(w, r, (unsigned)r->key.len, (uint32_t)r->value.len);
    if (r->key.len)
        um_write_bytes(w, r->key.data, r->key.len);
    if (r->value.len)
        um_write_bytes(w, r->value.data, r->value.len);
    um_write_bytes(w, zeroes, padding(r->key.len + r->value.len));
}

enum { GONE = 1, RENEWED = 2, SHINGLES = 4 }; /* bits of a mail */

static void write_mail(um_writer *w, const um_record *r)
{
    const um_near_write *m = r->mail;
    unsigned bits = (m->gone ? GONE : 0) | (m->renewed ? RENEWED : 0) |
                    (m->has_shingles ? SHINGLES : 0);

    write_first(w, r, bits | (unsigned)m->flag << 8, (uint32_t)m->amount);
    um_write_u32(w, m->stamp);
    um_write_u32(w, 0);
    um_write_u64(w, m->digest.lo);
    um_write_u64(w, m->digest.hi);
    um_write_bytes(w, m->name, sizeof m->name);
    for (unsigned i = 0; m->has_shingles && i < UM_NEAR_SHINGLES; i++)
        um_write_u64(w, m->shingle[i]);
}

void um_record_encode(const um_record *r, um_writer *w)
{
    switch (r->type) {
    case UM_RECORD_COUNT:
        write_first(w, r, r->reporter, r->amount);
        um_write_u64(w, r->digest.lo);
        um_write_u64(w, r->digest.hi);
        break;
    case UM_RECORD_REQUEST:
        write_first(w, r, 0, 0);
        um_write_u64(w, r->request_id);
        break;
    case UM_RECORD_ADVANCE:
    case UM_RECORD_EXTEND:
        write_first(w, r, 0, 0);
        break;
    case UM_RECORD_SET:
    case UM_RECORD_REMOVE:
    case UM_RECORD_RESET:
        write_kv(w, r);
        break;
    case UM_RECORD_MAIL:
        write_mail(w, r);
        break;
    }
}

static umbel_slice consume(um_reader *from, size_t len)
{
    umbel_slice slice = {from->at, len};

    if ((size_t)(from->end - from->at) < len) {
        from->bad = true;
        return (umbel_slice){NULL, 0};
    }
    from->at += len;
    return slice;
}

static bool get_kv(um_reader *from, um_record *out, size_t key, size_t value)
{
    if (key == 0 || key > UM_KV_KEY_MAX || value > UM_KV_VALUE_MAX ||
        (out->type == UM_RECORD_REMOVE && value != 0))
        return false;
    out->key = consume(from, key);
    out->value = consume(from, value);
    umbel_slice rest = consume(from, padding(key + value));
    return !from->bad && um_all_zero(rest.data, rest.len);
}

static bool get_mail(um_reader *from, um_record *out, unsigned low,
                     uint32_t amount)
{
    size_t len = 8 + 16 + UM_NEAR_NAME;
    um_near_write m;

    out->bits = low;
    out->amount = amount;
    if (low & SHINGLES)
        len += (size_t)8 * UM_NEAR_SHINGLES;
    out->value = consume(from, len);
    if (from->bad || (low & 0xff) > (GONE | RENEWED | SHINGLES))
        return false;
    um_record_mail(out, &m);
    const uint8_t *zero = (const uint8_t *)out->value.data + 4;
    return m.stamp != 0 && um_all_zero(zero, 4);
}

void um_record_mail(const um_record *r, um_near_write *out)
{
    um_reader from = {r->value.data,
                      (const uint8_t *)r->value.data + r->value.len, false};

    *out = (um_near_write){.gone = r->bits & GONE,
                           .renewed = r->bits & RENEWED,
                           .has_shingles = r->bits & SHINGLES,
                           .flag = (uint8_t)(r->bits >> 8),
                           .amount = (int32_t)r->amount};
    out->stamp = um_get_u32(&from);
    um_get_u32(&from);
    out->digest.lo = um_get_u64(&from);
    out->digest.hi = um_get_u64(&from);
    um_get_bytes(&from, out->name, sizeof out->name);
    for (unsigned i = 0; out->has_shingles && i < UM_NEAR_SHINGLES; i++)
        out->shingle[i] = um_get_u64(&from);
}

bool um_record_decode(um_reader *from, um_record *out)
{
    uint32_t first = um_get_u32(from), second = um_get_u32(from);
    unsigned low = first >> 16;

    *out = (um_record){.type = (um_record_type)(first & 0xff),
                       .list = first >> 8 & 0xff};
    switch (out->type) {
    case UM_RECORD_COUNT:
        out->amount = second;
        out->reporter = (uint16_t)low;
        out->digest.lo = um_get_u64(from);
        out->digest.hi = um_get_u64(from);
        return !from->bad;
    case UM_RECORD_REQUEST:
        out->request_id = um_get_u64(from);
        return !from->bad && low == 0 && second == 0 && out->list == 0 &&
               out->request_id != 0;
    case UM_RECORD_ADVANCE:
    case UM_RECORD_EXTEND:
        return !from->bad && low == 0 && second == 0;
    case UM_RECORD_SET:
    case UM_RECORD_REMOVE:
    case UM_RECORD_RESET:
        return !from->bad && out->list == 0 && get_kv(from, out, low, second);
    case UM_RECORD_MAIL:
        return !from->bad && get_mail(from, out, low, second);
    default:
        return false;
    }
}

/* --- heads and blocks ----------------------------------------------------- */

#define BLOCK_MAGIC UINT32_C(0x6b636c62) /* "blck" */

enum { SUMMED = 40, WINDOW = 2 * (UM_BLOCK_HEAD + UM_BLOCK_MAX) };

static const char magic[8] = "umbeljrn";

void um_journal_durable_encode(uint64_t durable_end,
                               uint8_t out[UM_JOURNAL_DURABLE_LEN])
{
    um_store64(out, durable_end);
    um_store64(out + 8, um_checksum(out, 8));
}

void um_journal_head_encode(const um_journal_head *h,
                            uint8_t out[UM_JOURNAL_HEAD])
{
    um_writer w = {out, out + UM_JOURNAL_HEAD, false};

    um_write_bytes(&w, magic, sizeof magic);
    um_write_u32(&w, UM_JOURNAL_VERSION);
    um_write_u32(&w, UM_JOURNAL_HEAD);
    um_write_u64(&w, h->number);
    um_write_u64(&w, h->secret_id);
    um_write_u64(&w, h->lists_id);
    um_write_u64(&w, um_checksum(out, SUMMED));
    um_journal_durable_encode(UM_JOURNAL_HEAD, w.at);
}

static uint64_t get_durable_end(const uint8_t *bytes)
{
    return um_load64(bytes + 8) == um_checksum(bytes, 8) ? um_load64(bytes)
                                                         : UM_JOURNAL_HEAD;
}

umbel_status um_journal_head_decode(const uint8_t *bytes, size_t len,
                                    um_journal_head *out, umbel_error *err)
{
    um_reader r = {bytes, bytes + len, false};
    char found[sizeof magic];

    um_get_bytes(&r, found, sizeof found);
    uint32_t version = um_get_u32(&r), length = um_get_u32(&r);
    um_journal_head h = {.number = um_get_u64(&r),
                         .secret_id = um_get_u64(&r),
                         .lists_id = um_get_u64(&r)};
    uint64_t sum = um_get_u64(&r);
    if (r.bad || len < UM_JOURNAL_HEAD ||
        memcmp(found, magic, sizeof magic) != 0)
        return um_fail(err, UMBEL_E_FORMAT, "not a journal, or cut short");
    if (version < 1 || version > UM_JOURNAL_VERSION)
        return um_fail(
            err, UMBEL_E_VERSION,
            "journal version %u is not supported; this program reads versions "
            "1 to %d: use the program that wrote it",
            version, UM_JOURNAL_VERSION);
    if (length != UM_JOURNAL_HEAD || sum != um_checksum(bytes, SUMMED))
        return um_fail(err, UMBEL_E_CHECKSUM, "the head is damaged");
    h.durable_end = get_durable_end(bytes + UM_JOURNAL_DURABLE_AT);
    *out = h;
    return UMBEL_OK;
}

void um_block_seal(const um_block *b, uint8_t *out)
{
    um_writer w = {out, out + UM_BLOCK_HEAD, false};

    um_write_u32(&w, BLOCK_MAGIC);
    um_write_u32(&w, (uint32_t)b->len);
    um_write_u64(&w, b->seq);
    um_write_u64(&w, b->durable);
    um_write_u64(&w, b->time);
    um_write_u64(&w, um_checksum(out + UM_BLOCK_HEAD, b->len));
    um_write_u64(&w, um_checksum(out, SUMMED));
}

/* Reads the head of a block from UM_BLOCK_HEAD bytes. */
static bool get_block_head(const uint8_t *bytes, um_block *out)
{
    um_reader r = {bytes, bytes + UM_BLOCK_HEAD, false};
    uint32_t found = um_get_u32(&r);

    *out = (um_block){.records = bytes + UM_BLOCK_HEAD};
    out->len = um_get_u32(&r);
    out->seq = um_get_u64(&r);
    out->durable = um_get_u64(&r);
    out->time = um_get_u64(&r);
    return found == BLOCK_MAGIC && out->len <= UM_BLOCK_MAX &&
           out->len % 8 == 0 &&
           um_load64(bytes + SUMMED) == um_checksum(bytes, SUMMED);
}

/* Fills the buffer from w->at on, unless it has `want` bytes from there. */
static umbel_status fill(um_journal_walk *w, size_t want, umbel_error *err)
{
    size_t skip = (size_t)(w->at - w->start);

    if (skip <= w->len && w->len - skip >= want)
        return UMBEL_OK;
    size_t got = 0;
    int number = w->source.read(w->source.ctx, w->at, w->buffer, WINDOW, &got);
    w->start = w->at;
    w->len = number ? 0 : got;
    return um_disk_status(number, "read", err);
}

static const uint8_t *bytes_at(const um_journal_walk *w, size_t *len)
{
    size_t skip = (size_t)(w->at - w->start);

    *len = w->len - skip;
    return w->buffer + skip;
}

umbel_status um_journal_begin(um_journal_walk *w, um_journal_source source,
                              umbel_error *err)
{
    size_t len;

    *w = (um_journal_walk){.source = source, .buffer = malloc(WINDOW)};
    if (!w->buffer)
        return um_no_memory(err, WINDOW);
    UM_TRY(fill(w, UM_JOURNAL_HEAD, err));
    const uint8_t *bytes = bytes_at(w, &len);
    UM_TRY(um_journal_head_decode(bytes, len, &w->head, err));
    w->at = UM_JOURNAL_HEAD;
    return UMBEL_OK;
}

umbel_status um_journal_next(um_journal_walk *w, uint64_t seq, um_block *out,
                             bool *found, umbel_error *err)
{
    size_t len;
    um_block b;

    *found = false;
    UM_TRY(fill(w, UM_BLOCK_HEAD, err));
    const uint8_t *bytes = bytes_at(w, &len);
    if (len < UM_BLOCK_HEAD || !get_block_head(bytes, &b) || b.seq != seq)
        return UMBEL_OK;
    UM_TRY(fill(w, UM_BLOCK_HEAD + b.len, err));
    bytes = bytes_at(w, &len);
    if (len < UM_BLOCK_HEAD + b.len || !get_block_head(bytes, &b) ||
        um_load64(bytes + SUMMED - 8) != um_checksum(b.records, b.len))
        return UMBEL_OK;
    w->at += UM_BLOCK_HEAD + b.len;
    *out = b;
    *found = true;
    return UMBEL_OK;
}

umbel_status um_journal_is_damaged(um_journal_walk *w, uint64_t seq,
                                   bool *damaged, umbel_error *err)
{
    uint64_t bad = w->at;
    um_block b;
    size_t len;

    *damaged = w->head.durable_end > bad;
    while (!*damaged) {
        UM_TRY(fill(w, UM_BLOCK_HEAD, err));
        const uint8_t *bytes = bytes_at(w, &len);
        if (len < UM_BLOCK_HEAD)
            break;
        *damaged = get_block_head(bytes, &b) && b.durable >= seq;
        w->at += 8; /* records are multiples of 8 bytes, and so are blocks */
    }
    w->at = bad;
    w->len = 0;
    w->start = bad;
    return UMBEL_OK;
}

void um_journal_end(um_journal_walk *w)
{
    free(w->buffer);
    w->buffer = NULL;
}
