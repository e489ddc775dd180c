/*
 * memory.c - each allocation of an exchange fails once: no call does harm, and
 * when memory is available again, every server gets everything.
 */
#include "support/sync.h"

#include <stdlib.h>

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *old, size_t len);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void *__wrap_realloc(void *old, size_t len);

static size_t allocations, fail_at; /* 0: none fails */

static bool fails(void)
{
    return fail_at && ++allocations == fail_at;
}

void *__wrap_malloc(size_t len)
{
    return fails() ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t n, size_t len)
{
    return fails() ? NULL : __real_calloc(n, len);
}

void *__wrap_realloc(void *old, size_t len)
{
    return fails() ? NULL : __real_realloc(old, len);
}

static umbel_status publish(const test_sync_server *s)
{
    return umbel_sync_publish(s->machine, 0, 0, s->own, NULL);
}

static void exchange(test_sync_link *l, uint64_t now)
{
    test_sync_run(l, now);
    test_sync_run(l, now + 31);
    test_sync_run(l, now + 62);
}

/*
 * Runs a first exchange, a difference, a log entry, a dropped origin. Returns
 * false if fewer than nth allocations were made.
 */
static bool live_through(size_t nth, uint32_t slice_pages)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    umbel_filter *saved = NULL;
    uint8_t origin[UMBEL_ORIGIN_LEN] = {1};

    a.list.page_bytes = b.list.page_bytes = 512;
    a.params.limits.slice_pages = b.params.limits.slice_pages = slice_pages;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_connect(&l, &a, &b);
    for (uint64_t i = 0; i < 20; i++)
        test_sync_add(&a, i, 1);
    allocations = 0;
    fail_at = nth;
    publish(&a);
    test_sync_run(&l, 1000);
    test_sync_add(&a, 20, 1);
    publish(&a);
    test_sync_run(&l, 1001);
    umbel_sync_log_append(b.machine, UMBEL_SYNC_LOG_FIRST,
                          (umbel_slice){"x", 1}, NULL, NULL);
    umbel_sync_drop(b.machine, origin, true, NULL);
    test_sync_run(&l, 1002);
    if (!umbel_sync_export(a.machine, 1, &saved, NULL))
        umbel_close(saved);
    bool reached = allocations >= nth;
    fail_at = 0;
    assert_ok(publish(&a));
    exchange(&l, 2000);
    assert_true(test_sync_word(&a) == test_sync_word(&b));
    for (uint64_t i = 0; i <= 20; i++)
        assert_true(test_sync_count(&b, i) >= 1);
    test_sync_close(&a);
    test_sync_close(&b);
    return reached;
}

static void an_exchange_survives_each_allocation_that_fails(void **state)
{
    (void)state;
    for (uint32_t slice_pages = 0; slice_pages < 2; slice_pages++) {
        size_t n = 1;
        while (live_through(n, slice_pages))
            n++;
        print_message("%zu allocations\n", n - 1);
        assert_true(n > 50);
    }
}

TEST_GROUP(memory)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_survives_each_allocation_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
