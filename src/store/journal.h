/*
 * journal.h - the files journal-N: a head, then blocks of records.
 *
 * A block is what one turn of the server's loop wrote: checksummed, numbered
 * without gaps over all files, with its time and with the number of the last
 * block that was known to be durable by then. A block that is torn or missing
 * at the end of the journal was never acknowledged (under `always`); if a
 * later one, or the mark in the head, says that it was durable, the file is
 * damaged.
 *
 * docs/STORE.md describes the bytes.
 */
#ifndef UM_STORE_JOURNAL_H
#define UM_STORE_JOURNAL_H

#include "store/record.h"

enum {
    UM_JOURNAL_VERSION = 1,
    UM_JOURNAL_HEAD = 64,
    UM_JOURNAL_MARK_AT = 48,
    UM_JOURNAL_MARK = 16,
    UM_BLOCK_HEAD = 48,
    UM_BLOCK_MAX = 1 << 18 /* bytes of records in one block */
};

typedef struct um_journal_head {
    uint64_t number;
    uint64_t secret_id; /* um_secret_id */
    uint64_t lists_id;  /* checksum of the lists' names, in their order */
    uint64_t mark;      /* the file was durable up to there; decoded only */
} um_journal_head;

void um_journal_head_encode(const um_journal_head *h,
                            uint8_t out[UM_JOURNAL_HEAD]);
/* E_FORMAT, E_VERSION, E_CHECKSUM. A torn mark is no mark. */
umbel_status um_journal_head_decode(const uint8_t *bytes, size_t len,
                                    um_journal_head *out, umbel_error *err);
/* The 16 bytes at UM_JOURNAL_MARK_AT, written over when more is durable. */
void um_journal_mark_encode(uint64_t mark, uint8_t out[UM_JOURNAL_MARK]);

typedef struct um_block {
    uint64_t seq;
    uint64_t durable; /* all blocks up to that one were, when it was written */
    uint64_t time;    /* seconds, of all its records */
    const uint8_t *records;
    size_t len;
} um_block;

/* Writes the head of a block whose records lie at out + UM_BLOCK_HEAD. */
void um_block_seal(const um_block *b, uint8_t *out);

/* Where a journal's bytes come from: as um_disk_ops.read. */
typedef struct um_journal_source {
    void *ctx;
    int (*read)(void *ctx, uint64_t at, void *out, size_t len, size_t *got);
} um_journal_source;

/* Walks the blocks of one file. */
typedef struct um_journal_walk {
    um_journal_source source;
    um_journal_head head;
    uint64_t at; /* of the next block */
    uint8_t *buffer;
    uint64_t start; /* of the buffer in the file */
    size_t len;
} um_journal_walk;

/* Reads and checks the head. Release with um_journal_end. */
umbel_status um_journal_begin(um_journal_walk *w, um_journal_source source,
                              umbel_error *err);
/*
 * Gives the next block if it is whole and has number seq. *found is false at
 * the end of the file and at anything else; w->at is where. The block's records
 * are valid until the next call.
 */
umbel_status um_journal_next(um_journal_walk *w, uint64_t seq, um_block *out,
                             bool *found, umbel_error *err);
/*
 * After the last block: *damaged is true if block seq was durable once, which
 * the mark or the head of a later block proves. Reads the rest of the file.
 */
umbel_status um_journal_is_damaged(um_journal_walk *w, uint64_t seq,
                                   bool *damaged, umbel_error *err);
void um_journal_end(um_journal_walk *w);

#endif
