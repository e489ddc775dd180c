/*
 * wire.c - messages as bytes and back, and the texts that origins sign.
 *
 *   type 1 | length of the body 4 | body | XXH3-64 of all before 8
 */
#include "base/error.h"
#include "base/hash.h"
#include "sync/internal.h"

#include <inttypes.h>

enum { START = 5, END = 8, LIST_LEN = 8 };

enum { TEXT_LEN = 12 + UM_HASH_LEN + 4 * 8 + UM_HASH_LEN };

/* --- messages ------------------------------------------------------------- */

void um_message_begin(um_buffer *b, um_message_type type)
{
    uint8_t start[START] = {(uint8_t)type};

    um_buffer_clear(b, SIZE_MAX);
    um_buffer_append(b, start, sizeof start);
}

void um_message_end(um_buffer *b)
{
    if (b->failed)
        return;
    um_writer w = {b->data + 1, b->data + START, false};
    um_write_u32(&w, (uint32_t)(b->len - START));
    um_append_u64(b, um_checksum(b->data, b->len));
}

umbel_status umbel_sync_split(const umbel_sync *s, const void *bytes,
                              size_t len, size_t *used, umbel_error *err)
{
    const uint8_t *at = bytes;
    um_reader r = {at, at + len, false};
    uint8_t type;

    *used = 0;
    if (!len)
        return UMBEL_OK;
    um_get_bytes(&r, &type, 1);
    if (type < UM_MSG_HELLO || type > UM_MSG_LOG)
        return um_fail(err, UMBEL_E_FORMAT, "a message of unknown type %u",
                       type);
    uint64_t body = um_get_u32(&r);
    if (r.bad)
        return UMBEL_OK;
    if (body + START + END > s->limit.message_bytes)
        return um_fail(err, UMBEL_E_LIMIT,
                       "a message of %" PRIu64 " bytes, message_bytes is "
                       "%" PRIu32,
                       body + START + END, s->limit.message_bytes);
    if (len >= body + START + END)
        *used = (size_t)body + START + END;
    return UMBEL_OK;
}

umbel_status um_message_open(const umbel_sync *s, const void *bytes, size_t len,
                             um_message_type *type, um_reader *body,
                             umbel_error *err)
{
    const uint8_t *at = bytes;
    size_t used;

    UM_TRY(umbel_sync_split(s, bytes, len, &used, err));
    if (used != len || !len)
        return um_fail(err, UMBEL_E_FORMAT,
                       "a message of %zu bytes has another length", len);
    if (um_checksum(at, len - END) != um_load64(at + len - END))
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "a message does not match its checksum");
    *type = (um_message_type)at[0];
    *body = (um_reader){at + START, at + len - END, false};
    return UMBEL_OK;
}

void um_write_id(um_buffer *b, const umbel_sync *s, const um_sync_id *id)
{
    um_buffer_append(b, s->list[id->list].digest, LIST_LEN);
    um_buffer_append(b, id->origin, UMBEL_ORIGIN_LEN);
    um_append_u64(b, id->incarnation);
    um_append_varint(b, id->epoch);
}

umbel_status um_get_id(um_reader *r, const umbel_sync *s, um_sync_id *out,
                       umbel_error *err)
{
    uint8_t digest[LIST_LEN];

    um_get_bytes(r, digest, sizeof digest);
    um_get_bytes(r, out->origin, UMBEL_ORIGIN_LEN);
    out->incarnation = um_get_u64(r);
    out->epoch = um_get_varint(r);
    if (r->bad)
        return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: id");
    for (out->list = 0; out->list < s->nlists; out->list++)
        if (memcmp(s->list[out->list].digest, digest, sizeof digest) == 0)
            return UMBEL_OK;
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "a list that is not here, or of another shape: digest "
                   "%016" PRIx64,
                   __builtin_bswap64(um_load64(digest)));
}

void um_write_statement(um_buffer *b, const um_statement *st)
{
    um_append_varint(b, st->version);
    um_append_varint(b, st->keys);
    um_buffer_append(b, st->root, sizeof st->root);
    um_buffer_append(b, st->signature, sizeof st->signature);
}

void um_get_statement(um_reader *r, um_statement *st)
{
    st->version = um_get_varint(r);
    st->keys = um_get_varint(r);
    um_get_bytes(r, st->root, sizeof st->root);
    um_get_bytes(r, st->signature, sizeof st->signature);
}

/* --- signed text ---------------------------------------------------------- */

static void statement_text(const umbel_sync *s, const um_sync_id *id,
                           const um_statement *st, uint8_t out[TEXT_LEN])
{
    um_writer w = {out, out + TEXT_LEN, false};

    um_write_bytes(&w, "umbel-sync-1", 12);
    um_write_bytes(&w, s->list[id->list].digest, UM_HASH_LEN);
    um_write_u64(&w, id->incarnation);
    um_write_u64(&w, id->epoch);
    um_write_u64(&w, st->version);
    um_write_u64(&w, st->keys);
    um_write_bytes(&w, st->root, UM_HASH_LEN);
}

void um_statement_sign(const umbel_sync *s, const um_replica *c,
                       um_statement *out)
{
    uint8_t text[TEXT_LEN];

    statement_text(s, &c->id, out, text);
    um_sync_sign(s->sign_key, text, sizeof text, out->signature);
}

bool um_statement_holds(const umbel_sync *s, const um_sync_id *id,
                        const um_statement *st)
{
    uint8_t text[TEXT_LEN];

    statement_text(s, id, st, text);
    return um_sync_is_signed(id->origin, text, sizeof text, st->signature);
}
