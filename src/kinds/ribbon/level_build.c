/*
 * level_build.c - builds a level from keys: layers of shards (shard.c), a tail,
 * and the best of several sizes.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"
#include "kinds/ribbon/level.h"
#include "kinds/ribbon/shard.h"

/* --- sorting keys by their starts, and removing duplicates -----------------
 *
 * An in-place radix sort by the bytes of the digest, highest first (McIlroy,
 * Bostic, McIlroy 1993): digests are uniform, so a few passes leave heaps of a
 * few keys. Threads sort the heaps of the first byte.
 */

enum { HEAPS = 256, MAX_INSERTION = 40, BYTES = 16, MAX_PIECES = 64 };

/* Returns byte number `at`, from the highest of lo to the lowest of hi. */
static inline unsigned byte_of(const um_ribbon_item *x, unsigned at)
{
    uint64_t word = at < 8 ? x->lo : x->hi;
    return (unsigned)(word >> (56 - 8 * (at & 7))) & 0xFF;
}

static inline bool before(const um_ribbon_item *a, const um_ribbon_item *b)
{
    return a->lo != b->lo ? a->lo < b->lo : a->hi < b->hi;
}

static inline bool same(const um_ribbon_item *a, const um_ribbon_item *b)
{
    return a->lo == b->lo && a->hi == b->hi;
}

static void sort_few(um_ribbon_item *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        um_ribbon_item moved = x[i];
        size_t j = i;
        for (; j > 0 && before(&moved, &x[j - 1]); j--)
            x[j] = x[j - 1];
        x[j] = moved;
    }
}

/* Distributes items into heaps by a byte; end[b] becomes the end of heap b. */
static void deal(um_ribbon_item *x, size_t n, unsigned at, size_t end[HEAPS])
{
    size_t next[HEAPS], sum = 0, count[HEAPS] = {0};

    for (size_t i = 0; i < n; i++)
        count[byte_of(&x[i], at)]++;
    for (size_t b = 0; b < HEAPS; b++) {
        next[b] = sum;
        sum += count[b];
        end[b] = sum;
    }
    for (size_t b = 0; b < HEAPS; b++)
        while (next[b] < end[b]) {
            um_ribbon_item moved = x[next[b]];
            unsigned to = byte_of(&moved, at);
            while (to != b) {
                um_ribbon_item other = x[next[to]];
                x[next[to]++] = moved;
                moved = other;
                to = byte_of(&moved, at);
            }
            x[next[b]++] = moved;
        }
}

/* Sorts items from byte `at` on. The depth is bounded by the bytes of a
 * digest. */
static void sort_from(um_ribbon_item *x, size_t n, unsigned at)
{
    size_t end[HEAPS], from = 0;

    if (n <= MAX_INSERTION) {
        sort_few(x, n);
        return;
    }
    if (at == BYTES)
        return; /* all are equal */
    deal(x, n, at, end);
    for (size_t b = 0; b < HEAPS; b++) {
        if (end[b] - from > 1)
            sort_from(x + from, end[b] - from, at + 1);
        from = end[b];
    }
}

/* --- sorting heaps by threads --------------------------------------------- */

typedef struct heaps {
    um_ribbon_item *items;
    size_t end[HEAPS];
    size_t next;
} heaps;

static bool consume_heap(void *ctx, void *piece)
{
    heaps *h = ctx;

    *(size_t *)piece = h->next;
    return h->next++ < HEAPS;
}

static void sort_heap(void *ctx, void *piece)
{
    const heaps *h = ctx;
    size_t b = *(const size_t *)piece, from = b ? h->end[b - 1] : 0;

    sort_from(h->items + from, h->end[b] - from, 1);
}

static bool heap_done(void *ctx, void *piece)
{
    (void)ctx;
    (void)piece;
    return true;
}

static void sort_together(um_ribbon_item *items, size_t n, unsigned threads)
{
    size_t number[MAX_PIECES];
    void *pieces[MAX_PIECES];
    heaps h = {.items = items};
    um_pipeline crew = {.threads = threads,
                        .pieces = pieces,
                        .npieces = threads < MAX_PIECES ? threads : MAX_PIECES,
                        .ctx = &h,
                        .fill = consume_heap,
                        .work = sort_heap,
                        .drain = heap_done};

    for (size_t i = 0; i < crew.npieces; i++)
        pieces[i] = &number[i];
    deal(items, n, 0, h.end);
    um_pipeline_run(&crew);
}

void um_ribbon_sort(um_ribbon_item *items, size_t *n, unsigned threads,
                    const um_ribbon_item **clash)
{
    size_t kept = 0;

    *clash = NULL;
    if (threads > 1 && *n > HEAPS)
        sort_together(items, *n, threads);
    else
        sort_from(items, *n, 0);
    for (size_t i = 0; i < *n; i++) {
        if (kept && same(&items[i], &items[kept - 1])) {
            if (items[i].value != items[kept - 1].value && !*clash)
                *clash = &items[kept - 1];
        } else {
            items[kept++] = items[i];
        }
    }
    *n = kept;
}

/* --- layers --------------------------------------------------------------- */

enum {
    PERCENT = 104, /* keys per hundred slots: fills them almost completely */
    WIDE_PERCENT = 103,
    LONG_TAIL = 4000, /* longer ones take more slots, and longer to try */
    LONG_SALTS = UM_RIBBON_UNIFORM_SALTS + 16, /* first salt not tried for long
                                                  tails */
    LANES = UM_RIBBON_LANES
};

typedef um_ribbon_equation row;
typedef um_ribbon_shard shard;

/* --- a layer -------------------------------------------------------------- */

typedef struct making {
    const umbel_alloc *alloc;
    um_ribbon_form form;
    const uint16_t *steps; /* for keys in partitions; or NULL */
    bool wide;
    unsigned threads;
    uint64_t fewer; /* buckets fewer than usual in the first layer */
    bool trial;     /* keep the rows, and solve them if this is the best */
    um_ribbon_item *items;
    size_t n;
    const um_ribbon_feed *feed; /* supplies the items instead; or NULL */

    um_ribbon_layer layer;
    row *kept;            /* rows of its only shard; or NULL */
    size_t taken, bumped; /* items that shards consumed, and bumped */
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
        if (um_ribbon_start(&m->layer, &m->items[mid]) < s->end)
            low = mid + 1;
        else
            high = mid;
    }
    s->items = m->items + m->taken;
    s->n = low - m->taken;
    m->taken = low;
}

static bool next_shard(making *m, shard *s)
{
    uint64_t most = (uint64_t)1 << UM_RIBBON_SHARD_BITS;
    uint64_t left = m->layer.starts - m->next;

    if (!left)
        return false;
    s->layer = &m->layer;
    s->rows = m->kept ? m->kept : s->rows;
    s->first = m->next;
    s->end = m->next + (left < most ? left : most);
    m->next = s->end;
    if (m->feed)
        return m->feed->take(m->feed->ctx, s->layer, s->end, s->piece,
                             &s->items, &s->n);
    find_items(m, s);
    return true;
}

/* Layers that are built at once. */
typedef struct work {
    making *m; /* n of them; the next shard is from number at */
    size_t n, at;
    size_t lanes; /* shards per piece */
} work;

/* Shards that one thread fills alternately, and the layers they belong to. */
typedef struct lanes {
    shard s[LANES];
    making *of[LANES];
    size_t n;
} lanes;

static bool next_lanes(void *ctx, void *piece)
{
    work *w = ctx;
    lanes *p = piece;

    for (p->n = 0; p->n < w->lanes && w->at < w->n;) {
        making *m = &w->m[w->at];
        if (next_shard(m, &p->s[p->n]))
            p->of[p->n++] = m;
        else
            w->at++;
    }
    return p->n > 0;
}

static void work_lanes(void *ctx, void *piece)
{
    lanes *p = piece;

    (void)ctx;
    for (size_t i = 0; i < p->n; i++)
        if (!p->of[i]->kept) /* kept rows are new */
            memset(p->s[i].rows, 0, rows_len(p->s[i].end - p->s[i].first));
    um_ribbon_eliminate(p->s, p->n);
    for (size_t i = 0; i < p->n; i++)
        if (!p->of[i]->kept)
            um_ribbon_solve(&p->s[i]);
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

/* Collects bumped keys at the front of the items, rehashed. */
static bool end_shard(making *m, const shard *s)
{
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

static bool end_lanes(void *ctx, void *piece)
{
    const lanes *p = piece;

    (void)ctx;
    for (size_t i = 0; i < p->n; i++)
        if (!end_shard(p->of[i], &p->s[i]))
            return false;
    return true;
}

/* Memory for shards in flight: the rows of each, and second halves or NULL. */
typedef struct room {
    size_t npieces, shards, rows; /* rows: per shard */
    row *row;
    uint64_t *on;
} room;

static void run_shards(work *w, const room *r)
{
    lanes lane[UM_RIBBON_PIECES] = {{.n = 0}};
    void *pieces[UM_RIBBON_PIECES];
    um_pipeline crew = {.threads = w->m->threads,
                        .pieces = pieces,
                        .npieces = r->npieces,
                        .ctx = w,
                        .fill = next_lanes,
                        .work = work_lanes,
                        .drain = end_lanes};

    for (size_t i = 0; i < r->shards; i++) {
        shard *s = &lane[i / w->lanes].s[i % w->lanes];
        s->rows = r->row ? r->row + i * r->rows : NULL;
        s->ons = r->on ? r->on + i * r->rows : NULL;
        s->piece = i;
    }
    for (size_t i = 0; i < r->npieces; i++)
        pieces[i] = &lane[i];
    for (size_t i = 0; i < w->n; i++) {
        w->m[i].taken = w->m[i].bumped = 0;
        w->m[i].next = 0;
    }
    um_pipeline_run(&crew);
}

/* Returns the number of pieces, enough that threads need not wait for each
 * other. */
static size_t pieces_for(unsigned threads, size_t turns)
{
    size_t shards =
        threads < UM_RIBBON_PIECES / 2 ? 2 * (size_t)threads : UM_RIBBON_PIECES;

    return threads < 2 ? 1 : shards / (turns < 2 ? 1 : 2);
}

/* Returns the number of shards per piece, such that every thread gets some.
 * Wide shards are not filled alternately; but two of them fit into the memory
 * of a piece. */
static size_t lanes_for(const making *m, size_t n)
{
    size_t most = m->trial ? LANES : 2;
    uint64_t shards = 0;

    if (m->wide)
        return 1;
    for (size_t i = 0; i < n; i++)
        shards += (m[i].layer.starts >> UM_RIBBON_SHARD_BITS) + 1;
    shards /= m->threads ? m->threads : 1;
    return shards < 1 ? 1 : shards < most ? (size_t)shards : most;
}

static room room_for(const work *w, size_t npieces)
{
    room r = {.npieces = npieces, .shards = npieces * w->lanes};

    for (size_t i = 0; i < w->n; i++) {
        size_t rows = row_count(w->m[i].layer.starts);
        r.rows = rows > r.rows ? rows : r.rows;
    }
    return r;
}

/* Creates n layers of sorted items at once, in memory of their own; leaves the
 * bumped items. npieces is given with a feed, otherwise 0. */
static umbel_status create_layers(making m[], size_t n, size_t npieces,
                                  umbel_error *err)
{
    work w = {.m = m, .n = n, .lanes = npieces ? 1 : lanes_for(m, n)};
    room r = room_for(&w, npieces ? npieces : pieces_for(m->threads, w.lanes));
    size_t len = m->kept ? 0 : r.shards * r.rows * sizeof *r.row;
    size_t ons_len = m->wide ? r.shards * r.rows * sizeof *r.on : 0;

    r.row = len ? um_get(m->alloc, len) : NULL;
    r.on = ons_len ? um_get(m->alloc, ons_len) : NULL;
    bool fine = (r.row || !len) && (r.on || !ons_len);
    if (fine)
        run_shards(&w, &r);
    um_put(m->alloc, r.row, len);
    um_put(m->alloc, r.on, ons_len);
    if (!fine)
        return um_no_memory(err, len + ons_len);
    for (size_t i = 0; i < n; i++)
        m[i].n = m[i].bumped;
    return UMBEL_OK;
}

uint64_t um_ribbon_buckets_for(size_t n, bool wide)
{
    uint64_t slots = (uint64_t)n * 100 / (wide ? WIDE_PERCENT : PERCENT);
    uint64_t shards = (slots >> UM_RIBBON_SHARD_BITS) + 1;
    uint64_t gap = wide ? UM_RIBBON_WIDE : UM_RIBBON_WIDTH;
    uint64_t bucket = wide ? UM_RIBBON_WIDE_BUCKET : UM_RIBBON_BUCKET;

    return (slots - shards * gap + bucket / 2) / bucket;
}

/* --- the tail ------------------------------------------------------------- */

static bool fill_tail(const making *m, const um_ribbon_level *l, row *rows)
{
    for (size_t i = 0; i < m->n; i++) {
        um_ribbon_place p;
        uint64_t at;
        um_ribbon_place_tail(l, m->items[i].lo, m->items[i].hi, &p);
        if (!um_ribbon_insert(rows, p.low, p.high,
                              m->items[i].value & um_ribbon_mask(p.columns),
                              &at))
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

/* Returns sizes without buckets and tail. */
static um_ribbon_sizes no_sizes(const making *m)
{
    um_ribbon_sizes s = {.wide = m->wide};

    if (m->steps)
        memcpy(s.steps, m->steps, sizeof s.steps);
    return s;
}

static uint64_t bytes_of(const um_ribbon_sizes *s, const um_ribbon_form *form)
{
    um_ribbon_level l;

    um_ribbon_lay(&l, form, s, NULL);
    return l.bytes;
}

/* Returns a number of slots that may suffice. Measured for long tails: about 1
 * % more than keys for each doubling of the length. */
static uint64_t least_tail(uint64_t n)
{
    uint64_t slots = n;

    for (uint64_t shorter = n / 2; shorter > LONG_TAIL; shorter /= 2)
        slots += n / 128;
    return slots;
}

/* Tries as many slots as keys, and more if no salt works. */
static umbel_status size_tail(const making *m, um_ribbon_sizes *sizes,
                              row *rows, size_t most, umbel_error *err)
{
    bool long_one = m->n > LONG_TAIL;
    uint64_t salts = long_one ? LONG_SALTS : UM_RIBBON_SALTS;
    um_ribbon_sizes s = no_sizes(m);
    um_ribbon_level l;

    for (s.tail = least_tail(m->n); s.tail <= most;
         s.tail += s.tail / (long_one ? 128 : 1024) + 1) {
        s.salt = s.tail < UM_RIBBON_WIDTH ? 0 : UM_RIBBON_UNIFORM_SALTS;
        for (; s.salt < salts; s.salt++) {
            um_ribbon_lay(&l, &m->form, &s, NULL);
            memset(rows, 0, (s.tail + UM_RIBBON_WIDTH) * sizeof *rows);
            if (fill_tail(m, &l, rows)) {
                sizes->tail = s.tail;
                sizes->salt = s.salt;
                return UMBEL_OK;
            }
        }
    }
    return um_fail(err, UMBEL_E_RANGE,
                   "no solution for these keys: choose another seed");
}

/* --- the whole level ------------------------------------------------------ */

/* The parts built so far, in separate memory until all sizes are known. */
typedef struct parts {
    um_ribbon_sizes sizes;
    uint8_t *memory[UM_RIBBON_LAYERS]; /* of each layer as if it were the only
                                          one */
    size_t len[UM_RIBBON_LAYERS];
    row *rows[UM_RIBBON_LAYERS]; /* of a trial: still to be solved; or NULL */
    size_t rows_len[UM_RIBBON_LAYERS];
    row *tail;
    size_t tail_len;
} parts;

static void parts_fini(parts *p, const umbel_alloc *alloc)
{
    for (int i = 0; i < UM_RIBBON_LAYERS; i++) {
        um_put(alloc, p->memory[i], p->len[i]);
        um_put(alloc, p->rows[i], p->rows_len[i]);
    }
    um_put(alloc, p->tail, p->tail_len);
}

/* Sets size and memory of the i-th layer. */
static umbel_status prepare_layer(making *m, int i, parts *p, umbel_error *err)
{
    const um_ribbon_item *clash;
    um_ribbon_sizes alone = no_sizes(m);
    um_ribbon_level l;

    alone.buckets[0] = um_ribbon_buckets_for(m->n, m->wide);
    if (i == 0) /* there are at least eleven buckets */
        alone.buckets[0] -= m->fewer;
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
    if (!m->trial)
        return UMBEL_OK;
    p->rows_len[i] = rows_len(m->layer.starts);
    m->kept = p->rows[i] = um_get(m->alloc, p->rows_len[i]);
    return m->kept ? UMBEL_OK : um_no_memory(err, p->rows_len[i]);
}

static umbel_status create_tail(const making *m, parts *p, umbel_error *err)
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
        shard whole = {.layer = to, .end = to->starts, .rows = p->rows[i]};
        if (whole.rows)
            um_ribbon_solve(&whole);
        else
            memcpy(to->words, from->words, (size_t)(from->bumps - from->words));
        memcpy(to->bumps, from->bumps, (size_t)(alone.buckets[0] + 3) / 4);
    }
    if (p->tail)
        solve_tail(&all, p->tail);
}

/* Creates n levels at once, up to LANES; each has its own items. */
static umbel_status create_parts(making m[], parts p[], size_t n,
                                 umbel_error *err)
{
    if (m->n > UM_RIBBON_MAX_TAIL) {
        for (size_t i = 0; i < n; i++)
            UM_TRY(prepare_layer(&m[i], 0, &p[i], err));
        UM_TRY(create_layers(m, n, 0, err));
    }
    for (size_t i = 0; i < n; i++) {
        for (int j = 1; j < UM_RIBBON_LAYERS && m[i].n > UM_RIBBON_MAX_TAIL;
             j++) {
            UM_TRY(prepare_layer(&m[i], j, &p[i], err));
            UM_TRY(create_layers(&m[i], 1, 0, err));
        }
        UM_TRY(create_tail(&m[i], &p[i], err));
    }
    return UMBEL_OK;
}

/* Keeps the smaller of two results, and frees the other. */
static void retain_smaller(const making *m, parts *best, parts *p)
{
    uint64_t bytes = bytes_of(&best->sizes, &m->form);

    if (!bytes || bytes_of(&p->sizes, &m->form) < bytes) {
        parts_fini(best, m->alloc);
        *best = *p;
    } else {
        parts_fini(p, m->alloc);
    }
}

/* Creates levels with the usual number of buckets, one fewer and two fewer.
 * copy has space for the items of each. */
static umbel_status create_each(const making *m, um_ribbon_item *copy,
                                parts *best, umbel_error *err)
{
    making each[LANES];
    parts p[LANES] = {{.tail = NULL}};

    for (int i = 0; i < LANES; i++) {
        each[i] = *m;
        each[i].trial = true;
        each[i].fewer = (uint64_t)i;
        each[i].items = copy + (size_t)i * m->n;
        memcpy(each[i].items, m->items, m->n * sizeof *copy);
        p[i].sizes = no_sizes(m);
    }
    umbel_status status = create_parts(each, p, LANES, err);
    for (int i = 0; i < LANES; i++)
        if (status)
            parts_fini(&p[i], m->alloc);
        else
            retain_smaller(m, best, &p[i]);
    return status;
}

/*
 * Creates the best of three sizes, filled alternately: by chance, one shard
 * holds a few hundred keys more or less. Nine sizes took twice the time and
 * saved less than a thousandth.
 */
static umbel_status create_best(const making *m, parts *best, umbel_error *err)
{
    size_t len = LANES * m->n * sizeof *m->items;
    um_ribbon_item *copy = um_get(m->alloc, len);

    if (!copy)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", m->n);
    umbel_status status = create_each(m, copy, best, err);
    um_put(m->alloc, copy, len);
    return status;
}

static umbel_status create(making *m, um_ribbon_sizes *sizes, uint8_t **memory,
                           size_t *len, umbel_error *err)
{
    m->wide = sizes->wide && m->n > UM_RIBBON_MAX_TAIL;
    parts p = {.sizes = no_sizes(m)};
    uint8_t *made = NULL;

    umbel_status status =
        m->n > UM_RIBBON_MAX_TAIL && m->n <= UM_RIBBON_SMALL && !m->wide
            ? create_best(m, &p, err)
            : create_parts(m, &p, 1, err);
    if (status)
        goto done;
    size_t bytes = (size_t)bytes_of(&p.sizes, &m->form);
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

umbel_status um_ribbon_create(um_ribbon_item *items, size_t n,
                              const um_ribbon_form *form, unsigned threads,
                              const umbel_alloc *alloc, um_ribbon_sizes *sizes,
                              uint8_t **memory, size_t *len, umbel_error *err)
{
    making m = {.alloc = alloc,
                .form = *form,
                .threads = threads,
                .items = items,
                .n = n};

    return create(&m, sizes, memory, len, err);
}

umbel_status um_ribbon_create_steps(um_ribbon_item *items, size_t n,
                                    const um_ribbon_form *form,
                                    unsigned threads, const umbel_alloc *alloc,
                                    um_ribbon_sizes *sizes, uint8_t **memory,
                                    size_t *len, umbel_error *err)
{
    making m = {.alloc = alloc,
                .form = *form,
                .steps = sizes->steps,
                .threads = threads,
                .items = items,
                .n = n};

    return create(&m, sizes, memory, len, err);
}

/* --- items that are not in memory ----------------------------------------- */

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

    return create_layers(&m, 1, pieces, err);
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
    umbel_status status = create_tail(&m, &p, err);

    *sizes = p.sizes;
    *out = (um_ribbon_tail){p.tail, p.tail_len};
    return status;
}

void um_ribbon_solve_tail(const um_ribbon_level *l, const um_ribbon_tail *tail)
{
    if (tail->rows)
        solve_tail(l, tail->rows);
}
