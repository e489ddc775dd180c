/*
 * store.c - counters in two places.
 */
#include "papers/spam-split/store.h"

#include "base/bits.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

umbel_status um_split_init(um_split *s, unsigned low, uint64_t n,
                           umbel_error *err)
{
    memset(s, 0, sizeof *s);
    s->low = low;
    s->slots = n;
    s->base = calloc(n, 1);
    s->cell = calloc(n, sizeof *s->cell);
    s->high = calloc(n, sizeof *s->high);
    if (!s->base || !s->cell || !s->high)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %llu cells",
                       (unsigned long long)n);
    return UMBEL_OK;
}

void um_split_fini(um_split *s)
{
    free(s->base);
    free(s->cell);
    free(s->high);
    memset(s, 0, sizeof *s);
}

/* Where the cell is in the table, or the empty slot where it would be: at most
 * half of the slots are taken. */
static uint64_t find(um_split *s, uint32_t cell)
{
    uint64_t at = um_scale((cell + 1) * 0x9E3779B97F4A7C15u, s->slots);

    s->lookups++;
    while (s->cell[at] && s->cell[at] != cell + 1)
        at = at + 1 < s->slots ? at + 1 : 0;
    return at;
}

uint32_t um_split_get(um_split *s, uint32_t cell)
{
    uint32_t flag = 1u << s->low, b = s->base[cell];

    return b & flag ? (b & (flag - 1)) | s->high[find(s, cell)] << s->low : b;
}

bool um_split_put(um_split *s, uint32_t cell, uint32_t value)
{
    uint32_t flag = 1u << s->low, high = value >> s->low;

    if (!high) {
        s->base[cell] = (uint8_t)value;
        return true;
    }
    uint64_t at = find(s, cell);
    if (!s->cell[at]) {
        if (2 * (s->used + 1) > s->slots)
            return false;
        s->used++;
        s->cell[at] = cell + 1;
    }
    s->high[at] = high;
    s->base[cell] = (uint8_t)((value & (flag - 1)) | flag);
    return true;
}

bool um_split_merge(um_split *into, um_split *from, uint32_t n)
{
    bool fits = true;

    for (uint32_t i = 0; fits && i < n; i++)
        fits = um_split_put(into, i,
                            um_split_get(into, i) + um_split_get(from, i));
    return fits;
}
