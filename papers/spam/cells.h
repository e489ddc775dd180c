/*
 * cells.h - counters of a Bloom filter, as the spam paper defines them.
 *
 * Plain arrays, so that a round is fast and every step can be read beside the
 * text. A list of cells names each of them once: two hashes of one key that hit
 * the same counter raise it once (heuristic H2).
 */
#ifndef UM_SPAM_CELLS_H
#define UM_SPAM_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* The cells of one key. */
typedef struct um_spam_list {
    const uint32_t *cell;
    size_t n;
} um_spam_list;

/* What the filter says about the key. */
static inline unsigned um_spam_count(const uint8_t *value, um_spam_list l)
{
    unsigned least = UINT8_MAX;

    for (size_t i = 0; i < l.n; i++)
        least = value[l.cell[i]] < least ? value[l.cell[i]] : least;
    return least;
}

/* The intuitive extension: every cell; a cell at the cap stays there. */
static inline void um_spam_add_plain(uint8_t *value, um_spam_list l,
                                     unsigned times, unsigned cap)
{
    for (size_t i = 0; i < l.n; i++) {
        unsigned sum = value[l.cell[i]] + times;
        value[l.cell[i]] = (uint8_t)(sum < cap ? sum : cap);
    }
}

/*
 * The refined extension (H1), so many times in a row. Once raises the cells
 * that equal the minimum; so after any number of times no cell is below the old
 * minimum plus that number, and those above it are untouched.
 */
static inline void um_spam_add_refined(uint8_t *value, um_spam_list l,
                                       unsigned times, unsigned cap)
{
    unsigned least = um_spam_count(value, l) + times;
    uint8_t to = (uint8_t)(least < cap ? least : cap);

    for (size_t i = 0; i < l.n; i++)
        value[l.cell[i]] = value[l.cell[i]] < to ? to : value[l.cell[i]];
}

/* Databases of two servers: cell by cell, up to the cap. */
static inline void um_spam_merge(uint8_t *into, const uint8_t *other, size_t n,
                                 unsigned cap)
{
    for (size_t i = 0; i < n; i++) {
        unsigned sum = (unsigned)into[i] + other[i];
        into[i] = (uint8_t)(sum < cap ? sum : cap);
    }
}

#endif
