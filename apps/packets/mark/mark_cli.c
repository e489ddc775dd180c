/*
 * mark_cli.c - umbel packets mark, which adds a router to the packets of an
 * NFQUEUE, and umbel packets trace-back, which finds the routers of a packet.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/framework/report.h"
#include "packets/capture/capture.h"
#include "packets/commands.h"
#include "packets/mark/mark.h"
#include "trust/key_file.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

enum {
    DEFAULT_CELLS = 4, /* k0, and k1 */
    LOOP_CELLS = 8,    /* k1 of a plain filter */
    DEFAULT_SUSPICIONS = 2,
    DEFAULT_MTU = 1500,
    DEFAULT_LIMIT = 100000,
    SNAP = 128
};

/* --- mark ----------------------------------------------------------------- */

typedef enum policy { POLICY_MARK, POLICY_LOOP } policy;
static const char *const policies[] = {"mark", "loop", NULL};
static const char *const unmarkable[] = {"pass", "drop", NULL};

typedef struct mark_args {
    um_whole queue, reset, set, suspicions, mtu;
    const char *router, *key_file, *user;
    um_choice policy, unmarkable;
} mark_args;

static const um_option mark_options[] = {
    {"queue", 0, "N", "number of the queue: iptables -j NFQUEUE --queue-num N",
     UM_TARGET(mark_args, queue), .required = true, .high = 65535},
    {"router", 0, "ID", "name of this router in the topology",
     UM_TARGET(mark_args, router), .required = true},
    {"key-file", 0, "FILE", "secret that all routers share: 'umbel keygen'",
     UM_TARGET(mark_args, key_file), .role = UM_INPUT, .required = true},
    {"policy", 0, "POLICY",
     "mark: for trace-back (default); loop: drop packets that come again",
     UM_TARGET(mark_args, policy), .choices = policies},
    {"reset", 0, "K0", "cells that a router clears (4); 0: a plain filter",
     UM_TARGET(mark_args, reset), .high = PK_MARK_HASHES,
     .modes = UM_MODE(POLICY_MARK)},
    {"set", 0, "K1", "cells that a router sets (4; policy loop: 8)",
     UM_TARGET(mark_args, set), .low = 1, .high = PK_MARK_HASHES},
    {"suspicions", 0, "D",
     "drop a packet that D routers in a row did not change (2)",
     UM_TARGET(mark_args, suspicions), .low = 1, .high = 255,
     .modes = UM_MODE(POLICY_LOOP)},
    {"mtu", 0, "BYTES", "packets do not become longer (1500)",
     UM_TARGET(mark_args, mtu), .low = 68, .high = 65535},
    {"unmarkable", 0, "WHAT",
     "pass or drop packets that cannot take the option (pass)",
     UM_TARGET(mark_args, unmarkable), .choices = unmarkable},
    {"user", 0, "NAME", "become this user once the queue is open (nobody)",
     UM_TARGET(mark_args, user)},
    {0}};

static volatile sig_atomic_t interrupted;

static void note_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static unsigned mark_mode(const void *values)
{
    const mark_args *a = values;

    return UM_MODE(a->policy.index);
}

static void print_ready(void *ctx)
{
    (void)ctx;
    fprintf(stderr, "umbel packets mark: ready\n");
}

static pk_verdict decide(void *ctx, uint8_t *packet, uint32_t *len)
{
    return pk_mark(ctx, packet, len);
}

static unsigned or_default(um_whole x, unsigned otherwise)
{
    return x.given ? (unsigned)x.n : otherwise;
}

static pk_marker_config marker_config(const mark_args *a, const uint8_t *secret)
{
    bool loop = a->policy.index == POLICY_LOOP;

    return (pk_marker_config){
        .shape = {.reset = loop ? 0 : or_default(a->reset, DEFAULT_CELLS),
                  .set = or_default(a->set, loop ? LOOP_CELLS : DEFAULT_CELLS),
                  .secret = secret},
        .router = a->router,
        .suspicions = loop ? or_default(a->suspicions, DEFAULT_SUSPICIONS) : 0,
        .mtu = or_default(a->mtu, DEFAULT_MTU),
        .drop = a->unmarkable.index == 1};
}

static void report_mark(const pk_marker_counts *c, const pk_queue_counts *q,
                        um_report *r)
{
    um_report_count(r, "packets", NULL, NULL, q->packets);
    um_report_count(r, "marked", NULL, NULL, c->marked);
    um_report_count(r, "added", "with a new option", NULL, c->added);
    um_report_count(r, "suspicious", "not changed by this router", NULL,
                    c->suspicious);
    um_report_count(r, "loops", "dropped as loops", NULL, c->loops);
    um_report_count(r, "no_space", "without space for the option", NULL,
                    c->no_space);
    um_report_count(r, "too_large", "would exceed the MTU", NULL, c->too_large);
    um_report_count(r, "malformed", NULL, NULL, c->malformed);
    um_report_count(r, "kernel_drops", "dropped by the kernel", NULL, q->drops);
}

static umbel_status check_router(const char *name, umbel_error *err)
{
    if (pk_router_name(name) && strcmp(name, "victim") != 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "--router %s: a name has 1 to %d printable characters "
                   "without blanks, '#', '\"' and '\\', and is not "
                   "\"victim\"",
                   name, PK_ROUTER_LEN - 1);
}

static int run_mark(const um_args *args)
{
    const mark_args *a = args->values;
    struct sigaction catch = {.sa_handler = note_signal};
    uint8_t secret[UMBEL_SECRET_LEN];
    pk_queue_counts counts = {0};
    um_report report = {0};
    pk_marker *m = NULL;
    umbel_error err;
    umbel_status status = check_router(a->router, &err);

    if (!status)
        status = um_secret_load(a->key_file, secret, &err);
    if (!status) {
        pk_marker_config c = marker_config(a, secret);
        status = pk_marker_open(&c, &m, &err);
    }
    sodium_memzero(secret, sizeof secret);
    if (!status) {
        sigemptyset(&catch.sa_mask);
        sigaction(SIGINT, &catch, NULL);
        sigaction(SIGTERM, &catch, NULL);
        status =
            pk_queue_run((uint16_t)a->queue.n, a->user ? a->user : "nobody",
                         decide, m, print_ready, &interrupted, &counts, &err);
    }
    if (!status) {
        pk_marker_counts c = pk_marker_count(m);
        report_mark(&c, &counts, &report);
        um_report_print(args, &report);
    }
    um_report_fini(&report);
    pk_marker_close(m);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command pk_cmd_mark = {
    .name = "packets mark",
    .summary = "add this router to a filter in each packet that it forwards",
    .values_len = sizeof(mark_args),
    .modes = {[POLICY_MARK] = {"with --policy mark", ""},
              [POLICY_LOOP] = {"with --policy loop", "--policy loop"}},
    .mode = mark_mode,
    .options = {{.rows = mark_options}},
    .run = run_mark,
    .example = "--queue 7 --router r7 --key-file marks.key",
    .details =
        "Hand over packets with 'iptables -A FORWARD -j NFQUEUE --queue-num "
        "7'. The filter is an option of 36 bytes (IPv4, number 158) or a "
        "hop-by-hop option of 40 bytes (IPv6, number 0x3E). Many routers of "
        "the internet drop packets with options: mark inside your own "
        "network.",
};

/* --- trace-back ----------------------------------------------------------- */

typedef struct trace_args {
    const char *input, *topology, *key_file;
    um_whole reset, set, limit;
    bool plain, every;
} trace_args;

static const um_option trace_options[] = {
    {"topology", 0, "FILE", "routers, links, and where the victim is",
     UM_TARGET(trace_args, topology), .role = UM_INPUT, .required = true},
    {"key-file", 0, "FILE", "secret of the routers",
     UM_TARGET(trace_args, key_file), .role = UM_INPUT, .required = true},
    {"reset", 0, "K0", "cells that a router clears (4); 0: a plain filter",
     UM_TARGET(trace_args, reset), .high = PK_MARK_HASHES},
    {"set", 0, "K1", "cells that a router sets (4)", UM_TARGET(trace_args, set),
     .low = 1, .high = PK_MARK_HASHES},
    {"no-wildcards", 0, NULL,
     "count overwritten cells against a router, as the paper's query does",
     UM_TARGET(trace_args, plain)},
    {"every", 0, NULL,
     "test every router of the topology, without following links",
     UM_TARGET(trace_args, every), .excludes = "no-wildcards limit"},
    {"limit", 0, "N", "tests of routers for a packet (100000)",
     UM_TARGET(trace_args, limit), .low = 1, .high = 1e9},
    {0}};

static void print_names(FILE *out, const pk_topology *t, const uint32_t *node,
                        uint32_t n)
{
    fputc('[', out);
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", out);
        um_json_text(out, t->name[node[i]]);
    }
    fputc(']', out);
}

static void print_trace(const um_args *args, const pk_topology *t,
                        uint64_t packet, const pk_trace *trace)
{
    FILE *out = um_report_stream(args);

    if (args->common.quiet)
        return;
    if (args->common.json) {
        fprintf(out, "{\"packet\": %" PRIu64 ", \"path\": ", packet);
        print_names(out, t, trace->path, trace->npath);
        fprintf(out, ", \"candidates\": ");
        print_names(out, t, trace->candidates, trace->ncandidates);
        fprintf(out, ", \"expected_false\": ");
        um_json_real(out, trace->expected_false);
        fprintf(out, ", \"cut\": %s}\n", trace->cut ? "true" : "false");
        return;
    }
    fprintf(out, "%" PRIu64 ":", packet);
    for (uint32_t i = 0; i < trace->npath; i++)
        fprintf(out, " %s", t->name[trace->path[i]]);
    fprintf(out, " (%" PRIu32 " candidates, %.3g expected by chance%s)\n",
            trace->ncandidates, trace->expected_false,
            trace->cut ? ", search ended at --limit" : "");
}

typedef struct trace_counts {
    uint64_t marked, unmarked;
} trace_counts;

static umbel_status trace_file(const um_args *args, pk_source *source,
                               const pk_topology *t, pk_tracer *tracer,
                               trace_counts *counts, umbel_error *err)
{
    pk_event what = PK_PACKET;
    pk_packet p;
    pk_headers h;
    pk_trace trace;

    for (;;) {
        UM_TRY(pk_next(source, &p, &what, err));
        if (what == PK_END)
            return UMBEL_OK;
        if (p.captured < p.length && p.captured < SNAP)
            return um_fail(err, UMBEL_E_FORMAT,
                           "packet %" PRIu64 " was captured with %" PRIu32
                           " bytes, which may end before the option: capture "
                           "with 'tcpdump -s %d' or more",
                           source->counts.packets, p.captured, SNAP);
        if (!pk_decode(&p, &h) || !pk_trace_packet(tracer, p.data + h.ip,
                                                   p.captured - h.ip, &trace)) {
            counts->unmarked++;
            continue;
        }
        counts->marked++;
        print_trace(args, t, source->counts.packets, &trace);
    }
}

static int run_trace_back(const um_args *args)
{
    const trace_args *a = args->values;
    uint8_t secret[UMBEL_SECRET_LEN];
    pk_topology topology = {.n = 0};
    trace_counts counts = {0, 0};
    pk_tracer *tracer = NULL;
    pk_source *source = NULL;
    umbel_error err;
    umbel_status status = um_secret_load(a->key_file, secret, &err);

    if (!status)
        status = pk_topology_load(a->topology, &topology, &err);
    if (!status) {
        pk_tracer_config c = {
            .shape = {.reset = or_default(a->reset, DEFAULT_CELLS),
                      .set = or_default(a->set, DEFAULT_CELLS),
                      .secret = secret},
            .wildcards = !a->plain,
            .every = a->every,
            .limit = a->limit.given ? (uint32_t)a->limit.n
                     : a->every     ? UINT32_MAX
                                    : DEFAULT_LIMIT};
        status = pk_tracer_open(&topology, &c, &tracer, &err);
    }
    if (!status)
        status = pk_open_file(a->input, &source, &err);
    if (!status)
        status = trace_file(args, source, &topology, tracer, &counts, &err);
    if (!status && counts.unmarked && !args->common.quiet)
        fprintf(stderr,
                "umbel packets trace-back: %s without a mark of %u + %u "
                "cells\n",
                um_counted(counts.unmarked, "packet", "packets").text,
                or_default(a->reset, DEFAULT_CELLS),
                or_default(a->set, DEFAULT_CELLS));
    pk_close(source);
    pk_tracer_close(tracer);
    pk_topology_fini(&topology);
    sodium_memzero(secret, sizeof secret);
    if (status)
        return um_trouble(args, &err);
    return counts.marked ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command pk_cmd_trace_back = {
    .name = "packets trace-back",
    .summary = "find the routers that a marked packet passed",
    .values_len = sizeof(trace_args),
    .operands = {{"FILE", UM_TEXT, offsetof(trace_args, input), UM_INPUT,
                  .min = 1, .example = "attack.pcap"}},
    .options = {{.rows = trace_options}},
    .run = run_trace_back,
    .example = "attack.pcap --topology links --key-file marks.key",
    .details =
        "The topology has a line \"A B\" for each link between routers, and "
        "\"victim A\" for each router that the victim is attached to. A path "
        "begins there. The exit code is 1 if no packet is marked.",
};
