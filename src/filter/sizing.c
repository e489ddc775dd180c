/*
 * sizing.c - computes the number of cells and hashes.
 *
 * No closed form holds for every addressing, so sizes are found by bisection on
 * the kind's own error formula, once per number of hashes. A plan takes
 * milliseconds.
 */
#include "filter/sizing.h"

#include "base/bytes.h"
#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *umbel_key_form_name(umbel_key_form form)
{
    static const char *const names[] = {
        "text",   "not recorded", "hexadecimal", "integer", "case-folded text",
        "sha1",   "sha256",       "md5",         "ntlm",    "domain",
        "network"};

    return (unsigned)form < UM_COUNT(names) ? names[form] : NULL;
}

typedef bool name_at(size_t i, const char **name);

static bool kind_at(size_t i, const char **name)
{
    return umbel_kind_at(i, name, NULL);
}

static bool addressing_at(size_t i, const char **name)
{
    return umbel_addressing_at(i, name, NULL);
}

static bool hash_at(size_t i, const char **name)
{
    return umbel_hash_at(i, name, NULL, NULL);
}

/* Appends a name to a list: "xxh3-64, xxh3-128, sip". */
static void list_name(char *list, size_t cap, const char *name)
{
    size_t len = strlen(list);

    snprintf(list + len, cap - len, "%s%s", len ? ", " : "", name);
}

/* Fails with: there is no hash "x"; there are xxh3-64, xxh3-128, sip */
static umbel_status no_such(const char *what, const char *name, name_at *row,
                            umbel_error *err)
{
    char list[160] = "";
    const char *known;

    for (size_t i = 0; row(i, &known); i++)
        list_name(list, sizeof list, known);
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "there is no %s \"%.40s\"; there %s %s", what, name,
                   strchr(list, ',') ? "are" : "is", list);
}

const char *um_default_addressing(const char *kind)
{
    const um_kind *row = um_kind_find(kind);

    if (row && row->fixed_addressing)
        return row->fixed_addressing->name;
    return row && row->addressing ? row->addressing : UM_DEFAULT_ADDRESSING;
}

static umbel_status find_rows(const char *kind, const umbel_params *p,
                              um_shape *s, umbel_error *err)
{
    s->kind = um_kind_find(kind);
    if (!s->kind)
        return no_such("kind", kind, kind_at, err);
    s->addressing = um_kind_addressing(
        s->kind, p->addressing ? p->addressing : um_default_addressing(kind));
    if (!s->addressing && s->kind->fixed_addressing)
        return um_fail(err, UMBEL_E_RANGE,
                       "kind %s has no addressing to choose: leave it out",
                       s->kind->name);
    if (!s->addressing)
        return no_such("addressing", p->addressing, addressing_at, err);
    const char *implied = s->addressing->hash;
    const char *hash = p->hash ? p->hash : implied ? implied : UM_DEFAULT_HASH;
    s->hash = um_hash_find(hash);
    if (!s->hash)
        return no_such("hash", hash, hash_at, err);
    return UMBEL_OK;
}

/* Returns the first addressing that implies this hash; implied hashes have
 * one. */
static const char *brought_by(const um_hash *hash)
{
    const um_addressing *row;

    for (size_t i = 0; (row = um_addressing_row(i)); i++)
        if (row->hash && strcmp(row->hash, hash->name) == 0)
            return row->name;
    return "of its own";
}

static umbel_status check_hash(const um_shape *s, umbel_error *err)
{
    const char *implied = s->addressing->hash;

    if (implied && strcmp(implied, s->hash->name) != 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "addressing %s brings its own hash, %s; leave the hash "
                       "out",
                       s->addressing->name, implied);
    if (!implied && s->hash->implied)
        return um_fail(err, UMBEL_E_RANGE,
                       "hash %s comes with addressing %s: choose that, and "
                       "leave the hash out",
                       s->hash->name, brought_by(s->hash));
    if (s->hash->part && !(s->kind->built && s->kind->built->parts))
        return um_fail(err, UMBEL_E_RANGE,
                       "hash %s is for partitions, which kind %s does not have",
                       s->hash->name, s->kind->name);
    if (!s->hash->seeded && s->seed)
        return um_fail(err, UMBEL_E_RANGE, "hash %s takes no seed",
                       s->hash->name);
    if (s->hash->keyed && !s->secret_id)
        return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_MISSING,
                              "hash %s needs a secret key", s->hash->name);
    if (!s->hash->keyed && s->secret_id)
        return um_fail(err, UMBEL_E_SECRET,
                       "hash %s takes no secret key: leave it out, or choose "
                       "hash sip",
                       s->hash->name);
    return UMBEL_OK;
}

static umbel_status check_settings(const um_shape *s, umbel_error *err)
{
    for (size_t i = 0; i < um_count_settings(s->kind); i++) {
        const umbel_setting_info *info = &s->kind->settings[i];
        if (s->setting[i] < info->min || s->setting[i] > info->max)
            return um_fail(
                err, UMBEL_E_RANGE,
                "%s must be %" PRIu64 "..%" PRIu64 ", got %" PRIu64 " (%s)",
                info->name, info->min, info->max, s->setting[i], info->summary);
    }
    return s->kind->check ? s->kind->check(s, err) : UMBEL_OK;
}

static bool has_setting(const um_kind *kind, const char *name)
{
    for (size_t i = 0; i < um_count_settings(kind); i++)
        if (strcmp(kind->settings[i].name, name) == 0)
            return true;
    return false;
}

/* Fails with: kind tally has no setting "x"; it has heavy */
static umbel_status no_setting(const um_kind *kind, const char *name,
                               umbel_error *err)
{
    char own[160] = "", others[160] = "";
    const um_kind *other;

    for (size_t i = 0; i < um_count_settings(kind); i++)
        list_name(own, sizeof own, kind->settings[i].name);
    for (size_t i = 0; (other = um_kind_row(i)); i++)
        if (has_setting(other, name))
            list_name(others, sizeof others, other->name);
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "kind %s has no setting \"%.40s\"; it has %s%s%s",
                   kind->name, name, *own ? own : "none",
                   *others ? "; kinds that have it: " : "", others);
}

static umbel_status apply_settings(const umbel_params *p, um_shape *s,
                                   umbel_error *err)
{
    size_t n = um_count_settings(s->kind);

    for (size_t i = 0; i < n; i++)
        s->setting[i] = s->kind->settings[i].standard;
    for (size_t j = 0; j < p->nsettings; j++) {
        size_t i = 0;
        while (i < n &&
               strcmp(s->kind->settings[i].name, p->settings[j].name) != 0)
            i++;
        if (i == n)
            return no_setting(s->kind, p->settings[j].name, err);
        s->setting[i] = p->settings[j].value;
    }
    if (s->kind->hashes && !s->hashes)
        s->hashes = s->kind->hashes(s);
    return check_settings(s, err);
}

/* The first version ended with alloc; smaller sizes were never valid. */
#define FIRST_SIZE (offsetof(umbel_params, alloc) + sizeof(umbel_alloc *))

umbel_status um_params_normalize(const umbel_params *given, umbel_params *out,
                                 umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    *out = p;
    if (!given)
        return UMBEL_OK;
    if (given->size < FIRST_SIZE)
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_PARAMS_INIT");
    if (given->size > sizeof p &&
        !um_all_zero((const uint8_t *)given + sizeof p, given->size - sizeof p))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "params ask for what this umbel does not know: use a "
                       "newer umbel");
    memcpy(out, given, given->size < sizeof p ? given->size : sizeof p);
    out->size = sizeof p; /* of out, which may be normalized again */
    return UMBEL_OK;
}

umbel_status um_shape_from_params(const char *kind, const umbel_params *given,
                                  um_shape *out, umbel_error *err)
{
    umbel_params params;
    const umbel_params *p = &params;

    UM_TRY(um_params_normalize(given, &params, err));
    um_shape s = {.seed = p->seed,
                  .capacity = p->capacity,
                  .fpr = p->fpr == 0 ? UM_DEFAULT_FPR : p->fpr,
                  .cells = p->cells,
                  .hashes = p->hashes,
                  .key_form = p->key_form,
                  .exact_size = p->exact_size,
                  .secret_id = p->secret ? um_secret_id(p->secret) : 0};

    if (!(s.fpr > 0 && s.fpr < 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "fpr must lie between 0 and 1, got %g", s.fpr);
    if (s.key_form > UMBEL_KEYS_NETWORK)
        return um_fail(err, UMBEL_E_RANGE, "there is no key form %" PRIu64,
                       s.key_form);
    if (s.hashes > UM_MAX_HASHES)
        return um_fail(err, UMBEL_E_RANGE, "hashes must be 1..%d, got %" PRIu32,
                       UM_MAX_HASHES, s.hashes);
    if (s.cells > UM_MAX_CELLS || s.capacity > UM_MAX_CELLS)
        return um_fail(err, UMBEL_E_RANGE,
                       "cells (bits) and capacity (keys) go up to 2^48 each");
    UM_TRY(find_rows(kind, p, &s, err));
    if (p->fpr == 0 && s.kind->fpr > 0)
        s.fpr = s.kind->fpr;
    if (s.capacity == 0 && s.cells == 0)
        s.capacity = s.kind->capacity;
    if (s.hash->identity && s.key_form == UMBEL_KEYS_TEXT)
        s.key_form = UMBEL_KEYS_INTEGER;
    if (s.key_form != UMBEL_KEYS_UNRECORDED &&
        s.hash->identity != (s.key_form == UMBEL_KEYS_INTEGER))
        return um_fail(err, UMBEL_E_MISMATCH,
                       "keys are %s, but hash %s is for keys that are %s: "
                       "integers are the keys of addressing universal",
                       umbel_key_form_name((umbel_key_form)s.key_form),
                       s.hash->name,
                       s.hash->identity ? "integers" : "not integers");
    if (s.key_form == UMBEL_KEYS_NETWORK && !s.kind->built) /* none so far */
        s.prefixes.word[0] = UM_PREFIXES_RECORDED;
    UM_TRY(check_hash(&s, err));
    UM_TRY(apply_settings(p, &s, err));
    if (s.kind->growing && um_unusual_setting(&s))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "%s of kind %s follows from its keys: leave it out",
                       um_unusual_setting(&s), s.kind->name);
    *out = s;
    return UMBEL_OK;
}

/* Fails, and names the nearest possible numbers of hashes. */
static umbel_status bad_hashes(const um_shape *s, umbel_error *err)
{
    uint32_t below = s->hashes < UM_MAX_HASHES ? s->hashes : UM_MAX_HASHES;
    uint32_t above = s->hashes;

    while (below > 1 && !um_granule(s->addressing, below))
        below--;
    while (above < UM_MAX_HASHES && !um_granule(s->addressing, above))
        above++;
    if (above > UM_MAX_HASHES || !um_granule(s->addressing, above))
        above = below;
    if (below == 0 || !um_granule(s->addressing, below))
        below = above;
    if (above == below)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s cannot have %" PRIu32 " hashes; the nearest is "
                       "%" PRIu32,
                       s->addressing->name, s->hashes, below);
    return um_fail(err, UMBEL_E_RANGE,
                   "%s cannot have %" PRIu32 " hashes; the nearest are "
                   "%" PRIu32 " and %" PRIu32,
                   s->addressing->name, s->hashes, below, above);
}

/* Rounds cells up to whole granules; 0 if this number of hashes is
 * impossible. */
static uint64_t round_up(const um_shape *s, uint64_t cells, uint32_t hashes)
{
    uint64_t granule = um_granule(s->addressing, hashes);
    return granule ? (cells + granule - 1) / granule * granule : 0;
}

double um_digest_error(const um_shape *s, double keys)
{
    return keys * ldexp(1, -(int)s->hash->entropy);
}

double um_shape_error(const um_shape *s, double keys)
{
    um_layout l;

    if (!(keys > 0))
        return 0;
    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    double error =
        s->kind->error ? s->kind->error(s, &l, keys) : um_model_error(&l, keys);
    error += um_digest_error(s, keys);
    return fmin(fmax(error, 0), 1);
}

static double error_of(const um_shape *s, uint64_t cells, uint32_t hashes,
                       double keys)
{
    um_shape t = *s;
    t.cells = cells;
    t.hashes = hashes;
    return um_shape_error(&t, keys);
}

/* Returns false if lanes have a single cell, which would always be in use. */
static bool has_width(const um_shape *s, uint64_t cells, uint32_t hashes)
{
    um_layout l;
    um_layout_init(&l, s->addressing, cells, hashes, s->seed);
    return l.width >= 2;
}

/* Returns true if this size keeps the error. The target of static kinds does
 * not include digest collisions. */
static bool suffices(const um_shape *s, uint64_t cells, uint32_t hashes)
{
    double keys = (double)s->capacity;
    double most = s->fpr + (s->kind->built ? um_digest_error(s, keys) : 0);

    return has_width(s, cells, hashes) &&
           error_of(s, cells, hashes, keys) <= most;
}

/*
 * Returns the fewest cells, below a bound, that keep the error with these
 * hashes; 0: none do. The bound shortens the search if another number of hashes
 * did better.
 */
static uint64_t least_cells(const um_shape *s, uint32_t hashes, uint64_t below)
{
    uint64_t granule = um_granule(s->addressing, hashes);
    if (!granule)
        return 0;
    uint64_t limit = um_limit(s->addressing, hashes) / granule;
    uint64_t high = (below - 1) / granule;
    if (high > limit)
        high = limit;
    if (high == 0 || !suffices(s, high * granule, hashes))
        return 0;

    uint64_t low = 0;
    for (uint64_t step = low + 1; low + step < high; step *= 2) {
        if (suffices(s, (low + step) * granule, hashes)) {
            high = low + step;
            break;
        }
        low += step;
    }
    while (low + 1 < high) {
        uint64_t mid = low + (high - low) / 2;
        if (suffices(s, mid * granule, hashes))
            high = mid;
        else
            low = mid;
    }
    return high * granule;
}

static umbel_status settle_by_error(um_shape *s, umbel_error *err)
{
    uint64_t best = 0;
    uint32_t best_hashes = 0;
    uint32_t most = 2 * (uint32_t)fmin(-log2(s->fpr), UM_MAX_HASHES) + 2;

    if (most > UM_MAX_HASHES)
        most = UM_MAX_HASHES;
    for (uint32_t k = s->hashes ? s->hashes : 1;
         k <= (s->hashes ? s->hashes : most); k++) {
        uint64_t cells = least_cells(s, k, best ? best : UM_MAX_CELLS + 1);
        if (cells)
            best = cells, best_hashes = k;
    }
    if (!best)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s with hash %s cannot hold %" PRIu64
                       " keys at error %g: allow more error, or choose another "
                       "addressing or hash",
                       s->addressing->name, s->hash->name, s->capacity, s->fpr);
    s->cells = best;
    s->hashes = best_hashes;
    return UMBEL_OK;
}

static bool fits(const um_shape *s, uint64_t cells, uint32_t hashes)
{
    uint64_t rounded = round_up(s, cells, hashes);
    return rounded && rounded <= um_limit(s->addressing, hashes) &&
           has_width(s, rounded, hashes);
}

/* Returns the number of hashes with the lowest error for this many keys; 0:
 * none fits. */
static uint32_t best_hashes(const um_shape *s, double keys)
{
    uint32_t best = 0;
    double best_error = 2;

    for (uint32_t k = 1; k <= UM_MAX_HASHES; k++) {
        if (!fits(s, s->cells, k))
            continue;
        double error = error_of(s, round_up(s, s->cells, k), k, keys);
        if (error < best_error)
            best = k, best_error = error;
    }
    return best;
}

/* Returns a typical number of hashes for the error when neither keys nor size
 * are known. */
static uint32_t usual_hashes(const um_shape *s)
{
    um_shape t = *s;
    t.capacity = 100000;
    t.hashes = 0;
    return settle_by_error(&t, NULL) == UMBEL_OK ? t.hashes : 0;
}

static umbel_status settle_by_size(um_shape *s, umbel_error *err)
{
    if (!s->hashes)
        s->hashes =
            s->capacity ? best_hashes(s, (double)s->capacity) : usual_hashes(s);
    if (s->hashes && !um_granule(s->addressing, s->hashes))
        return bad_hashes(s, err);
    if (!s->hashes)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s cannot have %" PRIu64 " cells, with any number of "
                       "hashes",
                       s->addressing->name, s->cells);
    s->cells = round_up(s, s->cells, s->hashes);
    return s->kind->built ? UMBEL_OK : um_check_shape(s, err);
}

/* Computes the size by the addressing's own rule. */
static umbel_status settle_by_rule(um_shape *s, umbel_error *err)
{
    double cells, hashes;

    s->addressing->size((double)s->capacity, s->fpr, &cells, &hashes);
    if (!(cells <= (double)UM_MAX_CELLS && hashes <= UM_MAX_HASHES))
        return um_fail(err, UMBEL_E_RANGE,
                       "%s prescribes %.0f cells and %.0f hashes for %" PRIu64
                       " keys at error %g, which is too much: allow more error",
                       s->addressing->name, cells, hashes, s->capacity, s->fpr);
    s->cells = (uint64_t)cells;
    s->hashes = (uint32_t)hashes;
    return um_check_shape(s, err);
}

/* Returns true if the size is rounded up so that it folds well. Addressings of
 * papers and programs keep their sizes. */
static bool is_rounded(const um_shape *s)
{
    return !s->exact_size && s->kind->fold &&
           s->addressing->fold == UM_FOLD_NEIGHBOURS;
}

static umbel_status settle_foldable(um_shape *s, umbel_error *err)
{
    um_layout l;

    UM_TRY(settle_by_error(s, err));
    if (!is_rounded(s))
        return UMBEL_OK;
    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    uint64_t parts = um_fold_parts(&l);
    uint64_t cells = s->cells / parts * um_foldable_parts(parts);
    if (cells <= um_limit(s->addressing, s->hashes) &&
        suffices(s, cells, s->hashes))
        s->cells = cells;
    return UMBEL_OK;
}

umbel_status um_solve_size(um_shape *s, umbel_error *err)
{
    if (s->cells)
        return settle_by_size(s, err);
    if (s->hashes && !um_granule(s->addressing, s->hashes))
        return bad_hashes(s, err);
    if (!s->capacity)
        return um_fail(err, UMBEL_E_RANGE,
                       "say how large: a capacity in keys, or a size in cells");
    /* The rule is for Bloom filters: the other program reads nothing else. */
    bool bits = um_has_bits(s->kind) || s->kind->links;
    bool ruled = s->addressing->size && bits && !s->hashes;
    return ruled ? settle_by_rule(s, err) : settle_foldable(s, err);
}

/* Checks the size for an addressing that several kinds share. */
static umbel_status check_size(const um_shape *s, umbel_error *err)
{
    uint64_t granule = s->hashes <= UM_MAX_HASHES && s->hashes
                           ? um_granule(s->addressing, s->hashes)
                           : 0;

    if (!granule)
        return bad_hashes(s, err);
    uint64_t limit = um_limit(s->addressing, s->hashes);
    if (s->cells > limit)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s with %" PRIu32 " hashes reaches %" PRIu64
                       " cells; %" PRIu64 " would leave cells that no key can "
                       "use: take fewer hashes or cells",
                       s->addressing->name, s->hashes, limit, s->cells);
    if (s->cells == 0 || s->cells % granule ||
        !has_width(s, s->cells, s->hashes))
        return um_fail(err, UMBEL_E_RANGE,
                       "%s with %" PRIu32 " hashes takes sizes in multiples of "
                       "%" PRIu64 " cells, at least two a hash, got %" PRIu64,
                       s->addressing->name, s->hashes, granule, s->cells);
    return UMBEL_OK;
}

umbel_status um_check_shape(const um_shape *s, umbel_error *err)
{
    if (!s->kind->built)
        UM_TRY(check_size(s, err));
    UM_TRY(check_hash(s, err));
    UM_TRY(check_settings(s, err));
    return s->kind->built ? s->kind->built->fits(s, err) : UMBEL_OK;
}

/* Beyond this, a cell is used with a probability that rounds to 1. */
enum { MAX_KEYS_A_CELL = 64 };

uint64_t um_max_keys(um_shape *s, double fpr)
{
    uint64_t low = 0, high = s->cells * MAX_KEYS_A_CELL;
    bool choose = s->hashes == 0;

    while (low < high) {
        uint64_t mid = low + (high - low + 1) / 2;
        uint32_t k = choose ? best_hashes(s, (double)mid) : s->hashes;
        if (k && error_of(s, round_up(s, s->cells, k), k, (double)mid) <= fpr)
            low = mid;
        else
            high = mid - 1;
    }
    if (choose)
        s->hashes = best_hashes(s, (double)(low ? low : 1));
    return low;
}
