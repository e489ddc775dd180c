/*
 * counts.c - the public verbs of kinds that count: check, hash, call the row.
 */
#include "base/error.h"
#include "filter/given.h"

#include <umbel/counting.h>

bool umbel_is_counting(const char *kind)
{
    const um_kind *row = kind ? um_kind_find(kind) : NULL;
    return row && row->counting;
}

static void count_now(const umbel_filter *f, const umbel_digest *d, size_t n,
                      uint64_t *counts)
{
    const um_kind *kind = f->kind;
    bool fast = f->fast && f->fast->count;

    if (f->gate)
        kind->shared->count(f->self, d, n, counts);
    else
        (fast ? f->fast->count : kind->counting->count)(f->self, d, n, counts);
}

void um_fetch_counts(const umbel_filter *f, const umbel_digest *d, size_t n)
{
    const um_row_counting *row = f->kind->counting;

    if (row && row->fetch)
        row->fetch(f->self, d, n);
}

static umbel_status check_add_amounts(const umbel_filter *f, umbel_error *err)
{
    if (!f->kind->counting)
        return um_cannot_count(f->kind, err);
    if (!f->kind->add)
        return um_cannot(f, "take further keys", err);
    UM_TRY(um_check_writable(f, err));
    return um_check_ready(f, err);
}

umbel_status umbel_add_digest_amounts(umbel_filter *f,
                                      const umbel_digest *digests,
                                      const uint64_t *amounts, size_t n,
                                      bool *fresh, umbel_error *err)
{
    UM_TRY(check_add_amounts(f, err));
    for (size_t i = 0, some; i < n; i += some) {
        some = um_next_batch(n - i);
        UM_TRY(um_add_now(f, digests + i, amounts + i, some,
                          fresh ? fresh + i : NULL, err));
    }
    return UMBEL_OK;
}

umbel_status umbel_add_amounts(umbel_filter *f, const umbel_slice *keys,
                               const uint64_t *amounts, size_t n, bool *fresh,
                               umbel_error *err)
{
    um_given given = {.n = n, .slices = keys};
    umbel_digest d[UM_BATCH];

    UM_TRY(check_add_amounts(f, err));
    UM_TRY(um_given_accept(f, &given, err));
    for (size_t i = 0, some; i < n; i += some) {
        some = um_given_digest(f, &given, i, d);
        UM_TRY(
            um_add_now(f, d, amounts + i, some, fresh ? fresh + i : NULL, err));
    }
    return UMBEL_OK;
}

static umbel_status check_count(const umbel_filter *f, umbel_error *err)
{
    if (!f->kind->counting)
        return um_cannot_count(f->kind, err);
    return um_check_ready(f, err);
}

umbel_status umbel_count_digests(const umbel_filter *f,
                                 const umbel_digest *digests, size_t n,
                                 uint64_t *counts, umbel_error *err)
{
    UM_TRY(check_count(f, err));
    count_now(f, digests, n, counts);
    return UMBEL_OK;
}

umbel_status umbel_count_many(const umbel_filter *f, const umbel_slice *keys,
                              size_t n, uint64_t *counts, umbel_error *err)
{
    um_given given = {.n = n, .slices = keys};
    umbel_digest d[UM_BATCH];

    UM_TRY(check_count(f, err));
    UM_TRY(um_given_accept(f, &given, err));
    for (size_t i = 0, some; i < n; i += some) {
        some = um_given_digest(f, &given, i, d);
        count_now(f, d, some, counts + i);
    }
    return UMBEL_OK;
}

uint64_t umbel_count_limit(const umbel_filter *f)
{
    const um_row_counting *row = f->kind->counting;
    return row ? row->most(f->self) : 0;
}

/* Adding undoes removing: cells at their limit do not move either way. */
static void write_back(umbel_filter *f, um_given keys, size_t n)
{
    umbel_digest d[UM_BATCH];

    keys.n = n;
    for (size_t i = 0, some; i < n; i += some) {
        some = um_given_digest(f, &keys, i, d);
        f->kind->add(f->self, d, NULL, some, NULL);
    }
}

static umbel_status remove_all(umbel_filter *f, const um_given *keys,
                               umbel_error *err)
{
    umbel_digest d[UM_BATCH];
    size_t gone = 0;

    for (size_t i = 0, some; i < keys->n; i += some) {
        some = um_given_digest(f, keys, i, d);
        size_t done = f->kind->counting->remove(f->self, d, some, &gone);
        if (done < some) {
            write_back(f, *keys, i + done);
            return um_fail(err, UMBEL_E_RANGE,
                           "key %zu of %zu is not in the filter, so it cannot "
                           "be taken back: none has been",
                           i + done + 1, keys->n);
        }
    }
    uint64_t added = umbel_added(f);
    um_set_added(f, added - (gone < added ? gone : added));
    return UMBEL_OK;
}

umbel_status umbel_remove_many(umbel_filter *f, const umbel_slice *keys,
                               size_t n, umbel_error *err)
{
    const um_row_counting *row = f->kind->counting;
    um_given given = {.n = n, .slices = keys};

    if (row && row->may_remove)
        UM_TRY(row->may_remove(um_shape_of(f), err));
    if (!row || !row->remove)
        return um_cannot_remove(f->kind, err);
    UM_TRY(um_check_writable(f, err));
    UM_TRY(um_check_ready(f, err));
    UM_TRY(um_given_accept(f, &given, err));
    return remove_all(f, &given, err);
}
