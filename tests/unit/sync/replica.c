/*
 * replica.c - the memory of replicas: it grows with their content, is counted,
 * and is at most what umbel_sync_full_memory computes.
 */
#include "support/sync.h"

#include <stdio.h>
#include <umbel/counting.h>

enum {
    SERVERS = 8,
    EPOCHS = 3,
    EPOCH = 1000,      /* seconds */
    CAPACITY = 240000, /* above a megabyte, where empty pages take nothing */
    FEW = 5,           /* keys of a server in an epoch */
    PAGE = 4096
};

static umbel_filter *large_shape(const char *kind)
{
    umbel_setting settings[] = {{"cell_bits", 5}};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.capacity = CAPACITY;
    p.fpr = 0.001;
    if (strcmp(kind, "counting") == 0) {
        p.settings = settings; /* pages of 4080 bytes: two of the kernel's */
        p.nsettings = 1;
    }
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    return f;
}

static void open_server(test_sync_server *s, const umbel_filter *shape,
                        uint64_t seed, uint64_t memory, bool indexed)
{
    *s = (test_sync_server){.list = {.shape = shape,
                                     .page_bytes = PAGE,
                                     .epoch_seconds = EPOCH,
                                     .epochs = EPOCHS,
                                     .indexed = indexed}};
    s->params.limits.memory = memory;
    test_sync_open(s, seed);
}

/* Starts an epoch with n keys of its own, and publishes it. */
static void begin_epoch(test_sync_server *s, uint64_t now, uint64_t n)
{
    umbel_sync_tick(s->machine, now);
    umbel_close(s->own);
    assert_ok(umbel_copy(s->shape, &s->own, &test_refusal));
    for (uint64_t i = 0; i < n; i++)
        test_sync_add(s, s->seed * CAPACITY + i, 1);
    test_sync_publish(s);
}

/* Connects each server with the first one, which forwards. */
static void exchange(test_sync_server *s, size_t n, uint64_t now)
{
    test_sync_link l;

    for (size_t round = 0; round < 2; round++)
        for (size_t i = 1; i < n; i++) {
            test_sync_connect(&l, &s[0], &s[i]);
            test_sync_run(&l, now);
            umbel_sync_disconnect(s[0].machine, l.peer[0]);
            umbel_sync_disconnect(s[i].machine, l.peer[1]);
        }
}

static uint64_t resident_bytes(void)
{
    unsigned long long all, resident;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llu %llu", &all, &resident), 2);
    fclose(f);
    return resident * 4096; /* or more, with larger pages */
}

static void check_agreement(const test_sync_server *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(s[i].events[UMBEL_SYNC_REFUSED], 0);
        assert_true(test_sync_word(&s[i]) == test_sync_word(&s[0]));
        assert_true(s[i].machine->memory <= s[i].params.limits.memory);
    }
}

/* Full replicas of two epochs would not fit. */
static void eight_servers_with_little_content_need_little_memory(void **state)
{
    umbel_filter *shape = large_shape("table");
    uint64_t full = umbel_encoded_len(shape);
    uint64_t before = resident_bytes();
    test_sync_server s[SERVERS];

    (void)state;
    for (uint64_t i = 0; i < SERVERS; i++)
        open_server(&s[i], shape, 1 + i, 2 * SERVERS * full, false);
    for (uint64_t e = 1; e <= EPOCHS + 1; e++) {
        for (size_t i = 0; i < SERVERS; i++)
            begin_epoch(&s[i], e * EPOCH, FEW);
        exchange(s, SERVERS, e * EPOCH);
        check_agreement(s, SERVERS);
    }
    for (size_t i = 0; i < SERVERS; i++) {
        assert_int_equal(s[i].machine->norder, SERVERS * EPOCHS);
        assert_int_equal(test_sync_count(&s[0], s[i].seed * CAPACITY), EPOCHS);
    }
    /* All copies of all servers. A sanitizer has memory of its own. */
#ifndef __SANITIZE_ADDRESS__
    assert_true(resident_bytes() - before <
                (uint64_t)SERVERS * SERVERS * EPOCHS * full / 4);
#else
    assert_true(resident_bytes() > before);
#endif
    for (size_t i = 0; i < SERVERS; i++)
        test_sync_close(&s[i]);
    umbel_close(shape);
}

static void full_replicas_take_what_was_computed(void **state)
{
    enum { FULL_SERVERS = 3 };
    const char *const kinds[] = {"table", "counting"};

    (void)state;
    for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
        umbel_filter *shape = large_shape(kinds[k]);
        umbel_sync_list list = {.shape = shape,
                                .page_bytes = PAGE,
                                .epochs = EPOCHS,
                                .indexed = true};
        test_sync_server s[FULL_SERVERS];
        umbel_sync_memory need;
        uint64_t least = UINT64_MAX;
        assert_ok(umbel_sync_full_memory(&list, 1, FULL_SERVERS - 1, &need,
                                         &test_refusal));
        for (uint64_t i = 0; i < FULL_SERVERS; i++)
            open_server(&s[i], shape, 1 + i, need.replicas + need.index, true);
        for (uint64_t e = 1; e <= EPOCHS + 1; e++) {
            for (size_t i = 0; i < FULL_SERVERS; i++)
                begin_epoch(&s[i], e * EPOCH, CAPACITY / 8);
            exchange(s, FULL_SERVERS, e * EPOCH);
            for (size_t i = 0; i < FULL_SERVERS; i++)
                while (umbel_sync_index(s[i].machine))
                    ;
            check_agreement(s, FULL_SERVERS);
        }
        for (size_t i = 0; i < FULL_SERVERS; i++) {
            uint64_t used = s[i].machine->memory;
            assert_true(um_totals_cover(s[i].machine, 0));
            assert_non_null(s[i].machine->list[0].index.bits.at);
            least = used < least ? used : least;
            test_sync_close(&s[i]);
        }
        assert_true(least > (need.replicas + need.index) /
                                2); /* it is no exaggeration either */
        umbel_close(shape);
    }
}

static void a_loaded_replica_takes_the_same_memory(void **state)
{
    umbel_filter *shape = large_shape("table"), *saved;
    test_sync_server s[2], again;

    (void)state;
    for (uint64_t i = 0; i < 2; i++)
        open_server(&s[i], shape, 1 + i, 0, true);
    uint64_t empty = s[1].machine->memory;
    begin_epoch(&s[0], EPOCH, FEW);
    umbel_sync_tick(s[1].machine, EPOCH);
    exchange(s, 2, EPOCH);
    uint64_t used = s[1].machine->memory;
    assert_in_range(used - empty, FEW * PAGE, umbel_encoded_len(shape) / 4);
    assert_ok(umbel_sync_export(s[1].machine, 1, &saved, &test_refusal));
    open_server(&again, shape, 2, 0, true);
    umbel_sync_tick(again.machine, EPOCH);
    assert_ok(umbel_sync_import(again.machine, saved, &test_refusal));
    assert_int_equal(again.machine->memory, used);
    assert_true(test_sync_word(&again) == test_sync_word(&s[1]));
    /* Nothing is left behind. */
    assert_ok(umbel_sync_drop(s[1].machine, umbel_sync_origin(s[0].machine),
                              false, &test_refusal));
    assert_int_equal(s[1].machine->memory, empty);
    umbel_close(saved);
    test_sync_close(&again);
    for (size_t i = 0; i < 2; i++)
        test_sync_close(&s[i]);
    umbel_close(shape);
}

static void a_replica_that_does_not_fit_is_refused_for_memory(void **state)
{
    umbel_filter *shape = large_shape("table");
    test_sync_server s[2];

    (void)state;
    open_server(&s[0], shape, 1, 0, false);
    open_server(&s[1], shape, 2, umbel_encoded_len(shape) / 2, false);
    begin_epoch(&s[0], EPOCH, CAPACITY / 4); /* no page stays empty */
    umbel_sync_tick(s[1].machine, EPOCH);
    exchange(s, 2, EPOCH);
    assert_true(s[1].events[UMBEL_SYNC_REFUSED] > 0);
    assert_int_equal(s[1].last_reason, UMBEL_SYNC_MEMORY);
    assert_non_null(strstr(s[1].last_text, "raise memory"));
    assert_int_equal(s[1].machine->norder, 0);
    assert_int_equal(s[1].machine->memory, 0);
    for (size_t i = 0; i < 2; i++)
        test_sync_close(&s[i]);
    umbel_close(shape);
}

static void an_epoch_that_ends_makes_room(void **state)
{
    umbel_filter *shape = large_shape("table");
    uint64_t full = umbel_encoded_len(shape);
    test_sync_server s[3];
    test_sync_link l[2];

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        open_server(&s[i], shape, 1 + i, i ? 0 : full * 3 / 2, false);
    s[0].machine->set.announce = true; /* as servers and umbel sync do */
    umbel_sync_tick(s[0].machine, EPOCH);
    for (size_t i = 0; i < 2; i++) {
        begin_epoch(&s[1 + i], EPOCH, CAPACITY / 8);
        test_sync_connect(&l[i], &s[0], &s[1 + i]);
        test_sync_run(&l[i], EPOCH);
    }
    assert_int_equal(s[0].machine->norder, 1);
    assert_int_equal(s[0].last_reason, UMBEL_SYNC_MEMORY);
    uint64_t now = (EPOCHS + 1) * EPOCH;
    umbel_sync_tick(s[0].machine, now);
    begin_epoch(&s[2], now, CAPACITY / 8);
    test_sync_run(&l[1], now);
    assert_int_equal(test_sync_count(&s[0], s[2].seed * CAPACITY), 1);
    for (size_t i = 0; i < 3; i++)
        test_sync_close(&s[i]);
    umbel_close(shape);
}

TEST_GROUP(replica)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_servers_with_little_content_need_little_memory),
        cmocka_unit_test(full_replicas_take_what_was_computed),
        cmocka_unit_test(a_loaded_replica_takes_the_same_memory),
        cmocka_unit_test(a_replica_that_does_not_fit_is_refused_for_memory),
        cmocka_unit_test(an_epoch_that_ends_makes_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
