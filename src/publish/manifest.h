/*
 * manifest.h - manifests, which describe one filter of a publish directory.
 *
 * A small text, signed if the publisher wants it: the file of the current
 * filter, and the differences that lead to it from earlier ones. Files are
 * named by their digest (BLAKE2b-256), so they never change and any cache may
 * keep them; only the manifest changes.
 */
#ifndef UM_PUBLISH_MANIFEST_H
#define UM_PUBLISH_MANIFEST_H

#include "base/hex.h"

#include <umbel/experimental/exchange.h>

_Static_assert((int)UM_DIGEST_LEN == (int)UMBEL_FILE_DIGEST_LEN, "BLAKE2b-256");

enum {
    UM_BLOB_NAME = UM_DIGEST_HEX + 4,
    UM_NAME_MAX = 64,
    UM_MANIFEST_MAX = 32768 /* largest length in bytes */
};

/* A file of a publish directory. */
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
    /* Oldest first: each leads to the filter that the next starts from, the
     * last to `filter`. */
    size_t nsteps;
    um_step step[UMBEL_MAX_STEPS];
    bool is_signed;
    uint8_t key[UMBEL_TRUST_KEY_LEN]; /* that signed it */
} um_manifest;

/* Computes the digest of the concatenated parts. */
void um_digest_parts(const umbel_slice *parts, size_t n,
                     uint8_t out[UM_DIGEST_LEN]);
bool um_same_digest(const uint8_t *a, const uint8_t *b);

/* Formats the name of a file: its digest, then .umb or .umd. */
void um_blob_name(const um_blob *blob, um_blob_kind kind,
                  char out[UM_BLOB_NAME]);
/* Parses such a name; returns false if it is not one. */
bool um_blob_name_read(const char *name, uint8_t digest[UM_DIGEST_LEN]);

/*
 * Returns true if the name consists of letters, digits and, not at either end,
 * . _ - so that it is safe in any path and address. Names that end in .manifest
 * are refused, because their address would be that of another filter.
 */
bool um_name_is_fine(const char *name, size_t len);

/*
 * Formats m as text and returns its length. With a secret key it is signed, and
 * m->key is set.
 */
size_t um_manifest_write(um_manifest *m, const uint8_t *secret,
                         char out[UM_MANIFEST_MAX]);

/*
 * Parses untrusted text. Every manifest has exactly one text; any other is
 * refused. A signature is verified here; um_policy_check decides whether its
 * key is acceptable.
 */
umbel_status um_manifest_read(const char *text, size_t len, um_manifest *out,
                              umbel_error *err);

/* --- the next manifest ---------------------------------------------------- */

/* The next edition to publish, and when. */
typedef struct um_edition {
    um_blob filter;
    const um_blob *step; /* from the last filter to this one, or NULL */
    uint64_t now;        /* seconds since 1970 */
    uint64_t valid;      /* seconds; 0: no expiry */
    uint64_t reports;    /* reported keys that the filter excludes */
    size_t keep;         /* maximum number of steps, up to UMBEL_MAX_STEPS */
} um_edition;

/*
 * Creates the manifest after last, which has the name and, if there was none,
 * serial 0. If the filter was listed before, the steps up to it are dropped, so
 * that no filter occurs twice along the steps.
 */
void um_manifest_next(const um_manifest *last, const um_edition *e,
                      um_manifest *out);

/* --- update policy -------------------------------------------------------- */

/* What a reader requests, and when. */
typedef struct um_update_policy {
    const char *name;
    const uint8_t *trust; /* the key that must sign; NULL: the last one, if any
                           */
    uint64_t now;         /* seconds since 1970 */
} um_update_policy;

/*
 * Accepts a manifest that has the name, is signed as the policy requires, has
 * not expired, and is not older than the last one; otherwise returns E_REFUSED.
 * A reader that names a different key than before starts over, since serial
 * numbers belong to a key.
 */
umbel_status um_policy_check(const um_manifest *m, const um_manifest *last,
                             const um_update_policy *policy, umbel_error *err);

/*
 * Returns true if the last manifest meets the policy, except for its time,
 * which um_policy_check_time checks. Only then may a server answer that nothing
 * has changed.
 */
bool um_policy_unchanged(const um_manifest *last,
                         const um_update_policy *policy);
umbel_status um_policy_check_time(const um_manifest *last, uint64_t now,
                                  umbel_error *err);

/* How to update a filter. */
typedef struct um_route {
    bool current;  /* nothing to fetch: the reader has it */
    bool by_steps; /* steps from `first` on; otherwise the whole file */
    size_t first;
    uint64_t bytes; /* total to fetch */
} um_route;

/* Returns the cheaper route from the filter that a reader has; have may be
 * NULL. */
um_route um_route_from(const um_manifest *m, const uint8_t *have);

/* --- the reader's state --------------------------------------------------- */

enum { UM_PULL_STATE_MAX = 1024 };

/*
 * Format and parse the newest manifest that the reader accepted, without steps
 * and the filter's length, the server's tag for it ("": none), and whether the
 * command for its filter has yet to succeed. Parsing returns E_FORMAT for any
 * other text.
 */
size_t um_pull_state_write(const um_manifest *newest, const char *tag, bool due,
                           char out[UM_PULL_STATE_MAX]);
umbel_status um_pull_state_read(const char *text, size_t len,
                                um_manifest *newest, char tag[UMBEL_MAX_TAG],
                                bool *due, umbel_error *err);

#endif
