/*
 * once.c - a table of marks with linear probing.
 *
 * Nothing is removed one by one. When the table is half full it is made anew
 * from the marks that are young enough. The largest table is half full with
 * UM_ONCE_MAX marks; while it has no room, its marks are counted once a second.
 */
#include "store/once.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"

#include <stdlib.h>

enum { LEAST = 1024 };

static bool is_young(uint64_t time, uint64_t now)
{
    return now <= time || now - time <= UM_ONCE_SECONDS;
}

void um_once_fini(um_once *o)
{
    free(o->slot);
    *o = (um_once){0};
}

/* The slot of a mark, or the empty one where it would go. */
static struct um_once_slot *find_slot(const um_once *o, uint64_t mark)
{
    size_t i = um_remix(mark) & (o->cap - 1);

    while (o->slot[i].mark != 0 && o->slot[i].mark != mark)
        i = (i + 1) & (o->cap - 1);
    return &o->slot[i];
}

bool um_once_seen(const um_once *o, uint64_t mark, uint64_t now)
{
    if (o->cap == 0 || mark == 0)
        return false;
    const struct um_once_slot *slot = find_slot(o, mark);
    return slot->mark == mark && is_young(slot->time, now);
}

static size_t count_young(const um_once *o, uint64_t now)
{
    size_t n = 0;

    for (size_t i = 0; i < o->cap; i++)
        n += o->slot[i].mark != 0 && is_young(o->slot[i].time, now);
    return n;
}

static umbel_status refuse_mark(umbel_error *err)
{
    return um_fail(err, UMBEL_E_LIMIT,
                   "more than %d signed requests within %d s", UM_ONCE_MAX,
                   UM_ONCE_SECONDS);
}

umbel_status um_once_reserve(um_once *o, size_t n, uint64_t now,
                             umbel_error *err)
{
    um_once bigger = {.cap = LEAST};

    if (n == 0 || (o->cap && o->used + n <= o->cap / 2))
        return UMBEL_OK;
    if (o->full_at && o->full_at == now)
        return refuse_mark(err);
    size_t young = count_young(o, now);
    if (young + n > UM_ONCE_MAX) {
        o->full_at = now;
        return refuse_mark(err);
    }
    while (bigger.cap / 4 < young + n && bigger.cap / 2 < UM_ONCE_MAX)
        bigger.cap *= 2;
    bigger.slot = calloc(bigger.cap, sizeof *bigger.slot);
    if (!bigger.slot)
        return um_no_memory(err, bigger.cap * sizeof *bigger.slot);
    for (size_t i = 0; i < o->cap; i++)
        if (o->slot[i].mark != 0 && is_young(o->slot[i].time, now))
            um_once_append(&bigger, o->slot[i].mark, o->slot[i].time);
    um_once_fini(o);
    *o = bigger;
    return UMBEL_OK;
}

void um_once_append(um_once *o, uint64_t mark, uint64_t now)
{
    struct um_once_slot *slot = find_slot(o, mark);

    o->used += slot->mark == 0;
    slot->mark = mark;
    slot->time = now;
}

umbel_status um_once_encode(const um_once *o, uint64_t now, const um_sink *to,
                            umbel_error *err)
{
    uint64_t pair[2] = {um_le64(count_young(o, now)), 0};

    UM_TRY(um_sink_append(to, pair, 8, err));
    for (size_t i = 0; i < o->cap; i++) {
        const struct um_once_slot *slot = &o->slot[i];
        if (slot->mark == 0 || !is_young(slot->time, now))
            continue;
        pair[0] = um_le64(slot->mark);
        pair[1] = um_le64(slot->time);
        UM_TRY(um_sink_append(to, pair, sizeof pair, err));
    }
    return UMBEL_OK;
}

umbel_status um_once_decode(um_once *o, um_feed *from, umbel_error *err)
{
    uint64_t n, pair[2];

    UM_TRY(um_feed_get(from, &n, sizeof n, err));
    n = um_le64(n);
    if (n > UM_ONCE_MAX || n > from->left / sizeof pair)
        return um_fail(err, UMBEL_E_FORMAT, "too many marks");
    if (n)
        UM_TRY(um_once_reserve(o, (size_t)n, 0, err));
    for (uint64_t i = 0; i < n; i++) {
        UM_TRY(um_feed_get(from, pair, sizeof pair, err));
        if (pair[0] == 0)
            return um_fail(err, UMBEL_E_FORMAT, "a mark of 0");
        um_once_append(o, um_le64(pair[0]), um_le64(pair[1]));
    }
    return UMBEL_OK;
}
