/*
 * witness_cli.c - umbel packets witness, which writes the slices of a router,
 * and umbel packets did, which asks the slices of one router or several.
 *
 * The digest of a packet is the same at all routers. An answer is wrong with
 * the error rate of the slice; a router that was asked in several slices has
 * that many chances to be wrong. With a topology, did follows the links from
 * the victim through routers that saw the packet: a router that answers yes but
 * is not connected in this way is listed without a number of hops, because its
 * answer is probably wrong.
 */
#include "base/bits.h"
#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "cli/framework/report.h"
#include "packets/capture/capture.h"
#include "packets/commands.h"
#include "packets/witness/witness.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BLOCK = 4096, /* packets that are asked together */
    DIGITS = 2 * PK_DIGEST_LEN,
    DEFAULT_CAPACITY = 1000000,
    LINE = 4096
};

static const uint64_t second = 1000000000;

/* Parses 60s, 5m, 24h or 7d to nanoseconds. */
static umbel_status parse_time(const char *text, const char *option,
                               uint64_t *out, umbel_error *err)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    size_t len = strlen(text);
    uint64_t n;

    for (size_t i = 0; i < UM_COUNT(units); i++)
        if (len > 1 && text[len - 1] == units[i].unit &&
            um_decimal_read(text, len - 1, UINT64_C(315360000), &n) &&
            n <= UINT64_C(315360000) / units[i].seconds) {
            *out = n * units[i].seconds * second;
            return UMBEL_OK;
        }
    return um_fail(err, UMBEL_E_RANGE,
                   "--%s %s: expected a time of at most 10 years with its "
                   "unit: 60s, 5m, 24h, 7d",
                   option, text);
}

static uint64_t real_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * second + (uint64_t)t.tv_nsec;
}

/* The digest of a packet. Sets *found to false if it is not IP. A packet that
 * was captured too short has no digest, and a witness that left it out would
 * deny it later. */
static umbel_status digest_packet(const pk_packet *p, uint64_t number,
                                  bool *found, uint64_t *digest,
                                  umbel_error *err)
{
    uint8_t invariant[PK_INVARIANT];
    pk_headers h;
    size_t n = 0;

    *found = false;
    if (pk_decode(p, &h))
        n = pk_invariant(p, &h, invariant);
    if (!n && p->captured < p->length && p->captured < 128)
        return um_fail(err, UMBEL_E_FORMAT,
                       "packet %" PRIu64 " was captured with %" PRIu32
                       " of its %" PRIu32 " bytes; a digest needs the headers "
                       "and 8 bytes of the payload: capture with "
                       "'tcpdump -s 128' or more",
                       number, p->captured, p->length);
    if (!n)
        return UMBEL_OK;
    *found = true;
    *digest = pk_digest(invariant, n);
    return UMBEL_OK;
}

/* --- witness -------------------------------------------------------------- */

typedef struct witness_args {
    const char *input, *interface, *dir, *slice, *keep, *router, *user;
    um_whole capacity, max_disk, seed;
    um_share fpr;
} witness_args;

static const um_option witness_options[] = {
    {"interface", 'i', "IF", "capture the packets of this interface",
     UM_TARGET(witness_args, interface)},
    {"dir", 0, "DIR", "directory of the slices; created if it is missing",
     UM_TARGET(witness_args, dir), .required = true},
    {"slice", 0, "TIME", "length of a slice (60s)",
     UM_TARGET(witness_args, slice)},
    {"keep", 0, "TIME", "remove slices that are older (24h)",
     UM_TARGET(witness_args, keep)},
    {"max-disk", 0, "BYTES", "remove the oldest slices above this size",
     UM_TARGET(witness_args, max_disk), .low = 1, .high = 1e18},
    {"fpr", 0, "P", "error rate of a slice (0.001)",
     UM_TARGET(witness_args, fpr)},
    {"capacity", 0, "N",
     "packets of a slice (1M); more begin another one. Sets the memory",
     UM_TARGET(witness_args, capacity), .low = PK_CAPACITY_MIN,
     .high = PK_CAPACITY_MAX},
    {"router", 0, "NAME", "name in the answers (the name of DIR)",
     UM_TARGET(witness_args, router)},
    {"seed", 0, "S", "same input, same files; without it seeds are random",
     UM_TARGET(witness_args, seed)},
    {"user", 0, "NAME", "become this user once the interface is open (nobody)",
     UM_TARGET(witness_args, user), .needs = "interface"},
    {0}};

static volatile sig_atomic_t interrupted, cut_requested;

static void note_signal(int number)
{
    if (number == SIGUSR1)
        cut_requested = 1;
    else
        interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = note_signal};

    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGUSR1, &a, NULL);
}

typedef struct witness_run {
    pk_source *source;
    pk_witness *witness;
    uint64_t skipped; /* not IP */
} witness_run;

static umbel_status witness_packet(witness_run *r, const pk_packet *p,
                                   umbel_error *err)
{
    uint64_t digest;
    bool found;

    UM_TRY(digest_packet(p, r->source->counts.packets, &found, &digest, err));
    if (!found) {
        r->skipped++;
        return UMBEL_OK;
    }
    return pk_witness_add(r->witness, digest, p->time, err);
}

static umbel_status witness_all(witness_run *r, umbel_error *err)
{
    pk_event what = PK_IDLE;
    pk_packet p;

    while (what != PK_END && !interrupted) {
        UM_TRY(pk_next(r->source, &p, &what, err));
        if (what == PK_PACKET)
            UM_TRY(witness_packet(r, &p, err));
        else if (what == PK_IDLE)
            UM_TRY(pk_witness_tick(r->witness, real_time(), err));
        if (cut_requested) {
            cut_requested = 0;
            UM_TRY(pk_witness_cut(r->witness, err));
        }
    }
    return pk_witness_cut(r->witness, err);
}

static void report_witness(const witness_run *r, um_report *report)
{
    pk_witness_counts c = pk_witness_count(r->witness);
    pk_counts source = pk_source_counts(r->source);

    um_report_count(report, "packets", NULL, NULL, c.packets);
    um_report_count(report, "not_ip", "not IP", NULL, r->skipped);
    um_report_count(report, "kernel_drops", "dropped before capture", NULL,
                    source.drops);
    um_report_count(report, "slices", NULL, NULL, c.slices);
    um_report_count(report, "overflows", "slices that were full", NULL,
                    c.overflows);
    um_report_count(report, "late", "earlier than their slice", NULL, c.late);
    um_report_count(report, "removed", "slices removed", NULL, c.removed);
    um_report_count(report, "disk", NULL, "bytes", c.disk);
    if (c.stored) {
        um_report_real(report, "open_bytes", "bytes a packet, open slice", NULL,
                       c.open_bytes);
        um_report_real(report, "closed_bytes", "bytes a packet, closed", NULL,
                       (double)c.disk / (double)c.stored);
    }
    um_report_count(report, "memory", NULL, "bytes",
                    pk_witness_memory(r->witness));
    if (source.cut)
        um_report_note(report, "The capture ends in the middle of a packet.");
}

/* Returns the last part of a path, without slashes at its end. */
static void name_of_dir(const char *dir, char out[PK_ROUTER_LEN + 1])
{
    size_t end = strlen(dir), begin;

    while (end > 1 && dir[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && dir[begin - 1] != '/'; begin--)
        ;
    snprintf(out, PK_ROUTER_LEN + 1, "%.*s", (int)(end - begin), dir + begin);
}

static umbel_status witness_config(const witness_args *a,
                                   char router[PK_ROUTER_LEN + 1],
                                   pk_witness_config *c, umbel_error *err)
{
    if (!a->input == !a->interface)
        return um_fail(err, UMBEL_E_RANGE,
                       "name one capture file, or --interface IF");
    name_of_dir(a->dir, router);
    *c = (pk_witness_config){.dir = a->dir,
                             .router = a->router ? a->router : router,
                             .max_disk = a->max_disk.n,
                             .capacity = a->capacity.given ? a->capacity.n
                                                           : DEFAULT_CAPACITY,
                             .fpr = a->fpr.given ? a->fpr.x : 0.001,
                             .seeded = a->seed.given,
                             .seed = a->seed.n};
    UM_TRY(parse_time(a->slice ? a->slice : "60s", "slice", &c->slice, err));
    UM_TRY(parse_time(a->keep ? a->keep : "24h", "keep", &c->keep, err));
    if (c->slice == 0 || c->keep < c->slice)
        return um_fail(err, UMBEL_E_RANGE,
                       "--slice must be at least 1s, and --keep not shorter "
                       "than --slice");
    return UMBEL_OK;
}

static umbel_status open_witness(const witness_args *a,
                                 const pk_witness_config *c, witness_run *r,
                                 umbel_error *err)
{
    const pk_live live = {.snap = 0};

    if (a->input)
        UM_TRY(pk_open_file(a->input, &r->source, err));
    else
        UM_TRY(pk_open_live(a->interface, &live, &r->source, err));
    if (a->interface)
        UM_TRY(pk_drop_privileges(a->user ? a->user : "nobody", err));
    return pk_witness_open(c, &r->witness, err);
}

static int run_witness(const um_args *args)
{
    const witness_args *a = args->values;
    char router[PK_ROUTER_LEN + 1];
    witness_run r = {.skipped = 0};
    um_report report = {0};
    pk_witness_config c;
    umbel_error err;
    umbel_status status = witness_config(a, router, &c, &err);

    if (!status)
        status = open_witness(a, &c, &r, &err);
    if (!status) {
        catch_signals();
        if (a->interface)
            fprintf(stderr, "umbel packets witness: ready\n");
        status = witness_all(&r, &err);
    }
    if (!status) {
        report_witness(&r, &report);
        um_report_print(args, &report);
    }
    um_report_fini(&report);
    pk_witness_close(r.witness);
    pk_close(r.source);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command pk_cmd_witness = {
    .name = "packets witness",
    .summary = "record which packets passed, by time slices",
    .values_len = sizeof(witness_args),
    .operands = {{"INPUT", UM_TEXT, offsetof(witness_args, input), UM_INPUT,
                  .example = "router.pcap"}},
    .options = {{.rows = witness_options}},
    .run = run_witness,
    .example = "router.pcap --dir r7 --slice 60s --keep 24h",
    .details =
        "A packet is recorded by a digest of the header fields that routers "
        "do not change and the first 8 bytes of the payload. Address "
        "translation and tunnels change them: such packets are not found "
        "behind the device. With --interface it runs until SIGINT or SIGTERM; "
        "SIGUSR1 ends the open slice.",
};

/* --- did ------------------------------------------------------------------ */

typedef struct did_args {
    um_list operands;
    const char *skew, *topology;
    bool summary;
} did_args;

static const um_option did_options[] = {
    {"skew", 0, "TIME", "largest difference between clocks (5s)",
     UM_TARGET(did_args, skew)},
    {"topology", 0, "FILE",
     "links between the routers: number the hops from the victim",
     UM_TARGET(did_args, topology), .role = UM_INPUT, .excludes = "summary"},
    {"summary", 0, NULL, "count the packets that each router saw",
     UM_TARGET(did_args, summary)},
    {0}};

typedef struct question {
    uint64_t digest, time;
} question;

typedef struct router {
    const char *dir;
    pk_slice *slices; /* that may have seen a packet */
    size_t n, cap;
    uint32_t node;        /* in the topology; its n: not there */
    uint64_t asked, seen; /* packets */
    double expected;      /* packets seen by chance, if none passed */
    /* For the packet that is being printed: */
    double right; /* probability that every no is right */
    bool hit;
} router;

typedef struct inquiry {
    question *questions;
    size_t n, cap;
    bool timed; /* the times of the packets are known */
    uint64_t skew;
    router *routers;
    size_t nrouters, nslices, files;
    const char *empty; /* the first directory without slices */
    size_t nempty;
    pk_topology topology;
    uint32_t *hop;         /* of a node, from 1; 0: not reached */
    uint32_t *queue;       /* nodes */
    uint8_t *hits, *asked; /* a bit for each slice and packet of a block */
    size_t seen;
} inquiry;

static umbel_status read_questions(inquiry *q, const char *path,
                                   umbel_error *err)
{
    pk_event what = PK_PACKET;
    umbel_status status = UMBEL_OK;
    pk_source *source;
    pk_packet p;

    UM_TRY(pk_open_file(path, &source, err));
    while (!(status = pk_next(source, &p, &what, err)) && what != PK_END) {
        question next = {.time = p.time};
        bool found;
        status = digest_packet(&p, source->counts.packets, &found, &next.digest,
                               err);
        if (!status && found &&
            !um_array_reserve(&q->questions, &q->cap, q->n + 1,
                              sizeof *q->questions))
            status = um_no_memory(err, q->cap * sizeof *q->questions);
        if (status)
            break;
        if (found)
            q->questions[q->n++] = next;
    }
    pk_close(source);
    q->timed = true;
    if (!status && q->n == 0)
        status = um_fail(err, UMBEL_E_FORMAT, "%s: no IP packets", path);
    return status;
}

/* Reads the packets, or the digest. */
static umbel_status ask_what(inquiry *q, const char *what, umbel_error *err)
{
    uint8_t bytes[PK_DIGEST_LEN];
    uint64_t digest = 0;

    if (strlen(what) != DIGITS || !um_hex_decode(what, DIGITS, bytes))
        return read_questions(q, what, err);
    for (size_t i = 0; i < sizeof bytes; i++)
        digest = digest << 8 | bytes[i];
    q->questions = malloc(sizeof *q->questions);
    if (!q->questions)
        return um_no_memory(err, sizeof *q->questions);
    q->questions[q->n++] = (question){.digest = digest};
    return UMBEL_OK;
}

/* Returns true if a packet of this time may be in the slice. */
static bool covers(const inquiry *q, const pk_slice *s, uint64_t time)
{
    const pk_slice_facts *f = &s->facts;

    return !q->timed || ((f->from <= q->skew || time >= f->from - q->skew) &&
                         (time <= q->skew || time - q->skew <= f->to));
}

static bool covers_any(const inquiry *q, const pk_slice *s)
{
    for (size_t i = 0; i < q->n; i++)
        if (covers(q, s, q->questions[i].time))
            return true;
    return false;
}

/* Opens a slice if a packet may be in it, and only then reads its cells. */
static umbel_status open_slice(inquiry *q, router *r, const char *name,
                               umbel_error *err)
{
    char path[LINE];
    pk_slice slice;

    snprintf(path, sizeof path, "%s/%s", r->dir, name);
    UM_TRY(pk_slice_open(path, false, &slice, err));
    bool needed = covers_any(q, &slice);
    pk_slice_fini(&slice);
    if (!needed)
        return UMBEL_OK;
    UM_TRY(pk_slice_open(path, true, &slice, err));
    if (r->n && strcmp(slice.facts.router, r->slices[0].facts.router) != 0) {
        umbel_status status = um_fail(
            err, UMBEL_E_MISMATCH,
            "%s%s: has slices of the routers %s and %s: give each router a "
            "directory",
            um_path_dots(r->dir), um_path_tail(r->dir),
            r->slices[0].facts.router, slice.facts.router);
        pk_slice_fini(&slice);
        return status;
    }
    if (!um_array_reserve(&r->slices, &r->cap, r->n + 1, sizeof *r->slices)) {
        pk_slice_fini(&slice);
        return um_no_memory(err, r->cap * sizeof *r->slices);
    }
    r->slices[r->n++] = slice;
    return UMBEL_OK;
}

static umbel_status open_router(inquiry *q, router *r, umbel_error *err)
{
    pk_slice_names names = {0};
    umbel_status status = pk_slices_list(r->dir, &names, err);

    if (!status && names.n == 0 && q->nempty++ == 0)
        q->empty = r->dir;
    q->files += names.n;
    for (size_t i = 0; !status && i < names.n; i++)
        status = open_slice(q, r, names.name[i], err);
    pk_slice_names_fini(&names);
    r->node = q->topology.n;
    if (!status && r->n && q->topology.n)
        r->node = pk_topology_find(&q->topology, r->slices[0].facts.router);
    q->nslices += r->n;
    return status;
}

static umbel_status open_routers(inquiry *q, const did_args *a,
                                 umbel_error *err)
{
    size_t n = a->operands.n - 1;

    if (a->topology)
        UM_TRY(pk_topology_load(a->topology, &q->topology, err));
    q->hop = calloc(q->topology.n + 1u, sizeof *q->hop);
    q->queue = calloc(q->topology.n + 1u, sizeof *q->queue);
    q->routers = calloc(n, sizeof *q->routers);
    if (!q->routers || !q->hop || !q->queue)
        return um_no_memory(err, n * sizeof *q->routers);
    for (; q->nrouters < n;) {
        router *r = &q->routers[q->nrouters++];
        r->dir = a->operands.item[q->nrouters - 1];
        UM_TRY(open_router(q, r, err));
    }
    if (q->files == 0)
        return um_fail(err, UMBEL_E_IO,
                       "no slices to ask: name the directories that 'umbel "
                       "packets witness --dir' wrote");
    q->hits = malloc(q->nslices * (BLOCK / 8) + 1);
    q->asked = malloc(q->nslices * (BLOCK / 8) + 1);
    if (!q->hits || !q->asked)
        return um_no_memory(err, q->nslices * (BLOCK / 8));
    return UMBEL_OK;
}

/* Asks a slice for those packets of a block that it may contain. */
static umbel_status ask_slice(const inquiry *q, const pk_slice *s, size_t at,
                              size_t n, uint8_t *asked, uint8_t *hits,
                              umbel_error *err)
{
    uint64_t digests[BLOCK];
    uint16_t which[BLOCK];
    bool hit[BLOCK];
    size_t some = 0;

    for (size_t i = 0; i < n; i++)
        if (covers(q, s, q->questions[at + i].time)) {
            which[some] = (uint16_t)i;
            digests[some++] = q->questions[at + i].digest;
        }
    UM_TRY(pk_slice_query(s, digests, some, hit, err));
    for (size_t i = 0; i < some; i++) {
        um_set_bit(asked, which[i]);
        if (hit[i])
            um_set_bit(hits, which[i]);
    }
    return UMBEL_OK;
}

static umbel_status ask_block(inquiry *q, size_t at, size_t n, umbel_error *err)
{
    uint8_t *asked = q->asked, *hits = q->hits;

    memset(asked, 0, q->nslices * (BLOCK / 8));
    memset(hits, 0, q->nslices * (BLOCK / 8));
    for (size_t i = 0; i < q->nrouters; i++)
        for (size_t j = 0; j < q->routers[i].n; j++) {
            UM_TRY(ask_slice(q, &q->routers[i].slices[j], at, n, asked, hits,
                             err));
            asked += BLOCK / 8;
            hits += BLOCK / 8;
        }
    return UMBEL_OK;
}

/* Collects what the routers answered about packet i of a block. Returns true if
 * one saw it. */
static bool collect(inquiry *q, size_t i)
{
    const uint8_t *asked = q->asked, *hits = q->hits;
    bool seen = false;

    for (size_t k = 0; k < q->nrouters; k++) {
        router *r = &q->routers[k];
        bool any = false;
        r->right = 1;
        r->hit = false;
        for (size_t j = 0; j < r->n; j++) {
            if (um_bit(asked, i)) {
                any = true;
                r->right *= 1 - r->slices[j].error;
                r->hit |= um_bit(hits, i);
            }
            asked += BLOCK / 8;
            hits += BLOCK / 8;
        }
        r->asked += any;
        r->seen += r->hit;
        r->expected += 1 - r->right;
        seen |= r->hit;
    }
    return seen;
}

/* Numbers the routers that saw the packet by their distance from the victim,
 * through routers that saw it, too. */
static void number_hops(inquiry *q)
{
    const pk_topology *t = &q->topology;
    uint32_t head = 0, tail = 0, *hop = q->hop;

    /* Marks those that may be reached. */
    for (uint32_t i = 0; i < t->n; i++)
        hop[i] = UINT32_MAX;
    for (size_t k = 0; k < q->nrouters; k++)
        if (q->routers[k].hit && q->routers[k].node < t->n)
            hop[q->routers[k].node] = 0;
    for (uint32_t i = 0; i < t->nvictims; i++)
        if (hop[t->victims[i]] == 0) {
            hop[t->victims[i]] = 1;
            q->queue[tail++] = t->victims[i];
        }
    for (; head < tail; head++)
        for (uint32_t j = t->first[q->queue[head]];
             j < t->first[q->queue[head] + 1]; j++)
            if (hop[t->link[j]] == 0) {
                hop[t->link[j]] = hop[q->queue[head]] + 1;
                q->queue[tail++] = t->link[j];
            }
    for (uint32_t i = 0; i < t->n; i++)
        hop[i] = hop[i] == UINT32_MAX ? 0 : hop[i];
}

static uint32_t hop_of(const inquiry *q, const router *r)
{
    return r->node < q->topology.n ? q->hop[r->node] : 0;
}

static void print_row(const um_args *args, const inquiry *q, const router *r,
                      const pk_slice *s, uint64_t digest)
{
    FILE *out = um_report_stream(args);
    const pk_slice_facts *f = &s->facts;
    uint32_t hop = hop_of(q, r);

    if (args->common.quiet)
        return;
    if (!args->common.json) {
        fprintf(out, "%016" PRIx64 " %s %.9f %.9f %.3g", digest, f->router,
                (double)f->from / 1e9, (double)f->to / 1e9, 1 - r->right);
        if (q->topology.n)
            fprintf(out, hop ? " hop %" PRIu32 : " off the path", hop);
        fprintf(out, "\n");
        return;
    }
    fprintf(out, "{\"digest\": \"%016" PRIx64 "\"", digest);
    um_json_field(out, 1, "router", f->router);
    fprintf(out,
            ", \"from\": %" PRIu64 ".%09" PRIu64 ", \"to\": %" PRIu64
            ".%09" PRIu64 ", \"error\": ",
            f->from / second, f->from % second, f->to / second, f->to % second);
    um_json_real(out, 1 - r->right);
    if (q->topology.n && hop)
        fprintf(out, ", \"hop\": %" PRIu32, hop);
    else if (q->topology.n)
        fprintf(out, ", \"hop\": null");
    fprintf(out, "}\n");
}

static void print_router(const um_args *args, const inquiry *q, size_t k,
                         size_t first_slice, size_t i, uint64_t digest)
{
    const router *r = &q->routers[k];

    for (size_t j = 0; j < r->n; j++)
        if (um_bit(q->hits + (first_slice + j) * (BLOCK / 8), i))
            print_row(args, q, r, &r->slices[j], digest);
}

/* Prints the rows of a packet: by hops, then those off the path. */
static void print_packet(const um_args *args, inquiry *q, size_t i,
                         uint64_t digest)
{
    uint32_t last = 0;

    if (q->topology.n)
        number_hops(q);
    for (size_t k = 0; k < q->nrouters; k++)
        if (hop_of(q, &q->routers[k]) > last)
            last = hop_of(q, &q->routers[k]);
    for (uint32_t hop = 1; hop <= last + 1; hop++) {
        size_t slice = 0;
        for (size_t k = 0; k < q->nrouters; slice += q->routers[k++].n)
            if (hop_of(q, &q->routers[k]) == (hop <= last ? hop : 0))
                print_router(args, q, k, slice, i, digest);
    }
}

static void print_summary(const um_args *args, const inquiry *q)
{
    um_report *rows = calloc(q->nrouters, sizeof *rows);

    for (size_t k = 0; rows && k < q->nrouters; k++) {
        const router *r = &q->routers[k];
        um_report_text(&rows[k], "router", NULL,
                       r->n ? r->slices[0].facts.router : r->dir);
        um_report_count(&rows[k], "packets", NULL, NULL, q->n);
        um_report_count(&rows[k], "asked", NULL, NULL, r->asked);
        um_report_count(&rows[k], "seen", NULL, NULL, r->seen);
        um_report_real(&rows[k], "expected_false", "expected false", NULL,
                       r->expected);
    }
    if (rows)
        um_report_print_table(args, rows, q->nrouters);
    for (size_t k = 0; rows && k < q->nrouters; k++)
        um_report_fini(&rows[k]);
    free(rows);
}

static umbel_status answer(const um_args *args, inquiry *q, bool summary,
                           umbel_error *err)
{
    for (size_t at = 0; at < q->n; at += BLOCK) {
        size_t n = q->n - at < BLOCK ? q->n - at : BLOCK;
        UM_TRY(ask_block(q, at, n, err));
        for (size_t i = 0; i < n; i++) {
            bool seen = collect(q, i);
            q->seen += seen;
            if (seen && !summary)
                print_packet(args, q, i, q->questions[at + i].digest);
        }
    }
    if (summary)
        print_summary(args, q);
    return UMBEL_OK;
}

static void inquiry_fini(inquiry *q)
{
    for (size_t k = 0; k < q->nrouters; k++) {
        for (size_t j = 0; j < q->routers[k].n; j++)
            pk_slice_fini(&q->routers[k].slices[j]);
        free(q->routers[k].slices);
    }
    free(q->routers);
    free(q->questions);
    free(q->hits);
    free(q->asked);
    free(q->hop);
    free(q->queue);
    pk_topology_fini(&q->topology);
}

static int run_did(const um_args *args)
{
    const did_args *a = args->values;
    inquiry q = {.n = 0};
    umbel_error err;
    umbel_status status =
        parse_time(a->skew ? a->skew : "5s", "skew", &q.skew, &err);

    if (!status)
        status = ask_what(&q, a->operands.item[a->operands.n - 1], &err);
    if (!status)
        status = open_routers(&q, a, &err);
    if (!status)
        status = answer(args, &q, a->summary, &err);
    if (!status && q.nempty)
        um_warn(args,
                "%zu of the directories have no slices, the first is %s%s",
                q.nempty, um_path_dots(q.empty), um_path_tail(q.empty));
    if (!status && !args->common.quiet && !a->summary && q.seen < q.n)
        fprintf(stderr,
                "umbel packets did: %zu of %zu packets were seen by no "
                "router\n",
                q.n - q.seen, q.n);
    int code = q.seen ? UM_EXIT_FINE : UM_EXIT_NO;
    inquiry_fini(&q);
    return status ? um_trouble(args, &err) : code;
}

const um_command pk_cmd_did = {
    .name = "packets did",
    .summary = "ask which routers a packet passed",
    .values_len = sizeof(did_args),
    .operands = {{"DIR... FILE|HEX", UM_LIST, offsetof(did_args, operands),
                  .min = 2}},
    .options = {{.rows = did_options}},
    .run = run_did,
    .example = "r7 r8 attack.pcap --topology links",
    .details =
        "FILE is a capture with the packets; their times choose the slices. A "
        "digest of 16 hexadecimal digits is asked in all slices. The exit "
        "code is 0 if a router saw one of the packets, otherwise 1.",
};
