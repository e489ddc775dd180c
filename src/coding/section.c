/*
 * section.c - chooses the coding of a section, and codes its bits.
 *
 * The choice depends only on the cells and uses integers, so that a decoder can
 * check it. Coding bytes under a model of one number loses 0.1 % at density 0.1
 * and more below, since none of the 256 bytes may have probability 0; so sparse
 * bits are coded as gaps, and dense ones as holes. For few cells, rANS would
 * spend more on lanes and frequencies than the adaptive coder does.
 */
#include "coding/section.h"

#include "coding/internal.h"

/* --- many cells at once ----------------------------------------------------
 *
 * A word is loaded or stored once for all its cells. Cell by cell, each store
 * would wait for the one before it, since neighbours share a word.
 */

/* Unpacks cells that fill whole words, last first. */
static inline size_t words_before(const um_packed *c, uint64_t end, size_t n,
                                  uint64_t *out, unsigned bits)
{
    const unsigned per = 64 / bits;
    const uint64_t max = um_packed_max(c);
    const uint8_t *at = c->at + end / per * 8;
    size_t done = 0;

    for (; n - done >= per; done += per) {
        uint64_t word = um_load64(at -= 8);
        for (unsigned i = 0; i < per; i++)
            out[done + i] = word >> (64 - bits - i * bits) & max;
    }
    return done;
}

/* Unpacks whole words of cells before end, for the common widths, which
 * unroll. */
static size_t whole_before(const um_packed *c, uint64_t end, size_t n,
                           uint64_t *out)
{
    if (64 % c->bits != 0 || end * c->bits % 64 != 0)
        return 0;
    return c->bits == 4    ? words_before(c, end, n, out, 4)
           : c->bits == 8  ? words_before(c, end, n, out, 8)
           : c->bits == 16 ? words_before(c, end, n, out, 16)
           : c->bits == 32 ? words_before(c, end, n, out, 32)
                           : words_before(c, end, n, out, c->bits);
}

void um_packed_before(const um_packed *c, uint64_t end, size_t n, uint64_t *out)
{
    if (!c->at) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    size_t done = whole_before(c, end, n, out);
    end -= done, out += done, n -= done;
    const unsigned bits = c->bits;
    const uint64_t max = um_packed_max(c), first = (end - n) * bits;
    const uint8_t *at = c->at + (first >> 6) * 8;
    unsigned have = 64 - (unsigned)(first & 63); /* bits left in word */
    uint64_t word = n ? um_load64(at) >> (first & 63) : 0;

    while (n) {
        uint64_t x = word;
        if (have < bits) {
            word = um_load64(at += 8);
            x |= word << have;
            word = word >> 1 >> (bits - have - 1);
            have += 64;
        } else {
            word = word >> 1 >> (bits - 1);
        }
        have -= bits;
        out[--n] = x & max;
    }
}

void um_packed_set_many(const um_packed *c, uint64_t i, const uint64_t *values,
                        size_t n)
{
    const unsigned bits = c->bits;
    uint8_t *at = c->at + (i * bits >> 6) * 8;
    unsigned have = (unsigned)(i * bits & 63); /* bits of word so far */
    uint64_t word = have ? um_load64(at) & (((uint64_t)1 << have) - 1) : 0;

    for (size_t j = 0; j < n; j++) {
        word |= values[j] << have;
        have += bits;
        if (have >= 64) {
            um_store64(at, word);
            at += 8;
            have -= 64;
            word = have ? values[j] >> (bits - have) : 0;
        }
    }
    if (have)
        um_store64(at, word | (um_load64(at) >> have << have));
}

/* --- the decisions that make a cell ----------------------------------------
 *
 * Encoder and decoder are the same code (internal.h), compiled twice.
 */

enum {
    LENGTHS = 65,    /* lengths of a number in bits, from 0 */
    DIRECT_BITS = 4, /* numbers of up to this many bits are coded entirely with
                        contexts */
    MANTISSA = 2     /* in larger numbers, bits below the highest that have
                        contexts */
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

/* Codes the bits below the highest of a number with len bits. */
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

/* --- cells ---------------------------------------------------------------- */

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

/* --- the coding of a section ---------------------------------------------- */

enum { PLAIN, BITS, GAPS, VALUES, HOLES, ADAPTIVE };

enum {
    SPARSE = 16,     /* gaps if fewer than 1 of 16 is not zero; holes
                        likewise */
    MANY = 1 << 19,  /* bits that make holes worth a table of their gaps */
    LEAST = 2048,    /* fewest bits of a section that are worth a model */
    WORTH_IT = 256,  /* see worth_it */
    CHANCE_BITS = 16 /* of the probability in the model */
};

typedef struct walk {
    const um_packed *cells;
    uint64_t at;
    bool begun;
} walk;

static size_t cells_before(void *self, uint64_t out[UM_VALUES_PIECE])
{
    walk *w = self;
    size_t n;

    if (!w->begun)
        w->at = w->cells->n;
    n = w->at < UM_VALUES_PIECE ? (size_t)w->at : UM_VALUES_PIECE;
    um_packed_before(w->cells, w->at, n, out);
    w->at -= n;
    w->begun = n > 0;
    return n;
}

void um_code_count(const um_packed *c, um_values_count *out)
{
    walk cells = {.cells = c};
    um_values_from from = {cells_before, &cells};

    if (c->bits > 1) {
        um_values_count_all(&from, out);
        return;
    }
    memset(out, 0, sizeof *out);
    out->n = c->n;
    out->token[1] = um_popcount(c->at, 0, c->n);
    out->token[0] = c->n - out->token[1];
}

/* --- choosing the coding -------------------------------------------------- */

/*
 * Returns true if coding saves more than it costs. n H(p) is about n - 0.72 (n
 * - 2 ones)^2 / n near p = 1/2: below this, the states of four lanes cost more
 * than is saved. (For 32 lanes this is measured.)
 */
static bool worth_it(uint64_t n, uint64_t ones)
{
    um_u128 off = n > 2 * ones ? n - 2 * ones : 2 * ones - n;
    return off * off >= (um_u128)WORTH_IT * n;
}

/*
 * Returns true if the adaptive coder is used. Bits also count as few when most
 * are ones. If neither value is rare, the coding "bits" takes some 20 bytes
 * more, and a tenth of the time.
 */
static bool are_few(const um_packed *c, uint64_t used)
{
    uint64_t rare = c->bits == 1 && used > c->n / 2 ? c->n - used : used;
    bool dense = c->bits == 1 && rare >= c->n / SPARSE;

    return c->n < (dense ? UM_ADAPTIVE_DENSE : UM_ADAPTIVE_CELLS) &&
           rare < UM_ADAPTIVE_USED;
}

static unsigned choose(const um_packed *c, const um_values_count *count,
                       um_code_version version)
{
    uint64_t used = c->n - count->token[0];

    if (version > UM_CODE_V1 && are_few(c, used))
        return ADAPTIVE;
    if (c->n * c->bits < LEAST || (c->bits == 1 && !worth_it(c->n, used)))
        return PLAIN;
    if (used < c->n / SPARSE)
        return GAPS;
    if (c->bits > 1)
        return VALUES;
    return c->n >= MANY && c->n - used < c->n / SPARSE ? HOLES : BITS;
}

/* --- bits ----------------------------------------------------------------- */

/* Returns the probability of a one in units of 2^-16, neither 0 nor 1. */
static uint16_t chance_of(const um_values_count *c)
{
    um_u128 ones = c->token[1];
    uint64_t chance = (uint64_t)(((ones << CHANCE_BITS) + c->n / 2) / c->n);

    return chance < 1 ? 1 : chance > UINT16_MAX ? UINT16_MAX : (uint16_t)chance;
}

/* Computes frequencies: a byte with i ones has chance^i (1 - chance)^(8 -
 * i). */
static void model_of(uint16_t chance, um_freqs *f)
{
    uint64_t weight[9], of[256];

    for (unsigned i = 0; i <= 8; i++) {
        um_u128 product = 1;
        for (unsigned j = 0; j < 8; j++)
            product *= j < i ? chance : (1u << CHANCE_BITS) - chance;
        weight[i] = (uint64_t)(product >> 80) | 1;
    }
    for (unsigned s = 0; s < 256; s++)
        of[s] = weight[__builtin_popcount(s)];
    um_freqs_fit(f, of);
}

static bool encode_bits(um_writer *w, const um_packed *c,
                        const um_values_count *count, uint64_t *len)
{
    uint16_t chance = chance_of(count);
    uint8_t start[2] = {(uint8_t)chance, (uint8_t)(chance >> 8)};
    uint64_t left = um_packed_bytes(c);
    um_rans_encoder e;
    um_freqs f;

    if (w->at)
        um_write_bytes(w, start, sizeof start);
    model_of(chance, &f);
    um_rans_encoder_init(&e, &f, left, w->at,
                         w->at ? (size_t)(w->end - w->at) : 0);
    while (left) {
        size_t n = (size_t)((left - 1) % UM_RANS_PIECE + 1);
        um_rans_append(&e, c->at + (left -= n), n);
    }
    uint64_t words = um_rans_finish(&e);
    if (w->at && words) {
        memmove(w->at, e.at, (size_t)words);
        w->at += words;
    }
    *len += sizeof start + words;
    return words > 0;
}

static bool decode_bits(um_reader *r, const um_packed *c, um_values_count *seen)
{
    uint8_t start[2];
    um_rans_decoder d;
    um_freqs f;

    um_get_bytes(r, start, sizeof start);
    uint16_t chance = (uint16_t)(start[0] | start[1] << 8);
    if (r->bad || !chance)
        return false;
    model_of(chance, &f);
    um_rans_decoder_init(&d, &f, um_packed_bytes(c), r->at, r->end);
    um_rans_get(&d, c->at, (size_t)um_packed_bytes(c));
    const uint8_t *end = um_rans_end(&d);
    um_code_count(c, seen);
    if (!end || chance != chance_of(seen))
        return false;
    r->at = end;
    return true;
}

/* --- values --------------------------------------------------------------- */

static bool encode_values(um_writer *w, const um_packed *c,
                          const um_values_count *count, uint64_t *len)
{
    walk cells = {.cells = c};
    um_values_from from = {cells_before, &cells};

    return um_values_encode(w, &from, count, len);
}

static bool consume_cells(void *self, const uint64_t *values, size_t n)
{
    walk *w = self;
    uint64_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= values[i];
    if (any > um_packed_max(w->cells))
        return false;
    um_packed_set_many(w->cells, w->at, values, n);
    w->at += n;
    return true;
}

static bool decode_values(um_reader *r, const um_packed *c,
                          um_values_count *seen)
{
    walk cells = {.cells = c};
    um_values_to to = {consume_cells, &cells};

    return um_values_decode(r, c->n, &to, seen) && seen->n == c->n;
}

/* --- gaps and holes: cells that differ from the common value -------------- */

static um_packed alike(const um_packed *c, bool ones)
{
    return (um_packed){.n = c->n, .bits = c->bits, .ones = ones};
}

static bool decode_changes(um_reader *r, const um_packed *c, bool ones,
                           um_values_count *seen)
{
    const um_packed before = alike(c, ones);

    for (uint64_t i = 0; ones && i < um_packed_words(c); i++)
        um_store64(c->at + 8 * i, um_packed_valid(c, i));
    if (!um_changes_decode(r, &before, c))
        return false;
    um_code_count(c, seen);
    return true;
}

/* --- a section ------------------------------------------------------------ */

/* Writes the coding that the rule chooses; returns 0 when it is plain, or not
 * shorter. */
static uint64_t encode(const um_packed *c, um_code_version version,
                       um_writer *w)
{
    um_values_count count;
    uint64_t len = 1;

    um_code_count(c, &count);
    unsigned way = choose(c, &count, version);
    uint8_t name = (uint8_t)way;
    const um_packed before = alike(c, way == HOLES);
    if (way == PLAIN)
        return 0;
    if (w->at)
        um_write_bytes(w, &name, 1);
    bool fine = way == BITS       ? encode_bits(w, c, &count, &len)
                : way == VALUES   ? encode_values(w, c, &count, &len)
                : way == ADAPTIVE ? um_adaptive_encode(w, c, &len)
                                  : um_changes_encode(w, &before, c, &len);
    return fine && len < um_code_max(c) ? len : 0;
}

uint64_t um_code_len(const um_packed *c, um_code_version version)
{
    um_writer nowhere = {NULL, NULL, false};
    uint64_t len = encode(c, version, &nowhere);

    return len ? len : um_code_max(c);
}

size_t um_code_encode(const um_packed *c, um_code_version version, uint8_t *out)
{
    size_t most = (size_t)um_code_max(c);
    um_writer w = {out, out + most + UM_CODE_SPACE, false};
    uint64_t len = encode(c, version, &w);

    if (len)
        return (size_t)len;
    out[0] = PLAIN;
    memcpy(out + 1, c->at, most - 1);
    return most;
}

static bool decode_plain(const uint8_t *bytes, size_t len,
                         um_code_version version, const um_packed *c)
{
    if (len != um_code_max(c))
        return false;
    memcpy(c->at, bytes + 1, len - 1);
    return um_code_len(c, version) == len;
}

static bool decode_adaptive(um_reader *r, const um_packed *c,
                            um_values_count *seen)
{
    if (c->n >= UM_ADAPTIVE_CELLS || !um_adaptive_decode(r, c))
        return false;
    um_code_count(c, seen);
    return true;
}

bool um_code_decode(const uint8_t *bytes, size_t len, um_code_version version,
                    const um_packed *c)
{
    um_values_count seen;

    if (len == 0 || len > um_code_max(c))
        return false;
    unsigned way = bytes[0];
    if (way == PLAIN)
        return decode_plain(bytes, len, version, c);
    if (way > ADAPTIVE || (way == HOLES && c->bits != 1) ||
        len == um_code_max(c))
        return false;
    um_reader r = {bytes + 1, bytes + len, false};
    bool fine = way == BITS       ? decode_bits(&r, c, &seen)
                : way == VALUES   ? decode_values(&r, c, &seen)
                : way == ADAPTIVE ? decode_adaptive(&r, c, &seen)
                                  : decode_changes(&r, c, way == HOLES, &seen);
    return fine && r.at == r.end && choose(c, &seen, version) == way;
}
