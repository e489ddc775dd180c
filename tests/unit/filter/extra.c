/*
 * extra.c - the sum over lanes, compared with enumerating every outcome.
 *
 * A block of eight lanes of three cells has 4^8 fills (the number of used cells
 * of each lane). Their probabilities are computed exactly, key by key; the
 * error of a query is then their mean.
 */
#include "support/test.h"

#include "analysis/analysis.h"
#include "filter/addressing/addressing.h"
#include "filter/kind.h"

#include <math.h>
#include <string.h>

enum { LANES = 8, WIDTH = 3, LEVELS = WIDTH + 1, STATES = 1 << 16 };

/* Returns lane i's level: digit i of the state in base LEVELS. */
static int level_of(int state, int lane)
{
    return state >> 2 * lane & (LEVELS - 1);
}

static um_layout layout_of(uint32_t throws, uint32_t extra, uint64_t blocks)
{
    return (um_layout){.row = um_addressing_find("blocked512"),
                       .cells = blocks * LANES * WIDTH,
                       .hashes = throws * LANES + extra,
                       .blocks = blocks,
                       .width = WIDTH,
                       .lanes = LANES,
                       .throws = throws,
                       .extra = (uint16_t)extra};
}

/* Throws once into a lane: it hits a used cell, or a free one. */
static void throw_into(double *p, int lane)
{
    for (int state = STATES - 1; state >= 0; state--) {
        int used = level_of(state, lane);
        double stay = p[state] * used / WIDTH;
        double come =
            used ? p[state - (1 << 2 * lane)] * (WIDTH - used + 1) / WIDTH : 0;
        p[state] = stay + come;
    }
}

/* Returns a key's throws into a lane if its extra ones begin at lane start. */
static uint32_t throws_at(const um_layout *l, int start, int lane)
{
    uint32_t off = (uint32_t)(lane - start + LANES) % LANES;
    return l->throws + (off < l->extra);
}

static void add_key(const um_layout *l, double *p)
{
    static double sum[STATES], one[STATES];

    memset(sum, 0, sizeof sum);
    for (int start = 0; start < LANES; start++) {
        memcpy(one, p, sizeof one);
        for (int lane = 0; lane < LANES; lane++)
            for (uint32_t i = 0; i < throws_at(l, start, lane); i++)
                throw_into(one, lane);
        for (int state = 0; state < STATES; state++)
            sum[state] += one[state] / LANES;
    }
    memcpy(p, sum, sizeof sum);
}

/*
 * Returns the probability that a query finds all its cells in use; it is the
 * same for all starts.
 */
static double query(const um_layout *l, const double *p)
{
    double sum = 0;

    for (int state = 0; state < STATES; state++) {
        double hit = p[state];
        for (int lane = 0; lane < LANES && hit > 0; lane++)
            for (uint32_t i = 0; i < throws_at(l, 0, lane); i++)
                hit *= (double)level_of(state, lane) / WIDTH;
        sum += hit;
    }
    return sum;
}

/* Checks one block and two, for up to four keys. */
static void check(uint32_t throws, uint32_t extra)
{
    enum { KEYS = 4 };
    static double p[STATES];
    um_layout one = layout_of(throws, extra, 1);
    um_layout two = layout_of(throws, extra, 2);
    double by_load[KEYS + 1] = {0}, mixed = 0;

    memset(p, 0, sizeof p);
    p[0] = 1;
    for (int n = 1; n <= KEYS; n++) {
        add_key(&one, p);
        by_load[n] = query(&one, p);
        assert_near(um_extra_error(&one, n, 0), by_load[n], 1e-11);
    }
    for (int n = 0; n <= KEYS; n++)
        mixed += exp(test_ln_binomial(KEYS, n, 0.5)) * by_load[n];
    assert_near(um_extra_error(&two, KEYS, 0), mixed, 1e-11);
}

static void the_sum_is_exact_without_throws_into_every_lane(void **state)
{
    (void)state;
    for (uint32_t extra = 1; extra < LANES; extra++)
        check(0, extra);
}

static void the_sum_is_exact_with_a_throw_into_every_lane(void **state)
{
    (void)state;
    for (uint32_t extra = 1; extra < LANES; extra += 2)
        check(1, extra);
}

static void it_knows_what_is_too_much_for_it(void **state)
{
    um_layout none = layout_of(1, 0, 1), some = layout_of(1, 7, 1);
    um_layout many = layout_of(2, 1, 1);

    (void)state;
    assert_false(um_extra_can(&none));
    assert_true(um_extra_can(&some));
    assert_false(um_extra_can(&many));
}

TEST_GROUP(extra)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_is_exact_without_throws_into_every_lane),
        cmocka_unit_test(the_sum_is_exact_with_a_throw_into_every_lane),
        cmocka_unit_test(it_knows_what_is_too_much_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
