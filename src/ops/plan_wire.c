/*
 * plan_wire.c - the filter that errs least for its bytes on the wire.
 *
 * Coded, a filter takes m H(fill) bits and not m. So a larger and sparser one,
 * with fewer hashes, may err less at the same number of bytes (Mitzenmacher
 * 2001; survey 2.6). Without a bound the answer is one hash and as much memory
 * as there is: readers' memory is part of the question. Denser ones, with more
 * hashes, would do as well as sparser ones, but every query would pay for it.
 */
#include "base/error.h"
#include "coding/code.h"
#include "filter/coded.h"
#include "filter/sizing.h"

#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>

/* Our code takes at most this much more than the entropy of large filters, */
#define LOSS 0.002
/* and a model, states, the filling of a line. */
enum { EXTRA = 320 };

/* Single bits that keys only ever set: there the model tells the fill. */
static umbel_status want_bits(const um_shape *s, umbel_error *err)
{
    if (!s->kind->bits)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "bytes on the wire are planned for bloom filters, not "
                       "for kind %s: build it with --coded and look",
                       s->kind->name);
    return UMBEL_OK;
}

static double fill_of(const um_shape *s)
{
    um_layout l;

    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    return um_model_fill(&l, (double)s->capacity);
}

/* Of the coded file, rather too many than too few. */
static double wire_of(const um_shape *s)
{
    double m = (double)s->cells, p = fill_of(s), bits = 0;
    size_t raw = 0, payload = 0;

    um_file_len(s, &raw);
    um_payload_len(s, &payload);
    if (p > 0 && p < 1)
        bits = -m * (p * log2(p) + (1 - p) * log2(1 - p));
    double coded = ceil(bits / 8 * (1 + LOSS)) + EXTRA;
    double plain = (double)payload + UM_SECTION_ALIGN;
    return (double)(raw - payload) + fmin(coded, plain);
}

/* The question: bytes on the wire, bytes in memory. */
typedef struct bounds {
    uint64_t wire, memory;
} bounds;

static bool fits(um_shape *s, uint64_t cells, const bounds *b)
{
    size_t raw;

    s->cells = cells;
    return um_file_len(s, &raw) && raw <= b->memory &&
           wire_of(s) <= (double)b->wire;
}

/* The largest that fits with so many hashes; false when none does. */
static bool grow(um_shape *s, const bounds *b)
{
    uint64_t granule = s->addressing->granule(s->hashes);

    if (!granule)
        return false;
    uint64_t low = 0, high = s->addressing->limit(s->hashes) / granule;
    while (low < high) {
        uint64_t mid = low + (high - low + 1) / 2;
        if (fits(s, mid * granule, b))
            low = mid;
        else
            high = mid - 1;
    }
    s->cells = low * granule;
    return low > 0 && um_check_shape(s, NULL) == UMBEL_OK;
}

static umbel_status find_best(um_shape *s, const bounds *b, umbel_error *err)
{
    um_shape best = *s, t = *s;
    double least = 2;
    uint32_t first = s->hashes ? s->hashes : 1;
    uint32_t last = s->hashes ? s->hashes : UM_MAX_HASHES;

    for (t.hashes = first; t.hashes <= last; t.hashes++) {
        if (!grow(&t, b) || fill_of(&t) > 0.5)
            continue;
        double error = um_shape_error(&t, (double)t.capacity);
        if (error < least) {
            least = error;
            best = t;
        }
    }
    if (least > 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " bytes on the wire and %" PRIu64
                       " in memory hold no such filter: allow more bytes, or "
                       "plan for fewer keys",
                       b->wire, b->memory);
    *s = best;
    return UMBEL_OK;
}

umbel_status umbel_plan_wire(const char *kind, const umbel_params *params,
                             uint64_t wire, uint64_t memory,
                             umbel_wire_plan *out, umbel_error *err)
{
    bounds b = {wire, memory ? memory : UM_CODED_LIMIT};
    umbel_params raw_params;
    umbel_plan raw;
    um_shape s;

    umbel_status status = um_shape_from_params(kind, params, &s, err);
    if (status == UMBEL_OK)
        status = want_bits(&s, err);
    if (status == UMBEL_OK && (!s.capacity || s.cells))
        status = um_fail(err, UMBEL_E_RANGE,
                         "say how many keys, and no size beside that on the "
                         "wire");
    if (status == UMBEL_OK)
        status = find_best(&s, &b, err);
    if (status != UMBEL_OK)
        return status;
    um_params_take(params, &raw_params, NULL);
    raw_params.cells = s.cells;
    raw_params.hashes = s.hashes;
    status = umbel_make_plan(kind, &raw_params, 0, &out->plan, err);
    if (status != UMBEL_OK)
        return status;
    out->wire_bytes = (uint64_t)wire_of(&s);
    out->fill = fill_of(&s);
    raw_params.cells = raw_params.hashes = 0;
    out->raw_error =
        umbel_make_plan(kind, &raw_params, wire, &raw, NULL) == UMBEL_OK
            ? raw.error
            : NAN;
    return UMBEL_OK;
}
