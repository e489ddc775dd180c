/*
 * values.c - streams of numbers: tokens by rANS, the rest as plain bits.
 *
 * The source is read twice, to count and to code, and backwards, because the
 * coder works backwards. The string of bits is also filled from its end: its
 * length is known from the count.
 */
#include "coding/section.h"

#include "coding/internal.h"

_Static_assert((int)UM_VALUES_PIECE == (int)UM_RANS_PIECE,
               "pieces are passed on whole");

enum {
    DIRECT = 16,  /* smaller numbers are their own tokens */
    MANTISSA = 2, /* bits below the highest that a token holds */
    SLACK = 8     /* bits are read in whole words */
};

/* --- tokens --------------------------------------------------------------- */

/* The token of a number that has rest bits below its highest three. */
#define TOKEN(value, rest)                                                     \
    (((rest) << MANTISSA) + (1 << MANTISSA) + ((value) >> (rest)))

/* ... as a table for numbers of up to eight bits, the most common ones. */
#define SMALL(v)                                                               \
    ((v) < 16 ? (v) : TOKEN(v, (v) < 32 ? 2 : (v) < 64 ? 3 : (v) < 128 ? 4 : 5))
#define SMALL4(v) SMALL(v), SMALL((v) + 1), SMALL((v) + 2), SMALL((v) + 3)
#define SMALL16(v) SMALL4(v), SMALL4((v) + 4), SMALL4((v) + 8), SMALL4((v) + 12)
#define SMALL64(v)                                                             \
    SMALL16(v), SMALL16((v) + 16), SMALL16((v) + 32), SMALL16((v) + 48)

static const uint8_t small[256] = {SMALL64(0), SMALL64(64), SMALL64(128),
                                   SMALL64(192)};

static uint8_t large(uint64_t value)
{
    unsigned rest = 63 - (unsigned)__builtin_clzll(value) - MANTISSA;
    return (uint8_t)TOKEN(value, rest);
}

static inline uint8_t token_of(uint64_t value)
{
    return value < 256 ? small[value] : large(value);
}

/* Returns the number of bits that follow a token. */
static inline unsigned token_bits(uint8_t token)
{
    return ((unsigned)(token >> MANTISSA) - 2) & (0u - (token >= DIRECT));
}

/* Returns the smallest number of a token. */
static inline uint64_t token_base(uint8_t token)
{
    uint64_t top = (1 << MANTISSA) | (token & ((1 << MANTISSA) - 1));
    return token < DIRECT ? token : top << token_bits(token);
}

/* --- small numbers -------------------------------------------------------- */

void um_write_varint(um_writer *w, uint64_t x)
{
    uint8_t byte;

    do {
        byte = (uint8_t)((x & 0x7F) | (x > 0x7F ? 0x80 : 0));
        um_write_bytes(w, &byte, 1);
    } while (x >>= 7);
}

void um_append_u64(um_buffer *b, uint64_t x)
{
    uint8_t bytes[8];

    um_store64(bytes, x);
    um_buffer_append(b, bytes, sizeof bytes);
}

void um_append_varint(um_buffer *b, uint64_t x)
{
    uint8_t bytes[10];
    um_writer w = {bytes, bytes + sizeof bytes, false};

    um_write_varint(&w, x);
    um_buffer_append(b, bytes, (size_t)(w.at - bytes));
}

uint64_t um_get_varint(um_reader *r)
{
    uint64_t x = 0;
    uint8_t byte = 0x80;

    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 63) {
            r->bad = true;
            return 0;
        }
        um_get_bytes(r, &byte, 1);
        x |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte == 0 && shift) || (shift == 63 && byte > 1))
            r->bad = true; /* not the shortest form, or too large */
    }
    return x;
}

/* --- the model ------------------------------------------------------------ */

static void write_model(um_writer *w, const um_freqs *f)
{
    unsigned last = 255;

    while (last && !f->of[last])
        last--;
    um_write_varint(w, last);
    for (unsigned s = 0; s <= last; s++) {
        unsigned zeros = 0;
        um_write_varint(w, f->of[s]);
        while (!f->of[s] && !f->of[s + 1])
            s++, zeros++;
        if (!f->of[s])
            um_write_varint(w, zeros);
    }
}

static bool get_model(um_reader *r, um_freqs *f)
{
    uint64_t last = um_get_varint(r), sum = 0;

    memset(f, 0, sizeof *f);
    if (last > 255)
        return false;
    for (uint64_t s = 0; s <= last; s++) {
        uint64_t freq = um_get_varint(r);
        if (freq > UM_RANS_SUM || (!freq && s && !f->of[s - 1]))
            return false;
        f->of[s] = (uint16_t)freq;
        sum += freq;
        uint64_t zeros = freq ? 0 : um_get_varint(r);
        if (zeros > last - s)
            return false;
        s += zeros;
    }
    return !r->bad && f->of[last] && sum == UM_RANS_SUM;
}

/* --- counting ------------------------------------------------------------- */

/*
 * Computes the tokens, in order, of values, which are last first; returns true
 * if they all equal the values, as those of counters mostly do.
 */
static bool tokens_of(const uint64_t *values, size_t n, uint8_t *out)
{
    uint64_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= values[i];
    if (any < DIRECT)
        for (size_t i = 0; i < n; i++)
            out[n - 1 - i] = (uint8_t)values[i];
    else
        for (size_t i = 0; i < n; i++)
            out[n - 1 - i] = token_of(values[i]);
    return any < DIRECT;
}

/* Counts tokens in two alternating tables: with one, equal neighbours would
 * wait for each other's store. */
static void tally(um_values_count *c, const uint8_t *tokens, size_t n)
{
    uint64_t odd[256] = {0};

    for (size_t i = 0; i + 1 < n; i += 2) {
        c->token[tokens[i]]++;
        odd[tokens[i + 1]]++;
    }
    if (n % 2)
        c->token[tokens[n - 1]]++;
    for (size_t i = 0; i < 256; i++)
        c->token[i] += odd[i];
    c->n += n;
}

void um_values_count_all(const um_values_from *from, um_values_count *out)
{
    uint64_t values[UM_VALUES_PIECE];
    uint8_t tokens[UM_VALUES_PIECE];
    size_t n;

    memset(out, 0, sizeof *out);
    while ((n = from->before(from->self, values)) > 0) {
        tokens_of(values, n, tokens);
        tally(out, tokens, n);
    }
    for (unsigned s = 0; s < 256; s++)
        out->bits += out->token[s] * token_bits((uint8_t)s);
}

/* --- coding --------------------------------------------------------------- */

typedef struct coder {
    um_rans_encoder rans;
    uint8_t *bits; /* NULL: only count */
    uint64_t left; /* bits of the string still missing */
    uint64_t some; /* its lowest nsome bits are the next of the string, not yet
                      written */
    unsigned nsome;
    uint8_t *at; /* where those bits end */
} coder;

/*
 * Prepends bits to the string. Writes whole words, of which only the last bytes
 * are final: no branch, and no word is read back. So up to SLACK bytes before
 * the string are overwritten.
 */
static inline void prepend(coder *c, uint64_t x, unsigned nbits)
{
    c->some = c->some << nbits | x;
    c->nsome += nbits;
    um_store64(c->at - 8, c->some << 1 << (63 - c->nsome));
    c->at -= c->nsome / 8;
    c->nsome %= 8;
}

static inline void prepend_value(coder *c, uint64_t value, unsigned nbits)
{
    uint64_t x = value & (((uint64_t)1 << nbits) - 1);

    if (nbits > 32) {
        prepend(c, x >> 32, nbits - 32);
        x &= UINT32_MAX;
        nbits = 32;
    }
    prepend(c, x, nbits);
}

/* Starts with the zeros that pad the string to a whole byte. */
static void begin_string(coder *c, uint8_t *bits, uint64_t nbits)
{
    c->bits = bits;
    c->left = nbits;
    c->at = bits ? bits + (nbits + 7) / 8 : NULL;
    c->some = 0;
    c->nsome = (unsigned)(-nbits & 7);
}

/* Prepends the bits of the values that their tokens do not contain. */
static bool prepend_all(coder *c, const uint64_t *values, const uint8_t *tokens,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned nbits = token_bits(tokens[n - 1 - i]);
        if (nbits > c->left)
            return false;
        c->left -= nbits;
        if (c->bits)
            prepend_value(c, values[i], nbits);
    }
    return true;
}

static bool code_piece(coder *c, const uint64_t *values, size_t n)
{
    uint8_t tokens[UM_VALUES_PIECE];

    if (!tokens_of(values, n, tokens) && !prepend_all(c, values, tokens, n))
        return false;
    um_rans_append(&c->rans, tokens, n);
    return !c->rans.bad;
}

static bool code_all(coder *c, const um_values_from *from)
{
    uint64_t values[UM_VALUES_PIECE];
    bool fine = true;
    size_t n;

    while ((n = from->before(from->self, values)) > 0)
        fine = fine && code_piece(c, values, n);
    return fine && c->left == 0;
}

/* Largest size of two lengths and the model: at most 256 frequencies of 3
 * bytes. */
enum { START_MAX = 10 + 10 + 2 + 256 * 3 };

static size_t write_start(const um_values_count *count, um_freqs *f,
                          uint8_t out[START_MAX])
{
    um_writer w = {out, out + START_MAX, false};

    um_write_varint(&w, count->n);
    if (count->n) {
        um_freqs_fit(f, count->token);
        write_model(&w, f);
        um_write_varint(&w, count->bits);
    }
    return (size_t)(w.at - out);
}

/* Codes the string of bits, at first SLACK bytes too high, and the words, at
 * the end of the buffer. */
static uint64_t code(um_writer *w, const um_values_from *from,
                     const um_values_count *count, const um_freqs *freqs)
{
    bool real = w->at != NULL;
    size_t bytes = (size_t)((count->bits + 7) / 8);
    uint8_t *string = real ? w->at + SLACK : NULL;
    coder c;

    if (real && (size_t)(w->end - w->at) < SLACK + bytes)
        return 0;
    begin_string(&c, string, count->bits);
    um_rans_encoder_init(&c.rans, freqs, count->n, real ? string + bytes : NULL,
                         real ? (size_t)(w->end - string) - bytes : 0);
    uint64_t words = code_all(&c, from) ? um_rans_finish(&c.rans) : 0;
    if (real && words) {
        memmove(w->at, string, bytes);
        memmove(w->at + bytes, c.rans.at, (size_t)words);
        w->at += bytes + words;
    }
    return words ? bytes + words : 0;
}

bool um_values_encode(um_writer *w, const um_values_from *from,
                      const um_values_count *count, uint64_t *len)
{
    uint8_t start[START_MAX];
    um_freqs freqs;
    size_t start_len = write_start(count, &freqs, start);

    if (w->at)
        um_write_bytes(w, start, start_len);
    *len += start_len;
    if (w->bad || !count->n)
        return !w->bad;
    uint64_t rest = code(w, from, count, &freqs);
    *len += rest;
    return rest > 0;
}

/* --- decoding ------------------------------------------------------------- */

typedef struct decoder {
    um_rans_decoder rans;
    const uint8_t *bits, *end; /* the string, and the end of readable memory */
    uint64_t at, nbits;
} decoder;

static inline uint64_t get_bits(const uint8_t *bits, uint64_t at,
                                unsigned nbits)
{
    return um_load64(bits + at / 8) >> at % 8 & (((uint64_t)1 << nbits) - 1);
}

/* Reads bits of the string; near the end of memory, from a copy of the last
 * bytes. */
static uint64_t read_bits(const decoder *d, unsigned nbits)
{
    uint8_t copy[SLACK] = {0};
    const uint8_t *from = d->bits + d->at / 8;

    if ((size_t)(d->end - from) >= SLACK)
        return get_bits(d->bits, d->at, nbits);
    memcpy(copy, from, (size_t)(d->end - from));
    return get_bits(copy, d->at % 8, nbits);
}

/* Reads the bits of the string that belong to a token, and computes its
 * value. */
static inline bool value_of(decoder *d, uint8_t token, uint64_t *out)
{
    unsigned nbits = token_bits(token);
    uint64_t rest = 0;

    if (nbits > d->nbits - d->at)
        return false;
    for (unsigned got = 0, part; got < nbits; got += part) {
        part = nbits - got < 32 ? nbits - got : 32;
        rest |= read_bits(d, part) << got;
        d->at += part;
    }
    *out = token_base(token) | rest;
    return true;
}

static bool values_of(decoder *d, const uint8_t *tokens, uint64_t *values,
                      size_t n)
{
    uint8_t any = 0;
    bool fine = true;

    for (size_t i = 0; i < n; i++)
        any |= tokens[i];
    if (any < DIRECT)
        for (size_t i = 0; i < n; i++)
            values[i] = tokens[i];
    else
        for (size_t i = 0; fine && i < n; i++)
            fine = value_of(d, tokens[i], &values[i]);
    return fine;
}

static bool decode_all(decoder *d, uint64_t n, const um_values_to *to,
                       um_values_count *seen)
{
    uint8_t tokens[UM_VALUES_PIECE];
    uint64_t values[UM_VALUES_PIECE];

    while (n) {
        size_t part = n < UM_VALUES_PIECE ? (size_t)n : UM_VALUES_PIECE;
        um_rans_get(&d->rans, tokens, part);
        if (d->rans.bad || !values_of(d, tokens, values, part) ||
            !to->take(to->self, values, part))
            return false;
        tally(seen, tokens, part);
        n -= part;
    }
    return d->at == d->nbits;
}

/* Reads the string of bits, whose padding must be zero; the tokens follow
 * it. */
static bool read_string(um_reader *r, decoder *d)
{
    d->nbits = um_get_varint(r);
    uint64_t bytes = d->nbits / 8 + (d->nbits % 8 != 0);

    if (r->bad || bytes > (uint64_t)(r->end - r->at))
        return false;
    d->bits = r->at;
    d->end = r->end;
    d->at = 0;
    r->at += bytes;
    return d->nbits % 8 == 0 || r->at[-1] >> d->nbits % 8 == 0;
}

bool um_values_decode(um_reader *r, uint64_t most, const um_values_to *to,
                      um_values_count *seen)
{
    uint64_t n = um_get_varint(r);
    um_freqs stored, fit;
    decoder d;

    memset(seen, 0, sizeof *seen);
    if (r->bad || n == 0 || n > most)
        return !r->bad && n == 0;
    if (!get_model(r, &stored) || !read_string(r, &d))
        return false;
    um_rans_decoder_init(&d.rans, &stored, n, r->at, r->end);
    if (!decode_all(&d, n, to, seen))
        return false;
    const uint8_t *end = um_rans_end(&d.rans);
    um_freqs_fit(&fit, seen->token);
    if (!end || memcmp(&fit, &stored, sizeof fit) != 0)
        return false;
    seen->bits = d.nbits;
    r->at = end;
    return true;
}
