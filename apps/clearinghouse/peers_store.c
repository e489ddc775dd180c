/*
 * peers_store.c - when files are written and removed.
 *
 * There is one child at a time. A save of the state, which a command waits for,
 * ends one of copies, which begins again afterwards: files that it had finished
 * are whole, and written again.
 */
#include "clearinghouse/peers_store.h"

#include "base/error.h"
#include "base/hash.h"
#include "clearinghouse/peers_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INTERVAL = 600,    /* seconds */
    RETRY_MOST = 60,   /* seconds */
    NAMES_MOST = 4096, /* of a directory that are looked at in one go */
    LOGGED_MOST = 8    /* files that are named at a start */
};
#define MEMORY UINT64_C(0x40000000)

typedef enum job { IDLE, STATE, COPIES, JOBS } job;

/* A copy, and its file. */
typedef struct saved_copy {
    um_copy_name name; /* the first: arrays are sorted by it */
    uint64_t version;
    size_t at;    /* for umbel_sync_export */
    bool changed; /* the file is older, or not there */
} saved_copy;

typedef struct saved_copies {
    saved_copy *item;
    size_t n;
} saved_copies;

struct um_peers_store {
    um_peers_store_config set;
    um_disk *disk;
    job job; /* of the child */
    pid_t child;
    saved_copies saved;  /* what files have */
    saved_copies wanted; /* what they have after the job */
    bool copies_due;
    umbel_slice state;           /* that the job writes */
    uint64_t state_sum, job_sum; /* checksums of the state, saved and wanted */
    uint64_t asked, begun, tried, done; /* tickets */
    uint64_t now, next, retry_at, retry_after;
    int error[JOBS]; /* of the last one; 0: none */
    um_peers_store_stats stats;
};

__attribute__((format(printf, 2, 3))) static void
log_line(const um_peers_store *p, const char *format, ...)
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

static void free_copies(saved_copies *c)
{
    free(c->item);
    *c = (saved_copies){NULL, 0};
}

static const saved_copy *find_copy(const saved_copies *c, const char *name)
{
    um_copy_name key;

    if (!c->n || strlen(name) >= sizeof key.text)
        return NULL;
    snprintf(key.text, sizeof key.text, "%s", name);
    return bsearch(&key, c->item, c->n, sizeof *c->item, um_copy_name_order);
}

/* --- what is to be saved -------------------------------------------------- */

/* Lists copies that belong on disk, sorted; false: no memory. */
static bool list_copies(const um_peers_store *p, saved_copies *out)
{
    umbel_sync_copy c;
    size_t most = 0;

    for (size_t at = 0; umbel_sync_next_copy(p->set.machine, &at, &c);)
        most++;
    *out = (saved_copies){calloc(most + 1, sizeof *out->item), 0};
    if (!out->item)
        return false;
    for (size_t at = 0; umbel_sync_next_copy(p->set.machine, &at, &c);) {
        saved_copy *s = &out->item[out->n];
        if (c.own || !c.version)
            continue;
        um_copy_name_make(&c, p->set.list(c.list), &s->name);
        const saved_copy *old = find_copy(&p->saved, s->name.text);
        s->version = c.version;
        s->changed = !old || old->version != c.version;
        s->at = at;
        out->n++;
    }
    qsort(out->item, out->n, sizeof *out->item, um_copy_name_order);
    return true;
}

/* Returns true if a file is to be written or removed. */
static bool has_changed(const um_peers_store *p, const saved_copies *wanted)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (wanted->item[i].changed)
            return true;
    return wanted->n != p->saved.n;
}

/* The caller frees the bytes; data NULL: no memory. */
static umbel_slice export_state(const um_peers_store *p)
{
    size_t len;

    umbel_sync_export_state(p->set.machine, NULL, 0, &len, NULL);
    void *bytes = malloc(len + 1);
    if (bytes && umbel_sync_export_state(p->set.machine, bytes, len, &len,
                                         NULL) != UMBEL_OK) {
        free(bytes);
        bytes = NULL;
    }
    return (umbel_slice){bytes, len};
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

    if (s->n < NAMES_MOST && strlen(name) < UM_DISK_NAME &&
        ((um_copy_name_is(name) && !find_copy(&s->store->wanted, name)) ||
         um_name_is_unfinished(name)))
        snprintf(s->name[s->n++].text, UM_DISK_NAME, "%s", name);
}

/* Removes files of copies that are gone, and what a crash left. */
static int remove_unwanted(const um_peers_store *p)
{
    sweep s = {p, malloc(NAMES_MOST * sizeof *s.name), 0};
    int number = s.name ? 0 : ENOMEM;

    do {
        s.n = 0;
        if (!number)
            number = p->disk->ops->names(p->disk, note_unwanted, &s);
        for (size_t i = 0; i < s.n && !number; i++)
            number = p->disk->ops->remove(p->disk, s.name[i].text);
    } while (s.n == NAMES_MOST && !number);
    if (!number && s.n)
        number = p->disk->ops->sync_names(p->disk);
    free(s.name);
    return number;
}

static int write_copy(const um_peers_store *p, const saved_copy *s)
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

    return p->job == STATE ? um_state_file_write(p->disk, p->state)
                           : write_copies(p);
}

/* --- the child ------------------------------------------------------------ */

static const char *const what[JOBS] = {
    [STATE] = "who was dropped or muted", [COPIES] = "what others reported"};

static void forget_job(um_peers_store *p)
{
    p->job = IDLE;
    free_copies(&p->wanted);
    free((void *)(uintptr_t)p->state.data);
    p->state = (umbel_slice){NULL, 0};
}

static void note_failure(um_peers_store *p, job which, int number)
{
    if (!p->error[which])
        log_line(p, "peers: %s could not be saved: %s; it is tried again",
                 what[which], strerror(number));
    p->error[which] = number;
    p->retry_at = p->now + p->retry_after;
    p->retry_after =
        2 * p->retry_after < RETRY_MOST ? 2 * p->retry_after : RETRY_MOST;
}

static void note_success(um_peers_store *p)
{
    if (p->error[p->job])
        log_line(p, "peers: %s saved again", what[p->job]);
    p->error[p->job] = 0;
    p->retry_at = 0;
    p->retry_after = 1;
    if (p->job == STATE) {
        p->done = p->begun;
        p->state_sum = p->job_sum;
        return;
    }
    free_copies(&p->saved);
    p->saved = p->wanted;
    p->wanted = (saved_copies){NULL, 0};
    p->copies_due = false;
    p->stats.saves++;
    p->stats.saved = p->now;
    p->stats.files = p->saved.n;
}

static void end_job(um_peers_store *p, int number)
{
    if (p->job == STATE)
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
    p->state = export_state(p);
    if (!p->state.data) {
        note_failure(p, STATE, ENOMEM);
        p->tried = p->asked;
        return false;
    }
    p->job = STATE;
    p->begun = p->asked;
    p->job_sum = um_checksum(p->state.data, p->state.len);
    return true;
}

static bool prepare_copies(um_peers_store *p)
{
    if (!list_copies(p, &p->wanted)) {
        note_failure(p, COPIES, ENOMEM);
        return false;
    }
    p->job = COPIES;
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
    if (p->job == IDLE)
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
    umbel_slice state = export_state(p);
    if (state.data && um_checksum(state.data, state.len) != p->state_sum)
        p->asked++;
    free((void *)(uintptr_t)state.data);
}

static void begin_job(um_peers_store *p)
{
    if (p->job != IDLE || p->now < p->retry_at)
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
    if (p->job != IDLE && p->disk->ops->ended(p->disk, p->child, &number))
        end_job(p, number);
    if (now >= p->next ||
        p->next - now > p->set.interval) /* or a clock jumped */
        begin_interval(p);
    begin_job(p);
}

uint64_t um_peers_store_save_state(um_peers_store *p)
{
    p->asked++;
    if (p->job == COPIES)
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
    return p->error[STATE] ? p->error[STATE] : p->error[COPIES];
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

/* --- loading -------------------------------------------------------------- */

static umbel_status load_state(um_peers_store *p, umbel_error *err)
{
    uint8_t *bytes;
    size_t len = 0;
    umbel_error why;
    umbel_status status = um_state_file_read(p->disk, &bytes, &len, &why);

    if (status == UMBEL_E_IO || status == UMBEL_E_NOMEM)
        return um_fail(err, status, "%s", why.text);
    if (!status && !bytes)
        return UMBEL_OK;
    if (!status) {
        p->state_sum = um_checksum(bytes, len);
        status = umbel_sync_import_state(p->set.machine, bytes, len, &why);
        free(bytes);
    }
    if (!status)
        return UMBEL_OK;
    p->stats.state_lost = true;
    log_line(p,
             "peers: %s: %s; it is kept as %s.bad, and which origins were "
             "dropped or muted is not known any more",
             UM_PEERS_STATE, why.text, UM_PEERS_STATE);
    return um_disk_status(
        p->disk->ops->rename(p->disk, UM_PEERS_STATE, UM_PEERS_STATE ".bad"),
        UM_PEERS_STATE, err);
}

/* Names of files that were not looked at yet. */
typedef struct listing {
    const saved_copies *done;
    um_copy_name *name;
    size_t n;
} listing;

static void note_name(void *ctx, const char *name)
{
    listing *l = ctx;

    if (l->n < NAMES_MOST && um_copy_name_is(name) && !find_copy(l->done, name))
        snprintf(l->name[l->n++].text, UM_DISK_NAME, "%s", name);
}

static umbel_status remove_bad(um_peers_store *p, const char *name,
                               const umbel_error *why, umbel_error *err)
{
    if (p->stats.bad++ < LOGGED_MOST)
        log_line(p, "peers: %s: %s; it is removed, and peers send it again",
                 name, why->text);
    return um_disk_status(p->disk->ops->remove(p->disk, name), name, err);
}

static umbel_status load_copy(um_peers_store *p, const um_copy_name *name,
                              umbel_error *err)
{
    umbel_filter *f;
    umbel_error why;
    umbel_status status =
        um_copy_file_read(p->disk, name->text, p->set.memory, &f, &why);

    if (!status) {
        status = umbel_sync_import(p->set.machine, f, &why);
        umbel_close(f);
    }
    if (status)
        return remove_bad(p, name->text, &why, err);
    saved_copy *all = realloc(p->saved.item, (p->saved.n + 1) * sizeof *all);
    if (!all)
        return um_no_memory(err, sizeof *all);
    p->saved.item = all;
    all[p->saved.n++] = (saved_copy){.name = *name};
    return UMBEL_OK;
}

/* Looks at some files; *more: there are others. */
static umbel_status load_some(um_peers_store *p, um_copy_name *names,
                              bool *more, umbel_error *err)
{
    saved_copies done = {p->saved.item, p->saved.n};
    listing l = {&done, names, 0};

    UM_TRY(um_disk_status(p->disk->ops->names(p->disk, note_name, &l), "names",
                          err));
    for (size_t i = 0; i < l.n; i++)
        UM_TRY(load_copy(p, &names[i], err));
    if (p->saved.n)
        qsort(p->saved.item, p->saved.n, sizeof *p->saved.item,
              um_copy_name_order);
    *more = l.n == NAMES_MOST;
    return UMBEL_OK;
}

/* A file may have the name of another copy: then it is written again. */
static umbel_status note_versions(um_peers_store *p, umbel_error *err)
{
    saved_copies all;
    size_t n = 0;

    if (!list_copies(p, &all))
        return um_no_memory(err, 1);
    for (size_t i = 0; i < all.n; i++)
        if (find_copy(&p->saved, all.item[i].name.text))
            all.item[n++] = all.item[i];
    all.n = n;
    free_copies(&p->saved);
    p->saved = all;
    p->stats.files = n;
    return UMBEL_OK;
}

umbel_status um_peers_store_load(um_peers_store *p, umbel_error *err)
{
    um_copy_name *names = malloc(NAMES_MOST * sizeof *names);
    bool more = true;

    if (!names)
        return um_no_memory(err, NAMES_MOST * sizeof *names);
    umbel_status status = load_state(p, err);
    while (!status && more)
        status = load_some(p, names, &more, err);
    free(names);
    if (p->stats.bad > LOGGED_MOST)
        log_line(p, "peers: %" PRIu64 " more files like these",
                 p->stats.bad - LOGGED_MOST);
    return status ? status : note_versions(p, err);
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
    free_copies(&p->saved);
    um_disk_close(p->disk);
    free(p);
}
