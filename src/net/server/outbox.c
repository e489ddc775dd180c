/*
 * outbox.c - sendmmsg, and several datagrams to one client as one
 * (UDP_SEGMENT).
 *
 * Sending a datagram costs the system more than a server's work for it: a
 * route, a buffer and a queue for each. Replies in a row to the same client,
 * all as long as the first but for the last, which may be shorter, are given to
 * it as one message; it cuts them apart as late as it can (Linux 4.18 and
 * later). The client sees no difference.
 *
 * A system may refuse that for good (an old one, a socket that other software
 * passed to us, a device that cannot make the checksums) or for a message (a
 * datagram longer than the device takes). Then the datagrams are sent one by
 * one; if that works, the outbox does not try again.
 */
#include "net/server/outbox.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,
    MAX_BYTES = 60000 /* of datagrams that are sent as one */
};

/* Datagrams first to first + n - 1 are one message. */
typedef struct run {
    size_t first, n;
} run;

/* Buffers lie an odd number of lines apart, or the first lines of all of them
 * would share a few sets of the cache. */
bool um_outbox_init(um_outbox *o, size_t len)
{
    *o = (um_outbox){.stride = (len / LINE + 1) * LINE};
    if (o->stride / LINE % 2 == 0)
        o->stride += LINE;
    o->head = calloc(UM_OUTBOX, sizeof *o->head);
    o->part = calloc(UM_OUTBOX, sizeof *o->part);
    o->peer = calloc(UM_OUTBOX, sizeof *o->peer);
    o->control = calloc(UM_OUTBOX, sizeof *o->control);
    o->bytes = malloc(o->stride * UM_OUTBOX);
    for (size_t i = 0; o->part && o->bytes && i < UM_OUTBOX; i++)
        o->part[i].iov_base = o->bytes + i * o->stride;
    return o->head && o->part && o->peer && o->control && o->bytes;
}

void um_outbox_fini(um_outbox *o)
{
    free(o->head);
    free(o->part);
    free(o->peer);
    free(o->control);
    free(o->bytes);
    *o = (um_outbox){0};
}

uint8_t *um_outbox_room(const um_outbox *o)
{
    return o->bytes + o->queued * o->stride;
}

void um_outbox_append(um_outbox *o, const um_address *to, size_t len)
{
    o->peer[o->queued] = *to;
    o->part[o->queued++].iov_len = len;
}

/* --- runs ----------------------------------------------------------------- */

static bool same_client(const um_address *a, const um_address *b)
{
    return um_address_len(a) == um_address_len(b) &&
           memcmp(&a->ip, &b->ip, um_address_len(a)) == 0 &&
           memcmp(&a->local, &b->local, sizeof a->local) == 0;
}

static run run_at(const um_outbox *o, size_t first)
{
    size_t len = o->part[first].iov_len, n = 1;

#ifdef UDP_SEGMENT
    while (!o->single && len && first + n < o->queued &&
           (n + 1) * len <= MAX_BYTES &&
           o->part[first + n - 1].iov_len == len &&
           o->part[first + n].iov_len && o->part[first + n].iov_len <= len &&
           same_client(&o->peer[first], &o->peer[first + n]))
        n++;
#endif
    return (run){first, n};
}

#ifdef UDP_SEGMENT
/* Says how long the datagrams are, behind what is there already. */
static void write_segment(struct msghdr *h, um_local_room *room, size_t len)
{
    uint16_t bytes = (uint16_t)len;
    struct cmsghdr *c =
        (struct cmsghdr *)(void *)(room->bytes + h->msg_controllen);

    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof bytes);
    memcpy(CMSG_DATA(c), &bytes, sizeof bytes);
    h->msg_control = room;
    h->msg_controllen += CMSG_SPACE(sizeof bytes);
}
_Static_assert(CMSG_SPACE(sizeof(struct in6_pktinfo)) +
                       CMSG_SPACE(sizeof(uint16_t)) <=
                   sizeof(um_local_room),
               "an address and the length of datagrams fit");
#endif

static void create_head(um_outbox *o, run r, size_t at)
{
    um_address *to = &o->peer[r.first];
    struct msghdr *h = &o->head[at].msg_hdr;

    *h = (struct msghdr){.msg_name = &to->ip,
                         .msg_namelen = um_address_len(to),
                         .msg_iov = &o->part[r.first],
                         .msg_iovlen = r.n};
    if (o->from_asked)
        um_local_append(to, &o->control[at], h);
#ifdef UDP_SEGMENT
    if (r.n > 1)
        write_segment(h, &o->control[at], o->part[r.first].iov_len);
#endif
}

/* --- sending -------------------------------------------------------------- */

static bool has_no_room(int error)
{
    return error == EAGAIN || error == ENOBUFS;
}

/* Sends one message; false: the system refuses it. *full: it has no room. */
static bool send_one(um_outbox *o, run r, int fd, bool *full)
{
    create_head(o, r, 0);
    for (;;) {
        if (sendmsg(fd, &o->head[0].msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL) >=
            0) {
            o->sent += r.n;
            return true;
        }
        if (errno != EINTR)
            break;
    }
    *full = has_no_room(errno);
    return false;
}

/* Sends the datagrams of a message that was refused one by one. */
static void send_apart(um_outbox *o, run r, int fd, bool *full)
{
    for (size_t i = 0; i < r.n && !*full; i++) {
        bool sent = send_one(o, (run){r.first + i, 1}, fd, full);
        o->unsent += *full ? r.n - i : (size_t)!sent;
        o->single |= sent && r.n > 1;
    }
}

static size_t create_heads(um_outbox *o, size_t from, run runs[UM_OUTBOX])
{
    size_t n = 0;

    for (size_t i = from; i < o->queued; i += runs[n++].n) {
        runs[n] = run_at(o, i);
        create_head(o, runs[n], n);
    }
    return n;
}

void um_outbox_flush(um_outbox *o, int fd)
{
    run runs[UM_OUTBOX] = {{0, 0}};
    bool full = false;
    size_t from = 0;

    while (from < o->queued && !full) {
        size_t n = create_heads(o, from, runs);
        int taken =
            sendmmsg(fd, o->head, (unsigned)n, MSG_DONTWAIT | MSG_NOSIGNAL);
        for (int i = 0; i < taken; i++) {
            o->sent += runs[i].n;
            from += runs[i].n;
        }
        if (taken > 0 || errno == EINTR)
            continue;
        full = has_no_room(errno);
        if (!full) {
            send_apart(o, runs[0], fd, &full);
            from += runs[0].n;
        }
    }
    o->unsent += full ? o->queued - from : 0;
    o->queued = 0;
}
