/*
 * counts.c - verdicts of a server with peers agree with its counts, whatever is
 * cached.
 */
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/internal.h"

#include "base/rng.h"
#include "support/test.h"

#include <umbel/experimental/sync.h>

#include <sodium.h>

enum {
    NOW = 12 * 86400,
    DAY = 86400,
    EPOCHS = 4,
    OTHERS = 3,
    KEYS = 300,
    CAPACITY = 200,
    LIST = 0
};

/* Another server: its machine, and the filter it publishes. */
typedef struct peer {
    umbel_sync *machine;
    umbel_filter *filter;
} peer;

/* A server and its peers. */
typedef struct world {
    um_config config;
    um_clock clock;
    um_lists lists;
    char *dir;
    umbel_filter *shape;
    peer other[OTHERS];
    umbel_digest digest[KEYS];
    um_rng rng;
} world;

static void open_store(world *w)
{
    um_list_config lists[UM_MAX_LISTS];
    um_store_config c = {.dir = w->dir,
                         .durability = UM_DURABILITY_NONE,
                         .lists = lists,
                         .totals_bytes = 1 << 20};

    for (; um_list_name(c.nlists); c.nlists++)
        lists[c.nlists] = (um_list_config){.name = um_list_name(c.nlists),
                                           .kind = "table",
                                           .capacity = CAPACITY,
                                           .error = 0.1,
                                           .epoch_seconds = DAY,
                                           .epochs = EPOCHS};
    assert_ok(um_store_open(&c, NOW, &w->lists.store, &test_refusal));
    um_forget_open(&w->lists);
}

static umbel_sync *open_machine(const world *w, uint8_t number)
{
    uint8_t seed[crypto_sign_SEEDBYTES] = {number}, public[UMBEL_ORIGIN_LEN],
            secret[UMBEL_ORIGIN_SECRET_LEN];
    umbel_sync_list list = {.name = "test",
                            .shape = w->shape,
                            .epoch_seconds = DAY,
                            .epochs = EPOCHS,
                            .page_bytes = 512,
                            .max_error = 1,
                            .indexed = true};
    umbel_sync_params p = UMBEL_SYNC_INIT;
    umbel_sync *s;

    crypto_sign_seed_keypair(public, secret, seed);
    p.lists = &list;
    p.nlists = 1;
    p.sign_key = secret;
    p.incarnation = p.session = 1;
    assert_ok(umbel_sync_open(&p, &s, &test_refusal));
    umbel_sync_tick(s, w->clock.now);
    return s;
}

static void open_world(world *w, uint64_t seed)
{
    *w = (world){.clock.now = NOW, .dir = test_dir_make(), .rng = {seed}};
    w->lists.clock = &w->clock;
    w->lists.config = &w->config;
    open_store(w);
    assert_ok(umbel_copy(um_list_filter(um_store_list(w->lists.store, LIST), 0),
                         &w->shape, &test_refusal));
    w->lists.machine = open_machine(w, 1);
    for (size_t i = 0; i < OTHERS; i++) {
        w->other[i].machine = open_machine(w, (uint8_t)(2 + i));
        assert_ok(umbel_copy(w->shape, &w->other[i].filter, &test_refusal));
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        char key[TEST_KEY_LEN];
        umbel_slice slice = {key, sizeof key};
        test_key(i, key);
        um_store_digest(w->lists.store, &slice, 1, &w->digest[i]);
    }
}

static void close_world(world *w)
{
    um_store_close(w->lists.store);
    umbel_sync_close(w->lists.machine);
    for (size_t i = 0; i < OTHERS; i++) {
        umbel_sync_close(w->other[i].machine);
        umbel_close(w->other[i].filter);
    }
    umbel_close(w->shape);
    test_dir_remove(w->dir);
}

/* Draws a key; a few keys are frequent. */
static const umbel_digest *draw(world *w, uint32_t *amount)
{
    uint64_t key = um_random_below(&w->rng, KEYS);

    *amount = 1 + (uint32_t)um_random_below(&w->rng, key % 7 ? 4 : 60);
    return &w->digest[key];
}

static void report_here(world *w)
{
    um_entry e = {.list = LIST};
    uint64_t ticket;

    e.digest = *draw(w, &e.amount);
    assert_ok(um_store_add(w->lists.store, &e, 1, w->clock.now, &ticket,
                           &test_refusal));
}

static void report_there(world *w)
{
    const peer *p = &w->other[um_random_below(&w->rng, OTHERS)];
    uint32_t amount;
    const umbel_digest *d = draw(w, &amount);

    if (umbel_added(p->filter) < CAPACITY)
        while (amount--)
            assert_ok(umbel_add_digests(p->filter, d, 1, NULL, &test_refusal));
}

static bool carry(umbel_sync *from, int to_whom, umbel_sync *to, int number,
                  uint64_t now)
{
    umbel_slice m;

    if (!umbel_sync_next(from, to_whom, now, &m))
        return false;
    assert_ok(
        umbel_sync_receive(to, number, m.data, m.len, now, &test_refusal));
    return true;
}

/* Lets a random peer publish, and the server receive all of it. */
static void receive(world *w)
{
    const peer *p = &w->other[um_random_below(&w->rng, OTHERS)];
    umbel_sync *here = w->lists.machine;
    uint64_t now = w->clock.now;
    int there, number;

    assert_ok(umbel_sync_publish(p->machine, LIST,
                                 umbel_sync_epoch(p->machine, LIST), p->filter,
                                 &test_refusal));
    assert_ok(umbel_sync_connect(here, &there, &test_refusal));
    assert_ok(umbel_sync_connect(p->machine, &number, &test_refusal));
    while (carry(here, there, p->machine, number, now) ||
           carry(p->machine, number, here, there, now))
        continue;
    umbel_sync_disconnect(here, there);
    umbel_sync_disconnect(p->machine, number);
}

static void begin_day(world *w)
{
    w->clock.now += DAY;
    assert_ok(um_store_flush(w->lists.store, &test_refusal));
    um_store_tick(w->lists.store, w->clock.now);
    umbel_sync_tick(w->lists.machine, w->clock.now);
    for (size_t i = 0; i < OTHERS; i++) {
        umbel_filter *fresh;
        assert_ok(umbel_copy(w->shape, &fresh, &test_refusal));
        umbel_close(w->other[i].filter);
        w->other[i].filter = fresh;
        umbel_sync_tick(w->other[i].machine, w->clock.now);
    }
}

/*
 * Checks the verdicts. Returns true if the list has upper bounds, not counts.
 */
static bool check_verdicts(world *w)
{
    uint64_t count[KEYS], most[KEYS];
    uint64_t threshold = 1 + um_random_below(&w->rng, 90);
    bool reached[KEYS];

    um_lists_count(&w->lists, LIST, w->digest, KEYS, count);
    um_lists_reaches(&w->lists, LIST, w->digest, KEYS, threshold, reached);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(reached[i], count[i] >= threshold);
    return !um_store_upper_bound(w->lists.store, LIST, w->digest, KEYS, most);
}

static void run_event(world *w)
{
    uint64_t what = um_random_below(&w->rng, 200);

    if (what < 70)
        report_here(w);
    else if (what < 110)
        report_there(w);
    else if (what < 150)
        um_store_build_totals(w->lists.store);
    else if (what < 190)
        umbel_sync_index(w->lists.machine);
    else if (what < 197)
        receive(w);
    else if (what < 199)
        begin_day(w);
    else
        umbel_sync_set_trust(w->lists.machine, LIST,
                             1 + (uint32_t)um_random_below(&w->rng, 3),
                             um_random_below(&w->rng, 20));
}

static void verdicts_are_as_counts_say(void **state)
{
    (void)state;
    unsigned bounded = 0;

    for (uint64_t seed = 1; seed <= 8; seed++) {
        world w;
        open_world(&w, seed);
        for (int i = 0; i < 800; i++) {
            run_event(&w);
            bounded += check_verdicts(&w);
        }
        close_world(&w);
    }
    assert_true(bounded > 1000);
}

static void verdicts_without_peers_are_as_counts_say(void **state)
{
    (void)state;
    world w;
    unsigned bounded = 0;

    open_world(&w, 7);
    for (int i = 0; i < 800; i++) {
        umbel_sync *machine = w.lists.machine;
        run_event(&w);
        w.lists.machine = NULL;
        bounded += check_verdicts(&w);
        w.lists.machine = machine;
    }
    assert_true(bounded > 100);
    close_world(&w);
}

TEST_GROUP(counts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_as_counts_say),
        cmocka_unit_test(verdicts_without_peers_are_as_counts_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
