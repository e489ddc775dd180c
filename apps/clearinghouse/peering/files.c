/*
 * peers_files.c - one file of peers_store.h.
 *
 *     name of a copy   8 hex digits of the origin, "-", 24 of the BLAKE2b hash
 *                      of origin, incarnation, epoch and the list's name
 *     state            magic 8, version 4, zero 4, length 8, checksum 8, bytes
 */
#include "clearinghouse/peering/files.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/coded.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ORIGIN_HEX = 8,
    HASH_LEN = 12,
    HASH_AT = ORIGIN_HEX + 1,
    STEM_LEN = HASH_AT + 2 * HASH_LEN,
    WRITE_BYTES = 1 << 20,
    /* As a snapshot of the store: what it takes from the server is spread. */
    SYNC_BYTES = 8 << 20,
    READ_BYTES = 1 << 16,
    STATE_HEAD = 32,
    STATE_VERSION = 1,
    STATE_MOST = 64 << 20
};

static const char magic[8] = "umbelprs";

/* --- names ---------------------------------------------------------------- */

int um_copy_name_order(const void *a, const void *b)
{
    return strcmp(((const um_copy_name *)a)->text,
                  ((const um_copy_name *)b)->text);
}

void um_copy_name_create(const umbel_sync_copy *c, const char *list,
                         um_copy_name *out)
{
    uint8_t numbers[16], hash[crypto_generichash_BYTES_MIN];
    um_writer w = {numbers, numbers + sizeof numbers, false};
    crypto_generichash_state state;

    um_write_u64(&w, c->incarnation);
    um_write_u64(&w, c->epoch);
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    crypto_generichash_update(&state, c->origin, UMBEL_ORIGIN_LEN);
    crypto_generichash_update(&state, numbers, sizeof numbers);
    crypto_generichash_update(&state, (const uint8_t *)list, strlen(list));
    crypto_generichash_final(&state, hash, sizeof hash);
    sodium_bin2hex(out->text, sizeof out->text, c->origin, ORIGIN_HEX / 2);
    out->text[ORIGIN_HEX] = '-';
    sodium_bin2hex(out->text + HASH_AT, sizeof out->text - HASH_AT, hash,
                   HASH_LEN);
    memcpy(out->text + STEM_LEN, ".umbel", sizeof ".umbel");
}

bool um_copy_name_is(const char *name)
{
    static const char digits[] = "0123456789abcdef";

    return strspn(name, digits) == ORIGIN_HEX && name[ORIGIN_HEX] == '-' &&
           strspn(name + HASH_AT, digits) == STEM_LEN - HASH_AT &&
           strcmp(name + STEM_LEN, ".umbel") == 0;
}

bool um_name_is_unfinished(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && strcmp(name + len - 4, ".new") == 0;
}

/* --- writing -------------------------------------------------------------- */

/* A file that is being written. */
typedef struct writing {
    um_disk *disk;
    int file;
    uint64_t at, synced;
} writing;

static int write_slice(writing *w, umbel_slice s)
{
    const um_disk_ops *ops = w->disk->ops;
    const uint8_t *from = s.data;
    int number = 0;

    for (size_t done = 0, n; done < s.len && !number; done += n) {
        n = s.len - done < WRITE_BYTES ? s.len - done : WRITE_BYTES;
        number = ops->write(w->disk, w->file, w->at, from + done, n);
        w->at += n;
        if (number || w->at - w->synced < SYNC_BYTES)
            continue;
        number = ops->sync(w->disk, w->file);
        w->synced = w->at;
        if (ops->rest)
            ops->rest(w->disk);
    }
    return number;
}

/* Writes parts one after the other as NAME.new, and renames that. */
static int write_file(um_disk *d, const char *name, const umbel_slice *part,
                      size_t nparts)
{
    char new[UM_DISK_NAME];
    writing w = {.disk = d};

    snprintf(new, sizeof new, "%s.new", name);
    int number = d->ops->open(d, new, UM_DISK_CREATE, &w.file);
    if (number)
        return number;
    for (size_t i = 0; i < nparts && !number; i++)
        number = write_slice(&w, part[i]);
    if (!number)
        number = um_disk_finish(d, w.file, name);
    d->ops->close(d, w.file);
    if (number) /* room for others, if the disk is full */
        d->ops->remove(d, new);
    return number;
}

int um_copy_file_write(um_disk *d, const char *name, const umbel_filter *f)
{
    um_parts parts;

    if (um_parts_init(&parts, f, NULL) != UMBEL_OK)
        return ENOMEM;
    int number = write_file(d, name, parts.part, UM_COUNT(parts.part));
    um_parts_fini(&parts, f);
    return number;
}

int um_state_file_write(um_disk *d, umbel_slice bytes)
{
    uint8_t head[STATE_HEAD];
    um_writer w = {head, head + sizeof head, false};

    um_write_bytes(&w, magic, sizeof magic);
    um_write_u32(&w, STATE_VERSION);
    um_write_u32(&w, 0);
    um_write_u64(&w, bytes.len);
    um_write_u64(&w, um_checksum(bytes.data, bytes.len));
    return write_file(d, UM_PEERS_STATE,
                      (umbel_slice[]){{head, sizeof head}, bytes}, 2);
}

/* --- reading -------------------------------------------------------------- */

static umbel_status feed_file(um_disk *d, int file, umbel_decoder *to,
                              uint64_t len, umbel_error *err)
{
    uint8_t bytes[READ_BYTES];

    for (uint64_t at = 0; at < len;) {
        size_t got;
        int number = d->ops->read(d, file, at, bytes, sizeof bytes, &got);
        UM_TRY(um_disk_status(number, "read", err));
        if (!got)
            return um_fail(err, UMBEL_E_FORMAT, "cut short");
        UM_TRY(umbel_decoder_feed(to, bytes, got, err));
        at += got;
    }
    return UMBEL_OK;
}

static umbel_status read_filter(um_disk *d, int file, uint64_t memory,
                                umbel_filter **out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_decoder *decoder;
    uint64_t len;

    UM_TRY(um_disk_status(d->ops->size(d, file, &len), "size", err));
    source.memory_limit = memory;
    source.verify = true;
    UM_TRY(umbel_decoder_open(&source, len, &decoder, err));
    umbel_status status = feed_file(d, file, decoder, len, err);
    if (!status)
        status = umbel_decoder_finish(decoder, out, err);
    umbel_decoder_close(decoder);
    return status;
}

umbel_status um_copy_file_read(um_disk *d, const char *name, uint64_t memory,
                               umbel_filter **out, umbel_error *err)
{
    int file;

    UM_TRY(um_disk_status(d->ops->open(d, name, UM_DISK_READ, &file), "open",
                          err));
    umbel_status status = read_filter(d, file, memory, out, err);
    d->ops->close(d, file);
    return status;
}

/* Takes the head off; E_FORMAT: it is not what was written. */
static umbel_status check_state(uint8_t *bytes, size_t *len, umbel_error *err)
{
    um_reader r = {bytes, bytes + *len, false};
    char found[sizeof magic];

    um_get_bytes(&r, found, sizeof found);
    uint32_t version = um_get_u32(&r);
    um_get_u32(&r);
    uint64_t size = um_get_u64(&r), sum = um_get_u64(&r);
    if (r.bad || memcmp(found, magic, sizeof magic) != 0 ||
        version != STATE_VERSION || size != *len - STATE_HEAD ||
        sum != um_checksum(bytes + STATE_HEAD, (size_t)size))
        return um_fail(err, UMBEL_E_FORMAT, "damaged, or of another version");
    memmove(bytes, bytes + STATE_HEAD, (size_t)size);
    *len = (size_t)size;
    return UMBEL_OK;
}

/* Reads a file of at most STATE_MOST bytes. */
static umbel_status read_state(um_disk *d, int file, uint8_t **out, size_t *len,
                               umbel_error *err)
{
    uint64_t size;

    UM_TRY(um_disk_status(d->ops->size(d, file, &size), "size", err));
    if (size < STATE_HEAD || size > STATE_MOST)
        return um_fail(err, UMBEL_E_FORMAT, "cut short, or too long");
    uint8_t *bytes = malloc((size_t)size);
    if (!bytes)
        return um_no_memory(err, size);
    umbel_status status = um_disk_status(
        d->ops->read(d, file, 0, bytes, (size_t)size, len), "read", err);
    if (!status)
        status = check_state(bytes, len, err);
    if (status)
        free(bytes);
    else
        *out = bytes;
    return status;
}

umbel_status um_state_file_read(um_disk *d, uint8_t **out, size_t *len,
                                umbel_error *err)
{
    int file, number = d->ops->open(d, UM_PEERS_STATE, UM_DISK_READ, &file);

    *out = NULL;
    if (number == ENOENT)
        return UMBEL_OK;
    UM_TRY(um_disk_status(number, "open", err));
    umbel_status status = read_state(d, file, out, len, err);
    d->ops->close(d, file);
    return status;
}
