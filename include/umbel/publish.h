/*
 * publish.h - publish filters, and pull what others publish.
 *
 * A publisher fills a publish directory: the file of a filter, differences from
 * earlier files, and a small manifest that names them and may be signed
 * (Ed25519). Files are named by their BLAKE2b-256, so they never change; only
 * the manifest does. Any web server can serve the directory.
 *
 * A reader keeps one file up to date. It fetches the differences where they are
 * smaller than the whole file, checks every byte against the manifest, refuses
 * manifests that are older than the last one, expired or signed with another
 * key, and runs admission (umbel/admit.h) before the file is replaced.
 *
 * Nothing here opens a file or a socket, or asks for the time: callers pass a
 * store, a fetcher and the time. umbel/experimental/exchange.h has both, and
 * stores on disk; libumbel-fetch (umbel/fetch.h) fetches with libcurl.
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

/* Makes a pair of keys: one signs, the other is given to readers. */
UMBEL_API umbel_status umbel_sign_keygen(uint8_t sign_key[UMBEL_SIGN_KEY_LEN],
                                         uint8_t trust_key[UMBEL_TRUST_KEY_LEN],
                                         umbel_error *err);

/*
 * Write and read the files of `umbel keygen --sign`. Writing makes a new file,
 * mode 0600 for the key that signs. Reading refuses a key that signs when group
 * or others have any right to its file. umbel_trust_key_load also takes the 64
 * hexadecimal digits of the key in place of a path.
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

/* What to publish. Start with UMBEL_PUBLICATION_INIT, which keeps 16
 * differences. */
typedef struct umbel_publication {
    size_t size;      /* sizeof(umbel_publication): lets it grow */
    const char *name; /* letters, digits and . _ - inside; at most 64 */
    const umbel_filter *filter;
    umbel_slice file; /* the filter's own bytes, where the caller has them; it
                         is encoded otherwise */
    const uint8_t *sign_key; /* UMBEL_SIGN_KEY_LEN bytes; NULL: not signed */
    uint64_t now;            /* seconds since 1970 */
    uint64_t valid; /* seconds until readers refuse it; 0: they never do */
    size_t keep;    /* differences to list, up to 64; 0: none */
    uint64_t memory_limit; /* for decoding the filter before this one; 0: as
                              umbel_source has it */
    uint64_t reports;      /* false positives that were removed from the filter
                              (umbel_remove_reported), noted in the manifest */
} umbel_publication;

#ifdef __cplusplus
#define UMBEL_PUBLICATION_INIT                                                 \
    {                                                                          \
        sizeof(umbel_publication), 0, 0, {0, 0}, 0, 0, 0, 16, 0, 0             \
    }
#else
#define UMBEL_PUBLICATION_INIT                                                 \
    {                                                                          \
        .size = sizeof(umbel_publication), .keep = 16                          \
    }
#endif

/* What was published. */
typedef struct umbel_published {
    uint64_t serial;
    uint8_t digest[UMBEL_FILE_DIGEST_LEN]; /* of the filter's file */
    uint64_t bytes;                        /* of it */
    uint64_t step_bytes; /* of the difference from the last filter; 0: none */
    size_t steps;        /* differences that the manifest lists */
    bool is_signed;
    uint64_t expires; /* seconds since 1970; 0: never */
    bool expiry_gone; /* the last manifest was to expire, this one is not */
    bool unchanged;   /* the same filter as in the last manifest */
    bool has_last;    /* there was a manifest before this one */
    uint8_t last[UMBEL_FILE_DIGEST_LEN]; /* the filter that it named */
    umbel_error no_step; /* why there is no difference: text is "" where one is,
                            or where none was asked for */
} umbel_published;

/*
 * Publishes a filter in a directory: its file and a difference from the last
 * one first, the manifest last, so that everything a manifest names exists at
 * every moment. E_REFUSED when the last manifest was signed with another key,
 * E_RANGE when the name or a number is out of range.
 */
UMBEL_API umbel_status umbel_publish(const umbel_publication *what,
                                     const umbel_store *dir,
                                     umbel_published *out, umbel_error *err);

/*
 * Removes files that no manifest of the directory names, if their name is their
 * digest. Pass the replaced filters (umbel_published.last), n digests one
 * after the other: readers may still be fetching them, so they stay until the
 * next time. Removes nothing when a manifest cannot be read.
 */
UMBEL_API umbel_status umbel_publish_tidy(const umbel_store *dir,
                                          const uint8_t *keep, size_t n,
                                          umbel_error *err);

/* What removing reported false positives did, and what it cost. */
typedef struct umbel_removed_reports {
    uint64_t matched; /* different reported keys that matched */
    uint64_t left;    /* of them still do: removing them would cost too much */
    uint64_t members; /* reported keys that are members, and stay */
    uint64_t lost;    /* members that no longer match */
    uint64_t moved;   /* members that go by another group than in like, or f */
    bool rebuilt;     /* from the members: f has groups */
} umbel_removed_reports;

/*
 * Changes f so that the keys that readers reported as false positives no longer
 * match. A filter with one group is retouched, as far as that loses at most 1 %
 * of the members. One with groups is built again from the members, so that none
 * is lost; they go as in the filter like, the last edition, or as in f when it
 * is NULL or has another shape. Reported keys that are members are left out.
 * Fails as umbel_retouch and umbel_choose do.
 */
UMBEL_API umbel_status umbel_remove_reported(umbel_filter *f,
                                             const umbel_key_list *members,
                                             const umbel_key_list *reported,
                                             const umbel_filter *like,
                                             umbel_removed_reports *out,
                                             umbel_error *err);

/* --- pulling -------------------------------------------------------------- */

/* What to pull. Start with UMBEL_PULL_INIT. */
typedef struct umbel_pull_params {
    size_t size;     /* sizeof(umbel_pull_params): lets it grow */
    const char *url; /* of the directory and the filter's name, without .umb */
    const uint8_t
        *trust_key;               /* the key that must sign, UMBEL_TRUST_KEY_LEN
                                     bytes; NULL: the one of the last pull, if any */
    const umbel_admission *wants; /* what the filter must meet; its max_bytes 0
                                     means 1 GiB. NULL: the defaults */
    uint64_t memory_limit;        /* as umbel_source has it */
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

/* How the filter came. */
typedef enum umbel_pull_route {
    UMBEL_PULL_CURRENT, /* it was there already */
    UMBEL_PULL_STEPS,   /* by differences */
    UMBEL_PULL_WHOLE    /* as a whole file */
} umbel_pull_route;

/* What a round did. */
typedef struct umbel_pulled {
    uint64_t serial; /* of the manifest */
    umbel_pull_route route;
    uint64_t bytes; /* of the filter's file */
    uint64_t moved; /* bytes that were fetched, the manifest's included */
    bool is_signed;
    bool new_key; /* signed with a key that nobody named: trusted from now on */
    uint8_t key[UMBEL_TRUST_KEY_LEN]; /* that signed, when is_signed */
    uint64_t expires;                 /* seconds since 1970; 0: never */
} umbel_pulled;

/* A reader of one published filter. One thread at a time. */
typedef struct umbel_puller umbel_puller;

/*
 * Opens a reader. *fetcher and *store are copied; what they point to, the trust
 * key and the texts of wants must outlive the reader. Close it with
 * umbel_pull_close.
 */
UMBEL_API umbel_status umbel_pull_open(const umbel_pull_params *params,
                                       const umbel_fetcher *fetcher,
                                       const umbel_store *store,
                                       umbel_puller **out, umbel_error *err);

/*
 * Brings the store's filter up to date; now is seconds since 1970. E_REFUSED
 * if the manifest or the filter is rejected: an old serial number, a wrong or
 * missing key, expired, a wrong digest, or not admitted. E_IO when a fetch
 * failed: the next round continues where it broke off. Whatever fails, the
 * filter is the old one or the new one, never half of it.
 */
UMBEL_API umbel_status umbel_pull_round(umbel_puller *p, uint64_t now,
                                        umbel_pulled *out, umbel_error *err);

/* Closes a reader. NULL is accepted. */
UMBEL_API void umbel_pull_close(umbel_puller *p);

#ifdef __cplusplus
}
#endif
#endif
