/*
 * overfull.c - warns of filters whose error is above the one that they were
 * built for, or refuses them.
 *
 * Filters sized for an error keep it on average, so chance takes about half of
 * them above it, by a few per cent. That is no reason to warn. A filter with
 * more keys than its capacity is above it for another reason, which --strict
 * does not excuse.
 */
#include "cli/framework/overfull.h"

#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/estimate.h>

#include <inttypes.h>
#include <math.h>

#define BY_CHANCE 1.2 /* times the error that was requested */
#define FAR_ABOVE 2   /* times the error of a full filter */
#define USELESS 0.5   /* readers refuse a higher error by default */

const um_option um_strict_options[] = {
    {"strict", 0, NULL,
     "refuse a filter whose error is above the one that it was built for",
     UM_TARGET(um_strict_args, strict)},
    {0}};

/* Some filters are at 50 %. */
static bool is_above_half(double error)
{
    return error > 1.02 * USELESS;
}

bool um_is_useless(const umbel_filter *f)
{
    return !f->kind->counting && is_above_half(umbel_predict(f));
}

/* Returns the highest error that the filter should have. A size in cells alone
 * is not a request for an error. */
static double max_error(const umbel_filter *f)
{
    bool requested = f->capacity || f->kind->built || f->fpr != UM_DEFAULT_FPR;

    if (requested && f->fpr < USELESS)
        return f->fpr;
    return f->kind->counting ? 1 : USELESS; /* counts may serve nevertheless */
}

/* Why the error is higher than requested. */
typedef struct reason {
    bool crowded; /* more keys than the capacity */
    bool small;   /* too few cells for the capacity, as the size was given */
} reason;

/* Finds the reason. New keys are fewer than the keys of a filter that is far
 * too full, because many matched before they were added. */
static reason find_reason(const um_new_filter *n, double error)
{
    const umbel_filter *f = n->filter;
    bool promised = f->capacity && !f->kind->built && f->fpr < USELESS;
    double full =
        promised ? um_shape_error(um_shape_of(f), (double)f->capacity) : 0;

    return (reason){.crowded = f->capacity &&
                               (umbel_added(f) > f->capacity ||
                                (n->keys > f->capacity &&
                                 error > FAR_ABOVE * fmax(full, f->fpr))),
                    .small = promised && full > BY_CHANCE * f->fpr};
}

/*
 * Formats the capacity to suggest. A filter that is far too full counted as new
 * only some of its keys: then its cells show that it has more, unless all of
 * them are in use.
 */
static void write_capacity(const um_new_filter *n, char *out, size_t cap)
{
    umbel_interval keys;
    umbel_error ignored;
    bool estimated = !n->counted && umbel_estimate_keys(n->filter, &keys,
                                                        &ignored) == UMBEL_OK;

    if (estimated && isinf(keys.value))
        snprintf(out, cap, "N, where N is the number of its keys");
    else if (estimated && keys.low > (double)n->keys && keys.high < 1e15)
        snprintf(out, cap, "%.0f or more", ceil(keys.high));
    else
        snprintf(out, cap, "%" PRIu64 " or more", n->keys);
}

/* Formats what to do about it. */
static void write_advice(const um_new_filter *n, reason why, char *out,
                         size_t cap)
{
    const umbel_filter *f = n->filter;
    um_text sized = um_counted(f->capacity, "key", "keys");
    char capacity[64];

    write_capacity(n, capacity, sizeof capacity);
    if (f->kind->built)
        snprintf(out, cap, "%s with more --bits or --bytes", n->build);
    else if (!f->capacity || f->fpr >= USELESS)
        snprintf(out, cap,
                 "%s with more --bits, or with --capacity %" PRIu64 " instead",
                 n->build, n->keys);
    else if (why.small)
        snprintf(out, cap,
                 "its size is too small for %s at that error; %s without "
                 "--bits or --cells%s",
                 sized.text, n->build,
                 why.crowded ? ", and with a larger --capacity" : "");
    else if (why.crowded)
        snprintf(out, cap, "it was sized for %s; %s with --capacity %s",
                 sized.text, n->build, capacity);
    else
        snprintf(out, cap,
                 "blocks of a small filter fill unevenly; %s with a smaller "
                 "--fpr, or with another --seed",
                 n->build);
}

umbel_status um_check_overfull(const um_args *args, const um_new_filter *n,
                               um_report *r, umbel_error *err)
{
    const umbel_filter *f = n->filter;
    double most = max_error(f), error = umbel_predict(f);
    bool useless = is_above_half(error);
    reason why = find_reason(n, error);
    bool chance = !useless && error <= BY_CHANCE * most;
    bool loud = why.crowded || why.small || useless;
    char advice[200], text[424];

    if (!(error > most) || (chance && !(n->strict && why.crowded)) ||
        (n->sized && !why.crowded && !useless))
        return UMBEL_OK;
    write_advice(n, why, advice, sizeof advice);
    snprintf(text, sizeof text, "error is %s, above the %s that %s: %s",
             um_rate(error).text, um_rate(most).text,
             most < USELESS ? "it was built for" : "readers allow", advice);
    if (n->strict)
        return um_fail_detail(err, UMBEL_E_REFUSED, UMBEL_D_OVERFULL,
                              "the %s (refused by --strict)", text);
    if (loud)
        um_warn(args, "the %s", text);
    if (!loud || args->common.json)
        um_report_note(r, "The %s.", text);
    return UMBEL_OK;
}
