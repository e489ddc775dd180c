/*
 * exact_parts.h - exact sets of keys in partitions: how each is answered.
 */
#ifndef UM_OPS_EXACT_PARTS_H
#define UM_OPS_EXACT_PARTS_H

#include "kinds/ribbon/ribbon.h"

#include <umbel/experimental/exact.h>

/* Keys counted by their partitions, each at most once in a table. */
typedef struct um_part_counts {
    const umbel_alloc *alloc;
    umbel_exact_part *slots; /* of which those with keys are taken */
    size_t n, cap;
} um_part_counts;

/* Counts keys by hi; false: no memory. */
bool um_part_counts_add(um_part_counts *c, const umbel_digest *d, size_t n);
/* Moves the n entries to the front, by part. */
void um_part_counts_sort(um_part_counts *c);
void um_part_counts_fini(um_part_counts *c);

/* What was decided, and the index that says so. */
typedef struct um_exact_parts {
    bool on;      /* keys come in partitions */
    bool seconds; /* some members are told by the second level alone */
    size_t n;
    uint32_t bits; /* of an entry */
    um_ribbon_sizes sizes;
    um_ribbon_parts ready;
    uint8_t *memory; /* of the index */
    size_t len;
} um_exact_parts;

/*
 * Chooses columns for each partition, and makes the index; form and steps are
 * those of the first level. E_KEY when a member's partition is not listed.
 */
umbel_status um_exact_parts_choose(um_exact_parts *p,
                                   const umbel_digest *members, size_t n,
                                   const umbel_exact_part *listed, size_t parts,
                                   const umbel_alloc *alloc,
                                   um_ribbon_form *form, um_ribbon_sizes *first,
                                   umbel_error *err);
/* Fills items of the members that the first level holds; returns how many. */
size_t um_exact_parts_items(const um_exact_parts *p,
                            const umbel_digest *members, size_t n,
                            um_ribbon_item *out);
void um_exact_parts_fini(um_exact_parts *p, const umbel_alloc *alloc);

#endif
