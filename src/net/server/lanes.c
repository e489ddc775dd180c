/*
 * lanes.c - SO_REUSEPORT with a filter that chooses the socket.
 *
 * The filter is classic BPF, which needs no privilege: it hashes the sender's
 * network (/24 or /56) with random odd factors, and the top bits of the product
 * are the number of the lane.
 */
#include "net/server/lanes.h"

#include "net/server/socket.h"

#include <linux/filter.h>
#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    LANE_BITS = 4,
    V4_SENDER = 12, /* bytes into the header of IPv4 */
    V6_SENDER = 8,
    NETWORK_MASK = ~0xff /* the first 24 bits of 32 */
};
_Static_assert(1 << LANE_BITS == UM_LANES, "as many lanes as the bits say");

/* Takes 32 bits of the sender's address times a factor. */
#define LOAD(at)                                                               \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_NET_OFF + (at)))
#define MASK BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)NETWORK_MASK)
#define TIMES(factor) BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, factor)
#define TOP_BITS BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 32 - LANE_BITS)
#define GIVE BPF_STMT(BPF_RET | BPF_A, 0)

static bool steer_v4(int fd, const uint32_t factor[2])
{
    struct sock_filter code[] = {LOAD(V4_SENDER), MASK, TIMES(factor[0]),
                                 TOP_BITS, GIVE};
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
                                 GIVE};
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
