/*
 * request.c - requests and replies of rspamd's fuzzy storage.
 */
#include "clearinghouse/protocols/fuzzy/internal.h"

#include "base/bytes.h"

#include <string.h>

enum {
    VERSION = 4,        /* the low four bits of the first byte ... */
    VERSION_BITS = 0xf, /* ... and the others are flags */
    MAX_VALUE = 0xffffff
};

static um_fuzzy_op op_of(uint8_t command)
{
    return command < UM_FUZZY_OTHER ? (um_fuzzy_op)command : UM_FUZZY_OTHER;
}

static bool is_swapped(const um_fuzzy_request *r)
{
    return (r->op == UM_FUZZY_WRITE || r->op == UM_FUZZY_DELETE) &&
           (r->value > MAX_VALUE || r->value < -MAX_VALUE ||
            (r->value && (r->value & 0xffff) == 0));
}

/* Returns true for an encrypted request: it begins with "rsf" and a letter. */
static bool is_encrypted(const uint8_t *data, size_t len)
{
    return len >= 4 && memcmp(data, "rsf", 3) == 0;
}

um_fuzzy_outcome um_fuzzy_parse(const uint8_t *data, size_t len,
                                um_fuzzy_request *out)
{
    um_reader r = {data, data + len, false};
    uint8_t head[4];

    *out = (um_fuzzy_request){.op = UM_FUZZY_OTHER};
    if (is_encrypted(data, len))
        return UM_FUZZY_ENCRYPTED;
    if (len < UM_FUZZY_PLAIN)
        return UM_FUZZY_SHORT;
    um_get_bytes(&r, head, sizeof head);
    out->value = (int32_t)um_get_u32(&r);
    out->tag = um_get_u32(&r);
    out->digest = r.at;
    r.at += UM_NEAR_NAME;
    if ((head[0] & VERSION_BITS) != VERSION)
        return UM_FUZZY_VERSION;
    out->op = op_of(head[1]);
    out->flag = head[3];
    if (out->op == UM_FUZZY_OTHER)
        return UM_FUZZY_COMMAND;
    if (head[2] != 0 && head[2] != UM_NEAR_SHINGLES)
        return UM_FUZZY_COUNT;
    out->has_shingles = head[2] != 0;
    for (size_t i = 0; i < head[2]; i++)
        out->shingle[i] = um_get_u64(&r);
    if (r.bad)
        return UM_FUZZY_SHORT;
    return is_swapped(out) ? UM_FUZZY_BYTE_ORDER : UM_FUZZY_OK;
}

void um_fuzzy_print(const um_fuzzy_reply *r, uint8_t out[UM_FUZZY_REPLY])
{
    um_writer w = {out, out + UM_FUZZY_REPLY, false};
    uint32_t bits;

    memcpy(&bits, &r->probability, sizeof bits);
    memset(out, 0, UM_FUZZY_REPLY);
    um_write_u32(&w, (uint32_t)r->value);
    um_write_u32(&w, r->flag);
    um_write_u32(&w, r->tag);
    um_write_u32(&w, bits);
    if (r->digest)
        memcpy(w.at, r->digest, UM_NEAR_NAME);
    w.at += UM_NEAR_NAME;
    um_write_u32(&w, r->time);
}
