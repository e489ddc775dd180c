/*
 * record.c - records of the journal, multiples of 8 bytes.
 *
 *     type 1, list 1, zero 2, amount 4, digest 16      a count
 *     type 1, zero 7, mark 8                           a signed request
 *     type 1, list 1, zero 6                           a turn of a list
 *     type 1, zero 1, name length 2, value length 4,
 *         name, value, zeroes up to a multiple of 8    a note, its removal, or
 *                                                       a note and empty lists
 */
#include "store/record.h"

static void put_first(um_writer *w, const um_record *r, unsigned low,
                      uint32_t high)
{
    um_put_u32(w, (uint32_t)r->type | r->list << 8 | low << 16);
    um_put_u32(w, high);
}

static size_t padding(size_t len)
{
    return -len & 7;
}

size_t um_record_note_len(size_t name_len, size_t value_len)
{
    return 8 + name_len + value_len + padding(name_len + value_len);
}

static void put_note(um_writer *w, const um_record *r)
{
    static const uint8_t zeroes[8];

    put_first(w, r, (unsigned)r->name.len, (uint32_t)r->value.len);
    if (r->name.len)
        um_put_bytes(w, r->name.data, r->name.len);
    if (r->value.len)
        um_put_bytes(w, r->value.data, r->value.len);
    um_put_bytes(w, zeroes, padding(r->name.len + r->value.len));
}

void um_record_encode(const um_record *r, um_writer *w)
{
    switch (r->type) {
    case UM_RECORD_COUNT:
        put_first(w, r, 0, r->amount);
        um_put_u64(w, r->digest.lo);
        um_put_u64(w, r->digest.hi);
        break;
    case UM_RECORD_ONCE:
        put_first(w, r, 0, 0);
        um_put_u64(w, r->once);
        break;
    case UM_RECORD_TURN:
        put_first(w, r, 0, 0);
        break;
    case UM_RECORD_NOTE:
    case UM_RECORD_DROP:
    case UM_RECORD_RENEW:
        put_note(w, r);
        break;
    }
}

static umbel_slice take(um_reader *from, size_t len)
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
    out->name = take(from, name);
    out->value = take(from, value);
    umbel_slice rest = take(from, padding(name + value));
    return !from->bad && um_all_zero(rest.data, rest.len);
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
    default:
        return false;
    }
}
