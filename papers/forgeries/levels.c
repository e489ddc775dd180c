/*
 * levels.c - forges ribbons: random sizes of all levels, and slots that are
 * random, all ones or sparse; or an index with the same entry everywhere, or
 * one that admits the keys that the first level stores.
 */
#include "papers/forgeries/forge.h"

#include "base/alloc.h"
#include "base/error.h"
#include "filter/handle.h"
#include "kinds/ribbon/ribbon.h"

#include <umbel/build.h>

#include <math.h>

/* Up to two buckets in each layer, and a tail. */
static um_ribbon_sizes draw_sizes(um_rng *rng, bool may_be_wide)
{
    um_ribbon_sizes s = {
        .buckets = {um_random_below(rng, 3), um_random_below(rng, 3)}};

    if (um_random_below(rng, 4))
        s.tail = um_random_below(rng, 2) ? 64 : um_random_below(rng, 200);
    if (s.tail)
        s.salt = um_random_below(rng, UM_RIBBON_SALTS);
    s.wide = may_be_wide && s.buckets[0] && um_random_below(rng, 2);
    return s;
}

/* Draws steps, each at most as large as the one before; or small ones, so that
 * few starts have all columns, and the tail. */
static void draw_steps(um_rng *rng, um_ribbon_form *form, um_ribbon_sizes *s)
{
    uint64_t n = um_random_below(rng, UM_RIBBON_STEPS + 1), most;

    if (um_random_below(rng, 2)) {
        form->finer = (uint32_t)between(rng, 1, 64);
        n = UM_RIBBON_STEPS;
    }
    most = form->finer;
    for (uint64_t i = 0; i < n && most; i++) {
        if (um_random_below(rng, 4)) /* otherwise an empty share */
            most = between(rng, most / 2, most);
        s->steps[i] = (uint16_t)most;
    }
}

static um_ribbon_form draw_form(um_rng *rng)
{
    um_ribbon_form form = {(uint32_t)um_random_below(rng, 12), 0};

    if (um_random_below(rng, 2))
        form.finer = (uint32_t)um_random_below(rng, UM_RIBBON_FINE);
    return form;
}

/* Draws slots: random, all ones, or one in 2^7 and fewer, so that rows meet no
 * other slot. */
static void draw_slots(uint8_t *to, size_t len, um_rng *rng)
{
    uint64_t how = um_random_below(rng, 4);
    uint64_t every = 1 + um_random_below(rng, 256);
    uint64_t odds[] = {2, 1, 0, 128};

    for (size_t i = 0; i < 8 * len; i++) {
        bool one =
            odds[how] ? um_random_below(rng, odds[how]) == 0 : i % every == 0;
        if (one)
            um_set_bit(to, i);
    }
}

/* --- the index of partitions ---------------------------------------------- */

/* Writes an entry into every n-th slot of a layer. */
static void write_layer(const um_ribbon_layer *l, uint64_t entry,
                        uint64_t every)
{
    uint64_t groups = (um_ribbon_slot(l, l->starts - 1) >> 6) + 1;

    for (uint64_t g = 0; g < groups; g++)
        for (uint32_t j = 0; j < l->columns; j++)
            for (uint32_t i = 0; i < 64; i++)
                if (entry >> j & 1 && (64 * g + i) % every == 0)
                    um_set_bit(l->words, 64 * (g * l->columns + j) + i);
}

static void write_tail(const um_ribbon_level *l, uint64_t entry, uint64_t every)
{
    for (uint32_t j = 0; j < l->tail_columns; j++)
        for (uint64_t i = 0; i < l->tail; i++)
            if (entry >> j & 1 && i % every == 0)
                um_set_bit(l->tail_bits, j * l->tail + i);
}

/* Overwrites the index: the same entry in all slots, or in every n-th. */
static void write_index(const um_ribbon_level *l, um_rng *rng)
{
    uint64_t entry = um_random_below(rng, UINT64_C(1) << l->form.columns);
    uint64_t every = um_random_below(rng, 2) ? 1 : between(rng, 2, 80);

    memset(l->layer[0].words, 0, (size_t)l->bytes);
    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        if (l->layer[i].starts)
            write_layer(&l->layer[i], entry, every);
    write_tail(l, entry, every);
}

/* Writes an entry for the first starts of a layer. */
static void write_first(const um_ribbon_layer *l, uint64_t entry, double share)
{
    for (uint64_t i = 0; (double)i < share * (double)l->starts; i++) {
        uint64_t slot = um_ribbon_slot(l, i);
        uint64_t words = um_ribbon_words(l, slot >> 6);
        for (uint32_t j = 0; j < l->columns; j++)
            if (entry >> j & 1)
                um_set_bit(l->words, 64 * (words + j) + (slot & 63));
    }
}

/* Bumps all keys of a layer, except those of buckets between two starts. */
static void bump_others(const um_ribbon_layer *l, double from, double end)
{
    double size = um_ribbon_bucket(l);

    for (uint64_t b = 0; b < l->starts >> l->bucket_bits; b++) {
        double first = (double)b * size;
        bool stay = first + size > from && first < end;
        for (uint64_t i = 2 * b; i < 2 * b + 2; i++)
            if (stay)
                l->bumps[i / 8] &= (uint8_t) ~(1u << i % 8);
            else
                um_set_bit(l->bumps, i);
    }
}

/*
 * Uses the same share of hashes in the index, for keys that the first level
 * answers, and in the first level, for keys that are not bumped to more
 * columns. These are the same keys if their partition is the whole key.
 */
static void write_alike(const um_ribbon *r, um_rng *rng)
{
    const um_ribbon_level *index = &r->parts.index;
    uint32_t more = um_random_below(rng, 2)
                        ? 0
                        : (uint32_t)um_random_below(rng, r->parts.most + 1);
    const um_ribbon_share *in = &r->parts.share[more];
    double share = ldexp(0.5 + unit(rng) / 2, -(int)um_random_below(rng, 8));

    memset(index->layer[0].words, 0, (size_t)index->bytes);
    for (int i = 0; i < UM_RIBBON_LAYERS; i++) {
        const um_ribbon_layer *l = &r->members.layer[i];
        double one = (double)l->starts / UM_RIBBON_FINE, from = one * in->from;
        write_first(&index->layer[i], UM_RIBBON_FIRST + more, share);
        bump_others(l, from, from + share * one * in->width);
    }
}

/* --- shapes --------------------------------------------------------------- */

static void draw_shape(const target *t, um_rng *rng, um_shape *s)
{
    static const int parts[] = {-4, -8, -64, 1}; /* of strangers' 8 bytes */
    bool wide = draws(t, "wide"), two = draws(t, "never_tail");
    um_ribbon_form form = draw_form(rng);
    um_ribbon_sizes members = draw_sizes(rng, wide), never = {.tail = 0};
    uint32_t values = 0;

    if (two && um_random_below(rng, 4))
        never = draw_sizes(rng, wide);
    if (draws(t, "value_bits"))
        values = (uint32_t)um_random_below(rng, 33);
    if (um_ribbon_is_empty(&members))
        form = (um_ribbon_form){0, 0};
    form.columns += values;
    if (draws(t, "index_bits")) {
        um_ribbon_sizes index = draw_sizes(rng, false);
        if (um_random_below(rng, 2)) { /* with room for write_alike */
            members.buckets[0] = between(rng, 16, 64);
            index.buckets[0] = between(rng, 1, 16);
            form.columns /= 2;
        }
        if (!um_ribbon_is_empty(&members))
            draw_steps(rng, &form, &members);
        s->hash = um_hash_of_part(parts[um_random_below(rng, 4)]);
        um_ribbon_shape_parts(s, &form, &members, &never,
                              (uint32_t)between(rng, 1, UM_RIBBON_INDEX_BITS),
                              &index);
    } else {
        um_ribbon_shape(s, &form, values, &members, &never);
    }
    s->added = um_random_below(rng, 1000);
}

/* Draws shapes until the sizes are consistent. */
static umbel_status draw_fitting(const target *t, um_rng *rng, um_shape *out,
                                 umbel_error *err)
{
    enum { TRIES = 1000 };
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *any = NULL;
    umbel_status status = UMBEL_E_RANGE;

    UM_TRY(umbel_build("ribbon", &p, NULL, NULL, &any, err));
    for (int i = 0; i < TRIES && status != UMBEL_OK; i++) {
        *out = *um_shape_of(any);
        draw_shape(t, rng, out);
        status = um_ribbon_fits(out, err);
    }
    umbel_close(any);
    return status;
}

umbel_status forge_ribbon(const target *t, um_rng *rng, umbel_filter **out,
                          umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_shape s;

    UM_TRY(draw_fitting(t, rng, &s, err));
    size_t len = um_ribbon_space(s.cells);
    uint8_t *payload = um_get(&alloc, len);
    if (!payload)
        return um_no_memory(err, len);
    draw_slots(payload, (size_t)(s.cells / 8), rng);
    UM_TRY(um_filter_own(&s, &alloc, payload, out, err));
    const um_ribbon *r = (*out)->self;
    if (r->parted && um_random_below(rng, 2))
        write_index(&r->parts.index, rng);
    else if (r->parted && um_random_below(rng, 4))
        write_alike(r, rng);
    return UMBEL_OK;
}
