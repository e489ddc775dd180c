/*
 * table_columns.c - which of many tables may hold a key.
 *
 * A key is in the first line it probes, or in a later one if the lines before
 * are full. So each line has, for each table, whether it is full there, and
 * some bits for the fingerprints in it. They lie in blocks of 64 bytes: a
 * fingerprint has one of them, and two rows in it, so that a line takes one
 * fetch from memory.
 *
 *   a block   | row: full | row | row | ...     rows of `width` columns
 *
 * A line has width / 4 blocks, 16 bytes for each table: a fourth of its own 64.
 * When a table is full, a key that is not in it is found in three rows of a
 * hundred.
 */
#include "addressing/classic.h"
#include "base/batch.h"
#include "kinds/table.h"

enum { ROWS_BITS = 8 * UM_LINE };

/* How blocks are divided. */
typedef struct blocks {
    unsigned n;    /* of a line; a power of two */
    uint32_t rows; /* of a block */
} blocks;

static blocks blocks_of(unsigned width)
{
    return (blocks){width / 4, ROWS_BITS / width};
}

static uint64_t len(const void *self, unsigned width)
{
    return ((const um_table *)self)->lines * blocks_of(width).n * UM_LINE;
}

/* Where a fingerprint is noted: rows of the whole. */
typedef struct place {
    uint64_t full, one, other;
} place;

static inline place place_of(blocks b, uint64_t line, uint64_t tag,
                             uint64_t print)
{
    uint64_t x = um_remix(um_remix(print << UM_ENTRY_TAG_BITS | tag));
    uint64_t first = (line * b.n + (x & (b.n - 1))) * b.rows;
    uint64_t more = b.rows - 1;
    uint64_t one = (x >> 8 & 0xFFFF) * more >> 16;
    uint64_t other = one + 1 + ((x >> 24 & 0xFFFF) * (more - 1) >> 16);

    return (place){first, first + 1 + one,
                   first + 1 + (other < more ? other : other - more)};
}

static void mark_full(const um_columns *c, blocks b, uint64_t line,
                      unsigned column)
{
    for (unsigned i = 0; i < b.n; i++)
        um_columns_set(c, (line * b.n + i) * b.rows, column);
}

static void mark(const void *self, const um_columns *c, unsigned column,
                 size_t offset, size_t bytes)
{
    const um_table *t = self;
    blocks b = blocks_of(c->width);

    for (uint64_t line = offset / UM_LINE; line < (offset + bytes) / UM_LINE;
         line++) {
        const uint8_t *at = t->at + line * UM_LINE;
        uint32_t used = 0;
        for (uint32_t i = 0; i < t->form.slots; i++) {
            if (!at[i])
                continue;
            place p = place_of(b, line, at[i],
                               um_table_rest(t, at, i) & t->print_max);
            um_columns_set(c, p.one, column);
            um_columns_set(c, p.other, column);
            used++;
        }
        if (used == t->form.slots)
            mark_full(c, b, line, column);
    }
}

/* A key that is still looked for, in columns where all lines so far are full.
 */
typedef struct search {
    size_t i;
    uint64_t x, columns;
    place place;
} search;

static inline search search_on(const um_table *t, const um_columns *c, blocks b,
                               const umbel_digest *d, search s)
{
    um_table_key key = um_table_key_of(t, d[s.i].hi);

    s.place = place_of(b, um_scale(s.x, t->lines), key.tags & 0xFF, key.print);
    __builtin_prefetch(c->at + s.place.full * (c->width / 8));
    return s;
}

/* As the table's own count_batch: the next lines of all keys are on their way
 * at the same time. */
static void find_batch(const um_table *t, const um_columns *c,
                       const umbel_digest *d, size_t n, uint64_t *mask)
{
    blocks b = blocks_of(c->width);
    search todo[UM_BATCH];
    size_t ntodo = n;

    for (size_t i = 0; i < n; i++) {
        todo[i] = search_on(t, c, b, d,
                            (search){.i = i, .x = d[i].lo, .columns = ~0ULL});
        mask[i] = 0;
    }
    for (int round = 0; ntodo && round < UM_TABLE_REACH; round++) {
        size_t kept = 0;
        for (size_t j = 0; j < ntodo; j++) {
            search s = todo[j];
            uint64_t found = s.columns & um_columns_row(c, s.place.one) &
                             um_columns_row(c, s.place.other);
            mask[s.i] |= found;
            s.columns &= ~found & um_columns_row(c, s.place.full);
            s.x = um_classic_step(s.x, d[s.i].hi);
            if (s.columns)
                todo[kept++] = search_on(t, c, b, d, s);
        }
        ntodo = kept;
    }
}

static void find(const void *self, const um_columns *c, const umbel_digest *d,
                 size_t n, uint64_t *mask)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        find_batch(self, c, d + done, some, mask + done);
    }
}

const um_row_columns um_table_columns = {len, mark, find};
