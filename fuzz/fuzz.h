/* fuzz.h - helpers shared by the fuzz targets. */
#ifndef UM_FUZZ_H
#define UM_FUZZ_H

#include "coding/section.h"

#include <umbel/experimental/sync.h>
#include <umbel/umbel.h>

/* Asserts a promise of the library; a broken promise aborts, like a crash. */
#define UM_WANT(promise)                                                       \
    ((promise) ? (void)0 : um_fuzz_broken(#promise, __FILE__, __LINE__))

_Noreturn void um_fuzz_broken(const char *promise, const char *file, int line);

/* The secret of all keyed filters in the corpora. */
extern const uint8_t um_fuzz_secret[UMBEL_SECRET_LEN];

/* An allocator that refuses to exceed limit bytes and counts live bytes. */
typedef struct um_fuzz_memory {
    size_t limit, live;
    bool refused;
} um_fuzz_memory;

umbel_alloc um_fuzz_alloc(um_fuzz_memory *memory);

enum { UM_FUZZ_HANDLE = 4096 }; /* bytes of a filter besides its payload */

/* Checks that a failed call set err to its status and a line of plain text. */
void um_fuzz_check_error(umbel_status status, const umbel_error *err);

/* Returns the length that a head claims for itself; 0 if it is impossible. */
size_t um_fuzz_head_len(const uint8_t *bytes, size_t len);
/* Returns true if a (decodable) head has a version that is no longer written.
 */
bool um_fuzz_is_old(const uint8_t *bytes);
/*
 * Writes correct checksums into a file that has a head: the payload's if
 * payload is true, the head's always.
 */
void um_fuzz_repair(uint8_t *bytes, size_t len, bool payload);
/* Returns true if the checksum in the (decodable) head matches the payload. */
bool um_fuzz_payload_is_right(const umbel_filter *f, const uint8_t *bytes);

/*
 * How much um_fuzz_use calls: every call must accept f, whatever it holds.
 * Fuzzing needs many executions, so calls that visit all cells, or take
 * milliseconds, run only for some inputs.
 */
typedef enum um_fuzz_effort {
    UM_FUZZ_LITTLE, /* describe, copy, query, add */
    UM_FUZZ_MORE,   /* and merge, fold */
    UM_FUZZ_ALL     /* and estimate, fit */
} um_fuzz_effort;

void um_fuzz_use(const umbel_filter *f, um_fuzz_effort effort);

/* True in replay.c: run every check on every input. */
extern bool um_fuzz_thorough;
/*
 * Returns true for one input in n, chosen by its checksum, so that the choice
 * is reproducible and mutations do not inherit it. The fuzzer prefers inputs
 * that reach far, and would otherwise mutate only slow ones.
 */
bool um_fuzz_one_in(uint64_t n, const uint8_t *data, size_t len);
um_fuzz_effort um_fuzz_effort_for(const uint8_t *data, size_t len);

/* Returns the encoding of f. Free it. */
uint8_t *um_fuzz_encode(const umbel_filter *f, size_t *len);

/*
 * Returns a filter of the keys 0 .. n-1, as numbers, from which patches are
 * made. which: bits, counts, a static filter, bits with data.
 */
enum { UM_FUZZ_OLD = 4, UM_FUZZ_OLD_KEYS = 60 };
umbel_filter *um_fuzz_old(unsigned which, size_t n);

/* Returns zeroed cells of a shape as in code.c. Free `at`. */
enum { UM_FUZZ_SHAPE = 2 };
um_packed um_fuzz_cells(const uint8_t shape[UM_FUZZ_SHAPE]);
/*
 * Fills the cells with data as flags say; the bits after the last cell stay
 * zero.
 */
void um_fuzz_fill(const um_packed *c, uint8_t flags, const uint8_t *data,
                  size_t len);

/*
 * Returns the list that sync.c and sync_pair.c use: two small pages, epochs of
 * 1000 s. UM_FUZZ_NOW and UM_FUZZ_SESSION are the start time and session.
 */
enum { UM_FUZZ_NOW = 1500, UM_FUZZ_SESSION = 7 };
umbel_sync_list um_fuzz_sync_list(void);

/* A text that is written to a pipe, step bytes at a time, while it is read. */
typedef struct um_fuzz_pipe {
    const uint8_t *text;
    size_t len, at, step;
    int fd; /* -1: all is written */
} um_fuzz_pipe;
/* Writes the next bytes after each read, so that no read blocks: an
 * um_key_progress. */
void um_fuzz_send_next(void *ctx, const char *pass, uint64_t done,
                       uint64_t total);

/* Entry points with the names that libFuzzer expects. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t cap,
                               unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t cap);

#endif
