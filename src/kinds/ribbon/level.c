/*
 * level.c - the memory layout of a level, and its tail.
 *
 *   words of layer 0 | of layer 1 | bumps of each, in whole bytes | the tail,
 *   in whole bytes | zeros up to a multiple of 8 bytes
 */
#include "kinds/ribbon/level.h"

#include <math.h>

static uint64_t shards_of(uint64_t starts)
{
    uint64_t shard = (uint64_t)1 << UM_RIBBON_SHARD_BITS;
    return (starts + shard - 1) / shard;
}

uint64_t um_ribbon_step_words(const um_ribbon_layer *l, uint64_t group)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < l->nsteps; i++)
        sum += group > l->step_group[i] ? group - l->step_group[i] : 0;
    return sum;
}

uint32_t um_ribbon_steps_at(const um_ribbon_layer *l, uint64_t start)
{
    uint32_t n = 0;

    while (n < l->nsteps && start >= l->step[n])
        n++;
    return n;
}

uint32_t um_ribbon_steps_in(const um_ribbon_layer *l, uint64_t group)
{
    uint32_t n = 0;

    while (n < l->nsteps && group >= l->step_group[n])
        n++;
    return n;
}

uint32_t um_ribbon_max_more(const um_ribbon_form *form,
                            const uint16_t steps[UM_RIBBON_STEPS])
{
    uint32_t n = form->finer != 0;

    while (n && n <= UM_RIBBON_STEPS && steps[n - 1])
        n++;
    return n;
}

/* Returns the share of starts with at least this many extra columns, in
 * 65536ths. */
static uint32_t beyond(const um_ribbon_form *form,
                       const uint16_t steps[UM_RIBBON_STEPS], uint32_t more)
{
    if (more == 0)
        return UM_RIBBON_FINE;
    if (more == 1)
        return form->finer;
    return more - 2 < UM_RIBBON_STEPS ? steps[more - 2] : 0;
}

um_ribbon_share um_ribbon_share_of(const um_ribbon_form *form,
                                   const uint16_t steps[UM_RIBBON_STEPS],
                                   uint32_t more)
{
    uint32_t here = beyond(form, steps, more);

    return (um_ribbon_share){.from = UM_RIBBON_FINE - here,
                             .width = here - beyond(form, steps, more + 1)};
}

/* Returns the first finer start. These are the last ones, so that no row leaves
 * them. */
static uint64_t split_at(const um_ribbon_layer *l, uint64_t buckets,
                         uint32_t finer)
{
    uint64_t fine = (buckets * finer + UM_RIBBON_FINE - 1) / UM_RIBBON_FINE;
    return (buckets - fine) << l->bucket_bits;
}

static uint64_t lay_layer(um_ribbon_layer *l, const um_ribbon_form *form,
                          const um_ribbon_sizes *sizes, uint64_t buckets)
{
    const uint16_t *steps = sizes->steps;

    l->wide = sizes->wide;
    l->bucket_bits =
        l->wide ? UM_RIBBON_WIDE_BUCKET_BITS : UM_RIBBON_BUCKET_BITS;
    l->gap = l->wide ? UM_RIBBON_WIDE : UM_RIBBON_WIDTH;
    l->gone =
        l->wide ? UINT64_C(0x0200006000200000) : UINT64_C(0x00800020000C0000);
    l->starts = buckets << l->bucket_bits;
    l->split = split_at(l, buckets, form->finer);
    l->split_group = um_ribbon_slot(l, l->split) / 64;
    if (!form->finer)
        l->split_group = UINT64_MAX;
    l->columns = form->columns;
    l->nsteps = um_ribbon_max_more(form, steps);
    l->nsteps -= l->nsteps != 0; /* without the finer column */
    for (uint32_t i = 0; i < l->nsteps; i++) {
        l->step[i] = split_at(l, buckets, steps[i]);
        l->step_group[i] = um_ribbon_slot(l, l->step[i]) / 64;
    }
    return um_ribbon_words(l, l->starts / 64 +
                                  shards_of(l->starts) * (l->gap / 64)) *
           8;
}

static uint8_t *at_byte(uint8_t *memory, uint64_t offset)
{
    return memory ? memory + offset : NULL;
}

/*
 * Lays out the starts of the tail. Slots at both ends are covered by the rows
 * of few starts, and would stay free. So the first and the last start get more
 * keys: then 1,000 keys fit into 1,000 slots with one salt in five, where they
 * fitted into 1,007 with one in thirteen.
 */
static void lay_starts(um_ribbon_level *l)
{
    bool uniform = l->salt < UM_RIBBON_UNIFORM_SALTS;

    l->tail_reach = uniform ? 0 : UM_RIBBON_REACH;
    if (l->tail >= UM_RIBBON_WIDTH)
        l->tail_starts =
            l->tail - UM_RIBBON_WIDTH + 1 + 2 * (uint64_t)l->tail_reach;
}

void um_ribbon_lay(um_ribbon_level *l, const um_ribbon_form *form,
                   const um_ribbon_sizes *sizes, uint8_t *memory)
{
    uint64_t at = 0;

    *l = (um_ribbon_level){
        .form = *form, .tail = sizes->tail, .salt = sizes->salt};
    for (int i = 0; i < UM_RIBBON_LAYERS; i++) {
        l->layer[i].words = at_byte(memory, at);
        at += lay_layer(&l->layer[i], form, sizes, sizes->buckets[i]);
    }
    for (int i = 0; i < UM_RIBBON_LAYERS; i++) {
        l->layer[i].bumps = at_byte(memory, at);
        at += (sizes->buckets[i] + 3) / 4;
    }
    lay_starts(l);
    l->tail_columns = form->columns + um_ribbon_max_more(form, sizes->steps);
    l->tail_bits = at_byte(memory, at);
    l->tail_bytes = (l->tail * l->tail_columns + 7) / 8;
    l->bytes = (at + l->tail_bytes + 7) / 8 * 8;
}

bool um_ribbon_can(const um_ribbon_form *form, const um_ribbon_sizes *sizes)
{
    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        if (sizes->buckets[i] > UM_RIBBON_MAX_BUCKETS)
            return false;
    for (int i = 0; i < UM_RIBBON_STEPS; i++)
        if (sizes->steps[i] > (i ? sizes->steps[i - 1] : form->finer))
            return false;
    return form->finer < UM_RIBBON_FINE &&
           form->columns + um_ribbon_max_more(form, sizes->steps) <=
               UM_RIBBON_MAX_COLUMNS &&
           sizes->tail <= UM_RIBBON_MAX_BUCKETS &&
           sizes->salt < UM_RIBBON_SALTS;
}

uint64_t um_ribbon_some_wide(const um_ribbon_place *p, uint32_t from,
                             uint32_t n)
{
    uint64_t value = 0;

    for (uint32_t j = 0; j < n; j++) {
        size_t at = 8 * (size_t)(from + j);
        uint64_t x = (um_load64(p->at + at) & p->low) ^
                     (um_load64(p->next + at) & p->high) ^
                     (um_load64(p->third + at) & p->top);
        value |= (uint64_t)um_ribbon_parity(x) << j;
    }
    return value;
}

static uint64_t tail_start(const um_ribbon_level *l, uint64_t nth)
{
    uint64_t last = l->tail - UM_RIBBON_WIDTH;

    nth -= nth < l->tail_reach ? nth : l->tail_reach;
    return nth < last ? nth : last;
}

/* Finds the place of a key in the tail. A tail of up to 64 slots has one start,
 * and rows of its own length. */
void um_ribbon_place_tail(const um_ribbon_level *l, uint64_t x, uint64_t hi,
                          um_ribbon_place *out)
{
    x = um_ribbon_next(x, l->salt);
    uint64_t row = um_ribbon_row(x, hi);
    bool narrow = l->tail < UM_RIBBON_WIDTH;

    out->low = narrow ? 0 : tail_start(l, um_scale(x, l->tail_starts));
    out->high = narrow ? row & um_ribbon_mask((uint32_t)l->tail) : row | 1;
    out->columns = l->tail_columns;
    out->salted = 1;
    out->wide = false;
    out->at = out->next = NULL;
}

/* Returns 64 bits, starting at bit `at`; zeros past the end. */
static uint64_t window(const uint8_t *bits, uint64_t bytes, uint64_t at)
{
    uint64_t first = at / 8, low = 0;
    uint32_t shift = at % 8;

    if (first + 9 <= bytes)
        return um_load64(bits + first) >> shift | (uint64_t)bits[first + 8]
                                                      << 1 << (63 - shift);
    for (uint32_t i = 0; i < 8 && first + i < bytes; i++)
        low |= (uint64_t)bits[first + i] << 8 * i;
    low >>= shift;
    if (shift && first + 8 < bytes)
        low |= (uint64_t)bits[first + 8] << (64 - shift);
    return low;
}

uint64_t um_ribbon_get_tail(const um_ribbon_level *l, const um_ribbon_place *p)
{
    uint64_t value = 0;

    for (uint32_t j = 0; j < p->columns; j++) {
        uint64_t x = window(l->tail_bits, l->tail_bytes, j * l->tail + p->low);
        value |= (uint64_t)um_ribbon_parity(x & p->high) << j;
    }
    return value;
}

bool um_ribbon_tail_agrees(const um_ribbon_level *l, const um_ribbon_place *p,
                           uint64_t print, uint32_t from)
{
    for (uint32_t j = from; j < p->columns; j++, print >>= 1) {
        uint64_t x = window(l->tail_bits, l->tail_bytes, j * l->tail + p->low);
        if ((um_ribbon_parity(x & p->high) ^ print) & 1)
            return false;
    }
    return true;
}

/* --- the probabilities of values --------------------------------------------
 *
 * Consider the sum (XOR) of some columns. If a slot after the first is 1 in the
 * sum, random rows get 0 and 1 equally often. Otherwise every row gets the bit
 * of its first slot, which all rows include. Let the sign of a bit be 1 for 0
 * and -1 for 1: for each start, the mean sign of a sum over all rows is 1, -1
 * or 0. The probability of a value is the mean, over all sums of columns, of
 * the mean sign times the sign that the value has in that sum (a Walsh
 * transform).
 */

/* Signs of all sums of columns; bit j of the index stands for column j. */
typedef struct signs {
    double of[1 << UM_RIBBON_WEIGHED];
} signs;

/* A column of the slots that a row may include; the first one separately. */
typedef struct slots {
    uint64_t first, rest[3];
} slots;

static slots slots_at(const um_ribbon_layer *l, const um_ribbon_place *p,
                      uint64_t shift, uint32_t column)
{
    size_t at = 8 * (size_t)column;
    uint64_t word = um_load64(p->at + at), from = UINT64_MAX << shift;
    uint64_t next = um_load64(p->next + at);

    return (slots){word >> shift & 1,
                   {word & from << 1, l->wide ? next : next & ~from,
                    l->wide ? um_load64(p->third + at) & ~from : 0}};
}

/* Adds the signs of all sums of n columns. In Gray code order, each sum differs
 * from the one before by one column. */
static void add_signs(signs *to, const slots *column, uint32_t n)
{
    slots sum = {0, {0, 0, 0}};

    for (uint32_t i = 1; i < 1u << n; i++) {
        const slots *one = &column[__builtin_ctz(i)];
        sum.first ^= one->first;
        for (int k = 0; k < 3; k++)
            sum.rest[k] ^= one->rest[k];
        if (!(sum.rest[0] | sum.rest[1] | sum.rest[2]))
            to->of[i ^ i >> 1] += sum.first ? -1 : 1;
    }
}

static void add_start(const um_ribbon_layer *l, uint64_t start, bool one_slot,
                      signs *to)
{
    um_ribbon_place p = {.third = NULL};
    slots column[UM_RIBBON_WEIGHED];

    um_ribbon_place_in(l, start, 0, &p);
    for (uint32_t j = 0; j < l->columns; j++) {
        column[j] = slots_at(l, &p, um_ribbon_slot(l, start) & 63, j);
        if (one_slot)
            column[j] = (slots){column[j].first, {0, 0, 0}};
    }
    add_signs(to, column, l->columns);
}

/* Returns the sums over all starts. Sets *bumped to the share of bumped keys.
 */
static signs signs_in_layer(const um_ribbon_layer *l, bool one_slot,
                            double *bumped)
{
    signs sum = {{0}};
    uint64_t gone = 0;

    for (uint64_t b = 0; b < l->starts >> l->bucket_bits; b++) {
        uint32_t n = um_ribbon_bumped(l, um_ribbon_code(l, b));
        gone += n;
        for (uint64_t i = n; i < um_ribbon_bucket(l); i++)
            add_start(l, (b << l->bucket_bits) + i, one_slot, &sum);
    }
    *bumped = (double)gone / (double)l->starts;
    return sum;
}

/* Rows of a narrow tail need not include their first slot. */
static slots slots_of_tail(const um_ribbon_level *l, uint64_t start,
                           uint32_t column)
{
    uint64_t x = window(l->tail_bits, l->tail_bytes, column * l->tail + start);

    if (l->tail < UM_RIBBON_WIDTH)
        return (slots){0, {x & um_ribbon_mask((uint32_t)l->tail), 0, 0}};
    return (slots){x & 1, {x >> 1, 0, 0}};
}

static uint64_t starts_of_tail(const um_ribbon_level *l)
{
    return l->tail < UM_RIBBON_WIDTH ? 1 : l->tail_starts;
}

static signs signs_in_tail(const um_ribbon_level *l)
{
    signs sum = {{0}};
    slots column[UM_RIBBON_WEIGHED];
    bool narrow = l->tail < UM_RIBBON_WIDTH;

    for (uint64_t i = 0; i < starts_of_tail(l); i++) {
        uint64_t start = narrow ? 0 : tail_start(l, i);
        for (uint32_t j = 0; j < l->tail_columns; j++)
            column[j] = slots_of_tail(l, start, j);
        add_signs(&sum, column, l->tail_columns);
    }
    return sum;
}

static void add_share(signs *to, const signs *sum, double share)
{
    for (int i = 0; i < 1 << UM_RIBBON_WEIGHED; i++)
        to->of[i] += share * sum->of[i];
}

void um_ribbon_chances(const um_ribbon_level *l, bool one_slot,
                       double chance[1 << UM_RIBBON_WEIGHED])
{
    uint32_t values = 1u << l->form.columns;
    double here = 1, bumped;
    signs all = {{0}}, sum;

    for (int i = 0; i < UM_RIBBON_LAYERS; i++) {
        const um_ribbon_layer *layer = &l->layer[i];
        if (!layer->starts)
            continue;
        sum = signs_in_layer(layer, one_slot, &bumped);
        add_share(&all, &sum, here / (double)layer->starts);
        here *= bumped;
        one_slot = false;
    }
    sum = signs_in_tail(l);
    add_share(&all, &sum, here / (double)starts_of_tail(l));
    all.of[0] = 1; /* the sum of no columns is 0 */
    for (uint32_t v = 0; v < values; v++) {
        chance[v] = 0;
        for (uint32_t i = 0; i < values; i++)
            chance[v] += um_ribbon_parity(v & i) ? -all.of[i] : all.of[i];
        chance[v] = fmax(0, chance[v] / values);
    }
}

double um_ribbon_chance_of_one(const um_ribbon_level *l)
{
    double chance[1 << UM_RIBBON_WEIGHED] = {0};

    um_ribbon_chances(l, false, chance);
    return chance[1];
}

double um_ribbon_guess(double keys, const um_ribbon_form *form)
{
    double columns = form->columns + (double)form->finer / UM_RIBBON_FINE;
    double few = fmin(keys, UM_RIBBON_MAX_TAIL), many = keys - few;

    /* Measured: after a layer, 2 % of the slots of few keys are empty. */
    few *= many > 0 ? 1.02 : UM_RIBBON_SLOTS;
    return columns * (many * UM_RIBBON_SLOTS + few) + many * 2 / 128 + 64;
}
