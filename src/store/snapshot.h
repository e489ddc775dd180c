/*
 * snapshot.h - the files snapshot-N: the store's state at one moment.
 *
 * A head, then the state as one stream of bytes, cut into pieces that have a
 * checksum each. Written as snapshot-N.new and renamed when it is whole and
 * durable, so a file of that name is complete, or was damaged.
 *
 * docs/STORE.md describes the bytes.
 */
#ifndef UM_STORE_SNAPSHOT_H
#define UM_STORE_SNAPSHOT_H

#include "store/disk.h"
#include "store/pieces.h"

enum {
    UM_SNAPSHOT_VERSION = 1,
    UM_SNAPSHOT_HEAD = 64,
    UM_PIECE_HEAD = 16,
    UM_PIECE_MAX = 1 << 18 /* bytes of the stream in one piece */
};

typedef struct um_snapshot_head {
    uint64_t number;
    uint64_t secret_id;
    uint64_t seq;  /* of the last block that is in it */
    uint64_t time; /* when it was taken */
    uint32_t lists;
    bool has_times; /* of the last hour, behind everything else */
} um_snapshot_head;

/* A snapshot that is written. */
typedef struct um_snapshot_writer {
    um_disk *disk;
    int file;
    uint64_t at, synced;
    uint64_t piece;  /* number of the next one */
    uint8_t *buffer; /* the head of a piece, and its bytes */
    size_t used;
    int number; /* of the first error */
    char name[UM_DISK_NAME];
    um_sink sink;
} um_snapshot_writer;

/*
 * Creates snapshot-N.new. Put the state to w->sink, then finish. Release with
 * um_snapshot_writer_fini, which removes the file unless it was finished.
 */
umbel_status um_snapshot_create(um_snapshot_writer *w, um_disk *disk,
                                const um_snapshot_head *head, umbel_error *err);
umbel_status um_snapshot_finish(um_snapshot_writer *w, umbel_error *err);
void um_snapshot_writer_fini(um_snapshot_writer *w);

/* A snapshot that is read. */
typedef struct um_snapshot_reader {
    um_disk *disk;
    int file;
    uint64_t at, size;
    uint64_t piece;
    uint8_t *buffer;
    size_t used, len; /* of the present piece */
    bool last;
    um_snapshot_head head;
    um_feed feed; /* the state */
} um_snapshot_reader;

/* Opens a snapshot, checks its head. Release with um_snapshot_reader_fini. */
umbel_status um_snapshot_open(um_snapshot_reader *r, um_disk *disk,
                              const char *name, umbel_error *err);
/* Checks that all of it was read. */
umbel_status um_snapshot_check_end(um_snapshot_reader *r, umbel_error *err);
void um_snapshot_reader_fini(um_snapshot_reader *r);

#endif
