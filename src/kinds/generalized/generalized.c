/*
 * generalized.c - keys that clear some cells and set others (Laufer, Velloso,
 * Duarte 2011).
 *
 * A key clears k0 cells and sets k1, and matches if all of them are in that
 * state. Bits from a stranger can then match only few keys that he did not
 * choose: all ones match none, nor do all zeros, and the best mixture matches
 * F_p = (k0/k)^k0 (k1/k)^k1 of them, k = k0 + k1: 6 % at 2 + 2, 0.4 % at 4 + 4.
 * The price is that later keys overwrite earlier ones: the filter forgets keys
 * at random, old ones first, however large it is; and that it takes about
 * thirty times the bits of a plain filter whose fill is checked on arrival,
 * which has a similar bound. So it is for cases where the fill cannot be
 * checked: a stranger chooses the bits and honest parties add theirs
 * afterwards, as in packets.
 *
 * The bound is for keys that the author of the bits could not foresee. An
 * attacker who knows the keys can insert them, and they match.
 *
 * Settings reset (k0) and set (k1); all cells of a key are distinct (below), so
 * that no key clears and sets the same cell; the paper allows that, and such a
 * key never matches. Setting collide: the cells of a key are those of the
 * addressing, classic or universal, and may coincide; a cell that is both set
 * and cleared ends clear. That is the paper's filter, to reproduce its tables.
 * With k0 = 0 it is a plain filter, cell for cell, with k1 = 0 its inverse.
 * Setting start: the share of ones before the first key, drawn from the seed.
 * One section as in bloom.
 *
 * The last key decides a cell, and two filters have no common order, so they
 * neither merge nor fold.
 */
#include "kinds/generalized/generalized.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/rng.h"
#include "filter/addressing/addressing.h"
#include "kinds/bloom/bloom.h"
#include "kinds/bloom/each.h"
#include "kinds/rows.h"

#include <umbel/experimental/generalized.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- distinct cells for keys that clear some and set others ----------------
 *
 * The effect of a stranger's content depends on how cells are drawn. If each
 * function had its own part (partitioned; the lanes of blocked addressings),
 * zeros in some parts and ones in the others would match every key. So either
 * all cells of a key are drawn from the whole block, or each part holds cells
 * of both roles in equal number:
 *
 *   anywhere   a draw that hits a cell of the key is repeated, so all sets of
 *              distinct cells are equally likely. With z zeros among the c
 *              cells of a block a key matches with probability z(z-1)..
 *              (c-z)(c-z-1).. / c(c-1)..: k0 factors, k1 and k0 + k1.
 *   in pairs   4 + 4 and 8 + 8 on blocked512: 4 lanes of 128 cells, or 8 of 64,
 *              each with one cell of each role. One word gives them all, by
 *              shifts, so that vectors can be used (blocked_avx2.c).
 *
 * Draws on classic follow its sequence (filter/addressing); in a block they are
 * the top bits of the words W_0 = hi, W_g+1 = remix(W_g + lo). After TRIES
 * draws, which only an exceptional digest needs, the next free cell is used.
 *
 * Pairs: R and S = R ^ E are numbers of log2(width) bits each.
 *
 *   4 + 4   lane i is word i and word i + 4 of the line, R_i is bits 63-7i ..
 *           57-7i of W_0, E_i bits 35-7i .. 29-7i, G bits 6 .. 0
 *   8 + 8   lane i is half-words i and i + 8; with V_g = W_g << 6(i/2), R_i is
 *           the top six bits of V_0 for odd i, of its low half for even i; E_i
 *           the same of V_1; G bits 37 .. 32 of W_1 for odd i, 5 .. 0 for even
 *
 * Where E is 0, G replaces it; where that is also 0, 1 does.
 *
 * Given G, a lane of n cells, z of them zeros, matches with probability
 * z(n-z)/n^2 + N(G)/n, where N, the share of cells x with x clear and x ^ G
 * set, is at most 1/2, and on average over G at most 1/4 + 1/(2n). Lanes that
 * share G make the most of it when N is either 0 or 1/2; hence the bound below.
 */

enum { TRIES = 64, LINE_CELLS = 512 };

um_roles um_roles_of(const um_layout *l, uint32_t reset, uint32_t set)
{
    uint64_t cells = l->cells / l->blocks;
    bool pairs = l->lanes > 1 && cells == LINE_CELLS && reset == set &&
                 (reset == 4 || reset == 8);

    return (um_roles){.blocks = l->blocks,
                      .cells = cells,
                      .lanes = pairs ? reset : 1,
                      .reset = reset,
                      .set = set};
}

double um_pair_bound(uint64_t width, uint32_t lanes)
{
    double n = (double)width, often = 0.5 + 1 / n;
    double four = often * pow(0.25 + 0.5 / n, 4) + (1 - often) * pow(0.25, 4);

    return lanes == 8 ? four * four : four; /* four lanes share a G */
}

/* --- anywhere ------------------------------------------------------------- */

static bool is_among(uint64_t cell, const uint64_t *pos, uint32_t n)
{
    while (n)
        if (pos[--n] == cell)
            return true;
    return false;
}

static uint64_t next_free(uint64_t cell, uint64_t cells, const uint64_t *pos,
                          uint32_t n)
{
    while (is_among(cell, pos, n))
        cell = cell + 1 < cells ? cell + 1 : 0;
    return cell;
}

typedef uint64_t step_fn(uint64_t x, umbel_digest d);

static uint64_t along_walk(uint64_t x, umbel_digest d)
{
    return um_classic_step(x, d.hi);
}

static uint64_t next_word(uint64_t x, umbel_digest d)
{
    return um_remix(x + d.lo);
}

/* Draws distinct cells from x, then from the values that step derives from
 * it. */
UM_INLINE void draw(uint64_t x, step_fn *step, uint64_t cells, uint32_t hashes,
                    umbel_digest d, uint64_t *pos)
{
    uint64_t cell = 0;

    for (uint32_t j = 0; j < hashes; j++) {
        for (int tries = 0; tries < TRIES; tries++) {
            cell = um_scale(x, cells);
            x = step(x, d);
            if (!is_among(cell, pos, j))
                break;
        }
        pos[j] = next_free(cell, cells, pos, j);
    }
}

void um_free_cells(uint64_t cells, uint32_t hashes, umbel_digest d,
                   uint64_t *pos)
{
    draw(d.lo, along_walk, cells, hashes, d, pos);
}

void um_colliding_cells(uint64_t cells, uint32_t hashes, umbel_digest d,
                        uint64_t *pos)
{
    uint64_t x = d.lo;

    for (uint32_t j = 0; j < hashes; j++) {
        pos[j] = um_scale(x, cells);
        x = along_walk(x, d);
    }
}

/* --- in pairs ------------------------------------------------------------- */

static uint64_t not_zero(uint64_t e, uint64_t g)
{
    return e ? e : g ? g : 1;
}

/* Returns cell x of lane i of 4, which is words i and i + 4. */
static uint64_t place4(uint32_t lane, uint64_t x)
{
    return (lane + (x >> 6) * 4) * 64 + (x & 63);
}

static void pairs4(umbel_digest d, uint64_t *pos)
{
    uint64_t word = d.hi;

    for (uint32_t i = 0; i < 4; i++) {
        uint64_t r = word << 7 * i >> 57, e = word << (28 + 7 * i) >> 57;
        pos[i] = place4(i, r);
        pos[i + 4] = place4(i, r ^ not_zero(e, word & 127));
    }
}

/* Returns cell x of lane i of 8, which is half-words i and i + 8. */
static uint64_t place8(uint32_t lane, uint64_t x)
{
    return (lane + (x >> 5) * 8) * 32 + (x & 31);
}

/* Returns the half of a word that lane i uses: the high one for odd i. */
static uint64_t half(uint64_t word, uint32_t lane)
{
    return (lane & 1 ? word >> 32 : word) & UINT32_MAX;
}

static void pairs8(umbel_digest d, uint64_t *pos)
{
    uint64_t word = d.hi, next = um_remix(d.hi + d.lo);

    for (uint32_t i = 0; i < 8; i++) {
        uint64_t r = half(word << 6 * (i / 2), i) >> 26;
        uint64_t e = half(next << 6 * (i / 2), i) >> 26;
        pos[i] = place8(i, r);
        pos[i + 8] = place8(i, r ^ not_zero(e, half(next, i) & 63));
    }
}

/* --- both ----------------------------------------------------------------- */

static void cells_of(const um_layout *l, const um_roles *r, umbel_digest d,
                     uint64_t *pos)
{
    uint32_t hashes = r->reset + r->set;

    if (l->lanes == 1) {
        um_free_cells(l->cells, hashes, d, pos);
        return;
    }
    if (r->lanes == 1)
        draw(d.hi, next_word, r->cells, hashes, d, pos);
    else if (r->lanes == 4)
        pairs4(d, pos);
    else
        pairs8(d, pos);
    uint64_t base = um_scale(d.lo, r->blocks) * r->cells;
    for (uint32_t j = 0; j < hashes; j++)
        pos[j] += base;
}

void um_role_cells(const um_layout *l, uint32_t reset, uint32_t set,
                   const umbel_digest *d, size_t n, uint64_t *pos)
{
    um_roles r = um_roles_of(l, reset, set);

    if (reset == 0 || set == 0) {
        l->row->positions(l, d, n, pos);
        return;
    }
    for (size_t i = 0; i < n; i++)
        cells_of(l, &r, d[i], pos + i * l->hashes);
}

/* --- the kind ------------------------------------------------------------- */

static const umbel_setting_info settings[] = {
    [UM_RESET] = {"reset", "functions that clear a cell", 0, 32, 2},
    [UM_SET] = {"set", "functions that set a cell", 0, 32, 2},
    [UM_START] = {"start", "billionths of ones before the first key", 0,
                  UM_START_ALL, 0},
    [UM_COLLIDE] = {"collide",
                    "1: cells of a key may coincide, as in the paper", 0, 1, 0},
    {NULL, NULL, 0, 0, 0}};

static uint32_t hashes(const um_shape *s)
{
    return (uint32_t)(s->setting[UM_RESET] + s->setting[UM_SET]);
}

/* Returns true for addressings with one lane: every function may reach every
 * cell. */
static bool is_free(const um_addressing *a)
{
    return strcmp(a->name, "classic") == 0 || strcmp(a->name, "universal") == 0;
}

static umbel_status check(const um_shape *s, umbel_error *err)
{
    const um_addressing *a = s->addressing;
    uint32_t k = hashes(s);
    bool collide = s->setting[UM_COLLIDE] != 0;

    if (collide && !is_free(a))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind generalized with collide cannot be on %s: the "
                       "paper's functions reach every cell; take classic or "
                       "universal",
                       a->name);
    if (!collide && (a->distinct == UM_MAX_HASHES || a->hash))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind generalized cannot be on %s: %s; take classic "
                       "or a blocked one",
                       a->name,
                       a->hash ? "its cells may coincide"
                               : "zeros in some slices and ones in the others "
                                 "would match every key");
    if (k == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "reset and set cannot both be 0: a key would own no "
                       "cell");
    if (s->hashes && s->hashes != k)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu32 " hashes are not reset + set, %" PRIu64
                       " + %" PRIu64 ": leave hashes out",
                       s->hashes, s->setting[UM_RESET], s->setting[UM_SET]);
    if (s->cells && s->cells < k && !collide)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " bits have no room for %" PRIu32
                       " distinct cells: take %" PRIu32 " bits or more",
                       s->cells, k, k);
    return UMBEL_OK;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    *(um_generalized *)self = (um_generalized){
        .layout = l,
        .bits = memory[0],
        .reset = (uint32_t)s->setting[UM_RESET],
        .set = (uint32_t)s->setting[UM_SET],
        .start = s->setting[UM_START],
        .collide = s->setting[UM_COLLIDE] != 0,
    };
}

static void use_added(void *self, const uint64_t *added)
{
    ((um_generalized *)self)->added = added;
}

/* --- before the first key ------------------------------------------------- */

/*
 * Returns 64 bits, each 1 with probability t / 2^32: from the last binary digit
 * of t to the first, a 0 halves the probability, and a 1 halves it and adds
 * 1/2.
 */
static uint64_t random_word(um_rng *rng, uint64_t t)
{
    uint64_t word = 0;

    if (t >> 32)
        return UINT64_MAX;
    for (int i = t ? __builtin_ctzll(t) : 32; i < 32; i++) {
        uint64_t more = um_random(rng);
        word = t >> i & 1 ? word | more : word & more;
    }
    return word;
}

static void start(void *self)
{
    const um_generalized *g = self;
    uint64_t cells = g->layout->cells;
    um_rng rng = {g->layout->seed ^ UINT64_C(0x67656E6572616C69)};
    uint64_t t = ((g->start << 32) + UM_START_ALL / 2) / UM_START_ALL;

    for (uint64_t i = 0; g->start && i < cells; i += 64) {
        uint64_t word = random_word(&rng, t);
        uint64_t last = cells - i < 64 ? cells - i : 64;
        um_store64(g->bits + i / 8,
                   last < 64 ? word & ((UINT64_C(1) << last) - 1) : word);
    }
}

/* --- keys ----------------------------------------------------------------- */

static void clear_bit(uint8_t *bits, uint64_t i)
{
    bits[i >> 3] &= (uint8_t) ~(1u << (i & 7));
}

UM_INLINE bool matches(const void *self, const uint64_t *pos)
{
    const um_generalized *g = self;

    for (uint32_t j = 0; j < g->reset; j++)
        if (um_bit(g->bits, pos[j]))
            return false;
    for (uint32_t j = g->reset; j < g->reset + g->set; j++)
        if (!um_bit(g->bits, pos[j]))
            return false;
    return true;
}

UM_INLINE bool append(void *self, um_each_key key)
{
    const um_generalized *g = self;
    bool is_new = !matches(g, key.pos);

    /* Clear last: clearing wins if cells coincide. */
    for (uint32_t j = g->reset; j < g->reset + g->set; j++)
        um_set_bit(g->bits, key.pos[j]);
    for (uint32_t j = 0; j < g->reset; j++)
        clear_bit(g->bits, key.pos[j]);
    return is_new;
}

static void locate(const void *self, const umbel_digest *d, size_t n,
                   uint64_t *pos)
{
    const um_generalized *g = self;

    if (g->collide)
        g->layout->row->positions(g->layout, d, n, pos);
    else
        um_role_cells(g->layout, g->reset, g->set, d, n, pos);
}

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    const um_generalized *g = self;

    (void)amounts;
    return um_each_add(self, g->layout, locate, append, d, NULL, n, fresh);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    const um_generalized *g = self;
    um_each_query(self, g->layout, locate, matches, d, n, hit);
}

/* --- predictions and description ------------------------------------------ */

/* Returns true if there are only roles of one sort: then it is a plain filter
 * with its formulas. */
static bool is_plain(uint32_t reset, uint32_t set, uint64_t start_at)
{
    return (reset == 0 && start_at == 0) ||
           (set == 0 && start_at == UM_START_ALL);
}

static double error(const um_shape *s, const um_layout *l, double keys)
{
    uint32_t reset = (uint32_t)s->setting[UM_RESET];
    uint32_t set = (uint32_t)s->setting[UM_SET];
    um_roles r = um_roles_of(l, reset, set);

    if (s->setting[UM_COLLIDE] && reset && set) {
        umbel_generalized paper = {
            (double)l->cells, reset, set,
            1 - (double)s->setting[UM_START] / (double)UM_START_ALL, keys};
        return umbel_generalized_fp(&paper);
    }
    if (l->cells < reset + set)
        return 1;
    if (is_plain(reset, set, s->setting[UM_START]))
        return um_model_error(l, keys);
    return um_roles_fp(&r, (double)s->setting[UM_START] / (double)UM_START_ALL,
                       keys);
}

static uint64_t zeros_in(const void *bits, uint64_t from, uint64_t n)
{
    return n - um_popcount(bits, from, n);
}

/* Returns the product over lanes: lane i of a block consists of equal stretches
 * of its first and second half. */
static double lanes_chance(const um_generalized *g, const um_roles *r,
                           uint64_t from)
{
    uint64_t part = r->cells / r->lanes / 2;
    double p = 1;

    for (uint32_t i = 0; i < r->lanes; i++) {
        uint64_t at = from + i * part;
        uint64_t z = zeros_in(g->bits, at, part) +
                     zeros_in(g->bits, at + r->cells / 2, part);
        p *= um_distinct_chance((double)z, 2 * (double)part, 1, 1);
    }
    return p;
}

static double predict(const void *self)
{
    const um_generalized *g = self;
    um_roles r = um_roles_of(g->layout, g->reset, g->set);
    double sum = 0;

    if (g->reset == 0 || g->set == 0)
        return um_bloom_chance(g->layout, g->set ? um_bits_used_in : zeros_in,
                               g->bits);
    if (g->collide) {
        double p = (double)zeros_in(g->bits, 0, g->layout->cells) /
                   (double)g->layout->cells;
        return pow(p, g->reset) * pow(1 - p, g->set);
    }
    for (uint64_t i = 0; i < r.blocks; i++) {
        uint64_t from = i * r.cells;
        double z = (double)zeros_in(g->bits, from, r.cells);
        sum += r.lanes > 1
                   ? lanes_chance(g, &r, from)
                   : um_distinct_chance(z, (double)r.cells, g->reset, g->set);
    }
    return sum / (double)r.blocks;
}

static void bounds(const void *self, umbel_bounds *out)
{
    const um_generalized *g = self;
    um_roles r = um_roles_of(g->layout, g->reset, g->set);
    double cells = (double)g->layout->cells, keys = (double)*g->added;

    out->fp_bound = !g->reset || !g->set ? 1
                    : g->collide ? umbel_generalized_fp_bound(g->reset, g->set)
                                 : um_roles_bound(&r);
    out->fn_bound =
        keys > 0 ? umbel_generalized_fn_bound(g->reset, g->set, cells / keys)
                 : 0;
}

/* Describes the rates by the paper's equations for the keys added, and the
 * bound for the actual cells. */
static void info(const void *self, umbel_info *out)
{
    const um_generalized *g = self;
    double m = (double)g->layout->cells, n = (double)*g->added;
    double ones = (double)g->start / (double)UM_START_ALL;
    umbel_generalized paper = {m, g->reset, g->set, 1 - ones, n};
    umbel_bounds bound;

    bounds(self, &bound);
    um_info_real(out, "fill",
                 (double)um_popcount(g->bits, 0, g->layout->cells) / m);
    um_info_real(out, "fp_bound", bound.fp_bound);
    um_info_real(out, "fp_bound_paper",
                 umbel_generalized_fp_bound(g->reset, g->set));
    um_info_real(out, "fp_paper", umbel_generalized_fp(&paper));
    um_info_real(out, "fn_bound", bound.fn_bound);
    um_info_real(out, "fn_first",
                 n > 0 ? umbel_generalized_fn_at(&paper, 1) : 0);
    um_info_real(out, "fn", umbel_generalized_fn(&paper));
}

const um_kind um_kind_generalized = {
    .name = "generalized",
    .summary = "keys clear and set bits: a bounded error whatever the bits "
               "are; forgets",
    .admissible = true,
    .forgets = true,
    .settings = settings,
    .self_len = sizeof(um_generalized),
    .check = check,
    .hashes = hashes,
    .sections = um_bloom_sections,
    .attach = attach,
    .use_added = use_added,
    .start = start,
    .add = add,
    .query = query,
    .unsupported_reason =
        {.join = "which key came last decides a cell, and two filters "
                 "have no common order: build one from all keys"},
    .error = error,
    .predict = predict,
    .bounds = bounds,
    .info = info,
};
