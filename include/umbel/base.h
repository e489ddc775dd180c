/*
 * base.h - version, statuses, errors, digests, allocators.
 */
#ifndef UMBEL_BASE_H
#define UMBEL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define UMBEL_API __attribute__((visibility("default")))
#else
#define UMBEL_API
#endif

/* The version of these headers. Compare with UMBEL_VERSION, which is a
 * number. */
#define UMBEL_VERSION_MAJOR 0
#define UMBEL_VERSION_MINOR 1
#define UMBEL_VERSION_PATCH 0
#define UMBEL_VERSION_NUMBER(major, minor, patch)                              \
    ((major)*1000000 + (minor)*1000 + (patch))
#define UMBEL_VERSION                                                          \
    UMBEL_VERSION_NUMBER(UMBEL_VERSION_MAJOR, UMBEL_VERSION_MINOR,             \
                         UMBEL_VERSION_PATCH)

/* Returns the version of the library in use, as "MAJOR.MINOR.PATCH". */
UMBEL_API const char *umbel_version(void);

/* Generates the enumeration, the names and the texts of all statuses. */
#define UMBEL_STATUS_LIST(X)                                                   \
    X(OK, 0, "success")                                                        \
    X(E_NOMEM, 1, "out of memory")                                             \
    X(E_RANGE, 2, "parameter out of range")                                    \
    X(E_UNKNOWN, 3, "no such name")                                            \
    X(E_FORMAT, 4, "not a valid umbel encoding")                               \
    X(E_VERSION, 5, "written in a version this library cannot read")           \
    X(E_CHECKSUM, 6, "checksum mismatch")                                      \
    X(E_LIMIT, 7, "over the memory limit")                                     \
    X(E_MISMATCH, 8, "incompatible filters")                                   \
    X(E_SECRET, 9, "missing or wrong secret key")                              \
    X(E_KEY, 10, "key not accepted by this filter")                            \
    X(E_UNSUPPORTED, 11, "not supported by this kind of filter")               \
    X(E_READONLY, 12, "filter is read-only")                                   \
    X(E_IO, 13, "input or output error")                                       \
    X(E_REFUSED, 14, "rejected by policy")                                     \
    X(E_FULL, 15, "filter is full")

/* The result of a call that can fail. UMBEL_OK is 0. */
typedef enum umbel_status {
#define UMBEL_STATUS_ENUM(name, number, text) UMBEL_##name = number,
    UMBEL_STATUS_LIST(UMBEL_STATUS_ENUM)
#undef UMBEL_STATUS_ENUM
} umbel_status;

/* Return "E_RANGE" and "parameter out of range"; never NULL, for any number. */
UMBEL_API const char *umbel_status_name(umbel_status status);
UMBEL_API const char *umbel_status_text(umbel_status status);

/*
 * Distinguishes failures of one status, for code that handles them differently.
 * Most failures are UMBEL_D_NONE.
 */
typedef enum umbel_detail {
    UMBEL_D_NONE = 0,
    UMBEL_D_SECRET_MISSING = 1, /* E_SECRET: the filter needs its secret */
    UMBEL_D_SECRET_WRONG = 2,   /* E_SECRET: created with another secret */
    UMBEL_D_MEMORY_LIMIT = 3,   /* E_LIMIT: the caller's memory limit */
    UMBEL_D_COMPRESSED = 4,     /* E_LIMIT: a gzipped file; unpack it first */
    UMBEL_D_BYTES_LIMIT = 5,    /* E_REFUSED: the caller's max_bytes */
    UMBEL_D_OTHER_KEY = 6,      /* E_REFUSED: signed with another key */
    UMBEL_D_STATE = 7, /* E_REFUSED: conflicts with the state of the last pull;
                          a reader without that state would accept it */
    UMBEL_D_NOT_A_SECRET = 8,  /* E_SECRET: not a secret key file */
    UMBEL_D_NOT_A_KEY = 9,     /* E_FORMAT: not a signing key or trust key
                                  file */
    UMBEL_D_DIFFERENCE = 10,   /* E_MISMATCH: a difference from other counts */
    UMBEL_D_NOT_ADMITTED = 11, /* E_REFUSED: readers would not admit it */
    UMBEL_D_OVERFULL = 12, /* E_REFUSED: its error is above the requested one */
    UMBEL_D_CELLS = 13     /* E_MISMATCH: filters of different sizes */
} umbel_detail;

/*
 * What went wrong: status and detail for code, text for people. It lives in the
 * caller's memory. Every call that takes one accepts NULL, and writes to it
 * only when the call fails.
 */
typedef struct umbel_error {
    umbel_status status;
    umbel_detail detail;
    char text[256];
} umbel_error;

/* A key, or any bytes that the caller owns. len may be 0. */
typedef struct umbel_slice {
    const void *data;
    size_t len;
} umbel_slice;

/*
 * The hash of a key. One digest serves all filters with the same hash, seed and
 * secret. With the hash "integer", lo is the key itself and hi is 0.
 */
typedef struct umbel_digest {
    uint64_t lo, hi;
} umbel_digest;

/*
 * Where memory comes from. get returns len uninitialized bytes aligned to align
 * (a power of two, at most 16, so malloc suffices), or NULL; put frees them.
 * Each filter keeps a copy of this struct, so ctx must outlive the filter. A
 * filter makes two requests: one for its handle, one for its cells plus 64
 * bytes.
 */
typedef struct umbel_alloc {
    void *ctx;
    void *(*get)(void *ctx, size_t align, size_t len);
    void (*put)(void *ctx, void *memory, size_t len);
} umbel_alloc;

#ifdef __cplusplus
}
#endif
#endif
