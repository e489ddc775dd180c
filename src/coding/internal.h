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
 * bits absorbs symbols, and emits words of 16 bits when it gets large. The last
 * symbol encoded is the first decoded, so the encoder works backwards and the
 * decoder forwards. Symbol i belongs to lane i % lanes; lanes share one stream
 * of words and do not wait for each other.
 *
 * The stream: a state of 4 bytes per lane, then the words, all little-endian,
 * in the order in which a decoder reads them. Every step of the decoder inverts
 * one of the encoder: if decoding leaves all lanes at their start state and no
 * word unread, the stream is exactly what the encoder writes for its symbols.
 */

enum {
    UM_RANS_BITS = 15, /* frequencies add up to 2^15; on the wire */
    UM_RANS_SUM = 1 << UM_RANS_BITS,
    UM_RANS_LOW = 1 << 16, /* minimum of a state, and its start */
    UM_RANS_LANES = 32,    /* at most */
    UM_RANS_PIECE = 1024   /* symbols appended at a time */
};

/* Frequencies of 256 symbols, UM_RANS_SUM in all. */
typedef struct um_freqs {
    uint16_t of[256];
} um_freqs;

/*
 * Fits frequencies in proportion to weights, which are below 2^48 and not all
 * 0; at least 1 for each weight above 0. Uses only integers, so that every
 * machine gets the same.
 */
void um_freqs_fit(um_freqs *out, const uint64_t weight[256]);

typedef struct um_rans_symbol {
    uint64_t inverse; /* 2^47 / freq, rounded up */
    uint32_t most;    /* largest state that can absorb it */
    uint16_t start;
    uint16_t rest; /* UM_RANS_SUM - freq */
} um_rans_symbol;

typedef struct um_rans_encoder {
    um_rans_symbol symbol[256];
    uint32_t state[UM_RANS_LANES];
    unsigned lanes;
    uint64_t left;        /* symbols still to be encoded */
    uint8_t *at, *lowest; /* words are written downwards from the end */
    uint64_t given;       /* bytes of words so far */
    bool counting;        /* only count words */
    bool bad;             /* no space, or a symbol with frequency 0 */
    uint8_t scratch[2 * UM_RANS_PIECE];
} um_rans_encoder;

/*
 * Encode n symbols to the end of out, which has cap bytes; out NULL only
 * counts. Append them in pieces of at most UM_RANS_PIECE, the last piece first.
 */
void um_rans_encoder_init(um_rans_encoder *e, const um_freqs *f, uint64_t n,
                          uint8_t *out, size_t cap);
void um_rans_append(um_rans_encoder *e, const uint8_t *symbols, size_t n);
/* Writes the states in front; returns the total length, 0 if bad. */
uint64_t um_rans_finish(um_rans_encoder *e);

typedef struct um_rans_decoder um_rans_decoder;

/*
 * Decodes whole rows of UM_RANS_LANES symbols, as many as n holds and the
 * remaining words suffice for; returns the number of symbols. One variant per
 * instruction set.
 */
typedef size_t um_rans_rows(um_rans_decoder *d, uint8_t *out, size_t n);

struct um_rans_decoder {
    uint32_t symbol[256];      /* freq << 16 | start */
    uint8_t slot[UM_RANS_SUM]; /* symbol of each slot below UM_RANS_SUM */
    uint8_t spare[4];          /* variants read four bytes of slot at once */
    uint32_t state[UM_RANS_LANES];
    unsigned lanes;
    uint64_t done; /* symbols so far */
    const uint8_t *at, *end;
    um_rans_rows *rows;
    bool bad; /* truncated, or an impossible state */
};

/* Prepares to decode n symbols from bytes; end is the end of the caller's
 * bytes. */
void um_rans_decoder_init(um_rans_decoder *d, const um_freqs *f, uint64_t n,
                          const uint8_t *bytes, const uint8_t *end);
/* Decodes the next n symbols; zeros once it is bad. */
void um_rans_get(um_rans_decoder *d, uint8_t *out, size_t n);
/* Returns the end of the stream; NULL if no encoder writes such a stream. */
const uint8_t *um_rans_end(const um_rans_decoder *d);

/* A way to decode rows, and a test for whether this machine supports it. */
typedef struct um_rans_variant {
    const char *name;
    bool (*usable)(void);
    um_rans_rows *rows;
} um_rans_variant;

/* Returns row i, best first and the portable one last; NULL past the end. */
const um_rans_variant *um_rans_variant_row(size_t i);

/* --- a binary arithmetic coder with adaptive probabilities -----------------
 *
 * The code is a number between 0 and 1, written in bytes, highest first. Each
 * decision splits the remaining interval: a one takes the lower part. All
 * numbers in the last interval represent the same decisions; the encoder writes
 * the lowest one that ends with the byte after those already determined, and
 * the decoder accepts no other. The interval is kept above 2^56, so such a
 * number always exists.
 *
 * The probability of a one is (ones + 1/2) / (decisions + 1), after Krichevsky
 * and Trofimov 1981, which costs half of log2(decisions) bits and about one
 * more. It is recomputed whenever the number of decisions has grown by a 16th,
 * not each time: that saves divisions and costs less than a bit.
 *
 * Encoder and decoder are the same code: functions take a flag that is constant
 * where they are inlined, and return the decision.
 */

#define UM_BINARY_MIN ((uint64_t)1 << 56)

enum { UM_BINARY_BEHIND = 7 }; /* zero bytes read past the end */

/* The statistics of one kind of decision. */
typedef struct um_chance {
    uint32_t of_one; /* probability of a one, in units of 2^-32 */
    uint32_t n, ones, next;
} um_chance;

typedef struct um_binary {
    uint64_t range;
    uint64_t at;  /* encoder: start of the interval; decoder: offset of the code
                     in it */
    um_writer *w; /* without memory: only len is counted */
    um_reader *r;
    uint64_t len;    /* bytes that the encoder has written */
    unsigned behind; /* bytes read past the end by the decoder */
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

/* Propagates a carry. Some byte is below 255, since the code is below 1. */
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

/* Initializes a decoder. Sets *fine to false if no encoder writes such
 * bytes. */
static inline um_binary um_binary_decoder(um_reader *r, bool *fine)
{
    um_binary c = {.range = UINT64_MAX, .r = r};

    for (unsigned i = 0; i < sizeof c.at; i++)
        um_binary_read_byte(&c);
    *fine = c.at < c.range;
    return c;
}

/* Writes the last byte; c->len is then the length. */
static inline void um_binary_finish(um_binary *c)
{
    uint64_t start = c->at;

    c->at += UM_BINARY_MIN - 1;
    if (c->at < start)
        um_binary_carry(c);
    um_binary_write_byte(c);
}

/* Returns true if the decoder read all bytes, and they are what the encoder
 * writes. */
static inline bool um_binary_ended(const um_binary *c)
{
    return c->behind == UM_BINARY_BEHIND && c->at < UM_BINARY_MIN;
}

/* Returns true if the decoder is past the end: its decisions are
 * meaningless. */
static inline bool um_binary_lost(const um_binary *c)
{
    return c->behind > UM_BINARY_BEHIND;
}

/* --- decisions ------------------------------------------------------------ */

/* Encodes a decision, or decodes and returns it. */
static inline unsigned um_decide(um_binary *c, uint32_t chance, unsigned one,
                                 bool decoding)
{
    uint64_t lower = (c->range >> 32) * chance;

    if (decoding)
        one = c->at < lower;
    uint64_t skipped = one ? 0 : lower; /* no unpredictable branch */
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

/* Codes some bits, highest first, with probability 1/2 each. */
static inline uint64_t um_decide_bits(um_binary *c, unsigned bits,
                                      uint64_t value, bool decoding)
{
    uint64_t out = 0;

    while (bits--)
        out = out << 1 | um_decide(c, (uint32_t)1 << 31,
                                   (unsigned)(value >> bits & 1), decoding);
    return out;
}

/* --- cells one binary decision at a time, with adaptive contexts -----------
 *
 * An adaptive arithmetic coder: no table, no lanes. It comes within a few bytes
 * of the entropy where rANS spends a hundred, but takes ten times as long; so
 * it is for small sections.
 *
 * A cell is coded as the number of its bits, in unary, up to the width of
 * cells; then the bits below the highest, from the top: three for numbers below
 * 16, two for others, as streams of values split them; then the rest, with
 * probability 1/2. A decision in unary has a context for each number of bits so
 * far, the others have one for each number of bits and each bit string before
 * them.
 */

enum {
    UM_ADAPTIVE_CELLS = 1 << 21, /* sections with this many cells use rANS */
    UM_ADAPTIVE_DENSE = 1 << 17, /* ... if they are bits, and neither value is
                                    rare */
    UM_ADAPTIVE_USED = 1 << 18   /* limit of nonzero cells, likewise */
};

/*
 * Appends the code of cells to w; a writer without memory only counts. Adds its
 * length to *len; returns false when out of space.
 */
bool um_adaptive_encode(um_writer *w, const um_packed *cells, uint64_t *len);

/*
 * Decodes all of r into cells, which are zero; false if it is not what the
 * encoder writes, or has too many nonzero wide cells.
 */
bool um_adaptive_decode(um_reader *r, const um_packed *cells);

#endif
