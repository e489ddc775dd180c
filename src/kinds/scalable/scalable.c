/*
 * scalable.c - kind scalable: a set without a capacity, which grows and keeps
 * its error rate.
 *
 * A key has one entry, a fingerprint, in the bucket that its digest selects.
 * Bucket and fingerprint come from one product: they are the bits of the digest
 * times the number of buckets, before and after the binary point. When the
 * buckets hold LOAD keys each on average, their number doubles: the first bit
 * of every fingerprint becomes the last bit of its address, and the entry moves
 * to one of the two buckets that its old one became. That does not need the
 * keys. An entry loses a bit each time, and matches twice as many keys; but
 * there are twice as many buckets. So the keys of every step add about the same
 * to the error, half of LOAD / 2^f each: it is linear in the number of
 * doublings, for which f is large enough. A query reads one bucket, however far
 * the filter grew.
 *
 *   an entry    | fingerprint, first bit highest | 1 | zeros |     0: free
 *
 * The lowest one ends the fingerprint, so a shift to the left removes its first
 * bit. An entry with no fingerprint bits left goes to both buckets.
 *
 *   section 0   16 entries a bucket: their high 16 bits
 *   section 1   the other 8 or 16 bits of each, if entries have 24 or 32
 *   then        two numbers: entries in buckets, digests in the last section
 *   then        digests of keys whose bucket is full, in an open hash table
 *
 * Idea: Dayan, Bercea, Reviriego, Pagh, "InfiniFilter", 2023; a quotient filter
 * there. Compare chains of Bloom filters (Almeida, Baquero, Preguica, Hutchison
 * 2007), which query every filter of the chain. When not to use it: if the
 * number of keys is known, bloom takes a third to a half of the memory.
 */
#include "kinds/scalable/internal.h"

#include "base/error.h"
#include "kinds/rows.h"

#include <inttypes.h>
#include <math.h>

enum {
    DOUBLINGS = 24, /* that the error allows for, at least */
    MIN_SPILL = 8,  /* places for digests */
    START = 1400    /* default capacity: see first_buckets */
};

enum { SPILL, MAX_SPILL = 15 }; /* index of the setting; its maximum */

static const umbel_setting_info settings[] = {
    [SPILL] = {"spill",
               "doublings of the room for keys whose bucket is full; it grows "
               "by itself",
               0, MAX_SPILL, 0},
    {NULL, NULL, 0, 0, 0}};

/* --- shapes --------------------------------------------------------------- */

static uint64_t buckets_of(const um_shape *s)
{
    return s->cells / ((uint64_t)SLOTS * (s->hashes + 1));
}

/* Returns the number of places for digests of keys whose bucket is full; on the
 * wire. */
static uint64_t spill_of(const um_shape *s)
{
    return (MIN_SPILL + buckets_of(s) / 16) << s->setting[SPILL];
}

/*
 * Returns the initial number of buckets. For START it is 94, which takes
 * slightly less than 3 KiB, or 6, and doubled slightly less than the size
 * classes of allocators, quarters of a power of 2. 67 buckets took a sixth more
 * than needed.
 */
static uint64_t first_buckets(const um_shape *s)
{
    return s->capacity / LOAD + 1;
}

/* Checks the size; cells and hashes are 0 while they are still to be chosen. */
static umbel_status check(const um_shape *s, umbel_error *err)
{
    if (s->cells && s->hashes && buckets_of(s) < first_buckets(s))
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " cells are too few for %" PRIu64
                       " keys: leave one of them out",
                       s->cells, s->capacity);
    return UMBEL_OK;
}

/* Returns the error after this many doublings, with this final load. */
static double error_after(const um_shape *s, double doublings, double load)
{
    double one = ldexp(1, -(int)s->hashes);
    double older = doublings > 0 ? LOAD * (1 + doublings) / 2 : 0;
    double newer = load - (doublings > 0 ? LOAD / 2.0 : 0);

    return (older + fmax(newer, 0)) * one;
}

static uint32_t hashes(const um_shape *s)
{
    um_shape t = *s;

    for (t.hashes = HEAD_BITS - 1; t.hashes < 31; t.hashes += 8)
        if (error_after(&t, DOUBLINGS, LOAD) <= s->fpr)
            break;
    return t.hashes;
}

static double doublings_from_start(const um_shape *s, uint64_t buckets)
{
    double times = (double)buckets / (double)first_buckets(s);
    return times > 1 ? ceil(log2(times)) : 0;
}

static double error(const um_shape *s, const um_layout *l, double keys)
{
    uint64_t buckets = buckets_of(s);

    (void)l;
    if (buckets < first_buckets(s)) /* too few for its capacity */
        return 1;
    while (keys > (double)LOAD * (double)buckets && buckets < UM_MAX_CELLS)
        buckets *= 2;
    return error_after(s, doublings_from_start(s, buckets),
                       keys / (double)buckets);
}

static size_t sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    uint64_t entries = SLOTS * buckets_of(s);
    uint32_t tail = s->hashes + 1 - HEAD_BITS;
    size_t n = 0;

    out[n++] = (um_section){.cells = entries, .cell_bits = HEAD_BITS};
    if (tail)
        out[n++] = (um_section){.cells = entries, .cell_bits = tail};
    out[n++] = (um_section){.cells = STATE_LEN / 8, .cell_bits = 64};
    out[n++] = (um_section){.cells = spill_of(s), .cell_bits = 64};
    return n;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    bool tail = s->hashes + 1 > HEAD_BITS;

    (void)l;
    *(scalable *)self = (scalable){
        .head = memory[0],
        .tail = tail ? memory[1] : NULL,
        .state = memory[tail ? 2 : 1],
        .spill = memory[tail ? 3 : 2],
        .buckets = buckets_of(s),
        .spill_len = spill_of(s),
        .bits = s->hashes + 1,
    };
}

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    (void)amounts;
    return add_keys(self, d, n, fresh);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    query_keys(self, d, n, hit);
}

/* --- growing -------------------------------------------------------------- */

static size_t done(const void *self)
{
    return ((const scalable *)self)->done;
}

/* Enlarges the section of digests, within limits: keys chosen to collide would
 * make it grow for ever. */
static umbel_status grow_spill(const scalable *t, um_shape *s, umbel_error *err)
{
    uint64_t most = 16 * (um_load64(t->state + IN_SPILL) + REACH);

    if (s->setting[SPILL] == MAX_SPILL || t->spill_len > most)
        return um_fail(err, UMBEL_E_FULL,
                       "keys with nearly equal hashes fill one place of the "
                       "filter: they were chosen for it; use hash sip");
    s->setting[SPILL]++;
    return UMBEL_OK;
}

/* Doubles the buckets: then few are full. */
static umbel_status larger(const void *self, um_shape *s, umbel_error *err)
{
    const scalable *t = self;
    um_shape twice = *s;

    if (!is_full(t))
        return grow_spill(t, s, err);
    twice.cells = 2 * s->cells;
    twice.setting[SPILL] = 0;
    if (twice.cells > UM_MAX_CELLS ||
        error_after(&twice, doublings_from_start(&twice, 2 * t->buckets),
                    LOAD) > s->fpr)
        return um_fail(err, UMBEL_E_FULL,
                       "a filter of kind scalable made for %" PRIu64
                       " keys cannot grow beyond %" PRIu64
                       " without exceeding its error: make it with a larger "
                       "capacity",
                       s->capacity, LOAD * t->buckets);
    *s = twice;
    return UMBEL_OK;
}

/* Distributes the entries of a bucket to the two that it becomes. */
static void split_bucket(const scalable *to, const scalable *from, uint64_t b)
{
    uint32_t top = from->bits - 1, used[2] = {0, 0};

    for (uint64_t i = 0; i < SLOTS; i++) {
        uint32_t e = entry_at(from, b * SLOTS + i, from->bits);
        bool void_print = e == (uint32_t)1 << top;
        for (uint32_t half = 0; e && half < 2; half++) {
            if (!void_print && e >> top != half)
                continue;
            uint32_t shorter = (uint32_t)((uint64_t)e << 1) &
                               (uint32_t)(((uint64_t)1 << from->bits) - 1);
            set_entry(to, (2 * b + half) * SLOTS + used[half]++,
                      void_print ? e : shorter);
            count_in(to, IN_BUCKETS);
        }
    }
}

static void copy_buckets(const scalable *to, const scalable *from)
{
    uint64_t entries = SLOTS * from->buckets;

    memcpy(to->head, from->head, 2 * entries);
    if (from->tail)
        memcpy(to->tail, from->tail, entries * (from->bits - HEAD_BITS) / 8);
    memcpy(to->state + IN_BUCKETS, from->state + IN_BUCKETS, 8);
}

/* Moves all entries and digests. Returns false if there is no place for a
 * digest. */
static bool move(void *self, const void *from)
{
    const scalable *t = self, *old = from;

    if (t->buckets == old->buckets)
        copy_buckets(t, old);
    for (uint64_t b = 0; t->buckets != old->buckets && b < old->buckets; b++)
        split_bucket(t, old, b);
    for (uint64_t i = 0; i < old->spill_len; i++) {
        uint64_t lo = um_load64(old->spill + 8 * i);
        place p = place_of(t, lo, t->bits);
        if (lo && !write_key(t, lo, p, look_at(t, p).used))
            return false;
    }
    return true;
}

static const um_row_growing growing = {
    .done = done, .larger = larger, .move = move};

/* --- predictions and description ------------------------------------------ */

/* Predicts the error: an entry with b bits of fingerprint matches one key in
 * 2^b. */
static double predict(const void *self)
{
    const scalable *t = self;
    uint64_t ending[33] = {0};
    double sum = 0;

    for (uint64_t i = 0; i < SLOTS * t->buckets; i++) {
        uint32_t e = entry_at(t, i, t->bits);
        ending[e ? __builtin_ctz(e) : 32]++;
    }
    for (uint32_t zeros = 0; zeros < t->bits; zeros++)
        sum += ldexp((double)ending[zeros], -(int)(t->bits - 1 - zeros));
    return fmin(1, sum / (double)t->buckets);
}

static uint64_t entries(const void *self)
{
    const scalable *t = self;
    uint64_t n = 0;

    for (uint64_t i = 0; i < SLOTS * t->buckets; i++)
        n += entry_at(t, i, t->bits) != 0;
    for (uint64_t i = 0; i < t->spill_len; i++)
        n += um_load64(t->spill + 8 * i) != 0;
    return n;
}

static void info(const void *self, umbel_info *out)
{
    const scalable *t = self;

    um_info_count(out, "entries", entries(t));
    um_info_count(out, "fingerprint_bits", t->bits - 1);
    um_info_count(out, "grows_at", LOAD * t->buckets);
}

static uint64_t granule(uint32_t hashes)
{
    return hashes == 15 || hashes == 23 || hashes == 31
               ? (uint64_t)SLOTS * (hashes + 1)
               : 0;
}

/* The addressing of the kind: a bucket, which only the kind interprets. */
static const um_addressing buckets = {
    .name = "buckets16",
    .summary = "one bucket of 16 entries, which splits when the filter grows",
    .block = SLOTS * HEAD_BITS,
    .granule = granule,
};

const um_kind um_kind_scalable = {
    .name = "scalable",
    .summary = "a set that grows with its keys and keeps its error",
    .admissible = true,
    .settings = settings,
    .self_len = sizeof(scalable),
    .capacity = START,
    .fixed_addressing = &buckets,
    .unsupported_reason =
        {.join = "its entries are not cells that two filters share; add the "
                 "keys to one filter, or ask both"},
    .check = check,
    .hashes = hashes,
    .sections = sections,
    .attach = attach,
    .add = add,
    .query = query,
    .entries = entries,
    .error = error,
    .predict = predict,
    .info = info,
    .growing = &growing,
};
