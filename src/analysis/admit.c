/*
 * admit.c - checks a filter from outside against its receiver's demands.
 *
 * The claimed number of keys determines how full a filter should be;
 * occupancy.c bounds how far chance may take it from there, as a whole and in
 * each block. The probability that an arbitrary key matches is the mean over
 * blocks of the block's own probability. It follows from the cells, without
 * trusting any claim, and is compared with the receiver's limit. Addressings
 * whose cells depend on each other are sampled as well (analysis.h).
 *
 * For kinds in which each key has an entry, the number of entries is checked:
 * it must equal the number in the head, and a claim may exceed it by keys that
 * share an entry.
 *
 * The number in the head counts keys that were new. Other keys matched already
 * and changed nothing, so there may have been more. A key matches with the
 * probability e given by the cells at that moment, which is at most that of the
 * cells now. So for any x > 0, with n keys of which M matched, exp(x M -
 * (exp(x) - 1) n e) has a mean of at most 1, which bounds M. max_keys uses the
 * best of some x.
 *
 * The cost does not depend on the content of the cells. Each step is charged,
 * before it starts, the largest number of cells that it may read. Passes over
 * all cells are within the limit for every shape. A sample stops at the limit,
 * and a filter that is not certain by then is refused.
 *
 * An honest filter is refused with at most this probability:
 *
 *   for each claim (the receiver's, the head's)
 *     more keys than max_keys                  1e-10
 *     cells in use, above and below             1e-10 each
 *     any of its blocks                         1e-12
 *   for an error that its shape keeps           1e-10, and 1e-12 for blocks
 *                                        in all below 1e-9
 */

#include "analysis/analysis.h"
#include "base/batch.h"
#include "base/error.h"
#include "base/rng.h"
#include "filter/envelope.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/diff.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Certifies a false positive rate by querying random keys.
 */

#define DOUBT (1e-10 / STAGES)
enum { EXPECTED = 400, MAX_ASKED = 1 << 24, STAGES = 5 };

double um_max_error(double max_error)
{
    return fmin(2 * max_error, (1 + max_error) / 2);
}

static um_rng rng_of(const umbel_filter *f)
{
    uint8_t name[UMBEL_CONTENT_LEN];

    umbel_content_name(f, name);
    return (um_rng){um_load64(name)};
}

/* Returns the digest of a random key; integers are their own digests. */
static umbel_digest random_digest(const um_hash *hash, um_rng *rng)
{
    if (hash->identity)
        return (umbel_digest){um_random_below(rng, UM_INTEGER_PRIME), 0};
    uint64_t lo = um_random(rng);
    return (umbel_digest){lo,
                          hash->entropy > 64 ? um_random(rng) : um_remix(lo)};
}

/* Numbers of hashes after which most keys can be dropped. */
enum { FIRST_HASHES = 2, MORE_HASHES = 6 };

static bool are_set(const uint8_t *cells, const uint64_t *pos, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!um_bit(cells, pos[i]))
            return false;
    return true;
}

/*
 * Drops keys whose first cells are not all in use. These are most keys, and
 * computing the other positions takes the most time. The addressings that are
 * sampled compute one cell after the other, so a layout with fewer hashes gives
 * the first cells. Each position counts as a read, because computing it takes
 * longer.
 */
static size_t retain_likely(const umbel_filter *f, umbel_digest d[UM_BATCH],
                            size_t n, uint32_t hashes, uint64_t *reads)
{
    const um_row_bits *bits = f->kind->bits;
    um_layout l = f->layout;
    uint64_t pos[UM_BATCH * MORE_HASHES];
    size_t kept = 0;

    if (!um_has_bits(f->kind) || bits->groups(f->self) > 1 ||
        l.hashes <= hashes)
        return n;
    l.hashes = hashes;
    l.row->positions(&l, d, n, pos);
    *reads += n * hashes;
    for (size_t i = 0; i < n; i++)
        if (are_set(bits->cells(f->self), pos + i * hashes, hashes))
            d[kept++] = d[i];
    return kept;
}

static uint64_t query_within(const umbel_filter *f, const umbel_digest *d,
                             size_t n, bool *hit, uint64_t limit)
{
    const um_kind *kind = f->kind;

    return kind->query_within ? kind->query_within(f->self, d, n, hit, limit)
                              : um_query_priced(kind->query, f->self, d, n, hit,
                                                f->layout.hashes, limit);
}

/* Queries n random keys, unless that takes more reads than are left. */
static void ask_batch(const umbel_filter *f, um_rng *rng, size_t n,
                      um_sample *s)
{
    umbel_digest d[UM_BATCH] = {{0, 0}};
    bool hit[UM_BATCH];

    s->spent = s->limit - s->reads < n * (FIRST_HASHES + MORE_HASHES);
    if (s->spent)
        return;
    for (size_t i = 0; i < n; i++)
        d[i] = random_digest(f->hasher.row, rng);
    size_t kept = retain_likely(f, d, n, FIRST_HASHES, &s->reads);
    kept = retain_likely(f, d, kept, MORE_HASHES, &s->reads);
    uint64_t left = s->limit - s->reads;
    uint64_t reads = query_within(f, d, kept, hit, left);
    s->spent = reads > left;
    s->reads += s->spent ? left : reads;
    for (size_t i = 0; i < kept && !s->spent; i++)
        s->hits += hit[i];
    s->asked += s->spent ? 0 : n;
}

/* Returns true if at most `hits` hits are too improbable, where `mean` were
 * expected (Chernoff). */
static bool is_certain(double hits, double mean)
{
    double rest = hits > 0 ? hits * log(hits / mean) : 0;

    return hits < mean && mean - hits + rest >= -log(DOUBT);
}

/* Queries a sample in stages, since a part of it is often conclusive either
 * way. */
static um_sample certify(const umbel_filter *f, double max_error,
                         uint64_t limit)
{
    um_sample s = {.limit = limit};
    um_rng rng = rng_of(f);
    double most = um_max_error(max_error), room = most - max_error;
    double enough = EXPECTED * max_error / (room * room);
    uint64_t all = (uint64_t)fmin(enough, MAX_ASKED);

    for (int i = STAGES - 1; i >= 0 && !s.certain && !s.spent; i--) {
        while (s.asked < all >> i && !s.spent)
            ask_batch(f, &rng, um_next_batch((size_t)((all >> i) - s.asked)),
                      &s);
        s.certain = is_certain((double)s.hits, (double)s.asked * most);
        if (!is_certain((double)s.hits, (double)all * most))
            break;
    }
    return s;
}

#define CHANCE 1e-10
/* A filter that matches every second key is useless. */
#define DEFAULT_MAX_ERROR 0.5

/* Deviations up to this many standard deviations are accepted without computing
 * a bound. */
#define USUAL 3.0

typedef struct judging {
    const umbel_filter *f;
    const umbel_admission *wants;
    umbel_ruling *out;
    um_bits_look cells;
    uint64_t reads; /* cells read so far */
    uint64_t used;  /* number of cells or entries in use */
    bool bounded;   /* n keys use at most a known number of cells */
    bool chance;    /* ... and deviate from the mean only by chance */
    bool counted;   /* each key has an entry; used is their number */
    bool doubted;   /* a claim was refused */
    double most;    /* keys, by the claims that were checked; INFINITY: none */
} judging;

/* Adds a reason to refuse the filter. */
static void add_reason(umbel_ruling *out, umbel_refusal code, const char *text)
{
    umbel_reason *r = &out->reason[out->n];

    out->admitted = false;
    if (out->n == UMBEL_MAX_REASONS)
        return;
    r->code = code;
    memcpy(r->text, text, sizeof r->text);
    out->n++;
}

#define refuse(out, code, ...)                                                 \
    do {                                                                       \
        umbel_error reason_;                                                   \
        um_set_error(&reason_, UMBEL_OK, __VA_ARGS__);                         \
        add_reason(out, code, reason_.text);                                   \
    } while (0)

/* --- demands -------------------------------------------------------------- */

static bool some_kind_has(const char *addressing)
{
    for (size_t i = 0; um_kind_row(i); i++)
        if (um_kind_addressing(um_kind_row(i), addressing))
            return true;
    return false;
}

static umbel_status check_names(const umbel_admission *w, umbel_error *err)
{
    if (w->kind && !um_kind_find(w->kind))
        return um_fail(err, UMBEL_E_UNKNOWN, "there is no kind \"%.40s\"",
                       w->kind);
    if (w->addressing && !some_kind_has(w->addressing))
        return um_fail(err, UMBEL_E_UNKNOWN, "there is no addressing \"%.40s\"",
                       w->addressing);
    if (w->hash && !um_hash_find(w->hash))
        return um_fail(err, UMBEL_E_UNKNOWN, "there is no hash \"%.40s\"",
                       w->hash);
    return UMBEL_OK;
}

/* Checks the demands, and replaces NULL by no demands. E_RANGE or E_UNKNOWN if
 * they make no sense. */
static umbel_status check_admission(const umbel_admission **wants,
                                    umbel_error *err)
{
    static const umbel_admission none = UMBEL_ADMISSION_INIT;

    if (!*wants)
        *wants = &none;
    /* This is the first version; later ones will check size for their
     * fields. */
    if ((*wants)->size < sizeof(umbel_admission))
        return um_fail(err, UMBEL_E_RANGE,
                       "admission.size is not set: start from "
                       "UMBEL_ADMISSION_INIT");
    if (!((*wants)->max_error >= 0 && (*wants)->max_error <= 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "the error allowed must lie between 0 and 1, got %g",
                       (*wants)->max_error);
    return check_names(*wants, err);
}

/* Starts a ruling, which admits the filter so far. */
static umbel_ruling ruling_begin(const umbel_admission *wants)
{
    return (umbel_ruling){.admitted = true,
                          .fill = NAN,
                          .error = NAN,
                          .max_error = wants->max_error > 0 ? wants->max_error
                                                            : DEFAULT_MAX_ERROR,
                          .claimed = wants->claimed};
}

/* Checks the size. Returns false if the filter is refused for it. */
static bool hold_bytes(const umbel_admission *wants, uint64_t bytes,
                       umbel_ruling *out)
{
    out->bytes = bytes;
    if (!wants->max_bytes || bytes <= wants->max_bytes)
        return true;
    refuse(out, UMBEL_REFUSED_BYTES,
           "it has %" PRIu64 " bytes, more than the %" PRIu64 " allowed", bytes,
           wants->max_bytes);
    return false;
}

static void hold_name(umbel_ruling *out, umbel_refusal code, const char *what,
                      const char *want, const char *got)
{
    if (want && strcmp(want, got) != 0)
        refuse(out, code, "its %s is %s, not %s", what, got, want);
}

static void hold_secret(const um_shape *s, uint64_t want, umbel_ruling *out)
{
    if (!want || s->secret_id == want)
        return;
    if (!s->hash->keyed)
        refuse(out, UMBEL_REFUSED_SECRET,
               "it has no secret key, its hash is %s: not made with key "
               "%016" PRIx64,
               s->hash->name, want);
    else
        refuse(out, UMBEL_REFUSED_SECRET,
               "it was made with secret key %016" PRIx64
               ", not with %016" PRIx64,
               s->secret_id, want);
}

static void hold_shape(judging *j)
{
    const um_shape *s = um_shape_of(j->f);
    const umbel_admission *w = j->wants;

    hold_bytes(w, umbel_encoded_len(j->f), j->out);
    hold_name(j->out, UMBEL_REFUSED_KIND, "kind", w->kind, s->kind->name);
    hold_name(j->out, UMBEL_REFUSED_ADDRESSING, "addressing", w->addressing,
              s->addressing->name);
    hold_name(j->out, UMBEL_REFUSED_HASH, "hash", w->hash, s->hash->name);
    hold_secret(s, w->secret_id, j->out);
}

/* --- cells ---------------------------------------------------------------- */

uint64_t um_max_reads(const umbel_filter *f)
{
    return (uint64_t)f->payload_len * UM_ADMIT_BYTE + UM_ADMIT_READS;
}

/* Passes for the error and for entries, and the digest that seeds a sample. */
_Static_assert(2 * UM_PASS_READS + 1 <= UM_ADMIT_BYTE,
               "every shape can be read");
_Static_assert(2 * (UM_PASS_CLASSES + UM_PASS_ENDS) < UM_ADMIT_READS,
               "with the ends, and the classes of two sections");

/* Charges a pass over all cells. */
static void charge_pass(judging *j)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = j->f->kind->sections(um_shape_of(j->f), section);

    j->reads += (uint64_t)j->f->payload_len * UM_PASS_READS + UM_PASS_ENDS;
    for (size_t i = 0; um_classes(&j->f->layout, NULL) && i < n; i++)
        if (section[i].cells == j->f->layout.cells)
            j->reads += UM_PASS_CLASSES;
}

/*
 * Determines the number of cells in use, and whether they are those of a Bloom
 * filter of the keys, in which chance alone decides which.
 */
static void look_at_cells(judging *j)
{
    const um_shape *s = um_shape_of(j->f);

    charge_pass(j);
    if (s->kind->bits) {
        s->kind->bits->look(j->f->self, &j->cells);
        j->used = j->cells.used;
        j->out->fill = (double)j->used / (double)s->cells;
    }
    if (s->kind->entries) {
        charge_pass(j);
        j->used = s->kind->entries(j->f->self);
    }
    j->counted = s->kind->entries != NULL;
    j->bounded = s->kind->bits && !s->difference;
    j->chance = j->bounded && um_used_by_chance(j->f) && !s->hash->identity;
    j->out->error = s->kind->bits ? j->cells.error : umbel_predict(j->f);
}

/* --- claims --------------------------------------------------------------- */

/* Returns an upper bound of the number of keys of which `claimed` were new, if
 * a key matches with probability error. */
static double max_keys(double claimed, double error)
{
    enum { FIRST = -10, LAST = 4 };
    double least = INFINITY, ln = log((LAST - FIRST + 1) / CHANCE);

    for (int i = FIRST; i <= LAST; i++) {
        double x = ldexp(1, i), share = 1 - error * expm1(x) / x;
        if (share > 0)
            least = fmin(least, (claimed + ln / x) / share);
    }
    return floor(least);
}

static void refuse_fill(judging *j, umbel_refusal code, const char *who,
                        uint64_t claimed)
{
    j->doubted = true;
    refuse(j->out, code,
           "%.4g %% of its cells are in use, too %s for the %" PRIu64
           " keys %s: these use about %.4g %%",
           100 * j->out->fill, code == UMBEL_REFUSED_TOO_FULL ? "many" : "few",
           claimed, who, 100 * um_model_fill(&j->f->layout, (double)claimed));
}

static bool is_unusual(const um_layout *l, double keys, double used)
{
    double mean = um_model_fill(l, keys) * (double)l->cells;
    double variance = um_model_covariance(l, keys, keys, keys);

    return used > mean + USUAL * sqrt(fmax(variance, 0));
}

/* Returns true if a block is fuller than usual. The variance of its cells comes
 * from its load and from its cells. */
static bool is_unusual_block(const um_layout *l, double keys, double used)
{
    double size = (double)l->cells / (double)l->blocks;
    double fill = um_model_fill(l, keys), load = keys / (double)l->blocks;
    double slope = l->hashes * (1 - fill);

    return used > size * fill + USUAL * sqrt(slope * slope * load +
                                             size * fill * (1 - fill));
}

static void refuse_block(judging *j, const char *who, uint64_t claimed)
{
    const um_layout *l = &j->f->layout;

    j->doubted = true;
    refuse(j->out, UMBEL_REFUSED_BLOCK,
           "block %" PRIu64 " of %" PRIu64 " has %" PRIu64 " of its %" PRIu64
           " cells in use: more than chance puts there with the %" PRIu64
           " keys %s",
           j->cells.fullest, l->blocks, j->cells.in_block, l->cells / l->blocks,
           claimed, who);
}

/*
 * Returns the cells in use, minus those that coincidences would have saved.
 * With digests of 64 bits, cells of the same key coincide less often than
 * random ones, because the words that an addressing derives are not
 * independent. In a filter with few keys per block this is noticeable, so it is
 * subtracted in any case.
 */
static uint64_t used_at_least(const judging *j, double keys)
{
    const um_layout *l = &j->f->layout;
    double own = l->throws;
    double pairs = l->lanes * own * (own - 1) / 2 + l->extra * own;
    double spared = keys * pairs / (double)l->width;

    if (j->f->hasher.row->entropy > 64)
        return j->used;
    return (double)j->used > spared ? j->used - (uint64_t)spared : 0;
}

static umbel_status hold_above(judging *j, double most, const char *who,
                               uint64_t claimed, umbel_error *err)
{
    const um_layout *l = &j->f->layout;
    double limit = log(UM_TAIL_BLOCKS / (double)l->blocks);
    uint64_t used = used_at_least(j, most);
    bool all = is_unusual(l, most, (double)used);
    bool block =
        l->blocks > 1 && is_unusual_block(l, most, (double)j->cells.in_block);
    um_occupancy t;

    if (!all && !block)
        return UMBEL_OK;
    UM_TRY(um_occupancy_init(&t, l, most, &j->f->alloc, err));
    if (all && um_occupancy_above(&t, used) < log(CHANCE))
        refuse_fill(j, UMBEL_REFUSED_TOO_FULL, who, claimed);
    if (block && um_occupancy_block(&t, j->cells.in_block) < limit)
        refuse_block(j, who, claimed);
    um_occupancy_fini(&t);
    return UMBEL_OK;
}

static umbel_status hold_by_chance(judging *j, const char *who,
                                   uint64_t claimed, umbel_error *err)
{
    const um_shape *s = um_shape_of(j->f);
    double keys = (double)claimed, most = max_keys(keys, j->out->error);
    double few = um_occupancy_below(&j->f->layout, keys, j->used);

    j->most = fmin(j->most, most);
    if (!s->false_negatives && few < log(CHANCE))
        refuse_fill(j, UMBEL_REFUSED_TOO_EMPTY, who, claimed);
    return s->intersected ? UMBEL_OK : hold_above(j, most, who, claimed, err);
}

/* Checks a claim. A new key uses between one cell and one for each hash. */
static umbel_status hold_claim(judging *j, const char *who, uint64_t claimed,
                               umbel_error *err)
{
    const um_shape *s = um_shape_of(j->f);

    j->out->claim_checked = true;
    if (!s->intersected &&
        j->used / s->hashes + (j->used % s->hashes > 0) > claimed) {
        refuse_fill(j, UMBEL_REFUSED_TOO_FULL, who, claimed);
        return UMBEL_OK;
    }
    return j->chance && claimed ? hold_by_chance(j, who, claimed, err)
                                : UMBEL_OK;
}

static void refuse_entries(judging *j, uint64_t claimed, const char *who)
{
    bool many = j->used > claimed;

    j->doubted = true;
    refuse(j->out, many ? UMBEL_REFUSED_TOO_FULL : UMBEL_REFUSED_TOO_EMPTY,
           "it has %" PRIu64 " entries, too %s for the %" PRIu64 " keys %s",
           j->used, many ? "many" : "few", claimed, who);
}

/*
 * Checks the number of entries. The head counts entries; the receiver counts
 * keys, some of which may share an entry with an earlier one.
 */
static void hold_entries(judging *j)
{
    const um_shape *s = um_shape_of(j->f);
    uint64_t claimed = j->wants->claimed;

    j->out->claim_checked = true;
    j->most = max_keys((double)j->used, j->out->error);
    if (claimed && (j->used > claimed || (double)claimed > j->most))
        refuse_entries(j, claimed, "claimed");
    if (!claimed)
        j->out->claimed = s->added;
    if (s->added != j->used)
        refuse_entries(j, s->added, "in its head");
}

static umbel_status hold_claims(judging *j, umbel_error *err)
{
    const um_shape *s = um_shape_of(j->f);
    uint64_t claimed = j->wants->claimed;

    if (j->counted) {
        hold_entries(j);
        return UMBEL_OK;
    }
    if (claimed && !j->bounded)
        refuse(j->out, UMBEL_REFUSED_UNCONFIRMED,
               s->difference
                   ? "a difference of refined counts (kind %s) does not tell "
                     "its keys: their number cannot be held against it"
                   : "cells of kind %s do not tell its keys: their number "
                     "cannot be held against it, only its error",
               s->kind->name);
    if (claimed && j->bounded)
        UM_TRY(hold_claim(j, "claimed", claimed, err));
    if (!j->bounded || s->estimated || (claimed && s->added == claimed))
        return UMBEL_OK;
    if (!claimed)
        j->out->claimed = s->added;
    return hold_claim(j, "in its head", s->added, err);
}

/* --- the error limit ------------------------------------------------------ */

/* Returns true if the error is within the usual spread, at least that of
 * independent blocks whose errors have the mean. */
static bool is_usual_error(const um_layout *l, double keys, double error)
{
    double over = error / um_model_error(l, keys) - 1;

    return over * over * (double)l->blocks < USUAL * USUAL;
}

/*
 * Decides whether the filter keeps the demanded error on average. Filters made
 * for an error exceed it about as often as not. One that keeps it on average,
 * for its keys, may exceed it by what chance explains, up to twice. With a
 * single block the fill explains it, which was checked already.
 */
static umbel_status keeps_on_average(const judging *j, bool *out,
                                     umbel_error *err)
{
    const um_layout *l = &j->f->layout;
    um_occupancy t;

    *out = false;
    if (!(j->chance || j->counted) || j->doubted || isinf(j->most) ||
        j->f->intersected || j->out->error > um_max_error(j->out->max_error) ||
        um_shape_error(um_shape_of(j->f), (double)j->out->claimed) >
            j->out->max_error)
        return UMBEL_OK;
    *out = true;
    if (j->counted || l->blocks == 1 ||
        is_usual_error(l, j->most, j->out->error))
        return UMBEL_OK;
    UM_TRY(um_occupancy_init(&t, l, j->most, &j->f->alloc, err));
    *out = um_occupancy_error(&t, j->out->error) >= log(CHANCE);
    um_occupancy_fini(&t);
    return UMBEL_OK;
}

/* Error limit from which on a sample proves nothing. */
static const double ANYTHING = 0.99;

/* Checks a sample: cells that depend on each other have a larger error than the
 * fill suggests. */
static void hold_sample(judging *j)
{
    const um_layout *l = &j->f->layout;

    if (!l->row->dependent || j->out->max_error >= ANYTHING)
        return;
    j->reads += j->f->payload_len; /* its digest seeds the sample */
    uint64_t left = um_max_reads(j->f) - j->reads;
    um_sample s = certify(j->f, j->out->max_error,
                          left < UM_ADMIT_READS ? left : UM_ADMIT_READS);
    j->reads += s.reads;
    if (s.spent && !s.certain)
        refuse(j->out, UMBEL_REFUSED_COST,
               "%" PRIu64 " reads of cells, all that admission spends on a "
               "sample, do not make it certain that it matches at most "
               "%.4g %% of the keys that are not in it: allow a larger error, "
               "or ask for another kind",
               s.reads, 100 * um_max_error(j->out->max_error));
    else if (!s.certain)
        refuse(j->out, UMBEL_REFUSED_ERROR,
               "%" PRIu64 " of %" PRIu64 " sampled keys match, and cells of "
               "addressing %s may depend on each other: it is not certain to "
               "match at most %.4g %% of the keys that are not in it",
               s.hits, s.asked, l->row->name,
               100 * um_max_error(j->out->max_error));
}

static umbel_status hold_error(judging *j, umbel_error *err)
{
    bool kept = true;

    if (!j->f->kind->admissible || isnan(j->out->error)) {
        refuse(j->out, UMBEL_REFUSED_UNCONFIRMED,
               "cells of kind %s do not tell how often it errs: it cannot be "
               "held against the error allowed",
               j->f->kind->name);
        return UMBEL_OK;
    }
    if (j->out->error > j->out->max_error)
        UM_TRY(keeps_on_average(j, &kept, err));
    if (kept)
        hold_sample(j);
    else
        refuse(j->out, UMBEL_REFUSED_ERROR,
               "it matches %.4g %% of the keys that are not in it, more than "
               "the %.4g %% allowed",
               100 * j->out->error, 100 * j->out->max_error);
    return UMBEL_OK;
}

/* --- admission of a filter ------------------------------------------------ */

umbel_status um_admit_counted(const umbel_filter *f,
                              const umbel_admission *wants, umbel_ruling *out,
                              uint64_t *reads, umbel_error *err)
{
    UM_TRY(check_admission(&wants, err));
    umbel_ruling ruling = ruling_begin(wants);
    judging j = {.f = f, .wants = wants, .out = &ruling, .most = INFINITY};

    ruling.has_false_negatives = umbel_has_false_negatives(f);
    ruling.known_false_negatives = f->false_negatives;
    hold_shape(&j);
    look_at_cells(&j);
    UM_TRY(hold_claims(&j, err));
    UM_TRY(hold_error(&j, err));
    *out = ruling;
    *reads = j.reads;
    return UMBEL_OK;
}

umbel_status umbel_admit(const umbel_filter *f, const umbel_admission *wants,
                         umbel_ruling *out, umbel_error *err)
{
    uint64_t reads;

    return um_admit_counted(f, wants, out, &reads, err);
}

/*
 * Admission from the first byte on: size, encoding, content.
 *
 * Cheap refusals come first: a head is checked before memory is allocated for
 * it, and the length of a file before it is read.
 */

/* Returns true if the failure is due to the bytes, not to this machine. */
static bool is_their_fault(umbel_status status)
{
    return status == UMBEL_E_FORMAT || status == UMBEL_E_VERSION ||
           status == UMBEL_E_CHECKSUM || status == UMBEL_E_UNKNOWN ||
           status == UMBEL_E_LIMIT || status == UMBEL_E_SECRET;
}

static umbel_refusal code_of(umbel_status status)
{
    return status == UMBEL_E_LIMIT    ? UMBEL_REFUSED_BYTES
           : status == UMBEL_E_SECRET ? UMBEL_REFUSED_SECRET
                                      : UMBEL_REFUSED_ENCODING;
}

/* Admits or refuses the decoded filter, or turns the failure to decode it into
 * a refusal. */
static umbel_status conclude(umbel_status decoded, const umbel_error *refusal,
                             umbel_filter *f, const umbel_admission *wants,
                             umbel_filter **out, umbel_ruling *ruling,
                             umbel_error *err)
{
    if (decoded != UMBEL_OK && !is_their_fault(decoded)) {
        if (err)
            *err = *refusal;
        return decoded;
    }
    if (decoded != UMBEL_OK) {
        add_reason(ruling, code_of(decoded), refusal->text);
        return UMBEL_OK;
    }
    umbel_status status = umbel_admit(f, wants, ruling, err);
    if (status == UMBEL_OK && ruling->admitted && out)
        *out = f;
    else
        umbel_close(f);
    return status;
}

static umbel_status prepare(const umbel_source *given, umbel_source *source,
                            const umbel_admission **wants, umbel_error *err)
{
    UM_TRY(um_check_source(&given, err));
    UM_TRY(check_admission(wants, err));
    *source = *given;
    source->verify = true;
    return UMBEL_OK;
}

/* Returns len or, for UMBEL_TO_END, the remaining bytes of a regular file; 0 if
 * unknown. */
static uint64_t bytes_ahead(int fd, uint64_t len)
{
    struct stat st;

    if (len != UMBEL_TO_END)
        return len;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    off_t at = lseek(fd, 0, SEEK_CUR);
    return at < 0 || at > st.st_size ? 0 : (uint64_t)(st.st_size - at);
}

/* The source of the bytes: memory, or a file descriptor. */
typedef struct origin {
    const void *bytes;
    uint64_t len; /* of a file: may be UMBEL_TO_END */
    bool is_file;
    int fd;
} origin;

static umbel_status admit_from(const origin *o, const umbel_source *given,
                               const umbel_admission *wants, umbel_filter **out,
                               umbel_ruling *ruling, umbel_error *err)
{
    umbel_source source;
    umbel_filter *f = NULL;
    umbel_error refusal = {0};

    UM_TRY(prepare(given, &source, &wants, err));
    uint64_t len = o->is_file ? bytes_ahead(o->fd, o->len) : o->len;
    if (o->is_file && !len && !source.memory_limit)
        source.memory_limit = wants->max_bytes; /* a pipe has no other limit */
    umbel_ruling r = ruling_begin(wants);
    if (hold_bytes(wants, len, &r)) {
        umbel_status decoded =
            o->is_file
                ? umbel_read(o->fd, o->len, &source, &f, &refusal)
                : umbel_decode(o->bytes, (size_t)o->len, &source, &f, &refusal);
        UM_TRY(conclude(decoded, &refusal, f, wants, out, &r, err));
    }
    *ruling = r;
    return UMBEL_OK;
}

umbel_status umbel_admit_bytes(const void *bytes, size_t len,
                               const umbel_source *source,
                               const umbel_admission *wants, umbel_filter **out,
                               umbel_ruling *ruling, umbel_error *err)
{
    origin o = {.bytes = bytes, .len = len};
    return admit_from(&o, source, wants, out, ruling, err);
}

umbel_status umbel_admit_read(int fd, uint64_t len, const umbel_source *source,
                              const umbel_admission *wants, umbel_filter **out,
                              umbel_ruling *ruling, umbel_error *err)
{
    origin o = {.is_file = true, .fd = fd, .len = len};
    return admit_from(&o, source, wants, out, ruling, err);
}
