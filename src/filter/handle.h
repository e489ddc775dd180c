/*
 * handle.h - the inside of an umbel_filter.
 *
 * The payload is contiguous memory laid out as in the file: sections one after
 * the other, each from a multiple of 64 bytes on.
 */
#ifndef UM_FILTER_HANDLE_H
#define UM_FILTER_HANDLE_H

#include "base/gate.h"
#include "filter/fast.h"

/* Memory with its owner; base NULL: bytes of the caller's. */
typedef struct um_memory {
    void *base;
    size_t len;
    bool mapped; /* a file, released by munmap; else allocated */
} um_memory;

void um_memory_free(um_memory *m, const umbel_alloc *alloc);

struct umbel_filter {
    um_shape shape;
    um_layout layout;
    um_hasher hasher;
    umbel_alloc alloc;
    uint8_t *payload; /* in memory */
    size_t payload_len;
    um_memory memory;
    const um_fast *fast; /* NULL: the kind's own functions */
    um_query_key *query_key;
    um_gate *gate; /* umbel_share: the kind's shared functions, inside it */
    void *self;    /* the kind's part, behind this struct */
};

/*
 * Makes a filter of that shape, whose size must be solved, with zeroed memory.
 */
umbel_status um_filter_make(const um_shape *shape, const umbel_alloc *alloc,
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

/*
 * Moves a filter that is not shared and has the caller's allocator: move gets
 * each block that it allocated, and returns where its content is now, or NULL
 * if it stays. Returns the handle, which may be another.
 */
umbel_filter *um_filter_move(umbel_filter *f,
                             void *(*move)(void *ctx, void *block), void *ctx);

/* Gives the kind its memory, after the payload or its content was replaced. */
void um_filter_attach(umbel_filter *f);

/*
 * Makes f as large as its kind wants, with all its keys. f is untouched when
 * the call fails.
 */
umbel_status um_filter_grow(umbel_filter *f, umbel_error *err);

/* Selects a fast path; NULL: the kind's own functions. */
void um_filter_use(umbel_filter *f, const um_fast *row);

/* Returns false if the payload does not fit into an address space. */
bool um_payload_len(const um_shape *s, size_t *len);
/* The same for the whole raw file, when it holds its capacity of keys. */
bool um_file_len(const um_shape *s, size_t *len);

/* Returns the bytes of umbel_data at the payload's end, with padding. */
size_t um_data_room(const um_shape *s);
/* Copies the data of from, if any, to to. */
umbel_status um_pass_data(umbel_filter *to, const umbel_filter *from,
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
 * UM_BATCH of them to a shared filter, so that no copy waits for long. E_FULL
 * when some found no room; the others were added.
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

#endif
