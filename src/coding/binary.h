/*
 * binary.h - a binary arithmetic coder whose chances are learnt on the way.
 *
 * The code is a number between 0 and 1, written in bytes, highest first. Each
 * decision cuts the interval that is left: a one takes the lower part. All
 * numbers in the last interval stand for the same decisions; the encoder writes
 * the lowest that ends with the byte after those that are fixed, and the
 * decoder takes no other. The interval is kept above 2^56, so there always is
 * one.
 *
 * The chance of a one is (ones + 1/2) / (decisions + 1), after Krichevsky and
 * Trofimov 1981, which costs half of log2(decisions) bits and about one more.
 * It is worked out anew after every 16th of the decisions, not after each: that
 * saves the divisions, and costs less than a bit.
 *
 * Encoder and decoder are one walk over the decisions: functions take a flag
 * that is constant where they are inlined, and return what was decided.
 */
#ifndef UM_CODING_BINARY_H
#define UM_CODING_BINARY_H

#include "base/bytes.h"

#define UM_BINARY_LEAST ((uint64_t)1 << 56)

enum { UM_BINARY_BEHIND = 7 }; /* bytes read behind the end, as zeros */

/* What was learnt about one kind of decision. */
typedef struct um_chance {
    uint32_t of_one; /* in 2^32 */
    uint32_t n, ones, next;
} um_chance;

typedef struct um_binary {
    uint64_t range;
    uint64_t at; /* encoder: the interval's start; decoder: the code above it */
    um_writer *w; /* without memory: only len counts */
    um_reader *r;
    uint64_t len;    /* bytes that the encoder has given */
    unsigned behind; /* bytes that the decoder lacked */
} um_binary;

static inline void um_chances_init(um_chance *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = (um_chance){.of_one = (uint32_t)1 << 31, .next = 1};
}

/* --- bytes --- */

static inline void um_binary_pass(um_binary *c)
{
    uint8_t byte = (uint8_t)(c->at >> 56);

    if (c->w->at)
        um_write_bytes(c->w, &byte, 1);
    c->at <<= 8;
    c->len++;
}

/* There is a byte below 255, since the code is below 1. */
static inline void um_binary_carry(const um_binary *c)
{
    if (c->w->at && !c->w->bad)
        for (uint8_t *byte = c->w->at - 1; ++*byte == 0;)
            byte--;
}

static inline void um_binary_consume(um_binary *c)
{
    uint8_t byte = 0;

    if (c->r->at < c->r->end)
        byte = *c->r->at++;
    else
        c->behind++;
    c->at = c->at << 8 | byte;
}

static inline um_binary um_binary_encoder(um_writer *w)
{
    return (um_binary){.range = UINT64_MAX, .w = w};
}

/* False in *fine: no encoder writes such bytes. */
static inline um_binary um_binary_decoder(um_reader *r, bool *fine)
{
    um_binary c = {.range = UINT64_MAX, .r = r};

    for (unsigned i = 0; i < sizeof c.at; i++)
        um_binary_consume(&c);
    *fine = c.at < c.range;
    return c;
}

/* The last byte; c->len is the length then. */
static inline void um_binary_finish(um_binary *c)
{
    uint64_t start = c->at;

    c->at += UM_BINARY_LEAST - 1;
    if (c->at < start)
        um_binary_carry(c);
    um_binary_pass(c);
}

/* The decoder read all bytes, and the encoder would have written them. */
static inline bool um_binary_ended(const um_binary *c)
{
    return c->behind == UM_BINARY_BEHIND && c->at < UM_BINARY_LEAST;
}

/* The decoder is behind the end: what it decides means nothing. */
static inline bool um_binary_lost(const um_binary *c)
{
    return c->behind > UM_BINARY_BEHIND;
}

/* --- decisions --- */

/* Encodes one, or decodes and returns it. */
static inline unsigned um_decide(um_binary *c, uint32_t chance, unsigned one,
                                 bool decoding)
{
    uint64_t lower = (c->range >> 32) * chance;

    if (decoding)
        one = c->at < lower;
    uint64_t skipped = one ? 0 : lower; /* nothing branches by surprises */
    c->range = one ? lower : c->range - lower;
    c->at += decoding ? 0 - skipped : skipped;
    if (!decoding && c->at < skipped)
        um_binary_carry(c);
    while (c->range < UM_BINARY_LEAST) {
        c->range <<= 8;
        if (decoding)
            um_binary_consume(c);
        else
            um_binary_pass(c);
    }
    return one;
}

static inline unsigned um_learn(um_binary *c, um_chance *x, unsigned one,
                                bool decoding)
{
    one = um_decide(c, x->of_one, one, decoding);
    x->ones += one;
    if (++x->n == x->next) {
        x->of_one =
            (uint32_t)((((uint64_t)2 * x->ones + 1) << 31) / (x->n + 1));
        x->next += x->n / 16 + 1;
    }
    return one;
}

/* Some bits, each with an even chance, from the highest. */
static inline uint64_t um_decide_bits(um_binary *c, unsigned bits,
                                      uint64_t value, bool decoding)
{
    uint64_t out = 0;

    while (bits--)
        out = out << 1 | um_decide(c, (uint32_t)1 << 31,
                                   (unsigned)(value >> bits & 1), decoding);
    return out;
}

#endif
