/*
 * fetch.c - one transfer with libcurl.
 *
 * It knows nothing about filters: it passes on the bytes and the server's
 * headers.
 *
 * The meter limits the bytes and time of a transfer. libcurl hides the framing
 * of chunks and the bytes that it skips, and a server can send endless amounts
 * of both. So the kernel's count of received bytes is used (TCP_INFO); on other
 * systems, the bytes that libcurl passes on. At every moment the time is at
 * most timeout + bytes / min_rate. The bytes are bounded, and so is the time.
 */
#include <umbel/fetch.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/tcp.h>
#endif

enum {
    REDIRECTS = 5,
    BUFFER = 1 << 15, /* libcurl reads up to 100 times between two checks */
    TAG_MIN_AGE = 2   /* seconds */
};

/* --- the meter ------------------------------------------------------------ */

enum {
    METER_TIMEOUT = 30,     /* seconds */
    METER_MIN_RATE = 10000, /* bytes a second */
    METER_EXTRA = 1 << 18,  /* bytes besides the file: headers, pages, TLS */
    METER_SOCKETS = 8       /* open at the same time */
};

typedef struct meter {
    uint64_t timeout, min_rate;
    uint64_t max;     /* bytes of the file */
    uint64_t headers; /* bytes of status lines, headers and trailers */
    uint64_t began, progress, got; /* progress: when bytes last arrived */
    int open[METER_SOCKETS];
    size_t nopen;
    uint64_t closed; /* bytes that closed sockets received */
} meter;

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- sockets -------------------------------------------------------------- */

static uint64_t socket_bytes(int fd)
{
#ifdef __linux__
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t len = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
        return info.tcpi_bytes_received;
#else
    (void)fd;
#endif
    return 0;
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose,
                                 struct curl_sockaddr *a)
{
    meter *m = ctx;

    (void)purpose;
    if (m->nopen == METER_SOCKETS)
        return CURL_SOCKET_BAD;
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    if (fd >= 0)
        m->open[m->nopen++] = fd;
    return fd;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
    meter *m = ctx;

    m->closed += socket_bytes(fd);
    for (size_t i = 0; i < m->nopen; i++)
        if (m->open[i] == fd)
            m->open[i--] = m->open[--m->nopen];
    return close(fd);
}

static uint64_t received(const meter *m, uint64_t now)
{
    uint64_t wire = m->closed, passed = m->headers + now;

    for (size_t i = 0; i < m->nopen; i++)
        wire += socket_bytes(m->open[i]);
    return wire > passed ? wire : passed;
}

/* --- limits --------------------------------------------------------------- */

/* Returns the limit of received bytes: an eighth more than the file, for the
 * framing of chunks and TLS. */
static uint64_t max_bytes(const meter *m)
{
    return m->max + m->max / 8 + METER_EXTRA;
}

static uint64_t at_most(uint64_t x, uint64_t limit)
{
    return x < limit ? x : limit;
}

/* Attaches *m to c with these limits; 0 is the default. c uses *m until it is
 * cleaned up. Larger limits are reduced, since they would overflow here or in
 * libcurl's milliseconds. */
static void attach_meter(meter *m, CURL *c, uint64_t timeout, uint64_t min_rate,
                         uint64_t max)
{
    m->timeout = timeout ? at_most(timeout, INT_MAX / 1000) : METER_TIMEOUT;
    m->min_rate = min_rate ? min_rate : METER_MIN_RATE;
    m->max = at_most(max, UINT64_MAX / 2);
    m->began = m->progress = now_ms();
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)m->timeout);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, m);
    curl_easy_setopt(c, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(c, CURLOPT_CLOSESOCKETDATA, m);
}

/* Counts a status line, a header or a trailer; E_IO if there are too many, or
 * one is folded. libcurl's memory for a folded header grows with the square of
 * its length. */
static umbel_status count_header(meter *m, const char *line, size_t len,
                                 umbel_error *err)
{
    m->headers += len;
    if (len && (*line == ' ' || *line == '\t'))
        return um_fail(err, UMBEL_E_IO, "the server sends folded headers");
    if (m->headers > METER_EXTRA)
        return um_fail(err, UMBEL_E_IO,
                       "the server sends more than %d bytes of headers",
                       METER_EXTRA);
    return UMBEL_OK;
}

/* Checks the limits on bytes and time; libcurl has received `now` bytes of a
 * body. */
static umbel_status check_meter(meter *m, uint64_t now, umbel_error *err)
{
    uint64_t ms = now_ms(), got = received(m, now);

    if (got != m->got)
        m->progress = ms;
    m->got = got;
    if (got > max_bytes(m))
        return um_fail(err, UMBEL_E_IO,
                       "the server sends %" PRIu64 " bytes for a file of at "
                       "most %" PRIu64 ", and does not stop",
                       got, m->max);
    if (ms - m->progress > m->timeout * 1000)
        return um_fail(err, UMBEL_E_IO,
                       "the server is silent for %" PRIu64 " s", m->timeout);
    if (ms - m->began > 1000 * (m->timeout + got / m->min_rate))
        return um_fail(err, UMBEL_E_IO,
                       "the server is too slow: %" PRIu64 " bytes in %" PRIu64
                       " s",
                       got, (ms - m->began) / 1000);
    return UMBEL_OK;
}

/* --- the transfer --------------------------------------------------------- */

typedef struct transfer {
    CURL *curl;
    meter meter;
    const umbel_request *request;
    umbel_response *out;
    umbel_error *err;
    umbel_status refused; /* our refusal; err is set */
    uint64_t at;          /* offset of the next byte */
    uint64_t range;       /* where the server's range starts; or UINT64_MAX */
    time_t sent, changed; /* by the server's clock; -1: unknown */
} transfer;

static bool begins_with(const char *text, size_t len, const char *start)
{
    size_t n = strlen(start);
    return len >= n && strncasecmp(text, start, n) == 0;
}

static bool has_scheme(const char *url, const char *scheme)
{
    return begins_with(url, strlen(url), scheme);
}

/* Returns the address for messages, without user name and password. */
static const char *without_login(const char *url)
{
    const char *start = strstr(url, "://");
    const char *host = start ? start + 3 : url;
    size_t len = strcspn(host, "/?#");

    while (len > 0 && host[len - 1] != '@')
        len--;
    return len > 0 ? host + len : url;
}

static umbel_status check_url(const char *url, umbel_error *err)
{
    if (!has_scheme(url, "http://") && !has_scheme(url, "https://") &&
        !has_scheme(url, "file://"))
        return um_fail(err, UMBEL_E_RANGE,
                       "only addresses that begin with http://, https:// or "
                       "file:// can be fetched");
    if (has_scheme(url, "file://") && url[7] != '/' &&
        strncmp(url + 7, "localhost/", 10) != 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "file:// needs an absolute path, as in "
                       "file:///srv/lists/words");
    return UMBEL_OK;
}

static size_t refuse(transfer *t, umbel_status status)
{
    t->refused = status;
    return 0; /* libcurl ends the transfer */
}

/* Determines the offset of the first byte, when it arrives. */
static umbel_status find_start(transfer *t, long code)
{
    t->at = code == 200 ? 0 : t->request->from;
    t->out->bad_range =
        t->request->from && code == 206 && t->range != t->request->from;
    if (t->out->bad_range)
        return um_fail(t->err, UMBEL_E_IO,
                       "the server sends another part of the file than "
                       "requested");
    return UMBEL_OK;
}

static size_t body(char *bytes, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;
    umbel_slice piece = {bytes, len * one};
    umbel_status status = UMBEL_OK;
    long code = 0;

    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code >= 300) /* an error page; on_progress limits it */
        return piece.len;
    if (t->out->bytes == 0)
        status = find_start(t, code);
    if (status != UMBEL_OK)
        return refuse(t, status);
    t->out->bytes += piece.len;
    status = t->request->take(t->request->ctx, t->at, piece, t->err);
    t->at += piece.len;
    return status == UMBEL_OK ? piece.len : refuse(t, status);
}

/* Limits the bytes that libcurl discards: error pages, redirects, the framing
 * of chunks. */
static int on_progress(void *ctx, curl_off_t total, curl_off_t now,
                       curl_off_t up_all, curl_off_t up_now)
{
    transfer *t = ctx;
    long code = 0;
    umbel_status status;

    (void)total;
    (void)up_all;
    (void)up_now;
    if (t->refused)
        return 1;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code >= 300 && now > METER_EXTRA)
        status = um_fail(t->err, UMBEL_E_IO,
                         "the server answers %ld to %.120s, and does not stop",
                         code, without_login(t->request->url));
    else
        status = check_meter(&t->meter, (uint64_t)now, t->err);
    if (status)
        refuse(t, status);
    return status != UMBEL_OK;
}

static void copy_tag(transfer *t, const char *text, size_t len)
{
    if (len >= sizeof t->out->tag)
        len = 0;
    memcpy(t->out->tag, text, len);
    t->out->tag[len] = '\0';
}

static time_t read_time(const char *text, size_t len)
{
    char copy[64];

    if (len >= sizeof copy)
        return -1;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return curl_getdate(copy, NULL);
}

/* Parses 1000 from "bytes 1000-1999/2000". */
static void read_range(transfer *t, const char *text, size_t len)
{
    uint64_t from;

    if (!begins_with(text, len, "bytes "))
        return;
    size_t digits = um_decimal_scan(text + 6, len - 6, &from);
    if (digits && 6 + digits < len && text[6 + digits] == '-')
        t->range = from;
}

static void parse_header(transfer *t, const char *name, size_t skip,
                         const char *text, size_t len)
{
    if (begins_with(name, skip, "etag:")) {
        copy_tag(t, text, len);
    } else if (begins_with(name, skip, "last-modified:")) {
        t->changed = read_time(text, len);
        if (!t->out->tag[0])
            copy_tag(t, text, len);
    } else if (begins_with(name, skip, "date:")) {
        t->sent = read_time(text, len);
    } else if (begins_with(name, skip, "content-range:")) {
        read_range(t, text, len);
    }
}

/* Handles a header line. Headers of a redirect are discarded when the next
 * response begins. */
static size_t header(char *line, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;

    len *= one;
    umbel_status status = count_header(&t->meter, line, len, t->err);
    if (status)
        return refuse(t, status);
    const char *colon = memchr(line, ':', len), *end = line + len;
    if (begins_with(line, len, "http/")) {
        t->out->tag[0] = '\0';
        t->range = UINT64_MAX;
        t->sent = t->changed = -1;
    } else if (colon) {
        const char *from = colon + 1;
        while (from < end && (*from == ' ' || *from == '\t'))
            from++;
        while (end > from && (unsigned char)end[-1] <= ' ')
            end--;
        parse_header(t, line, (size_t)(colon + 1 - line), from,
                     (size_t)(end - from));
    }
    return len;
}

/*
 * Drops the tag of a file that has just changed. Servers make tags from the
 * time in seconds and the length: a second change within that second would have
 * the same tag, and a reader that remembers it would never see that change.
 */
static void drop_recent_tag(transfer *t)
{
    if (t->changed >= 0 && (t->sent < 0 || t->sent - t->changed < TAG_MIN_AGE))
        t->out->tag[0] = '\0';
}

/* Creates headers that request the file only if it has changed: by tag, which
 * is quoted, or by time. */
static struct curl_slist *create_headers(const umbel_request *r)
{
    char line[UMBEL_MAX_TAG + 32];
    struct curl_slist *list = NULL;

    if (r->fresh)
        list = curl_slist_append(list, "Cache-Control: no-cache");
    if (!r->tag || !*r->tag)
        return list;
    snprintf(line, sizeof line, "%s: %s",
             strchr(r->tag, '"') ? "If-None-Match" : "If-Modified-Since",
             r->tag);
    return curl_slist_append(list, line);
}

/*
 * Sets the start of the transfer. libcurl's own resume fails if the server does
 * not support it; with a range we decide. For file: URLs only resume works.
 */
static void set_start(CURL *c, const umbel_request *r)
{
    char range[32];

    if (r->from && has_scheme(r->url, "file:"))
        curl_easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)r->from);
    else if (r->from) {
        snprintf(range, sizeof range, "%" PRIu64 "-", r->from);
        curl_easy_setopt(c, CURLOPT_RANGE, range);
    }
}

/* Sets the options of a transfer. CURLOPT_NOSIGNAL stays off: with it, a server
 * that hangs up could end the process (SIGPIPE). */
static void prepare(transfer *t, const umbel_fetch_params *params, char *reason,
                    struct curl_slist *headers)
{
    CURL *c = t->curl;
    const char *url = t->request->url;
    bool safe = has_scheme(url, "https:");

    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https,file");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR,
                     safe ? "https" : "http,https");
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L); /* without the error page */
    curl_easy_setopt(c, CURLOPT_USERAGENT, "umbel/" UM_VERSION);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, (long)BUFFER);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    if (params->ca) {
        curl_easy_setopt(c, CURLOPT_CAINFO, params->ca);
        curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
    }
    attach_meter(&t->meter, c, params->timeout, params->min_rate,
                 t->request->max);
    set_start(c, t->request);
}

/* Returns true for an expected response; a file: URL has code 0. */
static bool is_answer(const transfer *t, long answer)
{
    return answer == 0 || answer == 200 ||
           (answer == 206 && t->request->from) || t->out->unchanged;
}

static umbel_status conclude(transfer *t, CURLcode code, const char *reason)
{
    const char *url = without_login(t->request->url), *tag = t->request->tag;
    bool no_file = code == CURLE_FILE_COULDNT_READ_FILE;
    long answer = 0;

    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &answer);
    t->out->missing =
        (answer >= 400 && answer < 500 && answer != 416) || no_file;
    t->out->bad_range |= answer == 416;
    t->out->unchanged = answer == 304 && tag && *tag;
    if (answer == 404 || answer == 410 || no_file)
        return um_fail(t->err, UMBEL_E_IO, "%s%s does not exist",
                       um_path_dots(url), um_path_tail(url));
    if (t->refused)
        return t->refused;
    if (code == CURLE_OK && is_answer(t, answer))
        return UMBEL_OK;
    if (code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR)
        return um_fail(t->err, UMBEL_E_IO, "the server answers %ld to %s%s",
                       answer, um_path_dots(url), um_path_tail(url));
    return um_fail(t->err, UMBEL_E_IO, "%s%s: %s%s", um_path_dots(url),
                   um_path_tail(url),
                   *reason ? reason : curl_easy_strerror(code),
                   code == CURLE_SSL_CONNECT_ERROR
                       ? ": does the server speak https? If not, its address "
                         "begins with http://"
                       : "");
}

static umbel_status fetch(void *ctx, const umbel_request *request,
                          umbel_response *out, umbel_error *err)
{
    const umbel_fetch_params defaults = UMBEL_FETCH_INIT,
                             *params = ctx ? ctx : &defaults;
    char reason[CURL_ERROR_SIZE] = "";
    transfer t = {.request = request,
                  .out = out,
                  .err = err,
                  .range = UINT64_MAX,
                  .sent = -1,
                  .changed = -1};

    *out = (umbel_response){.bytes = 0};
    if (params->size < sizeof *params)
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_FETCH_INIT");
    UM_TRY(check_url(request->url, err));
    t.curl = curl_easy_init();
    if (!t.curl)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a transfer");
    struct curl_slist *headers = create_headers(request);
    prepare(&t, params, reason, headers);
    umbel_status status = conclude(&t, curl_easy_perform(t.curl), reason);
    drop_recent_tag(&t);
    curl_slist_free_all(headers);
    curl_easy_cleanup(t.curl);
    return status;
}

umbel_fetcher umbel_fetch_curl(const umbel_fetch_params *params)
{
    union {
        const umbel_fetch_params *given;
        void *ctx; /* fetch casts it back to const */
    } same = {params};

    return (umbel_fetcher){
        .size = sizeof(umbel_fetcher), .ctx = same.ctx, .get = fetch};
}
