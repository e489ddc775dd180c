/*
 * echo.c - an echo server that measures the cost of the system itself: recvmmsg
 * and sendmmsg, and nothing else.
 */
#include "bench/pyzor/load.h"

#include "net/server/socket.h"

#include <fcntl.h>
#include <unistd.h>

enum { BATCH = 64, ROOM = 8192 };

static struct mmsghdr head[BATCH];
static struct iovec part[BATCH];
static um_address peer[BATCH];
static char bytes[BATCH][ROOM + 64];

static void create_ready(int n)
{
    for (int i = 0; i < n; i++) {
        part[i] = (struct iovec){bytes[i], ROOM};
        head[i].msg_hdr = (struct msghdr){.msg_name = &peer[i].ip,
                                          .msg_namelen = sizeof peer[i].ip,
                                          .msg_iov = &part[i],
                                          .msg_iovlen = 1};
    }
}

static void echo_for_ever(int fd)
{
    create_ready(BATCH);
    for (;;) {
        int n = recvmmsg(fd, head, BATCH, MSG_WAITFORONE, NULL);

        for (int i = 0; i < n; i++)
            part[i].iov_len = head[i].msg_len;
        if (n > 0)
            sendmmsg(fd, head, (unsigned)n, 0);
        create_ready(n > 0 ? n : 0);
    }
}

int um_echo_run(const um_address *a)
{
    char path[UM_ADDRESS_TEXT];
    umbel_error err;
    um_address real;
    int fd;

    if (um_socket_listen(a, SOCK_DGRAM, 0, &fd, &err) ||
        um_socket_address(fd, path, &real, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    fcntl(fd, F_SETFL, 0); /* recvmmsg blocks */
    printf("ready %u\n", um_address_port(&real));
    fflush(stdout);
    echo_for_ever(fd);
    return 0;
}
