/*
 * record.c - records of the journal, multiples of 8 bytes.
 *
 *     type 1, list 1, zero 2, amount 4, digest 16      a count
 *     type 1, zero 7, mark 8                           a signed request
 *     type 1, list 1, zero 6                           a turn of a list
 *     type 1, list 1, bits 1, flag 1, amount 4,
 *         stamp 4, zero 4, digest 16, name 64,
 *         32 shingles of 8, if bit 2 is set            a mail
 *     type 1, zero 1, name length 2, value length 4,
 *         name, value, zeroes up to a multiple of 8    a note, its removal, or
 *                                                       a note and empty lists
 */
#include "store/record.h"

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

size_t um_record_note_len(size_t name_len, size_t value_len)
{
    return 8 + name_len + value_len + padding(name_len + value_len);
}

static void write_note(um_writer *w, const um_record *r)
{
    static const uint8_t zeroes[8];

    write_first(w, r, (unsigned)r->name.len, (uint32_t)r->value.len);
    if (r->name.len)
        um_write_bytes(w, r->name.data, r->name.len);
    if (r->value.len)
        um_write_bytes(w, r->value.data, r->value.len);
    um_write_bytes(w, zeroes, padding(r->name.len + r->value.len));
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
        write_first(w, r, 0, r->amount);
        um_write_u64(w, r->digest.lo);
        um_write_u64(w, r->digest.hi);
        break;
    case UM_RECORD_ONCE:
        write_first(w, r, 0, 0);
        um_write_u64(w, r->once);
        break;
    case UM_RECORD_TURN:
        write_first(w, r, 0, 0);
        break;
    case UM_RECORD_NOTE:
    case UM_RECORD_DROP:
    case UM_RECORD_RENEW:
        write_note(w, r);
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

static bool get_note(um_reader *from, um_record *out, size_t name, size_t value)
{
    if (name == 0 || name > UM_NOTE_NAME_MAX || value > UM_NOTE_VALUE_MAX ||
        (out->type == UM_RECORD_DROP && value != 0))
        return false;
    out->name = consume(from, name);
    out->value = consume(from, value);
    umbel_slice rest = consume(from, padding(name + value));
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
        out->digest.lo = um_get_u64(from);
        out->digest.hi = um_get_u64(from);
        return !from->bad && low == 0;
    case UM_RECORD_ONCE:
        out->once = um_get_u64(from);
        return !from->bad && low == 0 && second == 0 && out->list == 0 &&
               out->once != 0;
    case UM_RECORD_TURN:
        return !from->bad && low == 0 && second == 0;
    case UM_RECORD_NOTE:
    case UM_RECORD_DROP:
    case UM_RECORD_RENEW:
        return !from->bad && out->list == 0 && get_note(from, out, low, second);
    case UM_RECORD_MAIL:
        return !from->bad && get_mail(from, out, low, second);
    default:
        return false;
    }
}
