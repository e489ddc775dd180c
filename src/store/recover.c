/*
 * recover.c - from the files of a directory to the state.
 *
 * The newest snapshot counts, and the journals from its number on. Blocks are
 * numbered without gaps, so each file must go on where the one before it ended:
 *
 *     ... 7 8 9 |    | 10 11 12 ...      whole
 *     ... 7 8 9 x    | 10 11 12 ...      a torn end, written again after it
 *     ... 7 x        | 10 11 12 ...      8 and 9 are lost, and 10 cannot count
 *
 * In the last case the files after the gap are left out if 8 was never durable,
 * as after a power cut without fdatasync. If anything says that it was, the
 * journal is damaged and recovery refuses it.
 */
#include "store/recover.h"

#include "base/error.h"
#include "base/hash.h"
#include "store/journal.h"
#include "store/snapshot.h"
#include "store/worker.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* --- the directory ------------------------------------------------------- */

static void add_journal(um_found *f, uint64_t number)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 16;
        uint64_t *more = realloc(f->journal, cap * sizeof *more);
        if (!more) {
            f->status = UMBEL_E_NOMEM;
            return;
        }
        f->journal = more;
        f->cap = cap;
    }
    f->journal[f->n++] = number;
}

static void note_name(void *ctx, const char *name)
{
    um_found *f = ctx;
    uint64_t number = 0;
    bool unfinished = false;
    bool snapshot = um_store_parse_name(name, "snapshot", &number, &unfinished);
    bool journal =
        !snapshot && um_store_parse_name(name, "journal", &number, &unfinished);

    if (number > f->last)
        f->last = number;
    if (snapshot && !unfinished && number > f->snapshot)
        f->snapshot = number;
    if (journal && !unfinished)
        add_journal(f, number);
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Forgets journals that the snapshot has replaced. */
static void retain_needed(um_found *f)
{
    size_t kept = 0;

    if (f->n)
        qsort(f->journal, f->n, sizeof *f->journal, compare_numbers);
    for (size_t i = 0; i < f->n; i++)
        if (f->journal[i] >= f->snapshot)
            f->journal[kept++] = f->journal[i];
    f->n = kept;
}

umbel_status um_found_init(um_found *f, um_disk *disk, const char *dir,
                           umbel_error *err)
{
    *f = (um_found){.disk = disk, .dir = dir};
    UM_TRY(um_disk_status(disk->ops->names(disk, note_name, f), dir, err));
    if (f->status)
        return um_fail(err, f->status, "%s: no memory for names", dir);
    retain_needed(f);
    if (f->n && !f->snapshot)
        return um_fail(err, UMBEL_E_FORMAT,
                       "%s has journal-%" PRIu64 " but no snapshot: restore "
                       "the directory from a copy, or choose an empty one",
                       dir, f->journal[0]);
    return UMBEL_OK;
}

void um_found_fini(um_found *f)
{
    free(f->journal);
    f->journal = NULL;
}

/* Says what to do about a damaged file. */
static umbel_status advise(umbel_status status, umbel_error *err)
{
    char text[160];

    if (!err || (status != UMBEL_E_FORMAT && status != UMBEL_E_CHECKSUM))
        return status;
    snprintf(text, sizeof text, "%.159s", err->text);
    return um_fail(err, status, "%s: restore the directory from a copy", text);
}

/* --- the snapshot -------------------------------------------------------- */

static umbel_status check_secret(uint64_t made_with, const uint8_t *secret,
                                 umbel_error *err)
{
    if (made_with == um_secret_id(secret))
        return UMBEL_OK;
    return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_WRONG,
                          "made with another secret: start with that one, or "
                          "with an empty directory");
}

static umbel_status open_snapshot(const um_found *f, const uint8_t *secret,
                                  um_snapshot_reader *r, umbel_error *err)
{
    char name[UM_DISK_NAME];

    snprintf(name, sizeof name, "snapshot-%" PRIu64, f->snapshot);
    UM_TRY(um_snapshot_open(r, f->disk, name, err));
    if (r->head.number != f->snapshot)
        return um_fail(err, UMBEL_E_FORMAT, "is snapshot %" PRIu64,
                       r->head.number);
    return check_secret(r->head.secret_id, secret, err);
}

/* Releases the reader; a refusal names the file and what to do. */
static umbel_status close_snapshot(const um_found *f, um_snapshot_reader *r,
                                   umbel_status status, umbel_error *err)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/snapshot-%" PRIu64, f->dir, f->snapshot);
    um_snapshot_reader_fini(r);
    return um_name_file(advise(status, err), path, err);
}

umbel_status um_found_check(const um_found *f, const uint8_t *secret,
                            umbel_error *err)
{
    um_snapshot_reader r;

    if (!f->snapshot)
        return UMBEL_OK;
    return close_snapshot(f, &r, open_snapshot(f, secret, &r, err), err);
}

static umbel_status read_state(um_snapshot_reader *r, const um_store_config *c,
                               const uint8_t *secret, um_state *st,
                               uint8_t *order, umbel_error *err)
{
    UM_TRY(um_state_decode(st, c, secret, &r->feed, &r->head, order, err));
    st->time = r->head.time;
    return um_snapshot_check_end(r, err);
}

static umbel_status read_snapshot(const um_found *f, const um_store_config *c,
                                  const uint8_t *secret, um_state *st,
                                  um_snapshot_head *head, uint8_t *order,
                                  um_recovered *out, umbel_error *err)
{
    um_snapshot_reader r;
    umbel_status status = open_snapshot(f, secret, &r, err);

    if (status == UMBEL_OK)
        status = read_state(&r, c, secret, st, order, err);
    *head = r.head;
    out->snapshot_bytes = r.size;
    return close_snapshot(f, &r, status, err);
}

/* --- the journals -------------------------------------------------------- */

typedef struct journal_file {
    um_disk *disk;
    int file;
} journal_file;

static int read_journal_file(void *ctx, uint64_t at, void *out, size_t len,
                             size_t *got)
{
    const journal_file *j = ctx;
    return j->disk->ops->read(j->disk, j->file, at, out, len, got);
}

/* What goes through all journals. */
typedef struct chain {
    um_replay replay;
    uint64_t secret_id, lists_id;
    uint64_t seq; /* of the last block */
    um_recovered *out;
} chain;

static umbel_status check_head(const chain *ch, const um_journal_head *head,
                               uint64_t number, umbel_error *err)
{
    if (head->number != number)
        return um_fail(err, UMBEL_E_FORMAT, "is journal %" PRIu64,
                       head->number);
    if (head->secret_id != ch->secret_id || head->lists_id != ch->lists_id)
        return um_fail(err, UMBEL_E_FORMAT, "does not belong to the snapshot");
    return UMBEL_OK;
}

static umbel_status replay_blocks(chain *ch, um_journal_walk *w,
                                  umbel_error *err)
{
    um_block b;
    bool found;

    for (;;) {
        UM_TRY(um_journal_next(w, ch->seq + 1, &b, &found, err));
        if (!found)
            return UMBEL_OK;
        UM_TRY(um_replay_block(&ch->replay, b.records, b.len, b.time, err));
        ch->seq = b.seq;
    }
}

static umbel_status replay_file(chain *ch, um_journal_source source,
                                uint64_t number, uint64_t size,
                                umbel_error *err)
{
    um_journal_walk w;
    bool damaged = false;

    umbel_status status = um_journal_begin(&w, source, err);
    if (status == UMBEL_OK)
        status = check_head(ch, &w.head, number, err);
    status = advise(status, err);
    if (status == UMBEL_OK)
        status = replay_blocks(ch, &w, err);
    if (status == UMBEL_OK && w.at < (w.head.mark > size ? w.head.mark : size))
        status = um_journal_is_damaged(&w, ch->seq + 1, &damaged, err);
    if (damaged)
        status = um_fail(err, UMBEL_E_CHECKSUM,
                         "damaged at byte %" PRIu64 ", block %" PRIu64
                         ": restore the directory from a copy, or cut the file "
                         "there and remove later journals",
                         w.at, ch->seq + 1);
    if (status == UMBEL_OK) {
        ch->out->journal_bytes += w.at;
        ch->out->torn += size > w.at ? size - w.at : 0;
    }
    um_journal_end(&w);
    return status;
}

/* Replays one file. */
static umbel_status replay_journal(chain *ch, const um_found *f,
                                   uint64_t number, umbel_error *err)
{
    const um_disk_ops *ops = f->disk->ops;
    char name[UM_DISK_NAME], path[PATH_MAX];
    journal_file j = {.disk = f->disk};
    uint64_t size = 0;

    snprintf(name, sizeof name, "journal-%" PRIu64, number);
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    UM_TRY(um_disk_status(ops->open(f->disk, name, UM_DISK_READ, &j.file), path,
                          err));
    umbel_status status =
        um_disk_status(ops->size(f->disk, j.file, &size), "size", err);
    if (status == UMBEL_OK)
        status = replay_file(ch, (um_journal_source){&j, read_journal_file},
                             number, size, err);
    ops->close(f->disk, j.file);
    return um_name_file(status, path, err);
}

static umbel_status replay_all(chain *ch, const um_found *f, umbel_error *err)
{
    for (size_t i = 0; i < f->n; i++)
        UM_TRY(replay_journal(ch, f, f->journal[i], err));
    UM_TRY(um_name_file(um_replay_flush(&ch->replay, err), f->dir, err));
    return UMBEL_OK;
}

static bool is_same_order(const uint8_t *order, size_t n, size_t configured)
{
    for (size_t i = 0; i < n; i++)
        if (order[i] != i)
            return false;
    return n == configured;
}

umbel_status um_recover(const um_found *f, const um_store_config *c,
                        const uint8_t *secret, um_state *st, um_recovered *out,
                        umbel_error *err)
{
    uint8_t order[UM_STORE_MAX_LISTS] = {0};
    um_snapshot_head head;

    *out = (um_recovered){0};
    UM_TRY(read_snapshot(f, c, secret, st, &head, order, out, err));
    chain ch = {.secret_id = head.secret_id,
                .lists_id = um_state_lists_id(c, order, head.lists),
                .seq = head.seq,
                .out = out};
    umbel_status status =
        um_replay_init(&ch.replay, st, order, head.lists, err);
    ch.replay.watch = &c->watch;
    ch.replay.configured = c->nlists;
    if (status == UMBEL_OK)
        status = um_watch_show_all(&c->watch, st, c->nlists, err);
    if (status == UMBEL_OK)
        status = replay_all(&ch, f, err);
    um_replay_fini(&ch.replay);
    out->seq = ch.seq;
    out->time = head.time;
    out->records = ch.replay.records;
    out->rewrite = !is_same_order(order, head.lists, c->nlists);
    return status;
}
