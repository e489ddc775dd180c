/*
 * socket.c - listening sockets, and blocking client connections.
 */
#include "net/server/socket.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    /* Holds a burst while the process waits for the CPU; datagrams beyond it
     * are lost. The system may grant less. */
    DATAGRAM_BUFFER = 4 << 20
};

static umbel_status unix_address(const char *path, struct sockaddr_un *out,
                                 umbel_error *err)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out->sun_path)
        return um_fail(err, UMBEL_E_RANGE,
                       "the path of a unix socket has at most %zu bytes",
                       sizeof out->sun_path - 1);
    memcpy(out->sun_path, path, strlen(path));
    return UMBEL_OK;
}

umbel_status um_socket_connect(const char *path, int *fd, umbel_error *err)
{
    struct sockaddr_un un;

    UM_TRY(unix_address(path, &un, err));
    int got = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (got < 0)
        return um_fail_errno(err, "a unix socket");
    if (connect(got, (struct sockaddr *)&un, sizeof un) < 0) {
        umbel_status status = um_fail_path(err, path);
        close(got);
        return status;
    }
    *fd = got;
    return UMBEL_OK;
}

/* Removes a socket file on which no process listens any more. Any other file is
 * left, and makes bind fail. */
static void remove_stale(const char *path)
{
    struct sockaddr_un un;
    struct stat st;

    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) ||
        unix_address(path, &un, NULL) != UMBEL_OK)
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, (struct sockaddr *)&un, sizeof un) < 0 &&
        errno == ECONNREFUSED)
        unlink(path);
    close(fd);
}

/* Binds a unix socket. Sets the mode before bind, so that nobody can connect
 * with another one. */
static int bind_unix(int fd, const char *path, unsigned mode)
{
    struct sockaddr_un un;

    if (unix_address(path, &un, NULL) != UMBEL_OK) {
        errno = ENAMETOOLONG;
        return -1;
    }
    remove_stale(path);
    if (mode && fchmod(fd, (mode_t)mode) < 0)
        return -1;
    return bind(fd, (struct sockaddr *)&un, sizeof un);
}

static int bind_ip(int fd, const um_address *a)
{
    int on = 1;

    if (a->ip.any.sa_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
        return -1;
    return bind(fd, &a->ip.any, um_address_len(a));
}

static int bind_stream(int fd, const um_address *a, unsigned mode)
{
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if ((a->path ? bind_unix(fd, a->path, mode) : bind_ip(fd, a)) < 0)
        return -1;
    return listen(fd, BACKLOG);
}

/* Binds a datagram socket to the address without sharing it, to detect another
 * server that uses it: sockets that share an address share its datagrams. */
static int reserve_datagram(int family, um_address *a)
{
    char path[UM_ADDRESS_TEXT];
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int bound = fd < 0 ? -1 : bind_ip(fd, a);

    if (bound == 0 && um_address_port(a) == 0)
        um_socket_address(fd, path, a, NULL);
    int code = errno;
    if (fd >= 0)
        close(fd);
    errno = code;
    return bound;
}

static int bind_datagram(int fd, const um_address *a)
{
    int on = 1, size = DATAGRAM_BUFFER;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    return bind_ip(fd, a);
}

static umbel_status open_bound(const um_address *a, int type, unsigned mode,
                               int *fd, umbel_error *err)
{
    char text[UM_ADDRESS_TEXT];
    int family = a->path ? AF_UNIX : a->ip.any.sa_family;
    int got = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (got < 0)
        return um_fail_errno(err, "a socket for %s", um_address_print(a, text));
    if ((type == SOCK_STREAM ? bind_stream(got, a, mode)
                             : bind_datagram(got, a)) < 0) {
        umbel_status status = um_fail_errno(err, "cannot listen on %s",
                                            um_address_print(a, text));
        close(got);
        return status;
    }
    *fd = got;
    return UMBEL_OK;
}

umbel_status um_socket_listen(const um_address *a, int type, unsigned mode,
                              int *fd, umbel_error *err)
{
    char text[UM_ADDRESS_TEXT];
    um_address real = *a;

    if (type == SOCK_DGRAM && a->path)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "datagrams need an address with a port, not %s",
                       um_address_print(a, text));
    if (type == SOCK_DGRAM && reserve_datagram(a->ip.any.sa_family, &real) < 0)
        return um_fail_errno(err, "cannot listen on %s",
                             um_address_print(a, text));
    return open_bound(&real, type, mode, fd, err);
}

umbel_status um_socket_share(const um_address *a, int *fd, umbel_error *err)
{
    return open_bound(a, SOCK_DGRAM, 0, fd, err);
}

umbel_status um_socket_address(int fd, char path[UM_ADDRESS_TEXT],
                               um_address *out, umbel_error *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un un;
    } name = {.any.sa_family = AF_UNSPEC};
    socklen_t len = sizeof name;
    um_address a = {.path = NULL};

    if (getsockname(fd, &name.any, &len) < 0)
        return um_fail_errno(err, "the address of descriptor %d", fd);
    if (name.any.sa_family == AF_UNIX) {
        snprintf(path, UM_ADDRESS_TEXT, "%.*s", (int)sizeof name.un.sun_path,
                 name.un.sun_path);
        a.path = path;
    } else if (name.any.sa_family == AF_INET6) {
        a.ip.v6 = name.v6;
    } else if (name.any.sa_family == AF_INET) {
        a.ip.v4 = name.v4;
    } else {
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "descriptor %d is not an IPv4, IPv6 or unix socket", fd);
    }
    *out = a;
    return UMBEL_OK;
}

/* --- clients -------------------------------------------------------------- */

/* Sets timeouts, which apply to connect as well. */
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
        /* A timeout of connect is reported as EINPROGRESS. */
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
            return um_fail_errno(err, "the server does not accept the request");
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
