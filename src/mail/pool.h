/*
 * pool.h - worker processes that read mails, on a loop.
 *
 * Hostile mail is read where it can do no harm: a worker has no files, no
 * sockets except the one to the server, and limits on memory and time. Its
 * answer is a few numbers and short texts, which are checked like untrusted
 * input. If a worker dies, only the mail that it was reading is lost.
 */
#ifndef UM_MAIL_POOL_H
#define UM_MAIL_POOL_H

#include "mail/mail.h"
#include "net/server/loop.h"

typedef struct um_mail_pool um_mail_pool;

/* Why a mail has no facts: name for metrics, text for people. */
#define UM_MAIL_FAIL_LIST(X)                                                   \
    X(NONE, "none", "it was read")                                             \
    X(DIED, "died", "the worker that read it died")                            \
    X(TIME, "time", "reading it took longer than the limit")                   \
    X(MEMORY, "memory", "reading it took more memory than the limit")          \
    X(BAD_ANSWER, "bad_answer", "the worker's answer was invalid")             \
    X(BUSY, "busy", "too many mails are waiting")                              \
    X(CLOSING, "closing", "the server is stopping")

typedef enum um_mail_fail {
#define UM_MAIL_FAIL_ENUM(name, word, text) UM_MAIL_FAIL_##name,
    UM_MAIL_FAIL_LIST(UM_MAIL_FAIL_ENUM)
#undef UM_MAIL_FAIL_ENUM
        UM_MAIL_FAILS
} um_mail_fail;

const char *um_mail_fail_name(um_mail_fail why);
const char *um_mail_fail_text(um_mail_fail why);

typedef struct um_mail_pool_config {
    unsigned workers; /* 0: 2 */
    unsigned seconds; /* limit for a mail; 0: 5 */
    uint64_t memory;  /* of workers and waiting mails; 0: um_mail_pool_bytes */
    um_mail_limits limits;
    /* The command line of a program that calls um_mail_worker_main. May be
     * NULL: this program with UM_MAIL_WORKER_ARGUMENT. */
    const char *const *program;
} um_mail_pool_config;

/* Returns the minimum memory of a pool, with space for some waiting mails. */
uint64_t um_mail_pool_bytes(const um_mail_pool_config *c);

umbel_status um_mail_pool_open(um_loop *loop, const um_mail_pool_config *c,
                               um_mail_pool **out, umbel_error *err);
/* Frees the pool; ends waiting mails with UM_MAIL_FAIL_CLOSING. NULL is
 * accepted. */
void um_mail_pool_close(um_mail_pool *p);

/* Receives facts, or NULL and the reason. */
typedef void um_mail_done(void *arg, const um_mail_facts *facts,
                          um_mail_fail why);

/*
 * Submits a mail, from malloc; the pool owns it even if this fails. done is
 * called once: on the loop after this call, or by um_mail_pool_close. E_LIMIT
 * if too many mails are waiting; then done is not called.
 */
umbel_status um_mail_pool_submit(um_mail_pool *p, uint8_t *mail, size_t len,
                                 um_mail_done *done, void *arg);

/*
 * The same for a mail from a folder. If it is SpamAssassin's wrapper
 * (report_safe), the original is read: it is what other servers receive, while
 * all wrappers look alike. Mails of clients are read as they are.
 */
umbel_status um_mail_pool_submit_stored(um_mail_pool *p, uint8_t *mail,
                                        size_t len, um_mail_done *done,
                                        void *arg);

typedef struct um_mail_pool_stats {
    uint64_t read;                  /* mails with facts */
    uint64_t failed[UM_MAIL_FAILS]; /* mails without facts, by reason */
    uint64_t died;                  /* workers, including killed ones */
    unsigned workers, ready;        /* configured, and able to read now */
    size_t waiting;                 /* mails, including those being read */
    uint64_t waiting_bytes;
    uint64_t resident; /* bytes of memory that the workers use */
} um_mail_pool_stats;

void um_mail_pool_stats_get(const um_mail_pool *p, um_mail_pool_stats *out);

/* --- the worker process (worker_process.c) -------------------------------- */

/* First argument of a worker; the program must then call
 * um_mail_worker_main. */
#define UM_MAIL_WORKER_ARGUMENT "--mail-worker"

enum {
    UM_MAIL_WORKER_ARGUMENTS = 4, /* memory, bytes, parts, depth */
    UM_MAIL_WORKER_FD = 0,
    /* Exit codes. */
    UM_MAIL_WORKER_DONE = 0,
    UM_MAIL_WORKER_BROKEN = 1,
    UM_MAIL_WORKER_NO_MEMORY = 3
};

/*
 * Reads mails from descriptor UM_MAIL_WORKER_FD and answers there until it is
 * closed; returns the exit code. argv are the arguments after
 * UM_MAIL_WORKER_ARGUMENT.
 */
int um_mail_worker_main(int argc, char *const *argv);

#endif
