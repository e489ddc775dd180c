/*
 * pool_private.h - what the files of the pool share: mails that wait, and the
 * processes that read them.
 */
#ifndef UM_MAIL_POOL_PRIVATE_H
#define UM_MAIL_POOL_PRIVATE_H

#include "mail/pool.h"
#include "mail/wire.h"

#include <sys/types.h>

/* A mail, in the queue or with a worker. */
typedef struct um_mail_job {
    struct um_mail_job *next;
    uint8_t *mail;
    uint32_t len, id;
    bool cut;
    uint64_t asked; /* ms */
    um_mail_done *done;
    void *arg;
} um_mail_job;

typedef struct um_mail_jobs {
    um_mail_job *first, *last;
    size_t n;
} um_mail_jobs;

void um_mail_jobs_append(um_mail_jobs *q, um_mail_job *job);
/* NULL: it is empty. */
um_mail_job *um_mail_jobs_parse(um_mail_jobs *q);

/* A worker process, or the place of one that is to be started. */
typedef struct um_mail_slot {
    um_mail_pool *pool;
    pid_t pid; /* 0: not running */
    int fd;
    um_watch *watch;
    bool ready;
    um_mail_jobs sent; /* in the order of their answers */
    size_t sent_bytes;
    size_t written;    /* bytes of the last of them, its head included */
    bool sending;      /* the last is not yet written */
    uint64_t since;    /* ms: the first of them is being read */
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

/* --- pool.c --- */

/* Ends a job: facts, or the reason. */
void um_mail_job_end(um_mail_pool *p, um_mail_job *job,
                     const um_mail_facts *facts, um_mail_fail why);
/* Gives waiting mails to workers that have room. */
void um_mail_pool_dispatch(um_mail_pool *p);
/* Has the timer look after workers. */
void um_mail_pool_watch(um_mail_pool *p);

/* --- pool_slot.c --- */

umbel_status um_mail_slot_start(um_mail_slot *s, umbel_error *err);
/* Returns true if the worker may be given one more. */
bool um_mail_slot_has_room(const um_mail_slot *s, size_t len);
void um_mail_slot_send(um_mail_slot *s, um_mail_job *job);
/* Takes what it has answered. */
void um_mail_slot_receive(um_mail_slot *s);
/* Ends the process, whose first mail is lost for that reason; the others are
 * read by another. UM_MAIL_FAIL_NONE: as its exit says. */
void um_mail_slot_end(um_mail_slot *s, um_mail_fail why);

#endif
