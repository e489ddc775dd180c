/*
 * unsized.c - filters for a number of keys that only the end of the input
 * tells.
 *
 * Fill a large one, then fold it: the result is, bit for bit, what the right
 * size would have given (not with groups, whose choices depend on the size).
 * Folding goes by divisors, so the large size is one that has many: the number
 * of parts is a product of small primes.
 */
#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>

/* A size in the making: a product and the number of its divisors. */
typedef struct product {
    uint64_t value;
    uint32_t divisors;
} product;

/* Most divisors among the products of small primes in (most * 3/4, most]. */
static void best_product(product so_far, size_t prime, uint64_t most,
                         product *best)
{
    static const uint64_t primes[] = {2, 3, 5, 7, 11, 13};

    if (so_far.value > most / 4 * 3 && so_far.divisors > best->divisors)
        *best = so_far;
    if (prime == UM_COUNT(primes))
        return;
    product p = so_far;
    for (uint32_t power = 1; p.value <= most; power++) {
        p.divisors = so_far.divisors * power;
        best_product(p, prime + 1, most, best);
        if (p.value > most / primes[prime])
            break;
        p.value *= primes[prime];
    }
}

/* Parts of a filter of that shape with room for cells. */
static uint64_t parts_of(const um_shape *s, uint64_t cells)
{
    um_layout l;
    uint64_t granule = um_granule(s->addressing, s->hashes);

    um_layout_init(&l, s->addressing, cells / granule * granule, s->hashes,
                   s->seed);
    return um_fold_parts(&l);
}

static uint64_t foldable_cells(const um_shape *s, uint64_t most)
{
    uint64_t parts = parts_of(s, most);
    product best = {1, 1};

    if (parts == 0)
        return 0;
    best_product((product){1, 1}, 0, parts, &best);
    uint64_t cells_a_part = most / parts;
    return best.value * cells_a_part;
}

umbel_status umbel_create_unsized(const char *kind, const umbel_params *params,
                                  uint64_t bytes, umbel_filter **out,
                                  umbel_error *err)
{
    static const umbel_params standard = UMBEL_PARAMS_INIT;
    umbel_params p = params ? *params : standard;
    umbel_plan plan;
    um_shape s;

    if (p.exact_size)
        return um_fail(err, UMBEL_E_RANGE,
                       "an exact size needs to know how many keys there will "
                       "be (capacity)");
    if (p.capacity || p.cells)
        return um_fail(err, UMBEL_E_RANGE,
                       "an unsized filter has no capacity and no size");
    UM_TRY(um_shape_from_params(kind, &p, &s, err));
    if (!s.kind->fold)
        return um_fail(
            err, UMBEL_E_UNSUPPORTED,
            "kind %s cannot be folded to size: say how many different "
            "keys there will be (capacity), or how many cells",
            s.kind->name);
    UM_TRY(umbel_make_plan(kind, &p, bytes, &plan, err));
    s.hashes = p.hashes = plan.hashes;
    p.cells = foldable_cells(&s, plan.cells);
    return umbel_create(kind, &p, out, err);
}

/*
 * Keys that seemed to be in already were not counted. Where the error is large
 * that is many, and the fill gives a better estimate of their number.
 */
static uint64_t keys_given(const umbel_filter *f)
{
    uint64_t added = f->added;

    bool few_missed = um_shape_error(um_shape_of(f), (double)added) < 0.01;
    if (few_missed || !f->kind->bits)
        return added;
    double keys = um_keys_behind(f, f->kind->bits->used(f->self, NULL));
    if (!(keys < (double)UM_MAX_CELLS))
        return UM_MAX_CELLS;
    return keys > (double)added ? (uint64_t)ceil(keys) : added;
}

umbel_status umbel_fit(const umbel_filter *f, umbel_filter **out,
                       umbel_error *err)
{
    if (!f->kind->fold)
        return um_cannot_join(f, "fold", err);
    uint64_t keys = keys_given(f);
    uint64_t by = umbel_fold_best(f, keys, f->fpr);
    if (by == 0)
        return um_fail(err, UMBEL_E_LIMIT,
                       "about %" PRIu64 " keys are too many for %zu bytes at "
                       "error %g: allow more memory or more error, or say how "
                       "many keys there will be",
                       keys, f->payload_len, f->fpr);
    UM_TRY(umbel_fold(f, by, out, err));
    if (!f->capacity) /* a capacity that was asked for stays */
        (*out)->capacity = keys < UM_MAX_CELLS ? keys : UM_MAX_CELLS;
    return UMBEL_OK;
}
