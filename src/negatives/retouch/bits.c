/*
 * retouch_bits.c - greedy over bits: lose every member on one.
 *
 * Where bits are shared by many, hardly a member owns one alone, and losing a
 * single member removes nothing. So a move is a bit: all its members go, and
 * with them the bits that only they owned. Its score is the weight of keys that
 * goes per weight of members. This is also the way for keys and members of
 * different worth. A heap holds the bits by score; a score that rises is put
 * right at once, one that falls when the bit comes to the top.
 */
#include "negatives/retouch/retouch.h"

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

static void consume_top(heap *h)
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

static deal look_at(const um_state *s, uint32_t x)
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
static double score(const um_state *s, uint32_t x)
{
    deal d = look_at(s, x);

    if (s->bit[x].owners == 0 || d.gained == 0)
        return 0;
    /* Members that are worth nothing go before all others. */
    return ((double)d.gained + 1e-6 * (double)d.spare) /
           (d.lost_weight ? (double)d.lost_weight : 1e-9);
}

/* Put x where its score belongs, if that is higher than it stands. */
static void refresh(um_state *s, heap *h, uint32_t x)
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

static void refresh_bits_of(um_state *s, uint32_t a)
{
    UM_EACH_IN (it, s->in->member_bits, a)
        refresh(s, s->queue, *it);
}

/* The best bit whose score is still true; false: none gains anything. */
static bool best_bit(um_state *s, heap *h, uint32_t *out)
{
    while (h->n > 0) {
        uint32_t x = h->bit[0];
        double now = score(s, x);
        if (now <= 0) {
            consume_top(h);
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

static void abandon(um_state *s, uint32_t x)
{
    UM_EACH_IN (it, s->in->bit_members, x)
        if (s->kept[*it]) {
            um_drop(s, *it);
            refresh_bits_of(s, *it); /* fewer to pay for these */
        }
}

static bool run_heap(um_state *s, heap *h)
{
    uint32_t x, cursor = 0;

    while (s->live_targets > 0) {
        if (!best_bit(s, h, &x)) {
            if (!um_force_next(s, &cursor))
                break;
        } else {
            deal d = look_at(s, x);
            if (!um_worth_it(s, d.lost_weight, d.gained))
                break;
            if (s->lost + s->bit[x].owners > s->budget) {
                consume_top(h); /* too dear, unless fewer members share it */
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

static heap *create_heap(um_state *s)
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

bool um_greedy_bits(um_state *s)
{
    if (!s->heap_room)
        s->heap_room = create_heap(s);
    if (!s->heap_room || !um_check_bit_members(s->in) || !um_gain_init(s))
        return false;
    heap *h = s->queue = s->heap_room;
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
