/*
 * sync_line.c - exchanging over a line, until both sides have all.
 */
#include "cli/commands/sync_line.h"

#include "base/buffer.h"
#include "base/error.h"
#include "trust/link.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct buffer {
    uint8_t *at;
    size_t len, cap;
} buffer;

typedef struct line {
    um_sync_dir *dir;
    int peer, in, out;
    um_link *link; /* NULL: messages as they are */
    buffer heard, said;
} line;

enum { PIECE = 65536, PATIENCE_MS = 60000, CALL_MS = 15000 };

void um_sync_note_outcome(const um_sync_dir *d, int peer, um_sync_outcome *out)
{
    umbel_sync_peer_stats stats;

    umbel_sync_peer_stats_get(d->machine, peer, &stats);
    out->bytes_in = stats.bytes_in;
    out->bytes_out = stats.bytes_out;
    out->cells = stats.changed_in + stats.changed_out;
    out->agreement = umbel_sync_agreement(d->machine, 0);
    out->refused = 0;
    for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
        out->refused += stats.refused[i];
}

umbel_status um_sync_parse(um_sync_dir *d, int peer, umbel_slice message,
                           umbel_error *err)
{
    umbel_status status = umbel_sync_receive(
        d->machine, peer, message.data, message.len, (uint64_t)time(NULL), err);

    if (d->differs[0])
        return um_fail(err, UMBEL_E_MISMATCH,
                       "the other side has filters of other options: %.180s",
                       d->differs);
    return status == UMBEL_E_FORMAT || status == UMBEL_E_CHECKSUM ||
                   status == UMBEL_E_VERSION || status == UMBEL_E_NOMEM
               ? status
               : UMBEL_OK;
}

static umbel_status append(buffer *b, const void *data, size_t len,
                           umbel_error *err)
{
    if (!len)
        return UMBEL_OK;
    if (!um_array_reserve(&b->at, &b->cap, b->len + len, 1))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a message");
    memcpy(b->at + b->len, data, len);
    b->len += len;
    return UMBEL_OK;
}

static void consume(buffer *b, size_t len)
{
    b->len -= len;
    if (b->len && b->at)
        memmove(b->at, b->at + len, b->len);
}

static umbel_status parse_messages(line *l, umbel_error *err)
{
    size_t used;

    for (;;) {
        UM_TRY(umbel_sync_split(l->dir->machine, l->heard.at, l->heard.len,
                                &used, err));
        if (!used)
            return UMBEL_OK;
        UM_TRY(um_sync_parse(l->dir, l->peer, (umbel_slice){l->heard.at, used},
                             err));
        consume(&l->heard, used);
    }
}

static umbel_status read_some(line *l, bool *closed, umbel_error *err)
{
    uint8_t bytes[PIECE];
    ssize_t n = read(l->in, bytes, sizeof bytes);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return um_fail_errno(err, "reading from the other side");
    *closed = n == 0;
    if (n <= 0)
        return UMBEL_OK;
    if (l->link)
        return um_link_receive(l->link, (umbel_slice){bytes, (size_t)n}, err);
    UM_TRY(append(&l->heard, bytes, (size_t)n, err));
    return parse_messages(l, err);
}

static umbel_status write_some(line *l, umbel_error *err)
{
    ssize_t n = write(l->out, l->said.at, l->said.len);

    if (n < 0 && errno == EPIPE) { /* reading shows that it has ended */
        l->said.len = 0;
        return UMBEL_OK;
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return um_fail_errno(err, "writing to the other side");
    if (n > 0)
        consume(&l->said, (size_t)n);
    return UMBEL_OK;
}

static umbel_status say(line *l, umbel_slice message, umbel_error *err)
{
    return l->link ? um_link_send(l->link, message, err)
                   : append(&l->said, message.data, message.len, err);
}

/* Bytes that wait to be written; with a link also those that it made. */
static umbel_status fill_said(line *l, umbel_error *err)
{
    umbel_slice m;

    while (l->said.len < PIECE &&
           (!l->link || (um_link_is_ready(l->link) &&
                         um_link_output(l->link).len < PIECE)) &&
           umbel_sync_next(l->dir->machine, l->peer, (uint64_t)time(NULL), &m))
        UM_TRY(say(l, m, err));
    if (!l->link)
        return UMBEL_OK;
    m = um_link_output(l->link);
    UM_TRY(append(&l->said, m.data, m.len, err));
    um_link_sent(l->link, m.len);
    return UMBEL_OK;
}

static umbel_status exchange(line *l, umbel_error *err)
{
    for (bool closed = false;;) {
        struct pollfd fds[2] = {{l->in, POLLIN, 0}, {l->out, POLLOUT, 0}};
        UM_TRY(fill_said(l, err));
        if (umbel_sync_finished(l->dir->machine, l->peer) && !l->said.len)
            return UMBEL_OK;
        if (closed)
            return um_fail(
                err, UMBEL_E_IO,
                l->link && !um_link_is_ready(l->link)
                    ? "the server hung up: its configuration needs peer "
                      "\"NAME\" { key = \"KEY\" } with the origin that "
                      "'umbel info DIR' prints"
                    : "the other side ended before all was exchanged");
        int n = poll(fds, l->said.len ? 2 : 1, PATIENCE_MS);
        if (n == 0)
            return um_fail(err, UMBEL_E_IO,
                           "the other side has been silent for a minute");
        if (n < 0)
            continue;
        if (l->said.len && fds[1].revents)
            UM_TRY(write_some(l, err));
        if (fds[0].revents)
            UM_TRY(read_some(l, &closed, err));
    }
}

static umbel_status exchange_and_save(line *l, um_sync_outcome *result,
                                      umbel_error *err)
{
    umbel_status status = umbel_sync_connect(l->dir->machine, &l->peer, err);

    if (!status)
        status = exchange(l, err);
    if (!status)
        status = um_sync_dir_save(l->dir, err);
    if (!status)
        um_sync_note_outcome(l->dir, l->peer, result);
    free(l->heard.at);
    free(l->said.at);
    return status;
}

/* --- whose turn it is ----------------------------------------------------- */

#define TURN_MAGIC "umbel-line-1"

enum { MAGIC_LEN = 12, TURN_LEN = MAGIC_LEN + UMBEL_ORIGIN_LEN };

static umbel_status write_all(int fd, const void *bytes, size_t len,
                              umbel_error *err)
{
    /* The pipe is empty; reading shows that the other side has ended. */
    if (write(fd, bytes, len) != (ssize_t)len && errno != EPIPE)
        return um_fail_errno(err, "writing to the other side");
    return UMBEL_OK;
}

static umbel_status read_all(int fd, uint8_t *out, size_t len, umbel_error *err)
{
    for (size_t got = 0; got < len;) {
        struct pollfd ready = {fd, POLLIN, 0};
        int n = poll(&ready, 1, PATIENCE_MS);
        if (n == 0)
            return um_fail(err, UMBEL_E_IO,
                           "the other side has been silent for a minute: "
                           "another umbel sync may use its directory");
        ssize_t some = n < 0 ? -1 : read(fd, out + got, len - got);
        if (some == 0)
            return um_fail(err, UMBEL_E_IO,
                           "the other side ended before all was exchanged");
        if (some < 0 && errno != EINTR && errno != EAGAIN)
            return um_fail_errno(err, "reading from the other side");
        got += some > 0 ? (size_t)some : 0;
    }
    return UMBEL_OK;
}

/* Both say their origin; the smaller one is open when this ends. */
static umbel_status parse_turns(um_sync_dir *d, const char *path, int in,
                                int out, umbel_error *err)
{
    uint8_t ours[TURN_LEN] = TURN_MAGIC, theirs[TURN_LEN], turn = 1;
    uint64_t now = (uint64_t)time(NULL);

    UM_TRY(um_sync_dir_origin(path, ours + MAGIC_LEN, err));
    UM_TRY(write_all(out, ours, sizeof ours, err));
    UM_TRY(read_all(in, theirs, sizeof theirs, err));
    if (memcmp(theirs, TURN_MAGIC, MAGIC_LEN) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the other side is not umbel sync --stdio, or one of "
                       "another version");
    int order = memcmp(ours, theirs, sizeof ours);
    if (order == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "that is the same directory, or a copy of it");
    if (order > 0)
        UM_TRY(read_all(in, &turn, 1, err));
    UM_TRY(um_sync_dir_open(d, path, now, err));
    return order < 0 ? write_all(out, &turn, 1, err) : UMBEL_OK;
}

umbel_status um_sync_over_pipes(const char *path, int in, int out,
                                um_sync_outcome *result, umbel_error *err)
{
    um_sync_dir d = {.lock = -1};
    line l = {.dir = &d, .in = in, .out = out};
    umbel_status status = parse_turns(&d, path, in, out, err);

    if (!status)
        status = exchange_and_save(&l, result, err);
    um_sync_dir_close(&d);
    return status;
}

/* --- a clearinghouse ------------------------------------------------------ */

static bool is_known(void *ctx, const uint8_t key[UMBEL_TRUST_KEY_LEN])
{
    const line *l = ctx;

    return memcmp(key, l->dir->terms.server, UMBEL_ORIGIN_LEN) == 0;
}

static umbel_status parse_from_link(void *ctx, umbel_slice message,
                                    umbel_error *err)
{
    const line *l = ctx;

    return message.len ? um_sync_parse(l->dir, l->peer, message, err)
                       : UMBEL_OK;
}

/* Connects, or gives up after CALL_MS. */
static int call_address(const struct addrinfo *a)
{
    int fd =
        socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int failed = 0;
    socklen_t len = sizeof failed;

    if (fd < 0)
        return -1;
    struct pollfd ready = {fd, POLLOUT, 0};
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 &&
        (errno != EINPROGRESS || poll(&ready, 1, CALL_MS) != 1 ||
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) != 0 || failed)) {
        close(fd);
        errno = failed ? failed : ETIMEDOUT;
        return -1;
    }
    return fd;
}

/* HOST:PORT, [::1]:PORT. */
static umbel_status call(const char *address, int *fd, umbel_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all;
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;
    char host[256];

    if (!len || !colon[1] || len >= sizeof host)
        return um_fail(err, UMBEL_E_RANGE, "give tcp://HOST:PORT");
    if (address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    }
    memcpy(host, address, len);
    host[len] = '\0';
    int code = getaddrinfo(host, colon + 1, &hints, &all);
    if (code)
        return um_fail(err, UMBEL_E_IO, "%.200s: %s", host, gai_strerror(code));
    *fd = -1;
    for (const struct addrinfo *a = all; a && *fd < 0; a = a->ai_next)
        *fd = call_address(a);
    freeaddrinfo(all);
    return *fd < 0 ? um_fail_errno(err, "calling the server") : UMBEL_OK;
}

umbel_status um_sync_over_tcp(um_sync_dir *d, const char *address,
                              um_sync_outcome *result, umbel_error *err)
{
    uint8_t key[UMBEL_SIGN_KEY_LEN];
    line l = {.dir = d};
    um_link_config config = {.sign_key = key,
                             .caller = true,
                             .is_known = is_known,
                             .take = parse_from_link,
                             .ctx = &l,
                             .message_max = PIECE};

    if (!d->terms.has_server)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "the directory is of no server: make one with "
                       "--like FILE, which 'umbel-clearinghouse shape' writes");
    UM_TRY(um_sync_dir_key(d, key, err));
    umbel_status status = call(address, &l.in, err);
    l.out = l.in;
    if (!status) {
        status = um_link_open(&config, &l.link, err);
        if (!status)
            status = exchange_and_save(&l, result, err);
        um_link_close(l.link);
        close(l.in);
    }
    sodium_memzero(key, sizeof key);
    return status;
}
