/*
 * queue.c - packets that the kernel's NFQUEUE target hands to this process.
 *
 * The kernel sends each packet in a netlink message and waits for a verdict,
 * with the packet if it was changed. Verdicts are collected while more packets
 * are ready, and sent together. A message that does not fit into the socket is
 * lost (ENOBUFS); the kernel counts it, as it counts packets that find the
 * queue full.
 *
 * Sending a verdict needs CAP_NET_ADMIN, also later, so this is the one
 * privilege that is kept.
 */
#include "base/error.h"
#include "packets/mark/mark.h"

#include <string.h>

#if UM_HAVE_NFQUEUE

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <libmnl/libmnl.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/capability.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    MAX_PACKET = 65535,
    MESSAGE = MAX_PACKET + PK_MARK_GROWTH + 4096,
    QUEUE_LENGTH = 65536,
    RECEIVE_BUFFER = 32 << 20,
    ANSWERS = 128 << 10, /* bytes of verdicts that are sent together */
    SMALL = 8192,        /* bytes of a message without a packet */
    WAIT_US = 200000     /* until *stop is read again */
};

typedef struct queue {
    struct mnl_socket *socket;
    uint16_t number;
    pk_decide *decide;
    void *ctx;
    pk_queue_counts *counts;
    uint8_t *message, *answers;
    size_t nanswers; /* bytes */
} queue;

/* --- opening -------------------------------------------------------------- */

static umbel_status send_config(queue *q, struct nlmsghdr *h, umbel_error *err)
{
    uint8_t reply[SMALL];

    h->nlmsg_flags |= NLM_F_ACK;
    ssize_t n = -1;
    if (mnl_socket_sendto(q->socket, h, h->nlmsg_len) >= 0)
        n = mnl_socket_recvfrom(q->socket, reply, sizeof reply);
    if (n < 0 || mnl_cb_run(reply, (size_t)n, 0, 0, NULL, NULL) < 0)
        return um_fail_errno(err,
                             "cannot open queue %u: it needs root or "
                             "CAP_NET_ADMIN, a kernel with NFQUEUE, and no "
                             "other program on the queue",
                             q->number);
    return UMBEL_OK;
}

static umbel_status bind_queue(queue *q, umbel_error *err)
{
    uint8_t buffer[SMALL];
    struct nlmsghdr *h =
        nfq_nlmsg_put((char *)buffer, NFQNL_MSG_CONFIG, q->number);

    nfq_nlmsg_cfg_put_cmd(h, AF_UNSPEC, NFQNL_CFG_CMD_BIND);
    UM_TRY(send_config(q, h, err));
    h = nfq_nlmsg_put((char *)buffer, NFQNL_MSG_CONFIG, q->number);
    nfq_nlmsg_cfg_put_params(h, NFQNL_COPY_PACKET, MAX_PACKET);
    nfq_nlmsg_cfg_put_qmaxlen(h, QUEUE_LENGTH);
    return send_config(q, h, err);
}

static umbel_status open_socket(queue *q, umbel_error *err)
{
    struct timeval wait = {.tv_usec = WAIT_US};
    int one = 1, bytes = RECEIVE_BUFFER;

    q->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
    if (!q->socket || mnl_socket_bind(q->socket, 0, MNL_SOCKET_AUTOPID) < 0)
        return um_fail_errno(err, "cannot open a netlink socket");
    UM_TRY(bind_queue(q, err));
    int fd = mnl_socket_get_fd(q->socket);
    /* Only errors are worth an answer, and one lost message is not the end. */
    mnl_socket_setsockopt(q->socket, NETLINK_NO_ENOBUFS, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0)
        return um_fail_errno(err, "cannot set up the netlink socket");
    return UMBEL_OK;
}

/* Becomes the user, and keeps one capability. */
static umbel_status reduce_privileges(const char *user, umbel_error *err)
{
    struct __user_cap_header_struct head = {.version =
                                                _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};

    if (geteuid() != 0)
        return UMBEL_OK;
    const struct passwd *p = getpwnam(user);
    if (!p)
        return um_fail(err, UMBEL_E_RANGE, "no user \"%s\" on this system",
                       user);
    data[0].effective = data[0].permitted = 1u << CAP_NET_ADMIN;
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setgroups(0, NULL) != 0 ||
        setresgid(p->pw_gid, p->pw_gid, p->pw_gid) != 0 ||
        setresuid(p->pw_uid, p->pw_uid, p->pw_uid) != 0 ||
        syscall(SYS_capset, &head, data) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return um_fail_errno(err, "cannot become user %s", user);
    return UMBEL_OK;
}

/* --- packets -------------------------------------------------------------- */

static umbel_status send_answers(queue *q, umbel_error *err)
{
    size_t n = q->nanswers;

    q->nanswers = 0;
    if (n && mnl_socket_sendto(q->socket, q->answers, n) < 0)
        return um_fail_errno(err, "cannot send a verdict to the kernel");
    return UMBEL_OK;
}

static void append_verdict(queue *q, uint32_t id, pk_verdict verdict,
                           const uint8_t *packet, uint32_t len)
{
    char *at = (char *)q->answers + q->nanswers;
    struct nlmsghdr *h = nfq_nlmsg_put(at, NFQNL_MSG_VERDICT, q->number);

    nfq_nlmsg_verdict_put(h, (int)id, verdict == PK_DROP ? NF_DROP : NF_ACCEPT);
    if (verdict == PK_CHANGED)
        nfq_nlmsg_verdict_put_pkt(h, packet, len);
    q->nanswers += (h->nlmsg_len + 3u) & ~3u; /* aligned as netlink wants */
}

/* Decides on the packet of a message. There is space behind its bytes: the
 * payload is the last attribute, and the buffer is longer. */
static int receive_packet(const struct nlmsghdr *h, void *ctx)
{
    queue *q = ctx;
    struct nlattr *attr[NFQA_MAX + 1] = {NULL};
    struct nfqnl_msg_packet_hdr id;
    static uint8_t packet[MAX_PACKET + PK_MARK_GROWTH + 1];

    if (nfq_nlmsg_parse(h, attr) < 0 || !attr[NFQA_PACKET_HDR])
        return MNL_CB_OK;
    memcpy(&id, mnl_attr_get_payload(attr[NFQA_PACKET_HDR]), sizeof id);
    uint32_t len =
        attr[NFQA_PAYLOAD] ? mnl_attr_get_payload_len(attr[NFQA_PAYLOAD]) : 0;
    pk_verdict verdict = PK_PASS;
    q->counts->packets++;
    if (len && len <= MAX_PACKET) {
        memcpy(packet, mnl_attr_get_payload(attr[NFQA_PAYLOAD]), len);
        verdict = q->decide(q->ctx, packet, &len);
    }
    append_verdict(q, ntohl(id.packet_id), verdict, packet, len);
    return MNL_CB_OK;
}

/* Receives one message, if there is one, and sends the verdicts when there is
 * none or there are many. */
static umbel_status receive(queue *q, umbel_error *err)
{
    int fd = mnl_socket_get_fd(q->socket);
    ssize_t n = recv(fd, q->message, MESSAGE, q->nanswers ? MSG_DONTWAIT : 0);

    if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
        return um_fail_errno(err, "cannot receive packets from the kernel");
    /* An error about a verdict, for example of a packet whose interface is
     * gone, is no reason to end. */
    if (n > 0)
        mnl_cb_run(q->message, (size_t)n, 0, 0, receive_packet, q);
    if (n <= 0 || q->nanswers > ANSWERS)
        return send_answers(q, err);
    return UMBEL_OK;
}

/* Reads what the kernel dropped: two columns of its table. */
static uint64_t read_drops(uint16_t number)
{
    FILE *in = fopen("/proc/net/netfilter/nfnetlink_queue", "re");
    unsigned long long which, full, lost, sum = 0;
    char line[256];

    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "%llu %*u %*u %*u %*u %llu %llu", &which, &full,
                   &lost) == 3 &&
            which == number)
            sum = full + lost;
    if (in)
        fclose(in);
    return sum;
}

umbel_status pk_queue_run(uint16_t number, const char *user, pk_decide *decide,
                          void *ctx, void (*ready)(void *ctx),
                          const volatile sig_atomic_t *stop,
                          pk_queue_counts *counts, umbel_error *err)
{
    queue q = {.number = number,
               .decide = decide,
               .ctx = ctx,
               .counts = counts,
               .message = malloc(MESSAGE),
               .answers = malloc(ANSWERS + MESSAGE)};
    umbel_status status;

    if (q.message && q.answers)
        status = open_socket(&q, err);
    else
        status = um_no_memory(err, MESSAGE);

    if (!status)
        status = reduce_privileges(user, err);
    if (!status && ready)
        ready(ctx);
    while (!status && !*stop) {
        status = receive(&q, err);
    }
    if (!status)
        status = send_answers(&q, err);
    counts->drops = read_drops(number);
    if (q.socket)
        mnl_socket_close(q.socket);
    free(q.message);
    free(q.answers);
    return status;
}

#else

umbel_status pk_queue_run(uint16_t number, const char *user, pk_decide *decide,
                          void *ctx, void (*ready)(void *ctx),
                          const volatile sig_atomic_t *stop,
                          pk_queue_counts *counts, umbel_error *err)
{
    (void)user;
    (void)decide;
    (void)ctx;
    (void)ready;
    (void)stop;
    (void)counts;
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "queue %u: this program was built without "
                   "libnetfilter_queue: install libnetfilter-queue-dev and "
                   "build it again",
                   number);
}

#endif
