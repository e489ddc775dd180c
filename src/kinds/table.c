/*
 * table.c - kind table: fingerprints and counts, for small errors.
 *
 * A key has one entry: a fingerprint of f bits, and a count. Entries are in
 * lines of 64 bytes, S per line. A key probes a pseudorandom sequence of lines
 * until it finds its fingerprint, or a line that is not full, where its entry
 * belongs. Entries never move, nothing is removed, and counts only grow; so a
 * query that finds a free slot knows that the key was not added, and any line
 * of an older copy is a former state of that line.
 *
 *   a line   | S tags of 8 bits | S times: fingerprint, rest | count - 1 |
 *
 * A tag is the part of the fingerprint by which eight slots are compared at
 * once, in a 64-bit word: 1 .. 255, and 0 in a free slot. `hashes` is f; w - f
 * bits of a slot remain for the count, where S = 512 / (f + cell_bits), at most
 * 16, and w = 512 / S. Counts saturate.
 *
 * A table accepts keys until 9/10 of its slots are used, and then refuses them
 * (E_FULL). At that load 57 % of the lines are full when S is 13, and a key
 * that was not added probes 2.3 lines with 27 entries, so its probability of a
 * false positive is 27 / 2^f. The loads of lines are min(Poisson(x), S), with x
 * chosen to give the right mean: lines are probed at random, independently of
 * earlier keys.
 *
 * A forged table may have any lines. REACH bounds a search; admission computes
 * the probability of a match from the share of lines with each load.
 *
 * Compare: cuckoo filters (Fan, Andersen, Kaminsky, Mitzenmacher 2014) store
 * fingerprints at a higher load, but move them. Counting quotient filters
 * (Pandey, Bender, Johnson, Patro 2017) also move entries.
 * Own table: see bench_mechanisms.
 * When not to use it: for errors above 2 % counting is smaller; to merge or
 * remove counts, or to count beyond the capacity, use counting.
 */
#include "base/batch.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/addressing/addressing.h"
#include "filter/kind.h"
#include "kinds/counting/cells.h"
#include "kinds/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    REACH = 64 /* lines that a key probes at most; on the wire */
};

#define BYTE_ONES UINT64_C(0x0101010101010101)
#define BYTE_TOPS UINT64_C(0x8080808080808080)

/* The division of a line. */
typedef struct table_form {
    uint32_t slots;
    uint32_t print_bits; /* without the tag */
    uint32_t rest_bits;  /* of the fingerprint and the count */
} table_form;

typedef struct table {
    const uint64_t *added; /* the handle's number of keys */
    uint8_t *at;
    uint64_t lines, capacity; /* capacity: in keys */
    uint64_t refused;         /* keys that the last add refused */
    table_form form;
    uint64_t rest_max, print_max, count_max;
    uint64_t slot_tops[2]; /* masks the top bits of the slots' tags, in the
                              line's two words */
} table;

/* The fingerprint of a key. */
typedef struct table_key {
    uint64_t tags;  /* its tag in every byte */
    uint64_t print; /* the rest of its fingerprint */
} table_key;

static inline table_key table_key_of(const table *t, uint64_t hi)
{
    return (table_key){(1 + ((hi >> 32) * 255 >> 32)) * BYTE_ONES,
                       hi & t->print_max};
}

static inline uint8_t *table_line(const table *t, uint64_t x)
{
    return t->at + um_scale(x, t->lines) * UM_LINE;
}

/* Returns the top bits of bytes that are 0. Above the first such byte, a byte
 * of 1 may be included. */
static inline uint64_t zero_tops(uint64_t word)
{
    return (word - BYTE_ONES) & ~word & BYTE_TOPS;
}

/* Returns the fingerprint and count of a slot. */
static inline uint64_t table_rest(const table *t, const uint8_t *line,
                                  uint32_t i)
{
    uint64_t bit = (uint64_t)UM_ENTRY_TAG_BITS * t->form.slots +
                   (uint64_t)i * t->form.rest_bits;
    return um_get_field(line, bit, t->form.rest_bits, t->rest_max);
}

enum {
    LINE_BITS = 8 * UM_LINE,
    TAG_BITS = UM_ENTRY_TAG_BITS,
    MAX_SLOTS = 16, /* of a line */
    MIN_PRINT = 8,  /* bits of a fingerprint, at least */
    MAX_PRINT = 40,
    MAX_COUNT = 32, /* bits of a count, at most */
    LOAD_NUM = 9,
    LOAD_DEN = 10
};

enum { CELL_BITS }; /* index of the setting */

static const umbel_setting_info settings[] = {
    [CELL_BITS] = {"cell_bits", "bits of a count, at least", 1, MAX_COUNT, 14},
    {NULL, NULL, 0, 0, 0}};

static table_form form_of(const um_shape *s)
{
    uint32_t print = s->hashes - TAG_BITS,
             least = (uint32_t)s->setting[CELL_BITS];
    uint32_t slots = LINE_BITS / (s->hashes + least);

    slots = slots < MAX_SLOTS ? slots : MAX_SLOTS;
    uint32_t count = LINE_BITS / slots - s->hashes;
    return (table_form){slots, print,
                        print + (count < MAX_COUNT ? count : MAX_COUNT)};
}

static uint64_t lines_of(const um_shape *s)
{
    return s->cells / LINE_BITS;
}

static uint64_t capacity_of(const um_shape *s, const table_form *f)
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
    table_form f = form_of(s);
    uint32_t count_bits = f.rest_bits - f.print_bits;

    (void)l;
    *(table *)self = (table){
        .at = memory[0],
        .lines = lines_of(s),
        .capacity = capacity_of(s, &f),
        .form = f,
        .rest_max = UINT64_MAX >> (64 - f.rest_bits),
        .print_max = ((uint64_t)1 << f.print_bits) - 1,
        .count_max = (uint64_t)1 << count_bits,
        .slot_tops = {f.slots < 8 ? BYTE_TOPS >> (64 - 8 * f.slots) : BYTE_TOPS,
                      f.slots > 8 ? BYTE_TOPS >> (128 - 8 * f.slots) : 0},
    };
}

static void use_added(void *self, const uint64_t *added)
{
    ((table *)self)->added = added;
}

/* --- one line ------------------------------------------------------------- */

static inline void set_rest(const table *t, uint8_t *line, uint32_t i,
                            uint64_t print, uint64_t count)
{
    uint64_t bit =
        (uint64_t)TAG_BITS * t->form.slots + (uint64_t)i * t->form.rest_bits;
    um_set_field(line, bit, t->form.rest_bits, t->rest_max,
                 print | (count - 1) << t->form.print_bits);
}

static inline uint64_t count_at(const table *t, const uint8_t *line, uint32_t i)
{
    return (table_rest(t, line, i) >> t->form.print_bits) + 1;
}

/* Returns the slot that holds the key, or -1. */
static inline int find_slot(const table *t, const uint8_t *line, table_key key)
{
    for (uint32_t word = 0; word < 2; word++) {
        uint64_t like =
            zero_tops(um_load64(line + (size_t)8 * word) ^ key.tags) &
            t->slot_tops[word];
        for (; like; like &= like - 1) {
            uint32_t i = 8 * word + (uint32_t)__builtin_ctzll(like) / 8;
            bool same = (table_rest(t, line, i) & t->print_max) == key.print;
            if (same && line[i] == (uint8_t)key.tags)
                return (int)i;
        }
    }
    return -1;
}

/* Returns the first free slot, or -1 if the line is full. */
static inline int free_slot(const table *t, const uint8_t *line)
{
    for (uint32_t word = 0; word < 2; word++) {
        uint64_t open =
            zero_tops(um_load64(line + (size_t)8 * word)) & t->slot_tops[word];
        if (open)
            return (int)(8 * word) + __builtin_ctzll(open) / 8;
    }
    return -1;
}

/* --- many keys ------------------------------------------------------------ */

/* Prefetches the first line of each key; once it has arrived, the second one
 * for keys that need it. */
static void fetch_to_add(const table *t, const umbel_digest *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(table_line(t, d[i].lo), 1);
    for (size_t i = 0; i < n; i++)
        if (free_slot(t, table_line(t, d[i].lo)) < 0)
            __builtin_prefetch(table_line(t, um_classic_step(d[i].lo, d[i].hi)),
                               1);
}

typedef enum outcome { KNOWN, NEW, REFUSED } outcome;

/* Writes an entry. The tag is written last: it makes the entry valid. */
static outcome write_entry(const table *t, uint8_t *line, int slot,
                           table_key key, uint64_t amount)
{
    set_rest(t, line, (uint32_t)slot, key.print,
             amount < t->count_max ? amount : t->count_max);
    line[slot] = (uint8_t)key.tags;
    return NEW;
}

static void grow(const table *t, uint8_t *line, uint32_t slot, uint64_t print,
                 uint64_t amount)
{
    uint64_t count = count_at(t, line, slot);
    set_rest(t, line, slot, print, um_grown(count, amount, t->count_max));
}

static outcome add_one(const table *t, const umbel_digest *d, uint64_t amount,
                       bool has_space)
{
    table_key key = table_key_of(t, d->hi);
    uint64_t x = d->lo;

    for (int i = 0; i < REACH; i++, x = um_classic_step(x, d->hi)) {
        uint8_t *line = table_line(t, x);
        int slot = find_slot(t, line, key);
        if (slot >= 0) {
            grow(t, line, (uint32_t)slot, key.print, amount);
            return KNOWN;
        }
        slot = free_slot(t, line);
        if (slot >= 0)
            return has_space ? write_entry(t, line, slot, key, amount)
                             : REFUSED;
    }
    return REFUSED;
}

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    table *t = self;
    uint64_t before = *t->added;
    size_t added = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t amount = amounts ? amounts[i] : 1;
        outcome what = KNOWN;

        if (i % UM_BATCH == 0)
            fetch_to_add(t, d + i, um_next_batch(n - i));
        if (amount)
            what = add_one(t, &d[i], amount, before + added < t->capacity);
        added += what == NEW;
        t->refused += what == REFUSED;
        if (fresh)
            fresh[i] = what == NEW;
    }
    return added;
}

static uint64_t consume_refused(void *self)
{
    table *t = self;
    uint64_t n = t->refused;

    t->refused = 0;
    return n;
}

/* A key whose search continues: its index, and the state of its sequence. */
typedef struct search {
    size_t i;
    uint64_t x;
} search;

static inline search search_on(const table *t, size_t i, uint64_t x)
{
    __builtin_prefetch(table_line(t, x));
    return (search){i, x};
}

/* Counts a batch. All keys probe their first line, then the remaining ones
 * their second, and so on: the next lines of all keys are prefetched
 * together. */
static void count_batch(const table *t, const umbel_digest *d, size_t n,
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
            const uint8_t *line = table_line(t, todo[j].x);
            int slot = find_slot(t, line, table_key_of(t, d[i].hi));

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
    const table *t = self;

    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(table_line(t, d[i].lo));
        __builtin_prefetch(table_line(t, um_classic_step(d[i].lo, d[i].hi)));
    }
}

static uint64_t most(const void *self)
{
    return ((const table *)self)->count_max;
}

static umbel_status may_remove(const um_shape *s, umbel_error *err)
{
    (void)s;
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "counts of kind table cannot be taken back: an entry that "
                   "two keys share would fall for both; use kind counting with "
                   "update plain");
}

/* --- predictions and description ------------------------------------------ */

/* Shares of the lines that have 0 .. S entries. */
typedef struct loads {
    uint32_t slots;
    double share[MAX_SLOTS + 1];
} loads;

/*
 * Returns the probability that a key which was not added matches. Each line it
 * probes is random: full and without a match with probability `on`, not full
 * and without a match with probability `end`.
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

/* Computes the loads min(Poisson(x), S); returns their mean. */
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

/* Returns the error; 1 beyond the capacity, where the table refuses keys. */
static double error(const um_shape *s, const um_layout *lay, double keys)
{
    table_form f = form_of(s);
    loads l = {.slots = f.slots};

    (void)lay;
    if (keys > (double)capacity_of(s, &f))
        return 1;
    loads_at(keys / (double)lines_of(s), &l);
    return match_chance(&l, f.print_bits);
}

/* Returns the top bits of exactly the bytes that are not 0. */
static inline uint64_t used_bytes(uint64_t word)
{
    return (((word & ~BYTE_TOPS) + ~BYTE_TOPS) | word) & BYTE_TOPS;
}

static uint32_t load_of(const table *t, const uint8_t *line)
{
    return (
        uint32_t)(um_ones(used_bytes(um_load64(line)) & t->slot_tops[0]) +
                  um_ones(used_bytes(um_load64(line + 8)) & t->slot_tops[1]));
}

static double predict(const void *self)
{
    const table *t = self;
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
    const table *t = self;
    uint64_t n = 0;

    for (uint64_t i = 0; i < t->lines; i++)
        n += load_of(t, t->at + i * UM_LINE);
    return n;
}

static void info(const void *self, umbel_info *out)
{
    const table *t = self;
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
    um_info_count(out, "room", t->capacity);
    um_info_count(out, "fingerprint_bits", TAG_BITS + t->form.print_bits);
    um_info_count(out, "counts_at_limit", stuck);
    um_info_count(out, "largest_count", largest);
    um_info_flag(out, "table_full", used >= t->capacity);
}

static uint64_t granule(uint32_t hashes)
{
    return hashes >= MIN_PRINT && hashes <= MAX_PRINT ? LINE_BITS : 0;
}

/* The addressing of the kind: lines, which only the kind interprets. */
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
    table_form f = form_of(s);

    out[0] = (um_entry_form){.layout = UM_ENTRY_LINES,
                             .n = lines_of(s) * f.slots,
                             .count_bits = f.rest_bits - f.print_bits,
                             .print_bits = f.print_bits + TAG_BITS,
                             .per_line = f.slots};
}

static const um_row_paged paged = {paged_forms};

/* --- index of many tables: which may hold a key ----------------------------
 *
 * A key is in the first line it probes, or in a later one if the lines before
 * are full. So for each line and each table the index records whether it is
 * full, and some bits for the fingerprints in it. These are in blocks of 64
 * bytes: a fingerprint selects a block and two rows in it, so that a line takes
 * one memory access.
 *
 *   a block   | row: full | row | row | ...     rows of `width` columns
 *
 * A line has width / 4 blocks, 16 bytes for each table: a fourth of its own 64.
 * In a full table, a key that is not in it is found with probability 3 %.
 */

/* The division of a line of the index into n blocks. */
typedef struct blocks {
    unsigned n;    /* a power of two */
    uint32_t rows; /* of a block */
    size_t row_len;
} blocks;

static blocks blocks_of(unsigned width)
{
    return (blocks){width / 4, 8 * UM_LINE / width, width / 8};
}

static uint64_t index_len(const void *self, unsigned width)
{
    return ((const table *)self)->lines * blocks_of(width).n * UM_LINE;
}

/* The offsets of a fingerprint's bits in any line of the index. */
typedef struct place {
    uint32_t block, one, other;
} place;

static inline place place_of(blocks b, uint64_t tag, uint64_t print)
{
    uint64_t x = um_remix(um_remix(print << UM_ENTRY_TAG_BITS | tag));
    uint64_t more = b.rows - 1;
    uint64_t block = (x & (b.n - 1)) * UM_LINE;
    uint64_t one = (x >> 8 & 0xFFFF) * more >> 16;
    uint64_t other = one + 1 + ((x >> 24 & 0xFFFF) * (more - 1) >> 16);

    other = other < more ? other : other - more;
    return (place){(uint32_t)block, (uint32_t)(block + (1 + one) * b.row_len),
                   (uint32_t)(block + (1 + other) * b.row_len)};
}

/* --- marking -------------------------------------------------------------- */

typedef struct column {
    size_t byte;
    uint8_t bit;
} column;

static void mark_line(const table *t, blocks b, column c, const uint8_t *at,
                      uint8_t *to)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < t->form.slots; i++) {
        if (!at[i])
            continue;
        place p = place_of(b, at[i], table_rest(t, at, i) & t->print_max);
        to[p.one + c.byte] |= c.bit;
        to[p.other + c.byte] |= c.bit;
        used++;
    }
    for (unsigned i = 0; i < b.n && used == t->form.slots; i++)
        to[(size_t)i * UM_LINE + c.byte] |= c.bit;
}

static void index_mark(const void *self, const um_filter_index *to,
                       unsigned number, size_t offset, size_t bytes)
{
    const table *t = self;
    blocks b = blocks_of(to->width);
    column c = {number / 8, (uint8_t)(1U << number % 8)};

    for (size_t i = offset / UM_LINE; i < (offset + bytes) / UM_LINE; i++)
        mark_line(t, b, c, t->at + i * UM_LINE, to->at + i * b.n * UM_LINE);
}

/* --- finding -------------------------------------------------------------- */

/* A key whose search continues in those columns where all lines so far are
 * full. */
typedef struct index_search {
    uint64_t x, columns;
    const uint8_t *line;
    place place;
    uint32_t i;
} index_search;

static inline void fetch_line(const table *t, const um_filter_index *c,
                              size_t line_len, index_search *s)
{
    s->line = c->at + um_scale(s->x, t->lines) * line_len;
    __builtin_prefetch(s->line + s->place.block);
}

/* Finds a batch like count_batch: the next lines of all keys are prefetched
 * together. A row is read as a whole word; columns beyond it are not among
 * those searched. */
static void find_batch(const table *t, const um_filter_index *c,
                       const umbel_digest *d, size_t n, uint64_t *mask)
{
    blocks b = blocks_of(c->width);
    size_t line_len = (size_t)b.n * UM_LINE;
    index_search todo[UM_BATCH];
    size_t ntodo = n;

    for (size_t i = 0; i < n; i++) {
        table_key key = table_key_of(t, d[i].hi);
        todo[i] =
            (index_search){.i = (uint32_t)i,
                           .x = d[i].lo,
                           .columns = UINT64_MAX >> (64 - c->width),
                           .place = place_of(b, key.tags & 0xFF, key.print)};
        fetch_line(t, c, line_len, &todo[i]);
        mask[i] = 0;
    }
    for (int round = 0; ntodo && round < REACH; round++) {
        size_t kept = 0;
        for (size_t j = 0; j < ntodo; j++) {
            index_search s = todo[j];
            uint64_t found = s.columns & um_load64(s.line + s.place.one) &
                             um_load64(s.line + s.place.other);
            mask[s.i] |= found;
            s.columns &= ~found & um_load64(s.line + s.place.block);
            s.x = um_classic_step(s.x, d[s.i].hi);
            if (!s.columns)
                continue;
            fetch_line(t, c, line_len, &s);
            todo[kept++] = s;
        }
        ntodo = kept;
    }
}

static void index_find(const void *self, const um_filter_index *c,
                       const umbel_digest *d, size_t n, uint64_t *mask)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        find_batch(self, c, d + done, some, mask + done);
    }
}

static const um_row_index table_index = {index_len, index_mark, index_find};

/* --- totals of many tables -------------------------------------------------
 *
 * The lines of tables differ, and the place of a key depends on which lines are
 * full. But its fingerprint is the same in all tables, and long: so it alone
 * selects four sums, in one line of 64 bytes. The sums take as much memory as
 * two tables.
 */

enum {
    LINES_OF_LINE = 2, /* lines of sums per line of a table */
    SUMS_OF_KEY = 4,
    PART = UM_LINE / SUMS_OF_KEY /* of a line, with one of a key's sums */
};

static uint64_t totals_len(const void *self)
{
    return ((const table *)self)->lines * LINES_OF_LINE * UM_LINE;
}

/* Hashes a fingerprint: the upper half selects its line of sums, the lower half
 * the sums in it. */
static inline uint64_t hash_of(uint64_t tag, uint64_t print)
{
    return um_remix(um_remix(print << UM_ENTRY_TAG_BITS | tag));
}

static inline uint8_t *line_of(const table *t, const um_count_totals *s,
                               uint64_t x)
{
    return s->at + um_scale(x, t->lines * LINES_OF_LINE) * UM_LINE;
}

static inline uint8_t *sum_of(uint8_t *line, uint64_t x, unsigned i)
{
    return line + (size_t)i * PART + (x >> 4 * i) % PART;
}

static uint64_t count_in(const table *t, const uint8_t *line, uint32_t i)
{
    return (table_rest(t, line, i) >> t->form.print_bits) + 1;
}

/* Returns the growth of a slot's count. */
static uint64_t growth_of(const table *t, const uint8_t *now,
                          const uint8_t *old, uint32_t i)
{
    uint64_t is = count_in(t, now, i), was;

    if (!old || old[i] != now[i] ||
        ((table_rest(t, old, i) ^ table_rest(t, now, i)) & t->print_max))
        return is;
    was = count_in(t, old, i);
    return is > was ? is - was : 0;
}

static void add_line(const table *t, const um_count_totals *to,
                     const uint8_t *now, const uint8_t *old)
{
    for (uint32_t i = 0; i < t->form.slots; i++) {
        uint64_t by = now[i] ? growth_of(t, now, old, i) : 0;
        if (!by)
            continue;
        uint64_t x = hash_of(now[i], table_rest(t, now, i) & t->print_max);
        uint8_t *line = line_of(t, to, x);
        for (unsigned j = 0; j < SUMS_OF_KEY; j++)
            um_total_grow(sum_of(line, x, j), by);
    }
}

static void totals_add(const void *self, const um_count_totals *to,
                       const uint8_t *old, size_t offset, size_t bytes)
{
    const table *t = self;

    for (size_t i = 0; i < bytes; i += UM_LINE) {
        const uint8_t *now = t->at + offset + i;
        if (!old || memcmp(now, old + i, UM_LINE) != 0)
            add_line(t, to, now, old ? old + i : NULL);
    }
}

static uint8_t least_of(uint8_t *line, uint64_t x)
{
    uint8_t least = UM_TOTAL_MAX;

    for (unsigned j = 0; j < SUMS_OF_KEY; j++) {
        uint8_t sum = *sum_of(line, x, j);
        least = sum < least ? sum : least;
    }
    return least;
}

static void bound_batch(const table *t, const um_count_totals *from,
                        const umbel_digest *d, size_t n, uint8_t *most)
{
    uint64_t x[UM_BATCH];

    for (size_t i = 0; i < n; i++) {
        table_key key = table_key_of(t, d[i].hi);
        x[i] = hash_of(key.tags & 0xFF, key.print);
        __builtin_prefetch(line_of(t, from, x[i]));
    }
    for (size_t i = 0; i < n; i++)
        most[i] = least_of(line_of(t, from, x[i]), x[i]);
}

static void totals_bound(const void *self, const um_count_totals *from,
                         const umbel_digest *d, size_t n, uint8_t *most)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        bound_batch(self, from, d + done, some, most + done);
    }
}

static const um_row_totals table_totals = {totals_len, totals_add,
                                           totals_bound};

/* --- the row -------------------------------------------------------------- */

const um_kind um_kind_table = {
    .name = "table",
    .summary = "how often a key was added, with a small error; refuses keys "
               "beyond its capacity",
    .admissible = true,
    .settings = settings,
    .self_len = sizeof(table),
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
    .index = &table_index,
    .totals = &table_totals,
};
