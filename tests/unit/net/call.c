/* call.c - outgoing connections, and peers that both send much. */
#include "support/test.h"

#include "net/server/socket.h"
#include "net/server/stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLOOD = 8 << 20, PATIENCE_MS = 20000 };

/* One side of the connection. */
typedef struct side {
    um_loop *loop;
    um_listener *listener;
    size_t opened, closed, ended, got;
    um_end why;
    bool seen;      /* it got the data passed to the call */
    um_timer *pace; /* NULL: reads as fast as it can */
    um_stream *paused;
    bool may_take;
    size_t pauses;
} side;

typedef struct fixture {
    um_loop *loop;
    um_timer *patience;
    side server, caller;
    um_stream *call;
    um_address address;
    char path[UM_ADDRESS_TEXT], *dir;
} fixture;

/* --- a protocol: both send a flood at once, and end when they have got one ---
 */

static void send_flood(um_stream *s)
{
    side *own = um_stream_ctx(s);
    char *bytes = calloc(1, FLOOD);

    assert_non_null(bytes);
    own->opened++;
    um_stream_write(s, (umbel_slice){bytes, FLOOD});
    free(bytes);
}

/* Returns true, and pauses the stream, if it already read in this iteration. */
static bool must_pause(side *own, um_stream *s)
{
    if (!own->pace || own->may_take) {
        own->may_take = false;
        return false;
    }
    own->pauses++;
    own->paused = s;
    um_stream_pause(s);
    um_timer_set(own->pace, 0, 0);
    return true;
}

static void go_on(void *ctx)
{
    side *own = ctx;

    own->may_take = true;
    um_stream_resume(own->paused);
}

static size_t count_bytes(um_stream *s, const uint8_t *bytes, size_t len)
{
    side *own = um_stream_ctx(s);

    (void)bytes;
    if (must_pause(own, s))
        return 0;
    own->got += len;
    if (own->got == FLOOD)
        um_stream_end(s, UM_END_DONE);
    return len;
}

static void note_close(um_stream *s)
{
    side *own = um_stream_ctx(s);

    own->closed++;
    own->seen = um_stream_data(s) == own;
}

static const um_stream_protocol flood = {
    .opened = send_flood, .take = count_bytes, .closed = note_close};

static void note_end(void *ctx, const um_address *client, um_end why)
{
    side *own = ctx;

    (void)client;
    own->ended++;
    own->why = why;
    if (own->seen) /* the caller's side, which ends last */
        um_loop_stop(own->loop);
}

/* --- the fixture ------------------------------------------------------------
 */

static void abandon(void *ctx)
{
    (void)ctx;
    fail_msg("the loop did not end");
}

static void open_side(fixture *s, side *own, int fd)
{
    own->loop = s->loop;
    assert_ok(um_listener_open(
        s->loop, fd,
        &(um_listener_config){.protocol = &flood,
                              .limits = {.unread = (size_t)2 * FLOOD},
                              .duplex = true,
                              .ended = note_end,
                              .ctx = own},
        &own->listener, &test_refusal));
}

static int set_up(void **state)
{
    fixture *s = calloc(1, sizeof *s);

    assert_non_null(s);
    assert_ok(um_loop_open(&s->loop, &test_refusal));
    assert_ok(um_timer_open(s->loop, PATIENCE_MS, 0, abandon, s, &s->patience,
                            &test_refusal));
    open_side(s, &s->caller, -1);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    fixture *s = *state;

    um_listener_close(s->server.listener);
    um_listener_close(s->caller.listener);
    um_loop_close(s->loop);
    assert_int_equal(s->server.opened, s->server.closed);
    if (s->dir)
        test_dir_remove(s->dir);
    free(s);
    return 0;
}

static void listen_at(fixture *s, const char *where)
{
    um_address wanted;
    int fd;

    assert_ok(um_address_parse(where, &wanted, &test_refusal));
    assert_ok(um_socket_listen(&wanted, SOCK_STREAM, 0, &fd, &test_refusal));
    assert_ok(um_socket_address(fd, s->path, &s->address, &test_refusal));
    open_side(s, &s->server, fd);
}

static void call(fixture *s)
{
    assert_ok(um_listener_call(s->caller.listener, &s->address, &s->caller,
                               &s->call, &test_refusal));
    um_loop_run(s->loop);
    assert_true(s->caller.seen);
    assert_int_equal(s->caller.closed, 1);
    assert_int_equal(s->caller.ended, 1);
}

/* --- tests ---------------------------------------------------------------- */

static void peers_that_both_send_do_not_stop_each_other(void **state)
{
    fixture *s = *state;

    listen_at(s, "127.0.0.1:0");
    call(s);
    assert_int_equal(s->caller.got, FLOOD);
    assert_int_equal(s->server.got, FLOOD);
    assert_int_equal(s->caller.why, UM_END_DONE);
}

static void a_side_that_pauses_gets_everything(void **state)
{
    fixture *s = *state;

    listen_at(s, "127.0.0.1:0");
    assert_ok(um_timer_open(s->loop, PATIENCE_MS, 0, go_on, &s->server,
                            &s->server.pace, &test_refusal));
    call(s);
    assert_int_equal(s->caller.got, FLOOD);
    assert_int_equal(s->server.got, FLOOD);
    assert_in_range(s->server.pauses, 2, FLOOD);
    um_timer_close(s->server.pace);
}

static void unix_sockets_are_called_alike(void **state)
{
    fixture *s = *state;
    char *path;

    s->dir = test_dir_make();
    path = test_path(s->dir, "socket");
    listen_at(s, path);
    call(s);
    assert_int_equal(s->caller.got, FLOOD);
    assert_int_equal(s->server.got, FLOOD);
    free(path);
}

static void a_call_that_nobody_takes_ends_without_being_opened(void **state)
{
    fixture *s = *state;

    listen_at(s, "127.0.0.1:0");
    um_listener_close(s->server.listener);
    s->server.listener = NULL;
    call(s);
    assert_int_equal(s->caller.opened, 0);
    assert_int_equal(s->caller.why, UM_END_IO);
    /* Nor if there is no socket. */
    s->caller = (side){.loop = s->loop, .listener = s->caller.listener};
    s->address = (um_address){.path = "/nowhere/at/all"};
    call(s);
    assert_int_equal(s->caller.opened, 0);
    assert_int_equal(s->caller.why, UM_END_IO);
}

static void a_call_under_way_ends_with_its_listener(void **state)
{
    fixture *s = *state;

    listen_at(s, "127.0.0.1:0");
    assert_ok(um_listener_call(s->caller.listener, &s->address, &s->caller,
                               &s->call, &test_refusal));
    um_listener_close(s->caller.listener);
    s->caller.listener = NULL;
    um_loop_run(s->loop);
    assert_int_equal(s->caller.closed, 1);
    assert_int_equal(s->caller.why, UM_END_SHUTDOWN);
}

TEST_GROUP(call)
{
#define ROW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(peers_that_both_send_do_not_stop_each_other),
        ROW(a_side_that_pauses_gets_everything),
        ROW(unix_sockets_are_called_alike),
        ROW(a_call_that_nobody_takes_ends_without_being_opened),
        ROW(a_call_under_way_ends_with_its_listener),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
