/*
 * lab.h - defences of a filter that comes from, or is open to, an enemy.
 *
 * Every defence holds 65,536 bits. Standard filters are the library's, whose
 * bytes an enemy replaces as he may replace a file; the generalized filter is a
 * model on the library's digests, with distinct places.
 */
#ifndef UM_ATTACKS_LAB_H
#define UM_ATTACKS_LAB_H

#include "papers/gbf/model/simulate.h"

#include <umbel/umbel.h>

enum { BITS = 65536, BLOCK = 512, MAX_PLACES = 8 };

typedef struct defence {
    const char *name;
    unsigned k0, k1; /* k0 = 0: a standard filter */
    bool blocked;    /* all places of a key in one block */
    bool checked;    /* refused on arrival when too many bits are one */
    bool keyed;      /* hashed with a secret that the enemy does not have */
} defence;

extern const defence defences[];
enum { DEFENCES = 6 };

/* One filter under attack. */
typedef struct lab {
    const defence *row;
    umbel_filter *ours;               /* hashes as the filter's owner does */
    umbel_filter *guess;              /* hashes as the enemy must guess */
    uint8_t secret[UMBEL_SECRET_LEN]; /* of ours, when keyed */
    uint8_t bits[BITS / 8];
    bool refused; /* by the check, on arrival */
} lab;

umbel_status lab_open(lab *l, const defence *row, um_rng *rng,
                      umbel_error *err);
void lab_close(lab *l);

/* k0 + k1 places of each key, those that reset first; 8 numbers a key. */
umbel_status lab_places(const lab *l, const umbel_filter *hash,
                        const uint64_t *keys, size_t n, uint32_t *place,
                        umbel_error *err);
void lab_insert(lab *l, const uint32_t *place);
bool lab_has(const lab *l, const uint32_t *place);

/* All bits to an exact share of ones, evenly spread over the blocks. */
void lab_fill(lab *l, double ones);
/* The largest share of ones that the check lets pass: 0.5 and six sigma. */
double lab_limit(const defence *row);
/* Hand the bits over: decides whether they are refused. */
void lab_arrive(lab *l);
/* The share of the keys that is accepted; none of a refused filter. */
umbel_status lab_ask(const lab *l, const uint64_t *keys, size_t n,
                     double *share, umbel_error *err);

#endif
