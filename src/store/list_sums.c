/*
 * list_sums.c - what the epochs of a list that have ended count together, at
 * most.
 *
 * A count is the sum over all live epochs, so it costs a look-up in each. Most
 * digests that a server is asked for come less often than the number that
 * matters. The cells of the epochs that have ended are added up
 * (filter/kind.h): one look-up there, and one in the newest epoch, give a
 * number that is never below the count.
 *
 * Epochs that have ended do not change. The newest one is always asked itself,
 * so what is added is seen at once, and adding costs nothing more. When an
 * epoch ends the sums are made anew, in small steps; until then all epochs are
 * asked. Epochs of another shape, from before the configuration was changed,
 * cannot be added up: then there are no sums.
 */
#include "store/list_private.h"

#include "base/alloc.h"
#include "filter/envelope.h"

#include <umbel/counting.h>

#include <string.h>

enum {
    LEAST_EPOCHS = 2, /* that have ended, and sums are worth while for */
    STEP_BYTES = 4096 /* of a filter, about */
};

static const um_row_totals *row_of(const um_list *l)
{
    return l->epoch[1].filter->kind->totals;
}

static bool can_be_summed(const um_list *l)
{
    if (l->n <= LEAST_EPOCHS || !row_of(l))
        return false;
    for (unsigned i = 2; i < l->n; i++)
        if (umbel_same_shape(l->epoch[i].filter, l->epoch[1].filter, NULL) !=
            UMBEL_OK)
            return false;
    return true;
}

void um_list_sums_fini(um_list *l)
{
    um_put(&l->alloc, l->sums.cells.at, l->sums.cells.len);
    l->sums = (um_list_sums){.whole = false};
}

void um_list_sums_restart(um_list *l)
{
    l->sums.whole = false;
    l->sums.cleared = 0;
    l->sums.epoch = 1;
    l->sums.page = 0;
}

/* Begins anew with memory for the present shape. False: there is none. */
static bool has_memory(um_list *l, uint64_t room)
{
    uint64_t len = row_of(l)->len(l->epoch[1].filter->self);

    if (l->sums.cells.len == len)
        return true;
    room += l->sums.cells.len;
    um_list_sums_fini(l);
    um_list_sums_restart(l);
    if (len > room)
        return false;
    l->sums.cells.at = um_get(&l->alloc, (size_t)len);
    l->sums.cells.len = l->sums.cells.at ? (size_t)len : 0;
    return l->sums.cells.at;
}

static size_t clear_some(um_list_sums *s, size_t most)
{
    size_t left = s->cells.len - s->cleared, some = left < most ? left : most;

    memset(s->cells.at + s->cleared, 0, some);
    s->cleared += some;
    return some;
}

static void add_pages(um_list *l, const um_pages *pages, size_t most)
{
    um_list_sums *s = &l->sums;
    const um_row_totals *row = row_of(l);

    for (size_t done = 0; s->epoch < l->n && done < most;) {
        um_page p = um_page_of(pages, s->page);
        row->add(l->epoch[s->epoch].filter->self, &s->cells, NULL, p.offset,
                 p.len);
        done += p.len;
        if (++s->page == pages->n) {
            s->page = 0;
            s->epoch++;
        }
    }
    s->whole = s->epoch == l->n;
}

bool um_list_sum(um_list *l, uint64_t room, size_t bytes)
{
    um_pages pages;

    if (l->sums.whole || !can_be_summed(l) || !has_memory(l, room) ||
        um_pages_init(&pages, um_shape_of(l->epoch[1].filter), STEP_BYTES,
                      NULL) != UMBEL_OK)
        return false;
    add_pages(l, &pages, bytes - clear_some(&l->sums, bytes));
    return !l->sums.whole;
}

size_t um_list_sums_bytes(const um_list *l)
{
    return l->sums.cells.len;
}

static void bound_ended(const um_list *l, const umbel_digest *d, size_t n,
                        uint8_t *most)
{
    row_of(l)->bound(l->epoch[1].filter->self, &l->sums.cells, d, n, most);
}

static void add_bounds(const uint8_t *ended, size_t n, uint64_t *most)
{
    for (size_t i = 0; i < n; i++)
        most[i] =
            ended[i] == UM_TOTAL_MAX || most[i] > UINT64_MAX - UM_TOTAL_MAX
                ? UINT64_MAX
                : most[i] + ended[i];
}

bool um_list_bound(const um_list *l, const umbel_digest *d, size_t n,
                   uint64_t *most)
{
    uint8_t ended[UM_LIST_BATCH];

    if (!l->sums.whole) {
        um_list_count(l, d, n, most);
        return true;
    }
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < UM_LIST_BATCH ? n - i : UM_LIST_BATCH;
        um_fetch_counts(l->epoch[0].filter, d + i, some);
        bound_ended(l, d + i, some, ended);
        umbel_count_digests(l->epoch[0].filter, d + i, some, most + i, NULL);
        add_bounds(ended, some, most + i);
    }
    return false;
}
