/* http.c - documents over HTTP, to good and bad clients. */
#include "support/test.h"

#include "net/server/http.h"
#include "net/server/socket.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 20, BIG = 8 << 20, PATIENCE_MS = 20000 };

static bool no_memory;
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
    return no_memory ? NULL : __real_calloc(n, size);
}

typedef struct fixture {
    um_loop *loop;
    um_http *http;
    um_timer *patience, *step;
    um_address address;
    int fd[CLIENTS];
    size_t ended[UM_END_COUNT], all_ended, want, served, not_found;
    unsigned last_code;
    bool answers; /* paths that are no documents */
    char *got;
    size_t ngot;
} fixture;

static unsigned write_hello(void *ctx, FILE *out)
{
    (void)ctx;
    fputs("hello\n", out);
    return 200;
}

static unsigned write_ill(void *ctx, FILE *out)
{
    (void)ctx;
    fputs("the disk is full\n", out);
    return 503;
}

static unsigned write_big(void *ctx, FILE *out)
{
    static char piece[1 << 16];

    (void)ctx;
    memset(piece, 'x', sizeof piece);
    for (size_t i = 0; i < BIG / sizeof piece; i++)
        fwrite(piece, 1, sizeof piece, out);
    return 200;
}

static const um_http_row rows[] = {{"/hello", "text/plain", write_hello},
                                   {"/health", "text/plain", write_ill},
                                   {"/big", "text/plain", write_big},
                                   {NULL, NULL, NULL}};

static unsigned echo(void *ctx, const um_http_request *r, const char **type,
                     FILE *out)
{
    (void)ctx;
    *type = "text/x-echo";
    fprintf(out, "%s %s%s %s [%.*s]\n", r->post ? "POST" : "GET", r->path,
            r->query ? " with a query" : "", r->type ? r->type : "-",
            (int)r->body.len, r->body.len ? (const char *)r->body.data : "");
    return 202;
}

static void count_served(void *ctx, const um_address *client,
                         const um_http_row *row, unsigned code)
{
    fixture *s = ctx;

    assert_true(um_address_is_loopback(client));
    s->served++;
    s->not_found += row == NULL;
    s->last_code = code;
}

static void count_end(void *ctx, const um_address *client, um_end why)
{
    fixture *s = ctx;

    assert_true(um_address_is_loopback(client));
    s->ended[why]++;
    if (++s->all_ended == s->want)
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
    s->got = malloc(BIG + 10000);
    assert_non_null(s->got);
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

    um_http_close(s->http);
    um_loop_close(s->loop);
    for (int i = 0; i < CLIENTS; i++)
        if (s->fd[i] >= 0)
            close(s->fd[i]);
    free(s->got);
    free(s);
    return 0;
}

static void serve_at(fixture *s, um_http_limits limits)
{
    char path[UM_ADDRESS_TEXT];
    um_address wanted;
    int fd;

    assert_ok(um_address_parse("127.0.0.1:0", &wanted, &test_refusal));
    assert_ok(um_socket_listen(&wanted, SOCK_STREAM, 0, &fd, &test_refusal));
    assert_ok(um_socket_address(fd, path, &s->address, &test_refusal));
    assert_ok(um_http_open(s->loop, fd,
                           &(um_http_config){.rows = rows,
                                             .limits = limits,
                                             .answer = s->answers ? echo : NULL,
                                             .served = count_served,
                                             .ended = count_end,
                                             .ctx = s},
                           &s->http, &test_refusal));
}

static void join(fixture *s, int i)
{
    s->fd[i] = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(s->fd[i] >= 0);
    assert_int_equal(
        connect(s->fd[i], &s->address.ip.any, um_address_len(&s->address)), 0);
}

static void say(fixture *s, int i, const char *text)
{
    assert_int_equal(send(s->fd[i], text, strlen(text), MSG_NOSIGNAL),
                     strlen(text));
}

static void run_until_ended(fixture *s, size_t want)
{
    s->want = want;
    um_loop_run(s->loop);
    assert_int_equal(s->all_ended, want);
}

static void read_some(void *ctx)
{
    fixture *s = ctx;
    ssize_t n =
        recv(s->fd[0], s->got + s->ngot, BIG + 9999 - s->ngot, MSG_DONTWAIT);

    if (n > 0)
        s->ngot += (size_t)n;
    s->got[s->ngot] = '\0';
}

/* Sends a request, and reads the reply while the server sends it. */
static const char *ask(fixture *s, const char *request)
{
    s->ngot = 0;
    join(s, 0);
    say(s, 0, request);
    if (!s->step)
        assert_ok(um_timer_open(s->loop, 1, 1, read_some, s, &s->step,
                                &test_refusal));
    run_until_ended(s, s->all_ended + 1);
    for (ssize_t n = 1; n > 0; s->ngot += n > 0 ? (size_t)n : 0)
        n = recv(s->fd[0], s->got + s->ngot, BIG + 9999 - s->ngot, 0);
    s->got[s->ngot] = '\0';
    close(s->fd[0]);
    s->fd[0] = -1;
    return s->got;
}

#define CLOSE " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static void other_paths_are_answered_as_they_were_received(void **state)
{
    fixture *s = *state;
    const char *got;

    s->answers = true;
    serve_at(s, (um_http_limits){.body = 10});
    got = ask(s, "GET /a%2Fb/%00%" CLOSE);
    assert_non_null(strstr(got, " 202 "));
    assert_non_null(strstr(got, "Content-Type: text/x-echo\r\n"));
    assert_non_null(strstr(got, "\r\n\r\nGET /a%2Fb/%00% - []\n"));
    assert_non_null(strstr(ask(s, "GET /a?b=c" CLOSE), "GET /a with a query"));
    assert_non_null(strstr(ask(s, "GET /a?" CLOSE), "GET /a with a query"));
    assert_non_null(strstr(ask(s, "GET /hello" CLOSE), "\r\n\r\nhello\n"));
    assert_non_null(strstr(ask(s, "PUT /a" CLOSE), "Allow: GET, HEAD, POST"));
}

#define POST(len)                                                              \
    "POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "       \
    "t\r\nContent-Length: " len "\r\n\r\n"

static void a_body_is_answered_if_it_is_not_too_long(void **state)
{
    fixture *s = *state;

    s->answers = true;
    serve_at(s, (um_http_limits){.body = 10, .bodies = 20});
    assert_non_null(
        strstr(ask(s, POST("10") "0123456789"), "POST /a t [0123456789]\n"));
    assert_non_null(strstr(ask(s, POST("0")), "POST /a t []\n"));
    assert_non_null(
        strstr(ask(s, "POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                      "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\n0"),
               " 415 "));
    assert_non_null(strstr(ask(s, POST("11") "01234567890"), " 413 "));
    assert_non_null(strstr(ask(s, "POST /a HTTP/1.1\r\nHost: x\r\n"
                                  "Transfer-Encoding: chunked\r\n"
                                  "Connection: close\r\n\r\n"
                                  "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
                           "[abcde]\n"));
    assert_non_null(strstr(ask(s, "POST /a HTTP/1.1\r\nHost: x\r\n"
                                  "Transfer-Encoding: chunked\r\n"
                                  "Connection: close\r\n\r\n"
                                  "8\r\n01234567\r\n3\r\n890\r\n0\r\n\r\n"),
                           " 413 "));
}

static void bodies_together_are_limited(void **state)
{
    fixture *s = *state;

    s->answers = true;
    serve_at(
        s, (um_http_limits){.body = 10, .bodies = 15, .idle_ms = PATIENCE_MS});
    join(s, 1);
    say(s, 1, POST("10") "012345678"); /* one byte is missing */
    assert_non_null(strstr(ask(s, POST("9") "012345678"), " 503 "));
    assert_non_null(strstr(ask(s, POST("5") "01234"), "[01234]\n"));
    close(s->fd[1]); /* gives up its bytes */
    s->fd[1] = -1;
    run_until_ended(s, s->all_ended + 1);
    assert_non_null(strstr(ask(s, POST("9") "012345678"), "[012345678]\n"));
}

static void a_new_connection_replaces_the_oldest_if_that_is_wanted(void **state)
{
    fixture *s = *state;

    s->answers = true;
    serve_at(s, (um_http_limits){
                    .total = 3, .replace = true, .idle_ms = PATIENCE_MS});
    for (int i = 1; i < 10; i++)
        join(s, i);
    run_until_ended(s, 6);
    assert_int_equal(s->ended[UM_END_ALL_FULL], 6);
    assert_int_equal(um_http_connections(s->http), 3);
}

static void documents_are_served_with_type_and_status(void **state)
{
    fixture *s = *state;
    const char *got;

    serve_at(s, (um_http_limits){0});
    got = ask(s, "GET /hello" CLOSE);
    assert_non_null(strstr(got, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(got, "Content-Type: text/plain\r\n"));
    assert_non_null(strstr(got, "\r\n\r\nhello\n"));
    got = ask(s, "GET /health" CLOSE);
    assert_non_null(strstr(got, "HTTP/1.1 503 "));
    got = ask(s, "HEAD /hello" CLOSE);
    assert_non_null(strstr(got, "Content-Length: 6\r\n"));
    assert_null(strstr(got, "hello"));
    assert_int_equal(s->served, 3);
    assert_int_equal(s->ended[UM_END_DONE], 3);
}

static void a_large_document_arrives_whole(void **state)
{
    fixture *s = *state;

    serve_at(s, (um_http_limits){.idle_ms = PATIENCE_MS});
    ask(s, "GET /big" CLOSE);
    const char *body = strstr(s->got, "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(strlen(body + 4), BIG);
}

static void other_paths_and_methods_are_refused(void **state)
{
    fixture *s = *state;
    const char *got;

    serve_at(s, (um_http_limits){0});
    got = ask(s, "GET /../etc/passwd" CLOSE);
    assert_non_null(strstr(got, "HTTP/1.1 404 "));
    assert_non_null(strstr(got, "\n/health\n"));
    assert_int_equal(s->not_found, 1);
    got = ask(s, "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                 "Connection: close\r\n\r\nabcde");
    assert_non_null(strstr(got, "HTTP/1.1 405 "));
    assert_non_null(strstr(got, "Allow: GET, HEAD\r\n"));
    assert_int_equal(s->last_code, 405);
}

static void several_requests_share_a_connection(void **state)
{
    fixture *s = *state;
    const char *got;

    serve_at(s, (um_http_limits){0});
    got = ask(s, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /health" CLOSE);
    assert_non_null(strstr(got, "\r\n\r\nhello\nHTTP/1.1 503 "));
    assert_int_equal(s->served, 2);
    assert_int_equal(s->ended[UM_END_DONE], 1);
}

static void garbage_ends_a_connection(void **state)
{
    fixture *s = *state;
    static char head[100000];

    serve_at(s, (um_http_limits){0});
    ask(s, "\x16\x03\x01 what is this\r\n\r\n\r\n");
    assert_int_equal(s->ended[UM_END_BAD], 1);
    /* The head is longer than its buffer. */
    snprintf(head, sizeof head, "GET /hello HTTP/1.1\r\nHost: %090000d\r\n\r\n",
             0);
    ask(s, head);
    assert_int_equal(s->ended[UM_END_BAD], 2);
    assert_int_equal(s->served, 0);
}

static void silent_and_slow_clients_are_ended(void **state)
{
    fixture *s = *state;

    serve_at(s, (um_http_limits){.idle_ms = 60});
    for (int i = 0; i < 6; i++)
        join(s, i);
    say(s, 1, "GET /hel");
    say(s, 2, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n"); /* and does not read */
    say(s, 3, "POST /hello HTTP/1.1\r\nContent-Length: 9\r\n");
    say(s, 4, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"); /* and stays */
    run_until_ended(s, 6);
    assert_int_equal(s->ended[UM_END_IDLE], 4);
    assert_int_equal(s->ended[UM_END_UNREAD], 1);
    assert_int_equal(s->ended[UM_END_CLIENT], 1);
    assert_int_equal(um_http_connections(s->http), 0);
}

static void half_a_request_and_its_end_close_soon(void **state)
{
    fixture *s = *state;

    serve_at(s, (um_http_limits){.idle_ms = PATIENCE_MS});
    join(s, 0);
    join(s, 1);
    say(s, 0, "GET /hello HT");
    shutdown(s->fd[0], SHUT_WR);
    shutdown(s->fd[1], SHUT_WR);
    run_until_ended(s, 2);
    assert_int_equal(s->ended[UM_END_BAD], 1);
    assert_int_equal(s->ended[UM_END_CLIENT], 1);
}

static void a_client_without_memory_is_ended(void **state)
{
    fixture *s = *state;

    serve_at(s, (um_http_limits){.idle_ms = PATIENCE_MS});
    join(s, 0);
    say(s, 0, "GET /hello" CLOSE);
    no_memory = true;
    run_until_ended(s, 1);
    no_memory = false;
    assert_int_equal(s->ended[UM_END_MEMORY], 1);
    ask(s, "GET /hello" CLOSE);
    assert_int_equal(s->served, 1);
}

static void drip(void *ctx)
{
    fixture *s = ctx;

    (void)!send(s->fd[0], "x", 1, MSG_NOSIGNAL); /* fails after the close */
}

static void a_drip_is_ended(void **state)
{
    fixture *s = *state;

    serve_at(s, (um_http_limits){.idle_ms = PATIENCE_MS, .total_ms = 60});
    join(s, 0);
    say(s, 0, "GET /");
    assert_ok(um_timer_open(s->loop, 1, 5, drip, s, &s->step, &test_refusal));
    run_until_ended(s, 1);
    assert_int_equal(s->ended[UM_END_TOO_SLOW], 1);
}

static void more_clients_than_places_are_refused_at_once(void **state)
{
    fixture *s = *state;

    serve_at(s, (um_http_limits){.total = 3, .idle_ms = PATIENCE_MS});
    for (int i = 0; i < CLIENTS; i++)
        join(s, i);
    run_until_ended(s, CLIENTS - 3);
    assert_int_equal(s->ended[UM_END_ALL_FULL], CLIENTS - 3);
    assert_int_equal(um_http_connections(s->http), 3);
    um_http_close(s->http); /* ends the three */
    s->http = NULL;
    assert_int_equal(s->ended[UM_END_SHUTDOWN], 3);
}

static void a_network_has_its_share(void **state)
{
    fixture *s = *state;

    serve_at(s, (um_http_limits){.per_network = 2,
                                 .limit_loopback = true,
                                 .idle_ms = PATIENCE_MS});
    for (int i = 0; i < 5; i++)
        join(s, i);
    run_until_ended(s, 3);
    assert_int_equal(s->ended[UM_END_NETWORK_FULL], 3);
}

static void local_clients_are_limited_only_if_configured(void **state)
{
    fixture *s = *state;

    serve_at(s, (um_http_limits){
                    .total = 4, .per_network = 2, .idle_ms = PATIENCE_MS});
    for (int i = 0; i < 5; i++)
        join(s, i);
    run_until_ended(s, 1);
    assert_int_equal(s->ended[UM_END_ALL_FULL], 1);
}

static void local_clients_leave_some_connections_to_others(void **state)
{
    fixture *s = *state;

    serve_at(
        s, (um_http_limits){.total = 4, .loopback = 3, .idle_ms = PATIENCE_MS});
    for (int i = 0; i < 5; i++)
        join(s, i);
    run_until_ended(s, 2);
    assert_int_equal(s->ended[UM_END_NETWORK_FULL], 2);
}

TEST_GROUP(http)
{
#define ROW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(documents_are_served_with_type_and_status),
        ROW(a_large_document_arrives_whole),
        ROW(other_paths_and_methods_are_refused),
        ROW(several_requests_share_a_connection),
        ROW(garbage_ends_a_connection),
        ROW(silent_and_slow_clients_are_ended),
        ROW(half_a_request_and_its_end_close_soon),
        ROW(a_client_without_memory_is_ended),
        ROW(a_drip_is_ended),
        ROW(more_clients_than_places_are_refused_at_once),
        ROW(a_network_has_its_share),
        ROW(local_clients_are_limited_only_if_configured),
        ROW(local_clients_leave_some_connections_to_others),
        ROW(other_paths_are_answered_as_they_were_received),
        ROW(a_body_is_answered_if_it_is_not_too_long),
        ROW(bodies_together_are_limited),
        ROW(a_new_connection_replaces_the_oldest_if_that_is_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
