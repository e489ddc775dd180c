/*
 * manifest.h - what a shelf says about one of its filters.
 *
 * A small text, signed if the publisher wants it: the file of the current
 * filter, and the differences that lead to it from earlier ones. Files are
 * named by their digest (BLAKE2b-256), so they never change and any cache may
 * keep them; only the manifest changes.
 */
#ifndef UM_EXCHANGE_MANIFEST_H
#define UM_EXCHANGE_MANIFEST_H

#include "base/hex.h"

#include <umbel/exchange.h>

_Static_assert((int)UM_DIGEST_LEN == (int)UMBEL_FILE_DIGEST_LEN, "BLAKE2b-256");

enum {
    UM_BLOB_NAME = UM_DIGEST_HEX + 4,
    UM_NAME_MAX = 64,
    UM_MANIFEST_MAX = 32768 /* bytes: no manifest is longer */
};

/* A file of the shelf. */
typedef struct um_blob {
    uint8_t digest[UM_DIGEST_LEN];
    uint64_t len;
} um_blob;

typedef enum um_blob_kind { UM_BLOB_FILTER, UM_BLOB_STEP } um_blob_kind;

/* A difference that turns one filter into the next. */
typedef struct um_step {
    uint8_t from[UM_DIGEST_LEN];
    um_blob file;
} um_step;

typedef struct um_manifest {
    char name[UM_NAME_MAX + 1];
    uint64_t serial;  /* grows with every manifest; from 1 to 2^64 - 2 */
    uint64_t made;    /* seconds since 1970 */
    uint64_t expires; /* 0: never */
    uint64_t reports; /* reported keys that the filter excludes */
    um_blob filter;   /* the current one */
    /* Oldest first: each makes what the next is from, the last the filter. */
    size_t nsteps;
    um_step step[UMBEL_MAX_STEPS];
    bool is_signed;
    uint8_t key[UMBEL_TRUST_KEY_LEN]; /* that signed it */
} um_manifest;

/* Computes the digest of parts, one after the other. */
void um_digest_parts(const umbel_slice *parts, size_t n,
                     uint8_t out[UM_DIGEST_LEN]);
bool um_same_digest(const uint8_t *a, const uint8_t *b);

/* Writes the name of a file on the shelf: its digest, then .umb or .umd. */
void um_blob_name(const um_blob *blob, um_blob_kind kind,
                  char out[UM_BLOB_NAME]);
/* Reads such a name back; returns false when it is none. */
bool um_blob_name_read(const char *name, uint8_t digest[UM_DIGEST_LEN]);

/*
 * Returns true for letters, digits and . _ - in the middle: safe in any path
 * and address. Names that end in .manifest are refused, because their address
 * would be that of another filter.
 */
bool um_name_is_fine(const char *name, size_t len);

/*
 * Writes the text of m and returns its length. With a secret key it is signed,
 * and m->key is set.
 */
size_t um_manifest_write(um_manifest *m, const uint8_t *secret,
                         char out[UM_MANIFEST_MAX]);

/*
 * Reads a text from anyone. Every manifest has exactly one text; any other is
 * refused. A signature is checked here; um_judge decides about its key.
 */
umbel_status um_manifest_read(const char *text, size_t len, um_manifest *out,
                              umbel_error *err);

#endif
