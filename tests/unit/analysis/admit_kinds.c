/*
 * admit_kinds.c - over the table of kinds: what admission accepts is described
 * in the documents, and a filter that costs too much is refused.
 * tests/large/test_reads.c counts what admission reads.
 */
#include "support/rulings.h"

#include "analysis/analysis.h"
#include "base/rng.h"
#include "filter/handle.h"
#include "kinds/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds that people choose, then those of one program. */
static const um_kind *kind_at(size_t i)
{
    size_t n = 0;

    while (um_tables.kinds[n])
        n++;
    return i < n ? um_tables.kinds[i] : um_tables.inner_kinds[i - n];
}

static char *read_document(const char *name)
{
    size_t len;
    char *path = test_path(UM_GOLDEN_DIR "/../../docs", name);
    uint8_t *bytes = test_read_file(path, &len);
    char *text = calloc(len + 1, 1);

    assert_non_null(text);
    memcpy(text, bytes, len);
    free(bytes);
    free(path);
    return text;
}

static bool mentions(const char *text, const char *before, const char *kind,
                     const char *after)
{
    char sought[64];

    snprintf(sought, sizeof sought, "%s%s%s", before, kind, after);
    return strstr(text, sought) != NULL;
}

/* The bytes in one document, why its error is bounded in the other. */
static void documents_describe_every_kind_that_is_admitted(void **state)
{
    char *format = read_document("FORMAT.md");
    char *model = read_document("SECURITY-MODEL.md");

    (void)state;
    for (size_t i = 0; kind_at(i); i++) {
        const um_kind *kind = kind_at(i);
        bool described = mentions(format, "\nKind `", kind->name, "` ") &&
                         mentions(model, "\n| `", kind->name, "` |");
        if (described != kind->admissible)
            print_error("kind %s: %s\n", kind->name,
                        described ? "described, but not admitted"
                                  : "not described");
        assert_int_equal(described, kind->admissible);
    }
    free(format);
    free(model);
}

static void a_kind_that_no_document_describes_is_refused(void **state)
{
    umbel_filter *f = test_plain("classic");
    um_kind unknown = *f->kind;

    (void)state;
    test_expect_admitted(f, &test_no_demand);
    unknown.admissible = false;
    f->kind = &unknown;
    test_expect_refused(f, &test_no_demand, UMBEL_REFUSED_UNCONFIRMED,
                        "cannot be held");
    f->kind = um_kind_find("bloom");
    umbel_close(f);
}

/* --- cost ----------------------------------------------------------------- */

static uint64_t reads_of(const umbel_filter *f, double max_error,
                         umbel_ruling *r)
{
    umbel_admission w = test_no_demand;
    uint64_t reads;

    w.max_error = max_error;
    assert_ok(um_admit_counted(f, &w, r, &reads, &test_refusal));
    return reads;
}

/* As query does, within any limit; and not at all beyond. */
static void expect_counted_queries(const umbel_filter *f, uint64_t seed)
{
    enum { ASKED = 200 };
    umbel_digest d[ASKED];
    bool want[ASKED], got[ASKED];
    um_rng rng = {seed};

    for (size_t k = 0; k < ASKED; k++)
        d[k] = (umbel_digest){um_random(&rng), um_random(&rng)};
    f->kind->query(f->self, d, ASKED, want);
    uint64_t reads = f->kind->query_within(f->self, d, ASKED, got, UINT64_MAX);
    assert_true(reads > 0);
    assert_memory_equal(got, want, sizeof got);
    assert_true(f->kind->query_within(f->self, d, ASKED, got, reads / 2) >
                reads / 2);
}

static void counted_queries_answer_as_others_do(void **state)
{
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        umbel_params p = test_combo_params(&c);
        umbel_filter *f = test_made(c.kind, &p, 1000, 1000);
        if (f->kind->query_within)
            expect_counted_queries(f, i);
        umbel_close(f);
    }
}

/* Links of many hashes, so full that a key reads many of them. */
static umbel_filter *costly_chain(void)
{
    enum { LINKS = 16, BYTES = 32771 }; /* odd: steps that return are rare */
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *any = NULL, *f = NULL;
    um_rng rng = {9};

    assert_ok(umbel_create(UM_CHAIN_KIND, &p, &any, &test_refusal));
    um_shape s = *um_shape_of(any);
    s.setting[0] = LINKS;
    s.cells = UINT64_C(8) * BYTES * LINKS;
    assert_ok(um_filter_create(&s, &any->alloc, &f, &test_refusal));
    umbel_close(any);
    memset(f->payload, 0xFF, (size_t)BYTES * LINKS);
    for (uint64_t i = 0; i < s.cells / 100; i++) {
        uint64_t bit = um_random_below(&rng, s.cells);
        f->payload[bit / 8] = (uint8_t)(f->payload[bit / 8] & ~(1U << bit % 8));
    }
    for (size_t i = 0; i < LINKS; i++)
        um_chain_set_link(f->self, i,
                          &(um_chain_link){.nbits = 8 * BYTES,
                                           .capacity = 100,
                                           .error = 0.01,
                                           .bits_per_item = 10,
                                           .hashes = UM_CHAIN_MAX_HASHES});
    f->estimated = true;
    return f;
}

/* To be certain takes 160 million reads. */
static void a_filter_that_costs_too_much_is_refused(void **state)
{
    umbel_filter *f = costly_chain();
    umbel_ruling r;
    double error = umbel_predict(f);

    (void)state;
    assert_true(error < 0.001);
    uint64_t reads = reads_of(f, 1.02 * error, &r);
    assert_true(reads > UM_ADMIT_READS / 2);
    assert_int_equal(r.n, 1);
    assert_true(test_refused_for(&r, UMBEL_REFUSED_COST));
    umbel_close(f);
}

/* Filters of RedisBloom that grew are no such filters. */
static void honest_chains_are_affordable(void **state)
{
    enum { KEYS = 30000 };
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    umbel_ruling r;

    (void)state;
    p.capacity = 100;
    p.fpr = 1e-4;
    assert_ok(umbel_create(UM_CHAIN_KIND, &p, &f, &test_refusal));
    test_add(f, 0, KEYS);
    assert_int_equal(um_chain_links(f->self), 9);
    expect_counted_queries(f, 7);
    reads_of(f, 1.2 * umbel_predict(f), &r);
    assert_true(r.admitted);
    umbel_close(f);
}

TEST_GROUP(admit_kinds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_describe_every_kind_that_is_admitted),
        cmocka_unit_test(a_kind_that_no_document_describes_is_refused),
        cmocka_unit_test(counted_queries_answer_as_others_do),
        cmocka_unit_test(a_filter_that_costs_too_much_is_refused),
        cmocka_unit_test(honest_chains_are_affordable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
