/*
 * tally.c - kind tally: small counts in one cache line, large ones in an exact
 * table.
 *
 * Most keys of a stream are rare, and a few make up most of it. A key has 1 to
 * 8 cells of 4 bits, all in one line of 128 (addressing blocked128): lanes are
 * the line's 64-bit words. Its count is the minimum of its cells, and only the
 * smallest of them grow (refined, as in counting/counting.c). A key that is
 * added more than 15 times is heavy: it moves to a table of fingerprints and
 * counts up to 2^32 - 1 (counting/cells.h), and its cells stay at 15.
 *
 *   section 0   cells of 4 bits
 *   section 1   the table: slots of 64 bits
 *   section 2   the amount that the table had no space for, one number of 64
 *               bits
 *
 * So counting a key with a cell below 15 reads one line, and only other keys
 * need the table. If such a key is not in the table, its count is 15. A key
 * enters the table with the count of its cells, and is counted exactly from
 * then on. The table never changes a cell; so a batch processes its cells first
 * and its table entries after, and prefetches the lines of both.
 *
 * The table has space for the setting heavy keys per 100 lines: with 8 cells
 * per key, 100 of 1600, which suits P(count >= x) = 1/x. When it is full,
 * further heavy keys stay at 15: adding continues, the number in section 2
 * grows by the amount not counted, and from then on the limit of all counts is
 * 15, since it is unknown which keys are missing. Up to the limit no count is
 * too low.
 *
 * Merging cell by cell is impossible: 10 and 10 are 20, which no cell can hold,
 * and a cell does not know the key that should move. Keep a filter for each
 * origin, and add their counts.
 *
 * Idea: split storage (J. Yan, P. L. Cho, CS-TR-973, 2006, section IV), but
 * keys overflow instead of cells: one look-up instead of one for each cell.
 * Own table (um_heavy): see bench_mechanisms.
 * When not to use it: for counts below 16 counting is smaller; it can also
 * merge counts and remove keys.
 */
#include "base/batch.h"
#include "base/error.h"
#include "kinds/bloom/bloom.h"
#include "kinds/counting/cells.h"
#include "kinds/rows.h"

#include <inttypes.h>

enum {
    CELL_BITS = 4,
    FULL = 15, /* the largest count of a cell */
    LANES = 8,
    LINE_CELLS = 128,
    AHEAD = 24 /* lines prefetched */
};

enum { HEAVY }; /* index of the setting */

static const umbel_setting_info settings[] = {
    [HEAVY] = {"heavy",
               "keys above 15 that there is room for, in 100 lines of cells", 1,
               1600, 100},
    {NULL, NULL, 0, 0, 0}};

typedef struct tally {
    const um_layout *layout;
    um_cells cells;
    um_heavy heavy;
    uint8_t *missed; /* a 64-bit number */
} tally;

/* Checks the addressing and hashes, which are 0 while they are still to be
 * chosen. */
static umbel_status check(const um_shape *s, umbel_error *err)
{
    if (s->addressing != um_addressing_find("blocked128"))
        return um_fail(err, UMBEL_E_RANGE,
                       "kind tally wants the cells of a key in one cache line "
                       "of 4 bits each: addressing blocked128, not %s",
                       s->addressing->name);
    if (s->hashes > LANES)
        return um_fail(err, UMBEL_E_RANGE,
                       "kind tally takes up to 8 hashes, one in each word of a "
                       "cache line, got %" PRIu32,
                       s->hashes);
    return UMBEL_OK;
}

static uint64_t slots_of(const um_shape *s)
{
    return um_heavy_slots(s->cells / LINE_CELLS * s->setting[HEAVY] / 100);
}

static size_t sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = (um_section){.cells = s->cells, .cell_bits = CELL_BITS};
    out[1] = (um_section){.cells = slots_of(s), .cell_bits = 64};
    out[2] = (um_section){.cells = 1, .cell_bits = 64};
    return 3;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    *(tally *)self = (tally){
        .layout = l,
        .cells = um_cells_of(memory[0], CELL_BITS),
        .heavy = {memory[1], slots_of(s) / UM_HEAVY_BUCKET},
        .missed = memory[2],
    };
}

/* --- the cells of a key --------------------------------------------------- */

static inline uint8_t *line_of(const tally *t, const umbel_digest *d)
{
    return t->cells.at + um_scale(d->lo, t->layout->blocks) * UM_LINE;
}

/* Prefetches the line of a later key, if there is one. */
static inline void fetch_ahead(const tally *t, const umbel_digest *d, size_t i,
                               size_t n)
{
    if (i + AHEAD < n)
        __builtin_prefetch(line_of(t, d + i + AHEAD));
}

/*
 * An iterator over the cells of a key: the word of the line, and the bit where
 * the cell begins in it. Lane i uses bits 31-4i .. 28-4i of the high half of
 * hi, which is rotated so that 4 times the number of the next cell is always in
 * bits 2 .. 5.
 */
typedef struct walk {
    uint32_t numbers;
    uint32_t word; /* offset in the line, wrapping around */
} walk;

static inline uint32_t rotated(uint32_t x, uint32_t by)
{
    return x << (by & 31) | x >> (-by & 31);
}

static inline walk walk_from(uint64_t hi, uint32_t hashes)
{
    uint32_t start = hashes < LANES ? (uint32_t)hi & 7 : 0;
    return (walk){rotated((uint32_t)(hi >> 32), 4 * start + 6), 8 * start};
}

static inline unsigned next_shift(walk *w)
{
    unsigned shift = w->numbers & 60;

    w->numbers = rotated(w->numbers, 4);
    return shift;
}

static inline uint32_t next_word(walk *w)
{
    uint32_t word = w->word & (UM_LINE - 8);

    w->word += 8;
    return word;
}

static inline uint64_t least(const uint8_t *line, uint64_t hi, uint32_t hashes)
{
    walk w = walk_from(hi, hashes);
    uint64_t min = FULL;

    for (uint32_t j = 0; j < hashes; j++) {
        uint64_t x = um_load64(line + next_word(&w)) >> next_shift(&w) & FULL;
        min = x < min ? x : min;
    }
    return min;
}

static inline void raise_to(uint8_t *line, uint64_t hi, uint32_t hashes,
                            uint64_t target)
{
    walk w = walk_from(hi, hashes);

    for (uint32_t j = 0; j < hashes; j++) {
        uint8_t *at = line + next_word(&w);
        unsigned shift = next_shift(&w);
        uint64_t word = um_load64(at), x = word >> shift & FULL;
        um_store64(at, word + ((x < target ? target - x : 0) << shift));
    }
}

/* --- many keys ------------------------------------------------------------ */

/* A table operation that a batch still has to do: key number i, whose smallest
 * cell is min. */
typedef struct later {
    uint32_t i, min;
} later;

static void count_missed(const tally *t, uint64_t amount)
{
    um_store64(t->missed, um_grown(um_load64(t->missed), amount, UINT64_MAX));
}

/* Adds to a key in the table; its cells are full, or were about to be. */
static void add_heavy(const tally *t, uint64_t lo, uint64_t min,
                      uint64_t amount)
{
    uint8_t *slot = um_heavy_find(&t->heavy, lo);

    if (!slot) {
        count_missed(t, amount - (FULL - min));
        return;
    }
    uint64_t count = um_heavy_count(slot);
    um_heavy_set(slot, lo,
                 um_grown(count > min ? count : min, amount, UINT32_MAX));
}

static size_t add_batch(const tally *t, const umbel_digest *d,
                        const uint64_t *amounts, size_t n, bool *fresh)
{
    later todo[UM_BATCH];
    size_t added = 0, ntodo = 0;

    for (size_t i = 0; i < n; i++) {
        fetch_ahead(t, d, i, n);
        uint8_t *line = line_of(t, &d[i]);
        uint64_t amount = amounts ? amounts[i] : 1;
        uint64_t min = least(line, d[i].hi, t->layout->hashes);
        bool is_new = min == 0 && amount > 0;

        if (min < FULL)
            raise_to(line, d[i].hi, t->layout->hashes,
                     um_grown(min, amount, FULL));
        if (amount > FULL - min) {
            um_heavy_fetch(&t->heavy, d[i].lo);
            todo[ntodo++] = (later){(uint32_t)i, (uint32_t)min};
        }
        added += is_new;
        if (fresh)
            fresh[i] = is_new;
    }
    for (size_t j = 0; j < ntodo; j++)
        add_heavy(t, d[todo[j].i].lo, todo[j].min,
                  amounts ? amounts[todo[j].i] : 1);
    return added;
}

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    size_t added = 0;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        added += add_batch(self, d + done, amounts ? amounts + done : NULL,
                           some, fresh ? fresh + done : NULL);
    }
    return added;
}

/* Counts a key whose cells are all full. */
static uint64_t count_heavy(const tally *t, uint64_t lo)
{
    const uint8_t *slot = um_heavy_find(&t->heavy, lo);
    uint64_t count = slot ? um_heavy_count(slot) : 0;

    return count > FULL ? count : FULL;
}

static inline void leasts(const tally *t, const umbel_digest *d, size_t n,
                          uint32_t hashes, uint64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        fetch_ahead(t, d, i, n);
        out[i] = least(line_of(t, &d[i]), d[i].hi, hashes);
    }
}

/* Computes the minimum of each key's cells, in loops of constant length for the
 * common cases. */
static void leasts_of(const tally *t, const umbel_digest *d, size_t n,
                      uint64_t *out)
{
    uint32_t hashes = t->layout->hashes;

    if (hashes == 5)
        leasts(t, d, n, 5, out);
    else if (hashes == 4)
        leasts(t, d, n, 4, out);
    else
        leasts(t, d, n, hashes, out);
}

static void count_batch(const tally *t, const umbel_digest *d, size_t n,
                        uint64_t *out)
{
    uint32_t todo[UM_BATCH];
    size_t ntodo = 0;

    leasts_of(t, d, n, out);
    for (size_t i = 0; i < n; i++) {
        todo[ntodo] = (uint32_t)i;
        ntodo += out[i] == FULL;
    }
    for (size_t j = 0; j < ntodo; j++)
        um_heavy_fetch(&t->heavy, d[todo[j]].lo);
    for (size_t j = 0; j < ntodo; j++)
        out[todo[j]] = count_heavy(t, d[todo[j]].lo);
}

static void count(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        count_batch(self, d + done, some, out + done);
    }
}

static void fetch(const void *self, const umbel_digest *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(line_of(self, &d[i]));
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    uint64_t min[UM_BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        leasts_of(self, d + done, some, min);
        for (size_t i = 0; i < some; i++)
            hit[done + i] = min[i] != 0;
    }
}

static uint64_t most(const void *self)
{
    return um_load64(((const tally *)self)->missed) ? FULL : UINT32_MAX;
}

static umbel_status may_remove(const um_shape *s, umbel_error *err)
{
    (void)s;
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "counts of kind tally cannot be taken back: a cell that two "
                   "keys share was raised for one of them, and would fall for "
                   "both; use kind counting with update plain");
}

/* --- predictions and description ------------------------------------------ */

static double error(const um_shape *s, const um_layout *l, double keys)
{
    (void)s;
    return l->hashes <= LANES ? um_model_error(l, keys) : 1;
}

static double predict(const void *self)
{
    const tally *t = self;
    return um_bloom_chance(t->layout, um_cells_used_in, &t->cells);
}

static uint64_t used(const void *self, const void *other)
{
    const tally *t = self, *o = other;
    return um_cells_used(&t->cells, o ? &o->cells : NULL, t->layout->cells);
}

static void look(const void *self, um_bits_look *out)
{
    const tally *t = self;
    um_bloom_look(t->layout, um_cells_used_in, &t->cells, out);
}

static void copy_bits(const void *self, uint8_t *to)
{
    const tally *t = self;
    um_cells_copy_bits(&t->cells, t->layout->cells, to);
}

static void info(const void *self, umbel_info *out)
{
    const tally *t = self;
    uint64_t slots = t->heavy.buckets * UM_HEAVY_BUCKET;
    uint64_t keys = 0, largest = 0;

    for (uint64_t i = 0; i < slots; i++) {
        uint64_t x = um_heavy_count(t->heavy.at + 8 * i);
        keys += x != 0;
        largest = x > largest ? x : largest;
    }
    um_info_count(out, "count_limit", most(t));
    um_info_count(out, "heavy_keys", keys);
    um_info_count(out, "heavy_slots", slots);
    um_info_count(out, "largest_count", largest);
    um_info_flag(out, "table_full", um_load64(t->missed) != 0);
    um_info_count(out, "not_counted", um_load64(t->missed));
}

static const um_row_counting counting = {
    .count = count, .fetch = fetch, .most = most, .may_remove = may_remove};

static const um_row_bits bits = {.used = used, .look = look, .copy = copy_bits};

static void paged_forms(const um_shape *s, um_entry_form out[UM_MAX_SECTIONS])
{
    out[0] = (um_entry_form){.n = s->cells, .count_bits = CELL_BITS};
    out[1] = (um_entry_form){.layout = UM_ENTRY_WORDS,
                             .n = slots_of(s),
                             .count_bits = 32,
                             .print_bits = 32};
    out[2] = (um_entry_form){.n = 1, .count_bits = 64};
}

static const um_row_paged paged = {paged_forms};

const um_kind um_kind_tally = {
    .name = "tally",
    .summary =
        "how often a key was added, up to 2^32, in about 37 bits per key",
    .admissible = true,
    .addressing = "blocked128",
    .fpr = 0.03, /* 8 cells per key, with 5 hashes */
    .settings = settings,
    .self_len = sizeof(tally),
    .check = check,
    .sections = sections,
    .attach = attach,
    .add = add,
    .query = query,
    .unsupported_reason =
        {.join = "10 and 10 make a heavy key, and no cell knows which; "
                 "keep one filter of the right size for each origin, "
                 "ask all of them, and add their counts"},
    .error = error,
    .predict = predict,
    .info = info,
    .counting = &counting,
    .bits = &bits,
    .paged = &paged,
};
