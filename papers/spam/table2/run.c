/*
 * run.c - spam-table2: refined counters grow more slowly: Table II, and two
 * servers that merge (section IV), in library filters of three counters. It is
 * deterministic, so one round is enough.
 */
#include "papers/spam/table.h"

#include <umbel/base.h>
#include <umbel/counting.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 3, OCCURRENCES = 4, BITS = 5 };
enum { INTUITIVE, REFINED, EXTENSIONS };

/* Numbers of the round: the counters after each occurrence, then the merges. */
enum {
    GROWTH_LEN = (OCCURRENCES + 1) * CELLS,
    MERGED = EXTENSIONS * GROWTH_LEN,
    MERGED_PLAIN,
    MERGED_REFINED,
    SUM_OF_COUNTS,
    WIDTH
};

static const char *const names[] = {"intuitive", "refined"};

/* Creates a server's filter with these counters. */
static umbel_status open_server(unsigned update, const uint8_t value[CELLS],
                                umbel_filter **out, umbel_error *err)
{
    umbel_status status = um_spam_open(CELLS, CELLS, BITS, update, 1, out, err);

    if (status != UMBEL_OK)
        return status;
    for (size_t i = 0; i < CELLS; i++)
        um_spam_set_counter(*out, i, value[i]);
    return UMBEL_OK;
}

/* Records the cells of server b before x, and after each occurrence of it. */
static umbel_status grow(unsigned update, double *out, umbel_error *err)
{
    static const uint8_t before[CELLS] = {1, 1, 0};
    umbel_filter *f;
    umbel_status status = open_server(update, before, &f, err);

    if (status != UMBEL_OK)
        return status;
    umbel_digest x = um_spam_spread_key(f);
    for (size_t i = 0; status == UMBEL_OK && i <= OCCURRENCES; i++) {
        for (size_t j = 0; j < CELLS; j++)
            *out++ = (double)um_spam_counter(f, j);
        status = umbel_add_digests(f, &x, 1, NULL, err);
    }
    umbel_close(f);
    return status;
}

/* Merges two servers that see x `times` more times. With `apart` their counts
 * are added instead. */
static umbel_status meet(unsigned update, uint64_t times, bool apart,
                         double *out, umbel_error *err)
{
    static const uint8_t server[2][CELLS] = {{2, 5, 8}, {4, 4, 3}};
    umbel_filter *f[2] = {NULL, NULL};
    uint64_t count[2] = {0};
    umbel_status status = open_server(update, server[0], &f[0], err);

    if (status == UMBEL_OK)
        status = open_server(update, server[1], &f[1], err);
    umbel_digest x = {0};
    for (size_t i = 0; status == UMBEL_OK && i < 2; i++) {
        x = um_spam_spread_key(f[i]);
        status = umbel_add_digest_amounts(f[i], &x, &times, 1, NULL, err);
    }
    if (status == UMBEL_OK && !apart)
        status = umbel_merge(f[0], f[1], UMBEL_ADD, err);
    for (size_t i = 0; status == UMBEL_OK && i < 2; i++)
        status = umbel_count_digests(f[i], &x, 1, &count[i], err);
    *out = (double)(apart ? count[0] + count[1] : count[0]);
    umbel_close(f[0]);
    umbel_close(f[1]);
    return status;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    (void)r;
    for (unsigned i = 0; status == UMBEL_OK && i < EXTENSIONS; i++)
        status = grow(i, out + (size_t)i * GROWTH_LEN, err);
    if (status == UMBEL_OK)
        status = meet(INTUITIVE, 0, false, out + MERGED, err);
    if (status == UMBEL_OK)
        status = meet(INTUITIVE, 1, false, out + MERGED_PLAIN, err);
    if (status == UMBEL_OK)
        status = meet(REFINED, 1, false, out + MERGED_REFINED, err);
    if (status == UMBEL_OK)
        status = meet(INTUITIVE, 0, true, out + SUM_OF_COUNTS, err);
    return status;
}

static void check_growth(um_study *s, unsigned update)
{
    char item[UM_TEXT_LEN];

    for (unsigned x = 0; x <= OCCURRENCES; x++)
        for (size_t i = 0; i < CELLS; i++) {
            snprintf(item, sizeof item, "%s, occurrence %u, cell %zu",
                     names[update], x, i + 1);
            um_check_value(
                s, item, s->numbers[update * GROWTH_LEN + x * CELLS + i], NAN);
        }
}

static void draw(um_study *s)
{
    um_figure *f = um_record_figure(
        &s->record, "growth", "Table II: the least counter of x, and the most",
        "occurrences of x", "counter");

    for (unsigned update = 0; update < EXTENSIONS; update++)
        for (unsigned most = 0; most < 2; most++) {
            char name[UM_TEXT_LEN];
            snprintf(name, sizeof name, "%s, %s", names[update],
                     most ? "greatest" : "least");
            um_series *c = um_figure_series(f, name);
            for (size_t x = 0; x <= OCCURRENCES; x++) {
                const double *at =
                    s->numbers + (size_t)update * GROWTH_LEN + x * CELLS;
                double y = most ? fmax(at[0], fmax(at[1], at[2]))
                                : fmin(at[0], fmin(at[1], at[2]));
                um_series_point(c, (double)x, y, NAN);
            }
        }
}

static void conclude(um_study *s)
{
    check_growth(s, INTUITIVE);
    check_growth(s, REFINED);
    um_check_value(s, "merged count", s->numbers[MERGED], NAN);
    um_check_value(s, "merged count, one more x each, intuitive",
                   s->numbers[MERGED_PLAIN], NAN);
    um_check_value(s, "merged count, one more x each, refined",
                   s->numbers[MERGED_REFINED], NAN);
    um_check_value(s, "sum of the servers' own counts",
                   s->numbers[SUM_OF_COUNTS], NAN);
    draw(s);
    um_record_note(
        &s->record,
        "Addition cell by cell never counts too low, refined or "
        "not; but the minimum of sums is at least the sum of "
        "minima. If a filter is kept for each server and their counts "
        "are added, the result is the 5 that the paper asks for.");
}

const um_paper um_paper_spam_table2 = {
    .name = "spam-table2",
    .source = SPAM_SOURCE "Table II and the merge example",
    .claim = "refined counters grow slower, before and after merging: 6, 8, 7",
    .rounds = 1,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};
