/*
 * seeds_programs.c - seeds of params.c and ops.c, in the layouts described
 * there.
 */
#include "seeds.h"

#include "base/bytes.h"
#include "base/error.h"
#include "filter/head.h"

#include <math.h>

/* Parameters in the layout of params.c; rows of the tables count from 1. */
typedef struct asked {
    const char *name;
    uint8_t head[6]; /* verb kind addressing hash flags settings */
    double fpr;
    uint64_t capacity, cells, bytes;
    double keys;
    uint32_t hashes;
} asked;

#define MOST (UINT64_C(1) << 48)

static const asked asks[] = {
    {"open-error-at-1e18-keys", {0, 1, 1}, 0, 0, 2048, 0, 1e18, 8},
    {"open-error-at-infinity", {0, 1, 1}, 0, 0, 2048, 0, INFINITY, 8},
    {"open-error-at-nan", {0, 1, 2}, 0, 0, 2048, 0, NAN, 8},
    {"open-error-near-1", {0, 1, 1}, 0.9999999, MOST, 0, 0, 1, 0},
    {"open-few-cells-most-keys", {0, 1, 1}, 0.01, MOST, 2048, 0, 1, 0},
    {"open-nothing", {0}, 0, 0, 0, 0, 0, 0},
    {"open-default", {0}, 0, 1000, 0, 0, 2000, 0},
    {"open-blocked256", {0, 1, 2}, 0.01, 50, 0, 0, 1e9, 0},
    {"open-classic-cells", {0, 1, 3, 1}, 0, 0, 1000, 0, 1e300, 7},
    {"open-partitioned", {0, 1, 4, 2}, 1e-9, 100, 0, 0, 10, 0},
    {"open-universal", {0, 1, 5}, 0.1, 100, 0, 0, -1, 0},
    {"open-chunks", {0, 1, 6}, 0.01, 100, 2048, 0, 1, 0},
    {"open-sip", {0, 0, 0, 3, 1}, 0.01, 100, 0, 0, 1, 0},
    {"open-sip-no-secret", {0, 0, 0, 3}, 0.01, 100, 0, 0, 1, 0},
    {"open-unknown-kind", {0, 99}, 0.01, 100, 0, 0, 1, 0},
    {"open-unknown-setting", {0, 1, 3, 0, 0, 1}, 0.01, 100, 0, 0, 1, 0},
    {"open-old-size", {0, 1, 1, 1, 2}, 0.01, 100, 0, 0, 1, 0},
    {"open-too-large", {0, 1, 3, 1}, 0.001, MOST, 0, 0, 1, 0},
    {"open-most-cells", {0, 1, 1, 1}, 0.001, 0, MOST, 0, 1, 0},
    {"open-tiny-error", {0, 1, 3, 2}, 1e-30, 10, 0, 0, 1, 0},
    {"open-denormal-error", {0, 1, 3, 2}, 1e-310, 10, 0, 0, 1, 0},
    {"open-large-error", {0, 1, 1, 1}, 0.999, 1000, 0, 0, 1, 0},
    {"plan-default", {1}, 0, 1000, 0, 0, 0, 0},
    {"plan-cells", {1, 1, 1}, 0.01, 0, 10240, 0, 0, 0},
    {"plan-bytes", {1, 1, 3}, 0.01, 0, 0, 1000, 0, 0},
    {"plan-bytes-capacity", {1, 1, 4}, 0, 500, 0, 1000, 0, 0},
    {"plan-universal", {1, 1, 5}, 0.01, 500, 0, 0, 0, 4},
    {"plan-chunks", {1, 1, 6}, 0.01, 0, 0, 700, 0, 0},
    {"plan-chunks-5-hashes", {1, 1, 6}, 0.01, 500, 0, 0, 0, 5},
    {"plan-too-few-bytes", {1, 1, 1}, 0.01, 0, 0, 191, 0, 0},
    {"plan-ribbon", {1, 7}, 0.01, 500, 0, 0, 0, 0},
    {"plan-ribbon-few", {1, 7}, 0.3, 3, 0, 0, 0, 0},
    {"plan-ribbon-bytes", {1, 7}, 0.01, 0, 0, 2000, 0, 0},
    {"plan-ribbon-both", {1, 7}, 0, 900, 0, 1000, 0, 0},
    {"unsized-default", {2}, 0, 0, 0, 4096, 0, 0},
    {"unsized-classic", {2, 1, 3, 2}, 0.05, 0, 0, 900, 0, 0},
    {"unsized-partitioned", {2, 1, 4}, 0.05, 0, 0, 900, 0, 5},
    {"unsized-blocked256", {2, 1, 2}, 0.01, 0, 0, 2000, 0, 8},
    {"unsized-chunks", {2, 1, 6}, 0.1, 0, 0, 500, 0, 0},
};

static void write_asks(void)
{
    for (size_t i = 0; i < UM_COUNT(asks); i++) {
        const asked *a = &asks[i];
        uint8_t bytes[UM_SEED_ROOM];
        um_writer w = {bytes, bytes + sizeof bytes, false};

        um_write_bytes(&w, a->head, sizeof a->head);
        um_write_f64(&w, a->fpr);
        um_write_u64(&w, a->capacity);
        um_write_u64(&w, a->cells);
        um_write_u64(&w, 0); /* seed */
        um_write_u64(&w, a->bytes);
        um_write_f64(&w, a->keys);
        um_write_u32(&w, a->hashes);
        um_seed_write("params", a->name, bytes, (size_t)(w.at - bytes));
    }
}

/* A program in the layout of ops.c; operations are numbered as in its table. */
typedef struct program {
    const char *name;
    uint8_t head[7]; /* kind addressing hash hashes seed cells */
    uint8_t step[10][3];
} program;

enum { SUM = 10, MINUS, REMOVE, AMOUNT, MAX, SHARE };
#define UNION 3
#define PAIR(a, b) ((a) + 3 * (b))
#define TIMES(n) (9 * (n))

static const program programs[] = {
    {"blocked512-add-fold",
     {0, 0, 0, 8, 0, 0, 16},
     {{1, 0, 200}, {5, 0, 2}, {2, 0, 0}, {9, 0, 0}, {5, 0, 4}, {0, 0, 7}}},
    {"blocked256-or",
     {0, 1, 1, 5, 9, 0, 12},
     {{1, 0, 250}, {0, 1, 3}, {UNION, PAIR(0, 1), 0}, {2, 0, 0}, {5, 0, 3}}},
    {"classic-and",
     {0, 2, 2, 6, 0, 100, 4},
     {{1, 0, 200}, {1, 1, 240}, {4, PAIR(0, 1), 0}, {2, 0, 0}, {5, 0, 4}}},
    {"partitioned-copy-clear",
     {0, 3, 3, 4, 7, 128, 2},
     {{1, 0, 250}, {6, PAIR(2, 0), 0}, {7, 0, 0}, {8, 2, 0}, {5, 2, 5}}},
    {"universal-fold-or",
     {0, 4, 0, 3, 1, 0, 4},
     {{0, 0, 9},
      {0, 1, 8},
      {5, 0, 2},
      {UNION, PAIR(0, 1), 0},
      {5, 1, 2},
      {UNION, PAIR(0, 1), 0},
      {9, 0, 0}}},
    {"chunks-all",
     {0, 5, 0, 4, 0, 0, 3},
     {{0, 0, 1},
      {1, 1, 128},
      {UNION, PAIR(1, 0), 0},
      {4, PAIR(1, 0), 0},
      {6, PAIR(2, 1), 0},
      {8, 2, 0},
      {5, 2, 3},
      {2, 2, 0},
      {7, 1, 0},
      {9, 0, 0}}},
    {"counting-remove",
     {2, 2, 0, 3, 0, 200, 0},
     {{1, 0, 200},
      {AMOUNT, 1 + TIMES(9), 7},
      {SUM, PAIR(0, 1), 0},
      {REMOVE, 0, 7},
      {REMOVE, 0, 220},
      {MINUS, PAIR(0, 1), 0},
      {8, 0, 0},
      {REMOVE, 0, 7}}},
    {"counting-shared-plain",
     {2, 0, 0, 3, 2, 0, 4},
     {{SHARE, 0, 0},
      {1, 0, 100},
      {AMOUNT, TIMES(28), 3},
      {REMOVE, 0, 120},
      {6, PAIR(1, 0), 0},
      {SUM, PAIR(0, 1), 0},
      {5, 0, 2}}},
    {"counting-shared-refined",
     {2, 3, 0, 4, 5, 64, 1},
     {{SHARE, 1, 0},
      {AMOUNT, 1 + TIMES(20), 9},
      {1, 1, 30},
      {MAX, PAIR(0, 1), 0},
      {REMOVE, 1, 9},
      {SUM, PAIR(1, 0), 0},
      {MINUS, PAIR(1, 0), 0}}},
    {"counting-5-bits-joined",
     {2, 2, 2, 4, 31, 100, 0},
     {{SHARE, 0, 0},
      {1, 0, 3},
      {AMOUNT, 1 + TIMES(27), 3},
      {MAX, PAIR(0, 1), 0},
      {REMOVE, 0, 3},
      {5, 0, 5}}},
    {"countmin-amounts",
     {3, 3, 0, 2, 0, 192, 0},
     {{AMOUNT, TIMES(27), 1},
      {1, 0, 200},
      {AMOUNT, TIMES(28), 2},
      {AMOUNT, TIMES(3), 2},
      {8, 0, 0},
      {REMOVE, 0, 1},
      {5, 0, 4}}},
    {"countmin-64-merge",
     {3, 1, 1, 4, 4, 0, 1},
     {{SHARE, 0, 0},
      {AMOUNT, TIMES(28), 200},
      {1, 1, 100},
      {SUM, PAIR(1, 0), 0},
      {SUM, PAIR(1, 1), 0},
      {MAX, PAIR(2, 1), 0},
      {MINUS, PAIR(1, 0), 0},
      {4, PAIR(2, 0), 0},
      {2, 2, 0}}},
    {"table-full",
     {7, 0, 1, 22, 2, 0, 8},
     {{1, 0, 40},
      {AMOUNT, TIMES(27), 63},
      {1, 0, 0},
      {AMOUNT, TIMES(28), 2},
      {0, 0, 1},
      {8, 0, 0},
      {REMOVE, 0, 1},
      {SUM, PAIR(1, 0), 0}}},
};

static void write_programs(void)
{
    for (size_t i = 0; i < UM_COUNT(programs); i++) {
        const program *p = &programs[i];
        uint8_t bytes[sizeof p->head + sizeof p->step];

        memcpy(bytes, p->head, sizeof p->head);
        memcpy(bytes + sizeof p->head, p->step, sizeof p->step);
        um_seed_write("ops", p->name, bytes, sizeof bytes);
    }
}

void um_seed_programs(void)
{
    write_asks();
    write_programs();
}
