/*
 * stream.c - connections over loopback and unix sockets, good and bad.
 *
 * The protocol echoes lines. "stall" gets no reply, "end" a goodbye, "flood"
 * more than the system's buffers hold.
 */
#include "support/test.h"

#include "net/server/socket.h"
#include "net/server/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { FLOOD = 8 << 20, CLIENTS = 20, PATIENCE_MS = 20000 };

typedef struct fixture {
    um_loop *loop;
    um_listener *listener;
    um_connection_limits *limits;
    um_timer *step, *patience;
    um_address address;
    char *dir, path[UM_ADDRESS_TEXT];
    int fd[CLIENTS];
    size_t ended[UM_END_COUNT], all_ended, opened, closed;
    size_t want; /* connections that end before the loop stops */
    char got[1000];
    size_t ngot;
    int drip_left, drips_lost;
} fixture;

/* --- the protocol -----------------------------------------------------------
 */

static void send_greeting(um_stream *s)
{
    fixture *c = um_stream_ctx(s);

    c->opened++;
    um_stream_set_data(s, strdup("state of its own"));
}

static void farewell(um_stream *s)
{
    fixture *c = um_stream_ctx(s);

    c->closed++;
    assert_string_equal(um_stream_data(s), "state of its own");
    free(um_stream_data(s));
}

static void flood(um_stream *s)
{
    char *bytes = calloc(1, FLOOD);

    assert_non_null(bytes);
    um_stream_write(s, (umbel_slice){bytes, FLOOD});
    free(bytes);
}

static size_t consume_line(um_stream *s, const uint8_t *bytes, size_t len)
{
    const uint8_t *end = memchr(bytes, '\n', len);
    size_t n = end ? (size_t)(end - bytes) + 1 : 0;

    if (n == 6 && memcmp(bytes, "stall", 5) == 0)
        return n;
    if (n == 6 && memcmp(bytes, "flood", 5) == 0)
        flood(s);
    else if (n)
        um_stream_write(s, (umbel_slice){bytes, n});
    if (n == 4 && memcmp(bytes, "end", 3) == 0)
        um_stream_end(s, UM_END_DONE);
    return n;
}

static void consume_last(um_stream *s, const uint8_t *bytes, size_t len)
{
    um_stream_write(s, (umbel_slice){"last:", 5});
    um_stream_write(s, (umbel_slice){bytes, len});
    um_stream_end(s, UM_END_DONE);
}

static const um_stream_protocol echo = {.opened = send_greeting,
                                        .take = consume_line,
                                        .last = consume_last,
                                        .closed = farewell};

static void count_end(void *ctx, const um_address *client, um_end why)
{
    fixture *s = ctx;

    /* A connection that broke before it was accepted has no address. */
    assert_true(um_address_is_loopback(client) || why == UM_END_IO);
    s->ended[why]++;
    if (++s->all_ended == s->want)
        um_loop_stop(s->loop);
}

/* --- the fixture ------------------------------------------------------------
 */

static void abandon(void *ctx)
{
    (void)ctx;
    fail_msg("the loop did not end");
}

static int set_up(void **state)
{
    fixture *s = calloc(1, sizeof *s);

    assert_non_null(s);
    assert_ok(um_loop_open(&s->loop, &test_refusal));
    assert_ok(um_timer_open(s->loop, PATIENCE_MS, 0, abandon, s, &s->patience,
                            &test_refusal));
    for (int i = 0; i < CLIENTS; i++)
        s->fd[i] = -1;
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    fixture *s = *state;

    um_listener_close(s->listener);
    um_loop_close(s->loop);
    assert_int_equal(s->opened, s->closed);
    assert_int_equal(s->limits ? um_connection_limits_used(s->limits) : 0, 0);
    um_connection_limits_close(s->limits);
    for (int i = 0; i < CLIENTS; i++)
        if (s->fd[i] >= 0)
            close(s->fd[i]);
    if (s->dir)
        test_dir_remove(s->dir);
    free(s);
    return 0;
}

static void listen_at(fixture *s, const char *where, um_stream_limits limits)
{
    um_address wanted;
    int fd;

    assert_ok(um_address_parse(where, &wanted, &test_refusal));
    assert_ok(um_socket_listen(&wanted, SOCK_STREAM, 0, &fd, &test_refusal));
    assert_ok(um_socket_address(fd, s->path, &s->address, &test_refusal));
    assert_ok(um_listener_open(s->loop, fd,
                               &(um_listener_config){.protocol = &echo,
                                                     .limits = limits,
                                                     .connections = s->limits,
                                                     .ended = count_end,
                                                     .ctx = s},
                               &s->listener, &test_refusal));
}

static void listen_tcp(fixture *s, um_stream_limits limits)
{
    listen_at(s, "127.0.0.1:0", limits);
}

static int join(fixture *s)
{
    int fd;

    if (s->address.path) {
        assert_ok(um_socket_connect(s->address.path, &fd, &test_refusal));
        return fd;
    }
    fd = socket(s->address.ip.any.sa_family, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(
        connect(fd, &s->address.ip.any, um_address_len(&s->address)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Runs the loop until this many connections have ended. */
static void run_until_ended(fixture *s, size_t want)
{
    s->want = want;
    um_loop_run(s->loop);
    assert_int_equal(s->all_ended, want);
}

/* Returns all bytes that arrived up to the end of the connection. */
static const char *received(fixture *s, int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    s->ngot = 0;
    while (poll(&p, 1, 0) == 1) {
        ssize_t n = read(fd, s->got + s->ngot, sizeof s->got - 1 - s->ngot);
        if (n <= 0)
            break;
        s->ngot += (size_t)n;
    }
    s->got[s->ngot] = '\0';
    return s->got;
}

/* --- tests ------------------------------------------------------------------
 */

static void requests_are_taken_whole_and_in_order(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){0});
    s->fd[0] = join(s);
    say(s->fd[0], "one\ntwo\nthree\nend\nnot read\n");
    shutdown(s->fd[0], SHUT_WR);
    run_until_ended(s, 1);
    assert_string_equal(received(s, s->fd[0]), "one\ntwo\nthree\nend\n");
    assert_int_equal(s->ended[UM_END_DONE], 1);
}

static void unix_sockets_serve_alike(void **state)
{
    fixture *s = *state;
    char *path;

    s->dir = test_dir_make();
    path = test_path(s->dir, "socket");
    listen_at(s, path, (um_stream_limits){0});
    s->fd[0] = join(s);
    say(s->fd[0], "one\nend\n");
    shutdown(s->fd[0], SHUT_WR);
    run_until_ended(s, 1);
    assert_string_equal(received(s, s->fd[0]), "one\nend\n");
    free(path);
}

static void what_was_left_at_the_end_of_input_is_not_lost(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){0});
    s->fd[0] = join(s);
    say(s->fd[0], "one\nhalf a li");
    shutdown(s->fd[0], SHUT_WR);
    run_until_ended(s, 1);
    assert_string_equal(received(s, s->fd[0]), "one\nlast:half a li");
}

static void drip(void *ctx)
{
    fixture *s = ctx;

    /* Fails after the server has closed. */
    if (s->drip_left-- > 0)
        s->drips_lost +=
            send(s->fd[0], s->drip_left ? "x" : "\n", 1, MSG_NOSIGNAL) != 1;
    else
        shutdown(s->fd[0], SHUT_WR);
}

static void a_request_may_come_byte_by_byte(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){.idle_ms = PATIENCE_MS});
    s->fd[0] = join(s);
    s->drip_left = 5;
    assert_ok(um_timer_open(s->loop, 1, 1, drip, s, &s->step, &test_refusal));
    run_until_ended(s, 1);
    assert_string_equal(received(s, s->fd[0]), "xxxx\nlast:");
}

/* Closing immediately would reset the connection and lose the reply. */
static void the_end_waits_for_a_client_that_still_sends(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){0});
    s->fd[0] = join(s);
    say(s->fd[0], "end\n");
    s->drip_left = 5;
    assert_ok(um_timer_open(s->loop, 1, 1, drip, s, &s->step, &test_refusal));
    run_until_ended(s, 1);
    assert_int_equal(s->drips_lost, 0);
    assert_true(s->drip_left <= 0);
    assert_string_equal(received(s, s->fd[0]), "end\n");
    assert_int_equal(s->ended[UM_END_DONE], 1);
}

static void a_drip_is_ended_by_the_time_in_all(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){.idle_ms = PATIENCE_MS, .total_ms = 60});
    s->fd[0] = join(s);
    s->drip_left = 1 << 30;
    assert_ok(um_timer_open(s->loop, 1, 5, drip, s, &s->step, &test_refusal));
    run_until_ended(s, 1);
    assert_int_equal(s->ended[UM_END_TOO_SLOW], 1);
}

static void a_silent_client_is_ended(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){.idle_ms = 40});
    s->fd[0] = join(s);
    s->fd[1] = join(s);
    say(s->fd[1], "stall\nhalf a request");
    run_until_ended(s, 2);
    assert_int_equal(s->ended[UM_END_IDLE], 2);
    assert_true(um_end_is_refusal(UM_END_IDLE));
    assert_string_equal(um_end_name(UM_END_IDLE), "idle");
}

static void a_request_without_end_is_refused(void **state)
{
    fixture *s = *state;
    char text[201];

    listen_tcp(s, (um_stream_limits){.request = 100});
    memset(text, 'x', sizeof text);
    s->fd[0] = join(s);
    text[98] = '\n';
    text[99] = '\0';
    say(s->fd[0], text); /* 99 bytes: fits */
    s->fd[1] = join(s);
    text[98] = 'x';
    text[99] = 'x';
    text[200] = '\0';
    say(s->fd[1], text);
    shutdown(s->fd[1], SHUT_WR);
    run_until_ended(s, 1);
    assert_int_equal(s->ended[UM_END_TOO_LONG], 1);
    assert_int_equal(strlen(received(s, s->fd[0])), 99);
}

static void more_bytes_than_a_connection_may_send_end_it(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){.total = 10});
    s->fd[0] = join(s);
    say(s->fd[0], "stall\nstall\n");
    shutdown(s->fd[0], SHUT_WR);
    run_until_ended(s, 1);
    assert_int_equal(s->ended[UM_END_TOO_MUCH], 1);
}

static void a_client_that_never_reads_is_ended(void **state)
{
    fixture *s = *state;

    listen_tcp(s,
               (um_stream_limits){.idle_ms = 40, .unread = (size_t)2 * FLOOD});
    s->fd[0] = join(s);
    say(s->fd[0], "flood\nflood\nflood\n");
    run_until_ended(s, 1);
    assert_int_equal(s->ended[UM_END_UNREAD], 1);
}

static void replies_beyond_the_ceiling_end_it_at_once(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){.unread = 1000});
    s->fd[0] = join(s);
    say(s->fd[0], "flood\n");
    run_until_ended(s, 1);
    assert_int_equal(s->ended[UM_END_UNREAD], 1);
}

static bool read_some(fixture *s, int flags)
{
    static char bytes[FLOOD];
    ssize_t n = recv(s->fd[0], bytes, sizeof bytes, flags);

    if (n > 0)
        s->ngot += (size_t)n;
    return n > 0;
}

static void read_flood(void *ctx)
{
    read_some(ctx, MSG_DONTWAIT);
}

static void a_slow_reader_gets_everything_in_order(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){.unread = (size_t)2 * FLOOD});
    s->fd[0] = join(s);
    say(s->fd[0], "flood\nflood\nend\n");
    shutdown(s->fd[0], SHUT_WR);
    assert_ok(
        um_timer_open(s->loop, 1, 1, read_flood, s, &s->step, &test_refusal));
    run_until_ended(s, 1);
    while (read_some(s, 0))
        ;
    assert_int_equal(s->ngot, (size_t)2 * FLOOD + 4);
    assert_int_equal(s->ended[UM_END_DONE], 1);
}

static void who_finds_no_place_is_closed_at_once(void **state)
{
    fixture *s = *state;

    assert_ok(um_connection_limits_open(
        &(um_connection_limits_config){
            .total = 5, .per_network = 3, .limit_loopback = true},
        &s->limits, &test_refusal));
    listen_tcp(s, (um_stream_limits){.idle_ms = PATIENCE_MS});
    for (int i = 0; i < CLIENTS; i++)
        s->fd[i] = join(s);
    run_until_ended(s, CLIENTS - 3);
    assert_int_equal(s->ended[UM_END_NETWORK_FULL], CLIENTS - 3);
    assert_int_equal(um_listener_connections(s->listener), 3);
    assert_int_equal(um_connection_limits_used(s->limits), 3);
    /* The first clients are still served. */
    say(s->fd[0], "end\n");
    shutdown(s->fd[0], SHUT_WR);
    run_until_ended(s, CLIENTS - 2);
    assert_string_equal(received(s, s->fd[0]), "end\n");
    assert_int_equal(um_connection_limits_used(s->limits), 2);
}

static void a_broken_connection_is_forgotten(void **state)
{
    fixture *s = *state;
    struct linger abort_it = {.l_onoff = 1};

    listen_tcp(s, (um_stream_limits){0});
    s->fd[0] = join(s);
    say(s->fd[0], "half");
    setsockopt(s->fd[0], SOL_SOCKET, SO_LINGER, &abort_it, sizeof abort_it);
    close(s->fd[0]);
    s->fd[0] = -1;
    run_until_ended(s, 1);
    assert_int_equal(s->ended[UM_END_IO], 1);
}

static void a_stopped_listener_serves_whom_it_has(void **state)
{
    fixture *s = *state;

    listen_tcp(s, (um_stream_limits){0});
    s->fd[0] = join(s);
    s->fd[1] = join(s);
    say(s->fd[1], "end\n");
    shutdown(s->fd[1], SHUT_WR);
    run_until_ended(s, 1);
    um_listener_stop(s->listener);
    say(s->fd[0], "end\n");
    shutdown(s->fd[0], SHUT_WR);
    run_until_ended(s, 2);
    assert_string_equal(received(s, s->fd[0]), "end\n");
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(
        connect(fd, &s->address.ip.any, um_address_len(&s->address)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
}

static void sockets_of_dead_servers_are_replaced_and_no_other_file(void **state)
{
    fixture *s = *state;
    char *path;
    um_address a;
    int fd, other = -1;

    s->dir = test_dir_make();
    path = test_path(s->dir, "socket");
    assert_ok(um_address_parse(path, &a, &test_refusal));
    assert_ok(um_socket_listen(&a, SOCK_STREAM, 0600, &fd, &test_refusal));
    assert_refused(um_socket_listen(&a, SOCK_STREAM, 0, &other, &test_refusal),
                   UMBEL_E_IO, "cannot listen on /");
    close(fd); /* its file remains */
    assert_ok(um_socket_listen(&a, SOCK_STREAM, 0600, &fd, &test_refusal));
    close(fd);
    unlink(path);
    test_write_file(path, "precious", 8);
    assert_refused(um_socket_listen(&a, SOCK_STREAM, 0, &other, &test_refusal),
                   UMBEL_E_IO, "cannot listen on /");
    assert_int_equal(access(path, F_OK), 0);
    free(path);
}

TEST_GROUP(stream)
{
#define ROW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(requests_are_taken_whole_and_in_order),
        ROW(unix_sockets_serve_alike),
        ROW(what_was_left_at_the_end_of_input_is_not_lost),
        ROW(a_request_may_come_byte_by_byte),
        ROW(the_end_waits_for_a_client_that_still_sends),
        ROW(a_drip_is_ended_by_the_time_in_all),
        ROW(a_silent_client_is_ended),
        ROW(a_request_without_end_is_refused),
        ROW(more_bytes_than_a_connection_may_send_end_it),
        ROW(a_client_that_never_reads_is_ended),
        ROW(replies_beyond_the_ceiling_end_it_at_once),
        ROW(a_slow_reader_gets_everything_in_order),
        ROW(who_finds_no_place_is_closed_at_once),
        ROW(a_broken_connection_is_forgotten),
        ROW(a_stopped_listener_serves_whom_it_has),
        ROW(sockets_of_dead_servers_are_replaced_and_no_other_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
