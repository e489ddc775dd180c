/*
 * flows.c - heavy flows of synthetic traffic, whose truth is known.
 *
 *     bench_flows write PACKETS FLOWS [SEED] > FILE    a pcap file
 *     bench_flows truth PACKETS FLOWS [SEED]           umbel_flows beside exact
 *                                                      counts
 *     bench_flows sketches PACKETS FLOWS [MEMORY...]   beside Space-Saving and
 *                                                      Count-Min with a heap
 *
 * Flow r of n has a share of the packets of about 1 / (r + 1): Zipf's law with
 * exponent 1. Packets have 60 to 1514 bytes. If descriptor 3 is open, write
 * prints the truth there: lines of key, bytes and packets, with tabs.
 */
#include "base/bits.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/rng.h"

#include <umbel/experimental/flows.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS = 54, BATCH = 64, TOP = 1000 };

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "bench_flows: %s\n", why);
    exit(2);
}

static void *zeros(size_t n, size_t size)
{
    void *memory = calloc(n, size);

    if (!memory)
        fail("no memory");
    return memory;
}

/* --- traffic --------------------------------------------------------------
 */

typedef struct traffic {
    um_rng rng;
    uint32_t n;
    double log_n;
    uint64_t *bytes, *packets; /* of each flow: the truth */
} traffic;

typedef struct packet {
    uint32_t flow, bytes;
} packet;

static traffic begin_traffic(uint64_t n, uint64_t seed)
{
    traffic t = {.rng = {seed}, .n = (uint32_t)n, .log_n = log((double)n + 1)};

    if (n < 1 || n > 100000000)
        fail("1 to 100,000,000 flows");
    t.bytes = zeros(n, sizeof *t.bytes);
    t.packets = zeros(n, sizeof *t.packets);
    return t;
}

static packet next_packet(traffic *t)
{
    double u = (double)(um_random(&t->rng) >> 11) * 0x1p-53;
    uint32_t flow = (uint32_t)(exp(u * t->log_n) - 1);
    uint64_t size = um_random(&t->rng);
    packet p = {.flow = flow < t->n ? flow : t->n - 1};

    /* Half of the packets are small. */
    p.bytes = size & 1 ? 60 : 60 + (uint32_t)um_scale(size, 1455);
    t->bytes[p.flow] += p.bytes;
    t->packets[p.flow]++;
    return p;
}

/* Writes the 5-tuple of a flow: source, destination, protocol, ports. */
static void write_key(uint32_t flow, uint8_t key[13])
{
    uint64_t x = um_mix(flow + UINT64_C(1));
    const uint8_t tuple[13] = {10,
                               (uint8_t)(flow >> 16),
                               (uint8_t)(flow >> 8),
                               (uint8_t)flow,
                               192,
                               0,
                               (uint8_t)(flow >> 24),
                               (uint8_t)x,
                               flow % 4 ? 6 : 17,
                               (uint8_t)(x >> 8),
                               (uint8_t)(x >> 16),
                               1,
                               187};
    memcpy(key, tuple, 13);
}

static umbel_flow_packet packet_of(packet p)
{
    umbel_flow_packet out = {.len = 13, .bytes = p.bytes, .packets = 1};

    write_key(p.flow, out.key);
    return out;
}

static uint32_t flow_of(const uint8_t *key)
{
    return (uint32_t)key[6] << 24 | (uint32_t)key[1] << 16 |
           (uint32_t)key[2] << 8 | key[3];
}

/* --- write: a capture -----------------------------------------------------
 */

static void write_frame(packet p, uint8_t frame[HEADERS])
{
    uint8_t key[13];

    write_key(p.flow, key);
    memset(frame, 0, HEADERS);
    frame[12] = 8;
    frame[14] = 0x45;
    frame[16] = (uint8_t)((p.bytes - 14) >> 8);
    frame[17] = (uint8_t)(p.bytes - 14);
    frame[22] = 64;
    frame[23] = key[8];
    memcpy(frame + 26, key, 8);
    memcpy(frame + 34, key + 9, 4);
    if (key[8] == 6)
        frame[46] = 0x50;
    else {
        frame[38] = (uint8_t)((p.bytes - 34) >> 8);
        frame[39] = (uint8_t)(p.bytes - 34);
    }
}

static void write_truth(const traffic *t, FILE *out)
{
    uint8_t k[13];

    for (uint32_t flow = 0; flow < t->n; flow++) {
        if (!t->packets[flow])
            continue;
        write_key(flow, k);
        fprintf(out,
                "%u.%u.%u.%u %u.%u.%u.%u %u %u %u\t%" PRIu64 "\t%" PRIu64 "\n",
                k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8],
                (unsigned)(k[9] << 8 | k[10]), (unsigned)(k[11] << 8 | k[12]),
                t->bytes[flow], t->packets[flow]);
    }
}

static int write_capture(traffic *t, uint64_t packets)
{
    /* Microseconds, 10 per packet; every packet is captured to its headers. */
    static const uint32_t header[6] = {0xA1B2C3D4, 0x00040002, 0,
                                       0,          HEADERS,    1};
    FILE *truth = fdopen(3, "w");
    uint8_t frame[HEADERS];

    fwrite(header, sizeof header, 1, stdout);
    for (uint64_t i = 0; i < packets; i++) {
        packet p = next_packet(t);
        uint32_t record[4] = {1700000000 + (uint32_t)(i / 100000),
                              (uint32_t)(i % 100000) * 10, HEADERS, p.bytes};
        write_frame(p, frame);
        fwrite(record, sizeof record, 1, stdout);
        fwrite(frame, sizeof frame, 1, stdout);
    }
    if (truth)
        write_truth(t, truth);
    return (truth && fclose(truth)) || fflush(stdout) ? 2 : 0;
}

/* --- truth: the library beside exact counts -------------------------------
 */

typedef struct measured {
    uint64_t rows, heavy, missed, under, below, below_half, worst;
    double mean; /* overestimate of heavy flows */
} measured;

static measured compare_rows(const umbel_flows *f, const traffic *t,
                             uint64_t threshold)
{
    bool *seen = zeros(t->n, sizeof *seen);
    measured m = {0};
    umbel_flow row;

    for (size_t i = 0; umbel_flows_row(f, &i, &row); m.rows++) {
        uint32_t flow = flow_of(row.key);
        uint64_t truth = t->bytes[flow];
        seen[flow] = true;
        m.under += row.bytes < truth || row.bytes_low > truth ||
                   row.packets < t->packets[flow];
        m.below += truth < threshold;
        m.below_half += truth < threshold / 2;
        m.worst = row.bytes - truth > m.worst ? row.bytes - truth : m.worst;
        m.mean += (double)(row.bytes - truth);
    }
    m.mean /= m.rows ? (double)m.rows : 1;
    for (uint32_t flow = 0; flow < t->n; flow++) {
        m.heavy += t->bytes[flow] >= threshold;
        m.missed += t->bytes[flow] >= threshold && !seen[flow];
    }
    free(seen);
    return m;
}

static int measure_truth(traffic *t, uint64_t packets)
{
    static const uint64_t memories[] = {1 << 18, 1 << 20, 1 << 22};
    enum { TRIED = sizeof memories / sizeof *memories };
    umbel_flows_params p[TRIED];
    umbel_flows *f[TRIED];
    umbel_flow_packet batch[BATCH];
    umbel_flows_counts counts;
    umbel_flows_plan plan;
    umbel_error err;
    int bad = 0;

    for (int i = 0; i < TRIED; i++) {
        p[i] = (umbel_flows_params)UMBEL_FLOWS_PARAMS_INIT;
        p[i].memory = memories[i];
        p[i].threshold = packets * 500 / 1000; /* 0.1 % of the bytes, about */
        if (umbel_flows_open(&p[i], &f[i], &err))
            fail(err.text);
    }
    for (uint64_t n = 0; n < packets; n += BATCH) {
        size_t len = packets - n < BATCH ? packets - n : BATCH;
        for (size_t i = 0; i < len; i++)
            batch[i] = packet_of(next_packet(t));
        for (int i = 0; i < TRIED; i++)
            umbel_flows_add(f[i], batch, len);
    }
    printf("%10s %10s %7s %7s %6s %6s %6s %12s %12s %12s %8s\n", "memory",
           "threshold", "heavy", "missed", "under", "below", "b/2", "over mean",
           "over worst", "plan: over", "unnamed");
    for (int i = 0; i < TRIED; i++) {
        measured m = compare_rows(f[i], t, p[i].threshold);
        umbel_flows_count(f[i], &counts);
        if (umbel_flows_plan_for(&p[i], counts.bytes, t->n, &plan, &err))
            fail(err.text);
        printf("%10" PRIu64 " %10" PRIu64 " %7" PRIu64 " %7" PRIu64 " %6" PRIu64
               " %6" PRIu64 " %6" PRIu64 " %12.0f %12" PRIu64
               " %12.0f %8" PRIu64 "\n",
               plan.memory, p[i].threshold, m.heavy, m.missed, m.under, m.below,
               m.below_half, m.mean, m.worst, plan.overestimate,
               counts.unnamed);
        bad |= m.missed || m.under || counts.unnamed ||
               (double)m.worst > plan.overestimate ||
               (double)m.below_half > plan.falsely_listed + 5;
        umbel_flows_close(f[i]);
    }
    puts(bad ? "NOT within the plan" : "within the plan");
    return bad;
}

/* --- sketches -------------------------------------------------------------
 */

/* Space-Saving (Metwally and others 2005): a heap of counters by count, and an
 * index by key. 40 bytes a counter with its share of the index. */
typedef struct counter {
    uint64_t count;
    uint32_t flow, slot;
} counter;

typedef struct space_saving {
    counter *heap;
    uint32_t *index; /* counter + 1; 0: free */
    size_t n, cap, nindex;
} space_saving;

static size_t home_of(size_t nindex, uint32_t flow)
{
    return (size_t)um_mix(flow + UINT64_C(77)) & (nindex - 1);
}

static size_t find_index(const space_saving *s, uint32_t flow)
{
    size_t i = home_of(s->nindex, flow);

    while (s->index[i] && s->heap[s->index[i] - 1].flow != flow)
        i = (i + 1) & (s->nindex - 1);
    return i;
}

static void place(space_saving *s, size_t at, counter c)
{
    s->heap[at] = c;
    s->index[c.slot] = (uint32_t)at + 1;
}

static void sift_down(space_saving *s, size_t at)
{
    counter c = s->heap[at];

    for (size_t child; (child = 2 * at + 1) < s->n; at = child) {
        if (child + 1 < s->n && s->heap[child + 1].count < s->heap[child].count)
            child++;
        if (s->heap[child].count >= c.count)
            break;
        place(s, at, s->heap[child]);
    }
    place(s, at, c);
}

static void sift_up(space_saving *s, size_t at)
{
    counter c = s->heap[at];

    for (; at && s->heap[(at - 1) / 2].count > c.count; at = (at - 1) / 2)
        place(s, at, s->heap[(at - 1) / 2]);
    place(s, at, c);
}

static void remove_index(space_saving *s, size_t hole)
{
    for (size_t i = (hole + 1) & (s->nindex - 1); s->index[i];
         i = (i + 1) & (s->nindex - 1)) {
        size_t home = home_of(s->nindex, s->heap[s->index[i] - 1].flow);
        if (((i - home) & (s->nindex - 1)) < ((i - hole) & (s->nindex - 1)))
            continue;
        s->index[hole] = s->index[i];
        s->heap[s->index[hole] - 1].slot = (uint32_t)hole;
        hole = i;
    }
    s->index[hole] = 0;
}

static void space_saving_add(space_saving *s, packet p)
{
    size_t i = find_index(s, p.flow);

    if (s->index[i]) {
        size_t at = s->index[i] - 1;
        s->heap[at].count += p.bytes;
        sift_down(s, at);
    } else if (s->n < s->cap) {
        s->heap[s->n] = (counter){p.bytes, p.flow, (uint32_t)i};
        s->index[i] = (uint32_t)++s->n;
        sift_up(s, s->n - 1);
    } else {
        uint64_t least = s->heap[0].count;
        remove_index(s, s->heap[0].slot);
        i = find_index(s, p.flow);
        s->heap[0] = (counter){least + p.bytes, p.flow, (uint32_t)i};
        s->index[i] = 1;
        sift_down(s, 0);
    }
}

/* Count-Min with conservative update, and the TOP flows by estimate in a
 * heap: the same Space-Saving heap, whose least is replaced only by more. */
typedef struct count_min {
    uint32_t *cells;
    uint64_t width;
    space_saving top;
} count_min;

static void count_min_add(count_min *c, packet p)
{
    uint64_t hash = um_mix(p.flow + UINT64_C(0x1234567)), more = um_mix(~hash);
    uint32_t *at[4], least = UINT32_MAX;
    const uint64_t words[4] = {hash, hash << 32, more, more << 32};

    for (uint64_t i = 0; i < 4; i++) {
        at[i] = c->cells + i * c->width + um_scale(words[i], c->width);
        least = *at[i] < least ? *at[i] : least;
    }
    least += p.bytes;
    for (int i = 0; i < 4; i++)
        if (*at[i] < least)
            *at[i] = least;
    size_t i = find_index(&c->top, p.flow);
    if (c->top.index[i]) {
        size_t k = c->top.index[i] - 1;
        c->top.heap[k].count = least;
        sift_down(&c->top, k);
    } else if (c->top.n < c->top.cap)
        space_saving_add(&c->top, (packet){p.flow, least});
    else if (least > c->top.heap[0].count) {
        c->top.heap[0].count = 0;
        space_saving_add(&c->top, (packet){p.flow, least});
    }
}

static space_saving open_counters(size_t cap)
{
    space_saving s = {.cap = cap, .nindex = um_map_cap(cap, 64)};

    s.heap = zeros(s.cap, sizeof *s.heap);
    s.index = zeros(s.nindex, sizeof *s.index);
    return s;
}

static uint64_t counted(const space_saving *s, uint32_t flow)
{
    size_t i = find_index(s, flow);

    return s->index[i] ? s->heap[s->index[i] - 1].count : 0;
}

static const traffic *sorted_traffic;

static int by_bytes(const void *a, const void *b)
{
    uint64_t x = sorted_traffic->bytes[*(const uint32_t *)a];
    uint64_t y = sorted_traffic->bytes[*(const uint32_t *)b];

    return (x < y) - (x > y);
}

/* Returns the flows, the heaviest first. */
static uint32_t *sort_flows(const traffic *t)
{
    uint32_t *order = zeros(t->n, sizeof *order);

    for (uint32_t i = 0; i < t->n; i++)
        order[i] = i;
    sorted_traffic = t;
    qsort(order, t->n, sizeof *order, by_bytes);
    return order;
}

static double error_of(uint64_t got, uint64_t truth)
{
    return got > truth ? (double)(got - truth) / (double)truth
                       : (double)(truth - got) / (double)truth;
}

/* A counter needs its key of 40 bytes, as an entry of umbel_flows does. */
enum { COUNTER_BYTES = 40 + 8 + 4 + 4 * 2 };

static void measure_sketches(uint64_t packets, uint64_t flows, uint64_t memory)
{
    traffic t = begin_traffic(flows, 1);
    umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
    umbel_flows *f = NULL;
    space_saving s = open_counters(memory / COUNTER_BYTES);
    count_min c = {.top = open_counters(TOP)};
    umbel_flow_packet one;
    umbel_flow row;
    umbel_error err;
    double errors[3] = {0}, missing[3] = {0};

    c.width = (memory - (uint64_t)TOP * COUNTER_BYTES) / 4 / sizeof *c.cells;
    c.cells = zeros(4 * c.width, sizeof *c.cells);
    p.memory = memory;
    p.threshold = packets * 500 / 10000; /* 0.01 % */
    if (umbel_flows_open(&p, &f, &err))
        fail(err.text);
    for (uint64_t i = 0; i < packets; i++) {
        packet x = next_packet(&t);
        one = packet_of(x);
        umbel_flows_add(f, &one, 1);
        space_saving_add(&s, x);
        count_min_add(&c, x);
    }
    uint32_t *order = sort_flows(&t);
    for (size_t i = 0; i < TOP && i < t.n; i++) {
        uint64_t truth = t.bytes[order[i]], got[3] = {0};
        one = packet_of((packet){order[i], 0});
        got[0] = umbel_flows_find(f, &one, &row) ? row.bytes : 0;
        got[1] = counted(&s, order[i]);
        got[2] = counted(&c.top, order[i]);
        for (int k = 0; k < 3; k++) {
            errors[k] += error_of(got[k], truth) / TOP;
            missing[k] += !got[k];
        }
    }
    printf("%10" PRIu64 " %14.6f %14.6f %14.6f   %4.0f %4.0f %4.0f\n", memory,
           errors[0], errors[1], errors[2], missing[0], missing[1], missing[2]);
    umbel_flows_close(f);
    free(s.heap);
    free(s.index);
    free(c.top.heap);
    free(c.top.index);
    free(c.cells);
    free(order);
    free(t.bytes);
    free(t.packets);
}

static int compare_sketches(uint64_t packets, uint64_t flows, int n,
                            char **memories)
{
    static const uint64_t usual[] = {1 << 18, 1 << 20, 1 << 22};

    puts("average relative error of the top 1,000 flows, and how many of them "
         "are missing");
    printf("%10s %14s %14s %14s   %s\n", "memory", "umbel flows",
           "Space-Saving", "Count-Min+heap", "missing");
    for (int i = 0; i < (n ? n : 3); i++)
        measure_sketches(packets, flows,
                         n ? strtoull(memories[i], NULL, 10) : usual[i]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        fail("write | truth | sketches, PACKETS, FLOWS");
    uint64_t packets = strtoull(argv[2], NULL, 10);
    uint64_t flows = strtoull(argv[3], NULL, 10);
    if (strcmp(argv[1], "sketches") == 0)
        return compare_sketches(packets, flows, argc - 4, argv + 4);
    if (strcmp(argv[1], "write") != 0 && strcmp(argv[1], "truth") != 0)
        fail("unknown mode");
    traffic t =
        begin_traffic(flows, argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
    int code = argv[1][0] == 'w' ? write_capture(&t, packets)
                                 : measure_truth(&t, packets);
    free(t.bytes);
    free(t.packets);
    return code;
}
