/*
 * spam-table2 - counters grow slower when refined: Table II, and two servers
 * that merge (section IV). No chance in it: one round tells all.
 */
#include "papers/spam/cells.h"
#include "papers/spam/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 3, OCCURRENCES = 4, CAP = 31 };

static const uint32_t three[CELLS] = {0, 1, 2};
static const um_spam_list all = {three, CELLS};

/* One of the two extensions. */
typedef struct extension {
    const char *name;
    void (*add)(uint8_t *value, um_spam_list l, unsigned times, unsigned cap);
} extension;

static const extension extensions[] = {{"intuitive", um_spam_add_plain},
                                       {"refined", um_spam_add_refined}};

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    (void)r;
    (void)err;
    *out = 0;
    return UMBEL_OK;
}

/* Server b: its cells before x, and after each occurrence of it. */
static void grow(um_study *s, const extension *e)
{
    uint8_t value[CELLS] = {1, 1, 0};
    char item[UM_TEXT_LEN];

    for (unsigned x = 0; x <= OCCURRENCES; x++) {
        for (size_t i = 0; i < CELLS; i++) {
            snprintf(item, sizeof item, "%s, occurrence %u, cell %zu", e->name,
                     x, i + 1);
            um_check_value(s, item, value[i], NAN);
        }
        e->add(value, all, 1, CAP);
    }
}

static const uint8_t server_a[CELLS] = {2, 5, 8}, server_b[CELLS] = {4, 4, 3};

/* Each server sees x so many times more; then they merge. */
static unsigned merged(const extension *e, unsigned times)
{
    uint8_t a[CELLS], b[CELLS];

    memcpy(a, server_a, sizeof a);
    memcpy(b, server_b, sizeof b);
    e->add(a, all, times, CAP);
    e->add(b, all, times, CAP);
    um_spam_merge(a, b, CELLS, CAP);
    return um_spam_count(a, all);
}

static void conclude(um_study *s)
{
    grow(s, &extensions[0]);
    grow(s, &extensions[1]);
    um_check_value(s, "merged count", merged(&extensions[0], 0), NAN);
    um_check_value(s, "merged count, one more x each, intuitive",
                   merged(&extensions[0], 1), NAN);
    um_check_value(s, "merged count, one more x each, refined",
                   merged(&extensions[1], 1), NAN);
    um_check_value(s, "sum of the servers' own counts",
                   um_spam_count(server_a, all) + um_spam_count(server_b, all),
                   NAN);
    um_record_note(&s->record,
                   "Addition cell by cell never counts too low, refined or "
                   "not; but the minimum of sums is at least the sum of "
                   "minima. Who keeps a filter for each server and adds their "
                   "counts gets the 5 that the paper asks for.");
}

const um_paper um_paper_spam_table2 = {
    .name = "spam-table2",
    .source = SPAM_SOURCE "Table II and the merge example",
    .claim = "refined counters grow slower, before and after merging: 6, 8, 7",
    .rounds = 1,
    .width = 1,
    .round = run_round,
    .conclude = conclude,
};
