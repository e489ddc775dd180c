/*
 * counting.h - cells that count: a handle's part, and what is done with it.
 *
 * For kinds whose cells are numbers and whose count is the least of a key's:
 * the functions are slots of their rows.
 */
#ifndef UM_KINDS_COUNTING_H
#define UM_KINDS_COUNTING_H

#include "filter/kind.h"
#include "kinds/cells.h"

/* Numbers of the kind's settings, and what update may be. */
enum { UM_COUNTING_BITS, UM_COUNTING_UPDATE };
enum { UM_PLAIN, UM_REFINED };

enum {
    UM_COUNTING_BATCH = 1024, /* positions that are made at a time */
    UM_COUNTING_LOCKS = 32
};

/* Alone in its cache line: who takes one does not slow down the others. */
typedef struct um_counting_lock {
    _Alignas(64) bool taken;
} um_counting_lock;

typedef struct um_counting {
    const um_layout *layout;
    um_cells cells;
    bool refined;  /* only the least of a key's cells grow */
    bool distinct; /* the cells of a key never coincide */
    um_counting_lock lock[UM_COUNTING_LOCKS]; /* shared, refined: by digest */
} um_counting;

/* self is zeroed; cells of so many bits, 2 to 32 or 64, lie at memory. */
void um_counting_init(um_counting *c, const um_layout *l, void *memory,
                      uint32_t bits, bool refined);

/* Positions of the next digests, as many as there is room for. */
size_t um_counting_locate(const um_counting *c, const umbel_digest *d, size_t n,
                          uint64_t pos[UM_COUNTING_BATCH]);
/* Each cell of a key once; tells how many. */
uint32_t um_counting_unite(const um_counting *c, uint64_t *pos);

/* As the slots of um_kind; merge knows all ways. */
size_t um_counting_add(void *self, const umbel_digest *d, size_t n,
                       bool *fresh);
size_t um_counting_add_amounts(void *self, const umbel_digest *d,
                               const uint64_t *amounts, size_t n, bool *fresh);
void um_counting_query(const void *self, const umbel_digest *d, size_t n,
                       bool *hit);
void um_counting_count(const void *self, const umbel_digest *d, size_t n,
                       uint64_t *out);
uint64_t um_counting_most(const void *self);
umbel_status um_counting_merge(void *self, const void *from, umbel_merge_op op,
                               umbel_error *err);
void um_counting_fold(void *self, const void *from, uint64_t by);
double um_counting_error(const um_shape *s, const um_layout *l, double keys);
double um_counting_predict(const void *self);
uint64_t um_counting_used(const void *self, const void *other);
void um_counting_as_bits(const void *self, uint8_t *bits);
void um_counting_info(const void *self, umbel_info *out);

/* The same for threads at once (counting_shared.c). */
umbel_status um_counting_may_share(const um_shape *s, umbel_error *err);
size_t um_counting_add_shared(void *self, const umbel_digest *d, size_t n,
                              bool *fresh);
size_t um_counting_add_amounts_shared(void *self, const umbel_digest *d,
                                      const uint64_t *amounts, size_t n,
                                      bool *fresh);
void um_counting_query_shared(const void *self, const umbel_digest *d, size_t n,
                              bool *hit);
void um_counting_count_shared(const void *self, const umbel_digest *d, size_t n,
                              uint64_t *out);

#endif
