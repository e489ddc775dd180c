/*
 * sim_disk.c - a disk in memory that fails and loses power on demand.
 */
#include "support/sim_disk.h"

#include "base/rng.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 256, MAX_INODES = 4096, SECTOR = 512 };

/* Content of a file, as programs see it or as it is on the platter. */
typedef struct content {
    uint8_t *bytes;
    size_t len, cap;
} content;

typedef struct pending_write {
    struct pending_write *next;
    uint64_t at;
    size_t len;
    uint8_t bytes[];
} pending_write;

typedef struct inode {
    content seen, durable;
    pending_write *first, **last;
    bool used;
} inode;

typedef struct entry {
    char name[UM_DISK_NAME];
    int inode;
} entry;

typedef struct names {
    entry entry[MAX_NAMES];
    size_t n;
} names;

typedef enum step_kind {
    STEP_WRITE,
    STEP_SYNC,
    STEP_RENAME,
    STEP_REMOVE,
    STEP_CREATE,
    STEP_SYNC_NAMES
} step_kind;

/* A pending change of names, or an operation of the child. */
typedef struct step {
    struct step *next;
    step_kind kind;
    int inode;
    char from[UM_DISK_NAME], to[UM_DISK_NAME];
    uint64_t at;
    size_t len;
    uint8_t *bytes;
} step;

typedef struct steps {
    step *first, **last;
} steps;

struct sim_disk {
    um_disk base;
    um_rng rng;
    inode inode[MAX_INODES];
    names seen, durable;
    steps pending;  /* changes of names */
    steps child;    /* operations the child has still to do */
    bool recording; /* the child runs: record its operations */
    int child_result;
    bool off, power_failed, locked;
    uint64_t cut_after, one_in, limit;
    sim_stats stats;
};

/* --- bytes --------------------------------------------------------------- */

static void need(bool fine)
{
    if (!fine) {
        perror("sim_disk");
        abort();
    }
}

static void write_bytes(content *c, uint64_t at, const uint8_t *bytes,
                        size_t len)
{
    size_t end = (size_t)at + len;

    if (end > c->cap) {
        c->cap = 2 * end;
        c->bytes = realloc(c->bytes, c->cap);
        need(c->bytes != NULL);
    }
    if (end > c->len) {
        memset(c->bytes + c->len, 0, end - c->len);
        c->len = end;
    }
    memcpy(c->bytes + at, bytes, len);
}

static void copy_content(content *to, const content *from)
{
    to->len = 0;
    if (from->len)
        write_bytes(to, 0, from->bytes, from->len);
}

static void forget_writes(inode *f)
{
    while (f->first) {
        pending_write *w = f->first;
        f->first = w->next;
        free(w);
    }
    f->last = &f->first;
}

static void free_inode(inode *f)
{
    forget_writes(f);
    free(f->seen.bytes);
    free(f->durable.bytes);
    *f = (inode){0};
}

static void write_inode(inode *f, uint64_t at, const uint8_t *bytes, size_t len)
{
    pending_write *w = malloc(sizeof *w + len);

    need(w != NULL);
    *w = (pending_write){.at = at, .len = len};
    memcpy(w->bytes, bytes, len);
    *f->last = w;
    f->last = &w->next;
    write_bytes(&f->seen, at, bytes, len);
}

static void sync_inode(inode *f)
{
    for (const pending_write *w = f->first; w; w = w->next)
        write_bytes(&f->durable, w->at, w->bytes, w->len);
    forget_writes(f);
}

/* --- names --------------------------------------------------------------- */

static entry *find_name(names *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->entry[i].name, name) == 0)
            return &t->entry[i];
    return NULL;
}

static void drop_name(names *t, const char *name)
{
    entry *e = find_name(t, name);

    if (e)
        *e = t->entry[--t->n];
}

static void set_name(names *t, const char *name, int file)
{
    drop_name(t, name);
    need(t->n < MAX_NAMES);
    entry *e = &t->entry[t->n++];
    snprintf(e->name, sizeof e->name, "%s", name);
    e->inode = file;
}

static void change_names(names *t, const step *s)
{
    if (s->kind == STEP_CREATE)
        set_name(t, s->to, s->inode);
    if (s->kind == STEP_RENAME) {
        entry *e = find_name(t, s->from);
        if (e && e->inode == s->inode)
            drop_name(t, s->from);
        set_name(t, s->to, s->inode);
    }
    if (s->kind == STEP_REMOVE) {
        entry *e = find_name(t, s->from);
        if (e && e->inode == s->inode)
            drop_name(t, s->from);
    }
}

static void push(steps *q, const step *s)
{
    step *copy = malloc(sizeof *copy);

    need(copy != NULL);
    *copy = *s;
    copy->next = NULL;
    *q->last = copy;
    q->last = &copy->next;
}

static step *pop(steps *q)
{
    step *s = q->first;

    if (s) {
        q->first = s->next;
        if (!q->first)
            q->last = &q->first;
    }
    return s;
}

static void free_step(step *s)
{
    free(s->bytes);
    free(s);
}

static void forget_steps(steps *q)
{
    for (step *s; (s = pop(q)) != NULL;)
        free_step(s);
    q->last = &q->first;
}

/* --- operations --------------------------------------------------------- */

static void do_step(sim_disk *d, const step *s)
{
    switch (s->kind) {
    case STEP_WRITE:
        write_inode(&d->inode[s->inode], s->at, s->bytes, s->len);
        break;
    case STEP_SYNC:
        sync_inode(&d->inode[s->inode]);
        break;
    case STEP_SYNC_NAMES:
        d->durable = d->seen;
        forget_steps(&d->pending);
        break;
    case STEP_CREATE:
    case STEP_RENAME:
    case STEP_REMOVE: {
        step change = *s;
        const entry *e = find_name(&d->seen, s->from);
        if (s->kind != STEP_CREATE) {
            if (!e)
                return;
            change.inode = e->inode;
        }
        change.bytes = NULL;
        change_names(&d->seen, &change);
        push(&d->pending, &change);
        break;
    }
    }
}

static bool power_fails(sim_disk *d)
{
    d->stats.ops++;
    if (!d->off && d->cut_after && --d->cut_after == 0)
        sim_off(d, true);
    return d->off;
}

/* Performs the child's next operation, unless the power fails. */
static void step_child(sim_disk *d)
{
    if (!d->child.first || power_fails(d))
        return;
    step *s = pop(&d->child);
    do_step(d, s);
    free_step(s);
}

/*
 * Runs before each operation of the parent. Returns 0, or the error it fails
 * with.
 */
static int meet(sim_disk *d, int error)
{
    if (!d->recording)
        while (d->child.first && sim_below(d, 3) == 0)
            step_child(d);
    if (!d->recording && power_fails(d))
        return EIO;
    if (d->off)
        return EIO;
    if (d->one_in && sim_below(d, d->one_in) == 0) {
        d->stats.failed++;
        return error;
    }
    return 0;
}

static void consume_step(sim_disk *d, const step *s)
{
    if (d->recording) {
        push(&d->child, s);
        return;
    }
    do_step(d, s);
    free(s->bytes);
}

static sim_disk *sim_of(um_disk *base)
{
    return (sim_disk *)base;
}

/* --- the table of operations --------------------------------------------- */

static int sim_lock(um_disk *base, const char *name, pid_t *holder)
{
    sim_disk *d = sim_of(base);

    (void)name;
    *holder = 0;
    if (d->locked)
        return EWOULDBLOCK;
    if (d->off)
        return EIO;
    d->locked = true;
    return 0;
}

static int sim_names(um_disk *base, void (*each)(void *ctx, const char *name),
                     void *ctx)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, EIO);

    for (size_t i = 0; error == 0 && i < d->seen.n; i++)
        each(ctx, d->seen.entry[i].name);
    return error;
}

static bool is_named(const names *t, int file)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->entry[i].inode == file)
            return true;
    return false;
}

/* Returns an unused inode; freed ones are used again. */
static int new_inode(sim_disk *d)
{
    for (int i = 0; i < MAX_INODES; i++)
        if (!d->inode[i].used) {
            d->inode[i].used = true;
            d->inode[i].last = &d->inode[i].first;
            return i;
        }
    abort();
}

static int sim_open_file(um_disk *base, const char *name, um_disk_mode mode,
                         int *file)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, mode == UM_DISK_CREATE ? ENOSPC : EIO);

    if (error)
        return error;
    if (mode == UM_DISK_CREATE) {
        step s = {.kind = STEP_CREATE, .inode = new_inode(d)};
        snprintf(s.to, sizeof s.to, "%s", name);
        consume_step(d, &s);
        *file = s.inode;
        return 0;
    }
    const entry *e = find_name(&d->seen, name);
    if (!e)
        return ENOENT;
    *file = e->inode;
    return 0;
}

static int sim_size(um_disk *base, int file, uint64_t *size)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, EIO);

    *size = d->inode[file].seen.len;
    return error;
}

static int sim_read(um_disk *base, int file, uint64_t at, void *out, size_t len,
                    size_t *got)
{
    sim_disk *d = sim_of(base);
    const content *c = &d->inode[file].seen;
    int error = meet(d, EIO);

    *got = 0;
    if (error)
        return error;
    if (at < c->len)
        *got = len < c->len - at ? len : (size_t)(c->len - at);
    if (*got)
        memcpy(out, c->bytes + at, *got);
    return 0;
}

/* Returns the number of bytes that the child has still to write. */
static uint64_t queued_bytes(const sim_disk *d)
{
    uint64_t sum = 0;

    for (const step *s = d->child.first; s; s = s->next)
        sum += s->len;
    return sum;
}

static int sim_write(um_disk *base, int file, uint64_t at, const void *bytes,
                     size_t len)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, sim_below(d, 2) ? EIO : ENOSPC);
    step s = {.kind = STEP_WRITE, .inode = file, .at = at, .len = len};

    if (error == 0 && d->limit &&
        sim_bytes(d) + queued_bytes(d) + len > d->limit) {
        error = ENOSPC;
        d->stats.failed++;
    }
    if (error) /* part of it may have been written */
        s.len = d->off ? 0 : (size_t)sim_below(d, len + 1);
    if (s.len) {
        s.bytes = malloc(s.len);
        need(s.bytes != NULL);
        memcpy(s.bytes, bytes, s.len);
        consume_step(d, &s);
    }
    return error;
}

static int sim_sync(um_disk *base, int file)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, EIO);

    if (error == 0)
        consume_step(d, &(step){.kind = STEP_SYNC, .inode = file});
    else if (!d->off && !d->recording)
        forget_writes(&d->inode[file]);
    return error;
}

static void sim_close_file(um_disk *base, int file)
{
    (void)base;
    (void)file;
}

static int sim_rename(um_disk *base, const char *from, const char *to)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, EIO);
    step s = {.kind = STEP_RENAME};

    if (error)
        return error;
    snprintf(s.from, sizeof s.from, "%s", from);
    snprintf(s.to, sizeof s.to, "%s", to);
    consume_step(d, &s);
    return 0;
}

static int sim_remove(um_disk *base, const char *name)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, EIO);
    step s = {.kind = STEP_REMOVE};

    if (error)
        return error;
    snprintf(s.from, sizeof s.from, "%s", name);
    consume_step(d, &s);
    return 0;
}

static int sim_sync_names(um_disk *base)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, EIO);

    if (error == 0)
        consume_step(d, &(step){.kind = STEP_SYNC_NAMES});
    return error;
}

static int sim_start(um_disk *base, int (*job)(void *arg), void *arg,
                     pid_t *child)
{
    sim_disk *d = sim_of(base);
    int error = meet(d, EAGAIN);

    if (error)
        return error;
    d->recording = true;
    d->child_result = job(arg);
    d->recording = false;
    *child = 1;
    return 0;
}

static bool sim_ended(um_disk *base, pid_t child, int *result)
{
    sim_disk *d = sim_of(base);

    (void)child;
    step_child(d);
    *result = d->off ? EINTR : d->child_result;
    return d->off || !d->child.first;
}

static void sim_stop(um_disk *base, pid_t child)
{
    (void)child;
    forget_steps(&sim_of(base)->child);
}

static void sim_release(um_disk *base)
{
    sim_of(base)->locked = false;
}

static const um_disk_ops ops = {.lock = sim_lock,
                                .names = sim_names,
                                .open = sim_open_file,
                                .size = sim_size,
                                .read = sim_read,
                                .write = sim_write,
                                .sync = sim_sync,
                                .close = sim_close_file,
                                .rename = sim_rename,
                                .remove = sim_remove,
                                .sync_names = sim_sync_names,
                                .start = sim_start,
                                .ended = sim_ended,
                                .stop = sim_stop,
                                .release = sim_release};

/* --- power --------------------------------------------------------------- */

void sim_off(sim_disk *d, bool power)
{
    d->off = true;
    d->cut_after = 0;
    d->power_failed = d->power_failed || power;
    forget_steps(&d->child);
    if (power)
        d->stats.cuts++;
    else
        d->stats.kills++;
}

/* Writes only some sectors of a write to the platter. */
static void tear(sim_disk *d, inode *f, const pending_write *w)
{
    static const uint8_t zeroes[SECTOR];
    bool garbage = sim_below(d, 2);

    for (uint64_t at = w->at, next; at < w->at + w->len; at = next) {
        next = (at / SECTOR + 1) * SECTOR;
        if (next > w->at + w->len)
            next = w->at + w->len;
        size_t len = (size_t)(next - at);
        if (sim_below(d, 2))
            write_bytes(&f->durable, at, w->bytes + (at - w->at), len);
        else if (garbage) /* the length was written, but not the data */
            write_bytes(&f->durable, at, zeroes, len);
    }
}

/*
 * Resolves pending writes. fate: 0 all are lost, 1 all survive, otherwise each
 * is decided separately.
 */
static void lose_writes(sim_disk *d, inode *f, uint64_t fate)
{
    for (const pending_write *w = f->first; w; w = w->next) {
        uint64_t dice = fate < 2 ? fate : sim_below(d, 3);
        if (dice == 1) {
            write_bytes(&f->durable, w->at, w->bytes, w->len);
            d->stats.kept++;
        } else if (dice == 2) {
            tear(d, f, w);
            d->stats.torn++;
        } else {
            d->stats.lost++;
        }
    }
    forget_writes(f);
    copy_content(&f->seen, &f->durable);
}

static void lose_names(sim_disk *d, uint64_t fate)
{
    for (step *s; (s = pop(&d->pending)) != NULL; free_step(s)) {
        bool kept = fate < 2 ? fate == 1 : sim_below(d, 2);
        if (kept)
            change_names(&d->durable, s);
        d->stats.names_kept += kept;
        d->stats.names_lost += !kept;
    }
    d->pending.last = &d->pending.first;
    d->seen = d->durable;
}

void sim_power_on(sim_disk *d)
{
    if (d->power_failed) {
        uint64_t fate = sim_below(d, 6);
        for (int i = 0; i < MAX_INODES; i++)
            if (d->inode[i].used)
                lose_writes(d, &d->inode[i], fate);
        lose_names(d, sim_below(d, 4));
    }
    for (int i = 0; i < MAX_INODES && d->power_failed; i++)
        if (d->inode[i].used && !is_named(&d->seen, i))
            free_inode(&d->inode[i]);
    d->off = d->power_failed = d->locked = false;
}

bool sim_is_off(const sim_disk *d)
{
    return d->off;
}

void sim_cut_after(sim_disk *d, uint64_t n)
{
    d->cut_after = n;
}

void sim_fail(sim_disk *d, uint64_t one_in)
{
    d->one_in = one_in;
}

void sim_limit(sim_disk *d, uint64_t bytes)
{
    d->limit = bytes;
}

/* --- the disk as a whole ------------------------------------------------- */

sim_disk *sim_open(uint64_t seed)
{
    sim_disk *d = calloc(1, sizeof *d);

    need(d != NULL);
    d->base.ops = &ops;
    d->rng = (um_rng){seed};
    d->pending.last = &d->pending.first;
    d->child.last = &d->child.first;
    return d;
}

void sim_close(sim_disk *d)
{
    for (int i = 0; i < MAX_INODES; i++)
        if (d->inode[i].used)
            free_inode(&d->inode[i]);
    forget_steps(&d->pending);
    forget_steps(&d->child);
    free(d);
}

um_disk *sim_ops(sim_disk *d)
{
    return &d->base;
}

uint64_t sim_below(sim_disk *d, uint64_t n)
{
    return um_random_below(&d->rng, n);
}

sim_stats sim_stats_of(const sim_disk *d)
{
    return d->stats;
}

uint64_t sim_bytes(const sim_disk *d)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < d->seen.n; i++)
        sum += d->inode[d->seen.entry[i].inode].seen.len;
    return sum;
}
