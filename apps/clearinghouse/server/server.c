/*
 * server.c - the process: opening, loop iterations, signals, reload, shutdown.
 *
 * In an iteration of the loop protocols handle their requests: look-ups are
 * answered at once, and reports go into the store's buffer. At the end of the
 * iteration the store writes them all together. They are answered when the
 * store has committed them: at once, or when its thread has called fdatasync.
 *
 * A stop has two steps. First everything is answered as usual, while
 * umbel-milter ends and a child process saves the replicas of peers. Then
 * protocols accept no more requests, and the loop ends when they have answered
 * those that they accepted. Each step ends after a time, whatever happens.
 */

#include "base/error.h"
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/admin/control.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/runtime/format.h"
#include "clearinghouse/status/status.h"
#include "net/server/socket.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK_MS = 1000,
    /* After SIGTERM: when umbel-milter and the save are no longer waited for,
     * and when pending answers are given up. */
    SERVE_MS = 1400,
    DRAIN_MS = 1800
};

typedef struct um_server {
    const char *config_path; /* NULL for the defaults */
    um_config opened;        /* settings at the start */
    um_config config; /* current settings; those that a reload cannot change are
                         read from opened */
    bool reloaded;    /* if false, config is a shallow copy of opened */
    um_log log;
    um_clock clock;
    um_top_reporters reporters;
    um_environment env; /* for protocols and the operator's requests */
    um_status_source status;
    um_running *running;
    um_operator *control;
    um_hook *hook;
    um_timer *tick, *serve, *drain;
    um_watch *event;
    um_signal *signals[5];
    bool stopping;  /* SIGTERM came */
    bool unhurried; /* umbel-milter and the save are still waited for */
    umbel_error not_reloaded; /* why the last reload was refused, or "" */
    const char *failure;      /* of the store, as last logged */
    int snapshot_error;       /* of the last snapshot, as last logged */
} um_server;

/* --- iterations ----------------------------------------------------------- */

static uint64_t wall_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec;
}

/* Logs that the store failed, or that it works again. */
static void note_failure(um_server *h)
{
    const char *failure = um_store_failure(h->env.store);
    um_store_stats s;

    if (failure && !h->failure) {
        um_store_stats_get(h->env.store, &s);
        if (s.lacks_space)
            um_log_event(&h->log,
                         "store: %s; refusing reports until the disk has "
                         "space for the journal again (%s)",
                         failure, um_format_bytes(s.journal_need).text);
        else
            um_log_event(&h->log,
                         "store: %s; refusing reports until a whole snapshot "
                         "is written (%s)",
                         failure, um_format_bytes(s.snapshot_need).text);
    }
    if (!failure && h->failure)
        um_log_event(&h->log, "store: writable again, accepting reports");
    h->failure = failure;
}

/* Logs that a snapshot failed, or that one works again. */
static void note_snapshot(um_server *h)
{
    um_store_stats s;

    um_store_stats_get(h->env.store, &s);
    if (s.snapshot_error && !h->snapshot_error)
        um_log_event(&h->log,
                     "store: no snapshot could be written: %s; it takes about "
                     "%s of the disk; reports are %s%s",
                     strerror(s.snapshot_error),
                     um_format_bytes(s.snapshot_need).text,
                     s.failed ? "refused until it is written"
                              : "accepted until the journal has ",
                     s.failed ? "" : um_format_bytes(s.journal_max).text);
    if (!s.snapshot_error && h->snapshot_error)
        um_log_event(&h->log, "store: a snapshot was written");
    h->snapshot_error = s.snapshot_error;
}

/* Continues a stop. */
static void continue_stop(um_server *h)
{
    if (h->unhurried && !um_running_busy(h->running, true) &&
        !um_peers_saving(h->env.peers)) {
        h->unhurried = false;
        um_running_stop(h->running, false);
    }
    if (!h->unhurried && !um_running_busy(h->running, false))
        um_loop_stop(h->env.loop);
}

static void end_iteration(void *ctx)
{
    um_server *h = ctx;
    uint64_t committed;

    do { /* again if protocols accepted requests that had waited */
        um_store_flush(h->env.store, NULL); /* note_failure reports a failure */
        note_failure(h);
        committed = um_store_committed(h->env.store);
        um_running_committed(h->running);
        if (h->control)
            um_operator_committed(h->control);
        if (h->stopping)
            continue_stop(h);
        um_store_flush(h->env.store, NULL);
    } while (um_store_committed(h->env.store) > committed);
    um_peers_end_iteration(h->env.peers);
}

static void store_event(void *ctx, unsigned events)
{
    um_server *h = ctx;

    (void)events;
    um_store_tick(h->env.store, h->clock.now);
}

static void tick(void *ctx)
{
    um_server *h = ctx;

    h->clock.now = wall_clock();
    um_log_tick(&h->log, h->clock.now);
    um_store_tick(h->env.store, h->clock.now);
    um_forget_tick(h->env.lists);
    um_lists_tick(h->env.lists);
    um_peers_tick(h->env.peers);
    um_origins_tick(h->env.origins);
    note_snapshot(h);
    um_statistics_tick(h->env.statistics, um_clock_uptime(&h->clock) / 60);
}

/* Warns if the peers may need more memory than is configured. */
static void note_short_memory(um_server *h)
{
    char text[UM_LOG_LINE_LEN];

    if (um_protocols_short_memory(&h->config, text, sizeof text))
        um_log_event(&h->log, "%s", text);
}

/* --- reload --------------------------------------------------------------- */

/* Applies the current configuration to all parts. The welcome rules come last:
 * once they are read, setting them cannot fail. */
static umbel_status reload_parts(um_server *h, umbel_error *err)
{
    um_welcome *fresh;

    UM_TRY(um_running_reload(h->running, err));
    UM_TRY(um_lists_read_welcome(h->env.lists, &fresh, err));
    umbel_status status = um_peers_reload(h->env.peers, err);
    if (status == UMBEL_OK)
        um_lists_set_welcome(h->env.lists, fresh);
    else
        um_welcome_close(fresh);
    return status;
}

static void note_refused_reload(um_server *h, const umbel_error *why)
{
    h->not_reloaded = *why;
    um_log_event(&h->log, "not reloaded: %s", why->text);
}

/* Applies a new configuration. Keeps the old one if a protocol, the welcome
 * file or the peers refuse the new one. */
static void apply_config(um_server *h, um_config *fresh)
{
    um_config old = h->config;
    umbel_error err;

    h->config = *fresh;
    if (reload_parts(h, &err) != UMBEL_OK) {
        note_refused_reload(h, &err);
        h->config = old;
        um_config_fini(fresh);
        um_running_reload(h->running, NULL);
        return;
    }
    um_limits_set(h->env.limits, &h->config.limits);
    if (h->reloaded)
        um_config_fini(&old);
    h->reloaded = true;
    h->not_reloaded.text[0] = '\0';
    um_log_event(&h->log, "reloaded");
    note_short_memory(h);
}

static umbel_status read_again(const um_server *h, um_config *out,
                               umbel_error *err)
{
    UM_TRY(h->config_path ? um_config_read(out, h->config_path, err)
                          : um_config_default(out, err));
    umbel_status status = um_protocols_check_memory(out, err);
    if (status == UMBEL_OK)
        status = um_peers_check(out, err);
    if (status != UMBEL_OK)
        um_config_fini(out);
    return status;
}

static void reload(um_server *h)
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

/* --- signals -------------------------------------------------------------- */

static void hurry(void *ctx)
{
    um_server *h = ctx;

    if (!h->unhurried)
        return;
    h->unhurried = false;
    um_running_stop(h->running, false);
}

static void abandon(void *ctx)
{
    um_server *h = ctx;

    um_log_event(&h->log, "shutdown timeout: some reports not acknowledged");
    um_loop_stop(h->env.loop);
}

static void begin_stop(um_server *h, int number)
{
    const char *why = number == SIGINT ? "interrupted" : "terminated";

    if (h->stopping) {
        um_log_event(&h->log,
                     "stopping at once: %s again, some reports may not be "
                     "acknowledged",
                     why);
        um_loop_stop(h->env.loop);
        return;
    }
    h->stopping = h->unhurried = true;
    um_log_event(&h->log, "stopping: %s", why);
    um_notify("STOPPING=1", NULL);
    um_running_stop(h->running, true);
    um_peers_save(h->env.peers);
    um_timer_open(h->env.loop, SERVE_MS, 0, hurry, h, &h->serve, NULL);
    um_timer_open(h->env.loop, DRAIN_MS, 0, abandon, h, &h->drain, NULL);
}

static void on_signal(void *ctx, int number)
{
    um_server *h = ctx;

    if (number == SIGCHLD)
        um_peers_child_ended(h->env.peers);
    else if (number == SIGHUP || number == SIGUSR1) /* SIGUSR1 as in pyzord */
        reload(h);
    else
        begin_stop(h, number);
}

/* --- opening -------------------------------------------------------------- */

static umbel_status open_store(um_server *h, umbel_error *err)
{
    um_list_config lists[UM_LISTS];
    um_store_config c = {.dir = h->config.data,
                         .secret = h->config.secret,
                         .durability = (um_durability)h->config.durability,
                         .lists = lists,
                         .nlists = UM_LISTS,
                         .observer = um_peers_observer(h->env.peers),
                         .totals_bytes = um_protocols_sums_bytes(&h->config),
                         .extra_bytes = um_protocols_extra_bytes(&h->config)};

    for (size_t i = 0; i < UM_LISTS; i++)
        lists[i] = um_list_config_of(&h->config, i);
    UM_TRY(um_store_open(&c, h->clock.now, &h->env.store, err));
    um_lists_set_store(h->env.lists, h->env.store);
    for (unsigned i = 0; i < UM_LISTS; i++)
        UM_TRY(um_list_check_threshold(um_store_list(h->env.store, i), err));
    return UMBEL_OK;
}

static umbel_status open_loop(um_server *h, umbel_error *err)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD};
    um_loop *loop;

    UM_TRY(um_loop_open(&loop, err));
    h->env.loop = h->clock.loop = loop;
    h->clock.started = um_clock_ms(&h->clock);
    UM_TRY(um_hook_open(loop, end_iteration, h, &h->hook, err));
    UM_TRY(um_timer_open(loop, TICK_MS, TICK_MS, tick, h, &h->tick, err));
    UM_TRY(um_watch_open(loop, um_store_event(h->env.store), UM_READABLE,
                         store_event, h, &h->event, err));
    for (size_t i = 0; i < UM_COUNT(signals); i++)
        UM_TRY(um_signal_open(loop, signals[i], on_signal, h, &h->signals[i],
                              err));
    return UMBEL_OK;
}

/* Opens the parts that need neither store nor loop. */
static umbel_status open_base(um_server *h, umbel_error *err)
{
    um_environment *env = &h->env;
    um_lists_params lists = {.opened = &h->opened,
                             .config = &h->config,
                             .clock = &h->clock,
                             .log = &h->log};

    env->opened = &h->opened;
    env->config = &h->config;
    env->clock = &h->clock;
    env->log = &h->log;
    env->reporters = &h->reporters;
    env->status = &h->status;
    UM_TRY(um_addresses_open(&env->addresses, err));
    UM_TRY(um_limits_open(&h->config.limits, &env->limits, err));
    UM_TRY(um_statistics_open(&h->log, &env->statistics, err));
    return um_lists_open(&lists, &env->lists, err);
}

static umbel_status open_parts(um_server *h, umbel_error *err)
{
    um_environment *env = &h->env;
    um_mail_pool_config pool = um_protocols_pool_config(&h->config);
    um_welcome *rules;

    /* First, so that a refused start creates no directory. */
    UM_TRY(um_protocols_check(&h->config, err));
    UM_TRY(um_admin_check(&h->config, err));
    UM_TRY(open_base(h, err));
    UM_TRY(um_lists_read_welcome(env->lists, &rules, err));
    um_lists_set_welcome(env->lists, rules);
    UM_TRY(um_peers_open(&(um_peers_params){.opened = env->opened,
                                            .config = env->config,
                                            .clock = env->clock,
                                            .log = env->log,
                                            .lists = env->lists,
                                            .addresses = env->addresses},
                         &env->peers, err));
    UM_TRY(open_store(h, err));
    UM_TRY(um_peers_begin(env->peers, env->store, err));
    um_forget_open(env->lists);
    UM_TRY(open_loop(h, err));
    UM_TRY(um_mail_pool_open(env->loop, &pool, &env->pool, err));
    UM_TRY(um_running_open(env, &h->running, err));
    h->status = (um_status_source){
        .env = env, .running = h->running, .not_reloaded = &h->not_reloaded};
    UM_TRY(um_peers_start(env->peers, env->loop, err));
    if (env->peers)
        UM_TRY(um_origins_open(env->peers, env->clock, env->store,
                               &env->origins, err));
    UM_TRY(um_operator_open(env, &h->control, err));
    if (um_addresses_close_unused(env->addresses))
        um_log_event(&h->log,
                     "closed a systemd socket that matches no configured "
                     "address");
    return UMBEL_OK;
}

static umbel_status open_server(um_server *h, um_config *config,
                                const char *path, umbel_error *err)
{
    *h = (um_server){.opened = *config, .config = *config, .config_path = path};
    *config = (um_config){0};
    h->clock.now = wall_clock();
    um_log_init(&h->log, h->clock.now);
    umask(077);
    return open_parts(h, err);
}

/* Closes the server, even if it is half open. */
static void close_server(um_server *h)
{
    um_environment *env = &h->env;

    um_addresses_remove_paths(env->addresses);
    um_mail_pool_close(env->pool); /* protocols get their mails back */
    um_running_close(h->running);
    um_operator_close(h->control);
    um_origins_close(env->origins);
    um_peers_close(env->peers);
    um_loop_close(env->loop);
    um_store_close(env->store);
    um_lists_close(env->lists);
    um_statistics_close(env->statistics);
    um_limits_close(env->limits);
    um_addresses_close(env->addresses);
    um_config_fini(&h->opened);
    if (h->reloaded)
        um_config_fini(&h->config);
}

/* --- serve ---------------------------------------------------------------- */

static void print_ready(const um_server *h)
{
    size_t n;
    const um_listen_address *address = um_addresses_all(h->env.addresses, &n);
    char line[UM_LOG_LINE_LEN] = "ready";
    size_t len = strlen(line);

    for (size_t i = 0; i < n && len < sizeof line; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, " %s=%s",
                                address[i].service->name, address[i].text);
    fprintf(stderr, "%s\n", line);
    fflush(stderr);
    um_notify("READY=1", NULL);
}

/* Serves until SIGTERM. If config is NULL, listens on loopback, with data in
 * ./clearinghouse. */
static umbel_status serve(const char *config, umbel_error *err)
{
    um_server *h = calloc(1, sizeof *h);
    um_config c = {0};
    umbel_status status;

    if (!h)
        return um_no_memory(err, sizeof *h);
    status = um_load_config(&c, config, err);
    if (status == UMBEL_OK)
        status = open_server(h, &c, config, err);
    if (status == UMBEL_OK) {
        if (!config)
            um_running_print_hints(h->running, stderr);
        note_short_memory(h);
        print_ready(h);
        um_loop_run(h->env.loop);
        um_log_event(&h->log, "stopped");
    }
    close_server(h);
    free(h);
    um_config_fini(&c);
    return status;
}

/* --- check ---------------------------------------------------------------- */

static umbel_status check_welcome(const um_config *c, bool quiet,
                                  umbel_error *err)
{
    um_welcome *w;

    UM_TRY(um_welcome_read(c->welcome, um_print_warning, stdout, &w, err));
    if (!quiet && c->welcome && access(c->welcome, F_OK) == 0)
        printf("%s: fine, rules: %zu\n", c->welcome, um_welcome_rules(w));
    um_welcome_close(w);
    return UMBEL_OK;
}

/* Checks the configuration, the files it names, and the data directory. Binds
 * no port and creates nothing. Prints the result; if quiet, only warnings. */
static umbel_status check(const char *config, bool quiet, umbel_error *err)
{
    const char *name = config ? config : "the default settings";
    char warning[UM_LOG_LINE_LEN];
    um_config c = {0};
    umbel_status status = um_load_config(&c, config, err);

    if (status == UMBEL_OK)
        status = um_protocols_check(&c, err);
    if (status == UMBEL_OK)
        status = um_protocols_check_files(&c, stdout, err);
    if (status == UMBEL_OK)
        status = check_welcome(&c, quiet, err);
    if (status == UMBEL_OK)
        status = um_admin_check(&c, err);
    if (status == UMBEL_OK &&
        um_protocols_short_memory(&c, warning, sizeof warning))
        printf("%s: %s\n", name, warning);
    else if (status == UMBEL_OK && !quiet)
        printf("%s: fine\n", name);
    um_config_fini(&c);
    return status;
}

/* --- the command --------------------------------------------------------- */

typedef struct serve_args {
    const char *config;
    bool check;
} serve_args;

static const um_option options[] = {
    UM_SERVER_CONFIG(serve_args),
    {"check", 0, NULL,
     "check the settings, the files they name, the data directory and its "
     "secret, then exit; ports are not tried",
     UM_TARGET(serve_args, check)},
    {0}};

static int run(const um_args *args)
{
    const serve_args *a = args->values;
    umbel_error err;
    umbel_status status = a->check ? check(a->config, args->common.quiet, &err)
                                   : serve(a->config, &err);

    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_clearinghouse = {
    .name = "clearinghouse",
    .summary = "count mail that others report, for Pyzor, dccifd and Razor2",
    .details =
        "Without a command it serves, in the foreground, until it is "
        "terminated; a line that begins with \"ready\" is printed once it "
        "listens. The commands ask the running server of the same "
        "configuration.",
    .example = "--config umbel-clearinghouse.conf --check",
    .manual = "8 System Administration",
    .values_len = sizeof(serve_args),
    .options = {{options, .base = 0}},
    .run = run,
};
