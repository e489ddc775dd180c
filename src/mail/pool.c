/*
 * pool.c - mails that wait, and the workers that read them.
 *
 * Memory: a worker has a limit that the kernel holds it to, and the mails that
 * wait have a limit in bytes; both together stay below the configured memory.
 */
#include "mail/pool_private.h"

#include "base/buffer.h"
#include "base/error.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TICK_MS = 100,
    START_MS = 30000, /* until a new worker is ready */
    WORKERS = 2,
    SECONDS = 5
};
/* What a worker needs beside its mail, and for each byte of it: buffers for the
 * decoded bytes, for UTF-8 that is three times as long, and for the text. */
#define WORKER_BASE UINT64_C(12000000)
#define WORKER_FACTOR 12
#define QUEUE UINT64_C(16000000)

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

void um_mail_jobs_append(um_mail_jobs *q, um_mail_job *job)
{
    job->next = NULL;
    if (q->last)
        q->last->next = job;
    else
        q->first = job;
    q->last = job;
    q->n++;
}

um_mail_job *um_mail_jobs_parse(um_mail_jobs *q)
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

void um_mail_job_end(um_mail_pool *p, um_mail_job *job,
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

/* The ready worker with the fewest mails; NULL: none has room. */
static um_mail_slot *free_slot(um_mail_pool *p, size_t len)
{
    um_mail_slot *best = NULL;

    for (unsigned i = 0; i < p->config.workers; i++) {
        um_mail_slot *s = &p->slot[i];

        if (um_mail_slot_has_room(s, len) &&
            (!best || s->sent.n < best->sent.n))
            best = s;
    }
    return best;
}

void um_mail_pool_dispatch(um_mail_pool *p)
{
    um_mail_slot *s;

    while (p->queue.first && (s = free_slot(p, p->queue.first->len)) != NULL)
        um_mail_slot_send(s, um_mail_jobs_parse(&p->queue));
}

umbel_status um_mail_pool_submit(um_mail_pool *p, uint8_t *mail, size_t len,
                                 um_mail_done *done, void *arg)
{
    size_t kept =
        len < p->config.limits.bytes ? len : (size_t)p->config.limits.bytes;
    um_mail_job *job = malloc(sizeof *job);
    /* Also where len was kept in more room, which nobody would count. */
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
                         .asked = um_loop_now(p->loop),
                         .done = done,
                         .arg = arg};
    p->waiting++;
    p->waiting_bytes += kept;
    um_mail_jobs_append(&p->queue, job);
    um_mail_pool_watch(p);
    um_mail_pool_dispatch(p);
    return UMBEL_OK;
}

/* --- looking after workers ------------------------------------------------ */

/* Starts, or kills, what is due. Returns true if something is to come. */
static bool tend_slot(um_mail_slot *s, uint64_t now)
{
    uint64_t most = (uint64_t)s->pool->config.seconds * 1000;

    if (!s->pid) {
        if (now >= s->start_at)
            um_mail_slot_start(s, NULL); /* tried again if it fails */
        return true;
    }
    if (s->ready && s->sent.n == 0)
        return false;
    if (now - s->since > (s->ready ? most : START_MS))
        um_mail_slot_end(s, UM_MAIL_FAIL_TIME);
    return true;
}

/* Mails that no worker has taken for that long are not read at all: whoever
 * asked waits no more. */
static void abandon(um_mail_pool *p, uint64_t now)
{
    uint64_t most = (uint64_t)p->config.seconds * 1000;
    um_mail_jobs all = p->queue;
    um_mail_job *job;

    p->queue = (um_mail_jobs){0};
    while ((job = um_mail_jobs_parse(&all)) != NULL)
        if (now - job->asked > most)
            um_mail_job_end(p, job, NULL, UM_MAIL_FAIL_BUSY);
        else
            um_mail_jobs_append(&p->queue, job);
}

static void tick(void *ctx)
{
    um_mail_pool *p = ctx;
    uint64_t now = um_loop_now(p->loop);
    bool more = false;

    for (unsigned i = 0; i < p->config.workers; i++)
        more |= tend_slot(&p->slot[i], now);
    abandon(p, now);
    um_mail_pool_dispatch(p);
    if (!more && p->waiting == 0) {
        um_timer_stop(p->timer);
        p->ticking = false;
    }
}

void um_mail_pool_watch(um_mail_pool *p)
{
    if (!p->ticking)
        um_timer_set(p->timer, TICK_MS, TICK_MS);
    p->ticking = true;
}

/* --- opening -------------------------------------------------------------- */

static um_mail_pool_config with_defaults(const um_mail_pool_config *given)
{
    um_mail_pool_config c = *given;

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

uint64_t um_mail_pool_bytes(const um_mail_pool_config *given)
{
    um_mail_limits l = um_mail_limits_or_default(&given->limits);
    uint64_t workers = given->workers ? given->workers : WORKERS;

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

/* Waits until the first worker is ready: what keeps workers from starting is
 * then reported at once. */
static umbel_status start_first(um_mail_slot *s, umbel_error *err)
{
    struct pollfd fd;

    UM_TRY(um_mail_slot_start(s, err));
    for (fd = (struct pollfd){.fd = s->fd, .events = POLLIN};
         s->pid && !s->ready && poll(&fd, 1, START_MS) > 0;)
        um_mail_slot_receive(s);
    if (!s->ready)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a mail worker does not start: this system does not "
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
            um_mail_slot_end(&p->slot[i], UM_MAIL_FAIL_CLOSING);
    while ((job = um_mail_jobs_parse(&p->queue)) != NULL)
        um_mail_job_end(p, job, NULL, UM_MAIL_FAIL_CLOSING);
    if (p->timer)
        um_timer_close(p->timer);
    free(p->slot);
    free(p);
}

/* --- statistics ----------------------------------------------------------- */

/* Memory of a process that no other shares. */
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
