/*
 * instance.c - numbers the bits that matter in a problem.
 *
 * Only bits that a key to be removed owns can be worth clearing; other bits of
 * members are ignored. A bit vector with counts marks and numbers them, so that
 * the arrays of a method are as small as the problem, whatever the size of the
 * filter.
 */
#include "base/bits.h"
#include "base/error.h"
#include "negatives/retouch/retouch.h"

#include <math.h>

/* 64 cells: which of them matter, and how many do before them. */
typedef struct stretch {
    uint64_t marks;
    uint64_t before;
} stretch;

static bool counts(const stretch *s, uint64_t cell)
{
    return s[cell >> 6].marks >> (cell & 63) & 1;
}

static uint32_t number_of(const stretch *s, uint64_t cell)
{
    const stretch *at = &s[cell >> 6];
    uint64_t below = ((uint64_t)1 << (cell & 63)) - 1;

    return (uint32_t)(at->before + um_ones(at->marks & below));
}

static void mark_keys(stretch *s, const um_retouch_problem *p, size_t nkeys)
{
    for (size_t i = 0; i < nkeys * p->hashes; i++)
        s[p->keys.pos[i] >> 6].marks |= (uint64_t)1 << (p->keys.pos[i] & 63);
}

static void mark_all(stretch *s, const um_retouch_problem *p)
{
    for (uint64_t cell = 0; cell < p->cells; cell++)
        if (um_bit(p->bits, cell))
            s[cell >> 6].marks |= (uint64_t)1 << (cell & 63);
}

static uint64_t number_bits(stretch *s, uint64_t cells)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < (cells + 63) / 64; i++) {
        s[i].before = n;
        n += um_ones(s[i].marks);
    }
    return n;
}

static void list_cells(const stretch *s, uint64_t cells, uint64_t *out)
{
    for (uint64_t i = 0; i < (cells + 63) / 64; i++)
        for (uint64_t marks = s[i].marks; marks; marks &= marks - 1)
            *out++ = i * 64 + (uint64_t)__builtin_ctzll(marks);
}

static bool repeated(const uint64_t *pos, uint32_t j)
{
    for (uint32_t i = 0; i < j; i++)
        if (pos[i] == pos[j])
            return true;
    return false;
}

/* Lists the numbers of the bits that matter, for each of n keys. */
static bool list_bits(um_pool *pool, const stretch *s, const uint64_t *pos,
                      size_t n, uint32_t hashes, um_lists *out)
{
    uint32_t at = 0;

    out->n = n;
    out->start = um_pool_get(pool, n + 1, sizeof *out->start);
    out->item = um_pool_get(pool, n * hashes, sizeof *out->item);
    if (!out->start || !out->item)
        return false;
    for (size_t i = 0; i < n; i++, pos += hashes) {
        out->start[i] = at;
        for (uint32_t j = 0; j < hashes; j++)
            if (counts(s, pos[j]) && !repeated(pos, j))
                out->item[at++] = number_of(s, pos[j]);
    }
    out->start[n] = at;
    return true;
}

/* Inverts the lists: computes for each of n numbers the lists that contain
 * it. */
static bool turn_round(um_pool *pool, const um_lists *from, size_t n,
                       um_lists *out)
{
    uint32_t total = from->start[from->n];
    uint32_t *start = um_pool_get(pool, n + 1, sizeof *start);
    uint32_t *item = um_pool_get(pool, total, sizeof *item);

    if (!start || !item)
        return false;
    for (uint32_t i = 0; i < total; i++)
        start[from->item[i]]++;
    for (size_t i = 0, sum = 0; i <= n; i++) {
        sum += start[i];
        start[i] = (uint32_t)sum; /* for now, the end of list i */
    }
    for (size_t i = from->n; i-- > 0;)
        for (uint32_t j = from->start[i]; j < from->start[i + 1]; j++)
            item[--start[from->item[j]]] = (uint32_t)i;
    *out = (um_lists){n, start, item};
    return true;
}

bool um_check_bit_members(um_instance *in)
{
    return in->bit_members.start ||
           turn_round(in->pool, &in->member_bits, in->nbits, &in->bit_members);
}

bool um_check_bit_keys(um_instance *in)
{
    return in->bit_keys.start ||
           turn_round(in->pool, &in->key_bits, in->nbits, &in->bit_keys);
}

static bool all_equal(const double *w, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (w[i] != w[0])
            return false;
    return true;
}

/* Returns true if the weights are integers with a small enough sum. */
static bool are_units(const double *w, size_t n, double most)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (w[i] != floor(w[i]))
            return false;
        sum += w[i];
    }
    return sum <= most;
}

/*
 * Converts weights to integer units, fewer than 2^32 / hashes in total: a
 * member may own `hashes` bits, and a key weighs on each. A weight above 0
 * becomes at least one unit. *unit is the weight of a unit.
 */
static bool weigh(um_pool *pool, const double *w, size_t n, uint32_t hashes,
                  uint32_t **out, double *unit)
{
    double most = 4294967295.0 / hashes - (double)n, sum = 0;

    *out = NULL;
    *unit = w && n && w[0] > 0 ? w[0] : 1;
    if (!w || n == 0 || (w[0] > 0 && all_equal(w, n)))
        return true;
    if (!(*out = um_pool_get(pool, n, sizeof **out)))
        return false;
    for (size_t i = 0; i < n; i++)
        sum += w[i];
    *unit = are_units(w, n, most) ? 1 : sum / most;
    for (size_t i = 0; i < n; i++) {
        double units = floor(w[i] / *unit);
        (*out)[i] = w[i] > 0 && units < 1 ? 1 : (uint32_t)units;
    }
    return true;
}

/* Weight of a key to be removed, relative to one that beta has spared. */
enum { OTHERS_WEIGH = 20 };

static bool weigh_others(um_instance *in)
{
    if (in->nkeys == in->ntargets)
        return true;
    bool given = in->key_weight != NULL;
    if (!given &&
        !(in->key_weight = um_pool_get(in->pool, in->nkeys, sizeof(uint32_t))))
        return false;
    for (uint32_t i = 0; i < in->nkeys; i++) {
        uint32_t units = given ? in->key_weight[i] : OTHERS_WEIGH;
        in->key_weight[i] = i < in->ntargets ? units : units / OTHERS_WEIGH;
    }
    in->key_unit /= given ? 1 : OTHERS_WEIGH;
    return true;
}

/*
 * Counts the other bits that each member owns alone. If few bits matter,
 * members of the same worth differ in these: losing them also removes unlisted
 * keys.
 */
static bool count_spare(um_instance *in, const um_retouch_problem *p,
                        const stretch *s)
{
    size_t len = (size_t)(p->cells / 8 + 1), n = p->members.n * p->hashes;

    if (in->member_bits.start[in->nmembers] > n / 2)
        return true;
    uint8_t *once = um_pool_get(in->pool, len, 1);
    uint8_t *again = um_pool_get(in->pool, len, 1);
    in->spare = um_pool_get(in->pool, in->nmembers, sizeof *in->spare);
    if (!once || !again || !in->spare)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!um_set_bit(once, p->members.pos[i]))
            um_set_bit(again, p->members.pos[i]);
    for (size_t i = 0; i < n; i++)
        if (!um_bit(again, p->members.pos[i]) && !counts(s, p->members.pos[i]))
            in->spare[i / p->hashes]++;
    return true;
}

static umbel_status check_size(const um_retouch_problem *p, bool all_bits,
                               umbel_error *err)
{
    size_t most = (UINT32_MAX - 1) / p->hashes / 2 / OTHERS_WEIGH;

    if (p->members.n > most || p->keys.n > most)
        return um_fail(err, UMBEL_E_LIMIT,
                       "at most %zu members, and as many keys, can be "
                       "retouched at a time with %u hashes",
                       most, (unsigned)p->hashes);
    if (all_bits && p->cells > UINT32_MAX)
        return um_fail(err, UMBEL_E_LIMIT,
                       "this method numbers every bit, and takes filters of "
                       "less than 2^32 bits only");
    return UMBEL_OK;
}

static bool create(um_instance *in, const um_retouch_problem *p,
                   const umbel_retouch_params *params, bool all_bits)
{
    um_pool *pool = in->pool;
    stretch *s =
        um_pool_get(pool, (size_t)((p->cells + 63) / 64), sizeof(stretch));

    if (!s)
        return false;
    if (all_bits)
        mark_all(s, p);
    else
        mark_keys(s, p, in->nkeys);
    in->nbits = (uint32_t)number_bits(s, p->cells);
    in->cell = um_pool_get(pool, in->nbits, sizeof *in->cell);
    if (!in->cell)
        return false;
    list_cells(s, p->cells, in->cell);
    bool weighed = params->max_fn < 1 || params->cost > 0;
    return list_bits(pool, s, p->members.pos, in->nmembers, p->hashes,
                     &in->member_bits) &&
           list_bits(pool, s, p->keys.pos, in->nkeys, p->hashes,
                     &in->key_bits) &&
           weigh(pool, p->members.weights, in->nmembers, p->hashes,
                 &in->member_weight, &in->member_unit) &&
           /* If all keys must be removed, their weights do not matter. */
           weigh(pool, weighed ? p->keys.weights : NULL, in->nkeys, p->hashes,
                 &in->key_weight, &in->key_unit) &&
           count_spare(in, p, s);
}

umbel_status um_instance_create(um_instance *out, const um_retouch_problem *p,
                                const umbel_retouch_params *params,
                                bool all_bits, um_pool *pool, umbel_error *err)
{
    size_t nkeys = params->count_outside ? p->keys.n : p->ntargets;

    UM_TRY(check_size(p, all_bits, err));
    *out = (um_instance){.pool = pool,
                         .nmembers = (uint32_t)p->members.n,
                         .nkeys = (uint32_t)nkeys,
                         .ntargets = (uint32_t)p->ntargets,
                         .key_worth = p->keys.weights};
    if (!create(out, p, params, all_bits) || !weigh_others(out))
        return um_fail(err, UMBEL_E_NOMEM,
                       "no memory to retouch %zu members and %zu keys",
                       p->members.n, p->keys.n);
    return UMBEL_OK;
}

/*
 * Losing and restoring members, removing keys and letting them match again.
 *
 * Three numbers make every move cheap. The XOR of the owners of a bit is its
 * owner if only one is left. The XOR of the closed bits of a key is the bit if
 * only one is closed. The weights of live keys, and of keys held back by one
 * bit alone, are stored with the owners, so that most moves can be evaluated
 * without looking at any key.
 */

static void count_owners(um_retouch_state *s)
{
    for (uint32_t a = 0; a < s->in->nmembers; a++)
        UM_EACH_IN (it, s->in->member_bits, a) {
            s->bit[*it].owners++;
            s->bit[*it].who ^= a;
        }
}

static void count_keys(um_retouch_state *s)
{
    for (uint32_t b = 0; b < s->in->nkeys; b++) {
        uint32_t weight = um_key_weight(s->in, b);
        UM_EACH_IN (it, s->in->key_bits, b)
            s->bit[*it].live += weight;
        s->live_weight += weight;
    }
}

bool um_state_init(um_retouch_state *s, um_instance *in,
                   const umbel_retouch_params *params)
{
    double budget = params->max_fn * in->nmembers;

    *s = (um_retouch_state){.in = in, .params = params, .rng = {params->seed}};
    /* 0.07 of 100 members must be 7, not 6.99... */
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

bool um_state_tell(um_retouch_state *s)
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

/* Marks key b as live or removed. */
static void set_live(um_retouch_state *s, uint32_t b, bool live)
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

/* Prefetches the keys of a bit, which are scattered in memory. */
static void fetch_keys(const um_retouch_state *s, uint32_t x)
{
    UM_EACH_IN (it, s->in->bit_keys, x) {
        __builtin_prefetch(&s->key[*it]);
        __builtin_prefetch(&s->in->key_bits.start[*it]);
    }
}

/* Closes or opens a bit; opening undoes closing step by step. Inlined for each
 * case, as it is hot. */
UM_INLINE void turn_bit(um_retouch_state *s, uint32_t x, bool close)
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

void um_find_pivots(um_retouch_state *s)
{
    s->pivots = true;
    for (uint32_t x = 0; x < s->in->nbits; x++)
        s->bit[x].pivotal = 0;
    for (uint32_t b = 0; b < s->in->nkeys; b++)
        if (s->key[b].closed == 1)
            s->bit[s->key[b].which].pivotal += um_key_weight(s->in, b);
}

void um_drop(um_retouch_state *s, uint32_t a)
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

void um_keep(um_retouch_state *s, uint32_t a)
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

void um_close_free(um_retouch_state *s)
{
    for (uint32_t x = 0; x < s->in->nbits; x++)
        if (s->bit[x].owners == 0)
            turn_bit(s, x, true);
}

uint64_t um_owners_weight(const um_retouch_state *s, uint32_t x)
{
    uint64_t sum = 0;

    UM_EACH_IN (it, s->in->bit_members, x)
        if (s->kept[*it])
            sum += um_member_weight(s->in, *it);
    return sum;
}

void um_drop_owners(um_retouch_state *s, uint32_t x)
{
    UM_EACH_IN (it, s->in->bit_members, x)
        if (s->kept[*it])
            um_drop(s, *it);
}

bool um_worth_it(const um_retouch_state *s, uint64_t lost_weight,
                 uint64_t gained)
{
    double price = (double)lost_weight * s->in->member_unit;
    double worth = (double)gained * s->in->key_unit;

    return s->params->cost <= 0 || price <= s->params->cost * worth;
}

uint32_t um_pick_min_fn(um_retouch_state *s, const uint32_t *bits, uint32_t n)
{
    uint32_t best = bits[0];

    for (uint32_t j = 1; j < n; j++)
        if (s->bit[bits[j]].owners < s->bit[best].owners)
            best = bits[j];
    return best;
}
