/*
 * replica_store.c - replicas of other origins on disk: their files, and when
 * files are written, removed and read.
 *
 * There is one child process at a time. A save of the state, which a command
 * waits for, stops a save of replicas, which starts again afterwards: files
 * that it had finished are complete, and are rewritten.
 *
 *     name of a replica  8 hex digits of the origin, "-", 24 of the BLAKE2b
 *                        hash of origin, incarnation, epoch and list name
 *     state              magic 8, version 4, zero 4, length 8, checksum 8,
 *                        bytes
 */
#include "clearinghouse/peering/replica_store.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hex.h"
#include "filter/envelope.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INTERVAL = 600,       /* seconds */
    RETRY_MAX = 60,       /* seconds */
    NAMES_AT_ONCE = 4096, /* names of a directory that are read at a time */
    MAX_LOGGED = 8,       /* damaged files that are named in the log */
    ORIGIN_HEX = 8,
    HASH_LEN = 12,
    HASH_AT = ORIGIN_HEX + 1,
    STEM_LEN = HASH_AT + 2 * HASH_LEN,
    WRITE_BYTES = 1 << 20,
    /* Synced in steps, as a snapshot of the store is: the load on the disk is
     * spread. */
    SYNC_BYTES = 8 << 20,
    READ_BYTES = 1 << 16,
    STATE_HEAD = 32,
    STATE_VERSION = 1,
    STATE_MAX = 64 << 20
};
#define MEMORY UINT64_C(0x40000000)

static const char magic[8] = "umbelprs";

/* The file name of a replica. */
typedef struct replica_name {
    char text[UM_DISK_NAME];
} replica_name;

typedef enum save_job { NO_JOB, STATE_JOB, REPLICAS_JOB, JOBS } save_job;

/* A replica, and its file. */
typedef struct saved_replica {
    replica_name name; /* first member: arrays are sorted by it */
    uint64_t version;
    size_t at;    /* for umbel_sync_export */
    bool changed; /* the file is older, or missing */
} saved_replica;

typedef struct saved_replicas {
    saved_replica *item;
    size_t n;
} saved_replicas;

struct um_replica_store {
    um_replica_store_config set;
    um_disk *disk;
    save_job job; /* of the child */
    pid_t child;
    saved_replicas saved;  /* on disk */
    saved_replicas wanted; /* on disk after the job */
    bool replicas_due;
    uint8_t *state; /* written by the job */
    size_t state_len;
    uint64_t state_sum, job_sum;        /* checksums: saved, and of the job */
    uint64_t asked, begun, tried, done; /* tickets */
    uint64_t now, next, retry_at, retry_after;
    int error[JOBS]; /* of the last job of each kind; 0 if none */
    um_replica_store_stats stats;
};

/* --- names ---------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const replica_name *)a)->text,
                  ((const replica_name *)b)->text);
}

static void format_name(const umbel_sync_replica *c, const char *list,
                        replica_name *out)
{
    uint8_t numbers[16], hash[crypto_generichash_BYTES_MIN];
    um_writer w = {numbers, numbers + sizeof numbers, false};
    crypto_generichash_state state;

    um_write_u64(&w, c->incarnation);
    um_write_u64(&w, c->epoch);
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    crypto_generichash_update(&state, c->origin, UMBEL_ORIGIN_LEN);
    crypto_generichash_update(&state, numbers, sizeof numbers);
    crypto_generichash_update(&state, (const uint8_t *)list, strlen(list));
    crypto_generichash_final(&state, hash, sizeof hash);
    um_hex_write(c->origin, ORIGIN_HEX / 2, out->text);
    out->text[ORIGIN_HEX] = '-';
    um_hex_write(hash, HASH_LEN, out->text + HASH_AT);
    memcpy(out->text + STEM_LEN, ".umbel", sizeof ".umbel");
}

static bool is_replica_name(const char *name)
{
    static const char digits[] = "0123456789abcdef";

    return strspn(name, digits) == ORIGIN_HEX && name[ORIGIN_HEX] == '-' &&
           strspn(name + HASH_AT, digits) == STEM_LEN - HASH_AT &&
           strcmp(name + STEM_LEN, ".umbel") == 0;
}

static bool is_unfinished(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && strcmp(name + len - 4, ".new") == 0;
}

/* --- writing -------------------------------------------------------------- */

/* A file that is being written. */
typedef struct writing {
    um_disk *disk;
    int file;
    uint64_t at, synced;
} writing;

static int write_slice(writing *w, umbel_slice s)
{
    const um_disk_ops *ops = w->disk->ops;
    const uint8_t *from = s.data;
    int number = 0;

    for (size_t done = 0, n; done < s.len && !number; done += n) {
        n = s.len - done < WRITE_BYTES ? s.len - done : WRITE_BYTES;
        number = ops->write(w->disk, w->file, w->at, from + done, n);
        w->at += n;
        if (number || w->at - w->synced < SYNC_BYTES)
            continue;
        number = ops->sync(w->disk, w->file);
        w->synced = w->at;
        if (ops->rest)
            ops->rest(w->disk);
    }
    return number;
}

/* Writes parts one after the other to NAME.new, and renames it. */
static int write_file(um_disk *d, const char *name, const umbel_slice *part,
                      size_t nparts)
{
    char new[UM_DISK_NAME];
    writing w = {.disk = d};

    snprintf(new, sizeof new, "%s.new", name);
    int number = d->ops->open(d, new, UM_DISK_CREATE, &w.file);
    if (number)
        return number;
    for (size_t i = 0; i < nparts && !number; i++)
        number = write_slice(&w, part[i]);
    if (!number)
        number = um_disk_finish(d, w.file, name);
    d->ops->close(d, w.file);
    if (number) /* frees space, if the disk is full */
        d->ops->remove(d, new);
    return number;
}

static int write_filter(um_disk *d, const char *name, const umbel_filter *f)
{
    um_parts parts;

    if (um_parts_init(&parts, f, NULL) != UMBEL_OK)
        return ENOMEM;
    int number = write_file(d, name, parts.part, UM_COUNT(parts.part));
    um_parts_fini(&parts, f);
    return number;
}

static int write_state(um_disk *d, umbel_slice bytes)
{
    uint8_t head[STATE_HEAD];
    um_writer w = {head, head + sizeof head, false};

    um_write_bytes(&w, magic, sizeof magic);
    um_write_u32(&w, STATE_VERSION);
    um_write_u32(&w, 0);
    um_write_u64(&w, bytes.len);
    um_write_u64(&w, um_checksum(bytes.data, bytes.len));
    return write_file(d, UM_REPLICA_STATE,
                      (umbel_slice[]){{head, sizeof head}, bytes}, 2);
}

/* --- reading -------------------------------------------------------------- */

static umbel_status feed_file(um_disk *d, int file, umbel_decoder *to,
                              uint64_t len, umbel_error *err)
{
    uint8_t bytes[READ_BYTES];

    for (uint64_t at = 0; at < len;) {
        size_t got;
        int number = d->ops->read(d, file, at, bytes, sizeof bytes, &got);
        UM_TRY(um_disk_status(number, "read", err));
        if (!got)
            return um_fail(err, UMBEL_E_FORMAT, "cut short");
        UM_TRY(umbel_decoder_feed(to, bytes, got, err));
        at += got;
    }
    return UMBEL_OK;
}

static umbel_status read_filter(um_disk *d, int file, uint64_t memory,
                                umbel_filter **out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_decoder *decoder;
    uint64_t len;

    UM_TRY(um_disk_status(d->ops->size(d, file, &len), "size", err));
    source.memory_limit = memory;
    source.verify = true;
    UM_TRY(umbel_decoder_open(&source, len, &decoder, err));
    umbel_status status = feed_file(d, file, decoder, len, err);
    if (!status)
        status = umbel_decoder_finish(decoder, out, err);
    umbel_decoder_close(decoder);
    return status;
}

static umbel_status load_filter(um_disk *d, const char *name, uint64_t memory,
                                umbel_filter **out, umbel_error *err)
{
    int file;

    UM_TRY(um_disk_status(d->ops->open(d, name, UM_DISK_READ, &file), "open",
                          err));
    umbel_status status = read_filter(d, file, memory, out, err);
    d->ops->close(d, file);
    return status;
}

/* Checks and removes the head; E_FORMAT if it is damaged. */
static umbel_status check_state(uint8_t *bytes, size_t *len, umbel_error *err)
{
    um_reader r = {bytes, bytes + *len, false};
    char found[sizeof magic];

    um_get_bytes(&r, found, sizeof found);
    uint32_t version = um_get_u32(&r);
    um_get_u32(&r);
    uint64_t size = um_get_u64(&r), sum = um_get_u64(&r);
    if (r.bad || memcmp(found, magic, sizeof magic) != 0 ||
        version != STATE_VERSION || size != *len - STATE_HEAD ||
        sum != um_checksum(bytes + STATE_HEAD, (size_t)size))
        return um_fail(err, UMBEL_E_FORMAT, "damaged, or of another version");
    memmove(bytes, bytes + STATE_HEAD, (size_t)size);
    *len = (size_t)size;
    return UMBEL_OK;
}

/* Reads a file of at most STATE_MAX bytes. */
static umbel_status read_state(um_disk *d, int file, uint8_t **out, size_t *len,
                               umbel_error *err)
{
    uint64_t size;

    UM_TRY(um_disk_status(d->ops->size(d, file, &size), "size", err));
    if (size < STATE_HEAD || size > STATE_MAX)
        return um_fail(err, UMBEL_E_FORMAT, "cut short, or too long");
    uint8_t *bytes = malloc((size_t)size);
    if (!bytes)
        return um_no_memory(err, size);
    umbel_status status = um_disk_status(
        d->ops->read(d, file, 0, bytes, (size_t)size, len), "read", err);
    if (!status)
        status = check_state(bytes, len, err);
    if (status)
        free(bytes);
    else
        *out = bytes;
    return status;
}

static umbel_status load_state_file(um_disk *d, uint8_t **out, size_t *len,
                                    umbel_error *err)
{
    int file, number = d->ops->open(d, UM_REPLICA_STATE, UM_DISK_READ, &file);

    *out = NULL;
    if (number == ENOENT)
        return UMBEL_OK;
    UM_TRY(um_disk_status(number, "open", err));
    umbel_status status = read_state(d, file, out, len, err);
    d->ops->close(d, file);
    return status;
}

/* --- sorted tables of replicas -------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
log_line(const um_replica_store *p, const char *format, ...)
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

static void free_saved(saved_replicas *c)
{
    free(c->item);
    *c = (saved_replicas){NULL, 0};
}

/* Finds a replica by name in a sorted table. */
static const saved_replica *find_saved(const saved_replicas *c,
                                       const char *name)
{
    replica_name key;

    if (!c->n || strlen(name) >= sizeof key.text)
        return NULL;
    snprintf(key.text, sizeof key.text, "%s", name);
    return bsearch(&key, c->item, c->n, sizeof *c->item, compare_names);
}

/* --- what is to be saved -------------------------------------------------- */

/* Lists the replicas that belong on disk, sorted; false without memory. */
static bool list_saved(const um_replica_store *p, saved_replicas *out)
{
    umbel_sync_replica c;
    size_t most = 0;

    for (size_t at = 0; umbel_sync_next_replica(p->set.machine, &at, &c);)
        most++;
    *out = (saved_replicas){calloc(most + 1, sizeof *out->item), 0};
    if (!out->item)
        return false;
    for (size_t at = 0; umbel_sync_next_replica(p->set.machine, &at, &c);) {
        saved_replica *s = &out->item[out->n];
        if (c.own || !c.version)
            continue;
        format_name(&c, p->set.list(c.list), &s->name);
        const saved_replica *old = find_saved(&p->saved, s->name.text);
        s->version = c.version;
        s->changed = !old || old->version != c.version;
        s->at = at;
        out->n++;
    }
    qsort(out->item, out->n, sizeof *out->item, compare_names);
    return true;
}

/* Returns true if a file must be written or removed. */
static bool has_changed(const um_replica_store *p, const saved_replicas *wanted)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (wanted->item[i].changed)
            return true;
    return wanted->n != p->saved.n;
}

/* Returns the state, to be freed by the caller; NULL without memory. */
static uint8_t *export_state(const um_replica_store *p, size_t *len)
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

/* --- jobs: run in a child, or at shutdown in the server itself ------------ */

/* Names of files to remove. */
typedef struct sweep {
    const um_replica_store *store;
    replica_name *name;
    size_t n;
} sweep;

static void collect_unwanted(void *ctx, const char *name)
{
    sweep *s = ctx;

    if (s->n < NAMES_AT_ONCE && strlen(name) < UM_DISK_NAME &&
        ((is_replica_name(name) && !find_saved(&s->store->wanted, name)) ||
         is_unfinished(name)))
        snprintf(s->name[s->n++].text, UM_DISK_NAME, "%s", name);
}

/* Removes files of replicas that are gone, and unfinished files. */
static int remove_unwanted(const um_replica_store *p)
{
    sweep s = {p, malloc(NAMES_AT_ONCE * sizeof *s.name), 0};
    int number = s.name ? 0 : ENOMEM;

    do {
        s.n = 0;
        if (!number)
            number = p->disk->ops->names(p->disk, collect_unwanted, &s);
        for (size_t i = 0; i < s.n && !number; i++)
            number = p->disk->ops->remove(p->disk, s.name[i].text);
    } while (s.n == NAMES_AT_ONCE && !number);
    if (!number && s.n)
        number = p->disk->ops->sync_names(p->disk);
    free(s.name);
    return number;
}

static int write_replica(const um_replica_store *p, const saved_replica *s)
{
    umbel_filter *f;

    if (umbel_sync_export(p->set.machine, s->at, &f, NULL) != UMBEL_OK)
        return ENOMEM;
    umbel_set_coded(f, true);
    int number = write_filter(p->disk, s->name.text, f);
    umbel_close(f);
    return number;
}

/* Removes files before it writes others: the disk may be full. */
static int write_replicas(const um_replica_store *p)
{
    int number = remove_unwanted(p);

    for (size_t i = 0; i < p->wanted.n && !number; i++)
        if (p->wanted.item[i].changed)
            number = write_replica(p, &p->wanted.item[i]);
    return number;
}

static int run_job(void *arg)
{
    const um_replica_store *p = arg;

    return p->job == STATE_JOB
               ? write_state(p->disk, (umbel_slice){p->state, p->state_len})
               : write_replicas(p);
}

/* --- the child ------------------------------------------------------------ */

static const char *const what[JOBS] = {
    [STATE_JOB] = "the list of dropped and muted origins",
    [REPLICAS_JOB] = "replicas of other origins"};

static void clear_job(um_replica_store *p)
{
    p->job = NO_JOB;
    free_saved(&p->wanted);
    free(p->state);
    p->state = NULL;
}

static void record_failure(um_replica_store *p, save_job which, int number)
{
    if (!p->error[which])
        log_line(p, "%s could not be saved: %s; trying again", what[which],
                 strerror(number));
    p->error[which] = number;
    p->retry_at = p->now + p->retry_after;
    p->retry_after =
        2 * p->retry_after < RETRY_MAX ? 2 * p->retry_after : RETRY_MAX;
}

static void record_success(um_replica_store *p)
{
    if (p->error[p->job])
        log_line(p, "%s saved again", what[p->job]);
    p->error[p->job] = 0;
    p->retry_at = 0;
    p->retry_after = 1;
    if (p->job == STATE_JOB) {
        p->done = p->begun;
        p->state_sum = p->job_sum;
        return;
    }
    free_saved(&p->saved);
    p->saved = p->wanted;
    p->wanted = (saved_replicas){NULL, 0};
    p->replicas_due = false;
    p->stats.saves++;
    p->stats.saved = p->now;
    p->stats.files = p->saved.n;
}

static void end_job(um_replica_store *p, int number)
{
    if (p->job == STATE_JOB)
        p->tried = p->begun;
    if (number)
        record_failure(p, p->job, number);
    else
        record_success(p);
    clear_job(p);
}

/* Prepares a job; false if there is nothing to do, or no memory. */
static bool prepare_state(um_replica_store *p)
{
    p->state = export_state(p, &p->state_len);
    if (!p->state) {
        record_failure(p, STATE_JOB, ENOMEM);
        p->tried = p->asked;
        return false;
    }
    p->job = STATE_JOB;
    p->begun = p->asked;
    p->job_sum = um_checksum(p->state, p->state_len);
    return true;
}

static bool prepare_replicas(um_replica_store *p)
{
    if (!list_saved(p, &p->wanted)) {
        record_failure(p, REPLICAS_JOB, ENOMEM);
        return false;
    }
    p->job = REPLICAS_JOB;
    if (has_changed(p, &p->wanted))
        return true;
    end_job(p, 0);
    return false;
}

static void start_job(um_replica_store *p)
{
    int number = p->disk->ops->start(p->disk, run_job, p, &p->child);

    if (number)
        end_job(p, number);
}

static void stop_job(um_replica_store *p)
{
    if (p->job == NO_JOB)
        return;
    p->disk->ops->stop(p->disk, p->child);
    clear_job(p);
}

/* --- scheduling ----------------------------------------------------------- */

static bool has_new_state(const um_replica_store *p)
{
    size_t len;
    uint8_t *state = export_state(p, &len);
    bool new = state &&um_checksum(state, len) != p->state_sum;

    free(state);
    return new;
}

/* Saves replicas once per interval, and the state if it changed. */
static void begin_interval(um_replica_store *p)
{
    p->next = p->now + p->set.interval;
    p->replicas_due = true;
    if (has_new_state(p))
        p->asked++;
}

static void begin_job(um_replica_store *p)
{
    if (p->job != NO_JOB || p->now < p->retry_at)
        return;
    if (p->asked > p->done ? prepare_state(p)
                           : p->replicas_due && prepare_replicas(p))
        start_job(p);
}

void um_replica_store_tick(um_replica_store *p, uint64_t now)
{
    int number;

    p->now = now;
    if (!p->next)
        p->next = now + p->set.interval;
    if (p->job != NO_JOB && p->disk->ops->ended(p->disk, p->child, &number))
        end_job(p, number);
    if (now >= p->next ||
        p->next - now > p->set.interval) /* or the clock was set back */
        begin_interval(p);
    begin_job(p);
}

uint64_t um_replica_store_save_state(um_replica_store *p)
{
    p->asked++;
    if (p->job == REPLICAS_JOB)
        stop_job(p);
    p->retry_at = 0;
    begin_job(p);
    return p->asked;
}

void um_replica_store_note_change(um_replica_store *p)
{
    p->asked++;
}

uint64_t um_replica_store_saved(const um_replica_store *p)
{
    return p->done;
}

uint64_t um_replica_store_tried(const um_replica_store *p)
{
    return p->tried;
}

void um_replica_store_save_begin(um_replica_store *p)
{
    p->replicas_due = true;
}

void um_replica_store_save_now(um_replica_store *p)
{
    if (p->job == REPLICAS_JOB)
        stop_job(p);
    p->retry_at = 0;
    p->replicas_due = true;
    begin_job(p);
}

bool um_replica_store_saving(const um_replica_store *p)
{
    return p->job != NO_JOB ||
           ((p->replicas_due || p->asked > p->done) && p->now >= p->retry_at);
}

static int last_error(const um_replica_store *p)
{
    return p->error[STATE_JOB] ? p->error[STATE_JOB] : p->error[REPLICAS_JOB];
}

umbel_status um_replica_store_finish_state(um_replica_store *p,
                                           umbel_error *err)
{
    stop_job(p);
    if ((p->asked > p->done || has_new_state(p)) && prepare_state(p))
        end_job(p, run_job(p));
    return um_disk_status(p->error[STATE_JOB], "peers", err);
}

umbel_status um_replica_store_save(um_replica_store *p, umbel_error *err)
{
    stop_job(p);
    if (prepare_state(p))
        end_job(p, run_job(p));
    if (prepare_replicas(p))
        end_job(p, run_job(p));
    return um_disk_status(last_error(p), "peers", err);
}

void um_replica_store_stats_get(const um_replica_store *p,
                                um_replica_store_stats *out)
{
    *out = p->stats;
    out->error = last_error(p);
}

/* --- what a start finds on disk ------------------------------------------- */

static umbel_status load_state(um_replica_store *p, umbel_error *err)
{
    uint8_t *bytes;
    size_t len = 0;
    umbel_error why;
    umbel_status status = load_state_file(p->disk, &bytes, &len, &why);

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
             "%s: %s; it is kept as %s.bad; which origins were "
             "dropped or muted is lost",
             UM_REPLICA_STATE, why.text, UM_REPLICA_STATE);
    return um_disk_status(p->disk->ops->rename(p->disk, UM_REPLICA_STATE,
                                               UM_REPLICA_STATE ".bad"),
                          UM_REPLICA_STATE, err);
}

/* Names of files that are not loaded yet. */
typedef struct listing {
    const saved_replicas *done;
    replica_name *name;
    size_t n;
} listing;

static void collect_name(void *ctx, const char *name)
{
    listing *l = ctx;

    if (l->n < NAMES_AT_ONCE && is_replica_name(name) &&
        !find_saved(l->done, name))
        snprintf(l->name[l->n++].text, UM_DISK_NAME, "%s", name);
}

static umbel_status remove_bad(um_replica_store *p, const char *name,
                               const umbel_error *why, umbel_error *err)
{
    if (p->stats.bad++ < MAX_LOGGED)
        log_line(p, "%s: %s; removed, peers will send it again", name,
                 why->text);
    return um_disk_status(p->disk->ops->remove(p->disk, name), name, err);
}

static umbel_status load_replica(um_replica_store *p, const replica_name *name,
                                 umbel_error *err)
{
    umbel_filter *f;
    umbel_error why;
    umbel_status status =
        load_filter(p->disk, name->text, p->set.memory, &f, &why);

    if (!status) {
        status = umbel_sync_import(p->set.machine, f, &why);
        umbel_close(f);
    }
    if (status)
        return remove_bad(p, name->text, &why, err);
    if (!um_array_resize(&p->saved.item, p->saved.n + 1, sizeof *p->saved.item))
        return um_no_memory(err, sizeof *p->saved.item);
    p->saved.item[p->saved.n++] = (saved_replica){.name = *name};
    return UMBEL_OK;
}

/* Loads some files; *more is set if others are left. */
static umbel_status load_some(um_replica_store *p, replica_name *names,
                              bool *more, umbel_error *err)
{
    saved_replicas done = {p->saved.item, p->saved.n};
    listing l = {&done, names, 0};

    UM_TRY(um_disk_status(p->disk->ops->names(p->disk, collect_name, &l),
                          "names", err));
    for (size_t i = 0; i < l.n; i++)
        UM_TRY(load_replica(p, &names[i], err));
    if (p->saved.n)
        qsort(p->saved.item, p->saved.n, sizeof *p->saved.item, compare_names);
    *more = l.n == NAMES_AT_ONCE;
    return UMBEL_OK;
}

/* Records the versions on disk. A file whose name belongs to another replica
 * is rewritten. */
static umbel_status record_versions(um_replica_store *p, umbel_error *err)
{
    saved_replicas all;
    size_t n = 0;

    if (!list_saved(p, &all))
        return um_no_memory(err, 1);
    for (size_t i = 0; i < all.n; i++)
        if (find_saved(&p->saved, all.item[i].name.text))
            all.item[n++] = all.item[i];
    all.n = n;
    free_saved(&p->saved);
    p->saved = all;
    p->stats.files = n;
    return UMBEL_OK;
}

umbel_status um_replica_store_load(um_replica_store *p, umbel_error *err)
{
    replica_name *names = malloc(NAMES_AT_ONCE * sizeof *names);
    bool more = true;

    if (!names)
        return um_no_memory(err, NAMES_AT_ONCE * sizeof *names);
    umbel_status status = load_state(p, err);
    while (!status && more)
        status = load_some(p, names, &more, err);
    free(names);
    if (p->stats.bad > MAX_LOGGED)
        log_line(p, "%" PRIu64 " more files like these",
                 p->stats.bad - MAX_LOGGED);
    return status ? status : record_versions(p, err);
}

/* --- opening -------------------------------------------------------------- */

umbel_status um_replica_store_open(const um_replica_store_config *c,
                                   um_replica_store **out, umbel_error *err)
{
    um_replica_store *p = calloc(1, sizeof *p);

    if (!p)
        return um_no_memory(err, sizeof *p);
    *p = (um_replica_store){.set = *c, .disk = c->disk, .retry_after = 1};
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

void um_replica_store_close(um_replica_store *p)
{
    if (!p)
        return;
    stop_job(p);
    free_saved(&p->saved);
    um_disk_close(p->disk);
    free(p);
}
