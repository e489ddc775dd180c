/*
 * amounts.c - keys that come more often than once, and keys that go.
 */
#include "cli/amounts.h"

#include "base/error.h"

const um_option um_amount_options[] = {
    {"times", 0, "N", "counting: every key comes N times"},
    {"amount-field", 0, "N", "counting: ... as often as the N-th field says"},
    {0}};

enum { CHUNK = 256 };

typedef struct changing {
    umbel_filter *filter;
    uint64_t times, n;
} changing;

bool um_has_amounts(const um_args *args)
{
    return um_has(args, "times") || um_has(args, "amount-field");
}

static umbel_status add_batch(void *ctx, const um_batch *batch,
                              umbel_error *err)
{
    changing *c = ctx;
    uint64_t amounts[CHUNK];
    umbel_status status = UMBEL_OK;

    for (size_t i = 0, some; status == UMBEL_OK && i < batch->n; i += some) {
        some = batch->n - i < CHUNK ? batch->n - i : CHUNK;
        for (size_t j = 0; j < some; j++)
            amounts[j] = c->times ? c->times : batch->amounts[i + j];
        status = umbel_add_amounts(c->filter, batch->keys + i, amounts, some,
                                   NULL, err);
    }
    c->n += batch->n;
    return status;
}

/* One by one, to name the one that is not in; the file keeps the old state. */
static umbel_status remove_batch(void *ctx, const um_batch *batch,
                                 umbel_error *err)
{
    changing *c = ctx;

    for (size_t i = 0; i < batch->n; i++) {
        umbel_status status =
            umbel_remove_many(c->filter, &batch->keys[i], 1, err);
        int len = (int)(batch->lines[i].len < 40 ? batch->lines[i].len : 40);
        if (status == UMBEL_E_RANGE)
            return um_fail(err, status,
                           "\"%.*s\" is not in the filter, so it cannot be "
                           "taken back; nothing has been",
                           len, (const char *)batch->lines[i].data);
        if (status != UMBEL_OK)
            return status;
        c->n++;
    }
    return UMBEL_OK;
}

static umbel_status read_amounts(const um_args *args, uint64_t *times,
                                 uint64_t *field, umbel_error *err)
{
    uint64_t key = 1;
    umbel_status status = um_value_count(args, "times", times, err);

    if (status == UMBEL_OK)
        status = um_value_count(args, "amount-field", field, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "field", &key, err);
    if (status != UMBEL_OK)
        return status;
    if (um_has(args, "times") && um_has(args, "amount-field"))
        return um_fail(err, UMBEL_E_RANGE,
                       "give --times or --amount-field, not both");
    if (um_has(args, "times") && *times == 0)
        return um_fail(err, UMBEL_E_RANGE, "--times must be at least 1");
    if (um_has(args, "amount-field") && *field == 0)
        return um_fail(err, UMBEL_E_RANGE, "--amount-field counts from 1");
    if (*field == UM_LAST_FIELD)
        --*field; /* no line has that many either */
    if (*field && *field == key)
        return um_fail(err, UMBEL_E_RANGE,
                       "the amount and the key are the same field: say which "
                       "is the key with --field N");
    return UMBEL_OK;
}

umbel_status um_add_amounts(const um_args *args, const char *const *paths,
                            size_t npaths, umbel_filter *f, uint64_t *n,
                            umbel_error *err)
{
    changing c = {.filter = f};
    uint64_t field = 0;

    if (!um_has_amounts(args))
        return um_add_all(args, paths, npaths, f, n, err);
    umbel_status status = read_amounts(args, &c.times, &field, err);
    if (status == UMBEL_OK)
        status = um_each_amount(args, paths, npaths, field, add_batch, &c, err);
    *n = c.n;
    return status;
}

umbel_status um_remove_all(const um_args *args, const char *const *paths,
                           size_t npaths, umbel_filter *f, uint64_t *n,
                           umbel_error *err)
{
    changing c = {.filter = f};
    umbel_status status =
        um_each_batch(args, paths, npaths, remove_batch, &c, err);

    *n = c.n;
    return status;
}
