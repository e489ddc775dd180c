/*
 * methods.c - the table of retouching methods. A new method is a line here.
 *
 * random-bits is section III of the paper of 2006, the four after it are its
 * selective clearing. "tracked" is our interpretation of the paper of 2010, of
 * which we have only the first pages: its algorithms keep track of the false
 * negatives and false positives that each step causes.
 */
#include "base/error.h"
#include "negatives/retouch/retouch.h"

#include <math.h>

/*
 * Selective clearing as in the papers.
 *
 * For each key that still matches, one of its bits is cleared, chosen by a
 * rule. In 2006 the counts used by the rules are computed once; tracked ones
 * are updated after every step. A key that owns a bit twice counts there once,
 * while the paper counts it twice; with five hashes into 100,000 bits that is
 * one key in ten thousand.
 */

static uint32_t pick_random(um_retouch_state *s, const uint32_t *bits,
                            uint32_t n)
{
    return bits[um_random_below(&s->rng, n)];
}

static uint32_t pick_max_fp(um_retouch_state *s, const uint32_t *bits,
                            uint32_t n)
{
    uint32_t best = bits[0];

    for (uint32_t j = 1; j < n; j++)
        if (s->bit[bits[j]].live > s->bit[best].live)
            best = bits[j];
    return best;
}

/* Returns the bit with the fewest members per key; multiplies crosswise instead
 * of dividing. */
static uint32_t pick_ratio(um_retouch_state *s, const uint32_t *bits,
                           uint32_t n)
{
    uint32_t best = bits[0];

    for (uint32_t j = 1; j < n; j++) {
        const um_bit_state *x = &s->bit[bits[j]], *y = &s->bit[best];
        if ((uint64_t)x->owners * y->live < (uint64_t)y->owners * x->live)
            best = bits[j];
    }
    return best;
}

/* Counts keys without weights, as in the papers. */
static void count_plainly(um_retouch_state *s)
{
    const um_lists *l = &s->in->key_bits;

    for (uint32_t x = 0; x < s->in->nbits; x++)
        s->bit[x].live = 0;
    for (uint32_t i = 0; i < l->start[l->n]; i++)
        s->bit[l->item[i]].live++;
}

static void lose(um_retouch_state *s, uint32_t a, bool tracked)
{
    s->kept[a] = false;
    s->lost++;
    s->lost_weight += um_member_weight(s->in, a);
    if (tracked)
        UM_EACH_IN (it, s->in->member_bits, a)
            s->bit[*it].owners--;
}

static void remove_key(um_retouch_state *s, uint32_t b, bool tracked)
{
    s->key[b].closed = 1;
    if (b < s->in->ntargets) {
        s->live_targets--;
        s->removed_worth += s->in->key_worth ? s->in->key_worth[b] : 1;
    }
    if (tracked)
        UM_EACH_IN (it, s->in->key_bits, b)
            s->bit[*it].live--;
}

/* Clears bit x, and updates members and keys. */
static void clear(um_retouch_state *s, uint32_t x, bool tracked)
{
    s->closed[x] = 1;
    UM_EACH_IN (it, s->in->bit_members, x)
        if (s->kept[*it])
            lose(s, *it, tracked);
    UM_EACH_IN (it, s->in->bit_keys, x)
        if (!s->key[*it].closed)
            remove_key(s, *it, tracked);
}

typedef struct price {
    uint64_t members, weight, gained;
} price;

/* Returns the cost and the gain of clearing x. */
static price ask_price(const um_retouch_state *s, uint32_t x)
{
    price p = {0};

    UM_EACH_IN (it, s->in->bit_members, x)
        if (s->kept[*it]) {
            p.members++;
            p.weight += um_member_weight(s->in, *it);
        }
    UM_EACH_IN (it, s->in->bit_keys, x)
        if (!s->key[*it].closed)
            p.gained += um_key_weight(s->in, *it);
    return p;
}

/*
 * Clears x if that is within the limits; returns false if watch asked to stop.
 * The methods of the papers end at the first bit that exceeds the budget: if
 * they went on, only bits that cost nothing would be cleared, and their chi
 * would be that of another method. A bit that is too dear is skipped.
 */
static bool step(um_retouch_state *s, uint32_t x, bool tracked)
{
    if (s->limited) {
        price p = ask_price(s, x);
        s->spent = s->lost + p.members > s->budget;
        if (s->spent || !um_worth_it(s, p.weight, p.gained))
            return true;
    }
    clear(s, x, tracked);
    return um_state_tell(s);
}

static bool still_matches(const um_retouch_state *s, const uint32_t *bits,
                          uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        if (s->closed[bits[j]])
            return false;
    return true;
}

static bool run_paper(um_retouch_state *s, const um_method *self)
{
    const um_lists *l = &s->in->key_bits;
    /* Without limits, lost members need not be known before the end. */
    bool follow = self->tracked || s->limited || s->params->watch;

    if (follow && !(um_check_bit_members(s->in) && um_check_bit_keys(s->in)))
        return false;
    count_plainly(s);
    for (uint32_t b = 0; b < s->in->ntargets && !s->spent; b++) {
        const uint32_t *bits = l->item + l->start[b];
        uint32_t n = l->start[b + 1] - l->start[b];
        if (!still_matches(s, bits, n))
            continue;
        uint32_t x = self->pick(s, bits, n);
        if (!follow)
            s->closed[x] = 1;
        else if (!step(s, x, self->tracked))
            return false;
    }
    return true;
}

static bool run_random_bits(um_retouch_state *s, const um_method *self)
{
    uint32_t n = s->in->nbits;
    uint32_t *order = um_pool_get(s->in->pool, n, sizeof *order);
    uint64_t most = s->params->moves ? s->params->moves : n;

    if (!order || !um_check_bit_members(s->in) || !um_check_bit_keys(s->in))
        return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = 0; i < n && i < most && !s->spent; i++) {
        if (s->live_targets == 0 && !s->params->moves)
            break;
        uint32_t j = i + (uint32_t)um_random_below(&s->rng, n - i);
        uint32_t x = order[j];
        order[j] = order[i];
        if (!step(s, x, self->tracked))
            return false;
    }
    return true;
}

#define CLEARS(rule, follows, more)                                            \
    .pick = (rule), .tracked = (follows), .uses = UM_USES_CLOSURE | (more),    \
    .run = run_paper

static const um_method rows[] = {
    {"greedy", "lose the members that remove most, then restore some (default)",
     .uses = UM_USES_OUTSIDE, .closes = true, .run = um_run_greedy},
    {"anneal",
     "greedy, then lose and restore members at random (--moves, --time)",
     .uses = UM_USES_MOVES | UM_USES_SECONDS | UM_USES_OUTSIDE | UM_USES_SEED,
     .closes = true, .run = um_run_anneal},
    {"random-bits", "any set bit (2006, section III)",
     .uses = UM_USES_MOVES | UM_USES_CLOSURE | UM_USES_SEED, .all_bits = true,
     .run = run_random_bits},
    {"random", "a random bit of each key (2006)",
     CLEARS(pick_random, false, UM_USES_SEED)},
    {"min-fn", "the bit with the fewest members (2006)",
     CLEARS(um_pick_min_fn, false, 0)},
    {"max-fp", "the bit with the most keys (2006)",
     CLEARS(pick_max_fp, false, UM_USES_OUTSIDE)},
    {"ratio", "the bit with the fewest members per key (2006)",
     CLEARS(pick_ratio, false, UM_USES_OUTSIDE)},
    {"min-fn-tracked", "min-fn with counts kept up to date (2010)",
     CLEARS(um_pick_min_fn, true, 0)},
    {"max-fp-tracked", "max-fp with counts kept up to date (2010)",
     CLEARS(pick_max_fp, true, UM_USES_OUTSIDE)},
    {"ratio-tracked", "ratio with counts kept up to date (2010)",
     CLEARS(pick_ratio, true, UM_USES_OUTSIDE)},
};

const um_method *um_method_row(size_t i)
{
    return i < UM_COUNT(rows) ? &rows[i] : NULL;
}

const um_method *um_method_find(const char *name)
{
    const um_method *row;

    for (size_t i = 0; (row = um_method_row(i)); i++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

bool umbel_retouch_method_at(size_t i, const char **name, const char **summary)
{
    const um_method *row = um_method_row(i);

    if (!row)
        return false;
    *name = row->name;
    if (summary)
        *summary = row->summary;
    return true;
}

/*
 * Runs a method on plain positions.
 */

static bool in_range(double x, double low, double high)
{
    return x >= low && x <= high; /* false for NAN */
}

/* Copies the parameters; fields that an older header does not have get their
 * defaults. */
static umbel_status consume(const umbel_retouch_params *given,
                            umbel_retouch_params *out, umbel_error *err)
{
    const uint8_t *bytes = (const uint8_t *)given;

    *out = (umbel_retouch_params)UMBEL_RETOUCH_INIT;
    if (!given)
        return UMBEL_OK;
    if (given->size < offsetof(umbel_retouch_params, ctx))
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_RETOUCH_INIT");
    for (size_t i = sizeof *out; i < given->size; i++)
        if (given->size > 4096 || bytes[i])
            return um_fail(err, UMBEL_E_UNSUPPORTED,
                           "params ask for what this umbel does not know: use "
                           "a newer umbel");
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    return UMBEL_OK;
}

umbel_status um_retouch_settle(const umbel_retouch_params *given,
                               umbel_retouch_params *out, umbel_error *err)
{
    umbel_retouch_params p;

    UM_TRY(consume(given, &p, err));
    if (!p.method)
        p.method = "greedy";
    if (!um_method_find(p.method))
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "there is no method of retouching called \"%s\"; "
                       "'umbel help methods' lists them",
                       p.method);
    if (!in_range(p.max_fn, 0, 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "max_fn must be between 0 and 1, got %g", p.max_fn);
    if (!in_range(p.cost, 0, 1e300))
        return um_fail(err, UMBEL_E_RANGE, "cost must not be negative, got %g",
                       p.cost);
    if (!in_range(p.beta, 0, 1) || p.beta == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "beta must be above 0 and at most 1, got %g", p.beta);
    if (!in_range(p.seconds, 0, 1e9))
        return um_fail(err, UMBEL_E_RANGE,
                       "seconds must be between 0 and 1e9, got %g", p.seconds);
    *out = p;
    return UMBEL_OK;
}

static bool matches(const um_retouch_problem *p, const uint64_t *pos)
{
    for (uint32_t j = 0; j < p->hashes; j++)
        if (!um_bit(p->bits, pos[j]))
            return false;
    return true;
}

static bool clear_bit(uint8_t *bits, uint64_t cell)
{
    uint8_t mask = (uint8_t)(1u << (cell & 7));
    bool was_set = bits[cell >> 3] & mask;

    bits[cell >> 3] &= (uint8_t)~mask;
    return was_set;
}

static void find_lost(const um_retouch_problem *p, um_outcome *out)
{
    for (size_t i = 0; i < p->members.n; i++)
        out->lost[i] = !matches(p, p->members.pos + i * p->hashes);
}

/*
 * Clears the bits that only lost members owned. Bits that no listed member ever
 * owned stay, since unlisted members may need them.
 */
static void close_around(const um_retouch_problem *p, uint8_t *needed,
                         um_outcome *out)
{
    for (size_t i = 0; i < p->members.n; i++)
        for (uint32_t j = 0; !out->lost[i] && j < p->hashes; j++)
            um_set_bit(needed, p->members.pos[i * p->hashes + j]);
    for (size_t i = 0; i < p->members.n; i++)
        for (uint32_t j = 0; out->lost[i] && j < p->hashes; j++) {
            uint64_t cell = p->members.pos[i * p->hashes + j];
            if (!um_bit(needed, cell))
                out->cleared += clear_bit(p->bits, cell);
        }
}

/* Clears the bits chosen by the method, and fills the outcome. Cannot fail. */
static void carry_out(const um_retouch_problem *p, const um_retouch_state *s,
                      bool closes, uint8_t *needed, um_outcome *out)
{
    const um_instance *in = s->in;

    out->cleared = 0;
    out->stopped = s->stopped;
    for (uint32_t x = 0; x < in->nbits; x++)
        if (closes ? s->bit[x].owners == 0 : s->closed[x])
            out->cleared += clear_bit(p->bits, in->cell[x]);
    find_lost(p, out);
    if (needed)
        close_around(p, needed, out);
    for (size_t i = 0; i < p->keys.n; i++)
        out->gone[i] = !matches(p, p->keys.pos + i * p->hashes);
}

static umbel_status run(const um_retouch_problem *p,
                        const umbel_retouch_params *params, um_pool *pool,
                        um_outcome *out, umbel_error *err)
{
    const um_method *method = um_method_find(params->method);
    um_instance in;
    um_retouch_state s;
    uint8_t *needed = NULL;

    if (!method)
        return um_fail(err, UMBEL_E_RANGE, "unknown method");
    UM_TRY(um_instance_create(&in, p, params, method->all_bits, pool, err));
    if (method->closes || params->closure)
        needed = p->needed ? p->needed
                           : um_pool_get(pool, (size_t)(p->cells / 8 + 1), 1);
    if (!um_state_init(&s, &in, params) || pool->failed ||
        (!method->run(&s, method) && !s.stopped) || pool->failed)
        return um_fail(err, UMBEL_E_NOMEM,
                       "no memory to retouch %zu members and %zu keys",
                       p->members.n, p->keys.n);
    carry_out(p, &s, method->closes, needed, out);
    return UMBEL_OK;
}

umbel_status um_retouch_run(const um_retouch_problem *p,
                            const umbel_retouch_params *params,
                            const umbel_alloc *alloc, um_outcome *out,
                            umbel_error *err)
{
    um_pool pool;

    um_pool_init(&pool, alloc);
    umbel_status status = run(p, params, &pool, out, err);
    um_pool_fini(&pool);
    return status;
}
