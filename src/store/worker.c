/*
 * worker.c - the thread that waits for the disk on behalf of the store.
 *
 * A retired journal was written before the current one, so it is synced first:
 * "durable up to block N" is a statement about all files.
 */
#include "base/error.h"
#include "store/internal.h"
#include "store/journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* One is retired when a snapshot begins, and one if the disk fails at that
 * moment. Before a third, the worker has prepared a journal and synced these
 * two. */
enum { MAX_RETIRED = 2 };

/* The requested work; a slot is free when its flag is false. */
typedef struct work {
    bool sync, head_too, prepare, remove;
    um_written synced;
    um_written retired[MAX_RETIRED];
    size_t nretired;
    um_journal_head head;
    uint64_t replayed, below;
    int broken;
} work;

struct um_worker {
    um_disk *disk;
    int event;
    uint64_t durable;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the following members */
    pthread_cond_t wake;
    work todo;
    um_work_done done;
    bool stop;
};

/* --- the work ------------------------------------------------------------- */

static int prepare(um_worker *w, const work *todo, int *file)
{
    int number =
        todo->replayed ? um_journals_make_durable(w->disk, todo->replayed) : 0;

    return number ? number : um_journal_create(w->disk, &todo->head, file);
}

static int write_durable_end(um_worker *w, um_written what)
{
    uint8_t bytes[UM_JOURNAL_DURABLE_LEN];

    um_journal_durable_encode(what.end, bytes);
    return w->disk->ops->write(w->disk, what.file, UM_JOURNAL_DURABLE_AT, bytes,
                               sizeof bytes);
}

static int sync_journal(um_worker *w, um_written what, bool head)
{
    int number = w->disk->ops->sync(w->disk, what.file);

    if (number)
        return number;
    if (what.seq > um_worker_durable(w))
        __atomic_store_n(&w->durable, what.seq, __ATOMIC_RELEASE);
    return head ? write_durable_end(w, what) : 0;
}

/*
 * Syncs journals in the order in which they were written. After a failed sync
 * the kernel forgets what it could not write, and the next sync of that file
 * would succeed. So there is no further sync until a snapshot contains
 * everything.
 */
static void sync_all(um_worker *w, const work *todo, um_work_done *done)
{
    int number = todo->broken;

    for (size_t i = 0; i < todo->nretired; i++) {
        if (number == 0)
            number = sync_journal(w, todo->retired[i], true);
        w->disk->ops->close(w->disk, todo->retired[i].file);
    }
    if (todo->sync && number == 0)
        number = sync_journal(w, todo->synced, todo->head_too);
    done->syncs = todo->nretired + todo->sync;
    done->sync_error = number;
}

/* Does all requested work; the caller must not hold the lock. */
static um_work_done do_work(um_worker *w, const work *todo)
{
    um_work_done done = {.file = -1};

    sync_all(w, todo, &done);
    if (todo->prepare) {
        done.prepare_error = prepare(w, todo, &done.file);
        done.prepared = true;
    }
    if (todo->remove) /* if this fails, the next removal retries */
        um_data_files_remove(w->disk, todo->below, false);
    return done;
}

static bool has_work(const work *todo)
{
    return todo->sync || todo->nretired || todo->prepare || todo->remove;
}

static void add_result(um_worker *w, const um_work_done *done)
{
    um_work_done *sum = &w->done;

    if (sum->sync_error == 0)
        sum->sync_error = done->sync_error;
    sum->syncs += done->syncs;
    if (done->prepared) {
        sum->prepared = true;
        sum->prepare_error = done->prepare_error;
        sum->file = done->file;
    }
}

/* Does the requested work. Called with the lock held; releases it while
 * working. */
static void work_once(um_worker *w)
{
    work todo = w->todo;

    w->todo = (work){.broken = todo.broken};
    pthread_mutex_unlock(&w->lock);
    um_work_done done = do_work(w, &todo);
    pthread_mutex_lock(&w->lock);
    add_result(w, &done);
    if (w->todo.broken == 0)
        w->todo.broken = done.sync_error;
    /* If the pipe is full, the store will wake up anyway. */
    if (write(w->event, "", 1) < 0 && errno != EAGAIN)
        errno = 0;
}

static void *run_thread(void *arg)
{
    um_worker *w = arg;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        if (has_work(&w->todo))
            work_once(w);
        else if (w->stop)
            break;
        else
            pthread_cond_wait(&w->wake, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void um_worker_run(um_worker *w)
{
    pthread_mutex_lock(&w->lock);
    if (!w->disk->ops->threads && has_work(&w->todo))
        work_once(w);
    pthread_mutex_unlock(&w->lock);
}

/* --- requests ------------------------------------------------------------- */

umbel_status um_worker_open(um_disk *disk, int event, um_worker **out,
                            umbel_error *err)
{
    um_worker *w = calloc(1, sizeof *w);

    if (!w)
        return um_no_memory(err, sizeof *w);
    w->disk = disk;
    w->event = event;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    int number = disk->ops->threads
                     ? pthread_create(&w->thread, NULL, run_thread, w)
                     : 0;
    if (number) {
        free(w);
        return um_disk_status(number, "cannot create a thread", err);
    }
    *out = w;
    return UMBEL_OK;
}

void um_worker_close(um_worker *w)
{
    if (!w)
        return;
    um_worker_run(w);
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (w->disk->ops->threads)
        pthread_join(w->thread, NULL);
    if (w->done.prepared && w->done.prepare_error == 0)
        w->disk->ops->close(w->disk, w->done.file);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void wake_and_unlock(um_worker *w)
{
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

void um_worker_sync(um_worker *w, um_written what, bool head)
{
    pthread_mutex_lock(&w->lock);
    w->todo.sync = true;
    w->todo.head_too |= head;
    w->todo.synced = what;
    wake_and_unlock(w);
}

void um_worker_retire(um_worker *w, um_written what)
{
    pthread_mutex_lock(&w->lock);
    if (w->todo.sync && w->todo.synced.file == what.file)
        w->todo.sync = false; /* this one covers it */
    w->todo.retired[w->todo.nretired++] = what;
    wake_and_unlock(w);
}

void um_worker_prepare(um_worker *w, const um_journal_head *head,
                       uint64_t replayed)
{
    pthread_mutex_lock(&w->lock);
    w->todo.prepare = true;
    w->todo.replayed = replayed;
    w->todo.head = *head;
    wake_and_unlock(w);
}

void um_worker_remove_old(um_worker *w, uint64_t below)
{
    pthread_mutex_lock(&w->lock);
    w->todo.remove = true;
    w->todo.below = below;
    wake_and_unlock(w);
}

void um_worker_collect(um_worker *w, um_work_done *out)
{
    pthread_mutex_lock(&w->lock);
    *out = w->done;
    w->done = (um_work_done){.file = -1};
    pthread_mutex_unlock(&w->lock);
}

uint64_t um_worker_durable(const um_worker *w)
{
    return __atomic_load_n(&w->durable, __ATOMIC_ACQUIRE);
}

void um_worker_set_durable(um_worker *w, uint64_t seq)
{
    pthread_mutex_lock(&w->lock);
    __atomic_store_n(&w->durable, seq, __ATOMIC_RELEASE);
    w->todo.broken = 0;
    pthread_mutex_unlock(&w->lock);
}
