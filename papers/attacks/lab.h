/*
 * lab.h - defences of a filter that an enemy sends, or can insert into.
 *
 * Every filter has 65,536 bits. Standard filters are the library's; the enemy
 * replaces their bytes as he could replace a file's; the generalized filter is
 * a model on the library's digests, with distinct places.
 */
#ifndef UM_ATTACKS_LAB_H
#define UM_ATTACKS_LAB_H

#include "papers/gbf/model/simulate.h"

#include <umbel/umbel.h>

enum { BITS = 65536, BLOCK = 512, MAX_PLACES = 8 };

typedef struct defence {
    const char *name;
    unsigned k0, k1; /* k0 = 0 means a standard filter */
    bool blocked;    /* all places of a key in one block */
    bool checked;    /* refused on arrival if too many bits are one */
    bool keyed;      /* hashed with a secret that the enemy does not have */
} defence;

extern const defence defences[];
enum { DEFENCES = 6 };

/* One filter under attack. */
typedef struct lab {
    const defence *row;
    umbel_filter *ours;               /* hashes as the owner does */
    umbel_filter *guess;              /* hashes as the enemy has to guess */
    uint8_t secret[UMBEL_SECRET_LEN]; /* of ours, if keyed */
    uint8_t bits[BITS / 8];
    bool refused; /* by the check, on arrival */
} lab;

umbel_status lab_open(lab *l, const defence *row, um_rng *rng,
                      umbel_error *err);
void lab_close(lab *l);

/* Computes the k0 + k1 places of each key, those that reset first; 8 numbers
 * per key. */
umbel_status lab_places(const lab *l, const umbel_filter *hash,
                        const uint64_t *keys, size_t n, uint32_t *place,
                        umbel_error *err);
void lab_insert(lab *l, const uint32_t *place);
bool lab_has(const lab *l, const uint32_t *place);

/* Sets an exact share of the bits to one, spread evenly over the blocks. */
void lab_fill(lab *l, double ones);
/* Returns the largest share of ones that passes the check: 0.5 plus six
 * sigma. */
double lab_limit(const defence *row);
/* Delivers the bits, and decides whether they are refused. */
void lab_arrive(lab *l);
/* Measures the share of keys that is accepted; 0 for a refused filter. */
umbel_status lab_ask(const lab *l, const uint64_t *keys, size_t n,
                     double *share, umbel_error *err);

#endif
