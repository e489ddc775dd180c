/*
 * ribbon_build.c - kind ribbon from its members.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "filter/handle.h"
#include "filter/head.h"
#include "kinds/ribbon/ribbon.h"

#include <inttypes.h>

size_t um_ribbon_room(uint64_t bits)
{
    um_section section = {.cells = bits, .cell_bits = 1};
    return (size_t)um_section_room(&section);
}

uint8_t *um_ribbon_whole(const umbel_alloc *alloc, uint8_t *first, size_t n,
                         uint8_t *second, size_t m)
{
    size_t bytes = n + m ? n + m : 8;
    uint8_t *payload = um_get(alloc, um_ribbon_room(8 * (uint64_t)bytes));

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

/* Of the whole file; a salt stands last in its head, whatever it is. */
static size_t file_bytes(const um_shape *s, uint64_t bits)
{
    um_shape t = *s;
    size_t len = 0;

    t.cells = bits;
    um_kind_ribbon.built->plan_hints(&t, 0);
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

umbel_status um_ribbon_cells_too_few(const um_shape *s, size_t n,
                                     umbel_error *err)
{
    static const um_ribbon_form one = {1, 0};
    return um_ribbon_too_few(s, s->cells, um_ribbon_guess((double)n, &one), n,
                             err);
}

umbel_status um_ribbon_choose_form(const um_shape *s, size_t n, double share,
                                   um_ribbon_form *out, umbel_error *err)
{
    uint32_t bits = um_value_bits(s);

    if (s->cells && bits)
        return um_fail(err, UMBEL_E_RANGE,
                       "a map takes what its values take: leave the size out");
    if (s->cells) {
        um_ribbon_form_within((double)s->cells * share, (double)n, out);
        if (n && !out->columns && !out->finer)
            return um_ribbon_cells_too_few(s, n, err);
        return UMBEL_OK;
    }
    if (!um_ribbon_form_for(s->fpr, (double)n, out))
        return um_fail(err, UMBEL_E_RANGE,
                       "kind ribbon has errors down to 2^-%d, got %g",
                       UM_RIBBON_MAX_PRINT, s->fpr);
    out->columns += bits;
    return UMBEL_OK;
}

umbel_status um_ribbon_two_values(const um_ribbon_item *key,
                                  umbel_digest *clash, umbel_error *err)
{
    if (clash)
        *clash = (umbel_digest){key->lo, key->hi};
    return um_fail(err, UMBEL_E_KEY,
                   "a key has two different values: give it one");
}

/* Items once, in order; a key with two values is named. */
static umbel_status sort_items(const um_members *in, um_ribbon_item *items,
                               size_t *n, umbel_error *err)
{
    const um_ribbon_item *clash;

    um_ribbon_sort(items, n, in->threads, &clash);
    return clash ? um_ribbon_two_values(clash, in->clash, err) : UMBEL_OK;
}

/* One try; the payload is at least a word. */
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
        status = um_ribbon_choose_form(s, n, share, &form, err);
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

double um_ribbon_next_share(double share, uint64_t asked, uint64_t made)
{
    uint64_t whole = asked / 64 * 64; /* cells are words */

    return share * (double)whole / (double)made - 0.001;
}

static bool is_over(const um_shape *made, uint64_t asked)
{
    return asked && made->cells > asked && made->added;
}

umbel_status um_ribbon_refuse_parts(const um_shape *s, uint64_t n,
                                    umbel_error *err)
{
    if (!s->hash->part || !n)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "partitions differ in how many of their keys are "
                   "members: give all keys, as a universe");
}

void um_ribbon_settle(um_shape *s, const um_shape *made)
{
    um_shape shape = *made;

    if (s->cells && shape.added)
        shape.fpr = um_round_fpr(um_kind_ribbon.error(&shape, NULL, 1));
    else if (s->cells)
        shape.fpr = s->fpr;
    if (!shape.capacity)
        shape.capacity = shape.added;
    *s = shape;
}

/* Sizes are estimates: where a limit is given it may take several tries. */
umbel_status um_ribbon_build(um_shape *s, const um_members *in,
                             uint8_t **payload, umbel_error *err)
{
    uint64_t asked = s->cells;
    um_shape made = *s;

    UM_TRY(um_ribbon_want_free(s, err));
    UM_TRY(um_ribbon_refuse_parts(s, in->n, err));
    UM_TRY(create(&made, in, 1, payload, err));
    for (double share = 1; is_over(&made, asked);) {
        um_put(in->alloc, *payload, um_ribbon_room(made.cells));
        share = um_ribbon_next_share(share, asked, made.cells);
        if (share <= 0.9)
            return um_ribbon_cells_too_few(s, made.added, err);
        made = *s;
        UM_TRY(create(&made, in, share, payload, err));
    }
    um_ribbon_settle(s, &made);
    return UMBEL_OK;
}
