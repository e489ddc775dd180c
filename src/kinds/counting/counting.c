/*
 * counting.c - a small number a cell: how often a key came.
 *
 * A key's count is the minimum of its cells: other keys may have raised any
 * of them, but rarely all. Setting update says how keys go in:
 *
 *   0  plain     every cell of the key grows (Fan, Cao, Almeida, Broder 2000).
 *                What went in can be taken out again.
 *   1  refined   only the least of its cells grow (H1; also known as
 *                conservative update). Counts are wrong more rarely, and
 *                nothing can be taken out: keys share what each of them raised.
 *
 * One section: cells of cell_bits bits. A cell sticks at its maximum: it does
 * not grow, and does not fall either, since it is unknown how far it should
 * have grown. So a count is never less than what went in, or the maximum, if
 * nothing is taken out that was not in. Where cells of a key coincide they are
 * one cell, and count once (H2 of the paper).
 *
 * The cells that are not zero are the bits of a bloom filter of the same keys,
 * under either update: errors, estimates and folds follow from that.
 *
 * Paper: J. Yan, P. L. Cho, CS-TR-973, 2006, sections III to V; survey 2.5.
 * When not to use it: for a set that never shrinks, bloom takes a bit a cell.
 */
#include "kinds/counting/counting.h"

#include "base/error.h"
#include "kinds/bloom/bloom.h"
#include "kinds/rows.h"

enum { CELL_BITS = UM_COUNTING_BITS, UPDATE = UM_COUNTING_UPDATE };
enum { PLAIN = UM_PLAIN, REFINED = UM_REFINED };
enum { NEAR = 1 << 20 }; /* bytes that a cache holds, more or less */

static const umbel_setting_info settings[] = {
    [CELL_BITS] = {"cell_bits", "bits a cell: counts go up to 2^bits - 1", 1,
                   32, 4},
    [UPDATE] = {"update",
                "0 plain: all cells of a key grow; 1 refined: the "
                "least",
                PLAIN, REFINED, PLAIN},
    {NULL, NULL, 0, 0, 0}};

size_t um_counting_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = (um_section){.cells = s->cells,
                          .cell_bits = (uint32_t)s->setting[CELL_BITS]};
    return 1;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    um_counting_init(self, l, memory[0], (uint32_t)s->setting[CELL_BITS],
                     s->setting[UPDATE] == REFINED);
}

void um_counting_init(um_counting *c, const um_layout *l, void *memory,
                      uint32_t bits, bool refined)
{
    c->layout = l;
    c->cells = um_cells_of(memory, bits);
    c->refined = refined;
    c->distinct = l->hashes <= l->row->distinct;
}

/* --- one key ------------------------------------------------------------- */

static uint64_t least(const um_cells *c, const uint64_t *pos, uint32_t n)
{
    uint64_t min = c->max;

    for (uint32_t j = 0; j < n; j++) {
        uint64_t x = um_cell(c, pos[j]);
        min = x < min ? x : min;
    }
    return min;
}

uint32_t um_counting_unite(const um_counting *c, uint64_t *pos)
{
    uint32_t n = c->layout->hashes, kept = 0;

    if (c->distinct)
        return n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = 0;
        while (j < kept && pos[j] != pos[i])
            j++;
        if (j == kept)
            pos[kept++] = pos[i];
    }
    return kept;
}

/* Returns true if the key was certainly not there before. */
UM_INLINE bool add_one(void *self, um_each_key key)
{
    const um_counting *c = self;
    const um_cells cells = c->cells; /* not reloaded after each store */
    const bool refined = c->refined;
    const uint32_t n = um_counting_unite(c, key.pos);
    const uint64_t min = least(&cells, key.pos, n);
    const uint64_t target = um_grown(min, key.amount, cells.max);

    for (uint32_t j = 0; j < n; j++) {
        uint64_t x = um_cell(&cells, key.pos[j]);
        uint64_t y = refined ? target : um_grown(x, key.amount, cells.max);
        if (y > x)
            um_set_cell(&cells, key.pos[j], y);
    }
    return min == 0 && key.amount > 0;
}

/* False: a cell is zero, so the key is not in; then nothing has changed. */
static bool remove_one(const um_counting *c, uint64_t *pos, bool *gone)
{
    uint32_t n = um_counting_unite(c, pos);

    if (least(&c->cells, pos, n) == 0)
        return false;
    for (uint32_t j = 0; j < n; j++) {
        uint64_t x = um_cell(&c->cells, pos[j]);
        if (x < c->cells.max)
            um_set_cell(&c->cells, pos[j], x - 1);
    }
    *gone = least(&c->cells, pos, n) == 0;
    return true;
}

/* --- many keys ----------------------------------------------------------- */

static bool is_far(const um_counting *c)
{
    return c->layout->cells * c->cells.width / 8 > NEAR;
}

/* Far memory gets to work on all cells of a batch at once. */
void um_counting_locate(const void *self, const umbel_digest *d, size_t n,
                        uint64_t *pos)
{
    const um_counting *c = self;

    c->layout->row->positions(c->layout, d, n, pos);
    if (is_far(c))
        for (size_t i = 0; i < n * c->layout->hashes; i++)
            __builtin_prefetch(c->cells.at + pos[i] * c->cells.width / 8, 1);
}

/* The same of cells that are only read: of members all of them are; of other
 * keys mostly one or two, but the first one waits for memory, too. */
static void locate_to_read(const void *self, const umbel_digest *d, size_t n,
                           uint64_t *pos)
{
    const um_counting *c = self;

    c->layout->row->positions(c->layout, d, n, pos);
    if (is_far(c))
        for (size_t i = 0; i < n * c->layout->hashes; i++)
            __builtin_prefetch(c->cells.at + pos[i] * c->cells.width / 8);
}

size_t um_counting_add(void *self, const umbel_digest *d,
                       const uint64_t *amounts, size_t n, bool *fresh)
{
    const um_counting *c = self;
    return um_each_add(self, c->layout, um_counting_locate, add_one, d, amounts,
                       n, fresh);
}

UM_INLINE uint64_t count_one(const void *self, const uint64_t *pos)
{
    const um_counting *c = self;
    return least(&c->cells, pos, c->layout->hashes);
}

void um_counting_count(const void *self, const umbel_digest *d, size_t n,
                       uint64_t *out)
{
    const um_counting *c = self;
    um_each_count(self, c->layout, locate_to_read, count_one, d, n, out);
}

/* Returns true if none of n cells is zero. */
UM_INLINE bool are_used(const um_counting *c, const uint64_t *pos, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        if (um_cell(&c->cells, pos[j]) == 0)
            return false;
    return true;
}

UM_INLINE bool none_is_zero(const void *self, const uint64_t *pos)
{
    const um_counting *c = self;
    return are_used(c, pos, c->layout->hashes);
}

/*
 * Queries of far cells. All cells of a member are read, but only one or two of
 * most other keys. So two cells of a key are fetched first, the others when
 * these have come and are not zero. Keys go through these steps in a ring, so
 * that the memory always has work.
 */
enum { EIGHT = 8, PAIR = 2 * EIGHT, LEAD = 2, RING = 64 }; /* LEAD: cells */
_Static_assert(UM_EACH_POSITIONS / UM_MAX_HASHES >= PAIR,
               "the ring has two steps at least");

typedef struct ring {
    const um_counting *c;
    uint32_t hashes, lead;
    uint64_t pos[UM_EACH_POSITIONS];
} ring;

static void fetch_cells(const um_counting *c, const uint64_t *pos, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        __builtin_prefetch(c->cells.at + pos[j] * c->cells.width / 8);
}

/* The three steps, of up to eight keys; their positions begin at pos. */
static void locate_some(const ring *r, const umbel_digest *d, size_t n,
                        uint64_t *pos)
{
    r->c->layout->row->positions(r->c->layout, d, n, pos);
    for (size_t i = 0; i < n; i++, pos += r->hashes)
        fetch_cells(r->c, pos, r->lead);
}

static void begin_some(const ring *r, const uint64_t *pos, size_t n, bool *hit)
{
    for (size_t i = 0; i < n; i++, pos += r->hashes) {
        hit[i] = are_used(r->c, pos, r->lead);
        if (hit[i])
            fetch_cells(r->c, pos + r->lead, r->hashes - r->lead);
    }
}

static void end_some(const ring *r, const uint64_t *pos, size_t n, bool *hit)
{
    for (size_t i = 0; i < n; i++, pos += r->hashes)
        if (hit[i])
            hit[i] = are_used(r->c, pos + r->lead, r->hashes - r->lead);
}

static size_t some_of(size_t n, size_t from)
{
    return n - from < EIGHT ? n - from : EIGHT;
}

static void query_far(const um_counting *c, const umbel_digest *d, size_t n,
                      bool *hit)
{
    ring r;
    size_t most = UM_EACH_POSITIONS / c->layout->hashes;
    size_t room = most < RING ? most - most % PAIR : RING;
    size_t lag = room / 2;

    r.c = c;
    r.hashes = c->layout->hashes;
    r.lead = r.hashes < LEAD ? r.hashes : LEAD;
    for (size_t i = 0; i < n + room; i += EIGHT) {
        uint64_t *pos = r.pos + i % room * r.hashes;
        uint64_t *older = r.pos + (i + lag) % room * r.hashes;
        if (i >= room)
            end_some(&r, pos, some_of(n, i - room), hit + i - room);
        if (i >= lag && i - lag < n)
            begin_some(&r, older, some_of(n, i - lag), hit + i - lag);
        if (i < n)
            locate_some(&r, d + i, some_of(n, i), pos);
    }
}

void um_counting_query(const void *self, const umbel_digest *d, size_t n,
                       bool *hit)
{
    const um_counting *c = self;

    if (n > EIGHT && is_far(c))
        query_far(c, d, n, hit);
    else
        um_each_query(self, c->layout, NULL, none_is_zero, d, n, hit);
}

uint64_t um_counting_max(const void *self)
{
    return ((const um_counting *)self)->cells.max;
}

/* The larger of two cells is less than what two keys put into them. */
static umbel_status not_by_sums(umbel_error *err)
{
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "nothing can be taken out of counts that were merged "
                   "otherwise than by add: a cell may hold less than its keys "
                   "together");
}

static umbel_status may_remove(const um_shape *s, umbel_error *err)
{
    if (s->setting[UPDATE] == REFINED)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "refined counts cannot be taken back: a cell that two "
                       "keys share was raised for one of them, and would fall "
                       "for both; count with update plain");
    if (s->joined)
        return not_by_sums(err);
    return UMBEL_OK;
}

static size_t remove_keys(void *self, const umbel_digest *d, size_t n,
                          size_t *gone)
{
    const um_counting *c = self;
    uint64_t pos[UM_EACH_POSITIONS];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(c, c->layout, NULL, d + done, n - done, pos);
        for (size_t i = 0; i < some; i++) {
            bool last = false;
            if (!remove_one(c, pos + i * c->layout->hashes, &last))
                return done + i;
            *gone += last;
        }
    }
    return n;
}

/* --- two filters --------------------------------------------------------- */

/*
 * A refined key uses up slack: cells that others raised do not grow for it. Two
 * writers that add to the same merged cells use the same slack, and the sum of
 * their differences has it once: with cells (5, 3) and three adds on each side
 * the differences are (1, 3) twice, together (7, 9), so 7 where there are 9.
 */
static umbel_status admit(um_shape *into, const um_shape *from,
                          umbel_merge_op op, umbel_error *err)
{
    bool refined = into->setting[UPDATE] == REFINED;

    if (op == UMBEL_MINUS && refined && (into->estimated || from->estimated))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "refined counts that were merged have no difference: "
                       "added elsewhere it would tell too little; take it from "
                       "filters that only keys were added to");
    if (op == UMBEL_MINUS && (into->joined || from->joined))
        return not_by_sums(err);
    if ((into->difference || from->difference) && op != UMBEL_ADD)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a difference of refined counts can only be added, to "
                       "counts that hold what it was taken from");
    into->joined |= from->joined || (op != UMBEL_ADD && op != UMBEL_MINUS);
    into->difference =
        op == UMBEL_MINUS ? refined : into->difference && from->difference;
    return UMBEL_OK;
}

static uint64_t combined(uint64_t a, uint64_t b, umbel_merge_op op,
                         uint64_t max)
{
    if (op == UMBEL_ADD)
        return um_grown(a, b, max);
    if (op == UMBEL_MINUS)
        return a == max ? max : a - b;
    if (op == UMBEL_AND)
        return a < b ? a : b;
    return a > b ? a : b;
}

static umbel_status check_part(const um_counting *c, const um_counting *of,
                               umbel_error *err)
{
    for (uint64_t i = 0; i < c->layout->cells; i++)
        if (um_cell(&c->cells, i) > um_cell(&of->cells, i))
            return um_fail(err, UMBEL_E_RANGE,
                           "it counts what the first filter does not hold: a "
                           "difference is a later count minus an earlier one, "
                           "or a whole minus a part");
    return UMBEL_OK;
}

umbel_status um_counting_merge(void *self, const void *from, umbel_merge_op op,
                               umbel_error *err)
{
    const um_counting *c = self, *other = from;

    if (op == UMBEL_MINUS)
        UM_TRY(check_part(other, c, err));
    for (uint64_t i = 0; i < c->layout->cells; i++) {
        uint64_t a = um_cell(&c->cells, i), b = um_cell(&other->cells, i);
        uint64_t x = combined(a, b, op, c->cells.max);
        if (x != a)
            um_set_cell(&c->cells, i, x);
    }
    return UMBEL_OK;
}

/*
 * Cells that become one add up, so that what went in can be taken out. Nothing
 * is taken out of refined counts: there the largest will do, and errs less.
 */
void um_counting_fold(void *self, const void *from, uint64_t by)
{
    const um_counting *to = self, *c = from;

    for (uint64_t i = 0; i < c->layout->cells; i++) {
        uint64_t x = um_cell(&c->cells, i);
        uint64_t at = um_fold_cell(c->layout, by, i);
        if (x)
            um_set_cell(&to->cells, at,
                        combined(um_cell(&to->cells, at), x,
                                 c->refined ? UMBEL_MAX : UMBEL_ADD,
                                 c->cells.max));
    }
}

/* --- what it says of itself ---------------------------------------------- */

double um_counting_predict(const void *self)
{
    const um_counting *c = self;
    return um_bloom_chance(c->layout, um_cells_used_in, &c->cells);
}

static uint64_t used(const void *self, const void *other)
{
    const um_counting *c = self, *o = other;
    return um_cells_used(&c->cells, o ? &o->cells : NULL, c->layout->cells);
}

static void look(const void *self, um_bits_look *out)
{
    const um_counting *c = self;
    um_bloom_look(c->layout, um_cells_used_in, &c->cells, out);
}

static void copy_bits(const void *self, uint8_t *to)
{
    const um_counting *c = self;
    um_cells_copy_bits(&c->cells, c->layout->cells, to);
}

const um_row_bits um_counting_used_bits = {
    .used = used, .look = look, .copy = copy_bits};

void um_counting_info(const void *self, umbel_info *out)
{
    const um_counting *c = self;
    uint64_t largest = 0, sum = 0, stuck = 0;

    for (uint64_t i = 0; i < c->layout->cells; i++) {
        uint64_t x = um_cell(&c->cells, i);
        largest = x > largest ? x : largest;
        sum = um_grown(sum, x, UINT64_MAX);
        stuck += x == c->cells.max;
    }
    um_info_count(out, "count_limit", c->cells.max);
    um_info_count(out, "cells_at_limit", stuck);
    um_info_count(out, "largest_cell", largest);
    um_info_count(out, "sum_of_cells", sum);
}

static const um_row_counting counting = {.count = um_counting_count,
                                         .most = um_counting_max,
                                         .may_remove = may_remove,
                                         .remove = remove_keys};

static const um_row_merge merge = {.ops = 1u << UMBEL_OR | 1u << UMBEL_AND |
                                          1u << UMBEL_ADD | 1u << UMBEL_MAX |
                                          1u << UMBEL_MINUS,
                                   .admit = admit,
                                   .cells = um_counting_merge};

static bool local(const um_shape *s)
{
    (void)s;
    return true;
}

const um_kind um_kind_counting = {
    .name = "counting",
    .summary = "how often a key was added; counts can be summed, keys removed",
    .settings = settings,
    .attach = attach,
    .local = local,
    .info = um_counting_info,
    .counting = &counting,
    UM_COUNTING_SLOTS,
    .merge = &merge,
    .paged = &um_paged_cells,
    .columns = &um_counting_columns,
    .sums = &um_counting_sums,
};
