/*
 * dccifd.c - asks a dccifd server about one mail.
 */
#include "net/dccifd.h"

#include "base/error.h"
#include "net/server/socket.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static umbel_status send_line(int fd, const char *text, umbel_error *err)
{
    char line[UM_DCCIFD_LINE];
    int len = snprintf(line, sizeof line, "%s\n", text);

    if (len >= UM_DCCIFD_LINE || strchr(text, '\n'))
        return um_fail(
            err, UMBEL_E_RANGE,
            "a line of the envelope is too long, or contains a newline: "
            "\"%.40s\"",
            text);
    return um_call_send(fd, line, (size_t)len, err);
}

static umbel_status send_request(int fd, const um_dccifd_query *q,
                                 umbel_slice mail, umbel_error *err)
{
    UM_TRY(send_line(fd, q->words, err));
    UM_TRY(send_line(fd, q->client, err));
    UM_TRY(send_line(fd, q->helo, err));
    UM_TRY(send_line(fd, q->sender, err));
    for (const char *const *to = q->recipient; *to; to++)
        UM_TRY(send_line(fd, *to, err));
    UM_TRY(send_line(fd, "", err));
    UM_TRY(um_call_send(fd, mail.data, mail.len, err));
    shutdown(fd, SHUT_WR);
    return UMBEL_OK;
}

static umbel_status receive_all(int fd, um_dccifd_response *out,
                                umbel_error *err)
{
    size_t n = 1;

    for (out->len = 0; n; out->len += n) {
        if (out->len == sizeof out->text - 1)
            return um_fail(err, UMBEL_E_FORMAT, "the reply is too long");
        UM_TRY(um_call_receive(fd, out->text + out->len,
                               sizeof out->text - 1 - out->len, &n, err));
    }
    out->text[out->len] = '\0';
    return UMBEL_OK;
}

/* Removes the two lines of results, one for the mail and one for its
 * recipients, from the text. */
static umbel_status parse_results(um_dccifd_response *a, umbel_error *err)
{
    char result = a->text[0];
    char *rest = strchr(a->text, '\n');

    rest = rest ? strchr(rest + 1, '\n') : NULL;
    if (!rest)
        return um_fail(
            err, UMBEL_E_FORMAT,
            a->len ? "this is not a reply of a dccifd server"
                   : "the server closed the connection without a reply");
    if (result == 'T')
        return um_fail(err, UMBEL_E_REFUSED, "the server cannot answer now");
    a->len -= (size_t)(rest + 1 - a->text);
    memmove(a->text, rest + 1, a->len + 1);
    return UMBEL_OK;
}

umbel_status um_dccifd_call(const um_dccifd_query *q, umbel_slice mail,
                            um_dccifd_response *out, umbel_error *err)
{
    int fd;

    UM_TRY(um_call_open(&q->server, q->timeout_ms, &fd, err));
    umbel_status status = send_request(fd, q, mail, err);
    if (!status)
        status = receive_all(fd, out, err);
    close(fd);
    return status ? status : parse_results(out, err);
}
