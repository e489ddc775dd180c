/*
 * house_control.c - one line in, one document out.
 */
#include "clearinghouse/admin/control.h"

#include "base/error.h"
#include "clearinghouse/admin/doctor.h"
#include "clearinghouse/admin/requests.h"
#include "net/server/control.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void begin_snapshot(um_server *h, FILE *out)
{
    (void)out;
    um_store_request_snapshot(h->store);
}

static void reload_welcome(um_server *h, FILE *out)
{
    umbel_error err;

    if (!h->config.welcome)
        fputs(UM_REPLY_ERROR "the running server does not use this file yet: "
                             "send it SIGHUP, so that it reads the "
                             "configuration again\n",
              out);
    else if (um_server_reload_welcome(h, &err) == UMBEL_OK)
        fprintf(out, "rules of the server now: %zu\n",
                um_welcome_rules(h->welcome));
    else
        fprintf(out,
                UM_REPLY_ERROR "%s; the server keeps the rules it has, %zu\n",
                err.text, um_welcome_rules(h->welcome));
}

static const char no_peers[] = UM_REPLY_ERROR UM_NO_PEERS "\n";

static void print_peers(um_server *h, FILE *out)
{
    const um_origins_view *v = um_origins_look(h->origins);

    if (v)
        um_origins_print_text(out, v, h->now);
    else
        fputs(no_peers, out);
}

static void print_peers_json(um_server *h, FILE *out)
{
    const um_origins_view *v = um_origins_look(h->origins);

    if (v)
        um_origins_print_json(out, v, h->now);
    fputs(v ? "\n" : no_peers, out);
}

/* A line, what it does and writes, and the document that answers it. */
static const struct {
    const char *line;
    void (*act)(um_server *h, FILE *out); /* NULL: nothing */
    void (*print)(FILE *out, const um_status *s);
} rows[] = {
    {"status", NULL, um_status_print_text},
    {"status --json", NULL, um_status_print_json},
    {"metrics", NULL, um_status_print_metrics},
    {"doctor", NULL, um_doctor_describe},
    {"snapshot", begin_snapshot, um_status_print_text},
    {"welcome reload", reload_welcome, NULL},
    {"forgotten", um_requests_list_forgotten, NULL},
    {"forgotten --json", um_requests_list_forgotten_json, NULL},
    {"peers", print_peers, NULL},
    {"peers --json", print_peers_json, NULL},
};

/* --- metrics -------------------------------------------------------------- */

/* Codes as HTTP has them; connections that were refused have the reasons of
 * um_end. */
#define END_ROW(name, word, text) {408, text, word},
static const um_verdict verdicts[] = {{200, "OK", NULL},
                                      {404, "no such request", "not_found"},
                                      UM_END_LIST(END_ROW){0}};
enum { ANSWERED, NOT_KNOWN, ENDS };

static const char *const ops[] = {"request", "connection", "report", "revoke",
                                  NULL};
enum { REQUEST, CONNECTION, REPORT };

const um_protocol um_protocol_control = {.name = "control",
                                         .summary = "questions of the operator",
                                         .ops = ops,
                                         .verdicts = verdicts};

static const um_address nobody = {.path = ""};

static void count_refusal(um_server *h, unsigned op, unsigned verdict)
{
    um_protocol_count(&h->control, op, verdict);
    um_server_log_refusal(h, &um_protocol_control, verdict, &nobody, NULL);
}

static void count_ended(void *ctx, const um_address *client, um_end why)
{
    (void)client;
    if (um_end_is_refusal(why))
        count_refusal(ctx, CONNECTION, ENDS + (unsigned)why);
}

/* --- answers -------------------------------------------------------------- */

struct um_server_control {
    um_server *house;
    um_control *control;
    char *path;
};

bool um_server_control_answer(um_server *h, const char *line, FILE *out)
{
    um_status s;

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (strcmp(rows[i].line, line) == 0) {
            if (rows[i].act)
                rows[i].act(h, out);
            if (rows[i].print) {
                um_server_status(h, &s);
                rows[i].print(out, &s);
            }
            return true;
        }
    fputs("not known; known are:", out);
    for (size_t i = 0; i < UM_COUNT(rows); i++)
        fprintf(out, "%s %s", i ? "," : "", rows[i].line);
    putc('\n', out);
    return false;
}

static void answer(void *ctx, const char *line, FILE *out)
{
    um_server *h = ctx;

    if (um_server_control_answer(h, line, out))
        um_protocol_count(&h->control, REQUEST, ANSWERED);
    else
        count_refusal(h, REQUEST, NOT_KNOWN);
}

static size_t follow(void *ctx, const char *line)
{
    (void)ctx;
    return um_requests_follow(line);
}

/* Reports and what takes them back are counted by themselves. */
static unsigned op_of(const char *line)
{
    size_t len = strcspn(line, " ");

    for (unsigned op = REPORT; ops[op]; op++)
        if (strlen(ops[op]) == len && memcmp(ops[op], line, len) == 0)
            return op;
    return REQUEST;
}

static void consume(void *ctx, um_control_request *r, const char *line,
                    uint8_t *bytes, size_t len)
{
    um_server *h = ctx;

    um_protocol_count(&h->control, op_of(line), ANSWERED);
    um_requests_parse(h->requests, r, line, bytes, len);
}

char *um_server_control_path(const um_config *c)
{
    const char *path = c->control ? c->control : c->data;
    char here[PATH_MAX] = "";

    if (path[0] != '/' && !getcwd(here, sizeof here))
        return NULL;
    size_t len = strlen(here) + strlen(path) + sizeof "//control";
    char *whole = malloc(len);
    if (whole)
        snprintf(whole, len, "%s%s%s%s", here, here[0] ? "/" : "", path,
                 c->control ? "" : "/control");
    return whole;
}

umbel_status um_server_control_open(um_server *h, um_server_control **out,
                                    umbel_error *err)
{
    um_server_control *c = calloc(1, sizeof *c);

    if (!c)
        return um_no_memory(err, sizeof *c);
    *out = c; /* closed with the house */
    um_protocol_stats_init(&h->control, &um_protocol_control);
    c->house = h;
    UM_TRY(um_requests_open(h, &h->requests, err));
    c->path = um_server_control_path(&h->config);
    if (!c->path)
        return um_no_memory(err, 1);
    return um_control_open(h->loop,
                           &(um_control_config){.path = c->path,
                                                .fd = -1,
                                                .answer = answer,
                                                .follow = follow,
                                                .take = consume,
                                                .ended = count_ended,
                                                .ctx = h},
                           &c->control, err);
}

void um_server_control_close(um_server_control *c)
{
    if (!c)
        return;
    um_requests_close(c->house->requests);
    c->house->requests = NULL;
    um_control_close(c->control);
    free(c->path);
    free(c);
}
