/* common.c - helpers shared by the fuzz targets. */
#include "fuzz.h"

#include "base/hash.h"
#include "filter/envelope.h"
#include "filter/handle.h"

#include <umbel/build.h>
#include <umbel/counting.h>
#include <umbel/estimate.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { KEYS = 8, SUM_AT_V1 = 136, LEAST_V1 = 192 };

bool um_fuzz_thorough;

const uint8_t um_fuzz_secret[UMBEL_SECRET_LEN] = "umbel fuzz keys";

void um_fuzz_broken(const char *promise, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, promise);
    abort();
}

static void *get(void *ctx, size_t align, size_t len)
{
    um_fuzz_memory *m = ctx;
    void *p = NULL;

    if (len > m->limit - m->live) {
        m->refused = true;
        return NULL;
    }
    if (posix_memalign(&p, align, len))
        abort();
    m->live += len;
    return p;
}

static void append(void *ctx, void *memory, size_t len)
{
    um_fuzz_memory *m = ctx;

    UM_WANT(len <= m->live);
    m->live -= len;
    free(memory);
}

umbel_alloc um_fuzz_alloc(um_fuzz_memory *memory)
{
    return (umbel_alloc){.ctx = memory, .get = get, .put = append};
}

void um_fuzz_check_error(umbel_status status, const umbel_error *err)
{
    size_t len = strnlen(err->text, sizeof err->text);

    UM_WANT(err->status == status && status != UMBEL_OK);
    UM_WANT(len > 0 && len < sizeof err->text);
    for (size_t i = 0; i < len; i++)
        UM_WANT((unsigned char)err->text[i] >= ' ' && err->text[i] != 127);
}

size_t um_fuzz_head_len(const uint8_t *bytes, size_t len)
{
    size_t head;

    return um_head_len(bytes, len, &head, NULL) == UMBEL_OK && head <= len
               ? head
               : 0;
}

bool um_fuzz_is_old(const uint8_t *bytes)
{
    return bytes[UM_HEAD_VERSION_AT] < UM_HEAD_VERSION;
}

static size_t sum_at(const uint8_t *bytes)
{
    return um_fuzz_is_old(bytes) ? SUM_AT_V1 : UM_HEAD_SUM_AT;
}

void um_fuzz_repair(uint8_t *bytes, size_t len, bool payload)
{
    size_t head = um_fuzz_head_len(bytes, len);

    if (!head || (um_fuzz_is_old(bytes) && head < LEAST_V1))
        return;
    if (payload)
        um_store64(bytes + sum_at(bytes),
                   um_checksum(bytes + head, len - head));
    um_store64(bytes + head - 8, um_checksum(bytes, head - 8));
}

bool um_fuzz_payload_is_right(const umbel_filter *f, const uint8_t *bytes)
{
    return um_load64(bytes + sum_at(bytes)) == umbel_payload_checksum(f);
}

bool um_fuzz_one_in(uint64_t n, const uint8_t *data, size_t len)
{
    return um_fuzz_thorough || um_checksum(data, len) % n == 0;
}

um_fuzz_effort um_fuzz_effort_for(const uint8_t *data, size_t len)
{
    return um_fuzz_one_in(1024, data, len) ? UM_FUZZ_ALL
           : um_fuzz_one_in(16, data, len) ? UM_FUZZ_MORE
                                           : UM_FUZZ_LITTLE;
}

uint8_t *um_fuzz_encode(const umbel_filter *f, size_t *len)
{
    size_t cap = umbel_encoded_len(f);
    uint8_t *bytes = malloc(cap);

    if (!bytes)
        abort();
    UM_WANT(umbel_encode(f, bytes, cap, len, NULL) == UMBEL_OK);
    UM_WANT(*len == cap);
    return bytes;
}

static umbel_filter *create_filter(const char *kind, const umbel_slice *keys,
                                   size_t n)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    if (umbel_is_static(kind)) {
        p.fpr = 0.01;
        UM_WANT(umbel_build_keys(kind, &p, keys, NULL, n, &f, NULL) ==
                UMBEL_OK);
        return f;
    }
    p.addressing = "classic";
    p.cells = 1024;
    p.hashes = 4;
    UM_WANT(umbel_create(kind, &p, &f, NULL) == UMBEL_OK);
    UM_WANT(umbel_add_many(f, keys, n, NULL, NULL) == UMBEL_OK);
    return f;
}

umbel_filter *um_fuzz_old(unsigned which, size_t n)
{
    static const char *const kinds[UM_FUZZ_OLD] = {"bloom", "counting",
                                                   "ribbon", "bloom"};
    uint64_t *number = malloc(n * sizeof *number + 1);
    umbel_slice *keys = malloc(n * sizeof *keys + 1);

    if (!number || !keys)
        abort();
    for (size_t i = 0; i < n; i++) {
        number[i] = um_le64(i);
        keys[i] = (umbel_slice){&number[i], sizeof *number};
    }
    umbel_filter *f = create_filter(kinds[which], keys, n);
    if (which == 3)
        UM_WANT(umbel_set_data(f, number, n, NULL) == UMBEL_OK);
    free(keys);
    free(number);
    return f;
}

um_packed um_fuzz_cells(const uint8_t shape[UM_FUZZ_SHAPE])
{
    static const struct {
        unsigned bits, step;
    } width[] = {{1, 80}, {2, 40}, {3, 20}, {4, 20},
                 {8, 10}, {13, 5}, {32, 3}, {64, 2}};
    unsigned i = shape[0] & 7, many = shape[0] & 8 ? 32 : 1;
    unsigned step =
        many > 1 || !(shape[0] & 64) ? width[i].step : (width[i].step + 3) / 4;
    um_packed c = {.n = 1 + (uint64_t)step * many * shape[1],
                   .bits = width[i].bits};

    c.at = calloc((um_packed_bytes(&c) + 15) / 8, 8);
    if (!c.at)
        abort();
    return c;
}

void um_fuzz_fill(const um_packed *c, uint8_t flags, const uint8_t *data,
                  size_t len)
{
    enum { ONES = 16, REPEAT = 32 };
    uint64_t bytes = um_packed_bytes(c);

    memset(c->at, flags & ONES ? 255 : 0, bytes);
    for (uint64_t i = 0; len && i < bytes && (i < len || flags & REPEAT); i++)
        c->at[i] = data[i % len];
    if (c->n * c->bits % 8)
        c->at[bytes - 1] &= (uint8_t)((1u << c->n * c->bits % 8) - 1);
}

static umbel_filter *copy_of(const umbel_filter *f)
{
    umbel_filter *copy = NULL;

    UM_WANT(umbel_copy(f, &copy, NULL) == UMBEL_OK);
    return copy;
}

static void use_description(const umbel_filter *f)
{
    umbel_info info;

    umbel_describe(f, &info);
    UM_WANT(info.n > 0 && info.n <= UMBEL_MAX_FIELDS);
    for (size_t i = 0; i < info.n; i++) {
        const umbel_field *field = &info.field[i];
        UM_WANT(field->name && *field->name);
        if (field->type == UMBEL_FIELD_TEXT)
            UM_WANT(*field->value.text);
        if (field->type == UMBEL_FIELD_REAL) /* all are fractions */
            UM_WANT(field->value.real >= 0 && field->value.real <= 1 + 1e-9);
    }
}

static bool is_static(const umbel_filter *f)
{
    return umbel_is_static(umbel_kind(f));
}

/* Adds and queries short decimal keys, which every hash family accepts. */
static void use_keys(umbel_filter *f)
{
    static const char text[KEYS + 1] = "01234567";
    bool hit[KEYS], fresh[KEYS];
    umbel_error err;

    umbel_status status = umbel_query_fixed(f, text, 1, KEYS, hit, &err);
    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        UM_WANT(status == UMBEL_E_SECRET || status == UMBEL_E_UNSUPPORTED);
        UM_WANT(umbel_add_fixed(f, text, 1, KEYS, NULL, NULL) ==
                (is_static(f) ? UMBEL_E_UNSUPPORTED : status));
        return;
    }
    uint64_t before = umbel_added(f);
    status = umbel_add_fixed(f, text, 1, KEYS, fresh, NULL);
    UM_WANT(umbel_added(f) >= before);
    if (status == UMBEL_E_UNSUPPORTED || status == UMBEL_E_FULL ||
        status == UMBEL_E_NOMEM) /* the next link of a chain is that large */
        return;
    UM_WANT(status == UMBEL_OK);
    UM_WANT(!(hit[0] && fresh[0]) && (hit[0] || fresh[0]));
    UM_WANT(umbel_query_fixed(f, text, 1, KEYS, hit, NULL) == UMBEL_OK);
    for (size_t i = 0; i < KEYS && !umbel_has_false_negatives(f); i++)
        UM_WANT(hit[i]);
}

/*
 * Checks that adding an amount raises the count by that amount, up to the
 * limit, in shared filters, too. In a tally it may rise by more: its limit
 * falls when its table is full, and a forged table may hold any counts.
 */
static void use_counts(umbel_filter *f)
{
    static const umbel_slice key = {"7", 1};
    uint64_t limit = umbel_count_limit(f), before, after, amount = 3;
    bool exact = strcmp(umbel_kind(f), "tally") != 0;

    if (!limit || umbel_count_many(f, &key, 1, &before, NULL) != UMBEL_OK)
        return; /* its secret is unknown */
    UM_WANT(before <= limit || !exact);
    umbel_share(f, NULL);
    umbel_status added = umbel_add_amounts(f, &key, &amount, 1, NULL, NULL);
    UM_WANT(added == UMBEL_OK || (added == UMBEL_E_FULL && before == 0) ||
            (added == UMBEL_E_UNSUPPORTED && !f->kind->add));
    if (added != UMBEL_OK)
        return;
    UM_WANT(umbel_count_many(f, &key, 1, &after, NULL) == UMBEL_OK);
    limit = umbel_count_limit(f);
    uint64_t least = limit > 3 && before < limit - 3 ? before + 3 : limit;
    UM_WANT(exact ? after == least : after >= least);
    umbel_status status = umbel_remove_many(f, &key, 1, NULL);
    UM_WANT(status == UMBEL_OK || status == UMBEL_E_UNSUPPORTED);
}

/* Checks that values fit in value_bits, whatever the keys are. */
static void use_values(const umbel_filter *f)
{
    static const umbel_slice keys[] = {{"0", 1}, {"77", 2}};
    uint64_t value[2], bits = umbel_value_bits(f);
    umbel_status status = umbel_values_many(f, keys, 2, value, NULL);

    UM_WANT(status != UMBEL_E_UNSUPPORTED || !bits);
    for (size_t i = 0; status == UMBEL_OK && i < 2; i++)
        UM_WANT(value[i] >> bits == 0);
}

/* Checks that data set on a filter can be read back. */
static void use_data(umbel_filter *f)
{
    umbel_status status = umbel_set_data(f, "umbel", 5, NULL);

    UM_WANT(status == UMBEL_OK || status == UMBEL_E_UNSUPPORTED);
    if (status == UMBEL_OK)
        UM_WANT(umbel_data(f).len == 5 &&
                memcmp(umbel_data(f).data, "umbel", 5) == 0);
}

/* Checks that merging a set with itself does not change it. */
static void use_merge(const umbel_filter *f)
{
    uint64_t before = umbel_payload_checksum(f);
    umbel_filter *copy = copy_of(f);

    UM_WANT(umbel_same_shape(copy, f, NULL) == UMBEL_OK);
    for (int op = UMBEL_OR; op <= UMBEL_AND; op++) {
        umbel_status status = umbel_merge(copy, f, (umbel_merge_op)op, NULL);
        UM_WANT(status == UMBEL_OK || status == UMBEL_E_UNSUPPORTED ||
                (status == UMBEL_E_MISMATCH && um_is_delta(um_delta_of(f))));
        UM_WANT(umbel_payload_checksum(copy) == before);
        UM_WANT(umbel_has_false_negatives(copy) ==
                umbel_has_false_negatives(f));
    }
    if (is_static(f)) {
        UM_WANT(umbel_clear(copy, NULL) == UMBEL_E_UNSUPPORTED);
    } else {
        UM_WANT(umbel_clear(copy, NULL) == UMBEL_OK);
        UM_WANT(umbel_added(copy) == 0);
    }
    umbel_close(copy);
}

/* Returns the smallest divisor of n between 2 and 99; n if it has none. */
static uint64_t divisor_of(uint64_t n)
{
    for (uint64_t d = 2; d < 100 && d <= n / d; d++)
        if (n % d == 0)
            return d;
    return n;
}

static void use_fold(const umbel_filter *f)
{
    uint64_t parts = umbel_fold_parts(f), by = divisor_of(parts);
    umbel_filter *small = NULL;
    umbel_error err;

    UM_WANT(parts > 0);
    umbel_status status = umbel_fold(f, by, &small, &err);
    if (status == UMBEL_OK) {
        UM_WANT(umbel_cells(small) == umbel_cells(f) / by);
        use_description(small);
        use_keys(small);
    } else { /* fewer than two cells per hash would remain */
        um_fuzz_check_error(status, &err);
        UM_WANT(small == NULL);
    }
    umbel_close(small);
    small = NULL;
    UM_WANT(umbel_fold(f, parts + 1, &small, NULL) != UMBEL_OK);
    UM_WANT(umbel_fold(f, 0, &small, NULL) != UMBEL_OK && !small);
}

static void check_interval(const umbel_interval *x)
{
    UM_WANT(x->low >= 0 && x->low <= x->value && x->value <= x->high);
}

static void use_estimates(const umbel_filter *f)
{
    umbel_interval keys;
    umbel_overlap overlap;

    umbel_status status = umbel_estimate_keys(f, &keys, NULL);
    UM_WANT(umbel_estimate_overlap(f, f, &overlap, NULL) == status);
    if (status != UMBEL_OK)
        return;
    check_interval(&keys);
    if (!isinf(keys.value)) { /* otherwise full, and nothing can be estimated */
        check_interval(&overlap.both_or_one);
        check_interval(&overlap.both);
        check_interval(&overlap.jaccard);
        UM_WANT(overlap.jaccard.high <= 1);
    }
}

/* Returns false for kinds whose cells cannot be folded, static or not. */
static bool can_fold(const umbel_filter *f)
{
    umbel_filter *same = NULL;
    umbel_status status = umbel_fold(f, 1, &same, NULL);

    umbel_close(same);
    return status != UMBEL_E_UNSUPPORTED;
}

static void use_fit(const umbel_filter *f)
{
    umbel_filter *small = NULL;
    umbel_error err;
    double keys = (double)umbel_added(f), error = umbel_fpr_at(f, keys);

    UM_WANT(error >= 0 && error <= 1);
    /*
     * With 64 keys per cell every cell is used, unless the kind forgets or
     * grows.
     */
    if (keys >= 64.0 * (double)umbel_cells(f) &&
        !umbel_has_false_negatives(f) && !is_static(f) &&
        !umbel_is_growing(umbel_kind(f)))
        UM_WANT(error > 0.99);
    umbel_status status = umbel_fit(f, &small, &err);
    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        UM_WANT(status == (can_fold(f) ? UMBEL_E_LIMIT : UMBEL_E_UNSUPPORTED));
        UM_WANT(!small);
        return;
    }
    UM_WANT(umbel_fpr_at(small, (double)umbel_added(small)) <=
            umbel_target_fpr(f));
    umbel_close(small);
}

void um_fuzz_use(const umbel_filter *f, um_fuzz_effort effort)
{
    umbel_filter *copy = copy_of(f);

    use_description(f);
    use_keys(copy);
    use_counts(copy);
    use_values(copy);
    if (effort >= UM_FUZZ_MORE)
        use_data(copy);
    umbel_close(copy);
    if (effort >= UM_FUZZ_MORE) {
        use_merge(f);
        use_fold(f);
    }
    if (effort >= UM_FUZZ_ALL) {
        use_estimates(f);
        use_fit(f);
    }
}

umbel_sync_list um_fuzz_sync_list(void)
{
    static umbel_filter *shape;
    umbel_setting bits = {"cell_bits", 8};
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = "classic";
    p.cells = 576;
    p.hashes = 3;
    p.settings = &bits;
    p.nsettings = 1;
    UM_WANT(shape || umbel_create("counting", &p, &shape, NULL) == UMBEL_OK);
    return (umbel_sync_list){.name = "list",
                             .shape = shape,
                             .epoch_seconds = 1000,
                             .epochs = 2,
                             .page_bytes = 512,
                             .indexed = true};
}

void um_fuzz_send_next(void *ctx, const char *pass, uint64_t done,
                       uint64_t total)
{
    um_fuzz_pipe *f = ctx;
    size_t left = f->len - f->at, some = left < f->step ? left : f->step;

    (void)done;
    (void)total;
    if (!pass || f->fd < 0)
        return;
    if (some) {
        UM_WANT(write(f->fd, f->text + f->at, some) == (ssize_t)some);
        f->at += some;
    } else {
        close(f->fd);
        f->fd = -1;
    }
}
