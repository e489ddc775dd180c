/*
 * mechanisms.c - hash tables with a layout of their own, beside base/map.h.
 *
 * bench_mechanisms [KEYS]: fills each of these tables, and a common one for the
 * same purpose, with KEYS keys (1,000,000), and looks up as many, half of which
 * were added. Prints nanoseconds per look-up and bytes per key of both. Each
 * time is the best of several chunks, which take turns, so that both tables
 * meet the same noise.
 *
 * The common one is built as a caller of base/map.h builds it: slots of 8 or 16
 * bytes, at most half of them in use. Its look-ups are batched, and fetch their
 * first slots ahead as those of the kinds do, so the rows compare layouts.
 */
#include "base/batch.h"
#include "base/map.h"
#include "base/rng.h"
#include "kinds/counting/cells.h"
#include "kinds/near/internal.h"
#include "store/internal.h"

#include <umbel/counting.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 9, FIRST_SLOTS = 64 };

typedef struct keys {
    umbel_digest *at; /* n that are added, then n that are not */
    umbel_digest *asked;
    size_t n;
} keys;

/* A table under test. look_up returns the sum of the counts or numbers that it
 * found, so that no look-up can be optimised away. */
typedef struct subject {
    void *table;
    uint64_t (*look_up)(const void *table, const umbel_digest *d, size_t n);
    size_t bytes;
} subject;

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *allocate(size_t len)
{
    void *memory =
        aligned_alloc(UM_LINE, (len + UM_LINE - 1) / UM_LINE * UM_LINE);

    if (!memory) {
        fputs("bench_mechanisms: no memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    memset(memory, 0, len);
    return memory;
}

static void fail(const umbel_error *err)
{
    fprintf(stderr, "bench_mechanisms: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static keys create_keys(size_t n)
{
    keys k = {allocate(2 * n * sizeof *k.at), allocate(n * sizeof *k.at), n};
    um_rng rng = {1};

    for (size_t i = 0; i < 2 * n; i++) {
        k.at[i].lo = um_random(&rng);
        k.at[i].hi = um_random(&rng);
    }
    for (size_t i = 0; i < n; i++)
        k.asked[i] = k.at[um_random(&rng) % n + (i % 2 ? n : 0)];
    return k;
}

/* --- the common table: a fingerprint of 64 bits, and a count -------------- */

typedef struct wide_slot {
    uint64_t print;
    uint32_t count;
} wide_slot;

/* A table of slots, whatever they are. */
typedef struct common {
    void *slots;
    size_t cap;
} common;

static bool wide_is_free(const void *slot)
{
    return ((const wide_slot *)slot)->count == 0;
}

static bool wide_has_key(const void *ctx, const void *slot, const void *key)
{
    (void)ctx;
    return ((const wide_slot *)slot)->print == *(const uint64_t *)key;
}

static uint64_t wide_hash(const void *ctx, const void *slot)
{
    (void)ctx;
    return ((const wide_slot *)slot)->print;
}

static const um_map_rule wide_rule = {sizeof(wide_slot), wide_is_free,
                                      wide_has_key, wide_hash};

static inline wide_slot *wide_find(const common *t, const umbel_digest *d)
{
    return um_map_find(&wide_rule, NULL, t->slots, t->cap, d->lo, &d->lo);
}

static uint64_t wide_look_up(const void *table, const umbel_digest *d, size_t n)
{
    const common *t = table;
    const wide_slot *slots = t->slots;
    uint64_t sum = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        for (size_t i = 0; i < some; i++)
            __builtin_prefetch(&slots[d[done + i].lo & (t->cap - 1)]);
        for (size_t i = 0; i < some; i++)
            sum += wide_find(t, &d[done + i])->count;
    }
    return sum;
}

static subject create_wide(common *t, const keys *k)
{
    t->cap = um_map_cap(k->n, FIRST_SLOTS);
    t->slots = allocate(t->cap * sizeof(wide_slot));
    for (size_t i = 0; i < k->n; i++) {
        wide_slot *slot = wide_find(t, &k->at[i]);
        slot->print = k->at[i].lo;
        slot->count++;
    }
    return (subject){t, wide_look_up, t->cap * sizeof(wide_slot)};
}

/* --- the common table with slots as small as those of tally --------------- */

typedef struct narrow_slot {
    uint32_t print, count;
} narrow_slot;

static bool narrow_is_free(const void *slot)
{
    return ((const narrow_slot *)slot)->count == 0;
}

static bool narrow_has_key(const void *ctx, const void *slot, const void *key)
{
    (void)ctx;
    return ((const narrow_slot *)slot)->print == *(const uint32_t *)key;
}

/* The table never grows, so nothing asks for the hash of a slot. */
static const um_map_rule narrow_rule = {sizeof(narrow_slot), narrow_is_free,
                                        narrow_has_key, NULL};

static inline narrow_slot *narrow_find(const common *t, const umbel_digest *d)
{
    uint32_t print = (uint32_t)d->lo;

    return um_map_find(&narrow_rule, NULL, t->slots, t->cap, d->lo >> 32,
                       &print);
}

static uint64_t narrow_look_up(const void *table, const umbel_digest *d,
                               size_t n)
{
    const common *t = table;
    const narrow_slot *slots = t->slots;
    uint64_t sum = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        for (size_t i = 0; i < some; i++)
            __builtin_prefetch(&slots[d[done + i].lo >> 32 & (t->cap - 1)]);
        for (size_t i = 0; i < some; i++)
            sum += narrow_find(t, &d[done + i])->count;
    }
    return sum;
}

static subject create_narrow(common *t, const keys *k)
{
    t->cap = um_map_cap(k->n, FIRST_SLOTS);
    t->slots = allocate(t->cap * sizeof(narrow_slot));
    for (size_t i = 0; i < k->n; i++) {
        narrow_slot *slot = narrow_find(t, &k->at[i]);
        slot->print = (uint32_t)k->at[i].lo;
        slot->count++;
    }
    return (subject){t, narrow_look_up, t->cap * sizeof(narrow_slot)};
}

/* --- kind table ----------------------------------------------------------- */

static uint64_t table_look_up(const void *table, const umbel_digest *d,
                              size_t n)
{
    uint64_t counts[UM_BATCH], sum = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        if (umbel_count_digests(table, d + done, some, counts, NULL))
            exit(EXIT_FAILURE);
        for (size_t i = 0; i < some; i++)
            sum += counts[i];
    }
    return sum;
}

/* Creates a filter with all keys, and its look-up. */
static subject create_filter(const char *kind,
                             uint64_t (*look_up)(const void *table,
                                                 const umbel_digest *d,
                                                 size_t n),
                             umbel_filter **f, const keys *k)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_error err;

    p.capacity = k->n;
    if (umbel_create(kind, &p, f, &err) ||
        umbel_add_digests(*f, k->at, k->n, NULL, &err))
        fail(&err);
    return (subject){*f, look_up, umbel_encoded_len(*f)};
}

/* --- the index of kind near ----------------------------------------------- */

static uint64_t near_look_up(const void *table, const umbel_digest *d, size_t n)
{
    const um_near_lines *t = table;
    um_probe p[UM_NEAR_KEYS];
    um_near_matches found[UM_NEAR_KEYS];
    uint64_t sum = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < UM_NEAR_KEYS ? n - done : UM_NEAR_KEYS;
        for (size_t i = 0; i < some; i++) {
            p[i] = um_probe_of(d[done + i].lo, d[done + i].hi);
            __builtin_prefetch(um_near_line(t, &p[i]));
        }
        um_near_look_up(t, p, (unsigned)some, found);
        for (size_t i = 0; i < some; i++)
            for (unsigned j = 0; j < found[i].n; j++)
                sum += found[i].at[j].number;
    }
    return sum;
}

/* Entries of mails with ten shingles and a name each, and lines that are 19/20
 * full, as kind near has them. */
static subject create_near(um_near_lines *t, const keys *k)
{
    uint64_t mails = k->n / (UM_NEAR_INDEXED + 1) + 1;
    uint64_t lines = k->n * 20 / ((uint64_t)um_near_slots(mails) * 19) + 1;

    *t = um_near_lines_of(allocate(lines * UM_LINE), lines, mails);
    for (size_t i = 0; i < k->n; i++)
        um_near_add_entry(t, um_probe_of(k->at[i].lo, k->at[i].hi),
                          i / (UM_NEAR_INDEXED + 1));
    return (subject){t, near_look_up, lines * UM_LINE};
}

/* --- heavy keys of kind tally --------------------------------------------- */

static uint64_t heavy_look_up(const void *table, const umbel_digest *d,
                              size_t n)
{
    uint64_t sum = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        for (size_t i = 0; i < some; i++)
            um_heavy_fetch(table, d[done + i].lo);
        for (size_t i = 0; i < some; i++) {
            const uint8_t *slot = um_heavy_find(table, d[done + i].lo);
            sum += slot ? um_heavy_count(slot) : 0;
        }
    }
    return sum;
}

static subject create_heavy(um_heavy *t, const keys *k)
{
    uint64_t slots = um_heavy_slots(k->n);

    *t = (um_heavy){allocate(slots * 8), slots / UM_HEAVY_BUCKET};
    for (size_t i = 0; i < k->n; i++) {
        uint8_t *slot = um_heavy_find(t, k->at[i].lo);
        if (slot)
            um_heavy_set(slot, k->at[i].lo, um_heavy_count(slot) + 1);
    }
    return (subject){t, heavy_look_up, slots * 8};
}

/* --- times of recent digests ---------------------------------------------- */

static uint64_t recent_look_up(const void *table, const umbel_digest *d,
                               size_t n)
{
    uint64_t entered, updated, sum = 0;

    for (size_t i = 0; i < n; i++)
        if (um_recent_times_find(table, 0, &d[i], 0, &entered, &updated))
            sum += entered + 1;
    return sum;
}

static subject create_recent(um_recent_times **t, const keys *k)
{
    uint64_t count[UM_RECENT_BATCH] = {0};
    umbel_error err;
    um_recent_times_stats stats;

    if (um_recent_times_open(k->n, NULL, t, &err))
        fail(&err);
    for (size_t done = 0, some; done < k->n; done += some) {
        some = k->n - done < UM_RECENT_BATCH ? k->n - done : UM_RECENT_BATCH;
        um_recent_times_add(*t, 0, k->at + done, count, some, 0);
    }
    um_recent_times_stats_get(*t, &stats);
    return (subject){*t, recent_look_up, stats.bytes};
}

/* Look-ups one at a time, as those of the recent times are. */
static uint64_t wide_look_up_each(const void *table, const umbel_digest *d,
                                  size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += wide_find(table, &d[i])->count;
    return sum;
}

/* --- kind scalable -------------------------------------------------------- */

static uint64_t scalable_look_up(const void *table, const umbel_digest *d,
                                 size_t n)
{
    bool hit[UM_BATCH];
    uint64_t sum = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        if (umbel_query_digests(table, d + done, some, hit, NULL))
            exit(EXIT_FAILURE);
        for (size_t i = 0; i < some; i++)
            sum += hit[i];
    }
    return sum;
}

/* --- the program ---------------------------------------------------------- */

static uint64_t found; /* by all look-ups */

static double nanoseconds(const subject *s, const keys *k)
{
    double began = cpu_seconds();

    found += s->look_up(s->table, k->asked, k->n);
    return (cpu_seconds() - began) * 1e9 / (double)k->n;
}

static void compare(const char *what, const char *where, subject own,
                    subject other, const keys *k, const char *reason)
{
    double best[2] = {1e9, 1e9};

    for (int turn = 0; turn < TURNS; turn++) {
        double took[2] = {nanoseconds(&own, k), nanoseconds(&other, k)};
        for (int i = 0; i < 2; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    printf("%-16s %-31s %8.1f %8.1f %8.1f %8.1f  %s\n", what, where, best[0],
           best[1], (double)own.bytes / (double)k->n,
           (double)other.bytes / (double)k->n, reason);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    keys k = create_keys(n ? n : 1);
    um_near_lines near;
    um_heavy heavy;
    common wide, narrow;
    umbel_filter *table, *scalable;
    um_recent_times *recent;
    subject common_wide = create_wide(&wide, &k);

    printf("%zu keys; nanoseconds per look-up, and bytes per key\n", k.n);
    printf("%-16s %-31s %8s %8s %8s %8s  %s\n", "mechanism", "where", "ns own",
           "ns map", "B own", "B map", "reason");
    compare("kind table", "src/kinds/table.c",
            create_filter("table", table_look_up, &table, &k), common_wide, &k,
            "an eighth of the memory");
    compare("index of near", "src/kinds/near/records.c", create_near(&near, &k),
            common_wide, &k, "smaller; several records per key");
    compare("heavy of tally", "src/kinds/counting/cells.h",
            create_heavy(&heavy, &k), create_narrow(&narrow, &k), &k,
            "less memory; bounded if forged");
    compare("recent times", "src/store/recent_times.c",
            create_recent(&recent, &k),
            (subject){&wide, wide_look_up_each, common_wide.bytes}, &k,
            "less memory; old digests make way");
    compare("kind scalable", "src/kinds/scalable/scalable.c",
            create_filter("scalable", scalable_look_up, &scalable, &k),
            common_wide, &k, "less memory; grows without keys");
    umbel_close(table);
    umbel_close(scalable);
    um_recent_times_close(recent);
    free(near.at);
    free(heavy.at);
    free(wide.slots);
    free(narrow.slots);
    free(k.at);
    free(k.asked);
    return found ? EXIT_SUCCESS : EXIT_FAILURE;
}
