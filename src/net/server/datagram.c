/*
 * datagram.c - a UDP socket in the loop, with recvmmsg and sendmmsg.
 *
 * A system call costs more than the server's work for one datagram, so calls
 * are shared: under load an iteration of the loop is one epoll_wait, some
 * recvmmsg of up to 64 datagrams each and as many sendmmsg (outbox.c). libuv's
 * own UDP handles call sendmsg for each reply.
 *
 * Every message keeps its header, address and buffer: an iteration writes only
 * what the system and the replies store there. Buffers are a multiple of 64
 * bytes apart that is not a power of two; otherwise the first lines of all of
 * them would share a few sets of the cache.
 *
 * A server that is faster than its clients would receive datagrams one by one,
 * each at the cost of an epoll_wait, a recvmmsg, a sendmmsg and waking a
 * client. If more than BURST_MIN arrived in the last millisecond, and the last
 * iteration received fewer than BATCH_MIN, an iteration waits COALESCE_NS
 * before it reads.
 *
 * Lanes. A socket has one queue: a flood fills it, and honest datagrams are
 * lost, too. So several sockets share the address (SO_REUSEPORT), and the
 * system queues datagrams by the network of their sender: a flood from one
 * network fills the queue of one lane. The filter that chooses the lane is
 * classic BPF, which needs no privilege: it hashes the sender's network (/24 or
 * /56) with random odd factors, and the top bits of the product are the number
 * of the lane. An iteration reads a bounded number from each.
 */
#include "net/server/datagram.h"

#include "base/error.h"
#include "net/server/internal.h"
#include "net/server/socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCHES = 8,          /* per lane and iteration */
    DRAIN_BATCHES = 1024, /* when draining: more than the system queues */
    LINE = 64,
    MILLISECOND = 1000000, /* ns */
    COALESCE_NS = 50000,
    COALESCE_APART_NS = 100000, /* between two waits */
    BURST_MIN = 20,             /* datagrams in a millisecond */
    BATCH_MIN = UM_DATAGRAM_BATCH / 2
};

typedef struct batch {
    struct mmsghdr head[UM_DATAGRAM_BATCH];
    struct iovec part[UM_DATAGRAM_BATCH];
    um_address peer[UM_DATAGRAM_BATCH];
    um_local_control local[UM_DATAGRAM_BATCH];
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
    bool any_address;    /* bound to all addresses: replies set their source */
    bool taking, closed; /* closed while take runs: freed later */
    batch in;
    um_outbox out;
    um_datagram list[UM_DATAGRAM_BATCH];
    um_datagrams_stats stats;
    bool burst;           /* in the millisecond before `since` */
    uint64_t since, then; /* `then`: received before `since` */
    uint64_t last;        /* datagrams of the last iteration */
    uint64_t waited;      /* when it last waited for more */
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

/* --- lanes ---------------------------------------------------------------- */

enum {
    LANE_BITS = 4,
    V4_SENDER = 12, /* offset in the IPv4 header */
    V6_SENDER = 8,
    NETWORK_MASK = ~0xff /* the first 24 bits of 32 */
};
_Static_assert(1 << LANE_BITS == UM_LANES, "as many lanes as the bits say");

/* Instructions that hash 32 bits of the sender's address. */
#define LOAD(at)                                                               \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_NET_OFF + (at)))
#define MASK BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)NETWORK_MASK)
#define TIMES(factor) BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, factor)
#define TOP_BITS BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 32 - LANE_BITS)
#define RETURN BPF_STMT(BPF_RET | BPF_A, 0)

static bool steer_v4(int fd, const uint32_t factor[2])
{
    struct sock_filter code[] = {LOAD(V4_SENDER), MASK, TIMES(factor[0]),
                                 TOP_BITS, RETURN};
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter,
                      sizeof filter) == 0;
}

static bool steer_v6(int fd, const uint32_t factor[2])
{
    struct sock_filter code[] = {LOAD(V6_SENDER),
                                 TIMES(factor[0]),
                                 BPF_STMT(BPF_MISC | BPF_TAX, 0),
                                 LOAD(V6_SENDER + 4),
                                 MASK,
                                 TIMES(factor[1]),
                                 BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
                                 TOP_BITS,
                                 RETURN};
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter,
                      sizeof filter) == 0;
}

static bool steer(int fd, int family)
{
    uint32_t factor[2];

    if (getrandom(factor, sizeof factor, 0) != sizeof factor)
        return false;
    factor[0] |= 1;
    factor[1] |= 1;
    return family == AF_INET6 ? steer_v6(fd, factor) : steer_v4(fd, factor);
}

static bool is_shared(int fd)
{
    int on = 0;
    socklen_t len = sizeof on;

    return getsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, &len) == 0 && on;
}

size_t um_lanes_open(int fd[UM_LANES])
{
    char path[UM_ADDRESS_TEXT];
    um_address a;
    size_t n = 1;

    if (!is_shared(fd[0]) || um_socket_address(fd[0], path, &a, NULL) || a.path)
        return 1;
    while (n < UM_LANES && um_socket_share(&a, &fd[n], NULL) == UMBEL_OK)
        n++;
    if (n == UM_LANES && steer(fd[0], a.ip.any.sa_family))
        return n;
    while (n > 1)
        close(fd[--n]);
    return 1;
}

/* --- sending -------------------------------------------------------------- */

void um_datagrams_flush(um_datagrams *s)
{
    um_outbox_flush(&s->out, s->lanes[0].fd);
}

uint8_t *um_datagrams_reserve(um_datagrams *s)
{
    if (s->out.queued == UM_OUTBOX)
        um_datagrams_flush(s);
    return um_outbox_reserve(&s->out);
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
        memcpy(um_datagrams_reserve(s), reply.data, len);
    else
        (void)um_datagrams_reserve(s);
    um_datagrams_append(s, to, len);
}

/* --- receiving ------------------------------------------------------------ */

/* Fills the list of received datagrams, and resets the headers. */
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

/* Receives a batch; returns true if there may be more. */
static bool receive_batch(um_datagrams *s, int fd)
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

/* Returns true if many datagrams arrive, but few at a time, judging by the last
 * full millisecond. */
static bool arrive_singly(um_datagrams *s, uint64_t now)
{
    uint64_t taken = s->stats.received;

    if (now - s->since >= MILLISECOND) {
        s->burst = now - s->since < UINT64_C(2) * MILLISECOND &&
                   taken - s->then >= BURST_MIN;
        s->since = now;
        s->then = taken;
    }
    return s->burst && s->last < BATCH_MIN;
}

/* Waits briefly, so that more datagrams share an iteration. Waits are spaced
 * out, over all lanes, so that most of the time is left to other events. */
static void wait_for_more(um_datagrams *s)
{
    uint64_t now = now_ns();

    if (!arrive_singly(s, now) || now - s->waited < COALESCE_APART_NS)
        return;
    nanosleep(&(struct timespec){.tv_nsec = COALESCE_NS}, NULL);
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
    for (int i = 0; i < BATCHES && receive_batch(s, from->fd); i++)
        ;
    um_datagrams_flush(s);
    s->last = s->stats.received - before;
    s->taking = false;
    if (s->closed)
        um_datagrams_close(s);
}

/* --- open and close ------------------------------------------------------- */

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
                   "the ceiling of datagrams must be 1 to %d bytes, got %zu",
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
        for (int n = 0; n < DRAIN_BATCHES && receive_batch(s, s->lanes[i].fd);
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
