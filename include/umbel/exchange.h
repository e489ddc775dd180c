/*
 * exchange.h - publish filters, and pull what others publish.
 *
 * A publisher fills a shelf: the file of a filter, differences from earlier
 * files, and a small manifest that names them and may be signed (Ed25519).
 * Files are named by their BLAKE2b-256, so they never change; only the manifest
 * does. Any web server can serve a shelf.
 *
 * A reader keeps one file up to date. It takes the differences where they are
 * smaller than the whole file, checks every byte against the manifest, refuses
 * manifests that are older than the last one, expired or signed with another
 * key, and runs admission (umbel/admit.h) before the file is replaced.
 *
 * Nothing here opens a file or a socket, or asks for the time: callers hand in
 * a store, a fetcher and the time. umbel_store_dir and umbel_store_file keep
 * stores on disk; libumbel-fetch (umbel/fetch.h) fetches with libcurl.
 */
#ifndef UMBEL_EXCHANGE_H
#define UMBEL_EXCHANGE_H

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

/* --- stores --------------------------------------------------------------- */

/* Receives one name; returning false ends the list. */
typedef bool umbel_store_visit(void *ctx, const char *name);

/*
 * Where bytes are kept, by name. Names are plain text without '/'; a reader
 * also uses the empty name, for the filter itself.
 *
 * Every call but unlock and release returns a status, and fills *err when it
 * fails; E_UNKNOWN means that no such name exists. All calls come between lock
 * and unlock. A store for readers needs every call; one for publishers needs
 * neither resume, append nor move.
 */
typedef struct umbel_store {
    size_t size; /* sizeof(umbel_store): lets it grow */
    void *ctx;   /* passed to every call */
    /* Waits until nobody else holds the store. */
    umbel_status (*lock)(void *ctx, umbel_error *err);
    void (*unlock)(void *ctx);
    /* Gives all bytes of name, valid until they are released. */
    umbel_status (*get)(void *ctx, const char *name, umbel_slice *out,
                        umbel_error *err);
    void (*release)(void *ctx, umbel_slice bytes);
    /* Gives the digest and the length of name's bytes. NULL: get is used. */
    umbel_status (*digest)(void *ctx, const char *name,
                           uint8_t out[UMBEL_FILE_DIGEST_LEN], uint64_t *len,
                           umbel_error *err);
    /* Replaces name by the parts in order, whole or not at all, for good. */
    umbel_status (*put)(void *ctx, const char *name, const umbel_slice *parts,
                        size_t n, umbel_error *err);
    /* Gives the length that append may go on from; 0 when there is nothing. */
    umbel_status (*resume)(void *ctx, const char *name, uint64_t *len,
                           umbel_error *err);
    /* Writes bytes at `at`, the present length or less; what was behind goes.
     */
    umbel_status (*append)(void *ctx, const char *name, uint64_t at,
                           umbel_slice bytes, umbel_error *err);
    /* Replaces `to` by the bytes of `from`, which is gone then, for good. */
    umbel_status (*move)(void *ctx, const char *from, const char *to,
                         umbel_error *err);
    /* Visits every name, in any order; visit may remove the name it gets. */
    umbel_status (*list)(void *ctx, umbel_store_visit *visit, void *visit_ctx,
                         umbel_error *err);
    umbel_status (*remove)(void *ctx, const char *name, umbel_error *err);
    /* Returns what messages call a name, valid until the next call. NULL: the
     * name itself is used. */
    const char *(*where)(void *ctx, const char *name);
} umbel_store;

/*
 * Fills *out with a store of files. umbel_store_dir keeps names in a directory,
 * which is made when it is first locked; this is the shelf that a web server
 * serves. umbel_store_file keeps a reader's filter in path, its state in
 * path.pull and unfinished downloads in path.part-DIGITS. The paths are copied.
 */
UMBEL_API umbel_status umbel_store_dir(const char *dir, umbel_store *out,
                                       umbel_error *err);
UMBEL_API umbel_status umbel_store_file(const char *path, umbel_store *out,
                                        umbel_error *err);
/* Frees a store that umbel_store_dir or umbel_store_file made. */
UMBEL_API void umbel_store_close(umbel_store *store);

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
                              (umbel_take_back), noted in the manifest */
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
 * Publishes a filter on a shelf: its file and a difference from the last one
 * first, the manifest last, so that everything a manifest names is there at
 * every moment. E_REFUSED when the last manifest was signed with another key,
 * E_RANGE when the name or a number is out of range.
 */
UMBEL_API umbel_status umbel_publish(const umbel_publication *what,
                                     const umbel_store *shelf,
                                     umbel_published *out, umbel_error *err);

/*
 * Removes files that no manifest of the shelf names, as far as their name is
 * their digest. Pass the replaced filters (umbel_published.last), n digests one
 * after the other: readers may still be fetching them, so they stay until the
 * next time. Removes nothing when a manifest cannot be read.
 */
UMBEL_API umbel_status umbel_shelf_tidy(const umbel_store *shelf,
                                        const uint8_t *keep, size_t n,
                                        umbel_error *err);

/* What removing reported false positives did, and what it cost. */
typedef struct umbel_taken_back {
    uint64_t matched; /* different reported keys that matched */
    uint64_t left;    /* of them still do: removing them would cost too much */
    uint64_t members; /* reported keys that are members, and stay */
    uint64_t lost;    /* members that no longer match */
    uint64_t moved;   /* members that go by another group than in like, or f */
    bool rebuilt;     /* from the members: f has groups */
} umbel_taken_back;

/*
 * Changes f so that the keys that readers reported as false positives no longer
 * match. A filter with one group is retouched, as far as that loses at most 1 %
 * of the members. One with groups is built again from the members, so that none
 * is lost; they go as in the filter like, the last edition, or as in f when it
 * is NULL or has another shape. Reported keys that are members are left out.
 * Fails as umbel_retouch and umbel_choose do.
 */
UMBEL_API umbel_status umbel_take_back(umbel_filter *f,
                                       const umbel_key_list *members,
                                       const umbel_key_list *reported,
                                       const umbel_filter *like,
                                       umbel_taken_back *out, umbel_error *err);

/* --- fetching ------------------------------------------------------------- */

/* What to fetch, and where its bytes go. */
typedef struct umbel_request {
    const char *url;
    uint64_t from;   /* begin at this byte, if the server can */
    uint64_t max;    /* length of the whole at most; take refuses more */
    const char *tag; /* only if it changed since this tag; NULL, "": always */
    bool fresh;      /* caches on the way must ask the server */
    /* Takes bytes that stand at `at` in the whole; a failure ends the fetch. */
    umbel_status (*take)(void *ctx, uint64_t at, umbel_slice bytes,
                         umbel_error *err);
    void *ctx;
} umbel_request;

/* What came of it; filled also when the fetch fails. */
typedef struct umbel_response {
    bool unchanged;          /* since the tag: nothing was taken */
    bool missing;            /* the server answers that it will not give it */
    bool bad_range;          /* the server cannot continue at `from` */
    uint64_t bytes;          /* that came */
    char tag[UMBEL_MAX_TAG]; /* the server's name for this state; "": none */
} umbel_response;

/*
 * How bytes are fetched. A server may begin at byte 0 although `from` was asked
 * for: take is then called with at = 0.
 */
typedef struct umbel_fetcher {
    size_t size; /* sizeof(umbel_fetcher): lets it grow */
    void *ctx;
    umbel_status (*get)(void *ctx, const umbel_request *request,
                        umbel_response *response, umbel_error *err);
} umbel_fetcher;

/* --- pulling -------------------------------------------------------------- */

/* What to pull. Start with UMBEL_PULL_INIT. */
typedef struct umbel_pull_params {
    size_t size;     /* sizeof(umbel_pull_params): lets it grow */
    const char *url; /* of the shelf and the filter's name, without .umb */
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
 * when the manifest or the filter is not to be believed: an old serial number,
 * another key or none, expired, another digest, not admitted. E_IO when a fetch
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
