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
#include "base/batch.h"
#include "filter/addressing/classic.h"
#include "kinds/table/table.h"

/* How blocks are divided; lines of the index are n blocks. */
typedef struct blocks {
    unsigned n;    /* a power of two */
    uint32_t rows; /* of a block */
    size_t row_len;
} blocks;

static blocks blocks_of(unsigned width)
{
    return (blocks){width / 4, 8 * UM_LINE / width, width / 8};
}

static uint64_t len(const void *self, unsigned width)
{
    return ((const um_table *)self)->lines * blocks_of(width).n * UM_LINE;
}

/* Where a fingerprint is noted, in any line: bytes from where the line begins.
 */
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

/* --- noting --------------------------------------------------------------- */

typedef struct column {
    size_t byte;
    uint8_t bit;
} column;

static void mark_line(const um_table *t, blocks b, column c, const uint8_t *at,
                      uint8_t *to)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < t->form.slots; i++) {
        if (!at[i])
            continue;
        place p = place_of(b, at[i], um_table_rest(t, at, i) & t->print_max);
        to[p.one + c.byte] |= c.bit;
        to[p.other + c.byte] |= c.bit;
        used++;
    }
    for (unsigned i = 0; i < b.n && used == t->form.slots; i++)
        to[(size_t)i * UM_LINE + c.byte] |= c.bit;
}

static void mark(const void *self, const um_columns *to, unsigned number,
                 size_t offset, size_t bytes)
{
    const um_table *t = self;
    blocks b = blocks_of(to->width);
    column c = {number / 8, (uint8_t)(1U << number % 8)};

    for (size_t i = offset / UM_LINE; i < (offset + bytes) / UM_LINE; i++)
        mark_line(t, b, c, t->at + i * UM_LINE, to->at + i * b.n * UM_LINE);
}

/* --- finding -------------------------------------------------------------- */

/* A key that is still looked for, in columns where all lines so far are full.
 */
typedef struct search {
    uint64_t x, columns;
    const uint8_t *line;
    place place;
    uint32_t i;
} search;

static inline void fetch_line(const um_table *t, const um_columns *c,
                              size_t line_len, search *s)
{
    s->line = c->at + um_scale(s->x, t->lines) * line_len;
    __builtin_prefetch(s->line + s->place.block);
}

/* As the table's own count_batch: the next lines of all keys are on their way
 * at the same time. A row is read as a whole word; columns beyond it are not
 * among those that are looked for. */
static void find_batch(const um_table *t, const um_columns *c,
                       const umbel_digest *d, size_t n, uint64_t *mask)
{
    blocks b = blocks_of(c->width);
    size_t line_len = (size_t)b.n * UM_LINE;
    search todo[UM_BATCH];
    size_t ntodo = n;

    for (size_t i = 0; i < n; i++) {
        um_table_key key = um_table_key_of(t, d[i].hi);
        todo[i] = (search){.i = (uint32_t)i,
                           .x = d[i].lo,
                           .columns = UINT64_MAX >> (64 - c->width),
                           .place = place_of(b, key.tags & 0xFF, key.print)};
        fetch_line(t, c, line_len, &todo[i]);
        mask[i] = 0;
    }
    for (int round = 0; ntodo && round < UM_TABLE_REACH; round++) {
        size_t kept = 0;
        for (size_t j = 0; j < ntodo; j++) {
            search s = todo[j];
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

static void find(const void *self, const um_columns *c, const umbel_digest *d,
                 size_t n, uint64_t *mask)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        find_batch(self, c, d + done, some, mask + done);
    }
}

const um_row_columns um_table_columns = {len, mark, find};
