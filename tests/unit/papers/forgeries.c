/*
 * forgeries.c - the search for forgeries: nothing is left out, and what kinds
 * say of their error holds for what it makes.
 */
#include "support/test.h"

#include "base/hash.h"
#include "filter/handle.h"
#include "papers/forgeries/forge.h"

#include <math.h>
#include <stdlib.h>
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

/* Random digests. In kind near, those with the print of a stored name, because
 * others do not match: these are `weight` of all. */
typedef struct crowd {
    const umbel_filter *f;
    um_rng *rng;
    bool whole; /* the partition of a key is the whole key */
    uint32_t *print;
    size_t nprints;
    double weight;
} crowd;

static crowd crowd_of(const umbel_filter *f, um_rng *rng, bool whole)
{
    crowd c = {.f = f, .rng = rng, .whole = whole, .weight = 1};

    if (strcmp(umbel_kind(f), "near") == 0) {
        c.print = calloc((size_t)f->layout.cells, sizeof *c.print);
        assert_non_null(c.print);
        c.nprints = near_prints(f, c.print);
        c.weight = ldexp((double)c.nprints, -24);
    }
    return c;
}

static umbel_digest draw_stranger(const crowd *c)
{
    umbel_digest d = {um_random(c->rng), 0};

    if (c->print)
        return near_stranger(c->print, c->nprints, c->rng);
    if (!c->f->hasher.row->part)
        d.hi = um_remix(d.lo);
    else
        d.hi = c->whole ? d.lo : um_random(c->rng);
    return d;
}

static double count_strangers(const crowd *c)
{
    umbel_digest d[BATCH];
    bool hit[BATCH];
    double hits = 0;

    for (size_t i = 0; i < ASKED; i += BATCH) {
        for (size_t k = 0; k < BATCH; k++)
            d[k] = draw_stranger(c);
        assert_ok(umbel_query_digests(c->f, d, BATCH, hit, &test_refusal));
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
            crowd c = crowd_of(f, &rng, i & 1);
            double p = umbel_predict(f) / c.weight, mean = ASKED * p;
            double spread =
                5 * sqrt(mean * fmax(0, 1 - p)) + 8; /* of few, too */
            double hits = f->layout.row->dependent ? mean : count_strangers(&c);
            bool exact =
                strcmp(targets[t].kind, "ribbon") == 0 && !f->hasher.row->part;
            if (hits > mean + spread || (exact && hits < mean - spread))
                print_error("%s, try %d: %g match, %g expected\n",
                            targets[t].name, (int)i, hits, mean);
            assert_true(hits <= mean + spread);
            assert_true(!exact || hits >= mean - spread);
            free(c.print);
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
