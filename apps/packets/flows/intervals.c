/*
 * intervals.c - umbel packets flows: names the flows above a threshold in each
 * interval.
 *
 * Packets come in batches: decoded, made keys, and counted by the library
 * (umbel/experimental/flows.h). An interval ends when a packet of a later one
 * comes, or live when its time is over; then its rows are printed. A packet
 * that is older than the interval counts in it all the same: a clock went back,
 * or the packets of two interfaces are not in order.
 */
#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/framework/report.h"
#include "packets/capture/capture.h"
#include "packets/commands.h"
#include "packets/flows/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 64,
    MAX_CHILDREN = 16, /* of --exec at the same time */
    GRACE_MS = 200     /* live: packets of an interval may come so late */
};

static const uint64_t second = UINT64_C(1000000000); /* in ns */
static const uint64_t default_interval = UINT64_C(60000000000);
static const uint64_t default_threshold = 1000000;

typedef struct flows_args {
    um_list inputs;
    const char *interface, *by, *threshold, *interval;
    const char *exec, *http, *user;
    um_whole memory, seed;
    bool csv;
} flows_args;

static const um_option options[] = {
    {"interface", 0, "IF", "capture on this interface until SIGINT or SIGTERM",
     UM_TARGET(flows_args, interface)},
    {"by", 0, "KEY",
     "what is a flow: 5tuple (default), src, dst, src/24, dst/24, src/24/64 "
     "(IPv4/IPv6)",
     UM_TARGET(flows_args, by)},
    {"threshold", 0, "N",
     "name flows of at least so much in an interval: 500B, 1MB (default), "
     "1000p for packets",
     UM_TARGET(flows_args, threshold)},
    {"interval", 0, "TIME",
     "length of an interval: 500ms, 60s (default), 5m, 1h; 0: the whole input",
     UM_TARGET(flows_args, interval)},
    {"memory", 0, "BYTES", "memory for counting, all of it (default 1 MiB)",
     UM_TARGET(flows_args, memory), .low = 1},
    {"seed", 0, "N",
     "seed of the hash functions (default 0 for files, random for interfaces)",
     UM_TARGET(flows_args, seed)},
    {"csv", 0, NULL, "print rows as CSV; the summary goes to standard error",
     UM_TARGET(flows_args, csv)},
    {"exec", 0, "COMMAND",
     "run this by sh for each row, with UMBEL_FLOW_KEY, _BYTES, _PACKETS and "
     "_START in its environment",
     UM_TARGET(flows_args, exec)},
    {"http", 0, "ADDRESS:PORT",
     "serve a page with the last hour, as HTML and as /flows.json",
     UM_TARGET(flows_args, http), .needs = "interface"},
    {"user", 0, "NAME",
     "continue as this user once the interface is open (default nobody)",
     UM_TARGET(flows_args, user), .needs = "interface"},
    {0}};

typedef enum key_kind { FIVE_TUPLE, SOURCE, DESTINATION } key_kind;

/* What a flow is. */
typedef struct key_rule {
    key_kind kind;
    uint8_t bits4, bits6; /* of prefixes */
    bool prefix;
} key_rule;

typedef struct run_state {
    const um_args *args;
    const flows_args *a;
    key_rule rule;
    umbel_flows *flows;
    pk_fragments *fragments;
    pk_page *page;
    umbel_flow_packet batch[BATCH];
    size_t n;
    uint64_t interval;              /* ns; 0: the whole input */
    uint64_t start;                 /* of the interval; 0: none has begun */
    bool begun, by_packets, header; /* header: the table's was printed */
    uint64_t packets, bytes, drops, unnamed, memory;
    uint64_t drops_before; /* at the beginning of the interval */
    uint64_t not_ip, unordered, no_ports, not_run;
    size_t children;
} run_state;

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

/* --- options --------------------------------------------------------------
 */

static umbel_status parse_key(const char *text, key_rule *out, umbel_error *err)
{
    const char *slash = strchr(text, '/'), *more;
    uint64_t bits4 = 32, bits6 = 128;
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    bool fine = true;

    *out = (key_rule){.kind = FIVE_TUPLE};
    if (len == 3 && memcmp(text, "src", 3) == 0)
        out->kind = SOURCE;
    else if (len == 3 && memcmp(text, "dst", 3) == 0)
        out->kind = DESTINATION;
    else
        fine = strcmp(text, "5tuple") == 0;
    if (slash && fine) {
        more = strchr(slash + 1, '/');
        len = more ? (size_t)(more - slash - 1) : strlen(slash + 1);
        bits6 = 48;
        fine = um_decimal_read(slash + 1, len, 32, &bits4) &&
               (!more || um_decimal_parse(more + 1, 128, &bits6));
        out->prefix = true;
    }
    if (!fine)
        return um_fail(err, UMBEL_E_RANGE,
                       "--by is 5tuple, src, dst, or a prefix as src/24 or "
                       "dst/24/64, not \"%.40s\"",
                       text);
    out->bits4 = (uint8_t)bits4;
    out->bits6 = (uint8_t)bits6;
    return UMBEL_OK;
}

/* Parses a number with one of the endings, a unit each. */
static umbel_status parse_threshold(const char *text, umbel_flows_params *p,
                                    umbel_error *err)
{
    char number[40];
    size_t len = strlen(text);
    char last = '\0';

    if (len && len < sizeof number) {
        last = text[len - 1];
        memcpy(number, text, len + 1);
        p->by_packets = last == 'p';
        /* "500B"; but "1MB" is a number with its unit. */
        if (last == 'p' || (last == 'B' && len > 1 && text[len - 2] >= '0' &&
                            text[len - 2] <= '9'))
            number[len - 1] = '\0';
        if (um_parse_whole(number, &p->threshold) && p->threshold > 0)
            return UMBEL_OK;
    }
    return um_fail(err, UMBEL_E_RANGE,
                   "--threshold is a number of bytes as 500B or 1MB, or of "
                   "packets as 1000p, not \"%.40s\"",
                   text);
}

static umbel_status parse_interval(const char *text, uint64_t *out,
                                   umbel_error *err)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {
        {"ms", 1e6}, {"s", 1e9}, {"", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    double x = strtod(text, &end);

    *out = 0;
    if (strcmp(text, "0") == 0)
        return UMBEL_OK;
    for (size_t i = 0; i < UM_COUNT(units); i++)
        if (end != text && strcmp(end, units[i].name) == 0 &&
            x * units[i].ns >= 1e6 && x * units[i].ns <= 86400e9) {
            *out = (uint64_t)(x * units[i].ns + 0.5);
            return UMBEL_OK;
        }
    return um_fail(err, UMBEL_E_RANGE,
                   "--interval is a time from 1ms to 24h as 500ms, 60s, 5m, "
                   "1h, or 0 for the whole input, not \"%.40s\"",
                   text);
}

/* --- keys -----------------------------------------------------------------
 */

static void copy_prefix(uint8_t *to, const uint8_t *from, size_t len,
                        unsigned bits)
{
    for (size_t i = 0; i < len; i++, bits -= bits < 8 ? bits : 8)
        to[i] = (uint8_t)(from[i] & (bits >= 8 ? 0xFF : 0xFF00 >> bits));
}

/* Writes the key of a packet; bytes behind it are 0. */
static void write_key(const key_rule *rule, const pk_headers *h,
                      umbel_flow_packet *p)
{
    size_t len = pk_address_len(h);
    uint8_t *at = p->key;

    memset(p->key, 0, sizeof p->key);
    if (rule->kind != FIVE_TUPLE) {
        p->len = (uint8_t)len;
        copy_prefix(at, rule->kind == SOURCE ? h->src : h->dst, len,
                    len == 4 ? rule->bits4 : rule->bits6);
        return;
    }
    memcpy(at, h->src, len);
    memcpy(at + len, h->dst, len);
    at += 2 * len;
    at[0] = h->protocol;
    at[1] = (uint8_t)(h->sport >> 8);
    at[2] = (uint8_t)h->sport;
    at[3] = (uint8_t)(h->dport >> 8);
    at[4] = (uint8_t)h->dport;
    p->len = (uint8_t)(2 * len + 5);
}

static void print_key(const key_rule *rule, const umbel_flow *f,
                      char out[PK_FLOW_TEXT])
{
    char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
    size_t len = rule->kind == FIVE_TUPLE ? (f->len - 5) / 2 : f->len;
    int family = len == 4 ? AF_INET : AF_INET6;
    const uint8_t *end = f->key + 2 * len;

    inet_ntop(family, f->key, src, sizeof src);
    if (rule->kind == FIVE_TUPLE) {
        inet_ntop(family, f->key + len, dst, sizeof dst);
        snprintf(out, PK_FLOW_TEXT, "%s %s %u %u %u", src, dst, end[0],
                 (unsigned)(end[1] << 8 | end[2]),
                 (unsigned)(end[3] << 8 | end[4]));
    } else if (rule->prefix)
        snprintf(out, PK_FLOW_TEXT, "%s/%d", src,
                 len == 4 ? rule->bits4 : rule->bits6);
    else
        snprintf(out, PK_FLOW_TEXT, "%s", src);
}

/* --- rows -----------------------------------------------------------------
 */

/* Prints seconds since 1970, with as many digits as they need. */
static void print_time(FILE *out, uint64_t ns)
{
    uint64_t part = ns % second;
    int digits = 9;

    fprintf(out, "%" PRIu64, ns / second);
    if (!part)
        return;
    for (; part % 10 == 0; part /= 10)
        digits--;
    fprintf(out, ".%0*" PRIu64, digits, part);
}

static void print_row(run_state *s, const pk_flow_row *row)
{
    FILE *out = um_report_stream(s->args);

    if (s->args->common.json) {
        fputs("{\"key\": ", out);
        um_json_text(out, row->key);
        fprintf(out,
                ", \"bytes\": %" PRIu64 ", \"bytes_low\": %" PRIu64
                ", \"packets\": %" PRIu64 ", \"interval_start\": ",
                row->bytes, row->bytes_low, row->packets);
        print_time(out, s->start);
        fputs("}\n", out);
    } else if (s->a->csv) {
        if (!s->header)
            fputs("key,bytes,bytes_low,packets,interval_start\n", out);
        fprintf(out, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->key,
                row->bytes, row->bytes_low, row->packets);
        print_time(out, s->start);
        putc('\n', out);
    } else if (!s->args->common.quiet) {
        if (!s->header)
            fprintf(out, "%16s %16s %12s  %-20s  %s\n", "bytes at most",
                    "at least", "packets", "interval", "flow");
        time_t t = (time_t)(s->start / second);
        struct tm utc;
        char start[32];
        gmtime_r(&t, &utc);
        strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", &utc);
        fprintf(out, "%16s %16s %12s  %-20s  %s\n", um_grouped(row->bytes).text,
                um_grouped(row->bytes_low).text, um_grouped(row->packets).text,
                start, row->key);
    }
    s->header = true;
}

/* --- --exec ---------------------------------------------------------------
 */

/* Waits for commands to end, until at most `left` run. */
static void reap(run_state *s, size_t left)
{
    while (s->children) {
        pid_t pid = waitpid(-1, NULL, s->children > left ? 0 : WNOHANG);
        if (pid == 0 || (pid < 0 && errno != EINTR))
            return;
        if (pid > 0)
            s->children--;
    }
}

/* Starts the command for a row. */
static void start_command(run_state *s, const pk_flow_row *row)
{
    extern char **environ;
    char name[] = "sh", option[] = "-c";
    char *words[] = {name, option, strdup(s->a->exec), NULL};
    char bytes[24], packets[24], start[24];
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;

    snprintf(bytes, sizeof bytes, "%" PRIu64, row->bytes);
    snprintf(packets, sizeof packets, "%" PRIu64, row->packets);
    snprintf(start, sizeof start, "%" PRIu64, s->start / second);
    setenv("UMBEL_FLOW_KEY", row->key, 1);
    setenv("UMBEL_FLOW_BYTES", bytes, 1);
    setenv("UMBEL_FLOW_PACKETS", packets, 1);
    setenv("UMBEL_FLOW_START", start, 1);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    if (words[2] &&
        posix_spawn(&pid, "/bin/sh", NULL, &attributes, words, environ) == 0)
        s->children++;
    else
        s->not_run++;
    posix_spawnattr_destroy(&attributes);
    free(words[2]);
}

/* Runs the command for a row. Live it does not wait: too many at once are
 * counted, because packets would be lost meanwhile. */
static void run_command(run_state *s, const pk_flow_row *row)
{
    reap(s, s->a->interface ? MAX_CHILDREN : MAX_CHILDREN - 1);
    if (s->children < MAX_CHILDREN)
        start_command(s, row);
    else
        s->not_run++;
}

/* --- intervals ------------------------------------------------------------
 */

static void flush_batch(run_state *s)
{
    umbel_flows_add(s->flows, s->batch, s->n);
    s->n = 0;
}

/* Prints the rows of the interval, and begins the next one. */
static void end_interval(run_state *s, pk_source *source)
{
    umbel_flows_counts counts;
    pk_interval_end end;
    umbel_flow flow;
    pk_flow_row row;
    uint64_t drops = s->drops + pk_source_counts(source).drops;

    flush_batch(s);
    umbel_flows_count(s->flows, &counts);
    umbel_flows_sort(s->flows);
    end = (pk_interval_end){.start = (double)s->start / 1e9,
                            .seconds = (double)s->interval / 1e9,
                            .packets = counts.packets,
                            .bytes = counts.bytes,
                            .drops = drops - s->drops_before,
                            .unnamed = counts.unnamed};
    if (s->page)
        pk_page_begin(s->page);
    for (size_t i = 0; umbel_flows_row(s->flows, &i, &flow); end.rows++) {
        row = (pk_flow_row){.bytes = flow.bytes,
                            .bytes_low = flow.bytes_low,
                            .packets = flow.packets};
        print_key(&s->rule, &flow, row.key);
        print_row(s, &row);
        if (s->page)
            pk_page_row(s->page, &row);
        if (s->a->exec)
            run_command(s, &row);
    }
    if (s->page)
        pk_page_end(s->page, &end);
    if (s->a->interface)
        fflush(um_report_stream(s->args));
    s->unnamed += counts.unnamed;
    s->drops_before = drops;
    umbel_flows_begin(s->flows);
}

/* Ends the interval if the time belongs to a later one, and begins that. */
static void advance(run_state *s, pk_source *source, uint64_t now)
{
    if (s->begun && (!s->interval || now - s->start < s->interval))
        return;
    if (s->begun && now < s->start) {
        s->unordered++;
        return;
    }
    if (s->begun)
        end_interval(s, source);
    s->begun = true;
    s->start = s->interval ? now - now % s->interval : now;
}

static void count_packet(run_state *s, const pk_packet *p)
{
    umbel_flow_packet *to = &s->batch[s->n];
    pk_headers h;

    s->packets++;
    s->bytes += p->length;
    if (!pk_decode(p, &h)) {
        s->not_ip++;
        return;
    }
    if (h.fragment) {
        pk_fragments_apply(s->fragments, p, &h);
        s->no_ports += !h.first && !h.ports;
    }
    write_key(&s->rule, &h, to);
    to->bytes = p->length;
    to->packets = 1;
    if (++s->n == BATCH)
        flush_batch(s);
}

/* Ends an interval in which no packet comes any more. */
static void pass_time(run_state *s, pk_source *source)
{
    struct timespec now;
    uint64_t ns;

    clock_gettime(CLOCK_REALTIME, &now);
    ns = (uint64_t)now.tv_sec * second + (uint64_t)now.tv_nsec -
         GRACE_MS * UINT64_C(1000000);
    if (!s->begun || ns > s->start)
        advance(s, source, ns);
}

static umbel_status read_source(run_state *s, pk_source *source,
                                umbel_error *err)
{
    pk_event what = PK_PACKET;
    pk_packet p;

    while (!stopped) {
        UM_TRY(pk_next(source, &p, &what, err));
        if (what == PK_END)
            break;
        if (what == PK_IDLE) {
            pass_time(s, source);
            reap(s, MAX_CHILDREN);
            continue;
        }
        if (!s->begun || p.time - s->start >= s->interval)
            advance(s, source, p.time);
        count_packet(s, &p);
    }
    return UMBEL_OK;
}

/* --- the whole run --------------------------------------------------------
 */

static void report_totals(run_state *s, bool cut)
{
    um_report r = {0};

    um_report_count(&r, "packets", NULL, NULL, s->packets);
    um_report_count(&r, "bytes", NULL, NULL, s->bytes);
    um_report_count(&r, "kernel_drops", "dropped by kernel", NULL, s->drops);
    um_report_count(&r, "unnamed", "flows not named", NULL, s->unnamed);
    um_report_count(&r, "memory", NULL, "bytes", s->memory);
    um_report_count(&r, "not_ip", "packets not IP", NULL, s->not_ip);
    um_report_count(&r, "no_ports", "lone fragments", NULL, s->no_ports);
    um_report_count(&r, "unordered", "clock went back", NULL, s->unordered);
    if (s->a->exec)
        um_report_count(&r, "not_run", "commands not run", NULL, s->not_run);
    if (s->unnamed)
        um_report_note(&r, "The table was full: give more --memory, or a "
                           "higher --threshold; 'umbel plan --flows' computes "
                           "them.");
    if (cut)
        um_report_note(&r, "The capture ends in the middle of a packet; it was "
                           "read up to there.");
    if (s->a->csv && !s->args->common.json) {
        if (!s->args->common.quiet)
            um_report_to_text(stderr, &r);
    } else
        um_report_print(s->args, &r);
    um_report_fini(&r);
}

static umbel_status read_files(run_state *s, bool *cut, umbel_error *err)
{
    const um_list *inputs = &s->a->inputs;

    for (size_t i = 0; i < inputs->n && !stopped; i++) {
        pk_source *source = NULL;
        umbel_status status = pk_open_file(inputs->item[i], &source, err);
        if (!status)
            status = read_source(s, source, err);
        if (!status && i + 1 == inputs->n && s->begun)
            end_interval(s, source);
        if (source) {
            s->drops += pk_source_counts(source).drops;
            *cut |= pk_source_counts(source).cut;
        }
        pk_close(source);
        if (status)
            return um_name_file(status,
                                strcmp(inputs->item[i], "-") == 0
                                    ? "standard input"
                                    : inputs->item[i],
                                err);
    }
    return UMBEL_OK;
}

static umbel_status read_interface(run_state *s, umbel_error *err)
{
    struct sigaction action = {.sa_handler = stop};
    pk_source *source = NULL;

    UM_TRY(pk_open_live(s->a->interface, &(pk_live){0}, &source, err));
    umbel_status status =
        s->a->http
            ? pk_page_open(s->a->http, (double)s->interval / 1e9, &s->page, err)
            : UMBEL_OK;
    if (!status)
        status = pk_drop_privileges(s->a->user ? s->a->user : "nobody", err);
    if (!status && s->page)
        status = pk_page_start(s->page, err);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!status && !s->args->common.quiet) {
        fputs("ready: capturing", stderr);
        if (s->page)
            fprintf(stderr, " http://%s/", pk_page_address(s->page));
        putc('\n', stderr);
    }
    if (!status)
        status = read_source(s, source, err);
    if (!status && s->begun)
        end_interval(s, source);
    s->drops += pk_source_counts(source).drops;
    pk_close(source);
    return status;
}

/* Opens what counts, within the memory. */
static umbel_status open_counting(run_state *s, umbel_error *err)
{
    umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
    umbel_flows_plan plan;
    uint64_t memory = s->a->memory.given ? s->a->memory.n : 1 << 20;

    UM_TRY(parse_key(s->a->by ? s->a->by : "5tuple", &s->rule, err));
    p.threshold = default_threshold;
    if (s->a->threshold)
        UM_TRY(parse_threshold(s->a->threshold, &p, err));
    s->interval = default_interval;
    if (s->a->interval)
        UM_TRY(parse_interval(s->a->interval, &s->interval, err));
    if (s->a->http && s->interval < second)
        return um_fail(err, UMBEL_E_RANGE,
                       "--http needs an --interval of 1s or more");
    if (memory / 2 < UMBEL_FLOWS_FRAGMENTS)
        return um_fail(err, UMBEL_E_RANGE,
                       "--memory is at least %d bytes, for counting and for "
                       "the ports of fragments",
                       2 * UMBEL_FLOWS_FRAGMENTS);
    p.memory = memory - UMBEL_FLOWS_FRAGMENTS;
    p.seed = s->a->seed.n;
    if (s->a->interface && !s->a->seed.given &&
        getrandom(&p.seed, sizeof p.seed, 0) != sizeof p.seed)
        return um_fail_errno(err, "cannot draw a seed");
    UM_TRY(umbel_flows_plan_for(&p, 0, 0, &plan, err));
    s->memory = plan.memory + UMBEL_FLOWS_FRAGMENTS;
    if (s->a->http)
        s->memory += pk_page_memory((double)s->interval / 1e9);
    UM_TRY(umbel_flows_open(&p, &s->flows, err));
    return pk_fragments_open(&s->fragments, err);
}

static umbel_status run_flows(run_state *s, umbel_error *err)
{
    bool cut = false;

    if (!s->a->inputs.n == !s->a->interface)
        return um_fail(
            err, UMBEL_E_RANGE,
            s->a->interface ? "give files or --interface, not both"
                            : "give captures to read, - for standard input, or "
                              "--interface");
    UM_TRY(open_counting(s, err));
    UM_TRY(s->a->interface ? read_interface(s, err) : read_files(s, &cut, err));
    reap(s, 0);
    report_totals(s, cut);
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    run_state *s = calloc(1, sizeof *s);
    umbel_error err;

    if (!s)
        return um_misuse(args, "out of memory");
    s->args = args;
    s->a = args->values;
    umbel_status status = run_flows(s, &err);
    pk_page_close(s->page);
    umbel_flows_close(s->flows);
    pk_fragments_close(s->fragments);
    free(s);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command pk_cmd_flows = {
    .name = "packets flows",
    .summary = "name the flows above a threshold, in fixed memory",
    .values_len = sizeof(flows_args),
    .operands = {{"INPUT", UM_LIST, offsetof(flows_args, inputs), UM_INPUT,
                  .min = 0}},
    .options = {{.rows = options}},
    .run = run,
    .example = "capture.pcap --by src --threshold 10MB --interval 60s",
    .details = "INPUT is a pcap or pcapng file, or - for standard input. Each "
               "row is a flow: its bytes lie between \"at least\" and \"at "
               "most\". Every flow above the threshold has a row, unless the "
               "summary counts flows that were not named.",
};
