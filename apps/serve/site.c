/*
 * site.c - the filters that are served, and the answers.
 *
 *     GET  /check/NAME/KEY   {"key": ..., "match": true, ...}
 *     POST /check/NAME       lines, answered like those of check --answer, or
 *                            JSON: ["KEY", ...], {"keys": [...]}, {"key": ...}
 *
 * Everything after the second slash is the key, percent-encoded, so that a key
 * may contain slashes. A query (?...) is refused, because it is probably a part
 * of a key that was not encoded.
 */
#define _GNU_SOURCE /* strcasestr */
#include "serve/internal.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "keylist/json.h"
#include "net/server/metrics.h"

#include <umbel/describe.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    OK = 200,
    BAD_REQUEST = 400,
    NOT_FOUND = 404,
    METHOD_NOT_ALLOWED = 405,
    TOO_LARGE = 413,
    NOT_IMPLEMENTED = 501,
    UNAVAILABLE = 503,
    SHOWN = 80 /* bytes of a name in messages */
};

static const char json[] = "application/json";

/* --- the filters ---------------------------------------------------------- */

static int compare(const um_served *f, umbel_slice name)
{
    size_t len = strlen(f->name), both = len < name.len ? len : name.len;
    int order = both ? memcmp(f->name, name.data, both) : 0;

    return order ? order : (len > name.len) - (len < name.len);
}

/* Returns the index of the first filter whose name is not before this one. */
static size_t find_place(const um_site *s, umbel_slice name)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(s->served[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static um_served *find(const um_site *s, umbel_slice name)
{
    size_t i = find_place(s, name);

    return i < s->n && compare(s->served[i], name) == 0 ? s->served[i] : NULL;
}

static um_served *add(um_site *s, const char *name)
{
    size_t i = find_place(s, (umbel_slice){name, strlen(name)});
    um_served *new = calloc(1, sizeof *new);

    if (!new ||
        !um_array_reserve(&s->served, &s->cap, s->n + 1, sizeof(um_served *))) {
        free(new);
        return NULL;
    }
    memmove(s->served + i + 1, s->served + i, (s->n - i) * sizeof(um_served *));
    new->name = name;
    s->served[i] = new;
    s->n++;
    return new;
}

umbel_filter *um_site_apply(um_site *s, um_edition_news *news, double now)
{
    um_served *f = find(s, (umbel_slice){news->name, strlen(news->name)});
    umbel_filter *old;

    f = f ? f : add(s, news->name);
    if (!f) { /* no memory: it is not served */
        old = news->filter;
        news->filter = NULL;
        return old;
    }
    free(f->problem);
    f->problem = news->problem;
    news->problem = NULL;
    f->refused += news->refused;
    if (!news->filter)
        return NULL;
    old = f->filter;
    f->filter = news->filter;
    news->filter = NULL;
    f->editions++;
    f->since = now;
    return old;
}

void um_site_fini(um_site *s)
{
    for (size_t i = 0; i < s->n; i++) {
        umbel_close(s->served[i]->filter);
        free(s->served[i]->problem);
        free(s->served[i]);
    }
    free(s->served);
    um_question_fini(&s->question);
    um_buffer_fini(&s->name);
    um_buffer_fini(&s->key);
}

/* Finds a filter that can be asked. */
static umbel_status choose(const um_site *s, umbel_slice name, um_served **out,
                           umbel_error *err)
{
    um_served *f = find(s, name);
    int shown = name.len < SHOWN ? (int)name.len : SHOWN;

    if (!f)
        return um_fail(err, UMBEL_E_UNKNOWN, "there is no filter \"%.*s\" here",
                       shown, (const char *)name.data);
    if (!f->filter)
        return um_fail(err, UMBEL_E_FORMAT, "no valid file of %s yet: %s",
                       f->name, f->problem ? f->problem : "it is gone");
    *out = f;
    return UMBEL_OK;
}

/* --- lines ---------------------------------------------------------------- */

void um_site_line(um_site *s, umbel_slice line, bool too_long, FILE *out)
{
    const char *tab =
        !s->single && line.len ? memchr(line.data, '\t', line.len) : NULL;
    umbel_slice name = {line.data,
                        tab ? (size_t)(tab - (const char *)line.data) : 0};
    umbel_error err;
    um_served *f = NULL;

    if (tab) {
        line.data = tab + 1;
        line.len -= name.len + 1;
    }
    if (too_long)
        um_answer_refusal(line, UM_ANSWER_TOO_LONG, '\n', out);
    else if (!s->single && !tab)
        um_answer_refusal(line, "write NAME, a tab and the key", '\n', out);
    else if (s->single)
        f = s->served[0];
    else if (choose(s, name, &f, &err) != UMBEL_OK)
        um_answer_refusal(line, err.text, '\n', out);
    if (f)
        f->answers[um_answer_line(&s->question, f->filter, line, '\n', out)]++;
}

/* --- GET ------------------------------------------------------------------ */

/* Decodes %XX. Returns false if an escape is incomplete, or memory ran out. */
static bool decode(const char *text, size_t len, um_buffer *out)
{
    um_buffer_clear(out, 1 << 16);
    uint8_t *to = um_buffer_reserve(out, len + 1);
    if (!to)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '%') {
            *to++ = (uint8_t)text[i];
            continue;
        }
        if (len - i < 3 || !um_hex_decode(text + i + 1, 2, to))
            return false;
        to++;
        i += 2;
    }
    out->len = (size_t)(to - out->data);
    return true;
}

static umbel_slice slice_of(const um_buffer *b)
{
    return (umbel_slice){b->data, b->len};
}

static unsigned refuse(unsigned code, const char *why, FILE *out)
{
    fprintf(out, "%s\n", why);
    return code;
}

static unsigned answer_key(um_site *s, um_served *f, const char *key,
                           const char **type, FILE *out)
{
    if (!decode(key, strlen(key), &s->key))
        return refuse(BAD_REQUEST,
                      "The key has a % that two hexadecimal digits do not "
                      "follow; write %25 for it.",
                      out);
    *type = json;
    um_answered a =
        um_answer_json(&s->question, f->filter, slice_of(&s->key), out);
    f->answers[a]++;
    putc('\n', out);
    return a == UM_ANSWERED_REFUSED ? BAD_REQUEST : OK;
}

/* --- POST ----------------------------------------------------------------- */

/* The answers to the lines of a body. */
typedef struct lines_answer {
    um_site *site;
    um_served *served;
    size_t n;
    FILE *out;
} lines_answer;

static void answer_line(void *ctx, umbel_slice line, bool too_long)
{
    lines_answer *a = ctx;

    if (a->n++ >= UM_SITE_KEYS)
        return;
    if (too_long)
        um_answer_refusal(line, UM_ANSWER_TOO_LONG, '\n', a->out);
    else
        a->served->answers[um_answer_line(&a->site->question, a->served->filter,
                                          line, '\n', a->out)]++;
}

static unsigned refuse_many(FILE *out)
{
    rewind(out);
    fprintf(out, "A request has at most %d keys.\n", UM_SITE_KEYS);
    return TOO_LARGE;
}

static unsigned answer_lines(um_site *s, um_served *f, umbel_slice body,
                             FILE *out)
{
    lines_answer a = {s, f, 0, out};
    um_lines lines = {
        .max = UM_ANSWER_MAX, .end = '\n', .take = answer_line, .ctx = &a};

    um_lines_take(&lines, body.data, body.len, UM_SITE_KEYS + 1, true);
    return a.n > UM_SITE_KEYS ? refuse_many(out) : OK;
}

/* Answers the string that comes next. Returns false if there is none. */
static bool answer_string(um_site *s, um_served *f, um_json *j, FILE *out)
{
    bool text = um_json_peek(j) == '"';
    um_json_slice string = um_json_read_string(j);
    uint8_t *to;
    size_t len;

    if (!text || um_json_bad(j))
        return false;
    um_buffer_clear(&s->key, 1 << 16);
    to = um_buffer_reserve(&s->key, string.len + 1);
    len = to ? um_json_copy(&string, (char *)to, string.len + 1)
             : UM_JSON_INVALID;
    if (len == UM_JSON_INVALID)
        return false;
    s->key.len = len;
    f->answers[um_answer_json(&s->question, f->filter, slice_of(&s->key),
                              out)]++;
    return true;
}

/* Answers an array of strings by an array. */
static bool answer_array(um_site *s, um_served *f, um_json *j, size_t *n,
                         FILE *out)
{
    bool fine = true;

    putc('[', out);
    for (bool first = true;
         fine && *n <= UM_SITE_KEYS && um_json_element(j, &first); ++*n) {
        fputs(*n ? ",\n" : "", out);
        fine = answer_string(s, f, j, out);
    }
    fputs("]\n", out);
    return fine;
}

/* Answers an object with "key" or "keys"; no other member may be there. */
static bool answer_object(um_site *s, um_served *f, um_json *j, size_t *n,
                          FILE *out)
{
    um_json_slice name;
    bool first = true, fine;

    if (!um_json_member(j, &first, &name))
        return false;
    if (um_json_is(&name, "keys", 4) && um_json_peek(j) == '[') {
        fine = answer_array(s, f, j, n, out);
        return fine && (*n > UM_SITE_KEYS || !um_json_member(j, &first, &name));
    }
    fine = um_json_is(&name, "key", 3) && answer_string(s, f, j, out);
    putc('\n', out);
    return fine && !um_json_member(j, &first, &name);
}

static unsigned answer_json(um_site *s, um_served *f, umbel_slice body,
                            const char **type, FILE *out)
{
    um_json j = {.at = body.data, .end = (const uint8_t *)body.data + body.len};
    size_t n = 0;
    bool fine = body.len > 0 &&
                (um_json_peek(&j) == '[' ? answer_array(s, f, &j, &n, out)
                                         : answer_object(s, f, &j, &n, out));

    if (fine && n > UM_SITE_KEYS)
        return refuse_many(out);
    fine = fine && !um_json_bad(&j);
    while (fine && j.at < j.end && um_json_blank(*j.at))
        j.at++;
    if (!fine || j.at < j.end) {
        rewind(out);
        return refuse(BAD_REQUEST,
                      "The body is not JSON of this form: [\"KEY\", ...], "
                      "{\"keys\": [\"KEY\", ...]} or {\"key\": \"KEY\"}.",
                      out);
    }
    *type = json;
    return OK;
}

/* --- paths ---------------------------------------------------------------- */

static unsigned show_paths(FILE *out)
{
    return refuse(NOT_FOUND,
                  "There is nothing here. These are served:\n"
                  "GET  /check/NAME/KEY  is KEY in the filter NAME? "
                  "(percent-encoded)\n"
                  "POST /check/NAME      the same for many keys: lines, or "
                  "JSON\n"
                  "GET  /health          the filters and their problems\n"
                  "GET  /metrics         figures for Prometheus",
                  out);
}

static unsigned check(um_site *s, const um_http_request *r, const char *name,
                      const char **type, FILE *out)
{
    const char *slash = strchr(name, '/');
    size_t len = slash ? (size_t)(slash - name) : strlen(name);
    umbel_error err;
    um_served *f;

    if (r->query)
        return refuse(BAD_REQUEST, "Write %3F for a ? in a key.", out);
    if (!decode(name, len, &s->name))
        return refuse(BAD_REQUEST, "The name has an invalid %XX.", out);
    umbel_status status = choose(s, slice_of(&s->name), &f, &err);
    if (status) {
        fprintf(out, "%s; /health lists the filters.\n", err.text);
        return status == UMBEL_E_UNKNOWN ? NOT_FOUND : UNAVAILABLE;
    }
    if (!r->post && slash)
        return answer_key(s, f, slash + 1, type, out);
    if (!r->post)
        return refuse(BAD_REQUEST, "Write the key after NAME and a slash.",
                      out);
    if (slash)
        return refuse(BAD_REQUEST,
                      "POST takes the keys from the body, not from the path.",
                      out);
    if (r->type && strcasestr(r->type, "json"))
        return answer_json(s, f, r->body, type, out);
    return answer_lines(s, f, r->body, out);
}

unsigned um_site_answer(void *ctx, const um_http_request *r, const char **type,
                        FILE *out)
{
    static const char prefix[] = "/check/", range[] = "/range/";

    if (strncmp(r->path, prefix, sizeof prefix - 1) == 0)
        return check(ctx, r, r->path + sizeof prefix - 1, type, out);
    if (strncmp(r->path, range, sizeof range - 1) == 0)
        return refuse(NOT_IMPLEMENTED,
                      "A filter cannot list its members, so it has no ranges. "
                      "Ask for one key: GET /check/NAME/KEY. The key does not "
                      "leave your machines.",
                      out);
    return show_paths(out);
}

/* --- documents ------------------------------------------------------------ */

unsigned um_site_health(void *ctx, FILE *out)
{
    const um_site *s = ctx;
    size_t usable = 0, troubled = 0;

    for (size_t i = 0; i < s->n; i++) {
        usable += s->served[i]->filter != NULL;
        troubled += s->served[i]->problem != NULL;
    }
    fprintf(out, "%s\n", !usable ? "no filter" : troubled ? "warning" : "ok");
    for (size_t i = 0; i < s->n; i++) {
        const um_served *f = s->served[i];
        fprintf(out, "%s\t%s\t%s\n", f->name,
                f->filter ? um_form_option(umbel_key_form_of(f->filter)) : "-",
                f->problem ? f->problem : "ok");
    }
    return usable ? OK : UNAVAILABLE;
}

static double keys_of(const um_served *f)
{
    return f->filter ? (double)umbel_added(f->filter) : 0;
}

static double editions_of(const um_served *f)
{
    return (double)f->editions;
}

static double refused_of(const um_served *f)
{
    return (double)f->refused;
}

static double problem_of(const um_served *f)
{
    return f->problem != NULL;
}

static double since_of(const um_served *f)
{
    return f->since;
}

static const struct {
    const char *name, *type, *help;
    double (*value)(const um_served *f);
} figures[] = {
    {"umbel_serve_editions_total", "counter",
     "Editions that were loaded, with the first.", editions_of},
    {"umbel_serve_editions_refused_total", "counter",
     "Editions that could not be used.", refused_of},
    {"umbel_serve_problem", "gauge",
     "1 if the newest file cannot be used; /health has the reason.",
     problem_of},
    {"umbel_serve_edition_loaded_seconds", "gauge",
     "When the edition in use was loaded.", since_of},
    {"umbel_serve_keys", "gauge", "Keys of the edition in use.", keys_of},
};

static void write_answers(const um_site *s, FILE *out)
{
    static const char name[] = "umbel_serve_answers_total";
    static const char *const results[] = {"no_match", "match", "refused"};

    um_metric_head(out, name, "counter", "Answers by their result.");
    for (size_t i = 0; i < s->n; i++)
        for (size_t a = 0; a < UM_COUNT(results); a++) {
            um_metric_begin(out, name, "filter", s->served[i]->name);
            putc(',', out);
            um_metric_label(out, "result", results[a]);
            um_metric_value(out, (double)s->served[i]->answers[a]);
        }
}

static void write_connections(const um_site *s, FILE *out)
{
    static const char requests[] = "umbel_serve_requests_total";
    static const char ends[] = "umbel_serve_connections_ended_total";
    char code[24];

    um_metric_head(out, requests, "counter", "Requests of HTTP by status.");
    for (size_t i = 0; i < UM_SITE_CODES; i++)
        if (s->requests[i]) {
            snprintf(code, sizeof code, "%zu", i);
            um_metric_begin(out, requests, "code", code);
            um_metric_value(out, (double)s->requests[i]);
        }
    um_metric_head(out, ends, "counter", "Connections that ended, by reason.");
    for (unsigned i = 0; i < UM_END_COUNT; i++) {
        um_metric_begin(out, ends, "reason", um_end_name(i));
        um_metric_value(out, (double)s->ends[i]);
    }
    um_metric_head(out, "umbel_serve_connections", "gauge", "Connections now.");
    fprintf(out, "umbel_serve_connections %zu\n", s->connections);
}

unsigned um_site_metrics(void *ctx, FILE *out)
{
    const um_site *s = ctx;

    write_answers(s, out);
    for (size_t m = 0; m < UM_COUNT(figures); m++) {
        um_metric_head(out, figures[m].name, figures[m].type, figures[m].help);
        for (size_t i = 0; i < s->n; i++) {
            um_metric_begin(out, figures[m].name, "filter", s->served[i]->name);
            um_metric_value(out, figures[m].value(s->served[i]));
        }
    }
    write_connections(s, out);
    return OK;
}
