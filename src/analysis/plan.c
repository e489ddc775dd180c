/*
 * plan.c - any sufficient set of keys, error and size, made complete.
 */
#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/experimental/clearing.h>
#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>

static bool within(const um_shape *s, uint64_t cells, uint64_t bytes)
{
    um_shape t = *s;
    size_t len;

    t.cells = cells;
    return um_file_len(&t, &len) && len <= bytes;
}

/* Most cells of a file of at most bytes, in whole steps. 0: not even one. */
static uint64_t cells_within(const um_shape *s, uint64_t bytes, uint64_t step)
{
    uint64_t low = 0, high = UM_MAX_CELLS / step;

    while (low < high) {
        uint64_t mid = low + (high - low + 1) / 2;
        if (within(s, mid * step, bytes))
            low = mid;
        else
            high = mid - 1;
    }
    return low * step;
}

/* After the hashes are known, sizes go down to whole granules, not up. */
static umbel_status fit_bytes(um_shape *s, uint64_t bytes, umbel_error *err)
{
    uint64_t granule = um_granule(s->addressing, s->hashes);

    s->cells = granule ? cells_within(s, bytes, granule) : 0;
    if (granule && s->cells > um_limit(s->addressing, s->hashes))
        s->cells = um_limit(s->addressing, s->hashes) / granule * granule;
    if (s->kind->built && s->cells)
        return UMBEL_OK; /* what else it has follows from the keys */
    return um_check_shape(s, err);
}

static umbel_status refuse_bytes(const um_shape *s, uint64_t bytes,
                                 umbel_error *err)
{
    um_shape smallest = *s;
    size_t len = 0;

    smallest.cells = 1;
    if (!um_file_len(&smallest, &len))
        return um_fail(err, UMBEL_E_RANGE, "%" PRIu64 " bytes are too few",
                       bytes);
    return um_fail(err, UMBEL_E_RANGE,
                   "%" PRIu64 " bytes are too few: the smallest file takes %zu",
                   bytes, len);
}

static umbel_status start_from_bytes(um_shape *s, uint64_t bytes,
                                     umbel_error *err)
{
    if (s->cells)
        return um_fail(err, UMBEL_E_RANGE,
                       "give the size once: in bits or in bytes");
    s->cells = cells_within(s, bytes, 1);
    return s->cells ? UMBEL_OK : refuse_bytes(s, bytes, err);
}

static umbel_status complete(um_shape *s, uint64_t bytes, umbel_error *err)
{
    bool ask_keys = s->capacity == 0;

    if (bytes)
        UM_TRY(start_from_bytes(s, bytes, err));
    if (!s->cells)
        return um_solve_size(s, err);
    if (ask_keys && !s->hashes) {
        um_max_keys(s, s->fpr);
        if (!s->hashes)
            return um_solve_size(s, err); /* which says what is wrong */
    }
    UM_TRY(bytes && s->hashes ? fit_bytes(s, bytes, err)
                              : um_solve_size(s, err));
    if (bytes)
        UM_TRY(fit_bytes(s, bytes, err));
    if (!ask_keys)
        return UMBEL_OK;
    s->capacity = um_max_keys(s, s->fpr);
    if (bytes && !within(s, s->cells, bytes)) { /* the head has become longer */
        UM_TRY(fit_bytes(s, bytes, err));
        s->capacity = um_max_keys(s, s->fpr);
    }
    return UMBEL_OK;
}

static double payload_bits(const um_shape *s)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = s->kind->sections(s, section);
    double bits = 0;

    for (size_t i = 0; i < n; i++)
        bits += (double)um_section_bits(&section[i]);
    return bits;
}

static umbel_status answer(const char *kind, const umbel_params *params,
                           uint64_t bytes, um_shape *out, umbel_error *err)
{
    UM_TRY(um_shape_from_params(kind, params, out, err));
    if (out->kind->built)
        out->kind->built->plan_hints(out, 0);
    return complete(out, bytes, err);
}

umbel_status umbel_make_plan(const char *kind, const umbel_params *params,
                             uint64_t bytes, umbel_plan *out, umbel_error *err)
{
    um_shape s;
    size_t len;

    UM_TRY(answer(kind, params, bytes, &s, err));
    if (!um_file_len(&s, &len))
        return um_fail(err, UMBEL_E_LIMIT, "%" PRIu64 " cells do not fit here",
                       s.cells);
    double keys = (double)s.capacity;
    uint32_t hashes =
        s.kind->built ? s.kind->built->plan_hints(&s, keys) : s.hashes;
    if (!hashes)
        return um_fail(err, UMBEL_E_RANGE,
                       "%zu bytes are too few for %" PRIu64
                       " keys of kind %s: take more than a bit a key",
                       len, s.capacity, s.kind->name);
    *out = (umbel_plan){
        .keys = s.capacity,
        .cells = s.cells,
        .hashes = hashes,
        .bytes = len,
        .bits_per_key = keys > 0 ? payload_bits(&s) / keys : 0,
        .error = um_shape_error(&s, keys),
        .digest_error = um_digest_error(&s, keys),
    };
    return UMBEL_OK;
}

/* The equations speak of bits that keys set by chance. */
static umbel_status want_equations(const um_shape *s, umbel_error *err)
{
    if (!um_has_bits(s->kind) || um_unusual_setting(s))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "what clearing costs is known for kind bloom with one "
                       "group");
    return UMBEL_OK;
}

umbel_status umbel_plan_clearing(const char *kind, const umbel_params *params,
                                 uint64_t bytes, uint64_t bits, double share,
                                 umbel_clearing *out, umbel_error *err)
{
    um_layout l;
    um_shape s;

    UM_TRY(answer(kind, params, bytes, &s, err));
    UM_TRY(want_equations(&s, err));
    um_layout_init(&l, s.addressing, s.cells, s.hashes, s.seed);
    double keys = (double)s.capacity, k = s.hashes;
    double set = um_model_fill(&l, keys) * (double)s.cells;
    if (!(share >= 0 && share <= 1) || (bits && share > 0))
        return um_fail(err, UMBEL_E_RANGE,
                       "say bits to clear, or a share of false positives from "
                       "0 to 1");
    double cleared = bits ? (double)bits : set * -expm1(log1p(-share) / k);
    if (cleared > set)
        return um_fail(err, UMBEL_E_RANGE,
                       "only about %.0f of the bits will be set: clear fewer",
                       set);
    double touched = cleared < set ? -expm1(k * log1p(-cleared / set)) : 1;
    *out = (umbel_clearing){
        .bits_set = set,
        .cleared = cleared,
        .kept = 1 - touched,
        .fp_removed = touched, /* a key is touched with the same chance, */
        .fn_gained = touched,  /* whether it was added or only seems to be, */
        .error = um_shape_error(&s, keys) * (1 - touched),
        .members_lost = keys * touched,
        .chi = touched > 0 ? 1 : NAN, /* so their ratio is always 1 */
    };
    return UMBEL_OK;
}
