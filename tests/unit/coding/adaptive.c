/*
 * adaptive.c - small coded files are near the entropy of their cells, and there
 * is exactly one for each filter. Run alone, it prints a table of sizes.
 */
#include "support/test.h"

#include "base/rng.h"
#include "coding/internal.h"
#include "coding/section.h"
#include "filter/envelope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASHES = 4, BLOCK = 512 };

/* --- sizes --- */

static const struct {
    double bytes, most; /* entropy; maximum file size relative to it */
} bars[] = {{5000, 1.015}, {15000, 1.007}, {50000, 1.003}};

static const double fills[] = {0.05, 0.1, 0.2, 0.3, 0.4, 0.5};

static const struct {
    const char *kind, *addressing;
} shapes[] = {{"bloom", "classic"},
              {"bloom", "blocked512"},
              {"counting", "classic"},
              {"counting", "blocked512"}};

/*
 * Returns the entropy in bits of a cell with on average `load` keys; without
 * counts, of whether it is used.
 */
static double cell_entropy(double load, bool counts)
{
    double p = exp(-load), sum = -p * log2(p);

    if (!counts)
        return sum - (1 - p) * log2(1 - p);
    for (int i = 1; i < 16; i++) {
        p *= load / i;
        sum -= p * log2(p);
    }
    return sum;
}

/*
 * Returns a filter of about `bytes` entropy with this fraction of cells in use.
 */
static umbel_filter *filter_of(size_t shape, double fill, double bytes)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    double load = -log1p(-fill);
    bool counts = strcmp(shapes[shape].kind, "counting") == 0;
    double cells = 8 * bytes / cell_entropy(load, counts);

    p.addressing = shapes[shape].addressing;
    p.cells = (uint64_t)ceil(cells / BLOCK) * BLOCK;
    p.hashes = HASHES;
    p.capacity = (uint64_t)(load * (double)p.cells / HASHES);
    assert_ok(umbel_create(shapes[shape].kind, &p, &f, &test_refusal));
    test_add(f, 0, p.capacity);
    umbel_set_coded(f, true);
    return f;
}

static void small_files_come_near_the_entropy_of_their_cells(void **state)
{
    bool all_fine = true;

    (void)state;
    printf("%-20s %5s %6s %10s %9s %9s %6s\n", "", "fill", "kB", "entropy",
           "file", "ratio", "bar");
    for (size_t i = 0; i < TEST_COUNT(shapes); i++)
        for (size_t j = 0; j < TEST_COUNT(fills); j++)
            for (size_t k = 0; k < TEST_COUNT(bars); k++) {
                umbel_filter *f = filter_of(i, fills[j], bars[k].bytes);
                double least = um_shannon_bytes(f);
                size_t len = umbel_encoded_len(f);
                double ratio = (double)len / least;
                bool fine = ratio <= bars[k].most;
                printf("%-8s %-11s %5g %6g %10.0f %9zu %9.5f %6g%s\n",
                       shapes[i].kind, shapes[i].addressing, fills[j],
                       bars[k].bytes / 1000, least, len, ratio, bars[k].most,
                       fine ? "" : " missed");
                all_fine &= fine;
                umbel_close(f);
            }
    assert_true(all_fine);
}

TEST_GROUP(adaptive)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_files_come_near_the_entropy_of_their_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
