/*
 * test_huge.c - a filter of more than 2^33 cells, whose numbers exceed 32 bits.
 *
 * There is one hash per key, so every key touches one random page of a
 * gigabyte.
 */
#include "support/test.h"

#include "base/bits.h"
#include "filter/handle.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BORDER ((uint64_t)1 << 33)
#define BEYOND ((uint64_t)1 << 29) /* cells above 2^33 */

enum { MEMBERS = 10000000, OUTSIDE = 4000000, PIECE = 100000, SKIPPED = 77 };

/* Writes the keys from .. from + n - 1, 8 bytes each. */
static void number(uint64_t *keys, uint64_t from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = from + i;
}

static void add_all(umbel_filter *f)
{
    static uint64_t keys[PIECE];

    for (uint64_t i = 0; i < MEMBERS; i += PIECE) {
        number(keys, i, PIECE);
        assert_ok(umbel_add_fixed(f, keys, 8, PIECE, NULL, &test_refusal));
    }
}

static uint64_t hits(const umbel_filter *f, uint64_t from, uint64_t n)
{
    static uint64_t keys[PIECE];
    static bool hit[PIECE];
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i += PIECE) {
        number(keys, from + i, PIECE);
        assert_ok(umbel_query_fixed(f, keys, 8, PIECE, hit, &test_refusal));
        for (size_t j = 0; j < PIECE; j++)
            sum += hit[j];
    }
    return sum;
}

/* Checks that got is within five sigma of n trials with probability p. */
static void assert_binomial(uint64_t got, double n, double p)
{
    assert_near((double)got, n * p, 5 * sqrt(n * p * (1 - p)));
}

static void more_than_2_33_cells_are_all_used_and_err_as_predicted(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.addressing = "classic";
    p.cells = BORDER + BEYOND;
    p.hashes = 1;
    umbel_filter *f = test_open(&p);
    assert_int_equal(umbel_cells(f), BORDER + BEYOND);
    add_all(f);
    assert_int_equal(hits(f, 0, MEMBERS), MEMBERS);

    /* One key in a thousand was not new: it shares its cell with another. */
    double share = (double)BEYOND / (double)(BORDER + BEYOND);
    assert_binomial(um_popcount(f->payload, BORDER, BEYOND),
                    (double)umbel_added(f), share);
    assert_binomial(hits(f, MEMBERS, OUTSIDE), OUTSIDE, umbel_predict(f));
    /* The fill itself varies around the formula's value, but far less. */
    assert_near(umbel_predict(f), umbel_fpr_at(f, MEMBERS),
                umbel_predict(f) * 5 / sqrt(MEMBERS));
    umbel_close(f);
}

/* Returns the container's memory limit in megabytes; ULONG_MAX if unknown. */
static unsigned long allowed_megabytes(void)
{
    static const char *const limits[] = {
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    unsigned long least = ULONG_MAX;

    for (size_t i = 0; i < TEST_COUNT(limits); i++) {
        unsigned long long bytes;
        FILE *f = fopen(limits[i], "r");
        if (f && fscanf(f, "%llu", &bytes) == 1 && bytes >> 20 < least)
            least = (unsigned long)(bytes >> 20);
        if (f)
            fclose(f);
    }
    return least;
}

/* Returns the megabytes available without swapping; 0 if unknown. */
static unsigned long free_megabytes(void)
{
    char line[256];
    unsigned long kilobytes = 0;
    FILE *f = fopen("/proc/meminfo", "r");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lu kB", &kilobytes) == 1)
            break;
    if (f)
        fclose(f);
    unsigned long allowed = allowed_megabytes();
    return kilobytes / 1024 < allowed ? kilobytes / 1024 : allowed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            more_than_2_33_cells_are_all_used_and_err_as_predicted),
    };

    if (free_megabytes() < 2048) {
        printf("large_huge: skipped, it needs 2 GB of memory and %lu MB are "
               "free\n",
               free_megabytes());
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
