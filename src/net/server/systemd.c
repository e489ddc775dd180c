/*
 * systemd.c - sd_notify(3) and sd_listen_fds(3), without libsystemd.
 */
#include "base/decimal.h"
#include "base/error.h"
#include "net/server/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_PASSED = 3 }; /* after stdin, stdout and stderr */

umbel_status um_notify(const char *state, umbel_error *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path ? strlen(path) : 0;

    if (len == 0)
        return UMBEL_OK;
    if ((*path != '/' && *path != '@') || len >= sizeof to.sun_path)
        return um_fail(err, UMBEL_E_RANGE,
                       "$NOTIFY_SOCKET is \"%s\": not a path or \"@name\"",
                       path);
    memcpy(to.sun_path, path, len);
    if (*path == '@')
        to.sun_path[0] = '\0'; /* an abstract name, without a file */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return um_fail_errno(err, "a unix socket");
    ssize_t sent =
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    umbel_status status =
        sent < 0 ? um_fail_errno(err, "$NOTIFY_SOCKET %s", path) : UMBEL_OK;
    close(fd);
    return status;
}

/* Parses a number from 0 to max; returns false if the variable is absent or not
 * a number. */
static bool get_number(const char *name, uint64_t max, uint64_t *out)
{
    const char *text = getenv(name);

    return text && um_decimal_parse(text, max, out);
}

static umbel_status adopt_descriptor(int fd, umbel_error *err)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return um_fail_errno(err, "$LISTEN_FDS: descriptor %d", fd);
    return UMBEL_OK;
}

umbel_status um_passed_open(um_passed *out, umbel_error *err)
{
    unsigned long pid = 0, n = 0;
    bool ours =
        get_number("LISTEN_PID", INT32_MAX, &pid) && pid == (uint64_t)getpid();
    bool fits = get_number("LISTEN_FDS", UM_PASSED_MAX, &n);

    *out = (um_passed){.n = 0};
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!ours)
        return UMBEL_OK;
    if (!fits)
        return um_fail(err, UMBEL_E_RANGE,
                       "$LISTEN_FDS must be a number of 0 to %d sockets",
                       UM_PASSED_MAX);
    for (size_t i = 0; i < n; i++) {
        UM_TRY(adopt_descriptor(FIRST_PASSED + (int)i, err));
        out->fd[out->n++] = FIRST_PASSED + (int)i;
    }
    return UMBEL_OK;
}

static bool is_socket_of(int fd, const um_address *a, int type)
{
    char path[UM_ADDRESS_TEXT];
    um_address bound;
    int got = 0;
    socklen_t len = sizeof got;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &got, &len) == 0 &&
           got == type &&
           um_socket_address(fd, path, &bound, NULL) == UMBEL_OK &&
           um_address_equal(&bound, a);
}

int um_passed_acquire(um_passed *p, const um_address *a, int type)
{
    for (size_t i = 0; i < p->n; i++) {
        int fd = p->fd[i];

        if (fd < 0 || !is_socket_of(fd, a, type))
            continue;
        p->fd[i] = -1;
        return fd;
    }
    return -1;
}

size_t um_passed_close(um_passed *p)
{
    size_t left = 0;

    for (size_t i = 0; i < p->n; i++)
        if (p->fd[i] >= 0) {
            close(p->fd[i]);
            left++;
        }
    p->n = 0;
    return left;
}
