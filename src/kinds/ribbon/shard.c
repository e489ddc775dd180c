/*
 * shard.c - computes the slots of a shard from its keys: eliminate, bump,
 * solve.
 *
 * Buckets are filled from first to last, the keys of each from its last start
 * down to its first. Keys that do not fit into a bucket spill over into the
 * next, whose first keys are therefore the first to find no place. Then a
 * threshold is set below which all keys of the bucket are bumped, and those
 * already placed are removed again: they were placed last, so no other row
 * depends on them. Before a whole bucket is bumped, more keys of the previous
 * bucket are.
 *
 * Paper: Dillinger, Huebschle-Schneider, Sanders, Walzer, Fast Succinct
 * Retrieval and Approximate Membership using Ribbon, 2022.
 */
#include "kinds/ribbon/shard.h"

#include "base/bits.h"

enum {
    MAX_PLACED = UM_RIBBON_WIDE_BUCKET + UM_RIBBON_WIDE,
    ALL_BUMPED = 3 /* a code: all starts of the bucket are bumped */
};

typedef um_ribbon_equation row;
typedef um_ribbon_shard shard;

#define NOWHERE UM_RIBBON_NOWHERE

bool um_ribbon_insert(row *rows, uint64_t slot, uint64_t c, uint64_t v,
                      uint64_t *at)
{
    *at = NOWHERE;
    while (c) {
        unsigned shift = (unsigned)__builtin_ctzll(c);
        c >>= shift;
        slot += shift;
        row *r = &rows[slot];
        if (!r->c) {
            *r = (row){c, v};
            *at = slot;
            return true;
        }
        c ^= r->c;
        v ^= r->v;
    }
    return v == 0;
}

/* Inserts an equation of 128 coefficients; the second 64 of each row are stored
 * separately. */
static bool insert_wide(row *rows, uint64_t *ons, uint64_t slot, uint64_t c,
                        uint64_t v, uint64_t *at)
{
    uint64_t on = um_ribbon_row_on(c);

    *at = NOWHERE;
    while (c | on) {
        if (!c) {
            c = on;
            on = 0;
            slot += 64;
        }
        unsigned shift = (unsigned)__builtin_ctzll(c);
        c = c >> shift | on << 1 << (63 - shift);
        on >>= shift;
        slot += shift;
        row *r = &rows[slot];
        if (!r->c) {
            *r = (row){c, v};
            ons[slot] = on;
            *at = slot;
            return true;
        }
        c ^= r->c;
        on ^= ons[slot];
        v ^= r->v;
    }
    return v == 0;
}

typedef struct placed {
    uint32_t slot;  /* of a shard */
    uint32_t start; /* in its bucket */
} placed;

/* The state of a bucket. The keys placed last have the first starts. */
typedef struct bucket {
    size_t from, to; /* its keys */
    uint32_t code;
    size_t n; /* number of placed keys */
    placed stack[MAX_PLACED];
} bucket;

static uint32_t in_bucket_of(const um_ribbon_layer *l, uint64_t start)
{
    return (uint32_t)start & (um_ribbon_bucket(l) - 1);
}

static uint32_t code_for(const um_ribbon_layer *l, uint32_t start)
{
    uint32_t code = 1;
    while (um_ribbon_bumped(l, code) <= start)
        code++;
    return code;
}

/* An equation being inserted, and the row it meets next. */
typedef struct equation {
    row *at;
    uint64_t c, v;
} equation;

/* A shard while its buckets are filled: the current key, and its equation. */
typedef struct filling {
    shard *s;
    uint64_t end; /* the start after the bucket */
    size_t key;   /* the current one; keys after it are placed */
    uint32_t in_bucket;
    equation now;
    bucket *b, *before; /* the current bucket; the one before, or an empty
                           one */
    bucket both[2];
} filling;

/* Removes bumped keys from the rows. Returns false if none of them was
 * placed. */
static bool remove_bumped(const shard *s, bucket *b)
{
    uint32_t gone = um_ribbon_bumped(s->layer, b->code);
    size_t n = b->n;

    while (b->n && b->stack[b->n - 1].start < gone)
        s->rows[b->stack[--b->n].slot] = (row){0, 0};
    return b->n < n;
}

/* Finalizes a bucket: writes its code, and moves its bumped keys to the
 * front. */
static void settle_bucket(shard *s, const bucket *b, uint64_t number)
{
    const um_ribbon_layer *l = s->layer;
    uint32_t gone = um_ribbon_bumped(l, b->code);

    l->bumps[number >> 2] |= (uint8_t)(b->code << 2 * (number & 3));
    for (size_t i = b->from;
         i < b->to && in_bucket_of(l, um_ribbon_start(l, &s->items[i])) < gone;
         i++)
        s->items[s->bumped++] = s->items[i];
}

static void fill_again(filling *f)
{
    f->key = f->b->to;
    f->b->code = 0;
    f->b->n = 0;
}

static void begin_bucket(filling *f)
{
    const shard *s = f->s;
    bucket *b = f->before;

    f->before = f->b;
    f->b = b;
    f->end += um_ribbon_bucket(s->layer);
    b->from = b->to = f->before->to;
    while (b->to < s->n && um_ribbon_start(s->layer, &s->items[b->to]) < f->end)
        b->to++;
    fill_again(f);
}

/*
 * Makes space by bumping more keys of the previous bucket. If a key past the
 * last threshold is refused, the whole bucket is bumped, and most of its slots
 * stay free. Bumping keys of the previous bucket that spilled over avoids that:
 * only this bucket, which is empty now, depends on them. Returns false if there
 * are none.
 */
static bool reserve(filling *f)
{
    if (f->b->code != ALL_BUMPED)
        return false;
    while (f->before->code + 1 < ALL_BUMPED) {
        f->before->code++;
        if (remove_bumped(f->s, f->before))
            return true;
    }
    return false;
}

/* Ends a bucket. Returns false if it must be filled again. */
static bool end_bucket(filling *f)
{
    uint64_t number = f->end >> f->s->layer->bucket_bits;

    remove_bumped(f->s, f->b);
    if (reserve(f)) {
        fill_again(f);
        return false;
    }
    if (f->end - um_ribbon_bucket(f->s->layer) != f->s->first)
        settle_bucket(f->s, f->before, number - 2);
    if (f->end == f->s->end)
        settle_bucket(f->s, f->b, number - 1);
    return true;
}

static void set_equation(filling *f)
{
    const shard *s = f->s;
    const um_ribbon_layer *l = s->layer;
    const um_ribbon_item *x = &s->items[f->key];
    uint64_t start = um_ribbon_start(l, x);

    f->in_bucket = in_bucket_of(l, start);
    f->now.at = s->rows + (start - s->first);
    f->now.c = um_ribbon_row(x->lo, x->hi) | 1;
    f->now.v = x->value & um_ribbon_mask(um_ribbon_columns_at(l, start));
}

/* Advances to the next equation. Returns false if all buckets are filled. */
static bool next_equation(filling *f)
{
    while (f->key == f->b->from) {
        if (!end_bucket(f))
            continue;
        if (f->end == f->s->end)
            return false;
        begin_bucket(f);
    }
    f->key--;
    set_equation(f);
    return true;
}

static bool begin_filling(filling *f, shard *s)
{
    f->s = s;
    f->end = s->first;
    f->b = &f->both[0];
    f->before = &f->both[1];
    for (int i = 0; i < 2; i++) {
        f->both[i].from = f->both[i].to = f->both[i].n = 0;
        f->both[i].code = 0;
    }
    s->bumped = 0;
    begin_bucket(f);
    return next_equation(f);
}

/* Records that the current key was placed at a slot, or NOWHERE. */
static void note_placed(filling *f, uint64_t at)
{
    if (at != NOWHERE)
        f->b->stack[f->b->n++] = (placed){(uint32_t)at, f->in_bucket};
}

/* Bumps the current key, which contradicts others, and all keys before it. */
static void note_refused(filling *f)
{
    f->b->code = code_for(f->s->layer, f->in_bucket);
    f->key = f->b->from;
}

static void eliminate_wide(shard *s)
{
    filling f;

    for (bool more = begin_filling(&f, s); more; more = next_equation(&f)) {
        uint64_t at, slot = (uint64_t)(f.now.at - s->rows);
        if (insert_wide(s->rows, s->ons, slot, f.now.c, f.now.v, &at))
            note_placed(&f, at);
        else
            note_refused(&f);
    }
}

/* Stores an equation in its row, unless it is empty, and advances to the next.
 * Returns false if there is none. */
static bool settle(filling *f, equation e)
{
    if (e.c) {
        *e.at = (row){e.c, e.v};
        note_placed(f, (uint64_t)(e.at - f->s->rows));
    } else if (e.v) {
        note_refused(f);
    }
    return next_equation(f);
}

/* Eliminates the first coefficient, which is 1, with the row met, and advances.
 * Returns false if the equation has become empty, or its row is free. */
UM_INLINE bool step(equation *e)
{
    uint64_t met = e->at->c;

    if (__builtin_expect(!met, 0))
        return false;
    e->c ^= met;
    e->v ^= e->at->v;
    if (__builtin_expect(!e->c, 0))
        return false;
    unsigned shift = (unsigned)__builtin_ctzll(e->c);
    e->c >>= shift;
    e->at += shift;
    return true;
}

static void fill_one(filling *f)
{
    bool more = true;

    while (more) {
        equation e = f->now;
        while (step(&e)) {
        }
        more = settle(f, e);
    }
}

/* Settles an equation and loads the next; false: its shard is full. */
UM_INLINE bool settle_and_go_on(filling *f, equation *e)
{
    bool more = settle(f, *e);

    *e = f->now;
    return more;
}

/*
 * Fill shards until one is full, and return its number. A step of an equation
 * waits for the row it meets, so independent shards alternate their steps. The
 * equations stay in registers, so there is a function for every number of
 * shards.
 */
static size_t fill_two(filling *const f[2])
{
    equation x = f[0]->now, y = f[1]->now;
    size_t full;

    for (;;) {
        full = 0;
        if (!step(&x) && !settle_and_go_on(f[0], &x))
            break;
        full = 1;
        if (!step(&y) && !settle_and_go_on(f[1], &y))
            break;
    }
    f[0]->now = x;
    f[1]->now = y;
    return full;
}

static size_t fill_three(filling *const f[3])
{
    equation x = f[0]->now, y = f[1]->now, z = f[2]->now;
    size_t full;

    for (;;) {
        full = 0;
        if (!step(&x) && !settle_and_go_on(f[0], &x))
            break;
        full = 1;
        if (!step(&y) && !settle_and_go_on(f[1], &y))
            break;
        full = 2;
        if (!step(&z) && !settle_and_go_on(f[2], &z))
            break;
    }
    f[0]->now = x;
    f[1]->now = y;
    f[2]->now = z;
    return full;
}

void um_ribbon_eliminate(shard s[], size_t n)
{
    filling all[UM_RIBBON_LANES], *f[UM_RIBBON_LANES];
    size_t left = 0;

    for (size_t i = 0; i < n; i++)
        if (s[i].layer->wide)
            eliminate_wide(&s[i]);
        else if (begin_filling(&all[i], &s[i]))
            f[left++] = &all[i];
    for (; left > 1; left--) {
        size_t full = left == 3 ? fill_three(f) : fill_two(f);
        f[full] = f[left - 1];
    }
    if (left)
        fill_one(f[0]);
}

/* Computes the slots of a group, from last to first, all columns at once. */
static void solve_group(const row *rows, uint32_t columns, uint64_t *now,
                        const uint64_t *next)
{
    for (unsigned i = 64; i-- > 0;) {
        uint64_t low = rows[i].c << i, high = rows[i].c >> 1 >> (63 - i);
        uint64_t v = rows[i].v;
        for (uint32_t j = 0; j < columns; j++) {
            uint64_t x = (now[j] & low) ^ (next[j] & high);
            now[j] |= (um_ribbon_parity(x) ^ (v >> j & 1)) << i;
        }
    }
}

static void solve_group_wide(const row *rows, const uint64_t *ons,
                             uint32_t columns, uint64_t *now,
                             const uint64_t *next, const uint64_t *third)
{
    for (unsigned i = 64; i-- > 0;) {
        uint64_t c = rows[i].c, on = c ? ons[i] : 0, v = rows[i].v;
        uint64_t low = c << i, high = c >> 1 >> (63 - i) | on << i;
        uint64_t top = on >> 1 >> (63 - i);
        for (uint32_t j = 0; j < columns; j++) {
            uint64_t x = (now[j] & low) ^ (next[j] & high) ^ (third[j] & top);
            now[j] |= (um_ribbon_parity(x) ^ (v >> j & 1)) << i;
        }
    }
}

void um_ribbon_solve(const shard *s)
{
    const um_ribbon_layer *l = s->layer;
    uint64_t words[3][UM_RIBBON_MAX_COLUMNS] = {{0}};
    uint64_t first = um_ribbon_slot(l, s->first) / 64;
    uint64_t groups = (s->end - s->first) / 64 + l->gap / 64;

    for (uint64_t g = groups; g-- > 0;) {
        uint64_t *now = words[g % 3], *next = words[(g + 1) % 3];
        uint32_t columns = um_ribbon_columns_in(l, first + g);
        uint8_t *out = l->words + um_ribbon_words(l, first + g) * 8;
        memset(now, 0, sizeof words[0]);
        if (l->wide)
            solve_group_wide(s->rows + g * 64, s->ons + g * 64, columns, now,
                             next, words[(g + 2) % 3]);
        else
            solve_group(s->rows + g * 64, columns, now, next);
        for (uint32_t j = 0; j < columns; j++)
            um_store64(out + 8 * (size_t)j, now[j]);
    }
}
