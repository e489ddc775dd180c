/*
 * ribbon_make.c - from keys to a level: eliminate, bump, solve.
 *
 * Buckets are filled from the first on, the keys of each from its last start
 * down to its first. What a bucket cannot hold spills over into the next, whose
 * first keys are therefore the first to find no place. Then a threshold is set
 * below which all keys of the bucket are bumped, and those that had a place are
 * taken out again: they were the last, so no other row depends on them.
 *
 * Paper: Dillinger, Huebschle-Schneider, Sanders, Walzer, Fast Succinct
 * Retrieval and Approximate Membership using Ribbon, 2022.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/pipeline.h"
#include "kinds/ribbon_level.h"

enum {
    PERCENT = 104, /* keys a hundred slots: what fills them all but fully */
    WIDE_PERCENT = 103,
    MOST_PLACED = UM_RIBBON_WIDE_BUCKET + UM_RIBBON_WIDE,
    LONG_TAIL = 8000, /* takes more slots, and longer to try */
    TRIES = 8
};

/* An equation whose first coefficient stands for the slot it lies in. */
typedef struct row {
    uint64_t c, v; /* c = 0: free */
} row;

#define NOWHERE UINT64_MAX

/*
 * Where the equation came to lie; NOWHERE when others imply it. False: they
 * contradict it.
 */
static bool insert(row *rows, uint64_t slot, uint64_t c, uint64_t v,
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

/* The same of 128 coefficients; the second 64 of each row lie apart. */
static bool insert_wide(row *rows, uint64_t *ons, uint64_t slot, uint64_t c,
                        uint64_t on, uint64_t v, uint64_t *at)
{
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

/* --- a shard ------------------------------------------------------------- */

typedef struct shard {
    const um_ribbon_layer *layer;
    um_ribbon_item *items; /* its keys; those bumped are moved to the front */
    size_t n, bumped;
    uint64_t first, end; /* its starts */
    row *rows;           /* of its slots, and as many again as a row is wide */
    uint64_t *ons;       /* of a wide layer: the second halves of rows */
    size_t piece;        /* which of those that go round it is */
} shard;

typedef struct placed {
    uint64_t slot;
    uint32_t start; /* in its bucket */
} placed;

static uint64_t start_of(const um_ribbon_layer *l, const um_ribbon_item *x)
{
    return um_scale(x->lo, l->starts);
}

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

static bool insert_key(const shard *s, const um_ribbon_item *x, uint64_t start,
                       uint64_t *at)
{
    const um_ribbon_layer *l = s->layer;
    uint64_t c = um_ribbon_row(x->lo, x->hi) | 1;
    uint64_t v = x->value & um_ribbon_mask(um_ribbon_columns_at(l, start));

    if (l->wide)
        return insert_wide(s->rows, s->ons, start - s->first, c,
                           um_ribbon_row_on(c), v, at);
    return insert(s->rows, start - s->first, c, v, at);
}

/* Keys from .. to - 1 of one bucket; returns the code of its threshold. */
static uint32_t fill_bucket(const shard *s, size_t from, size_t to)
{
    const um_ribbon_layer *l = s->layer;
    placed stack[MOST_PLACED];
    uint32_t code = 0;
    size_t n = 0;

    while (to-- > from) {
        const um_ribbon_item *x = &s->items[to];
        uint64_t start = start_of(l, x), at;
        uint32_t in_bucket = in_bucket_of(l, start);
        if (!insert_key(s, x, start, &at)) {
            code = code_for(l, in_bucket);
            break;
        }
        if (at != NOWHERE)
            stack[n++] = (placed){at, in_bucket};
    }
    while (n && stack[n - 1].start < um_ribbon_bumped(l, code))
        s->rows[stack[--n].slot] = (row){0, 0};
    return code;
}

static void move_bumped(shard *s, size_t from, size_t to, uint32_t code)
{
    const um_ribbon_layer *l = s->layer;
    uint32_t gone = um_ribbon_bumped(l, code);

    for (size_t i = from;
         i < to && in_bucket_of(l, start_of(l, &s->items[i])) < gone; i++)
        s->items[s->bumped++] = s->items[i];
}

static void eliminate(shard *s)
{
    const um_ribbon_layer *l = s->layer;
    size_t from = 0, to = 0;

    s->bumped = 0;
    for (uint64_t at = s->first; at < s->end; at += um_ribbon_bucket(l)) {
        uint64_t bucket = at >> l->bucket_bits, end = at + um_ribbon_bucket(l);
        while (to < s->n && start_of(l, &s->items[to]) < end)
            to++;
        uint32_t code = fill_bucket(s, from, to);
        l->bumps[bucket >> 2] |= (uint8_t)(code << 2 * (bucket & 3));
        move_bumped(s, from, to, code);
        from = to;
    }
}

/* The slots of a group, from the last to the first, all columns at once. */
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

static void solve(const shard *s)
{
    const um_ribbon_layer *l = s->layer;
    uint64_t words[3][UM_RIBBON_MOST_COLUMNS] = {{0}};
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

/* --- a layer ------------------------------------------------------------- */

typedef struct making {
    const umbel_alloc *alloc;
    um_ribbon_form form;
    const uint16_t *steps; /* of keys in partitions; or NULL */
    bool wide;
    unsigned threads;
    int more; /* buckets of the first layer */
    um_ribbon_item *items;
    size_t n;
    const um_ribbon_feed *feed; /* has the items instead; or NULL */

    um_ribbon_layer layer;
    size_t taken, bumped; /* items that shards have got, and given back */
    uint64_t next;        /* start of the next shard */
} making;

static size_t row_count(uint64_t starts)
{
    uint64_t most = (uint64_t)1 << UM_RIBBON_SHARD_BITS;
    return (size_t)(starts < most ? starts : most) +
           (size_t)2 * UM_RIBBON_WIDTH;
}

static size_t rows_len(uint64_t starts)
{
    return row_count(starts) * sizeof(row);
}

static void find_items(making *m, shard *s)
{
    size_t low = m->taken, high = m->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (start_of(&m->layer, &m->items[mid]) < s->end)
            low = mid + 1;
        else
            high = mid;
    }
    s->items = m->items + m->taken;
    s->n = low - m->taken;
    m->taken = low;
}

static bool next_shard(void *ctx, void *piece)
{
    making *m = ctx;
    shard *s = piece;
    uint64_t most = (uint64_t)1 << UM_RIBBON_SHARD_BITS;
    uint64_t left = m->layer.starts - m->next;

    if (!left)
        return false;
    s->layer = &m->layer;
    s->first = m->next;
    s->end = m->next + (left < most ? left : most);
    m->next = s->end;
    if (m->feed)
        return m->feed->take(m->feed->ctx, s->layer, s->end, s->piece,
                             &s->items, &s->n);
    find_items(m, s);
    return true;
}

static void work_shard(void *ctx, void *piece)
{
    shard *s = piece;

    (void)ctx;
    memset(s->rows, 0, rows_len(s->end - s->first));
    eliminate(s);
    solve(s);
}

static uint64_t next_place(const making *m, const um_ribbon_item *x)
{
    uint64_t next = um_ribbon_next(x->lo, 0);

    if (!m->steps)
        return next;
    um_ribbon_share share = um_ribbon_share_of(
        &m->form, m->steps, (uint32_t)(x->value >> UM_RIBBON_MORE_SHIFT));
    return um_ribbon_remap(next, &share);
}

/* Bumped keys come together at the front, hashed anew. */
static bool end_shard(void *ctx, void *piece)
{
    making *m = ctx;
    const shard *s = piece;

    for (size_t i = 0; i < s->bumped; i++) {
        um_ribbon_item x = s->items[i];
        x.lo = next_place(m, &x);
        if (!m->feed)
            m->items[m->bumped++] = x;
        else if (!m->feed->bump(m->feed->ctx, &x))
            return false;
    }
    if (m->feed)
        m->feed->done(m->feed->ctx, s->layer, s->first, s->end);
    return true;
}

static void run_shards(making *m, row *rows, uint64_t *ons, size_t npieces)
{
    size_t len = row_count(m->layer.starts);
    shard shards[UM_RIBBON_PIECES] = {{0}};
    void *pieces[UM_RIBBON_PIECES];
    um_pipeline crew = {.threads = m->threads,
                        .pieces = pieces,
                        .npieces = npieces,
                        .ctx = m,
                        .fill = next_shard,
                        .work = work_shard,
                        .drain = end_shard};

    for (size_t i = 0; i < npieces; i++) {
        shards[i].rows = rows + i * len;
        shards[i].ons = ons ? ons + i * len : NULL;
        shards[i].piece = i;
        pieces[i] = &shards[i];
    }
    m->taken = m->bumped = 0;
    m->next = 0;
    um_pipeline_run(&crew);
}

static size_t pieces_for(unsigned threads)
{
    if (threads < 2)
        return 1;
    return threads < UM_RIBBON_PIECES / 2 ? 2 * threads : UM_RIBBON_PIECES;
}

/* A layer of sorted items into memory of its own; leaves those bumped. */
static umbel_status make_layer(making *m, size_t npieces, umbel_error *err)
{
    size_t len = rows_len(m->layer.starts);
    size_t ons_len = m->wide ? len / sizeof(row) * sizeof(uint64_t) : 0;
    row *rows = um_get(m->alloc, len * npieces);
    uint64_t *ons = ons_len ? um_get(m->alloc, ons_len * npieces) : NULL;
    bool fine = rows && (ons || !ons_len);
    if (fine)
        run_shards(m, rows, ons, npieces);
    um_put(m->alloc, rows, len * npieces);
    um_put(m->alloc, ons, ons_len * npieces);
    if (!fine)
        return um_no_memory(err, (len + ons_len) * npieces);
    m->n = m->bumped;
    return UMBEL_OK;
}

static uint64_t wide_buckets_for(size_t n)
{
    uint64_t slots = (uint64_t)n * 100 / WIDE_PERCENT;
    uint64_t shards = (slots >> UM_RIBBON_SHARD_BITS) + 1;

    return (slots - shards * UM_RIBBON_WIDE + UM_RIBBON_WIDE_BUCKET / 2) /
           UM_RIBBON_WIDE_BUCKET;
}

static uint64_t buckets_for(size_t n)
{
    uint64_t slots = (uint64_t)n * 100 / PERCENT;
    uint64_t shards = (slots >> UM_RIBBON_SHARD_BITS) + 1;

    return (slots - shards * UM_RIBBON_WIDTH + UM_RIBBON_BUCKET / 2) /
           UM_RIBBON_BUCKET;
}

/* --- the tail ------------------------------------------------------------ */

static bool fill_tail(const making *m, const um_ribbon_level *l, row *rows)
{
    for (size_t i = 0; i < m->n; i++) {
        um_ribbon_place p;
        uint64_t at;
        um_ribbon_place_tail(l, m->items[i].lo, m->items[i].hi, &p);
        if (!insert(rows, p.low, p.high,
                    m->items[i].value & um_ribbon_mask(p.columns), &at))
            return false;
    }
    return true;
}

static void solve_tail(const um_ribbon_level *l, const row *rows)
{
    for (uint64_t i = l->tail; i-- > 0;) {
        um_ribbon_place p = {
            .low = i, .high = rows[i].c, .columns = l->tail_columns};
        uint64_t value = um_ribbon_get_tail(l, &p) ^ rows[i].v;
        for (uint32_t j = 0; j < p.columns; j++)
            if (value >> j & 1)
                um_set_bit(l->tail_bits, j * l->tail + i);
    }
}

/* Sizes without buckets and tail. */
static um_ribbon_sizes no_sizes(const making *m)
{
    um_ribbon_sizes s = {.wide = m->wide};

    if (m->steps)
        memcpy(s.steps, m->steps, sizeof s.steps);
    return s;
}

/* Slots that a salt in a few fills, and more when none does. */
static umbel_status size_tail(const making *m, um_ribbon_sizes *sizes,
                              row *rows, size_t most, umbel_error *err)
{
    bool long_one = m->n > LONG_TAIL;
    um_ribbon_sizes s = no_sizes(m);
    um_ribbon_level l;

    for (s.tail = m->n + m->n / (long_one ? 32 : 128); s.tail <= most;
         s.tail += s.tail / (long_one ? 64 : 128) + 1)
        for (s.salt = 0; s.salt < UM_RIBBON_SALTS; s.salt++) {
            um_ribbon_lay(&l, &m->form, &s, NULL);
            memset(rows, 0, (s.tail + UM_RIBBON_WIDTH) * sizeof *rows);
            if (fill_tail(m, &l, rows)) {
                sizes->tail = s.tail;
                sizes->salt = s.salt;
                return UMBEL_OK;
            }
        }
    return um_fail(err, UMBEL_E_RANGE,
                   "no solution for these keys: choose another seed");
}

/* --- all of it ----------------------------------------------------------- */

/* What was made so far; parts lie apart until all sizes are known. */
typedef struct parts {
    um_ribbon_sizes sizes;
    uint8_t *memory[UM_RIBBON_LAYERS]; /* of each layer as if it were alone */
    size_t len[UM_RIBBON_LAYERS];
    row *tail;
    size_t tail_len;
} parts;

static void parts_fini(parts *p, const umbel_alloc *alloc)
{
    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        um_put(alloc, p->memory[i], p->len[i]);
    um_put(alloc, p->tail, p->tail_len);
}

static umbel_status make_layers(making *m, parts *p, umbel_error *err)
{
    for (int i = 0; i < UM_RIBBON_LAYERS && m->n > UM_RIBBON_FEW; i++) {
        const um_ribbon_item *clash;
        um_ribbon_sizes alone = no_sizes(m);
        um_ribbon_level l;
        alone.buckets[0] = m->wide ? wide_buckets_for(m->n) : buckets_for(m->n);
        if (i == 0) /* of which there are more than TRIES */
            alone.buckets[0] += (uint64_t)(int64_t)m->more;
        if (i > 0)
            um_ribbon_sort(m->items, &m->n, m->threads, &clash);
        um_ribbon_lay(&l, &m->form, &alone, NULL);
        p->len[i] = (size_t)l.bytes;
        p->memory[i] = um_get(m->alloc, p->len[i]);
        if (!p->memory[i])
            return um_no_memory(err, p->len[i]);
        um_ribbon_lay(&l, &m->form, &alone, p->memory[i]);
        m->layer = l.layer[0];
        p->sizes.buckets[i] = alone.buckets[0];
        UM_TRY(make_layer(m, pieces_for(m->threads), err));
    }
    return UMBEL_OK;
}

static umbel_status make_tail(making *m, parts *p, umbel_error *err)
{
    size_t most = 2 * m->n + 4096;

    if (!m->n)
        return UMBEL_OK;
    p->tail_len = (most + UM_RIBBON_WIDTH) * sizeof *p->tail;
    p->tail = um_get(m->alloc, p->tail_len);
    if (!p->tail)
        return um_no_memory(err, p->tail_len);
    return size_tail(m, &p->sizes, p->tail, most, err);
}

static void join(const parts *p, const um_ribbon_form *form, uint8_t *memory)
{
    um_ribbon_level all, one;

    um_ribbon_lay(&all, form, &p->sizes, memory);
    for (int i = 0; i < UM_RIBBON_LAYERS; i++) {
        um_ribbon_sizes alone = {.buckets = {p->sizes.buckets[i]},
                                 .wide = p->sizes.wide};
        memcpy(alone.steps, p->sizes.steps, sizeof alone.steps);
        if (!alone.buckets[0])
            continue;
        um_ribbon_lay(&one, form, &alone, p->memory[i]);
        const um_ribbon_layer *from = &one.layer[0], *to = &all.layer[i];
        memcpy(to->words, from->words, (size_t)(from->bumps - from->words));
        memcpy(to->bumps, from->bumps, (size_t)(alone.buckets[0] + 3) / 4);
    }
    if (p->tail)
        solve_tail(&all, p->tail);
}

/* Tries a number of buckets that differs from the usual one by this much. */
static umbel_status make_parts(making *m, int more, parts *p, umbel_error *err)
{
    m->more = more;
    UM_TRY(make_layers(m, p, err));
    return make_tail(m, p, err);
}

static uint64_t bytes_of(const parts *p, const um_ribbon_form *form)
{
    um_ribbon_level l;

    um_ribbon_lay(&l, form, &p->sizes, NULL);
    return l.bytes;
}

/* Chance makes a few hundred keys more or less fit: the best of some tries. */
static umbel_status make_best(making *m, parts *best, umbel_error *err)
{
    size_t n = m->n, len = n * sizeof *m->items;
    um_ribbon_item *items = m->items, *copy = um_get(m->alloc, len);
    umbel_status status = UMBEL_OK;
    bool any = false;

    if (!copy)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", n);
    for (int more = -TRIES / 2; !status && more <= TRIES / 2; more++) {
        parts p = {.sizes = no_sizes(m)};
        memcpy(copy, items, len);
        m->items = copy;
        m->n = n;
        status = make_parts(m, more, &p, err);
        if (!status &&
            (!any || bytes_of(&p, &m->form) < bytes_of(best, &m->form))) {
            any = true;
            parts_fini(best, m->alloc);
            *best = p;
        } else {
            parts_fini(&p, m->alloc);
        }
    }
    um_put(m->alloc, copy, len);
    return status;
}

static umbel_status make(making *m, um_ribbon_sizes *sizes, uint8_t **memory,
                         size_t *len, umbel_error *err)
{
    m->wide = sizes->wide && m->n > UM_RIBBON_FEW;
    parts p = {.sizes = no_sizes(m)};
    uint8_t *made = NULL;

    umbel_status status =
        m->n > UM_RIBBON_FEW && m->n <= UM_RIBBON_SMALL && !m->wide
            ? make_best(m, &p, err)
            : make_parts(m, 0, &p, err);
    if (status)
        goto done;
    size_t bytes = (size_t)bytes_of(&p, &m->form);
    if (bytes && !(made = um_get(m->alloc, bytes))) {
        status = um_no_memory(err, bytes);
        goto done;
    }
    if (made)
        join(&p, &m->form, made);
    *sizes = p.sizes;
    *memory = made;
    *len = bytes;
done:
    parts_fini(&p, m->alloc);
    return status;
}

umbel_status um_ribbon_make(um_ribbon_item *items, size_t n,
                            const um_ribbon_form *form, unsigned threads,
                            const umbel_alloc *alloc, um_ribbon_sizes *sizes,
                            uint8_t **memory, size_t *len, umbel_error *err)
{
    making m = {.alloc = alloc,
                .form = *form,
                .threads = threads,
                .items = items,
                .n = n};

    return make(&m, sizes, memory, len, err);
}

umbel_status um_ribbon_make_steps(um_ribbon_item *items, size_t n,
                                  const um_ribbon_form *form, unsigned threads,
                                  const umbel_alloc *alloc,
                                  um_ribbon_sizes *sizes, uint8_t **memory,
                                  size_t *len, umbel_error *err)
{
    making m = {.alloc = alloc,
                .form = *form,
                .steps = sizes->steps,
                .threads = threads,
                .items = items,
                .n = n};

    return make(&m, sizes, memory, len, err);
}

/* --- items that are not in memory ---------------------------------------- */

uint64_t um_ribbon_buckets_for(size_t n, bool wide)
{
    return wide ? wide_buckets_for(n) : buckets_for(n);
}

size_t um_ribbon_rows_len(uint64_t starts, bool wide)
{
    return row_count(starts) * (sizeof(row) + (wide ? sizeof(uint64_t) : 0));
}

umbel_status um_ribbon_fill_layer(const um_ribbon_layer *l,
                                  const um_ribbon_feed *feed, unsigned threads,
                                  size_t pieces, const umbel_alloc *alloc,
                                  umbel_error *err)
{
    making m = {.alloc = alloc,
                .wide = l->wide,
                .threads = threads,
                .feed = feed,
                .layer = *l};

    return make_layer(&m, pieces, err);
}

umbel_status um_ribbon_fill_tail(um_ribbon_item *items, size_t n,
                                 const um_ribbon_form *form,
                                 const umbel_alloc *alloc,
                                 um_ribbon_sizes *sizes, um_ribbon_tail *out,
                                 umbel_error *err)
{
    making m = {.alloc = alloc,
                .form = *form,
                .wide = sizes->wide,
                .items = items,
                .n = n};
    parts p = {.sizes = *sizes};
    umbel_status status = make_tail(&m, &p, err);

    *sizes = p.sizes;
    *out = (um_ribbon_tail){p.tail, p.tail_len};
    return status;
}

void um_ribbon_solve_tail(const um_ribbon_level *l, const um_ribbon_tail *tail)
{
    if (tail->rows)
        solve_tail(l, tail->rows);
}
