/*
 * Random schedules: five servers and a liar, links that lose, repeat and
 * reorder, restarts with and without state, epochs that end, drops. At every
 * moment each copy must be one that its origin gave out, counts must cover the
 * reports and not exceed what the origins say; and once links heal all agree.
 *
 *   test_sync_schedules [SCHEDULES [FIRST SEED]]
 *
 * Signatures are replaced by a keyed hash, which is a hundred times as fast; no
 * liar here computes that of another. test_sync_liars uses Ed25519.
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
    EVENTS = 200,
    LINKS = 9,
    FLYING = 64,
    EPOCH = 1000,
    RETRY = 20,
    KEPT = 96 /* messages that a liar repeats later */
};

typedef struct truth {
    unsigned server;
    uint64_t incarnation, epoch, version;
    uint8_t reports[KEYS], answers[KEYS];
    struct truth *next;
} truth;

typedef struct message {
    unsigned link, from;
    size_t len;
    uint8_t *bytes;
} message;

typedef struct world {
    um_rng rng;
    const um_sync_rules *rules;
    umbel_filter *shape;
    umbel_digest key[KEYS];
    test_sync_server server[SERVERS];
    uint8_t reports[HONEST][KEYS];
    uint64_t skew[SERVERS], epoch[SERVERS], now;
    uint64_t sessions;
    test_sync_link link[LINKS];
    bool up[LINKS];
    message flying[FLYING], kept[KEPT];
    size_t nflying, nkept;
    truth *truths;
    unsigned mode; /* of the liar */
    bool dropped;
    const char *failure;
} world;

/* --- cheap signatures ------------------------------------------------------
 */

static void hash_sign(const uint8_t *key, const void *text, size_t len,
                      uint8_t *signature)
{
    crypto_generichash(signature, 64, text, len, key + 32, 32);
}

static bool hash_signed_by(const uint8_t *origin, const void *text, size_t len,
                           const uint8_t *signature)
{
    uint8_t again[64];

    crypto_generichash(again, 64, text, len, origin, 32);
    return memcmp(again, signature, 64) == 0;
}

/* --- machines that are broken on purpose -----------------------------------
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

/* A machine, and a schedule that notices it: the search begins there. */
typedef struct machine {
    const char *name;
    um_sync_rules rules;
    uint64_t seed;
} machine;

#define SOUND .sign = hash_sign, .signed_by = hash_signed_by

static void fill_rules(um_sync_rules *r)
{
    const um_sync_rules *s = &um_sync_rules_standard;

    r->is_newer = r->is_newer ? r->is_newer : s->is_newer;
    r->fits_base = r->fits_base ? r->fits_base : s->fits_base;
    r->has_grown = r->has_grown ? r->has_grown : s->has_grown;
    r->is_expired = r->is_expired ? r->is_expired : s->is_expired;
    r->same_session = r->same_session ? r->same_session : s->same_session;
}

static machine machines[] = {
    {"sound", {SOUND}, 0},
    {"takes what nobody signed",
     {.sign = hash_sign, .signed_by = anything_signed},
     162},
    {"takes older versions",
     {SOUND, .is_newer = always_newer, .has_grown = any_growth},
     33},
    {"keeps epochs that are over", {SOUND, .is_expired = never_expired}, 9},
    {"believes sessions that ended", {SOUND, .same_session = any_session}, 264},
    {"applies a difference to any version, signed or not",
     {.sign = hash_sign, .signed_by = anything_signed, .fits_base = any_base},
     162},
    {"counts its copies of others as its own", {SOUND}, 2},
};
enum { ECHO = TEST_COUNT(machines) - 1 };

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

/* The liar's twin has its key. */
static uint64_t seed_of(unsigned i)
{
    return 100 + (i == TWIN ? LIAR : i);
}

static void open_server(world *w, unsigned i, uint64_t incarnation)
{
    test_sync_server *s = &w->server[i];

    *s = (test_sync_server){.incarnation = incarnation};
    s->list = (umbel_sync_list){.name = "test",
                                .shape = w->shape,
                                .epoch_seconds = EPOCH,
                                .epochs = 2,
                                .page_bytes = 512};
    s->params.session = ++w->sessions;
    s->params.drop_quorum = 1;
    s->params.limits = (umbel_sync_limits){.incarnations = 64,
                                           .retry_seconds = RETRY,
                                           .clock_skew = 400,
                                           .message_bytes = 16384,
                                           .history_bytes = 2000};
    test_sync_open(s, seed_of(i));
    um_sync_set_rules(s->machine, w->rules);
    umbel_sync_tick(s->machine, clock_of(w, i));
    w->epoch[i] = umbel_sync_epoch(s->machine, 0);
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

/* A ring of honest servers, two chords, and the liar at two of them. */
static void open_world(world *w, uint64_t seed, const um_sync_rules *rules,
                       umbel_filter *shape)
{
    static const unsigned ends[LINKS][2] = {{0, 1}, {1, 2},    {2, 3},
                                            {3, 4}, {4, 0},    {0, 2},
                                            {1, 3}, {1, LIAR}, {3, TWIN}};

    *w = (world){.rng = {seed}, .rules = rules, .shape = shape, .now = 5000};
    for (unsigned i = 0; i < KEYS; i++) {
        char key[TEST_KEY_LEN];
        umbel_slice slice = {key, sizeof key};
        test_key(i, key);
        assert_ok(
            umbel_digest_many(shape, &slice, 1, &w->key[i], &test_refusal));
    }
    w->mode = (unsigned)pick(w, 4);
    for (unsigned i = 0; i < SERVERS; i++) {
        w->skew[i] = pick(w, 300);
        open_server(w, i, 1);
    }
    for (unsigned l = 0; l < LINKS; l++) {
        w->link[l].end[0] = &w->server[ends[l][0]];
        w->link[l].end[1] = &w->server[ends[l][1]];
        connect_link(w, l);
    }
}

static void close_world(world *w)
{
    for (unsigned i = 0; i < SERVERS; i++)
        test_sync_close(&w->server[i]);
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

static void publish(world *w, unsigned i)
{
    test_sync_server *s = &w->server[i];
    umbel_sync_copy c;

    if (umbel_sync_publish(s->machine, 0, w->epoch[i], s->own, NULL))
        return;
    for (size_t at = 0; umbel_sync_next_copy(s->machine, &at, &c);) {
        uint64_t answers[KEYS];
        if (!c.own || c.epoch != w->epoch[i] || i >= HONEST)
            continue;
        if (w->truths && w->truths->server == i &&
            w->truths->incarnation == c.incarnation &&
            w->truths->epoch == c.epoch && w->truths->version == c.version)
            continue;
        truth *t = calloc(1, sizeof *t);
        assert_non_null(t);
        *t = (truth){.server = i,
                     .incarnation = c.incarnation,
                     .epoch = c.epoch,
                     .version = c.version,
                     .next = w->truths};
        memcpy(t->reports, w->reports[i], KEYS);
        count_all(w, s->own, answers);
        for (int k = 0; k < KEYS; k++)
            t->answers[k] = (uint8_t)answers[k];
        w->truths = t;
    }
}

/* A new epoch begins for a server when its clock says so. */
static void keep_time(world *w, unsigned i)
{
    test_sync_server *s = &w->server[i];

    if (clock_of(w, i) / EPOCH == w->epoch[i])
        return;
    publish(w, i);
    umbel_sync_tick(s->machine, clock_of(w, i));
    w->epoch[i] = umbel_sync_epoch(s->machine, 0);
    assert_ok(umbel_clear(s->own, &test_refusal));
    if (i < HONEST)
        memset(w->reports[i], 0, KEYS);
}

static void report(world *w)
{
    unsigned i = (unsigned)pick(w, HONEST), k = (unsigned)pick(w, KEYS);
    uint64_t times = 1 + pick(w, 3);

    if (w->reports[i][k] > 100)
        return;
    assert_ok(umbel_add_digest_amounts(w->server[i].own, &w->key[k], &times, 1,
                                       NULL, &test_refusal));
    w->reports[i][k] = (uint8_t)(w->reports[i][k] + times);
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

/* The liar keeps messages, to send them again much later. */
static void keep_message(world *w, const message *m)
{
    size_t i = w->nkept < KEPT ? w->nkept++ : (size_t)pick(w, KEPT);

    if (w->kept[i].bytes && pick(w, 4))
        return;
    free(w->kept[i].bytes);
    w->kept[i] = copy_of(m->link, m->from, (umbel_slice){m->bytes, m->len});
}

static void send_on_a_link(world *w)
{
    unsigned l = (unsigned)pick(w, LINKS), from = (unsigned)pick(w, 2);
    const test_sync_link *k = &w->link[l];
    unsigned i = (unsigned)(k->end[from] - w->server);
    umbel_slice m;

    for (int n = 0; n < 3 && w->up[l] && w->nflying < FLYING; n++) {
        if (!umbel_sync_next(k->end[from]->machine, k->peer[from],
                             clock_of(w, i), &m))
            break;
        message copy = copy_of(l, from, m);
        keep_message(w, &copy);
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
        if (pick(w, 8)) /* else it comes again */
            remove_flying(w, i);
    }
}

/* --- restarts --------------------------------------------------------------
 */

static void move_state(test_sync_server *from, test_sync_server *to)
{
    umbel_sync_copy c;
    size_t len;

    umbel_sync_export_state(from->machine, NULL, 0, &len, NULL);
    uint8_t *state = malloc(len + 1);
    assert_non_null(state);
    assert_ok(umbel_sync_export_state(from->machine, state, len, &len,
                                      &test_refusal));
    assert_ok(umbel_sync_import_state(to->machine, state, len, &test_refusal));
    free(state);
    for (size_t at = 0; umbel_sync_next_copy(from->machine, &at, &c);) {
        umbel_filter *f;
        assert_ok(umbel_sync_export(from->machine, at, &f, &test_refusal));
        umbel_sync_import(to->machine, f, NULL);
        umbel_close(f);
    }
    umbel_filter *own = to->own;
    to->own = from->own;
    from->own = own;
}

static void restart(world *w, unsigned i, bool state)
{
    test_sync_server old = w->server[i];
    bool was_up[LINKS];

    for (unsigned l = 0; l < LINKS; l++) {
        bool mine = w->link[l].end[0] == &w->server[i] ||
                    w->link[l].end[1] == &w->server[i];
        was_up[l] = mine && w->up[l];
        if (mine)
            cut_link(w, l);
    }
    uint64_t incarnation = umbel_sync_incarnation(old.machine);
    open_server(w, i, state ? incarnation : incarnation + 1);
    /* A list that it no longer has would not be told from one it never had. */
    w->server[i].list = old.list;
    w->server[i].list.shape = w->server[i].shape;
    if (state)
        move_state(&old, &w->server[i]);
    else if (i < HONEST)
        memset(w->reports[i], 0, KEYS);
    test_sync_close(&old);
    for (unsigned l = 0; l < LINKS; l++)
        if (was_up[l])
            connect_link(w, l);
}

/* --- the liar --------------------------------------------------------------
 */

/* Passes on the pages of others, changed; their checksum is right. */
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
    f->shape.added = 3;
    publish(w, LIAR);
}

static void repeat_kept(world *w)
{
    for (size_t i = 0; i < w->nkept; i++)
        receive(w, &w->kept[i]);
}

/* Two machines with one key say different things of version 1. */
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

/* The broken machine that merges what it has into its own filter. */
static void echo(world *w)
{
    test_sync_server *s = &w->server[pick(w, HONEST)];
    umbel_sync_copy c;

    for (size_t at = 0; umbel_sync_next_copy(s->machine, &at, &c);)
        if (!c.own && c.epoch == umbel_sync_epoch(s->machine, 0))
            umbel_merge(s->own, c.filter, UMBEL_MAX, NULL);
}

/* --- what must hold --------------------------------------------------------
 */

static const truth *find_truth(const world *w, unsigned i,
                               const umbel_sync_copy *c)
{
    for (const truth *t = w->truths; t; t = t->next)
        if (t->server == i && t->incarnation == c->incarnation &&
            t->epoch == c->epoch && t->version == c->version)
            return t;
    return NULL;
}

static int server_of(const world *w, const uint8_t *origin)
{
    for (int i = 0; i < HONEST; i++)
        if (memcmp(umbel_sync_origin(w->server[i].machine), origin,
                   UMBEL_ORIGIN_LEN) == 0)
            return i;
    return LIAR;
}

static void check_server(world *w, unsigned i)
{
    const umbel_sync *m = w->server[i].machine;
    uint64_t counts[KEYS], sum[KEYS] = {0}, one[KEYS], covered[KEYS] = {0};
    umbel_sync_copy c;

    for (size_t at = 0; umbel_sync_next_copy(m, &at, &c);) {
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
}

/* An origin's own answer may not be above what was reported to it. */
static void check_own(world *w, unsigned i)
{
    uint64_t answers[KEYS], excess = 0;

    count_all(w, w->server[i].own, answers);
    for (int k = 0; k < KEYS; k++)
        excess += answers[k] > w->reports[i][k];
    if (excess > 10) /* false positives of a filter with 50 keys: none */
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

    if (umbel_sync_log_append(m, UMBEL_SYNC_LOG_FIRST, (umbel_slice){"spam", 4},
                              &seq, NULL))
        return;
    um_store64(body, umbel_sync_incarnation(m));
    um_store64(body + 8, seq);
    if (pick(w, 2))
        umbel_sync_log_append(m, UMBEL_SYNC_LOG_TAKE_BACK,
                              (umbel_slice){body, 16}, &seq, NULL);
}

static void drop_liar(world *w)
{
    unsigned i = (unsigned)pick(w, HONEST);
    const uint8_t *liar = umbel_sync_origin(w->server[LIAR].machine);

    w->dropped = true;
    assert_ok(umbel_sync_drop(w->server[i].machine, liar, true, &test_refusal));
}

static void happen(world *w)
{
    uint64_t what = pick(w, 100);
    unsigned i = (unsigned)pick(w, HONEST), l = (unsigned)pick(w, LINKS);

    if (what < 20)
        report(w);
    else if (what < 35)
        publish(w, i);
    else if (what < 58)
        send_some(w);
    else if (what < 80)
        deliver_some(w);
    else if (what < 84)
        lie(w);
    else if (what < 86)
        restart(w, i, true);
    else if (what < 88)
        restart(w, i, false);
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
    for (unsigned j = 0; j < SERVERS; j++)
        keep_time(w, j);
    if (w->rules == &machines[ECHO].rules && pick(w, 20) == 0)
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
    enum { ROUNDS = 12 };

    for (unsigned i = 0; i < SERVERS; i++)
        w->skew[i] = 300;
    /* No epoch ends meanwhile: it would bring new versions. */
    if (clock_of(w, 0) % EPOCH > EPOCH - (ROUNDS + 1) * RETRY)
        w->now += (ROUNDS + 1) * RETRY;
    for (unsigned i = 0; i < SERVERS; i++) {
        keep_time(w, i);
        publish(w, i);
    }
    /* Links that are up stay: what was lost on them must come again. */
    for (unsigned l = 0; l < LINKS; l++)
        if (!w->up[l])
            connect_link(w, l);
    while (w->nflying)
        remove_flying(w, 0);
    for (int round = 0; round < ROUNDS; round++, w->now += RETRY) {
        for (unsigned l = 0; l < LINKS; l++)
            test_sync_run(&w->link[l], clock_of(w, 0));
    }
}

static uint64_t taken; /* versions, over all schedules */

/* Returns what went wrong, or NULL. */
static const char *run_schedule(uint64_t seed, const um_sync_rules *rules,
                                umbel_filter *shape)
{
    static world w;

    open_world(&w, seed, rules, shape);
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
        taken += w.server[i].events[UMBEL_SYNC_TOOK];
    close_world(&w);
    return failure;
}

static umbel_filter *make_shape(void)
{
    umbel_setting settings[] = {{"cell_bits", 8}, {"update", 1}};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *shape;

    p.capacity = 2 * KEYS;
    p.fpr = 0.0001;
    p.settings = settings;
    p.nsettings = 2;
    assert_ok(umbel_create("counting", &p, &shape, &test_refusal));
    for (size_t i = 0; i < TEST_COUNT(machines); i++)
        fill_rules(&machines[i].rules);
    return shape;
}

static uint64_t schedules = 40, first_seed = 1;

static void every_schedule_ends_in_agreement(void **state)
{
    umbel_filter *shape = make_shape();

    (void)state;
    for (uint64_t i = 0; i < schedules; i++) {
        const char *failure =
            run_schedule(first_seed + i, &machines[0].rules, shape);
        if (failure)
            print_error("schedule %" PRIu64 ": %s\n", first_seed + i, failure);
        assert_null(failure);
    }
    print_message("%" PRIu64 " schedules, %" PRIu64 " versions taken\n",
                  schedules, taken);
    assert_true(taken > 20 * schedules);
    umbel_close(shape);
}

static void machines_broken_on_purpose_are_caught(void **state)
{
    umbel_filter *shape = make_shape();

    (void)state;
    for (size_t m = 1; m < TEST_COUNT(machines); m++) {
        const char *failure = NULL;
        uint64_t seed = machines[m].seed, end = seed + 1000;
        while (!failure && seed < end)
            failure = run_schedule(seed++, &machines[m].rules, shape);
        print_message("%s: schedule %" PRIu64 ", %s\n", machines[m].name,
                      seed - 1, failure ? failure : "not noticed");
        assert_non_null(failure);
    }
    umbel_close(shape);
}

int main(int argc, char **argv)
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
