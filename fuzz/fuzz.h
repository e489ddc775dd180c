/*
 * fuzz.h - what the fuzz targets share.
 */
#ifndef UM_FUZZ_H
#define UM_FUZZ_H

#include "coding/section.h"

#include <umbel/experimental/sync.h>
#include <umbel/umbel.h>

/* A promise of the library; a broken one is a finding, as a crash is. */
#define UM_WANT(promise)                                                       \
    ((promise) ? (void)0 : um_fuzz_broken(#promise, __FILE__, __LINE__))

_Noreturn void um_fuzz_broken(const char *promise, const char *file, int line);

/* The one secret that keyed filters of the corpora are made with. */
extern const uint8_t um_fuzz_secret[UMBEL_SECRET_LEN];

/* An allocator that refuses to hold more than limit bytes, and counts. */
typedef struct um_fuzz_memory {
    size_t limit, live;
    bool refused;
} um_fuzz_memory;

umbel_alloc um_fuzz_alloc(um_fuzz_memory *memory);

enum { UM_FUZZ_HANDLE = 4096 }; /* what a filter may take beside its payload */

/* A failed call filled err with its status and a line of plain text. */
void um_fuzz_check_error(umbel_status status, const umbel_error *err);

/* The length that a head claims for itself; 0 when it cannot be. */
size_t um_fuzz_head_len(const uint8_t *bytes, size_t len);
/* Returns true if a (decodable) head has a version that is no longer written.
 */
bool um_fuzz_is_old(const uint8_t *bytes);
/*
 * Write the right checksums into a file's bytes where it has a head: that of
 * the payload when asked, that of the head always.
 */
void um_fuzz_repair(uint8_t *bytes, size_t len, bool payload);
/* Returns true if the (decodable) head was written for this payload. */
bool um_fuzz_payload_is_right(const umbel_filter *f, const uint8_t *bytes);

/*
 * Every call takes f, whatever it holds. Fuzzing lives from many executions, so
 * those that walk all cells, and those that take milliseconds, only when asked.
 */
typedef enum um_fuzz_effort {
    UM_FUZZ_LITTLE, /* describe, copy, query, add */
    UM_FUZZ_MORE,   /* and merge, fold */
    UM_FUZZ_ALL     /* and estimate, fit */
} um_fuzz_effort;

void um_fuzz_use(const umbel_filter *f, um_fuzz_effort effort);

/* Set by replay.c: every check on every input. */
extern bool um_fuzz_thorough;
/*
 * Returns true for one input in n, by its checksum: the same each time, and not
 * inherited. The fuzzer prefers inputs that reach far, and would go on changing
 * only slow ones.
 */
bool um_fuzz_one_in(uint64_t n, const uint8_t *data, size_t len);
um_fuzz_effort um_fuzz_effort_for(const uint8_t *data, size_t len);

/* The encoding of f, to be freed. */
uint8_t *um_fuzz_encode(const umbel_filter *f, size_t *len);

/*
 * Filters of the keys 0 .. n-1, as numbers, that differences are between: bits,
 * counts, a static one, bits with data.
 */
enum { UM_FUZZ_OLD = 4, UM_FUZZ_OLD_KEYS = 60 };
umbel_filter *um_fuzz_old(unsigned which, size_t n);

/* Zeros for the cells of a shape of code.c; at is to be freed. */
enum { UM_FUZZ_SHAPE = 2 };
um_packed um_fuzz_cells(const uint8_t shape[UM_FUZZ_SHAPE]);
/* Fills them with data, and what its flags say; nothing behind the last. */
void um_fuzz_fill(const um_packed *c, uint8_t flags, const uint8_t *data,
                  size_t len);

/* The list of sync.c and sync_pair.c: two small pages, epochs of 1000 s; and
 * when a machine begins, with which session. */
enum { UM_FUZZ_NOW = 1500, UM_FUZZ_SESSION = 7 };
umbel_sync_list um_fuzz_sync_list(void);

/* libFuzzer's names. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t cap,
                               unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t cap);

#endif
