/*
 * form.c - derives from the settings of a ribbon filter the forms and sizes of
 * its levels, their offsets in the payload, and its error rates.
 */
#include "kinds/ribbon/ribbon.h"

#include "base/error.h"

#include <math.h>

enum { /* indices of um_ribbon_settings */
       VALUE_BITS,
       FINER,
       BUCKETS,
       TAIL = BUCKETS + UM_RIBBON_LAYERS,
       SALT,
       NEVER_BUCKETS,
       NEVER_TAIL = NEVER_BUCKETS + UM_RIBBON_LAYERS,
       NEVER_SALT,
       STEPS,
       INDEX_BITS = STEPS + UM_RIBBON_STEPS / 4, /* four steps in a number */
       INDEX_BUCKETS,
       INDEX_TAIL = INDEX_BUCKETS + UM_RIBBON_LAYERS,
       INDEX_SALT,
       WIDE,
       NEVER_WIDE
};

#define LEVEL(from, prefix)                                                    \
    [from] = {prefix "buckets_1", "buckets of a layer", 0,                     \
              UM_RIBBON_MAX_BUCKETS, 0},                                       \
    {prefix "buckets_2", "buckets of a layer", 0, UM_RIBBON_MAX_BUCKETS, 0},   \
    {prefix "tail", "slots of the tail", 0, UM_RIBBON_MAX_BUCKETS, 0},         \
    {                                                                          \
        prefix "salt", "salt of the tail", 0, UM_RIBBON_SALTS - 1, 0           \
    }

const umbel_setting_info um_ribbon_settings[] = {
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

/* --- shapes --------------------------------------------------------------- */

static const um_ribbon_form one_column = {1, 0};

static um_ribbon_sizes sizes_of(const um_shape *s, int from)
{
    um_ribbon_sizes sizes = {.tail = s->setting[from + UM_RIBBON_LAYERS],
                             .salt = s->setting[from + UM_RIBBON_LAYERS + 1]};

    for (int i = 0; i < UM_RIBBON_LAYERS; i++)
        sizes.buckets[i] = s->setting[from + i];
    return sizes;
}

/* Returns the sizes of the members' level, with the steps for partitions. */
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

/* Returns the number of columns that only some keys have, or that are in the
 * second level. */
static uint32_t other_columns(const um_ribbon_form *form,
                              const um_ribbon_sizes *members,
                              const um_ribbon_sizes *never)
{
    return um_ribbon_max_more(form, members->steps) +
           (um_ribbon_is_empty(never) ? 0 : 1u);
}

/* Computes the form: hashes counts all columns of a key, in both levels. */
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

/* Returns the number of bits of the payload, at least a word. */
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

/* Checks that there is an index if and only if the hash has parts; without keys
 * there is no index. */
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

umbel_status um_ribbon_fits(const um_shape *s, umbel_error *err)
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
        s->hashes = 1; /* without keys */
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

void um_ribbon_lay_parts(um_ribbon_parts *p, const um_ribbon_form *form,
                         const um_ribbon_sizes *members, uint32_t bits,
                         const um_ribbon_sizes *index, uint8_t *memory)
{
    um_ribbon_form entries = {bits, 0};

    um_ribbon_lay(&p->index, &entries, index, memory);
    p->most = um_ribbon_max_more(form, members->steps);
    for (uint32_t i = 0; i <= p->most; i++)
        p->share[i] = um_ribbon_share_of(form, members->steps, i);
}

void um_ribbon_attach(void *self, const um_shape *s, const um_layout *l,
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

/* --- columns and errors --------------------------------------------------- */

static double error_of(const um_ribbon_form *form)
{
    double finer = (double)form->finer / UM_RIBBON_FINE;
    return ldexp(1 - finer / 2, -(int)form->columns);
}

/* Returns the mean error over the widths of members. */
static double error_of_parts(const um_ribbon_form *form,
                             const um_ribbon_sizes *members)
{
    double sum = 0;

    for (uint32_t i = 0; i <= um_ribbon_max_more(form, members->steps); i++)
        sum += ldexp(um_ribbon_share_of(form, members->steps, i).width,
                     -(int)(form->columns + i));
    return sum / UM_RIBBON_FINE;
}

/* Returns false for few keys, which are in a tail: that has no finer part. */
static bool has_finer(double keys)
{
    return keys > UM_RIBBON_MAX_TAIL;
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

/* Returns the form that a size allows, before the filter is built, not counting
 * values. */
static um_ribbon_form form_within(const um_shape *s, uint64_t cells,
                                  double keys)
{
    um_ribbon_form form = {0, 0};

    um_ribbon_form_within((double)cells - keys * (double)s->setting[VALUE_BITS],
                          keys, &form);
    return form;
}

/*
 * Sets the salt, which has no meaning in a plan but is the last setting in the
 * head of a set or map. A fraction of a bit left by rounding is not a finer
 * part.
 */
uint32_t um_ribbon_plan_hints(um_shape *s, double keys)
{
    s->setting[SALT] = 1;
    um_ribbon_form form = form_within(s, s->cells, keys);
    bool finer = (double)form.finer * keys > UM_RIBBON_FINE;

    return form.columns + finer + (uint32_t)s->setting[VALUE_BITS];
}

double um_ribbon_error(const um_shape *s, const um_layout *l, double keys)
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

bool um_ribbon_leads(const um_shape *s, uint32_t columns)
{
    return s->setting[BUCKETS] && !s->setting[INDEX_BITS] &&
           !s->setting[WIDE] &&
           s->setting[BUCKETS] * UM_RIBBON_BUCKET <= UINT32_MAX / 2 &&
           form_of(s).columns >= s->setting[VALUE_BITS] + columns;
}

uint32_t um_ribbon_value_bits(const um_shape *s)
{
    return (uint32_t)s->setting[VALUE_BITS];
}

umbel_status um_ribbon_want_free(const um_shape *s, umbel_error *err)
{
    for (int i = VALUE_BITS + 1; i <= NEVER_WIDE; i++)
        if (s->setting[i] && i != WIDE)
            return um_fail(err, UMBEL_E_RANGE,
                           "%s of kind ribbon follows from its keys: leave "
                           "it out",
                           um_ribbon_settings[i].name);
    return UMBEL_OK;
}

bool um_ribbon_is_wide(const um_shape *s)
{
    return s->setting[WIDE];
}
