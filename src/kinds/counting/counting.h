/*
 * counting.h - the counters inside a handle, and operations on them.
 *
 * For kinds whose cells are numbers and whose count is the minimum of a key's
 * cells.
 */
#ifndef UM_KINDS_COUNTING_H
#define UM_KINDS_COUNTING_H

#include "base/threads.h"
#include "kinds/bloom/each.h"
#include "kinds/counting/cells.h"

/* Indices of the kind's settings, and the values of update. */
enum { UM_COUNTING_BITS, UM_COUNTING_UPDATE };
enum { UM_PLAIN, UM_REFINED };

typedef struct um_counting {
    const um_layout *layout;
    um_cells cells;
    bool refined;       /* only the smallest of a key's cells grow */
    bool distinct;      /* the cells of a key never coincide */
    um_gate_lock *lock; /* UM_GATE_LOCKS of them if shared, selected by
                           digest */
} um_counting;

/* Initializes c, which is zeroed; memory holds cells of this many bits, 1 to 32
 * or 64. */
void um_counting_init(um_counting *c, const um_layout *l, void *memory,
                      uint32_t bits, bool refined);

/* Computes the positions of n digests; prefetches far cells. */
void um_counting_locate(const void *self, const umbel_digest *d, size_t n,
                        uint64_t *pos);
/* Removes duplicates from the cells of a key; returns the number left. */
uint32_t um_counting_unite(const um_counting *c, uint64_t *pos);

/* Functions for um_kind; CELL_BITS is the first setting. */
size_t um_counting_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS]);
um_add_fn um_counting_add;
um_query_fn um_counting_query;
void um_counting_fold(void *self, const void *from, uint64_t by);
double um_counting_predict(const void *self);
void um_counting_info(const void *self, umbel_info *out);

/* Functions for its sub-tables; merge supports all ops. */
um_count_fn um_counting_count;
uint64_t um_counting_max(const void *self);
umbel_status um_counting_merge(void *self, const void *from, umbel_merge_op op,
                               umbel_error *err);
extern const um_row_bits um_counting_used_bits;
extern const um_row_shared um_counting_shared;
extern const um_row_index um_counting_index;
extern const um_row_totals um_counting_totals;

/* The slots common to all kinds whose self is um_counting. */
#define UM_COUNTING_SLOTS                                                      \
    .self_len = sizeof(um_counting), .sections = um_counting_sections,         \
    .add = um_counting_add, .query = um_counting_query,                        \
    .fold = um_counting_fold, .predict = um_counting_predict,                  \
    .shared = &um_counting_shared, .bits = &um_counting_used_bits

#endif
