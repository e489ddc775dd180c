/*
 * publish_markers.c - versions published to peers are the same after any crash.
 *
 *     test_store publish_markers [CRASHES]     number for the long test
 *
 * A substitute for the machine of umbel/experimental/sync.h has a replica of
 * each live epoch. It publishes some pages at a time as a new version, with a
 * marker in the store. At a start it recomputes its replicas from the reported
 * markers. Every version must have the checksum that it had before the crash,
 * and no committed version may be missing.
 */
#include "support/sim_disk.h"
#include "support/test.h"

#include "base/hash.h"
#include "filter/envelope.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    T0 = 1000000,
    LISTS = 2,
    EPOCHS = 3,
    PAGE = 64,
    KEYS = 40,
    COPIES = 16,
    CHAIN = 40, /* crashes per disk */
    BOOK = 1 << 16,
    WAITING = 4096
};

static uint64_t crashes = 160;

static const um_list_config lists[LISTS] = {{.name = "a",
                                             .kind = "table",
                                             .capacity = 30,
                                             .error = 1e-9,
                                             .epoch_seconds = 300,
                                             .epochs = EPOCHS,
                                             .hold = true,
                                             .threshold = 3,
                                             .recent_column = 1},
                                            {.name = "b",
                                             .kind = "counting",
                                             .addressing = "classic",
                                             .refined = true,
                                             .capacity = 50,
                                             .error = 1e-6,
                                             .epoch_seconds = 450,
                                             .epochs = EPOCHS,
                                             .hold = true}};

typedef struct copy {
    bool used;
    unsigned list;
    uint64_t epoch, version;
    uint64_t committed; /* its last committed version; survives a crash */
    uint64_t replayed;  /* committed with the last replayed one */
    size_t len;
    uint8_t *bytes;
} copy;

/* The checksum of a version when it was last created. */
typedef struct line {
    uint64_t key, sum;
    bool given; /* a peer may know it */
} line;

typedef struct waiting {
    uint64_t ticket, incarnation, version, epoch;
    unsigned list;
} waiting;

typedef struct world {
    sim_disk *disk;
    um_store *store;
    uint64_t now, incarnation, committed_incarnation;
    copy copy[COPIES];
    copy before[COPIES]; /* before the crash; without bytes */
    line book[BOOK];
    waiting wait[WAITING];
    size_t n;
    unsigned shown;
    uint64_t start_ticket; /* of the replay; 0: already committed */
    uint64_t versions, replayed, renewals, snapshots, refused;
    char wrong[160];
} world;

__attribute__((format(printf, 2, 3))) static void
complain(world *w, const char *format, ...)
{
    va_list args;

    if (*w->wrong)
        return;
    va_start(args, format);
    vsnprintf(w->wrong, sizeof w->wrong, format, args);
    va_end(args);
}

/* --- versions ------------------------------------------------------------ */

static line *find_line(world *w, uint64_t incarnation, unsigned list,
                       uint64_t epoch, uint64_t version)
{
    uint64_t key =
        um_remix(incarnation ^
                 um_remix(epoch ^ um_remix(version ^ um_remix(list + 1)))) |
        1;
    size_t i = key % BOOK;

    while (w->book[i].key && w->book[i].key != key)
        i = (i + 1) % BOOK;
    w->book[i].key = key;
    return &w->book[i];
}

static line *line_of(world *w, const copy *c)
{
    return find_line(w, w->incarnation, c->list, c->epoch, c->version);
}

static copy *find_copy(world *w, unsigned list, uint64_t epoch, size_t len)
{
    copy *unused = NULL;

    for (size_t i = 0; i < COPIES; i++) {
        copy *c = &w->copy[i];
        if (c->used && c->list == list && c->epoch == epoch)
            return c;
        if (!c->used)
            unused = c;
    }
    if (!len)
        return NULL;
    assert_non_null(unused);
    *unused = (copy){.used = true,
                     .list = list,
                     .epoch = epoch,
                     .len = len,
                     .bytes = calloc(1, len)};
    assert_non_null(unused->bytes);
    return unused;
}

static void drop_copy(copy *c)
{
    free(c->bytes);
    *c = (copy){.used = false};
}

static void drop_copies(world *w)
{
    for (size_t i = 0; i < COPIES; i++)
        drop_copy(&w->copy[i]);
}

static const umbel_filter *live_filter(const um_list *l, uint64_t epoch)
{
    for (unsigned i = 0; i < um_list_epochs(l); i++)
        if (um_list_epoch_number(l, i) == epoch)
            return um_list_filter(l, i);
    return NULL;
}

/* A marker: the version, and the range of bytes that it published. */
typedef struct marker {
    uint64_t version, from, to;
} marker;

static umbel_slice name_of(char out[40], unsigned list, uint64_t epoch)
{
    int len = snprintf(out, 40, "published/%u/%" PRIu64, list, epoch);
    return (umbel_slice){out, (size_t)len};
}

/*
 * Publishes bytes. The marker is stored first: if it is refused, nothing is
 * published.
 */
static void publish(world *w, um_store *s, unsigned list, unsigned i,
                    uint64_t from, uint64_t to)
{
    const um_list *l = um_store_list(s, list);
    const umbel_filter *f = um_list_filter(l, i);
    copy *c = find_copy(w, list, um_list_epoch_number(l, i), f->payload_len);
    marker m = {c->version + 1, from, to < c->len ? to : c->len};
    char name[40];
    uint64_t ticket;

    if (m.from >= m.to ||
        memcmp(c->bytes + from, f->payload + from, m.to - from) == 0)
        return;
    if (um_store_set(s, name_of(name, list, c->epoch),
                     (umbel_slice){&m, sizeof m}, w->now, &ticket,
                     NULL) != UMBEL_OK) {
        w->refused++;
        return;
    }
    memcpy(c->bytes + from, f->payload + from, m.to - from);
    c->version++;
    w->versions++;
    line *made = line_of(w, c);
    uint64_t sum = um_checksum(c->bytes, c->len);
    if (made->given && made->sum != sum)
        complain(w, "a second version %" PRIu64, c->version);
    made->sum = sum;
    if (w->n < WAITING)
        w->wait[w->n++] =
            (waiting){ticket, w->incarnation, c->version, c->epoch, list};
}

static void drop_expired(world *w, um_store *s)
{
    for (size_t i = 0; i < COPIES; i++) {
        copy *c = &w->copy[i];
        char name[40];
        uint64_t ticket;
        if (!c->used || live_filter(um_store_list(s, c->list), c->epoch))
            continue;
        umbel_status status =
            um_store_set(s, name_of(name, c->list, c->epoch),
                         (umbel_slice){NULL, 0}, w->now, &ticket, NULL);
        if (status == UMBEL_OK || status == UMBEL_E_UNKNOWN)
            drop_copy(c);
    }
}

/* --- callbacks from the store --------------------------------------------- */

static void publish_all(void *ctx, um_store *s)
{
    world *w = ctx;
    uint64_t refused = w->refused;

    w->snapshots++;
    drop_expired(w, s);
    for (unsigned list = 0; list < LISTS; list++) {
        const um_list *l = um_store_list(s, list);
        for (unsigned i = 0; i < um_list_epochs(l); i++) {
            size_t len = um_list_filter(l, i)->payload_len;
            uint64_t part = PAGE * sim_below(w->disk, len / PAGE);
            publish(w, s, list, i, 0, part);
            publish(w, s, list, i, part, len);
        }
    }
    if (w->refused != refused)
        complain(w, "a marker before a snapshot was refused");
}

static void show_leader(world *w, const um_list *const *l, umbel_slice value)
{
    char text[32];

    snprintf(text, sizeof text, "%.*s", (int)value.len,
             (const char *)value.data);
    w->incarnation = strtoull(text, NULL, 10);
    for (unsigned i = 0; i < LISTS && w->shown; i++) {
        if (um_list_epochs(l[i]) != 1 || umbel_added(um_list_filter(l[i], 0)))
            complain(w, "a reset left something in list %u", i);
    }
    for (size_t i = 0; i < COPIES && w->shown; i++)
        if (w->copy[i].used)
            complain(w, "a reset left a marker");
    drop_copies(w);
}

/*
 * Applies a marker. The first marker of a replica that has versions already is
 * from a snapshot.
 */
static void show_marker(world *w, const umbel_filter *f, copy *c,
                        const marker *m)
{
    bool whole = c->version == 0 && m->version > 1;

    if (!whole && m->version != c->version + 1)
        complain(w, "version %" PRIu64 " after %" PRIu64, m->version,
                 c->version);
    if (whole)
        memcpy(c->bytes, f->payload, c->len);
    else
        memcpy(c->bytes + m->from, f->payload + m->from, m->to - m->from);
    c->version = m->version;
    if (line_of(w, c)->sum != um_checksum(c->bytes, c->len))
        complain(w, "list %u, epoch %" PRIu64 ", another version %" PRIu64,
                 c->list, c->epoch, c->version);
    w->replayed++;
}

static umbel_status show(void *ctx, const um_list *const *l, size_t nlists,
                         umbel_slice name, umbel_slice value, umbel_error *err)
{
    world *w = ctx;
    char text[64];
    unsigned list;
    uint64_t epoch;
    marker m;

    (void)err;
    assert_int_equal(nlists, LISTS);
    snprintf(text, sizeof text, "%.*s", (int)name.len, (const char *)name.data);
    if (strcmp(text, "peers/incarnation") == 0) {
        show_leader(w, l, value);
    } else {
        assert_int_equal(sscanf(text, "published/%u/%" SCNu64, &list, &epoch),
                         2);
        const umbel_filter *f = live_filter(l[list], epoch);
        copy *c = find_copy(w, list, epoch, f ? f->payload_len : 0);
        if (!value.data && c) {
            drop_copy(c);
        } else if (!f || !value.data) {
            complain(w, "a marker of an epoch that is not there");
        } else {
            memcpy(&m, value.data, sizeof m);
            show_marker(w, f, c, &m);
        }
    }
    w->shown++;
    return UMBEL_OK;
}

/* --- events -------------------------------------------------------------- */

static umbel_digest digest_of(uint64_t incarnation, uint64_t key)
{
    uint64_t both = incarnation << 8 | key;
    return (umbel_digest){um_remix(both), um_remix(~both)};
}

static void report(world *w)
{
    um_entry e[4];
    size_t n = 1 + (size_t)sim_below(w->disk, 4);
    uint64_t ticket;

    for (size_t i = 0; i < n; i++)
        e[i] = (um_entry){(unsigned)sim_below(w->disk, LISTS), 1,
                          digest_of(w->incarnation, sim_below(w->disk, KEYS)),
                          0, 0};
    umbel_status status = um_store_add(w->store, e, n, w->now, &ticket, NULL);
    if (status != UMBEL_OK && status != UMBEL_E_FULL &&
        !um_store_failure(w->store))
        complain(w, "a report was refused");
}

static void publish_some(world *w)
{
    unsigned list = (unsigned)sim_below(w->disk, LISTS);
    const um_list *l = um_store_list(w->store, list);
    unsigned i = (unsigned)sim_below(w->disk, um_list_epochs(l));
    size_t len = um_list_filter(l, i)->payload_len;
    uint64_t from = PAGE * sim_below(w->disk, len / PAGE);
    publish(w, w->store, list, i, from,
            from + PAGE * (1 + sim_below(w->disk, 8)));
}

static void acknowledge(world *w)
{
    uint64_t committed = um_store_committed(w->store);
    size_t i;

    for (i = 0; i < w->n && w->wait[i].ticket <= committed; i++) {
        const waiting *v = &w->wait[i];
        if (v->version == 0) { /* a reset */
            w->committed_incarnation = v->incarnation;
            continue;
        }
        find_line(w, v->incarnation, v->list, v->epoch, v->version)->given =
            true;
        copy *c = find_copy(w, v->list, v->epoch, 0);
        if (c && v->incarnation == w->incarnation)
            c->committed = v->version;
    }
    memmove(w->wait, w->wait + i, (w->n - i) * sizeof *w->wait);
    w->n -= i;
    if (committed < w->start_ticket)
        return;
    for (i = 0; i < COPIES; i++)
        if (w->copy[i].replayed > w->copy[i].committed)
            w->copy[i].committed = w->copy[i].replayed;
}

static void reset(world *w)
{
    char text[32];
    uint64_t ticket;
    int len = snprintf(text, sizeof text, "%" PRIu64, w->incarnation + 1);

    if (um_store_reset(w->store, (umbel_slice){text, (size_t)len}, w->now,
                       &ticket, NULL) != UMBEL_OK)
        return;
    w->incarnation++;
    w->renewals++;
    drop_copies(w);
    if (w->n < WAITING)
        w->wait[w->n++] = (waiting){ticket, w->incarnation, 0, 0, 0};
}

static void step(world *w)
{
    switch (sim_below(w->disk, 10)) {
    case 0:
    case 1:
    case 2:
        report(w);
        break;
    case 3:
    case 4:
        publish_some(w);
        break;
    case 5:
        um_store_flush(w->store, NULL);
        acknowledge(w);
        break;
    case 6:
        w->now += sim_below(w->disk, 12);
        w->now -= sim_below(w->disk, 40) == 0 ? 50 : 0; /* set back */
        break;
    case 7:
        if (sim_below(w->disk, 16) == 0)
            um_store_request_snapshot(w->store);
        else if (sim_below(w->disk, 48) == 0)
            reset(w);
        break;
    case 8:
        drop_expired(w, w->store);
        break;
    default:
        um_store_tick(w->store, w->now);
        acknowledge(w);
    }
}

static bool start(world *w)
{
    static const uint8_t secret[UMBEL_SECRET_LEN] = "store's secret.";
    um_store_config c = {.disk = sim_ops(w->disk),
                         .secret_bytes = secret,
                         .durability = UM_DURABILITY_ALWAYS,
                         .lists = lists,
                         .nlists = LISTS,
                         .recent = 64,
                         .journal_bytes = 8000,
                         .observer = {.reset_key = "peers/incarnation",
                                      .prefix = "published/",
                                      .on_value = show,
                                      .before_snapshot = publish_all,
                                      .ctx = w}};
    umbel_error err;
    uint64_t ticket;

    drop_copies(w);
    w->shown = 0;
    w->incarnation = 0;
    if (um_store_open(&c, w->now, &w->store, &err) != UMBEL_OK) {
        w->store = NULL;
        if (!sim_is_off(w->disk))
            complain(w, "refused: %.100s", err.text);
        return false;
    }
    if (w->incarnation == 0) {
        w->incarnation = 1;
        um_store_set(
            w->store,
            (umbel_slice){c.observer.reset_key, strlen(c.observer.reset_key)},
            (umbel_slice){"1", 1}, w->now, &ticket, NULL);
    }
    return true;
}

static void stop(world *w, bool power)
{
    if (!sim_is_off(w->disk))
        sim_off(w->disk, power);
    um_store_close(w->store);
    w->store = NULL;
    w->n = 0;
    sim_power_on(w->disk);
}

/* --- crashes ------------------------------------------------------------- */

static void check_versions(world *w)
{
    for (size_t i = 0; i < COPIES; i++) {
        const copy *b = &w->before[i];
        if (!b->used || !b->committed ||
            !live_filter(um_store_list(w->store, b->list), b->epoch))
            continue;
        const copy *c = find_copy(w, b->list, b->epoch, 0);
        if (!c || c->version < b->committed)
            complain(w, "version %" PRIu64 " of list %u is lost", b->committed,
                     b->list);
    }
}

/* Checks that a reset is complete or has no effect. */
static void check_renewal(world *w)
{
    for (unsigned list = 0; list < LISTS; list++)
        for (uint64_t key = 0; key < KEYS; key++) {
            umbel_digest d[] = {digest_of(w->incarnation - 1, key),
                                digest_of(w->incarnation + 1, key)};
            uint64_t count[2];
            um_store_count(w->store, list, d, 2, count);
            if (count[0] || count[1])
                complain(w, "half of a reset");
        }
    if (w->incarnation < w->committed_incarnation)
        complain(w, "a reset is lost");
}

static void crash(world *w, bool power)
{
    uint64_t incarnation = w->incarnation;

    memcpy(w->before, w->copy, sizeof w->before);
    do {
        stop(w, power);
        if (power && sim_below(w->disk, 4) == 0)
            sim_cut_after(w->disk, 1 + sim_below(w->disk, 25));
    } while (!start(w) && !*w->wrong);
    sim_cut_after(w->disk, 0);
    if (*w->wrong)
        return;
    if (w->incarnation == incarnation)
        check_versions(w);
    for (size_t i = 0; i < COPIES; i++)
        w->copy[i].replayed = w->copy[i].version;
    w->start_ticket = um_store_last_ticket(w->store);
    check_renewal(w);
}

static void live_and_crash(world *w)
{
    bool power = sim_below(w->disk, 3) > 0, errors = sim_below(w->disk, 4) == 0;

    if (power)
        sim_cut_after(w->disk, 1 + sim_below(w->disk, 400));
    for (uint64_t n = sim_below(w->disk, 300); !sim_is_off(w->disk) && n > 0;
         n--) {
        sim_fail(w->disk, errors && n > 100 && n < 150 ? 10 : 0);
        step(w);
        w->now += um_store_failure(w->store) != NULL;
    }
    sim_fail(w->disk, 0);
    crash(w, power);
}

static void versions_are_the_same_after_any_crash(void **state)
{
    (void)state;
    uint64_t seen = 0, versions = 0, replayed = 0, renewals = 0, snapshots = 0;

    for (uint64_t seed = 1; seen < crashes; seed++) {
        world *w = calloc(1, sizeof *w);
        assert_non_null(w);
        w->disk = sim_open(seed);
        w->now = T0;
        assert_true(start(w));
        for (int i = 0; i < CHAIN && !*w->wrong; i++)
            live_and_crash(w);
        if (*w->wrong)
            fail_msg("seed %" PRIu64 ": %s", seed, w->wrong);
        sim_stats st = sim_stats_of(w->disk);
        seen += st.cuts + st.kills;
        versions += w->versions;
        replayed += w->replayed;
        renewals += w->renewals;
        snapshots += w->snapshots;
        drop_copies(w);
        um_store_close(w->store);
        sim_close(w->disk);
        free(w);
    }
    print_message("%" PRIu64 " crashes, %" PRIu64 " versions, %" PRIu64
                  " replayed, %" PRIu64 " renewals, %" PRIu64 " snapshots\n",
                  seen, versions, replayed, renewals, snapshots);
    assert_true(versions > seen && replayed > seen && renewals > seen / 40 &&
                snapshots > seen / 20);
}

static void report_some(world *w)
{
    um_store_tick(w->store, w->now);
    for (int i = 0; i < 5; i++) {
        report(w);
        um_store_flush(w->store, NULL);
    }
}

/* After a failed sync the kernel considers the data written. */
static void a_failed_sync_a_kill_and_a_power_cut_damage_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        world *w = calloc(1, sizeof *w);
        assert_non_null(w);
        w->disk = sim_open(seed);
        w->now = T0;
        assert_true(start(w));
        report_some(w);
        sim_fail(w->disk, 1);
        um_store_tick(w->store, w->now);
        sim_fail(w->disk, 0);
        assert_non_null(um_store_failure(w->store));
        crash(w, false);
        report_some(w);
        um_store_tick(w->store, w->now);
        crash(w, true);
        if (*w->wrong)
            fail_msg("seed %" PRIu64 ": %s", seed, w->wrong);
        drop_copies(w);
        um_store_close(w->store);
        sim_close(w->disk);
        free(w);
    }
}

TEST_GROUP(publish_markers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_the_same_after_any_crash),
        cmocka_unit_test(a_failed_sync_a_kill_and_a_power_cut_damage_nothing),
    };

    if (argc > 1)
        crashes = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests_name("store_publish_markers", tests, NULL,
                                       NULL);
}
