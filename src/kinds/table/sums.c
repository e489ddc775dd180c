/*
 * table_sums.c - what many tables count together, at most.
 *
 * Lines of tables differ in what they hold, and where a key lies depends on
 * which lines are full. Its fingerprint is the same in all of them, and long:
 * so the sums are found by the fingerprint alone, four in one line of 64 bytes.
 * They take as much memory as two tables.
 */
#include "base/batch.h"
#include "base/hash.h"
#include "kinds/table/table.h"

#include <string.h>

enum {
    LINES_OF_LINE = 2, /* lines of sums for a line of a table */
    SUMS_OF_KEY = 4,
    PART = UM_LINE / SUMS_OF_KEY /* of a line: one sum in each */
};

static uint64_t len(const void *self)
{
    return ((const um_table *)self)->lines * LINES_OF_LINE * UM_LINE;
}

/* A hash of a fingerprint: the upper half is its line, the lower half its
 * places there. */
static inline uint64_t hash_of(uint64_t tag, uint64_t print)
{
    return um_remix(um_remix(print << UM_ENTRY_TAG_BITS | tag));
}

static inline uint8_t *line_of(const um_table *t, const um_sums *s, uint64_t x)
{
    return s->at + um_scale(x, t->lines * LINES_OF_LINE) * UM_LINE;
}

static inline uint8_t *sum_of(uint8_t *line, uint64_t x, unsigned i)
{
    return line + (size_t)i * PART + (x >> 4 * i) % PART;
}

static uint64_t count_in(const um_table *t, const uint8_t *line, uint32_t i)
{
    return (um_table_rest(t, line, i) >> t->form.print_bits) + 1;
}

/* By how much a slot has grown. */
static uint64_t growth_of(const um_table *t, const uint8_t *now,
                          const uint8_t *old, uint32_t i)
{
    uint64_t is = count_in(t, now, i), was;

    if (!old || old[i] != now[i] ||
        ((um_table_rest(t, old, i) ^ um_table_rest(t, now, i)) & t->print_max))
        return is;
    was = count_in(t, old, i);
    return is > was ? is - was : 0;
}

static void add_line(const um_table *t, const um_sums *to, const uint8_t *now,
                     const uint8_t *old)
{
    for (uint32_t i = 0; i < t->form.slots; i++) {
        uint64_t by = now[i] ? growth_of(t, now, old, i) : 0;
        if (!by)
            continue;
        uint64_t x = hash_of(now[i], um_table_rest(t, now, i) & t->print_max);
        uint8_t *line = line_of(t, to, x);
        for (unsigned j = 0; j < SUMS_OF_KEY; j++)
            um_sums_grow(sum_of(line, x, j), by);
    }
}

static void add(const void *self, const um_sums *to, const uint8_t *old,
                size_t offset, size_t bytes)
{
    const um_table *t = self;

    for (size_t i = 0; i < bytes; i += UM_LINE) {
        const uint8_t *now = t->at + offset + i;
        if (!old || memcmp(now, old + i, UM_LINE) != 0)
            add_line(t, to, now, old ? old + i : NULL);
    }
}

static uint8_t least_of(uint8_t *line, uint64_t x)
{
    uint8_t least = UM_SUMS_MOST;

    for (unsigned j = 0; j < SUMS_OF_KEY; j++) {
        uint8_t sum = *sum_of(line, x, j);
        least = sum < least ? sum : least;
    }
    return least;
}

static void bound_batch(const um_table *t, const um_sums *from,
                        const umbel_digest *d, size_t n, uint8_t *most)
{
    uint64_t x[UM_BATCH];

    for (size_t i = 0; i < n; i++) {
        um_table_key key = um_table_key_of(t, d[i].hi);
        x[i] = hash_of(key.tags & 0xFF, key.print);
        __builtin_prefetch(line_of(t, from, x[i]));
    }
    for (size_t i = 0; i < n; i++)
        most[i] = least_of(line_of(t, from, x[i]), x[i]);
}

static void bound(const void *self, const um_sums *from, const umbel_digest *d,
                  size_t n, uint8_t *most)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        bound_batch(self, from, d + done, some, most + done);
    }
}

const um_row_sums um_table_sums = {len, add, bound};
