/*
 * exact.h - sizes and partitions of static filters that exclude listed keys.
 */
#ifndef UM_NEGATIVES_EXACT_EXACT_H
#define UM_NEGATIVES_EXACT_EXACT_H

#include "kinds/ribbon/ribbon.h"

#include <umbel/experimental/exact.h>

/*
 * The number of columns of the first of two levels.
 */

/* Returns the number of columns with the smallest file. */
uint32_t um_exact_smallest(double n, double listed);

/* A size limit: the bits available to the levels, which depend on the length of
 * the head, and the number of them that two levels must leave unused. */
typedef struct um_exact_limit {
    double (*bits)(const void *ctx, const um_ribbon_form *first, bool two);
    const void *ctx;
    double spare;
} um_exact_limit;

typedef struct um_exact_form {
    um_ribbon_form form; /* of the first level */
    bool two;            /* there is a second level */
    bool all;            /* it has space for all listed keys that pass */
} um_exact_form;

/*
 * Chooses the levels that leave the least weight of the list, then the least
 * error on other keys. Classes are in order of descending weight. Returns false
 * if not even the members fit.
 */
bool um_exact_within(double n, const umbel_exact_class *classes,
                     size_t nclasses, const um_exact_limit *limit,
                     um_exact_form *out);
/* Returns the bits of a second level for all keys that pass the first. */
double um_exact_second(double n, double listed, const um_ribbon_form *first);
/* Returns the fewest bits that can hold the members. */
double um_exact_least(double n);

/* Returns the weight left of a list of which a share p passes, if the heaviest
 * `room` keys that pass are excluded. */
double um_weight_beyond(const umbel_exact_class *classes, size_t n, double p,
                        double room);

enum { UM_WEIGHT_CLASSES = 4096 };

/* Numbers of listed keys by weight, in eight classes per factor of two. */
typedef struct um_weight_counts {
    uint64_t all;
    struct {
        uint64_t keys;
        double weight; /* of all of them */
    } of[UM_WEIGHT_CLASSES];
} um_weight_counts;

/* Counts n keys; weights may be NULL (all 1). */
void um_weight_counts_add(um_weight_counts *c, const double *weights, size_t n);
/* Fills classes by descending weight, scaled to `listed` keys; returns their
 * number. */
size_t um_weight_classes(const um_weight_counts *c, uint64_t listed,
                         umbel_exact_class out[UM_WEIGHT_CLASSES]);

/*
 * Exact sets of keys in partitions: the method of each partition.
 */

/* Numbers of keys by partition, in a hash table. */
typedef struct um_part_counts {
    const umbel_alloc *alloc;
    umbel_exact_part *slots; /* free if keys is 0 */
    size_t n, cap;
} um_part_counts;

/* Counts keys by hi; returns false if memory runs out. */
bool um_part_counts_add(um_part_counts *c, const umbel_digest *d, size_t n);
/* Moves the n entries to the front, by part. */
void um_part_counts_sort(um_part_counts *c);
void um_part_counts_fini(um_part_counts *c);

/* The methods chosen, and the index that records them. */
typedef struct um_exact_parts {
    bool on;      /* keys are in partitions */
    bool seconds; /* some members depend on the second level alone */
    size_t n;
    uint32_t bits; /* of an entry */
    um_ribbon_sizes sizes;
    um_ribbon_parts ready;
    uint8_t *memory; /* of the index */
    size_t len;
} um_exact_parts;

/*
 * Chooses the columns of each partition, and creates the index; sets form and
 * steps of the first level. E_KEY if a member's partition is not listed.
 */
umbel_status um_exact_parts_choose(um_exact_parts *p,
                                   const umbel_digest *members, size_t n,
                                   const umbel_exact_part *listed, size_t parts,
                                   const umbel_alloc *alloc,
                                   um_ribbon_form *form, um_ribbon_sizes *first,
                                   umbel_error *err);
/* Fills the items of the members that the first level contains; returns their
 * number. */
size_t um_exact_parts_items(const um_exact_parts *p,
                            const umbel_digest *members, size_t n,
                            um_ribbon_item *out);
void um_exact_parts_fini(um_exact_parts *p, const umbel_alloc *alloc);

#endif
