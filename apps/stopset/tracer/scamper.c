/*
 * scamper.c - a running scamper as the prober.
 *
 *     > attach format json           < OK
 *                                    < MORE
 *     > trace ... DESTINATION        < OK id-1
 *                                    < MORE
 *                                    < DATA 354, then the result
 */
#include "stopset/tracer/prober.h"

#include "base/decimal.h"
#include "base/error.h"
#include "stopset/formats/format.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    ROOM = SS_SCAMPER_MAX + 4096,
    LINE_MAX_LEN = 256,
    QUEUE = 1 << 17 /* probes that wait for MORE: more than any window */
};

typedef struct scamper {
    int fd;
    bool ended;
    uint32_t allowed; /* commands that it will accept */
    ss_probe *queue;  /* a ring */
    uint32_t first, n;
    ss_trace_buffer *buffer;
    size_t len;
    uint8_t bytes[ROOM];
} scamper;

/* --- messages ------------------------------------------------------------ */

static bool begins(const uint8_t *line, size_t len, const char *word)
{
    size_t n = strlen(word);

    return len >= n && memcmp(line, word, n) == 0 &&
           (len == n || line[n] == ' ');
}

ss_scamper_event ss_scamper_parse(const uint8_t *bytes, size_t len,
                                  size_t *used, const uint8_t **data,
                                  size_t *data_len)
{
    const uint8_t *end = memchr(bytes, '\n', len);
    size_t line = end ? (size_t)(end - bytes) : len;
    uint64_t size;

    *used = 0;
    if (!end)
        return len > LINE_MAX_LEN ? SS_SCAMPER_BAD : SS_SCAMPER_PART;
    *used = line + 1;
    if (begins(bytes, line, "OK"))
        return SS_SCAMPER_OK;
    if (begins(bytes, line, "MORE"))
        return SS_SCAMPER_MORE;
    if (begins(bytes, line, "ERR"))
        return SS_SCAMPER_ERR;
    if (line < 6 || !begins(bytes, line, "DATA") ||
        !um_decimal_read(bytes + 5, line - 5, SS_SCAMPER_MAX, &size))
        return SS_SCAMPER_BAD;
    *data_len = (size_t)size;
    if (len - *used < *data_len) {
        *used = 0;
        return SS_SCAMPER_PART;
    }
    *data = bytes + *used;
    *used += *data_len;
    return SS_SCAMPER_DATA;
}

static bool read_answer(ss_trace_buffer *buffer, const uint8_t *json,
                        size_t len, ss_answer *out)
{
    ss_format_state state = {0};
    ss_took took = SS_NEED_MORE;
    size_t used;
    umbel_error err;

    if (ss_format_json.take(&state, json, len, &used, buffer, &took, &err) ||
        took != SS_TOOK_TRACE)
        return false;
    const ss_trace *t = &buffer->trace;
    *out =
        (ss_answer){.probe = {t->dst, t->first, 0}, .outcome = SS_UNANSWERED};
    if (t->nhops == 0)
        return true;
    const ss_hop *hop = &t->hop[0];
    bool v4 = ss_addr_is_v4(t->dst), target = ss_addr_equal(hop->addr, t->dst);
    out->from = hop->addr;
    out->icmp_type = hop->icmp_type;
    out->icmp_code = hop->icmp_code;
    out->reply_ttl = hop->reply_ttl;
    out->reply_tos = hop->reply_tos;
    out->reply_id = hop->reply_id;
    out->reply_len = hop->reply_size;
    out->probe_size = t->probe_size;
    out->rtt = hop->rtt;
    out->outcome =
        hop->icmp_type == (v4 ? 0 : 129)
            ? SS_REACHED
            : ss_outcome_of(!v4, hop->icmp_type, hop->icmp_code, target);
    return true;
}

bool ss_scamper_answer(const uint8_t *json, size_t len, ss_answer *out)
{
    ss_trace_buffer *buffer = calloc(1, sizeof *buffer);
    bool is_answer = buffer && read_answer(buffer, json, len, out);

    free(buffer);
    return is_answer;
}

/* --- the socket ---------------------------------------------------------- */

static umbel_status write_all(scamper *s, const char *text, size_t len,
                              umbel_error *err)
{
    while (len) {
        ssize_t n = send(s->fd, text, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return um_fail_errno(err, "scamper");
        text += n;
        len -= (size_t)n;
    }
    return UMBEL_OK;
}

static umbel_status send_queued(scamper *s, umbel_error *err)
{
    while (s->allowed && s->n) {
        const ss_probe *p = &s->queue[s->first % QUEUE];
        char address[SS_ADDR_TEXT], line[LINE_MAX_LEN];
        ss_addr_format(p->to, address);
        int len = snprintf(line, sizeof line,
                           "trace -P icmp-paris -q 1 -w 1 -f %u -m %u %s\n",
                           p->ttl, p->ttl, address);
        UM_TRY(write_all(s, line, (size_t)len, err));
        s->first = (s->first + 1) % QUEUE;
        s->n--;
        s->allowed--;
    }
    return UMBEL_OK;
}

static umbel_status send_probe(void *self, const ss_probe *p, umbel_error *err)
{
    scamper *s = self;

    if (s->n == QUEUE)
        return um_fail(err, UMBEL_E_FULL, "scamper takes no more commands");
    s->queue[(s->first + s->n++) % QUEUE] = *p;
    return send_queued(s, err);
}

static umbel_status parse_messages(scamper *s, ss_deliver *deliver, void *ctx,
                                   umbel_error *err)
{
    size_t at = 0, used, data_len;
    const uint8_t *data;
    ss_answer answer;

    for (;;) {
        ss_scamper_event event = ss_scamper_parse(s->bytes + at, s->len - at,
                                                  &used, &data, &data_len);
        if (event == SS_SCAMPER_PART)
            break;
        if (event == SS_SCAMPER_BAD)
            return um_fail(err, UMBEL_E_FORMAT,
                           "scamper's socket: this is not what scamper sends");
        if (event == SS_SCAMPER_ERR)
            return um_fail(err, UMBEL_E_IO,
                           "scamper refuses a command; it must be of a version "
                           "that knows 'attach format json'");
        at += used;
        s->allowed += event == SS_SCAMPER_MORE;
        if (event == SS_SCAMPER_DATA &&
            read_answer(s->buffer, data, data_len, &answer))
            deliver(ctx, &answer);
    }
    memmove(s->bytes, s->bytes + at, s->len - at);
    s->len -= at;
    return send_queued(s, err);
}

static umbel_status wait_for_answers(void *self, uint64_t timeout,
                                     ss_deliver *deliver, void *ctx,
                                     umbel_error *err)
{
    scamper *s = self;
    struct pollfd fd = {s->fd, POLLIN, 0};

    if (poll(&fd, 1, (int)(timeout / 1000) + (timeout % 1000 != 0)) <= 0)
        return UMBEL_OK;
    ssize_t n = recv(s->fd, s->bytes + s->len, sizeof s->bytes - s->len, 0);
    if (n < 0)
        return errno == EINTR ? UMBEL_OK : um_fail_errno(err, "scamper");
    if (n == 0)
        return um_fail(err, UMBEL_E_IO, "scamper has closed its socket");
    s->len += (size_t)n;
    return parse_messages(s, deliver, ctx, err);
}

static void close_scamper(void *self)
{
    scamper *s = self;

    if (s->fd >= 0)
        close(s->fd);
    free(s->queue);
    free(s->buffer);
    free(s);
}

static umbel_status connect_to(scamper *s, const char *path, umbel_error *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    static const char attach[] = "attach format json\n";

    if (strlen(path) >= sizeof to.sun_path)
        return um_fail(err, UMBEL_E_RANGE,
                       "the name of scamper's socket is too long");
    memcpy(to.sun_path, path, strlen(path) + 1);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0 ||
        connect(s->fd, (const struct sockaddr *)&to, sizeof to) != 0)
        return um_fail_errno(err,
                             "cannot reach scamper at %s (start it with "
                             "'scamper -U %s')",
                             path, path);
    return write_all(s, attach, sizeof attach - 1, err);
}

umbel_status ss_scamper_open(const char *path, ss_prober *out, umbel_error *err)
{
    scamper *s = calloc(1, sizeof *s);

    if (!s)
        return um_no_memory(err, sizeof *s);
    s->fd = -1;
    s->queue = calloc(QUEUE, sizeof *s->queue);
    s->buffer = calloc(1, sizeof *s->buffer);
    umbel_status status = UMBEL_E_NOMEM;
    if (s->queue && s->buffer)
        status = connect_to(s, path, err);
    else
        um_set_error(err, status, "no memory for scamper's results");
    if (status) {
        close_scamper(s);
        return status;
    }
    *out = (ss_prober){.self = s,
                       .send = send_probe,
                       .wait = wait_for_answers,
                       .close = close_scamper};
    return UMBEL_OK;
}
