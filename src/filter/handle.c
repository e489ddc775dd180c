/*
 * handle.c - creates and frees filters, and what a handle refuses.
 */
#include "filter/handle.h"
#include "base/alloc.h"
#include "base/error.h"
#include "filter/sizing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

size_t um_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    size_t n = s->kind->sections(s, out);

    if (s->attached)
        out[n++] = (um_section){.cells = s->attached, .cell_bits = 8};
    return n;
}

bool um_payload_len(const um_shape *s, size_t *len)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(s, section);
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += um_section_room(&section[i]);
    *len = (size_t)sum;
    return sum <= SIZE_MAX / 4;
}

/* Fetching ahead costs, too, and does not pay in a cache. */
static bool is_far(size_t bytes)
{
    long cache = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > (size_t)(cache > 0 ? cache : 256 << 10);
}

void um_filter_attach(umbel_filter *f)
{
    um_section section[UM_MAX_SECTIONS];
    void *memory[UM_MAX_SECTIONS] = {NULL};
    const um_shape *s = um_shape_of(f);
    size_t n = um_sections(s, section);
    uint8_t *at = f->payload;

    for (size_t i = 0; i < n; i++) {
        memory[i] = at;
        at += um_section_room(&section[i]);
    }
    f->layout.far = is_far(f->payload_len);
    memset(f->self, 0, f->kind->self_len);
    f->kind->attach(f->self, s, &f->layout, memory);
    if (f->kind->use_added)
        f->kind->use_added(f->self, &f->added);
    if (f->gate && f->kind->shared->use_locks)
        f->kind->shared->use_locks(f->self, f->gate->lock);
}

void um_clear_padding(umbel_filter *f)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(um_shape_of(f), section);
    uint8_t *at = f->payload;

    for (size_t i = 0; i < n; i++) {
        uint64_t over = um_section_bits(&section[i]) % 8;
        uint64_t used = um_section_bytes(&section[i]);
        uint64_t room = um_section_room(&section[i]);
        if (over)
            at[used - 1] &= (uint8_t)((1u << over) - 1);
        memset(at + used, 0, (size_t)(room - used));
        at += room;
    }
}

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
    return f->hasher.row->fused && one->query && one->add;
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

void um_memory_free(um_memory *m, const umbel_alloc *alloc)
{
    if (m->mapped)
        munmap(m->base, m->len);
    else
        um_put(alloc, m->base, m->len);
    *m = (um_memory){NULL, 0, false};
}

/* Payloads of up to 4 KiB lie in the block of their handle. */
enum { INSIDE_MOST = 4096 };

/* One that grows leaves its payload behind. */
static bool fits_inside(const um_shape *shape, size_t len)
{
    return len > 0 && len <= INSIDE_MOST && !shape->kind->growing;
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

/* Where the payload inside the block lies. */
static uint8_t *find_inside(umbel_filter *f)
{
    uintptr_t at = (uintptr_t)f + in_lines(um_handle_len_of(f));

    return (uint8_t *)f + ((f->padded ? in_lines(at) : at) - (uintptr_t)f);
}

/* Makes a handle that has no payload yet. inside: bytes for one behind it. */
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

static void write_handle(umbel_filter *f)
{
    umbel_alloc alloc = f->alloc;
    size_t len = block_len(um_handle_len_of(f), (size_t)f->inside * UM_LINE);

    if (f->padded)
        um_write_lined(&alloc, f, len);
    else
        um_write_object(&alloc, f, len);
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
    begin_use(f, shape, um_spool_consume(spool));
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

void um_payload_free(umbel_filter *f)
{
    um_memory memory = {f->payload, f->payload_len, false};

    if (f->owner == UM_MAPPED)
        memory = *um_mapping_of(f);
    if (f->owner == UM_MAPPED || f->owner == UM_OWNED)
        um_memory_free(&memory, &f->alloc);
    if (f->owner == UM_SPOOLED)
        um_spool_release(f->payload, f->payload_len);
}

/* Gives f, which grows, the cells of another filter, which gets those of f. */
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

/* Copies the user's data to a filter that was made for it. */
static void retain_data(umbel_filter *to, const umbel_filter *from)
{
    size_t len = um_data_room(from);

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
    retain_data(larger, f);
    um_filter_swap_cells(f, larger);
    umbel_close(larger);
    return UMBEL_OK;
}

/* Moves a payload of its own. */
static void move_payload(umbel_filter *f, void *(*move)(void *, void *),
                         void *ctx)
{
    void *old = um_block_of(f->payload), *block = move(ctx, old);

    if (block)
        f->payload = um_realign(f->payload, old, block, f->payload_len);
}

/* Puts a payload inside its block in line again. Without room for that it stays
 * where it is, and a look-up may meet two lines: kinds need 16 bytes. */
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

/* A size without an error rate gets the error rate of that size. */
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

    UM_TRY(um_params_consume(params, &p, err));
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
    write_handle(f);
}

static void fill_copy(umbel_filter *copy, const umbel_filter *f)
{
    copy->added = umbel_added(f);
    memcpy(copy->payload, f->payload, f->payload_len);
    um_clear_padding(copy);
    um_hasher_pass(&copy->hasher, &f->hasher);
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

/* Memory is taken while threads add: they wait for the cells alone. */
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

/* What the kind set while it grew is as at the beginning; its cells stay. */
static umbel_status forget_growth(umbel_filter *f, umbel_error *err)
{
    um_shape shape = *um_shape_of(f);
    umbel_filter *empty;

    for (size_t i = 0; i < um_count_settings(shape.kind); i++)
        shape.setting[i] = shape.kind->settings[i].standard;
    UM_TRY(um_filter_create(&shape, &f->alloc, &empty, err));
    retain_data(empty, f);
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
    memset(f->payload, 0, f->payload_len - um_data_room(f));
    um_set_added(f, 0);
    f->estimated = false;
    f->intersected = false;
    f->joined = false;
    f->difference = false;
    um_set_delta(f, (um_delta){0, 0});
    f->denied = 0;
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

umbel_status um_check_writable(const umbel_filter *f, umbel_error *err)
{
    if (f->owner == UM_MAPPED)
        return um_fail(err, UMBEL_E_READONLY,
                       "a mapped filter is read-only: load or copy it");
    return UMBEL_OK;
}

umbel_status um_check_ready(const umbel_filter *f, umbel_error *err)
{
    if (!um_hasher_ready(&f->hasher))
        return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_MISSING,
                              "this filter hashes with secret key %016" PRIx64
                              ": give that key first",
                              um_secret_of(f));
    return UMBEL_OK;
}

static umbel_status refuse(const um_kind *kind, const char *verb,
                           const char *why, umbel_error *err)
{
    return um_fail(err, UMBEL_E_UNSUPPORTED, "kind %s cannot %s%s%s",
                   kind->name, verb, why ? ": " : "", why ? why : "");
}

umbel_status um_cannot(const umbel_filter *f, const char *verb,
                       umbel_error *err)
{
    return refuse(f->kind, verb, f->kind->unsupported_reason.any, err);
}

/* Refuses, and names the kinds that can. */
static umbel_status refuse_for_others(const um_kind *kind, const char *verb,
                                      bool (*can)(const um_kind *k),
                                      umbel_error *err)
{
    char others[128] = "";
    size_t len = 0;
    const um_kind *k;

    for (size_t i = 0; (k = um_kind_row(i)) && len < sizeof others; i++)
        if (can(k))
            len += (size_t)snprintf(others + len, sizeof others - len, "%s%s",
                                    len ? ", " : "", k->name);
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "kind %s cannot %s; those that can are %s", kind->name, verb,
                   others);
}

static bool can_count(const um_kind *k)
{
    return k->counting;
}

umbel_status um_cannot_count(const um_kind *kind, umbel_error *err)
{
    return refuse_for_others(kind, "count", can_count, err);
}

static bool can_remove(const um_kind *k)
{
    return k->counting && k->counting->remove;
}

umbel_status um_cannot_remove(const um_kind *kind, umbel_error *err)
{
    return refuse_for_others(kind, "take keys back", can_remove, err);
}

umbel_status um_cannot_join(const umbel_filter *f, const char *verb,
                            umbel_error *err)
{
    const um_unsupported_reason *why = &f->kind->unsupported_reason;
    return refuse(f->kind, verb, why->join ? why->join : why->any, err);
}
