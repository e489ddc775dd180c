/*
 * datagram.c - recvmmsg and sendmmsg on a polled socket.
 *
 * A system call costs more than what a server does for one datagram, so the
 * calls are shared: under load a turn of the loop is one epoll_wait, one
 * recvmmsg of up to 64 and one sendmmsg of as many. libuv's own UDP handles
 * call sendmsg for each reply.
 *
 * Every message keeps its header, address and buffer for good: a turn writes
 * no memory but what the system and the replies put there. Buffers lie a
 * multiple of 64 bytes apart that is no power of two, or the first lines of
 * all of them would share a few sets of the cache.
 *
 * Clients are spread over lanes (lanes.h), each with a queue of its own; a turn
 * reads a bounded number from each.
 */
#include "net/datagram.h"

#include "base/error.h"
#include "net/lanes.h"
#include "net/local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BATCHES = 8,          /* a turn reads, before others have theirs */
    DRAIN_BATCHES = 1024, /* at the end: more than the system queues */
    LINE = 64
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
    size_t queued;
    batch in, out;
    um_datagram list[UM_DATAGRAM_BATCH];
    um_datagrams_stats stats;
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

/* A reply that the system refuses (no route, port 0) or has no room for is
 * dropped: the client asks again. */
void um_datagrams_flush(um_datagrams *s)
{
    size_t at = 0;

    while (at < s->queued) {
        int n =
            sendmmsg(s->lanes[0].fd, s->out.head + at,
                     (unsigned)(s->queued - at), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            s->stats.sent += (uint64_t)n;
            at += (size_t)n;
        } else if (errno == EAGAIN) {
            s->stats.unsent += s->queued - at;
            break;
        } else if (errno != EINTR) {
            s->stats.unsent++;
            at++;
        }
    }
    s->queued = 0;
}

uint8_t *um_datagrams_room(um_datagrams *s)
{
    if (s->queued == UM_DATAGRAM_BATCH)
        um_datagrams_flush(s);
    return s->out.bytes + s->queued * s->out.stride;
}

void um_datagrams_put(um_datagrams *s, const um_address *to, size_t len)
{
    s->out.peer[s->queued] = *to;
    s->out.head[s->queued].msg_hdr.msg_namelen = um_address_len(to);
    s->out.part[s->queued].iov_len = len;
    if (s->any_address)
        um_local_put(to, &s->out.local[s->queued],
                     &s->out.head[s->queued].msg_hdr);
    s->queued++;
}

void um_datagrams_reply(um_datagrams *s, const um_address *to,
                        umbel_slice reply)
{
    size_t len = reply.len < s->config.reply ? reply.len : s->config.reply;

    if (len)
        memcpy(um_datagrams_room(s), reply.data, len);
    else
        (void)um_datagrams_room(s);
    um_datagrams_put(s, to, len);
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
static bool take_batch(um_datagrams *s, int fd)
{
    int n = recvmmsg(fd, s->in.head, UM_DATAGRAM_BATCH, MSG_DONTWAIT, NULL);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        s->stats.errors++;
    if (n <= 0)
        return false;
    list_received(s, (size_t)n);
    s->config.take(s->config.ctx, s->list, (size_t)n);
    um_datagrams_flush(s);
    return n == UM_DATAGRAM_BATCH && !s->closed;
}

static void on_readable(void *ctx, unsigned events)
{
    const lane *from = ctx;
    um_datagrams *s = from->owner;

    (void)events;
    s->taking = true;
    for (int i = 0; i < BATCHES && take_batch(s, from->fd); i++)
        ;
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
    free(s->out.bytes);
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

    if (!batch_init(&s->in, c->ceiling) || !batch_init(&s->out, c->reply))
        return um_no_memory(err, c->ceiling * UM_DATAGRAM_BATCH);
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
        for (int n = 0; n < DRAIN_BATCHES && take_batch(s, s->lanes[i].fd); n++)
            ;
}

um_datagrams_stats um_datagrams_get_stats(const um_datagrams *s)
{
    return s->stats;
}
