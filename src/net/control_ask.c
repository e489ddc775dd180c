/*
 * control_ask.c - the client of the control socket; it blocks, and not for
 * long.
 */
#include "net/control.h"

#include "base/error.h"
#include "net/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void set_timeouts(int fd, uint64_t ms)
{
    struct timeval t = {.tv_sec = (time_t)(ms / 1000),
                        .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static umbel_status connect_to(const char *path, int *fd, umbel_error *err)
{
    umbel_error why;
    umbel_status status = um_socket_connect(path, fd, &why);

    if (status == UMBEL_OK)
        return UMBEL_OK;
    bool forbidden = access(path, W_OK) != 0 && errno == EACCES;
    return um_fail(err, status, "%s; %s", why.text,
                   forbidden ? "only the server's user and root may ask it"
                             : "is the server of this configuration running?");
}

static umbel_status send_bytes(int fd, const void *bytes, size_t len,
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

static umbel_status send_request(int fd, const char *line, umbel_slice more,
                                 umbel_error *err)
{
    char text[UM_CONTROL_LINE];
    int len = snprintf(text, sizeof text, "%s\n", line);

    if (len < 0 || len >= UM_CONTROL_LINE || strchr(line, '\n'))
        return um_fail(err, UMBEL_E_RANGE,
                       "a request is one line of at most %d bytes",
                       UM_CONTROL_LINE - 2);
    UM_TRY(send_bytes(fd, text, (size_t)len, err));
    UM_TRY(send_bytes(fd, more.data, more.len, err));
    shutdown(fd, SHUT_WR);
    return UMBEL_OK;
}

static umbel_status copy_reply(int fd, FILE *out, umbel_error *err)
{
    char bytes[8192];
    size_t total = 0;
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof bytes, 0)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return um_fail(err, UMBEL_E_IO, "the server does not answer");
        if (n < 0)
            return um_fail_errno(err, "the server's answer");
        total += (size_t)n;
        if (total > UM_CONTROL_REPLY)
            return um_fail(err, UMBEL_E_LIMIT,
                           "the server's answer is longer than %d bytes",
                           UM_CONTROL_REPLY);
        if (fwrite(bytes, 1, (size_t)n, out) != (size_t)n)
            return um_fail_errno(err, "writing the server's answer");
    }
    if (total == 0)
        return um_fail(err, UMBEL_E_IO, "the server gave no answer");
    return UMBEL_OK;
}

umbel_status um_control_ask(const char *path, const char *line,
                            umbel_slice more, uint64_t timeout_ms, FILE *out,
                            umbel_error *err)
{
    umbel_status status;
    int fd;

    UM_TRY(connect_to(path, &fd, err));
    set_timeouts(fd, timeout_ms);
    status = send_request(fd, line, more, err);
    if (!status)
        status = copy_reply(fd, out, err);
    close(fd);
    return um_name_file(status, path, err);
}
