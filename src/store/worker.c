/*
 * worker.c - the thread that waits for the disk in the store's place.
 *
 * A journal that is retired was written before the one that is synced, so it is
 * synced first: "durable up to block N" is a statement about all files.
 */
#include "store/worker.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One when a snapshot begins, and one if the disk fails right then; before
 * there is another, the worker has prepared a journal, and done these. */
enum { MAX_RETIRED = 2 };

/* What there is to do; a place is free when its flag is false. */
typedef struct work {
    bool sync, mark, prepare, clean;
    um_written synced;
    um_written retired[MAX_RETIRED];
    size_t nretired;
    um_journal_head head;
    uint64_t settle, below;
    int broken;
} work;

struct um_worker {
    um_disk *disk;
    int event;
    uint64_t durable;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    work todo;
    um_work_done done;
    bool stop;
};

/* --- the work ------------------------------------------------------------ */

bool um_store_parse_name(const char *name, const char *kind, uint64_t *number,
                         bool *unfinished)
{
    size_t len = strlen(kind);
    char *end;

    if (strncmp(name, kind, len) != 0 || name[len] != '-' ||
        name[len + 1] < '1' || name[len + 1] > '9')
        return false;
    errno = 0;
    *number = strtoull(name + len + 1, &end, 10);
    *unfinished = strcmp(end, ".new") == 0;
    return errno == 0 && (*end == '\0' || *unfinished);
}

int um_journal_create(um_disk *disk, const um_journal_head *head, int *file)
{
    uint8_t bytes[UM_JOURNAL_HEAD];
    char name[UM_DISK_NAME], new[UM_DISK_NAME];

    snprintf(name, sizeof name, "journal-%" PRIu64, head->number);
    snprintf(new, sizeof new, "journal-%" PRIu64 ".new", head->number);
    um_journal_head_encode(head, bytes);
    int number = disk->ops->open(disk, new, UM_DISK_CREATE, file);
    if (number)
        return number;
    number = disk->ops->write(disk, *file, 0, bytes, sizeof bytes);
    if (number == 0)
        number = um_disk_finish(disk, *file, name);
    if (number) {
        disk->ops->close(disk, *file);
        disk->ops->remove(disk, new);
    }
    return number;
}

enum { CLEAN_AT_ONCE = 64 };

typedef struct cleaning {
    uint64_t below;
    bool unfinished;
    char name[CLEAN_AT_ONCE][UM_DISK_NAME];
    size_t n;
} cleaning;

static void note_old(void *ctx, const char *name)
{
    static const char *const kinds[] = {"snapshot", "journal"};
    cleaning *c = ctx;
    uint64_t number;
    bool unfinished;

    for (size_t i = 0; i < UM_COUNT(kinds); i++)
        if (um_store_parse_name(name, kinds[i], &number, &unfinished) &&
            (number < c->below || (unfinished && c->unfinished)) &&
            c->n < CLEAN_AT_ONCE && strlen(name) < UM_DISK_NAME)
            memcpy(c->name[c->n++], name, strlen(name) + 1);
}

int um_store_clean(um_disk *disk, uint64_t below, bool unfinished)
{
    cleaning c = {.below = below, .unfinished = unfinished};

    do {
        c.n = 0;
        int number = disk->ops->names(disk, note_old, &c);
        if (number)
            return number;
        for (size_t i = 0; i < c.n; i++) {
            number = disk->ops->remove(disk, c.name[i]);
            if (number && number != ENOENT)
                return number;
        }
    } while (c.n == CLEAN_AT_ONCE);
    return 0;
}

static int prepare(um_worker *w, const work *todo, int *file)
{
    int number = todo->settle ? um_store_settle(w->disk, todo->settle) : 0;

    return number ? number : um_journal_create(w->disk, &todo->head, file);
}

static int write_mark(um_worker *w, um_written what)
{
    uint8_t bytes[UM_JOURNAL_MARK];

    um_journal_mark_encode(what.end, bytes);
    return w->disk->ops->write(w->disk, what.file, UM_JOURNAL_MARK_AT, bytes,
                               sizeof bytes);
}

static int sync_journal(um_worker *w, um_written what, bool mark)
{
    int number = w->disk->ops->sync(w->disk, what.file);

    if (number)
        return number;
    if (what.seq > um_worker_durable(w))
        __atomic_store_n(&w->durable, what.seq, __ATOMIC_RELEASE);
    return mark ? write_mark(w, what) : 0;
}

/*
 * Syncs journals in the order in which they were written. After a failed sync
 * the kernel forgets what it could not write, and the next sync of that file
 * would succeed: so none is tried until a snapshot has everything.
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
        number = sync_journal(w, todo->synced, todo->mark);
    done->syncs = todo->nretired + todo->sync;
    done->sync_error = number;
}

/* Does all of it; the caller does not hold the lock. */
static um_work_done do_work(um_worker *w, const work *todo)
{
    um_work_done done = {.file = -1};

    sync_all(w, todo, &done);
    if (todo->prepare) {
        done.prepare_error = prepare(w, todo, &done.file);
        done.prepared = true;
    }
    if (todo->clean) /* what stays is removed next time */
        um_store_clean(w->disk, todo->below, false);
    return done;
}

static bool has_work(const work *todo)
{
    return todo->sync || todo->nretired || todo->prepare || todo->clean;
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

/* Called with the lock, which it gives up while it works. */
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
    /* A full pipe is readable already. */
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

/* --- asking for it ------------------------------------------------------- */

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
        return um_disk_status(number, "no thread", err);
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

static void leave(um_worker *w)
{
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

void um_worker_sync(um_worker *w, um_written what, bool mark)
{
    pthread_mutex_lock(&w->lock);
    w->todo.sync = true;
    w->todo.mark |= mark;
    w->todo.synced = what;
    leave(w);
}

void um_worker_retire(um_worker *w, um_written what)
{
    pthread_mutex_lock(&w->lock);
    if (w->todo.sync && w->todo.synced.file == what.file)
        w->todo.sync = false; /* this one covers it */
    w->todo.retired[w->todo.nretired++] = what;
    leave(w);
}

void um_worker_prepare(um_worker *w, const um_journal_head *head,
                       uint64_t settle)
{
    pthread_mutex_lock(&w->lock);
    w->todo.prepare = true;
    w->todo.settle = settle;
    w->todo.head = *head;
    leave(w);
}

void um_worker_clean(um_worker *w, uint64_t below)
{
    pthread_mutex_lock(&w->lock);
    w->todo.clean = true;
    w->todo.below = below;
    leave(w);
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

void um_worker_mend(um_worker *w, uint64_t seq)
{
    pthread_mutex_lock(&w->lock);
    __atomic_store_n(&w->durable, seq, __ATOMIC_RELEASE);
    w->todo.broken = 0;
    pthread_mutex_unlock(&w->lock);
}
