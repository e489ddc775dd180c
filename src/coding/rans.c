/*
 * rans.c - the rANS coder, and its portable decoder, which is the definition.
 *
 * A state x below 2^32 represents all symbols it has absorbed. To absorb a
 * symbol of frequency f whose slots begin at s: x = (x / f) * 2^15 + s + x % f.
 * To keep x below 2^32, a word is emitted first when x >= f * 2^17. Nothing
 * branches on the data: a word is always stored, and the position advances or
 * not.
 *
 * x / f is a multiplication: with M = 2^47 / f rounded up, x * M >> 47 is right
 * for x < f * 2^17, and x * M fits into 64 bits, since f * (f - 1) < 2^30.
 */
#include "coding/internal.h"

#include "base/bytes.h"
#include "base/error.h"

enum {
    WORD = 2,
    WORD_BITS = 16,
    INVERSE_BITS = 32 + UM_RANS_BITS,
    FEW = 64,      /* below this many symbols, one lane */
    SOME = 1 << 17 /* below this many symbols, four lanes */
};

/*
 * Cuts shares from a line of length 2^15, so that they add up. Shares below 1
 * are raised to 1 at the expense of the largest.
 */
void um_freqs_fit(um_freqs *out, const uint64_t weight[256])
{
    uint64_t total = 0, sum = 0, cut = 0, spent = 0;
    unsigned largest = 0;

    for (unsigned s = 0; s < 256; s++)
        total += weight[s];
    for (unsigned s = 0; s < 256; s++) {
        sum += weight[s];
        uint64_t next = (uint64_t)((um_u128)sum * UM_RANS_SUM / total);
        uint64_t freq = next - cut + (weight[s] && next == cut);
        out->of[s] = (uint16_t)freq;
        spent += freq;
        cut = next;
        if (weight[s] > weight[largest])
            largest = s;
    }
    out->of[largest] = (uint16_t)(out->of[largest] - (spent - UM_RANS_SUM));
}

/* Returns the number of lanes for n symbols; on the wire. */
static unsigned lanes_for(uint64_t n)
{
    return n < FEW ? 1 : n < SOME ? 4 : UM_RANS_LANES;
}

/* Stores 16 bits, which most compilers turn into one store. */
static inline void store16(uint8_t *p, uint32_t x)
{
    uint64_t word = um_le64(x);
    memcpy(p, &word, WORD);
}

/* --- encoder -------------------------------------------------------------- */

void um_rans_encoder_init(um_rans_encoder *e, const um_freqs *f, uint64_t n,
                          uint8_t *out, size_t cap)
{
    uint32_t start = 0;

    memset(e, 0, sizeof *e);
    for (unsigned s = 0; s < 256; s++) {
        uint32_t freq = f->of[s];
        e->symbol[s] = (um_rans_symbol){
            .inverse =
                freq ? (((uint64_t)1 << INVERSE_BITS) + freq - 1) / freq : 0,
            .most = (freq << (32 - UM_RANS_BITS)) - 1,
            .start = (uint16_t)start,
            .rest = (uint16_t)(UM_RANS_SUM - freq)};
        start += freq;
    }
    e->lanes = lanes_for(n);
    for (unsigned i = 0; i < e->lanes; i++)
        e->state[i] = UM_RANS_LOW;
    e->left = n;
    e->counting = out == NULL;
    e->lowest = e->counting ? e->scratch : out;
    e->at = e->counting ? e->scratch + sizeof e->scratch : out + cap;
}

static inline void append(um_rans_encoder *e, const uint8_t *symbols, size_t n,
                          unsigned lanes)
{
    uint64_t mask = lanes - 1, i = e->left;
    uint8_t *at = e->at;
    uint32_t unknown = 0;

    while (n--) {
        uint32_t *state = &e->state[--i & mask];
        const um_rans_symbol *s = &e->symbol[symbols[n]];
        uint32_t x = *state;
        uint64_t full = -(uint64_t)(x > s->most); /* all ones, or none */
        store16(at - WORD, x);
        at += (int64_t)full * WORD;
        x >>= full & WORD_BITS;
        uint32_t quotient = (uint32_t)(x * s->inverse >> INVERSE_BITS);
        *state = x + quotient * s->rest + s->start;
        unknown |= s->rest;
    }
    e->left = i;
    e->at = at;
    e->bad = unknown >= UM_RANS_SUM; /* frequency 0: not counted */
}

void um_rans_append(um_rans_encoder *e, const uint8_t *symbols, size_t n)
{
    if (e->bad || n > e->left || n > UM_RANS_PIECE ||
        (size_t)(e->at - e->lowest) < WORD * n) {
        e->bad = true;
        return;
    }
    const uint8_t *before = e->at;
    if (e->lanes == UM_RANS_LANES)
        append(e, symbols, n, UM_RANS_LANES);
    else
        append(e, symbols, n, e->lanes);
    e->given += (uint64_t)(before - e->at);
    if (e->counting)
        e->at = e->scratch + sizeof e->scratch;
}

uint64_t um_rans_finish(um_rans_encoder *e)
{
    size_t states = 4 * (size_t)e->lanes;

    if (e->bad || e->left ||
        (!e->counting && (size_t)(e->at - e->lowest) < states))
        return 0;
    if (!e->counting) {
        um_writer w = {e->at - states, e->at, false};
        e->at -= states;
        for (unsigned i = 0; i < e->lanes; i++)
            um_write_u32(&w, e->state[i]);
    }
    return e->given + states;
}

/* --- decoder -------------------------------------------------------------- */

#ifdef UM_HAVE_X86
extern const um_rans_variant um_rans_avx512, um_rans_avx2;
#endif

static bool always(void)
{
    return true;
}

/* Decodes one symbol; a word to read must be available. */
static inline uint8_t consume(um_rans_decoder *d, uint32_t *state,
                              const uint8_t **at)
{
    uint32_t x = *state, slot = x & (UM_RANS_SUM - 1);
    uint8_t symbol = d->slot[slot];
    uint32_t info = d->symbol[symbol];
    uint32_t word = (*at)[0] | (uint32_t)(*at)[1] << 8;

    x = (info >> 16) * (x >> UM_RANS_BITS) + slot - (info & 0xFFFF);
    uint32_t low = x < UM_RANS_LOW;
    *state = x << (WORD_BITS * low) | (word & (0 - low));
    *at += (size_t)WORD * low;
    return symbol;
}

static inline size_t get_rows(um_rans_decoder *d, uint8_t *out, size_t n,
                              unsigned lanes)
{
    const uint8_t *at = d->at;
    size_t i = 0;

    while (n - i >= lanes && (size_t)(d->end - at) >= (size_t)WORD * lanes)
        for (unsigned lane = 0; lane < lanes; lane++)
            out[i++] = consume(d, &d->state[lane], &at);
    d->at = at;
    return i;
}

static size_t portable_rows(um_rans_decoder *d, uint8_t *out, size_t n)
{
    return get_rows(d, out, n, UM_RANS_LANES);
}

static const um_rans_variant portable = {"portable", always, portable_rows};

static const um_rans_variant *const variants[] = {
#ifdef UM_HAVE_X86
    &um_rans_avx512, &um_rans_avx2,
#endif
    &portable};

const um_rans_variant *um_rans_variant_row(size_t i)
{
    return i < UM_COUNT(variants) ? variants[i] : NULL;
}

static um_rans_rows *pick(void)
{
    for (size_t i = 0; i < UM_COUNT(variants); i++)
        if (variants[i]->usable())
            return variants[i]->rows;
    return portable_rows;
}

void um_rans_decoder_init(um_rans_decoder *d, const um_freqs *f, uint64_t n,
                          const uint8_t *bytes, const uint8_t *end)
{
    um_reader r = {bytes, end, false};
    uint32_t start = 0;

    for (unsigned s = 0; s < 256; s++) {
        d->symbol[s] = (uint32_t)f->of[s] << 16 | start;
        memset(d->slot + start, (int)s, f->of[s]);
        start += f->of[s];
    }
    memset(d->spare, 0, sizeof d->spare);
    d->lanes = lanes_for(n);
    d->done = 0;
    d->end = end;
    d->rows = pick();
    d->bad = false;
    for (unsigned i = 0; i < d->lanes; i++) {
        d->state[i] = um_get_u32(&r); /* 0 past the end */
        d->bad |= d->state[i] < UM_RANS_LOW;
    }
    d->at = r.at;
}

/* Decodes one symbol near the end of the input: missing words read as zero. */
static uint8_t consume_carefully(um_rans_decoder *d)
{
    static const uint8_t nothing[WORD] = {0};
    uint32_t *state = &d->state[d->done++ & (d->lanes - 1)];
    const uint8_t *from = d->end - d->at >= WORD ? d->at : nothing, *at = from;
    uint8_t symbol = consume(d, state, &at);

    if (at != from && from == nothing)
        d->bad = true;
    else if (at != from)
        d->at = at;
    return symbol;
}

void um_rans_get(um_rans_decoder *d, uint8_t *out, size_t n)
{
    size_t i = 0;

    if (!d->bad && d->done % d->lanes == 0) {
        i = d->lanes == UM_RANS_LANES ? d->rows(d, out, n)
                                      : get_rows(d, out, n, d->lanes);
        d->done += i;
    }
    while (i < n && !d->bad)
        out[i++] = consume_carefully(d);
    if (d->bad)
        memset(out, 0, n);
}

const uint8_t *um_rans_end(const um_rans_decoder *d)
{
    bool fine = !d->bad;

    for (unsigned i = 0; fine && i < d->lanes; i++)
        fine = d->state[i] == UM_RANS_LOW;
    return fine ? d->at : NULL;
}
