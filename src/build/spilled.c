/*
 * spilled.c - builds filters within a memory limit.
 *
 * A filter that fits is built as usual. Otherwise digests are written to a
 * temporary file, in heaps by their highest bits, and added to the filter heap
 * by heap. The cells of the filter are in a temporary file as well: the blocks
 * of a heap are neighbours, and so are the rows of a ribbon. Keys keep their
 * order within a heap, and keys of different heaps share no cells, so the
 * result is byte for byte that of an ordinary build.
 */
#include "build/internal.h"

#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/threads.h"
#include "filter/handle.h"
#include "query/digest_set.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdlib.h>

/* Memory of the program, of each thread, and to count distinct keys. */
enum { PROGRAM = 20000000, A_THREAD = 2000000, COUNTING = 45000000 };

static unsigned threads_of(const um_build_job *job)
{
    return job->members.threads ? job->members.threads : um_cores();
}

static double reserve_of(const um_build_job *job)
{
    return PROGRAM + A_THREAD * (double)threads_of(job);
}

/* Returns the memory left for keys and cells. */
static double budget_of(const um_build_job *job)
{
    return (double)job->max_memory - reserve_of(job);
}

/* Returns the --max-memory, in MB, that leaves need bytes for keys and
 * cells. */
static uint64_t megabytes_of(const um_build_job *job, double need)
{
    return (uint64_t)((need + reserve_of(job)) / 1e6) + 1;
}

static umbel_status refuse_memory(const um_build_job *job, const char *what,
                                  double need, umbel_error *err)
{
    uint64_t megabytes = megabytes_of(job, need);

    return um_fail_detail(err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
                          "%s need more memory: give --max-memory %" PRIu64
                          "MB or more",
                          what, megabytes);
}

umbel_status um_check_memory(const um_build_job *job, umbel_error *err)
{
    const char *kind = job->kind ? job->kind : um_kind_row(0)->name;

    if (!job->max_memory)
        return UMBEL_OK;
    if (job->never.npaths || job->universe.npaths)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "--max-memory does not go with --%s: the keys that must "
                       "not match are held against all members in memory",
                       job->never.npaths ? "never" : "universe");
    if (umbel_is_growing(kind))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "--max-memory does not go with kind %s, which grows "
                       "with its keys: its size is known only at the end",
                       kind);
    return UMBEL_OK;
}

/* --- digests to a temporary file ------------------------------------------ */

typedef struct spilling {
    um_spill spill;
    bool hi_follows;
    bool amounts;        /* records contain an amount */
    uint32_t value_bits; /* bits of amounts that are values; else 0 */
    uint64_t blocks;     /* of the filter; 0: heaps by lo */
    uint64_t per_heap;
    bool in_order;     /* all in one heap */
    um_distinct *seen; /* counts distinct keys; may be NULL */
} spilling;

/* Returns the heap of a key. Keys of a block are in the same heap, so they are
 * added in their order. */
static unsigned heap_of(const spilling *s, uint64_t lo)
{
    if (s->in_order)
        return 0;
    return s->blocks ? (unsigned)(um_scale(lo, s->blocks) / s->per_heap)
                     : um_spill_heap_of(lo);
}

static umbel_status refuse_value(const um_key_batch *batch, size_t i,
                                 uint32_t bits, umbel_error *err)
{
    um_key_names names = {0};

    um_name_key(&names, &batch->keys[i]);
    return um_fail(err, UMBEL_E_KEY,
                   "\"%s\" has the value %" PRIu64
                   ", which takes more than %" PRIu32 " bits",
                   names.text, batch->amounts[i], bits);
}

static umbel_status spill_batch(void *ctx, const um_key_batch *batch,
                                const umbel_digest *digests, umbel_error *err)
{
    spilling *s = ctx;

    if (s->seen && !um_distinct_add(s->seen, digests, batch->n))
        return um_fail(err, UMBEL_E_NOMEM, "no memory to count the keys");
    for (size_t i = 0; i < batch->n; i++) {
        uint64_t record[UM_SPILL_WORDS] = {digests[i].lo, digests[i].hi};
        if (s->value_bits && batch->amounts[i] >> s->value_bits)
            return refuse_value(batch, i, s->value_bits, err);
        if (s->amounts)
            record[s->hi_follows ? 1 : 2] = batch->amounts[i];
        UM_TRY(um_spill_add(&s->spill, heap_of(s, record[0]), record, err));
    }
    return UMBEL_OK;
}

/* Spills all keys of source, as f hashes them. */
static umbel_status spill_keys(spilling *s, const um_build_job *job,
                               const um_key_source *source,
                               const umbel_filter *f, umbel_error *err)
{
    double budget = budget_of(job);
    unsigned words;

    s->hi_follows = f->hasher.row->fused;
    words = 1u + (s->hi_follows ? 0 : 1) + (s->amounts ? 1 : 0);
    UM_TRY(um_spill_open(&s->spill, job->temp_dir, words,
                         budget > 0 ? (uint64_t)(budget / 8) : 0, err));
    UM_TRY(um_keys_each_digest(source, f, spill_batch, s, err));
    return um_spill_end(&s->spill, err);
}

/* Splits records into digests and, unless it is NULL, amounts. */
static void unpack(const spilling *s, const uint64_t *records, size_t n,
                   umbel_digest *digests, uint64_t *amounts)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t *at = records + i * s->spill.words;
        digests[i] =
            (umbel_digest){at[0], s->hi_follows ? um_remix(at[0]) : at[1]};
        if (s->amounts && amounts)
            amounts[i] = at[s->hi_follows ? 1 : 2];
    }
}

/* --- static kinds --------------------------------------------------------- */

/* Returns the shape of the result, as far as it is known. */
static um_shape shape_of(const um_static_build *x)
{
    um_shape s = *um_shape_of(x->empty);

    s.cells = x->params.cells;
    return s;
}

static umbel_status load_members(spilling *s, umbel_digest *digests,
                                 uint64_t *values, umbel_error *err)
{
    uint64_t *records = malloc(UM_SPILL_CHUNK);
    umbel_status status = UMBEL_OK;
    size_t at = 0, n;

    if (!records)
        return um_no_memory(err, UM_SPILL_CHUNK);
    for (unsigned heap = 0; !status && heap < UM_SPILL_HEAPS; heap++) {
        um_spill_walk w = um_spill_begin(&s->spill, heap);
        do {
            status = um_spill_read(&w, records, &n, err);
            if (!status)
                unpack(s, records, n, digests + at,
                       values ? values + at : NULL);
            at += status ? 0 : n;
        } while (!status && n);
    }
    free(records);
    return status;
}

static umbel_status build_in_memory(um_static_build *x, spilling *s,
                                    const umbel_build_params *how,
                                    um_build_result *out, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_pool pool;
    umbel_status status;
    size_t n = (size_t)s->spill.n;

    um_pool_init(&pool, &alloc);
    umbel_digest *digests = um_pool_get(&pool, n, sizeof *digests);
    uint64_t *values =
        s->amounts ? um_pool_get(&pool, n, sizeof *values) : NULL;
    umbel_key_list members = UMBEL_KEY_LIST(digests, n);
    members.values = values;
    if (pool.failed)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", n);
    else
        status = load_members(s, digests, values, err);
    if (!status)
        status = umbel_build(x->job->kind, &x->params, &members, how,
                             &out->filter, err);
    um_pool_fini(&pool);
    return status;
}

static umbel_status solve(um_static_build *x, spilling *s, umbel_digest *clash,
                          um_build_result *out, umbel_error *err)
{
    um_shape shape = shape_of(x);
    const um_row_static *row = shape.kind->built;
    double budget = budget_of(x->job), keys = (double)s->spill.n;
    double least =
        row->spilled_memory(&shape, keys, (double)um_spill_largest(&s->spill));
    umbel_build_params how = x->how;

    how.clash = clash;
    um_key_compute(&x->source, "solving");
    if (row->build_memory(&shape, keys, how.threads) <= budget)
        return build_in_memory(x, s, &how, out, err);
    if (budget < least)
        return refuse_memory(x->job, "these keys", least, err);
    return um_build_spilled(x->job->kind, &x->params,
                            &(um_spilled_members){.digests = &s->spill,
                                                  .hi_follows = s->hi_follows,
                                                  .memory = (uint64_t)budget,
                                                  .threads = how.threads,
                                                  .clash = clash},
                            &out->filter, err);
}

/* Refuses a key with two values. The values are not stored; the key is named
 * only if the input can be read again. */
static umbel_status refuse_two_values(um_static_build *x,
                                      const umbel_digest *clash,
                                      umbel_error *err)
{
    if (!um_keys_rereadable(&x->source))
        return um_fail(err, UMBEL_E_KEY,
                       "a key has two different values: give it one");
    um_name_members(x, clash, 1);
    return um_fail(err, UMBEL_E_KEY,
                   "\"%s\" has two different values: give it one",
                   x->names.text);
}

umbel_status um_build_static_within(um_static_build *x, um_build_result *out,
                                    umbel_error *err)
{
    spilling s = {.amounts = x->value_bits != 0, .value_bits = x->value_bits};
    um_shape shape = shape_of(x);
    umbel_digest clash = {0, 0};
    umbel_status status;

    if (!shape.kind->built->build_spilled)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "--max-memory does not go with kind %s",
                       shape.kind->name);
    double least = shape.kind->built->spilled_memory(&shape, 1, 1);
    if (budget_of(x->job) < least)
        return refuse_memory(x->job, "any keys", least, err);
    status = spill_keys(&s, x->job, &x->source, x->empty, err);
    if (!status) {
        out->keys = s.spill.n;
        status = solve(x, &s, &clash, out, err);
        if (status == UMBEL_E_KEY)
            status = refuse_two_values(x, &clash, err);
    }
    um_spill_close(&s.spill);
    return status;
}

/* --- kinds that support adding -------------------------------------------- */

static umbel_status add_heap(spilling *s, unsigned heap, umbel_filter *f,
                             uint64_t *records, umbel_error *err)
{
    um_spill_walk w = um_spill_begin(&s->spill, heap);
    umbel_digest digests[UM_BATCH];
    uint64_t amounts[UM_BATCH];
    size_t n;

    do {
        UM_TRY(um_spill_read(&w, records, &n, err));
        for (size_t at = 0, some; at < n; at += some) {
            some = um_next_batch(n - at);
            unpack(s, records + at * s->spill.words, some, digests, amounts);
            UM_TRY(um_add_now(f, digests, s->amounts ? amounts : NULL, some,
                              NULL, err));
        }
    } while (n);
    return UMBEL_OK;
}

/* Returns the first block that keys of this heap, or of later ones, change,
 * rounded down to a multiple of 8. */
static uint64_t first_block(const spilling *s, const umbel_filter *f,
                            unsigned heap)
{
    uint64_t lo = (uint64_t)heap << (64 - UM_SPILL_HEAP_BITS);

    return s->blocks ? heap * s->per_heap
                     : um_scale(lo, f->layout.blocks) & ~(uint64_t)7;
}

/* Adds all heaps, in the order of the blocks. */
static umbel_status add_heaps(spilling *s, umbel_filter *f, umbel_error *err)
{
    uint64_t *records = malloc(UM_SPILL_CHUNK);
    umbel_status status = UMBEL_OK;

    if (!records)
        return um_no_memory(err, UM_SPILL_CHUNK);
    for (unsigned heap = 0; !status && heap < UM_SPILL_HEAPS; heap++) {
        status = add_heap(s, heap, f, records, err);
        if (um_is_spooled(f))
            um_spool_done_before(f, first_block(s, f, heap));
    }
    free(records);
    return status;
}

static umbel_status refuse_far(const um_build_job *job, const um_shape *s,
                               double need, umbel_error *err)
{
    return um_fail_detail(
        err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
        "kind %s on addressing %s is not built in parts, because a key changes "
        "cells far apart: give --max-memory %" PRIu64 "MB or more%s",
        s->kind->name, s->addressing->name, megabytes_of(job, need),
        s->kind->local ? ", or --addressing blocked512 without groups" : "");
}

/* Decides whether the cells of a shape are kept in a temporary file, with those
 * of a few heaps in memory. */
static umbel_status place_cells(const um_build_job *job, const um_shape *s,
                                bool *in_parts, umbel_error *err)
{
    double budget = budget_of(job);
    size_t len;

    if (!um_payload_len(s, &len))
        return um_fail(err, UMBEL_E_LIMIT, "%" PRIu64 " cells do not fit here",
                       s->cells);
    double all = (double)len * (job->coded ? 2.5 : 1);
    double parts = (double)UM_SPILL_HEAPS * UM_SPILL_LEAST_CHUNK +
                   UM_SPOOL_PIECE + 2.0 * (double)len / UM_SPILL_HEAPS;
    *in_parts = all > budget;
    if (!*in_parts)
        return UMBEL_OK;
    if (all <= parts || job->coded)
        return refuse_memory(
            job, job->coded ? "the filter and its code" : "the keys", all, err);
    if (!um_is_local(s))
        return refuse_far(job, s, all, err);
    return budget < parts ? refuse_memory(job, "these keys", parts, err)
                          : UMBEL_OK;
}

static umbel_status build_in_parts(const um_build_job *job, const um_shape *s,
                                   const umbel_params *p, um_build_result *out,
                                   umbel_error *err)
{
    spilling x = {.amounts = um_format_has_amounts(&job->members.format)};
    um_key_source source = job->members;
    umbel_status status;

    UM_TRY(um_create_spooled(s, p, job->temp_dir, &out->filter, err));
    x.blocks = out->filter->layout.blocks;
    x.per_heap = ((x.blocks - 1) / UM_SPILL_HEAPS + 8) & ~(uint64_t)7;
    source.pass = "adding keys";
    status = spill_keys(&x, job, &source, out->filter, err);
    if (!status) {
        out->keys = x.spill.n;
        status = add_heaps(&x, out->filter, err);
    }
    um_spill_close(&x.spill);
    return status;
}

static umbel_status want_counting(const um_build_job *job, umbel_error *err)
{
    return umbel_is_counting(job->kind) && budget_of(job) < COUNTING
               ? refuse_memory(job, "counts", COUNTING, err)
               : UMBEL_OK;
}

umbel_status um_build_sized_within(const um_build_job *job,
                                   const umbel_params *params,
                                   um_build_result *out, umbel_error *err)
{
    bool in_parts;
    umbel_params p;
    um_shape s;

    UM_TRY(um_shape_to_create(job->kind, params, &p, &s, err));
    UM_TRY(want_counting(job, err));
    UM_TRY(place_cells(job, &s, &in_parts, err));
    if (in_parts)
        return build_in_parts(job, &s, &p, out, err);
    UM_TRY(umbel_create(job->kind, &p, &out->filter, err));
    return um_keys_add(&job->members, out->filter, &out->keys, err);
}

/* --- from a pipe ---------------------------------------------------------- */

/* Decides whether keys must be added in the order of the input, because their
 * cells are not local. Otherwise they are sorted by lo; in a block that begins
 * in one heap and ends in the next, those of the first heap come first. */
static umbel_status find_order(const um_build_job *job, bool *in_order,
                               umbel_error *err)
{
    umbel_params many = job->params, p;
    um_shape s;

    many.capacity = 1000000;
    UM_TRY(um_shape_to_create(job->kind, &many, &p, &s, err));
    *in_order = !um_is_local(&s);
    return UMBEL_OK;
}

/* Spills all keys of the pipe, and counts them. */
static umbel_status spill_pipe(spilling *x, const um_build_job *job,
                               const umbel_filter *hashing,
                               um_build_result *out, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_distinct seen = {.alloc = &alloc};
    umbel_status status;

    if (umbel_is_counting(job->kind))
        x->seen = &seen;
    status = spill_keys(x, job, &job->members, hashing, err);
    x->seen = NULL;
    if (!status) {
        out->keys = x->spill.n;
        out->distinct =
            umbel_is_counting(job->kind) ? um_distinct_count(&seen) : 0;
    }
    um_distinct_fini(&seen);
    return status;
}

static umbel_status create_counted(const um_build_job *job,
                                   um_build_result *out, umbel_error *err)
{
    umbel_params asked = job->params, p;
    bool in_parts;
    um_shape s;

    asked.capacity = out->distinct ? out->distinct : out->keys;
    UM_TRY(um_shape_to_create(job->kind, &asked, &p, &s, err));
    UM_TRY(place_cells(job, &s, &in_parts, err));
    return in_parts
               ? um_create_spooled(&s, &p, job->temp_dir, &out->filter, err)
               : umbel_create(job->kind, &p, &out->filter, err);
}

umbel_status um_build_piped_within(const um_build_job *job,
                                   const umbel_filter *hashing,
                                   um_build_result *out, umbel_error *err)
{
    spilling x = {.amounts = um_format_has_amounts(&job->members.format)};
    umbel_status status;

    if (budget_of(job) < UM_SPILL_HEAPS * UM_SPILL_LEAST_CHUNK)
        return refuse_memory(job, "any keys",
                             UM_SPILL_HEAPS * UM_SPILL_LEAST_CHUNK, err);
    UM_TRY(want_counting(job, err));
    UM_TRY(find_order(job, &x.in_order, err));
    status = spill_pipe(&x, job, hashing, out, err);
    if (!status && out->keys)
        status = create_counted(job, out, err);
    if (!status && out->keys)
        status = add_heaps(&x, out->filter, err);
    um_spill_close(&x.spill);
    return status;
}
