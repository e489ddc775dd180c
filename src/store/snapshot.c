/*
 * snapshot.c - the files snapshot-N: the store's state at one moment.
 *
 * A head, then the state as one stream of bytes, cut into pieces with a
 * checksum each. Written as snapshot-N.new and renamed when it is complete and
 * durable, so a file of that name is complete, unless it was damaged later.
 *
 *     head    magic 8, version 4, length 4, number 8, secret's id 8, block 8,
 *             time 8, lists 4, has times 4, checksum of these 56 bytes 8
 *     piece   length 4, last 4 (0 or 1), checksum 8, bytes
 *
 * The checksum of a piece is seeded with its number, so that pieces cannot be
 * exchanged. A piece fits into the processor's cache, so its checksum costs
 * little.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SUMMED = 56,
    /* A single sync at the end would delay those of the journal. With a pause
     * after each of these, a snapshot is written at about 30 MB/s, and its load
     * on the server is spread over seconds. */
    SYNC_EVERY = 8 << 20
};

static const char magic[8] = "umbelsnp";

/* --- streams -------------------------------------------------------------- */

umbel_status um_sink_write(const um_sink *to, const void *bytes, size_t len,
                           umbel_error *err)
{
    return len ? to->write(to->ctx, bytes, len, err) : UMBEL_OK;
}

umbel_status um_feed_get(um_feed *from, void *out, size_t len, umbel_error *err)
{
    if (len > from->left)
        return um_fail(err, UMBEL_E_FORMAT,
                       "cut short: %zu bytes needed, %" PRIu64 " left", len,
                       from->left);
    if (len)
        UM_TRY(from->read(from->ctx, out, len, err));
    from->left -= len;
    return UMBEL_OK;
}

/* --- the head ------------------------------------------------------------- */

static void encode_head(const um_snapshot_head *h,
                        uint8_t out[UM_SNAPSHOT_HEAD])
{
    um_writer w = {out, out + UM_SNAPSHOT_HEAD, false};

    um_write_bytes(&w, magic, sizeof magic);
    um_write_u32(&w, UM_SNAPSHOT_VERSION);
    um_write_u32(&w, UM_SNAPSHOT_HEAD);
    um_write_u64(&w, h->number);
    um_write_u64(&w, h->secret_id);
    um_write_u64(&w, h->seq);
    um_write_u64(&w, h->time);
    um_write_u32(&w, h->lists);
    um_write_u32(&w, h->has_times);
    um_write_u64(&w, um_checksum(out, SUMMED));
}

static umbel_status decode_head(const uint8_t *bytes, size_t len,
                                um_snapshot_head *out, umbel_error *err)
{
    um_reader r = {bytes, bytes + len, false};
    char found[sizeof magic];

    um_get_bytes(&r, found, sizeof found);
    uint32_t version = um_get_u32(&r), length = um_get_u32(&r);
    um_snapshot_head h = {.number = um_get_u64(&r),
                          .secret_id = um_get_u64(&r),
                          .seq = um_get_u64(&r),
                          .time = um_get_u64(&r),
                          .lists = um_get_u32(&r)};
    uint32_t times = um_get_u32(&r);
    uint64_t sum = um_get_u64(&r);
    if (r.bad || memcmp(found, magic, sizeof magic) != 0)
        return um_fail(err, UMBEL_E_FORMAT, "not a snapshot, or cut short");
    if (version != UM_SNAPSHOT_VERSION)
        return um_fail(
            err, UMBEL_E_VERSION,
            "snapshot version %u is not supported; this program reads version "
            "%d: use the program that wrote it",
            version, UM_SNAPSHOT_VERSION);
    if (length != UM_SNAPSHOT_HEAD || times > 1 ||
        sum != um_checksum(bytes, SUMMED))
        return um_fail(err, UMBEL_E_CHECKSUM, "the head is damaged");
    h.has_times = times == 1;
    *out = h;
    return UMBEL_OK;
}

/* --- writing -------------------------------------------------------------- */

static void write_bytes(um_snapshot_writer *w, const void *bytes, size_t len)
{
    const um_disk_ops *ops = w->disk->ops;

    if (w->number == 0)
        w->number = ops->write(w->disk, w->file, w->at, bytes, len);
    w->at += len;
    if (w->number == 0 && w->at - w->synced >= SYNC_EVERY) {
        w->number = ops->sync(w->disk, w->file);
        w->synced = w->at;
        if (ops->rest)
            ops->rest(w->disk);
    }
}

static void write_piece(um_snapshot_writer *w, bool last)
{
    um_writer head = {w->buffer, w->buffer + UM_PIECE_HEAD, false};

    um_write_u32(&head, (uint32_t)w->used);
    um_write_u32(&head, last);
    um_write_u64(&head,
                 um_xxh3_any(w->buffer + UM_PIECE_HEAD, w->used, w->piece++));
    write_bytes(w, w->buffer, UM_PIECE_HEAD + w->used);
    w->used = 0;
}

static umbel_status write_stream(void *ctx, const void *bytes, size_t len,
                                 umbel_error *err)
{
    um_snapshot_writer *w = ctx;
    const uint8_t *from = bytes;

    while (len && w->number == 0) {
        size_t space = UM_PIECE_MAX - w->used, n = len < space ? len : space;
        memcpy(w->buffer + UM_PIECE_HEAD + w->used, from, n);
        w->used += n;
        from += n;
        len -= n;
        if (w->used == UM_PIECE_MAX)
            write_piece(w, false);
    }
    return um_disk_status(w->number, w->name, err);
}

umbel_status um_snapshot_create(um_snapshot_writer *w, um_disk *disk,
                                const um_snapshot_head *head, umbel_error *err)
{
    uint8_t bytes[UM_SNAPSHOT_HEAD];
    char new[UM_DISK_NAME];

    *w = (um_snapshot_writer){.disk = disk, .file = -1};
    w->sink = (um_sink){w, write_stream};
    snprintf(w->name, sizeof w->name, "snapshot-%" PRIu64, head->number);
    snprintf(new, sizeof new, "snapshot-%" PRIu64 ".new", head->number);
    w->buffer = malloc(UM_PIECE_HEAD + UM_PIECE_MAX);
    if (!w->buffer)
        return um_no_memory(err, UM_PIECE_HEAD + UM_PIECE_MAX);
    w->number = disk->ops->open(disk, new, UM_DISK_CREATE, &w->file);
    if (w->number) {
        w->file = -1;
        return um_disk_status(w->number, new, err);
    }
    encode_head(head, bytes);
    write_bytes(w, bytes, sizeof bytes);
    return um_disk_status(w->number, new, err);
}

umbel_status um_snapshot_finish(um_snapshot_writer *w, umbel_error *err)
{
    write_piece(w, true);
    if (w->number == 0)
        w->number = um_disk_finish(w->disk, w->file, w->name);
    UM_TRY(um_disk_status(w->number, w->name, err));
    w->disk->ops->close(w->disk, w->file);
    w->file = -1;
    return UMBEL_OK;
}

void um_snapshot_writer_fini(um_snapshot_writer *w)
{
    char new[UM_DISK_NAME + 4];

    if (w->file >= 0) {
        snprintf(new, sizeof new, "%s.new", w->name);
        w->disk->ops->close(w->disk, w->file);
        w->disk->ops->remove(w->disk, new);
    }
    free(w->buffer);
    *w = (um_snapshot_writer){.file = -1};
}

/* --- reading -------------------------------------------------------------- */

static umbel_status read_bytes(um_snapshot_reader *r, void *out, size_t len,
                               size_t *got, umbel_error *err)
{
    int number = r->disk->ops->read(r->disk, r->file, r->at, out, len, got);

    r->at += *got;
    return um_disk_status(number, "read", err);
}

/* Reads the head of the next piece: its length and checksum. */
static umbel_status read_piece_head(um_snapshot_reader *r, size_t *len,
                                    uint64_t *sum, umbel_error *err)
{
    uint8_t bytes[UM_PIECE_HEAD];
    um_reader head = {bytes, bytes + sizeof bytes, false};
    size_t got = 0;

    UM_TRY(read_bytes(r, bytes, sizeof bytes, &got, err));
    *len = um_get_u32(&head);
    uint32_t last = um_get_u32(&head);
    *sum = um_get_u64(&head);
    if (got < sizeof bytes)
        return um_fail(err, UMBEL_E_FORMAT, "cut short after %" PRIu64 " bytes",
                       r->at);
    if (r->last || *len > UM_PIECE_MAX || last > 1 ||
        (last == 0 && *len != UM_PIECE_MAX))
        return um_fail(err, UMBEL_E_FORMAT, "damaged at byte %" PRIu64, r->at);
    r->last = last == 1;
    return UMBEL_OK;
}

static umbel_status read_piece_bytes(um_snapshot_reader *r, uint8_t *out,
                                     size_t len, uint64_t sum, umbel_error *err)
{
    size_t got = 0;

    UM_TRY(read_bytes(r, out, len, &got, err));
    if (got < len || um_xxh3_any(out, len, r->piece++) != sum)
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "damaged, or cut short, before byte %" PRIu64, r->at);
    return UMBEL_OK;
}

/*
 * Reads the next piece: directly to out if it fits there, setting *direct to
 * its length, otherwise into the buffer.
 */
static umbel_status read_piece(um_snapshot_reader *r, uint8_t *out,
                               size_t space, size_t *direct, umbel_error *err)
{
    size_t len;
    uint64_t sum;

    UM_TRY(read_piece_head(r, &len, &sum, err));
    *direct = len <= space ? len : 0;
    r->used = 0;
    r->len = len - *direct;
    return read_piece_bytes(r, *direct ? out : r->buffer, len, sum, err);
}

static umbel_status get_stream(void *ctx, void *out, size_t len,
                               umbel_error *err)
{
    um_snapshot_reader *r = ctx;
    uint8_t *to = out;

    while (len) {
        size_t here = r->len - r->used, n = len < here ? len : here;
        memcpy(to, r->buffer + r->used, n);
        r->used += n;
        to += n;
        len -= n;
        if (len == 0)
            break;
        UM_TRY(read_piece(r, to, len, &n, err));
        to += n;
        len -= n;
    }
    return UMBEL_OK;
}

umbel_status um_snapshot_open(um_snapshot_reader *r, um_disk *disk,
                              const char *name, umbel_error *err)
{
    uint8_t bytes[UM_SNAPSHOT_HEAD];
    size_t got = 0;

    *r = (um_snapshot_reader){.disk = disk, .file = -1};
    r->buffer = malloc(UM_PIECE_MAX);
    if (!r->buffer)
        return um_no_memory(err, UM_PIECE_MAX);
    int number = disk->ops->open(disk, name, UM_DISK_READ, &r->file);
    if (number) {
        r->file = -1;
        return um_disk_status(number, "open", err);
    }
    number = disk->ops->size(disk, r->file, &r->size);
    UM_TRY(um_disk_status(number, "open", err));
    UM_TRY(read_bytes(r, bytes, sizeof bytes, &got, err));
    UM_TRY(decode_head(bytes, got, &r->head, err));
    r->feed = (um_feed){r, get_stream, r->size - r->at, true};
    return UMBEL_OK;
}

umbel_status um_snapshot_check_end(um_snapshot_reader *r, umbel_error *err)
{
    size_t none;

    if (!r->last && r->used == r->len) /* the last piece may be empty */
        UM_TRY(read_piece(r, NULL, 0, &none, err));
    if (!r->last || r->used != r->len || r->at != r->size)
        return um_fail(err, UMBEL_E_FORMAT, "has bytes behind the state");
    return UMBEL_OK;
}

void um_snapshot_reader_fini(um_snapshot_reader *r)
{
    if (r->file >= 0)
        r->disk->ops->close(r->disk, r->file);
    free(r->buffer);
    *r = (um_snapshot_reader){.file = -1};
}
