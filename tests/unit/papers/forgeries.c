/*
 * forgeries.c - the search for forgeries: nothing is left out, and what kinds
 * say of their error holds for what it makes.
 */
#include "support/test.h"

#include "base/hash.h"
#include "filter/handle.h"
#include "papers/forgeries/forge.h"

#include <math.h>
#include <string.h>

/* --- what is searched ----------------------------------------------------- */

static bool is_target(const um_kind *kind)
{
    for (size_t i = 0; i < TARGETS; i++)
        if (strcmp(targets[i].kind, kind->name) == 0)
            return true;
    return false;
}

static bool is_drawn(const um_kind *kind, const char *setting)
{
    for (size_t i = 0; i < TARGETS; i++)
        if (strcmp(targets[i].kind, kind->name) == 0 &&
            draws(&targets[i], setting))
            return true;
    return false;
}

static void expect_target(const um_kind *kind)
{
    if (!kind->admissible)
        return;
    if (!is_target(kind))
        print_error("kind %s is no target\n", kind->name);
    assert_true(is_target(kind));
    for (size_t i = 0; i < um_count_settings(kind); i++) {
        const char *name = kind->settings[i].name;
        if (!is_drawn(kind, name))
            print_error("no target draws %s of kind %s\n", name, kind->name);
        assert_true(is_drawn(kind, name));
    }
}

static void every_kind_and_setting_is_a_target(void **state)
{
    (void)state;
    for (size_t i = 0; um_tables.kinds[i]; i++)
        expect_target(um_tables.kinds[i]);
    for (size_t i = 0; um_tables.inner_kinds[i]; i++)
        expect_target(um_tables.inner_kinds[i]);
}

/* With kind bloom, which works on all of them. */
static void every_addressing_is_a_target(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        const char *name = um_addressing_row(i)->name;
        bool found = false;
        for (size_t t = 0; t < TARGETS; t++)
            found |= strcmp(targets[t].kind, "bloom") == 0 &&
                     targets[t].addressing &&
                     strcmp(targets[t].addressing, name) == 0;
        if (!found)
            print_error("addressing %s is no target\n", name);
        assert_true(found);
    }
}

/* --- what kinds say of it --------------------------------------------------
 */

enum { TRIES = 150, ASKED = 4096, BATCH = 256 };

/* Counts strangers that match; whole: their partition is the whole key. */
static double count_strangers(const umbel_filter *f, um_rng *rng, bool whole)
{
    bool part = f->hasher.row->part;
    umbel_digest d[BATCH];
    bool hit[BATCH];
    double hits = 0;

    for (size_t i = 0; i < ASKED; i += BATCH) {
        for (size_t k = 0; k < BATCH; k++) {
            d[k].lo = um_random(rng);
            d[k].hi = !part   ? um_remix(d[k].lo)
                      : whole ? d[k].lo
                              : um_random(rng);
        }
        assert_ok(umbel_query_digests(f, d, BATCH, hit, &test_refusal));
        for (size_t k = 0; k < BATCH; k++)
            hits += hit[k];
    }
    return hits;
}

/* Those of ribbons are exact, except in partitions; of others, right or too
 * high. Cells that may depend on each other are sampled by admission. */
static void what_forged_filters_say_of_strangers_holds(void **state)
{
    (void)state;
    for (size_t t = 0; t < TARGETS; t++)
        for (uint64_t i = 0; i < TRIES; i++) {
            um_rng rng = {1000 * t + i};
            umbel_filter *f = NULL;
            assert_ok(targets[t].forge(&targets[t], &rng, &f, &test_refusal));
            double p = umbel_predict(f), mean = ASKED * p;
            double spread = 5 * sqrt(mean * (1 - p)) + 8; /* of few, too */
            double hits = f->layout.row->dependent
                              ? mean
                              : count_strangers(f, &rng, i & 1);
            bool exact =
                strcmp(targets[t].kind, "ribbon") == 0 && !f->hasher.row->part;
            if (hits > mean + spread || (exact && hits < mean - spread))
                print_error("%s, try %d: %g match, %g expected\n",
                            targets[t].name, (int)i, hits, mean);
            assert_true(hits <= mean + spread);
            assert_true(!exact || hits >= mean - spread);
            umbel_close(f);
        }
}

TEST_GROUP(forgeries)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_and_setting_is_a_target),
        cmocka_unit_test(every_addressing_is_a_target),
        cmocka_unit_test(what_forged_filters_say_of_strangers_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
