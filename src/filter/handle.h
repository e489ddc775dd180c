/*
 * handle.h - the inside of an umbel_filter.
 *
 * The payload is contiguous memory laid out as in the file: sections one after
 * the other, each from a multiple of 64 bytes on.
 */
#ifndef UM_FILTER_HANDLE_H
#define UM_FILTER_HANDLE_H

#include "base/batch.h"
#include "base/spill.h"
#include "base/threads.h"
#include "filter/kind.h"

/* Memory with its owner; base NULL: bytes of the caller's. */
typedef struct um_memory {
    void *base;
    size_t len;
    bool mapped; /* a file, released by munmap; else allocated */
} um_memory;

void um_memory_free(um_memory *m, const umbel_alloc *alloc);

/* Whose the payload is. */
typedef enum um_owner {
    UM_INSIDE, /* in the block of the handle: small ones */
    UM_OWNED,  /* a block of its own */
    UM_LENT,   /* the caller's */
    UM_MAPPED, /* in a file, released by munmap */
    UM_SPOOLED /* in a temporary file (base/spill.h), and written there */
} um_owner;

/*
 * People keep a filter per user, so a handle is small. What only some filters
 * have lies behind it (handle.c), and small payloads follow in the same block:
 *
 *     umbel_filter | the kind's part | what some have | payload, in line
 */
struct umbel_filter {
    const um_kind *kind;
    um_layout layout;
    um_hasher hasher;
    umbel_alloc alloc;
    uint8_t *payload; /* in memory */
    size_t payload_len;
    const um_fast *fast;   /* NULL: the kind's own functions */
    const um_one_key *one; /* key, for umbel_query and umbel_add */
    um_gate *gate; /* umbel_share: the kind's shared functions, inside it */
    void *self;    /* the kind's part */

    /* As in um_shape. */
    double fpr;
    uint64_t capacity, added, false_negatives, attached;
    uint64_t expansion : 33;
    uint64_t key_form : 3;
    uint64_t spare_len : 8;
    uint64_t owner : 3;  /* um_owner */
    uint64_t inside : 7; /* lines for a payload in the block of the handle */
    uint64_t padded : 1; /* ... with room to put them in line */
    bool exact_size, estimated, intersected, joined, difference, coded;
};

_Static_assert(sizeof(umbel_filter) <= 256, "a handle is small");

/*
 * The shape of a filter. The pointer is good until the end of the block that
 * calls this, and does not follow what happens to the filter.
 */
#define um_shape_of(f) um_get_shape(f, &(um_shape){.kind = NULL})
const um_shape *um_get_shape(const umbel_filter *f, um_shape *s);
/* Gives f, which is zeroed, a shape, layout and hasher; its owner is set. */
void um_set_shape(umbel_filter *f, const um_shape *s);

/* Returns the settings, as many as the kind has. */
uint64_t *um_settings_of(const umbel_filter *f);
/* Returns zeros if the filter is not a difference. */
const um_delta *um_delta_of(const umbel_filter *f);
void um_set_delta(umbel_filter *f, um_delta delta);
/* Returns 0 where the hash takes none. */
uint64_t um_secret_of(const umbel_filter *f);
/* Returns what a mapped filter lies in. */
um_memory *um_mapping_of(const umbel_filter *f);

/* Returns the bytes of a handle with the kind's part and what s has. */
size_t um_handle_len(const um_shape *s, um_owner owner);
/* The same of one that is. */
size_t um_handle_len_of(const umbel_filter *f);
/* Finds everything that lies behind the handle, after it moved. */
void um_find_parts(umbel_filter *f);

/* The kind's part lies behind the handle. */
enum { UM_SELF_AT = sizeof(umbel_filter) };

/* Returns the kind's part without a load. */
static inline void *um_self(const umbel_filter *f)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): drops const without a load */
    return (uint8_t *)(uintptr_t)f + UM_SELF_AT;
}

/* Sticks at the maximum: a file may claim any number of keys. */
static inline uint64_t um_more_added(uint64_t was, size_t fresh)
{
    return was > UINT64_MAX - fresh ? UINT64_MAX : was + fresh;
}

/*
 * Counts n keys of which fresh were new, for a filter that is not shared. A
 * kind with bounds counts all of them: a key that matched already is a member
 * whose loss the bound must cover, and how many match depends on bits that
 * somebody else chose.
 */
static inline void um_count_added(umbel_filter *f, size_t n, size_t fresh)
{
    if (f->kind->bounds)
        fresh = n;
    f->added = um_more_added(f->added, fresh);
}

/* Sets the number of keys; needs the filter to itself. */
void um_set_added(umbel_filter *f, uint64_t n);

/*
 * Makes a filter of that shape, whose size must be solved, with zeroed memory.
 */
umbel_status um_filter_create(const um_shape *shape, const umbel_alloc *alloc,
                              umbel_filter **out, umbel_error *err);
/*
 * The same around a payload in memory, which the filter owns from now on; it is
 * released when the call fails.
 */
umbel_status um_filter_around(const um_shape *shape, const umbel_alloc *alloc,
                              uint8_t *payload, um_memory memory,
                              umbel_filter **out, umbel_error *err);
/* The same around a payload that was allocated for the shape. */
umbel_status um_filter_own(const um_shape *shape, const umbel_alloc *alloc,
                           uint8_t *payload, umbel_filter **out,
                           umbel_error *err);

/* The same around the memory of a spool, of the payload's length, which the
 * filter takes; a failure leaves it there. */
umbel_status um_filter_spooled(const um_shape *shape, const umbel_alloc *alloc,
                               um_spool *spool, umbel_filter **out,
                               umbel_error *err);

/*
 * Moves a filter that is not shared and has the caller's allocator: move gets
 * each block that it allocated, and returns where its content is now, or NULL
 * if it stays. Returns the handle, which may be another.
 */
umbel_filter *um_filter_move(umbel_filter *f,
                             void *(*move)(void *ctx, void *block), void *ctx);

/* Frees the payload, if it is a block of its own or a file. */
void um_payload_free(umbel_filter *f);

/* Completes params into *taken and solves the size: what umbel_create makes of
 * them. */
umbel_status um_shape_to_create(const char *kind, const umbel_params *params,
                                umbel_params *taken, um_shape *out,
                                umbel_error *err);
/* As umbel_create with the shape that these params, completed, gave; in a
 * temporary file in dir. */
umbel_status um_create_spooled(const um_shape *shape, const umbel_params *p,
                               const char *dir, umbel_filter **out,
                               umbel_error *err);

/* Gives the kind its memory, after the payload or its content was replaced. */
void um_filter_attach(umbel_filter *f);

/*
 * Makes f as large as its kind wants, with all its keys. f is untouched when
 * the call fails.
 */
umbel_status um_filter_grow(umbel_filter *f, umbel_error *err);

/* Gives f the cells, settings and layout of g, another filter of its kind, and
 * g the cells of f: it can only be closed after that. */
void um_filter_swap_cells(umbel_filter *f, umbel_filter *g);

/* Selects a fast path; NULL: the kind's own functions. */
void um_filter_use(umbel_filter *f, const um_fast *row);

/* Returns the bytes of the whole raw file when it holds its capacity of keys;
 * false: they do not fit into an address space. */
bool um_file_len(const um_shape *s, size_t *len);

/* Returns the bytes of umbel_data at the payload's end, with padding. */
size_t um_data_space(const umbel_filter *f);
/* Copies the data of from, if any, to to. */
umbel_status um_copy_data(umbel_filter *to, const umbel_filter *from,
                          umbel_error *err);

/*
 * Zeroes the padding between sections. A mapped file may have put something
 * there after it was checked; it must not get into filters made from it.
 */
void um_clear_padding(umbel_filter *f);

/* Returns the keys that explain used cells in use; INFINITY when all are. */
double um_keys_behind(const umbel_filter *f, uint64_t used);
/* Returns true if they follow from the model, which also has their spread. */
bool um_used_by_chance(const umbel_filter *f);

/* Returns the least fold of f, 0 if it has none, and its error at keys. */
uint64_t um_fold_least(const umbel_filter *f, uint64_t keys, double *error);

/* As umbel_same_shape. */
umbel_status um_same_shape(const um_shape *x, const um_shape *y,
                           umbel_error *err);

/*
 * Adds keys, amounts of each or (NULL) one, and counts the new ones. At most
 * UM_SHARED_BATCH of them to a shared filter, so that no copy waits for long.
 * E_FULL when some found no room; the others were added.
 */
umbel_status um_add_now(umbel_filter *f, const umbel_digest *d,
                        const uint64_t *amounts, size_t n, bool *fresh,
                        umbel_error *err);

/* Begins to fetch what counting these digests will read: for callers that ask
 * several filters for a few digests. */
void um_fetch_counts(const umbel_filter *f, const umbel_digest *d, size_t n);

/* E_READONLY for mapped filters, E_SECRET for locked ones. */
umbel_status um_check_writable(const umbel_filter *f, umbel_error *err);
umbel_status um_check_ready(const umbel_filter *f, umbel_error *err);

/* Fails with E_UNSUPPORTED: the kind has no slot for verb. */
umbel_status um_cannot(const umbel_filter *f, const char *verb,
                       umbel_error *err);
/* The same of counts; names the kinds that have them. */
umbel_status um_cannot_count(const um_kind *kind, umbel_error *err);
umbel_status um_cannot_remove(const um_kind *kind, umbel_error *err);
/* The same of merge and fold, which have a reason of their own. */
umbel_status um_cannot_join(const umbel_filter *f, const char *verb,
                            umbel_error *err);

/* --- filters that threads add to and query together ----------------------- */

enum { UM_SHARED_BATCH = 4 * UM_BATCH }; /* keys that are sorted by lock */

/* Returns the number of keys that are added inside the gate at once. */
static inline size_t um_next_shared(size_t left)
{
    return left < UM_SHARED_BATCH ? left : UM_SHARED_BATCH;
}

/* Returns true if the row's own functions serve a shared filter, too: blocks
 * are read by vectors, and written under the lock of the block. */
bool um_row_shares(const um_fast *row);

/* Counts keys in the slot of the thread. */
void um_count_shared(um_gate_pass pass, size_t n);

/* Adds up to UM_SHARED_BATCH keys by a row that shares; returns how many were
 * new. */
size_t um_add_locked(umbel_filter *f, const umbel_digest *d, size_t n,
                     bool *fresh);

/* As umbel_add, for a row that shares. */
um_add_key um_add_one_locked;

/* --- filters larger than memory while they are built: their payload is a
 * temporary file, of which little is in memory at a time ---
 */

enum { UM_SPOOL_PIECE = 1 << 22 }; /* bytes that are dealt with at a time */

static inline bool um_is_spooled(const umbel_filter *f)
{
    return f->owner == UM_SPOOLED;
}

/* Returns true if keys of that shape can be added block after block. */
bool um_is_local(const um_shape *s);

/* Gives up the pages before a block, which is a multiple of 8. */
void um_spool_done_before(const umbel_filter *f, uint64_t block);

/*
 * Calls see with filters that have the blocks of f, some of them each, and the
 * share that they are of f; or with f itself, where it is in memory or its
 * blocks are not apart.
 */
typedef void um_see_slice(void *ctx, const umbel_filter *slice, double share);
umbel_status um_each_slice(const umbel_filter *f, um_see_slice *see, void *ctx,
                           umbel_error *err);

/* As umbel_build, of members in a temporary file; alloc of in is not used. */
umbel_status um_build_spilled(const char *kind, const umbel_params *params,
                              const um_spilled_members *in, umbel_filter **out,
                              umbel_error *err);

#endif
