/*
 * spread.c - how far one changed key spreads in kind ribbon.
 *
 * bench_spread [KEYS]: (1) two filters of KEYS keys (100,000), of which one is
 * another: bytes of the payload that differ. (2) The same with the old solution
 * as the starting point. One equation has changed, so one slot must; every slot
 * to its left that an equation determines follows from the 63 to its right, and
 * only free slots can be chosen. For some shares of free slots: how many slots
 * lie between the change and the first place from which on the old solution can
 * stay, with the best choice of the free ones, found by elimination. Rows are
 * random, as those of keys are; the mean of 20 runs each.
 */
#include "base/rng.h"
#include "filter/handle.h"

#include <umbel/build.h>
#include <umbel/keys.h>
#include <umbel/umbel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64, WORDS = 4, MAX_FREE = 64 * WORDS - 1, RUNS = 20 };

/* --- two filters --------------------------------------------------------- */

static umbel_filter *build(uint64_t from, size_t n, size_t changed)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *empty = NULL, *f = NULL;
    umbel_digest *d = malloc(n * sizeof *d);

    p.fpr = 0.00390625;
    if (!d || umbel_build("ribbon", &p, NULL, NULL, &empty, NULL))
        exit(2);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = i < changed ? ~(from + i) : from + i;
        if (umbel_digest_fixed(empty, &key, 8, 1, &d[i], NULL))
            exit(2);
    }
    umbel_key_list members = UMBEL_KEY_LIST(d, n);
    if (umbel_build("ribbon", &p, &members, NULL, &f, NULL))
        exit(2);
    umbel_close(empty);
    free(d);
    return f;
}

static void compare(size_t keys)
{
    umbel_filter *old = build(0, keys, 0), *new = build(0, keys, 1);
    size_t len = old->payload_len, differ = 0;

    if (new->payload_len != len)
        printf("%zu keys, one is another: the sizes differ\n", keys);
    for (size_t i = 0; new->payload_len == len &&i < len; i++)
        differ += old->payload[i] != new->payload[i];
    printf("%zu keys, one is another: %zu of %zu bytes differ\n", keys, differ,
           len);
    umbel_close(old);
    umbel_close(new);
}

/* --- the old solution as the starting point ------------------------------ */

/* How a slot differs: bit 0 is a constant, the others are free slots. */
typedef struct sum {
    uint64_t word[WORDS];
} sum;

static void add(sum *to, const sum *x)
{
    for (int i = 0; i < WORDS; i++)
        to->word[i] ^= x->word[i];
}

/* The highest variable, or 0 where only a constant is left. */
static int leading(const sum *x)
{
    for (int i = WORDS; i-- > 0;)
        if (x->word[i])
            return 64 * i + 63 - __builtin_clzll(x->word[i]);
    return -1;
}

/* Returns true if free slots can be chosen so that all of a window are 0. */
static bool can_end(const sum window[WIDTH])
{
    static sum at[64 * WORDS];
    bool taken[64 * WORDS] = {false};

    for (int i = 0; i < WIDTH - 1; i++) {
        sum x = window[i];
        int lead = leading(&x);
        for (; lead > 0 && taken[lead]; lead = leading(&x))
            add(&x, &at[lead]);
        if (lead == 0)
            return false;
        if (lead > 0) {
            at[lead] = x;
            taken[lead] = true;
        }
    }
    return true;
}

static double spread(um_rng *rng, double share)
{
    sum window[WIDTH] = {{{1}}}; /* the latest first */
    int nfree = 0;

    for (double slots = 1;; slots++) {
        sum x = {{0}};
        bool is_free = (double)(um_random(rng) >> 11) * 0x1p-53 < share;
        uint64_t row = um_random(rng);
        if (is_free && ++nfree > MAX_FREE)
            return slots;
        if (is_free)
            x.word[nfree / 64] |= (uint64_t)1 << nfree % 64;
        for (int i = 0; !is_free && i < WIDTH - 1; i++)
            if (row >> i & 1)
                add(&x, &window[i]);
        memmove(window + 1, window, (WIDTH - 1) * sizeof *window);
        window[0] = x;
        if (is_free && can_end(window))
            return slots;
    }
}

int main(int argc, char **argv)
{
    static const double shares[] = {0.0012, 0.01, 0.03, 0.1, 0.3};
    um_rng rng = {1};

    compare(argc > 1 ? strtoull(argv[1], NULL, 10) : 100000);
    printf("%12s %20s %14s\n", "free slots", "slots that change",
           "free share x");
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double all = 0;
        for (int run = 0; run < RUNS; run++)
            all += spread(&rng, shares[i]) / RUNS;
        printf("%10.2f %% %20.0f %14.1f\n", 100 * shares[i], all,
               all * shares[i]);
    }
    return 0;
}
