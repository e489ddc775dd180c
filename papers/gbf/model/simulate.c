/*
 * simulate.c - simulates a round: inserts, queries, counts.
 *
 * Rounds use the library's kind generalized, with the setting collide. It
 * allows 32 functions of each sort; only the cases of Tables 7 and 8, which
 * have up to 355, use the bits below.
 */
#include "papers/gbf/model/simulate.h"

#include "base/error.h"
#include "base/hash.h"

#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- bits ------------------------------------------------------------------*/

size_t um_gbf_bytes(uint32_t m)
{
    return ((size_t)m + 63) / 64 * 8;
}

/* Returns 64 bits, each 1 with probability ones / 2^24: compares binary
 * fractions digit by digit, from the last. */
static uint64_t biased_word(uint32_t ones, um_rng *rng)
{
    uint64_t word = 0;

    if (ones >> 24)
        return ~word;
    for (int digit = __builtin_ctz(ones | 1 << 23); digit < 24; digit++) {
        uint64_t random = um_random(rng);
        word = ones >> digit & 1 ? word | random : word & random;
    }
    return word;
}

void um_gbf_fill(uint8_t *bits, uint32_t m, double p0, um_rng *rng)
{
    uint32_t ones = (uint32_t)((1 - p0) * (1 << 24) + 0.5);

    for (size_t i = 0; i < um_gbf_bytes(m); i += 8)
        um_store64(bits + i, biased_word(ones, rng));
}

static void clear_bit(uint8_t *bits, uint32_t i)
{
    bits[i >> 3] &= (uint8_t) ~(1u << (i & 7));
}

/* Inserts an element. The g come last, so that they win. */
void um_gbf_insert(uint8_t *bits, const uint32_t *place, unsigned k0,
                   unsigned k1)
{
    for (unsigned i = k0; i < k0 + k1; i++)
        um_set_bit(bits, place[i]);
    for (unsigned i = 0; i < k0; i++)
        clear_bit(bits, place[i]);
}

bool um_gbf_has(const uint8_t *bits, const uint32_t *place, unsigned k0,
                unsigned k1)
{
    for (unsigned i = 0; i < k0 + k1; i++)
        if (um_bit(bits, place[i]) != (i >= k0))
            return false;
    return true;
}

static bool is_among(const uint32_t *place, unsigned n, uint32_t x)
{
    for (unsigned i = 0; i < n; i++)
        if (place[i] == x)
            return true;
    return false;
}

void um_gbf_places(um_rng *rng, uint32_t m, unsigned k, bool distinct,
                   uint32_t *place)
{
    for (unsigned i = 0; i < k; i++)
        do
            place[i] = (uint32_t)um_random_below(rng, m);
        while (distinct && is_among(place, i, place[i]));
}

/* --- the universal class ---------------------------------------------------*/

typedef struct functions {
    uint64_t c[GBF_MAX_FUNCTIONS], d[GBF_MAX_FUNCTIONS];
} functions;

/* Draws functions by equations 14 and 15. */
static void draw_functions(functions *f, unsigned k, um_rng *rng)
{
    for (unsigned j = 0; j < k; j++) {
        f->c[j] = 1 + um_random_below(rng, UM_INTEGER_PRIME - 1);
        f->d[j] = um_random_below(rng, UM_INTEGER_PRIME);
    }
}

static uint32_t hash(const functions *f, unsigned j, uint32_t x, uint32_t m)
{
    return (uint32_t)((f->c[j] * x + f->d[j]) % UM_INTEGER_PRIME) % m;
}

/* Returns true if functions from .. to-1 of x all hit bits with this value. */
static bool all_are(const functions *f, unsigned from, unsigned to, uint32_t x,
                    const uint8_t *bits, uint32_t m, bool bit)
{
    for (unsigned j = from; j < to; j++)
        if (um_bit(bits, hash(f, j, x, m)) != bit)
            return false;
    return true;
}

static bool recognises(const um_gbf *g, const functions *f, const uint8_t *bits,
                       uint32_t x)
{
    return all_are(f, 0, g->k0, x, bits, g->m, false) &&
           all_are(f, g->k0, g->k0 + g->k1, x, bits, g->m, true);
}

/* --- a round ---------------------------------------------------------------*/

umbel_status um_gbf_space_init(um_gbf_space *s, uint32_t m, uint32_t n,
                               umbel_error *err)
{
    *s = (um_gbf_space){.bits = malloc(um_gbf_bytes(m)),
                        .plain = malloc(um_gbf_bytes(m)),
                        .element = malloc((n + 1) * sizeof *s->element),
                        .digest = malloc((n + 1) * sizeof *s->digest),
                        .lost = malloc((n + 1) * sizeof *s->lost)};
    if (!s->bits || !s->plain || !s->element || !s->digest || !s->lost)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    return UMBEL_OK;
}

void um_gbf_space_fini(um_gbf_space *s)
{
    free(s->bits);
    free(s->plain);
    free(s->element);
    free(s->digest);
    free(s->lost);
    memset(s, 0, sizeof *s);
}

static void insert_all(const um_gbf *g, const functions *f, um_gbf_space *s,
                       um_rng *rng)
{
    uint32_t place[GBF_MAX_FUNCTIONS] = {0};

    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t x = (uint32_t)(1 + um_random_below(rng, UM_INTEGER_PRIME / 2));
        s->element[i] = x;
        for (unsigned j = 0; j < g->k0 + g->k1; j++)
            place[j] = hash(f, j, x, g->m);
        um_gbf_insert(s->bits, place, g->k0, g->k1);
        um_gbf_insert(s->plain, place + g->k0, 0, g->k1);
    }
}

static double share_lost(const um_gbf *g, const functions *f, um_gbf_space *s)
{
    uint32_t lost = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        s->lost[i] = !recognises(g, f, s->bits, s->element[i]);
        lost += s->lost[i];
    }
    return g->n ? (double)lost / g->n : 0;
}

static um_gbf_found simulate_many(const um_gbf *g, uint32_t queries,
                                  um_gbf_space *s, um_rng *rng)
{
    functions f = {{0}, {0}};
    uint32_t accepted = 0, plain = 0;

    draw_functions(&f, g->k0 + g->k1, rng);
    um_gbf_fill(s->bits, g->m, g->p0, rng);
    memcpy(s->plain, s->bits, um_gbf_bytes(g->m));
    insert_all(g, &f, s, rng);
    for (uint32_t i = 0; i < queries; i++) {
        uint32_t x = (uint32_t)(1 + UM_INTEGER_PRIME / 2 +
                                um_random_below(rng, UM_INTEGER_PRIME / 2 - 1));
        accepted += recognises(g, &f, s->bits, x);
        plain += all_are(&f, g->k0, g->k0 + g->k1, x, s->plain, g->m, true);
    }
    return (um_gbf_found){.plain_fp = queries ? (double)plain / queries : 0,
                          .fp = queries ? (double)accepted / queries : 0,
                          .fn = share_lost(g, &f, s)};
}

/* --- the library's kind ----------------------------------------------------*/

enum { MAX_OF_KIND = 32 }; /* functions of each sort */

static umbel_status open_kind(const um_gbf *g, unsigned reset, uint64_t seed,
                              umbel_filter **out)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting settings[] = {{"reset", reset},
                                {"set", g->k1},
                                {"start", (uint64_t)((1 - g->p0) * 1e9 + 0.5)},
                                {"collide", 1}};

    p.addressing = "universal";
    p.cells = g->m;
    p.seed = seed;
    p.settings = settings;
    p.nsettings = UM_COUNT(settings);
    return umbel_create("generalized", &p, out, NULL);
}

/* Draws a key: elements are from the lower half of the numbers, other keys from
 * the upper. */
static umbel_digest draw_key(um_rng *rng, uint64_t from)
{
    uint64_t half = UM_INTEGER_PRIME / 2;
    return (umbel_digest){.lo = from + 1 + um_random_below(rng, half - 1)};
}

static umbel_status accept(const umbel_filter *f, uint32_t queries, um_rng *rng,
                           double *share)
{
    umbel_status status = UMBEL_OK;
    uint32_t hits = 0;

    for (uint32_t i = 0; status == UMBEL_OK && i < queries; i++) {
        umbel_digest d = draw_key(rng, UM_INTEGER_PRIME / 2);
        bool hit = false;
        status = umbel_query_digests(f, &d, 1, &hit, NULL);
        hits += hit;
    }
    *share = queries ? (double)hits / queries : 0;
    return status;
}

static umbel_status insert_kind(umbel_filter *f, umbel_filter *plain,
                                uint32_t n, umbel_digest *element, um_rng *rng)
{
    for (uint32_t i = 0; i < n; i++)
        element[i] = draw_key(rng, 0);
    umbel_status status = umbel_add_digests(f, element, n, NULL, NULL);
    return status || !plain ? status
                            : umbel_add_digests(plain, element, n, NULL, NULL);
}

static umbel_status run_kind(const um_gbf *g, uint32_t queries, umbel_filter *f,
                             umbel_filter *plain, um_gbf_space *s, um_rng *rng,
                             um_gbf_found *out)
{
    umbel_status status = insert_kind(f, plain, g->n, s->digest, rng);
    double found = 0;

    if (status == UMBEL_OK)
        status = accept(f, queries, rng, &out->fp);
    out->plain_fp = 1; /* without functions that set, all keys match */
    if (status == UMBEL_OK && plain)
        status = accept(plain, queries, rng, &out->plain_fp);
    if (status == UMBEL_OK)
        status = umbel_query_digests(f, s->digest, g->n, s->lost, NULL);
    for (uint32_t i = 0; i < g->n; i++) {
        found += s->lost[i];
        s->lost[i] = !s->lost[i];
    }
    out->fn = g->n ? 1 - found / g->n : 0;
    return status;
}

/* Simulates with the library's kind. Returns NAN, which passes no check, if
 * that fails. */
static um_gbf_found simulate_kind(const um_gbf *g, uint32_t queries,
                                  um_gbf_space *s, um_rng *rng)
{
    um_gbf_found out = {NAN, NAN, NAN};
    umbel_filter *f = NULL, *plain = NULL;

    if (open_kind(g, g->k0, um_random(rng), &f) ||
        (g->k1 && open_kind(g, 0, um_random(rng), &plain)) ||
        run_kind(g, queries, f, plain, s, rng, &out))
        out = (um_gbf_found){NAN, NAN, NAN};
    umbel_close(f);
    umbel_close(plain);
    return out;
}

um_gbf_found um_gbf_simulate(const um_gbf *g, uint32_t queries, um_gbf_space *s,
                             um_rng *rng)
{
    return g->k0 <= MAX_OF_KIND && g->k1 <= MAX_OF_KIND
               ? simulate_kind(g, queries, s, rng)
               : simulate_many(g, queries, s, rng);
}
