/*
 * redis.c - a connection to a Redis or Valkey server.
 *
 * hiredis connects and formats commands; replies are read here, with limits
 * against servers that send endlessly or too slowly: a reply has a limit in
 * bytes, and may take timeout seconds and one more for each SLOWEST bytes.
 */
#include "net/redis.h"

#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_PORT = 6379, SLOWEST = 10000, STEP = 64 << 10 };
enum { MAX_REPLY = UM_REDIS_MAX_BYTES + 4096, MAX_REDIRECTS = 5 };

struct um_redis {
    redisContext *context;
    uint64_t timeout;
    char *url; /* decoded in place; the parts below point into it */
    char *user, *password, *host, *key;
    char *node; /* host of a cluster's node that the server named, or NULL */
    size_t key_len;
    int port;
    uint8_t *reply;
    size_t len, cap;
    uint64_t received;
};

/* --- addresses ------------------------------------------------------------ */

/* Decodes %XX in place; returns the length. */
static size_t decode_part(char *part)
{
    char *to = part;

    for (const char *s = part; *s; s++) {
        int high = *s == '%' ? um_hex_value((uint8_t)s[1]) : -1;
        int low = high >= 0 ? um_hex_value((uint8_t)s[2]) : -1;
        *to++ = (char)(low >= 0 ? high << 4 | low : *s);
        s += low >= 0 ? 2 : 0;
    }
    *to = '\0';
    return (size_t)(to - part);
}

static umbel_status bad_address(umbel_error *err)
{
    return um_fail(err, UMBEL_E_RANGE,
                   "an address of Redis is redis://HOST:PORT/KEY, or "
                   "redis://USER:PASSWORD@HOST:PORT/KEY");
}

static umbel_status parse_port(const char *text, int *out, umbel_error *err)
{
    uint64_t port = 0;

    if (!um_decimal_parse(text, UINT16_MAX, &port) || port == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.20s\" is not a port, which is a number up to 65535",
                       text);
    *out = (int)port;
    return UMBEL_OK;
}

/* Splits [USER]:PASSWORD, the part before the @. */
static void split_login(um_redis *r, char *login)
{
    char *colon = strchr(login, ':');

    if (!colon) {
        r->password = login;
    } else {
        *colon = '\0';
        r->user = *login ? login : NULL;
        r->password = colon + 1;
    }
    if (r->user)
        decode_part(r->user);
    decode_part(r->password);
}

static umbel_status parse_address(um_redis *r, umbel_error *err)
{
    char *host = r->url + strlen("redis://"), *slash = strchr(host, '/');

    if (!slash || !slash[1])
        return bad_address(err);
    *slash = '\0';
    r->key = slash + 1;
    r->key_len = decode_part(r->key);
    char *at = strrchr(host, '@');
    if (at) {
        *at = '\0';
        split_login(r, host);
        host = at + 1;
    }
    char *bracket = *host == '[' ? strchr(host, ']') : NULL; /* [::1] */
    char *colon = strchr(bracket ? bracket : host, ':');
    r->port = DEFAULT_PORT;
    if (colon) {
        *colon = '\0';
        UM_TRY(parse_port(colon + 1, &r->port, err));
    }
    if (bracket) {
        host++;
        *bracket = '\0';
    }
    r->host = host;
    return *host ? UMBEL_OK : bad_address(err);
}

/* --- replies -------------------------------------------------------------- */

static uint64_t now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec;
}

static umbel_status reserve(um_redis *r, umbel_error *err)
{
    if (r->cap - r->len >= STEP)
        return UMBEL_OK;
    if (r->len > MAX_REPLY)
        return um_fail(err, UMBEL_E_IO, "%s: the reply is too long", r->host);
    if (!um_array_reserve(&r->reply, &r->cap, r->len + STEP, 1))
        return um_no_memory(err, r->len + STEP);
    return UMBEL_OK;
}

static umbel_status receive_some(um_redis *r, uint64_t start, umbel_error *err)
{
    UM_TRY(reserve(r, err));
    ssize_t n = read(r->context->fd, r->reply + r->len, STEP);
    if (n < 0 && errno == EINTR)
        return UMBEL_OK;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return um_fail(err, UMBEL_E_IO, "%s: silent for %" PRIu64 " seconds",
                       r->host, r->timeout);
    if (n < 0)
        return um_fail_errno(err, "%s", r->host);
    if (n == 0)
        return um_fail(err, UMBEL_E_IO, "%s closed the connection", r->host);
    r->len += (size_t)n;
    r->received += (uint64_t)n;
    if (now_seconds() - start > r->timeout + r->len / SLOWEST)
        return um_fail(err, UMBEL_E_IO, "%s: the reply is too slow", r->host);
    return UMBEL_OK;
}

static umbel_status receive_reply(um_redis *r, um_redis_reply *out,
                                  umbel_error *err)
{
    uint64_t start = now_seconds();

    for (r->len = 0;;) {
        UM_TRY(receive_some(r, start, err));
        switch (um_redis_parse(r->reply, r->len, UM_REDIS_MAX_BYTES, out)) {
        case UM_REDIS_WHOLE:
            return UMBEL_OK;
        case UM_REDIS_BAD:
            return um_fail(err, UMBEL_E_IO, "%s: the reply is not valid RESP2",
                           r->host);
        case UM_REDIS_MORE:
            break;
        }
    }
}

static umbel_status send_all(const um_redis *r, const char *bytes, size_t len,
                             umbel_error *err)
{
    while (len) {
        ssize_t n = write(r->context->fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return um_fail_errno(err, "%s", r->host);
        bytes += n;
        len -= (size_t)n;
    }
    return UMBEL_OK;
}

/* Sends a command to this server and waits for its reply. */
static umbel_status exchange(um_redis *r, const umbel_slice *words, size_t n,
                             um_redis_reply *out, umbel_error *err)
{
    const char *argv[8];
    size_t lens[8];
    char *command = NULL;

    if (n > UM_COUNT(argv))
        return um_fail(err, UMBEL_E_RANGE, "a command of %zu words", n);
    for (size_t i = 0; i < n; i++) {
        argv[i] = words[i].data;
        lens[i] = words[i].len;
    }
    int len = redisFormatCommandArgv(&command, (int)n, argv, lens);
    if (len < 0)
        return um_no_memory(err, (size_t)UM_REDIS_MAX_BYTES);
    umbel_status status = send_all(r, command, (size_t)len, err);
    redisFreeCommand(command);
    return status ? status : receive_reply(r, out, err);
}

/* --- connections ---------------------------------------------------------- */

static umbel_status connect_to(um_redis *r, umbel_error *err)
{
    struct timeval wait = {.tv_sec = (time_t)r->timeout};

    r->context = redisConnectWithTimeout(r->host, r->port, wait);
    if (!r->context)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a connection");
    if (r->context->err)
        return um_fail(err, UMBEL_E_IO, "%.80s:%d: %s", r->host, r->port,
                       r->context->errstr);
    if (redisSetTimeout(r->context, wait) != REDIS_OK)
        return um_fail(err, UMBEL_E_IO, "%.80s:%d: %s", r->host, r->port,
                       r->context->errstr);
    return UMBEL_OK;
}

static umbel_slice text_slice(const char *s)
{
    return (umbel_slice){s, strlen(s)};
}

static umbel_status log_in(um_redis *r, umbel_error *err)
{
    const char *password =
        r->password ? r->password : getenv("UMBEL_REDIS_PASSWORD");
    umbel_slice words[3] = {text_slice("AUTH")};
    um_redis_reply reply;
    size_t n = 1;

    if (!password)
        return UMBEL_OK;
    if (r->user)
        words[n++] = text_slice(r->user);
    words[n++] = text_slice(password);
    UM_TRY(exchange(r, words, n, &reply, err));
    if (reply.value[0].type != UM_REDIS_STATUS)
        return um_fail(err, UMBEL_E_IO, "%s refuses the password", r->host);
    return UMBEL_OK;
}

/* --- nodes of a cluster --------------------------------------------------- */

/*
 * Parses MOVED SLOT HOST:PORT, the reply of a node that does not have the key.
 * Without a host, or with "?", only the port differs. Returns false for another
 * reply.
 */
static bool parse_moved(um_redis *r, const um_redis_reply *reply)
{
    char text[512];
    uint64_t port = 0;

    if (reply->is_array || reply->value[0].type != UM_REDIS_ERROR ||
        !um_slice_text(reply->value[0].text, text, sizeof text) ||
        strncmp(text, "MOVED ", 6) != 0)
        return false;
    char *host = strrchr(text, ' ') + 1, *colon = strrchr(host, ':');
    if (!colon || !um_decimal_parse(colon + 1, UINT16_MAX, &port) || !port)
        return false;
    *colon = '\0';
    if (*host && strcmp(host, "?") != 0) {
        char *node = strdup(host);
        if (!node)
            return false;
        free(r->node);
        r->host = r->node = node;
    }
    r->port = (int)port;
    return true;
}

static umbel_status connect_to_node(um_redis *r, umbel_error *err)
{
    redisFree(r->context);
    r->context = NULL;
    UM_TRY(connect_to(r, err));
    return log_in(r, err);
}

umbel_status um_redis_call(um_redis *r, const umbel_slice *words, size_t n,
                           um_redis_reply *out, umbel_error *err)
{
    UM_TRY(exchange(r, words, n, out, err));
    for (int i = 0; i < MAX_REDIRECTS && parse_moved(r, out); i++) {
        UM_TRY(connect_to_node(r, err));
        UM_TRY(exchange(r, words, n, out, err));
    }
    return UMBEL_OK;
}

umbel_status um_redis_open(const char *url, uint64_t timeout, um_redis **out,
                           umbel_error *err)
{
    umbel_status status;

    if (strncmp(url, "rediss://", 9) == 0)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "rediss:// (TLS) is not supported: open a tunnel, such "
                       "as 'socat TCP-LISTEN:6380,bind=127.0.0.1,fork "
                       "OPENSSL:HOST:PORT', and use "
                       "redis://127.0.0.1:6380/KEY");
    um_redis *r = calloc(1, sizeof *r);
    if (r)
        r->url = strdup(url);
    if (!r || !r->url) {
        free(r);
        return um_no_memory(err, strlen(url));
    }
    r->timeout = timeout;
    status = parse_address(r, err);
    if (!status)
        status = connect_to(r, err);
    if (!status)
        status = log_in(r, err);
    if (status)
        um_redis_close(r);
    else
        *out = r;
    return status;
}

void um_redis_close(um_redis *r)
{
    if (!r)
        return;
    if (r->password)
        sodium_memzero(r->password, strlen(r->password));
    if (r->context)
        redisFree(r->context);
    free(r->reply);
    free(r->node);
    free(r->url);
    free(r);
}

umbel_slice um_redis_key(const um_redis *r)
{
    return (umbel_slice){r->key, r->key_len};
}

uint64_t um_redis_received(const um_redis *r)
{
    return r->received;
}
