/*
 * sync.c - umbel sync: directories of filters with many writers.
 *
 * Both directories are local and are synced in this process; or the other one
 * is reached through a pipe to 'umbel sync --stdio'; or the other side is a
 * server.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/report.h"
#include "filter/handle.h"
#include "publish/manifest.h"
#include "sync/directory.h"
#include "trust/link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The result of an exchange. */
typedef struct um_sync_outcome {
    const um_args *args; /* of the command, for warnings */
    uint64_t bytes_in, bytes_out, cells, agreement, origins;
    um_texts dropped, refused; /* origins */
    bool renewed, incomplete;  /* something was refused or banned */
} um_sync_outcome;

/*
 * Exchanges messages over a connection until both sides have everything.
 */

typedef struct buffer {
    uint8_t *at;
    size_t len, cap;
} buffer;

typedef struct line {
    um_sync_dir *dir;
    int peer, in, out;
    um_link *link; /* NULL: unencrypted messages */
    buffer received, sent;
} line;

enum { PIECE = 65536, CALL_MS = 15000 };

/* Both directories may refuse the same one. */
static void add_name(um_texts *names, const uint8_t *origin)
{
    char hex[UM_DIGEST_HEX];

    um_digest_text(origin, hex);
    if (!um_texts_has(names, hex))
        um_texts_add(names, hex);
}

static void outcome_fini(um_sync_outcome *out)
{
    um_texts_fini(&out->dropped);
    um_texts_fini(&out->refused);
}

static void warn_banned(const um_args *args, const um_sync_dir *d,
                        const um_sync_refusal *r, const char *origin)
{
    if (memcmp(r->origin, umbel_sync_origin(d->machine), UMBEL_ORIGIN_LEN) == 0)
        um_warn(args,
                "other machines have two different versions of the filter of "
                "%s and banned it; its keys are in a new filter now. Find out "
                "where a copy of this directory runs",
                d->path);
    else
        um_warn(args,
                "origin %s was banned: it signed two different versions with "
                "the same number, so it lies, or a copy of its directory runs "
                "somewhere. Its filters in %s are now named kept-*; to use "
                "them again: umbel sync %s --restore %s",
                origin, d->path, d->path, origin);
}

static void warn_refused(const um_args *args, const um_sync_dir *d,
                         const um_sync_refusal *r, const char *origin)
{
    if (r->reason == UMBEL_SYNC_ORIGIN)
        um_warn(args,
                "origin %s is not allowed in %s; to accept it: umbel sync %s "
                "--allow %s; to refuse it without this warning: --drop %s",
                origin, d->path, d->path, origin, origin);
    else if (r->reason == UMBEL_SYNC_LIMIT || r->reason == UMBEL_SYNC_MEMORY)
        um_warn(args,
                "origin %s was refused: %s has a limit of %" PRIu32
                " origins; to accept it: umbel sync %s --max-origins N",
                origin, d->path, d->max_origins, d->path);
    else if (r->reason == UMBEL_SYNC_INCARNATIONS)
        um_warn(args,
                "a further filter of origin %s was refused: %s accepts %d of "
                "one origin, and that machine was restored or copied that "
                "often. There, add keys to a new directory from now on: umbel "
                "sync --init NEW --name NAME, with the same options",
                origin, d->path, UM_SYNC_MAX_FILTERS);
    else if (r->reason == UMBEL_SYNC_DISPUTED)
        um_warn(args,
                "the other side claims to have another version of the filter "
                "of %s, and did not prove it. If it refuses that filter, to "
                "have both versions there: umbel sync DIR --restore %s",
                d->path, origin);
    else if (r->reason == UMBEL_SYNC_SHRANK)
        um_warn(args,
                "%s has another version of a filter of origin %s than the "
                "other side: that machine was restored from a backup or "
                "copied. Exchange with it; if it is gone, to have both "
                "versions: umbel sync %s --restore %s",
                d->path, origin, d->path, origin);
    else
        um_warn(args, "a filter of origin %s was refused by %s (%s): %s",
                origin, d->path, umbel_sync_reason_name(r->reason), r->text);
}

/* Also with --quiet: nothing is refused in silence. */
static void warn_refusals(const um_sync_dir *d, um_sync_outcome *out)
{
    for (size_t i = 0; i < d->nrefusals; i++) {
        const um_sync_refusal *r = &d->refusal[i];
        char origin[UM_DIGEST_HEX];
        um_digest_text(r->origin, origin);
        (r->banned ? warn_banned : warn_refused)(out->args, d, r, origin);
        if (!r->banned)
            add_name(&out->refused, r->origin);
    }
    if (d->unrecorded)
        um_warn(out->args, "%s by %s",
                um_counted(d->unrecorded, "more message was refused",
                           "more messages were refused")
                    .text,
                d->path);
    out->incomplete |= d->nrefusals > 0;
}

static void sync_note_outcome(const um_sync_dir *d, int peer,
                              um_sync_outcome *out)
{
    umbel_sync_peer_stats stats;
    uint8_t origin[UMBEL_ORIGIN_LEN];

    umbel_sync_peer_stats_get(d->machine, peer, &stats);
    out->bytes_in = stats.bytes_in;
    out->bytes_out = stats.bytes_out;
    out->cells = stats.changed_in + stats.changed_out;
    out->agreement = umbel_sync_agreement(d->machine, 0);
    out->origins = um_sync_dir_count_origins(d);
    out->renewed = d->renewed || d->was_renewed;
    for (size_t at = 0; um_sync_dir_next_dropped(d, &at, origin);)
        add_name(&out->dropped, origin);
}

/* Applies a message. A refused origin is not an error. */
static umbel_status sync_apply(um_sync_dir *d, int peer, umbel_slice message,
                               umbel_error *err)
{
    umbel_status status =
        um_sync_dir_receive(d, peer, message, (uint64_t)time(NULL), err);

    if (d->differs[0])
        return um_fail(err, UMBEL_E_MISMATCH,
                       "the other side has filters of other options: %.180s",
                       d->differs);
    return status == UMBEL_E_FORMAT || status == UMBEL_E_CHECKSUM ||
                   status == UMBEL_E_VERSION || status == UMBEL_E_NOMEM ||
                   status == UMBEL_E_IO
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

static umbel_status apply_messages(line *l, umbel_error *err)
{
    size_t used;

    for (;;) {
        UM_TRY(umbel_sync_split(l->dir->machine, l->received.at,
                                l->received.len, &used, err));
        if (!used)
            return UMBEL_OK;
        UM_TRY(sync_apply(l->dir, l->peer, (umbel_slice){l->received.at, used},
                          err));
        consume(&l->received, used);
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
    UM_TRY(append(&l->received, bytes, (size_t)n, err));
    return apply_messages(l, err);
}

static umbel_status write_some(line *l, umbel_error *err)
{
    ssize_t n = write(l->out, l->sent.at, l->sent.len);

    if (n < 0 && errno == EPIPE) { /* reading will notice the end */
        l->sent.len = 0;
        return UMBEL_OK;
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return um_fail_errno(err, "writing to the other side");
    if (n > 0)
        consume(&l->sent, (size_t)n);
    return UMBEL_OK;
}

static umbel_status say(line *l, umbel_slice message, umbel_error *err)
{
    return l->link ? um_link_send(l->link, message, err)
                   : append(&l->sent, message.data, message.len, err);
}

/* Fills the send buffer, through the link if there is one. */
static umbel_status fill_said(line *l, umbel_error *err)
{
    umbel_slice m;

    while (l->sent.len < PIECE &&
           (!l->link || (um_link_is_ready(l->link) &&
                         um_link_output(l->link).len < PIECE)) &&
           umbel_sync_next(l->dir->machine, l->peer, (uint64_t)time(NULL), &m))
        UM_TRY(say(l, m, err));
    if (!l->link)
        return UMBEL_OK;
    m = um_link_output(l->link);
    UM_TRY(append(&l->sent, m.data, m.len, err));
    um_link_sent(l->link, m.len);
    return UMBEL_OK;
}

static umbel_status exchange(line *l, umbel_error *err)
{
    for (bool closed = false;;) {
        struct pollfd fds[2] = {{l->in, POLLIN, 0}, {l->out, POLLOUT, 0}};
        UM_TRY(fill_said(l, err));
        if (umbel_sync_finished(l->dir->machine, l->peer) && !l->sent.len)
            return UMBEL_OK;
        if (closed)
            return um_fail(
                err, UMBEL_E_IO,
                l->link && !um_link_is_ready(l->link)
                    ? "the server hung up: its configuration needs peer "
                      "\"NAME\" { key = \"KEY\" } with the origin that "
                      "'umbel info DIR' prints"
                    : "the other side ended before all was exchanged");
        int n = poll(fds, l->sent.len ? 2 : 1, UM_REMOTE_PATIENCE_MS);
        if (n == 0)
            return um_fail(err, UMBEL_E_IO,
                           "the other side has been silent for a minute");
        if (n < 0)
            continue;
        if (l->sent.len && fds[1].revents)
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
    if (!status) {
        sync_note_outcome(l->dir, l->peer, result);
        status = um_sync_dir_end_exchange(l->dir, l->peer, err);
    }
    um_warn_renewed(result->args, l->dir, status != UMBEL_OK);
    warn_refusals(l->dir, result);
    free(l->received.at);
    free(l->sent.at);
    return status;
}

/* --- the order of locking ------------------------------------------------- */

#define TURN_MAGIC "umbel-line-1"

enum { MAGIC_LEN = 12, TURN_LEN = MAGIC_LEN + UMBEL_ORIGIN_LEN };

static umbel_status write_all(int fd, const void *bytes, size_t len,
                              umbel_error *err)
{
    /* The pipe is empty, so this does not block; reading will notice if the
     * other side has ended. */
    if (write(fd, bytes, len) != (ssize_t)len && errno != EPIPE)
        return um_fail_errno(err, "writing to the other side");
    return UMBEL_OK;
}

static umbel_status read_all(int fd, uint8_t *out, size_t len, umbel_error *err)
{
    for (size_t got = 0; got < len;) {
        struct pollfd ready = {fd, POLLIN, 0};
        int n = poll(&ready, 1, UM_REMOTE_PATIENCE_MS);
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

/* Exchanges origins; the side with the smaller one opens its directory first.
 * The directory is open afterwards. */
static umbel_status exchange_turns(um_sync_dir *d, const char *path, int in,
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
                       "that is the same directory, or a copy of it: name a "
                       "copy by its path, or exchange by a third machine");
    if (order > 0)
        UM_TRY(read_all(in, &turn, 1, err));
    UM_TRY(um_sync_dir_open(d, path, now, err));
    return order < 0 ? write_all(out, &turn, 1, err) : UMBEL_OK;
}

/*
 * Syncs with 'umbel sync --stdio' at the other end of the pipes. The side with
 * the smaller origin locks its directory first, so two that call each other at
 * the same time do not deadlock.
 */
static umbel_status sync_over_pipes(const char *path, int in, int out,
                                    um_sync_outcome *result, umbel_error *err)
{
    um_sync_dir d = {.lock = -1};
    line l = {.dir = &d, .in = in, .out = out};
    umbel_status status = exchange_turns(&d, path, in, out, err);

    if (!status)
        status = exchange_and_save(&l, result, err);
    um_sync_dir_close(&d);
    return status;
}

/* --- a clearinghouse ------------------------------------------------------ */

static bool is_known(void *ctx, const uint8_t key[UMBEL_TRUST_KEY_LEN])
{
    const line *l = ctx;

    return memcmp(key, l->dir->parameters.server, UMBEL_ORIGIN_LEN) == 0;
}

static umbel_status apply_from_link(void *ctx, umbel_slice message,
                                    umbel_error *err)
{
    const line *l = ctx;

    return message.len ? sync_apply(l->dir, l->peer, message, err) : UMBEL_OK;
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

/* Connects to HOST:PORT or [::1]:PORT. */
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

/* Syncs with a clearinghouse at HOST:PORT, whose key is in the parameters. */
static umbel_status sync_over_tcp(um_sync_dir *d, const char *address,
                                  um_sync_outcome *result, umbel_error *err)
{
    uint8_t key[UMBEL_SIGN_KEY_LEN];
    line l = {.dir = d};
    um_link_config config = {.sign_key = key,
                             .caller = true,
                             .is_known = is_known,
                             .take = apply_from_link,
                             .ctx = &l,
                             .message_max = PIECE};

    if (!d->parameters.has_server)
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
        size_t refused = status ? 0 : um_sync_dir_count_refused(d, l.peer);
        if (refused) {
            um_warn(result->args, "the server refused %s",
                    um_counted(refused, "filter", "filters").text);
            result->incomplete = true;
        }
        um_link_close(l.link);
        close(l.in);
    }
    sodium_memzero(key, sizeof key);
    return status;
}

typedef struct sync_args {
    const char *dir, *target, *name, *like;
    bool init, stdio;
    um_list allow, drop, restore;
    um_whole capacity, max_origins;
    um_shape_args shape;
    um_secret_args secret;
} sync_args;

enum {
    EXCHANGE = UM_MODE(0),
    INIT = UM_MODE(1),
    STDIO = UM_MODE(2),
    LIKE = UM_MODE(3)
};

static const um_option options[] = {
    {"init", 0, NULL, "make DIR, an empty filter and a key that signs",
     UM_TARGET(sync_args, init), .excludes = "stdio"},
    {"name", 0, "NAME", "what people call this writer",
     UM_TARGET(sync_args, name), .modes = INIT | LIKE},
    {"like", 0, "FILE",
     "make the filter as that of FILE, which 'umbel-clearinghouse shape' wrote",
     UM_TARGET(sync_args, like), .role = UM_INPUT, .modes = LIKE},
    {"capacity", 'n', "N", "room for N keys of each writer",
     UM_TARGET(sync_args, capacity), .low = 1, .modes = INIT},
    {"stdio", 0, NULL,
     "the other side is at standard input and output (used by exec: and ssh:)",
     UM_TARGET(sync_args, stdio)},
    {"allow", 0, "KEY",
     "accept only origins that are allowed, and allow this one; may be "
     "repeated",
     UM_TARGET(sync_args, allow), .modes = EXCHANGE},
    {"drop", 0, "ORIGIN",
     "stop using the filters of ORIGIN, and refuse it; may be repeated",
     UM_TARGET(sync_args, drop), .modes = EXCHANGE},
    {"restore", 0, "ORIGIN",
     "use the filters that were kept when ORIGIN was dropped or banned; may "
     "be repeated",
     UM_TARGET(sync_args, restore), .modes = EXCHANGE},
    {"max-origins", 0, "N", "accept filters of at most N origins (default 16)",
     UM_TARGET(sync_args, max_origins), .low = 1, .high = UM_SYNC_MAX_ORIGINS,
     .modes = EXCHANGE},
    {0}};

static unsigned mode(const void *values)
{
    const sync_args *a = values;
    return a->init ? a->like ? LIKE : INIT : a->stdio ? STDIO : EXCHANGE;
}

static uint64_t now(void)
{
    return (uint64_t)time(NULL);
}

/* --- two directories ------------------------------------------------------ */

/* Passes all messages from one directory to the other; sets *moved if there
 * were any. */
static umbel_status carry(um_sync_dir *from, int to_peer, um_sync_dir *to,
                          int from_peer, bool *moved, umbel_error *err)
{
    umbel_slice m;

    while (umbel_sync_next(from->machine, to_peer, now(), &m)) {
        *moved = true;
        UM_TRY(sync_apply(to, from_peer, m, err));
    }
    return UMBEL_OK;
}

static bool has_dropped(const um_sync_dir *d)
{
    umbel_sync_origin_status origin;

    for (size_t at = 0;
         umbel_sync_next_origin_status(d->machine, &at, &origin);)
        if (origin.dropped)
            return true;
    return false;
}

/* Directories that refuse or dropped different origins differ; others must
 * not. */
static void warn_disagreement(const um_sync_dir *a, const um_sync_dir *b,
                              um_sync_outcome *out)
{
    uint64_t one = umbel_sync_agreement(a->machine, 0),
             other = umbel_sync_agreement(b->machine, 0);

    if (one == other || a->nrefusals || b->nrefusals || has_dropped(a) ||
        has_dropped(b))
        return;
    um_warn(out->args,
            "the directories still differ: agreement %016" PRIx64
            " and %016" PRIx64 "; exchange once more",
            one, other);
    out->incomplete = true;
}

static umbel_status join(um_sync_dir *a, um_sync_dir *b, um_sync_outcome *out,
                         umbel_error *err)
{
    bool moved = true;
    int pa, pb;

    UM_TRY(umbel_sync_connect(a->machine, &pa, err));
    UM_TRY(umbel_sync_connect(b->machine, &pb, err));
    while (moved) {
        moved = false;
        UM_TRY(carry(a, pa, b, pb, &moved, err));
        UM_TRY(carry(b, pb, a, pa, &moved, err));
    }
    if (!umbel_sync_finished(a->machine, pa))
        return um_fail(err, UMBEL_E_REFUSED,
                       "the directories do not agree: "
                       "one refuses what the other has");
    sync_note_outcome(a, pa, out);
    warn_disagreement(a, b, out);
    UM_TRY(um_sync_dir_end_exchange(b, pb, err));
    return um_sync_dir_end_exchange(a, pa, err);
}

/* Syncs two local directories. They are always locked in the same order. */
static umbel_status sync_dirs(const char *path, const char *other,
                              um_sync_outcome *out, umbel_error *err)
{
    struct stat first = {.st_ino = 0}, second = {.st_ino = 0};
    um_sync_dir a = {.lock = -1}, b = {.lock = -1};
    umbel_status status;

    if (stat(path, &first) != 0)
        return um_fail_path(err, path);
    if (stat(other, &second) != 0)
        return um_fail_path(err, other);
    bool swap = first.st_ino > second.st_ino;
    if (first.st_ino == second.st_ino && first.st_dev == second.st_dev)
        return um_fail(err, UMBEL_E_RANGE, "that is the same directory");
    UM_TRY(um_sync_dir_open(swap ? &b : &a, swap ? other : path, now(), err));
    status = um_sync_dir_open(swap ? &a : &b, swap ? path : other, now(), err);
    if (status) {
        um_sync_dir_close(swap ? &b : &a);
        return status;
    }
    status = join(&a, &b, out, err);
    um_warn_renewed(out->args, &a, status != UMBEL_OK);
    um_warn_renewed(out->args, &b, status != UMBEL_OK);
    warn_refusals(&a, out);
    warn_refusals(&b, out);
    um_sync_dir_close(&a);
    um_sync_dir_close(&b);
    return status;
}

/* --- a program ------------------------------------------------------------ */

static umbel_status sync_program(const char *path, const char *target,
                                 um_sync_outcome *out, umbel_error *err)
{
    um_remote r;

    UM_TRY(um_remote_open(&r, target, "sync --stdio", err));
    umbel_status status = sync_over_pipes(path, r.in, r.out, out, err);
    int code = um_remote_close(&r);
    if (!status && code == UM_EXIT_NO) {
        um_warn(out->args, "the other side refused or banned an origin");
        out->incomplete = true;
    } else if (!status && code != 0) {
        status = um_fail(err, UMBEL_E_IO,
                         "the other side failed, after all was exchanged");
    }
    return status;
}

/* Syncs with a server. SIGPIPE is ignored: reading notices if the server hangs
 * up. */
static umbel_status sync_tcp(const char *path, const char *address,
                             um_sync_outcome *out, umbel_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    um_sync_dir d;

    UM_TRY(um_sync_dir_open(&d, path, now(), err));
    sigaction(SIGPIPE, &ignore, &before);
    umbel_status status = sync_over_tcp(&d, address, out, err);
    sigaction(SIGPIPE, &before, NULL);
    um_sync_dir_close(&d);
    return status;
}

static umbel_status sync_target(const sync_args *a, um_sync_outcome *out,
                                umbel_error *err)
{
    if (strncmp(a->target, "tcp://", 6) == 0)
        return sync_tcp(a->dir, a->target + 6, out, err);
    return um_is_remote(a->target) ? sync_program(a->dir, a->target, out, err)
                                   : sync_dirs(a->dir, a->target, out, err);
}

/* --- the command ---------------------------------------------------------- */

/* Creates an empty filter from options, or like another one, whose file is tiny
 * however large the list is: 1 GiB holds about 200 million digests. */
static umbel_status create_shape(const sync_args *a, umbel_filter **shape,
                                 um_sync_parameters *parameters,
                                 umbel_error *err)
{
    umbel_source source = {.size = sizeof source,
                           .memory_limit = UINT64_C(1) << 30};
    um_filter_params p;

    *parameters = um_sync_parameters_standard;
    if (a->like) {
        UM_TRY(umbel_load(a->like, &source, shape, err));
        umbel_set_coded(*shape, false);
        UM_TRY(um_name_file(um_sync_parameters_of(*shape, parameters, err),
                            a->like, err));
        UM_TRY(umbel_set_data(*shape, NULL, 0, err));
        return umbel_clear(*shape, err);
    }
    UM_TRY(um_params_from_args(&a->shape, a->secret.key_file, &p, err));
    p.params.capacity = a->capacity.n;
    umbel_status status = umbel_create(p.kind, &p.params, shape, err);
    um_filter_params_fini(&p);
    return status;
}

static umbel_status create_dir(const um_args *args, umbel_error *err)
{
    const sync_args *a = args->values;
    umbel_filter *shape = NULL;
    um_sync_parameters parameters;
    um_report report = {0};
    um_sync_dir d;
    char origin[UM_DIGEST_HEX];

    if (!a->name)
        return um_fail(err, UMBEL_E_RANGE,
                       "--init needs --name NAME, what people call this "
                       "writer");
    umbel_status status = create_shape(a, &shape, &parameters, err);
    if (!status)
        um_prefixes_forget(shape); /* pages do not carry them */
    if (!status)
        status =
            um_sync_dir_create(a->dir, a->name, shape, &parameters, now(), err);
    umbel_close(shape);
    UM_TRY(status);
    UM_TRY(um_sync_dir_open(&d, a->dir, now(), err));
    um_digest_text(umbel_sync_origin(d.machine), origin);
    um_report_file(&report, "directory", NULL, a->dir);
    um_report_text(&report, "name", NULL, d.name);
    um_report_text(&report, "origin", NULL, origin);
    um_report_text(&report, "kind", NULL, umbel_kind(d.shape));
    um_report_count(&report, "bytes", "bytes of a filter", NULL,
                    umbel_encoded_len(d.shape));
    if (parameters.has_server)
        um_report_note(&report,
                       "The server's configuration needs peer \"%s\" { key = "
                       "\"%s\" }. Then exchange with umbel sync DIR "
                       "tcp://HOST:PORT.",
                       d.name, origin);
    else
        um_report_note(&report,
                       "Make the others with the same options, then exchange "
                       "with umbel sync DIR TARGET.");
    um_report_print(args, &report);
    um_report_fini(&report);
    um_sync_dir_close(&d);
    return UMBEL_OK;
}

static void report_names(um_report *r, const char *name, const um_texts *l)
{
    um_report_texts(r, name, NULL, (const char *const *)l->item, l->n);
}

static umbel_status exchange_all(const um_args *args, um_sync_outcome *out,
                                 umbel_error *err)
{
    um_report report = {0};

    UM_TRY(sync_target(args->values, out, err));
    um_report_count(&report, "bytes_in", "received", "bytes", out->bytes_in);
    um_report_count(&report, "bytes_out", "sent", "bytes", out->bytes_out);
    um_report_count(&report, "cells_changed", NULL, NULL, out->cells);
    um_report_hex(&report, "agreement", NULL, out->agreement);
    um_report_count(&report, "origins", NULL, NULL, out->origins);
    report_names(&report, "dropped", &out->dropped);
    report_names(&report, "refused", &out->refused);
    um_report_flag(&report, "renewed", NULL, out->renewed);
    um_report_print(args, &report);
    um_report_fini(&report);
    return UMBEL_OK;
}

/* --- which origins are accepted ------------------------------------------- */

static umbel_status
parse_origin(const char *text, uint8_t out[UMBEL_ORIGIN_LEN], umbel_error *err)
{
    if (strlen(text) + 1 == UM_DIGEST_HEX && um_digest_read(text, out))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "%.80s is no origin: give the 64 digits that 'umbel info "
                   "DIR' prints on its machine",
                   text);
}

static umbel_status restore_all(const sync_args *a, um_sync_dir *d,
                                uint64_t *restored, umbel_error *err)
{
    uint8_t origin[UMBEL_ORIGIN_LEN];
    size_t n;

    for (size_t i = 0; i < a->restore.n; i++) {
        UM_TRY(parse_origin(a->restore.item[i], origin, err));
        UM_TRY(um_sync_dir_restore(d, origin, &n, err));
        if (!n && um_sync_dir_has_origin(d, origin))
            return um_fail(err, UMBEL_E_REFUSED,
                           "%.2000s uses the filters of origin %s, and nothing "
                           "of it was kept or refused: there is nothing to "
                           "restore, and 'umbel check' finds its keys",
                           a->dir, a->restore.item[i]);
        if (!n)
            return um_fail(err, UMBEL_E_UNKNOWN,
                           "%.2000s has no filter of origin %s: exchange with "
                           "a machine that has one",
                           a->dir, a->restore.item[i]);
        *restored += n;
    }
    return UMBEL_OK;
}

static umbel_status apply_rules(const sync_args *a, um_sync_dir *d,
                                uint64_t *restored, umbel_error *err)
{
    uint8_t origin[UMBEL_ORIGIN_LEN];

    if (a->max_origins.given)
        um_sync_dir_limit(d, (uint32_t)a->max_origins.n);
    for (size_t i = 0; i < a->drop.n; i++) {
        UM_TRY(parse_origin(a->drop.item[i], origin, err));
        UM_TRY(umbel_sync_drop(d->machine, origin, false, err));
    }
    for (size_t i = 0; i < a->allow.n; i++)
        UM_TRY(parse_origin(a->allow.item[i], origin, err));
    for (size_t i = 0; i < a->allow.n; i++) {
        parse_origin(a->allow.item[i], origin, err);
        UM_TRY(um_sync_dir_allow(d, origin, err));
    }
    UM_TRY(restore_all(a, d, restored, err));
    return um_sync_dir_save(d, err);
}

/* Without TARGET, the report is about the directory alone. */
static umbel_status change_rules(const um_args *args, umbel_error *err)
{
    const sync_args *a = args->values;
    um_sync_outcome out = {.args = args};
    uint8_t origin[UMBEL_ORIGIN_LEN];
    uint64_t restored = 0;
    um_report report = {0};
    um_sync_dir d;

    UM_TRY(um_sync_dir_open(&d, a->dir, now(), err));
    umbel_status status = apply_rules(a, &d, &restored, err);
    if (!status)
        um_warn_renewed(args, &d, true);
    if (!status && !a->target) {
        for (size_t at = 0; um_sync_dir_next_dropped(&d, &at, origin);)
            add_name(&out.dropped, origin);
        um_report_file(&report, "directory", NULL, a->dir);
        um_report_count(&report, "origins", NULL, NULL,
                        um_sync_dir_count_origins(&d));
        um_report_count(&report, "max_origins", "origins at most", NULL,
                        d.max_origins);
        um_report_flag(&report, "strict", "allowed ones only", d.strict);
        report_names(&report, "dropped", &out.dropped);
        um_report_count(&report, "kept", "kept", "files",
                        um_sync_dir_count_kept(&d));
        um_report_count(&report, "restored", NULL, "files", restored);
        um_report_print(args, &report);
        um_report_fini(&report);
    }
    outcome_fini(&out);
    um_sync_dir_close(&d);
    return status;
}

static int run(const um_args *args)
{
    const sync_args *a = args->values;
    um_sync_outcome out = {.args = args};
    umbel_error err;
    umbel_status status = UMBEL_OK;
    bool rules =
        a->allow.n || a->drop.n || a->restore.n || a->max_origins.given;

    if (!a->init && !a->stdio && !a->target && !rules)
        return um_misuse(args, "name the other side: DIR, exec:COMMAND, "
                               "ssh://HOST/DIR or tcp://HOST:PORT");
    if (rules)
        status = change_rules(args, &err);
    if (!status && a->stdio)
        status =
            sync_over_pipes(a->dir, STDIN_FILENO, STDOUT_FILENO, &out, &err);
    else if (!status && a->init)
        status = create_dir(args, &err);
    else if (!status && a->target)
        status = exchange_all(args, &out, &err);
    outcome_fini(&out);
    if (status)
        return um_trouble(args, &err);
    return out.incomplete ? UM_EXIT_NO : UM_EXIT_FINE;
}

const um_command um_cmd_sync = {
    .name = "sync",
    .summary = "exchange filters that several machines write",
    .section = UM_EXCHANGE,
    .values_len = sizeof(sync_args),
    .operands = {{"DIR", UM_TEXT, offsetof(sync_args, dir), UM_PLAIN_TEXT,
                  .min = 1},
                 {"TARGET", UM_TEXT, offsetof(sync_args, target), UM_PLAIN_TEXT,
                  .modes = EXCHANGE}},
    .options = {{.rows = options},
                {um_shape_options, offsetof(sync_args, shape), INIT, NULL},
                {um_secret_options, offsetof(sync_args, secret), INIT, NULL}},
    .modes = {{"to exchange", "DIR other"},
              {"with --init", "--init --name N"},
              {"with --stdio", "--stdio"},
              {"with --like", "--init --name N --like FILE"}},
    .mode = mode,
    .run = run,
    .example = "--init mine --name alpha -n 100000 --kind counting",
    .details =
        "DIR holds one filter for each writer. 'umbel add DIR' adds to the one "
        "that is ours, 'umbel check DIR' asks all, and sums their counts. "
        "TARGET is another such directory, exec:COMMAND, ssh://HOST/DIR, or "
        "tcp://HOST:PORT of a clearinghouse. "
        "Afterwards both sides have the same filters, and print the same "
        "agreement hash.",
};
