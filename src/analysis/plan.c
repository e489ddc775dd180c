/*
 * plan.c - computes whichever of keys, error and size is missing from the
 * others.
 */
#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "base/rng.h"
#include "coding/section.h"
#include "filter/envelope.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/experimental/clearing.h>
#include <umbel/experimental/generalized.h>
#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool within(const um_shape *s, uint64_t cells, uint64_t bytes)
{
    um_shape t = *s;
    size_t len;

    t.cells = cells;
    return um_file_len(&t, &len) && len <= bytes;
}

/* Returns the largest number of cells, a multiple of step, whose file has at
 * most that many bytes; 0 if there is none. */
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

/* Sets the cells to the most whole granules that fit. The number of hashes must
 * be known. */
static umbel_status fit_bytes(um_shape *s, uint64_t bytes, umbel_error *err)
{
    uint64_t granule = um_granule(s->addressing, s->hashes);

    s->cells = granule ? cells_within(s, bytes, granule) : 0;
    if (granule && s->cells > um_limit(s->addressing, s->hashes))
        s->cells = um_limit(s->addressing, s->hashes) / granule * granule;
    if (s->kind->built && s->cells)
        return UMBEL_OK; /* the rest depends on the keys */
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
            return um_solve_size(s, err); /* reports what is wrong */
    }
    UM_TRY(bytes && s->hashes ? fit_bytes(s, bytes, err)
                              : um_solve_size(s, err));
    if (bytes)
        UM_TRY(fit_bytes(s, bytes, err));
    if (!ask_keys)
        return UMBEL_OK;
    s->capacity = um_max_keys(s, s->fpr);
    if (bytes && !within(s, s->cells, bytes)) { /* the head is longer now */
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

umbel_status umbel_plan_size(const char *kind, const umbel_params *params,
                             uint64_t bytes, umbel_size_plan *out,
                             umbel_error *err)
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
    *out = (umbel_size_plan){
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

/* Refuses kinds for which the equations do not hold: they assume bits set at
 * random. */
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
        .fp_removed = touched, /* a key is hit with the same probability */
        .fn_gained = touched,  /* whether it is a member or a false positive, */
        .error = um_shape_error(&s, keys) * (1 - touched),
        .members_lost = keys * touched,
        .chi = touched > 0 ? 1 : NAN, /* so their ratio is always 1 */
    };
    return UMBEL_OK;
}

/*
 * Filters for a number of keys that is known only at the end of the input.
 *
 * A large filter is filled and then folded: the result is, bit for bit, that of
 * the right size (except with groups, whose choices depend on the size). A
 * filter can be folded by divisors of its size, so the large size should have
 * many: its number of parts is a product of small primes.
 */

/* A product under construction, and the number of its divisors. */
typedef struct product {
    uint64_t value;
    uint32_t divisors;
} product;

/* Finds the product of small primes in (most * 3/4, most] with the most
 * divisors. */
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

/* Returns the number of parts of a filter of that shape with at most that many
 * cells. */
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
    umbel_size_plan plan;
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
    UM_TRY(umbel_plan_size(kind, &p, bytes, &plan, err));
    s.hashes = p.hashes = plan.hashes;
    p.cells = foldable_cells(&s, plan.cells);
    return umbel_create(kind, &p, out, err);
}

/*
 * Returns the number of keys that were added. Keys that matched already were
 * not counted; if the error is large these are many, and the fill gives a
 * better estimate.
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
    if (!f->capacity) /* keep a requested capacity */
        (*out)->capacity = keys < UM_MAX_CELLS ? keys : UM_MAX_CELLS;
    return UMBEL_OK;
}

/*
 * The filter with the smallest error for its bytes on the wire.
 *
 * A coded filter takes m H(fill) bits instead of m. So a larger and sparser
 * one, with fewer hashes, may have a smaller error for the same number of bytes
 * (Mitzenmacher 2001; survey 2.6). Without a limit on the readers' memory the
 * answer would be one hash and all the memory there is, so there is one. Denser
 * filters, with more hashes, would be as good as sparser ones, but every query
 * would cost more.
 *
 * The coder's models and states add to the entropy, and keys that stay in one
 * block reduce it. The sum of both is measured: random keys (a sample if there
 * are many) are added to a filter, which is coded. The search uses the entropy
 * and the last measurement.
 */

enum {
    FIXED = 32,           /* approximate bytes of a code that do not grow */
    ROUNDS = 8,           /* of measuring */
    SOME_KEYS = 1 << 17,  /* largest sample */
    FEW_KEYS = 1 << 10,   /* smallest sample, if there are as many */
    SOME_CELLS = 1 << 24, /* cells of the largest sample */
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

/* Returns the bytes of the cells if they were coded independently. */
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
    return (double)um_head_size(&full, &(uint64_t){(uint64_t)code}) + code;
}

/* Limits of bytes on the wire and in memory. */
typedef struct bounds {
    uint64_t wire, memory;
    umbel_alloc alloc;
    double extra; /* measured bytes above the entropy */
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

/* Finds the most cells that fit with s->hashes; returns false if none do. */
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

/* Finds the shape with the smallest error by estimated sizes; returns false if
 * none fits. */
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

/* Returns a shape with the same density, but small enough to be coded fast;
 * sparse ones get more keys. */
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
        t.hash = um_hash_row(0); /* any hash will do */
    return t;
}

/*
 * Returns the spread of the size of coded files of one shape in bytes, three
 * standard deviations. It was determined empirically for n keys with k cells
 * each: sqrt(n k) / 4 if cells are independent, and k sqrt(n) / 4 if a key has
 * a block of its own, which makes all its cells cheap or expensive together.
 */
static double spread_of(const um_shape *s)
{
    um_layout l;
    double n = (double)s->capacity, k = s->hashes;

    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    double alone = 1 / (1 + n / (double)l.blocks);
    return sqrt(n * k * (1 + (k - 1) * alone)) / 4;
}

/* Computes an upper bound of the bytes of the coded file, three standard
 * deviations above the measurement. */
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

/* Estimates and measures repeatedly; returns the best shape within the
 * limits. */
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
    umbel_size_plan raw;
    um_shape s = {.capacity = 0};

    UM_TRY(um_params_normalize(params, &raw_params, err));
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
    UM_TRY(umbel_plan_size(kind, &raw_params, 0, &out->plan, err));
    out->wire_bytes = (uint64_t)bytes;
    out->fill = fill_of(&s);
    raw_params.cells = raw_params.hashes = 0;
    out->raw_error =
        umbel_plan_size(kind, &raw_params, wire, &raw, NULL) == UMBEL_OK
            ? raw.error
            : NAN;
    return UMBEL_OK;
}

/*
 * The smallest generalized filter for two error bounds.
 *
 * F_p depends only on k0 and k1, F_n on them and on the bits per key, about 2
 * k0 k1 / (bits per key). So among all pairs whose F_p is small enough, the one
 * with the smallest k0 k1 takes almost the least space; equation (24), solved
 * by bisection, decides exactly.
 *
 * For comparison, the plain filter that a receiver checks by its fill: with at
 * most a fraction t of ones, a fraction t^k of the keys that its author did not
 * foresee match. At its best, half full, it takes k / ln 2 bits per key.
 */

enum { MOST = 32 };

/* (k0, k1) and (k1, k0) need the same space; rounding must not decide between
 * them. */
#define TIE 1e-9

/* Returns the fewest bits per key that keep F_n, or INFINITY if no number
 * does. */
static double bits_for(uint32_t reset, uint32_t set, double fn_bound)
{
    double low = 0, high = 1;

    while (umbel_generalized_fn_bound(reset, set, high) > fn_bound) {
        high *= 2;
        if (high > 1e18)
            return INFINITY;
    }
    for (int i = 0; i < 100; i++) {
        double mid = (low + high) / 2;
        if (umbel_generalized_fn_bound(reset, set, mid) > fn_bound)
            low = mid;
        else
            high = mid;
    }
    return high;
}

static void consider(uint32_t reset, uint32_t set, double fp_bound,
                     double fn_bound, umbel_bounds_plan *best)
{
    if (umbel_generalized_fp_bound(reset, set) > fp_bound)
        return;
    double bits = bits_for(reset, set, fn_bound);
    if (bits < best->bits_per_key * (1 - TIE)) {
        best->reset = reset;
        best->set = set;
        best->bits_per_key = bits;
    }
}

static uint32_t plain_hashes(double fp_bound)
{
    uint32_t k = 1;

    while (pow(UMBEL_PLAIN_FILL, k) > fp_bound)
        k++;
    return k;
}

static umbel_status want_share(const char *name, double bound, umbel_error *err)
{
    if (!(bound > 0 && bound < 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "%s must lie between 0 and 1, got %g", name, bound);
    return UMBEL_OK;
}

umbel_status umbel_plan_bounds(double fp_bound, double fn_bound,
                               umbel_bounds_plan *out, umbel_error *err)
{
    umbel_bounds_plan best = {.bits_per_key = INFINITY};
    double least = umbel_generalized_fp_bound(MOST, MOST);

    UM_TRY(want_share("fp_bound", fp_bound, err));
    UM_TRY(want_share("fn_bound", fn_bound, err));
    for (uint32_t reset = 1; reset <= MOST; reset++)
        for (uint32_t set = 1; set <= MOST; set++)
            consider(reset, set, fp_bound, fn_bound, &best);
    if (fp_bound < least)
        return um_fail(err, UMBEL_E_RANGE,
                       "fp_bound %g takes more than %d + %d functions: ask for "
                       "%.2g or more",
                       fp_bound, MOST, MOST, least);
    if (isinf(best.bits_per_key))
        return um_fail(err, UMBEL_E_RANGE,
                       "no size keeps fn_bound %g: ask for more", fn_bound);
    best.fp_bound = umbel_generalized_fp_bound(best.reset, best.set);
    best.fn_bound =
        umbel_generalized_fn_bound(best.reset, best.set, best.bits_per_key);
    best.plain_hashes = plain_hashes(fp_bound);
    best.plain_bits_per_key = best.plain_hashes / log(2);
    *out = best;
    return UMBEL_OK;
}

/*
 * Bounds of a generalized filter that hold for any bits, even untrusted ones.
 */

umbel_status umbel_bounds_of(const umbel_filter *f, umbel_bounds *out,
                             umbel_error *err)
{
    if (!f->kind->bounds)
        return um_cannot(f, "bound its errors", err);
    f->kind->bounds(f->self, out);
    return UMBEL_OK;
}

umbel_status umbel_set_cells(umbel_filter *f, const void *bits, size_t len,
                             umbel_error *err)
{
    size_t want = (size_t)((f->layout.cells + 7) / 8);

    if (!f->kind->bounds)
        return um_cannot(f, "start from given bits", err);
    if (len != want)
        return um_fail(err, UMBEL_E_RANGE,
                       "a filter of this size starts from %zu bytes, got %zu",
                       want, len);
    UM_TRY(umbel_clear(f, err));
    memcpy(f->payload, bits, len);
    um_clear_padding(f);
    return UMBEL_OK;
}
