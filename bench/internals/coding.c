/*
 * coding.c - speed and size of coded cells, and of differences.
 *
 * bench_coding [ROUNDS [DIR]]: a line for each density; DIR gets the first two
 * million bytes of each filter, for bench/beside-zstd. Filters of a million
 * keys on classic addressing; MB are millions of raw bytes; best of ROUNDS.
 */
#include "base/cpu.h"
#include "coding/section.h"
#include "filter/envelope.h"

#include <umbel/diff.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 1000000, BATCH = 1000, SAMPLE = 2000000 };

static const double densities[] = {0.5,  0.4,  0.25, 0.1,
                                   0.05, 0.02, 0.01, 0.001};

static void want(umbel_status status, const umbel_error *err)
{
    if (status == UMBEL_OK)
        return;
    fprintf(stderr, "bench_coding: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static void add(umbel_filter *f, uint64_t from, uint64_t to)
{
    uint64_t keys[BATCH];
    umbel_error err;

    for (uint64_t i = from; i < to; i += BATCH) {
        for (size_t j = 0; j < BATCH; j++)
            keys[j] = i + j;
        want(umbel_add_fixed(f, keys, sizeof *keys, BATCH, NULL, &err), &err);
    }
}

static umbel_filter *create(const char *kind, uint64_t cells, uint32_t hashes)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    umbel_error err;

    p.addressing = "classic";
    p.cells = cells;
    p.hashes = hashes;
    p.capacity = KEYS;
    want(umbel_create(kind, &p, &f, &err), &err);
    return f;
}

static void write_sample(const char *dir, double density, const um_packed *c)
{
    char path[4096];
    uint64_t len = um_packed_bytes(c);

    snprintf(path, sizeof path, "%s/%g", dir, density);
    FILE *out = fopen(path, "wb");
    if (!out || !fwrite(c->at, len < SAMPLE ? len : SAMPLE, 1, out) ||
        fclose(out) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

typedef struct result {
    size_t len;
    double encode, decode; /* seconds */
} result;

static result measure(const um_packed *c, int rounds)
{
    size_t raw = (size_t)um_packed_bytes(c);
    uint8_t *out = malloc((size_t)um_code_max(c) + UM_CODE_SPACE);
    um_packed back = {.at = calloc(1, raw + 64), .n = c->n, .bits = c->bits};
    result best = {0, INFINITY, INFINITY};

    if (!out || !back.at)
        exit(EXIT_FAILURE);
    for (int i = 0; i < rounds; i++) {
        memset(back.at, 0, raw);
        double start = um_seconds();
        best.len = um_code_encode(c, UM_CODE_NOW, out);
        double middle = um_seconds();
        bool fine = um_code_decode(out, best.len, UM_CODE_NOW, &back);
        double end = um_seconds();
        if (!fine || memcmp(back.at, c->at, raw) != 0)
            exit(EXIT_FAILURE);
        best.encode = fmin(best.encode, middle - start);
        best.decode = fmin(best.decode, end - middle);
    }
    free(out);
    free(back.at);
    return best;
}

static void bench(const char *name, umbel_filter *f, const um_packed *c,
                  int rounds)
{
    double raw = (double)um_packed_bytes(c), least = um_shannon_bytes(f);
    result r = measure(c, rounds);

    printf("%-10s %12.0f %12zu %10.5f %12.0f %12.0f\n", name, raw, r.len,
           (double)r.len / least, raw / r.encode / 1e6, raw / r.decode / 1e6);
}

static void bench_density(double p, int rounds, const char *dir)
{
    uint32_t hashes = p < 0.05 ? 1 : 4;
    umbel_filter *f =
        create("bloom", (uint64_t)(hashes * KEYS / -log1p(-p)), hashes);
    char name[32];

    add(f, 0, KEYS);
    um_packed c = {.at = f->payload, .n = umbel_cells(f), .bits = 1};
    snprintf(name, sizeof name, "%g", p);
    bench(name, f, &c, rounds);
    if (dir)
        write_sample(dir, p, &c);
    umbel_close(f);
}

static void bench_counts(int rounds)
{
    umbel_filter *f = create("counting", (uint64_t)10 * KEYS, 7);

    add(f, 0, KEYS);
    um_packed c = {.at = f->payload, .n = umbel_cells(f), .bits = 4};
    bench("counters", f, &c, rounds);
    umbel_close(f);
}

/* 1 % added and 1 % replaced. */
static void bench_diff(void)
{
    umbel_filter *old = create("bloom", 14377588, 10);
    umbel_filter *now = create("bloom", 14377588, 10);
    uint64_t part = KEYS / 100, changed = 3 * part;
    size_t room = umbel_diff_bound(now);
    uint8_t *bytes = malloc(room);
    umbel_diff_result bill;
    umbel_error err;

    if (!bytes)
        exit(EXIT_FAILURE);
    add(old, 0, KEYS);
    add(now, part, KEYS + 2 * part);
    double start = um_seconds();
    want(umbel_diff(old, now, bytes, room, &bill, &err), &err);
    printf("\ndifference, 1 %% added and 1 %% replaced of %d keys: %.0f ms\n",
           KEYS, (um_seconds() - start) * 1e3);
    printf("%12.0f bytes\n%12.0f sum over v of m_v H(flips_v / m_v)\n",
           (double)bill.bytes, bill.shannon_bytes);
    printf("%12.0f 1.05 of that and 512\n", 1.05 * bill.shannon_bytes + 512);
    printf("%12.0f digests of the %.0f keys that came or went\n",
           (double)(changed * sizeof(umbel_digest)), (double)changed);
    printf("%12zu the new filter\n", umbel_encoded_len(now));
    free(bytes);
    umbel_close(old);
    umbel_close(now);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    const char *dir = argc > 2 ? argv[2] : NULL;

    printf("%-10s %12s %12s %10s %12s %12s\n", "density", "raw bytes",
           "coded bytes", "/ Shannon", "encode MB/s", "decode MB/s");
    for (size_t i = 0; i < sizeof densities / sizeof *densities; i++)
        bench_density(densities[i], rounds > 0 ? rounds : 1, dir);
    bench_counts(rounds > 0 ? rounds : 1);
    bench_diff();
    return 0;
}
