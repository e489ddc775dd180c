/*
 * rounds.c - runs the rounds of a study, and compares its values with
 * expected.csv.
 *
 * Threads run rounds in order and store the numbers by round, so they do not
 * depend on which thread runs what. For the same reason the error of the failed
 * round with the lowest number is reported.
 */
#include "base/error.h"
#include "papers/frame/expected.h"
#include "papers/frame/paper.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Returns the finaliser of SplitMix64: every bit of x affects every bit of the
 * result. */
static uint64_t mix(uint64_t x)
{
    um_rng r = {x};
    return um_random(&r);
}

um_rng um_round_stream(uint64_t seed, const char *name, uint64_t round)
{
    uint64_t x = mix(seed);

    for (const char *p = name; *p; p++)
        x = mix(x ^ (uint8_t)*p);
    return (um_rng){mix(x ^ mix(round))};
}

/* --- rounds ----------------------------------------------------------------*/

typedef struct work {
    um_study *study;
    pthread_mutex_t lock;
    uint64_t next, done;
    uint64_t failed; /* the lowest number of a round that failed */
    umbel_status status;
    umbel_error err;
} work;

static bool parse_round(work *w, uint64_t *index)
{
    pthread_mutex_lock(&w->lock);
    bool any = w->status == UMBEL_OK && w->next < w->study->rounds;
    if (any)
        *index = w->next++;
    pthread_mutex_unlock(&w->lock);
    return any;
}

static void end_round(work *w, uint64_t index, umbel_status status,
                      const umbel_error *err)
{
    const um_watch *watch = &w->study->watch;

    pthread_mutex_lock(&w->lock);
    w->done++;
    if (status != UMBEL_OK && (w->status == UMBEL_OK || index < w->failed)) {
        w->status = status;
        w->failed = index;
        w->err = *err;
    }
    if (watch->tell)
        watch->tell(watch->ctx, w->done, w->study->rounds);
    pthread_mutex_unlock(&w->lock);
}

static void *run_rounds(void *ctx)
{
    work *w = ctx;
    const um_study *s = w->study;
    umbel_error err = {.status = UMBEL_OK};
    uint64_t i;

    while (parse_round(w, &i)) {
        um_round r = {s, i, um_round_stream(s->seed, s->paper->name, i)};
        umbel_status status =
            s->paper->round(&r, s->numbers + i * s->paper->width, &err);
        end_round(w, i, status, &err);
    }
    return NULL;
}

/* Runs all rounds. This thread works, too; if fewer threads can be started, it
 * only takes longer. */
static umbel_status run_all(um_study *s, umbel_error *err)
{
    work w = {.study = s, .status = UMBEL_OK};
    pthread_t thread[UM_MAX_THREADS];
    unsigned started = 0;

    if (pthread_mutex_init(&w.lock, NULL) != 0)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a lock");
    while (started + 1 < s->threads && started + 1 < s->rounds &&
           pthread_create(&thread[started], NULL, run_rounds, &w) == 0)
        started++;
    run_rounds(&w);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&w.lock);
    if (w.status != UMBEL_OK && err)
        *err = w.err;
    return w.status;
}

/* --- expected values -------------------------------------------------------*/

static bool was_checked(const um_record *r, const char *item)
{
    for (size_t i = 0; i < r->nchecks; i++)
        if (strcmp(r->check[i].item, item) == 0)
            return true;
    return false;
}

/* Records a failed check for every row that was not measured. */
static void find_forgotten(um_study *s)
{
    const char *text = um_expected_text(s->paper->name);
    um_expected e;

    while (text && um_expected_next(&text, &e)) {
        if (was_checked(&s->record, e.item) || (e.timed && !s->timed) ||
            (e.spread && s->rounds < 2) || e.shown)
            continue;
        um_check c = {.paper = e.paper,
                      .ours = NAN,
                      .error = NAN,
                      .z = NAN,
                      .low = e.low,
                      .high = e.high,
                      .note = "expected, but not measured"};
        memcpy(c.item, e.item, sizeof c.item);
        um_record_check(&s->record, c);
    }
}

static umbel_status run_prepared(um_study *s, umbel_error *err)
{
    umbel_status status = run_all(s, err);

    if (status != UMBEL_OK)
        return status;
    s->record.few = s->rounds < s->paper->rounds;
    s->paper->conclude(s);
    if (s->wrong)
        UM_TRY(um_try_wrong(s, err));
    find_forgotten(s);
    return um_record_bad(&s->record)
               ? um_fail(err, UMBEL_E_NOMEM, "no memory for the results of %s",
                         s->paper->name)
               : UMBEL_OK;
}

umbel_status um_study_run(um_study *s, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    s->numbers = calloc(s->rounds * s->paper->width, sizeof *s->numbers);
    if (!s->numbers)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %s", s->paper->name);
    if (s->paper->prepare)
        status = s->paper->prepare(s, err);
    if (status == UMBEL_OK)
        status = run_prepared(s, err);
    if (s->paper->release)
        s->paper->release(s);
    return status;
}

void um_study_fini(um_study *s)
{
    free(s->numbers);
    s->numbers = NULL;
    um_record_fini(&s->record);
}

um_mean um_column(const um_study *s, size_t column)
{
    return um_mean_of(s->numbers + column, s->rounds, s->paper->width);
}

/* Combines two columns, round by round. */
static um_mean joined(const um_study *s, size_t a, size_t b,
                      double (*join)(double, double))
{
    size_t width = s->paper->width;
    double *row = s->numbers, *joint = malloc(s->rounds * sizeof *joint);
    um_mean m = {.n = 0, .value = NAN, .sd = NAN, .error = NAN};

    if (!joint)
        return m; /* NAN passes no check */
    for (size_t i = 0; i < s->rounds; i++, row += width)
        joint[i] = join(row[a], row[b]);
    m = um_mean_of(joint, s->rounds, 1);
    free(joint);
    return m;
}

static double ratio(double a, double b)
{
    return a / b;
}

static double sum(double a, double b)
{
    return a + b;
}

um_mean um_column_ratio(const um_study *s, size_t above, size_t below)
{
    return joined(s, above, below, ratio);
}

um_mean um_column_sum(const um_study *s, size_t a, size_t b)
{
    return joined(s, a, b, sum);
}

/* Begins a check, without its interval; false if no row has that item. */
static bool begin_check(const um_study *s, const char *item, const um_mean *m,
                        um_expected *e, um_check *c)
{
    bool known = um_expected_find(um_expected_text(s->paper->name), item, e);

    *c = (um_check){.paper = NAN,
                    .ours = m->value,
                    .error = m->error,
                    .z = NAN,
                    .low = NAN,
                    .high = NAN,
                    .note = "has no row in expected.csv"};
    for (size_t i = 0; item[i] && i + 1 < sizeof c->item; i++)
        c->item[i] = item[i];
    if (!known)
        return false;
    c->paper = e->paper;
    c->quoted = !isnan(e->paper) && !e->fitted;
    c->fitted = (e->fitted && !s->fresh) || (c->quoted && s->fitted_world);
    c->errata = e->errata;
    c->is_signed = e->is_signed;
    c->share = e->share;
    c->percent = e->percent;
    c->ratio = e->ratio;
    memcpy(c->note, e->note, sizeof c->note);
    if (e->sd >= 0 && e->rounds > 0 && !isnan(m->error))
        c->z = um_z(m->value, m->error, um_expected_centre(e),
                    e->sd / sqrt(e->rounds));
    return true;
}

static void set_bar(const um_study *s, const um_expected *e, double other,
                    um_check *c)
{
    um_expected_bar(e, c->error, (double)s->rounds, other, &c->low, &c->high);
}

void um_check_value(um_study *s, const char *item, double ours, double error)
{
    um_mean m = {.value = ours, .error = error};

    um_check_mean(s, item, &m);
}

void um_check_mean(um_study *s, const char *item, const um_mean *m)
{
    um_expected e;
    um_check c;

    if (begin_check(s, item, m, &e, &c))
        set_bar(s, &e, 0, &c);
    um_record_check(&s->record, c);
}

void um_check_single(um_study *s, const char *item, const um_mean *m)
{
    um_expected e;
    um_check c;

    if (begin_check(s, item, m, &e, &c)) {
        double width = fmax(e.slack, um_single_spread(m)); /* not NAN */
        c.low = um_expected_centre(&e) - width;
        c.high = um_expected_centre(&e) + width;
        um_expected_clip(&e, &c.low, &c.high);
    }
    um_record_check(&s->record, c);
}

/* Returns the number of events in the row's own rounds; 0 if it is not a
 * count. */
static double events_of_row(const um_study *s, const um_expected *e,
                            double expected)
{
    return e->rounds > 0 ? round(expected * e->rounds / (double)s->rounds) : 0;
}

/* Sets the interval of a count. Returns false if the count is large enough for
 * a normal distribution, or if the row sets the interval. */
static bool set_rare_bar(const um_study *s, const um_expected *e, double unit,
                         um_check *c)
{
    double expected = um_expected_centre(e) / unit;
    double seen = events_of_row(s, e, expected);

    if (!isnan(e->low) || !isnan(e->high) ||
        (expected >= UM_EXACT_EVENTS &&
         (!(e->rounds > 0) || seen >= UM_EXACT_EVENTS)))
        return false;
    if (e->rounds > 0)
        um_poisson_pair_accept(seen, (double)s->rounds / e->rounds,
                               UM_POISSON_LIMIT, &c->low, &c->high);
    else
        um_poisson_accept(expected, UM_POISSON_LIMIT, &c->low, &c->high);
    /* Half an event on both sides, because sums of units are not exact. */
    c->low = fmax(c->low - 0.5, 0) * unit;
    c->high = (c->high + 0.5) * unit;
    c->weak = expected == 0 && c->high >= unit; /* a rare event may pass */
    return true;
}

void um_check_drawn(um_study *s, const char *item, const um_mean *m,
                    double unit, double other)
{
    um_expected e;
    um_check c;

    if (begin_check(s, item, m, &e, &c) && !set_rare_bar(s, &e, unit, &c))
        set_bar(s, &e, other, &c);
    um_record_check(&s->record, c);
}

void um_check_quotient(um_study *s, const char *item, double above,
                       double below, double other_above, double other_below)
{
    um_expected e;
    um_check c;
    um_mean m = {.value = above / below, .error = NAN};
    double low, high;

    if (begin_check(s, item, &m, &e, &c)) {
        um_share_accept(round(above), round(other_below), round(other_above),
                        UM_POISSON_LIMIT, &low, &high);
        /* Half an event on both sides, because weighted events are not
         * whole. */
        c.low = fmax(above / (high + 0.5), 1);
        c.high = low > 0 ? above / (low - 0.5) : INFINITY;
    }
    um_record_check(&s->record, c);
}

void um_check_events(um_study *s, const char *item, const um_mean *m,
                     double unit)
{
    um_check_drawn(s, item, m, unit, 0);
}
