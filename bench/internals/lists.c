/*
 * lists.c - what counts cost in the lists of a clearinghouse.
 *
 * bench_lists [KEYS]: (1) bytes and CPU time a key of the kinds that count, at
 * the error of a list and of one of its four epochs; (2) memory, file and wrong
 * answers of two lists and the times of the last hour with KEYS digests (a
 * million), each in both lists; (3) the CPU time of a check that asks both
 * lists with four full epochs each; (4) memory for ten times as many. Times are
 * CPU time, the better half of many chunks. Both lists hold the same digests,
 * so a digest is mostly wrong in both or in none: about half as many are wrong
 * as the sum of the errors predicts.
 */
#include "base/rng.h"
#include "filter/handle.h"
#include "store/internal.h"
#include "store/list.h"

#include <umbel/counting.h>
#include <umbel/plan.h>
#include <umbel/umbel.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 256,
    EPOCHS = 4,
    SAMPLE = 100000,
    THRESHOLD = 20,
    NOW = 1 << 30
};

static const uint8_t secret[UMBEL_SECRET_LEN] = "lists";

static void want(umbel_status status, const umbel_error *err)
{
    if (status == UMBEL_OK)
        return;
    fprintf(stderr, "bench_lists: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double resident_bytes(void)
{
    FILE *in = fopen("/proc/self/statm", "re");
    unsigned long size = 0, resident = 0;

    if (in && fscanf(in, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (in)
        fclose(in);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Digests of a keyed hash look like this. */
static void draw(uint64_t from, size_t n, umbel_digest *out)
{
    for (size_t i = 0; i < n; i++) {
        um_rng rng = {(from + i) * 2 + 1};
        out[i].lo = um_random(&rng);
        out[i].hi = um_random(&rng);
    }
}

/* --- (1) kinds ------------------------------------------------------------ */

typedef struct thing {
    const char *name, *kind, *addressing;
    uint64_t bits;      /* of a count; 0: the kind's */
    uint64_t threshold; /* counts below it do not matter; 0: all do */
} thing;

static const thing things[] = {
    {"table, 14 bits", "table", NULL, 14, 0},
    {"table, 16 bits", "table", NULL, 16, 0},
    {"counting, 8 bits", "counting", "classic", 8, 0},
    {"tally", "tally", NULL, 0, 0},
    {"counting, 5 bits, threshold 20", "counting", "classic", 5, THRESHOLD},
};

/* P(count >= x) = 1/x, up to 1,000. */
static uint64_t count_of(size_t i, size_t n)
{
    double x = (double)n / ((double)i + 1);
    return x < 1000 ? (uint64_t)x : 1000;
}

/* Cells a key, with k hashes, that keep a key which never came below the
 * threshold. */
static double cells_for(umbel_params p, double error, const uint64_t *counts)
{
    double low = 1, high = 64;

    for (int i = 0; i < 12; i++) {
        double mid = (low + high) / 2;
        umbel_count_plan plan;
        umbel_error err;

        p.cells = (uint64_t)(mid * SAMPLE);
        want(umbel_plan_counts("counting", &p, THRESHOLD, counts, SAMPLE, &plan,
                               &err),
             &err);
        if (plan.f_compound <= error)
            high = mid;
        else
            low = mid;
    }
    return high;
}

static void size_by_threshold(umbel_params *p, double error, uint64_t keys)
{
    uint64_t *counts = calloc(SAMPLE, sizeof *counts);
    double best = INFINITY;

    if (!counts)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < SAMPLE; i++)
        counts[i] = count_of(i, SAMPLE);
    for (uint32_t k = 2; k <= 8; k++) {
        umbel_params q = *p;
        q.capacity = 0;
        q.hashes = k;
        double cells = cells_for(q, error, counts);
        if (cells < best) {
            best = cells;
            p->hashes = k;
        }
    }
    p->capacity = 0;
    p->cells = (uint64_t)(best * (double)keys);
    free(counts);
}

static umbel_filter *create_thing(const thing *t, double error, uint64_t keys)
{
    umbel_setting set[] = {{"cell_bits", t->bits}, {"update", 1}};
    umbel_params p = {.size = sizeof p,
                      .addressing = t->addressing,
                      .hash = "sip",
                      .secret = secret,
                      .capacity = keys,
                      .fpr = error,
                      .settings = set,
                      .nsettings = t->addressing ? 2 : t->bits != 0,
                      .exact_size = true};
    umbel_filter *f;
    umbel_error err;

    if (t->threshold)
        size_by_threshold(&p, error, keys);
    want(umbel_create(t->kind, &p, &f, &err), &err);
    return f;
}

static double *new_seconds(size_t n)
{
    double *seconds = calloc(n, sizeof *seconds);

    if (!seconds) {
        fputs("lists: no memory for times\n", stderr);
        exit(2);
    }
    return seconds;
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of CPU time a digest: the mean of the better half of chunks. */
static double better_half(double *seconds, size_t n, size_t per)
{
    double sum = 0;
    size_t half = n / 2;

    if (half == 0)
        return 0;
    qsort(seconds, n, sizeof *seconds, by_time);
    for (size_t i = 0; i < half; i++)
        sum += seconds[i];
    return sum / (double)half / (double)per * 1e9;
}

static double time_adds(umbel_filter *f, uint64_t keys)
{
    static uint64_t one[CHUNK];
    size_t n = (size_t)keys / CHUNK, at = 0;
    double *seconds = new_seconds(n);
    umbel_digest d[CHUNK];
    umbel_error err;

    for (size_t i = 0; i < CHUNK; i++)
        one[i] = 1;
    for (; at < n; at++) {
        draw(at * CHUNK, CHUNK, d);
        double start = cpu_seconds();
        want(umbel_add_digest_amounts(f, d, one, CHUNK, NULL, &err), &err);
        seconds[at] = cpu_seconds() - start;
    }
    double ns = better_half(seconds, n, CHUNK);
    free(seconds);
    return ns;
}

static double time_counts(const umbel_filter *f, uint64_t from, uint64_t keys)
{
    size_t n = (size_t)keys / CHUNK;
    double *seconds = new_seconds(n);
    umbel_digest d[CHUNK];
    uint64_t count[CHUNK];
    umbel_error err;

    for (size_t at = 0; at < n; at++) {
        draw(from + at * CHUNK, CHUNK, d);
        double start = cpu_seconds();
        want(umbel_count_digests(f, d, CHUNK, count, &err), &err);
        seconds[at] = cpu_seconds() - start;
    }
    double ns = better_half(seconds, n, CHUNK);
    free(seconds);
    return ns;
}

static void compare_kinds(double error, uint64_t keys)
{
    printf("error 1 in %.0f, %" PRIu64 " keys       bytes/key  add ns  "
           "count ns: members  others\n",
           1 / error, keys);
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        umbel_filter *f = create_thing(&things[i], error, keys);
        double add = time_adds(f, keys);
        double in = time_counts(f, 0, keys);
        double out = time_counts(f, (uint64_t)1 << 40, keys);
        printf("  %-32s %12.2f %7.0f %18.0f %7.0f\n", things[i].name,
               (double)f->payload_len / (double)keys, add, in, out);
        umbel_close(f);
    }
}

/* --- (2) two lists -------------------------------------------------------- */

static const um_list_config config = {
    .name = "list", .kind = "table", .error = 5e-6, .epochs = EPOCHS};

typedef struct lists {
    um_list *list[2];
    um_recent_times *recent;
} lists;

static void open_lists(lists *l, uint64_t keys)
{
    um_list_config c = config;
    umbel_error err;

    c.capacity = keys;
    for (int i = 0; i < 2; i++)
        want(um_list_open(&c, secret, NOW, &l->list[i], &err), &err);
    want(um_recent_times_open(keys, NULL, &l->recent, &err), &err);
}

static void close_lists(lists *l)
{
    um_list_close(l->list[0]);
    um_list_close(l->list[1]);
    um_recent_times_close(l->recent);
}

static void fill_lists(lists *l, uint64_t from, uint64_t keys)
{
    umbel_digest d[CHUNK];
    uint32_t amount[CHUNK];
    uint64_t before[CHUNK];
    umbel_error err;

    for (uint64_t at = 0; at < keys; at += CHUNK) {
        size_t n = keys - at < CHUNK ? (size_t)(keys - at) : CHUNK;
        draw(from + at, n, d);
        for (size_t i = 0; i < n; i++)
            amount[i] = 1 + (uint32_t)((at + i) % 7);
        for (unsigned c = 0; c < 2; c++) {
            um_list_count(l->list[c], d, n, before);
            want(um_list_add(l->list[c], d, amount, n, &err), &err);
            um_recent_times_add(l->recent, c, d, before, n,
                                NOW + at * 3000 / keys);
        }
    }
}

static umbel_status count_bytes(void *ctx, const void *bytes, size_t len,
                                umbel_error *err)
{
    (void)bytes;
    (void)err;
    *(uint64_t *)ctx += len;
    return UMBEL_OK;
}

static uint64_t list_bytes(const um_list *l)
{
    um_list_stats s;
    um_list_stats_get(l, &s);
    return s.bytes;
}

static double list_error(const um_list *l)
{
    um_list_stats s;
    um_list_stats_get(l, &s);
    return s.error;
}

/* Digests that never came and are answered otherwise than 0 0. */
static uint64_t wrong_answers(const lists *l, uint64_t trials)
{
    umbel_digest d[CHUNK];
    uint64_t count[2][CHUNK], wrong = 0;

    for (uint64_t at = 0; at < trials; at += CHUNK) {
        draw(((uint64_t)1 << 40) + at, CHUNK, d);
        um_list_count(l->list[0], d, CHUNK, count[0]);
        um_list_count(l->list[1], d, CHUNK, count[1]);
        for (int i = 0; i < CHUNK; i++)
            wrong += count[0][i] || count[1][i];
    }
    return wrong;
}

static void report_lists(const char *what, const lists *l, uint64_t digests,
                         double resident)
{
    um_recent_times_stats recent;
    uint64_t file[2] = {0, 0};
    umbel_error err;
    double n = (double)digests;

    um_recent_times_stats_get(l->recent, &recent);
    for (int i = 0; i < 2; i++)
        want(
            um_list_encode(l->list[i], &(um_sink){&file[0], count_bytes}, &err),
            &err);
    want(um_recent_times_encode(l->recent, &(um_sink){&file[1], count_bytes},
                                &err),
         &err);
    double both = (double)(list_bytes(l->list[0]) + list_bytes(l->list[1]));
    printf("%s\n", what);
    printf("  memory, bytes a digest: lists %.2f, times %.2f, together %.2f; "
           "resident %.2f\n",
           both / n, (double)recent.bytes / n,
           (both + (double)recent.bytes) / n, resident / n);
    printf("  file, bytes a digest:   lists %.2f, times %.2f, together %.2f\n",
           (double)file[0] / n, (double)file[1] / n,
           (double)(file[0] + file[1]) / n);
}

static void report_wrong(const lists *l, uint64_t trials)
{
    double p = list_error(l->list[0]) + list_error(l->list[1]);

    trials = (trials + CHUNK - 1) / CHUNK * CHUNK;
    printf("  of %" PRIu64 " digests never reported, answered otherwise than "
           "0 0: %" PRIu64 " (predicted at most %.2f; allowed %.0f)\n",
           trials, wrong_answers(l, trials), p * (double)trials,
           1e-5 * (double)trials);
}

static void measure_lists(uint64_t keys)
{
    char what[80];
    lists l = {{NULL, NULL}, NULL};
    double before = resident_bytes();

    open_lists(&l, keys);
    fill_lists(&l, 0, keys);
    snprintf(what, sizeof what, "%" PRIu64 " digests, both counts, times",
             keys);
    report_lists(what, &l, keys, resident_bytes() - before);
    report_wrong(&l, keys);
    close_lists(&l);
}

/* --- (3) checks ------------------------------------------------------------
 */

static double time_checks(const lists *l, uint64_t from, size_t per)
{
    enum { CHECKS = 4000 };
    static double seconds[CHECKS];
    umbel_digest d[CHUNK];
    uint64_t count[CHUNK];

    for (size_t at = 0; at < CHECKS; at++) {
        draw(from + at * CHUNK, CHUNK, d);
        double start = cpu_seconds();
        for (size_t i = 0; i < CHUNK; i += per) {
            um_list_fetch(l->list[0], d + i, per);
            um_list_fetch(l->list[1], d + i, per);
            um_list_count(l->list[0], d + i, per, count);
            um_list_count(l->list[1], d + i, per, count);
        }
        seconds[at] = cpu_seconds() - start;
    }
    return better_half(seconds, CHECKS, CHUNK);
}

static void measure_checks(uint64_t keys)
{
    lists l = {{NULL, NULL}, NULL};
    umbel_error err;

    open_lists(&l, keys);
    for (uint64_t e = 0; e < EPOCHS; e++) {
        fill_lists(&l, e * keys, keys);
        for (int i = 0; i < 2 && e + 1 < EPOCHS; i++)
            want(um_list_advance(l.list[i], NOW + e, &err), &err);
    }
    printf("%d full epochs of %" PRIu64 " digests in each of two lists\n",
           EPOCHS, keys);
    report_wrong(&l, 10 * keys);
    printf("  CPU ns a check: never reported %.0f one by one, %.0f in batches "
           "of 64; reported %.0f, %.0f\n",
           time_checks(&l, (uint64_t)1 << 40, 1),
           time_checks(&l, (uint64_t)1 << 40, 64), time_checks(&l, 0, 1),
           time_checks(&l, 0, 64));
    close_lists(&l);
}

int main(int argc, char **argv)
{
    uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

    if (keys < 10000)
        keys = 10000;
    compare_kinds(1e-5, keys);
    compare_kinds(1e-5 / EPOCHS, keys);
    measure_lists(keys);
    measure_checks(keys);
    measure_lists(10 * keys);
    return EXIT_SUCCESS;
}
