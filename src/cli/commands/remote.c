/*
 * remote.c - the other side of sync, reconcile and join: a program at two
 * pipes, which exec:COMMAND runs here and ssh://HOST/PATH on another host.
 */
#include "base/error.h"
#include "cli/commands/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool um_is_remote(const char *target)
{
    return strncmp(target, "exec:", 5) == 0 ||
           strncmp(target, "ssh://", 6) == 0;
}

static umbel_status start_program(um_remote *r, char *const argv[],
                                  umbel_error *err)
{
    int to[2], from[2];

    if (pipe(to) != 0)
        return um_fail_errno(err, "a pipe");
    if (pipe(from) != 0) {
        close(to[0]);
        close(to[1]);
        return um_fail_errno(err, "a pipe");
    }
    r->pid = fork();
    if (r->pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        close(from[0]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    r->in = from[0];
    r->out = to[1];
    if (r->pid > 0)
        return UMBEL_OK;
    close(r->in);
    close(r->out);
    return um_fail_errno(err, "starting a program");
}

/* Runs a command on ssh://[user@]host[:port]/PATH; an absolute path is
 * ssh://host//PATH. */
static umbel_status start_ssh(um_remote *r, const char *rest,
                              const char *command, umbel_error *err)
{
    const char *slash = strchr(rest, '/');
    char host[256] = "ssh://", program[] = "ssh", dashes[] = "--",
         line[4400] = "";
    size_t scheme = strlen(host);
    size_t len = slash ? (size_t)(slash - rest) : 0;

    if (!len || len >= sizeof host - scheme || !slash[1] || strchr(slash, '\''))
        return um_fail(err, UMBEL_E_RANGE,
                       "give ssh://HOST/PATH, a path without quotes");
    memcpy(host + scheme, rest, len);
    host[scheme + len] = '\0';
    snprintf(line, sizeof line, "umbel %.256s '%.4000s'", command, slash + 1);
    char *argv[] = {program, dashes, host, line, NULL};
    return start_program(r, argv, err);
}

/* A program that has ended is noticed when it is read, not by a signal. */
static void prepare(um_remote *r)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGPIPE, &ignore, &r->before);
    fcntl(r->out, F_SETFL, fcntl(r->out, F_GETFL) | O_NONBLOCK);
}

umbel_status um_remote_open(um_remote *r, const char *target,
                            const char *command, umbel_error *err)
{
    char shell[] = "/bin/sh", c[] = "-c";
    umbel_status status;

    *r = (um_remote){.pid = -1};
    if (strncmp(target, "ssh://", 6) == 0) {
        status = start_ssh(r, target + 6, command, err);
    } else {
        char *copy = strdup(target + 5);
        if (!copy)
            return um_no_memory(err, strlen(target));
        char *argv[] = {shell, c, copy, NULL};
        status = start_program(r, argv, err);
        free(copy);
    }
    if (!status)
        prepare(r);
    return status;
}

void um_remote_stdio(um_remote *r)
{
    *r = (um_remote){STDIN_FILENO, STDOUT_FILENO, -1, {.sa_handler = SIG_DFL}};
    prepare(r);
}

int um_remote_close(um_remote *r)
{
    int code = 0;

    if (r->pid > 0) {
        close(r->in);
        close(r->out);
        while (waitpid(r->pid, &code, 0) < 0 && errno == EINTR)
            ;
        code = WIFEXITED(code) ? WEXITSTATUS(code) : UM_EXIT_TROUBLE;
    }
    sigaction(SIGPIPE, &r->before, NULL);
    return code;
}

/* Waits until a pipe is ready. */
static umbel_status wait_for(int fd, short event, umbel_error *err)
{
    struct pollfd ready = {fd, event, 0};
    int n;

    while ((n = poll(&ready, 1, UM_REMOTE_PATIENCE_MS)) < 0)
        if (errno != EINTR)
            return um_fail_errno(err, "waiting for the other side");
    return n ? UMBEL_OK
             : um_fail(err, UMBEL_E_IO,
                       "the other side has been silent for a minute");
}

umbel_status um_remote_send(um_remote *r, umbel_slice bytes, umbel_error *err)
{
    const uint8_t *at = bytes.data;

    for (size_t sent = 0; sent < bytes.len;) {
        ssize_t n = write(r->out, at + sent, bytes.len - sent);
        if (n < 0 && errno == EPIPE)
            return UMBEL_OK; /* reading will notice the end */
        if (n < 0 && errno == EAGAIN)
            UM_TRY(wait_for(r->out, POLLOUT, err));
        else if (n < 0 && errno != EINTR)
            return um_fail_errno(err, "writing to the other side");
        sent += n > 0 ? (size_t)n : 0;
    }
    return UMBEL_OK;
}

umbel_status um_remote_read(um_remote *r, void *out, size_t cap, size_t *n,
                            umbel_error *err)
{
    for (;;) {
        UM_TRY(wait_for(r->in, POLLIN, err));
        ssize_t got = read(r->in, out, cap);
        if (got > 0) {
            *n = (size_t)got;
            return UMBEL_OK;
        }
        if (got == 0)
            return um_fail(err, UMBEL_E_IO,
                           "the other side ended before all was exchanged");
        if (errno != EINTR && errno != EAGAIN)
            return um_fail_errno(err, "reading from the other side");
    }
}
