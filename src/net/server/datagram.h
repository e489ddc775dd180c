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
    size_t ceiling; /* bytes of a datagram; longer ones are cut */
    size_t reply;   /* bytes of the longest reply */
    void (*take)(void *ctx, const um_datagram *d, size_t n);
    void *ctx;
} um_datagrams_config;

typedef struct um_datagrams_stats {
    uint64_t received, cut, sent;
    uint64_t unsent; /* replies dropped: the system did not accept them */
    uint64_t errors; /* of receiving */
} um_datagrams_stats;

/* Opens a datagram socket on fd, which is bound. *out owns fd; on failure it is
 * closed. */
umbel_status um_datagrams_open(um_loop *l, int fd, const um_datagrams_config *c,
                               um_datagrams **out, umbel_error *err);

/* Sends queued replies and closes the socket. NULL is accepted. */
void um_datagrams_close(um_datagrams *s);

/*
 * Queues a copy of a reply, while take runs or at any later time. Replies are
 * sent when take returns, when a batch is full, and by um_datagrams_flush,
 * which you must call if you reply later.
 */
void um_datagrams_reply(um_datagrams *s, const um_address *to,
                        umbel_slice reply);

/* Queues a reply without copying it: um_datagrams_reserve returns a buffer of
 * config.reply bytes, and um_datagrams_append queues its first len bytes. */
uint8_t *um_datagrams_reserve(um_datagrams *s);
void um_datagrams_append(um_datagrams *s, const um_address *to, size_t len);

void um_datagrams_flush(um_datagrams *s);

/* Stops or resumes receiving. Meanwhile the system queues datagrams, and drops
 * them when its queue is full. */
void um_datagrams_pause(um_datagrams *s, bool pause);

/* Receives all queued datagrams, then stops. Must not be called by take. */
void um_datagrams_drain(um_datagrams *s);

um_datagrams_stats um_datagrams_get_stats(const um_datagrams *s);

#endif
