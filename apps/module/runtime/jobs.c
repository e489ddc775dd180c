/*
 * jobs.c - runs work that takes longer than a millisecond in threads.
 */
#include "module/runtime/jobs.h"

#include "module/runtime/keys.h"
#include "module/runtime/settings.h"

#include <pthread.h>
#include <sys/resource.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
/* Protected by the lock. */
static um_job *first, **last = &first;
static long long started, idle;

/* Used on the main thread: true while a reply runs, whose client has waited
 * already. */
static bool replying;

static um_job *next_job(void)
{
    um_job *job;

    pthread_mutex_lock(&lock);
    idle++;
    while (!first)
        pthread_cond_wait(&wake, &lock);
    idle--;
    job = first;
    first = job->next;
    if (!first)
        last = &first;
    pthread_mutex_unlock(&lock);
    return job;
}

/*
 * Lowers the priority of a worker thread; on Linux this affects only that
 * thread. If there are more threads than processors, the server's own thread
 * must not wait for the time slice of a worker, which takes milliseconds.
 */
enum { NICE = 10 };

static void *run_jobs(void *unused)
{
    (void)unused;
#ifdef __linux__
    setpriority(PRIO_PROCESS, 0, NICE);
#endif
    for (;;) {
        um_job *job = next_job();
        job->work(job);
        um_api.UnblockClient(job->client, job);
    }
    return NULL;
}

/* Starts a thread if needed. Returns false if there is no thread at all. The
 * caller holds the lock. */
static bool ensure_thread(void)
{
    pthread_t thread;

    if (idle > 0 || started >= um_settings.threads)
        return true;
    if (pthread_create(&thread, NULL, run_jobs, NULL) != 0)
        return started > 0;
    pthread_detach(thread);
    started++;
    return true;
}

static bool enqueue(um_job *job)
{
    bool good;

    pthread_mutex_lock(&lock);
    good = ensure_thread();
    if (good) {
        job->next = NULL;
        *last = job;
        last = &job->next;
        pthread_cond_signal(&wake);
    }
    pthread_mutex_unlock(&lock);
    return good;
}

static int reply_now(um_job *job, um_ctx *ctx, um_str **argv, int argc)
{
    bool before = replying;
    int result;

    replying = true;
    result = job->reply(job, ctx, argv, argc);
    replying = before;
    return result;
}

static int reply_later(um_ctx *ctx, um_str **argv, int argc)
{
    um_job *job = um_api.GetBlockedClientPrivateData(ctx);

    if (job->writes && um_api.AvoidReplicaTraffic())
        return um_reply_text(ctx, "the server pauses writes: try again");
    return reply_now(job, ctx, argv, argc);
}

static void free_later(um_ctx *ctx, void *job)
{
    (void)ctx;
    ((um_job *)job)->free(job);
}

bool um_may_wait(um_ctx *ctx, uint64_t bytes)
{
    int never =
        UM_IN_LUA | UM_IN_MULTI | UM_REPLICATED | UM_LOADING | UM_DENY_BLOCKING;

    return bytes > UM_JOB_BYTES && !replying &&
           !(um_api.GetContextFlags(ctx) & never);
}

int um_job_run(um_job *job, um_ctx *ctx, um_str **argv, int argc,
               uint64_t bytes)
{
    int result;

    if (um_may_wait(ctx, bytes)) {
        job->client = um_api.BlockClient(ctx, reply_later, NULL, free_later, 0);
        if (enqueue(job))
            return UM_DONE;
        job->work(job);
        um_api.UnblockClient(job->client, job);
        return UM_DONE;
    }
    job->work(job);
    result = reply_now(job, ctx, argv, argc);
    job->free(job);
    return result;
}
