/*
 * peers_store.c - when files are written and removed.
 *
 * There is one child at a time. A save of the state, which a command waits for,
 * ends one of copies, which begins again afterwards: files that it had finished
 * are whole, and written again.
 */
#include "clearinghouse/peering/store_inside.h"

#include "base/error.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INTERVAL = 600, /* seconds */
    RETRY_MOST = 60 /* seconds */
};
#define MEMORY UINT64_C(0x40000000)

void um_peers_store_log(const um_peers_store *p, const char *format, ...)
{
    char text[512];
    va_list args;

    if (!p->set.log)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->set.log(p->set.ctx, text);
}

void um_saved_free(um_saved_copies *c)
{
    free(c->item);
    *c = (um_saved_copies){NULL, 0};
}

const um_saved_copy *um_saved_find(const um_saved_copies *c, const char *name)
{
    um_copy_name key;

    if (!c->n || strlen(name) >= sizeof key.text)
        return NULL;
    snprintf(key.text, sizeof key.text, "%s", name);
    return bsearch(&key, c->item, c->n, sizeof *c->item, um_copy_name_order);
}

/* --- what is to be saved -------------------------------------------------- */

bool um_saved_list(const um_peers_store *p, um_saved_copies *out)
{
    umbel_sync_copy c;
    size_t most = 0;

    for (size_t at = 0; umbel_sync_next_copy(p->set.machine, &at, &c);)
        most++;
    *out = (um_saved_copies){calloc(most + 1, sizeof *out->item), 0};
    if (!out->item)
        return false;
    for (size_t at = 0; umbel_sync_next_copy(p->set.machine, &at, &c);) {
        um_saved_copy *s = &out->item[out->n];
        if (c.own || !c.version)
            continue;
        um_copy_name_create(&c, p->set.list(c.list), &s->name);
        const um_saved_copy *old = um_saved_find(&p->saved, s->name.text);
        s->version = c.version;
        s->changed = !old || old->version != c.version;
        s->at = at;
        out->n++;
    }
    qsort(out->item, out->n, sizeof *out->item, um_copy_name_order);
    return true;
}

/* Returns true if a file is to be written or removed. */
static bool has_changed(const um_peers_store *p, const um_saved_copies *wanted)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (wanted->item[i].changed)
            return true;
    return wanted->n != p->saved.n;
}

/* The caller frees it; NULL: no memory. */
static uint8_t *export_state(const um_peers_store *p, size_t *len)
{
    umbel_sync_export_state(p->set.machine, NULL, 0, len, NULL);
    uint8_t *bytes = malloc(*len + 1);
    if (bytes && umbel_sync_export_state(p->set.machine, bytes, *len, len,
                                         NULL) != UMBEL_OK) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

/* --- jobs: in a child, or at the end in the server itself ------------------
 */

/* Names that are to be removed. */
typedef struct sweep {
    const um_peers_store *store;
    um_copy_name *name;
    size_t n;
} sweep;

static void note_unwanted(void *ctx, const char *name)
{
    sweep *s = ctx;

    if (s->n < UM_PEERS_NAMES && strlen(name) < UM_DISK_NAME &&
        ((um_copy_name_is(name) && !um_saved_find(&s->store->wanted, name)) ||
         um_name_is_unfinished(name)))
        snprintf(s->name[s->n++].text, UM_DISK_NAME, "%s", name);
}

/* Removes files of copies that are gone, and what a crash left. */
static int remove_unwanted(const um_peers_store *p)
{
    sweep s = {p, malloc(UM_PEERS_NAMES * sizeof *s.name), 0};
    int number = s.name ? 0 : ENOMEM;

    do {
        s.n = 0;
        if (!number)
            number = p->disk->ops->names(p->disk, note_unwanted, &s);
        for (size_t i = 0; i < s.n && !number; i++)
            number = p->disk->ops->remove(p->disk, s.name[i].text);
    } while (s.n == UM_PEERS_NAMES && !number);
    if (!number && s.n)
        number = p->disk->ops->sync_names(p->disk);
    free(s.name);
    return number;
}

static int write_copy(const um_peers_store *p, const um_saved_copy *s)
{
    umbel_filter *f;

    if (umbel_sync_export(p->set.machine, s->at, &f, NULL) != UMBEL_OK)
        return ENOMEM;
    umbel_set_coded(f, true);
    int number = um_copy_file_write(p->disk, s->name.text, f);
    umbel_close(f);
    return number;
}

/* What goes is removed first: the disk may be full. */
static int write_copies(const um_peers_store *p)
{
    int number = remove_unwanted(p);

    for (size_t i = 0; i < p->wanted.n && !number; i++)
        if (p->wanted.item[i].changed)
            number = write_copy(p, &p->wanted.item[i]);
    return number;
}

static int run_job(void *arg)
{
    const um_peers_store *p = arg;

    return p->job == UM_STATE_JOB
               ? um_state_file_write(p->disk,
                                     (umbel_slice){p->state, p->state_len})
               : write_copies(p);
}

/* --- the child ------------------------------------------------------------ */

static const char *const what[UM_PEERS_JOBS] = {
    [UM_STATE_JOB] = "who was dropped or muted",
    [UM_COPIES_JOB] = "what others reported"};

static void forget_job(um_peers_store *p)
{
    p->job = UM_IDLE_JOB;
    um_saved_free(&p->wanted);
    free(p->state);
    p->state = NULL;
}

static void note_failure(um_peers_store *p, um_peers_job which, int number)
{
    if (!p->error[which])
        um_peers_store_log(p, "%s could not be saved: %s; it is tried again",
                           what[which], strerror(number));
    p->error[which] = number;
    p->retry_at = p->now + p->retry_after;
    p->retry_after =
        2 * p->retry_after < RETRY_MOST ? 2 * p->retry_after : RETRY_MOST;
}

static void note_success(um_peers_store *p)
{
    if (p->error[p->job])
        um_peers_store_log(p, "%s saved again", what[p->job]);
    p->error[p->job] = 0;
    p->retry_at = 0;
    p->retry_after = 1;
    if (p->job == UM_STATE_JOB) {
        p->done = p->begun;
        p->state_sum = p->job_sum;
        return;
    }
    um_saved_free(&p->saved);
    p->saved = p->wanted;
    p->wanted = (um_saved_copies){NULL, 0};
    p->copies_due = false;
    p->stats.saves++;
    p->stats.saved = p->now;
    p->stats.files = p->saved.n;
}

static void end_job(um_peers_store *p, int number)
{
    if (p->job == UM_STATE_JOB)
        p->tried = p->begun;
    if (number)
        note_failure(p, p->job, number);
    else
        note_success(p);
    forget_job(p);
}

/* Prepares a job; false: there is nothing to do, or no memory. */
static bool prepare_state(um_peers_store *p)
{
    p->state = export_state(p, &p->state_len);
    if (!p->state) {
        note_failure(p, UM_STATE_JOB, ENOMEM);
        p->tried = p->asked;
        return false;
    }
    p->job = UM_STATE_JOB;
    p->begun = p->asked;
    p->job_sum = um_checksum(p->state, p->state_len);
    return true;
}

static bool prepare_copies(um_peers_store *p)
{
    if (!um_saved_list(p, &p->wanted)) {
        note_failure(p, UM_COPIES_JOB, ENOMEM);
        return false;
    }
    p->job = UM_COPIES_JOB;
    if (has_changed(p, &p->wanted))
        return true;
    end_job(p, 0);
    return false;
}

static void start_job(um_peers_store *p)
{
    int number = p->disk->ops->start(p->disk, run_job, p, &p->child);

    if (number)
        end_job(p, number);
}

static void stop_job(um_peers_store *p)
{
    if (p->job == UM_IDLE_JOB)
        return;
    p->disk->ops->stop(p->disk, p->child);
    forget_job(p);
}

/* --- turns ---------------------------------------------------------------- */

/* Copies are saved each interval, and what changed the state meanwhile. */
static void begin_interval(um_peers_store *p)
{
    p->next = p->now + p->set.interval;
    p->copies_due = true;
    size_t len;
    uint8_t *state = export_state(p, &len);
    if (state && um_checksum(state, len) != p->state_sum)
        p->asked++;
    free(state);
}

static void begin_job(um_peers_store *p)
{
    if (p->job != UM_IDLE_JOB || p->now < p->retry_at)
        return;
    if (p->asked > p->done ? prepare_state(p)
                           : p->copies_due && prepare_copies(p))
        start_job(p);
}

void um_peers_store_tick(um_peers_store *p, uint64_t now)
{
    int number;

    p->now = now;
    if (!p->next)
        p->next = now + p->set.interval;
    if (p->job != UM_IDLE_JOB &&
        p->disk->ops->ended(p->disk, p->child, &number))
        end_job(p, number);
    if (now >= p->next ||
        p->next - now > p->set.interval) /* or a clock jumped */
        begin_interval(p);
    begin_job(p);
}

uint64_t um_peers_store_save_state(um_peers_store *p)
{
    p->asked++;
    if (p->job == UM_COPIES_JOB)
        stop_job(p);
    p->retry_at = 0;
    begin_job(p);
    return p->asked;
}

void um_peers_store_note_change(um_peers_store *p)
{
    p->asked++;
}

uint64_t um_peers_store_saved(const um_peers_store *p)
{
    return p->done;
}

uint64_t um_peers_store_tried(const um_peers_store *p)
{
    return p->tried;
}

void um_peers_store_save_begin(um_peers_store *p)
{
    p->copies_due = true;
}

static int last_error(const um_peers_store *p)
{
    return p->error[UM_STATE_JOB] ? p->error[UM_STATE_JOB]
                                  : p->error[UM_COPIES_JOB];
}

umbel_status um_peers_store_save(um_peers_store *p, umbel_error *err)
{
    stop_job(p);
    if (prepare_state(p))
        end_job(p, run_job(p));
    if (prepare_copies(p))
        end_job(p, run_job(p));
    return um_disk_status(last_error(p), "peers", err);
}

void um_peers_store_stats_get(const um_peers_store *p,
                              um_peers_store_stats *out)
{
    *out = p->stats;
    out->error = last_error(p);
}

/* --- opening -------------------------------------------------------------- */

umbel_status um_peers_store_open(const um_peers_store_config *c,
                                 um_peers_store **out, umbel_error *err)
{
    um_peers_store *p = calloc(1, sizeof *p);

    if (!p)
        return um_no_memory(err, sizeof *p);
    *p = (um_peers_store){.set = *c, .disk = c->disk, .retry_after = 1};
    if (!p->set.interval)
        p->set.interval = INTERVAL;
    if (!p->set.memory)
        p->set.memory = MEMORY;
    umbel_status status =
        p->disk ? UMBEL_OK : um_disk_open(c->dir, &p->disk, err);
    if (status)
        free(p);
    else
        *out = p;
    return status;
}

void um_peers_store_close(um_peers_store *p)
{
    if (!p)
        return;
    stop_job(p);
    um_saved_free(&p->saved);
    um_disk_close(p->disk);
    free(p);
}
