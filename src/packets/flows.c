/*
 * flows.c - heavy flows: a table of keys behind a multistage filter.
 *
 * A packet whose flow has an entry is added to the entry, exactly, and not to
 * the filter (shielding). Any other packet is added to one cell in each stage:
 * the least of them bounds what its flow has sent, and no cell is raised above
 * what that bound requires (conservative update). When the bound reaches the
 * entry level, the flow gets an entry, which records the bound as excess and
 * counts exactly from there:
 *
 *     entry   counted bytes and packets | excess of each | key      64 bytes
 *     cell    bytes, packets                                         8 bytes
 *     truth   counted <= truth <= counted + excess
 *
 * The entry level adapts to the table. It starts far below the threshold, so
 * that flows are known early and exactly. Whenever the table is full, the level
 * doubles, and the flows below it lose their entries: their bounds go back to
 * the filter, so that no count is ever too low. At the threshold the level
 * stops. If the table is full then, flows that reach the threshold are not
 * named; a HyperLogLog sketch counts them.
 *
 * No cell exceeds what it had in a filter without entries and conservative
 * update, where every packet adds to its cells: after a return to the filter
 * because the bound was one of that filter, too. So its noise, the traffic that
 * other flows bring to a cell, has the mean traffic / cells, and by Markov's
 * inequality the bound is too high by x or more with probability at most
 * (traffic / (cells x))^stages. umbel_flows_plan_for computes with that.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/rng.h"

#include <umbel/experimental/flows.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    STAGES = 4,
    BATCH = 16,       /* packets whose memory is fetched together */
    REGISTERS = 4096, /* of the sketch of unnamed flows */
    REGISTER_BITS = 12,
    KEY = UMBEL_FLOW_KEY + 1, /* with its length */
    LOWEST_SHARE = 1024       /* threshold / the lowest entry level */
};

/* Cells have 32 bits; a bound below this cannot overflow by one packet's
 * bytes. */
#define CELL_FULL UINT32_MAX
#define HIGHEST_LEVEL (UINT32_C(1) << 31)

static const uint64_t default_memory = 1 << 20, least_memory = 1 << 16;

typedef struct cell {
    uint32_t bytes, packets;
} cell;

typedef struct entry {
    uint64_t bytes, packets; /* counted */
    uint32_t excess_bytes, excess_packets;
    uint8_t key[KEY]; /* its length first, like a umbel_flow_packet */
} entry;

struct umbel_flows {
    uint64_t threshold, level, highest, seed;
    bool by_packets;
    bool full;       /* every entry is one of a flow above the threshold */
    uint64_t *index; /* tag and number + 1 of an entry; 0: free */
    size_t nindex;
    entry *entries;
    size_t n, cap;
    cell *cells; /* stage after stage */
    uint64_t width;
    uint64_t packets, bytes, unnamed;
    uint8_t registers[REGISTERS];
};

/* --- the table ------------------------------------------------------------
 */

static bool index_is_free(const void *slot)
{
    return *(const uint64_t *)slot == 0;
}

static uint64_t tag_of(uint64_t hash)
{
    return hash >> 32 << 32;
}

/* A key that is looked up. */
typedef struct wanted {
    const uint8_t *key; /* KEY bytes */
    uint64_t tag;
} wanted;

static inline bool index_has(const void *ctx, const void *slot, const void *key)
{
    const umbel_flows *f = ctx;
    const wanted *w = key;
    uint64_t x = *(const uint64_t *)slot;

    return tag_of(x) == w->tag &&
           memcmp(f->entries[(uint32_t)x - 1].key, w->key, KEY) == 0;
}

/* Returns the key of a packet with its length, which is the first byte. */
static inline const uint8_t *key_of(const umbel_flow_packet *p)
{
    return (const uint8_t *)p;
}

static uint64_t hash_key(const umbel_flows *f, const uint8_t *key)
{
    return um_xxh3(key, key[0] + 1u, f->seed);
}

static const um_map_rule index_rule = {
    .size = sizeof(uint64_t), .is_free = index_is_free, .has_key = index_has};

static inline uint64_t *find_slot(const umbel_flows *f, const uint8_t *key,
                                  uint64_t hash)
{
    wanted w = {key, tag_of(hash)};

    return um_map_find(&index_rule, f, f->index, f->nindex, hash, &w);
}

static void index_entry(umbel_flows *f, size_t i)
{
    uint64_t hash = hash_key(f, f->entries[i].key);

    *find_slot(f, f->entries[i].key, hash) = tag_of(hash) | (i + 1);
}

static inline uint64_t bytes_bound(const entry *e)
{
    return e->bytes + e->excess_bytes;
}

static inline uint64_t packets_bound(const entry *e)
{
    return e->packets + e->excess_packets;
}

/* Returns the bound in the threshold's unit. */
static inline uint64_t bound_of(const umbel_flows *f, const entry *e)
{
    return f->by_packets ? packets_bound(e) : bytes_bound(e);
}

/* --- the filter -----------------------------------------------------------
 */

static inline void find_cells(const umbel_flows *f, uint64_t hash,
                              cell *at[STAGES])
{
    uint64_t more = um_mix(hash);
    const uint64_t words[STAGES] = {hash << 32,
                                    more & UINT64_C(0xFFFFFFFF00000000),
                                    more << 32, um_remix(hash)};

    for (uint64_t i = 0; i < STAGES; i++)
        at[i] = f->cells + i * f->width + um_scale(words[i], f->width);
}

static uint32_t limited(uint64_t x)
{
    return x < CELL_FULL ? (uint32_t)x : CELL_FULL;
}

/* Raises the cells of a flow to a bound. */
static inline void raise_cells(cell *const at[STAGES], uint32_t bytes,
                               uint32_t packets)
{
    for (int i = 0; i < STAGES; i++) {
        if (at[i]->bytes < bytes)
            at[i]->bytes = bytes;
        if (at[i]->packets < packets)
            at[i]->packets = packets;
    }
}

/* Returns the least of the cells: a bound of what the flow has sent. */
static inline cell least_of(cell *const at[STAGES])
{
    cell least = *at[0];

    for (int i = 1; i < STAGES; i++) {
        if (at[i]->bytes < least.bytes)
            least.bytes = at[i]->bytes;
        if (at[i]->packets < least.packets)
            least.packets = at[i]->packets;
    }
    return least;
}

/* Returns an entry's bounds to the filter, which forgets the key. */
static void return_to_filter(umbel_flows *f, const entry *e)
{
    cell *at[STAGES];

    find_cells(f, hash_key(f, e->key), at);
    raise_cells(at, (uint32_t)bytes_bound(e), (uint32_t)packets_bound(e));
}

/* --- entries --------------------------------------------------------------
 */

/* Retains the entries for which stays is true, in their order. */
static void rebuild(umbel_flows *f, bool (*stays)(umbel_flows *f, entry *e))
{
    size_t n = 0;

    memset(f->index, 0, f->nindex * sizeof *f->index);
    for (size_t i = 0; i < f->n; i++)
        if (stays(f, &f->entries[i])) {
            f->entries[n] = f->entries[i];
            index_entry(f, n++);
        }
    f->n = n;
}

/* An entry below the level goes, unless its bound does not fit into cells. */
static bool reaches_level(umbel_flows *f, entry *e)
{
    if (bound_of(f, e) >= f->level || bytes_bound(e) >= CELL_FULL ||
        packets_bound(e) >= CELL_FULL)
        return true;
    return_to_filter(f, e);
    return false;
}

/* Makes space for an entry; returns false if every entry must stay. */
static bool reserve_entry(umbel_flows *f)
{
    while (f->n == f->cap && !f->full) {
        bool last = f->level >= f->highest;
        f->level = f->level < f->highest / 2 ? 2 * f->level : f->highest;
        rebuild(f, reaches_level);
        f->full = last && f->n == f->cap;
    }
    return f->n < f->cap;
}

/* Counts a flow without an entry in the sketch. */
static void count_unnamed(umbel_flows *f, uint64_t hash)
{
    uint64_t x = um_mix(hash ^ f->seed);
    uint64_t rest = x << REGISTER_BITS;
    uint8_t rank =
        rest ? (uint8_t)(__builtin_clzll(rest) + 1) : 64 - REGISTER_BITS + 1;
    uint8_t *at = &f->registers[x >> (64 - REGISTER_BITS)];

    if (*at < rank)
        *at = rank;
}

/* Adds a packet of a flow without an entry. */
static void add_to_filter(umbel_flows *f, const umbel_flow_packet *p,
                          uint64_t hash, uint64_t *slot, cell *const at[STAGES])
{
    cell before = least_of(at);
    uint64_t bytes = (uint64_t)before.bytes + p->bytes;
    uint64_t packets = (uint64_t)before.packets + p->packets;
    uint64_t bound = f->by_packets ? packets : bytes;
    bool saturated = bytes >= CELL_FULL || packets >= CELL_FULL;

    if (bound < f->level && bytes < HIGHEST_LEVEL && packets < HIGHEST_LEVEL) {
        raise_cells(at, (uint32_t)bytes, (uint32_t)packets);
        return;
    }
    /* A cell that is full bounds nothing any more. */
    if (before.bytes < CELL_FULL && before.packets < CELL_FULL) {
        if (f->n == f->cap && reserve_entry(f)) {
            slot = find_slot(f, key_of(p), hash);
            if (bound < f->level && !saturated) {
                raise_cells(at, (uint32_t)bytes, (uint32_t)packets);
                return;
            }
        }
        if (f->n < f->cap) {
            entry *e = &f->entries[f->n++];
            *e = (entry){.bytes = p->bytes,
                         .packets = p->packets,
                         .excess_bytes = before.bytes,
                         .excess_packets = before.packets};
            memcpy(e->key, key_of(p), KEY);
            *slot = tag_of(hash) | f->n;
            return;
        }
    }
    raise_cells(at, limited(bytes), limited(packets));
    if (bound >= f->threshold || saturated)
        count_unnamed(f, hash);
}

static inline void add_to_entry(entry *e, const umbel_flow_packet *p)
{
    e->bytes += p->bytes;
    e->packets += p->packets;
}

static void add_batch(umbel_flows *f, const umbel_flow_packet *p, size_t n)
{
    uint64_t hash[BATCH];

    for (size_t i = 0; i < n; i++) {
        hash[i] = hash_key(f, key_of(&p[i]));
        __builtin_prefetch(&f->index[hash[i] & (f->nindex - 1)]);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t *slot = find_slot(f, key_of(&p[i]), hash[i]);
        f->bytes += p[i].bytes;
        f->packets += p[i].packets;
        if (*slot) {
            add_to_entry(&f->entries[(uint32_t)*slot - 1], &p[i]);
            continue;
        }
        cell *at[STAGES];
        find_cells(f, hash[i], at);
        add_to_filter(f, &p[i], hash[i], slot, at);
    }
}

void umbel_flows_add(umbel_flows *f, const umbel_flow_packet *packets, size_t n)
{
    for (; n > BATCH; n -= BATCH, packets += BATCH)
        add_batch(f, packets, BATCH);
    add_batch(f, packets, n);
}

/* --- results --------------------------------------------------------------
 */

static void describe(const entry *e, umbel_flow *flow)
{
    *flow = (umbel_flow){.key = e->key + 1,
                         .len = e->key[0],
                         .bytes = bytes_bound(e),
                         .bytes_low = e->bytes,
                         .packets = packets_bound(e),
                         .packets_low = e->packets};
}

static bool stays_as_it_is(umbel_flows *f, entry *e)
{
    (void)f;
    (void)e;
    return true;
}

/* Orders by bound, the highest first, then by key. */
static bool is_before(const umbel_flows *f, const entry *a, const entry *b)
{
    uint64_t x = bound_of(f, a), y = bound_of(f, b);

    return x != y ? x > y : memcmp(a->key, b->key, KEY) < 0;
}

/* Sorts in place, so that no memory is needed (Shell 1959, gaps by Knuth). */
void umbel_flows_sort(umbel_flows *f)
{
    size_t gap = 1;

    while (gap < f->n / 3)
        gap = 3 * gap + 1;
    for (; gap; gap /= 3)
        for (size_t i = gap; i < f->n; i++) {
            entry moved = f->entries[i];
            size_t at = i;
            for (; at >= gap && is_before(f, &moved, &f->entries[at - gap]);
                 at -= gap)
                f->entries[at] = f->entries[at - gap];
            f->entries[at] = moved;
        }
    rebuild(f, stays_as_it_is);
}

bool umbel_flows_row(const umbel_flows *f, size_t *i, umbel_flow *flow)
{
    for (; *i < f->n; ++*i)
        if (bound_of(f, &f->entries[*i]) >= f->threshold) {
            describe(&f->entries[(*i)++], flow);
            return true;
        }
    return false;
}

bool umbel_flows_find(const umbel_flows *f, const umbel_flow_packet *key,
                      umbel_flow *flow)
{
    uint64_t slot = *find_slot(f, key_of(key), hash_key(f, key_of(key)));

    if (slot)
        describe(&f->entries[(uint32_t)slot - 1], flow);
    return slot != 0;
}

/* Estimates the unnamed flows (Flajolet and others 2007): by empty registers
 * while there are many, which is nearly exact for few flows. */
static uint64_t estimate_unnamed(const umbel_flows *f)
{
    double sum = 0, empty = 0, m = REGISTERS;

    for (size_t i = 0; i < REGISTERS; i++) {
        sum += ldexp(1, -f->registers[i]);
        empty += !f->registers[i];
    }
    double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (estimate <= 2.5 * m && empty > 0)
        estimate = m * log(m / empty);
    return (uint64_t)(estimate + 0.5);
}

void umbel_flows_count(const umbel_flows *f, umbel_flows_counts *out)
{
    *out = (umbel_flows_counts){.packets = f->packets,
                                .bytes = f->bytes,
                                .unnamed = estimate_unnamed(f),
                                .entries = f->n};
}

static bool reached_threshold(umbel_flows *f, entry *e)
{
    bool heavy = bound_of(f, e) >= f->threshold;

    e->bytes = e->packets = 0;
    e->excess_bytes = e->excess_packets = 0;
    return heavy;
}

static uint64_t lowest_level(const umbel_flows *f)
{
    uint64_t level = f->threshold / LOWEST_SHARE;

    return level < 1 ? 1 : level < f->highest ? level : f->highest;
}

void umbel_flows_begin(umbel_flows *f)
{
    uint64_t lowest = lowest_level(f);

    rebuild(f, reached_threshold);
    f->level = f->level / 4 > lowest ? f->level / 4 : lowest;
    f->full = false;
    f->packets = f->bytes = 0;
    memset(f->registers, 0, sizeof f->registers);
    memset(f->cells, 0, STAGES * f->width * sizeof *f->cells);
}

/* --- memory ---------------------------------------------------------------
 */

/* How a memory is divided: about half of it for the table. */
typedef struct division {
    size_t cap, nindex;
    uint64_t width, memory;
} division;

static umbel_status divide(const umbel_flows_params *p, division *d,
                           umbel_error *err)
{
    uint64_t memory = p->memory ? p->memory : default_memory, table;

    if (!p->threshold)
        return um_fail(err, UMBEL_E_RANGE, "the threshold of flows is 0");
    if (memory < least_memory || memory > SIZE_MAX / 4)
        return um_fail(err, UMBEL_E_RANGE,
                       "flows need a memory of %" PRIu64 " bytes or more",
                       least_memory);
    memory -= sizeof(umbel_flows);
    /* The index is a power of two, and filled by two thirds at most. */
    table = memory / 2;
    d->nindex = um_map_cap(0, 64);
    while (d->nindex * 2 * (sizeof(uint64_t) + sizeof(entry) / 3) <= table)
        d->nindex *= 2;
    d->cap = (table - d->nindex * sizeof(uint64_t)) / sizeof(entry);
    if (d->cap > d->nindex / 3 * 2)
        d->cap = d->nindex / 3 * 2;
    if (d->cap > UINT32_MAX - 1)
        d->cap = UINT32_MAX - 1;
    table = d->nindex * sizeof(uint64_t) + d->cap * sizeof(entry);
    d->width = (memory - table) / (STAGES * sizeof(cell));
    if (d->width > UINT32_MAX)
        d->width = UINT32_MAX;
    d->memory = sizeof(umbel_flows) + table + d->width * STAGES * sizeof(cell);
    return UMBEL_OK;
}

umbel_status umbel_flows_open(const umbel_flows_params *params,
                              umbel_flows **out, umbel_error *err)
{
    umbel_flows *f;
    division d;

    UM_TRY(divide(params, &d, err));
    f = calloc(1, sizeof *f);
    if (!f)
        return um_no_memory(err, sizeof *f);
    *f = (umbel_flows){.threshold = params->threshold,
                       .seed = params->seed,
                       .by_packets = params->by_packets,
                       .nindex = d.nindex,
                       .cap = d.cap,
                       .width = d.width};
    f->highest = f->threshold < HIGHEST_LEVEL ? f->threshold : HIGHEST_LEVEL;
    f->level = lowest_level(f);
    f->index = calloc(f->nindex, sizeof *f->index);
    f->entries = calloc(f->cap, sizeof *f->entries);
    f->cells = calloc(STAGES * f->width, sizeof *f->cells);
    if (!f->index || !f->entries || !f->cells) {
        umbel_flows_close(f);
        return um_no_memory(err, d.memory);
    }
    *out = f;
    return UMBEL_OK;
}

void umbel_flows_close(umbel_flows *f)
{
    if (!f)
        return;
    free(f->index);
    free(f->entries);
    free(f->cells);
    free(f);
}

/* --- planning -------------------------------------------------------------
 */

static void plan(const umbel_flows_params *p, const division *d,
                 uint64_t traffic, uint64_t flows, umbel_flows_plan *out)
{
    static const double risk = 0.01;
    double mean = (double)traffic / (double)d->width;
    double n = (double)flows;

    *out = (umbel_flows_plan){.memory = d->memory,
                              .entries = d->cap,
                              .stages = STAGES,
                              .cells = d->width,
                              .heavy = traffic / p->threshold};
    out->overestimate =
        fmin(mean * pow(n / risk, 1.0 / STAGES), (double)traffic);
    out->falsely_listed =
        n * fmin(1, pow(2 * mean / (double)p->threshold, STAGES));
}

umbel_status umbel_flows_plan_for(const umbel_flows_params *params,
                                  uint64_t traffic, uint64_t flows,
                                  umbel_flows_plan *out, umbel_error *err)
{
    static const double accepted = 0.01;
    umbel_flows_params p = *params;
    umbel_flows_plan x;
    division d;

    if (p.memory) {
        UM_TRY(divide(&p, &d, err));
        plan(&p, &d, traffic, flows, out);
        return UMBEL_OK;
    }
    for (p.memory = least_memory; p.memory <= UINT64_C(1) << 40;
         p.memory += p.memory / 4) {
        UM_TRY(divide(&p, &d, err));
        plan(&p, &d, traffic, flows, &x);
        if (x.entries >= 2 * x.heavy && x.falsely_listed <= accepted) {
            *out = x;
            return UMBEL_OK;
        }
    }
    return um_fail(err, UMBEL_E_RANGE,
                   "more than 1 TiB: choose a higher threshold or a shorter "
                   "interval");
}
