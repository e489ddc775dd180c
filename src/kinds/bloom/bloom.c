/*
 * bloom.c - kind bloom: one bit per cell (Bloom 1970).
 *
 * Adding a key sets its cells; a query tests whether all of them are set. There
 * are no false negatives, and a key that was not added matches with a
 * probability that follows from the cells. One section: cells x 1 bit, cell i
 * at bit i%8 of byte i/8.
 *
 * OR is the union. AND keeps every key that is in both, and some others: its
 * error is between that of the true intersection and that of either side. Keys
 * cannot be removed; use kind counting for that.
 *
 * Setting groups: a key may use one of this many digests
 * (filter/addressing/hash_groups.h).
 */
#include "kinds/bloom/bloom.h"

#include "base/batch.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"
#include "filter/addressing/addressing.h"
#include "filter/addressing/hash_groups.h"
#include "filter/handle.h"
#include "filter/kind.h"
#include "kinds/bloom/classic_walk.h"
#include "kinds/bloom/each.h"
#include "kinds/rows.h"

#include <umbel/inline.h>

#include <math.h>
#include <sodium.h>

enum { GROUPS = UM_BLOOM_GROUPS };

static const umbel_setting_info settings[] = {
    [GROUPS] = {"groups", "digests a key may go by: a choice when it is added",
                1, UM_MAX_HASH_GROUPS, 1},
    {NULL, NULL, 0, 0, 0}};

/* Refuses groups for addressings of other programs, and for weak hashes, whose
 * cells are not random enough for a choice. */
static umbel_status check(const um_shape *s, umbel_error *err)
{
    if (s->addressing->foreign && s->setting[GROUPS] > 1)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "addressing %s is as others have it, without groups: "
                       "leave groups out, or choose another addressing",
                       s->addressing->name);
    return UMBEL_OK;
}

size_t um_bloom_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = (um_section){.cells = s->cells, .cell_bits = 1};
    return 1;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    um_bloom *b = self;

    *b = (um_bloom){.layout = l,
                    .bits = memory[0],
                    .groups = (uint32_t)s->setting[GROUPS],
                    .lanes = um_lanes_at(l)};
    if (b->groups > 1) {
        um_shape one_group = *s;
        one_group.setting[GROUPS] = 1;
        b->fast = um_fast_pick(&one_group, l);
    }
}

/* --- bloom with a choice of digests: add and query -------------------------
 *
 * The cells that are set depend on the order of the keys; there are no false
 * negatives.
 */

/* Digests of a batch that have not matched in any group so far. */
typedef struct pending {
    umbel_digest digest[UM_BATCH];
    uint16_t at[UM_BATCH]; /* their indices in the batch */
    size_t n;
} pending;

static void ask_batch(const um_bloom *b, um_query_fn *ask,
                      const umbel_digest *d, size_t n, bool *hit)
{
    pending p = {.n = 0};
    bool found[UM_BATCH];

    ask(b, d, n, hit);
    for (uint32_t g = 1; g < b->groups; g++) {
        p.n = 0;
        for (size_t i = 0; i < n; i++)
            if (!hit[i]) {
                p.digest[p.n] = um_group_digest(d[i], g);
                p.at[p.n++] = (uint16_t)i;
            }
        ask(b, p.digest, p.n, found);
        for (size_t j = 0; j < p.n; j++)
            hit[p.at[j]] = found[j];
    }
}

static void groups_query(const um_bloom *b, um_query_fn *ask,
                         const umbel_digest *d, size_t n, bool *hit)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        ask_batch(b, ask, d + done, some, hit + done);
    }
}

static bool add_one(const um_bloom *b, umbel_digest d)
{
    const um_layout *l = b->layout;
    uint64_t pos[UM_GROUPED_CELLS], cost;

    um_group_cells(l, b->groups, d, pos);
    uint32_t g = um_cheapest_group(l, b->groups, b->bits, pos, &cost);
    for (uint32_t j = 0; j < l->hashes; j++)
        um_set_bit(b->bits, pos[(size_t)g * l->hashes + j]);
    return cost > 0;
}

static size_t groups_add(const um_bloom *b, const umbel_digest *d, size_t n,
                         bool *fresh)
{
    size_t added = 0;

    for (size_t i = 0; i < n; i++) {
        bool new_key = add_one(b, d[i]);
        added += new_key;
        if (fresh)
            fresh[i] = new_key;
    }
    return added;
}

/* --- add, query, merge, fold ---------------------------------------------- */

UM_INLINE bool set_all(void *self, um_each_key key)
{
    uint8_t *bits = ((um_bloom *)self)->bits;
    uint32_t hashes = ((um_bloom *)self)->layout->hashes;
    bool fresh = false;

    for (uint32_t j = 0; j < hashes; j++)
        fresh |= um_set_bit(bits, key.pos[j]);
    return fresh;
}

UM_INLINE bool all_set(const void *self, const uint64_t *pos)
{
    const um_bloom *b = self;

    for (uint32_t j = 0; j < b->layout->hashes; j++)
        if (!um_bit(b->bits, pos[j]))
            return false;
    return true;
}

/* Returns false with groups: a key then reads several blocks. */
static bool local(const um_shape *s)
{
    return s->setting[GROUPS] == 1;
}

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    const um_bloom *b = self;

    (void)amounts;
    if (b->groups > 1)
        return groups_add(b, d, n, fresh);
    return um_each_add(self, b->layout, NULL, set_all, d, NULL, n, fresh);
}

static void query_group(const void *self, const umbel_digest *d, size_t n,
                        bool *hit)
{
    const um_bloom *b = self;
    um_each_query(self, b->layout, NULL, all_set, d, n, hit);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    const um_bloom *b = self;

    if (b->groups == 1)
        query_group(b, d, n, hit);
    else
        groups_query(b, b->fast ? b->fast->query : query_group, d, n, hit);
}

static uint64_t query_within(const void *self, const umbel_digest *d, size_t n,
                             bool *hit, uint64_t limit)
{
    const um_bloom *b = self;

    return um_query_priced(query, b, d, n, hit,
                           (uint64_t)b->groups * b->layout->hashes, limit);
}

static umbel_status merge_bits(void *self, const void *from, umbel_merge_op op,
                               umbel_error *err)
{
    if (op == UMBEL_AND && ((um_bloom *)self)->groups > 1)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "filters with groups have no intersection: a key of "
                       "both may be in a different group of each, and would be "
                       "lost");
    uint8_t *to = ((um_bloom *)self)->bits;
    const uint8_t *bits = ((const um_bloom *)from)->bits;
    size_t len = (size_t)((((const um_bloom *)from)->layout->cells + 7) / 8);

    if (op == UMBEL_OR)
        for (size_t i = 0; i < len; i++)
            to[i] |= bits[i];
    else
        for (size_t i = 0; i < len; i++)
            to[i] &= bits[i];
    return UMBEL_OK;
}

static void fold_bits(const um_bloom *to, const um_bloom *from, uint64_t by,
                      uint64_t cell, uint64_t word)
{
    for (; word; word &= word - 1) {
        uint64_t bit = cell + (uint64_t)__builtin_ctzll(word);
        um_set_bit(to->bits, um_fold_cell(from->layout, by, bit));
    }
}

/* Folds word by word; with blocks, whole words move. */
static void fold(void *self, const void *from, uint64_t by)
{
    const um_bloom *to = self, *b = from;
    bool whole = b->layout->row->block % 64 == 0;

    for (uint64_t cell = 0; cell < b->layout->cells; cell += 64) {
        uint64_t word = um_load64(b->bits + cell / 8);
        if (!word)
            continue;
        if (!whole) {
            fold_bits(to, b, by, cell, word);
            continue;
        }
        uint8_t *at = to->bits + um_fold_cell(b->layout, by, cell) / 8;
        um_store64(at, um_load64(at) | word);
    }
}

static double error(const um_shape *s, const um_layout *l, double keys)
{
    return um_groups_error(l, (uint32_t)s->setting[GROUPS], keys);
}

/* --- the error if classes of cells depend on each other --------------------
 *
 * A key begins in a random class and goes through k of them; within each its
 * cell is random. So the error is the mean over classes of the product of k
 * fills. Large filters are sampled: the product of the fills of a few cells of
 * each class has the right mean, as the cells are drawn anew each time.
 * Admission relies on it, so the creator of a filter must not know which cells
 * are sampled: the system seeds the sample. The result varies by a few parts in
 * a thousand.
 */

enum {
    LOOKS = UM_PASS_CLASSES, /* cells read in all: bounds the cost of a forged
                                file */
    LEAST = 64,              /* cells of a class read at a time */
    TABLE = 4096             /* classes whose fill is cached */
};

typedef struct classes {
    const um_layout *layout;
    um_used_in *used;
    const void *cells;
    uint64_t n, step;     /* um_classes */
    uint64_t size, looks; /* cells of a class, and how many of them are read */
    um_rng rng;
    double fill[TABLE];
} classes;

static double look_at(classes *c, uint64_t class)
{
    uint64_t used = 0;

    for (uint64_t i = 0; i < c->looks; i++) {
        uint64_t at =
            c->looks < c->size ? um_random_below(&c->rng, c->size) : i;
        used += c->used(c->cells, class + at * c->n, 1);
    }
    return (double)used / (double)c->looks;
}

/* Returns the probability that a key which begins in the class matches. */
static double chance_from(classes *c, uint64_t class)
{
    const um_layout *l = c->layout;
    double product = 1;

    for (uint32_t j = 0; j < l->hashes && product > 0; j++) {
        product *= c->n <= TABLE ? c->fill[class] : look_at(c, class);
        class = class * c->step % c->n;
    }
    return product;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

double um_classes_sampled(const um_layout *l, um_used_in *used,
                          const void *cells, uint64_t seed)
{
    classes c = {.layout = l, .used = used, .cells = cells, .rng = {seed}};
    double sum = 0;

    c.n = um_classes(l, &c.step);
    if (c.n == 0) /* independent cells are one class */
        c.n = 1;
    c.size = l->cells / c.n;
    uint64_t most = LOOKS / l->hashes, share = most / c.n;
    c.looks = least(c.size, share > LEAST ? share : LEAST);
    for (uint64_t i = 0; c.n <= TABLE && i < c.n; i++)
        c.fill[i] = look_at(&c, i);
    uint64_t starts = least(c.n, most / c.looks);
    for (uint64_t i = 0; i < starts; i++)
        sum += chance_from(&c, starts < c.n ? um_random_below(&c.rng, c.n) : i);
    return sum / (double)starts;
}

static double classes_chance(const um_layout *l, um_used_in *used,
                             const void *cells)
{
    uint64_t seed;

    randombytes_buf(&seed, sizeof seed);
    return um_classes_sampled(l, used, cells, seed);
}

/* --- error and fill from the cells ---------------------------------------- */

/* Returns the probability that a throw into a lane hits a used cell, and adds
 * the number of used cells to *in_block. */
static double lane_fill(const um_layout *l, um_used_in *used, const void *cells,
                        uint64_t from, uint64_t *in_block)
{
    uint64_t hot = um_model_hot(l);
    uint64_t used_hot = hot ? used(cells, from, hot) : 0;
    uint64_t rest = used(cells, from + hot, l->width - hot);

    *in_block += used_hot + rest;
    return um_model_hit(l, used_hot, used_hot + rest);
}

/* Does the same as lane_fill, faster, for unbiased lanes of 64 bits. */
static double word_fill(const uint8_t *bits, uint64_t from, uint64_t *in_block)
{
    uint64_t n = um_ones(um_load64(bits + from / 8));

    *in_block += n;
    return (double)n / 64;
}

/*
 * Returns the probability that a key in this block matches: the mean over the
 * lanes where its extra hashes may start of the product of the lanes' fills.
 * Adds the number of used cells to *in_block.
 */
UM_INLINE double block_error(const um_layout *l, um_used_in *used,
                             const void *cells, uint64_t block, bool words,
                             uint64_t *in_block)
{
    uint32_t lanes = l->lanes;
    double fill[2 * UM_MAX_HASHES], everywhere = 1, sum = 0; /* lanes twice */

    for (uint32_t i = 0; i < lanes; i++) {
        uint64_t from = (block * lanes + i) * l->width;
        fill[i] = fill[lanes + i] =
            words ? word_fill(cells, from, in_block)
                  : lane_fill(l, used, cells, from, in_block);
        for (uint32_t t = 0; t < l->throws; t++)
            everywhere *= fill[i];
    }
    if (l->extra == 0)
        return everywhere;
    for (uint32_t start = 0; start < lanes; start++) {
        double product = 1;
        for (uint32_t i = 0; i < l->extra; i++)
            product *= fill[start + i];
        sum += product;
    }
    return everywhere * sum / lanes;
}

UM_INLINE um_bits_look look_at_blocks(const um_layout *l, um_used_in *used,
                                      const void *cells, bool words)
{
    um_bits_look found = {.used = 0};

    for (uint64_t i = 0; i < l->blocks; i++) {
        uint64_t in_block = 0;
        found.error += block_error(l, used, cells, i, words, &in_block);
        found.used += in_block;
        if (in_block > found.in_block)
            found.in_block = in_block, found.fullest = i;
    }
    found.error /= (double)l->blocks;
    return found;
}

void um_bloom_look(const um_layout *l, um_used_in *used, const void *cells,
                   um_bits_look *out)
{
    bool words = used == um_bits_used_in && l->width == 64 && !um_range(l);
    um_bits_look found = words ? look_at_blocks(l, used, cells, true)
                               : look_at_blocks(l, used, cells, false);

    if (um_classes(l, NULL))
        found.error = classes_chance(l, used, cells);
    *out = found;
}

double um_bloom_chance(const um_layout *l, um_used_in *used, const void *cells)
{
    um_bits_look found;

    if (um_classes(l, NULL))
        return classes_chance(l, used, cells);
    um_bloom_look(l, used, cells, &found);
    return found.error;
}

uint64_t um_bits_used_in(const void *bits, uint64_t from, uint64_t n)
{
    return um_popcount(bits, from, n);
}

static void look(const void *self, um_bits_look *out)
{
    const um_bloom *b = self;

    um_bloom_look(b->layout, um_bits_used_in, b->bits, out);
    out->error = um_groups_any(out->error, b->groups);
}

static double predict(const void *self)
{
    um_bits_look found;

    look(self, &found);
    return found.error;
}

static uint64_t used(const void *self, const void *other)
{
    const um_bloom *b = self;

    if (!other)
        return um_popcount(b->bits, 0, b->layout->cells);
    return um_popcount_or(b->bits, ((const um_bloom *)other)->bits,
                          b->layout->cells);
}

static uint8_t *cells_of(void *self)
{
    return ((um_bloom *)self)->bits;
}

static uint32_t groups_of(const void *self)
{
    return ((const um_bloom *)self)->groups;
}

static double keys(const void *self, uint64_t used_cells)
{
    const um_bloom *b = self;
    return b->groups > 1 ? um_groups_keys(b->layout, b->groups, used_cells)
                         : NAN;
}

static const um_row_bits bits = {.used = used,
                                 .look = look,
                                 .cells = cells_of,
                                 .groups = groups_of,
                                 .keys = keys};

static const um_row_merge merge = {.ops = 1u << UMBEL_OR | 1u << UMBEL_AND,
                                   .cells = merge_bits};

/* --- bloom for threads that add and query concurrently ---------------------
 *
 * Bits are only ever set, so no ordering is needed: adds are relaxed fetch-ors
 * of 64-bit words, queries relaxed loads. A word is loaded first and written
 * only if a bit is missing; most adds to a filter in use change little, and
 * lines that are not written stay in the caches of all cores.
 *
 * A word is little-endian, as in the file: its bits are those of base/bits.h.
 */

enum {
    LINE = 512,    /* cells per cache line */
    FAR = 1 << 21, /* cells above which prefetching pays */
    WORD = 64,     /* cells per word */
    AT_ONCE = 8    /* cells of a key tested without a branch */
};

/* Returns the word of a cell. The payload is aligned to 64 bytes, and its size
 * is a multiple of that. */
static uint64_t *word_of(const um_bloom *b, uint64_t cell)
{
    return (uint64_t *)(void *)b->bits + cell / WORD;
}

static uint64_t mask_of(uint64_t cell)
{
    return um_le64((uint64_t)1 << cell % WORD);
}

/* Sets bits; returns true if this call changed one, which only one thread
 * gets. */
static bool turn_on(uint64_t *word, uint64_t mask)
{
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) == mask)
        return false;
    return ~__atomic_fetch_or(word, mask, __ATOMIC_RELAXED) & mask;
}

/* Sets the cells of a key; consecutive ones of one word are set at
 * once. */
UM_INLINE bool shared_set_all(void *self, um_each_key key)
{
    const um_bloom *b = self;
    const uint64_t *pos = key.pos;
    uint32_t hashes = b->layout->hashes;
    bool fresh = false;

    for (uint32_t j = 0; j < hashes;) {
        uint64_t *word = word_of(b, pos[j]);
        uint64_t mask = 0;
        for (; j < hashes && word_of(b, pos[j]) == word; j++)
            mask |= mask_of(pos[j]);
        fresh |= turn_on(word, mask);
    }
    return fresh;
}

/*
 * Tests the cells of a key. It is unpredictable where a non-member has its
 * first clear cell, so several are tested before there is a branch.
 */
UM_INLINE bool shared_all_set(const void *self, const uint64_t *pos)
{
    const um_bloom *b = self;
    uint32_t hashes = b->layout->hashes;
    uint64_t clear = 0;

    for (uint32_t j = 0; j < hashes && !clear;) {
        uint32_t stop = hashes - j < AT_ONCE ? hashes : j + AT_ONCE;
        for (; j < stop; j++)
            clear |= ~__atomic_load_n(word_of(b, pos[j]), __ATOMIC_RELAXED) &
                     mask_of(pos[j]);
    }
    return !clear;
}

/* Prefetches the cells, each cache line once if those of a key are adjacent. */
static void shared_fetch(const um_bloom *b, const uint64_t *pos, size_t n)
{
    uint64_t last = UINT64_MAX;

    for (size_t i = 0; i < n; i++)
        if (pos[i] / LINE != last) {
            last = pos[i] / LINE;
            __builtin_prefetch(word_of(b, pos[i]));
        }
}

static void shared_locate(const void *self, const umbel_digest *d, size_t n,
                          uint64_t *pos)
{
    const um_bloom *b = self;

    b->layout->row->positions(b->layout, d, n, pos);
    if (b->layout->cells > FAR)
        shared_fetch(b, pos, n * b->layout->hashes);
}

static size_t shared_add(void *self, const umbel_digest *d,
                         const uint64_t *amounts, size_t n, bool *fresh)
{
    const um_bloom *b = self;

    (void)amounts;
    return um_each_add(self, b->layout, shared_locate, shared_set_all, d, NULL,
                       n, fresh);
}

static void shared_query(const void *self, const umbel_digest *d, size_t n,
                         bool *hit)
{
    const um_bloom *b = self;
    um_each_query(self, b->layout, shared_locate, shared_all_set, d, n, hit);
}

static umbel_status may_share(const um_shape *s, umbel_error *err)
{
    if (s->setting[UM_BLOOM_GROUPS] > 1)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a bloom filter with groups cannot be shared: where a "
                       "key goes depends on what is there");
    return UMBEL_OK;
}

static const um_row_shared bloom_shared = {
    .may_share = may_share, .add = shared_add, .query = shared_query};

/* --- the row -------------------------------------------------------------- */

const um_kind um_kind_bloom = {
    .name = "bloom",
    .summary = "a set, one bit per cell; merges and folds",
    .admissible = true,
    .settings = settings,
    .self_len = sizeof(um_bloom),
    .check = check,
    .sections = um_bloom_sections,
    .attach = attach,
    .local = local,
    .add = add,
    .query = query,
    .query_within = query_within,
    .fold = fold,
    .error = error,
    .predict = predict,
    .shared = &bloom_shared,
    .bits = &bits,
    .merge = &merge,
    .paged = &um_paged_cells,
};

/* --- queries of bloom on classic in batches, on any machine --------------- */

UM_INLINE void start_digests(const void *source, size_t from, size_t n,
                             um_walkers *w)
{
    const umbel_digest *d = (const umbel_digest *)source + from;

    for (size_t i = 0; i < n; i++) {
        w->at[i] = d[i].lo;
        w->hi[i] = d[i].hi;
    }
}

void um_bloom_classic_query(const void *self, const umbel_digest *d, size_t n,
                            bool *hit)
{
    if (um_walk_is_far(self))
        um_walk_far(self, d, n, hit, start_digests);
    else
        um_walk_near(self, d, n, hit, start_digests);
}

UM_INLINE void start_keys8(const void *source, size_t from, size_t n,
                           um_walkers *w)
{
    const um_walk_keys8 *s = source;

    for (size_t i = 0; i < n; i++) {
        w->at[i] = um_xxh3_8(um_le64(s->key[from + i]), s->flip);
        w->hi[i] = um_remix(w->at[i]);
    }
}

static void classic_query_keys8(const void *self, uint64_t seed,
                                const uint64_t *keys, size_t n, bool *hit)
{
    um_walk_keys8 source = {keys, um_xxh3_flip(seed)};

    if (um_walk_is_far(self))
        um_walk_far(self, &source, n, hit, start_keys8);
    else
        um_walk_near(self, &source, n, hit, start_keys8);
}

static bool classic_usable(const um_layout *l)
{
    (void)l;
    return true;
}

const um_fast um_fast_bloom_classic = {
    .name = "plain",
    .kind = "bloom",
    .addressing = "classic",
    .usable = classic_usable,
    .query = um_bloom_classic_query,
    .query_keys8 = classic_query_keys8,
};

/* --- inlined queries (umbel/inline.h) ------------------------------------- */

enum { MAX_HASHES = 16 };

static umbel_status refuse(const char *what, const char *name, umbel_error *err)
{
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "a view serves bloom filters on blocked256 and blocked512 "
                   "with hash xxh3-64 only; this one has %s%s: use umbel_query",
                   what, name);
}

static const void *lanes_of(const um_shape *s, uint32_t at)
{
    if (s->addressing == &um_addressing_blocked256)
        return um_lanes32 + at;
    return s->addressing == &um_addressing_blocked512 ? um_lanes64 + at : NULL;
}

umbel_status umbel_view_init(umbel_view *v, const umbel_filter *f,
                             umbel_error *err)
{
    const um_shape *s = um_shape_of(f);

    if (s->kind != &um_kind_bloom)
        return refuse("kind ", s->kind->name, err);
    const um_bloom *b = f->self;
    const void *lanes = lanes_of(s, b->lanes);
    if (!lanes)
        return refuse("addressing ", s->addressing->name, err);
    if (!s->hash->fused)
        return refuse("hash ", s->hash->name, err);
    if (b->groups > 1)
        return refuse("groups", "", err);
    if (s->hashes > MAX_HASHES)
        return refuse("more than 16 hash functions", "", err);
    if (f->gate)
        return refuse("other threads that add to it (umbel_share)", "", err);
    *v = (umbel_view){.bits = b->bits,
                      .blocks = f->layout.blocks,
                      .seed = f->hasher.seed,
                      .flip = f->hasher.flip,
                      .lanes = lanes,
                      .hashes = s->hashes,
                      .block_cells = s->addressing->block};
    return UMBEL_OK;
}

uint64_t umbel_view_hash(const umbel_view *v, const void *key, size_t len)
{
    return um_xxh3(key, len, v->seed);
}
