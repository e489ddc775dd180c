/*
 * list.c - counts that expire: sums over epochs, each a counting filter.
 *
 * The error of a sum is at most the sum of the errors, so each epoch is sized
 * for error / epochs. It is sized for UM_LIST_BATCH digests more than its
 * capacity, because um_list_is_full is checked between batches, not between
 * digests. Filter j of an epoch that was full, from 1 on, has an error that is
 * (j + 1)^2 times smaller: all of them together add less than 0.65 of the first
 * (the sum of 1 / j^2 is pi^2 / 6).
 *
 * Epochs are numbered by time, so a number means the same epoch on all servers
 * that exchange lists. Time within a list never goes backwards: see
 * um_list_advance.
 *
 * Totals. A count is the sum over all live epochs and costs one lookup in each,
 * but most digests that a server is asked about are below the threshold. The
 * cells of the epochs that have ended are therefore added up (filter/kind.h):
 * one lookup there and one in the newest epoch give an upper bound of the
 * count. Ended epochs never change, and the newest one is always queried
 * itself, so adding a digest costs nothing more. When an epoch ends, the totals
 * are rebuilt in small steps; until they are complete, all epochs are queried.
 * Epochs with an older shape, from before a change of the configuration, cannot
 * be added up, nor can extra filters; then there are no totals.
 *
 * Bytes of a list, in snapshots:
 *
 *   u32 version | u32 filters | u64 epochs that ended early | u64 when the last
 *   one did | for each filter, newest first:
 *     u64 begin | u64 end | u32 threshold | u32 bits | u32 reporter |
 *     u64 digests that strangers reported first | threshold x u64: number of
 *     digests added 1, 2, ... times, threshold times or more | u64 len | len
 *     bytes: the filter's file (FORMAT.md)
 *
 * Version 2 lacks the early ends, bits, reporter and strangers' digests.
 */
#include "store/list.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "filter/envelope.h"
#include "filter/kind.h"
#include "filter/pages.h"
#include "store/internal.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    VERSION = 3, /* of the bytes */
    OLD_VERSION = 2,
    HEAD_LEN = 8,
    EARLY_LEN = 16, /* behind the head, from version 3 on */
    EPOCH_LEN = 20,
    REPORTER_LEN = 16, /* behind it, from version 3 on */
    HISTOGRAM_LEN = 8 * UM_LIST_MAX_THRESHOLD,
    PREFETCH_MAX = 16,     /* larger batches are prefetched by the kind */
    TOTALS_EPOCHS_MIN = 2, /* ended epochs before totals pay off */
    TOTALS_STEP = 4096     /* bytes of a filter, about */
};

/* Who reported the digests of a filter: nobody yet, the network with a tag
 * between these, or several networks, or somebody with an account. */
enum { NOBODY = 0, SEVERAL = UINT16_MAX + 1 };

/* Bits of a filter. UNKNOWN: it has digests from before reporters were
 * recorded. */
enum { EXTRA = 1, UNKNOWN = 2 };

/* A filter of an epoch. */
typedef struct epoch {
    umbel_filter *filter;
    uint64_t begin, end; /* end is 0 for the newest one */
    unsigned bits;
    uint32_t reporter;
    uint64_t anonymous; /* digests that strangers reported first */
    unsigned threshold; /* when the epoch began; 0: none */
    uint64_t histogram[UM_LIST_MAX_THRESHOLD + 1]; /* [j]: number of digests
                                  added j times; the last one: j or more */
} epoch;

/* The epochs that have ended, added up. */
typedef struct totals {
    um_count_totals cells;
    size_t cleared; /* bytes of cells */
    unsigned epoch; /* being added, */
    uint64_t page;  /* from this page on */
    bool complete;
} totals;

struct um_list {
    um_list_config config; /* its name points to name */
    umbel_alloc alloc;
    char name[UM_LIST_MAX_NAME];
    char kind[UM_LIST_MAX_NAME];
    uint8_t secret[UMBEL_SECRET_LEN];
    uint64_t changes;
    uint64_t ended_early, ended_at;
    unsigned n;
    epoch epoch[UM_LIST_MAX_FILTERS]; /* newest first */
    totals totals;
};

/* --- filters -------------------------------------------------------------- */

/* Reports what is wrong with a configuration. */
static umbel_status check_config(const um_list_config *c, umbel_error *err)
{
    if (!umbel_is_counting(c->kind))
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "list %.32s: no counting kind \"%.32s\"", c->name,
                       c->kind);
    if (c->epochs < 1 || c->epochs > UM_LIST_MAX_EPOCHS)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: epochs must be 1..%d, got %u", c->name,
                       UM_LIST_MAX_EPOCHS, c->epochs);
    if (c->capacity < 1 || c->capacity > UM_MAX_CELLS - UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: capacity must be 1..2^48, got %" PRIu64,
                       c->name, c->capacity);
    if (!(c->error > 0 && c->error < 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: error must lie between 0 and 1, got %g",
                       c->name, c->error);
    if (c->threshold > UM_LIST_MAX_THRESHOLD)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: the threshold must be at most %d, got %u",
                       c->name, UM_LIST_MAX_THRESHOLD, c->threshold);
    return UMBEL_OK;
}

/* Returns the number of digests an epoch is meant for, without the spare
 * batch. */
static uint64_t epoch_capacity(const umbel_filter *f)
{
    return f->capacity - UM_LIST_BATCH;
}

const uint8_t *um_list_secret(const um_list *l)
{
    return l->secret;
}

/* Creates filter j of an epoch, from 0 on. */
static umbel_status create_filter(const um_list_config *c,
                                  const uint8_t *secret, unsigned j,
                                  umbel_filter **out, umbel_error *err)
{
    umbel_setting settings[2];
    umbel_params p = {.size = sizeof p,
                      .addressing = c->addressing,
                      .hash = "sip",
                      .secret = secret,
                      .capacity = c->capacity + UM_LIST_BATCH,
                      .fpr = c->error / c->epochs / ((j + 1.0) * (j + 1.0)),
                      .hashes = c->hashes,
                      .settings = settings,
                      .exact_size = true,
                      .alloc = c->alloc};

    UM_TRY(check_config(c, err));
    if (c->cell_bits)
        settings[p.nsettings++] = (umbel_setting){"cell_bits", c->cell_bits};
    if (c->refined)
        settings[p.nsettings++] = (umbel_setting){"update", 1};
    return umbel_create(c->kind, &p, out, err);
}

umbel_status um_list_config_filter(const um_list_config *c,
                                   const uint8_t *secret, umbel_filter **out,
                                   umbel_error *err)
{
    return create_filter(c, secret, 0, out, err);
}

umbel_status um_list_create_filter(const um_list *l, umbel_filter **out,
                                   umbel_error *err)
{
    return um_list_config_filter(&l->config, l->secret, out, err);
}

/* Returns the number of the epoch at a time; 0 if epochs have no length. */
static uint64_t number_at(const um_list *l, uint64_t time)
{
    uint64_t length = l->config.epoch_seconds;
    return length ? time / length : 0;
}

unsigned um_list_epochs(const um_list *l)
{
    return l->n;
}

uint64_t um_list_epoch_number(const um_list *l, unsigned i)
{
    return number_at(l, l->epoch[i].begin);
}

const umbel_filter *um_list_filter(const um_list *l, unsigned i)
{
    return l->epoch[i].filter;
}

bool um_list_is_extra(const um_list *l, unsigned i)
{
    return l->epoch[i].bits & EXTRA;
}

/* Returns the number of filters of the newest epoch: its first one, and those
 * that were added when it was full. */
static unsigned newest_filters(const um_list *l)
{
    unsigned n = 0;

    while (n + 1 < l->n && um_list_is_extra(l, n))
        n++;
    return n + 1;
}

/* --- totals --------------------------------------------------------------- */

static const um_row_totals *row_of(const um_list *l)
{
    return l->epoch[1].filter->kind->totals;
}

static bool can_be_summed(const um_list *l)
{
    if (l->n <= TOTALS_EPOCHS_MIN || !row_of(l))
        return false;
    for (unsigned i = 0; i < l->n; i++)
        if (um_list_is_extra(l, i))
            return false; /* filters behind the newest one change, too */
    for (unsigned i = 2; i < l->n; i++)
        if (umbel_same_shape(l->epoch[i].filter, l->epoch[1].filter, NULL) !=
            UMBEL_OK)
            return false;
    return true;
}

static void free_totals(um_list *l)
{
    um_put(&l->alloc, l->totals.cells.at, l->totals.cells.len);
    l->totals = (totals){.complete = false};
}

/* Discards the totals after an epoch has ended or was dropped. */
static void restart_totals(um_list *l)
{
    l->totals.complete = false;
    l->totals.cleared = 0;
    l->totals.epoch = 1;
    l->totals.page = 0;
}

/* Allocates cells for the current shape, if they fit into the space. */
static bool reserve_totals(um_list *l, uint64_t space)
{
    uint64_t len = row_of(l)->len(l->epoch[1].filter->self);

    if (l->totals.cells.len == len)
        return true;
    space += l->totals.cells.len;
    free_totals(l);
    restart_totals(l);
    if (len > space)
        return false;
    l->totals.cells.at = um_get(&l->alloc, (size_t)len);
    l->totals.cells.len = l->totals.cells.at ? (size_t)len : 0;
    return l->totals.cells.at;
}

static size_t clear_some(totals *s, size_t max)
{
    size_t left = s->cells.len - s->cleared, some = left < max ? left : max;

    memset(s->cells.at + s->cleared, 0, some);
    s->cleared += some;
    return some;
}

static void add_pages(um_list *l, const um_pages *pages, size_t max)
{
    totals *s = &l->totals;
    const um_row_totals *row = row_of(l);

    for (size_t done = 0; s->epoch < l->n && done < max;) {
        um_page p = um_page_of(pages, s->page);
        row->add(l->epoch[s->epoch].filter->self, &s->cells, NULL, p.offset,
                 p.len);
        done += p.len;
        if (++s->page == pages->n) {
            s->page = 0;
            s->epoch++;
        }
    }
    s->complete = s->epoch == l->n;
}

bool um_list_build_totals(um_list *l, uint64_t space, size_t bytes)
{
    um_pages pages;

    if (l->totals.complete || !can_be_summed(l) || !reserve_totals(l, space) ||
        um_pages_init(&pages, um_shape_of(l->epoch[1].filter), TOTALS_STEP,
                      NULL) != UMBEL_OK)
        return false;
    add_pages(l, &pages, bytes - clear_some(&l->totals, bytes));
    return !l->totals.complete;
}

size_t um_list_totals_bytes(const um_list *l)
{
    return l->totals.cells.len;
}

static void bound_ended(const um_list *l, const umbel_digest *d, size_t n,
                        uint8_t *bound)
{
    row_of(l)->bound(l->epoch[1].filter->self, &l->totals.cells, d, n, bound);
}

static void add_bounds(const uint8_t *ended, size_t n, uint64_t *bound)
{
    for (size_t i = 0; i < n; i++)
        bound[i] =
            ended[i] == UM_TOTAL_MAX || bound[i] > UINT64_MAX - UM_TOTAL_MAX
                ? UINT64_MAX
                : bound[i] + ended[i];
}

bool um_list_upper_bound(const um_list *l, const umbel_digest *d, size_t n,
                         uint64_t *bound)
{
    uint8_t ended[UM_LIST_BATCH];

    if (!l->totals.complete) {
        um_list_count(l, d, n, bound);
        return true;
    }
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < UM_LIST_BATCH ? n - i : UM_LIST_BATCH;
        um_fetch_counts(l->epoch[0].filter, d + i, some);
        bound_ended(l, d + i, some, ended);
        umbel_count_digests(l->epoch[0].filter, d + i, some, bound + i, NULL);
        add_bounds(ended, some, bound + i);
    }
    return false;
}

/* --- epochs --------------------------------------------------------------- */

/* Closes all epochs from number `from` on. */
static void drop_epochs(um_list *l, unsigned from)
{
    while (l->n > from)
        umbel_close(l->epoch[--l->n].filter);
}

static bool is_full(const epoch *e)
{
    return umbel_added(e->filter) >= epoch_capacity(e->filter);
}

bool um_list_is_full(const um_list *l)
{
    return is_full(&l->epoch[0]);
}

bool um_list_is_over(const um_list *l, uint64_t now)
{
    return number_at(l, now) > um_list_epoch_number(l, 0);
}

bool um_list_holds(const um_list *l)
{
    return l->config.hold;
}

bool um_list_is_held(const um_list *l)
{
    return um_list_holds(l) && is_full(&l->epoch[0]);
}

/* Returns the filter of the newest epoch that contains a digest; NULL: none. */
static epoch *find_newest(um_list *l, const umbel_digest *d)
{
    unsigned n = newest_filters(l);
    uint64_t count;

    for (unsigned i = 0; i < n; i++) {
        umbel_count_digests(l->epoch[i].filter, d, 1, &count, NULL);
        if (count)
            return &l->epoch[i];
    }
    return NULL;
}

bool um_list_newest_contains(const um_list *l, const umbel_digest *d)
{
    unsigned n = newest_filters(l);
    uint64_t count = 0;

    for (unsigned i = 0; i < n && !count; i++)
        umbel_count_digests(l->epoch[i].filter, d, 1, &count, NULL);
    return count != 0;
}

size_t um_list_space(const um_list *l)
{
    const umbel_filter *f = l->epoch[0].filter;
    uint64_t added = umbel_added(f);

    return added < f->capacity ? (size_t)(f->capacity - added) : 0;
}

uint64_t um_list_epoch_end(const um_list *l)
{
    uint64_t length = l->config.epoch_seconds,
             number = um_list_epoch_number(l, 0);

    return length && number < UINT64_MAX / length ? (number + 1) * length
                                                  : UINT64_MAX;
}

/* Returns the number of filters, newest first, that belong to that many
 * epochs. */
static unsigned filters_of_epochs(const um_list *l, unsigned epochs)
{
    unsigned n = 0, begun = 0;

    while (n < l->n && begun < epochs)
        begun += !um_list_is_extra(l, n++);
    return n;
}

/*
 * Returns the number of filters that stay beside a new one. An old epoch is
 * dropped when its time is over, even if the list was not advanced meanwhile.
 * If the newest one ends early, the list drops one filter for the new one, once
 * it has all its epochs.
 */
static unsigned count_kept(const um_list *l, uint64_t now)
{
    uint64_t number = number_at(l, now);
    unsigned kept = filters_of_epochs(l, l->config.epochs - 1);

    if (l->n && !um_list_is_over(l, now))
        return kept == l->n ? l->n : l->n - 1;
    while (kept &&
           number - um_list_epoch_number(l, kept - 1) >= l->config.epochs)
        kept--;
    return kept;
}

/* Returns the time at which the newest epoch ends: the end of its time, or now
 * if it is full. */
static uint64_t end_of(const um_list *l, uint64_t now)
{
    uint64_t over = um_list_epoch_end(l);

    return now < over ? now : over;
}

static void begin_filter(um_list *l, umbel_filter *fresh, unsigned bits,
                         uint64_t now)
{
    drop_epochs(l, UM_LIST_MAX_FILTERS - 1);
    memmove(l->epoch + 1, l->epoch, l->n * sizeof *l->epoch);
    l->epoch[0] = (epoch){.filter = fresh,
                          .begin = now,
                          .bits = bits,
                          .threshold = l->config.threshold};
    l->n++;
    restart_totals(l);
}

/* Ends the newest filter; returns the time, which is not before its begin. */
static uint64_t end_newest(um_list *l, uint64_t now)
{
    now = now > l->epoch[0].begin ? now : l->epoch[0].begin;
    l->epoch[0].end = end_of(l, now);
    return now;
}

umbel_status um_list_advance(um_list *l, uint64_t now, umbel_error *err)
{
    umbel_filter *fresh;

    UM_TRY(um_list_create_filter(l, &fresh, err));
    if (l->n) {
        now = end_newest(l, now);
        if (!um_list_is_over(l, now)) {
            l->ended_early++;
            l->ended_at = now;
        }
    }
    drop_epochs(l, count_kept(l, now));
    begin_filter(l, fresh, 0, now);
    return UMBEL_OK;
}

/* Leaves space for one filter of each epoch that may begin while these live. */
bool um_list_can_extend(const um_list *l)
{
    return l->n + l->config.epochs <= UM_LIST_MAX_FILTERS;
}

umbel_status um_list_extend(um_list *l, uint64_t now, umbel_error *err)
{
    umbel_filter *fresh;

    UM_TRY(
        create_filter(&l->config, l->secret, newest_filters(l), &fresh, err));
    begin_filter(l, fresh, EXTRA, end_newest(l, now));
    return UMBEL_OK;
}

uint64_t um_list_filter_bytes(const um_list *l)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < l->n; i++)
        bytes += l->epoch[i].filter->payload_len;
    return bytes;
}

uint64_t um_list_extra_bytes(const um_list *l)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < l->n; i++)
        if (um_list_is_extra(l, i))
            bytes += l->epoch[i].filter->payload_len;
    return bytes;
}

uint64_t um_list_newest_bytes(const um_list *l)
{
    return l->epoch[0].filter->payload_len;
}

/* Extra filters count on this server only: no peer has them. */
void um_list_reset(um_list *l, umbel_filter *fresh, uint64_t now)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < l->n; i++)
        if (um_list_is_extra(l, i))
            l->epoch[kept++] = l->epoch[i];
        else
            umbel_close(l->epoch[i].filter);
    l->n = kept;
    if (kept)
        end_newest(l, now);
    begin_filter(l, fresh, 0, now);
}

/* --- reporters ------------------------------------------------------------ */

uint64_t um_list_capacity(const um_list *l)
{
    return epoch_capacity(l->epoch[newest_filters(l) - 1].filter);
}

uint64_t um_list_newest_digests(const um_list *l)
{
    uint64_t digests = 0;

    for (unsigned i = newest_filters(l); i-- > 0;)
        digests += umbel_added(l->epoch[i].filter);
    return digests;
}

uint64_t um_list_anonymous(const um_list *l)
{
    uint64_t digests = 0;

    for (unsigned i = newest_filters(l); i-- > 0;)
        digests += l->epoch[i].anonymous;
    return digests;
}

bool um_list_is_sole(const um_list *l, uint16_t reporter, bool certain)
{
    uint32_t one = reporter;

    for (unsigned i = 0; i < l->n; i++) {
        const epoch *e = &l->epoch[i];
        if (certain && e->bits & UNKNOWN)
            return false;
        if (e->reporter == NOBODY)
            continue;
        if (one == NOBODY)
            one = e->reporter;
        if (e->reporter != one || one == SEVERAL)
            return false;
    }
    return true;
}

static void record_reporter(epoch *e, uint16_t reporter)
{
    if (reporter == NOBODY ||
        (e->reporter != NOBODY && e->reporter != reporter))
        e->reporter = SEVERAL;
    else
        e->reporter = reporter;
}

/* --- open and close ------------------------------------------------------- */

/* Creates a list without epochs. */
static umbel_status create_list(const um_list_config *c, const uint8_t *secret,
                                um_list **out, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(c->alloc);

    UM_TRY(check_config(c, err));
    um_list *l = um_get(&alloc, sizeof *l);
    if (!l)
        return um_no_memory(err, sizeof *l);
    l->config = *c;
    l->alloc = alloc;
    snprintf(l->name, sizeof l->name, "%s", c->name);
    snprintf(l->kind, sizeof l->kind, "%s", c->kind);
    l->config.name = l->name;
    l->config.kind = l->kind;
    l->config.alloc = &l->alloc;
    memcpy(l->secret, secret, sizeof l->secret);
    *out = l;
    return UMBEL_OK;
}

umbel_status um_list_open(const um_list_config *c, const uint8_t *secret,
                          uint64_t now, um_list **out, umbel_error *err)
{
    um_list *l;

    UM_TRY(create_list(c, secret, &l, err));
    umbel_status status = um_list_advance(l, now, err);
    if (status == UMBEL_OK)
        *out = l;
    else
        um_list_close(l);
    return status;
}

void um_list_close(um_list *l)
{
    if (!l)
        return;
    drop_epochs(l, 0);
    free_totals(l);
    umbel_alloc alloc = l->alloc;
    um_put(&alloc, l, sizeof *l);
}

/* --- digests -------------------------------------------------------------- */

void um_list_digest(const um_list *l, const umbel_slice *keys, size_t n,
                    umbel_digest *out)
{
    umbel_digest_many(l->epoch[0].filter, keys, n, out, NULL);
}

/* Updates the histogram: the count of a digest has changed from `from` to
 * `to`. */
static void move_count(epoch *e, uint64_t from, uint64_t to)
{
    from = from < e->threshold ? from : e->threshold;
    to = to < e->threshold ? to : e->threshold;
    if (e->histogram[from] && from)
        e->histogram[from]--;
    e->histogram[to]++;
}

/* Adds to one filter, one digest at a time, because one may occur twice in d.
 */
static umbel_status add_with_histogram(epoch *e, const umbel_digest *d,
                                       const uint64_t *amount, size_t n,
                                       bool *fresh, umbel_error *err)
{
    um_fetch_counts(e->filter, d, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t before, after;
        umbel_count_digests(e->filter, d + i, 1, &before, NULL);
        UM_TRY(umbel_add_digest_amounts(e->filter, d + i, amount + i, 1,
                                        fresh + i, err));
        after = before + amount[i];
        if (after > before)
            move_count(e, before, after);
    }
    return UMBEL_OK;
}

static umbel_status add_to(epoch *e, const umbel_digest *d,
                           const uint64_t *amount, const uint16_t *reporter,
                           size_t n, umbel_error *err)
{
    bool fresh[UM_LIST_BATCH];
    umbel_status status =
        e->threshold
            ? add_with_histogram(e, d, amount, n, fresh, err)
            : umbel_add_digest_amounts(e->filter, d, amount, n, fresh, err);

    for (size_t i = 0; status == UMBEL_OK && i < n; i++) {
        uint16_t from = reporter ? reporter[i] : 0;
        record_reporter(e, from);
        e->anonymous += from && fresh[i];
    }
    return status;
}

umbel_status um_list_add_reports(um_list *l, const umbel_digest *d,
                                 const uint32_t *amount,
                                 const uint16_t *reporter, size_t n,
                                 umbel_error *err)
{
    uint64_t wide[UM_LIST_BATCH];

    if (n > UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_RANGE, "at most %d digests, got %zu",
                       UM_LIST_BATCH, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = amount[i];
    l->changes++;
    if (newest_filters(l) == 1)
        return add_to(&l->epoch[0], d, wide, reporter, n, err);
    for (size_t i = 0; i < n; i++) {
        epoch *e = find_newest(l, d + i);
        UM_TRY(add_to(e ? e : &l->epoch[0], d + i, wide + i,
                      reporter ? reporter + i : NULL, 1, err));
    }
    return UMBEL_OK;
}

umbel_status um_list_add(um_list *l, const umbel_digest *d,
                         const uint32_t *amount, size_t n, umbel_error *err)
{
    return um_list_add_reports(l, d, amount, NULL, n, err);
}

/* --- mails ---------------------------------------------------------------- */

/* Returns the place of the filter of the newest epoch that has a record for the
 * mail; without one, the newest filter. */
static unsigned mail_filter(const um_list *l, const um_near_write *w)
{
    unsigned n = newest_filters(l);

    for (unsigned i = 0; i < n; i++)
        if (!um_near_needs_record(l->epoch[i].filter, w))
            return i;
    return 0;
}

const umbel_filter *um_list_mail_filter(const um_list *l,
                                        const um_near_write *w)
{
    return l->epoch[mail_filter(l, w)].filter;
}

umbel_status um_list_write_mail(um_list *l, const um_near_write *w,
                                umbel_error *err)
{
    if (!um_is_near(l->epoch[0].filter))
        return um_fail(err, UMBEL_E_UNSUPPORTED, "list %s holds no mails",
                       l->name);
    epoch *e = &l->epoch[mail_filter(l, w)];
    l->changes++;
    record_reporter(e, 0);
    return um_near_append(e->filter, w, err);
}

bool um_list_has_space(const um_list *l, const um_near_write *w)
{
    return um_is_near(l->epoch[0].filter) &&
           (!is_full(&l->epoch[0]) ||
            !um_near_needs_record(um_list_mail_filter(l, w), w));
}

/* --- counts --------------------------------------------------------------- */

uint64_t um_list_changes(const um_list *l)
{
    return l->changes;
}

void um_list_fetch(const um_list *l, const umbel_digest *d, size_t n)
{
    for (unsigned e = 0; e < l->n; e++)
        um_fetch_counts(l->epoch[e].filter, d, n);
}

static void count_batch(const um_list *l, const umbel_digest *d, size_t n,
                        uint64_t *count)
{
    uint64_t some[UM_LIST_BATCH];

    if (n <= PREFETCH_MAX)
        um_list_fetch(l, d, n);
    umbel_count_digests(l->epoch[0].filter, d, n, count, NULL);
    for (unsigned e = 1; e < l->n; e++) {
        umbel_count_digests(l->epoch[e].filter, d, n, some, NULL);
        for (size_t i = 0; i < n; i++)
            count[i] += some[i];
    }
}

void um_list_count(const um_list *l, const umbel_digest *d, size_t n,
                   uint64_t *count)
{
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < UM_LIST_BATCH ? n - i : UM_LIST_BATCH;
        count_batch(l, d + i, some, count + i);
    }
}

unsigned um_list_count_epochs(const um_list *l, const umbel_digest *d,
                              uint64_t count[UM_LIST_MAX_FILTERS])
{
    for (unsigned e = 0; e < l->n; e++)
        umbel_count_digests(l->epoch[e].filter, d, 1, &count[e], NULL);
    return l->n;
}

uint64_t um_list_oldest_begin(const um_list *l)
{
    return l->epoch[l->n - 1].begin;
}

bool um_list_times(const um_list *l, const umbel_digest *d, uint64_t now,
                   uint64_t *entered, uint64_t *updated)
{
    bool found = false;
    uint64_t count[UM_LIST_MAX_FILTERS];
    unsigned n = um_list_count_epochs(l, d, count);

    for (unsigned e = 0; e < n; e++) {
        if (!count[e])
            continue;
        if (!found)
            *updated = e < newest_filters(l) ? now : l->epoch[e].end;
        *entered = l->epoch[e].begin;
        found = true;
    }
    return found;
}

/* --- statistics ----------------------------------------------------------- */

static void epoch_stats(const epoch *e, um_epoch_stats *out)
{
    uint64_t digests = umbel_added(e->filter);
    umbel_count_plan plan = {0};

    if (e->threshold)
        um_plan_times(um_shape_of(e->filter), e->threshold, e->histogram, &plan,
                      NULL);

    *out = (um_epoch_stats){.begin = e->begin,
                            .end = e->end,
                            .digests = digests,
                            .capacity = epoch_capacity(e->filter),
                            .error = umbel_fpr_at(e->filter, (double)digests),
                            .f_compound = plan.f_compound,
                            .f_paper = plan.f_paper};
}

void um_list_fullness_get(const um_list *l, um_list_stats *out)
{
    *out = (um_list_stats){.name = l->name,
                           .kind = l->kind,
                           .capacity = um_list_capacity(l),
                           .anonymous = um_list_anonymous(l),
                           .sole = um_list_is_sole(l, 0, false),
                           .most_filters = !um_list_can_extend(l),
                           .ended_early = l->ended_early,
                           .ended_at = l->ended_at,
                           .held = um_list_is_held(l),
                           .epoch_end = um_list_epoch_end(l),
                           .n = l->n};
    for (unsigned i = 0; i < l->n; i++)
        out->extra += um_list_is_extra(l, i);
    out->fill = (double)um_list_newest_digests(l) / (double)out->capacity;
}

void um_list_stats_get(const um_list *l, um_list_stats *out)
{
    um_list_fullness_get(l, out);
    out->max_error = l->config.error;
    out->count_limit = UINT64_MAX;
    out->bytes = sizeof *l + l->totals.cells.len;
    out->threshold = l->config.threshold;
    for (unsigned i = 0; i < l->n; i++) {
        const umbel_filter *f = l->epoch[i].filter;
        uint64_t limit = umbel_count_limit(f);
        epoch_stats(&l->epoch[i], &out->epoch[i]);
        out->digests += out->epoch[i].digests;
        out->error += out->epoch[i].error;
        out->f_compound += out->epoch[i].f_compound;
        out->f_paper += out->epoch[i].f_paper;
        out->bytes += f->payload_len + sizeof *f;
        if (limit < out->count_limit)
            out->count_limit = limit;
    }
}

/* --- bytes ---------------------------------------------------------------- */

static umbel_status write_epoch(const epoch *e, const um_sink *to,
                                umbel_error *err)
{
    um_parts parts;
    uint8_t head[EPOCH_LEN + REPORTER_LEN + HISTOGRAM_LEN + 8];
    um_writer w = {head, head + sizeof head, false};

    UM_TRY(um_parts_init(&parts, e->filter, err));
    um_write_u64(&w, e->begin);
    um_write_u64(&w, e->end);
    um_write_u32(&w, e->threshold);
    um_write_u32(&w, e->bits);
    um_write_u32(&w, e->reporter);
    um_write_u64(&w, e->anonymous);
    for (unsigned j = 1; j <= e->threshold; j++)
        um_write_u64(&w, e->histogram[j]);
    um_write_u64(&w, parts.part[0].len + parts.part[1].len);
    umbel_status status = um_sink_write(to, head, (size_t)(w.at - head), err);
    for (int i = 0; i < 2 && status == UMBEL_OK; i++)
        status = um_sink_write(to, parts.part[i].data, parts.part[i].len, err);
    um_parts_fini(&parts, e->filter);
    return status;
}

umbel_status um_list_encode(const um_list *l, const um_sink *to,
                            umbel_error *err)
{
    uint8_t head[HEAD_LEN + EARLY_LEN];
    um_writer w = {head, head + sizeof head, false};

    um_write_u32(&w, VERSION);
    um_write_u32(&w, l->n);
    um_write_u64(&w, l->ended_early);
    um_write_u64(&w, l->ended_at);
    UM_TRY(um_sink_write(to, head, sizeof head, err));
    for (unsigned i = 0; i < l->n; i++)
        UM_TRY(write_epoch(&l->epoch[i], to, err));
    return UMBEL_OK;
}

/* Reports a wrong length. If the checksum was right, the bytes were written by
 * another version of the kind, with another layout. */
static umbel_status check_layout(const um_list *l, const um_feed *from,
                                 uint64_t len, const um_head *head,
                                 umbel_error *err)
{
    uint64_t want = (uint64_t)head->len + head->stored_len;

    if (!from->checked || len == want)
        return um_check_len(head, len, err);
    return um_fail(err, UMBEL_E_VERSION,
                   "list %s was written by another version of this program "
                   "(%" PRIu64 " bytes of kind %s where this one has %" PRIu64
                   "): use that version, or set data to an empty directory",
                   l->name, len, head->shape.kind->name, want);
}

static umbel_status get_head(const um_list *l, um_feed *from, uint64_t len,
                             um_head *head, umbel_error *err)
{
    uint8_t bytes[UM_HEAD_MAX];
    size_t want;

    UM_TRY(um_feed_get(from, bytes, UM_HEAD_START, err));
    UM_TRY(um_head_len(bytes, UM_HEAD_START, &want, err));
    UM_TRY(um_feed_get(from, bytes + UM_HEAD_START, want - UM_HEAD_START, err));
    UM_TRY(um_head_decode(bytes, want, head, err));
    return check_layout(l, from, len, head, err);
}

/* Accepts only what um_list_encode writes: raw counting filters that were made
 * for a capacity. */
static umbel_status check_epoch(const um_list *l, const um_shape *s,
                                umbel_error *err)
{
    if (s->coded || !s->kind->counting || s->capacity <= UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: a filter of kind %s cannot be an epoch",
                       l->name, s->kind->name);
    if (strcmp(s->hash->name, "sip") != 0 || s->seed)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: an epoch with hash %s and seed %" PRIu64,
                       l->name, s->hash->name, s->seed);
    return UMBEL_OK;
}

static umbel_status get_filter(um_list *l, um_feed *from, uint64_t len,
                               umbel_filter **out, umbel_error *err)
{
    umbel_source source = {.size = sizeof source,
                           .verify = !from->checked,
                           .secret = l->secret,
                           .alloc = &l->alloc};
    um_head head;

    UM_TRY(get_head(l, from, len, &head, err));
    UM_TRY(check_epoch(l, &head.shape, err));
    if (head.stored_len > from->left)
        return um_fail(err, UMBEL_E_FORMAT, "list %s is cut short", l->name);
    um_memory memory = {um_get(&l->alloc, head.stored_len), head.stored_len,
                        false};
    if (!memory.base)
        return um_no_memory(err, memory.len);
    umbel_status status = um_feed_get(from, memory.base, memory.len, err);
    if (status != UMBEL_OK) {
        um_memory_free(&memory, &l->alloc);
        return status;
    }
    return um_filter_from_payload(&head, memory.base, memory, &source, out,
                                  err);
}

/* Reads the histogram and the length of the filter that follows. */
static umbel_status get_histogram(um_feed *from, epoch *e, uint64_t *len,
                                  umbel_error *err)
{
    uint8_t bytes[HISTOGRAM_LEN + 8];
    size_t want = 8 * ((size_t)e->threshold + 1);
    um_reader r = {bytes, bytes + want, false};

    UM_TRY(um_feed_get(from, bytes, want, err));
    for (unsigned j = 1; j <= e->threshold; j++)
        e->histogram[j] = um_get_u64(&r);
    *len = um_get_u64(&r);
    return UMBEL_OK;
}

/* Reads who reported the digests of a filter. Version 2 does not say. */
static umbel_status get_reporter(const um_list *l, um_feed *from,
                                 uint32_t version, epoch *e, umbel_error *err)
{
    uint8_t bytes[REPORTER_LEN];
    um_reader r = {bytes, bytes + sizeof bytes, false};

    e->bits = UNKNOWN;
    if (version == OLD_VERSION)
        return UMBEL_OK;
    UM_TRY(um_feed_get(from, bytes, sizeof bytes, err));
    e->bits = um_get_u32(&r);
    e->reporter = um_get_u32(&r);
    e->anonymous = um_get_u64(&r);
    if (e->bits > (EXTRA | UNKNOWN) || e->reporter > SEVERAL)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: a filter with bits %u and reporter %" PRIu32,
                       l->name, e->bits, e->reporter);
    return UMBEL_OK;
}

static umbel_status get_epoch(um_list *l, um_feed *from, uint32_t version,
                              umbel_error *err)
{
    uint8_t head[EPOCH_LEN];
    um_reader r = {head, head + sizeof head, false};
    epoch e = {0};
    uint64_t len;

    UM_TRY(um_feed_get(from, head, sizeof head, err));
    e.begin = um_get_u64(&r);
    e.end = um_get_u64(&r);
    e.threshold = um_get_u32(&r);
    if (e.threshold > UM_LIST_MAX_THRESHOLD)
        return um_fail(err, UMBEL_E_FORMAT, "list %s: a threshold of %u",
                       l->name, e.threshold);
    if (l->n ? e.end < e.begin : e.end != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: an epoch from %" PRIu64 " to %" PRIu64,
                       l->name, e.begin, e.end);
    UM_TRY(get_reporter(l, from, version, &e, err));
    UM_TRY(get_histogram(from, &e, &len, err));
    UM_TRY(get_filter(l, from, len, &e.filter, err));
    l->epoch[l->n++] = e;
    return UMBEL_OK;
}

static umbel_status get_early(um_list *l, um_feed *from, umbel_error *err)
{
    uint8_t bytes[EARLY_LEN];
    um_reader r = {bytes, bytes + sizeof bytes, false};

    UM_TRY(um_feed_get(from, bytes, sizeof bytes, err));
    l->ended_early = um_get_u64(&r);
    l->ended_at = um_get_u64(&r);
    return UMBEL_OK;
}

static umbel_status get_epochs(um_list *l, um_feed *from, umbel_error *err)
{
    uint8_t head[HEAD_LEN];
    um_reader r = {head, head + sizeof head, false};

    UM_TRY(um_feed_get(from, head, sizeof head, err));
    uint32_t version = um_get_u32(&r), n = um_get_u32(&r);
    if (version != VERSION && version != OLD_VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "list %s was written in version %" PRIu32
                       "; this program reads versions %d and %d",
                       l->name, version, OLD_VERSION, VERSION);
    if (n < 1 || n > UM_LIST_MAX_FILTERS)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s cannot have %" PRIu32 " filters", l->name, n);
    if (version != OLD_VERSION)
        UM_TRY(get_early(l, from, err));
    while (n--)
        UM_TRY(get_epoch(l, from, version, err));
    unsigned keep = filters_of_epochs(l, l->config.epochs), end = keep;
    /* After an early end, the last filters may be extra ones whose epoch has
     * lost its first. */
    while (end < l->n && um_list_is_extra(l, end))
        end++;
    drop_epochs(l, end == l->n ? end : keep);
    return UMBEL_OK;
}

umbel_status um_list_decode(const um_list_config *c, const uint8_t *secret,
                            um_feed *from, um_list **out, umbel_error *err)
{
    um_list *l;

    UM_TRY(create_list(c, secret, &l, err));
    umbel_status status = get_epochs(l, from, err);
    if (status == UMBEL_OK)
        *out = l;
    else
        um_list_close(l);
    return status;
}
