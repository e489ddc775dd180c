/*
 * filter.c - the public verbs: check, hash, then call the row.
 */
#include "base/error.h"
#include "filter/given.h"
#include "filter/shared.h"

#include <inttypes.h>

static void query_now(const umbel_filter *f, const umbel_digest *d, size_t n,
                      bool *hit)
{
    const um_kind *kind = f->kind;

    if (f->fast)
        f->fast->query(f->self, d, n, hit);
    else
        (f->gate ? kind->shared->query : kind->query)(f->self, d, n, hit);
}

/* Returns true for keys of 8 bytes, which a fast path may hash itself. */
static bool are_keys8(const umbel_filter *f, const void *keys, size_t width)
{
    return f->fast && width == 8 && f->hasher.row->fused &&
           (uintptr_t)keys % _Alignof(uint64_t) == 0;
}

static umbel_status check_refused(umbel_filter *f, size_t n, umbel_error *err)
{
    const um_kind *kind = f->kind;
    uint64_t refused = kind->refused ? kind->refused(f->self) : 0;

    if (refused == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FULL,
                   "the filter of kind %s is full: %" PRIu64 " of %zu keys "
                   "were not added to its %" PRIu64 "; make it with a larger "
                   "capacity",
                   kind->name, refused, n, f->added);
}

/* Adds keys, and grows where the next one finds no room. */
static umbel_status add_growing(umbel_filter *f, const umbel_digest *d,
                                size_t n, bool *fresh, umbel_error *err)
{
    const um_kind *kind = f->kind;

    for (size_t i = 0, some; i < n; i += some) {
        bool *each = fresh ? fresh + i : NULL;
        size_t new_keys = f->fast && f->fast->add
                              ? f->fast->add(f->self, d + i, n - i, each)
                              : kind->add(f->self, d + i, NULL, n - i, each);
        some = kind->growing->done(f->self);
        um_count_added(f, some, new_keys);
        if (i + some < n)
            UM_TRY(um_filter_grow(f, err));
    }
    return UMBEL_OK;
}

/* A shared filter is copied while no thread is inside its gate. */
static void add_shared(umbel_filter *f, const umbel_digest *d,
                       const uint64_t *amounts, size_t n, bool *fresh)
{
    um_gate_pass pass = um_gate_enter(f->gate);

    um_count_shared(
        pass, f->fast ? um_add_locked(f, d, n, fresh)
                      : f->kind->shared->add(f->self, d, amounts, n, fresh));
    um_gate_leave(pass);
}

umbel_status um_add_now(umbel_filter *f, const umbel_digest *d,
                        const uint64_t *amounts, size_t n, bool *fresh,
                        umbel_error *err)
{
    const um_kind *kind = f->kind;

    if (kind->growing)
        return add_growing(f, d, n, fresh, err);
    if (f->gate)
        add_shared(f, d, amounts, n, fresh);
    else if (f->fast && f->fast->add && !amounts)
        um_count_added(f, n, f->fast->add(f->self, d, n, fresh));
    else
        um_count_added(f, n, kind->add(f->self, d, amounts, n, fresh));
    return check_refused(f, n, err);
}

static umbel_status check_add(const umbel_filter *f, umbel_error *err)
{
    if (!f->kind->add)
        return um_cannot(f, "take further keys", err);
    UM_TRY(um_check_writable(f, err));
    return um_check_ready(f, err);
}

umbel_status umbel_add_digests(umbel_filter *f, const umbel_digest *digests,
                               size_t n, bool *fresh, umbel_error *err)
{
    UM_TRY(check_add(f, err));
    for (size_t i = 0, some; i < n; i += some) {
        some = f->gate ? um_next_shared(n - i) : n; /* a gate is left soon */
        UM_TRY(um_add_now(f, digests + i, NULL, some, fresh ? fresh + i : NULL,
                          err));
    }
    return UMBEL_OK;
}

/* Several batches at once, for fewer locks. */
static umbel_status add_given_shared(umbel_filter *f, const um_given *keys,
                                     bool *fresh, umbel_error *err)
{
    umbel_digest d[UM_SHARED_BATCH];

    for (size_t i = 0, some; i < keys->n; i += some) {
        size_t n = um_next_shared(keys->n - i);
        for (some = 0; some < n;)
            some += um_given_digest(f, keys, i + some, d + some);
        UM_TRY(um_add_now(f, d, NULL, some, fresh ? fresh + i : NULL, err));
    }
    return UMBEL_OK;
}

static umbel_status add_given(umbel_filter *f, const um_given *keys,
                              bool *fresh, umbel_error *err)
{
    umbel_digest d[UM_BATCH];

    UM_TRY(um_given_accept(f, keys, err));
    if (f->gate && f->fast)
        return add_given_shared(f, keys, fresh, err);
    for (size_t i = 0, some; i < keys->n; i += some) {
        some = um_given_digest(f, keys, i, d);
        UM_TRY(um_add_now(f, d, NULL, some, fresh ? fresh + i : NULL, err));
    }
    return UMBEL_OK;
}

umbel_status umbel_add_many(umbel_filter *f, const umbel_slice *keys, size_t n,
                            bool *fresh, umbel_error *err)
{
    um_given given = {.n = n, .slices = keys};

    UM_TRY(check_add(f, err));
    return add_given(f, &given, fresh, err);
}

umbel_status umbel_add_fixed(umbel_filter *f, const void *keys, size_t width,
                             size_t n, bool *fresh, umbel_error *err)
{
    um_given given = {.n = n, .fixed = keys, .width = width};

    UM_TRY(check_add(f, err));
    if (!n || f->gate || !are_keys8(f, keys, width) || !f->fast->add_keys8)
        return add_given(f, &given, fresh, err);
    um_count_added(f, n,
                   f->fast->add_keys8(f->self, f->hasher.seed, keys, n, fresh));
    return UMBEL_OK;
}

umbel_status umbel_add(umbel_filter *f, const void *key, size_t len,
                       bool *fresh, umbel_error *err)
{
    return f->one->add(f, key, len, fresh, err);
}

umbel_status umbel_turn(umbel_filter *f, umbel_error *err)
{
    if (!f->kind->turn)
        return um_cannot(f, "take turns: it has no generations", err);
    UM_TRY(um_check_writable(f, err));
    f->kind->turn(f->self);
    return UMBEL_OK;
}

static umbel_status check_query(const umbel_filter *f, umbel_error *err)
{
    if (!f->kind->query)
        return um_cannot(f, "tell members", err);
    return um_check_ready(f, err);
}

umbel_status umbel_query_digests(const umbel_filter *f,
                                 const umbel_digest *digests, size_t n,
                                 bool *hit, umbel_error *err)
{
    UM_TRY(check_query(f, err));
    query_now(f, digests, n, hit);
    return UMBEL_OK;
}

static umbel_status query_given(const umbel_filter *f, const um_given *keys,
                                bool *hit, umbel_error *err)
{
    umbel_digest d[UM_BATCH];

    UM_TRY(um_given_accept(f, keys, err));
    for (size_t i = 0, some; i < keys->n; i += some) {
        some = um_given_digest(f, keys, i, d);
        query_now(f, d, some, hit + i);
    }
    return UMBEL_OK;
}

umbel_status umbel_query_many(const umbel_filter *f, const umbel_slice *keys,
                              size_t n, bool *hit, umbel_error *err)
{
    um_given given = {.n = n, .slices = keys};

    UM_TRY(check_query(f, err));
    return query_given(f, &given, hit, err);
}

umbel_status umbel_query_fixed(const umbel_filter *f, const void *keys,
                               size_t width, size_t n, bool *hit,
                               umbel_error *err)
{
    um_given given = {.n = n, .fixed = keys, .width = width};

    UM_TRY(check_query(f, err));
    if (!n || !are_keys8(f, keys, width) || !f->fast->query_keys8)
        return query_given(f, &given, hit, err);
    f->fast->query_keys8(f->self, f->hasher.seed, keys, n, hit);
    return UMBEL_OK;
}

umbel_status umbel_query(const umbel_filter *f, const void *key, size_t len,
                         bool *hit, umbel_error *err)
{
    return f->one->query(f, key, len, hit, err);
}

static umbel_status digest_given(const umbel_filter *f, const um_given *keys,
                                 umbel_digest *out, umbel_error *err)
{
    UM_TRY(um_check_ready(f, err));
    UM_TRY(um_given_accept(f, keys, err));
    for (size_t i = 0; i < keys->n;)
        i += um_given_digest(f, keys, i, out + i);
    return UMBEL_OK;
}

umbel_status umbel_digest_many(const umbel_filter *f, const umbel_slice *keys,
                               size_t n, umbel_digest *out, umbel_error *err)
{
    um_given given = {.n = n, .slices = keys};
    return digest_given(f, &given, out, err);
}

umbel_status umbel_digest_fixed(const umbel_filter *f, const void *keys,
                                size_t width, size_t n, umbel_digest *out,
                                umbel_error *err)
{
    um_given given = {.n = n, .fixed = keys, .width = width};
    return digest_given(f, &given, out, err);
}
