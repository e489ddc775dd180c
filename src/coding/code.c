/*
 * code.c - which way a section is coded, and the way of bits.
 *
 * The rule looks at the cells only and counts in integers, so that a decoder
 * can hold what it got against it. Bytes under the model of one number lose
 * 0.1 % at density 0.1 and more below, since none of the 256 may have a chance
 * of 0; so sparser bits are coded as gaps, and denser ones as holes. Few cells
 * would spend more on lanes and frequencies than the adaptive coder does.
 */
#include "coding/code.h"

#include "coding/adaptive.h"
#include "coding/changes.h"

enum { PLAIN, BITS, GAPS, VALUES, HOLES, ADAPTIVE };

enum {
    SPARSE = 16,     /* gaps, when fewer than 1 of 16 is not zero; holes */
    MANY = 1 << 19,  /* bits whose holes are worth a table of their gaps */
    LEAST = 2048,    /* bits of a section that are worth a model */
    WORTH_IT = 256,  /* see worth_it */
    CHANCE_BITS = 16 /* of the model's number */
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

/* --- the rule --- */

/*
 * n H(p) is about n - 0.72 (n - 2 ones)^2 / n near p = 1/2: below this, the
 * states of four lanes cost more than is saved. (For 32 lanes this is
 * measured.)
 */
static bool worth_it(uint64_t n, uint64_t ones)
{
    um_u128 off = n > 2 * ones ? n - 2 * ones : 2 * ones - n;
    return off * off >= (um_u128)WORTH_IT * n;
}

/*
 * Bits are few when most are ones, too. Where neither is rare, the way of bits
 * takes some 20 bytes more, and a tenth of the time.
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

/* --- bits --- */

/* The chance of a one in 2^16, neither 0 nor 1. */
static uint16_t chance_of(const um_values_count *c)
{
    um_u128 ones = c->token[1];
    uint64_t chance = (uint64_t)(((ones << CHANCE_BITS) + c->n / 2) / c->n);

    return chance < 1 ? 1 : chance > UINT16_MAX ? UINT16_MAX : (uint16_t)chance;
}

/* A byte with i ones has chance^i (1 - chance)^(8 - i). */
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

/* --- values --- */

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
    um_packed_append(w->cells, w->at, values, n);
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

/* --- gaps and holes: what differs from cells that are all alike --- */

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

/* --- a section --- */

/* The code that is not plain; 0 when it is not shorter, or not the rule. */
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
    um_writer w = {out, out + most + UM_CODE_ROOM, false};
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
