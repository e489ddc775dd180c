/*
 * control.c - the control socket, and stream connections in general.
 *
 * The first byte of the input is a piece length; the rest is sent by the client
 * in pieces of that length. However the bytes are split, the server must
 * receive one line or none, with the bytes that follow the line if it begins
 * with +, send the whole reply, and close the connection exactly once, for the
 * reason that the bytes imply.
 */
#include "fuzz.h"

#include "net/server/control_socket.h"
#include "net/server/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INPUT = 8192, FOLLOW = 4000 };

typedef struct fixture {
    um_loop *loop;
    um_control *control;
    um_hook *hook;
    char dir[64], path[80];
    /* State of one input. */
    int client;
    const uint8_t *bytes;
    size_t len, sent, piece;
    bool shut;
    unsigned asked, ended;
    um_end why;
    char line[UM_CONTROL_LINE];
    char reply[2 * UM_CONTROL_LINE];
    size_t nreply;
} fixture;

static fixture s;

/* --- the server's side ------------------------------------------------------
 */

static void answer(void *ctx, const char *line, FILE *out)
{
    (void)ctx;
    UM_WANT(strlen(line) < sizeof s.line);
    memcpy(s.line, line, strlen(line) + 1);
    s.asked++;
    fprintf(out, "got: %s\n", line);
}

static size_t follow(void *ctx, const char *line)
{
    (void)ctx;
    return line[0] == '+' ? FOLLOW : 0;
}

/* Replies to a request. bytes holds what the client sent after the line. */
static void consume(void *ctx, um_control_request *r, const char *line,
                    uint8_t *bytes, size_t len)
{
    char reply[UM_CONTROL_LINE + 16];
    size_t n = strlen(line) + 1;

    (void)ctx;
    UM_WANT(n + len == s.len && (!len || memcmp(bytes, s.bytes + n, len) == 0));
    free(bytes);
    memcpy(s.line, line, n);
    s.asked++;
    int text = snprintf(reply, sizeof reply, "got: %s\n", line);
    um_control_reply(r, (umbel_slice){reply, (size_t)text});
}

static void count_end(void *ctx, const um_address *client, um_end why)
{
    (void)ctx;
    UM_WANT(um_address_is_loopback(client));
    s.ended++;
    s.why = why;
    um_loop_stop(s.loop);
}

/* --- the client's side, run between iterations of the loop ------------------
 */

static void send_piece(void)
{
    size_t n = s.len - s.sent < s.piece ? s.len - s.sent : s.piece;
    ssize_t got =
        send(s.client, s.bytes + s.sent, n, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (got > 0)
        s.sent += (size_t)got;
    if (s.sent < s.len)
        return;
    shutdown(s.client, SHUT_WR);
    s.shut = true;
}

static void act_as_client(void *ctx)
{
    ssize_t n = 0;

    (void)ctx;
    if (s.client < 0)
        return;
    if (!s.shut)
        send_piece();
    do {
        s.nreply += (size_t)n;
        n = recv(s.client, s.reply + s.nreply, sizeof s.reply - s.nreply,
                 MSG_DONTWAIT);
    } while (n > 0);
}

/* --- expected results -------------------------------------------------------
 */

static void expect(um_end why, unsigned asked)
{
    UM_WANT(s.ended == 1);
    UM_WANT(s.why == why);
    UM_WANT(s.asked == asked);
    UM_WANT(asked || s.nreply == 0);
}

static void judge(void)
{
    const uint8_t *end = s.len ? memchr(s.bytes, '\n', s.len) : NULL;
    size_t n = end ? (size_t)(end - s.bytes) : s.len;
    char want[2 * UM_CONTROL_LINE];

    if (n >= UM_CONTROL_LINE) {
        expect(UM_END_TOO_LONG, 0);
    } else if (!end) {
        expect(n ? UM_END_BAD : UM_END_CLIENT, 0);
    } else if (memchr(s.bytes, '\0', n)) {
        expect(UM_END_BAD, 0);
    } else if (s.bytes[0] == '+' && s.len - n - 1 > FOLLOW) {
        expect(UM_END_TOO_LONG, 0);
    } else {
        expect(UM_END_DONE, 1);
        UM_WANT(strlen(s.line) == n && memcmp(s.line, s.bytes, n) == 0);
        int len = snprintf(want, sizeof want, "got: %s\n", s.line);
        UM_WANT(s.nreply == (size_t)len &&
                memcmp(s.reply, want, s.nreply) == 0);
    }
}

/* --- running an input -------------------------------------------------------
 */

static void close_fixture(void)
{
    um_control_close(s.control);
    um_loop_close(s.loop);
    rmdir(s.dir);
}

static void open_fixture(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(s.dir, sizeof s.dir, "%.40s/fuzz-XXXXXX", tmp ? tmp : "/tmp");
    UM_WANT(mkdtemp(s.dir));
    snprintf(s.path, sizeof s.path, "%s/control", s.dir);
    UM_WANT(um_loop_open(&s.loop, NULL) == UMBEL_OK);
    UM_WANT(um_control_open(s.loop,
                            &(um_control_config){.path = s.path,
                                                 .fd = -1,
                                                 .answer = answer,
                                                 .follow = follow,
                                                 .take = consume,
                                                 .ended = count_end,
                                                 .timeout_ms = 60000},
                            &s.control, NULL) == UMBEL_OK);
    UM_WANT(um_hook_open(s.loop, act_as_client, NULL, &s.hook, NULL) ==
            UMBEL_OK);
    atexit(close_fixture);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0 || len > MAX_INPUT)
        return 0;
    if (!s.loop)
        open_fixture();
    s.bytes = bytes + 1;
    s.len = len - 1;
    s.piece = bytes[0] ? bytes[0] : MAX_INPUT;
    s.sent = s.nreply = s.asked = s.ended = 0;
    s.shut = false;
    UM_WANT(um_socket_connect(s.path, &s.client, NULL) == UMBEL_OK);
    um_loop_run(s.loop);
    act_as_client(NULL); /* send the rest of the reply */
    close(s.client);
    s.client = -1;
    judge();
    return 0;
}
