/*
 * dcso.c - cells as files of DCSO's bloom have them.
 *
 * The tools bloom (Go), flor (Python) and fleur (C) share a file format, and
 * with it this walk, so a filter of ours can be written as theirs, bit for bit
 * (foreign/dcso.c). From h, which is FNV-1 of the key mod P, k times
 *
 *     h = (h * G mod 2^64) mod P        cell = h mod m
 *
 * Its cells depend on each other. A product of less than 2^64 is hardly ever
 * reduced by P, so the last s bits of h follow from those before. Where 2^s
 * divides m, that holds for cells: for m = 2^s all cells of a key follow from
 * the first, and the error is some per cent whatever k is (filter/classes.c).
 * And as G = 2^64 - 1469, h G mod 2^64 is c 2^64 - 1469 h for one of 1469
 * numbers c: from a cell there are 1469 ways on, for any m.
 *
 * When not to use it: FNV-1 reads a byte at a time and anyone can find keys
 * that meet; take it for files that others read.
 */
#include "filter/addressing/rows.h"

#include <math.h>

static const uint64_t P = 18446744073709551557u; /* the largest prime */
static const uint64_t G = 18446744073709550147u; /* ... that they chose */

/* Theirs: a negative number rounded up, so m is one less than one would think.
 */
static void size(double keys, double fpr, double *cells, double *hashes)
{
    const double ln2 = 0.69314718055994530942;

    *cells = fabs(ceil(keys * log(fpr) / (ln2 * ln2)));
    *hashes = ceil(ln2 * *cells / keys);
}

static uint64_t classes(const um_layout *l, uint64_t *step)
{
    uint64_t n = l->cells & -l->cells; /* the power of 2 in it */

    if (step)
        *step = G % n;
    return n > 1 ? n : 0;
}

static void positions(const um_layout *l, const umbel_digest *d, size_t n,
                      uint64_t *pos)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t h = d[i].lo % P;
        for (uint32_t j = 0; j < l->hashes; j++) {
            h = h * G % P;
            *pos++ = h % l->cells;
        }
    }
}

const um_addressing um_addressing_dcso = {
    .name = "dcso",
    .summary = "compatible with DCSO's bloom, flor and fleur",
    .hash = "fnv1",
    .foreign = true,
    .dependent = true,
    .distinct = 1,
    .fold = UM_FOLD_PARTS,
    .block = 1,
    .size = size,
    .classes = classes,
    .positions = positions,
};
