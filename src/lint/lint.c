/*
 * lint.c - the checks of a filter.
 *
 * What a filter promises is in its head: capacity and error.
 * Checks of cells are those of admission, with its bounds: chance explains a
 * refusal of an honest filter with probability at most 1e-9 in all. Samples are
 * judged by the exact binomial tail, at 1e-11 each.
 */
#include "lint/lint.h"

#include "analysis/analysis.h"
#include "base/error.h"
#include "base/rng.h"
#include "filter/handle.h"
#include "filter/sizing.h"
#include "query/digest_set.h"
#include "query/query.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 1000000,        /* random keys */
    ENOUGH = 2000,           /* matches among them */
    SAMPLE_READS = 64 << 20, /* cells, at most */
    MAX_SAMPLED = 1 << 24,   /* keys like the members */
    NEAR_KEY = 256,          /* bytes of such a key */
    WASTE = 3,               /* times what a ribbon takes */
    SMALL = 16384            /* bytes whose waste is not worth a word */
};
#define CHANCE 1e-11
#define LN2 0.69314718055994530942
#define CLEARLY 1.5 /* times a rate */

const char *um_lint_name(um_lint_code code)
{
    static const char *const names[] = {
        [UM_LINT_OVERFULL] = "overfull",
        [UM_LINT_DENIES_MEMBERS] = "denies-members",
        [UM_LINT_ERROR] = "error-above-promise",
        [UM_LINT_DEPENDENT_CELLS] = "dependent-cells",
        [UM_LINT_WEAK_HASH] = "weak-hash",
        [UM_LINT_WASTED_SPACE] = "wasted-space",
        [UM_LINT_HOSTILE_SHAPE] = "hostile-shape",
        [UM_LINT_NO_CHECKSUM] = "no-checksum"};
    return names[code];
}

const char *um_severity_name(um_severity severity)
{
    static const char *const names[] = {"note", "warning", "error"};
    return names[severity];
}

/* A run: what the filter promises, and what was seen so far. */
typedef struct linting {
    const um_lint_job *job;
    const umbel_filter *f;
    const um_shape *shape;
    double capacity, promise; /* 0: none */
    double error;             /* that its cells give */
    bool above;               /* was reported */
} linting;

__attribute__((format(printf, 6, 7))) static void
found(const linting *l, um_lint_code code, um_severity severity,
      double promised, double measured, const char *format, ...)
{
    um_lint_finding finding = {.code = code,
                               .severity = severity,
                               .promised = promised,
                               .measured = measured};
    va_list list;

    va_start(list, format);
    vsnprintf(finding.advice, sizeof finding.advice, format, list);
    va_end(list);
    l->job->take(l->job->ctx, &finding);
}

/* --- what it promises ----------------------------------------------------- */

/* Returns true if the number of hash functions implies a plan: only the format
 * of another program leaves capacity and error out. */
static bool has_implied_plan(const um_shape *s)
{
    return !s->capacity && s->addressing->foreign && um_has_bits(s->kind) &&
           s->hashes > 1;
}

double um_lint_promise(const umbel_filter *f, double *capacity)
{
    const um_shape *s = um_shape_of(f);
    double promise = 0;

    *capacity = s->kind->built ? 0 : (double)s->capacity;
    if (has_implied_plan(s)) {
        *capacity = floor((double)s->cells * LN2 / (s->hashes - 0.5));
        promise = um_shape_error(s, *capacity);
    } else if (s->kind->built) {
        promise = s->fpr + um_digest_error(s, (double)s->added);
    } else if (s->capacity) {
        /* Sizes by the rule of a program may miss the error slightly. */
        promise = fmax(s->fpr, um_shape_error(s, *capacity));
    }
    return fmin(promise * (1 + 1e-9), 1);
}

/* --- cells ---------------------------------------------------------------- */

static bool has_reason(const umbel_ruling *r, umbel_refusal code)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->reason[i].code == code)
            return true;
    return false;
}

static void report_error(linting *l, double measured, const char *how)
{
    if (!l->above)
        found(l, UM_LINT_ERROR, UM_SEVERITY_ERROR, l->promise, measured,
              "%s, more than chance explains: build it again for the keys that "
              "it holds, or with more bits",
              how);
    l->above = true;
}

/* Returns true if chance decides which cells are in use, and keys are at most
 * as many as planned. */
static bool is_planned(const linting *l)
{
    const um_shape *s = l->shape;

    return l->capacity >= 1 && s->kind->bits && !s->kind->growing &&
           !s->kind->links && !s->difference && !s->intersected &&
           !s->hash->identity &&
           (um_used_by_chance(l->f) || um_classes(&l->f->layout, NULL));
}

/* Returns the cells in use, minus those that keys with digests of 64 bits
 * coincide less often in than random ones (see analysis/admit.c). */
static uint64_t used_at_least(const linting *l)
{
    const um_layout *a = &l->f->layout;
    uint64_t used = l->shape->kind->bits->used(l->f->self, NULL);
    double own = a->throws;
    double pairs = a->lanes * own * (own - 1) / 2 + a->extra * own;
    double spared = l->capacity * pairs / (double)a->width;

    if (l->shape->hash->entropy > 64)
        return used;
    return (double)used > spared ? used - (uint64_t)spared : 0;
}

/*
 * Bounds the probability that as many keys as planned use that many cells: by
 * McDiarmid's inequality where cells form classes, as a key changes at most as
 * many as it has hash functions.
 */
static double bound_used(const linting *l, const um_occupancy *t, uint64_t used)
{
    const um_layout *a = &l->f->layout;
    double over =
        (double)used - um_model_fill(a, l->capacity) * (double)a->cells;

    if (over <= 0)
        return 0;
    if (um_used_by_chance(l->f))
        return um_occupancy_above(t, used);
    return -2 * over * over / (l->capacity * a->hashes * a->hashes);
}

/*
 * Compares the cells with those that as many keys as planned use: reports more
 * keys than the capacity, and an error above the promise that chance does not
 * explain.
 */
static umbel_status check_plan(linting *l, umbel_error *err)
{
    const um_layout *layout = &l->f->layout;
    double planned = um_model_fill(layout, l->capacity), ln;
    uint64_t used = used_at_least(l);
    double fill = (double)used / (double)layout->cells;
    um_occupancy t;

    UM_TRY(um_occupancy_init(&t, layout, l->capacity, &l->f->alloc, err));
    ln = bound_used(l, &t, used);
    if (ln < log(CHANCE))
        found(l, UM_LINT_OVERFULL, UM_SEVERITY_ERROR, planned, fill,
              "it was planned for %.0f keys: build it again with a larger "
              "capacity",
              l->capacity);
    if (layout->blocks > 1 && l->error > l->promise && ln >= log(CHANCE))
        ln = um_occupancy_error(&t, l->error);
    if (l->error > l->promise && ln < log(CHANCE))
        report_error(l, l->error, "its cells match more keys");
    um_occupancy_fini(&t);
    return UMBEL_OK;
}

static void report_shape(const linting *l, const umbel_ruling *r)
{
    static const umbel_refusal codes[] = {
        UMBEL_REFUSED_TOO_FULL, UMBEL_REFUSED_TOO_EMPTY, UMBEL_REFUSED_BLOCK,
        UMBEL_REFUSED_COST};

    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 0; j < UM_COUNT(codes); j++)
            if (r->reason[i].code == codes[j])
                found(l, UM_LINT_HOSTILE_SHAPE, UM_SEVERITY_ERROR, NAN, r->fill,
                      "%.200s", r->reason[i].text);
}

static umbel_status check_cells(linting *l, umbel_error *err)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling r;

    wants.max_error = l->promise > 0 && l->promise < 0.999 ? l->promise : 0.999;
    UM_TRY(umbel_admit(l->f, &wants, &r, err));
    report_shape(l, &r);
    if (is_planned(l))
        return check_plan(l, err);
    /* Without an exact number of keys admission makes no allowance. */
    if (l->promise > 0 && has_reason(&r, UMBEL_REFUSED_ERROR) &&
        r.error > um_max_error(l->promise))
        report_error(l, r.error, "its cells match more keys");
    return UMBEL_OK;
}

/* --- samples -------------------------------------------------------------- */

/* Returns true if chance hardly gives that many hits at this rate. */
static bool is_unlikely(uint64_t hits, uint64_t n, double rate)
{
    return hits && (double)hits > rate * (double)n && rate < 1 &&
           um_beta_cdf(fmax(rate, 1e-300), (double)hits,
                       (double)(n - hits + 1)) < CHANCE;
}

/* Queries up to *n random digests, until enough match; sets *n to their
 * number. */
static umbel_status sample_digests(const linting *l, uint64_t *n,
                                   uint64_t *hits, umbel_error *err)
{
    um_rng rng = {l->shape->cells ^ umbel_payload_checksum(l->f)};
    umbel_digest d[UM_BATCH];
    bool hit[UM_BATCH];

    *hits = 0;
    uint64_t done = 0;
    for (; done < *n && *hits < ENOUGH; done += UM_BATCH) {
        for (size_t i = 0; i < UM_BATCH; i++) {
            d[i].lo = l->shape->hash->identity
                          ? um_random_below(&rng, UM_INTEGER_PRIME)
                          : um_random(&rng);
            d[i].hi = l->shape->hash->entropy > 64 ? um_random(&rng)
                                                   : um_remix(d[i].lo);
        }
        UM_TRY(umbel_query_digests(l->f, d, UM_BATCH, hit, err));
        for (size_t i = 0; i < UM_BATCH; i++)
            *hits += hit[i];
    }
    *n = done;
    return UMBEL_OK;
}

/* Compares the error of random keys with that of independent cells. */
static umbel_status check_dependence(linting *l, umbel_error *err)
{
    const um_shape *s = l->shape;
    uint64_t n = SAMPLE_READS / (s->hashes ? s->hashes : 1), hits;

    if (!s->addressing->dependent || !um_has_bits(s->kind) ||
        s->kind->bits->groups(l->f->self) > 1)
        return UMBEL_OK;
    n = (n < SAMPLE ? n : SAMPLE) / UM_BATCH * UM_BATCH;
    UM_TRY(sample_digests(l, &n, &hits, err));
    double fill =
        (double)s->kind->bits->used(l->f->self, NULL) / (double)s->cells;
    double alone = pow(fill, s->hashes), rate = (double)hits / (double)n;
    /* Double hashing returns to a cell after a few steps for some keys: that
     * is up to about 2/m of all keys in an honest filter of m cells. */
    double own = 4.0 / (double)s->cells;
    if (is_unlikely(hits, n, CLEARLY * alone + 5 * own))
        found(l, UM_LINT_DEPENDENT_CELLS, UM_SEVERITY_WARNING, alone, rate,
              "cells of a key depend on each other here: choose a size without "
              "factors of 2 (let umbel build choose), or another addressing");
    if (l->promise > 0 && !l->above &&
        is_unlikely(hits, n, 1.2 * fmax(l->promise, l->error) + own))
        report_error(l, rate, "random keys match more often");
    return UMBEL_OK;
}

/* --- members -------------------------------------------------------------- */

/*
 * Members must match; keys that differ from a member in one character should
 * match as rarely as any others. Those that match are kept, and dropped when
 * the second pass finds them among the members.
 */
typedef struct member_check {
    const linting *l;
    uint64_t members, denied;
    uint64_t tried, ntried;
    umbel_digest *near; /* digests of matching neighbours */
    size_t nnear, cap;
    bool *known; /* is a member */
    um_digest_set set;
} member_check;

static umbel_status query_members(member_check *m, const um_key_batch *batch,
                                  umbel_error *err)
{
    bool hit[UM_BATCH];

    for (size_t done = 0, some; done < batch->n; done += some) {
        some = um_next_batch(batch->n - done);
        UM_TRY(umbel_query_many(m->l->f, batch->keys + done, some, hit, err));
        for (size_t i = 0; i < some; i++)
            m->denied += !hit[i];
    }
    m->members += batch->n;
    return UMBEL_OK;
}

/* Changes one character of a key to another one of its class. */
static size_t create_neighbour(const umbel_slice *key, uint64_t number,
                               uint8_t out[NEAR_KEY])
{
    if (!key->len || key->len > NEAR_KEY)
        return 0;
    memcpy(out, key->data, key->len);
    uint8_t *at = &out[um_mix(number) % key->len], c = *at;
    if (c >= '0' && c <= '9')
        *at = (uint8_t)('0' +
                        ((unsigned)c - '0' + 1u + um_mix(~number) % 9) % 10);
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
        *at = (uint8_t)((c & 0x20 ? 'a' : 'A') +
                        ((c & 0x1F) - 1u + 1 + um_mix(~number) % 25) % 26);
    else
        *at = (uint8_t)(c ^ (1 + um_mix(~number) % 15));
    return key->len;
}

static umbel_status store_neighbour(member_check *m, umbel_slice key,
                                    umbel_error *err)
{
    if (m->nnear == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 1024;
        umbel_digest *more = realloc(m->near, cap * sizeof *more);
        if (!more)
            return um_no_memory(err, cap * sizeof *more);
        m->near = more;
        m->cap = cap;
    }
    const um_hasher *h = &m->l->f->hasher;
    h->row->digest(h, &key, 1, &m->near[m->nnear++]);
    return UMBEL_OK;
}

static umbel_status query_neighbours(member_check *m, const um_key_batch *batch,
                                     umbel_error *err)
{
    uint8_t key[NEAR_KEY] = {0};
    bool hit;

    for (size_t i = 0; i < batch->n && m->tried < MAX_SAMPLED; i++) {
        umbel_slice near = {key,
                            create_neighbour(&batch->keys[i], m->tried, key)};
        if (!near.len)
            continue;
        m->tried++;
        UM_TRY(umbel_query_many(m->l->f, &near, 1, &hit, err));
        if (hit)
            UM_TRY(store_neighbour(m, near, err));
    }
    return UMBEL_OK;
}

static umbel_status first_pass(void *ctx, const um_key_batch *batch,
                               umbel_error *err)
{
    member_check *m = ctx;

    UM_TRY(query_members(m, batch, err));
    return m->l->shape->hash->identity ? UMBEL_OK
                                       : query_neighbours(m, batch, err);
}

static umbel_status second_pass(void *ctx, const um_key_batch *batch,
                                umbel_error *err)
{
    member_check *m = ctx;
    const um_hasher *h = &m->l->f->hasher;
    umbel_digest d[UM_BATCH];

    (void)err;
    for (size_t done = 0, some; done < batch->n; done += some) {
        some = um_next_batch(batch->n - done);
        h->row->digest(h, batch->keys + done, some, d);
        for (size_t i = 0; i < some; i++) {
            uint32_t at = um_digest_set_find(&m->set, &d[i]);
            if (at)
                m->known[at - 1] = true;
        }
    }
    return UMBEL_OK;
}

/* Counts matching neighbours that are no members, each once. */
static umbel_status count_strangers(member_check *m, uint64_t *hits,
                                    umbel_error *err)
{
    umbel_status status;

    *hits = 0;
    if (!m->nnear)
        return UMBEL_OK;
    m->known = calloc(m->nnear, sizeof *m->known);
    if (!m->known)
        return um_no_memory(err, m->nnear);
    UM_TRY(
        um_digest_set_init(&m->set, &m->l->f->alloc, m->near, m->nnear, err));
    status = um_keys_each_batch(m->l->job->members, second_pass, m, err);
    for (size_t i = 0; i < m->nnear && !status; i++)
        *hits += um_digest_set_is_first(&m->set, i) && !m->known[i];
    um_digest_set_fini(&m->set);
    return status;
}

static umbel_status judge_members(linting *l, member_check *m, umbel_error *err)
{
    uint64_t recorded = umbel_known_false_negatives(l->f), hits;

    UM_TRY(um_keys_each_batch(l->job->members, first_pass, m, err));
    if (!um_allows_false_negatives(l->f, m->denied))
        found(l, UM_LINT_DENIES_MEMBERS, UM_SEVERITY_ERROR, (double)recorded,
              (double)m->denied,
              "%" PRIu64 " of %" PRIu64
              " keys do not match: it is damaged, or was built of another list "
              "or with other options (--hex, --fold-case): build it again",
              m->denied, m->members);
    if (!um_keys_rereadable(l->job->members))
        return UMBEL_OK;
    UM_TRY(count_strangers(m, &hits, err));
    if (m->tried &&
        is_unlikely(hits, m->tried, 1.25 * fmax(l->promise, l->error)))
        report_error(l, (double)hits / (double)m->tried,
                     "keys that resemble members match more often");
    return UMBEL_OK;
}

static umbel_status check_members(linting *l, umbel_error *err)
{
    member_check m = {.l = l};

    if (!l->job->members)
        return UMBEL_OK;
    umbel_status status = judge_members(l, &m, err);
    free(m.near);
    free(m.known);
    return status;
}

/* --- hash, size, format --------------------------------------------------- */

/* Returns true if two functions of universal are related: equal, negative,
 * double or half factors. */
static bool has_related_functions(const um_layout *l)
{
    um_universal h[UM_MAX_HASHES];
    const uint64_t p = UM_INTEGER_PRIME;

    um_draw_universal(l, h);
    for (size_t i = 0; i < l->hashes; i++)
        for (size_t j = 0; j < i; j++) {
            uint64_t a = h[i].c, b = h[j].c;
            if (a == b || a + b == p || 2 * a % p == b || 2 * b % p == a)
                return true;
        }
    return false;
}

static void check_hash(const linting *l)
{
    const um_shape *s = l->shape;

    if (s->hash->former && s->seed)
        found(l, UM_LINT_WEAK_HASH, UM_SEVERITY_WARNING, NAN, NAN,
              "with hash %s seeds do little to short keys: build it again "
              "without --hash %s",
              s->hash->name, s->hash->name);
    else if (s->addressing == &um_addressing_universal &&
             has_related_functions(&l->f->layout))
        found(l, UM_LINT_WEAK_HASH, UM_SEVERITY_WARNING, NAN, NAN,
              "two of its functions are related under seed %" PRIu64
              ": build it again with another --seed",
              s->seed);
    else if (s->hash->implied)
        found(l, UM_LINT_WEAK_HASH, UM_SEVERITY_NOTE, NAN, NAN,
              "hash %s has no secret, and anyone can find keys that match: for "
              "keys that an attacker chooses, use --hash sip",
              s->hash->name);
}

/* Compares its bytes with those of a static filter for the same keys. */
static void check_space(const linting *l)
{
    const um_shape *s = l->shape;
    double bytes = (double)umbel_encoded_len(l->f), keys = (double)s->added;
    um_shape plan = *s;

    if (!um_has_bits(s->kind) || !(l->promise > 0) || bytes < SMALL ||
        umbel_coded(l->f) || s->intersected)
        return;
    double ribbon = 64 + 1.01 * keys * -log2(l->promise) / 8;
    if (bytes < WASTE * ribbon)
        return;
    plan.cells = 0;
    plan.hashes = 0;
    plan.capacity = (uint64_t)l->capacity;
    plan.fpr = fmin(l->promise, 0.999);
    bool planned = um_solve_size(&plan, NULL) == UMBEL_OK &&
                   (double)s->cells <= 2.0 * (double)plan.cells;
    found(l, UM_LINT_WASTED_SPACE,
          planned ? UM_SEVERITY_NOTE : UM_SEVERITY_WARNING, ribbon, bytes,
          "--kind ribbon takes %.0f bytes for its keys at that error; or build "
          "it with a smaller capacity, or --coded",
          ribbon);
}

static void check_format(const linting *l)
{
    if (l->job->format)
        found(l, UM_LINT_NO_CHECKSUM, UM_SEVERITY_NOTE, NAN, NAN,
              "format %s has no checksum, so damage goes unnoticed: publish it "
              "with umbel publish, or keep a digest beside it",
              l->job->format);
}

umbel_status um_lint(const um_lint_job *job, umbel_error *err)
{
    linting l = {.job = job,
                 .f = job->filter,
                 .shape = um_shape_of(job->filter),
                 .error = umbel_predict(job->filter)};

    l.promise = um_lint_promise(l.f, &l.capacity);
    UM_TRY(check_cells(&l, err));
    UM_TRY(check_dependence(&l, err));
    UM_TRY(check_members(&l, err));
    check_hash(&l);
    check_space(&l);
    check_format(&l);
    return UMBEL_OK;
}
