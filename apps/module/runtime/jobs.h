/*
 * jobs.h - runs work that takes longer than a millisecond in threads.
 *
 * A job holds references to the bodies that it works on, and accesses no keys.
 * While it runs, its client waits and the server continues. Then its reply runs
 * on the server's main thread, where keys may be changed. If a client cannot
 * wait (MULTI, Lua, commands from the primary or the AOF), or if the work is
 * small, all of it runs at once. If writes are paused when the thread is done
 * (CLIENT PAUSE, a failover), a job that writes ends with an error reply,
 * because a change would crash the server.
 */
#ifndef UM_MODULE_JOBS_H
#define UM_MODULE_JOBS_H

#include "module/runtime/api.h"

#include <umbel/base.h>

/* Work on fewer bytes than this takes less than a millisecond. */
enum { UM_JOB_BYTES = 256 << 10 };

typedef struct um_job um_job;
struct um_job {
    void (*work)(um_job *job); /* runs in a thread */
    int (*reply)(um_job *job, um_ctx *ctx, um_str **argv, int argc);
    void (*free)(um_job *job);
    bool writes;         /* reply changes keys */
    umbel_status status; /* of work */
    umbel_error err;
    um_blocked *client;
    um_job *next;
};

/* Returns true if a command on that many bytes may run in a thread. */
bool um_may_wait(um_ctx *ctx, uint64_t bytes);

/* Runs a job on that many bytes, and frees it. Returns UM_DONE, like
 * commands. */
int um_job_run(um_job *job, um_ctx *ctx, um_str **argv, int argc,
               uint64_t bytes);

#endif
