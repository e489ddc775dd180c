/*
 * settle.c - makes what a start has read durable.
 *
 * What was read may have been in memory alone. To sync it is not enough: if the
 * process before had a sync that failed, the kernel regards these bytes as
 * written, the next sync succeeds, and a power cut takes them. So a journal is
 * copied unless its mark says that all of it was durable. It is not written in
 * place, because a write that is torn could take what is on the disk already.
 */
#include "store/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 1 << 16 };

static int copy_bytes(um_disk *disk, int from, int to, uint64_t size)
{
    uint8_t *chunk = malloc(CHUNK);
    int number = chunk ? 0 : ENOMEM;
    size_t got;

    for (uint64_t at = 0; number == 0 && at < size; at += got) {
        number = disk->ops->read(disk, from, at, chunk, CHUNK, &got);
        if (number == 0 && got == 0)
            number = EIO; /* it was longer a moment ago */
        if (number == 0)
            number = disk->ops->write(disk, to, at, chunk, got);
    }
    free(chunk);
    return number;
}

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
    number = copy_bytes(disk, file, copy, size);
    if (number == 0)
        number = um_disk_finish(disk, copy, name);
    disk->ops->close(disk, copy);
    return number;
}

static int settle_file(um_disk *disk, uint64_t journal, int file)
{
    uint8_t bytes[UM_JOURNAL_HEAD];
    um_journal_head head = {.mark = 0};
    uint64_t size;
    size_t got;
    int number = disk->ops->size(disk, file, &size);

    if (number == 0)
        number = disk->ops->read(disk, file, 0, bytes, sizeof bytes, &got);
    if (number)
        return number;
    /* A head that is damaged was refused. */
    um_journal_head_decode(bytes, got, &head, NULL);
    return head.mark >= size ? disk->ops->sync(disk, file)
                             : replace_by_copy(disk, journal, file, size);
}

static int settle_journal(um_disk *disk, uint64_t journal)
{
    char name[UM_DISK_NAME];
    int file;

    snprintf(name, sizeof name, "journal-%" PRIu64, journal);
    int number = disk->ops->open(disk, name, UM_DISK_READ, &file);
    if (number)
        return number;
    number = settle_file(disk, journal, file);
    disk->ops->close(disk, file);
    return number;
}

/* The journal with the least number from `from` on; 0: there is none. */
typedef struct search {
    uint64_t from, found;
} search;

static void compare_name(void *ctx, const char *name)
{
    search *s = ctx;
    uint64_t number;
    bool unfinished;

    if (um_store_parse_name(name, "journal", &number, &unfinished) &&
        !unfinished && number >= s->from && (!s->found || number < s->found))
        s->found = number;
}

int um_store_settle(um_disk *disk, uint64_t from)
{
    search s = {.from = from};
    int number;

    /* Names change meanwhile, so each is searched for anew. */
    while ((number = disk->ops->names(disk, compare_name, &s)) == 0 &&
           s.found) {
        number = settle_journal(disk, s.found);
        if (number)
            return number;
        s = (search){.from = s.found + 1};
    }
    if (number == 0)
        number = disk->ops->sync_names(disk);
    return number ? number : um_store_clean(disk, from, true);
}
