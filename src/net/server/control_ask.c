/*
 * control_ask.c - the client of the control socket; it blocks, and not for
 * long.
 */
#include "net/server/control.h"

#include "base/error.h"
#include "net/server/call.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static umbel_status connect_to(const char *path, uint64_t timeout_ms, int *fd,
                               umbel_error *err)
{
    um_address to = {.path = path};
    umbel_error why;
    umbel_status status = um_call_open(&to, timeout_ms, fd, &why);

    if (status == UMBEL_OK)
        return UMBEL_OK;
    bool forbidden = access(path, W_OK) != 0 && errno == EACCES;
    return um_fail(err, status, "%s; %s", why.text,
                   forbidden ? "only the server's user and root may ask it"
                             : "is the server of this configuration running?");
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
    UM_TRY(um_call_send(fd, text, (size_t)len, err));
    UM_TRY(um_call_send(fd, more.data, more.len, err));
    shutdown(fd, SHUT_WR);
    return UMBEL_OK;
}

static umbel_status copy_reply(int fd, FILE *out, umbel_error *err)
{
    char bytes[8192];
    size_t total = 0, n;

    for (;;) {
        UM_TRY(um_call_receive(fd, bytes, sizeof bytes, &n, err));
        if (n == 0)
            break;
        total += n;
        if (total > UM_CONTROL_REPLY)
            return um_fail(err, UMBEL_E_LIMIT,
                           "the server's answer is longer than %d bytes",
                           UM_CONTROL_REPLY);
        if (fwrite(bytes, 1, n, out) != n)
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

    UM_TRY(connect_to(path, timeout_ms, &fd, err));
    status = send_request(fd, line, more, err);
    if (!status)
        status = copy_reply(fd, out, err);
    close(fd);
    return um_name_file(status, path, err);
}
