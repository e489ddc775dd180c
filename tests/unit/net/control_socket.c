/*
 * control_socket.c - the control socket, queried by its client and by others.
 */
#include "support/test.h"

#include "net/server/control_socket.h"
#include "net/server/socket.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BIG = 3 << 20 };

typedef struct fixture {
    um_loop *loop;
    um_control *control;
    um_timer *patience;
    char *dir, *path;
    um_control_request *request; /* a request that is answered later */
    um_timer *later;
    size_t want, all_ended, ended[UM_END_COUNT], asked;
    /* Used by the client's thread. */
    pthread_t client;
    const char *line;
    umbel_slice more;
    char *reply;
    size_t nreply;
    umbel_status status;
    umbel_error error;
} fixture;

static void answer(void *ctx, const char *line, FILE *out)
{
    fixture *s = ctx;

    s->asked++;
    if (strcmp(line, "big") == 0)
        for (int i = 0; i < BIG; i++)
            putc('x', out);
    else if (strcmp(line, "silence") != 0)
        fprintf(out, "you said: %s\n", line);
}

enum { FOLLOW = 5 << 20 };
static const umbel_slice none;

static size_t follow(void *ctx, const char *line)
{
    (void)ctx;
    return strncmp(line, "sum", 3) == 0 ? FOLLOW : 0;
}

static void reply_number(um_control_request *r, unsigned long sum)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%lu\n", sum);

    um_control_reply(r, (umbel_slice){text, (size_t)len});
}

static void reply_late(void *ctx)
{
    fixture *s = ctx;

    reply_number(s->request, 4711);
    s->request = NULL;
    if (s->all_ended == s->want)
        um_loop_stop(s->loop);
}

/*
 * Replies to "sum" with the sum of the bytes that follow; "sum later" replies
 * later.
 */
static void consume(void *ctx, um_control_request *r, const char *line,
                    uint8_t *bytes, size_t len)
{
    fixture *s = ctx;
    unsigned long sum = 0;

    s->asked++;
    for (size_t i = 0; i < len; i++)
        sum += bytes[i];
    free(bytes);
    if (strcmp(line, "sum") == 0) {
        reply_number(r, sum);
        return;
    }
    s->request = r;
    assert_ok(um_timer_open(s->loop, 100, 0, reply_late, s, &s->later,
                            &test_refusal));
}

static void count_end(void *ctx, const um_address *client, um_end why)
{
    fixture *s = ctx;

    (void)client;
    s->ended[why]++;
    if (++s->all_ended == s->want && !s->request)
        um_loop_stop(s->loop);
}

static void abandon(void *ctx)
{
    (void)ctx;
    fail_msg("the loop did not end");
}

static int set_up(void **state)
{
    fixture *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->dir = test_dir_make();
    s->path = test_path(s->dir, "control");
    assert_ok(um_loop_open(&s->loop, &test_refusal));
    assert_ok(um_timer_open(s->loop, 20000, 0, abandon, s, &s->patience,
                            &test_refusal));
    assert_ok(um_control_open(s->loop,
                              &(um_control_config){.path = s->path,
                                                   .fd = -1,
                                                   .answer = answer,
                                                   .follow = follow,
                                                   .take = consume,
                                                   .ended = count_end,
                                                   .ctx = s,
                                                   .timeout_ms = 5000},
                              &s->control, &test_refusal));
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    fixture *s = *state;

    um_control_close(s->control);
    um_loop_close(s->loop);
    assert_int_equal(access(s->path, F_OK), -1);
    free(s->reply);
    free(s->path);
    test_dir_remove(s->dir);
    free(s);
    return 0;
}

static void *ask(void *ctx)
{
    fixture *s = ctx;
    FILE *out = open_memstream(&s->reply, &s->nreply);

    if (out) {
        s->status =
            um_control_query(s->path, s->line, s->more, 5000, out, &s->error);
        fclose(out);
    }
    return NULL;
}

/*
 * Asks in a thread, and runs the loop until `want` connections have ended,
 * including this one.
 */
static void ask_in_a_thread(fixture *s, const char *line, size_t want)
{
    s->line = line;
    s->want = want;
    assert_int_equal(pthread_create(&s->client, NULL, ask, s), 0);
    um_loop_run(s->loop);
    pthread_join(s->client, NULL);
}

static void a_line_gets_its_document(void **state)
{
    fixture *s = *state;

    ask_in_a_thread(s, "status json", 1);
    assert_ok(s->status);
    assert_string_equal(s->reply, "you said: status json\n");
    assert_int_equal(s->ended[UM_END_DONE], 1);
}

static void bytes_may_follow_a_line(void **state)
{
    fixture *s = *state;
    char *bytes = calloc(1, FOLLOW);

    assert_non_null(bytes);
    ask_in_a_thread(s, "sum", 1);
    assert_string_equal(s->reply, "0\n");
    free(s->reply);
    memset(bytes, 1, FOLLOW);
    s->more = (umbel_slice){bytes, FOLLOW};
    ask_in_a_thread(s, "sum", 2);
    assert_ok(s->status);
    assert_string_equal(s->reply, "5242880\n");
    free(bytes);
}

static void more_bytes_than_the_limit_are_refused(void **state)
{
    fixture *s = *state;
    char *bytes = calloc(1, FOLLOW + 1);

    assert_non_null(bytes);
    s->more = (umbel_slice){bytes, FOLLOW + 1};
    ask_in_a_thread(s, "sum", 1);
    assert_int_equal(s->status, UMBEL_E_IO);
    assert_int_equal(s->asked, 0);
    assert_int_equal(s->ended[UM_END_TOO_LONG], 1);
    free(bytes);
}

static void a_reply_may_come_later_or_find_nobody(void **state)
{
    fixture *s = *state;
    int fd;

    s->more = (umbel_slice){"bytes", 5};
    ask_in_a_thread(s, "sum later", 1);
    assert_string_equal(s->reply, "4711\n");
    assert_int_equal(s->ended[UM_END_DONE], 1);
    /* A client that disconnects before its reply. */
    assert_ok(um_socket_connect(s->path, &fd, &test_refusal));
    assert_int_equal(send(fd, "sum later\nx", 11, 0), 11);
    close(fd);
    s->want = 2;
    um_loop_run(s->loop);
    assert_int_equal(s->asked, 2);
    assert_null(s->request);
}

static void a_long_document_arrives_whole(void **state)
{
    fixture *s = *state;

    ask_in_a_thread(s, "big", 1);
    assert_ok(s->status);
    assert_int_equal(s->nreply, BIG);
}

static void only_the_owner_may_connect(void **state)
{
    fixture *s = *state;
    struct stat st;

    assert_int_equal(stat(s->path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* Sends bytes, shuts down, and lets the server end the connection. */
static void send_raw(fixture *s, const void *bytes, size_t len)
{
    int fd;

    assert_ok(um_socket_connect(s->path, &fd, &test_refusal));
    assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
    shutdown(fd, SHUT_WR);
    s->want = s->all_ended + 1;
    um_loop_run(s->loop);
    close(fd);
}

static void garbage_is_refused_by_reason(void **state)
{
    fixture *s = *state;
    char line[2 * UM_CONTROL_LINE];

    memset(line, 'x', sizeof line);
    send_raw(s, line, sizeof line);
    assert_int_equal(s->ended[UM_END_TOO_LONG], 1);
    line[sizeof line - 1] = '\n';
    send_raw(s, line, sizeof line);
    assert_int_equal(s->ended[UM_END_TOO_LONG], 2);
    send_raw(s, "stat\0us\n", 8);
    assert_int_equal(s->ended[UM_END_BAD], 1);
    send_raw(s, "half a line", 11);
    assert_int_equal(s->ended[UM_END_BAD], 2);
    send_raw(s, "", 0);
    assert_int_equal(s->ended[UM_END_CLIENT], 1);
    assert_int_equal(s->asked, 0);
    send_raw(s, "one\ntwo\n", 8); /* the second line is ignored */
    assert_int_equal(s->asked, 1);
}

static void the_client_names_what_fails(void **state)
{
    fixture *s = *state;
    char *nobody = test_path(s->dir, "nobody");
    char line[2 * UM_CONTROL_LINE];

    assert_refused(
        um_control_query(nobody, "x", none, 1000, stdout, &test_refusal),
        UMBEL_E_IO, "directory; is the server of this");
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    assert_refused(
        um_control_query(s->path, line, none, 1000, stdout, &test_refusal),
        UMBEL_E_RANGE, "one line of at most 1022 bytes");
    /* The loop is not running. */
    assert_refused(
        um_control_query(s->path, "x", none, 20, stdout, &test_refusal),
        UMBEL_E_IO, "control: the server does not answer");
    ask_in_a_thread(s, "silence", 3);
    test_refusal = s->error;
    assert_refused(s->status, UMBEL_E_IO, "control: the server gave no answer");
    free(nobody);
}

static void two_servers_do_not_share_a_path(void **state)
{
    fixture *s = *state;
    um_control *other = NULL;

    assert_refused(um_control_open(
                       s->loop, &(um_control_config){.path = s->path, .fd = -1},
                       &other, &test_refusal),
                   UMBEL_E_IO, "Address already in use");
    assert_refused(
        um_control_open(s->loop,
                        &(um_control_config){.path = "127.0.0.1:1", .fd = -1},
                        &other, &test_refusal),
        UMBEL_E_RANGE, "needs a path");
    assert_null(other);
}

TEST_GROUP(control_socket)
{
#define ROW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(bytes_may_follow_a_line),
        ROW(more_bytes_than_the_limit_are_refused),
        ROW(a_reply_may_come_later_or_find_nobody),
        ROW(a_line_gets_its_document),
        ROW(a_long_document_arrives_whole),
        ROW(only_the_owner_may_connect),
        ROW(garbage_is_refused_by_reason),
        ROW(the_client_names_what_fails),
        ROW(two_servers_do_not_share_a_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
