/*
 * filter.c - creates and frees filters, and implements the public functions
 * that take keys: check, hash, then call the kind's row.
 *
 * Creation and adding are one module because a filter that grows is created
 * anew while keys are added, and a new handle points to the functions for one
 * key.
 */
#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/build.h>
#include <umbel/counting.h>
#include <umbel/file.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- creating and freeing ------------------------------------------------- */

static umbel_status query_as_batch(const umbel_filter *f, const void *key,
                                   size_t len, bool *hit, umbel_error *err)
{
    umbel_slice slice = {key, len};
    return umbel_query_many(f, &slice, 1, hit, err);
}

static umbel_status add_as_batch(umbel_filter *f, const void *key, size_t len,
                                 bool *fresh, umbel_error *err)
{
    umbel_slice slice = {key, len};
    return umbel_add_many(f, &slice, 1, fresh, err);
}

static const um_one_key as_batch = {query_as_batch, add_as_batch};

static bool takes_one(const umbel_filter *f, const um_one_key *one)
{
    return f->hasher.row->fused && one->query && one->add && !f->prefixed;
}

void um_filter_use(umbel_filter *f, const um_fast *row)
{
    size_t words = f->layout.hashes > 8;
    const um_one_key *one = !row      ? NULL
                            : f->gate ? &row->shared[words]
                                      : &row->one[words];

    f->fast = row;
    f->one = one && takes_one(f, one) ? one : &as_batch;
}

/* Payloads of up to 4 KiB are stored in the block of their handle. */
enum { MAX_INSIDE = 4096 };

/* Returns true if the payload can be in the handle's block. Not for kinds that
 * grow: they replace their payload. */
static bool fits_inside(const um_shape *shape, size_t len)
{
    return len > 0 && len <= MAX_INSIDE && !shape->kind->growing;
}

static size_t in_lines(size_t len)
{
    return (len + UM_LINE - 1) / UM_LINE * UM_LINE;
}

/* Returns the length of a handle's block, before it is padded. */
static size_t block_len(size_t handle, size_t inside)
{
    return inside ? in_lines(handle) + inside : handle;
}

/* Returns the payload inside the block. */
static uint8_t *find_inside(umbel_filter *f)
{
    uintptr_t at = (uintptr_t)f + in_lines(um_handle_len_of(f));

    return (uint8_t *)f + ((f->padded ? in_lines(at) : at) - (uintptr_t)f);
}

/* Creates a handle without a payload. inside: bytes for one after it. */
static umbel_status create_handle(const um_shape *shape,
                                  const umbel_alloc *alloc, um_owner owner,
                                  size_t inside, umbel_filter **out,
                                  umbel_error *err)
{
    size_t len = block_len(um_handle_len(shape, owner), inside);
    bool padded = false;
    umbel_filter *f =
        inside ? um_get_lined(alloc, len, &padded) : um_get_object(alloc, len);

    if (!f)
        return um_no_memory(err, len);
    f->owner = owner;
    f->inside = inside / UM_LINE & 127;
    f->padded = padded;
    f->alloc = *alloc;
    um_set_shape(f, shape);
    um_payload_len(shape, &f->payload_len);
    *out = f;
    return UMBEL_OK;
}

static void free_handle(umbel_filter *f)
{
    umbel_alloc alloc = f->alloc;
    size_t len = block_len(um_handle_len_of(f), (size_t)f->inside * UM_LINE);

    if (f->padded)
        um_free_lined(&alloc, f, len);
    else
        um_free_object(&alloc, f, len);
}

static void begin_use(umbel_filter *f, const um_shape *shape, uint8_t *payload)
{
    f->payload = payload;
    um_filter_use(f, um_fast_pick(shape, &f->layout));
    um_filter_attach(f);
}

static um_owner owner_of(const um_memory *m)
{
    return m->mapped ? UM_MAPPED : m->base ? UM_OWNED : UM_LENT;
}

umbel_status um_filter_around(const um_shape *shape, const umbel_alloc *alloc,
                              uint8_t *payload, um_memory memory,
                              umbel_filter **out, umbel_error *err)
{
    um_owner owner = owner_of(&memory);
    bool inside = owner == UM_OWNED && fits_inside(shape, memory.len);
    umbel_filter *f;
    umbel_status status =
        create_handle(shape, alloc, inside ? UM_INSIDE : owner,
                      inside ? memory.len : 0, &f, err);

    if (status == UMBEL_OK && inside)
        payload = memcpy(find_inside(f), payload, memory.len);
    if (status != UMBEL_OK || inside)
        um_memory_free(&memory, alloc);
    UM_TRY(status);
    if (owner == UM_MAPPED)
        *um_mapping_of(f) = memory;
    begin_use(f, shape, payload);
    *out = f;
    return UMBEL_OK;
}

umbel_status um_filter_own(const um_shape *shape, const umbel_alloc *alloc,
                           uint8_t *payload, umbel_filter **out,
                           umbel_error *err)
{
    um_memory memory = {.base = payload};

    um_payload_len(shape, &memory.len);
    return um_filter_around(shape, alloc, payload, memory, out, err);
}

umbel_status um_filter_spooled(const um_shape *shape, const umbel_alloc *alloc,
                               um_spool *spool, umbel_filter **out,
                               umbel_error *err)
{
    umbel_filter *f;

    UM_TRY(create_handle(shape, alloc, UM_SPOOLED, 0, &f, err));
    begin_use(f, shape, um_spool_detach(spool));
    *out = f;
    return UMBEL_OK;
}

umbel_status um_filter_create(const um_shape *shape, const umbel_alloc *alloc,
                              umbel_filter **out, umbel_error *err)
{
    umbel_filter *f;
    size_t len;

    if (!um_payload_len(shape, &len))
        return um_fail(err, UMBEL_E_LIMIT, "%" PRIu64 " cells do not fit here",
                       shape->cells);
    if (fits_inside(shape, len)) {
        UM_TRY(create_handle(shape, alloc, UM_INSIDE, len, &f, err));
        begin_use(f, shape, find_inside(f));
        *out = f;
        return UMBEL_OK;
    }
    uint8_t *payload = um_get(alloc, len);
    if (!payload)
        return um_no_memory(err, len);
    return um_filter_own(shape, alloc, payload, out, err);
}

/* Exchanges the cells of f, which grows, and g. */
void um_filter_swap_cells(umbel_filter *f, umbel_filter *g)
{
    uint8_t *payload = f->payload;
    size_t len = f->payload_len;

    f->payload = g->payload;
    f->payload_len = g->payload_len;
    f->layout = g->layout;
    memcpy(um_settings_of(f), um_settings_of(g),
           um_count_settings(f->kind) * sizeof(uint64_t));
    g->payload = payload;
    g->payload_len = len;
    um_filter_attach(f);
}

/* Copies the user data to a filter that has space for it. */
static void copy_data(umbel_filter *to, const umbel_filter *from)
{
    size_t len = um_data_space(from);

    memcpy(to->payload + to->payload_len - len,
           from->payload + from->payload_len - len, len);
}

umbel_status um_filter_grow(umbel_filter *f, umbel_error *err)
{
    const um_row_growing *row = f->kind->growing;
    um_shape shape = *um_shape_of(f);
    umbel_filter *larger;

    UM_TRY(row->larger(f->self, &shape, err));
    UM_TRY(um_filter_create(&shape, &f->alloc, &larger, err));
    while (!row->move(larger->self, f->self)) {
        umbel_status status = row->larger(larger->self, &shape, err);
        umbel_close(larger);
        UM_TRY(status);
        UM_TRY(um_filter_create(&shape, &f->alloc, &larger, err));
    }
    copy_data(larger, f);
    um_filter_swap_cells(f, larger);
    umbel_close(larger);
    return UMBEL_OK;
}

/* Moves a payload that is a block of its own. */
static void move_payload(umbel_filter *f, void *(*move)(void *, void *),
                         void *ctx)
{
    void *old = um_block_of(f->payload), *block = move(ctx, old);

    if (block)
        f->payload = um_realign(f->payload, old, block, f->payload_len);
}

/* Restores the alignment of a payload inside its block. Without padding it
 * stays where it is, and a look-up may touch two lines: kinds need only 16
 * bytes. */
static void realign_inside(umbel_filter *f, size_t offset)
{
    f->payload = memmove(find_inside(f), (uint8_t *)f + offset, f->payload_len);
}

umbel_filter *um_filter_move(umbel_filter *f,
                             void *(*move)(void *ctx, void *block), void *ctx)
{
    size_t offset = (uintptr_t)f->payload - (uintptr_t)f;
    umbel_filter *handle;

    if (f->owner == UM_OWNED)
        move_payload(f, move, ctx);
    handle = move(ctx, f);
    if (handle)
        f = handle;
    um_find_parts(f);
    if (handle && f->owner == UM_INSIDE)
        realign_inside(f, offset);
    um_filter_attach(f);
    return f;
}

/* Sets the target error of a filter created by size to the error at that
 * size. */
static void aim_at_size(um_shape *s)
{
    double error = s->capacity ? um_shape_error(s, (double)s->capacity) : 0;

    if (error > 0 && error < 1)
        s->fpr = error;
}

umbel_status um_shape_to_create(const char *kind, const umbel_params *params,
                                umbel_params *taken, um_shape *out,
                                umbel_error *err)
{
    umbel_params p;
    um_shape shape;

    UM_TRY(um_params_normalize(params, &p, err));
    UM_TRY(um_shape_from_params(kind, &p, &shape, err));
    if (shape.kind->built)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind %s is made of all its keys at once: build it "
                       "(umbel_build)",
                       shape.kind->name);
    UM_TRY(um_solve_size(&shape, err));
    if (p.cells && p.fpr == 0)
        aim_at_size(&shape);
    *taken = p;
    *out = shape;
    return UMBEL_OK;
}

static void begin_empty(umbel_filter *f, const umbel_params *p)
{
    if (p->secret)
        um_hasher_unlock(&f->hasher, p->secret);
    if (f->kind->start)
        f->kind->start(f->self);
}

umbel_status umbel_create(const char *kind, const umbel_params *params,
                          umbel_filter **out, umbel_error *err)
{
    umbel_params p;
    um_shape shape;
    umbel_filter *f;

    UM_TRY(um_shape_to_create(kind, params, &p, &shape, err));
    umbel_alloc alloc = um_alloc_or_default(p.alloc);
    UM_TRY(um_filter_create(&shape, &alloc, &f, err));
    begin_empty(f, &p);
    *out = f;
    return UMBEL_OK;
}

umbel_status um_create_spooled(const um_shape *shape, const umbel_params *p,
                               const char *dir, umbel_filter **out,
                               umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(p->alloc);
    um_spool spool = {.dir = NULL};
    umbel_filter *f = NULL;
    umbel_status status;
    size_t len;

    if (!um_payload_len(shape, &len))
        return um_fail(err, UMBEL_E_LIMIT, "%" PRIu64 " cells do not fit here",
                       shape->cells);
    UM_TRY(um_spool_open(&spool, dir, err));
    status = um_spool_resize(&spool, len, err);
    if (!status)
        status = um_filter_spooled(shape, &alloc, &spool, &f, err);
    um_spool_close(&spool);
    UM_TRY(status);
    begin_empty(f, p);
    *out = f;
    return UMBEL_OK;
}

void umbel_close(umbel_filter *f)
{
    if (!f)
        return;
    if (f->gate)
        um_gate_fini(f->gate);
    um_put(&f->alloc, f->gate, sizeof *f->gate);
    um_hasher_fini(&f->hasher);
    um_payload_free(f);
    free_handle(f);
}

static void fill_copy(umbel_filter *copy, const umbel_filter *f)
{
    copy->added = umbel_added(f);
    memcpy(copy->payload, f->payload, f->payload_len);
    um_clear_padding(copy);
    um_hasher_copy_secret(&copy->hasher, &f->hasher);
}

umbel_status umbel_copy(const umbel_filter *f, umbel_filter **out,
                        umbel_error *err)
{
    umbel_filter *copy;

    UM_TRY(um_filter_create(um_shape_of(f), &f->alloc, &copy, err));
    fill_copy(copy, f);
    *out = copy;
    return UMBEL_OK;
}

/* Allocates memory while threads still add: they wait only for the copy of the
 * cells. */
umbel_status umbel_snapshot(const umbel_filter *f, umbel_filter **out,
                            umbel_error *err)
{
    umbel_filter *copy;

    if (!f->gate)
        return umbel_copy(f, out, err);
    UM_TRY(um_gate_close(f->gate, err));
    um_shape shape = *um_shape_of(f);
    um_gate_open(f->gate);
    UM_TRY(um_filter_create(&shape, &f->alloc, &copy, err));
    umbel_status status = um_gate_close(f->gate, err);
    if (status) {
        umbel_close(copy);
        return status;
    }
    fill_copy(copy, f);
    um_gate_open(f->gate);
    *out = copy;
    return UMBEL_OK;
}

/* Resets the settings that the kind changed while it grew; keeps its cells. */
static umbel_status forget_growth(umbel_filter *f, umbel_error *err)
{
    um_shape shape = *um_shape_of(f);
    umbel_filter *empty;

    for (size_t i = 0; i < um_count_settings(shape.kind); i++)
        shape.setting[i] = shape.kind->settings[i].standard;
    UM_TRY(um_filter_create(&shape, &f->alloc, &empty, err));
    copy_data(empty, f);
    um_filter_swap_cells(f, empty);
    umbel_close(empty);
    return UMBEL_OK;
}

umbel_status umbel_clear(umbel_filter *f, umbel_error *err)
{
    if (f->kind->built)
        return um_cannot(f, "forget its keys", err);
    UM_TRY(um_check_writable(f, err));
    if (f->kind->growing)
        UM_TRY(forget_growth(f, err));
    memset(f->payload, 0, f->payload_len - um_data_space(f));
    um_set_added(f, 0);
    f->estimated = false;
    f->intersected = false;
    f->joined = false;
    f->difference = false;
    um_set_delta(f, (um_delta){0, 0});
    f->false_negatives = 0;
    um_filter_attach(f);
    if (f->kind->start)
        f->kind->start(f->self);
    return UMBEL_OK;
}

umbel_status umbel_unlock(umbel_filter *f, const uint8_t *secret,
                          umbel_error *err)
{
    if (!f->hasher.row->keyed)
        return um_fail(err, UMBEL_E_SECRET,
                       "hash %s takes no secret key: leave it out",
                       f->hasher.row->name);
    uint64_t id = um_secret_id(secret);
    if (id != um_secret_of(f))
        return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_WRONG,
                              "wrong secret key: the filter was made with key "
                              "%016" PRIx64 ", this is key %016" PRIx64,
                              um_secret_of(f), id);
    um_hasher_unlock(&f->hasher, secret);
    return UMBEL_OK;
}

static umbel_status create_gate(umbel_filter *f, umbel_error *err)
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

umbel_status umbel_share(umbel_filter *f, umbel_error *err)
{
    const um_kind *kind = f->kind;

    if (!kind->shared)
        return um_cannot(f, "be shared: its adds cannot run together", err);
    if (kind->shared->may_share)
        UM_TRY(kind->shared->may_share(um_shape_of(f), err));
    if (!f->gate)
        UM_TRY(create_gate(f, err));
    um_filter_use(f, um_row_shares(f->fast) ? f->fast : NULL);
    return UMBEL_OK;
}

/* --- user data ------------------------------------------------------------ */

/* Moves the cells to new memory, and appends the data. */
static void move_cells(umbel_filter *f, uint8_t *payload, size_t len,
                       size_t cells, umbel_slice data)
{
    memcpy(payload, f->payload, cells);
    if (data.len)
        memcpy(payload + cells, data.data, data.len);
    um_payload_free(f);
    f->owner = UM_OWNED;
    f->payload = payload;
    f->payload_len = len;
    f->attached = data.len;
    um_filter_attach(f);
}

umbel_status umbel_set_data(umbel_filter *f, const void *data, size_t len,
                            umbel_error *err)
{
    um_shape s = *um_shape_of(f);
    size_t cells = f->payload_len - um_data_space(f), room;

    UM_TRY(um_check_writable(f, err));
    if (f->gate)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a shared filter is in use by others: give it its data "
                       "before");
    s.attached = len;
    uint8_t *payload =
        um_payload_len(&s, &room) ? um_get(&f->alloc, room) : NULL;
    if (!payload)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes of data",
                       len);
    move_cells(f, payload, room, cells, (umbel_slice){data, len});
    return UMBEL_OK;
}

umbel_status um_copy_data(umbel_filter *to, const umbel_filter *from,
                          umbel_error *err)
{
    umbel_slice data = umbel_data(from);

    return data.len ? umbel_set_data(to, data.data, data.len, err) : UMBEL_OK;
}

/* --- keys from the caller, digested a batch at a time --------------------- */

/* n keys: slices, or width bytes each, starting at fixed. */
typedef struct input_keys {
    size_t n;
    const umbel_slice *slices; /* NULL: fixed */
    const void *fixed;
    size_t width;
} input_keys;

static void slice_up(const input_keys *keys, size_t from, size_t n,
                     umbel_slice s[UM_BATCH])
{
    const uint8_t *base = keys->width ? keys->fixed : (const uint8_t *)"";

    for (size_t i = 0; i < n; i++)
        s[i] = (umbel_slice){base + (from + i) * keys->width, keys->width};
}

static umbel_status accept_fixed(const umbel_filter *f, const input_keys *keys,
                                 umbel_error *err)
{
    umbel_slice s[UM_BATCH];

    for (size_t i = 0, some; i < keys->n; i += some) {
        some = um_next_batch(keys->n - i);
        slice_up(keys, i, some, s);
        UM_TRY(f->hasher.row->accept(s, some, err));
    }
    return UMBEL_OK;
}

static void digest_fixed(const umbel_filter *f, const input_keys *keys,
                         size_t from, size_t n, umbel_digest d[UM_BATCH])
{
    umbel_slice s[UM_BATCH];

    slice_up(keys, from, n, s);
    f->hasher.row->digest(&f->hasher, s, n, d);
}

/* Checks all keys before the first is used: all are accepted, or none. */
static inline umbel_status accept_keys(const umbel_filter *f,
                                       const input_keys *keys, umbel_error *err)
{
    const um_hash *hash = f->hasher.row;

    if (!hash->accept)
        return UMBEL_OK;
    return keys->slices ? hash->accept(keys->slices, keys->n, err)
                        : accept_fixed(f, keys, err);
}

/* Digests the batch that begins with key from; returns its length. */
static inline size_t digest_batch(const umbel_filter *f, const input_keys *keys,
                                  size_t from, umbel_digest d[UM_BATCH])
{
    size_t n = um_next_batch(keys->n - from);

    if (keys->slices)
        f->hasher.row->digest(&f->hasher, keys->slices + from, n, d);
    else
        digest_fixed(f, keys, from, n, d);
    return n;
}

/* --- add and query -------------------------------------------------------- */

static void query_now(const umbel_filter *f, const umbel_digest *d, size_t n,
                      bool *hit)
{
    const um_kind *kind = f->kind;

    if (f->fast)
        f->fast->query(f->self, d, n, hit);
    else
        (f->gate ? kind->shared->query : kind->query)(f->self, d, n, hit);
}

/* Returns true for keys of 8 bytes that a fast path hashes itself. */
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

/* Adds keys, and grows the filter when there is no space for the next one. */
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

/* Adds keys inside the gate: a shared filter is copied while no thread is
 * inside. */
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
    um_prefixes_forget(f);
    for (size_t i = 0, some; i < n; i += some) {
        some = f->gate ? um_next_shared(n - i) : n; /* do not stay in the gate
                                                       for long */
        UM_TRY(um_add_now(f, digests + i, NULL, some, fresh ? fresh + i : NULL,
                          err));
    }
    return UMBEL_OK;
}

/* Adds several batches at once, for fewer lock operations. */
static umbel_status add_keys_shared(umbel_filter *f, const input_keys *keys,
                                    bool *fresh, umbel_error *err)
{
    umbel_digest d[UM_SHARED_BATCH];

    for (size_t i = 0, some; i < keys->n; i += some) {
        size_t n = um_next_shared(keys->n - i);
        for (some = 0; some < n;)
            some += digest_batch(f, keys, i + some, d + some);
        UM_TRY(um_add_now(f, d, NULL, some, fresh ? fresh + i : NULL, err));
    }
    return UMBEL_OK;
}

/* Records the prefix lengths of new keys. Refuses all if one of them is not a
 * network as stored. */
static umbel_status record_prefixes(umbel_filter *f, const input_keys *keys,
                                    umbel_error *err)
{
    um_prefix_lengths *known = um_prefixes_of(f), all = {{0}};

    if (!known)
        return UMBEL_OK;
    for (size_t i = 0; i < keys->n; i++) {
        umbel_slice key = {NULL, keys->width};
        if (keys->slices)
            key = keys->slices[i];
        else if (keys->width)
            key.data = (const uint8_t *)keys->fixed + i * keys->width;
        UM_TRY(um_prefixes_add(&all, &key, err));
    }
    um_prefixes_share(known, &all);
    return UMBEL_OK;
}

static umbel_status add_keys(umbel_filter *f, const input_keys *keys,
                             bool *fresh, umbel_error *err)
{
    umbel_digest d[UM_BATCH];

    UM_TRY(accept_keys(f, keys, err));
    UM_TRY(record_prefixes(f, keys, err));
    if (f->gate && f->fast)
        return add_keys_shared(f, keys, fresh, err);
    for (size_t i = 0, some; i < keys->n; i += some) {
        some = digest_batch(f, keys, i, d);
        UM_TRY(um_add_now(f, d, NULL, some, fresh ? fresh + i : NULL, err));
    }
    return UMBEL_OK;
}

umbel_status umbel_add_many(umbel_filter *f, const umbel_slice *keys, size_t n,
                            bool *fresh, umbel_error *err)
{
    input_keys input = {.n = n, .slices = keys};

    UM_TRY(check_add(f, err));
    return add_keys(f, &input, fresh, err);
}

umbel_status umbel_add_fixed(umbel_filter *f, const void *keys, size_t width,
                             size_t n, bool *fresh, umbel_error *err)
{
    input_keys input = {.n = n, .fixed = keys, .width = width};

    UM_TRY(check_add(f, err));
    if (!n || f->gate || f->prefixed || !are_keys8(f, keys, width) ||
        !f->fast->add_keys8)
        return add_keys(f, &input, fresh, err);
    um_count_added(f, n,
                   f->fast->add_keys8(f->self, f->hasher.seed, keys, n, fresh));
    return UMBEL_OK;
}

umbel_status umbel_add(umbel_filter *f, const void *key, size_t len,
                       bool *fresh, umbel_error *err)
{
    return f->one->add(f, key, len, fresh, err);
}

umbel_status umbel_rotate(umbel_filter *f, umbel_error *err)
{
    if (!f->kind->rotate)
        return um_cannot(f, "take turns: it has no generations", err);
    UM_TRY(um_check_writable(f, err));
    f->kind->rotate(f->self);
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

static umbel_status query_keys(const umbel_filter *f, const input_keys *keys,
                               bool *hit, umbel_error *err)
{
    umbel_digest d[UM_BATCH];

    UM_TRY(accept_keys(f, keys, err));
    for (size_t i = 0, some; i < keys->n; i += some) {
        some = digest_batch(f, keys, i, d);
        query_now(f, d, some, hit + i);
    }
    return UMBEL_OK;
}

umbel_status umbel_query_many(const umbel_filter *f, const umbel_slice *keys,
                              size_t n, bool *hit, umbel_error *err)
{
    input_keys input = {.n = n, .slices = keys};

    UM_TRY(check_query(f, err));
    return query_keys(f, &input, hit, err);
}

umbel_status umbel_query_fixed(const umbel_filter *f, const void *keys,
                               size_t width, size_t n, bool *hit,
                               umbel_error *err)
{
    input_keys input = {.n = n, .fixed = keys, .width = width};

    UM_TRY(check_query(f, err));
    if (!n || !are_keys8(f, keys, width) || !f->fast->query_keys8)
        return query_keys(f, &input, hit, err);
    f->fast->query_keys8(f->self, f->hasher.seed, keys, n, hit);
    return UMBEL_OK;
}

umbel_status umbel_query(const umbel_filter *f, const void *key, size_t len,
                         bool *hit, umbel_error *err)
{
    return f->one->query(f, key, len, hit, err);
}

static umbel_status digest_keys(const umbel_filter *f, const input_keys *keys,
                                umbel_digest *out, umbel_error *err)
{
    UM_TRY(um_check_ready(f, err));
    UM_TRY(accept_keys(f, keys, err));
    for (size_t i = 0; i < keys->n;)
        i += digest_batch(f, keys, i, out + i);
    return UMBEL_OK;
}

umbel_status umbel_digest_many(const umbel_filter *f, const umbel_slice *keys,
                               size_t n, umbel_digest *out, umbel_error *err)
{
    input_keys input = {.n = n, .slices = keys};
    return digest_keys(f, &input, out, err);
}

umbel_status umbel_digest_fixed(const umbel_filter *f, const void *keys,
                                size_t width, size_t n, umbel_digest *out,
                                umbel_error *err)
{
    input_keys input = {.n = n, .fixed = keys, .width = width};
    return digest_keys(f, &input, out, err);
}

umbel_status umbel_values_many(const umbel_filter *f, const umbel_slice *keys,
                               size_t n, uint64_t *values, umbel_error *err)
{
    input_keys input = {.n = n, .slices = keys};
    umbel_digest d[UM_BATCH];

    if (!umbel_value_bits(f))
        return um_fail(err, UMBEL_E_UNSUPPORTED, "this filter has no values");
    UM_TRY(um_check_ready(f, err));
    UM_TRY(accept_keys(f, &input, err));
    for (size_t i = 0, some; i < n; i += some) {
        some = digest_batch(f, &input, i, d);
        f->kind->built->value(f->self, d, some, values + i);
    }
    return UMBEL_OK;
}

/* --- counts --------------------------------------------------------------- */

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
    um_prefixes_forget(f);
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
    input_keys input = {.n = n, .slices = keys};
    umbel_digest d[UM_BATCH];

    UM_TRY(check_add_amounts(f, err));
    UM_TRY(accept_keys(f, &input, err));
    UM_TRY(record_prefixes(f, &input, err));
    for (size_t i = 0, some; i < n; i += some) {
        some = digest_batch(f, &input, i, d);
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
    input_keys input = {.n = n, .slices = keys};
    umbel_digest d[UM_BATCH];

    UM_TRY(check_count(f, err));
    UM_TRY(accept_keys(f, &input, err));
    for (size_t i = 0, some; i < n; i += some) {
        some = digest_batch(f, &input, i, d);
        count_now(f, d, some, counts + i);
    }
    return UMBEL_OK;
}

uint64_t umbel_count_limit(const umbel_filter *f)
{
    const um_row_counting *row = f->kind->counting;
    return row ? row->most(f->self) : 0;
}

/* Undoes the removal of n keys by adding them. Saturated cells change neither
 * way. */
static void add_again(umbel_filter *f, input_keys keys, size_t n)
{
    umbel_digest d[UM_BATCH];

    keys.n = n;
    for (size_t i = 0, some; i < n; i += some) {
        some = digest_batch(f, &keys, i, d);
        f->kind->add(f->self, d, NULL, some, NULL);
    }
}

static umbel_status remove_all(umbel_filter *f, const input_keys *keys,
                               umbel_error *err)
{
    umbel_digest d[UM_BATCH];
    size_t gone = 0;

    for (size_t i = 0, some; i < keys->n; i += some) {
        some = digest_batch(f, keys, i, d);
        size_t done = f->kind->counting->remove(f->self, d, some, &gone);
        if (done < some) {
            add_again(f, *keys, i + done);
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
    input_keys input = {.n = n, .slices = keys};

    if (row && row->may_remove)
        UM_TRY(row->may_remove(um_shape_of(f), err));
    if (!row || !row->remove)
        return um_cannot_remove(f->kind, err);
    UM_TRY(um_check_writable(f, err));
    UM_TRY(um_check_ready(f, err));
    UM_TRY(accept_keys(f, &input, err));
    return remove_all(f, &input, err);
}
