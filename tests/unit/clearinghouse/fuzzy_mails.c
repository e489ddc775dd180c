/*
 * fuzzy_mails.c - what several servers report about a mail, if one of them
 * lies.
 */
#include "clearinghouse/lists/fuzzy_mails.h"
#include "clearinghouse/lists/internal.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum { SERVERS = 4, NOW = 1000000, FLAG = 11, OTHER = 12 };

typedef struct servers {
    um_config config;
    um_clock clock;
    um_lists lists;
    um_fuzzy_view view;
    umbel_filter *filter[SERVERS];
    uint8_t origin[SERVERS][UMBEL_ORIGIN_LEN];
} servers;

/* Opens four servers; the first one is our own. */
static servers *open_servers(uint64_t quorum)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    servers *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->clock.now = NOW;
    s->config.peers.quorum = quorum;
    s->config.peers.revoke_quorum = quorum;
    s->lists = (um_lists){.clock = &s->clock,
                          .config = &s->config,
                          .machine = (umbel_sync *)(void *)s}; /* not NULL */
    s->view = (um_fuzzy_view){.lists = &s->lists, .n = SERVERS, .own = 1};
    p.capacity = 100;
    for (unsigned i = 0; i < SERVERS; i++) {
        assert_ok(umbel_create(UM_NEAR_KIND, &p, &s->filter[i], &test_refusal));
        s->origin[i][0] = (uint8_t)i;
        s->view.source[i].filter = s->filter[i];
        s->view.source[i].origin = i ? s->origin[i] : NULL;
    }
    return s;
}

static void close_servers(servers *s)
{
    for (unsigned i = 0; i < SERVERS; i++)
        umbel_close(s->filter[i]);
    free(s);
}

static void append(servers *s, unsigned server, uint8_t flag, bool gone,
                   uint32_t stamp)
{
    um_near_write w = {.digest = {1, 2},
                       .name = {3},
                       .flag = flag,
                       .gone = gone,
                       .amount = 10,
                       .stamp = stamp};

    assert_ok(um_near_append(s->filter[server], &w, &test_refusal));
}

static um_fuzzy_mail ask(const servers *s)
{
    um_fuzzy_mail m;

    um_fuzzy_ask(&s->view, &(umbel_digest){1, 2}, NULL, &m);
    return m;
}

/* Returns the number of servers that deleted the mail at `since` or later. */
static uint64_t deleters(const servers *s, uint32_t since)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < SERVERS; i++) {
        bool deleted = false;
        for (unsigned k = 0; k < SERVERS; k++) {
            const uint8_t *a = s->view.source[i].origin;
            const uint8_t *b = s->view.source[k].origin;
            um_near_record r;
            if (a == b &&
                um_near_find(s->filter[k], &(umbel_digest){1, 2}, NULL, &r))
                deleted |= r.gone && r.stamp >= since;
        }
        for (unsigned k = 0; k < i; k++) /* each server once */
            deleted &= s->view.source[k].origin != s->view.source[i].origin;
        n += deleted;
    }
    return n;
}

/*
 * Tries every state of four filters, two of which may belong to one server:
 * nothing, a mail, or a deletion at one of three times.
 */
static void a_deletion_holds_from_where_enough_servers_have_one(void **state)
{
    enum { STATES = 5, ALL = STATES * STATES * STATES * STATES };

    (void)state;
    for (unsigned run = 0; run < 2 * SERVERS * ALL; run++) {
        unsigned quorum = run % SERVERS + 1, rest = run / SERVERS / 2;
        servers *s = open_servers(quorum);
        uint32_t want = 0;
        if (run / SERVERS % 2)
            s->view.source[3].origin = s->view.source[2].origin;
        for (unsigned i = 0; i < SERVERS; i++, rest /= STATES)
            if (rest % STATES)
                append(s, i, FLAG, rest % STATES > 1, NOW - rest % STATES);
        for (uint32_t at = NOW - STATES; at <= NOW; at++)
            if (deleters(s, at) >= quorum)
                want = at;
        assert_int_equal(ask(s).deleted, want);
        close_servers(s);
    }
}

static void one_server_with_another_flag_hides_nothing(void **state)
{
    servers *s = open_servers(2);

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        append(s, i, FLAG, false, NOW - 10);
    append(s, 3, OTHER, false, NOW);
    um_fuzzy_mail m = ask(s);
    assert_true(m.there && m.written);
    assert_int_equal(m.flag, FLAG);
    assert_int_equal(m.value, 30);
    append(s, 2, OTHER, false, NOW + 1); /* two have it, and later */
    m = ask(s);
    assert_true(m.there);
    assert_int_equal(m.flag, OTHER);
    assert_int_equal(m.value, 20);
    close_servers(s);
}

static void stamps_from_the_future_do_not_count(void **state)
{
    servers *s = open_servers(1);

    (void)state;
    append(s, 0, FLAG, false, NOW - 10);
    append(s, 1, OTHER, false, UINT32_MAX);
    append(s, 2, FLAG, false, UINT32_MAX);
    append(s, 3, FLAG, true, UINT32_MAX);
    um_fuzzy_mail m = ask(s);
    assert_true(m.there);
    assert_int_equal(m.flag, FLAG);
    assert_int_equal(m.value, 10);
    assert_int_equal(m.latest, NOW - 10);
    assert_int_equal(m.deleted, 0);
    close_servers(s);
}

/* With too few servers the mail is not reported, but marked as written. */
static void too_few_servers_tell_nothing(void **state)
{
    servers *s = open_servers(2);

    (void)state;
    append(s, 1, FLAG, false, NOW - 10);
    append(s, 2, OTHER, false, NOW - 5);
    um_fuzzy_mail m = ask(s);
    assert_true(m.written && !m.there);
    assert_int_equal(m.flag, OTHER);
    close_servers(s);
}

TEST_GROUP(fuzzy_mails)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deletion_holds_from_where_enough_servers_have_one),
        cmocka_unit_test(one_server_with_another_flag_hides_nothing),
        cmocka_unit_test(stamps_from_the_future_do_not_count),
        cmocka_unit_test(too_few_servers_tell_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
