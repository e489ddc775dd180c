/*
 * publish.h - publish filters, and pull published ones.
 *
 * A publisher fills a publish directory: the file of a filter, differences from
 * earlier files, and a small manifest that names them and may be signed
 * (Ed25519). Files are named by their BLAKE2b-256, so they never change; only
 * the manifest does. Any web server can serve the directory.
 *
 * A reader keeps one file up to date. It fetches the differences if they are
 * smaller than the whole file, checks every byte against the manifest, refuses
 * manifests that are older than the last one, expired or signed with another
 * key, and runs admission (umbel/admit.h) before it replaces the file.
 *
 * Nothing here opens a file or a socket, or reads the clock: callers pass a
 * store, a fetcher and the time. umbel/experimental/exchange.h declares both,
 * and stores on disk; libumbel-fetch (umbel/fetch.h) fetches with libcurl.
 */
#ifndef UMBEL_PUBLISH_H
#define UMBEL_PUBLISH_H

#include <umbel/admit.h>
#include <umbel/keys.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    UMBEL_SIGN_KEY_LEN = 64,    /* Ed25519, secret: signs manifests */
    UMBEL_TRUST_KEY_LEN = 32,   /* its public part, for readers */
    UMBEL_FILE_DIGEST_LEN = 32, /* BLAKE2b-256 of a file's bytes */
    UMBEL_MAX_STEPS = 64,       /* differences that a manifest can list */
    UMBEL_MAX_TAG = 256         /* bytes of a server's tag, with its NUL */
};

/* Where bytes are kept, and how they are fetched. */
typedef struct umbel_store umbel_store;
typedef struct umbel_fetcher umbel_fetcher;

/* --- keys ----------------------------------------------------------------- */

/* Creates a pair of keys: sign_key signs, trust_key is given to readers. */
UMBEL_API umbel_status umbel_sign_keygen(uint8_t sign_key[UMBEL_SIGN_KEY_LEN],
                                         uint8_t trust_key[UMBEL_TRUST_KEY_LEN],
                                         umbel_error *err);

/*
 * Write and read the files of `umbel keygen --sign`. Writing creates a new
 * file, with mode 0600 for a signing key. Reading refuses a signing key if
 * group or others have any access to its file. umbel_trust_key_load also
 * accepts the 64 hexadecimal digits of the key instead of a path.
 */
UMBEL_API umbel_status umbel_sign_key_save(
    const uint8_t key[UMBEL_SIGN_KEY_LEN], const char *path, umbel_error *err);
UMBEL_API umbel_status umbel_sign_key_load(const char *path,
                                           uint8_t out[UMBEL_SIGN_KEY_LEN],
                                           umbel_error *err);
UMBEL_API umbel_status umbel_trust_key_save(
    const uint8_t key[UMBEL_TRUST_KEY_LEN], const char *path, umbel_error *err);
UMBEL_API umbel_status umbel_trust_key_load(const char *path,
                                            uint8_t out[UMBEL_TRUST_KEY_LEN],
                                            umbel_error *err);

/* --- publishing ----------------------------------------------------------- */

/* Parameters of umbel_publish. Start with UMBEL_PUBLICATION_INIT, which keeps
 * 16 differences. */
typedef struct umbel_publication {
    size_t size;      /* sizeof(umbel_publication): lets it grow */
    const char *name; /* letters, digits and . _ - inside; at most 64 */
    const umbel_filter *filter;
    umbel_slice file; /* the filter's encoded bytes, if the caller has them;
                         otherwise it is encoded */
    const uint8_t *sign_key; /* UMBEL_SIGN_KEY_LEN bytes; NULL: not signed */
    uint64_t now;            /* seconds since 1970 */
    uint64_t valid;          /* seconds until readers refuse it; 0: never */
    size_t keep;             /* differences to list, up to 64; 0: none */
    uint64_t memory_limit;   /* for decoding the previous filter; 0: the default
                                of umbel_source */
    uint64_t reports;        /* false positives that were removed from the
                                filter (umbel_remove_reported), recorded in the
                                manifest */
    bool force; /* publish it although readers would not admit it */
} umbel_publication;

#ifdef __cplusplus
#define UMBEL_PUBLICATION_INIT                                                 \
    {                                                                          \
        sizeof(umbel_publication), 0, 0, {0, 0}, 0, 0, 0, 16, 0, 0, false      \
    }
#else
#define UMBEL_PUBLICATION_INIT                                                 \
    {                                                                          \
        .size = sizeof(umbel_publication), .keep = 16                          \
    }
#endif

/* The result of umbel_publish. */
typedef struct umbel_published {
    uint64_t serial;
    uint8_t digest[UMBEL_FILE_DIGEST_LEN]; /* of the filter's file */
    uint64_t bytes;                        /* of the filter's file */
    uint64_t step_bytes; /* of the difference from the previous filter; 0:
                            none */
    size_t steps;        /* differences that the manifest lists */
    bool is_signed;
    uint64_t expires; /* seconds since 1970; 0: never */
    bool expiry_gone; /* the previous manifest had an expiry, this one has
                         none */
    bool unchanged;   /* the filter is the same as in the previous manifest */
    bool has_last;    /* there was a previous manifest */
    uint8_t last[UMBEL_FILE_DIGEST_LEN]; /* the filter named by the previous
                                            manifest */
    umbel_error no_step; /* why there is no difference; text is "" if there is
                            one, or if none was requested */
} umbel_published;

/*
 * Publishes a filter in a directory: first its file and a difference from the
 * previous one, then the manifest, so that every file a manifest names exists
 * at all times. E_REFUSED when the previous manifest was signed with another
 * key, or when a reader without demands of its own would not admit the filter
 * (UMBEL_D_NOT_ADMITTED), unless it is forced; E_RANGE when the name or a
 * number is out of range.
 */
UMBEL_API umbel_status umbel_publish(const umbel_publication *what,
                                     const umbel_store *dir,
                                     umbel_published *out, umbel_error *err);

/*
 * Removes files that are named by their digest and that no manifest of the
 * directory names. keep holds n digests of the replaced filters
 * (umbel_published.last), one after the other: readers may still be fetching
 * them, so they stay until the next call. Removes nothing when a manifest
 * cannot be read.
 */
UMBEL_API umbel_status umbel_publish_tidy(const umbel_store *dir,
                                          const uint8_t *keep, size_t n,
                                          umbel_error *err);

/* The result and cost of umbel_remove_reported. */
typedef struct umbel_removed_reports {
    uint64_t matched; /* different reported keys that matched */
    uint64_t left;    /* of them that still match: removing them would cost too
                         much */
    uint64_t members; /* reported keys that are members, and still match */
    uint64_t lost;    /* members that no longer match */
    uint64_t moved;   /* members in another group than in like, or in f */
    bool rebuilt;     /* from the members, because f has groups */
} umbel_removed_reports;

/*
 * Changes f so that the keys that readers reported as false positives no longer
 * match. A filter with one group is retouched, losing at most 1 % of the
 * members. One with several groups is rebuilt from the members, so that none is
 * lost; members keep the groups they had in like, the previous edition, or in f
 * if like is NULL or has another shape. Reported keys that are members are
 * ignored. Fails as umbel_retouch and umbel_choose do.
 */
UMBEL_API umbel_status umbel_remove_reported(umbel_filter *f,
                                             const umbel_key_list *members,
                                             const umbel_key_list *reported,
                                             const umbel_filter *like,
                                             umbel_removed_reports *out,
                                             umbel_error *err);

/* --- pulling -------------------------------------------------------------- */

/* Parameters of umbel_pull_open. Start with UMBEL_PULL_INIT. */
typedef struct umbel_pull_params {
    size_t size;     /* sizeof(umbel_pull_params): lets it grow */
    const char *url; /* of the directory, followed by the filter's name without
                        .umb */
    const uint8_t *trust_key;     /* the key that must have signed,
                                     UMBEL_TRUST_KEY_LEN bytes; NULL: the one of
                                     the last pull, if any */
    const umbel_admission *wants; /* requirements for the filter; max_bytes 0
                                     means 1 GiB. NULL: the defaults */
    uint64_t memory_limit;        /* as in umbel_source */
} umbel_pull_params;

#ifdef __cplusplus
#define UMBEL_PULL_INIT                                                        \
    {                                                                          \
        sizeof(umbel_pull_params), 0, 0, 0, 0                                  \
    }
#else
#define UMBEL_PULL_INIT                                                        \
    {                                                                          \
        .size = sizeof(umbel_pull_params)                                      \
    }
#endif

/* How the filter was updated. */
typedef enum umbel_pull_route {
    UMBEL_PULL_CURRENT, /* it was up to date */
    UMBEL_PULL_STEPS,   /* by differences */
    UMBEL_PULL_WHOLE    /* as a whole file */
} umbel_pull_route;

/* The result of umbel_pull_round. */
typedef struct umbel_pulled {
    uint64_t serial; /* of the manifest */
    umbel_pull_route route;
    uint64_t bytes; /* of the filter's file */
    uint64_t moved; /* bytes fetched, including the manifest */
    bool is_signed;
    bool new_key; /* signed with a key that was not configured; it is trusted
                     from now on */
    uint8_t key[UMBEL_TRUST_KEY_LEN]; /* the key that signed, if is_signed */
    uint64_t expires;                 /* seconds since 1970; 0: never */
} umbel_pulled;

/* A reader of one published filter. One thread at a time. */
typedef struct umbel_puller umbel_puller;

/*
 * Opens a reader. *fetcher and *store are copied; everything they point to, the
 * trust key and the strings in wants must outlive the reader. Close it with
 * umbel_pull_close.
 */
UMBEL_API umbel_status umbel_pull_open(const umbel_pull_params *params,
                                       const umbel_fetcher *fetcher,
                                       const umbel_store *store,
                                       umbel_puller **out, umbel_error *err);

/*
 * Brings the store's filter up to date; now is seconds since 1970. E_REFUSED if
 * the manifest or the filter is rejected: old serial number, wrong or missing
 * signature, expired, wrong digest, or not admitted. E_IO when a fetch failed;
 * the next round resumes it. After any failure the store has the old filter or
 * the new one, never a part.
 */
UMBEL_API umbel_status umbel_pull_round(umbel_puller *p, uint64_t now,
                                        umbel_pulled *out, umbel_error *err);

/* Closes a reader. NULL is accepted. */
UMBEL_API void umbel_pull_close(umbel_puller *p);

#ifdef __cplusplus
}
#endif
#endif
