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
    size_t n = um_sections(&f->shape, section);
    uint8_t *at = f->payload;

    for (size_t i = 0; i < n; i++) {
        memory[i] = at;
        at += um_section_room(&section[i]);
    }
    f->layout.far = is_far(f->payload_len);
    memset(f->self, 0, f->shape.kind->self_len);
    f->shape.kind->attach(f->self, &f->shape, &f->layout, memory);
    if (f->gate && f->shape.kind->shared->use_locks)
        f->shape.kind->shared->use_locks(f->self, f->gate->lock);
}

void um_clear_padding(umbel_filter *f)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(&f->shape, section);
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

/* The kind's part lies behind the handle. */
static size_t self_offset(void)
{
    const size_t align = 16;
    return (sizeof(umbel_filter) + align - 1) / align * align;
}

static size_t handle_len(const um_kind *kind)
{
    return self_offset() + kind->self_len;
}

static umbel_status query_as_batch(const umbel_filter *f, const void *key,
                                   size_t len, bool *hit, umbel_error *err)
{
    umbel_slice slice = {key, len};
    return umbel_query_many(f, &slice, 1, hit, err);
}

void um_filter_use(umbel_filter *f, const um_fast *row)
{
    bool fused = row && f->shape.hash->fused;

    f->fast = row;
    f->query_key = fused && row->query_key ? row->query_key : query_as_batch;
}

void um_memory_free(um_memory *m, const umbel_alloc *alloc)
{
    if (m->mapped)
        munmap(m->base, m->len);
    else
        um_put(alloc, m->base, m->len);
    *m = (um_memory){NULL, 0, false};
}

umbel_status um_filter_around(const um_shape *shape, const umbel_alloc *alloc,
                              uint8_t *payload, um_memory memory,
                              umbel_filter **out, umbel_error *err)
{
    umbel_filter *f = um_get_object(alloc, handle_len(shape->kind));

    if (!f) {
        um_memory_free(&memory, alloc);
        return um_no_memory(err, handle_len(shape->kind));
    }
    f->shape = *shape;
    f->alloc = *alloc;
    f->payload = payload;
    um_payload_len(shape, &f->payload_len);
    f->memory = memory;
    f->self = (uint8_t *)f + self_offset();
    um_layout_init(&f->layout, shape->addressing, shape->cells, shape->hashes,
                   shape->seed);
    um_hasher_init(&f->hasher, shape->hash, shape->seed);
    um_filter_use(f, um_fast_pick(shape, &f->layout));
    um_filter_attach(f);
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

umbel_status um_filter_make(const um_shape *shape, const umbel_alloc *alloc,
                            umbel_filter **out, umbel_error *err)
{
    size_t len;

    if (!um_payload_len(shape, &len))
        return um_fail(err, UMBEL_E_LIMIT, "%" PRIu64 " cells do not fit here",
                       shape->cells);
    uint8_t *payload = um_get(alloc, len);
    if (!payload)
        return um_no_memory(err, len);
    return um_filter_own(shape, alloc, payload, out, err);
}

/* Gives f the cells of another filter, which gets those of f. */
static void swap_cells(umbel_filter *f, umbel_filter *g)
{
    umbel_filter was = *f;

    f->payload = g->payload;
    f->payload_len = g->payload_len;
    f->memory = g->memory;
    f->layout = g->layout;
    f->shape.cells = g->shape.cells;
    memcpy(f->shape.setting, g->shape.setting, sizeof f->shape.setting);
    g->payload = was.payload;
    g->memory = was.memory;
    um_filter_attach(f);
}

/* Copies the user's data to a filter that was made for it. */
static void keep_data(umbel_filter *to, const umbel_filter *from)
{
    size_t len = um_data_room(&from->shape);

    memcpy(to->payload + to->payload_len - len,
           from->payload + from->payload_len - len, len);
}

umbel_status um_filter_grow(umbel_filter *f, umbel_error *err)
{
    const um_row_growing *row = f->shape.kind->growing;
    um_shape shape = f->shape;
    umbel_filter *larger;

    UM_TRY(row->larger(f->self, &shape, err));
    UM_TRY(um_filter_make(&shape, &f->alloc, &larger, err));
    while (!row->move(larger->self, f->self)) {
        umbel_status status = row->larger(larger->self, &shape, err);
        umbel_close(larger);
        UM_TRY(status);
        UM_TRY(um_filter_make(&shape, &f->alloc, &larger, err));
    }
    keep_data(larger, f);
    swap_cells(f, larger);
    umbel_close(larger);
    return UMBEL_OK;
}

umbel_filter *um_filter_move(umbel_filter *f,
                             void *(*move)(void *ctx, void *block), void *ctx)
{
    void *old = um_block_of(f->memory.base), *block = move(ctx, old);
    umbel_filter *handle;

    if (block)
        f->payload = f->memory.base =
            um_realign(f->memory.base, old, block, f->memory.len);
    handle = move(ctx, f);
    if (handle)
        f = handle;
    f->self = (uint8_t *)f + self_offset();
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

umbel_status umbel_create(const char *kind, const umbel_params *params,
                          umbel_filter **out, umbel_error *err)
{
    umbel_params p;
    um_shape shape;
    umbel_filter *f;

    UM_TRY(um_params_take(params, &p, err));
    UM_TRY(um_shape_from_params(kind, &p, &shape, err));
    if (shape.kind->built)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind %s is made of all its keys at once: build it "
                       "(umbel_build)",
                       shape.kind->name);
    UM_TRY(um_solve_size(&shape, err));
    if (p.cells && p.fpr == 0)
        aim_at_size(&shape);
    umbel_alloc alloc = um_alloc_or_default(p.alloc);
    UM_TRY(um_filter_make(&shape, &alloc, &f, err));
    if (p.secret)
        um_hasher_unlock(&f->hasher, p.secret);
    if (shape.kind->start)
        shape.kind->start(f->self);
    *out = f;
    return UMBEL_OK;
}

void umbel_close(umbel_filter *f)
{
    if (!f)
        return;
    umbel_alloc alloc = f->alloc;
    if (f->gate)
        um_gate_fini(f->gate);
    um_put(&alloc, f->gate, sizeof *f->gate);
    um_hasher_fini(&f->hasher);
    um_memory_free(&f->memory, &alloc);
    um_put_object(&alloc, f, handle_len(f->shape.kind));
}

static void fill_copy(umbel_filter *copy, const umbel_filter *f)
{
    copy->shape.added = f->shape.added;
    memcpy(copy->payload, f->payload, f->payload_len);
    um_clear_padding(copy);
    copy->hasher = f->hasher;
}

umbel_status umbel_copy(const umbel_filter *f, umbel_filter **out,
                        umbel_error *err)
{
    umbel_filter *copy;

    UM_TRY(um_filter_make(&f->shape, &f->alloc, &copy, err));
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
    um_shape shape = f->shape;
    um_gate_open(f->gate);
    UM_TRY(um_filter_make(&shape, &f->alloc, &copy, err));
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
    um_shape shape = f->shape;
    umbel_filter *empty;

    for (size_t i = 0; i < um_count_settings(shape.kind); i++)
        shape.setting[i] = shape.kind->settings[i].standard;
    UM_TRY(um_filter_make(&shape, &f->alloc, &empty, err));
    keep_data(empty, f);
    swap_cells(f, empty);
    umbel_close(empty);
    return UMBEL_OK;
}

umbel_status umbel_clear(umbel_filter *f, umbel_error *err)
{
    if (f->shape.kind->built)
        return um_cannot(f, "forget its keys", err);
    UM_TRY(um_check_writable(f, err));
    if (f->shape.kind->growing)
        UM_TRY(forget_growth(f, err));
    memset(f->payload, 0, f->payload_len - um_data_room(&f->shape));
    f->shape.added = 0;
    f->shape.estimated = false;
    f->shape.intersected = false;
    f->shape.joined = false;
    f->shape.difference = false;
    f->shape.delta = (um_delta){0, 0};
    f->shape.denied = 0;
    um_filter_attach(f);
    if (f->shape.kind->start)
        f->shape.kind->start(f->self);
    return UMBEL_OK;
}

umbel_status umbel_unlock(umbel_filter *f, const uint8_t *secret,
                          umbel_error *err)
{
    if (!f->shape.hash->keyed)
        return um_fail(err, UMBEL_E_SECRET,
                       "hash %s takes no secret key: leave it out",
                       f->shape.hash->name);
    uint64_t id = um_secret_id(secret);
    if (id != f->shape.secret_id)
        return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_WRONG,
                              "wrong secret key: the filter was made with key "
                              "%016" PRIx64 ", this is key %016" PRIx64,
                              f->shape.secret_id, id);
    um_hasher_unlock(&f->hasher, secret);
    return UMBEL_OK;
}

umbel_status um_check_writable(const umbel_filter *f, umbel_error *err)
{
    if (f->memory.mapped)
        return um_fail(err, UMBEL_E_READONLY,
                       "a mapped filter is read-only: load or copy it");
    return UMBEL_OK;
}

umbel_status um_check_ready(const umbel_filter *f, umbel_error *err)
{
    if (!f->hasher.ready)
        return um_fail_detail(err, UMBEL_E_SECRET, UMBEL_D_SECRET_MISSING,
                              "this filter hashes with secret key %016" PRIx64
                              ": give that key first",
                              f->shape.secret_id);
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
    return refuse(f->shape.kind, verb, f->shape.kind->unsupported_reason.any,
                  err);
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
    const um_unsupported_reason *why = &f->shape.kind->unsupported_reason;
    return refuse(f->shape.kind, verb, why->join ? why->join : why->any, err);
}
