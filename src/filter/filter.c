/*
 * filter.c - the public verbs: check, hash, then call the row.
 */
#include "base/batch.h"
#include "base/error.h"
#include "filter/handle.h"

static umbel_status want_add(const umbel_filter *f, umbel_error *err)
{
    if (!f->shape.kind->add)
        return um_cannot(f, "take further keys", err);
    umbel_status status = um_check_writable(f, err);
    return status == UMBEL_OK ? um_check_ready(f, err) : status;
}

/* Keys as slices, or width bytes each from a base on: filled slice by slice. */
static void slice_up(umbel_slice *out, const void *keys, size_t from,
                     size_t width, size_t n)
{
    const uint8_t *base = width ? keys : (const uint8_t *)"";

    for (size_t i = 0; i < n; i++)
        out[i] = (umbel_slice){base + (from + i) * width, width};
}

static void digest(const umbel_filter *f, const umbel_slice *keys, size_t n,
                   umbel_digest *out)
{
    f->shape.hash->digest(&f->hasher, keys, n, out);
}

/* All keys are looked at before the first is used: all or nothing. */
static umbel_status accept_many(const umbel_filter *f, const umbel_slice *keys,
                                size_t n, umbel_error *err)
{
    const um_hash *hash = f->shape.hash;
    return hash->accept ? hash->accept(keys, n, err) : UMBEL_OK;
}

static umbel_status accept_fixed(const umbel_filter *f, const void *keys,
                                 size_t width, size_t n, umbel_error *err)
{
    umbel_slice s[UM_BATCH];
    umbel_status status = UMBEL_OK;

    if (!f->shape.hash->accept)
        return UMBEL_OK;
    for (size_t i = 0, some; status == UMBEL_OK && i < n; i += some) {
        some = um_next_batch(n - i);
        slice_up(s, keys, i, width, some);
        status = accept_many(f, s, some, err);
    }
    return status;
}

/* Fast paths write without regard for others: a shared filter has none. */
umbel_status umbel_share(umbel_filter *f, umbel_error *err)
{
    const um_kind *kind = f->shape.kind;

    if (!kind->shared)
        return um_cannot(f, "be shared: its adds cannot run together", err);
    if (kind->shared->may_share)
        UM_TRY(kind->shared->may_share(&f->shape, err));
    um_filter_use(f, NULL);
    f->shared = true;
    return UMBEL_OK;
}

/* The row's function, or a faster one. */
static size_t add_now(umbel_filter *f, const umbel_digest *d, size_t n,
                      bool *fresh)
{
    const um_kind *kind = f->shape.kind;

    if (f->shared)
        return kind->shared->add(f->self, d, n, fresh);
    return (f->fast ? f->fast->add : kind->add)(f->self, d, n, fresh);
}

static void query_now(const umbel_filter *f, const umbel_digest *d, size_t n,
                      bool *hit)
{
    const um_kind *kind = f->shape.kind;

    if (f->shared)
        kind->shared->query(f->self, d, n, hit);
    else
        (f->fast ? f->fast->query : kind->query)(f->self, d, n, hit);
}

/* Keys of 8 bytes, which a fast path may hash itself. */
static bool are_keys8(const umbel_filter *f, const void *keys, size_t width)
{
    return f->fast && width == 8 &&
           f->shape.hash == um_hash_row(UM_HASH_XXH3) &&
           (uintptr_t)keys % _Alignof(uint64_t) == 0;
}

/* A file may claim any number of keys: the sum stays at its end. */
static uint64_t more_added(uint64_t was, size_t fresh)
{
    return was > UINT64_MAX - fresh ? UINT64_MAX : was + fresh;
}

void um_count_added(umbel_filter *f, size_t fresh)
{
    uint64_t *added = &f->shape.added;

    if (!f->shared) {
        *added = more_added(*added, fresh);
        return;
    }
    uint64_t was = __atomic_load_n(added, __ATOMIC_RELAXED);
    while (fresh && !__atomic_compare_exchange_n(
                        added, &was, more_added(was, fresh), true,
                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

umbel_status umbel_add_digests(umbel_filter *f, const umbel_digest *digests,
                               size_t n, bool *fresh, umbel_error *err)
{
    umbel_status status = want_add(f, err);

    if (status == UMBEL_OK)
        um_count_added(f, add_now(f, digests, n, fresh));
    return status;
}

static void add_batch(umbel_filter *f, const umbel_slice *keys, size_t n,
                      bool *fresh)
{
    umbel_digest d[UM_BATCH];

    digest(f, keys, n, d);
    um_count_added(f, add_now(f, d, n, fresh));
}

umbel_status umbel_add_many(umbel_filter *f, const umbel_slice *keys, size_t n,
                            bool *fresh, umbel_error *err)
{
    umbel_status status = want_add(f, err);

    if (status == UMBEL_OK)
        status = accept_many(f, keys, n, err);
    for (size_t i = 0, some; status == UMBEL_OK && i < n; i += some) {
        some = um_next_batch(n - i);
        add_batch(f, keys + i, some, fresh ? fresh + i : NULL);
    }
    return status;
}

umbel_status umbel_add_fixed(umbel_filter *f, const void *keys, size_t width,
                             size_t n, bool *fresh, umbel_error *err)
{
    umbel_slice s[UM_BATCH];
    umbel_status status = want_add(f, err);

    if (status == UMBEL_OK && n && are_keys8(f, keys, width) &&
        f->fast->add_keys8) {
        um_count_added(
            f, f->fast->add_keys8(f->self, f->shape.seed, keys, n, fresh));
        return UMBEL_OK;
    }
    if (status == UMBEL_OK)
        status = accept_fixed(f, keys, width, n, err);
    for (size_t i = 0, some; status == UMBEL_OK && i < n; i += some) {
        some = um_next_batch(n - i);
        slice_up(s, keys, i, width, some);
        add_batch(f, s, some, fresh ? fresh + i : NULL);
    }
    return status;
}

umbel_status umbel_add(umbel_filter *f, const void *key, size_t len,
                       bool *fresh, umbel_error *err)
{
    umbel_slice slice = {key, len};
    return umbel_add_many(f, &slice, 1, fresh, err);
}

static umbel_status want_query(const umbel_filter *f, umbel_error *err)
{
    if (!f->shape.kind->query)
        return um_cannot(f, "tell members", err);
    return um_check_ready(f, err);
}

umbel_status umbel_query_digests(const umbel_filter *f,
                                 const umbel_digest *digests, size_t n,
                                 bool *hit, umbel_error *err)
{
    umbel_status status = want_query(f, err);

    if (status == UMBEL_OK)
        query_now(f, digests, n, hit);
    return status;
}

static void query_batch(const umbel_filter *f, const umbel_slice *keys,
                        size_t n, bool *hit)
{
    umbel_digest d[UM_BATCH];

    digest(f, keys, n, d);
    query_now(f, d, n, hit);
}

umbel_status umbel_query_many(const umbel_filter *f, const umbel_slice *keys,
                              size_t n, bool *hit, umbel_error *err)
{
    umbel_status status = want_query(f, err);

    if (status == UMBEL_OK)
        status = accept_many(f, keys, n, err);
    for (size_t i = 0, some; status == UMBEL_OK && i < n; i += some) {
        some = um_next_batch(n - i);
        query_batch(f, keys + i, some, hit + i);
    }
    return status;
}

umbel_status umbel_query_fixed(const umbel_filter *f, const void *keys,
                               size_t width, size_t n, bool *hit,
                               umbel_error *err)
{
    umbel_slice s[UM_BATCH];
    umbel_status status = want_query(f, err);

    if (status == UMBEL_OK && n && are_keys8(f, keys, width) &&
        f->fast->query_keys8) {
        f->fast->query_keys8(f->self, f->shape.seed, keys, n, hit);
        return UMBEL_OK;
    }
    if (status == UMBEL_OK)
        status = accept_fixed(f, keys, width, n, err);
    for (size_t i = 0, some; status == UMBEL_OK && i < n; i += some) {
        some = um_next_batch(n - i);
        slice_up(s, keys, i, width, some);
        query_batch(f, s, some, hit + i);
    }
    return status;
}

umbel_status umbel_query(const umbel_filter *f, const void *key, size_t len,
                         bool *hit, umbel_error *err)
{
    return f->query_key(f, key, len, hit, err);
}

umbel_status umbel_digest_many(const umbel_filter *f, const umbel_slice *keys,
                               size_t n, umbel_digest *out, umbel_error *err)
{
    umbel_status status = um_check_ready(f, err);

    if (status == UMBEL_OK)
        status = accept_many(f, keys, n, err);
    if (status == UMBEL_OK)
        digest(f, keys, n, out);
    return status;
}

umbel_status umbel_digest_fixed(const umbel_filter *f, const void *keys,
                                size_t width, size_t n, umbel_digest *out,
                                umbel_error *err)
{
    umbel_slice s[UM_BATCH];
    umbel_status status = um_check_ready(f, err);

    if (status == UMBEL_OK)
        status = accept_fixed(f, keys, width, n, err);
    for (size_t i = 0, some; status == UMBEL_OK && i < n; i += some) {
        some = um_next_batch(n - i);
        slice_up(s, keys, i, width, some);
        digest(f, s, some, out + i);
    }
    return status;
}
