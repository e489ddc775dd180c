/*
 * loop.c - timers, signals, descriptors, and the end of an iteration.
 */
#include "support/test.h"

#include "net/server/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct fixture {
    um_loop *loop;
    um_timer *timer;
    um_watch *watch;
    um_signal *signal;
    um_hook *hook;
    int pipe[2];
    size_t ticks, reads, signals, ends, ends_after_read;
} fixture;

static int set_up(void **state)
{
    fixture *s = calloc(1, sizeof *s);

    assert_non_null(s);
    assert_ok(um_loop_open(&s->loop, &test_refusal));
    assert_int_equal(pipe(s->pipe), 0);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    fixture *s = *state;

    um_loop_close(s->loop);
    close(s->pipe[0]);
    close(s->pipe[1]);
    free(s);
    return 0;
}

static void count_to_three(void *ctx)
{
    fixture *s = ctx;

    if (++s->ticks == 3)
        um_timer_close(s->timer);
}

static void a_loop_ends_when_nothing_is_left(void **state)
{
    fixture *s = *state;
    uint64_t before = um_loop_now(s->loop);

    um_loop_run(s->loop);
    assert_ok(um_timer_open(s->loop, 1, 2, count_to_three, s, &s->timer,
                            &test_refusal));
    um_loop_run(s->loop);
    assert_int_equal(s->ticks, 3);
    assert_true(um_loop_now(s->loop) >= before + 4);
}

static void stop(void *ctx)
{
    fixture *s = ctx;

    s->ticks++;
    um_loop_stop(s->loop);
}

static void a_timer_can_be_stopped_and_set_again(void **state)
{
    fixture *s = *state;

    assert_ok(um_timer_open(s->loop, 60000, 60000, stop, s, &s->timer,
                            &test_refusal));
    um_timer_stop(s->timer);
    um_loop_run(s->loop);
    assert_int_equal(s->ticks, 0);
    um_timer_set(s->timer, 1, 0);
    um_loop_run(s->loop);
    assert_int_equal(s->ticks, 1);
}

static void read_byte(void *ctx, unsigned events)
{
    fixture *s = ctx;
    char byte;

    assert_true(events & UM_READABLE);
    assert_int_equal(read(s->pipe[0], &byte, 1), 1);
    if (++s->reads == 3)
        um_watch_close(s->watch);
}

static void see_end(void *ctx)
{
    fixture *s = ctx;

    s->ends++;
    if (s->reads)
        s->ends_after_read++;
}

static void each_turn_with_events_has_its_end(void **state)
{
    fixture *s = *state;

    assert_int_equal(write(s->pipe[1], "abc", 3), 3);
    assert_ok(um_watch_open(s->loop, s->pipe[0], UM_READABLE, read_byte, s,
                            &s->watch, &test_refusal));
    assert_ok(um_hook_open(s->loop, see_end, s, &s->hook, &test_refusal));
    um_loop_run(s->loop); /* a hook alone does not keep it running */
    assert_int_equal(s->reads, 3);
    assert_true(s->ends >= 3);
    assert_true(s->ends_after_read >= 2);
}

static void never(void *ctx, unsigned events)
{
    (void)ctx;
    (void)events;
    fail();
}

static void a_watch_without_events_is_silent(void **state)
{
    fixture *s = *state;

    assert_int_equal(write(s->pipe[1], "abc", 3), 3);
    assert_ok(um_watch_open(s->loop, s->pipe[0], UM_READABLE, never, s,
                            &s->watch, &test_refusal));
    um_watch_events(s->watch, 0);
    assert_ok(um_timer_open(s->loop, 5, 0, stop, s, &s->timer, &test_refusal));
    um_loop_run(s->loop);
    assert_int_equal(s->ticks, 1);
}

static void got_signal(void *ctx, int number)
{
    fixture *s = ctx;

    assert_int_equal(number, SIGHUP);
    s->signals++;
    um_signal_close(s->signal);
}

static void signals_arrive_in_the_loop(void **state)
{
    fixture *s = *state;

    assert_ok(um_signal_open(s->loop, SIGHUP, got_signal, s, &s->signal,
                             &test_refusal));
    assert_int_equal(raise(SIGHUP), 0);
    um_loop_run(s->loop);
    assert_int_equal(s->signals, 1);
    assert_refused(
        um_signal_open(s->loop, 9999, got_signal, s, &s->signal, &test_refusal),
        UMBEL_E_IO, "a signal: ");
}

static void a_descriptor_that_cannot_be_polled_is_refused(void **state)
{
    fixture *s = *state;

    assert_refused(um_watch_open(s->loop, -1, UM_READABLE, never, s, &s->watch,
                                 &test_refusal),
                   UMBEL_E_IO, "a descriptor in the event loop: ");
}

TEST_GROUP(loop)
{
#define ROW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(a_loop_ends_when_nothing_is_left),
        ROW(a_timer_can_be_stopped_and_set_again),
        ROW(each_turn_with_events_has_its_end),
        ROW(a_watch_without_events_is_silent),
        ROW(signals_arrive_in_the_loop),
        ROW(a_descriptor_that_cannot_be_polled_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
