/*
 * cmd_sync.c - umbel sync: directories of filters with many writers.
 *
 * Two directories are joined here, in one process; or one of them is behind a
 * pipe, at whose other end 'umbel sync --stdio' runs; or there is a server.
 */
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/commands/sync_line.h"
#include "cli/framework/report.h"
#include "cli/framework/table.h"
#include "publish/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct sync_args {
    const char *dir, *target, *name, *like;
    bool init, stdio;
    um_whole capacity;
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

/* Moves what one has to say to the other. False: nothing. */
static umbel_status carry(um_sync_dir *from, int to_peer, um_sync_dir *to,
                          int from_peer, bool *moved, umbel_error *err)
{
    umbel_slice m;

    while (umbel_sync_next(from->machine, to_peer, now(), &m)) {
        *moved = true;
        UM_TRY(um_sync_parse(to, from_peer, m, err));
    }
    return UMBEL_OK;
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
    um_sync_note_outcome(a, pa, out);
    if (!umbel_sync_finished(a->machine, pa))
        return um_fail(err, UMBEL_E_REFUSED,
                       "the directories do not agree: "
                       "one refuses what the other has");
    UM_TRY(um_sync_dir_save(b, err));
    return um_sync_dir_save(a, err);
}

/* Both are locked, always in the same order. */
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
    um_sync_dir_close(&a);
    um_sync_dir_close(&b);
    return status;
}

/* --- a program ------------------------------------------------------------ */

typedef struct pipe_ends {
    int in, out;
} pipe_ends;

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
                                 um_sync_outcome *out, umbel_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    pipe_ends ends;
    pid_t pid;
    int code = 0;

    UM_TRY(start_program(argv, &ends, &pid, err));
    sigaction(SIGPIPE, &ignore, &before);
    fcntl(ends.out, F_SETFL, O_NONBLOCK);
    umbel_status status = um_sync_over_pipes(path, ends.in, ends.out, out, err);
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

/* ssh://[user@]host[:port]/DIR: an absolute path there is ssh://host//DIR. */
static umbel_status sync_ssh(const char *path, const char *rest,
                             um_sync_outcome *out, umbel_error *err)
{
    const char *slash = strchr(rest, '/');
    char host[256] = "ssh://", program[] = "ssh", dashes[] = "--",
         command[4400] = "";
    size_t scheme = strlen(host);
    size_t len = slash ? (size_t)(slash - rest) : 0;

    if (!len || len >= sizeof host - scheme || !slash[1] || strchr(slash, '\''))
        return um_fail(err, UMBEL_E_RANGE,
                       "give ssh://HOST/DIR, a path without quotes");
    memcpy(host + scheme, rest, len);
    host[scheme + len] = '\0';
    snprintf(command, sizeof command, "umbel sync --stdio '%.4095s'",
             slash + 1);
    char *argv[] = {program, dashes, host, command, NULL};
    return sync_program(path, argv, out, err);
}

/* A server that hangs up is seen by reading. */
static umbel_status sync_tcp(const char *path, const char *address,
                             um_sync_outcome *out, umbel_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    um_sync_dir d;

    UM_TRY(um_sync_dir_open(&d, path, now(), err));
    sigaction(SIGPIPE, &ignore, &before);
    umbel_status status = um_sync_over_tcp(&d, address, out, err);
    sigaction(SIGPIPE, &before, NULL);
    um_sync_dir_close(&d);
    return status;
}

static umbel_status sync_target(const sync_args *a, um_sync_outcome *out,
                                umbel_error *err)
{
    char shell[] = "/bin/sh", c[] = "-c";

    if (strncmp(a->target, "ssh://", 6) == 0)
        return sync_ssh(a->dir, a->target + 6, out, err);
    if (strncmp(a->target, "tcp://", 6) == 0)
        return sync_tcp(a->dir, a->target + 6, out, err);
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

/* An empty filter, by options or like another one, whose file is tiny however
 * large the list is: 1 GiB are about 200 million digests. */
static umbel_status create_shape(const sync_args *a, umbel_filter **shape,
                                 um_sync_terms *terms, umbel_error *err)
{
    umbel_source source = {.size = sizeof source,
                           .memory_limit = UINT64_C(1) << 30};
    um_filter_params p;

    *terms = um_sync_terms_standard;
    if (a->like) {
        UM_TRY(umbel_load(a->like, &source, shape, err));
        umbel_set_coded(*shape, false);
        UM_TRY(
            um_name_file(um_sync_terms_of(*shape, terms, err), a->like, err));
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
    um_sync_terms terms;
    um_report report = {0};
    um_sync_dir d;
    char origin[UM_DIGEST_HEX];

    if (!a->name)
        return um_fail(err, UMBEL_E_RANGE,
                       "--init needs --name NAME, what people call this "
                       "writer");
    umbel_status status = create_shape(a, &shape, &terms, err);
    if (!status)
        status = um_sync_dir_create(a->dir, a->name, shape, &terms, now(), err);
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
    if (terms.has_server)
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

static umbel_status exchange_all(const um_args *args, umbel_error *err)
{
    const sync_args *a = args->values;
    um_report report = {0};
    um_sync_outcome out = {.cells = 0};

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
    um_sync_outcome out = {.cells = 0};
    umbel_error err;
    umbel_status status;

    if (!a->init && !a->stdio && !a->target)
        return um_misuse(args, "name the other side: DIR, exec:COMMAND, "
                               "ssh://HOST/DIR or tcp://HOST:PORT");
    if (a->stdio)
        status =
            um_sync_over_pipes(a->dir, STDIN_FILENO, STDOUT_FILENO, &out, &err);
    else
        status = a->init ? create_dir(args, &err) : exchange_all(args, &err);
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
        "Afterwards both sides have the same filters, and the same word of "
        "agreement.",
};
