/*
 * witness.c - a directory of time slices: writes them, and removes old ones.
 *
 * There are two sets of digests: packets go into one while a thread builds and
 * writes the file of the other. So a slice that ends does not stop the capture,
 * unless it is full before the last one is on disk. A file has its name only
 * when it is complete and synced: a process that is killed loses the open slice
 * and at most the one that was being written.
 *
 * Intervals begin at multiples of their length. A packet of a later interval
 * ends the slice. A packet of an earlier one, because packets were reordered or
 * the clock was set back, joins the open slice, whose times then include it; if
 * the clock went back by more than an interval, the slice ends. The name of a
 * file is the time of the slice's interval and a number, for slices that were
 * full before their interval was over:
 *
 *     1700000000-000.slice
 */
#include "packets/witness/witness.h"
#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"

#include <umbel/file.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SECOND = 1000000000,
    /* Digests and the work space of a static filter, for each packet. */
    BUILD_BYTES = 16 + 24 + 3,
    MAX_PARTS = 1000 /* slices of one interval */
};

struct pk_witness {
    pk_witness_config config;
    char *dir, *router;
    int lock;
    pk_witness_counts counts;

    pk_set *open;         /* packets go here */
    pk_slice_facts facts; /* of the open slice, if it has packets */
    uint64_t interval;    /* its begin, a multiple of the length */
    unsigned part;        /* slices that this interval had before */

    /* The slice that is being written. */
    pk_set *closed;
    bool writing;
    pthread_t thread;
    pk_slice_facts closed_facts;
    uint64_t closed_interval;
    unsigned closed_part;
    umbel_status status; /* of the thread, when it was joined */
    umbel_error err;
    uint64_t written; /* bytes of its file */
};

/* --- names of files ------------------------------------------------------- */

static bool parse_name(const char *name, uint64_t *seconds)
{
    size_t digits = strspn(name, "0123456789");
    uint64_t part;

    return strlen(name) < 40 &&
           um_decimal_read(name, digits, UINT64_MAX / SECOND, seconds) &&
           name[digits] == '-' &&
           strspn(name + digits + 1, "0123456789") == 3 &&
           um_decimal_read(name + digits + 1, 3, MAX_PARTS, &part) &&
           strcmp(name + digits + 4, ".slice") == 0;
}

static int compare_names(const void *a, const void *b)
{
    uint64_t x = 0, y = 0;

    parse_name(a, &x);
    parse_name(b, &y);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

umbel_status pk_slices_list(const char *dir, pk_slice_names *out,
                            umbel_error *err)
{
    DIR *d = opendir(dir);
    uint64_t seconds;

    if (!d)
        return um_fail_path(err, dir);
    for (struct dirent *e; (e = readdir(d));) {
        if (!parse_name(e->d_name, &seconds))
            continue;
        if (!um_array_reserve(&out->name, &out->cap, out->n + 1,
                              sizeof *out->name)) {
            closedir(d);
            return um_no_memory(err, sizeof *out->name);
        }
        /* parse_name accepts no longer ones. */
        memcpy(out->name[out->n++], e->d_name, strlen(e->d_name) + 1);
    }
    closedir(d);
    if (out->n)
        qsort(out->name, out->n, sizeof *out->name, compare_names);
    return UMBEL_OK;
}

void pk_slice_names_fini(pk_slice_names *n)
{
    free(n->name);
    *n = (pk_slice_names){0};
}

static void format_path(const pk_witness *w, uint64_t interval, unsigned part,
                        char *out, size_t cap)
{
    snprintf(out, cap, "%s/%010" PRIu64 "-%03u.slice", w->dir,
             interval / SECOND, part);
}

/* --- old slices ----------------------------------------------------------- */

static umbel_status remove_one(pk_witness *w, const char *name,
                               umbel_error *err)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    if (unlink(path) != 0 && errno != ENOENT)
        return um_fail_path(err, path);
    w->counts.removed++;
    return UMBEL_OK;
}

/* Removes the slices that are older than --keep, and the oldest that exceed
 * --max-disk. */
static umbel_status remove_old(pk_witness *w, uint64_t now, umbel_error *err)
{
    const pk_witness_config *c = &w->config;
    pk_slice_names names = {0};
    uint64_t disk = 0;
    umbel_status status = pk_slices_list(w->dir, &names, err);

    for (size_t i = names.n; !status && i-- > 0;) {
        char path[4096];
        struct stat st;
        uint64_t seconds = 0;
        parse_name(names.name[i], &seconds);
        snprintf(path, sizeof path, "%s/%s", w->dir, names.name[i]);
        disk += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
        bool old = c->keep && now > c->keep + c->slice &&
                   seconds * SECOND < now - c->keep - c->slice;
        if (old || (c->max_disk && disk > c->max_disk))
            status = remove_one(w, names.name[i], err);
    }
    pk_slice_names_fini(&names);
    return status;
}

/* --- writing -------------------------------------------------------------- */

static umbel_status write_slice(pk_witness *w, umbel_error *err)
{
    char path[4096];
    pk_slice slice;

    UM_TRY(pk_slice_build(w->closed, &w->closed_facts, w->config.fpr, &slice,
                          err));
    format_path(w, w->closed_interval, w->closed_part, path, sizeof path);
    umbel_status status = umbel_save(slice.filter, path, err);
    w->written = umbel_encoded_len(slice.filter);
    pk_slice_fini(&slice);
    return status;
}

static void *write_in_thread(void *ctx)
{
    pk_witness *w = ctx;

    w->status = write_slice(w, &w->err);
    return NULL;
}

/* Waits for the file of the last slice. */
static umbel_status join(pk_witness *w, umbel_error *err)
{
    if (!w->writing)
        return UMBEL_OK;
    pthread_join(w->thread, NULL);
    w->writing = false;
    if (w->status) {
        if (err)
            *err = w->err;
        return w->status;
    }
    w->counts.slices++;
    w->counts.disk += w->written;
    w->counts.stored += pk_set_count(w->closed);
    return remove_old(w, w->closed_interval, err);
}

/* Chooses the first number of the interval that no file has. */
static umbel_status choose_part(pk_witness *w, umbel_error *err)
{
    char path[4096];
    struct stat st;

    for (; w->part < MAX_PARTS; w->part++) {
        format_path(w, w->interval, w->part, path, sizeof path);
        if (stat(path, &st) != 0)
            return UMBEL_OK;
    }
    return um_fail(err, UMBEL_E_FULL,
                   "%s: an interval has %d slices already: choose a larger "
                   "--capacity or a shorter --slice",
                   w->dir, MAX_PARTS);
}

static void clear_open(pk_witness *w)
{
    uint64_t seed = w->config.seed + w->counts.slices + w->writing;

    if (!w->config.seeded)
        randombytes_buf(&seed, sizeof seed);
    w->facts = (pk_slice_facts){.seed = seed};
    snprintf(w->facts.router, sizeof w->facts.router, "%s", w->router);
    pk_set_clear(w->open, seed);
}

/* Ends the open slice and starts to write it. */
static umbel_status rotate(pk_witness *w, umbel_error *err)
{
    pk_set *full = w->open;
    double bytes = (double)pk_set_used(full) / (double)pk_set_count(full);

    UM_TRY(join(w, err));
    UM_TRY(choose_part(w, err));
    if (w->counts.open_bytes == 0 || bytes < w->counts.open_bytes)
        w->counts.open_bytes = bytes;
    w->open = w->closed;
    w->closed = full;
    w->closed_facts = w->facts;
    w->closed_interval = w->interval;
    w->closed_part = w->part++;
    w->writing = true;
    clear_open(w);
    if (pthread_create(&w->thread, NULL, write_in_thread, w) != 0) {
        w->writing = false;
        return um_fail(err, UMBEL_E_NOMEM, "no thread to write a slice");
    }
    return UMBEL_OK;
}

/* --- packets -------------------------------------------------------------- */

static void begin_interval(pk_witness *w, uint64_t time)
{
    w->interval = time - time % w->config.slice;
    w->part = 0;
}

/* Returns true if a packet of this time ends the open slice. */
static bool ends_slice(const pk_witness *w, uint64_t time)
{
    uint64_t length = w->config.slice;

    return time >= w->interval ? time - w->interval >= length
                               : w->interval - time > length;
}

umbel_status pk_witness_tick(pk_witness *w, uint64_t now, umbel_error *err)
{
    if (!w->facts.packets || !ends_slice(w, now))
        return UMBEL_OK;
    UM_TRY(rotate(w, err));
    begin_interval(w, now);
    return UMBEL_OK;
}

umbel_status pk_witness_add(pk_witness *w, uint64_t digest, uint64_t time,
                            umbel_error *err)
{
    UM_TRY(pk_witness_tick(w, time, err));
    if (!w->facts.packets && ends_slice(w, time))
        begin_interval(w, time);
    if (!pk_set_add(w->open, digest)) {
        w->counts.overflows++;
        UM_TRY(rotate(w, err));
        pk_set_add(w->open, digest);
    }
    pk_slice_facts *f = &w->facts;
    w->counts.late += time < w->interval;
    w->counts.packets++;
    f->from = !f->packets || time < f->from ? time : f->from;
    f->to = time > f->to ? time : f->to;
    f->packets++;
    return UMBEL_OK;
}

umbel_status pk_witness_cut(pk_witness *w, umbel_error *err)
{
    if (w->facts.packets)
        UM_TRY(rotate(w, err));
    return join(w, err);
}

pk_witness_counts pk_witness_count(const pk_witness *w)
{
    return w->counts;
}

size_t pk_witness_memory(const pk_witness *w)
{
    return sizeof *w + 2 * pk_set_memory(w->open) +
           (size_t)w->config.capacity * BUILD_BYTES;
}

/* --- the directory -------------------------------------------------------- */

/* Locks the directory: two writers would remove each other's slices. */
static umbel_status lock_directory(pk_witness *w, umbel_error *err)
{
    if (mkdir(w->dir, 0755) != 0 && errno != EEXIST)
        return um_fail_errno(
            err, "%s%s: cannot create this directory as user %u",
            um_path_dots(w->dir), um_path_tail(w->dir), (unsigned)geteuid());
    if (access(w->dir, W_OK | X_OK) != 0)
        return um_fail_errno(err,
                             "%s%s: cannot write slices there as user %u: "
                             "change its owner, or use --user",
                             um_path_dots(w->dir), um_path_tail(w->dir),
                             (unsigned)geteuid());
    w->lock = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->lock < 0)
        return um_fail_path(err, w->dir);
    if (flock(w->lock, LOCK_EX | LOCK_NB) != 0)
        return um_fail(err, UMBEL_E_IO,
                       "%s%s: another 'umbel packets witness' writes slices "
                       "there: give each interface a directory",
                       um_path_dots(w->dir), um_path_tail(w->dir));
    return UMBEL_OK;
}

static umbel_status start(pk_witness *w, umbel_error *err)
{
    const pk_witness_config *c = &w->config;

    w->dir = strdup(c->dir);
    w->router = strdup(c->router);
    if (!w->dir || !w->router)
        return um_no_memory(err, strlen(c->dir));
    UM_TRY(lock_directory(w, err));
    UM_TRY(pk_set_open(c->capacity, c->fpr, &w->open, err));
    UM_TRY(pk_set_open(c->capacity, c->fpr, &w->closed, err));
    clear_open(w);
    return UMBEL_OK;
}

umbel_status pk_witness_open(const pk_witness_config *c, pk_witness **out,
                             umbel_error *err)
{
    if (!pk_router_name(c->router))
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%s\" cannot be the name of a router: use 1 to %d "
                       "printable characters without blanks, '#', '\"' and "
                       "'\\'; --router NAME",
                       c->router, PK_ROUTER_LEN - 1);
    pk_witness *w = calloc(1, sizeof *w);
    if (!w)
        return um_no_memory(err, sizeof *w);
    w->config = *c;
    w->lock = -1;
    umbel_status status = start(w, err);
    if (status)
        pk_witness_close(w);
    else
        *out = w;
    return status;
}

void pk_witness_close(pk_witness *w)
{
    if (!w)
        return;
    join(w, NULL);
    pk_set_close(w->open);
    pk_set_close(w->closed);
    if (w->lock >= 0)
        close(w->lock);
    free(w->dir);
    free(w->router);
    free(w);
}
