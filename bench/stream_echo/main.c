/*
 * main.c - a TCP server that waits, reads a request and writes a reply of five
 * bytes: three system calls, nothing else. bench/razor runs it to measure what
 * a single check costs without any processing.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_EVENTS = 64, REQUEST = 1 << 16, REPLY = 5 };

static int open_listener(unsigned *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 ||
        listen(fd, MAX_EVENTS) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        return -1;
    *port = ntohs(at.sin_port);
    return fd;
}

static int watch(int poll, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e);
}

static void accept_client(int poll, int listener)
{
    int fd = accept(listener, NULL, NULL), on = 1;

    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (watch(poll, fd) != 0 || write(fd, "hello\r\n", 7) != 7)
        close(fd);
}

static void answer(int fd)
{
    static char request[REQUEST];
    ssize_t n = read(fd, request, sizeof request);

    if (n <= 0 || write(fd, "p=0\r\n", REPLY) != REPLY)
        close(fd);
}

/* Serves until standard input ends. */
static int serve(int poll, int listener)
{
    struct epoll_event e[MAX_EVENTS];

    for (;;) {
        int n = epoll_wait(poll, e, MAX_EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (e[i].data.fd == STDIN_FILENO)
                return 0;
            if (e[i].data.fd == listener)
                accept_client(poll, listener);
            else
                answer(e[i].data.fd);
        }
    }
}

int main(void)
{
    unsigned port = 0;
    int poll = epoll_create1(0), listener = open_listener(&port);

    if (poll < 0 || listener < 0 || watch(poll, listener) != 0 ||
        watch(poll, STDIN_FILENO) != 0) {
        perror("bench_stream_echo");
        return 2;
    }
    printf("%u\n", port);
    fflush(stdout);
    return serve(poll, listener);
}
