/*
 * internal.h - the entropy coders behind section.h and entries.h.
 */
#ifndef UM_CODING_INTERNAL_H
#define UM_CODING_INTERNAL_H

#include "base/bits.h"
#include "base/bytes.h"
#include "coding/section.h"

#include <stddef.h>

/* --- bytes to nearly their entropy, under a fixed model --------------------
 *
 * Asymmetric numeral systems (Duda 2009) in the range variant: a state of 32
 * bits takes symbols, and gives off words of 16 bits when it gets large. What
 * went in last comes out first, so the encoder walks backwards and the decoder
 * forwards. Symbol i belongs to lane i % lanes; lanes share one stream of words
 * and do not wait for each other.
 *
 * The stream: a state of 4 bytes a lane, then the words, all little endian, in
 * the order in which a decoder wants them. Encoder and decoder are inverse to
 * each other in every step: a stream that decodes, and leaves the lanes at
 * their start and no word over, is what the encoder makes of its symbols.
 */

enum {
    UM_RANS_BITS = 15, /* frequencies add up to 2^15; on the wire */
    UM_RANS_SUM = 1 << UM_RANS_BITS,
    UM_RANS_LOW = 1 << 16, /* a state is never less; where it starts */
    UM_RANS_LANES = 32,    /* at most */
    UM_RANS_PIECE = 1024   /* symbols that are put at a time */
};

/* Frequencies of 256 symbols, UM_RANS_SUM in all. */
typedef struct um_freqs {
    uint16_t of[256];
} um_freqs;

/*
 * Frequencies in proportion to weights, below 2^48 each: 1 at least where there
 * is weight. Integers only, so that every machine finds the same. Some weight
 * must be.
 */
void um_freqs_fit(um_freqs *out, const uint64_t weight[256]);

typedef struct um_rans_symbol {
    uint64_t inverse; /* 2^47 / freq, rounded up */
    uint32_t most;    /* that a state may be to take it */
    uint16_t start;
    uint16_t rest; /* UM_RANS_SUM - freq */
} um_rans_symbol;

typedef struct um_rans_encoder {
    um_rans_symbol symbol[256];
    uint32_t state[UM_RANS_LANES];
    unsigned lanes;
    uint64_t left;        /* symbols still to come */
    uint8_t *at, *lowest; /* words go down from the end */
    uint64_t given;       /* bytes of words so far */
    bool counting;        /* keep no words, only count them */
    bool bad;             /* no room, or a symbol that cannot be */
    uint8_t scratch[2 * UM_RANS_PIECE];
} um_rans_encoder;

/*
 * Code n symbols into the end of out, of cap bytes; out NULL only counts. Put
 * them in pieces of at most UM_RANS_PIECE, the last piece first.
 */
void um_rans_encoder_init(um_rans_encoder *e, const um_freqs *f, uint64_t n,
                          uint8_t *out, size_t cap);
void um_rans_append(um_rans_encoder *e, const uint8_t *symbols, size_t n);
/* Puts the states in front; returns the length of all, 0 when it was bad. */
uint64_t um_rans_finish(um_rans_encoder *e);

typedef struct um_rans_decoder um_rans_decoder;

/*
 * Decode whole rows of UM_RANS_LANES symbols, as many as n holds and the words
 * surely suffice for; returns the number of symbols. A variant per set of
 * instructions.
 */
typedef size_t um_rans_rows(um_rans_decoder *d, uint8_t *out, size_t n);

struct um_rans_decoder {
    uint32_t symbol[256];      /* freq << 16 | start */
    uint8_t slot[UM_RANS_SUM]; /* symbol of each place below UM_RANS_SUM */
    uint8_t spare[4];          /* variants read four bytes of slot at once */
    uint32_t state[UM_RANS_LANES];
    unsigned lanes;
    uint64_t done; /* symbols so far */
    const uint8_t *at, *end;
    um_rans_rows *rows;
    bool bad; /* cut short, or a state that cannot be */
};

/* Decode n symbols from bytes; e ends where the caller's bytes do. */
void um_rans_decoder_init(um_rans_decoder *d, const um_freqs *f, uint64_t n,
                          const uint8_t *bytes, const uint8_t *end);
/* The next n symbols, zeros once it is bad. */
void um_rans_get(um_rans_decoder *d, uint8_t *out, size_t n);
/* Returns the end of the stream; NULL if no encoder writes such a stream. */
const uint8_t *um_rans_end(const um_rans_decoder *d);

/* A way to decode rows, and a test if this machine can. */
typedef struct um_rans_variant {
    const char *name;
    bool (*usable)(void);
    um_rans_rows *rows;
} um_rans_variant;

/* Best first, the portable one last; NULL when i is past the end. */
const um_rans_variant *um_rans_variant_row(size_t i);

/* --- a binary arithmetic coder whose chances are learnt on the way ---------
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

#define UM_BINARY_MIN ((uint64_t)1 << 56)

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

/* --- bytes ---------------------------------------------------------------- */

static inline void um_binary_write_byte(um_binary *c)
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

static inline void um_binary_read_byte(um_binary *c)
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

/* Opens a decoder. Sets *fine to false if no encoder writes such bytes. */
static inline um_binary um_binary_decoder(um_reader *r, bool *fine)
{
    um_binary c = {.range = UINT64_MAX, .r = r};

    for (unsigned i = 0; i < sizeof c.at; i++)
        um_binary_read_byte(&c);
    *fine = c.at < c.range;
    return c;
}

/* The last byte; c->len is the length then. */
static inline void um_binary_finish(um_binary *c)
{
    uint64_t start = c->at;

    c->at += UM_BINARY_MIN - 1;
    if (c->at < start)
        um_binary_carry(c);
    um_binary_write_byte(c);
}

/* The decoder read all bytes, and the encoder would have written them. */
static inline bool um_binary_ended(const um_binary *c)
{
    return c->behind == UM_BINARY_BEHIND && c->at < UM_BINARY_MIN;
}

/* The decoder is behind the end: what it decides means nothing. */
static inline bool um_binary_lost(const um_binary *c)
{
    return c->behind > UM_BINARY_BEHIND;
}

/* --- decisions ------------------------------------------------------------ */

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
    while (c->range < UM_BINARY_MIN) {
        c->range <<= 8;
        if (decoding)
            um_binary_read_byte(c);
        else
            um_binary_write_byte(c);
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

/* --- cells one binary decision at a time, by what came before --------------
 *
 * An arithmetic coder whose chances are learnt on the way: no table, no lanes.
 * It comes within some bytes of the entropy where rANS spends a hundred, and
 * takes ten times as long; so it is for small sections.
 *
 * A cell is the number of its bits, in unary, up to the width of cells; then
 * the bits below the highest, from the top: three for numbers below 16, two for
 * others, as streams of values split them; then the rest, with an even chance.
 * A decision in unary has a context for each number of bits so far, the others
 * have one for each number of bits and each bit string before them.
 */

enum {
    UM_ADAPTIVE_CELLS = 1 << 21, /* of a section, or more: rANS codes it */
    UM_ADAPTIVE_DENSE = 1 << 17, /* ... if they are bits, and neither is rare */
    UM_ADAPTIVE_USED = 1 << 18   /* cells that are not zero, likewise */
};

/*
 * Append cells to w; a writer without memory counts. *len grows by the bytes it
 * takes; false when there is no room.
 */
bool um_adaptive_encode(um_writer *w, const um_packed *cells, uint64_t *len);

/*
 * Decode all that r has into cells, which are zero; false when it is not what
 * the encoder writes, or wide cells are not few.
 */
bool um_adaptive_decode(um_reader *r, const um_packed *cells);

#endif
