/*
 * coded.c - the payload of a filter in few bytes, and back.
 *
 * Coded sections are never used in place: they are decoded into memory that
 * looks as if the file had been raw, and from there on nothing differs.
 */
#include "filter/coded.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "coding/code.h"

#include <inttypes.h>
#include <math.h>

/* Sections of a shape as cells in a payload. */
static size_t cells_of(const um_shape *s, uint8_t *payload,
                       um_packed out[UM_MAX_SECTIONS])
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(s, section);

    for (size_t i = 0; i < n; i++) {
        out[i] = (um_packed){
            .at = payload, .n = section[i].cells, .bits = section[i].cell_bits};
        payload += um_section_room(&section[i]);
    }
    return n;
}

umbel_status um_coded_init(um_coded *c, const umbel_filter *f, umbel_error *err)
{
    um_packed cells[UM_MAX_SECTIONS];
    size_t n = cells_of(um_shape_of(f), f->payload, cells);

    *c = (um_coded){.cap = UM_CODE_ROOM};
    for (size_t i = 0; i < n; i++)
        c->cap += (size_t)um_code_max(&cells[i]);
    c->bytes = um_get(&f->alloc, c->cap);
    if (!c->bytes)
        return um_no_memory(err, c->cap);
    for (size_t i = 0; i < n; i++) {
        c->section[i] =
            um_code_encode(&cells[i], UM_CODE_NOW, c->bytes + c->len);
        c->len += (size_t)c->section[i];
    }
    return UMBEL_OK;
}

void um_coded_fini(um_coded *c, const umbel_filter *f)
{
    um_put(&f->alloc, c->bytes, c->cap);
}

size_t um_coded_len(const umbel_filter *f, uint64_t section[UM_MAX_SECTIONS])
{
    um_packed cells[UM_MAX_SECTIONS];
    size_t n = cells_of(um_shape_of(f), f->payload, cells), len = 0;

    for (size_t i = 0; i < n; i++) {
        section[i] = um_code_len(&cells[i], UM_CODE_NOW);
        len += (size_t)section[i];
    }
    return len;
}

umbel_status um_uncode(const um_head *head, const uint8_t *stored,
                       uint8_t *payload, umbel_error *err)
{
    um_packed cells[UM_MAX_SECTIONS];
    size_t n = cells_of(&head->shape, payload, cells);

    for (size_t i = 0; i < n; i++) {
        size_t len = (size_t)head->stored[i];
        size_t room = (len + head->align - 1) / head->align * head->align;
        if (!um_code_decode(stored, len, head->coding, &cells[i]))
            return um_fail(err, UMBEL_E_FORMAT,
                           "damaged: the code of section %zu is none", i);
        if (!um_all_zero(stored + len, room - len))
            return um_fail(err, UMBEL_E_FORMAT,
                           "damaged: something stands between the sections");
        stored += room;
    }
    return UMBEL_OK;
}

void umbel_set_coded(umbel_filter *f, bool coded)
{
    f->coded = coded;
}

bool umbel_coded(const umbel_filter *f)
{
    return f->coded;
}

/* --- the least that it can be ----------------------------------------------
 */

/* Bits that some of n take together. */
static double share_bits(uint64_t some, uint64_t n)
{
    return some ? (double)some * log2((double)n / (double)some) : 0;
}

static double shannon_bits(const um_packed *c)
{
    um_values_count count;

    um_code_count(c, &count);
    double bits = (double)count.bits;
    for (size_t i = 0; i < 256; i++)
        bits += share_bits(count.token[i], c->n);
    return bits;
}

double um_shannon_bytes(const umbel_filter *f)
{
    um_packed cells[UM_MAX_SECTIONS];
    size_t n = cells_of(um_shape_of(f), f->payload, cells);
    double bits = 0;

    for (size_t i = 0; i < n; i++)
        bits += shannon_bits(&cells[i]);
    return bits / 8;
}
