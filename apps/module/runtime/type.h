/*
 * type.h - filters as values of the server: the data type umbel-flt.
 */
#ifndef UM_MODULE_TYPE_H
#define UM_MODULE_TYPE_H

#include "module/runtime/api.h"

#include <umbel/file.h>
#include <umbel/filter.h>

#include <stdatomic.h>

/* --- a filter as the server's keys hold it ------------------------------- */

/*
 * A body is reference-counted by its holders: keys (COPY adds one) and threads
 * that read it. Only a body with one holder may be changed; any other is
 * copied, and the changed copy replaces it in the key (write.h). So a thread
 * that holds a body sees the filter unchanged, however long it takes.
 */

typedef struct um_body {
    umbel_filter *filter;
    atomic_uint holders;
} um_body;

/* Creates a body that owns the filter; without memory closes the filter. */
umbel_status um_body_open(umbel_filter *f, um_body **out, umbel_error *err);
/* Copies the filter into a new body. */
umbel_status um_body_copy(const um_body *from, um_body **out, umbel_error *err);
um_body *um_body_hold(um_body *b);
/* Releases a body; the last holder closes the filter. Any thread may call it.
 * Accepts NULL. */
void um_body_release(um_body *b);

/* Returns the number of bodies. */
uint64_t um_body_count(void);

/* Returns the bytes of the filter's cells, which determine how long work on all
 * of it takes. */
uint64_t um_body_bytes(const um_body *b);

/* --- a filter's file in pieces: in RDB, AOF, EXPORT and IMPORT ----------- */

/* The largest piece; copying it takes much less than a millisecond. */
enum { UM_PIECE = 1 << 20 };

typedef bool um_piece_emit(void *ctx, uint64_t offset, uint64_t total,
                           const void *bytes, size_t len);
/*
 * Calls emit with each piece of the file, in order. Returns false without
 * memory, or if emit returned false.
 */
bool um_pieces_write(const umbel_filter *f, um_piece_emit *emit, void *ctx);

/* Opens a decoder with the server's memory and checks, for a filter of at most
 * limit bytes. */
umbel_status um_pieces_open(uint64_t total, uint64_t limit, umbel_decoder **out,
                            umbel_error *err);

/* Unlocks a keyed filter that was built with the server's secret. */
void um_try_unlock(umbel_filter *f);

/* --- the data type umbel-flt: one filter of any kind --------------------- */

/* A data type of the server; load.c registers it. */
typedef struct um_module_type {
    const char *name; /* nine characters */
    int encoding;     /* of its RDB payload, 0 to 1023 */
    um_type_methods methods;
    um_type **type; /* where the registered type is stored */
} um_module_type;

extern const um_module_type um_module_filter_type;
extern um_type *um_filter_type;

/* Loads that were refused: bad bytes, over a limit, or not admitted. */
extern _Atomic uint64_t um_refused_loads;

/* Counts a refused load, and logs key and reason. Returns NULL, for rdb_load.
 */
void *um_load_refused(um_io *io, const umbel_error *err);

#endif
