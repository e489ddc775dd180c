/*
 * greedy.c - retouches greedily: repeatedly loses the member that removes the
 * most keys.
 *
 * When a member is lost, no member needs the bits that only it owned. Clearing
 * them costs nothing more, and removes every live key on them. (The methods of
 * the papers leave such bits set.) Here all weights are equal, so gains are
 * small integers, and an array of buckets serves as a queue. Gains that rise
 * are updated at once; gains that fall are noticed when the member reaches the
 * top. A gain counts a key once for each such bit it owns, so it may be too
 * large; that is rare, and affects only the order.
 */
#include "base/cpu.h"
#include "negatives/retouch/retouch.h"

#include <math.h>
#include <stdlib.h>

/* Computes the gains, in memory that is allocated once. */
static bool gain_init(um_retouch_state *s)
{
    uint32_t n = s->in->nmembers;

    if (!s->gain_memory)
        s->gain_memory = um_pool_get(s->in->pool, n, sizeof *s->gain);
    if (!s->gain_memory)
        return false;
    s->gain = s->gain_memory;
    memset(s->gain, 0, n * sizeof *s->gain);
    for (uint32_t x = 0; x < s->in->nbits; x++)
        if (s->bit[x].owners == 1)
            s->gain[s->bit[x].who] += s->bit[x].live;
    return true;
}

/* Clears the cheapest bit of the next live target that is within the limits.
 * Returns false if no target is left. *cursor is the next target. */
static bool force_next(um_retouch_state *s, uint32_t *cursor)
{
    const um_lists *l = &s->in->key_bits;

    if (!um_check_bit_members(s->in))
        return false;
    for (; *cursor < s->in->ntargets; ++*cursor) {
        uint32_t b = *cursor, n = l->start[b + 1] - l->start[b];
        if (s->key[b].closed)
            continue;
        uint32_t x = um_pick_min_fn(s, l->item + l->start[b], n);
        if (s->lost + s->bit[x].owners > s->budget ||
            !um_worth_it(s, um_owners_weight(s, x), s->bit[x].live))
            continue;
        um_drop_owners(s, x);
        return true;
    }
    return false;
}

/*
 * Greedy over bits: loses all members on a bit.
 *
 * If bits are shared by many members, hardly any member owns one alone, and
 * losing a single member removes nothing. So a move is a bit: all its members
 * are lost, and with them the bits that only they owned. Its score is the
 * weight of the removed keys per weight of lost members. This method is also
 * used if weights differ. A heap orders the bits by score; a score that rises
 * is updated at once, one that falls when the bit reaches the top.
 */

#define NOWHERE UINT32_MAX

typedef struct heap {
    uint32_t n;
    uint32_t *bit;   /* best first, children of i at 2i+1 and 2i+2 */
    uint32_t *place; /* position of each bit; NOWHERE: not in the heap */
    double *score;   /* of each bit, when last updated */
} heap;

static void write_at(heap *h, uint32_t i, uint32_t x)
{
    h->bit[i] = x;
    h->place[x] = i;
}

/* Returns true if x has the better score, or on a tie the lower number. */
static bool better(const heap *h, uint32_t x, uint32_t y)
{
    if (h->score[x] != h->score[y])
        return h->score[x] > h->score[y];
    return x < y;
}

static void move_up(heap *h, uint32_t i)
{
    uint32_t x = h->bit[i];

    for (uint32_t up; i > 0 && better(h, x, h->bit[up = (i - 1) / 2]); i = up)
        write_at(h, i, h->bit[up]);
    write_at(h, i, x);
}

static void move_down(heap *h, uint32_t i)
{
    uint32_t x = h->bit[i];

    for (uint32_t down; (down = 2 * i + 1) < h->n; i = down) {
        if (down + 1 < h->n && better(h, h->bit[down + 1], h->bit[down]))
            down++;
        if (!better(h, h->bit[down], x))
            break;
        write_at(h, i, h->bit[down]);
    }
    write_at(h, i, x);
}

static void pop_top(heap *h)
{
    h->place[h->bit[0]] = NOWHERE;
    h->n--;
    if (h->n > 0) {
        write_at(h, 0, h->bit[h->n]);
        move_down(h, 0);
    }
}

/* Gain and cost of losing the members on a bit. */
typedef struct deal {
    uint64_t gained, lost_weight;
    uint64_t spare; /* other bits freed */
} deal;

static deal look_at(const um_retouch_state *s, uint32_t x)
{
    deal d = {.gained = s->bit[x].owners > 1 ? s->bit[x].live : 0};

    UM_EACH_IN (it, s->in->bit_members, x) {
        uint32_t a = *it;
        if (!s->kept[a])
            continue;
        d.gained += s->gain[a];
        d.lost_weight += um_member_weight(s->in, a);
        d.spare += s->in->spare ? s->in->spare[a] : 0;
    }
    return d;
}

/* Returns the score of a bit; other bits that are freed break ties. */
static double score(const um_retouch_state *s, uint32_t x)
{
    deal d = look_at(s, x);

    if (s->bit[x].owners == 0 || d.gained == 0)
        return 0;
    /* Members of weight 0 are lost first. */
    return ((double)d.gained + 1e-6 * (double)d.spare) /
           (d.lost_weight ? (double)d.lost_weight : 1e-9);
}

/* Updates the score of x if it is higher than the stored one. */
static void refresh(um_retouch_state *s, heap *h, uint32_t x)
{
    double now = score(s, x);

    if (h->place[x] == NOWHERE) {
        if (now <= 0)
            return;
        h->score[x] = now;
        write_at(h, h->n, x);
        move_up(h, h->n++);
    } else if (now > h->score[x]) {
        h->score[x] = now;
        move_up(h, h->place[x]);
    }
}

static void refresh_bits_of(um_retouch_state *s, uint32_t a)
{
    UM_EACH_IN (it, s->in->member_bits, a)
        refresh(s, s->queue, *it);
}

/* Finds the bit with the best current score; returns false if none gains
 * anything. */
static bool best_bit(um_retouch_state *s, heap *h, uint32_t *out)
{
    while (h->n > 0) {
        uint32_t x = h->bit[0];
        double now = score(s, x);
        if (now <= 0) {
            pop_top(h);
        } else if (now < h->score[x]) {
            h->score[x] = now;
            move_down(h, 0);
        } else {
            *out = x;
            return true;
        }
    }
    return false;
}

static void abandon(um_retouch_state *s, uint32_t x)
{
    UM_EACH_IN (it, s->in->bit_members, x)
        if (s->kept[*it]) {
            um_drop(s, *it);
            refresh_bits_of(s, *it); /* losing these now costs less */
        }
}

static bool run_heap(um_retouch_state *s, heap *h)
{
    uint32_t x, cursor = 0;

    while (s->live_targets > 0) {
        if (!best_bit(s, h, &x)) {
            if (!force_next(s, &cursor))
                break;
        } else {
            deal d = look_at(s, x);
            if (!um_worth_it(s, d.lost_weight, d.gained))
                break;
            if (s->lost + s->bit[x].owners > s->budget) {
                pop_top(h); /* too expensive until fewer members share it */
                continue;
            }
            um_pay(s, score(s, x));
            abandon(s, x);
        }
        if (!um_state_tell(s))
            return false;
    }
    return !s->in->pool->failed;
}

static heap *create_heap(um_retouch_state *s)
{
    um_pool *pool = s->in->pool;
    uint32_t n = s->in->nbits;
    heap *h = um_pool_get(pool, 1, sizeof *h);

    if (!h || !(h->bit = um_pool_get(pool, n, sizeof *h->bit)) ||
        !(h->place = um_pool_get(pool, n, sizeof *h->place)) ||
        !(h->score = um_pool_get(pool, n, sizeof *h->score)))
        return NULL;
    return h;
}

static bool greedy_bits(um_retouch_state *s)
{
    if (!s->heap_memory)
        s->heap_memory = create_heap(s);
    if (!s->heap_memory || !um_check_bit_members(s->in) || !gain_init(s))
        return false;
    heap *h = s->queue = s->heap_memory;
    s->risen = refresh_bits_of;
    h->n = 0;
    for (uint32_t x = 0; x < s->in->nbits; x++)
        h->place[x] = NOWHERE;
    for (uint32_t x = 0; x < s->in->nbits; x++)
        refresh(s, h, x);
    bool fine = run_heap(s, h);
    s->gain = NULL;
    return fine;
}

enum { NBUCKETS = 4096 }; /* larger gains share the last one */
#define NONE UINT32_MAX

typedef struct buckets {
    uint32_t head[NBUCKETS];
    uint32_t top; /* no higher bucket is in use */
    uint32_t *next, *prev;
    uint16_t *at; /* bucket of each member; 0: none */
} buckets;

static uint16_t bucket_of(const um_retouch_state *s, uint32_t a)
{
    uint32_t gain = s->gain[a];
    return (uint16_t)(gain < NBUCKETS ? gain : NBUCKETS - 1);
}

static void unlink_member(buckets *q, uint32_t a)
{
    if (!q->at[a])
        return;
    if (q->prev[a] == NONE)
        q->head[q->at[a]] = q->next[a];
    else
        q->next[q->prev[a]] = q->next[a];
    if (q->next[a] != NONE)
        q->prev[q->next[a]] = q->prev[a];
    q->at[a] = 0;
}

static void link_member(buckets *q, uint32_t a, uint16_t bucket)
{
    if (bucket == 0)
        return;
    q->at[a] = bucket;
    q->prev[a] = NONE;
    q->next[a] = q->head[bucket];
    if (q->next[a] != NONE)
        q->prev[q->next[a]] = a;
    q->head[bucket] = a;
    if (bucket > q->top)
        q->top = bucket;
}

static void risen(um_retouch_state *s, uint32_t a)
{
    buckets *q = s->queue;
    uint16_t bucket = bucket_of(s, a);

    if (bucket > q->at[a]) {
        unlink_member(q, a);
        link_member(q, a, bucket);
    }
}

/* Returns the member with the largest gain, or NONE. */
static uint32_t best_member(const um_retouch_state *s, buckets *q)
{
    while (q->top > 0) {
        uint32_t a = q->head[q->top];
        if (a == NONE) {
            q->top--;
            continue;
        }
        uint16_t bucket = bucket_of(s, a);
        if (bucket == q->top)
            return a;
        unlink_member(q, a);
        link_member(q, a, bucket);
    }
    return NONE;
}

static buckets *create_buckets(um_retouch_state *s)
{
    um_pool *pool = s->in->pool;
    uint32_t n = s->in->nmembers;
    buckets *q = um_pool_get(pool, 1, sizeof *q);

    if (!q || !(q->next = um_pool_get(pool, n, sizeof *q->next)) ||
        !(q->prev = um_pool_get(pool, n, sizeof *q->prev)) ||
        !(q->at = um_pool_get(pool, n, sizeof *q->at)))
        return NULL;
    return q;
}

static void fill_buckets(const um_retouch_state *s, buckets *q)
{
    q->top = 0;
    memset(q->head, 0xFF, sizeof q->head);
    memset(q->at, 0, s->in->nmembers * sizeof *q->at);
    for (uint32_t a = s->in->nmembers; a-- > 0;)
        if (s->kept[a])
            link_member(q, a, bucket_of(s, a));
}

static bool run_buckets(um_retouch_state *s, buckets *q)
{
    uint32_t cursor = 0;

    while (s->live_targets > 0 && s->lost < s->budget) {
        uint32_t a = best_member(s, q);
        if (a == NONE) {
            if (!force_next(s, &cursor))
                break;
        } else {
            if (!um_worth_it(s, 1, s->gain[a]))
                break;
            um_pay(s, s->gain[a]);
            unlink_member(q, a);
            um_drop(s, a);
        }
        if (!um_state_tell(s))
            return false;
    }
    return !s->in->pool->failed;
}

/* Runs greedy over members; requires equal weights. */
static bool greedy_members(um_retouch_state *s)
{
    if (!s->bucket_memory)
        s->bucket_memory = create_buckets(s);
    if (!s->bucket_memory || !gain_init(s))
        return false;
    s->queue = s->bucket_memory;
    s->risen = risen;
    fill_buckets(s, s->queue);
    bool fine = run_buckets(s, s->queue);
    s->gain = NULL;
    return fine;
}

/* A lost member. Heavy members are restored first, then those that open the
 * fewest bits. */
typedef struct lost_one {
    uint32_t member, weight, closed;
} lost_one;

static int before(const void *x, const void *y)
{
    const lost_one *a = x, *b = y;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->closed != b->closed)
        return a->closed < b->closed ? -1 : 1;
    return (a->member > b->member) - (a->member < b->member);
}

/* Returns the number of bits that restoring the member would open, and the
 * weight that would match again because of any one of them. */
static uint32_t closed_bits(const um_retouch_state *s, uint32_t a,
                            uint64_t *pivotal)
{
    uint32_t n = 0;

    *pivotal = 0;
    UM_EACH_IN (it, s->in->member_bits, a)
        if (s->bit[*it].owners == 0) {
            n++;
            *pivotal += s->bit[*it].pivotal;
        }
    return n;
}

/* Restores a member unless a key that must be removed would match again.
 * Returns true if it was restored. */
static bool retain_if_harmless(um_retouch_state *s, uint32_t a)
{
    uint32_t live = s->live_targets;
    uint64_t pivotal;

    closed_bits(s, a, &pivotal);
    if (pivotal && s->in->nkeys == s->in->ntargets)
        return false;
    um_keep(s, a);
    if (s->live_targets == live)
        return true;
    um_drop(s, a);
    return false;
}

/* Restores members whose loss has no effect, and counts them. */
static bool restore(um_retouch_state *s, uint32_t *restored)
{
    uint32_t n = 0;
    uint64_t pivotal;

    *restored = 0;
    if (!s->restore_memory)
        s->restore_memory =
            um_pool_get(s->in->pool, s->in->nmembers, sizeof(lost_one));
    lost_one *list = s->restore_memory;
    if (!list)
        return false;
    um_find_pivots(s);
    for (uint32_t a = 0; a < s->in->nmembers; a++)
        if (!s->kept[a])
            list[n++] = (lost_one){a, um_member_weight(s->in, a),
                                   closed_bits(s, a, &pivotal)};
    qsort(list, n, sizeof *list, before);
    for (uint32_t i = 0; i < n; i++)
        *restored += retain_if_harmless(s, list[i].member);
    return true;
}

/* Returns the share of the bits of members that have a single owner. */
static double exclusive_share(const um_retouch_state *s)
{
    uint64_t all = 0, alone = 0;

    for (uint32_t x = 0; x < s->in->nbits; x++) {
        all += s->bit[x].owners;
        alone += s->bit[x].owners == 1;
    }
    return all ? (double)alone / (double)all : 1;
}

/*
 * Runs greedy and restores. What restoring saves may be spent again, so a
 * limited run repeats this until nothing is restored, or a few times.
 */
static bool greedy(um_retouch_state *s)
{
    enum { ROUNDS = 8, MANY_BITS = 16384 };
    bool alike = !s->in->member_weight && !s->in->key_weight;
    /* Moves over bits give better results, moves over members are faster. */
    bool members =
        alike && s->in->nbits >= MANY_BITS && exclusive_share(s) > 0.4;
    uint32_t restored = 1;

    for (int i = 0; restored && s->live_targets && i < ROUNDS; i++) {
        s->pivots = false;
        bool fine = members ? greedy_members(s) : greedy_bits(s);
        if (!fine && !s->stopped)
            return false;
        if (!restore(s, &restored) || s->stopped)
            return false;
    }
    return true;
}

bool um_run_greedy(um_retouch_state *s, const um_method *self)
{
    (void)self;
    if (!um_check_bit_keys(s->in))
        return false;
    um_close_free(s);
    return greedy(s);
}

/*
 * Simulated annealing: starting from greedy, loses and restores members at
 * random.
 *
 * The state is the set of kept members. Energy is the weight of lost members,
 * in mean members, plus a price for every live key. A threshold for the move is
 * drawn first, so most moves can be rejected after a look at the member's bits:
 * the live weight on bits it owns alone, or the weight held back by its closed
 * bits alone, bounds the effect of the move. The others are made, and undone if
 * they turn out worse than the threshold.
 *
 * At the end, greedy removes what is still live, and members whose loss has no
 * effect are restored; the result is kept if it is better than the initial one.
 */

enum { NDRAWS = 4096, CHECK_EVERY = 8192 };
static const uint64_t moves_per_member = 500;

typedef struct annealing {
    um_retouch_state *s;
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
 * Returns the live weight on bits that only a owns (owners 1), or the weight
 * that certainly comes back with a (owners 0).
 */
static uint64_t weight_on(const um_retouch_state *s, uint32_t a,
                          uint32_t owners)
{
    uint64_t sum = 0;

    UM_EACH_IN (it, s->in->member_bits, a) {
        const um_bit_state *bit = &s->bit[*it];
        if (bit->owners == owners)
            sum += owners ? bit->live : bit->pivotal;
    }
    return sum;
}

/* Returns the change of the energy if a is lost or restored, and the live
 * weight changes by `live`. */
static double price_of(const annealing *n, uint32_t a, bool lose, uint64_t live)
{
    double cost =
        um_member_weight(n->s->in, a) * n->per_member - (double)live * n->price;

    return lose ? cost : -cost;
}

static void try_move(annealing *n, uint32_t a, double threshold)
{
    um_retouch_state *s = n->s;
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
    um_retouch_state *s = n->s;

    for (uint64_t i = 0; i < moves; i++) {
        uint64_t r = um_random(&s->rng);
        uint32_t a = n->movable[um_scale(r, n->nmovable)];
        try_move(n, a, n->now * n->draws[r & (NDRAWS - 1)]);
    }
}

/* Sets the temperature after a share of the time or moves. */
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
 * Sets the price of a key. If all must be removed, it is a little more than a
 * member. With a limit on cost it follows from that. With a limit on members it
 * is what the last of them were lost for.
 */
static void set_prices(annealing *n)
{
    const um_retouch_state *s = n->s;
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

static annealing *create(um_retouch_state *s)
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
    const um_retouch_state *s = n->s;

    memcpy(n->best, s->kept, s->in->nmembers);
    n->best_live_targets = s->live_targets;
    n->best_lost_weight = s->lost_weight;
    n->best_energy = energy(n);
}

/* Returns true if the state is better: by energy with a limit, otherwise by
 * keys first, then by members. */
static bool is_better(const annealing *n)
{
    const um_retouch_state *s = n->s;

    if (s->limited)
        return energy(n) < n->best_energy;
    if (s->live_targets != n->best_live_targets)
        return s->live_targets < n->best_live_targets;
    return s->lost_weight < n->best_lost_weight;
}

static void go_back(annealing *n)
{
    um_retouch_state *s = n->s;

    for (uint32_t a = 0; a < s->in->nmembers; a++)
        if (n->best[a] != s->kept[a])
            (n->best[a] ? um_keep : um_drop)(s, a);
}

/* Removes what is live with greedy, even if watch has asked to stop. */
static bool finish(um_retouch_state *s)
{
    umbel_retouch_params quiet = *s->params;
    const umbel_retouch_params *given = s->params;
    bool stopped = s->stopped;

    quiet.watch = NULL;
    s->params = &quiet;
    s->stopped = false;
    bool fine = greedy(s);
    uint32_t restored;
    fine = fine && restore(s, &restored);
    s->params = given;
    s->stopped = stopped;
    return fine;
}

bool um_run_anneal(um_retouch_state *s, const um_method *self)
{
    bool fine = um_run_greedy(s, self);
    annealing *n;

    if (s->stopped) /* skip annealing, but finish greedy */
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
