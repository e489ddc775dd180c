/*
 * sockets.c - probes and answers through the kernel.
 *
 * icmp  raw sockets, as root or with CAP_NET_RAW: echo requests out, every ICMP
 *       message in.
 * udp   an ordinary socket for each version of IP, no privilege at all: errors
 *       from the network come back through the socket's error queue, with the
 *       payload that they quote. Quotes too short to hold the seal are dropped:
 *       there a forger would have to guess the port alone.
 *
 * One socket serves all destinations: the TTL goes with each message.
 */
#define _GNU_SOURCE /* struct icmp6_filter, recvmsg's ancillary data, ppoll */
#include "stopset/tracer/prober.h"

#include "base/alloc.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <linux/errqueue.h>
#include <linux/icmp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RECEIVE_ROOM = 4 << 20, /* bytes of the kernel's receive buffer */
    BATCH = 256,            /* answers read before probes are sent again */
    SOURCE_PORT = 44434,    /* plus the flow; any port if it is in use */
    FLOWS = 20000
};

typedef union endpoint {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} endpoint;

typedef struct ss_sockets ss_sockets;

typedef struct method {
    const char *name;
    umbel_status (*open)(ss_sockets *s, bool v6, int *fd, umbel_error *err);
    size_t (*write)(const ss_stamp *s, const ss_probe *p, const char *contact,
                    uint8_t out[SS_PROBE_MAX]);
    /* Receives one answer; returns false if none has come. */
    bool (*take)(ss_sockets *s, bool v6, bool *ours, ss_answer *out);
} method;

struct ss_sockets {
    ss_sockets_config config;
    const method *method;
    int fd[2]; /* IPv4, IPv6; -1 if not needed */
};

static socklen_t fill_endpoint(ss_addr a, unsigned port, endpoint *out)
{
    uint8_t bytes[16];

    memset(out, 0, sizeof *out);
    ss_addr_to_bytes(a, bytes);
    if (ss_addr_is_v4(a)) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        memcpy(&out->v4.sin_addr, bytes + 12, 4);
        return sizeof out->v4;
    }
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons((uint16_t)port);
    memcpy(&out->v6.sin6_addr, bytes, 16);
    return sizeof out->v6;
}

static ss_addr endpoint_address(const endpoint *e)
{
    if (e->any.sa_family == AF_INET)
        return ss_addr_from_bytes((const uint8_t *)&e->v4.sin_addr, 4);
    if (e->any.sa_family == AF_INET6)
        return ss_addr_from_bytes((const uint8_t *)&e->v6.sin6_addr, 16);
    return (ss_addr){0, 0};
}

/* --- opening ------------------------------------------------------------- */

static umbel_status prepare(const ss_sockets *s, int fd, umbel_error *err)
{
    const char *interface = s->config.interface;
    int room = RECEIVE_ROOM;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (interface && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
                                (socklen_t)strlen(interface)) != 0)
        return um_fail_errno(err, "interface %s", interface);
    return UMBEL_OK;
}

static umbel_status open_socket(ss_sockets *s, bool v6, int type, int protocol,
                                int *fd, umbel_error *err)
{
    *fd = socket(v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK,
                 protocol);
    if (*fd < 0 && (errno == EPERM || errno == EACCES))
        return um_fail(err, UMBEL_E_IO,
                       "ICMP probes need root or CAP_NET_RAW; --method udp "
                       "needs no privilege");
    if (*fd < 0)
        return um_fail_errno(err, "cannot open an %s socket",
                             v6 ? "IPv6" : "IPv4");
    return prepare(s, *fd, err);
}

static umbel_status open_icmp(ss_sockets *s, bool v6, int *fd, umbel_error *err)
{
    UM_TRY(open_socket(s, v6, SOCK_RAW, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, fd,
                       err));
    /* Lets through only messages that can be answers. Without the filter others
     * are read and dropped. */
    if (v6) {
        struct icmp6_filter f;
        ICMP6_FILTER_SETBLOCKALL(&f);
        ICMP6_FILTER_SETPASS(ICMP6_DST_UNREACH, &f);
        ICMP6_FILTER_SETPASS(ICMP6_TIME_EXCEEDED, &f);
        ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &f);
        setsockopt(*fd, IPPROTO_ICMPV6, ICMP6_FILTER, &f, sizeof f);
        setsockopt(*fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &(int){1},
                   sizeof(int));
    } else {
        struct icmp_filter f = {~(1u << ICMP_ECHOREPLY |
                                  1u << ICMP_DEST_UNREACH |
                                  1u << ICMP_TIME_EXCEEDED)};
        setsockopt(*fd, SOL_RAW, ICMP_FILTER, &f, sizeof f);
    }
    return UMBEL_OK;
}

static umbel_status open_udp(ss_sockets *s, bool v6, int *fd, umbel_error *err)
{
    int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
    int on = 1;
    endpoint local;

    UM_TRY(open_socket(s, v6, SOCK_DGRAM, 0, fd, err));
    if (setsockopt(*fd, level, v6 ? IPV6_RECVERR : IP_RECVERR, &on,
                   sizeof on) != 0)
        return um_fail_errno(err, "this system has no error queue for UDP");
    setsockopt(*fd, level, v6 ? IPV6_RECVHOPLIMIT : IP_RECVTTL, &on, sizeof on);
    /* The same source port in every run keeps paths comparable. */
    socklen_t len =
        fill_endpoint(v6 ? (ss_addr){0, 0} : ss_addr_v4(0),
                      SOURCE_PORT + s->config.stamp.flow % FLOWS, &local);
    if (bind(*fd, &local.any, len) != 0) {
        len = fill_endpoint(v6 ? (ss_addr){0, 0} : ss_addr_v4(0), 0, &local);
        if (bind(*fd, &local.any, len) != 0)
            return um_fail_errno(err, "cannot bind a UDP socket");
    }
    return UMBEL_OK;
}

/* --- sending ------------------------------------------------------------- */

/* Sets the TTL of a message, in the form that the IP version requires. */
static void write_ttl(struct msghdr *m, bool v6, int ttl)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);

    if (!c)
        return;
    c->cmsg_level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
    c->cmsg_type = v6 ? IPV6_HOPLIMIT : IP_TTL;
    c->cmsg_len = CMSG_LEN(sizeof ttl);
    memcpy(CMSG_DATA(c), &ttl, sizeof ttl);
}

static uint16_t target_port(const ss_sockets *s)
{
    return (uint16_t)(SS_UDP_PORT + s->config.stamp.flow % FLOWS);
}

static umbel_status send_probe(void *self, const ss_probe *p, umbel_error *err)
{
    ss_sockets *s = self;
    bool v6 = !ss_addr_is_v4(p->to);
    bool udp = s->method->open == open_udp;
    uint8_t bytes[SS_PROBE_MAX];
    endpoint to;
    struct iovec part = {
        bytes, s->method->write(&s->config.stamp, p, s->config.contact, bytes)};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr m = {.msg_name = &to,
                       .msg_namelen =
                           fill_endpoint(p->to, udp ? target_port(s) : 0, &to),
                       .msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control.bytes};

    write_ttl(&m, v6, p->ttl);
    /* A UDP socket reports an error of an earlier probe once; then send
     * again. */
    for (int tries = 0; tries < 4; tries++) {
        if (sendmsg(s->fd[v6], &m, 0) >= 0)
            return UMBEL_OK;
        if (errno == ENOBUFS || errno == EAGAIN)
            return UMBEL_OK; /* lost before the first hop, like others later */
        if (!udp && errno != EINTR)
            break;
    }
    char text[SS_ADDR_TEXT];
    ss_addr_format(p->to, text);
    return um_fail_errno(err, "cannot send to %s", text);
}

/* --- receiving ----------------------------------------------------------- */

/* Returns the TTL or hop limit of a message that was received; 0 if it is
 * unknown. */
static uint8_t received_ttl(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if ((c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT) ||
            (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)) {
            int limit;
            memcpy(&limit, CMSG_DATA(c), sizeof limit);
            return (uint8_t)limit;
        }
    return 0;
}

static bool receive_icmp(ss_sockets *s, bool v6, bool *ours, ss_answer *out)
{
    uint8_t bytes[2048];
    endpoint from;
    char control[64];
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr m = {.msg_name = &from,
                       .msg_namelen = sizeof from,
                       .msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};

    ssize_t len = recvmsg(s->fd[v6], &m, MSG_DONTWAIT);
    if (len < 0)
        return false;
    if (v6) {
        *ours = ss_read_icmp6(&s->config.stamp, endpoint_address(&from), bytes,
                              (size_t)len, out);
        out->reply_ttl = received_ttl(&m);
    } else {
        *ours = ss_read_icmp4(&s->config.stamp, bytes, (size_t)len, out);
    }
    return true;
}

/* Finds the report of an ICMP message in a socket's error queue; NULL for other
 * errors. */
static const struct sock_extended_err *find_report(struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        bool report =
            (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
            (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
        const struct sock_extended_err *e = (const void *)CMSG_DATA(c);
        if (report && (e->ee_origin == SO_EE_ORIGIN_ICMP ||
                       e->ee_origin == SO_EE_ORIGIN_ICMP6))
            return e;
    }
    return NULL;
}

static bool receive_error(ss_sockets *s, bool v6, bool *ours, ss_answer *out)
{
    uint8_t payload[2048]; /* more than an ICMP error quotes */
    endpoint to, from = {{0}};
    union {
        struct cmsghdr head;
        char bytes[512];
    } control;
    struct iovec part = {payload, sizeof payload};
    struct msghdr m = {.msg_name = &to,
                       .msg_namelen = sizeof to,
                       .msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control.bytes};

    *ours = false;
    ssize_t len = recvmsg(s->fd[v6], &m, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (len < 0)
        return false;
    const struct sock_extended_err *e = find_report(&m);
    if (!e)
        return true;
    memcpy(&from, e + 1, /* SO_EE_OFFENDER, without its cast */
           v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    *out = (ss_answer){.from = endpoint_address(&from),
                       .icmp_type = e->ee_type,
                       .icmp_code = e->ee_code,
                       .reply_ttl = received_ttl(&m)};
    if (!(m.msg_flags & MSG_TRUNC))
        out->reply_len = ss_error_packet(v6, (size_t)len);
    *ours = ss_read_udp(&s->config.stamp, endpoint_address(&to), payload,
                        (size_t)len, &out->probe);
    out->outcome = ss_outcome_of(v6, e->ee_type, e->ee_code,
                                 ss_addr_equal(out->from, out->probe.to));
    return true;
}

/* Receives an ICMP error, or discards a datagram from a destination whose port
 * is open. */
static bool receive_udp(ss_sockets *s, bool v6, bool *ours, ss_answer *out)
{
    char nothing;

    if (receive_error(s, v6, ours, out))
        return true;
    return recv(s->fd[v6], &nothing, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

static const method methods[] = {
    {"icmp", open_icmp, ss_write_echo, receive_icmp},
    {"udp", open_udp, ss_write_udp, receive_udp},
};

static void deliver_all(ss_sockets *s, bool v6, ss_deliver *deliver, void *ctx)
{
    ss_answer answer;
    bool ours = false;

    for (int n = 0; n < BATCH && s->method->take(s, v6, &ours, &answer); n++) {
        if (ours)
            deliver(ctx, &answer);
        ours = false;
    }
}

static umbel_status wait_for_answers(void *self, uint64_t timeout,
                                     ss_deliver *deliver, void *ctx,
                                     umbel_error *err)
{
    ss_sockets *s = self;

    struct pollfd fds[2] = {{s->fd[0], POLLIN, 0}, {s->fd[1], POLLIN, 0}};
    struct timespec t = {(time_t)(timeout / 1000000),
                         (long)(timeout % 1000000) * 1000};

    (void)err;
    if (ppoll(fds, 2, &t, NULL) <= 0)
        return UMBEL_OK;
    for (int v6 = 0; v6 < 2; v6++)
        if (fds[v6].revents)
            deliver_all(s, v6, deliver, ctx);
    return UMBEL_OK;
}

/* --- opening and closing -------------------------------------------------- */

static void close_sockets(void *self)
{
    ss_sockets *s = self;
    umbel_alloc alloc = um_alloc_or_default(NULL);

    for (int v6 = 0; v6 < 2; v6++)
        if (s->fd[v6] >= 0)
            close(s->fd[v6]);
    um_put(&alloc, s, sizeof *s);
}

/* Describes the probes: all of them have the same length and ports. */
static void describe_probes(const ss_sockets *s, ss_prober *out)
{
    bool udp = s->method->open == open_udp;
    uint8_t bytes[SS_PROBE_MAX];
    size_t len = s->method->write(&s->config.stamp, &(ss_probe){.ttl = 1},
                                  s->config.contact, bytes);

    for (int v6 = 0; v6 < 2; v6++) {
        endpoint own = {{0}};
        socklen_t own_len = sizeof own;
        out->probe_size[v6] = ss_probe_packet(v6, udp, len);
        if (udp && s->fd[v6] >= 0 &&
            getsockname(s->fd[v6], &own.any, &own_len) == 0)
            out->sport[v6] = ntohs(v6 ? own.v6.sin6_port : own.v4.sin_port);
    }
    out->dport = udp ? target_port(s) : 0;
}

umbel_status ss_sockets_open(const ss_sockets_config *config, ss_prober *out,
                             umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    umbel_status status = UMBEL_OK;
    ss_sockets *s = um_get(&alloc, sizeof *s);

    if (!s)
        return um_no_memory(err, sizeof *s);
    *s = (ss_sockets){.config = *config, .fd = {-1, -1}};
    for (size_t i = 0; i < UM_COUNT(methods); i++)
        if (strcmp(methods[i].name, config->method) == 0)
            s->method = &methods[i];
    if (!s->method)
        status = um_fail(err, UMBEL_E_RANGE, "no method \"%s\": icmp or udp",
                         config->method);
    if (!status && config->v4)
        status = s->method->open(s, false, &s->fd[0], err);
    if (!status && config->v6)
        status = s->method->open(s, true, &s->fd[1], err);
    if (status) {
        close_sockets(s);
        return status;
    }
    *out = (ss_prober){.self = s,
                       .send = send_probe,
                       .wait = wait_for_answers,
                       .close = close_sockets};
    describe_probes(s, out);
    return UMBEL_OK;
}

ss_addr ss_sockets_source(ss_addr to)
{
    endpoint peer, own = {{0}};
    socklen_t len = fill_endpoint(to, SS_UDP_PORT, &peer), own_len = sizeof own;
    ss_addr source = {0, 0};
    int fd = socket(peer.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return source;
    if (connect(fd, &peer.any, len) == 0 &&
        getsockname(fd, &own.any, &own_len) == 0)
        source = endpoint_address(&own);
    close(fd);
    return source;
}

umbel_status ss_drop_privileges(const char *user, umbel_error *err)
{
    if (geteuid() != 0)
        return UMBEL_OK;
    const struct passwd *p = getpwnam(user);
    if (!p)
        return um_fail(err, UMBEL_E_RANGE, "no user \"%s\" on this system",
                       user);
    if (setgroups(0, NULL) != 0 || setresgid(p->pw_gid, p->pw_gid, p->pw_gid) ||
        setresuid(p->pw_uid, p->pw_uid, p->pw_uid) != 0)
        return um_fail_errno(err, "cannot become user %s", user);
    return UMBEL_OK;
}
