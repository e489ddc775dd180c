/*
 * static_build.c - builds filters of static kinds from all their keys, and
 * filters in a temporary file slice by slice.
 */
#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "base/threads.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/build.h>

#include <inttypes.h>

umbel_status um_build_params_normalize(const umbel_build_params *given,
                                       umbel_build_params *out,
                                       umbel_error *err)
{
    umbel_build_params how = UMBEL_BUILD_INIT;

    /* This is the first version of the struct; later ones will be larger. */
    if (given && given->size < sizeof *given)
        return um_fail(err, UMBEL_E_RANGE,
                       "the size is not set: start from UMBEL_BUILD_INIT");
    if (given)
        how = *given;
    if (how.threads > UM_MAX_THREADS)
        return um_fail(err, UMBEL_E_RANGE, "threads must be 0..%d, got %u",
                       UM_MAX_THREADS, how.threads);
    how.threads = how.threads ? how.threads : 1;
    *out = how;
    return UMBEL_OK;
}

static umbel_status read_members(const umbel_key_list *given,
                                 const umbel_build_params *how, um_members *out,
                                 umbel_error *err)
{
    umbel_build_params build;

    UM_TRY(um_build_params_normalize(how, &build, err));
    out->threads = build.threads;
    out->clash = build.clash;
    if (!given)
        return UMBEL_OK;
    UM_TRY(um_check_key_list(given, err));
    out->digests = given->digests;
    out->values = given->values;
    out->n = given->n;
    return UMBEL_OK;
}

static umbel_status check_values(const um_shape *s, const um_members *in,
                                 umbel_error *err)
{
    uint32_t bits = um_value_bits(s);

    if (!in->values != !bits && in->n)
        return um_fail(err, UMBEL_E_RANGE,
                       bits ? "a map wants a value for every key"
                            : "values want the setting value_bits, and a kind "
                              "that has it");
    for (size_t i = 0; bits < 64 && in->values && i < in->n; i++)
        if (in->values[i] >> bits)
            return um_fail(err, UMBEL_E_RANGE,
                           "value %zu is %" PRIu64 ", which takes more than "
                           "%" PRIu32 " bits",
                           i + 1, in->values[i], bits);
    return UMBEL_OK;
}

static umbel_status check_static(const um_shape *s, const umbel_params *p,
                                 umbel_error *err)
{
    if (!s->kind->built)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind %s is not made at once: open it, and add keys",
                       s->kind->name);
    if (p->hashes)
        return um_fail(err, UMBEL_E_RANGE,
                       "kind %s has no number of hashes to choose: leave it "
                       "out",
                       s->kind->name);
    return UMBEL_OK;
}

umbel_status umbel_build(const char *kind, const umbel_params *params,
                         const umbel_key_list *members,
                         const umbel_build_params *how, umbel_filter **out,
                         umbel_error *err)
{
    um_members in = {0};
    umbel_params p;
    um_shape shape;
    uint8_t *payload = NULL;
    umbel_filter *f;

    UM_TRY(um_params_normalize(params, &p, err));
    UM_TRY(um_shape_from_params(kind, &p, &shape, err));
    UM_TRY(check_static(&shape, &p, err));
    UM_TRY(read_members(members, how, &in, err));
    UM_TRY(check_values(&shape, &in, err));
    umbel_alloc alloc = um_alloc_or_default(p.alloc);
    in.alloc = &alloc;
    if (p.fpr == 0 && um_value_bits(&shape))
        shape.fpr = 1; /* values only: every key may match */
    UM_TRY(shape.kind->built->build(&shape, &in, &payload, err));
    UM_TRY(um_filter_own(&shape, &alloc, payload, &f, err));
    if (p.secret)
        um_hasher_unlock(&f->hasher, p.secret);
    *out = f;
    return UMBEL_OK;
}

umbel_status um_build_spilled(const char *kind, const umbel_params *params,
                              const um_spilled_members *members,
                              umbel_filter **out, umbel_error *err)
{
    um_spilled_members in = *members;
    um_spool payload = {.dir = NULL};
    umbel_params p;
    um_shape shape;
    umbel_filter *f;
    umbel_status status;

    UM_TRY(um_params_normalize(params, &p, err));
    UM_TRY(um_shape_from_params(kind, &p, &shape, err));
    UM_TRY(check_static(&shape, &p, err));
    umbel_alloc alloc = um_alloc_or_default(p.alloc);
    in.alloc = &alloc;
    if (p.fpr == 0 && um_value_bits(&shape))
        shape.fpr = 1; /* values only: every key may match */
    UM_TRY(um_spool_open(&payload, in.digests->dir, err));
    status = shape.kind->built->build_spilled(&shape, &in, &payload, err);
    if (!status)
        status = um_filter_spooled(&shape, &alloc, &payload, &f, err);
    um_spool_close(&payload);
    UM_TRY(status);
    if (p.secret)
        um_hasher_unlock(&f->hasher, p.secret);
    *out = f;
    return UMBEL_OK;
}

umbel_status umbel_build_keys(const char *kind, const umbel_params *params,
                              const umbel_slice *keys, const uint64_t *values,
                              size_t n, umbel_filter **out, umbel_error *err)
{
    um_prefix_lengths prefixes = {{UM_PREFIXES_RECORDED}};
    umbel_filter *empty;
    umbel_status status;

    UM_TRY(umbel_build(kind, params, NULL, NULL, &empty, err));
    size_t len = (n + 1) * sizeof(umbel_digest);
    umbel_digest *digests =
        n < SIZE_MAX / sizeof *digests ? um_get(&empty->alloc, len) : NULL;
    if (!digests)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", n);
    else
        status = umbel_digest_many(empty, keys, n, digests, err);
    for (size_t i = 0; !status && um_prefixes_of(empty) && i < n; i++)
        status = um_prefixes_add(&prefixes, &keys[i], err);
    umbel_key_list members = UMBEL_KEY_LIST(digests, n);
    members.values = values;
    if (status == UMBEL_OK)
        status = umbel_build(kind, params, &members, NULL, out, err);
    if (status == UMBEL_OK && um_prefixes_of(*out))
        *um_prefixes_of(*out) = prefixes;
    um_put(&empty->alloc, digests, len);
    umbel_close(empty);
    return status;
}

uint32_t umbel_value_bits(const umbel_filter *f)
{
    return um_value_bits(um_shape_of(f));
}

/* --- a filter in a temporary file, slice by slice ------------------------- */

bool um_is_local(const um_shape *s)
{
    um_layout l;

    if (!s->kind->local || !s->kind->local(s))
        return false;
    um_layout_init(&l, s->addressing, s->cells, s->hashes, s->seed);
    return l.blocks > 1;
}

/* Returns the size of this many blocks, a multiple of 8, in bytes. */
static size_t blocks_len(const umbel_filter *f, uint64_t blocks)
{
    um_section section[UM_MAX_SECTIONS];

    um_sections(um_shape_of(f), section);
    return (size_t)(f->layout.cells / f->layout.blocks * blocks *
                    section[0].cell_bits / 8);
}

void um_spool_done_before(const umbel_filter *f, uint64_t block)
{
    if (block > f->layout.blocks)
        block = f->layout.blocks;
    if (block)
        um_spool_drop(f->payload, blocks_len(f, block));
}

static umbel_status see_blocks(const umbel_filter *f, uint64_t from, uint64_t n,
                               um_see_slice *see, void *ctx, umbel_error *err)
{
    um_memory lent = {NULL, 0, false};
    um_shape shape = *um_shape_of(f);
    uint8_t *at = f->payload + blocks_len(f, from);
    umbel_filter *slice;

    shape.cells = f->layout.cells / f->layout.blocks * n;
    UM_TRY(um_filter_around(&shape, &f->alloc, at, lent, &slice, err));
    see(ctx, slice, (double)n / (double)f->layout.blocks);
    um_spool_drop(at, slice->payload_len);
    umbel_close(slice);
    return UMBEL_OK;
}

umbel_status um_each_slice(const umbel_filter *f, um_see_slice *see, void *ctx,
                           umbel_error *err)
{
    const uint64_t most = 1 << 14; /* blocks: about 1 MB */

    if (!um_is_spooled(f) || !um_is_local(um_shape_of(f))) {
        see(ctx, f, 1);
        return UMBEL_OK;
    }
    for (uint64_t at = 0, some; at < f->layout.blocks; at += some) {
        some = f->layout.blocks - at < most ? f->layout.blocks - at : most;
        UM_TRY(see_blocks(f, at, some, see, ctx, err));
    }
    return UMBEL_OK;
}
