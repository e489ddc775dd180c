/*
 * golden.c - the filters behind the golden files.
 *
 * Size and hashes are given, not planned: plans may improve, bytes may not
 * change. 1,000 cells are rounded up by addressings in blocks and leave padding
 * in the others.
 */
#include "support/golden.h"

#include "filter/kind.h"

#include <stdio.h>
#include <stdlib.h>

char *golden_path(const test_combo *c)
{
    char name[128];

    snprintf(name, sizeof name, "%s-%s-%s-v1.umb", c->kind, c->addressing,
             c->hash);
    return test_path(UM_GOLDEN_DIR, name);
}

char *golden_grouped_path(void)
{
    return test_path(UM_GOLDEN_DIR, "bloom-classic-xxh3-groups3-v1.umb");
}

umbel_filter *golden_grouped(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting groups = {"groups", 3};

    p.addressing = "classic";
    p.settings = &groups;
    p.nsettings = 1;
    p.seed = 7;
    p.cells = 1000;
    p.hashes = 4;
    p.capacity = GOLDEN_KEYS;
    p.fpr = 0.01;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, GOLDEN_KEYS);
    return f;
}

char *golden_paired_path(uint32_t k)
{
    char name[64];

    snprintf(name, sizeof name, "generalized-blocked512-xxh3-%ureset-v1.umb",
             (unsigned)k);
    return test_path(UM_GOLDEN_DIR, name);
}

umbel_filter *golden_paired(uint32_t k)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting settings[] = {{"reset", k}, {"set", k}, {"start", 500000000}};
    umbel_filter *f = NULL;

    p.settings = settings;
    p.nsettings = 3;
    p.seed = 7;
    p.cells = 1024;
    p.capacity = GOLDEN_KEYS;
    p.fpr = 0.01;
    assert_ok(umbel_open("generalized", &p, &f, &test_refusal));
    test_add(f, 0, GOLDEN_KEYS);
    return f;
}

char *golden_heavy_path(void)
{
    return test_path(UM_GOLDEN_DIR, "tally-blocked128-xxh3-heavy-v1.umb");
}

/* 1, 2, 4 ... times; the table overflows its first bucket, and then itself. */
umbel_filter *golden_heavy(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting heavy = {"heavy", 10};
    umbel_filter *f = NULL;

    p.settings = &heavy;
    p.nsettings = 1;
    p.seed = 7;
    p.cells = 1000;
    p.hashes = 5;
    p.capacity = GOLDEN_KEYS;
    p.fpr = 0.03;
    assert_ok(umbel_open("tally", &p, &f, &test_refusal));
    for (uint64_t i = 0; i < GOLDEN_KEYS; i++) {
        char key[TEST_KEY_LEN];
        umbel_slice slice = {key, sizeof key};
        uint64_t amount = (uint64_t)1 << i % 40;
        test_key(i, key);
        assert_ok(
            umbel_add_amounts(f, &slice, &amount, 1, NULL, &test_refusal));
    }
    return f;
}

static umbel_filter *golden_layers(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.fpr = 0.2;
    return test_build("ribbon", &p, 0, 3000);
}

/* Keys 100 .. 1099 are listed. */
static umbel_filter *golden_exact(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *empty = test_build("ribbon", &p, 0, 0), *f = NULL;
    char *keys = test_keys(0, 1100);
    umbel_digest d[1100];
    umbel_members m = UMBEL_MEMBERS_INIT;
    umbel_exact_bill bill;
    umbel_exact *x = NULL;

    assert_ok(
        umbel_digest_fixed(empty, keys, TEST_KEY_LEN, 1100, d, &test_refusal));
    m.digests = d;
    m.n = GOLDEN_KEYS;
    assert_ok(umbel_exact_open(&p, &m, 1000, &x, &test_refusal));
    assert_ok(umbel_exact_never(x, d + 100, NULL, 1000, NULL, &test_refusal));
    assert_ok(umbel_exact_finish(x, &f, &bill, &test_refusal));
    umbel_exact_close(x);
    umbel_close(empty);
    free(keys);
    return f;
}

/* Key i stands for i % 50. */
static umbel_filter *golden_map(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting bits = {"value_bits", 6};
    char *keys = test_keys(0, GOLDEN_KEYS);
    umbel_slice *slices = test_slices(keys, GOLDEN_KEYS);
    uint64_t values[GOLDEN_KEYS];
    umbel_filter *f = NULL;

    for (uint64_t i = 0; i < GOLDEN_KEYS; i++)
        values[i] = i % 50;
    p.settings = &bits;
    p.nsettings = 1;
    p.fpr = 0.01;
    assert_ok(umbel_build_keys("ribbon", &p, slices, values, GOLDEN_KEYS, &f,
                               &test_refusal));
    free(slices);
    free(keys);
    return f;
}

bool golden_static_at(size_t i, char **path, umbel_filter **f)
{
    static const struct {
        const char *name;
        umbel_filter *(*build)(void);
    } rows[] = {{"ribbon-layers-v1.umb", golden_layers},
                {"ribbon-exact-v1.umb", golden_exact},
                {"ribbon-map-v1.umb", golden_map}};

    if (i >= TEST_COUNT(rows))
        return false;
    *path = test_path(UM_GOLDEN_DIR, rows[i].name);
    *f = rows[i].build();
    return true;
}

/* Ways of cells that follow from kind, cells and the number of keys. */
static const struct {
    const char *way, *kind;
    uint64_t cells;
} codeds[] = {{"plain", "bloom", 1000},    {"bits", "bloom", 10000},
              {"gaps", "bloom", 100000},   {"values", "counting", 3000},
              {"few", "counting", 100000}, {"aging", "aging", 20000}};

char *golden_coded_path(size_t i)
{
    char name[128];

    if (i >= TEST_COUNT(codeds))
        return NULL;
    snprintf(name, sizeof name, "%s-classic-xxh3-coded-%s-v1.umb",
             codeds[i].kind, codeds[i].way);
    return test_path(UM_GOLDEN_DIR, name);
}

umbel_filter *golden_coded(size_t i)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = "classic";
    p.cells = codeds[i].cells;
    p.hashes = 4;
    p.capacity = 10 * GOLDEN_KEYS;
    p.fpr = 0.01;
    assert_ok(umbel_open(codeds[i].kind, &p, &f, &test_refusal));
    test_add(f, 0, 5 * GOLDEN_KEYS);
    umbel_set_coded(f, true);
    return f;
}

umbel_filter *golden_build(const test_combo *c)
{
    umbel_params p = test_combo_params(c);
    umbel_filter *f = NULL;

    if (um_kind_find(c->kind)->build) { /* no size to choose */
        p.fpr = 0.01;
        return test_build(c->kind, &p, 0, GOLDEN_KEYS);
    }
    p.cells = 1000;
    p.hashes = 4;
    p.capacity = GOLDEN_KEYS;
    p.fpr = 0.01;
    assert_ok(umbel_open(c->kind, &p, &f, &test_refusal));
    test_add(f, 0, GOLDEN_KEYS);
    return f;
}
