/*
 * replay_guard.c - ids of signed requests, remembered for ten minutes.
 *
 * A signature is valid for some minutes, so a copied request could be counted
 * again. A request id is a 64-bit digest of such a request; 0 is not an id.
 *
 * A hash table with linear probing. Ids are not removed one by one: when the
 * table is half full, it is rebuilt from the ids that have not expired. The
 * largest table is half full with UM_REPLAY_GUARD_MAX ids; while it is full,
 * its live ids are counted at most once a second.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "store/internal.h"

#include <stdlib.h>

enum { CAP_MIN = 1024 };

static bool is_live(uint64_t time, uint64_t now)
{
    return now <= time || now - time <= UM_REPLAY_GUARD_SECONDS;
}

void um_replay_guard_fini(um_replay_guard *g)
{
    free(g->slot);
    *g = (um_replay_guard){0};
}

static bool is_free(const void *slot)
{
    return ((const struct um_replay_guard_slot *)slot)->request_id == 0;
}

static bool has_id(const void *ctx, const void *slot, const void *id)
{
    (void)ctx;
    return ((const struct um_replay_guard_slot *)slot)->request_id ==
           *(const uint64_t *)id;
}

/* Returns the slot of an id, or the empty slot where it would go. */
static struct um_replay_guard_slot *find_slot(const um_replay_guard *g,
                                              uint64_t request_id)
{
    static const um_map_rule rule = {sizeof *g->slot, is_free, has_id, NULL};

    return um_map_find(&rule, NULL, g->slot, g->cap, um_remix(request_id),
                       &request_id);
}

bool um_replay_guard_seen(const um_replay_guard *g, uint64_t request_id,
                          uint64_t now)
{
    if (g->cap == 0 || request_id == 0)
        return false;
    const struct um_replay_guard_slot *slot = find_slot(g, request_id);
    return slot->request_id == request_id && is_live(slot->time, now);
}

static size_t count_live(const um_replay_guard *g, uint64_t now)
{
    size_t n = 0;

    for (size_t i = 0; i < g->cap; i++)
        n += g->slot[i].request_id != 0 && is_live(g->slot[i].time, now);
    return n;
}

static umbel_status refuse_id(umbel_error *err)
{
    return um_fail(err, UMBEL_E_LIMIT,
                   "more than %d signed requests within %d s",
                   UM_REPLAY_GUARD_MAX, UM_REPLAY_GUARD_SECONDS);
}

umbel_status um_replay_guard_reserve(um_replay_guard *g, size_t n, uint64_t now,
                                     umbel_error *err)
{
    um_replay_guard bigger = {.cap = CAP_MIN};

    if (n == 0 || (g->cap && g->used + n <= g->cap / 2))
        return UMBEL_OK;
    if (g->full_at && g->full_at == now)
        return refuse_id(err);
    size_t live = count_live(g, now);
    if (live + n > UM_REPLAY_GUARD_MAX) {
        g->full_at = now;
        return refuse_id(err);
    }
    while (bigger.cap / 4 < live + n && bigger.cap / 2 < UM_REPLAY_GUARD_MAX)
        bigger.cap *= 2;
    bigger.slot = calloc(bigger.cap, sizeof *bigger.slot);
    if (!bigger.slot)
        return um_no_memory(err, bigger.cap * sizeof *bigger.slot);
    for (size_t i = 0; i < g->cap; i++)
        if (g->slot[i].request_id != 0 && is_live(g->slot[i].time, now))
            um_replay_guard_add(&bigger, g->slot[i].request_id,
                                g->slot[i].time);
    um_replay_guard_fini(g);
    *g = bigger;
    return UMBEL_OK;
}

void um_replay_guard_add(um_replay_guard *g, uint64_t request_id, uint64_t now)
{
    struct um_replay_guard_slot *slot = find_slot(g, request_id);

    g->used += slot->request_id == 0;
    slot->request_id = request_id;
    slot->time = now;
}

umbel_status um_replay_guard_encode(const um_replay_guard *g, uint64_t now,
                                    const um_sink *to, umbel_error *err)
{
    uint64_t pair[2] = {um_le64(count_live(g, now)), 0};

    UM_TRY(um_sink_write(to, pair, 8, err));
    for (size_t i = 0; i < g->cap; i++) {
        const struct um_replay_guard_slot *slot = &g->slot[i];
        if (slot->request_id == 0 || !is_live(slot->time, now))
            continue;
        pair[0] = um_le64(slot->request_id);
        pair[1] = um_le64(slot->time);
        UM_TRY(um_sink_write(to, pair, sizeof pair, err));
    }
    return UMBEL_OK;
}

umbel_status um_replay_guard_decode(um_replay_guard *g, um_feed *from,
                                    umbel_error *err)
{
    uint64_t n, pair[2];

    UM_TRY(um_feed_get(from, &n, sizeof n, err));
    n = um_le64(n);
    if (n > UM_REPLAY_GUARD_MAX || n > from->left / sizeof pair)
        return um_fail(err, UMBEL_E_FORMAT, "too many request ids");
    if (n)
        UM_TRY(um_replay_guard_reserve(g, (size_t)n, 0, err));
    for (uint64_t i = 0; i < n; i++) {
        UM_TRY(um_feed_get(from, pair, sizeof pair, err));
        if (pair[0] == 0)
            return um_fail(err, UMBEL_E_FORMAT, "a request id of 0");
        um_replay_guard_add(g, um_le64(pair[0]), um_le64(pair[1]));
    }
    return UMBEL_OK;
}
