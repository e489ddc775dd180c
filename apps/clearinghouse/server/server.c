/*
 * house.c - the server: opening, turns of the loop, reload, end.
 *
 * A turn of the loop: fronts take their requests, look-ups are answered at
 * once, and reports go into the store's buffer. At the end of the turn the
 * store writes them all at once. Their answers wait until the store says that
 * they are committed: at once, or when its thread has called fdatasync.
 */
#include "clearinghouse/server/server.h"

#include "base/error.h"
#include "clearinghouse/admin/control.h"
#include "clearinghouse/admin/requests.h"
#include "clearinghouse/lists/forget.h"
#include "clearinghouse/peering/peers.h"
#include "clearinghouse/runtime/words.h"
#include "clearinghouse/server/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK_MS = 1000,
    DRAIN_MS = 10000 /* after which answers that are owed are given up */
};

struct server_parts {
    um_hook *hook;
    um_timer *tick, *drain;
    um_watch *event;
    um_signal *signals[5];
    um_server_control *control;
};

/* --- turns ---------------------------------------------------------------- */

static uint64_t wall_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec;
}

/* Logs that the store failed, or that it works again. */
static void note_failure(um_server *h)
{
    const char *failure = um_store_failure(h->store);

    if (failure && !h->failure)
        um_log_event(&h->log,
                     "store: %s; reports are refused until it can be written",
                     failure);
    if (!failure && h->failure)
        um_log_event(&h->log, "store: written again, reports are accepted");
    h->failure = failure;
}

/* Logs that no snapshot could be written, or that one was. */
static void note_snapshot(um_server *h)
{
    um_store_stats s;

    um_store_stats_get(h->store, &s);
    if (s.snapshot_error && !h->snapshot_error)
        um_log_event(&h->log,
                     "store: no snapshot could be written: %s; reports are "
                     "accepted until the journal has %s",
                     strerror(s.snapshot_error),
                     um_words_bytes(s.journal_max).text);
    if (!s.snapshot_error && h->snapshot_error)
        um_log_event(&h->log, "store: a snapshot was written");
    h->snapshot_error = s.snapshot_error;
}

static bool owes_answers(const um_server *h)
{
    for (size_t i = 0; um_protocol_row(i); i++)
        if (h->front[i] && um_protocol_row(i)->busy &&
            um_protocol_row(i)->busy(h->front[i]))
            return true;
    return false;
}

static void tell_protocols(um_server *h)
{
    for (size_t i = 0; um_protocol_row(i); i++)
        if (h->front[i] && um_protocol_row(i)->committed)
            um_protocol_row(i)->committed(h->front[i]);
    if (h->requests)
        um_requests_committed(h->requests);
    if (h->stopping && !owes_answers(h))
        um_loop_stop(h->loop);
}

static void end_turn(void *ctx)
{
    um_server *h = ctx;
    uint64_t told;

    do { /* again if fronts took requests that had waited */
        um_store_flush(h->store, NULL); /* a failure is seen below */
        note_failure(h);
        told = um_store_committed(h->store);
        tell_protocols(h);
        um_store_flush(h->store, NULL);
    } while (um_store_committed(h->store) > told);
    um_peers_end_turn(h->peers);
}

static void store_event(void *ctx, unsigned events)
{
    um_server *h = ctx;

    (void)events;
    um_store_tick(h->store, h->now);
}

static void tick_hour(um_server *h)
{
    uint64_t minute = (um_server_ms(h) - h->started) / 60000;

    for (size_t i = 0; um_protocol_row(i); i++)
        if (h->front[i])
            um_protocol_tick(&h->stats[i], minute);
    if (h->control.front)
        um_protocol_tick(&h->control, minute);
}

static void tick(void *ctx)
{
    um_server *h = ctx;

    h->now = wall_clock();
    um_log_tick(&h->log, h->now);
    um_store_tick(h->store, h->now);
    um_forget_tick(h);
    um_peers_tick(h->peers);
    um_origins_tick(h->origins);
    note_snapshot(h);
    tick_hour(h);
}

/* --- signals -------------------------------------------------------------- */

static void abandon(void *ctx)
{
    um_server *h = ctx;

    um_log_event(&h->log, "stopped; some reports could not be answered");
    um_loop_stop(h->loop);
}

static void begin_stop(um_server *h, int number)
{
    if (h->stopping) /* a second signal does not wait */
        abandon(h);
    h->stopping = true;
    um_log_event(&h->log, "stopping: %s",
                 number == SIGINT ? "interrupted" : "terminated");
    um_notify("STOPPING=1", NULL);
    for (size_t i = 0; um_protocol_row(i); i++)
        if (h->front[i] && um_protocol_row(i)->stop)
            um_protocol_row(i)->stop(h->front[i]);
    if (!h->parts->drain)
        um_timer_open(h->loop, DRAIN_MS, 0, abandon, h, &h->parts->drain, NULL);
}

static void on_signal(void *ctx, int number)
{
    if (number == SIGCHLD)
        um_peers_child_ended(((um_server *)ctx)->peers);
    else if (number == SIGHUP || number == SIGUSR1) /* the second as pyzord */
        um_server_reload(ctx);
    else
        begin_stop(ctx, number);
}

/* --- reload --------------------------------------------------------------- */

static umbel_status reload_protocols(um_server *h, umbel_error *err)
{
    for (size_t i = 0; um_protocol_row(i); i++)
        if (h->front[i] && um_protocol_row(i)->reload)
            UM_TRY(um_protocol_row(i)->reload(h->front[i], err));
    return UMBEL_OK;
}

static umbel_status reload_welcome(um_server *h, umbel_error *err)
{
    um_welcome *fresh;

    /* A file that is away for a moment must not make hits of welcome mail. */
    if (h->config.welcome && um_welcome_rules(h->welcome) &&
        access(h->config.welcome, F_OK) != 0)
        return um_fail(err, UMBEL_E_IO,
                       "%s: %s (to have no rules, make it an empty file)",
                       h->config.welcome, strerror(errno));
    UM_TRY(um_welcome_read(h->config.welcome, um_log_warning, &h->log, &fresh,
                           err));
    um_welcome_close(h->welcome);
    h->welcome = fresh;
    return UMBEL_OK;
}

umbel_status um_server_reload_welcome(um_server *h, umbel_error *err)
{
    umbel_error why;
    umbel_status status = reload_welcome(h, &why);

    if (status == UMBEL_OK) {
        um_log_event(&h->log, "welcome file reloaded, rules: %zu",
                     um_welcome_rules(h->welcome));
        return UMBEL_OK;
    }
    um_log_event(&h->log, "welcome file not reloaded: %s", why.text);
    return um_fail(err, status, "%s", why.text);
}

static umbel_status reload_parts(um_server *h, umbel_error *err)
{
    UM_TRY(reload_protocols(h, err));
    UM_TRY(reload_welcome(h, err));
    return um_peers_reload(h->peers, err);
}

static void note_refused_reload(um_server *h, const umbel_error *why)
{
    h->not_reloaded = *why;
    um_log_event(&h->log, "not reloaded: %s", why->text);
}

/* Keeps the old configuration if a front or the welcome file refuses the new
 * one. */
static void apply_config(um_server *h, um_config *fresh)
{
    um_config old = h->config;
    umbel_error err;

    h->config = *fresh;
    if (reload_parts(h, &err) != UMBEL_OK) {
        note_refused_reload(h, &err);
        h->config = old;
        um_config_fini(fresh);
        reload_protocols(h, NULL);
        return;
    }
    um_limits_set(h->limits, &h->config.limits);
    if (h->reloaded)
        um_config_fini(&old);
    h->reloaded = true;
    h->not_reloaded.text[0] = '\0';
    um_log_event(&h->log, "reloaded");
}

static umbel_status read_again(const um_server *h, um_config *out,
                               umbel_error *err)
{
    UM_TRY(h->config_path ? um_config_read(out, h->config_path, err)
                          : um_config_default(out, err));
    umbel_status status = um_server_check_memory(out, err);
    if (status == UMBEL_OK)
        status = um_peers_check(out, err);
    if (status != UMBEL_OK)
        um_config_fini(out);
    return status;
}

void um_server_reload(um_server *h)
{
    um_config fresh;
    umbel_error err;
    char fixed[256];

    if (read_again(h, &fresh, &err) != UMBEL_OK) {
        note_refused_reload(h, &err);
        return;
    }
    if (um_config_fixed_changes(&h->opened, &fresh, fixed, sizeof fixed))
        um_log_event(&h->log, "changed only by a restart: %s", fixed);
    apply_config(h, &fresh);
}

/* --- opening -------------------------------------------------------------- */

umbel_status um_server_check(const um_config *c, umbel_error *err)
{
    um_store_config store = {.dir = c->data, .secret = c->secret};

    UM_TRY(um_config_check_listens(c, err));
    UM_TRY(um_server_check_memory(c, err));
    UM_TRY(um_peers_check(c, err));
    return um_store_check_dir(&store, err);
}

static umbel_status open_store(um_server *h, umbel_error *err)
{
    um_list_config lists[UM_MAX_LISTS];
    um_store_config c = {.dir = h->config.data,
                         .secret = h->config.secret,
                         .durability = (um_durability)h->config.durability,
                         .lists = lists,
                         .observer = um_peers_observer(h->peers),
                         .totals_bytes = um_server_sums_bytes(&h->config)};

    for (size_t i = 0; um_protocol_list(i); i++)
        lists[c.nlists++] = um_server_list_config(&h->config, i);
    UM_TRY(um_store_open(&c, h->now, &h->store, err));
    for (unsigned i = 0; um_protocol_list(i); i++)
        UM_TRY(um_server_check_threshold(um_store_list(h->store, i), err));
    return UMBEL_OK;
}

static umbel_status open_protocols(um_server *h, umbel_error *err)
{
    for (size_t i = 0; um_protocol_row(i); i++) {
        um_protocol_stats_init(&h->stats[i], um_protocol_row(i));
        UM_TRY(um_protocol_row(i)->open(h, &h->front[i], err));
    }
    return UMBEL_OK;
}

static umbel_status open_loop(um_server *h, umbel_error *err)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD};
    struct server_parts *p = h->parts;

    UM_TRY(um_loop_open(&h->loop, err));
    h->started = um_server_ms(h);
    UM_TRY(um_hook_open(h->loop, end_turn, h, &p->hook, err));
    UM_TRY(um_timer_open(h->loop, TICK_MS, TICK_MS, tick, h, &p->tick, err));
    UM_TRY(um_watch_open(h->loop, um_store_event(h->store), UM_READABLE,
                         store_event, h, &p->event, err));
    for (size_t i = 0; i < UM_COUNT(signals); i++)
        UM_TRY(um_signal_open(h->loop, signals[i], on_signal, h, &p->signals[i],
                              err));
    return UMBEL_OK;
}

static umbel_status open_pool(um_server *h, umbel_error *err)
{
    um_mail_pool_config c = um_server_pool_config(&h->config);

    return um_mail_pool_open(h->loop, &c, &h->pool, err);
}

static umbel_status open_parts(um_server *h, umbel_error *err)
{
    /* First, so that a start that is refused makes no directory. */
    UM_TRY(um_server_check(&h->config, err));
    UM_TRY(um_passed_open(&h->passed, err));
    UM_TRY(um_limits_open(&h->config.limits, &h->limits, err));
    UM_TRY(reload_welcome(h, err));
    UM_TRY(um_peers_open(h, &h->peers, err));
    UM_TRY(open_store(h, err));
    UM_TRY(um_peers_begin(h->peers, err));
    um_forget_open(h);
    UM_TRY(open_loop(h, err));
    UM_TRY(open_pool(h, err));
    UM_TRY(open_protocols(h, err));
    UM_TRY(um_peers_start(h->peers, err));
    if (h->peers)
        UM_TRY(um_origins_open(h, &h->origins, err));
    UM_TRY(um_server_control_open(h, &h->parts->control, err));
    if (um_passed_close(&h->passed))
        um_log_event(&h->log, "a socket of systemd has no address of the "
                              "configuration and was closed");
    return UMBEL_OK;
}

umbel_status um_server_open(um_server *h, um_config *config, const char *path,
                            umbel_error *err)
{
    *h = (um_server){.opened = *config, .config = *config, .config_path = path};
    *config = (um_config){0};
    h->now = wall_clock();
    um_log_init(&h->log, h->now);
    h->parts = calloc(1, sizeof *h->parts);
    if (!h->parts)
        return um_no_memory(err, sizeof *h->parts);
    umask(077);
    return open_parts(h, err);
}

void um_server_run(um_server *h)
{
    um_loop_run(h->loop);
}

/* Before they are closed: afterwards another server may have the path. */
static void remove_unix_sockets(const um_server *h)
{
    for (size_t i = 0; i < h->naddresses; i++)
        if (h->address[i].made && h->address[i].text[0] == '/')
            unlink(h->address[i].text);
}

void um_server_close(um_server *h)
{
    remove_unix_sockets(h);
    um_mail_pool_close(h->pool); /* fronts get their mails back */
    for (size_t i = 0; um_protocol_row(i); i++)
        if (h->front[i])
            um_protocol_row(i)->close(h->front[i]);
    if (h->parts)
        um_server_control_close(h->parts->control);
    um_origins_close(h->origins);
    um_peers_close(h->peers);
    um_forget_close(h);
    um_loop_close(h->loop);
    um_store_close(h->store);
    um_limits_close(h->limits);
    um_welcome_close(h->welcome);
    um_config_fini(&h->opened);
    if (h->reloaded)
        um_config_fini(&h->config);
    free(h->parts);
    *h = (um_server){0};
}
