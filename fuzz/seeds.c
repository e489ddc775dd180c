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
#include "filter/head.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { ROOM = 2048, NKEYS = 8 };

static const char *top;

_Noreturn static void give_up(const char *what, const umbel_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

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
    if (status != UMBEL_OK)
        give_up(p->addressing, &err);
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
    {"blocked512-xxh3", "blocked512", "xxh3-64", 3072, 10, NKEYS, 1},
    {"blocked512-sip", "blocked512", "sip", 1024, 8, NKEYS, 1},
    {"blocked256-xxh128", "blocked256", "xxh3-128", 1536, 7, NKEYS, 1},
    {"blocked256-64-hashes", "blocked256", "xxh3-64", 256, 64, 2, 1},
    {"classic-xxh3", "classic", "xxh3-64", 1000, 7, NKEYS, 1},
    {"classic-sip", "classic", "sip", 360, 5, NKEYS, 1},
    {"classic-2-cells", "classic", "xxh3-64", 2, 1, 1, 1},
    {"classic-full", "classic", "xxh3-64", 32, 4, 200, 1},
    {"classic-empty", "classic", "xxh3-64", 997, 64, 0, 1},
    {"partitioned-xxh3", "partitioned", "xxh3-64", 600, 6, NKEYS, 1},
    {"partitioned-xxh128", "partitioned", "xxh3-128", 128, 64, 1, 1},
    {"universal", "universal", NULL, 1024, 4, NKEYS, 1},
    {"chunks-md5", "chunks-md5", NULL, 768, 4, NKEYS, 1},
    {"chunks-md5-16-hashes", "chunks-md5", NULL, 256, 16, NKEYS, 1},
    {"blocked512-2-groups", "blocked512", "xxh3-64", 1024, 9, NKEYS, 2},
    {"classic-8-groups", "classic", "xxh3-64", 1000, 7, NKEYS, 8},
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

/* --- heads that say something else ------------------------------------------
 */

static um_shape shape_of(const uint8_t *bytes, size_t len)
{
    um_head head;

    if (um_head_decode(bytes, len, &head, NULL) != UMBEL_OK)
        exit(EXIT_FAILURE);
    return head.shape;
}

/* The same payload behind the head of s. */
static uint8_t *reshape(uint8_t *bytes, size_t *len, const um_shape *s)
{
    uint8_t *out = calloc(1, *len + UM_HEAD_MAX);
    um_head head;

    if (!out || um_head_decode(bytes, *len, &head, NULL) != UMBEL_OK)
        exit(EXIT_FAILURE);
    size_t n = um_head_put(s, head.payload_checksum,
                           s->coded ? head.stored : NULL, out);
    memcpy(out + n, bytes + head.len, *len - head.len);
    *len += n - head.len;
    free(bytes);
    return out;
}

/* --- what only some kinds have ----------------------------------------------
 */

static void write_filter(const char *name, umbel_filter *f)
{
    char coded_name[64];

    for (int as_coded = 0; as_coded < 2; as_coded++) {
        size_t len;
        umbel_set_coded(f, as_coded);
        uint8_t *bytes = um_fuzz_encode(f, &len);
        snprintf(coded_name, sizeof coded_name, "%s%s", name,
                 as_coded ? "-coded" : "");
        if (len <= ROOM)
            write_file(coded_name, bytes, len, true);
        free(bytes);
    }
}

/* Every kind, with data behind its sections, and each form of keys. */
static void write_kinds(void)
{
    const char *kind;

    for (size_t i = 0; umbel_kind_at(i, &kind, NULL); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *f = NULL;
        umbel_slice key = {"umbel", 5};
        umbel_error err;
        char name[64];

        p.fpr = 0.05;
        p.key_form = i % 3 * 2; /* text, hexadecimal, folded text */
        p.capacity = umbel_is_static(kind) ? 0 : 20;
        umbel_status status =
            umbel_is_static(kind)
                ? umbel_build_keys(kind, &p, &key, NULL, 1, &f, &err)
                : umbel_create(kind, &p, &f, &err);
        if (status == UMBEL_OK)
            status = umbel_set_data(f, "data", 4, &err);
        if (status != UMBEL_OK)
            give_up(kind, &err);
        if (!umbel_is_static(kind))
            umbel_add_many(f, &key, 1, NULL, NULL);
        snprintf(name, sizeof name, "data-%s", kind);
        write_filter(name, f);
        umbel_close(f);
    }
}

/* What a later state of counts has more than an earlier one. */
static void write_states(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting update = {"update", 0};

    p.cells = 256;
    p.hashes = 4;
    p.settings = &update;
    p.nsettings = 1;
    for (; update.value < 2; update.value++) {
        umbel_filter *f = NULL, *before = NULL;
        umbel_error err;
        if (umbel_create("counting", &p, &f, &err) != UMBEL_OK ||
            umbel_add(f, "one", 3, NULL, &err) != UMBEL_OK ||
            umbel_copy(f, &before, &err) != UMBEL_OK ||
            umbel_add(f, "two", 3, NULL, &err) != UMBEL_OK ||
            umbel_merge(f, before, UMBEL_MINUS, &err) != UMBEL_OK)
            give_up("counting", &err);
        write_filter(update.value ? "difference-refined" : "difference", f);
        umbel_close(before);
        umbel_close(f);
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
        um_shape s = f->shape;
        s.cells = UINT64_C(1) << 40;
        bytes = reshape(bytes, &len, &s);
        char name[64];
        snprintf(name, sizeof name, "%s-claims-2e40", c->name);
        write_file(name, bytes, len, false);
        free(bytes);
        umbel_close(f);
    }
}

/* Differences from each old filter of patch.c to one of other keys. */
static void write_patch(unsigned which, size_t nkeys, bool as_coded)
{
    static const char *const old_names[] = {"bits", "counts", "static", "data"};
    umbel_filter *old = um_fuzz_old(which, UM_FUZZ_OLD_KEYS);
    umbel_filter *now = um_fuzz_old(which, nkeys);
    umbel_diff_result bill;
    size_t room = umbel_diff_room(now);
    uint8_t *bytes = malloc(room);
    umbel_error err;
    char name[64];

    umbel_set_coded(now, as_coded);
    if (!bytes)
        exit(EXIT_FAILURE);
    if (umbel_diff(old, now, bytes, room, &bill, &err) == UMBEL_OK) {
        bytes[0] ^= (uint8_t)which;
        snprintf(name, sizeof name, "%s-%zu%s", old_names[which], nkeys,
                 as_coded ? "-coded" : "");
        write_seed("patch", name, bytes, (size_t)bill.bytes);
    } else if (which != 2) { /* static ones of other sizes have none */
        give_up("difference", &err);
    }
    free(bytes);
    umbel_close(old);
    umbel_close(now);
}

static void write_patches(void)
{
    static const size_t keys[] = {2, 30, 59, 60, 61, 90, 500};

    for (unsigned which = 0; which < UM_FUZZ_OLD; which++)
        for (size_t i = 0; i < UM_COUNT(keys); i++)
            write_patch(which, keys[i], i % 2);
    write_seed("patch", "empty", "", 0);
    write_seed("patch", "magic-only", "\x89UMD\r\n\x1A\n", 8);
}

/* Something wrong in a good file: bytes put somewhere, another length. */
typedef struct wrong {
    const char *name;
    size_t at, width; /* where the number goes */
    uint64_t number;
    bool as_is; /* leave the checksums wrong */
    int longer; /* bytes more, or fewer */
} wrong;

enum { HEAD = 64, WHOLE = HEAD + 128 }; /* the good file: 1000 cells */

static const wrong wrongs[] = {
    {"empty", .as_is = true, .longer = -WHOLE},
    {"cut-in-magic", .as_is = true, .longer = 5 - WHOLE},
    {"cut-after-start", .as_is = true, .longer = 16 - WHOLE},
    {"cut-in-head", .as_is = true, .longer = HEAD - 1 - WHOLE},
    {"cut-after-head", .as_is = true, .longer = HEAD - WHOLE},
    {"cut-in-payload", .as_is = true, .longer = -1},
    {"appended", .as_is = true, .longer = 1},
    {"magic-wrong", 0, 1, .number = 0x88},
    {"magic-as-text", 4, 1, .number = '\n', .as_is = true},
    {"version-3", UM_HEAD_VERSION_AT, 4, .number = 3},
    {"head-of-38", UM_HEAD_LEN_AT, 2, .number = 38},
    {"head-of-128", UM_HEAD_LEN_AT, 2, .number = 128},
    {"head-of-64k", UM_HEAD_LEN_AT, 2, .number = 0xFFFF, .as_is = true},
    {"head-flipped", 30, 1, .number = 1, .as_is = true},
    {"payload-flipped", 100, 8, .number = 0x55AA55AA, .as_is = true},
    {"kind-unknown", UM_HEAD_NAMES_AT, 1, .number = 17},
    {"addressing-unknown", UM_HEAD_NAMES_AT + 1, 1, .number = 99},
    {"hash-implied", UM_HEAD_NAMES_AT + 2, 1, .number = 20},
    {"name-empty", UM_HEAD_NAMES_AT + 2, 2, .number = 0},
    {"name-spelled", UM_HEAD_NAMES_AT, 7, .number = 0x6D6F6F6C620500},
    {"head-end-not-zero", HEAD - 9, 1, .number = 1},
    {"padding-bits", HEAD + 124, 1, .number = 0x80},
    {"padding-bytes", HEAD + 127, 1, .number = 1},
};

static void write_wrongs(void)
{
    for (size_t i = 0; i < UM_COUNT(wrongs); i++) {
        const wrong *w = &wrongs[i];
        uint8_t bytes[ROOM] = {0}, number[8];
        size_t len = make("classic", NULL, 1000, 7, 1, NKEYS, bytes);

        um_store64(number, w->number);
        memcpy(bytes + w->at, number, w->width);
        if (!w->as_is)
            um_fuzz_repair(bytes, len, true);
        write_file(w->name, bytes, (size_t)((int)len + w->longer), w->as_is);
    }
}

/* Numbers of the head that are wrong, or only large; and further fields. */
typedef struct claim {
    const char *name;
    size_t at; /* in um_shape */
    uint64_t number;
    uint8_t spare[UM_SPARE_MAX], spare_len;
} claim;

#define NUMBER(field) offsetof(um_shape, field)

static const claim claims[] = {
    {"seed-most", NUMBER(seed), UINT64_MAX, {0}, 0},
    {"secret-unasked", NUMBER(secret_id), 1, {0}, 0},
    {"cells-0", NUMBER(cells), 0, {0}, 0},
    {"cells-2e47", NUMBER(cells), UINT64_C(1) << 47, {0}, 0},
    {"cells-2e60", NUMBER(cells), UINT64_C(1) << 60, {0}, 0},
    {"hashes-0", NUMBER(hashes), 0, {0}, 0},
    {"hashes-65", NUMBER(hashes), 65, {0}, 0},
    {"flags-1", NUMBER(estimated), 1, {0}, 0},
    {"flags-2", NUMBER(intersected), 1, {0}, 0},
    {"capacity-most", NUMBER(capacity), UINT64_C(1) << 48, {0}, 0},
    {"capacity-over", NUMBER(capacity), UINT64_MAX, {0}, 0},
    {"fpr-0", NUMBER(fpr), 0, {0}, 0},
    {"fpr-least", NUMBER(fpr), 1, {0}, 0},
    {"fpr-1", NUMBER(fpr), UINT64_C(0x3FF0000000000000), {0}, 0},
    {"fpr-nan", NUMBER(fpr), UINT64_C(0x7FF8000000000000), {0}, 0},
    {"added-most", NUMBER(added), UINT64_MAX, {0}, 0},
    {"added-takes-for-ever", NUMBER(added), UINT64_C(1) << 50, {0}, 0},
    {"added-has-no-error", NUMBER(added), UINT64_C(1) << 63, {0}, 0},
    {"denied-most", NUMBER(denied), UINT64_MAX, {0}, 0},
    {"denied-wraps", NUMBER(denied), UINT64_C(1) << 63, {0}, 0},
    {"groups-0", NUMBER(setting), 0, {0}, 0},
    {"groups-9", NUMBER(setting), 9, {0}, 0},
    {"groups-most", NUMBER(setting), UINT64_MAX, {0}, 0},
    {"data-most", NUMBER(attached), UINT64_C(1) << 48, {0}, 0},
    {"keys-hex", NUMBER(key_form), 2, {0}, 0},
    {"keys-unknown", NUMBER(key_form), 99, {0}, 0},
    {"states", NUMBER(delta), 1, {0}, 0},
    {"field-kept", NUMBER(seed), 0, {2, 3, 7, 8, 9}, 5},
    {"field-unknown", NUMBER(seed), 0, {21, 1, 1}, 3},
    {"field-twice", NUMBER(seed), 5, {1, 1, 4}, 3},
    {"field-default", NUMBER(seed), 0, {9, 1, 0}, 3},
    {"field-cut", NUMBER(seed), 0, {2, 120, 1}, 3},
    {"field-zeros", NUMBER(seed), 0, {2, 0}, 2},
    {"field-long", NUMBER(seed), 0, {2, 126, 1}, 128},
    {"flags-unknown", NUMBER(seed), 0, {5, 1, 16}, 3},
    {"section-coded", NUMBER(seed), 0, {19, 2, 2, 125}, 4},
    {"section-coded-anew", NUMBER(seed), 0, {19, 2, 9, 125}, 4},
    {"section-huge", NUMBER(seed), 0, {19, 5, 2, 255, 255, 255, 127}, 7},
};

static void write_claims(void)
{
    for (size_t i = 0; i < UM_COUNT(claims); i++) {
        const claim *c = &claims[i];
        uint8_t *bytes = calloc(1, ROOM);
        if (!bytes)
            exit(EXIT_FAILURE);
        /* Fewer keys than decode.c adds: some are new to it. */
        size_t len = make("classic", NULL, 1000, 7, 1, NKEYS / 2, bytes);
        um_shape s = shape_of(bytes, len);
        size_t width = c->at == NUMBER(hashes)                       ? 4
                       : c->number < 2 && c->at >= NUMBER(estimated) ? 1
                                                                     : 8;
        memcpy((uint8_t *)&s + c->at, &c->number, width);
        memcpy(s.spare, c->spare, sizeof s.spare);
        s.spare_len = c->spare_len;
        bytes = reshape(bytes, &len, &s);
        write_file(c->name, bytes, len, false);
        free(bytes);
    }
}

/* Cells as code.c reads them, and their codes. */
typedef struct cells {
    const char *name;
    uint8_t shape[UM_FUZZ_SHAPE]; /* bit 7 of the first is added */
    uint8_t fill[8];              /* again and again; the rest is zero */
    size_t nfill;
} cells;

enum { REPEAT = 32, NOW = 64, ONES = 16, MANY = 8, AS_CELLS = 128 };

static const cells codes[] = {
    {"plain", {0, 200}, {0x5A, 0xC3}, 2},
    {"bits-half", {0 | REPEAT, 200}, {0x5A, 0xC3, 1}, 3},
    {"bits-dense", {0 | REPEAT, 200}, {0xFF, 0xF7, 0xBF, 0xFE}, 4},
    {"bits-few", {0, 250}, {1, 0, 0, 64, 0, 8}, 6},
    {"bits-adaptive", {0 | NOW | REPEAT, 90}, {0x10, 0, 0, 3}, 4},
    {"bits-all", {0 | NOW | ONES, 90}, {0}, 0},
    {"holes", {0 | ONES | MANY, 255}, {0xFE, 0x7F}, 2},
    {"holes-adaptive", {0 | ONES | NOW, 255}, {0xFE, 0x7F}, 2},
    {"values-2", {1 | REPEAT, 250}, {0x1B, 0x04, 0x40, 1}, 4},
    {"values-2-many", {1 | REPEAT | MANY, 255}, {0x1B, 0x04, 0x40, 1}, 4},
    {"values-3", {2 | REPEAT, 250}, {0x1B, 0x04, 0x40, 1}, 4},
    {"values-8", {4 | REPEAT, 250}, {1, 200, 3, 0, 0}, 5},
    {"values-13", {5 | REPEAT, 250}, {1, 200, 3, 0, 0, 77}, 6},
    {"values-32", {6 | REPEAT, 250}, {1, 200, 3, 0, 0, 77, 9}, 7},
    {"values-64", {7 | REPEAT, 250}, {1, 200, 3, 0, 0, 77, 9}, 7},
    {"gaps-4", {3, 255}, {1, 0, 0, 64, 0, 8}, 6},
    {"gaps-32", {6, 255}, {1, 0, 0, 64, 0, 8, 0, 1}, 8},
    {"gaps-64", {7, 255}, {1, 0, 0, 64, 0, 8, 0, 1}, 8},
    {"adaptive-4", {3 | NOW | REPEAT, 80}, {1, 0, 0, 64, 0, 8}, 6},
    {"adaptive-13", {5 | NOW | REPEAT, 80}, {1, 0, 0, 64, 0, 8}, 6},
    {"adaptive-64", {7 | NOW | REPEAT, 20}, {1, 0, 0, 64, 0, 8, 255}, 7},
    {"adaptive-full", {7 | NOW | ONES, 20}, {0}, 0},
};

static void write_codes(void)
{
    for (size_t i = 0; i < UM_COUNT(codes); i++) {
        const cells *t = &codes[i];
        uint8_t input[UM_FUZZ_SHAPE + sizeof t->fill], *out;
        char name[64];
        input[0] = t->shape[0] | AS_CELLS;
        input[1] = t->shape[1];
        memcpy(input + UM_FUZZ_SHAPE, t->fill, sizeof t->fill);
        snprintf(name, sizeof name, "cells-%s", t->name);
        write_seed("code", name, input, UM_FUZZ_SHAPE + t->nfill);

        um_packed c = um_fuzz_cells(t->shape);
        um_fuzz_fill(&c, t->shape[0], t->fill, t->nfill);
        out = malloc(UM_FUZZ_SHAPE + um_code_most(&c) + UM_CODE_ROOM);
        if (!out)
            exit(EXIT_FAILURE);
        memcpy(out, t->shape, UM_FUZZ_SHAPE);
        size_t len =
            um_code_encode(&c, t->shape[0] & NOW ? UM_CODE_NOW : UM_CODE_V1,
                           out + UM_FUZZ_SHAPE);
        snprintf(name, sizeof name, "code-%s", t->name);
        if (len <= ROOM)
            write_seed("code", name, out, UM_FUZZ_SHAPE + len);
        free(out);
        free(c.at);
    }
}

/* Files of DCSO's bloom: words of 64 bits, and perhaps data. */
typedef struct foreign {
    const char *name;
    uint64_t word[9]; /* version n p k m N, bits */
    size_t len;
} foreign;

#define HALF UINT64_C(0x3FE0000000000000)

static const foreign foreigns[] = {
    {"dcso", {1, 9, HALF, 3, 128, 2, 0x8001, 77}, 64},
    {"dcso-data", {1, 9, HALF, 3, 100, 2, 0x8001, 77, 5}, 72},
    {"dcso-cut", {1, 9, HALF, 3, 129, 2, 0x8001, 77}, 64},
    {"dcso-cut-in-head", {1, 9, HALF, 3}, 33},
    {"dcso-bits-behind", {1, 9, HALF, 3, 100, 2, 1, UINT64_MAX}, 64},
    {"dcso-version-2", {2, 9, HALF, 3, 64, 2, 1}, 56},
    {"dcso-no-hashes", {1, 9, HALF, 0, 64, 2, 1}, 56},
    {"dcso-65-hashes", {1, 9, HALF, 65, 64, 2, 1}, 56},
    {"dcso-1-bit", {1, 9, HALF, 3, 1, 2, 1}, 56},
    {"dcso-many-bits", {1, 9, HALF, 3, UINT64_MAX, 2, 1}, 56},
    {"dcso-many-keys", {1, UINT64_MAX, HALF, 3, 64, 2, 1}, 56},
    {"dcso-error-0", {1, 9, 0, 3, 64, 2, 1}, 56},
    {"dcso-error-nan", {1, 9, UINT64_MAX, 3, 64, 2, 1}, 56},
    {"dcso-odd-cells", {1, 9, HALF, 3, 63, UINT64_MAX, 1}, 56},
};

static void write_foreigns(void)
{
    static const uint8_t damaged[] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 9};

    for (size_t i = 0; i < UM_COUNT(foreigns); i++) {
        uint8_t bytes[sizeof foreigns[i].word];
        for (size_t j = 0; j < UM_COUNT(foreigns[i].word); j++)
            um_store64(bytes + 8 * j, foreigns[i].word[j]);
        write_seed("foreign", foreigns[i].name, bytes, foreigns[i].len);
    }
    write_seed("foreign", "gzip-cut", damaged, 10);
    write_seed("foreign", "gzip-damaged", damaged, sizeof damaged);
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

/* A line of each kind, and what may be wrong with it. */
static void write_key_files(void)
{
    static const struct {
        const char *name, *start;
        size_t digits;
        const char *end;
    } lines[] = {
        {"secret", "umbel-secret-1 ", 32, "\n"},
        {"secret-cut", "umbel-secret-1 ", 31, "\n"},
        {"secret-no-end", "umbel-secret-1 ", 32, ""},
        {"secret-not-hex", "umbel-secret-1 ", 31, "x\n"},
        {"secret-for-all", "umbel-secret-1 ", 32, "\r"},
        {"sign-halves", "umbel-sign-1 ", 128, "\n"},
        {"trust", "umbel-trust-1 ", 64, "\n"},
        {"trust-for-all", "umbel-trust-1 ", 64, "\r"},
        {"trust-long", "umbel-trust-1 ", 290, "\n"},
        {"other", "umbel-other-1 ", 32, "\n"},
        {"start-only", "umbel-sign-1 ", 0, ""},
        {"nothing", "", 0, ""},
    };
    static const char sign[] =
        "umbel-sign-1 "
        "0000000000000000000000000000000000000000000000000000000000000000"
        "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"
        "\n"; /* of a seed of zeros, as in RFC 8032's reference code */

    for (size_t i = 0; i < UM_COUNT(lines); i++) {
        char text[512];
        int len = snprintf(text, sizeof text, "%s%0*d%s", lines[i].start,
                           (int)lines[i].digits, 0, lines[i].end);
        if (!lines[i].digits)
            len = snprintf(text, sizeof text, "%s%s", lines[i].start,
                           lines[i].end);
        write_seed("key_file", lines[i].name, text, (size_t)len);
    }
    write_seed("key_file", "sign", sign, sizeof sign - 1);
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
    write_kinds();
    write_states();
    write_patches();
    write_codes();
    write_foreigns();
    write_key_files();
    write_wrongs();
    write_claims();
    write_asks();
    write_programs();
    return EXIT_SUCCESS;
}
