/*
 * counting.c - kind counting: a small counter in each cell.
 *
 * A key's count is the minimum of its cells: other keys may have raised any of
 * them, but rarely all. The setting update selects how keys are added:
 *
 *   0  plain     every cell of the key grows (Fan, Cao, Almeida, Broder 2000).
 *                Keys can be removed again.
 *   1  refined   only the smallest of its cells grow (H1; also known as
 *                conservative update). Counts are wrong less often, but keys
 *                cannot be removed: they share the cells that each of them
 *                raised.
 *
 * One section: cells of cell_bits bits. Cells saturate: at its maximum a cell
 * neither grows nor falls, since its true value is unknown. So a count is never
 * too low, up to the maximum, if only keys that were added are removed. Cells
 * of a key that coincide are one cell, and count once (H2 of the paper).
 *
 * The nonzero cells are the bits of a Bloom filter of the same keys, with
 * either update: errors, estimates and folds follow from that.
 *
 * Paper: J. Yan, P. L. Cho, CS-TR-973, 2006, sections III to V; survey 2.5.
 * When not to use it: for a set that never shrinks, bloom takes one bit per
 * cell.
 */
#include "kinds/counting/counting.h"

#include "base/error.h"
#include "kinds/bloom/bloom.h"
#include "kinds/rows.h"

#include <inttypes.h>
#include <string.h>

enum { CELL_BITS = UM_COUNTING_BITS, UPDATE = UM_COUNTING_UPDATE };
enum { PLAIN = UM_PLAIN, REFINED = UM_REFINED };
enum { NEAR = 1 << 20 }; /* bytes that fit in a cache, roughly */

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

/* --- one key -------------------------------------------------------------- */

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

/* Adds a key; returns true if it was certainly not in the filter before. */
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

/* Removes a key. Returns false, and changes nothing, if a cell is zero: the key
 * is not in the filter. */
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

/* --- many keys ------------------------------------------------------------ */

static bool is_far(const um_counting *c)
{
    return c->layout->cells * c->cells.width / 8 > NEAR;
}

/* Computes the positions of a batch; prefetches all its cells if they are
 * far. */
void um_counting_locate(const void *self, const umbel_digest *d, size_t n,
                        uint64_t *pos)
{
    const um_counting *c = self;

    c->layout->row->positions(c->layout, d, n, pos);
    if (is_far(c))
        for (size_t i = 0; i < n * c->layout->hashes; i++)
            __builtin_prefetch(c->cells.at + pos[i] * c->cells.width / 8, 1);
}

/* Does the same for queries. A query reads all cells of a member, but mostly
 * only one or two of another key; even the first has to come from memory. */
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
 * most other keys. So two cells of a key are prefetched first, the others once
 * these have arrived and are not zero. Keys go through these steps in a ring,
 * so that memory always has work.
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

/* The three steps, for up to eight keys; their positions begin at pos. */
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

/* Refuses removal after a merge by MAX: the larger of two cells is less than
 * the sum of what the keys added. */
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

/* --- two filters ---------------------------------------------------------- */

/*
 * Refuses merges that would make counts too low. A refined key uses slack:
 * cells that other keys raised do not grow for it. Two writers that add to the
 * same merged cells use the same slack, but the sum of their differences
 * contains it once: with cells (5, 3) and three adds on each side the
 * differences are (1, 3) twice, together (7, 9), so the count is 7 instead of
 * 9.
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
 * Folds the cells. Plain cells are added, so that keys can still be removed.
 * Refined cells take the maximum, which suffices and errs less.
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

/* --- predictions and description ------------------------------------------ */

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

/* --- counts for threads that add and query concurrently --------------------
 *
 * Cells only grow, by compare-and-swap of the 64-bit word that holds them, and
 * saturate; loads are relaxed. So a cell never loses what another thread added
 * to it. That does not work for cells that span two words: widths that do not
 * divide 64 are refused.
 *
 * Plain: each cell grows by the amount, in any order.
 *
 * Refined: a key's cells are raised to their minimum plus the amount. Two
 * threads with the same key must not start from the same minimum, or one add is
 * lost; so a key is added under a lock that its digest selects. Keys with other
 * locks may share cells with it, but only raise them. So after n adds of a key
 * all its cells are at least n, at any time: their minimum was at least n when
 * the next add began, which raises all of them above it.
 *
 * Keys cannot be removed while others add: removing needs exclusive access.
 *
 * A word is little-endian, as in the file: its bits are those of cells.h.
 */

static umbel_status may_share(const um_shape *s, umbel_error *err)
{
    um_section section[UM_MAX_SECTIONS];

    s->kind->sections(s, section);
    uint32_t width = section[0].cell_bits;
    if (64 % width)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "cells of %" PRIu32 " bits cannot be shared: some lie "
                       "across two words, which no thread can change at once; "
                       "take a width that divides 64",
                       width);
    return UMBEL_OK;
}

/* --- one cell ------------------------------------------------------------- */

/* Returns the word of a cell. The payload is aligned to 64 bytes, and its size
 * is a multiple of that. */
static uint64_t *word_of(const um_cells *c, uint64_t i)
{
    return (uint64_t *)(void *)c->at + i * c->width / 64;
}

static uint64_t load(const um_cells *c, uint64_t i)
{
    uint64_t word = um_le64(__atomic_load_n(word_of(c, i), __ATOMIC_RELAXED));

    return word >> i * c->width % 64 & c->max;
}

/* Returns a loaded word with cell i replaced by y. */
static uint64_t with(const um_cells *c, uint64_t word, uint64_t i, uint64_t y)
{
    uint64_t shift = i * c->width % 64;

    return um_le64((um_le64(word) & ~(c->max << shift)) | y << shift);
}

/*
 * Raises the cell by amount, and to at least at_least; returns its old value.
 * Starts again if another thread changed the word between load and swap.
 */
static uint64_t grow(const um_cells *c, uint64_t i, uint64_t amount,
                     uint64_t at_least)
{
    uint64_t *word = word_of(c, i), shift = i * c->width % 64, x, y;
    uint64_t was = __atomic_load_n(word, __ATOMIC_RELAXED);

    do {
        x = um_le64(was) >> shift & c->max;
        y = um_grown(x, amount, c->max);
        y = y > at_least ? y : at_least;
    } while (y != x &&
             !__atomic_compare_exchange_n(word, &was, with(c, was, i, y), true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return x;
}

/* --- one key -------------------------------------------------------------- */

static uint64_t shared_least(const um_cells *c, const uint64_t *pos, uint32_t n)
{
    uint64_t min = c->max;

    for (uint32_t j = 0; j < n; j++) {
        uint64_t x = load(c, pos[j]);
        min = x < min ? x : min;
    }
    return min;
}

/* Adds a key. If threads add the same new key at once, at least one of them
 * finds a cell at zero. */
static bool add_plain(const um_cells *c, const uint64_t *pos, uint32_t n,
                      uint64_t amount)
{
    bool zero = false;

    for (uint32_t j = 0; j < n; j++)
        zero |= grow(c, pos[j], amount, 0) == 0;
    return zero && amount > 0;
}

static bool add_refined(um_counting *c, umbel_digest d, const uint64_t *pos,
                        uint32_t n, uint64_t amount)
{
    um_gate_lock *lock = &c->lock[(d.lo ^ d.hi) % UM_GATE_LOCKS];

    um_gate_acquire(lock);
    uint64_t min = shared_least(&c->cells, pos, n);
    uint64_t target = um_grown(min, amount, c->cells.max);
    for (uint32_t j = 0; j < n; j++)
        grow(&c->cells, pos[j], 0, target);
    um_gate_pass_back(lock);
    return min == 0 && amount > 0;
}

UM_INLINE bool shared_add_one(void *self, um_each_key key)
{
    um_counting *c = self;
    uint32_t cells = um_counting_unite(c, key.pos);

    return c->refined ? add_refined(c, key.digest, key.pos, cells, key.amount)
                      : add_plain(&c->cells, key.pos, cells, key.amount);
}

UM_INLINE uint64_t shared_count_one(const void *self, const uint64_t *pos)
{
    const um_counting *c = self;
    return shared_least(&c->cells, pos, c->layout->hashes);
}

UM_INLINE bool query_one(const void *self, const uint64_t *pos)
{
    return shared_count_one(self, pos) > 0;
}

/* --- many keys ------------------------------------------------------------ */

static size_t shared_add(void *self, const umbel_digest *d,
                         const uint64_t *amounts, size_t n, bool *fresh)
{
    const um_counting *c = self;
    return um_each_add(self, c->layout, um_counting_locate, shared_add_one, d,
                       amounts, n, fresh);
}

static void shared_count(const void *self, const umbel_digest *d, size_t n,
                         uint64_t *out)
{
    const um_counting *c = self;
    um_each_count(self, c->layout, um_counting_locate, shared_count_one, d, n,
                  out);
}

static void shared_query(const void *self, const umbel_digest *d, size_t n,
                         bool *hit)
{
    const um_counting *c = self;
    um_each_query(self, c->layout, um_counting_locate, query_one, d, n, hit);
}

static void use_locks(void *self, um_gate_lock *locks)
{
    um_counting *c = self;
    c->lock = locks;
}

const um_row_shared um_counting_shared = {.may_share = may_share,
                                          .use_locks = use_locks,
                                          .add = shared_add,
                                          .query = shared_query,
                                          .count = shared_count};

/* --- index of many counting filters: a row for each cell, with a bit for each
 * filter in which the cell is not 0 --- */

static uint64_t index_len(const void *self, unsigned width)
{
    const um_counting *c = self;

    return (c->layout->cells * width / 8 + 7) / 8 * 8;
}

/* Marks the nonzero cells, in units of 64 cells, which are whole words. */
static void index_mark(const void *self, const um_filter_index *to,
                       unsigned column, size_t offset, size_t bytes)
{
    const um_counting *c = self;
    uint64_t from = (uint64_t)offset * 8 / c->cells.width;
    uint64_t end = (uint64_t)(offset + bytes) * 8 / c->cells.width;

    end = end < c->layout->cells ? end : c->layout->cells;
    for (uint64_t i = from; i < end; i++)
        if (um_cell(&c->cells, i))
            um_filter_index_set(to, i, column);
}

static uint64_t columns_of(const um_filter_index *c, const uint64_t *pos,
                           uint32_t n)
{
    uint64_t all = ~UINT64_C(0);

    for (uint32_t j = 0; j < n; j++)
        all &= um_filter_index_row(c, pos[j]);
    return all;
}

static void index_find(const void *self, const um_filter_index *to,
                       const umbel_digest *d, size_t n, uint64_t *mask)
{
    const um_layout *l = ((const um_counting *)self)->layout;
    uint64_t pos[UM_EACH_POSITIONS];
    size_t hashes = l->hashes;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(self, l, NULL, d + done, n - done, pos);
        for (size_t i = 0; i < some * hashes; i++)
            __builtin_prefetch(to->at + pos[i] * (to->width / 8));
        for (size_t i = 0; i < some; i++)
            mask[done + i] = columns_of(to, pos + i * hashes, l->hashes);
    }
}

const um_row_index um_counting_index = {index_len, index_mark, index_find};

/* --- totals of many counting filters: a sum for each cell ----------------- */

static uint64_t totals_len(const void *self)
{
    return ((const um_counting *)self)->layout->cells;
}

/* Adds the growth of the cells from `from` to before end. was: their old
 * values, beginning with that of cell first; NULL: zeros. */
static void add_cells(const um_cells *now, const um_cells *was, uint64_t first,
                      uint64_t from, uint64_t end, const um_count_totals *to)
{
    for (uint64_t i = from; i < end; i++) {
        uint64_t x = um_cell(now, i), old = was ? um_cell(was, i - first) : 0;
        if (x > old)
            um_total_grow(to->at + i, x - old);
    }
}

/* Adds the growth of cells; units of 64 cells, which are whole words, are
 * skipped if unchanged. */
static void totals_add(const void *self, const um_count_totals *to,
                       const uint8_t *old, size_t offset, size_t bytes)
{
    static const uint8_t zeros[8 * 64];
    const um_counting *c = self;
    uint32_t width = c->cells.width;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is only read */
    um_cells was = um_cells_of((void *)(uintptr_t)old, width);
    uint64_t first = (uint64_t)offset * 8 / width;

    for (size_t done = 0, some; done < bytes; done += some) {
        some =
            bytes - done < 8 * (size_t)width ? bytes - done : 8 * (size_t)width;
        uint64_t from = first + (uint64_t)done * 8 / width;
        uint64_t end = from + (uint64_t)some * 8 / width;
        if (memcmp(c->cells.at + offset + done, old ? old + done : zeros,
                   some) == 0)
            continue;
        end = end < c->layout->cells ? end : c->layout->cells;
        add_cells(&c->cells, old ? &was : NULL, first, from, end, to);
    }
}

static uint8_t least_of(const um_count_totals *from, const uint64_t *pos,
                        uint32_t n)
{
    uint8_t least = UM_TOTAL_MAX;

    for (uint32_t j = 0; j < n; j++)
        least = from->at[pos[j]] < least ? from->at[pos[j]] : least;
    return least;
}

static void totals_bound(const void *self, const um_count_totals *from,
                         const umbel_digest *d, size_t n, uint8_t *most)
{
    const um_layout *l = ((const um_counting *)self)->layout;
    uint64_t pos[UM_EACH_POSITIONS];
    size_t hashes = l->hashes;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(self, l, NULL, d + done, n - done, pos);
        for (size_t i = 0; i < some * hashes; i++)
            __builtin_prefetch(from->at + pos[i]);
        for (size_t i = 0; i < some; i++)
            most[done + i] = least_of(from, pos + i * hashes, l->hashes);
    }
}

const um_row_totals um_counting_totals = {totals_len, totals_add, totals_bound};

/* --- the row -------------------------------------------------------------- */

const um_kind um_kind_counting = {
    .name = "counting",
    .summary = "how often a key was added; counts can be summed, keys removed",
    .admissible = true,
    .settings = settings,
    .attach = attach,
    .local = local,
    .info = um_counting_info,
    .counting = &counting,
    UM_COUNTING_SLOTS,
    .merge = &merge,
    .paged = &um_paged_cells,
    .index = &um_counting_index,
    .totals = &um_counting_totals,
};
