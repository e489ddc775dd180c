/*
 * worker.h - the process that reads mails, for a pool (pool.h).
 */
#ifndef UM_MAIL_WORKER_H
#define UM_MAIL_WORKER_H

#include <umbel/base.h>

/* A program whose first argument this is calls um_mail_worker_main. */
#define UM_MAIL_WORKER_ARGUMENT "--mail-worker"

enum {
    UM_MAIL_WORKER_ARGUMENTS = 4, /* memory, bytes, parts, depth */
    UM_MAIL_WORKER_FD = 0,
    /* How it ends. */
    UM_MAIL_WORKER_DONE = 0,
    UM_MAIL_WORKER_BROKEN = 1,
    UM_MAIL_WORKER_NO_MEMORY = 3
};

/*
 * Reads mails from descriptor UM_MAIL_WORKER_FD and answers there until it is
 * closed; returns the exit code. argv: what the pool passes behind
 * UM_MAIL_WORKER_ARGUMENT.
 */
int um_mail_worker_main(int argc, char *const *argv);

#endif
