/*
 * datagram.c - batches of datagrams over loopback, and their replies.
 */
#include "support/test.h"

#include "net/server/datagram.h"
#include "net/server/internal.h"
#include "net/server/socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CEILING = 100, REPLY = 50, MANY = 200 };

typedef struct fixture {
    um_loop *loop;
    um_datagrams *server;
    um_timer *timer;
    um_address address, last_peer;
    int client;
    size_t got, got_before, want, cut, biggest_batch, sum;
    bool late, silent, close_inside;
    um_datagrams_stats stats;
} fixture;

static void consume(void *ctx, const um_datagram *d, size_t n)
{
    fixture *s = ctx;

    if (n > s->biggest_batch)
        s->biggest_batch = n;
    for (size_t i = 0; i < n; i++) {
        s->cut += d[i].cut;
        s->sum += d[i].len;
        s->last_peer = *d[i].from;
        if (!s->late && !s->silent)
            um_datagrams_reply(s->server, d[i].from,
                               (umbel_slice){d[i].data, d[i].len});
    }
    s->got += n;
    if (s->close_inside)
        um_datagrams_close(s->server);
    if (s->got >= s->want)
        um_loop_stop(s->loop);
}

static int open_client(const um_address *to)
{
    int fd = socket(to->ip.any.sa_family, SOCK_DGRAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, &to->ip.any, um_address_len(to)), 0);
    return fd;
}

static void open_server(fixture *s, const char *where)
{
    char path[UM_ADDRESS_TEXT];
    um_address wanted;
    int fd;

    assert_ok(um_address_parse(where, &wanted, &test_refusal));
    assert_ok(um_socket_listen(&wanted, SOCK_DGRAM, 0, &fd, &test_refusal));
    assert_ok(um_socket_address(fd, path, &s->address, &test_refusal));
    assert_true(um_address_port(&s->address) > 0);
    assert_ok(um_datagrams_open(
        s->loop, fd,
        &(um_datagrams_config){
            .ceiling = CEILING, .reply = REPLY, .take = consume, .ctx = s},
        &s->server, &test_refusal));
    s->client = open_client(&s->address);
}

static int set_up(void **state)
{
    fixture *s = calloc(1, sizeof *s);

    assert_non_null(s);
    assert_ok(um_loop_open(&s->loop, &test_refusal));
    open_server(s, "127.0.0.1:0");
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    fixture *s = *state;

    if (!s->close_inside)
        um_datagrams_close(s->server);
    um_loop_close(s->loop);
    close(s->client);
    free(s);
    return 0;
}

static void serve(fixture *s, size_t want)
{
    s->want = want;
    um_loop_run(s->loop);
    assert_int_equal(s->got, want);
}

/* Returns the length of the next reply, or -1 if there is none. */
static ssize_t reply(fixture *s, char *bytes, size_t cap)
{
    struct pollfd p = {.fd = s->client, .events = POLLIN};

    return poll(&p, 1, 0) == 1 ? recv(s->client, bytes, cap, 0) : -1;
}

static void many_datagrams_are_one_batch_and_each_has_its_reply(void **state)
{
    fixture *s = *state;
    char bytes[200], want[40];

    for (int i = 0; i < MANY; i++) {
        snprintf(want, sizeof want, "datagram %d", i);
        assert_true(send(s->client, want, strlen(want), 0) > 0);
    }
    serve(s, MANY);
    assert_int_equal(s->biggest_batch, UM_DATAGRAM_BATCH);
    for (int i = 0; i < MANY; i++) {
        snprintf(want, sizeof want, "datagram %d", i);
        assert_int_equal(reply(s, bytes, sizeof bytes), strlen(want));
        assert_memory_equal(bytes, want, strlen(want));
    }
    assert_int_equal(reply(s, bytes, sizeof bytes), -1);
    um_datagrams_stats stats = um_datagrams_get_stats(s->server);
    assert_int_equal(stats.received, MANY);
    assert_int_equal(stats.sent, MANY);
    assert_int_equal(stats.cut + stats.unsent + stats.errors, 0);
}

static void each_length_around_the_ceiling_is_known(void **state)
{
    fixture *s = *state;
    static char bytes[65000];

    for (size_t len = CEILING - 1; len <= CEILING + 1; len++)
        assert_int_equal(send(s->client, bytes, len, 0), len);
    assert_int_equal(send(s->client, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(send(s->client, bytes, 0, 0), 0);
    serve(s, 5);
    assert_int_equal(s->cut, 2);
    assert_int_equal(s->sum, 4 * CEILING - 1);
    /* A reply is truncated to its maximum length. */
    assert_int_equal(reply(s, bytes, sizeof bytes), REPLY);
    /* The headers were restored: the next batch is not truncated. */
    s->got = s->cut = 0;
    assert_int_equal(send(s->client, bytes, 7, 0), 7);
    serve(s, 1);
    assert_int_equal(s->cut, 0);
}

static void a_reply_may_come_later(void **state)
{
    fixture *s = *state;
    char bytes[20];

    s->late = true;
    assert_int_equal(send(s->client, "ask", 3, 0), 3);
    serve(s, 1);
    assert_int_equal(reply(s, bytes, sizeof bytes), -1);
    for (int i = 0; i < UM_DATAGRAM_BATCH + 1; i++)
        um_datagrams_reply(s->server, &s->last_peer, (umbel_slice){"late", 4});
    uint8_t *room = um_datagrams_reserve(s->server);
    memset(room, 'r', 4);
    um_datagrams_append(s->server, &s->last_peer, 4);
    um_datagrams_flush(s->server);
    for (int i = 0; i < UM_DATAGRAM_BATCH + 1; i++) {
        assert_int_equal(reply(s, bytes, sizeof bytes), 4);
        assert_memory_equal(bytes, "late", 4);
    }
    assert_int_equal(reply(s, bytes, sizeof bytes), 4);
    assert_memory_equal(bytes, "rrrr", 4);
}

/* A forged sender may have any port; replying to port 0 fails. */
static void a_reply_that_cannot_be_sent_does_not_stop_the_others(void **state)
{
    fixture *s = *state;
    um_address nobody;
    char bytes[20];

    s->late = true;
    assert_int_equal(send(s->client, "ask", 3, 0), 3);
    serve(s, 1);
    assert_ok(um_address_parse("127.0.0.1:0", &nobody, &test_refusal));
    um_datagrams_reply(s->server, &s->last_peer, (umbel_slice){"first", 5});
    um_datagrams_reply(s->server, &nobody, (umbel_slice){"lost", 4});
    um_datagrams_reply(s->server, &s->last_peer, (umbel_slice){"second", 6});
    um_datagrams_flush(s->server);
    assert_int_equal(reply(s, bytes, sizeof bytes), 5);
    assert_int_equal(reply(s, bytes, sizeof bytes), 6);
    assert_int_equal(um_datagrams_get_stats(s->server).unsent, 1);
    assert_int_equal(um_datagrams_get_stats(s->server).sent, 2);
}

static void it_may_be_closed_by_its_own_callback(void **state)
{
    fixture *s = *state;
    char bytes[20];

    s->close_inside = true;
    assert_int_equal(send(s->client, "ask", 3, 0), 3);
    serve(s, 1);
    assert_int_equal(reply(s, bytes, sizeof bytes), 3); /* sent before */
}

static void stop(void *ctx)
{
    fixture *s = ctx;

    um_loop_stop(s->loop);
}

static void a_paused_socket_takes_nothing_until_it_goes_on(void **state)
{
    fixture *s = *state;

    um_datagrams_pause(s->server, true);
    assert_int_equal(send(s->client, "ask", 3, 0), 3);
    assert_ok(um_timer_open(s->loop, 5, 0, stop, s, &s->timer, &test_refusal));
    um_loop_run(s->loop);
    assert_int_equal(s->got, 0);
    um_datagrams_pause(s->server, false);
    serve(s, 1);
}

static void ipv6_clients_are_answered(void **state)
{
    fixture *s = *state;
    char bytes[20], text[UM_ADDRESS_TEXT];
    um_address six;
    int fd;

    assert_ok(um_address_parse("[::1]:0", &six, &test_refusal));
    if (um_socket_listen(&six, SOCK_DGRAM, 0, &fd, &test_refusal))
        skip(); /* a machine without IPv6 */
    close(fd);
    um_datagrams_close(s->server);
    close(s->client);
    open_server(s, "[::1]:0");
    assert_int_equal(send(s->client, "ask", 3, 0), 3);
    serve(s, 1);
    assert_int_equal(reply(s, bytes, sizeof bytes), 3);
    assert_memory_equal(um_address_print(&s->last_peer, text), "[::1]:", 6);
}

/* Checks that a client that asks 127.0.0.5 gets its reply from 127.0.0.5. */
static void assert_answered_by_whom_it_asked(fixture *s, const char *all,
                                             const char *one)
{
    char bytes[20], text[UM_ADDRESS_TEXT];
    unsigned port;

    um_datagrams_close(s->server);
    close(s->client);
    open_server(s, all);
    close(s->client);
    port = um_address_port(&s->address);
    snprintf(text, sizeof text, "%s:%u", one, port);
    assert_ok(um_address_parse(text, &s->address, &test_refusal));
    s->client = open_client(&s->address);
    for (int i = 0; i < 2; i++) {
        s->got = 0;
        assert_int_equal(send(s->client, "ask", 3, 0), 3);
        serve(s, 1);
        assert_int_equal(reply(s, bytes, sizeof bytes), 3);
    }
    um_datagrams_reply(s->server, &s->last_peer, (umbel_slice){"late", 4});
    um_datagrams_flush(s->server);
    assert_int_equal(reply(s, bytes, sizeof bytes), 4);
}

static void replies_come_from_the_address_that_was_asked(void **state)
{
    assert_answered_by_whom_it_asked(*state, "0.0.0.0:0", "127.0.0.5");
}

static void so_do_those_of_ipv6(void **state)
{
    um_address six;
    int fd;

    assert_ok(um_address_parse("[::1]:0", &six, &test_refusal));
    if (um_socket_listen(&six, SOCK_DGRAM, 0, &fd, &test_refusal))
        skip(); /* a machine without IPv6 */
    close(fd);
    assert_answered_by_whom_it_asked(*state, "[::]:0", "[::1]");
}

/* --- lanes ------------------------------------------------------------------
 */

enum { NETWORKS = 32, FLOOD = 20000 };

/* Sends n datagrams from 127.0.NETWORK.1. */
static int send_from(const fixture *s, unsigned network, size_t n)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    um_address from;
    char text[UM_ADDRESS_TEXT];

    snprintf(text, sizeof text, "127.0.%u.1:0", network);
    assert_ok(um_address_parse(text, &from, &test_refusal));
    assert_int_equal(bind(fd, &from.ip.any, um_address_len(&from)), 0);
    assert_int_equal(
        connect(fd, &s->address.ip.any, um_address_len(&s->address)), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(send(fd, "x", 1, 0), 1);
    return fd;
}

static void stop_when_quiet(void *ctx)
{
    fixture *s = ctx;

    if (s->got == s->got_before)
        um_loop_stop(s->loop);
    s->got_before = s->got;
}

/*
 * The system dropped a part of the flood, and of the other networks' datagrams
 * only those that share its lane.
 */
static void a_flood_fills_the_queue_of_its_own_network(void **state)
{
    fixture *s = *state;
    int fd[NETWORKS];
    size_t answered = 0;
    char byte;

    close(send_from(s, 200, FLOOD));
    for (unsigned i = 0; i < NETWORKS; i++)
        fd[i] = send_from(s, i, 1);
    assert_ok(um_timer_open(s->loop, 20, 20, stop_when_quiet, s, &s->timer,
                            &test_refusal));
    s->want = SIZE_MAX;
    um_loop_run(s->loop);
    for (unsigned i = 0; i < NETWORKS; i++) {
        answered += recv(fd[i], &byte, 1, MSG_DONTWAIT) == 1;
        close(fd[i]);
    }
    assert_true(s->got < FLOOD);
    assert_true(answered >= NETWORKS / 2); /* 15 of 16 on average */
}

static void a_socket_that_was_passed_is_one_lane(void **state)
{
    int fd[UM_LANES] = {socket(AF_INET, SOCK_DGRAM, 0)};

    (void)state;
    assert_int_equal(um_lanes_open(fd), 1);
    close(fd[0]);
}

static void ceilings_and_taken_ports_are_refused(void **state)
{
    fixture *s = *state;
    um_datagrams *other = NULL;
    int fd = -1;

    assert_refused(um_datagrams_open(s->loop, dup(s->client),
                                     &(um_datagrams_config){0}, &other,
                                     &test_refusal),
                   UMBEL_E_RANGE, "bytes, got 0");
    assert_refused(
        um_socket_listen(&s->address, SOCK_DGRAM, 0, &fd, &test_refusal),
        UMBEL_E_IO, "cannot listen on 127.0.0.1:");
    assert_null(other);
    assert_int_equal(fd, -1);
}

TEST_GROUP(datagram)
{
#define ROW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(many_datagrams_are_one_batch_and_each_has_its_reply),
        ROW(each_length_around_the_ceiling_is_known),
        ROW(a_reply_may_come_later),
        ROW(a_reply_that_cannot_be_sent_does_not_stop_the_others),
        ROW(it_may_be_closed_by_its_own_callback),
        ROW(a_paused_socket_takes_nothing_until_it_goes_on),
        ROW(ipv6_clients_are_answered),
        ROW(replies_come_from_the_address_that_was_asked),
        ROW(so_do_those_of_ipv6),
        ROW(a_flood_fills_the_queue_of_its_own_network),
        ROW(a_socket_that_was_passed_is_one_lane),
        ROW(ceilings_and_taken_ports_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
