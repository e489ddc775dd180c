/*
 * fetch.c - one transfer with libcurl.
 */
#include "net/fetch.h"

#include "base/error.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    CONNECT_SECONDS = 20,
    SILENT_SECONDS = 30, /* without a byte: give up */
    REDIRECTS = 5
};

typedef struct transfer {
    CURL *curl;
    const um_fetch *f;
    um_fetched *out;
    umbel_error *err;
    bool refused; /* by us; err is set */
} transfer;

bool um_is_url(const char *text)
{
    static const char *const start[] = {"http://", "https://", "file://"};

    for (size_t i = 0; i < UM_COUNT(start); i++)
        if (strncasecmp(text, start[i], strlen(start[i])) == 0)
            return true;
    return false;
}

static size_t refuse(transfer *t)
{
    t->refused = true;
    return 0; /* libcurl ends the transfer */
}

static size_t body(char *bytes, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;
    long code = 0;

    len *= one;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code >= 300) /* the page that explains a failure */
        return len;
    if (t->f->from && t->out->bytes == 0)
        t->out->whole = code == 200;
    uint64_t start = t->out->whole ? 0 : t->f->from;
    t->out->bytes += len;
    if (start + t->out->bytes > t->f->max) {
        um_note(t->err, UMBEL_E_LIMIT,
                "the server sends more than %llu bytes: it is not what was "
                "published",
                (unsigned long long)t->f->max);
        return refuse(t);
    }
    return t->f->take(t->f->ctx, bytes, len, t->err) ? len : refuse(t);
}

/* "ETag: x" or "Last-Modified: x", the first being better. */
static size_t header(char *line, size_t one, size_t len, void *ctx)
{
    static const char *const names[] = {"etag:", "last-modified:"};
    transfer *t = ctx;

    len *= one;
    for (size_t i = 0; i < UM_COUNT(names); i++) {
        size_t skip = strlen(names[i]);
        if (len <= skip || strncasecmp(line, names[i], skip) != 0)
            continue;
        if (i == 1 && t->out->tag[0])
            continue;
        const char *from = line + skip, *end = line + len;
        while (from < end && (*from == ' ' || *from == '\t'))
            from++;
        while (end > from && (unsigned char)end[-1] <= ' ')
            end--;
        snprintf(t->out->tag, sizeof t->out->tag, "%.*s", (int)(end - from),
                 from);
    }
    return len;
}

/* Ask for it only when it changed: by tag, which is quoted, or by time. */
static struct curl_slist *condition(const char *tag)
{
    char line[UM_FETCH_TAG + 32];
    bool is_tag = strchr(tag, '"') != NULL;

    snprintf(line, sizeof line, "%s: %s",
             is_tag ? "If-None-Match" : "If-Modified-Since", tag);
    return curl_slist_append(NULL, line);
}

static void prepare(transfer *t, char *reason, struct curl_slist *headers)
{
    CURL *c = t->curl;

    curl_easy_setopt(c, CURLOPT_URL, t->f->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https,file");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "umbel/" UM_VERSION);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    if (t->f->from)
        curl_easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t->f->from);
}

static umbel_status conclude(transfer *t, CURLcode code, const char *reason)
{
    long answer = 0;

    if (t->refused)
        return t->err ? t->err->status : UMBEL_E_IO;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &answer);
    t->out->unchanged = answer == 304;
    t->out->missing =
        answer == 404 || answer == 410 || code == CURLE_FILE_COULDNT_READ_FILE;
    if (t->out->missing)
        return um_fail(t->err, UMBEL_E_IO, "%.150s is not there", t->f->url);
    if (code == CURLE_OK && answer < 400)
        return UMBEL_OK;
    if (code == CURLE_OK)
        return um_fail(t->err, UMBEL_E_IO, "the server answers %ld to %.150s",
                       answer, t->f->url);
    return um_fail(t->err, UMBEL_E_IO, "%.120s: %.100s", t->f->url,
                   *reason ? reason : curl_easy_strerror(code));
}

umbel_status um_fetch_run(const um_fetch *f, um_fetched *out, umbel_error *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    umbel_error own;
    transfer t = {.f = f, .out = out, .err = err ? err : &own};
    struct curl_slist *headers = NULL;

    *out = (um_fetched){.bytes = 0};
    t.curl = curl_easy_init();
    if (!t.curl)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a transfer");
    if (f->tag && *f->tag)
        headers = condition(f->tag);
    prepare(&t, reason, headers);
    umbel_status status = conclude(&t, curl_easy_perform(t.curl), reason);
    curl_slist_free_all(headers);
    curl_easy_cleanup(t.curl);
    return status;
}
