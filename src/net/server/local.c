/*
 * local.c - IP_PKTINFO and IPV6_PKTINFO.
 */
#include "net/server/local.h"

#include "net/server/socket.h"

#include <string.h>

_Static_assert(CMSG_SPACE(sizeof(struct in6_pktinfo)) <= sizeof(um_local_room),
               "the address of either family fits");

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

void um_local_append(const um_address *to, um_local_room *room,
                     struct msghdr *h)
{
    struct in_pktinfo v4 = {.ipi_ifindex = 0};
    struct in6_pktinfo v6 = {.ipi6_addr = to->local};

    h->msg_control = NULL;
    h->msg_controllen = 0;
    if (IN6_IS_ADDR_UNSPECIFIED(&to->local))
        return;
    memset(room, 0, sizeof *room);
    h->msg_control = room;
    h->msg_controllen = sizeof *room;
    if (to->ip.any.sa_family == AF_INET6) {
        write_header(h, IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof v6);
    } else {
        memcpy(&v4.ipi_spec_dst, &to->local, sizeof v4.ipi_spec_dst);
        write_header(h, IPPROTO_IP, IP_PKTINFO, &v4, sizeof v4);
    }
}
