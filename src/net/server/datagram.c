/*
 * datagram.c - recvmmsg and sendmmsg on a polled socket.
 *
 * A system call costs more than what a server does for one datagram, so the
 * calls are shared: under load a turn of the loop is one epoll_wait, some
 * recvmmsg of up to 64 each and as many sendmmsg (outbox.c). libuv's own UDP
 * handles call sendmsg for each reply.
 *
 * Every message keeps its header, address and buffer for good: a turn writes
 * no memory but what the system and the replies put there. Buffers lie a
 * multiple of 64 bytes apart that is no power of two, or the first lines of
 * all of them would share a few sets of the cache.
 *
 * A server that is faster than its clients would take datagrams one by one, at
 * the price of a turn each: an epoll_wait, a recvmmsg, a sendmmsg and a client
 * that is woken. If more than 20 came in the last millisecond, and the last
 * turn took fewer than 32, a turn waits 50 us before it reads.
 *
 * Clients are spread over lanes (lanes.h), each with a queue of its own; a turn
 * reads a bounded number from each.
 */
#include "net/server/datagram.h"

#include "base/error.h"
#include "net/server/lanes.h"
#include "net/server/local.h"
#include "net/server/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCHES = 8,          /* a turn reads, before others have theirs */
    DRAIN_BATCHES = 1024, /* at the end: more than the system queues */
    LINE = 64,
    MILLISECOND = 1000000, /* ns */
    MOMENT = 50000,
    APART = 100000,
    MANY = 20, /* datagrams in a millisecond */
    FEW = UM_DATAGRAM_BATCH / 2
};

typedef struct batch {
    struct mmsghdr head[UM_DATAGRAM_BATCH];
    struct iovec part[UM_DATAGRAM_BATCH];
    um_address peer[UM_DATAGRAM_BATCH];
    um_local_room local[UM_DATAGRAM_BATCH];
    uint8_t *bytes;
    size_t stride;
} batch;

typedef struct lane {
    um_datagrams *owner;
    um_watch *watch;
    int fd;
} lane;

struct um_datagrams {
    um_datagrams_config config;
    lane lanes[UM_LANES];
    size_t nlanes;
    bool any_address;    /* bound to all: replies say which one was asked */
    bool taking, closed; /* closed while take runs: released afterwards */
    batch in;
    um_outbox out;
    um_datagram list[UM_DATAGRAM_BATCH];
    um_datagrams_stats stats;
    bool many;            /* came in the millisecond before ... */
    uint64_t since, then; /* ... this one, and how many had come before it */
    uint64_t last;        /* datagrams of the last turn */
    uint64_t waited;      /* when it last did, for more of them */
};

static bool batch_init(batch *b, size_t len)
{
    b->stride = (len + LINE - 1) / LINE * LINE + LINE;
    if (b->stride / LINE % 2 == 0)
        b->stride += LINE;
    b->bytes = malloc(b->stride * UM_DATAGRAM_BATCH);
    if (!b->bytes)
        return false;
    for (size_t i = 0; i < UM_DATAGRAM_BATCH; i++) {
        b->part[i] = (struct iovec){b->bytes + i * b->stride, len};
        b->head[i].msg_hdr =
            (struct msghdr){.msg_name = &b->peer[i].ip,
                            .msg_namelen = sizeof b->peer[i].ip,
                            .msg_iov = &b->part[i],
                            .msg_iovlen = 1};
    }
    return true;
}

/* --- sending ----------------------------------------------------------------
 */

void um_datagrams_flush(um_datagrams *s)
{
    um_outbox_flush(&s->out, s->lanes[0].fd);
}

uint8_t *um_datagrams_room(um_datagrams *s)
{
    if (s->out.queued == UM_OUTBOX)
        um_datagrams_flush(s);
    return um_outbox_room(&s->out);
}

void um_datagrams_append(um_datagrams *s, const um_address *to, size_t len)
{
    um_outbox_append(&s->out, to, len);
}

void um_datagrams_reply(um_datagrams *s, const um_address *to,
                        umbel_slice reply)
{
    size_t len = reply.len < s->config.reply ? reply.len : s->config.reply;

    if (len)
        memcpy(um_datagrams_room(s), reply.data, len);
    else
        (void)um_datagrams_room(s);
    um_datagrams_append(s, to, len);
}

/* --- receiving --------------------------------------------------------------
 */

/* Fills the list of what arrived, and makes the headers ready for the next. */
static void list_received(um_datagrams *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct msghdr *h = &s->in.head[i].msg_hdr;

        s->list[i] = (um_datagram){.data = s->in.part[i].iov_base,
                                   .len = s->in.head[i].msg_len,
                                   .cut = h->msg_flags & MSG_TRUNC,
                                   .from = &s->in.peer[i]};
        s->stats.cut += s->list[i].cut;
        h->msg_namelen = sizeof s->in.peer[i].ip;
        if (s->any_address) {
            um_local_get(h, &s->in.peer[i]);
            h->msg_controllen = sizeof s->in.local[i];
        }
    }
    s->stats.received += n;
}

/* Returns true if there may be more. */
static bool parse_batch(um_datagrams *s, int fd)
{
    int n = recvmmsg(fd, s->in.head, UM_DATAGRAM_BATCH, MSG_DONTWAIT, NULL);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        s->stats.errors++;
    if (n <= 0)
        return false;
    list_received(s, (size_t)n);
    s->config.take(s->config.ctx, s->list, (size_t)n);
    return !s->closed;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns true if many come, but few at a time: those of the last millisecond
 * that is over are counted. */
static bool come_singly(um_datagrams *s, uint64_t now)
{
    uint64_t taken = s->stats.received;

    if (now - s->since >= MILLISECOND) {
        s->many = now - s->since < UINT64_C(2) * MILLISECOND &&
                  taken - s->then >= MANY;
        s->since = now;
        s->then = taken;
    }
    return s->many && s->last < FEW;
}

/* Waits a moment, so that more datagrams share a turn: of all lanes, so it does
 * not wait for each, and others in the loop have most of the time. */
static void wait_for_more(um_datagrams *s)
{
    uint64_t now = now_ns();

    if (!come_singly(s, now) || now - s->waited < APART)
        return;
    nanosleep(&(struct timespec){.tv_nsec = MOMENT}, NULL);
    s->waited = now_ns();
}

static void on_readable(void *ctx, unsigned events)
{
    const lane *from = ctx;
    um_datagrams *s = from->owner;

    (void)events;
    wait_for_more(s);
    uint64_t before = s->stats.received;
    s->taking = true;
    for (int i = 0; i < BATCHES && parse_batch(s, from->fd); i++)
        ;
    um_datagrams_flush(s);
    s->last = s->stats.received - before;
    s->taking = false;
    if (s->closed)
        um_datagrams_close(s);
}

/* --- life -------------------------------------------------------------------
 */

static void release(um_datagrams *s)
{
    um_datagrams_flush(s);
    for (size_t i = 0; i < s->nlanes; i++) {
        um_watch_close(s->lanes[i].watch);
        close(s->lanes[i].fd);
    }
    free(s->in.bytes);
    um_outbox_fini(&s->out);
    free(s);
}

static umbel_status check_ceiling(const um_datagrams_config *c,
                                  umbel_error *err)
{
    if (c->ceiling >= 1 && c->ceiling <= UM_DATAGRAM_CEILING)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "datagrams of 1 to %d bytes, got a ceiling of %zu",
                   UM_DATAGRAM_CEILING, c->ceiling);
}

static void open_lanes(um_datagrams *s, int first)
{
    int fd[UM_LANES] = {first};

    s->nlanes = um_lanes_open(fd);
    for (size_t i = 0; i < s->nlanes; i++) {
        s->lanes[i] = (lane){.owner = s, .fd = fd[i]};
        s->any_address = um_local_enable(fd[i]);
    }
}

static umbel_status start(um_datagrams *s, um_loop *l, umbel_error *err)
{
    const um_datagrams_config *c = &s->config;

    if (!batch_init(&s->in, c->ceiling) || !um_outbox_init(&s->out, c->reply))
        return um_no_memory(err, c->ceiling * UM_DATAGRAM_BATCH);
    s->out.from_asked = s->any_address;
    for (size_t i = 0; s->any_address && i < UM_DATAGRAM_BATCH; i++) {
        s->in.head[i].msg_hdr.msg_control = &s->in.local[i];
        s->in.head[i].msg_hdr.msg_controllen = sizeof s->in.local[i];
    }
    for (size_t i = 0; i < s->nlanes; i++)
        UM_TRY(um_watch_open(l, s->lanes[i].fd, UM_READABLE, on_readable,
                             &s->lanes[i], &s->lanes[i].watch, err));
    return UMBEL_OK;
}

umbel_status um_datagrams_open(um_loop *l, int fd, const um_datagrams_config *c,
                               um_datagrams **out, umbel_error *err)
{
    umbel_status status = check_ceiling(c, err);
    um_datagrams *s = status ? NULL : calloc(1, sizeof *s);

    if (!status && !s)
        status = um_no_memory(err, sizeof *s);
    if (!s) {
        close(fd);
        return status;
    }
    s->config = *c;
    open_lanes(s, fd);
    status = start(s, l, err);
    if (status)
        release(s);
    else
        *out = s;
    return status;
}

void um_datagrams_close(um_datagrams *s)
{
    if (s && s->taking)
        s->closed = true;
    else if (s)
        release(s);
}

void um_datagrams_pause(um_datagrams *s, bool pause)
{
    for (size_t i = 0; i < s->nlanes; i++)
        um_watch_events(s->lanes[i].watch, pause ? 0 : UM_READABLE);
}

void um_datagrams_drain(um_datagrams *s)
{
    um_datagrams_pause(s, true);
    for (size_t i = 0; i < s->nlanes; i++)
        for (int n = 0; n < DRAIN_BATCHES && parse_batch(s, s->lanes[i].fd);
             n++)
            ;
    um_datagrams_flush(s);
}

um_datagrams_stats um_datagrams_get_stats(const um_datagrams *s)
{
    um_datagrams_stats stats = s->stats;

    stats.sent = s->out.sent;
    stats.unsent = s->out.unsent;
    return stats;
}
