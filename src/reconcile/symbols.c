/*
 * symbols.c - the difference of two sets from symbols: invertible tables that
 * continue one another.
 *
 * Both sides compute the same symbols of their sets, one side sends them, and
 * the other one takes the exclusive or of both: keys that both have vanish. A
 * symbol that is left with one key shows that key, because its check bits fit
 * and the key belongs there; removing it from its other symbols leaves further
 * ones with one key (Eppstein, Goodrich, Uyeda, Varghese 2011).
 *
 * One table would have to be as large as the largest difference that the
 * estimate allows. So symbols come in chunks: the first is too small on
 * purpose, the share of its symbols that are empty says how many keys differ,
 * and the second completes it to 1.4 symbols a key. A key is in fewer symbols
 * of later chunks, so that what they hold is about as dense as what is left to
 * decode. Each chunk helps to decode all others, so every symbol helps:
 * this is what rateless tables do symbol by symbol (Yang, Gilad, Alizadeh
 * 2024), at three operations a key and chunk instead of two for each doubling
 * of the table.
 *
 *   symbol   63............0  31.....0
 *            xor of lo        xor of check bits
 */
#include "reconcile/internal.h"

#include "base/error.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* --- the sketch ------------------------------------------------------------
 */

void um_sketch_init(um_sketch *s, const um_key_set *keys)
{
    *s = (um_sketch){{{0}}};
    for (size_t i = 0; i < keys->n; i++) {
        uint64_t x = keys->digest[i].hi;
        uint64_t level = x ? (uint64_t)__builtin_ctzll(x) : UM_SKETCH_LEVELS;
        if (level >= UM_SKETCH_LEVELS)
            level = UM_SKETCH_LEVELS - 1;
        s->word[level][x >> 63] ^= (uint64_t)1 << (x >> 57 & 63);
    }
}

/* Returns the logarithm of the likelihood that d keys make these numbers of odd
 * bins. */
static double likelihood(const unsigned *odd, double d)
{
    enum { BINS = 64 * UM_SKETCH_WORDS };
    double sum = 0;

    for (int i = 0; i < UM_SKETCH_LEVELS; i++) {
        double sampled = ldexp(d, -(i < UM_SKETCH_LEVELS - 1 ? i + 1 : i));
        double p = -expm1(-2 * sampled / BINS) / 2; /* that a bin is odd */
        if (odd[i])
            sum += odd[i] * log(p);
        sum += (BINS - odd[i]) * log1p(-p);
    }
    return sum;
}

double um_sketch_difference(const um_sketch *a, const um_sketch *b)
{
    unsigned odd[UM_SKETCH_LEVELS], all = 0;
    double low = 0, high = log(1e10);

    for (int i = 0; i < UM_SKETCH_LEVELS; i++) {
        odd[i] = 0;
        for (int j = 0; j < UM_SKETCH_WORDS; j++)
            odd[i] +=
                (unsigned)__builtin_popcountll(a->word[i][j] ^ b->word[i][j]);
        all += odd[i];
    }
    for (int step = 0; all && step < 60; step++) { /* it has one maximum */
        double x = low + (high - low) / 3, y = high - (high - low) / 3;
        if (likelihood(odd, exp(x)) < likelihood(odd, exp(y)))
            low = x;
        else
            high = y;
    }
    return all ? exp((low + high) / 2) : 0;
}

/* --- chunks ----------------------------------------------------------------
 */

umbel_status um_chunk_init(um_chunk *c, unsigned number, uint64_t n,
                           uint64_t sixteenths, umbel_error *err)
{
    if (!n || n > UM_MAX_SYMBOLS || !sixteenths ||
        sixteenths > UM_MAX_SIXTEENTHS || n < (sixteenths + 15) / 16)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the other side asks for a table that cannot be");
    *c = (um_chunk){.number = number,
                    .n = (size_t)n,
                    .sixteenths = (unsigned)sixteenths,
                    .sum = calloc((size_t)n, sizeof *c->sum),
                    .check = calloc((size_t)n, sizeof *c->check)};
    for (unsigned i = 0; i < UM_COUNT(c->factor); i++)
        c->factor[i] = um_mix(UINT64_C(0x9E3779B97F4A7C15) *
                              (8 * (uint64_t)number + i + 1)) |
                       1;
    if (c->sum && c->check)
        return UMBEL_OK;
    um_chunk_fini(c);
    return um_no_memory(err, n * UM_SYMBOL_LEN);
}

void um_chunk_fini(um_chunk *c)
{
    free(c->sum);
    free(c->check);
    c->sum = NULL;
    c->check = NULL;
}

static inline uint32_t check_of(uint64_t lo)
{
    uint64_t x = (lo ^ lo >> 31) * UINT64_C(0xBF58476D1CE4E5B9);

    return (uint32_t)((x ^ x >> 29) * UINT64_C(0x94D049BB133111EB) >> 32);
}

/* Finds the symbols of a key; returns how many there are. lo is random, so a
 * product with a random number is a hash function. */
static inline size_t symbols_of(const um_chunk *c, uint64_t lo,
                                size_t out[(UM_MAX_SIXTEENTHS + 15) / 16])
{
    unsigned full = c->sixteenths / 16, rest = c->sixteenths % 16;
    uint64_t len = full ? 16 * (uint64_t)c->n / c->sixteenths : 0;
    size_t n = 0;

    for (unsigned i = 0; i < full + (rest > 0); i++) {
        uint64_t x = lo * c->factor[i];
        if (i < full)
            out[n++] = (size_t)(i * len + um_scale(x, len));
        else if ((x >> 16 & 15) < rest)
            out[n++] = (size_t)(i * len + um_scale(x, c->n - i * len));
    }
    return n;
}

static inline void toggle(um_chunk *c, uint64_t lo)
{
    size_t at[(UM_MAX_SIXTEENTHS + 15) / 16];
    size_t n = symbols_of(c, lo, at);
    uint32_t check = check_of(lo);

    for (size_t i = 0; i < n; i++) {
        c->sum[at[i]] ^= lo;
        c->check[at[i]] ^= check;
    }
}

void um_chunk_toggle(um_chunk *c, uint64_t lo)
{
    toggle(c, lo);
}

void um_chunk_add_set(um_chunk *c, const um_key_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->state[i] == UM_MAYBE_COMMON)
            toggle(c, s->digest[i].lo);
}

void um_chunk_write(const um_chunk *c, uint8_t *out)
{
    um_writer w = {out, out + c->n * UM_SYMBOL_LEN, false};

    for (size_t i = 0; i < c->n; i++) {
        um_write_u64(&w, c->sum[i]);
        um_write_u32(&w, c->check[i]);
    }
}

void um_chunk_combine(um_chunk *c, const uint8_t *in)
{
    um_reader r = {in, in + c->n * UM_SYMBOL_LEN, false};

    for (size_t i = 0; i < c->n; i++) {
        c->sum[i] ^= um_get_u64(&r);
        c->check[i] ^= um_get_u32(&r);
    }
}

/* --- decoding --------------------------------------------------------------
 */

void um_peeler_fini(um_peeler *p)
{
    for (size_t i = 0; i < p->nchunks; i++)
        um_chunk_fini(&p->chunk[i]);
    free(p->found);
    *p = (um_peeler){.nchunks = 0};
}

/* Returns true if symbol i has one key. */
static bool has_one(const um_chunk *c, size_t i)
{
    size_t at[(UM_MAX_SIXTEENTHS + 15) / 16];

    if ((!c->sum[i] && !c->check[i]) || c->check[i] != check_of(c->sum[i]))
        return false;
    for (size_t n = symbols_of(c, c->sum[i], at); n > 0; n--)
        if (at[n - 1] == i)
            return true;
    return false;
}

/* A place to look at again. */
typedef struct symbol_place {
    uint32_t chunk, at;
} symbol_place;

typedef struct symbol_stack {
    symbol_place *at;
    size_t n, cap;
} symbol_stack;

static umbel_status push(symbol_stack *s, size_t chunk, size_t at,
                         umbel_error *err)
{
    if (!um_array_reserve(&s->at, &s->cap, s->n + 1, sizeof *s->at))
        return um_no_memory(err, s->n * sizeof *s->at);
    s->at[s->n++] = (symbol_place){(uint32_t)chunk, (uint32_t)at};
    return UMBEL_OK;
}

/* Removes a key from all symbols, and looks at those again that then have
 * one. */
static umbel_status remove_key(um_peeler *p, uint64_t lo, symbol_stack *stack,
                               umbel_error *err)
{
    size_t at[(UM_MAX_SIXTEENTHS + 15) / 16];

    if (!um_array_reserve(&p->found, &p->cap, p->nfound + 1, sizeof lo))
        return um_no_memory(err, p->nfound * sizeof lo);
    p->found[p->nfound++] = lo;
    for (size_t i = 0; i < p->nchunks; i++) {
        um_chunk *c = &p->chunk[i];
        size_t n = symbols_of(c, lo, at);
        um_chunk_toggle(c, lo);
        for (size_t j = 0; j < n; j++)
            if (has_one(c, at[j]))
                UM_TRY(push(stack, i, at[j], err));
    }
    return UMBEL_OK;
}

static umbel_status peel(um_peeler *p, symbol_stack *stack, umbel_error *err)
{
    const um_chunk *last = &p->chunk[p->nchunks - 1];

    for (size_t i = 0; i < last->n; i++) {
        if (has_one(last, i))
            UM_TRY(push(stack, p->nchunks - 1, i, err));
        /* Damaged symbols could go round in circles. */
        while (stack->n && p->nfound <= p->symbols) {
            symbol_place at = stack->at[--stack->n];
            const um_chunk *c = &p->chunk[at.chunk];
            if (has_one(c, at.at))
                UM_TRY(remove_key(p, c->sum[at.at], stack, err));
        }
    }
    return UMBEL_OK;
}

static size_t count_used(const um_chunk *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += c->sum[i] || c->check[i];
    return n;
}

/* A key is in q of n symbols, so the share exp(-q d / n) of them is empty. */
static double estimate_from(const um_chunk *c)
{
    size_t used = count_used(c);
    double empty = c->n > used ? (double)(c->n - used) : 0.5;

    return (double)c->n / (c->sixteenths / 16.) * log((double)c->n / empty);
}

umbel_status um_peeler_add(um_peeler *p, um_chunk *chunk, umbel_error *err)
{
    symbol_stack stack = {.n = 0};

    if (p->nchunks == UM_MAX_CHUNKS) {
        um_chunk_fini(chunk);
        return um_fail(err, UMBEL_E_REFUSED, "too many chunks of symbols");
    }
    if (!p->nchunks)
        p->estimate = estimate_from(chunk);
    for (size_t i = 0; i < p->nfound; i++)
        um_chunk_toggle(chunk, p->found[i]);
    p->symbols += chunk->n;
    p->chunk[p->nchunks++] = *chunk;
    *chunk = (um_chunk){.n = 0};
    umbel_status status = peel(p, &stack, err);
    free(stack.at);
    return status;
}

bool um_peeler_is_done(const um_peeler *p)
{
    for (size_t i = 0; i < p->nchunks; i++)
        if (count_used(&p->chunk[i]))
            return false;
    return p->nchunks > 0;
}

/* --- sizes -----------------------------------------------------------------
 */

/* Measured with tests/reconcile-long: fewer bytes need more rounds. */
static const double first_share = 0.7, full_share = 1.38, step_share = 0.08,
                    rest_share = 1.5;
enum { SPARE = 9 };

static um_chunk_shape shape_of(double n, double density)
{
    double sixteenths = 16 * density;
    um_chunk_shape shape = {(uint64_t)n + SPARE, (unsigned)sixteenths};

    if (shape.sixteenths > UM_FIRST_SIXTEENTHS)
        shape.sixteenths = UM_FIRST_SIXTEENTHS;
    if (!shape.sixteenths)
        shape.sixteenths = 1;
    return shape;
}

um_chunk_shape um_first_chunk(double difference)
{
    return shape_of(first_share * difference, 3);
}

um_chunk_shape um_next_chunk(const um_peeler *p)
{
    const double per_symbol = 2; /* keys in a symbol of the later chunks */
    double d = p->estimate < 1 ? 1 : p->estimate;
    double left = (double)count_used(&p->chunk[0]);
    double more = full_share * d - (double)p->symbols;

    if (more < step_share * d)
        more = step_share * d;
    if (rest_share * left < more || left < 3 * SPARE)
        return shape_of(rest_share * left, 3);
    return shape_of(more, per_symbol * (more + SPARE) / d);
}
