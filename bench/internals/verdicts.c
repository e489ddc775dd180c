/*
 * verdicts.c - the paper's DCC case: counters of five bits beside a table of
 * signatures and counts.
 *
 * bench_verdicts [KEYS] [QUERIES]: KEYS signatures (21 million), of which one
 * comes x times or more with chance 1/x, in one epoch of a list as dccifd has
 * it; then QUERIES others (20 million) are looked up. Prints memory, and how
 * many of those others seem to have come 20 times: predicted by equation (4) of
 * the paper, by compound Poisson, and measured. Then the same signatures go
 * into the paper's baseline, a hash table of 20-byte signatures and their
 * counts, for its memory and speed. Times are CPU time.
 *
 * Counters stick at 31, so no signature is added more often. They come in
 * rounds, each in another order.
 */
#include "base/map.h"
#include "base/rng.h"
#include "store/list.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = UM_LIST_BATCH, THRESHOLD = 20, MOST = 31 };

static const uint8_t secret[UMBEL_SECRET_LEN] = "verdicts";

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static umbel_digest digest_of(uint64_t i)
{
    um_rng rng = {i * 2 + 1};
    umbel_digest d;

    d.lo = um_random(&rng);
    d.hi = um_random(&rng);
    return d;
}

/* How often signature i comes: at least x times with chance 1/x. */
static unsigned times_of(uint64_t i)
{
    um_rng rng = {~i};
    double u = ((double)(um_random(&rng) >> 11) + 1) * 0x1p-53;

    return 1 / u < MOST ? (unsigned)(1 / u) : MOST;
}

/* --- the list --------------------------------------------------------------
 */

static um_list *open_list(uint64_t keys)
{
    um_list_config c = {.name = "body",
                        .kind = "counting",
                        .addressing = "classic",
                        .capacity = keys,
                        .error = 0.02,
                        .epochs = 1,
                        .cell_bits = 5,
                        .refined = true,
                        .threshold = THRESHOLD};
    um_list *l;
    umbel_error err;

    if (um_list_open(&c, secret, 0, &l, &err) != UMBEL_OK) {
        fprintf(stderr, "bench_verdicts: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    return l;
}

static void add_batch(um_list *l, const umbel_digest *d, size_t n)
{
    uint32_t once[BATCH];

    for (size_t i = 0; i < n; i++)
        once[i] = 1;
    um_list_add(l, d, once, n, NULL);
}

/* Signatures that come at least that often, from a place of its own on,
 * forwards or backwards. */
static uint64_t add_round(um_list *l, uint64_t keys, unsigned round)
{
    umbel_digest d[BATCH];
    uint64_t added = 0, at = round * UINT64_C(7919) % keys;
    size_t n = 0;

    for (uint64_t i = 0; i < keys; i++) {
        at = at + 1 < keys ? at + 1 : 0;
        uint64_t key = round % 2 ? at : keys - 1 - at;
        if (times_of(key) < round)
            continue;
        d[n++] = digest_of(key);
        added++;
        if (n == BATCH) {
            add_batch(l, d, n);
            n = 0;
        }
    }
    add_batch(l, d, n);
    return added;
}

static uint64_t count_many(const um_list *l, uint64_t first, uint64_t n,
                           bool (*wanted)(uint64_t key))
{
    umbel_digest d[BATCH];
    uint64_t count[BATCH], many = 0;

    for (uint64_t i = 0; i < n; i += BATCH) {
        size_t some = 0;
        for (size_t j = 0; j < BATCH && i + j < n; j++)
            if (!wanted || wanted(first + i + j))
                d[some++] = digest_of(first + i + j);
        um_list_count(l, d, some, count);
        for (size_t j = 0; j < some; j++)
            many += count[j] >= THRESHOLD;
    }
    return many;
}

static bool is_rare(uint64_t key)
{
    return times_of(key) < THRESHOLD;
}

/* --- the baseline ----------------------------------------------------------
 */

typedef struct row {
    uint8_t signature[20];
    uint32_t count;
} row;

typedef struct table {
    row *rows;
    size_t cap;
} table;

static bool is_free(const void *slot)
{
    return ((const row *)slot)->count == 0;
}

static bool has_signature(const void *ctx, const void *slot, const void *key)
{
    (void)ctx;
    return memcmp(((const row *)slot)->signature, key, 20) == 0;
}

static uint64_t hash_of(const uint8_t signature[20])
{
    uint64_t hash;

    memcpy(&hash, signature, sizeof hash);
    return hash;
}

/* The table never grows, so nothing asks for the hash of a row. */
static const um_map_rule row_rule = {sizeof(row), is_free, has_signature, NULL};

static void signature_of(uint64_t key, uint8_t out[20])
{
    umbel_digest d = digest_of(key);
    uint64_t part[3] = {d.lo, d.hi, key};

    memcpy(out, part, 20);
}

static row *find_row(const table *t, const uint8_t signature[20])
{
    return um_map_find(&row_rule, NULL, t->rows, t->cap, hash_of(signature),
                       signature);
}

static void fill_table(table *t, uint64_t keys)
{
    size_t rows = 1;
    uint8_t signature[20];

    while ((double)rows * 0.75 < (double)keys)
        rows *= 2;
    t->cap = rows;
    t->rows = calloc(rows, sizeof(row));
    if (!t->rows) {
        fputs("bench_verdicts: no memory for the table\n", stderr);
        exit(EXIT_FAILURE);
    }
    for (uint64_t i = 0; i < keys; i++) {
        signature_of(i, signature);
        row *r = find_row(t, signature);
        memcpy(r->signature, signature, sizeof r->signature);
        r->count += times_of(i);
    }
}

static uint64_t count_table(const table *t, uint64_t first, uint64_t n)
{
    uint8_t signature[20];
    uint64_t many = 0;

    for (uint64_t i = 0; i < n; i++) {
        signature_of(first + i, signature);
        many += find_row(t, signature)->count >= THRESHOLD;
    }
    return many;
}

/* Look-ups per CPU second: the best of a few, half of them of keys that came.
 */
static double speed(const um_list *l, const table *t, uint64_t keys)
{
    enum { N = 1000000, TURNS = 5 };
    double best = 0;

    for (unsigned i = 0; i < TURNS; i++) {
        uint64_t first = keys - N / 2; /* and as many behind the last */
        double began = cpu_seconds();
        uint64_t many =
            l ? count_many(l, first, N, NULL) : count_table(t, first, N);
        double rate = N / (cpu_seconds() - began);
        if (many > N / 2)
            exit(EXIT_FAILURE); /* half of them never came */
        best = rate > best ? rate : best;
    }
    return best;
}

/* --- the program -----------------------------------------------------------
 */

static void show(const char *what, double value, const char *unit)
{
    printf("%-52s %12.4g %s\n", what, value, unit);
}

int main(int argc, char **argv)
{
    uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 21000000;
    uint64_t queries = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000000;
    um_list *l = open_list(keys);
    um_list_stats s;
    uint64_t added = 0;
    table t;

    double began = cpu_seconds();
    for (unsigned round = 1; round <= MOST; round++)
        added += add_round(l, keys, round);
    double spent = cpu_seconds() - began;
    um_list_stats_get(l, &s);
    double wrong = (double)count_many(l, keys, queries, NULL);
    double expected = s.f_compound * (double)queries;
    show("signatures", (double)keys, "");
    show("mails", (double)added, "");
    show("mails counted per CPU second", (double)added / spent, "");
    show("memory", (double)s.bytes * 1e-6, "MB");
    show("f_dcc by equation (4)", s.f_paper, "");
    show("f_dcc by compound Poisson (a bound)", s.f_compound, "");
    show("f_dcc measured", wrong / (double)queries, "");
    show("... wrong verdicts on signatures that never came", wrong, "");
    show("... predicted at most", expected, "");
    show("... rare signatures (below 20) that are many",
         (double)count_many(l, 0, keys, is_rare), "");
    bool good = (double)s.bytes <= 110e6 * (double)keys / 21e6 + 1e6 &&
                s.f_compound <= 1e-6 &&
                wrong <= expected + 5 * sqrt(expected) + 1;
    fill_table(&t, keys);
    show("look-ups per CPU second", speed(l, &t, keys), "");
    show("the baseline: memory", (double)t.cap * sizeof(row) * 1e-6, "MB");
    show("the baseline: look-ups per CPU second", speed(NULL, &t, keys), "");
    printf("%s\n", good ? "ok" : "MISSED");
    free(t.rows);
    um_list_close(l);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
