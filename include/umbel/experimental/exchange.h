/*
 * exchange.h - stores and fetchers for umbel/publish.h.
 *
 * Experimental: this header may change in any release.
 *
 * Fill these structs with your own functions to keep filters somewhere other
 * than in files, or to fetch them without libumbel-fetch (umbel/fetch.h).
 */
#ifndef UMBEL_EXPERIMENTAL_EXCHANGE_H
#define UMBEL_EXPERIMENTAL_EXCHANGE_H

#include <umbel/publish.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- stores --------------------------------------------------------------- */

/* Receives one name; returns false to end the listing. */
typedef bool umbel_store_visit(void *ctx, const char *name);

/*
 * Where bytes are kept, by name. Names are plain text without '/'; a reader
 * also uses the empty name, for the filter itself.
 *
 * Every function except unlock and release returns a status, and fills *err
 * when it fails; E_UNKNOWN means that no such name exists. All calls happen
 * between lock and unlock. A store for readers needs every function; one for
 * publishers does not need resume, append and move.
 */
typedef struct umbel_store {
    size_t size; /* sizeof(umbel_store): lets it grow */
    void *ctx;   /* passed to every call */
    /* Waits until nobody else holds the store. */
    umbel_status (*lock)(void *ctx, umbel_error *err);
    void (*unlock)(void *ctx);
    /* Returns all bytes of name, valid until they are released. */
    umbel_status (*get)(void *ctx, const char *name, umbel_slice *out,
                        umbel_error *err);
    void (*release)(void *ctx, umbel_slice bytes);
    /* Returns the digest and length of name's bytes. NULL: computed with
     * get. */
    umbel_status (*digest)(void *ctx, const char *name,
                           uint8_t out[UMBEL_FILE_DIGEST_LEN], uint64_t *len,
                           umbel_error *err);
    /* Replaces name by the concatenated parts, atomically and durably. */
    umbel_status (*put)(void *ctx, const char *name, const umbel_slice *parts,
                        size_t n, umbel_error *err);
    /* Returns the length from which append can continue; 0: from the start. */
    umbel_status (*resume)(void *ctx, const char *name, uint64_t *len,
                           umbel_error *err);
    /* Writes bytes at offset `at`, which is at most the current length, and
     * discards everything after them. */
    umbel_status (*append)(void *ctx, const char *name, uint64_t at,
                           umbel_slice bytes, umbel_error *err);
    /* Renames `from` to `to`, replacing `to`, atomically and durably. */
    umbel_status (*move)(void *ctx, const char *from, const char *to,
                         umbel_error *err);
    /* Visits every name, in any order; visit may remove the name it gets. */
    umbel_status (*list)(void *ctx, umbel_store_visit *visit, void *visit_ctx,
                         umbel_error *err);
    umbel_status (*remove)(void *ctx, const char *name, umbel_error *err);
    /* Returns the form of a name for messages, valid until the next call. NULL:
     * the name itself is used. */
    const char *(*where)(void *ctx, const char *name);
} umbel_store;

/*
 * Fills *out with a store of files. umbel_store_dir keeps names in a directory,
 * which is created at the first lock; a web server can serve it.
 * umbel_store_file keeps a reader's filter in path, its state in path.pull and
 * unfinished downloads in path.part-DIGITS. The paths are copied.
 */
UMBEL_API umbel_status umbel_store_dir(const char *dir, umbel_store *out,
                                       umbel_error *err);
UMBEL_API umbel_status umbel_store_file(const char *path, umbel_store *out,
                                        umbel_error *err);
/* Frees a store that umbel_store_dir or umbel_store_file filled. */
UMBEL_API void umbel_store_close(umbel_store *store);

/* --- fetching ------------------------------------------------------------- */

/* What to fetch, and where its bytes go. */
typedef struct umbel_request {
    const char *url;
    uint64_t from;   /* begin at this byte, if the server can */
    uint64_t max;    /* maximum length of the whole file; take refuses more */
    const char *tag; /* fetch only if it changed since this tag; NULL or "":
                        always */
    bool fresh;      /* caches on the way must revalidate with the server */
    /* Receives the bytes at offset `at` of the file; a failure ends the
     * fetch. */
    umbel_status (*take)(void *ctx, uint64_t at, umbel_slice bytes,
                         umbel_error *err);
    void *ctx;
} umbel_request;

/* The outcome; filled also when the fetch fails. */
typedef struct umbel_response {
    bool unchanged;          /* since the tag: no bytes were passed to take */
    bool missing;            /* the server answered that it does not have the
                                file or refuses it */
    bool bad_range;          /* the server cannot continue at `from` */
    uint64_t bytes;          /* received */
    char tag[UMBEL_MAX_TAG]; /* the server's tag for this version; "": none */
} umbel_response;

/*
 * How bytes are fetched. A server may start at byte 0 although `from` was
 * requested: take is then called with at = 0.
 */
typedef struct umbel_fetcher {
    size_t size; /* sizeof(umbel_fetcher): lets it grow */
    void *ctx;
    umbel_status (*get)(void *ctx, const umbel_request *request,
                        umbel_response *response, umbel_error *err);
} umbel_fetcher;

#ifdef __cplusplus
}
#endif
#endif
