/*
 * retouch_state.c - members lost and taken back, keys gone and come back.
 *
 * Three numbers make every move cheap. The XOR of the owners of a bit is its
 * owner when only one is left. The XOR of the closed bits of a key is the bit
 * when only one is closed. And the weights of live keys and of such held back
 * by one bit alone stand beside the owners, so that most moves can be judged
 * without looking at a single key.
 */
#include "ops/retouch.h"

#include <math.h>

static void count_owners(um_state *s)
{
    const um_lists *l = &s->in->member_bits;

    for (uint32_t a = 0; a < s->in->nmembers; a++)
        for (uint32_t j = l->start[a]; j < l->start[a + 1]; j++) {
            s->bit[l->item[j]].owners++;
            s->bit[l->item[j]].who ^= a;
        }
}

static void count_keys(um_state *s)
{
    const um_lists *l = &s->in->key_bits;

    for (uint32_t b = 0; b < s->in->nkeys; b++) {
        uint32_t weight = um_key_weight(s->in, b);
        for (uint32_t j = l->start[b]; j < l->start[b + 1]; j++)
            s->bit[l->item[j]].live += weight;
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

/* Key b comes (by is its weight) or goes (minus that). */
static void change_live(um_state *s, uint32_t b, uint32_t by)
{
    const um_lists *l = &s->in->key_bits;

    for (uint32_t j = l->start[b]; j < l->start[b + 1]; j++) {
        um_bit_state *bit = &s->bit[l->item[j]];
        bit->live += by;
        if (s->gain && bit->owners == 1)
            s->gain[bit->who] += by;
    }
}

static void key_gone(um_state *s, uint32_t b)
{
    uint32_t weight = um_key_weight(s->in, b);

    change_live(s, b, 0 - weight);
    s->live_weight -= weight;
    if (b < s->in->ntargets) {
        s->live_targets--;
        s->removed_worth += s->in->key_worth ? s->in->key_worth[b] : 1;
    }
}

static void key_back(um_state *s, uint32_t b)
{
    uint32_t weight = um_key_weight(s->in, b);

    change_live(s, b, weight);
    s->live_weight += weight;
    if (b < s->in->ntargets) {
        s->live_targets++;
        s->removed_worth -= s->in->key_worth ? s->in->key_worth[b] : 1;
    }
}

/* Numbers are looked up all over memory: fetch those needed next together. */
static void fetch_keys(const um_state *s, uint32_t x)
{
    const um_lists *l = &s->in->bit_keys;

    for (uint32_t j = l->start[x]; j < l->start[x + 1]; j++) {
        __builtin_prefetch(&s->key[l->item[j]]);
        __builtin_prefetch(&s->in->key_bits.start[l->item[j]]);
    }
}

static void close_bit(um_state *s, uint32_t x)
{
    const um_lists *l = &s->in->bit_keys;

    for (uint32_t j = l->start[x]; j < l->start[x + 1]; j++) {
        uint32_t b = l->item[j];
        um_key_state *key = &s->key[b];
        if (key->closed == 0)
            key_gone(s, b);
        if (s->pivots && key->closed == 0)
            s->bit[x].pivotal += um_key_weight(s->in, b);
        else if (s->pivots && key->closed == 1)
            s->bit[key->which].pivotal -= um_key_weight(s->in, b);
        key->closed++;
        key->which ^= x;
    }
}

static void open_bit(um_state *s, uint32_t x)
{
    const um_lists *l = &s->in->bit_keys;

    for (uint32_t j = l->start[x]; j < l->start[x + 1]; j++) {
        uint32_t b = l->item[j];
        um_key_state *key = &s->key[b];
        key->closed--;
        key->which ^= x;
        if (key->closed == 0)
            key_back(s, b);
        if (s->pivots && key->closed == 0)
            s->bit[x].pivotal -= um_key_weight(s->in, b);
        else if (s->pivots && key->closed == 1)
            s->bit[key->which].pivotal += um_key_weight(s->in, b);
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
    const um_lists *l = &s->in->member_bits;

    for (uint32_t j = l->start[a]; j < l->start[a + 1]; j++)
        if (s->bit[l->item[j]].owners == 1)
            fetch_keys(s, l->item[j]);
    s->kept[a] = false;
    s->lost++;
    s->lost_weight += um_member_weight(s->in, a);
    for (uint32_t j = l->start[a]; j < l->start[a + 1]; j++) {
        um_bit_state *bit = &s->bit[l->item[j]];
        bit->owners--;
        bit->who ^= a;
        if (bit->owners == 0) {
            close_bit(s, l->item[j]);
        } else if (s->gain && bit->owners == 1 && bit->live) {
            s->gain[bit->who] += bit->live;
            s->risen(s, bit->who);
        }
    }
}

void um_keep(um_state *s, uint32_t a)
{
    const um_lists *l = &s->in->member_bits;

    s->kept[a] = true;
    s->lost--;
    s->lost_weight -= um_member_weight(s->in, a);
    for (uint32_t j = l->start[a]; j < l->start[a + 1]; j++) {
        um_bit_state *bit = &s->bit[l->item[j]];
        if (bit->owners == 0)
            open_bit(s, l->item[j]);
        bit->owners++;
        bit->who ^= a;
    }
}

void um_close_free(um_state *s)
{
    for (uint32_t x = 0; x < s->in->nbits; x++)
        if (s->bit[x].owners == 0)
            close_bit(s, x);
}

uint64_t um_owners_weight(const um_state *s, uint32_t x)
{
    const um_lists *l = &s->in->bit_members;
    uint64_t sum = 0;

    for (uint32_t j = l->start[x]; j < l->start[x + 1]; j++)
        if (s->kept[l->item[j]])
            sum += um_member_weight(s->in, l->item[j]);
    return sum;
}

void um_drop_owners(um_state *s, uint32_t x)
{
    const um_lists *l = &s->in->bit_members;

    for (uint32_t j = l->start[x]; j < l->start[x + 1]; j++)
        if (s->kept[l->item[j]])
            um_drop(s, l->item[j]);
}

bool um_worth_it(const um_state *s, uint64_t lost_weight, uint64_t gained)
{
    double price = (double)lost_weight * s->in->member_unit;
    double worth = (double)gained * s->in->key_unit;

    return s->params->cost <= 0 || price <= s->params->cost * worth;
}
