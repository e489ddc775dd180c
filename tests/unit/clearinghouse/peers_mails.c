/*
 * peers_mails.c - mails and counts that no peer has received when a server
 * starts a new incarnation: they are restored, or their loss is logged.
 */
#include "base/rng.h"
#include "clearinghouse/peering/internal.h"
#include "support/test.h"

#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOW = 12 * 86400, DAY = 86400 };

/* Linked with --wrap: realloc fails while no_more is set. */
static bool no_more;
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return no_more ? NULL : __real_realloc(p, n);
}

/* The parts of a server that concern mails and peers. */
typedef struct server {
    um_log log;
    um_clock clock;
    um_peers peers;
    umbel_filter *shape;
    char *data, *replicas, *logged;
    size_t logged_len;
} server;

static unsigned mail_list(void)
{
    return UM_LIST_FUZZY;
}

/* Returns some list of counts. */
static unsigned count_list(void)
{
    return mail_list() == 0;
}

static umbel_status consume_note(void *ctx, const um_list *const *lists,
                                 size_t nlists, umbel_slice name,
                                 umbel_slice value, umbel_error *err)
{
    (void)ctx, (void)lists, (void)nlists, (void)name, (void)value, (void)err;
    return UMBEL_OK;
}

static void write_notes(void *ctx, um_store *store)
{
    (void)ctx, (void)store;
}

static void open_store(server *s)
{
    um_list_config lists[UM_MAX_LISTS];
    um_store_config c = {.dir = s->data,
                         .durability = UM_DURABILITY_NONE,
                         .lists = lists,
                         .observer = {.reset_key = "leader",
                                      .prefix = "published/",
                                      .on_value = consume_note,
                                      .before_snapshot = write_notes,
                                      .on_count = um_peers_counted,
                                      .on_mail = um_peers_written,
                                      .ctx = &s->peers}};

    for (; um_list_name(c.nlists); c.nlists++)
        lists[c.nlists] = (um_list_config){
            .name = um_list_name(c.nlists),
            .kind = c.nlists == mail_list() ? UM_NEAR_KIND : "table",
            .capacity = c.nlists == mail_list() ? 2 * UM_MAILS_MAX : 100,
            .error = 1e-3,
            .epoch_seconds = DAY,
            .epochs = 2};
    assert_ok(um_store_open(&c, NOW, &s->peers.store, &test_refusal));
    struct pollfd ready = {.fd = um_store_event(s->peers.store),
                           .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 60000), 1); /* its journal was created */
    um_store_tick(s->peers.store, NOW);
}

static void open_machine(server *s)
{
    uint8_t key[UMBEL_ORIGIN_SECRET_LEN], public[UMBEL_ORIGIN_LEN];
    umbel_sync_params p = UMBEL_SYNC_INIT;
    um_replica_store_config c = {.dir = s->replicas, .list = um_list_name};

    assert_int_equal(crypto_sign_keypair(public, key), 0);
    p.sign_key = key;
    p.incarnation = p.session = 1;
    assert_ok(umbel_sync_open(&p, &s->peers.machine, &test_refusal));
    c.machine = s->peers.machine;
    assert_ok(um_replica_store_open(&c, &s->peers.replicas, &test_refusal));
}

static void open_server(server *s)
{
    *s = (server){
        .clock.now = NOW, .data = test_dir_make(), .replicas = test_dir_make()};
    um_log_init(&s->log, NOW);
    s->log.to = open_memstream(&s->logged, &s->logged_len);
    assert_non_null(s->log.to);
    s->peers.log = &s->log;
    s->peers.clock = &s->clock;
    assert_ok(um_latest_open(&s->peers, &test_refusal));
    assert_ok(um_mails_open(&s->peers, &test_refusal));
    open_store(s);
    open_machine(s);
}

static void close_server(server *s)
{
    um_replica_store_close(s->peers.replicas);
    umbel_sync_close(s->peers.machine);
    um_store_close(s->peers.store);
    free(s->peers.latest.item);
    free(s->peers.mails.item);
    fclose(s->log.to);
    free(s->logged);
    test_dir_remove(s->data);
    test_dir_remove(s->replicas);
}

static const char *log_of(server *s)
{
    fflush(s->log.to);
    return s->logged;
}

static um_near_write mail_of(uint64_t i)
{
    um_rng rng = {i};
    um_near_write w = {.flag = 1, .amount = 10, .stamp = 1};

    w.digest = (umbel_digest){.lo = um_random(&rng), .hi = um_random(&rng)};
    memcpy(w.name, &w.digest, sizeof w.digest);
    return w;
}

static void write_mails(server *s, uint64_t first, uint64_t end)
{
    uint64_t ticket;

    for (uint64_t i = first; i < end; i++) {
        um_near_write w = mail_of(i);
        assert_ok(um_store_write_mail(s->peers.store, mail_list(), &w, NOW,
                                      &ticket, &test_refusal));
        if (i % 1000 == 0)
            assert_ok(um_store_flush(s->peers.store, &test_refusal));
    }
}

static bool has_mail(const server *s, uint64_t i)
{
    const um_list *l = um_store_list(s->peers.store, mail_list());
    um_near_write w = mail_of(i);
    um_near_record r;

    return um_near_find(um_list_filter(l, 0), &w.digest, w.name, &r) &&
           r.value == 10;
}

static void all_that_is_remembered_is_written_again(void **state)
{
    (void)state;
    server s;

    open_server(&s);
    write_mails(&s, 1, 1 + UM_MAILS_MAX);
    assert_int_equal(um_mails_lost(&s.peers), 0);
    um_peers_renew(&s.peers);
    assert_string_equal(log_of(&s), "");
    for (uint64_t i = 1; i <= UM_MAILS_MAX; i++)
        assert_true(has_mail(&s, i));
    close_server(&s);
}

static void mails_that_are_lost_are_in_the_log(void **state)
{
    (void)state;
    server s;

    open_server(&s);
    write_mails(&s, 1, 1 + UM_MAILS_MAX + 3);
    assert_int_equal(um_mails_lost(&s.peers), 3);
    um_peers_renew(&s.peers);
    assert_non_null(strstr(log_of(&s),
                           "list fuzzy: up to 3 mails that no peer had yet "
                           "are lost: write or delete again what came since"));
    for (uint64_t i = 1; i <= UM_MAILS_MAX + 3; i++)
        assert_int_equal(has_mail(&s, i), i > 3);
    close_server(&s);
}

static void mails_that_are_published_are_not_lost(void **state)
{
    (void)state;
    server s;

    open_server(&s);
    write_mails(&s, 1, 10);
    s.peers.mails.published[mail_list()] = s.peers.mails.n;
    write_mails(&s, 10, 10 + UM_MAILS_MAX);
    assert_int_equal(um_mails_lost(&s.peers), 0);
    write_mails(&s, 10 + UM_MAILS_MAX, 12 + UM_MAILS_MAX);
    assert_int_equal(um_mails_lost(&s.peers), 2);
    close_server(&s);
}

static void missing_memory_is_in_the_log_and_counted(void **state)
{
    (void)state;
    server s;

    open_server(&s);
    um_mails_prune(&s.peers); /* as at a start, when nothing is left */
    write_mails(&s, 1, 2);    /* uses the only slot */
    assert_int_equal(um_mails_lost(&s.peers), 0);
    no_more = true;
    for (uint64_t i = 2; i < 6; i++) {
        um_near_write w = mail_of(i);
        um_peers_written(&s.peers, mail_list(), &w);
    }
    no_more = false;
    const char *line = strstr(log_of(&s), "out of memory: only the last 1 "
                                          "mails that no peer has yet are");
    assert_non_null(line);
    assert_null(strstr(line + 1, "out of memory")); /* logged once */
    assert_int_equal(um_mails_lost(&s.peers), 4);
    close_server(&s);
}

/* Reports ten digests in turn. */
static void report(server *s, uint64_t first, uint64_t end)
{
    uint64_t ticket;

    for (uint64_t i = first; i < end; i++) {
        um_entry e = {count_list(), 1, mail_of(i % 10).digest, 0, 0};
        assert_ok(
            um_store_add(s->peers.store, &e, 1, NOW, &ticket, &test_refusal));
        if (i % 1000 == 0)
            assert_ok(um_store_flush(s->peers.store, &test_refusal));
    }
}

static uint64_t reported(const server *s)
{
    uint64_t sum = 0, count;

    for (uint64_t i = 0; i < 10; i++) {
        umbel_digest d = mail_of(i).digest;
        um_store_count(s->peers.store, count_list(), &d, 1, &count);
        sum += count;
    }
    return sum;
}

static uint64_t lost_counts(const server *s)
{
    return s->peers.latest.lost[count_list()];
}

static void counts_that_are_remembered_are_counted_again(void **state)
{
    (void)state;
    server s;

    open_server(&s);
    report(&s, 0, UM_LATEST_MAX);
    assert_int_equal(lost_counts(&s), 0);
    um_peers_renew(&s.peers);
    assert_string_equal(log_of(&s), "");
    assert_int_equal(reported(&s), UM_LATEST_MAX);
    close_server(&s);
}

static void counts_that_are_lost_are_in_the_log(void **state)
{
    (void)state;
    server s;

    open_server(&s);
    report(&s, 0, UM_LATEST_MAX + 3);
    assert_int_equal(lost_counts(&s), 3);
    um_peers_renew(&s.peers);
    assert_non_null(strstr(log_of(&s), "up to 3 counts that no peer had yet "
                                       "are lost: this server remembers the "
                                       "last 131072"));
    assert_non_null(strstr(log_of(&s), um_list_name(count_list())));
    assert_int_equal(reported(&s), UM_LATEST_MAX);
    assert_int_equal(lost_counts(&s), 0);
    close_server(&s);
}

static void counts_that_are_published_are_not_lost(void **state)
{
    (void)state;
    server s;

    open_server(&s);
    report(&s, 0, 5);
    um_latest_published(&s.peers, count_list(), 5);
    report(&s, 5, 5 + UM_LATEST_MAX);
    assert_int_equal(lost_counts(&s), 0);
    report(&s, 0, 2); /* 5 and 6 are dropped */
    assert_int_equal(lost_counts(&s), 2);
    um_latest_published(&s.peers, count_list(), 6);
    assert_int_equal(lost_counts(&s), 2); /* an upper bound */
    um_latest_published(&s.peers, count_list(), 7);
    assert_int_equal(lost_counts(&s), 0);
    close_server(&s);
}

static void memory_that_is_missing_for_counts_is_in_the_log(void **state)
{
    (void)state;
    server s;
    um_entry e = {.list = count_list(), .amount = 1};

    open_server(&s);
    report(&s, 0, s.peers.latest.cap);
    no_more = true;
    for (unsigned i = 0; i < 4; i++)
        um_peers_counted(&s.peers, &e);
    no_more = false;
    const char *line = strstr(log_of(&s), "out of memory: only the last 1024 "
                                          "counts that no peer has yet");
    assert_non_null(line);
    assert_null(strstr(line + 1, "out of memory")); /* logged once */
    assert_int_equal(lost_counts(&s), 4);
    close_server(&s);
}

TEST_GROUP(peers_mails)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_remembered_is_written_again),
        cmocka_unit_test(mails_that_are_lost_are_in_the_log),
        cmocka_unit_test(mails_that_are_published_are_not_lost),
        cmocka_unit_test(missing_memory_is_in_the_log_and_counted),
        cmocka_unit_test(counts_that_are_remembered_are_counted_again),
        cmocka_unit_test(counts_that_are_lost_are_in_the_log),
        cmocka_unit_test(counts_that_are_published_are_not_lost),
        cmocka_unit_test(memory_that_is_missing_for_counts_is_in_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
