/*
 * outbox.c - datagrams sent together arrive one by one, complete and in order,
 * whether or not the system accepts several as one.
 */
#include "support/test.h"

#include "base/rng.h"
#include "net/server/internal.h"

#include <asm/socket.h> /* SO_NO_CHECK */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LEN = 200, CLIENTS = 3 };

typedef struct fixture {
    um_outbox box;
    int from, to[CLIENTS];
    um_address address[CLIENTS];
} fixture;

static int open_socket(um_address *a)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    socklen_t len = sizeof a->ip;

    *a = (um_address){.path = NULL};
    a->ip.v4 = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(fd, &a->ip.any, sizeof a->ip.v4), 0);
    assert_int_equal(getsockname(fd, &a->ip.any, &len), 0);
    return fd;
}

static void open_fixture(fixture *s)
{
    um_address unused;

    assert_true(um_outbox_init(&s->box, LEN));
    s->from = open_socket(&unused);
    for (int i = 0; i < CLIENTS; i++)
        s->to[i] = open_socket(&s->address[i]);
}

static void close_fixture(fixture *s)
{
    um_outbox_fini(&s->box);
    close(s->from);
    for (int i = 0; i < CLIENTS; i++)
        close(s->to[i]);
}

static void append(fixture *s, int client, uint8_t number, size_t len)
{
    memset(um_outbox_reserve(&s->box), number, LEN);
    um_outbox_append(&s->box, &s->address[client], len);
}

static void expect(const fixture *s, int client, uint8_t number, size_t len)
{
    uint8_t got[LEN + 1];
    ssize_t n = recv(s->to[client], got, sizeof got, MSG_DONTWAIT);

    assert_int_equal(n, len);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(got[i], number);
}

static void expect_nothing(const fixture *s)
{
    uint8_t got[LEN];

    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(recv(s->to[i], got, sizeof got, MSG_DONTWAIT), -1);
        assert_int_equal(errno, EAGAIN);
    }
}

/*
 * Sends to clients in any order with any lengths, including 0 and equal ones in
 * a row.
 */
static void send_any(fixture *s, um_rng *r)
{
    int client[UM_OUTBOX];
    size_t len[UM_OUTBOX], n = 1 + um_random_below(r, UM_OUTBOX);

    for (size_t i = 0; i < n; i++) {
        bool again = i && um_random_below(r, 4);
        client[i] = again ? client[i - 1] : (int)um_random_below(r, CLIENTS);
        len[i] = again && um_random_below(r, 4) ? len[i - 1]
                                                : um_random_below(r, LEN + 1);
        append(s, client[i], (uint8_t)(i + 1), len[i]);
    }
    um_outbox_flush(&s->box, s->from);
    assert_int_equal(s->box.queued, 0);
    for (size_t i = 0; i < n; i++)
        expect(s, client[i], (uint8_t)(i + 1), len[i]);
    expect_nothing(s);
}

static void datagrams_arrive_one_by_one_and_in_order(void **state)
{
    (void)state;
    fixture s;
    um_rng r = {3};

    open_fixture(&s);
    for (int i = 0; i < 300; i++)
        send_any(&s, &r);
    assert_int_equal(s.box.unsent, 0);
    close_fixture(&s);
}

/* Without checksums Linux refuses several datagrams as one. */
static void a_system_that_refuses_several_as_one_gets_one_by_one(void **state)
{
    (void)state;
    fixture s;
    um_rng r = {4};
    int on = 1;

    open_fixture(&s);
    assert_int_equal(
        setsockopt(s.from, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    for (int i = 0; i < 100; i++)
        send_any(&s, &r);
    assert_true(s.box.single);
    assert_int_equal(s.box.unsent, 0);
    close_fixture(&s);
}

/* Port 0 cannot be reached, which must not affect the others. */
static void a_client_that_cannot_be_reached_changes_nothing(void **state)
{
    (void)state;
    fixture s;

    open_fixture(&s);
    um_address nowhere = s.address[1];
    nowhere.ip.v4.sin_port = 0;
    for (uint8_t i = 0; i < 4; i++)
        append(&s, 0, i, 50);
    for (uint8_t i = 0; i < 4; i++) {
        memset(um_outbox_reserve(&s.box), i, LEN);
        um_outbox_append(&s.box, &nowhere, 50);
    }
    for (uint8_t i = 4; i < 8; i++)
        append(&s, 0, i, 50);
    um_outbox_flush(&s.box, s.from);
    for (uint8_t i = 0; i < 8; i++)
        expect(&s, 0, i, 50);
    assert_int_equal(s.box.sent, 8);
    assert_int_equal(s.box.unsent, 4);
    assert_false(s.box.single);
    close_fixture(&s);
}

TEST_GROUP(outbox)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagrams_arrive_one_by_one_and_in_order),
        cmocka_unit_test(a_system_that_refuses_several_as_one_gets_one_by_one),
        cmocka_unit_test(a_client_that_cannot_be_reached_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
