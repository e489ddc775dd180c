/*
 * status_server.c - serves the status documents over HTTP.
 */
#include "base/error.h"
#include "base/text.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "clearinghouse/protocols/protocol.h"
#include "clearinghouse/status/internal.h"
#include "net/server/http.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Connections that one client network may have, of 64 in total. */
enum { CONNECTIONS = 64, PER_NETWORK = 16, LOCAL_CONNECTIONS = 48 };

typedef struct http_settings {
    um_texts listen, hosts;
} http_settings;

static const um_setting settings[] = {
    {"listen", &um_type_addresses, offsetof(http_settings, listen),
     "127.0.0.1:8053", .help = "TCP addresses"},
    {"hosts", &um_type_hosts, offsetof(http_settings, hosts), NULL,
     .help = "names that browsers may call the server by, beside localhost and "
             "addresses",
     .live = true},
    {0}};

typedef struct http_server {
    um_http *http;
} http_server;

typedef struct http_protocol {
    const um_environment *env;
    um_service_stats *stats;
    http_server *server;
    size_t n;
} http_protocol;

/* --- documents ------------------------------------------------------------ */

static unsigned write_page(void *ctx, FILE *out)
{
    um_status s;

    um_status_get(((http_protocol *)ctx)->env->status, &s);
    um_status_print_page(out, &s);
    return 200;
}

static unsigned write_json(void *ctx, FILE *out)
{
    um_status s;

    um_status_get(((http_protocol *)ctx)->env->status, &s);
    um_status_print_json(out, &s);
    return 200;
}

static unsigned write_metrics(void *ctx, FILE *out)
{
    um_status s;

    um_status_get(((http_protocol *)ctx)->env->status, &s);
    um_status_print_metrics(out, &s);
    return 200;
}

static unsigned write_health(void *ctx, FILE *out)
{
    um_status s;

    um_status_get(((http_protocol *)ctx)->env->status, &s);
    um_status_print_health(out, &s);
    return um_status_health(&s);
}

static unsigned write_script(void *ctx, FILE *out)
{
    (void)ctx;
    fputs(um_page_js, out);
    return 200;
}

static unsigned write_style(void *ctx, FILE *out)
{
    (void)ctx;
    fputs(um_page_css, out);
    return 200;
}

static unsigned write_icon(void *ctx, FILE *out)
{
    (void)ctx;
    fputs(um_icon_svg, out);
    return 200;
}

static const um_http_row documents[] = {
    {"/", "text/html; charset=utf-8", write_page},
    {"/status.json", "application/json", write_json},
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", write_metrics},
    {"/health", "text/plain; charset=utf-8", write_health},
    {"/page.js", "text/javascript; charset=utf-8", write_script},
    {"/page.css", "text/css; charset=utf-8", write_style},
    {"/icon.svg", "image/svg+xml", write_icon},
    {0}};

static bool check_host(void *ctx, const char *host, FILE *why)
{
    const http_protocol *f = ctx;
    const http_settings *s = um_config_get(f->env->config, &um_section_http);
    char shown[256];

    if (um_host_is_ours(host, (const char *const *)s->hosts.item, s->hosts.n))
        return true;
    snprintf(shown, sizeof shown, "%.*s", (int)strcspn(host, ":"), host);
    um_disarm(shown);
    fprintf(why,
            "This server is not known as %s. If that is its name, set in its "
            "configuration\n    http { hosts = {\"%s\"} }\nand send it "
            "SIGHUP. Addresses and localhost need no setting.\n",
            shown, um_host_is_name(shown) ? shown : "NAME");
    return false;
}

/* --- metrics -------------------------------------------------------------- */

/* Operations are the documents, in the same order; then unknown paths, and
 * connections that ended otherwise. */
static const char *const ops[] = {"page",       "status", "metrics", "health",
                                  "script",     "style",  "icon",    "other",
                                  "connection", NULL};
enum { OTHER = UM_COUNT(documents) - 1, CONNECTION };

/* Codes of answers, then ends of connections. */
enum { ENDS = 6 };
static const um_verdict verdicts[] = {
    {200, "OK", NULL},
    {404, "Not Found", "not_found"},
    {405, "Method Not Allowed", "method"},
    {503, "Service Unavailable", NULL},
    {421, "Misdirected Request", "host"},
    {400, "Bad Request", "malformed"},
    [ENDS + UM_END_DONE] = {200, "served", NULL},
    [ENDS + UM_END_CLIENT] = {200, "closed by the client", NULL},
    [ENDS + UM_END_BAD] = {400, "malformed", "bad_request"},
    [ENDS + UM_END_TOO_LONG] = {431, "too long", "too_long"},
    [ENDS + UM_END_TOO_MUCH] = {413, "too much", "too_much"},
    [ENDS + UM_END_IDLE] = {408, "idle", "idle"},
    [ENDS + UM_END_TOO_SLOW] = {408, "too slow", "too_slow"},
    [ENDS + UM_END_UNREAD] = {408, "does not read", "unread"},
    [ENDS + UM_END_NETWORK_FULL] = {429, "too many connections of its network",
                                    "network_full"},
    [ENDS + UM_END_ALL_FULL] = {503, "too many connections", "full"},
    [ENDS + UM_END_IO] = {400, "the connection broke", "io"},
    [ENDS + UM_END_MEMORY] = {503, "no memory", "memory"},
    [ENDS + UM_END_SHUTDOWN] = {200, "the server stops", NULL},
    [ENDS + UM_END_COUNT] = {0}};
_Static_assert(UM_COUNT(verdicts) <= UM_MAX_VERDICTS, "space for verdicts");

static void count_served(void *ctx, const um_address *client,
                         const um_http_row *row, unsigned code)
{
    http_protocol *f = ctx;
    unsigned op = row ? (unsigned)(row - documents) : (unsigned)OTHER;
    unsigned v = 0;

    while (v < ENDS - 1 && verdicts[v].code != code)
        v++;
    um_service_count(f->stats, op, v);
    if (verdicts[v].reason)
        um_service_log_refusal(f->stats, v, client, NULL);
}

static void count_ended(void *ctx, const um_address *client, um_end why)
{
    http_protocol *f = ctx;
    unsigned v = ENDS + (unsigned)why;

    if (!um_end_is_refusal(why))
        return;
    um_service_count(f->stats, CONNECTION, v);
    um_service_log_refusal(f->stats, v, client, NULL);
}

/* --- the protocol --------------------------------------------------------- */

static umbel_status open_server(http_protocol *f, const char *address,
                                umbel_error *err)
{
    const um_environment *env = f->env;
    um_http_config c = {
        .rows = documents,
        .limits = {.total = CONNECTIONS,
                   .per_network = PER_NETWORK,
                   .loopback = LOCAL_CONNECTIONS,
                   .limit_loopback = env->config->limits.loopback,
                   .prefixes = *um_limits_prefixes(env->limits)},
        .host = check_host,
        .served = count_served,
        .ended = count_ended,
        .ctx = f};
    int fd;

    UM_TRY(um_addresses_listen(f->env->addresses, &um_protocol_http.service,
                               address, SOCK_STREAM, 0, &fd, err));
    UM_TRY(um_http_open(f->env->loop, fd, &c, &f->server[f->n].http, err));
    f->n++;
    return UMBEL_OK;
}

static umbel_status open_protocol(const um_environment *env, void **state,
                                  umbel_error *err)
{
    const http_settings *s = um_config_get(env->config, &um_section_http);
    http_protocol *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *state = f; /* closed by the server */
    f->env = env;
    f->stats = um_statistics_of(env->statistics, &um_protocol_http.service);
    f->server = calloc(s->listen.n + 1, sizeof *f->server);
    if (!f->server || !f->stats)
        return um_no_memory(err, sizeof *f->server);
    for (size_t i = 0; i < s->listen.n; i++)
        UM_TRY(open_server(f, s->listen.item[i], err));
    return UMBEL_OK;
}

static void close_protocol(void *state)
{
    http_protocol *f = state;

    for (size_t i = 0; i < f->n; i++)
        um_http_close(f->server[i].http);
    free(f->server);
    free(f);
}

static void hint(const void *state, FILE *out)
{
    const http_protocol *f = state;
    const char *address =
        um_addresses_first(f->env->addresses, &um_protocol_http.service);

    if (address)
        fprintf(out, "status:\n    http://%s/\n", address);
}

/* --- the probe of doctor -------------------------------------------------- */

static umbel_status probe(const um_doctor_context *d, const um_address *at,
                          um_finding *out, umbel_error *err)
{
    static const char request[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\n\r\n";
    char answer[4096];

    (void)d;
    UM_TRY(um_doctor_exchange(at, (umbel_slice){request, sizeof request - 1},
                              answer, sizeof answer, err));
    if (strncmp(answer, "HTTP/1.1 200 ", 13) == 0) {
        UM_SAY(out->text, "http://%s/ shows the state", out->address);
        return UMBEL_OK;
    }
    if (strncmp(answer, "HTTP/1.1 503 ", 13) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "what answers there is not the page of a clearinghouse");
    out->health = UM_LIMITED;
    UM_SAY(out->text, "it answers that the server refuses reports");
    return UMBEL_OK;
}

static const um_doctor_row doctor[] = {
    {"http", offsetof(http_settings, listen), SOCK_STREAM, probe, NULL}, {0}};

const um_protocol_section um_section_http = {"http", settings,
                                             sizeof(http_settings)};

const um_protocol um_protocol_http = {
    .service = {.name = "http", .ops = ops, .verdicts = verdicts},
    .section = &um_section_http,
    .open = open_protocol,
    .close = close_protocol,
    .hint = hint,
    .doctor = doctor,
};
