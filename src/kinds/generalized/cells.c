/*
 * generalized_cells.c - distinct cells for keys that clear some and set others.
 *
 * What a stranger's content can do depends on how cells are drawn. Where each
 * function had a part of its own (partitioned; the lanes of blocked
 * addressings), zeros in the parts of some and ones in those of others would
 * match every key. So either all cells of a key are drawn from the whole block,
 * or each part holds cells of both roles in equal number:
 *
 *   anywhere   a draw that meets a cell of the key is made again, so all sets
 *              of distinct cells are alike. With z zeros among the c cells of
 *              a block a key matches with chance z(z-1).. (c-z)(c-z-1).. /
 *              c(c-1)..: k0 factors, k1 and k0 + k1.
 *   in pairs   4 + 4 and 8 + 8 on blocked512: 4 lanes of 128 cells, or 8 of 64,
 *              each with one cell of either role. One word makes them all, by
 *              shifts, so that vectors can (generalized_blocked_avx2.c).
 *
 * Draws on classic go along its walk (classic.h), in a block they are the top
 * bits of the words W_0 = hi, W_g+1 = remix(W_g + lo). After TRIES of them,
 * which only a hopeless digest needs, the next free cell is taken.
 *
 * Pairs: R and S = R ^ E are numbers of log2(width) bits each.
 *
 *   4 + 4   lane i is word i and word i + 4 of the line, R_i is bits 63-7i ..
 *           57-7i of W_0, E_i bits 35-7i .. 29-7i, G bits 6 .. 0
 *   8 + 8   lane i is half-words i and i + 8; with V_g = W_g << 6(i/2), R_i is
 *           the top six bits of V_0 for odd i, of its low half for even i; E_i
 *           the same of V_1; G bits 37 .. 32 of W_1 for odd i, 5 .. 0 for even
 *
 * Where E is 0, it is G, and where that is 0, too, it is 1.
 *
 * Given G, a lane of n cells, z of them zeros, matches with chance z(n-z)/n^2 +
 * N(G)/n, where N, the share of cells x with x clear and x ^ G set, is at most
 * 1/2, and on average over G at most 1/4 + 1/(2n). Lanes that share G make the
 * most of it when N is either 0 or 1/2; hence the bound below.
 */
#include "base/inline.h"
#include "filter/addressing/classic.h"
#include "kinds/generalized/generalized.h"

#include <math.h>

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

/* --- anywhere ------------------------------------------------------------ */

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

/* Distinct cells drawn by x, then by what step makes of it. */
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

/* --- in pairs ------------------------------------------------------------ */

static uint64_t not_zero(uint64_t e, uint64_t g)
{
    return e ? e : g ? g : 1;
}

/* Lane i of 4 has words i and i + 4. */
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

/* Lane i of 8 has half-words i and i + 8. */
static uint64_t place8(uint32_t lane, uint64_t x)
{
    return (lane + (x >> 5) * 8) * 32 + (x & 31);
}

/* The half of a word that lane i looks at: its high one for odd i. */
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

/* --- either -------------------------------------------------------------- */

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
