/*
 * echo.c - gathers datagrams for 50 us, as the server does, receives a batch in
 * one call, and sends all its replies as one message that the kernel splits
 * (UDP_SEGMENT): nothing else. Anything faster needs a different kernel
 * interface. Batches of 256, a connected socket and UDP_GRO make it no faster.
 */
#include "bench/fuzzy_load/echo.h"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { BATCH = 64, REQUEST = 332, REPLY = 96, WITH_TAG = 12, PAUSE_NS = 50000 };

/* Answers a batch, all from one client, as bench_fuzzy is. */
static void answer_batch(int fd)
{
    static uint8_t in[BATCH][REQUEST], out[BATCH * REPLY];
    struct sockaddr_in from[BATCH];
    struct mmsghdr head[BATCH] = {0};
    struct iovec part[BATCH];

    for (int i = 0; i < BATCH; i++) {
        part[i] = (struct iovec){in[i], REQUEST};
        head[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
                                          .msg_namelen = sizeof from[i],
                                          .msg_iov = &part[i],
                                          .msg_iovlen = 1};
    }
    int n = recvmmsg(fd, head, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++)
        memcpy(out + (size_t)i * REPLY, in[i], WITH_TAG);
    if (n > 0)
        sendto(fd, out, (size_t)n * REPLY, 0, (struct sockaddr *)&from[0],
               sizeof from[0]);
}

int um_echo(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_DGRAM, 0), size = REPLY;
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
                          {.fd = STDIN_FILENO, .events = POLLIN}};

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0 ||
        setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size) != 0) {
        perror("bench_fuzzy: echo");
        return 2;
    }
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    while (poll(p, 2, -1) >= 0 && !p[1].revents) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        answer_batch(fd);
    }
    close(fd);
    return 0;
}
