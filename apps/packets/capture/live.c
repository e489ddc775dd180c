/*
 * live.c - packets of an interface: AF_PACKET with a TPACKET_V3 ring.
 *
 * The kernel fills blocks of the ring and hands each over when it is full, or
 * after RETIRE_MS. We walk its packets in place and give it back. A filter
 * that accepts everything cuts packets to the snap length, so that more of them
 * fit. What finds no free block is dropped by the kernel, and counted.
 */
#include "base/error.h"
#include "packets/capture/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    DEFAULT_SNAP = 256,
    DEFAULT_RING = 16 << 20,
    DEFAULT_IDLE_MS = 100,
    BLOCK = 1 << 18,
    FRAME = 2048, /* checked by the kernel, not used by version 3 */
    RETIRE_MS = 20,
    VLAN_TAG = 4, /* bytes that the kernel takes out of the packet */
    ADDRESS_OFFSET = TPACKET_ALIGN((int)sizeof(struct tpacket3_hdr))
};

typedef struct live {
    pk_source source;
    char name[IF_NAMESIZE];
    int fd;
    unsigned number;
    uint32_t link;
    bool loopback; /* each packet comes twice: out, then in */
    unsigned idle_ms;
    uint8_t *ring;
    size_t nblocks, block;            /* block: the one that is read */
    const struct tpacket3_hdr *frame; /* next packet of it */
    uint32_t left;                    /* packets of it, with frame */
    bool owned;                       /* the block is ours */
} live;

static struct tpacket_block_desc *block_of(const live *l)
{
    return (struct tpacket_block_desc *)(void *)(l->ring +
                                                 l->block * (size_t)BLOCK);
}

/* Gives the block back to the kernel and turns to the next one. */
static void release_block(live *l)
{
    if (!l->owned)
        return;
    __atomic_store_n(&block_of(l)->hdr.bh1.block_status, TP_STATUS_KERNEL,
                     __ATOMIC_RELEASE);
    l->block = (l->block + 1) % l->nblocks;
    l->owned = false;
}

/* Takes the next block if the kernel has filled it. */
static bool acquire_block(live *l)
{
    struct tpacket_block_desc *b = block_of(l);

    if (!(__atomic_load_n(&b->hdr.bh1.block_status, __ATOMIC_ACQUIRE) &
          TP_STATUS_USER))
        return false;
    l->owned = true;
    l->left = b->hdr.bh1.num_pkts;
    l->frame =
        (const void *)((const uint8_t *)b + b->hdr.bh1.offset_to_first_pkt);
    return true;
}

/* Waits for a block. An interface that is down may come back; one that is gone
 * does not. */
static umbel_status wait_for_block(live *l, umbel_error *err)
{
    struct pollfd poll_for = {.fd = l->fd, .events = POLLIN | POLLERR};
    int problem = 0;
    socklen_t len = sizeof problem;

    if (poll(&poll_for, 1, (int)l->idle_ms) <= 0 ||
        !(poll_for.revents & POLLERR))
        return UMBEL_OK;
    (void)getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &problem, &len);
    if (if_nametoindex(l->name) == l->number)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO, "%s: the interface is gone", l->name);
}

/* Returns the next packet of the block, and steps to the one behind it. */
static const struct tpacket3_hdr *next_frame(live *l)
{
    const struct tpacket3_hdr *f = l->frame;

    l->left--;
    l->frame = (const void *)((const uint8_t *)f + f->tp_next_offset);
    return f;
}

static bool is_repeated(const live *l, const struct tpacket3_hdr *f)
{
    const struct sockaddr_ll *from =
        (const void *)((const uint8_t *)f + ADDRESS_OFFSET);

    return l->loopback && from->sll_pkttype == PACKET_OUTGOING;
}

static umbel_status next_live(pk_source *source, pk_packet *p, pk_event *what,
                              umbel_error *err)
{
    live *l = (live *)(void *)source;
    bool waited = false;

    for (;;) {
        while (l->owned && l->left) {
            const struct tpacket3_hdr *f = next_frame(l);
            if (is_repeated(l, f))
                continue;
            *p = (pk_packet){.time =
                                 f->tp_sec * UINT64_C(1000000000) + f->tp_nsec,
                             .data = (const uint8_t *)f + f->tp_mac,
                             .captured = f->tp_snaplen,
                             .length = f->tp_len,
                             .link = l->link};
            if (f->tp_status & TP_STATUS_VLAN_VALID)
                p->length += VLAN_TAG;
            source->counts.packets++;
            *what = PK_PACKET;
            return UMBEL_OK;
        }
        release_block(l);
        if (acquire_block(l))
            continue;
        if (waited) {
            *what = PK_IDLE;
            return UMBEL_OK;
        }
        UM_TRY(wait_for_block(l, err));
        waited = true;
    }
}

/* Adds the packets dropped since the last call. */
static void update_drops(pk_source *source)
{
    live *l = (live *)(void *)source;
    struct tpacket_stats_v3 s;
    socklen_t len = sizeof s;

    if (getsockopt(l->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) == 0)
        source->counts.drops += s.tp_drops;
}

static void close_live(pk_source *source)
{
    live *l = (live *)(void *)source;

    if (l->ring)
        munmap(l->ring, l->nblocks * BLOCK);
    if (l->fd >= 0)
        close(l->fd);
    free(l);
}

/* Finds the link type. */
static umbel_status find_link(live *l, umbel_error *err)
{
    struct ifreq r = {.ifr_name = ""};

    memcpy(r.ifr_name, l->name, sizeof r.ifr_name);
    if (ioctl(l->fd, SIOCGIFHWADDR, &r))
        return um_fail_errno(err, "%s", l->name);
    switch (r.ifr_hwaddr.sa_family) {
    case ARPHRD_LOOPBACK:
        l->loopback = true;
        l->link = PK_ETHERNET;
        return UMBEL_OK;
    case ARPHRD_ETHER:
        l->link = PK_ETHERNET;
        return UMBEL_OK;
    case ARPHRD_NONE:
    case ARPHRD_RAWIP:
    case ARPHRD_TUNNEL:
    case ARPHRD_TUNNEL6:
    case ARPHRD_SIT:
        l->link = PK_RAW;
        return UMBEL_OK;
    default:
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "%s: link type %d is not decoded: capture on Ethernet, "
                       "loopback or a tunnel of IP",
                       l->name, r.ifr_hwaddr.sa_family);
    }
}

static umbel_status open_ring(live *l, const pk_live *settings,
                              umbel_error *err)
{
    uint32_t snap = settings->snap ? settings->snap : DEFAULT_SNAP;
    size_t ring = settings->ring ? settings->ring : DEFAULT_RING;
    struct sock_filter cut = BPF_STMT(BPF_RET | BPF_K, snap);
    struct sock_fprog program = {.len = 1, .filter = &cut};
    struct packet_mreq all = {.mr_ifindex = (int)l->number,
                              .mr_type = PACKET_MR_PROMISC};
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)l->number};
    int version = TPACKET_V3;

    l->nblocks = ring < 2 * (size_t)BLOCK ? 2 : ring / BLOCK;
    struct tpacket_req3 request = {.tp_block_size = BLOCK,
                                   .tp_block_nr = (unsigned)l->nblocks,
                                   .tp_frame_size = FRAME,
                                   .tp_frame_nr =
                                       (unsigned)(l->nblocks * (BLOCK / FRAME)),
                                   .tp_retire_blk_tov = RETIRE_MS};
    if (setsockopt(l->fd, SOL_PACKET, PACKET_VERSION, &version,
                   sizeof version) ||
        setsockopt(l->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                   sizeof program) ||
        setsockopt(l->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request))
        return um_fail_errno(err, "%s: cannot set up a ring of %zu bytes",
                             l->name, l->nblocks * BLOCK);
    void *ring_memory = mmap(NULL, l->nblocks * BLOCK, PROT_READ | PROT_WRITE,
                             MAP_SHARED, l->fd, 0);
    if (ring_memory == MAP_FAILED)
        return um_fail_errno(err, "%s: cannot map the ring", l->name);
    l->ring = ring_memory;
    if (setsockopt(l->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all,
                   sizeof all) ||
        bind(l->fd, (struct sockaddr *)&address, sizeof address))
        return um_fail_errno(err, "%s: cannot capture", l->name);
    return UMBEL_OK;
}

static umbel_status open_socket(live *l, umbel_error *err)
{
    /* Protocol 0: nothing arrives before the ring and the interface are set. */
    l->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (l->fd < 0 && errno == EPERM)
        return um_fail(err, UMBEL_E_IO,
                       "%s: capturing needs the capability CAP_NET_RAW: run "
                       "this as root, or once: setcap cap_net_raw+ep "
                       "/path/to/umbel-packets",
                       l->name);
    if (l->fd < 0)
        return um_fail_errno(err, "%s: cannot open a packet socket", l->name);
    return UMBEL_OK;
}

umbel_status pk_open_live(const char *interface, const pk_live *settings,
                          pk_source **out, umbel_error *err)
{
    unsigned number = if_nametoindex(interface);
    live *l;

    if (!number)
        return um_fail(err, UMBEL_E_IO,
                       "there is no interface \"%.40s\": 'ip link' lists them",
                       interface);
    l = calloc(1, sizeof *l);
    if (!l)
        return um_no_memory(err, sizeof *l);
    l->source = (pk_source){
        .next = next_live, .update = update_drops, .close = close_live};
    l->number = number;
    strncpy(l->name, interface, sizeof l->name - 1);
    l->idle_ms = settings->idle_ms ? settings->idle_ms : DEFAULT_IDLE_MS;
    umbel_status status = open_socket(l, err);
    if (!status)
        status = find_link(l, err);
    if (!status)
        status = open_ring(l, settings, err);
    if (status)
        close_live(&l->source);
    else
        *out = &l->source;
    return status;
}

/* --- privileges -----------------------------------------------------------
 */

static umbel_status become(const char *user, umbel_error *err)
{
    errno = 0;
    const struct passwd *p = getpwnam(user);

    if (!p)
        return um_fail(err, UMBEL_E_RANGE,
                       "there is no user \"%.40s\" to continue as", user);
    if (p->pw_uid == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.40s\" is root: name a user without privileges",
                       user);
    if (setgroups(0, NULL) || setresgid(p->pw_gid, p->pw_gid, p->pw_gid) ||
        setresuid(p->pw_uid, p->pw_uid, p->pw_uid))
        return um_fail_errno(err, "cannot become the user %.40s", user);
    return UMBEL_OK;
}

umbel_status pk_drop_privileges(const char *user, umbel_error *err)
{
    struct __user_cap_header_struct head = {.version =
                                                _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (geteuid() == 0 || getuid() == 0)
        UM_TRY(become(user, err));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_capset, &head, none))
        return um_fail_errno(err, "cannot give up privileges");
    if (setuid(0) == 0)
        return um_fail(err, UMBEL_E_IO, "privileges could not be given up");
    return UMBEL_OK;
}
