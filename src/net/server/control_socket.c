/*
 * control_socket.c - the control socket: a server on stream.h, and its client,
 * which blocks for a limited time.
 */
#include "net/server/control_socket.h"

#include "base/buffer.h"
#include "base/error.h"
#include "net/server/socket.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000 };

struct um_control {
    um_control_config config;
    um_listener *listener;
    um_connection_limits *limits;
    char *path;
    size_t held; /* bytes of requests not passed on yet */
};

/* A request whose line is followed by bytes. */
struct um_control_request {
    um_stream *stream; /* NULL: the client is gone */
    uint8_t *bytes;
    size_t len, cap, limit;
    uid_t user;     /* who sent it; -1: unknown */
    bool passed_on; /* the server owns it until its reply */
    char line[UM_CONTROL_LINE];
};

/* --- one request ---------------------------------------------------------- */

static void answer_line(um_stream *s, const char *line)
{
    um_control *c = um_stream_ctx(s);
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out) {
        um_stream_close(s, UM_END_MEMORY);
        return;
    }
    c->config.answer(c->config.ctx, line, out);
    if (fclose(out) == 0)
        um_stream_write(s, (umbel_slice){text, len});
    free(text);
    um_stream_end(s, UM_END_DONE);
}

/* --- users ---------------------------------------------------------------- */

static uid_t user_of(const um_stream *s)
{
    uid_t user;

    return um_stream_peer_user(s, &user) ? user : (uid_t)-1;
}

uid_t um_control_user(const um_control_request *r)
{
    return r->user;
}

/* Returns why a client may not send this line, or NULL if it may. */
static const char *refuse_line(const um_stream *s, const char *line)
{
    const um_control *c = um_stream_ctx(s);
    uid_t user = user_of(s);

    if (!c->config.group || !c->config.refuse || user == 0 || user == geteuid())
        return NULL;
    return c->config.refuse(c->config.ctx, line);
}

/* --- bytes after a line --------------------------------------------------- */

static void free_request(um_control_request *r)
{
    free(r->bytes);
    free(r);
}

void um_control_reply(um_control_request *r, umbel_slice text)
{
    um_stream *s = r->stream;

    if (s) {
        um_stream_set_data(s, NULL);
        um_stream_write(s, text);
        um_stream_end(s, UM_END_DONE);
    }
    free_request(r);
}

static bool reserve(um_control *c, um_control_request *r, size_t len)
{
    size_t had = r->cap;

    if (!um_array_reserve(&r->bytes, &r->cap, r->len + len, 1))
        return false;
    c->held += r->cap - had;
    return true;
}

static void retain_bytes(um_stream *s, um_control_request *r,
                         const uint8_t *bytes, size_t len)
{
    um_control *c = um_stream_ctx(s);

    if (r->passed_on || len == 0)
        return;
    if (len > r->limit - r->len || c->held + len > UM_CONTROL_HELD) {
        um_stream_close(s, UM_END_TOO_LONG);
    } else if (!reserve(c, r, len)) {
        um_stream_close(s, UM_END_MEMORY);
    } else {
        memcpy(r->bytes + r->len, bytes, len);
        r->len += len;
    }
}

static void begin_request(um_stream *s, const char *line, size_t limit)
{
    um_control_request *r = calloc(1, sizeof *r);

    if (!r) {
        um_stream_close(s, UM_END_MEMORY);
        return;
    }
    r->stream = s;
    r->user = user_of(s);
    r->limit = limit;
    memcpy(r->line, line, strlen(line) + 1);
    um_stream_set_data(s, r);
}

static void pass_on(um_stream *s, um_control_request *r)
{
    um_control *c = um_stream_ctx(s);
    uint8_t *bytes = r->bytes;

    c->held -= r->cap;
    r->bytes = NULL;
    r->passed_on = true;
    c->config.take(c->config.ctx, r, r->line, bytes, r->len);
}

static void connection_closed(um_stream *s)
{
    um_control *c = um_stream_ctx(s);
    um_control_request *r = um_stream_data(s);

    if (!r)
        return;
    r->stream = NULL;
    if (r->passed_on)
        return;
    c->held -= r->cap;
    free_request(r);
}

/* --- connections ---------------------------------------------------------- */

static void handle_line(um_stream *s, const char *line, const uint8_t *more,
                        size_t len)
{
    um_control *c = um_stream_ctx(s);
    size_t limit = c->config.follow ? c->config.follow(c->config.ctx, line) : 0;
    const char *refusal = refuse_line(s, line);

    if (refusal) {
        um_stream_write(s, (umbel_slice){refusal, strlen(refusal)});
        um_stream_end(s, UM_END_DONE);
        return;
    }
    if (!limit) {
        answer_line(s, line); /* one line per connection */
        return;
    }
    begin_request(s, line, limit);
    if (um_stream_data(s))
        retain_bytes(s, um_stream_data(s), more, len);
}

static size_t handle_bytes(um_stream *s, const uint8_t *bytes, size_t len)
{
    char line[UM_CONTROL_LINE];
    const uint8_t *end = memchr(bytes, '\n', len);
    size_t n = end ? (size_t)(end - bytes) : 0;

    if (um_stream_data(s)) {
        retain_bytes(s, um_stream_data(s), bytes, len);
        return len;
    }
    if (!end)
        return 0;
    if (n >= sizeof line) {
        um_stream_end(s, UM_END_TOO_LONG);
        return len;
    }
    memcpy(line, bytes, n);
    line[n] = '\0';
    if (strlen(line) == n)
        handle_line(s, line, end + 1, len - n - 1);
    else
        um_stream_end(s, UM_END_BAD);
    return len;
}

static void handle_end(um_stream *s, const uint8_t *bytes, size_t len)
{
    um_control_request *r = um_stream_data(s);

    (void)bytes;
    if (r && !r->passed_on)
        pass_on(s, r);
    else if (!r)
        um_stream_end(s, len ? UM_END_BAD : UM_END_CLIENT);
}

static const um_stream_protocol protocol = {
    .take = handle_bytes, .last = handle_end, .closed = connection_closed};

static void report_end(void *ctx, const um_address *client, um_end why)
{
    um_control *c = ctx;

    if (c->config.ended)
        c->config.ended(c->config.ctx, client, why);
}

/* --- open and close ------------------------------------------------------- */

static void free_control(void *ctx)
{
    um_control *c = ctx;

    um_connection_limits_close(c->limits);
    free(c->path);
    free(c);
}

/* Opens the socket to a group, which it gets before its members may use it. */
static umbel_status open_to_group(const um_control *c, umbel_error *err)
{
    const struct group *g = getgrnam(c->config.group);

    if (!g)
        return um_fail(err, UMBEL_E_RANGE,
                       "there is no group \"%s\" on this machine",
                       c->config.group);
    if (chown(c->path, (uid_t)-1, g->gr_gid) == 0 && chmod(c->path, 0660) == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO,
                   "cannot give %s to the group %s: %s; the server's user must "
                   "be a member of it",
                   c->path, c->config.group, strerror(errno));
}

static umbel_status control_socket(um_control *c, int *fd, umbel_error *err)
{
    um_address a;

    *fd = c->config.fd;
    if (*fd >= 0)
        return UMBEL_OK;
    UM_TRY(um_address_parse(c->path, &a, err));
    if (!a.path)
        return um_fail(err, UMBEL_E_RANGE,
                       "the control socket needs a path that begins with "
                       "\"/\", got \"%s\"",
                       c->path);
    UM_TRY(um_socket_listen(&a, SOCK_STREAM, 0600, fd, err));
    umbel_status status = c->config.group ? open_to_group(c, err) : UMBEL_OK;
    if (status != UMBEL_OK) {
        close(*fd);
        unlink(c->path);
    }
    return status;
}

static umbel_status start_control(um_loop *l, um_control *c, umbel_error *err)
{
    uint64_t ms = c->config.timeout_ms ? c->config.timeout_ms : TIMEOUT_MS;
    um_listener_config config = {.protocol = &protocol,
                                 .limits = {.request = UM_CONTROL_LINE,
                                            .unread = UM_CONTROL_REPLY,
                                            .idle_ms = ms,
                                            .total_ms = ms},
                                 .ended = report_end,
                                 .gone = free_control,
                                 .ctx = c};
    int fd;

    UM_TRY(um_connection_limits_open(
        &(um_connection_limits_config){.total = UM_CONTROL_CLIENTS}, &c->limits,
        err));
    UM_TRY(control_socket(c, &fd, err));
    config.connections = c->limits;
    return um_listener_open(l, fd, &config, &c->listener, err);
}

umbel_status um_control_open(um_loop *l, const um_control_config *config,
                             um_control **out, umbel_error *err)
{
    um_control *c = calloc(1, sizeof *c);
    char *path = strdup(config->path);
    umbel_status status;

    if (!c || !path) {
        free(c);
        free(path);
        return um_no_memory(err, sizeof *c);
    }
    c->config = *config;
    c->path = path;
    status = start_control(l, c, err);
    if (status)
        free_control(c);
    else
        *out = c;
    return status;
}

void um_control_close(um_control *c)
{
    if (!c)
        return;
    if (c->config.fd < 0)
        unlink(c->path);
    um_listener_close(c->listener);
}

/* --- the client ----------------------------------------------------------- */

static umbel_status connect_to(const char *path, uint64_t timeout_ms, int *fd,
                               umbel_error *err)
{
    um_address to = {.path = path};
    umbel_error why;
    umbel_status status = um_call_open(&to, timeout_ms, fd, &why);

    if (status == UMBEL_OK)
        return UMBEL_OK;
    return um_fail(err, status,
                   "%s; is the server of this configuration running?",
                   why.text);
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

umbel_status um_control_query(const char *path, const char *line,
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
