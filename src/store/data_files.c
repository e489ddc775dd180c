/*
 * data_files.c - lists, creates and removes the files snapshot-N and journal-N
 * of a data directory.
 *
 * A start makes the journals durable that it has read, because they may have
 * been only in memory. A sync is not enough: if a sync of the previous process
 * failed, the kernel regards the bytes as written, the next sync succeeds, and
 * a power failure loses them. So a journal is copied unless its head says that
 * all of it was durable. It is not rewritten in place, because an incomplete
 * write could destroy what is on the disk already.
 */
#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "store/internal.h"
#include "store/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REMOVE_AT_ONCE = 64 };

/* --- names ---------------------------------------------------------------- */

bool um_data_file_parse(const char *name, const char *kind, uint64_t *number,
                        bool *unfinished)
{
    size_t len = strlen(kind);

    if (strncmp(name, kind, len) != 0 || name[len] != '-' ||
        name[len + 1] == '0')
        return false;
    name += len + 1;
    len = strspn(name, "0123456789");
    *unfinished = strcmp(name + len, ".new") == 0;
    return (name[len] == '\0' || *unfinished) &&
           um_decimal_read(name, len, UINT64_MAX, number);
}

/* --- the files that a start needs ----------------------------------------- */

static void add_journal(um_data_files *f, uint64_t number)
{
    if (um_array_reserve(&f->journal, &f->cap, f->n + 1, sizeof *f->journal))
        f->journal[f->n++] = number;
    else
        f->status = UMBEL_E_NOMEM;
}

static void add_name(void *ctx, const char *name)
{
    um_data_files *f = ctx;
    uint64_t number = 0;
    bool unfinished = false;
    bool snapshot = um_data_file_parse(name, "snapshot", &number, &unfinished);
    bool journal =
        !snapshot && um_data_file_parse(name, "journal", &number, &unfinished);

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

/* Drops journals that the snapshot has replaced. */
static void retain_needed(um_data_files *f)
{
    size_t kept = 0;

    if (f->n)
        qsort(f->journal, f->n, sizeof *f->journal, compare_numbers);
    for (size_t i = 0; i < f->n; i++)
        if (f->journal[i] >= f->snapshot)
            f->journal[kept++] = f->journal[i];
    f->n = kept;
}

umbel_status um_data_files_scan(um_data_files *f, um_disk *disk,
                                const char *dir, umbel_error *err)
{
    *f = (um_data_files){.disk = disk, .dir = dir};
    UM_TRY(um_disk_status(disk->ops->names(disk, add_name, f), dir, err));
    if (f->status)
        return um_fail(err, f->status, "%s: out of memory", dir);
    retain_needed(f);
    if (f->n && !f->snapshot)
        return um_fail(err, UMBEL_E_FORMAT,
                       "%s contains journal-%" PRIu64
                       " but no snapshot: restore "
                       "the directory from a backup, or choose an empty one",
                       dir, f->journal[0]);
    return UMBEL_OK;
}

void um_data_files_fini(um_data_files *f)
{
    free(f->journal);
    f->journal = NULL;
}

/* --- create and remove ---------------------------------------------------- */

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

typedef struct removal {
    uint64_t below;
    bool unfinished;
    char name[REMOVE_AT_ONCE][UM_DISK_NAME];
    size_t n;
} removal;

static void add_old(void *ctx, const char *name)
{
    static const char *const kinds[] = {"snapshot", "journal"};
    removal *c = ctx;
    uint64_t number;
    bool unfinished;

    for (size_t i = 0; i < UM_COUNT(kinds); i++)
        if (um_data_file_parse(name, kinds[i], &number, &unfinished) &&
            (number < c->below || (unfinished && c->unfinished)) &&
            c->n < REMOVE_AT_ONCE && strlen(name) < UM_DISK_NAME)
            memcpy(c->name[c->n++], name, strlen(name) + 1);
}

int um_data_files_remove(um_disk *disk, uint64_t below, bool unfinished)
{
    removal c = {.below = below, .unfinished = unfinished};

    do {
        c.n = 0;
        int number = disk->ops->names(disk, add_old, &c);
        if (number)
            return number;
        for (size_t i = 0; i < c.n; i++) {
            number = disk->ops->remove(disk, c.name[i]);
            if (number && number != ENOENT)
                return number;
        }
    } while (c.n == REMOVE_AT_ONCE);
    return 0;
}

/* --- make journals durable ------------------------------------------------ */

static int replace_by_copy(um_disk *disk, uint64_t journal, int file,
                           uint64_t size)
{
    char name[UM_DISK_NAME], new[UM_DISK_NAME];
    int copy;

    snprintf(name, sizeof name, "journal-%" PRIu64, journal);
    snprintf(new, sizeof new, "journal-%" PRIu64 ".new", journal);
    int number = disk->ops->open(disk, new, UM_DISK_CREATE, &copy);
    if (number)
        return number;
    uint64_t copied = size;
    number = um_disk_copy_bytes(disk, file, disk, copy, &copied);
    if (number == 0 && copied < size)
        number = EIO; /* the file was truncated meanwhile */
    if (number == 0)
        number = um_disk_finish(disk, copy, name);
    disk->ops->close(disk, copy);
    if (number) /* the disk may be full */
        disk->ops->remove(disk, new);
    return number;
}

static int harden_file(um_disk *disk, uint64_t journal, int file)
{
    uint8_t bytes[UM_JOURNAL_HEAD];
    um_journal_head head = {.durable_end = 0};
    uint64_t size;
    size_t got;
    int number = disk->ops->size(disk, file, &size);

    if (number == 0)
        number = disk->ops->read(disk, file, 0, bytes, sizeof bytes, &got);
    if (number)
        return number;
    /* Recovery has already rejected files with a damaged head. */
    um_journal_head_decode(bytes, got, &head, NULL);
    return head.durable_end >= size
               ? disk->ops->sync(disk, file)
               : replace_by_copy(disk, journal, file, size);
}

static int harden_journal(um_disk *disk, uint64_t journal)
{
    char name[UM_DISK_NAME];
    int file;

    snprintf(name, sizeof name, "journal-%" PRIu64, journal);
    int number = disk->ops->open(disk, name, UM_DISK_READ, &file);
    if (number)
        return number;
    number = harden_file(disk, journal, file);
    disk->ops->close(disk, file);
    return number;
}

/* Search for the journal with the smallest number >= from; found is 0 if there
 * is none. */
typedef struct search {
    uint64_t from, found;
} search;

static void compare_name(void *ctx, const char *name)
{
    search *s = ctx;
    uint64_t number;
    bool unfinished;

    if (um_data_file_parse(name, "journal", &number, &unfinished) &&
        !unfinished && number >= s->from && (!s->found || number < s->found))
        s->found = number;
}

int um_journals_make_durable(um_disk *disk, uint64_t from)
{
    search s = {.from = from};
    int number;

    /* Copying changes the directory, so each journal is searched for again. */
    while ((number = disk->ops->names(disk, compare_name, &s)) == 0 &&
           s.found) {
        number = harden_journal(disk, s.found);
        if (number)
            return number;
        s = (search){.from = s.found + 1};
    }
    if (number == 0)
        number = disk->ops->sync_names(disk);
    return number ? number : um_data_files_remove(disk, from, true);
}
