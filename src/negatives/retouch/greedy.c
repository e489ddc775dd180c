/*
 * retouch_greedy.c - lose the member that removes most, again and again.
 *
 * When a member is lost, no member needs the bits that only it owned: clearing
 * these costs nothing more, and every live key on them is gone. The papers
 * clear bits and leave such bits set. All weights are equal here, so gains are
 * small whole numbers, and a row of buckets is a queue. Gains that rise move up
 * at once; gains that fall are noticed when the member comes to the top. A gain
 * counts a key once for each such bit it owns, so it may promise too much; that
 * is rare, and costs nothing but the order.
 */
#include "negatives/retouch/retouch.h"

#include <stdlib.h>

enum { NBUCKETS = 4096 }; /* larger gains share the last */
#define NONE UINT32_MAX

typedef struct buckets {
    uint32_t head[NBUCKETS];
    uint32_t top; /* none is in a higher one */
    uint32_t *next, *prev;
    uint16_t *at; /* the bucket of each member; 0: in none */
} buckets;

static uint16_t bucket_of(const um_state *s, uint32_t a)
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

static void risen(um_state *s, uint32_t a)
{
    buckets *q = s->queue;
    uint16_t bucket = bucket_of(s, a);

    if (bucket > q->at[a]) {
        unlink_member(q, a);
        link_member(q, a, bucket);
    }
}

/* The member with the largest gain, or NONE. */
static uint32_t best_member(const um_state *s, buckets *q)
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

bool um_gain_init(um_state *s)
{
    uint32_t n = s->in->nmembers;

    if (!s->gain_room)
        s->gain_room = um_pool_get(s->in->pool, n, sizeof *s->gain);
    if (!s->gain_room)
        return false;
    s->gain = s->gain_room;
    memset(s->gain, 0, n * sizeof *s->gain);
    for (uint32_t x = 0; x < s->in->nbits; x++)
        if (s->bit[x].owners == 1)
            s->gain[s->bit[x].who] += s->bit[x].live;
    return true;
}

static buckets *create_buckets(um_state *s)
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

static void fill_buckets(const um_state *s, buckets *q)
{
    q->top = 0;
    memset(q->head, 0xFF, sizeof q->head);
    memset(q->at, 0, s->in->nmembers * sizeof *q->at);
    for (uint32_t a = s->in->nmembers; a-- > 0;)
        if (s->kept[a])
            link_member(q, a, bucket_of(s, a));
}

bool um_force_next(um_state *s, uint32_t *cursor)
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

static bool run_buckets(um_state *s, buckets *q)
{
    uint32_t cursor = 0;

    while (s->live_targets > 0 && s->lost < s->budget) {
        uint32_t a = best_member(s, q);
        if (a == NONE) {
            if (!um_force_next(s, &cursor))
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
static bool greedy_members(um_state *s)
{
    if (!s->bucket_room)
        s->bucket_room = create_buckets(s);
    if (!s->bucket_room || !um_gain_init(s))
        return false;
    s->queue = s->bucket_room;
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
static uint32_t closed_bits(const um_state *s, uint32_t a, uint64_t *pivotal)
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

/* Take a back unless a key that must go would come with it. */
static bool consume_back(um_state *s, uint32_t a)
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

bool um_restore(um_state *s, uint32_t *restored)
{
    uint32_t n = 0;
    uint64_t pivotal;

    *restored = 0;
    if (!s->restore_room)
        s->restore_room =
            um_pool_get(s->in->pool, s->in->nmembers, sizeof(lost_one));
    lost_one *list = s->restore_room;
    if (!list)
        return false;
    um_find_pivots(s);
    for (uint32_t a = 0; a < s->in->nmembers; a++)
        if (!s->kept[a])
            list[n++] = (lost_one){a, um_member_weight(s->in, a),
                                   closed_bits(s, a, &pivotal)};
    qsort(list, n, sizeof *list, before);
    for (uint32_t i = 0; i < n; i++)
        *restored += consume_back(s, list[i].member);
    return true;
}

/* Of the bits of members, how many have one owner only. */
static double exclusive_share(const um_state *s)
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
bool um_greedy(um_state *s)
{
    enum { ROUNDS = 8, MANY_BITS = 16384 };
    bool alike = !s->in->member_weight && !s->in->key_weight;
    /* Bits are the better moves, members the faster ones. */
    bool members =
        alike && s->in->nbits >= MANY_BITS && exclusive_share(s) > 0.4;
    uint32_t restored = 1;

    for (int i = 0; restored && s->live_targets && i < ROUNDS; i++) {
        s->pivots = false;
        bool fine = members ? greedy_members(s) : um_greedy_bits(s);
        if (!fine && !s->stopped)
            return false;
        if (!um_restore(s, &restored) || s->stopped)
            return false;
    }
    return true;
}

bool um_run_greedy(um_state *s, const um_method *self)
{
    (void)self;
    if (!um_check_bit_keys(s->in))
        return false;
    um_close_free(s);
    return um_greedy(s);
}
