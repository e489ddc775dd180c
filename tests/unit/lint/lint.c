/*
 * lint.c - honest filters raise no alarm; every injected defect is found.
 *
 *   test_lint lint [HONEST [DEFECTS]]   120 and 80 by default; the full study
 *                                       is 10000 and 2000
 */
#include "support/test.h"

#include "base/rng.h"
#include "base/text.h"
#include "filter/handle.h"
#include "lint/lint.h"

#include <umbel/file.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 4000 };
static size_t honest = 120, defects = 80;

/* --- what was found --------------------------------------------------------
 */

typedef struct tally {
    unsigned alarms[UM_LINT_NO_CHECKSUM + 1], notes[UM_LINT_NO_CHECKSUM + 1];
    unsigned all;
    char last[400];
} tally;

static void take(void *ctx, const um_lint_finding *f)
{
    tally *t = ctx;
    bool note = f->severity == UM_SEVERITY_NOTE;

    assert_true(strlen(f->advice) > 0);
    ++*(note ? &t->notes[f->code] : &t->alarms[f->code]);
    t->all += !note;
    if (!note)
        snprintf(t->last, sizeof t->last, "%s: promised %g, measured %g: %s",
                 um_lint_name(f->code), f->promised, f->measured, f->advice);
}

static tally lint_of(const umbel_filter *f, const char *format,
                     const um_key_source *members)
{
    tally t = {.all = 0};
    um_lint_job job = {f, format, members, take, &t};

    assert_ok(um_lint(&job, &test_refusal));
    return t;
}

/* --- filters ---------------------------------------------------------------
 */

static uint64_t between(um_rng *rng, uint64_t low, uint64_t high)
{
    return low + um_random_below(rng, high - low + 1);
}

static void add_random(umbel_filter *f, um_rng *rng, size_t n)
{
    umbel_digest d[MAX_KEYS];

    for (size_t i = 0; i < n; i++) {
        d[i].lo = f->hasher.row->identity
                      ? um_random_below(rng, UM_INTEGER_PRIME)
                      : um_random(rng);
        d[i].hi =
            f->hasher.row->entropy > 64 ? um_random(rng) : um_remix(d[i].lo);
    }
    assert_ok(umbel_add_digests(f, d, n, NULL, &test_refusal));
}

static double draw_error(um_rng *rng)
{
    static const double errors[] = {0.3, 0.1, 0.02, 0.01, 0.001, 1e-4};

    return errors[um_random_below(rng, TEST_COUNT(errors))];
}

/* Returns an empty filter, sized for its keys; NULL if the addressing cannot
 * have that size. */
static umbel_filter *draw_filter(um_rng *rng, const char *kind,
                                 const char *addressing, uint64_t keys)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = addressing;
    p.capacity = keys;
    p.fpr = draw_error(rng);
    p.seed = strcmp(addressing, "universal") == 0 ||
                     !um_addressing_find(addressing)->hash
                 ? um_random(rng) >> 20
                 : 0;
    if (umbel_create(kind, &p, &f, &test_refusal) != UMBEL_OK)
        return NULL;
    return f;
}

static const char *draw_addressing(um_rng *rng)
{
    size_t n = 0;

    while (um_addressing_row(n))
        n++;
    return um_addressing_row(um_random_below(rng, n))->name;
}

/* Keys up to the capacity, of any addressing, in several kinds. */
static void honest_filters_raise_no_alarm(void **state)
{
    static const char *const kinds[] = {"bloom",    "bloom",    "bloom",
                                        "counting", "countmin", "aging"};
    um_rng rng = {38};
    size_t seen = 0;

    (void)state;
    while (seen < honest) {
        const char *kind = kinds[um_random_below(&rng, TEST_COUNT(kinds))];
        const char *addressing = draw_addressing(&rng);
        uint64_t keys = between(&rng, 30, MAX_KEYS);
        umbel_filter *f = draw_filter(&rng, kind, addressing, keys);
        if (!f)
            continue;
        add_random(f, &rng,
                   (size_t)(um_random(&rng) & 1
                                ? keys
                                : between(&rng, keys / 4, keys)));
        tally t = lint_of(f, NULL, NULL);
        if (t.all)
            print_error("%s on %s, %.0f keys, seed %.0f: %s\n", kind,
                        addressing, (double)keys, (double)f->layout.seed,
                        t.last);
        assert_int_equal(t.all, 0);
        umbel_close(f);
        seen++;
    }
}

/* --- defects ---------------------------------------------------------------
 */

static bool has_alarm(umbel_filter *f, um_lint_code code)
{
    tally t = lint_of(f, NULL, NULL);

    if (!t.alarms[code])
        print_error("not found: %s, on %s, %.0f keys, %.0f cells, %u hashes, "
                    "error %g; last: %s\n",
                    um_lint_name(code), f->layout.row->name,
                    (double)um_shape_of(f)->capacity, (double)f->layout.cells,
                    f->layout.hashes, um_shape_of(f)->fpr, t.last);
    umbel_close(f);
    return t.alarms[code] > 0;
}

/* A filter of one of umbel's addressings, for at least 1,500 keys at 2 % or
 * less. */
static umbel_filter *draw_usual(um_rng *rng, uint64_t *keys)
{
    static const char *const names[] = {
        "classic", "partitioned", "blocked512", "redisbloom", "guava", "dcso"};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    do { /* bounds for classes of cells need more keys */
        umbel_close(f);
        f = NULL;
        *keys = between(rng, 1500, 2500);
        p.addressing = names[um_random_below(rng, TEST_COUNT(names))];
        p.capacity = *keys;
        p.fpr = um_random(rng) & 1 ? 0.02 : 0.005;
        assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    } while (um_classes(&f->layout, NULL));
    return f;
}

static double fill_of(const umbel_filter *f)
{
    return (double)f->kind->bits->used(f->self, NULL) / (double)f->layout.cells;
}

/* Keys are added until the fill is a tenth above the plan. */
static bool overfull(um_rng *rng)
{
    uint64_t keys;
    umbel_filter *f = draw_usual(rng, &keys);
    double plan = um_model_fill(&f->layout, (double)keys);

    add_random(f, rng, keys);
    while (fill_of(f) < 1.1 * plan)
        add_random(f, rng, 1 + keys / 200);
    return has_alarm(f, UM_LINT_OVERFULL);
}

/* Cells are set at random until the error is 1.5 times the promise. */
static bool error_above_promise(um_rng *rng)
{
    uint64_t keys;
    umbel_filter *f = draw_usual(rng, &keys);
    double capacity;

    add_random(f, rng, keys);
    f->estimated = um_random(rng) & 1;
    while (umbel_predict(f) < 1.5 * um_lint_promise(f, &capacity))
        for (int i = 0; i < 20; i++)
            um_set_bit(f->payload, um_random_below(rng, f->layout.cells));
    return has_alarm(f, UM_LINT_ERROR);
}

/* One key of the list is missing. */
static bool denies_a_member(um_rng *rng)
{
    char *dir = test_dir_make(), *path = test_path(dir, "members");
    const char *paths[] = {path};
    um_key_source members = {.paths = paths, .npaths = 1};
    uint64_t keys, first = um_random(rng) >> 30;
    umbel_filter *f = draw_usual(rng, &keys);
    FILE *list = fopen(path, "w");
    bool missing = false, hit;

    assert_non_null(list);
    for (uint64_t i = 0; i < keys || !missing; i++) {
        char key[32];
        int len = snprintf(key, sizeof key, "%.0f", (double)(first + i));
        assert_ok(umbel_query(f, key, (size_t)len, &hit, &test_refusal));
        missing = i >= keys && !hit;
        if (i < keys)
            assert_ok(umbel_add(f, key, (size_t)len, NULL, &test_refusal));
        if (i < keys || missing)
            fprintf(list, "%s\n", key);
    }
    fclose(list);
    tally t = lint_of(f, NULL, &members);
    /* FNV-1, the hash of dcso, maps consecutive numbers to fewer cells. */
    bool alone = t.all == 1 || strcmp(f->layout.row->name, "dcso") == 0;
    umbel_close(f);
    free(path);
    test_dir_remove(dir);
    return t.alarms[UM_LINT_DENIES_MEMBERS] == 1 && alone;
}

/* A power of two in dcso's number of cells, or cells that keys share. */
static bool dependent_cells(um_rng *rng)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    uint64_t keys = between(rng, 1500, 2500);

    p.addressing = um_random(rng) & 1 ? "dcso" : "guava";
    p.cells = UINT64_C(65536) << um_random_below(rng, 3);
    p.hashes = (uint32_t)between(rng, 8, 14);
    p.capacity = keys;
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    if (strcmp(p.addressing, "dcso") == 0)
        add_random(f, rng, keys);
    else /* all even cells: a key with even a and b matches */
        for (uint64_t i = 0; i < p.cells; i += 2)
            um_set_bit(f->payload, i);
    return has_alarm(f, UM_LINT_DEPENDENT_CELLS);
}

static bool weak_hash(um_rng *rng)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = between(rng, 10, 1000);
    if (um_random(rng) & 1) {
        p.hash = um_random(rng) & 1 ? "xxh3" : "xxh128";
        p.seed = 1 + (um_random(rng) >> 8);
    } else { /* functions 1 and 2 are related: papers/forgeries */
        static const uint64_t seeds[] = {310438037, 438138082, 855655146,
                                         920240280, 1059001892};
        p.addressing = "universal";
        p.seed = seeds[um_random_below(rng, TEST_COUNT(seeds))];
    }
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    add_random(f, rng, p.capacity);
    return has_alarm(f, UM_LINT_WEAK_HASH);
}

static bool wasted_space(um_rng *rng)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = between(rng, 100, 1000);
    p.fpr = 0.01;
    p.cells = 512 * between(rng, 1000, 5000);
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    add_random(f, rng, p.capacity);
    return has_alarm(f, UM_LINT_WASTED_SPACE);
}

/* Another number of keys in the head, cleared cells, or a full block. */
static bool hostile_shape(um_rng *rng)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = between(rng, 1500, 2500);
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    add_random(f, rng, p.capacity);
    switch (um_random_below(rng, 3)) {
    case 0:
        f->added = f->added * 12 / 10;
        break;
    case 1:
        f->added = f->added * 8 / 10;
        break;
    default:
        memset(f->payload + 64 * um_random_below(rng, f->layout.blocks), 0xFF,
               64);
    }
    return has_alarm(f, UM_LINT_HOSTILE_SHAPE);
}

/* The file of a format without a checksum. */
static bool no_checksum(um_rng *rng)
{
    uint64_t keys;
    umbel_filter *f = draw_usual(rng, &keys);

    add_random(f, rng, keys);
    tally t = lint_of(f, "dcso", NULL);
    umbel_close(f);
    return t.notes[UM_LINT_NO_CHECKSUM] == 1 && t.all == 0;
}

static void every_injected_defect_is_found(void **state)
{
    static bool (*const classes[])(um_rng *) = {
        overfull,  error_above_promise, denies_a_member, dependent_cells,
        weak_hash, wasted_space,        hostile_shape,   no_checksum};
    um_rng rng = {2000};
    size_t missed = 0;

    (void)state;
    for (size_t i = 0; i < defects; i++)
        if (!classes[i % TEST_COUNT(classes)](&rng)) {
            print_error("defect %zu of class %zu\n", i,
                        i % TEST_COUNT(classes));
            missed++;
        }
    assert_int_equal(missed, 0);
}

/* --- repair ----------------------------------------------------------------
 */

static void a_filter_is_repaired_from_its_members(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "members");
    const char *paths[] = {path};
    um_key_source members = {.paths = paths, .npaths = 1};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL, *made = NULL;
    FILE *list = fopen(path, "w");

    (void)state;
    assert_non_null(list);
    for (int i = 0; i < 3000; i++)
        fprintf(list, "member-%d\n", i);
    fclose(list);
    p.addressing = "guava";
    p.capacity = 100;
    f = test_open(&p);
    test_add(f, 0, 2000);
    assert_true(lint_of(f, NULL, &members).all >= 2);
    um_lint_job job = {f, NULL, &members, take, NULL};
    assert_ok(um_lint_rebuild(&job, &made, &test_refusal));
    assert_int_equal(lint_of(made, NULL, &members).all, 0);
    assert_string_equal(um_shape_of(made)->addressing->name, "guava");
    umbel_close(made);
    umbel_close(f);
    free(path);
    test_dir_remove(dir);
}

TEST_GROUP(lint)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_filters_raise_no_alarm),
        cmocka_unit_test(every_injected_defect_is_found),
        cmocka_unit_test(a_filter_is_repaired_from_its_members),
    };

    if (argc > 1)
        honest = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        defects = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
