/*
 * store_state.c - the state of the store, its changes, and its bytes in a
 * snapshot.
 */
#include "base/error.h"
#include "base/hash.h"
#include "store/internal.h"
#include "store/list.h"

#include <stdio.h>
#include <string.h>

/* Creates the table of times, if a list of the configuration needs it. */
static umbel_status open_recent(um_state *st, const um_store_config *c,
                                umbel_error *err)
{
    bool any = false;

    for (size_t i = 0; i < c->nlists; i++) {
        if (c->lists[i].recent_column > UM_RECENT_COLUMNS)
            return um_fail(err, UMBEL_E_RANGE,
                           "list %s: there is no column %u of recent times",
                           c->lists[i].name, c->lists[i].recent_column);
        st->recent_column[i] = c->lists[i].recent_column;
        any |= st->recent_column[i] != 0;
    }
    if (!any || st->recent)
        return UMBEL_OK;
    return um_recent_times_open(c->recent ? c->recent : UM_STORE_RECENT, NULL,
                                &st->recent, err);
}

umbel_status um_state_fill(um_state *st, const um_store_config *c,
                           const uint8_t *secret, uint64_t now,
                           umbel_error *err)
{
    st->nlists = c->nlists;
    UM_TRY(open_recent(st, c, err));
    for (size_t i = 0; i < c->nlists; i++) {
        snprintf(st->name[i], sizeof st->name[i], "%s", c->lists[i].name);
        if (!st->list[i])
            UM_TRY(um_list_open(&c->lists[i], secret, now, &st->list[i], err));
    }
    return UMBEL_OK;
}

void um_state_fini(um_state *st)
{
    for (size_t i = 0; i < UM_STORE_MAX_LISTS; i++)
        um_list_close(st->list[i]);
    um_recent_times_close(st->recent);
    um_replay_guard_fini(&st->guard);
    um_kv_fini(&st->kv);
    *st = (um_state){0};
}

uint64_t um_state_lists_id(const um_store_config *c, const uint8_t *order,
                           size_t n)
{
    uint64_t id = n;

    for (size_t i = 0; i < n; i++) {
        const char *name = c->lists[order[i]].name;
        id = um_remix(id ^ um_checksum(name, strlen(name)));
    }
    return id;
}

umbel_status um_state_count(um_state *st, unsigned list, const umbel_digest *d,
                            const uint32_t *amount, const uint16_t *reporter,
                            size_t n, uint64_t time, umbel_error *err)
{
    uint64_t before[UM_LIST_BATCH];
    um_list *l = st->list[list];

    if (!st->recent_column[list])
        return um_list_add_reports(l, d, amount, reporter, n, err);
    um_list_count(l, d, n, before);
    UM_TRY(um_list_add_reports(l, d, amount, reporter, n, err));
    um_recent_times_add(st->recent, st->recent_column[list] - 1, d, before, n,
                        time);
    return UMBEL_OK;
}

/* Creates an empty filter for each list. Lists that are new in the
 * configuration do not exist yet. */
static umbel_status create_filters(const um_state *st,
                                   umbel_filter *fresh[UM_STORE_MAX_LISTS],
                                   umbel_error *err)
{
    for (size_t i = 0; i < UM_STORE_MAX_LISTS; i++)
        if (st->list[i])
            UM_TRY(um_list_create_filter(st->list[i], &fresh[i], err));
    return UMBEL_OK;
}

umbel_status um_state_reset(um_state *st, umbel_slice key, umbel_slice value,
                            uint64_t time, umbel_error *err)
{
    umbel_filter *fresh[UM_STORE_MAX_LISTS] = {NULL};
    umbel_status status = create_filters(st, fresh, err);

    if (status == UMBEL_OK)
        status = um_kv_set(&st->kv, key, value, err);
    for (size_t i = 0; i < UM_STORE_MAX_LISTS; i++)
        if (status != UMBEL_OK)
            umbel_close(fresh[i]);
        else if (fresh[i])
            um_list_reset(st->list[i], fresh[i], time);
    return status;
}

/* --- bytes ---------------------------------------------------------------- */

static umbel_status write_name(const um_sink *to, const char *name,
                               umbel_error *err)
{
    uint8_t len = (uint8_t)strlen(name);

    UM_TRY(um_sink_write(to, &len, 1, err));
    return um_sink_write(to, name, len, err);
}

umbel_status um_state_encode(const um_state *st, const um_sink *to,
                             umbel_error *err)
{
    for (size_t i = 0; i < st->nlists; i++) {
        UM_TRY(write_name(to, st->name[i], err));
        UM_TRY(um_list_encode(st->list[i], to, err));
    }
    UM_TRY(um_replay_guard_encode(&st->guard, st->time, to, err));
    UM_TRY(um_kv_encode(&st->kv, to, err));
    return st->recent ? um_recent_times_encode(st->recent, to, err) : UMBEL_OK;
}

static umbel_status get_index(const um_store_config *c, const um_state *st,
                              um_feed *from, uint8_t *index, umbel_error *err)
{
    char name[256];
    uint8_t len;

    UM_TRY(um_feed_get(from, &len, 1, err));
    UM_TRY(um_feed_get(from, name, len, err));
    name[len] = '\0';
    for (size_t i = 0; i < c->nlists; i++) {
        if (strcmp(c->lists[i].name, name) != 0)
            continue;
        if (st->list[i])
            return um_fail(err, UMBEL_E_FORMAT, "list \"%s\" occurs twice",
                           name);
        *index = (uint8_t)i;
        return UMBEL_OK;
    }
    return um_fail(err, UMBEL_E_MISMATCH,
                   "contains list \"%.32s\", which the configuration lacks: "
                   "use the configuration with that list",
                   name);
}

/* Reads the times, and discards them if no list needs them any more. */
static umbel_status get_recent(um_state *st, um_feed *from, umbel_error *err)
{
    um_recent_times *none = NULL;

    if (st->recent)
        return um_recent_times_decode(st->recent, from, err);
    UM_TRY(um_recent_times_open(1, NULL, &none, err));
    umbel_status status = um_recent_times_decode(none, from, err);
    um_recent_times_close(none);
    return status;
}

umbel_status um_state_decode(um_state *st, const um_store_config *c,
                             const uint8_t *secret, um_feed *from,
                             const um_snapshot_head *head,
                             uint8_t order[UM_STORE_MAX_LISTS],
                             umbel_error *err)
{
    uint32_t n = head->lists;

    UM_TRY(open_recent(st, c, err));
    if (n > UM_STORE_MAX_LISTS)
        return um_fail(err, UMBEL_E_FORMAT, "%u lists, more than %d", n,
                       UM_STORE_MAX_LISTS);
    for (uint32_t i = 0; i < n; i++) {
        UM_TRY(get_index(c, st, from, &order[i], err));
        UM_TRY(um_list_decode(&c->lists[order[i]], secret, from,
                              &st->list[order[i]], err));
    }
    UM_TRY(um_replay_guard_decode(&st->guard, from, err));
    UM_TRY(um_kv_decode(&st->kv, from, err));
    return head->has_times ? get_recent(st, from, err) : UMBEL_OK;
}
