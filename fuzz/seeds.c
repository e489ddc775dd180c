/*
 * seeds.c - write the corpora's named files: fuzz_seeds fuzz/corpus
 *
 * Three tables: filters of every addressing and hash; one file with something
 * wrong in it, with the right checksum where that would hide it; parameters and
 * programs of operations, which have layouts of their own (params.c, ops.c).
 */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { ROOM = 2048, NKEYS = 8 };

static const char *top;

static void write_seed(const char *target, const char *name, const void *bytes,
                       size_t len)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", top, target);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        perror(path), exit(EXIT_FAILURE);
    snprintf(path, sizeof path, "%s/%s/%s", top, target, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        perror(path), exit(EXIT_FAILURE);
}

/* Files may be loaded too; what is wrong inside a head is decode's alone. */
static void write_file(const char *name, const void *bytes, size_t len,
                       bool load)
{
    write_seed("decode", name, bytes, len);
    if (load)
        write_seed("load", name, bytes, len);
}

/* A new filter with a few keys, as a file; tells its length. */
static size_t make_kind(const char *kind, const umbel_params *p, size_t nkeys,
                        uint8_t out[ROOM])
{
    umbel_filter *f = NULL;
    umbel_error err;
    size_t len;

    umbel_status status = umbel_create(kind, p, &f, &err);
    for (size_t i = 0; status == UMBEL_OK && i < nkeys; i++) {
        char key[8];
        int n = snprintf(key, sizeof key, "%zu", i);
        status = umbel_add(f, key, (size_t)n, NULL, &err);
    }
    if (status == UMBEL_OK)
        status = umbel_encode(f, out, ROOM, &len, &err);
    if (status != UMBEL_OK) {
        fprintf(stderr, "%s: %s\n", p->addressing, err.text);
        exit(EXIT_FAILURE);
    }
    umbel_close(f);
    return len;
}

static size_t make(const char *addressing, const char *hash, uint64_t cells,
                   uint32_t hashes, uint64_t groups, size_t nkeys,
                   uint8_t out[ROOM])
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting setting = {"groups", groups};

    p.addressing = addressing;
    p.hash = hash;
    p.cells = cells;
    p.hashes = hashes;
    p.settings = &setting;
    p.nsettings = 1;
    p.secret = hash && strcmp(hash, "sip") == 0 ? um_fuzz_secret : NULL;
    return make_kind(NULL, &p, nkeys, out);
}

typedef struct good {
    const char *name, *addressing, *hash;
    uint64_t cells;
    uint32_t hashes;
    size_t nkeys;
    uint64_t groups;
} good;

static const good goods[] = {
    {"blocked512-xxh3", "blocked512", "xxh3", 3072, 10, NKEYS, 1},
    {"blocked512-sip", "blocked512", "sip", 1024, 8, NKEYS, 1},
    {"blocked256-xxh128", "blocked256", "xxh128", 1536, 7, NKEYS, 1},
    {"blocked256-64-hashes", "blocked256", "xxh3", 256, 64, 2, 1},
    {"classic-xxh3", "classic", "xxh3", 1000, 7, NKEYS, 1},
    {"classic-sip", "classic", "sip", 360, 5, NKEYS, 1},
    {"classic-2-cells", "classic", "xxh3", 2, 1, 1, 1},
    {"classic-full", "classic", "xxh3", 32, 4, 200, 1},
    {"classic-empty", "classic", "xxh3", 997, 64, 0, 1},
    {"partitioned-xxh3", "partitioned", "xxh3", 600, 6, NKEYS, 1},
    {"partitioned-xxh128", "partitioned", "xxh128", 128, 64, 1, 1},
    {"universal", "universal", NULL, 1024, 4, NKEYS, 1},
    {"chunks-md5", "chunks-md5", NULL, 768, 4, NKEYS, 1},
    {"chunks-md5-16-hashes", "chunks-md5", NULL, 256, 16, NKEYS, 1},
    {"blocked512-2-groups", "blocked512", "xxh3", 1024, 9, NKEYS, 2},
    {"classic-8-groups", "classic", "xxh3", 1000, 7, NKEYS, 8},
    {"universal-3-groups", "universal", NULL, 777, 4, NKEYS, 3},
};

static void write_goods(void)
{
    uint8_t bytes[ROOM];

    for (size_t i = 0; i < UM_COUNT(goods); i++) {
        const good *g = &goods[i];
        size_t len = make(g->addressing, g->hash, g->cells, g->hashes,
                          g->groups, g->nkeys, bytes);
        write_file(g->name, bytes, len, true);
    }
}

/* Kinds that count, of several widths. */
typedef struct tallied {
    const char *name, *kind, *addressing;
    uint64_t cells, bits;
} tallied;

static const tallied tallies[] = {
    {"counting-2-bits", "counting", "blocked256", 512, 2},
    {"counting-5-bits", "counting", "classic", 501, 5},
    {"counting-32-bits", "counting", "universal", 99, 32},
    {"countmin-32-bits", "countmin", NULL, 96, 32},
    {"countmin-64-bits", "countmin", "classic", 65, 64},
};

static void write_tallies(void)
{
    uint8_t bytes[ROOM];

    for (size_t i = 0; i < UM_COUNT(tallies); i++) {
        umbel_setting bits = {"cell_bits", tallies[i].bits};
        umbel_params p = UMBEL_PARAMS_INIT;
        p.addressing = tallies[i].addressing;
        p.cells = tallies[i].cells;
        p.hashes = 3;
        p.settings = &bits;
        p.nsettings = 1;
        size_t len = make_kind(tallies[i].kind, &p, NKEYS, bytes);
        write_file(tallies[i].name, bytes, len, true);
    }
}

/* --- coded files, and differences ------------------------------------------
 */

/* A classic filter for coding: keys 0 .. n-1 as numbers, as patch.c has it. */
static umbel_filter *numbers(const char *kind, uint64_t cells, size_t n)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    umbel_status status;

    p.addressing = "classic";
    p.cells = cells;
    p.hashes = 4;
    status = umbel_create(kind, &p, &f, NULL);
    for (size_t i = 0; status == UMBEL_OK && i < n; i++) {
        uint64_t key = um_le64(i);
        status = umbel_add(f, &key, sizeof key, NULL, NULL);
    }
    if (status != UMBEL_OK)
        exit(EXIT_FAILURE);
    return f;
}

typedef struct coded {
    const char *name, *kind;
    uint64_t cells;
    size_t nkeys;
} coded;

static const coded codeds[] = {
    {"coded-plain", "bloom", 4096, 700},
    {"coded-bits", "bloom", 8192, 200},
    {"coded-gaps", "bloom", 8192, 20},
    {"coded-empty", "bloom", 8192, 0},
    {"coded-full", "bloom", 4096, 20000},
    {"coded-values", "counting", 2000, 300},
    {"coded-few", "counting", 4000, 30},
};

static void write_coded(void)
{
    for (size_t i = 0; i < UM_COUNT(codeds); i++) {
        const coded *c = &codeds[i];
        umbel_filter *f = numbers(c->kind, c->cells, c->nkeys);
        umbel_set_coded(f, true);
        size_t len;
        uint8_t *bytes = um_fuzz_encode(f, &len);
        write_file(c->name, bytes, len, true);
        /* The head promises what no such code can hold. */
        um_store64(bytes + 80, UINT64_C(1) << 40);
        um_store64(bytes + 144, UINT64_C(1) << 40);
        um_fuzz_repair(bytes, len, false);
        char name[64];
        snprintf(name, sizeof name, "%s-claims-2e40", c->name);
        write_file(name, bytes, len, false);
        free(bytes);
        umbel_close(f);
    }
}

static void write_patch(const char *name, const char *kind, size_t nkeys,
                        bool as_coded)
{
    umbel_filter *old = numbers(kind, 4096, 120);
    umbel_filter *now = numbers(kind, 4096, nkeys);
    umbel_diff_result bill;
    size_t room = umbel_diff_room(now);
    uint8_t *bytes = malloc(room);

    umbel_set_coded(now, as_coded);
    if (!bytes || umbel_diff(old, now, bytes, room, &bill, NULL) != UMBEL_OK)
        exit(EXIT_FAILURE);
    if (strcmp(kind, "counting") == 0)
        bytes[0] = 0x88; /* patch.c: the old filter counts */
    write_seed("patch", name, bytes, (size_t)bill.bytes);
    free(bytes);
    umbel_close(old);
    umbel_close(now);
}

static void write_patches(void)
{
    write_patch("bits-same", "bloom", 120, false);
    write_patch("bits-more", "bloom", 150, false);
    write_patch("bits-fewer", "bloom", 90, true);
    write_patch("bits-whole", "bloom", 1000, false);
    write_patch("counts-more", "counting", 150, false);
    write_patch("counts-fewer", "counting", 90, true);
    write_patch("counts-whole", "counting", 2, false);
    write_seed("patch", "empty", "", 0);
    write_seed("patch", "magic-only", "\x89UMD\r\n\x1A\n", 8);
}

/* Something wrong in a good file: a number put somewhere, another length. */
typedef struct wrong {
    const char *name;
    size_t at, width; /* where the number goes */
    uint64_t number;
    bool as_is; /* leave the checksums wrong */
    int longer; /* bytes more, or fewer */
} wrong;

enum { WHOLE = 320 }; /* the good file: head 192, 1000 cells in 128 */

static const wrong wrongs[] = {
    {"empty", .as_is = true, .longer = -WHOLE},
    {"cut-in-magic", .as_is = true, .longer = 5 - WHOLE},
    {"cut-after-start", .as_is = true, .longer = 16 - WHOLE},
    {"cut-in-head", .as_is = true, .longer = 191 - WHOLE},
    {"cut-after-head", .as_is = true, .longer = 192 - WHOLE},
    {"cut-in-payload", .as_is = true, .longer = -1},
    {"appended", .as_is = true, .longer = 1},
    {"magic-wrong", 0, 1, .number = 0x88},
    {"magic-as-text", 4, 1, .number = '\n', .as_is = true},
    {"version-2", 8, 4, .number = 2},
    {"head-of-64", 12, 4, .number = 64},
    {"head-of-256", 12, 4, .number = 256},
    {"head-of-4g", 12, 4, .number = 0xFFFFFFC0, .as_is = true},
    {"head-flipped", 65, 1, .number = 1, .as_is = true},
    {"payload-flipped", 200, 8, .number = 0x55AA55AA, .as_is = true},
    {"kind-unknown", 16, 1, .number = 'g'},
    {"addressing-unknown", 32, 1, .number = 27},
    {"hash-implied", 48, 8, .number = 0x72656765746E69},
    {"name-empty", 48, 8, .number = 0},
    {"name-goes-on", 63, 1, .number = 'x'},
    {"seed-most", 64, 8, .number = UINT64_MAX},
    {"secret-unasked", 72, 8, .number = 1},
    {"cells-0", 80, 8, .number = 0},
    {"cells-2e47", 80, 8, .number = UINT64_C(1) << 47},
    {"cells-2e60", 80, 8, .number = UINT64_C(1) << 60},
    {"hashes-0", 88, 4, .number = 0},
    {"hashes-65", 88, 4, .number = 65},
    {"flags-1", 92, 4, .number = 1},
    {"flags-2", 92, 4, .number = 2},
    {"capacity-most", 96, 8, .number = UINT64_C(1) << 48},
    {"capacity-over", 96, 8, .number = UINT64_MAX},
    {"fpr-0", 104, 8, .number = 0},
    {"fpr-least", 104, 8, .number = 1},
    {"fpr-1", 104, 8, .number = UINT64_C(0x3FF0000000000000)},
    {"fpr-nan", 104, 8, .number = UINT64_C(0x7FF8000000000000)},
    {"added-most", 112, 8, .number = UINT64_MAX},
    {"denied-most", 120, 8, .number = UINT64_MAX},
    {"settings-1", 128, 4, .number = 1},
    {"sections-0", 132, 4, .number = 0},
    {"sections-9", 132, 4, .number = 9},
    {"section-coded", 156, 4, .number = 1},
    {"section-longer", 160, 8, .number = 126},
    {"section-huge", 144, 8, .number = UINT64_C(1) << 60},
    {"head-end-not-zero", 170, 1, .number = 1},
    {"padding-bits", 192 + 124, 1, .number = 0x80},
    {"padding-bytes", 192 + 127, 1, .number = 1},
};

/* Groups that no filter has, in a file that tells them: at 144. */
static void write_wrong_groups(void)
{
    static const struct {
        const char *name;
        uint64_t groups;
    } wrong_groups[] = {{"groups-0", 0},
                        {"groups-1-told", 1},
                        {"groups-9", 9},
                        {"groups-most", UINT64_MAX}};

    for (size_t i = 0; i < UM_COUNT(wrong_groups); i++) {
        uint8_t bytes[ROOM];
        size_t len = make("classic", NULL, 1000, 7, 2, NKEYS, bytes);
        um_store64(bytes + 144, wrong_groups[i].groups);
        um_fuzz_repair(bytes, len, true);
        write_file(wrong_groups[i].name, bytes, len, false);
    }
}

/* Where cells are claimed, the section claims them too: a lie that agrees. */
static void claim_cells(uint8_t *bytes, uint64_t cells)
{
    um_store64(bytes + 144, cells);
    um_store64(bytes + 160, cells / 8);
}

static void write_wrongs(void)
{
    for (size_t i = 0; i < UM_COUNT(wrongs); i++) {
        const wrong *w = &wrongs[i];
        uint8_t bytes[ROOM] = {0}, number[8];
        size_t len = make("classic", NULL, 1000, 7, 1, NKEYS, bytes);

        um_store64(number, w->number);
        memcpy(bytes + w->at, number, w->width);
        if (w->at == 80)
            claim_cells(bytes, w->number);
        if (!w->as_is)
            um_fuzz_repair(bytes, len, true);
        write_file(w->name, bytes, (size_t)((int)len + w->longer), w->as_is);
    }
}

/*
 * Counts that no filter of this size has seen, on files whose checksum makes
 * decode.c go as far as is needed to trip over them.
 */
typedef struct counted {
    const char *name;
    size_t nkeys;
    uint64_t added, denied;
    um_fuzz_effort effort;
} counted;

static const counted counts[] = {
    {"added-takes-for-ever", NKEYS, UINT64_C(1) << 50, 0, UM_FUZZ_ALL},
    {"added-has-no-error", NKEYS, UINT64_C(1) << 63, 0, UM_FUZZ_ALL},
    {"added-wraps", 0, UINT64_MAX, 0, UM_FUZZ_LITTLE},
    {"denied-wraps", NKEYS, NKEYS, UINT64_C(1) << 63, UM_FUZZ_MORE},
};

static void write_counts(void)
{
    for (size_t i = 0; i < UM_COUNT(counts); i++) {
        const counted *c = &counts[i];
        uint8_t bytes[ROOM];
        size_t len = make("blocked512", "xxh128", 1024, 8, 1, c->nkeys, bytes);
        uint64_t capacity = 0;

        um_store64(bytes + 112, c->added);
        um_store64(bytes + 120, c->denied);
        do {
            um_store64(bytes + 96, capacity++);
            um_fuzz_repair(bytes, len, true);
        } while (um_fuzz_effort_for(bytes, len) != c->effort);
        write_file(c->name, bytes, len, false);
    }
}

/* As params.c reads it: rows of the tables count from 1. */
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
        uint8_t bytes[ROOM];
        um_writer w = {bytes, bytes + sizeof bytes, false};

        um_put_bytes(&w, a->head, sizeof a->head);
        um_put_f64(&w, a->fpr);
        um_put_u64(&w, a->capacity);
        um_put_u64(&w, a->cells);
        um_put_u64(&w, 0); /* seed */
        um_put_u64(&w, a->bytes);
        um_put_f64(&w, a->keys);
        um_put_u32(&w, a->hashes);
        write_seed("params", a->name, bytes, (size_t)(w.at - bytes));
    }
}

/* As ops.c reads it; operations count in the order of its table. */
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
};

static void write_programs(void)
{
    for (size_t i = 0; i < UM_COUNT(programs); i++) {
        const program *p = &programs[i];
        uint8_t bytes[sizeof p->head + sizeof p->step];

        memcpy(bytes, p->head, sizeof p->head);
        memcpy(bytes + sizeof p->head, p->step, sizeof p->step);
        write_seed("ops", p->name, bytes, sizeof bytes);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: fuzz_seeds DIRECTORY\n");
        return EXIT_FAILURE;
    }
    top = argv[1];
    write_goods();
    write_tallies();
    write_coded();
    write_patches();
    write_wrongs();
    write_wrong_groups();
    write_counts();
    write_asks();
    write_programs();
    return EXIT_SUCCESS;
}
