/*
 * history.c - the page of umbel packets flows: the intervals of the last hour.
 *
 * The page is served by a thread with an event loop of its own, so that a slow
 * browser never delays the capture. Both share a ring of intervals with a
 * mutex, which is held while a row is added or a document is written. The ring
 * keeps the heaviest PAGE_ROWS flows of each interval; its memory is allocated
 * at the start.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/framework/numbers.h"
#include "net/server/http.h"
#include "net/server/socket.h"
#include "packets/flows/internal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_ROWS = 32, HOUR = 3600 };

typedef struct shown_interval {
    pk_interval_end end;
    pk_flow_row row[PAGE_ROWS];
    size_t n;
} shown_interval;

struct pk_page {
    um_loop *loop;
    um_http *http;
    um_watch *watch;
    int end[2]; /* of a pipe: written to stop the thread */
    char address[UM_ADDRESS_TEXT];
    bool started;
    pthread_t thread;
    pthread_mutex_t mutex;
    size_t cap, n, next; /* of the ring: next is written next */
    shown_interval *ring;
};

static size_t intervals_of(double seconds)
{
    double n = HOUR / seconds;

    return n < 1 ? 1 : (size_t)n;
}

size_t pk_page_memory(double seconds)
{
    return sizeof(pk_page) + intervals_of(seconds) * sizeof(shown_interval);
}

/* --- the ring -------------------------------------------------------------
 */

void pk_page_begin(pk_page *p)
{
    pthread_mutex_lock(&p->mutex);
    p->ring[p->next].n = 0;
    if (p->n == p->cap) /* the oldest is being replaced */
        p->n--;
    pthread_mutex_unlock(&p->mutex);
}

void pk_page_row(pk_page *p, const pk_flow_row *row)
{
    shown_interval *i = &p->ring[p->next]; /* not shown yet */

    if (i->n < PAGE_ROWS)
        i->row[i->n++] = *row;
}

void pk_page_end(pk_page *p, const pk_interval_end *end)
{
    pthread_mutex_lock(&p->mutex);
    p->ring[p->next].end = *end;
    p->next = (p->next + 1) % p->cap;
    p->n++;
    pthread_mutex_unlock(&p->mutex);
}

/* Returns the i-th interval, the latest first. */
static const shown_interval *interval_at(const pk_page *p, size_t i)
{
    return &p->ring[(p->next + p->cap - 1 - i) % p->cap];
}

/* --- documents ------------------------------------------------------------
 */

static void write_interval_json(FILE *out, const shown_interval *x)
{
    fputs("{\"interval_start\": ", out);
    um_json_real(out, x->end.start);
    fprintf(out,
            ", \"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
            ", \"kernel_drops\": %" PRIu64 ", \"unnamed\": %" PRIu64
            ", \"rows\": %" PRIu64 ", \"flows\": [",
            x->end.packets, x->end.bytes, x->end.drops, x->end.unnamed,
            x->end.rows);
    for (size_t r = 0; r < x->n; r++) {
        fputs(r ? ", {" : "{", out);
        um_json_field(out, 0, "key", x->row[r].key);
        fprintf(out,
                ", \"bytes\": %" PRIu64 ", \"bytes_low\": %" PRIu64
                ", \"packets\": %" PRIu64 "}",
                x->row[r].bytes, x->row[r].bytes_low, x->row[r].packets);
    }
    fputs("]}", out);
}

static unsigned write_json(void *ctx, FILE *out)
{
    pk_page *p = ctx;

    pthread_mutex_lock(&p->mutex);
    fputs("{\"intervals\": [", out);
    for (size_t i = 0; i < p->n; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_interval_json(out, interval_at(p, i));
    }
    pthread_mutex_unlock(&p->mutex);
    fputs("\n]}\n", out);
    return 200;
}

static void write_interval_html(FILE *out, const shown_interval *x)
{
    time_t t = (time_t)x->end.start;
    struct tm utc;
    char start[32];

    gmtime_r(&t, &utc);
    strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S UTC", &utc);
    fprintf(out, "<h2>%s</h2>\n<p>%s packets, %s bytes", start,
            um_grouped(x->end.packets).text, um_grouped(x->end.bytes).text);
    if (x->end.drops)
        fprintf(out, ", <b>%s packets dropped by the kernel</b>",
                um_grouped(x->end.drops).text);
    if (x->end.unnamed)
        fprintf(out, ", <b>%s flows not named</b>: give more --memory",
                um_grouped(x->end.unnamed).text);
    fputs("</p>\n", out);
    if (!x->n) {
        fputs("<p>No flow reached the threshold.</p>\n", out);
        return;
    }
    fputs("<table><tr><th>bytes, at most</th><th>at least</th>"
          "<th>packets</th><th>flow</th></tr>\n",
          out);
    for (size_t r = 0; r < x->n; r++)
        fprintf(out, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                um_grouped(x->row[r].bytes).text,
                um_grouped(x->row[r].bytes_low).text,
                um_grouped(x->row[r].packets).text, x->row[r].key);
    fputs("</table>\n", out);
    if (x->end.rows > x->n)
        fprintf(out, "<p>and %s more</p>\n",
                um_grouped(x->end.rows - x->n).text);
}

static unsigned write_html(void *ctx, FILE *out)
{
    pk_page *p = ctx;

    fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
          "<meta http-equiv=\"refresh\" content=\"10\">"
          "<title>umbel packets flows</title><style>"
          "body{font-family:sans-serif;margin:2em}"
          "td,th{padding:0 1em;text-align:right}"
          "td:last-child,th:last-child{text-align:left;font-family:monospace}"
          "</style>\n<h1>Heavy flows of the last hour</h1>\n",
          out);
    pthread_mutex_lock(&p->mutex);
    if (!p->n)
        fputs("<p>The first interval has not ended yet.</p>\n", out);
    for (size_t i = 0; i < p->n; i++)
        write_interval_html(out, interval_at(p, i));
    pthread_mutex_unlock(&p->mutex);
    fputs("</html>\n", out);
    return 200;
}

static const um_http_row documents[] = {
    {"/", "text/html; charset=utf-8", write_html},
    {"/flows.json", "application/json", write_json},
    {0}};

static bool check_host(void *ctx, const char *host, FILE *why)
{
    (void)ctx;
    if (um_host_is_ours(host, NULL, 0))
        return true;
    fputs("This page is reached by its address, not by a name.\n", why);
    return false;
}

/* --- the thread -----------------------------------------------------------
 */

static void on_end(void *ctx, unsigned events)
{
    pk_page *p = ctx;

    (void)events;
    um_loop_stop(p->loop);
}

static void *run_loop(void *ctx)
{
    um_loop_run(((pk_page *)ctx)->loop);
    return NULL;
}

static umbel_status listen_at(pk_page *p, const char *text, umbel_error *err)
{
    um_http_config config = {.rows = documents, .host = check_host, .ctx = p};
    char path[UM_ADDRESS_TEXT];
    um_address a;
    int fd;

    UM_TRY(um_address_parse(text, &a, err));
    if (a.path)
        return um_fail(err, UMBEL_E_RANGE,
                       "--http takes ADDRESS:PORT, not a path");
    UM_TRY(um_socket_listen(&a, SOCK_STREAM, 0, &fd, err));
    umbel_status status = um_socket_address(fd, path, &a, err);
    if (status) {
        close(fd);
        return status;
    }
    um_address_print(&a, p->address);
    return um_http_open(p->loop, fd, &config, &p->http, err);
}

static umbel_status open_address(pk_page *p, const char *address,
                                 umbel_error *err)
{
    if (pipe(p->end))
        return um_fail_errno(err, "cannot open a pipe");
    UM_TRY(um_loop_open(&p->loop, err));
    UM_TRY(um_watch_open(p->loop, p->end[0], UM_READABLE, on_end, p, &p->watch,
                         err));
    return listen_at(p, address, err);
}

umbel_status pk_page_start(pk_page *p, umbel_error *err)
{
    if (pthread_create(&p->thread, NULL, run_loop, p))
        return um_fail(err, UMBEL_E_NOMEM, "cannot start a thread");
    p->started = true;
    return UMBEL_OK;
}

umbel_status pk_page_open(const char *address, double seconds, pk_page **out,
                          umbel_error *err)
{
    pk_page *p = calloc(1, sizeof *p);

    if (!p)
        return um_no_memory(err, sizeof *p);
    p->end[0] = p->end[1] = -1;
    pthread_mutex_init(&p->mutex, NULL);
    p->cap = intervals_of(seconds);
    p->ring = calloc(p->cap, sizeof *p->ring);
    umbel_status status = UMBEL_OK;
    if (!p->ring)
        status = um_no_memory(err, p->cap * sizeof *p->ring);
    if (!status)
        status = open_address(p, address, err);
    if (status)
        pk_page_close(p);
    else
        *out = p;
    return status;
}

const char *pk_page_address(const pk_page *p)
{
    return p->address;
}

void pk_page_close(pk_page *p)
{
    if (!p)
        return;
    if (p->started) {
        (void)!write(p->end[1], "", 1);
        pthread_join(p->thread, NULL);
    }
    um_http_close(p->http);
    um_loop_close(p->loop);
    for (int i = 0; i < 2; i++)
        if (p->end[i] >= 0)
            close(p->end[i]);
    pthread_mutex_destroy(&p->mutex);
    free(p->ring);
    free(p);
}
