/*
 * construct.c - builds kind ribbon from its members: in memory, or from more
 * members than memory holds.
 */
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/handle.h"
#include "filter/head.h"
#include "kinds/ribbon/ribbon.h"
#include "kinds/ribbon/shard.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

size_t um_ribbon_space(uint64_t bits)
{
    um_section section = {.cells = bits, .cell_bits = 1};
    return (size_t)um_section_space(&section);
}

uint8_t *um_ribbon_whole(const umbel_alloc *alloc, uint8_t *first, size_t n,
                         uint8_t *second, size_t m)
{
    size_t bytes = n + m ? n + m : 8;
    uint8_t *payload = um_get(alloc, um_ribbon_space(8 * (uint64_t)bytes));

    if (payload && n)
        memcpy(payload, first, n);
    if (payload && m)
        memcpy(payload + n, second, m);
    um_put(alloc, first, n);
    um_put(alloc, second, m);
    return payload;
}

umbel_status um_ribbon_items(const um_members *in, uint32_t bits,
                             um_ribbon_item **out, umbel_error *err)
{
    um_ribbon_item *items = NULL;

    if (in->n < SIZE_MAX / sizeof *items - 1)
        items = um_get(in->alloc, (in->n + 1) * sizeof *items);
    if (!items)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", in->n);
    for (size_t i = 0; i < in->n; i++) {
        const umbel_digest *d = &in->digests[i];
        uint64_t v = in->values ? in->values[i] : 0;
        items[i] =
            (um_ribbon_item){d->lo, d->hi, um_ribbon_print(d) << bits | v};
    }
    *out = items;
    return UMBEL_OK;
}

/* Returns the size of the whole file. The salt is the last setting in the head,
 * so its value does not matter. */
static size_t file_bytes(const um_shape *s, uint64_t bits)
{
    um_shape t = *s;
    size_t len = 0;

    t.cells = bits;
    um_ribbon_plan_hints(&t, 0);
    um_file_len(&t, &len);
    return len;
}

umbel_status um_ribbon_too_few(const um_shape *s, uint64_t bits, double least,
                               uint64_t keys, umbel_error *err)
{
    uint64_t want = ((uint64_t)least / 64 + 1) * 64;

    return um_fail(err, UMBEL_E_RANGE,
                   "%" PRIu64 " bit%s, a file of %zu bytes, are too few for "
                   "%" PRIu64 " key%s: take %" PRIu64
                   " bits, a file of %zu bytes, or more",
                   bits, bits == 1 ? "" : "s", file_bytes(s, bits), keys,
                   keys == 1 ? "" : "s", want, file_bytes(s, want));
}

static umbel_status cells_too_few(const um_shape *s, size_t n, umbel_error *err)
{
    static const um_ribbon_form one = {1, 0};
    return um_ribbon_too_few(s, s->cells, um_ribbon_guess((double)n, &one), n,
                             err);
}

static umbel_status choose_form(const um_shape *s, size_t n, double share,
                                um_ribbon_form *out, umbel_error *err)
{
    uint32_t bits = um_value_bits(s);

    if (s->cells && bits)
        return um_fail(err, UMBEL_E_RANGE,
                       "a map takes what its values take: leave the size out");
    if (s->cells) {
        um_ribbon_form_within((double)s->cells * share, (double)n, out);
        if (n && !out->columns && !out->finer)
            return cells_too_few(s, n, err);
        return UMBEL_OK;
    }
    if (!um_ribbon_form_for(s->fpr, (double)n, out))
        return um_fail(err, UMBEL_E_RANGE,
                       "kind ribbon has errors down to 2^-%d, got %g",
                       UM_RIBBON_MAX_PRINT, s->fpr);
    out->columns += bits;
    return UMBEL_OK;
}

static umbel_status two_values(const um_ribbon_item *key, umbel_digest *clash,
                               umbel_error *err)
{
    if (clash)
        *clash = (umbel_digest){key->lo, key->hi};
    return um_fail(err, UMBEL_E_KEY,
                   "a key has two different values: give it one");
}

/* Sorts items and removes duplicates; fails if a key has two values, and
 * reports it. */
static umbel_status sort_items(const um_members *in, um_ribbon_item *items,
                               size_t *n, umbel_error *err)
{
    const um_ribbon_item *clash;

    um_ribbon_sort(items, n, in->threads, &clash);
    return clash ? two_values(clash, in->clash, err) : UMBEL_OK;
}

/* Makes one attempt; the payload is at least a word. */
static umbel_status create(um_shape *s, const um_members *in, double share,
                           uint8_t **payload, umbel_error *err)
{
    static const um_ribbon_sizes none = {.tail = 0};
    um_ribbon_sizes sizes = {.wide = um_ribbon_is_wide(s)};
    um_ribbon_form form = {0, 0};
    um_ribbon_item *items;
    size_t n = in->n, len = 0;
    uint8_t *made = NULL;

    UM_TRY(um_ribbon_items(in, um_value_bits(s), &items, err));
    umbel_status status = sort_items(in, items, &n, err);
    if (!status)
        status = choose_form(s, n, share, &form, err);
    if (!status)
        status = um_ribbon_create(items, n, &form, in->threads, in->alloc,
                                  &sizes, &made, &len, err);
    um_put(in->alloc, items, (in->n + 1) * sizeof *items);
    UM_TRY(status);
    um_ribbon_shape(s, &form, um_value_bits(s), &sizes, &none);
    *payload = um_ribbon_whole(in->alloc, made, len, NULL, 0);
    if (!*payload)
        return um_no_memory(err, len);
    s->added = n;
    return UMBEL_OK;
}

static double next_share(double share, uint64_t asked, uint64_t made)
{
    uint64_t whole = asked / 64 * 64; /* cells are words */

    return share * (double)whole / (double)made - 0.001;
}

static bool is_over(const um_shape *made, uint64_t asked)
{
    return asked && made->cells > asked && made->added;
}

static umbel_status refuse_parts(const um_shape *s, uint64_t n,
                                 umbel_error *err)
{
    if (!s->hash->part || !n)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "partitions differ in how many of their keys are "
                   "members: give all keys, as a universe");
}

static void settle(um_shape *s, const um_shape *made)
{
    um_shape shape = *made;

    if (s->cells && shape.added)
        shape.fpr = um_round_fpr(um_ribbon_error(&shape, NULL, 1));
    else if (s->cells)
        shape.fpr = s->fpr;
    if (!shape.capacity)
        shape.capacity = shape.added;
    *s = shape;
}

/* Builds a filter. Sizes are estimates, so a given limit may take several
 * attempts. */
umbel_status um_ribbon_build(um_shape *s, const um_members *in,
                             uint8_t **payload, umbel_error *err)
{
    uint64_t asked = s->cells;
    um_shape made = *s;

    UM_TRY(um_ribbon_want_free(s, err));
    UM_TRY(refuse_parts(s, in->n, err));
    UM_TRY(create(&made, in, 1, payload, err));
    for (double share = 1; is_over(&made, asked);) {
        um_put(in->alloc, *payload, um_ribbon_space(made.cells));
        share = next_share(share, asked, made.cells);
        if (share <= 0.9)
            return cells_too_few(s, made.added, err);
        made = *s;
        UM_TRY(create(&made, in, share, payload, err));
    }
    settle(s, &made);
    return UMBEL_OK;
}

/* --- from members in a temporary file --------------------------------------
 *
 * The result is the same, byte for byte. Members are in heaps by their highest
 * bits, which is the order in which they are solved: each heap is sorted,
 * counted and written back; then the shards of a layer read their keys from
 * there one after another, and bumped keys go to other heaps. Only the tail is
 * solved in memory. The words of layers come first in the payload, so that they
 * can be written in place.
 */

/* A growable array of items. */
typedef struct item_list {
    um_ribbon_item *at;
    size_t n, cap;
} item_list;

typedef struct large {
    const um_spilled_members *in;
    uint32_t value_bits;
    um_ribbon_form form;
    um_ribbon_sizes sizes;

    /* The source of items: heaps, one of which is in memory. */
    um_spill *from;
    bool hi_follows;
    unsigned heap; /* the next to load */
    item_list loaded;
    size_t taken;      /* items of loaded that were consumed */
    uint64_t *records; /* buffer for a chunk */
    item_list piece[UM_RIBBON_PIECES];
    umbel_status taking; /* the result of reading */
    umbel_error take_error;

    /* The destination of bumped items: heaps, or the tail. */
    um_spill next;
    bool to_tail;
    item_list tail;
    umbel_status bumping;
    umbel_error bump_error;

    uint8_t *bumps[UM_RIBBON_LAYERS];
    size_t bumps_len[UM_RIBBON_LAYERS];
} large;

/* --- items and records ---------------------------------------------------- */

static bool reserve(item_list *l, size_t n)
{
    if (l->at && n <= l->cap)
        return true;
    size_t cap = n + n / 8 + 1024; /* lists of gigabytes: waste little */
    if (!um_array_resize(&l->at, cap, sizeof *l->at))
        return false;
    l->cap = cap;
    return true;
}

static void list_fini(item_list *l)
{
    free(l->at);
    *l = (item_list){.at = NULL};
}

static um_ribbon_item item_of(const large *x, const uint64_t *record)
{
    umbel_digest d = {record[0],
                      x->hi_follows ? um_remix(record[0]) : record[1]};
    uint64_t value = x->value_bits ? record[x->hi_follows ? 1 : 2] : 0;

    return (um_ribbon_item){d.lo, d.hi,
                            um_ribbon_print(&d) << x->value_bits | value};
}

static void write_record(const large *x, bool hi_follows,
                         const um_ribbon_item *item, uint64_t *record)
{
    *record++ = item->lo;
    if (!hi_follows)
        *record++ = item->hi;
    if (x->value_bits)
        *record = item->value & um_ribbon_mask(x->value_bits);
}

static umbel_status load_heap(large *x, unsigned heap, umbel_error *err)
{
    um_spill_walk w = um_spill_begin(x->from, heap);
    item_list *to = &x->loaded;
    size_t n;

    to->n = x->taken = 0;
    if (!reserve(to, (size_t)w.left))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys",
                       (size_t)w.left);
    do {
        UM_TRY(um_spill_read(&w, x->records, &n, err));
        for (size_t i = 0; i < n; i++)
            to->at[to->n++] = item_of(x, x->records + i * x->from->words);
    } while (n);
    return UMBEL_OK;
}

static umbel_status store_heap(large *x, unsigned heap, umbel_error *err)
{
    um_spill_walk w = um_spill_begin(x->from, heap);
    const item_list *l = &x->loaded;

    for (size_t at = 0, some; at < l->n; at += some) {
        some = l->n - at;
        if (some > x->from->per_chunk)
            some = x->from->per_chunk;
        for (size_t i = 0; i < some; i++)
            write_record(x, x->hi_follows, &l->at[at + i],
                         x->records + i * x->from->words);
        UM_TRY(um_spill_write(&w, x->records, some, err));
    }
    um_spill_cut(&w);
    return UMBEL_OK;
}

/* Sorts every heap and removes duplicates; x->from->n is then the number of
 * keys. */
static umbel_status sort_heaps(large *x, umbel_error *err)
{
    for (unsigned heap = 0; heap < UM_SPILL_HEAPS; heap++) {
        const um_ribbon_item *clash;
        UM_TRY(load_heap(x, heap, err));
        um_ribbon_sort(x->loaded.at, &x->loaded.n, x->in->threads, &clash);
        if (clash)
            return two_values(clash, x->in->clash, err);
        UM_TRY(store_heap(x, heap, err));
    }
    return UMBEL_OK;
}

/* --- a layer -------------------------------------------------------------- */

static bool append_item(item_list *l, const um_ribbon_item *item)
{
    if (l->n == l->cap && !reserve(l, l->n + l->n / 4 + 1))
        return false;
    l->at[l->n++] = *item;
    return true;
}

/* Finds the next item without consuming it; *out NULL: none is left. */
static umbel_status peek(large *x, const um_ribbon_item **out, umbel_error *err)
{
    while (x->taken == x->loaded.n && x->heap < UM_SPILL_HEAPS)
        UM_TRY(load_heap(x, x->heap++, err));
    *out = x->taken < x->loaded.n ? &x->loaded.at[x->taken] : NULL;
    return UMBEL_OK;
}

static umbel_status consume_items(large *x, const um_ribbon_layer *l,
                                  uint64_t end, item_list *to, umbel_error *err)
{
    const um_ribbon_item *item;

    for (to->n = 0;; x->taken++) {
        UM_TRY(peek(x, &item, err));
        if (!item || um_scale(item->lo, l->starts) >= end)
            return UMBEL_OK;
        if (!append_item(to, item))
            return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", to->n);
    }
}

static bool consume(void *ctx, const um_ribbon_layer *l, uint64_t end,
                    size_t piece, um_ribbon_item **items, size_t *n)
{
    large *x = ctx;
    item_list *to = &x->piece[piece];

    x->taking = consume_items(x, l, end, to, &x->take_error);
    *items = to->at;
    *n = to->n;
    return x->taking == UMBEL_OK;
}

static umbel_status bump_item(large *x, const um_ribbon_item *item,
                              umbel_error *err)
{
    uint64_t record[UM_SPILL_WORDS];

    if (!x->to_tail) {
        write_record(x, false, item, record);
        return um_spill_add(&x->next, um_spill_heap_of(item->lo), record, err);
    }
    return append_item(&x->tail, item)
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys",
                         x->tail.n);
}

static bool bump(void *ctx, const um_ribbon_item *item)
{
    large *x = ctx;

    x->bumping = bump_item(x, item, &x->bump_error);
    return x->bumping == UMBEL_OK;
}

static void drop_words(void *ctx, const um_ribbon_layer *l, uint64_t first,
                       uint64_t end)
{
    uint64_t from = um_ribbon_words(l, um_ribbon_slot(l, first) / 64);
    uint64_t to = um_ribbon_words(l, um_ribbon_slot(l, end - 1) / 64 + 1);

    (void)ctx;
    um_spool_drop(l->words + from * 8, (size_t)(to - from) * 8);
}

static double piece_memory(uint64_t starts, bool wide)
{
    double shard = fmin((double)starts, 1 << UM_RIBBON_SHARD_BITS);

    return (double)um_ribbon_rows_len(starts, wide) +
           shard * 1.25 * sizeof(um_ribbon_item);
}

/* Returns the number of shards in flight: two per thread, if memory allows. */
static size_t count_pieces(const large *x, uint64_t starts)
{
    double used =
        (double)(x->loaded.cap + x->tail.cap) * sizeof(um_ribbon_item);
    double left =
        ((double)x->in->memory - used - (double)um_spill_buffers(&x->next)) /
        piece_memory(starts, x->sizes.wide);
    size_t most = x->in->threads < 2 ? 1 : 2 * (size_t)x->in->threads;

    most = most < UM_RIBBON_PIECES ? most : UM_RIBBON_PIECES;
    return left < 1 ? 1 : left < (double)most ? (size_t)left : most;
}

/* Fills layer i with all items of x->from. */
static umbel_status fill_layer(large *x, int i, um_spool *payload,
                               umbel_error *err)
{
    um_ribbon_feed feed = {x, consume, bump, drop_words};
    um_ribbon_level level;

    x->sizes.buckets[i] =
        um_ribbon_buckets_for((size_t)x->from->n, x->sizes.wide);
    um_ribbon_lay(&level, &x->form, &x->sizes, NULL);
    UM_TRY(um_spool_resize(payload, (size_t)level.bytes, err));
    um_ribbon_lay(&level, &x->form, &x->sizes, payload->memory);
    um_ribbon_layer *l = &level.layer[i];
    x->bumps_len[i] = (size_t)(x->sizes.buckets[i] + 3) / 4;
    l->bumps = x->bumps[i] = um_get(x->in->alloc, x->bumps_len[i]);
    if (!l->bumps)
        return um_no_memory(err, x->bumps_len[i]);
    x->heap = 0;
    x->loaded.n = x->taken = 0;
    UM_TRY(um_ribbon_fill_layer(l, &feed, x->in->threads,
                                count_pieces(x, l->starts), x->in->alloc, err));
    if (x->taking && err)
        *err = x->take_error;
    else if (x->bumping && err)
        *err = x->bump_error;
    return x->taking ? x->taking : x->bumping;
}

/* --- the whole filter ----------------------------------------------------- */

/* Moves all items, which are few, to the tail. */
static umbel_status gather(large *x, umbel_error *err)
{
    const um_ribbon_item *item;

    x->heap = 0;
    x->loaded.n = x->taken = 0;
    for (;; x->taken++) {
        UM_TRY(peek(x, &item, err));
        if (!item)
            return UMBEL_OK;
        if (!append_item(&x->tail, item))
            return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys",
                           x->tail.n);
    }
}

/* Creates the second layer, if it pays, from the items that the first one
 * bumped. */
static umbel_status create_second(large *x, um_spool *payload, umbel_error *err)
{
    UM_TRY(um_spill_end(&x->next, err));
    x->from = &x->next;
    x->hi_follows = false;
    UM_TRY(sort_heaps(x, err));
    x->to_tail = true;
    return x->next.n > UM_RIBBON_MAX_TAIL ? fill_layer(x, 1, payload, err)
                                          : gather(x, err);
}

/* Moves everything after the words of layers to its place. */
static umbel_status join(large *x, um_spool *payload, umbel_error *err)
{
    um_ribbon_tail tail = {NULL, 0};
    um_ribbon_level all;
    umbel_status status = um_ribbon_fill_tail(
        x->tail.at, x->tail.n, &x->form, x->in->alloc, &x->sizes, &tail, err);

    if (status)
        goto done;
    um_ribbon_lay(&all, &x->form, &x->sizes, NULL);
    status = um_spool_resize(payload, um_ribbon_space(8 * all.bytes), err);
    if (status)
        goto done;
    um_ribbon_lay(&all, &x->form, &x->sizes, payload->memory);
    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        if (x->bumps_len[i])
            memcpy(all.layer[i].bumps, x->bumps[i], x->bumps_len[i]);
    um_ribbon_solve_tail(&all, &tail);
done:
    um_put(x->in->alloc, tail.rows, tail.len);
    return status;
}

static umbel_status create_layers(large *x, um_spool *payload, umbel_error *err)
{
    unsigned words = x->value_bits ? 3 : 2;

    UM_TRY(um_spill_open(&x->next, x->in->digests->dir, words,
                         x->in->memory / 8, err));
    UM_TRY(fill_layer(x, 0, payload, err));
    UM_TRY(create_second(x, payload, err));
    return join(x, payload, err);
}

/* Builds a filter of few keys in memory. */
static umbel_status create_small(large *x, um_spool *payload, umbel_error *err)
{
    uint8_t *made = NULL;
    size_t len = 0;

    UM_TRY(gather(x, err));
    UM_TRY(um_ribbon_create(x->tail.at, x->tail.n, &x->form, x->in->threads,
                            x->in->alloc, &x->sizes, &made, &len, err));
    umbel_status status =
        um_spool_resize(payload, um_ribbon_space(8 * (len ? len : 8)), err);
    if (!status && len)
        memcpy(payload->memory, made, len);
    um_put(x->in->alloc, made, len);
    return status;
}

static umbel_status create_spilled(um_shape *s, large *x, double share,
                                   um_spool *payload, umbel_error *err)
{
    static const um_ribbon_sizes none = {.tail = 0};
    size_t n = (size_t)x->from->n;

    x->sizes = (um_ribbon_sizes){.wide = um_ribbon_is_wide(s)};
    UM_TRY(choose_form(s, n, share, &x->form, err));
    UM_TRY(n <= UM_RIBBON_SMALL ? create_small(x, payload, err)
                                : create_layers(x, payload, err));
    um_ribbon_shape(s, &x->form, x->value_bits, &x->sizes, &none);
    s->added = n;
    return UMBEL_OK;
}

static void large_fini(large *x)
{
    um_spill_close(&x->next);
    list_fini(&x->loaded);
    list_fini(&x->tail);
    for (int i = 0; i < UM_RIBBON_PIECES; i++)
        list_fini(&x->piece[i]);
    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        um_put(x->in->alloc, x->bumps[i], x->bumps_len[i]);
    free(x->records);
}

/* Makes one attempt; the first one sorts the members. */
static umbel_status try_share(um_shape *made, const um_spilled_members *in,
                              double share, um_spool *payload, umbel_error *err)
{
    large x = {.in = in,
               .value_bits = um_value_bits(made),
               .from = in->digests,
               .hi_follows = in->hi_follows,
               .records = malloc(UM_SPILL_CHUNK)};
    umbel_status status;

    if (!x.records)
        return um_no_memory(err, UM_SPILL_CHUNK);
    status = share == 1 ? sort_heaps(&x, err) : UMBEL_OK;
    if (!status)
        status = create_spilled(made, &x, share, payload, err);
    large_fini(&x);
    return status;
}

/* Replaces a spool that was written by an empty one, which is zero. */
static umbel_status empty_spool(um_spool *payload, umbel_error *err)
{
    const char *dir = payload->dir;

    um_spool_close(payload);
    return um_spool_open(payload, dir, err);
}

umbel_status um_ribbon_build_spilled(um_shape *s, const um_spilled_members *in,
                                     um_spool *payload, umbel_error *err)
{
    uint64_t asked = s->cells;
    um_shape made = *s;

    UM_TRY(um_ribbon_want_free(s, err));
    UM_TRY(refuse_parts(s, in->digests->n, err));
    UM_TRY(try_share(&made, in, 1, payload, err));
    for (double share = 1; asked && made.cells > asked && made.added;) {
        share = next_share(share, asked, made.cells);
        if (share <= 0.9)
            return cells_too_few(s, made.added, err);
        made = *s;
        UM_TRY(empty_spool(payload, err));
        UM_TRY(try_share(&made, in, share, payload, err));
    }
    settle(s, &made);
    return UMBEL_OK;
}

/* --- memory --------------------------------------------------------------- */

static double columns_of(const um_shape *s, double keys)
{
    double columns =
        s->cells ? (double)s->cells / fmax(keys, 1) : ceil(-log2(s->fpr)) + 1;

    return fmin(columns, UM_RIBBON_MAX_PRINT) + um_value_bits(s);
}

/* Returns the memory for trying several sizes at once with few keys: items,
 * rows and filters. */
static double trials_memory(double keys, double columns)
{
    double each = UM_RIBBON_LANES * (sizeof(um_ribbon_item) +
                                     sizeof(um_ribbon_equation) + columns / 8);

    return keys <= UM_RIBBON_SMALL ? keys * each : 0;
}

/* Counts digests, values and items; the filter twice; shards in flight. */
double um_ribbon_build_memory(const um_shape *s, double keys, unsigned threads)
{
    double words = 2 + (um_value_bits(s) ? 1 : 0) + 3;
    double columns = columns_of(s, keys);
    double shards = fmin(2.0 * fmax(threads, 1), UM_RIBBON_PIECES);

    return keys * (8 * words + 2.1 * columns / 8) +
           shards * (double)um_ribbon_rows_len((uint64_t)keys, true) +
           trials_memory(keys, columns);
}

/* Counts a heap and a shard at a time; then the tail, some thousandths of the
 * keys. */
double um_ribbon_spilled_memory(const um_shape *s, double keys,
                                double largest_heap)
{
    const double tail = keys / 250;
    double trials = trials_memory(keys, columns_of(s, keys));
    double heap = largest_heap * 1.125 * sizeof(um_ribbon_item);
    double buffers = (double)UM_SPILL_HEAPS * UM_SPILL_LEAST_CHUNK;

    return keys / 512 + fmax(heap, tail * sizeof(um_ribbon_item)) + buffers +
           trials +
           fmax(piece_memory((uint64_t)keys, um_ribbon_is_wide(s)),
                tail * (sizeof(um_ribbon_item) + 20));
}
