/*
 * ribbon.c - kind ribbon: a static set or map of nearly minimal size.
 *
 * A member has a fingerprint of r bits, computed from its digest, and a level
 * of r columns (kinds/ribbon/level.h) maps every member to its fingerprint. For
 * another key the level returns a random value, which equals its fingerprint
 * with probability 2^-r. That takes r bits per member plus some thousandths,
 * where a Bloom filter takes 1.44 r. A share of the members has r + 1 bits, so
 * that any mean error is possible.
 *
 * In a map, the level has columns for the value below those of the fingerprint
 * (Bloomier filter: Chazelle, Kilian, Rubinfeld, Tal 2004); without fingerprint
 * columns, every key has a value.
 *
 * With a list of keys that must not match there is a second level of one column
 * (negatives/exact/exact.c). If the list is the rest of a universe, the set is
 * exact.
 *
 * Keys in partitions (below): an index records how many columns the keys of a
 * partition have in the first level.
 *
 *   one section:  the first level | the second | the index, each aligned to 8
 *                 bytes
 *
 * Paper: Dillinger, Huebschle-Schneider, Sanders, Walzer 2022.
 * When not to use it: keys are added one by one, or filters are merged.
 */
#include "kinds/ribbon/ribbon.h"

#include "base/error.h"
#include "kinds/bloom/bloom.h"

#include <math.h>

enum { BATCH = 32 };

/* Considers the keys that reach a layer. Returns the probability that one stays
 * there and matches, and sets *bumped to the share of the others.
 */
static double predict_layer(const um_ribbon_layer *l, uint32_t value_bits,
                            double *bumped)
{
    uint64_t gone = 0, size = um_ribbon_bucket(l);
    double pass = 0;

    for (uint64_t b = 0; b < l->starts >> l->bucket_bits; b++) {
        uint64_t n = um_ribbon_bumped(l, um_ribbon_code(l, b));
        uint32_t more =
            um_ribbon_columns_at(l, b << l->bucket_bits) - l->columns;
        gone += n;
        pass += ldexp((double)(size - n), -(int)more);
    }
    *bumped = (double)gone / (double)l->starts;
    return ldexp(pass / (double)l->starts, -(int)(l->columns - value_bits));
}

/* Returns the probability that a key matches in the first level: its
 * fingerprint is random, whatever the slots are. */
static double predict_members(const um_ribbon *r)
{
    const um_ribbon_level *l = &r->members;
    double here = 1, error = 0, bumped;

    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        if (l->layer[i].starts) {
            error += here * predict_layer(&l->layer[i], r->value_bits, &bumped);
            here *= bumped;
        }
    return error + here * ldexp(1, -(int)(l->tail_columns - r->value_bits));
}

/* Returns the fewest columns of keys with this entry. */
static uint32_t fewest_columns(const um_ribbon *r, uint32_t entry)
{
    const um_ribbon_level *l = &r->members;
    uint32_t more = entry - UM_RIBBON_FIRST, most = r->parts.most;

    if (!l->layer[0].starts && !l->layer[1].starts)
        return l->tail_columns;
    return l->form.columns + (more < most ? more : most);
}

/*
 * Returns the largest error for keys whose partition was not in the index when
 * it was built. The slots of the index determine the probability of each entry.
 * One of the entries makes all keys match. If a partition is the whole key, its
 * entry and its place in the first level depend on the same hash, and a maker
 * can choose entries for places with few columns. So these are what counts, not
 * their share. The fingerprint and the second level depend on the hash mixed
 * anew.
 */
static double predict_parts(const um_ribbon *r, double second)
{
    double chance[1 << UM_RIBBON_WEIGHED], error;

    um_ribbon_chances(&r->parts.index, true, chance);
    error = chance[UM_RIBBON_ALL];
    for (uint32_t i = UM_RIBBON_SECOND; i < 1u << r->parts.index.form.columns;
         i++) {
        uint32_t columns = i < UM_RIBBON_FIRST ? 0 : fewest_columns(r, i);
        error += ldexp(chance[i] * second, -(int)columns);
    }
    return fmin(1, error);
}

/* The second level has no fingerprint; the share that it rejects follows from
 * its slots. */
static double predict(const void *self)
{
    const um_ribbon *r = self;
    double second = r->two ? um_ribbon_chance_of_one(&r->never) : 1;

    if (r->empty)
        return 0;
    return r->parted ? predict_parts(r, second) : second * predict_members(r);
}

/* --- comparing ------------------------------------------------------------ */

/* Returns true if n columns equal the fingerprint, starting at bit `from`. */
static inline bool agree(const um_ribbon_place *p, uint64_t print,
                         uint32_t value_bits, uint32_t from, uint32_t n)
{
    uint64_t got = um_ribbon_some(p, value_bits + from, n);
    return ((got ^ print >> from) & um_ribbon_mask(n)) == 0;
}

/*
 * Returns true if the first level matches. The columns below the fingerprint
 * are those of a value. Most non-members differ in the first few columns.
 */
static bool matches(const um_ribbon_level *l, const um_ribbon_place *p,
                    const umbel_digest *d, uint32_t value_bits)
{
    enum { LEAD = 3 };
    uint64_t print = um_ribbon_print(d);
    uint32_t n = p->columns - value_bits;

    if (p->salted)
        return um_ribbon_tail_agrees(l, p, print, value_bits);
    if (n <= LEAD)
        return agree(p, print, value_bits, 0, n);
    return agree(p, print, value_bits, 0, LEAD) &&
           agree(p, print, value_bits, LEAD, n - LEAD);
}

static void pass(const um_ribbon_level *l, const umbel_digest *d, size_t n,
                 uint32_t value_bits, bool *hit)
{
    um_ribbon_place p[BATCH];

    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < BATCH ? n - i : BATCH;
        for (size_t j = 0; j < some; j++) {
            um_ribbon_find(l, d[i + j].lo, d[i + j].hi, &p[j]);
            um_ribbon_fetch(&p[j]);
        }
        for (size_t j = 0; j < some; j++)
            hit[i + j] = matches(l, &p[j], &d[i + j], value_bits);
    }
}

void um_ribbon_pass(const um_ribbon_level *l, const umbel_digest *d, size_t n,
                    bool *hit)
{
    pass(l, d, n, 0, hit);
}

static bool is_member(const um_ribbon_level *l, const umbel_digest *d)
{
    um_ribbon_place p;

    um_ribbon_find(l, um_ribbon_second(d), d->hi, &p);
    return um_ribbon_get(l, &p) & 1;
}

bool um_ribbon_match(const um_ribbon *r, const umbel_digest *d)
{
    um_ribbon_place p;

    um_ribbon_find(&r->members, d->lo, d->hi, &p);
    return matches(&r->members, &p, d, r->value_bits);
}

bool um_ribbon_match_at(const um_ribbon *r, const um_ribbon_place *p,
                        const umbel_digest *d)
{
    return matches(&r->members, p, d, r->value_bits);
}

bool um_ribbon_confirm(const um_ribbon *r, const umbel_digest *d)
{
    return is_member(&r->never, d);
}

/* --- keys in partitions: an index, and widths ------------------------------
 *
 * The share of members differs between partitions, and with it the number of
 * columns that makes the file smallest. The index is a map from the hash of a
 * partition (hi of its keys) to the way its keys are answered. It holds no
 * names: a partition that did not exist at the build gets an arbitrary entry.
 */

uint32_t um_ribbon_part_of(const um_ribbon_parts *p, const umbel_digest *d)
{
    um_ribbon_place at;

    um_ribbon_find(&p->index, d->hi, d->hi, &at);
    uint32_t entry = (uint32_t)um_ribbon_get(&p->index, &at);
    uint32_t last = UM_RIBBON_FIRST + p->most;
    return entry < last ? entry : last; /* the index may return anything */
}

bool um_ribbon_pass_part(const um_ribbon_parts *p, const um_ribbon_level *l,
                         const umbel_digest *d)
{
    uint32_t how = um_ribbon_part_of(p, d);
    um_ribbon_place at;

    if (how < UM_RIBBON_FIRST)
        return how != UM_RIBBON_NONE;
    um_ribbon_find_in(l, &p->share[how - UM_RIBBON_FIRST], d->lo, d->hi, &at);
    uint64_t got = um_ribbon_get(l, &at);
    return ((got ^ um_ribbon_part_print(d)) & um_ribbon_mask(at.columns)) == 0;
}

/* --- queries -------------------------------------------------------------- */

static void query_parts(const um_ribbon *r, const umbel_digest *d, size_t n,
                        bool *hit)
{
    for (size_t i = 0; i < n; i++) {
        hit[i] = um_ribbon_pass_part(&r->parts, &r->members, &d[i]);
        if (hit[i] && um_ribbon_part_of(&r->parts, &d[i]) != UM_RIBBON_ALL)
            hit[i] = !r->two || is_member(&r->never, &d[i]);
    }
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    const um_ribbon *r = self;

    if (r->empty) {
        memset(hit, 0, n * sizeof *hit);
        return;
    }
    if (r->parted) {
        query_parts(r, d, n, hit);
        return;
    }
    pass(&r->members, d, n, r->value_bits, hit);
    for (size_t i = 0; r->two && i < n; i++)
        hit[i] = hit[i] && is_member(&r->never, &d[i]);
}

static void value(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out)
{
    const um_ribbon *r = self;

    for (size_t i = 0; i < n; i++) {
        um_ribbon_place p;
        um_ribbon_find(&r->members, d[i].lo, d[i].hi, &p);
        out[i] = um_ribbon_get(&r->members, &p) & um_ribbon_mask(r->value_bits);
    }
}

/* --- rows ----------------------------------------------------------------- */

static void info(const void *self, umbel_info *out)
{
    const um_ribbon *r = self;
    um_info_count(out, "levels", r->empty ? 0 : 1 + r->two);
    if (r->parted) {
        um_info_count(out, "columns_fewest", r->members.form.columns);
        um_info_count(out, "columns_most",
                      r->members.form.columns + r->parts.most);
    }
}

static uint64_t granule(uint32_t hashes)
{
    (void)hashes;
    return 1;
}

/* The addressing of the kind: a band of 64 slots, which only the kind
 * interprets. */
static const um_addressing band = {
    .name = "band64",
    .summary = "64 neighbouring slots, of which a key picks some",
    .block = 1,
    .granule = granule,
};

static const um_row_static built = {.build = um_ribbon_build,
                                    .build_spilled = um_ribbon_build_spilled,
                                    .build_memory = um_ribbon_build_memory,
                                    .spilled_memory = um_ribbon_spilled_memory,
                                    .fits = um_ribbon_fits,
                                    .plan_hints = um_ribbon_plan_hints,
                                    .value_bits = um_ribbon_value_bits,
                                    .value = value,
                                    .parts = true};

const um_kind um_kind_ribbon = {
    .name = "ribbon",
    .summary = "a static set or map, in the fewest bits",
    .admissible = true,
    .settings = um_ribbon_settings,
    .self_len = sizeof(um_ribbon),
    .fixed_addressing = &band,
    .unsupported_reason = {.any =
                               "it is static; build it anew from all the keys"},
    .sections = um_bloom_sections,
    .attach = um_ribbon_attach,
    .query = query,
    .error = um_ribbon_error,
    .predict = predict,
    .info = info,
    .built = &built,
};
