/*
 * datagram.h - a UDP socket in the loop: datagrams are received and sent in
 * batches.
 */
#ifndef UM_NET_DATAGRAM_H
#define UM_NET_DATAGRAM_H

#include "net/server/address.h"
#include "net/server/loop.h"

enum {
    UM_DATAGRAM_BATCH = 64,       /* largest number that a callback gets */
    UM_DATAGRAM_CEILING = 1 << 16 /* largest ceiling, in bytes */
};

typedef struct um_datagram {
    const uint8_t *data; /* valid until take returns, like from */
    size_t len;          /* at most the ceiling */
    bool cut;            /* it was longer than the ceiling; refuse it */
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
    uint64_t unsent; /* replies that the system did not accept: dropped */
    uint64_t errors; /* of receiving */
} um_datagrams_stats;

/* Opens fd, a bound socket, which *out then owns; on failure it is closed. */
umbel_status um_datagrams_open(um_loop *l, int fd, const um_datagrams_config *c,
                               um_datagrams **out, umbel_error *err);

/* Sends queued replies and closes the socket. NULL is accepted. */
void um_datagrams_close(um_datagrams *s);

/*
 * Queues a reply, whose bytes are copied, while take runs or any time later.
 * Replies are sent when take returns, when a batch is full, and by
 * um_datagrams_flush, which you must call if you reply later.
 */
void um_datagrams_reply(um_datagrams *s, const um_address *to,
                        umbel_slice reply);

/* The same without the copy: returns a buffer of config.reply bytes;
 * um_datagrams_append queues the first len of them. */
uint8_t *um_datagrams_reserve(um_datagrams *s);
void um_datagrams_append(um_datagrams *s, const um_address *to, size_t len);

void um_datagrams_flush(um_datagrams *s);

/* Stops and starts receiving; the system queues datagrams meanwhile, and drops
 * them when its queue is full. */
void um_datagrams_pause(um_datagrams *s, bool pause);

/* Receives what the system has queued, then stops. Not while take runs. */
void um_datagrams_drain(um_datagrams *s);

um_datagrams_stats um_datagrams_get_stats(const um_datagrams *s);

#endif
