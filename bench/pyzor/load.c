/*
 * load.c - keeps a number of requests outstanding, or sends at a rate.
 *
 * There is one socket. The Thread number of a request, which the server sends
 * back, contains its slot. A slot without an answer for two seconds counts as
 * lost, and is reused with another number, so that a late answer is not
 * mistaken for the new one's.
 */
#include "bench/pyzor/load.h"

#include "base/error.h"
#include "base/rng.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 64,
    THREAD_MIN = 1024,
    THREADS = 64000,
    ROOM = 2048, /* bytes of an answer; an echo is also shorter */
    SOCKET_ROOM = 8 << 20
};
#define LOST_NS UINT64_C(2000000000)
#define SECOND_NS UINT64_C(1000000000)

typedef struct slot {
    uint64_t sent; /* when it was sent; 0 if free */
    unsigned thread;
} slot;

typedef struct run {
    const um_load *load;
    um_load_result *result;
    int fd;
    um_rng rng;
    uint64_t next_digest, began, now;
    unsigned busy, nfree, next_turn;
    slot slots[UM_LOAD_OUTSTANDING];
    unsigned free[UM_LOAD_OUTSTANDING];
    struct mmsghdr out_head[BATCH], in_head[BATCH];
    struct iovec out_part[BATCH], in_part[BATCH];
    char out[BATCH][UM_LOAD_REQUEST + 64], in[BATCH][ROOM + 64];
} run;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* --- sending -------------------------------------------------------------- */

/* Returns a thread number for the slot, different from its last one. */
static unsigned new_thread(run *r, unsigned i)
{
    unsigned turns = THREADS / r->load->outstanding;

    return THREAD_MIN + i + r->load->outstanding * (r->next_turn++ % turns);
}

static size_t fill_request(run *r, char *out)
{
    const um_load *l = r->load;
    uint64_t digest[UM_LOAD_MAX_DIGESTS];
    unsigned i = r->free[--r->nfree];

    for (unsigned d = 0; d < l->many; d++)
        digest[d] =
            l->first + (l->in_order ? r->next_digest++ % l->range
                                    : um_random_below(&r->rng, l->range));
    r->slots[i] = (slot){.sent = r->now, .thread = new_thread(r, i)};
    r->busy++;
    return um_load_request(l, digest, r->slots[i].thread, out);
}

/* Returns how many requests may be sent now. */
static uint64_t requests_due(const run *r)
{
    const um_load *l = r->load;
    uint64_t elapsed = r->now - r->began, due = UINT64_MAX;

    if (l->rate > 0)
        due =
            (uint64_t)((double)elapsed * 1e-9 * l->rate) + 1 - r->result->sent;
    if (l->count && l->count - r->result->sent < due)
        due = l->count - r->result->sent;
    if (l->seconds > 0 && (double)elapsed * 1e-9 >= l->seconds)
        due = 0;
    return due < r->nfree ? due : r->nfree;
}

static void release_slot(run *r, unsigned i)
{
    r->slots[i].sent = 0;
    r->free[r->nfree++] = i;
    r->busy--;
}

static void forget_all(run *r)
{
    for (unsigned i = 0; i < r->load->outstanding; i++)
        if (r->slots[i].sent)
            release_slot(r, i);
}

static void send_due(run *r)
{
    uint64_t due = requests_due(r);

    while (due) {
        unsigned n = due < BATCH ? (unsigned)due : BATCH, at = 0;

        for (unsigned i = 0; i < n; i++)
            r->out_part[i].iov_len = fill_request(r, r->out[i]);
        while (at < n) {
            int sent = sendmmsg(r->fd, r->out_head + at, n - at, 0);
            at += sent > 0 ? (unsigned)sent : 1; /* otherwise it is lost */
        }
        r->result->sent += n;
        due -= n;
        if (r->load->flood)
            forget_all(r);
    }
}

/* --- receiving ------------------------------------------------------------ */

static bool find_number(const char *text, const char *name, uint64_t *out)
{
    const char *at = strstr(text, name);

    if (at)
        *out = strtoull(at + strlen(name), NULL, 10);
    return at;
}

static void judge_answer(run *r, const char *text)
{
    um_load_result *out = r->result;
    uint64_t count, wl_count, code;

    if (find_number(text, "Code: ", &code) && code != 200)
        out->refused++;
    else if (find_number(text, "\nCount: ", &count) &&
             find_number(text, "\nWL-Count: ", &wl_count) && !count &&
             !wl_count)
        out->zero++;
}

static void parse_answer(run *r, const char *text)
{
    um_load_result *out = r->result;
    uint64_t thread = 0;
    bool known = find_number(text, "\nThread: ", &thread) &&
                 thread >= THREAD_MIN && thread < THREAD_MIN + THREADS;
    unsigned i =
        (unsigned)(known ? thread - THREAD_MIN : 0) % r->load->outstanding;
    slot *s = &r->slots[i];

    if (!known || !s->sent || s->thread != thread) {
        out->strange++;
        return;
    }
    um_latency_add(&out->latency, r->now - s->sent);
    out->answered++;
    out->within_second += r->now - s->sent <= SECOND_NS;
    judge_answer(r, text);
    release_slot(r, i);
}

static bool receive(run *r)
{
    int n = recvmmsg(r->fd, r->in_head, BATCH, MSG_DONTWAIT, NULL);

    r->now = now_ns();
    for (int i = 0; i < n; i++) {
        r->in[i][r->in_head[i].msg_len] = '\0';
        parse_answer(r, r->in[i]);
    }
    return n == BATCH;
}

static void abandon_lost(run *r)
{
    for (unsigned i = 0; i < r->load->outstanding; i++)
        if (r->slots[i].sent && r->now - r->slots[i].sent > LOST_NS) {
            r->result->lost++;
            release_slot(r, i);
        }
}

/* --- the run -------------------------------------------------------------- */

static void init_run(run *r, const um_load *l, um_load_result *out, int fd)
{
    r->load = l;
    r->result = out;
    r->fd = fd;
    r->rng.state = l->seed;
    r->nfree = l->outstanding;
    for (unsigned i = 0; i < l->outstanding; i++)
        r->free[i] = i;
    for (unsigned i = 0; i < BATCH; i++) {
        r->out_part[i] = (struct iovec){r->out[i], 0};
        r->in_part[i] = (struct iovec){r->in[i], ROOM};
        r->out_head[i].msg_hdr =
            (struct msghdr){.msg_iov = &r->out_part[i], .msg_iovlen = 1};
        r->in_head[i].msg_hdr =
            (struct msghdr){.msg_iov = &r->in_part[i], .msg_iovlen = 1};
    }
}

static bool is_over(const run *r)
{
    const um_load *l = r->load;

    return r->busy == 0 && ((l->count && r->result->sent >= l->count) ||
                            (l->seconds > 0 &&
                             (double)(r->now - r->began) * 1e-9 >= l->seconds));
}

static void drive(run *r)
{
    uint64_t looked = r->began = r->now = now_ns();

    while (!is_over(r)) {
        struct pollfd p = {.fd = r->fd, .events = POLLIN};

        send_due(r);
        poll(&p, 1, r->load->flood ? 0 : r->load->rate > 0 ? 1 : 100);
        while (receive(r))
            ;
        if (r->now - looked > SECOND_NS / 10) {
            looked = r->now;
            abandon_lost(r);
        }
    }
    r->result->seconds = (double)(r->now - r->began) * 1e-9;
}

static umbel_status open_client(const um_address *a, int *fd, umbel_error *err)
{
    int room = SOCKET_ROOM;
    int got = socket(a->ip.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (got < 0 || connect(got, &a->ip.any, um_address_len(a)) < 0) {
        if (got >= 0)
            close(got);
        return um_fail_errno(err, "the server's address");
    }
    if (setsockopt(got, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) < 0)
        setsockopt(got, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    *fd = got;
    return UMBEL_OK;
}

umbel_status um_load_run(const um_load *l, um_load_result *out,
                         umbel_error *err)
{
    run *r = calloc(1, sizeof *r);
    umbel_status status;
    int fd;

    if (!r)
        return um_no_memory(err, sizeof *r);
    status = open_client(&l->server, &fd, err);
    if (!status) {
        init_run(r, l, out, fd);
        drive(r);
        close(fd);
    }
    free(r);
    return status;
}
