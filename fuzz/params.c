/*
 * params.c - arbitrary parameters: a filter or plan that meets them, or a
 * status.
 *
 * The input fills an umbel_params field by field (layout below), with names
 * from the tables, or unknown ones. The allocator refuses more than a limit, so
 * huge sizes end in E_NOMEM. libFuzzer's -timeout checks the time: a plan takes
 * milliseconds, whatever the parameters.
 *
 *     verb kind addressing hash flags settings       a byte each
 *     fpr capacity cells seed bytes keys             8 bytes each
 *     hashes                                         4 bytes
 *     setting: name (a byte), value (8 bytes)        as many as settings says
 *     the rest is the text of garbage names
 */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/error.h"
#include "filter/kind.h"
#include "filter/sizing.h"

#include <umbel/plan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MEMORY = 1 << 20, MAX_SETTINGS = 3, NKEYS = 100, SMALL = 1 << 16 };

enum { FLAG_SECRET = 1, FLAG_SIZE = 2 };

/* What the input requests. */
typedef struct request {
    const char *kind;
    umbel_params params;
    umbel_setting setting[MAX_SETTINGS];
    uint64_t bytes;
    double keys; /* for umbel_fpr_at */
    char garbage[32];
} request;

static uint8_t get_u8(um_reader *r)
{
    uint8_t x;
    um_get_bytes(r, &x, 1);
    return x;
}

static bool kind_at(size_t i, const char **name)
{
    return umbel_kind_at(i, name, NULL);
}

static bool addressing_at(size_t i, const char **name)
{
    return umbel_addressing_at(i, name, NULL);
}

static bool hash_at(size_t i, const char **name)
{
    return umbel_hash_at(i, name, NULL, NULL);
}

static bool setting_at(size_t i, const char **name)
{
    umbel_setting_info info;

    if (!umbel_kind_setting("bloom", i, &info))
        return false;
    *name = info.name;
    return true;
}

/* Returns NULL for 0, then the rows of the table, then garbage. */
static const char *pick(um_reader *r, bool at(size_t, const char **),
                        const char *garbage)
{
    uint8_t i = get_u8(r);
    const char *name;

    if (i == 0)
        return NULL;
    return at(i - 1u, &name) ? name : garbage;
}

static void get_request(um_reader *r, request *q)
{
    umbel_params *p = &q->params;

    *q = (request){.params = UMBEL_PARAMS_INIT};
    q->kind = pick(r, kind_at, q->garbage);
    p->addressing = pick(r, addressing_at, q->garbage);
    p->hash = pick(r, hash_at, q->garbage);
    uint8_t flags = get_u8(r);
    p->nsettings = get_u8(r) % (MAX_SETTINGS + 1);
    p->secret = flags & FLAG_SECRET ? um_fuzz_secret : NULL;
    p->size = flags & FLAG_SIZE ? p->size - 1 : p->size;
    p->fpr = um_get_f64(r);
    p->capacity = um_get_u64(r);
    p->cells = um_get_u64(r);
    p->seed = um_get_u64(r);
    q->bytes = um_get_u64(r);
    q->keys = um_get_f64(r);
    p->hashes = um_get_u32(r);
    p->settings = q->setting;
    for (size_t i = 0; i < p->nsettings; i++) {
        const char *name = pick(r, setting_at, q->garbage);
        q->setting[i].name = name ? name : "";
        q->setting[i].value = um_get_u64(r);
    }
    size_t left = (size_t)(r->end - r->at);
    um_get_bytes(r, q->garbage, left < 31 ? left : 31);
}

static void expect_survives(const umbel_filter *f)
{
    size_t len, again_len;
    uint8_t *bytes = um_fuzz_encode(f, &len);
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *again = NULL;

    source.verify = true;
    UM_WANT(umbel_decode(bytes, len, &source, &again, NULL) == UMBEL_OK);
    uint8_t *bytes_again = um_fuzz_encode(again, &again_len);
    UM_WANT(again_len == len && memcmp(bytes, bytes_again, len) == 0);
    umbel_close(again);
    free(bytes_again);
    free(bytes);
}

/*
 * Checks that the error is a probability and grows with the keys. The tolerance
 * of a tenth covers the steps between the model's formulas.
 */
static void expect_grows(const umbel_filter *f, double keys)
{
    double error = umbel_fpr_at(f, keys), later = umbel_fpr_at(f, 2 * keys);

    UM_WANT(isnan(keys) || (error >= 0 && error <= 1));
    UM_WANT(!(keys > 0) || later >= 0.9 * error);
    if (keys >= 64.0 * (double)umbel_cells(f) && !umbel_has_false_negatives(f))
        UM_WANT(error > 0.99);
}

/* Checks that the filter accepts keys and finds them. */
static void expect_works(umbel_filter *f, const request *q)
{
    umbel_slice keys[NKEYS];
    char text[NKEYS][4];
    bool hit[NKEYS];

    for (int i = 0; i < NKEYS; i++) {
        int len = snprintf(text[i], sizeof text[i], "%d", i);
        keys[i] = (umbel_slice){text[i], (size_t)len};
    }
    umbel_status status = umbel_add_many(f, keys, NKEYS, NULL, NULL);
    UM_WANT(status == UMBEL_OK || status == UMBEL_E_FULL);
    UM_WANT(umbel_query_many(f, keys, NKEYS, hit, NULL) == UMBEL_OK);
    for (int i = 0; i < NKEYS && !umbel_has_false_negatives(f); i++)
        UM_WANT(hit[i] || status == UMBEL_E_FULL);
    expect_grows(f, q->keys);
    if (umbel_encoded_len(f) <= SMALL) {
        um_fuzz_use(f, UM_FUZZ_ALL);
        expect_survives(f);
    }
}

static double asked_fpr(const request *q)
{
    const umbel_params *p = &q->params;
    const um_kind *kind = um_kind_find(q->kind);

    return p->fpr != 0             ? p->fpr
           : kind && kind->fpr > 0 ? kind->fpr
                                   : UM_DEFAULT_FPR;
}

/*
 * Returns true if the addressing determines the size itself, as foreign formats
 * do; then the error may exceed the requested one.
 */
static bool has_own_size(const request *q)
{
    const um_addressing *a =
        q->params.addressing ? um_addressing_find(q->params.addressing) : NULL;

    return a && a->size;
}

/* Checks for a filter on success, and none but an error on failure. */
static void check_outcome(umbel_status status, const umbel_filter *f,
                          const umbel_error *err, const um_fuzz_memory *m)
{
    UM_WANT((status == UMBEL_OK) == (f != NULL));
    if (status != UMBEL_OK)
        um_fuzz_check_error(status, err);
    UM_WANT((status == UMBEL_E_NOMEM) == m->refused);
}

static void try_open(const request *q, um_fuzz_memory *m)
{
    const umbel_params *p = &q->params;
    umbel_filter *f = NULL;
    umbel_error err;

    umbel_status status = umbel_create(q->kind, p, &f, &err);
    check_outcome(status, f, &err, m);
    if (status != UMBEL_OK)
        return;
    UM_WANT(umbel_cells(f) >= p->cells);
    UM_WANT(p->hashes == 0 || umbel_hashes(f) == p->hashes);
    if (!p->cells && !has_own_size(q))
        UM_WANT(umbel_fpr_at(f, (double)p->capacity) <= asked_fpr(q));
    m->limit = SIZE_MAX;
    expect_works(f, q);
    umbel_close(f);
}

/* Checks that a planned filter can be created and has the planned size. */
static void open_plan(const request *q, const umbel_size_plan *plan,
                      um_fuzz_memory *m)
{
    umbel_params p = q->params;
    umbel_filter *f = NULL;
    umbel_error err;

    if (umbel_is_static(q->kind))
        return; /* is built from keys, not created */
    p.cells = plan->cells;
    p.hashes = plan->hashes;
    umbel_status status = umbel_create(q->kind, &p, &f, &err);
    check_outcome(status, f, &err, m);
    UM_WANT(status == UMBEL_OK || status == UMBEL_E_NOMEM);
    if (status != UMBEL_OK)
        return;
    UM_WANT(umbel_cells(f) == plan->cells && umbel_hashes(f) == plan->hashes);
    /*
     * The plan is for a file with all its keys: their number may take more
     * bytes, and so may the error rate that follows from given cells.
     */
    UM_WANT(umbel_encoded_len(f) <= plan->bytes + 64);
    UM_WANT(umbel_encoded_len(f) + 64 >= plan->bytes);
    umbel_close(f);
}

static void try_plan(const request *q, um_fuzz_memory *m)
{
    const umbel_params *p = &q->params;
    umbel_size_plan plan = {0};
    umbel_error err;

    umbel_status status = umbel_plan_size(q->kind, p, q->bytes, &plan, &err);
    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        return;
    }
    double built = umbel_is_static(q->kind); /* its digests may collide */
    UM_WANT(plan.cells > 0 && plan.hashes > 0);
    UM_WANT(plan.error >= 0 && plan.error <= 1);
    UM_WANT(q->bytes == 0 || plan.bytes <= q->bytes);
    UM_WANT(p->capacity == 0 || plan.keys == p->capacity);
    if ((!p->capacity || (!p->cells && !q->bytes)) && !has_own_size(q))
        UM_WANT(plan.error <= asked_fpr(q) + built * plan.digest_error);
    open_plan(q, &plan, m);
}

static void try_unsized(const request *q, um_fuzz_memory *m)
{
    umbel_filter *f = NULL;
    umbel_error err;

    umbel_status status =
        umbel_create_unsized(q->kind, &q->params, q->bytes, &f, &err);
    check_outcome(status, f, &err, m);
    if (status != UMBEL_OK)
        return;
    UM_WANT(umbel_encoded_len(f) <= q->bytes);
    m->limit = SIZE_MAX;
    expect_works(f, q);
    umbel_close(f);
}

typedef void verb(const request *q, um_fuzz_memory *m);

static verb *const verbs[] = {try_open, try_plan, try_unsized};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    um_fuzz_memory memory = {.limit = MEMORY};
    umbel_alloc alloc = um_fuzz_alloc(&memory);
    um_reader r = {data, data + len, false};
    request q;

    uint8_t i = get_u8(&r);
    get_request(&r, &q);
    q.params.alloc = &alloc;
    if (!q.params.hashes && !um_fuzz_one_in(64, data, len))
        q.params.hashes = 1 + q.params.seed % 16;
    verbs[i % UM_COUNT(verbs)](&q, &memory);
    UM_WANT(memory.live == 0);
    return 0;
}
