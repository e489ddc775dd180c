/*
 * combine.c - compares shapes, merges two filters, folds one.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- differences of counts, from one state to another ----------------------
 *
 * A later state minus an earlier one can be sent instead of the later one.
 * Adding it twice, or to something else, would give wrong counts that nobody
 * notices. So it records the checksums of the cells of both states, which are
 * those of the payload unless data is attached.
 */

static size_t cells_len(const umbel_filter *f)
{
    return f->payload_len - um_data_space(f);
}

static uint64_t state_of(const umbel_filter *f)
{
    return um_checksum(f->payload, cells_len(f));
}

/* Combines two differences, one of which continues the other. */
static umbel_status chain_deltas(const um_delta *a, const um_delta *b,
                                 um_delta *out, umbel_error *err)
{
    bool swapped = a->to != b->from;

    if (swapped && b->to != a->from)
        return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                              "neither difference starts from the state that "
                              "the other leads to");
    *out = swapped ? (um_delta){b->from, a->to} : (um_delta){a->from, b->to};
    return UMBEL_OK;
}

static umbel_status check_start(const um_delta *d, const umbel_filter *f,
                                umbel_error *err)
{
    uint64_t state = state_of(f);

    if (state == d->from)
        return UMBEL_OK;
    if (state == d->to)
        return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                              "the counts hold this difference already");
    return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                          "the difference is to be added to cells with "
                          "checksum %016" PRIx64 ", and these have %016" PRIx64,
                          d->from, state);
}

/*
 * Determines the result of a merge before any cell changes: *out, a difference
 * or zeros, and the checksum that the cells must have afterwards; 0: any.
 * Refuses to add a difference to another state than it starts from.
 */
static umbel_status delta_merge(const umbel_filter *into,
                                const umbel_filter *from, umbel_merge_op op,
                                um_delta *out, uint64_t *expected,
                                umbel_error *err)
{
    const um_delta *a = um_delta_of(into), *b = um_delta_of(from);
    bool first = um_is_delta(a), second = um_is_delta(b);

    *out = (um_delta){0, 0};
    *expected = 0;
    if (op == UMBEL_MINUS && second && !first && state_of(into) == b->to) {
        *expected = b->from;
        return UMBEL_OK;
    }
    if ((first || second) && op != UMBEL_ADD)
        return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                              "a difference of counts is added to the state "
                              "that it starts from, or taken from the one "
                              "that it leads to, and merged in no other way");
    if (op == UMBEL_MINUS && !first && !second)
        *out = (um_delta){state_of(from), state_of(into)};
    if (op != UMBEL_ADD || (!first && !second))
        return UMBEL_OK;
    if (first && second)
        return chain_deltas(a, b, out, err);
    *expected = first ? a->to : b->to;
    return first ? check_start(a, from, err) : check_start(b, into, err);
}

/* Merges the cells. If they do not get the expected checksum, restores them and
 * fails. */
static umbel_status delta_apply(umbel_filter *into, const umbel_filter *from,
                                umbel_merge_op op, uint64_t expected,
                                umbel_error *err)
{
    const um_row_merge *row = into->kind->merge;
    size_t len = cells_len(into);

    if (!expected)
        return row->cells(into->self, from->self, op, err);
    uint8_t *before = um_get(&into->alloc, len);
    if (!before)
        return um_no_memory(err, len);
    memcpy(before, into->payload, len);
    umbel_status status = row->cells(into->self, from->self, op, err);
    if (status == UMBEL_OK && state_of(into) != expected) {
        memcpy(into->payload, before, len);
        status = um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                                "the difference was changed: it does not lead "
                                "to the counts that it names");
    }
    um_put(&into->alloc, before, len);
    return status;
}

void umbel_to_counting(umbel_filter *f)
{
    um_set_delta(f, (um_delta){0, 0});
}

/* --- the same shape ------------------------------------------------------- */

static umbel_status names_differ(const char *field, const char *a,
                                 const char *b, umbel_error *err)
{
    return um_fail(err, UMBEL_E_MISMATCH,
                   "the filters differ in %s: %s and %s; build both alike",
                   field, a, b);
}

static umbel_status counts_differ(const char *field, uint64_t a, uint64_t b,
                                  umbel_error *err)
{
    return um_fail(err, UMBEL_E_MISMATCH,
                   "the filters differ in %s: %" PRIu64 " and %" PRIu64
                   "; build both alike",
                   field, a, b);
}

static umbel_status settings_agree(const um_shape *x, const um_shape *y,
                                   umbel_error *err)
{
    for (size_t i = 0; i < um_count_settings(x->kind); i++)
        if (x->setting[i] != y->setting[i])
            return counts_differ(x->kind->settings[i].name, x->setting[i],
                                 y->setting[i], err);
    return UMBEL_OK;
}

umbel_status um_same_shape(const um_shape *x, const um_shape *y,
                           umbel_error *err)
{
    if (x->kind != y->kind)
        return names_differ("kind", x->kind->name, y->kind->name, err);
    if (x->addressing != y->addressing)
        return names_differ("addressing", x->addressing->name,
                            y->addressing->name, err);
    if (x->hash != y->hash)
        return names_differ("hash", x->hash->name, y->hash->name, err);
    if (x->seed != y->seed)
        return counts_differ("seed", x->seed, y->seed, err);
    if (x->secret_id != y->secret_id)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "the filters differ in secret key: %016" PRIx64
                       " and %016" PRIx64 "; build both with the same",
                       x->secret_id, y->secret_id);
    UM_TRY(settings_agree(x, y, err)); /* they determine the sizes */
    if (x->cells != y->cells)
        return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_CELLS,
                              "the filters differ in cells (bits): %" PRIu64
                              " and %" PRIu64
                              "; build both for the same capacity and error",
                              x->cells, y->cells);
    if (x->hashes != y->hashes)
        return counts_differ("hashes", x->hashes, y->hashes, err);
    if (x->key_form != UMBEL_KEYS_UNRECORDED &&
        y->key_form != UMBEL_KEYS_UNRECORDED && x->key_form != y->key_form)
        return names_differ("form of their keys",
                            umbel_key_form_name((umbel_key_form)x->key_form),
                            umbel_key_form_name((umbel_key_form)y->key_form),
                            err);
    return UMBEL_OK;
}

umbel_status umbel_same_shape(const umbel_filter *a, const umbel_filter *b,
                              umbel_error *err)
{
    return um_same_shape(um_shape_of(a), um_shape_of(b), err);
}

bool um_used_by_chance(const umbel_filter *f)
{
    const um_row_bits *bits = f->kind->bits;
    return !bits || !bits->keys || isnan(bits->keys(f->self, 0));
}

double um_keys_behind(const umbel_filter *f, uint64_t used)
{
    if (um_used_by_chance(f))
        return um_model_keys(&f->layout, used);
    return f->kind->bits->keys(f->self, used);
}

/* Estimates the keys of f; with the kind's part of another filter, those of the
 * union. */
static double keys_of(const umbel_filter *f, const void *other)
{
    return um_keys_behind(f, f->kind->bits->used(f->self, other));
}

static uint64_t whole_keys(const umbel_filter *f, double keys)
{
    if (!(keys < (double)UM_MAX_CELLS)) /* also true for NAN: the filter is
                                           almost full */
        return f->layout.cells;
    return keys > 0 ? (uint64_t)llround(keys) : 0;
}

/* Estimates the keys of a merged filter, before its cells change. */
static uint64_t guess_keys(const umbel_filter *a, const umbel_filter *b,
                           umbel_merge_op op)
{
    double keys = keys_of(a, b->self); /* of the union */

    if (op == UMBEL_AND)
        keys = keys_of(a, NULL) + keys_of(b, NULL) - keys;
    return whole_keys(a, keys);
}

/* Estimates the keys of a difference from its own cells. */
static uint64_t keys_left(const umbel_filter *f)
{
    return f->kind->bits ? whole_keys(f, keys_of(f, NULL)) : 0;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Fails, and lists the operations that the kind supports. */
static umbel_status cannot_so(const um_kind *kind, umbel_error *err)
{
    static const char *const names[] = {
        [UMBEL_OR] = "or",   [UMBEL_AND] = "and",     [UMBEL_ADD] = "add",
        [UMBEL_MAX] = "max", [UMBEL_MINUS] = "minus",
    };
    char known[64] = "";

    for (size_t i = 0; i < UM_COUNT(names); i++) {
        size_t len = strlen(known);
        if (um_merges_by(kind, (umbel_merge_op)i))
            snprintf(known + len, sizeof known - len, "%s%s", len ? ", " : "",
                     names[i]);
    }
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "kind %s cannot merge in that way, but by %s", kind->name,
                   known);
}

/* Records the form of the keys of both, and their prefix lengths. */
static void join_forms(umbel_filter *into, const umbel_filter *from)
{
    um_prefix_lengths *to = um_prefixes_of(into);

    if (into->key_form != from->key_form)
        into->key_form = UMBEL_KEYS_UNRECORDED;
    else if (to)
        um_prefixes_join(to, um_prefixes_of(from));
}

/* Merges filters with several links, which may differ in number and size. */
static umbel_status merge_links(umbel_filter *into, const umbel_filter *from,
                                umbel_merge_op op, umbel_error *err)
{
    if (into->kind != from->kind)
        return names_differ("kind", into->kind->name, from->kind->name, err);
    if (op != UMBEL_OR)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind %s can merge by or alone", into->kind->name);
    UM_TRY(um_check_writable(into, err));
    UM_TRY(into->kind->links->merge(into, from, err));
    into->estimated = true;
    join_forms(into, from);
    into->false_negatives =
        add_saturating(into->false_negatives, from->false_negatives);
    return UMBEL_OK;
}

umbel_status umbel_merge(umbel_filter *into, const umbel_filter *from,
                         umbel_merge_op op, umbel_error *err)
{
    const um_kind *kind = into->kind;

    if (kind->links)
        return merge_links(into, from, op, err);
    if (!kind->merge)
        return um_cannot_join(into, "merge", err);
    UM_TRY(um_check_writable(into, err));
    UM_TRY(umbel_same_shape(into, from, err));
    um_shape after = *um_shape_of(into);
    if (kind->merge->admit)
        UM_TRY(kind->merge->admit(&after, um_shape_of(from), op, err));
    if (!um_merges_by(kind, op))
        return cannot_so(kind, err);
    um_delta delta;
    uint64_t expected;
    UM_TRY(delta_merge(into, from, op, &delta, &expected, err));
    uint64_t keys = kind->bits ? guess_keys(into, from, op) : 0;
    UM_TRY(delta_apply(into, from, op, expected, err));
    um_clear_padding(into);
    um_set_added(into, op == UMBEL_MINUS ? keys_left(into) : keys);
    into->estimated = true;
    um_set_delta(into, delta);
    into->joined = after.joined;
    into->difference = after.difference;
    into->intersected |= op == UMBEL_AND || from->intersected;
    join_forms(into, from);
    into->false_negatives =
        add_saturating(into->false_negatives, from->false_negatives);
    return UMBEL_OK;
}

/* Copies the user data of f to the filter made from it. */
static umbel_status hand_over(umbel_filter *made, const umbel_filter *f,
                              umbel_filter **out, umbel_error *err)
{
    umbel_status status = um_copy_data(made, f, err);

    if (status == UMBEL_OK)
        *out = made;
    else
        umbel_close(made);
    return status;
}

umbel_status umbel_to_bloom(const umbel_filter *f, umbel_filter **out,
                            umbel_error *err)
{
    umbel_filter *bloom;
    um_shape s = *um_shape_of(f);

    if (um_has_bits(s.kind))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "it is a bloom filter already: copy the file");
    if (!s.kind->bits)
        return um_cannot(f, "become a bloom filter", err);
    if (s.difference)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a difference of refined counts does not tell its "
                       "keys: add it to what it was taken from first");
    s.joined = false;
    s.delta = (um_delta){0, 0};
    s.attached = 0;
    s.kind = um_kind_find(NULL);
    for (size_t i = 0; i < um_count_settings(s.kind); i++)
        s.setting[i] = s.kind->settings[i].standard;
    UM_TRY(um_filter_create(&s, &f->alloc, &bloom, err));
    um_hasher_copy_secret(&bloom->hasher, &f->hasher);
    f->kind->bits->copy(f->self, bloom->payload);
    return hand_over(bloom, f, out, err);
}

uint64_t umbel_fold_parts(const umbel_filter *f)
{
    return um_fold_parts(&f->layout);
}

/*
 * Returns the number of choosing keys that fill the folded filter as f fills
 * it. Keys with groups chose their cells in the large filter; in the folded one
 * these cells are random.
 */
static double keys_to_fold(const umbel_filter *f, uint64_t by, double keys)
{
    double large = keys * (double)by;

    if (by == 1 || um_used_by_chance(f))
        return keys;
    double used = um_model_fill(&f->layout, large) * (double)f->layout.cells;
    return f->kind->bits->keys(f->self, (uint64_t)used) / (double)by;
}

static double folded_error(const umbel_filter *f, const um_shape *small,
                           uint64_t by, double keys)
{
    return um_shape_error(small, keys_to_fold(f, by, keys));
}

/* Returns the target of the folded filter, whose error is higher. */
static double folded_fpr(const umbel_filter *f, const um_shape *s, uint64_t by)
{
    uint64_t keys = s->added > s->capacity ? s->added : s->capacity;
    double error = folded_error(f, s, by, (double)keys);

    return error > s->fpr && error < 1 ? error : s->fpr;
}

/* Finds the divisors closest to by on both sides, except 1; 0: none. */
static void near_divisors(uint64_t parts, uint64_t by, uint64_t near[2])
{
    near[0] = near[1] = 0;
    for (uint64_t d = 1; d * d <= parts; d++) {
        uint64_t pair[] = {d, parts / d};
        for (size_t i = 0; parts % d == 0 && i < 2; i++) {
            if (pair[i] < by && pair[i] > 1 && pair[i] > near[0])
                near[0] = pair[i];
            if (pair[i] > by && pair[i] > 1 && (!near[1] || pair[i] < near[1]))
                near[1] = pair[i];
        }
    }
}

static umbel_status no_divisor(uint64_t parts, uint64_t by, umbel_error *err)
{
    uint64_t near[2];

    near_divisors(parts, by, near);
    if (near[0] && near[1])
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " does not divide the filter's %" PRIu64
                       " parts; the nearest that do are %" PRIu64
                       " and %" PRIu64,
                       by, parts, near[0], near[1]);
    return um_fail(err, UMBEL_E_RANGE,
                   "%" PRIu64 " does not divide the filter's %" PRIu64
                   " parts; the nearest that does is %" PRIu64,
                   by, parts, near[0] + near[1] ? near[0] + near[1] : 1);
}

umbel_status umbel_fold(const umbel_filter *f, uint64_t by, umbel_filter **out,
                        umbel_error *err)
{
    uint64_t parts = um_fold_parts(&f->layout);
    um_shape shape = *um_shape_of(f);
    umbel_filter *small;

    if (!f->kind->fold)
        return um_cannot_join(f, "fold", err);
    if (by == 0 || parts % by)
        return no_divisor(parts, by, err);
    shape.cells /= by;
    shape.delta = (um_delta){0, 0}; /* the states of a difference are not
                                       folded */
    shape.attached = 0;
    UM_TRY(um_check_shape(&shape, err));
    UM_TRY(um_filter_create(&shape, &f->alloc, &small, err));
    um_hasher_copy_secret(&small->hasher, &f->hasher);
    small->fpr = folded_fpr(f, &shape, by);
    f->kind->fold(small->self, f->self, by);
    um_clear_padding(small);
    return hand_over(small, f, out, err);
}

static bool fold_keeps(const umbel_filter *f, uint64_t by, double keys,
                       double fpr)
{
    um_shape shape = *um_shape_of(f);

    shape.cells /= by;
    return um_check_shape(&shape, NULL) == UMBEL_OK &&
           folded_error(f, &shape, by, keys) <= fpr;
}

uint64_t um_fold_least(const umbel_filter *f, uint64_t keys, double *error)
{
    uint64_t parts = um_fold_parts(&f->layout), by = 2;
    um_shape shape = *um_shape_of(f);

    while (by <= parts / by && parts % by)
        by++;
    if (parts % by)
        by = parts;
    shape.cells /= by;
    bool possible = by > 1 && um_check_shape(&shape, NULL) == UMBEL_OK;
    *error = possible ? folded_error(f, &shape, by, (double)keys) : 1;
    return possible ? by : 0;
}

/*
 * Divisors come in pairs (d, parts/d), and the error grows with the divisor, so
 * trying them all, at most a few hundred, finds the largest that keeps fpr.
 * Enumerating them takes the square root of parts.
 */
uint64_t umbel_fold_best(const umbel_filter *f, uint64_t keys, double fpr)
{
    uint64_t parts = um_fold_parts(&f->layout), best = 0;

    if (!f->kind->fold)
        return 0;
    for (uint64_t d = 1; d <= parts / d; d++) {
        if (parts % d)
            continue;
        uint64_t pair[2] = {d, parts / d};
        for (int i = 0; i < 2; i++)
            if (pair[i] > best && fold_keeps(f, pair[i], (double)keys, fpr))
                best = pair[i];
    }
    return best;
}
