/*
 * size.c - computes the number of columns of the first of two levels.
 *
 * One more column takes a bit per member, and halves the number of keys in the
 * second level that are not members. If the size is limited, not all of them
 * may fit:
 *
 *   - a bit in the second level reduces the weight left by w / 2, for a key of
 *     weight w (half of the keys that it does not contain match by chance);
 *   - a bit in the first reduces it by L ln 2 / n, if L is left.
 *
 * So a key is worth its bit only if w > 2 ln 2 L / n, and the second level, of
 * a bit per member, only if enough keys are. The first level then has one more
 * column for a share of the keys, which um_exact_within finds by trying shares.
 */
#include "negatives/exact/exact.h"

#include <math.h>

enum {
    SHARES = 64,  /* shares of a column that are tried */
    BETWEEN = 16, /* more, near the best of them */
    FEW_KEYS = 1 << 15,
    TAIL = 500, /* keys, approximately */
    SPARE = 128 /* extra bits for two levels, since sizes are estimates */
};

static const um_ribbon_form one_column = {1, 0};

/* Returns the bits of a level. Measured: levels of a few thousand keys take
 * fewer than um_ribbon_guess returns, because their builder tries several
 * sizes. */
static double level_bits(double n, const um_ribbon_form *form)
{
    bool tried = n > UM_RIBBON_MAX_TAIL && n < FEW_KEYS;

    return um_ribbon_guess(n, form) * (tried ? 0.9975 : 1);
}

/* Returns the bits of the first level. All keys of a tail have the finer
 * column. */
static double first_bits(double n, const um_ribbon_form *form)
{
    double rest = 1 - (double)form->finer / UM_RIBBON_FINE;

    if (!form->columns && !form->finer)
        return 0;
    return level_bits(n, form) + (form->finer ? rest * TAIL : 0);
}

/* Returns the bits of the second level, with three standard deviations more
 * keys than are expected to pass. */
static double second_bits(double n, double pass)
{
    return level_bits(n + pass + 3 * sqrt(pass), &one_column);
}

static double all_bits(double n, double listed, uint32_t columns)
{
    um_ribbon_form form = {columns, 0};
    double pass = ldexp(listed, -(int)columns);

    return first_bits(n, &form) + (pass > 0 ? second_bits(n, pass) : 0);
}

uint32_t um_exact_smallest(double n, double listed)
{
    uint32_t best = listed > 0 && n > 0 ? 0 : 1;

    for (uint32_t r = best + 1; n > 0 && r <= UM_RIBBON_MAX_PRINT; r++)
        if (all_bits(n, listed, r) < all_bits(n, listed, best))
            best = r;
    return best;
}

/* --- a limited size ------------------------------------------------------- */

/* A list, and the best form so far. */
typedef struct filling {
    double n;
    const umbel_exact_class *classes;
    size_t nclasses;
    const um_exact_limit *limit;
    double listed, weight; /* of all classes */
    double left, unseen;
    um_exact_form best;
} filling;

static double pass_rate(const um_ribbon_form *form)
{
    double finer = (double)form->finer / UM_RIBBON_FINE;

    return ldexp(1 - finer / 2, -(int)form->columns);
}

double um_weight_beyond(const umbel_exact_class *classes, size_t n, double p,
                        double room)
{
    double left = 0;

    for (size_t i = 0; i < n; i++) {
        double keys = p * (double)classes[i].keys;
        double held = fmin(keys, room);
        left += (keys - held) * classes[i].weight;
        room -= held;
    }
    return left;
}

static void store_better(filling *f, double left, double unseen,
                         um_exact_form form)
{
    if (left > f->left || (left == f->left && unseen >= f->unseen))
        return;
    f->left = left;
    f->unseen = unseen;
    f->best = form;
}

/* Tries a single level; one of whole columns has a shorter head. */
static void try_one(filling *f, bool whole)
{
    um_ribbon_form some = {whole, !whole}, form;

    um_ribbon_form_within(f->limit->bits(f->limit->ctx, &some, false), f->n,
                          &form);
    form.finer = whole ? 0 : form.finer;
    if (form.columns || form.finer)
        store_better(f, f->weight * pass_rate(&form), pass_rate(&form),
                     (um_exact_form){form, false, false});
}

/* Returns the expected number of keys beyond `room` that pass, if `pass` are
 * expected. */
static double expected_excess(double pass, double room)
{
    double sigma = sqrt(pass);

    if (sigma <= 0)
        return fmax(0, -room);
    double z = (room - pass) / sigma, beyond = erfc(z / sqrt(2)) / 2;
    return sigma * (exp(-z * z / 2) / sqrt(2 * acos(-1)) - z * beyond);
}

/* Returns the weight left by two levels. Half of the keys that do not fit
 * match; if more pass than expected, the lightest do not fit. */
static double left_by_two(const filling *f, double p, double bits)
{
    double key = (um_ribbon_guess(f->n + f->listed, &one_column) -
                  um_ribbon_guess(f->n, &one_column)) /
                 f->listed;
    double room = bits / key, lightest = f->classes[f->nclasses - 1].weight;
    double left = um_weight_beyond(f->classes, f->nclasses, p, room);

    return fmax(left, lightest * expected_excess(p * f->listed, room)) / 2;
}

static void try_two(filling *f, const um_ribbon_form *form)
{
    double bits = f->limit->bits(f->limit->ctx, form, true) - f->limit->spare;
    double p = pass_rate(form), first = first_bits(f->n, form);
    double room = bits - first - um_exact_second(f->n, 0, form);
    bool all = first + um_exact_second(f->n, f->listed, form) <= bits;

    if (room >= 0)
        store_better(f, all ? 0 : left_by_two(f, p, room), p / 2,
                     (um_exact_form){*form, true, all});
}

/* Tries shares between those that were tried. */
static void try_between(filling *f, uint32_t step)
{
    um_ribbon_form best = f->best.form;
    uint32_t at = best.columns * UM_RIBBON_FINE + best.finer;
    uint32_t from = at > step ? at - step : 0;
    uint32_t most = UM_RIBBON_MAX_PRINT * (uint32_t)UM_RIBBON_FINE;

    for (uint32_t i = from; i < at + step && i <= most; i += step / BETWEEN)
        try_two(f, &(um_ribbon_form){i / UM_RIBBON_FINE, i % UM_RIBBON_FINE});
}

bool um_exact_within(double n, const umbel_exact_class *classes,
                     size_t nclasses, const um_exact_limit *limit,
                     um_exact_form *out)
{
    /* A tail has no finer part. */
    uint32_t step =
        n > UM_RIBBON_MAX_TAIL ? UM_RIBBON_FINE / SHARES : UM_RIBBON_FINE;
    filling f = {.n = n,
                 .classes = classes,
                 .nclasses = nclasses,
                 .limit = limit,
                 .left = INFINITY,
                 .unseen = INFINITY};

    for (size_t i = 0; i < nclasses; i++) {
        f.listed += (double)classes[i].keys;
        f.weight += (double)classes[i].keys * classes[i].weight;
    }
    try_one(&f, false);
    try_one(&f, true);
    for (uint32_t r = 0; f.listed > 0 && r <= UM_RIBBON_MAX_PRINT; r++)
        for (uint32_t finer = 0; finer < UM_RIBBON_FINE; finer += step)
            if (r < UM_RIBBON_MAX_PRINT || !finer)
                try_two(&f, &(um_ribbon_form){r, finer});
    if (f.best.two && step < UM_RIBBON_FINE)
        try_between(&f, step);
    if (isinf(f.left))
        return false;
    *out = f.best;
    return true;
}

double um_exact_second(double n, double listed, const um_ribbon_form *first)
{
    return second_bits(n, pass_rate(first) * listed) + SPARE;
}

double um_exact_least(double n)
{
    return second_bits(n, 0);
}

/* --- weights -------------------------------------------------------------- */

/* Returns the class of a weight, from 2^-256 to 2^256; weights beyond are in
 * the classes at the ends. */
static size_t class_of(double weight)
{
    int exponent;

    if (!(weight > 0) || isinf(weight))
        return weight > 0 ? UM_WEIGHT_CLASSES - 1 : 0;
    double mantissa = frexp(weight, &exponent); /* 0.5 <= mantissa < 1 */
    int i =
        (exponent + UM_WEIGHT_CLASSES / 16) * 8 + (int)((mantissa - 0.5) * 16);

    return i < 0                    ? 0
           : i >= UM_WEIGHT_CLASSES ? UM_WEIGHT_CLASSES - 1
                                    : (size_t)i;
}

void um_weight_counts_add(um_weight_counts *c, const double *weights, size_t n)
{
    c->all += n;
    for (size_t i = 0; i < n; i++) {
        double weight = weights ? weights[i] : 1;
        size_t k = class_of(weight);
        c->of[k].keys++;
        c->of[k].weight += weight;
    }
}

size_t um_weight_classes(const um_weight_counts *c, uint64_t listed,
                         umbel_exact_class out[UM_WEIGHT_CLASSES])
{
    double share = c->all ? (double)listed / (double)c->all : 0;
    size_t n = 0;

    for (size_t i = UM_WEIGHT_CLASSES; i-- > 0;) {
        double keys = (double)c->of[i].keys;
        uint64_t some = (uint64_t)ceil(keys * share);
        if (some)
            out[n++] = (umbel_exact_class){c->of[i].weight / keys, some};
    }
    return n;
}
