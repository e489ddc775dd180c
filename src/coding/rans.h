/*
 * rans.h - bytes to nearly their entropy, under a fixed model.
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
#ifndef UM_CODING_RANS_H
#define UM_CODING_RANS_H

#include "base/bits.h"

#include <stddef.h>

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
/* Where the stream ended; NULL when it was not what an encoder writes. */
const uint8_t *um_rans_end(const um_rans_decoder *d);

/* A way to decode rows, and a test if this machine can. */
typedef struct um_rans_variant {
    const char *name;
    bool (*usable)(void);
    um_rans_rows *rows;
} um_rans_variant;

/* Best first, the portable one last; NULL when i is past the end. */
const um_rans_variant *um_rans_variant_row(size_t i);

#endif
