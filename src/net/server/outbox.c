/*
 * outbox.c - datagrams waiting to be sent, and their source address.
 *
 * Sending a datagram costs the system more than the server's work for it: a
 * route, a buffer and a queue for each. Consecutive replies to the same client
 * of the same length (the last may be shorter) are passed to the system as one
 * message, which it splits as late as possible (UDP_SEGMENT, Linux 4.18 and
 * later). The client sees no difference.
 *
 * The system may always reject this (an old kernel, a socket that other
 * software passed to us, a device that cannot compute the checksums), or for
 * one message (a datagram longer than the device allows). Then the datagrams
 * are sent one by one; if that works, the outbox does not try again.
 *
 * Source addresses (IP_PKTINFO and IPV6_PKTINFO): a machine may have many
 * addresses. A socket that is bound to all of them (0.0.0.0 or [::]) sends from
 * the one that the system prefers, and a client that sent to another one
 * ignores the reply. So the address that a datagram was sent to is recorded
 * (um_address.local), and set in the reply.
 */
#include "net/server/internal.h"
#include "net/server/socket.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

/* --- source addresses ----------------------------------------------------- */

_Static_assert(CMSG_SPACE(sizeof(struct in6_pktinfo)) <=
                   sizeof(um_local_control),
               "addresses of both families fit");

static bool is_any(const um_address *a)
{
    if (a->ip.any.sa_family == AF_INET)
        return a->ip.v4.sin_addr.s_addr == INADDR_ANY;
    return !a->path && IN6_IS_ADDR_UNSPECIFIED(&a->ip.v6.sin6_addr);
}

bool um_local_enable(int fd)
{
    char path[UM_ADDRESS_TEXT];
    um_address a;
    int on = 1;

    if (um_socket_address(fd, path, &a, NULL) || !is_any(&a))
        return false;
    if (a.ip.any.sa_family == AF_INET)
        return setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) == 0;
    return setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) == 0;
}

void um_local_get(struct msghdr *h, um_address *from)
{
    from->local = (struct in6_addr){{{0}}};
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        struct in_pktinfo v4;
        struct in6_pktinfo v6;

        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            memcpy(&v4, CMSG_DATA(c), sizeof v4);
            memcpy(&from->local, &v4.ipi_spec_dst, sizeof v4.ipi_spec_dst);
        } else if (c->cmsg_level == IPPROTO_IPV6 &&
                   c->cmsg_type == IPV6_PKTINFO) {
            memcpy(&v6, CMSG_DATA(c), sizeof v6);
            from->local = v6.ipi6_addr;
        }
    }
}

static void write_header(struct msghdr *h, int level, int type,
                         const void *data, size_t len)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(h);

    if (!c)
        return;
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(c), data, len);
    h->msg_controllen = CMSG_SPACE(len);
}

void um_local_write(const um_address *to, um_local_control *control,
                    struct msghdr *h)
{
    struct in_pktinfo v4 = {.ipi_ifindex = 0};
    struct in6_pktinfo v6 = {.ipi6_addr = to->local};

    h->msg_control = NULL;
    h->msg_controllen = 0;
    if (IN6_IS_ADDR_UNSPECIFIED(&to->local))
        return;
    memset(control, 0, sizeof *control);
    h->msg_control = control;
    h->msg_controllen = sizeof *control;
    if (to->ip.any.sa_family == AF_INET6) {
        write_header(h, IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof v6);
    } else {
        memcpy(&v4.ipi_spec_dst, &to->local, sizeof v4.ipi_spec_dst);
        write_header(h, IPPROTO_IP, IP_PKTINFO, &v4, sizeof v4);
    }
}

/* --- the outbox ----------------------------------------------------------- */

enum {
    LINE = 64,
    MAX_BYTES = 60000 /* bytes sent as one message */
};

/* Datagrams first to first + n - 1, sent as one message. */
typedef struct run {
    size_t first, n;
} run;

/* Allocates the buffers. They are an odd number of lines apart; otherwise the
 * first lines of all of them would share a few sets of the cache. */
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

uint8_t *um_outbox_reserve(const um_outbox *o)
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
/* Appends the length of the datagrams to the control data. */
static void write_segment(struct msghdr *h, um_local_control *control,
                          size_t len)
{
    uint16_t bytes = (uint16_t)len;
    struct cmsghdr *c =
        (struct cmsghdr *)(void *)(control->bytes + h->msg_controllen);

    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof bytes);
    memcpy(CMSG_DATA(c), &bytes, sizeof bytes);
    h->msg_control = control;
    h->msg_controllen += CMSG_SPACE(sizeof bytes);
}
_Static_assert(CMSG_SPACE(sizeof(struct in6_pktinfo)) +
                       CMSG_SPACE(sizeof(uint16_t)) <=
                   sizeof(um_local_control),
               "an address and the length of datagrams fit");
#endif

static void write_head(um_outbox *o, run r, size_t at)
{
    um_address *to = &o->peer[r.first];
    struct msghdr *h = &o->head[at].msg_hdr;

    *h = (struct msghdr){.msg_name = &to->ip,
                         .msg_namelen = um_address_len(to),
                         .msg_iov = &o->part[r.first],
                         .msg_iovlen = r.n};
    if (o->from_asked)
        um_local_write(to, &o->control[at], h);
#ifdef UDP_SEGMENT
    if (r.n > 1)
        write_segment(h, &o->control[at], o->part[r.first].iov_len);
#endif
}

/* --- sending -------------------------------------------------------------- */

static bool is_out_of_space(int error)
{
    return error == EAGAIN || error == ENOBUFS;
}

/* Sends one message; returns false if the system rejects it. *full is set if it
 * has no space. */
static bool send_one(um_outbox *o, run r, int fd, bool *full)
{
    write_head(o, r, 0);
    for (;;) {
        if (sendmsg(fd, &o->head[0].msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL) >=
            0) {
            o->sent += r.n;
            return true;
        }
        if (errno != EINTR)
            break;
    }
    *full = is_out_of_space(errno);
    return false;
}

/* Sends the datagrams of a rejected message one by one. */
static void send_apart(um_outbox *o, run r, int fd, bool *full)
{
    for (size_t i = 0; i < r.n && !*full; i++) {
        bool sent = send_one(o, (run){r.first + i, 1}, fd, full);
        o->unsent += *full ? r.n - i : (size_t)!sent;
        o->single |= sent && r.n > 1;
    }
}

static size_t write_heads(um_outbox *o, size_t from, run runs[UM_OUTBOX])
{
    size_t n = 0;

    for (size_t i = from; i < o->queued; i += runs[n++].n) {
        runs[n] = run_at(o, i);
        write_head(o, runs[n], n);
    }
    return n;
}

void um_outbox_flush(um_outbox *o, int fd)
{
    run runs[UM_OUTBOX] = {{0, 0}};
    bool full = false;
    size_t from = 0;

    while (from < o->queued && !full) {
        size_t n = write_heads(o, from, runs);
        int taken =
            sendmmsg(fd, o->head, (unsigned)n, MSG_DONTWAIT | MSG_NOSIGNAL);
        for (int i = 0; i < taken; i++) {
            o->sent += runs[i].n;
            from += runs[i].n;
        }
        if (taken > 0 || errno == EINTR)
            continue;
        full = is_out_of_space(errno);
        if (!full) {
            send_apart(o, runs[0], fd, &full);
            from += runs[0].n;
        }
    }
    o->unsent += full ? o->queued - from : 0;
    o->queued = 0;
}
