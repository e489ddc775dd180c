/*
 * filter.c - the library's filters for the experiments, and the keys that
 * affect their errors.
 */
#include "papers/spam/filter.h"

#include "filter/handle.h"
#include "kinds/counting/cells.h"

#include <string.h>

umbel_status um_spam_open(uint64_t cells, unsigned hashes, unsigned bits,
                          unsigned update, uint64_t seed, umbel_filter **out,
                          umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting settings[] = {{"cell_bits", bits}, {"update", update}};

    p.addressing = "universal";
    p.cells = cells;
    p.hashes = hashes;
    p.seed = seed;
    p.settings = settings;
    p.nsettings = 2;
    return umbel_create("counting", &p, out, err);
}

static um_cells counters(const umbel_filter *f)
{
    return um_cells_of(f->payload, (uint32_t)um_shape_of(f)->setting[0]);
}

uint64_t um_spam_counter(const umbel_filter *f, uint64_t i)
{
    um_cells c = counters(f);
    return um_cell(&c, i);
}

void um_spam_set_counter(umbel_filter *f, uint64_t i, uint64_t value)
{
    um_cells c = counters(f);
    um_set_cell(&c, i, value);
}

void um_spam_cells(const umbel_filter *f, umbel_digest d, uint64_t *cells)
{
    f->layout.row->positions(&f->layout, &d, 1, cells);
}

static bool all_differ(const uint64_t *pos, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (pos[i] == pos[j])
                return false;
    return true;
}

umbel_digest um_spam_spread_key(const umbel_filter *f)
{
    const um_layout *l = &f->layout;
    uint64_t pos[UM_MAX_HASHES];

    for (uint64_t key = 1;; key++) {
        umbel_digest d = um_spam_digest(key);
        l->row->positions(l, &d, 1, pos);
        if (all_differ(pos, l->hashes))
            return d;
    }
}

static void mark_cells(const um_layout *l, const umbel_digest *d, uint8_t *mark)
{
    uint64_t pos[UM_MAX_HASHES];

    l->row->positions(l, d, 1, pos);
    for (uint32_t j = 0; j < l->hashes; j++)
        mark[pos[j]] = 1;
}

/* Positions are computed for many keys at a time, because each call draws the
 * functions. */
void um_spam_relevant(const umbel_filter *f, const umbel_digest *d, size_t n,
                      const bool *suspect, uint8_t *mark, bool *kept)
{
    enum { MANY = 64 };
    const um_layout *l = &f->layout;
    uint64_t pos[MANY * UM_MAX_HASHES];

    memset(mark, 0, l->cells);
    for (size_t i = 0; i < n; i++)
        if (suspect[i])
            mark_cells(l, &d[i], mark);
    for (size_t i = 0; i < n; i += MANY) {
        size_t some = n - i < MANY ? n - i : MANY;
        l->row->positions(l, d + i, some, pos);
        for (size_t j = 0; j < some; j++) {
            kept[i + j] = false;
            for (uint32_t h = 0; h < l->hashes; h++)
                kept[i + j] |= mark[pos[j * l->hashes + h]];
        }
    }
}
