/*
 * schedules.c - random schedules: five servers and a liar in a ring, a star or
 * a line; links that lose, repeat and reorder messages; restarts with state,
 * without, and from an old backup; epochs that end; drops. Half of the servers
 * work on one page at a time, and anything may happen meanwhile. At every
 * moment each replica must be a version that its origin published, and counts
 * must cover the reports without exceeding what the origins report; and once
 * links heal all agree.
 *
 *   test_sync_schedules [SCHEDULES [FIRST SEED]]
 *
 * One schedule in fifty uses Ed25519; in the others signatures are a keyed
 * hash, which is a hundred times as fast. No liar here forges another's hash.
 */
#include "base/hash.h"
#include "base/rng.h"
#include "support/sync.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <umbel/counting.h>

enum {
    HONEST = 5,
    SERVERS = HONEST + 2, /* and a liar that may be two */
    LIAR = HONEST,
    TWIN = HONEST + 1,
    KEYS = 50,
    CELLS = 576,
    PAGES = 2,
    EVENTS = 200,
    LINKS = 9, /* at most */
    FLYING = 64,
    EPOCH = 1000,
    RETRY = 20,
    KEPT = 96,  /* messages that a liar repeats later */
    SIGNED = 50 /* one schedule in this many uses Ed25519 */
};

typedef struct truth {
    unsigned server;
    uint64_t incarnation, epoch, version;
    uint64_t cells; /* their checksum */
    uint8_t reports[KEYS], answers[KEYS];
    struct truth *next;
} truth;

typedef struct message {
    unsigned link, from;
    size_t len;
    uint8_t *bytes;
} message;

/*
 * Reports to a server in the current epoch: all, those before the current pass
 * over its pages, and those before the last complete pass.
 */
typedef struct reported {
    uint8_t all[KEYS], passing[KEYS], passed[KEYS];
    uint64_t page; /* the next page of the pass */
} reported;

/* An earlier state of a server; machine is NULL without a backup. */
typedef struct backup {
    test_sync_server server;
    reported reports;
    uint64_t epoch;
} backup;

typedef struct world {
    um_rng rng;
    umbel_filter *shape;
    umbel_digest key[KEYS];
    test_sync_server server[SERVERS];
    reported reports[SERVERS];
    backup backup[HONEST];
    uint64_t skew[SERVERS], epoch[SERVERS], incarnation[SERVERS], now;
    bool restored[SERVERS];    /* receives from all before it publishes */
    uint64_t sessions, latest; /* latest incarnation */
    test_sync_link link[LINKS];
    unsigned nlinks;
    bool up[LINKS];
    message flying[FLYING], kept[KEPT];
    size_t nflying, nkept;
    truth *truths;
    unsigned mode; /* of the liar */
    bool dropped;
    const char *failure;
} world;

/* --- deliberately broken machines ------------------------------------------
 */

static bool anything_signed(const uint8_t *origin, const void *text, size_t len,
                            const uint8_t *signature)
{
    (void)origin, (void)text, (void)len, (void)signature;
    return true;
}

static bool always_newer(uint64_t have, uint64_t version)
{
    return have != version;
}

static bool any_base(uint64_t have, uint64_t base)
{
    (void)have, (void)base;
    return true;
}

static bool any_growth(um_growth_page *p)
{
    um_growth_check(p);
    return true;
}

static bool never_expired(uint64_t epoch, uint64_t oldest)
{
    (void)epoch, (void)oldest;
    return false;
}

static bool any_session(uint64_t expected, uint64_t session)
{
    (void)expected, (void)session;
    return true;
}

/*
 * Functions of sync/accept.c that a machine replaces; NULL: the library's. The
 * linker redirects their callers to this file.
 */
typedef struct rules {
    bool (*is_signed)(const uint8_t *origin, const void *text, size_t len,
                      const uint8_t *signature);
    void (*sign)(const uint8_t *key, const void *text, size_t len,
                 uint8_t *signature);
    bool (*is_newer)(uint64_t have, uint64_t version);
    bool (*fits_base)(uint64_t have, uint64_t base);
    bool (*has_grown)(um_growth_page *page);
    bool (*is_expired)(uint64_t epoch, uint64_t oldest);
    bool (*is_session)(uint64_t expected, uint64_t session);
} rules;

static const rules *broken; /* of the current schedule */

#define SEAM(type, rule, parameters, arguments)                                \
    type __real_um_sync_##rule parameters;                                     \
    type __wrap_um_sync_##rule parameters;                                     \
    type __wrap_um_sync_##rule parameters                                      \
    {                                                                          \
        if (broken && broken->rule)                                            \
            return broken->rule arguments;                                     \
        return __real_um_sync_##rule arguments;                                \
    }

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names */
SEAM(bool, is_signed,
     (const uint8_t *origin, const void *text, size_t len,
      const uint8_t *signature),
     (origin, text, len, signature))
SEAM(bool, is_newer, (uint64_t have, uint64_t version), (have, version))
SEAM(bool, fits_base, (uint64_t have, uint64_t base), (have, base))
SEAM(bool, has_grown, (um_growth_page * page), (page))
SEAM(bool, is_expired, (uint64_t epoch, uint64_t oldest), (epoch, oldest))
SEAM(bool, is_session, (uint64_t expected, uint64_t session),
     (expected, session))

void __real_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature);
void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature);
void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature)
{
    if (broken && broken->sign)
        broken->sign(key, text, len, signature);
    else
        __real_um_sync_sign(key, text, len, signature);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* A machine, and a schedule that detects it: the search begins there. */
typedef struct machine {
    const char *name;
    rules rules;
    uint64_t seed;
} machine;

#define SOUND .sign = test_sync_hash_sign, .is_signed = test_sync_hash_signed

static const machine machines[] = {
    {"sound", {SOUND}, 0},
    {"sound", {.sign = NULL}, 0},
    /* The broken ones. */
    {"accepts what nobody signed",
     {.sign = test_sync_hash_sign, .is_signed = anything_signed},
     419},
    {"applies older versions",
     {SOUND, .is_newer = always_newer, .has_grown = any_growth},
     101},
    {"keeps epochs that are over", {SOUND, .is_expired = never_expired}, 31},
    {"accepts sessions that ended", {SOUND, .is_session = any_session}, 278},
    {"applies a difference to any version, signed or not",
     {.sign = test_sync_hash_sign,
      .is_signed = anything_signed,
      .fits_base = any_base},
     419},
    {"counts its replicas of others as its own", {SOUND}, 2},
};
enum { ED25519 = 1, BROKEN = 2, ECHO = TEST_COUNT(machines) - 1 };

/* --- the world -------------------------------------------------------------
 */

static void note_failure(world *w, const char *what)
{
    if (!w->failure)
        w->failure = what;
}

static uint64_t pick(world *w, uint64_t n)
{
    return um_random_below(&w->rng, n);
}

static uint64_t clock_of(const world *w, unsigned i)
{
    return w->now + w->skew[i];
}

/* Returns the seed of a server's key; the liar's twin has the same key. */
static uint64_t seed_of(unsigned i)
{
    return 100 + (i == TWIN ? LIAR : i);
}

static void open_server(world *w, unsigned i, test_sync_server *s,
                        uint64_t incarnation)
{
    *s = (test_sync_server){.incarnation = incarnation};
    s->list = (umbel_sync_list){.name = "test",
                                .shape = w->shape,
                                .epoch_seconds = EPOCH,
                                .epochs = 2,
                                .page_bytes = 512,
                                .indexed = true,
                                .max_error = 0.05};
    s->params.session = ++w->sessions;
    s->params.drop_quorum = 1;
    s->params.limits = (umbel_sync_limits){.incarnations = 64,
                                           .retry_seconds = RETRY,
                                           .clock_skew = 400,
                                           .message_bytes = 16384,
                                           .history_bytes = 2000,
                                           .slice_pages = i % 2};
    test_sync_open(s, seed_of(i));
    umbel_sync_tick(s->machine, clock_of(w, i));
}

static void start_server(world *w, unsigned i, uint64_t incarnation)
{
    open_server(w, i, &w->server[i], incarnation);
    w->epoch[i] = umbel_sync_epoch(w->server[i].machine, 0);
    w->incarnation[i] = incarnation;
}

static void connect_link(world *w, unsigned l)
{
    test_sync_link *k = &w->link[l];

    test_sync_connect(k, k->end[0], k->end[1]);
    w->up[l] = true;
}

static void cut_link(world *w, unsigned l)
{
    for (int i = 0; i < 2 && w->up[l]; i++)
        umbel_sync_disconnect(w->link[l].end[i]->machine, w->link[l].peer[i]);
    w->up[l] = false;
}

/*
 * Honest servers in a ring with two chords, a star and a line; the liar and its
 * twin are connected to one each.
 */
static const struct topology {
    unsigned n, ends[LINKS][2];
} topologies[] = {
    {9,
     {{0, 1},
      {1, 2},
      {2, 3},
      {3, 4},
      {4, 0},
      {0, 2},
      {1, 3},
      {1, LIAR},
      {3, TWIN}}},
    {6, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, LIAR}, {3, TWIN}}},
    {6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {1, LIAR}, {3, TWIN}}},
};

static void open_world(world *w, uint64_t seed, umbel_filter *shape)
{
    *w = (world){.rng = {seed}, .shape = shape, .now = 5000, .latest = 1};
    for (unsigned i = 0; i < KEYS; i++) {
        char key[TEST_KEY_LEN];
        umbel_slice slice = {key, sizeof key};
        test_key(i, key);
        assert_ok(
            umbel_digest_many(shape, &slice, 1, &w->key[i], &test_refusal));
    }
    w->mode = (unsigned)pick(w, 4);
    const struct topology *t =
        &topologies[pick(w, 2) ? 0 : pick(w, TEST_COUNT(topologies))];
    w->nlinks = t->n;
    for (unsigned i = 0; i < SERVERS; i++) {
        w->skew[i] = pick(w, 300);
        start_server(w, i, 1);
    }
    for (unsigned l = 0; l < w->nlinks; l++) {
        w->link[l].end[0] = &w->server[t->ends[l][0]];
        w->link[l].end[1] = &w->server[t->ends[l][1]];
        connect_link(w, l);
    }
}

static void close_world(world *w)
{
    for (unsigned i = 0; i < SERVERS; i++)
        test_sync_close(&w->server[i]);
    for (unsigned i = 0; i < HONEST; i++)
        if (w->backup[i].server.machine)
            test_sync_close(&w->backup[i].server);
    for (size_t i = 0; i < w->nflying; i++)
        free(w->flying[i].bytes);
    for (size_t i = 0; i < w->nkept; i++)
        free(w->kept[i].bytes);
    while (w->truths) {
        truth *next = w->truths->next;
        free(w->truths);
        w->truths = next;
    }
}

static void count_all(const world *w, const umbel_filter *f, uint64_t *out)
{
    assert_ok(umbel_count_digests(f, w->key, KEYS, out, &test_refusal));
}

/* --- reports ---------------------------------------------------------------
 */

static void forget_reports(world *w, unsigned i)
{
    assert_ok(umbel_clear(w->server[i].own, &test_refusal));
    w->reports[i] = (reported){.page = 0};
}

/* Clears the filter of a machine that continues as a new incarnation. */
static void follow_incarnation(world *w, unsigned i)
{
    uint64_t incarnation = umbel_sync_incarnation(w->server[i].machine);

    if (incarnation == w->incarnation[i])
        return;
    w->incarnation[i] = incarnation;
    w->latest = incarnation > w->latest ? incarnation : w->latest;
    forget_reports(w, i);
}

static void note_truth(world *w, unsigned i, const umbel_sync_replica *c)
{
    uint64_t answers[KEYS];
    truth *t = calloc(1, sizeof *t);

    assert_non_null(t);
    *t = (truth){.server = i,
                 .incarnation = c->incarnation,
                 .epoch = c->epoch,
                 .version = c->version,
                 .cells = um_checksum(c->filter->payload, CELLS),
                 .next = w->truths};
    memcpy(t->reports, w->reports[i].passed, KEYS);
    count_all(w, c->filter, answers);
    for (int k = 0; k < KEYS; k++)
        t->answers[k] = (uint8_t)answers[k];
    w->truths = t;
}

static const truth *find_truth(const world *w, unsigned i,
                               const umbel_sync_replica *c)
{
    uint64_t cells = um_checksum(c->filter->payload, CELLS);

    for (const truth *t = w->truths; t; t = t->next)
        if (t->server == i && t->incarnation == c->incarnation &&
            t->epoch == c->epoch && t->version == c->version &&
            t->cells == cells)
            return t;
    return NULL;
}

/* Publishes pages up to end; the last page completes the pass. */
static void publish_up_to(world *w, unsigned i, uint64_t end)
{
    const test_sync_server *s = &w->server[i];
    reported *r = &w->reports[i];
    umbel_sync_slice out;
    umbel_sync_replica c;

    follow_incarnation(w, i);
    if (w->restored[i])
        return;
    if (!r->page)
        memcpy(r->passing, r->all, KEYS);
    if (umbel_sync_publish_pages(s->machine, 0, w->epoch[i], s->own, r->page,
                                 end, &out, NULL))
        return;
    r->page = end % PAGES;
    if (!r->page)
        memcpy(r->passed, r->passing, KEYS);
    for (size_t at = 0; umbel_sync_next_replica(s->machine, &at, &c);)
        if (c.own && c.epoch == w->epoch[i] && i < HONEST &&
            !find_truth(w, i, &c))
            note_truth(w, i, &c);
}

static void publish(world *w, unsigned i)
{
    w->reports[i].page = 0;
    publish_up_to(w, i, PAGES);
}

static void publish_a_page(world *w, unsigned i)
{
    publish_up_to(w, i, w->reports[i].page + 1);
}

/* Begins a new epoch for a server by its own clock. */
static void retain_time(world *w, unsigned i)
{
    test_sync_server *s = &w->server[i];

    if (clock_of(w, i) / EPOCH == w->epoch[i])
        return;
    publish(w, i);
    umbel_sync_tick(s->machine, clock_of(w, i));
    w->epoch[i] = umbel_sync_epoch(s->machine, 0);
    forget_reports(w, i);
}

static void report(world *w)
{
    unsigned i = (unsigned)pick(w, HONEST), k = (unsigned)pick(w, KEYS);
    uint64_t times = 1 + pick(w, 3);

    follow_incarnation(w, i);
    if (w->reports[i].all[k] > 100)
        return;
    assert_ok(umbel_add_digest_amounts(w->server[i].own, &w->key[k], &times, 1,
                                       NULL, &test_refusal));
    w->reports[i].all[k] = (uint8_t)(w->reports[i].all[k] + times);
}

/* --- messages --------------------------------------------------------------
 */

static void remove_flying(world *w, size_t i)
{
    free(w->flying[i].bytes);
    w->flying[i] = w->flying[--w->nflying];
}

static void receive(world *w, const message *m)
{
    const test_sync_link *l = &w->link[m->link];
    unsigned to = (unsigned)(l->end[!m->from] - w->server);

    if (w->up[m->link])
        umbel_sync_receive(l->end[!m->from]->machine, l->peer[!m->from],
                           m->bytes, m->len, clock_of(w, to), NULL);
}

static message copy_of(unsigned link, unsigned from, umbel_slice bytes)
{
    message m = {link, from, bytes.len, malloc(bytes.len)};

    assert_non_null(m.bytes);
    memcpy(m.bytes, bytes.data, bytes.len);
    return m;
}

/* Stores a message for the liar to send again much later. */
static void retain_message(world *w, const message *m)
{
    size_t i = w->nkept < KEPT ? w->nkept++ : (size_t)pick(w, KEPT);

    if (w->kept[i].bytes && pick(w, 4))
        return;
    free(w->kept[i].bytes);
    w->kept[i] = copy_of(m->link, m->from, (umbel_slice){m->bytes, m->len});
}

static void send_on_a_link(world *w)
{
    unsigned l = (unsigned)pick(w, w->nlinks), from = (unsigned)pick(w, 2);
    const test_sync_link *k = &w->link[l];
    unsigned i = (unsigned)(k->end[from] - w->server);
    umbel_slice m;

    for (int n = 0; n < 3 && w->up[l] && w->nflying < FLYING; n++) {
        if (!umbel_sync_next(k->end[from]->machine, k->peer[from],
                             clock_of(w, i), &m))
            break;
        message copy = copy_of(l, from, m);
        retain_message(w, &copy);
        if (pick(w, 5) == 0) /* lost */
            free(copy.bytes);
        else
            w->flying[w->nflying++] = copy;
    }
}

static void send_some(world *w)
{
    for (int n = 0; n < 8; n++)
        send_on_a_link(w);
}

static void deliver_some(world *w)
{
    for (int n = 0; n < 16 && w->nflying; n++) {
        size_t i = (size_t)pick(w, w->nflying);
        receive(w, &w->flying[i]);
        if (pick(w, 8)) /* otherwise it is repeated */
            remove_flying(w, i);
    }
}

/* --- restarts --------------------------------------------------------------
 */

/*
 * Copies the state. Own filters are imported with their previous versions, or
 * restored.
 */
static void copy_state(const test_sync_server *from, test_sync_server *to,
                       bool restores)
{
    umbel_sync_replica c;
    size_t len;

    umbel_sync_export_state(from->machine, NULL, 0, &len, NULL);
    uint8_t *state = malloc(len + 1);
    assert_non_null(state);
    assert_ok(umbel_sync_export_state(from->machine, state, len, &len,
                                      &test_refusal));
    assert_ok(umbel_sync_import_state(to->machine, state, len, &test_refusal));
    free(state);
    for (size_t at = 0; umbel_sync_next_replica(from->machine, &at, &c);) {
        umbel_filter *f;
        if (c.own && restores) {
            umbel_sync_restore(to->machine, 0, c.epoch, c.version, c.filter,
                               NULL);
            continue;
        }
        assert_ok(umbel_sync_export(from->machine, at, &f, &test_refusal));
        umbel_sync_import(to->machine, f, NULL);
        umbel_close(f);
    }
    umbel_close(to->own);
    assert_ok(umbel_copy(from->own, &to->own, &test_refusal));
}

static void save_backup(world *w, unsigned i)
{
    backup *b = &w->backup[i];

    if (b->server.machine)
        test_sync_close(&b->server);
    follow_incarnation(w, i);
    open_server(w, i, &b->server, w->incarnation[i]);
    copy_state(&w->server[i], &b->server, false);
    b->reports = w->reports[i];
    b->epoch = w->epoch[i];
}

static void cut_links_of(world *w, unsigned i, bool was_up[LINKS])
{
    for (unsigned l = 0; l < w->nlinks; l++) {
        bool mine = w->link[l].end[0] == &w->server[i] ||
                    w->link[l].end[1] == &w->server[i];
        was_up[l] = mine && w->up[l];
        if (mine)
            cut_link(w, l);
    }
}

static void connect_again(world *w, const bool was_up[LINKS])
{
    for (unsigned l = 0; l < w->nlinks; l++)
        if (was_up[l])
            connect_link(w, l);
}

static void restart(world *w, unsigned i)
{
    test_sync_server old = w->server[i];
    bool was_up[LINKS];

    follow_incarnation(w, i);
    cut_links_of(w, i, was_up);
    start_server(w, i, w->incarnation[i]);
    copy_state(&old, &w->server[i], pick(w, 2));
    test_sync_close(&old);
    connect_again(w, was_up);
}

/* Restarts without its disk, as a new incarnation, as if from a clock. */
static void restart_empty(world *w, unsigned i)
{
    uint64_t next = ++w->latest;
    bool was_up[LINKS];

    cut_links_of(w, i, was_up);
    test_sync_close(&w->server[i]);
    start_server(w, i, next);
    w->reports[i] = (reported){.page = 0};
    w->restored[i] = false;
    connect_again(w, was_up);
}

/*
 * Restores a backup; if the epoch changed, only replicas remain. Versions other
 * than those published before would be lies, so it publishes again only after
 * the others reported theirs.
 */
static void restore_backup(world *w, unsigned i)
{
    const backup *b = &w->backup[i];
    bool was_up[LINKS];

    if (!b->server.machine) {
        save_backup(w, i);
        return;
    }
    cut_links_of(w, i, was_up);
    test_sync_close(&w->server[i]);
    start_server(w, i, b->server.incarnation);
    copy_state(&b->server, &w->server[i], pick(w, 2));
    w->reports[i] = b->reports;
    if (b->epoch != w->epoch[i])
        forget_reports(w, i);
    w->restored[i] = true;
    connect_again(w, was_up);
}

/* --- the liar --------------------------------------------------------------
 */

/* Changes forwarded pages of others, and corrects the message checksums. */
static void forge(world *w)
{
    for (size_t i = 0; i < w->nflying; i++) {
        message *m = &w->flying[i];
        if (m->bytes[0] != UM_MSG_UPDATE || pick(w, 2))
            continue;
        m->bytes[m->len - 9 - pick(w, 20)] ^= (uint8_t)(1u << pick(w, 8));
        um_store64(m->bytes + m->len - 8, um_checksum(m->bytes, m->len - 8));
    }
}

static void fill_cells(world *w)
{
    umbel_filter *f = w->server[LIAR].own;

    memset(f->payload, 0xFF, 256);
    f->added = 3;
    publish(w, LIAR);
}

static void repeat_kept(world *w)
{
    for (size_t i = 0; i < w->nkept; i++)
        receive(w, &w->kept[i]);
}

/* Publishes two different versions 1 with one key. */
static void say_two_things(world *w)
{
    for (unsigned i = LIAR; i <= TWIN; i++) {
        test_sync_server *s = &w->server[i];
        uint64_t times = 1 + i;
        if (umbel_added(s->own))
            continue;
        assert_ok(umbel_add_digest_amounts(s->own, &w->key[i], &times, 1, NULL,
                                           &test_refusal));
        publish(w, i);
    }
}

static void lie(world *w)
{
    static void (*const lies[])(world *) = {forge, fill_cells, repeat_kept,
                                            say_two_things};
    lies[w->mode](w);
}

/*
 * Merges replicas into a server's own filter, for the broken machine that does
 * so.
 */
static void echo(world *w)
{
    test_sync_server *s = &w->server[pick(w, HONEST)];
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(s->machine, &at, &c);)
        if (!c.own && c.epoch == umbel_sync_epoch(s->machine, 0))
            umbel_merge(s->own, c.filter, UMBEL_MAX, NULL);
}

/* --- invariants ------------------------------------------------------------
 */

static int server_of(const world *w, const uint8_t *origin)
{
    for (int i = 0; i < HONEST; i++)
        if (memcmp(umbel_sync_origin(w->server[i].machine), origin,
                   UMBEL_ORIGIN_LEN) == 0)
            return i;
    return LIAR;
}

static uint64_t verdicts, by_sums; /* checked; by totals */

/* Checks that verdicts agree with counts, whether or not the totals answer. */
static void check_verdicts(world *w, const umbel_sync *m,
                           const uint64_t *counts)
{
    uint64_t threshold = 1 + verdicts++ % 8;
    bool reached[KEYS];

    by_sums += um_totals_cover(m, 0);
    assert_ok(umbel_sync_reaches(m, 0, w->key, KEYS, NULL, threshold, reached,
                                 &test_refusal));
    for (int k = 0; k < KEYS; k++)
        if (reached[k] != (counts[k] >= threshold))
            note_failure(w, "a verdict is not that of the count");
}

static void check_server(world *w, unsigned i)
{
    const umbel_sync *m = w->server[i].machine;
    uint64_t counts[KEYS], sum[KEYS] = {0}, one[KEYS], covered[KEYS] = {0};
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(m, &at, &c);) {
        unsigned o = (unsigned)server_of(w, c.origin);
        count_all(w, c.filter, one);
        if (o < HONEST && c.version) {
            const truth *t = find_truth(w, o, &c);
            if (!t) {
                note_failure(w, "a version that its origin never gave out");
                continue;
            }
            for (int k = 0; k < KEYS; k++) {
                if (one[k] > t->answers[k])
                    note_failure(w, "a count above its origin's own answer");
                covered[k] += t->reports[k];
            }
            if (c.epoch + 2 <= umbel_sync_epoch(m, 0))
                note_failure(w, "an epoch that is over came back");
        }
        for (int k = 0; k < KEYS && c.version; k++)
            sum[k] += one[k];
    }
    assert_ok(
        umbel_sync_count(m, 0, w->key, KEYS, counts, NULL, &test_refusal));
    for (int k = 0; k < KEYS; k++) {
        if (counts[k] < covered[k])
            note_failure(w, "a count below the reports that are covered");
        if (counts[k] != sum[k])
            note_failure(w, "a count is not the sum over copies");
    }
    check_verdicts(w, m, counts);
}

/* Checks that an origin counts no more than was reported to it. */
static void check_own(world *w, unsigned i)
{
    uint64_t answers[KEYS], excess = 0;

    follow_incarnation(w, i);
    count_all(w, w->server[i].own, answers);
    for (int k = 0; k < KEYS; k++)
        excess += answers[k] > w->reports[i].all[k];
    if (excess > 10) /* a filter with 50 keys has no false positives */
        note_failure(w, "an origin counts what others reported");
}

static void check_all(world *w)
{
    for (unsigned i = 0; i < HONEST && !w->failure; i++) {
        check_server(w, i);
        check_own(w, i);
    }
}

/* --- a schedule ------------------------------------------------------------
 */

static void log_something(world *w)
{
    unsigned i = (unsigned)pick(w, HONEST);
    umbel_sync *m = w->server[i].machine;
    uint8_t body[16] = {0};
    uint64_t seq;

    if (w->restored[i] ||
        umbel_sync_log_append(m, UMBEL_SYNC_LOG_FIRST, (umbel_slice){"spam", 4},
                              &seq, NULL))
        return;
    um_store64(body, umbel_sync_incarnation(m));
    um_store64(body + 8, seq);
    if (pick(w, 2))
        umbel_sync_log_append(m, UMBEL_SYNC_LOG_RETRACT,
                              (umbel_slice){body, 16}, &seq, NULL);
}

static void drop_liar(world *w)
{
    unsigned i = (unsigned)pick(w, HONEST);
    const uint8_t *liar = umbel_sync_origin(w->server[LIAR].machine);

    if (w->restored[i])
        return;
    w->dropped = true;
    assert_ok(umbel_sync_drop(w->server[i].machine, liar, true, &test_refusal));
}

static void happen(world *w)
{
    uint64_t what = pick(w, 100);
    unsigned i = (unsigned)pick(w, HONEST), l = (unsigned)pick(w, w->nlinks);

    if (what < 20)
        report(w);
    else if (what < 30)
        publish(w, i);
    else if (what < 35)
        publish_a_page(w, i);
    else if (what < 58)
        send_some(w);
    else if (what < 80)
        deliver_some(w);
    else if (what < 84)
        lie(w);
    else if (what < 86)
        restart(w, i);
    else if (what < 87)
        restart_empty(w, i);
    else if (what < 88)
        restore_backup(w, i);
    else if (what < 90)
        (w->up[l] ? cut_link : connect_link)(w, l);
    else if (what < 97)
        w->now += pick(w, 30);
    else if (what < 98)
        w->now += pick(w, 600);
    else if (what < 99)
        log_something(w);
    else if (!w->dropped && pick(w, 4) == 0)
        drop_liar(w);
    for (unsigned j = 0; j < SERVERS; j++) {
        retain_time(w, j);
        if ((what + j) % 4 == 0)
            umbel_sync_work(w->server[j].machine);
    }
    if (broken == &machines[ECHO].rules && pick(w, 20) == 0)
        echo(w);
}

static bool agree(const world *w)
{
    for (unsigned i = 1; i < HONEST; i++)
        if (test_sync_word(&w->server[i]) != test_sync_word(&w->server[0]))
            return false;
    return true;
}

static void heal(world *w)
{
    enum { ROUNDS = 14, HEARD = 5 };

    for (unsigned i = 0; i < SERVERS; i++)
        w->skew[i] = 300;
    /* No epoch may end meanwhile: it would create new versions. */
    if (clock_of(w, 0) % EPOCH > EPOCH - (ROUNDS + 1) * RETRY)
        w->now += (ROUNDS + 1) * RETRY;
    for (unsigned i = 0; i < SERVERS; i++) {
        retain_time(w, i);
        publish(w, i);
    }
    /* Links that are up stay up: what was lost on them must be sent again. */
    for (unsigned l = 0; l < w->nlinks; l++)
        if (!w->up[l])
            connect_link(w, l);
    while (w->nflying)
        remove_flying(w, 0);
    for (int round = 0; round < ROUNDS; round++, w->now += RETRY) {
        for (unsigned l = 0; l < w->nlinks; l++)
            test_sync_run(&w->link[l], clock_of(w, 0));
        for (unsigned i = 0; i < SERVERS && round == HEARD; i++) {
            w->restored[i] = false;
            publish(w, i);
        }
    }
}

static uint64_t taken; /* versions, over all schedules */

/* Returns what went wrong, or NULL. */
static const char *run_schedule(uint64_t seed, const machine *m,
                                umbel_filter *shape)
{
    static world w;

    broken = &m->rules;
    open_world(&w, seed, shape);
    for (int e = 0; e < EVENTS && !w.failure; e++) {
        happen(&w);
        if (e % 20 == 19)
            check_all(&w);
    }
    if (!w.failure)
        heal(&w);
    if (!w.failure)
        check_all(&w);
    if (!w.failure && !agree(&w))
        note_failure(&w, "servers do not agree");
    const char *failure = w.failure;
    for (unsigned i = 0; i < HONEST; i++)
        taken += w.server[i].events[UMBEL_SYNC_APPLIED];
    close_world(&w);
    broken = NULL;
    return failure;
}

static umbel_filter *create_shape(void)
{
    umbel_setting settings[] = {{"cell_bits", 8}, {"update", 1}};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *shape;

    p.addressing = "classic";
    p.cells = CELLS;
    p.hashes = 3;
    p.capacity = 2 * KEYS;
    p.settings = settings;
    p.nsettings = 2;
    assert_ok(umbel_create("counting", &p, &shape, &test_refusal));
    return shape;
}

static uint64_t schedules = 40, first_seed = 1;

static const machine *machine_of(uint64_t seed)
{
    return &machines[seed % SIGNED ? 0 : ED25519];
}

static void every_schedule_ends_in_agreement(void **state)
{
    umbel_filter *shape = create_shape();

    (void)state;
    for (uint64_t i = 0; i < schedules; i++) {
        const char *failure =
            run_schedule(first_seed + i, machine_of(first_seed + i), shape);
        if (failure)
            print_error("schedule %" PRIu64 ": %s\n", first_seed + i, failure);
        assert_null(failure);
    }
    print_message("%" PRIu64 " schedules, %" PRIu64 " versions applied, totals "
                  "answer in %" PRIu64 " of %" PRIu64 " checks\n",
                  schedules, taken, by_sums, verdicts);
    assert_true(taken > 20 * schedules);
    assert_true(by_sums > verdicts / 10);
    umbel_close(shape);
}

static void machines_broken_on_purpose_are_caught(void **state)
{
    umbel_filter *shape = create_shape();

    (void)state;
    for (size_t m = BROKEN; m < TEST_COUNT(machines); m++) {
        const char *failure = NULL;
        uint64_t seed = machines[m].seed, end = seed + 1000;
        while (!failure && seed < end)
            failure = run_schedule(seed++, &machines[m], shape);
        print_message("%s: schedule %" PRIu64 ", %s\n", machines[m].name,
                      seed - 1, failure ? failure : "not noticed");
        assert_non_null(failure);
    }
    umbel_close(shape);
}

TEST_GROUP(schedules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_ends_in_agreement),
        cmocka_unit_test(machines_broken_on_purpose_are_caught),
    };

    if (argc > 1)
        schedules = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
