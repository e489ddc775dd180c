/*
 * ribbon.c - kind ribbon: a static set, or map, as small as can be.
 *
 * A member has a fingerprint of r bits, made from its digest, and a level of
 * r columns (kinds/ribbon/level.h) gives every member its own. Another key gets
 * something by chance, and equals its fingerprint with chance 2^-r. That takes
 * r bits a member, and some thousandths more, where a bloom filter takes 1.44
 * r. A share of the members has r + 1 bits, so that any mean error can be had.
 *
 * As a map, a level has columns for the value below those of the fingerprint
 * (Bloomier filter: Chazelle, Kilian, Rubinfeld, Tal 2004); it may have none of
 * the latter, and then gives every key a value.
 *
 * With a list of keys that must not match there is a second level of one column
 * (negatives/exact/exact.c). If the list is the rest of a universe, the set is
 * exact.
 *
 * Keys in partitions (ribbon_parts.c): an index says how many columns those of
 * a partition have in the first level.
 *
 *   one section:  the first level | the second | the index, each from a
 *                 multiple of 8 bytes on
 *
 * Paper: Dillinger, Huebschle-Schneider, Sanders, Walzer 2022.
 * When not to use it: keys come one by one, or filters are to be merged.
 */
#include "kinds/ribbon/ribbon.h"

#include "base/error.h"
#include "kinds/bloom/bloom.h"

#include <math.h>

enum { BATCH = 32 };

enum { /* numbers of settings */
       VALUE_BITS,
       FINER,
       BUCKETS,
       TAIL = BUCKETS + UM_RIBBON_LAYERS,
       SALT,
       NEVER_BUCKETS,
       NEVER_TAIL = NEVER_BUCKETS + UM_RIBBON_LAYERS,
       NEVER_SALT,
       STEPS,
       INDEX_BITS = STEPS + UM_RIBBON_STEPS / 4, /* four in a number */
       INDEX_BUCKETS,
       INDEX_TAIL = INDEX_BUCKETS + UM_RIBBON_LAYERS,
       INDEX_SALT,
       WIDE,
       NEVER_WIDE
};

#define LEVEL(from, prefix)                                                    \
    [from] = {prefix "buckets_1", "buckets of a layer", 0,                     \
              UM_RIBBON_MAX_BUCKETS, 0},                                      \
    {prefix "buckets_2", "buckets of a layer", 0, UM_RIBBON_MAX_BUCKETS, 0},  \
    {prefix "tail", "slots of the tail", 0, UM_RIBBON_MAX_BUCKETS, 0},        \
    {                                                                          \
        prefix "salt", "salt of the tail", 0, UM_RIBBON_SALTS - 1, 0           \
    }

static const umbel_setting_info settings[] = {
    [VALUE_BITS] = {"value_bits", "bits of a value; 0: a set", 0, 32, 0},
    [FINER] = {"finer", "65536ths of the keys have a column more", 0,
               UM_RIBBON_FINE - 1, 0},
    LEVEL(BUCKETS, ""),
    LEVEL(NEVER_BUCKETS, "never_"),
    [STEPS] = {"steps_1", "65536ths with 2 to 5 columns more", 0, UINT64_MAX,
               0},
    {"steps_2", "65536ths with 6 to 9 columns more", 0, UINT64_MAX, 0},
    {"steps_3", "65536ths with 10 to 13 columns more", 0, UINT64_MAX, 0},
    [INDEX_BITS] = {"index_bits", "bits of an entry of the index", 0,
                    UM_RIBBON_INDEX_BITS, 0},
    LEVEL(INDEX_BUCKETS, "index_"),
    [WIDE] = {"wide", "rows have 128 coefficients: smaller, slower", 0, 1, 0},
    [NEVER_WIDE] = {"never_wide", "the same of the second level", 0, 1, 0},
    {NULL, NULL, 0, 0, 0}};

/* --- shapes -------------------------------------------------------------- */

static const um_ribbon_form one_column = {1, 0};

static um_ribbon_sizes sizes_of(const um_shape *s, int from)
{
    um_ribbon_sizes sizes = {.tail = s->setting[from + UM_RIBBON_LAYERS],
                             .salt = s->setting[from + UM_RIBBON_LAYERS + 1]};

    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        sizes.buckets[i] = s->setting[from + i];
    return sizes;
}

/* With the steps of keys in partitions. */
static um_ribbon_sizes members_of(const um_shape *s)
{
    um_ribbon_sizes sizes = sizes_of(s, BUCKETS);

    for (int i = 0; i < UM_RIBBON_STEPS; i++)
        sizes.steps[i] = (uint16_t)(s->setting[STEPS + i / 4] >> 16 * (i % 4));
    sizes.wide = s->setting[WIDE];
    return sizes;
}

static um_ribbon_sizes never_of(const um_shape *s)
{
    um_ribbon_sizes sizes = sizes_of(s, NEVER_BUCKETS);

    sizes.wide = s->setting[NEVER_WIDE];
    return sizes;
}

static um_ribbon_form index_form(const um_shape *s)
{
    return (um_ribbon_form){(uint32_t)s->setting[INDEX_BITS], 0};
}

/* Returns the columns that only some keys have, or the second level. */
static uint32_t other_columns(const um_ribbon_form *form,
                              const um_ribbon_sizes *members,
                              const um_ribbon_sizes *never)
{
    return um_ribbon_max_more(form, members->steps) +
           (um_ribbon_is_empty(never) ? 0 : 1u);
}

/* Hashes are all the columns of a key, in both levels. */
static um_ribbon_form form_of(const um_shape *s)
{
    um_ribbon_form form = {0, (uint32_t)s->setting[FINER]};
    um_ribbon_sizes members = members_of(s);
    um_ribbon_sizes never = never_of(s);
    uint32_t others = other_columns(&form, &members, &never);

    form.columns = s->hashes > others ? s->hashes - others : 0;
    return form;
}

static void write_sizes(um_shape *s, int from, const um_ribbon_sizes *sizes)
{
    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        s->setting[from + i] = sizes->buckets[i];
    s->setting[from + UM_RIBBON_LAYERS] = sizes->tail;
    s->setting[from + UM_RIBBON_LAYERS + 1] = sizes->salt;
}

/* Bits of the payload: a word at least. */
static uint64_t bits_of(const um_shape *s)
{
    um_ribbon_form form = form_of(s), entries = index_form(s);
    um_ribbon_sizes members = members_of(s);
    um_ribbon_sizes never = never_of(s);
    um_ribbon_sizes index = sizes_of(s, INDEX_BUCKETS);
    um_ribbon_level a, b, c;

    um_ribbon_lay(&a, &form, &members, NULL);
    um_ribbon_lay(&b, &one_column, &never, NULL);
    um_ribbon_lay(&c, &entries, &index, NULL);
    uint64_t bytes = a.bytes + b.bytes + c.bytes;
    return 8 * (bytes ? bytes : 8);
}

static bool has_salt_alone(const um_ribbon_sizes *s)
{
    return s->salt && !s->tail;
}

/* An index and a hash of parts go together; without keys there is none. */
static bool parts_fit(const um_shape *s, const um_ribbon_sizes *members,
                      const um_ribbon_sizes *never)
{
    um_ribbon_form entries = index_form(s);
    um_ribbon_sizes index = sizes_of(s, INDEX_BUCKETS);

    if (!s->setting[INDEX_BITS])
        return um_ribbon_is_empty(&index) && !index.salt &&
               !members->steps[0] &&
               (!s->hash->part ||
                (um_ribbon_is_empty(members) && um_ribbon_is_empty(never)));
    return s->hash->part && !um_ribbon_is_empty(&index) &&
           um_ribbon_can(&entries, &index) && !has_salt_alone(&index) &&
           !s->setting[VALUE_BITS];
}

static bool settings_fit(const um_shape *s)
{
    um_ribbon_form form = form_of(s);
    um_ribbon_sizes members = members_of(s);
    um_ribbon_sizes never = never_of(s);
    uint64_t value = s->setting[VALUE_BITS], columns = form.columns;

    return s->hashes &&
           s->hashes == columns + other_columns(&form, &members, &never) &&
           parts_fit(s, &members, &never) && um_ribbon_can(&form, &members) &&
           um_ribbon_can(&one_column, &never) && value <= columns &&
           columns - value <= UM_RIBBON_MAX_PRINT &&
           !has_salt_alone(&members) && !has_salt_alone(&never) &&
           (!members.wide || members.buckets[0]) &&
           (!never.wide || never.buckets[0]) &&
           (!value || um_ribbon_is_empty(&never)) &&
           (columns || form.finer || um_ribbon_is_empty(&members));
}

static umbel_status fits(const um_shape *s, umbel_error *err)
{
    if (!settings_fit(s) || s->cells != bits_of(s))
        return um_fail(err, UMBEL_E_RANGE,
                       "columns, buckets and bits of kind ribbon do not "
                       "agree");
    return UMBEL_OK;
}

void um_ribbon_shape(um_shape *s, const um_ribbon_form *form,
                     uint32_t value_bits, const um_ribbon_sizes *members,
                     const um_ribbon_sizes *never)
{
    s->setting[VALUE_BITS] = value_bits;
    s->setting[FINER] = form->finer;
    write_sizes(s, BUCKETS, members);
    write_sizes(s, NEVER_BUCKETS, never);
    s->setting[WIDE] = members->wide;
    s->setting[NEVER_WIDE] = never->wide;
    s->hashes = form->columns + other_columns(form, members, never);
    if (!s->hashes)
        s->hashes = 1; /* of no keys */
    s->cells = bits_of(s);
}

void um_ribbon_shape_parts(um_shape *s, const um_ribbon_form *form,
                           const um_ribbon_sizes *members,
                           const um_ribbon_sizes *never, uint32_t bits,
                           const um_ribbon_sizes *index)
{
    for (int i = 0; i < UM_RIBBON_STEPS; i++)
        s->setting[STEPS + i / 4] |= (uint64_t)members->steps[i]
                                     << 16 * (i % 4);
    s->setting[INDEX_BITS] = bits;
    write_sizes(s, INDEX_BUCKETS, index);
    um_ribbon_shape(s, form, 0, members, never);
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    um_ribbon *r = self;
    um_ribbon_form form = form_of(s);
    um_ribbon_sizes members = members_of(s);
    um_ribbon_sizes never = never_of(s);
    um_ribbon_sizes index = sizes_of(s, INDEX_BUCKETS);
    uint8_t *at = memory[0];

    (void)l;
    um_ribbon_lay(&r->members, &form, &members, at);
    um_ribbon_lay(&r->never, &one_column, &never, at + r->members.bytes);
    r->two = !um_ribbon_is_empty(&never);
    r->parted = s->setting[INDEX_BITS];
    r->empty = um_ribbon_is_empty(&members) && !r->two && !r->parted;
    if (r->parted)
        um_ribbon_lay_parts(&r->parts, &form, &members,
                            (uint32_t)s->setting[INDEX_BITS], &index,
                            at + r->members.bytes + r->never.bytes);
    r->value_bits = (uint32_t)s->setting[VALUE_BITS];
}

/* --- columns and errors -------------------------------------------------- */

static double error_of(const um_ribbon_form *form)
{
    double finer = (double)form->finer / UM_RIBBON_FINE;
    return ldexp(1 - finer / 2, -(int)form->columns);
}

/* The mean over the widths of members. */
static double error_of_parts(const um_ribbon_form *form,
                             const um_ribbon_sizes *members)
{
    double sum = 0;

    for (uint32_t i = 0; i <= um_ribbon_max_more(form, members->steps); i++)
        sum += ldexp(um_ribbon_share_of(form, members->steps, i).width,
                     -(int)(form->columns + i));
    return sum / UM_RIBBON_FINE;
}

/* Few keys are in a tail, which has no finer part. */
static bool has_finer(double keys)
{
    return keys > UM_RIBBON_FEW;
}

bool um_ribbon_form_for(double fpr, double keys, um_ribbon_form *out)
{
    int exponent;
    double mantissa = frexp(fpr, &exponent); /* 0.5 <= mantissa < 1 */
    double finer = ceil(2 * (1 - mantissa) * UM_RIBBON_FINE);

    if (fpr >= 1) {
        *out = (um_ribbon_form){0, 0};
        return true;
    }
    *out = (um_ribbon_form){(uint32_t)-exponent, (uint32_t)finer};
    if (out->finer >= UM_RIBBON_FINE || (out->finer && !has_finer(keys)))
        *out = (um_ribbon_form){(uint32_t)(1 - exponent), 0};
    return out->columns + (out->finer != 0) <= UM_RIBBON_MAX_PRINT;
}

void um_ribbon_form_within(double bits, double keys, um_ribbon_form *out)
{
    um_ribbon_form one = {1, 0}, none = {0, 0};
    double fixed = um_ribbon_guess(keys, &none);
    double column = um_ribbon_guess(keys, &one) - fixed;
    double n = keys > 0 ? (bits - fixed) / column : 0;

    n = fmin(fmax(n, 0), UM_RIBBON_MAX_PRINT);
    if (!has_finer(keys))
        n = floor(n);
    *out = (um_ribbon_form){(uint32_t)n,
                            (uint32_t)((n - floor(n)) * UM_RIBBON_FINE)};
}

/* Before it is built: what its size allows, beside values. */
static um_ribbon_form form_within(const um_shape *s, uint64_t cells,
                                  double keys)
{
    um_ribbon_form form = {0, 0};

    um_ribbon_form_within((double)cells - keys * (double)s->setting[VALUE_BITS],
                          keys, &form);
    return form;
}

/*
 * A salt alone says nothing, but stands last in the head of a set or map. Part
 * of a bit, which rounding left over, is no finer part.
 */
static uint32_t plan_hints(um_shape *s, double keys)
{
    s->setting[SALT] = 1;
    um_ribbon_form form = form_within(s, s->cells, keys);
    bool finer = (double)form.finer * keys > UM_RIBBON_FINE;

    return form.columns + finer + (uint32_t)s->setting[VALUE_BITS];
}

static double error(const um_shape *s, const um_layout *l, double keys)
{
    um_ribbon_form form = form_of(s);
    um_ribbon_sizes never = never_of(s);
    um_ribbon_sizes members = members_of(s);

    if (s->setting[INDEX_BITS])
        return error_of_parts(&form, &members) / 2;
    if (um_ribbon_is_empty(&members) && um_ribbon_is_empty(&never))
        form = form_within(s, l->cells, keys);
    else
        form.columns -= (uint32_t)s->setting[VALUE_BITS];
    return error_of(&form) * (um_ribbon_is_empty(&never) ? 1 : 0.5);
}

/* Of the keys that come to a layer: how many stay, how often they match. */
static double predict_layer(const um_ribbon_layer *l, uint32_t value_bits,
                            double *bumped)
{
    uint64_t buckets = l->starts >> l->bucket_bits, gone = 0;
    double pass = 0;

    for (uint64_t b = 0; b < buckets; b++) {
        uint32_t n = um_ribbon_bumped(l, um_ribbon_code(l, b));
        uint32_t more =
            um_ribbon_columns_at(l, b << l->bucket_bits) - l->columns;
        gone += n;
        pass += ldexp(um_ribbon_bucket(l) - n, -(int)more);
    }
    double starts = (double)l->starts;
    *bumped = (double)gone / starts;
    return pass / starts * ldexp(1, -(int)(l->columns - value_bits));
}

/*
 * In the first level the fingerprint is random whatever the slots are; the
 * second has none, and what it denies follows from the slots. In partitions: of
 * keys that fall into them as the members of the first level do.
 */
static double predict(const void *self)
{
    const um_ribbon *r = self;
    const um_ribbon_level *l = &r->members;
    double here = 1, error = 0, bumped;

    if (r->empty)
        return 0;
    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        if (l->layer[i].starts) {
            error += here * predict_layer(&l->layer[i], r->value_bits, &bumped);
            here *= bumped;
        }
    error += here * ldexp(1, -(int)(l->tail_columns - r->value_bits));
    return r->two ? error * um_ribbon_chance_of_one(&r->never) : error;
}

/* --- asking -------------------------------------------------------------- */

/* Returns true if n columns equal the fingerprint from that bit on. */
static inline bool agree(const um_ribbon_place *p, uint64_t print,
                         uint32_t value_bits, uint32_t from, uint32_t n)
{
    uint64_t got = um_ribbon_some(p, value_bits + from, n);
    return ((got ^ print >> from) & um_ribbon_mask(n)) == 0;
}

/*
 * Columns below the fingerprint are those of a value. Most keys that are no
 * members differ in the first few columns.
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

bool um_ribbon_leads(const um_shape *s, uint32_t columns)
{
    return s->setting[BUCKETS] && !s->setting[INDEX_BITS] &&
           !s->setting[WIDE] &&
           s->setting[BUCKETS] * UM_RIBBON_BUCKET <= UINT32_MAX / 2 &&
           form_of(s).columns >= s->setting[VALUE_BITS] + columns;
}

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

static uint32_t value_bits(const um_shape *s)
{
    return (uint32_t)s->setting[VALUE_BITS];
}

/* --- rows ---------------------------------------------------------------- */

umbel_status um_ribbon_want_free(const um_shape *s, umbel_error *err)
{
    for (int i = VALUE_BITS + 1; i <= NEVER_WIDE; i++)
        if (s->setting[i] && i != WIDE)
            return um_fail(err, UMBEL_E_RANGE,
                           "%s of kind ribbon follows from its keys: leave "
                           "it out",
                           settings[i].name);
    return UMBEL_OK;
}

bool um_ribbon_is_wide(const um_shape *s)
{
    return s->setting[WIDE];
}

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

/* Cells of a key, 64 slots of a band, are the kind's own matter. */
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
                                    .fits = fits,
                                    .plan_hints = plan_hints,
                                    .value_bits = value_bits,
                                    .value = value,
                                    .parts = true};

const um_kind um_kind_ribbon = {
    .name = "ribbon",
    .summary = "a static set or map, in the fewest bits",
    .settings = settings,
    .self_len = sizeof(um_ribbon),
    .fixed_addressing = &band,
    .unsupported_reason = {.any =
                               "it is static; build it anew from all the keys"},
    .sections = um_bloom_sections,
    .attach = attach,
    .query = query,
    .error = error,
    .predict = predict,
    .info = info,
    .built = &built,
};
