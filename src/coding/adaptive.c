/*
 * adaptive.c - a binary arithmetic coder, and the decisions that make a cell.
 *
 * The code is a number between 0 and 1, written in bytes, highest first. Each
 * decision cuts the interval that is left: a one takes the lower part. All
 * numbers in the last interval stand for the same cells; the encoder writes the
 * lowest that ends with the byte after those that are fixed, and the decoder
 * takes no other. The interval is kept above 2^56, so there always is one.
 *
 * The chance of a one is (ones + 1/2) / (decisions + 1), after Krichevsky and
 * Trofimov 1981, which costs half of log2(decisions) bits and about one more.
 * It is worked out anew after every 16th of the decisions, not after each: that
 * saves the divisions, and costs less than a bit.
 *
 * Encoder and decoder are one walk over the decisions, compiled twice.
 */
#include "coding/adaptive.h"

#define LEAST_RANGE ((uint64_t)1 << 56)

enum {
    LENGTHS = 65,    /* bits that a number can have, and none */
    DIRECT_BITS = 4, /* of numbers that are coded by contexts alone */
    MANTISSA = 2,    /* bits below the highest that have contexts, of others */
    BEHIND = 7       /* bytes that a decoder reads behind the end, as zeros */
};

typedef struct context {
    uint32_t chance; /* of a one, in 2^32 */
    uint32_t n, ones, next;
} context;

typedef struct coder {
    uint64_t range;
    uint64_t at; /* encoder: the interval's start; decoder: the code above it */
    um_writer *w;
    um_reader *r;
    uint64_t len;    /* bytes that the encoder has given */
    unsigned behind; /* bytes that the decoder lacked */
    context length[LENGTHS];
    context below[LENGTHS][1 << (DIRECT_BITS - 1)];
} coder;

static void init_contexts(context *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = (context){.chance = (uint32_t)1 << 31, .next = 1};
}

static void coder_init(coder *c, um_writer *w, um_reader *r)
{
    *c = (coder){.range = UINT64_MAX, .w = w, .r = r};
    init_contexts(c->length, LENGTHS);
    init_contexts(c->below[0], sizeof c->below / sizeof(context));
}

/* --- bytes --- */

static void give_byte(coder *c)
{
    uint8_t byte = (uint8_t)(c->at >> 56);

    if (c->w->at)
        um_put_bytes(c->w, &byte, 1);
    c->at <<= 8;
    c->len++;
}

/* There is a byte below 255, since the code is below 1. */
static void carry(const coder *c)
{
    if (c->w->at && !c->w->bad)
        for (uint8_t *byte = c->w->at - 1; ++*byte == 0;)
            byte--;
}

static void take_byte(coder *c)
{
    uint8_t byte = 0;

    if (c->r->at < c->r->end)
        byte = *c->r->at++;
    else
        c->behind++;
    c->at = c->at << 8 | byte;
}

/* --- decisions --- */

/* Encodes one, or decodes and returns it. */
static inline unsigned decide(coder *c, uint32_t chance, unsigned one,
                              bool decoding)
{
    uint64_t lower = (c->range >> 32) * chance;

    if (decoding)
        one = c->at < lower;
    uint64_t skipped = one ? 0 : lower; /* nothing branches by surprises */
    c->range = one ? lower : c->range - lower;
    c->at += decoding ? 0 - skipped : skipped;
    if (!decoding && c->at < skipped)
        carry(c);
    while (c->range < LEAST_RANGE) {
        c->range <<= 8;
        if (decoding)
            take_byte(c);
        else
            give_byte(c);
    }
    return one;
}

static inline unsigned learn(coder *c, context *x, unsigned one, bool decoding)
{
    one = decide(c, x->chance, one, decoding);
    x->ones += one;
    if (++x->n == x->next) {
        x->chance =
            (uint32_t)((((uint64_t)2 * x->ones + 1) << 31) / (x->n + 1));
        x->next += x->n / 16 + 1;
    }
    return one;
}

/* What is below the highest of len bits. */
static inline uint64_t code_below(coder *c, unsigned len, uint64_t value,
                                  bool decoding)
{
    unsigned left = len - 1;
    unsigned even = len > DIRECT_BITS ? left - MANTISSA : 0;
    uint64_t out = 1;

    while (left > even)
        out = out << 1 | learn(c, &c->below[len][out],
                               (unsigned)(value >> --left & 1), decoding);
    while (left > 0)
        out = out << 1 | decide(c, (uint32_t)1 << 31,
                                (unsigned)(value >> --left & 1), decoding);
    return out;
}

static inline uint64_t code_cell(coder *c, unsigned bits, uint64_t value,
                                 bool decoding)
{
    unsigned want = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
    unsigned len = 0;

    if (bits == 1)
        return learn(c, &c->length[0], want, decoding);
    while (len < bits && learn(c, &c->length[len], len < want, decoding))
        len++;
    return len < 2 ? len : code_below(c, len, value, decoding);
}

/* --- cells --- */

bool um_adaptive_encode(um_writer *w, const um_packed *cells, uint64_t *len)
{
    coder c;

    coder_init(&c, w, NULL);
    for (uint64_t i = 0; i < cells->n; i++)
        code_cell(&c, cells->bits, um_packed_get(cells, i), false);
    uint64_t start = c.at;
    c.at += LEAST_RANGE - 1;
    if (c.at < start)
        carry(&c);
    give_byte(&c);
    *len += c.len;
    return !w->bad;
}

bool um_adaptive_decode(um_reader *r, const um_packed *cells)
{
    uint64_t used = 0;
    coder c;

    coder_init(&c, NULL, r);
    for (unsigned i = 0; i < sizeof c.at; i++)
        take_byte(&c);
    if (c.at >= c.range)
        return false;
    for (uint64_t i = 0; i < cells->n && c.behind <= BEHIND; i++) {
        uint64_t value = code_cell(&c, cells->bits, 0, true);
        if (value)
            um_packed_set(cells, i, value);
        used += value != 0;
        if (cells->bits > 1 && used >= UM_ADAPTIVE_USED)
            return false;
    }
    return c.behind == BEHIND && c.at < LEAST_RANGE;
}
