/*
 * plan_bounds.c - umbel plan --fp-bound --fn-bound: hash functions and space of
 * a generalized filter.
 */
#include "base/error.h"
#include "cli/commands/plan.h"
#include "filter/addressing/addressing.h"

#include <math.h>

/* The bits of all keys have to be a number that a filter can have. */
static umbel_status check_size(const umbel_bounds_plan *p, uint64_t keys,
                               umbel_error *err)
{
    double bits = p->bits_per_key * (double)keys;

    if (bits > (double)UM_MAX_CELLS)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s keys take %.3g bits, but a filter has at most 2^48: "
                       "plan fewer keys, or allow more of them to be denied",
                       um_grouped(keys).text, bits);
    return UMBEL_OK;
}

static void report_bounds(um_report *r, const plan_args *a,
                          const umbel_bounds_plan *p)
{
    uint64_t keys = a->capacity.n;

    um_report_text(r, "kind", NULL, a->shape.kind);
    um_report_count(r, "reset", "functions to reset", NULL, p->reset);
    um_report_count(r, "set", "functions to set", NULL, p->set);
    um_report_real(r, "bits_per_key", NULL, NULL, p->bits_per_key);
    um_report_rate(r, "fp_bound", "false pos. at most", p->fp_bound);
    um_report_rate(r, "fn_bound", "false neg. at most", p->fn_bound);
    um_report_count(r, "plain_hashes", "bloom: hashes", NULL, p->plain_hashes);
    um_report_real(r, "plain_bits_per_key", "bloom: bits/key", NULL,
                   p->plain_bits_per_key);
    um_report_rate(r, "plain_fill", "bloom: most ones", UMBEL_PLAIN_FILL);
    if (keys) {
        um_report_count(r, "keys", NULL, NULL, keys);
        um_report_count(r, "bits", NULL, NULL,
                        (uint64_t)ceil(p->bits_per_key * (double)keys));
    }
    um_report_note(r,
                   "A plain Bloom filter has the same bound and no false "
                   "negatives, if you refuse it when more than %s of its bits "
                   "are set.",
                   um_rate(UMBEL_PLAIN_FILL).text);
}

umbel_status um_plan_bounds(const um_args *args, umbel_error *err)
{
    const plan_args *a = args->values;
    umbel_bounds_plan plan;
    um_report report = {0};

    if (!um_kind_has(a->shape.kind, "reset"))
        return um_fail(err, UMBEL_E_RANGE,
                       "--fp-bound and --fn-bound are for --kind generalized");
    UM_TRY(umbel_plan_bounds(a->fp_bound.x, a->fn_bound.x, &plan, err));
    UM_TRY(check_size(&plan, a->capacity.n, err));
    report_bounds(&report, a, &plan);
    um_report_print(args, &report);
    um_report_fini(&report);
    return UMBEL_OK;
}
