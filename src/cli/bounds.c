/*
 * bounds.c - umbel plan --fp-bound --fn-bound: functions and space of a
 * generalized filter.
 */
#include "cli/bounds.h"

#include "base/error.h"
#include "cli/report.h"
#include "filter/addressing.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const um_option um_bounds_options[] = {
    {"fp-bound", 0, "X", "generalized: false matches, whatever its bits are"},
    {"fn-bound", 0, "Y", "... members denied at most; tells functions, space"},
    {0}};

bool um_has_bounds(const um_args *args)
{
    return um_has(args, "fp-bound") || um_has(args, "fn-bound");
}

/* What else the command line says must not be left unheard. */
static umbel_status check(const um_args *args, umbel_error *err)
{
    static const char *const others[] = {
        "bits", "cells", "bytes", "fpr",     "hashes",    "reset",
        "set",  "fill",  "clear", "retouch", "threshold", "counts"};
    const char *kind = um_value(args, "kind");

    if (!um_has(args, "fp-bound") || !um_has(args, "fn-bound"))
        return um_fail(err, UMBEL_E_RANGE,
                       "--fp-bound and --fn-bound belong together");
    if (!kind || strcmp(kind, "generalized") != 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "bounds are what --kind generalized has");
    for (size_t i = 0; i < UM_COUNT(others); i++)
        if (um_has(args, others[i]))
            return um_fail(err, UMBEL_E_RANGE,
                           "the bounds tell functions and space: leave --%s "
                           "out",
                           others[i]);
    return UMBEL_OK;
}

static void print_bounds(const umbel_bounds_plan *p, uint64_t keys)
{
    printf("generalized  %" PRIu32 " + %" PRIu32 " functions %9.3f bits/key  "
           "false matches at most %s, members denied at most %s\n",
           p->reset, p->set, p->bits_per_key, um_percent(p->fp_bound).text,
           um_percent(p->fn_bound).text);
    if (keys)
        printf("             %s bits for %s keys\n",
               um_grouped((uint64_t)ceil(p->bits_per_key * (double)keys)).text,
               um_grouped(keys).text);
    printf("plain        %" PRIu32 " functions     %9.3f bits/key  the same "
           "bound, none denied: refuse it when more than %g of its bits are "
           "set\n",
           p->plain_hashes, p->plain_bits_per_key, UMBEL_PLAIN_FILL);
}

static void to_info(const umbel_bounds_plan *p, uint64_t keys, umbel_info *out)
{
    um_info_text(out, "kind", "generalized");
    um_info_count(out, "reset", p->reset);
    um_info_count(out, "set", p->set);
    um_info_real(out, "bits_per_key", p->bits_per_key);
    um_info_real(out, "fp_bound", p->fp_bound);
    um_info_real(out, "fn_bound", p->fn_bound);
    um_info_count(out, "plain_hashes", p->plain_hashes);
    um_info_real(out, "plain_bits_per_key", p->plain_bits_per_key);
    um_info_real(out, "plain_fill", UMBEL_PLAIN_FILL);
    if (keys) {
        um_info_count(out, "keys", keys);
        um_info_count(out, "bits",
                      (uint64_t)ceil(p->bits_per_key * (double)keys));
    }
}

/* The bits of all keys have to be a number that a filter can have. */
static umbel_status check_keys(const umbel_bounds_plan *p, uint64_t keys,
                               umbel_error *err)
{
    if (p->bits_per_key * (double)keys > (double)UM_MAX_CELLS)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s keys take %.3g bits, and a filter has 2^48 at most: "
                       "plan fewer keys, or allow more of them to be denied",
                       um_grouped(keys).text, p->bits_per_key * (double)keys);
    return UMBEL_OK;
}

int um_answer_bounds(const um_args *args)
{
    umbel_bounds_plan plan;
    umbel_info info = {0};
    umbel_error err;
    uint64_t keys = 0;
    double fp = 0, fn = 0;

    umbel_status status = check(args, &err);
    if (status == UMBEL_OK)
        status = um_value_share(args, "fp-bound", &fp, &err);
    if (status == UMBEL_OK)
        status = um_value_share(args, "fn-bound", &fn, &err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "keys", &keys, &err);
    if (status == UMBEL_OK)
        status = umbel_plan_bounds(fp, fn, &plan, &err);
    if (status == UMBEL_OK)
        status = check_keys(&plan, keys, &err);
    if (status != UMBEL_OK)
        return um_trouble(args, &err);
    to_info(&plan, keys, &info);
    if (um_has(args, "json"))
        um_print_json(stdout, &info);
    else if (!um_has(args, "quiet"))
        print_bounds(&plan, keys);
    return UM_EXIT_FINE;
}
