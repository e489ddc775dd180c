/*
 * index.c - an index of many filters: its size, time and reads of a question,
 * and its answers beside those of the filters.
 *
 * bench_index DIR [FILTERS [LOW HIGH [SEED]]]: FILTERS (2,000) filters of LOW
 * to HIGH (10,000 to 100,000) keys. DIR must not exist; it is left behind.
 * Exits 1 if a figure misses its bar: a question takes 200 us, and reads 256 KB
 * from files that are not in memory; the index takes 1.15 times the filters.
 */
#define _GNU_SOURCE /* mincore */
#include "base/rng.h"

#include <umbel/estimate.h>
#include <umbel/experimental/index.h>
#include <umbel/file.h>

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 1000, QUESTIONS = 2000, CHUNK = 10, COMPARED = 400, COLD = 20 };

static const double max_us = 200, max_kilobytes = 256, max_ratio = 1.15;

static void want(umbel_status status, const umbel_error *err)
{
    if (status == UMBEL_OK)
        return;
    fprintf(stderr, "bench_index: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t key_of(uint64_t filter, uint64_t i)
{
    return filter << 32 | i;
}

static umbel_filter *build(uint64_t number, uint64_t keys)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    uint64_t batch[BATCH];
    umbel_filter *f = NULL;
    umbel_error err;

    p.capacity = keys;
    want(umbel_create(NULL, &p, &f, &err), &err);
    for (uint64_t i = 0; i < keys; i += BATCH) {
        size_t n = keys - i < BATCH ? (size_t)(keys - i) : BATCH;
        for (size_t j = 0; j < n; j++)
            batch[j] = key_of(number, i + j);
        want(umbel_add_fixed(f, batch, sizeof *batch, n, NULL, &err), &err);
    }
    return f;
}

/* Calls visit for each file of the index, and adds what it returns. */
static uint64_t each_file(const char *dir,
                          uint64_t (*visit)(int fd, size_t len))
{
    DIR *d = opendir(dir);
    uint64_t sum = 0;
    struct stat st;

    for (const struct dirent *e; d && (e = readdir(d));) {
        int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            sum += visit(fd, (size_t)st.st_size);
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
    return sum;
}

static uint64_t length(int fd, size_t len)
{
    (void)fd;
    return len;
}

static uint64_t forget(int fd, size_t len)
{
    (void)len;
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return 0;
}

/* Returns how many bytes of a file are in memory. */
static uint64_t resident(int fd, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (len + page - 1) / page;
    void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char *in = malloc(n);
    uint64_t sum = 0;

    if (at == MAP_FAILED || !in || mincore(at, len, in) != 0)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < n; i++)
        sum += (in[i] & 1) * page;
    munmap(at, len);
    free(in);
    return sum;
}

/* A question: a member of a filter, or of none. */
static uint64_t draw(um_rng *rng, uint64_t n, const uint64_t *keys)
{
    uint64_t f = um_random(rng) % n;

    return um_random(rng) & 1 ? key_of(f, um_random(rng) % keys[f])
                              : key_of(n + 1, um_random(rng) >> 33);
}

static double time_questions(umbel_index *x, um_rng *rng, uint64_t n,
                             const uint64_t *keys, uint8_t *hits)
{
    double best = INFINITY;
    umbel_error err;

    for (int c = 0; c < QUESTIONS / CHUNK; c++) {
        double start = seconds(CLOCK_MONOTONIC);
        for (int i = 0; i < CHUNK; i++) {
            uint64_t key = draw(rng, n, keys);
            want(umbel_index_ask(x, &key, sizeof key, hits, NULL, &err), &err);
        }
        best = fmin(best, (seconds(CLOCK_MONOTONIC) - start) / CHUNK);
    }
    return best * 1e6;
}

/* Asks the index and each filter. Returns how many answers differ. */
static uint64_t compare(umbel_index *x, umbel_filter *const *f, um_rng *rng,
                        uint64_t n, const uint64_t *keys, uint8_t *hits)
{
    uint64_t differ = 0, found = 0, members = 0;
    size_t slots = umbel_index_slots(x);
    size_t *at = calloc(slots, sizeof *at);
    double expected = 0;
    umbel_index_slot slot;
    umbel_error err;

    if (!at)
        exit(EXIT_FAILURE);
    for (size_t s = 0; s < slots; s++) {
        want(umbel_index_slot_at(x, s, &slot, &err), &err);
        at[s] = slot.name ? (size_t)strtoull(slot.name, NULL, 10) : n;
        expected += slot.name ? slot.error : 0;
    }
    for (int i = 0; i < COMPARED; i++) {
        uint64_t key = draw(rng, n, keys);
        want(umbel_index_ask(x, &key, sizeof key, hits, NULL, &err), &err);
        members += key >> 32 < n;
        for (size_t s = 0; s < slots; s++) {
            bool hit = hits[s / 8] >> s % 8 & 1, own = false;
            if (at[s] < n)
                want(umbel_query(f[at[s]], &key, sizeof key, &own, &err), &err);
            differ += hit != own;
            found += hit;
        }
    }
    umbel_interval rate =
        umbel_rate_interval(found - members, (uint64_t)COMPARED * n);
    printf("%d questions to the index and to each filter: %" PRIu64
           " answers differ\n"
           "false positives %" PRIu64 " (rate %.3g to %.3g), predicted %.0f "
           "(%.3g)\n",
           COMPARED, differ, found - members, rate.low, rate.high,
           expected * COMPARED, expected / (double)n);
    free(at);
    return differ;
}

/* Returns the most kilobytes that a question reads, with opening the index. */
static double ask_cold(const char *dir, um_rng *rng, uint64_t n,
                       const uint64_t *keys, uint8_t *hits)
{
    double most = 0, sum = 0;
    umbel_index *x;
    umbel_index_slot slot;
    umbel_error err;

    for (int i = 0; i < COLD; i++) {
        each_file(dir, forget);
        uint64_t before = each_file(dir, resident);
        want(umbel_index_open(dir, NULL, &x, &err), &err);
        uint64_t key = draw(rng, n, keys);
        want(umbel_index_ask(x, &key, sizeof key, hits, NULL, &err), &err);
        for (size_t s = 0; s < umbel_index_slots(x); s++)
            if (hits[s / 8] >> s % 8 & 1)
                want(umbel_index_slot_at(x, s, &slot, &err), &err);
        umbel_index_close(x);
        double kb = (double)(each_file(dir, resident) - before) / 1000;
        most = fmax(most, kb);
        sum += kb;
    }
    printf("read cold, with opening and names: %.0f KB at most, %.0f on "
           "average\n",
           most, sum / COLD);
    return most;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000,
             low = argc > 4 ? strtoull(argv[3], NULL, 10) : 10000,
             high = argc > 4 ? strtoull(argv[4], NULL, 10) : 100000, bytes = 0;
    um_rng rng = {argc > 5 ? strtoull(argv[5], NULL, 10) : 1};
    umbel_index_changes done;
    umbel_index *x;
    umbel_error err;

    if (argc < 2 || !n || low > high) {
        fputs("usage: bench_index DIR [FILTERS [LOW HIGH [SEED]]]\n", stderr);
        return 2;
    }
    umbel_filter **f = calloc(n, sizeof(umbel_filter *));
    umbel_index_entry *entry = calloc(n, sizeof *entry);
    uint64_t *keys = calloc(n, sizeof *keys);
    char(*name)[32] = calloc(n, sizeof *name);
    uint8_t *hits = malloc(UMBEL_INDEX_HITS(2 * n + 1000));
    if (!f || !entry || !keys || !name || !hits)
        exit(EXIT_FAILURE);

    for (uint64_t i = 0; i < n; i++) {
        keys[i] = low + um_random(&rng) % (high - low + 1);
        f[i] = build(i, keys[i]);
        snprintf(name[i], sizeof name[i], "%" PRIu64, i);
        entry[i] = (umbel_index_entry){name[i], f[i]};
        bytes += umbel_encoded_len(f[i]);
    }
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    want(umbel_index_update(argv[1], 0, entry, n, NULL, 0, &done, &err), &err);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    uint64_t index = each_file(argv[1], length);
    double ratio = (double)index / (double)bytes;
    printf("%" PRIu64 " filters of %" PRIu64 " to %" PRIu64
           " keys: %.1f MB; index %.1f MB, %.3f times as much; made in "
           "%.1f CPU s\n",
           n, low, high, (double)bytes / 1e6, (double)index / 1e6, ratio, cpu);

    want(umbel_index_open(argv[1], NULL, &x, &err), &err);
    double us = time_questions(x, &rng, n, keys, hits);
    printf("a question, warm: %.1f us\n", us);
    uint64_t differ = compare(x, f, &rng, n, keys, hits);
    umbel_index_close(x);
    double kb = ask_cold(argv[1], &rng, n, keys, hits);
    for (uint64_t i = 0; i < n; i++)
        umbel_close(f[i]);
    free(f);
    free(entry);
    free(keys);
    free(name);
    free(hits);
    return us <= max_us && kb <= max_kilobytes && ratio <= max_ratio && !differ
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
