/*
 * retouch_paper.c - selective clearing as the papers have it.
 *
 * Key by key: when it still matches, one of its bits is cleared, and the rule
 * says which. In 2006 the counts that the rules look at are made once; tracked
 * ones follow every step. A key that owns a bit twice counts there once, where
 * the paper's counts it twice; of five hashes into 100,000 bits that is one
 * key in ten thousand.
 */
#include "negatives/retouch/retouch.h"

uint32_t um_pick_random(um_state *s, const uint32_t *bits, uint32_t n)
{
    return bits[um_random_below(&s->rng, n)];
}

uint32_t um_pick_min_fn(um_state *s, const uint32_t *bits, uint32_t n)
{
    uint32_t best = bits[0];

    for (uint32_t j = 1; j < n; j++)
        if (s->bit[bits[j]].owners < s->bit[best].owners)
            best = bits[j];
    return best;
}

uint32_t um_pick_max_fp(um_state *s, const uint32_t *bits, uint32_t n)
{
    uint32_t best = bits[0];

    for (uint32_t j = 1; j < n; j++)
        if (s->bit[bits[j]].live > s->bit[best].live)
            best = bits[j];
    return best;
}

/* Members per key: compared crosswise, without division. */
uint32_t um_pick_ratio(um_state *s, const uint32_t *bits, uint32_t n)
{
    uint32_t best = bits[0];

    for (uint32_t j = 1; j < n; j++) {
        const um_bit_state *x = &s->bit[bits[j]], *y = &s->bit[best];
        if ((uint64_t)x->owners * y->live < (uint64_t)y->owners * x->live)
            best = bits[j];
    }
    return best;
}

/* The papers know no weights: every counted key counts 1. */
static void count_plainly(um_state *s)
{
    const um_lists *l = &s->in->key_bits;

    for (uint32_t x = 0; x < s->in->nbits; x++)
        s->bit[x].live = 0;
    for (uint32_t i = 0; i < l->start[l->n]; i++)
        s->bit[l->item[i]].live++;
}

static void lose(um_state *s, uint32_t a, bool tracked)
{
    s->kept[a] = false;
    s->lost++;
    s->lost_weight += um_member_weight(s->in, a);
    if (tracked)
        UM_EACH_IN (it, s->in->member_bits, a)
            s->bit[*it].owners--;
}

static void remove_key(um_state *s, uint32_t b, bool tracked)
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

/* Clear bit x, with all that follows from it. */
static void clear(um_state *s, uint32_t x, bool tracked)
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

/* What clearing x would cost, and bring. */
static price ask_price(const um_state *s, uint32_t x)
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

/* Clear x if it is within the limits; false: watch had enough. */
static bool step(um_state *s, uint32_t x, bool tracked)
{
    if (s->limited) {
        price p = ask_price(s, x);
        if (s->lost + p.members > s->budget ||
            !um_worth_it(s, p.weight, p.gained))
            return true; /* as many keys as fit: the next may */
    }
    clear(s, x, tracked);
    return um_state_tell(s);
}

static bool still_matches(const um_state *s, const uint32_t *bits, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        if (s->closed[bits[j]])
            return false;
    return true;
}

bool um_run_paper(um_state *s, const um_method *self)
{
    const um_lists *l = &s->in->key_bits;
    /* Without limits the lost members need not be known before the end. */
    bool follow = self->tracked || s->limited || s->params->watch;

    if (follow && !(um_check_bit_members(s->in) && um_check_bit_keys(s->in)))
        return false;
    count_plainly(s);
    for (uint32_t b = 0; b < s->in->ntargets; b++) {
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

bool um_run_random_bits(um_state *s, const um_method *self)
{
    uint32_t n = s->in->nbits;
    uint32_t *order = um_pool_get(s->in->pool, n, sizeof *order);
    uint64_t most = s->params->moves ? s->params->moves : n;

    if (!order || !um_check_bit_members(s->in) || !um_check_bit_keys(s->in))
        return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = 0; i < n && i < most; i++) {
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
