/*
 * journal.h - the files journal-N: a head, then blocks of records.
 *
 * A record is one change of the store's state. A block holds the records of one
 * iteration of the server's loop. It is checksummed, numbered without gaps over
 * all files, and contains its time and the number of the last block known to be
 * durable when it was written. An incomplete or missing block at the end of the
 * journal was never acknowledged (with durability `always`); if a later block
 * or the head of the file says that it was durable, the file is damaged.
 *
 * docs/STORE.md describes the bytes.
 */
#ifndef UM_STORE_JOURNAL_H
#define UM_STORE_JOURNAL_H

#include "base/bytes.h"
#include "kinds/near/near.h"

#include <umbel/base.h>

/* --- records -------------------------------------------------------------- */

typedef enum um_record_type {
    UM_RECORD_COUNT = 1,   /* a digest was reported */
    UM_RECORD_REQUEST = 2, /* a signed request was seen */
    UM_RECORD_ADVANCE = 3, /* a list began a new epoch */
    UM_RECORD_SET = 4,     /* a key was set */
    UM_RECORD_REMOVE = 5,  /* a key was removed */
    UM_RECORD_RESET = 6,   /* all lists were emptied and a key was set */
    UM_RECORD_MAIL = 7,    /* a mail was written, or deleted */
    UM_RECORD_EXTEND = 8   /* the newest epoch of a list got another filter */
} um_record_type;

enum {
    UM_KV_KEY_MAX = 255,
    UM_KV_VALUE_MAX = 65535,
    /* The longest record: a key and its value. */
    UM_RECORD_MAX = 8 + ((UM_KV_KEY_MAX + UM_KV_VALUE_MAX + 7) & ~7),
    UM_RECORD_COUNT_LEN = 24,
    UM_RECORD_REQUEST_LEN = 16,
    UM_RECORD_ADVANCE_LEN = 8,
    UM_RECORD_MAIL_LEN = 8 + 8 + 16 + UM_NEAR_NAME + 8 * UM_NEAR_SHINGLES
};

/* Returns the length of the record of a key and its value. */
size_t um_record_kv_len(size_t key_len, size_t value_len);

typedef struct um_record {
    um_record_type type;
    unsigned list;             /* COUNT, ADVANCE, MAIL, EXTEND */
    uint32_t amount;           /* COUNT */
    uint16_t reporter;         /* COUNT: um_entry.reporter */
    umbel_digest digest;       /* COUNT */
    uint64_t request_id;       /* REQUEST */
    umbel_slice key, value;    /* SET, RESET; REMOVE: only the key */
    const um_near_write *mail; /* MAIL, when encoding */
    unsigned bits;             /* MAIL, decoded: with value and amount */
} um_record;

/* Encodes r; w->bad is set if it does not fit. */
void um_record_encode(const um_record *r, um_writer *w);

/* Decodes one record; returns false if the bytes are not one. Slices in *out
 * point into them. */
bool um_record_decode(um_reader *from, um_record *out);
/* Sets *out to the mail of a decoded record of type MAIL. */
void um_record_mail(const um_record *r, um_near_write *out);

/* --- files ---------------------------------------------------------------- */

enum {
    UM_JOURNAL_VERSION = 2, /* 1 is read, too: it has no reporters and no
                               record EXTEND */
    UM_JOURNAL_HEAD = 64,
    UM_JOURNAL_DURABLE_AT = 48,  /* offset of durable_end in the head, */
    UM_JOURNAL_DURABLE_LEN = 16, /* and its length with the checksum */
    UM_BLOCK_HEAD = 48,
    UM_BLOCK_MAX = 1 << 18 /* bytes of records in one block */
};

typedef struct um_journal_head {
    uint64_t number;
    uint64_t secret_id;   /* um_secret_id */
    uint64_t lists_id;    /* checksum of the lists' names, in their order */
    uint64_t durable_end; /* the file was durable up to here; decoded only */
} um_journal_head;

void um_journal_head_encode(const um_journal_head *h,
                            uint8_t out[UM_JOURNAL_HEAD]);
/* Decodes the head. Fails with E_FORMAT, E_VERSION or E_CHECKSUM; a damaged
 * durable_end becomes 0. */
umbel_status um_journal_head_decode(const uint8_t *bytes, size_t len,
                                    um_journal_head *out, umbel_error *err);
/* Encodes the bytes at UM_JOURNAL_DURABLE_AT, which are overwritten when more
 * of the file is durable. */
void um_journal_durable_encode(uint64_t durable_end,
                               uint8_t out[UM_JOURNAL_DURABLE_LEN]);

typedef struct um_block {
    uint64_t seq;
    uint64_t durable; /* last block known to be durable */
    uint64_t time;    /* seconds, of all its records */
    const uint8_t *records;
    size_t len;
} um_block;

/* Writes the head of a block whose records are at out + UM_BLOCK_HEAD. */
void um_block_seal(const um_block *b, uint8_t *out);

/* Source of a journal's bytes: see um_disk_ops.read. */
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
 * Reads the next block if it is complete and has number seq. Otherwise, and at
 * the end of the file, *found is false and w->at is the offset. The block's
 * records are valid until the next call.
 */
umbel_status um_journal_next(um_journal_walk *w, uint64_t seq, um_block *out,
                             bool *found, umbel_error *err);
/*
 * Sets *damaged if the file's head or a later block proves that block seq was
 * durable. Reads the rest of the file; call it after the last block.
 */
umbel_status um_journal_is_damaged(um_journal_walk *w, uint64_t seq,
                                   bool *damaged, umbel_error *err);
void um_journal_end(um_journal_walk *w);

#endif
