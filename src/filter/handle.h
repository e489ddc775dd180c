/*
 * handle.h - the definition of umbel_filter.
 *
 * The payload is contiguous memory laid out as in the file: sections one after
 * the other, each aligned to 64 bytes.
 */
#ifndef UM_FILTER_HANDLE_H
#define UM_FILTER_HANDLE_H

#include "base/batch.h"
#include "base/spill.h"
#include "base/threads.h"
#include "filter/kind.h"

/* Memory with its owner; base NULL: owned by the caller. */
typedef struct um_memory {
    void *base;
    size_t len;
    bool mapped; /* a file, released by munmap; else allocated */
} um_memory;

void um_memory_free(um_memory *m, const umbel_alloc *alloc);

/* Who owns the payload. */
typedef enum um_owner {
    UM_INSIDE, /* part of the handle's block: small ones */
    UM_OWNED,  /* a block of its own */
    UM_LENT,   /* owned by the caller */
    UM_MAPPED, /* in a file, released by munmap */
    UM_SPOOLED /* in a temporary file (base/spill.h), writable */
} um_owner;

/*
 * Handles are small, because programs may keep a filter per user. Optional
 * parts follow the handle (handle.c), and small payloads are in the same block:
 *
 *     umbel_filter | the kind's part | optional parts | payload, aligned
 */
struct umbel_filter {
    const um_kind *kind;
    um_layout layout;
    um_hasher hasher;
    umbel_alloc alloc;
    uint8_t *payload; /* in memory */
    size_t payload_len;
    const um_fast *fast;   /* NULL: the kind's own functions */
    const um_one_key *one; /* functions for one key, for umbel_query and
                              umbel_add */
    um_gate *gate;         /* of umbel_share: inside it, use the kind's shared
                              functions */
    void *self;            /* the kind's part */

    /* As in um_shape. */
    double fpr;
    uint64_t capacity, added, false_negatives, attached;
    uint64_t expansion : 33;
    uint64_t key_form : 4;
    uint64_t prefixed : 1; /* it has the part um_prefix_lengths */
    uint64_t spare_len : 8;
    uint64_t owner : 3;  /* um_owner */
    uint64_t inside : 7; /* cache lines for a payload in the handle's block */
    uint64_t padded : 1; /* ... with extra space to align them */
    bool exact_size, estimated, intersected, joined, difference, coded;
};

_Static_assert(sizeof(umbel_filter) <= 256, "a handle is small");

/*
 * Evaluates to the shape of a filter, as a copy that is valid until the end of
 * the enclosing block.
 */
#define um_shape_of(f) um_get_shape(f, &(um_shape){.kind = NULL})
const um_shape *um_get_shape(const umbel_filter *f, um_shape *s);
/* Sets shape, layout and hasher of f, which is zeroed but for its owner. */
void um_set_shape(umbel_filter *f, const um_shape *s);

/* Returns the settings; the kind determines their number. */
uint64_t *um_settings_of(const umbel_filter *f);
/* Returns zeros if the filter is not a difference. */
const um_delta *um_delta_of(const umbel_filter *f);
void um_set_delta(umbel_filter *f, um_delta delta);
/* Returns the recorded prefix lengths; NULL if the keys are not networks. */
um_prefix_lengths *um_prefixes_of(const umbel_filter *f);
/* Adds the prefix length of a stored network. E_KEY if key is not one. */
umbel_status um_prefixes_add(um_prefix_lengths *p, const umbel_slice *key,
                             umbel_error *err);
/* Adds all lengths of more, as threads that share p do; lengths that are not
 * recorded stay so. */
void um_prefixes_share(um_prefix_lengths *p, const um_prefix_lengths *more);
/* Adds the lengths of another filter, which may not be recorded. */
void um_prefixes_join(um_prefix_lengths *p, const um_prefix_lengths *other);
/* From now on the lengths of f, if it has networks, are not recorded: keys came
 * as digests. */
void um_prefixes_forget(umbel_filter *f);
/* Returns the identifier of the secret; 0 if the hash is not keyed. */
uint64_t um_secret_of(const umbel_filter *f);
/* Returns the mapping of a mapped filter. */
um_memory *um_mapping_of(const umbel_filter *f);

/* Returns the size of a handle with the kind's part and the optional parts of
 * s. */
size_t um_handle_len(const um_shape *s, um_owner owner);
/* Returns the size of an existing handle. */
size_t um_handle_len_of(const umbel_filter *f);
/* Updates the pointers into the handle's block after it moved. */
void um_find_parts(umbel_filter *f);

/* The kind's part follows the handle. */
enum { UM_SELF_AT = sizeof(umbel_filter) };

/* Returns the kind's part without a load. */
static inline void *um_self(const umbel_filter *f)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): drops const without a load */
    return (uint8_t *)(uintptr_t)f + UM_SELF_AT;
}

/* Returns the sum, saturated: a file may claim any number of keys. */
static inline uint64_t um_more_added(uint64_t was, size_t fresh)
{
    return was > UINT64_MAX - fresh ? UINT64_MAX : was + fresh;
}

/*
 * Counts n keys, fresh of them new, for a filter that is not shared. A kind
 * with bounds counts all n: a key that matched already is a member whose loss
 * the bound must cover, and how many match depends on bits that somebody else
 * chose.
 */
static inline void um_count_added(umbel_filter *f, size_t n, size_t fresh)
{
    if (f->kind->bounds)
        fresh = n;
    f->added = um_more_added(f->added, fresh);
}

/* Sets the number of keys; needs exclusive access. */
void um_set_added(umbel_filter *f, uint64_t n);

/*
 * Creates a filter with zeroed memory; the shape's size must be solved.
 */
umbel_status um_filter_create(const um_shape *shape, const umbel_alloc *alloc,
                              umbel_filter **out, umbel_error *err);
/*
 * Creates a filter that uses a payload in memory, and owns it from now on; the
 * memory is released if the call fails.
 */
umbel_status um_filter_around(const um_shape *shape, const umbel_alloc *alloc,
                              uint8_t *payload, um_memory memory,
                              umbel_filter **out, umbel_error *err);
/* Creates a filter that owns a payload allocated for the shape. */
umbel_status um_filter_own(const um_shape *shape, const umbel_alloc *alloc,
                           uint8_t *payload, umbel_filter **out,
                           umbel_error *err);

/* Creates a filter that takes over the memory of a spool, which has the
 * payload's length; after a failure the spool keeps it. */
umbel_status um_filter_spooled(const um_shape *shape, const umbel_alloc *alloc,
                               um_spool *spool, umbel_filter **out,
                               umbel_error *err);

/*
 * Moves a filter that is not shared and has the caller's allocator: move is
 * called with each block of the filter, and returns its new address, or NULL if
 * it stays. Returns the handle, which may have moved.
 */
umbel_filter *um_filter_move(umbel_filter *f,
                             void *(*move)(void *ctx, void *block), void *ctx);

/* Frees the payload if it is a block of its own or a file. */
void um_payload_free(umbel_filter *f);

/* Completes params into *taken and solves the size, as umbel_create does. */
umbel_status um_shape_to_create(const char *kind, const umbel_params *params,
                                umbel_params *taken, um_shape *out,
                                umbel_error *err);
/* Creates a filter in a temporary file in dir, from the results of
 * um_shape_to_create. */
umbel_status um_create_spooled(const um_shape *shape, const umbel_params *p,
                               const char *dir, umbel_filter **out,
                               umbel_error *err);

/* Attaches the kind to its memory after the payload or its content was
 * replaced. */
void um_filter_attach(umbel_filter *f);

/*
 * Grows f to the size its kind wants, with all its keys. f is untouched when
 * the call fails.
 */
umbel_status um_filter_grow(umbel_filter *f, umbel_error *err);

/* Gives f the cells, settings and layout of g, another filter of its kind, and
 * g the cells of f; afterwards g can only be closed. */
void um_filter_swap_cells(umbel_filter *f, umbel_filter *g);

/* Selects a fast path; NULL: the kind's own functions. */
void um_filter_use(umbel_filter *f, const um_fast *row);

/* Computes the length of the whole raw file with capacity keys; false: it
 * exceeds the address space. */
bool um_file_len(const um_shape *s, size_t *len);

/* Returns the size of umbel_data at the payload's end, with padding. */
size_t um_data_space(const umbel_filter *f);
/* Copies the data of from, if any, to to. */
umbel_status um_copy_data(umbel_filter *to, const umbel_filter *from,
                          umbel_error *err);

/*
 * Zeroes the padding between sections. A mapped file may have changed it after
 * the check; it must not get into filters made from it.
 */
void um_clear_padding(umbel_filter *f);

/* Estimates the number of keys from the number of used cells; INFINITY when all
 * are used. */
double um_keys_behind(const umbel_filter *f, uint64_t used);
/* Returns true if used cells follow the model, which also has their
 * variance. */
bool um_used_by_chance(const umbel_filter *f);

/* Returns the smallest divisor above 1 by which f can be folded, 0 if none;
 * *error becomes the folded error at this many keys. */
uint64_t um_fold_least(const umbel_filter *f, uint64_t keys, double *error);

/* Compares shapes as umbel_same_shape does. */
umbel_status um_same_shape(const um_shape *x, const um_shape *y,
                           umbel_error *err);

/*
 * Adds digests, amounts[i] times or (NULL) once, and counts the new ones. For a
 * shared filter, n is at most UM_SHARED_BATCH, so that a snapshot does not wait
 * for long. E_FULL when there was no space for some; the others were added.
 */
umbel_status um_add_now(umbel_filter *f, const umbel_digest *d,
                        const uint64_t *amounts, size_t n, bool *fresh,
                        umbel_error *err);

/* Prefetches the cells that counting these digests will read, for callers that
 * query several filters. */
void um_fetch_counts(const umbel_filter *f, const umbel_digest *d, size_t n);

/* Return E_READONLY for mapped filters, and E_SECRET for locked ones. */
umbel_status um_check_writable(const umbel_filter *f, umbel_error *err);
umbel_status um_check_ready(const umbel_filter *f, umbel_error *err);

/* Fails with E_UNSUPPORTED: the kind does not implement verb. */
umbel_status um_cannot(const umbel_filter *f, const char *verb,
                       umbel_error *err);
/* Fail with E_UNSUPPORTED, and list the kinds that count, or remove. */
umbel_status um_cannot_count(const um_kind *kind, umbel_error *err);
umbel_status um_cannot_remove(const um_kind *kind, umbel_error *err);
/* Fails with E_UNSUPPORTED for merge and fold, which have their own reason. */
umbel_status um_cannot_join(const umbel_filter *f, const char *verb,
                            umbel_error *err);

/* --- filters that threads add to and query concurrently ------------------- */

enum { UM_SHARED_BATCH = 4 * UM_BATCH }; /* keys sorted by lock */

/* Returns the number of keys to add inside the gate at once. */
static inline size_t um_next_shared(size_t left)
{
    return left < UM_SHARED_BATCH ? left : UM_SHARED_BATCH;
}

/* Returns true if the row's own functions also serve a shared filter: blocks
 * are read by vectors, and written under the lock of the block. */
bool um_row_shares(const um_fast *row);

/* Counts keys in the slot of the thread. */
void um_count_shared(um_gate_pass pass, size_t n);

/* Adds up to UM_SHARED_BATCH keys with a row that supports sharing; returns the
 * number of new keys. */
size_t um_add_locked(umbel_filter *f, const umbel_digest *d, size_t n,
                     bool *fresh);

/* Adds a key as umbel_add does, with a row that supports sharing. */
um_add_key um_add_one_locked;

/* --- filters larger than memory during the build: their payload is a temporary
 * file, of which little is in memory at a time --- */

enum { UM_SPOOL_PIECE = 1 << 22 }; /* bytes processed at a time */

static inline bool um_is_spooled(const umbel_filter *f)
{
    return f->owner == UM_SPOOLED;
}

/* Returns true if keys can be added block by block for this shape. */
bool um_is_local(const um_shape *s);

/* Drops the pages before a block, whose number is a multiple of 8. */
void um_spool_done_before(const umbel_filter *f, uint64_t block);

/*
 * Calls see with filters that contain some blocks of f each, and the share of f
 * that they are; or with f itself, if it is in memory or has no blocks.
 */
typedef void um_see_slice(void *ctx, const umbel_filter *slice, double share);
umbel_status um_each_slice(const umbel_filter *f, um_see_slice *see, void *ctx,
                           umbel_error *err);

/* Builds as umbel_build does, from members in a temporary file; ignores
 * in->alloc. */
umbel_status um_build_spilled(const char *kind, const umbel_params *params,
                              const um_spilled_members *in, umbel_filter **out,
                              umbel_error *err);

#endif
