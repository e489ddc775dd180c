/*
 * test_house_fuzzy_mails.c - what servers say of a mail, together, if one of
 * them lies.
 */
#include "clearinghouse/fuzzy_mails.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum { SERVERS = 4, NOW = 1000000, FLAG = 11, OTHER = 12 };

typedef struct scene {
    um_house house;
    um_fuzzy_view view;
    umbel_filter *filter[SERVERS];
    uint8_t origin[SERVERS][UMBEL_ORIGIN_LEN];
} scene;

/* The first one is our own server. */
static scene *open_scene(uint64_t quorum)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    scene *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->house.now = NOW;
    s->house.machine = (umbel_sync *)(void *)s; /* that there is one */
    s->house.config.peers.quorum = quorum;
    s->house.config.peers.revoke_quorum = quorum;
    s->view = (um_fuzzy_view){.house = &s->house, .n = SERVERS, .own = 1};
    p.capacity = 100;
    for (unsigned i = 0; i < SERVERS; i++) {
        assert_ok(umbel_create(UM_NEAR_KIND, &p, &s->filter[i], &test_refusal));
        s->origin[i][0] = (uint8_t)i;
        s->view.source[i].filter = s->filter[i];
        s->view.source[i].origin = i ? s->origin[i] : NULL;
    }
    return s;
}

static void close_scene(scene *s)
{
    for (unsigned i = 0; i < SERVERS; i++)
        umbel_close(s->filter[i]);
    free(s);
}

static void put(scene *s, unsigned server, uint8_t flag, bool gone,
                uint32_t stamp)
{
    um_near_write w = {.digest = {1, 2},
                       .name = {3},
                       .flag = flag,
                       .gone = gone,
                       .amount = 10,
                       .stamp = stamp};

    assert_ok(um_near_put(s->filter[server], &w, &test_refusal));
}

static um_fuzzy_mail ask(const scene *s)
{
    um_fuzzy_mail m;

    um_fuzzy_ask(&s->view, &(umbel_digest){1, 2}, NULL, &m);
    return m;
}

static void one_server_with_another_flag_hides_nothing(void **state)
{
    scene *s = open_scene(2);

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        put(s, i, FLAG, false, NOW - 10);
    put(s, 3, OTHER, false, NOW);
    um_fuzzy_mail m = ask(s);
    assert_true(m.there && m.written);
    assert_int_equal(m.flag, FLAG);
    assert_int_equal(m.value, 30);
    put(s, 2, OTHER, false, NOW + 1); /* two have it, and they are later */
    m = ask(s);
    assert_true(m.there);
    assert_int_equal(m.flag, OTHER);
    assert_int_equal(m.value, 20);
    close_scene(s);
}

static void stamps_from_the_future_do_not_count(void **state)
{
    scene *s = open_scene(1);

    (void)state;
    put(s, 0, FLAG, false, NOW - 10);
    put(s, 1, OTHER, false, UINT32_MAX);
    put(s, 2, FLAG, false, UINT32_MAX);
    put(s, 3, FLAG, true, UINT32_MAX);
    um_fuzzy_mail m = ask(s);
    assert_true(m.there);
    assert_int_equal(m.flag, FLAG);
    assert_int_equal(m.value, 10);
    assert_int_equal(m.latest, NOW - 10);
    assert_int_equal(m.deleted, 0);
    close_scene(s);
}

/* Without enough servers it is not told, but somebody has it. */
static void too_few_servers_tell_nothing(void **state)
{
    scene *s = open_scene(2);

    (void)state;
    put(s, 1, FLAG, false, NOW - 10);
    put(s, 2, OTHER, false, NOW - 5);
    um_fuzzy_mail m = ask(s);
    assert_true(m.written && !m.there);
    assert_int_equal(m.flag, OTHER);
    close_scene(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server_with_another_flag_hides_nothing),
        cmocka_unit_test(stamps_from_the_future_do_not_count),
        cmocka_unit_test(too_few_servers_tell_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
