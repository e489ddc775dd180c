/*
 * call.c - a connection of a client that blocks.
 */
#include "net/server/call.h"

#include "base/error.h"
#include "net/server/socket.h"

#include <errno.h>
#include <sys/time.h>
#include <unistd.h>

/* Holds for connect as well. */
static void set_timeouts(int fd, uint64_t ms)
{
    struct timeval t = {.tv_sec = (time_t)(ms / 1000),
                        .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static umbel_status call_ip(const um_address *to, int type, uint64_t timeout_ms,
                            int *fd, umbel_error *err)
{
    char text[UM_ADDRESS_TEXT];
    int got = socket(to->ip.any.sa_family, type | SOCK_CLOEXEC, 0);

    if (got < 0)
        return um_fail_errno(err, "a socket");
    set_timeouts(got, timeout_ms);
    if (connect(got, &to->ip.any, um_address_len(to)) < 0) {
        /* What a timeout of connect is called by the system. */
        errno = errno == EINPROGRESS ? ETIMEDOUT : errno;
        umbel_status status =
            um_fail_errno(err, "%s", um_address_print(to, text));
        close(got);
        return status;
    }
    *fd = got;
    return UMBEL_OK;
}

umbel_status um_call_open(const um_address *to, uint64_t timeout_ms, int *fd,
                          umbel_error *err)
{
    if (!to->path)
        return call_ip(to, SOCK_STREAM, timeout_ms, fd, err);
    UM_TRY(um_socket_connect(to->path, fd, err));
    set_timeouts(*fd, timeout_ms);
    return UMBEL_OK;
}

umbel_status um_call_open_datagram(const um_address *to, uint64_t timeout_ms,
                                   int *fd, umbel_error *err)
{
    if (to->path)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "datagrams need an address with a port, not %s",
                       to->path);
    return call_ip(to, SOCK_DGRAM, timeout_ms, fd, err);
}

umbel_status um_call_send(int fd, const void *bytes, size_t len,
                          umbel_error *err)
{
    const char *at = bytes;

    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return um_fail_errno(err, "the server does not take the request");
        at += n;
        len -= (size_t)n;
    }
    return UMBEL_OK;
}

umbel_status um_call_receive(int fd, void *bytes, size_t cap, size_t *len,
                             umbel_error *err)
{
    ssize_t n;

    do
        n = recv(fd, bytes, cap, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return um_fail(err, UMBEL_E_IO, "the server does not answer");
    if (n < 0)
        return um_fail_errno(err, "the server's answer");
    *len = (size_t)n;
    return UMBEL_OK;
}
