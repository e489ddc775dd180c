/*
 * publisher.c - publishes the changes of our own lists to peers.
 *
 * The sync engine has a replica of each live epoch as it was last published. A
 * pass compares the lists with it, some pages at a time, and publishes what
 * changed as a new version. For each version the store gets a publish marker:
 * list and epoch, version, and the range of pages that changed. Markers are in
 * the journal, in order with the counts, so that a restart creates the same
 * versions again and compares only these pages. Peers get a version after its
 * marker is committed.
 *
 * Before a snapshot everything is published, so the lists in it are the last
 * versions.
 */
#include "clearinghouse/peering/internal.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hash.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICE_PAGES = 16, /* if all of them changed, publishing takes about ... */
    SLICE_US = 200,   /* ... as long as one beat may */
    PATIENCE_MS = 30000, /* wait after a start for peers' versions */
    MIDWAY_MS = 1000,    /* an epoch in progress is held back this long */
    SNAPSHOT_MS = 5000,  /* a snapshot waits at most this long for a pass */
    NAME_LEN = 96,
    MARKER_LEN = 24
};

#define PREFIX "published/"
#define LEADER "peers/incarnation"

/* --- publish markers ------------------------------------------------------ */

static umbel_slice marker_name(size_t list, uint64_t epoch, char out[NAME_LEN])
{
    int len = snprintf(out, NAME_LEN, PREFIX "%s/%" PRIu64, um_list_name(list),
                       epoch);

    return (umbel_slice){out, (size_t)len};
}

/* Parses "published/LIST/EPOCH"; false if the name is something else. */
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

static bool read_marker(umbel_slice value, umbel_sync_slice *out)
{
    um_reader r = {value.data, (const uint8_t *)value.data + value.len, false};

    out->version = um_get_u64(&r);
    out->first = um_get_u64(&r);
    out->end = um_get_u64(&r);
    return !r.bad;
}

static umbel_status write_marker(um_peers *p, um_store *store, umbel_slice name,
                                 const umbel_sync_slice *m, umbel_error *err)
{
    uint8_t value[MARKER_LEN];
    um_writer w = {value, value + sizeof value, false};

    um_write_u64(&w, m->version);
    um_write_u64(&w, m->first);
    um_write_u64(&w, m->end);
    return um_store_set(store, name, (umbel_slice){value, sizeof value},
                        p->clock->now, &p->publishing.ticket, err);
}

/* --- publishing ----------------------------------------------------------- */

/* Logs, once each, an epoch that cannot be published: it counts only here. */
static void log_unpublishable(um_peers *p, size_t list, uint64_t epoch,
                              const umbel_error *why)
{
    if (p->publishing.odd[list] > epoch)
        return;
    p->publishing.odd[list] = epoch + 1;
    um_log_event(p->log,
                 "peers: epoch %" PRIu64
                 " of list %s counts only on this server: %s",
                 epoch, um_list_name(list), why->text);
}

/* Publishes pages of live epoch i of a list, and writes a marker for a new
 * version. */
static void publish_slice(um_peers *p, um_store *store, size_t list, unsigned i,
                          uint64_t first, uint64_t end)
{
    const um_list *l = um_store_list(store, (unsigned)list);
    uint64_t epoch = um_list_epoch_number(l, i);
    char room[NAME_LEN];
    umbel_slice name = marker_name(list, epoch, room), value;
    umbel_sync_slice old = {0}, new;
    umbel_error err;
    umbel_status status = umbel_sync_publish_pages(
        p->machine, list, epoch, um_list_filter(l, i), first, end, &new, &err);

    if (status != UMBEL_OK) {
        p->publishing.refused = true;
        log_unpublishable(p, list, epoch, &err);
        return;
    }
    if (um_store_get(store, name, &value))
        read_marker(value, &old);
    if (new.version == old.version)
        return;
    if (write_marker(p, store, name, &new, &err) != UMBEL_OK)
        p->publishing.lacks_marker = true;
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

/* Returns true if the engine no longer has filters of that epoch. */
static bool is_over(const um_peers *p, size_t list, uint64_t epoch)
{
    return epoch + p->opened->list[list].epochs <=
           umbel_sync_epoch(p->machine, list);
}

/* Returns true if filter i of a list is not exchanged: an extra one, of which
 * peers know nothing, or one whose epoch the engine no longer has. */
static bool is_private(const um_peers *p, const um_store *store, size_t list,
                       unsigned i)
{
    return um_list_is_extra(um_store_list(store, (unsigned)list), i) ||
           is_over(p, list, epoch_at(store, list, i));
}

/* Returns true while the first pass must wait until a peer has announced its
 * versions, if one can be reached. A restored backup would otherwise create
 * versions that peers know with different contents. */
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
        ahead |=
            stats.ahead; /* it will send them; then a new incarnation begins */
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

/* Records the state of a list at the start of a pass. */
static void begin_list(um_peers *p, const um_store *store, size_t list)
{
    p->publishing.begun = changes_of(store, list);
    p->publishing.latest = p->latest.n;
    p->publishing.mails = p->mails.n;
    p->publishing.refused = false;
}

/* Records that this state is published, unless some of it was refused. */
static void record_published(um_peers *p, size_t list)
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
        if (!is_private(p, store, list, i))
            publish_slice(p, store, list, i, 0,
                          umbel_sync_pages(p->machine, list));
    record_published(p, list);
}

bool um_peers_counts_alone(const um_peers *p, size_t list)
{
    const um_store *store = p->store;
    unsigned oldest = live_epochs(store, list);

    return oldest &&
           p->publishing.odd[list] > epoch_at(store, list, oldest - 1);
}

static bool has_extra(const um_store *store, size_t list)
{
    return um_list_extra_bytes(um_store_list(store, (unsigned)list)) != 0;
}

uint64_t um_peers_agreement(const um_peers *p, size_t list)
{
    uint64_t word = umbel_sync_agreement(p->machine, list);
    uint64_t revoke = p->config->peers.revoke_quorum;

    /* The engine knows the log, but not the quorum of revocations. */
    if (revoke > 1)
        word = um_xxh3_any(&word, sizeof word, revoke);
    if (is_published(p, p->store, list) && !um_peers_counts_alone(p, list) &&
        !has_extra(p->store, list))
        return word;
    return um_xxh3_any(p->keys.origin, sizeof p->keys.origin,
                       word + changes_of(p->store, list));
}

/* Publishes everything, so that all versions have a marker. */
static void before_snapshot(void *ctx, um_store *store)
{
    um_peers *p = ctx;

    if (!p->machine || p->renewed || p->closing)
        return;
    if (p->publishing.lacks_marker)
        memset(p->publishing.whole, 0, sizeof p->publishing.whole);
    p->publishing.lacks_marker = false;
    for (size_t list = 0; um_list_name(list); list++)
        if (!is_published(p, store, list))
            publish_list(p, store, list);
}

/* Returns true in the middle of an epoch. Peers may refuse a version with only
 * some of its pages, so the complete one is sent unless that takes long. */
static bool is_midway(const um_peers *p)
{
    const um_publishing *g = &p->publishing;

    return g->running && g->page &&
           um_clock_ms(p->clock) - g->first < MIDWAY_MS;
}

bool um_publish_holds(const um_peers *p)
{
    const um_publishing *g = &p->publishing;

    return p->renewed || g->lacks_marker || is_midway(p) ||
           um_store_committed(p->store) < g->ticket;
}

/* --- passes --------------------------------------------------------------- */

/* Moves on to the next list; false if the pass is over. */
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

/* Moves on to the next epoch. */
static bool next_epoch(um_peers *p)
{
    um_publishing *g = &p->publishing;

    g->page = 0;
    if (++g->epoch < live_epochs(p->store, g->list))
        return true;
    record_published(p, g->list);
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
    /* A list that was rotated meanwhile may have fewer epochs. */
    if (g->epoch < live_epochs(store, g->list) &&
        !is_private(p, store, g->list, g->epoch))
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

/* Removes a marker. The name is in the store's memory, so it is copied. */
static void remove_marker(um_peers *p, umbel_slice name)
{
    char room[NAME_LEN];

    memcpy(room, name.data, name.len);
    um_store_set(p->store, (umbel_slice){room, name.len},
                 (umbel_slice){NULL, 0}, p->clock->now, &p->publishing.ticket,
                 NULL);
}

/* Removes markers of epochs of a list that are over. */
static void remove_markers(um_peers *p, size_t list)
{
    umbel_slice name, value;
    size_t of;
    uint64_t epoch;

    if (!p->store || um_store_failure(p->store))
        return;
    for (size_t at = 0; um_store_next(p->store, &at, &name, &value);)
        if (read_name(name, &of, &epoch) && of == list &&
            is_over(p, list, epoch)) {
            remove_marker(p, name);
            at = 0; /* records have moved */
        }
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
    if (!g->running && g->asked) /* a snapshot waits for the pass */
        um_store_tick(p->store, p->clock->now);
    return g->running;
}

/* Returns true right after a pass, when little is left for the snapshot to
 * publish. */
static bool is_ready_for_snapshot(void *ctx)
{
    um_peers *p = ctx;
    um_publishing *g = &p->publishing;
    uint64_t now = um_clock_ms(p->clock);

    if (g->restored) /* publishing waits for peers, for a short time */
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
        return um_fail(err, UMBEL_E_FORMAT, "the record " LEADER " is damaged");
    p->mails.n = 0; /* unpublished mails follow in the journal */
    return um_peers_open_machine(p, incarnation, um_list_secret(lists[i]), err);
}

/* Recreates the version of a marker. This fails for an epoch that is over, or
 * whose shape has changed. */
static void apply_marker(um_peers *p, const um_list *l, size_t list,
                         uint64_t epoch, const umbel_sync_slice *m)
{
    umbel_sync_slice made;
    unsigned i = 0, n = um_list_epochs(l);

    while (i < n &&
           (um_list_epoch_number(l, i) != epoch || um_list_is_extra(l, i)))
        i++;
    if (i == n)
        return;
    p->publishing.restored = true;
    /* The first marker of an epoch in a snapshot covers all of it. */
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

static umbel_status apply_record(void *ctx, const um_list *const *lists,
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
        lists[list] && read_marker(value, &m))
        apply_marker(p, lists[list], list, epoch, &m);
    return UMBEL_OK;
}

um_store_observer um_peers_observer(um_peers *p)
{
    return p ? (um_store_observer){.reset_key = LEADER,
                                   .prefix = PREFIX,
                                   .on_value = apply_record,
                                   .before_snapshot = before_snapshot,
                                   .is_ready = is_ready_for_snapshot,
                                   .on_count = um_peers_counted,
                                   .on_mail = um_peers_written,
                                   .ctx = p}
             : (um_store_observer){.ctx = NULL};
}

/* Starts the first incarnation of a server that is new or lost its disk. The
 * current time is larger than any earlier incarnation. */
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
        remove_markers(p, i);
    um_latest_prune(p);
    um_mails_prune(p);
    /* A process that was killed may have left markers that are not durable. */
    p->publishing.ticket = um_store_last_ticket(p->store);
    return UMBEL_OK;
}

/* --- a new incarnation ---------------------------------------------------- */

/* Counts unpublished entries again, in the block of the new incarnation as far
 * as they fit: after a crash both are there, or neither. */
static umbel_status count_again(um_peers *p, const um_entry *e, size_t n,
                                umbel_error *err)
{
    for (size_t i = 0; i < UM_MAX_LISTS; i++)
        um_latest_published(p, i, p->latest.n);
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < UM_STORE_BATCH ? n - i : UM_STORE_BATCH;
        UM_TRY(um_store_add(p->store, e + i, some, p->clock->now,
                            &p->publishing.ticket, err));
    }
    return UMBEL_OK;
}

/* Copies of the writes that no replica contains. */
typedef struct unpublished_writes {
    um_entry *entry;
    um_latest_mail *mail;
    size_t entries, mails;
} unpublished_writes;

static umbel_status renew_store(um_peers *p, const unpublished_writes *u)
{
    uint8_t number[8];
    umbel_error err;

    um_store64(number, umbel_sync_incarnation(p->machine));
    UM_TRY(um_store_reset(p->store, (umbel_slice){number, sizeof number},
                          p->clock->now, &p->publishing.ticket, NULL));
    if (count_again(p, u->entry, u->entries, &err) != UMBEL_OK)
        um_log_event(p->log,
                     "peers: some of %zu unpublished counts are lost: %s",
                     u->entries, err.text);
    if (um_mails_write_again(p, u->mail, u->mails, &err) != UMBEL_OK)
        um_log_event(p->log,
                     "peers: some of %zu unpublished mails are lost: %s",
                     u->mails, err.text);
    return UMBEL_OK;
}

static void log_lost_counts(um_peers *p, const uint64_t lost[UM_MAX_LISTS])
{
    for (unsigned i = 0; um_list_name(i); i++)
        if (lost[i])
            um_log_event(p->log,
                         "peers: list %s: up to %" PRIu64
                         " counts that no peer had yet are lost: this server "
                         "remembers the last %zu of all lists; report again "
                         "what came since the last exchange with a peer",
                         um_list_name(i), lost[i], p->latest.cap);
}

/*
 * Continues as a new incarnation. The contents of the lists are in replicas
 * now, which must be on disk before the lists are emptied, so that a kill in
 * between loses nothing. The server waits for the disk; this happens once after
 * a backup was restored.
 */
void um_peers_renew(um_peers *p)
{
    unpublished_writes u = {.entries = 0};
    uint64_t lost = um_mails_lost(p), counts[UM_MAX_LISTS];

    memcpy(counts, p->latest.lost, sizeof counts);
    u.entry = um_latest_unpublished(&p->latest, &u.entries);
    u.mail = um_mails_unpublished(p, &u.mails);
    bool renewed = u.entry && u.mail &&
                   um_replica_store_save(p->replicas, NULL) == UMBEL_OK &&
                   renew_store(p, &u) == UMBEL_OK;

    free(u.entry);
    free(u.mail);
    if (!renewed)
        return; /* no disk or no memory: tried again in the next iteration */
    log_lost_counts(p, counts);
    if (lost)
        um_log_event(p->log,
                     "peers: list fuzzy: up to %" PRIu64
                     " mails that no peer had yet are lost: write or delete "
                     "again what came since the last exchange with a peer",
                     lost);
    p->renewed = p->publishing.running = p->publishing.lacks_marker = false;
    p->publishing.restored = false;
    p->logged = 0;
    um_peers_want_all(p);
}
