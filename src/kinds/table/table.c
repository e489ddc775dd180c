/*
 * table.c - kind table: fingerprints and counts, for small errors.
 *
 * A key has one entry: a fingerprint of f bits, and a count. Entries lie in
 * lines of 64 bytes, S to a line. A key probes random lines of its own until it
 * finds its fingerprint, or a line that is not full: there is its place.
 * Entries never move, nothing is removed, and counts only grow; so a query that
 * meets a free slot knows that the key is not in, and any line of an older copy
 * is a state that the line once had.
 *
 *   a line   | S tags of 8 bits | S times: fingerprint, rest | count - 1 |
 *
 * A tag is the part of the fingerprint that eight slots are compared by at
 * once, in a 64-bit word: 1 .. 255, and 0 in a free slot. `hashes` is f; it
 * leaves w - f bits of a slot for the count, where S = 512 / (f + cell_bits),
 * at most 16, and w = 512 / S. Counts stick at their maximum.
 *
 * A table takes keys up to 9/10 of its slots, and then refuses (E_FULL). At
 * that load 57 lines in 100 are full when S is 13, a key that is not in
 * probes 2.3 lines, and meets 27 entries: 27 / 2^f is its chance to be taken
 * for one of them. The loads are min(Poisson(x), S), where x is such that their
 * mean is right: lines are probed at random whatever became of the keys before.
 *
 * A forged table may have any lines. REACH bounds a search; the chance of a
 * match follows from the share of lines with each load, and is what admission
 * sees.
 *
 * Compare: cuckoo filters (Fan, Andersen, Kaminsky, Mitzenmacher 2014) store
 * fingerprints at a higher load, but move them. Quotient filters with counts
 * (Pandey, Bender, Johnson, Patro 2017) move entries as well.
 * When not to use it: for errors above 2 % counting is smaller; to merge or
 * remove counts, or to count beyond the capacity, use counting.
 */
#include "kinds/table/table.h"
#include "base/batch.h"
#include "base/error.h"
#include "filter/addressing/classic.h"
#include "kinds/rows.h"

#include <inttypes.h>
#include <math.h>

enum {
    LINE_BITS = 8 * UM_LINE,
    TAG_BITS = UM_ENTRY_TAG_BITS,
    MAX_SLOTS = 16,  /* of a line */
    LEAST_PRINT = 8, /* bits of a fingerprint */
    MAX_PRINT = 40,
    MAX_COUNT = 32, /* bits */
    REACH = UM_TABLE_REACH,
    LOAD_NUM = 9,
    LOAD_DEN = 10
};

enum { CELL_BITS }; /* number of the setting */

static const umbel_setting_info settings[] = {
    [CELL_BITS] = {"cell_bits", "bits of a count, at least", 1, MAX_COUNT, 14},
    {NULL, NULL, 0, 0, 0}};

static um_table_form form_of(const um_shape *s)
{
    uint32_t print = s->hashes - TAG_BITS,
             least = (uint32_t)s->setting[CELL_BITS];
    uint32_t slots = LINE_BITS / (s->hashes + least);

    slots = slots < MAX_SLOTS ? slots : MAX_SLOTS;
    uint32_t count = LINE_BITS / slots - s->hashes;
    return (um_table_form){slots, print,
                           print + (count < MAX_COUNT ? count : MAX_COUNT)};
}

static uint64_t lines_of(const um_shape *s)
{
    return s->cells / LINE_BITS;
}

static uint64_t room_of(const um_shape *s, const um_table_form *f)
{
    return lines_of(s) * f->slots * LOAD_NUM / LOAD_DEN;
}

static size_t sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = (um_section){.cells = s->cells / 64, .cell_bits = 64};
    return 1;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    um_table_form f = form_of(s);
    uint32_t count_bits = f.rest_bits - f.print_bits;

    (void)l;
    *(um_table *)self = (um_table){
        .at = memory[0],
        .lines = lines_of(s),
        .room = room_of(s, &f),
        .form = f,
        .rest_max = UINT64_MAX >> (64 - f.rest_bits),
        .print_max = ((uint64_t)1 << f.print_bits) - 1,
        .count_max = (uint64_t)1 << count_bits,
        .slot_tops = {f.slots < 8 ? UM_BYTE_TOPS >> (64 - 8 * f.slots)
                                  : UM_BYTE_TOPS,
                      f.slots > 8 ? UM_BYTE_TOPS >> (128 - 8 * f.slots) : 0},
    };
}

static void use_added(void *self, const uint64_t *added)
{
    ((um_table *)self)->added = added;
}

/* --- one line ------------------------------------------------------------ */

static inline void set_rest(const um_table *t, uint8_t *line, uint32_t i,
                            uint64_t print, uint64_t count)
{
    uint64_t bit =
        (uint64_t)TAG_BITS * t->form.slots + (uint64_t)i * t->form.rest_bits;
    um_set_field(line, bit, t->form.rest_bits, t->rest_max,
                 print | (count - 1) << t->form.print_bits);
}

static inline uint64_t count_at(const um_table *t, const uint8_t *line,
                                uint32_t i)
{
    return (um_table_rest(t, line, i) >> t->form.print_bits) + 1;
}

/* Returns the slot that holds the key, or -1. */
static inline int find_slot(const um_table *t, const uint8_t *line,
                            um_table_key key)
{
    for (uint32_t word = 0; word < 2; word++) {
        uint64_t like =
            um_zero_bytes(um_load64(line + (size_t)8 * word) ^ key.tags) &
            t->slot_tops[word];
        for (; like; like &= like - 1) {
            uint32_t i = 8 * word + (uint32_t)__builtin_ctzll(like) / 8;
            bool same = (um_table_rest(t, line, i) & t->print_max) == key.print;
            if (same && line[i] == (uint8_t)key.tags)
                return (int)i;
        }
    }
    return -1;
}

/* Returns the first free slot, or -1 if the line is full. */
static inline int free_slot(const um_table *t, const uint8_t *line)
{
    for (uint32_t word = 0; word < 2; word++) {
        uint64_t open = um_zero_bytes(um_load64(line + (size_t)8 * word)) &
                        t->slot_tops[word];
        if (open)
            return (int)(8 * word) + __builtin_ctzll(open) / 8;
    }
    return -1;
}

/* --- many keys ----------------------------------------------------------- */

/* Fetches the first line of each key; and, once it is there, the second one of
 * those that need it. */
static void fetch_to_add(const um_table *t, const umbel_digest *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(um_table_line(t, d[i].lo), 1);
    for (size_t i = 0; i < n; i++)
        if (free_slot(t, um_table_line(t, d[i].lo)) < 0)
            __builtin_prefetch(
                um_table_line(t, um_classic_step(d[i].lo, d[i].hi)), 1);
}

typedef enum outcome { KNOWN, NEW, REFUSED } outcome;

/* The tag comes last: with it the entry is there. */
static outcome write_entry(const um_table *t, uint8_t *line, int slot,
                           um_table_key key, uint64_t amount)
{
    set_rest(t, line, (uint32_t)slot, key.print,
             amount < t->count_max ? amount : t->count_max);
    line[slot] = (uint8_t)key.tags;
    return NEW;
}

static void grow(const um_table *t, uint8_t *line, uint32_t slot,
                 uint64_t print, uint64_t amount)
{
    uint64_t count = count_at(t, line, slot);
    set_rest(t, line, slot, print, um_grown(count, amount, t->count_max));
}

static outcome add_one(const um_table *t, const umbel_digest *d,
                       uint64_t amount, bool has_room)
{
    um_table_key key = um_table_key_of(t, d->hi);
    uint64_t x = d->lo;

    for (int i = 0; i < REACH; i++, x = um_classic_step(x, d->hi)) {
        uint8_t *line = um_table_line(t, x);
        int slot = find_slot(t, line, key);
        if (slot >= 0) {
            grow(t, line, (uint32_t)slot, key.print, amount);
            return KNOWN;
        }
        slot = free_slot(t, line);
        if (slot >= 0)
            return has_room ? write_entry(t, line, slot, key, amount) : REFUSED;
    }
    return REFUSED;
}

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    um_table *t = self;
    uint64_t before = *t->added;
    size_t added = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t amount = amounts ? amounts[i] : 1;
        outcome what = KNOWN;

        if (i % UM_BATCH == 0)
            fetch_to_add(t, d + i, um_next_batch(n - i));
        if (amount)
            what = add_one(t, &d[i], amount, before + added < t->room);
        added += what == NEW;
        t->refused += what == REFUSED;
        if (fresh)
            fresh[i] = what == NEW;
    }
    return added;
}

static uint64_t consume_refused(void *self)
{
    um_table *t = self;
    uint64_t n = t->refused;

    t->refused = 0;
    return n;
}

/* A key that is still looked for: its number, and where. */
typedef struct search {
    size_t i;
    uint64_t x;
} search;

static inline search search_on(const um_table *t, size_t i, uint64_t x)
{
    __builtin_prefetch(um_table_line(t, x));
    return (search){i, x};
}

/* All keys probe their first line, then those that go on their second one, and
 * so on: the next lines of all are on their way at the same time. */
static void count_batch(const um_table *t, const umbel_digest *d, size_t n,
                        uint64_t *out)
{
    search todo[UM_BATCH];
    size_t ntodo = n;

    for (size_t i = 0; i < n; i++)
        todo[i] = search_on(t, i, d[i].lo);
    for (int round = 0; ntodo && round < REACH; round++) {
        size_t kept = 0;
        for (size_t j = 0; j < ntodo; j++) {
            size_t i = todo[j].i;
            const uint8_t *line = um_table_line(t, todo[j].x);
            int slot = find_slot(t, line, um_table_key_of(t, d[i].hi));

            out[i] = slot < 0 ? 0 : count_at(t, line, (uint32_t)slot);
            if (slot < 0 && free_slot(t, line) < 0)
                todo[kept++] =
                    search_on(t, i, um_classic_step(todo[j].x, d[i].hi));
        }
        ntodo = kept;
    }
}

static void count(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        count_batch(self, d + done, some, out + done);
    }
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    uint64_t counts[UM_BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        count_batch(self, d + done, some, counts);
        for (size_t i = 0; i < some; i++)
            hit[done + i] = counts[i] != 0;
    }
}

static void fetch(const void *self, const umbel_digest *d, size_t n)
{
    const um_table *t = self;

    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(um_table_line(t, d[i].lo));
        __builtin_prefetch(um_table_line(t, um_classic_step(d[i].lo, d[i].hi)));
    }
}

static uint64_t most(const void *self)
{
    return ((const um_table *)self)->count_max;
}

static umbel_status may_remove(const um_shape *s, umbel_error *err)
{
    (void)s;
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "counts of kind table cannot be taken back: an entry that "
                   "two keys share would fall for both; use kind counting with "
                   "update plain");
}

/* --- what it says of itself ---------------------------------------------- */

/* Shares of the lines that have 0 .. S entries. */
typedef struct loads {
    uint32_t slots;
    double share[MAX_SLOTS + 1];
} loads;

/*
 * Returns the chance that a key which is not in matches. Each line that it
 * probes is a random one: it is full, and matches nothing, with chance `on`;
 * `end` is the chance that it is not full and matches nothing.
 */
static double match_chance(const loads *l, uint32_t print_bits)
{
    double one = ldexp(1.0 / 255, -(int)print_bits);
    double end = 0, left = 1;

    for (uint32_t k = 0; k < l->slots; k++, left *= 1 - one)
        end += l->share[k] * left;
    double on = l->share[l->slots] * left;
    double ever = pow(on, REACH);
    return fmax(0, 1 - (on < 1 ? end * (1 - ever) / (1 - on) : 0) - ever);
}

/* Fills in min(Poisson(x), S); returns its mean. */
static double poisson_loads(double x, loads *l)
{
    double p = exp(-x), sum = 0, mean = 0;

    for (uint32_t k = 0; k < l->slots; k++) {
        l->share[k] = p;
        sum += p;
        mean += k * p;
        p *= x / (k + 1);
    }
    l->share[l->slots] = fmax(0, 1 - sum);
    return mean + l->slots * l->share[l->slots];
}

static void loads_at(double load, loads *l)
{
    double low = load, high = 20 * MAX_SLOTS;

    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;
        if (poisson_loads(mid, l) < load)
            low = mid;
        else
            high = mid;
    }
}

/* Beyond its room it has no error: it takes no such keys. */
static double error(const um_shape *s, const um_layout *lay, double keys)
{
    um_table_form f = form_of(s);
    loads l = {.slots = f.slots};

    (void)lay;
    if (keys > (double)room_of(s, &f))
        return 1;
    loads_at(keys / (double)lines_of(s), &l);
    return match_chance(&l, f.print_bits);
}

/* The top bits of bytes that are not 0, exactly. */
static inline uint64_t used_bytes(uint64_t word)
{
    return (((word & ~UM_BYTE_TOPS) + ~UM_BYTE_TOPS) | word) & UM_BYTE_TOPS;
}

static uint32_t load_of(const um_table *t, const uint8_t *line)
{
    return (
        uint32_t)(um_ones(used_bytes(um_load64(line)) & t->slot_tops[0]) +
                  um_ones(used_bytes(um_load64(line + 8)) & t->slot_tops[1]));
}

static double predict(const void *self)
{
    const um_table *t = self;
    uint64_t with[MAX_SLOTS + 1] = {0};
    loads l = {.slots = t->form.slots};

    for (uint64_t i = 0; i < t->lines; i++)
        with[load_of(t, t->at + i * UM_LINE)]++;
    for (uint32_t k = 0; k <= l.slots; k++)
        l.share[k] = (double)with[k] / (double)t->lines;
    return match_chance(&l, t->form.print_bits);
}

static uint64_t entries(const void *self)
{
    const um_table *t = self;
    uint64_t n = 0;

    for (uint64_t i = 0; i < t->lines; i++)
        n += load_of(t, t->at + i * UM_LINE);
    return n;
}

static void info(const void *self, umbel_info *out)
{
    const um_table *t = self;
    uint64_t used = entries(t), largest = 0, stuck = 0;

    for (uint64_t i = 0; i < t->lines; i++) {
        const uint8_t *line = t->at + i * UM_LINE;
        for (uint32_t j = 0; j < t->form.slots; j++) {
            uint64_t x = line[j] ? count_at(t, line, j) : 0;
            largest = x > largest ? x : largest;
            stuck += x == t->count_max;
        }
    }
    um_info_count(out, "count_limit", t->count_max);
    um_info_count(out, "entries", used);
    um_info_count(out, "slots", t->lines * t->form.slots);
    um_info_count(out, "room", t->room);
    um_info_count(out, "fingerprint_bits", TAG_BITS + t->form.print_bits);
    um_info_count(out, "counts_at_limit", stuck);
    um_info_count(out, "largest_count", largest);
    um_info_flag(out, "table_full", used >= t->room);
}

static uint64_t granule(uint32_t hashes)
{
    return hashes >= LEAST_PRINT && hashes <= MAX_PRINT ? LINE_BITS : 0;
}

/* The lines of a key are the kind's own matter. */
static const um_addressing lines = {
    .name = "lines64",
    .summary = "lines of 64 bytes, random ones until one has room",
    .block = LINE_BITS,
    .granule = granule,
};

static const um_row_counting counting = {
    .count = count, .fetch = fetch, .most = most, .may_remove = may_remove};

static void paged_forms(const um_shape *s, um_entry_form out[UM_MAX_SECTIONS])
{
    um_table_form f = form_of(s);

    out[0] = (um_entry_form){.layout = UM_ENTRY_LINES,
                             .n = lines_of(s) * f.slots,
                             .count_bits = f.rest_bits - f.print_bits,
                             .print_bits = f.print_bits + TAG_BITS,
                             .per_line = f.slots};
}

static const um_row_paged paged = {paged_forms};

const um_kind um_kind_table = {
    .name = "table",
    .summary = "how often a key was added, with a small error; refuses keys "
               "beyond its capacity",
    .settings = settings,
    .self_len = sizeof(um_table),
    .fixed_addressing = &lines,
    .unsupported_reason =
        {.join = "entries cannot be moved, and two tables would need the same "
                 "places; keep one table for each origin, ask all of them, and "
                 "add their counts"},
    .sections = sections,
    .attach = attach,
    .use_added = use_added,
    .add = add,
    .query = query,
    .refused = consume_refused,
    .entries = entries,
    .error = error,
    .predict = predict,
    .info = info,
    .counting = &counting,
    .paged = &paged,
    .columns = &um_table_columns,
    .sums = &um_table_sums,
};
