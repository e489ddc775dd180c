/*
 * greedy.c - retouches greedily: repeatedly gives up the member that removes
 * the most.
 *
 * When a member is lost, no member needs the bits that only it owned: clearing
 * these costs nothing more, and every live key on them is gone. The papers
 * clear bits and leave such bits set. All weights are equal here, so gains are
 * small whole numbers, and a row of buckets is a queue. Gains that rise move up
 * at once; gains that fall are noticed when the member comes to the top. A gain
 * counts a key once for each such bit it owns, so it may promise too much; that
 * is rare, and costs nothing but the order.
 */
#include "base/cpu.h"
#include "negatives/retouch/retouch.h"

#include <math.h>
#include <stdlib.h>

/* Fills gain, in memory made once. */
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
 * Returns false if no target is left. cursor counts targets. */
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
 * Greedy over bits: lose every member on one.
 *
 * Where bits are shared by many, hardly a member owns one alone, and losing a
 * single member removes nothing. So a move is a bit: all its members go, and
 * with them the bits that only they owned. Its score is the weight of keys that
 * goes per weight of members. This is also the way for keys and members of
 * different worth. A heap holds the bits by score; a score that rises is put
 * right at once, one that falls when the bit comes to the top.
 */

#define NOWHERE UINT32_MAX

typedef struct heap {
    uint32_t n;
    uint32_t *bit;   /* best first, children of i at 2i+1 and 2i+2 */
    uint32_t *place; /* of each bit; NOWHERE: not in it */
    double *score;   /* of each bit, as it was when placed */
} heap;

static void write_at(heap *h, uint32_t i, uint32_t x)
{
    h->bit[i] = x;
    h->place[x] = i;
}

/* Better score first; the lower number where they are equal. */
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

/* What goes with bit x, and what it costs. */
typedef struct deal {
    uint64_t gained, lost_weight;
    uint64_t spare; /* bits beside */
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

/* What else is freed decides between equals. */
static double score(const um_retouch_state *s, uint32_t x)
{
    deal d = look_at(s, x);

    if (s->bit[x].owners == 0 || d.gained == 0)
        return 0;
    /* Members that are worth nothing go before all others. */
    return ((double)d.gained + 1e-6 * (double)d.spare) /
           (d.lost_weight ? (double)d.lost_weight : 1e-9);
}

/* Put x where its score belongs, if that is higher than it stands. */
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

/* The best bit whose score is still true; false: none gains anything. */
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
            refresh_bits_of(s, *it); /* fewer to pay for these */
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
                pop_top(h); /* too dear, unless fewer members share it */
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

enum { NBUCKETS = 4096 }; /* larger gains share the last */
#define NONE UINT32_MAX

typedef struct buckets {
    uint32_t head[NBUCKETS];
    uint32_t top; /* none is in a higher one */
    uint32_t *next, *prev;
    uint16_t *at; /* the bucket of each member; 0: in none */
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

/* The member with the largest gain, or NONE. */
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

/* All weights are alike. */
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

/* Heavy members come back first, then those that open the fewest bits. */
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

/* Bits that would open, and the weight that would come back through them. */
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

/* Takes a back unless a key that must go would match again. Returns true if it
 * did. */
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

/* Takes back members that are lost for nothing and counts them. */
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

/* Of the bits of members, how many have one owner only. */
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
 * What restoring gives back may be spent again, so a limited run goes round
 * until nothing comes back, or a few times.
 */
static bool greedy(um_retouch_state *s)
{
    enum { ROUNDS = 8, MANY_BITS = 16384 };
    bool alike = !s->in->member_weight && !s->in->key_weight;
    /* Bits are the better moves, members the faster ones. */
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
 * From greedy on, lose and take back members at random.
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
 * Returns what there is of live weight on bits that only a owns (owners 1), or
 * what surely comes back with a (owners 0).
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

/* Returns what losing a, or taking it back, adds to the energy at this live
 * weight. */
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

/* With a limit the sum counts, else first keys, then members. */
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

/* Greedy removes what is live, even when watch has had enough. */
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
