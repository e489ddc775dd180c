/*
 * spill.h - temporary files: heaps of records that do not fit into memory, and
 * memory backed by a file.
 *
 * Files have no name, so they vanish however the process ends.
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

/* Records of one to three words; each heap keeps them in the order of
 * adding. */
typedef struct um_spill {
    const char *dir;
    int fd;
    unsigned words;   /* of a record */
    size_t per_chunk; /* records per chunk */
    uint64_t *buffer; /* the last chunk of each heap; NULL: all are written */
    uint64_t n;       /* number of records, in all and in each heap */
    uint64_t count[UM_SPILL_HEAPS];
    uint32_t first[UM_SPILL_HEAPS], last[UM_SPILL_HEAPS]; /* chunk numbers, from
                                                             1 */
    uint32_t *next;                                       /* of each chunk */
    size_t nchunks, cap;
} um_spill;

/* Opens a spill in this directory, with buffers of at most memory bytes (but at
 * least UM_SPILL_LEAST_CHUNK per heap). dir must outlive the spill. */
umbel_status um_spill_open(um_spill *s, const char *dir, unsigned words,
                           uint64_t memory, umbel_error *err);
/* Closes a spill; a zeroed or closed one is accepted. */
void um_spill_close(um_spill *s);
/* Appends a record to a heap, numbered below UM_SPILL_HEAPS. */
umbel_status um_spill_add(um_spill *s, unsigned heap, const uint64_t *record,
                          umbel_error *err);
/* Returns the heap of a digest; heaps are ordered by lo. */
static inline unsigned um_spill_heap_of(uint64_t lo)
{
    return (unsigned)(lo >> (64 - UM_SPILL_HEAP_BITS));
}
/* Writes the buffers to the file and frees them. */
umbel_status um_spill_end(um_spill *s, umbel_error *err);
/* Returns the size of the buffers in bytes. */
size_t um_spill_buffers(const um_spill *s);
/* Returns the number of records in the largest heap. */
uint64_t um_spill_largest(const um_spill *s);

/* An iterator over a heap, chunk by chunk. */
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
/* Replaces records: per_chunk of them, or the last ones. um_spill_cut ends the
 * heap where the walk is. */
umbel_status um_spill_write(um_spill_walk *w, const uint64_t *records, size_t n,
                            umbel_error *err);
/* Truncates the heap where the walk is. */
void um_spill_cut(um_spill_walk *w);

/* --- memory in a file -------------------------------------------------------
 */

/* Zeroed memory backed by a file, so that its pages can be dropped at any
 * time. */
typedef struct um_spool {
    const char *dir;
    int fd;
    uint8_t *memory; /* NULL: none yet */
    size_t len;
} um_spool;

/* Opens an empty spool. dir must outlive it. */
umbel_status um_spool_open(um_spool *s, const char *dir, umbel_error *err);
/* Sets the length; keeps the content, but memory may move. Reserves the space
 * in the file system, or fails with E_IO. */
umbel_status um_spool_resize(um_spool *s, size_t len, umbel_error *err);
/* Drops the pages of such memory: their content stays in the file. */
void um_spool_drop(const void *at, size_t len);
/* Passes the memory to the caller, who must call um_spool_release. */
uint8_t *um_spool_detach(um_spool *s);
void um_spool_release(uint8_t *memory, size_t len);
/* Closes a spool; a zeroed or closed one is accepted. */
void um_spool_close(um_spool *s);

#endif
