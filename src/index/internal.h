/*
 * internal.h - sliced files: the bits of many filters, arranged so that a
 * question reads few of them (index/slices.c).
 */
#ifndef UM_INDEX_INTERNAL_H
#define UM_INDEX_INTERNAL_H

#include "filter/handle.h"

#include <umbel/experimental/index.h>

enum {
    UM_SLICES_MAX = 8192,      /* filters of a file */
    UM_SLICES_SPREAD = 4,      /* its largest filter is at most so much larger
                                  than its smallest */
    UM_SLICES_NAME_MAX = 4096, /* bytes of a name */
    UM_SLICES_PAGE = 4096      /* bytes that are read and checked together */
};

typedef struct um_slices um_slices;

/* Opens a file; reads its head and the sizes of its filters, nothing else.
 * E_UNKNOWN if it does not exist. */
umbel_status um_slices_open(const char *path, um_slices **out,
                            umbel_error *err);
void um_slices_close(um_slices *s);

/* Returns an empty filter that hashes keys as the filters of the file do. */
umbel_filter *um_slices_prototype(const um_slices *s);
/* Return the number of filters, and the blocks of one. */
uint32_t um_slices_count(const um_slices *s);
uint64_t um_slices_blocks(const um_slices *s, uint32_t i);

/* What the file records of a filter. */
typedef struct um_slices_entry {
    char name[UM_SLICES_NAME_MAX + 1];
    uint64_t checksum; /* of its payload */
    double error;      /* false positive rate, predicted from its cells */
} um_slices_entry;
umbel_status um_slices_entry_of(um_slices *s, uint32_t i, um_slices_entry *out,
                                umbel_error *err);

/* Sets bit i of hits for each filter i that matches the digest. Bits that are
 * set stay so. */
umbel_status um_slices_ask(um_slices *s, const umbel_digest *d, uint8_t *hits,
                           umbel_error *err);

/* A filter to write: its bits in memory, or a filter of another file. */
typedef struct um_slices_member {
    const char *name;
    uint64_t checksum, blocks;
    double error;
    const uint8_t *bits; /* NULL: filter `number` of `from` */
    um_slices *from;
    uint32_t number;
} um_slices_member;

/*
 * Creates path, which must not exist, with n filters of the prototype's shape.
 * cells is the number of cells of a block, or of a filter without blocks.
 * Members from the same file stand together, by ascending number.
 */
umbel_status um_slices_write(const char *path, const umbel_filter *prototype,
                             uint64_t cells, const um_slices_member *m,
                             uint32_t n, umbel_error *err);

/* Returns the number of cells that form a row of bits: those of a block, or all
 * of a filter without blocks. */
uint64_t um_slices_cells(const um_slices *s);

#endif
