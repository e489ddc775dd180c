/*
 * retouch_anneal.c - from greedy on, lose and take back members at random.
 *
 * Simulated annealing over the set of kept members. Energy is the weight of
 * lost members, in mean members, plus a price for every live key. Whether a
 * move is taken is decided by a threshold that is drawn first, so most can be
 * refused after a look at the member's bits: what is live on bits it owns
 * alone, or held back by its closed bits alone, bounds what the move can bring.
 * The others are made, and undone when they turn out worse than the threshold.
 *
 * At the end what is live is removed by greedy and what is lost for nothing is
 * restored; the result is kept when it beats the one that annealing began with.
 */
#include "negatives/retouch/retouch.h"

#include "base/clock.h"

#include <math.h>

enum { NDRAWS = 4096, CHECK_EVERY = 8192 };
static const uint64_t moves_per_member = 500;

typedef struct annealing {
    um_state *s;
    double price;           /* of a unit of live weight */
    double per_member;      /* energy of a unit of member weight */
    double start, end, now; /* temperatures */
    double draws[NDRAWS];   /* exponentially distributed, mean 1 */
    uint32_t *movable, nmovable;
    bool *best;
    uint64_t best_live_targets, best_lost_weight;
    double best_energy;
} annealing;

static double energy(const annealing *n)
{
    return (double)n->s->lost_weight * n->per_member +
           (double)n->s->live_weight * n->price;
}

/*
 * Returns what there is of live weight on bits that only a owns (owners 1), or
 * what surely comes back with a (owners 0).
 */
static uint64_t weight_on(const um_state *s, uint32_t a, uint32_t owners)
{
    uint64_t sum = 0;

    UM_EACH_IN (it, s->in->member_bits, a) {
        const um_bit_state *bit = &s->bit[*it];
        if (bit->owners == owners)
            sum += owners ? bit->live : bit->pivotal;
    }
    return sum;
}

/* What losing a, or taking it back, adds to the energy with that live weight.
 */
static double price_of(const annealing *n, uint32_t a, bool lose, uint64_t live)
{
    double cost =
        um_member_weight(n->s->in, a) * n->per_member - (double)live * n->price;

    return lose ? cost : -cost;
}

static void try_move(annealing *n, uint32_t a, double threshold)
{
    um_state *s = n->s;
    bool lose = s->kept[a];
    uint64_t live = s->live_weight;

    if ((lose && s->lost >= s->budget) ||
        price_of(n, a, lose, weight_on(s, a, lose)) > threshold)
        return;
    (lose ? um_drop : um_keep)(s, a);
    live = lose ? live - s->live_weight : s->live_weight - live;
    if (price_of(n, a, lose, live) > threshold)
        (lose ? um_keep : um_drop)(s, a);
}

static void try_moves(annealing *n, uint64_t moves)
{
    um_state *s = n->s;

    for (uint64_t i = 0; i < moves; i++) {
        uint64_t r = um_random(&s->rng);
        uint32_t a = n->movable[um_scale(r, n->nmovable)];
        try_move(n, a, n->now * n->draws[r & (NDRAWS - 1)]);
    }
}

/* Temperature after a share of the time or moves. */
static void cool(annealing *n, double share)
{
    n->now = n->start * pow(n->end / n->start, share < 1 ? share : 1);
}

static void anneal(annealing *n)
{
    const umbel_retouch_params *p = n->s->params;
    uint64_t moves = p->moves ? p->moves : n->nmovable * moves_per_member;
    double begun = um_seconds(), share = 0;

    for (uint64_t done = 0; share < 1 && !n->s->stopped;) {
        uint64_t some = CHECK_EVERY;
        if (p->seconds <= 0 && moves - done < some)
            some = moves - done;
        cool(n, share);
        try_moves(n, some);
        done += some;
        share = p->seconds > 0 ? (um_seconds() - begun) / p->seconds
                               : (double)done / (double)moves;
        um_state_tell(n->s);
    }
}

/*
 * Where all must go, a key costs a little more than a member. With a limit on
 * cost that is the price. With a limit on members it is what the last of them
 * was paid for.
 */
static void set_prices(annealing *n)
{
    const um_state *s = n->s;
    const um_instance *in = s->in;
    uint64_t members = 0;

    for (uint32_t a = 0; a < in->nmembers; a++)
        members += um_member_weight(in, a);
    double mean = members ? (double)members / in->nmembers : 1;
    n->per_member = 1 / mean;
    n->start = 0.3;
    n->end = s->limited ? 0.02 : 0.1;
    if (s->params->cost > 0)
        n->price = s->params->cost * in->key_unit / (in->member_unit * mean);
    else if (s->limited)
        n->price = s->rate > 0 ? 1 / (s->rate * mean) : 1;
    else
        n->price = 1.05;
}

static annealing *create(um_state *s)
{
    const um_instance *in = s->in;
    const um_lists *l = &in->member_bits;
    annealing *n = um_pool_get(in->pool, 1, sizeof *n);

    if (!n ||
        !(n->movable =
              um_pool_get(in->pool, in->nmembers, sizeof *n->movable)) ||
        !(n->best = um_pool_get(in->pool, in->nmembers, sizeof *n->best)))
        return NULL;
    n->s = s;
    for (uint32_t a = 0; a < in->nmembers; a++)
        if (l->start[a + 1] > l->start[a])
            n->movable[n->nmovable++] = a;
    for (size_t i = 0; i < NDRAWS; i++)
        n->draws[i] = -log(((double)i + 0.5) / NDRAWS);
    return n;
}

static void remember(annealing *n)
{
    const um_state *s = n->s;

    memcpy(n->best, s->kept, s->in->nmembers);
    n->best_live_targets = s->live_targets;
    n->best_lost_weight = s->lost_weight;
    n->best_energy = energy(n);
}

/* With a limit the sum counts, else first keys, then members. */
static bool is_better(const annealing *n)
{
    const um_state *s = n->s;

    if (s->limited)
        return energy(n) < n->best_energy;
    if (s->live_targets != n->best_live_targets)
        return s->live_targets < n->best_live_targets;
    return s->lost_weight < n->best_lost_weight;
}

static void go_back(annealing *n)
{
    um_state *s = n->s;

    for (uint32_t a = 0; a < s->in->nmembers; a++)
        if (n->best[a] != s->kept[a])
            (n->best[a] ? um_keep : um_drop)(s, a);
}

/* Greedy removes what is live, even when watch has had enough. */
static bool finish(um_state *s)
{
    umbel_retouch_params quiet = *s->params;
    const umbel_retouch_params *given = s->params;
    bool stopped = s->stopped;

    quiet.watch = NULL;
    s->params = &quiet;
    s->stopped = false;
    bool fine = um_greedy(s);
    uint32_t restored;
    fine = fine && um_restore(s, &restored);
    s->params = given;
    s->stopped = stopped;
    return fine;
}

bool um_run_anneal(um_state *s, const um_method *self)
{
    bool fine = um_run_greedy(s, self);
    annealing *n;

    if (s->stopped) /* stopping means: no annealing, not: half of greedy */
        return finish(s);
    if (!fine || !(n = create(s)))
        return false;
    if (n->nmovable == 0 || s->in->ntargets == 0)
        return true;
    set_prices(n);
    remember(n);
    um_find_pivots(s);
    anneal(n);
    if (!finish(s))
        return false;
    if (!is_better(n))
        go_back(n);
    return true;
}
