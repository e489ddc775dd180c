/*
 * countmin.c - kind countmin: rows of wide counters that sum the amounts of
 * each key.
 *
 * For streams: bytes per flow, requests per client. A key has one counter in
 * each of d rows of w counters, and its count is the minimum of them. Adding it
 * B times sets each of its counters c to
 *
 *     max(c, M + B)      M: their minimum before
 *
 * because the key was added at most M times before (conservative update: Estan
 * and Varghese 2002; survey 8.1). So counts are never too low, until counters
 * saturate, and no counter is higher than with adding B to each.
 *
 * How much too high: other keys add N/w to a counter on average, so e N/w or
 * more with probability at most 1/e, and in all d rows with e^-d:
 *
 *     w = e / epsilon,  d = ln(1 / delta):  at most epsilon N too high, except
 *     with probability delta
 *
 * (Cormode and Muthukrishnan 2005; survey 9). Rows are the slices of addressing
 * partitioned, the default here; w is cells / hashes. Other addressings also
 * work, but their counters do not err independently, so this bound does not
 * hold.
 *
 * One section: cells of 32 or 64 bits, counted as kind counting does under
 * update refined (kinds/counting/counting.h); here they are wide, and the file
 * records only their width. Keys cannot be removed, and there are no
 * differences: keys share the counters that each of them raised.
 *
 * When not to use it: for small counts, counting takes a few bits per cell.
 */
#include "base/error.h"
#include "kinds/counting/counting.h"
#include "kinds/rows.h"

#include <inttypes.h>
#include <math.h>

enum { CELL_BITS = UM_COUNTING_BITS }; /* number of the setting */
enum { NARROW = 32, WIDE = 64 };

static const umbel_setting_info settings[] = {
    [CELL_BITS] = {"cell_bits", "bits a counter, 32 or 64", NARROW, WIDE,
                   NARROW},
    {NULL, NULL, 0, 0, 0}};

static umbel_status check(const um_shape *s, umbel_error *err)
{
    uint64_t bits = s->setting[CELL_BITS];

    if (bits != NARROW && bits != WIDE)
        return um_fail(err, UMBEL_E_RANGE,
                       "cell_bits of countmin must be 32 or 64, got %" PRIu64
                       "; kind counting has smaller cells",
                       bits);
    return UMBEL_OK;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    um_counting_init(self, l, memory[0], (uint32_t)s->setting[CELL_BITS], true);
}

static umbel_status may_remove(const um_shape *s, umbel_error *err)
{
    (void)s;
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "countmin takes nothing back: a counter that two keys share "
                   "was raised for one of them, and would fall for both; count "
                   "with kind counting, update plain");
}

static umbel_status admit(um_shape *into, const um_shape *from,
                          umbel_merge_op op, umbel_error *err)
{
    (void)into;
    (void)from;
    if (op == UMBEL_MINUS)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "countmin has no differences: added elsewhere they "
                       "would tell too little; count with kind counting, "
                       "update plain, or keep a filter for each period");
    return UMBEL_OK;
}

/* Returns true if a key has one counter in each of several independent rows. */
static bool in_rows(const um_layout *l)
{
    return l->blocks == 1 && l->lanes == l->hashes && l->throws == 1 &&
           l->extra == 0 && um_range(l) == 0;
}

/*
 * Returns a count that a key which was never added exceeds in all rows with
 * probability at most e^-d, from the current counters: e times their mean.
 * (Markov's inequality in every row; the product of the rows' means is at most
 * the power of their mean.)
 */
static uint64_t error_bound(const um_counting *c)
{
    double sum = 0;

    for (uint64_t i = 0; i < c->layout->cells; i++)
        sum += (double)um_cell(&c->cells, i);
    double bound = exp(1) * sum / (double)c->layout->cells;
    return bound < (double)c->cells.max ? (uint64_t)bound : c->cells.max;
}

static void info(const void *self, umbel_info *out)
{
    const um_counting *c = self;

    um_counting_info(self, out);
    if (!in_rows(c->layout))
        return;
    um_info_count(out, "row_width", c->layout->width);
    um_info_real(out, "error_share",
                 fmin(1, exp(1) / (double)c->layout->width));
    um_info_real(out, "error_chance", exp(-(double)c->layout->hashes));
    um_info_count(out, "error_bound", error_bound(c));
}

static const um_row_counting counting = {.count = um_counting_count,
                                         .most = um_counting_max,
                                         .may_remove = may_remove};

static const um_row_merge merge = {.ops = 1u << UMBEL_OR | 1u << UMBEL_AND |
                                          1u << UMBEL_ADD | 1u << UMBEL_MAX,
                                   .admit = admit,
                                   .cells = um_counting_merge};

const um_kind um_kind_countmin = {
    .name = "countmin",
    .summary = "amounts per key, in rows of 32- or 64-bit counters",
    .admissible = true,
    .addressing = "partitioned",
    .settings = settings,
    .check = check,
    .attach = attach,
    .info = info,
    .counting = &counting,
    UM_COUNTING_SLOTS,
    .merge = &merge,
    .paged = &um_paged_cells,
    .index = &um_counting_index,
    .totals = &um_counting_totals,
};
