/*
 * store.c - split storage of counters.
 */
#include "papers/spam/split/store.h"

#include "base/bits.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

umbel_status um_split_init(um_split *s, unsigned low, uint64_t n,
                           umbel_error *err)
{
    uint64_t slots = (n + SPLIT_CHUNK - 1) / SPLIT_CHUNK * SPLIT_CHUNK;

    memset(s, 0, sizeof *s);
    s->low = low;
    s->base = calloc(n, 1);
    s->index = calloc(slots, sizeof *s->index);
    s->taken = calloc(slots, sizeof *s->taken);
    s->high = calloc(slots, sizeof *s->high);
    if (!s->base || !s->index || !s->taken || !s->high)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %llu cells",
                       (unsigned long long)n);
    return UMBEL_OK;
}

void um_split_fini(um_split *s)
{
    free(s->base);
    free(s->index);
    free(s->taken);
    free(s->high);
    memset(s, 0, sizeof *s);
}

/* Returns the slot of a cell in the table of its chunk, or the empty slot for
 * it. A full table has every cell of the chunk. */
static uint64_t find(um_split *s, uint32_t cell)
{
    uint64_t table = cell - cell % SPLIT_CHUNK;
    uint8_t index = (uint8_t)(cell % SPLIT_CHUNK);
    uint8_t at = (uint8_t)(index * 0x9Du); /* odd: a permutation */

    s->lookups++;
    while (s->taken[table + at] && s->index[table + at] != index)
        at++; /* wraps around the table, which has 256 slots */
    return table + at;
}

uint32_t um_split_get(um_split *s, uint32_t cell)
{
    uint32_t flag = 1u << s->low, b = s->base[cell];

    return b & flag ? (b & (flag - 1)) | s->high[find(s, cell)] << s->low : b;
}

void um_split_append(um_split *s, uint32_t cell, uint32_t value)
{
    uint32_t flag = 1u << s->low, high = value >> s->low;

    if (!high) {
        s->base[cell] = (uint8_t)value;
        return;
    }
    uint64_t at = find(s, cell);
    s->used += !s->taken[at];
    s->taken[at] = true;
    s->index[at] = (uint8_t)(cell % SPLIT_CHUNK);
    s->high[at] = high;
    s->base[cell] = (uint8_t)((value & (flag - 1)) | flag);
}

void um_split_merge(um_split *into, um_split *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        um_split_append(into, i, um_split_get(into, i) + um_split_get(from, i));
}
