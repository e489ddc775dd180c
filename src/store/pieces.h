/*
 * pieces.h - bytes that are written, and read back, a piece at a time.
 *
 * What a snapshot holds can be larger than a buffer for all of it should be.
 * The parts of the store write themselves to a sink and read themselves from a
 * feed; files and memory are behind these.
 */
#ifndef UM_STORE_PIECES_H
#define UM_STORE_PIECES_H

#include <umbel/base.h>

typedef struct um_sink {
    void *ctx;
    umbel_status (*write)(void *ctx, const void *bytes, size_t len,
                          umbel_error *err);
} um_sink;

/*
 * left bounds what is read, and with it the memory that a reader asks for: no
 * length that it meets may exceed it. um_feed_get counts it down.
 */
typedef struct um_feed {
    void *ctx;
    /* Reads exactly len bytes, or fails. */
    umbel_status (*read)(void *ctx, void *out, size_t len, umbel_error *err);
    uint64_t left;
    bool checked; /* these bytes have a checksum, and it was right */
} um_feed;

umbel_status um_sink_append(const um_sink *to, const void *bytes, size_t len,
                            umbel_error *err);
/* Reads exactly len bytes. E_FORMAT when fewer are left. */
umbel_status um_feed_get(um_feed *from, void *out, size_t len,
                         umbel_error *err);

#endif
