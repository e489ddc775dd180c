/*
 * fetch.c - one transfer with libcurl.
 */
#include "net/fetch.h"

#include "base/error.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CONNECT_SECONDS = 20,
    SILENT_SECONDS = 30,   /* without a byte: give up */
    PATIENCE_SECONDS = 60, /* for all, and at the least speed: give up, too */
    LEAST_SPEED = 1000,    /* bytes a second */
    REDIRECTS = 5,
    CHATTER = 1 << 20, /* bytes of what nobody asked for: pages of failures */
    SETTLED = 2        /* seconds */
};

typedef struct transfer {
    CURL *curl;
    const um_fetch *f;
    um_fetched *out;
    umbel_error *err;
    bool refused;         /* by us; err is set */
    uint64_t begins;      /* the server's range, from here; or UINT64_MAX */
    time_t sent, changed; /* by the server's clock; -1 */
} transfer;

static bool begins_with(const char *text, size_t len, const char *start)
{
    size_t n = strlen(start);
    return len >= n && strncasecmp(text, start, n) == 0;
}

bool um_is_url(const char *text)
{
    static const char *const start[] = {"http://", "https://", "file://"};

    for (size_t i = 0; i < UM_COUNT(start); i++)
        if (begins_with(text, strlen(text), start[i]))
            return true;
    return false;
}

const char *um_url_shown(const char *url)
{
    const char *start = strstr(url, "://");
    const char *host = start ? start + 3 : url;
    size_t len = strcspn(host, "/?#");

    while (len > 0 && host[len - 1] != '@')
        len--;
    return len > 0 ? host + len : url;
}

static size_t refuse(transfer *t)
{
    t->refused = true;
    return 0; /* libcurl ends the transfer */
}

/* The first bytes tell which part of it these are. */
static bool is_asked_part(transfer *t, long code)
{
    if (t->f->from == 0 || t->out->bytes > 0)
        return true;
    t->out->whole = code == 200;
    t->out->odd_range = code == 206 && t->begins != t->f->from;
    if (t->out->odd_range)
        um_set_error(t->err, UMBEL_E_IO,
                     "the server sends another part of the file than it was "
                     "asked for");
    return !t->out->odd_range;
}

static size_t body(char *bytes, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;
    long code = 0;

    len *= one;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code >= 300) /* a page for people; told bounds it */
        return len;
    if (!is_asked_part(t, code))
        return refuse(t);
    uint64_t start = t->out->whole ? 0 : t->f->from;
    t->out->bytes += len;
    if (start + t->out->bytes > t->f->max) {
        um_set_error(t->err, UMBEL_E_LIMIT,
                     "the server sends more than %" PRIu64
                     " bytes: it is not what was published",
                     t->f->max);
        return refuse(t);
    }
    return t->f->take(t->f->ctx, bytes, len, t->err) ? len : refuse(t);
}

/* Bytes that libcurl drops unseen, such as those of redirects, count as well.
 */
static int told(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_all,
                curl_off_t up_now)
{
    transfer *t = ctx;
    long code = 0;

    (void)total;
    (void)up_all;
    (void)up_now;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (t->refused || code < 300 || now <= CHATTER)
        return 0;
    um_set_error(t->err, UMBEL_E_IO,
                 "the server answers %ld to %.120s, and does not stop", code,
                 um_url_shown(t->f->url));
    refuse(t);
    return 1;
}

/* A tag goes back to the server, and to a file: only if it is plain text. */
static void keep_tag(transfer *t, const char *text, size_t len)
{
    bool plain = len > 0 && len < sizeof t->out->tag;

    for (size_t i = 0; plain && i < len; i++)
        plain = text[i] >= ' ' && text[i] <= '~';
    memcpy(t->out->tag, text, plain ? len : 0);
    t->out->tag[plain ? len : 0] = '\0';
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

/* "bytes 1000-1999/2000": 1000. */
static void read_range(transfer *t, const char *text, size_t len)
{
    char copy[64], *end;

    if (!begins_with(text, len, "bytes ") || len >= sizeof copy)
        return;
    memcpy(copy, text, len);
    copy[len] = '\0';
    unsigned long long from = strtoull(copy + 6, &end, 10);
    if (end > copy + 6 && *end == '-')
        t->begins = from;
}

static void take_header(transfer *t, const char *name, size_t skip,
                        const char *text, size_t len)
{
    if (begins_with(name, skip, "etag:")) {
        keep_tag(t, text, len);
    } else if (begins_with(name, skip, "last-modified:")) {
        t->changed = read_time(text, len);
        if (!t->out->tag[0])
            keep_tag(t, text, len);
    } else if (begins_with(name, skip, "date:")) {
        t->sent = read_time(text, len);
    } else if (begins_with(name, skip, "content-range:")) {
        read_range(t, text, len);
    }
}

/* A line; those of a redirect are forgotten when the next answer begins. */
static size_t header(char *line, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;

    len *= one;
    const char *colon = memchr(line, ':', len), *end = line + len;
    if (begins_with(line, len, "http/")) {
        t->out->tag[0] = '\0';
        t->begins = UINT64_MAX;
        t->sent = t->changed = -1;
    } else if (colon) {
        const char *from = colon + 1;
        while (from < end && (*from == ' ' || *from == '\t'))
            from++;
        while (end > from && (unsigned char)end[-1] <= ' ')
            end--;
        take_header(t, line, (size_t)(colon + 1 - line), from,
                    (size_t)(end - from));
    }
    return len;
}

/*
 * Servers name states by the second and the length: two of one second have one
 * name, and who remembers it would never see the second of them.
 */
static void settle_tag(transfer *t)
{
    if (t->changed >= 0 && (t->sent < 0 || t->sent - t->changed < SETTLED))
        t->out->tag[0] = '\0';
}

/* Ask for it only when it changed: by tag, which is quoted, or by time. */
static struct curl_slist *make_headers(const um_fetch *f)
{
    char line[UM_FETCH_TAG + 32];
    struct curl_slist *list = NULL;

    if (f->fresh)
        list = curl_slist_append(list, "Cache-Control: no-cache");
    if (!f->tag || !*f->tag)
        return list;
    snprintf(line, sizeof line, "%s: %s",
             strchr(f->tag, '"') ? "If-None-Match" : "If-Modified-Since",
             f->tag);
    return curl_slist_append(list, line);
}

static void set_limits(CURL *c, const um_fetch *f)
{
    uint64_t seconds = PATIENCE_SECONDS + (f->max - f->from) / LEAST_SPEED;

    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT,
                     (long)(seconds < 1000000 ? seconds : 1000000));
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS);
}

/*
 * libcurl's own way to go on refuses a server that cannot, for ever; asking for
 * a range leaves the answer to us. Of a file it is the other way round.
 */
static void set_start(CURL *c, const um_fetch *f)
{
    char range[32];

    if (f->from && begins_with(f->url, strlen(f->url), "file:"))
        curl_easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)f->from);
    else if (f->from) {
        snprintf(range, sizeof range, "%" PRIu64 "-", f->from);
        curl_easy_setopt(c, CURLOPT_RANGE, range);
    }
}

/* Without CURLOPT_NOSIGNAL: then a server that hangs up could end us (SIGPIPE).
 */
static void prepare(transfer *t, char *reason, struct curl_slist *headers)
{
    CURL *c = t->curl;
    bool safe = begins_with(t->f->url, strlen(t->f->url), "https:");

    curl_easy_setopt(c, CURLOPT_URL, t->f->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https,file");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR,
                     safe ? "https" : "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L); /* without its page */
    curl_easy_setopt(c, CURLOPT_USERAGENT, "umbel/" UM_VERSION);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, told);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    if (t->f->ca) {
        curl_easy_setopt(c, CURLOPT_CAINFO, t->f->ca);
        curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
    }
    set_limits(c, t->f);
    set_start(c, t->f);
}

/* 0 is a file's. */
static bool is_answer(const transfer *t, long answer)
{
    return answer == 0 || answer == 200 || (answer == 206 && t->f->from) ||
           t->out->unchanged;
}

static umbel_status conclude(transfer *t, CURLcode code, const char *reason)
{
    const char *url = um_url_shown(t->f->url);
    long answer = 0;

    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &answer);
    t->out->missing = (answer >= 400 && answer < 500 && answer != 416) ||
                      code == CURLE_FILE_COULDNT_READ_FILE;
    t->out->odd_range |= answer == 416;
    t->out->unchanged = answer == 304 && t->f->tag && *t->f->tag;
    if (answer == 404 || answer == 410 || code == CURLE_FILE_COULDNT_READ_FILE)
        return um_fail(t->err, UMBEL_E_IO, "%.150s is not there", url);
    if (t->refused)
        return t->err->status;
    if (code == CURLE_OK && is_answer(t, answer))
        return UMBEL_OK;
    if (code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR)
        return um_fail(t->err, UMBEL_E_IO, "the server answers %ld to %.150s",
                       answer, url);
    return um_fail(t->err, UMBEL_E_IO, "%.120s: %.100s", url,
                   *reason ? reason : curl_easy_strerror(code));
}

umbel_status um_fetch_run(const um_fetch *f, um_fetched *out, umbel_error *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    umbel_error own = {.status = UMBEL_OK};
    transfer t = {.f = f,
                  .out = out,
                  .err = err ? err : &own,
                  .begins = UINT64_MAX,
                  .sent = -1,
                  .changed = -1};

    *out = (um_fetched){.bytes = 0};
    t.curl = curl_easy_init();
    if (!t.curl)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a transfer");
    struct curl_slist *headers = make_headers(f);
    prepare(&t, reason, headers);
    umbel_status status = conclude(&t, curl_easy_perform(t.curl), reason);
    settle_tag(&t);
    curl_slist_free_all(headers);
    curl_easy_cleanup(t.curl);
    return status;
}
