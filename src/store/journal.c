/*
 * journal.c - heads, blocks, and the walk over a file of them.
 *
 *     head    magic 8, version 4, length 4, number 8, secret's id 8,
 *             lists' id 8, checksum of these 40 bytes 8
 *             mark: offset 8, its checksum 8
 *     block   magic 4, length of records 4, number 8, durable number 8, time 8,
 *             checksum of the records 8, checksum of these 40 bytes 8
 *             records
 *
 * The head of a block has a checksum of its own so that one can be found in
 * the rest of a damaged file without reading what it claims to be followed by.
 */
#include "store/journal.h"

#include "base/error.h"
#include "base/hash.h"
#include "store/disk.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_MAGIC UINT32_C(0x6b636c62) /* "blck" */

enum { SUMMED = 40, WINDOW = 2 * (UM_BLOCK_HEAD + UM_BLOCK_MAX) };

static const char magic[8] = "umbeljrn";

void um_journal_mark_encode(uint64_t mark, uint8_t out[UM_JOURNAL_MARK])
{
    um_store64(out, mark);
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
    um_journal_mark_encode(UM_JOURNAL_HEAD, w.at);
}

static uint64_t get_mark(const uint8_t *bytes)
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
    if (version != UM_JOURNAL_VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "a journal of version %u; this program reads version "
                       "%d: use the program that wrote it",
                       version, UM_JOURNAL_VERSION);
    if (length != UM_JOURNAL_HEAD || sum != um_checksum(bytes, SUMMED))
        return um_fail(err, UMBEL_E_CHECKSUM, "the head is damaged");
    h.mark = get_mark(bytes + UM_JOURNAL_MARK_AT);
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

/* Reads the head of a block, of which UM_BLOCK_HEAD bytes are there. */
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

/* Fills the buffer from w->at on, if less than want bytes of it are there. */
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

    *damaged = w->head.mark > bad;
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
