/*
 * control.c - one line in, one document out.
 */
#include "clearinghouse/admin/control.h"

#include "base/error.h"
#include "clearinghouse/admin/client.h"
#include "clearinghouse/admin/doctor.h"
#include "clearinghouse/admin/requests.h"
#include "clearinghouse/peering/origins.h"
#include "clearinghouse/status/status.h"
#include "net/server/control_socket.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void begin_snapshot(const um_environment *env, FILE *out)
{
    (void)out;
    um_store_request_snapshot(env->store);
}

static void reload_welcome(const um_environment *env, FILE *out)
{
    umbel_error err;

    if (!env->config->welcome)
        fputs(UM_REPLY_ERROR "the running server does not use this file yet: "
                             "send it SIGHUP, so that it reads the "
                             "configuration again\n",
              out);
    else if (um_lists_reload_welcome(env->lists, &err) == UMBEL_OK)
        fprintf(out, "rules of the server now: %zu\n",
                um_welcome_rules(um_lists_welcome(env->lists)));
    else
        fprintf(out,
                UM_REPLY_ERROR "%s; the server keeps the rules it has, %zu\n",
                err.text, um_welcome_rules(um_lists_welcome(env->lists)));
}

static const char no_peers[] = UM_REPLY_ERROR UM_NO_PEERS "\n";

static void print_peers(const um_environment *env, FILE *out)
{
    const um_origins_view *v = um_origins_look(env->origins);

    if (v)
        um_origins_print_text(out, v, env->clock->now);
    else
        fputs(no_peers, out);
}

static void print_peers_json(const um_environment *env, FILE *out)
{
    const um_origins_view *v = um_origins_look(env->origins);

    if (v)
        um_origins_print_json(out, v, env->clock->now);
    fputs(v ? "\n" : no_peers, out);
}

/* A line, what it does and writes, and the document that answers it. */
static const struct {
    const char *line;
    void (*act)(const um_environment *env, FILE *out); /* NULL: nothing */
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

static const um_service service = {
    .name = "control", .ops = ops, .verdicts = verdicts};

static const um_address nobody = {.path = ""};

/* --- answers -------------------------------------------------------------- */

struct um_operator {
    const um_environment *env;
    um_service_stats *stats;
    um_requests *requests;
    um_control *control;
    char *path;
};

static void count_refusal(um_operator *o, unsigned op, unsigned verdict)
{
    um_service_count(o->stats, op, verdict);
    um_service_log_refusal(o->stats, verdict, &nobody, NULL);
}

static void count_ended(void *ctx, const um_address *client, um_end why)
{
    (void)client;
    if (um_end_is_refusal(why))
        count_refusal(ctx, CONNECTION, ENDS + (unsigned)why);
}

bool um_operator_answer(const um_environment *env, const char *line, FILE *out)
{
    um_status s;

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (strcmp(rows[i].line, line) == 0) {
            if (rows[i].act)
                rows[i].act(env, out);
            if (rows[i].print) {
                um_status_get(env->status, &s);
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
    um_operator *o = ctx;

    if (um_operator_answer(o->env, line, out))
        um_service_count(o->stats, REQUEST, ANSWERED);
    else
        count_refusal(o, REQUEST, NOT_KNOWN);
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
    um_operator *o = ctx;

    um_service_count(o->stats, op_of(line), ANSWERED);
    um_requests_parse(o->requests, r, line, bytes, len);
}

umbel_status um_operator_open(const um_environment *env, um_operator **out,
                              umbel_error *err)
{
    um_operator *o = calloc(1, sizeof *o);

    if (!o)
        return um_no_memory(err, sizeof *o);
    *out = o;
    o->env = env;
    o->stats = um_statistics_of(env->statistics, &service);
    o->path = um_admin_path(env->config);
    if (!o->stats || !o->path)
        return um_no_memory(err, 1);
    UM_TRY(um_requests_open(env, &o->requests, err));
    return um_control_open(env->loop,
                           &(um_control_config){.path = o->path,
                                                .fd = -1,
                                                .answer = answer,
                                                .follow = follow,
                                                .take = consume,
                                                .ended = count_ended,
                                                .ctx = o},
                           &o->control, err);
}

void um_operator_committed(um_operator *o)
{
    um_requests_committed(o->requests);
}

void um_operator_close(um_operator *o)
{
    if (!o)
        return;
    um_requests_close(o->requests);
    um_control_close(o->control);
    free(o->path);
    free(o);
}
