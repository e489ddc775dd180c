/*
 * cmd_sync.c - umbel sync: directories of filters with many writers.
 *
 * Two directories are joined here, in one process; or one of them is behind a
 * pipe, at whose other end 'umbel sync --stdio' runs.
 */
#include "base/error.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"
#include "exchange/manifest.h"
#include "exchange/sync_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct sync_args {
    const char *dir, *target, *name;
    bool init, stdio;
    um_whole capacity;
    um_shape_args shape;
    um_secret_args secret;
} sync_args;

enum { EXCHANGE = UM_MODE(0), INIT = UM_MODE(1), STDIO = UM_MODE(2) };

static const um_option options[] = {
    {"init", 0, NULL, "make DIR, an empty filter and a key that signs",
     UM_TARGET(sync_args, init), .needs = "name", .excludes = "stdio"},
    {"name", 0, "NAME", "what people call this writer",
     UM_TARGET(sync_args, name), .modes = INIT},
    {"capacity", 'n', "N", "room for N keys of each writer",
     UM_TARGET(sync_args, capacity), .low = 1, .modes = INIT},
    {"stdio", 0, NULL,
     "the other side is at standard input and output (used by exec: and ssh:)",
     UM_TARGET(sync_args, stdio)},
    {0}};

static unsigned mode(const void *values)
{
    const sync_args *a = values;
    return a->init ? INIT : a->stdio ? STDIO : EXCHANGE;
}

/* --- what was exchanged --------------------------------------------------- */

typedef struct outcome {
    uint64_t bytes_in, bytes_out, cells, agreement, refused;
    char other[17]; /* agreement of the other side, where it is known */
} outcome;

static void note_outcome(const um_sync_dir *d, int peer, outcome *out)
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

static uint64_t now(void)
{
    return (uint64_t)time(NULL);
}

/* What is refused of one origin does not end the exchange. */
static umbel_status take_message(um_sync_dir *d, int peer, const void *bytes,
                                 size_t len, umbel_error *err)
{
    umbel_status status =
        umbel_sync_receive(d->machine, peer, bytes, len, now(), err);

    if (d->differs[0])
        return um_fail(err, UMBEL_E_MISMATCH,
                       "the other side has filters of other options: %.180s",
                       d->differs);
    return status == UMBEL_E_FORMAT || status == UMBEL_E_CHECKSUM ||
                   status == UMBEL_E_VERSION || status == UMBEL_E_NOMEM
               ? status
               : UMBEL_OK;
}

/* --- two directories ------------------------------------------------------ */

/* Moves what one has to say to the other. False: nothing. */
static umbel_status carry(um_sync_dir *from, int to_peer, um_sync_dir *to,
                          int from_peer, bool *moved, umbel_error *err)
{
    umbel_slice m;

    while (umbel_sync_next(from->machine, to_peer, now(), &m)) {
        *moved = true;
        UM_TRY(take_message(to, from_peer, m.data, m.len, err));
    }
    return UMBEL_OK;
}

static umbel_status join(um_sync_dir *a, um_sync_dir *b, outcome *out,
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
    note_outcome(a, pa, out);
    if (!umbel_sync_finished(a->machine, pa))
        return um_fail(err, UMBEL_E_REFUSED,
                       "the directories do not agree: "
                       "one refuses what the other has");
    UM_TRY(um_sync_dir_save(b, err));
    return um_sync_dir_save(a, err);
}

/* Both are locked, always in the same order. */
static umbel_status sync_dirs(const char *path, const char *other, outcome *out,
                              umbel_error *err)
{
    struct stat first = {.st_ino = 0}, second = {.st_ino = 0};
    um_sync_dir a, b;
    umbel_status status;

    if (stat(path, &first) != 0)
        return um_fail_path(err, path);
    if (stat(other, &second) != 0)
        return um_fail_path(err, other);
    bool swap = first.st_ino > second.st_ino;
    if (first.st_ino == second.st_ino && first.st_dev == second.st_dev)
        return um_fail(err, UMBEL_E_RANGE, "that is the same directory");
    UM_TRY(um_sync_dir_open(swap ? &b : &a, swap ? other : path, err));
    status = um_sync_dir_open(swap ? &a : &b, swap ? path : other, err);
    if (status) {
        um_sync_dir_close(swap ? &b : &a);
        return status;
    }
    status = join(&a, &b, out, err);
    um_sync_dir_close(&a);
    um_sync_dir_close(&b);
    return status;
}

/* --- a pipe --------------------------------------------------------------- */

typedef struct pipe_ends {
    int in, out;
} pipe_ends;

typedef struct buffer {
    uint8_t *at;
    size_t len, cap;
} buffer;

enum { PIECE = 65536, PATIENCE_MS = 60000 };

static umbel_status append(buffer *b, const void *data, size_t len,
                           umbel_error *err)
{
    if (!len)
        return UMBEL_OK;
    if (!b->at || b->cap - b->len < len) {
        size_t cap = 2 * (b->len + len);
        uint8_t *at = realloc(b->at, cap);
        if (!at)
            return um_fail(err, UMBEL_E_NOMEM, "no memory for a message");
        b->at = at;
        b->cap = cap;
    }
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

static umbel_status take_messages(um_sync_dir *d, int peer, buffer *in,
                                  umbel_error *err)
{
    size_t used;

    for (;;) {
        UM_TRY(umbel_sync_split(d->machine, in->at, in->len, &used, err));
        if (!used)
            return UMBEL_OK;
        UM_TRY(take_message(d, peer, in->at, used, err));
        consume(in, used);
    }
}

static umbel_status read_some(int fd, buffer *in, bool *closed,
                              umbel_error *err)
{
    uint8_t bytes[PIECE];
    ssize_t n = read(fd, bytes, sizeof bytes);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return um_fail_errno(err, "reading from the other side");
    *closed = n == 0;
    return n > 0 ? append(in, bytes, (size_t)n, err) : UMBEL_OK;
}

static umbel_status write_some(int fd, buffer *out, umbel_error *err)
{
    ssize_t n = write(fd, out->at, out->len);

    if (n < 0 && errno == EPIPE) { /* reading shows that it has ended */
        out->len = 0;
        return UMBEL_OK;
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return um_fail_errno(err, "writing to the other side");
    if (n > 0)
        consume(out, (size_t)n);
    return UMBEL_OK;
}

static umbel_status fill_out(um_sync_dir *d, int peer, buffer *out,
                             umbel_error *err)
{
    umbel_slice m;

    while (out->len < PIECE && umbel_sync_next(d->machine, peer, now(), &m))
        UM_TRY(append(out, m.data, m.len, err));
    return UMBEL_OK;
}

static umbel_status exchange(um_sync_dir *d, int peer, pipe_ends p, buffer *in,
                             buffer *out, umbel_error *err)
{
    for (bool closed = false;;) {
        struct pollfd fds[2] = {{p.in, POLLIN, 0}, {p.out, POLLOUT, 0}};
        UM_TRY(fill_out(d, peer, out, err));
        if (umbel_sync_finished(d->machine, peer) && !out->len)
            return UMBEL_OK;
        if (closed)
            return um_fail(err, UMBEL_E_IO,
                           "the other side ended before all was exchanged");
        int n = poll(fds, out->len ? 2 : 1, PATIENCE_MS);
        if (n == 0)
            return um_fail(err, UMBEL_E_IO,
                           "the other side has been silent for a minute");
        if (n < 0)
            continue;
        if (out->len && fds[1].revents)
            UM_TRY(write_some(p.out, out, err));
        if (fds[0].revents)
            UM_TRY(read_some(p.in, in, &closed, err));
        UM_TRY(take_messages(d, peer, in, err));
    }
}

static umbel_status sync_pipe(const char *path, pipe_ends p, outcome *result,
                              umbel_error *err)
{
    buffer in = {.len = 0}, out = {.len = 0};
    um_sync_dir d;
    int peer;

    UM_TRY(um_sync_dir_open(&d, path, err));
    umbel_status status = umbel_sync_connect(d.machine, &peer, err);
    if (!status)
        status = exchange(&d, peer, p, &in, &out, err);
    if (!status)
        status = um_sync_dir_save(&d, err);
    if (!status)
        note_outcome(&d, peer, result);
    free(in.at);
    free(out.at);
    um_sync_dir_close(&d);
    return status;
}

/* Runs a program at the other end of two pipes. */
static umbel_status start_program(char *const argv[], pipe_ends *ours,
                                  pid_t *pid, umbel_error *err)
{
    int to[2], from[2];

    if (pipe(to) != 0)
        return um_fail_errno(err, "a pipe");
    if (pipe(from) != 0) {
        close(to[0]);
        close(to[1]);
        return um_fail_errno(err, "a pipe");
    }
    *pid = fork();
    if (*pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    *ours = (pipe_ends){from[0], to[1]};
    if (*pid > 0)
        return UMBEL_OK;
    close(ours->in);
    close(ours->out);
    return um_fail_errno(err, "starting a program");
}

static umbel_status sync_program(const char *path, char *const argv[],
                                 outcome *out, umbel_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    pipe_ends ends;
    pid_t pid;
    int code = 0;

    UM_TRY(start_program(argv, &ends, &pid, err));
    sigaction(SIGPIPE, &ignore, &before);
    fcntl(ends.out, F_SETFL, O_NONBLOCK);
    umbel_status status = sync_pipe(path, ends, out, err);
    close(ends.in);
    close(ends.out);
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGPIPE, &before, NULL);
    if (!status && code != 0)
        status = um_fail(err, UMBEL_E_IO,
                         "the other side failed, after all was exchanged");
    return status;
}

/* ssh://host/DIR: an absolute path there is ssh://host//DIR. */
static umbel_status sync_ssh(const char *path, const char *rest, outcome *out,
                             umbel_error *err)
{
    const char *slash = strchr(rest, '/');
    char host[256], program[] = "ssh", dashes[] = "--", command[4400] = "";
    size_t len = slash ? (size_t)(slash - rest) : 0;

    if (!len || len >= sizeof host || !slash[1] || strchr(slash, '\''))
        return um_fail(err, UMBEL_E_RANGE,
                       "give ssh://HOST/DIR, a path without quotes");
    memcpy(host, rest, len);
    host[len] = '\0';
    snprintf(command, sizeof command, "umbel sync --stdio '%.4095s'",
             slash + 1);
    char *argv[] = {program, dashes, host, command, NULL};
    return sync_program(path, argv, out, err);
}

static umbel_status sync_target(const sync_args *a, outcome *out,
                                umbel_error *err)
{
    char shell[] = "/bin/sh", c[] = "-c";

    if (strncmp(a->target, "ssh://", 6) == 0)
        return sync_ssh(a->dir, a->target + 6, out, err);
    if (strncmp(a->target, "exec:", 5) != 0)
        return sync_dirs(a->dir, a->target, out, err);
    char *command = strdup(a->target + 5);
    if (!command)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a command");
    char *argv[] = {shell, c, command, NULL};
    umbel_status status = sync_program(a->dir, argv, out, err);
    free(command);
    return status;
}

/* --- the command ---------------------------------------------------------- */

static umbel_status make_dir(const um_args *args, umbel_error *err)
{
    const sync_args *a = args->values;
    um_filter_params p;
    umbel_filter *shape = NULL;
    um_report report = {0};
    um_sync_dir d;
    char origin[UM_DIGEST_HEX];

    UM_TRY(um_params_from_args(&a->shape, a->secret.key_file, &p, err));
    p.params.capacity = a->capacity.n;
    umbel_status status = umbel_create(p.kind, &p.params, &shape, err);
    um_filter_params_fini(&p);
    if (!status)
        status = um_sync_dir_make(a->dir, a->name, shape, now(), err);
    umbel_close(shape);
    UM_TRY(status);
    UM_TRY(um_sync_dir_open(&d, a->dir, err));
    um_digest_text(umbel_sync_origin(d.machine), origin);
    um_report_file(&report, "directory", NULL, a->dir);
    um_report_text(&report, "name", NULL, d.name);
    um_report_text(&report, "origin", NULL, origin);
    um_report_text(&report, "kind", NULL, umbel_kind(d.shape));
    um_report_count(&report, "bytes", "bytes of a filter", NULL,
                    umbel_encoded_len(d.shape));
    um_report_note(&report,
                   "Make the others with the same options, then exchange with "
                   "umbel sync DIR TARGET.");
    um_report_print(args, &report);
    um_report_fini(&report);
    um_sync_dir_close(&d);
    return UMBEL_OK;
}

static umbel_status exchange_all(const um_args *args, umbel_error *err)
{
    const sync_args *a = args->values;
    um_report report = {0};
    outcome out = {.cells = 0};

    UM_TRY(sync_target(a, &out, err));
    um_report_count(&report, "bytes_in", "received", "bytes", out.bytes_in);
    um_report_count(&report, "bytes_out", "sent", "bytes", out.bytes_out);
    um_report_count(&report, "cells_changed", NULL, NULL, out.cells);
    um_report_hex(&report, "agreement", NULL, out.agreement);
    if (out.refused)
        um_report_note(
            &report, "%s refused.",
            um_counted(out.refused, "message was", "messages were").text);
    um_report_print(args, &report);
    um_report_fini(&report);
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    const sync_args *a = args->values;
    outcome out = {.cells = 0};
    umbel_error err;
    umbel_status status;

    if (!a->init && !a->stdio && !a->target)
        return um_misuse(args, "name the other side: DIR, exec:COMMAND or "
                               "ssh://HOST/DIR");
    if (a->stdio)
        status = sync_pipe(a->dir, (pipe_ends){STDIN_FILENO, STDOUT_FILENO},
                           &out, &err);
    else
        status = a->init ? make_dir(args, &err) : exchange_all(args, &err);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
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
              {"with --stdio", "--stdio"}},
    .mode = mode,
    .run = run,
    .example = "--init mine --name alpha -n 100000 --kind counting",
    .details =
        "DIR holds one filter for each writer. 'umbel add DIR' adds to the one "
        "that is ours, 'umbel check DIR' asks all, and sums their counts. "
        "TARGET is another such directory, exec:COMMAND or ssh://HOST/DIR. "
        "Afterwards both sides have the same filters, and the same word of "
        "agreement.",
};
