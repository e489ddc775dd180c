/*
 * adaptive.c - the decisions that make a cell.
 *
 * Encoder and decoder are one walk over the decisions (binary.h), compiled
 * twice.
 */
#include "coding/adaptive.h"

#include "coding/binary.h"

enum {
    LENGTHS = 65,    /* bits that a number can have, and none */
    DIRECT_BITS = 4, /* of numbers that are coded by contexts alone */
    MANTISSA = 2     /* bits below the highest that have contexts, of others */
};

typedef struct model {
    um_chance length[LENGTHS];
    um_chance below[LENGTHS][1 << (DIRECT_BITS - 1)];
} model;

static void model_init(model *m)
{
    um_chances_init(m->length, LENGTHS);
    um_chances_init(m->below[0], sizeof m->below / sizeof(um_chance));
}

/* What is below the highest of len bits. */
static inline uint64_t code_below(um_binary *c, model *m, unsigned len,
                                  uint64_t value, bool decoding)
{
    unsigned left = len - 1;
    unsigned even = len > DIRECT_BITS ? left - MANTISSA : 0;
    uint64_t out = 1;

    while (left > even)
        out = out << 1 | um_learn(c, &m->below[len][out],
                                  (unsigned)(value >> --left & 1), decoding);
    return even ? out << even | um_decide_bits(c, even, value, decoding) : out;
}

static inline uint64_t code_cell(um_binary *c, model *m, unsigned bits,
                                 uint64_t value, bool decoding)
{
    unsigned want = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
    unsigned len = 0;

    if (bits == 1)
        return um_learn(c, &m->length[0], want, decoding);
    while (len < bits && um_learn(c, &m->length[len], len < want, decoding))
        len++;
    return len < 2 ? len : code_below(c, m, len, value, decoding);
}

/* --- cells --- */

bool um_adaptive_encode(um_writer *w, const um_packed *cells, uint64_t *len)
{
    um_binary c = um_binary_encoder(w);
    model m;

    model_init(&m);
    for (uint64_t i = 0; i < cells->n; i++)
        code_cell(&c, &m, cells->bits, um_packed_get(cells, i), false);
    um_binary_finish(&c);
    *len += c.len;
    return !w->bad;
}

bool um_adaptive_decode(um_reader *r, const um_packed *cells)
{
    uint64_t used = 0;
    bool fine;
    um_binary c = um_binary_decoder(r, &fine);
    model m;

    model_init(&m);
    for (uint64_t i = 0; fine && i < cells->n && !um_binary_lost(&c); i++) {
        uint64_t value = code_cell(&c, &m, cells->bits, 0, true);
        if (value)
            um_packed_set(cells, i, value);
        used += value != 0;
        fine = cells->bits == 1 || used < UM_ADAPTIVE_USED;
    }
    return fine && um_binary_ended(&c);
}
