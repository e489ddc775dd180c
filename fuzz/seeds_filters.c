/*
 * seeds_filters.c - filter files: valid ones of every addressing, hash and
 * kind, and files with one error each, with correct checksums where a wrong one
 * would hide the error.
 */
#include "seeds.h"

#include "base/bytes.h"
#include "base/error.h"
#include "filter/head.h"

#include <umbel/build.h>

#include <stdio.h>
#include <stdlib.h>

enum { NKEYS = 8 };

/*
 * Writes a seed for decode, and for load if `load`: errors inside a head are
 * seeds of decode only.
 */
static void write_file(const char *name, const void *bytes, size_t len,
                       bool load)
{
    um_seed_write("decode", name, bytes, len);
    if (load)
        um_seed_write("load", name, bytes, len);
}

/* Creates a filter with a few keys and encodes it. Returns its length. */
static size_t create_kind(const char *kind, const umbel_params *p, size_t nkeys,
                          uint8_t out[UM_SEED_ROOM])
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
        status = umbel_encode(f, out, UM_SEED_ROOM, &len, &err);
    if (status != UMBEL_OK)
        um_seed_fail(p->addressing, &err);
    umbel_close(f);
    return len;
}

static size_t create(const char *addressing, const char *hash, uint64_t cells,
                     uint32_t hashes, uint64_t groups, size_t nkeys,
                     uint8_t out[UM_SEED_ROOM])
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
    return create_kind(NULL, &p, nkeys, out);
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
    uint8_t bytes[UM_SEED_ROOM];

    for (size_t i = 0; i < UM_COUNT(goods); i++) {
        const good *g = &goods[i];
        size_t len = create(g->addressing, g->hash, g->cells, g->hashes,
                            g->groups, g->nkeys, bytes);
        write_file(g->name, bytes, len, true);
    }
}

/* Counting kinds with several cell widths. */
typedef struct tallied {
    const char *name, *kind, *addressing;
    uint64_t cells, bits;
    uint32_t hashes;
} tallied;

static const tallied tallies[] = {
    {"counting-2-bits", "counting", "blocked256", 512, 2, 3},
    {"counting-5-bits", "counting", "classic", 501, 5, 3},
    {"counting-32-bits", "counting", "universal", 99, 32, 3},
    {"countmin-32-bits", "countmin", NULL, 96, 32, 3},
    {"countmin-64-bits", "countmin", "classic", 65, 64, 3},
    {"table-8-bits", "table", NULL, 1536, 1, 8},
    {"table-23-bits", "table", NULL, 2560, 16, 23},
    {"table-40-bits", "table", NULL, 4096, 32, 40},
};

static void write_tallies(void)
{
    uint8_t bytes[UM_SEED_ROOM];

    for (size_t i = 0; i < UM_COUNT(tallies); i++) {
        umbel_setting bits = {"cell_bits", tallies[i].bits};
        umbel_params p = UMBEL_PARAMS_INIT;
        p.addressing = tallies[i].addressing;
        p.cells = tallies[i].cells;
        p.hashes = tallies[i].hashes;
        p.settings = &bits;
        p.nsettings = 1;
        size_t len = create_kind(tallies[i].kind, &p, NKEYS, bytes);
        write_file(tallies[i].name, bytes, len, true);
    }
}

/* --- heads with other claims ------------------------------------------------
 */

static um_shape shape_of(const uint8_t *bytes, size_t len)
{
    um_head head;

    if (um_head_decode(bytes, len, &head, NULL) != UMBEL_OK)
        exit(EXIT_FAILURE);
    return head.shape;
}

/* Returns the file with its head replaced by that of s. */
static uint8_t *reshape(uint8_t *bytes, size_t *len, const um_shape *s)
{
    uint8_t *out = calloc(1, *len + UM_HEAD_MAX);
    um_head head;

    if (!out || um_head_decode(bytes, *len, &head, NULL) != UMBEL_OK)
        exit(EXIT_FAILURE);
    size_t n = um_head_encode(s, head.payload_checksum,
                              s->coded ? head.stored : NULL, out);
    memcpy(out + n, bytes + head.len, *len - head.len);
    *len += n - head.len;
    free(bytes);
    return out;
}

/* --- features of some kinds -------------------------------------------------
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
        if (len <= UM_SEED_ROOM)
            write_file(coded_name, bytes, len, true);
        free(bytes);
    }
}

/* Writes every kind, with data after its sections, and each key form. */
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
            um_seed_fail(kind, &err);
        if (!umbel_is_static(kind))
            umbel_add_many(f, &key, 1, NULL, NULL);
        snprintf(name, sizeof name, "data-%s", kind);
        write_filter(name, f);
        umbel_close(f);
    }
}

/* Writes the difference between a later and an earlier state of counts. */
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
            um_seed_fail("counting", &err);
        write_filter(update.value ? "difference-refined" : "difference", f);
        umbel_close(before);
        umbel_close(f);
    }
}

/* --- coded files, and differences ------------------------------------------
 */

/*
 * Returns a filter for coding with the keys 0 .. n-1 as numbers, as in patch.c.
 */
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
        /* The head claims more cells than the code can hold. */
        um_shape s = *um_shape_of(f);
        s.cells = UINT64_C(1) << 40;
        bytes = reshape(bytes, &len, &s);
        char name[64];
        snprintf(name, sizeof name, "%s-claims-2e40", c->name);
        write_file(name, bytes, len, false);
        free(bytes);
        umbel_close(f);
    }
}

/* An error in a valid file: a number overwritten, or a changed length. */
typedef struct wrong {
    const char *name;
    size_t at, width; /* where the number goes */
    uint64_t number;
    bool as_is; /* do not correct the checksums */
    int longer; /* bytes to append, or to cut if negative */
} wrong;

enum { HEAD = 64, WHOLE = HEAD + 128 }; /* the valid file: 1000 cells */

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
    {"name-with-nul", UM_HEAD_NAMES_AT, 7, .number = 0x6D6F6F00620500},
    {"head-end-not-zero", HEAD - 9, 1, .number = 1},
    {"padding-bits", HEAD + 124, 1, .number = 0x80},
    {"padding-bytes", HEAD + 127, 1, .number = 1},
};

static void write_wrongs(void)
{
    for (size_t i = 0; i < UM_COUNT(wrongs); i++) {
        const wrong *w = &wrongs[i];
        uint8_t bytes[UM_SEED_ROOM] = {0}, number[8];
        size_t len = create("classic", NULL, 1000, 7, 1, NKEYS, bytes);

        um_store64(number, w->number);
        memcpy(bytes + w->at, number, w->width);
        if (!w->as_is)
            um_fuzz_repair(bytes, len, true);
        write_file(w->name, bytes, (size_t)((int)len + w->longer), w->as_is);
    }
}

/* Head fields with wrong or merely large numbers, and spare fields. */
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
    {"denied-most", NUMBER(false_negatives), UINT64_MAX, {0}, 0},
    {"denied-wraps", NUMBER(false_negatives), UINT64_C(1) << 63, {0}, 0},
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
        uint8_t *bytes = calloc(1, UM_SEED_ROOM);
        if (!bytes)
            exit(EXIT_FAILURE);
        /* Half of the keys that decode.c adds, so that some are new. */
        size_t len = create("classic", NULL, 1000, 7, 1, NKEYS / 2, bytes);
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

void um_seed_filters(void)
{
    write_goods();
    write_tallies();
    write_coded();
    write_kinds();
    write_states();
    write_wrongs();
    write_claims();
}
