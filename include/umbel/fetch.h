/*
 * fetch.h - fetch http, https and file addresses with libcurl.
 *
 * A library of its own, libumbel-fetch (pkg-config umbel-fetch), so that
 * libumbel needs no libcurl. Not included by umbel/umbel.h.
 */
#ifndef UMBEL_FETCH_H
#define UMBEL_FETCH_H

#include <umbel/exchange.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the default everywhere; start with UMBEL_FETCH_INIT. */
typedef struct umbel_fetch_params {
    size_t size;    /* sizeof(umbel_fetch_params): lets it grow */
    const char *ca; /* certificates that https may have, a PEM file; NULL: those
                       that the system trusts */
} umbel_fetch_params;

#ifdef __cplusplus
#define UMBEL_FETCH_INIT                                                       \
    {                                                                          \
        sizeof(umbel_fetch_params), 0                                          \
    }
#else
#define UMBEL_FETCH_INIT                                                       \
    {                                                                          \
        .size = sizeof(umbel_fetch_params)                                     \
    }
#endif

/*
 * Returns a fetcher for umbel_pull_open. params must outlive it; NULL means the
 * defaults. It follows a few redirects, never from https to http, gives up on a
 * server that is silent or slow without end, and takes no more bytes than it
 * was told to.
 */
UMBEL_API umbel_fetcher umbel_fetch_curl(const umbel_fetch_params *params);

#ifdef __cplusplus
}
#endif
#endif
