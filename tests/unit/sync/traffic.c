/*
 * traffic.c - the cost of an exchange, compared with the entropy of the
 * changes; and the accuracy of sums over origins.
 *
 *   test_sync_traffic [KEYS]   with more reports, rounds, and that many keys in
 *                              the first exchange
 */
#include "base/rng.h"
#include "support/sync.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <umbel/counting.h>

/* Returns log2 of the number of ways to choose k of n. */
static double log2_choose(double n, double k)
{
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2);
}

enum { OLD = 64, GREW = 64 }; /* distinguished values */

/*
 * Returns the bits of the new values given the old: the entropy of the
 * increments.
 */
static double value_bits(double seen[OLD][GREW])
{
    double bits = 0;

    for (int o = 0; o < OLD; o++) {
        double all = 0;
        for (int g = 0; g < GREW; g++)
            all += seen[o][g];
        for (int g = 0; g < GREW; g++)
            if (seen[o][g] > 0)
                bits -= seen[o][g] * log2(seen[o][g] / all);
    }
    return bits;
}

/*
 * Returns, summed over pages, the bits for the positions of the changes and for
 * the new values.
 */
static double entropy_bits(const umbel_filter *old, const umbel_filter *now,
                           uint32_t page_bytes, uint64_t *changed)
{
    static double seen[OLD][GREW];
    um_pages pages;
    double bits = 0;

    memset(seen, 0, sizeof seen);
    *changed = 0;
    assert_ok(
        um_pages_init(&pages, um_shape_of(now), page_bytes, &test_refusal));
    for (uint64_t i = 0; i < pages.n; i++) {
        um_page p = um_page_of(&pages, i);
        um_growth_page g = {.form = &pages.section[p.section].form,
                            .old = old->payload + p.offset,
                            .now = now->payload + p.offset,
                            .n = p.n};
        uint64_t k = 0;
        for (uint64_t at = 0; um_growth_differs(&g, &at); at++, k++) {
            um_entry_value a = um_entry_get(g.form, g.old, at),
                           b = um_entry_get(g.form, g.now, at);
            uint64_t by = b.count - a.count;
            seen[a.count < OLD ? a.count : OLD - 1][by < GREW ? by : 0]++;
            bits += a.count ? 0 : g.form->print_bits;
        }
        bits += k ? log2_choose((double)p.n, (double)k) : 0;
        *changed += k;
    }
    return bits + value_bits(seen);
}

/* Amount of work: little, unless KEYS is given. */
static uint64_t first_keys = 20000, base_keys = 10000, max_reports = 4000,
                rounds = 1;

typedef struct traffic_case {
    const char *kind;
    umbel_setting settings[2];
    size_t nsettings;
    double fpr;
} traffic_case;

static const traffic_case cases[] = {
    {"bloom", {{NULL, 0}}, 0, 0.001},
    {"counting", {{"cell_bits", 5}, {"update", 1}}, 2, 0.01},
    {"counting", {{"cell_bits", 8}, {"update", 0}}, 2, 0.01},
    {"table", {{NULL, 0}}, 0, 0.00001},
    {"tally", {{NULL, 0}}, 0, 0.03},
};

static umbel_filter *shape_of(const traffic_case *c, uint64_t capacity)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *shape;

    p.capacity = capacity;
    p.fpr = c->fpr;
    p.settings = c->settings;
    p.nsettings = c->nsettings;
    assert_ok(umbel_create(c->kind, &p, &shape, &test_refusal));
    return shape;
}

static void add_many(test_sync_server *s, uint64_t from, uint64_t n)
{
    test_add(s->own, from, (size_t)n);
}

/* Pages and messages: the defaults, and those of a server. */
typedef struct traffic_limits {
    uint32_t page_bytes, message_bytes;
} traffic_limits;

static traffic_limits by_default = {65536, 2 << 20},
                      in_a_server = {4096, 65536};

static void open_pair(test_sync_server *a, test_sync_server *b,
                      const umbel_filter *shape, const traffic_limits *limits)
{
    a->list.shape = b->list.shape = shape;
    a->list.page_bytes = b->list.page_bytes = limits->page_bytes;
    a->params.limits.message_bytes = b->params.limits.message_bytes =
        limits->message_bytes;
    a->params.limits.memory = b->params.limits.memory = (uint64_t)8 << 30;
    test_sync_open(a, 1);
    test_sync_open(b, 2);
}

static void differences_cost_their_entropy(void **state)
{
    uint64_t reports[] = {1, 30, 1000, max_reports};
    const traffic_limits *limits = *state;

    for (size_t k = 0; k < TEST_COUNT(cases); k++) {
        umbel_filter *shape = shape_of(&cases[k], 4 * base_keys);
        test_sync_server a = {0}, b = {0};
        test_sync_link l;
        uint64_t from = base_keys;

        open_pair(&a, &b, shape, limits);
        test_sync_connect(&l, &a, &b);
        add_many(&a, 0, base_keys);
        test_sync_publish(&a);
        test_sync_run(&l, 1);
        for (size_t r = 0; r < TEST_COUNT(reports); r++) {
            umbel_filter *before;
            uint64_t bytes = l.bytes[0], messages = l.messages[0], changed;
            assert_ok(umbel_copy(a.own, &before, &test_refusal));
            add_many(&a, from, reports[r]);
            from += reports[r] - reports[r] / 4; /* some are repeated */
            test_sync_publish(&a);
            test_sync_run(&l, 2 + r);
            bytes = l.bytes[0] - bytes;
            messages = l.messages[0] - messages;
            double least =
                entropy_bits(before, a.own, limits->page_bytes, &changed) / 8;
            print_message("%-8s %6" PRIu64 " reports, %7" PRIu64
                          " cells: %8" PRIu64 " bytes, entropy %10.1f, ratio "
                          "%.3f, %.2f bytes a report\n",
                          cases[k].kind, reports[r], changed, bytes, least,
                          (double)bytes / least,
                          (double)bytes / (double)reports[r]);
            assert_true((double)bytes <= 1.15 * least + 200 * (double)messages);
            assert_true(test_sync_word(&a) == test_sync_word(&b));
            umbel_close(before);
        }
        test_sync_close(&a);
        test_sync_close(&b);
        umbel_close(shape);
    }
}

static void a_first_exchange_costs_the_coded_file(void **state)
{
    const traffic_limits *limits = *state;

    for (size_t k = 0; k < TEST_COUNT(cases); k++) {
        umbel_filter *shape = shape_of(&cases[k], first_keys);
        test_sync_server a = {0}, b = {0};
        test_sync_link l;

        open_pair(&a, &b, shape, limits);
        add_many(&a, 0, first_keys);
        test_sync_publish(&a);
        test_sync_connect(&l, &a, &b);
        test_sync_run(&l, 1);
        assert_true(test_sync_word(&a) == test_sync_word(&b));
        umbel_set_coded(a.own, true);
        uint64_t coded = umbel_encoded_len(a.own);
        uint64_t sum = l.bytes[0] + l.bytes[1];
        print_message("%-8s %" PRIu64 " keys: %" PRIu64
                      " bytes both ways, coded file %" PRIu64 ", ratio %.4f\n",
                      cases[k].kind, first_keys, sum, coded,
                      (double)sum / (double)coded);
        assert_true((double)sum <= 1.02 * (double)coded + 1000);
        test_sync_close(&a);
        test_sync_close(&b);
        umbel_close(shape);
    }
}

/*
 * The table of the note: m = 80,000, k = 4, 10,000 keys; wrong counts of one
 * filter for all, of the cell-wise sum, and of the sum of minima. Counts are
 * Pareto distributed, P(c >= x) = 1 / x, or all 20.
 */
enum { MAX_SERVERS = 8, ERROR_KEYS = 10000 };

typedef struct error_row {
    bool pareto;
    int servers;
    double central, cells, minima; /* from the note; 0: not in it */
} error_row;

static const error_row error_rows[] = {
    {true, 2, 0.0065, 0.0077, 0.0067},
    {true, 4, 0.0062, 0.0111, 0.0042},
    {true, 8, 0.0064, 0.0150, 0.0020},
    {false, 2, 0, 0, 0},
    {false, 4, 0, 0, 0},
    {false, 8, 0.0187, 0.0240, 0.0231},
};

typedef struct errors {
    double keys, central, cells, minima; /* wrong counts */
} errors;

static umbel_filter *error_filter(uint64_t seed)
{
    umbel_setting settings[] = {{"cell_bits", 16}, {"update", 1}};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.cells = 80000;
    p.hashes = 4;
    p.addressing = "classic";
    p.seed = seed;
    p.settings = settings;
    p.nsettings = 2;
    assert_ok(umbel_create("counting", &p, &f, &test_refusal));
    return f;
}

static uint64_t pareto(um_rng *rng)
{
    double u = ((double)um_random_below(rng, 1 << 30) + 1) / (1 << 30);

    return u < 0.0001 ? 10000 : (uint64_t)(1 / u);
}

/* Adds reports in a random order, each to a random server. */
static void spread_reports(const error_row *row, um_rng *rng, uint64_t *times,
                           umbel_filter **server, umbel_filter *central)
{
    uint32_t *report = NULL;
    size_t n = 0;

    for (uint64_t i = 0; i < ERROR_KEYS; i++) {
        times[i] = row->pareto ? pareto(rng) : 20;
        n += times[i];
    }
    report = malloc(n * sizeof *report);
    assert_non_null(report);
    n = 0;
    for (uint32_t i = 0; i < ERROR_KEYS; i++)
        for (uint64_t t = 0; t < times[i]; t++) {
            size_t at = (size_t)um_random_below(rng, ++n);
            report[n - 1] = report[at];
            report[at] = i;
        }
    for (size_t i = 0; i < n; i++) {
        uint64_t to = um_random_below(rng, (uint64_t)row->servers);
        test_add_times(server[to], report[i], 1);
        test_add_times(central, report[i], 1);
    }
    free(report);
}

static void count_errors(const error_row *row, uint64_t seed, um_rng *rng,
                         errors *to)
{
    static uint64_t times[ERROR_KEYS];
    umbel_filter *server[MAX_SERVERS], *cells, *central = error_filter(seed);

    for (int s = 0; s < row->servers; s++)
        server[s] = error_filter(seed);
    spread_reports(row, rng, times, server, central);
    assert_ok(umbel_copy(server[0], &cells, &test_refusal));
    for (int s = 1; s < row->servers; s++)
        assert_ok(umbel_merge(cells, server[s], UMBEL_ADD, &test_refusal));
    for (uint64_t i = 0; i < ERROR_KEYS; i++) {
        uint64_t sum = 0;
        for (int s = 0; s < row->servers; s++)
            sum += test_count(server[s], i);
        assert_true(sum >= times[i]);
        assert_true(test_count(cells, i) >= sum);
        to->keys++;
        to->central += test_count(central, i) != times[i];
        to->cells += test_count(cells, i) != times[i];
        to->minima += sum != times[i];
    }
    for (int s = 0; s < row->servers; s++)
        umbel_close(server[s]);
    umbel_close(central);
    umbel_close(cells);
}

/* Returns true if the rate is at most this, plus five sigma. */
static bool is_at_most(double wrong, double keys, double rate)
{
    return wrong <= keys * rate + 5 * sqrt(keys * rate);
}

static void sums_over_origins_err_less_than_sums_of_cells(void **state)
{
    um_rng rng = {7};

    (void)state;
    for (size_t r = 0; r < TEST_COUNT(error_rows); r++) {
        const error_row *row = &error_rows[r];
        errors e = {0, 0, 0, 0};
        for (uint64_t round = 0; round < rounds; round++)
            count_errors(row, round, &rng, &e);
        print_message("%-10s %d servers: one filter %.4f (%.4f), cell-wise sum "
                      "%.4f (%.4f), sum of minima %.4f (%.4f)\n",
                      row->pareto ? "Pareto" : "all 20", row->servers,
                      e.central / e.keys, row->central, e.cells / e.keys,
                      row->cells, e.minima / e.keys, row->minima);
        assert_true(e.minima <= e.cells);
        if (row->minima > 0)
            assert_true(is_at_most(e.minima, e.keys, row->minima));
        if (row->pareto && row->servers == MAX_SERVERS)
            assert_true(e.cells > 3 * e.minima);
    }
}

#define PAIR_OF_TESTS(f)                                                       \
    {#f " by default", f, NULL, NULL, &by_default},                            \
    {                                                                          \
#f " in a server", f, NULL, NULL, &in_a_server                         \
    }

TEST_GROUP(traffic)
{
    const struct CMUnitTest tests[] = {
        PAIR_OF_TESTS(differences_cost_their_entropy),
        PAIR_OF_TESTS(a_first_exchange_costs_the_coded_file),
        cmocka_unit_test(sums_over_origins_err_less_than_sums_of_cells),
    };

    if (argc > 1)
        first_keys = strtoull(argv[1], NULL, 10), base_keys = 60000,
        max_reports = 20000, rounds = 10;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
