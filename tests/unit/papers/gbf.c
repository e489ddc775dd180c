/*
 * gbf.c - the paper's generalized filter: its equations, its definition and the
 * hole in it.
 */
#include "support/test.h"

#include "papers/frame/expected.h"
#include "papers/gbf/model/figure.h"
#include "papers/gbf/model/table.h"
#include "papers/gbf/traceback/packet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- equations -------------------------------------------------------------*/

static void a_filter_that_resets_nothing_is_a_standard_one(void **state)
{
    um_gbf g = {.p0 = 1, .k0 = 0, .k1 = 5, .m = 4096, .n = 300};

    (void)state;
    assert_near(um_gbf_fp(&g), um_gbf_plain_fp(&g), 1e-12);
    assert_near(um_gbf_fn(&g), 0, 1e-12);
    assert_near(um_gbf_fn_bound(&g), 0, 1e-12);
    assert_near(um_gbf_hole(&g), 0, 1e-12);
    assert_near(um_gbf_fp_bound(&g), 1, 1e-12);
}

static void zeros_and_ones_are_mirrors(void **state)
{
    um_gbf g = {.p0 = 0.3, .k0 = 2, .k1 = 5, .m = 4096, .n = 300};
    um_gbf mirror = {.p0 = 0.7, .k0 = 5, .k1 = 2, .m = 4096, .n = 300};

    (void)state;
    assert_near(um_gbf_zeros_distinct(&g), 1 - um_gbf_zeros_distinct(&mirror),
                1e-12);
    assert_near(um_gbf_fn_distinct_at(&g, 9), um_gbf_fn_distinct_at(&mirror, 9),
                1e-12);
    assert_near(um_gbf_accepts_distinct(&g, 1000),
                um_gbf_accepts_distinct(&mirror, 3096), 1e-12);
}

/* Equation 27: a start with k0 / (k0 + k1) zeros stays there. */
static void the_worst_start_stays_at_the_bound(void **state)
{
    um_gbf g = {.p0 = 0.4, .k0 = 2, .k1 = 3, .m = 1 << 16, .n = 0};

    (void)state;
    for (g.n = 1; g.n < 1 << 20; g.n *= 4)
        assert_near(um_gbf_fp(&g), um_gbf_fp_bound(&g), 1e-7);
    g.p0 = 1;
    assert_near(um_gbf_fp(&g), um_gbf_fp_bound(&g), 1e-6); /* steady */
}

static void no_content_accepts_more_than_the_bound(void **state)
{
    um_gbf g = {.k0 = 4, .k1 = 4, .m = 512};
    double most = 0;

    (void)state;
    for (uint32_t zeros = 0; zeros <= g.m; zeros++) {
        double p = (double)zeros / g.m;
        assert_true(um_gbf_accepts(&g, p) <= um_gbf_fp_bound(&g) + 1e-15);
        most = fmax(most, um_gbf_accepts_distinct(&g, zeros));
    }
    assert_near(most, 0.003937, 1e-6); /* 0.8 % above equation 19 */
    assert_near(um_gbf_accepts_distinct(&g, 3), 0, 0);
    assert_near(um_gbf_accepts_distinct(&g, 509), 0, 0);
}

/* Table 7 distinguishes them: with b0 and b1 four cells would be off. */
static void the_tables_ask_for_equation_16(void **state)
{
    um_gbf g = {1, 1, 355, 131072, 256};

    (void)state;
    assert_near(um_gbf_fp(&g), 5.4e-108, 0.1e-108);
    assert_true(um_gbf_fp_eq8(&g) > 7.4e-108);
}

/* --- the definition --------------------------------------------------------*/

static void reset_wins_and_the_element_is_lost(void **state)
{
    static const uint32_t apart[] = {1, 2, 3, 4}, meet[] = {1, 2, 2, 4};
    uint8_t bits[8] = {0x06};

    (void)state;
    um_gbf_insert(bits, apart, 2, 2);
    assert_int_equal(bits[0], 0x18);
    assert_true(um_gbf_has(bits, apart, 2, 2));
    um_gbf_insert(bits, meet, 2, 2);
    assert_int_equal(bits[0], 0x18);
    assert_false(um_gbf_has(bits, meet, 2, 2));
}

static void distinct_places_differ(void **state)
{
    um_rng rng = {1};
    uint32_t place[16];

    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        uint32_t seen = 0;
        um_gbf_places(&rng, 20, 16, true, place);
        for (unsigned i = 0; i < 16; i++) {
            assert_true(place[i] < 20 && !(seen >> place[i] & 1));
            seen |= 1u << place[i];
        }
    }
}

/*
 * The last element, with 4 + 4 places in 256 bits, is lost with 6.1 % as
 * defined, and never with distinct places.
 */
static void the_hole_is_as_large_as_reported(void **state)
{
    enum { TRIALS = 200000 };
    um_gbf g = {.k0 = 4, .k1 = 4, .m = 256};
    double hole = um_gbf_hole(&g);
    um_rng rng = {2};

    (void)state;
    for (int distinct = 0; distinct < 2; distinct++) {
        size_t lost = 0;
        for (int i = 0; i < TRIALS; i++) {
            uint8_t bits[32] = {0};
            uint32_t place[8];
            um_gbf_places(&rng, g.m, 8, distinct, place);
            um_gbf_insert(bits, place, 4, 4);
            lost += !um_gbf_has(bits, place, 4, 4);
        }
        if (distinct)
            assert_int_equal(lost, 0);
        else
            assert_near((double)lost / TRIALS, hole,
                        5 * sqrt(hole * (1 - hole) / TRIALS));
    }
}

static void a_start_has_the_share_of_zeros_asked_for(void **state)
{
    static const double shares[] = {0, 0.01, 0.25, 1. / 3, 0.5, 0.999, 1};
    enum { MANY = 1 << 20 };
    static uint8_t bits[MANY / 8];
    um_rng rng = {3};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shares); i++) {
        double p = shares[i];
        um_gbf_fill(bits, MANY, p, &rng);
        double zeros = 1 - (double)um_popcount(bits, 0, MANY) / MANY;
        assert_near(zeros, p, 5 * sqrt(p * (1 - p) / MANY) + 1e-7);
    }
}

/* --- simulation ------------------------------------------------------------*/

static void a_round_without_queries_or_elements_is_a_round(void **state)
{
    um_gbf g = {.p0 = 0.5, .k0 = 2, .k1 = 2, .m = 100, .n = 0};
    um_gbf_space s;
    um_rng rng = {4};

    (void)state;
    assert_ok(um_gbf_space_init(&s, g.m, g.n, &test_refusal));
    um_gbf_found found = um_gbf_simulate(&g, 0, &s, &rng);
    assert_true(found.fp == 0 && found.fn == 0 && found.plain_fp == 0);
    um_gbf_space_fini(&s);
}

/*
 * Few expected events need an exact test; otherwise the larger of both errors
 * counts.
 */
static void sigmas_count_the_larger_error(void **state)
{
    um_mean m = {.n = 100, .value = 0.5, .sd = NAN, .error = NAN};

    (void)state;
    assert_near(um_gbf_sigmas(&m, 0.4, 100), 0.1 / sqrt(0.24 / 10000), 1e-9);
    m.error = 0.05;
    assert_near(um_gbf_sigmas(&m, 0.4, 100), 2, 1e-9);
    m.value = 0;
    assert_near(um_gbf_sigmas(&m, 1e-9, 100), 0, 1e-3);
    m.value = 1e-3; /* 10 events where 0.1 were expected */
    assert_true(um_gbf_sigmas(&m, 1e-5, 100) > 8);
    assert_true(um_gbf_sigmas(&m, 1e-3, 100) < 1e-9);
}

/* --- packets ---------------------------------------------------------------*/

static bool are_linked(const graph *g, size_t a, size_t b)
{
    for (size_t i = g->first[a]; i < g->first[a + 1]; i++)
        if (g->link[i] == b)
            return true;
    return false;
}

static void paths_lead_to_the_victim_hop_by_hop(void **state)
{
    static graph g;
    um_rng rng = {5};

    (void)state;
    for (int trial = 0; trial < 5; trial++) {
        graph_make(&g, &rng);
        assert_true(g.nfar > 0);
        for (size_t i = 0; i < g.nfar; i++) {
            uint16_t path[HOPS];
            graph_path(&g, g.far[i], path);
            for (size_t j = 0; j < HOPS; j++) {
                size_t next = j + 1 < HOPS ? path[j + 1] : VICTIM;
                assert_true(are_linked(&g, path[j], next));
                assert_true(are_linked(&g, next, path[j]));
                assert_int_equal(g.hops[path[j]], HOPS - j);
            }
        }
    }
}

static void all_ones_accuse_everybody_of_a_standard_filter(void **state)
{
    static const way standard = {"standard", 0, 4, false};
    static const start all_ones = {"all ones", 1, false};
    static const start none = {"all zeros", 0, false};
    static graph g;
    um_rng rng = {6};
    uint16_t path[HOPS];
    trace t;

    (void)state;
    graph_make(&g, &rng);
    graph_path(&g, g.far[0], path);
    assert_ok(packet_trace(&g, path, &standard, &all_ones, &rng, &t, NULL));
    assert_true(t.branches == ROUTERS - HOPS && t.tests == t.branches);
    assert_true(t.asked == ASKED && t.missed == 0 && t.found == 1);
    assert_ok(packet_trace(&g, path, &standard, &none, &rng, &t, NULL));
    assert_true(t.branches < 10 && t.missed == 0 && t.found == 1);
}

/* No router inserts itself after the one next to the victim. */
static void distinct_places_never_lose_the_nearest_router(void **state)
{
    static const way ways[] = {{"distinct", 4, 4, true},
                               {"as defined", 4, 4, false}};
    static const start worst = {"worst", -1, false};
    static graph g;
    um_rng rng = {7};
    size_t lost[2] = {0};

    (void)state;
    graph_make(&g, &rng);
    for (int i = 0; i < 2000; i++) {
        uint16_t path[HOPS];
        trace t;
        graph_path(&g, g.far[(size_t)i % g.nfar], path);
        assert_ok(packet_trace(&g, path, &ways[i % 2], &worst, &rng, &t, NULL));
        lost[i % 2] += t.lost[0];
    }
    assert_int_equal(lost[0], 0);
    assert_near((double)lost[1] / 1000, 0.0607, 5 * 0.00755);
}

/* --- the tables ------------------------------------------------------------*/

/* The 200 cells of expected.csv that the paper prints in tables: each is held
 * to half a unit of its last digit, or has the right value beside it. */
static void the_tables_have_two_hundred_cells(void **state)
{
    size_t cells = 0, misrounded = 0;
    char name[32];

    (void)state;
    for (unsigned i = 1; i <= 8; i++) {
        um_expected e;
        snprintf(name, sizeof name, "gbf-table%u", i);
        for (const char *text = um_expected_text(name);
             text && um_expected_next(&text, &e);) {
            double digit = i < 7 || e.paper <= 0
                               ? 0.1
                               : 0.1 * pow(10, floor(log10(e.paper) + 1e-9));
            if (isnan(e.paper))
                continue;
            cells++;
            misrounded += isnan(e.reference) ? 0 : 1;
            assert_true(e.slack <= 0.5 * digit * (1 + 1e-5));
        }
    }
    assert_int_equal(cells, 200);
    assert_int_equal(misrounded, 11);
}

/* The study itself compares every cell, so an erratum that is not listed in
 * expected.csv fails by its number, too. */
static void misrounded_cells_are_found(void **state)
{
    um_study s = {.paper = um_paper_find("gbf-table4"),
                  .rounds = 2,
                  .seed = 1,
                  .threads = 1};
    const um_check *found = NULL;
    umbel_error err;

    (void)state;
    assert_int_equal(um_study_run(&s, &err), UMBEL_OK);
    for (size_t i = 0; i < s.record.nchecks; i++)
        if (strcmp(s.record.check[i].item, "misrounded cells") == 0)
            found = &s.record.check[i];
    assert_true(found && found->pass && found->ours == 4);
    assert_non_null(strstr(s.record.note[0].text,
                           "k1 = 1, f_p: 12.6 for 12.524; k1 = 2, F_n: 1.6 for "
                           "1.5474 (rounded twice);"));
    um_study_fini(&s);
}

TEST_GROUP(gbf)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_that_resets_nothing_is_a_standard_one),
        cmocka_unit_test(zeros_and_ones_are_mirrors),
        cmocka_unit_test(the_worst_start_stays_at_the_bound),
        cmocka_unit_test(no_content_accepts_more_than_the_bound),
        cmocka_unit_test(the_tables_ask_for_equation_16),
        cmocka_unit_test(reset_wins_and_the_element_is_lost),
        cmocka_unit_test(distinct_places_differ),
        cmocka_unit_test(the_hole_is_as_large_as_reported),
        cmocka_unit_test(a_start_has_the_share_of_zeros_asked_for),
        cmocka_unit_test(a_round_without_queries_or_elements_is_a_round),
        cmocka_unit_test(sigmas_count_the_larger_error),
        cmocka_unit_test(paths_lead_to_the_victim_hop_by_hop),
        cmocka_unit_test(all_ones_accuse_everybody_of_a_standard_filter),
        cmocka_unit_test(distinct_places_never_lose_the_nearest_router),
        cmocka_unit_test(the_tables_have_two_hundred_cells),
        cmocka_unit_test(misrounded_cells_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
