/*
 * datagram.h - a UDP socket in the loop: datagrams come and go by the batch.
 */
#ifndef UM_NET_DATAGRAM_H
#define UM_NET_DATAGRAM_H

#include "net/server/address.h"
#include "net/server/loop.h"

enum {
    UM_DATAGRAM_BATCH = 64,       /* datagrams a callback gets at most */
    UM_DATAGRAM_CEILING = 1 << 16 /* of the ceiling for their bytes */
};

typedef struct um_datagram {
    const uint8_t *data; /* valid until take returns, like from */
    size_t len;          /* at most the ceiling */
    bool cut;            /* it was longer than the ceiling: refuse it */
    const um_address *from;
} um_datagram;

typedef struct um_datagrams um_datagrams;

typedef struct um_datagrams_config {
    size_t ceiling; /* bytes of a datagram; longer ones arrive cut */
    size_t reply;   /* bytes of the longest reply */
    void (*take)(void *ctx, const um_datagram *d, size_t n);
    void *ctx;
} um_datagrams_config;

typedef struct um_datagrams_stats {
    uint64_t received, cut, sent;
    uint64_t unsent; /* replies that the system did not take: dropped */
    uint64_t errors; /* of receiving */
} um_datagrams_stats;

/* Takes over fd, a bound socket; on failure it is closed. */
umbel_status um_datagrams_open(um_loop *l, int fd, const um_datagrams_config *c,
                               um_datagrams **out, umbel_error *err);

/* Closes the socket; queued replies are sent first. NULL is fine. */
void um_datagrams_close(um_datagrams *s);

/*
 * Queues a reply, whose bytes are copied; it may be given while take runs or
 * any time later. Replies go out when take returns, when a batch is full, and
 * by um_datagrams_flush, which a caller that replies later must call.
 */
void um_datagrams_reply(um_datagrams *s, const um_address *to,
                        umbel_slice reply);

/* The same without the copy: returns room for config.reply bytes, of which the
 * first len are sent once um_datagrams_append says how many they are. */
uint8_t *um_datagrams_room(um_datagrams *s);
void um_datagrams_append(um_datagrams *s, const um_address *to, size_t len);

void um_datagrams_flush(um_datagrams *s);

/* Stops and starts receiving; the system queues datagrams meanwhile, and drops
 * them when its queue is full. */
void um_datagrams_pause(um_datagrams *s, bool pause);

/* Takes what the system has queued, and stops receiving. Not while take runs.
 */
void um_datagrams_drain(um_datagrams *s);

um_datagrams_stats um_datagrams_get_stats(const um_datagrams *s);

#endif
