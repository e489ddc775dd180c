/*
 * plan_wire.c - the filter that errs least for its bytes on the wire.
 *
 * Coded, a filter takes m H(fill) bits and not m. So a larger and sparser one,
 * with fewer hashes, may err less at the same number of bytes (Mitzenmacher
 * 2001; survey 2.6). Without a bound the answer is one hash and as much memory
 * as there is: readers' memory is part of the question. Denser ones, with more
 * hashes, would do as well as sparser ones, but every query would pay for it.
 *
 * Models and states add to the entropy, and keys that stay in one
 * block take from it. What that comes to is measured: random keys, a sample of
 * them where there are many, go into a filter that is coded. The search is by
 * entropy and what was measured last.
 */
#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "base/rng.h"
#include "coding/code.h"
#include "filter/envelope.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>

enum {
    FIXED = 32,           /* bytes of a code that do not grow, about */
    ROUNDS = 8,           /* of measuring */
    SOME_KEYS = 1 << 17,  /* of a sample, at most */
    FEW_KEYS = 1 << 10,   /* at least, where there are as many */
    SOME_CELLS = 1 << 24, /* of a sample, at most */
};

/* Refuses kinds whose fill the model does not know. */
static umbel_status want_bits(const um_shape *s, umbel_error *err)
{
    if (!um_has_bits(s->kind))
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

/* Bytes that the cells come to, did they not know of each other. */
static double entropy_of(const um_shape *s)
{
    const double ln2 = 0.69314718055994530942;
    double p = fill_of(s);

    if (!(p > 0 && p < 1))
        return 0;
    return -(double)s->cells * (p * log(p) + (1 - p) * log1p(-p)) / ln2 / 8;
}

/* Returns the bytes of a file with that many bytes of code. */
static double file_with(const um_shape *s, double code)
{
    size_t payload = 0;
    um_shape full = *s;

    full.added = s->capacity;
    um_payload_len(s, &payload);
    code = fmax(1, ceil(fmin(code, (double)payload + 1)));
    return (double)um_head_room(&full, &(uint64_t){(uint64_t)code}) + code;
}

/* The question: bytes on the wire, bytes in memory. */
typedef struct bounds {
    uint64_t wire, memory;
    umbel_alloc alloc;
    double extra; /* bytes above the entropy, as measured */
} bounds;

static double guess(const um_shape *s, const bounds *b)
{
    return file_with(s, entropy_of(s) + b->extra);
}

static bool fits(um_shape *s, uint64_t cells, const bounds *b)
{
    size_t raw;

    s->cells = cells;
    return um_file_len(s, &raw) && raw <= b->memory &&
           guess(s, b) <= (double)b->wire;
}

/* Finds the most cells that fit with s->hashes; false when none do. */
static bool grow(um_shape *s, const bounds *b)
{
    uint64_t granule = um_granule(s->addressing, s->hashes);

    if (!granule)
        return false;
    uint64_t low = 0, high = um_limit(s->addressing, s->hashes) / granule;
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

/* The one that errs least, as far as guesses go; false: there is none. */
static bool find_best(um_shape *s, const bounds *b)
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
    *s = best;
    return least <= 1;
}

static umbel_status add_random(umbel_filter *f, uint64_t keys, umbel_error *err)
{
    um_rng r = {1};
    umbel_digest d[UM_BATCH];

    for (uint64_t i = 0, n; i < keys; i += n) {
        n = um_next_batch(keys - i);
        for (uint64_t j = 0; j < n; j++)
            d[j] = (umbel_digest){um_random(&r), um_random(&r)};
        UM_TRY(umbel_add_digests(f, d, (size_t)n, NULL, err));
    }
    return UMBEL_OK;
}

/* As dense, but of a size that is soon coded; sparse ones get more keys. */
static um_shape sample_of(const um_shape *s)
{
    double keys = (double)s->capacity, cells = (double)s->cells;
    uint64_t granule = um_granule(s->addressing, s->hashes);
    double parts = ceil(fmax(keys / SOME_KEYS, cells / SOME_CELLS));
    um_shape t = *s;

    t.cells = (uint64_t)(cells / parts / (double)granule) * granule;
    t.cells = t.cells ? t.cells : granule;
    keys = ceil(keys * ((double)t.cells / cells));
    t.capacity = (uint64_t)fmax(keys, fmin((double)s->capacity, FEW_KEYS));
    if (t.hash->keyed)
        t.hash = um_hash_row(0); /* random is random */
    return t;
}

/*
 * Bytes by which coded files of one shape differ, three sigma, as was found for
 * n keys with k cells each: sqrt(n k) / 4 where the cells are anybody's, and
 * k sqrt(n) / 4 where a key has a block of its own, which makes all its cells
 * cheap or dear together.
 */
static double spread_of(const um_shape *s)
{
    um_layout l;
    double n = (double)s->capacity, k = s->hashes;

    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    double alone = 1 / (1 + n / (double)l.blocks);
    return sqrt(n * k * (1 + (k - 1) * alone)) / 4;
}

/* Bytes of the coded file: at most, but for bad luck, in measuring as well. */
static umbel_status measure(const um_shape *s, const umbel_alloc *alloc,
                            double *out, umbel_error *err)
{
    um_shape t = sample_of(s);
    double times = entropy_of(s) / entropy_of(&t);
    double spread = spread_of(s) * sqrt(1 + times);
    umbel_filter *f;

    UM_TRY(um_filter_create(&t, alloc, &f, err));
    umbel_status status = add_random(f, t.capacity, err);
    um_packed bits = {.at = f->payload, .n = t.cells, .bits = 1};
    double code = (double)um_code_len(&bits, UM_CODE_NOW);
    double fixed = fmin(FIXED, code / 2);
    umbel_close(f);
    *out = file_with(s, fixed + (code - fixed) * times + spread);
    return status;
}

/* Guess, measure, guess again; the best of those that keep the bounds. */
static umbel_status find_measured(um_shape *s, bounds *b, double *bytes,
                                  umbel_error *err)
{
    double least = 2, got;
    um_shape t = *s, best = *s;

    for (int i = 0; i < ROUNDS && find_best(&t, b); i++, t = *s) {
        UM_TRY(measure(&t, &b->alloc, &got, err));
        double error = um_shape_error(&t, (double)t.capacity);
        double off = got - guess(&t, b);
        bool keeps = got <= (double)b->wire;
        if (keeps && error < least) {
            least = error;
            best = t;
            *bytes = got;
        }
        if (keeps && fabs(off) < UM_SECTION_ALIGN)
            break;
        b->extra += off + (keeps ? 0 : i * (4 + (double)b->wire / (1 << 14)));
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
    bounds b = {.wire = wire, .memory = memory ? memory : um_open_limit(wire)};
    double bytes = 0;
    umbel_params raw_params;
    umbel_plan raw;
    um_shape s = {.capacity = 0};

    UM_TRY(um_params_consume(params, &raw_params, err));
    UM_TRY(um_shape_from_params(kind, &raw_params, &s, err));
    UM_TRY(want_bits(&s, err));
    if (!s.capacity || s.cells)
        return um_fail(err, UMBEL_E_RANGE,
                       "say how many keys, and no size beside that on the "
                       "wire");
    b.alloc = um_alloc_or_default(raw_params.alloc);
    UM_TRY(find_measured(&s, &b, &bytes, err));
    raw_params.cells = s.cells;
    raw_params.hashes = s.hashes;
    UM_TRY(umbel_make_plan(kind, &raw_params, 0, &out->plan, err));
    out->wire_bytes = (uint64_t)bytes;
    out->fill = fill_of(&s);
    raw_params.cells = raw_params.hashes = 0;
    out->raw_error =
        umbel_make_plan(kind, &raw_params, wire, &raw, NULL) == UMBEL_OK
            ? raw.error
            : NAN;
    return UMBEL_OK;
}
