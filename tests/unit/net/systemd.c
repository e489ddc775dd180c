/* systemd.c - readiness, and sockets passed by systemd. */
#include "support/test.h"

#include "net/server/socket.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static int bind_unix_datagram(const char *name, bool abstract)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    size_t len = strlen(name);

    assert_true(fd >= 0);
    memcpy(un.sun_path, name, len);
    if (abstract)
        un.sun_path[0] = '\0';
    assert_int_equal(
        bind(fd, (struct sockaddr *)&un,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
        0);
    return fd;
}

static void assert_notified(int fd, const char *state)
{
    char got[100];
    ssize_t n = recv(fd, got, sizeof got, MSG_DONTWAIT);

    assert_int_equal(n, strlen(state));
    assert_memory_equal(got, state, strlen(state));
}

static void the_state_reaches_files_and_abstract_names(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "systemd"), name[100];
    int fd = bind_unix_datagram(path, false);

    (void)state;
    setenv("NOTIFY_SOCKET", path, 1);
    assert_ok(um_notify("READY=1", &test_refusal));
    assert_notified(fd, "READY=1");
    close(fd);
    assert_refused(um_notify("STOPPING=1", &test_refusal), UMBEL_E_IO,
                   "$NOTIFY_SOCKET /");
    snprintf(name, sizeof name, "@umbel-test-%d", (int)getpid());
    fd = bind_unix_datagram(name, true);
    setenv("NOTIFY_SOCKET", name, 1);
    assert_ok(um_notify("STOPPING=1", &test_refusal));
    assert_notified(fd, "STOPPING=1");
    close(fd);
    free(path);
    test_dir_remove(dir);
}

static void without_a_socket_nobody_is_notified(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_ok(um_notify("READY=1", &test_refusal));
    setenv("NOTIFY_SOCKET", "", 1);
    assert_ok(um_notify("READY=1", &test_refusal));
    setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
    assert_refused(um_notify("READY=1", &test_refusal), UMBEL_E_RANGE,
                   "vsock:2:1");
    unsetenv("NOTIFY_SOCKET");
}

static void set_passed(long pid, const char *n)
{
    char text[30];

    snprintf(text, sizeof text, "%ld", pid);
    setenv("LISTEN_PID", text, 1);
    setenv("LISTEN_FDS", n, 1);
    setenv("LISTEN_FDNAMES", "a:b", 1);
}

/* Binds a socket to a free port and makes it descriptor fd. */
static um_address passed_socket(int fd, int type)
{
    char path[UM_ADDRESS_TEXT];
    um_address a;
    int got;

    assert_ok(um_address_parse("127.0.0.1:0", &a, &test_refusal));
    assert_ok(um_socket_listen(&a, type, 0, &got, &test_refusal));
    assert_ok(um_socket_address(got, path, &a, &test_refusal));
    assert_int_equal(dup2(got, fd), fd);
    close(got);
    return a;
}

/* Runs with descriptors 3 and 4 free for it. */
static void consume_passed_sockets(void)
{
    um_address stream = passed_socket(3, SOCK_STREAM);
    um_address datagram = passed_socket(4, SOCK_DGRAM), other;
    um_passed p;

    set_passed(getpid(), "2");
    assert_ok(um_passed_open(&p, &test_refusal));
    assert_int_equal(p.n, 2);
    assert_null(getenv("LISTEN_PID"));
    assert_null(getenv("LISTEN_FDS"));
    assert_null(getenv("LISTEN_FDNAMES"));
    assert_true(fcntl(3, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(4, F_GETFL) & O_NONBLOCK);
    assert_ok(um_address_parse("127.0.0.1:1", &other, &test_refusal));
    assert_int_equal(um_passed_acquire(&p, &other, SOCK_STREAM), -1);
    assert_int_equal(um_passed_acquire(&p, &stream, SOCK_DGRAM), -1);
    assert_int_equal(um_passed_acquire(&p, &datagram, SOCK_DGRAM), 4);
    assert_int_equal(um_passed_acquire(&p, &datagram, SOCK_DGRAM), -1);
    assert_int_equal(um_passed_close(&p), 1);
    assert_int_equal(fcntl(3, F_GETFD), -1);
    assert_true(fcntl(4, F_GETFD) >= 0);
}

static void passed_sockets_are_found_by_their_address(void **state)
{
    int kept[2] = {dup(3), dup(4)};

    (void)state;
    consume_passed_sockets();
    close(4);
    for (int i = 0; i < 2; i++)
        if (kept[i] >= 0) {
            dup2(kept[i], 3 + i);
            close(kept[i]);
        }
}

static void sockets_of_another_process_are_left_alone(void **state)
{
    um_passed p;

    (void)state;
    set_passed((long)getpid() + 1, "2");
    assert_ok(um_passed_open(&p, &test_refusal));
    assert_int_equal(p.n, 0);
    unsetenv("LISTEN_FDS");
    assert_ok(um_passed_open(&p, &test_refusal));
    assert_int_equal(p.n, 0);
}

static void nonsense_is_refused(void **state)
{
    static const char *const bad[] = {"",   "x",  "-1",
                                      "65", "2x", "99999999999999999999"};
    um_passed p;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        set_passed(getpid(), bad[i]);
        assert_refused(um_passed_open(&p, &test_refusal), UMBEL_E_RANGE,
                       "$LISTEN_FDS must be");
        assert_int_equal(p.n, 0);
    }
}

TEST_GROUP(systemd)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_reaches_files_and_abstract_names),
        cmocka_unit_test(without_a_socket_nobody_is_notified),
        cmocka_unit_test(passed_sockets_are_found_by_their_address),
        cmocka_unit_test(sockets_of_another_process_are_left_alone),
        cmocka_unit_test(nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
