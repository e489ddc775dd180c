/*
 * pool_slot.c - one worker process: start, mails out, answers in, end.
 *
 * A worker is given a few mails ahead, so that it need not wait for the server
 * between them. It answers in order, and so a worker that dies was reading the
 * first mail that has no answer.
 */
#include "mail/pool_private.h"

#include "base/error.h"
#include "mail/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    AHEAD = 4,             /* mails with a worker */
    AHEAD_BYTES = 1 << 16, /* the last of which begins below that */
    PAUSE_MS = 50,         /* before the next start; doubled by each death */
    LONGEST_PAUSE_MS = 10000,
    MAX_ARGUMENTS = 8,
    DIGITS = 24
};

/* --- start ---------------------------------------------------------------- */

/* All signals as they are at the start of a program, in a group of its own: the
 * keys that end the server in a terminal are for the server. */
static int spawn_attributes(posix_spawnattr_t *a)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    int code = posix_spawnattr_init(a);
    if (code)
        return code;
    posix_spawnattr_setsigmask(a, &none);
    posix_spawnattr_setsigdefault(a, &all);
    posix_spawnattr_setpgroup(a, 0);
    return posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK |
                                           POSIX_SPAWN_SETSIGDEF |
                                           POSIX_SPAWN_SETPGROUP);
}

static int spawn_actions(posix_spawn_file_actions_t *a, int fd)
{
    int code = posix_spawn_file_actions_init(a);

    if (code)
        return code;
    code = posix_spawn_file_actions_adddup2(a, fd, UM_MAIL_WORKER_FD);
    if (!code)
        code = posix_spawn_file_actions_addopen(a, STDOUT_FILENO, "/dev/null",
                                                O_RDWR, 0);
    if (!code)
        code =
            posix_spawn_file_actions_adddup2(a, STDOUT_FILENO, STDERR_FILENO);
    return code;
}

static int spawn(const char *const *argv, int fd, pid_t *pid)
{
    static char locale[] = "LC_ALL=C", arenas[] = "MALLOC_ARENA_MAX=1";
    char *const environment[] = {locale, arenas, NULL};
    /* posix_spawn's type is older than const; it only reads. */
    union {
        const char *const *in;
        char *const *plain;
    } u = {argv};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = spawn_attributes(&attributes);

    if (code)
        return code;
    code = spawn_actions(&actions, fd);
    if (!code) {
        code = posix_spawn(pid, argv[0], &actions, &attributes, u.plain,
                           environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return code;
}

static int spawn_worker(const um_mail_pool *p, int fd, pid_t *pid)
{
    static const char *const self[] = {"/proc/self/exe",
                                       UM_MAIL_WORKER_ARGUMENT, NULL};
    const um_mail_pool_config *c = &p->config;
    const char *const *program = c->program ? c->program : self;
    const char *argv[MAX_ARGUMENTS + UM_MAIL_WORKER_ARGUMENTS + 1];
    char number[UM_MAIL_WORKER_ARGUMENTS][DIGITS];
    uint64_t value[UM_MAIL_WORKER_ARGUMENTS] = {
        p->worker_bytes, c->limits.bytes, c->limits.parts, c->limits.depth};
    size_t n = 0;

    while (n < MAX_ARGUMENTS && program[n]) {
        argv[n] = program[n];
        n++;
    }
    for (size_t i = 0; i < UM_MAIL_WORKER_ARGUMENTS; i++) {
        snprintf(number[i], DIGITS, "%" PRIu64, value[i]);
        argv[n++] = number[i];
    }
    argv[n] = NULL;
    return spawn(argv, fd, pid);
}

static void on_event(void *ctx, unsigned events);

/* Not at once: each death, and each start that fails, doubles the pause. */
static void pause_start(um_mail_slot *s)
{
    uint64_t pause = LONGEST_PAUSE_MS;

    if (s->fails < 7)
        pause = (uint64_t)PAUSE_MS << s->fails;
    s->fails++;
    s->start_at = um_loop_now(s->pool->loop) + pause;
}

umbel_status um_mail_slot_start(um_mail_slot *s, umbel_error *err)
{
    um_mail_pool *p = s->pool;
    int pair[2], code;
    umbel_status status;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        pause_start(s);
        return um_fail_errno(err, "a socket for a mail worker");
    }
    code = spawn_worker(p, pair[1], &s->pid);
    close(pair[1]);
    if (code) {
        close(pair[0]);
        s->pid = 0;
        pause_start(s);
        errno = code;
        return um_fail_errno(err, "a mail worker does not start");
    }
    s->fd = pair[0];
    s->since = um_loop_now(p->loop);
    fcntl(s->fd, F_SETFL, O_NONBLOCK);
    status =
        um_watch_open(p->loop, s->fd, UM_READABLE, on_event, s, &s->watch, err);
    if (status != UMBEL_OK)
        um_mail_slot_end(s, UM_MAIL_FAIL_NONE);
    return status;
}

/* --- mails out ------------------------------------------------------------ */

bool um_mail_slot_has_room(const um_mail_slot *s, size_t len)
{
    if (!s->pid || !s->ready || s->sending)
        return false;
    return s->sent.n == 0 ||
           (s->sent.n < AHEAD && s->sent_bytes + len < AHEAD_BYTES);
}

/* Writes as much as the socket takes of the last mail. */
static void write_more(um_mail_slot *s)
{
    um_mail_job *job = s->sent.last;
    uint8_t head[UM_MAIL_REQUEST];
    size_t whole = sizeof head + job->len;

    um_mail_request_encode(
        &(um_mail_request){.id = job->id, .len = job->len, .cut = job->cut},
        head);
    while (s->written < whole) {
        size_t skip = s->written;
        struct iovec part[2] = {{head, sizeof head}, {job->mail, job->len}};
        struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};

        for (size_t i = 0; i < 2; i++) {
            size_t cut = skip < part[i].iov_len ? skip : part[i].iov_len;

            part[i].iov_base = (uint8_t *)part[i].iov_base + cut;
            part[i].iov_len -= cut;
            skip -= cut;
        }
        ssize_t n = sendmsg(s->fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break; /* full, or the worker is gone, which its watch reports */
        s->written += (size_t)n;
    }
    bool sending = s->written < whole;
    if (sending != s->sending)
        um_watch_events(s->watch, UM_READABLE | (sending ? UM_WRITABLE : 0));
    s->sending = sending;
}

void um_mail_slot_send(um_mail_slot *s, um_mail_job *job)
{
    if (s->sent.n == 0)
        s->since = um_loop_now(s->pool->loop);
    um_mail_jobs_append(&s->sent, job);
    s->sent_bytes += job->len;
    s->written = 0;
    write_more(s);
}

/* --- answers in ----------------------------------------------------------- */

/* False: no honest worker says that now. */
static bool parse_answer(um_mail_slot *s)
{
    um_mail_answer a;
    um_mail_job *job = s->sent.first;

    if (!um_mail_answer_decode(s->in, &a))
        return false;
    if (a.kind == UM_MAIL_READY) {
        bool first = !s->ready;

        s->ready = true;
        return first;
    }
    if (!s->ready || !job || job->id != a.id || (s->sending && s->sent.n == 1))
        return false;
    um_mail_jobs_parse(&s->sent);
    s->sent_bytes -= job->len;
    s->since = um_loop_now(s->pool->loop);
    s->fails = 0;
    if (a.kind == UM_MAIL_READ)
        um_mail_job_end(s->pool, job, &a.facts, UM_MAIL_FAIL_NONE);
    else
        um_mail_job_end(s->pool, job, NULL, UM_MAIL_FAIL_MEMORY);
    return true;
}

void um_mail_slot_receive(um_mail_slot *s)
{
    for (;;) {
        ssize_t n =
            recv(s->fd, s->in + s->have, sizeof s->in - s->have, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            um_mail_slot_end(s, UM_MAIL_FAIL_NONE);
            return;
        }
        s->have += (size_t)n;
        if (s->have < sizeof s->in)
            continue;
        s->have = 0;
        if (!parse_answer(s)) {
            um_mail_slot_end(s, UM_MAIL_FAIL_BAD_ANSWER);
            return;
        }
    }
}

static void on_event(void *ctx, unsigned events)
{
    um_mail_slot *s = ctx;
    um_mail_pool *p = s->pool;

    if (events & UM_WRITABLE && s->sending)
        write_more(s);
    if (events & UM_READABLE)
        um_mail_slot_receive(s);
    um_mail_pool_dispatch(p);
}

/* --- end ------------------------------------------------------------------ */

static um_mail_fail reason_of(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == UM_MAIL_WORKER_NO_MEMORY)
        return UM_MAIL_FAIL_MEMORY;
    return UM_MAIL_FAIL_DIED;
}

/* Puts mails that nobody has read yet in front of those that wait. */
static void queue_again(um_mail_pool *p, um_mail_jobs *left)
{
    if (!left->first)
        return;
    for (um_mail_job *job = left->first; job; job = job->next)
        job->asked = um_loop_now(p->loop); /* it waited for another's fault */
    left->last->next = p->queue.first;
    if (!p->queue.last)
        p->queue.last = left->last;
    p->queue.first = left->first;
    p->queue.n += left->n;
}

void um_mail_slot_end(um_mail_slot *s, um_mail_fail why)
{
    um_mail_pool *p = s->pool;
    um_mail_jobs left = s->sent;
    um_mail_job *lost = um_mail_jobs_parse(&left);
    unsigned fails = s->fails;
    int status = 0;

    um_watch_close(s->watch);
    close(s->fd);
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (why == UM_MAIL_FAIL_NONE)
        why = reason_of(status);
    *s = (um_mail_slot){.pool = p, .fails = fails};
    pause_start(s);
    p->stats.died++;
    queue_again(p, &left);
    um_mail_pool_watch(p);
    if (lost)
        um_mail_job_end(p, lost, NULL, why);
}
