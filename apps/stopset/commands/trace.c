/*
 * trace.c - umbel stopset trace: traces routes, and stops at nodes of the stop
 * sets.
 */
#include "base/decimal.h"
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/framework/report.h"
#include "stopset/commands/commands.h"
#include "stopset/formats/output.h"
#include "stopset/sets/node_table.h"
#include "stopset/tracer/prober.h"
#include "stopset/tracer/tracer.h"
#include "stopset/tracer/tracer_run.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ATTEMPTS = 2,
    WAIT = 2, /* seconds */
    GAP_LIMIT = 5,
    MAX_TTL = 32,
    WINDOW = 1000,
    RATE = 100,
    NAMED = 10 /* destinations that an interrupted run names at most */
};

/* The first hop is chosen so that at most this share of first probes reaches
 * the destination. */
#define ARRIVING 0.05

static const char *const methods[] = {"icmp", "udp", NULL};
static const char *const formats[] = {"json", "warts", NULL};

typedef struct trace_args {
    um_list destinations;
    um_list allow, deny;
    bool everything;
    const char *output;
    um_choice format, method;
    um_real rate, wait;
    um_whole attempts, gap_limit, max_ttl, window, flow, seed;
    const char *first_hop, *table;
    const char *red, *global;
    bool share, local;
    um_share refresh;
    const char *interface, *contact, *user, *scamper;
} trace_args;

static const um_option options[] = {
    {"allow", 0, "PREFIXES",
     "probe these and nothing else: 192.0.2.0/24,2001:db8::/48",
     UM_TARGET(trace_args, allow), .required = true},
    {"deny", 0, "PREFIXES", "probe none of these, although they are allowed",
     UM_TARGET(trace_args, deny)},
    {"yes-everything", 0, NULL, "let --allow have a prefix of length 0",
     UM_TARGET(trace_args, everything)},
    {"output", 'o', "FILE", "write the traces to FILE (standard output)",
     UM_TARGET(trace_args, output), .role = UM_OUTPUT},
    {"format", 0, "FORMAT", "json (scamper's, default) or warts",
     UM_TARGET(trace_args, format), .choices = formats},
    {"red", 0, "FILE", "stop at nodes of this red set, before the destination",
     UM_TARGET(trace_args, red), .role = UM_INPUT},
    {"global", 0, "FILE", "stop at nodes of this global set, where others were",
     UM_TARGET(trace_args, global), .role = UM_INPUT},
    {"share", 0, NULL,
     "stop where an earlier trace of this run went on, without --global, too",
     UM_TARGET(trace_args, share)},
    {"local", 0, NULL, "on the way back stop at nodes that this run has seen",
     UM_TARGET(trace_args, local)},
    {"first-hop", 0, "N",
     "begin at TTL N (1), and go back from there; auto: as "
     "far as --table lets it",
     UM_TARGET(trace_args, first_hop)},
    {"table", 0, "TABLE", "path lengths, for --first-hop auto",
     UM_TARGET(trace_args, table), .role = UM_INPUT, .needs = "first-hop"},
    {"refresh", 0, "P", "this share of traces ignores the sets",
     UM_TARGET(trace_args, refresh)},
    {"seed", 0, "S", "choose other traces for --refresh (0)",
     UM_TARGET(trace_args, seed), .needs = "refresh"},
    {"rate", 0, "R", "probes a second (100)", UM_TARGET(trace_args, rate),
     .low = 0.001, .high = 1e6},
    {"attempts", 0, "N", "probes at a silent hop (2)",
     UM_TARGET(trace_args, attempts), .low = 1, .high = 10},
    {"wait", 0, "SECONDS", "for an answer (2)", UM_TARGET(trace_args, wait),
     .low = 0.001, .high = 60},
    {"gap-limit", 0, "N", "silent hops in a row that end a trace (5)",
     UM_TARGET(trace_args, gap_limit), .low = 1, .high = 255},
    {"max-ttl", 0, "N", "hops at most (32)", UM_TARGET(trace_args, max_ttl),
     .low = 1, .high = 255},
    {"window", 0, "N", "destinations under way at once (1000)",
     UM_TARGET(trace_args, window), .low = 1, .high = 100000},
    {"flow", 0, "N", "take another path where routers share load (0)",
     UM_TARGET(trace_args, flow), .high = 65535},
    {"method", 0, "METHOD",
     "icmp (needs root, and is the default then) or udp (needs nothing)",
     UM_TARGET(trace_args, method), .choices = methods,
     .excludes = "via-scamper"},
    {"interface", 0, "NAME", "send by this interface",
     UM_TARGET(trace_args, interface), .excludes = "via-scamper"},
    {"contact", 0, "TEXT", "stands in every probe, for whoever wonders",
     UM_TARGET(trace_args, contact), .excludes = "via-scamper"},
    {"user", 0, "NAME", "become this user once the sockets are open (nobody)",
     UM_TARGET(trace_args, user), .excludes = "via-scamper"},
    {"via-scamper", 0, "SOCKET", "let the scamper behind this socket probe",
     UM_TARGET(trace_args, scamper)},
    {0}};

static volatile sig_atomic_t interrupted;

static void note_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = note_signal};

    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

static void print_note(const char *text)
{
    fprintf(stderr, "umbel stopset trace: %s\n", text);
}

/* --- arguments ------------------------------------------------------------ */

static umbel_status read_prefixes(const um_list *texts, ss_prefixes *out,
                                  umbel_error *err)
{
    for (size_t i = 0; i < texts->n; i++)
        UM_TRY(ss_prefixes_parse(out, texts->item[i], err));
    return UMBEL_OK;
}

static umbel_status read_targets(const trace_args *a, ss_targets *t,
                                 umbel_error *err)
{
    ss_prefixes allow = {0}, deny = {0};
    umbel_status status = read_prefixes(&a->allow, &allow, err);

    if (!status)
        status = read_prefixes(&a->deny, &deny, err);
    if (!status && ss_prefixes_have_all(&allow) && !a->everything)
        status = um_fail(err, UMBEL_E_RANGE,
                         "--allow with a prefix of length 0 allows the whole "
                         "internet: name your networks, or add "
                         "--yes-everything");
    for (size_t i = 0; !status && i < a->destinations.n; i++)
        status = ss_targets_read(t, a->destinations.item[i], err);
    if (!status && t->set.n == 0)
        status = um_fail(err, UMBEL_E_RANGE, "there is no destination");
    if (!status)
        status = ss_targets_check(t, &allow, &deny, err);
    ss_prefixes_fini(&allow);
    ss_prefixes_fini(&deny);
    return status;
}

static umbel_status first_hop(const trace_args *a, uint8_t *out,
                              umbel_error *err)
{
    ss_table table = {0};
    umbel_status status;

    *out = 1;
    if (!a->first_hop)
        return UMBEL_OK;
    if (strcmp(a->first_hop, "auto") != 0) {
        uint64_t n;
        if (!um_decimal_parse(a->first_hop, 255, &n) || n == 0)
            return um_fail(err, UMBEL_E_RANGE,
                           "--first-hop %s: a TTL from 1 to 255, or auto",
                           a->first_hop);
        *out = (uint8_t)n;
        return UMBEL_OK;
    }
    if (!a->table)
        return um_fail(
            err, UMBEL_E_RANGE,
            "--first-hop auto needs path lengths: add --table, which "
            "'umbel stopset learn' writes");
    status = ss_table_load(&table, a->table, err);
    if (!status)
        *out = ss_table_first_hop(&table, ARRIVING);
    ss_table_fini(&table);
    return status;
}

static umbel_status config_from_args(const trace_args *a, ss_tracer_config *c,
                                     umbel_error *err)
{
    *c = (ss_tracer_config){
        .policy = {.max_ttl =
                       a->max_ttl.given ? (uint8_t)a->max_ttl.n : MAX_TTL,
                   .gap_limit =
                       a->gap_limit.given ? (uint8_t)a->gap_limit.n : GAP_LIMIT,
                   .backwards = true},
        .attempts = a->attempts.given ? (uint8_t)a->attempts.n : ATTEMPTS,
        .window = a->window.given ? (uint32_t)a->window.n : WINDOW,
        .wait = (uint64_t)((a->wait.given ? a->wait.x : WAIT) * 1e6),
        .rate = a->rate.given ? a->rate.x : RATE,
        .refresh = a->refresh.x,
        .seed = a->seed.n};
    return first_hop(a, &c->policy.first, err);
}

/* Spreads the targets, because simultaneous traces to one prefix cannot learn
 * from each other. */
static umbel_status order_targets(const ss_live *live, ss_targets *t,
                                  ss_tracer_config *c, umbel_error *err)
{
    if (!live->use_own || live->own.info.key == SS_HOP)
        return UMBEL_OK;
    uint32_t prefixes = ss_targets_spread(t, live->own.info.prefix);
    if (prefixes == 0)
        return um_no_memory(err, (size_t)t->set.n * sizeof(ss_addr));
    if (prefixes < c->window)
        c->window = prefixes;
    return UMBEL_OK;
}

static umbel_status open_prober(const trace_args *a, const ss_targets *t,
                                bool udp, ss_prober *out, umbel_error *err)
{
    ss_sockets_config c = {.method = methods[udp],
                           .v4 = t->v4,
                           .v6 = t->v6,
                           .interface = a->interface,
                           .contact = a->contact,
                           .stamp.flow = (uint16_t)a->flow.n};

    if (a->contact && strlen(a->contact) > SS_CONTACT_MAX)
        return um_fail(err, UMBEL_E_RANGE, "--contact: at most %d bytes",
                       SS_CONTACT_MAX);
    if (a->scamper)
        return ss_scamper_open(a->scamper, out, err);
    randombytes_buf(c.stamp.key, sizeof c.stamp.key);
    return ss_sockets_open(&c, out, err);
}

/* --- results -------------------------------------------------------------- */

static void fill_report(const ss_session *s, um_report *r)
{
    const ss_tracer_counts *c = &s->counts;

    um_report_count(r, "traces", NULL, NULL, c->traces);
    um_report_count(r, "probes", NULL, NULL, c->probes);
    um_report_count(r, "replies", NULL, NULL, c->replies);
    um_report_count(r, "destination_probes", "destination probes", NULL,
                    c->destination_probes);
    um_report_count(r, "stopped_red", "stopped by the red set", NULL,
                    c->stopped_red);
    um_report_count(r, "stopped_global", "by the global set", NULL,
                    c->stopped_global);
    um_report_count(r, "stopped_local", "on the way back", NULL,
                    c->stopped_local);
    um_report_count(r, "reached", NULL, NULL, c->reached);
    um_report_count(r, "silent", "without any answer", NULL, c->silent);
    um_report_count(r, "refused", "not sent by the system", NULL, s->refused);
    um_report_count(r, "strange", "strange answers", NULL, c->strange);
    if (s->refused)
        um_report_note(r, "%s could not be sent; the first reason is above.",
                       um_counted(s->refused, "probe", "probes").text);
}

/* Prints which destinations an interrupted run did not trace. Traces in
 * progress are in the output as HALTED. */
static void name_the_rest(const ss_session *s)
{
    const ss_index *all = &s->targets->set;
    char text[SS_ADDR_TEXT];

    if (!interrupted)
        return;
    fprintf(stderr,
            "umbel stopset trace: interrupted; finished traces are in the "
            "output, %u of %u destinations were not begun\n",
            all->n - s->begun, all->n);
    for (uint32_t i = s->begun; i < all->n && i < s->begun + NAMED; i++) {
        ss_addr_format(all->key[i], text);
        fprintf(stderr, "  %s\n", text);
    }
    if (all->n - s->begun > NAMED)
        fprintf(stderr, "  and %u more\n", all->n - s->begun - NAMED);
}

static umbel_status open_output(const char *path, FILE **out, umbel_error *err)
{
    *out = stdout;
    if (!path || strcmp(path, "-") == 0)
        return UMBEL_OK;
    *out = fopen(path, "we");
    return *out ? UMBEL_OK : um_fail_path(err, path);
}

static int run(const um_args *args)
{
    const trace_args *a = args->values;
    ss_live live = {.red.path = a->red,
                    .global.path = a->global,
                    .use_own = a->share || a->global,
                    .use_local = a->local};
    bool udp = !a->scamper && /* which sends ICMP */
               (a->method.name ? a->method.index == 1 : geteuid() != 0);
    ss_targets targets = {0};
    ss_prober prober = {0};
    ss_tracer_config config;
    FILE *out = NULL;
    umbel_error err;
    umbel_status status = read_targets(a, &targets, &err);

    if (!status)
        status = config_from_args(a, &config, &err);
    if (!status)
        status = ss_live_open(&live, &err);
    if (!status)
        status = order_targets(&live, &targets, &config, &err);
    if (!status)
        status = open_prober(a, &targets, udp, &prober, &err);
    /* Opened late, so that a run that cannot start leaves the last output as it
     * is. */
    if (!status)
        status = open_output(a->output, &out, &err);
    if (!status && !a->scamper)
        status = ss_drop_privileges(a->user ? a->user : "nobody", &err);
    if (status)
        goto done;

    ss_run_facts facts = {
        .udp = udp,
        .policy = config.policy,
        .attempts = config.attempts,
        .wait = (uint8_t)((config.wait + 999999) / 1000000),
        .probe_size = {prober.probe_size[0], prober.probe_size[1]},
        .sport = {prober.sport[0], prober.sport[1]},
        .dport = prober.dport,
        .start = (uint64_t)time(NULL)};
    ss_session session = {.config = &config,
                          .prober = &prober,
                          .targets = &targets,
                          .live = &live,
                          .format = ss_output_find(formats[a->format.index]),
                          .facts = &facts,
                          .out = out,
                          .interrupted = &interrupted,
                          .note = print_note};
    catch_signals();
    status = ss_session_run(&session, &err);
    if (!status) {
        um_report report = {0};
        fill_report(&session, &report);
        um_report_print(args, &report);
        um_report_fini(&report);
        name_the_rest(&session);
    }
done:
    if (prober.close)
        prober.close(prober.self);
    if (out && out != stdout && fclose(out) != 0 && !status)
        status = um_fail_path(&err, a->output);
    ss_live_fini(&live);
    ss_targets_fini(&targets);
    if (status)
        return um_trouble(args, &err);
    return interrupted ? UM_EXIT_NO : UM_EXIT_FINE;
}

const um_command ss_cmd_trace = {
    .name = "stopset trace",
    .summary = "trace routes, and stop where sets say",
    .values_len = sizeof(trace_args),
    .operands = {{"DESTINATIONS", UM_LIST, offsetof(trace_args, destinations),
                  UM_INPUT, .min = 1}},
    .options = {{.rows = options}},
    .run = run,
    .example = "targets.txt --allow 192.0.2.0/24 --red red.umb -o day2.json",
    .details = "DESTINATIONS are addresses, or files with one a line. Nothing "
               "outside --allow is probed: the first destination that lies "
               "outside is named before any packet is sent.",
};
