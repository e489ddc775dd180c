/*
 * retouch_state.c - members lost and taken back, keys gone and come back.
 *
 * Three numbers make every move cheap. The XOR of the owners of a bit is its
 * owner when only one is left. The XOR of the closed bits of a key is the bit
 * when only one is closed. And the weights of live keys and of such held back
 * by one bit alone stand beside the owners, so that most moves can be judged
 * without looking at a single key.
 */
#include "base/inline.h"
#include "negatives/retouch/retouch.h"

#include <math.h>

static void count_owners(um_state *s)
{
    for (uint32_t a = 0; a < s->in->nmembers; a++)
        UM_EACH_IN (it, s->in->member_bits, a) {
            s->bit[*it].owners++;
            s->bit[*it].who ^= a;
        }
}

static void count_keys(um_state *s)
{
    for (uint32_t b = 0; b < s->in->nkeys; b++) {
        uint32_t weight = um_key_weight(s->in, b);
        UM_EACH_IN (it, s->in->key_bits, b)
            s->bit[*it].live += weight;
        s->live_weight += weight;
    }
}

bool um_state_init(um_state *s, um_instance *in,
                   const umbel_retouch_params *params)
{
    double budget = params->max_fn * in->nmembers;

    *s = (um_state){.in = in, .params = params, .rng = {params->seed}};
    /* A share such as 0.07 of 100 members is 7, not 6.99... */
    s->budget = params->max_fn >= 1  ? in->nmembers
                : params->max_fn < 0 ? 0
                                     : (uint64_t)(budget * (1 + 1e-12));
    s->limited = s->budget < in->nmembers || params->cost > 0;
    s->bit = um_pool_get(in->pool, in->nbits, sizeof *s->bit);
    s->key = um_pool_get(in->pool, in->nkeys, sizeof *s->key);
    s->kept = um_pool_get(in->pool, in->nmembers, sizeof *s->kept);
    s->closed = um_pool_get(in->pool, in->nbits, sizeof *s->closed);
    if (!s->bit || !s->key || !s->kept || !s->closed)
        return false;
    memset(s->kept, true, in->nmembers);
    s->live_targets = in->ntargets;
    count_owners(s);
    count_keys(s);
    return true;
}

bool um_state_tell(um_state *s)
{
    umbel_retouch_step step = {.lost = s->lost,
                               .removed = s->in->ntargets - s->live_targets};

    if (!s->params->watch)
        return true;
    step.lost_weight = (double)s->lost_weight * s->in->member_unit;
    step.removed_weight =
        s->in->key_worth ? s->removed_worth : (double)step.removed;
    s->stopped |= !s->params->watch(s->params->ctx, &step);
    return !s->stopped;
}

/* Takes key b out of the live ones, or back. */
static void set_live(um_state *s, uint32_t b, bool live)
{
    uint32_t weight = um_key_weight(s->in, b), by = live ? weight : 0 - weight;
    double worth = s->in->key_worth ? s->in->key_worth[b] : 1;

    UM_EACH_IN (it, s->in->key_bits, b) {
        um_bit_state *bit = &s->bit[*it];
        bit->live += by;
        if (s->gain && bit->owners == 1)
            s->gain[bit->who] += by;
    }
    s->live_weight += live ? weight : 0 - (uint64_t)weight;
    if (b < s->in->ntargets) {
        s->live_targets += live ? 1 : UINT32_MAX;
        s->removed_worth += live ? -worth : worth;
    }
}

/* Numbers are looked up all over memory: fetch those needed next together. */
static void fetch_keys(const um_state *s, uint32_t x)
{
    UM_EACH_IN (it, s->in->bit_keys, x) {
        __builtin_prefetch(&s->key[*it]);
        __builtin_prefetch(&s->in->key_bits.start[*it]);
    }
}

/* Opening undoes closing, step by step; copied for each, as it is hot. */
UM_INLINE void turn_bit(um_state *s, uint32_t x, bool close)
{
    UM_EACH_IN (it, s->in->bit_keys, x) {
        um_key_state *key = &s->key[*it];
        uint32_t weight = um_key_weight(s->in, *it);
        uint32_t by = close ? weight : 0 - weight;
        if (!close) {
            key->closed--;
            key->which ^= x;
        }
        if (key->closed == 0)
            set_live(s, *it, !close);
        if (s->pivots && key->closed == 0)
            s->bit[x].pivotal += by;
        else if (s->pivots && key->closed == 1)
            s->bit[key->which].pivotal -= by;
        if (close) {
            key->closed++;
            key->which ^= x;
        }
    }
}

void um_find_pivots(um_state *s)
{
    s->pivots = true;
    for (uint32_t x = 0; x < s->in->nbits; x++)
        s->bit[x].pivotal = 0;
    for (uint32_t b = 0; b < s->in->nkeys; b++)
        if (s->key[b].closed == 1)
            s->bit[s->key[b].which].pivotal += um_key_weight(s->in, b);
}

void um_drop(um_state *s, uint32_t a)
{
    UM_EACH_IN (it, s->in->member_bits, a)
        if (s->bit[*it].owners == 1)
            fetch_keys(s, *it);
    s->kept[a] = false;
    s->lost++;
    s->lost_weight += um_member_weight(s->in, a);
    UM_EACH_IN (it, s->in->member_bits, a) {
        um_bit_state *bit = &s->bit[*it];
        bit->owners--;
        bit->who ^= a;
        if (bit->owners == 0) {
            turn_bit(s, *it, true);
        } else if (s->gain && bit->owners == 1 && bit->live) {
            s->gain[bit->who] += bit->live;
            s->risen(s, bit->who);
        }
    }
}

void um_keep(um_state *s, uint32_t a)
{
    s->kept[a] = true;
    s->lost--;
    s->lost_weight -= um_member_weight(s->in, a);
    UM_EACH_IN (it, s->in->member_bits, a) {
        um_bit_state *bit = &s->bit[*it];
        if (bit->owners == 0)
            turn_bit(s, *it, false);
        bit->owners++;
        bit->who ^= a;
    }
}

void um_close_free(um_state *s)
{
    for (uint32_t x = 0; x < s->in->nbits; x++)
        if (s->bit[x].owners == 0)
            turn_bit(s, x, true);
}

uint64_t um_owners_weight(const um_state *s, uint32_t x)
{
    uint64_t sum = 0;

    UM_EACH_IN (it, s->in->bit_members, x)
        if (s->kept[*it])
            sum += um_member_weight(s->in, *it);
    return sum;
}

void um_drop_owners(um_state *s, uint32_t x)
{
    UM_EACH_IN (it, s->in->bit_members, x)
        if (s->kept[*it])
            um_drop(s, *it);
}

bool um_worth_it(const um_state *s, uint64_t lost_weight, uint64_t gained)
{
    double price = (double)lost_weight * s->in->member_unit;
    double worth = (double)gained * s->in->key_unit;

    return s->params->cost <= 0 || price <= s->params->cost * worth;
}
