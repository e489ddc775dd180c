/*
 * filter.c - the public verbs: check, hash, then call the row.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "filter/given.h"

#include <inttypes.h>

static umbel_status make_gate(umbel_filter *f, umbel_error *err)
{
    um_gate *gate = um_get(&f->alloc, sizeof *gate);

    if (!gate || !um_gate_init(gate)) {
        um_put(&f->alloc, gate, sizeof *gate);
        return um_no_memory(err, sizeof *gate);
    }
    f->gate = gate;
    um_filter_attach(f);
    return UMBEL_OK;
}

/* Fast paths do not write atomically: a shared filter has none. */
umbel_status umbel_share(umbel_filter *f, umbel_error *err)
{
    const um_kind *kind = f->shape.kind;

    if (!kind->shared)
        return um_cannot(f, "be shared: its adds cannot run together", err);
    if (kind->shared->may_share)
        UM_TRY(kind->shared->may_share(&f->shape, err));
    if (!f->gate)
        UM_TRY(make_gate(f, err));
    um_filter_use(f, NULL);
    return UMBEL_OK;
}

static void query_now(const umbel_filter *f, const umbel_digest *d, size_t n,
                      bool *hit)
{
    const um_kind *kind = f->shape.kind;

    if (f->gate)
        kind->shared->query(f->self, d, n, hit);
    else
        (f->fast ? f->fast->query : kind->query)(f->self, d, n, hit);
}

/* Returns true for keys of 8 bytes, which a fast path may hash itself. */
static bool are_keys8(const umbel_filter *f, const void *keys, size_t width)
{
    return f->fast && width == 8 && f->shape.hash->fused &&
           (uintptr_t)keys % _Alignof(uint64_t) == 0;
}

/* Sticks at the maximum: a file may claim any number of keys. */
static uint64_t more_added(uint64_t was, size_t fresh)
{
    return was > UINT64_MAX - fresh ? UINT64_MAX : was + fresh;
}

/*
 * Counts n keys of which fresh were new. A kind with bounds counts all of them:
 * a key that matched already is a member whose loss the bound must cover, and
 * how many match depends on bits that somebody else chose.
 */
static void count_added(umbel_filter *f, size_t n, size_t fresh)
{
    uint64_t *added = &f->shape.added;

    if (f->shape.kind->bounds)
        fresh = n;
    if (!f->gate) {
        *added = more_added(*added, fresh);
        return;
    }
    uint64_t was = __atomic_load_n(added, __ATOMIC_RELAXED);
    while (fresh && !__atomic_compare_exchange_n(
                        added, &was, more_added(was, fresh), true,
                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static umbel_status check_refused(umbel_filter *f, size_t n, umbel_error *err)
{
    const um_kind *kind = f->shape.kind;
    uint64_t refused = kind->refused ? kind->refused(f->self) : 0;

    if (refused == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FULL,
                   "the filter of kind %s is full: %" PRIu64 " of %zu keys "
                   "were not added to its %" PRIu64 "; make it with a larger "
                   "capacity",
                   kind->name, refused, n, f->shape.added);
}

/* Adds keys, and grows where the next one finds no room. */
static umbel_status add_growing(umbel_filter *f, const umbel_digest *d,
                                size_t n, bool *fresh, umbel_error *err)
{
    const um_kind *kind = f->shape.kind;

    for (size_t i = 0, some; i < n; i += some) {
        bool *each = fresh ? fresh + i : NULL;
        size_t new_keys = f->fast && f->fast->add
                              ? f->fast->add(f->self, d + i, n - i, each)
                              : kind->add(f->self, d + i, NULL, n - i, each);
        some = kind->growing->done(f->self);
        count_added(f, some, new_keys);
        if (i + some < n)
            UM_TRY(um_filter_grow(f, err));
    }
    return UMBEL_OK;
}

/* A shared filter is copied while no thread is inside its gate. */
umbel_status um_add_now(umbel_filter *f, const umbel_digest *d,
                        const uint64_t *amounts, size_t n, bool *fresh,
                        umbel_error *err)
{
    const um_kind *kind = f->shape.kind;
    um_gate_pass pass = {NULL, false};

    if (kind->growing)
        return add_growing(f, d, n, fresh, err);
    if (f->gate)
        pass = um_gate_enter(f->gate);
    if (f->fast && f->fast->add && !amounts)
        count_added(f, n, f->fast->add(f->self, d, n, fresh));
    else
        count_added(f, n,
                    (f->gate ? kind->shared->add
                             : kind->add)(f->self, d, amounts, n, fresh));
    if (f->gate)
        um_gate_leave(pass);
    return check_refused(f, n, err);
}

static umbel_status check_add(const umbel_filter *f, umbel_error *err)
{
    if (!f->shape.kind->add)
        return um_cannot(f, "take further keys", err);
    UM_TRY(um_check_writable(f, err));
    return um_check_ready(f, err);
}

umbel_status umbel_add_digests(umbel_filter *f, const umbel_digest *digests,
                               size_t n, bool *fresh, umbel_error *err)
{
    UM_TRY(check_add(f, err));
    for (size_t i = 0, some; i < n; i += some) {
        some = f->gate ? um_next_batch(n - i) : n; /* a gate is left soon */
        UM_TRY(um_add_now(f, digests + i, NULL, some, fresh ? fresh + i : NULL,
                          err));
    }
    return UMBEL_OK;
}

static umbel_status add_given(umbel_filter *f, const um_given *keys,
                              bool *fresh, umbel_error *err)
{
    umbel_digest d[UM_BATCH];

    UM_TRY(um_given_accept(f, keys, err));
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
    if (!n || !are_keys8(f, keys, width) || !f->fast->add_keys8)
        return add_given(f, &given, fresh, err);
    count_added(f, n,
                f->fast->add_keys8(f->self, f->hasher.seed, keys, n, fresh));
    return UMBEL_OK;
}

umbel_status umbel_add(umbel_filter *f, const void *key, size_t len,
                       bool *fresh, umbel_error *err)
{
    umbel_slice slice = {key, len};
    return umbel_add_many(f, &slice, 1, fresh, err);
}

umbel_status umbel_turn(umbel_filter *f, umbel_error *err)
{
    if (!f->shape.kind->turn)
        return um_cannot(f, "take turns: it has no generations", err);
    UM_TRY(um_check_writable(f, err));
    f->shape.kind->turn(f->self);
    return UMBEL_OK;
}

static umbel_status check_query(const umbel_filter *f, umbel_error *err)
{
    if (!f->shape.kind->query)
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
    return f->query_key(f, key, len, hit, err);
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
