/*
 * opening.c - open a data directory, and close it.
 */
#define _GNU_SOURCE /* pipe2 */
#include "store/inside.h"

#include "base/error.h"
#include "store/recover.h"
#include "store/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static umbel_status check_config(const um_store_config *c, umbel_error *err)
{
    if (c->nlists > UM_STORE_MAX_LISTS)
        return um_fail(err, UMBEL_E_RANGE, "%zu lists, more than %d", c->nlists,
                       UM_STORE_MAX_LISTS);
    for (size_t i = 0; i < c->nlists; i++) {
        const char *name = c->lists[i].name;
        if (!*name || strlen(name) >= UM_LIST_MAX_NAME)
            return um_fail(err, UMBEL_E_RANGE,
                           "the name of a list has 1 to %d bytes: \"%.40s\"",
                           UM_LIST_MAX_NAME - 1, name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(name, c->lists[k].name) == 0)
                return um_fail(err, UMBEL_E_RANGE, "two lists \"%s\"", name);
    }
    return UMBEL_OK;
}

static umbel_status lock_directory(const um_store *s, const char *dir,
                                   umbel_error *err)
{
    pid_t holder = 0;
    int number = s->disk->ops->lock(s->disk, "lock", &holder);

    if (number == EWOULDBLOCK && holder)
        return um_fail(err, UMBEL_E_REFUSED,
                       "%s is in use by another server, process %ld: stop that "
                       "one, or choose another directory",
                       dir, (long)holder);
    if (number == EWOULDBLOCK)
        return um_fail(err, UMBEL_E_REFUSED,
                       "%s is in use by another server: stop that one, or "
                       "choose another directory",
                       dir);
    return um_disk_status(number, dir, err);
}

static umbel_status apply_secret(um_store *s, const um_store_config *c,
                                 const um_found *found, umbel_error *err)
{
    if (c->secret_bytes)
        memcpy(s->secret, c->secret_bytes, sizeof s->secret);
    else
        UM_TRY(um_secret_find(c->dir, c->secret, found->snapshot != 0,
                              s->secret, err));
    um_hasher_unlock(&s->hasher, s->secret);
    return UMBEL_OK;
}

/* Writes snapshot-N now: there is none, or not of these lists. */
static umbel_status write_first(um_store *s, const um_found *found,
                                umbel_error *err)
{
    s->phase = UM_STARTING; /* what is put waits in memory */
    if (found->snapshot)
        um_store_before_snapshot(s);
    s->phase = UM_IDLE;
    s->open = false;
    s->used = 0; /* and is in the snapshot */
    int number =
        um_store_write_snapshot(s, s->number, &s->stats.snapshot_bytes);

    s->stats.snapshot_time = s->now;
    s->old_bytes = 0;
    s->old_files = 0;
    if (number && !found->snapshot)
        return um_disk_status(number, found->dir, err);
    if (number)
        um_store_fail(s, number, "no snapshot could be written");
    else
        um_worker_mend(s->worker, s->written = s->seq);
    return UMBEL_OK;
}

/* Lets the worker begin journal-N: nobody has to wait for the disk. */
static void begin_journal(um_store *s, uint64_t settle)
{
    um_journal_head head = {.number = s->number,
                            .secret_id = um_secret_id(s->secret),
                            .lists_id = s->lists_id};

    s->phase = UM_STARTING;
    um_worker_prepare(s->worker, &head, settle);
}

static umbel_status load(um_store *s, const um_store_config *c,
                         const um_found *found, umbel_error *err)
{
    uint8_t same[UM_STORE_MAX_LISTS];
    um_recovered got = {.rewrite = true};

    for (size_t i = 0; i < UM_STORE_MAX_LISTS; i++)
        same[i] = (uint8_t)i;
    s->lists_id = um_state_lists_id(c, same, c->nlists);
    if (found->snapshot)
        UM_TRY(um_recover(found, c, s->secret, &s->state, &got, err));
    UM_TRY(um_state_fill(&s->state, c, s->secret, s->now, err));
    s->seq = s->written = got.seq;
    s->old_bytes = got.journal_bytes;
    s->old_files = found->n;
    s->wanted = got.torn != 0;
    s->stats.snapshot_bytes = got.snapshot_bytes;
    s->stats.snapshot_time = got.time;
    s->stats.replayed = got.records;
    s->stats.torn = got.torn;
    s->number = s->stats.last_number = found->last + 1;
    if (got.rewrite)
        UM_TRY(write_first(s, found, err));
    if (!s->has_failed)
        begin_journal(s, got.rewrite ? s->number : found->snapshot);
    return UMBEL_OK;
}

static umbel_status open_store(um_store *s, const um_store_config *c,
                               umbel_error *err)
{
    const char *dir = c->dir ? c->dir : "data";
    um_found found = {0};

    s->disk = c->disk;
    UM_TRY(check_config(c, err));
    if (!s->disk)
        UM_TRY(um_disk_open(dir, &s->disk, err));
    s->buffer = malloc(UM_STORE_BUFFER);
    if (!s->buffer)
        return um_no_memory(err, UM_STORE_BUFFER);
    if (pipe2(s->event, O_NONBLOCK | O_CLOEXEC) != 0)
        return um_fail_errno(err, "no pipe");
    UM_TRY(lock_directory(s, dir, err));
    UM_TRY(um_worker_open(s->disk, s->event[1], &s->worker, err));
    umbel_status status = um_found_init(&found, s->disk, dir, err);
    if (status == UMBEL_OK)
        status = apply_secret(s, c, &found, err);
    if (status == UMBEL_OK)
        status = load(s, c, &found, err);
    um_found_fini(&found);
    return status;
}

umbel_status um_store_open(const um_store_config *c, uint64_t now,
                           um_store **out, umbel_error *err)
{
    um_store *s = calloc(1, sizeof *s);

    if (!s)
        return um_no_memory(err, sizeof *s);
    s->file = s->event[0] = s->event[1] = -1;
    s->now = s->ticked = now;
    s->retry_after = 1;
    s->durability = c->durability;
    s->watch = c->watch;
    s->sums_bytes = c->sums_bytes;
    s->least_bytes =
        c->journal_bytes ? c->journal_bytes : UM_STORE_JOURNAL_BYTES;
    um_hasher_init(&s->hasher, um_hash_find("sip"), 0, &s->hasher_secret);
    umbel_status status = open_store(s, c, err);
    if (status == UMBEL_OK)
        *out = s;
    else
        um_store_close(s);
    return status;
}

/* What was appended meanwhile is to be written. A store that could not be
 * opened has begun nothing, and may lack lists. */
static void finish_start(um_store *s)
{
    struct pollfd event = {.fd = s->event[0], .events = POLLIN};

    while (s->phase == UM_STARTING) {
        um_store_tick(s, s->now);
        if (s->phase == UM_STARTING)
            poll(&event, 1, -1);
    }
}

void um_store_close(um_store *s)
{
    if (!s)
        return;
    s->watch = (um_store_watch){.ctx = NULL}; /* the watcher may be gone */
    if (s->worker) {
        finish_start(s);
        um_store_flush(s, NULL);
        if (s->phase == UM_WRITING)
            s->disk->ops->stop(s->disk, s->child);
        um_store_retire(s);
        um_worker_close(s->worker);
    }
    um_state_fini(&s->state);
    um_hasher_fini(&s->hasher);
    sodium_memzero(s->secret, sizeof s->secret);
    um_disk_close(s->disk);
    for (int i = 0; i < 2; i++)
        if (s->event[i] >= 0)
            close(s->event[i]);
    free(s->buffer);
    free(s);
}
