/*
 * pool.c - queued mails, and the worker processes that read them.
 *
 * Memory: the kernel enforces a limit on each worker, and the waiting mails
 * have a limit in bytes; together they stay below the configured memory.
 *
 * A worker is sent a few mails ahead, so that it need not wait for the server
 * between them. It answers in order, so a worker that dies was reading the
 * first mail without an answer.
 */
#include "mail/pool.h"

#include "base/error.h"
#include "mail/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TICK_MS = 100,
    START_MS = 30000, /* until a new worker is ready */
    WORKERS = 2,
    SECONDS = 5,
    AHEAD = 4,             /* mails with a worker */
    AHEAD_BYTES = 1 << 16, /* no mail beyond this many bytes is sent ahead */
    PAUSE_MS = 50,         /* before the next start; doubled by each death */
    MAX_PAUSE_MS = 10000,
    MAX_ARGUMENTS = 8,
    DIGITS = 24
};
/* Memory of a worker besides its mail, and for each byte of the mail: buffers
 * for decoded bytes, for UTF-8 that is three times as long, and for the text.
 */
#define WORKER_BASE UINT64_C(12000000)
#define WORKER_FACTOR 12
#define QUEUE UINT64_C(16000000)

/* A mail, in the queue or with a worker. */
typedef struct um_mail_job {
    struct um_mail_job *next;
    uint8_t *mail;
    uint32_t len, id;
    bool cut, unwrap;
    uint64_t submitted; /* ms */
    um_mail_done *done;
    void *arg;
} um_mail_job;

typedef struct um_mail_jobs {
    um_mail_job *first, *last;
    size_t n;
} um_mail_jobs;

/* A worker process, or one that is to be started. */
typedef struct um_mail_slot {
    um_mail_pool *pool;
    pid_t pid; /* 0: not running */
    int fd;
    um_watch *watch;
    bool ready;
    um_mail_jobs sent; /* in the order of their answers */
    size_t sent_bytes;
    size_t written; /* bytes written of the last of them, including its head */
    bool sending;   /* the last is not yet written */
    uint64_t since; /* ms: when the first of them began to be read */
    uint64_t start_at; /* ms, if it does not run */
    unsigned fails;    /* deaths since the last answer */
    uint8_t in[UM_MAIL_ANSWER];
    size_t have;
} um_mail_slot;

struct um_mail_pool {
    um_loop *loop;
    um_mail_pool_config config; /* defaults filled in */
    uint64_t worker_bytes, queue_bytes;
    um_timer *timer;
    bool ticking;
    um_mail_slot *slot;
    um_mail_jobs queue;
    uint64_t waiting_bytes;
    size_t waiting;
    uint32_t next_id;
    um_mail_pool_stats stats;
};

static void end_slot(um_mail_slot *s, um_mail_fail why);
static void dispatch(um_mail_pool *p);
static void start_ticking(um_mail_pool *p);

const char *um_mail_fail_name(um_mail_fail why)
{
    static const char *const names[] = {
#define NAME(name, word, text) word,
        UM_MAIL_FAIL_LIST(NAME)
#undef NAME
    };
    return names[why];
}

const char *um_mail_fail_text(um_mail_fail why)
{
    static const char *const texts[] = {
#define TEXT(name, word, text) text,
        UM_MAIL_FAIL_LIST(TEXT)
#undef TEXT
    };
    return texts[why];
}

/* --- jobs ----------------------------------------------------------------- */

static void append_job(um_mail_jobs *q, um_mail_job *job)
{
    job->next = NULL;
    if (q->last)
        q->last->next = job;
    else
        q->first = job;
    q->last = job;
    q->n++;
}

static um_mail_job *pop_job(um_mail_jobs *q)
{
    um_mail_job *job = q->first;

    if (!job)
        return NULL;
    q->first = job->next;
    if (!q->first)
        q->last = NULL;
    q->n--;
    return job;
}

/* Ends a job with facts, or with the reason for failure. */
static void end_job(um_mail_pool *p, um_mail_job *job,
                    const um_mail_facts *facts, um_mail_fail why)
{
    um_mail_done *done = job->done;
    void *arg = job->arg;

    p->waiting--;
    p->waiting_bytes -= job->len;
    if (facts)
        p->stats.read++;
    else
        p->stats.failed[why]++;
    free(job->mail);
    free(job);
    done(arg, facts, why);
}

/* --- a worker: start ------------------------------------------------------ */

/* Sets the attributes of a worker: resets all signals, and creates a process
 * group, so that Ctrl-C in a terminal does not end the worker. */
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
    /* posix_spawn's parameter is not const, but it only reads. */
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

/* Delays the next start: each death and each failed start doubles the pause. */
static void pause_start(um_mail_slot *s)
{
    uint64_t pause = MAX_PAUSE_MS;

    if (s->fails < 7)
        pause = (uint64_t)PAUSE_MS << s->fails;
    s->fails++;
    s->start_at = um_loop_now(s->pool->loop) + pause;
}

static umbel_status start_slot(um_mail_slot *s, umbel_error *err)
{
    um_mail_pool *p = s->pool;
    int pair[2], code;
    umbel_status status;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        pause_start(s);
        return um_fail_errno(err, "cannot create a socket for a mail worker");
    }
    code = spawn_worker(p, pair[1], &s->pid);
    close(pair[1]);
    if (code) {
        close(pair[0]);
        s->pid = 0;
        pause_start(s);
        errno = code;
        return um_fail_errno(err, "cannot start a mail worker");
    }
    s->fd = pair[0];
    s->since = um_loop_now(p->loop);
    fcntl(s->fd, F_SETFL, O_NONBLOCK);
    status =
        um_watch_open(p->loop, s->fd, UM_READABLE, on_event, s, &s->watch, err);
    if (status != UMBEL_OK)
        end_slot(s, UM_MAIL_FAIL_NONE);
    return status;
}

/* --- a worker: mails ------------------------------------------------------ */

/* Returns true if the worker can be sent one more mail. */
static bool slot_has_space(const um_mail_slot *s, size_t len)
{
    if (!s->pid || !s->ready || s->sending)
        return false;
    return s->sent.n == 0 ||
           (s->sent.n < AHEAD && s->sent_bytes + len < AHEAD_BYTES);
}

/* Writes as much of the last mail as the socket accepts. */
static void write_more(um_mail_slot *s)
{
    um_mail_job *job = s->sent.last;
    uint8_t head[UM_MAIL_REQUEST];
    size_t whole = sizeof head + job->len;

    um_mail_request_encode(&(um_mail_request){.id = job->id,
                                              .len = job->len,
                                              .cut = job->cut,
                                              .unwrap = job->unwrap},
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
            break; /* full, or the worker has exited, which its watch reports */
        s->written += (size_t)n;
    }
    bool sending = s->written < whole;
    if (sending != s->sending)
        um_watch_events(s->watch, UM_READABLE | (sending ? UM_WRITABLE : 0));
    s->sending = sending;
}

static void send_mail(um_mail_slot *s, um_mail_job *job)
{
    if (s->sent.n == 0)
        s->since = um_loop_now(s->pool->loop);
    append_job(&s->sent, job);
    s->sent_bytes += job->len;
    s->written = 0;
    write_more(s);
}

/* --- a worker: answers ---------------------------------------------------- */

/* Handles an answer; returns false if an honest worker would not send it
 * now. */
static bool handle_answer(um_mail_slot *s)
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
    pop_job(&s->sent);
    s->sent_bytes -= job->len;
    s->since = um_loop_now(s->pool->loop);
    s->fails = 0;
    if (a.kind == UM_MAIL_READ)
        end_job(s->pool, job, &a.facts, UM_MAIL_FAIL_NONE);
    else
        end_job(s->pool, job, NULL, UM_MAIL_FAIL_MEMORY);
    return true;
}

/* Receives the worker's answers. */
static void receive_answers(um_mail_slot *s)
{
    for (;;) {
        ssize_t n =
            recv(s->fd, s->in + s->have, sizeof s->in - s->have, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            end_slot(s, UM_MAIL_FAIL_NONE);
            return;
        }
        s->have += (size_t)n;
        if (s->have < sizeof s->in)
            continue;
        s->have = 0;
        if (!handle_answer(s)) {
            end_slot(s, UM_MAIL_FAIL_BAD_ANSWER);
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
        receive_answers(s);
    dispatch(p);
}

/* --- a worker: end -------------------------------------------------------- */

static um_mail_fail reason_of(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == UM_MAIL_WORKER_NO_MEMORY)
        return UM_MAIL_FAIL_MEMORY;
    return UM_MAIL_FAIL_DIED;
}

/* Puts mails that were not read yet in front of the queue. */
static void queue_again(um_mail_pool *p, um_mail_jobs *left)
{
    if (!left->first)
        return;
    for (um_mail_job *job = left->first; job; job = job->next)
        job->submitted = um_loop_now(p->loop); /* not delayed by itself */
    left->last->next = p->queue.first;
    if (!p->queue.last)
        p->queue.last = left->last;
    p->queue.first = left->first;
    p->queue.n += left->n;
}

/* Ends the process. Its first mail fails with that reason, or if it is
 * UM_MAIL_FAIL_NONE with the reason of the exit; other workers read the
 * rest. */
static void end_slot(um_mail_slot *s, um_mail_fail why)
{
    um_mail_pool *p = s->pool;
    um_mail_jobs left = s->sent;
    um_mail_job *lost = pop_job(&left);
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
    start_ticking(p);
    if (lost)
        end_job(p, lost, NULL, why);
}

/* --- the queue ------------------------------------------------------------ */

/* Returns the ready worker with the fewest mails, or NULL if none has space. */
static um_mail_slot *free_slot(um_mail_pool *p, size_t len)
{
    um_mail_slot *best = NULL;

    for (unsigned i = 0; i < p->config.workers; i++) {
        um_mail_slot *s = &p->slot[i];

        if (slot_has_space(s, len) && (!best || s->sent.n < best->sent.n))
            best = s;
    }
    return best;
}

/* Sends waiting mails to workers that have space. */
static void dispatch(um_mail_pool *p)
{
    um_mail_slot *s;

    while (p->queue.first && (s = free_slot(p, p->queue.first->len)) != NULL)
        send_mail(s, pop_job(&p->queue));
}

static umbel_status submit(um_mail_pool *p, uint8_t *mail, size_t len,
                           bool unwrap, um_mail_done *done, void *arg)
{
    size_t kept =
        len < p->config.limits.bytes ? len : (size_t)p->config.limits.bytes;
    um_mail_job *job = malloc(sizeof *job);
    /* Shrinks a larger block, whose rest would not be counted. */
    if (kept)
        um_array_resize(&mail, kept, 1);
    if (!job || p->waiting_bytes + kept > p->queue_bytes) {
        p->stats.failed[UM_MAIL_FAIL_BUSY]++;
        free(job);
        free(mail);
        return UMBEL_E_LIMIT;
    }
    *job = (um_mail_job){.mail = mail,
                         .len = (uint32_t)kept,
                         .id = p->next_id++,
                         .cut = kept < len,
                         .unwrap = unwrap,
                         .submitted = um_loop_now(p->loop),
                         .done = done,
                         .arg = arg};
    p->waiting++;
    p->waiting_bytes += kept;
    append_job(&p->queue, job);
    start_ticking(p);
    dispatch(p);
    return UMBEL_OK;
}

umbel_status um_mail_pool_submit(um_mail_pool *p, uint8_t *mail, size_t len,
                                 um_mail_done *done, void *arg)
{
    return submit(p, mail, len, false, done, arg);
}

umbel_status um_mail_pool_submit_stored(um_mail_pool *p, uint8_t *mail,
                                        size_t len, um_mail_done *done,
                                        void *arg)
{
    return submit(p, mail, len, true, done, arg);
}

/* --- checking workers ----------------------------------------------------- */

/* Starts or kills a worker if it is time. Returns true if it must be checked
 * again. */
static bool check_slot(um_mail_slot *s, uint64_t now)
{
    uint64_t max = (uint64_t)s->pool->config.seconds * 1000;

    if (!s->pid) {
        if (now >= s->start_at)
            start_slot(s, NULL); /* tried again if it fails */
        return true;
    }
    if (s->ready && s->sent.n == 0)
        return false;
    if (now - s->since > (s->ready ? max : START_MS))
        end_slot(s, UM_MAIL_FAIL_TIME);
    return true;
}

/* Ends mails that were not sent to a worker in time, since nobody waits for
 * them any more. */
static void abandon(um_mail_pool *p, uint64_t now)
{
    uint64_t max = (uint64_t)p->config.seconds * 1000;
    um_mail_jobs all = p->queue;
    um_mail_job *job;

    p->queue = (um_mail_jobs){0};
    while ((job = pop_job(&all)) != NULL)
        if (now - job->submitted > max)
            end_job(p, job, NULL, UM_MAIL_FAIL_BUSY);
        else
            append_job(&p->queue, job);
}

static void tick(void *ctx)
{
    um_mail_pool *p = ctx;
    uint64_t now = um_loop_now(p->loop);
    bool more = false;

    for (unsigned i = 0; i < p->config.workers; i++)
        more |= check_slot(&p->slot[i], now);
    abandon(p, now);
    dispatch(p);
    if (!more && p->waiting == 0) {
        um_timer_stop(p->timer);
        p->ticking = false;
    }
}

/* Starts the timer that checks the workers. */
static void start_ticking(um_mail_pool *p)
{
    if (!p->ticking)
        um_timer_set(p->timer, TICK_MS, TICK_MS);
    p->ticking = true;
}

/* --- open and close ------------------------------------------------------- */

static um_mail_pool_config with_defaults(const um_mail_pool_config *config)
{
    um_mail_pool_config c = *config;

    c.workers = c.workers ? c.workers : WORKERS;
    c.seconds = c.seconds ? c.seconds : SECONDS;
    c.limits = um_mail_limits_or_default(&c.limits);
    if (!c.memory)
        c.memory = um_mail_pool_bytes(&c);
    return c;
}

static uint64_t worker_bytes(const um_mail_limits *l)
{
    return WORKER_BASE + WORKER_FACTOR * l->bytes;
}

uint64_t um_mail_pool_bytes(const um_mail_pool_config *c)
{
    um_mail_limits l = um_mail_limits_or_default(&c->limits);
    uint64_t workers = c->workers ? c->workers : WORKERS;

    return workers * worker_bytes(&l) +
           (2 * l.bytes > QUEUE ? 2 * l.bytes : QUEUE);
}

static umbel_status check_memory(um_mail_pool *p, umbel_error *err)
{
    const um_mail_pool_config *c = &p->config;
    uint64_t workers;

    if (c->limits.bytes > UINT32_MAX / WORKER_FACTOR)
        return um_fail(err, UMBEL_E_RANGE,
                       "a limit of %" PRIu64 " bytes for a mail is too high",
                       c->limits.bytes);
    p->worker_bytes = worker_bytes(&c->limits);
    workers = c->workers * p->worker_bytes;
    if (c->memory < workers + 2 * c->limits.bytes)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%u mail workers need %" PRIu64 " bytes of memory, and "
                       "may use %" PRIu64 "; allow more, or start fewer",
                       c->workers, workers + 2 * c->limits.bytes, c->memory);
    p->queue_bytes = c->memory - workers;
    return UMBEL_OK;
}

/* Waits until the first worker is ready, so that a failure to start workers is
 * reported at once. */
static umbel_status start_first(um_mail_slot *s, umbel_error *err)
{
    struct pollfd fd;

    UM_TRY(start_slot(s, err));
    for (fd = (struct pollfd){.fd = s->fd, .events = POLLIN};
         s->pid && !s->ready && poll(&fd, 1, START_MS) > 0;)
        receive_answers(s);
    if (!s->ready)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a mail worker did not start: this system does not "
                       "confine processes (seccomp), or lacks memory");
    return UMBEL_OK;
}

static umbel_status open_parts(um_mail_pool *p, umbel_error *err)
{
    UM_TRY(check_memory(p, err));
    p->slot = calloc(p->config.workers, sizeof *p->slot);
    if (!p->slot)
        return um_no_memory(err, p->config.workers * sizeof *p->slot);
    for (unsigned i = 0; i < p->config.workers; i++)
        p->slot[i].pool = p;
    UM_TRY(um_timer_open(p->loop, TICK_MS, TICK_MS, tick, p, &p->timer, err));
    p->ticking = true;
    return start_first(&p->slot[0], err); /* the timer starts the others */
}

umbel_status um_mail_pool_open(um_loop *loop, const um_mail_pool_config *c,
                               um_mail_pool **out, umbel_error *err)
{
    um_mail_pool *p = calloc(1, sizeof *p);
    umbel_status status;

    if (!p)
        return um_no_memory(err, sizeof *p);
    p->loop = loop;
    p->config = with_defaults(c);
    status = open_parts(p, err);
    if (status == UMBEL_OK)
        *out = p;
    else
        um_mail_pool_close(p);
    return status;
}

void um_mail_pool_close(um_mail_pool *p)
{
    um_mail_job *job;

    if (!p)
        return;
    for (unsigned i = 0; p->slot && i < p->config.workers; i++)
        if (p->slot[i].pid)
            end_slot(&p->slot[i], UM_MAIL_FAIL_CLOSING);
    while ((job = pop_job(&p->queue)) != NULL)
        end_job(p, job, NULL, UM_MAIL_FAIL_CLOSING);
    if (p->timer)
        um_timer_close(p->timer);
    free(p->slot);
    free(p);
}

/* --- statistics ----------------------------------------------------------- */

/* Returns the unshared memory of a process. */
static uint64_t resident_bytes(pid_t pid)
{
    unsigned long long size, resident = 0, shared = 0;
    char path[48];
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    in = fopen(path, "re");
    if (!in)
        return 0;
    if (fscanf(in, "%llu %llu %llu", &size, &resident, &shared) != 3)
        resident = shared = 0;
    fclose(in);
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void um_mail_pool_stats_get(const um_mail_pool *p, um_mail_pool_stats *out)
{
    *out = p->stats;
    out->workers = p->config.workers;
    out->waiting = p->waiting;
    out->waiting_bytes = p->waiting_bytes;
    for (unsigned i = 0; i < p->config.workers; i++) {
        const um_mail_slot *s = &p->slot[i];

        out->ready += s->pid && s->ready;
        if (s->pid)
            out->resident += resident_bytes(s->pid);
    }
}
