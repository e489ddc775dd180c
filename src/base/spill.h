/*
 * spill.h - temporary files: records that do not fit into memory, in heaps, and
 * memory that lies in a file.
 *
 * Files have no name: they vanish by themselves, however the process ends.
 */
#ifndef UM_BASE_SPILL_H
#define UM_BASE_SPILL_H

#include <umbel/base.h>

/* --- records in heaps -------------------------------------------------------
 */

enum {
    UM_SPILL_HEAP_BITS = 9,
    UM_SPILL_HEAPS = 1 << UM_SPILL_HEAP_BITS,
    UM_SPILL_WORDS = 3,            /* of a record, at most */
    UM_SPILL_CHUNK = 1 << 16,      /* bytes read and written at once, at most */
    UM_SPILL_LEAST_CHUNK = 1 << 12 /* at least */
};

/* Records of one to three words, in each heap in the order in which they came.
 */
typedef struct um_spill {
    const char *dir;
    int fd;
    unsigned words;   /* of a record */
    size_t per_chunk; /* records */
    uint64_t *buffer; /* the last chunk of each heap; NULL: all are written */
    uint64_t n;       /* records, and those of each heap */
    uint64_t count[UM_SPILL_HEAPS];
    uint32_t first[UM_SPILL_HEAPS], last[UM_SPILL_HEAPS]; /* chunks, from 1 */
    uint32_t *next;                                       /* of each chunk */
    size_t nchunks, cap;
} um_spill;

/* Begins in that directory, with buffers of at most memory bytes (but not of
 * less than UM_SPILL_LEAST_CHUNK a heap). The directory's name must stay. */
umbel_status um_spill_open(um_spill *s, const char *dir, unsigned words,
                           uint64_t memory, umbel_error *err);
/* Takes one that is zeroed, or closed, too. */
void um_spill_close(um_spill *s);
/* heap is below UM_SPILL_HEAPS. */
umbel_status um_spill_add(um_spill *s, unsigned heap, const uint64_t *record,
                          umbel_error *err);
/* Returns the heap of a digest, where heaps are in the order of lo. */
static inline unsigned um_spill_heap_of(uint64_t lo)
{
    return (unsigned)(lo >> (64 - UM_SPILL_HEAP_BITS));
}
/* Writes what is in buffers, and frees these. */
umbel_status um_spill_end(um_spill *s, umbel_error *err);
/* Returns the bytes of the buffers. */
size_t um_spill_buffers(const um_spill *s);
/* Returns the records of the largest heap. */
uint64_t um_spill_largest(const um_spill *s);

/* A walk through a heap, chunk by chunk. */
typedef struct um_spill_walk {
    um_spill *spill;
    unsigned heap;
    uint32_t chunk; /* 0: the end */
    uint64_t left;  /* records */
} um_spill_walk;

um_spill_walk um_spill_begin(um_spill *s, unsigned heap);
/* Reads up to per_chunk records; *n is 0 at the end. */
umbel_status um_spill_read(um_spill_walk *w, uint64_t *records, size_t *n,
                           umbel_error *err);
/* Replaces records: per_chunk of them, or the last. The heap ends when the walk
 * does (um_spill_cut). */
umbel_status um_spill_write(um_spill_walk *w, const uint64_t *records, size_t n,
                            umbel_error *err);
/* Drops what the walk did not reach. */
void um_spill_cut(um_spill_walk *w);

/* --- memory in a file -------------------------------------------------------
 */

/* Zeroed memory whose pages the process may give up at any time. */
typedef struct um_spool {
    const char *dir;
    int fd;
    uint8_t *memory; /* NULL: none yet */
    size_t len;
} um_spool;

/* The directory's name must stay. */
umbel_status um_spool_open(um_spool *s, const char *dir, umbel_error *err);
/* Sets its length; what was written stays, memory may move. It reserves the
 * room in the file system, or fails with E_IO. */
umbel_status um_spool_resize(um_spool *s, size_t len, umbel_error *err);
/* Gives up the pages of any such memory: what they hold stays in the file. */
void um_spool_drop(const void *at, size_t len);
/* Lets the memory go to the caller, who calls um_spool_release. */
uint8_t *um_spool_detach(um_spool *s);
void um_spool_release(uint8_t *memory, size_t len);
/* Takes one that is zeroed, or closed, too. */
void um_spool_close(um_spool *s);

#endif
