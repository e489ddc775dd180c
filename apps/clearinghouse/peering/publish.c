/*
 * peers_publish.c - what our own lists say, for peers.
 *
 * The machine has a copy of each live epoch as it was published last. A pass
 * compares the lists with it, a slice of pages each time, and takes what
 * changed as a new version. For each version the store notes a mark: the list
 * and epoch, the version, and the range of pages that changed. Marks are in the
 * journal, in order with the counts, so that a restart makes the same versions
 * again, and compares no more than these pages. Peers hear of a version when
 * its mark is committed.
 *
 * Before a snapshot all is published, so the lists in it are the last versions.
 */
#include "clearinghouse/peering/inside.h"

#include "base/bytes.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/xxh3.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICE_PAGES = 16,    /* if all of them changed, about ... */
    SLICE_US = 200,      /* ... what a beat takes */
    PATIENCE_MS = 30000, /* for peers to say what they have, after a start */
    MIDWAY_MS = 1000,    /* that an epoch is not sent because it is under way */
    SNAPSHOT_MS = 5000,  /* that a snapshot waits for a pass, at most */
    NAME_LEN = 96,
    MARK_LEN = 24
};

#define PREFIX "published/"
#define LEADER "peers/incarnation"

/* --- marks ---------------------------------------------------------------- */

static umbel_slice mark_name(size_t list, uint64_t epoch, char out[NAME_LEN])
{
    int len = snprintf(out, NAME_LEN, PREFIX "%s/%" PRIu64, um_list_name(list),
                       epoch);

    return (umbel_slice){out, (size_t)len};
}

/* Reads "published/LIST/EPOCH"; false: of another program. */
static bool read_name(umbel_slice name, size_t *list, uint64_t *epoch)
{
    char text[NAME_LEN], *slash;
    size_t skip = strlen(PREFIX);

    if (name.len <= skip || name.len >= sizeof text ||
        memcmp(name.data, PREFIX, skip) != 0)
        return false;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    slash = strchr(text + skip, '/');
    if (!slash)
        return false;
    *slash = '\0';
    *list = um_list_find(text + skip);
    return um_decimal_parse(slash + 1, UINT64_MAX, epoch) &&
           um_list_name(*list);
}

static bool read_mark(umbel_slice value, umbel_sync_slice *out)
{
    um_reader r = {value.data, (const uint8_t *)value.data + value.len, false};

    out->version = um_get_u64(&r);
    out->first = um_get_u64(&r);
    out->end = um_get_u64(&r);
    return !r.bad;
}

static umbel_status write_mark(um_peers *p, um_store *store, umbel_slice name,
                               const umbel_sync_slice *m, umbel_error *err)
{
    uint8_t value[MARK_LEN];
    um_writer w = {value, value + sizeof value, false};

    um_write_u64(&w, m->version);
    um_write_u64(&w, m->first);
    um_write_u64(&w, m->end);
    return um_store_set(store, name, (umbel_slice){value, sizeof value},
                        p->clock->now, &p->publishing.ticket, err);
}

/* --- publishing ----------------------------------------------------------- */

/* An epoch that cannot be published counts here alone; each is named once. */
static void note_odd(um_peers *p, size_t list, uint64_t epoch,
                     const umbel_error *why)
{
    if (p->publishing.odd[list] > epoch)
        return;
    p->publishing.odd[list] = epoch + 1;
    um_log_event(p->log,
                 "peers: epoch %" PRIu64 " of list %s counts here alone: %s",
                 epoch, um_list_name(list), why->text);
}

/* Publishes pages of live epoch i of a list, and marks a new version. */
static void publish_slice(um_peers *p, um_store *store, size_t list, unsigned i,
                          uint64_t first, uint64_t end)
{
    const um_list *l = um_store_list(store, (unsigned)list);
    uint64_t epoch = um_list_epoch_number(l, i);
    char room[NAME_LEN];
    umbel_slice name = mark_name(list, epoch, room), value;
    umbel_sync_slice old = {0}, new;
    umbel_error err;
    umbel_status status = umbel_sync_publish_pages(
        p->machine, list, epoch, um_list_filter(l, i), first, end, &new, &err);

    if (status != UMBEL_OK) {
        p->publishing.refused = true;
        note_odd(p, list, epoch, &err);
        return;
    }
    if (um_store_get(store, name, &value))
        read_mark(value, &old);
    if (new.version == old.version)
        return;
    if (write_mark(p, store, name, &new, &err) != UMBEL_OK)
        p->publishing.unmarked = true;
    um_peers_want_all(p);
}

static unsigned live_epochs(const um_store *store, size_t list)
{
    return um_list_epochs(um_store_list(store, (unsigned)list));
}

static uint64_t epoch_at(const um_store *store, size_t list, unsigned i)
{
    return um_list_epoch_number(um_store_list(store, (unsigned)list), i);
}

/* The machine has no filters of that epoch any more. */
static bool is_over(const um_peers *p, size_t list, uint64_t epoch)
{
    return epoch + p->opened->list[list].epochs <=
           umbel_sync_epoch(p->machine, list);
}

/* A restored backup would make versions that others know with other contents:
 * before the first pass some peer says what it has, if one can be reached. */
static bool must_wait(um_peers *p)
{
    um_publishing *g = &p->publishing;
    umbel_sync_peer_stats stats;
    bool known = false, ahead = false;

    for (size_t i = 0; g->restored && i < p->nremotes; i++) {
        if (!p->remote[i]->up)
            continue;
        umbel_sync_peer_stats_get(p->machine, p->remote[i]->number, &stats);
        known |= stats.known;
        ahead |= stats.ahead; /* a renewal follows what it is sending */
    }
    if ((known && !ahead) || !p->nremotes ||
        um_clock_ms(p->clock) >= p->clock->started + PATIENCE_MS)
        g->restored = false;
    return g->restored;
}

static uint64_t changes_of(const um_store *store, size_t list)
{
    return um_list_changes(um_store_list(store, (unsigned)list));
}

static bool is_published(const um_peers *p, const um_store *store, size_t list)
{
    return changes_of(store, list) + 1 == p->publishing.whole[list];
}

/* Notes what a pass begins with. */
static void begin_list(um_peers *p, const um_store *store, size_t list)
{
    p->publishing.begun = changes_of(store, list);
    p->publishing.latest = p->latest.n;
    p->publishing.mails = p->mails.n;
    p->publishing.refused = false;
}

/* All that the list had then is published, unless some of it was refused. */
static void note_whole(um_peers *p, size_t list)
{
    um_publishing *g = &p->publishing;

    g->whole[list] = g->refused ? 0 : g->begun + 1;
    if (!g->refused) {
        um_latest_published(p, list, g->latest);
        p->mails.published[list] = g->mails;
    }
    g->refused = false;
}

static void publish_list(um_peers *p, um_store *store, size_t list)
{
    begin_list(p, store, list);
    for (unsigned i = 0; i < live_epochs(store, list); i++)
        if (!is_over(p, list, epoch_at(store, list, i)))
            publish_slice(p, store, list, i, 0,
                          umbel_sync_pages(p->machine, list));
    note_whole(p, list);
}

bool um_peers_counts_alone(const um_peers *p, size_t list)
{
    const um_store *store = p->store;
    unsigned oldest = live_epochs(store, list);

    return oldest &&
           p->publishing.odd[list] > epoch_at(store, list, oldest - 1);
}

uint64_t um_peers_agreement(const um_peers *p, size_t list)
{
    uint64_t word = umbel_sync_agreement(p->machine, list);
    uint64_t revoke = p->config->peers.revoke_quorum;

    /* The machine has the log, and not how many have to say the same. */
    if (revoke > 1)
        word = um_xxh3_any(&word, sizeof word, revoke);
    if (is_published(p, p->store, list) && !um_peers_counts_alone(p, list))
        return word;
    return um_xxh3_any(p->keys.origin, sizeof p->keys.origin,
                       word + changes_of(p->store, list));
}

/* All versions have a mark then, whatever failed before. */
static void before_snapshot(void *ctx, um_store *store)
{
    um_peers *p = ctx;

    if (!p->machine || p->renewed || p->closing)
        return;
    if (p->publishing.unmarked)
        memset(p->publishing.whole, 0, sizeof p->publishing.whole);
    p->publishing.unmarked = false;
    for (size_t list = 0; um_list_name(list); list++)
        if (!is_published(p, store, list))
            publish_list(p, store, list);
}

/* A version that has some pages of an epoch may not look like its keys: peers
 * get the one at its end, unless that takes long. */
static bool is_midway(const um_peers *p)
{
    const um_publishing *g = &p->publishing;

    return g->running && g->page &&
           um_clock_ms(p->clock) - g->first < MIDWAY_MS;
}

bool um_publish_holds(const um_peers *p)
{
    const um_publishing *g = &p->publishing;

    return p->renewed || g->unmarked || is_midway(p) ||
           um_store_committed(p->store) < g->ticket;
}

/* --- passes --------------------------------------------------------------- */

/* Goes on to the next list; false: the pass is over. */
static bool next_list(um_peers *p)
{
    um_publishing *g = &p->publishing;

    do
        g->list++;
    while (um_list_name(g->list) && is_published(p, p->store, g->list));
    if (!um_list_name(g->list)) {
        g->ended = um_clock_ms(p->clock);
        return false;
    }
    begin_list(p, p->store, g->list);
    g->epoch = 0;
    g->page = 0;
    return true;
}

/* Goes on to the next epoch. */
static bool next_epoch(um_peers *p)
{
    um_publishing *g = &p->publishing;

    g->page = 0;
    if (++g->epoch < live_epochs(p->store, g->list))
        return true;
    note_whole(p, g->list);
    return next_list(p);
}

static void publish_next(um_peers *p)
{
    um_publishing *g = &p->publishing;
    um_store *store = p->store;
    uint64_t pages = umbel_sync_pages(p->machine, g->list);
    uint64_t end =
        g->page + SLICE_PAGES < pages ? g->page + SLICE_PAGES : pages;

    if (g->page == 0)
        g->first = um_clock_ms(p->clock);
    /* A list that was turned meanwhile may have fewer epochs. */
    if (g->epoch < live_epochs(store, g->list) &&
        !is_over(p, g->list, epoch_at(store, g->list, g->epoch)))
        publish_slice(p, store, g->list, g->epoch, g->page, end);
    else
        end = pages;
    g->page = end;
    if (end == pages)
        g->running = next_epoch(p);
}

static void begin_pass(um_peers *p)
{
    um_publishing *g = &p->publishing;
    uint64_t now = um_clock_ms(p->clock);

    if (now < g->due)
        return;
    g->due = now + p->config->peers.interval;
    g->list = SIZE_MAX; /* the first is next */
    g->running = next_list(p);
}

bool um_publish_beat(um_peers *p)
{
    um_publishing *g = &p->publishing;
    uint64_t end = um_clock_us() + SLICE_US;

    if (p->renewed || um_store_failure(p->store) || must_wait(p))
        return false;
    if (!g->running)
        begin_pass(p);
    while (g->running && um_clock_us() < end)
        publish_next(p);
    if (!g->running && g->asked) /* a snapshot waits for this */
        um_store_tick(p->store, p->clock->now);
    return g->running;
}

/* A snapshot publishes all that is left, so it comes right after a pass. */
static bool is_ready_for_snapshot(void *ctx)
{
    um_peers *p = ctx;
    um_publishing *g = &p->publishing;
    uint64_t now = um_clock_ms(p->clock);

    if (g->restored) /* what it would publish waits for peers, not for long */
        return false;
    if (!p->beat || p->renewed || p->closing)
        return true;
    if (!g->asked) {
        g->asked = now;
        g->due = now;
    }
    bool ready =
        (!g->running && g->ended >= g->asked) || now - g->asked >= SNAPSHOT_MS;
    if (ready)
        g->asked = 0;
    return ready;
}

/* The name is the store's own. */
static void forget_mark(um_peers *p, umbel_slice name)
{
    char room[NAME_LEN];

    memcpy(room, name.data, name.len);
    um_store_set(p->store, (umbel_slice){room, name.len},
                 (umbel_slice){NULL, 0}, p->clock->now, &p->publishing.ticket,
                 NULL);
}

void um_publish_forget(um_peers *p, size_t list)
{
    umbel_slice name, value;
    size_t of;
    uint64_t epoch;

    if (!p->store || um_store_failure(p->store))
        return;
    for (size_t at = 0; um_store_next(p->store, &at, &name, &value);)
        if (read_name(name, &of, &epoch) && of == list &&
            is_over(p, list, epoch)) {
            forget_mark(p, name);
            at = 0; /* notes have moved */
        }
}

/* --- starts --------------------------------------------------------------- */

static umbel_status apply_incarnation(um_peers *p, const um_list *const *lists,
                                      size_t nlists, umbel_slice value,
                                      umbel_error *err)
{
    um_reader r = {value.data, (const uint8_t *)value.data + value.len, false};
    uint64_t incarnation = um_get_u64(&r);
    size_t i = 0;

    while (i < nlists && !lists[i])
        i++;
    if (r.bad || !incarnation || i == nlists)
        return um_fail(err, UMBEL_E_FORMAT, "the note " LEADER " is damaged");
    p->mails.n = 0; /* what was not published is written again behind it */
    return um_peers_open_machine(p, incarnation, um_list_secret(lists[i]), err);
}

/* Makes the version of a mark again. What cannot be made is of an epoch that is
 * over, or has another shape by now. */
static void apply_mark(um_peers *p, const um_list *l, size_t list,
                       uint64_t epoch, const umbel_sync_slice *m)
{
    umbel_sync_slice made;
    unsigned i = 0, n = um_list_epochs(l);

    while (i < n && um_list_epoch_number(l, i) != epoch)
        i++;
    if (i == n)
        return;
    p->publishing.restored = true;
    /* The first mark of an epoch in a snapshot, which has all of it. */
    if (m->version > 1 &&
        umbel_sync_restore(p->machine, list, epoch, m->version,
                           um_list_filter(l, i), NULL) == UMBEL_OK)
        return;
    if (umbel_sync_publish_pages(p->machine, list, epoch, um_list_filter(l, i),
                                 m->first, m->end, &made, NULL))
        return;
    if (made.version != m->version)
        um_log_event(p->log,
                     "peers: version %" PRIu64 " of list %s, "
                     "epoch %" PRIu64 " became %" PRIu64,
                     m->version, um_list_name(list), epoch, made.version);
}

static umbel_status apply_note(void *ctx, const um_list *const *lists,
                               size_t nlists, umbel_slice name,
                               umbel_slice value, umbel_error *err)
{
    um_peers *p = ctx;
    size_t list;
    uint64_t epoch;
    umbel_sync_slice m;

    if (!value.data)
        return UMBEL_OK;
    if (name.len == strlen(LEADER) && memcmp(name.data, LEADER, name.len) == 0)
        return apply_incarnation(p, lists, nlists, value, err);
    if (p->machine && read_name(name, &list, &epoch) && list < nlists &&
        lists[list] && read_mark(value, &m))
        apply_mark(p, lists[list], list, epoch, &m);
    return UMBEL_OK;
}

um_store_observer um_peers_observer(um_peers *p)
{
    return p ? (um_store_observer){.reset_key = LEADER,
                                   .prefix = PREFIX,
                                   .on_value = apply_note,
                                   .before_snapshot = before_snapshot,
                                   .is_ready = is_ready_for_snapshot,
                                   .on_count = um_peers_counted,
                                   .on_mail = um_peers_written,
                                   .ctx = p}
             : (um_store_observer){.ctx = NULL};
}

/* A server that starts for the first time, or lost its disk: seconds are larger
 * than any incarnation before. */
static umbel_status begin_incarnation(um_peers *p, umbel_error *err)
{
    uint8_t number[8];
    umbel_slice name = {LEADER, strlen(LEADER)};

    um_store64(number, p->clock->now);
    UM_TRY(um_store_set(p->store, name, (umbel_slice){number, sizeof number},
                        p->clock->now, &p->publishing.ticket, err));
    return um_peers_open_machine(p, p->clock->now, um_store_secret(p->store),
                                 err);
}

umbel_status um_peers_begin(um_peers *p, um_store *store, umbel_error *err)
{
    if (!p)
        return UMBEL_OK;
    p->store = store;
    if (!p->machine)
        UM_TRY(begin_incarnation(p, err));
    for (size_t i = 0; um_list_name(i); i++)
        um_publish_forget(p, i);
    um_latest_settle(p);
    um_mails_settle(p);
    /* A process that was killed may have left marks that are not durable. */
    p->publishing.ticket = um_store_last_ticket(p->store);
    return UMBEL_OK;
}
