/*
 * golden.c - the filters of the golden files.
 *
 * Size and hashes are fixed, not planned: plans may improve, bytes must not
 * change. Blocked addressings round 1,000 cells up; the others leave padding.
 */
#include "support/golden.h"

#include "filter/kind.h"

#include <umbel/file.h>

#include <stdio.h>
#include <stdlib.h>

char *golden_path(const test_combo *c)
{
    char name[128];

    snprintf(name, sizeof name, "%s-%s-%s-v2.umb", c->kind, c->addressing,
             c->hash);
    return test_path(UM_GOLDEN_DIR, name);
}

umbel_filter *golden_build(const test_combo *c)
{
    umbel_params p = test_combo_params(c);
    umbel_filter *f = NULL;

    if (um_kind_find(c->kind)->built) { /* its size is not chosen */
        p.fpr = 0.01;
        return test_build(c->kind, &p, 0, GOLDEN_KEYS);
    }
    if (!um_kind_find(c->kind)->fixed_addressing) {
        p.cells = 1000;
        p.hashes = 4;
    }
    p.capacity = GOLDEN_KEYS;
    p.fpr = 0.01;
    assert_ok(umbel_create(c->kind, &p, &f, &test_refusal));
    test_add(f, 0, GOLDEN_KEYS);
    return f;
}

/* --- files besides one per combination -------------------------------------
 */

enum { MAX_SETTINGS = 4 };

typedef struct row row;
struct row {
    const char *name;
    umbel_filter *(*build)(const row *r);
    const char *kind, *addressing; /* of filters that are created */
    uint64_t cells;
    uint32_t hashes;
    double fpr;
    umbel_setting set[MAX_SETTINGS]; /* entries without a name are unused */
};

static umbel_filter *open_row(const row *r)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = r->addressing;
    p.settings = r->set;
    while (p.nsettings < MAX_SETTINGS && r->set[p.nsettings].name)
        p.nsettings++;
    p.seed = 7;
    p.cells = r->cells;
    p.hashes = r->hashes;
    p.capacity = GOLDEN_KEYS;
    p.fpr = r->fpr;
    assert_ok(umbel_create(r->kind, &p, &f, &test_refusal));
    return f;
}

static umbel_filter *build_once(const row *r)
{
    umbel_filter *f = open_row(r);

    test_add(f, 0, GOLDEN_KEYS);
    return f;
}

/*
 * Adds keys 1, 2, 4 ... times: the table overflows its first bucket, and then
 * itself.
 */
static umbel_filter *build_heavy(const row *r)
{
    umbel_filter *f = open_row(r);

    for (uint64_t i = 0; i < GOLDEN_KEYS; i++)
        test_add_times(f, i, (uint64_t)1 << i % 40);
    return f;
}

static umbel_filter *build_layers(const row *r)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.fpr = r->fpr;
    return test_build("ribbon", &p, 0, 3000);
}

static umbel_filter *build_wide(const row *r)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.fpr = r->fpr;
    p.settings = r->set;
    p.nsettings = 1;
    return test_build("ribbon", &p, 0, 3000);
}

/* Builds an exact filter with keys 100 .. 1099 as negatives. */
static umbel_filter *build_exact(const row *r)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *empty = test_build("ribbon", &p, 0, 0), *f = NULL;
    char *keys = test_keys(0, 1100);
    umbel_digest d[1100];
    umbel_key_list m = UMBEL_KEY_LIST(d, GOLDEN_KEYS);
    umbel_exact_result bill;
    umbel_exact *x = NULL;

    (void)r;
    assert_ok(
        umbel_digest_fixed(empty, keys, TEST_KEY_LEN, 1100, d, &test_refusal));
    assert_ok(umbel_exact_open(&p, &m, NULL, 1000, &x, &test_refusal));
    assert_ok(umbel_exact_never(x, TEST_LIST(d + 100, NULL, 1000), NULL,
                                &test_refusal));
    assert_ok(umbel_exact_finish(x, &f, &bill, &test_refusal));
    umbel_exact_close(x);
    umbel_close(empty);
    free(keys);
    return f;
}

/*
 * Builds an exact filter of keys 0 .. 99 and all others of 5,000 that begin
 * with 7, partitioned by the first byte.
 */
static umbel_filter *build_parts(const row *r)
{
    enum { ALL = 5000 };
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_exact_part parts[10] = {{0, 0}};
    umbel_digest *d = malloc(2 * ALL * sizeof *d);
    char *keys = test_keys(0, ALL);
    umbel_exact_result bill;
    umbel_exact *x = NULL;
    umbel_filter *f = NULL;
    size_t n = 0, nparts = 0;

    (void)r;
    assert_non_null(d);
    p.hash = "xxh3-first1";
    umbel_filter *empty = test_build("ribbon", &p, 0, 0);
    assert_ok(
        umbel_digest_fixed(empty, keys, TEST_KEY_LEN, ALL, d, &test_refusal));
    for (size_t i = 0; i < ALL; i++) {
        size_t at = 0;
        while (at < nparts && parts[at].part < d[i].hi)
            at++;
        if (at == nparts || parts[at].part != d[i].hi) {
            memmove(&parts[at + 1], &parts[at],
                    (nparts++ - at) * sizeof *parts);
            parts[at] = (umbel_exact_part){d[i].hi, 0};
        }
        parts[at].keys++;
        if (i < GOLDEN_KEYS || keys[i * TEST_KEY_LEN] == '7')
            d[ALL + n++] = d[i];
    }
    umbel_key_list m = UMBEL_KEY_LIST(d + ALL, n);
    assert_ok(
        umbel_exact_open_parts(&p, &m, NULL, parts, nparts, &x, &test_refusal));
    assert_ok(
        umbel_exact_never(x, TEST_LIST(d, NULL, ALL), NULL, &test_refusal));
    assert_ok(umbel_exact_finish(x, &f, &bill, &test_refusal));
    umbel_exact_close(x);
    umbel_close(empty);
    free(keys);
    free(d);
    return f;
}

/* Builds a map of key i to i % 50. */
static umbel_filter *build_map(const row *r)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    char *keys = test_keys(0, GOLDEN_KEYS);
    umbel_slice *slices = test_slices(keys, GOLDEN_KEYS);
    uint64_t values[GOLDEN_KEYS];
    umbel_filter *f = NULL;

    for (uint64_t i = 0; i < GOLDEN_KEYS; i++)
        values[i] = i % 50;
    p.settings = r->set;
    p.nsettings = 1;
    p.fpr = r->fpr;
    assert_ok(umbel_build_keys("ribbon", &p, slices, values, GOLDEN_KEYS, &f,
                               &test_refusal));
    free(slices);
    free(keys);
    return f;
}

/* Builds a coded filter; kind, cells and the number of keys select the code. */
static umbel_filter *build_coded(const row *r)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = "classic";
    p.cells = r->cells;
    p.hashes = 4;
    p.capacity = 10 * GOLDEN_KEYS;
    p.fpr = 0.01;
    assert_ok(umbel_create(r->kind, &p, &f, &test_refusal));
    test_add(f, 0, 5 * GOLDEN_KEYS);
    umbel_set_coded(f, true);
    return f;
}

/* Builds a filter of all ones, of which keys clear a few. */
static umbel_filter *build_holes(const row *r)
{
    umbel_filter *f = open_row(r);

    test_add(f, 0, GOLDEN_KEYS);
    umbel_set_coded(f, true);
    return f;
}

#define CODED(of, way, number)                                                 \
    {                                                                          \
        .name = of "-classic-xxh3-64-coded-" way "-v2.umb",                    \
        .build = build_coded, .kind = of, .cells = number                      \
    }

/* Functions in pairs; half of the bits are set before the first key. */
#define PAIRED(k)                                                              \
    {                                                                          \
        .name = "generalized-blocked512-xxh3-64-" #k "reset-v2.umb",           \
        .build = build_once, .kind = "generalized", .cells = 1024,             \
        .fpr = 0.01, .set = {                                                  \
            {"reset", k},                                                      \
            {"set", k},                                                        \
            {"start", 500000000}                                               \
        }                                                                      \
    }

static const row rows[] = {
    {.name = "bloom-classic-xxh3-64-groups3-v2.umb",
     .build = build_once,
     .kind = "bloom",
     .addressing = "classic",
     .cells = 1000,
     .hashes = 4,
     .fpr = 0.01,
     .set = {{"groups", 3}}},
    PAIRED(4),
    PAIRED(8),
    {.name = "tally-blocked128-xxh3-64-heavy-v2.umb",
     .build = build_heavy,
     .kind = "tally",
     .cells = 1000,
     .hashes = 5,
     .fpr = 0.03,
     .set = {{"heavy", 10}}},
    {.name = "ribbon-layers-v2.umb", .build = build_layers, .fpr = 0.2},
    {.name = "ribbon-wide-v2.umb",
     .build = build_wide,
     .fpr = 0.2,
     .set = {{"wide", 1}}},
    {.name = "ribbon-exact-v2.umb", .build = build_exact},
    {.name = "ribbon-parts-v2.umb", .build = build_parts},
    {.name = "ribbon-map-v2.umb",
     .build = build_map,
     .fpr = 0.01,
     .set = {{"value_bits", 6}}},
    CODED("bloom", "plain", 1000),
    CODED("bloom", "bits", 10000),
    CODED("bloom", "gaps", 100000),
    CODED("counting", "values", 3000),
    CODED("counting", "few", 100000),
    CODED("aging", "aging", 20000),
    {.name = "generalized-classic-xxh3-64-coded-holes-v2.umb",
     .build = build_holes,
     .kind = "generalized",
     .addressing = "classic",
     .cells = 600000,
     .fpr = 0.01,
     .set = {{"reset", 4}, {"set", 0}, {"start", 1000000000}}},
    {.name = "generalized-classic-xxh3-64-collide-v2.umb",
     .build = build_once,
     .kind = "generalized",
     .addressing = "classic",
     .cells = 1000,
     .fpr = 0.01,
     .set = {{"reset", 3}, {"set", 2}, {"start", 500000000}, {"collide", 1}}},
};

bool golden_row_at(size_t i, char **path, umbel_filter **f)
{
    if (i >= TEST_COUNT(rows))
        return false;
    *path = test_path(UM_GOLDEN_DIR, rows[i].name);
    *f = rows[i].build(&rows[i]);
    return true;
}
